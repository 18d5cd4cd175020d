//! What is proven: every header form of old and new archives is read, and any damage costs no more
//! than the entries it touches.

use std::collections::VecDeque;

use super::super::{append_end, append_file};
use super::*;

/// A source that hands out prepared reads.
struct Script(VecDeque<Result<Vec<u8>, SourceError>>);

impl ByteSource for Script {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        match self.0.pop_front() {
            None => Ok(0),
            Some(Err(error)) => Err(error),
            Some(Ok(mut bytes)) => {
                let len = bytes.len().min(buffer.len());
                buffer[..len].copy_from_slice(&bytes[..len]);
                if len < bytes.len() {
                    self.0.push_front(Ok(bytes.split_off(len)));
                }
                Ok(len)
            }
        }
    }
}

fn gap() -> SourceError {
    SourceError::Gap {
        file_position: 77,
        what: "a block is damaged".to_owned(),
    }
}

/// One line per item: `name=content`, `name: too long`, `name: damaged`; an error ends the list.
fn list(parts: Vec<Result<Vec<u8>, SourceError>>) -> Vec<String> {
    let mut reader = TarReader::new(Script(parts.into()));
    let mut lines = Vec::new();
    loop {
        let mut content = b"before".to_vec();
        let line = match reader.next_item(&mut content, 5000) {
            Ok(TarItem::End) => return lines,
            Ok(TarItem::File { name }) => {
                format!("{name}={}", String::from_utf8_lossy(&content[6..]))
            }
            Ok(TarItem::TooLong { name, len_bytes }) => format!("{name}: {len_bytes} too long"),
            Ok(TarItem::Damaged { name, what }) => format!("{name}: damaged: {what}"),
            Err(error) => {
                lines.push(format!("error: {error}"));
                return lines;
            }
        };
        lines.push(line);
    }
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in files {
        append_file(&mut out, name, content.as_bytes());
    }
    append_end(&mut out);
    out
}

/// Changes a header and mends its checksum.
fn patch(header: &mut [u8], at: usize, bytes: &[u8]) {
    header[at..at + bytes.len()].copy_from_slice(bytes);
    header[148..156].fill(b' ');
    let checksum: u32 = header[..512].iter().map(|&b| u32::from(b)).sum();
    header[148..156].copy_from_slice(format!("{checksum:06o}\0 ").as_bytes());
}

#[test]
fn files_come_in_order_and_the_rest_is_passed_over() {
    let mut bytes = Vec::new();
    append_file(&mut bytes, "dir/", b"");
    patch(&mut bytes[..512], 156, b"5");
    append_file(&mut bytes, "link", b"");
    patch(&mut bytes[512..1024], 156, b"2");
    bytes.extend(archive(&[
        ("a/1", "one"),
        ("a/2", ""),
        ("a/3", &"x".repeat(512)),
    ]));
    let long = "x".repeat(512);
    assert_eq!(
        list(vec![Ok(bytes)]),
        ["a/1=one", "a/2=", &format!("a/3={long}")]
    );
}

#[test]
fn reads_may_end_anywhere() {
    let bytes = archive(&[("a", "one"), ("b", "two")]);
    for step in [1, 7, 511, 513] {
        let parts = bytes.chunks(step).map(|part| Ok(part.to_vec())).collect();
        assert_eq!(list(parts), ["a=one", "b=two"], "in steps of {step}");
    }
}

#[test]
fn long_names_come_from_gnu_and_pax_headers_and_prefixes() {
    let long = "d/".repeat(100) + "name";
    let mut bytes = Vec::new();
    append_file(&mut bytes, "././@LongLink", format!("{long}\0").as_bytes());
    patch(&mut bytes, 156, b"L");
    append_file(&mut bytes, "short", b"gnu");
    let at = bytes.len();
    append_file(
        &mut bytes,
        "pax",
        b"19 path=pax/longer\n12 mtime=17\n9 size=3\n",
    );
    patch(&mut bytes[at..], 156, b"x");
    append_file(&mut bytes, "short", b"pax");
    let at = bytes.len();
    append_file(&mut bytes, "global", b"15 path=global\n");
    patch(&mut bytes[at..], 156, b"g");
    let at = bytes.len();
    append_file(&mut bytes, "name", b"prefix");
    patch(&mut bytes[at..], 345, b"some/prefix");
    append_end(&mut bytes);
    assert_eq!(
        list(vec![Ok(bytes)]),
        [
            &format!("{long}=gnu"),
            "pax/longer=pax",
            "some/prefix/name=prefix"
        ]
    );
}

#[test]
fn old_headers_and_binary_sizes_are_read() {
    let mut bytes = archive(&[("v7", "old"), ("big", "size")]);
    patch(&mut bytes[..512], 257, &[0; 8]);
    patch(
        &mut bytes[1024..],
        124,
        &[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4],
    );
    assert_eq!(list(vec![Ok(bytes)]), ["v7=old", "big=size"]);
}

#[test]
fn an_entry_beyond_the_limit_is_passed_over() {
    let long = "x".repeat(5001);
    let bytes = archive(&[("a", &long), ("b", "two")]);
    assert_eq!(list(vec![Ok(bytes)]), ["a: 5001 too long", "b=two"]);
}

#[test]
fn a_bad_header_costs_its_entry() {
    let mut bytes = archive(&[("a", "one"), ("b", "two"), ("c", "three")]);
    bytes[1024] ^= 1;
    assert_eq!(
        list(vec![Ok(bytes)]),
        [
            "a=one",
            "a: damaged: there is no tar header at byte 1024 of the unpacked archive; \
             1024 bytes were passed over",
            "c=three"
        ]
    );
}

#[test]
fn behind_a_gap_of_any_length_the_next_header_is_found() {
    let bytes = archive(&[("a", "one"), ("b", "two"), ("c", "three"), ("d", "four")]);
    for lost in [1, 13, 512, 700, 1023] {
        let parts = vec![
            Ok(bytes[..1100].to_vec()),
            Err(gap()),
            Ok(bytes[1100 + lost..].to_vec()),
        ];
        let lines = list(parts);
        assert_eq!(lines[0], "a=one", "{lost} bytes lost");
        assert!(
            lines[1].starts_with("a: damaged: a block is damaged at byte 77"),
            "{lines:?}"
        );
        assert_eq!(lines.last().unwrap(), "d=four");
        assert_eq!(
            lines.len(),
            if lost < 950 { 4 } else { 3 },
            "{lost}: {lines:?}"
        );
    }
    // In the content, where the entry itself is lost.
    let parts = vec![
        Ok(bytes[..1537].to_vec()),
        Err(gap()),
        Ok(bytes[1600..].to_vec()),
    ];
    let lines = list(parts);
    assert!(lines[1].starts_with("b: damaged"), "{lines:?}");
    assert_eq!(lines[2..], ["c=three", "d=four"]);
    // To the end.
    let lines = list(vec![Ok(bytes[..1537].to_vec()), Err(gap())]);
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_truncated_archive_says_where() {
    let bytes = archive(&[("a", "one"), ("b", "two")]);
    let lines = list(vec![Ok(bytes[..1024 + 514].to_vec())]);
    assert_eq!(
        lines,
        [
            "a=one",
            "error: the archive ends too early, in or behind entry b at byte 1538"
        ]
    );
    let lines = list(vec![Ok(bytes[..1024 + 100].to_vec())]);
    assert_eq!(
        lines,
        [
            "a=one",
            "error: the archive ends too early, in or behind entry a at byte 1124"
        ]
    );
    let lines = list(vec![Ok(bytes[..1024].to_vec())]);
    assert_eq!(lines[0], "a=one");
    assert!(lines[1].contains("may be cut short"), "{lines:?}");
    assert_eq!(lines.len(), 2);
}

#[test]
fn bytes_behind_the_end_mark_are_ignored_unless_they_are_an_archive() {
    let mut bytes = archive(&[("a", "one")]);
    bytes.extend(archive(&[("b", "two")]));
    bytes.extend(std::iter::repeat_n(b'x', 1000));
    assert_eq!(list(vec![Ok(bytes)]), ["a=one", "b=two"]);
    assert_eq!(list(vec![]), Vec::<String>::new());
}

#[test]
fn headers_that_lie_about_lengths_are_refused() {
    let mut bytes = archive(&[("a", "one"), ("b", "two")]);
    patch(&mut bytes[..512], 156, b"L");
    patch(&mut bytes[..512], 124, b"77777777777\0");
    let lines = list(vec![Ok(bytes)]);
    assert!(
        lines[0].contains("damaged") && lines[1] == "b=two",
        "{lines:?}"
    );
    let mut bytes = archive(&[("a", "one"), ("b", "two")]);
    patch(
        &mut bytes[..512],
        124,
        &[0x80, 0, 0, 0, 0xff, 255, 255, 255, 255, 255, 255, 255],
    );
    let lines = list(vec![Ok(bytes)]);
    assert!(
        lines[0].starts_with("error: the archive ends too early"),
        "{lines:?}"
    );
}

#[test]
fn any_bytes_are_read_to_an_end() {
    let mut state = 1u64;
    for _ in 0..200 {
        let mut bytes = archive(&[("a", "one"), ("b", "two"), ("c", "three")]);
        for _ in 0..6 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = usize::try_from(state >> 33).unwrap() % bytes.len();
            bytes[at] = state.to_le_bytes()[6];
        }
        assert!(list(vec![Ok(bytes)]).len() < 10);
    }
}

//! Reading multipart bodies as clients send them with batches: parts in order, by their boundary.
//!
//! Used by `routes::batch`. Which part is what follows from its place; of its headers only
//! Content-Encoding is read.

use crate::wire::{WireError, kind};

/// Most parts of one body.
const PARTS_MAX: usize = 10_000;

/// The boundary that a content type names, when it is multipart.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let (kind_of, parameters) = content_type.split_once(';')?;
    if !kind_of
        .trim()
        .to_ascii_lowercase()
        .starts_with("multipart/")
    {
        return None;
    }
    let named = |part: &str| {
        let (name, _) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then_some(())
    };
    let part = parameters.split(';').find(|part| named(part).is_some())?;
    let boundary = part.split_once('=')?.1.trim().trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

/// A part as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'b> {
    pub(crate) content: &'b [u8],
    /// How its content is packed, in the words of its header; empty when it is not.
    pub(crate) encoding: &'b [u8],
}

/// The parts of `body`, in order.
pub(crate) fn parts<'b>(body: &'b [u8], boundary: &str) -> Result<Vec<Part<'b>>, WireError> {
    let opening = format!("--{boundary}");
    let between = format!("\r\n--{boundary}");
    let start = find(body, opening.as_bytes()).ok_or_else(|| malformed("its boundary"))?;
    let mut rest = &body[start + opening.len()..];
    let mut found = Vec::new();
    while !rest.starts_with(b"--") {
        if found.len() >= PARTS_MAX {
            return Err(malformed("an end before so many parts"));
        }
        let head = find(rest, b"\r\n\r\n").ok_or_else(|| malformed("the end of a part's head"))?;
        let content = &rest[head + 4..];
        let end = find(content, between.as_bytes());
        let end = end.ok_or_else(|| malformed("the end of a part"))?;
        found.push(Part {
            content: &content[..end],
            encoding: encoding_of(&rest[..head]),
        });
        rest = &content[end + between.len()..];
    }
    Ok(found)
}

/// The value of Content-Encoding in the head of a part.
fn encoding_of(head: &[u8]) -> &[u8] {
    let lines = head.split(|byte| *byte == b'\n');
    let found = lines.into_iter().find_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let is_it = name.trim_ascii().eq_ignore_ascii_case(b"content-encoding");
        is_it.then(|| value.trim_ascii())
    });
    found.unwrap_or_default()
}

fn malformed(what: &str) -> WireError {
    let message = format!("The multipart body lacks {what}.");
    WireError::new(kind::INVALID_DATA, message)
}

/// Where `needle` begins first. Looks for its first byte, then compares: boundaries are rare.
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    loop {
        let at = from
            + haystack
                .get(from..)?
                .iter()
                .position(|byte| *byte == first)?;
        if haystack[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_order_with_whatever_bytes_they_have() {
        let body =
            b"--b\r\nContent-Disposition: form-data; name=\"main\"\r\n\r\n{}\r\n--b\r\nA: b\r\n\
            \r\n\x00\r\n--\xff\r\n--b--\r\n";
        let found = parts(body, "b").unwrap();
        let contents: Vec<&[u8]> = found.iter().map(|part| part.content).collect();
        assert_eq!(contents, [&b"{}"[..], b"\x00\r\n--\xff"]);
        assert!(found.iter().all(|part| part.encoding.is_empty()));
    }

    #[test]
    fn parts_say_how_they_are_packed() {
        let body = b"--b\r\nContent-Type: a/b\r\ncontent-ENCODING:  gzip \r\n\r\nx\r\n--b\r\n\
            X-Content-Encoding: zstd\r\n\r\ny\r\n--b--";
        let found = parts(body, "b").unwrap();
        let encodings: Vec<&[u8]> = found.iter().map(|part| part.encoding).collect();
        assert_eq!(encodings, [&b"gzip"[..], b""]);
    }

    #[test]
    fn cut_bodies_are_refused() {
        for body in [&b""[..], b"--b", b"--b\r\nA: b\r\n\r\nxx", b"--b\r\nA: b"] {
            assert!(parts(body, "b").is_err(), "{body:?}");
        }
    }

    #[test]
    fn the_boundary_is_read_from_the_content_type() {
        assert_eq!(
            boundary("multipart/form-data; boundary=\"x y\""),
            Some("x y")
        );
        assert_eq!(boundary("multipart/form-data;boundary=--1"), Some("--1"));
        assert_eq!(boundary("application/json; boundary=1"), None);
        assert_eq!(boundary("multipart/form-data"), None);
    }
}

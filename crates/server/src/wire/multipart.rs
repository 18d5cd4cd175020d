//! Reading multipart bodies as clients send them with batches: parts in order, by their boundary.
//!
//! Used by `routes::batch`, where which part is what follows from its place, and by
//! `routes::smuggler`, where their names say it.

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
    head: &'b [u8],
}

impl<'b> Part<'b> {
    /// The name of its form field.
    pub(crate) fn name(&self) -> Option<&'b [u8]> {
        disposition(self.head, b"name")
    }

    /// The name of its file.
    pub(crate) fn file_name(&self) -> Option<&'b [u8]> {
        disposition(self.head, b"filename")
    }
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
            encoding: header_of(&rest[..head], b"content-encoding").unwrap_or_default(),
            head: &rest[..head],
        });
        rest = &content[end + between.len()..];
    }
    Ok(found)
}

/// The value of a header in the head of a part.
fn header_of<'b>(head: &'b [u8], wanted: &[u8]) -> Option<&'b [u8]> {
    let mut lines = head.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let is_it = name.trim_ascii().eq_ignore_ascii_case(wanted);
        is_it.then(|| value.trim_ascii())
    })
}

/// A parameter of Content-Disposition in the head of a part.
fn disposition<'b>(head: &'b [u8], wanted: &[u8]) -> Option<&'b [u8]> {
    let value = header_of(head, b"content-disposition")?;
    let mut parameters = value.split(|byte| *byte == b';');
    parameters.find_map(|parameter| {
        let equals = parameter.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (&parameter[..equals], parameter[equals + 1..].trim_ascii());
        let is_it = name.trim_ascii().eq_ignore_ascii_case(wanted);
        let unquoted = value
            .strip_prefix(b"\"")
            .and_then(|value| value.strip_suffix(b"\""));
        is_it.then(|| unquoted.unwrap_or(value))
    })
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
    fn parts_have_the_names_of_their_form() {
        let body =
            b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.csv\"\r\n\
            \r\nx\r\n--b\r\ncontent-disposition:form-data;name=plain\r\n\r\ny\r\n--b\r\nA: b\r\n\
            \r\nz\r\n--b--";
        let found = parts(body, "b").unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|part| (part.name(), part.file_name()))
            .collect();
        assert_eq!(
            names,
            [
                (Some(&b"file"[..]), Some(&b"a b.csv"[..])),
                (Some(b"plain"), None),
                (None, None)
            ]
        );
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

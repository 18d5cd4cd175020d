//! Points in time inside JSON: rows and keys that differ only in how a time is written are one.
//!
//! Called by `groups` and by static indexes with a reduce for the identity of a group, and by
//! `execute::rows` for that of a distinct row. What is shown keeps the text of the first document.

use std::borrow::Cow;

use jackdaw_base::time;

/// `json`, which is valid, with every text that is a point in time in its one spelling.
#[must_use]
pub fn with_canonical_times(json: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    // What is in `out` already.
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'"', &json[at..]).map(|found| at + found + 1) {
        let Some(end) = end_of_string(json, start) else {
            break;
        };
        at = end + 1;
        let text = std::str::from_utf8(&json[start..end]).unwrap_or_default();
        if let Cow::Owned(canonical) = time::canonical(text) {
            let out = out.get_or_insert_default();
            out.extend_from_slice(&json[copied..start]);
            out.extend_from_slice(canonical.as_bytes());
            copied = end;
        }
    }
    match out {
        None => Cow::Borrowed(json),
        Some(mut out) => {
            out.extend_from_slice(&json[copied..]);
            Cow::Owned(out)
        }
    }
}

/// The position of the quote that ends the string whose text begins at `start`.
fn end_of_string(json: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', json.get(at..)?)?;
        if json[at] == b'"' {
            return Some(at);
        }
        // The letter behind a backslash ends nothing.
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_texts_that_are_times_change() {
        let folded = |json: &str| {
            let folded = with_canonical_times(json.as_bytes());
            String::from_utf8(folded.into_owned()).unwrap()
        };
        assert_eq!(
            folded(r#"{"T":"2024-05-01T10:00:00+02:00","L":["2024-05-01T08:00:00Z"]}"#),
            r#"{"T":"2024-05-01T08:00:00.0000000Z","L":["2024-05-01T08:00:00.0000000Z"]}"#
        );
        for same in [
            "null",
            r#""""#,
            r#""2024-05-01""#,
            r#""a \"2024-05-01T08:00:00Z\" b""#,
            r#""\\""#,
            r#"["at 2024-05-01T08:00:00Z", 7, "x\\"]"#,
        ] {
            assert_eq!(folded(same), same);
        }
    }
}

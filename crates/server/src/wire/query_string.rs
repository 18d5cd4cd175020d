//! Reading the part of a URL behind `?` as the official clients write it.
//!
//! Called by every route. Clients write `?&id=..`, repeat names, leave values empty, write a
//! second `?` before a name and `True` for `true`; all of that is read without complaint.
//!
//! Nothing is collected beforehand: each look-up walks the text, which is shorter than any map.

use std::borrow::Cow;

/// A query string, without its leading `?`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueryString<'a>(pub(crate) &'a str);

impl<'a> QueryString<'a> {
    /// Raw pairs in order; a name without `=` has an empty value.
    fn pairs(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let parts = self.0.split('&').filter(|part| !part.is_empty());
        parts.map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.trim_start_matches('?'), value)
        })
    }

    /// All names as they are written, in order.
    pub(crate) fn names(self) -> impl Iterator<Item = &'a str> {
        self.pairs().map(|(name, _)| name)
    }

    /// All values of `name`, decoded; names are compared without regard to case.
    pub(crate) fn all(self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        let named = self
            .pairs()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name));
        named.map(|(_, value)| decode(value))
    }

    /// The first value of `name`, if any; it may be empty.
    pub(crate) fn first(self, name: &str) -> Option<Cow<'a, str>> {
        self.all(name).next()
    }

    /// The first value of `name` unless it is empty.
    pub(crate) fn filled(self, name: &str) -> Option<Cow<'a, str>> {
        self.first(name).filter(|value| !value.is_empty())
    }

    /// Whether `name` is there, with or without a value.
    pub(crate) fn has(self, name: &str) -> bool {
        self.first(name).is_some()
    }

    /// A truth value in any letter case; absent, empty and unknown words are false.
    pub(crate) fn flag(self, name: &str) -> bool {
        self.first(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// A whole number; `None` when absent, empty or not a number in range.
    pub(crate) fn number(self, name: &str) -> Option<i64> {
        self.filled(name)?.trim().parse().ok()
    }
}

/// Decodes `%xx` and `+`. Sequences that are cut short, not hexadecimal or not UTF-8 are kept as
/// they came, as the reference does: a strange id is found or not found, never an error.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut position = 0;
    while position < bytes.len() {
        match bytes[position] {
            b'+' => {
                out.push(' ');
                position += 1;
            }
            b'%' => {
                let run = escaped_run(&bytes[position..]);
                push_lossless(&mut out, &run);
                position += run.len() * 3;
                if run.is_empty() {
                    out.push('%');
                    position += 1;
                }
            }
            _ => {
                let rest = &text[position..];
                let length = rest.find(['%', '+']).unwrap_or(rest.len());
                out.push_str(&rest[..length]);
                position += length;
            }
        }
    }
    Cow::Owned(out)
}

/// The bytes of as many well-formed `%xx` as follow each other.
fn escaped_run(mut bytes: &[u8]) -> Vec<u8> {
    let mut run = Vec::new();
    while let [b'%', high, low, rest @ ..] = bytes {
        let (Some(high), Some(low)) = (hex(*high), hex(*low)) else {
            break;
        };
        run.push(high << 4 | low);
        bytes = rest;
    }
    run
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

fn push_lossless(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_habits_are_read() {
        let query = QueryString(
            "&id=users%2F1&id=b+c&?raft-request-id=7&allowStale=False&n=&pageSize25 \
             &Metadataonly=True",
        );
        assert_eq!(query.all("id").collect::<Vec<_>>(), ["users/1", "b c"]);
        assert_eq!(query.number("raft-request-id"), Some(7));
        assert!(!query.flag("allowStale"));
        assert!(query.flag("metadataOnly"));
        assert!(query.has("n") && query.filled("n").is_none());
        assert_eq!(query.number("n"), None);
        assert_eq!(query.first("id2"), None);
        assert_eq!(
            QueryString("?&waitForIndexesTimeout=00:00:15")
                .first("waitForIndexesTimeout")
                .as_deref(),
            Some("00:00:15")
        );
    }

    #[test]
    fn broken_escapes_are_kept_as_they_came() {
        for (text, expected) in [
            ("a%2Fb", "a/b"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("%C3%A9", "\u{e9}"),
            ("%C3x", "%C3x"),
            ("%FF%FE", "%FF%FE"),
            ("%e1%84", "%E1%84"),
            ("\u{e9}%20\u{e9}", "\u{e9} \u{e9}"),
            ("%00", "\0"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }
}

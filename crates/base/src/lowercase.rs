//! Case folding of document ids, index terms and query values: one function for all of them.
//!
//! Two sides that must agree byte for byte (an index term and the query value that looks for it)
//! call the same code. The rule is the invariant one that RavenDB's clients and users know: each
//! character by itself, no language rules, and never a change in the number of characters.
//!
//! - Greek capital sigma becomes the medial sigma everywhere: no look at neighbours.
//! - U+0130 (I with dot above), the only character whose lower case is two characters, stays.
//!
//! Threads: pure functions.

use std::borrow::Cow;

/// The lower case of `text`; borrowed when nothing changes.
#[must_use]
pub fn lowercase(text: &str) -> Cow<'_, str> {
    match text
        .bytes()
        .position(|byte| byte.is_ascii_uppercase() || !byte.is_ascii())
    {
        None => Cow::Borrowed(text),
        Some(_) => {
            let mut out = String::with_capacity(text.len());
            push_lowercase(text, &mut out);
            if out == text {
                Cow::Borrowed(text)
            } else {
                Cow::Owned(out)
            }
        }
    }
}

/// Appends the lower case of `text` to `out`. ASCII runs are copied and folded in place.
pub fn push_lowercase(text: &str, out: &mut String) {
    if text.is_ascii() {
        let start = out.len();
        out.push_str(text);
        if let Some(copied) = out.get_mut(start..) {
            copied.make_ascii_lowercase();
        }
    } else {
        out.extend(text.chars().map(lowercase_char));
    }
}

/// Appends the lower case of `text` as UTF-8 bytes: [`push_lowercase`] for byte arenas.
pub fn push_lowercase_bytes(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes());
        if let Some(copied) = out.get_mut(start..) {
            copied.make_ascii_lowercase();
        }
    } else {
        for character in text.chars().map(lowercase_char) {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// The lower case of one character; itself where the lower case is not a single character.
#[inline]
#[must_use]
pub fn lowercase_char(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_is_folded_and_the_rest_kept() {
        assert_eq!(lowercase("Pearl JAM 10!"), "pearl jam 10!");
        assert!(matches!(lowercase("pearl jam"), Cow::Borrowed(_)));
        assert!(matches!(lowercase("\u{65e5}\u{672c}"), Cow::Borrowed(_)));
    }

    #[test]
    fn each_character_is_folded_by_itself() {
        assert_eq!(lowercase("\u{c4}RGER"), "\u{e4}rger");
        assert_eq!(
            lowercase("\u{39f}\u{394}\u{39f}\u{3a3}"),
            "\u{3bf}\u{3b4}\u{3bf}\u{3c3}"
        );
        assert_eq!(lowercase("\u{130}stanbul"), "\u{130}stanbul");
        assert_eq!(lowercase("STRA\u{1e9e}E"), "stra\u{df}e");
        assert_eq!(lowercase("\u{10400}"), "\u{10428}");
    }

    #[test]
    fn only_one_character_has_a_longer_lower_case() {
        let longer: Vec<char> = (char::MIN..=char::MAX)
            .filter(|c| c.to_lowercase().count() != 1)
            .collect();
        assert_eq!(longer, ['\u{130}']);
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for character in char::MIN..=char::MAX {
            let lower = lowercase_char(character);
            assert_eq!(lowercase_char(lower), lower, "{character:?}");
        }
    }

    #[test]
    fn push_appends_behind_what_is_there() {
        let mut out = String::from("KEEP ");
        push_lowercase("Me", &mut out);
        push_lowercase("\u{c9}", &mut out);
        assert_eq!(out, "KEEP me\u{e9}");
        let mut bytes = b"KEEP ".to_vec();
        push_lowercase_bytes("Me", &mut bytes);
        push_lowercase_bytes("\u{c9}", &mut bytes);
        assert_eq!(bytes, out.as_bytes());
    }
}

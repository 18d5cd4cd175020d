//! Terms, and the keys they have in the tree `terms`.
//!
//! Called by `batch` when entries are analyzed and by `reader` when queries look terms up. Bytes:
//! docs/format.md, section "Inverted index".
//!
//! Invariants:
//! - A key is a class byte and the term. Keys order as terms do: null, then text by its bytes,
//!   then numbers by true value, then places, then vectors.
//! - Text up to [`TEXT_BYTES_WHOLE_MAX`] is its own key. Longer text is cut there and a hash of
//!   all of it follows, so such a key has [`TEXT_BYTES_CUT`] bytes, which no whole text has.
//!   A cut key names its text only up to the hash; whoever looks up a cut term must check the
//!   documents found (see [`Matches`](crate::Matches)).
//! - Cut keys order rightly against all whole ones; among cut keys of the same first 504 bytes the
//!   order is arbitrary.
//!
//! Threads: pure functions.

use std::borrow::Cow;

use jackdaw_base::hash::xxh3_64;
use jackdaw_base::number::{Number, NumberKey};

use crate::place::{Coordinate, Place, key_of, spot_of};

/// Longest text that is kept whole as a term, in bytes.
pub const TEXT_BYTES_WHOLE_MAX: usize = 504;

/// Length of the term of a longer text: its first bytes, and a hash of eight bytes.
pub(crate) const TEXT_BYTES_CUT: usize = TEXT_BYTES_WHOLE_MAX + 8;

/// Classes of terms. Gaps are left for classes to come (points in time 0x28).
pub(crate) mod class {
    /// Every entry that has the field, whatever its value. Not a term of any entry.
    pub(crate) const EXISTS: u8 = 0x01;
    /// Of a forward record only: how long the text of a field with positions is, and a sum over
    /// its tokens, by which changes are noticed.
    pub(crate) const TOKENS: u8 = 0x02;
    /// An explicit null.
    pub(crate) const NULL: u8 = 0x08;
    /// Text; booleans and the texts of numbers too.
    pub(crate) const TEXT: u8 = 0x10;
    /// A number by value.
    pub(crate) const NUMBER: u8 = 0x20;
    /// A point on the earth, along a curve.
    pub(crate) const POINT: u8 = 0x30;
    /// Another shape, by its text.
    pub(crate) const SHAPE: u8 = 0x31;
    /// A vector, by the hash of its bytes.
    pub(crate) const VECTOR: u8 = 0x40;
}

/// What a query looks for.
#[derive(Clone, Copy, Debug)]
pub enum Term<'a> {
    /// An explicit null (a missing field is no term at all).
    Null,
    /// Text as the user wrote it; the field's analyzer is applied.
    Text(&'a str),
    /// A boolean: the same term as the texts `true` and `false`.
    Boolean(bool),
    /// A number: finds integers and doubles of equal value.
    Number(Number),
}

/// A term as the index keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StoredTerm<'a> {
    /// An explicit null.
    Null,
    /// Analyzed text, or the beginning of it.
    Text(StoredText<'a>),
    /// A number by value.
    Number(Number),
    /// A point on the earth.
    Point(Coordinate),
    /// Another shape as well-known text, or the beginning of it.
    Shape(StoredText<'a>),
    /// A vector, by what tells it from others: see [`Vector::identity`](crate::Vector::identity).
    Vector(u128),
}

/// Length of the key of class [`class::TOKENS`]: the norm, and the sum.
pub(crate) const TOKENS_KEY_BYTES: usize = 10;

impl<'a> StoredTerm<'a> {
    /// Reads a key without its field; `None` for bytes that are no term.
    pub(crate) fn decode(key: &'a [u8]) -> Option<StoredTerm<'a>> {
        let (&class, rest) = key.split_first()?;
        match class {
            class::NULL if rest.is_empty() => Some(StoredTerm::Null),
            class::TEXT => StoredText::decode(rest).map(StoredTerm::Text),
            class::NUMBER => NumberKey::decode(rest).map(|key| StoredTerm::Number(key.to_number())),
            class::POINT => {
                let key = rest.try_into().ok()?;
                Some(StoredTerm::Point(spot_of(u64::from_be_bytes(key))))
            }
            class::SHAPE => StoredText::decode(rest).map(StoredTerm::Shape),
            class::VECTOR => {
                let hash = rest.try_into().ok()?;
                Some(StoredTerm::Vector(u128::from_be_bytes(hash)))
            }
            _ => None,
        }
    }
}

/// Analyzed text in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredText<'a> {
    bytes: &'a [u8],
    cut: bool,
}

impl<'a> StoredText<'a> {
    fn decode(bytes: &'a [u8]) -> Option<StoredText<'a>> {
        match bytes.len() {
            ..=TEXT_BYTES_WHOLE_MAX => Some(StoredText { bytes, cut: false }),
            TEXT_BYTES_CUT => Some(StoredText {
                bytes: &bytes[..TEXT_BYTES_WHOLE_MAX],
                cut: true,
            }),
            _ => None,
        }
    }

    /// UTF-8 of the text, or its first [`TEXT_BYTES_WHOLE_MAX`] bytes, which may end within a
    /// character.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether the text is longer than what is kept here.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The text; a character that the cut splits is left out.
    #[must_use]
    pub fn to_text(&self) -> Cow<'a, str> {
        match self.bytes.utf8_chunks().next() {
            Some(chunk) if self.cut || chunk.invalid().is_empty() => Cow::Borrowed(chunk.valid()),
            Some(_) => String::from_utf8_lossy(self.bytes),
            None => Cow::Borrowed(""),
        }
    }
}

/// Shortens what lies in `out` from `start` on, the analyzed text of a key, when it is too long.
pub(crate) fn cut_in_place(out: &mut Vec<u8>, start: usize) {
    if out.len() - start > TEXT_BYTES_WHOLE_MAX {
        let hash = xxh3_64(&out[start..], 0);
        out.truncate(start + TEXT_BYTES_WHOLE_MAX);
        out.extend_from_slice(&hash.to_be_bytes());
    }
}

/// Appends the key of a place.
pub(crate) fn push_place_key(place: &Place, out: &mut Vec<u8>) {
    match place {
        Place::Point(at) => {
            out.push(class::POINT);
            out.extend_from_slice(&key_of(*at).to_be_bytes());
        }
        Place::Shape(_, text) => {
            out.push(class::SHAPE);
            let start = out.len();
            out.extend_from_slice(text.as_bytes());
            cut_in_place(out, start);
        }
    }
}

/// Appends the key of a number.
pub(crate) fn push_number_key(number: Number, out: &mut Vec<u8>) {
    out.push(class::NUMBER);
    out.extend_from_slice(number.key().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_key(text: &str) -> Vec<u8> {
        let mut out = vec![class::TEXT];
        out.extend_from_slice(text.as_bytes());
        cut_in_place(&mut out, 1);
        out
    }

    #[test]
    fn whole_texts_are_their_own_keys() {
        let text = "x".repeat(TEXT_BYTES_WHOLE_MAX);
        let key = text_key(&text);
        assert_eq!(key.len(), 1 + TEXT_BYTES_WHOLE_MAX);
        let Some(StoredTerm::Text(stored)) = StoredTerm::decode(&key) else {
            panic!()
        };
        assert_eq!(stored.to_text(), text);
        assert!(!stored.is_cut());
    }

    #[test]
    fn long_texts_are_cut_and_told_apart() {
        let shared = "y".repeat(TEXT_BYTES_WHOLE_MAX);
        let (a, b) = (
            text_key(&format!("{shared}a")),
            text_key(&format!("{shared}b")),
        );
        assert_ne!(a, b);
        assert_eq!(a.len(), 1 + TEXT_BYTES_CUT);
        let Some(StoredTerm::Text(stored)) = StoredTerm::decode(&a) else {
            panic!()
        };
        assert_eq!(stored.to_text(), shared);
        assert!(stored.is_cut());
        // A cut text orders behind the whole text that it begins with.
        assert!(text_key(&shared) < a);
        assert!(a < text_key(&format!("{}z", &shared[1..])));
    }

    #[test]
    fn a_cut_within_a_character_leaves_it_out() {
        let text = "\u{e4}".repeat(TEXT_BYTES_WHOLE_MAX);
        let key = text_key(&format!("x{text}"));
        let Some(StoredTerm::Text(stored)) = StoredTerm::decode(&key) else {
            panic!()
        };
        assert_eq!(stored.as_bytes().len(), TEXT_BYTES_WHOLE_MAX);
        assert_eq!(stored.to_text().len(), TEXT_BYTES_WHOLE_MAX - 1);
    }

    #[test]
    fn bytes_that_are_no_term_are_refused() {
        assert_eq!(StoredTerm::decode(&[]), None);
        assert_eq!(StoredTerm::decode(&[class::EXISTS]), None);
        assert_eq!(StoredTerm::decode(&[class::NULL, 0]), None);
        assert_eq!(StoredTerm::decode(&[class::NUMBER, 0]), None);
        assert_eq!(StoredTerm::decode(&[0xff]), None);
        assert_eq!(StoredTerm::decode(&[class::TEXT; TEXT_BYTES_CUT]), None);
    }
}

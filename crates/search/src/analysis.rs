//! Analysis: from a value of a document, or of a query, to the terms it stands for.
//!
//! Called by `batch` for entries and by `reader` for queries, so that both sides agree byte for
//! byte. What becomes of each kind of value:
//!
//! | Value | Terms |
//! |---|---|
//! | text | the text as one term, folded to lower case unless the field is exact |
//! | boolean | the text `true` or `false` |
//! | number | the number by true value, and its text as written in the document |
//! | null | null, told apart from text and from a missing field |
//! | date | its text; dates in ISO 8601 order as text does |
//! | array | the terms of all its elements; an empty array is as a missing field |
//! | missing | none |
//!
//! Invariants:
//! - The analyzer of a field is stored with the index and never changes.
//!
//! Threads: pure functions.

use jackdaw_base::lowercase;

use crate::term::{self, Term, class};

/// How the text of a field becomes terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Analyzer {
    /// The whole text is one term, folded to lower case: the default.
    LowercaseKeyword,
    /// The whole text is one term, unchanged: `exact(...)`.
    Keyword,
}

impl Analyzer {
    /// The number that stands for it in the index.
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Analyzer::LowercaseKeyword => 1,
            Analyzer::Keyword => 2,
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Analyzer> {
        match byte {
            1 => Some(Analyzer::LowercaseKeyword),
            2 => Some(Analyzer::Keyword),
            _ => None,
        }
    }

    /// Appends `text` as this analyzer changes it.
    pub(crate) fn push_text(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Analyzer::LowercaseKeyword => lowercase::push_lowercase_bytes(text, out),
            Analyzer::Keyword => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// Appends the key of text.
    pub(crate) fn push_text_key(self, text: &str, out: &mut Vec<u8>) {
        out.push(class::TEXT);
        let start = out.len();
        self.push_text(text, out);
        term::cut_in_place(out, start);
    }

    /// Appends the key of a query's term.
    pub(crate) fn push_key(self, term: Term<'_>, out: &mut Vec<u8>) {
        match term {
            Term::Null => out.push(class::NULL),
            Term::Text(text) => self.push_text_key(text, out),
            Term::Boolean(value) => self.push_text_key(boolean_text(value), out),
            Term::Number(number) => term::push_number_key(number, out),
        }
    }
}

/// The text a boolean is indexed as.
pub(crate) fn boolean_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(analyzer: Analyzer, term: Term<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        analyzer.push_key(term, &mut out);
        out
    }

    #[test]
    fn case_matters_to_exact_fields_only() {
        let (folded, exact) = (Analyzer::LowercaseKeyword, Analyzer::Keyword);
        assert_eq!(
            key(folded, Term::Text("Pearl")),
            key(folded, Term::Text("PEARL"))
        );
        assert_ne!(
            key(exact, Term::Text("Pearl")),
            key(exact, Term::Text("PEARL"))
        );
        assert_eq!(
            key(exact, Term::Boolean(true)),
            key(folded, Term::Text("True"))
        );
    }

    #[test]
    fn classes_never_meet() {
        let analyzer = Analyzer::LowercaseKeyword;
        assert_ne!(key(analyzer, Term::Null), key(analyzer, Term::Text("")));
        assert!(key(analyzer, Term::Null) < key(analyzer, Term::Text("")));
        let number = jackdaw_base::number::Number::Long(i64::MIN);
        assert!(key(analyzer, Term::Text("\u{10ffff}")) < key(analyzer, Term::Number(number)));
    }

    #[test]
    fn analyzers_keep_their_numbers() {
        for (analyzer, byte) in [(Analyzer::LowercaseKeyword, 1), (Analyzer::Keyword, 2)] {
            assert_eq!(analyzer.to_byte(), byte);
            assert_eq!(Analyzer::from_byte(byte), Some(analyzer));
        }
        assert_eq!(Analyzer::from_byte(0), None);
    }
}

//! Analysis: from a value of a document, or of a query, to the terms it stands for.
//!
//! Called by `batch` for entries and by `reader` for queries, so that both sides agree byte for
//! byte; `tokens` divides full text. What becomes of each kind of value:
//!
//! | Value | Terms |
//! |---|---|
//! | text | the text as one term, folded to lower case unless the field is exact |
//! | full text | its tokens, with their positions |
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

mod chain;
mod classic;
mod tokens;

use jackdaw_base::lowercase;

pub use chain::{Chain, ChainError};
pub use tokens::{TOKENS_PER_FIELD_MAX, VALUE_GAP};

use crate::term::{self, Term, class};

/// How the text of a field becomes terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Analyzer {
    /// The whole text is one term, folded to lower case: the default.
    LowercaseKeyword,
    /// The whole text is one term, unchanged: `exact(...)`.
    Keyword,
    /// Full text: words of the classic grammar, which keeps part numbers, versions and addresses in
    /// one piece, in lower case, without English stop words.
    Standard,
    /// Full text: what stands between white space, unchanged.
    Whitespace,
    /// Full text: runs of letters, in lower case.
    Simple,
    /// Full text: as `Simple`, without English stop words.
    Stop,
    /// Full text: all runs of two to six characters of the words of `Standard`.
    NGram,
    /// Full text: words as Unicode has them, in lower case, without English stop words.
    Unicode,
    /// Full text: what a tokenizer and filters make of it, which a user put together.
    Chain(Chain),
}

/// The number of chains in the index.
const CHAIN: u8 = 9;

/// Analyzers, their numbers in the index and their names, without `Analyzer` behind them.
const ANALYZERS: [(Analyzer, u8, &str); 8] = [
    (Analyzer::LowercaseKeyword, 1, "LowerCaseKeyword"),
    (Analyzer::Keyword, 2, "Keyword"),
    (Analyzer::Standard, 3, "Standard"),
    (Analyzer::Whitespace, 4, "Whitespace"),
    (Analyzer::Simple, 5, "Simple"),
    (Analyzer::Stop, 6, "Stop"),
    (Analyzer::NGram, 7, "NGram"),
    (Analyzer::Unicode, 8, "JackdawUnicode"),
];

impl Analyzer {
    /// The analyzer with a name as index definitions have it: `StandardAnalyzer`, or a class name
    /// of Lucene (`Lucene.Net.Analysis.Standard.StandardAnalyzer, Lucene.Net`); in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Analyzer> {
        let class = name.split(',').next()?.trim();
        let class = class.rsplit('.').next()?;
        let is = |known: &str| {
            let split = class.split_at_checked(known.len());
            split.is_some_and(|(head, tail)| {
                head.eq_ignore_ascii_case(known)
                    && (tail.is_empty() || tail.eq_ignore_ascii_case("Analyzer"))
            })
        };
        // RavenDB's own class for the standard analyzer.
        let is_own = class.eq_ignore_ascii_case("RavenStandardAnalyzer");
        let found = ANALYZERS.iter().find(|(_, _, known)| is(known));
        match found {
            Some((analyzer, _, _)) => Some(*analyzer),
            None => is_own.then_some(Analyzer::Standard),
        }
    }

    /// The name in index definitions: `StandardAnalyzer`. Of a chain, its steps.
    #[must_use]
    pub fn name(self) -> String {
        if let Some(steps) = self.steps() {
            return steps;
        }
        let known = ANALYZERS.iter().find(|(analyzer, _, _)| *analyzer == self);
        known.map_or_else(String::new, |(_, _, name)| format!("{name}Analyzer"))
    }

    /// Whether text becomes tokens with positions, not one term.
    #[must_use]
    pub fn is_full_text(self) -> bool {
        !matches!(self, Analyzer::LowercaseKeyword | Analyzer::Keyword)
    }

    /// Whether text is folded to lower case.
    #[must_use]
    pub fn folds(self) -> bool {
        match self {
            Analyzer::Keyword | Analyzer::Whitespace => false,
            Analyzer::Chain(chain) => chain.folds(),
            _ => true,
        }
    }

    /// The number that stands for it in the index.
    pub(crate) fn to_byte(self) -> u8 {
        if matches!(self, Analyzer::Chain(_)) {
            return CHAIN;
        }
        let known = ANALYZERS.iter().find(|(analyzer, _, _)| *analyzer == self);
        known.map_or(0, |(_, byte, _)| *byte)
    }

    /// Whether the number stands for a chain, whose steps are kept with it.
    pub(crate) fn is_chain(byte: u8) -> bool {
        byte == CHAIN
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Analyzer> {
        let known = ANALYZERS.iter().find(|(_, known, _)| *known == byte);
        known.map(|(analyzer, _, _)| *analyzer)
    }

    /// `text` as this analyzer changes it when it is one term.
    #[must_use]
    pub fn fold(self, text: &str) -> std::borrow::Cow<'_, str> {
        match self {
            Analyzer::Chain(chain) => chain.fold(text),
            _ if self.folds() => lowercase::lowercase(text),
            _ => text.into(),
        }
    }

    /// Appends `text` as this analyzer changes it when it is one term.
    pub(crate) fn push_text(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Analyzer::Chain(chain) => out.extend_from_slice(chain.fold(text).as_bytes()),
            _ if self.folds() => lowercase::push_lowercase_bytes(text, out),
            _ => out.extend_from_slice(text.as_bytes()),
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
        for (analyzer, byte) in [
            (Analyzer::LowercaseKeyword, 1),
            (Analyzer::Keyword, 2),
            (Analyzer::Standard, 3),
            (Analyzer::Whitespace, 4),
            (Analyzer::Simple, 5),
            (Analyzer::Stop, 6),
            (Analyzer::NGram, 7),
            (Analyzer::Unicode, 8),
        ] {
            assert_eq!(analyzer.to_byte(), byte);
            assert_eq!(Analyzer::from_byte(byte), Some(analyzer));
            assert_eq!(Analyzer::parse(&analyzer.name()), Some(analyzer));
        }
        assert_eq!(Analyzer::from_byte(0), None);
        assert_eq!(Analyzer::from_byte(9), None);
    }

    #[test]
    fn names_of_lucene_are_known() {
        for (name, analyzer) in [
            (
                "Lucene.Net.Analysis.Standard.StandardAnalyzer",
                Some(Analyzer::Standard),
            ),
            (
                "Lucene.Net.Analysis.StopAnalyzer, Lucene.Net, Version=3.0.3.0",
                Some(Analyzer::Stop),
            ),
            ("keyword", Some(Analyzer::Keyword)),
            ("RavenStandardAnalyzer", Some(Analyzer::Standard)),
            ("NGramAnalyzer", Some(Analyzer::NGram)),
            ("JackdawUnicodeAnalyzer", Some(Analyzer::Unicode)),
            ("StandardAnalyzers", None),
            ("", None),
        ] {
            assert_eq!(Analyzer::parse(name), analyzer, "{name}");
        }
    }
}

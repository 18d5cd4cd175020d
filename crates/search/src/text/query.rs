//! The condition itself, and what it means for the terms of a document.
//!
//! Built by `search_text`, `lucene` and the layer above; answered from an index by the reader.
//!
//! Invariants:
//! - Texts inside are analyzed as the field's terms are.
//! - Matching costs time bounded by the terms and the condition: expressions run in linear time.
//!
//! Threads: plain data.

use std::ops::Bound;

use regex::{Regex, RegexBuilder};

use super::fuzzy::Fuzzy;
use super::pattern::Wildcard;
use super::phrase::Phrase;
use super::terms::FieldTerms;

/// Most memory of a compiled expression: what needs more has huge repetitions.
const EXPRESSION_BYTES_MAX: usize = 1 << 20;

/// Longest text of an expression.
const EXPRESSION_TEXT_BYTES_MAX: usize = 4 * 1024;

/// A condition on the terms of one field.
#[derive(Clone, Debug, PartialEq)]
pub enum TextQuery {
    /// It has a term.
    Anything,
    /// It has this term.
    Term(Box<str>),
    /// It has a term that begins so.
    Prefix(Box<str>),
    /// It has a term that fits.
    Wildcard(Wildcard),
    /// It has a term in which the expression is found.
    Expression(Expression),
    /// It has a similar term.
    Fuzzy(Fuzzy),
    /// It has a term between two.
    Range(Bound<Box<str>>, Bound<Box<str>>),
    /// It has these terms near each other.
    Phrase(Phrase),
    /// Several conditions. Without `must` one of `should` has to hold; without both nothing does.
    Bool {
        /// All of them hold.
        must: Vec<TextQuery>,
        /// They count for the score; see above for when they have to hold.
        should: Vec<TextQuery>,
        /// None of them holds.
        must_not: Vec<TextQuery>,
    },
    /// The condition, with its score multiplied.
    Boost(Box<TextQuery>, f64),
}

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TextError {
    /// One sentence.
    pub message: String,
}

impl TextError {
    pub(super) fn new(message: impl Into<String>) -> TextError {
        TextError {
            message: message.into(),
        }
    }
}

/// A regular expression, matched in time linear in the text.
#[derive(Clone, Debug)]
pub struct Expression {
    regex: Regex,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        self.regex.as_str() == other.regex.as_str()
    }
}

impl Expression {
    /// Compiles an expression without regard to case.
    ///
    /// # Errors
    /// The text is no expression, uses what needs backtracking (look-around, back references), or
    /// is too large.
    pub fn compile(text: &str) -> Result<Expression, TextError> {
        if text.len() > EXPRESSION_TEXT_BYTES_MAX {
            return Err(TextError::new(format!(
                "a regular expression has at most {EXPRESSION_TEXT_BYTES_MAX} bytes"
            )));
        }
        let regex = RegexBuilder::new(text)
            .case_insensitive(true)
            .size_limit(EXPRESSION_BYTES_MAX)
            .dfa_size_limit(EXPRESSION_BYTES_MAX)
            .build();
        let regex = regex.map_err(|error| {
            let shown = error.to_string();
            let reason = shown.lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            TextError::new(format!("'{text}' is no regular expression: {reason}"))
        })?;
        Ok(Expression { regex })
    }

    /// The text of the expression.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// Whether it is found in `term`.
    #[must_use]
    pub fn matches(&self, term: &str) -> bool {
        self.regex.is_match(term)
    }
}

impl TextQuery {
    /// A condition that nothing passes.
    #[must_use]
    pub fn nothing() -> TextQuery {
        TextQuery::any(Vec::new())
    }

    /// All of several conditions; none of them are nothing.
    #[must_use]
    pub fn all(mut list: Vec<TextQuery>) -> TextQuery {
        match list.len() {
            1 => list.remove(0),
            _ => TextQuery::Bool {
                must: list,
                should: Vec::new(),
                must_not: Vec::new(),
            },
        }
    }

    /// Any of several conditions.
    #[must_use]
    pub fn any(mut list: Vec<TextQuery>) -> TextQuery {
        match list.len() {
            1 => list.remove(0),
            _ => TextQuery::Bool {
                must: Vec::new(),
                should: list,
                must_not: Vec::new(),
            },
        }
    }

    /// Whether the terms of a field of a document pass.
    #[must_use]
    pub fn matches(&self, terms: &FieldTerms) -> bool {
        let any = |condition: &dyn Fn(&str) -> bool| terms.iter().any(|(term, _)| condition(term));
        match self {
            TextQuery::Anything => !terms.is_empty(),
            TextQuery::Term(_)
            | TextQuery::Prefix(_)
            | TextQuery::Wildcard(_)
            | TextQuery::Expression(_)
            | TextQuery::Fuzzy(_)
            | TextQuery::Range(..) => any(&|term| self.passes(term)),
            TextQuery::Phrase(phrase) => {
                let words = phrase.terms.iter();
                let positions: Vec<Vec<u32>> =
                    words.map(|(term, _)| terms.positions_of(term)).collect();
                phrase.count(&positions) > 0
            }
            TextQuery::Bool {
                must,
                should,
                must_not,
            } => {
                let holds = |query: &TextQuery| query.matches(terms);
                let required = match must.is_empty() {
                    true => should.iter().any(holds),
                    false => must.iter().all(holds),
                };
                required && !must_not.iter().any(holds)
            }
            TextQuery::Boost(inner, _) => inner.matches(terms),
        }
    }

    /// Whether one term passes; conditions on several terms never do.
    #[must_use]
    pub fn passes(&self, term: &str) -> bool {
        match self {
            TextQuery::Anything => true,
            TextQuery::Term(expected) => **expected == *term,
            TextQuery::Prefix(prefix) => term.starts_with(&**prefix),
            TextQuery::Wildcard(wildcard) => wildcard.matches(term),
            TextQuery::Expression(expression) => expression.matches(term),
            TextQuery::Fuzzy(fuzzy) => fuzzy.matches(term),
            TextQuery::Range(low, high) => {
                let low = low.as_ref().map(|bound| &**bound);
                let high = high.as_ref().map(|bound| &**bound);
                std::ops::RangeBounds::<str>::contains(&(low, high), term)
            }
            TextQuery::Phrase(_) | TextQuery::Bool { .. } => false,
            TextQuery::Boost(inner, _) => inner.passes(term),
        }
    }

    /// Calls `visit` with every term the condition names exactly: what statistics are needed of,
    /// and what is highlighted.
    pub fn for_each_term<'q>(&'q self, visit: &mut dyn FnMut(&'q str)) {
        match self {
            TextQuery::Term(term) => visit(term),
            TextQuery::Phrase(phrase) => phrase.terms.iter().for_each(|(term, _)| visit(term)),
            TextQuery::Bool { must, should, .. } => {
                let both = must.iter().chain(should);
                both.for_each(|query| query.for_each_term(visit));
            }
            TextQuery::Boost(inner, _) => inner.for_each_term(visit),
            _ => {}
        }
    }

    /// Whether `term` is part of what makes a document pass: for highlighting.
    #[must_use]
    pub fn touches(&self, term: &str) -> bool {
        match self {
            TextQuery::Anything => false,
            TextQuery::Phrase(phrase) => phrase.terms.iter().any(|(word, _)| **word == *term),
            TextQuery::Bool { must, should, .. } => {
                must.iter().chain(should).any(|query| query.touches(term))
            }
            TextQuery::Boost(inner, _) => inner.touches(term),
            single => single.passes(term),
        }
    }

    /// Multiplies the score.
    #[must_use]
    pub fn boosted(self, factor: f64) -> TextQuery {
        TextQuery::Boost(Box::new(self), factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_limits() {
        assert!(Expression::compile("^g.*a$").unwrap().matches("Gamma"));
        for text in ["(", "(?=a)", r"(a)\1", "((a{1000}){1000}){1000}"] {
            let error = Expression::compile(text).unwrap_err();
            assert!(
                error.message.contains("is no regular expression"),
                "{error}"
            );
        }
        assert!(Expression::compile(&"a".repeat(5_000)).is_err());
        // What would take another engine forever.
        let evil = Expression::compile("(a+)+$").unwrap();
        assert!(!evil.matches(&("a".repeat(50_000) + "b")));
    }
}

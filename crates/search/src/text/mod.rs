//! Conditions on the terms of one field: words, phrases, wildcards, expressions, what is similar.
//!
//! `query` is the condition and its meaning for the terms of one value (`terms`); `search_text` and
//! `lucene` read it from what users write; `pattern`, `fuzzy` and `phrase` compare. The reader
//! answers the same conditions from an index, similar terms by a walk with `similar`.
//!
//! Invariants:
//! - [`TextQuery::matches`] is the meaning; an index that has the same terms answers the same.

mod fuzzy;
mod lucene;
mod pattern;
mod phrase;
mod query;
mod search_text;
mod similar;
mod terms;

pub use fuzzy::{Fuzzy, edits_between};
pub use pattern::Wildcard;
pub use phrase::Phrase;
pub use query::{Expression, TextError, TextQuery};
pub use terms::FieldTerms;

pub(crate) use similar::{Comparison, Likeness};

/// Longest text of a search, a wildcard or an expression, in bytes.
pub const QUERY_TEXT_BYTES_MAX: usize = 32 * 1024;

//! Text of RQL to syntax tree and back.
//!
//! [`parse`] and [`parse_patch`] are the entries; [`Query`] prints itself.

mod clauses;
mod error;
mod explain;
mod expression;
mod lexer;
mod loads;
mod parser;
mod print;
mod script;
#[cfg(test)]
mod tests;
mod time_series;
mod tree;

pub use error::{SyntaxError, SyntaxErrorKind};
pub use explain::{Explain, split_explain};
pub use parser::{
    CLAUSE_COUNT_MAX, DEPTH_MAX, IN_ITEM_COUNT_MAX, TEXT_BYTES_MAX, parse, parse_patch,
};
pub use tree::*;

/// Whether a word cannot stand bare as a field.
pub(crate) fn is_reserved(word: &str) -> bool {
    parser::is_one_of(word, &parser::RESERVED)
}

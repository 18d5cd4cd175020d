//! C# queries as maps and reduces: from text to the native form.
//!
//! Called by `program`. One pass over the tokens makes the expressions, with names resolved as they
//! are read; what is not understood is refused by name and place. Helper functions of additional
//! sources are compiled when they are first called (`sources`).
//!
//! Invariants: compiling is linear in the length of the text; nesting is bounded by
//! [`DEPTH_MAX`](parser::DEPTH_MAX), so that neither compiling nor running recurses further.

mod calls;
mod creation;
mod facts;
pub(crate) mod lexer;
mod names;
mod parser;
mod primary;
mod query;
mod sources;
mod types;

use crate::index::error::CompileError;
use crate::index::native::Expression;
use crate::index::program::{MapFacts, ReduceFacts};
use crate::limits::ScriptLimits;
use parser::{Kind, Parser};
use sources::Library;

/// A compiled query: an expression that gives the list of its results.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) expression: Expression,
    /// How many variables it has.
    pub(crate) slot_count: usize,
}

/// Whether a text begins like a query of C#; else it is JavaScript.
pub(crate) fn is_linq(text: &str) -> bool {
    let start =
        text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '('));
    let word_len = start.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    let (word, rest) = start.split_at(word_len.unwrap_or(start.len()));
    match word {
        "from" => rest.starts_with(char::is_whitespace),
        "docs" | "results" => true,
        "counters" | "timeSeries" | "timeseries" => {
            let member = rest.trim_start().trim_start_matches('.').trim_start();
            !member
                .strip_prefix("map")
                .is_some_and(|rest| rest.trim_start().starts_with('('))
        }
        _ => false,
    }
}

/// Compiles a map.
pub(crate) fn compile_map(
    text: &str,
    sources: &[(String, String)],
) -> Result<(Compiled, MapFacts), CompileError> {
    let mut parser = parser(text, sources, Kind::Map)?;
    let expression = parser.program()?;
    let facts = facts::of_map(&expression, &mut parser)?;
    let slot_count = parser.slot_count;
    Ok((
        Compiled {
            expression,
            slot_count,
        },
        facts,
    ))
}

/// Compiles a reduce.
pub(crate) fn compile_reduce(
    text: &str,
    sources: &[(String, String)],
) -> Result<(Compiled, ReduceFacts), CompileError> {
    let mut parser = parser(text, sources, Kind::Reduce)?;
    let expression = parser.program()?;
    let facts = facts::of_reduce(&expression, &parser)?;
    let slot_count = parser.slot_count;
    Ok((
        Compiled {
            expression,
            slot_count,
        },
        facts,
    ))
}

fn parser<'t>(
    text: &'t str,
    sources: &[(String, String)],
    kind: Kind,
) -> Result<Parser<'t>, CompileError> {
    let limit = ScriptLimits::default().text_bytes_max;
    let len: usize = sources.iter().map(|(_, source)| source.len()).sum();
    if text.len() + len > limit {
        let message = format!("the text is longer than {limit} bytes: split the index");
        return Err(CompileError::new(message, "", (1, 1)));
    }
    Parser::new(text, kind, Library::new(sources)?)
}

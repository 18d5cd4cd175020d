//! Errors of the parser: where, what was expected, what stands there, what to do.
//!
//! The first line of the text has the form clients of the protocol match on:
//! `1:16 Expected end of query but got: F`.

use std::fmt;

/// A text that is not a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What was expected, and what stands there instead.
    pub message: String,
    /// What to do about it, when there is more to say than the message.
    pub hint: Option<String>,
    /// What kind of error clients expect.
    pub kind: SyntaxErrorKind,
}

/// The kinds of [`SyntaxError`] that clients of the protocol keep apart by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyntaxErrorKind {
    /// The text cannot be parsed.
    #[default]
    Unparsable,
    /// A clause lacks its value, or a field its operator.
    Incomplete,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}", self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n{hint}"),
            None => Ok(()),
        }
    }
}

/// Line and column, from 1, of a byte position in `text`.
pub(crate) fn line_and_column(text: &str, position: usize) -> (u32, u32) {
    let before = text.get(..position).unwrap_or(text);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before[line_start..].chars().count() + 1;
    (clamp(line), clamp(column))
}

fn clamp(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

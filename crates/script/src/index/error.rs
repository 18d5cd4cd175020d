//! Why an index definition was refused, or why a document gave no entries.

use crate::error::{BoxError, ScriptError};

/// Why a map or reduce was refused, with the place in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {}, column {})", position.0, position.1)]
pub struct CompileError {
    /// What is wrong and what to do, in one sentence.
    pub message: String,
    /// The text that is not understood; empty when it is not one construct.
    pub construct: String,
    /// Line and column, from 1.
    pub position: (u32, u32),
    /// What is at fault.
    pub fault: CompileFault,
}

/// What is at fault in a text that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompileFault {
    /// It does not read, or throws when it is run.
    Text,
    /// It is JavaScript, but declares no map or reduce as it has to.
    Declaration,
}

impl CompileError {
    pub(crate) fn new(message: impl Into<String>, construct: &str, position: (u32, u32)) -> Self {
        CompileError {
            message: message.into(),
            construct: construct.to_owned(),
            position,
            fault: CompileFault::Text,
        }
    }

    /// The same error, of what the text declares.
    pub(crate) fn of_declaration(self) -> Self {
        CompileError {
            fault: CompileFault::Declaration,
            ..self
        }
    }

    /// An error of the JavaScript engine while compiling.
    pub(crate) fn of_script(error: ScriptError) -> CompileError {
        let (message, position) = match error {
            ScriptError::Syntax {
                message,
                line,
                column,
            } => (message, (line, column)),
            ScriptError::Thrown { message, place } => (message, place.unwrap_or((1, 1))),
            other => (other.to_string(), (1, 1)),
        };
        // A call of what does not exist declares nothing.
        let declares_nothing =
            message.starts_with("TypeError:") || message.starts_with("ReferenceError:");
        let error = CompileError::new(message, "", position);
        match declares_nothing {
            true => error.of_declaration(),
            false => error,
        }
    }
}

/// Why a program gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// This document or group cannot be indexed; the next may.
    #[error("{0}")]
    Document(String),
    /// The host failed: no document can be indexed now.
    #[error("{0}")]
    Fatal(#[source] BoxError),
}

impl RunError {
    /// An error of the JavaScript engine while running.
    pub(crate) fn of_script(error: ScriptError) -> RunError {
        match error {
            ScriptError::Host(error) => RunError::Fatal(error),
            other => RunError::Document(other.to_string()),
        }
    }
}

//! Errors that a command answers with, in the words of Redis: programs look for them.

use std::borrow::Cow;

/// Why a command was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("ERR syntax error")]
    Syntax,
    #[error("ERR value is not an integer or out of range")]
    NotInteger,
    #[error("ERR value is not a valid float")]
    NotFloat,
    #[error("ERR no such key")]
    NoSuchKey,
    #[error("ERR index out of range")]
    IndexRange,
    #[error("ERR increment or decrement would overflow")]
    Overflow,
    #[error("ERR string exceeds maximum allowed size (proto-max-bulk-len)")]
    StringLength,
    #[error("ERR the reply is longer than replies may be: half of maxmemory-clients in CONFIG GET")]
    ReplyLength,
    #[error("ERR wrong number of arguments for '{0}' command")]
    ArgumentCount(String),
    #[error("OOM command not allowed when used memory > 'maxmemory'.")]
    OutOfMemory,
    #[error("ERR {0}")]
    Other(Cow<'static, str>),
    /// With a code of its own.
    #[error("{0}")]
    Coded(Cow<'static, str>),
}

impl Failure {
    pub(crate) fn other(text: impl Into<Cow<'static, str>>) -> Failure {
        Failure::Other(text.into())
    }

    pub(crate) fn coded(text: impl Into<Cow<'static, str>>) -> Failure {
        Failure::Coded(text.into())
    }
}

/// What was taken off a collection that has `left` elements now, unless it is nothing for want of
/// room in the reply.
pub(crate) fn expect_room<R>(
    wanted: usize,
    left: usize,
    popped: Vec<R>,
) -> Result<Vec<R>, Failure> {
    match popped.is_empty() && wanted > 0 && left > 0 {
        true => Err(Failure::ReplyLength),
        false => Ok(popped),
    }
}

/// What a command gives beside its reply.
pub(crate) type Outcome = Result<(), Failure>;

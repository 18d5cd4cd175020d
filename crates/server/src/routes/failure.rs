//! Typed errors of the layers below as errors on the wire. Nothing else translates.
//!
//! Kinds, messages and statuses follow the recorded behaviour of the reference; what it does not
//! know (damage, poisoned storage) becomes a 500 that says what to do, and is logged.

use hyper::StatusCode;
use jackdaw_database::{DatabaseError, OpenError, QueryError, ReadError, SetError, WriteError};

use jackdaw_query::syntax::SyntaxError;
use serde_json::Value;

use super::asked::Asked;
use crate::wire::{WireError, kind};

/// Longest id on the wire, in bytes.
const ID_BYTES_MAX: usize = 512;

pub(super) fn no_database(name: &str) -> WireError {
    WireError::new(
        kind::NO_DATABASE,
        format!("Database '{name}' does not exist."),
    )
}

/// A database that could not be opened.
pub(super) fn open(name: &str, error: &OpenError) -> WireError {
    let message = format!(
        "Database '{name}' cannot be opened: {error}. `jackdaw check` tells what is damaged."
    );
    WireError::new(kind::UNEXPECTED, message)
}

/// A database that could not be created, deleted or described.
pub(super) fn set(name: &str, error: &SetError) -> WireError {
    match error {
        SetError::Exists(_) => {
            let message = format!("Database '{name}' already exists!");
            WireError::new(kind::CONCURRENCY, message)
                .with_status(StatusCode::CONFLICT)
                .with("Id", Value::Null)
                .with("ExpectedChangeVector", Value::Null)
                .with("ActualChangeVector", Value::Null)
        }
        SetError::Missing(_) => no_database(name),
        SetError::InvalidName { .. } => {
            let message = format!(
                "The name '{name}' is not permitted. Only letters, digits and characters \
                 ('_', '-', '.') are allowed."
            );
            WireError::new(kind::BAD_REQUEST, message).with_status(StatusCode::BAD_REQUEST)
        }
        SetError::Open(error) => open(name, error),
        SetError::Write(error) => write(error),
        other => WireError::new(kind::UNEXPECTED, other.to_string()),
    }
}

/// Documents that could not be read.
pub(super) fn read(error: &ReadError) -> WireError {
    WireError::new(
        kind::UNEXPECTED,
        format!("Documents could not be read: {error}"),
    )
}

/// Whatever a database said that is none of the other kinds.
pub(super) fn database(error: &DatabaseError) -> WireError {
    match error {
        DatabaseError::Read(error) => read(error),
        DatabaseError::Write(error) => write(error),
        other => WireError::new(kind::UNEXPECTED, other.to_string()),
    }
}

pub(super) fn no_index(name: &str) -> WireError {
    WireError::new(
        kind::NO_INDEX,
        format!("There is no index with '{name}' name."),
    )
}

/// A query without a result. Messages repeat the query, as clients show nothing else.
pub(super) fn query(error: &QueryError, asked: &Asked) -> WireError {
    let text = &asked.text;
    match error {
        QueryError::Syntax(error) => {
            let SyntaxError {
                line,
                column,
                message,
                hint,
            } = error;
            let hint = hint
                .as_ref()
                .map_or(String::new(), |hint| format!("\n{hint}"));
            let message = format!("{line}:{column} {message}\nQuery: \n{text}{hint}");
            WireError::new(kind::PARSE_QUERY, message)
        }
        QueryError::Invalid(message) => {
            let parameters = asked.parameters.as_ref();
            let parameters = parameters.map(|parameters| parameters.root().to_json());
            let parameters = parameters.filter(|json| json != "{}");
            let tail = parameters.map_or(String::new(), |json| format!("\nParameters: {json}"));
            WireError::new(
                kind::INVALID_QUERY,
                format!("{message}\nQuery: {text}{tail}"),
            )
        }
        QueryError::Argument(message) => WireError::new(kind::ARGUMENT, message),
        QueryError::Operation(message) => WireError::new(kind::INVALID_OPERATION, message),
        QueryError::NotSupported(message) => WireError::new(kind::NOT_SUPPORTED, message),
        QueryError::IndexMissing(name) => no_index(name),
        QueryError::Memory { .. } | QueryError::Stopped => {
            WireError::new(kind::INVALID_OPERATION, error.to_string())
        }
        other => WireError::new(kind::UNEXPECTED, other.to_string()),
    }
}

/// Refuses an id that is longer than the protocol allows.
pub(super) fn check_id(id: &str) -> Result<(), WireError> {
    if id.len() <= ID_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "Document ID cannot exceed {ID_BYTES_MAX} bytes, but the ID was {} bytes. The invalid ID \
         is '{id}'. (Parameter 'str')",
        id.len()
    );
    Err(WireError::new(kind::ARGUMENT, message))
}

/// A change that was not made.
pub(super) fn write(error: &WriteError) -> WireError {
    match error {
        WriteError::Conflict {
            id,
            expected,
            actual,
            delete,
        } => conflict(id, expected, actual.as_deref(), *delete),
        WriteError::CollectionMismatch { id, from, to } => WireError::new(
            kind::COLLECTION_MISMATCH,
            format!(
                "Changing '{id}' from '{from}' to '{to}' via update is not supported. \
                 Delete it and recreate the document '{id}'."
            ),
        ),
        WriteError::InvalidId { .. } | WriteError::InvalidCollection { .. } => {
            WireError::new(kind::ARGUMENT, error.to_string())
        }
        WriteError::NotAnObject { .. } => WireError::new(kind::FORMAT, error.to_string()),
        WriteError::TooLarge { .. } => WireError::new(kind::INVALID_DATA, error.to_string())
            .with_status(StatusCode::PAYLOAD_TOO_LARGE),
        other => WireError::new(kind::UNEXPECTED, other.to_string()),
    }
}

fn conflict(id: &str, expected: &str, actual: Option<&str>, delete: bool) -> WireError {
    const TAIL: &str = "Optimistic concurrency violation, transaction will be aborted.";
    let verb = if delete { "Delete" } else { "Put" };
    let message = match (actual, delete) {
        (None, true) => format!(
            "Document {id} does not exist, but delete was called with change vector \
             '{expected}'. {TAIL}"
        ),
        (None, false) => format!(
            "Document {id} does not exist, but Put was called with change vector: {expected}. \
             {TAIL}"
        ),
        (Some(actual), _) if expected.is_empty() => format!(
            "Document {id} has change vector {actual}, but {verb} was called with expecting new \
             document. {TAIL}"
        ),
        (Some(actual), true) => format!(
            "Document {id} has change vector {actual}, but Delete was called with change vector \
             '{expected}'. {TAIL}"
        ),
        (Some(actual), false) => format!(
            "Document {id} has change vector {actual}, but Put was called with change vector \
             {expected}. {TAIL}"
        ),
    };
    // Deleting what is not there tells nothing about a document.
    let told = !(delete && actual.is_none());
    let member = |value: &str| {
        if told {
            Value::from(value)
        } else {
            Value::Null
        }
    };
    WireError::new(kind::CONCURRENCY, message)
        .with_status(StatusCode::CONFLICT)
        .with("Id", member(id))
        .with("ExpectedChangeVector", member(expected))
        .with(
            "ActualChangeVector",
            actual.map_or(Value::Null, Value::from),
        )
}

//! Typed errors of the layers below as errors on the wire. Nothing else translates.
//!
//! Kinds and messages follow the recorded behaviour of the reference; what it does not know
//! (damage, poisoned storage) becomes a 500 that says what to do, and is logged.

use hyper::StatusCode;
use jackdaw_database::{
    DatabaseError, OpenError, QueryError, ReadError, SetError, Violation, WriteError,
};

use jackdaw_document::DocumentBuf;
use jackdaw_query::syntax::{SyntaxError, SyntaxErrorKind};
use serde_json::Value;

use super::asked::Asked;
use crate::http::Cut;
use crate::wire::{WireError, kind};

/// Longest id on the wire, in bytes.
const ID_BYTES_MAX: usize = 512;

pub(super) fn no_database(name: &str) -> WireError {
    WireError::new(
        kind::NO_DATABASE,
        format!("Database '{name}' does not exist."),
    )
}

/// A database that was told not to serve.
pub(super) fn disabled(name: &str) -> WireError {
    let message = format!("The database '{name}' has been disabled. Enable it to use it.");
    WireError::new(kind::DATABASE_DISABLED, message)
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
            WireError::new(kind::BAD_REQUEST, message)
        }
        SetError::Open(error) => open(name, error),
        SetError::Write(error) => write(error),
        other => WireError::new(kind::UNEXPECTED, other.to_string()),
    }
}

/// Documents that could not be read.
pub(crate) fn read(error: &ReadError) -> WireError {
    if let ReadError::NoSnapshot { name } = error {
        let message = format!(
            "There is no snapshot '{name}'. GET /databases/.../jackdaw/snapshots lists them."
        );
        return WireError::new(kind::ARGUMENT, message);
    }
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
    query_text(error, &asked.text, asked.parameters.as_ref())
}

/// As [`query`], of a text with its parameters.
fn query_text(error: &QueryError, text: &str, parameters: Option<&DocumentBuf>) -> WireError {
    match error {
        QueryError::Syntax(error) => {
            let SyntaxError {
                line,
                column,
                message,
                hint,
                kind: of,
            } = error;
            let hint = hint
                .as_ref()
                .map_or(String::new(), |hint| format!("\n{hint}"));
            match of {
                SyntaxErrorKind::Unparsable => {
                    let message = format!("{line}:{column} {message}\nQuery: \n{text}{hint}");
                    WireError::new(kind::PARSE_QUERY, message)
                }
                SyntaxErrorKind::Incomplete => {
                    let message = format!("{message}\nQuery: {text}{hint}");
                    WireError::new(kind::INVALID_QUERY, message)
                }
            }
        }
        QueryError::Invalid(message) => {
            let parameters = parameters.map(|parameters| parameters.root().to_json());
            let parameters = parameters.filter(|json| json != "{}");
            let tail = parameters.map_or(String::new(), |json| format!("\nParameters: {json}"));
            WireError::new(
                kind::INVALID_QUERY,
                format!("{message}\nQuery: {text}{tail}"),
            )
        }
        QueryError::Argument(message) => WireError::new(kind::ARGUMENT, message),
        QueryError::Dimensions(message) => WireError::new(kind::INVALID_DATA, message),
        QueryError::Operation(message) => WireError::new(kind::INVALID_OPERATION, message),
        QueryError::NotSupported(message) => WireError::new(kind::NOT_SUPPORTED, message),
        QueryError::Script(message) => {
            WireError::new(kind::JAVASCRIPT, format!("{message}\nQuery: {text}"))
        }
        QueryError::SorterMissing(_) => WireError::new(kind::NO_SORTER, error.to_string()),
        QueryError::Sorter { exception, message } => {
            WireError::new(kind::thrown(exception), message)
        }
        QueryError::IndexMissing(name) => no_index(name),
        QueryError::IndexStopped { .. } => {
            WireError::new(kind::INVALID_OPERATION, error.to_string())
                .with_status(StatusCode::INTERNAL_SERVER_ERROR)
        }
        QueryError::Memory { .. } | QueryError::Stopped => {
            WireError::new(kind::INVALID_OPERATION, error.to_string())
        }
        QueryError::Crowded => WireError::new(kind::TIMEOUT, error.to_string()),
        // A name that is missing is the caller's mistake, whatever is read by it.
        QueryError::Source(source) => match source.downcast_ref::<ReadError>() {
            Some(missing @ ReadError::NoSnapshot { .. }) => read(missing),
            _ => WireError::new(kind::UNEXPECTED, error.to_string()),
        },
        QueryError::Sink(error) => match error.downcast_ref::<Cut>() {
            Some(cut) => (*cut).into(),
            None => WireError::new(kind::UNEXPECTED, error.to_string()),
        },
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
pub(crate) fn write(error: &WriteError) -> WireError {
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
        WriteError::PatchConflict {
            id,
            expected,
            actual,
        } => WireError::new(
            kind::CONCURRENCY,
            format!("Could not patch document '{id}' because non current change vector was used"),
        )
        .with("Id", id.as_str())
        .with("ExpectedChangeVector", expected.as_str())
        .with(
            "ActualChangeVector",
            actual.as_deref().map_or(Value::Null, Value::from),
        ),
        WriteError::Snapshot(error) => WireError::new(kind::ARGUMENT, error.to_string()),
        WriteError::Script { why, .. } => WireError::new(kind::JAVASCRIPT, why),
        WriteError::ScriptSyntax { text, why } => WireError::new(
            kind::JAVASCRIPT_PARSE,
            format!("Failed to parse: {why}\n{text}"),
        ),
        WriteError::JsonPatch { id, why } => WireError::new(
            kind::INVALID_OPERATION,
            format!(
                "An error occurred while trying to apply json patch operation to document {id}."
            ),
        )
        .caused_by(format!("{}: {why}", kind::ARGUMENT)),
        WriteError::JsonPatchMissing { .. } => {
            WireError::new(kind::INVALID_OPERATION, error.to_string())
        }
        WriteError::InvalidId { .. } | WriteError::InvalidCollection { .. } => {
            WireError::new(kind::ARGUMENT, error.to_string())
        }
        WriteError::NoDocument { id, what } if *what == "revisions" => {
            let message = format!(
                "Can't force revision creation - the document was not saved on the server yet \
                 (document: '{id}')"
            );
            WireError::new(kind::INVALID_OPERATION, message)
        }
        WriteError::NoDocument { id, what } => {
            // The recorded sentence about time series has no full stop.
            let end = if *what == "time series" { "" } else { "." };
            let message = format!(
                "Document '{id}' does not exist. Cannot operate on {what} of a missing \
                 document{end}"
            );
            WireError::new(kind::NO_DOCUMENT, message)
        }
        WriteError::InvalidName {
            what,
            name,
            max_bytes,
        } => invalid_name(what, name, *max_bytes),
        WriteError::NumbersUsedUp { .. } => {
            WireError::new(kind::INVALID_OPERATION, error.to_string())
        }
        WriteError::CounterOverflow {
            id,
            name,
            value,
            delta,
        } => WireError::new(
            kind::COUNTER_OVERFLOW,
            format!(
                "Could not increment counter '{name}' from document '{id}' with value '{value}' \
                 by '{delta}'."
            ),
        ),
        WriteError::NoAttachment { id, name } => {
            let message = format!("Attachment '{name}' of document '{id}' doesn't exist.");
            WireError::new(kind::NO_ATTACHMENT, message)
        }
        WriteError::InvalidEntry { why } => WireError::new(
            kind::INVALID_OPERATION,
            format!("Failed to append TimeSeries entry: {why}."),
        ),
        WriteError::ClusterConflict(violations) => cluster_conflict(violations),
        WriteError::InvalidExpiry { .. } => WireError::new(kind::RAFT_APPLY, error.to_string()),
        WriteError::InvalidDate { .. } => {
            WireError::new(kind::INVALID_OPERATION, error.to_string())
        }
        WriteError::NoSubscription(which) => {
            let message = format!("Subscription with {which} was not found in server store");
            WireError::new(kind::NO_SUBSCRIPTION, message)
        }
        WriteError::SubscriptionExists(name) => WireError::new(
            kind::RAFT_APPLY,
            format!(
                "A subscription could not be modified because the name '{name}' is already in use \
                 in a subscription with different Id."
            ),
        ),
        WriteError::SubscriptionQuery { error, text } => query_text(error, text, None),
        WriteError::TooManySubscriptions(_) => {
            WireError::new(kind::INVALID_OPERATION, error.to_string())
        }
        WriteError::NotAnObject { .. } => WireError::new(kind::FORMAT, error.to_string()),
        WriteError::TooLarge { .. } | WriteError::ToldTooMuch { .. } => {
            WireError::new(kind::INVALID_DATA, error.to_string())
                .with_status(StatusCode::PAYLOAD_TOO_LARGE)
        }
        other => WireError::new(kind::UNEXPECTED, other.to_string()),
    }
}

fn invalid_name(what: &str, name: &str, max_bytes: usize) -> WireError {
    let mut title = what.to_owned();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let message = format!(
        "{title} name cannot exceed {max_bytes} bytes, but {what} name has {} characters. The \
         invalid {what} name is '{name}'. (Parameter 'name')",
        name.chars().count()
    );
    WireError::new(kind::ARGUMENT, message)
}

/// A cluster-wide transaction whose client knew other indexes.
fn cluster_conflict(violations: &[Violation]) -> WireError {
    let mut told = Vec::new();
    let mut rows = Vec::new();
    for violation in violations {
        let Violation {
            id,
            is_document,
            delete,
            expected,
            actual,
        } = violation;
        let actual = actual.map_or(-1, |actual| i64::try_from(actual).unwrap_or(i64::MAX));
        let verb = if *delete { "deleting" } else { "putting" };
        told.push(match is_document {
            true => format!(
                "Guard compare exchange value 'rvn-atomic/{id}' index does not match the \
                 transaction index's {expected} change vector on {id}: actual index {actual}"
            ),
            false => format!(
                "Concurrency check failed for {verb} the key '{id}'. Requested index: {expected}, \
                 actual index: {actual}"
            ),
        });
        rows.push(serde_json::json!({
            "Type": if *is_document { "Document" } else { "CompareExchange" },
            "Id": id,
            "Expected": expected,
            "Actual": actual,
        }));
    }
    let message = format!(
        "Failed to execute cluster transaction due to the following issues: {}",
        told.join("\n")
    );
    WireError::new(kind::CLUSTER_CONCURRENCY, message)
        .with("Id", Value::Null)
        .with("ExpectedChangeVector", Value::Null)
        .with("ActualChangeVector", Value::Null)
        .with("ConcurrencyViolations", rows)
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
        .with("Id", member(id))
        .with("ExpectedChangeVector", member(expected))
        .with(
            "ActualChangeVector",
            actual.map_or(Value::Null, Value::from),
        )
}

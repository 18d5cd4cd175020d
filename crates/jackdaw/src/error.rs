//! The one error of this crate: families by what the caller has to do.
//!
//! Every module maps the errors of the layers below to a family here and nowhere else, so that no
//! type of an inner crate is part of the interface.

use std::fmt;
use std::sync::Arc;

use jackdaw_database::{
    DatabaseError, OpenError, PutIndexError, QueryError, ReadError, SetError, WriteError,
};
use jackdaw_storage::{CommitError, SnapshotError, StorageError};

use crate::form::ValueError;
use crate::names::Version;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed, by what to do about it.
///
/// A write that failed left nothing behind, with one exception: after [`Error::Unknown`] it is
/// there as a whole, or not at all.
///
/// ```
/// use jackdaw::{Database, Error};
/// use serde_json::json;
///
/// let db = Database::in_memory()?;
/// let first = db.put("albums/1", &json!({"Year": 1971}))?;
/// db.put("albums/1", &json!({"Year": 1972}))?;
/// match db.batch().put_if("albums/1", &json!({"Year": 1973}), &first.version)?.commit() {
///     Err(Error::Conflict { id, .. }) => assert_eq!(id, "albums/1"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A document is not as the caller expected. Nothing was written: read it again, then retry.
    #[error("{}", conflict(id, expected.as_ref(), actual.as_ref()))]
    Conflict {
        /// Its id as the caller wrote it.
        id: String,
        /// The version expected; `None` when there was to be no document.
        expected: Option<Version>,
        /// Its version; `None` when there is no document.
        actual: Option<Version>,
    },
    /// An argument cannot be used: an id, a name, an index, a batch that is too large. Nothing was
    /// written: correct it.
    #[error("{0}")]
    Invalid(Cause),
    /// What the call is about is not there: the document of an attachment, an index, a snapshot.
    /// Nothing was written.
    #[error("{0}")]
    Missing(Cause),
    /// A value cannot be stored, or a document is not of the type asked for. Nothing was written.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The text of a query is wrong, or its execution ended early. Rows given before do not count.
    #[error("{0}")]
    Query(Cause),
    /// The database or environment could not be opened: another process has it, it is of another
    /// version, something else is in its directory. Nothing was changed.
    #[error("{0}")]
    Open(Cause),
    /// The machine refused: a full disk, a failed read. Nothing was written: retry when the cause
    /// is gone. After a failed write the database takes no writes until it is opened again.
    #[error("{0}")]
    Io(Cause),
    /// Stored bytes are not what was written. Restore the database from a backup.
    #[error("{0}")]
    Damaged(Cause),
    /// Whether the write is durable is unknown until the database is opened again. It is all there
    /// or not at all: open the database, then look.
    #[error("{0}")]
    Unknown(Cause),
    /// A mistake in this library was caught. Nothing was written.
    #[error("{0}")]
    Internal(Cause),
}

/// What happened, as a sentence; [`std::error::Error::source`] leads to what caused it.
#[derive(Clone)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    fn of(error: impl std::error::Error + Send + Sync + 'static) -> Cause {
        Cause(Arc::new(error))
    }

    fn text(text: impl Into<String>) -> Cause {
        let error: Box<dyn std::error::Error + Send + Sync> = text.into().into();
        Cause(error.into())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

fn conflict(id: &str, expected: Option<&Version>, actual: Option<&Version>) -> String {
    let version = |version: Option<&Version>| match version {
        None => "no document".to_owned(),
        Some(version) => format!("version {version}"),
    };
    format!(
        "document '{id}' changed meanwhile: expected {}, found {}",
        version(expected),
        version(actual)
    )
}

impl Error {
    /// An error of the caller, for operations that refuse something themselves.
    ///
    /// ```
    /// let error = jackdaw::Error::invalid("the year has to come first");
    /// assert_eq!(error.to_string(), "the year has to come first");
    /// ```
    #[must_use]
    pub fn invalid(text: impl Into<String>) -> Error {
        Error::Invalid(Cause::text(text))
    }

    pub(crate) fn missing(text: impl Into<String>) -> Error {
        Error::Missing(Cause::text(text))
    }

    pub(crate) fn internal(text: impl Into<String>) -> Error {
        Error::Internal(Cause::text(text))
    }

    pub(crate) fn of_io(error: std::io::Error) -> Error {
        Error::Io(Cause::of(error))
    }

    pub(crate) fn of_storage(error: StorageError) -> Error {
        let is_callers = matches!(
            error,
            StorageError::KeyTooLong { .. }
                | StorageError::ValueTooLong { .. }
                | StorageError::WrongValueWidth { .. }
                | StorageError::WrongTreeKind { .. }
                | StorageError::ReservedName { .. }
                | StorageError::NotCounted
                | StorageError::ReadOnly
        );
        match error {
            StorageError::Corrupt(_) => Error::Damaged(Cause::of(error)),
            _ if is_callers => Error::Invalid(Cause::of(error)),
            _ => Error::Io(Cause::of(error)),
        }
    }

    pub(crate) fn of_read(error: ReadError) -> Error {
        match error {
            ReadError::Storage(error) => Error::of_storage(error),
            ReadError::NoSnapshot { .. } => Error::Missing(Cause::of(error)),
            _ => Error::Damaged(Cause::of(error)),
        }
    }

    pub(crate) fn of_snapshot(error: SnapshotError) -> Error {
        match error {
            SnapshotError::Storage(error) => Error::of_storage(error),
            SnapshotError::Missing { .. } => Error::Missing(Cause::of(error)),
            _ => Error::Invalid(Cause::of(error)),
        }
    }

    pub(crate) fn of_write(error: WriteError) -> Error {
        match error {
            WriteError::Conflict {
                id,
                expected,
                actual,
                ..
            }
            | WriteError::PatchConflict {
                id,
                expected,
                actual,
            } => Error::Conflict {
                id,
                expected: Some(expected).filter(|text| !text.is_empty()).map(Version),
                actual: actual.map(Version),
            },
            WriteError::Read(error) => Error::of_read(error),
            WriteError::Snapshot(error) => Error::of_snapshot(error),
            WriteError::NotCommitted(error) => Error::of_storage(error),
            WriteError::Unknown(_) => Error::Unknown(Cause::of(error)),
            WriteError::Panicked(_) => Error::Internal(Cause::of(error)),
            WriteError::NoDocument { .. } | WriteError::NoAttachment { .. } => {
                Error::Missing(Cause::of(error))
            }
            _ => Error::Invalid(Cause::of(error)),
        }
    }

    pub(crate) fn of_open(error: OpenError) -> Error {
        match error {
            OpenError::Write(error) => Error::of_write(error),
            OpenError::Read(error) => Error::of_read(error),
            _ => Error::Open(Cause::of(error)),
        }
    }

    pub(crate) fn of_environment(error: jackdaw_storage::OpenError) -> Error {
        match error {
            jackdaw_storage::OpenError::Storage(error) => Error::of_storage(error),
            _ => Error::Open(Cause::of(error)),
        }
    }

    pub(crate) fn of_database(error: DatabaseError) -> Error {
        match error {
            DatabaseError::Read(error) => Error::of_read(error),
            DatabaseError::Write(error) => Error::of_write(error),
            DatabaseError::Open(error) | DatabaseError::Set(SetError::Open(error)) => {
                Error::of_open(error)
            }
            _ => Error::Invalid(Cause::of(error)),
        }
    }

    pub(crate) fn of_index(error: PutIndexError) -> Error {
        match error {
            PutIndexError::Database(error) => Error::of_database(error),
            _ => Error::Invalid(Cause::of(error)),
        }
    }

    pub(crate) fn of_definition(error: jackdaw_database::DefinitionError) -> Error {
        Error::Invalid(Cause::of(error))
    }

    pub(crate) fn of_query(error: QueryError) -> Error {
        match error {
            // What a sink of this crate says is an error of this crate.
            QueryError::Sink(error) => match error.downcast::<Error>() {
                Ok(error) => *error,
                Err(error) => Error::Query(Cause(error.into())),
            },
            QueryError::Source(error) => match error.downcast::<ReadError>() {
                Ok(error) => Error::of_read(*error),
                Err(error) => Error::Query(Cause(error.into())),
            },
            QueryError::IndexMissing(_) => Error::Missing(Cause::of(error)),
            error => Error::Query(Cause::of(error)),
        }
    }

    pub(crate) fn of_commit(error: CommitError) -> Error {
        match error {
            CommitError::NotCommitted(error) => Error::of_storage(error),
            _ => Error::Unknown(Cause::of(error)),
        }
    }

    /// Of an operation of the storage engine that has errors of this crate itself.
    pub(crate) fn of_operation(error: jackdaw_storage::WriteError<Error>) -> Error {
        use jackdaw_storage::WriteError as Storage;
        match error {
            Storage::Operation(error) => error,
            Storage::NotCommitted(error) => Error::of_storage(error),
            Storage::Unknown(_) => Error::Unknown(Cause::of(error)),
            error => Error::Internal(Cause::of(error)),
        }
    }
}

#[cfg(test)]
mod tests;

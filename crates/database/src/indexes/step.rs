//! Why a worker could not take a batch in.

use jackdaw_document::BuildError;
use jackdaw_search::IndexError;
use jackdaw_storage::{CommitError, StorageError};

use crate::error::{ReadError, WriteError};

/// See the file head.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("an entry could not be stored: {0}")]
    Build(#[from] BuildError),
    #[error("a program of the index failed: {0}")]
    Program(#[source] jackdaw_script::BoxError),
    #[error(
        "{what} makes more than the {limit_bytes} bytes that an index may make at a time. Let the \
         index keep less of a document, then reset it"
    )]
    TooMuch {
        /// The document, or the groups of one.
        what: String,
        limit_bytes: usize,
    },
}

impl From<StorageError> for StepError {
    fn from(error: StorageError) -> StepError {
        StepError::Read(error.into())
    }
}

impl StepError {
    /// Whether it is the fault of the index's own texts: they fail again after a restart.
    pub(super) fn stays(&self) -> bool {
        matches!(self, StepError::Program(_) | StepError::TooMuch { .. })
    }

    /// Whether trying again can help.
    pub(super) fn may_pass(&self) -> bool {
        let storage = match self {
            StepError::Read(ReadError::Storage(error)) => error,
            StepError::Index(IndexError::Storage(error)) => error,
            StepError::Commit(CommitError::NotCommitted(error)) => error,
            // Results that could not be stored as documents are stored later.
            StepError::Write(_) => return true,
            _ => return false,
        };
        matches!(
            storage,
            StorageError::Full | StorageError::Io { .. } | StorageError::Limit { .. }
        )
    }
}

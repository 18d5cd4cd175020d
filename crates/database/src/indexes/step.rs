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
}

impl From<StorageError> for StepError {
    fn from(error: StorageError) -> StepError {
        StepError::Read(error.into())
    }
}

impl StepError {
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

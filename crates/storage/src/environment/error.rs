//! Errors of opening an environment and of queued write operations.

use std::path::PathBuf;

use crate::error::StorageError;

/// Why an environment could not be opened. Nothing on disk was changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it open.
    #[error(
        "{} is in use by another process: stop that process, or use another directory",
        path.display()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// To be opened for reading only, but there is no file to lock, so that a writer could come.
    #[error(
        "{} holds no file LOCK, as a copy may: create an empty one there, then retry",
        path.display()
    )]
    NoLock {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds something else.
    #[error(
        "{} holds files of another program, not a Jackdaw environment: choose another directory",
        path.display()
    )]
    NotAnEnvironment {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is encrypted, and was opened without its key.
    #[error(
        "{} is encrypted: give its key with --encryption-key-file or --encryption-key-command",
        path.display()
    )]
    Encrypted {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is missing or empty, and creating was not asked for.
    #[error("{} holds no Jackdaw environment: check the path", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// Its files are there, without the one that says what they hold.
    #[error(
        "the file meta of {} is missing, its other files are there: restore the directory from a \
         backup",
        path.display()
    )]
    MetaMissing {
        /// The directory.
        path: PathBuf,
    },
    /// A newer or older program wrote it.
    #[error(
        "{} has format {found}, this program reads format {supported}: use the program version \
         that wrote it, or export there and import here",
        path.display()
    )]
    Version {
        /// The directory.
        path: PathBuf,
        /// Version on disk.
        found: u32,
        /// Version of this program.
        supported: u32,
    },
    /// Neither slot of the meta file is sound.
    #[error("{} is damaged in both copies: restore the directory from a backup", path.display())]
    MetaDamaged {
        /// The meta file.
        path: PathBuf,
    },
    /// A thread could not be started.
    #[error("{0}")]
    Thread(String),
    /// The machine refused, or damage was found on the way.
    #[error("{0}")]
    Storage(#[from] StorageError),
}

/// Why a queued operation did not succeed. `E` is the operation's own error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError<E> {
    /// The operation refused; nothing of it was written.
    #[error("{0}")]
    Operation(E),
    /// Nothing was written; retrying is correct once the cause is gone.
    #[error("nothing was committed: {0}")]
    NotCommitted(StorageError),
    /// The outcome is unknown until the environment is reopened; it is all or nothing.
    #[error("whether this was committed is unknown until the environment is reopened: {0}")]
    Unknown(StorageError),
    /// The operation panicked; nothing of it was written.
    #[error("the write operation panicked and was taken back: {0}")]
    Panicked(String),
}

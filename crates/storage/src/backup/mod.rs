//! Backups of an environment while it is written, and what is restored from them.
//!
//! A backup is a directory: `pages.jd`, the data file as of one transaction, `journal/`, what was
//! committed since, by increments, and `backup`, the record that says what it is. `full` makes
//! one, `increment` brings it up to date, `restore` makes an environment of it, `files` copies and
//! verifies, `record` is the record. Bytes: docs/format.md, "Backup".
//!
//! A full backup copies the data file while flushes go on, holds back the journal from the synced
//! position on, and then applies it to the copy, as recovery would after a crash. The copy may have
//! caught any mixture of older and newer sectors: differences hold absolute bytes.
//!
//! Invariants:
//! - A backup exists when its record does; the record appears last, in one step.
//! - Files of increments continue the chain without a gap, so any prefix of them can be restored.

mod files;
mod full;
mod increment;
mod record;
mod restore;

use std::io;
use std::path::{Path, PathBuf};

use crate::environment::OpenError;
use crate::error::StorageError;

pub use restore::restore;

/// Data file of a backup. Another name than in an environment, so that none is taken for one.
const PAGES_NAME: &str = "pages.jd";
const JOURNAL_DIRECTORY: &str = "journal";

/// Told how many bytes of how many are done; called now and then on the thread of the caller.
pub type Progress<'p> = &'p dyn Fn(u64, u64);

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// The last transaction in it.
    pub transaction: u64,
    /// Transactions that this run added; of a full backup those replayed into the copy.
    pub transactions: u64,
    /// Bytes written.
    pub bytes: u64,
}

/// How far to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePoint {
    /// Everything that the backup holds.
    Latest,
    /// Up to and with this transaction.
    Transaction(u64),
    /// What was committed at or before this time, in nanoseconds since the Unix epoch.
    Time(u64),
}

/// What was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// The last transaction of the restored environment.
    pub transaction: u64,
    /// Transactions replayed from increments.
    pub transactions: u64,
    /// Pages verified.
    pub pages: u64,
}

/// Why a backup or restore failed. The source is as it was; an unfinished target is recognized and
/// begun anew by the same call.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// Something is there already.
    #[error("{} exists: name a directory that does not, or is empty", path.display())]
    TargetExists {
        /// The directory.
        path: PathBuf,
    },
    /// A directory is wanted, and this is none.
    #[error("{} is no directory: name another one", path.display())]
    NotADirectory {
        /// What it is instead.
        path: PathBuf,
    },
    /// A symbolic link, or what is neither a file nor a directory.
    #[error(
        "{} is a symbolic link or a special file, which backups do not follow: name the place \
         itself",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The place holds data, or a backup, already.
    #[error("{} is inside of {}: name a directory outside of it", path.display(), outer.display())]
    Inside {
        /// The place.
        path: PathBuf,
        /// What it is in.
        outer: PathBuf,
    },
    /// The server may not make backups there.
    #[error(
        "{} is not below {allowed}, where this server makes backups: name a directory there, or \
         start the server with --backups DIR",
        path.display()
    )]
    NotAllowed {
        /// The place.
        path: PathBuf,
        /// Where it may make them.
        allowed: String,
    },
    /// Another backup or restore writes there.
    #[error("another backup or restore into {} is under way: wait for its end", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds no complete backup.
    #[error("{} holds no complete backup: check the path, or make a full backup", path.display())]
    NotABackup {
        /// The directory.
        path: PathBuf,
    },
    /// The backup is one of another environment, or of another history of this one.
    #[error(
        "{} is a backup of other data: make a full backup into another directory",
        path.display()
    )]
    OtherSource {
        /// The backup.
        path: PathBuf,
    },
    /// The journal from the end of the backup on is no longer kept.
    #[error(
        "the journal behind transaction {transaction} is no longer kept, so {} cannot be brought \
         up to date: make a full backup, and keep more journal",
        path.display()
    )]
    JournalGone {
        /// The backup.
        path: PathBuf,
        /// Its last transaction.
        transaction: u64,
    },
    /// The backup begins behind the wanted point.
    #[error("{} begins only after the wanted point: take an older backup", path.display())]
    TooEarly {
        /// The backup.
        path: PathBuf,
    },
    /// The disk of the target is full.
    #[error(
        "no space is left on the disk of {}: free some, or choose another directory, and run the \
         same again",
        path.display()
    )]
    NoSpace {
        /// The file that was being written.
        path: PathBuf,
    },
    /// The environment could not be opened.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// The machine refused, or damage was found.
    #[error("{0}")]
    Storage(#[from] StorageError),
}

impl BackupError {
    /// An error of the machine on `path`.
    #[cold]
    fn io(path: &Path, operation: &'static str, source: io::Error) -> BackupError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => BackupError::NoSpace {
                path: path.to_owned(),
            },
            _ => StorageError::io(path, operation, source).into(),
        }
    }
}

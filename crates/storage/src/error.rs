//! Errors of the storage engine: what the caller did, what the machine did, what is damaged.
//!
//! Raised by every layer of this crate and by no other; shown to operators as sentences.
//!
//! Invariants:
//! - Damage is a value ([`Damage`]), never a text, and never a panic on bytes read from disk.
//! - Errors are `Clone`, since one failed journal write answers every operation of its batch.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::page::PageNumber;
use crate::tree::TreeKind;

/// Why an operation of the storage engine failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The machine refused: the content of the named range is unknown until reopened.
    #[error("{operation} of {} failed: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// What was attempted, as a noun: "write", "sync".
        operation: &'static str,
        /// The system's answer.
        source: Arc<io::Error>,
    },
    /// Bytes on disk are not what was written there. Nothing was changed.
    #[error("{0}")]
    Corrupt(Box<Damage>),
    /// No space is left for new pages. The transaction must be rolled back.
    #[error("the data file cannot grow any further: free disk space, then retry")]
    Full,
    /// An earlier write or sync failed: reads go on, writes need the environment to be reopened.
    #[error("an earlier write failed, so this environment takes no more writes until reopened")]
    Poisoned,
    /// The environment was opened for reading only. Nothing was changed.
    #[error("this environment is open for reading only: open it for writing to change it")]
    ReadOnly,
    /// The caller's key is longer than a tree takes. Nothing was changed.
    #[error("a key of {len_bytes} bytes is too long: the limit is {max_bytes} bytes")]
    KeyTooLong {
        /// Length of the key.
        len_bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// The caller's value is longer than a tree takes. Nothing was changed.
    #[error("a value of {len_bytes} bytes is too long: the limit is {max_bytes} bytes")]
    ValueTooLong {
        /// Length of the value.
        len_bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// The caller's value does not have the width of the fixed tree. Nothing was changed.
    #[error("a value of {len_bytes} bytes does not fit a tree of {width} byte values")]
    WrongValueWidth {
        /// Length of the value.
        len_bytes: usize,
        /// Width of every value of the tree.
        width: usize,
    },
    /// A tree of that name exists, but of another kind. Nothing was changed.
    #[error("this tree is {actual}, not {expected}")]
    WrongTreeKind {
        /// What the caller asked for.
        expected: TreeKind,
        /// What is stored.
        actual: TreeKind,
    },
    /// The caller's name of a tree is one of the engine's own. Nothing was changed.
    #[error("the tree {name:?} belongs to the engine: choose another name")]
    ReservedName {
        /// The name.
        name: &'static str,
    },
    /// The caller wants ranks of a tree that keeps no counts. Nothing was changed.
    #[error(
        "this tree keeps no counts, so it cannot tell ranks: copy its entries into a counted tree"
    )]
    NotCounted,
    /// A named limit of the engine was reached. The transaction must be rolled back.
    #[error("the limit of {what} is {max}")]
    Limit {
        /// The limit's name.
        what: &'static str,
        /// Its value.
        max: u64,
    },
}

impl StorageError {
    /// An error of the machine on `path`.
    #[cold]
    pub fn io(path: &Path, operation: &'static str, source: io::Error) -> StorageError {
        StorageError::Io {
            path: path.to_owned(),
            operation,
            source: Arc::new(source),
        }
    }

    /// As [`StorageError::io`], and [`StorageError::Full`] when the disk or the user's share of it
    /// is used up: for what can be taken back and tried again.
    #[cold]
    pub(crate) fn of_space(path: &Path, operation: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StorageError::Full,
            _ => StorageError::io(path, operation, source),
        }
    }

    /// Damage found on a page of the data file.
    #[cold]
    pub fn corrupt_page(page: PageNumber, what: DamageKind) -> StorageError {
        StorageError::Corrupt(Box::new(Damage::on_page(page, what)))
    }
}

impl From<Damage> for StorageError {
    #[cold]
    fn from(damage: Damage) -> StorageError {
        StorageError::Corrupt(Box::new(damage))
    }
}

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {what}", page.map(|n| format!(", page {}", n.0)).unwrap_or_default())]
pub struct Damage {
    /// File name relative to the environment's directory.
    pub file: Cow<'static, str>,
    /// Page of the data file, when the damage is on one.
    pub page: Option<PageNumber>,
    /// What is wrong.
    pub what: DamageKind,
}

impl Damage {
    /// Name of the data file inside an environment's directory.
    pub const DATA_FILE: &'static str = "data.jd";

    /// Damage on a page of the data file.
    #[cold]
    pub fn on_page(page: PageNumber, what: DamageKind) -> Damage {
        Damage {
            file: Cow::Borrowed(Damage::DATA_FILE),
            page: Some(page),
            what,
        }
    }
}

/// What is wrong with damaged bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// The stored hash does not match the bytes.
    #[error("checksum {actual:#018x} does not match the stored {expected:#018x}")]
    Checksum {
        /// Hash stored with the bytes.
        expected: u64,
        /// Hash of the bytes.
        actual: u64,
    },
    /// The page says it belongs elsewhere: a misdirected read or write.
    #[error("the page carries number {actual}, expected {expected}")]
    PageNumber {
        /// Where it was read.
        expected: u64,
        /// What its header says.
        actual: u64,
    },
    /// The page is of a kind that cannot be there.
    #[error("page kind {actual} where {expected} belongs")]
    PageKind {
        /// What belongs there.
        expected: &'static str,
        /// Kind byte found.
        actual: u8,
    },
    /// A field of a page header or of an entry contradicts the rest of the page.
    #[error("{field} is {actual}, which the rest of the page contradicts")]
    Layout {
        /// The field.
        field: &'static str,
        /// Its value.
        actual: u64,
    },
    /// Keys are not strictly ascending, or outside the bounds their parent gives.
    #[error("the key of entry {slot} is out of order")]
    KeyOrder {
        /// Position in the page.
        slot: usize,
    },
    /// A page number outside the file, or one that two places refer to.
    #[error("{what} points at page {target}, which cannot belong to it")]
    Pointer {
        /// What holds the number.
        what: &'static str,
        /// The number.
        target: u64,
    },
    /// A stored count differs from what is there.
    #[error("{what} is recorded as {expected}, found {actual}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// The stored count.
        expected: u64,
        /// The real count.
        actual: u64,
    },
    /// The newer copy is unreadable, and the older one is too old to go on from.
    #[error(
        "its newer copy is damaged, and the older one knows transaction {transaction} while page \
         {page} of the data file is of transaction {newer}: restore the directory from a backup"
    )]
    OlderCopy {
        /// Last transaction that the older copy and the journal lead to.
        transaction: u64,
        /// A page that is newer.
        page: u64,
        /// Its transaction.
        newer: u64,
    },
    /// A record of the journal is unreadable although one written after it was there is sound.
    #[error(
        "transaction {first} cannot be read, though transaction {found} was written after it: \
         restore the directory from a backup"
    )]
    LostTransactions {
        /// The first one that cannot be read.
        first: u64,
        /// One that was written when all before were durable.
        found: u64,
    },
    /// A file that has to be there is not, or is empty.
    #[error("the file is missing: put it back, or restore the directory from a backup")]
    Missing,
    /// A record of the journal is not what was written.
    #[error("the record at byte {offset} is damaged")]
    Record {
        /// Where it starts in its file.
        offset: u64,
    },
    /// Stored bytes cannot be decoded.
    #[error("{what} cannot be decoded")]
    Encoding {
        /// What cannot be decoded.
        what: &'static str,
    },
}

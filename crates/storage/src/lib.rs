//! Pages, trees, journal, transactions and recovery.
//!
//! An [`Environment`] is a directory of named trees. [`Environment::read`] gives a snapshot,
//! [`Environment::write`] runs an operation on the writer, merged with others.
//!
//! Values of any length are streams: a tree of [`Streams`] maps names to byte strings that are
//! written and read in pieces, never held whole in memory. A long one is appended to over several
//! transactions under a name of its own, and gets its final name in the last one:
//!
//! ```no_run
//! # fn pieces() -> Vec<Vec<u8>> { Vec::new() }
//! use jackdaw_storage::{Environment, StorageError, WriteError};
//!
//! fn store(environment: &Environment) -> Result<(), WriteError<StorageError>> {
//!     for piece in pieces() {
//!         // Durable piece by piece; `submit` instead of `write` does not wait for the disk.
//!         environment.write(move |transaction| {
//!             transaction.streams_mut("attachments")?.open(b"upload 7")?.append(&piece)
//!         })?;
//!     }
//!     environment.write(|transaction| {
//!         transaction.streams_mut("attachments")?.rename(b"upload 7", b"the content's hash")
//!     })?;
//!     Ok(())
//! }
//!
//! fn copy(environment: &Environment, to: &mut impl std::io::Write) -> std::io::Result<()> {
//!     let snapshot = environment.read().map_err(std::io::Error::other)?;
//!     let streams = snapshot.streams("attachments").map_err(std::io::Error::other)?;
//!     let Some(streams) = streams else { return Ok(()) };
//!     if let Some(stream) = streams.get(b"the content's hash").map_err(std::io::Error::other)? {
//!         for chunk in stream.chunks() {
//!             to.write_all(chunk.map_err(std::io::Error::other)?)?;
//!         }
//!     }
//!     Ok(())
//! }
//! ```
#![deny(unsafe_code)]

pub mod page;
pub mod tree;

mod backup;
mod compact;
mod environment;
mod error;
mod journal;
mod memory;
mod meta;
#[cfg(all(feature = "planted", debug_assertions))]
pub mod planted;
#[cfg(not(all(feature = "planted", debug_assertions)))]
mod planted;
mod stream;
mod transaction;
mod verify;

pub use backup::{BackupError, BackupReport, Progress, RestorePoint, RestoreReport, restore};
pub use compact::{CompactError, CompactReport, compact};
pub use environment::{
    CheckLevel, CheckReport, Environment, MeterEvent, MeterKind, MeterMinute, MeterReport,
    OpenError, Options, RecoveryReport, ScrubStep, Statistics, WarmUp, WarmUpProgress,
    WarmUpReport, WriteError, WriteHandle,
};

pub use error::{Damage, DamageKind, StorageError};
pub use memory::pages_read::{PagesRead, pages_read};
pub use page::{Key, MemoryPages, PAGE_BYTES, Page, PageKind, PageNumber, PageRead, PageWrite};
pub use stream::{
    STREAM_CHUNK_BYTES, STREAM_NAME_BYTES_MAX, Stream, StreamChunks, StreamMut, StreamRange,
    StreamReader, Streams, StreamsMut, StreamsReport,
};
pub use transaction::{
    CommitError, NamedSnapshot, ReadTransaction, SnapshotError, TransactionId, TransactionPages,
    WriteTransaction,
};
pub use tree::{
    Cursor, FixedRange, FixedTree, FixedTreeMut, MultiRange, MultiTree, MultiTreeMut, MultiValues,
    Range, Tree, TreeKind, TreeMut, TreeReport, TreeRoot, TreeState,
};
pub use verify::{VerifyReport, verify};

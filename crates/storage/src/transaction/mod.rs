//! Transactions: snapshots to read, and the one writer at a time.
//!
//! `read` is a snapshot, `named` are snapshots that are kept for days; `pages` gives a write
//! transaction its private copies of pages, `space` allocates them, `savepoint` takes changes back,
//! `write` ties them to named trees, `sealed` is what a committed transaction hands to the
//! pipeline.

mod named;
mod pages;
mod read;
mod savepoint;
mod sealed;
mod space;
mod write;

pub(crate) use named::Image;
pub use named::{NamedSnapshot, SnapshotError};
pub use pages::TransactionPages;
pub use read::ReadTransaction;
pub(crate) use sealed::{SealedPage, SealedTransaction};
pub(crate) use space::{GROUP_PAGES, SpaceMap, SpaceSummary};
pub(crate) use write::WriterState;
pub use write::{CommitError, TransactionId, WriteTransaction};

//! Pages, trees, journal, transactions and recovery.
#![deny(unsafe_code)]

pub mod page;
pub mod tree;

mod environment;
mod error;
mod journal;
mod memory;
mod meta;
mod transaction;

pub use environment::{
    CheckLevel, CheckReport, Environment, OpenError, Options, RecoveryReport, Statistics,
    WriteError, WriteHandle,
};

pub use error::{Damage, DamageKind, StorageError};
pub use page::{Key, MemoryPages, PAGE_BYTES, Page, PageKind, PageNumber, PageRead, PageWrite};
pub use transaction::{
    CommitError, ReadTransaction, TransactionId, TransactionPages, WriteTransaction,
};
pub use tree::{
    Cursor, FixedRange, FixedTree, FixedTreeMut, MultiRange, MultiTree, MultiTreeMut, MultiValues,
    Range, Tree, TreeKind, TreeMut, TreeReport, TreeRoot, TreeState,
};

//! Pages, trees, journal, transactions and recovery.
#![deny(unsafe_code)]

pub mod page;
pub mod tree;

mod error;

pub use error::{Damage, DamageKind, StorageError};
pub use page::{Key, MemoryPages, PAGE_BYTES, Page, PageKind, PageNumber, PageRead, PageWrite};
pub use tree::{
    Cursor, FixedRange, FixedTree, FixedTreeMut, MultiRange, MultiTree, MultiTreeMut, MultiValues,
    Range, Tree, TreeKind, TreeMut, TreeReport, TreeRoot, TreeState,
};

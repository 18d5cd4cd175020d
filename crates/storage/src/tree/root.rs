//! What is known of a tree outside its pages: 40 bytes on disk, and what a writer remembers.
//!
//! The catalog of an environment and nested trees store [`TreeRoot`]; a write transaction keeps a
//! [`TreeState`] for each tree it has open.

use std::fmt;

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{DamageKind, StorageError};
use crate::page::PageNumber;
use crate::tree::cache::LeafCache;

/// Length of a stored [`TreeRoot`].
pub const TREE_ROOT_BYTES: usize = 40;

/// Flag of a tree whose branches hold counts.
const COUNTED: u16 = 1;
/// Flag of a catalog with named snapshots: whoever does not know it must not write.
const KEEPS_PAGES: u16 = 2;

/// Which structure a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TreeKind {
    /// Bytes to bytes.
    Tree = 1,
    /// 64-bit number to values of one width.
    Fixed = 2,
    /// Bytes to an ordered set of bytes.
    Multi = 3,
}

impl TreeKind {
    /// The kind stored as `byte`, if it is one.
    pub fn from_byte(byte: u8) -> Option<TreeKind> {
        Some(match byte {
            1 => TreeKind::Tree,
            2 => TreeKind::Fixed,
            3 => TreeKind::Multi,
            _ => return None,
        })
    }
}

impl fmt::Display for TreeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TreeKind::Tree => "a tree",
            TreeKind::Fixed => "a fixed tree",
            TreeKind::Multi => "a multi tree",
        })
    }
}

/// Where a tree is and how large: 40 bytes on disk.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct TreeRoot {
    root_page: U64,
    entry_count: U64,
    kind: u8,
    depth: u8,
    flags: U16,
    value_width: U16,
    zero: U16,
    page_count: U64,
    value_count: U64,
}

impl TreeRoot {
    /// An empty tree of byte keys and values. It has no page.
    pub fn empty() -> TreeRoot {
        TreeRoot::empty_of(TreeKind::Tree, 0)
    }

    /// An empty tree of byte keys and values that keeps counts, so that it can tell ranks.
    pub fn empty_counted() -> TreeRoot {
        TreeRoot {
            flags: U16::new(COUNTED),
            ..TreeRoot::empty()
        }
    }

    /// An empty fixed tree with values of `value_width` bytes.
    pub fn empty_fixed(value_width: u16) -> TreeRoot {
        TreeRoot::empty_of(TreeKind::Fixed, value_width)
    }

    /// An empty tree of byte keys with a set of byte values each.
    pub fn empty_multi() -> TreeRoot {
        TreeRoot::empty_of(TreeKind::Multi, 0)
    }

    fn empty_of(kind: TreeKind, value_width: u16) -> TreeRoot {
        TreeRoot {
            root_page: U64::ZERO,
            entry_count: U64::ZERO,
            kind: kind as u8,
            depth: 0,
            flags: U16::ZERO,
            value_width: U16::new(value_width),
            zero: U16::ZERO,
            page_count: U64::ZERO,
            value_count: U64::ZERO,
        }
    }

    /// Reads a stored root.
    ///
    /// # Errors
    /// [`DamageKind`] when the bytes cannot be a root.
    pub fn decode(bytes: &[u8]) -> Result<TreeRoot, DamageKind> {
        let root = TreeRoot::read_from_bytes(bytes).map_err(|_| DamageKind::Encoding {
            what: "the root of a tree",
        })?;
        if TreeKind::from_byte(root.kind).is_none() {
            return Err(DamageKind::Layout {
                field: "tree kind",
                actual: root.kind.into(),
            });
        }
        let flags_known = if root.kind == TreeKind::Tree as u8 {
            COUNTED | KEEPS_PAGES
        } else {
            0
        };
        if root.flags.get() & !flags_known != 0 {
            return Err(DamageKind::Layout {
                field: "tree flags",
                actual: root.flags.get().into(),
            });
        }
        if (root.root_page.get() == 0) != (root.depth == 0) {
            return Err(DamageKind::Layout {
                field: "tree depth",
                actual: root.depth.into(),
            });
        }
        Ok(root)
    }

    /// Whether it is the root of a catalog with named snapshots.
    #[inline]
    pub(crate) fn keeps_pages(&self) -> bool {
        self.flags.get() & KEEPS_PAGES != 0
    }

    pub(crate) fn set_keeps_pages(&mut self, keeps_pages: bool) {
        let others = self.flags.get() & !KEEPS_PAGES;
        self.flags
            .set(others | if keeps_pages { KEEPS_PAGES } else { 0 });
    }

    /// The 40 bytes to store.
    pub fn encode(&self) -> [u8; TREE_ROOT_BYTES] {
        let mut bytes = [0; TREE_ROOT_BYTES];
        self.write_to(&mut bytes).expect("a root has 40 bytes");
        bytes
    }

    /// The topmost page, `None` when the tree is empty.
    #[inline]
    pub fn root_page(&self) -> Option<PageNumber> {
        Some(PageNumber(self.root_page.get())).filter(|&page| page != PageNumber::NONE)
    }

    /// Number of entries (of keys in a multi tree).
    #[inline]
    pub fn entry_count(&self) -> u64 {
        self.entry_count.get()
    }

    /// Which structure it is.
    pub fn kind(&self) -> TreeKind {
        TreeKind::from_byte(self.kind).expect("checked by decode, set by empty")
    }

    /// Whether branches hold the number of entries below each child.
    #[inline]
    pub fn is_counted(&self) -> bool {
        self.flags.get() & COUNTED != 0
    }

    /// Number of levels: 0 when empty, 1 for a single leaf.
    #[inline]
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Bytes of every value of a fixed tree.
    #[inline]
    pub fn value_width(&self) -> u16 {
        self.value_width.get()
    }

    /// Pages of the tree, overflow runs and nested trees included.
    pub fn page_count(&self) -> u64 {
        self.page_count.get()
    }

    /// Number of values of all keys of a multi tree; 0 for other kinds.
    pub fn value_count(&self) -> u64 {
        self.value_count.get()
    }

    /// Makes `page` the topmost of `depth` levels.
    pub(crate) fn set_root(&mut self, page: PageNumber, depth: u8) {
        debug_assert_eq!(page == PageNumber::NONE, depth == 0);
        self.root_page.set(page.0);
        self.depth = depth;
    }

    /// Stores the number of values of all keys of a multi tree.
    pub(crate) fn set_value_count(&mut self, count: u64) {
        self.value_count.set(count);
    }

    /// Counts `count` more entries.
    #[inline]
    pub(crate) fn add_entries(&mut self, count: u64) {
        self.entry_count
            .set(self.entry_count().saturating_add(count));
    }

    /// Counts `count` entries less.
    #[inline]
    pub(crate) fn remove_entries(&mut self, count: u64) {
        self.entry_count
            .set(self.entry_count().saturating_sub(count));
    }

    /// Counts `count` more pages.
    pub(crate) fn add_pages(&mut self, count: u64) {
        self.page_count.set(self.page_count().saturating_add(count));
    }

    /// Counts `count` pages less.
    pub(crate) fn remove_pages(&mut self, count: u64) {
        self.page_count.set(self.page_count().saturating_sub(count));
    }

    /// Checks that the tree keeps counts.
    ///
    /// # Errors
    /// [`StorageError::NotCounted`].
    pub(crate) fn expect_counted(&self) -> Result<(), StorageError> {
        if self.is_counted() {
            Ok(())
        } else {
            Err(StorageError::NotCounted)
        }
    }

    /// Checks that the tree is of `expected` kind.
    ///
    /// # Errors
    /// [`StorageError::WrongTreeKind`].
    pub fn expect_kind(&self, expected: TreeKind) -> Result<(), StorageError> {
        if self.kind() == expected {
            Ok(())
        } else {
            Err(StorageError::WrongTreeKind {
                expected,
                actual: self.kind(),
            })
        }
    }
}

/// A tree that a write transaction has open: its root, and where it wrote last.
///
/// After a rollback of pages the state must be replaced by a new one over the old root.
#[derive(Clone, Debug)]
pub struct TreeState {
    /// What will be stored at commit.
    pub root: TreeRoot,
    pub(crate) cache: LeafCache,
}

impl TreeState {
    /// A state that remembers nothing.
    pub fn new(root: TreeRoot) -> TreeState {
        TreeState {
            root,
            cache: LeafCache::default(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "storage::tree::root::TreeRoot",
            TreeRoot {
                root_page,
                entry_count,
                kind,
                depth,
                flags,
                value_width,
                zero,
                page_count,
                value_count
            }
        );
    }
}

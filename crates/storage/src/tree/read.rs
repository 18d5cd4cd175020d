//! Reading a tree: point look-ups and the descent they share with cursors.
//!
//! Invariants:
//! - A descent takes exactly as many steps as the root says there are levels, so damaged child
//!   pointers cannot make it loop.
//! - Values borrow from the pages, not from the handle.

use std::ops::RangeBounds;

use crate::error::{DamageKind, StorageError};
use crate::page::PageHeader;
use crate::page::key::SearchKey;
use crate::page::node::{Node, OverflowRef};
use crate::page::{Key, PAGE_HEADER_BYTES, PageKind, PageNumber, PageRead, run_page_count};
use crate::tree::cursor::Cursor;
use crate::tree::position::{Position, Target};
use crate::tree::range::Range;
use crate::tree::verify::{self, TreeReport};
use crate::tree::{TreeKind, TreeRoot};
use zerocopy::FromBytes;

/// An ordered map of bytes to bytes, to read.
pub struct Tree<'t, P: ?Sized> {
    pages: &'t P,
    root: TreeRoot,
}

impl<P: ?Sized> Clone for Tree<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for Tree<'_, P> {}

impl<'t, P: PageRead + ?Sized> Tree<'t, P> {
    /// The tree at `root`.
    #[inline]
    pub fn new(pages: &'t P, root: TreeRoot) -> Tree<'t, P> {
        debug_assert_ne!(root.kind(), TreeKind::Fixed);
        Tree { pages, root }
    }

    #[inline]
    pub(crate) fn pages(&self) -> &'t P {
        self.pages
    }

    /// Where the tree is and how large.
    #[inline]
    pub fn root(&self) -> &TreeRoot {
        &self.root
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> u64 {
        self.root.entry_count()
    }

    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.root.root_page().is_none()
    }

    /// The value of `key`. Reads one page per level, and one more for long values.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Io`].
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<&'t [u8]>, StorageError> {
        let Some(mut page) = self.root.root_page() else {
            return Ok(None);
        };
        let key = SearchKey::new(key);
        for _ in 1..self.root.depth() {
            let node = Node::branch(self.pages.page(page)?)?;
            page = node.child(node.child_slot(&key));
        }
        get_in_leaf(self.pages, page, &key)
    }

    /// Whether `key` has an entry.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn contains(&self, key: &[u8]) -> Result<bool, StorageError> {
        Ok(self.get(key)?.is_some())
    }

    /// The entry with the least key.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn first(&self) -> Result<Option<(Key<'t>, &'t [u8])>, StorageError> {
        self.at_target(Target::First)
    }

    /// The entry with the greatest key.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn last(&self) -> Result<Option<(Key<'t>, &'t [u8])>, StorageError> {
        self.at_target(Target::Last)
    }

    fn at_target(
        &self,
        target: Target<&SearchKey<'_>>,
    ) -> Result<Option<(Key<'t>, &'t [u8])>, StorageError> {
        let position = Position::<Node<'t>>::find(self.pages, &self.root, target)?;
        let Some(Position { node, slot, .. }) = position else {
            return Ok(None);
        };
        Ok(Some((node.key(slot), value_at(self.pages, &node, slot)?)))
    }

    /// A cursor that stands on no entry yet.
    pub fn cursor(&self) -> Cursor<'t, P> {
        Cursor::new(*self)
    }

    /// The entries with keys inside `bounds`, ascending, or descending with [`Iterator::rev`].
    ///
    /// Bounds that exclude each other give no entries.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn range<'k>(
        &self,
        bounds: impl RangeBounds<&'k [u8]>,
    ) -> Result<Range<'t, P>, StorageError> {
        Range::new(
            self,
            bounds.start_bound().cloned(),
            bounds.end_bound().cloned(),
        )
    }

    /// All entries.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn iter(&self) -> Result<Range<'t, P>, StorageError> {
        self.range(..)
    }

    /// The entries whose keys start with `prefix`.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn prefix(&self, prefix: &[u8]) -> Result<Range<'t, P>, StorageError> {
        Range::with_prefix(self, prefix)
    }

    /// Reads the whole tree and checks its structure; see [`TreeReport`].
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] with the first damage found, [`StorageError::Io`].
    pub fn verify(&self) -> Result<TreeReport, StorageError> {
        verify::verify(self)
    }
}

/// Looks `key` up in a leaf.
#[inline]
pub(crate) fn get_in_leaf<'t, P: PageRead + ?Sized>(
    pages: &'t P,
    leaf: PageNumber,
    key: &SearchKey<'_>,
) -> Result<Option<&'t [u8]>, StorageError> {
    let node = Node::leaf(pages.page(leaf)?)?;
    match node.find(key) {
        Some((slot, entry)) if slot.is_overflow() => overflow_value(pages, entry.stored).map(Some),
        Some((_, entry)) => Ok(Some(entry.stored)),
        None => Ok(None),
    }
}

/// The value of a leaf's entry.
#[inline]
pub(crate) fn value_at<'t, P: PageRead + ?Sized>(
    pages: &'t P,
    node: &Node<'t>,
    slot: usize,
) -> Result<&'t [u8], StorageError> {
    let slot = node.slot(slot);
    let stored = node.entry(slot).stored;
    if slot.is_overflow() {
        overflow_value(pages, stored)
    } else {
        Ok(stored)
    }
}

/// The value a leaf's entry refers to.
#[inline(never)]
fn overflow_value<'t, P: PageRead + ?Sized>(
    pages: &'t P,
    stored: &[u8],
) -> Result<&'t [u8], StorageError> {
    let reference = OverflowRef::decode(stored).expect("validated: references have 12 bytes");
    let run = pages.run(reference.page, run_page_count(reference.len_bytes))?;
    check_run(run, reference)?;
    let value = run
        .get(PAGE_HEADER_BYTES..)
        .and_then(|v| v.get(..reference.len_bytes as usize));
    value.ok_or_else(|| {
        let what = DamageKind::Pointer {
            what: "a long value",
            target: reference.page.0,
        };
        StorageError::corrupt_page(reference.page, what)
    })
}

/// Checks that a run is what a leaf's entry says.
pub(crate) fn check_run(run: &[u8], reference: OverflowRef) -> Result<(), StorageError> {
    let damage = match PageHeader::ref_from_prefix(run) {
        Ok((header, _)) if header.kind != PageKind::Overflow as u8 => DamageKind::PageKind {
            expected: "a long value",
            actual: header.kind,
        },
        Ok((header, _)) if header.overflow_len() != reference.len_bytes => DamageKind::Count {
            what: "length of a long value",
            expected: reference.len_bytes.into(),
            actual: header.overflow_len().into(),
        },
        Ok(_) => return Ok(()),
        Err(_) => DamageKind::Encoding {
            what: "a long value",
        },
    };
    Err(StorageError::corrupt_page(reference.page, damage))
}

//! Ranks: how many entries are before a key or between two, and which entry is the n-th.
//!
//! Trees that were created as counted answer in O(depth) pages, by the counts in their branches.
//!
//! Invariants:
//! - A count that contradicts what is below it is damage, never a panic or an endless loop.

use std::ops::{Bound, RangeBounds};

use crate::error::StorageError;
use crate::page::key::SearchKey;
use crate::page::node::Node;
use crate::page::{Key, PageRead};
use crate::tree::position::Position;
use crate::tree::read::{Tree, value_at};

impl<'t, P: PageRead + ?Sized> Tree<'t, P> {
    /// Number of entries whose keys are less than `key`, whether it has an entry or not. Reads one
    /// page per level.
    ///
    /// # Errors
    /// - [`StorageError::NotCounted`]: the tree was not created as counted.
    /// - [`StorageError::Corrupt`], [`StorageError::Io`].
    pub fn rank(&self, key: &[u8]) -> Result<u64, StorageError> {
        self.root().expect_counted()?;
        self.entries_before(key, false)
    }

    /// Number of entries with keys inside `bounds`. Reads one page per level for each bound.
    ///
    /// Bounds that exclude each other give 0.
    ///
    /// # Errors
    /// As for [`Tree::rank`].
    pub fn count<'k>(&self, bounds: impl RangeBounds<&'k [u8]>) -> Result<u64, StorageError> {
        self.root().expect_counted()?;
        let before = match bounds.start_bound() {
            Bound::Included(key) => self.entries_before(key, false)?,
            Bound::Excluded(key) => self.entries_before(key, true)?,
            Bound::Unbounded => 0,
        };
        let up_to = match bounds.end_bound() {
            Bound::Included(key) => self.entries_before(key, true)?,
            Bound::Excluded(key) => self.entries_before(key, false)?,
            Bound::Unbounded => self.len(),
        };
        Ok(up_to.saturating_sub(before))
    }

    /// The entry with `rank` others before it; `None` when there are not so many. Reads one page
    /// per level. [`Cursor::seek_rank`](crate::Cursor::seek_rank) goes on from there.
    ///
    /// # Errors
    /// As for [`Tree::rank`].
    pub fn select(&self, rank: u64) -> Result<Option<(Key<'t>, &'t [u8])>, StorageError> {
        let Some(position) = Position::at_rank(self.pages(), self.root(), rank)? else {
            return Ok(None);
        };
        let Position { node, slot, .. } = position;
        Ok(Some((node.key(slot), value_at(self.pages(), &node, slot)?)))
    }

    /// Number of entries with keys less than `key`, or equal to it if `is_included`.
    fn entries_before(&self, key: &[u8], is_included: bool) -> Result<u64, StorageError> {
        let Some(mut page) = self.root().root_page() else {
            return Ok(0);
        };
        let key = SearchKey::new(key);
        let mut before = 0_u64;
        for _ in 1..self.root().depth() {
            let node = Node::counted_branch(self.pages().page(page)?)?;
            let slot = node.child_slot(&key);
            before = before.saturating_add(node.entries_before(slot));
            page = node.child(slot);
        }
        let node = Node::leaf(self.pages().page(page)?)?;
        let in_leaf = match node.search(&key) {
            Ok(slot) => slot + usize::from(is_included),
            Err(slot) => slot,
        };
        Ok(before.saturating_add(in_leaf as u64))
    }
}

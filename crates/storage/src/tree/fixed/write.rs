//! Changing a fixed tree.
//!
//! Invariants:
//! - No page is borrowed across a call that may change another.
//! - Ascending inserts, at the end or in the middle, leave full pages behind.
//! - Every change of a branch page clears the leaf cache.
//! - After an error the tree may be half changed: the transaction or savepoint is rolled back.

use std::ops::{Bound, RangeBounds};

use crate::error::StorageError;
use crate::page::fixed_node::{FixedNode, FixedNodeMut, capacity};
use crate::page::{PageKind, PageNumber, PageWrite};
use crate::tree::fixed::FixedTree;
use crate::tree::path::{Path, check_depth};
use crate::tree::{TreeKind, TreeState};

/// Width of the values of a branch.
const CHILD_BYTES: usize = size_of::<u64>();

/// A map of numbers to values of one width, to change.
pub struct FixedTreeMut<'t, P: ?Sized> {
    pages: &'t mut P,
    state: &'t mut TreeState,
}

impl<'t, P: PageWrite + ?Sized> FixedTreeMut<'t, P> {
    /// The tree at the root of `state`, which is kept up to date.
    #[inline]
    pub fn new(pages: &'t mut P, state: &'t mut TreeState) -> FixedTreeMut<'t, P> {
        debug_assert_eq!(state.root.kind(), TreeKind::Fixed);
        FixedTreeMut { pages, state }
    }

    /// The same tree, to read.
    #[inline]
    pub fn as_tree(&self) -> FixedTree<'_, P> {
        FixedTree::new(self.pages, self.state.root)
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> u64 {
        self.state.root.entry_count()
    }

    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.state.root.root_page().is_none()
    }

    /// The value of `key`.
    ///
    /// # Errors
    /// As for [`FixedTree::get`].
    #[inline]
    pub fn get(&self, key: u64) -> Result<Option<&[u8]>, StorageError> {
        self.as_tree().get(key)
    }

    #[inline]
    fn width(&self) -> usize {
        self.state.root.value_width().into()
    }

    /// Stores an entry; true when it takes the place of another with the same key.
    ///
    /// # Errors
    /// - [`StorageError::WrongValueWidth`]: nothing has changed.
    /// - [`StorageError::Full`], [`StorageError::Corrupt`], [`StorageError::Io`]: roll back.
    #[inline]
    pub fn put(&mut self, key: u64, value: &[u8]) -> Result<bool, StorageError> {
        let width = self.width();
        if value.len() != width {
            return Err(StorageError::WrongValueWidth {
                len_bytes: value.len(),
                width,
            });
        }
        loop {
            let leaf = self.locate(key)?;
            let mut node = FixedNodeMut::leaf(self.pages.page_mut(leaf)?, width)?;
            let at = match node.node().search(key) {
                Ok(at) => {
                    node.value_mut(at).copy_from_slice(value);
                    return Ok(true);
                }
                Err(at) => at,
            };
            if let Some(place) = node.insert(at, key) {
                place.copy_from_slice(value);
                self.state.root.add_entries(1);
                return Ok(false);
            }
            self.split_leaf(leaf, at, key)?;
        }
    }

    /// Removes an entry; false when there is none.
    ///
    /// # Errors
    /// As for [`FixedTreeMut::put`].
    pub fn delete(&mut self, key: u64) -> Result<bool, StorageError> {
        if self.is_empty() {
            return Ok(false);
        }
        let leaf = self.locate(key)?;
        let node = FixedNode::leaf(self.pages.page(leaf)?)?;
        let Ok(at) = node.search(key) else {
            return Ok(false);
        };
        let mut node = FixedNodeMut::of(self.pages.page_mut(leaf)?);
        node.remove(at, at + 1);
        self.state.root.remove_entries(1);
        if is_underfull(&node.node()) {
            self.rebalance_leaf(leaf)?;
        }
        Ok(true)
    }

    /// Removes all entries with keys inside `bounds`; gives their number.
    ///
    /// # Errors
    /// As for [`FixedTreeMut::put`].
    pub fn delete_range(&mut self, bounds: impl RangeBounds<u64>) -> Result<u64, StorageError> {
        let mut next = match bounds.start_bound() {
            Bound::Included(&key) => Some(key),
            Bound::Excluded(&key) => key.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let before = self.len();
        while let Some(start) = next {
            let end = bounds.end_bound().cloned();
            let first = self.as_tree().range((Bound::Included(start), end))?.next();
            let Some((key, _)) = first.transpose()? else {
                break;
            };
            next = self.cut_leaf(key, end)?;
        }
        Ok(before - self.len())
    }

    /// Removes the entries of one leaf from `key` up to `end`; gives the last key removed.
    fn cut_leaf(&mut self, key: u64, end: Bound<u64>) -> Result<Option<u64>, StorageError> {
        let leaf = self.locate(key)?;
        let mut node = FixedNodeMut::leaf(
            self.pages.page_mut(leaf)?,
            self.state.root.value_width().into(),
        )?;
        let view = node.node();
        let (Ok(from) | Err(from)) = view.search(key);
        let to = match end {
            Bound::Included(end) => view.search(end).map_or_else(|at| at, |at| at + 1),
            Bound::Excluded(end) => view.search(end).unwrap_or_else(|at| at),
            Bound::Unbounded => view.count(),
        };
        if from >= to {
            return Ok(None);
        }
        let last = view.key(to - 1);
        node.remove(from, to);
        self.state.root.remove_entries((to - from) as u64);
        if is_underfull(&node.node()) {
            self.rebalance_leaf(leaf)?;
        }
        Ok(Some(last))
    }

    /// Removes all entries and gives all pages back.
    ///
    /// # Errors
    /// As for [`FixedTreeMut::put`].
    pub fn clear(&mut self) -> Result<(), StorageError> {
        let Some(root) = self.state.root.root_page() else {
            return Ok(());
        };
        self.state.cache.clear();
        self.free_subtree(root, self.state.root.depth())?;
        self.state.root.set_root(PageNumber::NONE, 0);
        self.state.root.remove_entries(self.len());
        Ok(())
    }

    fn free_subtree(&mut self, page: PageNumber, levels: u8) -> Result<(), StorageError> {
        if levels > 1 {
            let node = FixedNode::branch(self.pages.page(page)?)?;
            let children: Vec<PageNumber> =
                (0..node.count()).map(|slot| node.child(slot)).collect();
            for child in children {
                self.free_subtree(child, levels - 1)?;
            }
        }
        self.free_page(page)
    }

    /// The leaf that `key` belongs into, made the cache's current one. An empty tree gets a leaf.
    #[inline]
    fn locate(&mut self, key: u64) -> Result<PageNumber, StorageError> {
        match self.state.cache.find_number(key) {
            Some(leaf) => Ok(leaf),
            None => self.descend(key),
        }
    }

    fn descend(&mut self, key: u64) -> Result<PageNumber, StorageError> {
        let Some(mut page) = self.state.root.root_page() else {
            return self.plant();
        };
        let mut path = Path::default();
        let (mut low, mut high) = (None, None);
        for _ in 1..check_depth(self.state.root.depth().into())? {
            let node = FixedNode::branch(self.pages.page(page)?)?;
            let slot = node.child_slot(key);
            if slot > 0 {
                low = Some(node.key(slot));
            }
            if slot + 1 < node.count() {
                high = Some(node.key(slot + 1));
            }
            path.push(page, slot);
            page = node.child(slot);
        }
        self.state.cache.add_numbers(page, &path, low, high);
        Ok(page)
    }

    /// Gives an empty tree its first leaf.
    fn plant(&mut self) -> Result<PageNumber, StorageError> {
        let leaf = self.allocate_page(None)?;
        FixedNodeMut::create(
            self.pages.page_mut(leaf)?,
            PageKind::FixedLeaf,
            self.state.root.value_width().into(),
        );
        self.state.root.set_root(leaf, 1);
        self.state.cache.clear();
        self.state
            .cache
            .add_numbers(leaf, &Path::default(), None, None);
        Ok(leaf)
    }

    /// Splits the cache's current leaf, which has no room for `key` at slot `at`.
    #[cold]
    #[inline(never)]
    fn split_leaf(&mut self, leaf: PageNumber, at: usize, key: u64) -> Result<(), StorageError> {
        let copy = *self.pages.page(leaf)?;
        let source = FixedNode::leaf(&copy)?;
        let (count, width) = (source.count(), source.width());
        let (path, is_last) = match self.state.cache.current() {
            Some(current) => (current.path, current.is_last),
            None => (Path::default(), true),
        };
        let is_run = at > 0 && (source.is_run(at) || is_last && at == count);
        let split_at = if is_run { at } else { count / 2 };
        let separator = if is_run { key } else { source.key(split_at) };
        let right = self.allocate_page(Some(leaf))?;
        let page = self.pages.page_mut(right)?;
        let mut node = FixedNodeMut::create(page, PageKind::FixedLeaf, width);
        node.push_all(&source, split_at, count, 0);
        if is_run {
            node.continue_run();
        }
        if split_at < count {
            FixedNodeMut::of(self.pages.page_mut(leaf)?).remove(split_at, count);
        }
        self.state.cache.clear();
        self.add_child(&path, path.len(), separator, right)
    }

    /// Adds `child` behind the child that `path` takes at the level above `level`.
    fn add_child(
        &mut self,
        path: &Path,
        level: usize,
        separator: u64,
        child: PageNumber,
    ) -> Result<(), StorageError> {
        let Some(level) = level.checked_sub(1) else {
            return self.grow_root(separator, child);
        };
        let (page, slot) = path.step(level);
        let at = slot + 1;
        if FixedNodeMut::of(self.pages.page_mut(page)?).insert_child(at, separator, child) {
            return Ok(());
        }
        let copy = *self.pages.page(page)?;
        let source = FixedNode::branch(&copy)?;
        let count = source.count();
        let right = self.allocate_page(Some(page))?;
        let target = self.pages.page_mut(right)?;
        let mut node = FixedNodeMut::create(target, PageKind::FixedBranch, CHILD_BYTES);
        if at == count && source.is_run(at) {
            node.insert_child(0, 0, child);
            node.continue_run();
            return self.add_child(path, level, separator, right);
        }
        let split_at = count / 2;
        node.push_all(&source, split_at, count, 0);
        FixedNodeMut::of(self.pages.page_mut(page)?).remove(split_at, count);
        let (half, at) = if at > split_at {
            (right, at - split_at)
        } else {
            (page, at)
        };
        FixedNodeMut::of(self.pages.page_mut(half)?).insert_child(at, separator, child);
        self.add_child(path, level, source.key(split_at), right)
    }

    /// Puts a new page above the root.
    fn grow_root(&mut self, separator: u64, right: PageNumber) -> Result<(), StorageError> {
        let left = self.state.root.root_page().unwrap_or(PageNumber::NONE);
        let depth = check_depth(usize::from(self.state.root.depth()) + 1)?;
        let root = self.allocate_page(Some(left))?;
        let page = self.pages.page_mut(root)?;
        let mut node = FixedNodeMut::create(page, PageKind::FixedBranch, CHILD_BYTES);
        node.insert_child(0, 0, left);
        node.insert_child(1, separator, right);
        self.state.root.set_root(root, depth);
        Ok(())
    }

    /// Looks after the cache's current leaf, from which entries were removed.
    fn rebalance_leaf(&mut self, leaf: PageNumber) -> Result<(), StorageError> {
        let path = self
            .state
            .cache
            .current()
            .map(|leaf| leaf.path)
            .unwrap_or_default();
        self.rebalance(&path, path.len(), leaf)
    }

    /// Removes or merges `page`, at `level` of `path`, if it is nearly empty.
    fn rebalance(
        &mut self,
        path: &Path,
        level: usize,
        page: PageNumber,
    ) -> Result<(), StorageError> {
        let levels = path.len() - level + 1;
        let node = FixedNode::at_level(self.pages.page(page)?, levels)?;
        let count = node.count();
        let Some(above) = level.checked_sub(1) else {
            return if count == 0 {
                self.remove_root(page)
            } else {
                self.shrink_root()
            };
        };
        let (parent, slot) = path.step(above);
        let remove_slot = if count == 0 {
            Some(slot)
        } else if is_underfull(&node) {
            self.merge_with_neighbor(parent, slot, levels)?
        } else {
            None
        };
        let Some(remove_slot) = remove_slot else {
            return Ok(());
        };
        self.state.cache.clear();
        let removed = FixedNode::branch(self.pages.page(parent)?)?.child(remove_slot);
        self.free_page(removed)?;
        FixedNodeMut::of(self.pages.page_mut(parent)?).remove(remove_slot, remove_slot + 1);
        self.rebalance(path, above, parent)
    }

    /// Merges the child at `slot`, which has `levels` levels, with a neighbor if both fill three
    /// quarters of a page at most; gives the slot of the child that lost its entries.
    fn merge_with_neighbor(
        &mut self,
        parent: PageNumber,
        slot: usize,
        levels: usize,
    ) -> Result<Option<usize>, StorageError> {
        let node = FixedNode::branch(self.pages.page(parent)?)?;
        for right_slot in [slot + 1, slot] {
            if right_slot == 0 || right_slot >= node.count() {
                continue;
            }
            let left_page = node.child(right_slot - 1);
            let right_page = self.pages.page(node.child(right_slot))?;
            let left = FixedNode::at_level(self.pages.page(left_page)?, levels)?;
            let right = FixedNode::at_level(right_page, levels)?;
            let count = left.count() + right.count();
            if left.width() != right.width() || count * 4 > capacity(left.width()) * 3 {
                continue;
            }
            let separator = node.key(right_slot);
            let right_page = *right_page;
            let right = FixedNode::at_level(&right_page, levels)?;
            let mut left = FixedNodeMut::of(self.pages.page_mut(left_page)?);
            left.push_all(&right, 0, right.count(), separator);
            return Ok(Some(right_slot));
        }
        Ok(None)
    }

    fn remove_root(&mut self, root: PageNumber) -> Result<(), StorageError> {
        self.state.cache.clear();
        self.free_page(root)?;
        self.state.root.set_root(PageNumber::NONE, 0);
        Ok(())
    }

    /// Takes levels away while the root has a single child.
    fn shrink_root(&mut self) -> Result<(), StorageError> {
        while let Some(root) = self.state.root.root_page()
            && self.state.root.depth() > 1
        {
            let node = FixedNode::branch(self.pages.page(root)?)?;
            if node.count() > 1 {
                break;
            }
            let child = node.child(0);
            self.state.cache.clear();
            self.free_page(root)?;
            self.state.root.set_root(child, self.state.root.depth() - 1);
        }
        Ok(())
    }

    fn allocate_page(&mut self, near: Option<PageNumber>) -> Result<PageNumber, StorageError> {
        self.state.root.add_pages(1);
        self.pages.allocate(near)
    }

    fn free_page(&mut self, page: PageNumber) -> Result<(), StorageError> {
        self.state.root.remove_pages(1);
        self.pages.free(page)
    }
}

/// Whether a page has so few entries that it should join a neighbor.
#[inline]
fn is_underfull(node: &FixedNode<'_>) -> bool {
    node.count() * 4 < capacity(node.width()) || node.count() == 0
}

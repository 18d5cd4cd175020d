//! Changing a tree, one entry at a time.
//!
//! Write transactions hand out [`TreeMut`]. `split` and `merge` change the structure.
//!
//! Invariants:
//! - No page is borrowed across a call that may change another.
//! - After an error the tree may be half changed: the transaction or savepoint is rolled back.

use crate::error::StorageError;
use crate::page::counts::CountChange;
use crate::page::key::SearchKey;
use crate::page::node::{KEY_BYTES_MAX, Node, OverflowRef, ValueKind, is_inline_length};
use crate::page::node_mut::NodeMut;
use crate::page::{PageHeader, PageKind, PageNumber, PageWrite, run_page_count};
use crate::tree::path::{Path, check_depth};
use crate::tree::read::{Tree, check_run, get_in_leaf};
use crate::tree::{TreeKind, TreeState};
use zerocopy::FromBytes;

/// Longest value of a tree. Longer things are cut into pieces by layers above.
pub const VALUE_BYTES_MAX: usize = 200 << 20;

/// An ordered map of bytes to bytes, to change.
pub struct TreeMut<'t, P: ?Sized> {
    pub(crate) pages: &'t mut P,
    pub(crate) state: &'t mut TreeState,
}

impl<'t, P: PageWrite + ?Sized> TreeMut<'t, P> {
    /// The tree at the root of `state`, which is kept up to date.
    #[inline]
    pub fn new(pages: &'t mut P, state: &'t mut TreeState) -> TreeMut<'t, P> {
        debug_assert_ne!(state.root.kind(), TreeKind::Fixed);
        TreeMut { pages, state }
    }

    /// The same tree, to read.
    #[inline]
    pub fn as_tree(&self) -> Tree<'_, P> {
        Tree::new(self.pages, self.state.root)
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
    /// As for [`Tree::get`].
    #[inline]
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, StorageError> {
        match self.state.cache.peek(key) {
            Some(leaf) => get_in_leaf(&*self.pages, leaf, &SearchKey::new(key)),
            None => self.as_tree().get(key),
        }
    }

    /// Stores an entry; true when it takes the place of another with the same key.
    ///
    /// Keys have up to [`KEY_BYTES_MAX`] bytes, values up to [`VALUE_BYTES_MAX`].
    ///
    /// # Errors
    /// - [`StorageError::KeyTooLong`], [`StorageError::ValueTooLong`]: nothing has changed.
    /// - [`StorageError::Full`], [`StorageError::Corrupt`], [`StorageError::Io`]: roll back.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool, StorageError> {
        self.put_with(key, value.len(), |place| place.copy_from_slice(value))
    }

    /// Stores an entry whose value of `len_bytes` bytes is written by `fill` where it will stay.
    ///
    /// `fill` must write every byte: it may be given bytes of earlier values.
    ///
    /// # Errors
    /// As for [`TreeMut::put`].
    #[inline]
    pub fn put_with(
        &mut self,
        key: &[u8],
        len_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<bool, StorageError> {
        if is_inline_length(key.len(), len_bytes) {
            self.put_stored(key, ValueKind::Inline, len_bytes, fill)
        } else {
            self.put_overflow(key, len_bytes, fill)
        }
    }

    /// Puts bytes into a leaf.
    #[inline]
    fn put_stored(
        &mut self,
        key: &[u8],
        kind: ValueKind,
        stored_len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<bool, StorageError> {
        let mut replaced = false;
        let sought = SearchKey::new(key);
        loop {
            let leaf = self.locate(key)?;
            let mut node = NodeMut::leaf(self.pages.page_mut(leaf)?)?;
            match node.node().search_ascending(&sought) {
                Ok(at) => {
                    let old = overflow_at(&node.node(), at);
                    if let Some(place) = node.replace(at, kind, stored_len) {
                        fill(place);
                        self.free_overflow(old)?;
                        return Ok(true);
                    }
                    node.remove(at, at + 1);
                    self.count_entries(CountChange::Less(1))?;
                    self.free_overflow(old)?;
                    replaced = true;
                }
                Err(at) => {
                    if let Some(place) = node.insert(at, &sought, kind, stored_len) {
                        fill(place);
                        self.count_entries(CountChange::More(1))?;
                        return Ok(replaced);
                    }
                    self.split_leaf(leaf, at, key)?;
                }
            }
        }
    }

    /// Puts a value into a run of pages, the one it had before if that has the right length.
    fn put_overflow(
        &mut self,
        key: &[u8],
        len_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<bool, StorageError> {
        check_lengths(key, len_bytes)?;
        let Ok(len) = u32::try_from(len_bytes) else {
            return Err(value_too_long(len_bytes));
        };
        let pages = run_page_count(len);
        let old = self.find_overflow(key)?;
        let reused = old.filter(|old| run_page_count(old.len_bytes) == pages);
        let page = match reused {
            Some(old) => old.page,
            None => {
                self.state.root.add_pages(pages.into());
                self.pages.allocate_run(pages)?
            }
        };
        let run = self.pages.run_mut(page, pages)?;
        if let Some(old) = reused {
            check_run(run, old)?;
        }
        let (header, value) = PageHeader::mut_from_prefix(run).expect("a run is longer");
        header.kind = PageKind::Overflow as u8;
        header.flags = 0;
        header.aux.set(0);
        header.set_overflow_len(len);
        fill(&mut value[..len_bytes]);
        let stored = OverflowRef {
            page,
            len_bytes: len,
        }
        .encode();
        if reused.is_some() {
            let leaf = self.locate(key)?;
            let mut node = NodeMut::leaf(self.pages.page_mut(leaf)?)?;
            if let Ok(at) = node.node().search(&SearchKey::new(key)) {
                node.stored_mut(at).copy_from_slice(&stored);
            }
            return Ok(true);
        }
        self.put_stored(key, ValueKind::Overflow, stored.len(), |place| {
            place.copy_from_slice(&stored);
        })
    }

    /// Removes an entry; false when there is none.
    ///
    /// # Errors
    /// As for [`TreeMut::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, StorageError> {
        if self.is_empty() {
            return Ok(false);
        }
        let leaf = self.locate(key)?;
        let node = Node::leaf(self.pages.page(leaf)?)?;
        let Ok(at) = node.search(&SearchKey::new(key)) else {
            return Ok(false);
        };
        let old = overflow_at(&node, at);
        let mut node = NodeMut::of(self.pages.page_mut(leaf)?);
        node.remove(at, at + 1);
        let is_underfull = is_underfull(&node.node());
        self.count_entries(CountChange::Less(1))?;
        self.free_overflow(old)?;
        if is_underfull {
            self.rebalance_leaf(leaf)?;
        }
        Ok(true)
    }

    /// Removes all entries and gives all pages back.
    ///
    /// # Errors
    /// As for [`TreeMut::put`].
    pub fn clear(&mut self) -> Result<(), StorageError> {
        let Some(root) = self.state.root.root_page() else {
            return Ok(());
        };
        let depth = self.state.root.depth();
        self.state.cache.clear();
        self.free_subtree(root, depth)?;
        self.state.root.set_root(PageNumber::NONE, 0);
        self.state
            .root
            .remove_entries(self.state.root.entry_count());
        Ok(())
    }

    /// Frees a page with all below it; gives the number of entries that were there.
    pub(crate) fn free_subtree(
        &mut self,
        page: PageNumber,
        levels: u8,
    ) -> Result<u64, StorageError> {
        let mut removed = 0;
        if levels > 1 {
            let node = Node::branch(self.pages.page(page)?)?;
            let children: Vec<PageNumber> =
                (0..node.count()).map(|slot| node.child(slot)).collect();
            for child in children {
                removed += self.free_subtree(child, levels - 1)?;
            }
        } else {
            let node = Node::leaf(self.pages.page(page)?)?;
            removed = node.count() as u64;
            let runs: Vec<OverflowRef> = (0..node.count())
                .filter_map(|slot| overflow_at(&node, slot))
                .collect();
            for run in runs {
                self.free_overflow(Some(run))?;
            }
        }
        self.free_page(page)?;
        Ok(removed)
    }

    /// The leaf that `key` belongs into, made the cache's current one. An empty tree gets a leaf.
    #[inline]
    pub(crate) fn locate(&mut self, key: &[u8]) -> Result<PageNumber, StorageError> {
        match self.state.cache.find(key) {
            Some(leaf) => Ok(leaf),
            None => self.descend(key, Path::default(), false),
        }
    }

    /// As `locate`, for a key behind those of the current leaf: climbs only as far as needed.
    pub(crate) fn locate_forward(&mut self, key: &[u8]) -> Result<PageNumber, StorageError> {
        if let Some(leaf) = self.state.cache.find(key) {
            return Ok(leaf);
        }
        let mut path = self
            .state
            .cache
            .current()
            .map(|leaf| leaf.path)
            .unwrap_or_default();
        while let Some((page, slot)) = path.last() {
            path.truncate(path.len() - 1);
            let node = Node::branch(self.pages.page(page)?)?;
            let (next, last) = (slot + 1, node.count() - 1);
            if next <= last
                && node.key(next).compare(key).is_le()
                && node.key(last).compare(key).is_gt()
            {
                break;
            }
        }
        self.descend(key, path, true)
    }

    /// Descends to the leaf for `key` from below the last step of `path`, whose pages are known to
    /// cover the key and to have a separator on either side of it.
    #[inline(never)]
    fn descend(
        &mut self,
        key: &[u8],
        mut path: Path,
        with_bounds: bool,
    ) -> Result<PageNumber, StorageError> {
        let Some(root) = self.state.root.root_page() else {
            return self.plant(key);
        };
        let levels = usize::from(self.state.root.depth());
        let key = SearchKey::new(key);
        let mut page = match path.last() {
            Some((page, slot)) => Node::branch(self.pages.page(page)?)?.child(slot),
            None => root,
        };
        let mut bounds = (None, None);
        while path.len() + 1 < levels {
            let node = Node::branch(self.pages.page(page)?)?;
            let slot = node.child_slot(&key);
            if slot > 0 {
                bounds.0 = Some((node, slot));
            }
            if slot + 1 < node.count() {
                bounds.1 = Some((node, slot + 1));
            }
            path.push(page, slot);
            page = node.child(slot);
        }
        self.state.cache.add(page, &path, bounds, with_bounds);
        Ok(page)
    }

    /// Gives an empty tree its first leaf.
    fn plant(&mut self, key: &[u8]) -> Result<PageNumber, StorageError> {
        let leaf = self.allocate_page(None)?;
        NodeMut::create(self.pages.page_mut(leaf)?, PageKind::Leaf, key);
        self.state.root.set_root(leaf, 1);
        self.state.cache.clear();
        self.state
            .cache
            .add(leaf, &Path::default(), (None, None), true);
        Ok(leaf)
    }

    /// Puts a new page above the root.
    pub(crate) fn grow_root(
        &mut self,
        separator: &[u8],
        right: PageNumber,
    ) -> Result<(), StorageError> {
        let left = self.state.root.root_page().unwrap_or(PageNumber::NONE);
        let depth = check_depth(usize::from(self.state.root.depth()) + 1)?;
        let root = self.allocate_page(Some(left))?;
        let is_counted = self.state.root.is_counted();
        let mut node = NodeMut::create_branch(self.pages.page_mut(root)?, is_counted, &[]);
        node.insert_child(0, &[], left);
        node.insert_child(1, separator, right);
        self.state.root.set_root(root, depth);
        for (slot, child) in [left, right].into_iter().enumerate() {
            let entries = self.entries_below(child)?;
            self.count_child(root, slot, CountChange::More(entries))?;
        }
        Ok(())
    }

    pub(crate) fn allocate_page(
        &mut self,
        near: Option<PageNumber>,
    ) -> Result<PageNumber, StorageError> {
        self.state.root.add_pages(1);
        self.pages.allocate(near)
    }

    pub(crate) fn free_page(&mut self, page: PageNumber) -> Result<(), StorageError> {
        self.state.root.remove_pages(1);
        self.pages.free(page)
    }

    #[inline]
    pub(crate) fn free_overflow(&mut self, run: Option<OverflowRef>) -> Result<(), StorageError> {
        let Some(run) = run else { return Ok(()) };
        let pages = run_page_count(run.len_bytes);
        self.state.root.remove_pages(pages.into());
        self.pages.free_run(run.page, pages)
    }

    fn find_overflow(&mut self, key: &[u8]) -> Result<Option<OverflowRef>, StorageError> {
        if self.is_empty() {
            return Ok(None);
        }
        let leaf = self.locate(key)?;
        let node = Node::leaf(self.pages.page(leaf)?)?;
        Ok(node
            .search(&SearchKey::new(key))
            .ok()
            .and_then(|at| overflow_at(&node, at)))
    }
}

#[inline]
pub(crate) fn check_lengths(key: &[u8], len_bytes: usize) -> Result<(), StorageError> {
    if key.len() > KEY_BYTES_MAX {
        return Err(StorageError::KeyTooLong {
            len_bytes: key.len(),
            max_bytes: KEY_BYTES_MAX,
        });
    }
    if len_bytes > VALUE_BYTES_MAX {
        return Err(value_too_long(len_bytes));
    }
    Ok(())
}

#[cold]
fn value_too_long(len_bytes: usize) -> StorageError {
    StorageError::ValueTooLong {
        len_bytes,
        max_bytes: VALUE_BYTES_MAX,
    }
}

/// The run that an entry of a leaf refers to.
#[inline]
pub(crate) fn overflow_at(node: &Node<'_>, at: usize) -> Option<OverflowRef> {
    let slot = node.slot(at);
    if slot.is_overflow() {
        OverflowRef::decode(node.entry(slot).stored)
    } else {
        None
    }
}

/// Whether a page has so few entries that it should join a neighbor.
#[inline]
pub(crate) fn is_underfull(node: &Node<'_>) -> bool {
    node.used_bytes() * 4 < crate::page::node::NODE_CAPACITY
}

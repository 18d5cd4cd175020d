//! Splitting full pages.
//!
//! Called by `write` when a leaf has no room for an entry.
//!
//! Invariants:
//! - Ascending inserts, at the end of the tree or in its middle, leave full pages behind.
//! - The left page only loses slots: its entries stay where they are.
//! - Every change of a branch page clears the leaf cache.

use crate::error::{DamageKind, StorageError};
use crate::page::counts::CountChange;
use crate::page::key::{SearchKey, common_prefix_len};
use crate::page::node::Node;
use crate::page::node_mut::{NodeMut, shared_prefix, shortest_separator, split_position};
use crate::page::{PageKind, PageNumber, PageWrite};
use crate::tree::path::Path;
use crate::tree::write::TreeMut;

impl<P: PageWrite + ?Sized> TreeMut<'_, P> {
    /// Splits the cache's current leaf, which has no room for `key` at slot `at`.
    #[cold]
    #[inline(never)]
    pub(crate) fn split_leaf(
        &mut self,
        leaf: PageNumber,
        at: usize,
        key: &[u8],
    ) -> Result<(), StorageError> {
        let copy = *self.pages.page(leaf)?;
        let source = Node::leaf(&copy)?;
        let count = source.count();
        let (path, is_last) = match self.state.cache.current() {
            Some(current) => (current.path, current.is_last),
            None => (Path::default(), self.state.root.depth() == 1),
        };
        let is_run = source.is_run(at) || is_last && at == count;
        let is_run = is_run && at > 0;
        let split_at = if is_run { at } else { split_position(&source) };
        let low = source.key(split_at - 1).to_vec();
        let high = if is_run {
            key.to_vec()
        } else {
            source.key(split_at).to_vec()
        };
        let separator = shortest_separator(&low, &high);
        let prefix = match count.checked_sub(1).filter(|&last| last >= split_at) {
            Some(last) => high[..source.key(last).common_prefix_len(&high)].to_vec(),
            None => high[..common_prefix_len(&low, &high)].to_vec(),
        };
        let right = self.allocate_page(Some(leaf))?;
        let mut node = NodeMut::create(self.pages.page_mut(right)?, PageKind::Leaf, &prefix);
        node.push_all(&source, split_at, count, None);
        if is_run {
            node.continue_run();
        }
        if split_at < count {
            NodeMut::of(self.pages.page_mut(leaf)?).remove(split_at, count);
        }
        self.state.cache.clear();
        let moved = (count - split_at) as u64;
        self.add_child(&path, path.len(), &separator, (right, moved))
    }

    /// Adds `child` behind the child that `path` takes at the level above `level`, from which its
    /// `entries` were moved there.
    fn add_child(
        &mut self,
        path: &Path,
        level: usize,
        separator: &[u8],
        (child, entries): (PageNumber, u64),
    ) -> Result<(), StorageError> {
        let Some(level) = level.checked_sub(1) else {
            return self.grow_root(separator, child);
        };
        let (page, slot) = path.step(level);
        let at = slot + 1;
        self.expect_branch(page, at)?;
        self.count_child(page, slot, CountChange::Less(entries))?;
        if NodeMut::of(self.pages.page_mut(page)?).insert_child(at, separator, child) {
            return self.count_child(page, at, CountChange::More(entries));
        }
        let copy = *self.pages.page(page)?;
        let source = Node::branch(&copy)?;
        let split_at = branch_split_position(&source, at, separator);
        let right = self.allocate_page(Some(page))?;
        let prefix = shared_prefix(&source, split_at + 1, source.count());
        let is_counted = self.state.root.is_counted();
        let mut node = NodeMut::create_branch(self.pages.page_mut(right)?, is_counted, &prefix);
        if split_at == source.count() {
            node.insert_child(0, &[], child);
            node.continue_run();
            self.count_child(right, 0, CountChange::More(entries))?;
            return self.add_child(path, level, separator, (right, entries));
        }
        node.push_all(&source, split_at, source.count(), None);
        let up = source.key(split_at).to_vec();
        NodeMut::of(self.pages.page_mut(page)?).remove(split_at, source.count());
        let (half, slot) = if at > split_at {
            (right, at - split_at)
        } else {
            (page, at)
        };
        if !NodeMut::of(self.pages.page_mut(half)?).insert_child(slot, separator, child) {
            // Half a branch has room for a separator that is in its place.
            return Err(StorageError::corrupt_page(
                page,
                DamageKind::KeyOrder { slot: at },
            ));
        }
        self.count_child(half, slot, CountChange::More(entries))?;
        let moved = self.entries_below(right)?;
        self.add_child(path, level, &up, (right, moved))
    }

    /// Checks that a page of the path is still a branch with a place for a child at slot `at`: a
    /// damaged space map gives pages away that are in use.
    fn expect_branch(&self, page: PageNumber, at: usize) -> Result<(), StorageError> {
        let entries = Node::branch(self.pages.page(page)?)?.count();
        if at > entries {
            let what = DamageKind::Layout {
                field: "number of entries",
                actual: entries as u64,
            };
            return Err(StorageError::corrupt_page(page, what));
        }
        Ok(())
    }
}

/// Where to split a branch that has no room for `separator` at slot `at`, so that either half has.
fn branch_split_position(node: &Node<'_>, at: usize, separator: &[u8]) -> usize {
    if at == node.count() && node.is_run(at) {
        return node.count();
    }
    if !node.has_prefix_of(&SearchKey::new(separator)) {
        // The prefix would have to shrink, and with it all entries would grow: leave them alone.
        return if at == node.count() { at } else { 1 };
    }
    split_position(node)
}

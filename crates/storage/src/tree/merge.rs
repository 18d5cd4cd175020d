//! Joining pages that deletes have left nearly empty.
//!
//! Called by `write` and `batch` after deletes.
//!
//! Invariants:
//! - Pages below a quarter join a neighbor when the result fills at most three quarters, so the
//!   next insert does not split them again. Entries are never moved between pages that both stay.
//! - All leaves have the same depth: levels go away only at the root.
//! - A branch with one child is legal until it merges.

use crate::error::StorageError;
use crate::page::counts::CountChange;
use crate::page::node::{NODE_CAPACITY, Node};
use crate::page::node_mut::{NodeMut, merged_bytes};
use crate::page::{PageNumber, PageWrite};
use crate::tree::path::Path;
use crate::tree::write::{TreeMut, is_underfull};

impl<P: PageWrite + ?Sized> TreeMut<'_, P> {
    /// Looks after the cache's current leaf, from which entries were removed.
    #[inline(never)]
    pub(crate) fn rebalance_leaf(&mut self, leaf: PageNumber) -> Result<(), StorageError> {
        let path = self
            .state
            .cache
            .current()
            .map(|leaf| leaf.path)
            .unwrap_or_default();
        self.rebalance(&path, path.len(), leaf)
    }

    /// Removes or merges `page`, at `level` of `path`, if it is nearly empty.
    pub(crate) fn rebalance(
        &mut self,
        path: &Path,
        level: usize,
        page: PageNumber,
    ) -> Result<(), StorageError> {
        let node = Node::of(self.pages.page(page)?);
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
            self.merge_with_neighbor(parent, slot, path.len() - level + 1)?
        } else {
            None
        };
        let Some(remove_slot) = remove_slot else {
            return Ok(());
        };
        self.state.cache.clear();
        let removed = Node::branch(self.pages.page(parent)?)?.child(remove_slot);
        self.free_page(removed)?;
        let mut node = NodeMut::of(self.pages.page_mut(parent)?);
        node.remove_children(remove_slot, remove_slot + 1);
        self.rebalance(path, above, parent)
    }

    /// Merges the child at `slot`, which has `levels` levels, with a neighbor if both fit; gives
    /// the slot of the child that lost its entries.
    fn merge_with_neighbor(
        &mut self,
        parent: PageNumber,
        slot: usize,
        levels: usize,
    ) -> Result<Option<usize>, StorageError> {
        let node = Node::branch(self.pages.page(parent)?)?;
        for right_slot in [slot + 1, slot] {
            if right_slot == 0 || right_slot >= node.count() {
                continue;
            }
            let left_page = node.child(right_slot - 1);
            let right_page = self.pages.page(node.child(right_slot))?;
            let left = Node::at_level(self.pages.page(left_page)?, levels)?;
            let right = Node::at_level(right_page, levels)?;
            if left.used_bytes() + right.used_bytes() > NODE_CAPACITY {
                continue;
            }
            let separator = node.key(right_slot).to_vec();
            if merged_bytes(&left, &right, &separator) * 4 > NODE_CAPACITY * 3 {
                continue;
            }
            let (right_page, entries) = (*right_page, node.child_entries(right_slot));
            let mut left = NodeMut::of(self.pages.page_mut(left_page)?);
            left.merge(&Node::of(&right_page), &separator);
            self.count_child(parent, right_slot - 1, CountChange::More(entries))?;
            return Ok(Some(right_slot));
        }
        Ok(None)
    }

    /// Makes the tree empty.
    fn remove_root(&mut self, root: PageNumber) -> Result<(), StorageError> {
        self.state.cache.clear();
        self.free_page(root)?;
        self.state.root.set_root(PageNumber::NONE, 0);
        Ok(())
    }

    /// Takes levels away while the root has a single child.
    pub(crate) fn shrink_root(&mut self) -> Result<(), StorageError> {
        while let Some(root) = self.state.root.root_page()
            && self.state.root.depth() > 1
        {
            let node = Node::branch(self.pages.page(root)?)?;
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
}

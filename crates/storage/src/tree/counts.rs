//! Keeping the counts of a counted tree: what is below each child of its branches.
//!
//! `write` and `batch` call [`TreeMut::count_entries`] for entries of a leaf; `split`, `merge` and
//! range deletes tell what moved from one child to another. Plain trees pay one test of a flag.
//!
//! Invariants:
//! - Between two changes of a tree every count is exact, so readers may rely on any snapshot.
//! - A count is changed in place: slots and separators stay, so the leaf cache stays right.

use crate::error::StorageError;
use crate::page::counts::{CountChange, change_child_entries};
use crate::page::node::Node;
use crate::page::{PageNumber, PageWrite};
use crate::tree::write::TreeMut;

impl<P: PageWrite + ?Sized> TreeMut<'_, P> {
    /// Notes that the cache's current leaf has more entries or fewer.
    #[inline]
    pub(crate) fn count_entries(&mut self, change: CountChange) -> Result<(), StorageError> {
        match change {
            CountChange::More(entries) => self.state.root.add_entries(entries),
            CountChange::Less(entries) => self.state.root.remove_entries(entries),
        }
        if self.state.root.is_counted() && self.state.root.depth() > 1 {
            self.count_path(change)
        } else {
            Ok(())
        }
    }

    /// Changes the counts on the way to the cache's current leaf. O(depth) pages.
    fn count_path(&mut self, change: CountChange) -> Result<(), StorageError> {
        let current = self.state.cache.current();
        let path = &current.expect("the leaf was located just now").path;
        for level in 0..path.len() {
            let (page, slot) = path.step(level);
            change_child_entries(self.pages.page_mut(page)?, slot, change)?;
        }
        Ok(())
    }

    /// Notes that there are more entries or fewer below the child at `slot` of a branch.
    #[inline]
    pub(crate) fn count_child(
        &mut self,
        branch: PageNumber,
        slot: usize,
        change: CountChange,
    ) -> Result<(), StorageError> {
        if self.state.root.is_counted() {
            change_child_entries(self.pages.page_mut(branch)?, slot, change)?;
        }
        Ok(())
    }

    /// Number of entries on a page or, of a branch, below it; 0 in a tree without counts.
    pub(crate) fn entries_below(&self, page: PageNumber) -> Result<u64, StorageError> {
        if !self.state.root.is_counted() {
            return Ok(0);
        }
        Ok(Node::of(self.pages.page(page)?).entries_below())
    }
}

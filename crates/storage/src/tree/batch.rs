//! Changing many entries in the order of their keys: one walk instead of many descents.
//!
//! Index writers and bulk loads call these. Keys out of order cost descents, not correctness.
//!
//! Invariants:
//! - Each leaf is asked for once for all its keys, and looked after once when they are done.

use std::ops::{Bound, RangeBounds};

use crate::error::StorageError;
use crate::page::counts::CountChange;
use crate::page::key::SearchKey;
use crate::page::node::{Node, OverflowRef, ValueKind, is_inline_length};
use crate::page::node_mut::NodeMut;
use crate::page::{PageNumber, PageWrite};
use crate::tree::write::{TreeMut, check_lengths, is_underfull, overflow_at};

impl<P: PageWrite + ?Sized> TreeMut<'_, P> {
    /// Stores entries with ascending keys; gives the number of keys that were not there before.
    ///
    /// # Errors
    /// As for [`TreeMut::put`]; entries before the failed one are stored.
    pub fn put_sorted<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64, StorageError> {
        let before = self.len();
        let mut entries = entries.into_iter();
        let mut next = entries.next();
        while let Some((key, value)) = next {
            let (key, value) = (key.as_ref(), value.as_ref());
            check_lengths(key, value.len())?;
            self.locate_forward(key)?;
            self.put(key, value)?;
            next = self.fill_leaf(&mut entries)?;
        }
        Ok(self.len() - before)
    }

    /// Stores entries as long as they belong into the current leaf and fit there; gives the first
    /// that does not.
    fn fill_leaf<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        entries: &mut impl Iterator<Item = (K, V)>,
    ) -> Result<Option<(K, V)>, StorageError> {
        let Some(current) = self.state.cache.current() else {
            return Ok(entries.next());
        };
        let mut node = NodeMut::leaf(self.pages.page_mut(current.leaf)?)?;
        let mut added = 0;
        let rejected = loop {
            let Some(entry) = entries.next() else {
                break None;
            };
            let (key, value) = (entry.0.as_ref(), entry.1.as_ref());
            if !self.state.cache.current_covers(key) || !is_inline_length(key.len(), value.len()) {
                break Some(entry);
            }
            let sought = SearchKey::new(key);
            let place = match node.node().search_ascending(&sought) {
                Ok(at) if node.node().slot(at).is_overflow() => None,
                Ok(at) => node.replace(at, ValueKind::Inline, value.len()),
                Err(at) => {
                    let place = node.insert(at, &sought, ValueKind::Inline, value.len());
                    added += u64::from(place.is_some());
                    place
                }
            };
            let Some(place) = place else {
                break Some(entry);
            };
            place.copy_from_slice(value);
        };
        if added > 0 {
            self.count_entries(CountChange::More(added))?;
        }
        Ok(rejected)
    }

    /// Removes entries with ascending keys; gives the number of those that were there.
    ///
    /// # Errors
    /// As for [`TreeMut::put`]; entries before the failed one are removed.
    pub fn delete_sorted<K: AsRef<[u8]>>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, StorageError> {
        let before = self.len();
        let mut keys = keys.into_iter();
        let mut next = keys.next();
        while let Some(key) = next
            && !self.is_empty()
        {
            let leaf = self.locate_forward(key.as_ref())?;
            next = self.thin_leaf(leaf, key, &mut keys)?;
        }
        Ok(before - self.len())
    }

    /// Removes keys as long as they belong into `leaf`; gives the first that does not.
    fn thin_leaf<K: AsRef<[u8]>>(
        &mut self,
        leaf: PageNumber,
        key: K,
        keys: &mut impl Iterator<Item = K>,
    ) -> Result<Option<K>, StorageError> {
        let mut next = Some(key);
        let belongs = |key: &K| self.state.cache.current_covers(key.as_ref());
        let node = Node::leaf(self.pages.page(leaf)?)?;
        // A leaf without any of the keys is left untouched.
        while let Some(key) = &next
            && belongs(key)
            && node.search(&SearchKey::new(key.as_ref())).is_err()
        {
            next = keys.next();
        }
        if !next.as_ref().is_some_and(belongs) {
            return Ok(next);
        }
        let mut node = NodeMut::of(self.pages.page_mut(leaf)?);
        let mut runs: Vec<OverflowRef> = Vec::new();
        let mut removed = 0;
        while let Some(key) = &next
            && belongs(key)
        {
            if let Ok(at) = node.node().search(&SearchKey::new(key.as_ref())) {
                runs.extend(overflow_at(&node.node(), at));
                node.remove(at, at + 1);
                removed += 1;
            }
            next = keys.next();
        }
        let is_underfull = is_underfull(&node.node());
        self.count_entries(CountChange::Less(removed))?;
        for run in runs {
            self.free_overflow(Some(run))?;
        }
        if is_underfull {
            self.rebalance_leaf(leaf)?;
        }
        Ok(next)
    }

    /// Removes all entries with keys inside `bounds`; gives their number.
    ///
    /// Pages wholly inside are read, not changed. Bounds that exclude each other remove nothing.
    ///
    /// # Errors
    /// As for [`TreeMut::put`].
    pub fn delete_range<'k>(
        &mut self,
        bounds: impl RangeBounds<&'k [u8]>,
    ) -> Result<u64, StorageError> {
        let (low, high) = (bounds.start_bound().cloned(), bounds.end_bound().cloned());
        let Some(root) = self.state.root.root_page() else {
            return Ok(0);
        };
        if self
            .as_tree()
            .range((low, high))?
            .next()
            .transpose()?
            .is_none()
        {
            return Ok(0);
        }
        self.state.cache.clear();
        let (removed, is_empty) = self.cut(root, self.state.root.depth(), low, high)?;
        self.state.root.remove_entries(removed);
        if is_empty {
            self.free_page(root)?;
            self.state.root.set_root(PageNumber::NONE, 0);
            return Ok(removed);
        }
        self.shrink_root()?;
        for bound in [low, high] {
            if let Bound::Included(key) | Bound::Excluded(key) = bound
                && !self.is_empty()
            {
                self.rebalance_near(key)?;
            }
        }
        Ok(removed)
    }

    /// Removes the entries of a subtree inside the bounds; gives their number, and whether the
    /// page, which stays allocated, has nothing left.
    fn cut(
        &mut self,
        page: PageNumber,
        levels: u8,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<(u64, bool), StorageError> {
        if levels == 1 {
            return self.cut_leaf(page, low, high);
        }
        let node = Node::branch(self.pages.page(page)?)?;
        let from = match low {
            Bound::Included(key) | Bound::Excluded(key) => node.child_slot(&SearchKey::new(key)),
            Bound::Unbounded => 0,
        };
        let to = match high {
            Bound::Included(key) | Bound::Excluded(key) => node.child_slot(&SearchKey::new(key)),
            Bound::Unbounded => node.count() - 1,
        };
        let children: Vec<PageNumber> = (from..=to).map(|slot| node.child(slot)).collect();
        let mut removed = 0;
        let mut gone = from..from;
        let mut thinned = Vec::new();
        for (slot, child) in (from..=to).zip(children) {
            let child_low = if slot == from { low } else { Bound::Unbounded };
            let child_high = if slot == to { high } else { Bound::Unbounded };
            let is_whole = (child_low, child_high) == (Bound::Unbounded, Bound::Unbounded);
            let is_empty = if is_whole {
                removed += self.free_subtree(child, levels - 1)?;
                true
            } else {
                let (count, is_empty) = self.cut(child, levels - 1, child_low, child_high)?;
                removed += count;
                if is_empty {
                    self.free_page(child)?;
                } else {
                    thinned.push((slot, count));
                }
                is_empty
            };
            if is_empty {
                gone = if gone.is_empty() {
                    slot..slot + 1
                } else {
                    gone.start..slot + 1
                };
            }
        }
        for (slot, count) in thinned {
            self.count_child(page, slot, CountChange::Less(count))?;
        }
        if gone.is_empty() {
            return Ok((removed, false));
        }
        let mut node = NodeMut::of(self.pages.page_mut(page)?);
        node.remove_children(gone.start, gone.end);
        Ok((removed, node.node().count() == 0))
    }

    fn cut_leaf(
        &mut self,
        leaf: PageNumber,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<(u64, bool), StorageError> {
        let node = Node::leaf(self.pages.page(leaf)?)?;
        let position = |key: &[u8], is_behind: bool| match node.search(&SearchKey::new(key)) {
            Ok(at) => at + usize::from(is_behind),
            Err(at) => at,
        };
        let from = match low {
            Bound::Included(key) => position(key, false),
            Bound::Excluded(key) => position(key, true),
            Bound::Unbounded => 0,
        };
        let to = match high {
            Bound::Included(key) => position(key, true),
            Bound::Excluded(key) => position(key, false),
            Bound::Unbounded => node.count(),
        };
        if from >= to {
            return Ok((0, node.count() == 0));
        }
        let runs: Vec<OverflowRef> = (from..to)
            .filter_map(|slot| overflow_at(&node, slot))
            .collect();
        for run in runs {
            self.free_overflow(Some(run))?;
        }
        let mut node = NodeMut::of(self.pages.page_mut(leaf)?);
        node.remove(from, to);
        Ok(((to - from) as u64, node.node().count() == 0))
    }

    /// Looks after the leaf that `key` belongs into, and the pages above it.
    fn rebalance_near(&mut self, key: &[u8]) -> Result<(), StorageError> {
        for height in 0..usize::from(self.state.root.depth()) {
            let leaf = self.locate(key)?;
            let path = self
                .state
                .cache
                .current()
                .map(|leaf| leaf.path)
                .unwrap_or_default();
            let Some(level) = path.len().checked_sub(height) else {
                break;
            };
            let page = if height == 0 {
                leaf
            } else {
                path.step(level).0
            };
            self.rebalance(&path, level, page)?;
        }
        Ok(())
    }
}

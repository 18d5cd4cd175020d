//! The leaves a writer used last, so that neighboring keys need no descent.
//!
//! [`TreeMut`](crate::tree::TreeMut) looks here before it descends; a loader of ascending keys
//! descends once per leaf instead of once per key.
//!
//! Invariants:
//! - Every change of a branch page clears the cache, so bounds and paths in it are right.

use crate::page::key::leading_word;
use crate::page::{Key, PageNumber};
use crate::tree::path::Path;

/// Leaves remembered: loads of a few interleaved ascending sequences still hit.
const LEAVES_MAX: usize = 8;

/// One remembered leaf.
#[derive(Clone, Debug)]
pub(crate) struct CachedLeaf {
    pub(crate) leaf: PageNumber,
    pub(crate) path: Path,
    /// Keys of the leaf are not less.
    low: Option<Vec<u8>>,
    /// Keys of the leaf are less.
    high: Option<Vec<u8>>,
    /// Leading word of `low`; in a fixed tree the least key.
    low_word: u64,
    /// Leading word of `high`; in a fixed tree the greatest key.
    high_word: u64,
    is_last: bool,
}

impl CachedLeaf {
    /// Whether `key`, whose leading word is `word`, belongs into the leaf.
    #[inline]
    pub(crate) fn covers(&self, key: &[u8], word: u64) -> bool {
        if self.low_word < word && word < self.high_word {
            return true;
        }
        if word < self.low_word || word > self.high_word {
            return false;
        }
        self.low.as_deref().is_none_or(|low| low <= key)
            && self.high.as_deref().is_none_or(|high| key < high)
    }

    /// Whether `key` belongs into the leaf.
    #[inline]
    pub(crate) fn covers_key(&self, key: &[u8]) -> bool {
        self.covers(key, leading_word(key))
    }

    /// Whether no leaf follows.
    #[inline]
    pub(crate) fn is_last(&self) -> bool {
        self.is_last
    }

    #[inline]
    fn covers_number(&self, key: u64) -> bool {
        (self.low_word..=self.high_word).contains(&key)
    }
}

/// The leaves a writer used last.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeafCache {
    leaves: Vec<CachedLeaf>,
    /// Leaves from this position on are out of date.
    len: usize,
    current: usize,
}

impl LeafCache {
    /// Forgets all leaves.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// The leaf that covers `key`, which then is the current one.
    #[inline]
    pub(crate) fn find(&mut self, key: &[u8]) -> Option<PageNumber> {
        self.current = self.position(key)?;
        Some(self.leaves[self.current].leaf)
    }

    /// The leaf that covers `key`.
    #[inline]
    pub(crate) fn peek(&self, key: &[u8]) -> Option<PageNumber> {
        Some(self.leaves[self.position(key)?].leaf)
    }

    #[inline]
    fn position(&self, key: &[u8]) -> Option<usize> {
        let word = leading_word(key);
        let leaves = &self.leaves[..self.len];
        if leaves.get(self.current)?.covers(key, word) {
            return Some(self.current);
        }
        leaves.iter().position(|leaf| leaf.covers(key, word))
    }

    /// The leaf found or added last, unless forgotten.
    #[inline]
    pub(crate) fn current(&self) -> Option<&CachedLeaf> {
        self.leaves[..self.len].get(self.current)
    }

    /// As `find`, for a fixed tree.
    #[inline]
    pub(crate) fn find_number(&mut self, key: u64) -> Option<PageNumber> {
        let leaves = &self.leaves[..self.len];
        if !leaves.get(self.current)?.covers_number(key) {
            self.current = leaves.iter().position(|leaf| leaf.covers_number(key))?;
        }
        Some(leaves[self.current].leaf)
    }

    /// Adds a leaf, in place of another when full; it is the current one.
    #[inline]
    pub(crate) fn add(
        &mut self,
        leaf: PageNumber,
        path: &Path,
        low: Option<Key<'_>>,
        high: Option<Key<'_>>,
    ) {
        let slot = self.next_slot(leaf, path);
        set_bound(&mut slot.low, low);
        set_bound(&mut slot.high, high);
        slot.low_word = slot.low.as_deref().map_or(0, leading_word);
        slot.high_word = slot.high.as_deref().map_or(u64::MAX, leading_word);
        slot.is_last = slot.high.is_none();
    }

    /// As `add`, for a fixed tree.
    #[inline]
    pub(crate) fn add_numbers(
        &mut self,
        leaf: PageNumber,
        path: &Path,
        low: Option<u64>,
        high: Option<u64>,
    ) {
        let slot = self.next_slot(leaf, path);
        slot.low_word = low.unwrap_or(0);
        slot.high_word = high.map_or(u64::MAX, |high| high.saturating_sub(1));
        slot.is_last = high.is_none();
    }

    #[inline]
    fn next_slot(&mut self, leaf: PageNumber, path: &Path) -> &mut CachedLeaf {
        self.current = if self.len < LEAVES_MAX {
            self.len += 1;
            self.len - 1
        } else {
            (self.current + 1) % LEAVES_MAX
        };
        if self.current == self.leaves.len() {
            self.leaves.push(CachedLeaf {
                leaf,
                path: *path,
                low: None,
                high: None,
                low_word: 0,
                high_word: 0,
                is_last: false,
            });
        }
        let slot = &mut self.leaves[self.current];
        slot.leaf = leaf;
        slot.path = *path;
        slot
    }
}

#[inline]
fn set_bound(bound: &mut Option<Vec<u8>>, key: Option<Key<'_>>) {
    match key {
        Some(key) => key.copy_to(bound.get_or_insert_default()),
        None => *bound = None,
    }
}

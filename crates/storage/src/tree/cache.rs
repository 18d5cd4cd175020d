//! The leaves a writer used last, so that neighboring keys need no descent.
//!
//! [`TreeMut`](crate::tree::TreeMut) looks here before it descends; a loader of ascending keys
//! descends twice per leaf instead of once per key.
//!
//! Invariants:
//! - Every change of a branch page clears the cache, so bounds and paths in it are right.
//! - The bounds of a leaf are copied when a descent ends there a second time: writers that jump
//!   about do not pay for them.

use crate::page::PageNumber;
use crate::page::key::leading_word;
use crate::page::node::Node;
use crate::tree::path::Path;

/// Leaves remembered: loads of a few interleaved ascending sequences still hit.
const LEAVES_MAX: usize = 8;

/// Separators between which all keys of a leaf lie, by branch page and slot: the first included,
/// the second not.
pub(crate) type Bounds<'p> = (Option<(Node<'p>, usize)>, Option<(Node<'p>, usize)>);

/// One remembered leaf.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedLeaf {
    pub(crate) leaf: PageNumber,
    pub(crate) path: Path,
    /// Whether no leaf follows.
    pub(crate) is_last: bool,
    low: Vec<u8>,
    high: Vec<u8>,
}

/// The leaves a writer used last.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeafCache {
    /// Leading words of the bounds; in a fixed tree the least and the greatest key. The first is
    /// greater than the second while bounds are unknown.
    words: [(u64, u64); LEAVES_MAX],
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

    /// The leaf found or added last, unless forgotten.
    #[inline]
    pub(crate) fn current(&self) -> Option<&CachedLeaf> {
        self.leaves[..self.len].get(self.current)
    }

    /// Whether `key` belongs into the current leaf; false while its bounds are unknown.
    #[inline]
    pub(crate) fn current_covers(&self, key: &[u8]) -> bool {
        self.current < self.len && self.covers(self.current, key, leading_word(key))
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
        if self.current < self.len && self.covers(self.current, key, word) {
            return Some(self.current);
        }
        (0..self.len).find(|&at| self.covers(at, key, word))
    }

    #[inline]
    fn covers(&self, at: usize, key: &[u8], word: u64) -> bool {
        let (low, high) = self.words[at];
        if low < word && word < high {
            return true;
        }
        if word < low || word > high {
            return false;
        }
        let leaf = &self.leaves[at];
        leaf.low.as_slice() <= key && (leaf.is_last || key < leaf.high.as_slice())
    }

    /// As `find`, for a fixed tree.
    #[inline]
    pub(crate) fn find_number(&mut self, key: u64) -> Option<PageNumber> {
        let covers = |at: usize| (self.words[at].0..=self.words[at].1).contains(&key);
        if self.current >= self.len || !covers(self.current) {
            self.current = (0..self.len).find(|&at| covers(at))?;
        }
        Some(self.leaves[self.current].leaf)
    }

    /// Makes a leaf the current one, in place of another when the cache is full. Its bounds are
    /// stored when it was there before, or when `with_bounds` says so.
    #[inline]
    pub(crate) fn add(
        &mut self,
        leaf: PageNumber,
        path: &Path,
        (low, high): Bounds<'_>,
        with_bounds: bool,
    ) {
        let was_there = self.place(leaf, path);
        let slot = &mut self.leaves[self.current];
        slot.is_last = high.is_none();
        if was_there || with_bounds {
            copy_bound(&mut slot.low, low);
            copy_bound(&mut slot.high, high);
            let high_word = if slot.is_last {
                u64::MAX
            } else {
                leading_word(&slot.high)
            };
            self.words[self.current] = (leading_word(&slot.low), high_word);
        }
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
        self.place(leaf, path);
        self.leaves[self.current].is_last = high.is_none();
        self.words[self.current] = (
            low.unwrap_or(0),
            high.map_or(u64::MAX, |high| high.saturating_sub(1)),
        );
    }

    /// Makes a leaf the current one, with bounds unknown; true when it was there before.
    #[inline]
    fn place(&mut self, leaf: PageNumber, path: &Path) -> bool {
        let known = self.leaves[..self.len]
            .iter()
            .position(|known| known.leaf == leaf);
        self.current = match known {
            Some(at) => at,
            None if self.len < LEAVES_MAX => {
                self.len += 1;
                self.len - 1
            }
            None => (self.current + 1) % LEAVES_MAX,
        };
        if self.current == self.leaves.len() {
            self.leaves.push(CachedLeaf::default());
        }
        let slot = &mut self.leaves[self.current];
        slot.leaf = leaf;
        slot.path = *path;
        self.words[self.current] = (u64::MAX, 0);
        known.is_some()
    }
}

#[inline]
fn copy_bound(bound: &mut Vec<u8>, separator: Option<(Node<'_>, usize)>) {
    match separator {
        Some((node, slot)) => node.key(slot).copy_to(bound),
        None => bound.clear(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::node_mut::NodeMut;
    use crate::page::{Page, PageKind};

    /// A branch whose separators are `keys`, from slot 1 on.
    fn branch(keys: &[&[u8]]) -> Box<Page> {
        let mut page = Page::zeroed();
        let mut node = NodeMut::create(&mut page, PageKind::Branch, &[]);
        assert!(node.insert_child(0, &[], PageNumber(100)));
        for (at, key) in keys.iter().enumerate() {
            assert!(node.insert_child(at + 1, key, PageNumber(at as u64)));
        }
        page
    }

    #[test]
    fn a_leaf_is_found_by_its_keys_from_the_second_time_on() {
        let page = branch(&[b"users/100", b"users/200"]);
        let node = Node::of(&page);
        let mut cache = LeafCache::default();
        let bounds = (Some((node, 1)), Some((node, 2)));
        cache.add(PageNumber(7), &Path::default(), bounds, false);
        assert_eq!(cache.find(b"users/150"), None);
        assert_eq!(cache.current().map(|leaf| leaf.leaf), Some(PageNumber(7)));
        cache.add(PageNumber(7), &Path::default(), bounds, false);
        for (sought, found) in [
            (&b"users/100"[..], true),
            (b"users/1999", true),
            (b"users/200", false),
            (b"users/10", false),
            (b"users/2", true),
            (b"users/3", false),
            (b"zebra", false),
            (b"", false),
        ] {
            assert_eq!(cache.find(sought).is_some(), found, "{sought:?}");
        }
        cache.clear();
        assert_eq!(cache.find(b"users/150"), None);
        assert!(cache.current().is_none() && !cache.current_covers(b"users/150"));
    }

    #[test]
    fn outermost_leaves_have_no_bound() {
        let page = branch(&[b"b"]);
        let separator = Some((Node::of(&page), 1));
        let mut cache = LeafCache::default();
        cache.add(PageNumber(1), &Path::default(), (None, separator), true);
        cache.add(PageNumber(2), &Path::default(), (separator, None), true);
        assert_eq!(cache.peek(b""), Some(PageNumber(1)));
        assert_eq!(cache.peek(b"azzzzzzzzz"), Some(PageNumber(1)));
        assert_eq!(cache.peek(b"b"), Some(PageNumber(2)));
        assert_eq!(cache.peek(&[255; 20]), Some(PageNumber(2)));
    }

    #[test]
    fn eight_interleaved_leaves_stay() {
        let mut cache = LeafCache::default();
        for round in 0..3 {
            for n in 0..LEAVES_MAX as u64 {
                let found = cache.find_number(n * 10 + round);
                assert_eq!(found.is_some(), round > 0);
                if found.is_none() {
                    let (low, high) = (Some(n * 10), Some(n * 10 + 10));
                    cache.add_numbers(PageNumber(n + 1), &Path::default(), low, high);
                }
            }
        }
    }
}

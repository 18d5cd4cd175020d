//! Which ranges of a file are decrypted in memory.
//!
//! Used by `mapping` under its lock. Plain arithmetic, no memory of pages.
//!
//! Invariants:
//! - Ranges do not overlap; one that is loaded over others becomes one with them, so that what was
//!   asked for together is given up together.
//! - A read that a change of the file overlapped in time and place is told so at its end.

use std::collections::BTreeMap;
use std::ops::Range;

/// See the file head.
#[derive(Default)]
pub(super) struct Loaded {
    /// By start.
    extents: BTreeMap<u64, Extent>,
    /// Reads on their way.
    loadings: Vec<Loading>,
    next_loading: u64,
    bytes: u64,
    /// Where the next choice begins.
    hand: u64,
}

struct Extent {
    end: u64,
    /// To be given up, unless it is asked for before.
    is_chosen: bool,
}

struct Loading {
    id: u64,
    range: Range<u64>,
    is_spoiled: bool,
}

impl Loaded {
    /// Bytes of all ranges.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes that a range is wanted: what was chosen of it stays. The parts that are missing.
    pub(super) fn want(&mut self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut missing = Vec::new();
        let mut at = range.start;
        for start in self.overlapping(range) {
            let extent = self.extents.get_mut(&start).expect("just found");
            extent.is_chosen = false;
            if start > at {
                missing.push(at..start);
            }
            at = extent.end;
        }
        if at < range.end {
            missing.push(at..range.end);
        }
        missing
    }

    /// Notes that a range is loaded.
    pub(super) fn insert(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        for other in self.overlapping(&(start..end)) {
            let extent = self.extents.remove(&other).expect("just found");
            self.bytes -= extent.end - other;
            start = start.min(other);
            end = end.max(extent.end);
        }
        self.bytes += end - start;
        let is_chosen = false;
        self.extents.insert(start, Extent { end, is_chosen });
    }

    /// Forgets what overlaps, and gives the parts that were loaded. What lies beside stays.
    pub(super) fn cut(&mut self, range: &Range<u64>) -> Vec<Range<u64>> {
        let mut removed = Vec::new();
        for start in self.overlapping(range) {
            let Extent { end, is_chosen } = self.extents.remove(&start).expect("just found");
            let part = start.max(range.start)..end.min(range.end);
            if start < part.start {
                let end = part.start;
                self.extents.insert(start, Extent { end, is_chosen });
            }
            if part.end < end {
                self.extents.insert(part.end, Extent { end, is_chosen });
            }
            self.bytes -= part.end - part.start;
            removed.push(part);
        }
        removed
    }

    /// Begins a read of the file.
    pub(super) fn begin(&mut self, range: Range<u64>) -> u64 {
        let id = self.next_loading;
        self.next_loading += 1;
        let is_spoiled = false;
        self.loadings.push(Loading {
            id,
            range,
            is_spoiled,
        });
        id
    }

    /// Ends a read: whether what it read may be used.
    pub(super) fn end(&mut self, id: u64) -> bool {
        let position = self.loadings.iter().position(|loading| loading.id == id);
        position.is_some_and(|position| !self.loadings.swap_remove(position).is_spoiled)
    }

    /// A change of the file begins or ends: reads of it on their way are of no use.
    pub(super) fn spoil(&mut self, range: &Range<u64>) {
        let hit = self
            .loadings
            .iter_mut()
            .filter(|loading| loading.range.start < range.end && range.start < loading.range.end);
        hit.for_each(|loading| loading.is_spoiled = true);
    }

    /// Chooses ranges of at least so many bytes in all, in turn.
    pub(super) fn choose(&mut self, wanted_bytes: u64) -> Vec<Range<u64>> {
        let mut chosen = Vec::new();
        let mut bytes = 0;
        let hand = self.hand;
        let behind = self.extents.range(hand..).map(|(&start, _)| start);
        let before = self.extents.range(..hand).map(|(&start, _)| start);
        let in_turn: Vec<u64> = behind.chain(before).collect();
        for start in in_turn {
            if bytes >= wanted_bytes {
                break;
            }
            let extent = self.extents.get_mut(&start).expect("just listed");
            if extent.is_chosen {
                continue;
            }
            extent.is_chosen = true;
            bytes += extent.end - start;
            self.hand = extent.end;
            chosen.push(start..extent.end);
        }
        chosen
    }

    /// Forgets what was chosen and not wanted since, where `is_unused` agrees; the others stay.
    /// Adjacent ranges are given as one.
    pub(super) fn take_chosen(
        &mut self,
        is_unused: &dyn Fn(&Range<u64>) -> bool,
    ) -> Vec<Range<u64>> {
        let mut taken: Vec<Range<u64>> = Vec::new();
        self.extents.retain(|&start, extent| {
            let range = start..extent.end;
            if !std::mem::take(&mut extent.is_chosen) || !is_unused(&range) {
                return true;
            }
            self.bytes -= range.end - range.start;
            match taken.last_mut() {
                Some(last) if last.end == start => last.end = range.end,
                _ => taken.push(range),
            }
            false
        });
        taken
    }

    /// Starts of the ranges that overlap, ascending.
    fn overlapping(&self, range: &Range<u64>) -> Vec<u64> {
        let before = self.extents.range(..range.start).next_back();
        let reaches_in = before
            .filter(|(_, extent)| extent.end > range.start)
            .map(|(&start, _)| start);
        let inside = self.extents.range(range.clone()).map(|(&start, _)| start);
        reaches_in.into_iter().chain(inside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vec_of(range: Range<u64>) -> Vec<Range<u64>> {
        std::iter::once(range).collect()
    }

    #[test]
    fn a_range_over_others_becomes_one_with_them() {
        let mut loaded = Loaded::default();
        loaded.insert(0..8);
        loaded.insert(16..24);
        assert_eq!(loaded.want(&(0..32)), [8..16, 24..32]);
        loaded.insert(4..20);
        assert_eq!((loaded.bytes(), loaded.want(&(0..24))), (24, vec![]));
        assert_eq!(loaded.cut(&(8..10)), vec_of(8..10));
        assert_eq!(loaded.cut(&(23..40)), vec_of(23..24));
        assert_eq!(
            (loaded.bytes(), loaded.want(&(0..24))),
            (21, vec![8..10, 23..24])
        );
    }

    #[test]
    fn what_is_wanted_again_is_not_given_up() {
        let mut loaded = Loaded::default();
        for start in [0, 8, 16, 32] {
            loaded.insert(start..start + 8);
        }
        assert_eq!(loaded.choose(17), [0..8, 8..16, 16..24]);
        assert!(loaded.want(&(0..8)).is_empty());
        assert_eq!(loaded.take_chosen(&|_| true), vec_of(8..24));
        assert_eq!(loaded.bytes(), 16);
        // In turn: behind the last one first.
        assert_eq!(loaded.choose(1), vec_of(32..40));
        assert_eq!(loaded.take_chosen(&|_| false), []);
        assert_eq!(loaded.choose(u64::MAX), [0..8, 32..40]);
    }

    #[test]
    fn a_change_spoils_reads_that_it_overlaps() {
        let mut loaded = Loaded::default();
        let (hit, other) = (loaded.begin(0..8), loaded.begin(8..16));
        loaded.spoil(&(7..8));
        assert!(!loaded.end(hit) && loaded.end(other));
    }
}

//! Building a set from entries in any order: the union of many posting lists.
//!
//! Called for prefixes, ranges and in-lists, where millions of terms may hold one entry each.
//!
//! Invariants:
//! - Memory is bounded by the greatest entry, not by the number of additions: first a plain list,
//!   and bit maps of the windows touched as soon as the list would cost more than they do.
//!
//! Threads: one owner.

use rustc_hash::FxHashMap;

use super::EntrySet;
use super::window::{AscendingBuilder, WINDOW_BITS, WINDOW_WORDS, Words, low_bits};
use crate::EntryId;

/// A list this short is never turned into bit maps: sorting it is cheaper.
const PENDING_ENTRIES_MIN: usize = 8_192;

/// Entries a window must hold on average before bit maps replace the list.
const PENDING_PER_WINDOW: u64 = 16;

/// Collects entries in any order, repeats allowed.
pub struct SetBuilder {
    pending: Vec<u64>,
    pending_max: usize,
    /// Slot of every touched window in `words`.
    slots: FxHashMap<u64, usize>,
    words: Vec<Words>,
    /// The window looked up last: runs of additions mostly stay within one.
    last: Option<(u64, usize)>,
}

impl SetBuilder {
    /// A builder for entries of about `0..=last`; it decides when bit maps are cheaper. Greater
    /// entries are fine.
    #[must_use]
    pub fn new(last: EntryId) -> SetBuilder {
        let windows = (last.0 >> WINDOW_BITS) + 1;
        let pending_max = usize::try_from(windows.saturating_mul(PENDING_PER_WINDOW))
            .unwrap_or(usize::MAX)
            .max(PENDING_ENTRIES_MIN);
        SetBuilder {
            pending: Vec::new(),
            pending_max,
            slots: FxHashMap::default(),
            words: Vec::new(),
            last: None,
        }
    }

    /// Adds one entry.
    #[inline]
    pub fn add(&mut self, entry: EntryId) {
        self.add_number(entry.0);
    }

    #[inline]
    pub(crate) fn add_number(&mut self, entry: u64) {
        if self.words.is_empty() {
            self.pending.push(entry);
            if self.pending.len() >= self.pending_max {
                self.spill();
            }
        } else {
            self.set_bit(entry);
        }
    }

    /// Adds many entries.
    pub(crate) fn extend(&mut self, entries: &[u64]) {
        for &entry in entries {
            self.add_number(entry);
        }
    }

    #[cold]
    fn spill(&mut self) {
        for entry in std::mem::take(&mut self.pending) {
            self.set_bit(entry);
        }
    }

    fn set_bit(&mut self, entry: u64) {
        let number = entry >> WINDOW_BITS;
        let slot = match self.last {
            Some((last, slot)) if last == number => slot,
            _ => *self.slots.entry(number).or_insert_with(|| {
                self.words.push([0; WINDOW_WORDS]);
                self.words.len() - 1
            }),
        };
        self.last = Some((number, slot));
        let within = low_bits(entry);
        self.words[slot][usize::from(within >> 6)] |= 1 << (within & 63);
    }

    /// The set of all entries added.
    #[must_use]
    pub fn finish(mut self) -> EntrySet {
        if self.words.is_empty() {
            self.pending.sort_unstable();
            self.pending.dedup();
            let mut ascending = AscendingBuilder::default();
            ascending.extend(&self.pending);
            return ascending.finish();
        }
        let mut windows: Vec<(u64, usize)> = self.slots.into_iter().collect();
        windows.sort_unstable();
        let mut set = EntrySet::new();
        for (number, slot) in windows {
            set.push_words(number, &self.words[slot]);
        }
        set
    }
}

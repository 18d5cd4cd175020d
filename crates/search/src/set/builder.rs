//! Building a set from entries in any order: the union of many posting lists.
//!
//! Called for prefixes, ranges and in-lists, where millions of terms may hold one entry each.
//!
//! Invariants:
//! - Memory is bounded by the greatest entry, not by the number of additions: first a plain list,
//!   and one flat bit map as soon as the list is a quarter as large as that.
//!
//! Threads: one owner.

use super::EntrySet;
use super::window::{AscendingBuilder, WINDOW_BITS, WINDOW_WORDS, Words, low_bits};
use crate::EntryId;

/// A list this short is never turned into a bit map: sorting it is cheaper.
const PENDING_ENTRIES_MIN: usize = 512;

/// Entries for each window of the bit map that the list may have: 128 bytes for its 512.
const PENDING_PER_WINDOW: usize = 16;

/// Collects entries in any order, repeats allowed.
pub struct SetBuilder {
    /// All entries, or those beyond the bit map once there is one.
    pending: Vec<u64>,
    /// Windows that the bit map will have.
    window_count: usize,
    /// So many are pending when it is made.
    pending_max: usize,
    /// Empty until there are many entries.
    words: Vec<Words>,
}

impl SetBuilder {
    /// A builder for entries of about `0..=last`, which decides when a bit map is cheaper. Greater
    /// entries are fine, but always kept in a list.
    #[must_use]
    pub fn new(last: EntryId) -> SetBuilder {
        let window_count = usize::try_from((last.0 >> WINDOW_BITS) + 1).unwrap_or(usize::MAX);
        SetBuilder {
            pending: Vec::new(),
            pending_max: window_count
                .saturating_mul(PENDING_PER_WINDOW)
                .max(PENDING_ENTRIES_MIN),
            window_count,
            words: Vec::new(),
        }
    }

    /// Adds one entry.
    #[inline]
    pub fn add(&mut self, entry: EntryId) {
        self.add_number(entry.0);
    }

    /// Adds many entries.
    pub(crate) fn extend(&mut self, entries: &[u64]) {
        for &entry in entries {
            self.add_number(entry);
        }
    }

    #[inline]
    fn add_number(&mut self, entry: u64) {
        if !self.set_bit(entry) {
            self.pending.push(entry);
            if self.pending.len() >= self.pending_max && self.words.is_empty() {
                self.spill();
            }
        }
    }

    /// False when the bit map does not reach so far.
    #[inline]
    fn set_bit(&mut self, entry: u64) -> bool {
        let window = usize::try_from(entry >> WINDOW_BITS)
            .ok()
            .and_then(|slot| self.words.get_mut(slot));
        let Some(words) = window else {
            return false;
        };
        let within = low_bits(entry);
        words[usize::from(within >> 6)] |= 1 << (within & 63);
        true
    }

    #[inline(never)]
    fn spill(&mut self) {
        self.words = vec![[0; WINDOW_WORDS]; self.window_count];
        let pending = std::mem::take(&mut self.pending);
        for entry in pending {
            if !self.set_bit(entry) {
                self.pending.push(entry);
            }
        }
    }

    /// The set of all entries added.
    #[must_use]
    pub fn finish(mut self) -> EntrySet {
        let mut low = EntrySet::new();
        for (number, words) in (0..).zip(&self.words) {
            low.push_words(number, words);
        }
        self.pending.sort_unstable();
        self.pending.dedup();
        let mut high = AscendingBuilder::default();
        high.extend(&self.pending);
        let high = high.finish();
        match (low.is_empty(), high.is_empty()) {
            (true, _) => high,
            (_, true) => low,
            _ => low.or(&high),
        }
    }
}

//! Asking a set for many entries in turn, as they stand in a posting list.
//!
//! Called where a list is counted within a set without making a set of it.
//!
//! Invariants:
//! - Any order gives the right answer; ascending entries cost no search but at a new window.
//!
//! Threads: borrows the set.

use super::EntrySet;
use super::window::{Content, WINDOW_BITS, low_bits};

/// A set that is asked again and again.
pub struct Probe<'s> {
    set: &'s EntrySet,
    /// The window asked last, and what the set has of it.
    number: Option<u64>,
    content: Option<Content<'s>>,
}

impl EntrySet {
    /// For many questions about this set.
    #[must_use]
    pub fn probe(&self) -> Probe<'_> {
        Probe {
            set: self,
            number: None,
            content: None,
        }
    }
}

impl Probe<'_> {
    /// Whether the set has this entry.
    #[inline]
    pub(crate) fn contains(&mut self, entry: u64) -> bool {
        let number = entry >> WINDOW_BITS;
        if self.number != Some(number) {
            self.open(number);
        }
        let within = low_bits(entry);
        match self.content {
            None => false,
            Some(Content::Full) => true,
            Some(Content::Bits(words)) => words[usize::from(within >> 6)] >> (within & 63) & 1 == 1,
            Some(Content::Array(array)) => array.binary_search(&within).is_ok(),
        }
    }

    fn open(&mut self, number: u64) {
        let windows = self.set.windows();
        let slot = windows.partition_point(|window| window.number < number);
        let window = windows.get(slot).filter(|window| window.number == number);
        self.content = window.map(|window| self.set.content(window));
        self.number = Some(number);
    }

    /// How many of these entries the set has.
    pub(crate) fn count(&mut self, entries: &[u64]) -> u64 {
        let found = entries.iter().filter(|&&entry| self.contains(entry));
        found.count() as u64
    }
}

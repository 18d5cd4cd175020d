//! Walking a set in ascending order, with skips by position and by entry.
//!
//! Called for result pages: `skip_entries` passes whole windows by their counts.
//!
//! Threads: borrows the set.

use super::EntrySet;
use super::window::{Content, WINDOW_BITS, WINDOW_ENTRIES, Window};
use crate::EntryId;

/// Ascending entries of a set.
#[derive(Clone)]
pub struct Iter<'a> {
    set: &'a EntrySet,
    windows: std::slice::Iter<'a, Window>,
    base: u64,
    current: Current<'a>,
    remaining: u64,
}

#[derive(Clone)]
enum Current<'a> {
    Array(std::slice::Iter<'a, u16>),
    Bits {
        words: std::slice::Iter<'a, u64>,
        word: u64,
        word_base: u64,
    },
    Run {
        next: u64,
        end: u64,
    },
}

impl EntrySet {
    /// All entries, ascending.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            set: self,
            windows: self.windows().iter(),
            base: 0,
            current: Current::Run { next: 0, end: 0 },
            remaining: self.len(),
        }
    }

    /// Entries from `entry` on, ascending.
    #[must_use]
    pub fn iter_from(&self, entry: EntryId) -> Iter<'_> {
        let number = entry.0 >> WINDOW_BITS;
        let slot = self
            .windows()
            .partition_point(|window| window.number < number);
        let passed: u64 = self.windows()[..slot]
            .iter()
            .map(|window| u64::from(window.count))
            .sum();
        let mut iter = Iter {
            windows: self.windows()[slot..].iter(),
            remaining: self.len() - passed,
            ..self.iter()
        };
        // At most one window is walked entry by entry.
        while iter.clone().next().is_some_and(|next| next < entry) {
            iter.next();
        }
        iter
    }
}

impl Iter<'_> {
    /// Passes `count` entries. Whole windows are passed by their counts.
    #[must_use]
    pub fn skip_entries(mut self, mut count: u64) -> Self {
        while count > 0 {
            if self.current_is_empty() {
                match self.windows.as_slice().first() {
                    Some(window) if u64::from(window.count) <= count => {
                        count -= u64::from(window.count);
                        self.remaining -= u64::from(window.count);
                        self.windows.next();
                        continue;
                    }
                    Some(_) => {}
                    None => break,
                }
            }
            self.next();
            count -= 1;
        }
        self
    }

    fn current_is_empty(&self) -> bool {
        match &self.current {
            Current::Array(rest) => rest.as_slice().is_empty(),
            Current::Bits { words, word, .. } => {
                *word == 0 && words.as_slice().iter().all(|&word| word == 0)
            }
            Current::Run { next, end } => next == end,
        }
    }

    fn open_next_window(&mut self) -> Option<()> {
        let window = self.windows.next()?;
        self.base = window.number << WINDOW_BITS;
        self.current = match self.set.content(window) {
            Content::Array(array) => Current::Array(array.iter()),
            // The first step takes the first word and moves its base from -64 to 0.
            Content::Bits(words) => Current::Bits {
                words: words.iter(),
                word: 0,
                word_base: 0_u64.wrapping_sub(64),
            },
            Content::Full => Current::Run {
                next: 0,
                end: WINDOW_ENTRIES as u64,
            },
        };
        Some(())
    }

    fn next_within(&mut self) -> Option<u64> {
        match &mut self.current {
            Current::Array(rest) => rest.next().map(|&within| u64::from(within)),
            Current::Bits {
                words,
                word,
                word_base,
            } => {
                while *word == 0 {
                    *word = *words.next()?;
                    *word_base = word_base.wrapping_add(64);
                }
                let bit = u64::from(word.trailing_zeros());
                *word &= *word - 1;
                Some(*word_base + bit)
            }
            Current::Run { next, end } => {
                let within = *next;
                (within < *end).then(|| {
                    *next += 1;
                    within
                })
            }
        }
    }
}

impl Iterator for Iter<'_> {
    type Item = EntryId;

    fn next(&mut self) -> Option<EntryId> {
        loop {
            if let Some(within) = self.next_within() {
                self.remaining -= 1;
                return Some(EntryId(self.base + within));
            }
            self.open_next_window()?;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.remaining) {
            Ok(remaining) => (remaining, Some(remaining)),
            Err(_) => (usize::MAX, None),
        }
    }
}

impl<'a> IntoIterator for &'a EntrySet {
    type Item = EntryId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

//! Counts of entries that have one or all of some terms, without sets of them.
//!
//! Called for totals of words and for queries that ask for nothing else.
//!
//! Threads: as the reader.

use jackdaw_storage::PageRead;

use super::IndexReader;
use crate::catalog::FieldId;
use crate::error::IndexError;
use crate::posting::{BLOCK_ENTRIES, Postings};
use crate::term::Term;

/// A bit for each number is used when there are no more numbers for each entry of the lists.
const NUMBERS_PER_ENTRY: u64 = 64;

/// A bit for each number of the index.
struct Bits(Vec<u64>);

impl Bits {
    /// `None` when lists of so many entries together are too sparse for it.
    fn new(numbers: u64, entry_count: u64) -> Option<Bits> {
        let words = usize::try_from(numbers / 64 + 1).ok()?;
        let is_dense = numbers <= entry_count.saturating_mul(NUMBERS_PER_ENTRY);
        is_dense.then(|| Bits(vec![0; words]))
    }

    /// Adds the entries of a list; gives how many of them were there.
    fn add<P: PageRead + ?Sized>(&mut self, mut list: Postings<'_, P>) -> Result<u64, IndexError> {
        let mut known = 0;
        loop {
            for entry in list.pending() {
                let word = usize::try_from(entry / 64).ok();
                if let Some(word) = word.and_then(|word| self.0.get_mut(word)) {
                    known += *word >> (entry % 64) & 1;
                    *word |= 1 << (entry % 64);
                }
            }
            if !list.next_block()? {
                return Ok(known);
            }
        }
    }

    /// Appends the entries of a list that are here.
    fn collect<P: PageRead + ?Sized>(
        &self,
        mut list: Postings<'_, P>,
        found: &mut Vec<u64>,
    ) -> Result<(), IndexError> {
        let mut here = [0; BLOCK_ENTRIES];
        loop {
            // Written whether it is here or not, so that nothing depends on a guess.
            let mut count = 0;
            for &entry in list.pending() {
                here[count] = entry;
                count += usize::from(self.contains(entry));
            }
            found.extend_from_slice(&here[..count]);
            if !list.next_block()? {
                return Ok(());
            }
        }
    }

    #[inline]
    fn contains(&self, entry: u64) -> bool {
        let word = usize::try_from(entry / 64).ok();
        let word = word.and_then(|word| self.0.get(word));
        word.is_some_and(|word| word >> (entry % 64) & 1 == 1)
    }
}

impl<P: PageRead + ?Sized> IndexReader<'_, P> {
    /// How many entries have one of these terms, which are kept whole.
    pub(super) fn count_of_any<'a>(
        &self,
        field: FieldId,
        terms: impl IntoIterator<Item = Term<'a>> + Clone,
    ) -> Result<u64, IndexError> {
        let mut lists = Vec::new();
        for term in terms.clone() {
            lists.push(self.postings(field, term)?);
        }
        let together = lists.iter().map(Postings::entry_count).sum();
        let Some(mut bits) = Bits::new(self.catalog.counters.next_entry, together) else {
            return Ok(self.any_of(field, terms)?.possible().len());
        };
        let mut count = 0;
        for list in lists {
            count += list.entry_count();
            count -= bits.add(list)?;
        }
        Ok(count)
    }

    /// How many entries have all of these terms, which are kept whole.
    pub(super) fn count_of_all<'a>(
        &self,
        field: FieldId,
        terms: impl IntoIterator<Item = Term<'a>> + Clone,
    ) -> Result<u64, IndexError> {
        Ok(self.entries_of_all(field, terms)?.len() as u64)
    }

    /// The entries that have all of these terms, which are kept whole.
    pub(super) fn entries_of_all<'a>(
        &self,
        field: FieldId,
        terms: impl IntoIterator<Item = Term<'a>> + Clone,
    ) -> Result<Vec<u64>, IndexError> {
        let mut lists = Vec::new();
        for term in terms.clone() {
            lists.push(self.postings(field, term)?);
        }
        lists.sort_by_key(Postings::entry_count);
        let least = lists.first().map_or(0, Postings::entry_count);
        // Lists that are much longer than the shortest one are better probed.
        let numbers = self.catalog.counters.next_entry;
        let (Some(mut bits), [_, _, ..]) = (Bits::new(numbers, least), &lists[..]) else {
            let found = self.all_of(field, terms)?.possible();
            return Ok(found.iter().map(|entry| entry.0).collect());
        };
        let mut found = Vec::new();
        for (position, list) in lists.into_iter().enumerate() {
            match position {
                0 => {
                    bits.add(list)?;
                }
                1 => bits.collect(list, &mut found)?,
                _ => {
                    bits.0.fill(0);
                    bits.add(list)?;
                    found.retain(|entry| bits.contains(*entry));
                }
            }
        }
        Ok(found)
    }
}

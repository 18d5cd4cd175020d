//! Giving space back: runs of free pages become holes of the data file, and what it grew ahead is
//! cut off when it is closed.
//!
//! Done when there is time (an idle flusher, an asked-for flush, closing), since pages that are
//! freed are often used again soon.
//!
//! Invariants:
//! - Only pages that are free in the state that both slots of the meta file name become holes.
//!   Readers of older states are gone by then, and replay starts behind it.
//! - None while journal files are held: a backup then replays from an older state, in which the
//!   pages may have content.
//!
//! - None of what a transaction behind that state has written in place becomes one.
//!
//! Threads: under the flush lock.

use std::collections::{BTreeMap, BTreeSet};

use jackdaw_base::sync::Ordering;
use jackdaw_base::width::to_usize;
use jackdaw_io::AlignedBuffer;

use super::in_place::Unsettled;
use super::shared::{FlushState, Shared, lock};
use crate::page::{PAGE_BYTES, Page, PageNumber};
use crate::transaction::{GROUP_PAGES, SpaceMap};

/// Shorter runs stay: 512 KiB is large enough for a file system to be worth a hole.
const HOLE_PAGES_MIN: u64 = 64;
const WORDS_PER_GROUP: usize = (GROUP_PAGES / 64) as usize;

/// What is known of the holes of the data file.
#[derive(Default)]
pub(super) struct Holes {
    /// Groups whose space map was flushed since they were last looked at.
    changed: BTreeSet<u64>,
    /// One bit a page of a group: given back, and not used since.
    known: BTreeMap<u64, Box<[u64; WORDS_PER_GROUP]>>,
}

impl Holes {
    /// Notes that a page was flushed; the maps among them are remembered.
    pub(super) fn note_flushed(&mut self, page: PageNumber) {
        if page.0.is_multiple_of(GROUP_PAGES) {
            self.changed.insert(page.0 / GROUP_PAGES);
        }
    }
}

impl Shared {
    /// Makes holes of free pages. What fails is tried again after the next change of its group.
    pub(super) fn give_space_back(&self) {
        let mut state = lock(&self.flush);
        if self.poison().is_some() || self.journal.is_held() {
            return;
        }
        let changed = std::mem::take(&mut state.holes.changed);
        let is_clean = state.meta.is_clean;
        // The other slot may name an older state, from which replay wants what the pages held.
        if !changed.is_empty()
            && let Err(error) = self.note(&mut state, is_clean)
        {
            return self.set_poison(error);
        }
        for group in changed {
            let unsettled = self.in_place.lock();
            let _ = self.give_group_back(&mut state, group, &unsettled);
        }
    }

    fn give_group_back(
        &self,
        state: &mut FlushState,
        group: u64,
        unsettled: &Unsettled,
    ) -> std::io::Result<()> {
        let first = group * GROUP_PAGES;
        let mut bytes = AlignedBuffer::zeroed(PAGE_BYTES);
        self.data_file
            .read_at(&mut bytes, first * PAGE_BYTES as u64)?;
        let map = SpaceMap::of(Page::from_bytes(&bytes).expect("one page was read"));
        let known = state
            .holes
            .known
            .entry(group)
            .or_insert_with(|| Box::new([0; WORDS_PER_GROUP]));
        // Values that were written in place since are in pages that are free in this map.
        let is_free = |position| map.is_free(position) && !unsettled.has_page(first + position);
        let mut position = 1;
        while position < GROUP_PAGES {
            let start = position;
            let mut is_new = false;
            while position < GROUP_PAGES && is_free(position) {
                is_new |= !is_set(known, position);
                position += 1;
            }
            if position - start >= HOLE_PAGES_MIN && is_new {
                let len_bytes = (position - start) * PAGE_BYTES as u64;
                let offset = (first + start) * PAGE_BYTES as u64;
                self.data_file.punch_hole(offset, len_bytes)?;
                self.counters.bytes_given_back.add(len_bytes);
                (start..position).for_each(|page| set(known, page, true));
            }
            while position < GROUP_PAGES && !is_free(position) {
                set(known, position, false);
                position += 1;
            }
        }
        Ok(())
    }

    /// Cuts off what the data file grew ahead. For closing, when everything was flushed.
    pub(super) fn cut_growth_off(&self) {
        let state = lock(&self.flush);
        let page_count = state.meta.page_count;
        if !state.meta.is_clean || self.poison().is_some() {
            return;
        }
        if self.file_pages.load(Ordering::Relaxed) > page_count {
            // A file that stays longer is as good.
            let _ = self.data_file.set_len(page_count * PAGE_BYTES as u64);
        }
    }
}

fn is_set(words: &[u64; WORDS_PER_GROUP], position: u64) -> bool {
    words[to_usize(position / 64)] >> (position % 64) & 1 == 1
}

fn set(words: &mut [u64; WORDS_PER_GROUP], position: u64, is_hole: bool) {
    let word = &mut words[to_usize(position / 64)];
    let bit = 1 << (position % 64);
    *word = if is_hole { *word | bit } else { *word & !bit };
}

//! The data file as readers see it: bytes read through a mapping.
//!
//! Invariants (they make handing out slices of a file that is being written sound):
//! - The flusher writes a page of the file only while every registered snapshot sees a scratch
//!   version of that page, or while no tree of such a snapshot leads to it; it removes the scratch
//!   version after the write, so who is led here reads bytes that nothing writes.
//! - Only bytes that the mapping covered before its base was asked for are read.
//! - Where pages have to be loaded, one is read only after [`FileView::load`] in the same snapshot,
//!   or after its page table entry said that it was validated, which is taken back before what was
//!   loaded is given up (`environment::give_up`).
#![expect(unsafe_code, reason = "hands out slices of a mapped file")]

use std::ops::Range;
use std::sync::Arc;

use jackdaw_base::width::to_usize;
use jackdaw_io::{GiveUp, Mapping};

use super::ReaderPin;
use crate::page::{PAGE_BYTES, PageNumber};

/// See the file head.
pub(crate) struct FileView {
    mapping: Arc<dyn Mapping>,
    is_loaded_on_demand: bool,
}

impl FileView {
    pub(crate) fn new(mapping: Arc<dyn Mapping>) -> FileView {
        FileView {
            is_loaded_on_demand: mapping.is_loaded_on_demand(),
            mapping,
        }
    }

    /// The bytes of `page_count` pages from `page` on, readable from now on; `None` past the end of
    /// the file.
    pub(crate) fn load<'a>(
        &'a self,
        page: PageNumber,
        page_count: u32,
        pin: &'a ReaderPin,
    ) -> std::io::Result<Option<&'a [u8]>> {
        // Loading writes the memory: no slice of it may be there yet.
        if self.is_loaded_on_demand
            && let Some(start) = page.0.checked_mul(PAGE_BYTES as u64)
        {
            let len_bytes = u64::from(page_count) * PAGE_BYTES as u64;
            if start.saturating_add(len_bytes) <= self.mapping.covered_bytes() {
                self.mapping.load(start, len_bytes)?;
            }
        }
        Ok(self.pages(page, page_count, pin))
    }

    /// [`FileView::load`] of pages that were loaded, and found right, before.
    pub(crate) fn pages<'a>(
        &'a self,
        page: PageNumber,
        page_count: u32,
        _pin: &'a ReaderPin,
    ) -> Option<&'a [u8]> {
        let start = page.0.checked_mul(PAGE_BYTES as u64)?;
        let len_bytes = page_count as usize * PAGE_BYTES;
        let end = start.checked_add(len_bytes as u64)?;
        if end > self.mapping.covered_bytes() {
            return None;
        }
        // SAFETY: the offset lies inside what the mapping covered before this call of `base`.
        let first = unsafe { self.mapping.base().add(to_usize(start)) };
        // SAFETY: the range is covered and stays readable at this base for the life of the mapping;
        // nothing writes it while the pin lives, by the first invariant of this file.
        Some(unsafe { std::slice::from_raw_parts(first, len_bytes) })
    }

    /// Makes the file readable up to `len_bytes`.
    pub(crate) fn cover(&self, len_bytes: u64) -> std::io::Result<()> {
        self.mapping.cover(len_bytes)
    }

    /// Whether pages are read through memory of the process, into which they are loaded.
    pub(crate) fn is_loaded_on_demand(&self) -> bool {
        self.is_loaded_on_demand
    }

    /// Bytes of loaded pages beyond the budget.
    pub(crate) fn excess_bytes(&self) -> u64 {
        match self.is_loaded_on_demand {
            true => self.mapping.excess_bytes(),
            false => 0,
        }
    }

    /// Chooses loaded pages to be given up.
    pub(crate) fn choose(&self, wanted_bytes: u64) -> Vec<Range<PageNumber>> {
        let chosen = self.mapping.choose(wanted_bytes);
        chosen.iter().map(pages_of).collect()
    }

    /// Gives chosen pages up that were not loaded again and that `is_unused` does not deny.
    pub(crate) fn give_up_chosen(&self, is_unused: &dyn Fn(Range<PageNumber>) -> bool) {
        self.mapping
            .give_up_chosen(&|range| is_unused(pages_of(range)));
    }

    /// Sets who gives up loaded pages when there is no room for more; see [`Mapping::when_full`].
    pub(crate) fn when_full(&self, give_up: Option<GiveUp>) {
        self.mapping.when_full(give_up);
    }

    /// Lets go of resident pages; they come back from the page cache when touched.
    pub(crate) fn release_resident(&self) {
        self.mapping.release_resident();
    }
}

/// The pages that a range of bytes touches.
fn pages_of(range: &Range<u64>) -> Range<PageNumber> {
    let page_bytes = PAGE_BYTES as u64;
    PageNumber(range.start / page_bytes)..PageNumber(range.end.div_ceil(page_bytes))
}

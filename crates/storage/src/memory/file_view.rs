//! The data file as readers see it: bytes read through a mapping.
//!
//! Invariants (they make handing out slices of a file that is being written sound):
//! - The flusher writes a page of the file only while every registered snapshot sees a scratch
//!   version of that page, or while no tree of such a snapshot leads to it; it removes the scratch
//!   version after the write, so who is led here reads bytes that nothing writes.
//! - Only bytes that the mapping covered before its base was asked for are read.
#![expect(unsafe_code, reason = "hands out slices of a mapped file")]

use std::sync::Arc;

use jackdaw_base::width::to_usize;
use jackdaw_io::Mapping;

use super::ReaderPin;
use crate::page::{PAGE_BYTES, PageNumber};

/// See the file head.
pub(crate) struct FileView {
    mapping: Arc<dyn Mapping>,
}

impl FileView {
    pub(crate) fn new(mapping: Arc<dyn Mapping>) -> FileView {
        FileView { mapping }
    }

    /// The bytes of `page_count` pages from `page` on; `None` past the end of the file.
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

    /// Lets go of resident pages; they come back from the page cache when touched.
    pub(crate) fn release_resident(&self) {
        self.mapping.release_resident();
    }
}

//! The way from a tree's root to a leaf.
//!
//! Writers keep it to split and merge without parent pointers. Pages never move, so a path stays
//! right until a branch page changes.

use crate::error::StorageError;
use crate::page::PageNumber;

/// Levels a tree may have. Even with keys of the greatest length a branch splits to three children
/// or more, and pages with short keys hold hundreds.
pub(crate) const DEPTH_MAX: usize = 16;

/// Checks that a tree may have `depth` levels.
pub(crate) fn check_depth(depth: usize) -> Result<u8, StorageError> {
    u8::try_from(depth)
        .ok()
        .filter(|_| depth <= DEPTH_MAX)
        .ok_or(StorageError::Limit {
            what: "levels of a tree",
            max: DEPTH_MAX as u64,
        })
}

/// Branch pages from the root down, with the slot taken in each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    len: u8,
    slots: [u16; DEPTH_MAX],
    pages: [PageNumber; DEPTH_MAX],
}

impl Path {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    #[inline]
    pub(crate) fn push(&mut self, page: PageNumber, slot: usize) {
        self.pages[self.len()] = page;
        self.slots[self.len()] = crate::page::node::to_u16(slot);
        self.len += 1;
    }

    /// Forgets the levels from `len` on.
    #[inline]
    pub(crate) fn truncate(&mut self, len: usize) {
        if let Ok(len) = u8::try_from(len) {
            self.len = self.len.min(len);
        }
    }

    /// Page and slot at a level; level 0 is the root.
    #[inline]
    pub(crate) fn step(&self, level: usize) -> (PageNumber, usize) {
        debug_assert!(level < self.len());
        (self.pages[level], usize::from(self.slots[level]))
    }

    /// The lowest step.
    #[inline]
    pub(crate) fn last(&self) -> Option<(PageNumber, usize)> {
        self.len().checked_sub(1).map(|level| self.step(level))
    }
}

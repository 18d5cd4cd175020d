//! The pages of a write transaction: private copies over the committed state.
//!
//! The first change of a page copies it into a scratch frame; later ones work in place. Nothing
//! here is seen by anybody else until the transaction is sealed.
//!
//! Invariants:
//! - `dirty` holds every page whose content differs from the snapshot; runs by their first page.
//! - With savepoints set, the state before the first change after each is in its undo log.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::named::{Keeping, NOT_KEPT};
use super::savepoint::{UndoLog, UndoPage};
use super::space::SpaceSummary;
use crate::environment::Shared;
use crate::error::{DamageKind, StorageError};
use crate::memory::{OwnedFrame, ReaderPin};
use crate::page::{PAGE_BYTES, Page, PageNumber, PageRead, PageWrite};

/// Length of the checksum field, which is zero in memory.
const CHECKSUM_BYTES: usize = 8;

/// A page (or overflow run) that this transaction changed.
pub(super) struct DirtyPage {
    pub(super) frame: OwnedFrame,
    pub(super) page_count: u32,
    /// Allocated by this transaction: what the page held before does not matter.
    pub(super) is_new: bool,
    /// Transaction of the committed content, if a named snapshot sees it that has no image of it
    /// yet.
    pub(super) transaction_before: u64,
    /// Savepoint in which the content was saved (or made) last.
    pub(super) saved_in: u32,
    /// Savepoint in which it became dirty.
    pub(super) inserted_in: u32,
}

impl DirtyPage {
    /// Bytes of the journal that it can take, the image that a named snapshot needs included.
    pub(super) fn bytes(&self) -> usize {
        let images = usize::from(self.transaction_before != NOT_KEPT);
        (1 + images) * self.page_count as usize * PAGE_BYTES
    }

    /// What was done in the savepoint `inner` counts as done in the one around it.
    pub(super) fn move_outwards(&mut self, inner: u32, outer: u32) {
        for savepoint in [&mut self.saved_in, &mut self.inserted_in] {
            if *savepoint == inner {
                *savepoint = outer;
            }
        }
    }
}

/// What a [`WriteTransaction`](super::WriteTransaction) gives to its trees.
pub struct TransactionPages {
    pub(super) shared: Arc<Shared>,
    pub(super) pin: ReaderPin,
    pub(super) snapshot: u64,
    pub(super) dirty: FxHashMap<PageNumber, DirtyPage>,
    /// Pages that lost their content: freed, or now inside a run.
    pub(super) without_content: FxHashSet<PageNumber>,
    pub(super) page_count: u64,
    pub(super) space: SpaceSummary,
    /// One log a savepoint, the innermost last.
    pub(super) undo: Vec<UndoLog>,
    pub(super) savepoint_count: u32,
    pub(super) dirty_bytes: usize,
    pub(super) keeping: Keeping,
    /// New runs that are long enough to be written in place; some may have gone again.
    pub(super) long_runs: Vec<PageNumber>,
}

impl TransactionPages {
    /// Copies the committed page or run into a frame of this transaction unless that was done.
    fn make_dirty(&mut self, number: PageNumber, page_count: u32) -> Result<(), StorageError> {
        if self.dirty.contains_key(&number) {
            return self.save_for_undo(number);
        }
        let mut frame = self.shared.allocate_frame(page_count)?;
        let transaction_before = match self.committed(number, page_count) {
            Ok(bytes) => {
                let copy = self.shared.frames.owned_mut(&mut frame);
                copy.copy_from_slice(bytes);
                copy[..CHECKSUM_BYTES].fill(0);
                self.keeping.before_change(bytes)
            }
            Err(error) => {
                self.shared.frames.release(frame);
                return Err(error);
            }
        };
        self.insert(
            number,
            DirtyPage {
                frame,
                page_count,
                is_new: false,
                transaction_before,
                saved_in: 0,
                inserted_in: 0,
            },
        );
        Ok(())
    }

    /// Adds zeroed pages that were just allocated.
    pub(super) fn insert_new(
        &mut self,
        number: PageNumber,
        page_count: u32,
    ) -> Result<(), StorageError> {
        if self.dirty.contains_key(&number) {
            // Only a damaged space map gives away what this transaction uses.
            let what = DamageKind::Pointer {
                what: "a page taken twice",
                target: number.0,
            };
            return Err(StorageError::corrupt_page(number, what));
        }
        let mut frame = self.shared.allocate_frame(page_count)?;
        let bytes = self.shared.frames.owned_mut(&mut frame);
        bytes.fill(0);
        bytes[CHECKSUM_BYTES..2 * CHECKSUM_BYTES].copy_from_slice(&number.0.to_le_bytes());
        for inside in 1..u64::from(page_count) {
            self.note_without_content(PageNumber(number.0 + inside));
        }
        self.note_content(number);
        if page_count as usize * PAGE_BYTES >= self.shared.options.in_place_bytes_min {
            self.long_runs.push(number);
        }
        self.insert(
            number,
            DirtyPage {
                frame,
                page_count,
                is_new: true,
                transaction_before: NOT_KEPT,
                saved_in: 0,
                inserted_in: 0,
            },
        );
        Ok(())
    }

    fn insert(&mut self, number: PageNumber, mut page: DirtyPage) {
        page.saved_in = self.savepoint();
        page.inserted_in = page.saved_in;
        self.dirty_bytes += page.bytes();
        if let Some(undo) = self.undo.last_mut() {
            undo.pages.push((number, UndoPage::Inserted));
        }
        self.dirty.insert(number, page);
    }

    /// The page or run as this transaction found it.
    pub(super) fn committed(
        &self,
        number: PageNumber,
        page_count: u32,
    ) -> Result<&[u8], StorageError> {
        self.shared
            .committed_content(number, page_count, self.snapshot, &self.pin)
    }

    /// Forgets the content of pages that are being freed.
    fn remove(&mut self, number: PageNumber) {
        self.note_without_content(number);
        self.forget_changes(number);
    }

    /// Forgets how this transaction changed a page.
    fn forget_changes(&mut self, number: PageNumber) {
        let Some(page) = self.dirty.remove(&number) else {
            return;
        };
        self.dirty_bytes -= page.bytes();
        let is_older = page.inserted_in != self.savepoint();
        match self.undo.last_mut() {
            Some(undo) if is_older => undo.pages.push((number, UndoPage::Removed(page))),
            _ => self.shared.frames.release(page.frame),
        }
    }

    fn note_without_content(&mut self, number: PageNumber) {
        if self.without_content.insert(number)
            && let Some(undo) = self.undo.last_mut()
        {
            undo.contents.push((number, true));
        }
    }

    fn note_content(&mut self, number: PageNumber) {
        if self.without_content.remove(&number)
            && let Some(undo) = self.undo.last_mut()
        {
            undo.contents.push((number, false));
        }
    }

    /// Saves the content of a dirty page once per savepoint.
    fn save_for_undo(&mut self, number: PageNumber) -> Result<(), StorageError> {
        let savepoint = self.savepoint();
        let Some(undo) = self.undo.last_mut() else {
            return Ok(());
        };
        let page = self
            .dirty
            .get_mut(&number)
            .expect("the caller found the page");
        if page.saved_in == savepoint {
            return Ok(());
        }
        let mut copy = self.shared.allocate_frame(page.page_count)?;
        let frames = &self.shared.frames;
        frames
            .owned_mut(&mut copy)
            .copy_from_slice(frames.owned(&page.frame));
        undo.pages.push((
            number,
            UndoPage::Changed {
                copy,
                saved_in: page.saved_in,
            },
        ));
        page.saved_in = savepoint;
        Ok(())
    }

    pub(super) fn dirty_mut(&mut self, number: PageNumber) -> &mut [u8] {
        let page = self
            .dirty
            .get_mut(&number)
            .expect("made dirty by the caller");
        self.shared.frames.owned_mut(&mut page.frame)
    }
}

impl PageRead for TransactionPages {
    #[inline]
    fn page(&self, number: PageNumber) -> Result<&Page, StorageError> {
        match self.dirty.get(&number) {
            Some(dirty) => {
                let bytes = self.shared.frames.owned(&dirty.frame);
                Ok(Page::from_bytes(&bytes[..PAGE_BYTES]).expect("a frame holds whole pages"))
            }
            None => self.shared.committed_page(number, self.snapshot, &self.pin),
        }
    }

    fn run(&self, number: PageNumber, pages: u32) -> Result<&[u8], StorageError> {
        match self.dirty.get(&number) {
            Some(dirty) if dirty.page_count == pages => Ok(self.shared.frames.owned(&dirty.frame)),
            Some(_) => Err(Shared::wrong_run(number)),
            None => self
                .shared
                .committed_run(number, pages, self.snapshot, &self.pin),
        }
    }
}

impl PageWrite for TransactionPages {
    fn page_mut(&mut self, number: PageNumber) -> Result<&mut Page, StorageError> {
        self.make_dirty(number, 1)?;
        let bytes = self.dirty_mut(number);
        Ok(Page::from_bytes_mut(&mut bytes[..PAGE_BYTES]).expect("a frame holds whole pages"))
    }

    fn run_mut(&mut self, number: PageNumber, pages: u32) -> Result<&mut [u8], StorageError> {
        self.make_dirty(number, pages)?;
        let bytes = self.dirty_mut(number);
        if bytes.len() != pages as usize * PAGE_BYTES {
            return Err(Shared::wrong_run(number));
        }
        Ok(bytes)
    }

    fn allocate(&mut self, near: Option<PageNumber>) -> Result<PageNumber, StorageError> {
        let number = self.take_page(near)?;
        self.insert_new(number, 1)?;
        Ok(number)
    }

    fn allocate_run(&mut self, pages: u32) -> Result<PageNumber, StorageError> {
        if pages == 1 {
            return self.allocate(None);
        }
        let number = self.take_run(pages)?;
        self.insert_new(number, pages)?;
        Ok(number)
    }

    fn free(&mut self, number: PageNumber) -> Result<(), StorageError> {
        self.free_run(number, 1)
    }

    fn free_run(&mut self, number: PageNumber, pages: u32) -> Result<(), StorageError> {
        if self.keep_freed(number, pages)? {
            self.forget_changes(number);
            return Ok(());
        }
        self.give_back(number, pages)?;
        self.remove(number);
        Ok(())
    }
}

//! Savepoints: the changes of one operation can be taken back without those before it.
//!
//! The undo log keeps, for each page, its state before the first change after the savepoint; going
//! back applies the log from its end.

use super::pages::{DirtyPage, TransactionPages};
use crate::memory::OwnedFrame;
use crate::page::{PAGE_BYTES, PageNumber};

/// What to do to a page to go back one step.
pub(super) enum UndoPage {
    /// The page became dirty: drop the copy.
    Inserted,
    /// The content changed: put the copy back.
    Changed { copy: OwnedFrame, saved_in: u32 },
    /// The dirty page was freed: put it back.
    Removed(DirtyPage),
}

/// Everything needed to go back to a savepoint.
pub(super) struct UndoLog {
    pub(super) pages: Vec<(PageNumber, UndoPage)>,
    /// Changes of `without_content`: page, and whether it was added.
    pub(super) contents: Vec<(PageNumber, bool)>,
    /// Summaries of space groups before their first change.
    pub(super) space: super::space::SpaceUndo,
    pub(super) page_count: u64,
}

impl TransactionPages {
    /// Starts a savepoint. There is one at a time; a new one replaces the last.
    pub(super) fn set_savepoint(&mut self) {
        self.forget_savepoint();
        self.savepoint += 1;
        self.undo = Some(UndoLog {
            pages: Vec::new(),
            contents: Vec::new(),
            space: self.space.start_undo(),
            page_count: self.page_count,
        });
    }

    /// Keeps the changes since the savepoint.
    pub(super) fn forget_savepoint(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.space.forget_undo();
        for (_, page) in undo.pages {
            match page {
                UndoPage::Inserted => {}
                UndoPage::Changed { copy, .. } => self.shared.frames.release(copy),
                UndoPage::Removed(page) => self.shared.frames.release(page.frame),
            }
        }
    }

    /// Takes the changes since the savepoint back.
    pub(super) fn roll_back_to_savepoint(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        for (number, page) in undo.pages.into_iter().rev() {
            self.undo_page(number, page);
        }
        for (number, was_added) in undo.contents.into_iter().rev() {
            if was_added {
                self.without_content.remove(&number);
            } else {
                self.without_content.insert(number);
            }
        }
        self.space.undo(undo.space);
        self.page_count = undo.page_count;
    }

    fn undo_page(&mut self, number: PageNumber, undo: UndoPage) {
        match undo {
            UndoPage::Inserted => {
                if let Some(page) = self.dirty.remove(&number) {
                    self.dirty_bytes -= page.page_count as usize * PAGE_BYTES;
                    self.shared.frames.release(page.frame);
                }
            }
            UndoPage::Changed { copy, saved_in } => {
                let page = self
                    .dirty
                    .get_mut(&number)
                    .expect("changed pages are dirty");
                let changed = std::mem::replace(&mut page.frame, copy);
                page.saved_in = saved_in;
                self.shared.frames.release(changed);
            }
            UndoPage::Removed(page) => {
                self.dirty_bytes += page.page_count as usize * PAGE_BYTES;
                self.dirty.insert(number, page);
            }
        }
    }

    /// Gives all frames back; the transaction is over.
    pub(super) fn release_all(&mut self) {
        self.forget_savepoint();
        for (_, page) in self.dirty.drain() {
            self.shared.frames.release(page.frame);
        }
    }
}

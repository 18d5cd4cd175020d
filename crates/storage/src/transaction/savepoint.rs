//! Savepoints: the changes of one operation can be taken back without those before it.
//!
//! Savepoints nest: there is a stack of undo logs. A log keeps, for each page, its state before the
//! first change after its savepoint; going back applies it from its end. A log that is no longer
//! needed is appended to the one around it.

use super::pages::{DirtyPage, TransactionPages};
use super::space::SpaceUndo;
use crate::memory::OwnedFrame;
use crate::page::PageNumber;
use crate::planted::{Planted, is_planted};

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
    /// Number of the savepoint; none is used twice in a transaction.
    id: u32,
    pub(super) pages: Vec<(PageNumber, UndoPage)>,
    /// Changes of `without_content`: page, and whether it was added.
    pub(super) contents: Vec<(PageNumber, bool)>,
    space: SpaceUndo,
    page_count: u64,
    /// Runs that were freed and kept for named snapshots.
    kept_count: usize,
}

impl TransactionPages {
    /// The innermost savepoint; 0 when there is none.
    pub(super) fn savepoint(&self) -> u32 {
        self.undo.last().map_or(0, |undo| undo.id)
    }

    /// Starts a savepoint inside those that there are.
    pub(super) fn set_savepoint(&mut self) {
        self.savepoint_count += 1;
        let space = self.space.start_undo();
        self.undo.push(UndoLog {
            id: self.savepoint_count,
            pages: Vec::new(),
            contents: Vec::new(),
            space,
            page_count: self.page_count,
            kept_count: self.keeping.freed_count(),
        });
    }

    /// Keeps the changes since the innermost savepoint; from now on they are changes since the one
    /// around it.
    pub(super) fn keep_savepoint(&mut self) {
        let Some(inner) = self.undo.pop() else { return };
        let outer = self.savepoint();
        for (number, page) in inner.pages {
            if let Some(dirty) = self.dirty.get_mut(&number) {
                dirty.move_outwards(inner.id, outer);
            }
            self.keep_undo_page(outer, number, page);
        }
        match self.undo.last_mut() {
            Some(undo) => undo.contents.extend(inner.contents),
            None => self.space.forget_undo(),
        }
    }

    /// Moves one entry into the log of the savepoint `outer`, unless that knows an older state.
    fn keep_undo_page(&mut self, outer: u32, number: PageNumber, undo: UndoPage) {
        let frames = &self.shared.frames;
        match (self.undo.last_mut(), undo) {
            (Some(_), UndoPage::Changed { copy, saved_in }) if saved_in == outer => {
                frames.release(copy);
            }
            (Some(log), undo) => log.pages.push((number, undo)),
            (None, UndoPage::Inserted) => {}
            (None, UndoPage::Changed { copy, .. }) => frames.release(copy),
            (None, UndoPage::Removed(page)) => frames.release(page.frame),
        }
    }

    /// Takes the changes since the innermost savepoint back.
    pub(super) fn roll_back_to_savepoint(&mut self) {
        let Some(undo) = self.undo.pop() else { return };
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
        if self.undo.is_empty() {
            self.space.forget_undo();
        }
        self.page_count = undo.page_count;
        self.keeping.roll_back(undo.kept_count);
    }

    fn undo_page(&mut self, number: PageNumber, undo: UndoPage) {
        match undo {
            // It may have been freed since: then nothing is left of it.
            UndoPage::Inserted => {
                if let Some(page) = self.dirty.remove(&number) {
                    self.dirty_bytes -= page.bytes();
                    self.shared.frames.release(page.frame);
                }
            }
            UndoPage::Changed { copy, saved_in } => {
                if is_planted(Planted::SavepointForgets) {
                    return self.shared.frames.release(copy);
                }
                let page = self
                    .dirty
                    .get_mut(&number)
                    .expect("changed pages are dirty");
                let changed = std::mem::replace(&mut page.frame, copy);
                page.saved_in = saved_in;
                self.shared.frames.release(changed);
            }
            UndoPage::Removed(page) => {
                self.dirty_bytes += page.bytes();
                self.dirty.insert(number, page);
            }
        }
    }

    /// Gives all frames back; the transaction is over.
    pub(super) fn release_all(&mut self) {
        while !self.undo.is_empty() {
            self.keep_savepoint();
        }
        for (_, page) in self.dirty.drain() {
            self.shared.frames.release(page.frame);
        }
    }
}

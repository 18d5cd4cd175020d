//! A sealed transaction: decided, published to the next writer, not yet durable.
//!
//! The pipeline encodes it into a journal record. Its pin keeps the previous versions of its pages
//! where they are until that is done.

use crate::environment::Completion;
use crate::environment::Shared;
use crate::error::StorageError;
use crate::journal::{encode_page, encode_run};
use crate::memory::{FrameId, ReaderPin};
use crate::page::PageNumber;
use crate::tree::TreeRoot;

/// A changed page of a sealed transaction.
#[derive(Clone, Copy)]
pub(crate) struct SealedPage {
    pub(crate) number: PageNumber,
    pub(crate) frame: FrameId,
    pub(crate) page_count: u32,
    pub(crate) is_new: bool,
}

/// See the file head.
pub(crate) struct SealedTransaction {
    pub(crate) transaction: u64,
    /// By page number; markers of pages without content are not among them.
    pub(crate) pages: Vec<SealedPage>,
    /// Pages with a version or marker in the page table, for the flusher.
    pub(crate) published: Vec<(PageNumber, FrameId)>,
    pub(crate) page_count: u64,
    pub(crate) catalog_root: TreeRoot,
    pub(crate) operation_count: u32,
    pub(crate) reserved_journal_bytes: u64,
    pub(crate) pin: ReaderPin,
    /// Who waits for the outcome.
    pub(crate) completions: Vec<Completion>,
}

impl SealedTransaction {
    /// Encodes the page differences against the previous transaction.
    pub(crate) fn encode(
        &self,
        shared: &Shared,
        payload: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        let mut last = 0;
        for page in &self.pages {
            let current = shared.frames.published(page.frame, &self.pin);
            let delta = page.number.0 - last;
            last = page.number.0;
            let snapshot = self.transaction - 1;
            if page.page_count == 1 {
                let previous = match page.is_new {
                    true => None,
                    false => Some(shared.committed_page(page.number, snapshot, &self.pin)?),
                };
                let previous = previous.map(|page| page.bytes().as_slice());
                encode_page(delta, previous, current, payload);
            } else {
                let previous = match page.is_new {
                    true => None,
                    false => Some(shared.committed_run(
                        page.number,
                        page.page_count,
                        snapshot,
                        &self.pin,
                    )?),
                };
                encode_run(delta, previous, current, payload);
            }
        }
        Ok(())
    }
}

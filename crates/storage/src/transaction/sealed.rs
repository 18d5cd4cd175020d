//! A sealed transaction: decided, published to the next writer, not yet durable.
//!
//! The pipeline encodes it into a journal record. Its pin keeps the previous versions of its pages
//! where they are until that is done.

use crate::environment::Completion;
use crate::environment::Shared;
use crate::error::StorageError;
use crate::journal::{PayloadSource, encode_in_place, encode_page, encode_run};
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
    /// Checksum of a value that goes to its place in the data file before the record is written.
    pub(crate) in_place: Option<u64>,
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

/// Encodes the page differences of a sealed transaction against the one before.
pub(crate) struct SealedEncoder<'a> {
    shared: &'a Shared,
    sealed: &'a SealedTransaction,
    next: usize,
    last_page: u64,
}

impl SealedTransaction {
    /// Values that go to their place in the data file.
    pub(crate) fn in_place(&self) -> impl Iterator<Item = SealedPage> + '_ {
        let pages = self.pages.iter().copied();
        pages.filter(|page| page.in_place.is_some())
    }

    /// Its page differences, to be encoded one after the other.
    pub(crate) fn encoder<'a>(&'a self, shared: &'a Shared) -> SealedEncoder<'a> {
        SealedEncoder {
            shared,
            sealed: self,
            next: 0,
            last_page: 0,
        }
    }
}

impl SealedEncoder<'_> {
    fn encode(&self, page: &SealedPage, out: &mut Vec<u8>) -> Result<(), StorageError> {
        let (shared, pin) = (self.shared, &self.sealed.pin);
        let current = shared.frames.published(page.frame, pin);
        let delta = page.number.0 - self.last_page;
        let snapshot = self.sealed.transaction - 1;
        if let Some(checksum) = page.in_place {
            encode_in_place(delta, page.page_count, checksum, out);
        } else if page.page_count == 1 {
            let previous = match page.is_new {
                true => None,
                false => Some(shared.committed_page(page.number, snapshot, pin)?),
            };
            let previous = previous.map(|page| page.bytes().as_slice());
            encode_page(delta, previous, current, out);
        } else {
            let (number, page_count) = (page.number, page.page_count);
            let previous = match page.is_new {
                true => None,
                false => Some(shared.committed_run(number, page_count, snapshot, pin)?),
            };
            encode_run(delta, previous, current, out);
        }
        Ok(())
    }
}

impl PayloadSource for SealedEncoder<'_> {
    fn encode_some(
        &mut self,
        wanted_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, StorageError> {
        while let Some(page) = self.sealed.pages.get(self.next) {
            if out.len() >= wanted_bytes {
                return Ok(true);
            }
            self.encode(page, out)?;
            self.last_page = page.number.0;
            self.next += 1;
        }
        Ok(false)
    }
}

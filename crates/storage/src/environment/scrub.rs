//! Scrubbing: reading what the data file holds again, a little at a time, past the system's cache.
//!
//! Reads and checks find damage when somebody asks for the page; scrubbing finds it while a backup
//! or another copy may still be whole. Called now and then by whoever owns the environment, with
//! as many bytes as the disk can spare.
//!
//! Invariants:
//! - Only pages whose content the step's snapshot reads from the data file are judged: nothing
//!   writes them while it is open.

use std::sync::Arc;

use jackdaw_base::width::to_usize;
use jackdaw_io::{AlignedBuffer, OpenMode, OpenOptions, VfsFile};

use super::check::is_free;
use super::shared::{Shared, lock};
use crate::error::{Damage, StorageError};
use crate::memory::Location;
use crate::page::{PAGE_BYTES, Page, PageKind, PageNumber, run_page_count};
use crate::transaction::{GROUP_PAGES, ReadTransaction};

/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// What a call of [`Environment::scrub`](super::Environment::scrub) did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ScrubStep {
    /// Pages that were read and validated.
    pub pages: u64,
    /// Damaged places among them.
    pub damages: Vec<Damage>,
    /// Whether the end of the data file was reached; the next call begins at its start.
    pub is_pass_done: bool,
}

/// Where the next step begins.
#[derive(Default)]
pub(super) struct ScrubPosition {
    page: u64,
    /// Snapshot in which a page or run starts there.
    transaction: u64,
}

/// The data file, read past the cache.
struct ScrubReader {
    file: Arc<dyn VfsFile>,
    len_bytes: u64,
    chunk: AlignedBuffer,
    chunk_start: u64,
    bytes_read: u64,
}

impl ScrubReader {
    /// Bytes of pages; `None` behind the end of the file.
    fn pages(&mut self, first: u64, page_count: u64) -> std::io::Result<Option<&[u8]>> {
        let start = first * PAGE_BYTES as u64;
        let len_bytes = to_usize(page_count) * PAGE_BYTES;
        let whole_bytes = self.len_bytes / PAGE_BYTES as u64 * PAGE_BYTES as u64;
        if start + len_bytes as u64 > whole_bytes {
            return Ok(None);
        }
        let end_of_chunk = self.chunk_start + self.chunk.len() as u64;
        if start < self.chunk_start || start + len_bytes as u64 > end_of_chunk {
            let wanted = len_bytes.max(READ_BYTES).min(to_usize(whole_bytes - start));
            self.chunk.resize(wanted);
            self.chunk_start = start;
            if let Err(error) = self.file.read_at(&mut self.chunk, start) {
                self.chunk.clear();
                return Err(error);
            }
            self.bytes_read += wanted as u64;
        }
        let at = to_usize(start - self.chunk_start);
        Ok(self.chunk.get(at..at + len_bytes))
    }
}

impl Shared {
    /// See [`Environment::scrub`](super::Environment::scrub).
    pub(super) fn scrub(self: &Arc<Self>, bytes_max: u64) -> Result<ScrubStep, StorageError> {
        let mut next = lock(&self.scrub_next);
        let snapshot = ReadTransaction::begin(self)?;
        let path = self.directory.join(Damage::DATA_FILE);
        let io = |source| StorageError::io(&path, "scrub", source);
        let options = OpenOptions {
            mode: OpenMode::Read,
            direct: true,
        };
        let file = self.vfs.open(&path, options).map_err(io)?;
        let mut reader = ScrubReader {
            len_bytes: file.len_bytes().map_err(io)?,
            file,
            chunk: AlignedBuffer::new(),
            chunk_start: 0,
            bytes_read: 0,
        };
        let mut step = ScrubStep::default();
        let mut number = match next.transaction == snapshot.id().0 {
            true => next.page,
            false => self.start_of_page(&snapshot, next.page),
        };
        let mut is_behind_damage = false;
        while number < snapshot.page_count() && reader.bytes_read < bytes_max {
            let is_map = number.is_multiple_of(GROUP_PAGES);
            if !is_map && is_free(&snapshot, number) != Some(false) {
                // Under a damaged map nobody knows; the map itself is reported.
                number += 1;
                continue;
            }
            let (page_count, damage) = self.scrub_place(&mut reader, &snapshot, number)?;
            match damage {
                // What follows a damaged first page of a run has no header of its own.
                Some((damage, names_itself)) => {
                    if names_itself || !is_behind_damage {
                        step.damages.push(damage);
                    }
                    is_behind_damage = true;
                }
                None => is_behind_damage = false,
            }
            step.pages += page_count;
            number += page_count;
        }
        step.is_pass_done = number >= snapshot.page_count();
        *next = ScrubPosition {
            page: if step.is_pass_done { 0 } else { number },
            transaction: snapshot.id().0,
        };
        self.counters.pages_scrubbed.add(step.pages);
        self.counters.scrub_passes.add(step.is_pass_done.into());
        self.counters.scrub_damages.add(step.damages.len() as u64);
        Ok(step)
    }

    /// Validates the page or run that starts at `number` unless its content is in memory: how many
    /// pages it has, and the damage with whether the page carries its own number.
    fn scrub_place(
        &self,
        reader: &mut ScrubReader,
        snapshot: &ReadTransaction,
        number: u64,
    ) -> Result<(u64, Option<(Damage, bool)>), StorageError> {
        let page = PageNumber(number);
        if let Location::Frame(frame) = self.table.find(page, snapshot.id().0, &self.frames) {
            return Ok((u64::from(self.frames.page_count(frame).max(1)), None));
        }
        let path = self.directory.join(Damage::DATA_FILE);
        let io = |source| StorageError::io(&path, "scrub", source);
        let Some(head) = reader.pages(number, 1).map_err(io)? else {
            return Ok((1, None));
        };
        let header = Page::from_bytes(head).expect("one whole page").header();
        let names_itself = header.page_number.get() == number;
        let is_run = header.kind == PageKind::Overflow as u8 && names_itself;
        let page_count = match is_run {
            true => u64::from(run_page_count(header.overflow_len())).min(GROUP_PAGES),
            false => 1,
        };
        let bytes = match reader.pages(number, page_count).map_err(io)? {
            Some(bytes) => bytes,
            None => return Ok((1, None)),
        };
        match self.validate(page, bytes) {
            Ok(()) => Ok((page_count, None)),
            Err(StorageError::Corrupt(damage)) => Ok((1, Some((*damage, names_itself)))),
            Err(error) => Err(error),
        }
    }

    /// Where the first page or run at or behind `number` starts: what was the start of one in the
    /// last step may be inside a run by now. Reads the headers of its group up to there.
    fn start_of_page(&self, snapshot: &ReadTransaction, number: u64) -> u64 {
        let mut start = number / GROUP_PAGES * GROUP_PAGES;
        while start < number {
            start += self.pages_from(snapshot, start);
        }
        start
    }

    /// Pages of what starts at `start`, as far as its header says.
    fn pages_from(&self, snapshot: &ReadTransaction, start: u64) -> u64 {
        let page = PageNumber(start);
        if start.is_multiple_of(GROUP_PAGES) || is_free(snapshot, start) == Some(true) {
            return 1;
        }
        if let Location::Frame(frame) = self.table.find(page, snapshot.id().0, &self.frames) {
            return u64::from(self.frames.page_count(frame).max(1));
        }
        let head = self.view.load(page, 1, snapshot.pin()).ok().flatten();
        let header = head.map(|head| Page::from_bytes(head).expect("one whole page").header());
        header
            .filter(|header| {
                header.kind == PageKind::Overflow as u8 && header.page_number.get() == start
            })
            .map_or(1, |header| {
                u64::from(run_page_count(header.overflow_len())).min(GROUP_PAGES)
            })
    }
}

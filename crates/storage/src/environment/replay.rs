//! Pages on their way from the journal to the data file.
//!
//! Recovery applies the operations of every record in order; what each page has to be in the end is
//! checked against the promise of the last record that names it, whether the page was written here
//! or had been in its place before.
//!
//! Invariants:
//! - The ranges of known pages do not overlap: a page that became part of another shape is
//!   forgotten with what was promised of it.
//! - Nothing is promised that was not checked before the meta slot moves.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jackdaw_base::width::to_usize;
use jackdaw_io::{AlignedBuffer, Durability, VfsFile};
use rustc_hash::FxHashMap;

use super::recovery::UNREADABLE;
use super::shared::{CHECKSUM_BYTES, page_checksum};
use crate::error::{DamageKind, StorageError};
use crate::journal::{ByteChange, PageChange, PageOperation, result_hash};
use crate::memory::PageTable;
use crate::page::{PAGE_BYTES, PageNumber};
use crate::planted::{Planted, is_planted};
use crate::transaction::GROUP_PAGES;

/// See the file head.
pub(super) struct Replay<'a> {
    data_file: &'a dyn VfsFile,
    path: &'a Path,
    salt: u64,
    file_bytes: u64,
    /// By first page.
    pages: FxHashMap<u64, ReplayedPage>,
    /// Page counts of the runs among them, by first page.
    runs: BTreeMap<u64, u32>,
    overlay_bytes: usize,
}

struct ReplayedPage {
    page_count: u32,
    promise: Promise,
    /// `None` when the data file holds it.
    content: Option<AlignedBuffer>,
}

/// What the last record of a page says of the result.
#[derive(Clone, Copy)]
enum Promise {
    /// Low half of the hash without the checksum field.
    Result(u32),
    /// The checksum field and what it is computed from.
    InPlace(u64),
}

impl<'a> Replay<'a> {
    pub(super) fn new(
        data_file: &'a dyn VfsFile,
        path: &'a Path,
        salt: u64,
    ) -> io::Result<Replay<'a>> {
        Ok(Replay {
            data_file,
            path,
            salt,
            file_bytes: data_file.len_bytes()?,
            pages: FxHashMap::default(),
            runs: BTreeMap::new(),
            overlay_bytes: 0,
        })
    }

    /// Pages and runs that records named, but for those that became others.
    pub(super) fn page_count(&self) -> u64 {
        self.pages.len() as u64
    }

    pub(super) fn apply(&mut self, operation: &PageOperation<'_>) -> Result<(), StorageError> {
        let PageNumber(page) = operation.page;
        let is_possible = (1..=GROUP_PAGES).contains(&u64::from(operation.page_count))
            && page < PageTable::PAGES_MAX;
        if !is_possible {
            return Err(StorageError::corrupt_page(operation.page, UNREADABLE));
        }
        match operation.change {
            PageChange::Bytes(change) => self.change(page, operation.page_count, &change),
            PageChange::InPlace { checksum } => {
                self.forget_overlapping(page, operation.page_count);
                self.insert(page, operation.page_count, Promise::InPlace(checksum), None);
                Ok(())
            }
        }
    }

    fn change(
        &mut self,
        page: u64,
        page_count: u32,
        change: &ByteChange<'_>,
    ) -> Result<(), StorageError> {
        let len_bytes = page_count as usize * PAGE_BYTES;
        // Most pages change many times in a journal, in the same shape.
        let known = self.pages.get_mut(&page);
        let known = known.filter(|known| known.page_count == page_count && known.content.is_some());
        let replayed = match known {
            Some(known) => known,
            None => {
                let content = match change.is_image {
                    true => AlignedBuffer::zeroed(len_bytes),
                    false => self.read(page, len_bytes)?,
                };
                self.forget_overlapping(page, page_count);
                self.overlay_bytes += len_bytes;
                let promise = Promise::Result(change.result_hash);
                self.insert(page, page_count, promise, Some(content));
                self.pages.get_mut(&page).expect("inserted above")
            }
        };
        replayed.promise = Promise::Result(change.result_hash);
        let content = replayed.content.as_mut().expect("present or read above");
        change
            .apply(content)
            .map_err(|_| StorageError::corrupt_page(PageNumber(page), UNREADABLE))
    }

    fn insert(
        &mut self,
        page: u64,
        page_count: u32,
        promise: Promise,
        content: Option<AlignedBuffer>,
    ) {
        if page_count > 1 {
            self.runs.insert(page, page_count);
        }
        let replayed = ReplayedPage {
            page_count,
            promise,
            content,
        };
        self.pages.insert(page, replayed);
    }

    /// Forgets pages that were freed and taken again: their old content does not matter, nor what
    /// was promised of it.
    fn forget_overlapping(&mut self, page: u64, page_count: u32) {
        if is_planted(Planted::RecoveryKeepsShapes) {
            return;
        }
        let end = page + u64::from(page_count);
        let before = self.runs.range(..page).next_back();
        let reaches_in = before
            .filter(|&(start, &count)| start + u64::from(count) > page)
            .map(|(&start, _)| start);
        for start in reaches_in.into_iter().chain(page..end) {
            let Some(forgotten) = self.pages.remove(&start) else {
                continue;
            };
            self.runs.remove(&start);
            if let Some(content) = forgotten.content {
                self.overlay_bytes -= content.len();
            }
        }
    }

    fn read(&self, page: u64, len_bytes: usize) -> Result<AlignedBuffer, StorageError> {
        let mut content = AlignedBuffer::zeroed(len_bytes);
        let start = page * PAGE_BYTES as u64;
        let available = to_usize(self.file_bytes.saturating_sub(start)).min(len_bytes);
        if available > 0 {
            self.data_file
                .read_at(&mut content[..available], start)
                .map_err(|source| StorageError::io(self.path, "read", source))?;
        }
        Ok(content)
    }

    /// Writes what is held in memory if that is more than `overlay_bytes_max`.
    pub(super) fn write_if_over(&mut self, overlay_bytes_max: usize) -> Result<(), StorageError> {
        match self.overlay_bytes > overlay_bytes_max {
            true => self.write_overlay(),
            false => Ok(()),
        }
    }

    fn write_overlay(&mut self) -> Result<(), StorageError> {
        let mut numbers: Vec<u64> = self.pages.keys().copied().collect();
        numbers.sort_unstable();
        for page in numbers {
            let replayed = self.pages.get_mut(&page);
            let Some(mut content) = replayed.and_then(|replayed| replayed.content.take()) else {
                continue;
            };
            let checksum = page_checksum(self.salt, PageNumber(page), &content);
            content[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
            let start = page * PAGE_BYTES as u64;
            self.data_file
                .write_at(&content, start, Durability::None)
                .map_err(|source| StorageError::io(self.path, "write", source))?;
            self.file_bytes = self.file_bytes.max(start + content.len() as u64);
        }
        self.overlay_bytes = 0;
        Ok(())
    }

    /// Checks the final content of every page against what its last record promises.
    fn verify_all(&self) -> Result<(), StorageError> {
        let mut numbers: Vec<u64> = self.pages.keys().copied().collect();
        numbers.sort_unstable();
        for page in numbers {
            self.verify(page, &self.pages[&page])?;
        }
        Ok(())
    }

    /// Checks every page and gives those that differ from the data file, each with its bytes.
    pub(super) fn verify_and_keep(
        self,
    ) -> Result<impl Iterator<Item = (PageNumber, u32, AlignedBuffer)>, StorageError> {
        self.verify_all()?;
        let pages = self.pages.into_iter();
        Ok(pages.filter_map(|(page, replayed)| {
            Some((PageNumber(page), replayed.page_count, replayed.content?))
        }))
    }

    /// Checks every page, then makes it durable.
    pub(super) fn verify_and_write(&mut self) -> Result<(), StorageError> {
        self.verify_all()?;
        self.write_overlay()?;
        if is_planted(Planted::RecoveryWithoutSync) {
            return Ok(());
        }
        self.data_file
            .sync()
            .map_err(|source| StorageError::io(self.path, "sync", source))
    }

    fn verify(&self, page: u64, replayed: &ReplayedPage) -> Result<(), StorageError> {
        let read;
        let content = match &replayed.content {
            Some(content) => content,
            None => {
                read = self.read(page, replayed.page_count as usize * PAGE_BYTES)?;
                &read
            }
        };
        let (expected, actual) = match replayed.promise {
            Promise::Result(hash) => (u64::from(hash), u64::from(result_hash(content))),
            Promise::InPlace(checksum) => {
                let field = content.first_chunk::<CHECKSUM_BYTES>();
                let actual = page_checksum(self.salt, PageNumber(page), content);
                match field.map(|field| u64::from_le_bytes(*field)) {
                    Some(field) if field != checksum => (checksum, field),
                    _ => (checksum, actual),
                }
            }
        };
        if actual == expected {
            return Ok(());
        }
        let what = DamageKind::Checksum { expected, actual };
        Err(StorageError::corrupt_page(PageNumber(page), what))
    }
}

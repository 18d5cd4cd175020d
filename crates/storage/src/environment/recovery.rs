//! Recovery: replays the journal behind the synced position into the data file.
//!
//! Every sound record was decided; the first one that does not continue the chain and everything
//! behind it was never acknowledged. Operations hold absolute bytes, so whatever mixture of older
//! and newer sectors the data file holds, applying them in order gives the last version. Pages are
//! written and synced before the meta file moves on, so recovery may itself be interrupted and
//! started again.
//!
//! Called by `open`, before any other part of the environment exists.

use std::collections::BTreeMap;
use std::path::Path;

use jackdaw_base::width::to_usize;
use jackdaw_io::{AlignedBuffer, Durability, Vfs, VfsFile};

use super::shared::{CHECKSUM_BYTES, page_checksum};
use crate::error::{Damage, DamageKind, StorageError};
use crate::journal::{JournalReader, PageOperation, PageOperations, journal_name, result_hash};
use crate::memory::PageTable;
use crate::meta::{META_NAME, Meta};
use crate::page::{PAGE_BYTES, Page, PageNumber};
use crate::planted::{Planted, is_planted};
use crate::transaction::GROUP_PAGES;
use crate::tree::TreeRoot;

/// Bytes of the data file read at once when all of it is looked at.
const SCAN_BYTES: usize = 1 << 20;

const UNREADABLE: DamageKind = DamageKind::Encoding {
    what: "a page difference",
};

/// What opening an environment had to replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Whether the environment had been closed in order.
    pub was_clean: bool,
    /// Transactions replayed.
    pub transactions: u64,
    /// Journal bytes read for them.
    pub journal_bytes: u64,
    /// Pages rewritten.
    pub pages: u64,
    /// Nanoseconds from opening the first file to the end of replay.
    pub nanos: u64,
}

/// What recovery works on.
pub(crate) struct Places<'a> {
    /// Of the environment, for messages.
    pub(crate) directory: &'a Path,
    pub(crate) journal_directory: &'a Path,
    pub(crate) data_file: &'a dyn VfsFile,
    /// Replayed pages kept in memory before they are written.
    pub(crate) overlay_bytes_max: usize,
}

/// Replayed pages that a backup keeps in memory.
pub(crate) const OVERLAY_BYTES_MAX: usize = 256 << 20;

/// Pages on their way from the journal to the data file.
struct Replay<'a> {
    data_file: &'a dyn VfsFile,
    path: &'a Path,
    salt: u64,
    file_bytes: u64,
    /// Content by first page; ranges do not overlap.
    overlay: BTreeMap<u64, AlignedBuffer>,
    overlay_bytes: usize,
    /// Page count and hash that the last record of each page promises, by first page; ranges do not
    /// overlap, whether their content is still in the overlay or was written.
    expected: BTreeMap<u64, (u32, u32)>,
}

/// Replays and gives the meta state to go on from; its position is that of the last record. Ends
/// before the first record that `is_wanted` refuses, given its transaction and when it was written.
pub(crate) fn recover(
    vfs: &dyn Vfs,
    places: &Places<'_>,
    meta: &Meta,
    is_wanted: &dyn Fn(u64, u64) -> bool,
) -> Result<(Meta, RecoveryReport), StorageError> {
    let Places {
        directory,
        journal_directory,
        data_file,
        overlay_bytes_max,
    } = *places;
    let path = directory.join(Damage::DATA_FILE);
    let io = |source| StorageError::io(&path, "recovery", source);
    let mut replay = Replay {
        data_file,
        path: &path,
        salt: meta.salt,
        file_bytes: data_file.len_bytes().map_err(io)?,
        overlay: BTreeMap::new(),
        overlay_bytes: 0,
        expected: BTreeMap::new(),
    };
    let mut recovered = meta.clone();
    let mut report = RecoveryReport {
        was_clean: meta.is_clean,
        ..RecoveryReport::default()
    };
    let mut reader = JournalReader::new(vfs, journal_directory, meta.environment_id, meta.position);
    while let Some(record) = reader.next_record()? {
        let (transaction, written) = (record.header.transaction, record.header.unix_nanos);
        if !is_wanted(transaction.get(), written.get()) {
            break;
        }
        for operation in PageOperations::new(&record.payload) {
            let operation = operation.map_err(|_| damaged_record(&reader, UNREADABLE))?;
            replay.apply(&operation)?;
        }
        recovered.page_count = record.header.page_count.get();
        if recovered.page_count > PageTable::PAGES_MAX {
            let what = DamageKind::Count {
                what: "number of pages",
                expected: recovered.page_count,
                actual: PageTable::PAGES_MAX,
            };
            return Err(damaged_record(&reader, what));
        }
        recovered.catalog_root = TreeRoot::decode(&record.header.catalog_root)
            .map_err(|what| damaged_record(&reader, what))?;
        recovered.position = reader.position();
        report.transactions += 1;
        if is_planted(Planted::ReplayStopsEarly) && report.transactions == 3 {
            break;
        }
        if replay.overlay_bytes > overlay_bytes_max {
            replay.write_overlay()?;
        }
    }
    report.journal_bytes = reader.bytes_read();
    report.pages = replay.expected.len() as u64;
    replay.verify_and_write()?;
    Ok((recovered, report))
}

fn damaged_record(reader: &JournalReader<'_>, what: DamageKind) -> StorageError {
    let file = journal_name(reader.position().number).into();
    Damage {
        file,
        page: None,
        what,
    }
    .into()
}

impl Replay<'_> {
    fn apply(&mut self, operation: &PageOperation<'_>) -> Result<(), StorageError> {
        let PageNumber(page) = operation.page;
        let is_possible = (1..=GROUP_PAGES).contains(&u64::from(operation.page_count))
            && page < PageTable::PAGES_MAX;
        if !is_possible {
            return Err(StorageError::corrupt_page(operation.page, UNREADABLE));
        }
        let len_bytes = operation.page_count as usize * PAGE_BYTES;
        let promise = (operation.page_count, operation.result_hash);
        match self.expected.get_mut(&page) {
            // Most pages change many times in a journal, in the same shape.
            Some(before) if before.0 == operation.page_count => *before = promise,
            _ => {
                self.forget_overlapping(page, operation.page_count);
                self.expected.insert(page, promise);
            }
        }
        if !self.overlay.contains_key(&page) {
            let content = match operation.is_image {
                true => AlignedBuffer::zeroed(len_bytes),
                false => self.read(page, len_bytes)?,
            };
            self.overlay_bytes += len_bytes;
            self.overlay.insert(page, content);
        }
        let content = self.overlay.get_mut(&page).expect("inserted above");
        operation
            .apply(content)
            .map_err(|_| StorageError::corrupt_page(operation.page, UNREADABLE))
    }

    /// Forgets pages that were freed and taken again in another shape: their old content does not
    /// matter, nor what was promised of it.
    fn forget_overlapping(&mut self, page: u64, page_count: u32) {
        if is_planted(Planted::RecoveryKeepsShapes) {
            return;
        }
        let end = page + u64::from(page_count);
        let before = self.expected.range(..page).next_back();
        let reaches_in = before.filter(|&(start, &(count, _))| start + u64::from(count) > page);
        let inside = self.expected.range(page..end);
        let other_shapes: Vec<u64> = reaches_in
            .into_iter()
            .chain(inside)
            .filter(|&(&start, &(count, _))| (start, count) != (page, page_count))
            .map(|(&start, _)| start)
            .collect();
        for start in other_shapes {
            self.expected.remove(&start);
            if let Some(content) = self.overlay.remove(&start) {
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

    fn write_overlay(&mut self) -> Result<(), StorageError> {
        for (page, mut content) in std::mem::take(&mut self.overlay) {
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
    fn verify_and_write(&mut self) -> Result<(), StorageError> {
        for (&page, &(page_count, expected)) in &self.expected {
            let actual = match self.overlay.get(&page) {
                Some(content) => result_hash(content),
                None => result_hash(&self.read(page, page_count as usize * PAGE_BYTES)?),
            };
            if actual != expected {
                let what = DamageKind::Checksum {
                    expected: expected.into(),
                    actual: actual.into(),
                };
                return Err(StorageError::corrupt_page(PageNumber(page), what));
            }
        }
        self.write_overlay()?;
        if is_planted(Planted::RecoveryWithoutSync) {
            return Ok(());
        }
        self.data_file
            .sync()
            .map_err(|source| StorageError::io(self.path, "sync", source))
    }
}

/// Refuses a data file that is newer than the end of the replay: then the damaged meta slot was the
/// newer one, and the journal from the older one to there is not complete.
///
/// Only for a damaged slot: it reads the whole data file.
pub(super) fn refuse_newer_pages(
    data_file: &dyn VfsFile,
    directory: &Path,
    meta: &Meta,
) -> Result<(), StorageError> {
    let path = directory.join(Damage::DATA_FILE);
    let io = |source| StorageError::io(&path, "read", source);
    let len_bytes = data_file.len_bytes().map_err(io)?;
    let mut chunk = AlignedBuffer::zeroed(SCAN_BYTES);
    let mut start = 0;
    while start + PAGE_BYTES as u64 <= len_bytes {
        let rest = to_usize(len_bytes - start) / PAGE_BYTES * PAGE_BYTES;
        let bytes = &mut chunk[..rest.min(SCAN_BYTES)];
        data_file.read_at(bytes, start).map_err(io)?;
        let numbers = start / PAGE_BYTES as u64..;
        for (number, bytes) in numbers.map(PageNumber).zip(bytes.chunks_exact(PAGE_BYTES)) {
            let header = Page::from_bytes(bytes).expect("a whole page").header();
            let is_page = header.page_number.get() == number.0
                && header.checksum.get() == page_checksum(meta.salt, number, bytes);
            if is_page && header.transaction_id.get() > meta.position.transaction {
                let what = DamageKind::OlderCopy {
                    transaction: meta.position.transaction,
                    page: number.0,
                    newer: header.transaction_id.get(),
                };
                let file = META_NAME.into();
                let page = None;
                return Err(Damage { file, page, what }.into());
            }
        }
        start += bytes.len() as u64;
    }
    Ok(())
}

/// Refuses a replay that has ended before a transaction that was acknowledged.
pub(super) fn check_end(
    vfs: &dyn Vfs,
    journal_directory: &Path,
    recovered: &Meta,
) -> Result<(), StorageError> {
    let id = recovered.environment_id;
    let mut reader = JournalReader::new(vfs, journal_directory, id, recovered.position);
    match reader.next_record()? {
        None => reader.check_end(),
        Some(_) => Ok(()),
    }
}

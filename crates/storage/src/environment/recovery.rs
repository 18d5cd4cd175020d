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
use rustc_hash::FxHashMap;

use super::shared::{CHECKSUM_BYTES, page_checksum};
use crate::error::{Damage, DamageKind, StorageError};
use crate::journal::{JournalReader, PageOperation, PageOperations, journal_name, result_hash};
use crate::meta::Meta;
use crate::page::{PAGE_BYTES, PageNumber};
use crate::tree::TreeRoot;

/// Replayed pages kept in memory before they are written.
const OVERLAY_BYTES_MAX: usize = 256 << 20;

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

/// Pages on their way from the journal to the data file.
struct Replay<'a> {
    data_file: &'a dyn VfsFile,
    path: &'a Path,
    salt: u64,
    file_bytes: u64,
    /// Content by first page; ranges do not overlap.
    overlay: BTreeMap<u64, AlignedBuffer>,
    overlay_bytes: usize,
    /// Page count and hash that the last record of each page promises.
    expected: FxHashMap<u64, (u32, u32)>,
}

/// Replays and gives the meta state to go on from; its position is that of the last record.
pub(super) fn recover(
    vfs: &dyn Vfs,
    directory: &Path,
    journal_directory: &Path,
    data_file: &dyn VfsFile,
    meta: &Meta,
) -> Result<(Meta, RecoveryReport), StorageError> {
    let path = directory.join(Damage::DATA_FILE);
    let io = |source| StorageError::io(&path, "recovery", source);
    let mut replay = Replay {
        data_file,
        path: &path,
        salt: meta.salt,
        file_bytes: data_file.len_bytes().map_err(io)?,
        overlay: BTreeMap::new(),
        overlay_bytes: 0,
        expected: FxHashMap::default(),
    };
    let mut recovered = meta.clone();
    let mut report = RecoveryReport {
        was_clean: meta.is_clean,
        ..RecoveryReport::default()
    };
    let mut reader = JournalReader::new(vfs, journal_directory, meta.environment_id, meta.position);
    while let Some(record) = reader.next_record()? {
        for operation in PageOperations::new(&record.payload) {
            let operation = operation.map_err(|_| damaged_record(&reader, UNREADABLE))?;
            replay.apply(&operation)?;
        }
        recovered.page_count = record.header.page_count.get();
        recovered.catalog_root = TreeRoot::decode(&record.header.catalog_root)
            .map_err(|what| damaged_record(&reader, what))?;
        recovered.position = reader.position();
        report.transactions += 1;
        if replay.overlay_bytes > OVERLAY_BYTES_MAX {
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
        let len_bytes = operation.page_count as usize * PAGE_BYTES;
        self.forget_overlapping(page, operation.page_count);
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
            .map_err(|_| StorageError::corrupt_page(operation.page, UNREADABLE))?;
        self.expected
            .insert(page, (operation.page_count, operation.result_hash));
        Ok(())
    }

    /// Pages that were freed and taken again in another shape: their old content does not matter.
    fn forget_overlapping(&mut self, page: u64, page_count: u32) {
        let end = page + u64::from(page_count);
        let before = self.overlay.range(..page).next_back();
        let reaches_in = before
            .filter(|(start, content)| **start + (content.len() / PAGE_BYTES) as u64 > page)
            .map(|(start, _)| *start);
        let inside: Vec<u64> = self
            .overlay
            .range(page..end)
            .filter(|(start, content)| {
                **start != page || content.len() != page_count as usize * PAGE_BYTES
            })
            .map(|(start, _)| *start)
            .collect();
        for start in reaches_in.into_iter().chain(inside) {
            if let Some(content) = self.overlay.remove(&start) {
                self.overlay_bytes -= content.len();
            }
            self.expected.remove(&start);
        }
        // Pages already written out of the overlay are forgotten the same way.
        if page_count > 1 {
            for inside in page + 1..end {
                self.expected.remove(&inside);
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
        self.data_file
            .sync()
            .map_err(|source| StorageError::io(self.path, "sync", source))
    }
}

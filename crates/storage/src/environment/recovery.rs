//! Recovery: replays the journal behind the synced position into the data file.
//!
//! Every sound record was decided; the first one that does not continue the chain and everything
//! behind it was never acknowledged. Operations hold absolute bytes, so whatever mixture of older
//! and newer sectors the data file holds, applying them in order gives the last version. Pages are
//! written and synced before the meta file moves on, so recovery may itself be interrupted and
//! started again.
//!
//! Called by `open`, before any other part of the environment exists.

use std::path::Path;
use std::sync::mpsc;

use jackdaw_base::width::to_usize;
use jackdaw_io::{AlignedBuffer, DirectoryEntry, Vfs, VfsFile};

use super::replay::Replay;
use super::shared::page_checksum;
use crate::error::{Damage, DamageKind, StorageError};
use crate::journal::{
    JOURNAL_DIRECTORY, JOURNAL_UNIT_BYTES, JournalReader, PageOperations, ReadRecord, journal_name,
};
use crate::memory::PageTable;
use crate::meta::{META_NAME, Meta};
use crate::page::{PAGE_BYTES, Page, PageNumber};
use crate::planted::{Planted, is_planted};
use crate::tree::TreeRoot;

/// Records that are read before they are applied, and their bytes: enough for both threads.
const AHEAD_RECORDS_MAX: usize = 64;
const AHEAD_BYTES_MAX: u64 = 8 << 20;

/// Bytes of the data file read at once when all of it is looked at.
const SCAN_BYTES: usize = 1 << 20;

pub(super) const UNREADABLE: DamageKind = DamageKind::Encoding {
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

/// Replays and gives the meta state to go on from; its position is that of the last record. Ends
/// before the first record that `is_wanted` refuses, given its transaction and when it was written.
pub(crate) fn recover(
    vfs: &dyn Vfs,
    places: &Places<'_>,
    meta: &Meta,
    is_wanted: &dyn Fn(u64, u64) -> bool,
) -> Result<(Meta, RecoveryReport), StorageError> {
    let path = places.directory.join(Damage::DATA_FILE);
    let (meta, report, mut replay) = replay_journal(vfs, places, &path, meta, is_wanted)?;
    replay.verify_and_write()?;
    Ok((meta, report))
}

/// The first half of [`recover`]: applies the records of the journal. What came out of it is not
/// checked yet, nor written but for what `overlay_bytes_max` does not allow to be kept.
pub(super) fn replay_journal<'a>(
    vfs: &dyn Vfs,
    places: &Places<'a>,
    path: &'a Path,
    meta: &Meta,
    is_wanted: &dyn Fn(u64, u64) -> bool,
) -> Result<(Meta, RecoveryReport, Replay<'a>), StorageError> {
    let Places {
        journal_directory,
        data_file,
        overlay_bytes_max,
        ..
    } = *places;
    let io = |source| StorageError::io(path, "recovery", source);
    let mut replay = Replay::new(data_file, path, meta.salt).map_err(io)?;
    let mut recovered = meta.clone();
    let mut report = RecoveryReport {
        was_clean: meta.is_clean,
        ..RecoveryReport::default()
    };
    let reader = JournalReader::new(vfs, journal_directory, meta.environment_id, meta.position);
    read_ahead(reader, &mut |record| {
        let (transaction, written) = (record.header.transaction, record.header.unix_nanos);
        if !is_wanted(transaction.get(), written.get()) {
            return Ok(false);
        }
        for operation in PageOperations::new(record.payload()) {
            let operation = operation.map_err(|_| damaged_record(record, UNREADABLE))?;
            replay.apply(&operation)?;
        }
        recovered.page_count = record.header.page_count.get();
        if recovered.page_count > PageTable::PAGES_MAX {
            let what = DamageKind::Count {
                what: "number of pages",
                expected: recovered.page_count,
                actual: PageTable::PAGES_MAX,
            };
            return Err(damaged_record(record, what));
        }
        recovered.catalog_root = TreeRoot::decode(&record.header.catalog_root)
            .map_err(|what| damaged_record(record, what))?;
        recovered.position = record.end;
        report.transactions += 1;
        report.journal_bytes += record.len_bytes();
        if is_planted(Planted::ReplayStopsEarly) && report.transactions == 3 {
            return Ok(false);
        }
        replay.write_if_over(overlay_bytes_max)?;
        Ok(true)
    })?;
    report.pages = replay.page_count();
    Ok((recovered, report, replay))
}

/// Gives the records of the journal in order to `use_record` until it says `false`. Another thread
/// decodes the ones behind meanwhile; files are read here only, so that the order of reads is
/// always the same.
fn read_ahead(
    mut reader: JournalReader<'_>,
    use_record: &mut dyn FnMut(&ReadRecord) -> Result<bool, StorageError>,
) -> Result<(), StorageError> {
    let Some(first) = reader.next_undecoded()? else {
        return Ok(());
    };
    std::thread::scope(|scope| {
        let (to_decode, undecoded) = mpsc::sync_channel::<ReadRecord>(AHEAD_RECORDS_MAX);
        let (decoded, ready) = mpsc::sync_channel(AHEAD_RECORDS_MAX);
        let decode_all = move || {
            for mut record in undecoded {
                let holds = record.decode();
                if decoded.send(holds.then_some(record)).is_err() {
                    return;
                }
            }
        };
        if let Err(error) = jackdaw_io::spawn_scoped(scope, "jd-decode", decode_all) {
            let source = std::io::Error::other(error.to_string());
            return Err(StorageError::io(Path::new(""), "thread start", source));
        }
        let (mut ahead, mut ahead_bytes) = (0, 0);
        let mut next = Some(first);
        loop {
            while ahead < AHEAD_RECORDS_MAX
                && ahead_bytes < AHEAD_BYTES_MAX
                && let Some(record) = next.take()
            {
                ahead += 1;
                ahead_bytes += record.len_bytes();
                // The thread ends only after this one.
                let _ = to_decode.send(record);
                next = reader.next_undecoded()?;
            }
            if ahead == 0 {
                return Ok(());
            }
            let Ok(Some(record)) = ready.recv() else {
                return Ok(());
            };
            ahead -= 1;
            ahead_bytes -= record.len_bytes();
            if !use_record(&record)? {
                return Ok(());
            }
            reader.give_back(record);
        }
    })
}

fn damaged_record(record: &ReadRecord, what: DamageKind) -> StorageError {
    let file = journal_name(record.end.number).into();
    Damage {
        file,
        page: None,
        what,
    }
    .into()
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

/// Refuses a journal without the newest file that was started: replay would end before it.
pub(super) fn check_newest(
    vfs: &dyn Vfs,
    journal_directory: &Path,
    meta: &Meta,
) -> Result<(), StorageError> {
    if meta.newest_journal < meta.position.number {
        return Ok(());
    }
    let name = journal_name(meta.newest_journal);
    let entries = vfs
        .list(journal_directory)
        .map_err(|source| StorageError::io(journal_directory, "listing", source))?;
    let is_there =
        |entry: &DirectoryEntry| entry.name == name && entry.len_bytes >= JOURNAL_UNIT_BYTES as u64;
    if entries.iter().any(is_there) {
        return Ok(());
    }
    let file = format!("{JOURNAL_DIRECTORY}/{name}").into();
    let page = None;
    let what = DamageKind::Missing;
    Err(Damage { file, page, what }.into())
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

//! Large new values go straight to their place in the data file, once, before the journal record
//! that names their checksum.
//!
//! What makes that sound: nothing that recovery or a reader may still want can be in that place. A
//! run of pages is written in place only if each of its pages is behind the end of every earlier
//! state, or was free in the older of the two states that the meta slots name and has been ever
//! since. So no record that may be replayed changes such a page before the record of its
//! transaction, and no snapshot reads it. Decision: docs/decisions/0020-values-in-place.md.
//!
//! Invariants:
//! - A run is durable in the data file before the journal record that names it is written.
//! - None is decided on while the journal is held or archived: a copy of the data file, or of the
//!   journal alone, would lack it.
//! - From the decision until the meta slots lead past the transaction, `unsettled` names the run;
//!   nothing makes a hole of it.
//!
//! Threads: the writer decides and registers, the pipeline writes, the flusher settles.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use jackdaw_base::sync::{AtomicU64, Ordering};
use jackdaw_io::{Durability, VfsFile};

use super::shared::{Shared, lock};
use crate::error::StorageError;
use crate::memory::FrameId;
use crate::page::{PAGE_BYTES, PageNumber};
use crate::planted::{Planted, is_planted};
use crate::transaction::{SealedPage, SealedTransaction};

/// See the file head.
pub(crate) struct InPlace {
    /// The data file, opened once more: errors of writing back what the flusher wrote are then told
    /// to the flusher, whoever syncs first.
    file: Arc<dyn VfsFile>,
    unsettled: Mutex<Unsettled>,
    /// Bytes of runs that recovery would have to look at.
    unsettled_bytes: AtomicU64,
    /// The older of the transactions that the meta slots name; 0 until both were written.
    settled: AtomicU64,
}

/// Runs by first page: their page count and transaction.
#[derive(Default)]
pub(crate) struct Unsettled {
    runs: BTreeMap<u64, (u32, u64)>,
}

impl Unsettled {
    /// The page behind the last run.
    pub(crate) fn end(&self) -> u64 {
        let last = self.runs.last_key_value();
        last.map_or(0, |(&start, &(page_count, _))| {
            start + u64::from(page_count)
        })
    }

    /// Whether a page belongs to one of the runs.
    pub(super) fn has_page(&self, page: u64) -> bool {
        let run = self.runs.range(..=page).next_back();
        run.is_some_and(|(&start, &(page_count, _))| start + u64::from(page_count) > page)
    }
}

impl InPlace {
    pub(super) fn new(file: Arc<dyn VfsFile>) -> InPlace {
        InPlace {
            file,
            unsettled: Mutex::new(Unsettled::default()),
            unsettled_bytes: AtomicU64::new(0),
            settled: AtomicU64::new(0),
        }
    }

    /// Keeps runs from being decided on, and from becoming holes, until the guard is dropped.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Unsettled> {
        lock(&self.unsettled)
    }

    /// Transaction from which on nothing was, or can be, replayed.
    pub(crate) fn settled(&self) -> u64 {
        self.settled.load(Ordering::SeqCst)
    }

    /// Notes the older of the states that the meta slots name, behind which both lead.
    pub(super) fn settle(&self, transaction: u64) {
        self.settled.store(transaction, Ordering::SeqCst);
        let mut unsettled = self.lock();
        unsettled.runs.retain(|_, (_, run)| *run > transaction);
        let pages = unsettled.runs.values().map(|&(pages, _)| u64::from(pages));
        let bytes = pages.sum::<u64>() * PAGE_BYTES as u64;
        self.unsettled_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes of runs that recovery would have to look at.
    pub(super) fn unsettled_bytes(&self) -> u64 {
        self.unsettled_bytes.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Whether new values may be written in place now. Stays so while `unsettled` is locked, since
    /// backups lock it after they have begun to hold the journal.
    pub(crate) fn may_write_in_place(&self, _unsettled: &Unsettled) -> bool {
        self.options.durability == Durability::Data && !self.journal.is_kept()
    }

    /// Claims runs for values of `transaction`: room in the data file, which then covers
    /// `page_count` pages, and no hole there from now on.
    ///
    /// # Errors
    /// [`StorageError::Full`]; nothing is claimed.
    pub(crate) fn claim_in_place(
        &self,
        unsettled: &mut Unsettled,
        runs: &[(PageNumber, u32)],
        transaction: u64,
        page_count: u64,
    ) -> Result<(), StorageError> {
        self.grow_data_file(page_count)?;
        let path = self.directory.join(crate::Damage::DATA_FILE);
        for &(page, pages) in runs {
            // The pages may be a hole.
            let offset = page.0 * PAGE_BYTES as u64;
            let len_bytes = u64::from(pages) * PAGE_BYTES as u64;
            self.in_place
                .file
                .allocate(offset, len_bytes)
                .map_err(|source| StorageError::of_space(&path, "growth", source))?;
        }
        for &(page, pages) in runs {
            unsettled.runs.insert(page.0, (pages, transaction));
            let bytes = u64::from(pages) * PAGE_BYTES as u64;
            self.in_place
                .unsettled_bytes
                .fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes the values of sealed transactions that go to their place, and makes them durable.
    pub(super) fn write_in_place(&self, group: &[SealedTransaction]) -> Result<(), StorageError> {
        let runs: Vec<(&SealedTransaction, SealedPage)> = group
            .iter()
            .flat_map(|sealed| sealed.in_place().map(move |page| (sealed, page)))
            .collect();
        let path = self.directory.join(crate::Damage::DATA_FILE);
        let io = |source| StorageError::io(&path, "write", source);
        // One write can be durable by itself; several share a sync.
        let is_alone = runs.len() == 1 && !is_planted(Planted::InPlaceWithoutSync);
        let durability = match is_alone {
            true => Durability::Data,
            false => Durability::None,
        };
        for (sealed, page) in &runs {
            let bytes = self.frames.published(page.frame, &sealed.pin);
            let offset = page.number.0 * PAGE_BYTES as u64;
            self.in_place
                .file
                .write_at(bytes, offset, durability)
                .map_err(io)?;
            self.counters.in_place_bytes.add(bytes.len() as u64);
        }
        if runs.is_empty() || is_alone || is_planted(Planted::InPlaceWithoutSync) {
            return Ok(());
        }
        self.in_place.file.sync().map_err(io)
    }

    /// Lets go of the memory of values that are in their place. Their transaction is durable.
    pub(super) fn forget_in_place(&self, sealed: &SealedTransaction) {
        let versions: Vec<(PageNumber, FrameId)> = sealed
            .in_place()
            .map(|page| (page.number, page.frame))
            .collect();
        if !versions.is_empty() {
            self.forget_versions(&versions);
        }
    }
}

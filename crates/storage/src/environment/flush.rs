//! Flushing: committed pages move from scratch memory into the data file; then it is synced and
//! the journal before it is given back.
//!
//! For each page the newest version that every active snapshot may see as "in the file" is
//! written: newest at or below the horizon, which is the smaller of the last durable transaction
//! and the oldest reader.
//!
//! Invariants:
//! - Nothing above the horizon reaches the data file, but for values in pages that nothing at or
//!   below it uses (`in_place`): recovery can always rebuild from the journal.
//! - A version leaves the page table only after its bytes were written.
//! - The meta slot moves forward only after the data file was synced.
//! - Journal files are given back only when no meta slot leads to them: either slot can be opened.
//!
//! Threads: one at a time (`Shared::flush`); the flusher thread, or a committing thread in
//! environments without one.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jackdaw_base::sync::Ordering;
use jackdaw_io::{AlignedBuffer, Durability};

use super::meters::MeterKind;
use super::shared::{CHECKSUM_BYTES, FlushState, Shared, UnflushedTransaction, lock};
use crate::error::StorageError;
use crate::memory::{FrameId, Location, ReaderPin};
use crate::meta::Meta;
use crate::page::{PAGE_BYTES, PageNumber};
use crate::planted::{Planted, is_planted};

/// Adjacent pages are written together up to this size.
const WRITE_BYTES_MAX: usize = 1 << 20;
/// The data file doubles up to this step, then grows by it.
const GROWTH_PAGES_MAX: u64 = (1 << 30) / PAGE_BYTES as u64;
/// The data file starts at this length.
const GROWTH_PAGES_MIN: u64 = 64;
/// After this long without a commit everything is flushed.
const IDLE: Duration = Duration::from_secs(5);

impl Shared {
    /// Flushes what may be flushed. `false` when nothing could be.
    ///
    /// # Errors
    /// A full disk leaves everything as it was. Any other failure poisons the environment.
    pub(crate) fn flush(&self, is_closing: bool) -> Result<bool, StorageError> {
        let mut state = lock(&self.flush);
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let outcome = self.flush_locked(&mut state, is_closing);
        if let Err(error) = &outcome
            && !matches!(error, StorageError::Full)
        {
            self.set_poison(error.clone());
        }
        outcome
    }

    fn flush_locked(&self, state: &mut FlushState, is_closing: bool) -> Result<bool, StorageError> {
        let (pin, durable) = self.register_reader(|| self.visible())?;
        if self.options.durability == Durability::None {
            self.journal.sync()?;
        }
        let allowed = self.table.begin_flush(durable, &self.readers);
        let horizon = match is_planted(Planted::FlushOverReaders) {
            true => durable,
            false => allowed,
        };
        let transactions = self.take_unflushed(horizon);
        if let Some(last) = transactions.last() {
            let versions = self.newest_versions(&transactions, horizon);
            let started = self.vfs.monotonic_nanos();
            let bytes = match self.write_versions(&versions, &pin) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.put_back(transactions);
                    return Err(error);
                }
            };
            self.measured(MeterKind::DataFlush, started, bytes);
            // Before anything that these bytes are copies of is forgotten.
            self.frames
                .check_spilled()
                .map_err(|source| StorageError::io(&self.directory, "spilled memory", source))?;
            drop(pin);
            self.forget_versions(&versions);
            for (page, _) in &versions {
                state.holes.note_flushed(*page);
            }
            state.meta.position = last.position;
            state.meta.page_count = last.state.page_count;
            if !is_planted(Planted::OldRoot) {
                state.meta.catalog_root = last.state.catalog_root;
            }
        }
        if transactions.is_empty() && !is_closing {
            return Ok(false);
        }
        let is_clean = is_closing && lock(&self.sealed).unflushed.is_empty();
        let synced = state.meta.position.transaction;
        if is_planted(Planted::ReclaimBeforeMeta) {
            self.journal.reclaim(synced);
        }
        if is_planted(Planted::MetaBeforeData) {
            self.note(state, is_clean)?;
        }
        let started = self.vfs.monotonic_nanos();
        self.sync_data()?;
        self.note(state, is_clean)?;
        self.measured(MeterKind::DataSync, started, 0);
        if self.journal.can_reclaim(synced) {
            if !is_planted(Planted::OneMetaSlot) {
                self.note(state, is_clean)?;
            }
            self.journal.reclaim(synced);
        }
        self.counters.flushes.add(1);
        self.frames.give_back(self.options.scratch_bytes);
        Ok(true)
    }

    fn take_unflushed(&self, horizon: u64) -> Vec<UnflushedTransaction> {
        let mut queue = lock(&self.sealed);
        let count = queue
            .unflushed
            .partition_point(|entry| entry.transaction <= horizon);
        queue.unflushed.drain(..count).collect()
    }

    fn put_back(&self, transactions: Vec<UnflushedTransaction>) {
        let mut queue = lock(&self.sealed);
        for transaction in transactions.into_iter().rev() {
            queue.unflushed.push_front(transaction);
        }
    }

    /// The version of each changed page that goes into the file, by page number.
    fn newest_versions(
        &self,
        transactions: &[UnflushedTransaction],
        horizon: u64,
    ) -> Vec<(PageNumber, FrameId)> {
        let mut pages: Vec<PageNumber> = transactions
            .iter()
            .flat_map(|transaction| transaction.pages.iter().copied())
            .collect();
        pages.sort_unstable();
        pages.dedup();
        pages
            .into_iter()
            .filter_map(|page| match self.table.find(page, horizon, &self.frames) {
                Location::Frame(frame) => Some((page, frame)),
                Location::File { .. } => None,
            })
            .collect()
    }

    /// Makes the data file hold `page_count` pages, and the mapping with it.
    ///
    /// # Errors
    /// [`StorageError::Full`] when the disk has no room for them: nothing was changed.
    pub(crate) fn grow_data_file(&self, page_count: u64) -> Result<(), StorageError> {
        if page_count <= self.file_pages.load(Ordering::Acquire) {
            return Ok(());
        }
        let _growth = lock(&self.growth);
        let current = self.file_pages.load(Ordering::Relaxed);
        if page_count <= current {
            return Ok(());
        }
        let step = current.clamp(GROWTH_PAGES_MIN, GROWTH_PAGES_MAX);
        let wanted = page_count.max(current + step);
        let path = self.directory.join(crate::Damage::DATA_FILE);
        let grow = |pages: u64| {
            let added = (pages - current) * PAGE_BYTES as u64;
            self.data_file
                .allocate(current * PAGE_BYTES as u64, added)
                .map(|()| pages)
        };
        // A disk without room for the whole step may have room for what is needed now.
        let grown = grow(wanted)
            .or_else(|_| grow(page_count))
            .map_err(|source| StorageError::of_space(&path, "growth", source))?;
        self.view
            .cover(grown * PAGE_BYTES as u64)
            .map_err(|source| StorageError::io(&path, "mapping", source))?;
        self.file_pages.store(grown, Ordering::Release);
        Ok(())
    }

    /// Writes the versions; gives their bytes.
    fn write_versions(
        &self,
        versions: &[(PageNumber, FrameId)],
        pin: &ReaderPin,
    ) -> Result<u64, StorageError> {
        let mut bytes = 0;
        let mut buffer = AlignedBuffer::new();
        let mut start = PageNumber(0);
        for &(page, frame) in versions {
            let page_count = u64::from(self.frames.page_count(frame));
            if page_count == 0 {
                continue;
            }
            let end = start.0 + (buffer.len() / PAGE_BYTES) as u64;
            if !buffer.is_empty() && (page.0 != end || buffer.len() >= WRITE_BYTES_MAX) {
                self.write_pages(start, &buffer)?;
                buffer.clear();
            }
            if buffer.is_empty() {
                start = page;
            }
            let at = buffer.len();
            buffer.extend_from_slice(self.frames.published(frame, pin));
            let checksum = self.checksum(page, &buffer[at..]);
            buffer[at..at + CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
            self.counters.pages_flushed.add(page_count);
            bytes += page_count * PAGE_BYTES as u64;
        }
        if !buffer.is_empty() {
            self.write_pages(start, &buffer)?;
        }
        Ok(bytes)
    }

    fn write_pages(&self, first: PageNumber, bytes: &[u8]) -> Result<(), StorageError> {
        let offset = first.0 * PAGE_BYTES as u64;
        let path = || self.directory.join(crate::Damage::DATA_FILE);
        self.data_file
            .write_at(bytes, offset, Durability::None)
            // Full when the pages were a hole. They are still in memory and in the journal.
            .map_err(|source| StorageError::of_space(&path(), "write", source))?;
        // A hint: failing to start early only makes the sync later longer.
        let _ = self.data_file.start_write_back(offset, bytes.len() as u64);
        Ok(())
    }

    pub(super) fn forget_versions(&self, versions: &[(PageNumber, FrameId)]) {
        let removed = {
            let stay_readable = !self.view.is_loaded_on_demand();
            self.table
                .remove_flushed(versions, stay_readable, &self.frames)
        };
        let epoch = self.readers.next_epoch();
        self.frames.retire(removed.into_iter(), epoch);
        self.frames.reclaim(self.readers.oldest_epoch());
    }

    fn sync_data(&self) -> Result<(), StorageError> {
        let mut outcome = self.data_file.sync();
        if is_planted(Planted::RetriedSync) && outcome.is_err() {
            outcome = self.data_file.sync();
        }
        outcome.map_err(|source| {
            let path = self.directory.join(crate::Damage::DATA_FILE);
            StorageError::io(&path, "sync", source)
        })
    }

    /// Writes the flusher's state into the older meta slot.
    pub(super) fn note(&self, state: &mut FlushState, is_clean: bool) -> Result<(), StorageError> {
        let meta = Meta {
            is_clean,
            ..state.meta.clone()
        };
        state.meta_file.write(&meta)?;
        self.in_place.settle(state.noted);
        state.noted = meta.position.transaction;
        state.meta = meta;
        Ok(())
    }

    /// Whether memory or journal are half used up.
    fn is_flush_due(&self) -> bool {
        self.frames.bytes_in_use() > self.options.scratch_bytes / 2
            || self.journal.live_bytes() > self.options.journal_bytes / 2
            || self.in_place.unsettled_bytes() > self.options.journal_bytes
    }

    /// Drops versions in memory that newer durable ones supersede and no snapshot sees. Without
    /// it, scratch memory would hold a version a commit of each busy page, and be flushed often.
    fn drop_superseded(&self) {
        let pages = std::mem::take(&mut lock(&self.sealed).superseding);
        if !pages.is_empty() {
            let durable = self.visible();
            let removed =
                self.table
                    .remove_superseded(&pages, durable, &self.readers, &self.frames);
            let epoch = self.readers.next_epoch();
            self.frames.retire(removed.into_iter(), epoch);
        }
        self.frames.reclaim(self.readers.oldest_epoch());
    }

    /// After a commit: gives back memory, and wakes the flusher or flushes here when it is due.
    pub(crate) fn flush_inline_if_due(&self) {
        self.drop_superseded();
        if self.options.background_flush && self.journal.is_spare_wanted() {
            self.flush_wanted.notify_one();
        }
        if !self.is_flush_due() {
            return;
        }
        if self.options.background_flush {
            return self.want_flush();
        }
        // A failure has poisoned the environment, or is a full disk that the next commit meets.
        let _ = self.flush(false);
    }

    /// Gives space of the journal back to a full disk: no file of it is kept for use again, and
    /// what can be flushed is. No lock may be held.
    ///
    /// # Errors
    /// [`StorageError::Full`] when even the flush finds no room, in holes of the data file: what
    /// was given back is then left to the next flush, not to more journal. Any other failure has
    /// poisoned the environment.
    pub(crate) fn make_room(&self) -> Result<(), StorageError> {
        self.journal.give_back_recycled(0);
        self.write_sealed();
        self.flush(false)?;
        self.journal.give_back_recycled(0);
        Ok(())
    }

    fn want_flush(&self) {
        lock(&self.flush_signal).is_wanted = true;
        self.flush_wanted.notify_one();
    }

    /// Whether memory and journal are not used up.
    pub(super) fn has_room(&self) -> bool {
        self.frames.bytes_in_use() <= self.options.scratch_bytes
            && self.journal.live_bytes() <= self.options.journal_bytes
    }

    /// Holds a writer back while memory or journal are used up, for one flush at most: a reader
    /// that keeps pages from being flushed must not stop all writes.
    pub(crate) fn wait_for_room(&self) {
        if self.has_room() || !self.options.background_flush || self.poison().is_some() {
            return;
        }
        let mut signal = lock(&self.flush_signal);
        let round = signal.rounds;
        signal.is_wanted = true;
        self.flush_wanted.notify_one();
        while signal.rounds == round && !signal.is_stopping {
            signal = self
                .flush_done
                .wait(signal)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Body of the flusher thread.
    pub(super) fn run_flusher_thread(self: &Arc<Self>) {
        let mut seen = self.visible();
        loop {
            let signal = lock(&self.flush_signal);
            let (mut signal, _) = self
                .flush_wanted
                .wait_timeout_while(signal, IDLE, |signal| {
                    !signal.is_wanted && !signal.is_stopping && !self.journal.is_spare_wanted()
                })
                .unwrap_or_else(PoisonError::into_inner);
            if signal.is_stopping {
                return;
            }
            let is_wanted = std::mem::take(&mut signal.is_wanted);
            drop(signal);
            if self.journal.is_spare_wanted() {
                self.poison_on_panic(|| self.journal.make_spare());
                if !is_wanted {
                    continue;
                }
            }
            // Commits that nobody waits for.
            self.poison_on_panic(|| self.write_sealed());
            let visible = self.visible();
            let is_idle = visible == seen;
            seen = visible;
            if is_wanted || is_idle {
                self.poison_on_panic(|| {
                    // A failure has poisoned the environment; a full disk is tried again.
                    let _ = self.flush(false);
                    if is_idle {
                        // Snapshots may have ended since the last commit.
                        self.drop_superseded();
                        self.frames.give_back(0);
                        self.journal.give_back_recycled(1);
                        self.give_space_back();
                    }
                });
            }
            lock(&self.flush_signal).rounds += 1;
            self.flush_done.notify_all();
        }
    }

    pub(super) fn stop_flusher(&self) {
        lock(&self.flush_signal).is_stopping = true;
        self.flush_wanted.notify_all();
        self.flush_done.notify_all();
    }
}

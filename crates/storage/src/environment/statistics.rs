//! Numbers about an environment: what it did, what it holds in memory, what it has on disk.

use jackdaw_base::metrics::{HistogramSnapshot, ShardedCounter};
use jackdaw_base::sync::{AtomicU64, Ordering};

use super::recovery::RecoveryReport;
use super::shared::Shared;
use crate::page::PAGE_BYTES;

/// A number that only grows.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What an environment counts since it was opened.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) transactions: Counter,
    pub(crate) operations: Counter,
    pub(crate) journal_writes: Counter,
    pub(crate) journal_bytes: Counter,
    pub(crate) difference_bytes: Counter,
    pub(crate) pages_flushed: Counter,
    pub(crate) in_place_bytes: Counter,
    pub(crate) flushes: Counter,
    /// Counted by every reader, each on a shard of its own.
    pub(crate) pages_validated: ShardedCounter,
    pub(crate) bytes_given_back: Counter,
    pub(crate) pages_scrubbed: Counter,
    pub(crate) scrub_passes: Counter,
    pub(crate) scrub_damages: Counter,
}

/// A moment's numbers; see [`Environment::statistics`](super::Environment::statistics).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Last durable transaction.
    pub transaction: u64,
    /// Length of the data file in pages, free ones included.
    pub page_count: u64,
    /// Length of the data file on disk in bytes, with what it grew ahead.
    pub file_bytes: u64,
    /// Bytes of page versions in memory.
    pub scratch_bytes: u64,
    /// Journal bytes that recovery would read.
    pub journal_live_bytes: u64,
    /// Transactions committed since opening.
    pub transactions: u64,
    /// Operations in them.
    pub operations: u64,
    /// Writes to the journal since opening; several transactions may share one.
    pub journal_writes: u64,
    /// Bytes written to the journal since opening.
    pub journal_bytes: u64,
    /// Bytes of page differences before compression since opening.
    pub difference_bytes: u64,
    /// Pages written into the data file since opening.
    pub pages_flushed: u64,
    /// Bytes of large values that were written to their place at commit since opening.
    pub in_place_bytes: u64,
    /// Flushes since opening.
    pub flushes: u64,
    /// Pages whose checksum was computed on first touch since opening.
    pub pages_validated: u64,
    /// Bytes of free pages given back to the file system since opening.
    pub bytes_given_back: u64,
    /// Pages that scrubbing has read since opening.
    pub pages_scrubbed: u64,
    /// Times that scrubbing came to the end of the data file since opening.
    pub scrub_passes: u64,
    /// Damaged places that scrubbing met since opening, each time that it met them.
    pub scrub_damages: u64,
    /// Nanoseconds that operations waited for the writer thread since opening.
    pub queue_wait_nanos: HistogramSnapshot,
    /// Nanoseconds from queueing an operation until it was durable and its caller was told, since
    /// opening.
    pub durable_nanos: HistogramSnapshot,
    /// Open snapshots.
    pub reader_count: u64,
    /// How many transactions the oldest of them lies behind.
    pub oldest_reader_lag: u64,
    /// Operations in each transaction since opening.
    pub batch_operations: HistogramSnapshot,
    /// What opening had to repair.
    pub recovery: RecoveryReport,
}

impl Shared {
    pub(super) fn statistics(&self, recovery: &RecoveryReport) -> Statistics {
        let counters = &self.counters;
        let transaction = self.visible();
        let file_pages = self.file_pages.load(Ordering::Relaxed);
        let page_count = self
            .states
            .read(transaction)
            .map_or(0, |state| state.page_count);
        let oldest = self.readers.oldest_snapshot().unwrap_or(transaction);
        Statistics {
            transaction,
            page_count,
            file_bytes: file_pages * PAGE_BYTES as u64,
            scratch_bytes: self.frames.bytes_in_use() as u64,
            journal_live_bytes: self.journal.live_bytes(),
            transactions: counters.transactions.get(),
            operations: counters.operations.get(),
            journal_writes: counters.journal_writes.get(),
            journal_bytes: counters.journal_bytes.get(),
            difference_bytes: counters.difference_bytes.get(),
            pages_flushed: counters.pages_flushed.get(),
            in_place_bytes: counters.in_place_bytes.get(),
            flushes: counters.flushes.get(),
            pages_validated: counters.pages_validated.get(),
            bytes_given_back: counters.bytes_given_back.get(),
            pages_scrubbed: counters.pages_scrubbed.get(),
            scrub_passes: counters.scrub_passes.get(),
            scrub_damages: counters.scrub_damages.get(),
            queue_wait_nanos: self.meters.queue_wait_nanos.snapshot(),
            durable_nanos: self.meters.durable_nanos.snapshot(),
            reader_count: self.readers.count() as u64,
            oldest_reader_lag: transaction.saturating_sub(oldest),
            batch_operations: self.meters.batch_operations.snapshot(),
            recovery: recovery.clone(),
        }
    }
}

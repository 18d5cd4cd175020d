//! What each stage of an import has done so far, for the display and the summary.
//!
//! Threads: every stage adds to its own counter; the display thread reads them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::source::Total;

/// One counter per stage.
#[derive(Debug)]
pub struct Counters {
    /// Bytes of the file taken by the read stage.
    pub position: Arc<AtomicU64>,
    /// How much there is to read.
    pub total: Total,
    read: AtomicU64,
    parsed: AtomicU64,
    written: AtomicU64,
    skipped: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries read, those of an earlier run included.
    pub read: u64,
    /// Documents parsed.
    pub parsed: u64,
    /// Documents written; the last few batches may still be on their way to the disk.
    pub written: u64,
    /// Entries left out.
    pub skipped: u64,
    /// Bytes of the file read.
    pub bytes: u64,
}

impl Counters {
    /// Counters for an input.
    #[must_use]
    pub fn new(position: Arc<AtomicU64>, total: Total) -> Arc<Self> {
        Arc::new(Self {
            position,
            total,
            read: AtomicU64::new(0),
            parsed: AtomicU64::new(0),
            written: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
        })
    }

    /// The read stage took entries from the input.
    pub fn add_read(&self, entries: u64) {
        self.read.fetch_add(entries, Ordering::Relaxed);
    }

    /// A parse thread made documents.
    pub fn add_parsed(&self, documents: u64) {
        self.parsed.fetch_add(documents, Ordering::Relaxed);
    }

    /// The write stage handed documents to the database.
    pub fn add_written(&self, documents: u64) {
        self.written.fetch_add(documents, Ordering::Relaxed);
    }

    /// Entries were left out.
    pub fn add_skipped(&self, entries: u64) {
        self.skipped.fetch_add(entries, Ordering::Relaxed);
    }

    /// The database left documents out that were counted as written.
    pub fn take_back_written(&self, documents: u64) {
        self.written.fetch_sub(documents, Ordering::Relaxed);
        self.skipped.fetch_add(documents, Ordering::Relaxed);
    }

    /// All of them, each as it is now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            read: self.read.load(Ordering::Relaxed),
            parsed: self.parsed.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
            bytes: self.position.load(Ordering::Relaxed),
        }
    }
}

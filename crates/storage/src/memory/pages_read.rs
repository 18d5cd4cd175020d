//! How many pages a thread has read, from where, and how long it waited for them: what a query's
//! explanation shows.
//!
//! Counted in `environment::shared` where a snapshot's pages are found. Plain numbers of the
//! thread, so that counting costs no shared memory.

use std::cell::Cell;
use std::ops::{Add, Sub};

use crate::page::PAGE_BYTES;

/// Pages that reads of one thread were given, since it started or between two moments. A run of
/// pages that holds one value counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagesRead {
    /// Newest versions, from scratch memory.
    pub from_scratch: u64,
    /// From the map of the data file, validated before.
    pub from_file: u64,
    /// Of the data file, touched for the first time since the environment was opened: read from the
    /// disk unless the system had them in memory, and their checksums computed.
    pub first_touched: u64,
    /// Bytes of all of them, runs whole.
    pub len_bytes: u64,
    /// Nanoseconds that first touches took.
    pub waited_nanos: u64,
}

impl PagesRead {
    /// Pages and runs together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.from_scratch + self.from_file + self.first_touched
    }
}

impl Add for PagesRead {
    type Output = PagesRead;

    fn add(self, more: PagesRead) -> PagesRead {
        PagesRead {
            from_scratch: self.from_scratch + more.from_scratch,
            from_file: self.from_file + more.from_file,
            first_touched: self.first_touched + more.first_touched,
            len_bytes: self.len_bytes + more.len_bytes,
            waited_nanos: self.waited_nanos + more.waited_nanos,
        }
    }
}

impl Sub for PagesRead {
    type Output = PagesRead;

    fn sub(self, before: PagesRead) -> PagesRead {
        PagesRead {
            from_scratch: self.from_scratch - before.from_scratch,
            from_file: self.from_file - before.from_file,
            first_touched: self.first_touched - before.first_touched,
            len_bytes: self.len_bytes - before.len_bytes,
            waited_nanos: self.waited_nanos - before.waited_nanos,
        }
    }
}

thread_local! {
    static FROM_SCRATCH: Cell<u64> = const { Cell::new(0) };
    static FROM_FILE: Cell<u64> = const { Cell::new(0) };
    static FIRST_TOUCHED: Cell<u64> = const { Cell::new(0) };
    /// Bytes of runs beyond a page each: single pages are not summed, they are the common case.
    static RUN_BYTES: Cell<u64> = const { Cell::new(0) };
    static WAITED_NANOS: Cell<u64> = const { Cell::new(0) };
}

/// What the reads of this thread were given since it started.
#[must_use]
pub fn pages_read() -> PagesRead {
    let mut read = PagesRead {
        from_scratch: FROM_SCRATCH.get(),
        from_file: FROM_FILE.get(),
        first_touched: FIRST_TOUCHED.get(),
        len_bytes: RUN_BYTES.get(),
        waited_nanos: WAITED_NANOS.get(),
    };
    read.len_bytes += read.total() * PAGE_BYTES as u64;
    read
}

#[inline]
pub(crate) fn count_scratch() {
    FROM_SCRATCH.set(FROM_SCRATCH.get() + 1);
}

#[inline]
pub(crate) fn count_file() {
    FROM_FILE.set(FROM_FILE.get() + 1);
}

/// What was read was touched for the first time, which took `nanos`.
pub(crate) fn count_first_touch(nanos: u64) {
    FIRST_TOUCHED.set(FIRST_TOUCHED.get() + 1);
    WAITED_NANOS.set(WAITED_NANOS.get() + nanos);
}

/// What was counted is a run of so many bytes.
#[inline]
pub(crate) fn count_run(len_bytes: usize) {
    RUN_BYTES.set(RUN_BYTES.get() + len_bytes.saturating_sub(PAGE_BYTES) as u64);
}

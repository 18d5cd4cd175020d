//! What the environment's I/O takes: for each kind a histogram since opening, the last events, and
//! a summary of each minute.
//!
//! Recorded once for each write, sync or first touch of a page, beside work that takes longer than
//! the recording by far. [`Environment::meters`](super::Environment::meters) gives a copy.
//!
//! Threads: any. First touches come from many threads at once, and have a histogram only.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Mutex;

use jackdaw_base::metrics::{Histogram, HistogramSnapshot};

use super::shared::{Shared, lock};

/// Events kept of each kind.
const EVENTS_MAX: usize = 256;
/// Minutes kept of each kind.
const MINUTES_MAX: usize = 256;
const MINUTE_NANOS: u64 = 60_000_000_000;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MeterKind {
    /// One durable write of the journal, compression left out. Bytes: of the file.
    JournalWrite,
    /// Encoding and compressing the records of one journal write. Bytes: before compression.
    Compression,
    /// Writing the pages of one flush into the data file.
    DataFlush,
    /// Syncing the data file and the meta file after a flush. Bytes: 0.
    DataSync,
    /// Validating a page or long value at its first touch, the wait for the disk included.
    ReadFault,
}

impl MeterKind {
    /// All kinds.
    pub const ALL: [MeterKind; 5] = [
        MeterKind::JournalWrite,
        MeterKind::Compression,
        MeterKind::DataFlush,
        MeterKind::DataSync,
        MeterKind::ReadFault,
    ];
}

impl fmt::Display for MeterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MeterKind::JournalWrite => "journal_write",
            MeterKind::Compression => "compression",
            MeterKind::DataFlush => "data_flush",
            MeterKind::DataSync => "data_sync",
            MeterKind::ReadFault => "read_fault",
        })
    }
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterEvent {
    /// When it ended, in nanoseconds since the Unix epoch.
    pub unix_nanos: u64,
    /// How long it took.
    pub nanos: u64,
    /// Bytes of it.
    pub bytes: u64,
}

/// All events of a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterMinute {
    /// Minutes since the Unix epoch.
    pub minute: u64,
    /// Events.
    pub count: u64,
    /// Nanoseconds of all.
    pub nanos: u64,
    /// Nanoseconds of the longest.
    pub nanos_max: u64,
    /// Bytes of all.
    pub bytes: u64,
}

/// A moment of one meter.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MeterReport {
    /// What is measured.
    pub kind: MeterKind,
    /// Nanoseconds of all events since opening.
    pub nanos: HistogramSnapshot,
    /// The last events, oldest first.
    pub events: Vec<MeterEvent>,
    /// The last minutes with events, oldest first.
    pub minutes: Vec<MeterMinute>,
}

#[derive(Default)]
struct Meter {
    nanos: Histogram,
    recent: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    events: VecDeque<MeterEvent>,
    minutes: VecDeque<MeterMinute>,
}

/// See the file head.
#[derive(Default)]
pub(crate) struct Meters {
    meters: [Meter; MeterKind::ALL.len()],
    /// Operations of each transaction.
    pub(super) batch_operations: Histogram,
    /// From queueing an operation to its start.
    pub(super) queue_wait_nanos: Histogram,
    /// From queueing an operation to telling its caller that it is durable.
    pub(super) durable_nanos: Histogram,
}

impl Meters {
    fn meter(&self, kind: MeterKind) -> &Meter {
        &self.meters[kind as usize]
    }
}

impl Recent {
    fn add(&mut self, event: MeterEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
        let minute = event.unix_nanos / MINUTE_NANOS;
        if self.minutes.back().is_none_or(|last| last.minute != minute) {
            if self.minutes.len() == MINUTES_MAX {
                self.minutes.pop_front();
            }
            self.minutes.push_back(MeterMinute {
                minute,
                count: 0,
                nanos: 0,
                nanos_max: 0,
                bytes: 0,
            });
        }
        if let Some(summary) = self.minutes.back_mut() {
            summary.count += 1;
            summary.nanos += event.nanos;
            summary.nanos_max = summary.nanos_max.max(event.nanos);
            summary.bytes += event.bytes;
        }
    }
}

impl Shared {
    /// Notes an event that began at `started` by the monotonic clock.
    pub(crate) fn measured(&self, kind: MeterKind, started: u64, bytes: u64) {
        let nanos = self.vfs.monotonic_nanos().saturating_sub(started);
        self.measured_nanos(kind, nanos, bytes);
    }

    /// Notes an event that took `nanos`.
    pub(crate) fn measured_nanos(&self, kind: MeterKind, nanos: u64, bytes: u64) {
        let meter = self.meters.meter(kind);
        meter.nanos.record(nanos);
        if kind != MeterKind::ReadFault {
            let unix_nanos = self.vfs.unix_nanos();
            lock(&meter.recent).add(MeterEvent {
                unix_nanos,
                nanos,
                bytes,
            });
        }
    }

    pub(super) fn meter_reports(&self) -> Vec<MeterReport> {
        let report = |kind| {
            let meter = self.meters.meter(kind);
            let recent = lock(&meter.recent);
            MeterReport {
                kind,
                nanos: meter.nanos.snapshot(),
                events: recent.events.iter().copied().collect(),
                minutes: recent.minutes.iter().copied().collect(),
            }
        };
        MeterKind::ALL.into_iter().map(report).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn rings_keep_the_last_events_and_minutes() {
        let mut recent = Recent::default();
        for second in 0..40_000_u64 {
            recent.add(MeterEvent {
                unix_nanos: second * 1_000_000_000,
                nanos: second,
                bytes: 2,
            });
        }
        assert_eq!(recent.events.len(), EVENTS_MAX);
        assert_eq!(recent.events.back().map(|event| event.nanos), Some(39_999));
        assert_eq!(recent.minutes.len(), MINUTES_MAX);
        let minute = recent.minutes[MINUTES_MAX - 2];
        assert_eq!((minute.minute, minute.count, minute.bytes), (665, 60, 120));
        assert_eq!(minute.nanos_max, 665 * 60 + 59);
    }
}

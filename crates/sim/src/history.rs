//! What a disk went through, and the moments at which power may have failed.
//!
//! `SimVfs::history` gives one; `images` builds disks for its moments, `sweep` checks them all.
//!
//! Invariants: a moment's disk is the recorded start with the recorded changes applied, so it
//! depends on nothing that happened later.

use std::fmt;
use std::sync::Arc;

use jackdaw_io::Durability;

use crate::disk::{Change, DiskState};
use crate::images::Moment;

/// One recorded operation.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) number: u64,
    pub(crate) path: Arc<str>,
    pub(crate) change: Change,
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            path,
            change,
        } = self;
        write!(formatter, "{number} ")?;
        match change {
            Change::CreateFile { .. } => write!(formatter, "create {path}"),
            Change::CreateDirectory { .. } => write!(formatter, "create directory {path}"),
            Change::Rename { to, .. } => write!(formatter, "rename {path} to {to}"),
            Change::Remove { .. } => write!(formatter, "remove {path}"),
            Change::SyncDirectory { .. } => write!(formatter, "sync directory {path}"),
            Change::Write {
                offset,
                bytes,
                durability,
                ..
            } => {
                let how = match durability {
                    Durability::None => "write",
                    Durability::Data => "write durably",
                };
                write!(formatter, "{how} {path} at {offset}, {} bytes", bytes.len())
            }
            Change::WriteFailed { offset, bytes, .. } => {
                write!(
                    formatter,
                    "fail to write {path} at {offset}, {} bytes",
                    bytes.len()
                )
            }
            Change::Sync { .. } => write!(formatter, "sync {path}"),
            Change::SyncFailed { .. } => write!(formatter, "fail to sync {path}"),
            Change::SetLen { len_bytes, .. } => {
                write!(formatter, "set length of {path} to {len_bytes}")
            }
            Change::Allocate {
                offset, len_bytes, ..
            } => {
                write!(formatter, "allocate {path} at {offset}, {len_bytes} bytes")
            }
            Change::Punch {
                offset, len_bytes, ..
            } => {
                write!(formatter, "punch {path} at {offset}, {len_bytes} bytes")
            }
            Change::Flip { offset, mask, .. } => {
                write!(formatter, "damage {path} at {offset}, bits {mask:#04x}")
            }
            Change::Nothing => write!(formatter, "pretend to sync {path}"),
        }
    }
}

/// The recorded past of a disk.
#[derive(Clone)]
pub struct History {
    base: DiskState,
    operations: Vec<Operation>,
    seed: u64,
    epoch_nanos: u64,
}

impl History {
    pub(crate) fn new(
        base: DiskState,
        operations: Vec<Operation>,
        seed: u64,
        epoch_nanos: u64,
    ) -> Self {
        Self {
            base,
            operations,
            seed,
            epoch_nanos,
        }
    }

    /// Number of recorded operations.
    #[must_use]
    pub fn operation_count(&self) -> u64 {
        self.operations.len() as u64
    }

    /// The recorded operations as text, one a line.
    pub fn trace(&self) -> impl Iterator<Item = String> {
        self.operations.iter().map(Operation::to_string)
    }

    /// Text of the operations up to number `completed` and the one after it, at most `count`.
    #[must_use]
    pub fn trace_around(&self, completed: u64, count: usize) -> Vec<String> {
        let end = usize::try_from(completed + 1)
            .unwrap_or(usize::MAX)
            .min(self.operations.len());
        self.operations[end.saturating_sub(count)..end]
            .iter()
            .map(Operation::to_string)
            .collect()
    }

    /// Every moment at which power may have failed: before the first operation, after each one,
    /// and in the middle of each durable write.
    #[must_use]
    pub fn moments(&self) -> Moments<'_> {
        Moments {
            history: self,
            disk: self.base.clone(),
            completed: 0,
            next: Next::After,
        }
    }

    /// The moment after `completed` operations. Costs as much as those operations did; for many
    /// moments use [`History::moments`].
    ///
    /// # Panics
    /// When fewer operations were recorded.
    #[must_use]
    pub fn moment(&self, completed: u64) -> Moment {
        assert!(
            completed <= self.operation_count(),
            "operation {completed} is not recorded"
        );
        let mut disk = self.base.clone();
        let count = usize::try_from(completed).expect("a position in a vector");
        for operation in &self.operations[..count] {
            disk.apply(operation.number, &operation.change);
        }
        Moment::new(disk, completed, false, self.seed, self.epoch_nanos)
    }
}

/// Which moment comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The one after `completed` operations.
    After,
    /// The one in the middle of the following operation.
    During,
}

/// Iterator of [`History::moments`].
pub struct Moments<'a> {
    history: &'a History,
    /// The disk after `completed` operations.
    disk: DiskState,
    completed: u64,
    next: Next,
}

impl Moments<'_> {
    fn moment(&self, disk: DiskState, is_during: bool) -> Moment {
        let History {
            seed, epoch_nanos, ..
        } = self.history;
        Moment::new(disk, self.completed, is_during, *seed, *epoch_nanos)
    }
}

impl Iterator for Moments<'_> {
    type Item = Moment;

    fn next(&mut self) -> Option<Moment> {
        if self.next == Next::After {
            self.next = Next::During;
            return Some(self.moment(self.disk.clone(), false));
        }
        let position = usize::try_from(self.completed).expect("a position in a vector");
        let operation = self.history.operations.get(position)?;
        let during = match &operation.change {
            Change::Write {
                file,
                offset,
                bytes,
                durability: Durability::Data,
            } => {
                let (file, offset, bytes) = (*file, *offset, bytes.clone());
                let volatile = Change::Write {
                    file,
                    offset,
                    bytes,
                    durability: Durability::None,
                };
                let mut disk = self.disk.clone();
                disk.apply(operation.number, &volatile);
                Some(self.moment(disk, true))
            }
            _ => None,
        };
        self.disk.apply(operation.number, &operation.change);
        self.completed += 1;
        if during.is_some() {
            self.next = Next::After;
            return during;
        }
        Some(self.moment(self.disk.clone(), false))
    }
}

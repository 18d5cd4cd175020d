//! Failures on purpose: which operation fails, how, and what the disk only pretends to do.
//!
//! Tests arm them on a `SimVfs`; `vfs` asks [`Faults::strike`] before each operation.
//!
//! Invariants: the same operations meet the same failures; a fault that never found its
//! operation stays armed, so that `fault_count` tells when an n-th-operation loop has finished.

use std::io;

/// What an operation does, for choosing which ones fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum OperationKind {
    /// Opening or creating a file.
    Open,
    /// Taking a lock.
    Lock,
    /// Creating a directory.
    CreateDirectory,
    /// Listing a directory, looking a name up, asking for a length.
    Look,
    /// Renaming a file.
    Rename,
    /// Removing a file or directory.
    Remove,
    /// Making a directory durable.
    SyncDirectory,
    /// Reading.
    Read,
    /// Writing, durable or not.
    Write,
    /// Making a file durable.
    Sync,
    /// Changing a length.
    SetLen,
    /// Reserving space.
    Allocate,
    /// Giving space back.
    PunchHole,
    /// Mapping a file or covering more of it.
    Map,
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultError {
    /// The device reports an error (`EIO`).
    Device,
    /// No space is left (`ENOSPC`, kind `StorageFull`).
    Full,
    /// The file system was mounted again for reading only (`EROFS`).
    ReadOnly,
}

impl FaultError {
    pub(crate) fn to_io(self) -> io::Error {
        let code = match self {
            Self::Device => 5,    // EIO
            Self::Full => 28,     // ENOSPC
            Self::ReadOnly => 30, // EROFS
        };
        io::Error::from_raw_os_error(code)
    }
}

/// One planned failure.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Kinds of operations that count; empty for all.
    pub kinds: Vec<OperationKind>,
    /// Only operations on paths that contain this text count; empty for all.
    pub path_contains: String,
    /// The n-th one that counts from now on fails; 1 is the next.
    pub nth: u64,
    /// Every later one fails too, until `clear_faults`.
    pub is_sticky: bool,
    /// How it fails.
    pub error: FaultError,
}

impl Fault {
    /// The n-th operation of any of `kinds` (empty for all) fails once.
    #[must_use]
    pub fn nth(kinds: &[OperationKind], nth: u64, error: FaultError) -> Self {
        let kinds = kinds.to_vec();
        Self {
            kinds,
            path_contains: String::new(),
            nth,
            is_sticky: false,
            error,
        }
    }

    /// The same, and all later ones.
    #[must_use]
    pub fn sticky(self) -> Self {
        Self {
            is_sticky: true,
            ..self
        }
    }

    /// The same, counting operations on paths that contain `text` only.
    #[must_use]
    pub fn on(self, text: &str) -> Self {
        Self {
            path_contains: text.to_owned(),
            ..self
        }
    }

    fn counts(&self, kind: OperationKind, path: &str) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind)) && path.contains(&self.path_contains)
    }
}

/// Promises that the disk breaks without telling. Found by crash tests that are worth their name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lies {
    /// `VfsFile::sync` returns `Ok` and does nothing.
    pub skip_sync: bool,
    /// Durable writes are as volatile as all others.
    pub skip_durable_writes: bool,
    /// `Vfs::sync_directory` returns `Ok` and does nothing; creating a directory does not sync.
    pub skip_directory_sync: bool,
}

/// The armed failures of one disk.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// With the number of counted operations still to pass.
    armed: Vec<(u64, Fault)>,
    struck: u64,
}

impl Faults {
    pub(crate) fn arm(&mut self, fault: Fault) {
        self.armed.push((fault.nth.max(1), fault));
    }

    pub(crate) fn clear(&mut self) {
        self.armed.clear();
    }

    /// Operations that have failed on purpose.
    pub(crate) fn struck(&self) -> u64 {
        self.struck
    }

    /// Whether this operation fails.
    pub(crate) fn strike(&mut self, kind: OperationKind, path: &str) -> Option<FaultError> {
        let mut answer = None;
        self.armed.retain_mut(|(left, fault)| {
            if !fault.counts(kind, path) {
                return true;
            }
            *left = left.saturating_sub(1);
            if *left > 0 {
                return true;
            }
            answer = Some(fault.error);
            fault.is_sticky
        });
        self.struck += u64::from(answer.is_some());
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_nth_matching_operation_fails() {
        let mut faults = Faults::default();
        faults.arm(Fault::nth(&[OperationKind::Write], 2, FaultError::Full).on("journal"));
        let mut strike = |kind, path| faults.strike(kind, path);
        assert_eq!(strike(OperationKind::Write, "db/journal-1"), None);
        assert_eq!(strike(OperationKind::Write, "db/data"), None);
        assert_eq!(strike(OperationKind::Sync, "db/journal-1"), None);
        assert_eq!(
            strike(OperationKind::Write, "db/journal-1"),
            Some(FaultError::Full)
        );
        assert_eq!(strike(OperationKind::Write, "db/journal-1"), None);
        assert_eq!(faults.struck(), 1);
    }

    #[test]
    fn sticky_fault_lasts_until_cleared() {
        let mut faults = Faults::default();
        faults.arm(Fault::nth(&[], 1, FaultError::Device).sticky());
        assert_eq!(
            faults.strike(OperationKind::Read, "a"),
            Some(FaultError::Device)
        );
        assert_eq!(
            faults.strike(OperationKind::Open, "b"),
            Some(FaultError::Device)
        );
        faults.clear();
        assert_eq!(faults.strike(OperationKind::Read, "a"), None);
        assert_eq!(FaultError::Full.to_io().kind(), io::ErrorKind::StorageFull);
    }
}

//! What a simulated file system keeps behind its lock, and the checks before each change.
//!
//! `vfs` and `file` run every operation here.
//!
//! Invariants: every operation passes [`State::begin`], which counts, traces and may fail it,
//! before it has any effect; every change of the disk goes through [`State::apply`], which
//! records it for `history`.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jackdaw_base::hash::{xxh3_64, xxh3_64_parts};
use jackdaw_io::{DirectoryEntry, FileError, LockTable, OpenMode};

use crate::disk::{Change, DiskState, Entry, FileId, parent_of};
use crate::faults::{FaultError, Faults, Lies, OperationKind};
use crate::history::Operation;
use crate::mapping::SimMapping;
use crate::rng::{Rng, mix};

/// Simulated time that each operation takes.
const OPERATION_NANOS: u64 = 10_000;

/// Blocks of a new disk: 4 GiB.
const CAPACITY_BLOCKS: usize = 1 << 20;

/// Longest file: keeps the block lists of sparse files small.
const FILE_BYTES_MAX: u64 = 16 << 30;

/// What handles and maps share with their file system.
pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
}

/// Everything behind the lock.
pub(crate) struct State {
    pub(crate) disk: DiskState,
    /// The disk before the first recorded operation.
    pub(crate) base: DiskState,
    pub(crate) operations: Vec<Operation>,
    pub(crate) seed: u64,
    pub(crate) trace_hash: u64,
    /// Draws what failing operations leave behind.
    pub(crate) rng: Rng,
    pub(crate) entropy: Rng,
    pub(crate) elapsed_nanos: u64,
    pub(crate) epoch_nanos: u64,
    pub(crate) faults: Faults,
    pub(crate) lies: Lies,
    pub(crate) locks: LockTable<String>,
    pub(crate) capacity_blocks: usize,
    pub(crate) refuses_direct: bool,
    pub(crate) mappings: BTreeMap<FileId, Vec<Weak<SimMapping>>>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic of a test in between leaves the disk as it was before or after a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Covers more of a file by its map.
    pub(crate) fn cover(&self, mapping: &SimMapping, len_bytes: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.begin(OperationKind::Map, "map", mapping.path(), 0, len_bytes)?;
        let live = state.disk.file(mapping.file()).live();
        let result = if live.len_bytes() < len_bytes {
            let text = format!("the file has {} bytes, not {len_bytes}", live.len_bytes());
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        } else {
            mapping.cover_content(live, len_bytes)
        };
        result.map_err(|error| named("map", mapping.path(), error))
    }
}

impl State {
    pub(crate) fn new(disk: DiskState, seed: u64, epoch_nanos: u64) -> Self {
        let mut rng = Rng::new(seed);
        let entropy = rng.fork();
        Self {
            base: disk.clone(),
            disk,
            operations: Vec::new(),
            seed,
            trace_hash: mix(seed),
            rng,
            entropy,
            elapsed_nanos: 0,
            epoch_nanos,
            faults: Faults::default(),
            lies: Lies::default(),
            locks: LockTable::default(),
            capacity_blocks: CAPACITY_BLOCKS,
            refuses_direct: false,
            mappings: BTreeMap::new(),
        }
    }

    /// Counts and traces an operation, and fails it when that is planned.
    pub(crate) fn begin(
        &mut self,
        kind: OperationKind,
        operation: &'static str,
        path: &str,
        offset: u64,
        len_bytes: u64,
    ) -> io::Result<()> {
        self.elapsed_nanos += OPERATION_NANOS;
        let strike = self.faults.strike(kind, path);
        let parts = [
            operation.as_bytes(),
            path.as_bytes(),
            &offset.to_le_bytes(),
            &len_bytes.to_le_bytes(),
            &[u8::from(strike.is_some())],
        ];
        self.trace_hash = xxh3_64_parts(&parts, self.trace_hash);
        match strike {
            Some(error) => Err(named(operation, path, error.to_io())),
            None => Ok(()),
        }
    }

    /// Adds what was read or written to the trace.
    pub(crate) fn trace_bytes(&mut self, bytes: &[u8]) {
        self.trace_hash = xxh3_64(bytes, self.trace_hash);
    }

    /// Changes the disk and remembers how.
    pub(crate) fn apply(&mut self, path: &str, change: Change) {
        let number = self.operations.len() as u64 + 1;
        self.disk.apply(number, &change);
        self.operations.push(Operation {
            number,
            path: path.into(),
            change,
        });
    }

    /// Shows a change of a file in its maps.
    pub(crate) fn mirror(&mut self, file: FileId, start: u64, end: u64) {
        let Some(mappings) = self.mappings.get_mut(&file) else {
            return;
        };
        let live = self.disk.file(file).live();
        mappings.retain(|mapping| match mapping.upgrade() {
            Some(mapping) => {
                mapping.mirror(live, start, end);
                true
            }
            None => false,
        });
    }

    pub(crate) fn register_mapping(&mut self, file: FileId, mapping: &Arc<SimMapping>) {
        self.mappings
            .entry(file)
            .or_default()
            .push(Arc::downgrade(mapping));
    }

    /// Checks that the blocks of a range can be had, and that the file does not get too long.
    pub(crate) fn check_space(&self, file: FileId, offset: u64, len_bytes: u64) -> io::Result<()> {
        let end = offset.saturating_add(len_bytes);
        check_len(end)?;
        let missing = self.disk.file(file).missing_blocks(offset, len_bytes);
        if missing > 0 && self.disk.allocated_blocks() + missing > self.capacity_blocks {
            return Err(FaultError::Full.to_io());
        }
        Ok(())
    }

    /// The error for a path that leads nowhere.
    pub(crate) fn missing(&self, path: &str) -> io::Error {
        let mut parents = path.match_indices('/').map(|(end, _)| &path[..end]);
        let is_file = |parent| matches!(self.disk.names().find(parent), Some(Entry::File(_)));
        if parents.any(is_file) {
            io::ErrorKind::NotADirectory.into()
        } else {
            io::ErrorKind::NotFound.into()
        }
    }

    pub(crate) fn find_file(&self, path: &str) -> io::Result<FileId> {
        match self.disk.names().find(path) {
            Some(Entry::File(file)) => Ok(file),
            Some(Entry::Directory(_)) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(self.missing(path)),
        }
    }

    pub(crate) fn check_directory(&self, path: &str) -> io::Result<()> {
        match self.disk.names().find(path) {
            Some(Entry::Directory(_)) => Ok(()),
            Some(Entry::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(self.missing(path)),
        }
    }

    pub(crate) fn open(&mut self, path: &Arc<str>, mode: OpenMode) -> io::Result<FileId> {
        if mode != OpenMode::CreateNew {
            return self.find_file(path);
        }
        if self.disk.names().find(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.create_file(path)
    }

    pub(crate) fn create_file(&mut self, path: &Arc<str>) -> io::Result<FileId> {
        self.check_directory(parent_of(path))?;
        let file = self.disk.next_file();
        self.apply(
            path,
            Change::CreateFile {
                file,
                path: path.clone(),
            },
        );
        Ok(file)
    }

    pub(crate) fn rename(&mut self, from: &Arc<str>, to: &Arc<str>) -> io::Result<()> {
        self.find_file(from)?;
        self.check_directory(parent_of(to))?;
        if let Some(Entry::Directory(_)) = self.disk.names().find(to) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if from != to {
            self.apply(
                from,
                Change::Rename {
                    from: from.clone(),
                    to: to.clone(),
                },
            );
        }
        Ok(())
    }

    pub(crate) fn create_directory(&mut self, path: &Arc<str>) -> io::Result<()> {
        let is_synced = !self.lies.skip_directory_sync;
        let ends = path
            .match_indices('/')
            .map(|(end, _)| end)
            .chain([path.len()]);
        let levels: Vec<Arc<str>> = ends.map(|end| Arc::from(&path[..end])).collect();
        for level in levels {
            match self.disk.names().find(&level) {
                Some(Entry::Directory(_)) => {}
                Some(Entry::File(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
                None => {
                    self.apply(
                        &level,
                        Change::CreateDirectory {
                            path: level.clone(),
                            is_synced,
                        },
                    );
                }
            }
        }
        Ok(())
    }

    pub(crate) fn list(&self, path: &str) -> io::Result<Vec<DirectoryEntry>> {
        self.check_directory(path)?;
        let entries = self
            .disk
            .names()
            .list(path)
            .map(|(name, entry)| DirectoryEntry {
                name: name.to_owned(),
                is_directory: matches!(entry, Entry::Directory(_)),
                len_bytes: match entry {
                    Entry::File(file) => self.disk.file(file).live().len_bytes(),
                    Entry::Directory(_) => 0,
                },
            });
        Ok(entries.collect())
    }
}

/// An error that names the operation and the path, as those of the real disk do.
pub(crate) fn named(operation: &'static str, path: &str, source: io::Error) -> io::Error {
    let kind = source.kind();
    io::Error::new(
        kind,
        FileError {
            operation,
            path: path.into(),
            source,
        },
    )
}

/// Refuses lengths beyond the longest file.
pub(crate) fn check_len(len_bytes: u64) -> io::Result<()> {
    if len_bytes > FILE_BYTES_MAX {
        let text = format!("simulated files end at {FILE_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(())
}

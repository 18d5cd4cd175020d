//! [`SimVfs`]: a file system in memory that can fail, lie and lose power.
//!
//! Tests hand it to the engine in place of the real disk. `history` goes back in time with what
//! it recorded.
//!
//! Invariants:
//! - The same seed and the same calls in the same order give the same answers, times and bytes.
//! - Errors name the operation and the path and have the kinds that Linux gives.
//!
//! Threads: one lock around everything. Results are deterministic only when the calls are.

use std::io;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackdaw_io::{DirectoryEntry, FileLock, LockMode, OpenMode, OpenOptions, Vfs, VfsFile};

use crate::disk::{
    BLOCK_BYTES, Change, Chooser, CountOptions, DiskState, KeepAll, LoseAll, RandomChoice,
};
use crate::faults::{Fault, Lies, OperationKind};
use crate::file::SimFile;
use crate::history::History;
use crate::rng::mix;
use crate::state::{Shared, State, named};

/// Simulated wall time at the start: 2026-01-01, in nanoseconds since the Unix epoch.
const EPOCH_NANOS: u64 = 1_767_225_600_000_000_000;

/// Simulated time between two looks at the clock, so that waiting loops come to an end.
const CLOCK_READ_NANOS: u64 = 1_000;

/// What power loss leaves of the changes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashChoice {
    /// Nothing.
    LoseAll,
    /// Everything.
    KeepAll,
    /// Any mixture, by sector, length and name, drawn from this seed.
    Random(u64),
}

/// A file system in memory. All paths are relative to its one root.
pub struct SimVfs {
    shared: Arc<Shared>,
}

impl SimVfs {
    /// An empty disk.
    #[must_use]
    pub fn new(seed: u64) -> Arc<Self> {
        Self::with_disk(DiskState::default(), seed, EPOCH_NANOS)
    }

    pub(crate) fn with_disk(disk: DiskState, seed: u64, epoch_nanos: u64) -> Arc<Self> {
        let state = Mutex::new(State::new(disk, seed, epoch_nanos));
        Arc::new(Self {
            shared: Arc::new(Shared { state }),
        })
    }

    /// The disk as it may look after losing power now: no locks held, no faults armed, no
    /// history. This one goes on as if nothing had happened.
    #[must_use]
    pub fn crash(&self, choice: CrashChoice) -> Arc<Self> {
        let state = self.shared.lock();
        let disk = match choice {
            CrashChoice::LoseAll => state.disk.crash(&mut LoseAll),
            CrashChoice::KeepAll => state.disk.crash(&mut KeepAll),
            CrashChoice::Random(seed) => {
                let mut counter = CountOptions::default();
                state.disk.crash(&mut counter);
                state
                    .disk
                    .crash(&mut RandomChoice::new(seed, &counter.operations))
            }
        };
        let salt = if let CrashChoice::Random(seed) = choice {
            seed
        } else {
            0
        };
        let epoch_nanos = state.epoch_nanos + state.elapsed_nanos;
        Self::with_disk(disk, mix(state.seed ^ mix(salt)), epoch_nanos)
    }

    /// Everything recorded so far, for going back in time. Cheap.
    #[must_use]
    pub fn history(&self) -> History {
        let state = self.shared.lock();
        let epoch_nanos = state.epoch_nanos + state.elapsed_nanos;
        History::new(
            state.base.clone(),
            state.operations.clone(),
            state.seed,
            epoch_nanos,
        )
    }

    /// Forgets the operations recorded so far, so that a long run does not keep all it wrote.
    /// Operation numbers start over.
    pub fn forget_history(&self) {
        let mut state = self.shared.lock();
        state.operations.clear();
        state.base = state.disk.clone();
    }

    /// Changing operations (creating, writing, syncing, ...) done so far, failed ones included.
    /// Whatever a caller saw succeed when this was `n` must be in every image of moment `n` on.
    #[must_use]
    pub fn operation_count(&self) -> u64 {
        self.shared.lock().operations.len() as u64
    }

    /// Hash of every operation so far, reads and failures included: equal for equal runs.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.shared.lock().trace_hash
    }

    /// Arms a failure.
    pub fn inject(&self, fault: Fault) {
        self.shared.lock().faults.arm(fault);
    }

    /// Disarms all failures.
    pub fn clear_faults(&self) {
        self.shared.lock().faults.clear();
    }

    /// Operations that have failed on purpose so far.
    #[must_use]
    pub fn fault_count(&self) -> u64 {
        self.shared.lock().faults.struck()
    }

    /// Sets the promises that the disk breaks.
    pub fn set_lies(&self, lies: Lies) {
        self.shared.lock().lies = lies;
    }

    /// Sets the size of the disk; what is on it stays.
    pub fn set_capacity_bytes(&self, bytes: u64) {
        let blocks = usize::try_from(bytes / BLOCK_BYTES as u64).unwrap_or(usize::MAX);
        self.shared.lock().capacity_blocks = blocks;
    }

    /// Space taken by the files that have a name.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        (self.shared.lock().disk.allocated_blocks() * BLOCK_BYTES) as u64
    }

    /// Refuses unbuffered I/O from now on, as some file systems do: files open as buffered ones.
    pub fn refuse_direct(&self) {
        self.shared.lock().refuses_direct = true;
    }

    /// Moves both clocks forward.
    pub fn advance_clock(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let mut state = self.shared.lock();
        state.elapsed_nanos = state.elapsed_nanos.saturating_add(nanos);
    }

    /// Moves the wall clock alone, back or forth, as an operator or a time server may.
    pub fn jump_wall_clock(&self, by_nanos: i64) {
        let mut state = self.shared.lock();
        state.epoch_nanos = state.epoch_nanos.saturating_add_signed(by_nanos);
    }

    /// Inverts the bits of `mask` in the byte at `offset`, in every version of the file: damage
    /// of the medium.
    ///
    /// # Errors
    /// `NotFound`, or `UnexpectedEof` when the file is shorter.
    pub fn flip(&self, path: &Path, offset: u64, mask: u8) -> io::Result<()> {
        let path = normalize(path)?;
        let mut state = self.shared.lock();
        let file = state.find_file(&path)?;
        if offset >= state.disk.file(file).live().len_bytes() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        state.apply(&path, Change::Flip { file, offset, mask });
        state.mirror(file, offset, offset + 1);
        Ok(())
    }

    /// All bytes of a file as a running program sees them; no operation, never fails on purpose.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn file_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = normalize(path)?;
        let state = self.shared.lock();
        let live = state.disk.file(state.find_file(&path)?).live();
        let len = usize::try_from(live.len_bytes()).expect("file lengths are bounded");
        let mut bytes = vec![0; len];
        live.read(&mut bytes, 0);
        Ok(bytes)
    }

    /// Paths of all files, ascending.
    #[must_use]
    pub fn file_paths(&self) -> Vec<String> {
        self.shared.lock().disk.names().live_paths()
    }
}

impl Vfs for SimVfs {
    fn open(&self, path: &Path, options: OpenOptions) -> io::Result<Arc<dyn VfsFile>> {
        Ok(Arc::new(self.open_file(path, options)?))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let path = normalize(path)?;
        let mut state = self.shared.lock();
        state.begin(OperationKind::Lock, "lock", &path, 0, 0)?;
        let take = |state: &mut State| -> io::Result<()> {
            if state.disk.names().find(&path).is_none() {
                state.create_file(&path)?;
            }
            take_lock(state, &path, LockMode::Exclusive)
        };
        take(&mut state).map_err(|error| named("lock", &path, error))?;
        Ok(Box::new(SimLock {
            shared: self.shared.clone(),
            path,
        }))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let path = normalize(path)?;
        let mut state = self.shared.lock();
        state.begin(OperationKind::Lock, "lock", &path, 0, 0)?;
        let taken = match state.disk.names().find(&path) {
            Some(_) => take_lock(&mut state, &path, LockMode::Shared),
            None => Err(state.missing(&path)),
        };
        taken.map_err(|error| named("lock", &path, error))?;
        Ok(Box::new(SimLock {
            shared: self.shared.clone(),
            path,
        }))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.on_name(
            path,
            OperationKind::CreateDirectory,
            "create directory",
            |state, path| {
                if path.is_empty() {
                    Ok(())
                } else {
                    state.create_directory(path)
                }
            },
        )
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.on_name(path, OperationKind::Look, "list", |state, path| {
            state.list(path)
        })
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.on_name(
            path,
            OperationKind::Look,
            "look up",
            |state, path| match state.disk.names().find(path) {
                Some(_) => Ok(true),
                None => match state.missing(path) {
                    error if error.kind() == io::ErrorKind::NotFound => Ok(false),
                    error => Err(error),
                },
            },
        )
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let to = normalize(to)?;
        self.on_name(from, OperationKind::Rename, "rename", |state, from| {
            state.rename(from, &to)
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.on_name(path, OperationKind::Remove, "remove", |state, path| {
            state.find_file(path)?;
            state.apply(path, Change::Remove { path: path.clone() });
            Ok(())
        })
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.on_name(
            path,
            OperationKind::Remove,
            "remove directory",
            |state, path| {
                state.check_directory(path)?;
                if path.is_empty() {
                    return Err(io::ErrorKind::ResourceBusy.into()); // The root stays.
                }
                state.apply(path, Change::Remove { path: path.clone() });
                Ok(())
            },
        )
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let operation = "make durable the directory";
        self.on_name(
            path,
            OperationKind::SyncDirectory,
            operation,
            |state, path| {
                state.check_directory(path)?;
                let change = if state.lies.skip_directory_sync {
                    Change::Nothing
                } else {
                    Change::SyncDirectory { path: path.clone() }
                };
                state.apply(path, change);
                Ok(())
            },
        )
    }

    fn unix_nanos(&self) -> u64 {
        let mut state = self.shared.lock();
        state.elapsed_nanos += CLOCK_READ_NANOS;
        state.epoch_nanos.saturating_add(state.elapsed_nanos)
    }

    fn monotonic_nanos(&self) -> u64 {
        let mut state = self.shared.lock();
        state.elapsed_nanos += CLOCK_READ_NANOS;
        state.elapsed_nanos
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.shared.lock().entropy.fill(buffer);
    }
}

impl SimVfs {
    pub(crate) fn open_file(&self, path: &Path, options: OpenOptions) -> io::Result<SimFile> {
        let path = normalize(path)?;
        let mut state = self.shared.lock();
        let operation = if options.mode == OpenMode::CreateNew {
            "create"
        } else {
            "open"
        };
        state.begin(OperationKind::Open, operation, &path, 0, 0)?;
        let file = state
            .open(&path, options.mode)
            .map_err(|error| named(operation, &path, error))?;
        let is_direct = options.direct && !state.refuses_direct;
        let is_writable = options.mode != OpenMode::Read;
        Ok(SimFile::new(
            self.shared.clone(),
            file,
            path,
            is_direct,
            is_writable,
        ))
    }

    /// One operation on a name: counted, traced, failed when planned, errors named.
    fn on_name<T>(
        &self,
        path: &Path,
        kind: OperationKind,
        operation: &'static str,
        run: impl FnOnce(&mut State, &Arc<str>) -> io::Result<T>,
    ) -> io::Result<T> {
        let path = normalize(path)?;
        let mut state = self.shared.lock();
        state.begin(kind, operation, &path, 0, 0)?;
        run(&mut state, &path).map_err(|error| named(operation, &path, error))
    }
}

struct SimLock {
    shared: Arc<Shared>,
    path: Arc<str>,
}

impl FileLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.shared.lock().locks.release(self.path.to_string());
    }
}

fn take_lock(state: &mut State, path: &str, mode: LockMode) -> io::Result<()> {
    match state.locks.take(path.to_owned(), mode) {
        true => Ok(()),
        false => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// The path below the root, such as `db/journal`.
fn normalize(path: &Path) -> io::Result<Arc<str>> {
    let mut text = String::new();
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => {
                let name = name.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
                if !text.is_empty() {
                    text.push('/');
                }
                text.push_str(name);
            }
            Component::ParentDir | Component::Prefix(_) => {
                return Err(io::ErrorKind::InvalidFilename.into());
            }
        }
    }
    Ok(text.into())
}

/// Draws images with any chooser; for `history`.
pub(crate) fn image_of(
    disk: &DiskState,
    chooser: &mut dyn Chooser,
    seed: u64,
    epoch_nanos: u64,
) -> Arc<SimVfs> {
    SimVfs::with_disk(disk.crash(chooser), seed, epoch_nanos)
}

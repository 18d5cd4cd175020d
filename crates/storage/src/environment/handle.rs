//! The handle that programs hold. Closing happens when the last one is dropped.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use jackdaw_io::Vfs;

use super::check::{CheckLevel, CheckReport};
use super::error::{OpenError, WriteError};
use super::meters::MeterReport;
use super::open::{Opened, open};
use super::operation::WriteHandle;
use super::options::Options;
use super::read_only::open_read_only;
use super::recovery::RecoveryReport;
use super::scrub::ScrubStep;
use super::shared::{Shared, lock};
use super::statistics::Statistics;
use super::warm_up::{WarmUp, WarmUpProgress, WarmUpReport};
use crate::backup::{BackupError, BackupReport, Progress};
use crate::error::StorageError;
use crate::transaction::{ReadTransaction, SnapshotError, WriteTransaction};

/// Kept pages that one transaction looks at while a snapshot is dropped.
const DROPPED_IMAGES_MAX: usize = 2_000;

/// A directory of named trees with transactions. Cheap to clone; safe to share between threads.
///
/// Dropping the last handle flushes and syncs everything, so the next open has nothing to replay. A
/// write transaction counts as a handle. A read transaction does not, but the directory cannot be
/// opened again before it ends.
#[derive(Clone)]
pub struct Environment {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    recovery: RecoveryReport,
    flusher: Mutex<Option<JoinHandle<()>>>,
}

impl Environment {
    /// Opens the environment in `directory`, creating it when that is missing or empty and
    /// `options.create` is set. Replays the journal when it was not closed in order.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing on disk was changed, except by a replay that was interrupted.
    pub fn open(
        vfs: Arc<dyn Vfs>,
        directory: &Path,
        options: Options,
    ) -> Result<Environment, OpenError> {
        let Opened { shared, recovery } = open(vfs, directory, options)?;
        let flusher = match options.background_flush {
            false => None,
            true => {
                let shared = Arc::clone(&shared);
                let thread = jackdaw_io::spawn("jd-flusher", move || shared.run_flusher_thread());
                Some(thread.map_err(|error| OpenError::Thread(error.to_string()))?)
            }
        };
        let inner = Inner {
            shared,
            recovery,
            flusher: Mutex::new(flusher),
        };
        inner.shared.share_loaded();
        Ok(Environment {
            inner: Arc::new(inner),
        })
    }

    /// Opens the environment in `directory` for reading only. Not a byte on the disk changes, so a
    /// read-only mount will do: a journal that was not closed in order is replayed into memory,
    /// which takes as much as the pages that it changed. Several processes may read at once; while
    /// one does, nobody can open the environment for writing. Writes are refused with
    /// [`StorageError::ReadOnly`].
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::InUse`] while somebody has it open for writing.
    pub fn open_read_only(vfs: Arc<dyn Vfs>, directory: &Path) -> Result<Environment, OpenError> {
        let Opened { shared, recovery } = open_read_only(vfs, directory)?;
        let inner = Inner {
            shared,
            recovery,
            flusher: Mutex::new(None),
        };
        inner.shared.share_loaded();
        Ok(Environment {
            inner: Arc::new(inner),
        })
    }

    /// A snapshot of everything that is durable now.
    ///
    /// # Errors
    /// [`StorageError::Limit`] when 65,536 snapshots are open.
    pub fn read(&self) -> Result<ReadTransaction, StorageError> {
        ReadTransaction::begin(&self.inner.shared)
    }

    /// Takes a snapshot under `name` that stays readable until it is dropped, across restarts too.
    /// It sees everything that was answered before this call. Copies nothing; afterwards each page
    /// that it sees is kept when it is changed for the first time. Backups have it too.
    ///
    /// # Errors
    /// [`SnapshotError::Name`], [`SnapshotError::Exists`], [`SnapshotError::BeingDropped`]; see
    /// [`WriteError`].
    pub fn create_snapshot(&self, name: &str) -> Result<(), WriteError<SnapshotError>> {
        let name = name.to_owned();
        self.write(move |transaction| transaction.create_snapshot(&name))
    }

    /// The named snapshot `name`, to read; [`ReadTransaction::snapshots`] lists all. Keep the read
    /// transaction short, as any other: see [`ReadTransaction::into_snapshot`].
    ///
    /// # Errors
    /// [`SnapshotError::Missing`], also while it is being dropped; else as for
    /// [`Environment::read`].
    pub fn read_snapshot(&self, name: &str) -> Result<ReadTransaction, SnapshotError> {
        let found = self.read()?.into_snapshot(name)?;
        found.ok_or_else(|| SnapshotError::Missing {
            name: name.to_owned(),
        })
    }

    /// Drops a named snapshot and gives back what was kept for it alone, in as many transactions
    /// as it takes, between which others go on. Interrupted, it is listed as being dropped, and the
    /// same call goes on with it.
    ///
    /// # Errors
    /// [`SnapshotError::Missing`]; see [`WriteError`].
    pub fn drop_snapshot(&self, name: &str) -> Result<(), WriteError<SnapshotError>> {
        let mut begun = None;
        loop {
            let name = name.to_owned();
            let drop_part = move |transaction: &mut WriteTransaction| {
                transaction.drop_part(&name, begun, DROPPED_IMAGES_MAX)
            };
            begun = self.write(drop_part)?;
            if begun.is_none() {
                return Ok(());
            }
        }
    }

    /// Runs `operation`, together with whatever else waits, and returns when it is durable: on the
    /// writer thread, or on this one when nothing else is on its way. When it fails or panics, its
    /// changes alone are taken back.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn write<T, E>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.inner.shared.write(operation)
    }

    /// [`Environment::write`] without waiting. Blocks only while the queue is full.
    pub fn submit<T, E>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
    ) -> WriteHandle<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.inner.shared.submit_with_handle(operation)
    }

    /// [`Environment::write`] that calls `done` with the outcome, on a thread of the engine or of
    /// another writer; it must not block. Blocks only while the queue is full.
    pub fn submit_then<T, E>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
        done: impl FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.inner.shared.submit(operation, done);
    }

    /// [`Environment::submit_then`] that runs the operation, makes it durable and calls `done` on
    /// this thread when nothing else is on its way: that saves the changes of threads, and costs
    /// the caller the time of a durable write. `done` must not wait for anything, not even for a
    /// lock that the caller holds.
    pub fn write_then<T, E>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
        done: impl FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.inner.shared.write_then(operation, done);
    }

    /// [`Environment::submit_then`] for a `notify` that only hands the outcome on, to a channel or
    /// to a task: it takes microseconds and waits for nothing, not for the writer either. Whichever
    /// thread has made the operation durable calls it, which saves waking another one.
    pub fn submit_notifying<T, E>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
        notify: impl FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.inner.shared.submit_notifying(operation, notify);
    }

    /// Whether [`Environment::write_then`] would most likely run on this thread, and take less than
    /// a millisecond as durable writes did lately.
    pub fn is_idle(&self) -> bool {
        self.inner.shared.is_idle_and_quick()
    }

    /// The exclusive writer, on this thread. Waits while another one is active.
    ///
    /// # Errors
    /// [`StorageError::Poisoned`] after a failed write, [`StorageError::ReadOnly`].
    pub fn begin_write(&self) -> Result<WriteTransaction, StorageError> {
        let shared = &self.inner.shared;
        if let Some(refusal) = shared.refusal() {
            return Err(refusal);
        }
        shared.wait_for_room();
        let writer = shared.take_writer();
        match WriteTransaction::begin(shared, writer) {
            Ok(transaction) => Ok(transaction.keep_open(self.clone())),
            Err(refused) => {
                let (writer, error) = *refused;
                shared.return_writer(writer);
                Err(error)
            }
        }
    }

    /// Moves everything that no open snapshot prevents into the data file and syncs it, and gives
    /// long runs of free pages back to the file system.
    ///
    /// # Errors
    /// A full disk leaves everything as it was; any other failure poisons the environment.
    pub fn flush(&self) -> Result<(), StorageError> {
        self.inner.shared.write_sealed();
        self.inner.shared.flush(false)?;
        self.inner.shared.give_space_back();
        Ok(())
    }

    /// Waits until every operation queued before is durable.
    ///
    /// # Errors
    /// When the environment is poisoned.
    pub fn wait_for_queued(&self) -> Result<(), StorageError> {
        match self.write(|_| Ok::<(), Infallible>(())) {
            Ok(()) => Ok(()),
            Err(_) => Err(self
                .inner
                .shared
                .refusal()
                .unwrap_or(StorageError::Poisoned)),
        }
    }

    /// Looks for damage; see [`CheckLevel`]. Writers go on meanwhile.
    ///
    /// # Errors
    /// When looking itself failed. Damage is in the report, not an error.
    pub fn check(&self, level: CheckLevel) -> Result<CheckReport, StorageError> {
        self.inner.shared.check(level)
    }

    /// Reads and validates the next `bytes_max` bytes or a little more of the data file, past the
    /// system's cache; call it now and then to find rot while there are other copies. Pages that
    /// wait in memory to be written are left for the next pass.
    ///
    /// # Errors
    /// When reading itself failed. Damage is in the result, not an error.
    pub fn scrub(&self, bytes_max: u64) -> Result<ScrubStep, StorageError> {
        self.inner.shared.scrub(bytes_max)
    }

    /// Makes a full backup in the directory `to`, which must be missing or empty, of one moment
    /// near the end of the call. Readers, writers and flushes go on meanwhile; the journal grows by
    /// what is written. Every page of the backup is verified before it counts as one.
    ///
    /// # Errors
    /// See [`BackupError`]. An interrupted backup is begun anew by the same call.
    pub fn backup(&self, to: &Path, progress: Progress<'_>) -> Result<BackupReport, BackupError> {
        self.inner.shared.back_up(to, progress)
    }

    /// Adds to the backup in `to` what was committed since it was made or last brought up to date.
    /// Needs the journal since then: see
    /// [`Options::journal_archive_bytes`](super::Options::journal_archive_bytes).
    ///
    /// # Errors
    /// See [`BackupError`]. What an interrupted call added is part of the backup.
    pub fn backup_increment(&self, to: &Path) -> Result<BackupReport, BackupError> {
        self.inner.shared.back_up_increment(to)
    }

    /// Reads pages before requests need them: branches of all trees first, then leaves, up to a
    /// budget of bytes and with few reads at once. `progress` is called on this thread now and
    /// then, and ends it by breaking.
    ///
    /// # Errors
    /// [`StorageError::Limit`] when too many snapshots are open, damage of the catalog, or threads
    /// could not be started. A damaged page of a tree is counted, not an error.
    pub fn warm_up(
        &self,
        warm_up: WarmUp,
        progress: WarmUpProgress<'_>,
    ) -> Result<WarmUpReport, StorageError> {
        self.inner.shared.warm_up(warm_up, progress)
    }

    /// Whether there are open snapshots. They keep the files locked when the environment is closed.
    #[must_use]
    pub fn has_readers(&self) -> bool {
        self.inner.shared.readers.count() > 0
    }

    /// The moment's numbers.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.inner.shared.statistics(&self.inner.recovery)
    }

    /// What its I/O took: histograms since opening, the last events, a summary of each minute.
    #[must_use]
    pub fn meters(&self) -> Vec<MeterReport> {
        self.inner.shared.meter_reports()
    }

    /// Lets go of pages of the data file that are resident in memory; they come back from the
    /// system's cache when touched.
    pub fn release_resident(&self) {
        self.inner.shared.give_up_all_loaded();
        self.inner.shared.view.release_resident();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.shared);
        shared.keep_loaded();
        let flusher = lock(&self.flusher).take();
        if !shared.is_engine_thread() {
            return close(&shared, flusher);
        }
        // A callback or an operation held the last handle: its thread cannot wait for itself.
        let closing = Arc::clone(&shared);
        let closer = jackdaw_io::spawn("jd-closer", move || close(&closing, flusher));
        if closer.is_err() {
            // All threads still end, and the next open replays the journal.
            shared.request_merger_stop();
            shared.stop_flusher();
        }
    }
}

fn close(shared: &Shared, flusher: Option<JoinHandle<()>>) {
    shared.stop_merger();
    shared.stop_flusher();
    if let Some(flusher) = flusher {
        // A panic of the flusher has been reported by the panic hook.
        let _ = flusher.join();
    }
    shared.write_sealed();
    // What could not be flushed is in the journal, and the next open replays it.
    if shared.flush(true).is_ok() {
        shared.give_space_back();
        shared.cut_growth_off();
    }
}

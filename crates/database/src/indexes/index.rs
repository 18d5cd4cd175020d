//! An open index: its environment, how far it has come, and who waits for it.
//!
//! Threads: the worker writes; queries read and wait.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackdaw_base::time::UnixTicks;
use jackdaw_io::Vfs;
use jackdaw_query::{Etag, Scope};
use jackdaw_search::IndexReader;
use jackdaw_storage::{
    Environment, OpenError as StorageOpenError, Options, ReadTransaction, StorageError,
};

use super::definition::IndexDefinition;
use crate::changes::Hub;
use crate::directory::Directory;
use crate::error::{OpenError, ReadError};

/// An index at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// What it is about.
    pub definition: IndexDefinition,
    /// Names its directory.
    pub number: u32,
    /// Documents in it.
    pub entry_count: u64,
    /// Changes up to here are in it.
    pub indexed_up_to: Etag,
    /// Whether documents of its scope have changed since.
    pub is_stale: bool,
    /// Etags between its position and the last change of its scope: no less than the number of
    /// changes it has not seen.
    pub lag: u64,
    /// When it last took changes in.
    pub last_indexed: Option<UnixTicks>,
    /// When it last answered a query.
    pub last_query: Option<UnixTicks>,
    /// Why it stopped, when it did.
    pub failure: Option<String>,
    /// Bytes of its files.
    pub bytes: u64,
}

/// How far an index has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// Position in its environment.
    pub(super) indexed_up_to: Etag,
    /// Up to here no document of its scope has changed that is not in it.
    pub(super) caught_up_to: Etag,
    pub(super) entry_count: u64,
    pub(super) last_indexed: Option<UnixTicks>,
    pub(super) failure: Option<String>,
}

/// See the file head.
pub(crate) struct Index {
    pub(crate) number: u32,
    pub(crate) definition: IndexDefinition,
    pub(super) environment: Environment,
    progress: Mutex<Progress>,
    moved: Condvar,
    is_stopping: AtomicBool,
    /// Queries that wait for it.
    waiting: AtomicU32,
    /// Ticks; 0 for never.
    last_query: AtomicI64,
    /// The last field: removed when the environment is closed.
    directory: Directory,
}

impl Index {
    /// Opens the index of a definition. One that is damaged, of another version, or ahead of
    /// `last_etag` begins anew.
    pub(super) fn open(
        vfs: &Arc<dyn Vfs>,
        path: PathBuf,
        number: u32,
        definition: IndexDefinition,
        options: Options,
        last_etag: Etag,
    ) -> Result<Index, OpenError> {
        let opened = Environment::open(Arc::clone(vfs), &path, options);
        let usable = match opened {
            Ok(environment) => usable_progress(&environment, last_etag).map(|p| (environment, p)),
            Err(error) if is_damage(&error) => {
                tracing::warn!(index = %definition.name, %error, "an index is made again");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let (environment, progress) = match usable {
            Some(usable) => usable,
            None => {
                let io = |source| OpenError::Io {
                    what: "removal",
                    path: path.clone(),
                    source: Arc::new(source),
                };
                vfs.remove_directory(&path).map_err(io)?;
                let environment = Environment::open(Arc::clone(vfs), &path, options)?;
                (environment, Progress::default())
            }
        };
        Ok(Index {
            number,
            definition,
            environment,
            progress: Mutex::new(progress),
            moved: Condvar::new(),
            is_stopping: AtomicBool::new(false),
            waiting: AtomicU32::new(0),
            last_query: AtomicI64::new(0),
            directory: Directory::new(Arc::clone(vfs), path),
        })
    }

    /// A snapshot of its content.
    pub(crate) fn read(&self) -> Result<ReadTransaction, ReadError> {
        Ok(self.environment.read()?)
    }

    pub(super) fn progress(&self) -> Progress {
        self.lock().clone()
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.lock());
        self.moved.notify_all();
    }

    /// Ends it for good, with a reason. A query that needs it makes another.
    pub(crate) fn fail(&self, why: &str) {
        tracing::error!(index = %self.definition.name, why, "an index stopped");
        self.update(|progress| progress.failure = Some(why.to_owned()));
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.lock().failure.is_some()
    }

    /// Whether changes up to `target` are in it.
    pub(crate) fn is_caught_up(&self, target: Etag) -> bool {
        self.lock().caught_up_to >= target
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Makes the worker end soon.
    pub(super) fn stop(&self, hub: &Hub) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.moved.notify_all();
        hub.wake();
    }

    pub(super) fn delete_on_close(&self) {
        self.directory.delete_on_close();
    }

    /// Waits until changes up to `target` are in it; whether they are.
    pub(crate) fn wait(&self, target: Etag, timeout: Duration, hub: &Hub) -> bool {
        if self.is_caught_up(target) {
            return true;
        }
        let deadline = Instant::now() + timeout;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        hub.wake();
        let mut progress = self.lock();
        let is_done = loop {
            if progress.caught_up_to >= target {
                break true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || progress.failure.is_some() || self.is_stopping() {
                break false;
            }
            let waited = self.moved.wait_timeout(progress, left);
            progress = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(progress);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        is_done
    }

    pub(crate) fn note_query(&self, at: UnixTicks) {
        self.last_query.store(at.0, Ordering::Relaxed);
    }

    pub(crate) fn last_query(&self) -> Option<UnixTicks> {
        let ticks = self.last_query.load(Ordering::Relaxed);
        (ticks != 0).then_some(UnixTicks(ticks))
    }

    pub(crate) fn last_indexed(&self) -> Option<UnixTicks> {
        self.lock().last_indexed
    }

    /// Its numbers, `last_etag` being that of the last change of its scope.
    pub(super) fn info(&self, last_etag: Etag) -> IndexInfo {
        let progress = self.progress();
        let storage = self.environment.statistics();
        let is_stale = last_etag > progress.caught_up_to.max(progress.indexed_up_to);
        IndexInfo {
            definition: self.definition.clone(),
            number: self.number,
            entry_count: progress.entry_count,
            indexed_up_to: progress.indexed_up_to,
            is_stale,
            lag: match is_stale {
                true => last_etag.0.saturating_sub(progress.indexed_up_to.0),
                false => 0,
            },
            last_indexed: progress.last_indexed,
            last_query: self.last_query(),
            failure: progress.failure,
            bytes: storage.file_bytes + storage.journal_live_bytes,
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.definition.scope
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the files are of no use, as opposed to a machine that refuses to read them.
fn is_damage(error: &StorageOpenError) -> bool {
    matches!(
        error,
        StorageOpenError::NotAnEnvironment { .. }
            | StorageOpenError::Version { .. }
            | StorageOpenError::MetaDamaged { .. }
            | StorageOpenError::Storage(StorageError::Corrupt(_))
    )
}

/// How far a stored index has come; `None` when it cannot be used.
fn usable_progress(environment: &Environment, last_etag: Etag) -> Option<Progress> {
    let transaction = environment.read().ok()?;
    let reader = match IndexReader::open(&transaction) {
        Ok(Some(reader)) => reader,
        Ok(None) => return Some(Progress::default()),
        Err(_) => return None,
    };
    let indexed_up_to = Etag(reader.indexed_up_to());
    (indexed_up_to <= last_etag).then(|| Progress {
        indexed_up_to,
        caught_up_to: indexed_up_to,
        entry_count: reader.entry_count(),
        ..Progress::default()
    })
}

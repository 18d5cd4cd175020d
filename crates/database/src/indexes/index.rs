//! An open index: its environment, how far it has come, and who waits for it.
//!
//! Threads: the worker writes; queries read and wait.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_io::Vfs;
use jackdaw_model::Etag;
use jackdaw_search::{CatalogCache, Columns, IndexReader};
use jackdaw_storage::{
    Environment, OpenError as StorageOpenError, Options, ReadTransaction, StorageError,
};

use super::definition::IndexDefinition;
use super::statics::{
    self, IndexState, IndexingError, Meta, Programs, REPLACEMENT_PREFIX, SourceType,
};
use crate::changes::{Hub, IndexNews, Target};
use crate::directory::Directory;
use crate::error::{OpenError, ReadError, WriteError};
use crate::store::trees::SETTINGS;

/// Most memory of the columns that an index keeps for orders and facets: four bytes for each entry
/// and field, so eight million of them.
const COLUMNS_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Whether an index works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStatus {
    /// It does.
    Running,
    /// Not until it is started, or the database is opened anew.
    Paused,
    /// Not until it is enabled; or it cannot.
    Disabled,
}

/// What an index has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexWork {
    /// Documents mapped.
    pub map_attempts: u64,
    /// Those of them that failed.
    pub map_errors: u64,
    /// Documents mapped again because of what they load; `None` when maps load nothing.
    pub reference_attempts: Option<u64>,
    /// Groups reduced; `None` without a reduce.
    pub reduce_attempts: Option<u64>,
    /// Those of them that failed.
    pub reduce_errors: u64,
    /// Most entries that a document gave.
    pub outputs_max: u32,
}

/// An index at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexInfo {
    /// What it is about.
    pub definition: Arc<IndexDefinition>,
    /// Names its directory.
    pub number: u32,
    /// Entries in it.
    pub entry_count: u64,
    /// Changes up to here are in it.
    pub indexed_up_to: Etag,
    /// Whether documents that count for it have changed since.
    pub is_stale: bool,
    /// Etags between its position and the last change that counts for it: no less than the number
    /// of changes it has not seen.
    pub lag: u64,
    /// When it last took changes in.
    pub last_indexed: Option<UnixTicks>,
    /// When it last answered a query.
    pub last_query: Option<UnixTicks>,
    /// Why it stopped, when it did.
    pub failure: Option<String>,
    /// Bytes of its files.
    pub bytes: u64,
    /// Whether it works.
    pub status: IndexStatus,
    /// What it goes over.
    pub source_type: SourceType,
    /// Collections that it maps, as its definition writes them; empty for all documents.
    pub collections: Vec<String>,
    /// Collections that its maps load from, in lower case.
    pub referenced: Vec<String>,
    /// Errors kept.
    pub error_count: u64,
    /// What it has done.
    pub work: IndexWork,
}

impl IndexInfo {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.definition.name()
    }
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
    pub(super) error_count: u64,
    /// Compare-exchange was looked at up to here.
    pub(super) exchange_up_to: u64,
}

/// See the file head.
pub(crate) struct Index {
    pub(crate) number: u32,
    definition: RwLock<Arc<IndexDefinition>>,
    /// Compiled, for a static index that is not broken.
    programs: Option<Arc<Programs>>,
    pub(super) environment: Environment,
    /// Of its newest snapshot, for queries.
    pub(crate) columns: Columns,
    pub(crate) catalog: CatalogCache,
    progress: Mutex<Progress>,
    moved: Condvar,
    is_stopping: AtomicBool,
    /// Its files have an older format: it is read until another takes its place.
    is_outdated: bool,
    is_paused: AtomicBool,
    /// Queries that wait for it.
    waiting: AtomicU32,
    /// Ticks; 0 for never.
    last_query: AtomicI64,
    /// The last field: removed when the environment is closed.
    directory: Directory,
}

impl Index {
    /// Opens the index of a definition. One that is damaged, of another version, or ahead of
    /// `last_etag` is built again.
    ///
    /// # Errors
    /// [`OpenError::NotAnIndex`]: the directory holds something else, which stays as it is.
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
            Ok(environment) if is_of_documents(&environment) => {
                return Err(OpenError::NotAnIndex(path));
            }
            Ok(environment) => {
                let progress = usable_progress(&environment, last_etag);
                if progress.is_none() {
                    let index = definition.name();
                    tracing::warn!(index, "an index cannot be read and is made again");
                }
                progress.map(|progress| (environment, progress))
            }
            Err(StorageOpenError::NotAnEnvironment { .. }) => {
                return Err(OpenError::NotAnIndex(path));
            }
            Err(error) if is_damage(&error) => {
                tracing::warn!(index = definition.name(), %error, "an index is made again");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let is_outdated = usable
            .as_ref()
            .is_some_and(|(environment, _)| is_outdated(environment));
        let usable = match is_outdated {
            true if is_replaceable(&definition) => {
                tracing::warn!(
                    index = definition.name(),
                    "an index has an older format; it answers until it is made again next to itself"
                );
                usable
            }
            true => {
                let index = definition.name();
                tracing::warn!(index, "an index has an older format and is made again");
                drop(usable);
                None
            }
            false => usable,
        };
        let is_outdated = is_outdated && usable.is_some();
        let (environment, progress) = match usable {
            Some(usable) => usable,
            None if !holds_only_files_of_an_environment(&**vfs, &path) => {
                return Err(OpenError::NotAnIndex(path));
            }
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
        let mut progress = progress;
        let programs = match definition.as_static().map(Programs::compile) {
            None => None,
            Some(Ok(programs)) => Some(Arc::new(programs)),
            Some(Err(error)) => {
                progress.failure = Some(error.to_string());
                None
            }
        };
        Ok(Index {
            number,
            definition: RwLock::new(Arc::new(definition)),
            programs,
            environment,
            columns: Columns::new(COLUMNS_BYTES_MAX),
            catalog: CatalogCache::default(),
            progress: Mutex::new(progress),
            moved: Condvar::new(),
            is_stopping: AtomicBool::new(false),
            is_outdated,
            is_paused: AtomicBool::new(false),
            waiting: AtomicU32::new(0),
            last_query: AtomicI64::new(0),
            directory: Directory::new(Arc::clone(vfs), path),
        })
    }

    /// What it is about.
    pub(crate) fn definition(&self) -> Arc<IndexDefinition> {
        let definition = self.definition.read();
        Arc::clone(&definition.unwrap_or_else(PoisonError::into_inner))
    }

    /// Says otherwise what it is about: its maps stay the same.
    pub(super) fn redefine(&self, definition: IndexDefinition) {
        let mut current = self
            .definition
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(definition);
    }

    /// Its compiled maps, when it is a static one that is not broken.
    pub(crate) fn programs(&self) -> Option<&Arc<Programs>> {
        self.programs.as_ref()
    }

    /// Tells those who listen what became of it.
    pub(super) fn tell(&self, hub: &Hub, kind: &'static str) {
        hub.report_index(&IndexNews {
            name: self.definition().name().to_owned(),
            kind,
        });
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
        tracing::error!(index = self.definition().name(), why, "an index stopped");
        self.update(|progress| progress.failure = Some(why.to_owned()));
    }

    /// As [`Index::fail`], also after a restart: until it is reset, or its definition changes.
    pub(super) fn fail_for_good(&self, why: &str) {
        let text = why.to_owned();
        let kept = self
            .environment
            .write(move |transaction| -> Result<(), WriteError> {
                Ok(statics::store_failure(transaction, &text)?)
            });
        if let Err(error) = kept {
            tracing::warn!(index = self.definition().name(), %error, "it is tried after a restart");
        }
        self.fail(why);
    }

    /// Why it stopped for good, when it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.lock().failure.is_some()
    }

    /// Whether changes up to `target` are in it.
    pub(crate) fn is_caught_up(&self, target: Target) -> bool {
        self.has_reached(&self.lock(), target)
    }

    fn has_reached(&self, progress: &Progress, target: Target) -> bool {
        let uses_exchange = self
            .programs
            .as_ref()
            .is_some_and(|programs| programs.uses_exchange);
        progress.caught_up_to >= target.etag
            && (!uses_exchange || progress.exchange_up_to >= target.exchange)
    }

    /// Whether it works.
    pub(crate) fn status(&self) -> IndexStatus {
        let definition = self.definition();
        let state = definition.as_static().map(|definition| definition.state);
        if state == Some(IndexState::Disabled) || self.has_failed() {
            IndexStatus::Disabled
        } else if self.is_paused.load(Ordering::Relaxed) {
            IndexStatus::Paused
        } else {
            IndexStatus::Running
        }
    }

    /// Makes it pause after its present batch, or go on.
    pub(super) fn pause(&self, is_paused: bool, hub: &Hub) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
        hub.wake();
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
    pub(crate) fn wait(&self, target: Target, timeout: Duration, hub: &Hub) -> bool {
        if self.is_caught_up(target) {
            return true;
        }
        let deadline = Instant::now() + timeout;
        self.waiting.fetch_add(1, Ordering::Relaxed);
        hub.wake();
        let mut progress = self.lock();
        let is_done = loop {
            if self.has_reached(&progress, target) {
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

    /// Its numbers, `last_etag` being that of the last change that counts for it, and `exchange`
    /// the index of the last change of compare-exchange.
    pub(super) fn info(&self, last_etag: Etag, exchange: u64) -> Result<IndexInfo, ReadError> {
        let progress = self.progress();
        let storage = self.environment.statistics();
        let definition = self.definition();
        let is_stale = match &self.programs {
            None => last_etag > progress.caught_up_to.max(progress.indexed_up_to),
            Some(_) => {
                let target = Target {
                    etag: last_etag,
                    exchange,
                };
                !self.has_reached(&progress, target)
            }
        };
        let (source_type, collections, referenced, work) = match &self.programs {
            None => {
                let collections = match definition.as_auto().map(|definition| &definition.scope) {
                    Some(jackdaw_model::Scope::Collection(name)) => vec![name.clone()],
                    _ => Vec::new(),
                };
                let work = IndexWork {
                    map_attempts: progress.entry_count,
                    outputs_max: 1,
                    ..IndexWork::default()
                };
                (SourceType::Documents, collections, Vec::new(), work)
            }
            Some(programs) => {
                let meta = Meta::read(&self.read()?)?;
                let references = !programs.referenced().is_empty() || programs.uses_exchange;
                let work = IndexWork {
                    map_attempts: meta.map_attempts,
                    map_errors: meta.map_errors,
                    reference_attempts: references.then_some(meta.reference_attempts),
                    reduce_attempts: programs.reduce.as_ref().map(|_| meta.reduce_attempts),
                    reduce_errors: meta.reduce_errors,
                    outputs_max: meta.outputs_max,
                };
                let collections = programs.written_collections();
                (
                    programs.source_type(),
                    collections,
                    programs.referenced().to_vec(),
                    work,
                )
            }
        };
        Ok(IndexInfo {
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
            status: self.status(),
            source_type,
            collections,
            referenced,
            error_count: progress.error_count,
            work,
            definition,
        })
    }

    /// Whether it is to take the place of another.
    pub(super) fn is_replacement(&self) -> bool {
        self.definition().name().starts_with(REPLACEMENT_PREFIX)
    }

    /// Whether it is only read, until another takes its place.
    pub(crate) fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// Whether documents of one of these collections count for it.
    pub(super) fn is_about(&self, collections: &[String]) -> bool {
        match &self.programs {
            None => {
                let definition = self.definition();
                collections
                    .iter()
                    .any(|name| definition.scope().contains(name))
            }
            Some(programs) => {
                let own = programs.collections();
                collections.iter().any(|name| {
                    let folded = lowercase(name).into_owned();
                    own.as_ref().is_none_or(|own| own.contains(&folded))
                        || programs.referenced().contains(&folded)
                })
            }
        }
    }

    /// Forgets the errors kept of it.
    pub(super) fn clear_errors(&self) -> Result<(), WriteError> {
        self.environment
            .write(|transaction| -> Result<(), WriteError> {
                Ok(statics::clear_errors(transaction)?)
            })
            .map_err(WriteError::from)?;
        self.update(|progress| progress.error_count = 0);
        Ok(())
    }

    /// Errors kept of it, oldest first.
    pub(super) fn errors(&self) -> Result<Vec<IndexingError>, ReadError> {
        statics::load_errors(&self.read()?)
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the terms of an index are those of an older format.
fn is_outdated(environment: &Environment) -> bool {
    let reader = environment.read().ok();
    let reader = reader.as_ref().map(IndexReader::open);
    matches!(reader, Some(Ok(Some(reader))) if reader.is_outdated())
}

/// Whether an index can be made again next to the old one: automatic ones are completed by the
/// documents themselves meanwhile, and what is to replace another answers nothing yet.
fn is_replaceable(definition: &IndexDefinition) -> bool {
    let own = definition.as_static();
    own.is_some_and(|own| {
        !own.name.starts_with(REPLACEMENT_PREFIX) && Programs::compile(own).is_ok()
    })
}

/// Whether the files are of no use, as opposed to a machine that refuses to read them.
fn is_damage(error: &StorageOpenError) -> bool {
    matches!(
        error,
        StorageOpenError::MetaMissing { .. }
            | StorageOpenError::Version { .. }
            | StorageOpenError::MetaDamaged { .. }
            | StorageOpenError::Storage(StorageError::Corrupt(_))
    ) || is_file_missing(error)
}

/// Whether a file of the environment is not there.
fn is_file_missing(error: &StorageOpenError) -> bool {
    matches!(
        error,
        StorageOpenError::Storage(StorageError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound
    )
}

/// Whether there are only files that an environment has, so that an index may be made again there.
fn holds_only_files_of_an_environment(vfs: &dyn Vfs, path: &Path) -> bool {
    let names = ["LOCK", "data.jd", "meta", "meta.tmp", "journal", "compact"];
    let marks = ["creating.tmp", "deleting.tmp"];
    vfs.list(path).is_ok_and(|entries| {
        let mut entries = entries.iter().map(|entry| entry.name.as_str());
        entries.all(|name| names.contains(&name) || marks.contains(&name))
    })
}

/// Whether documents are in an environment: of a directory that was copied here.
fn is_of_documents(environment: &Environment) -> bool {
    let transaction = environment.read();
    transaction.is_ok_and(|transaction| transaction.tree(SETTINGS).is_ok_and(|tree| tree.is_some()))
}

/// How far a stored index has come; `None` when it cannot be used.
fn usable_progress(environment: &Environment, last_etag: Etag) -> Option<Progress> {
    let transaction = environment.read().ok()?;
    let failure = statics::load_failure(&transaction).ok()?;
    let reader = match IndexReader::open(&transaction) {
        Ok(Some(reader)) => reader,
        Ok(None) => {
            return Some(Progress {
                failure,
                ..Progress::default()
            });
        }
        Err(_) => return None,
    };
    let indexed_up_to = Etag(reader.indexed_up_to());
    let meta = Meta::read(&transaction).ok()?;
    (indexed_up_to <= last_etag).then(|| Progress {
        indexed_up_to,
        // The worker looks whether documents were put off.
        caught_up_to: if meta.is_empty() {
            indexed_up_to
        } else {
            Etag(0)
        },
        entry_count: reader.entry_count(),
        last_indexed: meta.last_batch,
        error_count: statics::error_count(&transaction).unwrap_or(0),
        failure,
        exchange_up_to: meta.exchange_up_to(),
    })
}

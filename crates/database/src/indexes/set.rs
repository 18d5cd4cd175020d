//! All indexes of a database: opening them, choosing one for a query, making and removing them.
//! What is asked of those that somebody defined is in `administration`.
//!
//! Invariants:
//! - An index exists when the documents' environment has its definition. A directory without one is
//!   left alone, unless it is marked as unfinished (`marks`).
//! - An index that cannot use the directory of its number, because something else is in it, takes
//!   another number; nothing is removed for it.
//! - Numbers of indexes are never used twice.
//! - Every worker has ended when the set is dropped.

use std::collections::HashSet;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use jackdaw_base::lowercase::lowercase;
use jackdaw_model::{Etag, Scope};
use jackdaw_query::IndexRequirement;
use jackdaw_storage::{Environment, Options, WriteTransaction};

use super::automatic::AutoDefinition;
use super::definition::IndexDefinition;
use super::index::{Index, IndexInfo, IndexStatus};
use super::statics::{REPLACEMENT_PREFIX, SourceType};
use super::worker::Worker;
use crate::changes::Target;
use crate::database::Core;
use crate::error::{DatabaseError, OpenError, ReadError, WriteError};
use crate::marks;
use crate::snapshot::Snapshot;
use crate::store::trees::{INDEXES, SETTINGS};

const LAST_NUMBER_KEY: &[u8] = b"last_index_number";

/// See the file head. Dropping it ends the workers, which know the set and do not keep it.
pub(crate) struct Indexes(Arc<IndexSet>);

impl Deref for Indexes {
    type Target = IndexSet;

    fn deref(&self) -> &IndexSet {
        &self.0
    }
}

/// See the file head.
pub(crate) struct IndexSet {
    all: RwLock<Vec<Arc<Index>>>,
    /// Held while indexes are made or removed.
    changing: Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether indexes made now begin paused.
    is_paused: AtomicBool,
    pub(super) documents: Environment,
    pub(super) core: Arc<Core>,
    directory: PathBuf,
    options: Options,
}

impl Indexes {
    /// Opens the indexes that the documents' environment defines and starts their workers.
    pub(crate) fn open(
        documents: Environment,
        core: Arc<Core>,
        directory: PathBuf,
        options: Options,
    ) -> Result<Indexes, OpenError> {
        let definitions = load_definitions(&documents)?;
        let set = IndexSet {
            all: RwLock::default(),
            changing: Mutex::default(),
            threads: Mutex::default(),
            is_paused: AtomicBool::new(false),
            documents,
            core,
            directory,
            options,
        };
        set.complete_unfinished(&definitions)?;
        let indexes = Indexes(Arc::new(set));
        for (number, definition) in definitions {
            match indexes.0.start(number, definition.clone()) {
                Err(OpenError::NotAnIndex(path)) => {
                    let path = path.display();
                    tracing::warn!(%path, "the directory of an index holds something else");
                    indexes.0.move_away(number, definition)?;
                }
                started => {
                    marks::clear(&*indexes.core.vfs, &indexes.path(number))
                        .map_err(|error| OpenError::io("opening", &indexes.path(number), error))?;
                    started.map(drop)?;
                }
            }
        }
        indexes.0.replace_outdated()?;
        Ok(indexes)
    }

    /// The set, for what makes indexes.
    pub(crate) fn set(&self) -> &Arc<IndexSet> {
        &self.0
    }
}

impl IndexSet {
    /// Removes what an interrupted creation or deletion left, and reports other unknown
    /// directories.
    fn complete_unfinished(&self, known: &[(u32, IndexDefinition)]) -> Result<(), OpenError> {
        let known: HashSet<u64> = known.iter().map(|(number, _)| u64::from(*number)).collect();
        let vfs = &*self.core.vfs;
        let io = |source| OpenError::io("removal of old indexes", &self.directory, source);
        vfs.create_directory(&self.directory).map_err(io)?;
        let found = marks::unknown(vfs, &self.directory, |number| known.contains(&number));
        marks::complete(vfs, found.map_err(io)?, "index").map_err(io)?;
        Ok(())
    }

    /// Makes indexes of older formats again, next to the old ones.
    fn replace_outdated(self: &Arc<IndexSet>) -> Result<(), OpenError> {
        for index in self.all().iter().filter(|index| index.is_outdated()) {
            let definition = index.definition();
            let Some(own) = definition.as_static() else {
                continue;
            };
            let name = replacement_name(&own.name);
            // An earlier opening may have begun.
            if self.find(&name).is_some() {
                continue;
            }
            let mut own = own.clone();
            own.name = name;
            let definition = IndexDefinition::Static(Box::new(own));
            let number = self.begin(&definition, None)?;
            self.start(number, definition)?;
            self.end_creation(number);
        }
        Ok(())
    }

    fn path(&self, number: u32) -> PathBuf {
        self.directory.join(number.to_string())
    }

    /// Makes an index under another number, because something else is in its directory.
    fn move_away(
        self: &Arc<IndexSet>,
        number: u32,
        definition: IndexDefinition,
    ) -> Result<(), OpenError> {
        let key = number.to_be_bytes();
        let new = self.begin(&definition, Some(key))?;
        self.start(new, definition)?;
        self.end_creation(new);
        Ok(())
    }

    /// Stores a definition under a number whose directory is new, and marks the directory. The
    /// definition under `old_key` is replaced.
    fn begin(
        &self,
        definition: &IndexDefinition,
        old_key: Option<[u8; 4]>,
    ) -> Result<u32, OpenError> {
        let vfs = &*self.core.vfs;
        let io = |source| OpenError::io("creation of an index", &self.directory, source);
        let number = loop {
            let next = self.documents.write(next_number);
            let number = next.map_err(WriteError::from)?;
            if !vfs.exists(&self.path(number)).map_err(io)? {
                break number;
            }
        };
        marks::begin_creation(vfs, &self.path(number)).map_err(io)?;
        let bytes = definition.encode();
        let store = move |transaction: &mut WriteTransaction| -> Result<(), WriteError> {
            let mut definitions = transaction.tree_mut(INDEXES)?;
            if let Some(old_key) = old_key {
                definitions.delete(&old_key)?;
            }
            definitions.put(&number.to_be_bytes(), bytes.as_bytes())?;
            Ok(())
        };
        self.documents.write(store).map_err(WriteError::from)?;
        Ok(number)
    }

    fn end_creation(&self, number: u32) {
        let path = self.path(number);
        if let Err(error) = marks::end_creation(&*self.core.vfs, &path) {
            // The next opening removes it.
            tracing::warn!(path = %path.display(), %error, "the mark of a creation stays");
        }
    }

    /// Opens an index and starts its worker.
    pub(super) fn start(
        self: &Arc<IndexSet>,
        number: u32,
        definition: IndexDefinition,
    ) -> Result<Arc<Index>, OpenError> {
        let path = self.path(number);
        let last_etag = self.core.hub.last_etag();
        let vfs = &self.core.vfs;
        let index = Index::open(vfs, path, number, definition, self.options, last_etag)?;
        let index = Arc::new(index);
        let documents = self.documents.clone();
        if index.has_failed() || index.is_outdated() {
            // Its definition is kept; there is nothing that a worker could do.
            let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
            all.push(Arc::clone(&index));
            return Ok(index);
        }
        if self.is_paused.load(Ordering::Relaxed) {
            index.pause(true, &self.core.hub);
        }
        let worker = Worker {
            index: Arc::clone(&index),
            documents,
            core: Arc::clone(&self.core),
            set: Arc::downgrade(self),
        };
        let thread = jackdaw_io::spawn(&format!("jd-index-{number}"), move || worker.run());
        let thread = thread.map_err(|error| OpenError::Thread(error.to_string()))?;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::clone(&index));
        Ok(index)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Index>> {
        self.all
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The index called `name`, in any letter case.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Index>> {
        let folded = lowercase(name);
        let all = self.all();
        all.into_iter()
            .find(|index| lowercase(index.definition().name()) == folded)
    }

    /// The index that answers `requirement` best; `None` when none does.
    pub(crate) fn choose(&self, requirement: &IndexRequirement) -> Option<Arc<Index>> {
        let candidates = self.all().into_iter().filter_map(|index| {
            let definition = index.definition();
            let own = definition.as_auto()?;
            let answers = own.is_of(&requirement.scope)
                && requirement.is_met_by(&own.fields)
                && !index.has_failed();
            let rank = (index.progress().caught_up_to, own.fields.len());
            answers.then_some((rank, index))
        });
        let best = candidates.max_by_key(|(rank, _)| *rank);
        best.map(|(_, index)| index)
    }

    /// The index that answers `requirement`, made when there is none; whether it was made now. A
    /// new one is named after the collection as the query spells it.
    pub(crate) fn obtain(
        self: &Arc<IndexSet>,
        mut requirement: IndexRequirement,
    ) -> Result<(Arc<Index>, bool), DatabaseError> {
        if let Some(index) = self.choose(&requirement) {
            self.remove_superseded(&index)?;
            return Ok((index, false));
        }
        let changing = self.changing();
        if let Some(index) = self.choose(&requirement) {
            return Ok((index, false));
        }
        let is_auto = |index: &Arc<Index>| index.definition().as_auto().is_some();
        for failed in self
            .all()
            .iter()
            .filter(|index| index.has_failed() && is_auto(index))
        {
            self.remove(failed)?;
        }
        let others: Vec<_> = self.all().iter().map(|other| other.definition()).collect();
        let same_scope = others
            .iter()
            .filter_map(|other| other.as_auto())
            .filter(|other| other.is_of(&requirement.scope));
        if let Some(best) = same_scope.max_by_key(|other| other.fields.len()) {
            requirement.merge(&best.fields);
        }
        let definition = IndexDefinition::Auto(AutoDefinition::new(requirement));
        let index = self.make(definition)?;
        drop(changing);
        Ok((index, true))
    }

    /// Stores a definition under a number of its own and opens its index. The caller holds
    /// `changing`.
    pub(super) fn make(
        self: &Arc<IndexSet>,
        definition: IndexDefinition,
    ) -> Result<Arc<Index>, DatabaseError> {
        let number = self.begin(&definition, None)?;
        let index = self.start(number, definition)?;
        self.end_creation(number);
        index.tell(&self.core.hub, "IndexAdded");
        Ok(index)
    }

    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether indexes made from now on begin paused.
    pub(super) fn pause_new(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Relaxed);
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// Removes the indexes whose queries `index` answers as well, once it has caught up with them.
    fn remove_superseded(&self, index: &Arc<Index>) -> Result<(), DatabaseError> {
        let definition = index.definition();
        let Some(own) = definition.as_auto() else {
            return Ok(());
        };
        let is_needless = |other: &Arc<Index>| {
            let supersedes = other
                .definition()
                .as_auto()
                .is_some_and(|other| own.supersedes(other));
            supersedes && index.progress().caught_up_to >= other.progress().caught_up_to
        };
        if !self.all().iter().any(is_needless) {
            return Ok(());
        }
        let Ok(_changing) = self.changing.try_lock() else {
            return Ok(());
        };
        for other in self.all().iter().filter(|other| is_needless(other)) {
            self.remove(other)?;
        }
        Ok(())
    }

    /// Removes the index called `name`; false when there is none.
    pub(crate) fn delete(&self, name: &str) -> Result<bool, DatabaseError> {
        let _changing = self.changing();
        match self.find(name) {
            Some(index) => {
                if let Some(replacement) = self.find(&replacement_name(name)) {
                    self.remove(&replacement)?;
                }
                self.remove(&index).map(|()| true)
            }
            None => Ok(false),
        }
    }

    /// Removes an index; its files go when its worker and its last query have ended.
    pub(super) fn remove(&self, index: &Arc<Index>) -> Result<(), DatabaseError> {
        let key = index.number.to_be_bytes();
        self.documents
            .write(move |transaction| -> Result<(), WriteError> {
                transaction.tree_mut(INDEXES)?.delete(&key)?;
                Ok(())
            })
            .map_err(WriteError::from)?;
        self.forget(index);
        index.tell(&self.core.hub, "IndexRemoved");
        Ok(())
    }

    /// Closes an index whose definition is gone.
    pub(super) fn forget(&self, index: &Arc<Index>) {
        {
            let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
            all.retain(|other| other.number != index.number);
        }
        index.delete_on_close();
        index.stop(&self.core.hub);
    }

    /// Numbers of all indexes.
    pub(crate) fn infos(&self, snapshot: &Snapshot) -> Result<Vec<IndexInfo>, ReadError> {
        self.all()
            .iter()
            .map(|index| self.info(index, snapshot))
            .collect()
    }

    fn info(&self, index: &Arc<Index>, snapshot: &Snapshot) -> Result<IndexInfo, ReadError> {
        index.info(last_etag_for(index, snapshot)?, snapshot.exchange_index()?)
    }

    /// The environments of all indexes.
    pub(crate) fn environments(&self) -> Vec<Environment> {
        let all = self.all();
        all.iter().map(|index| index.environment.clone()).collect()
    }

    pub(crate) fn release_resident(&self) {
        for index in self.all() {
            index.environment.release_resident();
        }
    }

    /// Whether no index has anything to do, or is paused until the database is closed.
    pub(crate) fn are_at_rest(&self, target: Target) -> bool {
        !self.is_paused()
            && self.all().iter().all(|index| match index.status() {
                IndexStatus::Paused => false,
                IndexStatus::Disabled => true,
                IndexStatus::Running => !index.is_replacement() && index.is_caught_up(target),
            })
    }

    /// Waits until every index has taken in changes up to `target`; whether all have.
    pub(crate) fn wait(&self, target: Target, timeout: std::time::Duration) -> bool {
        let deadline = std::time::Instant::now() + timeout;
        self.all()
            .iter()
            .filter(|index| !index.has_failed() && !index.is_replacement())
            .all(|index| {
                let left = deadline.saturating_duration_since(std::time::Instant::now());
                index.wait(target, left, &self.core.hub)
            })
    }
}

/// Etag of the last change that counts for an index.
fn last_etag_for(index: &Index, snapshot: &Snapshot) -> Result<Etag, ReadError> {
    let Some(programs) = index.programs() else {
        return snapshot.last_etag_of(index.definition().scope());
    };
    if programs.source_type() != SourceType::Documents {
        return Ok(snapshot.last_etag());
    }
    let Some(collections) = programs.collections() else {
        return snapshot.last_etag_of(&Scope::All);
    };
    let mut last = Etag(0);
    for name in collections
        .into_iter()
        .chain(programs.referenced().iter().cloned())
    {
        last = last.max(snapshot.last_etag_of(&Scope::Collection(name))?);
    }
    Ok(last)
}

/// The name of the index that is to replace another.
pub(super) fn replacement_name(name: &str) -> String {
    format!("{REPLACEMENT_PREFIX}{name}")
}

impl Drop for Indexes {
    fn drop(&mut self) {
        for index in self.all() {
            index.stop(&self.core.hub);
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic of a worker has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn next_number(transaction: &mut WriteTransaction) -> Result<u32, WriteError> {
    let mut settings = transaction.tree_mut(SETTINGS)?;
    let last = match settings.get(LAST_NUMBER_KEY)? {
        None => 0,
        Some(bytes) => {
            let damaged = |_| ReadError::damaged("the number of the last index");
            u32::from_le_bytes(bytes.try_into().map_err(damaged)?)
        }
    };
    let number = last + 1;
    settings.put(LAST_NUMBER_KEY, &number.to_le_bytes())?;
    Ok(number)
}

/// Numbers of the indexes that an environment of documents defines.
pub(crate) fn definition_numbers(documents: &Environment) -> Result<Vec<u32>, OpenError> {
    let definitions = load_definitions(documents)?;
    Ok(definitions.into_iter().map(|(number, _)| number).collect())
}

fn load_definitions(documents: &Environment) -> Result<Vec<(u32, IndexDefinition)>, OpenError> {
    let transaction = documents.read()?;
    let mut definitions = Vec::new();
    let Some(stored) = transaction.tree(INDEXES)? else {
        return Ok(definitions);
    };
    for entry in stored.iter()? {
        let (key, value) = entry?;
        let number = <[u8; 4]>::try_from(&key.to_vec()[..]);
        let number = number.map_err(|_| ReadError::damaged("the number of an index"))?;
        definitions.push((u32::from_be_bytes(number), IndexDefinition::decode(value)?));
    }
    Ok(definitions)
}

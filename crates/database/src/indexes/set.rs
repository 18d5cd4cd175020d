//! All indexes of a database: opening them, choosing one for a query, making and removing them.
//!
//! Invariants:
//! - An index exists when the documents' environment has its definition; directories without one
//!   are left over and removed when the database is opened.
//! - Numbers of indexes are never used twice.
//! - Every worker has ended when the set is dropped.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use jackdaw_base::lowercase::lowercase;
use jackdaw_query::{Etag, IndexRequirement, Scope};
use jackdaw_storage::{Environment, Options, WriteTransaction};

use super::definition::IndexDefinition;
use super::index::{Index, IndexInfo};
use super::worker::Worker;
use crate::database::Core;
use crate::error::{DatabaseError, OpenError, ReadError, WriteError};
use crate::snapshot::Snapshot;
use crate::store::trees::{INDEXES, SETTINGS};

const LAST_NUMBER_KEY: &[u8] = b"last_index_number";

/// See the file head.
pub(crate) struct Indexes {
    all: RwLock<Vec<Arc<Index>>>,
    /// Held while indexes are made or removed.
    changing: Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    documents: Environment,
    core: Arc<Core>,
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
        let indexes = Indexes {
            all: RwLock::default(),
            changing: Mutex::default(),
            threads: Mutex::default(),
            documents,
            core,
            directory,
            options,
        };
        indexes.remove_unknown_directories(&definitions)?;
        for (number, definition) in definitions {
            indexes.start(number, definition)?;
        }
        Ok(indexes)
    }

    fn remove_unknown_directories(
        &self,
        known: &[(u32, IndexDefinition)],
    ) -> Result<(), OpenError> {
        let known: HashSet<String> = known.iter().map(|(number, _)| number.to_string()).collect();
        let vfs = &self.core.vfs;
        let io = |source| OpenError::Io {
            what: "removal of old indexes",
            path: self.directory.clone(),
            source: Arc::new(source),
        };
        vfs.create_directory(&self.directory).map_err(io)?;
        for entry in vfs.list(&self.directory).map_err(io)? {
            let is_ours = entry.is_directory && entry.name.parse::<u32>().is_ok();
            if is_ours && !known.contains(&entry.name) {
                vfs.remove_directory(&self.directory.join(&entry.name))
                    .map_err(io)?;
            }
        }
        Ok(())
    }

    /// Opens an index and starts its worker.
    fn start(&self, number: u32, definition: IndexDefinition) -> Result<Arc<Index>, OpenError> {
        let path = self.directory.join(number.to_string());
        let last_etag = self.core.hub.last_etag();
        let vfs = &self.core.vfs;
        let index = Index::open(vfs, path, number, definition, self.options, last_etag)?;
        let index = Arc::new(index);
        let documents = self.documents.clone();
        let worker = Worker::new(Arc::clone(&index), documents, Arc::clone(&self.core));
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
            .find(|index| lowercase(&index.definition.name) == folded)
    }

    /// The index that answers `requirement` best; `None` when none does.
    pub(crate) fn choose(&self, requirement: &IndexRequirement) -> Option<Arc<Index>> {
        let answers = |index: &Arc<Index>| {
            index.definition.is_of(&requirement.scope)
                && requirement.is_met_by(&index.definition.fields)
                && !index.has_failed()
        };
        let candidates = self.all().into_iter().filter(answers);
        candidates.max_by_key(|index| {
            let progress = index.progress();
            (progress.caught_up_to, index.definition.fields.len())
        })
    }

    /// The index that answers `requirement`, made when there is none; whether it was made now.
    pub(crate) fn obtain(
        &self,
        mut requirement: IndexRequirement,
    ) -> Result<(Arc<Index>, bool), DatabaseError> {
        if let Some(index) = self.choose(&requirement) {
            self.remove_superseded(&index)?;
            return Ok((index, false));
        }
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = self.choose(&requirement) {
            return Ok((index, false));
        }
        for failed in self.all().iter().filter(|index| index.has_failed()) {
            self.remove(failed)?;
        }
        self.spell_scope(&mut requirement)?;
        let others = self.all();
        let same_scope = others
            .iter()
            .filter(|other| other.definition.is_of(&requirement.scope));
        if let Some(best) = same_scope.max_by_key(|other| other.definition.fields.len()) {
            requirement.merge(&best.definition.fields);
        }
        let definition = IndexDefinition::new(requirement);
        let stored = definition.clone();
        let number = self
            .documents
            .write(move |transaction| store_definition(transaction, &stored))
            .map_err(WriteError::from)?;
        let index = self.start(number, definition)?;
        drop(changing);
        Ok((index, true))
    }

    /// Names the collection as its first document does.
    fn spell_scope(&self, requirement: &mut IndexRequirement) -> Result<(), ReadError> {
        let Scope::Collection(name) = &mut requirement.scope else {
            return Ok(());
        };
        let snapshot = Snapshot::new(self.documents.read()?, Arc::clone(&self.core))?;
        if let Some(info) = snapshot.collection(name)? {
            *name = info.name;
        }
        Ok(())
    }

    /// Removes the indexes whose queries `index` answers as well, once it has caught up with them.
    fn remove_superseded(&self, index: &Arc<Index>) -> Result<(), DatabaseError> {
        let is_needless = |other: &Arc<Index>| {
            index.definition.supersedes(&other.definition)
                && index.is_caught_up(other.progress().caught_up_to)
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
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        match self.find(name) {
            Some(index) => self.remove(&index).map(|()| true),
            None => Ok(false),
        }
    }

    /// Removes an index; its files go when its worker and its last query have ended.
    fn remove(&self, index: &Arc<Index>) -> Result<(), DatabaseError> {
        let key = index.number.to_be_bytes();
        self.documents
            .write(move |transaction| -> Result<(), WriteError> {
                transaction.tree_mut(INDEXES)?.delete(&key)?;
                Ok(())
            })
            .map_err(WriteError::from)?;
        {
            let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
            all.retain(|other| other.number != index.number);
        }
        index.delete_on_close();
        index.stop(&self.core.hub);
        Ok(())
    }

    /// Numbers of all indexes.
    pub(crate) fn infos(&self, snapshot: &Snapshot) -> Result<Vec<IndexInfo>, ReadError> {
        let all = self.all();
        let info = |index: &Arc<Index>| Ok(index.info(snapshot.last_etag_of(index.scope())?));
        all.iter().map(info).collect()
    }

    pub(crate) fn release_resident(&self) {
        for index in self.all() {
            index.environment.release_resident();
        }
    }

    /// Waits until every index has taken in changes up to `target`; whether all have.
    pub(crate) fn wait(&self, target: Etag, timeout: std::time::Duration) -> bool {
        let deadline = std::time::Instant::now() + timeout;
        self.all()
            .iter()
            .filter(|index| !index.has_failed())
            .all(|index| {
                let left = deadline.saturating_duration_since(std::time::Instant::now());
                index.wait(target, left, &self.core.hub)
            })
    }
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

fn store_definition(
    transaction: &mut WriteTransaction,
    definition: &IndexDefinition,
) -> Result<u32, WriteError> {
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
    let bytes = definition.encode();
    transaction
        .tree_mut(INDEXES)?
        .put(&number.to_be_bytes(), bytes.as_bytes())?;
    Ok(number)
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

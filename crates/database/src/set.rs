//! The databases of a data directory: a catalog of names, and a directory for each database.
//!
//! `catalog/` is an environment that knows names, numbers and records; `databases/<number>/` holds
//! one database. Databases are opened when they are first asked for, and closed at rest (`rest`).
//!
//! Invariants:
//! - A database exists when the catalog says so. A directory that it does not name is left alone,
//!   unless a mark says that its creation or deletion was interrupted (`marks`).
//! - A database that the catalog names is never made anew: without its documents it is refused.
//! - Numbers are never used twice, so a name that is deleted and created again gets a new place.
//!
//! Threads: any. Creating and deleting wait for the disk.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use jackdaw_io::{Vfs, lacks_key};
use jackdaw_model::NodeTag;
use jackdaw_storage::{
    BackupError, Environment, OpenError as StorageOpenError, Options, WriteTransaction,
};

use crate::backup_places::is_half_restored;
use crate::database::{DOCUMENTS_DIRECTORY, Database, DatabaseOptions};
use crate::directory::Directory;
use crate::error::{OpenError, ReadError, SetError, WriteError};
use crate::marks::{self, UnknownDirectory};
use crate::names::check_database;
use crate::rest::RestRules;
use crate::slot::{Found, Slot, Wake};

pub(crate) const CATALOG_DIRECTORY: &str = "catalog";
pub(crate) const DATABASES_DIRECTORY: &str = "databases";
/// The only directory inside of a data directory that backups may be made in.
pub const BACKUPS_DIRECTORY: &str = "backups";
/// Lower-cased name to entry.
const ENTRIES: &str = "databases";
/// Numbers of the set as a whole.
const COUNTERS: &str = "counters";
/// Name to text: settings of the server as a whole.
const SETTINGS: &str = "settings";
const LAST_NUMBER_KEY: &[u8] = b"last_number";
const LAST_INDEX_KEY: &[u8] = b"last_index";
const ENTRY_VERSION: u8 = 1;
const ENTRY_HEAD_BYTES: usize = 24;

/// What the catalog knows of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseEntry {
    /// Its name in the spelling of its creation.
    pub name: String,
    /// Grows with each change of any entry; of this entry's last change.
    pub index: u64,
    /// The text that [`DatabaseSet::create`] or [`DatabaseSet::change_record`] made.
    pub record: String,
}

pub(crate) struct Known {
    number: u64,
    name: String,
    entry: Mutex<DatabaseEntry>,
    pub(crate) slot: Slot,
}

impl Known {
    pub(crate) fn entry(&self) -> DatabaseEntry {
        lock(&self.entry).clone()
    }
}

/// All databases of a data directory.
pub struct DatabaseSet {
    vfs: Arc<dyn Vfs>,
    directory: PathBuf,
    options: DatabaseOptions,
    catalog: Environment,
    known: RwLock<BTreeMap<String, Arc<Known>>>,
    /// Held while the catalog changes.
    changing: Mutex<()>,
    /// Requests come: see [`DatabaseSet::begin_serving`].
    rest_rules: Mutex<Option<RestRules>>,
}

impl DatabaseSet {
    /// Tag of the node.
    #[must_use]
    pub fn node(&self) -> &NodeTag {
        &self.options.node
    }

    /// Opens a data directory, creating it when it is missing or empty.
    ///
    /// # Errors
    /// Another process uses it, or see [`OpenError`].
    pub fn open(
        vfs: Arc<dyn Vfs>,
        directory: &Path,
        options: DatabaseOptions,
    ) -> Result<DatabaseSet, OpenError> {
        if is_half_restored(&*vfs, directory) {
            return Err(OpenError::HalfRestored(directory.to_owned()));
        }
        let io = |what| {
            move |source: std::io::Error| OpenError::Io {
                what,
                path: directory.to_owned(),
                source: Arc::new(source),
            }
        };
        // Creating it with a key may have ended before there was a catalog.
        if lacks_key(&*vfs, directory).map_err(io("opening"))? {
            return Err(OpenError::Environment(StorageOpenError::Encrypted {
                path: directory.to_owned(),
            }));
        }
        let catalog_options = Options {
            scratch_bytes: 16 << 20,
            journal_bytes: 16 << 20,
            background_flush: false,
            ..options.documents
        };
        if options.documents.create {
            // As a whole, before its parts: it may be the top of what is encrypted with one key.
            vfs.create_directory(directory).map_err(io("creation"))?;
        }
        let path = directory.join(CATALOG_DIRECTORY);
        let catalog = match Environment::open(Arc::clone(&vfs), &path, catalog_options) {
            Err(StorageOpenError::Missing { .. }) if has_databases(&*vfs, directory)? => {
                return Err(OpenError::CatalogMissing(directory.to_owned()));
            }
            opened => opened?,
        };
        let known = load(&catalog)?;
        let set = DatabaseSet {
            vfs,
            directory: directory.to_owned(),
            options,
            catalog,
            known: RwLock::new(known),
            changing: Mutex::new(()),
            rest_rules: Mutex::default(),
        };
        set.complete_unfinished()?;
        Ok(set)
    }

    /// Removes what an interrupted creation or deletion left, and reports other unknown
    /// directories.
    fn complete_unfinished(&self) -> Result<(), OpenError> {
        let path = self.directory.join(DATABASES_DIRECTORY);
        if self.options.documents.create {
            let create = self.vfs.create_directory(&path);
            create.map_err(|error| OpenError::io("creation", &path, error))?;
        }
        let found = self.list_unknown()?;
        marks::complete(&*self.vfs, found, "database")
            .map_err(|error| OpenError::io("removal", &path, error))?;
        Ok(())
    }

    /// Directories of numbers that the catalog does not name.
    pub(crate) fn list_unknown(&self) -> Result<Vec<UnknownDirectory>, OpenError> {
        let path = self.directory.join(DATABASES_DIRECTORY);
        let numbers: HashSet<u64> = self.numbered().iter().map(|(number, _)| *number).collect();
        marks::unknown(&*self.vfs, &path, |number| numbers.contains(&number))
            .map_err(|error| OpenError::io("listing", &path, error))
    }

    /// The data directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file system of the data directory.
    pub(crate) fn vfs(&self) -> &Arc<dyn Vfs> {
        &self.vfs
    }

    pub(crate) fn catalog(&self) -> &Environment {
        &self.catalog
    }

    /// Keeps databases from being created or deleted.
    pub(crate) fn hold_changes(&self) -> MutexGuard<'_, ()> {
        lock(&self.changing)
    }

    /// Numbers of all databases, which name their directories, with their names.
    #[must_use]
    pub fn numbered(&self) -> Vec<(u64, String)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let numbered = known
            .values()
            .map(|known| (known.number, known.name.clone()));
        numbered.collect()
    }

    /// Says that requests come from now on: what works on a closed database for long opens it, so
    /// that requests need not wait for its end, and opening one keeps to the rules.
    pub fn begin_serving(&self, rules: RestRules) {
        *lock(&self.rest_rules) = Some(rules);
    }

    pub(crate) fn rest_rules(&self) -> Option<RestRules> {
        lock(&self.rest_rules).clone()
    }

    /// Runs `work` on the documents of a database, which are opened for it when the database is not
    /// open; `None` when it was deleted.
    pub(crate) fn with_documents<T>(
        &self,
        number: u64,
        work: impl FnOnce(&Environment) -> Result<T, BackupError>,
    ) -> Result<Option<T>, BackupError> {
        let mut all = self.all_known().into_iter();
        let Some(known) = all.find(|known| known.number == number) else {
            return Ok(None);
        };
        // One that cannot be opened as a whole may have sound documents.
        if self.rest_rules().is_some()
            && let Ok(Some(database)) = self.open_known(&known)
        {
            return work(database.documents()).map(Some);
        }
        match known.slot.get() {
            Found::Deleted => Ok(None),
            Found::Open(database) => work(database.documents()).map(Some),
            // Held to the end, so that nobody opens the same files meanwhile.
            Found::Closed(_turn) => {
                let options = Options {
                    background_flush: false,
                    create: false,
                    ..self.options.documents
                };
                let path = self.database_directory(number).join(DOCUMENTS_DIRECTORY);
                let documents = Environment::open(Arc::clone(&self.vfs), &path, options)?;
                work(&documents).map(Some)
            }
        }
    }

    /// All databases, in the order of their lower case.
    pub(crate) fn all_known(&self) -> Vec<Arc<Known>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().cloned().collect()
    }

    /// Names of all databases, in the order of their lower case.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().map(|known| known.name.clone()).collect()
    }

    /// What the catalog knows of the database called `name`, in any letter case.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<DatabaseEntry> {
        self.find(name).map(|known| known.entry())
    }

    /// The database called `name`, in any letter case, opened if it is not open; `None` when there
    /// is none. Waits while it is being opened or closed.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn get(&self, name: &str) -> Result<Option<Arc<Database>>, OpenError> {
        match self.find(name) {
            Some(known) => {
                self.touch(&known);
                self.open_known(&known)
            }
            None => Ok(None),
        }
    }

    /// The database called `name` if it is open already. Does not wait.
    #[must_use]
    pub fn get_open(&self, name: &str) -> Option<Arc<Database>> {
        let known = self.find(name)?;
        let database = known.slot.peek()?;
        self.touch(&known);
        Some(database)
    }

    /// [`DatabaseSet::get_open`] that does not count as use: for work that no request asked for.
    #[must_use]
    pub fn peek_open(&self, name: &str) -> Option<Arc<Database>> {
        self.find(name)?.slot.peek()
    }

    fn touch(&self, known: &Known) {
        // Zero stands for never.
        known.slot.touch(self.vfs.monotonic_nanos().max(1));
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<Known>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&name.to_ascii_lowercase()).cloned()
    }

    pub(crate) fn open_known(&self, known: &Known) -> Result<Option<Arc<Database>>, OpenError> {
        match known.slot.get() {
            Found::Deleted => Ok(None),
            Found::Open(database) => Ok(Some(database)),
            Found::Closed(turn) => {
                self.make_room();
                let database = Arc::new(self.open_existing(known.number, &known.name)?);
                turn.open(Arc::clone(&database));
                Ok(Some(database))
            }
        }
    }

    /// Opens a database whose documents have to be there.
    pub(crate) fn open_existing(&self, number: u64, name: &str) -> Result<Database, OpenError> {
        let directory = self.database_directory(number);
        let mut options = self.options;
        options.documents.create = false;
        match Database::open(Arc::clone(&self.vfs), &directory, name, &options) {
            Err(OpenError::Environment(StorageOpenError::Missing { path })) => {
                let name = name.to_owned();
                Err(OpenError::DocumentsMissing { name, path })
            }
            Err(error) => Err(error),
            Ok(database) => {
                let clear = marks::clear(&*self.vfs, &directory);
                clear.map_err(|error| OpenError::io("opening", &directory, error))?;
                Ok(database)
            }
        }
    }

    fn database_directory(&self, number: u64) -> PathBuf {
        self.directory
            .join(DATABASES_DIRECTORY)
            .join(number.to_string())
    }

    /// Creates a database. `record` is a text of the caller's, kept as it is.
    ///
    /// # Errors
    /// See [`SetError`]; there is no such database then.
    pub fn create(&self, name: &str, record: &str) -> Result<Arc<Database>, SetError> {
        check_database(name)?;
        let changing = lock(&self.changing);
        if let Some(known) = self.find(name) {
            return Err(SetError::Exists(known.name.clone()));
        }
        self.make_room();
        let (number, directory) = self.free_number()?;
        let io = |error| OpenError::io("creation", &directory, error);
        marks::begin_creation(&*self.vfs, &directory).map_err(io)?;
        let vfs = Arc::clone(&self.vfs);
        let database = Arc::new(Database::open(vfs, &directory, name, &self.options)?);
        self.enter(number, name, record, Some(&database))?;
        if let Err(error) = marks::end_creation(&*self.vfs, &directory) {
            // The next opening of the database removes it.
            tracing::warn!(path = %directory.display(), %error, "the mark of a creation stays");
        }
        drop(changing);
        Ok(database)
    }

    /// A number under which there is nothing, with its directory. The caller holds `changing`.
    fn free_number(&self) -> Result<(u64, PathBuf), SetError> {
        loop {
            let number = self.run(|catalog| next_counter(catalog, LAST_NUMBER_KEY))?;
            let directory = self.database_directory(number);
            let exists = self.vfs.exists(&directory);
            if !exists.map_err(|error| OpenError::io("creation", &directory, error))? {
                return Ok((number, directory));
            }
        }
    }

    /// Enters a database into the catalog, open or closed. The caller holds `changing`.
    pub(crate) fn enter(
        &self,
        number: u64,
        name: &str,
        record: &str,
        database: Option<&Arc<Database>>,
    ) -> Result<(), SetError> {
        let mut entry = DatabaseEntry {
            name: name.to_owned(),
            index: 0,
            record: record.to_owned(),
        };
        let stored = entry.clone();
        entry.index = self.run(move |catalog| store_entry(catalog, number, stored))?;
        let known = Known {
            number,
            name: name.to_owned(),
            entry: Mutex::new(entry),
            slot: Slot::new(database.cloned()),
        };
        self.touch(&known);
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.to_ascii_lowercase(), Arc::new(known));
        Ok(())
    }

    /// Makes a new record of a database from the present one; gives its new index. Two who change
    /// a record do so one after the other, so that neither undoes what the other did.
    ///
    /// # Errors
    /// See [`SetError`]. The inner error is `change`'s own; the record is as before then.
    pub fn change_record<E>(
        &self,
        name: &str,
        change: impl FnOnce(&str) -> Result<String, E>,
    ) -> Result<Result<u64, E>, SetError> {
        let _changing = lock(&self.changing);
        let known = self
            .find(name)
            .ok_or_else(|| SetError::Missing(name.to_owned()))?;
        let mut entry = lock(&known.entry).clone();
        entry.record = match change(&entry.record) {
            Ok(record) => record,
            Err(error) => return Ok(Err(error)),
        };
        let (number, stored) = (known.number, entry.clone());
        entry.index = self.run(move |catalog| store_entry(catalog, number, stored))?;
        let index = entry.index;
        *lock(&known.entry) = entry;
        // What is due may be another matter now.
        known.slot.set_wake(Wake::Unknown);
        Ok(Ok(index))
    }

    /// A setting of the server as a whole with the index of its last change; `None` when it was
    /// never set.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn setting(&self, name: &str) -> Result<Option<(u64, String)>, ReadError> {
        let catalog = self.catalog.read()?;
        let Some(settings) = catalog.tree(SETTINGS)? else {
            return Ok(None);
        };
        let damaged = || ReadError::damaged("a setting of the catalog");
        let Some(bytes) = settings.get(name.as_bytes())? else {
            return Ok(None);
        };
        let (index, text) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let text = std::str::from_utf8(text).map_err(|_| damaged())?;
        Ok(Some((u64::from_le_bytes(*index), text.to_owned())))
    }

    /// Stores a setting of the server as a whole; gives its index.
    ///
    /// # Errors
    /// See [`SetError`].
    pub fn set_setting(&self, name: &'static str, text: &str) -> Result<u64, SetError> {
        let _changing = lock(&self.changing);
        let text = text.to_owned();
        let index = self.run(move |catalog| {
            let index = next_counter(catalog, LAST_INDEX_KEY)?;
            let bytes = [&index.to_le_bytes()[..], text.as_bytes()].concat();
            catalog.tree_mut(SETTINGS)?.put(name.as_bytes(), &bytes)?;
            Ok(index)
        })?;
        Ok(index)
    }

    /// Deletes a database; false when there is none. It can be created again at once. Its files
    /// are removed when nobody uses it any more.
    ///
    /// # Errors
    /// See [`SetError`]; the database is still there then.
    pub fn delete(&self, name: &str) -> Result<bool, SetError> {
        let _changing = lock(&self.changing);
        let Some(known) = self.find(name) else {
            return Ok(false);
        };
        let folded = name.to_ascii_lowercase();
        let key = folded.clone();
        self.run(move |catalog| {
            catalog.tree_mut(ENTRIES)?.delete(key.as_bytes())?;
            next_counter(catalog, LAST_INDEX_KEY)
        })?;
        {
            let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
            all.remove(&folded);
        }
        match known.slot.delete() {
            Some(database) => database.delete_on_close(),
            None => {
                let path = self.database_directory(known.number);
                Directory::new(Arc::clone(&self.vfs), path).delete_on_close();
            }
        }
        Ok(true)
    }

    fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, WriteError> {
        self.catalog.write(operation).map_err(WriteError::from)
    }
}

/// Whether there are directories of databases.
fn has_databases(vfs: &dyn Vfs, directory: &Path) -> Result<bool, OpenError> {
    let path = directory.join(DATABASES_DIRECTORY);
    let found = marks::unknown(vfs, &path, |_| false);
    Ok(!found
        .map_err(|error| OpenError::io("listing", &path, error))?
        .is_empty())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next_counter(catalog: &mut WriteTransaction, key: &[u8]) -> Result<u64, WriteError> {
    let mut counters = catalog.tree_mut(COUNTERS)?;
    let last = match counters.get(key)? {
        None => 0,
        Some(bytes) => {
            let damaged = |_| ReadError::damaged("a counter of the catalog");
            u64::from_le_bytes(bytes.try_into().map_err(damaged)?)
        }
    };
    counters.put(key, &(last + 1).to_le_bytes())?;
    Ok(last + 1)
}

/// Stores an entry under a new index, which it gives.
fn store_entry(
    catalog: &mut WriteTransaction,
    number: u64,
    entry: DatabaseEntry,
) -> Result<u64, WriteError> {
    let index = next_counter(catalog, LAST_INDEX_KEY)?;
    let mut bytes = vec![ENTRY_VERSION, 0];
    let name_len = u16::try_from(entry.name.len()).expect("names are shorter than 129 bytes");
    bytes.extend_from_slice(&name_len.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&index.to_le_bytes());
    bytes.extend_from_slice(entry.name.as_bytes());
    bytes.extend_from_slice(entry.record.as_bytes());
    let key = entry.name.to_ascii_lowercase();
    catalog.tree_mut(ENTRIES)?.put(key.as_bytes(), &bytes)?;
    Ok(index)
}

fn decode_entry(bytes: &[u8]) -> Option<(u64, DatabaseEntry)> {
    let (head, rest) = bytes.split_at_checked(ENTRY_HEAD_BYTES)?;
    (head[0] == ENTRY_VERSION).then_some(())?;
    let name_len = u16::from_le_bytes([head[2], head[3]]);
    let (name, record) = rest.split_at_checked(name_len.into())?;
    let entry = DatabaseEntry {
        name: std::str::from_utf8(name).ok()?.to_owned(),
        index: u64::from_le_bytes(*head[16..].first_chunk()?),
        record: std::str::from_utf8(record).ok()?.to_owned(),
    };
    Some((u64::from_le_bytes(*head[8..].first_chunk()?), entry))
}

/// Numbers and names of the databases that a catalog knows.
pub(crate) fn numbers_in(catalog: &Environment) -> Result<Vec<(u64, String)>, OpenError> {
    let known = load(catalog)?.into_values();
    Ok(known
        .map(|known| (known.number, known.name.clone()))
        .collect())
}

fn load(catalog: &Environment) -> Result<BTreeMap<String, Arc<Known>>, OpenError> {
    let transaction = catalog.read()?;
    let mut all = BTreeMap::new();
    let Some(entries) = transaction.tree(ENTRIES)? else {
        return Ok(all);
    };
    for stored in entries.iter()? {
        let decoded = decode_entry(stored?.1);
        let (number, entry) =
            decoded.ok_or_else(|| ReadError::damaged("an entry of the catalog"))?;
        let known = Known {
            number,
            name: entry.name.clone(),
            slot: Slot::new(None),
            entry: Mutex::new(entry),
        };
        all.insert(known.name.to_ascii_lowercase(), Arc::new(known));
    }
    Ok(all)
}

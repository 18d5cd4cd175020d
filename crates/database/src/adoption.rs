//! Directories of databases that the catalog does not name: listing, adopting, removing them.
//!
//! Called by `jackdaw databases`, `jackdaw check`, `jackdaw doctor` and `/jackdaw/directories`.

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_storage::Environment;

use crate::database::{DOCUMENTS_DIRECTORY, INDEXES_DIRECTORY};
use crate::error::{OpenError, SetError};
use crate::indexes::definition_numbers;
use crate::marks::{self, UnknownDirectory};
use crate::names::check_database;
use crate::set::{CATALOG_DIRECTORY, DATABASES_DIRECTORY, DatabaseSet, numbers_in};

impl DatabaseSet {
    /// Directories below `databases/` that the catalog does not name.
    ///
    /// # Errors
    /// The machine refused.
    pub fn unknown_directories(&self) -> Result<Vec<UnknownDirectory>, OpenError> {
        let _changing = self.hold_changes();
        self.list_unknown()
    }

    /// Enters the unknown directory `number` into the catalog as the database `name`.
    ///
    /// # Errors
    /// See [`SetError`]. The directory stays as it is then.
    pub fn adopt(&self, number: u64, name: &str, record: &str) -> Result<(), SetError> {
        check_database(name)?;
        let _changing = self.hold_changes();
        if let Some(entry) = self.entry(name) {
            return Err(SetError::Exists(entry.name));
        }
        let unknown = self.find_unknown(number)?;
        // Opened once, so that only what can be served gets a name.
        drop(self.open_existing(number, name)?);
        self.enter(number, name, record, None)?;
        marks::clear(&**self.vfs(), &unknown.path)
            .map_err(|source| OpenError::io("marking", &unknown.path, source))?;
        Ok(())
    }

    /// Removes the unknown directory `number` with all that is in it.
    ///
    /// # Errors
    /// See [`SetError`].
    pub fn remove_unknown(&self, number: u64) -> Result<(), SetError> {
        let _changing = self.hold_changes();
        let unknown = self.find_unknown(number)?;
        let vfs = self.vfs();
        let io = |source| OpenError::io("removal", &unknown.path, source);
        marks::begin_deletion(&**vfs, &unknown.path).map_err(io)?;
        marks::remove(&**vfs, &unknown.path).map_err(io)?;
        Ok(())
    }

    fn find_unknown(&self, number: u64) -> Result<UnknownDirectory, SetError> {
        let mut all = self.list_unknown()?.into_iter();
        all.find(|unknown| unknown.number == number)
            .ok_or(SetError::NotUnknown(number))
    }
}

/// What has to be in a data directory, by its catalog.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Inventory {
    /// Environments that have to be there: the catalog, documents, indexes.
    pub expected: Vec<std::path::PathBuf>,
    /// Directories that nothing names.
    pub unknown: Vec<UnknownDirectory>,
    /// Indexes that are not there and are built again at the next opening, as after a restore.
    pub unbuilt_indexes: u64,
}

impl Inventory {
    /// Asks the catalog of `directory`, without changing anything.
    ///
    /// What cannot be read is left out; opening the environments that are named reports why.
    ///
    /// # Errors
    /// The machine refused, or the catalog cannot be opened.
    pub fn of(vfs: &Arc<dyn Vfs>, directory: &Path) -> Result<Inventory, OpenError> {
        let catalog_path = directory.join(CATALOG_DIRECTORY);
        let catalog = Environment::open_read_only(Arc::clone(vfs), &catalog_path)?;
        let known = numbers_in(&catalog)?;
        drop(catalog);
        let mut inventory = Inventory {
            expected: vec![catalog_path],
            ..Inventory::default()
        };
        let databases = directory.join(DATABASES_DIRECTORY);
        for (number, _) in &known {
            inventory.add_database(vfs, &databases.join(number.to_string()))?;
        }
        let is_known = |number| known.iter().any(|(known, _)| *known == number);
        let io = |source| OpenError::io("listing", &databases, source);
        let unknown = marks::unknown(&**vfs, &databases, is_known).map_err(io)?;
        inventory.unknown.extend(unknown);
        Ok(inventory)
    }

    /// Asks the documents of one database.
    ///
    /// # Errors
    /// See [`Inventory::of`].
    pub fn of_database(vfs: &Arc<dyn Vfs>, directory: &Path) -> Result<Inventory, OpenError> {
        let mut inventory = Inventory::default();
        inventory.add_database(vfs, directory)?;
        Ok(inventory)
    }

    fn add_database(&mut self, vfs: &Arc<dyn Vfs>, directory: &Path) -> Result<(), OpenError> {
        let path = directory.join(DOCUMENTS_DIRECTORY);
        self.expected.push(path.clone());
        let Ok(documents) = Environment::open_read_only(Arc::clone(vfs), &path) else {
            return Ok(());
        };
        let numbers = definition_numbers(&documents)?;
        drop(documents);
        let indexes = directory.join(INDEXES_DIRECTORY);
        let io = |source| OpenError::io("listing", &indexes, source);
        let unknown = marks::unknown(&**vfs, &indexes, |number| {
            u32::try_from(number).is_ok_and(|number| numbers.contains(&number))
        });
        self.unknown.extend(unknown.map_err(io)?);
        // A backup leaves all indexes out.
        let is_restored = !vfs.exists(&indexes).map_err(io)?;
        for number in numbers {
            let path = indexes.join(number.to_string());
            if is_restored || marks::is_being_created(&**vfs, &path).map_err(io)? {
                self.unbuilt_indexes += 1;
            } else {
                self.expected.push(path);
            }
        }
        Ok(())
    }
}

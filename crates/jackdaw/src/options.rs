//! How a database is opened, when the defaults do not suit.

use std::path::Path;
use std::sync::Arc;

use jackdaw_database::DatabaseOptions;
use jackdaw_io::{Durability, RealVfs};

use crate::database::Database;
use crate::error::{Error, Result};

/// Options of a database; [`Database::options`] begins them, [`Options::open`] ends them.
///
/// ```no_run
/// use jackdaw::Database;
///
/// let db = Database::options().create(false).memory_bytes(256 << 20).open("music")?;
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    must_exist: bool,
    is_relaxed: bool,
    memory_bytes: Option<u64>,
}

impl Options {
    /// Whether a missing or empty directory becomes a new database; it does by default.
    #[must_use]
    pub fn create(mut self, creates: bool) -> Options {
        self.must_exist = !creates;
        self
    }

    /// Whether writes return before they survive a loss of power; they do not by default. With
    /// `true` they survive the end of the process, and after a loss of power the database is as of
    /// some moment of the last seconds, with all writes before it and none after it.
    #[must_use]
    pub fn relaxed(mut self, is_relaxed: bool) -> Options {
        self.is_relaxed = is_relaxed;
        self
    }

    /// The memory to share with the rest of the program, in bytes: changes that are not in the data
    /// file yet take an eighth of it at most, groups of queries a sixteenth, each index a 32nd.
    /// Without it they take up to 256 MiB, 64 MiB and 128 MiB.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Options {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Opens the database in a directory, which no other process may have open. The parent
    /// directory has to exist.
    ///
    /// After the end of a process that did not close the database, its journal is replayed: up to
    /// 256 MiB are read.
    ///
    /// # Errors
    /// [`Error::Open`], [`Error::Io`], [`Error::Damaged`]. Nothing was changed.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let database =
            jackdaw_database::Database::open(RealVfs::new(), path, &name, &self.database());
        Ok(Database::of(Arc::new(database.map_err(Error::of_open)?)))
    }

    pub(crate) fn database(&self) -> DatabaseOptions {
        let mut options = DatabaseOptions::default();
        if let Some(bytes) = self.memory_bytes {
            options = options.for_memory(bytes);
        }
        options.documents.create = !self.must_exist;
        if self.is_relaxed {
            options.documents.durability = Durability::None;
        }
        options
    }
}

//! Opening an environment of the storage engine, reading it and writing to it.

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::{Durability, MemoryVfs, RealVfs, Vfs};
use jackdaw_storage::{Environment, WriteTransaction};

use super::read::Snapshot;
use super::write::Transaction;
use crate::error::{Error, Result};

/// Opens the trees in a directory, creating them where there are none; see [`Trees`].
///
/// ```no_run
/// let trees = jackdaw::storage::open("trees")?;
/// # Ok::<(), jackdaw::Error>(())
/// ```
///
/// # Errors
/// As [`Options::open`].
pub fn open(path: impl AsRef<Path>) -> Result<Trees> {
    Options::default().open(path)
}

/// New trees in memory, gone when the last handle is dropped.
///
/// ```
/// let trees = jackdaw::storage::in_memory()?;
/// trees.write(|transaction| transaction.tree("albums")?.put(b"1971", b"Blue"))?;
/// # Ok::<(), jackdaw::Error>(())
/// ```
///
/// # Errors
/// [`Error::Io`] when the machine lets no thread start.
pub fn in_memory() -> Result<Trees> {
    Options::default().open_in(MemoryVfs::new(), Path::new("/memory"))
}

/// How trees are opened, when the defaults of [`open`] do not suit.
///
/// ```no_run
/// use jackdaw::storage::Options;
///
/// let trees = Options::default().create(false).relaxed(true).open("trees")?;
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    must_exist: bool,
    is_relaxed: bool,
    memory_bytes: Option<usize>,
}

impl Options {
    /// Whether a missing or empty directory becomes a new environment; it does by default.
    #[must_use]
    pub fn create(mut self, creates: bool) -> Options {
        self.must_exist = !creates;
        self
    }

    /// Whether writes return before they survive a loss of power; they do not by default. With
    /// `true` they survive the end of the process, and after a loss of power the trees are as of
    /// some moment of the last seconds.
    #[must_use]
    pub fn relaxed(mut self, is_relaxed: bool) -> Options {
        self.is_relaxed = is_relaxed;
        self
    }

    /// Most memory for changes that are not in the data file yet, in bytes; 256 MiB by default.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> Options {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Opens the trees in a directory, which no other process may have open. The parent directory
    /// has to exist.
    ///
    /// # Errors
    /// [`Error::Open`], [`Error::Io`], [`Error::Damaged`]. Nothing was changed.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Trees> {
        self.open_in(RealVfs::new(), path.as_ref())
    }

    fn open_in(self, vfs: Arc<dyn Vfs>, path: &Path) -> Result<Trees> {
        let mut options = jackdaw_storage::Options {
            create: !self.must_exist,
            ..jackdaw_storage::Options::default()
        };
        if self.is_relaxed {
            options.durability = Durability::None;
        }
        if let Some(bytes) = self.memory_bytes {
            options.scratch_bytes = bytes;
        }
        let environment = Environment::open(vfs, path, options);
        Ok(Trees {
            environment: environment.map_err(Error::of_environment)?,
        })
    }
}

/// A directory of named trees; [`open`] opens one.
///
/// Handles are cheap to clone and shared by all threads. Dropping the last one writes everything
/// into the data file, so that the next opening has no journal to replay. The directory cannot be
/// opened again while a [`Snapshot`] of it is there.
///
/// ```
/// let trees = jackdaw::storage::in_memory()?;
/// let other = trees.clone();
/// std::thread::spawn(move || {
///     other.write(|transaction| transaction.tree("albums")?.put(b"1971", b"Blue"))
/// })
/// .join()
/// .expect("the thread does not panic")?;
/// assert_eq!(trees.read()?.tree("albums")?.len(), 1);
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone)]
pub struct Trees {
    environment: Environment,
}

impl Trees {
    /// All trees as they are at this moment. Costs nothing; while it is open, every page that it
    /// sees is kept: drop it soon.
    ///
    /// ```
    /// let trees = jackdaw::storage::in_memory()?;
    /// let before = trees.read()?;
    /// trees.write(|transaction| transaction.tree("albums")?.put(b"1971", b"Blue"))?;
    /// assert!(before.tree("albums")?.is_empty());
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] when 65,536 snapshots are open.
    pub fn read(&self) -> Result<Snapshot> {
        let transaction = self.environment.read().map_err(Error::of_storage)?;
        Ok(Snapshot::of(transaction))
    }

    /// Runs `change` as one transaction on the writer's thread or this one, and returns what it
    /// returned, once that is durable. Changes of several threads share one durable write of the
    /// journal. When `change` returns an error or panics, nothing of it is written.
    ///
    /// ```
    /// use jackdaw::Error;
    ///
    /// let trees = jackdaw::storage::in_memory()?;
    /// let refused = trees.write(|transaction| {
    ///     let mut years = transaction.tree("years")?;
    ///     if !years.put(b"Blue", b"1971")? {
    ///         return Err(Error::invalid("there is no such album"));
    ///     }
    ///     Ok(())
    /// });
    /// assert!(matches!(refused, Err(Error::Invalid(_))));
    /// assert!(trees.read()?.tree("years")?.is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// - What `change` returned: nothing was written.
    /// - [`Error::Unknown`]: see there. After any other error nothing was written.
    pub fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let operation =
            move |transaction: &mut WriteTransaction| change(&mut Transaction::of(transaction));
        self.environment
            .write(operation)
            .map_err(Error::of_operation)
    }

    /// [`Trees::write`] on this thread alone, so that `change` may borrow. It shares its durable
    /// write with no other transaction, and other writers wait until it ends.
    ///
    /// ```
    /// let titles = ["Blue".to_owned(), "Hejira".to_owned()];
    /// let trees = jackdaw::storage::in_memory()?;
    /// trees.write_here(|transaction| {
    ///     for (number, title) in (0_u8..).zip(&titles) {
    ///         transaction.tree("albums")?.put(&[number], title.as_bytes())?;
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(trees.read()?.tree("albums")?.len(), 2);
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Trees::write`].
    pub fn write_here<T>(
        &self,
        change: impl FnOnce(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut transaction = self.environment.begin_write().map_err(Error::of_storage)?;
        let value = change(&mut Transaction::of(&mut transaction))?;
        transaction.commit().map_err(Error::of_commit)?;
        Ok(value)
    }

    /// Writes all that is durable into the data file, as closing does, so that less of the journal
    /// has to be replayed after a crash. The engine does so by itself in time.
    ///
    /// ```
    /// let trees = jackdaw::storage::in_memory()?;
    /// trees.flush()?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`]: everything is in the journal as before.
    pub fn flush(&self) -> Result<()> {
        self.environment.flush().map_err(Error::of_storage)
    }
}

impl std::fmt::Debug for Trees {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trees").finish_non_exhaustive()
    }
}

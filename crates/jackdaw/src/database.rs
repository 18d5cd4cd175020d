//! The database: opening, and the calls for one document.
//!
//! Everything else is a handle that it lends: batches, queries, collections, what belongs to a
//! document, indexes, changes, snapshots.
//!
//! Threads: shared by all; a clone is another handle of the same database.

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::MemoryVfs;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attachments::Attachments;
use crate::batch::{Batch, Stored};
use crate::changes::Changes;
use crate::collection::Collection;
use crate::counters::Counters;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::indexes::Indexes;
use crate::options::Options;
use crate::query::Query;
use crate::snapshot::{Snapshot, Snapshots};
use crate::time_series::TimeSeries;

/// A database of documents in one directory, or in memory.
///
/// Handles are cheap to clone and may be used by many threads at once: reads never wait for writes,
/// and writes of several threads share one durable write of the journal. The database is closed
/// when its last handle is dropped, including the snapshots and followers made from it.
///
/// An id has up to 1,024 bytes and is found in any letter case. A new document joins the collection
/// that its id names, `Albums` for `albums/1`; [`Database::collection`] chooses another. A document
/// has up to 200 MiB in its stored form and 256 levels of nesting.
///
/// ```
/// use jackdaw::Database;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Album {
///     title: String,
///     year: u16,
/// }
///
/// let db = Database::in_memory()?;
/// let album = Album { title: "Homogenic".to_owned(), year: 1997 };
/// db.put("albums/1", &album)?;
/// let album: Option<Album> = db.get("albums/1")?;
/// assert_eq!(album.expect("it was stored").year, 1997);
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone)]
pub struct Database {
    inner: Arc<jackdaw_database::Database>,
}

impl Database {
    /// Opens the database in a directory, creating it where there is none. No other process may
    /// have it open.
    ///
    /// ```no_run
    /// let db = jackdaw::Database::open("music")?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Options::default().open(path)
    }

    /// A new database in memory, gone when its last handle is dropped. It takes as much memory as
    /// a database on a disk takes space.
    ///
    /// ```
    /// let db = jackdaw::Database::in_memory()?;
    /// assert!(db.snapshot()?.is_empty());
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] when the machine lets no thread start.
    pub fn in_memory() -> Result<Database> {
        let options = Options::default().database();
        let path = Path::new("/memory");
        let database = jackdaw_database::Database::open(MemoryVfs::new(), path, "memory", &options);
        Ok(Database::of(Arc::new(database.map_err(Error::of_open)?)))
    }

    /// Options for opening a database.
    ///
    /// ```no_run
    /// let db = jackdaw::Database::options().create(false).open("music")?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn options() -> Options {
        Options::default()
    }

    pub(crate) fn of(inner: Arc<jackdaw_database::Database>) -> Database {
        Database { inner }
    }

    pub(crate) fn inner(&self) -> &Arc<jackdaw_database::Database> {
        &self.inner
    }

    /// Stores a value of any serde type as the document `id`, in the place of one that is there.
    /// Durable when it returns: one durable write of the journal, shared with other threads.
    ///
    /// An id that ends with `|` gets the next free number of its prefix: `albums|` becomes
    /// `albums/2`. One that ends with `/` gets a number that only grows. A member `@metadata` of
    /// the value is stored as metadata, and replaces the metadata that was there.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// let stored = db.put("albums/1", &serde_json::json!({"Title": "Blue"}))?;
    /// assert_eq!(stored.id, "albums/1");
    /// assert_eq!(db.put("albums|", &serde_json::json!({"Title": "Hejira"}))?.id, "albums/2");
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Value`]: the value is not an object, or has no form in JSON.
    /// - [`Error::Invalid`]: the id cannot be one, or its document is in another collection.
    /// - [`Error::Unknown`]: see there. After any other error nothing was written.
    pub fn put<T: Serialize + ?Sized>(&self, id: &str, value: &T) -> Result<Stored> {
        self.batch().put(id, value)?.commit_one()
    }

    /// The document `id` as a value of any serde type; `None` when there is none.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
    /// let album: Option<serde_json::Value> = db.get("albums/1")?;
    /// assert_eq!(album.expect("it was stored")["Year"], 1971);
    /// assert!(db.get::<serde_json::Value>("albums/2")?.is_none());
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`] when the document is not of that type; [`Error::Io`], [`Error::Damaged`].
    pub fn get<T: DeserializeOwned>(&self, id: &str) -> Result<Option<T>> {
        self.snapshot()?.get(id)
    }

    /// The document `id` with its version and what else the database knows of it; `None` when there
    /// is none.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
    /// let document = db.document("albums/1")?.expect("it was stored");
    /// db.batch().delete_if("albums/1", document.version()).commit()?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn document(&self, id: &str) -> Result<Option<Document>> {
        self.snapshot()?.document(id)
    }

    /// Deletes the document `id` with its counters, time series and attachments. Durable when it
    /// returns. Returns whether there was one.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
    /// assert!(db.delete("albums/1")?);
    /// assert!(!db.delete("albums/1")?);
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn delete(&self, id: &str) -> Result<bool> {
        self.batch().delete(id).commit_deletion()
    }

    /// Begins a batch: changes that happen together or not at all.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # let (first, second) = (serde_json::json!({}), serde_json::json!({}));
    /// db.batch().put("albums/1", &first)?.put("albums/2", &second)?.commit()?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn batch(&self) -> Batch<'_> {
        Batch::new(self)
    }

    /// The collection of this name, of documents of one type. Use it where ids do not name their
    /// collection.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// let artists = db.collection::<serde_json::Value>("Artists");
    /// artists.put("joni-mitchell", &serde_json::json!({"Born": 1943}))?;
    /// assert_eq!(artists.len()?, 1);
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn collection<T>(&self, name: &str) -> Collection<'_, T> {
        Collection::new(self, name)
    }

    /// Begins a query in RQL, whose rows are read as values of any type.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Title": "Blue", "Year": 1971}))?;
    /// #[derive(serde::Deserialize)]
    /// struct Album {
    ///     #[serde(rename = "Title")]
    ///     title: String,
    /// }
    ///
    /// let query = db.query::<Album>("from Albums where Year < $year").bind("year", 1980);
    /// for album in query.rows()? {
    ///     assert_eq!(album.title, "Blue");
    /// }
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    pub fn query<T>(&self, text: &str) -> Query<'_, T> {
        Query::new(self, text)
    }

    /// The attachments of a document: files that belong to it.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({}))?;
    /// db.attachments("albums/1").put("cover.png", "image/png", &b"bytes"[..])?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn attachments<'db>(&'db self, id: &'db str) -> Attachments<'db> {
        Attachments::new(self, id)
    }

    /// The counters of a document: numbers that are incremented without reading it.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({}))?;
    /// assert_eq!(db.counters("albums/1").increment("Plays", 1)?, 1);
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn counters<'db>(&'db self, id: &'db str) -> Counters<'db> {
        Counters::new(self, id)
    }

    /// A time series of a document: values by time.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({}))?;
    /// use std::time::SystemTime;
    ///
    /// db.time_series("albums/1", "Listeners").append(SystemTime::now(), &[17.0])?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn time_series<'db>(&'db self, id: &'db str, name: &'db str) -> TimeSeries<'db> {
        TimeSeries::new(self, id, name)
    }

    /// The indexes: those that you define, and those that queries made.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// assert!(db.indexes().list()?.is_empty());
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn indexes(&self) -> Indexes<'_> {
        Indexes::new(self)
    }

    /// Follows the changes of documents, in their order, from the first one on; see [`Changes`].
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({}))?;
    /// let change = db.changes().next().expect("it waits for one")?;
    /// assert_eq!(change.id(), "albums/1");
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn changes(&self) -> Changes {
        Changes::new(self)
    }

    /// All documents as they are at this moment; see [`Snapshot`].
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({}))?;
    /// let snapshot = db.snapshot()?;
    /// db.delete("albums/1")?;
    /// assert!(snapshot.document("albums/1")?.is_some());
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] when 65,536 snapshots are open; [`Error::Damaged`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        Ok(Snapshot::of(self.inner.read().map_err(Error::of_read)?))
    }

    /// Snapshots that have names, and last until they are dropped.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// db.snapshots().take("monday")?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn snapshots(&self) -> Snapshots<'_> {
        Snapshots::new(self)
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("name", &self.inner.name())
            .finish_non_exhaustive()
    }
}

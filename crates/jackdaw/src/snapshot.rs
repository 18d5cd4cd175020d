//! Snapshots: all documents of one moment, and those that are kept by name.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackdaw_database::{Etag, PrefixQuery};
use serde::Deserialize;

use crate::database::Database;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::form::from_value;
use crate::names::Position;

/// All documents as of one moment; later writes do not change it. [`Database::snapshot`] takes one.
///
/// It costs nothing to take. While it is open, every page that it sees is kept as it is, in memory
/// at first: drop it soon. It may be moved between threads, and is used by one at a time.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// # db.put("albums/1", &serde_json::json!({"Title": "Blue"}))?;
/// #[derive(serde::Deserialize)]
/// struct Album<'s> {
///     #[serde(rename = "Title")]
///     title: &'s str,                                   // borrowed from the snapshot's pages
/// }
///
/// let snapshot = db.snapshot()?;
/// let album: Album<'_> = snapshot.get("albums/1")?.expect("it was stored");
/// assert_eq!(album.title, "Blue");
/// assert_eq!(snapshot.len(), 1);
/// # Ok::<(), jackdaw::Error>(())
/// ```
pub struct Snapshot {
    inner: jackdaw_database::Snapshot,
}

impl Snapshot {
    pub(crate) fn of(inner: jackdaw_database::Snapshot) -> Snapshot {
        Snapshot { inner }
    }

    pub(crate) fn inner(&self) -> &jackdaw_database::Snapshot {
        &self.inner
    }

    /// The document `id` as a value, which may borrow strings of the snapshot; `None` when there is
    /// none.
    ///
    /// # Errors
    /// As [`Database::get`].
    pub fn get<'s, T: Deserialize<'s>>(&'s self, id: &str) -> Result<Option<T>> {
        match self.inner.get(id).map_err(Error::of_read)? {
            Some(row) => Ok(Some(from_value(row.body().root())?)),
            None => Ok(None),
        }
    }

    /// The document `id` with its version; `None` when there is none.
    ///
    /// # Errors
    /// As [`Database::document`].
    pub fn document(&self, id: &str) -> Result<Option<Document>> {
        let row = self.inner.get(id).map_err(Error::of_read)?;
        Ok(row.map(|row| Document::of_row(&row)))
    }

    /// Number of documents. O(1).
    #[must_use]
    pub fn len(&self) -> u64 {
        self.inner.count()
    }

    /// Whether there are no documents. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of documents of a collection. O(1).
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn len_of(&self, collection: &str) -> Result<u64> {
        let found = self.inner.collection(collection).map_err(Error::of_read)?;
        Ok(found.map_or(0, |found| found.count))
    }

    /// Names of all collections that ever had a document, each with its number of documents.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn collections(&self) -> Result<Vec<(String, u64)>> {
        let found = self.inner.collections().map_err(Error::of_read)?;
        Ok(found
            .into_iter()
            .map(|collection| (collection.name, collection.count))
            .collect())
    }

    /// The documents of a collection, oldest change first.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`]; also while iterating.
    pub fn documents<'s>(
        &'s self,
        collection: &str,
    ) -> Result<impl Iterator<Item = Result<Document>> + use<'s>> {
        let rows = self.inner.by_collection(collection, Etag(0));
        let rows = rows.map_err(Error::of_read)?;
        Ok(rows.map(|row| Ok(Document::of_row(&row.map_err(Error::of_read)?))))
    }

    /// The documents whose ids begin with `prefix`, in the order of their ids in lower case. The
    /// empty prefix finds all documents.
    ///
    /// ```
    /// # let db = jackdaw::Database::in_memory()?;
    /// # for id in ["albums/1", "albums/10", "artists/1"] { db.put(id, &serde_json::json!({}))?; }
    /// let snapshot = db.snapshot()?;
    /// let found = snapshot.documents_with_prefix("albums/1")?;
    /// let found = found.collect::<jackdaw::Result<Vec<_>>>()?;
    /// assert_eq!([found[0].id(), found[1].id()], ["albums/1", "albums/10"]);
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Snapshot::documents`].
    pub fn documents_with_prefix<'s>(
        &'s self,
        prefix: &str,
    ) -> Result<impl Iterator<Item = Result<Document>> + use<'s>> {
        let query = PrefixQuery {
            prefix,
            ..PrefixQuery::default()
        };
        let rows = self.inner.by_prefix(&query).map_err(Error::of_read)?;
        Ok(rows.map(|row| Ok(Document::of_row(&row.map_err(Error::of_read)?))))
    }

    /// The position of the last change that it sees: following from there shows what came after.
    #[must_use]
    pub fn position(&self) -> Position {
        Position::of(self.inner.last_etag())
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("position", &self.position())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// A snapshot that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedSnapshot {
    /// Its name.
    pub name: String,
    /// When it was taken.
    pub taken: SystemTime,
    /// Bytes of the data file that are kept for it and would be free without it.
    pub kept_bytes: u64,
}

/// Snapshots with names: the documents as they were, across restarts, until they are dropped. See
/// [`Database::snapshots`].
///
/// Taking one copies nothing; afterwards each page that it sees is kept once when it changes.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
/// db.snapshots().take("monday")?;
/// db.put("albums/1", &serde_json::json!({"Year": 1972}))?;
///
/// let monday = db.snapshots().open("monday")?;
/// let album: serde_json::Value = monday.get("albums/1")?.expect("it was there on Monday");
/// assert_eq!(album["Year"], 1971);
/// drop(monday);
/// db.snapshots().drop("monday")?;
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Snapshots<'db> {
    db: &'db Database,
}

impl<'db> Snapshots<'db> {
    pub(crate) fn new(db: &'db Database) -> Snapshots<'db> {
        Snapshots { db }
    }

    /// Takes a snapshot of all that was stored before this call. Durable when it returns. Names
    /// have 1 to 255 bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the name is taken or cannot be one; as [`Database::put`].
    pub fn take(&self, name: &str) -> Result<()> {
        let taken = self.db.inner().take_snapshot(name);
        taken.map_err(Error::of_write)
    }

    /// The documents as they were when the snapshot was taken.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; [`Error::Io`], [`Error::Damaged`].
    pub fn open(&self, name: &str) -> Result<Snapshot> {
        let found = self.db.inner().read_snapshot(name);
        Ok(Snapshot::of(found.map_err(Error::of_read)?))
    }

    /// All snapshots that can be opened.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn list(&self) -> Result<Vec<NamedSnapshot>> {
        let found = self.db.inner().snapshots().map_err(Error::of_read)?;
        let readable = found.into_iter().filter(|one| !one.is_being_dropped);
        Ok(readable
            .map(|one| NamedSnapshot {
                name: one.name,
                taken: UNIX_EPOCH + Duration::from_nanos(one.unix_nanos),
                kept_bytes: one.kept_bytes,
            })
            .collect())
    }

    /// Drops a snapshot, and frees what was kept for it alone. After an interruption the same call
    /// goes on with it.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; as [`Database::put`].
    pub fn drop(&self, name: &str) -> Result<()> {
        let dropped = self.db.inner().drop_snapshot(name);
        dropped.map_err(Error::of_write)
    }
}

//! A collection: documents of one type, named by the caller and not by their ids.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::batch::{Batch, Stored};
use crate::database::Database;
use crate::error::Result;
use crate::names::{Version, id_prefix};

/// Documents of one collection, read and stored as one type; see [`Database::collection`].
///
/// Ids are unique in the whole database. A collection has a name of up to 256 bytes, which is found
/// in any letter case, and comes into being with its first document.
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Debug, PartialEq)]
/// struct Artist {
///     name: String,
/// }
///
/// # let db = jackdaw::Database::in_memory()?;
/// let artists = db.collection::<Artist>("Artists");
/// let stored = artists.add(&Artist { name: "Nina Simone".to_owned() })?;
/// assert_eq!(stored.id, "artists/1");
/// assert_eq!(artists.get("artists/1")?.expect("it was stored").name, "Nina Simone");
/// for entry in artists.all()? {
///     let (id, artist) = entry;
///     println!("{id}: {}", artist.name);
/// }
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Collection<'db, T> {
    db: &'db Database,
    name: String,
    of: PhantomData<fn(T) -> T>,
}

impl<'db, T> Collection<'db, T> {
    pub(crate) fn new(db: &'db Database, name: &str) -> Collection<'db, T> {
        Collection {
            db,
            name: name.to_owned(),
            of: PhantomData,
        }
    }

    /// Its name as the caller wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of its documents. O(1).
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io), [`Error::Damaged`](crate::Error::Damaged).
    pub fn len(&self) -> Result<u64> {
        self.db.snapshot()?.len_of(&self.name)
    }

    /// Whether it has no documents. O(1).
    ///
    /// # Errors
    /// As [`Collection::len`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
}

impl<T: Serialize> Collection<'_, T> {
    /// Stores a value as the document `id` of this collection; see [`Database::put`].
    ///
    /// # Errors
    /// As [`Database::put`]; [`Error::Invalid`](crate::Error::Invalid) when the document is in
    /// another collection.
    pub fn put(&self, id: &str, value: &T) -> Result<Stored> {
        self.store(id, value, None)
    }

    /// Stores a value as the document `id` if that still has this version.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict); as [`Collection::put`].
    pub fn put_if(&self, id: &str, value: &T, version: &Version) -> Result<Stored> {
        self.store(id, value, Some(version.0.clone()))
    }

    /// Stores a value under a new id: the next number of the collection, `artists/1` for the first
    /// one in `Artists`.
    ///
    /// # Errors
    /// As [`Collection::put`].
    pub fn add(&self, value: &T) -> Result<Stored> {
        self.store(&format!("{}|", id_prefix(&self.name)), value, None)
    }

    fn store(&self, id: &str, value: &T, expected: Option<String>) -> Result<Stored> {
        let mut batch = Batch::new(self.db);
        let batch = batch.store(id, value, Some(&self.name), expected)?;
        batch.commit_one()
    }
}

impl<T: DeserializeOwned> Collection<'_, T> {
    /// The document `id`; `None` when this collection has none.
    ///
    /// # Errors
    /// As [`Database::get`].
    pub fn get(&self, id: &str) -> Result<Option<T>> {
        let snapshot = self.db.snapshot()?;
        let found = snapshot.document(id)?;
        let own = found.filter(|document| {
            document
                .collection()
                .is_some_and(|name| is_same(name, &self.name))
        });
        own.map(|document| document.read()).transpose()
    }

    /// All ids and values, oldest change first, in memory. [`Database::query`] finds some of them,
    /// [`Snapshot::documents`](crate::Snapshot::documents) reads one after the other.
    ///
    /// # Errors
    /// As [`Database::get`].
    pub fn all(&self) -> Result<Vec<(String, T)>> {
        let snapshot = self.db.snapshot()?;
        let documents = snapshot.documents(&self.name)?;
        let read = |document: Result<crate::Document>| {
            let document = document?;
            Ok((document.id().to_owned(), document.read()?))
        };
        documents.map(read).collect()
    }

    /// Deletes the document `id`; whether this collection had one.
    ///
    /// # Errors
    /// As [`Database::delete`]; [`Error::Conflict`](crate::Error::Conflict) when it changes at the
    /// same moment.
    pub fn delete(&self, id: &str) -> Result<bool> {
        let Some(document) = self.db.document(id)? else {
            return Ok(false);
        };
        if !document
            .collection()
            .is_some_and(|name| is_same(name, &self.name))
        {
            return Ok(false);
        }
        let mut batch = Batch::new(self.db);
        batch.delete_if(id, document.version()).commit_deletion()
    }
}

/// Names of collections are compared in lower case.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    use jackdaw_base::lowercase::lowercase;
    lowercase(a) == lowercase(b)
}

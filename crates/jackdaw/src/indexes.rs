//! Indexes: those that a program defines, and those that queries made.

use std::time::Duration;

use jackdaw_database::{IndexInfo, IndexStatus, StaticDefinition};
use jackdaw_document::{Builder, DocumentBuf, Value};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::names::bounded;

/// The definition of an index: maps that say what is kept of each document, perhaps a reduce that
/// groups it, and options of fields.
///
/// Maps are written in C# (`from a in docs.Albums select new { .. }`) or in JavaScript
/// (`map('Albums', a => ({ .. }))`). A query names the index as its source:
/// `from index 'Albums/ByDecade'`.
///
/// ```
/// use jackdaw::Index;
/// use std::time::Duration;
///
/// # let db = jackdaw::Database::in_memory()?;
/// # for (id, year) in [("albums/1", 1971), ("albums/2", 1976), ("albums/3", 1982)] {
/// #     db.put(id, &serde_json::json!({"Title": id, "Year": year}))?;
/// # }
/// db.indexes().put(
///     &Index::new("Albums/ByDecade")
///         .map("from a in docs.Albums select new { Decade = a.Year / 10 * 10, Count = 1 }")
///         .reduce(
///             "from r in results group r by r.Decade into g \
///              select new { Decade = g.Key, Count = g.Sum(x => x.Count) }",
///         ),
/// )?;
/// assert!(db.indexes().wait(Duration::from_secs(60)));
///
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "PascalCase")]
/// struct Decade {
///     decade: u16,
///     count: u32,
/// }
/// let decades = db.query::<Decade>("from index 'Albums/ByDecade' order by Count desc").rows()?;
/// assert_eq!((decades[0].decade, decades[0].count), (1970, 2));
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    name: String,
    maps: Vec<String>,
    reduce: Option<String>,
    fields: Vec<(String, Field)>,
}

impl Index {
    /// An index of this name, of up to 512 bytes, without maps so far.
    #[must_use]
    pub fn new(name: &str) -> Index {
        Index {
            name: name.to_owned(),
            maps: Vec::new(),
            reduce: None,
            fields: Vec::new(),
        }
    }

    /// Adds a map. An index has 1 to 256 of them.
    #[must_use]
    pub fn map(mut self, text: &str) -> Index {
        self.maps.push(text.to_owned());
        self
    }

    /// Sets the reduce, which makes results of what the maps gave.
    #[must_use]
    pub fn reduce(mut self, text: &str) -> Index {
        self.reduce = Some(text.to_owned());
        self
    }

    /// Sets how a field is found.
    ///
    /// ```
    /// use jackdaw::{Field, Index};
    ///
    /// # let db = jackdaw::Database::in_memory()?;
    /// # db.put("albums/1", &serde_json::json!({"Title": "Court and Spark"}))?;
    /// let index = Index::new("Albums/ByTitle")
    ///     .map("map('Albums', album => ({ Title: album.Title }))")
    ///     .field("Title", Field::Words);
    /// db.indexes().put(&index)?;
    /// let text = "from index 'Albums/ByTitle' where search(Title, 'spark')";
    /// assert_eq!(db.query::<()>(text).count()?, Some(1));
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    #[must_use]
    pub fn field(mut self, name: &str, field: Field) -> Index {
        self.fields.push((name.to_owned(), field));
        self
    }

    /// As clients of the protocol send it.
    fn to_document(&self) -> Result<DocumentBuf> {
        let mut builder = Builder::new();
        builder.begin_object().key("Name").string(&self.name);
        builder.key("Maps").begin_array();
        for map in &self.maps {
            builder.string(map);
        }
        builder.end_array();
        if let Some(reduce) = &self.reduce {
            builder.key("Reduce").string(reduce);
        }
        builder.key("Fields").begin_object();
        for (name, field) in &self.fields {
            builder.key(name).begin_object();
            builder.key("Indexing").string(field.indexing());
            if *field == Field::Stored {
                builder.key("Storage").string("Yes");
            }
            builder.end_object();
        }
        builder.end_object().end_object();
        builder
            .finish()
            .map_err(|error| Error::invalid(error.to_string()))
    }
}

/// How a field of an index is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// As a whole, in any letter case.
    #[default]
    Whole,
    /// As a whole, letter case included.
    Exact,
    /// By its words, with `search(..)`.
    Words,
    /// As a whole, in any letter case; queries may select the value that the map computed.
    Stored,
    /// Not at all.
    Unindexed,
}

impl Field {
    fn indexing(self) -> &'static str {
        match self {
            Field::Whole | Field::Stored => "Default",
            Field::Exact => "Exact",
            Field::Words => "Search",
            Field::Unindexed => "No",
        }
    }
}

/// An index at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexState {
    /// Its name; `Auto/..` for one that queries made.
    pub name: String,
    /// Number of its entries.
    pub entry_count: u64,
    /// Whether documents changed that it has not seen yet.
    pub is_stale: bool,
    /// Number of errors of its maps and reduce that are kept; [`Indexes::errors`] lists them.
    pub error_count: u64,
    /// Why it stopped for good, if it did.
    pub failure: Option<String>,
    /// Whether it takes changes in.
    pub is_running: bool,
    /// Bytes of its files.
    pub bytes: u64,
}

impl IndexState {
    fn of(info: &IndexInfo) -> IndexState {
        IndexState {
            name: info.name().to_owned(),
            entry_count: info.entry_count,
            is_stale: info.is_stale,
            error_count: info.error_count,
            failure: info.failure.clone(),
            is_running: info.status == IndexStatus::Running,
            bytes: info.bytes,
        }
    }
}

/// The indexes of a database; see [`Database::indexes`].
///
/// Each takes changes in on a thread of its own, soon after they were stored. A query of a
/// collection needs none to be defined: it makes the one that it needs.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// # db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
/// db.query::<()>("from Albums where Year = 1971").count()?;
/// let made = &db.indexes().list()?[0];
/// assert_eq!((made.name.as_str(), made.entry_count), ("Auto/Albums/ByYear", 1));
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Indexes<'db> {
    db: &'db Database,
}

impl<'db> Indexes<'db> {
    pub(crate) fn new(db: &'db Database) -> Indexes<'db> {
        Indexes { db }
    }

    /// Makes an index, or changes the one of its name. Putting the same definition again changes
    /// nothing. One whose maps change answers as before until the new one has seen all documents.
    ///
    /// # Errors
    /// [`Error::Invalid`] when a map or the reduce cannot be compiled, with the place; the index is
    /// as before. [`Error::Io`], [`Error::Unknown`].
    pub fn put(&self, index: &Index) -> Result<()> {
        let document = index.to_document()?;
        let Value::Object(given) = document.root() else {
            return Err(Error::internal("the definition of an index is no object"));
        };
        let definition = StaticDefinition::read(given).map_err(Error::of_definition)?;
        self.db
            .inner()
            .put_index(definition)
            .map_err(Error::of_index)
    }

    /// Deletes an index; whether there was one. A query makes the ones that it needs again.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Unknown`].
    pub fn delete(&self, name: &str) -> Result<bool> {
        let deleted = self.db.inner().delete_index(name);
        deleted.map_err(Error::of_database)
    }

    /// Makes an index anew from the documents; whether there is one.
    ///
    /// # Errors
    /// As [`Indexes::delete`].
    pub fn reset(&self, name: &str) -> Result<bool> {
        let reset = self.db.inner().reset_index(name);
        reset.map_err(Error::of_database)
    }

    /// All indexes.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn list(&self) -> Result<Vec<IndexState>> {
        let found = self.db.inner().indexes().map_err(Error::of_read)?;
        Ok(found.iter().map(IndexState::of).collect())
    }

    /// Waits until all indexes have seen what was stored before this call; false when that took
    /// longer than `timeout`.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        self.db.inner().wait_for_indexes(bounded(timeout))
    }

    /// The errors of an index that are kept, oldest first, as sentences with the document that they
    /// are about.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such index; [`Error::Io`], [`Error::Damaged`].
    pub fn errors(&self, name: &str) -> Result<Vec<String>> {
        let found = self.db.inner().index_errors(&[name.to_owned()]);
        let found = found.map_err(Error::of_read)?;
        let found = found.map_err(|unknown| Error::missing(unknown.to_string()))?;
        let all = found.into_iter().flat_map(|(_, errors)| errors);
        Ok(all
            .map(|one| match one.document {
                Some(document) => format!("{document}: {}", one.error),
                None => one.error,
            })
            .collect())
    }
}

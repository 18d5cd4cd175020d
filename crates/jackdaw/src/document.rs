//! A document as it was read: its id, version and content, of any type.

use std::time::SystemTime;

use jackdaw_database::{DocumentRow, EMPTY_COLLECTION, StoredDocument};
use jackdaw_document::DocumentBuf;
use serde::Deserialize;

use crate::error::Result;
use crate::form::from_value;
use crate::names::{Position, Version, system_time};

/// A document with what the database knows of it.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// # db.put("albums/1", &serde_json::json!({"Title": "Blue", "Year": 1971}))?;
/// #[derive(serde::Deserialize)]
/// struct Title<'a> {
///     #[serde(rename = "Title")]
///     title: &'a str,
/// }
///
/// let document = db.document("albums/1")?.expect("it was stored");
/// assert_eq!((document.id(), document.collection()), ("albums/1", Some("Albums")));
/// let album: Title<'_> = document.read()?;                // strings may be borrowed
/// assert_eq!(album.title, "Blue");
/// assert_eq!(document.to_json(), r#"{"Title":"Blue","Year":1971}"#);
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Document {
    id: String,
    collection: Option<String>,
    version: Version,
    position: Position,
    modified: SystemTime,
    metadata: Option<DocumentBuf>,
    body: DocumentBuf,
}

fn named(collection: &str) -> Option<String> {
    (collection != EMPTY_COLLECTION).then(|| collection.to_owned())
}

impl Document {
    pub(crate) fn of_row(row: &DocumentRow<'_>) -> Document {
        Document {
            id: row.id().to_owned(),
            collection: named(row.collection()),
            version: Version(row.change_vector()),
            position: Position::of(row.etag()),
            modified: system_time(row.last_modified()),
            metadata: row.metadata().map(|metadata| metadata.to_buf()),
            body: row.body().to_buf(),
        }
    }

    pub(crate) fn of_stored(stored: &StoredDocument<'_>) -> Document {
        Document {
            id: stored.id.to_owned(),
            collection: named(stored.collection),
            version: Version(stored.change_vector.to_string()),
            position: Position::of(stored.etag),
            modified: system_time(stored.last_modified),
            metadata: stored.metadata.map(|metadata| metadata.to_buf()),
            body: stored.body.to_buf(),
        }
    }

    /// Its id, in the letter case in which it was stored first.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its collection; `None` when it is in none.
    #[must_use]
    pub fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }

    /// Its version, for conditional writes.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The position of its last change.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// When it was stored last.
    #[must_use]
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// Its content as a value of any type, which may borrow strings of the document.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) when the content is not of that type.
    pub fn read<'d, T: Deserialize<'d>>(&'d self) -> Result<T> {
        Ok(from_value(self.body.root())?)
    }

    /// Its metadata as a value of any type: what was stored as `@metadata`, such as `@expires`, and
    /// the names of its counters, time series and attachments. Empty metadata reads as an object
    /// without members.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) when the metadata is not of that type.
    pub fn metadata<'d, T: Deserialize<'d>>(&'d self) -> Result<T> {
        match &self.metadata {
            Some(metadata) => Ok(from_value(metadata.root())?),
            None => Ok(T::deserialize(serde::de::value::MapDeserializer::<
                _,
                crate::ValueError,
            >::new(std::iter::empty::<(
                &'d str,
                &'d str,
            )>()))?),
        }
    }

    /// Its content as JSON on one line. Numbers have the text with which they were stored.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.body.root().to_json()
    }
}

//! What a query reads: the seam between the query engine and the database.
//!
//! `database` implements [`Source`] over one snapshot; tests over a list of documents.
//!
//! Invariants an implementation keeps:
//! - Every answer comes from one snapshot, the index included: a document is changed after
//!   [`IndexAccess::indexed_up_to`], or the index has exactly its present terms.
//! - A document keeps its number as long as it lives in the same collection; numbers are never
//!   used twice.
//!
//! Threads: a source is used by one thread at a time.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Document, DocumentBuf};
use jackdaw_model::{DocumentNumber, Etag, Scope};
use jackdaw_search::{Budget, Column, Columns, EntryId, FieldId, IndexReader, TermKind};
use jackdaw_storage::PageRead;

use crate::error::{BoxError, QueryError};
use crate::execute::ExecuteOptions;
use crate::fields::IndexField;
use crate::groups::GroupsAccess;

/// Collection of documents that name none.
pub(crate) const EMPTY_COLLECTION: &str = "@empty";

/// A change vector as clients see it, put together only when it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownVector<'a> {
    /// A text that is stored.
    Text(&'a str),
    /// One change on one node: `A:12-<database>`.
    Single {
        /// Tag of the node.
        node_tag: &'a str,
        /// The change.
        etag: Etag,
        /// Identity of the database.
        database: &'a str,
    },
}

impl fmt::Display for ShownVector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShownVector::Text(text) => f.write_str(text),
            ShownVector::Single {
                node_tag,
                etag,
                database,
            } => {
                write!(f, "{node_tag}:{}-{database}", etag.0)
            }
        }
    }
}

/// A document as it is stored, borrowed from the snapshot.
#[derive(Clone, Debug)]
pub struct StoredDocument<'a> {
    /// Its number.
    pub number: DocumentNumber,
    /// Its last change.
    pub etag: Etag,
    /// Id in the case it was given.
    pub id: &'a str,
    /// Collection in the case of its first document; `@empty` when it has none.
    pub collection: &'a str,
    /// Its change vector.
    pub change_vector: ShownVector<'a>,
    /// Time of its last change.
    pub last_modified: UnixTicks,
    /// Flags as clients see them (`HasCounters, HasRevisions`); empty when there are none.
    pub flags: Cow<'a, str>,
    /// Metadata the user gave, without what the fields above say.
    pub metadata: Option<Document<'a>>,
    /// The document without its metadata.
    pub body: Document<'a>,
}

impl<'a> StoredDocument<'a> {
    /// What is like a document and stored nowhere: a group, an entry of an index, a row made up.
    #[must_use]
    pub fn made(number: DocumentNumber, body: Document<'a>) -> StoredDocument<'a> {
        StoredDocument {
            number,
            etag: Etag(0),
            id: "",
            collection: EMPTY_COLLECTION,
            change_vector: ShownVector::Text(""),
            last_modified: UnixTicks(0),
            flags: Cow::Borrowed(""),
            metadata: None,
            body,
        }
    }

    /// The metadata the database keeps itself, by name.
    pub(crate) fn system_metadata(&self, name: &str) -> Option<Cow<'_, str>> {
        match name {
            "@id" => Some(Cow::Borrowed(self.id)),
            "@collection" => Some(Cow::Borrowed(self.collection)),
            "@change-vector" => Some(Cow::Owned(self.change_vector.to_string())),
            "@last-modified" => Some(Cow::Owned(self.last_modified.to_string())),
            "@flags" if !self.flags.is_empty() => Some(Cow::Borrowed(&self.flags)),
            _ => None,
        }
    }
}

/// How long a time series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesExtent {
    /// Time of the first entry, in milliseconds since 1970.
    pub first: i64,
    /// Time of the last entry.
    pub last: i64,
    /// Number of entries.
    pub count: u64,
}

/// An entry of a time series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesEntry<'e> {
    /// Milliseconds since 1970.
    pub at: i64,
    /// One or more values.
    pub values: &'e [f64],
    /// What somebody wrote beside it, often the id of a document.
    pub tag: Option<&'e str>,
}

/// What the entries of an index are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexRows {
    /// Documents: entries have their numbers and the values at the paths of fields.
    #[default]
    Documents,
    /// What a map gave for documents: rows are those documents. Entries have numbers of their own.
    Entries {
        /// Whether a document may have several.
        has_fan_out: bool,
        /// Whether entries are about what stands beside documents (counters, time series): a row
        /// without `select` is the entry then, not the document.
        are_rows: bool,
    },
    /// Results of a reduce, which are the rows.
    Results,
}

/// Numbers of documents, one by one.
pub type Numbers<'a> = Box<dyn Iterator<Item = Result<DocumentNumber, BoxError>> + 'a>;

/// One consistent snapshot of a database. With an index whose entries are no documents, numbers
/// are those of entries, and "documents" are what conditions and orders see: the fields of entries.
pub trait Source {
    /// Pages of the index.
    type Pages: PageRead + ?Sized;

    /// The document with this number; `None` when it was deleted.
    ///
    /// # Errors
    /// Reading failed or found damage.
    fn document(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'_>>, BoxError>;

    /// The document with this id, in any case.
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn document_by_id(&self, id: &str) -> Result<Option<StoredDocument<'_>>, BoxError>;

    /// Number of documents in `scope`. O(1).
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn count(&self, scope: &Scope) -> Result<u64, BoxError>;

    /// Documents of `scope` changed after `after`, oldest change first. Each document once, at its
    /// last change.
    ///
    /// # Errors
    /// As [`document`](Source::document); also while iterating.
    fn changed(&self, scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError>;

    /// Numbers of documents that left `scope` after `after`, because they were deleted or went to
    /// another collection. A number that never was in it does no harm.
    ///
    /// # Errors
    /// As [`document`](Source::document); also while iterating.
    fn removed(&self, scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError>;

    /// Calls `visit` with the lower-cased id and the number of every document of the database
    /// whose lower-cased id is not below `from`, in byte order of ids, until it breaks.
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn visit_ids(
        &self,
        from: &str,
        visit: &mut dyn FnMut(&str, DocumentNumber) -> ControlFlow<()>,
    ) -> Result<(), BoxError>;

    /// The counters of the document with this id, in any case: names and values. None in a source
    /// that keeps no counters.
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn counters(&self, id: &str) -> Result<Vec<(String, i64)>, BoxError> {
        let _ = id;
        Ok(Vec::new())
    }

    /// How long a time series of the document with this id is; names and ids in any case. `None`
    /// without such a series, as in a source that keeps none.
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn series_extent(&self, id: &str, name: &str) -> Result<Option<SeriesExtent>, BoxError> {
        let _ = (id, name);
        Ok(None)
    }

    /// Calls `visit` with the entries of a time series from one time to another, both included,
    /// by time, until it breaks.
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn visit_series(
        &self,
        id: &str,
        name: &str,
        range: (i64, i64),
        visit: &mut dyn FnMut(SeriesEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        let _ = (id, name, range, visit);
        Ok(())
    }

    /// The value of compare-exchange under a key, in any case: the object that holds it. None in a
    /// source that keeps no such values.
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn exchange_value(&self, key: &str) -> Result<Option<DocumentBuf>, BoxError> {
        let _ = key;
        Ok(None)
    }

    /// What the row of a match shows: the document itself, unless entries of the index are others.
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn row(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'_>>, BoxError> {
        self.document(number)
    }

    /// Entries of the document with this number.
    ///
    /// # Errors
    /// As [`document`](Source::document).
    fn entries_of(&self, number: DocumentNumber) -> Result<Vec<EntryId>, BoxError> {
        Ok(vec![number.into()])
    }

    /// Whether the index keeps a field to be projected. None does by itself.
    fn is_stored(&self, field: &str) -> bool {
        let _ = field;
        false
    }

    /// Groups of documents that are kept for queries of the source's newest moments. None are for
    /// sources of their own kind, such as old snapshots.
    fn kept_groups(&self) -> Option<GroupsAccess<'_>> {
        None
    }

    /// The index chosen for this query, when there is one that is ready to be read.
    fn index(&self) -> Option<IndexAccess<'_, Self::Pages>>;
}

/// A column is not made for fewer matches than one of so many entries: reading their documents
/// takes less than walking over all terms.
const MATCHES_WORTH: u64 = 64;

/// The columns of an index in memory, and which snapshot of it the reader is of.
#[derive(Clone, Copy, Debug)]
pub struct ColumnAccess<'a> {
    /// The columns.
    pub columns: &'a Columns,
    /// Ascends with every change of the index.
    pub version: u64,
}

impl ColumnAccess<'_> {
    /// The column of a field, for so many matches: when it is there, or worth making.
    pub(crate) fn read<P: PageRead + ?Sized>(
        &self,
        reader: &IndexReader<'_, P>,
        field: (FieldId, TermKind),
        match_count: u64,
        options: &ExecuteOptions<'_>,
    ) -> Result<Option<Arc<Column>>, QueryError> {
        let entry_count = reader.entry_count();
        // To read so many documents, or lists, is dearer than to meet every entry.
        let met = match match_count.saturating_mul(MATCHES_WORTH) >= entry_count {
            true => entry_count,
            false => 0,
        };
        self.column(reader, field, met, options)
    }

    /// The column of a field when it is there.
    pub(crate) fn known<P: PageRead + ?Sized>(
        &self,
        reader: &IndexReader<'_, P>,
        field: (FieldId, TermKind),
        options: &ExecuteOptions<'_>,
    ) -> Result<Option<Arc<Column>>, QueryError> {
        self.column(reader, field, 0, options)
    }

    /// Says how dear a query was because the column of a field was not there, in entries that are
    /// met; made when that comes to as many as the index has.
    pub(crate) fn wish<P: PageRead + ?Sized>(
        &self,
        reader: &IndexReader<'_, P>,
        field: (FieldId, TermKind),
        met: u64,
        options: &ExecuteOptions<'_>,
    ) -> Result<(), QueryError> {
        self.column(reader, field, met, options).map(drop)
    }

    fn column<P: PageRead + ?Sized>(
        &self,
        reader: &IndexReader<'_, P>,
        field: (FieldId, TermKind),
        met: u64,
        options: &ExecuteOptions<'_>,
    ) -> Result<Option<Arc<Column>>, QueryError> {
        let mut budget = match options.interrupt {
            Some(flag) => Budget::unlimited().interrupted_by(flag),
            None => Budget::unlimited(),
        };
        let (columns, version) = (self.columns, self.version);
        Ok(columns.column(reader, version, field, met, &mut budget)?)
    }
}

/// An index and how far it has come.
pub struct IndexAccess<'a, P: PageRead + ?Sized> {
    /// Its name.
    pub name: &'a str,
    /// Which documents it is about.
    pub scope: &'a Scope,
    /// The fields it is defined with, whether or not a document has them.
    pub fields: &'a [IndexField],
    /// What its entries are.
    pub rows: IndexRows,
    /// Whether it may have fields that are not among [`IndexAccess::fields`].
    pub has_open_fields: bool,
    /// Its content; `None` when nothing was indexed yet.
    pub reader: Option<&'a IndexReader<'a, P>>,
    /// Changes up to here are in it.
    pub indexed_up_to: Etag,
    /// Columns of it that are kept in memory.
    pub columns: Option<ColumnAccess<'a>>,
    /// Whether the changes behind are too many to be evaluated: [`Source::changed`] leaves them
    /// out.
    pub is_cut: bool,
}

//! The snapshot: look-ups and listings of documents, collections and tombstones.
//!
//! Invariants:
//! - Everything read through one snapshot is of the same moment.
//!
//! Threads: one at a time; may be moved.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use jackdaw_base::lowercase::lowercase;
use jackdaw_model::Origin;
use jackdaw_storage::{FixedTree, ReadTransaction, Tree, TreeRoot};

use super::names::CollectionNames;
use super::prefix::{Filter, PrefixQuery};
use super::row::DocumentRow;
use crate::database::Core;
use crate::error::ReadError;
use crate::record::{CollectionNumber, Record};
use crate::store::trees::{
    COLLECTION_NAMES, COLLECTIONS, DOCUMENTS, ETAGS, IDS, MARKERS, SETTINGS, TOMBSTONES,
    collection_etags, decode_number, number_key, tree,
};
use crate::store::{CollectionRecord, State, identity_values};
use crate::tombstone::{Tombstone, TombstoneRecord};
use jackdaw_model::{DocumentNumber, Etag, Scope};

/// A collection at the moment of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionInfo {
    /// Its name in the spelling of its first document.
    pub name: String,
    /// Number of documents.
    pub count: u64,
    /// Etag of its last change, deletions included.
    pub last_etag: Etag,
    pub(crate) number: CollectionNumber,
}

/// All documents as of one moment. Keep it short: what it can see stays in memory.
pub struct Snapshot {
    pub(super) transaction: ReadTransaction,
    pub(super) core: Arc<Core>,
    names: Arc<CollectionNames>,
    documents: TreeRoot,
    ids: TreeRoot,
    etags: TreeRoot,
    last_etag: Etag,
    last_number: DocumentNumber,
}

impl Snapshot {
    pub(crate) fn new(
        transaction: ReadTransaction,
        core: Arc<Core>,
    ) -> Result<Snapshot, ReadError> {
        let etags = transaction.fixed_tree(ETAGS)?;
        let etags = etags.ok_or_else(|| ReadError::damaged("the list of trees"))?;
        let state = State::load(&tree(&transaction, SETTINGS)?)?;
        Ok(Snapshot {
            documents: *tree(&transaction, DOCUMENTS)?.root(),
            ids: *tree(&transaction, IDS)?.root(),
            etags: *etags.root(),
            last_etag: state.last_etag,
            last_number: state.last_number,
            names: CollectionNames::load(&tree(&transaction, COLLECTIONS)?, &core.names)?,
            transaction,
            core,
        })
    }

    /// The pages it is of.
    pub(crate) fn transaction(&self) -> &ReadTransaction {
        &self.transaction
    }

    fn documents(&self) -> Tree<'_, ReadTransaction> {
        Tree::new(&self.transaction, self.documents)
    }

    fn ids(&self) -> Tree<'_, ReadTransaction> {
        Tree::new(&self.transaction, self.ids)
    }

    fn etags(&self) -> FixedTree<'_, ReadTransaction> {
        FixedTree::new(&self.transaction, self.etags)
    }

    /// What the changes of the database are named after.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.core.origin
    }

    /// Number of documents. O(1).
    #[must_use]
    pub fn count(&self) -> u64 {
        self.documents.entry_count()
    }

    /// Etag of the last change, deletions included; 0 when there never was one. O(1).
    #[must_use]
    pub fn last_etag(&self) -> Etag {
        self.last_etag
    }

    /// Change vector of the database; empty when it never changed.
    #[must_use]
    pub fn change_vector(&self) -> String {
        match self.last_etag {
            Etag(0) => String::new(),
            etag => self.core.origin.change_vector(etag),
        }
    }

    /// The document with this id, in any letter case.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn get(&self, id: &str) -> Result<Option<DocumentRow<'_>>, ReadError> {
        match self.number(id)? {
            Some(number) => self.get_by_number(number),
            None => Ok(None),
        }
    }

    /// The number of the document with this id, in any letter case.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn number(&self, id: &str) -> Result<Option<DocumentNumber>, ReadError> {
        let bytes = self.ids().get(lowercase(id).as_bytes())?;
        bytes.map(decode_number).transpose()
    }

    /// The document with this number; `None` when it was deleted.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn get_by_number(
        &self,
        number: DocumentNumber,
    ) -> Result<Option<DocumentRow<'_>>, ReadError> {
        self.core.hub.count_reads(1);
        self.load(number)
    }

    /// [`Snapshot::get_by_number`] for the database itself: not counted.
    pub(crate) fn load(
        &self,
        number: DocumentNumber,
    ) -> Result<Option<DocumentRow<'_>>, ReadError> {
        let bytes = self.documents().get(&number_key(number))?;
        bytes.map(|bytes| self.row(number, bytes)).transpose()
    }

    pub(super) fn row<'s>(
        &'s self,
        number: DocumentNumber,
        bytes: &'s [u8],
    ) -> Result<DocumentRow<'s>, ReadError> {
        let damaged = || ReadError::damaged_document("the record of a document", number);
        let record = Record::decode(bytes).ok_or_else(damaged)?;
        let collection = self.names.get(record.collection).ok_or_else(damaged)?;
        Ok(DocumentRow {
            number,
            record,
            collection,
            origin: &self.core.origin,
        })
    }

    /// Rows of numbers that a tree of this snapshot gave.
    fn rows<'s>(
        &'s self,
        numbers: impl Iterator<Item = Result<DocumentNumber, ReadError>> + 's,
    ) -> impl Iterator<Item = Result<DocumentRow<'s>, ReadError>> + 's {
        numbers.map(|number| {
            let number = number?;
            let row = self.get_by_number(number)?;
            row.ok_or_else(|| ReadError::damaged_document("an entry for a document", number))
        })
    }

    /// Documents by the time of their last change, oldest first, from behind `after`.
    ///
    /// # Errors
    /// See [`ReadError`]; also while iterating.
    pub fn by_etag(
        &self,
        after: Etag,
    ) -> Result<impl Iterator<Item = Result<DocumentRow<'_>, ReadError>>, ReadError> {
        Ok(self.rows(numbers_after(self.etags(), after)?))
    }

    /// Documents by the time of their last change, newest first.
    ///
    /// # Errors
    /// As [`Snapshot::by_etag`].
    pub fn latest(
        &self,
    ) -> Result<impl Iterator<Item = Result<DocumentRow<'_>, ReadError>>, ReadError> {
        Ok(self.rows(self.etags().iter()?.rev().map(entry_number)))
    }

    /// Documents of a collection, in any letter case, oldest change first, from behind `after`.
    ///
    /// # Errors
    /// As [`Snapshot::by_etag`].
    pub fn by_collection<'s>(
        &'s self,
        name: &str,
        after: Etag,
    ) -> Result<impl Iterator<Item = Result<DocumentRow<'s>, ReadError>> + use<'s>, ReadError> {
        let numbers = match self.collection_etags(name)? {
            Some(etags) => Some(numbers_after(etags, after)?),
            None => None,
        };
        Ok(self.rows(numbers.into_iter().flatten()))
    }

    /// Documents of a collection, in any letter case, newest change first.
    ///
    /// # Errors
    /// As [`Snapshot::by_etag`].
    pub fn latest_of_collection(
        &self,
        name: &str,
    ) -> Result<impl Iterator<Item = Result<DocumentRow<'_>, ReadError>>, ReadError> {
        let numbers = match self.collection_etags(name)? {
            Some(etags) => Some(etags.iter()?.rev().map(entry_number)),
            None => None,
        };
        Ok(self.rows(numbers.into_iter().flatten()))
    }

    /// The etags of a collection; `None` when nothing was ever in it.
    fn collection_etags(
        &self,
        name: &str,
    ) -> Result<Option<FixedTree<'_, ReadTransaction>>, ReadError> {
        match self.collection(name)? {
            Some(info) => Ok(self
                .transaction
                .fixed_tree(&collection_etags(info.number))?),
            None => Ok(None),
        }
    }

    /// Documents by id, in the order of lower-cased ids.
    ///
    /// # Errors
    /// As [`Snapshot::by_etag`].
    pub fn by_prefix<'s>(
        &'s self,
        query: &PrefixQuery<'_>,
    ) -> Result<impl Iterator<Item = Result<DocumentRow<'s>, ReadError>> + use<'s>, ReadError> {
        let filter = Filter::new(query);
        let start = usize::try_from(query.start).unwrap_or(usize::MAX);
        let page_size = query.page_size.and_then(|size| usize::try_from(size).ok());
        let mut entries = self.ids().range((filter.start(), Bound::Unbounded))?;
        let mut key = Vec::new();
        let numbers = std::iter::from_fn(move || {
            loop {
                let (folded, value) = match entries.next()? {
                    Ok(entry) => entry,
                    Err(error) => return Some(Err(ReadError::from(error))),
                };
                folded.copy_to(&mut key);
                if !filter.is_within(&key) {
                    return None;
                }
                if !filter.has_patterns() || filter.passes(&key) {
                    return Some(decode_number(value));
                }
            }
        });
        Ok(self.rows(numbers.skip(start).take(page_size.unwrap_or(usize::MAX))))
    }

    /// Every document that can still be read, each looked up on its own in the order of numbers,
    /// and the error of each that cannot: for saving what a damaged file has left.
    pub fn readable(&self) -> impl Iterator<Item = Result<DocumentRow<'_>, ReadError>> {
        (1..=self.last_number.0).filter_map(|number| self.load(DocumentNumber(number)).transpose())
    }

    /// Calls `visit` with the lower-cased id and the number of every document whose lower-cased id
    /// is not below `from`, in byte order of ids, until it breaks. Reads no documents.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn visit_ids(
        &self,
        from: &str,
        mut visit: impl FnMut(&str, DocumentNumber) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let range = (Bound::Included(from.as_bytes()), Bound::Unbounded);
        let mut key = Vec::new();
        for entry in self.ids().range(range)? {
            let (folded, value) = entry?;
            folded.copy_to(&mut key);
            let id = std::str::from_utf8(&key).map_err(|_| ReadError::damaged("an id"))?;
            if visit(id, decode_number(value)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The collection called `name`, in any letter case; `None` when nothing was ever in it.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn collection(&self, name: &str) -> Result<Option<CollectionInfo>, ReadError> {
        let names = tree(&self.transaction, COLLECTION_NAMES)?;
        let Some(bytes) = names.get(lowercase(name).as_bytes())? else {
            return Ok(None);
        };
        let damaged = || ReadError::damaged("the list of collections");
        let number = u32::from_le_bytes(bytes.try_into().map_err(|_| damaged())?);
        let collections = tree(&self.transaction, COLLECTIONS)?;
        let bytes = collections.get(&number.to_be_bytes())?;
        let record = CollectionRecord::decode(bytes.ok_or_else(damaged)?)?;
        Ok(Some(info(CollectionNumber(number), record)))
    }

    /// Numbers and records of all documents, by number.
    pub(crate) fn records(
        &self,
    ) -> Result<impl Iterator<Item = Result<(DocumentNumber, &[u8]), ReadError>>, ReadError> {
        let entries = self.documents().iter()?;
        let mut key_bytes = Vec::new();
        Ok(entries.map(move |entry| {
            let (key, value) = entry?;
            key.copy_to(&mut key_bytes);
            let key = <[u8; 8]>::try_from(&key_bytes[..]);
            let key = key.map_err(|_| ReadError::damaged("the number of a document"))?;
            Ok((DocumentNumber(u64::from_be_bytes(key)), value))
        }))
    }

    /// Number of ids and of etags.
    pub(crate) fn entry_counts(&self) -> (u64, u64) {
        (self.ids.entry_count(), self.etags.entry_count())
    }

    /// Number of etags of a collection.
    pub(crate) fn etag_count(&self, number: CollectionNumber) -> Result<u64, ReadError> {
        let etags = self.transaction.fixed_tree(&collection_etags(number))?;
        Ok(etags.map_or(0, |etags| etags.len()))
    }

    /// The document whose last change has this etag.
    pub(crate) fn number_at(&self, etag: Etag) -> Result<Option<DocumentNumber>, ReadError> {
        self.etags().get(etag.0)?.map(decode_number).transpose()
    }

    /// The document of a collection whose last change has this etag.
    pub(crate) fn number_in(
        &self,
        collection: CollectionNumber,
        etag: Etag,
    ) -> Result<Option<DocumentNumber>, ReadError> {
        match self.transaction.fixed_tree(&collection_etags(collection))? {
            Some(etags) => etags.get(etag.0)?.map(decode_number).transpose(),
            None => Ok(None),
        }
    }

    /// The last number given to a document.
    pub(crate) fn last_number(&self) -> DocumentNumber {
        self.last_number
    }

    /// Etags and numbers of the documents of `scope` changed after `after`, oldest change first.
    pub(crate) fn changed(
        &self,
        scope: &Scope,
        after: Etag,
    ) -> Result<impl Iterator<Item = Result<(Etag, DocumentNumber), ReadError>> + '_, ReadError>
    {
        let etags = match scope {
            // Mostly an index has seen everything.
            _ if after >= self.last_etag => None,
            Scope::All => Some(self.etags()),
            Scope::Collection(name) => self.collection_etags(name)?,
        };
        let range = (Bound::Excluded(after.0), Bound::Unbounded);
        let entries = etags.map(|etags| etags.range(range)).transpose()?;
        Ok(entries.into_iter().flatten().map(|entry| {
            let (etag, value) = entry?;
            Ok((Etag(etag), decode_number(value)?))
        }))
    }

    /// Etags of deletions after `after` and numbers of the documents of `scope` deleted by them.
    pub(crate) fn removed(
        &self,
        scope: &Scope,
        after: Etag,
    ) -> Result<impl Iterator<Item = Result<(Etag, DocumentNumber), ReadError>> + '_, ReadError>
    {
        let is_behind = after < self.last_etag;
        let (is_all, wanted) = match scope {
            Scope::Collection(name) if is_behind => {
                (false, self.collection(name)?.map(|info| info.number))
            }
            _ => (true, None),
        };
        let records = is_behind.then(|| self.tombstone_records(after));
        let records = records.transpose()?.into_iter().flatten();
        Ok(records.filter_map(move |record| match record {
            Ok((_, record)) if !is_all && Some(record.collection) != wanted => None,
            Ok((etag, record)) => Some(Ok((etag, record.number))),
            Err(error) => Some(Err(error)),
        }))
    }

    /// Number of documents of `scope`. O(1).
    pub(crate) fn count_of(&self, scope: &Scope) -> Result<u64, ReadError> {
        match scope {
            Scope::All => Ok(self.count()),
            Scope::Collection(name) => Ok(self.collection(name)?.map_or(0, |info| info.count)),
        }
    }

    /// Etag of the last change of `scope`, deletions included. O(1).
    pub(crate) fn last_etag_of(&self, scope: &Scope) -> Result<Etag, ReadError> {
        match scope {
            Scope::All => Ok(self.last_etag),
            Scope::Collection(name) => Ok(self
                .collection(name)?
                .map_or(Etag(0), |info| info.last_etag)),
        }
    }

    /// All collections that ever had a document, in the order in which they came up.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn collections(&self) -> Result<Vec<CollectionInfo>, ReadError> {
        let collections = tree(&self.transaction, COLLECTIONS)?;
        let entries = collections.iter()?.zip(0..);
        entries
            .map(|(entry, number)| {
                let record = CollectionRecord::decode(entry?.1)?;
                Ok(info(CollectionNumber(number), record))
            })
            .collect()
    }

    /// Number of collections that ever had a document. O(1).
    #[must_use]
    pub fn collection_count(&self) -> u64 {
        self.names.len()
    }

    /// Number of tombstones. O(1).
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn tombstone_count(&self) -> Result<u64, ReadError> {
        Ok(tree(&self.transaction, TOMBSTONES)?.len())
    }

    /// Deleted documents, oldest deletion first, from behind `after`. One that was created again
    /// is another document with another number.
    ///
    /// # Errors
    /// As [`Snapshot::by_etag`].
    pub fn tombstones(
        &self,
        after: Etag,
    ) -> Result<impl Iterator<Item = Result<Tombstone, ReadError>> + '_, ReadError> {
        Ok(self.tombstone_records(after)?.map(|entry| {
            let (etag, record) = entry?;
            let collection = self.names.get(record.collection);
            let collection = collection.ok_or_else(|| ReadError::damaged("a tombstone"))?;
            Ok(Tombstone {
                etag,
                number: record.number,
                id: record.folded.to_owned(),
                collection: collection.to_owned(),
                last_etag: record.last_etag,
                deleted: record.deleted,
            })
        }))
    }

    pub(crate) fn tombstone_records(
        &self,
        after: Etag,
    ) -> Result<impl Iterator<Item = Result<(Etag, TombstoneRecord<'_>), ReadError>>, ReadError>
    {
        let first = after.0.saturating_add(1).to_be_bytes();
        let range = (Bound::Included(&first[..]), Bound::Unbounded);
        let entries = tree(&self.transaction, TOMBSTONES)?.range(range)?;
        let mut key_bytes = Vec::new();
        Ok(entries.map(move |entry| {
            let (key, value) = entry?;
            key.copy_to(&mut key_bytes);
            let key = <[u8; 8]>::try_from(&key_bytes[..]);
            let key = key.map_err(|_| ReadError::damaged("the key of a tombstone"))?;
            Ok((
                Etag(u64::from_be_bytes(key)),
                TombstoneRecord::decode(value)?,
            ))
        }))
    }

    /// Prefixes of `prefix|` ids with the last numbers given.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn identities(&self) -> Result<Vec<(String, i64)>, ReadError> {
        identity_values(&self.transaction)
    }

    /// The progress that an [`Importer`](crate::Importer) stored under `name`.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn progress_marker(&self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let markers = tree(&self.transaction, MARKERS)?;
        Ok(markers.get(name.as_bytes())?.map(<[u8]>::to_vec))
    }
}

fn info(number: CollectionNumber, record: CollectionRecord) -> CollectionInfo {
    CollectionInfo {
        name: record.name.into(),
        count: record.count,
        last_etag: record.last_etag,
        number,
    }
}

fn numbers_after<'s>(
    etags: FixedTree<'s, ReadTransaction>,
    after: Etag,
) -> Result<impl Iterator<Item = Result<DocumentNumber, ReadError>> + 's, ReadError> {
    let range = (Bound::Excluded(after.0), Bound::Unbounded);
    Ok(etags.range(range)?.map(entry_number))
}

fn entry_number(
    entry: Result<(u64, &[u8]), jackdaw_storage::StorageError>,
) -> Result<DocumentNumber, ReadError> {
    decode_number(entry?.1)
}

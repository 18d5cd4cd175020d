//! Names and keys of the trees of a database.

use jackdaw_storage::{ReadTransaction, StorageError, WriteTransaction};

use crate::error::ReadError;
use crate::record::CollectionNumber;
use jackdaw_model::DocumentNumber;

/// Document number, big-endian, to record.
pub(crate) const DOCUMENTS: &str = "documents";
/// Lower-cased id to document number.
pub(crate) const IDS: &str = "document_ids";
/// Etag to document number.
pub(crate) const ETAGS: &str = "document_etags";
/// Collection number, big-endian, to its record.
pub(crate) const COLLECTIONS: &str = "collections";
/// Lower-cased name to collection number.
pub(crate) const COLLECTION_NAMES: &str = "collection_names";
/// Etag, big-endian, to what is left of a deleted document.
pub(crate) const TOMBSTONES: &str = "tombstones";
/// Lower-cased prefix with its bar to the last number given.
pub(crate) const IDENTITIES: &str = "identities";
/// Name to progress of an import.
pub(crate) const MARKERS: &str = "progress_markers";
/// Number of an index, big-endian, to its definition.
pub(crate) const INDEXES: &str = "indexes";
/// Name to value, one of each kind.
pub(crate) const SETTINGS: &str = "settings";

/// Document number and counter name in lower case to counter. Made when first used, as those below.
pub(crate) const COUNTERS: &str = "counters";
/// Document number and name in lower case to attachment.
pub(crate) const ATTACHMENTS: &str = "attachments";
/// Hash, or name of an upload, to content: a tree of streams.
pub(crate) const ATTACHMENT_CONTENT: &str = "attachment_content";
/// Hash to number of attachments and revisions with that content.
pub(crate) const ATTACHMENT_USES: &str = "attachment_uses";
/// Document number and name in lower case to record of a time series.
pub(crate) const SERIES: &str = "time_series";
/// Series number and time to entry of a time series.
pub(crate) const SERIES_ENTRIES: &str = "time_series_entries";
/// What policies of time series ask for: kind, time, document number and name in lower case.
pub(crate) const SERIES_DUE: &str = "time_series_due";
/// Document number and name in lower case to what retention deleted of a time series.
pub(crate) const SERIES_RETIRED: &str = "time_series_retired";
/// Lower-cased id to number of the owner of revisions.
pub(crate) const REVISION_OWNERS: &str = "revision_owners";
/// Owner and etag, both big-endian, to document record.
pub(crate) const REVISIONS: &str = "revisions";
/// Etag to owner of the revision.
pub(crate) const REVISION_ETAGS: &str = "revision_etags";
/// Etag to owner of the revision that says that a document was deleted.
pub(crate) const REVISION_BIN: &str = "revision_bin";
/// Key in lower case to value of compare-exchange.
pub(crate) const EXCHANGE: &str = "compare_exchange";

/// Kind, time and document number of each date in metadata at which something happens.
pub(crate) const DUE: &str = "due";
/// Number of a subscription, big-endian, to its record.
pub(crate) const SUBSCRIPTIONS: &str = "subscriptions";
/// Name of a subscription in lower case to its number.
pub(crate) const SUBSCRIPTION_NAMES: &str = "subscription_names";

/// Width of the values of etag trees: a document number.
pub(crate) const NUMBER_BYTES: u16 = 8;

/// Etag to document number, of one collection.
pub(crate) fn collection_etags(number: CollectionNumber) -> String {
    format!("collection_etags/{}", number.0)
}

/// Key of a document.
pub(crate) fn number_key(number: DocumentNumber) -> [u8; 8] {
    number.0.to_be_bytes()
}

/// Reads a document number that is stored as a value.
pub(crate) fn decode_number(bytes: &[u8]) -> Result<DocumentNumber, ReadError> {
    let bytes =
        <[u8; 8]>::try_from(bytes).map_err(|_| ReadError::damaged("a stored document number"))?;
    Ok(DocumentNumber(u64::from_le_bytes(bytes)))
}

/// The number stored at `offset` of a record; `None` when the record ends before.
pub(crate) fn number_at(record: &[u8], offset: usize) -> Option<u64> {
    let bytes = record.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

/// Makes the trees that readers expect.
pub(crate) fn create(transaction: &mut WriteTransaction) -> Result<(), StorageError> {
    for name in [
        DOCUMENTS,
        IDS,
        COLLECTIONS,
        COLLECTION_NAMES,
        TOMBSTONES,
        IDENTITIES,
        MARKERS,
        INDEXES,
        SETTINGS,
    ] {
        transaction.tree_mut(name)?;
    }
    transaction.fixed_tree_mut(ETAGS, NUMBER_BYTES)?;
    Ok(())
}

/// A tree that `create` made.
pub(crate) fn tree<'t>(
    transaction: &'t ReadTransaction,
    name: &str,
) -> Result<jackdaw_storage::Tree<'t, ReadTransaction>, ReadError> {
    transaction
        .tree(name)?
        .ok_or_else(|| ReadError::damaged("the list of trees"))
}

/// Keys of a tree that begin with `prefix`; none when the tree was never used.
pub(crate) fn keys_with_prefix(
    transaction: &WriteTransaction,
    name: &str,
    prefix: &[u8],
) -> Result<Vec<Vec<u8>>, StorageError> {
    let Some(tree) = transaction.tree(name)? else {
        return Ok(Vec::new());
    };
    let entries = tree.prefix(prefix)?;
    entries.map(|entry| Ok(entry?.0.to_vec())).collect()
}

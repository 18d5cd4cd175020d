//! Names and keys of the trees of a database.

use jackdaw_storage::{ReadTransaction, StorageError, WriteTransaction};

use crate::error::ReadError;
use crate::record::CollectionNumber;
use jackdaw_query::DocumentNumber;

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

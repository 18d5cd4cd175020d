//! Records of collections: name in its first spelling, number of documents, last etag.

use jackdaw_base::lowercase::lowercase;
use jackdaw_storage::WriteTransaction;

use super::trees::{COLLECTION_NAMES, COLLECTIONS, number_at};
use crate::error::{ReadError, WriteError};
use crate::record::CollectionNumber;
use jackdaw_model::Etag;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 24;

/// What is stored of a collection. A collection stays when its last document is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CollectionRecord {
    pub(crate) name: Box<str>,
    pub(crate) count: u64,
    /// Of the last change in it, deletions included.
    pub(crate) last_etag: Etag,
}

impl CollectionRecord {
    pub(crate) fn decode(bytes: &[u8]) -> Result<CollectionRecord, ReadError> {
        let decoded = || {
            let (head, name) = bytes.split_at_checked(HEAD_BYTES)?;
            (head[0] == VERSION).then_some(())?;
            let number = |at: usize| number_at(head, at);
            Some(CollectionRecord {
                name: std::str::from_utf8(name).ok()?.into(),
                count: number(8)?,
                last_etag: Etag(number(16)?),
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("the record of a collection"))
    }

    pub(crate) fn store(
        &self,
        number: CollectionNumber,
        transaction: &mut WriteTransaction,
    ) -> Result<(), WriteError> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.name.len());
        bytes.extend_from_slice(&[VERSION, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes.extend_from_slice(&self.last_etag.0.to_le_bytes());
        bytes.extend_from_slice(self.name.as_bytes());
        let key = number.0.to_be_bytes();
        transaction.tree_mut(COLLECTIONS)?.put(&key, &bytes)?;
        Ok(())
    }

    pub(crate) fn load(
        number: CollectionNumber,
        transaction: &mut WriteTransaction,
    ) -> Result<CollectionRecord, WriteError> {
        let collections = transaction.tree_mut(COLLECTIONS)?;
        match collections.get(&number.0.to_be_bytes())? {
            Some(bytes) => Ok(CollectionRecord::decode(bytes)?),
            None => Err(ReadError::damaged("the list of collections").into()),
        }
    }

    /// The number of the collection called `name`, which gets one when it is new.
    pub(crate) fn number_of(
        name: &str,
        transaction: &mut WriteTransaction,
    ) -> Result<CollectionNumber, WriteError> {
        let folded = lowercase(name);
        let names = transaction.tree_mut(COLLECTION_NAMES)?;
        if let Some(bytes) = names.get(folded.as_bytes())? {
            return Ok(decode_collection_number(bytes)?);
        }
        let too_many = |_| ReadError::damaged("the number of collections");
        let number = u32::try_from(names.len()).map_err(too_many)?;
        transaction
            .tree_mut(COLLECTION_NAMES)?
            .put(folded.as_bytes(), &number.to_le_bytes())?;
        let record = CollectionRecord {
            name: name.into(),
            count: 0,
            last_etag: Etag(0),
        };
        let number = CollectionNumber(number);
        record.store(number, transaction)?;
        Ok(number)
    }
}

/// Reads a collection number that is stored as a value.
pub(crate) fn decode_collection_number(bytes: &[u8]) -> Result<CollectionNumber, ReadError> {
    let bytes =
        <[u8; 4]>::try_from(bytes).map_err(|_| ReadError::damaged("the number of a collection"))?;
    Ok(CollectionNumber(u32::from_le_bytes(bytes)))
}

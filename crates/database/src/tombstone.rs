//! What is left of a deleted document: its id, number and collection, under the etag of the
//! deletion. Indexes, replication and feeds of changes read them.

use std::ops::Bound;

use jackdaw_base::time::UnixTicks;
use jackdaw_storage::WriteTransaction;

use crate::error::{ReadError, WriteError};
use crate::record::CollectionNumber;
use crate::store::trees::{TOMBSTONES, number_at};
use jackdaw_model::{DocumentNumber, Etag};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 32;

/// A deleted document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Etag of the deletion.
    pub etag: Etag,
    /// The number that the document had.
    pub number: DocumentNumber,
    /// Its id in lower case.
    pub id: String,
    /// Its collection.
    pub collection: String,
    /// Its last etag before the deletion.
    pub last_etag: Etag,
    /// When it was deleted.
    pub deleted: UnixTicks,
}

/// The stored form; the etag of the deletion is the key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TombstoneRecord<'a> {
    pub(crate) number: DocumentNumber,
    pub(crate) collection: CollectionNumber,
    pub(crate) deleted: UnixTicks,
    pub(crate) last_etag: Etag,
    pub(crate) folded: &'a str,
}

impl<'a> TombstoneRecord<'a> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.folded.len());
        bytes.extend_from_slice(&[VERSION, 0, 0, 0]);
        bytes.extend_from_slice(&self.collection.0.to_le_bytes());
        bytes.extend_from_slice(&self.number.0.to_le_bytes());
        bytes.extend_from_slice(&self.last_etag.0.to_le_bytes());
        bytes.extend_from_slice(&self.deleted.0.to_le_bytes());
        bytes.extend_from_slice(self.folded.as_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &'a [u8]) -> Result<TombstoneRecord<'a>, ReadError> {
        let decoded = || {
            let (head, folded) = bytes.split_at_checked(HEAD_BYTES)?;
            (head[0] == VERSION).then_some(())?;
            let number = |at: usize| number_at(head, at);
            Some(TombstoneRecord {
                collection: CollectionNumber(u32::from_le_bytes(*head[4..].first_chunk()?)),
                number: DocumentNumber(number(8)?),
                last_etag: Etag(number(16)?),
                deleted: UnixTicks(number(24)?.cast_signed()),
                folded: std::str::from_utf8(folded).ok()?,
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("a tombstone"))
    }
}

/// Tombstones removed by one transaction: the writer is not held up for long.
pub(crate) const CLEANED_AT_ONCE: usize = 4_096;

/// Removes tombstones of deletions up to `up_to` that happened before `before`; gives how many, and
/// the etag of the last.
pub(crate) fn clean(
    transaction: &mut WriteTransaction,
    up_to: Etag,
    before: UnixTicks,
) -> Result<(usize, Etag), WriteError> {
    let mut keys = Vec::new();
    if let Some(tombstones) = transaction.tree(TOMBSTONES)? {
        let end = up_to.0.to_be_bytes();
        let range = (Bound::Unbounded, Bound::Included(&end[..]));
        for entry in tombstones.range(range)?.take(CLEANED_AT_ONCE) {
            let (key, value) = entry?;
            if TombstoneRecord::decode(value)?.deleted >= before {
                break;
            }
            keys.push(key.to_vec());
        }
    }
    for key in &keys {
        transaction.tree_mut(TOMBSTONES)?.delete(key)?;
    }
    let last = keys.last().and_then(|key| key.as_slice().try_into().ok());
    Ok((keys.len(), Etag(last.map_or(0, u64::from_be_bytes))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tombstones_read_back_and_damage_is_an_error() {
        let record = TombstoneRecord {
            number: DocumentNumber(9),
            collection: CollectionNumber(2),
            deleted: UnixTicks(77),
            last_etag: Etag(5),
            folded: "users/1",
        };
        let bytes = record.encode();
        let read = TombstoneRecord::decode(&bytes).unwrap();
        assert_eq!(
            (read.number, read.collection),
            (DocumentNumber(9), CollectionNumber(2))
        );
        assert_eq!((read.deleted, read.last_etag), (UnixTicks(77), Etag(5)));
        assert_eq!(read.folded, "users/1");
        assert!(TombstoneRecord::decode(&bytes[..10]).is_err());
        assert!(TombstoneRecord::decode(&[9; 40]).is_err());
    }
}

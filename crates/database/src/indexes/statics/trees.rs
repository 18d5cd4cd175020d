//! Trees of a static index beside those of the inverted index, their keys and small records.
//! Bytes: docs/format.md, "Static indexes".

use jackdaw_base::time::UnixTicks;
use jackdaw_base::varint;
use jackdaw_model::DocumentNumber;
use jackdaw_search::EntryId;
use jackdaw_storage::{PageRead, ReadTransaction, StorageError, Tree, WriteTransaction};

use crate::error::ReadError;

/// One record: [`Meta`].
pub(super) const META: &str = "static_meta";
/// Document number to its entries, or to its places in groups.
pub(super) const DOCUMENTS: &str = "static_documents";
/// Entry to owner and values.
pub(super) const ENTRIES: &str = "static_entries";
/// Hash of a key to number of its group.
pub(super) const GROUP_NUMBERS: &str = "static_group_numbers";
/// Number to record of a group.
pub(super) const GROUPS: &str = "static_groups";
/// Group and place to document number and what a map gave.
pub(super) const MAPPED: &str = "static_mapped";
/// Group and run of places to results of reducing that run.
pub(super) const REDUCED: &str = "static_reduced";
/// Kind, id or key, and document number of who asked for it.
pub(super) const REFERENCES: &str = "static_references";
/// Document number to what it asked for.
pub(super) const REFERENCED: &str = "static_referenced";
/// Document numbers that are to be mapped again.
pub(super) const PENDING: &str = "static_pending";
/// Number to error.
pub(super) const ERRORS: &str = "static_errors";
/// Groups whose results are not stored as documents yet.
pub(super) const OUTPUTS: &str = "static_outputs";
/// Group to the documents that hold its results.
pub(super) const OUTPUT_DOCUMENTS: &str = "static_output_documents";
/// Hash of the id of a document that lists results, and group.
pub(super) const OUTPUT_REFERENCES: &str = "static_output_references";

const META_KEY: &[u8] = b"meta";
const VERSION: u8 = 1;
const META_BYTES: usize = 88;

/// Numbers of a static index, changed with its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(super) next_entry: u64,
    pub(super) next_group: u64,
    pub(super) next_error: u64,
    /// Last index of compare-exchange that was looked at.
    pub(super) exchange_up_to: u64,
    /// Documents mapped, and those of them that failed.
    pub(crate) map_attempts: u64,
    pub(crate) map_errors: u64,
    /// Documents mapped again because something they load changed.
    pub(crate) reference_attempts: u64,
    /// Groups reduced, and those of them that failed.
    pub(crate) reduce_attempts: u64,
    pub(crate) reduce_errors: u64,
    /// Most entries that a document gave.
    pub(crate) outputs_max: u32,
    /// When a batch was last applied.
    pub(crate) last_batch: Option<UnixTicks>,
}

impl Meta {
    pub(super) fn load<P: PageRead + ?Sized>(
        tree: Option<&Tree<'_, P>>,
    ) -> Result<Meta, ReadError> {
        let bytes = match tree {
            Some(tree) => tree.get(META_KEY)?,
            None => None,
        };
        match bytes {
            Some(bytes) => Meta::decode(bytes),
            None => Ok(Meta {
                next_entry: 1,
                next_group: 1,
                ..Meta::default()
            }),
        }
    }

    /// Those of a snapshot; the ones of an index without entries when there are none.
    pub(crate) fn read(pages: &ReadTransaction) -> Result<Meta, ReadError> {
        Meta::load(pages.tree(META)?.as_ref())
    }

    /// Whether nothing was ever applied.
    pub(crate) fn is_empty(&self) -> bool {
        self.last_batch.is_none()
    }

    /// Compare-exchange was looked at up to here.
    pub(crate) fn exchange_up_to(&self) -> u64 {
        self.exchange_up_to
    }

    pub(super) fn key() -> &'static [u8] {
        META_KEY
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(META_BYTES);
        bytes.extend_from_slice(&[VERSION, 0, 0, 0]);
        bytes.extend_from_slice(&self.outputs_max.to_le_bytes());
        for number in [
            self.next_entry,
            self.next_group,
            self.next_error,
            self.exchange_up_to,
            self.map_attempts,
            self.map_errors,
            self.reference_attempts,
            self.reduce_attempts,
            self.reduce_errors,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let last_batch = self.last_batch.map_or(0, |ticks| ticks.0);
        bytes.extend_from_slice(&last_batch.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Meta, ReadError> {
        let damaged = || ReadError::damaged("the numbers of a static index");
        if bytes.len() != META_BYTES || bytes[0] != VERSION {
            return Err(damaged());
        }
        let number = |slot: usize| {
            let bytes = bytes.get(8 + slot * 8..).and_then(<[u8]>::first_chunk);
            bytes
                .map(|bytes| u64::from_le_bytes(*bytes))
                .ok_or_else(damaged)
        };
        let last_batch = number(9)?.cast_signed();
        Ok(Meta {
            outputs_max: u32::from_le_bytes(*bytes[4..].first_chunk().ok_or_else(damaged)?),
            next_entry: number(0)?,
            next_group: number(1)?,
            next_error: number(2)?,
            exchange_up_to: number(3)?,
            map_attempts: number(4)?,
            map_errors: number(5)?,
            reference_attempts: number(6)?,
            reduce_attempts: number(7)?,
            reduce_errors: number(8)?,
            last_batch: (last_batch != 0).then_some(UnixTicks(last_batch)),
        })
    }
}

/// Key of a number.
pub(super) fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Key of a place, or of a run of places, in a group.
pub(super) fn pair_key(group: u64, place: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&group.to_be_bytes());
    key[8..].copy_from_slice(&place.to_be_bytes());
    key
}

/// The number that ends a key.
pub(super) fn last_number(key: &[u8]) -> Result<u64, ReadError> {
    let bytes = key
        .last_chunk()
        .ok_or_else(|| ReadError::damaged("a key of a static index"))?;
    Ok(u64::from_be_bytes(*bytes))
}

/// Numbers as varints, behind a version.
pub(super) fn encode_numbers(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    for number in numbers {
        varint::encode(number, &mut bytes);
    }
    bytes
}

pub(super) fn decode_numbers(bytes: &[u8]) -> Result<Vec<u64>, ReadError> {
    let damaged = || ReadError::damaged("a list of numbers of a static index");
    let (version, mut rest) = bytes.split_first().ok_or_else(damaged)?;
    if *version != VERSION {
        return Err(damaged());
    }
    let mut numbers = Vec::new();
    while !rest.is_empty() {
        numbers.push(varint::take(&mut rest).ok_or_else(damaged)?);
    }
    Ok(numbers)
}

/// What an entry or a place stands for, before its values.
pub(super) fn encode_owned(owner: u64, values: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + values.len());
    bytes.extend_from_slice(&owner.to_le_bytes());
    bytes.extend_from_slice(values);
    bytes
}

pub(super) fn decode_owned(bytes: &[u8]) -> Result<(u64, &[u8]), ReadError> {
    let (owner, values) = bytes
        .split_first_chunk()
        .ok_or_else(|| ReadError::damaged("an entry of a static index"))?;
    Ok((u64::from_le_bytes(*owner), values))
}

/// Entries of a document of an index without a reduce, in the order in which its map gave them.
pub(crate) fn entries_of<P: PageRead + ?Sized>(
    tree: Option<&Tree<'_, P>>,
    number: DocumentNumber,
) -> Result<Vec<EntryId>, ReadError> {
    let bytes = match tree {
        Some(tree) => tree.get(&key(number.0))?,
        None => None,
    };
    let numbers = bytes.map_or(Ok(Vec::new()), decode_numbers)?;
    Ok(numbers.into_iter().map(EntryId).collect())
}

/// What [`DOCUMENTS`] tells of a document.
pub(super) fn numbers_of_document(
    transaction: &WriteTransaction,
    number: DocumentNumber,
) -> Result<Vec<u64>, ReadError> {
    match transaction.tree(DOCUMENTS)? {
        Some(tree) => tree
            .get(&key(number.0))?
            .map_or(Ok(Vec::new()), decode_numbers),
        None => Ok(Vec::new()),
    }
}

/// Puts `now` in the place of `before` in [`DOCUMENTS`]; a document without numbers is not in it.
pub(super) fn replace_numbers_of_document(
    transaction: &mut WriteTransaction,
    number: DocumentNumber,
    before: &[u64],
    now: &[u64],
) -> Result<(), StorageError> {
    if now == before {
        return Ok(());
    }
    let mut documents = transaction.tree_mut(DOCUMENTS)?;
    if now.is_empty() {
        documents.delete(&key(number.0))?;
    } else {
        documents.put(&key(number.0), &encode_numbers(now.iter().copied()))?;
    }
    Ok(())
}

/// Keys of a tree from `from` on that begin with `prefix`, at most `count`.
pub(super) fn keys<P: PageRead + ?Sized>(
    tree: Option<Tree<'_, P>>,
    prefix: &[u8],
    count: usize,
) -> Result<Vec<Vec<u8>>, StorageError> {
    let Some(tree) = tree else {
        return Ok(Vec::new());
    };
    let entries = tree.prefix(prefix)?.take(count);
    entries.map(|entry| Ok(entry?.0.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back() {
        let meta = Meta {
            next_entry: 5,
            next_error: u64::MAX,
            reduce_errors: 9,
            outputs_max: 7,
            last_batch: Some(UnixTicks(8)),
            ..Meta::default()
        };
        let bytes = meta.encode();
        assert_eq!(bytes.len(), META_BYTES);
        assert_eq!(Meta::decode(&bytes).unwrap(), meta);
        assert!(Meta::decode(&bytes[1..]).is_err());
        let numbers = [0, 1, 127, 128, u64::MAX];
        assert_eq!(decode_numbers(&encode_numbers(numbers)).unwrap(), numbers);
        assert!(decode_numbers(&[VERSION, 0x80]).is_err() && decode_numbers(&[]).is_err());
        let owned = encode_owned(3, b"ab");
        assert_eq!(decode_owned(&owned).unwrap(), (3, &b"ab"[..]));
        assert!(decode_owned(&owned[..7]).is_err());
        assert_eq!(last_number(&pair_key(1, 2)).unwrap(), 2);
    }
}

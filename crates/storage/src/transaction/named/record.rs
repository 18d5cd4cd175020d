//! What the tree of named snapshots holds: a record for each snapshot, and where images are.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::{DamageKind, StorageError};
use crate::page::{PAGE_BYTES, PageNumber, PageRead};
use crate::transaction::TransactionId;
use crate::tree::{TREE_ROOT_BYTES, Tree, TreeRoot};

/// The tree of named snapshots. No other tree may have this name.
pub(crate) const NAMED_TREE: &str = "jackdaw.snapshots";

/// Key of the greatest number that a snapshot had so far.
pub(super) const LAST_NUMBER_KEY: &[u8] = &[0];
const RECORD_PREFIX: u8 = 1;
const IMAGE_PREFIX: u8 = 2;

const VERSION: u8 = 1;
/// Flag of a snapshot whose images are being given back.
const BEING_DROPPED: u8 = 1;

/// A named snapshot, as [`ReadTransaction::snapshots`](crate::ReadTransaction::snapshots) lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedSnapshot {
    /// What it is called; unique in its environment.
    pub name: String,
    /// The last transaction that it sees.
    pub transaction: TransactionId,
    /// When it was taken: nanoseconds since 1970.
    pub unix_nanos: u64,
    /// Bytes of the data file that are kept for it and would be free without it. Some of them may
    /// be needed by an older snapshot too, and then become that one's.
    pub kept_bytes: u64,
    /// It can no longer be read; dropping it again gives back what is left of it.
    pub is_being_dropped: bool,
}

/// The value of a snapshot.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct SnapshotRecord {
    version: u8,
    flags: u8,
    reserved: [u8; 6],
    number: U64,
    transaction: U64,
    page_count: U64,
    kept_pages: U64,
    unix_nanos: U64,
    dropped_up_to: U64,
    catalog_root: [u8; TREE_ROOT_BYTES],
}

/// The value of an image.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct ImageRecord {
    place: U64,
    transaction: U64,
    page_count: U32,
    reserved: U32,
}

/// Where the image of a page or run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) place: PageNumber,
    /// Transaction that had changed the page when it was kept.
    pub(crate) transaction: u64,
    pub(crate) page_count: u32,
}

/// A snapshot as writers and readers of it need it.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) name: Vec<u8>,
    pub(super) number: u64,
    pub(super) transaction: u64,
    pub(super) page_count: u64,
    pub(super) kept_pages: u64,
    pub(super) unix_nanos: u64,
    /// While being dropped: images of pages before this one are gone already.
    pub(super) dropped_up_to: u64,
    pub(super) is_being_dropped: bool,
    pub(super) catalog_root: TreeRoot,
}

impl Snapshot {
    /// The snapshot of a record in `tree`.
    pub(super) fn decode(
        name: &[u8],
        value: &[u8],
        tree: &TreeRoot,
    ) -> Result<Snapshot, StorageError> {
        let damage = |what| damage(tree, what);
        let record = SnapshotRecord::ref_from_bytes(value)
            .ok()
            .filter(|record| record.version == VERSION && record.flags & !BEING_DROPPED == 0)
            .ok_or_else(|| {
                damage(DamageKind::Encoding {
                    what: "a named snapshot",
                })
            })?;
        Ok(Snapshot {
            name: name.to_vec(),
            number: record.number.get(),
            transaction: record.transaction.get(),
            page_count: record.page_count.get(),
            kept_pages: record.kept_pages.get(),
            unix_nanos: record.unix_nanos.get(),
            dropped_up_to: record.dropped_up_to.get(),
            is_being_dropped: record.flags & BEING_DROPPED != 0,
            catalog_root: TreeRoot::decode(&record.catalog_root).map_err(damage)?,
        })
    }

    pub(super) fn encode(&self) -> impl AsRef<[u8]> {
        let record = SnapshotRecord {
            version: VERSION,
            flags: u8::from(self.is_being_dropped) * BEING_DROPPED,
            reserved: [0; 6],
            number: self.number.into(),
            transaction: self.transaction.into(),
            page_count: self.page_count.into(),
            kept_pages: self.kept_pages.into(),
            unix_nanos: self.unix_nanos.into(),
            dropped_up_to: self.dropped_up_to.into(),
            catalog_root: self.catalog_root.encode(),
        };
        record.as_bytes().to_vec()
    }

    pub(super) fn key(&self) -> Vec<u8> {
        record_key(&self.name)
    }

    pub(super) fn describe(&self) -> NamedSnapshot {
        NamedSnapshot {
            name: String::from_utf8_lossy(&self.name).into_owned(),
            transaction: TransactionId(self.transaction),
            unix_nanos: self.unix_nanos,
            kept_bytes: self.kept_pages * PAGE_BYTES as u64,
            is_being_dropped: self.is_being_dropped,
        }
    }
}

impl Image {
    /// The image of a record in `tree`.
    pub(super) fn decode(value: &[u8], tree: &TreeRoot) -> Result<Image, StorageError> {
        let record = ImageRecord::ref_from_bytes(value).map_err(|_| {
            let what = DamageKind::Encoding {
                what: "where a page of a named snapshot is",
            };
            damage(tree, what)
        })?;
        Ok(Image {
            place: PageNumber(record.place.get()),
            transaction: record.transaction.get(),
            page_count: record.page_count.get(),
        })
    }

    pub(super) fn encode(self) -> impl AsRef<[u8]> {
        let record = ImageRecord {
            place: self.place.0.into(),
            transaction: self.transaction.into(),
            page_count: self.page_count.into(),
            reserved: U32::ZERO,
        };
        record.as_bytes().to_vec()
    }
}

#[cold]
fn damage(tree: &TreeRoot, what: DamageKind) -> StorageError {
    StorageError::corrupt_page(tree.root_page().unwrap_or(PageNumber::NONE), what)
}

pub(super) fn record_key(name: &[u8]) -> Vec<u8> {
    [&[RECORD_PREFIX], name].concat()
}

/// Images are ordered by page, so that one look-up finds the one that a snapshot sees.
pub(super) fn image_key(page: PageNumber, number: u64) -> [u8; 17] {
    let mut key = [IMAGE_PREFIX; 17];
    key[1..9].copy_from_slice(&page.0.to_be_bytes());
    key[9..].copy_from_slice(&number.to_be_bytes());
    key
}

/// What the keys of all images of a page begin with.
pub(super) fn image_prefix(page: PageNumber) -> [u8; 9] {
    let mut prefix = [IMAGE_PREFIX; 9];
    prefix[1..].copy_from_slice(&page.0.to_be_bytes());
    prefix
}

/// Page and number of the snapshot in a key of an image.
pub(super) fn image_of_key(key: &[u8]) -> Option<(PageNumber, u64)> {
    let (prefix, key) = key.split_first()?;
    let (page, number) = key.split_first_chunk::<8>()?;
    let number = number.try_into().ok()?;
    (*prefix == IMAGE_PREFIX).then_some((
        PageNumber(u64::from_be_bytes(*page)),
        u64::from_be_bytes(number),
    ))
}

/// All snapshots, by name.
pub(super) fn snapshots<P: PageRead + ?Sized>(
    tree: &Tree<'_, P>,
) -> Result<Vec<Snapshot>, StorageError> {
    let entries = tree.prefix(&[RECORD_PREFIX])?;
    entries
        .map(|entry| {
            let (key, value) = entry?;
            Snapshot::decode(&key.to_vec()[1..], value, tree.root())
        })
        .collect()
}

/// All images, by page, with the number of the snapshot that each is kept under.
pub(super) fn images<'t, P: PageRead + ?Sized>(
    tree: &Tree<'t, P>,
) -> Result<impl Iterator<Item = Result<(u64, Image), StorageError>> + use<'t, P>, StorageError> {
    let root = *tree.root();
    let entries = tree.prefix(&[IMAGE_PREFIX])?;
    Ok(entries.map(move |entry| {
        let (key, value) = entry?;
        let (_, number) = image_of_key(&key.to_vec()).ok_or_else(|| {
            let what = DamageKind::Encoding {
                what: "the key of a kept page",
            };
            damage(&root, what)
        })?;
        Ok((number, Image::decode(value, &root)?))
    }))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "storage::transaction::named::SnapshotRecord",
            SnapshotRecord {
                version,
                flags,
                reserved,
                number,
                transaction,
                page_count,
                kept_pages,
                unix_nanos,
                dropped_up_to,
                catalog_root
            }
        );
        jackdaw_sim::assert_layout!(
            "storage::transaction::named::ImageRecord",
            ImageRecord {
                place,
                transaction,
                page_count,
                reserved
            }
        );
    }

    #[test]
    fn images_of_one_page_are_ordered_by_snapshot() {
        let key = |page, number| image_key(PageNumber(page), number);
        assert!(key(1, u64::MAX) < key(2, 0));
        assert!(key(2, 0) < key(2, 1));
        assert_eq!(image_of_key(&key(7, 9)), Some((PageNumber(7), 9)));
        assert_eq!(image_of_key(&record_key(b"sixteen byte name")), None);
    }
}

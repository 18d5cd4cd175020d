//! How much the documents of each collection hold, and what lies beside them.
//!
//! Nothing of this is kept: all records are passed, and of time series all but their entries.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use jackdaw_model::Etag;
use jackdaw_storage::PAGE_BYTES;

use super::view::Snapshot;
use crate::error::ReadError;
use crate::flags::Flags;
use crate::record::{CollectionNumber, RecordHead};
use crate::store::SeriesRecord;
use crate::store::trees::{COUNTERS, REVISIONS, SERIES, SERIES_ENTRIES, number_key};

/// Looks at the interrupt flag once in so many records.
const CHECK_RECORDS: u64 = 256;

/// Some records, and the bytes that they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Number of records.
    pub count: u64,
    /// Their bytes as they are stored, without what pages take beside them.
    pub len_bytes: u64,
}

impl Held {
    fn add(&mut self, len_bytes: usize) {
        self.count += 1;
        self.len_bytes += len_bytes as u64;
    }
}

/// What a collection holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectionSizes {
    /// In the spelling of its first use.
    pub name: String,
    /// Documents.
    pub documents: Held,
    /// What is left of deleted documents.
    pub tombstones: Held,
    /// Revisions, those of deleted documents too.
    pub revisions: Held,
    /// Documents that have counters, and the bytes of all their counters.
    pub counters: Held,
    /// Time series. Bytes are the part of the pages of all entries that the number of theirs is.
    pub series: Held,
}

impl Snapshot {
    /// What each collection holds that has documents, tombstones or revisions; `None` when
    /// `interrupt` was raised meanwhile. Passes all records.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn collection_sizes(
        &self,
        interrupt: &AtomicBool,
    ) -> Result<Option<Vec<CollectionSizes>>, ReadError> {
        let mut sizes: HashMap<CollectionNumber, CollectionSizes> = HashMap::new();
        let mut passed = 0_u64;
        let mut is_over = || {
            passed += 1;
            passed.is_multiple_of(CHECK_RECORDS) && interrupt.load(Ordering::Relaxed)
        };
        let damaged = || ReadError::damaged("the record of a document");
        for entry in self.records()? {
            let (number, bytes) = entry?;
            let head = RecordHead::decode(bytes).ok_or_else(damaged)?;
            let held = sizes.entry(head.collection).or_default();
            held.documents.add(bytes.len());
            let prefix = number_key(number);
            if head.flags.has(Flags::HAS_COUNTERS) {
                held.counters.add(self.counter_bytes(&prefix)?);
            }
            if head.flags.has(Flags::HAS_TIME_SERIES) {
                let (count, entry_count) = self.series_counts(&prefix)?;
                held.series.count += count;
                held.series.len_bytes += entry_count;
            }
            if is_over() {
                return Ok(None);
            }
        }
        for entry in self.tombstone_records(Etag(0))? {
            let (_, record) = entry?;
            let held = sizes.entry(record.collection).or_default();
            held.tombstones.add(record.encode().len());
            if is_over() {
                return Ok(None);
            }
        }
        if let Some(revisions) = self.transaction.tree(REVISIONS)? {
            for entry in revisions.iter()? {
                let (_, bytes) = entry?;
                let head = RecordHead::decode(bytes).ok_or_else(damaged)?;
                sizes
                    .entry(head.collection)
                    .or_default()
                    .revisions
                    .add(bytes.len());
                if is_over() {
                    return Ok(None);
                }
            }
        }
        self.named(sizes).map(Some)
    }

    /// Bytes of the counters of a document.
    fn counter_bytes(&self, prefix: &[u8]) -> Result<usize, ReadError> {
        let Some(counters) = self.transaction.tree(COUNTERS)? else {
            return Ok(0);
        };
        let mut len_bytes = 0;
        for entry in counters.prefix(prefix)? {
            let (key, value) = entry?;
            len_bytes += key.to_vec().len() + value.len();
        }
        Ok(len_bytes)
    }

    /// Numbers of the time series of a document and of their entries.
    fn series_counts(&self, prefix: &[u8]) -> Result<(u64, u64), ReadError> {
        let Some(series) = self.transaction.tree(SERIES)? else {
            return Ok((0, 0));
        };
        let (mut count, mut entry_count) = (0, 0);
        for entry in series.prefix(prefix)? {
            count += 1;
            entry_count += SeriesRecord::decode(entry?.1)?.count;
        }
        Ok((count, entry_count))
    }

    /// By name, with the bytes of entries of time series in place of their numbers.
    fn named(
        &self,
        mut sizes: HashMap<CollectionNumber, CollectionSizes>,
    ) -> Result<Vec<CollectionSizes>, ReadError> {
        let entries = self.transaction.tree(SERIES_ENTRIES)?;
        let (tree_bytes, tree_entries) = entries.map_or((0, 1), |tree| {
            (
                tree.root().page_count() * PAGE_BYTES as u64,
                tree.len().max(1),
            )
        });
        let share = |entry_count: u64| {
            let bytes = u128::from(entry_count) * u128::from(tree_bytes) / u128::from(tree_entries);
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        let mut list = Vec::new();
        for collection in self.collections()? {
            if let Some(mut held) = sizes.remove(&collection.number) {
                held.name = collection.name;
                held.series.len_bytes = share(held.series.len_bytes);
                list.push(held);
            }
        }
        Ok(list)
    }
}

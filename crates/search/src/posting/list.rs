//! Large posting lists: chunks in the tree `postings`, keyed by list and first entry.
//!
//! Changed by the writer in the order of list numbers; walked by [`Postings`](super::Postings).
//! Bytes: docs/format.md, section "Inverted index".
//!
//! Invariants:
//! - A chunk's key names its first entry, so a search for the greatest key not above an entry finds
//!   the only chunk that can hold it.
//! - Chunks of a list ascend and do not overlap. Only chunks in whose range something changes are
//!   read and written again.
//! - A list that grows at its end fills its chunks; one that grows elsewhere splits them evenly.
//!   Chunks that become small take in the one behind them.
//!
//! Threads: one writer.

use std::ops::Bound;

use jackdaw_storage::{PageRead, PageWrite, Tree, TreeMut};

use super::chunk::{CHUNK_BLOCKS_MAX, Chunk, Encoder, Malformed};
use super::merge::{Change, merge};
use super::value::ListNumber;
use crate::catalog::POSTINGS_TREE;
use crate::error::{At, IndexError};

/// Bytes a chunk is filled up to: four of them share a leaf of 8 KiB, and a change of one entry
/// writes no more than a quarter of it.
const CHUNK_BYTES_MAX: usize = 1_900;

/// A chunk with fewer entries takes in the next one.
const CHUNK_ENTRIES_MIN: usize = 128;

/// Length of a chunk's key.
pub(crate) const CHUNK_KEY_BYTES: usize = 16;

/// Key of the chunk of `list` that begins with `first`.
pub(crate) fn chunk_key(list: ListNumber, first: u64) -> [u8; CHUNK_KEY_BYTES] {
    let mut key = [0; CHUNK_KEY_BYTES];
    key[..8].copy_from_slice(&list.0.to_be_bytes());
    key[8..].copy_from_slice(&first.to_be_bytes());
    key
}

/// List and first entry of a chunk's key.
pub(crate) fn parse_chunk_key(key: &[u8]) -> Result<(ListNumber, u64), Malformed> {
    match key.as_chunks::<8>() {
        ([list, first], []) => Ok((
            ListNumber(u64::from_be_bytes(*list)),
            u64::from_be_bytes(*first),
        )),
        _ => Err(Malformed("the key of a chunk has a wrong length")),
    }
}

/// The last chunk of `list` that begins at or below `entry`.
pub(crate) fn chunk_at_or_below<'t, P: PageRead + ?Sized>(
    tree: &Tree<'t, P>,
    list: ListNumber,
    entry: u64,
) -> Result<Option<(u64, &'t [u8])>, IndexError> {
    let (low, high) = (chunk_key(list, 0), chunk_key(list, entry));
    let mut range = tree.range((Bound::Included(&low[..]), Bound::Included(&high[..])))?;
    range
        .next_back()
        .transpose()?
        .map(first_and_bytes)
        .transpose()
}

/// Number of chunks of a list.
pub(crate) fn chunk_count<P: PageRead + ?Sized>(
    tree: &Tree<'_, P>,
    list: ListNumber,
) -> Result<u64, IndexError> {
    let mut count = 0;
    for chunk in tree.prefix(&list.0.to_be_bytes())? {
        chunk?;
        count += 1;
    }
    Ok(count)
}

/// The first chunk of `list` that begins at or above `entry`.
fn chunk_at_or_above<'t, P: PageRead + ?Sized>(
    tree: &Tree<'t, P>,
    list: ListNumber,
    entry: u64,
) -> Result<Option<(u64, &'t [u8])>, IndexError> {
    let (low, high) = (chunk_key(list, entry), chunk_key(list, u64::MAX));
    let mut range = tree.range((Bound::Included(&low[..]), Bound::Included(&high[..])))?;
    range.next().transpose()?.map(first_and_bytes).transpose()
}

fn first_and_bytes<'t>(
    entry: (jackdaw_storage::Key<'_>, &'t [u8]),
) -> Result<(u64, &'t [u8]), IndexError> {
    let (key, bytes) = entry;
    let key = key.to_vec();
    let (_, first) = parse_chunk_key(&key).at(POSTINGS_TREE, &key)?;
    Ok((first, bytes))
}

/// Changes large lists. Holds only scratch memory.
#[derive(Default)]
pub(crate) struct ListEditor {
    existing: Vec<u64>,
    merged: Vec<u64>,
    bytes: Vec<u8>,
    encoder: Encoder,
}

impl ListEditor {
    /// Writes the chunks of a new list.
    pub(crate) fn build<P: PageWrite + ?Sized>(
        &mut self,
        tree: &mut TreeMut<'_, P>,
        list: ListNumber,
        entries: &[u64],
    ) -> Result<(), IndexError> {
        self.encoder.encode(entries);
        self.write_chunks(tree, list, true)
    }

    /// Merges ascending changes into a list.
    pub(crate) fn update<P: PageWrite + ?Sized>(
        &mut self,
        tree: &mut TreeMut<'_, P>,
        list: ListNumber,
        changes: &[Change],
    ) -> Result<(), IndexError> {
        let mut rest = changes;
        while let Some(change) = rest.first() {
            let (first, mut next) = self.load_for(&tree.as_tree(), list, change.entry())?;
            self.merged.clear();
            rest = self.merge_below(list, first, next, rest)?;
            while let Some(taken_in) = next
                && self.merged.len() < CHUNK_ENTRIES_MIN
            {
                next = self.load_exactly(&tree.as_tree(), list, taken_in)?;
                rest = self.merge_below(list, taken_in, next, rest)?;
                tree.delete(&chunk_key(list, taken_in))?;
            }
            if self.merged.first() != Some(&first) {
                tree.delete(&chunk_key(list, first))?;
            }
            self.encoder.encode(&self.merged);
            self.write_chunks(tree, list, next.is_none())?;
        }
        Ok(())
    }

    /// Appends all entries of a list to `out` and deletes its chunks.
    pub(crate) fn take_all<P: PageWrite + ?Sized>(
        &mut self,
        tree: &mut TreeMut<'_, P>,
        list: ListNumber,
        out: &mut Vec<u64>,
    ) -> Result<(), IndexError> {
        let mut next = Some(0);
        while let Some(from) = next {
            let found = chunk_at_or_above(&tree.as_tree(), list, from)?;
            next = None;
            if let Some((first, bytes)) = found {
                decode(list, first, bytes, out)?;
                tree.delete(&chunk_key(list, first))?;
                next = first.checked_add(1);
            }
        }
        Ok(())
    }

    /// Decodes the chunk whose range `entry` is in; gives its first entry and that of the next.
    fn load_for<P: PageRead + ?Sized>(
        &mut self,
        tree: &Tree<'_, P>,
        list: ListNumber,
        entry: u64,
    ) -> Result<(u64, Option<u64>), IndexError> {
        let found = match chunk_at_or_below(tree, list, entry)? {
            Some(found) => Some(found),
            None => chunk_at_or_above(tree, list, 0)?,
        };
        let missing = Malformed("a large list has no chunks");
        let (first, bytes) = found
            .ok_or(missing)
            .at(POSTINGS_TREE, &list.0.to_be_bytes())?;
        self.load(tree, list, first, bytes)
            .map(|next| (first, next))
    }

    /// Decodes the chunk that begins with `first`; gives the first entry of the next.
    fn load_exactly<P: PageRead + ?Sized>(
        &mut self,
        tree: &Tree<'_, P>,
        list: ListNumber,
        first: u64,
    ) -> Result<Option<u64>, IndexError> {
        let key = chunk_key(list, first);
        let missing = Malformed("a chunk is missing");
        let bytes = tree.get(&key)?.ok_or(missing).at(POSTINGS_TREE, &key)?;
        self.load(tree, list, first, bytes)
    }

    fn load<P: PageRead + ?Sized>(
        &mut self,
        tree: &Tree<'_, P>,
        list: ListNumber,
        first: u64,
        bytes: &[u8],
    ) -> Result<Option<u64>, IndexError> {
        self.existing.clear();
        decode(list, first, bytes, &mut self.existing)?;
        let next = chunk_at_or_above(tree, list, first.saturating_add(1))?;
        Ok(next.map(|(next, _)| next))
    }

    /// Appends to `merged` what `existing` becomes by the changes below `next`; gives the others.
    fn merge_below<'c>(
        &mut self,
        list: ListNumber,
        first: u64,
        next: Option<u64>,
        changes: &'c [Change],
    ) -> Result<&'c [Change], IndexError> {
        let below = next.map_or(changes.len(), |next| {
            changes.partition_point(|change| change.entry() < next)
        });
        let (ours, others) = changes.split_at(below);
        merge(&self.existing, ours, &mut self.merged).at(POSTINGS_TREE, &chunk_key(list, first))?;
        Ok(others)
    }

    /// Writes what `encoder` holds.
    fn write_chunks<P: PageWrite + ?Sized>(
        &mut self,
        tree: &mut TreeMut<'_, P>,
        list: ListNumber,
        is_end: bool,
    ) -> Result<(), IndexError> {
        let limit_bytes = if is_end {
            CHUNK_BYTES_MAX
        } else {
            self.even_bytes()
        };
        let mut start = 0;
        while start < self.encoder.blocks() {
            let taken = self.encoder.blocks_fitting(start, limit_bytes);
            self.bytes.clear();
            self.encoder
                .write_chunk(start..start + taken, &mut self.bytes);
            tree.put(&chunk_key(list, self.encoder.first(start)), &self.bytes)?;
            start += taken;
        }
        Ok(())
    }

    /// Bytes a chunk may have so that all come out about equal. Half a block is added, since
    /// blocks are not divided.
    fn even_bytes(&self) -> usize {
        let blocks = self.encoder.blocks();
        let len_bytes = self.encoder.len_bytes(0..blocks);
        let chunks = len_bytes
            .div_ceil(CHUNK_BYTES_MAX)
            .max(blocks.div_ceil(CHUNK_BLOCKS_MAX));
        if chunks <= 1 {
            return CHUNK_BYTES_MAX;
        }
        (len_bytes.div_ceil(chunks) + len_bytes / blocks / 2).min(CHUNK_BYTES_MAX)
    }
}

fn decode(
    list: ListNumber,
    first: u64,
    bytes: &[u8],
    out: &mut Vec<u64>,
) -> Result<(), IndexError> {
    Chunk::open(first, bytes)
        .and_then(|chunk| chunk.decode_all(out))
        .at(POSTINGS_TREE, &chunk_key(list, first))
}

#[cfg(test)]
mod tests;

//! Changing the occurrences of a term: chunks in the tree `occurrences`.
//!
//! Called by the writer, term by term in the order of keys.
//!
//! Invariants:
//! - A chunk's key is that of the term, a zero byte, and the first entry. The key of another term
//!   that begins the same and goes on with a zero byte is longer, so lengths tell them apart.
//! - Chunks of a term ascend and do not overlap. Only chunks in whose range something changes are
//!   read and written again.
//!
//! Threads: one writer.

use std::ops::{Bound, Range};

use jackdaw_base::varint;
use jackdaw_storage::{PageRead, PageWrite, Tree, TreeMut};

use super::OCCURRENCES_TREE;
use super::chunk::{CHUNK_ENTRIES_MAX, Chunk, Item, Items, write_chunk};
use crate::error::{At, IndexError};
use crate::posting::Malformed;

/// Bytes a chunk is filled up to: four share a leaf. One entry with more is a chunk by itself.
const CHUNK_BYTES_MAX: usize = 1_900;

/// A chunk with fewer entries than this and fewer bytes takes in the next one.
const CHUNK_ENTRIES_MIN: usize = 40;
const CHUNK_BYTES_MIN: usize = 600;

/// What stands between a term and the first entry of a chunk, with that entry.
pub(super) const CHUNK_SUFFIX_BYTES: usize = 9;

/// New occurrences of a term in one entry, or none any more.
#[derive(Clone, Debug)]
pub(crate) struct OccurrenceChange {
    pub(crate) entry: u64,
    /// 0 when the entry has lost the term.
    pub(crate) frequency: u32,
    /// Of the entry's new text.
    pub(crate) norm: u8,
    /// Place of the encoded positions in the arena of the changes.
    pub(crate) positions: Range<usize>,
}

/// Appends ascending positions as the gaps between them.
pub(crate) fn push_positions(positions: &[u32], out: &mut Vec<u8>) {
    let mut previous = 0;
    for &position in positions {
        varint::encode(u64::from(position - previous), out);
        previous = position;
    }
}

/// Term and first entry of a chunk's key.
pub(crate) fn parse_chunk_key(key: &[u8]) -> Result<(&[u8], u64), Malformed> {
    let wrong = Malformed("the key of a chunk of occurrences is malformed");
    match key.split_last_chunk::<CHUNK_SUFFIX_BYTES>() {
        Some((term, [0, first @ ..])) if !term.is_empty() => Ok((term, u64::from_be_bytes(*first))),
        _ => Err(wrong),
    }
}

pub(super) fn chunk_key(term: &[u8], first: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(term.len() + CHUNK_SUFFIX_BYTES);
    key.extend_from_slice(term);
    key.push(0);
    key.extend_from_slice(&first.to_be_bytes());
    key
}

/// The last chunk of `term` that begins at or below `entry`.
pub(super) fn chunk_at_or_below<'t, P: PageRead + ?Sized>(
    tree: &Tree<'t, P>,
    term: &[u8],
    entry: u64,
) -> Result<Option<(u64, &'t [u8])>, IndexError> {
    let (low, high) = (chunk_key(term, 0), chunk_key(term, entry));
    let mut range = tree.range((Bound::Included(&low[..]), Bound::Included(&high[..])))?;
    while let Some(found) = range.next_back().transpose()? {
        if let Some(chunk) = as_chunk(found, low.len())? {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}

/// The first chunk of `term` that begins at or above `entry`.
pub(super) fn chunk_at_or_above<'t, P: PageRead + ?Sized>(
    tree: &Tree<'t, P>,
    term: &[u8],
    entry: u64,
) -> Result<Option<(u64, &'t [u8])>, IndexError> {
    let (low, high) = (chunk_key(term, entry), chunk_key(term, u64::MAX));
    let range = tree.range((Bound::Included(&low[..]), Bound::Included(&high[..])))?;
    for found in range {
        if let Some(chunk) = as_chunk(found?, low.len())? {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}

/// First entry and bytes, when the key is one of this term.
fn as_chunk<'t>(
    found: (jackdaw_storage::Key<'_>, &'t [u8]),
    len_bytes: usize,
) -> Result<Option<(u64, &'t [u8])>, IndexError> {
    let (key, bytes) = found;
    let key = key.to_vec();
    if key.len() != len_bytes {
        return Ok(None);
    }
    let (_, first) = parse_chunk_key(&key).at(OCCURRENCES_TREE, &key)?;
    Ok(Some((first, bytes)))
}

/// An item whose positions lie in the editor's memory.
struct Held {
    entry: u64,
    frequency: u32,
    norm: u8,
    positions: Range<usize>,
}

/// Changes occurrences. Holds only scratch memory.
pub(crate) struct OccurrenceEditor {
    items: Box<Items>,
    existing: Vec<Held>,
    merged: Vec<Held>,
    arena: Vec<u8>,
    chunk: Vec<u8>,
}

impl Default for OccurrenceEditor {
    fn default() -> OccurrenceEditor {
        OccurrenceEditor {
            items: Box::new(Items::new()),
            existing: Vec::new(),
            merged: Vec::new(),
            arena: Vec::new(),
            chunk: Vec::new(),
        }
    }
}

impl OccurrenceEditor {
    /// Merges ascending changes, whose positions lie in `changed`, into the list of `term`.
    pub(crate) fn update<P: PageWrite + ?Sized>(
        &mut self,
        tree: &mut TreeMut<'_, P>,
        term: &[u8],
        changes: &[OccurrenceChange],
        changed: &[u8],
    ) -> Result<(), IndexError> {
        let mut rest = changes;
        while let Some(change) = rest.first() {
            self.arena.clear();
            self.merged.clear();
            let below = chunk_at_or_below(&tree.as_tree(), term, change.entry)?;
            let found = match below {
                Some(found) => Some(found),
                None => chunk_at_or_above(&tree.as_tree(), term, 0)?,
            };
            let first = found.map(|(first, _)| first);
            let mut next = match found {
                Some((first, bytes)) => self.load(&tree.as_tree(), term, first, bytes)?,
                None => {
                    self.existing.clear();
                    None
                }
            };
            rest = self.merge_below(term, next, rest, changed)?;
            while let Some(taken_in) = next
                && self.merged.len() < CHUNK_ENTRIES_MIN
                && self.merged_bytes() < CHUNK_BYTES_MIN
            {
                let key = chunk_key(term, taken_in);
                let missing = Malformed("a chunk of occurrences is missing");
                let bytes = tree.get(&key)?.ok_or(missing).at(OCCURRENCES_TREE, &key)?;
                // The editor's memory is its own, so the page may change below it.
                let bytes = bytes.to_vec();
                next = self.load(&tree.as_tree(), term, taken_in, &bytes)?;
                rest = self.merge_below(term, next, rest, changed)?;
                tree.delete(&key)?;
            }
            if let Some(first) = first
                && self.merged.first().map(|held| held.entry) != Some(first)
            {
                tree.delete(&chunk_key(term, first))?;
            }
            self.write_chunks(tree, term, next.is_none())?;
        }
        Ok(())
    }

    /// Decodes a chunk; gives the first entry of the next one.
    fn load<P: PageRead + ?Sized>(
        &mut self,
        tree: &Tree<'_, P>,
        term: &[u8],
        first: u64,
        bytes: &[u8],
    ) -> Result<Option<u64>, IndexError> {
        self.existing.clear();
        let (existing, arena) = (&mut self.existing, &mut self.arena);
        Chunk::open(first, bytes)
            .and_then(|chunk| {
                chunk.visit(&mut self.items, &mut |item| {
                    let start = arena.len();
                    arena.extend_from_slice(item.positions);
                    existing.push(Held {
                        entry: item.entry,
                        frequency: item.frequency,
                        norm: item.norm,
                        positions: start..arena.len(),
                    });
                    Ok(())
                })
            })
            .at(OCCURRENCES_TREE, &chunk_key(term, first))?;
        let next = chunk_at_or_above(tree, term, first.saturating_add(1))?;
        Ok(next.map(|(next, _)| next))
    }

    /// Appends to `merged` what `existing` becomes by the changes below `next`; gives the others.
    fn merge_below<'c>(
        &mut self,
        term: &[u8],
        next: Option<u64>,
        changes: &'c [OccurrenceChange],
        changed: &[u8],
    ) -> Result<&'c [OccurrenceChange], IndexError> {
        let below = next.map_or(changes.len(), |next| {
            changes.partition_point(|change| change.entry < next)
        });
        let (ours, others) = changes.split_at(below);
        let mut existing = std::mem::take(&mut self.existing).into_iter().peekable();
        for change in ours {
            while let Some(held) = existing.next_if(|held| held.entry < change.entry) {
                self.merged.push(held);
            }
            let present = existing
                .next_if(|held| held.entry == change.entry)
                .is_some();
            if change.frequency == 0 {
                let wrong = Malformed("an entry has no occurrences of a term that it loses");
                present
                    .then_some(())
                    .ok_or(wrong)
                    .at(OCCURRENCES_TREE, term)?;
                continue;
            }
            let start = self.arena.len();
            self.arena
                .extend_from_slice(&changed[change.positions.clone()]);
            self.merged.push(Held {
                entry: change.entry,
                frequency: change.frequency,
                norm: change.norm,
                positions: start..self.arena.len(),
            });
        }
        self.merged.extend(existing);
        Ok(others)
    }

    fn item(&self, held: &Held) -> Item<'_> {
        Item {
            entry: held.entry,
            frequency: held.frequency,
            norm: held.norm,
            positions: &self.arena[held.positions.clone()],
        }
    }

    fn merged_bytes(&self) -> usize {
        let items = self.merged.iter();
        items.map(|held| self.item(held).len_bytes()).sum()
    }

    /// Writes what `merged` holds; chunks at the end of a list are filled, others even.
    fn write_chunks<P: PageWrite + ?Sized>(
        &mut self,
        tree: &mut TreeMut<'_, P>,
        term: &[u8],
        is_end: bool,
    ) -> Result<(), IndexError> {
        let (count, total) = (self.merged.len(), self.merged_bytes());
        let (mut entries_max, mut bytes_max) = (CHUNK_ENTRIES_MAX, CHUNK_BYTES_MAX);
        if !is_end && count > 0 {
            entries_max = count.div_ceil(count.div_ceil(CHUNK_ENTRIES_MAX));
            bytes_max = total.div_ceil(total.div_ceil(CHUNK_BYTES_MAX));
        }
        let mut start = 0;
        while start < count {
            let mut end = start + 1;
            let mut len_bytes = self.item(&self.merged[start]).len_bytes();
            while let Some(held) = self.merged.get(end) {
                len_bytes += self.item(held).len_bytes();
                let gap = held.entry - self.merged[end - 1].entry;
                let is_full = end - start >= entries_max || len_bytes > bytes_max;
                if is_full || gap > u64::from(u32::MAX) {
                    break;
                }
                end += 1;
            }
            let mut chunk = std::mem::take(&mut self.chunk);
            chunk.clear();
            let items = self.merged[start..end].iter();
            write_chunk(items.map(|held| self.item(held)), &mut chunk);
            tree.put(&chunk_key(term, self.merged[start].entry), &chunk)?;
            self.chunk = chunk;
            start = end;
        }
        Ok(())
    }
}

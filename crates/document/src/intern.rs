//! Interning of field names and shapes while a document is written.
//!
//! Called by `encoder`. [`Names`] outlives a document: an importer sees the same names again and
//! again, and finding one costs a comparison. [`Shapes`] starts anew with each document.
//!
//! Invariants:
//! - Equal names have equal numbers within one document, whatever the input: duplicate fields are
//!   found by number.
//! - Hashes are seeded at random, so that chosen names cannot make probing slow; the bytes written
//!   do not depend on the seed.

use std::hash::BuildHasher;

use jackdaw_base::{hash::xxh3_64, varint};

use crate::form::{LINEAR_FIELDS_MAX, Width};
use crate::shape::{LONG_NAME, NAME_REFERENCE, NAME_REFERENCE_MAX, name_order};

/// More names than this are forgotten between documents: they are data, not a schema.
const KEPT_NAMES_MAX: usize = 4096;
/// The same, for their bytes.
const KEPT_NAME_BYTES_MAX: usize = 256 << 10;

/// Number of an interned name; dense from 0.
pub(crate) type NameId = u32;

const FREE: u32 = u32::MAX;

/// Field names seen so far, by number.
pub(crate) struct Names {
    text: Vec<u8>,
    entries: Vec<NameEntry>,
    /// Open addressing over `entries`; a power of two, at most half full.
    slots: Vec<u32>,
    seed: u64,
    /// Distinguishes this document's written positions from those of earlier ones.
    stamp: u64,
}

#[derive(Clone, Copy)]
struct NameEntry {
    start: u32,
    len: u32,
    hash: u32,
    /// The name that followed this one last time: documents repeat their field order.
    successor: NameId,
    /// Document in which `written_at` holds.
    stamp: u64,
    written_at: u32,
}

impl Names {
    pub(crate) fn new() -> Names {
        let seed = std::hash::RandomState::new().hash_one(0u64);
        Names {
            text: Vec::new(),
            entries: Vec::new(),
            slots: vec![FREE; 64],
            seed,
            stamp: 0,
        }
    }

    /// Forgets what was written where, and, when they have become many, the names too.
    pub(crate) fn start_document(&mut self) {
        self.stamp += 1;
        if self.entries.len() > KEPT_NAMES_MAX || self.text.len() > KEPT_NAME_BYTES_MAX {
            let (seed, stamp) = (self.seed, self.stamp);
            *self = Names {
                seed,
                stamp,
                ..Names::new()
            };
        }
    }

    pub(crate) fn get(&self, id: NameId) -> &[u8] {
        let e = &self.entries[id as usize];
        &self.text[e.start as usize..(e.start + e.len) as usize]
    }

    /// Number of `name`. `before` is the name interned just before, if any.
    #[inline]
    pub(crate) fn intern(&mut self, name: &[u8], before: Option<NameId>) -> NameId {
        let guess = match before {
            Some(id) => self.entries[id as usize].successor,
            None => 0,
        };
        if (guess as usize) < self.entries.len() && self.get(guess) == name {
            return guess;
        }
        let id = self.find_or_add(name);
        if let Some(before) = before {
            self.entries[before as usize].successor = id;
        }
        id
    }

    fn find_or_add(&mut self, name: &[u8]) -> NameId {
        let hash = hash_bytes(name, self.seed);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let id = self.slots[slot];
            if id == FREE {
                return self.add(name, hash, slot);
            }
            if self.entries[id as usize].hash == hash && self.get(id) == name {
                return id;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn add(&mut self, name: &[u8], hash: u32, slot: usize) -> NameId {
        let id = to_u32(self.entries.len());
        let start = to_u32(self.text.len());
        self.text.extend_from_slice(name);
        let len = to_u32(name.len());
        self.entries.push(NameEntry {
            start,
            len,
            hash,
            successor: 0,
            stamp: 0,
            written_at: 0,
        });
        self.slots[slot] = id;
        if self.entries.len() * 2 > self.slots.len() {
            let hashes = self.entries.iter().map(|e| e.hash);
            self.slots = spread(self.slots.len() * 2, hashes);
        }
        id
    }

    /// Appends the name to the blocks, as a reference when it was written before.
    fn write(&mut self, id: NameId, blocks: &mut Vec<u8>) {
        let stamp = self.stamp;
        let e = &mut self.entries[id as usize];
        let len = e.len as usize;
        if e.stamp == stamp {
            let reference = e.written_at as usize;
            blocks.push(NAME_REFERENCE | reference.to_le_bytes()[1]);
            blocks.push(reference.to_le_bytes()[0]);
            return;
        }
        // A reference costs two bytes, so a name of one byte is better repeated.
        if blocks.len() <= NAME_REFERENCE_MAX && (2..LONG_NAME as usize).contains(&len) {
            e.stamp = stamp;
            e.written_at = to_u32(blocks.len());
        }
        if len < LONG_NAME as usize {
            blocks.push(len.to_le_bytes()[0]);
        } else {
            blocks.push(LONG_NAME);
            varint::encode(len as u64, blocks);
        }
        let start = e.start as usize;
        blocks.extend_from_slice(&self.text[start..start + len]);
    }
}

/// Shapes of the document being written.
pub(crate) struct Shapes {
    /// Name numbers of all shapes, one after the other.
    names: Vec<NameId>,
    entries: Vec<ShapeEntry>,
    slots: Vec<u32>,
    /// The encoded blocks.
    blocks: Vec<u8>,
    /// Scratch of the sorted index.
    order: Vec<u32>,
}

#[derive(Clone, Copy)]
struct ShapeEntry {
    start: u32,
    len: u32,
    hash: u32,
    block: u32,
}

impl Shapes {
    pub(crate) fn new() -> Shapes {
        let (names, entries) = (Vec::new(), Vec::new());
        Shapes {
            names,
            entries,
            slots: Vec::new(),
            blocks: Vec::new(),
            order: Vec::new(),
        }
    }

    pub(crate) fn start_document(&mut self) {
        self.names.clear();
        self.entries.clear();
        self.slots.clear();
        self.blocks.clear();
        if self.blocks.capacity() > KEPT_NAME_BYTES_MAX {
            *self = Shapes::new();
        }
    }

    /// Number of the shape with these fields, and whether a field occurs twice in it.
    ///
    /// Duplicates are looked for only in shapes of more than [`LINEAR_FIELDS_MAX`] names; in
    /// smaller ones the encoder has found them already.
    pub(crate) fn intern(&mut self, ids: &[NameId], names: &mut Names) -> (usize, bool) {
        if let Some(last) = self.entries.last()
            && self.ids(last) == ids
        {
            return (self.entries.len() - 1, false);
        }
        if self.entries.is_empty() {
            // The hash table is for documents of several shapes.
            return self.add(ids, 0, names);
        }
        if self.slots.is_empty() {
            self.build_slots(names.seed);
        }
        let hash = hash_ids(ids, names.seed);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let number = self.slots[slot];
            if number == FREE {
                break;
            }
            let entry = &self.entries[number as usize];
            if entry.hash == hash && self.ids(entry) == ids {
                return (number as usize, false);
            }
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = to_u32(self.entries.len());
        let added = self.add(ids, hash, names);
        if self.entries.len() * 2 > self.slots.len() {
            self.slots = spread(self.slots.len() * 2, self.entries.iter().map(|e| e.hash));
        }
        added
    }

    fn ids(&self, entry: &ShapeEntry) -> &[NameId] {
        &self.names[entry.start as usize..(entry.start + entry.len) as usize]
    }

    fn build_slots(&mut self, seed: u64) {
        for i in 0..self.entries.len() {
            self.entries[i].hash = hash_ids(self.ids(&self.entries[i]), seed);
        }
        self.slots.resize(64, FREE);
        for (number, entry) in self.entries.iter().enumerate() {
            place(&mut self.slots, entry.hash, to_u32(number));
        }
    }

    fn add(&mut self, ids: &[NameId], hash: u32, names: &mut Names) -> (usize, bool) {
        let number = self.entries.len();
        let (start, len) = (to_u32(self.names.len()), to_u32(ids.len()));
        self.names.extend_from_slice(ids);
        let block = to_u32(self.blocks.len());
        self.entries.push(ShapeEntry {
            start,
            len,
            hash,
            block,
        });
        varint::encode(ids.len() as u64, &mut self.blocks);
        if ids.len() > LINEAR_FIELDS_MAX {
            return (number, self.write_indexed(ids, names));
        }
        for &id in ids {
            names.write(id, &mut self.blocks);
        }
        (number, false)
    }

    /// Writes the names behind a sorted index of them; answers whether one occurs twice.
    fn write_indexed(&mut self, ids: &[NameId], names: &mut Names) -> bool {
        // An upper bound of the longest encoding decides the width before anything is written.
        let bound: usize = ids.iter().map(|&id| names.get(id).len() + 6).sum();
        let width = Width::of(bound.max(ids.len()));
        self.order.clear();
        self.order.extend(0..to_u32(ids.len()));
        self.order.sort_by(|&a, &b| {
            let (a, b) = (names.get(ids[a as usize]), names.get(ids[b as usize]));
            name_order(a, b)
        });
        let twice = self
            .order
            .windows(2)
            .any(|w| ids[w[0] as usize] == ids[w[1] as usize]);
        self.blocks.push(width.class());
        for &ordinal in &self.order {
            width.push(&mut self.blocks, ordinal as usize);
        }
        let offsets = self.blocks.len();
        let start = offsets + ids.len() * width.bytes();
        self.blocks.resize(start, 0);
        for (i, &id) in ids.iter().enumerate() {
            let offset = self.blocks.len() - start;
            width.put(&mut self.blocks, offsets + i * width.bytes(), offset);
            names.write(id, &mut self.blocks);
        }
        twice
    }

    /// Appends the table to a finished root value. A document without objects has none.
    pub(crate) fn write_table(&self, out: &mut Vec<u8>) {
        if self.entries.is_empty() {
            return;
        }
        varint::encode(self.entries.len() as u64, out);
        if self.entries.len() > 1 {
            let width = Width::of(self.blocks.len());
            out.push(width.class());
            for entry in &self.entries {
                width.push(out, entry.block as usize);
            }
        }
        out.extend_from_slice(&self.blocks);
    }

    /// Bytes the table will take, at most.
    pub(crate) fn table_len_max(&self) -> usize {
        6 + self.entries.len() * 4 + self.blocks.len()
    }
}

fn spread(len: usize, hashes: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut slots = vec![FREE; len];
    for (number, hash) in hashes.enumerate() {
        place(&mut slots, hash, to_u32(number));
    }
    slots
}

fn place(slots: &mut [u32], hash: u32, number: u32) {
    let mask = slots.len() - 1;
    let mut slot = hash as usize & mask;
    while slots[slot] != FREE {
        slot = (slot + 1) & mask;
    }
    slots[slot] = number;
}

/// Half of the seeded hash of a name.
fn hash_bytes(bytes: &[u8], seed: u64) -> u32 {
    low_half(xxh3_64(bytes, seed))
}

/// Seeded hash of a list of numbers: multiply and fold, once a number.
fn hash_ids(ids: &[NameId], seed: u64) -> u32 {
    let mut h = seed ^ ids.len() as u64;
    for &id in ids {
        let product = u128::from(h ^ u64::from(id)) * 0x9E37_79B9_7F4A_7C15;
        let bytes = product.to_le_bytes();
        let (low, high) = bytes.split_at(8);
        let word = |half: &[u8]| half.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        h = word(low) ^ word(high) ^ seed;
    }
    low_half(h)
}

fn low_half(h: u64) -> u32 {
    let b = h.to_le_bytes();
    u32::from_le_bytes([b[0], b[1], b[2], b[3]])
}

/// Positions inside one document: its length limit keeps them below 2^32.
pub(crate) fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("the length limit of documents is far below 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_share_a_number_across_documents_and_growth() {
        let mut names = Names::new();
        names.start_document();
        let ids: Vec<_> = (0..1000)
            .map(|i| names.intern(format!("field{i}").as_bytes(), None))
            .collect();
        names.start_document();
        let mut before = None;
        for round in 0..2 {
            for (i, &id) in ids.iter().enumerate() {
                let name = format!("field{i}");
                before = Some(names.intern(name.as_bytes(), before));
                assert_eq!(before, Some(id), "round {round}, {name}");
            }
        }
    }

    #[test]
    fn names_are_forgotten_when_they_are_data() {
        let mut names = Names::new();
        for i in 0..=KEPT_NAMES_MAX {
            names.intern(i.to_string().as_bytes(), None);
        }
        names.start_document();
        assert!(names.entries.is_empty());
        assert_eq!(names.intern(b"a", None), 0);
    }

    #[test]
    fn equal_field_lists_share_a_shape() {
        let (mut names, mut shapes) = (Names::new(), Shapes::new());
        names.start_document();
        let lists: Vec<Vec<NameId>> = (0..200)
            .map(|i| {
                (0..=i % 5)
                    .map(|f| names.intern(format!("{i}-{f}").as_bytes(), None))
                    .collect()
            })
            .collect();
        for round in 0..2 {
            for (i, list) in lists.iter().enumerate() {
                assert_eq!(shapes.intern(list, &mut names).0, i, "round {round}");
            }
        }
    }
}

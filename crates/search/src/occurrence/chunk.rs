//! A part of the occurrences of one term: up to 128 entries with how often the term stands there
//! and how long their texts are, then the positions, so that scoring does not read these.
//!
//! Written by `editor`, read by it, by `cursor` and by `verify`. Bytes: docs/format.md, section
//! "Inverted index".
//!
//! Invariants:
//! - Entries ascend; the first is in the key of the chunk, each is less than 2^32 above the one
//!   before.
//! - Frequencies and norms are at least 1. The norm is that of the entry's text: whenever it
//!   changes, all terms of the text are written again.
//! - A chunk that is packed has a bound (see `bound`) of just what it holds.
//!
//! Threads: pure functions over borrowed bytes.

use jackdaw_base::varint;

use super::bound::{Bound, take_bound, write_bound};
use crate::posting::{
    BASE_MAX, BLOCK_ENTRIES, Malformed, add_up, best_width, pack_patched, packed_len_bytes,
    unpack_patched,
};

/// Most entries in one chunk.
pub(crate) const CHUNK_ENTRIES_MAX: usize = BLOCK_ENTRIES;

/// With fewer entries a chunk is written entry by entry: packing takes room for 128.
const PACKED_ENTRIES_MIN: usize = 64;

/// First byte of a chunk; others are reserved.
const KIND_SHORT: u8 = 0;
const KIND_PACKED: u8 = 1;

const SHORT: Malformed = Malformed("a chunk of occurrences ends early");

/// The occurrences of a term in one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    pub(crate) entry: u64,
    pub(crate) frequency: u32,
    /// Of the text the term stands in.
    pub(crate) norm: u8,
    /// Gaps between positions, as varints.
    pub(crate) positions: &'a [u8],
}

impl Item<'_> {
    /// Appends the positions, ascending.
    pub(crate) fn decode_positions(&self, out: &mut Vec<u32>) -> Result<(), Malformed> {
        let mut rest = self.positions;
        let mut position = 0_u32;
        for _ in 0..self.frequency {
            let gap = varint::take(&mut rest).and_then(|gap| u32::try_from(gap).ok());
            position = gap.and_then(|gap| position.checked_add(gap)).ok_or(SHORT)?;
            out.push(position);
        }
        let behind = Malformed("positions are longer than their frequency says");
        rest.is_empty().then_some(()).ok_or(behind)
    }

    /// Bytes it takes in a chunk, about.
    pub(crate) fn len_bytes(&self) -> usize {
        // Gap, frequency and norm take a byte each in most lists.
        3 + self.positions.len()
    }
}

/// Writes a chunk of 1 to 128 items. The first entry is kept in its key.
pub(crate) fn write_chunk<'i>(
    items: impl ExactSizeIterator<Item = Item<'i>> + Clone,
    out: &mut Vec<u8>,
) {
    let count = items.len();
    debug_assert!((1..=CHUNK_ENTRIES_MAX).contains(&count));
    let is_packed = count >= PACKED_ENTRIES_MIN;
    out.push(if is_packed { KIND_PACKED } else { KIND_SHORT });
    out.push(u8::try_from(count).expect("a chunk has at most 128 entries"));
    match is_packed {
        true => write_packed(items.clone(), out),
        false => write_short(items.clone(), out),
    }
    items.for_each(|item| out.extend_from_slice(item.positions));
}

fn write_short<'i>(items: impl Iterator<Item = Item<'i>>, out: &mut Vec<u8>) {
    let mut previous = None;
    for item in items {
        if let Some(previous) = previous {
            varint::encode(item.entry - previous - 1, out);
        }
        previous = Some(item.entry);
        varint::encode(u64::from(item.frequency), out);
        out.push(item.norm);
    }
}

fn write_packed<'i>(items: impl Iterator<Item = Item<'i>> + Clone, out: &mut Vec<u8>) {
    let pairs = items.clone().map(|item| (item.frequency, item.norm));
    write_bound(pairs, out);
    let mut gaps = [0; BLOCK_ENTRIES];
    let mut further = [0; BLOCK_ENTRIES];
    let mut previous = None;
    for ((item, gap), further) in items.clone().zip(&mut gaps).zip(&mut further) {
        let distance = previous.map_or(0, |previous: u64| item.entry - previous - 1);
        *gap = u32::try_from(distance).expect("a chunk spans at most 32 bits");
        *further = item.frequency - 1;
        previous = Some(item.entry);
    }
    out.extend(items.map(|item| item.norm));
    for values in [gaps, further] {
        let (bits, _) = best_width(&values);
        let head = out.len();
        out.extend_from_slice(&[bits, 0]);
        out[head + 1] = pack_patched(&values, bits, out);
    }
}

/// The entries of a chunk, unpacked.
pub(crate) struct Items {
    entries: [u64; BLOCK_ENTRIES],
    frequencies: [u32; BLOCK_ENTRIES],
    norms: [u8; BLOCK_ENTRIES],
    len: usize,
}

impl Items {
    pub(crate) fn new() -> Items {
        Items {
            entries: [0; BLOCK_ENTRIES],
            frequencies: [0; BLOCK_ENTRIES],
            norms: [0; BLOCK_ENTRIES],
            len: 0,
        }
    }

    pub(crate) fn entries(&self) -> &[u64] {
        &self.entries[..self.len]
    }

    pub(crate) fn frequencies(&self) -> &[u32] {
        &self.frequencies[..self.len]
    }

    pub(crate) fn norms(&self) -> &[u8] {
        &self.norms[..self.len]
    }

    fn take_short<'a>(&mut self, first: u64, mut bytes: &'a [u8]) -> Option<&'a [u8]> {
        let mut next = first;
        for at in 0..self.len {
            let gap = match at {
                0 => 0,
                _ => varint::take(&mut bytes)?,
            };
            let entry = next.checked_add(gap).filter(|entry| *entry <= BASE_MAX)?;
            self.entries[at] = entry;
            next = entry + 1;
            let frequency = u32::try_from(varint::take(&mut bytes)?).ok()?;
            self.frequencies[at] = frequency;
            let (&norm, rest) = bytes.split_first()?;
            self.norms[at] = norm;
            bytes = rest;
            if frequency == 0 || norm == 0 {
                return None;
            }
        }
        Some(bytes)
    }

    fn take_packed<'a>(&mut self, first: u64, bytes: &'a [u8]) -> Result<&'a [u8], Malformed> {
        let (norms, mut rest) = bytes.split_at_checked(self.len).ok_or(SHORT)?;
        self.norms[..self.len].copy_from_slice(norms);
        let mut gaps = [0; BLOCK_ENTRIES];
        for values in [&mut gaps, &mut self.frequencies] {
            let (&[bits, extra], body) = rest.split_first_chunk().ok_or(SHORT)?;
            let extra = usize::from(extra);
            unpack_patched(body, bits, extra, values)?;
            rest = &body[packed_len_bytes(bits) + extra..];
        }
        // A gap in front of the first entry would make it another than the key says.
        add_up(first, &gaps, &mut self.entries);
        for frequency in &mut self.frequencies {
            *frequency = frequency.saturating_add(1);
        }
        let is_sound = gaps[0] == 0 && !norms.contains(&0);
        let wrong = Malformed("a packed chunk of occurrences is malformed");
        is_sound.then_some(rest).ok_or(wrong)
    }
}

/// A chunk's bytes, its head checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    first: u64,
    count: usize,
    /// `None` when it is short.
    bound: Option<Bound<'a>>,
    rest: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// The chunk whose key names `first`.
    pub(crate) fn open(first: u64, bytes: &'a [u8]) -> Result<Chunk<'a>, Malformed> {
        let (&[kind, count], mut rest) = bytes.split_first_chunk().ok_or(SHORT)?;
        let bound = match kind {
            KIND_SHORT => None,
            KIND_PACKED => Some(take_bound(&mut rest)?),
            _ => return Err(Malformed("a chunk of occurrences is of a later kind")),
        };
        let count = usize::from(count);
        if !(1..=CHUNK_ENTRIES_MAX).contains(&count) || first > BASE_MAX {
            return Err(Malformed("the head of a chunk of occurrences is malformed"));
        }
        Ok(Chunk {
            first,
            count,
            bound,
            rest,
        })
    }

    /// Its first entry.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// What no entry in it surpasses; `None` when the entries themselves are as quickly read.
    pub(crate) fn bound(&self) -> Option<Bound<'a>> {
        self.bound
    }

    /// Unpacks the entries; gives the positions of all of them.
    pub(crate) fn decode(&self, items: &mut Items) -> Result<&'a [u8], Malformed> {
        items.len = self.count;
        match self.bound {
            Some(_) => items.take_packed(self.first, self.rest),
            None => items.take_short(self.first, self.rest).ok_or(SHORT),
        }
    }

    /// Calls `visit` with every item.
    pub(crate) fn visit(
        &self,
        items: &mut Items,
        visit: &mut dyn FnMut(Item<'a>) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let mut positions = self.decode(items)?;
        let counts = items.frequencies().iter().zip(items.norms());
        for (&entry, (&frequency, &norm)) in items.entries().iter().zip(counts) {
            visit(Item {
                entry,
                frequency,
                norm,
                positions: take_positions(&mut positions, frequency)?,
            })?;
        }
        let behind = Malformed("a chunk of occurrences goes on behind its end");
        positions.is_empty().then_some(()).ok_or(behind)
    }
}

/// Takes so many varints from the front of `bytes`.
pub(crate) fn take_positions<'a>(bytes: &mut &'a [u8], count: u32) -> Result<&'a [u8], Malformed> {
    let mut left = u64::from(count);
    let mut len_bytes = 0;
    // Eight bytes at a time: each one without the highest bit ends a varint.
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        let ends = !u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
        let found = u64::from(ends.count_ones());
        if found >= left {
            break;
        }
        left -= found;
        len_bytes += 8;
    }
    while left > 0 {
        let byte = bytes.get(len_bytes).ok_or(SHORT)?;
        left -= u64::from(*byte < 0x80);
        len_bytes += 1;
    }
    let (taken, rest) = bytes.split_at(len_bytes);
    *bytes = rest;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions of items, and their entries, frequencies and norms.
    type Made = (Vec<Vec<u8>>, Vec<(u64, u32, u8)>);

    fn made(count: u64, step: impl Fn(u64) -> u64) -> Made {
        let heads: Vec<(u64, u32, u8)> = (0..count)
            .map(|at| {
                let frequency =
                    1 + u32::try_from(at * at % 11 / 7 + u64::from(at == 5) * 300).unwrap();
                (7 + step(at), frequency, 1 + u8::try_from(at % 60).unwrap())
            })
            .collect();
        let positions = heads.iter().map(|(entry, frequency, _)| {
            let mut out = Vec::new();
            for at in 0..*frequency {
                varint::encode(u64::from(at) * (entry % 90), &mut out);
            }
            out
        });
        (positions.collect(), heads)
    }

    fn items((positions, heads): &Made) -> Vec<Item<'_>> {
        let heads = heads.iter().zip(positions);
        heads
            .map(|(&(entry, frequency, norm), positions)| Item {
                entry,
                frequency,
                norm,
                positions,
            })
            .collect()
    }

    fn read(first: u64, bytes: &[u8]) -> Result<Vec<Item<'_>>, Malformed> {
        let mut found = Vec::new();
        Chunk::open(first, bytes)?.visit(&mut Items::new(), &mut |item| {
            found.push(item);
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn chunks_come_back_and_cut_ones_are_refused() {
        for count in [1, 2, 9, 63, 64, 100, 128] {
            for far in [0, 1 << 20] {
                let made = made(count, |at| at * 3 + at / 40 * far);
                let items = items(&made);
                let mut bytes = Vec::new();
                write_chunk(items.iter().copied(), &mut bytes);
                assert_eq!(read(7, &bytes).unwrap(), items);
                let chunk = Chunk::open(7, &bytes).unwrap();
                assert_eq!(chunk.bound().is_some(), count >= 64);
                for item in chunk.bound().iter().flat_map(|_| &items) {
                    assert!(chunk.bound().unwrap().covers(item.frequency, item.norm));
                }
                for end in 0..bytes.len() {
                    assert!(read(7, &bytes[..end]).is_err(), "{count}, cut at {end}");
                }
            }
        }
    }

    #[test]
    fn short_chunks_reach_far() {
        let made = made(3, |at| at << 40);
        let items = items(&made);
        let mut bytes = Vec::new();
        write_chunk(items.iter().copied(), &mut bytes);
        assert_eq!(read(7, &bytes).unwrap(), items);
    }

    #[test]
    fn flipped_bits_are_refused_or_harmless() {
        let made = made(128, |at| at * 5);
        let mut bytes = Vec::new();
        write_chunk(items(&made).into_iter(), &mut bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(found) = read(7, &bytes) {
                    assert!(found.is_sorted_by(|a, b| a.entry < b.entry), "{at}, {bit}");
                }
            }
        }
    }
}

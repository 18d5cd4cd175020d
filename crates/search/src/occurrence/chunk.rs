//! A part of the occurrences of one term: entries with frequencies first, then their positions, so
//! that scoring does not read positions.
//!
//! Written by `editor`, read by it, by `cursor` and by `verify`.
//!
//! Invariants:
//! - Entries ascend; each has a frequency of at least 1.
//!
//! Threads: pure functions over borrowed bytes.

use jackdaw_base::varint;

use crate::posting::Malformed;

/// First byte of a chunk; others are reserved.
const FORMAT: u8 = 0;

const SHORT: Malformed = Malformed("a chunk of occurrences ends early");

/// The occurrences of a term in one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    pub(crate) entry: u64,
    pub(crate) frequency: u32,
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

    /// Bytes it takes in a chunk, at most.
    pub(crate) fn len_bytes_max(&self) -> usize {
        // The gap to the entry before is below 2^56: eight bytes; the two counts mostly one each.
        8 + 2 + self.positions.len()
    }
}

/// Writes a chunk. The first entry is kept in its key.
pub(crate) fn write_chunk<'i>(items: impl Iterator<Item = Item<'i>> + Clone, out: &mut Vec<u8>) {
    let mut frequencies = Vec::new();
    let mut count = 0_u64;
    let mut previous = None;
    for item in items.clone() {
        count += 1;
        if let Some(previous) = previous {
            varint::encode(item.entry - previous - 1, &mut frequencies);
        }
        previous = Some(item.entry);
        varint::encode(u64::from(item.frequency), &mut frequencies);
        varint::encode(item.positions.len() as u64, &mut frequencies);
    }
    out.push(FORMAT);
    varint::encode(count, out);
    varint::encode(frequencies.len() as u64, out);
    out.extend_from_slice(&frequencies);
    items.for_each(|item| out.extend_from_slice(item.positions));
}

/// The entries of a chunk, one by one.
#[derive(Clone)]
pub(crate) struct ChunkItems<'a> {
    left: u64,
    /// The next entry less the gap that is read with it.
    next: u64,
    is_first: bool,
    frequencies: &'a [u8],
    positions: &'a [u8],
}

impl<'a> ChunkItems<'a> {
    /// The chunk whose key names `first`.
    pub(crate) fn open(first: u64, bytes: &'a [u8]) -> Result<ChunkItems<'a>, Malformed> {
        let (&format, mut rest) = bytes.split_first().ok_or(SHORT)?;
        if format != FORMAT {
            return Err(Malformed("a chunk of occurrences is of a later format"));
        }
        let left = varint::take(&mut rest).ok_or(SHORT)?;
        let len_bytes = varint::take(&mut rest).and_then(|len| usize::try_from(len).ok());
        let (frequencies, positions) = len_bytes
            .and_then(|len| rest.split_at_checked(len))
            .ok_or(SHORT)?;
        Ok(ChunkItems {
            left,
            next: first,
            is_first: true,
            frequencies,
            positions,
        })
    }

    /// The next entry.
    pub(crate) fn next_item(&mut self) -> Result<Option<Item<'a>>, Malformed> {
        if self.left == 0 {
            return match self.frequencies.is_empty() && self.positions.is_empty() {
                true => Ok(None),
                false => Err(Malformed("a chunk of occurrences goes on behind its end")),
            };
        }
        self.left -= 1;
        self.take().map(Some).ok_or(SHORT)
    }

    /// The next entry and its frequency. Positions are not looked at: whoever counts does not mix
    /// this with [`next_item`](Self::next_item).
    #[inline]
    pub(crate) fn next_count(&mut self) -> Result<Option<(u64, u32)>, Malformed> {
        if self.left == 0 {
            return match self.frequencies.is_empty() {
                true => Ok(None),
                false => Err(Malformed("a chunk of occurrences goes on behind its end")),
            };
        }
        self.left -= 1;
        let (entry, frequency, _) = self.take_head().ok_or(SHORT)?;
        Ok(Some((entry, frequency)))
    }

    fn take(&mut self) -> Option<Item<'a>> {
        let (entry, frequency, len_bytes) = self.take_head()?;
        let len_bytes = usize::try_from(len_bytes).ok()?;
        let (positions, rest) = self.positions.split_at_checked(len_bytes)?;
        self.positions = rest;
        Some(Item {
            entry,
            frequency,
            positions,
        })
    }

    /// Entry, frequency and the bytes of its positions.
    #[inline]
    fn take_head(&mut self) -> Option<(u64, u32, u64)> {
        let gap = match std::mem::take(&mut self.is_first) {
            true => 0,
            false => varint::take(&mut self.frequencies)?,
        };
        let entry = self.next.checked_add(gap)?;
        self.next = entry.checked_add(1)?;
        let frequency = u32::try_from(varint::take(&mut self.frequencies)?).ok()?;
        let len_bytes = varint::take(&mut self.frequencies)?;
        (frequency > 0).then_some((entry, frequency, len_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_and_cut_ones_are_refused() {
        let items = [
            Item {
                entry: 7,
                frequency: 2,
                positions: &[0, 5],
            },
            Item {
                entry: 8,
                frequency: 1,
                positions: &[0x80, 0x01],
            },
            Item {
                entry: 1 << 40,
                frequency: 1,
                positions: &[3],
            },
        ];
        let mut bytes = Vec::new();
        write_chunk(items.iter().copied(), &mut bytes);
        let mut reader = ChunkItems::open(7, &bytes).unwrap();
        for item in items {
            assert_eq!(reader.next_item().unwrap(), Some(item));
        }
        assert_eq!(reader.next_item().unwrap(), None);
        let mut reader = ChunkItems::open(7, &bytes).unwrap();
        for item in items {
            let count = reader.next_count().unwrap();
            assert_eq!(count, Some((item.entry, item.frequency)));
        }
        assert_eq!(reader.next_count().unwrap(), None);
        let mut positions = Vec::new();
        items[0].decode_positions(&mut positions).unwrap();
        items[1].decode_positions(&mut positions).unwrap();
        assert_eq!(positions, [0, 5, 128]);
        for end in 0..bytes.len() {
            let read_all = || -> Result<(), Malformed> {
                let mut reader = ChunkItems::open(7, &bytes[..end])?;
                while reader.next_item()?.is_some() {}
                Ok(())
            };
            assert!(read_all().is_err(), "cut at {end}");
        }
    }
}

//! Chunk: up to 1,024 ascending entries as one byte string of independently readable blocks.
//!
//! Called by `value` (small posting lists keep one chunk inside the term's value) and by `list`
//! (large posting lists keep many chunks in the tree `postings`). Bytes: docs/format.md, section
//! "Inverted index".
//!
//! Invariants:
//! - Entries ascend strictly; the first equals the chunk's base, which is kept outside.
//! - The last entry is at most `u32::MAX` above the base.
//! - Every block but the last holds 128 entries. Its first entry is in the chunk's table, so that
//!   a reader finds the block it needs without unpacking the others.
//! - Damaged bytes give [`Malformed`], never a panic, and never entries out of order.
//!
//! Threads: pure functions over borrowed bytes.

use std::ops::Range;

use jackdaw_base::varint;

use super::pack::{self, BITS_MAX, BLOCK_ENTRIES};

/// Most blocks in one chunk.
pub(crate) const CHUNK_BLOCKS_MAX: usize = 8;

/// Most entries in one chunk.
pub(crate) const CHUNK_ENTRIES_MAX: usize = CHUNK_BLOCKS_MAX * BLOCK_ENTRIES;

/// Block kinds, the two high bits of a block's header. Kinds 2 and 3 are reserved.
const KIND_PACKED: u8 = 0;
const KIND_VARINTS: u8 = 1;

/// Fewer values than this are written as varints without comparing; a run is known before.
const VARINTS_MAX: usize = 16;

/// Greatest base of a chunk: leaves room for any sum of damaged deltas.
pub(crate) const BASE_MAX: u64 = u64::MAX >> 8;

/// Bytes that do not follow the format; the text says which rule they break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// Entries of one decoded block.
pub(crate) struct Block {
    entries: [u64; BLOCK_ENTRIES],
    len: usize,
}

impl Block {
    pub(crate) fn new() -> Block {
        Block {
            entries: [0; BLOCK_ENTRIES],
            len: 0,
        }
    }

    pub(crate) fn entries(&self) -> &[u64] {
        &self.entries[..self.len]
    }

    /// Replaces the content by up to 128 entries.
    pub(crate) fn set(&mut self, entries: &[u64]) {
        self.len = entries.len().min(BLOCK_ENTRIES);
        self.entries[..self.len].copy_from_slice(&entries[..self.len]);
    }
}

/// A chunk's bytes, its head checked.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    base: u64,
    count: usize,
    /// `u32` for every block but the first: its first entry above the base.
    table: &'a [u8],
    /// Two bytes for every block: kind and bits, then extra bytes behind the packed ones.
    headers: &'a [u8],
    bodies: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Checks the head of a chunk whose first entry is `base`.
    pub(crate) fn open(base: u64, bytes: &'a [u8]) -> Result<Chunk<'a>, Malformed> {
        if base > BASE_MAX {
            return Err(Malformed("the base of a chunk is out of range"));
        }
        let (&flags, mut rest) = bytes.split_first().ok_or(Malformed("a chunk is empty"))?;
        if flags != 0 {
            return Err(Malformed("a chunk has flags of a later format"));
        }
        let count = varint::take(&mut rest)
            .and_then(|count| usize::try_from(count).ok())
            .filter(|count| (1..=CHUNK_ENTRIES_MAX).contains(count))
            .ok_or(Malformed("the count of a chunk is out of range"))?;
        let blocks = count.div_ceil(BLOCK_ENTRIES);
        let short = Malformed("a chunk ends within its table");
        let (table, rest) = rest.split_at_checked((blocks - 1) * 4).ok_or(short)?;
        let (headers, bodies) = rest.split_at_checked(blocks * 2).ok_or(short)?;
        Ok(Chunk {
            base,
            count,
            table,
            headers,
            bodies,
        })
    }

    /// Number of entries.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Number of blocks, at least one.
    pub(crate) fn blocks(&self) -> usize {
        self.count.div_ceil(BLOCK_ENTRIES)
    }

    /// First entry of a block.
    pub(crate) fn block_first(&self, block: usize) -> u64 {
        self.base + u64::from(self.relative_first(block))
    }

    fn relative_first(&self, block: usize) -> u32 {
        let (quads, _) = self.table.as_chunks::<4>();
        match block.checked_sub(1).and_then(|row| quads.get(row)) {
            Some(quad) => u32::from_le_bytes(*quad),
            None => 0,
        }
    }

    /// The last block whose first entry is at most `entry`; block 0 when there is none.
    pub(crate) fn block_for(&self, entry: u64) -> usize {
        let mut block = self.blocks() - 1;
        while block > 0 && self.block_first(block) > entry {
            block -= 1;
        }
        block
    }

    /// Unpacks one block.
    pub(crate) fn decode_block(&self, block: usize, out: &mut Block) -> Result<(), Malformed> {
        debug_assert!(block < self.blocks(), "callers count up to blocks()");
        out.len = BLOCK_ENTRIES.min(self.count - block * BLOCK_ENTRIES);
        let mut deltas = [0_u32; BLOCK_ENTRIES];
        let (kind, bits, extra) = self.header(block);
        let body = self.body(block)?;
        match kind {
            KIND_PACKED => unpack_patched(body, bits, extra, &mut deltas)?,
            KIND_VARINTS => take_varints(body, out.len, &mut deltas)?,
            _ => return Err(Malformed("a block is of a later kind")),
        }
        let first = self.block_first(block);
        pack::add_up(first, &deltas, &mut out.entries);
        let last = out.entries[out.len - 1];
        let in_order = match block + 1 < self.blocks() {
            true => last < self.block_first(block + 1),
            false => last - self.base <= u64::from(u32::MAX),
        };
        // Deltas of a block start with zero, so that its first entry is the table's.
        match in_order && deltas[0] == 0 {
            true => Ok(()),
            false => Err(Malformed("entries of a chunk are out of order")),
        }
    }

    /// Appends all entries to `out`.
    pub(crate) fn decode_all(&self, out: &mut Vec<u64>) -> Result<(), Malformed> {
        let mut block = Block::new();
        for position in 0..self.blocks() {
            self.decode_block(position, &mut block)?;
            out.extend_from_slice(block.entries());
        }
        Ok(())
    }

    fn header(&self, block: usize) -> (u8, u8, usize) {
        let (pairs, _) = self.headers.as_chunks::<2>();
        let [header, extra] = pairs[block];
        (header >> 6, header & 0x3f, usize::from(extra))
    }

    /// Body of a block: to the end of the chunk for the last one.
    fn body(&self, block: usize) -> Result<&'a [u8], Malformed> {
        let short = Malformed("a chunk ends within a block");
        let mut rest = self.bodies;
        for earlier in 0..block {
            let (kind, bits, extra) = self.header(earlier);
            if kind != KIND_PACKED {
                return Err(Malformed("only the last block of a chunk may be a tail"));
            }
            rest = rest
                .get(pack::packed_len_bytes(bits) + extra..)
                .ok_or(short)?;
        }
        Ok(rest)
    }
}

/// Reads what [`pack_patched`] wrote from the front of `body`.
pub(crate) fn unpack_patched(
    body: &[u8],
    bits: u8,
    extra: usize,
    deltas: &mut [u32; BLOCK_ENTRIES],
) -> Result<(), Malformed> {
    pack::unpack(body, bits, deltas).ok_or(Malformed("a chunk ends within a block"))?;
    if extra == 0 {
        return Ok(());
    }
    let start = pack::packed_len_bytes(bits);
    let mut patches = body
        .get(start..start + extra)
        .ok_or(Malformed("a chunk ends within its patches"))?;
    while let Some((&position, rest)) = patches.split_first() {
        patches = rest;
        let high = varint::take(&mut patches)
            .and_then(|high| high.checked_shl(u32::from(bits)))
            .and_then(|high| u32::try_from(high).ok())
            .ok_or(Malformed("a patch does not fit 32 bits"))?;
        *deltas
            .get_mut(usize::from(position))
            .ok_or(Malformed("a patch is outside its block"))? |= high;
    }
    Ok(())
}

fn take_varints(
    mut body: &[u8],
    count: usize,
    deltas: &mut [u32; BLOCK_ENTRIES],
) -> Result<(), Malformed> {
    for delta in deltas.iter_mut().take(count).skip(1) {
        *delta = varint::take(&mut body)
            .and_then(|delta| u32::try_from(delta).ok())
            .ok_or(Malformed("a delta does not fit 32 bits"))?;
    }
    Ok(())
}

/// One block after encoding.
#[derive(Clone, Debug)]
struct EncodedBlock {
    first: u64,
    last: u64,
    count: usize,
    header: [u8; 2],
    body: Range<usize>,
}

/// Encodes a run of entries into blocks and hands them out as chunks. Kept and re-used, so that
/// encoding allocates nothing once its buffers have grown.
#[derive(Default)]
pub(crate) struct Encoder {
    blocks: Vec<EncodedBlock>,
    bodies: Vec<u8>,
}

impl Encoder {
    /// Replaces the content by the blocks of `entries`, which ascend strictly.
    pub(crate) fn encode(&mut self, mut entries: &[u64]) {
        self.blocks.clear();
        self.bodies.clear();
        while let Some(&first) = entries.first() {
            let reach = first.saturating_add(u64::from(u32::MAX));
            let window = &entries[..entries.len().min(BLOCK_ENTRIES)];
            let taken = match window[window.len() - 1] <= reach {
                true => window.len(),
                false => window.partition_point(|&entry| entry <= reach),
            };
            let (block, rest) = entries.split_at(taken);
            self.encode_block(block);
            entries = rest;
        }
    }

    fn encode_block(&mut self, entries: &[u64]) {
        let (first, last) = (entries[0], entries[entries.len() - 1]);
        let start = self.bodies.len();
        let span = last - first;
        let header = match span == entries.len() as u64 - 1 {
            true => [KIND_PACKED << 6, 0],
            false => encode_deltas(entries, &mut self.bodies),
        };
        let body = start..self.bodies.len();
        self.blocks.push(EncodedBlock {
            first,
            last,
            count: entries.len(),
            header,
            body,
        });
    }

    /// Number of blocks of the entries last encoded.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Bytes of the blocks `range` as a chunk, but for the one or two of the count.
    pub(crate) fn len_bytes(&self, range: Range<usize>) -> usize {
        let blocks = &self.blocks[range];
        let bodies: usize = blocks.iter().map(|block| block.body.len()).sum();
        bodies + blocks.len() * 6
    }

    /// How many blocks from `start` on may share a chunk of at most `limit_bytes`: at least one,
    /// as the widest block has 514 bytes.
    pub(crate) fn blocks_fitting(&self, start: usize, limit_bytes: usize) -> usize {
        let reach = self.blocks[start].first.saturating_add(u64::from(u32::MAX));
        let mut end = start;
        let mut used_bytes = 0;
        while let Some(block) = self.blocks.get(end) {
            used_bytes += block.body.len() + 6;
            let fits =
                used_bytes <= limit_bytes && end - start < CHUNK_BLOCKS_MAX && block.last <= reach;
            if end > start && !fits {
                break;
            }
            end += 1;
            if block.count < BLOCK_ENTRIES {
                break;
            }
        }
        end - start
    }

    /// First entry of a block.
    pub(crate) fn first(&self, block: usize) -> u64 {
        self.blocks[block].first
    }

    /// Appends the blocks `range` as one chunk to `out`. The range is one that
    /// [`blocks_fitting`](Self::blocks_fitting) gave, or a part of it.
    pub(crate) fn write_chunk(&self, range: Range<usize>, out: &mut Vec<u8>) {
        let blocks = &self.blocks[range];
        let base = blocks[0].first;
        let count: usize = blocks.iter().map(|block| block.count).sum();
        out.push(0);
        varint::encode(count as u64, out);
        for block in &blocks[1..] {
            let relative = u32::try_from(block.first - base)
                .expect("blocks_fitting ends a chunk before its span passes 32 bits");
            out.extend_from_slice(&relative.to_le_bytes());
        }
        for block in blocks {
            out.extend_from_slice(&block.header);
        }
        let start = blocks[0].body.start;
        let end = blocks[blocks.len() - 1].body.end;
        out.extend_from_slice(&self.bodies[start..end]);
    }
}

/// Appends the body of a block and returns its header.
fn encode_deltas(entries: &[u64], out: &mut Vec<u8>) -> [u8; 2] {
    let mut deltas = [0_u32; BLOCK_ENTRIES];
    for (delta, pair) in deltas[1..].iter_mut().zip(entries.windows(2)) {
        *delta = u32::try_from(pair[1] - pair[0] - 1).expect("a block spans at most 32 bits");
    }
    let values = &deltas[1..entries.len()];
    // So few values rarely gain by packing, whose least width takes 16 bytes.
    let (bits, packed_bytes) = match values.len() {
        ..VARINTS_MAX => (0, usize::MAX),
        _ => best_width(&deltas),
    };
    if entries.len() < BLOCK_ENTRIES {
        let varint_bytes: usize = values
            .iter()
            .map(|&delta| varint::len_bytes(u64::from(delta)))
            .sum();
        if varint_bytes < packed_bytes {
            values
                .iter()
                .for_each(|&delta| varint::encode(u64::from(delta), out));
            return [KIND_VARINTS << 6, 0];
        }
    }
    let extra = pack_patched(&deltas, bits, out);
    [KIND_PACKED << 6 | bits, extra]
}

/// Appends the low `bits` bits of each value, then the higher ones of those that have any; how many
/// bytes these take. `bits` is what [`best_width`] gave.
pub(crate) fn pack_patched(values: &[u32; BLOCK_ENTRIES], bits: u8, out: &mut Vec<u8>) -> u8 {
    pack::pack(values, bits, out);
    let start = out.len();
    for (position, &value) in (0_u8..).zip(values) {
        let high = u64::from(value) >> bits;
        if high > 0 {
            out.push(position);
            varint::encode(high, out);
        }
    }
    u8::try_from(out.len() - start).expect("best_width keeps patches below 256 bytes")
}

/// The width with the fewest bytes, counting patches for the values beyond it, and those bytes.
pub(crate) fn best_width(deltas: &[u32; BLOCK_ENTRIES]) -> (u8, usize) {
    let mut counts = [0_usize; BITS_MAX as usize + 1];
    for delta in deltas {
        counts[(u32::BITS - delta.leading_zeros()) as usize] += 1;
    }
    let widest = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
    let mut best = (widest, pack::packed_len_bytes(to_bits(widest)));
    for bits in (0..widest).rev() {
        let patches: usize = (bits + 1..=widest)
            .map(|width| counts[width] * (1 + (width - bits).div_ceil(7)))
            .sum();
        if patches > usize::from(u8::MAX) {
            break;
        }
        let bytes = pack::packed_len_bytes(to_bits(bits)) + patches;
        if bytes < best.1 {
            best = (bits, bytes);
        }
    }
    (to_bits(best.0), best.1)
}

fn to_bits(width: usize) -> u8 {
    u8::try_from(width).expect("widths of u32 are at most 32")
}

#[cfg(test)]
mod tests;

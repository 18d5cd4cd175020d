//! Bytes of one version of a file, in blocks that versions share.
//!
//! Used by `file` for the live and the durable version.
//!
//! Invariants: a missing block reads as zero and takes no space on the disk; a present one does.
//! Bytes at and beyond the length are zero.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// Unit of sharing between versions: the usual block of a file system, 8 sectors.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// What a disk writes wholly or not at all.
pub(crate) const SECTOR_BYTES: usize = 512;

/// Sectors of a block; a `u8` has one bit for each.
pub(crate) const SECTORS_IN_BLOCK: usize = BLOCK_BYTES / SECTOR_BYTES;

/// Content of one block.
pub(crate) type Block = [u8; BLOCK_BYTES];

/// All-zero content, shared by every allocated block that was never written.
pub(crate) static ZERO_BLOCK: LazyLock<Arc<Block>> = LazyLock::new(|| Arc::new([0; BLOCK_BYTES]));

/// One version of a file's bytes. Cloning is cheap; writing copies what is shared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    len_bytes: u64,
    blocks: Arc<Vec<Option<Arc<Block>>>>,
    allocated_blocks: usize,
}

/// Position of the block that holds `offset`.
pub(crate) fn block_of(offset: u64) -> usize {
    usize::try_from(offset / BLOCK_BYTES as u64).expect("file lengths are bounded")
}

/// Positions of the blocks that `start..end` touches.
pub(crate) fn blocks_of(start: u64, end: u64) -> Range<usize> {
    if start >= end {
        0..0
    } else {
        block_of(start)..block_of(end - 1) + 1
    }
}

/// The part of `start..end` inside the block at `block_pos`, as a range in that block.
pub(crate) fn part_in_block(block_pos: usize, start: u64, end: u64) -> Range<usize> {
    let block_start = (block_pos * BLOCK_BYTES) as u64;
    let clip = |offset: u64| {
        let inside = offset.saturating_sub(block_start).min(BLOCK_BYTES as u64);
        usize::try_from(inside).expect("at most a block")
    };
    clip(start)..clip(end)
}

impl Content {
    pub(crate) fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// Sets the length alone; the caller keeps the bytes beyond it zero.
    pub(crate) fn set_len_only(&mut self, len_bytes: u64) {
        self.len_bytes = len_bytes;
    }

    /// Blocks that take space on the disk.
    pub(crate) fn allocated_blocks(&self) -> usize {
        self.allocated_blocks
    }

    /// One more than the position of the last block that may be present.
    pub(crate) fn block_limit(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn block(&self, block_pos: usize) -> Option<&Arc<Block>> {
        self.blocks.get(block_pos)?.as_ref()
    }

    /// Bytes of a block, zero when it is missing.
    pub(crate) fn block_bytes(&self, block_pos: usize) -> &Block {
        self.block(block_pos).unwrap_or(&ZERO_BLOCK)
    }

    pub(crate) fn set_block(&mut self, block_pos: usize, block: Option<Arc<Block>>) {
        if block.is_none() && self.block(block_pos).is_none() {
            return;
        }
        let blocks = Arc::make_mut(&mut self.blocks);
        if blocks.len() <= block_pos {
            blocks.resize(block_pos + 1, None);
        }
        self.allocated_blocks -= usize::from(blocks[block_pos].is_some());
        self.allocated_blocks += usize::from(block.is_some());
        blocks[block_pos] = block;
    }

    /// Fills `buffer` from `offset`; the caller has checked the length.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) {
        let end = offset + buffer.len() as u64;
        let mut rest = buffer;
        for block_pos in blocks_of(offset, end) {
            let part = part_in_block(block_pos, offset, end);
            let (target, after) = rest.split_at_mut(part.len());
            target.copy_from_slice(&self.block_bytes(block_pos)[part]);
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_fall_into_blocks() {
        assert_eq!(blocks_of(0, 0), 0..0);
        assert_eq!(blocks_of(4095, 4097), 0..2);
        assert_eq!(blocks_of(4096, 8192), 1..2);
        assert_eq!(part_in_block(0, 4095, 4097), 4095..4096);
        assert_eq!(part_in_block(1, 4095, 4097), 0..1);
        assert_eq!(part_in_block(1, 0, 1 << 40), 0..BLOCK_BYTES);
    }

    #[test]
    fn versions_share_until_written() {
        let mut one = Content::default();
        one.set_len_only(10_000);
        one.set_block(1, Some(Arc::new([7; BLOCK_BYTES])));
        let mut other = one.clone();
        other.set_block(1, None);
        other.set_block(9, None);
        assert_eq!((one.allocated_blocks(), other.allocated_blocks()), (1, 0));
        let mut bytes = [1; 6];
        one.read(&mut bytes, 4093);
        assert_eq!(bytes, [0, 0, 0, 7, 7, 7]);
        other.read(&mut bytes, 4093);
        assert_eq!(bytes, [0; 6]);
    }
}

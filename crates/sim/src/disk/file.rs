//! One file of the simulated disk: its live view, what is durable, and the versions in between.
//!
//! `state` applies changes to it; `crash` picks one version for each un-synced sector.
//!
//! Invariants:
//! - Without a failed or skipped sync, durable plus all pending versions equals the live view.
//! - A sector's pending versions are in the order of the operations that made them.
//! - A cut (shrinking) and the length it belongs to survive or vanish together; nothing from
//!   before a cut that survived comes back.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::choice::{Chooser, Decision, Subject};
use super::content::{
    BLOCK_BYTES, Block, Content, SECTOR_BYTES, SECTORS_IN_BLOCK, ZERO_BLOCK, block_of, blocks_of,
    part_in_block,
};
use crate::rng::Rng;

/// Pending versions kept for one block. Beyond it neighbors are merged, which only takes away
/// some of the possible images.
const BLOCK_VERSIONS_MAX: usize = 24;

/// Content of some sectors of a block after one operation.
#[derive(Clone, Debug)]
struct BlockVersion {
    operation: u64,
    /// Bit `i`: sector `i` is a new version. The others of `block` do not count.
    sectors: u8,
    /// Whether this is the zeroing of a shrinking file.
    is_cut: bool,
    block: Option<Arc<Block>>,
}

/// A length that is not durable yet.
#[derive(Clone, Copy, Debug)]
struct LengthVersion {
    operation: u64,
    len_bytes: u64,
}

/// A file.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileState {
    live: Content,
    durable: Content,
    pending: BTreeMap<usize, Vec<BlockVersion>>,
    lengths: Vec<LengthVersion>,
    /// Un-synced changes were dropped by a failed sync: the live view shows what is not there.
    is_diverged: bool,
}

impl FileState {
    /// What the running system sees.
    pub(crate) fn live(&self) -> &Content {
        &self.live
    }

    /// Whether power loss would change nothing.
    pub(crate) fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.lengths.is_empty() && !self.is_diverged
    }

    /// Writes without durability.
    pub(crate) fn write(&mut self, operation: u64, offset: u64, bytes: &[u8]) {
        self.write_sectors(operation, offset, bytes, |_| true);
    }

    /// As [`FileState::write`], of the sectors that `is_kept` only: a write that failed.
    pub(crate) fn write_partly(&mut self, operation: u64, offset: u64, bytes: &[u8], seed: u64) {
        let mut rng = Rng::new(seed);
        self.write_sectors(operation, offset, bytes, |_| rng.chance(2));
    }

    fn write_sectors(
        &mut self,
        operation: u64,
        offset: u64,
        bytes: &[u8],
        mut is_kept: impl FnMut(usize) -> bool,
    ) {
        let end = offset + bytes.len() as u64;
        let mut rest = bytes;
        let mut kept_end = 0;
        for block_pos in blocks_of(offset, end) {
            let part = part_in_block(block_pos, offset, end);
            let (source, after) = rest.split_at(part.len());
            rest = after;
            let old = self.live.block_bytes(block_pos);
            let mut new = *old;
            new[part.clone()].copy_from_slice(source);
            let mut changed = 0;
            for sector in part.start / SECTOR_BYTES..part.end.div_ceil(SECTOR_BYTES) {
                let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
                if is_kept(block_pos * SECTORS_IN_BLOCK + sector) {
                    // After a failed sync the medium may lack what the live view shows, so that
                    // even an equal rewrite brings something new.
                    let differs = self.is_diverged || new[range.clone()] != old[range.clone()];
                    changed |= u8::from(differs) << sector;
                    let end_in_block = range.end.min(part.end);
                    kept_end = (block_pos * BLOCK_BYTES + end_in_block) as u64;
                } else {
                    new[range.clone()].copy_from_slice(&old[range]);
                }
            }
            let block = if changed == 0 {
                self.live.block(block_pos).unwrap_or(&ZERO_BLOCK).clone()
            } else {
                Arc::new(new)
            };
            self.replace(operation, block_pos, Some(block), changed, false);
        }
        if kept_end > self.live.len_bytes() {
            self.note_length(operation, kept_end);
        }
    }

    /// Writes durably: the sectors of the range and a length that covers it are on the medium.
    pub(crate) fn write_durably(&mut self, operation: u64, offset: u64, bytes: &[u8]) {
        self.write(operation, offset, bytes);
        let end = offset + bytes.len() as u64;
        for block_pos in blocks_of(offset, end) {
            let part = part_in_block(block_pos, offset, end);
            let mut sectors = 0_u8;
            for sector in part.start / SECTOR_BYTES..part.end.div_ceil(SECTOR_BYTES) {
                sectors |= 1 << sector;
            }
            let block = self.live.block(block_pos).cloned();
            let block = merge(self.durable.block(block_pos), block.as_ref(), sectors);
            self.durable.set_block(block_pos, block);
            self.forget_versions(block_pos, sectors);
        }
        if self.durable.len_bytes() < end {
            self.durable.set_len_only(end);
        }
        for length in &mut self.lengths {
            length.len_bytes = length.len_bytes.max(end);
        }
        self.drop_equal_lengths();
    }

    /// Makes everything written so far durable.
    pub(crate) fn sync(&mut self) {
        if !self.is_diverged {
            self.durable = self.live.clone();
            self.pending.clear();
            self.lengths.clear();
            return;
        }
        for (block_pos, versions) in std::mem::take(&mut self.pending) {
            let mut block = self.durable.block(block_pos).cloned();
            for version in &versions {
                block = merge(block.as_ref(), version.block.as_ref(), version.sectors);
            }
            self.durable.set_block(block_pos, block);
        }
        if let Some(length) = self.lengths.pop() {
            self.lengths.clear();
            set_durable_len(&mut self.durable, length.len_bytes);
        }
    }

    /// A sync that fails: each pending change reaches the medium or is dropped for good, and no
    /// later sync brings it back. The live view keeps showing it, as a page cache does.
    pub(crate) fn sync_failing(&mut self, seed: u64) {
        let mut chooser = Coins {
            rng: Rng::new(seed),
        };
        self.durable = self.pick_versions(0, &mut chooser);
        self.pending.clear();
        self.lengths.clear();
        self.is_diverged = true;
    }

    /// Sets the length; new bytes are zero, cut bytes are gone.
    pub(crate) fn set_len(&mut self, operation: u64, len_bytes: u64) {
        let old_len = self.live.len_bytes();
        if len_bytes == old_len {
            return;
        }
        if len_bytes < old_len {
            self.zero(operation, len_bytes, old_len, true);
        }
        self.note_length(operation, len_bytes);
    }

    /// Claims space for the range, growing the file to cover it.
    pub(crate) fn allocate(&mut self, operation: u64, offset: u64, len_bytes: u64) {
        let end = offset + len_bytes;
        for block_pos in blocks_of(offset, end) {
            if self.live.block(block_pos).is_none() {
                self.live.set_block(block_pos, Some(ZERO_BLOCK.clone()));
            }
        }
        if end > self.live.len_bytes() {
            self.note_length(operation, end);
        }
    }

    /// Zeroes the range and gives the space of whole blocks back.
    pub(crate) fn punch(&mut self, operation: u64, offset: u64, len_bytes: u64) {
        let end = (offset + len_bytes).min(self.live.len_bytes());
        self.zero(operation, offset, end, false);
    }

    /// Inverts the bits of `mask` at `offset`, in every version: the medium itself is damaged.
    pub(crate) fn flip(&mut self, offset: u64, mask: u8) {
        let block_pos = block_of(offset);
        let position = part_in_block(block_pos, offset, offset + 1).start;
        let flipped = |block: &Block| {
            let mut block = *block;
            block[position] ^= mask;
            Some(Arc::new(block))
        };
        for content in [&mut self.live, &mut self.durable] {
            let block = flipped(content.block_bytes(block_pos));
            content.set_block(block_pos, block);
        }
        for version in self.pending.get_mut(&block_pos).into_iter().flatten() {
            version.block = flipped(version.block.as_ref().unwrap_or(&ZERO_BLOCK));
        }
    }

    /// The file as power loss may leave it.
    pub(crate) fn crash(&self, file: u64, chooser: &mut dyn Chooser) -> Self {
        let content = self.pick_versions(file, chooser);
        Self {
            live: content.clone(),
            durable: content,
            ..Self::default()
        }
    }

    /// Blocks of the range that would newly take space if written or allocated.
    pub(crate) fn missing_blocks(&self, offset: u64, len_bytes: u64) -> usize {
        blocks_of(offset, offset + len_bytes)
            .filter(|&block_pos| self.live.block(block_pos).is_none())
            .count()
    }

    fn pick_versions(&self, file: u64, chooser: &mut dyn Chooser) -> Content {
        let mut operations: Vec<u64> = self.lengths.iter().map(|length| length.operation).collect();
        let mut chosen_length: Option<LengthVersion> = None;
        if !operations.is_empty() {
            let decision = Decision {
                subject: Subject::Length,
                file,
                operations: &operations,
            };
            let option = chooser.choose(decision);
            chosen_length = option.checked_sub(1).map(|version| self.lengths[version]);
        }
        let length_operation = chosen_length.map_or(0, |length| length.operation);
        let mut content = self.durable.clone();
        for (&block_pos, versions) in &self.pending {
            let mut picked = [0_usize; SECTORS_IN_BLOCK];
            for (sector, picked) in picked.iter_mut().enumerate() {
                let of_sector = |version: &&BlockVersion| version.sectors & (1 << sector) != 0;
                operations.clear();
                operations.extend(
                    versions
                        .iter()
                        .filter(of_sector)
                        .map(|version| version.operation),
                );
                if !operations.is_empty() {
                    let decision = Decision {
                        subject: Subject::Sector,
                        file,
                        operations: &operations,
                    };
                    let option = chooser.choose(decision);
                    *picked = obey_cuts(versions, sector, option, length_operation);
                }
            }
            if picked != [0; SECTORS_IN_BLOCK] {
                content.set_block(block_pos, compose(&content, block_pos, versions, &picked));
            }
        }
        if let Some(length) = chosen_length {
            content.set_len_only(length.len_bytes);
        }
        let len_bytes = content.len_bytes();
        clear_beyond(&mut content, len_bytes);
        content
    }

    fn zero(&mut self, operation: u64, start: u64, end: u64, is_cut: bool) {
        let blocks = blocks_of(start, end);
        for block_pos in blocks.start..blocks.end.min(self.live.block_limit()) {
            let Some(old) = self.live.block(block_pos) else {
                continue;
            };
            let part = part_in_block(block_pos, start, end);
            let is_whole = part.start == 0 && (is_cut || part.end == BLOCK_BYTES);
            let mut new = **old;
            new[part.clone()].fill(0);
            let mut changed = 0;
            for sector in 0..SECTORS_IN_BLOCK {
                let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
                changed |= u8::from(new[range.clone()] != old[range]) << sector;
            }
            let block = if is_whole { None } else { Some(Arc::new(new)) };
            self.replace(operation, block_pos, block, changed, is_cut);
        }
    }

    /// Puts a block into the live view and remembers its changed sectors as pending.
    fn replace(
        &mut self,
        operation: u64,
        block_pos: usize,
        block: Option<Arc<Block>>,
        sectors: u8,
        is_cut: bool,
    ) {
        self.live.set_block(block_pos, block.clone());
        if sectors == 0 {
            return;
        }
        let versions = self.pending.entry(block_pos).or_default();
        versions.push(BlockVersion {
            operation,
            sectors,
            is_cut,
            block,
        });
        if versions.len() > BLOCK_VERSIONS_MAX {
            merge_oldest(versions);
        }
    }

    fn forget_versions(&mut self, block_pos: usize, sectors: u8) {
        let Some(versions) = self.pending.get_mut(&block_pos) else {
            return;
        };
        for version in versions.iter_mut() {
            version.sectors &= !sectors;
        }
        versions.retain(|version| version.sectors != 0);
        if versions.is_empty() {
            self.pending.remove(&block_pos);
        }
    }

    fn note_length(&mut self, operation: u64, len_bytes: u64) {
        self.live.set_len_only(len_bytes);
        self.lengths.push(LengthVersion {
            operation,
            len_bytes,
        });
        if self.lengths.len() > BLOCK_VERSIONS_MAX {
            // Growing only: a cut and its length belong together.
            let grows = |pair: &[LengthVersion]| pair[0].len_bytes <= pair[1].len_bytes;
            let mergeable = self
                .lengths
                .windows(3)
                .position(|three| grows(&three[..2]) && grows(&three[1..]));
            if let Some(position) = mergeable {
                self.lengths.remove(position + 1);
            }
        }
    }

    fn drop_equal_lengths(&mut self) {
        let mut current = self.durable.len_bytes();
        let cuts_pending = self
            .pending
            .values()
            .flatten()
            .any(|version| version.is_cut);
        if cuts_pending {
            return; // The operations of the lengths still tell which cuts survive.
        }
        self.lengths.retain(|length| {
            let differs = length.len_bytes != current;
            current = length.len_bytes;
            differs
        });
    }
}

/// A fair coin for each choice.
struct Coins {
    rng: Rng,
}

impl Chooser for Coins {
    fn choose(&mut self, decision: Decision<'_>) -> usize {
        self.rng.below_usize(decision.option_count())
    }
}

/// `base` with the sectors of `other` that are set in `sectors`.
fn merge(base: Option<&Arc<Block>>, other: Option<&Arc<Block>>, sectors: u8) -> Option<Arc<Block>> {
    if sectors == u8::MAX {
        return other.cloned();
    }
    let mut block = **base.unwrap_or(&ZERO_BLOCK);
    let other = other.unwrap_or(&ZERO_BLOCK);
    for sector in (0..SECTORS_IN_BLOCK).filter(|sector| sectors & (1 << sector) != 0) {
        let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
        block[range.clone()].copy_from_slice(&other[range]);
    }
    Some(Arc::new(block))
}

/// Turns an option (0 durable, `i` the i-th version of this sector) into a version number (0
/// durable, `i` for `versions[i - 1]`), moved so that it agrees with the cuts that survive.
fn obey_cuts(
    versions: &[BlockVersion],
    sector: usize,
    option: usize,
    length_operation: u64,
) -> usize {
    let mut of_sector = 0;
    let mut picked = 0;
    let mut cut_floor = 0;
    for (position, version) in versions.iter().enumerate() {
        if version.sectors & (1 << sector) == 0 {
            continue;
        }
        of_sector += 1;
        let is_lost_cut = version.is_cut && version.operation > length_operation;
        if of_sector <= option && !is_lost_cut {
            picked = position + 1;
        }
        if version.is_cut && !is_lost_cut {
            cut_floor = position + 1;
        }
    }
    picked.max(cut_floor)
}

/// The block with the picked version of each sector.
fn compose(
    durable: &Content,
    block_pos: usize,
    versions: &[BlockVersion],
    picked: &[usize; SECTORS_IN_BLOCK],
) -> Option<Arc<Block>> {
    if picked.iter().all(|&version| version == picked[0]) {
        return versions[picked[0] - 1].block.clone(); // Not all durable: the caller checked.
    }
    let mut block = *durable.block_bytes(block_pos);
    for (sector, &version) in picked.iter().enumerate() {
        if let Some(version) = version.checked_sub(1) {
            let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
            let source = versions[version].block.as_ref().unwrap_or(&ZERO_BLOCK);
            block[range.clone()].copy_from_slice(&source[range]);
        }
    }
    Some(Arc::new(block))
}

/// Merges the first two neighboring versions that are not cuts.
fn merge_oldest(versions: &mut Vec<BlockVersion>) {
    let found = versions
        .windows(2)
        .position(|pair| !pair[0].is_cut && !pair[1].is_cut);
    if let Some(position) = found {
        let older = versions.remove(position);
        versions[position].sectors |= older.sectors;
    }
}

/// Sets the length of durable content and clears what lies beyond.
fn set_durable_len(content: &mut Content, len_bytes: u64) {
    content.set_len_only(len_bytes);
    clear_beyond(content, len_bytes);
}

/// Zeroes every byte at and beyond `len_bytes`.
fn clear_beyond(content: &mut Content, len_bytes: u64) {
    for block_pos in block_of(len_bytes)..content.block_limit() {
        let part = part_in_block(block_pos, len_bytes, u64::MAX);
        let Some(old) = content.block(block_pos) else {
            continue;
        };
        if part.len() == BLOCK_BYTES {
            content.set_block(block_pos, None);
        } else if old[part.clone()].iter().any(|&byte| byte != 0) {
            let mut new = **old;
            new[part].fill(0);
            content.set_block(block_pos, Some(Arc::new(new)));
        }
    }
}

#[cfg(test)]
mod tests;

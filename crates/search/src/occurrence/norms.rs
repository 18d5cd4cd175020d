//! Norms: the length of each entry's text in a field, one byte each, in blocks.
//!
//! Written with occurrences, read for scores.
//!
//! Invariants:
//! - Lengths are rounded down to what a byte tells: exact up to 40 tokens, three significant bits
//!   beyond. Sums of lengths are sums of the rounded ones, so they can be taken back exactly.
//! - 0 stands for an entry without text in the field.
//!
//! Threads: pure functions, and a reader that borrows a snapshot.

use jackdaw_storage::{PageRead, PageWrite, Tree, TreeMut};

use super::NORMS_TREE;
use crate::EntryId;
use crate::catalog::FieldId;
use crate::error::{At, IndexError};
use crate::posting::Malformed;

/// Entries of a block.
const BLOCK_BITS: u32 = 10;
const BLOCK_ENTRIES: usize = 1 << BLOCK_BITS;

/// Lengths below this have a byte of their own.
const EXACT_LENGTHS: u32 = 24;

/// Bytes in front of the norms of a block: how many of its first entries are left out.
const BLOCK_HEAD_BYTES: usize = 2;

/// The byte of a length.
pub(crate) fn norm_of(length: u32) -> u8 {
    let code = match length.checked_sub(EXACT_LENGTHS) {
        None => length,
        Some(rest) => EXACT_LENGTHS + float_of(rest),
    };
    u8::try_from(code + 1).unwrap_or(u8::MAX)
}

/// The length a byte stands for.
pub(crate) fn length_of(norm: u8) -> u32 {
    let code = u32::from(norm).saturating_sub(1);
    match code.checked_sub(EXACT_LENGTHS) {
        None => code,
        Some(float) => EXACT_LENGTHS + from_float(float),
    }
}

/// A float of five bits of exponent and three bits behind the leading one.
fn float_of(value: u32) -> u32 {
    let bits = u32::BITS - value.leading_zeros();
    match bits {
        0..4 => value,
        _ => {
            let shift = bits - 4;
            ((value >> shift) & 7) | ((shift + 1) << 3)
        }
    }
}

fn from_float(float: u32) -> u32 {
    match float >> 3 {
        0 => float,
        exponent => ((float & 7) | 8) << (exponent - 1),
    }
}

/// The new norm of an entry; 0 takes it away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NormChange {
    pub(crate) entry: u64,
    pub(crate) norm: u8,
}

fn block_key(field: FieldId, block: u64) -> [u8; 10] {
    let mut key = [0; 10];
    key[..2].copy_from_slice(&field.to_bytes());
    key[2..].copy_from_slice(&block.to_be_bytes());
    key
}

/// Field and first entry of a block's key.
pub(crate) fn parse_block_key(key: &[u8]) -> Result<(FieldId, u64), Malformed> {
    let wrong = Malformed("the key of a block of norms is malformed");
    let (field, block) = key.split_first_chunk::<2>().ok_or(wrong)?;
    let block = block.try_into().map(u64::from_be_bytes).ok();
    let first = block.and_then(|block| block.checked_mul(BLOCK_ENTRIES as u64));
    Ok((FieldId::from_bytes(*field), first.ok_or(wrong)?))
}

/// How many entries a block leaves out, and the norms of those behind.
pub(crate) fn read_block(block: &[u8]) -> Result<(usize, &[u8]), Malformed> {
    block
        .split_first_chunk::<BLOCK_HEAD_BYTES>()
        .map(|(skipped, norms)| (usize::from(u16::from_le_bytes(*skipped)), norms))
        .filter(|(skipped, norms)| {
            skipped + norms.len() <= BLOCK_ENTRIES
                && norms.first().is_some_and(|norm| *norm > 0)
                && norms.last().is_some_and(|norm| *norm > 0)
        })
        .ok_or(Malformed("a block of norms is malformed"))
}

/// Applies ascending changes to the norms of a field.
pub(crate) fn write_norms<P: PageWrite + ?Sized>(
    tree: &mut TreeMut<'_, P>,
    field: FieldId,
    changes: &[NormChange],
) -> Result<(), IndexError> {
    for group in changes.chunk_by(|a, b| a.entry >> BLOCK_BITS == b.entry >> BLOCK_BITS) {
        let key = block_key(field, group[0].entry >> BLOCK_BITS);
        let mut norms = [0; BLOCK_ENTRIES];
        if let Some(block) = tree.get(&key)? {
            let (skipped, stored) = read_block(block).at(NORMS_TREE, &key)?;
            norms[skipped..skipped + stored.len()].copy_from_slice(stored);
        }
        for change in group {
            norms[within(change.entry)] = change.norm;
        }
        let Some(start) = norms.iter().position(|norm| *norm > 0) else {
            tree.delete(&key)?;
            continue;
        };
        let end = norms.iter().rposition(|norm| *norm > 0).unwrap_or(start);
        let skipped = u16::try_from(start).unwrap_or(u16::MAX);
        let mut block = skipped.to_le_bytes().to_vec();
        block.extend_from_slice(&norms[start..=end]);
        tree.put(&key, &block)?;
    }
    Ok(())
}

fn within(entry: u64) -> usize {
    usize::try_from(entry % BLOCK_ENTRIES as u64).unwrap_or(0)
}

/// Blocks kept at hand: those of the entries of a window of 4,096, for walks side by side.
const BLOCKS_KEPT: usize = 4;

/// A block: its number, how many of its first entries are left out, and the norms of the others.
type KnownBlock<'t> = (u64, usize, &'t [u8]);

/// Reads norms of a field; best in ascending order of entries.
pub(crate) struct Norms<'t, P: PageRead + ?Sized> {
    tree: Option<Tree<'t, P>>,
    field: FieldId,
    blocks: [Option<KnownBlock<'t>>; BLOCKS_KEPT],
}

impl<'t, P: PageRead + ?Sized> Norms<'t, P> {
    pub(crate) fn new(tree: Option<Tree<'t, P>>, field: FieldId) -> Norms<'t, P> {
        Norms {
            tree,
            field,
            blocks: [None; BLOCKS_KEPT],
        }
    }

    /// Number of tokens of an entry, rounded; `None` when it has no text.
    pub(crate) fn length(&mut self, entry: EntryId) -> Result<Option<u32>, IndexError> {
        let norm = self.norm(entry.0)?;
        Ok((norm > 0).then(|| length_of(norm)))
    }

    /// The byte of an entry; 0 when it has no text.
    #[inline]
    pub(crate) fn norm(&mut self, entry: u64) -> Result<u8, IndexError> {
        let number = entry >> BLOCK_BITS;
        let kept = usize::try_from(number % BLOCKS_KEPT as u64).unwrap_or(0);
        let (skipped, norms) = match self.blocks[kept] {
            Some((known, skipped, norms)) if known == number => (skipped, norms),
            _ => {
                let (skipped, norms) = self.read(number)?;
                self.blocks[kept] = Some((number, skipped, norms));
                (skipped, norms)
            }
        };
        let norm = within(entry)
            .checked_sub(skipped)
            .and_then(|at| norms.get(at));
        Ok(norm.copied().unwrap_or(0))
    }

    #[inline(never)]
    fn read(&self, number: u64) -> Result<(usize, &'t [u8]), IndexError> {
        let key = block_key(self.field, number);
        let stored = match &self.tree {
            Some(tree) => tree.get(&key)?,
            None => None,
        };
        match stored {
            Some(block) => read_block(block).at(NORMS_TREE, &key),
            None => Ok((0, &[])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lengths_are_exact_and_long_ones_close() {
        for length in 0..=40 {
            assert_eq!(length_of(norm_of(length)), length);
        }
        let mut previous = 0;
        for length in (41..5_000).chain([1 << 20]) {
            let rounded = length_of(norm_of(length));
            assert!(
                rounded <= length && rounded >= length - length / 8,
                "{length}"
            );
            assert!(rounded >= previous);
            previous = rounded;
        }
        assert!(norm_of(crate::TOKENS_PER_FIELD_MAX) < u8::MAX);
        assert_eq!(length_of(0), 0);
    }
}

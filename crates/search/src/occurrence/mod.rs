//! Occurrences: how often and where the terms of full text stand in entries, and how long texts
//! are. What scores and phrases are made of.
//!
//! `chunk` is the codec of a part of a term's list, `bound` what is told of its best entries,
//! `editor` changes lists, `cursor` walks them;
//! `norms` keeps the lengths. Bytes: docs/format.md, section "Inverted index".
//!
//! Invariants:
//! - A term of a field with positions has the same entries here and in its posting list.
//! - The norm beside an occurrence is that of the entry: both are written whenever a token of the
//!   entry's text changes.

use jackdaw_base::hash::xxh3_64;

mod bound;
mod chunk;
mod cursor;
mod editor;
mod norms;

pub use cursor::{Occurrence, Occurrences};

pub(crate) use chunk::{Chunk, Items};
pub(crate) use cursor::pass_below;
pub(crate) use editor::{OccurrenceChange, OccurrenceEditor, parse_chunk_key, push_positions};
pub(crate) use norms::{
    NormChange, Norms, length_of, norm_of, parse_block_key, read_block, write_norms,
};

/// What a term at its positions adds to the sum by which changed tokens are noticed.
pub(crate) fn token_sum(key: &[u8], positions: &[u32]) -> u64 {
    positions.iter().fold(0, |sum: u64, &position| {
        sum.wrapping_add(xxh3_64(key, u64::from(position)))
    })
}

/// Names of the trees.
pub(crate) const OCCURRENCES_TREE: &str = "occurrences";
pub(crate) const NORMS_TREE: &str = "norms";

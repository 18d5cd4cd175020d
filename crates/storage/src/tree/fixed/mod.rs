//! Fixed trees: 64-bit numbers to values of one width.
//!
//! Etags to documents, sections to free-space maps: dense ascending keys, small values. `read`
//! looks up and walks; `write` changes.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{FixedRange, FixedTree};
pub use write::FixedTreeMut;

//! Trees: ordered maps in pages.
//!
//! `root` is what is stored about a tree outside its pages. `read`, `cursor` and `range` read;
//! `write` changes single entries, with `split` and `merge` for the structure and `cache` to
//! save descents; `batch` changes many sorted entries; `verify` checks a whole tree. `rank` answers
//! from the counts that `counts` keeps. `fixed` are
//! trees of numbers, `multi` trees of sets.

mod batch;
mod cache;
mod counts;
mod cursor;
mod fixed;
mod merge;
mod multi;
mod path;
mod position;
mod range;
mod rank;
mod read;
mod root;
mod split;
#[cfg(test)]
pub(crate) mod tests;
mod verify;
mod write;

pub use cursor::Cursor;
pub use fixed::{FixedRange, FixedTree, FixedTreeMut};
pub use multi::{MultiRange, MultiTree, MultiTreeMut, MultiValues};
pub use range::Range;
pub use read::Tree;
pub use root::{TREE_ROOT_BYTES, TreeKind, TreeRoot, TreeState};
pub use verify::TreeReport;
pub use write::{TreeMut, VALUE_BYTES_MAX};

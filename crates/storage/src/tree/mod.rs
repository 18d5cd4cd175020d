//! Trees: ordered maps in pages.
//!
//! `root` is what is stored about a tree outside its pages.

mod root;

pub use root::{TREE_ROOT_BYTES, TreeKind, TreeRoot, TreeState};

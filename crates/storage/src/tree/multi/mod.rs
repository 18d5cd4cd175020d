//! Multi trees: bytes to an ordered set of bytes.
//!
//! Secondary indexes whose keys repeat. A key with few values keeps them in its own entry; with
//! more it has a tree of its own. `values` is how sets are stored, `read` and `write` use it.

mod read;
#[cfg(test)]
mod tests;
mod values;
mod write;

pub use read::{MultiRange, MultiTree};
pub use values::MultiValues;
pub use write::MultiTreeMut;

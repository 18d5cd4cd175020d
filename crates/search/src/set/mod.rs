//! Sets of entries: sorted windows of 4,096 numbers, each full, a short array or a bit map.
//!
//! Results of term look-ups, prefixes and ranges are sets; queries combine them. A set costs at
//! most one bit for each number up to its greatest entry (plus 16 bytes a window), and about two
//! bytes an entry when entries are sparse.

mod algebra;
mod builder;
mod iter;
mod probe;
mod window;

#[cfg(test)]
mod tests;

pub use builder::SetBuilder;
pub use iter::Iter;
pub use probe::Probe;
pub use window::EntrySet;

pub(crate) use window::{AscendingBuilder, BitsBuilder};

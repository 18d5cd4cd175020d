//! Ordering by walking what is in order already: the terms of the first key in the index, or the
//! ids of the database. No value of a document is read, and the walk ends with the page. Or by a
//! column of the key's terms, when the index has one in memory.
//!
//! A walk pays when the matches are a large part of the entries; otherwise most terms walked over
//! belong to entries that do not match, and sorting the matches is cheaper.
//!
//! Invariants:
//! - The order is that of `ordered::best_rows`. Texts of which the index keeps only a beginning,
//!   and documents changed after the index saw them, are ordered by their documents.

mod by_terms;
mod ids;
mod terms;

pub(super) use self::by_terms::{stream, stream_everything};
pub(super) use self::ids::stream_ids;

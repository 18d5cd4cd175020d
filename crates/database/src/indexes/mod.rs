//! Automatic indexes: made when a query asks for fields, kept up by a worker each.
//!
//! `definition` is what an index is about, `index` one that is open, `worker` the thread that
//! follows the documents, `set` all indexes of a database.
//!
//! Invariants:
//! - An index holds exactly the terms that the documents of its scope had at its position, an etag
//!   stored in the same transaction.
//! - A query reads the index first and the documents second: what changed in between is behind the
//!   position and evaluated from the documents themselves.
//! - Losing an index loses nothing: it is made again.

mod definition;
mod index;
mod set;
mod worker;

pub use definition::IndexDefinition;
pub(crate) use index::Index;
pub use index::IndexInfo;
pub(crate) use set::Indexes;

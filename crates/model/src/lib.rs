//! Identities, numbers and change vectors that every layer above the storage names.
//!
//! Nothing here reads a file, a clock or chance: values are parsed, compared, merged and printed.
//! A [`ChangeVector`] says which changes of which databases a document holds; [`Origin`] makes the
//! vector of a change of this database.

#![forbid(unsafe_code)]

mod change_vector;
mod database_id;
mod node_tag;
mod numbers;
mod origin;
mod scope;

pub use change_vector::{ChangeVector, Entry, Relation, VectorError};
pub use database_id::DatabaseId;
pub use node_tag::{NodeTag, NodeTagError};
pub use numbers::{DocumentNumber, Etag};
pub use origin::{Origin, split_transaction};
pub use scope::Scope;

//! The trees of a database and the one way to change them.
//!
//! `trees` names them, `state` and `collections` are what is kept beside documents, `apply`
//! carries out prepared changes, `identities` counts for `prefix|` ids.
//!
//! Invariants (each transaction leaves them true):
//! - Every document has one entry in `documents`, `document_ids`, `document_etags` and in the
//!   etags of its collection; a collection's count is the number of its documents.
//! - Etags and numbers only grow; each change takes the next etag.

mod apply;
mod collections;
mod identities;
mod state;
pub(crate) mod trees;

pub(crate) use apply::{Applied, Put, Writer, apply};
pub(crate) use collections::CollectionRecord;
pub(crate) use identities::{identity_values, set_identity};
pub(crate) use state::State;

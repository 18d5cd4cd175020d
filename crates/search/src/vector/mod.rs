//! Vectors of fields: what is kept of them, and the graph that finds the nearest ones.
//!
//! A vector is a term of its entry: a hash of its bytes, with a posting list, so that entries with
//! equal vectors share it and changes are exact as for any other term. Beside it `record` keeps its
//! bytes, once, and its links in a navigable graph of several levels (HNSW).
//!
//! `options` is what the definition of a field says, `value` makes the bytes of a vector, `kernel`
//! compares them. `walk` searches the graph, `edit` changes it, `writer` does so for a batch,
//! `nearest` answers queries, `check` is the part of `verify`.
//!
//! Invariants:
//! - Links go both ways, and every level is connected: each vector can be reached. Nothing of a
//!   removed vector stays.
//! - A graph follows from the vectors and the order they came and went in: levels are of hashes.

mod check;
mod edit;
mod kernel;
mod nearest;
mod options;
mod record;
mod value;
mod walk;
mod writer;

pub(crate) use check::check_vectors;
pub use nearest::{Near, NearestOptions};
pub(crate) use options::VECTOR_OPTIONS_BYTES;
pub use options::{DIMENSIONS_MAX, EDGES_MAX, VECTOR_CANDIDATES_MAX, VectorOptions, VectorStorage};
pub(crate) use record::VectorTrees;
pub use value::{Vector, VectorError};
pub(crate) use value::{VectorHash, hash_of};
pub use writer::RefusedVector;
pub(crate) use writer::VectorWriter;

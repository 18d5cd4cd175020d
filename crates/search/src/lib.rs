//! Inverted index: terms, posting lists, set operations, analyzers.
//!
//! An index lives in a few trees of an environment and is changed in write transactions: entries
//! removed are gone at once, there are no segments and nothing is merged later. `batch` and
//! `analysis` turn values into terms, `writer` applies them, `reader` answers queries with `set`s
//! of entries, `verify` checks it all. Bytes: docs/format.md, section "Inverted index".
//!
//! The crate knows nothing of documents or queries: entries are numbers, values are texts and
//! numbers.

#![forbid(unsafe_code)]

mod analysis;
mod batch;
mod catalog;
mod entry;
mod error;
mod forward;
mod matches;
mod occurrence;
mod options;
mod place;
mod posting;
mod reader;
mod set;
mod store;
mod term;
mod text;
mod vector;
mod verify;
mod writer;

pub use analysis::{Analyzer, Chain, ChainError, TOKENS_PER_FIELD_MAX, VALUE_GAP};
pub use batch::{Batch, EntryTerms, FIELD_NAME_BYTES_MAX, FIELDS_MAX, FieldSlot};
pub use catalog::{CatalogCache, Field, FieldId};
pub use entry::EntryId;
pub use error::{IndexDamage, IndexError};
pub use matches::Matches;
pub use occurrence::{Occurrence, Occurrences};
pub use options::FieldOptions;
pub use place::{Coordinate, Place, Relation, Shape};
pub use posting::Postings;
pub use reader::{
    Budget, Column, Columns, Direction, IndexReader, Ranked, Scores, TermKind, TermWalk,
    TermsOfEntry, TextStatistics, Verdict, WalkedTerm, idf,
};
pub use set::{EntrySet, Iter as EntrySetIter, Probe, SetBuilder};
pub use store::{IndexRead, IndexWrite, MemoryStore};
pub use term::{StoredTerm, StoredText, TEXT_BYTES_WHOLE_MAX, Term};
pub use text::{
    Expression, FieldTerms, Fuzzy, Phrase, QUERY_TEXT_BYTES_MAX, TextError, TextQuery, Wildcard,
    edits_between,
};
pub use vector::{
    DIMENSIONS_MAX, EDGES_MAX, Near, NearestOptions, RefusedVector, VECTOR_CANDIDATES_MAX, Vector,
    VectorError, VectorOptions, VectorStorage,
};
pub use verify::IndexReport;
pub use writer::{Applied, IndexWriter};

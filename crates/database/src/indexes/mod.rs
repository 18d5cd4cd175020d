//! Indexes: automatic ones, made when a query asks for fields, and static ones, defined by
//! somebody. A worker each keeps them up.
//!
//! `analyzers` compiles those that users write. `definition` is what an index is (`automatic`,
//! or `statics` with all that maps need), `index` one that is open, `worker` the thread that
//! follows the documents (in steps of `automatic_worker` or of `statics`), `set` all indexes of
//! a database, `administration` what is asked of static ones.
//!
//! Invariants:
//! - An index holds exactly what the documents that count for it had at its position, an etag
//!   stored in the same transaction.
//! - A query reads the index first and the documents second. With an automatic index, what changed
//!   in between is behind the position and evaluated from the documents themselves.
//! - Losing an index loses nothing: it is made again.

mod administration;
mod analyzers;
mod automatic;
mod automatic_worker;
mod definition;
mod index;
mod set;
mod statics;
mod step;
mod worker;

pub use administration::PutIndexError;
pub(crate) use administration::check;
pub use analyzers::{AnalyzerError, compile_analyzer};
pub use automatic::AutoDefinition;
pub use definition::IndexDefinition;
pub(crate) use index::Index;
pub use index::{IndexInfo, IndexStatus, IndexWork};
pub(crate) use set::{Indexes, definition_numbers};
pub use statics::{
    ALL_FIELDS, DefinitionError, FieldSettings, IndexState, Indexing, IndexingError, LockMode,
    Priority, REPLACEMENT_PREFIX, SourceType, StaticDefinition,
};
pub(crate) use statics::{Programs, StaticView, entry_document, has_array};

//! Static indexes: somebody says in C# or JavaScript what becomes of documents.
//!
//! `definition` is what was said, `programs` its compiled form. A batch goes through `gather`
//! (which documents), `mapping` (what the maps give, with `host` answering them), `apply` and
//! `groups` (entries and results, with `references`, `errors` and `terms`), and `outputs` (results
//! as documents); `worker` leads it. Queries read through `view`.

mod apply;
mod beside;
mod definition;
mod entry;
mod errors;
mod gather;
mod groups;
mod host;
mod mapping;
mod naming;
mod outputs;
mod programs;
mod references;
mod terms;
mod trees;
mod vectors;
mod view;
mod worker;

pub use definition::{
    ALL_FIELDS, DefinitionError, FieldSettings, IndexState, Indexing, LockMode, Priority,
    REPLACEMENT_PREFIX, SourceType, StaticDefinition,
};
pub(crate) use entry::entry_document;
pub use errors::IndexingError;
pub(crate) use errors::{
    clear as clear_errors, count as error_count, load as load_errors, load_failure, store_failure,
};
pub(crate) use programs::Programs;
pub(crate) use trees::Meta;
pub(crate) use view::{StaticView, has_array};
pub(crate) use worker::StaticWorker;

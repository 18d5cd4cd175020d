//! Static indexes: compiling and running their maps and reduces.
//!
//! [`MapProgram`] and [`ReduceProgram`] are compiled texts, shared by all threads; an
//! [`IndexMachine`] of one thread runs them and asks its [`IndexHost`] for other documents. C#
//! queries become one native form of expressions (`linq`); JavaScript runs in a realm of its own
//! within limits (`javascript`). What is supported: docs/indexes.md.
//!
//! Entries are objects, one field of the index each. Beside plain values a field may be one of the
//! forms named in [`special`].

mod entry;
mod error;
mod host;
mod item;
mod javascript;
pub(crate) mod linq;
mod machine;
pub(crate) mod native;
mod program;

pub use entry::special;
pub use error::{CompileError, CompileFault, RunError};
pub use host::{ATTACHMENT_TEXT_BYTES_MAX, Attachment, EmptyDatabase, IndexHost, LoadedDocument};
pub use item::{IndexedCounter, IndexedDocument, IndexedSeries, IndexedSeriesEntry};
pub use machine::IndexMachine;
pub use program::{MapProgram, MapSource, ReduceProgram};

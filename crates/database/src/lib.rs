//! Documents, collections, change vectors, indexes and their workers.
//!
//! A [`DatabaseSet`] is the data directory of a server: it creates, finds and deletes databases by
//! name. A [`Database`] is one environment of documents. Changes are [`Command`]s carried out as
//! one transaction ([`Database::batch`]) or a stream of large batches ([`Importer`]); reading goes
//! through a [`Snapshot`], which never changes.
//!
//! Bytes: docs/format.md, section "Document store". Decision: docs/decisions/0008.
//!
//! The crate knows no protocol and no nodes; it owns the threads of its index workers.

#![forbid(unsafe_code)]

mod changes;
mod command;
mod database;
mod directory;
mod error;
mod hilo;
mod identity;
mod import;
mod indexes;
mod metadata;
mod names;
mod prepared;
mod query;
mod record;
mod set;
mod snapshot;
mod source;
mod store;
mod tombstone;
mod verify;

pub use changes::{Change, Counters, Listener};
pub use command::{Command, CommandResult};
pub use database::{Database, DatabaseOptions, DatabaseStatistics};
pub use error::{DatabaseError, OpenError, ReadError, SetError, WriteError};
pub use hilo::{HiloRange, HiloRequest};
pub use identity::DatabaseId;
pub use import::{ImportTotals, Importer};
pub use indexes::{IndexDefinition, IndexInfo};
pub use jackdaw_query::{
    BoxError, DocumentNumber, Etag, IndexField, Outcome, QueryError, RowBuffer, RowSink, Scope,
    StoredDocument,
};
pub use names::{COLLECTION_BYTES_MAX, DATABASE_NAME_BYTES_MAX, EMPTY_COLLECTION, ID_BYTES_MAX};
pub use prepared::Prepared;
pub use query::{QueryRequest, QueryResult};
pub use set::{DatabaseEntry, DatabaseSet};
pub use snapshot::{CollectionInfo, DocumentRow, PrefixQuery, Snapshot};
pub use tombstone::Tombstone;
pub use verify::DatabaseReport;

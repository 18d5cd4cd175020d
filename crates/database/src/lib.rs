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

mod administration;
mod adoption;
mod attachment;
mod backup;
mod backup_places;
mod chain;
mod changes;
mod command;
mod database;
mod directory;
mod due;
mod error;
mod exchange;
mod explain;
mod flags;
mod foresight;
mod hilo;
mod import;
mod indexes;
mod json_patch;
mod left;
mod marks;
mod metadata;
mod names;
mod patch;
mod prepared;
mod query;
mod record;
mod rest;
mod revisions;
mod series_policies;
mod set;
mod slot;
mod snapshot;
mod source;
mod store;
mod subscriptions;
mod tombstone;
mod verify;

pub use administration::{ErrorsByName, IndexKinds, Named, UnknownIndex};
pub use adoption::Inventory;
pub use attachment::{AttachmentContent, AttachmentInfo, AttachmentUpload, UploadName};
pub use backup::{BackupKind, SetBackupReport, SetProgress, restore_set};
pub use chain::Chain;
pub use changes::{
    BesideChange, Change, Counters, Describing, DocumentChange, IndexNews, Listener,
};
pub use command::{
    AttachmentChange, Command, CommandResult, CounterAction, CounterOperation, CounterValue,
    SeriesAppend, SeriesChange,
};
pub use database::{Database, DatabaseOptions, DatabaseStatistics};
pub use due::{DueKind, DueRule};
pub use error::{DatabaseError, OpenError, ReadError, SetError, Violation, WriteError};
pub use exchange::{ExchangeChange, ExchangeOutcome, ExchangeValue, GuardedDocument, guard_index};
pub use flags::Flags;
pub use foresight::{Foreseen, Foresight};
pub use hilo::{HiloRange, HiloRequest};
pub use import::{ImportTotals, Importer};
pub use indexes::{
    ALL_FIELDS, AnalyzerError, AutoDefinition, DefinitionError, FieldSettings, IndexDefinition,
    IndexInfo, IndexState, IndexStatus, IndexWork, Indexing, IndexingError, LockMode, Priority,
    PutIndexError, REPLACEMENT_PREFIX, SourceType, StaticDefinition, compile_analyzer,
};
pub use jackdaw_model::{DatabaseId, DocumentNumber, Etag, NodeTag, Origin, Scope};
pub use jackdaw_query::bound_memory as bound_query_memory;
pub use jackdaw_query::syntax::split_explain;
pub use jackdaw_query::{
    BoxError, FollowQuery, IndexField, Outcome, Period, ProjectionBehavior, QueryError, RowBuffer,
    RowSink, Sorters, StoredDocument,
};
pub use jackdaw_script::analyzer::AnalyzerError as ClassError;
pub use jackdaw_script::bound_memory as bound_script_memory;
pub use jackdaw_script::sorter::{Sorter, SorterError};
pub use jackdaw_storage::{
    BackupError, MeterReport, NamedSnapshot, SnapshotError, Statistics as StorageStatistics,
    StorageError,
};
pub use marks::UnknownDirectory;
pub use names::{COLLECTION_BYTES_MAX, DATABASE_NAME_BYTES_MAX, EMPTY_COLLECTION, ID_BYTES_MAX};
pub use patch::{
    Patch, PatchDebug, PatchOutcome, PatchScript, PatchStatus, PatchStored, PatchWork,
    ScriptContext,
};
pub use prepared::Prepared;
pub use query::{QueryRequest, QueryResult};
pub use rest::{NextWake, RestRules};
pub use revisions::{RevisionsConfiguration, RevisionsRule};
pub use series_policies::{SeriesPolicies, SeriesPolicy, SeriesRules};
pub use set::{BACKUPS_DIRECTORY, DatabaseEntry, DatabaseSet};
pub use slot::Wake;
pub use snapshot::{
    CollectionInfo, CollectionSizes, DocumentRow, Held, PrefixQuery, SeriesEntry, SeriesInfo,
    Snapshot,
};
pub use store::LeftOut;
pub use subscriptions::{
    ArchivedDocuments, BatchLimits, BatchRange, BatchRead, BatchSink, Progress, Subscription,
    SubscriptionDefinition, SubscriptionItem, SubscriptionStart, SubscriptionUpdate,
};
pub use tombstone::Tombstone;
pub use verify::DatabaseReport;

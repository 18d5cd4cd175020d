//! Errors of documents and databases, by what the caller has to do.
//!
//! Texts are sentences for users and operators; the server maps each variant to its external name.
//!
//! Invariants:
//! - An error of a batch means that nothing of the batch was written, except
//!   [`WriteError::Unknown`].

use jackdaw_storage::{OpenError as StorageOpenError, SnapshotError, StorageError};

use jackdaw_model::DocumentNumber;
use jackdaw_query::QueryError;

/// Why documents could not be read. Nothing was changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The storage engine refused or found damage.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A stored record contradicts its format or the other trees: restore it from a backup.
    #[error("{what} is damaged{}", numbered(*number))]
    Damaged {
        /// What is damaged.
        what: &'static str,
        /// The document, when it is about one.
        number: Option<DocumentNumber>,
    },
    /// There is no snapshot of that name, or it is being dropped.
    #[error("there is no snapshot {name:?}: list them, or take it first")]
    NoSnapshot {
        /// The name.
        name: String,
    },
}

fn numbered(number: Option<DocumentNumber>) -> String {
    let text = number.map(|number| format!(" (document number {})", number.0));
    text.unwrap_or_default()
}

impl ReadError {
    #[cold]
    pub(crate) fn damaged(what: &'static str) -> ReadError {
        ReadError::Damaged { what, number: None }
    }

    #[cold]
    pub(crate) fn damaged_document(what: &'static str, number: DocumentNumber) -> ReadError {
        let number = Some(number);
        ReadError::Damaged { what, number }
    }
}

/// Why a change was not made. Nothing of its batch was written, unless it says otherwise.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The document is not as the caller expected: load it again, then retry.
    #[error(
        "document '{id}' has {}, but {} was called with {}",
        vector(actual.as_deref()), if *delete { "delete" } else { "put" }, vector(Some(expected))
    )]
    Conflict {
        /// The id as the caller gave it.
        id: String,
        /// The change vector expected; empty when the document must not exist.
        expected: String,
        /// Its change vector; `None` when it does not exist.
        actual: Option<String>,
        /// Whether it was to be deleted.
        delete: bool,
    },
    /// The document to patch is not as the caller expected: load it again, then retry.
    #[error("document '{id}' could not be patched because it is not at the expected change vector")]
    PatchConflict {
        /// The id as the caller gave it.
        id: String,
        /// The change vector expected; empty when the document must not exist.
        expected: String,
        /// Its change vector; `None` when it does not exist.
        actual: Option<String>,
    },
    /// A snapshot cannot be taken or dropped.
    #[error(transparent)]
    Snapshot(SnapshotError),
    /// The script of a patch threw, or met a limit.
    #[error("{why}")]
    Script {
        /// The document it ran for.
        id: String,
        /// What happened, with the place.
        why: String,
    },
    /// The script of a patch is no JavaScript.
    #[error("Failed to parse: {why} in: {text}")]
    ScriptSyntax {
        /// The script.
        text: String,
        /// What is wrong, and where.
        why: String,
    },
    /// An operation of a JSON patch could not be carried out.
    #[error("the JSON patch of document '{id}' failed: {why}")]
    JsonPatch {
        /// The id as the caller gave it.
        id: String,
        /// What happened.
        why: String,
    },
    /// The document of a JSON patch is not there.
    #[error("Cannot apply json patch because the document {id} does not exist")]
    JsonPatchMissing {
        /// The id as the caller gave it.
        id: String,
    },
    /// Everything worked and was taken back, because it was a test.
    #[error("nothing was written: it was a test")]
    Test,
    /// A document cannot move to another collection: delete it and create it again.
    #[error("document '{id}' is in collection '{from}' and cannot move to '{to}'")]
    CollectionMismatch {
        /// The id.
        id: String,
        /// Its collection.
        from: String,
        /// The collection the caller gave.
        to: String,
    },
    /// The id cannot be one.
    #[error("the document id '{id}' cannot be used: {why}")]
    InvalidId {
        /// The id, cut when it is long.
        id: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// `@collection` is no text, or too long.
    #[error("the collection of document '{id}' cannot be used: {why}")]
    InvalidCollection {
        /// The id.
        id: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The body or the metadata of a document is not a JSON object.
    #[error("{what} of document '{id}' must be a JSON object")]
    NotAnObject {
        /// The id.
        id: String,
        /// Body or metadata.
        what: &'static str,
    },
    /// A date in the metadata is none.
    #[error(
        "'{field}' of document '{id}' is '{text}', which is no date: write it as \
             2030-01-31T12:00:00.0000000Z"
    )]
    InvalidDate {
        /// The id.
        id: String,
        /// The field of the metadata.
        field: &'static str,
        /// What it holds.
        text: String,
    },
    /// The date at which a value of compare-exchange is to expire is none.
    #[error(
        "'@expires' of the compare-exchange value '{key}' is {value}, which is no date: write it \
             as \"2030-01-31T12:00:00.0000000Z\""
    )]
    InvalidExpiry {
        /// The key.
        key: String,
        /// What it holds, as JSON.
        value: String,
    },
    /// Something that belongs to a document cannot change without it: store the document first.
    #[error("document '{id}' does not exist, so its {what} cannot be changed")]
    NoDocument {
        /// The id.
        id: String,
        /// What was to be changed.
        what: &'static str,
    },
    /// There is no attachment of that name to copy or move.
    #[error("document '{id}' has no attachment '{name}'")]
    NoAttachment {
        /// The document.
        id: String,
        /// The name.
        name: String,
    },
    /// A name of something beside a document is empty or too long.
    #[error("the {what} name '{name}' cannot be used: it must have 1 to {max_bytes} bytes")]
    InvalidName {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
        /// The limit.
        max_bytes: usize,
    },
    /// An entry of a time series, or the name of one, cannot be stored.
    #[error("the entry of a time series cannot be stored: {why}")]
    InvalidEntry {
        /// What is wrong with it.
        why: String,
    },
    /// The last number of an identity or a HiLo tag was taken; nothing was written.
    #[error("'{name}' has no number left: the last one was {}", i64::MAX)]
    NumbersUsedUp {
        /// The prefix or tag.
        name: String,
    },
    /// A counter would leave the range of 64 bits; it keeps its value.
    #[error("counter '{name}' of document '{id}' has {value} and cannot take {delta} more")]
    CounterOverflow {
        /// The document.
        id: String,
        /// The counter.
        name: String,
        /// Its value.
        value: i64,
        /// What was to be added.
        delta: i64,
    },
    /// Values of compare-exchange or documents changed since the caller read them: read them
    /// again, then retry.
    #[error("a cluster-wide transaction met {} that changed meanwhile", .0.len())]
    ClusterConflict(Vec<Violation>),
    /// The batch is larger than one transaction may be.
    #[error("a batch of {len_bytes} bytes is too large: the limit is {max_bytes} bytes")]
    TooLarge {
        /// Bytes of its documents.
        len_bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// The documents that the patches of a batch tell take more than they may. Nothing was written.
    #[error(
        "the documents that this batch returns take more than {max_bytes} bytes, so nothing was \
         written: let fewer of its patches return their document"
    )]
    ToldTooMuch {
        /// The limit.
        max_bytes: usize,
    },
    /// An earlier batch of the same import or operation failed.
    #[error("an earlier batch was not stored, so this one was not either")]
    EarlierBatch,
    /// There is no such subscription.
    #[error("there is no subscription with {0}")]
    NoSubscription(String),
    /// The name belongs to a subscription with another query: choose another, or update that one.
    #[error("a subscription named '{0}' exists already, with another query")]
    SubscriptionExists(String),
    /// The query of a subscription cannot be followed.
    #[error("{error}")]
    SubscriptionQuery {
        /// The query.
        text: String,
        /// What is wrong with it.
        error: std::sync::Arc<QueryError>,
    },
    /// Delete subscriptions that nobody uses first.
    #[error("a database can have {0} subscriptions, and this one has them")]
    TooManySubscriptions(u64),
    /// What is stored could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Nothing was written; retrying is correct once the cause is gone (a full disk, say).
    #[error("nothing was written: {0}")]
    NotCommitted(StorageError),
    /// Known after reopening; all or nothing.
    #[error("whether this was written is unknown until the database is reopened: {0}")]
    Unknown(StorageError),
    /// A mistake of the program was caught; nothing was written.
    #[error("a mistake in the program was caught and the change taken back: {0}")]
    Panicked(String),
}

/// What a cluster-wide transaction found otherwise than its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The key of compare-exchange, or the id of the document.
    pub id: String,
    /// Whether it is about a document.
    pub is_document: bool,
    /// Whether it was to be removed.
    pub delete: bool,
    /// The index the caller gave.
    pub expected: u64,
    /// The index it has; `None` when it is not there.
    pub actual: Option<u64>,
}

fn vector(vector: Option<&str>) -> String {
    match vector {
        None => "no change vector (it does not exist)".to_owned(),
        Some("") => "an empty change vector (it must not exist)".to_owned(),
        Some(text) => format!("change vector {text}"),
    }
}

impl WriteError {
    /// Of an operation whose answer never came.
    #[must_use]
    pub fn lost() -> WriteError {
        WriteError::Unknown(StorageError::Poisoned)
    }
}

impl From<jackdaw_storage::WriteError<SnapshotError>> for WriteError {
    fn from(error: jackdaw_storage::WriteError<SnapshotError>) -> WriteError {
        use jackdaw_storage::WriteError as Storage;
        match error {
            Storage::Operation(SnapshotError::Storage(error)) => error.into(),
            Storage::Operation(error) => WriteError::Snapshot(error),
            Storage::NotCommitted(error) => WriteError::NotCommitted(error),
            Storage::Unknown(error) => WriteError::Unknown(error),
            other => WriteError::Panicked(other.to_string()),
        }
    }
}

impl From<StorageError> for WriteError {
    fn from(error: StorageError) -> WriteError {
        WriteError::Read(ReadError::Storage(error))
    }
}

impl From<jackdaw_storage::WriteError<WriteError>> for WriteError {
    fn from(error: jackdaw_storage::WriteError<WriteError>) -> WriteError {
        use jackdaw_storage::WriteError as Storage;
        match error {
            Storage::Operation(error) => error,
            Storage::NotCommitted(error) => WriteError::NotCommitted(error),
            Storage::Unknown(error) => WriteError::Unknown(error),
            Storage::Panicked(text) => WriteError::Panicked(text),
            other => WriteError::Panicked(other.to_string()),
        }
    }
}

/// Why a database could not be opened. Nothing on disk was changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The environment could not be opened.
    #[error(transparent)]
    Environment(#[from] StorageOpenError),
    /// It holds documents of a later version of the product.
    #[error("the documents have format {found}, this version reads up to {supported}")]
    Version {
        /// Format found.
        found: u8,
        /// Latest format known here.
        supported: u8,
    },
    /// Its settings could not be read or written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// What is stored could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A restore into the data directory was interrupted.
    #[error(
        "a restore into {} was not completed: run it again, or delete the directory",
        .0.display()
    )]
    HalfRestored(std::path::PathBuf),
    /// The catalog names the database, and its documents are not there.
    #[error(
        "the documents of the database {name:?} are not in {}: mount its disk, or restore it from \
         a backup",
        path.display()
    )]
    DocumentsMissing {
        /// The database.
        name: String,
        /// Where its documents have to be.
        path: std::path::PathBuf,
    },
    /// The data directory has directories of databases, but no catalog.
    #[error(
        "{} has no catalog, which names its databases: put it back from a backup, or adopt each \
         of them with `jackdaw databases adopt`",
        .0.display()
    )]
    CatalogMissing(std::path::PathBuf),
    /// The directory of an index holds something else.
    #[error("{} holds something else than an index", .0.display())]
    NotAnIndex(std::path::PathBuf),
    /// A thread could not be started.
    #[error("{0}")]
    Thread(String),
    /// The machine refused.
    #[error("{what} of {} failed: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The file or directory.
        path: std::path::PathBuf,
        /// The system's answer.
        source: std::sync::Arc<std::io::Error>,
    },
}

impl OpenError {
    pub(crate) fn io(what: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        OpenError::Io {
            what,
            path: path.to_owned(),
            source: std::sync::Arc::new(source),
        }
    }
}

impl From<StorageError> for OpenError {
    fn from(error: StorageError) -> OpenError {
        OpenError::Read(ReadError::Storage(error))
    }
}

/// Why a set of databases did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// No unknown directory has this number.
    #[error("there is no directory databases/{0} that the catalog does not name")]
    NotUnknown(u64),
    /// A database of that name is there already, in some spelling.
    #[error("a database named '{0}' exists already")]
    Exists(String),
    /// There is no database of that name.
    #[error("there is no database named '{0}'")]
    Missing(String),
    /// The name cannot be one.
    #[error("the database name '{name}' cannot be used: {why}")]
    InvalidName {
        /// The name, cut when it is long.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The catalog could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Any error of this crate, for callers that only pass it on.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Reading.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Writing.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Opening.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Databases as a whole.
    #[error(transparent)]
    Set(#[from] SetError),
}

//! Changes as callers state them, and what became of each.

use jackdaw_base::time::UnixTicks;
use jackdaw_document::DocumentBuf;

use crate::attachment::{AttachmentContent, AttachmentInfo};
use crate::flags::Flags;
use crate::patch::{Patch, PatchOutcome};
use jackdaw_model::Etag;

/// One change of a batch.
///
/// `expected` makes it conditional: `None` takes the document as it is, the empty text demands
/// that there is none, anything else that its change vector is that text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Command {
    /// Stores a document, in the place of the one with the same id if there is one.
    Put {
        /// Its id in any letter case; kept as given. `prefix/` and `prefix|` get a number of the
        /// database behind them, `None` a random id.
        id: Option<String>,
        /// The document without `@metadata`: an object.
        body: DocumentBuf,
        /// Its `@metadata`. What the database itself keeps (`@id`, `@change-vector`, ..) is left
        /// out; `@collection` says where the document belongs.
        metadata: Option<DocumentBuf>,
        /// See [`Command`].
        expected: Option<String>,
        /// Keeps what is there now as a revision first, whatever the configuration says.
        keeps_revision: bool,
    },
    /// Removes a document; one that is not there is no failure unless something was expected.
    Delete {
        /// Its id in any letter case.
        id: String,
        /// See [`Command`].
        expected: Option<String>,
    },
    /// Changes a document by a script or by operations.
    Patch(Box<Patch>),
    /// Changes an attachment.
    Attachment {
        /// The document's id in any letter case.
        id: String,
        /// Name of the attachment in any letter case, up to 512 bytes.
        name: String,
        /// See [`Command`]; the change vector is that of the attachment.
        expected: Option<String>,
        /// What to do.
        change: AttachmentChange,
    },
    /// Changes a time series of a document, which must exist.
    Series {
        /// The document's id in any letter case.
        id: String,
        /// Name of the series in any letter case, up to 512 bytes.
        name: String,
        /// What to do.
        change: SeriesChange,
    },
    /// Copies entries of a time series into another.
    SeriesCopy {
        /// The document that has the series.
        id: String,
        /// Name of the series.
        name: String,
        /// The document that gets the entries.
        destination_id: String,
        /// Name of the series that gets them.
        destination_name: String,
        /// Time of the first, in milliseconds since 1970.
        from: Option<i64>,
        /// Time of the last.
        to: Option<i64>,
    },
    /// Keeps the present state of a document as a revision, unless it is kept already.
    ForceRevision {
        /// The document's id in any letter case.
        id: String,
    },
    /// Changes or reads counters of a document, which must exist unless they are only read.
    Counters {
        /// The document's id in any letter case.
        id: String,
        /// What to do, in this order.
        operations: Vec<CounterOperation>,
    },
    /// Stores a value of compare-exchange if it has not changed since.
    CompareExchangePut {
        /// Its key in any letter case.
        key: String,
        /// The index of the value as the caller knows it; 0 when there must be none.
        index: u64,
        /// An object, most often `{Object}` or `{Object, @metadata}`.
        value: DocumentBuf,
    },
    /// Removes a value of compare-exchange if it has not changed since.
    CompareExchangeDelete {
        /// Its key in any letter case.
        key: String,
        /// The index of the value as the caller knows it.
        index: u64,
    },
}

/// See [`Command::Attachment`].
#[derive(Clone, Debug)]
pub enum AttachmentChange {
    /// Stores it, in the place of the one with that name; the document must exist.
    Put {
        /// What it is, as a media type; may be empty.
        content_type: String,
        /// Its content.
        content: AttachmentContent,
    },
    /// Removes it; one that is not there is no failure.
    Delete,
    /// Attaches its content to a document under a name.
    Copy {
        /// The document that gets it.
        destination_id: String,
        /// Its name there.
        destination_name: String,
        /// Whether it leaves the document that has it.
        moves: bool,
    },
}

/// Changes of a time series: deletes first, then appends, then increments. Times are milliseconds
/// since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesChange {
    /// Entries to store, in the place of those with the same time.
    pub appends: Vec<SeriesAppend>,
    /// Ranges to delete, both ends included; `None` is unbounded.
    pub deletes: Vec<(Option<i64>, Option<i64>)>,
    /// Times and values to add to those that are there.
    pub increments: Vec<(i64, Vec<f64>)>,
}

/// An entry to store.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesAppend {
    /// Its time in milliseconds since 1970.
    pub at: i64,
    /// One to 32 values, none of them NaN.
    pub values: Vec<f64>,
    /// Up to 255 bytes beside it.
    pub tag: Option<String>,
}

/// One step of [`Command::Counters`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterOperation {
    /// Name of the counter in any letter case, up to 512 bytes.
    pub name: String,
    /// What to do with it.
    pub action: CounterAction,
}

/// See [`CounterOperation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterAction {
    /// Adds to it, making it when it is missing.
    Increment(i64),
    /// Gives it this value.
    Put(i64),
    /// Removes it; one that is not there is no failure.
    Delete,
    /// Reads it.
    Get,
}

/// A counter's name as it was asked for, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterValue {
    /// The name.
    pub name: String,
    /// The value.
    pub value: i64,
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandResult {
    /// A document was stored.
    Put {
        /// Its id, completed if it was to be.
        id: String,
        /// Its etag.
        etag: Etag,
        /// Its change vector.
        change_vector: String,
        /// Its collection.
        collection: String,
        /// When it was stored.
        last_modified: UnixTicks,
        /// What it has beside its body.
        flags: Flags,
    },
    /// A document was removed, or was not there.
    Delete {
        /// The id as given.
        id: String,
        /// Whether there was one.
        deleted: bool,
    },
    /// A document was patched, or not.
    Patch(Box<PatchOutcome>),
    /// An attachment was changed.
    Attachment {
        /// The name of the command on the wire.
        command: &'static str,
        /// The document's id as given.
        id: String,
        /// The attachment's name as given.
        name: String,
        /// The attachment that was stored; `None` for a removal.
        attachment: Option<AttachmentInfo>,
        /// Id and name it was moved to.
        destination: Option<(String, String)>,
        /// The document's change vector, when the batch gave it another.
        document_change_vector: Option<String>,
    },
    /// A time series was changed.
    Series {
        /// The document's id as given.
        id: String,
        /// The change vector of the document when it changed, of the series otherwise.
        change_vector: String,
    },
    /// The present state of a document is kept.
    ForceRevision {
        /// The document's id.
        id: String,
        /// Whether it was not kept before.
        created: bool,
        /// The document's change vector.
        change_vector: String,
        /// When the document was changed last.
        last_modified: UnixTicks,
        /// The document's flags.
        flags: Flags,
    },
    /// Counters were changed or read.
    Counters {
        /// The document's id as given.
        id: String,
        /// One for each `Increment` and `Get`; `None` for a counter that is not there.
        counters: Vec<Option<CounterValue>>,
        /// The change vector of the last change of a counter; empty when none changed.
        change_vector: String,
        /// The document's, when the batch gave it another.
        document_change_vector: Option<String>,
    },
    /// A value of compare-exchange was stored or removed.
    CompareExchange {
        /// The key as given.
        key: String,
        /// The index of the transaction.
        index: u64,
        /// Whether it was removed.
        deleted: bool,
    },
}

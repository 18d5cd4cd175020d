//! Changes as callers state them, and what became of each.

use jackdaw_base::time::UnixTicks;
use jackdaw_document::DocumentBuf;

use jackdaw_query::Etag;

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
    },
    /// Removes a document; one that is not there is no failure unless something was expected.
    Delete {
        /// Its id in any letter case.
        id: String,
        /// See [`Command`].
        expected: Option<String>,
    },
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
    },
    /// A document was removed, or was not there.
    Delete {
        /// The id as given.
        id: String,
        /// Whether there was one.
        deleted: bool,
    },
}

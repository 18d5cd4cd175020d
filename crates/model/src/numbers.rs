//! Numbers of documents and of changes.

/// Number of a document: dense, ever growing; the same as its entry in an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentNumber(pub u64);

/// Position of a change in the history of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Etag(pub u64);

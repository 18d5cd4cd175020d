//! Errors of the inverted index: what the caller did, what storage said, what is damaged.
//!
//! Raised by every module of the crate; shown to operators as sentences.
//!
//! Invariants:
//! - Damage is a value, never a panic on bytes read from disk. An index can always be rebuilt from
//!   its documents, which is the answer to [`IndexError::Damaged`].
//!
//! Threads: plain data.

use jackdaw_storage::StorageError;

use crate::posting::Malformed;

/// Why an operation on an index failed. Within a write transaction: roll it back.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The storage engine refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Stored bytes contradict the format or each other: rebuild the index.
    #[error("the index is damaged: {0}")]
    Damaged(Box<IndexDamage>),
    /// The index was written by another version of the product. Nothing was changed: rebuild it.
    #[error("the index has format {found}, this version reads format {supported}")]
    Version {
        /// Format found.
        found: u16,
        /// The format known here.
        supported: u16,
    },
    /// A field was declared with another analyzer than the index stores it with.
    #[error("field {name:?} is already indexed with another analyzer")]
    AnalyzerDiffers {
        /// The field.
        name: String,
    },
    /// The index has as many fields as it can have.
    #[error("an index has at most {max} fields")]
    TooManyFields {
        /// The limit.
        max: usize,
    },
    /// A field's name is too long to store.
    #[error("a field name of {len_bytes} bytes is too long: the limit is {max_bytes} bytes")]
    FieldNameTooLong {
        /// Its length.
        len_bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// An entry number is above [`EntryId::MAX`](crate::EntryId::MAX).
    #[error("entry number {entry} is out of range")]
    EntryOutOfRange {
        /// The number.
        entry: u64,
    },
    /// The keys of a batch take more than 4 GiB. Nothing was changed by that entry.
    #[error("a batch is too large: its keys must stay below 4 GiB")]
    BatchTooLarge,
    /// A vector to be searched for has other dimensions than those of the field, or is kept in
    /// another way.
    #[error(
        "field {field:?} has vectors of {expected} dimensions, but the vector searched for has \
         {given}"
    )]
    Dimensions {
        /// The field.
        field: String,
        /// Dimensions of its vectors.
        expected: u16,
        /// Dimensions of the vector.
        given: u16,
    },
    /// A field has had as many vectors as it can have: rebuild the index.
    #[error("a field has had {max} vectors, which is as many as it can have: rebuild the index")]
    TooManyVectors {
        /// The limit.
        max: u64,
    },
    /// A walk over terms met more of them than its budget allows. There is no partial answer.
    #[error("the query has looked at {visited} terms, which is all its budget allows")]
    WalkLimit {
        /// Terms visited.
        visited: u64,
    },
    /// The caller's interrupt flag was raised.
    #[error("the query was interrupted")]
    Interrupted,
}

/// One contradiction in the stored index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tree {tree:?}, key {}: {what}", key.escape_ascii())]
pub struct IndexDamage {
    /// The tree it is in.
    pub tree: &'static str,
    /// Key of the value concerned; empty when it is about the tree as a whole.
    pub key: Box<[u8]>,
    /// The rule that is broken.
    pub what: &'static str,
}

impl IndexDamage {
    #[cold]
    pub(crate) fn new(tree: &'static str, key: &[u8], what: &'static str) -> IndexDamage {
        IndexDamage {
            tree,
            key: key.into(),
            what,
        }
    }
}

impl From<IndexDamage> for IndexError {
    #[cold]
    fn from(damage: IndexDamage) -> IndexError {
        IndexError::Damaged(Box::new(damage))
    }
}

/// Says where malformed bytes lie.
pub(crate) trait At<T> {
    fn at(self, tree: &'static str, key: &[u8]) -> Result<T, IndexError>;
}

impl<T> At<T> for Result<T, Malformed> {
    #[inline]
    fn at(self, tree: &'static str, key: &[u8]) -> Result<T, IndexError> {
        self.map_err(|Malformed(what)| IndexDamage::new(tree, key, what).into())
    }
}

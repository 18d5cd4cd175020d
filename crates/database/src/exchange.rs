//! Compare-exchange: values by key that change only for a caller who knows their last index.
//!
//! Indexes are those of transactions: each that changes such values takes the next one. On one
//! node this gives what a cluster's consensus gives: one order of all changes.

use jackdaw_document::DocumentBuf;

use jackdaw_model::split_transaction;

/// A value and the index of its last change.
#[derive(Clone, Debug)]
pub struct ExchangeValue {
    /// Its key in the spelling of its last change.
    pub key: String,
    /// Index of its last change.
    pub index: u64,
    /// The value.
    pub value: DocumentBuf,
}

/// A single change; `index` is that of the value as the caller knows it, 0 for none.
#[derive(Clone, Debug)]
pub enum ExchangeChange {
    /// Store this value.
    Put(DocumentBuf),
    /// Remove the value.
    Delete,
}

/// What became of a single change.
#[derive(Clone, Debug)]
pub struct ExchangeOutcome {
    /// The new index; when the change was not made, that of the present value, or 0.
    pub index: u64,
    /// The value stored or removed, or the present one when the change was not made.
    pub value: Option<DocumentBuf>,
    /// Whether the change was made.
    pub successful: bool,
}

/// A document of a cluster-wide transaction, and what its caller knows of the transaction that
/// changed it last.
#[derive(Clone, Debug)]
pub struct GuardedDocument {
    /// Its id.
    pub id: String,
    /// The index from its change vector; see [`guard_index`].
    pub index: Option<u64>,
    /// Whether the transaction removes it.
    pub delete: bool,
}

/// The index of the cluster-wide transaction that a change vector names.
#[must_use]
pub fn guard_index(change_vector: &str) -> Option<u64> {
    split_transaction(change_vector).1
}

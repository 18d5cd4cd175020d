//! The number of an entry: what posting lists and sets hold.
//!
//! Called by everything in the crate and above it. One entry is one document as the index sees
//! it; the layer above gives the numbers, dense and ever growing, and never uses one twice.
//!
//! Threads: plain data.

use jackdaw_model::DocumentNumber;

/// Number of an entry, at most [`EntryId::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u64);

impl EntryId {
    /// Greatest usable number: eight bits stay free, so that sums of deltas read from damaged
    /// bytes cannot overflow.
    pub const MAX: EntryId = EntryId(u64::MAX >> 8);
}

/// Entries of documents have their numbers.
impl From<DocumentNumber> for EntryId {
    fn from(number: DocumentNumber) -> EntryId {
        EntryId(number.0)
    }
}

impl From<EntryId> for DocumentNumber {
    fn from(entry: EntryId) -> DocumentNumber {
        DocumentNumber(entry.0)
    }
}

impl std::fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

//! Root and length of the last few thousand committed states, for readers without a lock.
//!
//! A ring of atomics: the writer fills the entry of transaction `n` before `n` becomes visible; a
//! reader copies it and then checks that it was not overwritten meanwhile (a sequence lock).

use jackdaw_base::sync::{AtomicU64, Ordering};
use jackdaw_base::width::to_usize;

use crate::tree::{TREE_ROOT_BYTES, TreeRoot};

/// Entries. A reader would have to sleep through that many commits between two instructions to
/// have to try again.
const RING_LEN: usize = 1024;
const ROOT_WORDS: usize = TREE_ROOT_BYTES / 8;

struct Entry {
    /// Transaction plus one; 0 while the entry is being filled.
    transaction_plus_one: AtomicU64,
    page_count: AtomicU64,
    root: [AtomicU64; ROOT_WORDS],
}

/// A committed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommittedState {
    pub(crate) catalog_root: TreeRoot,
    pub(crate) page_count: u64,
}

/// See the file head.
pub(crate) struct CommittedStates {
    entries: Box<[Entry]>,
}

impl CommittedStates {
    pub(crate) fn new() -> CommittedStates {
        let entries = (0..RING_LEN)
            .map(|_| Entry {
                transaction_plus_one: AtomicU64::new(0),
                page_count: AtomicU64::new(0),
                root: std::array::from_fn(|_| AtomicU64::new(0)),
            })
            .collect();
        CommittedStates { entries }
    }

    /// Notes the state of `transaction`; one thread at a time.
    pub(crate) fn write(&self, transaction: u64, state: &CommittedState) {
        let entry = &self.entries[to_usize(transaction) % RING_LEN];
        entry.transaction_plus_one.store(0, Ordering::SeqCst);
        entry.page_count.store(state.page_count, Ordering::SeqCst);
        let bytes = state.catalog_root.encode();
        for (word, bytes) in entry.root.iter().zip(bytes.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::SeqCst);
        }
        entry
            .transaction_plus_one
            .store(transaction + 1, Ordering::SeqCst);
    }

    /// The state of `transaction`; `None` when it was overwritten.
    pub(crate) fn read(&self, transaction: u64) -> Option<CommittedState> {
        let entry = &self.entries[to_usize(transaction) % RING_LEN];
        if entry.transaction_plus_one.load(Ordering::SeqCst) != transaction + 1 {
            return None;
        }
        let page_count = entry.page_count.load(Ordering::SeqCst);
        let mut bytes = [0; TREE_ROOT_BYTES];
        for (word, bytes) in entry.root.iter().zip(bytes.as_chunks_mut::<8>().0) {
            *bytes = word.load(Ordering::SeqCst).to_le_bytes();
        }
        if entry.transaction_plus_one.load(Ordering::SeqCst) != transaction + 1 {
            return None;
        }
        let catalog_root = TreeRoot::decode(&bytes).expect("written by `write` from a root");
        Some(CommittedState {
            catalog_root,
            page_count,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn overwritten_states_are_not_mistaken_for_new_ones() {
        let states = CommittedStates::new();
        let state = |page_count| CommittedState {
            catalog_root: TreeRoot::empty(),
            page_count,
        };
        states.write(5, &state(7));
        assert_eq!(states.read(5), Some(state(7)));
        assert_eq!(states.read(4), None);
        states.write(5 + RING_LEN as u64, &state(8));
        assert_eq!(states.read(5), None);
    }
}

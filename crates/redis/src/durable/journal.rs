//! Writing changes in groups, and knowing which are durable.
//!
//! Commands add their changes under the lock of their shard. At the end of its round, an event loop
//! writes everything that was added, on its own thread while storage has nothing else to do: what a
//! wake-up of another thread takes is as long as a durable write to a good disk, and no reply could
//! leave meanwhile. Changes that come while another loop writes are left to it, or to the next one
//! that it wakes. Each group has a number, and replies wait until the groups that were open when
//! they were made are durable.
//!
//! Invariants:
//! - Groups reach the writer in the order of their numbers, and a change is in the group that was
//!   open when its command ran.
//! - No reply leaves before everything its command could have seen is durable.
//! - After a failure nothing is acknowledged, and writes are refused until the server restarts.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackdaw_storage::{Environment, StorageError, WriteError, WriteTransaction};

use super::Change;
use crate::net::Inbox;

/// A group with more bytes than this is left to the threads of storage: the loop goes on meanwhile.
const WRITTEN_HERE_BYTES_MAX: usize = 1 << 20;

#[derive(Default)]
struct Open {
    changes: Vec<Change>,
    /// Number of the group that is open.
    number: u64,
    /// A loop is handing the group before to storage.
    has_writer: bool,
    /// Loops that have left their changes here because of it, a bit each.
    left_by: u64,
}

/// What the callbacks of storage tell.
#[derive(Default)]
struct Progress {
    durable: AtomicU64,
    is_failed: AtomicBool,
    inboxes: Mutex<Vec<Arc<Inbox>>>,
}

/// See the file head.
pub(crate) struct Journal {
    environment: Environment,
    open: Mutex<Open>,
    /// Number of the last group that has a change in it.
    last: AtomicU64,
    progress: Arc<Progress>,
}

impl Journal {
    pub(crate) fn new(environment: Environment) -> Journal {
        let open = Open {
            number: 1,
            ..Open::default()
        };
        Journal {
            environment,
            open: Mutex::new(open),
            last: AtomicU64::new(0),
            progress: Arc::default(),
        }
    }

    /// Whom to wake when groups become durable.
    pub(crate) fn set_inboxes(&self, inboxes: Vec<Arc<Inbox>>) {
        *self.progress.lock() = inboxes;
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.progress.is_failed.load(Ordering::SeqCst)
    }

    /// Adds what `add` gives to the open group.
    pub(crate) fn record(&self, add: impl FnOnce(&mut Vec<Change>)) {
        let mut open = self.lock_open();
        let before = open.changes.len();
        add(&mut open.changes);
        if open.changes.len() > before {
            self.last.store(open.number, Ordering::Release);
        }
    }

    /// The group that has to be durable before replies to commands run so far may leave; `None`
    /// when all is.
    pub(crate) fn gate(&self) -> Option<u64> {
        let last = self.last.load(Ordering::Acquire);
        (last > self.durable()).then_some(last)
    }

    /// The last group that is durable.
    pub(crate) fn durable(&self) -> u64 {
        self.progress.durable.load(Ordering::SeqCst)
    }

    /// Hands the open group to storage, if there is anything in it and no other loop is at it. Who
    /// is, wakes this one (`of_loop` is its number) afterwards.
    pub(crate) fn submit(&self, of_loop: usize) {
        let mut open = self.lock_open();
        if open.changes.is_empty() {
            return;
        }
        if open.has_writer {
            open.left_by |= 1 << of_loop;
            return;
        }
        // There is one at a time, so groups reach storage in the order of their numbers.
        open.has_writer = true;
        let changes = std::mem::take(&mut open.changes);
        let number = open.number;
        open.number += 1;
        drop(open);
        self.write(changes, number);
        let mut open = self.lock_open();
        open.has_writer = false;
        let left_by = std::mem::take(&mut open.left_by);
        drop(open);
        if left_by != 0 {
            let inboxes = self.progress.lock();
            let waiting = inboxes.iter().enumerate();
            let waiting = waiting.filter(|(number, _)| left_by & (1 << number) != 0);
            waiting.for_each(|(_, inbox)| inbox.wake());
        }
    }

    fn write(&self, changes: Vec<Change>, number: u64) {
        let len_bytes: usize = changes.iter().map(Change::len_bytes).sum();
        let progress = Arc::clone(&self.progress);
        let run = move |transaction: &mut WriteTransaction| apply(transaction, &changes);
        let done = move |result: Result<(), WriteError<StorageError>>| match result {
            Ok(()) => progress.advance(number),
            Err(error) => progress.fail(&error.to_string()),
        };
        if len_bytes <= WRITTEN_HERE_BYTES_MAX {
            self.environment.write_then(run, done);
        } else {
            self.environment.submit_then(run, done);
        }
    }

    fn lock_open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Inbox>>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advance(&self, number: u64) {
        // Groups after a failure may commit; they build on what was lost and are not told.
        if self.is_failed.load(Ordering::Relaxed) {
            return;
        }
        self.durable.fetch_max(number, Ordering::SeqCst);
        self.wake();
    }

    fn fail(&self, error: &str) {
        if !self.is_failed.swap(true, Ordering::SeqCst) {
            tracing::error!(
                error,
                "a write to storage failed: Redis writes are refused from now on"
            );
        }
        self.wake();
    }

    fn wake(&self) {
        let inboxes = self.lock();
        let waiting = inboxes.iter().filter(|inbox| inbox.takes_news());
        waiting.for_each(|inbox| inbox.wake());
    }
}

fn apply(transaction: &mut WriteTransaction, changes: &[Change]) -> Result<(), StorageError> {
    for change in changes {
        match change {
            Change::Put { tree, key, value } => {
                transaction.tree_mut(tree)?.put(key, value)?;
            }
            Change::Delete { tree, key } => {
                transaction.tree_mut(tree)?.delete(key)?;
            }
            Change::DeletePrefix { tree, prefix } => {
                let end = end_of(prefix);
                let low = Bound::Included(prefix.as_slice());
                let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                transaction.tree_mut(tree)?.delete_range((low, high))?;
            }
        }
    }
    Ok(())
}

/// The first key behind all that begin with a prefix.
fn end_of(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_key() {
        assert_eq!(end_of(&[0, 1]), Some(vec![0, 2]));
        assert_eq!(end_of(&[0, 255, 255]), Some(vec![1]));
        assert_eq!(end_of(&[255]), None);
    }
}

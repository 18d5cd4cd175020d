//! Groups of recent queries, in memory.
//!
//! The first query of a kind reads every document; later ones take in what changed since. Kept as
//! long as memory lasts, the least recently used given up first.
//!
//! Invariants:
//! - Kept groups are those of one moment. They are brought up to date by one query at a time; one
//!   that fails meanwhile drops them.
//! - Nothing is kept that is older than what the database remembers of deletions.
//!
//! Threads: shared by all queries of a database.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::grouping::{Grouping, Rows};
use super::tally::Tally;
use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::source::Source;
use jackdaw_model::{Etag, Scope};

/// Most kinds of groups that are kept.
const SLOTS_MAX: usize = 64;
/// How often a query that waits for another looks at its interrupt flag.
const CHECK_EVERY: Duration = Duration::from_millis(5);

/// The groups that a source may use, and its moment.
#[derive(Clone, Copy, Debug)]
pub struct GroupsAccess<'a> {
    /// The groups of the database.
    pub kept: &'a KeptGroups,
    /// The last change that the source has.
    pub up_to: Etag,
}

/// See the file head.
pub struct KeptGroups {
    bytes_max: usize,
    /// Deletions up to here are not remembered.
    forgotten: AtomicU64,
    /// The most recently used first.
    slots: Mutex<Vec<Arc<Slot>>>,
}

impl fmt::Debug for KeptGroups {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeptGroups")
            .field("bytes_max", &self.bytes_max)
            .field("len_bytes", &self.len_bytes())
            .finish_non_exhaustive()
    }
}

impl KeptGroups {
    /// None yet; all together at most about `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: usize) -> KeptGroups {
        KeptGroups {
            bytes_max,
            forgotten: AtomicU64::new(0),
            slots: Mutex::default(),
        }
    }

    /// Says that deletions up to `etag` will not be told any more. Before snapshots are made that
    /// do not tell them.
    pub fn forget_deletions(&self, etag: Etag) {
        self.forgotten.fetch_max(etag.0, Ordering::SeqCst);
    }

    pub(super) fn forgotten_up_to(&self) -> Etag {
        Etag(self.forgotten.load(Ordering::SeqCst))
    }

    /// Bytes of memory they take, about.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        let slots = self.slots();
        let bytes = slots.iter().map(|slot| slot.bytes.load(Ordering::Relaxed));
        bytes.sum()
    }

    /// The place of groups of this kind.
    pub(super) fn slot(&self, scope: &Scope, grouping: &Grouping) -> Arc<Slot> {
        let mut slots = self.slots();
        let found = slots.iter().position(|slot| slot.is_of(scope, grouping));
        let slot = match found {
            Some(at) => slots.remove(at),
            None => Arc::new(Slot {
                scope: scope.clone(),
                grouping: grouping.clone(),
                bytes_max: self.bytes_max,
                bytes: AtomicUsize::new(0),
                too_many: AtomicU64::new(u64::MAX),
                state: Mutex::new(State::Free(None)),
                free: Condvar::new(),
            }),
        };
        slots.insert(0, Arc::clone(&slot));
        let kept_count = slots.len().min(SLOTS_MAX);
        let given_up = slots.split_off(kept_count);
        free_beside(slots, given_up);
        slot
    }

    /// Gives up what exceeds the memory.
    pub(super) fn trim(&self) {
        let mut given_up = Vec::new();
        let mut slots = self.slots();
        let mut len_bytes = 0;
        for slot in std::mem::take(&mut *slots) {
            let of_slot = slot.bytes.load(Ordering::Relaxed);
            if len_bytes + of_slot <= self.bytes_max {
                len_bytes += of_slot;
                slots.push(slot);
            } else {
                given_up.push(slot);
            }
        }
        free_beside(slots, given_up);
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frees what was given up when others can go on: it may be many small pieces.
fn free_beside(slots: MutexGuard<'_, Vec<Arc<Slot>>>, given_up: Vec<Arc<Slot>>) {
    drop(slots);
    drop(given_up);
}

struct Kept {
    tally: Tally,
    up_to: Etag,
}

enum State {
    Free(Option<Box<Kept>>),
    /// A query works on it.
    Leased,
}

/// The place of groups of one kind.
pub(super) struct Slot {
    scope: Scope,
    grouping: Grouping,
    bytes_max: usize,
    bytes: AtomicUsize,
    /// So many documents were too many to be kept.
    too_many: AtomicU64,
    state: Mutex<State>,
    free: Condvar,
}

impl Slot {
    fn is_of(&self, scope: &Scope, grouping: &Grouping) -> bool {
        self.scope == *scope && self.grouping == *grouping
    }

    /// Whether the groups of so many documents would not be kept: nobody has to wait for another
    /// to make them.
    pub(super) fn has_no_place_for(&self, document_count: u64) -> bool {
        document_count >= self.too_many.load(Ordering::Relaxed)
    }

    /// Waits until no other query works on it.
    pub(super) fn lease(&self, options: &ExecuteOptions<'_>) -> Result<Lease<'_>, QueryError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match std::mem::replace(&mut *state, State::Leased) {
                State::Free(kept) => return Ok(Lease { slot: self, kept }),
                State::Leased => {
                    options.check()?;
                    let waited = self.free.wait_timeout(state, CHECK_EVERY);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

/// The groups of one kind, for one query.
pub(super) struct Lease<'s> {
    slot: &'s Slot,
    kept: Option<Box<Kept>>,
}

impl Lease<'_> {
    /// What is kept, when it is of this moment, or may be of a later one and is.
    pub(super) fn rows_at(&self, up_to: Etag, is_exactly: bool) -> Option<Rows> {
        let kept = self.kept.as_ref()?;
        let fits = kept.up_to == up_to || (kept.up_to > up_to && !is_exactly);
        kept.tally.made_rows().filter(|_| fits)
    }

    pub(super) fn is_newer_than(&self, up_to: Etag) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.up_to > up_to)
    }

    /// The moment of what is kept and can be brought up to date: 0 when nothing is.
    pub(super) fn up_to(&mut self, forgotten: Etag) -> Etag {
        self.kept = self.kept.take().filter(|kept| kept.up_to >= forgotten);
        self.kept.as_ref().map_or(Etag(0), |kept| kept.up_to)
    }

    /// Brings it to the moment of `source`, which is `up_to`, and keeps it if there is memory for
    /// it.
    pub(super) fn update<S: Source>(
        &mut self,
        grouping: &Grouping,
        scope: &Scope,
        source: &S,
        up_to: Etag,
        options: &ExecuteOptions<'_>,
    ) -> Result<Rows, QueryError> {
        let (mut tally, after) = match self.kept.take() {
            Some(kept) => (kept.tally, kept.up_to),
            None => (Tally::new(grouping, self.slot.bytes_max), Etag(0)),
        };
        if !tally.update(grouping, scope, source, after, options)? {
            tally = Tally::new(grouping, 0);
            tally.update(grouping, scope, source, Etag(0), options)?;
        }
        let rows = tally.rows(grouping)?;
        if tally.notes_parts() && tally.len_bytes() <= self.slot.bytes_max {
            self.kept = Some(Box::new(Kept { tally, up_to }));
        } else {
            let document_count = source.count(scope).map_err(QueryError::Source)?;
            self.slot.too_many.store(document_count, Ordering::Relaxed);
        }
        Ok(rows)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let kept = self.kept.take();
        let len_bytes = kept.as_ref().map_or(0, |kept| kept.tally.len_bytes());
        self.slot.bytes.store(len_bytes, Ordering::Relaxed);
        let mut state = self
            .slot
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *state = State::Free(kept);
        drop(state);
        self.slot.free.notify_one();
    }
}

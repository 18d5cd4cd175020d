//! The place of one database in a set: closed, being opened or closed, open, or deleted.
//!
//! Used by `set` and `rest`. Invariants:
//! - One thread at a time opens or closes a database, or works on its files while it is closed.
//!   Others wait for that in [`Slot::get`] alone: the lock is never held for longer than a look.
//! - New handles come from the slot only, so a database of which the slot has the one handle is
//!   used by nobody.
//!
//! Threads: any.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use jackdaw_base::time::UnixTicks;

use crate::database::Database;

/// When a closed database has to be opened, although no request asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Its record has to say: it was not open since the set was opened, or the record was changed.
    Unknown,
    /// At this time.
    At(UnixTicks),
    /// Not before a request.
    Never,
}

/// See the file head.
pub(crate) struct Slot {
    state: Mutex<State>,
    /// Notified when a turn ends.
    changed: Condvar,
    /// Last use by a request, in nanoseconds of the monotonic clock; 0 for none.
    used_nanos: AtomicU64,
    wake: Mutex<Wake>,
}

enum State {
    Closed,
    /// Somebody has the turn.
    Busy,
    Open(Arc<Database>),
    Deleted,
}

/// What became of waiting for a slot.
pub(crate) enum Found<'s> {
    Open(Arc<Database>),
    Deleted,
    /// It is closed, and stays so for others until the turn ends.
    Closed(Turn<'s>),
}

/// The right to open a closed database. Dropping it leaves the database closed.
pub(crate) struct Turn<'s> {
    slot: &'s Slot,
    next: State,
}

impl Turn<'_> {
    /// Ends the turn with the database open.
    pub(crate) fn open(mut self, database: Arc<Database>) {
        self.next = State::Open(database);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.slot.lock() = std::mem::replace(&mut self.next, State::Closed);
        self.slot.changed.notify_all();
    }
}

impl Slot {
    pub(crate) fn new(database: Option<Arc<Database>>) -> Slot {
        Slot {
            state: Mutex::new(database.map_or(State::Closed, State::Open)),
            changed: Condvar::new(),
            used_nanos: AtomicU64::new(0),
            wake: Mutex::new(Wake::Unknown),
        }
    }

    /// Notes a use at this moment.
    pub(crate) fn touch(&self, now_nanos: u64) {
        self.used_nanos.fetch_max(now_nanos, Ordering::Relaxed);
    }

    pub(crate) fn used_nanos(&self) -> u64 {
        self.used_nanos.load(Ordering::Relaxed)
    }

    pub(crate) fn wake(&self) -> Wake {
        *self.wake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_wake(&self, wake: Wake) {
        *self.wake.lock().unwrap_or_else(PoisonError::into_inner) = wake;
    }

    /// The database if it is open.
    pub(crate) fn peek(&self) -> Option<Arc<Database>> {
        match &*self.lock() {
            State::Open(database) => Some(Arc::clone(database)),
            State::Closed | State::Busy | State::Deleted => None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(&*self.lock(), State::Open(_))
    }

    /// The database, or the turn to open it. Waits while another thread has the turn.
    pub(crate) fn get(&self) -> Found<'_> {
        let mut state = self.wait();
        match &*state {
            State::Open(database) => Found::Open(Arc::clone(database)),
            State::Deleted => Found::Deleted,
            State::Closed | State::Busy => {
                *state = State::Busy;
                Found::Closed(Turn {
                    slot: self,
                    next: State::Closed,
                })
            }
        }
    }

    /// Makes it that of a deleted database, and returns the database if it was open. Waits while
    /// another thread has the turn.
    pub(crate) fn delete(&self) -> Option<Arc<Database>> {
        match std::mem::replace(&mut *self.wait(), State::Deleted) {
            State::Open(database) => Some(database),
            State::Closed | State::Busy | State::Deleted => None,
        }
    }

    /// Closes the database unless it is used, or was since `used_nanos`. Returns whether it did.
    pub(crate) fn close(&self, used_nanos: u64) -> bool {
        let mut state = self.lock();
        let is_unused = match &*state {
            State::Open(database) => {
                Arc::strong_count(database) == 1 && self.used_nanos() == used_nanos
            }
            State::Closed | State::Busy | State::Deleted => false,
        };
        if !is_unused {
            return false;
        }
        let State::Open(database) = std::mem::replace(&mut *state, State::Busy) else {
            return false;
        };
        drop(state);
        let turn = Turn {
            slot: self,
            next: State::Closed,
        };
        match Arc::try_unwrap(database) {
            // A snapshot needs no handle, and keeps the files locked.
            Ok(database) if database.has_readers() => {
                turn.open(Arc::new(database));
                false
            }
            Ok(database) => {
                // Writes what is in memory and ends the threads.
                drop(database);
                true
            }
            Err(database) => {
                turn.open(database);
                false
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no thread has the turn.
    fn wait(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while matches!(*state, State::Busy) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state
    }
}

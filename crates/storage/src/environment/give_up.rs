//! Giving up pages of the data file that were loaded into memory of the process, as those of
//! encrypted files are, when there are more than the budget allows.
//!
//! Which of them are in use nobody notes, since reading one costs no more than a look at the page
//! table. So they are chosen in turn, and the page table forgets that they were validated: who
//! wants one again loads it again, which costs little as long as it is there, and keeps it. When
//! every snapshot is gone that may have read one without loading it, what was not loaded again is
//! given up. This is the clock algorithm, with the page table's mark for the mark of use.
//!
//! Invariants:
//! - A page is given up only when no snapshot is left that began before the page table forgot it,
//!   and nobody found it validated since: then no slice of it is left, and no way to one.
//!
//! Threads: whoever touches a page for the first time or ends a snapshot, one at a time; the others
//! pass by. And whoever finds no room for a page, of this environment or another one that shares
//! the limits.

use std::sync::{Arc, PoisonError, TryLockError};

use super::shared::{Shared, lock};

/// What was chosen, and since when.
#[derive(Default)]
pub(super) struct GivenUp {
    /// Epoch of readers in which the page table had forgotten all that is chosen.
    epoch: Option<u64>,
}

impl Shared {
    /// Gives up what was chosen, if nobody reads it any more, and chooses more if that is wanted.
    pub(crate) fn give_up_loaded(&self) {
        let mut given_up = match self.given_up.try_lock() {
            Ok(given_up) => given_up,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) => return,
        };
        self.give_up_excess(&mut given_up);
    }

    /// Lets other environments take memory back from this one, until [`Shared::keep_loaded`].
    pub(super) fn share_loaded(self: &Arc<Self>) {
        let shared = Arc::downgrade(self);
        self.view.when_full(Some(Box::new(move || {
            if let Some(shared) = shared.upgrade() {
                shared.give_up_excess(&mut lock(&shared.given_up));
            }
        })));
    }

    /// Ends [`Shared::share_loaded`]. To be called while somebody else still holds this: the last
    /// holder gives the lock of the directory back.
    pub(super) fn keep_loaded(&self) {
        self.view.when_full(None);
    }

    fn give_up_excess(&self, given_up: &mut GivenUp) {
        if self.finish_giving_up(given_up) {
            let excess = self.view.excess_bytes();
            if excess > 0 {
                self.begin_giving_up(given_up, excess);
                self.finish_giving_up(given_up);
            }
        }
    }

    /// Gives up everything that no snapshot reads; more goes when those end that are open.
    pub(super) fn give_up_all_loaded(&self) {
        let mut given_up = lock(&self.given_up);
        if self.finish_giving_up(&mut given_up) {
            self.begin_giving_up(&mut given_up, u64::MAX);
            self.finish_giving_up(&mut given_up);
        }
    }

    fn begin_giving_up(&self, given_up: &mut GivenUp, wanted_bytes: u64) {
        for pages in self.view.choose(wanted_bytes) {
            self.table.forget_validated(pages, &self.frames);
        }
        given_up.epoch = Some(self.readers.next_epoch());
    }

    /// Whether nothing is chosen any more.
    fn finish_giving_up(&self, given_up: &mut GivenUp) -> bool {
        if let Some(epoch) = given_up.epoch {
            if self.readers.oldest_epoch() < epoch {
                return false;
            }
            self.view
                .give_up_chosen(&|pages| !self.table.has_validated(pages, &self.frames));
            given_up.epoch = None;
        }
        true
    }
}

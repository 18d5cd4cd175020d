//! Databases at rest: closing those that nothing uses, and when they have to be opened again.
//!
//! Called by the server's maintenance. An open database has a thread for writes, one for each
//! index, and files and memory for each environment; a closed one has nothing but its entry.
//!
//! Invariants:
//! - A database is closed only when no caller has a handle or a snapshot of it or follows its
//!   changes, its indexes are current, and none is paused: a pause would be forgotten.
//! - Closing is dropping: whatever was acknowledged is on the disk already.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_base::time::UnixTicks;

use crate::database::Database;
use crate::due::DueRule;
use crate::error::{OpenError, ReadError};
use crate::set::{DatabaseEntry, DatabaseSet, Known};
use crate::slot::Wake;

/// Rest after which databases are closed where more than [`RestRules::open_max`] are open.
const CROWDED_REST: Duration = Duration::from_secs(10);
/// A database that would be opened again sooner stays open.
const SLEEP_MIN: Duration = Duration::from_secs(60);
/// Longest that one call closes databases; the next call goes on.
const CLOSING_TIME: Duration = Duration::from_millis(500);

/// Asks when a database has to be open again.
pub type NextWake = dyn Fn(&Database, &DatabaseEntry) -> Result<Wake, ReadError> + Send + Sync;

/// When databases are closed.
#[derive(Clone)]
pub struct RestRules {
    /// Time without a request after which a database is closed.
    pub idle: Duration,
    /// Where more are open than these, the ones unused longest are closed after ten seconds.
    pub open_max: usize,
    /// Where these are open, opening another one closes the one unused longest first, if there is
    /// one that nothing uses.
    pub open_limit: usize,
    /// See [`NextWake`].
    pub next_wake: Arc<NextWake>,
}

/// A database that is open, and when it was used last.
type Open = (u64, Arc<Known>);

impl DatabaseSet {
    /// Closes databases at rest. Returns how many.
    pub fn close_idle(&self, rules: &RestRules) -> usize {
        let begun = Instant::now();
        let now_nanos = self.vfs().monotonic_nanos();
        let open = self.open_by_use();
        let (count, mut closed) = (open.len(), 0);
        for one in open {
            let is_crowded = count - closed > rules.open_max;
            let rest = match is_crowded {
                true => CROWDED_REST.min(rules.idle),
                false => rules.idle,
            };
            let rested = Duration::from_nanos(now_nanos.saturating_sub(one.0));
            // What only maintenance opened was never used.
            if (one.0 > 0 && rested < rest) || begun.elapsed() > CLOSING_TIME {
                break;
            }
            closed += usize::from(self.close_at_rest(&one, rules));
        }
        closed
    }

    /// Closes one that nothing uses where too many are open. Called before one is opened.
    pub(crate) fn make_room(&self) {
        let Some(rules) = self.rest_rules() else {
            return;
        };
        if self.open_count() < rules.open_limit {
            return;
        }
        for one in self.open_by_use() {
            if self.close_at_rest(&one, &rules) {
                return;
            }
        }
    }

    /// Open databases, the one unused longest first.
    fn open_by_use(&self) -> Vec<Open> {
        let known = self.all_known().into_iter();
        let mut open: Vec<_> = known
            .filter(|known| known.slot.is_open())
            .map(|known| (known.slot.used_nanos(), known))
            .collect();
        open.sort_by_key(|(used_nanos, _)| *used_nanos);
        open
    }

    /// Closes a database unless something uses it. Returns whether it did.
    fn close_at_rest(&self, (used_nanos, known): &Open, rules: &RestRules) -> bool {
        let Some(database) = known.slot.peek() else {
            return false;
        };
        if !database.is_at_rest() {
            return false;
        }
        let entry = known.entry();
        let wake = match (rules.next_wake)(&database, &entry) {
            Ok(wake) => wake,
            Err(error) => {
                // It stays open, so that requests and maintenance report the error.
                tracing::debug!(name = entry.name, %error, "not closed");
                return false;
            }
        };
        if let Wake::At(at) = wake
            && at <= after(database.now(), SLEEP_MIN)
        {
            return false;
        }
        drop(database);
        known.slot.set_wake(wake);
        let is_closed = known.slot.close(*used_nanos);
        if is_closed {
            tracing::debug!(name = entry.name, "closed: it is at rest");
        }
        is_closed
    }

    /// When the database called `name` has to be opened; `None` while it is open, and when there
    /// is none.
    #[must_use]
    pub fn wake(&self, name: &str) -> Option<Wake> {
        let known = self.find(name)?;
        let wake = known.slot.wake();
        known.slot.peek().is_none().then_some(wake)
    }

    /// Sets when a closed database has to be opened.
    pub fn set_wake(&self, name: &str, wake: Wake) {
        if let Some(known) = self.find(name) {
            known.slot.set_wake(wake);
        }
    }

    /// The present moment by the clock of the data directory.
    #[must_use]
    pub fn now(&self) -> UnixTicks {
        UnixTicks(i64::try_from(self.vfs().unix_nanos() / 100).unwrap_or(i64::MAX))
    }

    /// Number of open databases.
    #[must_use]
    pub fn open_count(&self) -> usize {
        let known = self.all_known();
        known.iter().filter(|known| known.slot.is_open()).count()
    }

    /// [`DatabaseSet::get`] that does not count as use: for work that no request asked for.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn get_quietly(&self, name: &str) -> Result<Option<Arc<Database>>, OpenError> {
        match self.find(name) {
            Some(known) => self.open_known(&known),
            None => Ok(None),
        }
    }
}

impl Database {
    /// Whether nobody reads it or follows its changes, and its indexes have nothing to do.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        !self.core.hub.is_followed()
            && self.indexes.are_at_rest(self.core.hub.target())
            && !self.has_readers()
    }

    /// Whether there are open snapshots of documents or indexes.
    pub(crate) fn has_readers(&self) -> bool {
        let indexes = self.indexes.environments();
        self.documents().has_readers() || indexes.iter().any(|index| index.has_readers())
    }

    /// When something will be due next by the rules, or a value of compare-exchange expires, but
    /// no sooner than the rule looks again; `exchange_every` is the time between two looks at
    /// those values.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn next_due(
        &self,
        rules: &[DueRule],
        exchange_every: Duration,
    ) -> Result<Option<UnixTicks>, ReadError> {
        let (now, snapshot) = (self.now(), self.read()?);
        let no_sooner = |at: UnixTicks, every| at.max(after(now, every));
        let mut next = snapshot
            .first_exchange_expiry()?
            .map(|at| no_sooner(at, exchange_every));
        for rule in rules {
            let due = snapshot.first_due(rule.kind)?;
            let due = due.map(|at| no_sooner(at, rule.every));
            next = next.into_iter().chain(due).min();
        }
        Ok(next)
    }
}

/// `wait` after `at`.
fn after(at: UnixTicks, wait: Duration) -> UnixTicks {
    let ticks = i64::try_from(wait.as_nanos() / 100).unwrap_or(i64::MAX);
    UnixTicks(at.0.saturating_add(ticks))
}

//! Memory of queries: what one may take, and what all of this process may take together.
//!
//! A query counts what its steps keep (rows to be sorted, groups, distinct rows, results of time
//! series) by [`Charge`]s. Little is free. A query that needs more takes a turn, which is all that
//! one query may have, and keeps it until it needs little again; others wait for theirs, and are
//! refused when that takes long. So queries that are large never wait for memory of each other
//! while they hold some.
//!
//! Invariants:
//! - What is charged by a query is at most its limit, and at most [`Pool::free_bytes`] without a
//!   turn.
//! - All turns together are at most the pool.
//!
//! Threads: a [`QueryMemory`] belongs to the thread of its query; the pool to all.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::QueryError;

/// What all queries may take in a program that sets no bound.
const BYTES_DEFAULT: usize = 1 << 30;
/// A query without a turn may have this part of the pool, within these bounds.
const FREE_PARTS: usize = 128;
const FREE_BYTES_MIN: usize = 256 << 10;
const FREE_BYTES_MAX: usize = 4 << 20;
/// How long a query waits for its turn.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How often one that waits is asked whether it still wants to.
const WAIT_STEP: Duration = Duration::from_millis(20);

static POOL: Pool = Pool::new(BYTES_DEFAULT);

/// Bounds what large queries of this process take together, in bytes; one may take no more than
/// that either. Without a call it is 1 GiB.
pub fn bound_memory(bytes: usize) {
    POOL.set_bytes(bytes);
}

/// What large queries have, and who waits.
#[derive(Debug)]
struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    bytes: usize,
    taken: usize,
    /// Number of the next query that comes to wait, and of the one whose turn is next.
    next: u64,
    waiting: std::collections::VecDeque<u64>,
}

impl Pool {
    const fn new(bytes: usize) -> Pool {
        Pool {
            state: Mutex::new(State {
                bytes,
                taken: 0,
                next: 0,
                waiting: std::collections::VecDeque::new(),
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_bytes(&self, bytes: usize) {
        self.lock().bytes = bytes;
        self.changed.notify_all();
    }

    fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// What a query may have without a turn.
    fn free_bytes(&self) -> usize {
        (self.bytes() / FREE_PARTS).clamp(FREE_BYTES_MIN, FREE_BYTES_MAX)
    }

    /// Waits until it is the turn of a query that may take so many bytes, in the order in which
    /// queries came; gives the bytes of its turn.
    fn take(
        &self,
        bytes: usize,
        wait_max: Duration,
        interrupt: Option<&AtomicBool>,
    ) -> Result<usize, QueryError> {
        let started = Instant::now();
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(number);
        loop {
            let turn = bytes.min(state.bytes);
            let is_first = state.waiting.front() == Some(&number);
            let refused = match interrupt {
                Some(flag) if flag.load(Ordering::Relaxed) => Some(QueryError::Stopped),
                _ if is_first && state.taken + turn <= state.bytes => None,
                _ if started.elapsed() >= wait_max => Some(QueryError::Crowded),
                _ => {
                    let waited = self.changed.wait_timeout(state, WAIT_STEP);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                    continue;
                }
            };
            state.waiting.retain(|other| *other != number);
            let taken = match refused {
                Some(error) => Err(error),
                None => {
                    state.taken += turn;
                    Ok(turn)
                }
            };
            drop(state);
            self.changed.notify_all();
            return taken;
        }
    }

    fn give_back(&self, bytes: usize) {
        self.lock().taken -= bytes;
        self.changed.notify_all();
    }
}

/// What one query takes of the memory of all.
#[derive(Debug)]
pub struct QueryMemory<'q> {
    pool: &'static Pool,
    limit_bytes: usize,
    free_bytes: usize,
    wait_max: Duration,
    interrupt: Option<&'q AtomicBool>,
    used: Cell<usize>,
    /// Bytes of the row that is made, of those used.
    row: Cell<usize>,
    /// Bytes of its turn; 0 without one.
    turn: Cell<usize>,
}

impl<'q> QueryMemory<'q> {
    /// Nothing yet. The query may take `limit_bytes`, or what all may together if that is less; it
    /// stops to wait for its turn when `interrupt` becomes true.
    #[must_use]
    pub fn new(limit_bytes: usize, interrupt: Option<&'q AtomicBool>) -> QueryMemory<'q> {
        QueryMemory::of(&POOL, limit_bytes, interrupt)
    }

    fn of(
        pool: &'static Pool,
        limit_bytes: usize,
        interrupt: Option<&'q AtomicBool>,
    ) -> QueryMemory<'q> {
        QueryMemory {
            pool,
            limit_bytes: limit_bytes.min(pool.bytes()),
            free_bytes: pool.free_bytes(),
            wait_max: WAIT_MAX,
            interrupt,
            used: Cell::new(0),
            row: Cell::new(0),
            turn: Cell::new(0),
        }
    }

    /// One step has `now` bytes where it had `before`. An error changes nothing.
    fn change(&self, before: usize, now: usize) -> Result<(), Refused> {
        let used = (self.used.get() - before).saturating_add(now);
        if used > self.limit_bytes && now > before {
            return Err(Refused::Limit(self.limit_bytes));
        }
        if used > self.free_bytes && self.turn.get() == 0 {
            let turn = self
                .pool
                .take(self.limit_bytes, self.wait_max, self.interrupt);
            self.turn.set(turn.map_err(Refused::Turn)?);
        } else if used <= self.free_bytes / 2 {
            self.end_turn();
        }
        self.used.set(used);
        Ok(())
    }

    /// The row that was made is gone.
    pub(crate) fn end_row(&self) {
        let row = self.row.take();
        if row > 0 {
            // Less is never refused.
            let _ = self.change(row, 0);
        }
    }

    fn end_turn(&self) {
        let turn = self.turn.take();
        if turn > 0 {
            self.pool.give_back(turn);
        }
    }
}

impl Drop for QueryMemory<'_> {
    fn drop(&mut self) {
        self.end_turn();
    }
}

enum Refused {
    Limit(usize),
    Turn(QueryError),
}

/// What a step of a query keeps in memory; given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Charge<'a> {
    memory: Option<&'a QueryMemory<'a>>,
    limit_bytes: usize,
    what: &'static str,
    advice: &'static str,
    len_bytes: usize,
}

impl<'a> Charge<'a> {
    /// Nothing yet, of the step `what`, which may have `limit_bytes`. `advice` says what to write
    /// instead.
    pub(crate) fn new(
        memory: Option<&'a QueryMemory<'a>>,
        limit_bytes: usize,
        what: &'static str,
        advice: &'static str,
    ) -> Charge<'a> {
        Charge {
            memory,
            limit_bytes,
            what,
            advice,
            len_bytes: 0,
        }
    }

    /// The step has so many bytes by now.
    pub(crate) fn set(&mut self, len_bytes: usize) -> Result<(), QueryError> {
        if len_bytes == self.len_bytes {
            return Ok(());
        }
        if len_bytes > self.limit_bytes {
            return Err(self.too_much(self.limit_bytes));
        }
        if let Some(memory) = self.memory {
            let changed = memory.change(self.len_bytes, len_bytes);
            changed.map_err(|refused| match refused {
                Refused::Limit(limit_bytes) => self.too_much(limit_bytes),
                Refused::Turn(error) => error,
            })?;
        }
        self.len_bytes = len_bytes;
        Ok(())
    }

    /// Stays charged until the query ends.
    pub(crate) fn keep(mut self) {
        self.memory = None;
    }

    /// Stays charged until the row that is made was given.
    pub(crate) fn keep_for_row(mut self) {
        if let Some(memory) = self.memory.take() {
            memory.row.set(memory.row.get() + self.len_bytes);
        }
    }

    #[cold]
    fn too_much(&self, limit_bytes: usize) -> QueryError {
        QueryError::Memory {
            what: self.what,
            limit_bytes,
            advice: self.advice,
        }
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory {
            // Less is never refused.
            let _ = memory.change(self.len_bytes, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn pool(bytes: usize) -> &'static Pool {
        Box::leak(Box::new(Pool::new(bytes)))
    }

    fn charge<'a>(memory: &'a QueryMemory<'a>) -> Charge<'a> {
        Charge::new(Some(memory), usize::MAX, "a step", "Ask for less.")
    }

    const MIB: usize = 1 << 20;

    #[test]
    fn little_is_free_and_more_takes_a_turn_until_it_is_little_again() {
        let pool = pool(64 * MIB);
        let memory = QueryMemory::of(pool, 32 * MIB, None);
        let (mut rows, mut groups) = (charge(&memory), charge(&memory));
        rows.set(300 << 10).unwrap();
        groups.set(200 << 10).unwrap();
        assert_eq!(pool.lock().taken, 0);
        rows.set(MIB).unwrap();
        assert_eq!(pool.lock().taken, 32 * MIB);
        // All steps share the limit of the query.
        rows.set(20 * MIB).unwrap();
        let error = groups.set(13 * MIB).unwrap_err();
        assert!(matches!(error, QueryError::Memory { limit_bytes, .. } if limit_bytes == 32 * MIB));
        groups.set(12 * MIB).unwrap();
        drop(rows);
        assert_eq!(pool.lock().taken, 32 * MIB);
        groups.set(0).unwrap();
        assert_eq!(pool.lock().taken, 0);
        groups.set(2 * MIB).unwrap();
        groups.keep();
        assert_eq!(pool.lock().taken, 32 * MIB);
        drop(memory);
        assert_eq!(pool.lock().taken, 0);
    }

    #[test]
    fn one_query_may_take_no_more_than_all() {
        let pool = pool(8 * MIB);
        let memory = QueryMemory::of(pool, 256 * MIB, None);
        let mut rows = charge(&memory);
        rows.set(8 * MIB).unwrap();
        let error = rows.set(9 * MIB).unwrap_err();
        assert!(matches!(error, QueryError::Memory { limit_bytes, .. } if limit_bytes == 8 * MIB));
        let mut small = Charge::new(Some(&memory), MIB, "a step", "");
        assert!(matches!(small.set(MIB + 1), Err(QueryError::Memory { .. })));
    }

    #[test]
    fn forty_queries_that_need_all_they_may_run_two_at_a_time() {
        let pool = pool(64 * MIB);
        let (report, reported) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..40 {
                let report = report.clone();
                scope.spawn(move || {
                    let memory = QueryMemory::of(pool, 32 * MIB, None);
                    let mut rows = charge(&memory);
                    for bytes in (0..=32 * MIB).step_by(MIB) {
                        rows.set(bytes).unwrap();
                        let taken = pool.lock().taken;
                        report.send(taken).unwrap();
                    }
                });
            }
        });
        drop(report);
        assert!(reported.iter().all(|taken| taken <= 64 * MIB));
        assert_eq!(pool.lock().taken, 0);
    }

    #[test]
    fn who_waits_too_long_or_no_longer_wants_to_is_refused() {
        let pool = pool(8 * MIB);
        let first = QueryMemory::of(pool, 8 * MIB, None);
        let mut held = charge(&first);
        held.set(8 * MIB).unwrap();
        let mut second = QueryMemory::of(pool, 8 * MIB, None);
        second.wait_max = Duration::ZERO;
        let mut rows = charge(&second);
        rows.set(MIB / 8).unwrap();
        assert!(matches!(rows.set(MIB), Err(QueryError::Crowded)));
        let is_over = AtomicBool::new(true);
        let third = QueryMemory::of(pool, 8 * MIB, Some(&is_over));
        assert!(matches!(charge(&third).set(MIB), Err(QueryError::Stopped)));
        drop(held);
        rows.set(MIB).unwrap();
        assert!(pool.lock().waiting.is_empty());
    }
}

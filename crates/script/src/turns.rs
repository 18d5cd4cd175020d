//! Turns: how many scripts run at a time in this process, so that their memory together is bounded.
//!
//! A turn is the memory of a run, [`ScriptLimits::memory_bytes_max`]; whoever may take more has
//! several. Taken by `machine` and `sorter` for a run, with the making of its realm; how many there
//! are is set once by the program, from the memory that it may use. Runs inside of transactions
//! have turns of their own: all writes of a database wait for them, and each takes a second at
//! most.
//!
//! Invariants:
//! - Turns go to those who wait in the order in which they came; who needs more of them holds up
//!   those behind.
//! - Whoever has a turn waits for nothing that needs one: a run asks its host, and hosts read
//!   snapshots, or write in the transaction that they have.
//!
//! Threads: any; a waiting one is parked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::error::ScriptError;
use crate::limits::ScriptLimits;

/// Turns of each lane in a program that sets no bound.
const TURNS_DEFAULT: usize = 32;
/// How often one who waits is asked whether it still wants to.
const WAIT_STEP: Duration = Duration::from_millis(20);

static READS: Turns = Turns::new(TURNS_DEFAULT);
static WRITES: Turns = Turns::new(TURNS_DEFAULT);

/// Whom a run keeps waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Only its own caller: queries, maps of indexes, sorters.
    Reads,
    /// All writes of a database: patches in a transaction.
    Writes,
}

impl Lane {
    fn turns(self) -> &'static Turns {
        match self {
            Lane::Reads => &READS,
            Lane::Writes => &WRITES,
        }
    }

    /// What all of its runs may take together.
    pub(crate) fn memory_bytes(self) -> usize {
        let count = self.turns().lock().count;
        count.saturating_mul(ScriptLimits::default().memory_bytes_max)
    }
}

/// Lets as many scripts run at a time, in the whole process, as have room in `bytes` with the
/// memory of [`ScriptLimits::default`]: half of them in transactions, half elsewhere, and one of
/// each at least. Others wait for their turn. Without a call, 32 of each run at a time.
pub fn bound_memory(bytes: usize) {
    let count = bytes / 2 / ScriptLimits::default().memory_bytes_max;
    for turns in [&READS, &WRITES] {
        turns.set_count(count.max(1));
    }
}

/// Waits for the turns of a run that may take so many bytes, or for all there are.
///
/// # Errors
/// [`ScriptError::Time`] when `is_over` said so before.
pub(crate) fn wait(
    lane: Lane,
    memory_bytes: usize,
    is_over: &mut dyn FnMut() -> bool,
) -> Result<Turn<'static>, ScriptError> {
    let weight = memory_bytes.div_ceil(ScriptLimits::default().memory_bytes_max);
    let turn = lane.turns().take(weight, is_over);
    turn.ok_or(ScriptError::Time)
}

struct Turns(Mutex<State>);

struct State {
    count: usize,
    taken: usize,
    waiting: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    weight: usize,
    /// Turns that it was given; 0 before.
    given: AtomicUsize,
    thread: Thread,
}

/// Goes to the next one when dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    count: usize,
}

impl Turns {
    const fn new(count: usize) -> Turns {
        Turns(Mutex::new(State {
            count,
            taken: 0,
            waiting: VecDeque::new(),
        }))
    }

    fn set_count(&self, count: usize) {
        let mut state = self.lock();
        state.count = count;
        state.hand_out();
    }

    /// `None` when it was over before there were turns.
    fn take(&self, weight: usize, is_over: &mut dyn FnMut() -> bool) -> Option<Turn<'_>> {
        let mut state = self.lock();
        let count = weight.clamp(1, state.count);
        if state.waiting.is_empty() && state.taken + count <= state.count {
            state.taken += count;
            return Some(Turn { turns: self, count });
        }
        let waiter = Arc::new(Waiter {
            weight: weight.max(1),
            given: AtomicUsize::new(0),
            thread: thread::current(),
        });
        state.waiting.push_back(Arc::clone(&waiter));
        drop(state);
        loop {
            let count = waiter.given.load(Ordering::Acquire);
            if count > 0 {
                return Some(Turn { turns: self, count });
            }
            thread::park_timeout(WAIT_STEP);
            if is_over() {
                self.leave(&waiter);
                return None;
            }
        }
    }

    fn leave(&self, waiter: &Arc<Waiter>) {
        let mut state = self.lock();
        state.taken -= waiter.given.load(Ordering::Acquire);
        state.waiting.retain(|other| !Arc::ptr_eq(other, waiter));
        state.hand_out();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives free turns to those who wait.
    fn hand_out(&mut self) {
        while let Some(next) = self.waiting.front() {
            let weight = next.weight.min(self.count);
            if self.taken + weight > self.count {
                return;
            }
            self.taken += weight;
            next.given.store(weight, Ordering::Release);
            next.thread.unpark();
            self.waiting.pop_front();
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        state.taken -= self.count;
        state.hand_out();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;

    use super::*;

    impl Turns {
        fn waiting(&self) -> usize {
            self.lock().waiting.len()
        }

        fn want(&self, weight: usize) -> Turn<'_> {
            self.take(weight, &mut || false).expect("nobody ends it")
        }
    }

    #[test]
    fn turns_go_on_in_order_also_to_those_who_need_several() {
        let turns = Turns::new(2);
        let (tell, told) = mpsc::channel();
        let held = (turns.want(1), turns.want(1));
        thread::scope(|scope| {
            // More than there are is all there are.
            for (count, weight) in [9, 1, 2].into_iter().enumerate() {
                let (turns, tell) = (&turns, tell.clone());
                scope.spawn(move || {
                    let turn = turns.want(weight);
                    tell.send((weight, turn.count, turns.lock().taken))
                        .expect("somebody listens");
                });
                // So that they come in this order.
                while turns.waiting() <= count {
                    thread::yield_now();
                }
            }
            drop(held);
        });
        drop(tell);
        let told: Vec<_> = told.into_iter().collect();
        assert_eq!(told, [(9, 2, 2), (1, 1, 1), (2, 2, 2)]);
    }

    #[test]
    fn who_no_longer_wants_a_turn_holds_nobody_up() {
        let turns = Turns::new(2);
        let held = turns.want(1);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let gone = scope.spawn(|| {
                turns
                    .take(2, &mut || is_over.load(Ordering::Relaxed))
                    .is_none()
            });
            while turns.waiting() == 0 {
                thread::yield_now();
            }
            let behind = scope.spawn(|| drop(turns.want(1)));
            while turns.waiting() < 2 {
                thread::yield_now();
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(gone.join().expect("it does not panic"));
            behind.join().expect("it does not panic");
        });
        drop(held);
        assert_eq!(turns.lock().taken, 0);
    }

    #[test]
    fn more_turns_let_more_run() {
        let turns = Turns::new(1);
        let held = turns.want(1);
        thread::scope(|scope| {
            let second = scope.spawn(|| drop(turns.want(1)));
            while turns.waiting() == 0 {
                thread::yield_now();
            }
            turns.set_count(2);
            second.join().expect("it does not panic");
        });
        drop(held);
        assert_eq!(turns.lock().taken, 0);
    }

    #[test]
    fn a_run_that_panics_gives_its_turn_back() {
        let turns = Turns::new(1);
        let run = std::panic::AssertUnwindSafe(|| {
            let _turn = turns.want(1);
            panic!("a run");
        });
        assert!(std::panic::catch_unwind(run).is_err());
        drop(turns.want(1));
    }
}

//! Turns: how many scripts run at a time in this process, so that their memory together is bounded.
//!
//! A run may take the memory of [`ScriptLimits`](crate::ScriptLimits), and leaves little of it in
//! its realm: so `n` turns are the memory of `n` runs. Taken by `machine` and `sorter` for a run,
//! with the making of its realm; set once by the program, from the memory that it may use.
//!
//! Invariants:
//! - A turn that is given back goes to the one that waits longest, those that are urgent first.
//! - Whoever has a turn waits for nothing that needs one: a run asks its host, and hosts read
//!   snapshots.
//!
//! Threads: any; a waiting one is parked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use crate::limits::ScriptLimits;

/// Turns of a program that sets no bound.
const TURNS_DEFAULT: usize = 64;

static TURNS: Turns = Turns::new(TURNS_DEFAULT);

/// Whom a run may keep waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Only its own caller.
    InOrder,
    /// All writes of a database: its turn comes before those of others.
    First,
}

/// Lets as many scripts run at a time, in the whole process, as have room in `bytes` with the
/// memory of [`ScriptLimits::default`]; one at least. Others wait for their turn. Without a call
/// 64 run at a time.
pub fn bound_memory(bytes: usize) {
    TURNS.set_count((bytes / ScriptLimits::default().memory_bytes_max).max(1));
}

/// Does `work` in a turn, once there is one.
pub(crate) fn in_turn<T>(urgency: Urgency, work: impl FnOnce() -> T) -> T {
    let _turn = TURNS.take(urgency);
    work()
}

struct Turns(Mutex<State>);

struct State {
    count: usize,
    taken: usize,
    urgent: VecDeque<Arc<Waiter>>,
    in_order: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    has_turn: AtomicBool,
    thread: Thread,
}

/// Goes to the next one when dropped.
struct Turn<'t>(&'t Turns);

impl Turns {
    const fn new(count: usize) -> Turns {
        Turns(Mutex::new(State {
            count,
            taken: 0,
            urgent: VecDeque::new(),
            in_order: VecDeque::new(),
        }))
    }

    fn set_count(&self, count: usize) {
        let mut state = self.lock();
        state.count = count;
        state.hand_out();
    }

    fn take(&self, urgency: Urgency) -> Turn<'_> {
        let mut state = self.lock();
        if state.taken < state.count {
            state.taken += 1;
            return Turn(self);
        }
        let waiter = Arc::new(Waiter {
            has_turn: AtomicBool::new(false),
            thread: thread::current(),
        });
        let queue = match urgency {
            Urgency::InOrder => &mut state.in_order,
            Urgency::First => &mut state.urgent,
        };
        queue.push_back(Arc::clone(&waiter));
        drop(state);
        while !waiter.has_turn.load(Ordering::Acquire) {
            thread::park();
        }
        Turn(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives free turns to those who wait.
    fn hand_out(&mut self) {
        while self.taken < self.count {
            let next = self.urgent.pop_front();
            let Some(next) = next.or_else(|| self.in_order.pop_front()) else {
                return;
            };
            self.taken += 1;
            next.has_turn.store(true, Ordering::Release);
            next.thread.unpark();
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.taken -= 1;
        state.hand_out();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    impl Turns {
        fn waiting(&self) -> usize {
            let state = self.lock();
            state.urgent.len() + state.in_order.len()
        }
    }

    #[test]
    fn turns_go_to_the_urgent_first_and_then_in_order() {
        let turns = Turns::new(1);
        let (tell, told) = mpsc::channel();
        let held = turns.take(Urgency::InOrder);
        thread::scope(|scope| {
            let waiting = [
                ("one", Urgency::InOrder),
                ("two", Urgency::InOrder),
                ("urgent", Urgency::First),
            ];
            for (count, (name, urgency)) in waiting.into_iter().enumerate() {
                let (turns, tell) = (&turns, tell.clone());
                scope.spawn(move || {
                    let _turn = turns.take(urgency);
                    tell.send(name).expect("somebody listens");
                });
                // So that they come in this order.
                while turns.waiting() <= count {
                    thread::yield_now();
                }
            }
            drop(held);
        });
        drop(tell);
        assert_eq!(
            told.into_iter().collect::<Vec<_>>(),
            ["urgent", "one", "two"]
        );
    }

    #[test]
    fn as_many_run_as_there_are_turns_and_more_when_there_are_more() {
        let turns = Turns::new(2);
        let held = (turns.take(Urgency::InOrder), turns.take(Urgency::First));
        thread::scope(|scope| {
            let third = scope.spawn(|| drop(turns.take(Urgency::InOrder)));
            while turns.waiting() == 0 {
                thread::yield_now();
            }
            assert!(!third.is_finished());
            turns.set_count(3);
            third.join().expect("it does not panic");
        });
        drop(held);
        assert_eq!(turns.lock().taken, 0);
    }

    #[test]
    fn a_run_that_panics_gives_its_turn_back() {
        let turns = Turns::new(1);
        let run = std::panic::AssertUnwindSafe(|| {
            let _turn = turns.take(Urgency::InOrder);
            panic!("a run");
        });
        assert!(std::panic::catch_unwind(run).is_err());
        drop(turns.take(Urgency::InOrder));
    }
}

//! Is there an order of the calls on one register, true to real time, that explains every answer?
//!
//! The search of Wing and Gong ("Testing and verifying concurrent objects", 1993) with the memory
//! of Lowe ("Testing for linearizability", 2017), as Porcupine does it: a call that begins before
//! any other has ended may be next; what was tried in a state with the same calls done is not tried
//! again. A call of unknown outcome never ends: it may take effect at any time after it began, or
//! never.
//!
//! Called by the tests that watch a server from outside.

use std::collections::HashSet;

/// What a register holds; `None` when there is nothing.
pub type Held = Option<u64>;

/// What a client asked for, and what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It saw this.
    Read(Held),
    /// It set this, whatever was there.
    Write(Held),
    /// It set `to` because `from` was there.
    Swap {
        /// What had to be there.
        from: Held,
        /// What is there now.
        to: Held,
    },
    /// It set nothing because `from` was not there.
    Refused {
        /// What had to be there.
        from: Held,
        /// What the answer said was there, when it said so.
        found: Option<Held>,
    },
}

impl Action {
    /// What the register holds after it; `None` when it cannot have happened in this state.
    fn apply(self, state: Held) -> Option<Held> {
        match self {
            Action::Read(seen) => (seen == state).then_some(state),
            Action::Write(to) => Some(to),
            Action::Swap { from, to } => (from == state).then_some(to),
            Action::Refused { from, found } => {
                let is_true = from != state && found.is_none_or(|found| found == state);
                is_true.then_some(state)
            }
        }
    }
}

/// One call of a client.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// When it began, on a clock that all clients share.
    pub begun: u64,
    /// When its answer was there; `None` when none came, so that its effect is unknown.
    pub ended: Option<u64>,
    /// What it was. For an unknown outcome: what it does if it has an effect.
    pub action: Action,
}

/// Whether some order of `calls` on a register that was empty explains all answers.
///
/// Time grows with the number of calls that overlap, not with the length of the history.
#[must_use]
pub fn is_linearizable(calls: &[Call]) -> bool {
    let mut calls: Vec<Call> = calls.to_vec();
    calls.sort_by_key(|call| call.begun);
    let mut done = Done::new(calls.len());
    let mut tried: HashSet<(Done, Held)> = HashSet::new();
    // The calls chosen so far, each with the state before it.
    let mut path: Vec<(usize, Held)> = Vec::new();
    let (mut state, mut from) = (None, 0);
    loop {
        if is_explained(&calls, &done) {
            return true;
        }
        let next = candidates(&calls, &done, from).find_map(|number| {
            let after = calls[number].action.apply(state)?;
            let mut with_it = done.clone();
            with_it.set(number, true);
            tried.insert((with_it, after)).then_some((number, after))
        });
        match (next, path.pop()) {
            (Some((number, after)), popped) => {
                path.extend(popped);
                path.push((number, state));
                done.set(number, true);
                (state, from) = (after, 0);
            }
            (None, Some((number, before))) => {
                done.set(number, false);
                (state, from) = (before, number + 1);
            }
            (None, None) => return false,
        }
    }
}

/// Whether everything that was answered has its place.
fn is_explained(calls: &[Call], done: &Done) -> bool {
    (done.first..calls.len()).all(|number| done.has(number) || calls[number].ended.is_none())
}

/// Calls from `from` on that may be next: they began before any other that is left has ended.
fn candidates<'a>(
    calls: &'a [Call],
    done: &'a Done,
    from: usize,
) -> impl Iterator<Item = usize> + use<'a> {
    let left = move || (done.first..calls.len()).filter(|number| !done.has(*number));
    let mut limit = u64::MAX;
    for number in left() {
        if calls[number].begun > limit {
            break;
        }
        limit = limit.min(calls[number].ended.unwrap_or(u64::MAX));
    }
    left()
        .take_while(move |number| calls[*number].begun <= limit)
        .filter(move |number| *number >= from)
}

/// A set of calls.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Done {
    words: Vec<u64>,
    /// All before this one are in the set.
    first: usize,
}

impl Done {
    fn new(len: usize) -> Done {
        Done {
            words: vec![0; len.div_ceil(64)],
            first: 0,
        }
    }

    fn has(&self, number: usize) -> bool {
        self.words[number / 64] & 1 << (number % 64) != 0
    }

    fn set(&mut self, number: usize, is_in: bool) {
        let bit = 1 << (number % 64);
        match is_in {
            true => self.words[number / 64] |= bit,
            false => self.words[number / 64] &= !bit,
        }
        if !is_in {
            self.first = self.first.min(number);
        }
        while self.first < 64 * self.words.len() && self.has(self.first) {
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix;

    fn call(begun: u64, ended: u64, action: Action) -> Call {
        Call {
            begun,
            ended: Some(ended),
            action,
        }
    }

    fn unknown(begun: u64, action: Action) -> Call {
        Call {
            begun,
            ended: None,
            action,
        }
    }

    const WRITE_1: Action = Action::Write(Some(1));
    const WRITE_2: Action = Action::Write(Some(2));
    const READ_0: Action = Action::Read(None);
    const READ_1: Action = Action::Read(Some(1));
    const READ_2: Action = Action::Read(Some(2));

    #[test]
    fn overlapping_calls_may_happen_in_either_order() {
        let writes = [call(0, 10, WRITE_1), call(0, 10, WRITE_2)];
        for (first, second) in [(READ_1, READ_2), (READ_2, READ_1)] {
            let seen = [call(1, 4, first), call(5, 9, second)];
            assert!(is_linearizable(&[writes, seen].concat()));
        }
    }

    #[test]
    fn a_read_of_the_past_is_found() {
        let history = [call(0, 1, WRITE_1), call(2, 3, WRITE_2), call(4, 5, READ_1)];
        assert!(!is_linearizable(&history));
        assert!(!is_linearizable(&[call(0, 1, WRITE_1), call(2, 3, READ_0)]));
    }

    #[test]
    fn what_was_seen_once_stays() {
        let reads = [call(2, 3, READ_1), call(4, 5, READ_0)];
        assert!(!is_linearizable(
            &[&[unknown(0, WRITE_1)], &reads[..]].concat()
        ));
    }

    #[test]
    fn an_unknown_call_may_happen_late_or_never() {
        let history = [unknown(0, WRITE_1), call(1, 2, READ_0), call(3, 4, READ_1)];
        assert!(is_linearizable(&history));
        assert!(is_linearizable(&history[..2]));
        assert!(!is_linearizable(&[call(1, 2, READ_1), unknown(3, WRITE_1)]));
    }

    #[test]
    fn of_two_swaps_from_the_same_value_one_is_refused() {
        let swap = |to| Action::Swap {
            from: None,
            to: Some(to),
        };
        let refused = Action::Refused {
            from: None,
            found: Some(Some(1)),
        };
        assert!(!is_linearizable(&[
            call(0, 9, swap(1)),
            call(0, 9, swap(2))
        ]));
        assert!(is_linearizable(&[call(0, 9, refused), call(0, 9, swap(1))]));
        assert!(!is_linearizable(&[
            call(0, 1, refused),
            call(2, 9, swap(1))
        ]));
    }

    /// Histories made by letting each call take effect at a moment inside it are accepted; with
    /// one answer exchanged for a value that never was they are not.
    #[test]
    fn made_up_histories_are_accepted_and_their_forgeries_found() {
        let mut found = 0;
        for seed in 0..200 {
            let mut history = made_up(seed);
            assert!(is_linearizable(&history), "seed {seed}");
            let is_answered_read =
                |call: &Call| matches!(call.action, Action::Read(_)) && call.ended.is_some();
            if let Some(read) = history.iter().position(is_answered_read) {
                history[read].action = Action::Read(Some(u64::MAX));
                assert!(!is_linearizable(&history), "seed {seed}");
                found += 1;
            }
        }
        assert!(found > 150, "{found}");
    }

    fn made_up(seed: u64) -> Vec<Call> {
        let mut state = None;
        let mut history = Vec::new();
        for step in 0..100 {
            let random = mix(seed * 1_000 + step);
            let moment = 100 * step;
            let (before, after) = (random % 700, (random >> 16) % 700);
            let next = Some(step);
            let action = match random >> 60 {
                0..6 => Action::Read(state),
                6..11 => Action::Write(next),
                11..14 => Action::Swap {
                    from: state,
                    to: next,
                },
                _ => Action::Refused {
                    from: Some(u64::MAX - 1),
                    found: Some(state),
                },
            };
            state = action.apply(state).unwrap();
            history.push(Call {
                begun: (1_000 + moment).saturating_sub(before),
                ended: (random >> 40 & 15 != 0).then_some(1_000 + moment + after),
                action,
            });
        }
        history
    }
}

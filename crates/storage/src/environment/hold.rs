//! How long an open batch waits for callers who were just answered.
//!
//! Clients that write one after another come back together, a little after their answers: the first
//! of them alone would get a batch, and a write of the journal, of its own, and all others wait for
//! it. So a batch that could close waits while callers of the batch before are still on their way,
//! never longer than a durable write takes. Where callers do not come back, the waiting is given up
//! for longer and longer: the wait is a bet that is only made while it pays.
//!
//! Called by `merger`, under its lock. A single client never meets a wait: when it writes again,
//! nobody else is expected.

use std::time::Duration;

/// Durable writes faster than this are cheaper than waiting.
const WRITE_NANOS_MIN: u64 = 20_000;
/// A durable write that took longer was a stall, for which nobody should wait twice.
const WRITE_NANOS_MAX: u64 = 10_000_000;
/// Durable writes faster than this may be waited for by a thread that has other things to do.
const QUICK_WRITE_NANOS: u64 = 1_000_000;
/// Shortest wait for the next caller: waking a thread takes about as long.
const PATIENCE_NANOS_MIN: u64 = 50_000;
/// A bet that was lost this often in a row is made in one of `2 ^ this` batches.
const LOSSES_MAX: u32 = 8;

/// Callers that were answered and may come back.
#[derive(Debug, Default)]
pub(super) struct ReturningCallers {
    expected: usize,
    /// Running mean of what a durable write takes.
    write_nanos: u64,
    /// Waits in a row in which less than half of the expected came.
    losses: u32,
    /// Batches that close without waiting.
    skipped_batches: u32,
}

/// The wait of one batch.
#[derive(Debug, Default)]
pub(super) struct BatchHold {
    /// When it began and how many were expected then.
    started: Option<(u64, usize)>,
    /// Whether everybody who was expected came.
    is_complete: bool,
}

impl BatchHold {
    /// Whether the batch waited, and everybody who was expected came.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }
}

impl ReturningCallers {
    /// `callers` are being answered.
    pub(super) fn are_told(&mut self, callers: usize) {
        self.expected += callers;
    }

    /// An operation was queued.
    pub(super) fn came_back(&mut self) {
        self.expected = self.expected.saturating_sub(1);
    }

    /// Whether somebody else than one caller, who may be asking, is expected.
    pub(super) fn are_others_expected(&self) -> bool {
        self.expected > 1
    }

    /// Whether durable writes take less than a millisecond on average, as far as is known.
    pub(super) fn are_writes_quick(&self) -> bool {
        self.write_nanos < QUICK_WRITE_NANOS
    }

    /// A durable write took this long.
    pub(super) fn note_write_nanos(&mut self, nanos: u64) {
        let nanos = nanos.min(WRITE_NANOS_MAX);
        self.write_nanos = match self.write_nanos {
            0 => nanos,
            mean => mean - mean / 8 + nanos / 8,
        };
    }

    /// How long a batch that could close should wait for the next operation; `None` to close it.
    pub(super) fn patience(&mut self, hold: &mut BatchHold, now_nanos: u64) -> Option<Duration> {
        if self.expected == 0 {
            if hold.started.is_some() {
                self.losses = 0;
                hold.is_complete = true;
            }
            return None;
        }
        if self.write_nanos < WRITE_NANOS_MIN {
            return self.close();
        }
        let (started, _) = match hold.started {
            Some(started) => started,
            None if self.skipped_batches > 0 => {
                self.skipped_batches -= 1;
                return self.close();
            }
            None => *hold.started.insert((now_nanos, self.expected)),
        };
        let held = now_nanos.saturating_sub(started);
        if held >= self.write_nanos {
            return self.close();
        }
        let next = PATIENCE_NANOS_MIN.max(self.write_nanos / 4);
        Some(Duration::from_nanos(next.min(self.write_nanos - held)))
    }

    /// The wait ended without an operation.
    pub(super) fn stayed_away(&mut self, hold: &BatchHold) {
        let most_came = hold
            .started
            .is_some_and(|(_, expected)| self.expected < expected.div_ceil(2));
        if most_came {
            self.losses = 0;
        } else {
            self.losses = (self.losses + 1).min(LOSSES_MAX);
            self.skipped_batches = (1 << self.losses) - 1;
        }
        self.close();
    }

    /// Expects nobody any more.
    fn close(&mut self) -> Option<Duration> {
        self.expected = 0;
        None
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const WRITE_NANOS: u64 = 200_000;

    fn after_a_write(callers: usize) -> ReturningCallers {
        let mut returning = ReturningCallers::default();
        returning.note_write_nanos(WRITE_NANOS);
        returning.are_told(callers);
        returning
    }

    #[test]
    fn a_single_caller_never_waits() {
        let mut returning = after_a_write(1);
        returning.came_back();
        assert_eq!(returning.patience(&mut BatchHold::default(), 0), None);
    }

    #[test]
    fn a_batch_waits_until_all_are_back() {
        let mut returning = after_a_write(3);
        let mut hold = BatchHold::default();
        returning.came_back();
        assert!(returning.patience(&mut hold, 0).is_some());
        returning.came_back();
        assert!(returning.patience(&mut hold, 10_000).is_some());
        returning.came_back();
        assert_eq!(returning.patience(&mut hold, 20_000), None);
    }

    #[test]
    fn a_batch_waits_no_longer_than_a_write_takes() {
        let mut returning = after_a_write(100);
        let mut hold = BatchHold::default();
        let mut now = 0;
        while let Some(patience) = returning.patience(&mut hold, now) {
            returning.came_back();
            now += u64::try_from(patience.as_nanos()).expect("short");
        }
        assert_eq!(now, WRITE_NANOS);
    }

    #[test]
    fn waiting_is_given_up_where_nobody_comes_back() {
        let mut returning = after_a_write(0);
        let mut waits = 0;
        for _ in 0..1_000 {
            returning.are_told(2);
            returning.came_back();
            let mut hold = BatchHold::default();
            if returning.patience(&mut hold, 0).is_some() {
                waits += 1;
                returning.stayed_away(&hold);
            }
        }
        assert!((5..20).contains(&waits), "{waits} waits");
    }

    #[test]
    fn fast_writes_are_not_waited_for() {
        let mut returning = ReturningCallers::default();
        returning.note_write_nanos(5_000);
        returning.are_told(16);
        assert_eq!(returning.patience(&mut BatchHold::default(), 0), None);
    }
}

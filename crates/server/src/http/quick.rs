//! Whether short reads may run on the connection's own task.
//!
//! Handing a read to the blocking pool costs several times what the read itself does when its pages
//! are in memory: two switches of threads for some microseconds of work. When they are not, the
//! read waits for the disk, and would keep the other connections of its thread waiting too. So
//! reads are timed wherever they run: a few slow ones send the next ones to the pool, until those
//! there are quick again.
//!
//! Used by `dispatch` for handlers of kind `Quick`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A read that took longer waited for something: in memory it takes a twentieth of that.
const SLOW: Duration = Duration::from_micros(200);
/// What a slow read adds; a quick one takes one away.
const SLOW_WEIGHT: u32 = 16;
/// From here on reads go to the pool: more than two slow ones within some thirty. A single one may
/// have been interrupted.
const POOL_FROM: u32 = 2 * SLOW_WEIGHT;
/// So many quick reads end the stay in the pool at the latest.
const SCORE_MAX: u32 = 8 * SLOW_WEIGHT;

/// How reads went lately. Races of its updates lose some of them, which does not matter.
#[derive(Default)]
pub(crate) struct QuickReads {
    score: AtomicU32,
}

impl QuickReads {
    /// Whether the next read may run at once.
    pub(super) fn are_quick(&self) -> bool {
        self.score.load(Ordering::Relaxed) <= POOL_FROM
    }

    /// Runs a read and notes how long it took.
    pub(super) fn time<T>(&self, read: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let outcome = read();
        self.note(begun.elapsed());
        outcome
    }

    fn note(&self, elapsed: Duration) {
        let score = self.score.load(Ordering::Relaxed);
        let next = match elapsed > SLOW {
            true => (score + SLOW_WEIGHT).min(SCORE_MAX),
            // The usual case writes nothing that other processors read.
            false if score == 0 => return,
            false => score - 1,
        };
        self.score.store(next, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_go_to_the_pool_while_they_are_slow() {
        let reads = QuickReads::default();
        let note = |count: u32, elapsed: Duration| (0..count).for_each(|_| reads.note(elapsed));
        note(2, 2 * SLOW);
        assert!(reads.are_quick(), "interrupted ones do not count");
        note(1, 2 * SLOW);
        assert!(!reads.are_quick());
        note(100, 2 * SLOW);
        note(SCORE_MAX - POOL_FROM - 1, SLOW);
        assert!(!reads.are_quick());
        note(1, SLOW);
        assert!(reads.are_quick());
        note(1000, SLOW);
        assert_eq!(reads.score.load(Ordering::Relaxed), 0);
    }
}

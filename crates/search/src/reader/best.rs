//! The best of many entries by a number each, in a buffer of twice as many as are wanted.
//!
//! Called for scores and for columns.
//!
//! Threads: one owner.

use crate::EntryId;

/// Fewer rows than this are not selected from.
const SELECT_ROWS_MIN: usize = 32;

/// Keeps the best of entries that come in ascending order.
pub(super) struct Best {
    wanted: usize,
    rows: Vec<(f64, u64)>,
    /// The worst score that still counts, once there are enough.
    threshold: Option<f64>,
}

impl Best {
    pub(super) fn new(wanted: usize) -> Best {
        Best {
            wanted,
            rows: Vec::new(),
            threshold: None,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, entry: u64, score: f64) {
        if self.threshold.is_none_or(|threshold| score > threshold) {
            self.keep(entry, score);
        }
    }

    fn keep(&mut self, entry: u64, score: f64) {
        self.rows.push((score, entry));
        if self.rows.len() >= self.wanted.saturating_mul(2).max(SELECT_ROWS_MIN) {
            self.prune();
        }
    }

    fn prune(&mut self) {
        let Some(last) = self.wanted.checked_sub(1) else {
            self.threshold = Some(f64::INFINITY);
            return self.rows.clear();
        };
        if last < self.rows.len() {
            self.rows.select_nth_unstable_by(last, is_better);
            self.rows.truncate(self.wanted);
            self.threshold = self.rows.last().map(|(score, _)| *score);
        }
    }

    /// Says before the first push that at least `wanted` of what will be pushed have this score or
    /// a better one.
    pub(super) fn expect(&mut self, score: f64) {
        self.threshold = Some(score.next_down());
    }

    /// What a score has to be above to count, once there are enough.
    #[inline]
    pub(super) fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    pub(super) fn finish(mut self) -> Vec<(EntryId, f64)> {
        self.prune();
        self.rows.sort_unstable_by(is_better);
        let rows = self.rows.into_iter();
        rows.map(|(score, entry)| (EntryId(entry), score)).collect()
    }
}

fn is_better(a: &(f64, u64), b: &(f64, u64)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

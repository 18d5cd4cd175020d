//! The best of the entries that have one of some words, without keeping the scores of all.
//!
//! Called by query execution for `order by score()`. The lists of the words are walked side by
//! side, a window of entries at a time; of a window only the entries that are better than the worst
//! of the best so far are kept.
//!
//! Invariants:
//! - Entries, scores and their order are those of [`IndexReader::add_scores`] over all matches: the
//!   same numbers are added in the same order.
//!
//! Threads: as the reader.

use jackdaw_storage::PageRead;

use super::IndexReader;
use super::budget::Budget;
use super::score::TextStatistics;
use crate::EntryId;
use crate::catalog::FieldId;
use crate::error::{At, IndexError};
use crate::occurrence::{Norms, OCCURRENCES_TREE, Occurrences};
use crate::posting::Malformed;
use crate::set::EntrySet;
use crate::term::TEXT_BYTES_WHOLE_MAX;
use crate::text::TextQuery;

/// Entries of a window: their scores fit the nearest cache.
const WINDOW_BITS: u32 = 11;
const WINDOW_ENTRIES: usize = 1 << WINDOW_BITS;

/// Fewer rows than this are not selected from: sorting them once is cheaper.
const SELECT_ROWS_MIN: usize = 128;

/// The best matches of a condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// The best first; of equal ones the least entry first.
    pub best: Vec<(EntryId, f64)>,
    /// Number of matches.
    pub total: u64,
}

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

/// A word whose list is walked.
struct Word<'t, P: PageRead + ?Sized> {
    weight: f64,
    walk: Occurrences<'t, P>,
    next: Option<(u64, u32)>,
}

/// The words of a condition that holds where one of them is; `None` for any other.
fn words_of<'q>(query: &'q TextQuery, factor: f64, out: &mut Vec<(&'q str, f64)>) -> Option<()> {
    match query {
        TextQuery::Term(term) if term.len() <= TEXT_BYTES_WHOLE_MAX => {
            out.push((term, factor));
            Some(())
        }
        TextQuery::Boost(inner, boost) => words_of(inner, factor * boost, out),
        TextQuery::Bool {
            must,
            should,
            must_not,
        } if must.is_empty() && must_not.is_empty() => should
            .iter()
            .try_for_each(|query| words_of(query, factor, out)),
        _ => None,
    }
}

impl<P: PageRead + ?Sized> IndexReader<'_, P> {
    /// Whether [`rank`](Self::rank) answers this condition.
    #[must_use]
    pub fn ranks(&self, field: FieldId, query: &TextQuery) -> bool {
        let has_positions = self.field_info(field).options().positions;
        has_positions && words_of(query, 1.0, &mut Vec::new()).is_some()
    }

    /// The `wanted` best of the entries that pass a condition, without those of `excluded`; scores
    /// are multiplied by `factor`. `None` for conditions other than on words of which one has to be
    /// there, in a field with positions.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    pub fn rank(
        &self,
        field: FieldId,
        query: &TextQuery,
        statistics: &TextStatistics,
        excluded: &EntrySet,
        (wanted, factor): (usize, f64),
        budget: &mut Budget<'_>,
    ) -> Result<Option<Ranked>, IndexError> {
        let mut words = Vec::new();
        if !self.ranks(field, query) || words_of(query, factor, &mut words).is_none() {
            return Ok(None);
        }
        let mut walks = Vec::with_capacity(words.len());
        for (word, factor) in words {
            let mut walk = self.occurrences(field, word);
            walks.push(Word {
                weight: factor * statistics.idf(word),
                next: walk.next_count()?,
                walk,
            });
        }
        let slowness = statistics.slowness_by_norm();
        let mut norms = Norms::new(self.norms_tree(), field);
        let mut best = Best::new(wanted);
        let mut total = 0;
        let mut excluded = (!excluded.is_empty()).then(|| excluded.probe());
        let mut scores = Box::new([0.0_f64; WINDOW_ENTRIES]);
        let next_of = |word: &Word<'_, P>| word.next.map(|(entry, _)| entry);
        while let Some(first) = walks.iter().filter_map(next_of).min() {
            budget.spend()?;
            let base = first >> WINDOW_BITS << WINDOW_BITS;
            let mut found = [0_u64; WINDOW_ENTRIES / 64];
            for word in &mut walks {
                while let Some((entry, frequency)) = word.next {
                    let wrong = Malformed("chunks of occurrences overlap");
                    let within = entry.checked_sub(base).ok_or(wrong);
                    let within = within.at(OCCURRENCES_TREE, &[])?;
                    let within = usize::try_from(within).unwrap_or(usize::MAX);
                    let Some(score) = scores.get_mut(within) else {
                        break;
                    };
                    let frequency = f64::from(frequency);
                    let slowness = slowness[usize::from(norms.norm(entry)?)];
                    *score += word.weight * (frequency / (frequency + slowness));
                    found[within / 64] |= 1 << (within % 64);
                    word.next = word.walk.next_count()?;
                }
            }
            for (at, mut bits) in (0..).step_by(64).zip(found) {
                while bits != 0 {
                    let within = at + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let score = std::mem::take(&mut scores[within]);
                    let entry = base + within as u64;
                    if excluded.as_mut().is_none_or(|set| !set.contains(entry)) {
                        total += 1;
                        best.push(entry, score);
                    }
                }
            }
        }
        Ok(Some(Ranked {
            best: best.finish(),
            total,
        }))
    }
}

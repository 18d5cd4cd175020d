//! Scores: BM25 over the terms of full text, a constant for conditions on many terms.
//!
//! Called by query execution for `order by score()`. Statistics may be collected over several
//! indexes that together are one collection: the index, without entries that do not count any more,
//! and an index in memory of the documents that changed.
//!
//! Invariants:
//! - The score of an entry is the sum over the terms, phrases and other conditions that it
//!   passes: `idf * f / (f + k1 * (1 - b + b * length / average))`, where `idf = ln(1 + (N - n +
//!   0.5) / (n + 0.5))`, N is the number of entries with text in the field, n those with the
//!   term, f how often it stands there and k1 = 1.2, b = 0.75. A phrase has the sum of its terms'
//!   idf; anything else that is not a single term scores 1. In a field without positions f,
//!   length and average are 1.
//! - Statistics are exact for the entries that count.
//!
//! Threads: as the reader.

use std::collections::BTreeMap;

use jackdaw_storage::PageRead;

use super::IndexReader;
use super::best::Best;
use super::budget::Budget;
use crate::EntryId;
use crate::catalog::FieldId;
use crate::error::IndexError;
use crate::occurrence::{Norms, length_of};
use crate::set::EntrySet;
use crate::term::Term;
use crate::text::{Phrase, TextQuery};

/// How soon further occurrences of a term count less.
const K1: f64 = 1.2;
/// How much the length of a text counts.
const B: f64 = 0.75;

/// What BM25 needs to know of a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextStatistics {
    /// Entries with text in the field.
    pub entries: u64,
    /// Tokens of all of them, their lengths rounded as norms are.
    pub tokens: u64,
    /// Number of entries of each term.
    pub frequencies: BTreeMap<Box<str>, u64>,
}

impl TextStatistics {
    /// How much a term tells: less the more entries have it.
    #[must_use]
    pub fn idf(&self, term: &str) -> f64 {
        let frequency = self.frequencies.get(term).copied().unwrap_or(0);
        idf(self.entries, frequency)
    }

    /// What a phrase tells: as much as all its terms.
    pub(super) fn phrase_idf(&self, phrase: &Phrase) -> f64 {
        phrase.terms.iter().map(|(term, _)| self.idf(term)).sum()
    }

    /// How slowly further occurrences raise the score in a text of this length.
    fn slowness(&self, length: u32) -> f64 {
        let average = self.tokens as f64 / self.entries.max(1) as f64;
        let relative = match average > 0.0 {
            true => f64::from(length) / average,
            false => 1.0,
        };
        K1 * (1.0 - B + B * relative)
    }

    /// The slowness for every norm.
    pub(super) fn slowness_by_norm(&self) -> Box<[f64; 256]> {
        let mut table = Box::new([0.0; 256]);
        for (norm, slowness) in (0..=u8::MAX).zip(table.iter_mut()) {
            *slowness = self.slowness(length_of(norm));
        }
        table
    }
}

/// What a term counts for that stands so often in a text of this norm: below 1, more the oftener
/// and the shorter the text.
#[inline]
pub(super) fn saturation(frequency: u32, norm: u8, slowness: &[f64; 256]) -> f64 {
    let frequency = f64::from(frequency);
    frequency / (frequency + slowness[usize::from(norm)])
}

/// The inverse document frequency of BM25.
#[must_use]
pub fn idf(entries: u64, frequency: u64) -> f64 {
    let (entries, frequency) = (entries as f64, frequency as f64);
    (((entries - frequency).max(0.0) + 0.5) / (frequency + 0.5)).ln_1p()
}

/// The scores of some entries.
#[derive(Clone, Debug)]
pub struct Scores {
    entries: Vec<u64>,
    scores: Vec<f64>,
}

impl Scores {
    /// All zero.
    #[must_use]
    pub fn new(entries: &EntrySet) -> Scores {
        let entries: Vec<u64> = entries.iter().map(|entry| entry.0).collect();
        Scores {
            scores: vec![0.0; entries.len()],
            entries,
        }
    }

    /// The bytes that the scores of so many entries take.
    #[must_use]
    pub fn len_bytes(entry_count: u64) -> u64 {
        entry_count.saturating_mul(16)
    }

    /// Adds to the score of an entry; nothing when it is not one of these.
    pub fn add(&mut self, entry: EntryId, score: f64) {
        if let Ok(at) = self.entries.binary_search(&entry.0) {
            self.scores[at] += score;
        }
    }

    /// Adds to the scores of all entries of a set.
    pub fn add_all(&mut self, set: &EntrySet, score: f64) {
        let mut at = 0;
        set.iter()
            .for_each(|entry| self.add_from(&mut at, entry.0, score));
    }

    /// Adds to the score of an entry at or behind the place `at`, and moves that to it: cheap for
    /// entries that ascend.
    fn add_from(&mut self, at: &mut usize, entry: u64, score: f64) {
        let rest = &self.entries[*at..];
        let mut step = 1;
        while rest.get(step).is_some_and(|found| *found < entry) {
            step *= 2;
        }
        let low = step / 2;
        let reach = &rest[low.min(rest.len())..rest.len().min(step + 1)];
        *at += low + reach.partition_point(|found| *found < entry);
        if self.entries.get(*at) == Some(&entry) {
            self.scores[*at] += score;
        }
    }

    /// The `wanted` best entries with their scores, the best first; of equal ones the least entry
    /// first.
    #[must_use]
    pub fn best(&self, wanted: usize) -> Vec<(EntryId, f64)> {
        let mut best = Best::new(wanted);
        for (entry, score) in self.entries.iter().zip(&self.scores) {
            best.push(*entry, *score);
        }
        best.finish()
    }

    /// The score of an entry; 0 when it is not one of these.
    #[must_use]
    pub fn get(&self, entry: EntryId) -> f64 {
        let at = self.entries.binary_search(&entry.0);
        at.map_or(0.0, |at| self.scores[at])
    }
}

impl FromIterator<(EntryId, f64)> for Scores {
    /// The scores of entries in any order, each of which comes once.
    fn from_iter<I: IntoIterator<Item = (EntryId, f64)>>(scores: I) -> Scores {
        let mut scores: Vec<(EntryId, f64)> = scores.into_iter().collect();
        scores.sort_unstable_by_key(|(entry, _)| *entry);
        let (entries, scores) = scores
            .iter()
            .map(|(entry, score)| (entry.0, *score))
            .unzip();
        Scores { entries, scores }
    }
}

impl<P: PageRead + ?Sized> IndexReader<'_, P> {
    /// Adds what this index says of the terms of `query` to `statistics`, without the entries of
    /// `excluded`.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn add_statistics(
        &self,
        field: FieldId,
        query: &TextQuery,
        excluded: &EntrySet,
        statistics: &mut TextStatistics,
    ) -> Result<(), IndexError> {
        let info = self.field_info(field);
        let (mut entries, mut tokens) = match info.options().positions {
            true => (info.text_count(), info.token_total()),
            false => (self.exists_count(field)?, 0),
        };
        if !excluded.is_empty() {
            if info.options().positions {
                let mut norms = Norms::new(self.norms, field);
                for entry in excluded {
                    if let Some(length) = norms.length(entry)? {
                        entries = entries.saturating_sub(1);
                        tokens = tokens.saturating_sub(u64::from(length));
                    }
                }
            } else {
                let gone = self.exists(field)?.and(excluded).len();
                entries = entries.saturating_sub(gone);
            }
        }
        statistics.entries += entries;
        statistics.tokens += tokens;
        let mut terms: Vec<&str> = Vec::new();
        query.for_each_term(&mut |term| terms.push(term));
        terms.sort_unstable();
        terms.dedup();
        for term in terms {
            let mut count = self.count(field, Term::Text(term))?;
            if !excluded.is_empty() {
                let gone = self.term_within(field, Term::Text(term), excluded)?;
                count = count.saturating_sub(gone.possible().len());
            }
            *statistics.frequencies.entry(term.into()).or_default() += count;
        }
        Ok(())
    }

    /// Adds the scores that `query` gives those entries of `within` that pass it, times `factor`.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    #[expect(clippy::too_many_arguments, reason = "the parts of one formula")]
    pub fn add_scores(
        &self,
        field: FieldId,
        query: &TextQuery,
        statistics: &TextStatistics,
        within: &EntrySet,
        factor: f64,
        budget: &mut Budget<'_>,
        scores: &mut Scores,
    ) -> Result<(), IndexError> {
        let scorer = Scorer {
            reader: self,
            field,
            statistics,
        };
        scorer.add(query, within, factor, budget, scores)
    }
}

struct Scorer<'s, 't, P: PageRead + ?Sized> {
    reader: &'s IndexReader<'t, P>,
    field: FieldId,
    statistics: &'s TextStatistics,
}

impl<P: PageRead + ?Sized> Scorer<'_, '_, P> {
    fn add(
        &self,
        query: &TextQuery,
        within: &EntrySet,
        factor: f64,
        budget: &mut Budget<'_>,
        scores: &mut Scores,
    ) -> Result<(), IndexError> {
        let has_positions = self.reader.field_info(self.field).options().positions;
        match query {
            TextQuery::Term(term) if has_positions => {
                self.add_term(term, within, factor, budget, scores)
            }
            TextQuery::Term(term) => {
                let found = self
                    .reader
                    .term_within(self.field, Term::Text(term), within)?;
                scores.add_all(&found.possible(), factor * self.statistics.idf(term));
                Ok(())
            }
            TextQuery::Phrase(phrase) if has_positions => {
                self.add_phrase(phrase, within, factor, budget, scores)
            }
            TextQuery::Bool { must, should, .. } => {
                let found = self.reader.text(self.field, query, budget)?;
                let within = found.possible().and(within);
                for query in must.iter().chain(should) {
                    self.add(query, &within, factor, budget, scores)?;
                }
                Ok(())
            }
            TextQuery::Boost(inner, boost) => {
                self.add(inner, within, factor * boost, budget, scores)
            }
            query => {
                let found = self.reader.text(self.field, query, budget)?;
                scores.add_all(&found.possible().and(within), factor);
                Ok(())
            }
        }
    }

    fn add_term(
        &self,
        term: &str,
        within: &EntrySet,
        factor: f64,
        budget: &mut Budget<'_>,
        scores: &mut Scores,
    ) -> Result<(), IndexError> {
        let weight = factor * self.statistics.idf(term);
        let slowness = self.statistics.slowness_by_norm();
        let mut walk = self.reader.occurrences(self.field, term);
        let mut at = 0;
        let mut add = |(entry, frequency, norm): (u64, u32, u8)| {
            let score = weight * saturation(frequency, norm, &slowness);
            scores.add_from(&mut at, entry, score);
        };
        if self.reader.count(self.field, Term::Text(term))? < within.len() {
            let mut probe = within.probe();
            while let Some(found) = walk.next_count()? {
                budget.spend()?;
                if probe.contains(found.0) {
                    add(found);
                }
            }
            return Ok(());
        }
        let mut found: Option<(u64, u32, u8)> = None;
        for entry in within {
            budget.spend()?;
            if found.is_none_or(|(found, ..)| found < entry.0) {
                found = walk.seek_count(entry.0)?;
            }
            match found {
                None => break,
                Some(found) if found.0 == entry.0 => add(found),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn add_phrase(
        &self,
        phrase: &Phrase,
        within: &EntrySet,
        factor: f64,
        budget: &mut Budget<'_>,
        scores: &mut Scores,
    ) -> Result<(), IndexError> {
        let words = phrase.terms.iter().map(|(term, _)| Term::Text(term));
        let candidates = self.reader.all_of(self.field, words)?;
        let candidates = candidates.possible().and(within);
        let slowness = self.statistics.slowness_by_norm();
        let weight = factor * self.statistics.phrase_idf(phrase);
        let mut at = 0;
        self.reader.visit_phrase(
            self.field,
            phrase,
            candidates.iter(),
            budget,
            &mut |entry, count, norm| {
                let score = weight * saturation(count, norm, &slowness);
                scores.add_from(&mut at, entry.0, score);
            },
        )
    }
}

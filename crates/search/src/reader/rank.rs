//! The best of the entries that pass a condition on words, without keeping the scores of all.
//!
//! Called by query execution for `order by score()`. Matches are counted by the posting lists
//! alone; how often words stand where is read only of entries that may be among the best
//! (`walk_words`).
//!
//! Invariants:
//! - Entries, scores and their order are those of [`IndexReader::add_scores`] over all matches: the
//!   same numbers are added in the same order.
//!
//! Threads: as the reader.

use jackdaw_storage::PageRead;

use super::IndexReader;
use super::best::Best;
use super::budget::Budget;
use super::score::{TextStatistics, saturation};
use super::walk_words::{WordWalk, best_of_all, best_of_any, expected};
use crate::EntryId;
use crate::catalog::FieldId;
use crate::error::IndexError;
use crate::set::EntrySet;
use crate::term::{TEXT_BYTES_WHOLE_MAX, Term};
use crate::text::{Phrase, TextQuery};

/// The best matches of a condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// The best first; of equal ones the least entry first.
    pub best: Vec<(EntryId, f64)>,
    /// Number of matches.
    pub total: u64,
}

/// A condition that can be ranked.
enum Shape<'q> {
    /// One of the words, each with what its scores are multiplied by.
    Any(Vec<(&'q str, f64)>),
    /// All of them.
    All(Vec<(&'q str, f64)>),
    Phrase(&'q Phrase, f64),
}

impl<'q> Shape<'q> {
    fn of(query: &'q TextQuery, factor: f64) -> Option<Shape<'q>> {
        match query {
            TextQuery::Boost(inner, boost) => Shape::of(inner, factor * boost),
            TextQuery::Phrase(phrase) => {
                let mut words = phrase.terms.iter();
                let is_whole = words.all(|(word, _)| word.len() <= TEXT_BYTES_WHOLE_MAX);
                is_whole.then_some(Shape::Phrase(phrase, factor))
            }
            TextQuery::Bool {
                must,
                should,
                must_not,
            } if !must.is_empty() && should.is_empty() && must_not.is_empty() => {
                let words = must.iter().map(|query| word_of(query, factor));
                words.collect::<Option<Vec<_>>>().map(Shape::All)
            }
            query => {
                let mut words = Vec::new();
                words_of(query, factor, &mut words)?;
                Some(Shape::Any(words))
            }
        }
    }
}

/// The words of a condition that holds where one of them is; `None` for any other.
fn words_of<'q>(query: &'q TextQuery, factor: f64, out: &mut Vec<(&'q str, f64)>) -> Option<()> {
    match query {
        TextQuery::Boost(inner, boost) => words_of(inner, factor * boost, out),
        TextQuery::Bool {
            must,
            should,
            must_not,
        } if must.is_empty() && must_not.is_empty() => should
            .iter()
            .try_for_each(|query| words_of(query, factor, out)),
        query => {
            out.push(word_of(query, factor)?);
            Some(())
        }
    }
}

fn word_of(query: &TextQuery, factor: f64) -> Option<(&str, f64)> {
    match query {
        TextQuery::Term(term) if term.len() <= TEXT_BYTES_WHOLE_MAX => Some((term, factor)),
        TextQuery::Boost(inner, boost) => word_of(inner, factor * boost),
        _ => None,
    }
}

impl<P: PageRead + ?Sized> IndexReader<'_, P> {
    /// Whether [`rank`](Self::rank) answers this condition.
    #[must_use]
    pub fn ranks(&self, field: FieldId, query: &TextQuery) -> bool {
        self.field_info(field).options().positions && Shape::of(query, 1.0).is_some()
    }

    /// The `wanted` best of the entries that pass a condition, without those of `excluded`; scores
    /// are multiplied by `factor`. `None` for conditions other than on words of which one or all
    /// have to be there, or on a phrase, in a field with positions.
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
        if !self.ranks(field, query) {
            return Ok(None);
        }
        let slowness = statistics.slowness_by_norm();
        let walks = |words: &[(&str, f64)]| -> Vec<WordWalk<'_, P>> {
            let walk = |(word, factor): &(&str, f64)| {
                let weight = factor * statistics.idf(word);
                WordWalk::new(self.occurrences(field, word), weight)
            };
            words.iter().map(walk).collect()
        };
        let mut best = Best::new(wanted);
        let total = match Shape::of(query, factor) {
            None => return Ok(None),
            Some(Shape::Any(words)) => {
                // A single word has its bounds alone.
                if words.len() > 1 {
                    let mut counted = Vec::with_capacity(words.len());
                    for ((word, _), walk) in words.iter().zip(walks(&words)) {
                        counted.push((self.count(field, Term::Text(word))?, walk));
                    }
                    if let Some(score) = expected(counted, wanted, excluded, &slowness)? {
                        best.expect(score);
                    }
                }
                best_of_any(walks(&words), excluded, &slowness, budget, &mut best)?;
                self.count_any(field, &words, excluded)?
            }
            Some(Shape::All(words)) => {
                let words_alone = words.iter().map(|(word, _)| *word);
                let found = self.entries_of_words(field, words_alone, excluded)?;
                best_of_all(walks(&words), &found, &slowness, budget, &mut best)?;
                found.len() as u64
            }
            Some(Shape::Phrase(phrase, factor)) => {
                let words = phrase.terms.iter().map(|(word, _)| &**word);
                let candidates = self.entries_of_words(field, words, excluded)?;
                let weight = factor * statistics.phrase_idf(phrase);
                let mut total = 0;
                self.visit_phrase(
                    field,
                    phrase,
                    candidates.into_iter().map(EntryId),
                    budget,
                    &mut |entry, count, norm| {
                        total += 1;
                        best.push(entry.0, weight * saturation(count, norm, &slowness));
                    },
                )?;
                total
            }
        };
        Ok(Some(Ranked {
            best: best.finish(),
            total,
        }))
    }

    /// The entries that have all of these words, without those of `excluded`.
    fn entries_of_words<'w>(
        &self,
        field: FieldId,
        words: impl Iterator<Item = &'w str> + Clone,
        excluded: &EntrySet,
    ) -> Result<Vec<u64>, IndexError> {
        let mut found = self.entries_of_all(field, words.map(Term::Text))?;
        if !excluded.is_empty() {
            let mut excluded = excluded.probe();
            found.retain(|entry| !excluded.contains(*entry));
        }
        Ok(found)
    }

    /// How many entries pass a condition that [`ranks`](Self::ranks), by posting lists alone;
    /// `None` for others and for phrases.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn count_text(&self, field: FieldId, query: &TextQuery) -> Result<Option<u64>, IndexError> {
        match Shape::of(query, 1.0) {
            Some(Shape::Any(words)) => self.count_any(field, &words, &EntrySet::new()).map(Some),
            Some(Shape::All(words)) => {
                let words = words.iter().map(|(word, _)| Term::Text(word));
                self.count_of_all(field, words).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// How many entries have one of these words, without those of `excluded`.
    fn count_any(
        &self,
        field: FieldId,
        words: &[(&str, f64)],
        excluded: &EntrySet,
    ) -> Result<u64, IndexError> {
        let terms = words.iter().map(|(word, _)| Term::Text(word));
        match words {
            [(word, _)] if excluded.is_empty() => return self.count(field, Term::Text(word)),
            _ if excluded.is_empty() => return self.count_of_any(field, terms),
            _ => {}
        }
        let found = self.any_of(field, terms)?;
        Ok(found.possible().and_not(excluded).len())
    }
}

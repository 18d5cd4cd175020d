//! Conditions on the terms of a field, answered from the index.
//!
//! Called by query execution for `search`, `lucene`, `regex`, `fuzzy` and their like.
//!
//! Invariants:
//! - The answer is what [`TextQuery::matches`] says of the entries' terms. Texts that are kept cut
//!   give uncertain matches.
//! - Every term and every candidate of a phrase is counted against the budget.
//!
//! Threads: as the reader.

use std::ops::Bound;

use jackdaw_storage::PageRead;

use super::IndexReader;
use super::budget::Budget;
use super::range::{Verdict, successor};
use super::walk::{class_key, stored_term};
use crate::EntryId;
use crate::catalog::FieldId;
use crate::error::IndexError;
use crate::matches::Matches;
use crate::occurrence::Occurrences;
use crate::set::EntrySet;
use crate::term::{StoredTerm, StoredText, TEXT_BYTES_WHOLE_MAX, Term, class};
use crate::text::{Comparison, Fuzzy, Likeness, Phrase, TextQuery, Wildcard};

impl<'t, P: PageRead + ?Sized> IndexReader<'t, P> {
    /// The entries whose terms pass.
    ///
    /// # Errors
    /// [`IndexError::WalkLimit`], [`IndexError::Interrupted`], [`IndexError::Damaged`],
    /// [`IndexError::Storage`].
    pub fn text(
        &self,
        field: FieldId,
        query: &TextQuery,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        match query {
            TextQuery::Anything => self.text_where(field, budget, |_| Verdict::Yes),
            TextQuery::Term(term) => self.term(field, Term::Text(term)),
            TextQuery::Prefix(prefix) => self.prefix(field, prefix, budget),
            TextQuery::Wildcard(wildcard) => self.wildcard(field, wildcard, budget),
            TextQuery::Expression(_) => self.text_where(field, budget, |text| verdict(text, query)),
            TextQuery::Fuzzy(fuzzy) => self.similar(field, fuzzy, budget),
            TextQuery::Range(low, high) => {
                let low = low.as_ref().map(|bound| &**bound);
                let high = high.as_ref().map(|bound| &**bound);
                self.text_range(field, low, high, budget)
            }
            TextQuery::Phrase(phrase) => self.phrase(field, phrase, budget),
            TextQuery::Bool {
                must,
                should,
                must_not,
            } => {
                let mut found: Option<Matches> = None;
                for query in must {
                    let next = self.text(field, query, budget)?;
                    found = Some(match found {
                        Some(found) => found.and(&next),
                        None => next,
                    });
                }
                let mut found = match found {
                    Some(found) => found,
                    None => {
                        let mut any = Matches::none();
                        for query in should {
                            any = any.or(&self.text(field, query, budget)?);
                        }
                        any
                    }
                };
                for query in must_not {
                    found = found.and_not(&self.text(field, query, budget)?);
                }
                Ok(found)
            }
            TextQuery::Boost(inner, _) => self.text(field, inner, budget),
        }
    }

    /// The entries with a term that fits.
    fn wildcard(
        &self,
        field: FieldId,
        wildcard: &Wildcard,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let beginning = wildcard.beginning();
        let kept = beginning.floor_char_boundary(TEXT_BYTES_WHOLE_MAX);
        let mut low = class_key(field, class::TEXT);
        low.extend_from_slice(&beginning.as_bytes()[..kept]);
        let high = successor(&low);
        let high = high.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let reach = (Bound::Included(&low[..]), high);
        let literals = wildcard.literals();
        if let Some(literals) = &literals
            && let Some(longest) = literals.longest()
        {
            return self.unite_with(longest, reach, budget, |text| match text.is_cut() {
                true => Verdict::Unknown,
                false => Verdict::of(literals.matches(text.as_bytes())),
            });
        }
        self.unite(reach, budget, |text| match (&literals, text.is_cut()) {
            (_, true) => Verdict::Unknown,
            (Some(literals), _) => Verdict::of(literals.matches(text.as_bytes())),
            (None, _) => Verdict::of(wildcard.matches(&text.to_text())),
        })
    }

    /// The entries with a similar term. Terms that begin too differently are passed over together.
    fn similar(
        &self,
        field: FieldId,
        fuzzy: &Fuzzy,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let mut comparison = Comparison::new(fuzzy);
        let (mut certain, mut possible) = (self.set_builder(), self.set_builder());
        let mut key = class_key(field, class::TEXT);
        let class_len = key.len();
        let high = class_key(field, class::TEXT + 1);
        let mut walk = self.walk(Bound::Included(&key), Bound::Excluded(&high))?;
        while let Some(value) = walk.next_value()? {
            budget.spend()?;
            let StoredTerm::Text(text) = stored_term(walk.key())? else {
                continue;
            };
            let is_cut = text.is_cut();
            match comparison.compare(text.as_bytes()) {
                Likeness::Beyond(None) => break,
                Likeness::Beyond(Some(target)) => {
                    key.truncate(class_len);
                    key.extend_from_slice(target);
                    walk.skip_to(&key)?;
                }
                _ if is_cut => walk.term_at(value)?.add_to(&mut possible)?,
                Likeness::Similar => walk.term_at(value)?.add_to(&mut certain)?,
                Likeness::Different => {}
            }
        }
        Ok(Matches::new(certain.finish(), &possible.finish()))
    }

    fn phrase(
        &self,
        field: FieldId,
        phrase: &Phrase,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let words = phrase.terms.iter().map(|(term, _)| Term::Text(term));
        let candidates = self.all_of(field, words)?;
        if !self.field_info(field).options().positions {
            return Ok(candidates);
        }
        let mut found = Vec::new();
        self.visit_phrase(
            field,
            phrase,
            candidates.certain().iter(),
            budget,
            &mut |entry, _, _| {
                found.push(entry);
            },
        )?;
        Ok(Matches::exactly(EntrySet::from_ascending(found)))
    }

    /// Calls `visit` with each of `candidates`, which have all terms of the phrase, in which the
    /// phrase stands, how often, and the norm of its text.
    pub(super) fn visit_phrase(
        &self,
        field: FieldId,
        phrase: &Phrase,
        candidates: impl Iterator<Item = EntryId>,
        budget: &mut Budget<'_>,
        visit: &mut dyn FnMut(EntryId, u32, u8),
    ) -> Result<(), IndexError> {
        let words = phrase.terms.iter();
        let mut walks: Vec<Occurrences<'t, P>> = words
            .map(|(term, _)| self.occurrences(field, term))
            .collect();
        let mut positions = vec![Vec::new(); walks.len()];
        for entry in candidates {
            budget.spend()?;
            let (mut is_there, mut norm) = (true, 0);
            for (walk, positions) in walks.iter_mut().zip(&mut positions) {
                match walk.seek(entry)? {
                    Some(found) if found.entry() == entry => {
                        norm = found.norm();
                        found.positions(positions)?;
                    }
                    _ => is_there = false,
                }
            }
            let count = if is_there {
                phrase.count(&positions)
            } else {
                0
            };
            if count > 0 {
                visit(entry, count, norm);
            }
        }
        Ok(())
    }

    /// How often and where an analyzed term stands, entry by entry; nothing in a field without
    /// positions.
    #[must_use]
    pub fn occurrences(&self, field: FieldId, term: &str) -> Occurrences<'t, P> {
        let mut key = class_key(field, class::TEXT);
        key.extend_from_slice(term.as_bytes());
        Occurrences::new(self.occurrences, key)
    }
}

/// What the kept part of a text says.
fn verdict(text: StoredText<'_>, query: &TextQuery) -> Verdict {
    match text.is_cut() {
        true => Verdict::Unknown,
        false if query.passes(&text.to_text()) => Verdict::Yes,
        false => Verdict::No,
    }
}

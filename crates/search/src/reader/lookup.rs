//! Look-ups of single terms: sets, counts, presence.
//!
//! Called by query execution for `=`, `in`, `all in`, `exists` and null.
//!
//! Invariants:
//! - Counts come from the terms' values; no list is read for them.
//!
//! Threads: as the reader.

use std::ops::Bound;

use jackdaw_storage::PageRead;

use super::IndexReader;
use super::walk::{Direction, TermWalk};
use crate::EntryId;
use crate::catalog::{FieldId, TERMS_TREE};
use crate::error::{At, IndexError};
use crate::matches::Matches;
use crate::posting::{Postings, TermValue};
use crate::set::{AscendingBuilder, EntrySet, SetBuilder};
use crate::term::{TEXT_BYTES_CUT, Term};

/// A list this many times longer than the set it meets is probed instead of read.
const PROBE_RATIO: u64 = 32;

impl<'t, P: PageRead + ?Sized> IndexReader<'t, P> {
    /// Number of entries that have `term`; for text longer than
    /// [`TEXT_BYTES_WHOLE_MAX`](crate::TEXT_BYTES_WHOLE_MAX) an upper bound.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn count(&self, field: FieldId, term: Term<'_>) -> Result<u64, IndexError> {
        let value = self.find(&self.term_key(field, term))?;
        Ok(value.map_or(0, |value| value.count()))
    }

    /// Number of entries that have the field.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn exists_count(&self, field: FieldId) -> Result<u64, IndexError> {
        let value = self.find(&field.exists_key())?;
        Ok(value.map_or(0, |value| value.count()))
    }

    /// The entries that have `term`, read as the caller walks. Entries of text longer than
    /// [`TEXT_BYTES_WHOLE_MAX`](crate::TEXT_BYTES_WHOLE_MAX) are candidates only.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn postings(&self, field: FieldId, term: Term<'_>) -> Result<Postings<'t, P>, IndexError> {
        self.postings_at(&self.term_key(field, term))
    }

    /// The entries that have `term`.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn term(&self, field: FieldId, term: Term<'_>) -> Result<Matches, IndexError> {
        let key = self.term_key(field, term);
        Ok(as_matches(&key, self.set_of(&key)?))
    }

    /// The entries of `within` that have `term`. Cheaper than [`term`](Self::term) when `within`
    /// is small: the list is probed, not read.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn term_within(
        &self,
        field: FieldId,
        term: Term<'_>,
        within: &EntrySet,
    ) -> Result<Matches, IndexError> {
        let key = self.term_key(field, term);
        let mut postings = self.postings_at(&key)?;
        if postings.entry_count() / PROBE_RATIO < within.len() {
            return Ok(as_matches(&key, collect(postings)?.and(within)));
        }
        let mut found = AscendingBuilder::default();
        for entry in within {
            postings.seek(entry)?;
            match postings.pending().first() {
                Some(&next) if next == entry.0 => found.push(next),
                Some(_) => {}
                None => break,
            }
        }
        Ok(as_matches(&key, found.finish()))
    }

    /// The entries that have any of `terms`; none when there are no terms.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn any_of<'a>(
        &self,
        field: FieldId,
        terms: impl IntoIterator<Item = Term<'a>>,
    ) -> Result<Matches, IndexError> {
        let mut keys: Vec<Vec<u8>> = terms
            .into_iter()
            .map(|term| self.term_key(field, term))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let (mut certain, mut possible) = (self.set_builder(), self.set_builder());
        for key in &keys {
            let set = if is_cut(key) {
                &mut possible
            } else {
                &mut certain
            };
            let mut postings = self.postings_at(key)?;
            loop {
                set.extend(postings.pending());
                if !postings.next_block()? {
                    break;
                }
            }
        }
        Ok(Matches::new(certain.finish(), &possible.finish()))
    }

    /// The entries that have every one of `terms`; all entries when there are no terms. The rarest
    /// term is read first, the others are probed with what is left.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn all_of<'a>(
        &self,
        field: FieldId,
        terms: impl IntoIterator<Item = Term<'a>>,
    ) -> Result<Matches, IndexError> {
        let mut counted = Vec::new();
        for term in terms {
            counted.push((self.count(field, term)?, term));
        }
        counted.sort_by_key(|(count, _)| *count);
        let mut counted = counted.into_iter();
        let mut found = match counted.next() {
            Some((_, rarest)) => self.term(field, rarest)?,
            None => Matches::exactly(self.all()?),
        };
        for (_, term) in counted {
            let possible = found.possible();
            if possible.is_empty() {
                break;
            }
            found = found.and(&self.term_within(field, term, &possible)?);
        }
        Ok(found)
    }

    /// The entries that have the field: an explicit null counts, an empty array does not.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn exists(&self, field: FieldId) -> Result<EntrySet, IndexError> {
        self.set_of(&field.exists_key())
    }

    /// The entries that do not have the field.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn missing(&self, field: FieldId) -> Result<EntrySet, IndexError> {
        Ok(self.all()?.and_not(&self.exists(field)?))
    }

    /// The entries that have the field with an explicit null.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn null(&self, field: FieldId) -> Result<EntrySet, IndexError> {
        self.set_of(&self.term_key(field, Term::Null))
    }

    /// All entries, read as the caller walks.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn every(&self) -> Result<Postings<'t, P>, IndexError> {
        self.postings_at(&FieldId::EVERY.exists_key())
    }

    /// All entries.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn all(&self) -> Result<EntrySet, IndexError> {
        collect(self.every()?)
    }

    /// The entries that do not match.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn complement(&self, matches: &Matches) -> Result<Matches, IndexError> {
        Ok(Matches::exactly(self.all()?).and_not(matches))
    }

    pub(super) fn set_builder(&self) -> SetBuilder {
        SetBuilder::new(EntryId(self.catalog.counters.next_entry))
    }

    fn term_key(&self, field: FieldId, term: Term<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        field.push_key(&mut key);
        self.field_info(field).analyzer().push_key(term, &mut key);
        key
    }

    fn find(&self, key: &[u8]) -> Result<Option<TermValue<'t>>, IndexError> {
        let Some(terms) = &self.terms else {
            return Ok(None);
        };
        terms
            .get(key)?
            .map(TermValue::parse)
            .transpose()
            .at(TERMS_TREE, key)
    }

    /// The posting list under a whole key; empty when there is none.
    pub(crate) fn postings_at(&self, key: &[u8]) -> Result<Postings<'t, P>, IndexError> {
        match self.find(key)? {
            Some(value) => Postings::open(value, self.postings),
            None => Ok(Postings::empty()),
        }
    }

    fn set_of(&self, key: &[u8]) -> Result<EntrySet, IndexError> {
        collect(self.postings_at(key)?)
    }

    /// Terms between two keys, ascending.
    pub(super) fn walk(
        &self,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> Result<TermWalk<'t, P>, IndexError> {
        TermWalk::new(self, low, high, Direction::Ascending)
    }
}

fn collect<P: PageRead + ?Sized>(mut postings: Postings<'_, P>) -> Result<EntrySet, IndexError> {
    let mut set = AscendingBuilder::default();
    loop {
        set.extend(postings.pending());
        if !postings.next_block()? {
            return Ok(set.finish());
        }
    }
}

/// Whether a whole key, field and class included, is one of a cut text.
pub(super) fn is_cut(key: &[u8]) -> bool {
    key.len() == 3 + TEXT_BYTES_CUT
}

fn as_matches(key: &[u8], set: EntrySet) -> Matches {
    if is_cut(key) {
        Matches::new(EntrySet::new(), &set)
    } else {
        Matches::exactly(set)
    }
}

//! Conditions on many terms: prefixes, suffixes, substrings, ranges of text and of numbers.
//!
//! Called by query execution. Each walks over the terms between two keys and unites their entries.
//!
//! Invariants:
//! - Every term looked at is counted against the caller's budget.
//! - Texts longer than 504 bytes give certain matches where their beginning decides, uncertain ones
//!   where it does not; see [`Matches`].
//!
//! Threads: as the reader.

use std::cmp::Ordering;
use std::ops::Bound;

use jackdaw_base::number::Number;
use jackdaw_base::time::instant_or_day;
use jackdaw_storage::PageRead;
use memchr::memmem::Finder;

use super::IndexReader;
use super::budget::Budget;
use super::column::Column;
use super::walk::{Direction, Piece, TermWalk, class_key, stored_term};
use crate::catalog::FieldId;
use crate::error::IndexError;
use crate::matches::Matches;
use crate::set::EntrySet;
use crate::term::{self, StoredTerm, StoredText, TEXT_BYTES_WHOLE_MAX, class};

/// What the kept part of a text says about a condition on all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The condition holds.
    Yes,
    /// The condition does not hold.
    No,
    /// Only the document can tell: the text is longer than what is kept.
    Unknown,
}

impl Verdict {
    pub(super) fn of(holds: bool) -> Verdict {
        if holds { Verdict::Yes } else { Verdict::No }
    }
}

impl<P: PageRead + ?Sized> IndexReader<'_, P> {
    /// The entries with a text that starts with `prefix`, which is analyzed first.
    ///
    /// # Errors
    /// [`IndexError::WalkLimit`], [`IndexError::Interrupted`], [`IndexError::Damaged`],
    /// [`IndexError::Storage`].
    pub fn prefix(
        &self,
        field: FieldId,
        prefix: &str,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let prefix = self.analyzed(field, prefix);
        let mut low = class_key(field, class::TEXT);
        low.extend_from_slice(&prefix[..prefix.len().min(TEXT_BYTES_WHOLE_MAX)]);
        let high = successor(&low);
        let high = high.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let reach = (Bound::Included(&low[..]), high);
        if prefix.len() <= TEXT_BYTES_WHOLE_MAX {
            return self.unite_all(reach, budget);
        }
        self.unite(reach, budget, |text| match text.is_cut() {
            true => Verdict::Unknown,
            false => Verdict::No,
        })
    }

    /// The entries with a text that ends with `suffix`, which is analyzed first. Looks at every
    /// text of the field.
    ///
    /// # Errors
    /// As [`prefix`](Self::prefix).
    pub fn suffix(
        &self,
        field: FieldId,
        suffix: &str,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let suffix = self.analyzed(field, suffix);
        self.text_where(field, budget, |text| match text.is_cut() {
            true => Verdict::Unknown,
            false => Verdict::of(text.as_bytes().ends_with(&suffix)),
        })
    }

    /// The entries with a text that contains `part`, which is analyzed first. Looks at every text
    /// of the field.
    ///
    /// # Errors
    /// As [`prefix`](Self::prefix).
    pub fn contains(
        &self,
        field: FieldId,
        part: &str,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let part = self.analyzed(field, part);
        let finder = Finder::new(&part);
        let (low, high) = (
            class_key(field, class::TEXT),
            class_key(field, class::TEXT + 1),
        );
        let reach = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        self.unite_with(&finder, reach, budget, |text| {
            match finder.find(text.as_bytes()).is_some() {
                false if text.is_cut() => Verdict::Unknown,
                found => Verdict::of(found),
            }
        })
    }

    /// The entries with a text for which `condition` holds; texts are given as analyzed. Looks at
    /// every text of the field.
    ///
    /// # Errors
    /// As [`prefix`](Self::prefix).
    pub fn text_where(
        &self,
        field: FieldId,
        budget: &mut Budget<'_>,
        condition: impl FnMut(StoredText<'_>) -> Verdict,
    ) -> Result<Matches, IndexError> {
        let (low, high) = (
            class_key(field, class::TEXT),
            class_key(field, class::TEXT + 1),
        );
        self.unite(
            (Bound::Included(&low), Bound::Excluded(&high)),
            budget,
            condition,
        )
    }

    /// The entries with a text between two, compared by bytes after analysis. Bounds in the wrong
    /// order give nothing.
    ///
    /// # Errors
    /// As [`prefix`](Self::prefix).
    pub fn text_range(
        &self,
        field: FieldId,
        low: Bound<&str>,
        high: Bound<&str>,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let low = low.map(|text| self.analyzed(field, text));
        let high = high.map(|text| self.analyzed(field, text));
        let low_key = match &low {
            Bound::Unbounded => Bound::Included(class_key(field, class::TEXT)),
            Bound::Included(text) => Bound::Included(text_key(field, text)),
            Bound::Excluded(text) if is_long(text) => Bound::Included(text_key(field, text)),
            Bound::Excluded(text) => Bound::Excluded(text_key(field, text)),
        };
        let high_key = match &high {
            Bound::Unbounded => Bound::Excluded(class_key(field, class::TEXT + 1)),
            // Everything that begins like the bound may lie below it.
            Bound::Included(text) | Bound::Excluded(text) if is_long(text) => {
                successor(&text_key(field, text)).map_or(Bound::Unbounded, Bound::Excluded)
            }
            Bound::Included(text) => Bound::Included(text_key(field, text)),
            Bound::Excluded(text) => Bound::Excluded(text_key(field, text)),
        };
        let reach = (
            low_key.as_ref().map(Vec::as_slice),
            high_key.as_ref().map(Vec::as_slice),
        );
        let has_long_bound = [&low, &high].iter().any(|bound| match bound {
            Bound::Included(text) | Bound::Excluded(text) => is_long(text),
            Bound::Unbounded => false,
        });
        if !has_long_bound {
            return self.unite_all(reach, budget);
        }
        self.unite(reach, budget, |text| {
            both(
                within(text, &low, Ordering::Greater),
                within(text, &high, Ordering::Less),
            )
        })
    }

    /// The entries with a point in time, or a day, between two; bounds and terms are written as
    /// [`jackdaw_base::time::canonical`] does, after analysis. Other texts in between do not count.
    ///
    /// # Errors
    /// As [`prefix`](Self::prefix).
    pub fn time_range(
        &self,
        field: FieldId,
        low: Bound<&str>,
        high: Bound<&str>,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let low = low.map(|text| text_key(field, &self.analyzed(field, text)));
        let high = high.map(|text| text_key(field, &self.analyzed(field, text)));
        let low = match low {
            Bound::Unbounded => Bound::Included(class_key(field, class::TEXT)),
            bound => bound,
        };
        let high = match high {
            Bound::Unbounded => Bound::Excluded(class_key(field, class::TEXT + 1)),
            bound => bound,
        };
        let reach = (
            low.as_ref().map(Vec::as_slice),
            high.as_ref().map(Vec::as_slice),
        );
        self.unite(reach, budget, |text| {
            let text = std::str::from_utf8(text.as_bytes());
            Verdict::of(text.is_ok_and(|text| instant_or_day(text).is_some()))
        })
    }

    /// The entries with a number between two, compared by true value. Bounds in the wrong order
    /// give nothing.
    ///
    /// # Errors
    /// As [`prefix`](Self::prefix).
    pub fn number_range(
        &self,
        field: FieldId,
        low: Bound<Number>,
        high: Bound<Number>,
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let (low, high) = number_keys(field, low, high);
        let reach = (
            low.as_ref().map(Vec::as_slice),
            high.as_ref().map(Vec::as_slice),
        );
        self.unite_all(reach, budget)
    }

    /// As [`number_range`](Self::number_range), by the column of the field's numbers, which is of
    /// this snapshot: the places of all entries are looked at, and no terms are walked over. `None`
    /// when entries have several numbers, and when walking over the terms is cheaper.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn number_range_by(
        &self,
        column: &Column,
        field: FieldId,
        low: Bound<Number>,
        high: Bound<Number>,
    ) -> Result<Option<EntrySet>, IndexError> {
        let places = self.places_between(column, field, low, high)?;
        Ok(places.and_then(|places| match places {
            Some(places) if column.is_worth_for(places) => Some(column.set_between(places)),
            Some(_) => None,
            None => Some(EntrySet::new()),
        }))
    }

    /// How many entries [`number_range_by`](Self::number_range_by) gives: two look-ups, whatever
    /// their number. `None` also when there was no memory for the counts.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn number_count_by(
        &self,
        column: &Column,
        field: FieldId,
        low: Bound<Number>,
        high: Bound<Number>,
    ) -> Result<Option<u64>, IndexError> {
        let places = self.places_between(column, field, low, high)?;
        Ok(places.and_then(|places| match places {
            Some(places) => column.count_between(places),
            None => Some(0),
        }))
    }

    /// Places of the first and the last number in a range, when there is one.
    #[expect(
        clippy::option_option,
        reason = "no range, and no column for it, are told apart"
    )]
    fn places_between(
        &self,
        column: &Column,
        field: FieldId,
        low: Bound<Number>,
        high: Bound<Number>,
    ) -> Result<Option<Option<(u32, u32)>>, IndexError> {
        if !column.is_single() {
            return Ok(None);
        }
        let (low, high) = number_keys(field, low, high);
        let mut ends = [0; 2];
        for (end, direction) in ends
            .iter_mut()
            .zip([Direction::Ascending, Direction::Descending])
        {
            let (low, high) = (
                low.as_ref().map(Vec::as_slice),
                high.as_ref().map(Vec::as_slice),
            );
            let mut walk = TermWalk::new(self, low, high, direction)?;
            let Some(term) = walk.next_term()? else {
                return Ok(Some(None));
            };
            if let Some(entry) = term.postings()?.next() {
                *end = column.place_of(entry?);
            }
        }
        let [first, last] = ends;
        Ok(Some((0 < first && first <= last).then_some((first, last))))
    }

    fn analyzed(&self, field: FieldId, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        self.field_info(field).analyzer().push_text(text, &mut out);
        out
    }

    /// Entries of all terms in reach.
    fn unite_all(
        &self,
        reach: (Bound<&[u8]>, Bound<&[u8]>),
        budget: &mut Budget<'_>,
    ) -> Result<Matches, IndexError> {
        let mut set = self.set_builder();
        let mut walk = self.walk(reach.0, reach.1)?;
        while walk.add_next_to(&mut set)? {
            budget.spend()?;
        }
        Ok(Matches::exactly(set.finish()))
    }

    /// As [`unite`](Self::unite) for a condition that no whole text passes that has not what is
    /// looked for: many texts are searched at once, and only those that have it are looked at.
    pub(super) fn unite_with(
        &self,
        looked_for: &Finder<'_>,
        reach: (Bound<&[u8]>, Bound<&[u8]>),
        budget: &mut Budget<'_>,
        mut condition: impl FnMut(StoredText<'_>) -> Verdict,
    ) -> Result<Matches, IndexError> {
        let (mut certain, mut possible) = (self.set_builder(), self.set_builder());
        let mut walk = self.walk(reach.0, reach.1)?;
        let mut piece = Piece::default();
        while walk.next_piece(&mut piece, budget)? {
            walk.visit_found(&piece, looked_for, |term| {
                let StoredTerm::Text(text) = term.term()? else {
                    return Ok(());
                };
                match condition(text) {
                    Verdict::Yes => term.add_to(&mut certain),
                    Verdict::No => Ok(()),
                    Verdict::Unknown => term.add_to(&mut possible),
                }
            })?;
        }
        Ok(Matches::new(certain.finish(), &possible.finish()))
    }

    /// Entries of the texts in reach, as `condition` says.
    pub(super) fn unite(
        &self,
        reach: (Bound<&[u8]>, Bound<&[u8]>),
        budget: &mut Budget<'_>,
        mut condition: impl FnMut(StoredText<'_>) -> Verdict,
    ) -> Result<Matches, IndexError> {
        let (mut certain, mut possible) = (self.set_builder(), self.set_builder());
        let mut walk = self.walk(reach.0, reach.1)?;
        while let Some(value) = walk.next_value()? {
            budget.spend()?;
            let StoredTerm::Text(text) = stored_term(walk.key())? else {
                continue;
            };
            match condition(text) {
                Verdict::Yes => walk.term_at(value)?.add_to(&mut certain)?,
                Verdict::No => {}
                Verdict::Unknown => walk.term_at(value)?.add_to(&mut possible)?,
            }
        }
        Ok(Matches::new(certain.finish(), &possible.finish()))
    }
}

/// Keys of a range of numbers.
fn number_keys(
    field: FieldId,
    low: Bound<Number>,
    high: Bound<Number>,
) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let key = |number: Number| {
        let mut key = Vec::new();
        field.push_key(&mut key);
        term::push_number_key(number, &mut key);
        key
    };
    let low = match low.map(key) {
        Bound::Unbounded => Bound::Included(class_key(field, class::NUMBER)),
        bound => bound,
    };
    let high = match high.map(key) {
        Bound::Unbounded => Bound::Excluded(class_key(field, class::NUMBER + 1)),
        bound => bound,
    };
    (low, high)
}

/// Key of a bound; long ones by what whole terms keep of them.
fn text_key(field: FieldId, text: &[u8]) -> Vec<u8> {
    let mut key = class_key(field, class::TEXT);
    key.extend_from_slice(&text[..text.len().min(TEXT_BYTES_WHOLE_MAX)]);
    key
}

fn is_long(text: &[u8]) -> bool {
    text.len() > TEXT_BYTES_WHOLE_MAX
}

/// The least key above all that begin with `key`.
pub(super) fn successor(key: &[u8]) -> Option<Vec<u8>> {
    let last = key.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut next = key[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// Order of a text and a bound; `None` when both are long and begin alike.
fn order(text: StoredText<'_>, bound: &[u8]) -> Option<Ordering> {
    let kept = &bound[..bound.len().min(TEXT_BYTES_WHOLE_MAX)];
    match (text.as_bytes().cmp(kept), text.is_cut(), is_long(bound)) {
        (Ordering::Equal, true, true) => None,
        (Ordering::Equal, true, false) => Some(Ordering::Greater),
        (Ordering::Equal, false, true) => Some(Ordering::Less),
        (order, ..) => Some(order),
    }
}

/// Whether a text lies within a bound on the side where `wanted` is.
fn within(text: StoredText<'_>, bound: &Bound<Vec<u8>>, wanted: Ordering) -> Verdict {
    let (bound, is_included) = match bound {
        Bound::Unbounded => return Verdict::Yes,
        Bound::Included(bound) => (bound, true),
        Bound::Excluded(bound) => (bound, false),
    };
    match order(text, bound) {
        Some(Ordering::Equal) => Verdict::of(is_included),
        Some(order) => Verdict::of(order == wanted),
        None => Verdict::Unknown,
    }
}

fn both(a: Verdict, b: Verdict) -> Verdict {
    match (a, b) {
        (Verdict::No, _) | (_, Verdict::No) => Verdict::No,
        (Verdict::Yes, Verdict::Yes) => Verdict::Yes,
        _ => Verdict::Unknown,
    }
}

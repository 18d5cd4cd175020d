//! Matches in the order of the terms of a field, as a walk over them meets them.
//!
//! Texts of which the index keeps only a beginning, and documents changed after the index saw them,
//! are put between by their documents.

use std::cmp::Ordering;
use std::ops::Bound;

use jackdaw_search::{
    Direction, EntryId, EntrySet, FieldId, IndexReader, StoredTerm, TermKind, TermWalk, WalkedTerm,
};
use jackdaw_storage::PageRead;
use rustc_hash::FxHashSet;

use super::super::ordered::{SortRow, best_rows};
use super::super::rows::Rows;
use super::super::{ExecuteOptions, budget};
use crate::error::QueryError;
use crate::order::{Computed, OrderKey, SortValue};
use crate::source::{ColumnAccess, Source};

/// The entries that are put in order.
pub(super) enum Among {
    /// All of an index that has seen every change; each has a value where those without come first.
    /// Their list is not read before those without a value are wanted.
    All,
    Set(EntrySet),
}

impl Among {
    fn contains(&self, entry: EntryId) -> bool {
        match self {
            Among::All => true,
            Among::Set(entries) => entries.contains(entry),
        }
    }
}

/// Gives matches to `rows` in the order of the terms of the first key.
pub(super) struct TermOrder<'o, 'r, S: Source> {
    pub(super) keys: &'o [OrderKey],
    pub(super) reader: &'o IndexReader<'o, S::Pages>,
    pub(super) field: FieldId,
    pub(super) kind: TermKind,
    pub(super) source: &'o S,
    pub(super) options: &'o ExecuteOptions<'o>,
    pub(super) columns: Option<ColumnAccess<'o>>,
    /// Matches whose terms in the index are theirs.
    pub(super) entries: Among,
    pub(super) tail: std::iter::Peekable<std::vec::IntoIter<SortRow>>,
    /// Entries given already: one with many values comes at its first.
    pub(super) given: FxHashSet<u64>,
    pub(super) left: u64,
    pub(super) rows: &'o mut Rows<'r, S>,
}

impl<S: Source> TermOrder<'_, '_, S> {
    /// Gives all that are wanted.
    pub(super) fn give_all(&mut self) -> Result<(), QueryError> {
        if self.keys[0].nulls_first && matches!(self.entries, Among::Set(_)) {
            self.give_without_value()?;
            return self.give_by_terms();
        }
        self.give_by_terms()?;
        self.give_without_value()
    }

    /// Matches with a value.
    fn give_by_terms(&mut self) -> Result<(), QueryError> {
        let direction = match self.keys[0].descending {
            true => Direction::Descending,
            false => Direction::Ascending,
        };
        let mut walk = self.reader.terms(self.field, self.kind, direction)?;
        let mut budget = budget(self.options);
        // Most terms are of other entries.
        let entries = match &self.entries {
            Among::All => None,
            Among::Set(entries) => Some(entries.clone()),
        };
        let mut entries = entries.as_ref().map(EntrySet::probe);
        // A cut text whose entries were taken with those of the texts that begin alike.
        let mut done: Option<Vec<u8>> = None;
        while self.left > 0 {
            let next = match &mut entries {
                Some(entries) => walk.next_within(entries, &mut budget)?,
                None => {
                    self.options.check()?;
                    walk.next_term()?
                }
            };
            let Some(term) = next else {
                break;
            };
            match term.term()? {
                StoredTerm::Text(text) if text.is_cut() => {
                    if done.as_deref() == Some(text.as_bytes()) {
                        continue;
                    }
                    let beginning = text.as_bytes().to_vec();
                    self.give_cut(&beginning)?;
                    done = Some(beginning);
                }
                StoredTerm::Text(text) => {
                    let value = SortValue::Text(text.to_text().into());
                    let group = self.group(&term)?;
                    self.give_group(&value, group)?;
                }
                StoredTerm::Number(number) => {
                    let group = self.group(&term)?;
                    self.give_group(&SortValue::Number(number), group)?;
                }
                StoredTerm::Null
                | StoredTerm::Point(_)
                | StoredTerm::Shape(_)
                | StoredTerm::Vector(_) => {}
            }
        }
        // Changed documents with values behind all terms.
        while self.left > 0
            && self
                .tail
                .peek()
                .is_some_and(|row| row.values[0] != SortValue::None)
        {
            self.give_tail_row()?;
        }
        Ok(())
    }

    /// The matches of a term that were not given yet.
    fn group(&mut self, term: &WalkedTerm<'_, '_, S::Pages>) -> Result<Vec<EntryId>, QueryError> {
        // All of a group is needed when other keys decide within it.
        let group_max = if self.keys.len() > 1 {
            u64::MAX
        } else {
            self.left
        };
        let mut group = Vec::new();
        for entry in term.postings()? {
            let entry = entry?;
            if self.entries.contains(entry) && !self.given.contains(&entry.0) {
                group.push(entry);
                if group.len() as u64 >= group_max {
                    break;
                }
            }
        }
        Ok(group)
    }

    /// Gives a group of entries that have `value`, with the changed documents before and among
    /// them.
    fn give_group(&mut self, value: &SortValue, group: Vec<EntryId>) -> Result<(), QueryError> {
        if group.is_empty() {
            return Ok(());
        }
        self.give_tail_before(value)?;
        let mut group = group;
        let key = &self.keys[0];
        let entry_count = group.len();
        while let Some(row) = self
            .tail
            .next_if(|row| key.compare(&row.values[0], value) == Ordering::Equal)
        {
            group.push(row.number.into());
        }
        if group.len() > entry_count {
            group.sort_unstable();
        }
        let keys = &self.keys[1..];
        self.give_sorted(keys, group)
    }

    /// Gives entries in the order of `keys`.
    fn give_sorted(&mut self, keys: &[OrderKey], group: Vec<EntryId>) -> Result<(), QueryError> {
        if keys.is_empty() || group.len() == 1 {
            for entry in group {
                self.give(entry)?;
            }
            return Ok(());
        }
        let set = EntrySet::from_ascending(group.iter().copied());
        for number in best_rows(
            keys,
            &set,
            self.left,
            self.source,
            self.options,
            &Computed::default(),
        )? {
            self.give(number.into())?;
        }
        // Those that were not among the best are past the page and must not come again.
        self.given.extend(group.iter().map(|entry| entry.0));
        Ok(())
    }

    /// Gives all matches with a text of this beginning, by their documents.
    fn give_cut(&mut self, beginning: &[u8]) -> Result<(), QueryError> {
        let mut group = Vec::new();
        // The whole text is in no term: the terms between are found by the walk of a prefix.
        let mut walk: TermWalk<'_, S::Pages> =
            self.reader
                .terms(self.field, self.kind, Direction::Ascending)?;
        while let Some(term) = walk.next_term()? {
            self.options.check()?;
            let StoredTerm::Text(text) = term.term()? else {
                continue;
            };
            match text.as_bytes().cmp(beginning) {
                Ordering::Less => continue,
                Ordering::Greater => break,
                Ordering::Equal if text.is_cut() => group.append(&mut self.group(&term)?),
                Ordering::Equal => {}
            }
        }
        let begins_so = |value: &SortValue| match value {
            SortValue::Text(text) => {
                text.len() > beginning.len() && text.as_bytes().starts_with(beginning)
            }
            _ => false,
        };
        while let Some(row) = self.tail.peek() {
            let SortValue::Text(text) = &row.values[0] else {
                break;
            };
            let is_member = begins_so(&row.values[0]);
            let order = text.as_bytes().cmp(beginning);
            let is_before = match self.keys[0].descending {
                true => order == Ordering::Greater && !is_member,
                false => order != Ordering::Greater,
            };
            if is_member {
                if let Some(row) = self.tail.next() {
                    group.push(row.number.into());
                }
            } else if is_before && self.left > 0 {
                self.give_tail_row()?;
            } else {
                break;
            }
        }
        group.sort_unstable();
        group.dedup();
        self.give_sorted(self.keys, group)
    }

    /// Changed documents whose value comes before `value`.
    fn give_tail_before(&mut self, value: &SortValue) -> Result<(), QueryError> {
        let key = &self.keys[0];
        while self.left > 0
            && self.tail.peek().is_some_and(|row| {
                row.values[0] != SortValue::None
                    && key.compare(&row.values[0], value) == Ordering::Less
            })
        {
            self.give_tail_row()?;
        }
        Ok(())
    }

    fn give_tail_row(&mut self) -> Result<(), QueryError> {
        match self.tail.next() {
            Some(row) => self.give(row.number.into()),
            None => Ok(()),
        }
    }

    fn give(&mut self, entry: EntryId) -> Result<(), QueryError> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        self.given.insert(entry.0);
        if self.rows.push(entry.into())?.is_break() {
            self.left = 0;
        }
        Ok(())
    }

    /// Those of `entries` that have no term of this kind in the field.
    fn without_value(&self, entries: &EntrySet) -> Result<EntrySet, QueryError> {
        let (reader, field) = (self.reader, self.field);
        if self.kind == TermKind::Number {
            let key = (field, self.kind);
            let column = match self.columns {
                Some(columns) => columns.read(reader, key, entries.len(), self.options)?,
                None => None,
            };
            if let Some(column) = column {
                return Ok(match column.entry_count() == reader.entry_count() {
                    true => EntrySet::new(),
                    false => entries.and_not(&column.entries()),
                });
            }
            let all = (Bound::Unbounded, Bound::Unbounded);
            let numbers = reader.number_range(field, all.0, all.1, &mut budget(self.options))?;
            return Ok(entries.and_not(&numbers.possible()));
        }
        let missing = entries.and_not(&reader.exists(field)?);
        // A null, a place or a vector is no text, but there may be one beside it.
        let doubtful = reader.null(field)?.or(&reader.unordered(field)?);
        let mut without_text = Vec::new();
        for entry in &entries.and(&doubtful) {
            if !has_text(reader, field, entry)? {
                without_text.push(entry);
            }
        }
        Ok(missing.or(&EntrySet::from_ascending(without_text)))
    }

    /// Matches without a value, the changed documents among them.
    fn give_without_value(&mut self) -> Result<(), QueryError> {
        if self.left == 0 {
            return Ok(());
        }
        let all;
        let entries = match &self.entries {
            Among::Set(entries) => entries,
            Among::All => {
                all = self.reader.all()?;
                &all
            }
        };
        let entries = self.without_value(entries)?;
        let mut group: Vec<EntryId> = entries.iter().collect();
        while let Some(row) = self.tail.next_if(|row| row.values[0] == SortValue::None) {
            group.push(row.number.into());
        }
        group.sort_unstable();
        let keys = &self.keys[1..];
        self.give_sorted(keys, group)
    }
}

/// Whether an entry has a text in the field.
fn has_text<P: PageRead + ?Sized>(
    reader: &IndexReader<'_, P>,
    field: FieldId,
    entry: EntryId,
) -> Result<bool, QueryError> {
    let Some(mut terms) = reader.entry_terms(entry)? else {
        return Ok(false);
    };
    while let Some(term) = terms.next_of(field)? {
        if matches!(term, StoredTerm::Text(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

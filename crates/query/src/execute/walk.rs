//! Ordering by walking what is in order already: the terms of the first key in the index, or the
//! ids of the database. No value of a document is read, and the walk ends with the page. Or by a
//! column of the key's terms, when the index has one in memory.
//!
//! A walk pays when the matches are a large part of the entries; otherwise most terms walked over
//! belong to entries that do not match, and sorting the matches is cheaper.
//!
//! Invariants:
//! - The order is that of `ordered::best_rows`. Texts of which the index keeps only a beginning,
//!   and documents changed after the index saw them, are ordered by their documents.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

use jackdaw_search::{
    Analyzer, Budget, Column, Direction, EntryId, EntrySet, FieldId, IndexReader, StoredTerm,
    TermKind, TermWalk, WalkedTerm,
};
use jackdaw_storage::PageRead;
use rustc_hash::FxHashSet;

use super::ExecuteOptions;
use super::index_set::IndexMatches;
use super::ordered::{Best, SortRow, best_rows};
use super::rows::Rows;
use crate::error::QueryError;
use crate::order::{Computed, OrderKey, OrderSource, SortValue};
use crate::plan::{Plan, walk_of};
use crate::source::{IndexRows, Scope, Source};

/// Looks at the interrupt flag once in so many ids.
const CHECK_TERMS: u64 = 256;

/// A walk is begun in spite of a column in memory when it is this many times shorter than it has to
/// be: values that go together with the condition make walks long.
const NEAR: u64 = 100;

/// Memory of a row that may be among the first: buffers hold twice as many as are wanted.
const ROW_BYTES: u64 = 64;

/// Gives the first `wanted` matches to `rows` in order; false when walking does not pay.
pub(super) fn stream<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    matches: &IndexMatches,
    wanted: u64,
    rows: &mut Rows<'_, S>,
) -> Result<bool, QueryError> {
    let keys = plan.query.order.as_slice();
    let Some((field, kind)) = keys.first().and_then(walk_of) else {
        return Ok(false);
    };
    let index = source.index();
    let Some(reader) = index.as_ref().and_then(|index| index.reader) else {
        return Ok(false);
    };
    let Some(field) = reader.field(&field.name()) else {
        return Ok(false);
    };
    // Sorting compares whole texts in lower case: terms have to be just that.
    let whole = Analyzer::LowercaseKeyword;
    if kind == TermKind::Text && reader.field_info(field).options().analyzer != whole {
        return Ok(false);
    }
    let (match_count, entry_count) = (matches.result.len(), reader.entry_count());
    let is_near = pays(match_count, entry_count.saturating_mul(NEAR), wanted);
    if let ([key], true, false) = (keys, matches.tail.is_empty(), is_near)
        && wanted.saturating_mul(ROW_BYTES) <= options.memory_bytes_max as u64
        && let Some(columns) = index.as_ref().and_then(|index| index.columns)
        && let Some(column) = columns.read(reader, (field, kind), match_count, options)?
    {
        let best = options.measured(
            || format!("{}, by a column in memory", plan.order_text()),
            "matches",
            |_| Some(match_count),
            || Ok::<_, QueryError>(first_of(&column, key, &matches.result, wanted)),
        )?;
        for entry in best {
            if rows.push(entry.into())?.is_break() {
                break;
            }
        }
        return Ok(true);
    }
    if !pays(match_count, entry_count, wanted) {
        return Ok(false);
    }
    let tail = match matches.tail.is_empty() {
        true => Vec::new(),
        false => options.measured(
            || "order changes that the index has not seen".into(),
            "matches",
            |_| Some(matches.tail.len()),
            || sorted_tail(keys, &matches.tail, wanted, source, options),
        )?,
    };
    let mut ordering = TermOrder {
        keys,
        reader,
        field,
        kind,
        source,
        options,
        entries: matches.result.and_not(&matches.tail),
        tail: tail.into_iter().peekable(),
        given: FxHashSet::default(),
        left: wanted,
        rows,
    };
    options.measured(
        || format!("{}, by walking the index", plan.order_text()),
        "rows",
        |_| None,
        || ordering.give_all(),
    )?;
    Ok(true)
}

/// The first `wanted` of `set` in the order of a key.
fn first_of(column: &Column, key: &OrderKey, set: &EntrySet, wanted: u64) -> Vec<EntryId> {
    let direction = match key.descending {
        true => Direction::Descending,
        false => Direction::Ascending,
    };
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    column.first_of(set, wanted, direction, key.nulls_first)
}

/// Gives the first `wanted` of `set` to `rows` in the order of their ids, which the database keeps
/// ascending; false when that is not the order asked for, or sorting is cheaper.
pub(super) fn stream_ids<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    set: &EntrySet,
    wanted: u64,
    rows: &mut Rows<'_, S>,
) -> Result<bool, QueryError> {
    // Ids lead to documents, not to entries.
    if plan.rows != IndexRows::Documents {
        return Ok(false);
    }
    // Ids differ, so keys behind this one never decide.
    match plan.query.order.first() {
        Some(OrderKey {
            source: OrderSource::Id,
            descending: false,
            ..
        }) => {}
        _ => return Ok(false),
    }
    let document_count = source.count(&Scope::All).map_err(QueryError::Source)?;
    if !pays(set.len(), document_count, wanted) {
        return Ok(false);
    }
    options.measured(
        || format!("{}, by walking the ids", plan.order_text()),
        "ids",
        |visited| Some(*visited),
        || walk_ids(source, options, set, wanted, rows),
    )?;
    Ok(true)
}

/// Gives matches in the order of ids; how many ids were passed.
fn walk_ids<S: Source>(
    source: &S,
    options: &ExecuteOptions<'_>,
    set: &EntrySet,
    wanted: u64,
    rows: &mut Rows<'_, S>,
) -> Result<u64, QueryError> {
    let (mut left, mut visited, mut result) = (wanted, 0_u64, Ok(()));
    source
        .visit_ids("", &mut |_, number| {
            visited += 1;
            let step = match visited.is_multiple_of(CHECK_TERMS) {
                true => options.check(),
                false => Ok(()),
            };
            let flow = step.and_then(|()| match set.contains(number.into()) {
                true => {
                    left -= 1;
                    rows.push(number)
                }
                false => Ok(ControlFlow::Continue(())),
            });
            match flow {
                Ok(ControlFlow::Continue(())) if left > 0 => ControlFlow::Continue(()),
                Ok(_) => ControlFlow::Break(()),
                Err(error) => {
                    result = Err(error);
                    ControlFlow::Break(())
                }
            }
        })
        .map_err(QueryError::Source)?;
    result.map(|()| visited)
}

/// A walk passes about `wanted * entry_count / match_count` terms, sorting reads `match_count`
/// documents; a term and a document cost about the same.
fn pays(match_count: u64, entry_count: u64, wanted: u64) -> bool {
    let (matches, entries) = (u128::from(match_count), u128::from(entry_count));
    u128::from(wanted) * entries <= matches * matches
}

/// The rows of changed documents, in order.
fn sorted_tail<S: Source>(
    keys: &[OrderKey],
    tail: &EntrySet,
    wanted: u64,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<Vec<SortRow>, QueryError> {
    let mut best = Best::new(keys, wanted, options);
    let mut values = Vec::with_capacity(keys.len());
    for entry in tail {
        options.check()?;
        if let Some(document) = source.document(entry.into()).map_err(QueryError::Source)? {
            values.extend(
                keys.iter()
                    .map(|key| key.value(&document, options.random_seed, &Computed::default())),
            );
            best.push(&mut values, entry.into())?;
        }
    }
    Ok(best.finish())
}

struct TermOrder<'o, 'r, S: Source> {
    keys: &'o [OrderKey],
    reader: &'o IndexReader<'o, S::Pages>,
    field: FieldId,
    kind: TermKind,
    source: &'o S,
    options: &'o ExecuteOptions<'o>,
    /// Matches whose terms in the index are theirs.
    entries: EntrySet,
    tail: std::iter::Peekable<std::vec::IntoIter<SortRow>>,
    /// Entries given already: one with many values comes at its first.
    given: FxHashSet<u64>,
    left: u64,
    rows: &'o mut Rows<'r, S>,
}

impl<S: Source> TermOrder<'_, '_, S> {
    /// Gives all that are wanted.
    fn give_all(&mut self) -> Result<(), QueryError> {
        if self.keys[0].nulls_first {
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
        let mut budget = match self.options.interrupt {
            Some(flag) => Budget::unlimited().interrupted_by(flag),
            None => Budget::unlimited(),
        };
        // Most terms are of other entries.
        let entries = self.entries.clone();
        let mut entries = entries.probe();
        // A cut text whose entries were taken with those of the texts that begin alike.
        let mut done: Option<Vec<u8>> = None;
        while self.left > 0 {
            let Some(term) = walk.next_within(&mut entries, &mut budget)? else {
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

    /// Matches without a value, the changed documents among them.
    fn give_without_value(&mut self) -> Result<(), QueryError> {
        if self.left == 0 {
            return Ok(());
        }
        let entries = without_value(self.reader, self.field, self.kind, &self.entries)?;
        let mut group: Vec<EntryId> = entries.iter().collect();
        while let Some(row) = self.tail.next_if(|row| row.values[0] == SortValue::None) {
            group.push(row.number.into());
        }
        group.sort_unstable();
        let keys = &self.keys[1..];
        self.give_sorted(keys, group)
    }
}

/// The entries that have no term of this kind in the field.
fn without_value<P: PageRead + ?Sized>(
    reader: &IndexReader<'_, P>,
    field: FieldId,
    kind: TermKind,
    entries: &EntrySet,
) -> Result<EntrySet, QueryError> {
    if kind == TermKind::Number {
        let mut budget = Budget::unlimited();
        let numbers =
            reader.number_range(field, Bound::Unbounded, Bound::Unbounded, &mut budget)?;
        return Ok(entries.and_not(&numbers.possible()));
    }
    let missing = entries.and_not(&reader.exists(field)?);
    let mut only_null = Vec::new();
    for entry in &entries.and(&reader.null(field)?) {
        if !has_text(reader, field, entry)? {
            only_null.push(entry);
        }
    }
    Ok(missing.or(&EntrySet::from_ascending(only_null)))
}

/// Whether an entry with a null has a text beside it.
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

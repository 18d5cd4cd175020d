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

mod terms;

use std::ops::ControlFlow;

use jackdaw_search::{
    Analyzer, Column, Direction, EntryId, EntrySet, FieldId, IndexReader, TermKind,
};
use jackdaw_storage::PageRead;
use rustc_hash::FxHashSet;

use self::terms::{Among, TermOrder};
use super::ExecuteOptions;
use super::index_set::{IndexMatches, matches_everything};
use super::ordered::{Best, SortRow};
use super::rows::Rows;
use crate::error::QueryError;
use crate::order::{Computed, OrderKey, OrderSource};
use crate::plan::{Access, Plan, walk_of};
use crate::source::{IndexAccess, IndexRows, Scope, Source};

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
    let index = source.index();
    let Some((reader, field, kind)) = walked_field(plan, index.as_ref()) else {
        return Ok(false);
    };
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
    let ordering = TermOrder {
        keys,
        reader,
        field,
        kind,
        source,
        options,
        entries: Among::Set(matches.result.and_not(&matches.tail)),
        tail: tail.into_iter().peekable(),
        given: FxHashSet::default(),
        left: wanted,
        rows,
    };
    give_all(plan, options, ordering)?;
    Ok(true)
}

/// Gives the first rows of a query without a condition in order, when the index has seen every
/// change and a page of the walk is short; their total. The list of all entries is not read.
pub(super) fn stream_everything<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    rows: &mut Rows<'_, S>,
) -> Result<Option<u64>, QueryError> {
    let index = source.index().filter(|_| plan.access == Access::Index);
    let Some((reader, field, kind)) = walked_field(plan, index.as_ref()) else {
        return Ok(None);
    };
    let is_computed =
        |key: &OrderKey| matches!(key.source, OrderSource::Score | OrderSource::Distance(_));
    if plan.query.order.iter().any(is_computed) {
        return Ok(None);
    }
    let (Some(wanted), Some(total)) = (rows.wanted(), matches_everything(plan, source)?) else {
        return Ok(None);
    };
    if wanted == 0 || wanted.saturating_mul(NEAR) > total {
        return Ok(None);
    }
    let ordering = TermOrder {
        keys: &plan.query.order,
        reader,
        field,
        kind,
        source,
        options,
        entries: Among::All,
        tail: Vec::new().into_iter().peekable(),
        given: FxHashSet::default(),
        left: wanted,
        rows,
    };
    give_all(plan, options, ordering)?;
    Ok(Some(total))
}

fn give_all<S: Source>(
    plan: &Plan<'_>,
    options: &ExecuteOptions<'_>,
    mut ordering: TermOrder<'_, '_, S>,
) -> Result<(), QueryError> {
    options.measured(
        || format!("{}, by walking the index", plan.order_text()),
        "rows",
        |()| None,
        || ordering.give_all(),
    )
}

/// The field of the first key, when its terms are in the order asked for.
fn walked_field<'i, P: PageRead + ?Sized>(
    plan: &Plan<'_>,
    index: Option<&IndexAccess<'i, P>>,
) -> Option<(&'i IndexReader<'i, P>, FieldId, TermKind)> {
    let (field, kind) = plan.query.order.first().and_then(walk_of)?;
    let reader = index.and_then(|index| index.reader)?;
    let field = reader.field(&field.name())?;
    // Sorting compares whole texts in lower case: terms have to be just that.
    let whole = Analyzer::LowercaseKeyword;
    let is_ordered = kind != TermKind::Text || reader.field_info(field).options().analyzer == whole;
    is_ordered.then_some((reader, field, kind))
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

//! Matches in the order of a field: by a walk over its terms or by its column, the shorter one.

use jackdaw_search::{
    Analyzer, Column, Direction, EntryId, EntrySet, FieldId, IndexReader, Term, TermKind,
};
use jackdaw_storage::PageRead;
use rustc_hash::FxHashSet;

use super::super::ExecuteOptions;
use super::super::index_set::{IndexMatches, matches_everything};
use super::super::ordered::{Best, SortRow};
use super::super::rows::Rows;
use super::terms::{Among, TermOrder};
use crate::error::QueryError;
use crate::order::{Computed, OrderKey, OrderSource};
use crate::plan::{Access, Plan, walk_of};
use crate::source::{ColumnAccess, IndexAccess, Source};

/// A walk is begun in spite of a column in memory when it is this many times shorter than it has to
/// be: values that go together with the condition make walks long.
const NEAR: u64 = 100;

/// Memory of a row that may be among the first: buffers hold twice as many as are wanted.
const ROW_BYTES: u64 = 64;

/// Gives the first `wanted` matches to `rows` in order; false when walking does not pay.
pub(in super::super) fn stream<S: Source>(
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
        columns: index.as_ref().and_then(|index| index.columns),
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
/// change, a page of the walk is short, and entries without a value are not in front; their total.
/// The list of all entries is not read.
pub(in super::super) fn stream_everything<S: Source>(
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
    let columns = index.as_ref().and_then(|index| index.columns);
    if plan.query.order[0].nulls_first && !all_have_values(reader, (field, kind), columns, options)?
    {
        return Ok(None);
    }
    let ordering = TermOrder {
        keys: &plan.query.order,
        reader,
        field,
        kind,
        source,
        options,
        columns,
        entries: Among::All,
        tail: Vec::new().into_iter().peekable(),
        given: FxHashSet::default(),
        left: wanted,
        rows,
    };
    give_all(plan, options, ordering)?;
    Ok(Some(total))
}

/// Whether every entry is known to have a value in the field.
fn all_have_values<P: PageRead + ?Sized>(
    reader: &IndexReader<'_, P>,
    (field, kind): (FieldId, TermKind),
    columns: Option<ColumnAccess<'_>>,
    options: &ExecuteOptions<'_>,
) -> Result<bool, QueryError> {
    let entry_count = reader.entry_count();
    if kind == TermKind::Text {
        let has_all = reader.exists_count(field)? == entry_count;
        let has_other = !reader.unordered(field)?.is_empty();
        return Ok(has_all && !has_other && reader.count(field, Term::Null)? == 0);
    }
    let column = match columns {
        Some(columns) => columns.read(reader, (field, kind), entry_count, options)?,
        None => None,
    };
    Ok(column.is_some_and(|column| column.entry_count() == entry_count))
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

/// A walk passes about `wanted * entry_count / match_count` terms, sorting reads `match_count`
/// documents; a term and a document cost about the same.
pub(super) fn pays(match_count: u64, entry_count: u64, wanted: u64) -> bool {
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

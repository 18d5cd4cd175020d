//! Matches without an order: from ids, from a scan, or from the index, as they come.

use std::cell::Cell;
use std::ops::ControlFlow;

use jackdaw_search::{EntrySet, SetBuilder};

use super::ExecuteOptions;
use super::index_set::{index_matches, matches_everything};
use super::rows::Rows;
use crate::error::QueryError;
use crate::evaluate::matches;
use crate::plan::{Access, Plan};
use crate::predicate::Predicate;
use crate::source::{Source, StoredDocument};
use jackdaw_model::{DocumentNumber, Etag};

/// Looks at the interrupt flag once in so many documents.
const CHECK_DOCUMENTS: u64 = 256;

/// Gives matches to `rows` in no particular order; the total when it is known.
pub(super) fn stream<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    rows: &mut Rows<'_, S>,
) -> Result<Option<u64>, QueryError> {
    if plan.access == Access::Index {
        if let Some(total) = everything(plan, source, options, rows)? {
            return Ok(Some(total));
        }
        let set = index_matches(plan, source, options)?.result;
        for entry in &set {
            if rows.push(entry.into())?.is_break() {
                break;
            }
        }
        return Ok(Some(set.len()));
    }
    let is_whole_scope =
        plan.access == Access::Scan && plan.query.predicate == Predicate::Everything;
    let stops_early =
        !rows.has_filter() && (is_whole_scope || matches!(plan.access, Access::IdPrefix(_)));
    let mut count = 0;
    let mut is_full = false;
    let flow = visit(plan, source, options, &mut |number| {
        count += 1;
        is_full = is_full || rows.push(number)?.is_break();
        Ok(match is_full && (stops_early || rows.has_filter()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    if rows.has_filter() {
        return Ok(Some(rows.filtered_count()));
    }
    if is_whole_scope {
        return Ok(Some(source.count(&plan.scope).map_err(QueryError::Source)?));
    }
    Ok(flow.is_continue().then_some(count))
}

/// Gives all entries of an index that has seen every change, when there is no condition, as far as
/// they are wanted; their number.
fn everything<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    rows: &mut Rows<'_, S>,
) -> Result<Option<u64>, QueryError> {
    let reader = source.index().and_then(|index| index.reader);
    let (Some(reader), Some(total)) = (reader, matches_everything(plan, source)?) else {
        return Ok(None);
    };
    options.measured(
        || "read the list of every entry".into(),
        "entries",
        |visited| Some(*visited),
        || {
            let mut visited = 0;
            for entry in reader.every()? {
                visited += 1;
                if rows.push(entry?.into())?.is_break() {
                    break;
                }
            }
            Ok::<_, QueryError>(visited)
        },
    )?;
    Ok(Some(total))
}

/// All matches as a set, for ordering. Not for [`Access::Index`].
pub(super) fn collect<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<EntrySet, QueryError> {
    let mut set = SetBuilder::new(DocumentNumber(0).into());
    let _ = visit(plan, source, options, &mut |number| {
        set.add(number.into());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(set.finish())
}

type Visit<'v> = dyn FnMut(DocumentNumber) -> Result<ControlFlow<()>, QueryError> + 'v;

fn visit<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    emit: &mut Visit<'_>,
) -> Result<ControlFlow<()>, QueryError> {
    let matches = Cell::new(0);
    let mut counted = |number| {
        matches.set(matches.get() + 1);
        emit(number)
    };
    options.measured(
        || plan.access_text(),
        "matches",
        |_| Some(matches.get()),
        || visit_now(plan, source, options, &mut counted),
    )
}

fn visit_now<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    emit: &mut Visit<'_>,
) -> Result<ControlFlow<()>, QueryError> {
    match &plan.access {
        Access::Nothing | Access::Index => Ok(ControlFlow::Continue(())),
        Access::Ids(ids) => {
            for id in ids {
                options.check()?;
                let found = source.document_by_id(id).map_err(QueryError::Source)?;
                if let Some(document) = found
                    && is_match(plan, &document)
                    && emit(document.number)?.is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        }
        Access::IdPrefix(prefix) => visit_prefix(plan, prefix, source, options, emit),
        Access::Scan => scan(plan, source, options, emit),
    }
}

fn is_match(plan: &Plan<'_>, document: &StoredDocument<'_>) -> bool {
    plan.scope.contains(document.collection) && matches(&plan.query.predicate, document)
}

fn visit_prefix<S: Source>(
    plan: &Plan<'_>,
    prefix: &str,
    source: &S,
    options: &ExecuteOptions<'_>,
    emit: &mut Visit<'_>,
) -> Result<ControlFlow<()>, QueryError> {
    let mut result = Ok(ControlFlow::Continue(()));
    let mut visited = 0_u64;
    source
        .visit_ids(prefix, &mut |id, number| {
            if !id.starts_with(prefix) {
                return ControlFlow::Break(());
            }
            visited += 1;
            result = match visited.is_multiple_of(CHECK_DOCUMENTS) {
                true => options.check(),
                false => Ok(()),
            }
            .and_then(|()| emit_if_match(plan, source, number, emit));
            match result {
                Ok(flow) => flow,
                Err(_) => ControlFlow::Break(()),
            }
        })
        .map_err(QueryError::Source)?;
    result
}

fn emit_if_match<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    number: DocumentNumber,
    emit: &mut Visit<'_>,
) -> Result<ControlFlow<()>, QueryError> {
    match source.document(number).map_err(QueryError::Source)? {
        Some(document) if is_match(plan, &document) => emit(number),
        _ => Ok(ControlFlow::Continue(())),
    }
}

fn scan<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    emit: &mut Visit<'_>,
) -> Result<ControlFlow<()>, QueryError> {
    let needs_document = plan.query.predicate != Predicate::Everything;
    let numbers = source
        .changed(&plan.scope, Etag(0))
        .map_err(QueryError::Source)?;
    for (visited, number) in (1_u64..).zip(numbers) {
        if visited.is_multiple_of(CHECK_DOCUMENTS) {
            options.check()?;
        }
        let number = number.map_err(QueryError::Source)?;
        let flow = match needs_document {
            true => emit_if_match(plan, source, number, emit)?,
            false => emit(number)?,
        };
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

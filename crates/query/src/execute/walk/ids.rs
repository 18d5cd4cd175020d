//! Matches in the order of their ids, as the database keeps them.

use std::ops::ControlFlow;

use jackdaw_search::EntrySet;

use super::super::ExecuteOptions;
use super::super::rows::Rows;
use super::by_terms::pays;
use crate::error::QueryError;
use crate::order::{OrderKey, OrderSource};
use crate::plan::Plan;
use crate::source::{IndexRows, Source};
use jackdaw_model::Scope;

/// Looks at the interrupt flag once in so many ids.
const CHECK_TERMS: u64 = 256;

/// Gives the first `wanted` of `set` to `rows` in the order of their ids, which the database keeps
/// ascending; false when that is not the order asked for, or sorting is cheaper.
pub(in super::super) fn stream_ids<S: Source>(
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

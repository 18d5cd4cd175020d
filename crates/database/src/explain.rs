//! `explain` and `explain analyze`: what a query does, in place of its rows.
//!
//! Called by `query`. The answer is one row with the plan, or with the costs of the run, as text
//! for people and as members for programs, so that every client can ask for it.

use jackdaw_document::{DocumentBuf, Limits};
use jackdaw_model::DocumentNumber;
use jackdaw_query::syntax::Explain;
use jackdaw_query::{BoxError, Costs, Explanation, Outcome, QueryError, RowSink, StoredDocument};

use crate::query::{QueryResult, Wanted};

/// Runs `answer` as asked and gives what is to be told of it to `sink` as the only row.
///
/// # Errors
/// Those of the query, and of `sink`.
pub(crate) fn explain(
    asked: Explain,
    clock: &dyn Fn() -> u64,
    sink: &mut dyn RowSink,
    answer: impl Fn(Wanted<'_>, &mut dyn RowSink) -> Result<QueryResult, QueryError>,
) -> Result<QueryResult, QueryError> {
    let (mut result, steps) = match asked {
        Explain::Plan => (answer(Wanted::Plan, &mut Nowhere)?, None),
        Explain::Analyze => {
            let costs = Costs::new(clock);
            let rows = |result: &QueryResult| Some(result.outcome.row_count);
            let run = || answer(Wanted::Costs(&costs), &mut Nowhere);
            let result = costs.measured("query", "rows", rows, run)?;
            (result, Some(costs.into_steps()))
        }
    };
    let explanation = Explanation {
        plan: result.plan.clone(),
        index_name: result.index_name.clone(),
        is_stale: result.is_stale,
        lag: result.lag,
        steps,
    };
    give(&explanation.to_json(), sink)?;
    // The rest of it is about rows that nobody gets.
    result.outcome = Outcome {
        row_count: 1,
        total_results: Some(1),
        ..Outcome::default()
    };
    Ok(result)
}

fn give(json: &[u8], sink: &mut dyn RowSink) -> Result<(), QueryError> {
    let body = DocumentBuf::from_json(json, &Limits::default());
    let body = body.map_err(|error| QueryError::Source(Box::new(error)))?;
    let row = StoredDocument::made(DocumentNumber(0), body.document());
    sink.row(&row, json).map_err(QueryError::Sink)
}

/// Where the rows of an explained query go.
struct Nowhere;

impl RowSink for Nowhere {
    fn row(&mut self, _document: &StoredDocument<'_>, _json: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }

    fn include(&mut self, _id: &str, _json: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }
}

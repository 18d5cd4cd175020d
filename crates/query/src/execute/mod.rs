//! Runs a plan: candidates, order, page, rows.
//!
//! [`execute`] is the entry. `index_set` answers conditions from an index, `candidates` from ids
//! and scans, `ordered` and `walk` put matches in order, `rows` filters, pages and writes them.
//!
//! Invariants:
//! - The result is what evaluating the condition on every document of the snapshot gives: changes
//!   that an automatic index has not seen are evaluated here. Over a static index it is as of what
//!   the index has seen.
//! - Totals are exact, or said to be unknown. Nothing is left out silently: a limit is an error.
//!
//! Threads: one; the interrupt flag may be raised from any.

mod aggregated;
mod buffer;
mod candidates;
mod counted;
mod custom;
mod index_set;
mod ordered;
mod ranked;
mod rows;
mod score;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use buffer::RowBuffer;

pub(crate) use index_set::{IndexSets, evaluate_entries};

use jackdaw_document::Value;
use jackdaw_script::sorter::Sorter;
use jackdaw_search::Budget;

use crate::costs::Costs;
use crate::error::{BoxError, QueryError};
use crate::groups::GroupSource;
use crate::highlight::Highlightings;
use crate::memory::{Charge, QueryMemory};
use crate::plan::Plan;
use crate::source::{Source, StoredDocument};

/// Bounds of one execution.
#[derive(Clone, Copy, Debug)]
pub struct ExecuteOptions<'a> {
    /// Stops the query soon after it became true: time is up, or the caller went away.
    pub interrupt: Option<&'a AtomicBool>,
    /// Most memory of one step, such as sorting or telling distinct rows apart, in bytes.
    pub memory_bytes_max: usize,
    /// What all steps are counted by, together with other queries.
    pub memory: Option<&'a QueryMemory<'a>>,
    /// Seed of `random()` without one.
    pub random_seed: u64,
    /// Takes notes of what each step costs.
    pub costs: Option<&'a Costs<'a>>,
    /// Gives time series inside rows a `@metadata` of their own, by which clients know them.
    pub marks_series: bool,
    /// What [`BoundQuery::find_sorters`](crate::BoundQuery::find_sorters) gave for the query.
    pub sorters: &'a [Arc<Sorter>],
}

impl Default for ExecuteOptions<'_> {
    /// No interrupt, 256 MiB, seed 0, no notes.
    fn default() -> Self {
        ExecuteOptions {
            interrupt: None,
            memory_bytes_max: 256 * 1024 * 1024,
            memory: None,
            random_seed: 0,
            costs: None,
            marks_series: false,
            sorters: &[],
        }
    }
}

impl<'a> ExecuteOptions<'a> {
    /// The row that was made is gone.
    pub(crate) fn end_row(&self) {
        if let Some(memory) = self.memory {
            memory.end_row();
        }
    }

    /// Counts what a step keeps in memory.
    pub(crate) fn charge(&self, what: &'static str, advice: &'static str) -> Charge<'a> {
        Charge::new(self.memory, self.memory_bytes_max, what, advice)
    }
}

impl ExecuteOptions<'_> {
    /// An error when the interrupt flag is raised.
    pub(crate) fn check(&self) -> Result<(), QueryError> {
        match self.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(QueryError::Stopped),
            _ => Ok(()),
        }
    }
}

/// A budget that ends with the interrupt flag of `options` alone.
pub(crate) fn budget<'a>(options: &ExecuteOptions<'a>) -> Budget<'a> {
    match options.interrupt {
        Some(flag) => Budget::unlimited().interrupted_by(flag),
        None => Budget::unlimited(),
    }
}

/// Takes the rows of a result as they are made.
pub trait RowSink {
    /// One row, as JSON, and the document it is of.
    ///
    /// # Errors
    /// Whatever keeps the receiver from taking more: it ends the query.
    fn row(&mut self, document: &StoredDocument<'_>, json: &[u8]) -> Result<(), BoxError>;

    /// Whether rows that are there in binary form come through [`value`](RowSink::value): whole
    /// documents, results of a reduce, and what scripts made. The others are made as JSON.
    fn takes_values(&self) -> bool {
        false
    }

    /// One row in binary form, without the `@metadata` that its JSON has.
    ///
    /// # Errors
    /// As [`row`](RowSink::row).
    fn value(&mut self, document: &StoredDocument<'_>, value: Value<'_>) -> Result<(), BoxError> {
        let mut json = Vec::new();
        value.write_json(&mut json);
        self.row(document, &json)
    }

    /// One included document, as JSON, after all rows. Each id comes once.
    ///
    /// # Errors
    /// As [`row`](RowSink::row).
    fn include(&mut self, id: &str, json: &[u8]) -> Result<(), BoxError>;
}

/// What is told about a result beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of matches, of which the page is a part; `None` when the query stopped at the end of
    /// its page without knowing (a prefix of ids).
    pub total_results: Option<u64>,
    /// Rows given.
    pub row_count: u64,
    /// Matches passed because a distinct row was there already, or by the filter.
    pub skipped_results: u64,
    /// Matches looked at by the filter.
    pub scanned_results: u64,
    /// Rows the page of the text leaves, when the text has `limit` or `offset`.
    pub capped_max_results: Option<u64>,
    /// Paths of `include`, when there are any.
    pub included_paths: Option<Vec<String>>,
    /// Keys of compare-exchange that scripts asked to include, each once.
    pub included_keys: BTreeSet<String>,
    /// Names of the fields of rows that are time series, when the query asks for time series.
    pub series_fields: Option<Vec<String>>,
    /// Fragments of texts, for `include highlight(...)`.
    pub highlightings: Option<Highlightings>,
    /// For each id what its score is made of, for `include explanations()`.
    pub explanations: Option<BTreeMap<String, Vec<String>>>,
    /// Whether the query asks how long its parts took.
    pub has_timings: bool,
    /// Whether rows are facets or suggestions instead of matches.
    pub is_aggregated: bool,
}

/// Runs `plan` on the source it was made for and gives its rows to `sink`.
///
/// # Errors
/// Any of [`QueryError`] that is about running; rows given before it do not count.
pub fn execute<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, QueryError> {
    let Some(grouping) = &plan.query.grouping else {
        return run(plan, source, options, sink);
    };
    let groups = GroupSource {
        groups: grouping.groups(&plan.scope, source, plan.query.reads_others(), options)?,
        inner: source,
    };
    run(&plan.over_groups(), &groups, options, sink)
}

fn run<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, QueryError> {
    if let Some(outcome) = aggregated::run(plan, source, options, sink)? {
        return Ok(outcome);
    }
    let mut rows = rows::Rows::new(plan, source, options, sink);
    let total = match counted::count(plan, source, options, &rows)? {
        Some(count) => Some(count),
        None if plan.query.order.is_empty() => {
            candidates::stream(plan, source, options, &mut rows)?
        }
        None => ordered::stream(plan, source, options, &mut rows)?,
    };
    let outcome = rows.finish(total)?;
    options.rows_written(plan.rows_text(), outcome.row_count);
    Ok(outcome)
}

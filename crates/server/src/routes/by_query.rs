//! What deleting and patching by query share: options, the operation, finding, batches.
//!
//! The query is read at once, so that a mistake in it is told at once; finding and changing go on
//! as an operation whose number the client gets. What is found is noted first, so that no change is
//! met again; then documents are changed in batches, each a transaction. When the operation ends
//! early, what was changed stays changed.
//!
//! Used by `delete_by_query` and `patch_by_query`.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use jackdaw_database::{
    BoxError, Chain, Command, CommandResult, Database, QueryRequest, RowSink, StoredDocument,
    WriteError,
};
use jackdaw_query::syntax::Query;
use serde_json::json;

use super::asked::{Asked, WAIT_DEFAULT};
use super::failure;
use super::operations::{Detail, Progress};
use crate::http::{Call, Outcome, Reply, panicked};
use crate::wire::{WireError, kind, parse_time_span};

/// Batches that may be on their way when another is handed over: the writer has the next one at
/// hand when it is through with one.
const BATCHES_AHEAD: usize = 1;

/// What the client asked for, beside the query.
#[derive(Clone, Copy)]
pub(super) struct Options {
    pub(super) details: bool,
    /// Documents in a second at most.
    rate_max: Option<usize>,
}

impl Options {
    /// Reads them from the URL; the query is told how long it may wait for its index.
    pub(super) fn read(call: &Call, asked: &mut Asked) -> Options {
        let query = call.query();
        if !query.flag("allowStale") {
            let timeout = query
                .filled("staleTimeout")
                .and_then(|text| parse_time_span(&text));
            asked.wait = Some(timeout.unwrap_or(WAIT_DEFAULT));
        }
        let rate_max = query
            .number("maxOpsPerSec")
            .and_then(|rate| usize::try_from(rate).ok());
        Options {
            details: query.flag("details"),
            rate_max: rate_max.filter(|rate| *rate > 0),
        }
    }

    /// Documents of one transaction.
    fn batch_len(&self, most: usize) -> usize {
        self.rate_max.map_or(most, |rate| rate.min(most))
    }

    /// Starts `work` as an operation and answers with its number.
    pub(super) fn begin(
        &self,
        call: &Call,
        database: &Arc<Database>,
        description: String,
        work: impl FnOnce(&Database, &Progress) + Send + 'static,
    ) -> Outcome {
        let operations = &call.shared.operations;
        let (number, progress) = operations.begin(database.id().as_str(), description);
        let database = Arc::clone(database);
        tokio::task::spawn_blocking(move || {
            let work = AssertUnwindSafe(|| work(&database, &progress));
            if catch_unwind(work).is_err() {
                progress.fail(&panicked());
            }
        });
        let body = json!({ "OperationId": number, "OperationNodeTag": call.node_tag() });
        Ok(Reply::value(&body))
    }
}

/// Refuses `?snapshot=`: what is found there may be another document now.
pub(super) fn refuse_snapshot(call: &Call) -> Result<(), WireError> {
    if !call.query().has("snapshot") {
        return Ok(());
    }
    let message = "A snapshot cannot be changed: leave 'snapshot' out of the URL.";
    Err(WireError::new(kind::ARGUMENT, message))
}

/// Refuses a `filter` clause, as the reference does.
pub(super) fn refuse_filter(query: &Query) -> Result<(), WireError> {
    if query.filter.is_none() {
        return Ok(());
    }
    let message = "Filter clause is not supported for PATCH/DELETE by query operation. Please \
                   use WHERE clause instead.";
    Err(WireError::new(kind::NOT_SUPPORTED, message))
}

/// The ids of everything the query finds; `is_patch` says that it ends with `update`.
pub(super) fn find(
    database: &Database,
    asked: &Asked,
    is_patch: bool,
) -> Result<Vec<String>, WireError> {
    let request = QueryRequest {
        without_rows: true,
        is_patch,
        ..asked.request()
    };
    let mut ids = Ids(Vec::new());
    database
        .query(&request, &mut ids)
        .map_err(|error| failure::query(&error, asked))?;
    Ok(ids.0)
}

/// Carries out the commands that `commands` makes of the ids, at most `batch_documents` of them in
/// a transaction, and hands every result to `note`; `false` when the operation was cancelled.
///
/// A batch is made while the ones before are stored. None is stored behind one that failed.
pub(super) fn change_each(
    database: &Database,
    ids: &[String],
    batch_documents: usize,
    options: Options,
    progress: &Progress,
    mut commands: impl FnMut(&[String]) -> Vec<Command>,
    note: impl FnMut(CommandResult),
) -> Result<bool, WireError> {
    progress.report(0, ids.len());
    let batch_len = options.batch_len(batch_documents);
    let mut outcomes = Outcomes {
        chain: Chain::default(),
        waiting: VecDeque::new(),
        done: 0,
        note,
    };
    for (slot, batch) in ids.chunks(batch_len).enumerate() {
        if progress.is_cancelled() {
            outcomes.take(0)?;
            return Ok(false);
        }
        let commands = commands(batch);
        outcomes.take(BATCHES_AHEAD)?;
        outcomes.submit(database, commands);
        if options.rate_max.is_some() {
            outcomes.take(0)?;
        }
        progress.report(outcomes.done, ids.len());
        pace(options, slot, batch_len, ids.len());
    }
    outcomes.take(0)?;
    Ok(true)
}

/// What becomes of batches that are being stored, in their order.
struct Outcomes<N> {
    chain: Chain,
    waiting: VecDeque<mpsc::Receiver<Result<Vec<CommandResult>, WriteError>>>,
    done: usize,
    note: N,
}

impl<N: FnMut(CommandResult)> Outcomes<N> {
    fn submit(&mut self, database: &Database, commands: Vec<Command>) {
        let (sender, receiver) = mpsc::sync_channel(1);
        database.submit_batch_in(&self.chain, commands, move |outcome| {
            // That nobody waits any more is no failure.
            drop(sender.send(outcome));
        });
        self.waiting.push_back(receiver);
    }

    /// Waits until no more than so many are on their way; after a failure, until none is.
    fn take(&mut self, left: usize) -> Result<(), WireError> {
        while self.waiting.len() > left {
            self.take_first().map_err(|error| {
                let rest = std::iter::from_fn(|| self.take_first_if_any());
                // What failed may be told after what was not stored for its sake.
                let cause = rest
                    .filter_map(Result::err)
                    .find(|error| !matches!(error, WriteError::EarlierBatch));
                match (error, cause) {
                    (WriteError::EarlierBatch, Some(cause)) => failure::write(&cause),
                    (error, _) => failure::write(&error),
                }
            })?;
        }
        Ok(())
    }

    fn take_first_if_any(&mut self) -> Option<Result<(), WriteError>> {
        (!self.waiting.is_empty()).then(|| self.take_first())
    }

    fn take_first(&mut self) -> Result<(), WriteError> {
        let Some(receiver) = self.waiting.pop_front() else {
            return Ok(());
        };
        let results = receiver
            .recv()
            .unwrap_or_else(|_| Err(WriteError::lost()))?;
        self.done += results.len();
        results.into_iter().for_each(&mut self.note);
        Ok(())
    }
}

/// Waits after a batch as long as the rate asks for.
fn pace(options: Options, slot: usize, batch_len: usize, total: usize) {
    let is_last = (slot + 1) * batch_len >= total;
    if let Some(rate) = options.rate_max.filter(|_| !is_last) {
        let share = u32::try_from(rate / batch_len).unwrap_or(u32::MAX).max(1);
        std::thread::sleep(Duration::from_secs(1) / share);
    }
}

/// What was done: how many documents, and their details when they were asked for.
pub(super) type Done = (usize, Vec<Detail>);

/// Tells the operation how it ended; `None` when it was cancelled.
pub(super) fn finish(progress: &Progress, outcome: Result<Option<Done>, WireError>) {
    match outcome {
        Ok(Some((total, details))) => progress.complete(total, details),
        Ok(None) => progress.cancel(),
        Err(error) => progress.fail(&error),
    }
}

/// Keeps the ids of a result and nothing else.
struct Ids(Vec<String>);

impl RowSink for Ids {
    fn row(&mut self, document: &StoredDocument<'_>, _json: &[u8]) -> Result<(), BoxError> {
        self.0.push(document.id.to_owned());
        Ok(())
    }

    fn include(&mut self, _id: &str, _json: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }
}

//! What deleting and patching by query share: options, the operation, finding, batches.
//!
//! The query is read at once, so that a mistake in it is told at once; finding and changing go on
//! as an operation whose number the client gets. What is found is noted first, so that no change is
//! met again; then documents are changed in batches, each a transaction. When the operation ends
//! early, what was changed stays changed.
//!
//! Used by `delete_by_query` and `patch_by_query`.

use std::collections::VecDeque;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use jackdaw_database::{
    BoxError, Command, CommandResult, Database, QueryRequest, RowSink, StoredDocument, WriteError,
};
use jackdaw_query::syntax::Query;
use serde_json::json;

use super::asked::{Asked, WAIT_DEFAULT};
use super::cluster::NODE_TAG;
use super::failure;
use super::operations::{Detail, Progress};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind, parse_time_span};

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
        tokio::task::spawn_blocking(move || work(&database, &progress));
        let body = json!({ "OperationId": number, "OperationNodeTag": NODE_TAG });
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

/// Changes of one transaction.
pub(super) struct Changes {
    pub(super) commands: Vec<Command>,
    /// Whether none of them can be refused: the next batch need not wait for the outcome.
    pub(super) is_sure: bool,
}

/// Carries out the changes that `changes` makes of the ids, at most `batch_documents` of them in a
/// transaction, and hands every result to `note`; `false` when the operation was cancelled.
///
/// A batch is made while the one before is stored. It is handed over when that is stored, or at
/// once if neither can be refused; so nothing is changed behind what was refused.
pub(super) fn change_each(
    database: &Database,
    ids: &[String],
    batch_documents: usize,
    options: Options,
    progress: &Progress,
    mut changes: impl FnMut(&[String]) -> Changes,
    mut note: impl FnMut(CommandResult),
) -> Result<bool, WireError> {
    let batch_len = options.batch_len(batch_documents);
    let mut under_way = UnderWay::default();
    let mut done = 0;
    let mut settle = |under_way: &mut UnderWay, left: usize| -> Result<(), WireError> {
        while under_way.0.len() > left {
            let results = under_way.next()?;
            done += results.len();
            results.into_iter().for_each(&mut note);
            progress.report(done, ids.len());
        }
        Ok(())
    };
    let mut was_sure = true;
    for (slot, batch) in ids.chunks(batch_len).enumerate() {
        if progress.is_cancelled() {
            settle(&mut under_way, 0)?;
            return Ok(false);
        }
        let Changes { commands, is_sure } = changes(batch);
        let ahead = if is_sure && was_sure {
            BATCHES_AHEAD
        } else {
            0
        };
        settle(&mut under_way, ahead)?;
        under_way.submit(database, commands);
        was_sure = is_sure;
        pace(options, slot, batch_len, ids.len());
    }
    settle(&mut under_way, 0)?;
    Ok(true)
}

/// Batches that may be on their way when another is handed over.
const BATCHES_AHEAD: usize = 1;

/// Outcomes of batches that are being stored, in their order.
#[derive(Default)]
struct UnderWay(VecDeque<mpsc::Receiver<Result<Vec<CommandResult>, WriteError>>>);

impl UnderWay {
    fn submit(&mut self, database: &Database, commands: Vec<Command>) {
        let (sender, receiver) = mpsc::sync_channel(1);
        database.submit_batch(commands, move |outcome| {
            // Nobody waits for it when a batch before was refused.
            drop(sender.send(outcome));
        });
        self.0.push_back(receiver);
    }

    /// Waits for the first.
    fn next(&mut self) -> Result<Vec<CommandResult>, WireError> {
        let Some(receiver) = self.0.pop_front() else {
            return Ok(Vec::new());
        };
        match receiver.recv() {
            Ok(outcome) => outcome.map_err(|error| failure::write(&error)),
            Err(_) => Err(WireError::new(
                kind::UNEXPECTED,
                "The outcome of a batch was lost: whether it was stored is not known.",
            )),
        }
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

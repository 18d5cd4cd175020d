//! `DELETE /databases/*/queries`: deletes whatever a query finds.
//!
//! The query is read at once, so that a mistake in it is told at once; finding and deleting go on
//! as an operation whose number the client gets. Documents are deleted in batches, each a
//! transaction: when the operation ends early, what was deleted stays deleted.

use std::time::Duration;

use jackdaw_database::{
    BoxError, Command, CommandResult, Database, QueryError, QueryRequest, RowSink, StoredDocument,
};
use jackdaw_query::syntax;
use serde_json::json;

use super::asked::{Asked, WAIT_DEFAULT};
use super::cluster::NODE_TAG;
use super::failure;
use super::operations::Progress;
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind, parse_time_span};

/// Documents deleted by one transaction.
const BATCH_DOCUMENTS: usize = 1024;

/// What the client asked for, beside the query.
#[derive(Clone, Copy)]
struct Options {
    details: bool,
    /// Deletions in a second at most.
    rate_max: Option<usize>,
}

/// `DELETE /databases/*/queries?allowStale=&staleTimeout=&maxOpsPerSec=&details=`
pub(super) fn start(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut asked = Asked::from_body(call)?;
    let parsed = syntax::parse(&asked.text);
    let parsed = parsed.map_err(|error| failure::query(&QueryError::Syntax(error), &asked))?;
    if parsed.filter.is_some() {
        let message = "Filter clause is not supported for PATCH/DELETE by query operation. Please \
                       use WHERE clause instead.";
        return Err(WireError::new(kind::NOT_SUPPORTED, message));
    }
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
    let options = Options {
        details: query.flag("details"),
        rate_max: rate_max.filter(|rate| *rate > 0),
    };
    let description = format!("Deletes what is found by: {}", asked.text);
    let operations = &call.shared.operations;
    let (number, progress) = operations.begin(database.id().as_str(), description);
    tokio::task::spawn_blocking(move || run(&database, &asked, options, &progress));
    let body = json!({ "OperationId": number, "OperationNodeTag": NODE_TAG });
    Ok(Reply::value(&body))
}

fn run(database: &Database, asked: &Asked, options: Options, progress: &Progress) {
    let outcome = find(database, asked).and_then(|ids| delete(database, ids, options, progress));
    match outcome {
        Ok(Some(ids)) => {
            let total = ids.len();
            progress.complete(total, if options.details { ids } else { Vec::new() });
        }
        Ok(None) => progress.cancel(),
        Err(error) => progress.fail(&error),
    }
}

/// The ids of everything the query finds.
fn find(database: &Database, asked: &Asked) -> Result<Vec<String>, WireError> {
    let request = QueryRequest {
        without_rows: true,
        ..asked.request()
    };
    let mut ids = Ids(Vec::new());
    database
        .query(&request, &mut ids)
        .map_err(|error| failure::query(&error, asked))?;
    Ok(ids.0)
}

/// Deletes; gives the ids that were deleted, or `None` when the operation was cancelled.
fn delete(
    database: &Database,
    ids: Vec<String>,
    options: Options,
    progress: &Progress,
) -> Result<Option<Vec<String>>, WireError> {
    let total = ids.len();
    let batch_len = options
        .rate_max
        .map_or(BATCH_DOCUMENTS, |rate| rate.min(BATCH_DOCUMENTS));
    let mut deleted = Vec::new();
    for (slot, batch) in ids.chunks(batch_len).enumerate() {
        if progress.is_cancelled() {
            return Ok(None);
        }
        progress.report(slot * batch_len, total);
        let commands = batch.iter().map(|id| Command::Delete {
            id: id.clone(),
            expected: None,
        });
        let results = database.batch(commands.collect());
        let results = results.map_err(|error| failure::write(&error))?;
        deleted.extend(results.into_iter().filter_map(|result| match result {
            CommandResult::Delete { id, deleted: true } => Some(id),
            _ => None,
        }));
        let is_last = (slot + 1) * batch_len >= total;
        if let Some(rate) = options.rate_max.filter(|_| !is_last) {
            let share = u32::try_from(rate / batch_len).unwrap_or(u32::MAX).max(1);
            std::thread::sleep(Duration::from_secs(1) / share);
        }
    }
    Ok(Some(deleted))
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

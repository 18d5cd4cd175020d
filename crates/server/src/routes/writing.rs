//! Handing changes to a database without holding a thread while they become durable.
//!
//! Called by `documents` and `batch`. Small bodies are read on the connection's task; large ones on
//! the blocking pool. The database answers on a thread of its own once the transaction is durable.
//! A change that comes alone is made on the connection's own thread while durable writes are short:
//! waking threads of the database and the task again would take longer.

use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use jackdaw_database::{Command, CommandResult, Database, GuardedDocument, WriteError};
use tokio::sync::oneshot;

use super::failure;
use crate::http::{BodyPlace, Call, Cut, placed};
use crate::wire::{WireError, format_time_span, kind, parse_time_span};

/// Documents up to this, all together, are told without being counted.
const FEW_BYTES_MAX: usize = 64 << 10;
/// Bodies up to this are read in well under a millisecond.
const INLINE_BODY_BYTES: usize = 64 << 10;

/// Runs `read` over the request where it holds up nobody else.
pub(super) async fn prepare<T: Send + 'static>(
    call: &Arc<Call>,
    read: fn(&Call) -> Result<T, WireError>,
) -> Result<T, WireError> {
    if call.body.len() <= INLINE_BODY_BYTES {
        return read(call);
    }
    let call = call.clone();
    let task = tokio::task::spawn_blocking(move || read(&call));
    task.await.unwrap_or_else(|_| Err(lost()))
}

/// Carries out the commands as one transaction and waits until it is durable. Scripts are left to
/// the database's own thread, which keeps them compiled and runs those of no other database.
pub(super) async fn write(
    call: &Call,
    database: &Database,
    commands: Vec<Command>,
) -> Result<Vec<CommandResult>, WireError> {
    let has_script = commands
        .iter()
        .any(|command| matches!(command, Command::Patch(_)));
    let turn = match !has_script && database.is_idle() {
        true => call.shared.writes_in_place.begin(),
        false => None,
    };
    let Some(turn) = turn else {
        return submit(database, commands).await;
    };
    let (done, outcome) = oneshot::channel();
    database.write_batch(commands, move |outcome| drop(done.send(outcome)));
    drop(turn);
    let results = outcome.await.map_err(|_| lost())?;
    results.map_err(|error| failure::write(&error))
}

/// As [`write`], always by the threads of the database: for changes that follow one another.
pub(super) async fn submit(
    database: &Database,
    commands: Vec<Command>,
) -> Result<Vec<CommandResult>, WireError> {
    let (done, outcome) = oneshot::channel();
    database.submit_batch(commands, move |outcome| drop(done.send(outcome)));
    let results = outcome.await.map_err(|_| lost())?;
    results.map_err(|error| failure::write(&error))
}

/// As [`submit`], with the error as the database has it.
pub(super) async fn try_submit(
    database: &Database,
    commands: Vec<Command>,
) -> Result<Vec<CommandResult>, WriteError> {
    let (done, outcome) = oneshot::channel();
    database.submit_batch(commands, move |outcome| drop(done.send(outcome)));
    outcome.await.unwrap_or_else(|_| Err(WriteError::lost()))
}

/// Documents that an answer tells: what they may take, and what that is counted by.
pub(super) struct ToldDocuments {
    /// Most bytes of documents.
    pub(super) bytes_max: usize,
    place: BodyPlace,
}

impl ToldDocuments {
    /// Room for a few small ones, which are not counted.
    pub(super) fn few(call: &Call) -> ToldDocuments {
        ToldDocuments {
            bytes_max: FEW_BYTES_MAX.min(call.shared.config.body_bytes_max),
            place: call.shared.pieces.large(),
        }
    }

    /// Called with the error of the changes: when they tell more than there was room for, takes the
    /// room that an answer may have at most, for another try; fails as they did otherwise.
    pub(super) async fn grow(&mut self, call: &Call, error: &WriteError) -> Result<(), WireError> {
        let bytes_max = call.shared.config.body_bytes_max;
        if !matches!(error, WriteError::ToldTooMuch { .. }) || self.bytes_max >= bytes_max {
            return Err(failure::write(error));
        }
        // Once as they are told, once in the answer.
        let grown = self.place.grow(2 * bytes_max as u64).await;
        grown.map_err(|_| Cut::Crowded)?;
        self.bytes_max = bytes_max;
        Ok(())
    }

    /// The answer that tells them, counted until the client has it.
    pub(super) fn counted(self, bytes: Vec<u8>) -> Bytes {
        match self.bytes_max > FEW_BYTES_MAX {
            true => placed(bytes, self.place),
            false => Bytes::from(bytes),
        }
    }
}

/// As [`submit`], but leaves documents alone that are put with the content that they have.
pub(super) async fn submit_changed(
    database: &Database,
    commands: Vec<Command>,
) -> Result<Vec<CommandResult>, WireError> {
    let (done, outcome) = oneshot::channel();
    database.submit_batch_of_changed(commands, move |outcome| drop(done.send(outcome)));
    let results = outcome.await.map_err(|_| lost())?;
    results.map_err(|error| failure::write(&error))
}

/// Carries out the commands as one cluster-wide transaction and waits until it is durable.
pub(super) async fn submit_cluster_wide(
    database: &Database,
    commands: Vec<Command>,
    guarded: Vec<GuardedDocument>,
) -> Result<(u64, Vec<CommandResult>), WireError> {
    let (done, outcome) = oneshot::channel();
    database.submit_cluster_wide(commands, guarded, move |outcome| drop(done.send(outcome)));
    let results = outcome.await.map_err(|_| lost())?;
    results.map_err(|error| failure::write(&error))
}

/// Waits for indexes when the client asked for it, and says that there are no replicas when it
/// waits for them. What was stored stays stored, whatever the outcome.
pub(super) async fn wait_as_asked(
    call: &Arc<Call>,
    database: &Arc<Database>,
) -> Result<(), WireError> {
    let query = call.query();
    let span = |name| query.filled(name).and_then(|text| parse_time_span(&text));
    if span("waitForReplicasTimeout").is_some() && query.flag("throwOnTimeoutInWaitForReplicas") {
        let wanted = query
            .filled("numberOfReplicasToWaitFor")
            .unwrap_or("1".into());
        let message = format!(
            "Could not verify that the changes were replicated to {wanted} servers: this server \
             has no replicas. They are stored on it."
        );
        return Err(timed_out(message));
    }
    let Some(timeout) = span("waitForIndexesTimeout") else {
        return Ok(());
    };
    let waiting = database.clone();
    let names: Vec<String> = query
        .all("waitForSpecificIndex")
        .map(|name| name.into_owned())
        .collect();
    let waited =
        tokio::task::spawn_blocking(move || waiting.wait_for_named_indexes(&names, None, timeout));
    let late = waited.await.map_err(|_| lost())?;
    let throws = query
        .first("waitForIndexThrow")
        .is_none_or(|text| !is_false(&text));
    if late.is_empty() || !throws {
        return Ok(());
    }
    let message = format!(
        "After waiting for {}, could not verify that all indexes has caught up with the changes. \
         They are stored. Stale indexes: {}",
        format_time_span(timeout),
        late.join(", ")
    );
    Err(timed_out(message))
}

fn is_false(text: &str) -> bool {
    text.eq_ignore_ascii_case("false")
}

fn timed_out(message: String) -> WireError {
    WireError::new(kind::TIMEOUT, message)
        .with_status(StatusCode::REQUEST_TIMEOUT)
        .with("FailImmediately", true)
}

fn lost() -> WireError {
    let message = "The outcome of this change is not known; load the documents to see it.";
    WireError::new(kind::UNEXPECTED, message)
}

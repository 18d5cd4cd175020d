//! Handing changes to a database without holding a thread while they become durable.
//!
//! Called by `documents` and `batch`. Small bodies are read on the connection's task; large ones on
//! the blocking pool. The database answers on a thread of its own once the transaction is durable.

use std::sync::Arc;

use jackdaw_database::{Command, CommandResult, Database};
use tokio::sync::oneshot;

use super::failure;
use crate::http::Call;
use crate::wire::{WireError, kind};

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

/// Carries out the commands as one transaction and waits until it is durable.
pub(super) async fn submit(
    database: &Database,
    commands: Vec<Command>,
) -> Result<Vec<CommandResult>, WireError> {
    let (done, outcome) = oneshot::channel();
    database.submit_batch(commands, move |outcome| drop(done.send(outcome)));
    let results = outcome.await.map_err(|_| lost())?;
    results.map_err(|error| failure::write(&error))
}

fn lost() -> WireError {
    let message = "The outcome of this change is not known; load the documents to see it.";
    WireError::new(kind::UNEXPECTED, message)
}

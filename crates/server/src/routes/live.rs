//! Numbers that change while one watches, for Studio: `/jackdaw/live` and `/jackdaw/databases`.
//!
//! `GET /jackdaw/live` never ends. It is a stream of server-sent events, one at once and then one a
//! second, each with one line of JSON:
//!
//! ```text
//! event: live
//! data: {"At":"2026-11-21T00:36:34.8037634Z","UptimeInSec":17,"Databases":[
//!        {"Name":"albums","IsOpen":true,"DocumentsCount":1000,"SizeOnDisk":9437184,
//!         "JournalBytes":1048576,"IndexesCount":1,"IndexLag":0,
//!         "WritesPerSec":250.0,"ReadsPerSec":0.0,"QueriesPerSec":12.0}]}
//! ```
//!
//! `data` is one line; it is folded here. `SizeOnDisk` and `JournalBytes` are bytes of files;
//! `IndexLag` is the largest number of changes that an index has not seen yet; rates are documents
//! stored or deleted, documents read, and queries, over the second before. A database that nobody
//! has used since the start has only `Name` and `"IsOpen":false`; one whose numbers cannot be read
//! has `Name`, `IsOpen` and `Error`.
//! `GET /jackdaw/databases` answers the same object once, as plain JSON.
//!
//! Threads: one task measures for all watchers, and only while there are any.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::auth::Access;
use crate::http::{Call, Outcome, Pending, Reply};
use crate::live::event;
use crate::shared::Shared;
use crate::wire::{WireError, kind};

/// Events a watcher may be behind before newer ones replace older ones.
const EVENTS_AHEAD: usize = 2;

/// `GET /jackdaw/databases`: those that the caller may read.
pub(super) fn databases(call: &Call) -> Outcome {
    let mut numbers = call.shared.live.measure(&call.shared);
    if let Some(databases) = numbers["Databases"].as_array_mut() {
        databases.retain(|one| call.may(one["Name"].as_str().unwrap_or(""), Access::Read));
    }
    Ok(Reply::value(&numbers))
}

/// `GET /jackdaw/directories`: directories below `databases/` that the catalog does not name, with
/// their numbers. `jackdaw databases` adopts and removes them while the server is down.
pub(super) fn directories(call: &Call) -> Outcome {
    let unknown = call.shared.databases.unknown_directories();
    let unknown = unknown.map_err(|error| WireError::new(kind::UNEXPECTED, error.to_string()))?;
    let unknown: Vec<_> = unknown
        .iter()
        .map(|one| serde_json::json!({"Number": one.number, "Path": one.path}))
        .collect();
    Ok(Reply::value(&serde_json::json!({"Unknown": unknown})))
}

/// `GET /jackdaw/live`
pub(super) fn watch(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let shared = call.shared.clone();
        let measured = shared.clone();
        let first = tokio::task::spawn_blocking(move || measured.live.measure(&measured));
        let first = first.await.map_err(|_| {
            WireError::new(
                kind::UNEXPECTED,
                "The numbers of the databases could not be read.",
            )
        })?;
        let (events, receiver) = mpsc::channel(EVENTS_AHEAD);
        drop(events.try_send(Ok(event(&first))));
        tokio::spawn(follow(shared, events));
        Ok(Reply::events(receiver))
    })
}

async fn follow(
    shared: Arc<Shared>,
    events: mpsc::Sender<Result<bytes::Bytes, crate::http::BrokenStream>>,
) {
    let mut latest = shared.live.watch();
    let mut stopping = shared.stopping.clone();
    loop {
        let changed = tokio::select! {
            changed = latest.changed() => changed,
            () = events.closed() => return,
            _ = stopping.changed() => return,
        };
        let event = latest.borrow_and_update().clone();
        if changed.is_err() || events.send(Ok(event)).await.is_err() {
            return;
        }
    }
}

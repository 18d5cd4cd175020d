//! What a server does for its databases now and then: removing what is left of deleted documents.
//!
//! One task, started with the server. Databases that are not open are left alone: nothing changes
//! in them. A failure is logged and tried again the next time.

use std::sync::Arc;
use std::time::Duration;

use crate::shared::Shared;

/// Time between two rounds.
const PERIOD: Duration = Duration::from_secs(60);
/// How long a deletion is remembered at least: longer than any query runs.
const TOMBSTONE_AGE: Duration = Duration::from_secs(600);

/// Runs until the server stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            _ = stopping.changed() => return,
        }
        let shared = shared.clone();
        drop(tokio::task::spawn_blocking(move || round(&shared)).await);
    }
}

fn round(shared: &Shared) {
    for name in shared.databases.names() {
        let Some(database) = shared.databases.get_open(&name) else {
            continue;
        };
        match database.clean_tombstones(TOMBSTONE_AGE) {
            Ok(0) => {}
            Ok(count) => tracing::debug!(name, count, "removed tombstones"),
            Err(error) => tracing::warn!(name, %error, "tombstones could not be removed"),
        }
    }
}

//! What a server does for its databases now and then: removing what is left of deleted documents,
//! and what dates in metadata ask for.
//!
//! Two tasks, started with the server. Databases that are not open are left alone: nothing changes
//! in them. A failure is logged and tried again the next time.

use std::sync::Arc;
use std::time::Duration;

use crate::routes::due_rules;
use crate::shared::Shared;

/// Time between two rounds.
const PERIOD: Duration = Duration::from_secs(60);
/// How long a deletion is remembered at least: longer than any query runs.
const TOMBSTONE_AGE: Duration = Duration::from_secs(600);

/// Time between two looks at what is due; how often it is done is up to each database.
const DUE_PERIOD: Duration = Duration::from_secs(1);

/// Does what is due until the server stops.
pub(crate) async fn run_due(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(DUE_PERIOD) => {}
            _ = stopping.changed() => return,
        }
        let shared = shared.clone();
        drop(tokio::task::spawn_blocking(move || due_round(&shared)).await);
    }
}

fn due_round(shared: &Shared) {
    for name in shared.databases.names() {
        if shared.is_disabled(&name) {
            continue;
        }
        let (Some(database), Some(entry)) = (
            shared.databases.get_open(&name),
            shared.databases.entry(&name),
        ) else {
            continue;
        };
        for rule in due_rules(&entry.record) {
            match database.carry_out_due(&rule) {
                Ok(0) => {}
                Ok(count) => tracing::debug!(name, count, kind = ?rule.kind, "did what was due"),
                Err(error) => tracing::warn!(name, %error, "what is due could not be done"),
            }
        }
    }
}

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

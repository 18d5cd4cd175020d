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
            // Asked between two transactions: a long backlog does not outlive its configuration.
            let may_go_on = || {
                let entry = shared.databases.entry(&name);
                let is_on = entry.is_some_and(|entry| due_rules(&entry.record).contains(&rule));
                is_on && !shared.is_disabled(&name) && !*shared.stopping.borrow()
            };
            match database.carry_out_due(&rule, &may_go_on) {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jackdaw_database::{Command, DatabaseOptions, DatabaseSet};
    use jackdaw_document::{DocumentBuf, Limits};
    use jackdaw_io::MemoryVfs;
    use tokio::sync::watch;

    use super::*;
    use crate::config::ServerConfig;

    #[test]
    fn disabled_databases_are_left_alone() {
        let (vfs, options) = (MemoryVfs::new(), DatabaseOptions::default());
        let set = Arc::new(DatabaseSet::open(vfs, Path::new("/data"), options).unwrap());
        let record = |disabled: bool| {
            let expiration = r#"{"Disabled":false,"DeleteFrequencyInSec":1}"#;
            format!(
                r#"{{"modified":"","members":{{"Disabled":{disabled},"Expiration":{expiration}}}}}"#
            )
        };
        let database = set.create("db1", &record(true)).unwrap();
        let document = |text: &str| DocumentBuf::from_json(text.as_bytes(), &Limits::default());
        let metadata = r#"{"@collection":"A","@expires":"2020-01-01T00:00:00.0000000Z"}"#;
        let put = Command::Put {
            id: Some("a".to_owned()),
            body: document("{}").unwrap(),
            metadata: Some(document(metadata).unwrap()),
            expected: None,
            keeps_revision: false,
        };
        database.batch(vec![put]).unwrap();
        let address = ([127, 0, 0, 1], 0).into();
        let (_stop, stopping) = watch::channel(false);
        let config = ServerConfig::default();
        let shared = Shared::new(config, address, address, stopping, set.clone()).unwrap();
        let count = || database.read().unwrap().count();
        due_round(&shared);
        assert_eq!(count(), 1);
        let enabled = set.change_record("db1", |_| Ok::<_, ()>(record(false)));
        enabled.unwrap().unwrap();
        assert!(!shared.note_disabled("db1"));
        due_round(&shared);
        assert_eq!(count(), 0);
    }
}

//! Reading the data files of open databases again, a little each second, to find rot while a backup
//! may still have what is damaged.
//!
//! One task, started with the server; one database at a time, from its first page to its last,
//! then not again for a day. Indexes are left out: they are built again from documents. Damage is
//! logged and counted in `/jackdaw/metrics`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::shared::Shared;

/// Time between two steps.
const PERIOD: Duration = Duration::from_secs(1);
/// Time between two passes over a database.
const REST: Duration = Duration::from_secs(24 * 60 * 60);

/// Ends of passes by name of the database.
type Passes = HashMap<String, Instant>;

/// Runs until the server stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    let bytes_per_second = shared.config.scrub_bytes_per_second;
    if bytes_per_second == 0 || shared.config.is_in_memory {
        return;
    }
    let mut stopping = shared.stopping.clone();
    let mut passes = Passes::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            _ = stopping.changed() => return,
        }
        let shared = shared.clone();
        let step = tokio::task::spawn_blocking(move || {
            step(&shared, bytes_per_second, &mut passes);
            passes
        });
        match step.await {
            Ok(kept) => passes = kept,
            // A panic was reported by the panic hook; scrubbing ends with it.
            Err(_) => return,
        }
    }
}

fn step(shared: &Shared, bytes_max: u64, passes: &mut Passes) {
    let names = shared.databases.names();
    passes.retain(|name, _| names.contains(name));
    let due = names.into_iter().find_map(|name| {
        let is_resting = passes.get(&name).is_some_and(|end| end.elapsed() < REST);
        let open = || shared.databases.peek_open(&name);
        (!is_resting).then(open).flatten()
    });
    let Some(database) = due else { return };
    let name = database.name();
    match database.documents().scrub(bytes_max) {
        Ok(step) => {
            for damage in step.damages {
                tracing::error!(
                    name,
                    "{damage}: make a backup or an export of what can be read, and restore a \
                     backup that is whole"
                );
            }
            if step.is_pass_done {
                passes.insert(name.to_owned(), Instant::now());
            }
        }
        Err(error) => {
            tracing::warn!(name, %error, "the data file could not be read again");
            passes.insert(name.to_owned(), Instant::now());
        }
    }
}

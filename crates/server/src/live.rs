//! One measurement a second, or whatever the configuration says, for all who watch.
//!
//! `routes::live` subscribes; the task started with the server measures while anyone does. Reading
//! the numbers of a database takes a snapshot and therefore runs on the blocking pool.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jackdaw_database::Database;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::rates::{Meter, Rates};
use crate::routes::now;
use crate::shared::Shared;

/// Rates are not made from a reading older than this: nobody watched in between.
const READING_AGE_MAX: Duration = Duration::from_secs(3);

/// The last measurement and the readings it was made from.
#[derive(Debug)]
pub(crate) struct Live {
    latest: watch::Sender<Bytes>,
    meters: Mutex<HashMap<String, (Meter, Instant)>>,
}

impl Default for Live {
    fn default() -> Live {
        Live {
            latest: watch::Sender::new(Bytes::new()),
            meters: Mutex::default(),
        }
    }
}

impl Live {
    /// Follows the measurements from the next one on.
    pub(crate) fn watch(&self) -> watch::Receiver<Bytes> {
        self.latest.subscribe()
    }

    /// Numbers of this moment; rates are since the last measurement.
    pub(crate) fn measure(&self, shared: &Shared) -> Value {
        let at = Instant::now();
        let mut meters = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        let mut databases = Vec::new();
        let mut seen = HashMap::new();
        for name in shared.databases.names() {
            // Measuring opens no database: one that nobody uses has no rates.
            let Some(database) = shared.databases.peek_open(&name) else {
                databases.push(json!({ "Name": name, "IsOpen": false }));
                continue;
            };
            let id = database.id().as_str();
            let counters = database.counters();
            let known = meters.remove(id);
            let fresh = known.filter(|(_, read)| at.duration_since(*read) < READING_AGE_MAX);
            let mut meter = fresh.map_or_else(|| Meter::new(counters, at), |(meter, _)| meter);
            let rates = meter.advance(counters, at);
            seen.insert(id.to_owned(), (meter, at));
            databases.push(describe(&database, rates));
        }
        *meters = seen;
        json!({
            "At": now(),
            "UptimeInSec": shared.started.elapsed().as_secs(),
            "Databases": databases,
        })
    }
}

fn describe(database: &Database, rates: Rates) -> Value {
    let numbers = database
        .statistics()
        .and_then(|numbers| Ok((numbers, database.indexes()?)));
    let (statistics, indexes) = match numbers {
        Ok(numbers) => numbers,
        Err(error) => {
            return json!({ "Name": database.name(), "IsOpen": true, "Error": error.to_string() });
        }
    };
    let index_bytes: u64 = indexes.iter().map(|index| index.bytes).sum();
    json!({
        "Name": database.name(),
        "IsOpen": true,
        "DocumentsCount": statistics.document_count,
        "SizeOnDisk": statistics.data_bytes + statistics.journal_bytes + index_bytes,
        "JournalBytes": statistics.journal_bytes,
        "IndexesCount": indexes.len(),
        "IndexLag": indexes.iter().map(|index| index.lag).max().unwrap_or(0),
        "WritesPerSec": rates.writes,
        "ReadsPerSec": rates.reads,
        "QueriesPerSec": rates.queries,
    })
}

/// Measures once a period while anyone watches, until the server stops.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    let mut ticks = tokio::time::interval(shared.config.live_period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopping.changed() => return,
        }
        if shared.live.latest.receiver_count() == 0 {
            continue;
        }
        let measured = shared.clone();
        let measured = tokio::task::spawn_blocking(move || measured.live.measure(&measured));
        if let Ok(numbers) = measured.await {
            shared.live.latest.send_replace(event(&numbers));
        }
    }
}

/// One server-sent event.
pub(crate) fn event(numbers: &Value) -> Bytes {
    Bytes::from(format!("event: live\ndata: {numbers}\n\n"))
}

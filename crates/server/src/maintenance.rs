//! What a server does for its databases now and then: removing what is left of deleted documents,
//! what dates in metadata ask for, and policies of time series.
//!
//! Two tasks, started with the server. Databases that are not open are left alone: nothing changes
//! in them. A failure is logged and tried again the next time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_database::Database;

use crate::routes::{due_rules, series_rule};
use crate::shared::Shared;

/// Time between two rounds.
const PERIOD: Duration = Duration::from_secs(60);
/// How long a deletion is remembered at least: longer than any query runs.
const TOMBSTONE_AGE: Duration = Duration::from_secs(600);

/// How long one database rolls time series up before others have their turn; it goes on with the
/// next round.
const SERIES_TIME: Duration = Duration::from_secs(2);

/// Time between two looks at what is due; how often it is done is up to each database.
const DUE_PERIOD: Duration = Duration::from_secs(1);

/// Time between two looks at values of compare-exchange that expire.
const EXCHANGE_PERIOD: Duration = Duration::from_secs(10);

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
        carry_out_series(shared, &name, &database, &entry.record);
        expire_exchange(shared, &name, &database);
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

/// Removes values of compare-exchange that expired. No configuration says whether: clients give
/// such dates to locks, which must not outlive them.
fn expire_exchange(shared: &Shared, name: &str, database: &Database) {
    let may_go_on = || !shared.is_disabled(name) && !*shared.stopping.borrow();
    match database.expire_exchange(EXCHANGE_PERIOD, &may_go_on) {
        Ok(0) => {}
        Ok(count) => tracing::debug!(name, count, "removed expired values of compare-exchange"),
        Err(error) => tracing::warn!(name, %error, "compare-exchange could not expire"),
    }
}

/// Rolls up time series and deletes old entries, as the record of the database says.
fn carry_out_series(shared: &Shared, name: &str, database: &Database, record: &str) {
    let Some(rule) = series_rule(record) else {
        return;
    };
    let begun = Instant::now();
    let may_go_on = || {
        let entry = shared.databases.entry(name);
        let is_same = entry.is_some_and(|entry| series_rule(&entry.record).as_ref() == Some(&rule));
        begun.elapsed() < SERIES_TIME
            && is_same
            && !shared.is_disabled(name)
            && !*shared.stopping.borrow()
    };
    let set = database.set_series_policies(&rule.policies);
    let done = set.and_then(|()| database.carry_out_series_policies(rule.every, &may_go_on));
    match done {
        Ok(0) => {}
        Ok(count) => tracing::debug!(name, count, "rolled up and deleted by policies of series"),
        Err(error) => tracing::warn!(name, %error, "policies of series could not be carried out"),
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

    use jackdaw_database::{Command, DatabaseOptions, DatabaseSet, SeriesAppend, SeriesChange};
    use jackdaw_document::{DocumentBuf, Limits};
    use jackdaw_io::MemoryVfs;
    use tokio::sync::watch;

    use super::*;
    use crate::config::ServerConfig;

    fn document(text: &str) -> DocumentBuf {
        DocumentBuf::from_json(text.as_bytes(), &Limits::default()).unwrap()
    }

    fn put(id: &str, metadata: &str) -> Command {
        Command::Put {
            id: Some(id.to_owned()),
            body: document("{}"),
            metadata: Some(document(metadata)),
            expected: None,
            keeps_revision: false,
        }
    }

    fn set() -> Arc<DatabaseSet> {
        let (vfs, options) = (MemoryVfs::new(), DatabaseOptions::default());
        Arc::new(DatabaseSet::open(vfs, Path::new("/data"), options).unwrap())
    }

    fn shared(set: &Arc<DatabaseSet>) -> (watch::Sender<bool>, Arc<Shared>) {
        Shared::unbound(ServerConfig::default(), set.clone())
    }

    #[test]
    fn time_series_are_rolled_up_as_the_record_says() {
        let set = set();
        let seconds = |count: i64| format!(r#"{{"Value":{count},"Unit":"Second"}}"#);
        let record = |disabled: bool| {
            let (day, hour) = (seconds(86_400), seconds(3_600));
            let policy = format!(r#"{{"Name":"ByHour","AggregationTime":{hour}}}"#);
            let raw = format!(r#""RawPolicy":{{"RetentionTime":{day}}}"#);
            let users = format!(r#"{{"Disabled":{disabled},"Policies":[{policy}],{raw}}}"#);
            let series = format!(
                r#"{{"Collections":{{"Users":{users}}},"PolicyCheckFrequency":"00:00:00.0000001"}}"#
            );
            format!(r#"{{"modified":"","members":{{"TimeSeries":{series}}}}}"#)
        };
        let database = set.create("db1", &record(true)).unwrap();
        let append = |minute: i64| SeriesAppend {
            at: 1_577_836_800_000 + minute * 60_000,
            values: vec![2.0],
            tag: None,
        };
        let change = SeriesChange {
            appends: (0..90).map(append).collect(),
            ..SeriesChange::default()
        };
        let series = Command::Series {
            id: "u/1".to_owned(),
            name: "Heart".to_owned(),
            change,
        };
        let commands = vec![put("u/1", r#"{"@collection":"Users"}"#), series];
        database.batch(commands).unwrap();
        let (_stop, shared) = shared(&set);
        let names = || {
            let snapshot = database.read().unwrap();
            let number = snapshot.number("u/1").unwrap().unwrap();
            let series = snapshot.all_series(number).unwrap().into_iter();
            series
                .map(|series| (series.name, series.count))
                .collect::<Vec<_>>()
        };
        due_round(&shared);
        assert_eq!(names(), [("Heart".to_owned(), 90)]);
        let enabled = set.change_record("db1", |_| Ok::<_, ()>(record(false)));
        enabled.unwrap().unwrap();
        due_round(&shared);
        assert_eq!(names(), [("Heart@ByHour".to_owned(), 2)]);
    }

    #[test]
    fn disabled_databases_are_left_alone() {
        let set = set();
        let record = |disabled: bool| {
            let expiration = r#"{"Disabled":false,"DeleteFrequencyInSec":1}"#;
            format!(
                r#"{{"modified":"","members":{{"Disabled":{disabled},"Expiration":{expiration}}}}}"#
            )
        };
        let database = set.create("db1", &record(true)).unwrap();
        let metadata = r#"{"@collection":"A","@expires":"2020-01-01T00:00:00.0000000Z"}"#;
        database.batch(vec![put("a", metadata)]).unwrap();
        let (_stop, shared) = shared(&set);
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

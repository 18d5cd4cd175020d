//! What a server does for its databases now and then: removing what is left of deleted documents,
//! what dates in metadata ask for, and policies of time series.
//!
//! Two tasks, started with the server. Databases that nothing uses are closed, and opened again for
//! what is due in them. A failure is logged and tried again the next time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_base::time::UnixTicks;
use jackdaw_database::{Database, DatabaseEntry, ReadError, RestRules, Wake};

use crate::config::ServerConfig;
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

/// Closed databases that one look opens; the next look goes on.
const WOKEN_MAX: usize = 8;

/// Time until a database that could not be opened is tried again.
const WAKE_RETRY: Duration = Duration::from_secs(60);

/// Does what is due until the server stops.
pub(crate) async fn run_due(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(DUE_PERIOD) => {}
            _ = stopping.changed() => return,
        }
        let shared = shared.clone();
        let round = move || {
            due_round(&shared);
            close_round(&shared);
        };
        drop(tokio::task::spawn_blocking(round).await);
    }
}

/// When databases are closed, as the configuration says.
pub(crate) fn rest_rules(config: &ServerConfig) -> RestRules {
    let never = Duration::MAX;
    RestRules {
        idle: config.idle_close.unwrap_or(never),
        open_max: config.open_databases_max,
        open_limit: match config.idle_close {
            Some(_) => config.open_databases_limit,
            None => usize::MAX,
        },
        next_wake: Arc::new(next_wake),
    }
}

/// Closes databases at rest.
fn close_round(shared: &Shared) {
    if shared.config.idle_close.is_none() {
        return;
    }
    let closed = shared.databases.close_idle(&rest_rules(&shared.config));
    if closed > 0
        && let Some(give_back) = shared.config.give_back_memory
    {
        give_back();
    }
}

/// When a database that is closed now has to be opened for what its record asks for.
fn next_wake(database: &Database, entry: &DatabaseEntry) -> Result<Wake, ReadError> {
    let due = database.next_due(&due_rules(&entry.record), EXCHANGE_PERIOD)?;
    let series = series_rule(&entry.record).map(|rule| {
        let every = i64::try_from(rule.every.as_nanos() / 100).unwrap_or(i64::MAX);
        UnixTicks(database.now().0.saturating_add(every))
    });
    let first = due.into_iter().chain(series).min();
    Ok(first.map_or(Wake::Never, Wake::At))
}

/// Opens a closed database if something is due in it, or may be.
fn wake(shared: &Shared, name: &str, record: &str) -> Option<Arc<Database>> {
    let databases = &shared.databases;
    match databases.wake(name)? {
        Wake::At(at) if at <= databases.now() => {}
        Wake::At(_) | Wake::Never => return None,
        Wake::Unknown if due_rules(record).is_empty() && series_rule(record).is_none() => {
            databases.set_wake(name, Wake::Never);
            return None;
        }
        Wake::Unknown => {}
    }
    databases.get_quietly(name).unwrap_or_else(|error| {
        tracing::warn!(name, %error, "a database could not be opened for what is due in it");
        let wait = i64::try_from(WAKE_RETRY.as_nanos() / 100).unwrap_or(i64::MAX);
        databases.set_wake(name, Wake::At(UnixTicks(databases.now().0 + wait)));
        None
    })
}

fn due_round(shared: &Shared) {
    let mut woken = 0;
    for name in shared.databases.names() {
        if shared.is_disabled(&name) {
            continue;
        }
        let Some(entry) = shared.databases.entry(&name) else {
            continue;
        };
        let open = shared.databases.peek_open(&name);
        let Some(database) = open.or_else(|| {
            let opened = (woken < WOKEN_MAX).then(|| wake(shared, &name, &entry.record));
            let opened = opened.flatten();
            woken += usize::from(opened.is_some());
            opened
        }) else {
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
        let Some(database) = shared.databases.peek_open(&name) else {
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

    /// Databases close as soon as nothing uses them.
    fn closing(set: &Arc<DatabaseSet>) -> (watch::Sender<bool>, Arc<Shared>) {
        let config = ServerConfig {
            idle_close: Some(Duration::ZERO),
            ..ServerConfig::default()
        };
        Shared::unbound(config, set.clone())
    }

    #[test]
    fn what_is_due_opens_a_closed_database() {
        let expiration = r#"{"Disabled":false,"DeleteFrequencyInSec":1}"#;
        let record = format!(r#"{{"modified":"","members":{{"Expiration":{expiration}}}}}"#);
        let (vfs, options) = (MemoryVfs::new(), DatabaseOptions::default());
        let open = || {
            let set = DatabaseSet::open(vfs.clone(), Path::new("/data"), options);
            Arc::new(set.unwrap())
        };
        let set = open();
        let later = r#"{"@collection":"A","@expires":"2999-01-01T00:00:00.0000000Z"}"#;
        let database = set.create("db1", &record).unwrap();
        database.batch(vec![put("later", later)]).unwrap();
        drop(database);
        set.create("plain", "{}").unwrap();
        let (stop, shared) = closing(&set);
        close_round(&shared);
        assert_eq!(set.open_count(), 0);
        assert!(matches!(set.wake("db1"), Some(Wake::At(_))));
        assert_eq!(set.wake("plain"), Some(Wake::Never));
        due_round(&shared);
        assert_eq!(set.open_count(), 0);
        // Its time has come.
        set.set_wake("db1", Wake::At(UnixTicks(1)));
        due_round(&shared);
        assert!(set.peek_open("db1").is_some());
        close_round(&shared);
        assert_eq!(set.open_count(), 0);
        // What was due while no server ran is done after the start, without a request.
        let overdue = r#"{"@collection":"A","@expires":"2020-01-01T00:00:00.0000000Z"}"#;
        let database = set.get("db1").unwrap().unwrap();
        database.batch(vec![put("overdue", overdue)]).unwrap();
        drop((database, shared, stop, set));
        let set = open();
        let (_stop, shared) = closing(&set);
        due_round(&shared);
        let database = set.peek_open("db1").unwrap();
        assert_eq!(database.read().unwrap().count(), 1);
        assert!(set.peek_open("plain").is_none());
        drop(database);
        close_round(&shared);
        assert_eq!(set.open_count(), 0);
        // A configuration that comes later counts.
        let changed = set.change_record("plain", |_| Ok::<_, ()>(record.clone()));
        changed.unwrap().unwrap();
        due_round(&shared);
        assert!(set.peek_open("plain").is_some());
    }

    #[tokio::test]
    async fn followers_keep_their_database_open() {
        let set = set();
        let (_stop, shared) = closing(&set);
        let database = set.create("db1", "{}").unwrap();
        let changed = shared.signals.follow(&database);
        drop(database);
        close_round(&shared);
        assert_eq!(set.open_count(), 1);
        drop(changed);
        close_round(&shared);
        assert_eq!(set.open_count(), 0);
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

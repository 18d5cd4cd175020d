//! Proves what counters, time series, revisions and compare-exchange do to documents and to each
//! other, across reopening.

use std::time::Duration;

use jackdaw_database::{
    Command, CommandResult, CounterAction, CounterOperation, Database, ExchangeChange, Flags,
    GuardedDocument, RevisionsConfiguration, SeriesAppend, SeriesChange, WriteError,
};
use jackdaw_sim::SimVfs;

use crate::common::{delete, json, open, put, store, text};

fn counter(id: &str, name: &str, action: CounterAction) -> Command {
    let name = name.to_owned();
    Command::Counters {
        id: id.to_owned(),
        operations: vec![CounterOperation { name, action }],
    }
}

fn series(id: &str, name: &str, change: SeriesChange) -> Command {
    Command::Series {
        id: id.to_owned(),
        name: name.to_owned(),
        change,
    }
}

fn append(at: i64, value: f64) -> SeriesAppend {
    SeriesAppend {
        at,
        values: vec![value],
        tag: None,
    }
}

fn configure(database: &Database, text: &str) {
    let document = json(text);
    let parsed = RevisionsConfiguration::parse(document.root().as_object().unwrap()).unwrap();
    database.set_revisions_configuration(parsed).unwrap();
}

fn flags(database: &Database, id: &str) -> String {
    let snapshot = database.read().unwrap();
    snapshot.get(id).unwrap().unwrap().flags().text()
}

#[test]
fn only_making_and_removing_a_counter_changes_its_document() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let first = store(&database, "Users/1", "Users", r#"{"n":1}"#);
    let make = counter("users/1", "Likes", CounterAction::Increment(5));
    let results = database.batch(vec![make]).unwrap();
    let CommandResult::Counters {
        document_change_vector: Some(second),
        counters,
        ..
    } = &results[0]
    else {
        panic!("{results:?}");
    };
    assert_ne!(*second, first);
    assert_eq!(counters[0].as_ref().unwrap().value, 5);
    let add = counter("users/1", "LIKES", CounterAction::Increment(-2));
    database.batch(vec![add]).unwrap();
    drop(database);

    let database = open(&vfs);
    let snapshot = database.read().unwrap();
    let row = snapshot.get("users/1").unwrap().unwrap();
    assert_eq!(row.change_vector(), *second);
    assert_eq!(row.flags(), Flags::HAS_COUNTERS);
    assert!(
        text(&row).contains(r#""@counters":["Likes"]"#),
        "{}",
        text(&row)
    );
    let values = snapshot.counters(row.number(), &["likes", "none"]).unwrap();
    assert_eq!(values[0].as_ref().unwrap().value, 3);
    assert!(values[1].is_none());
    drop(snapshot);
    let remove = counter("users/1", "likes", CounterAction::Delete);
    database.batch(vec![remove]).unwrap();
    assert_eq!(flags(&database, "users/1"), "");
    assert!(database.verify().unwrap().is_sound());
}

#[test]
fn a_put_keeps_what_is_beside_a_document_and_a_delete_removes_it() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let change = SeriesChange {
        appends: vec![append(1_000, 1.0)],
        ..SeriesChange::default()
    };
    let commands = vec![
        put("a/1", "As", "{}"),
        counter("a/1", "c", CounterAction::Put(7)),
        series("a/1", "Heart", change),
    ];
    database.batch(commands).unwrap();
    store(&database, "a/1", "As", r#"{"n":2}"#);
    assert_eq!(flags(&database, "a/1"), "HasCounters, HasTimeSeries");
    database
        .batch(vec![delete("a/1"), put("a/1", "As", "{}")])
        .unwrap();
    assert_eq!(flags(&database, "a/1"), "");
    let snapshot = database.read().unwrap();
    assert_eq!(snapshot.counter_owner_count().unwrap(), 0);
    assert_eq!(snapshot.series_count().unwrap(), 0);
}

#[test]
fn counters_refuse_overflow_and_missing_documents() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let lost = database.batch(vec![counter("a/1", "c", CounterAction::Increment(1))]);
    assert!(
        matches!(lost, Err(WriteError::NoDocument { .. })),
        "{lost:?}"
    );
    store(&database, "a/1", "As", "{}");
    database
        .batch(vec![counter("a/1", "c", CounterAction::Put(i64::MAX))])
        .unwrap();
    let over = database.batch(vec![counter("a/1", "c", CounterAction::Increment(1))]);
    assert!(
        matches!(over, Err(WriteError::CounterOverflow { .. })),
        "{over:?}"
    );
}

#[test]
fn entries_of_a_series_are_replaced_deleted_and_added_to_by_time() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    store(&database, "a/1", "As", "{}");
    let change = |appends: Vec<SeriesAppend>, deletes| SeriesChange {
        appends,
        deletes,
        ..SeriesChange::default()
    };
    let many = (0..10).map(|n| append(n * 60_000, 1.0)).collect();
    database
        .batch(vec![series("a/1", "Heart", change(many, vec![]))])
        .unwrap();
    let again = change(vec![append(0, 9.0)], vec![(Some(60_000), Some(180_000))]);
    database.batch(vec![series("a/1", "heart", again)]).unwrap();
    let added = SeriesChange {
        increments: vec![(5, vec![1.0]), (5, vec![2.0, 3.0])],
        ..SeriesChange::default()
    };
    database.batch(vec![series("a/1", "INC:x", added)]).unwrap();
    drop(database);

    let database = open(&vfs);
    let snapshot = database.read().unwrap();
    let number = snapshot.number("a/1").unwrap().unwrap();
    let heart = snapshot.series(number, "HEART").unwrap().unwrap();
    assert_eq!((heart.count, heart.first, heart.last), (7, 0, 540_000));
    let entries = snapshot.series_entries(&heart, 0, 240_000).unwrap();
    let entries: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|e| (e.at, e.values))
        .collect();
    assert_eq!(entries, [(0, vec![9.0]), (240_000, vec![1.0])]);
    let added = snapshot.series(number, "INC:x").unwrap().unwrap();
    let entry = snapshot
        .series_entries(&added, 0, 9)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(entry.values, [3.0, 3.0]);
    drop(snapshot);
    let all = change(vec![], vec![(None, None)]);
    database.batch(vec![series("a/1", "Heart", all)]).unwrap();
    let snapshot = database.read().unwrap();
    assert!(snapshot.series(number, "heart").unwrap().is_none());
}

#[test]
fn a_rule_keeps_the_newest_revisions_and_that_a_document_was_deleted() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    store(&database, "a/1", "As", r#"{"n":0}"#);
    configure(&database, r#"{"Default":{"MinimumRevisionsToKeep":3}}"#);
    let mut vectors = Vec::new();
    for n in 1..5 {
        vectors.push(store(&database, "a/1", "As", &format!(r#"{{"n":{n}}}"#)));
    }
    let snapshot = database.read().unwrap();
    let (rows, count) = snapshot.revisions("A/1", 0, 10).unwrap();
    assert_eq!(count, 3);
    let shown: Vec<String> = rows.iter().map(|row| row.change_vector()).collect();
    assert_eq!(shown, [&*vectors[3], &*vectors[2], &*vectors[1]]);
    assert_eq!(rows[0].flags().text(), "HasRevisions, Revision");
    assert!(snapshot.revision(&vectors[0]).unwrap().is_none());
    assert!(snapshot.revision(&vectors[2]).unwrap().is_some());
    drop(rows);
    drop(snapshot);

    database.batch(vec![delete("a/1")]).unwrap();
    let snapshot = database.read().unwrap();
    let bin = snapshot.revision_bin(0, 10).unwrap();
    assert_eq!(bin[0].id(), "a/1");
    assert_eq!(bin[0].flags().text(), "HasRevisions, DeleteRevision");
    let restore = snapshot.revision(&vectors[3]).unwrap().unwrap().restoring();
    drop(bin);
    drop(snapshot);
    database.batch(vec![restore]).unwrap();
    let snapshot = database.read().unwrap();
    assert!(snapshot.revision_bin(0, 10).unwrap().is_empty());
    assert!(text(&snapshot.get("a/1").unwrap().unwrap()).contains(r#""n":4"#));
}

#[test]
fn a_forced_revision_is_made_once_for_a_state() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    store(&database, "a/1", "As", "{}");
    let force = || {
        let id = "a/1".to_owned();
        let results = database.batch(vec![Command::ForceRevision { id }]).unwrap();
        matches!(
            results[0],
            CommandResult::ForceRevision { created: true, .. }
        )
    };
    assert!(force());
    assert!(!force());
    store(&database, "a/1", "As", r#"{"n":1}"#);
    assert!(force());
    let snapshot = database.read().unwrap();
    let (rows, count) = snapshot.revisions("a/1", 0, 1).unwrap();
    assert_eq!(count, 2);
    assert_eq!(
        rows[0].flags().text(),
        "HasRevisions, Revision, ForceCreated"
    );
    assert_eq!(flags(&database, "a/1"), "HasRevisions");
}

#[test]
fn compare_exchange_changes_only_for_who_knows_the_index() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let value = |n: i32| ExchangeChange::Put(json(&format!(r#"{{"Object":{n}}}"#)));
    let made = database.change_exchange("Key", 0, value(1)).unwrap();
    assert!(made.successful && made.index > 0);
    let refused = database.change_exchange("key", 0, value(2)).unwrap();
    assert_eq!((refused.successful, refused.index), (false, made.index));
    let changed = database
        .change_exchange("KEY", made.index, value(3))
        .unwrap();
    assert!(changed.successful && changed.index > made.index);
    drop(database);

    let database = open(&vfs);
    let snapshot = database.read().unwrap();
    let found = snapshot.exchange_value("key").unwrap().unwrap();
    assert_eq!(found.value.root().to_json(), r#"{"Object":3}"#);
    assert_eq!(snapshot.exchange_values("ke", 0, 9).unwrap().count(), 1);
    let gone = database
        .change_exchange("key", changed.index, ExchangeChange::Delete)
        .unwrap();
    assert!(gone.successful);
    let nothing = database
        .change_exchange("key", 0, ExchangeChange::Delete)
        .unwrap();
    assert!(!nothing.successful);
}

fn cluster_wide(
    database: &Database,
    commands: Vec<Command>,
    index: Option<u64>,
) -> Result<(u64, Vec<CommandResult>), WriteError> {
    let id = "a/1".to_owned();
    let delete = false;
    let guarded = vec![GuardedDocument { id, index, delete }];
    let (sender, receiver) = std::sync::mpsc::channel();
    database.submit_cluster_wide(commands, guarded, move |outcome| {
        sender.send(outcome).unwrap();
    });
    receiver.recv().unwrap()
}

#[test]
fn a_cluster_wide_transaction_is_refused_as_a_whole_when_a_guard_changed() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let exchange = |key: &str| Command::CompareExchangePut {
        key: key.to_owned(),
        index: 0,
        value: json(r#"{"Object":1}"#),
    };
    let first = vec![put("a/1", "As", "{}"), exchange("k1")];
    let (index, results) = cluster_wide(&database, first, None).unwrap();
    let CommandResult::Put { change_vector, .. } = &results[0] else {
        panic!("{results:?}");
    };
    assert_eq!(jackdaw_database::guard_index(change_vector), Some(index));
    let second = vec![put("a/1", "As", r#"{"n":1}"#), exchange("k2")];
    let refused = cluster_wide(&database, second.clone(), None);
    assert!(
        matches!(refused, Err(WriteError::ClusterConflict(_))),
        "{refused:?}"
    );
    assert!(
        database
            .read()
            .unwrap()
            .exchange_value("k2")
            .unwrap()
            .is_none()
    );
    let (later, _) = cluster_wide(&database, second, Some(index)).unwrap();
    assert!(later > index);
    let flags = || {
        database
            .read()
            .unwrap()
            .get("a/1")
            .unwrap()
            .unwrap()
            .flags()
    };
    assert_eq!(flags().text(), "FromClusterTransaction");
    store(&database, "a/1", "As", r#"{"n":2}"#);
    assert_eq!(flags().text(), "", "the last change was an ordinary one");
    let (_, _) = cluster_wide(&database, vec![put("a/1", "As", "{}")], Some(later)).unwrap();
    assert!(
        database
            .read()
            .unwrap()
            .exchange_value("k2")
            .unwrap()
            .is_some()
    );
}

#[test]
fn tombstones_go_when_they_are_old_and_every_index_has_seen_them() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    store(&database, "a/1", "As", "{}");
    store(&database, "a/2", "As", "{}");
    database.batch(vec![delete("a/1")]).unwrap();
    let count = || database.read().unwrap().tombstone_count().unwrap();
    assert_eq!(
        database
            .clean_tombstones(Duration::from_secs(3_600))
            .unwrap(),
        0
    );
    assert_eq!(count(), 1);
    let later = Duration::ZERO;
    vfs.advance_clock(Duration::from_secs(1));
    assert_eq!(database.clean_tombstones(later).unwrap(), 1);
    assert_eq!(count(), 0);
    assert!(database.verify().unwrap().is_sound());
}

//! Proves that guards of cluster-wide transactions go with their documents, however those are
//! removed, and that values of compare-exchange expire when their time has come.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

use std::sync::{Arc, mpsc};
use std::time::Duration;

use jackdaw_base::time::UnixTicks;
use jackdaw_database::{
    Command, Database, DueKind, DueRule, ExchangeChange, GuardedDocument, Patch, WriteError,
};
use jackdaw_io::Vfs;
use jackdaw_sim::SimVfs;

use crate::common::{json, open};

const MINUTE: Duration = Duration::from_secs(60);

/// The moment `seconds` from now as metadata has it.
fn moment(vfs: &Arc<SimVfs>, seconds: i64) -> String {
    let now = i64::try_from(vfs.unix_nanos() / 100).unwrap();
    UnixTicks(now + seconds * 10_000_000).to_string()
}

/// Stores a document as a cluster-wide transaction whose caller knows of none.
fn store(database: &Database, id: &str, metadata: &str) -> Result<u64, WriteError> {
    let command = Command::Put {
        id: Some(id.to_owned()),
        body: json("{}"),
        metadata: Some(json(metadata)),
        expected: None,
        keeps_revision: false,
    };
    let guarded = GuardedDocument {
        id: id.to_owned(),
        index: None,
        delete: false,
    };
    let (sender, receiver) = mpsc::channel();
    database.submit_cluster_wide(vec![command], vec![guarded], move |outcome| {
        sender.send(outcome).unwrap();
    });
    receiver.recv().unwrap().map(|(index, _)| index)
}

fn delete(id: &str) -> Command {
    Command::Delete {
        id: id.to_owned(),
        expected: None,
    }
}

fn is_guarded(database: &Database, id: &str) -> bool {
    database.read().unwrap().guard_of(id).unwrap().is_some()
}

#[test]
fn a_guard_goes_with_its_document() {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    let plain = r#"{"@collection":"Ds"}"#;
    let soon = format!(
        r#"{{"@collection":"Ds","@expires":"{}"}}"#,
        moment(&vfs, 30)
    );
    let ids = [
        "d/deleted",
        "D/Upper",
        "d/\u{e9}\u{1f600}",
        "d/patched",
        "d/expired",
        "d/kept",
    ];
    for id in ids {
        let metadata = if id == "d/expired" { &soon } else { plain };
        store(&database, id, metadata).unwrap();
        assert!(is_guarded(&database, id), "{id}");
        assert!(store(&database, id, metadata).is_err(), "{id} is guarded");
    }
    // An ordinary change leaves the guard.
    let patch = Patch::script("d/kept", "this.n = 1", None);
    let deleting = Patch::script("d/patched", "del('d/patched')", None);
    let commands = vec![
        delete("D/DELETED"),
        delete("d/upper"),
        delete("d/\u{e9}\u{1f600}"),
        delete("d/never"),
        Command::Patch(Box::new(patch)),
        Command::Patch(Box::new(deleting)),
    ];
    database.batch(commands).unwrap();
    vfs.advance_clock(MINUTE);
    let rule = DueRule {
        kind: DueKind::Expiration,
        every: MINUTE,
        count_max: None,
    };
    assert_eq!(database.carry_out_due(&rule, &|| true).unwrap(), 1);
    for id in ids {
        let is_there = database.read().unwrap().get(id).unwrap().is_some();
        assert_eq!(is_guarded(&database, id), is_there, "{id}");
        assert_eq!(is_there, id == "d/kept");
    }
    // The next caller who knows of no document makes one.
    for id in ids.into_iter().filter(|id| *id != "d/kept") {
        store(&database, id, plain).unwrap();
        assert!(is_guarded(&database, id), "{id}");
    }
    assert!(store(&database, "d/kept", plain).is_err());
    assert!(database.verify().unwrap().is_sound());
}

#[test]
fn a_guard_without_a_document_counts_for_nothing() {
    let vfs = SimVfs::new(2);
    let database = open(&vfs);
    // As earlier versions left it.
    let value = ExchangeChange::Put(json(r#"{"Object":{"Id":"d/1"}}"#));
    database
        .change_exchange("rvn-atomic/d/1", 0, value)
        .unwrap();
    assert!(is_guarded(&database, "d/1"));
    store(&database, "d/1", "{}").unwrap();
    assert!(store(&database, "d/1", "{}").is_err());
}

fn exchange(database: &Database, key: &str, index: u64, value: &str) -> Result<u64, WriteError> {
    let outcome = database.change_exchange(key, index, ExchangeChange::Put(json(value)))?;
    assert!(outcome.successful, "{key}");
    Ok(outcome.index)
}

fn keys(database: &Database) -> Vec<String> {
    let snapshot = database.read().unwrap();
    let values = snapshot.exchange_values("", 0, 99).unwrap();
    let values: Vec<_> = values.collect::<Result<_, _>>().unwrap();
    values.into_iter().map(|value| value.key).collect()
}

#[test]
fn values_of_compare_exchange_expire_when_their_time_has_come() {
    let vfs = SimVfs::new(3);
    let database = open(&vfs);
    let value = |seconds: i64| {
        let at = moment(&vfs, seconds);
        format!(r#"{{"Object":1,"@metadata":{{"@expires":"{at}"}}}}"#)
    };
    exchange(&database, "past", 0, &value(-3_600)).unwrap();
    exchange(&database, "Soon/\u{c4}", 0, &value(90)).unwrap();
    exchange(&database, "later", 0, &value(3_600)).unwrap();
    let saved = exchange(&database, "saved", 0, &value(90)).unwrap();
    exchange(&database, "SAVED", saved, r#"{"Object":2}"#).unwrap();
    let moved = exchange(&database, "moved", 0, &value(90)).unwrap();
    exchange(&database, "moved", moved, &value(3_600)).unwrap();
    let gone = exchange(&database, "gone", 0, &value(90)).unwrap();
    database
        .change_exchange("gone", gone, ExchangeChange::Delete)
        .unwrap();
    exchange(
        &database,
        "gone",
        0,
        r#"{"Object":3,"@metadata":{"@expires":null}}"#,
    )
    .unwrap();
    // Of the value, not of its metadata.
    let inner = format!(r#"{{"Object":{}}}"#, value(-3_600));
    exchange(&database, "inner", 0, &inner).unwrap();
    let expire = |database: &Database| database.expire_exchange(MINUTE, &|| true).unwrap();
    let before = database.read().unwrap().exchange_index().unwrap();
    assert_eq!(expire(&database), 1, "the one of the past");
    assert_eq!(expire(&database), 0, "not before a minute has passed");
    assert_eq!(
        database.read().unwrap().exchange_index().unwrap(),
        before + 1
    );
    // A restart forgets nothing.
    drop(database);
    let database = open(&vfs);
    vfs.advance_clock(Duration::from_secs(100));
    assert_eq!(expire(&database), 1);
    assert_eq!(
        keys(&database),
        ["gone", "inner", "later", "moved", "SAVED"]
    );
    vfs.advance_clock(Duration::from_secs(3_600));
    assert_eq!(expire(&database), 2);
    assert_eq!(keys(&database), ["gone", "inner", "SAVED"]);
    // What expired is free for the next one.
    exchange(&database, "later", 0, r#"{"Object":4}"#).unwrap();
    assert!(database.verify().unwrap().is_sound());
}

#[test]
fn many_values_expire_and_a_stop_is_heeded() {
    let vfs = SimVfs::new(4);
    let database = open(&vfs);
    let at = moment(&vfs, -1);
    let value = format!(r#"{{"Object":1,"@metadata":{{"@expires":"{at}"}}}}"#);
    for number in 0..1_500 {
        exchange(&database, &format!("k{number}"), 0, &value).unwrap();
    }
    assert_eq!(database.expire_exchange(MINUTE, &|| false).unwrap(), 0);
    vfs.advance_clock(MINUTE);
    assert_eq!(database.expire_exchange(MINUTE, &|| true).unwrap(), 1_500);
    assert!(keys(&database).is_empty());
}

#[test]
fn an_expiry_that_is_no_date_is_refused() {
    let vfs = SimVfs::new(5);
    let database = open(&vfs);
    for at in [
        r#""nope""#,
        "5",
        "true",
        "{}",
        "[]",
        r#""""#,
        r#""2020-13-01T00:00:00Z""#,
    ] {
        let value = format!(r#"{{"Object":1,"@metadata":{{"@expires":{at}}}}}"#);
        let refused = exchange(&database, "k", 0, &value);
        let Err(error @ WriteError::InvalidExpiry { .. }) = refused else {
            panic!("{at}: {refused:?}");
        };
        assert!(error.to_string().contains("'k' is"), "{error}");
        let command = Command::CompareExchangePut {
            key: "k".to_owned(),
            index: 0,
            value: json(&value),
        };
        let (sender, receiver) = mpsc::channel();
        database.submit_cluster_wide(vec![command], Vec::new(), move |outcome| {
            sender.send(outcome.is_err()).unwrap();
        });
        assert!(receiver.recv().unwrap(), "{at}");
        assert!(keys(&database).is_empty(), "{at}");
    }
}

//! Single facts about changes, conditions, ids, metadata and listings.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jackdaw_base::time::UnixTicks;
use jackdaw_database::{
    Command, CommandResult, Etag, HiloRange, HiloRequest, PrefixQuery, WriteError,
};
use jackdaw_sim::{Fault, FaultError, OperationKind, SimVfs};

use crate::common::{by_prefix, delete, ids, json, open, put, put_if, store, text};

#[test]
fn a_document_comes_back_with_its_metadata_behind() {
    let database = open(&SimVfs::new(1));
    let metadata = r#"{"Type":"User","@collection":"Users","@id":"x","@nested":{"a":1}}"#;
    let command = Command::Put {
        id: Some("Users/1".to_owned()),
        body: json(r#"{"b":1.10,"a":[null]}"#),
        metadata: Some(json(metadata)),
        expected: None,
        keeps_revision: false,
    };
    let results = database.batch(vec![command]).unwrap();
    let CommandResult::Put {
        change_vector,
        last_modified,
        etag: Etag(1),
        ..
    } = &results[0]
    else {
        panic!("{results:?}");
    };
    let snapshot = database.read().unwrap();
    let row = snapshot.get("users/1").unwrap().unwrap();
    assert_eq!(*change_vector, format!("A:1-{}", database.id()));
    let own = r#""@collection":"Users","Type":"User","@nested":{"a":1}"#;
    let ours = format!(
        r#""@change-vector":"{change_vector}","@id":"Users/1","@last-modified":"{last_modified}""#
    );
    let expected = format!(r#"{{"b":1.10,"a":[null],"@metadata":{{{own},{ours}}}}}"#);
    assert_eq!(text(&row), expected);
    assert!(snapshot.get("users/2").unwrap().is_none());
    let mut only = Vec::new();
    row.write_metadata_json(&mut only);
    assert!(only.starts_with(br#"{"@metadata":{"@collection":"Users","#));
}

#[test]
fn a_document_without_collection_says_none() {
    let database = open(&SimVfs::new(2));
    database.batch(vec![put_if("a", "{}", "")]).unwrap();
    let snapshot = database.read().unwrap();
    let row = snapshot.get("a").unwrap().unwrap();
    assert_eq!(row.collection(), "@empty");
    assert!(text(&row).starts_with(r#"{"@metadata":{"@change-vector":"#));
}

#[test]
fn expectations_that_do_not_hold_change_nothing() {
    let database = open(&SimVfs::new(3));
    let old = store(&database, "a", "", r#"{"n":1}"#);
    let new = store(&database, "a", "", r#"{"n":2}"#);
    let check = |command: Command, actual: Option<&String>| {
        // The put before the failing command is taken back with it.
        match database.batch(vec![put("other", "", "{}"), command]) {
            Err(WriteError::Conflict { actual: found, .. }) => {
                assert_eq!(found.as_ref(), actual);
            }
            outcome => panic!("{outcome:?}"),
        }
    };
    check(put_if("a", "{}", &old), Some(&new));
    check(put_if("A", "{}", ""), Some(&new));
    check(put_if("b", "{}", &new), None);
    for (id, expected, actual) in [("a", &old, Some(&new)), ("b", &old, None)] {
        let command = Command::Delete {
            id: id.to_owned(),
            expected: Some(expected.clone()),
        };
        check(command, actual);
    }
    let snapshot = database.read().unwrap();
    assert_eq!(snapshot.count(), 1);
    assert_eq!(snapshot.last_etag(), Etag(2));
    drop(snapshot);
    database
        .batch(vec![put_if("a", r#"{"n":3}"#, &new)])
        .unwrap();
    assert_eq!(database.read().unwrap().last_etag(), Etag(3));
}

#[test]
fn commands_of_a_batch_see_what_came_before_them() {
    let database = open(&SimVfs::new(4));
    let results = database
        .batch(vec![
            put("a", "As", r#"{"n":1}"#),
            delete("A"),
            delete("a"),
            put("a", "Bs", r#"{"n":2}"#),
        ])
        .unwrap();
    assert!(matches!(
        results[1],
        CommandResult::Delete { deleted: true, .. }
    ));
    assert!(matches!(
        results[2],
        CommandResult::Delete { deleted: false, .. }
    ));
    let snapshot = database.read().unwrap();
    assert_eq!(snapshot.get("a").unwrap().unwrap().collection(), "Bs");
    assert_eq!(snapshot.last_etag(), Etag(3));
    let tombstones: Vec<_> = snapshot
        .tombstones(Etag(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(tombstones.len(), 1);
    assert_eq!(
        (tombstones[0].etag, tombstones[0].last_etag),
        (Etag(2), Etag(1))
    );
    assert_eq!(
        (&*tombstones[0].id, &*tombstones[0].collection),
        ("a", "As")
    );
    let counts: Vec<_> = snapshot.collections().unwrap();
    let counts: Vec<_> = counts
        .iter()
        .map(|c| (&*c.name, c.count, c.last_etag.0))
        .collect();
    assert_eq!(counts, [("As", 0, 2), ("Bs", 1, 3)]);
}

#[test]
fn a_document_does_not_move_to_another_collection() {
    let database = open(&SimVfs::new(5));
    store(&database, "a", "Cars", "{}");
    store(&database, "a", "cars", r#"{"n":2}"#);
    match database.batch(vec![put("a", "Bikes", "{}")]) {
        Err(WriteError::CollectionMismatch { id, from, to }) => {
            assert_eq!((&*id, &*from, &*to), ("a", "Cars", "Bikes"));
        }
        outcome => panic!("{outcome:?}"),
    }
    let snapshot = database.read().unwrap();
    assert!(snapshot.collection("bikes").unwrap().is_none());
    assert_eq!(ids(snapshot.by_collection("CARS", Etag(0)).unwrap()), ["a"]);
}

#[test]
fn ids_are_completed_by_the_database() {
    let database = open(&SimVfs::new(6));
    let give = |id: Option<&str>| {
        let command = Command::Put {
            id: id.map(str::to_owned),
            body: json("{}"),
            metadata: None,
            expected: None,
            keeps_revision: false,
        };
        match database.batch(vec![command]).unwrap().remove(0) {
            CommandResult::Put { id, .. } => id,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(give(Some("users/")), "users/0000000000000000001-A");
    assert_eq!(give(Some("users/")), "users/0000000000000000002-A");
    assert_eq!(give(Some("orders/2")), "orders/2");
    assert_eq!(give(Some("orders|")), "orders/1");
    assert_eq!(give(Some("Orders|")), "Orders/3");
    let random = give(None);
    assert_eq!(random.len(), 36);
    assert_ne!(give(Some("")), random);
    assert_eq!(database.seed_identity("orders|", 10, false).unwrap(), 10);
    assert_eq!(database.seed_identity("orders|", 5, false).unwrap(), 10);
    assert_eq!(give(Some("orders|")), "orders/11");
    assert_eq!(database.seed_identity("orders|", 5, true).unwrap(), 5);
    let identities = database.read().unwrap().identities().unwrap();
    assert_eq!(identities, [("orders|".to_owned(), 5)]);
}

#[test]
fn what_cannot_be_a_document_is_refused_before_anything_is_done() {
    let database = open(&SimVfs::new(7));
    let refused = |command: Command| {
        database
            .batch(vec![put("x", "", "{}"), command])
            .unwrap_err()
    };
    assert!(matches!(
        refused(put(&"i".repeat(1025), "", "{}")),
        WriteError::InvalidId { .. }
    ));
    assert!(matches!(
        refused(put("a", "", "[]")),
        WriteError::NotAnObject { .. }
    ));
    assert!(matches!(refused(delete("")), WriteError::InvalidId { .. }));
    let long = "c".repeat(257);
    assert!(matches!(
        refused(put("a", &long, "{}")),
        WriteError::InvalidCollection { .. }
    ));
    assert_eq!(database.read().unwrap().count(), 0);
    database
        .batch(vec![
            put(&"i".repeat(1024), "", "{}"),
            delete(&"z".repeat(5000)),
        ])
        .unwrap();
    assert_eq!(database.read().unwrap().count(), 1);
}

#[test]
fn listings_by_prefix_are_paged_filtered_and_ordered() {
    let database = open(&SimVfs::new(8));
    for id in ["BM-100", "BM-200", "MB-100", "MB-101", "MB-200", "MB-201"] {
        store(&database, &format!("products/{id}"), "", "{}");
    }
    store(&database, "q", "", "{}");
    let snapshot = database.read().unwrap();
    let list = |query: PrefixQuery<'_>| {
        let ids = by_prefix(&snapshot, &query);
        ids.join(" ").replace("products/", "")
    };
    let mb = PrefixQuery {
        prefix: "Products/MB-",
        ..PrefixQuery::default()
    };
    assert_eq!(list(mb), "MB-100 MB-101 MB-200 MB-201");
    assert_eq!(
        list(PrefixQuery {
            start: 1,
            page_size: Some(2),
            ..mb
        }),
        "MB-101 MB-200"
    );
    assert_eq!(
        list(PrefixQuery {
            matches: Some("2*"),
            ..mb
        }),
        "MB-200 MB-201"
    );
    let behind = Some("products/MB-200");
    let after = PrefixQuery {
        matches: Some("2*"),
        start_after: behind,
        ..mb
    };
    assert_eq!(list(after), "MB-201");
    let picky = PrefixQuery {
        matches: Some("10?|*1"),
        exclude: Some("*00"),
        ..mb
    };
    assert_eq!(list(picky), "MB-101 MB-201");
    assert_eq!(list(PrefixQuery { prefix: "zz", ..mb }), "");
    assert_eq!(by_prefix(&snapshot, &PrefixQuery::default()).len(), 7);
    let mut seen = Vec::new();
    snapshot
        .visit_ids("products/mb-2", |id, _| {
            seen.push(id.to_owned());
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen, ["products/mb-200", "products/mb-201", "q"]);
}

#[test]
fn listings_by_time_of_change_go_both_ways() {
    let database = open(&SimVfs::new(9));
    for (id, collection) in [("a", "As"), ("b", "Bs"), ("c", "As"), ("a", "As")] {
        store(&database, id, collection, "{}");
    }
    let snapshot = database.read().unwrap();
    assert_eq!(ids(snapshot.by_etag(Etag(0)).unwrap()), ["b", "c", "a"]);
    assert_eq!(ids(snapshot.by_etag(Etag(3)).unwrap()), ["a"]);
    assert_eq!(ids(snapshot.latest().unwrap()), ["a", "c", "b"]);
    assert_eq!(
        ids(snapshot.by_collection("as", Etag(0)).unwrap()),
        ["c", "a"]
    );
    assert_eq!(
        ids(snapshot.latest_of_collection("AS").unwrap()),
        ["a", "c"]
    );
    assert_eq!(
        ids(snapshot.by_collection("none", Etag(0)).unwrap()),
        Vec::<String>::new()
    );
    assert_eq!(snapshot.change_vector(), format!("A:4-{}", database.id()));
    let statistics = database.statistics().unwrap();
    assert_eq!(
        (statistics.document_count, statistics.collection_count),
        (3, 2)
    );
    assert_eq!(statistics.counters.writes, 4);
}

#[test]
fn hilo_gives_ranges_and_takes_the_rest_back() {
    let database = open(&SimVfs::new(10));
    let next = |last_size, last_at, last_max| {
        let request = HiloRequest {
            tag: "Users".to_owned(),
            last_size,
            last_at,
            last_max,
        };
        let HiloRange { low, high } = database.hilo_next(request).unwrap();
        (low, high)
    };
    assert_eq!(next(0, None, 0), (1, 32));
    let snapshot = database.read().unwrap();
    let at = snapshot
        .get("Raven/Hilo/users")
        .unwrap()
        .unwrap()
        .last_modified();
    assert_eq!(next(32, Some(at), 0), (33, 96));
    assert_eq!(next(32, Some(UnixTicks(0)), 500), (501, 532));
    database.hilo_return("users", 96, 40).unwrap();
    assert_eq!(next(0, None, 0), (533, 564));
    database.hilo_return("Users", 564, 540).unwrap();
    assert_eq!(next(0, None, 0), (541, 572));
    let snapshot = database.read().unwrap();
    let row = snapshot.get("raven/hilo/USERS").unwrap().unwrap();
    assert_eq!(
        (row.collection(), row.body().root().to_json()),
        ("@hilo", r#"{"Max":572}"#.into())
    );
}

#[test]
fn listeners_hear_of_durable_changes_until_they_are_dropped() {
    let database = open(&SimVfs::new(11));
    let heard = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&heard);
    let listener = database.on_change(move |change| {
        assert_eq!(
            change.last_etag.0 - change.first_etag.0 + 1,
            change.puts + change.deletes
        );
        counter.fetch_add(change.puts * 100 + change.deletes, Ordering::Relaxed);
    });
    database
        .batch(vec![put("a", "", "{}"), put("b", "", "{}"), delete("a")])
        .unwrap();
    database.batch(vec![delete("none")]).unwrap();
    drop(listener);
    database.batch(vec![put("c", "", "{}")]).unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), 201);
}

#[test]
fn each_change_of_a_document_is_described_for_who_asks() {
    let database = open(&SimVfs::new(11));
    let changes = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&changes);
    let describing = database.describe_changes();
    let listener = database.on_change(move |change| {
        let documents = change.documents.as_ref().map(|documents| {
            let texts = documents.iter().map(|one| {
                let sign = if one.is_deleted { '-' } else { '+' };
                format!("{sign}{}/{}@{}", one.collection, one.id, one.etag.0)
            });
            texts.collect::<Vec<_>>().join(" ")
        });
        heard.lock().unwrap().push(documents);
    });
    let take = || std::mem::take(&mut *changes.lock().unwrap());
    store(&database, "A", "As", r#"{"n":1}"#);
    store(&database, "a", "As", r#"{"n":2}"#);
    // Of one batch the last change of each document.
    let batch = vec![put("a", "As", "{}"), put("b", "", "{}"), delete("A")];
    database.batch(batch).unwrap();
    let told = ["+As/A@1", "+As/a@2", "+@empty/b@4 -As/a@5"];
    assert_eq!(take(), told.map(|one| Some(one.to_owned())));
    // Too many to be described.
    let many = (0..1025).map(|number| put(&format!("m/{number}"), "", "{}"));
    database.batch(many.collect()).unwrap();
    assert_eq!(take(), [None]);
    // The next operation is described again, and nothing is when nobody wants it.
    store(&database, "a", "As", "{}");
    assert!(take()[0].is_some());
    drop(describing);
    store(&database, "a", "As", "{}");
    assert_eq!(take(), [None]);
    drop(listener);
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let database = open(&SimVfs::new(12));
    store(&database, "a", "As", r#"{"n":1}"#);
    let before = database.read().unwrap();
    store(&database, "a", "As", r#"{"n":2}"#);
    store(&database, "b", "Bs", "{}");
    assert_eq!(before.count(), 1);
    let row = before.get("a").unwrap().unwrap();
    assert_eq!(row.body().root().to_json(), r#"{"n":1}"#);
    assert!(before.collection("Bs").unwrap().is_none());
    drop(database);
    assert_eq!(ids(before.latest().unwrap()), ["a"]);
}

#[test]
fn a_disk_that_fails_loses_nothing_that_was_answered() {
    for nth in 1..8 {
        let vfs = SimVfs::new(nth);
        let database = open(&vfs);
        store(&database, "kept", "", "{}");
        let kinds = [
            OperationKind::Write,
            OperationKind::Sync,
            OperationKind::Allocate,
        ];
        vfs.inject(Fault::nth(&kinds, nth, FaultError::Device).on("documents"));
        let mut kept = 1;
        for n in 0..10 {
            match database.batch(vec![put(&format!("n/{n}"), "Ns", "{}")]) {
                Ok(_) => kept += 1,
                Err(WriteError::NotCommitted(_) | WriteError::Unknown(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(database.read().unwrap().count(), kept);
        vfs.clear_faults();
        drop(database);
        let database = open(&vfs);
        assert!(database.read().unwrap().count() >= kept);
        assert!(database.verify().unwrap().is_sound());
        store(&database, "more", "", "{}");
    }
}

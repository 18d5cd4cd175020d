//! The change feed: order, resumption, tombstones, collections, and waking up.

use std::sync::mpsc;
use std::time::Duration;

use jackdaw::{Change, Changes, Database, Position};
use serde_json::json;

use crate::common::{album, music};

fn all(changes: Changes) -> Vec<Change> {
    let changes = changes.timeout(Duration::ZERO);
    changes.collect::<jackdaw::Result<_>>().unwrap()
}

fn ids(changes: &[Change]) -> Vec<String> {
    let id = |change: &Change| match change {
        Change::Deleted(tombstone) => format!("-{}", tombstone.id),
        change => change.id().to_owned(),
    };
    changes.iter().map(id).collect()
}

#[test]
fn changes_come_in_order_with_the_last_state() {
    let db = music();
    db.put("albums/1", &album("Blue", 2021)).unwrap();
    db.delete("albums/2").unwrap();
    db.put("Albums/2", &album("Hejira", 2022)).unwrap();
    db.delete("albums/3").unwrap();
    let changes = all(db.changes());
    assert_eq!(
        ids(&changes),
        ["albums/1", "-albums/2", "Albums/2", "-albums/3"]
    );
    assert!(changes.is_sorted_by(|a, b| a.position() < b.position()));
    let Change::Stored(document) = &changes[0] else {
        panic!("it was stored");
    };
    assert_eq!(
        document.read::<crate::common::Album>().unwrap(),
        album("Blue", 2021)
    );
    let Change::Deleted(tombstone) = &changes[3] else {
        panic!("it was deleted");
    };
    assert_eq!(tombstone.collection.as_deref(), Some("Albums"));
}

#[test]
fn a_follower_goes_on_after_any_position() {
    let db = music();
    db.delete("albums/2").unwrap();
    let changes = all(db.changes());
    let expected = ids(&changes);
    for (slot, change) in changes.iter().enumerate() {
        let rest = all(db.changes().after(change.position()));
        assert_eq!(ids(&rest), expected[slot + 1..], "{slot}");
    }
    assert_eq!(ids(&all(db.changes().after(Position::START))), expected);
    assert!(all(db.changes().after(Position::from(u64::MAX))).is_empty());
}

#[test]
fn one_collection_is_followed_with_its_tombstones() {
    let db = music();
    db.put("artists/1", &json!({})).unwrap();
    db.put("settings", &json!({})).unwrap();
    db.delete("artists/1").unwrap();
    db.delete("albums/1").unwrap();
    let albums = all(db.changes().in_collection("ALBUMS"));
    assert_eq!(ids(&albums), ["albums/2", "albums/3", "-albums/1"]);
    assert_eq!(
        ids(&all(db.changes().in_collection("Artists"))),
        ["-artists/1"]
    );
    assert!(all(db.changes().in_collection("None")).is_empty());
}

#[test]
fn many_changes_come_in_batches_without_a_gap() {
    let db = Database::in_memory().unwrap();
    for part in 0..7 {
        let mut batch = db.batch();
        for number in 0..100 {
            batch
                .put(&format!("n/{}", part * 100 + number), &json!({"N": number}))
                .unwrap();
        }
        batch.commit().unwrap();
        if part % 2 == 1 {
            db.delete(&format!("n/{}", part * 100)).unwrap();
        }
    }
    let changes = all(db.changes().in_collection("N"));
    assert_eq!(changes.len(), 700);
    assert!(changes.is_sorted_by(|a, b| a.position() < b.position()));
    let deleted = ids(&changes).into_iter().filter(|id| id.starts_with('-'));
    assert_eq!(deleted.collect::<Vec<_>>(), ["-n/100", "-n/300", "-n/500"]);
}

#[test]
fn a_waiting_follower_wakes_up() {
    let db = music();
    let (sender, receiver) = mpsc::channel();
    let mut changes = db.changes().after(db.snapshot().unwrap().position());
    let follower = std::thread::spawn(move || {
        for _ in 0..3 {
            let change = changes.next().expect("it waits").unwrap();
            sender.send(ids(&[change])).unwrap();
        }
        changes.position()
    });
    let mut seen = Vec::new();
    for id in ["albums/7", "albums/8"] {
        db.put(id, &json!({})).unwrap();
        seen.extend(receiver.recv().unwrap());
    }
    db.delete("albums/7").unwrap();
    seen.extend(receiver.recv().unwrap());
    assert_eq!(seen, ["albums/7", "albums/8", "-albums/7"]);
    let position = follower.join().unwrap();
    assert_eq!(position, db.snapshot().unwrap().position());
}

#[test]
fn a_follower_that_ended_may_be_asked_again() {
    let db = Database::in_memory().unwrap();
    let mut changes = db.changes().timeout(Duration::ZERO);
    assert!(changes.next().is_none());
    db.put("albums/1", &json!({})).unwrap();
    assert_eq!(changes.next().unwrap().unwrap().id(), "albums/1");
    assert!(changes.next().is_none());
    db.put("albums/2", &json!({})).unwrap();
    let mut changes = changes.timeout(Duration::MAX);
    assert_eq!(changes.next().unwrap().unwrap().id(), "albums/2");
}

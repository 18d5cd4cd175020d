//! Snapshots of a moment, and those with names.

use jackdaw::Error;
use serde_json::{Value, json};

use crate::common::{Album, Directory, album, music};

#[test]
fn a_snapshot_does_not_change() {
    let db = music();
    let snapshot = db.snapshot().unwrap();
    db.put("albums/1", &album("Blue", 2021)).unwrap();
    db.delete("albums/2").unwrap();
    assert_eq!(
        snapshot.get::<Album>("albums/1").unwrap().unwrap().year,
        1971
    );
    assert_eq!((snapshot.len(), db.snapshot().unwrap().len()), (3, 2));
    assert_eq!(snapshot.documents("albums").unwrap().count(), 3);
    assert_eq!(snapshot.collections().unwrap(), [("Albums".to_owned(), 3)]);
    assert!(snapshot.position() < db.snapshot().unwrap().position());
}

#[test]
fn prefixes_are_listed_in_the_order_of_ids() {
    let db = music();
    db.put("Albums/10", &json!({})).unwrap();
    db.put("artists/1", &json!({})).unwrap();
    let snapshot = db.snapshot().unwrap();
    let ids = |prefix: &str| {
        let found = snapshot.documents_with_prefix(prefix).unwrap();
        found
            .map(|one| one.unwrap().id().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids("ALBUMS/1"), ["albums/1", "Albums/10"]);
    assert_eq!(ids("a").len(), 5);
    assert_eq!(ids("").len(), 5);
    assert!(ids("x").is_empty());
}

#[test]
fn named_snapshots_last_across_a_restart_and_answer_queries() {
    let directory = Directory::new();
    let db = jackdaw::Database::open(directory.path()).unwrap();
    db.put("albums/1", &album("Blue", 1971)).unwrap();
    db.snapshots().take("monday").unwrap();
    assert!(matches!(
        db.snapshots().take("monday"),
        Err(Error::Invalid(_))
    ));
    assert!(matches!(db.snapshots().take(""), Err(Error::Invalid(_))));
    db.put("albums/1", &album("Blue", 2021)).unwrap();
    drop(db);

    let db = jackdaw::Database::open(directory.path()).unwrap();
    assert_eq!(db.snapshots().list().unwrap()[0].name, "monday");
    let monday = db.snapshots().open("monday").unwrap();
    assert_eq!(monday.get::<Album>("albums/1").unwrap().unwrap().year, 1971);
    let query = db
        .query::<Value>("from Albums where Year = 1971")
        .in_snapshot("monday");
    assert_eq!(query.rows().unwrap().len(), 1);
    drop(monday);
    db.snapshots().drop("monday").unwrap();
    assert!(matches!(
        db.snapshots().open("monday"),
        Err(Error::Missing(_))
    ));
    assert!(matches!(
        db.snapshots().drop("monday"),
        Err(Error::Missing(_))
    ));
    assert!(db.snapshots().list().unwrap().is_empty());
}

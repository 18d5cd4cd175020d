//! Batches: all or nothing, versions as conditions, and what they return.

use jackdaw::{Error, Version};
use serde_json::json;

use crate::common::{Album, album, music};

#[test]
fn a_conflict_takes_the_whole_batch_back() {
    let db = music();
    let version = db.document("albums/1").unwrap().unwrap().version().clone();
    db.put("albums/1", &album("Blue", 1972)).unwrap();
    let mut batch = db.batch();
    batch
        .put("albums/9", &album("Wild Things Run Fast", 1982))
        .unwrap();
    batch
        .put_if("albums/1", &album("Blue", 1973), &version)
        .unwrap();
    let Err(Error::Conflict {
        id,
        expected,
        actual,
    }) = batch.commit()
    else {
        panic!("the version is another one");
    };
    assert_eq!((id.as_str(), expected), ("albums/1", Some(version)));
    assert_eq!(
        actual.as_ref(),
        Some(db.document("albums/1").unwrap().unwrap().version())
    );
    assert!(db.get::<Album>("albums/9").unwrap().is_none());
    assert!(batch.is_empty());
}

#[test]
fn conditions_hold_for_puts_inserts_and_deletions() {
    let db = music();
    let version = db.document("albums/1").unwrap().unwrap().version().clone();
    let inserted = db
        .batch()
        .insert("albums/1", &album("Blue", 1))
        .unwrap()
        .commit();
    assert!(matches!(
        inserted,
        Err(Error::Conflict {
            expected: None,
            actual: Some(_),
            ..
        })
    ));
    let gone: Version = "A:77-none".parse().unwrap();
    let put = db
        .batch()
        .put_if("albums/9", &album("X", 1), &gone)
        .unwrap()
        .commit();
    assert!(
        matches!(put, Err(Error::Conflict { actual: None, .. })),
        "{put:?}"
    );
    assert!(db.batch().delete_if("albums/1", &gone).commit().is_err());
    db.batch()
        .insert("albums/9", &album("X", 1))
        .unwrap()
        .commit()
        .unwrap();
    db.batch().delete_if("albums/1", &version).commit().unwrap();
    assert!(db.get::<Album>("albums/1").unwrap().is_none());
}

#[test]
fn versions_returned_are_those_after_the_whole_batch() {
    let db = music();
    let mut batch = db.batch();
    batch
        .put("albums/8", &json!({}))
        .unwrap()
        .put("albums/9", &json!({}))
        .unwrap();
    batch
        .increment("albums/8", "Plays", 2)
        .attach("albums/9", "a.txt", "text/plain", *b"a");
    let stored = batch.commit().unwrap();
    for one in &stored {
        assert_eq!(
            &one.version,
            db.document(&one.id).unwrap().unwrap().version(),
            "{}",
            one.id
        );
    }
    let mut batch = db.batch();
    for one in &stored {
        batch
            .put_if(&one.id, &json!({"A": 1}), &one.version)
            .unwrap();
    }
    assert_eq!(batch.commit().unwrap().len(), 2);
    assert_eq!(db.counters("albums/8").get("Plays").unwrap(), Some(2));
}

#[test]
fn counters_and_attachments_want_their_document() {
    let db = music();
    let counter = db.batch().increment("albums/9", "Plays", 1).commit();
    assert!(matches!(counter, Err(Error::Missing(_))), "{counter:?}");
    let attached = db.batch().attach("albums/9", "a", "", Vec::new()).commit();
    assert!(matches!(attached, Err(Error::Missing(_))), "{attached:?}");
}

#[test]
fn an_empty_batch_changes_nothing() {
    let db = music();
    let before = db.snapshot().unwrap().position();
    assert!(db.batch().commit().unwrap().is_empty());
    assert_eq!(db.snapshot().unwrap().position(), before);
}

#[test]
fn a_value_that_cannot_be_stored_leaves_the_batch_as_it_was() {
    let db = music();
    let mut batch = db.batch();
    batch.put("albums/8", &json!({})).unwrap();
    assert!(batch.put("albums/9", &f64::NAN).is_err());
    assert_eq!(batch.len(), 1);
    assert_eq!(batch.commit().unwrap()[0].id, "albums/8");
}

#[test]
fn threads_write_at_once_and_lose_nothing() {
    let db = music();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = db.clone();
            scope.spawn(move || {
                for number in 0..25 {
                    let id = format!("plays/{thread}-{number}");
                    db.batch()
                        .put(&id, &json!({}))
                        .unwrap()
                        .increment("albums/1", "Plays", 1)
                        .commit()
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(db.counters("albums/1").get("Plays").unwrap(), Some(100));
    assert_eq!(db.snapshot().unwrap().len_of("plays").unwrap(), 100);
}

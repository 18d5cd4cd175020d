//! Indexes that a program defines.

use std::time::Duration;

use jackdaw::{Error, Field, Index};
use serde_json::{Value, json};

use crate::common::music;

const WAIT: Duration = Duration::from_secs(60);

#[test]
fn an_index_answers_until_it_is_deleted() {
    let db = music();
    let index = Index::new("Albums/ByTitle")
        .map("map('Albums', a => ({ Title: a.Title, Length: a.Title.length }))")
        .field("Title", Field::Words)
        .field("Length", Field::Stored);
    db.indexes().put(&index).unwrap();
    db.indexes().put(&index).unwrap();
    assert!(db.indexes().wait(WAIT));
    let text = "from index 'Albums/ByTitle' where search(Title, 'blue') select Length";
    assert_eq!(
        db.query::<Value>(text).rows().unwrap()[0],
        json!({"Length": 4})
    );
    let state = &db.indexes().list().unwrap()[0];
    assert_eq!(
        (state.name.as_str(), state.entry_count),
        ("Albums/ByTitle", 3)
    );
    assert!(state.is_running && !state.is_stale && state.failure.is_none());
    // No wait is too long for the clock.
    assert!(db.indexes().wait(Duration::MAX));
    assert_eq!(
        db.query::<()>(text).wait(Duration::MAX).count().unwrap(),
        Some(1)
    );
    assert!(db.indexes().reset("albums/bytitle").unwrap());
    assert!(db.indexes().delete("Albums/ByTitle").unwrap());
    assert!(!db.indexes().delete("Albums/ByTitle").unwrap());
    assert!(!db.indexes().reset("Albums/ByTitle").unwrap());
}

#[test]
fn definitions_that_cannot_work_are_refused() {
    let db = music();
    for index in [
        Index::new("Albums/X"),
        Index::new("").map("from a in docs.Albums select new { a.Year }"),
        Index::new("Albums/X").map("from a in docs.Albums select new {"),
        Index::new("Albums/X").map("map('Albums', a => {"),
    ] {
        let refused = db.indexes().put(&index);
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert!(db.indexes().list().unwrap().is_empty());
    assert!(matches!(
        db.indexes().errors("Albums/X"),
        Err(Error::Missing(_))
    ));
}

#[test]
fn errors_of_maps_name_their_document() {
    let db = music();
    let index = Index::new("Albums/Bad").map("map('Albums', a => ({ T: a.Title.none() }))");
    db.indexes().put(&index).unwrap();
    assert!(db.indexes().wait(WAIT));
    let errors = db.indexes().errors("Albums/Bad").unwrap();
    assert_eq!(errors.len(), 3);
    assert!(errors[0].starts_with("albums/1: "), "{}", errors[0]);
    assert_eq!(db.indexes().list().unwrap()[0].error_count, 3);
}

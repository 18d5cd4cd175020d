//! Collections with a name of the caller's, whatever ids say.

use jackdaw::{Database, Error};
use serde_json::json;

use crate::common::{Album, album, music};

#[test]
fn a_collection_has_its_own_documents_only() {
    let db = music();
    let classics = db.collection::<Album>("Classics");
    assert!(classics.is_empty().unwrap());
    classics
        .put("kind-of-blue", &album("Kind of Blue", 1959))
        .unwrap();
    assert_eq!(
        classics.get("kind-of-blue").unwrap(),
        Some(album("Kind of Blue", 1959))
    );
    assert_eq!(classics.get("albums/1").unwrap(), None);
    assert!(!classics.delete("albums/1").unwrap());
    assert!(db.get::<Album>("albums/1").unwrap().is_some());
    assert!(classics.delete("kind-of-blue").unwrap());
    assert_eq!(classics.len().unwrap(), 0);
}

#[test]
fn names_of_collections_are_found_in_any_letter_case() {
    let db = music();
    let albums = db.collection::<Album>("ALBUMS");
    assert_eq!(albums.len().unwrap(), 3);
    assert_eq!(albums.get("albums/1").unwrap().unwrap().title, "Blue");
    let all = albums.all().unwrap();
    let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["albums/1", "albums/2", "albums/3"]);
}

#[test]
fn new_documents_get_the_next_number() {
    let db = Database::in_memory().unwrap();
    let posts = db.collection::<serde_json::Value>("BlogPosts");
    assert_eq!(posts.add(&json!({})).unwrap().id, "blogPosts/1");
    assert_eq!(posts.add(&json!({})).unwrap().id, "blogPosts/2");
    let stored = posts.add(&json!({})).unwrap();
    let stale = posts
        .put_if(&stored.id, &json!({"A": 1}), &stored.version)
        .unwrap();
    let again = posts.put_if(&stored.id, &json!({"A": 2}), &stored.version);
    assert!(
        matches!(again, Err(Error::Conflict { .. })),
        "{again:?} {stale:?}"
    );
}

#[test]
fn a_document_does_not_change_its_collection() {
    let db = music();
    let error = db
        .collection::<Album>("Classics")
        .put("albums/1", &album("Blue", 1))
        .unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
}

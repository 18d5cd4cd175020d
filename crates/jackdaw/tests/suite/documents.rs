//! Documents by id: what is stored, found and refused, and in which collection it is.

use jackdaw::{Database, Error};
use serde_json::{Value, json};

use crate::common::{Album, album, music};

#[test]
fn documents_are_found_in_any_letter_case() {
    let db = music();
    assert_eq!(db.get("ALBUMS/1").unwrap(), Some(album("Blue", 1971)));
    assert_eq!(db.document("Albums/1").unwrap().unwrap().id(), "albums/1");
    assert_eq!(db.get::<Album>("albums/9").unwrap(), None);
    assert_eq!(db.get::<Album>("").unwrap(), None);
}

#[test]
fn putting_replaces_and_changes_the_version() {
    let db = music();
    let first = db.document("albums/1").unwrap().unwrap();
    let stored = db.put("albums/1", &album("Blue", 1972)).unwrap();
    let second = db.document("albums/1").unwrap().unwrap();
    assert_ne!(first.version(), second.version());
    assert_eq!(&stored.version, second.version());
    assert!(first.position() < second.position());
    assert!(first.modified() <= second.modified());
    assert_eq!(second.to_json(), r#"{"Title":"Blue","Year":1972}"#);
}

#[test]
fn ids_name_their_collection_unless_the_value_does() {
    let db = Database::in_memory().unwrap();
    let collection = |id: &str, value: Value| {
        let stored = db.put(id, &value).unwrap();
        let document = db.document(&stored.id).unwrap().unwrap();
        document.collection().map(str::to_owned)
    };
    assert_eq!(collection("albums/1", json!({})).as_deref(), Some("Albums"));
    assert_eq!(
        collection("blogPosts/1", json!({})).as_deref(),
        Some("BlogPosts")
    );
    assert_eq!(collection("settings", json!({})), None);
    let metadata = json!({"@metadata": {"@collection": "Discs"}});
    assert_eq!(collection("albums/2", metadata).as_deref(), Some("Discs"));
    assert_eq!(collection("tracks/", json!({})).as_deref(), Some("Tracks"));
    // A document does not move silently.
    let moved = db.put("albums/2", &json!({}));
    assert!(matches!(moved, Err(Error::Invalid(_))), "{moved:?}");
}

#[test]
fn metadata_is_stored_apart_from_the_content() {
    let db = Database::in_memory().unwrap();
    let value = json!({"A": 1, "@metadata": {"@expires": "2099-01-01T00:00:00Z", "note": [1]}});
    db.put("notes/1", &value).unwrap();
    let document = db.document("notes/1").unwrap().unwrap();
    assert_eq!(document.to_json(), r#"{"A":1}"#);
    let metadata: Value = document.metadata().unwrap();
    assert_eq!(
        metadata,
        json!({"@expires": "2099-01-01T00:00:00Z", "note": [1]})
    );
    db.put("notes/2", &json!({"@metadata": null})).unwrap();
    let document = db.document("notes/2").unwrap().unwrap();
    assert_eq!(document.metadata::<Value>().unwrap(), json!({}));
}

#[test]
fn values_that_are_no_objects_are_refused() {
    let db = Database::in_memory().unwrap();
    for (value, kind) in [
        (json!([1]), "array"),
        (json!(null), "null"),
        (json!("x"), "string"),
        (json!(1), "number"),
        (json!(true), "bool"),
    ] {
        let error = db.put("values/1", &value).unwrap_err();
        assert!(matches!(error, Error::Value(_)), "{error:?}");
        assert!(error.to_string().contains(kind), "{error}");
    }
    let error = db.put("values/1", &json!({"@metadata": 5})).unwrap_err();
    assert!(error.to_string().starts_with("@metadata: "), "{error}");
    assert!(db.snapshot().unwrap().is_empty());
}

#[test]
fn ids_that_cannot_be_ids_are_refused() {
    let db = Database::in_memory().unwrap();
    let long = format!("albums/{}", "x".repeat(1_024));
    let error = db.put(&long, &json!({})).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    assert_eq!(
        db.put("\u{e4}lben/\u{1f3b5}", &json!({})).unwrap().id,
        "\u{e4}lben/\u{1f3b5}"
    );
}

#[test]
fn a_document_of_another_type_names_the_field() {
    let db = Database::in_memory().unwrap();
    db.put("albums/1", &json!({"Title": "Blue", "Year": "1971"}))
        .unwrap();
    let Err(Error::Value(error)) = db.get::<Album>("albums/1") else {
        panic!("a text is no year");
    };
    assert_eq!(error.path(), "Year");
}

#[test]
fn deleting_says_whether_there_was_a_document() {
    let db = music();
    assert!(db.delete("ALBUMS/2").unwrap());
    assert!(!db.delete("albums/2").unwrap());
    assert!(db.get::<Album>("albums/2").unwrap().is_none());
}

#[test]
fn large_documents_and_names_of_any_kind_survive() {
    let db = Database::in_memory().unwrap();
    let text = "\u{e9}".repeat(3 << 20);
    let value = json!({"": text, "a.b": {"\u{0}": [0.1, -0.0, u64::MAX, i64::MIN]}});
    db.put("values/1", &value).unwrap();
    assert_eq!(db.get::<Value>("values/1").unwrap(), Some(value));
}

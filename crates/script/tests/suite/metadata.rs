//! What the database says of a document is read as its metadata, by `getMetadata()` and as
//! `document['@metadata']`, and is not stored with it.

use jackdaw_script::{Argument, ScriptDocument, Wanted};

use crate::common::{World, json, machine, patch_in, value};
use crate::index_world::mapped;

const KNOWN: [(&str, &str); 3] = [
    ("@id", r#""albums/1""#),
    ("@change-vector", r#""A:1-x""#),
    ("@last-modified", r#""2026-01-02T03:04:05.0000000Z""#),
];

#[test]
fn both_ways_of_reading_metadata_agree() {
    for body in ["{}", r#"{"@metadata":{"k":1}}"#] {
        for (name, expected) in KNOWN {
            for of in [
                "getMetadata(this)",
                "this['@metadata']",
                "this[\"@metadata\"]",
            ] {
                assert_eq!(value(body, &format!("{of}['{name}']")), expected, "{of}");
            }
        }
        assert_eq!(
            value(body, "this['@metadata']['@collection']"),
            r#""Albums""#
        );
        assert_eq!(value(body, "this['@metadata'].none ?? 'no'"), r#""no""#);
    }
    let loaded = "load('artists/1')['@metadata']['@id']";
    let mut world = World::default();
    world.documents.insert("artists/1".into(), json("{}"));
    let script = format!("this.Id = {loaded}; this.None = load('none')?.['@metadata']['@id'] ?? 0");
    let output = patch_in(&mut world, "{}", &script, "{}").unwrap();
    assert_eq!(
        output.value.root().to_json(),
        r#"{"Id":"artists/1","None":0}"#
    );
}

/// Runs a patch over a document that has neither metadata nor a collection.
fn bare(script: &str) -> (String, Option<String>) {
    let body = json(r#"{"a":1}"#);
    let document = ScriptDocument {
        body: body.root(),
        metadata: None,
        collection: None,
        id: "x",
        change_vector: Some("A:7-x"),
        last_modified: None,
    };
    let arguments = [Argument::Document(document)];
    let mut machine = machine(script);
    let output = machine.run(&mut World::default(), &arguments, None, Wanted::Document);
    let output = output.unwrap_or_else(|error| panic!("{script}: {error}"));
    let metadata = output.metadata.map(|metadata| metadata.root().to_json());
    (output.value.root().to_json(), metadata)
}

#[test]
fn a_document_without_metadata_has_what_the_database_says() {
    let read =
        "this.v = this['@metadata']['@change-vector']; this.c = this['@metadata']['@collection']";
    assert_eq!(
        bare(read),
        (r#"{"a":1,"v":"A:7-x","c":null}"#.to_owned(), None)
    );
    let keys =
        "this.keys = Object.keys(this); this.copy = { ...this }; this.text = JSON.stringify(this)";
    let (document, metadata) = bare(keys);
    assert!(
        document.starts_with(r#"{"a":1,"keys":["a"],"#),
        "{document}"
    );
    assert_eq!(metadata, None);
    assert!(!document.contains("metadata"), "{document}");
}

#[test]
fn metadata_that_is_set_is_stored_and_what_the_database_says_is_not() {
    let stored = |script: &str| bare(script).1;
    let own = Some(r#"{"k":1}"#.to_owned());
    assert_eq!(stored("this['@metadata'].k = 1"), own);
    assert_eq!(stored("this['@metadata'] = { k: 1 }"), own);
    assert_eq!(stored("getMetadata(this).k = 1"), own);
    assert_eq!(stored("const m = this['@metadata']; m.k = 2; m.k--"), own);
    let output = patch_in(
        &mut World::default(),
        r#"{"@metadata":{"k":1,"old":2}}"#,
        "delete this['@metadata'].old; this['@metadata'].at = this['@metadata']['@id']",
        "{}",
    );
    let metadata = output
        .unwrap()
        .metadata
        .map(|metadata| metadata.root().to_json());
    let left = r#"{"@collection":"Albums","k":1,"at":"albums/1"}"#;
    assert_eq!(metadata.as_deref(), Some(left));
}

#[test]
fn maps_of_both_languages_read_metadata() {
    for (name, expected) in KNOWN {
        let expected = format!(r#"{{"m":{expected}}}"#);
        for map in [
            format!("map('U', u => ({{ m: u['@metadata']['{name}'] }}))"),
            format!("map('U', u => {{ const m = u['@metadata']; return {{ m: m['{name}'] }} }})"),
            format!("map('U', u => ({{ m: getMetadata(u)['{name}'] }}))"),
            format!("docs.U.Select(u => new {{ m = MetadataFor(u)[\"{name}\"] }})"),
            format!("docs.U.Select(u => new {{ m = u[\"@metadata\"][\"{name}\"] }})"),
        ] {
            assert_eq!(mapped(&map, "{}"), [expected.as_str()], "{map}");
        }
    }
}

//! Maps in JavaScript: attachments with their text, objects as text, fields made by name; and the
//! fields that facets over static indexes name.

use std::time::Duration;

use jackdaw_database::{
    AttachmentChange, AttachmentContent, Command, Database, QueryError, QueryRequest, RowBuffer,
    StaticDefinition,
};
use jackdaw_sim::SimVfs;

use crate::common::{json, open, store};

const LONG: Duration = Duration::from_secs(30);

fn put_index(database: &Database, text: &str) {
    let definition = StaticDefinition::read(json(text).root().as_object().unwrap());
    database.put_index(definition.unwrap()).unwrap();
}

fn put_map(database: &Database, name: &str, map: &str) {
    put_index(
        database,
        &format!(r#"{{"Name":"{name}","Maps":[{map:?}]}}"#),
    );
}

fn rows(database: &Database, text: &str) -> Result<Vec<String>, QueryError> {
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text,
        wait: Some(LONG),
        ..QueryRequest::default()
    };
    database.query(&request, &mut rows)?;
    let list = json(&format!("[{}]", String::from_utf8(rows.rows).unwrap()));
    let list = list.root().as_array().unwrap();
    Ok(list.iter().map(|row| row.to_json()).collect())
}

/// The ids of rows.
fn ids(database: &Database, text: &str) -> Vec<String> {
    let rows = rows(database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let id = |row: &String| {
        let row = json(row);
        let id = row.root().get_path(&["@metadata", "@id"]).unwrap();
        id.as_str().unwrap().to_owned()
    };
    let mut ids: Vec<String> = rows.iter().map(id).collect();
    ids.sort();
    ids
}

fn attach(database: &Database, id: &str, name: &str, content: &[u8]) {
    let command = Command::Attachment {
        id: id.to_owned(),
        name: name.to_owned(),
        expected: None,
        change: AttachmentChange::Put {
            content_type: "text/plain".to_owned(),
            content: AttachmentContent::from_bytes(content.to_vec()),
        },
    };
    database.batch(vec![command]).unwrap();
}

#[test]
fn attachments_are_indexed_by_details_and_text() {
    let database = open(&SimVfs::new(71));
    let map = "map('Notes', n => { const one = loadAttachment(n, 'a.txt'); return {
        Name: one.Name, Size: one.Size, Kind: one.ContentType, Text: one.getContentAsString(),
        All: loadAttachments(n).map(a => a.getContentAsString()),
        Names: attachmentsFor(n).map(a => a.Name) }; })";
    put_map(&database, "Texts", map);
    for id in ["n/1", "n/2", "n/3"] {
        store(&database, id, "Notes", "{}");
    }
    attach(&database, "n/1", "a.txt", "Grüße \u{1F600}".as_bytes());
    attach(&database, "n/2", "A.TXT", b"\xFF\xFEO\0K\0");
    attach(&database, "n/2", "b.txt", b"\xEF\xBB\xBFmarked");
    for (condition, found) in [
        ("Text = 'grüße \u{1F600}'", vec!["n/1"]),
        ("Text = 'ok'", vec!["n/2"]),
        ("All = 'marked'", vec!["n/2"]),
        ("Names = 'b.txt'", vec!["n/2"]),
        ("Size = 12", vec!["n/1"]),
        ("Kind = 'text/plain'", vec!["n/1", "n/2"]),
        ("exists(Name)", vec!["n/1", "n/2"]),
    ] {
        let text = format!("from index 'Texts' where {condition}");
        assert_eq!(ids(&database, &text), found, "{condition}");
    }
    // A new content brings the document back to the map.
    attach(&database, "n/1", "a.txt", b"other");
    assert_eq!(
        ids(&database, "from index 'Texts' where Text = 'other'"),
        ["n/1"]
    );
}

#[test]
fn a_text_that_is_too_long_fails_its_document_alone() {
    let database = open(&SimVfs::new(72));
    let map = "map('Notes', n => ({ Text: loadAttachment(n, 'a').getContentAsString() }))";
    put_map(&database, "Texts", map);
    store(&database, "n/1", "Notes", "{}");
    store(&database, "n/2", "Notes", "{}");
    attach(&database, "n/1", "a", &vec![b'x'; (4 << 20) + 1]);
    attach(&database, "n/2", "a", b"short");
    assert_eq!(
        ids(&database, "from index 'Texts' where Text = 'short'"),
        ["n/2"]
    );
    assert_eq!(ids(&database, "from index 'Texts'"), ["n/2"]);
}

#[test]
fn attachments_of_loaded_documents_bring_their_readers_back() {
    let database = open(&SimVfs::new(73));
    let map = "map('Cards', c => ({ Text: loadAttachment(load(c.Of, 'Notes'), 'a')
        .getContentAsString() }))";
    put_map(&database, "Cards", map);
    store(&database, "n/1", "Notes", "{}");
    store(&database, "c/1", "Cards", r#"{"Of":"n/1"}"#);
    assert!(ids(&database, "from index 'Cards' where exists(Text)").is_empty());
    attach(&database, "n/1", "a", b"now");
    assert_eq!(
        ids(&database, "from index 'Cards' where Text = 'now'"),
        ["c/1"]
    );
}

#[test]
fn objects_are_indexed_as_their_json_text() {
    let database = open(&SimVfs::new(74));
    let map = "map('Items', i => ({ O: i.O, L: i.L, M: { n: i.N, at: new Date(0), none: null },
        _: createField('Made', i.O, { storage: true }) }))";
    put_map(&database, "Objects", map);
    store(
        &database,
        "i/1",
        "Items",
        r#"{"N":1,"O":{"a":1,"b":"X y"},"L":[{"c":2},[{"d":3}],{}]}"#,
    );
    for condition in [
        r#"O = '{"a":1,"b":"X y"}'"#,
        r#"L = '{"c":2}'"#,
        r#"L = '{"d":3}'"#,
        "L = '{}'",
        r#"M = '{"n":1,"at":"1970-01-01T00:00:00.0000000Z","none":null}'"#,
        r#"Made = '{"a":1,"b":"X y"}'"#,
        r#"startsWith(O, '{"a"')"#,
    ] {
        let text = format!("from index 'Objects' where {condition}");
        assert_eq!(ids(&database, &text), ["i/1"], "{condition}");
    }
}

#[test]
fn facets_count_only_fields_that_the_index_has() {
    let database = open(&SimVfs::new(75));
    put_map(&database, "S", "from o in docs.Os select new { o.N, o.C }");
    put_map(&database, "J", "map('Os', o => ({ N: o.N, C: o.C }))");
    store(&database, "o/1", "Os", r#"{"N":1,"C":"x","Nope":7}"#);
    store(
        &database,
        "facets/1",
        "Setups",
        r#"{"Facets":[{"FieldName":"C"},{"FieldName":"Nope"}],"RangeFacets":[]}"#,
    );
    store(
        &database,
        "facets/2",
        "Setups",
        r#"{"Facets":[],"RangeFacets":[{"Ranges":["Nope < 3","Nope >= 3"]}]}"#,
    );
    for index in ["S", "J"] {
        for facets in [
            "facet(Nope)",
            "facet('Nope')",
            "facet(C), facet(Nope)",
            "facet(Nope < 3, Nope >= 3)",
            "facet(Nope between 1 and 9)",
            "facet(Nope, sum(N))",
            "facet(id('facets/1'))",
            "facet(id('facets/2'))",
        ] {
            for condition in ["", "where C = 'none'", "where N > 0"] {
                let text = format!("from index '{index}' {condition} select {facets}");
                let refused = rows(&database, &text).expect_err(&text);
                let expected = format!("Field Nope not found in Index '{index}'.");
                assert!(
                    matches!(&refused, QueryError::Invalid(why) if *why == expected),
                    "{text}"
                );
            }
        }
        for facets in [
            "facet(C)",
            "facet(N < 3, N >= 3)",
            "facet(sum(N))",
            "facet(C, sum(Nope))",
        ] {
            let text = format!("from index '{index}' select {facets}");
            assert_eq!(rows(&database, &text).expect(&text).len(), 1, "{text}");
        }
    }
    // Without an index of that kind values are those of documents.
    let text = "from Os select facet(Nope)";
    assert!(rows(&database, text).unwrap()[0].contains(r#""Range":"7""#));
}

#[test]
fn an_index_that_makes_fields_by_name_answers_for_any() {
    let database = open(&SimVfs::new(76));
    put_map(
        &database,
        "D",
        "from o in docs.Os select new { o.N, _ = CreateField(o.C, o.N) }",
    );
    put_map(
        &database,
        "J",
        "map('Os', o => ({ N: o.N, _: createField(o.C, o.N, { indexing: 'Exact' }) }))",
    );
    store(&database, "o/1", "Os", r#"{"N":1,"C":"x"}"#);
    for index in ["D", "J"] {
        let from = format!("from index '{index}'");
        assert_eq!(ids(&database, &format!("{from} where x = 1")), ["o/1"]);
        assert!(ids(&database, &format!("{from} where y = 1")).is_empty());
        assert_eq!(ids(&database, &format!("{from} order by y")), ["o/1"]);
        let facets = rows(&database, &format!("{from} select facet(x), facet(y)")).unwrap();
        assert!(facets[0].contains(r#""Range":"1""#), "{facets:?}");
        assert!(facets[1].contains(r#""Values":[]"#), "{facets:?}");
    }
}

#[test]
fn deleting_an_index_ends_the_script_that_it_runs() {
    let database = open(&SimVfs::new(77));
    // Comparisons of long texts: few turns of the loop in a long time.
    let map = "map('Os', o => { const a = 'x'.repeat(1e6), b = 'x'.repeat(1e6); let n = 0;
        for (let i = 0; i < 900000; i++) { if (a === b) n++ } return { n }; })";
    put_map(&database, "Stuck", map);
    store(&database, "o/1", "Os", r#"{"N":1}"#);
    let mut sink = RowBuffer::default();
    let request = QueryRequest {
        text: "from index 'Stuck'",
        wait: Some(Duration::from_millis(50)),
        ..QueryRequest::default()
    };
    database.query(&request, &mut sink).unwrap();
    assert!(sink.rows.is_empty(), "the script is still running");
    // Others write, and are indexed, meanwhile and afterwards.
    store(&database, "o/2", "Os", r#"{"N":2}"#);
    assert!(database.delete_index("Stuck").unwrap());
    put_map(&database, "Next", "map('Os', o => ({ N: o.N }))");
    assert_eq!(ids(&database, "from index 'Next' where N = 2"), ["o/2"]);
}

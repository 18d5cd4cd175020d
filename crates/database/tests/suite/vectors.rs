//! Searches for vectors through automatic and static indexes: fresh after every change, across
//! starts, with errors told where they belong.

use std::sync::Arc;
use std::time::Duration;

use jackdaw_database::{
    Database, PutIndexError, QueryError, QueryRequest, QueryResult, RowBuffer, StaticDefinition,
};
use jackdaw_sim::SimVfs;

use crate::common::{delete, json, open, store};

const LONG: Duration = Duration::from_secs(30);

fn ask(
    database: &Database,
    text: &str,
    parameters: &str,
) -> Result<(QueryResult, Vec<String>), QueryError> {
    let mut rows = RowBuffer::default();
    let parameters = json(parameters);
    let request = QueryRequest {
        text,
        parameters: Some(parameters.document()),
        wait: Some(LONG),
        ..QueryRequest::default()
    };
    let result = database.query(&request, &mut rows)?;
    let list = json(&format!("[{}]", String::from_utf8(rows.rows).unwrap()));
    let id = |row: jackdaw_document::Value<'_>| {
        let id = row.get_path(&["@metadata", "@id"]).unwrap();
        id.as_str().unwrap().to_owned()
    };
    let rows = list.root().as_array().unwrap();
    Ok((result, rows.iter().map(id).collect()))
}

fn ids(database: &Database, text: &str) -> Vec<String> {
    ask(database, text, r#"{"v":[1,0,0]}"#).unwrap().1
}

fn put_index(database: &Arc<Database>, text: &str) -> Result<(), PutIndexError> {
    let definition = StaticDefinition::read(json(text).root().as_object().unwrap()).unwrap();
    database.put_index(definition).map(drop)
}

fn start() -> (Arc<SimVfs>, Arc<Database>) {
    let vfs = SimVfs::new(1);
    let database = open(&vfs);
    for (id, body) in [
        ("v/1", r#"{"V":[1,0,0],"G":"a"}"#),
        ("v/2", r#"{"V":{"@vector":[0.9,0.4,0]},"G":"b"}"#),
        ("v/3", r#"{"V":[[0,1,0],[0,0,1]],"G":"b"}"#),
        ("v/4", r#"{"V":[-1,0,0],"G":"c"}"#),
    ] {
        store(&database, id, "Vs", body);
    }
    (vfs, database)
}

#[test]
fn an_automatic_index_answers_and_is_never_behind() {
    let (vfs, database) = start();
    let text = "from Vs where vector.search(V, $v)";
    let (result, found) = ask(&database, text, r#"{"v":[1,0,0]}"#).unwrap();
    assert_eq!(found, ["v/1", "v/2", "v/3", "v/4"]);
    assert_eq!(result.index_name, "Auto/Vs/ByVector.search(V)");
    let two = "from Vs where G = 'b' and vector.search(embedding.f32_i8(V), $v, 0, 1)";
    let (result, found) = ask(&database, two, r#"{"v":[1,0,0]}"#).unwrap();
    assert_eq!(found, ["v/2"]);
    let name = "Auto/Vs/ByGAndVector.search(V)AndVector.search(embedding.f32_i8(V))";
    assert_eq!(result.index_name, name);
    store(&database, "v/5", "Vs", r#"{"V":[0.99,0,0.1],"G":"b"}"#);
    store(&database, "v/2", "Vs", r#"{"V":[-1,0.1,0],"G":"b"}"#);
    database.batch(vec![delete("v/1")]).unwrap();
    assert_eq!(ids(&database, text), ["v/5", "v/3", "v/2", "v/4"]);
    assert_eq!(ids(&database, two), ["v/5"]);
    drop(database);
    let database = open(&vfs);
    assert_eq!(ids(&database, text), ["v/5", "v/3", "v/2", "v/4"]);
    let wrong = ask(&database, text, r#"{"v":[1,0]}"#).err().unwrap();
    assert_eq!(
        wrong.to_string(),
        "field \"vector.search(V)\" has vectors of 3 dimensions, but the vector searched for has 2"
    );
}

#[test]
fn static_indexes_make_vectors_in_both_languages() {
    let (_vfs, database) = start();
    for (name, map, options) in [
        (
            "Sharp",
            "from d in docs.Vs select new { V = CreateVector(d.V), d.G }",
            "",
        ),
        (
            "Script",
            "map('Vs', d => ({ V: createVector(d.V), G: d.G }))",
            "",
        ),
        (
            "Bytes",
            "map('Vs', d => ({ V: createVector(d.V), G: d.G }))",
            r#","Fields":{"V":{"Vector":{"SourceEmbeddingType":"Single",
            "DestinationEmbeddingType":"Int8","Dimensions":3,"NumberOfEdges":8}}}"#,
        ),
    ] {
        let definition = format!(r#"{{"Name":"{name}","Maps":["{map}"]{options}}}"#);
        put_index(&database, &definition).unwrap();
        let found = ids(
            &database,
            &format!("from index '{name}' where vector.search(V, $v)"),
        );
        assert_eq!(found, ["v/1", "v/2", "v/3", "v/4"], "{name}");
        let text = format!("from index '{name}' where G = 'b' and vector.search(V, $v, 0.9)");
        assert_eq!(ids(&database, &text), ["v/2"], "{name}");
        let text = format!("from index '{name}' where exact(vector.search(V, $v, 0, 1))");
        assert_eq!(ids(&database, &text), ["v/1"], "{name}");
    }
    store(&database, "v/6", "Vs", r#"{"V":[1,0],"G":"a"}"#);
    store(&database, "v/7", "Vs", r#"{"V":["no vector"],"G":"a"}"#);
    store(&database, "v/8", "Vs", r#"{"V":[0.99,0.1,0],"G":"a"}"#);
    for name in ["Sharp", "Script", "Bytes"] {
        let found = ids(
            &database,
            &format!("from index '{name}' where vector.search(V, $v, 0.9)"),
        );
        assert_eq!(found, ["v/1", "v/8", "v/2"], "{name}");
        let found = ids(&database, &format!("from index '{name}' where G = 'a'"));
        assert_eq!(found.len(), 4, "{name}");
        let errors = database.index_errors(&[name.to_owned()]).unwrap().unwrap();
        let told: Vec<(Option<&str>, &str)> = errors[0]
            .1
            .iter()
            .map(|error| (error.document.as_deref(), error.error.as_str()))
            .collect();
        let has = |id: &str, text: &str| {
            told.iter()
                .any(|(document, error)| *document == Some(id) && error.contains(text))
        };
        assert!(
            has("v/6", "has vectors of 3 dimensions, but this one has 2"),
            "{told:?}"
        );
        assert!(has("v/7", "a vector is an array of numbers"), "{told:?}");
        assert_eq!(told.len(), 2, "{told:?}");
    }
    let refused = put_index(
        &database,
        r#"{"Name":"Text","Maps":["map('Vs', d => ({ V: createVector(d.G) }))"],
        "Fields":{"V":{"Vector":{"SourceEmbeddingType":"Text"}}}}"#,
    );
    assert!(refused.unwrap_err().to_string().contains("needs a model"));
}

//! Proves that what is said about indexes has only values that typed clients know, in every member
//! that clients read into an enumeration, and the defaults that definitions leave out.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Connection, start_with_database};

/// Members that clients read into an enumeration, and its values.
const ENUMERATIONS: &[(&str, &[&str])] = &[
    ("SearchEngineType", &["None", "Corax", "Lucene"]),
    (
        "Type",
        &[
            "AutoMap",
            "AutoMapReduce",
            "Map",
            "MapReduce",
            "Faulty",
            "JavaScriptMap",
            "JavaScriptMapReduce",
        ],
    ),
    (
        "SourceType",
        &["None", "Documents", "TimeSeries", "Counters"],
    ),
    ("State", &["Normal", "Disabled", "Idle", "Error"]),
    ("LockMode", &["Unlock", "LockedIgnore", "LockedError"]),
    ("Priority", &["Low", "Normal", "High"]),
    ("Status", &["Running", "Paused", "Disabled", "Pending"]),
    (
        "IndexRunningStatus",
        &["Running", "Paused", "Disabled", "Pending"],
    ),
    (
        "ArchivedDataProcessingBehavior",
        &["ExcludeArchived", "IncludeArchived", "ArchivedOnly"],
    ),
    ("DeploymentMode", &["Parallel", "Rolling"]),
];
/// Those of fields.
const OF_FIELDS: &[(&str, &[&str])] = &[
    (
        "Indexing",
        &["No", "Search", "Exact", "Highlighting", "Default"],
    ),
    ("Storage", &["Yes", "No"]),
    (
        "TermVector",
        &[
            "No",
            "Yes",
            "WithPositions",
            "WithOffsets",
            "WithPositionsAndOffsets",
        ],
    ),
];

fn check(value: &Value, enumerations: &[(&str, &[&str])]) {
    for (name, known) in enumerations {
        match &value[*name] {
            Value::Null => {}
            Value::String(text) => assert!(known.contains(&text.as_str()), "{name}: {text}"),
            other => panic!("{name}: {other}"),
        }
    }
}

fn put_indexes(connection: &mut Connection, indexes: &Value) {
    let body = json!({ "Indexes": indexes }).to_string();
    let answer = connection.put("/databases/db1/admin/indexes", &body);
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn results(connection: &mut Connection, path: &str) -> Vec<Value> {
    let answer = connection.get(&format!("/databases/db1/{path}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["Results"].as_array().unwrap().clone()
}

#[test]
fn enumerations_have_values_that_clients_know() {
    let (_running, mut connection) = start_with_database();
    let spatial = json!({ "L": { "Spatial": { "Type": "Cartesian" }, "Indexing": "Exact" } });
    put_indexes(
        &mut connection,
        &json!([
            { "Name": "Map", "Maps": ["from d in docs.Ds select new { d.N }"],
              "Priority": "High", "LockMode": "LockedIgnore", "State": "Disabled",
              "ArchivedDataProcessingBehavior": "IncludeArchived",
              "Fields": { "N": { "Indexing": "Search", "Storage": "Yes" } } },
            { "Name": "Reduce",
              "Maps": ["from d in docs.Ds select new { d.N, Count = 1 }"],
              "Reduce": "from r in results group r by r.N into g \
                         select new { N = g.Key, Count = g.Sum(x => x.Count) }" },
            { "Name": "JavaScript", "Maps": ["map('Ds', d => ({ N: d.N }))"] },
            { "Name": "Spatial", "Fields": spatial,
              "Maps": ["from d in docs.Ds select new { L = CreateSpatialField(d.X, d.Y) }"] },
        ]),
    );
    for query in [
        "from Ds where N = 1",
        "from Ds where search(T, 'a') and exact(U = 'b')",
    ] {
        let body = json!({ "Query": query }).to_string();
        assert_eq!(connection.post("/databases/db1/queries", &body).status, 200);
    }
    for path in ["indexes", "indexes/stats", "indexes/progress"] {
        let rows = results(&mut connection, path);
        assert!(rows.len() >= 5 || path == "indexes/progress", "{path}");
        for row in &rows {
            check(row, ENUMERATIONS);
            if let Value::Object(fields) = &row["Fields"] {
                fields.values().for_each(|field| check(field, OF_FIELDS));
            }
        }
    }
    for path in ["stats", "stats/essential", "stats/detailed"] {
        let body = connection.get(&format!("/databases/db1/{path}")).json();
        let rows = body["Indexes"].as_array().unwrap();
        assert!(rows.len() >= 5, "{path}");
        rows.iter().for_each(|row| check(row, ENUMERATIONS));
    }
}

#[test]
fn the_engine_is_the_one_that_a_definition_asks_for() {
    let (_running, mut connection) = start_with_database();
    let map = json!(["from d in docs.Ds select new { d.N }"]);
    let with = |name: &str, engine: &str| {
        json!({ "Name": name, "Maps": map,
                "Configuration": { "Indexing.Static.SearchEngineType": engine } })
    };
    put_indexes(
        &mut connection,
        &json!([
            { "Name": "Plain", "Maps": map },
            with("Lucene", "Lucene"),
            with("Lower", "lucene"),
            with("Corax", "Corax"),
            with("Other", "Jackdaw"),
        ]),
    );
    for (name, engine) in [
        ("Plain", "Corax"),
        ("Lucene", "Lucene"),
        ("Lower", "Lucene"),
        ("Corax", "Corax"),
        ("Other", "Corax"),
    ] {
        let rows = results(&mut connection, &format!("indexes/stats?name={name}"));
        assert_eq!(rows[0]["SearchEngineType"], engine, "{name}");
    }
}

#[test]
fn spatial_options_are_told_with_their_defaults() {
    let (_running, mut connection) = start_with_database();
    let map = |field: &str| {
        json!([format!(
            "from d in docs.Ds select new {{ {field} = CreateSpatialField(d.X, d.Y) }}"
        )])
    };
    put_indexes(
        &mut connection,
        &json!([
            { "Name": "Bare", "Maps": map("L"), "Fields": { "L": { "Spatial": {} } } },
            { "Name": "Typed", "Maps": map("L"),
              "Fields": { "L": { "Spatial": { "Type": "Geography" } } } },
            { "Name": "Own", "Maps": map("L"),
              "Fields": { "L": { "Spatial": { "Type": "Geography", "Units": "Miles",
                  "Strategy": "QuadPrefixTree", "MaxTreeLevel": 12, "MaxX": null } } } },
            { "Name": "Flat", "Maps": map("L"), "ArchivedDataProcessingBehavior": "ArchivedOnly",
              "Fields": { "L": { "Spatial": { "Type": "Cartesian" } } } },
        ]),
    );
    let usual = json!({
        "Type": "Geography", "MaxTreeLevel": 9, "MaxX": 180, "MaxY": 90, "MinX": -180,
        "MinY": -90, "Strategy": "GeohashPrefixTree", "Units": "Kilometers",
    });
    let own = [
        ("Units", json!("Miles")),
        ("Strategy", json!("QuadPrefixTree")),
        ("MaxTreeLevel", json!(12)),
    ];
    for (name, changed) in [
        ("Bare", &[][..]),
        ("Typed", &[]),
        ("Own", &own),
        ("Flat", &[("Type", json!("Cartesian"))]),
    ] {
        let mut expected = usual.clone();
        for (member, value) in changed {
            expected[*member] = value.clone();
        }
        let rows = results(&mut connection, &format!("indexes?name={name}"));
        assert_eq!(rows[0]["Fields"]["L"]["Spatial"], expected, "{name}");
        let record = connection.get("/databases/db1/admin/record").json();
        assert_eq!(
            record["Indexes"][name]["Fields"]["L"]["Spatial"], expected,
            "{name}"
        );
    }
    for path in ["indexes?name=Flat", "indexes/stats?name=Flat"] {
        let rows = results(&mut connection, path);
        assert_eq!(
            rows[0]["ArchivedDataProcessingBehavior"], "ArchivedOnly",
            "{path}"
        );
    }
    let rows = results(&mut connection, "indexes/stats?name=Bare");
    assert_eq!(rows[0]["ArchivedDataProcessingBehavior"], Value::Null);
}

#[test]
fn javascript_that_declares_no_map_is_refused_when_it_is_put() {
    let (_running, mut connection) = start_with_database();
    let mut put = |map: &str, reduce: Option<&str>| {
        let index = json!({ "Name": "J", "Maps": [map], "Reduce": reduce });
        let path = "/databases/db1/admin/indexes";
        let answer = connection.put(path, &json!({ "Indexes": [index] }).to_string());
        (
            answer.status,
            answer.json()["Type"].as_str().unwrap_or("").to_owned(),
        )
    };
    let creation = "Raven.Client.Exceptions.Documents.Indexes.IndexCreationException";
    for map in [
        "nope('X')",
        "nope('Os', o => ({ N: o.N }))",
        "nope('X'); map('Os', o => ({ N: 1 }))",
        "x.y('Os')",
        "null.x()",
        "1 + 1",
        "map()",
        "map('Os')",
        "map('Os', 5)",
        "map('Os', nope)",
        "map(5, o => 1)",
        "groupBy(o => o.N).aggregate(g => ({}))",
    ] {
        assert_eq!(put(map, None), (400, creation.to_owned()), "{map}");
    }
    let map = "map('Os', o => ({ N: o.N }))";
    for reduce in ["nope(x => x)", "groupBy(x => x.N).nope(g => 1)", map] {
        assert_eq!(
            put(map, Some(reduce)),
            (400, creation.to_owned()),
            "{reduce}"
        );
    }
    // What does not read, or throws, is an error of the engine.
    let engine = "Jint.Runtime.JavaScriptException";
    for map in ["foo(", "throw 'x'", "throw new Error('boo')"] {
        assert_eq!(put(map, None), (400, engine.to_owned()), "{map}");
    }
    // Inside of a map, a function is called when there is a document.
    assert_eq!(put("map('Os', o => ({ N: nope(o.N) }))", None).0, 201);
}

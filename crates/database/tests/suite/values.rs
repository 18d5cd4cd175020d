//! What static indexes of both languages know about values: instants, numbers, ranges of one kind,
//! and which documents an intersection finds over several entries of each.

use std::sync::Arc;
use std::time::Duration;

use jackdaw_database::{Database, QueryRequest, RowBuffer, StaticDefinition};
use jackdaw_sim::SimVfs;

use crate::common::{json, open, store};

const LONG: Duration = Duration::from_secs(30);

fn put_index(database: &Arc<Database>, name: &str, map: &str, more: &str) {
    let text = format!(r#"{{"Name":"{name}","Maps":[{map:?}]{more}}}"#);
    let definition = StaticDefinition::read(json(&text).root().as_object().unwrap()).unwrap();
    database.put_index(definition).unwrap();
}

fn rows(database: &Database, text: &str) -> Vec<String> {
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text,
        wait: Some(LONG),
        ..QueryRequest::default()
    };
    let result = database.query(&request, &mut rows);
    result.unwrap_or_else(|error| panic!("{text}: {error}"));
    let list = json(&format!("[{}]", String::from_utf8(rows.rows).unwrap()));
    let rows = list.root().as_array().unwrap();
    rows.iter().map(|row| row.to_json()).collect()
}

fn ids(database: &Database, text: &str) -> Vec<String> {
    let id = |row: &String| {
        let row = json(row);
        let id = row.root().get_path(&["@metadata", "@id"]);
        id.unwrap().as_str().unwrap().to_owned()
    };
    rows(database, text).iter().map(id).collect()
}

const TIMES: [(&str, &str); 7] = [
    ("t/b", r#"{"T":"2024-05-01T08:00:00.0000000Z","M":12.0}"#),
    ("t/d", r#"{"T":"2024-05-01T08:00:00Z","M":12}"#),
    (
        "t/a",
        r#"{"T":"2024-05-01T10:00:00.0000000+02:00","M":"12"}"#,
    ),
    ("t/late", r#"{"T":"2024-05-01T08:00:01Z","M":"12.0"}"#),
    ("t/abc", r#"{"T":"abc","M":12.5}"#),
    ("t/seven", r#"{"T":7,"M":null}"#),
    ("t/day", r#"{"T":"2024-05-01"}"#),
];

#[test]
fn static_indexes_of_both_languages_know_values_as_automatic_ones_do() {
    let database = open(&SimVfs::new(1));
    for (id, body) in TIMES {
        store(&database, id, "Times", body);
    }
    let exact = r#","Fields":{"T":{"Indexing":"Exact"}}"#;
    put_index(
        &database,
        "C",
        "from t in docs.Times select new { t.T, t.M }",
        "",
    );
    put_index(
        &database,
        "J",
        "map('Times', t => ({ T: t.T, M: t.M }))",
        "",
    );
    put_index(
        &database,
        "E",
        "from t in docs.Times select new { t.T, t.M }",
        exact,
    );
    let at = "2024-05-01T10:00:00+02:00";
    for from in ["Times", "index 'C'", "index 'J'", "index 'E'"] {
        for (condition, expected) in [
            (format!("T = '{at}'"), &["t/b", "t/d", "t/a"][..]),
            (format!("T in ('{at}')"), &["t/b", "t/d", "t/a"]),
            (format!("T <= '{at}'"), &["t/b", "t/d", "t/a", "t/day"]),
            (format!("T < '{at}'"), &["t/day"]),
            (format!("T > '{at}'"), &["t/late"]),
            (
                "T >= '2024-05-01'".to_owned(),
                &["t/b", "t/d", "t/a", "t/late", "t/day"],
            ),
            ("T >= 'a'".to_owned(), &["t/abc"]),
            ("T > 5".to_owned(), &["t/seven"]),
            ("M = '12'".to_owned(), &["t/b", "t/d", "t/a"]),
            ("M = '12.0'".to_owned(), &["t/late"]),
            ("startsWith(M, '12.')".to_owned(), &["t/late", "t/abc"]),
        ] {
            let found = ids(&database, &format!("from {from} where {condition}"));
            assert_eq!(found, expected, "{from} {condition}");
        }
        let ordered = ids(
            &database,
            &format!("from {from} where T >= '2000-01-01' order by T desc"),
        );
        assert_eq!(ordered, ["t/late", "t/b", "t/d", "t/a", "t/day"], "{from}");
        let facets = rows(
            &database,
            &format!("from {from} where T = '{at}' select facet(T)"),
        );
        assert!(
            facets[0]
                .contains(r#"[{"Name":null,"Count":3,"Range":"2024-05-01T08:00:00.0000000Z"}]"#),
            "{facets:?}"
        );
    }
}

#[test]
fn a_reduce_groups_instants_whatever_their_spelling() {
    let database = open(&SimVfs::new(4));
    for (id, body) in &TIMES {
        store(&database, id, "Times", body);
    }
    let reduce = concat!(
        r#","Reduce":"from r in results group r by r.T into g "#,
        r#"select new { T = g.Key, N = g.Sum(x => x.N) }""#
    );
    put_index(
        &database,
        "C",
        "from t in docs.Times select new { t.T, N = 1 }",
        reduce,
    );
    let reduce = concat!(
        r#","Reduce":"groupBy(r => ({ T: r.T }))"#,
        r#".aggregate(g => ({ T: g.key.T, N: g.values.reduce((n, v) => n + v.N, 0) }))""#
    );
    put_index(
        &database,
        "J",
        "map('Times', t => ({ T: t.T, N: 1 }))",
        reduce,
    );
    let group = |index: &str, database: &Database| {
        let found = rows(
            database,
            &format!("from index '{index}' where T = '2024-05-01T08:00:00Z' select T, N"),
        );
        let found: Vec<String> = found
            .iter()
            .map(|row| {
                let row = json(row);
                let row = row.root();
                format!(
                    "{} {}",
                    row.get("T").unwrap().to_json(),
                    row.get("N").unwrap().to_json()
                )
            })
            .collect();
        found
    };
    for index in ["C", "J"] {
        store(&database, "t/b", "Times", TIMES[0].1);
        assert_eq!(
            group(index, &database),
            [r#""2024-05-01T08:00:00.0000000Z" 3"#],
            "{index}"
        );
        store(&database, "t/b", "Times", r#"{"T":"abc"}"#);
        assert_eq!(group(index, &database).len(), 1, "{index}");
        assert!(group(index, &database)[0].ends_with(" 2"), "{index}");
        // Now it is the last to come into the group; the results must not show that.
        store(&database, "t/b", "Times", TIMES[0].1);
        assert_eq!(
            group(index, &database),
            [r#""2024-05-01T08:00:00.0000000Z" 3"#],
            "{index}"
        );
    }
}

#[test]
fn an_update_by_lengths_changes_what_it_names() {
    let database = open(&SimVfs::new(2));
    store(&database, "l/1", "Lists", r#"{"L":[1,2],"N":"ab"}"#);
    store(&database, "l/2", "Lists", r#"{"L":[1],"N":"abc"}"#);
    assert_eq!(ids(&database, "from Lists where L.Count > 1"), ["l/1"]);
    assert_eq!(
        ids(&database, "from Lists where true and not L.Count > 1"),
        ["l/2"]
    );
    assert_eq!(
        ids(&database, "from Lists order by N.Length as long desc"),
        ["l/2", "l/1"]
    );
    store(&database, "l/2", "Lists", r#"{"L":[1,2,3],"N":"abc"}"#);
    assert_eq!(
        ids(&database, "from Lists where L.Count > 1"),
        ["l/1", "l/2"]
    );
}

#[test]
fn an_intersection_finds_documents_by_several_of_their_entries() {
    let database = open(&SimVfs::new(3));
    for (id, body) in [
        (
            "i/1",
            r#"{"K":"1","Lines":[{"P":"p1","Q":1},{"P":"p2","Q":2}]}"#,
        ),
        ("i/2", r#"{"K":"2","Lines":[{"P":"p1","Q":1}]}"#),
        (
            "i/3",
            r#"{"K":"3","Lines":[{"P":"p2","Q":3},{"P":"p1","Q":7},{"P":"p3","Q":1}]}"#,
        ),
        ("i/4", r#"{"K":"4","Lines":[{"P":"p2","Q":1}]}"#),
        ("i/5", r#"{"K":"5","Lines":[]}"#),
    ] {
        store(&database, id, "Orders", body);
    }
    let map = "from o in docs.Orders from l in o.Lines select new { l.P, l.Q, o.K }";
    put_index(&database, "C", map, r#","Fields":{"P":{"Storage":"Yes"}}"#);
    let map = "map('Orders', o => o.Lines.map(l => ({ P: l.P, Q: l.Q, K: o.K })))";
    put_index(&database, "J", map, "");
    for index in ["C", "J"] {
        for (condition, expected) in [
            ("intersect(P = 'p1', P = 'p2')", &["i/1", "i/3"][..]),
            ("intersect(P = 'p1', P = 'p2', P = 'p3')", &["i/3"]),
            ("intersect(P = 'p1' and Q = 1, P = 'p2')", &["i/1"]),
            ("intersect(P = 'p1' or P = 'p3', P = 'p2')", &["i/1", "i/3"]),
            ("intersect(P = 'p1', P = 'p1')", &["i/1", "i/2", "i/3"]),
            ("intersect(P = 'p1', P = 'none')", &[]),
            ("intersect(P = 'p1', P = 'p2') and Q = 7", &["i/3"]),
            ("Q > 2 and intersect(P = 'p1', P = 'p2')", &["i/3"]),
            (
                "intersect(P = 'p1', P = 'p2') or K = '4'",
                &["i/1", "i/3", "i/4"],
            ),
            (
                "intersect(startsWith(P, 'p1'), Q in (3, 2))",
                &["i/1", "i/3"],
            ),
            ("intersect(K = '3', Q > 6)", &["i/3"]),
            ("intersect(id() = 'i/1', P = 'p2')", &["i/1"]),
            (
                "true and not intersect(P = 'p1', P = 'p2')",
                &["i/2", "i/4"],
            ),
            (
                "P = 'p2' and not intersect(P = 'p1', P = 'p3')",
                &["i/1", "i/4"],
            ),
            ("boost(intersect(P = 'p1', P = 'p3'), 2)", &["i/3"]),
        ] {
            let found = ids(
                &database,
                &format!("from index '{index}' where {condition}"),
            );
            assert_eq!(found, expected, "{index} {condition}");
        }
        let both = "where intersect(P = 'p1', P = 'p2')";
        let from = format!("from index '{index}' {both}");
        assert_eq!(
            ids(&database, &format!("{from} order by K desc")),
            ["i/3", "i/1"]
        );
        assert_eq!(
            ids(&database, &format!("{from} order by Q as long desc")),
            ["i/3", "i/1"]
        );
        assert_eq!(ids(&database, &format!("{from} limit 1, 1")), ["i/3"]);
        let projected = rows(&database, &format!("{from} select P"));
        assert_eq!(projected.len(), 2, "{projected:?}");
        let (first, second) = (json(&projected[0]), json(&projected[1]));
        if index == "C" {
            // The entry that satisfies the first condition.
            assert_eq!(first.root().get("P").unwrap().as_str(), Some("p1"));
            assert_eq!(second.root().get("P").unwrap().as_str(), Some("p1"));
        }
        let mut sink = RowBuffer::default();
        let request = QueryRequest {
            text: &from,
            wait: Some(LONG),
            ..QueryRequest::default()
        };
        let result = database.query(&request, &mut sink).unwrap();
        assert_eq!(result.outcome.total_results, Some(2));
        assert_eq!(ids(&database, &format!("{from} limit 1")), ["i/1"]);
        store(
            &database,
            "i/4",
            "Orders",
            r#"{"K":"4","Lines":[{"P":"p2"},{"P":"p1"}]}"#,
        );
        assert_eq!(ids(&database, &from), ["i/1", "i/3", "i/4"]);
        store(
            &database,
            "i/4",
            "Orders",
            r#"{"K":"4","Lines":[{"P":"p2","Q":1}]}"#,
        );
    }
    // Without entries of their own, a document is one: all conditions are about it.
    let plain = "from Orders where intersect(Lines.P = 'p1', Lines.P = 'p2')";
    assert_eq!(ids(&database, plain), ["i/1", "i/3"]);
}

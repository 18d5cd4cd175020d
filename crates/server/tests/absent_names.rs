//! Proves that null and empty names among ids and counters stand for nothing, in their place, on
//! each route that takes several, and that what a client knows to be missing is a 304.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Connection, start_with_database};

const DOCS: &str = "/databases/db1/docs";

fn with_documents() -> (support::TestServer, Connection) {
    let (running, mut connection) = start_with_database();
    for number in 1..=2 {
        let body = format!("{{\"N\":{number}}}");
        connection.put(&format!("{DOCS}?id=d/{number}"), &body);
    }
    let counter = json!({ "Documents": [{ "DocumentId": "d/1", "Operations": [
        { "Type": "Increment", "CounterName": "c", "Delta": 3 },
    ] }] });
    let answer = connection.post("/databases/db1/counters", &counter.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    (running, connection)
}

/// The member `N` of each result; null for none.
fn numbers(results: &Value) -> Vec<Option<i64>> {
    let rows = results.as_array().unwrap().iter();
    rows.map(|row| row["N"].as_i64()).collect()
}

#[test]
fn ids_that_are_null_keep_their_place() {
    let (_running, mut connection) = with_documents();
    for (ids, expected) in [
        (json!(["d/1", null, "d/2"]), vec![Some(1), None, Some(2)]),
        (json!([null, "d/1"]), vec![None, Some(1)]),
        (json!(["d/1", ""]), vec![Some(1), None]),
        (json!([null, null]), vec![None, None]),
        (json!(["", ""]), vec![None, None]),
        (
            json!(["d/1", 7, true, {}, []]),
            vec![Some(1), None, None, None, None],
        ),
        (json!(["d/1", "\u{1f600}"]), vec![Some(1), None]),
    ] {
        let answer = connection.post(DOCS, &json!({ "Ids": ids }).to_string());
        assert_eq!(answer.status, 200, "{ids}: {}", answer.text());
        assert_eq!(numbers(&answer.json()["Results"]), expected, "{ids}");
        let metadata = format!("{DOCS}?metadataOnly=true");
        let answer = connection.post(&metadata, &json!({ "Ids": ids }).to_string());
        let found: Vec<bool> = expected.iter().map(Option::is_some).collect();
        let rows = answer.json()["Results"].as_array().unwrap().clone();
        let told: Vec<bool> = rows.iter().map(|row| !row.is_null()).collect();
        assert_eq!(told, found, "{ids}");
    }
    let of_url = connection.get(&format!("{DOCS}?id=&id=d/1&id"));
    assert_eq!(numbers(&of_url.json()["Results"]), [None, Some(1), None]);
}

#[test]
fn a_list_without_one_id_is_no_list_of_everything() {
    let (_running, mut connection) = with_documents();
    for ids in [json!([null]), json!([""]), json!([7])] {
        let answer = connection.post(DOCS, &json!({ "Ids": ids }).to_string());
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{ids}");
    }
    for body in ["{}", r#"{"Ids":null}"#, r#"{"Ids":"d/1"}"#, r#"{"Ids":{}}"#] {
        let answer = connection.post(DOCS, body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert!(
            answer.json()["Message"].as_str().unwrap().contains("Ids"),
            "{body}"
        );
    }
}

#[test]
fn counters_without_a_name_are_read_as_missing_and_never_changed() {
    let (_running, mut connection) = with_documents();
    let mut operate = |operations: Value| {
        let body = json!({ "Documents": [{ "DocumentId": "d/1", "Operations": operations }] });
        let answer = connection.post("/databases/db1/counters", &body.to_string());
        (answer.status, answer.json())
    };
    let get = |name: Value| json!({ "Type": "Get", "CounterName": name });
    let long = "n".repeat(600);
    let (status, body) = operate(json!([
        get(json!("c")), get(Value::Null), { "Type": "Get" }, get(json!("")), get(json!(long)),
        get(json!("d")), get(json!("C")),
    ]));
    assert_eq!(status, 200, "{body}");
    let values: Vec<Option<i64>> = body["Counters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|counter| counter["TotalValue"].as_i64())
        .collect();
    assert_eq!(values, [Some(3), None, None, None, None, None, Some(3)]);
    assert_eq!(
        operate(json!([get(Value::Null)])).1,
        json!({ "Counters": [null] })
    );
    for kind in ["Increment", "Put", "Delete"] {
        for name in [
            json!({}),
            json!({ "CounterName": null }),
            json!({ "CounterName": "" }),
        ] {
            let mut operation = name;
            operation["Type"] = kind.into();
            operation["Delta"] = 1.into();
            let (status, body) = operate(json!([operation]));
            assert_eq!(status, 400, "{kind}: {body}");
        }
    }
    let of_url = connection.get("/databases/db1/counters?docId=d/1&counter=&counter=c");
    let counters = of_url.json()["Counters"].clone();
    assert_eq!(counters[0], Value::Null);
    assert_eq!(counters[1]["TotalValue"], 3);
}

#[test]
fn what_a_client_knows_to_be_missing_is_not_modified() {
    let (_running, mut connection) = with_documents();
    let mut status = |path: &str, etag: &str| {
        let headers = format!("If-None-Match: {etag}\r\n");
        connection.exchange("GET", path, &headers, b"").status
    };
    let missing = format!("{DOCS}?id=none");
    for (etag, expected) in [
        ("\"404 Response\"", 304),
        ("404 Response", 304),
        ("\"404 response\"", 404),
        ("\"\"", 404),
        ("\"A:1-x\"", 404),
    ] {
        assert_eq!(status(&missing, etag), expected, "{etag}");
    }
    // What is there by now is told, and several documents are an answer of their own.
    assert_eq!(status(&format!("{DOCS}?id=d/1"), "\"404 Response\""), 200);
    assert_eq!(
        status(&format!("{DOCS}?id=none&id=no"), "\"404 Response\""),
        200
    );
    let request = |id: &str, etag: Option<&str>| {
        let headers = etag.map_or(json!({}), |etag| json!({ "If-None-Match": etag }));
        json!({ "Url": DOCS, "Query": format!("?id={id}"), "Headers": headers })
    };
    let body = json!({ "Requests": [
        request("none", Some("\"404 Response\"")),
        request("none", None),
        request("d/1", Some("\"404 Response\"")),
    ] });
    let answer = connection
        .post("/databases/db1/multi_get", &body.to_string())
        .json();
    let statuses: Vec<i64> = answer["Results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["StatusCode"].as_i64().unwrap())
        .collect();
    assert_eq!(statuses, [304, 404, 200]);
    assert_eq!(answer["Results"][0]["Result"], Value::Null);
}

//! Proves that a snapshot by name answers as of when it was taken, on every way of reading, and
//! that what makes no sense is refused.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Connection, start_with_database};

const SNAPSHOTS: &str = "/databases/db1/jackdaw/snapshots";
const QUERIES: &str = "/databases/db1/queries";

fn put(connection: &mut Connection, id: &str, year: u32) {
    let document = json!({ "Year": year, "@metadata": { "@collection": "Albums" } });
    let path = format!("/databases/db1/docs?id={id}");
    assert_eq!(connection.put(&path, &document.to_string()).status, 201);
}

fn years(connection: &mut Connection, path: &str) -> Vec<Value> {
    let answer = connection.get(path);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    let rows = body["Results"].as_array().unwrap().iter();
    rows.map(|row| row["Year"].clone()).collect()
}

#[test]
fn documents_queries_and_streams_answer_as_of_a_snapshot() {
    let (_server, mut connection) = start_with_database();
    put(&mut connection, "albums/1", 1980);
    put(&mut connection, "albums/2", 1990);
    let taken = connection.put(&format!("{SNAPSHOTS}?name=before"), "");
    assert_eq!(taken.status, 201, "{}", taken.text());
    put(&mut connection, "albums/1", 2001);
    put(&mut connection, "albums/3", 2003);
    let deleted = connection.delete("/databases/db1/docs?id=albums/2");
    assert_eq!(deleted.status, 204);

    let one = "/databases/db1/docs?id=albums/1";
    assert_eq!(years(&mut connection, one), [2001]);
    let then = format!("{one}&snapshot=before");
    assert_eq!(years(&mut connection, &then), [1980]);
    let gone = "/databases/db1/docs?id=albums/2&snapshot=before";
    assert_eq!(years(&mut connection, gone), [1990]);
    let stream = "/databases/db1/streams/docs?startsWith=albums/&snapshot=before";
    assert_eq!(years(&mut connection, stream), [1980, 1990]);

    let query = "query=from%20Albums%20where%20Year%20%3E%201985%20order%20by%20id()";
    let now = format!("/databases/db1/queries?{query}");
    assert_eq!(years(&mut connection, &now), [2001, 2003]);
    let then = format!("{now}&snapshot=before");
    assert_eq!(years(&mut connection, &then), [1990]);
    let streamed = format!("/databases/db1/streams/queries?{query}&snapshot=before");
    assert_eq!(years(&mut connection, &streamed), [1990]);

    let listed = connection.get(SNAPSHOTS).json();
    let listed = listed["Results"].as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["Name"], "before");
    assert!(listed[0]["KeptBytes"].as_u64().unwrap() > 0);
    assert!(listed[0]["Taken"].as_str().unwrap().ends_with('Z'));

    let dropped = connection.delete(&format!("{SNAPSHOTS}?name=before"));
    assert_eq!(dropped.status, 204);
    assert_eq!(connection.get(SNAPSHOTS).json(), json!({ "Results": [] }));
}

#[test]
fn refusals_say_what_is_wrong() {
    let (_server, mut connection) = start_with_database();
    put(&mut connection, "albums/1", 1980);
    let taken = connection.put(&format!("{SNAPSHOTS}?name=s"), "");
    assert_eq!(taken.status, 201);
    let refusal = |status: u16, answer: support::Answer, expected: &str| {
        assert_eq!(answer.status, status, "{}", answer.text());
        let message = answer.json()["Message"].as_str().unwrap().to_owned();
        assert!(message.contains(expected), "{message}");
    };
    let again = connection.put(&format!("{SNAPSHOTS}?name=s"), "");
    refusal(400, again, "there is a snapshot \"s\" already");
    refusal(400, connection.put(SNAPSHOTS, ""), "'name' must have");
    let missing = connection.delete(&format!("{SNAPSHOTS}?name=t"));
    refusal(400, missing, "there is no snapshot \"t\"");
    let missing = connection.get("/databases/db1/docs?id=albums/1&snapshot=t");
    refusal(400, missing, "There is no snapshot 't'");
    for of in [
        "from%20Albums",
        "from%20Albums%20where%20Year%20%3E%201",
        "from%20%40all_docs",
    ] {
        let path = format!("{QUERIES}?query={of}&snapshot=t");
        let missing = connection.get(&path);
        refusal(400, missing, "There is no snapshot 't'");
    }
    let index = "/databases/db1/queries?query=from%20index%20'x'&snapshot=s";
    refusal(400, connection.get(index), "keeps documents, not indexes");
    let by_query_path = format!("{QUERIES}?snapshot=s");
    let by_query = json!({ "Query": "from Albums" }).to_string();
    let changed = connection.exchange("DELETE", &by_query_path, "", by_query.as_bytes());
    refusal(400, changed, "A snapshot cannot be changed");
}

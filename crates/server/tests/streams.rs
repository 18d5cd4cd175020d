//! Proves that streams have the recorded framing, that a large one arrives whole and in pieces, and
//! that live numbers keep coming until the server stops.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::time::Duration;

use serde_json::Value;
use support::{Connection, TestServer, config, start_with_database};

fn store(connection: &mut Connection, count: usize, text_len: usize) {
    let text = "x".repeat(text_len);
    let command = |n: usize| {
        format!(r#"{{"Type":"PUT","Id":"a/{n:05}","Document":{{"n":{n}.0,"t":"{text}"}}}}"#)
    };
    let commands: Vec<String> = (0..count).map(command).collect();
    let body = format!("{{\"Commands\":[{}]}}", commands.join(","));
    assert_eq!(
        connection.post("/databases/db1/bulk_docs", &body).status,
        201
    );
}

#[test]
fn documents_are_streamed_in_three_formats() {
    let (_server, mut connection) = start_with_database();
    store(&mut connection, 3, 1);
    let path = "/databases/db1/streams/docs?startsWith=a/&start=1";
    let plain = connection.get(path);
    assert!(
        plain
            .text()
            .starts_with(r#"{"Results":[{"n":1.0,"t":"x","@metadata":{"#)
    );
    assert!(plain.text().ends_with("}}]}"));
    assert_eq!(plain.json()["Results"].as_array().unwrap().len(), 2);
    let object = connection.get(&format!("{path}&format=json"));
    assert_eq!(object.body, plain.body);
    let lines = connection.get(&format!("{path}&format=jsonl&"));
    let rows: Vec<&str> = lines.text().split("\r\n").collect();
    assert_eq!((rows.len(), rows[2]), (3, ""));
    let first: Value = serde_json::from_str(rows[0]).unwrap();
    assert_eq!(first["@metadata"]["@id"], "a/00001");
    let json = Some("application/json; charset=utf-8");
    assert_eq!(lines.header("content-type"), json);
    let none = connection.get("/databases/db1/streams/docs?startsWith=zz");
    assert_eq!(none.text(), r#"{"Results":[]}"#);
}

#[test]
fn a_table_has_the_columns_of_its_first_row() {
    let (_server, mut connection) = start_with_database();
    store(&mut connection, 3, 1);
    let lines = "\u{feff}@id,n,t\r\na/00001,1.0,x\r\na/00002,2.0,x\r\n";
    let path = "/databases/db1/streams/docs?startsWith=a/&start=1&format=csv";
    let answer = connection.get(path);
    assert_eq!(answer.text(), lines);
    assert_eq!(answer.header("content-type"), Some("text/csv"));
    let query = "/databases/db1/streams/queries?format=csv&query=from%20%40all_docs%20select%20t";
    let answer = connection.get(query);
    let mut lines = answer.text().lines();
    assert_eq!(lines.next(), Some("\u{feff}@id,t,@metadata.@projection"));
    assert_eq!(lines.next(), Some("a/00000,x,True"));
    assert_eq!(lines.count(), 2);
    let disposition = answer.header("content-disposition").unwrap();
    let start = "attachment; filename=\"db1_A__all_docs_collection_2";
    assert!(disposition.starts_with(start), "{disposition}");
    assert!(disposition.ends_with(".csv"), "{disposition}");
}

#[test]
fn a_stream_of_everything_is_in_the_order_of_changes() {
    let (_server, mut connection) = start_with_database();
    store(&mut connection, 3, 1);
    connection.put("/databases/db1/docs?id=a/00000", "{}");
    let answer = connection.get("/databases/db1/streams/docs?format=json");
    let ids: Vec<Value> = answer.json()["Results"].as_array().unwrap().to_vec();
    let ids: Vec<&str> = ids
        .iter()
        .map(|row| row["@metadata"]["@id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a/00001", "a/00002", "a/00000"]);
}

#[test]
fn a_large_stream_arrives_whole() {
    let (_server, mut connection) = start_with_database();
    store(&mut connection, 4000, 500);
    let lines = connection.get("/databases/db1/streams/docs?format=jsonl");
    assert_eq!(lines.header("transfer-encoding"), Some("chunked"));
    assert_eq!(lines.text().lines().count(), 4000);
    assert!(lines.text().lines().all(|line| line.ends_with("Z\"}}")));
    assert_eq!(
        connection.get("/databases/db1/stats").json()["CountOfDocuments"],
        4000
    );
}

#[test]
fn a_reader_that_leaves_in_the_middle_holds_nothing_up() {
    let (mut server, mut connection) = start_with_database();
    store(&mut connection, 4000, 1000);
    let mut leaver = server.connect();
    leaver.send(b"GET /databases/db1/streams/docs HTTP/1.1\r\nHost: test.local\r\n\r\n");
    leaver.read_head();
    assert!(!leaver.read_chunk().is_empty());
    drop(leaver);
    assert_eq!(connection.get("/databases/db1/docs?id=a/00007").status, 200);
    drop(connection);
    assert_eq!(server.stop(), 0);
}

#[test]
fn live_numbers_come_at_once_and_again_until_the_server_stops() {
    let mut config = config();
    config.live_period = Duration::from_millis(20);
    let mut server = TestServer::start(config);
    let mut connection = server.connect();
    assert_eq!(
        connection.put("/admin/databases?name=db1", "{}").status,
        201
    );
    store(&mut connection, 5, 1);
    let mut watcher = server.connect();
    watcher.send(b"GET /jackdaw/live HTTP/1.1\r\nHost: test.local\r\n\r\n");
    let head = watcher.read_head();
    assert_eq!(
        head.header("content-type"),
        Some("text/event-stream; charset=utf-8")
    );
    for _ in 0..3 {
        let event = String::from_utf8(watcher.read_chunk()).unwrap();
        let data = event.strip_prefix("event: live\ndata: ").unwrap();
        assert!(
            data.ends_with("\n\n") && data.lines().count() == 2,
            "{data}"
        );
        let numbers: Value = serde_json::from_str(data).unwrap();
        let database = &numbers["Databases"][0];
        assert_eq!(
            (&database["Name"], &database["IsOpen"]),
            (&"db1".into(), &true.into())
        );
        assert_eq!(database["DocumentsCount"], 5);
        assert!(database["SizeOnDisk"].as_u64().unwrap() > 0);
        assert!(database["WritesPerSec"].is_number());
    }
    let once = connection.get("/jackdaw/databases").json();
    assert_eq!(once["Databases"][0]["DocumentsCount"], 5);
    assert_eq!(server.stop(), 0);
    while !watcher.read_chunk().is_empty() {}
}

#[test]
fn documents_by_prefix_are_an_object_unless_lines_are_asked_for() {
    let (_running, mut connection) = start_with_database();
    for id in ["a/1", "A/2", "b/1"] {
        connection.put(&format!("/databases/db1/docs?id={id}"), "{}");
    }
    for version in [
        "",
        "Raven-Client-Version: 5.4.0\r\n",
        "Raven-Client-Version: 7.1.5\r\n",
    ] {
        for format in [
            "",
            "&format=json",
            "&format=",
            "&format=JSON",
            "&format=nope",
        ] {
            for (prefix, count) in [("a/", 2), ("A/", 2), ("a%2F", 2), ("", 3), ("none/", 0)] {
                let path = format!("/databases/db1/streams/docs?startsWith={prefix}{format}");
                let answer = connection.exchange("GET", &path, version, b"");
                let rows = answer.json()["Results"].as_array().unwrap().len();
                assert_eq!(rows, count, "{path} {version}");
            }
        }
        let path = "/databases/db1/streams/docs?startsWith=a/&format=jsonl";
        let lines = connection.exchange("GET", path, version, b"");
        assert_eq!(lines.text().lines().count(), 2, "{version}");
    }
}

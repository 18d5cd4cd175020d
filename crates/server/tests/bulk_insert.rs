//! Proves that a bulk insert is stored while it arrives, in any pieces and compressed, and that a
//! failing one says how far it came.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::io::Write;
use std::time::{Duration, Instant};

use support::{Connection, TestServer, config, start_with_database};

const PATH: &str = "/databases/db1/bulk_insert?id=1";

fn chunk(connection: &mut Connection, bytes: &[u8]) {
    connection.send(format!("{:x}\r\n", bytes.len()).as_bytes());
    connection.send(bytes);
    connection.send(b"\r\n");
}

fn begin(connection: &mut Connection, headers: &str) {
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: test.local\r\nTransfer-Encoding: chunked\r\n{headers}\r\n"
    );
    connection.send(head.as_bytes());
}

fn element(number: usize) -> String {
    format!(
        "{{\"Id\":\"bulk/{number}\",\"Type\":\"PUT\",\"Document\":{{\"n\":{number}.10,\
         \"t\":\"[{{\\\"}}]\",\"@metadata\":{{\"@collection\":\"Bulk\"}}}}}}"
    )
}

fn count(connection: &mut Connection) -> i64 {
    let stats = connection.get("/databases/db1/stats").json();
    stats["CountOfDocuments"].as_i64().unwrap()
}

#[test]
fn documents_are_stored_before_the_body_ends() {
    let (running, mut connection) = start_with_database();
    begin(&mut connection, "");
    chunk(&mut connection, b"[");
    let mut number = 0;
    let mut watcher = Connection::open(running.address());
    // What is sent is stored in batches, so some of it shows although more is to come.
    while count(&mut watcher) == 0 {
        let elements: Vec<String> = (number..number + 1000).map(element).collect();
        chunk(
            &mut connection,
            format!("{},", elements.join(",")).as_bytes(),
        );
        number += 1000;
    }
    chunk(&mut connection, br#"{"Type":"HeartBeat"},"#);
    for byte in element(number).as_bytes() {
        chunk(&mut connection, &[*byte]);
    }
    chunk(&mut connection, b"\n]");
    connection.send(b"0\r\n\r\n");
    let answer = connection.read(false);
    assert_eq!(
        (answer.status, answer.body.len()),
        (201, 0),
        "{}",
        answer.text()
    );
    assert_eq!(count(&mut connection), i64::try_from(number).unwrap() + 1);
    let last = connection.get(&format!("/databases/db1/docs?id=bulk/{number}"));
    assert!(
        last.text().contains(&format!("\"n\":{number}.10,")),
        "{}",
        last.text()
    );
    let stats = connection.get("/databases/db1/collections/stats").json();
    assert_eq!(stats["Collections"]["Bulk"], number + 1);
}

#[test]
fn what_is_packed_is_unpacked_as_it_arrives() {
    let (_running, mut connection) = start_with_database();
    let array = |numbers: std::ops::Range<usize>| {
        let elements: Vec<String> = numbers.map(element).collect();
        format!("[{}]", elements.join(",")).into_bytes()
    };
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&array(0..500)).unwrap();
    let bodies = [
        ("gzip", encoder.finish().unwrap(), 500),
        (
            "zstd",
            zstd::encode_all(&array(500..900)[..], 1).unwrap(),
            900,
        ),
    ];
    for (name, packed, expected) in bodies {
        begin(&mut connection, &format!("Content-Encoding: {name}\r\n"));
        packed
            .chunks(97)
            .for_each(|piece| chunk(&mut connection, piece));
        connection.send(b"0\r\n\r\n");
        assert_eq!(connection.read(false).status, 201);
        assert_eq!(count(&mut connection), expected);
    }
}

/// Some releases of the official client for Node.js send nothing after the `]` until they have the
/// answer.
#[test]
fn the_end_of_the_array_is_answered_while_the_body_stays_open() {
    let (running, mut connection) = start_with_database();
    begin(&mut connection, "Connection: close\r\n");
    let elements: Vec<String> = (0..3).map(element).collect();
    let array = format!("[{}]", elements.join(","));
    chunk(&mut connection, array.as_bytes());
    assert_eq!(connection.read(false).status, 201);
    let mut other = Connection::open(running.address());
    assert_eq!(count(&mut other), 3);

    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(array.as_bytes()).unwrap();
    encoder.flush().unwrap();
    begin(
        &mut other,
        "Content-Encoding: gzip\r\nConnection: close\r\n",
    );
    chunk(&mut other, encoder.get_ref());
    assert_eq!(other.read(false).status, 201);
}

#[test]
fn failures_say_how_much_was_stored() {
    let (_running, mut connection) = start_with_database();
    let cases = [
        (
            r#"[{"Id":"bi/1","Type":"DELETE"}]"#,
            "'DELETE' isn't supported",
        ),
        (r#"[{"Id":"bi/1","Type":"PUT"}]"#, "'Document' property"),
        (
            r#"[{"Id":"bi/1","Type":"PUT","Document":{}}"#,
            "Stream ended",
        ),
        (r#"[{"Id":"bi/1","Type":"PUT","Document":{]}]"#, "line"),
        ("{}", "array of objects"),
        ("[[]]", "array of objects"),
    ];
    for (body, cause) in cases {
        let answer = connection.post(PATH, body);
        assert_eq!(answer.status, 400, "{body}");
        let failure = answer.json();
        assert_eq!(
            failure["Type"], "System.InvalidOperationException",
            "{body}"
        );
        let message = "Failed to process bulk insert. Inserted 0 items in 0 batches.";
        assert_eq!(failure["Message"], message, "{body}");
        let error = failure["Error"].as_str().unwrap();
        assert!(
            error.contains("\n ---> ") && (cause == "line" || error.contains(cause)),
            "{error}"
        );
    }
    let unnumbered = connection.post("/databases/db1/bulk_insert", "[]");
    let message = "Query string id is mandatory, but wasn't specified.";
    assert_eq!(unnumbered.json()["Message"], message);
    assert_eq!(count(&mut connection), 0);
    assert_eq!(connection.post(PATH, "[]").status, 201);
}

/// Batches are read before the ones in front of them are stored, but stored in their order.
#[test]
fn what_is_behind_a_failure_is_not_stored() {
    let (_running, mut connection) = start_with_database();
    // Some MiB, so that several batches are on their way; each document is written in each.
    let padding = "x".repeat(64 << 10);
    let put = |round: usize, slot: usize| {
        format!(
            "{{\"Id\":\"bulk/{slot}\",\"Type\":\"PUT\",\
             \"Document\":{{\"n\":{round},\"t\":\"{padding}\"}}}}"
        )
    };
    let rounds: Vec<String> = (0..10)
        .map(|round| {
            let puts: Vec<String> = (0..16).map(|slot| put(round, slot)).collect();
            puts.join(",")
        })
        .collect();
    let failing = format!(
        "[{},{{\"Id\":\"bulk/0\",\"Type\":\"DELETE\"}},{}]",
        rounds[..6].join(","),
        rounds[6..].join(",")
    );
    let answer = connection.post(PATH, &failing);
    assert_eq!(answer.status, 400);
    let told = answer.json()["Message"].as_str().unwrap().to_owned();
    let told = told.split(' ').find_map(|word| word.parse::<usize>().ok());
    let mut newest = None;
    let mut stored = 0;
    for slot in 0..16 {
        let found = connection.get(&format!("/databases/db1/docs?id=bulk/{slot}"));
        if found.status == 404 {
            continue;
        }
        let round = found.json()["Results"][0]["n"].as_u64().unwrap();
        newest = newest.max(Some(round));
        stored += usize::try_from(round).unwrap() + 1;
    }
    assert!(newest.is_some_and(|round| round < 6), "{newest:?}");
    assert_eq!(told, Some(stored), "what was told is what was stored");
    let whole = format!("[{}]", rounds.join(","));
    assert_eq!(connection.post(PATH, &whole).status, 201);
    for slot in 0..16 {
        let found = connection.get(&format!("/databases/db1/docs?id=bulk/{slot}"));
        assert_eq!(found.json()["Results"][0]["n"], 9);
    }
}

#[test]
fn an_operation_that_is_killed_ends_its_bulk_insert() {
    let (server, mut connection) = start_with_database();
    let number = |connection: &mut Connection| {
        let next = connection.get("/databases/db1/operations/next-operation-id");
        next.json()["Id"].as_i64().unwrap()
    };
    let first = number(&mut connection);
    begin(&mut connection, "");
    chunk(&mut connection, format!("[{},", element(1)).as_bytes());
    let mut killer = server.connect();
    let kill = |id: i64| format!("/databases/db1/operations/kill?id={id}");
    assert_eq!(killer.post(&kill(first), "").status, 204);
    let answer = connection.read(false);
    assert_eq!(answer.status, 400);
    let error = answer.json()["Error"].as_str().unwrap().to_owned();
    assert!(error.contains("BulkInsertAbortedException"), "{error}");
    let state = format!("/databases/db1/operations/state?id={first}");
    assert_eq!(killer.get(&state).json()["Status"], "Faulted");

    let second = number(&mut killer);
    assert_eq!(killer.post(&kill(second), "").status, 204);
    let path = format!("/databases/db1/bulk_insert?id={second}");
    assert_eq!(killer.post(&path, "[]").status, 400);
    assert_eq!(killer.post(&kill(second + 1), "").status, 400);
    assert_eq!(
        killer.post("/databases/db1/bulk_insert?id=77", "[]").status,
        201
    );
    let state = killer.get("/databases/db1/operations/state?id=77").json();
    assert_eq!(state["Status"], "Completed");
}

#[test]
fn documents_that_did_not_change_are_left_alone_when_asked() {
    let (_server, mut connection) = start_with_database();
    let insert = |connection: &mut Connection, age: u32, skips: bool| {
        let put = |id: &str, age: u32| {
            let document = format!(r#"{{"A":{age},"@metadata":{{"@collection":"U"}}}}"#);
            format!(r#"{{"Id":"{id}","Type":"PUT","Document":{document}}}"#)
        };
        let body = format!("[{},{}]", put("u/1", 1), put("u/2", age));
        let path = format!("/databases/db1/bulk_insert?id=1&skipOverwriteIfUnchanged={skips}");
        let answer = connection.post(&path, &body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        let mut vector = |id: &str| {
            let path = format!("/databases/db1/docs?id={id}");
            let found = connection.get(&path).json();
            found["Results"][0]["@metadata"]["@change-vector"].clone()
        };
        (vector("u/1"), vector("u/2"))
    };
    let first = insert(&mut connection, 1, true);
    assert_eq!(insert(&mut connection, 1, true), first);
    let changed = insert(&mut connection, 2, true);
    assert_eq!(changed.0, first.0);
    assert_ne!(changed.1, first.1);
    assert_ne!(insert(&mut connection, 2, false).0, first.0);
}

#[test]
fn inserts_that_go_on_for_long_leave_memory_to_others() {
    const ELEMENTS: usize = 10_000;
    let mut config = config();
    config.bodies_bytes_max = 1 << 20;
    let server = TestServer::start(config);
    let mut other = server.connect();
    other.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    let mut inserts: Vec<_> = (0..3).map(|_| server.connect()).collect();
    for (slot, insert) in inserts.iter_mut().enumerate() {
        begin(insert, "");
        chunk(insert, b"[");
        for number in (slot * ELEMENTS..(slot + 1) * ELEMENTS).step_by(1000) {
            let elements: Vec<String> = (number..number + 1000).map(element).collect();
            chunk(insert, format!("{},", elements.join(",")).as_bytes());
        }
    }
    // All is stored but the last, incomplete batch of each.
    while count(&mut other) < i64::try_from(3 * (ELEMENTS - 1000)).unwrap() {}
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(600 << 10));
    let stored = other.put("/databases/db1/docs?id=large", &large);
    assert_eq!(stored.status, 201, "{}", stored.text());
    for insert in &mut inserts {
        chunk(insert, b"]");
        insert.send(b"0\r\n\r\n");
        assert_eq!(insert.read(false).status, 201);
    }
    assert_eq!(count(&mut other), i64::try_from(3 * ELEMENTS + 1).unwrap());
}

#[test]
fn what_is_whole_is_stored_while_its_client_pauses() {
    let mut config = config();
    config.bodies_bytes_max = 1 << 20;
    config.batch_wait_max = Duration::from_millis(100);
    let server = TestServer::start(config);
    let mut other = server.connect();
    other.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    let mut inserts: Vec<_> = (0..30).map(|_| server.connect()).collect();
    // Together nearly all the memory, in batches that are not full.
    let text = "x".repeat(30 << 10);
    for (number, insert) in inserts.iter_mut().enumerate() {
        begin(insert, "");
        let document = format!(r#"{{"Type":"PUT","Id":"p/{number}","Document":{{"a":"{text}"}}}}"#);
        chunk(insert, format!(r#"[{document},{{"Type":"#).as_bytes());
    }
    let started = Instant::now();
    while count(&mut other) < 30 {
        assert!(started.elapsed() < Duration::from_secs(10));
    }
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(700 << 10));
    let stored = other.put("/databases/db1/docs?id=large", &large);
    assert_eq!(stored.status, 201, "{}", stored.text());
    for insert in &mut inserts {
        chunk(insert, br#""HeartBeat"}]"#);
        insert.send(b"0\r\n\r\n");
        assert_eq!(insert.read(false).status, 201);
    }
}

#[test]
fn an_element_that_hardly_moves_is_refused() {
    let mut config = config();
    config.batch_wait_max = Duration::from_millis(20);
    config.stall_timeout = Duration::from_millis(400);
    let server = TestServer::start(config);
    let mut other = server.connect();
    other.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    let mut insert = server.connect();
    begin(&mut insert, "");
    chunk(
        &mut insert,
        format!("[{},{{\"Type\":\"", element(1)).as_bytes(),
    );
    let started = Instant::now();
    let state = "/databases/db1/operations/state?id=1";
    let mut sent = 0;
    let failed = loop {
        // There is no such operation until the server has read the head.
        let told = other.get(state);
        if told.status == 200 && told.json()["Status"] != "InProgress" {
            break told.json();
        }
        // Two hundred bytes a second, however fast this loop turns.
        if sent < started.elapsed().as_millis() / 5 {
            chunk(&mut insert, b"x");
            sent += 1;
        }
        assert!(started.elapsed() < Duration::from_secs(10));
    };
    // The connection may be gone before the answer is read: bytes were on their way to it.
    assert_eq!(failed["Status"], "Faulted", "{failed}");
    let text = failed["Result"].to_string();
    let message = "Failed to process bulk insert. Inserted 1 items in 1 batches.";
    assert!(text.contains(message), "{text}");
    assert_eq!(count(&mut other), 1);
}

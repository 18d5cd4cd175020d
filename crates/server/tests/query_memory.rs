//! Proves that large queries share the memory of the process: they take turns, and one that waits
//! too long or needs more than all may have is refused with a sentence while small ones go on.
//!
//! The bound is that of the process, so this file is a program apart.

mod support;

use std::time::{Duration, Instant};

use jackdaw_database::bound_query_memory;
use serde_json::{Value, json};
use support::{Connection, TestServer, config};

const MIB: usize = 1 << 20;

fn ask(connection: &mut Connection, text: &str) -> (u16, Value) {
    let body = json!({ "Query": text }).to_string();
    let answer = connection.post("/databases/db1/queries", &body);
    (answer.status, answer.json())
}

/// A series of two entries, to be filled with so many results between them.
fn filled(milliseconds: usize) -> String {
    let (seconds, rest) = (milliseconds / 1_000, milliseconds % 1_000);
    let end = format!(
        "2024-01-01T00:{:02}:{:02}.{rest:03}0000Z",
        seconds / 60,
        seconds % 60
    );
    format!(
        "from Items select timeseries(from Heart between '2024-01-01T00:00:00.0000000Z' and \
         '{end}' group by '1 millisecond' with interpolation(linear) select max())"
    )
}

fn item(connection: &mut Connection, id: &str, end: &str) {
    let body = r#"{"@metadata":{"@collection":"Items"}}"#;
    let put = connection.put(&format!("/databases/db1/docs?id={id}"), body);
    assert_eq!(put.status, 201, "{}", put.text());
    let appends: Vec<_> = ["2024-01-01T00:00:00.0000000Z", end]
        .iter()
        .map(|at| json!({ "Timestamp": at, "Values": [1.5] }))
        .collect();
    let body = json!({ "Name": "Heart", "Appends": appends }).to_string();
    let posted = connection.post(&format!("/databases/db1/timeseries?docId={id}"), &body);
    assert_eq!(posted.status, 204, "{}", posted.text());
}

#[test]
fn large_queries_take_turns_and_too_large_ones_are_refused() {
    bound_query_memory(24 * MIB);
    let server = TestServer::start(config());
    let mut connection = server.connect();
    let created = connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(created.status, 201, "{}", created.text());
    item(&mut connection, "items/1", "2024-01-01T00:00:03.0000000Z");
    let near = filled(3_000);
    let (status, answer) = ask(&mut connection, &near);
    assert_eq!(status, 200, "{answer}");
    // 3,000 results are some hundred KiB; forty queries of them at a time are all answered.
    let address = server.address();
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..40)
            .map(|_| scope.spawn(|| ask(&mut Connection::open(address), &near).0))
            .collect();
        for one in asking {
            assert_eq!(one.join().unwrap(), 200);
        }
    });
    // A year of milliseconds is more than all queries may have.
    item(&mut connection, "items/1", "2025-01-01T00:00:00.0000000Z");
    let far = "from Items select timeseries(from Heart group by '1 millisecond' with \
               interpolation(linear) select max())";
    let started = Instant::now();
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| ask(&mut Connection::open(address), far)))
            .collect();
        // Small queries need no turn.
        let (status, answer) = ask(&mut connection, "from Items");
        assert_eq!(status, 200, "{answer}");
        for one in asking {
            let (status, answer) = one.join().unwrap();
            let message = answer["Message"].as_str().unwrap();
            let is_too_large = status == 400 && message.contains(&(24 * MIB).to_string());
            let is_crowded = status == 503 && message.contains("Other queries");
            assert!(is_too_large || is_crowded, "{status}: {message}");
        }
    });
    assert!(started.elapsed() < Duration::from_secs(60));
    // All was given back.
    let (status, answer) = ask(&mut connection, "from Items order by Name");
    assert_eq!(status, 200, "{answer}");
}

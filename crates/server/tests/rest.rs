//! Databases that nothing uses are closed by the server, and the next request opens them again; one
//! that a client follows stays open.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::time::{Duration, Instant};

use support::{Connection, TestServer};

/// The maintenance looks every second.
const CLOSED_WITHIN: Duration = Duration::from_secs(30);

fn is_open(connection: &mut Connection, name: &str) -> bool {
    let answer = connection.get("/jackdaw/databases");
    let databases = answer.json()["Databases"].as_array().unwrap().clone();
    let found = databases.iter().find(|one| one["Name"] == name);
    found.unwrap()["IsOpen"].as_bool().unwrap()
}

fn wait_until_closed(connection: &mut Connection, name: &str) {
    let begun = Instant::now();
    while is_open(connection, name) {
        assert!(begun.elapsed() < CLOSED_WITHIN, "{name} stays open");
        std::thread::yield_now();
    }
}

#[test]
fn idle_databases_close_and_the_next_request_opens_them() {
    let mut config = support::config();
    config.idle_close = Some(Duration::ZERO);
    let server = TestServer::start(config);
    let mut connection = server.connect();
    for name in ["db1", "db2"] {
        let record = format!(r#"{{"DatabaseName":"{name}"}}"#);
        let created = connection.put(&format!("/admin/databases?name={name}"), &record);
        assert_eq!(created.status, 201, "{}", created.text());
    }
    let put = |connection: &mut Connection, name: &str, n: u32| {
        let path = format!("/databases/{name}/docs?id=users/{n}");
        let answer = connection.put(&path, r#"{"@metadata":{"@collection":"Users"}}"#);
        assert_eq!(answer.status, 201, "{}", answer.text());
    };
    put(&mut connection, "db1", 1);
    wait_until_closed(&mut connection, "db1");
    let found = connection.get("/databases/db1/docs?startsWith=users/");
    assert_eq!(found.json()["Results"].as_array().unwrap().len(), 1);
    let query = connection.post(
        "/databases/db1/queries",
        r#"{"Query":"from Users where startsWith(id(), 'users/')"}"#,
    );
    assert_eq!(query.json()["TotalResults"], 1, "{}", query.text());
    // A list of all opens them for its moment.
    let listed = connection.get("/databases");
    assert_eq!(listed.json()["Databases"].as_array().unwrap().len(), 2);
    let mut follower = server.connect();
    follower.send(b"GET /databases/db1/jackdaw/feed HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(follower.read_head().status, 200);
    put(&mut connection, "db2", 1);
    wait_until_closed(&mut connection, "db2");
    assert!(is_open(&mut connection, "db1"), "it is followed");
    put(&mut connection, "db1", 9);
    follower.read_until("users/9");
    drop(follower);
    wait_until_closed(&mut connection, "db1");
}

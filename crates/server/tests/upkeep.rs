//! What an operator does with a running server: backing it up over HTTP, reading its numbers. The
//! databases are in memory, which shows that they can be.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::path::Path;
use std::sync::Arc;

use jackdaw_database::{DatabaseOptions, DatabaseSet};
use jackdaw_io::{MemoryVfs, Vfs};
use jackdaw_server::{Running, Server};
use support::Connection;

fn start(is_in_memory: bool) -> (Arc<dyn Vfs>, Running, Connection) {
    let vfs: Arc<dyn Vfs> = MemoryVfs::new();
    let options = DatabaseOptions::default();
    let set = DatabaseSet::open(Arc::clone(&vfs), Path::new("/data"), options).unwrap();
    let mut config = support::config();
    config.is_in_memory = is_in_memory;
    config.backup_directories = vec!["/backups".into()];
    let running = Server::start(config, Arc::new(set)).unwrap();
    let mut connection = Connection::open(running.address());
    let created = connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(created.status, 201, "{}", created.text());
    put(&mut connection, "users/1");
    (vfs, running, connection)
}

fn put(connection: &mut Connection, id: &str) {
    let document = r#"{"@metadata":{"@collection":"Users"}}"#;
    let answer = connection.put(&format!("/databases/db1/docs?id={id}"), document);
    assert_eq!(answer.status, 201, "{}", answer.text());
}

#[test]
fn a_running_server_is_backed_up() {
    let (vfs, running, mut connection) = start(false);
    let mut back_up = |query: &str| connection.post(&format!("/jackdaw/backup?{query}"), "");
    let made = back_up("to=/backups/one");
    assert_eq!((made.status, &made.json()["Databases"]), (200, &1.into()));
    assert!(made.json()["Bytes"].as_u64().unwrap() > 8192);
    let refused = back_up("to=/backups/one");
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("exists"), "{}", refused.text());
    for query in ["to=../one", "", "to=/backups/other&increment=true"] {
        let refused = back_up(query);
        assert!(refused.status >= 400, "{query}: {}", refused.text());
    }
    put(&mut connection, "users/2");
    let more = connection.post("/jackdaw/backup?to=/backups/one&increment=true", "");
    assert_eq!(more.status, 200, "{}", more.text());
    assert!(more.json()["Transactions"].as_u64().unwrap() > 0);
    let complete = Path::new("/backups/one/catalog/backup");
    assert!(vfs.exists(complete).unwrap(), "the catalog comes last");
    running.stop();
}

#[test]
fn databases_in_memory_are_not_backed_up() {
    let (_, running, mut connection) = start(true);
    let refused = connection.post("/jackdaw/backup?to=/backups/one", "");
    assert!(refused.status >= 400, "{}", refused.status);
    assert!(refused.text().contains("export"), "{}", refused.text());
    running.stop();
}

#[test]
fn metrics_tell_how_long_writes_wait_and_take() {
    let (_, running, mut connection) = start(false);
    let metrics = connection.get("/jackdaw/metrics");
    let count = |name: &str| -> f64 {
        let prefix = format!("jackdaw_{name}{{database=\"db1\"}} ");
        let line = metrics
            .text()
            .lines()
            .find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_else(|| panic!("{name} in {}", metrics.text()))
            .parse()
            .unwrap()
    };
    assert!(count("queue_wait_seconds_count") >= 1.0);
    assert!(count("durable_seconds_count") >= 1.0);
    assert!(count("durable_seconds_sum") > 0.0);
    assert!(count("batch_operations_count") >= 1.0);
    assert_eq!(count("scrub_damages_total").to_bits(), 0);
    running.stop();
}

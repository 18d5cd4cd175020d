//! A disk that fails while the server runs: device errors, a file system that turns read-only, no
//! space. Proves: writes are refused with an answer, never acknowledged and lost; what was
//! acknowledged is answered meanwhile, is there after a restart and after a power failure; other
//! databases go on; nothing is half made.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use jackdaw_database::{DatabaseOptions, DatabaseSet};
use jackdaw_io::Vfs;
use jackdaw_server::{Running, Server};
use jackdaw_sim::{CrashChoice, Fault, FaultError, OperationKind, SimVfs};
use serde_json::{Value, json};
use support::Connection;

/// What changes a file or a name.
const CHANGES: &[OperationKind] = &[
    OperationKind::CreateDirectory,
    OperationKind::Rename,
    OperationKind::Remove,
    OperationKind::Write,
    OperationKind::SetLen,
    OperationKind::Allocate,
    OperationKind::PunchHole,
];
const DEVICE: &[OperationKind] = &[
    OperationKind::Write,
    OperationKind::Sync,
    OperationKind::Allocate,
];

fn start(vfs: &Arc<SimVfs>) -> (Running, Connection) {
    let disk: Arc<dyn Vfs> = vfs.clone();
    let options = DatabaseOptions::default();
    let databases = DatabaseSet::open(disk, Path::new("/data"), options).unwrap();
    let running = Server::start(support::config(), Arc::new(databases)).unwrap();
    let connection = Connection::open(running.address());
    (running, connection)
}

fn start_with_databases(vfs: &Arc<SimVfs>) -> (Running, Connection) {
    let (running, mut connection) = start(vfs);
    for name in ["db1", "db2"] {
        let body = json!({ "DatabaseName": name }).to_string();
        let created = connection.put(&format!("/admin/databases?name={name}"), &body);
        assert_eq!(created.status, 201, "{}", created.text());
    }
    (running, connection)
}

fn put(connection: &mut Connection, database: &str, number: usize) -> (u16, Value) {
    let body = json!({ "N": number, "@metadata": { "@collection": "Items" } }).to_string();
    let path = format!("/databases/{database}/docs?id=items/{number}");
    let answer = connection.put(&path, &body);
    (answer.status, answer.json())
}

/// Puts documents; the numbers of those that were acknowledged. Each refusal is an error with a
/// type and a message.
fn write(connection: &mut Connection, database: &str, numbers: std::ops::Range<usize>) -> Acks {
    let mut acks = Acks::default();
    for number in numbers {
        let (status, told) = put(connection, database, number);
        if status == 201 {
            acks.kept.insert(number);
            continue;
        }
        assert!(status >= 500, "{status} {told}");
        assert!(told["Type"].is_string(), "{told}");
        assert!(
            told["Message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{told}"
        );
        acks.refused += 1;
    }
    acks
}

#[derive(Default)]
struct Acks {
    kept: BTreeSet<usize>,
    refused: usize,
}

/// Every acknowledged document is read and found.
fn check(connection: &mut Connection, database: &str, kept: &BTreeSet<usize>) {
    for number in kept {
        let answer = connection.get(&format!("/databases/{database}/docs?id=items/{number}"));
        assert_eq!(answer.status, 200, "items/{number}: {}", answer.text());
        assert_eq!(answer.json()["Results"][0]["N"], json!(number));
    }
    let body = json!({ "Query": "from Items where N >= 0 select N" }).to_string();
    let answer = connection.post(&format!("/databases/{database}/queries"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = answer.json();
    let found: BTreeSet<usize> = found["Results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| usize::try_from(row["N"].as_u64().unwrap()).unwrap())
        .collect();
    assert!(found.is_superset(kept), "{found:?} {kept:?}");
}

/// Starts on what a power failure leaves, and on what the disk holds.
fn check_after_restart(vfs: &Arc<SimVfs>, seed: u64, one: &BTreeSet<usize>, two: &BTreeSet<usize>) {
    for disk in [
        vfs.crash(CrashChoice::Random(seed)),
        vfs.crash(CrashChoice::KeepAll),
    ] {
        let (running, mut connection) = start(&disk);
        check(&mut connection, "db1", one);
        check(&mut connection, "db2", two);
        let more = write(&mut connection, "db1", 1_000..1_003);
        assert_eq!(more.refused, 0);
        running.stop();
    }
}

#[test]
fn device_errors_stop_the_writes_of_one_database() {
    for nth in [1, 2, 5] {
        let vfs = SimVfs::new(nth);
        let (running, mut connection) = start_with_databases(&vfs);
        let mut one = write(&mut connection, "db1", 0..5).kept;
        assert_eq!(one.len(), 5);
        // Makes its index while it can.
        check(&mut connection, "db1", &one);
        let fault = Fault::nth(DEVICE, nth, FaultError::Device);
        vfs.inject(fault.on("databases/1/documents").sticky());
        let acks = write(&mut connection, "db1", 5..25);
        assert!(acks.refused > 0);
        one.extend(acks.kept);
        let two = write(&mut connection, "db2", 0..5).kept;
        assert_eq!(two.len(), 5, "the other database goes on");
        check(&mut connection, "db1", &one);
        check(&mut connection, "db2", &two);
        let crashed = vfs.crash(CrashChoice::LoseAll);
        // A device that works again is not trusted before a restart.
        vfs.clear_faults();
        let acks = write(&mut connection, "db1", 25..28);
        assert_eq!((acks.kept.len(), acks.refused), (0, 3));
        check_after_restart(&crashed, nth, &one, &two);
        running.stop();
        check_after_restart(&vfs, nth, &one, &two);
    }
}

#[test]
fn a_disk_that_turns_read_only_refuses_changes_and_answers() {
    let vfs = SimVfs::new(4);
    let (running, mut connection) = start_with_databases(&vfs);
    let one = write(&mut connection, "db1", 0..5).kept;
    let two = write(&mut connection, "db2", 0..5).kept;
    check(&mut connection, "db1", &one);
    check(&mut connection, "db2", &two);
    vfs.inject(Fault::nth(CHANGES, 1, FaultError::ReadOnly).sticky());
    for database in ["db1", "db2"] {
        let acks = write(&mut connection, database, 5..9);
        assert_eq!((acks.kept.len(), acks.refused), (0, 4));
    }
    for (method, path, body) in [
        (
            "PUT",
            "/admin/databases?name=db3",
            r#"{"DatabaseName":"db3"}"#,
        ),
        ("DELETE", "/databases/db1/docs?id=items/1", ""),
        (
            "POST",
            "/databases/db1/bulk_docs",
            r#"{"Commands":[{"Id":"x","Type":"PUT","Document":{}}]}"#,
        ),
        (
            "PUT",
            "/databases/db1/attachments?id=items/1&name=a",
            "text",
        ),
        ("POST", "/databases/db1/identity/next?name=a", ""),
        (
            "PUT",
            "/databases/db1/cmpxchg?key=a&index=0",
            r#"{"Object":1}"#,
        ),
        (
            "PUT",
            "/databases/db1/admin/indexes",
            r#"{"Indexes":[{"Name":"I","Maps":["from i in docs.Items select new { i.N }"]}]}"#,
        ),
    ] {
        let answer = connection.exchange(method, path, "", body.as_bytes());
        assert!(answer.status >= 500, "{method} {path}: {}", answer.text());
        assert!(answer.json()["Message"].is_string(), "{}", answer.text());
    }
    check(&mut connection, "db1", &one);
    check(&mut connection, "db2", &two);
    assert_eq!(connection.get("/databases/db1/stats").status, 200);
    assert_eq!(connection.get("/build/version").status, 200);
    assert_eq!(connection.get("/databases/db1/docs?id=x").status, 404);
    vfs.clear_faults();
    running.stop();
    check_after_restart(&vfs, 4, &one, &two);
    let (running, mut connection) = start(&vfs);
    let names = connection.get("/databases?namesOnly=true").json();
    assert_eq!(names["Databases"], json!(["db1", "db2"]));
    running.stop();
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    let vfs = SimVfs::new(5);
    let (running, mut connection) = start_with_databases(&vfs);
    let mut one = write(&mut connection, "db1", 0..5).kept;
    check(&mut connection, "db1", &one);
    vfs.set_capacity_bytes(1 << 20);
    let large = json!({ "N": 5, "Text": "x".repeat(200_000) }).to_string();
    let refused = (0..1_000).find_map(|number| {
        let path = format!("/databases/db1/docs?id=large/{number}");
        let answer = connection.put(&path, &large);
        (answer.status != 201).then_some(answer)
    });
    let refused = refused.expect("the disk is full some time");
    assert!(refused.status >= 500, "{}", refused.text());
    let message = refused.json()["Message"].as_str().unwrap().to_owned();
    assert!(message.contains("space"), "{message}");
    check(&mut connection, "db1", &one);
    vfs.set_capacity_bytes(1 << 30);
    let acks = write(&mut connection, "db1", 15..20);
    assert_eq!(acks.refused, 0, "there is room again");
    one.extend(acks.kept);
    check(&mut connection, "db1", &one);
    running.stop();
    check_after_restart(&vfs, 5, &one, &BTreeSet::new());
}

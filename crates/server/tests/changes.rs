//! Proves that a client which watches over a web socket is told, in frames of one message each,
//! what it watches and nothing else.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Connection, TestServer, config, start_with_database};

/// A client with just enough of the protocol: short masked text frames out, text frames in.
struct Watcher(TcpStream);

impl Watcher {
    fn open(server: &TestServer, path: &str) -> Watcher {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: test.local\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        // The answer that RFC 6455 gives for this key.
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        Watcher(stream)
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let length = u8::try_from(text.len())
            .ok()
            .filter(|length| *length < 126)
            .unwrap();
        let mut frame = vec![0x81, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(text.as_bytes());
        self.0.write_all(&frame).unwrap();
    }

    /// Answers the ping that comes next.
    fn pong(&mut self) {
        let mut ping = [0; 2];
        self.0.read_exact(&mut ping).unwrap();
        assert_eq!(ping, [0x89, 0]);
        self.0.write_all(&[0x8a, 0x80, 0, 0, 0, 0]).unwrap();
    }

    /// The one message of the next frame.
    fn next(&mut self) -> Value {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 0x81, "a whole text frame");
        let mut length = usize::from(head[1]);
        if length == 126 {
            let mut long = [0; 2];
            self.0.read_exact(&mut long).unwrap();
            length = usize::from(u16::from_be_bytes(long));
        }
        let mut text = vec![0; length];
        self.0.read_exact(&mut text).unwrap();
        assert!(text.is_ascii());
        let messages: Vec<Value> = serde_json::from_slice(&text).unwrap();
        assert_eq!(messages.len(), 1);
        messages[0].clone()
    }

    fn watch(&mut self, number: i32, command: &str, param: &Value) {
        self.send(&json!({ "CommandId": number, "Command": command, "Param": param }));
        assert_eq!(
            self.next(),
            json!({ "CommandId": number, "Type": "Confirm" })
        );
    }
}

#[test]
fn documents_are_told_by_collection_until_nobody_watches() {
    let (server, mut connection) = start_with_database();
    // Some clients write the whole address in lower case.
    let mut watcher = Watcher::open(&server, "/databases/DB1/changes");
    assert_eq!(watcher.next()["TopologyChange"], true);
    watcher.watch(1, "watch-collection", &json!("users"));
    let put = |id: &str, collection: &str| {
        json!({
            "Type": "PUT", "Id": id, "Document": { "@metadata": { "@collection": collection } },
        })
    };
    let commands = json!({ "Commands": [put("orders/1", "Orders"), put("users/\u{e9}", "Users")] });
    connection.post("/databases/db1/bulk_docs", &commands.to_string());
    let news = watcher.next();
    assert_eq!(news["Type"], "DocumentChange");
    let value = &news["Value"];
    assert_eq!(
        (&value["Type"], &value["Id"]),
        (&json!("Put"), &json!("users/\u{e9}"))
    );
    assert_eq!(value["CollectionName"], "Users");
    assert!(value["ChangeVector"].as_str().unwrap().starts_with("A:2-"));
    connection.delete("/databases/db1/docs?id=users/%C3%A9");
    assert_eq!(watcher.next()["Value"]["Type"], "Delete");
    watcher.watch(2, "unwatch-collection", &json!("users"));
    watcher.watch(3, "watch-doc", &json!("users/2"));
    for id in ["users/1", "users/2"] {
        let commands = json!({ "Commands": [put(id, "Users")] }).to_string();
        connection.post("/databases/db1/bulk_docs", &commands);
    }
    assert_eq!(watcher.next()["Value"]["Id"], "users/2");
}

/// How long a test may take between opening a socket and its first command to show that what
/// happened between is told: well within the server's patience.
const HASTE_MAX: Duration = Duration::from_millis(100);

#[test]
fn what_happens_before_the_first_command_is_told_after_it() {
    let (server, mut connection) = start_with_database();
    for attempt in 0..100 {
        let id = format!("users/{attempt}");
        let opened = Instant::now();
        let mut watcher = Watcher::open(&server, "/databases/db1/changes");
        connection.put(&format!("/databases/db1/docs?id={id}"), "{}");
        watcher.send(&json!({ "CommandId": 1, "Command": "watch-doc", "Param": id }));
        let was_quick = opened.elapsed() < HASTE_MAX;
        assert_eq!(watcher.next()["TopologyChange"], true);
        assert_eq!(watcher.next()["Type"], "Confirm");
        if was_quick {
            assert_eq!(watcher.next()["Value"]["Id"], json!(id));
            return;
        }
    }
    panic!("this machine is too busy for the test");
}

#[test]
fn a_document_that_changes_again_at_once_is_told_each_time() {
    let (server, mut connection) = start_with_database();
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    watcher.watch(1, "watch-doc", &json!("users/1"));
    for _ in 0..50 {
        connection.put("/databases/db1/docs?id=users/1", "{}");
    }
    for etag in 1..=50 {
        let vector = watcher.next()["Value"]["ChangeVector"].clone();
        let expected = format!("A:{etag}-");
        assert!(vector.as_str().unwrap().starts_with(&expected), "{vector}");
    }
}

#[test]
fn counters_and_time_series_are_told_with_their_values() {
    let (server, mut connection) = start_with_database();
    connection.put("/databases/db1/docs?id=users/1", "{}");
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    watcher.watch(1, "watch-counters", &Value::Null);
    watcher.watch(2, "watch-all-timeseries", &Value::Null);
    let mut count = |kind: &str, delta: i32| {
        let operation = json!({ "Type": kind, "CounterName": "likes", "Delta": delta });
        let document = json!({ "DocumentId": "users/1", "Operations": [operation] });
        let body = json!({ "Documents": [document] }).to_string();
        connection.post("/databases/db1/counters", &body);
    };
    for (kind, delta, told, value) in [
        ("Increment", 5, "Put", 5),
        ("Increment", 2, "Increment", 7),
        ("Delete", 0, "Delete", 0),
    ] {
        count(kind, delta);
        let news = watcher.next();
        assert_eq!(news["Type"], "CounterChange");
        assert_eq!(
            (&news["Value"]["Type"], &news["Value"]["Value"]),
            (&json!(told), &json!(value))
        );
    }
    let body =
        r#"{"Name":"h","Appends":[{"Timestamp":"2026-11-21T00:00:00.0000000Z","Values":[1]}]}"#;
    connection.post("/databases/db1/timeseries?docId=users/1", body);
    let news = watcher.next();
    assert_eq!(news["Type"], "TimeSeriesChange");
    assert_eq!(news["Value"]["From"], "2026-11-21T00:00:00.0000000Z");
}

#[test]
fn what_cannot_be_watched_is_refused_and_plain_requests_too() {
    let (server, mut connection) = start_with_database();
    assert_eq!(connection.get("/databases/db1/changes").status, 400);
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    watcher.send(&json!({ "CommandId": 1, "Command": "watch-everything", "Param": null }));
    assert_eq!(watcher.next()["Type"], "Error");
}

#[test]
fn operations_are_told_until_they_end() {
    let (server, mut connection) = start_with_database();
    connection.put("/databases/db1/docs?id=users/1", "{}");
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    watcher.watch(1, "watch-operations", &Value::Null);
    let patch = json!({ "Query": { "Query": "from @all_docs update { this.seen = true }" } });
    let patch = patch.to_string();
    let mut start = || connection.exchange("PATCH", "/databases/db1/queries", "", patch.as_bytes());
    let answer = start();
    let number = answer.json()["OperationId"].clone();
    let state = loop {
        let news = watcher.next();
        assert_eq!(news["Type"], "OperationStatusChange");
        assert_eq!(news["Value"]["OperationId"], number);
        if news["Value"]["State"]["Status"] != "InProgress" {
            break news["Value"]["State"].clone();
        }
    };
    assert_eq!(state["Status"], "Completed");
    assert_eq!(state["Result"]["Total"], 1);
    watcher.watch(2, "unwatch-operations", &Value::Null);
    watcher.watch(3, "watch-operation", &json!(number.as_i64().unwrap() + 2));
    for _ in 0..2 {
        start();
    }
    let news = watcher.next();
    assert_eq!(news["Value"]["OperationId"], number.as_i64().unwrap() + 2);
}

#[test]
fn a_watcher_is_sent_away_when_its_database_is_deleted() {
    let (server, mut connection) = start_with_database();
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    let names = br#"{"DatabaseNames":["db1"]}"#;
    connection.exchange("DELETE", "/admin/databases", "", names);
    let mut frame = Vec::new();
    watcher.0.read_to_end(&mut frame).unwrap();
    // A frame of closing, its code (going away), and why.
    assert_eq!(
        (frame[0], &frame[2..4]),
        (0x88, &1001_u16.to_be_bytes()[..])
    );
    assert_eq!(&frame[4..], b"The database 'db1' was deleted.");
}

fn create_database(server: &TestServer) -> Connection {
    let mut connection = server.connect();
    let created = connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(created.status, 201, "{}", created.text());
    connection
}

#[test]
fn a_watcher_keeps_the_place_of_its_connection_until_it_goes() {
    let mut config = config();
    config.counts_loopback = true;
    config.connections_of_address_max = 2;
    let server = TestServer::start(config);
    let _connection = create_database(&server);
    let is_served = || {
        let mut connection = server.connect();
        connection.send(b"GET /build/version HTTP/1.1\r\nHost: localhost\r\n\r\n");
        !connection.is_closed()
    };
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    assert!(!is_served());
    drop(watcher);
    let started = Instant::now();
    while !is_served() {
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_watcher_that_answers_no_pings_is_let_go() {
    let mut config = config();
    config.heartbeat = Duration::from_millis(20);
    config.idle_timeout = Duration::from_millis(1_000);
    let server = TestServer::start(config);
    drop(create_database(&server));
    let mut silent = Watcher::open(&server, "/databases/db1/changes");
    let mut answering = Watcher::open(&server, "/databases/db1/changes");
    answering.next();
    // For longer than anybody may be silent.
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(1_200) {
        answering.pong();
    }
    let mut frames = Vec::new();
    silent.0.read_to_end(&mut frames).unwrap();
    assert!(frames.ends_with(&[0x88, 0]), "it is told that it ends");
    answering.pong();
}

fn next_of(watcher: &mut Watcher, kind: &str) -> Value {
    loop {
        let news = watcher.next();
        if news["Type"] == kind {
            return news["Value"].clone();
        }
    }
}

#[test]
fn deletions_of_time_series_say_which_ends_are_open() {
    let (server, mut connection) = start_with_database();
    connection.put("/databases/db1/docs?id=d/1", "{}");
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    watcher.watch(1, "watch-all-timeseries", &Value::Null);
    let path = "/databases/db1/timeseries?docId=d/1";
    let time = |day: u8| format!("2020-01-{day:02}T00:00:00.0000000Z");
    let append = json!([{ "Timestamp": time(1), "Values": [1] }]);
    for (deletes, appends, kind, from, to) in [
        (
            json!([{ "From": time(1), "To": time(2) }]),
            None,
            "Delete",
            Some(1),
            Some(2),
        ),
        (
            json!([{ "From": null, "To": time(2) }]),
            None,
            "Delete",
            None,
            Some(2),
        ),
        (
            json!([{ "From": time(1), "To": null }]),
            None,
            "Delete",
            Some(1),
            None,
        ),
        (json!([{ "To": time(2) }]), None, "Delete", None, Some(2)),
        (json!([{}]), None, "Delete", None, None),
        (
            json!([{ "From": time(3), "To": time(4) }, { "From": time(2) }]),
            None,
            "Delete",
            Some(2),
            None,
        ),
        (
            json!([{ "To": time(4) }, { "From": time(2), "To": time(9) }]),
            None,
            "Delete",
            None,
            Some(9),
        ),
        (
            json!([{ "From": time(5) }]),
            Some(append.clone()),
            "Mixed",
            Some(1),
            None,
        ),
        (json!([]), Some(append.clone()), "Put", Some(1), Some(1)),
    ] {
        let given = json!({ "Name": "H", "Appends": append });
        assert_eq!(connection.post(path, &given.to_string()).status, 204);
        assert_eq!(watcher.next()["Value"]["Type"], "Put");
        let body = json!({ "Name": "H", "Deletes": deletes, "Appends": appends });
        let answer = connection.post(path, &body.to_string());
        assert_eq!(answer.status, 204, "{body}: {}", answer.text());
        let news = next_of(&mut watcher, "TimeSeriesChange");
        let expected = |day: Option<u8>| day.map_or(Value::Null, |day| time(day).into());
        assert_eq!(news["Type"], kind, "{body}");
        assert_eq!(news["From"], expected(from), "{body}");
        assert_eq!(news["To"], expected(to), "{body}");
    }
}

#[test]
fn clients_that_keep_answers_are_told_of_changes() {
    let (server, mut connection) = start_with_database();
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    watcher.watch(1, "watch-aggressive-caching", &Value::Null);
    let told = json!({ "Type": "AggressiveCacheChange" });
    connection.put("/databases/db1/docs?id=d/1", "{}");
    assert_eq!(watcher.next(), told);
    // Of a database that nothing changes in, nothing is told: the next message is of the deletion.
    connection.get("/databases/db1/docs?id=d/1");
    connection.delete("/databases/db1/docs?id=d/1");
    assert_eq!(watcher.next(), told);
    connection.delete("/databases/db1/docs?id=d/1");
    let query = r#"{"Query":"from Ds where N = 1"}"#;
    assert_eq!(connection.post("/databases/db1/queries", query).status, 200);
    let put = r#"{"@metadata":{"@collection":"Ds"},"N":1}"#;
    connection.put("/databases/db1/docs?id=d/2", put);
    // The document and the batch of its index, in either order.
    assert_eq!(watcher.next(), told);
    assert_eq!(watcher.next(), told);
    // Several documents of one transaction are one change.
    let mut other = Watcher::open(&server, "/databases/db1/changes");
    other.next();
    other.watch(1, "watch-aggressive-caching", &Value::Null);
    let commands = json!({ "Commands": [
        { "Type": "PUT", "Id": "e/1", "Document": {} },
        { "Type": "PUT", "Id": "e/2", "Document": {} },
    ] });
    connection.post("/databases/db1/bulk_docs", &commands.to_string());
    assert_eq!(other.next(), told);
    other.watch(2, "unwatch-aggressive-caching", &Value::Null);
    other.watch(3, "watch-doc", &json!("e/3"));
    connection.put("/databases/db1/docs?id=e/3", "{}");
    assert_eq!(other.next()["Value"]["Id"], "e/3");
}

/// A client that waits for the news of its first document before it sends the next.
#[test]
fn a_bulk_insert_that_trickles_reports_what_has_arrived() {
    let mut config = config();
    config.batch_wait_max = Duration::from_millis(1);
    let server = TestServer::start(config);
    let mut connection = create_database(&server);
    let next = connection.get("/databases/db1/operations/next-operation-id");
    let number = next.json()["Id"].as_i64().unwrap();
    let mut watcher = Watcher::open(&server, "/databases/db1/changes");
    watcher.next();
    watcher.watch(1, "watch-operation", &json!(number.to_string()));
    let mut inserting = server.connect();
    let head = format!(
        "POST /databases/db1/bulk_insert?id={number} HTTP/1.1\r\nHost: test.local\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    inserting.send(head.as_bytes());
    let elements = [
        r#"[{"Type":"PUT","Id":"d/1","Document":{}}"#,
        concat!(
            r#",{"Type":"Counters","Id":"d/1","Counters":{"DocumentId":"d/1","#,
            r#""Operations":[{"Type":"Increment","CounterName":"c","Delta":1}]}}"#
        ),
        concat!(
            r#",{"Type":"TimeSeriesBulkInsert","Id":"d/1","TimeSeries":{"Name":"H","#,
            r#""TimeFormat":"UnixTimeInMs","Appends":[[1704067200000,1,5.5]]}}"#
        ),
        ",{\"Type\":\"AttachmentPUT\",\"Id\":\"d/1\",\"Name\":\"a\",\"ContentLength\":3}abc",
        r#",{"Type":"PUT","Id":"d/2","Document":{}}"#,
    ];
    let counts = [
        [1, 0, 0, 0],
        [1, 0, 1, 0],
        [1, 0, 1, 1],
        [1, 1, 1, 1],
        [2, 1, 1, 1],
    ];
    for (slot, (element, counted)) in elements.iter().zip(counts).enumerate() {
        inserting.send(format!("{:x}\r\n{element}\r\n", element.len()).as_bytes());
        let news = next_of(&mut watcher, "OperationStatusChange");
        assert_eq!(news["State"]["Status"], "InProgress");
        let progress = &news["State"]["Progress"];
        let kind = "Raven.Client.Documents.Operations.BulkInsertProgress, Raven.Client";
        assert_eq!(progress["$type"], kind);
        let [documents, attachments, counters, series] = counted;
        assert_eq!(progress["Total"], slot + 1);
        assert_eq!(progress["BatchCount"], slot + 1);
        assert_eq!(progress["DocumentsProcessed"], documents);
        assert_eq!(progress["AttachmentsProcessed"], attachments);
        assert_eq!(progress["CountersProcessed"], counters);
        assert_eq!(progress["TimeSeriesProcessed"], series);
        let id = if slot == 4 { "d/2" } else { "d/1" };
        assert_eq!(progress["LastProcessedId"], id);
        let path = format!("/databases/db1/operations/state?id={number}");
        assert_eq!(connection.get(&path).json(), news["State"]);
    }
    inserting.send(b"1\r\n]\r\n0\r\n\r\n");
    assert_eq!(inserting.read(false).status, 201);
    let news = next_of(&mut watcher, "OperationStatusChange");
    assert_eq!(news["State"]["Status"], "Completed");
    let result = &news["State"]["Result"];
    assert_eq!(
        (&result["Total"], &result["DocumentsProcessed"]),
        (&json!(5), &json!(2))
    );
}

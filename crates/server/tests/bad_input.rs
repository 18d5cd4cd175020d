//! Proves that no request, however wrong, brings the server down or gets the wrong status: deep
//! JSON, broken escapes, NULs, oversized ids and bodies, cut and slow requests, damaged gzip and
//! zstd.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::io::Write;
use std::time::Duration;

use support::{Connection, TestServer, config, start_with_database};

const DOCS: &str = "/databases/db1/docs";
const BULK: &str = "/databases/db1/bulk_docs";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn alive(connection: &mut Connection) {
    assert_eq!(connection.get("/databases/db1/stats").status, 200);
}

#[test]
fn mistakes_of_callers_are_bad_requests() {
    let (_running, mut connection) = start_with_database();
    connection.put(&format!("{DOCS}?id=there"), "{}");
    let query = "/databases/db1/queries";
    for (method, path, body, kind) in [
        (
            "GET",
            "/databases/none/docs?id=a",
            "",
            "DatabaseDoesNotExistException",
        ),
        ("PUT", DOCS, "{}", "ArgumentException"),
        ("PUT", "/databases/db1/docs?id=", "{}", "ArgumentException"),
        (
            "PUT",
            "/databases/db1/docs?id=a",
            "{",
            "EndOfStreamException",
        ),
        (
            "PUT",
            "/databases/db1/docs?id=a",
            "{\"a\":}",
            "InvalidDataException",
        ),
        (
            "POST",
            BULK,
            "{\"Commands\":[{\"Type\":7}]}",
            "FormatException",
        ),
        (
            "POST",
            BULK,
            "{\"Commands\":[{\"Type\":\"SHOUT\"}]}",
            "InvalidCommandTypeException",
        ),
        (
            "POST",
            query,
            "{\"Query\":\"from\"}",
            "QueryParser+ParseException",
        ),
        (
            "PATCH",
            "/databases/db1/docs?id=there",
            "{\"Patch\":{\"Script\":\"(\"}}",
            "JavaScriptParseException",
        ),
        ("GET", "/no/such/route", "", "RouteNotFoundException"),
    ] {
        let answer = connection.exchange(method, path, "", body.as_bytes());
        assert_eq!(
            answer.status,
            400,
            "{method} {path} {body}: {}",
            answer.text()
        );
        let told = answer.json()["Type"].as_str().unwrap().to_owned();
        assert!(told.ends_with(kind), "{method} {path} {body}: {told}");
    }
    alive(&mut connection);
}

#[test]
fn json_that_is_too_deep_is_refused() {
    let (_running, mut connection) = start_with_database();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    for value in [&deep, &objects] {
        let bodies = [
            (
                "PUT",
                format!("{DOCS}?id=deep"),
                format!("{{\"x\":{value}}}"),
            ),
            (
                "POST",
                BULK.to_owned(),
                format!(
                    "{{\"Commands\":[{{\"Type\":\"PUT\",\"Id\":\"a\",\
                     \"Document\":{{\"x\":{value}}}}}]}}"
                ),
            ),
            ("POST", DOCS.to_owned(), format!("{{\"Ids\":{value}}}")),
            (
                "PUT",
                "/admin/databases?name=deep".to_owned(),
                format!("{{\"Settings\":{value}}}"),
            ),
        ];
        for (method, path, body) in bodies {
            let answer = connection.exchange(method, &path, "", body.as_bytes());
            assert_eq!(answer.status, 400, "{method} {path}");
            assert_eq!(answer.json()["Type"], "System.IO.InvalidDataException");
        }
    }
    let cut = connection.exchange(
        "PUT",
        &format!("{DOCS}?id=cut"),
        "",
        &deep.as_bytes()[..5000],
    );
    assert_eq!(cut.status, 400);
    alive(&mut connection);
}

#[test]
fn json_that_is_wrong_says_where() {
    let (_running, mut connection) = start_with_database();
    let cases: [(&[u8], &str); 8] = [
        (b"", "System.IO.EndOfStreamException"),
        (b"  \r\n", "System.IO.EndOfStreamException"),
        (b"{\"a\":", "System.IO.EndOfStreamException"),
        (b"{\"a\":1,}", "System.IO.InvalidDataException"),
        (b"{\"a\":\xff}", "System.IO.InvalidDataException"),
        (b"{\"a\":\"\xff\"}", "System.IO.InvalidDataException"),
        (b"[1]", "Sparrow.Exceptions.InvalidStartOfObjectException"),
        (b"{\"@metadata\":5}", "System.FormatException"),
    ];
    for (body, kind) in cases {
        let answer = connection.exchange("PUT", &format!("{DOCS}?id=b/2"), "", body);
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["Type"], kind, "{}", answer.text());
    }
    let answer = connection.exchange("PUT", &format!("{DOCS}?id=b/2"), "", b"{\"a\":1,\n !}");
    assert!(
        answer.json()["Message"].as_str().unwrap().contains("(2,2)"),
        "{}",
        answer.text()
    );
    let trailing = connection.exchange("PUT", &format!("{DOCS}?id=b/3"), "", b"{\"a\":1} rubbish");
    assert_eq!(trailing.status, 201);
}

#[test]
fn strange_ids_are_stored_found_or_refused_but_never_confused() {
    let (_running, mut connection) = start_with_database();
    for id in [
        "a%00b",
        "%zz",
        "%",
        "a%2",
        "caf%C3%A9",
        "%FF",
        "a+b",
        "a%20b",
        "x%7Fy",
        "%F0%9F%98%80",
    ] {
        let path = format!("{DOCS}?id={id}");
        let answer = connection.put(&path, r#"{"n":1}"#);
        assert!(
            matches!(answer.status, 201 | 400),
            "{id}: {}",
            answer.text()
        );
        let expected = if answer.status == 201 { 200 } else { 404 };
        assert_eq!(connection.get(&path).status, expected, "{id}");
    }
    alive(&mut connection);
}

#[test]
fn ids_beyond_512_bytes_are_refused() {
    let (_running, mut connection) = start_with_database();
    let longest = "x".repeat(512);
    assert_eq!(
        connection.put(&format!("{DOCS}?id={longest}"), "{}").status,
        201
    );
    assert_eq!(connection.get(&format!("{DOCS}?id={longest}")).status, 200);
    let answer = connection.put(&format!("{DOCS}?id={longest}y"), "{}");
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["Type"], "System.ArgumentException");
    let message = answer.json()["Message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("Document ID cannot exceed 512 bytes, but the ID was 513 bytes."));
    let batch = format!(r#"{{"Commands":[{{"Type":"PUT","Id":"{longest}y","Document":{{}}}}]}}"#);
    assert_eq!(
        connection.post(BULK, &batch).json()["Type"],
        "System.ArgumentException"
    );
    assert_eq!(connection.get(&format!("{DOCS}?id={longest}y")).status, 404);
    let none = connection.put(DOCS, "{}");
    assert_eq!(
        none.json()["Message"],
        "Query string value 'id' must have a non empty value"
    );
}

#[test]
fn broken_names_of_databases_are_answered() {
    let (_running, mut connection) = start_with_database();
    for name in [
        "%",
        "%00",
        "%2e%2e",
        "..",
        "%FF",
        "a%2Fb",
        "db1%00",
        "caf%C3%A9",
    ] {
        let answer = connection.get(&format!("/databases/{name}/stats"));
        assert_eq!(answer.status, 400, "{name}");
        assert!(
            answer.json()["Type"]
                .as_str()
                .unwrap()
                .ends_with("DatabaseDoesNotExistException")
        );
    }
    alive(&mut connection);
}

#[test]
fn bodies_beyond_the_limit_are_413_before_they_are_read() {
    let mut config = config();
    config.body_bytes_max = 100_000;
    let running = TestServer::start(config);
    let mut connection = Connection::open(running.address());
    assert_eq!(
        connection.put("/admin/databases?name=db1", "{}").status,
        201
    );
    let head =
        format!("PUT {DOCS}?id=big HTTP/1.1\r\nHost: test.local\r\nContent-Length: 100001\r\n\r\n");
    connection.send(head.as_bytes());
    let answer = connection.read(false);
    assert_eq!(answer.status, 413);
    assert!(
        answer.json()["Message"]
            .as_str()
            .unwrap()
            .contains("100000 bytes")
    );

    let mut connection = Connection::open(running.address());
    let head = format!(
        "PUT {DOCS}?id=big HTTP/1.1\r\nHost: test.local\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    connection.send(head.as_bytes());
    for _ in 0..30 {
        connection.send(b"1000\r\n");
        connection.send(&[b' '; 4096]);
        connection.send(b"\r\n");
    }
    assert_eq!(connection.read(false).status, 413);

    let mut connection = Connection::open(running.address());
    for (name, pack) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("zstd", zstd)] {
        let bomb = pack(&vec![b' '; 10_000_000]);
        assert!(bomb.len() < 100_000);
        let encoding = format!("Content-Encoding: {name}\r\n");
        let answer = connection.exchange("PUT", &format!("{DOCS}?id=b"), &encoding, &bomb);
        assert_eq!(answer.status, 413, "{name}");
    }
    let fits = format!("{{\"x\":\"{}\"}}", "y".repeat(90_000));
    assert_eq!(
        connection.put(&format!("{DOCS}?id=fits"), &fits).status,
        201
    );
}

#[test]
fn large_documents_and_batches_pass_whole() {
    let (_running, mut connection) = start_with_database();
    let large = format!("{{\"x\":\"{}\"}}", "y".repeat(3 << 20));
    assert_eq!(
        connection.put(&format!("{DOCS}?id=large"), &large).status,
        201
    );
    let loaded = connection.get(&format!("{DOCS}?id=large"));
    assert_eq!(loaded.header("transfer-encoding"), Some("chunked"));
    assert_eq!(
        loaded.json()["Results"][0]["x"].as_str().unwrap().len(),
        3 << 20
    );
    let command = |n: usize| {
        let text = "z".repeat(500);
        format!(r#"{{"Type":"PUT","Id":"many/{n}","Document":{{"t":"{text}","n":{n}}}}}"#)
    };
    let commands: Vec<String> = (0..2000).map(command).collect();
    let batch = format!("{{\"Commands\":[{}]}}", commands.join(","));
    let answer = connection.post(BULK, &batch);
    assert_eq!(answer.status, 201);
    assert_eq!(answer.json()["Results"].as_array().unwrap().len(), 2000);
    let all = connection.get(&format!("{DOCS}?startsWith=many/"));
    assert_eq!(all.json()["Results"].as_array().unwrap().len(), 2000);
}

#[test]
fn packed_bodies_are_read_and_damaged_ones_refused() {
    let (_running, mut connection) = start_with_database();
    let path = format!("{DOCS}?id=gz/1");
    for (name, pack) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("zstd", zstd)] {
        let encoding = format!("Content-Encoding: {name}\r\n");
        let packed = pack(format!(r#"{{"a":"packed by {name}"}}"#).as_bytes());
        let answer = connection.exchange("PUT", &path, &encoding, &packed);
        assert_eq!(answer.status, 201, "{}", answer.text());
        let stored = connection.get(&path).json();
        assert_eq!(stored["Results"][0]["a"], format!("packed by {name}"));
        for damaged in [&packed[..packed.len() - 6], b"not packed at all"] {
            let answer = connection.exchange("PUT", &path, &encoding, damaged);
            assert_eq!(answer.status, 400, "{}", answer.text());
            assert_eq!(answer.json()["Type"], "System.IO.InvalidDataException");
        }
        assert_eq!(
            connection.exchange("PUT", &path, &encoding, b"").status,
            400
        );
    }
    let answer = connection.exchange("PUT", &path, "Content-Encoding: br\r\n", b"{}");
    assert_eq!(answer.status, 415);
    alive(&mut connection);
}

#[test]
fn a_sender_that_stalls_or_leaves_holds_nothing_up() {
    let mut config = config();
    config.stall_timeout = Duration::from_millis(30);
    let running = TestServer::start(config);
    let mut connection = Connection::open(running.address());
    assert_eq!(
        connection.put("/admin/databases?name=db1", "{}").status,
        201
    );
    let mut slow = Connection::open(running.address());
    let head = format!(
        "PUT {DOCS}?id=slow HTTP/1.1\r\nHost: test.local\r\nContent-Length: 10\r\n\r\n{{\"a\""
    );
    slow.send(head.as_bytes());
    assert_eq!(slow.read(false).status, 408);
    let mut gone = Connection::open(running.address());
    gone.send(head.as_bytes());
    drop(gone);
    alive(&mut connection);
    assert_eq!(connection.get(&format!("{DOCS}?id=slow")).status, 404);
}

#[test]
fn numbers_and_flags_that_are_not_are_ignored() {
    let (_running, mut connection) = start_with_database();
    connection.put(&format!("{DOCS}?id=a/1"), "{}");
    for query in [
        "startsWith=a&start=-5&pageSize=x",
        "startsWith=a&start=&pageSize=",
        "startsWith=a&pageSize=99999999999999999999",
        "&&&=&==&startsWith=a&metadataOnly=maybe",
    ] {
        let answer = connection.get(&format!("{DOCS}?{query}"));
        assert_eq!(
            answer.json()["Results"].as_array().unwrap().len(),
            1,
            "{query}"
        );
    }
    let beyond = connection.get(&format!("{DOCS}?startsWith=a&start=9223372036854775807"));
    assert_eq!(beyond.json()["Results"].as_array().unwrap().len(), 0);
}

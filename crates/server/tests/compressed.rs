//! Proves that bodies may come packed on every route, whole or in parts, within bounds, and that
//! answers are packed for a client that asks, however small or long they are.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::io::{Read, Write};

use jackdaw_server::Compression;
use serde_json::json;
use support::{Answer, TestServer, config, start_with_database};

type Pack = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

const PACKERS: [(&str, Pack); 4] = [
    ("gzip", gzip),
    ("GZip", gzip),
    ("x-gzip", gzip),
    ("zstd", zstd),
];

fn unpacked(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    match answer.header("content-encoding") {
        Some("gzip") => {
            let mut decoder = flate2::read::GzDecoder::new(&answer.body[..]);
            decoder.read_to_end(&mut plain).unwrap();
        }
        Some("zstd") => plain = zstd::decode_all(&answer.body[..]).unwrap(),
        other => panic!("{other:?}"),
    }
    plain
}

#[test]
fn every_kind_of_route_takes_packed_bodies() {
    let (_running, mut connection) = start_with_database();
    let db = "/databases/db1";
    let index =
        json!({ "Indexes": [{ "Name": "I", "Maps": ["from d in docs.Ds select new { d.a }"] }] });
    let cases: Vec<(&str, String, String, u16)> = vec![
        ("PUT", format!("{db}/docs?id=d/1"), r#"{"a":1}"#.into(), 201),
        (
            "PATCH",
            format!("{db}/docs?id=d/1"),
            r#"{"Patch":{"Script":"this.b = 2"}}"#.into(),
            200,
        ),
        (
            "POST",
            format!("{db}/docs"),
            r#"{"Ids":["d/1"]}"#.into(),
            200,
        ),
        (
            "POST",
            format!("{db}/bulk_docs"),
            r#"{"Commands":[{"Type":"PUT","Id":"d/2","Document":{}}]}"#.into(),
            201,
        ),
        (
            "POST",
            format!("{db}/queries"),
            r#"{"Query":"from @all_docs"}"#.into(),
            200,
        ),
        (
            "POST",
            format!("{db}/streams/queries"),
            r#"{"Query":"from @all_docs"}"#.into(),
            200,
        ),
        (
            "POST",
            format!("{db}/multi_get"),
            r#"{"Requests":[{"Url":"/databases/db1/docs","Query":"?id=d/1"}]}"#.into(),
            200,
        ),
        (
            "POST",
            format!("{db}/bulk_insert?id=1"),
            r#"[{"Type":"PUT","Id":"d/3","Document":{}}]"#.into(),
            201,
        ),
        (
            "POST",
            format!("{db}/counters"),
            concat!(
                r#"{"Documents":[{"DocumentId":"d/1","Operations":[{"Type":"Increment","#,
                r#""CounterName":"c","Delta":1}]}]}"#
            )
            .into(),
            200,
        ),
        (
            "PUT",
            format!("{db}/cmpxchg?key=k&index=0"),
            r#"{"Object":1}"#.into(),
            200,
        ),
        (
            "PUT",
            format!("{db}/attachments?id=d/1&name=a"),
            "content".into(),
            201,
        ),
        ("PUT", format!("{db}/admin/indexes"), index.to_string(), 201),
        (
            "PUT",
            "/admin/databases?name=packed".into(),
            r#"{"DatabaseName":"packed"}"#.into(),
            201,
        ),
        (
            "DELETE",
            "/admin/databases".into(),
            r#"{"DatabaseNames":["packed"]}"#.into(),
            200,
        ),
    ];
    for (name, pack) in PACKERS {
        for (method, path, body, status) in &cases {
            let headers = format!("Content-Encoding: {name}\r\n");
            let path = &path.replace("key=k", &format!("key={name}-{}", path.len()));
            let answer = connection.exchange(method, path, &headers, &pack(body.as_bytes()));
            assert_eq!(
                answer.status,
                *status,
                "{name} {method} {path}: {}",
                String::from_utf8_lossy(&answer.body)
            );
        }
        let attachment = connection.get("/databases/db1/attachments?id=d/1&name=a");
        assert_eq!(attachment.body, b"content", "{name}");
    }
    let plain = connection.exchange(
        "PUT",
        "/databases/db1/docs?id=d/9",
        "Content-Encoding: identity\r\n",
        b"{}",
    );
    assert_eq!(plain.status, 201);
    let unknown = connection.exchange(
        "PUT",
        "/databases/db1/docs?id=d/9",
        "Content-Encoding: br\r\n",
        b"{}",
    );
    assert_eq!(unknown.status, 415);
}

/// A batch with one attachment: the commands and the content, each as a part with its head.
fn multipart(commands: (&str, &[u8]), content: (&str, &[u8])) -> Vec<u8> {
    let mut body = Vec::new();
    for (head, bytes) in [commands, content] {
        body.extend_from_slice(format!("--b\r\n{head}\r\n").as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b--\r\n");
    body
}

#[test]
fn batches_with_attachments_are_packed_as_a_whole_or_by_part() {
    let (_running, mut connection) = start_with_database();
    connection.put("/databases/db1/docs?id=d/1", "{}");
    let kind = "Content-Type: multipart/mixed; boundary=b\r\n";
    let content: Vec<u8> = (0..=255).collect();
    for (name, pack) in PACKERS {
        let packed_head = format!("Content-Type: application/json\r\ncontent-encoding: {name}\r\n");
        let outer = format!("{kind}Content-Encoding: {name}\r\n");
        for (slot, (headers, whole, part)) in [
            (&outer[..], true, false),
            (kind, false, true),
            (&outer[..], true, true),
        ]
        .into_iter()
        .enumerate()
        {
            let attachment = format!("{name}-{slot}");
            let commands = json!({ "Commands": [{
                "Type": "AttachmentPUT", "Id": "d/1", "Name": attachment, "ContentType": "a/b",
            }] })
            .to_string();
            let commands = commands.as_bytes();
            let body = match part {
                true => multipart((&packed_head, &pack(commands)), ("A: b\r\n", &content)),
                false => multipart(("A: b\r\n", commands), ("A: b\r\n", &content)),
            };
            let body = if whole { pack(&body) } else { body };
            let answer = connection.exchange("POST", "/databases/db1/bulk_docs", headers, &body);
            assert_eq!(answer.status, 201, "{attachment}: {}", answer.text());
            let path = format!("/databases/db1/attachments?id=d/1&name={attachment}");
            assert_eq!(connection.get(&path).body, content, "{attachment}");
        }
    }
}

#[test]
fn parts_that_do_not_unpack_or_grow_too_much_store_nothing() {
    let mut config = config();
    config.body_bytes_max = 1 << 20;
    let running = TestServer::start(config);
    let mut connection = running.connect();
    connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    let kind = "Content-Type: multipart/mixed; boundary=b\r\n";
    let commands = br#"{"Commands":[{"Type":"PUT","Id":"d/1","Document":{}}]}"#;
    let packed = gzip(commands);
    let spaces = vec![b' '; 2 << 20];
    let cases: [(&str, Vec<u8>, u16); 5] = [
        (
            "Content-Encoding: gzip\r\n",
            packed[..packed.len() - 5].to_vec(),
            400,
        ),
        ("Content-Encoding: gzip\r\n", commands.to_vec(), 400),
        ("Content-Encoding: br\r\n", commands.to_vec(), 415),
        ("Content-Encoding: gzip\r\n", gzip(&spaces), 413),
        ("Content-Encoding: zstd\r\n", zstd(&spaces), 413),
    ];
    for (head, bytes, status) in cases {
        let body = multipart((head, &bytes), ("", b"x"));
        let answer = connection.exchange("POST", "/databases/db1/bulk_docs", kind, &body);
        assert_eq!(answer.status, status, "{head}: {}", answer.text());
    }
    // Two halves that fit alone do not fit together.
    let half = gzip(&vec![b' '; 600 << 10]);
    let head = "Content-Encoding: gzip\r\n";
    let body = multipart((head, &half), (head, &half));
    let answer = connection.exchange("POST", "/databases/db1/bulk_docs", kind, &body);
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert_eq!(connection.get("/databases/db1/docs?id=d/1").status, 404);
}

#[test]
fn little_that_stands_for_very_much_is_refused() {
    let (_running, mut connection) = start_with_database();
    connection.put("/databases/db1/docs?id=d/1", "{}");
    let zeros = vec![0; 80 << 20];
    for (name, packed) in [("gzip", gzip(&zeros)), ("zstd", zstd(&zeros))] {
        let path = "/databases/db1/attachments?id=d/1&name=bomb";
        let headers = format!("Content-Encoding: {name}\r\n");
        let answer = connection.exchange("PUT", path, &headers, &packed);
        assert_eq!(answer.status, 413, "{name}: {}", answer.text());
        assert!(
            answer.text().contains("times its size"),
            "{}",
            answer.text()
        );
        assert_eq!(connection.get(path).status, 404);
    }
}

#[test]
fn answers_of_every_size_and_status_are_packed_for_clients_that_ask() {
    let (_running, mut connection) = start_with_database();
    connection.put("/databases/db1/docs?id=d/1", r#"{"a":1}"#);
    let long = "x".repeat(2_000);
    for number in 0..400 {
        let text = format!("{{\"text\":\"{long}{number}\"}}");
        connection.put(&format!("/databases/db1/docs?id=long/{number}"), &text);
    }
    for path in [
        "/build/version",
        "/databases/db1/docs?id=d/1",
        "/databases/db1/docs?id=d/1&id=none",
        "/databases/db1/docs?startsWith=long/",
        "/databases/db1/queries?query=from%20@all_docs%20limit%201",
        "/databases/db1/streams/docs?startsWith=long/",
        "/databases/db1/streams/queries?query=from%20@all_docs&format=jsonl",
        "/nosuch",
        "/databases/none/stats",
    ] {
        let plain = connection.get(path);
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        for (accepted, encoding) in [
            ("gzip", "gzip"),
            ("zstd", "zstd"),
            ("gzip, deflate, br", "gzip"),
            ("gzip;q=0.5, zstd;q=0.1", "gzip"),
        ] {
            let headers = format!("Accept-Encoding: {accepted}\r\n");
            let packed = connection.exchange("GET", path, &headers, b"");
            assert_eq!(packed.status, plain.status, "{path}");
            assert_eq!(packed.header("content-encoding"), Some(encoding), "{path}");
            assert_eq!(packed.header("vary"), Some("Accept-Encoding"), "{path}");
            let body = unpacked(&packed);
            // Durations may differ between two answers.
            assert_eq!(body.is_empty(), plain.body.is_empty(), "{path}");
            if path.contains("docs?") {
                assert_eq!(body, plain.body, "{path} {accepted}");
            } else {
                assert!(
                    body.len().abs_diff(plain.body.len()) < 20,
                    "{path} {accepted}"
                );
            }
        }
        for accepted in ["br", "identity", "gzip;q=0", ""] {
            let headers = format!("Accept-Encoding: {accepted}\r\n");
            let answer = connection.exchange("GET", path, &headers, b"");
            assert_eq!(answer.header("content-encoding"), None, "{path} {accepted}");
        }
    }
    let missing = connection.exchange(
        "GET",
        "/databases/db1/docs?id=no",
        "Accept-Encoding: gzip\r\n",
        b"",
    );
    assert_eq!(
        (missing.status, missing.header("content-encoding")),
        (404, None)
    );
}

#[test]
fn nothing_is_packed_where_it_is_switched_off() {
    for (compression, is_packed) in [
        (Compression::Off, false),
        (Compression::Remote, false),
        (Compression::On, true),
    ] {
        let mut config = config();
        config.compression = compression;
        let running = TestServer::start(config);
        let mut connection = running.connect();
        let accept = "Accept-Encoding: gzip\r\n";
        let answer = connection.exchange("GET", "/build/version", accept, b"");
        assert_eq!(
            answer.header("content-encoding").is_some(),
            is_packed,
            "{compression:?}"
        );
    }
}

#[test]
fn attachments_leave_as_they_are_with_their_length() {
    let (_running, mut connection) = start_with_database();
    let path = "/databases/db1/attachments?id=d/1&name=a";
    connection.exchange("PUT", "/databases/db1/docs?id=d/1", "", b"{}");
    for content in [b"".to_vec(), b"short".to_vec(), vec![b'x'; 300_000]] {
        let put = connection.exchange("PUT", path, "", &content);
        assert_eq!(put.status, 201);
        for accepted in ["gzip", "zstd, gzip;q=0.5"] {
            for (range, status, expected) in [
                ("", 200, &content[..]),
                (
                    "Range: bytes=1-3\r\n",
                    206,
                    content.get(1..4).unwrap_or_default(),
                ),
            ] {
                if content.is_empty() && status == 206 {
                    continue;
                }
                let headers = format!("Accept-Encoding: {accepted}\r\n{range}");
                let answer = connection.exchange("GET", path, &headers, b"");
                assert_eq!(answer.status, status);
                assert_eq!(answer.header("content-encoding"), None);
                let len = expected.len().to_string();
                assert_eq!(answer.header("content-length"), Some(len.as_str()));
                assert!(answer.body == expected);
            }
        }
    }
}

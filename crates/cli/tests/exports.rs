//! What an export holds: the same bytes from a server and from files, nothing that an import does
//! not bring back, and a hash that notices every difference.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use common::{Served, TestDirectory, export, import, jackdaw};

/// Sends a request and returns the status.
fn request(url: &str, method: &str, path: &str, body: &str) -> u16 {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// The hash that an export prints.
fn hash(data: &str) -> String {
    let run = jackdaw(&["export", "--database", "music", "--data", data, "-o", "-"]).ok();
    let at = run.err.rfind(' ').unwrap();
    run.err[at..].trim().to_owned()
}

#[test]
fn a_server_and_its_files_export_the_same_bytes() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let lines = concat!(
        r#"{"n":1.50,"@metadata":{"@id":"as/1","@collection":"As","Mine":[1],"#,
        r#""@expires":"2099-01-01T00:00:00.0000000Z"}}"#,
        "\n",
        r#"{"n":2,"@metadata":{"@id":"bs/2","@collection":"Bs"}}"#,
        "\n",
    );
    let file = directory.file("a.ndjson", lines);
    let server = Served::start(&data);
    let url = server.url.clone();
    let arguments = [
        "import",
        "ndjson",
        &file,
        "--database",
        "music",
        "--url",
        &url,
    ];
    jackdaw(&arguments).ok();
    jackdaw(&arguments)
        .ok()
        .tells(&["is imported already (2 documents)"]);
    let attachment = "/databases/music/attachments?id=as/1&name=cover.txt";
    assert_eq!(request(&url, "PUT", attachment, "abc"), 201);
    let counters = concat!(
        r#"{"Documents":[{"DocumentId":"as/1","Operations":["#,
        r#"{"Type":"Increment","CounterName":"Likes","Delta":2}]}]}"#,
    );
    assert_eq!(
        request(&url, "POST", "/databases/music/counters", counters),
        200
    );
    let series = concat!(
        r#"{"Name":"Pulse","Appends":["#,
        r#"{"Timestamp":"2024-01-31T00:00:00.0000000Z","Values":[1.0]}]}"#,
    );
    let path = "/databases/music/timeseries?docId=bs/2";
    assert_eq!(request(&url, "POST", path, series), 204);
    let export_from = |place: [&str; 2]| {
        let [option, value] = place;
        let run = jackdaw(&["export", "--database", "music", option, value, "-o", "-"]).ok();
        let hash = run.err.rfind(' ').map(|at| run.err[at..].trim().to_owned());
        (run.out, hash)
    };
    let served = export_from(["--url", &url]);
    assert!(server.stop());
    assert_eq!(served, export_from(["--data", &data]));
    // Nothing that the export does not bring, and no note of the import.
    assert_eq!(served.0, lines);
    // The same command with the files goes on where the one with the server ended.
    let run = import("ndjson", &file, &data, &[]).ok();
    run.tells(&["is imported already (2 documents)"]);
}

#[test]
fn an_export_and_an_import_change_nothing_twice_round() {
    let directory = TestDirectory::new();
    let mut lines: Vec<String> = (0..300)
        .map(|number| {
            let metadata = format!("{{\"@id\":\"As/{number:04}\",\"@collection\":\"As\"}}");
            format!("{{\"n\":{number},\"@metadata\":{metadata}}}")
        })
        .collect();
    for id in [
        "as/\u{fc} \u{1f600}",
        "as/%2F?#",
        "as/\\\"q\\\"",
        "as/a b",
        "x",
    ] {
        lines.push(format!(
            "{{\"@metadata\":{{\"@id\":\"{id}\",\"@collection\":\"@empty\"}}}}"
        ));
    }
    let mut file = directory.file("0.ndjson", lines.join("\n"));
    let mut rounds = Vec::new();
    for round in 1..=3 {
        let data = directory.text(&format!("data-{round}"));
        import("ndjson", &file, &data, &[]).ok();
        let exported = export(&data).join("\n");
        file = directory.file(&format!("{round}.ndjson"), &exported);
        rounds.push((exported, hash(&data)));
    }
    assert_eq!(rounds[0].0.lines().count(), 305);
    assert!(
        rounds[0] == rounds[1] && rounds[1] == rounds[2],
        "a round changed something"
    );
}

#[test]
fn large_documents_travel_through_a_server() {
    let directory = TestDirectory::new();
    let document = |number: u32, len: usize| {
        let text = "x".repeat(len);
        let metadata = format!("{{\"@id\":\"as/{number}\",\"@collection\":\"As\"}}");
        format!("{{\"Text\":\"{text}\",\"@metadata\":{metadata}}}\n")
    };
    // More than a request may have, in one chunk.
    let lines = [document(1, 1 << 20), document(2, 63 << 20), document(3, 9)].concat();
    let file = directory.file("a.ndjson", &lines);
    let server = Served::start(&directory.text("data"));
    let url = server.url.as_str();
    let arguments = [
        "import",
        "ndjson",
        &file,
        "--database",
        "music",
        "--url",
        url,
    ];
    jackdaw(&arguments).ok();
    let output = directory.text("out");
    jackdaw(&["export", "--database", "music", "--url", url, "-o", &output]).ok();
    assert!(
        std::fs::read_to_string(&output).unwrap() == lines,
        "the export differs"
    );
}

#[test]
fn the_hash_covers_metadata_and_collections() {
    let directory = TestDirectory::new();
    let of = |name: &str, line: &str| {
        let file = directory.file(&format!("{name}.ndjson"), line);
        let data = directory.text(name);
        import("ndjson", &file, &data, &[]).ok();
        hash(&data)
    };
    let first = of(
        "first",
        r#"{"a":1,"@metadata":{"@id":"x","@collection":"As","Mine":1}}"#,
    );
    for (name, line) in [
        (
            "body",
            r#"{"a":2,"@metadata":{"@id":"x","@collection":"As","Mine":1}}"#,
        ),
        (
            "id",
            r#"{"a":1,"@metadata":{"@id":"y","@collection":"As","Mine":1}}"#,
        ),
        (
            "collection",
            r#"{"a":1,"@metadata":{"@id":"x","@collection":"Bs","Mine":1}}"#,
        ),
        (
            "metadata",
            r#"{"a":1,"@metadata":{"@id":"x","@collection":"As","Mine":2}}"#,
        ),
        (
            "none",
            r#"{"a":1,"@metadata":{"@id":"x","@collection":"As"}}"#,
        ),
    ] {
        assert_ne!(of(name, line), first, "{name}");
    }
    let same = of(
        "same",
        r#"{"a":1,"@metadata":{"@id":"x","@collection":"As","Mine":1,"@counters":["c"]}}"#,
    );
    assert_eq!(same, first, "what the database makes is left out");
}

//! Proves that attachments come back as they were stored, whole, in ranges and several at a time;
//! that batches and bulk inserts carry them; and that a content is stored once.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Connection, start_with_database};

const BASE: &str = "/databases/db1";
const HELLO: &str = "Mk3PAn3UowqTLEQfNlol6GsXPe+kuOWJSCU0cbgbcs8=";

fn document(connection: &mut Connection, id: &str) {
    let document = r#"{"@metadata":{"@collection":"Users"}}"#;
    let answer = connection.put(&format!("{BASE}/docs?id={id}"), document);
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn attach(connection: &mut Connection, id: &str, name: &str, content: &[u8]) -> Answer {
    let path = format!("{BASE}/attachments?id={id}&name={name}&contentType=text/plain");
    connection.exchange("PUT", &path, "", content)
}

fn statistics(connection: &mut Connection) -> (Value, Value) {
    let found = connection.get(&format!("{BASE}/stats")).json();
    let count = found["CountOfAttachments"].clone();
    (count, found["CountOfUniqueAttachments"].clone())
}

#[test]
fn an_attachment_comes_back_with_its_headers() {
    let (_running, mut connection) = start_with_database();
    document(&mut connection, "a/1");
    let stored = attach(&mut connection, "a/1", "f.txt", b"hello");
    assert_eq!(stored.status, 201, "{}", stored.text());
    assert_eq!(stored.json()["Hash"], HELLO);
    assert_eq!(stored.json()["Size"], 5);
    let path = format!("{BASE}/attachments?id=A/1&name=F.TXT");
    let found = connection.get(&path);
    assert_eq!((found.status, found.text()), (200, "hello"));
    assert_eq!(found.header("attachment-hash"), Some(HELLO));
    assert_eq!(found.header("attachment-size"), Some("5"));
    assert_eq!(found.header("content-type"), Some("text/plain"));
    let vector = stored.json()["ChangeVector"].as_str().unwrap().to_owned();
    assert_eq!(found.header("etag"), Some(format!("\"{vector}\"").as_str()));
    let known = format!("If-None-Match: \"{vector}\"\r\n");
    assert_eq!(connection.exchange("GET", &path, &known, b"").status, 304);
    assert_eq!(connection.exchange("HEAD", &path, "", b"").status, 200);
    let loaded = connection.get(&format!("{BASE}/docs?id=a/1")).json();
    let metadata = &loaded["Results"][0]["@metadata"];
    assert_eq!(metadata["@flags"], "HasAttachments");
    let listed = json!([{
        "Name": "f.txt", "Hash": HELLO, "ContentType": "text/plain", "Size": 5,
    }]);
    assert_eq!(metadata["@attachments"], listed);
    let missing = connection.get(&format!("{BASE}/attachments?id=a/1&name=zz"));
    assert_eq!((missing.status, missing.body.len()), (404, 0));
}

#[test]
fn long_contents_are_streamed_both_ways_and_read_in_ranges() {
    let (_running, mut connection) = start_with_database();
    document(&mut connection, "a/1");
    let content: Vec<u8> = (0..9_000_000u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
        .collect();
    assert_eq!(attach(&mut connection, "a/1", "long", &content).status, 201);
    let path = format!("{BASE}/attachments?id=a/1&name=long");
    assert!(connection.get(&path).body == content);
    let part = connection.exchange("GET", &path, "Range: bytes=5000000-5000099\r\n", b"");
    assert_eq!(part.status, 206);
    assert_eq!(
        part.header("content-range"),
        Some("bytes 5000000-5000099/9000000")
    );
    assert!(part.body == content[5_000_000..5_000_100]);
    let tail = connection.exchange("GET", &path, "Range: bytes=-10\r\n", b"");
    assert!(tail.body == content[8_999_990..]);
    let beyond = connection.exchange("GET", &path, "Range: bytes=9000000-\r\n", b"");
    assert_eq!(beyond.status, 416);
}

#[test]
fn a_content_is_stored_once_and_goes_with_its_last_user() {
    let (_running, mut connection) = start_with_database();
    for id in ["a/1", "a/2"] {
        document(&mut connection, id);
        attach(&mut connection, id, "same", b"hello");
    }
    assert_eq!(statistics(&mut connection), (json!(2), json!(1)));
    let deleted = connection.delete(&format!("{BASE}/attachments?id=a/1&name=same"));
    assert_eq!(deleted.status, 204);
    assert_eq!(statistics(&mut connection), (json!(1), json!(1)));
    assert_eq!(
        connection.delete(&format!("{BASE}/docs?id=a/2")).status,
        204
    );
    assert_eq!(statistics(&mut connection), (json!(0), json!(0)));
}

fn multipart(connection: &mut Connection, commands: &Value, contents: &[&[u8]]) -> Answer {
    let main = json!({ "Commands": commands }).to_string();
    let mut body = b"--xx\r\nContent-Disposition: form-data; name=\"main\"\r\n\r\n".to_vec();
    body.extend_from_slice(main.as_bytes());
    for content in contents {
        body.extend_from_slice(b"\r\n--xx\r\nCommand-Type: AttachmentStream\r\n\r\n");
        body.extend_from_slice(content);
    }
    body.extend_from_slice(b"\r\n--xx--\r\n");
    let header = "Content-Type: multipart/form-data; boundary=xx\r\n";
    connection.exchange("POST", &format!("{BASE}/bulk_docs"), header, &body)
}

#[test]
fn batches_put_copy_move_and_delete_attachments() {
    let (_running, mut connection) = start_with_database();
    document(&mut connection, "a/2");
    let put = |name: &str| json!({ "Type": "AttachmentPUT", "Id": "a/1", "Name": name });
    let commands = json!([
        { "Type": "PUT", "Id": "a/1", "Document": {} },
        put("one"),
        put("two"),
    ]);
    let stored = multipart(&mut connection, &commands, &[b"hello", b"\r\n--x"]);
    assert_eq!(stored.status, 201, "{}", stored.text());
    let results = stored.json()["Results"].clone();
    assert_eq!(results[1]["Hash"], HELLO);
    assert_eq!(results[2]["Size"], 5);
    assert_eq!(
        results[1]["DocumentChangeVector"],
        results[2]["DocumentChangeVector"]
    );
    let change = |kind: &str, from: &str, to: &str| {
        json!({
            "Type": kind, "Id": "a/1", "Name": from, "DestinationId": "a/2", "DestinationName": to,
        })
    };
    let commands = json!([
        change("AttachmentCOPY", "one", "copy"),
        change("AttachmentMOVE", "two", "moved"),
        { "Type": "AttachmentDELETE", "Id": "a/1", "Name": "one" },
    ]);
    let body = json!({ "Commands": commands }).to_string();
    let changed = connection.post(&format!("{BASE}/bulk_docs"), &body);
    assert_eq!(changed.status, 201, "{}", changed.text());
    let deleted = changed.json()["Results"][2].clone();
    assert_eq!(
        (&deleted["@id"], &deleted["Id"]),
        (&json!("a/1"), &json!(null))
    );
    for (id, name, status) in [
        ("a/1", "one", 404),
        ("a/1", "two", 404),
        ("a/2", "copy", 200),
        ("a/2", "moved", 200),
    ] {
        let found = connection.get(&format!("{BASE}/attachments?id={id}&name={name}"));
        assert_eq!(found.status, status, "{id} {name}");
    }
    let loaded = connection.get(&format!("{BASE}/docs?id=a/1")).json();
    assert!(loaded["Results"][0]["@metadata"]["@flags"].is_null());
    let lost = multipart(&mut connection, &json!([put("x")]), &[]);
    assert_eq!(lost.status, 400);
}

#[test]
fn a_bulk_insert_and_a_bulk_read_carry_contents_between_json() {
    let (_running, mut connection) = start_with_database();
    let mut body = br#"[{"Id":"a/1","Type":"PUT","Document":{}},"#.to_vec();
    body.extend_from_slice(
        br#"{"Id":"a/1","Type":"AttachmentPUT","Name":"f","ContentLength":6}]"{},["#,
    );
    body.extend_from_slice(br#",{"Id":"a/2","Type":"PUT","Document":{}}]"#);
    let answer = connection.exchange("POST", &format!("{BASE}/bulk_insert?id=1"), "", &body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let found = connection.get(&format!("{BASE}/attachments?id=a/1&name=f"));
    assert_eq!(found.text(), "]\"{},[");
    assert_eq!(connection.get(&format!("{BASE}/docs?id=a/2")).status, 200);
    let asked = json!({ "Attachments": [
        { "DocumentId": "a/1", "Name": "f" }, { "DocumentId": "a/1", "Name": "none" },
    ]});
    let several = connection.post(&format!("{BASE}/attachments/bulk"), &asked.to_string());
    assert!(
        several
            .text()
            .starts_with(r#"{"AttachmentsMetadata":[{"Name":"f","#)
    );
    assert!(several.text().ends_with("}]}]\"{},["), "{}", several.text());
}

#[test]
fn a_revision_keeps_the_content_that_its_document_had() {
    let (_running, mut connection) = start_with_database();
    let configuration = r#"{"Default":{"Disabled":false}}"#;
    connection.post(&format!("{BASE}/admin/revisions/config"), configuration);
    document(&mut connection, "a/1");
    attach(&mut connection, "a/1", "f", b"hello");
    let loaded = connection.get(&format!("{BASE}/docs?id=a/1")).json();
    let vector = loaded["Results"][0]["@metadata"]["@change-vector"].clone();
    connection.delete(&format!("{BASE}/docs?id=a/1"));
    assert_eq!(statistics(&mut connection).0, 0);
    let asked = json!({ "Type": "Revision", "ChangeVector": vector }).to_string();
    let found = connection.post(&format!("{BASE}/attachments?id=a/1&name=f"), &asked);
    assert_eq!((found.status, found.text()), (200, "hello"));
}

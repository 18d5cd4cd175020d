//! `POST /databases/*/smuggler/import/csv` as recorded from the reference, and where ours differs:
//! texts that are no plain numbers stay texts, no character is lost, and a record that cannot be
//! stored costs itself alone.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Connection, start_with_database};

const ROUTE: &str = "/databases/db1/smuggler/import/csv";
const MULTIPART: &str = "Content-Type: multipart/form-data; boundary=b\r\n";

fn send(connection: &mut Connection, query: &str, options: Option<&str>, file: &[u8]) -> Answer {
    let mut body = Vec::new();
    if let Some(options) = options {
        let head = "--b\r\nContent-Disposition: form-data; name=\"csvImportOptions\"\r\n\r\n";
        body.extend_from_slice(format!("{head}{options}\r\n").as_bytes());
    }
    body.extend_from_slice(
        b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"Towns.csv\"\r\n\
          Content-Type: text/csv\r\n\r\n",
    );
    body.extend_from_slice(file);
    body.extend_from_slice(b"\r\n--b--\r\n");
    connection.exchange("POST", &format!("{ROUTE}{query}"), MULTIPART, &body)
}

/// Stores a file and returns the result.
fn import(connection: &mut Connection, collection: &str, file: &[u8]) -> Value {
    let answer = send(connection, &format!("?collection={collection}"), None, file);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// The documents of a collection in the order of their ids, without what the database adds.
fn documents(connection: &mut Connection, collection: &str) -> Vec<Value> {
    let path = format!("/databases/db1/queries?query=from%20{collection}%20order%20by%20id()");
    let answer = connection.get(&path);
    let mut rows = answer.json()["Results"].as_array().unwrap().clone();
    for row in &mut rows {
        let metadata = row["@metadata"].as_object_mut().unwrap();
        for name in [
            "@change-vector",
            "@last-modified",
            "@index-score",
            "@collection",
        ] {
            metadata.remove(name);
        }
    }
    rows
}

#[test]
fn columns_become_members_and_the_database_makes_ids() {
    let (_server, mut connection) = start_with_database();
    let file = "Name,Size,Pos.Lat,@metadata.@custom\nParis,12,1.5,x\n\"Qu\"\"\u{e9}bec\",,-3e2,\n";
    let result = import(&mut connection, "Cities", file.as_bytes());
    assert_eq!(result["Documents"]["ReadCount"], 2);
    assert_eq!(result["Documents"]["ErroredCount"], 0);
    assert_eq!(result["Documents"]["Skipped"], false);
    assert_eq!(result["Indexes"]["Skipped"], true);
    assert_eq!(result["TimeSeries"]["SkippedCount"], 0);
    assert_eq!(
        result["$type"],
        "Raven.Client.Documents.Smuggler.SmugglerResult, Raven.Client"
    );
    let stored = documents(&mut connection, "Cities");
    assert_eq!(stored.len(), 2);
    let paris = &stored[0];
    assert_eq!(
        (&paris["Size"], &paris["Pos"]),
        (&json!(12), &json!({ "Lat": 1.5 }))
    );
    assert_eq!(paris["@metadata"]["@custom"], "x");
    let id = paris["@metadata"]["@id"].as_str().unwrap();
    assert!(
        id.starts_with("Cities/00000000") && id.ends_with("-A"),
        "{id}"
    );
    let quebec = &stored[1];
    assert_eq!(quebec["Name"], "Qu\"\u{e9}bec");
    assert_eq!(
        (&quebec["Size"], &quebec["Pos"]["Lat"]),
        (&json!(null), &json!("-3e2"))
    );
}

#[test]
fn options_say_the_dialect() {
    let (_server, mut connection) = start_with_database();
    let options = r##"{"Delimiter": ";", "Quote": "'", "TrimOptions": "Trim",
        "AllowComments": true, "Comment": "#"}"##;
    let file = b"id;A\n# a comment\nodd/1; true \nodd/2;'[1,2]'\n";
    let answer = send(&mut connection, "?collection=Odd", Some(options), file);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["Documents"]["ReadCount"], 2);
    let stored = documents(&mut connection, "Odd");
    assert_eq!(
        (&stored[0]["id"], &stored[0]["A"]),
        (&json!("odd/1"), &json!(true))
    );
    assert_eq!(
        (&stored[1]["id"], &stored[1]["A"]),
        (&json!("odd/2"), &json!([1, 2]))
    );
    for wrong in [
        "{",
        "[]",
        r#"{"Delimiter": "ab"}"#,
        r#"{"Quote": 5}"#,
        r#"{"Delimiter": "\""}"#,
        r#"{"Quote": "\u00e9"}"#,
    ] {
        let answer = send(&mut connection, "?collection=Odd", Some(wrong), file);
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.text());
    }
}

#[test]
fn cells_keep_what_a_number_would_lose() {
    let (_server, mut connection) = start_with_database();
    let file = "@id,A,B,C,D\nodd/3,\"{\"\"x\"\":1}\",007,true,2024-01-31\n\
                odd/4, pad ,1e5,TRUE,null\nodd/5,1234567890123456789012,9007199254740993,NaN,[1\n";
    import(&mut connection, "Cells", file.as_bytes());
    assert_eq!(
        documents(&mut connection, "Cells"),
        [
            json!({ "A": "{\"x\":1}", "B": "007", "C": true, "D": "2024-01-31",
                    "@metadata": { "@id": "odd/3" } }),
            json!({ "A": " pad ", "B": "1e5", "C": "TRUE", "D": null,
                    "@metadata": { "@id": "odd/4" } }),
            json!({ "A": "1234567890123456789012", "B": 9_007_199_254_740_993_u64, "C": "NaN",
                    "D": "[1", "@metadata": { "@id": "odd/5" } }),
        ]
    );
    import(&mut connection, "Latin", b"@id,A\nlatin/1,Qu\xe9bec\n");
    assert_eq!(documents(&mut connection, "Latin")[0]["A"], "Qu\u{e9}bec");
}

#[test]
fn a_record_that_cannot_be_stored_costs_itself_alone() {
    let (_server, mut connection) = start_with_database();
    let result = import(
        &mut connection,
        "Odd",
        b"@id,A\nodd/1,1\n,2\nodd/2\nodd/3,3,4\nodd/4,4\n",
    );
    assert_eq!(result["Documents"]["ReadCount"], 2);
    assert_eq!(result["Documents"]["ErroredCount"], 3);
    let messages = result["Messages"].to_string();
    for part in [
        "line 3: its id is empty",
        "line 4: it has 1 fields",
        "line 5: it has 3 fields",
    ] {
        assert!(messages.contains(part), "{messages}");
    }
    assert_eq!(documents(&mut connection, "Odd").len(), 2);
    // An id whose document is in another collection.
    let result = import(&mut connection, "Other", b"@id,A\nodd/1,5\nother/1,5\n");
    assert_eq!(result["Documents"]["ErroredCount"], 1);
    assert!(
        result["Messages"]
            .to_string()
            .contains("is in collection 'Odd'"),
        "{result}"
    );
    assert_eq!(documents(&mut connection, "Odd")[0]["A"], 1);
    assert_eq!(documents(&mut connection, "Other").len(), 1);
}

#[test]
fn empty_files_store_nothing_and_bodies_without_a_file_are_refused() {
    let (_server, mut connection) = start_with_database();
    let result = import(&mut connection, "Odd", b"\n");
    assert_eq!(result["Documents"]["ReadCount"], 0);
    assert_eq!(
        import(&mut connection, "Odd", b"A,B\n")["Documents"]["ReadCount"],
        0
    );
    let answer = send(&mut connection, "", None, b"@id,A\ntowns/1,1\n");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        documents(&mut connection, "Towns").len(),
        1,
        "named after the file"
    );
    let answer = send(&mut connection, "?collection=Odd", None, b"A,A\n1,2\n");
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("two fields"), "{}", answer.text());
    let path = format!("{ROUTE}?collection=Odd");
    for (headers, body) in [
        ("", &b"A\n1\n"[..]),
        (MULTIPART, b"--b--"),
        (MULTIPART, b"--b"),
    ] {
        let answer = connection.exchange("POST", &path, headers, body);
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
}

#[test]
fn progress_of_imports_is_no_document() {
    let (_server, mut connection) = start_with_database();
    let path = "/databases/db1/jackdaw/imports?name=csv-1";
    assert_eq!(connection.get(path).status, 404);
    let marker = json!({
        "Entries": 10, "Documents": 8, "Skipped": 2, "Lost": 1, "Finished": true
    });
    assert_eq!(connection.put(path, &marker.to_string()).status, 204);
    assert_eq!(connection.get(path).json(), marker);
    assert_eq!(
        connection
            .get("/databases/db1/jackdaw/imports?name=csv-2")
            .status,
        404
    );
    let statistics = connection.get("/databases/db1/stats").json();
    assert_eq!(statistics["CountOfDocuments"], 0);
    let long = format!("/databases/db1/jackdaw/imports?name={}", "x".repeat(257));
    for (path, body) in [
        (path, "{}"),
        (path, "[]"),
        (
            path,
            "{\"Entries\":-1,\"Documents\":0,\"Skipped\":0,\"Finished\":false}",
        ),
        (long.as_str(), "{}"),
        ("/databases/db1/jackdaw/imports", "{}"),
    ] {
        assert_eq!(connection.put(path, body).status, 400, "{path} {body}");
    }
    assert_eq!(connection.get(path).json(), marker);
}

//! Proves that documents go in and out as recorded: shapes, ETags, conditions, listings, includes,
//! batches, HiLo, and that the text of numbers survives.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Connection, start_with_database};

const DOCS: &str = "/databases/db1/docs";
const CONFLICT: &str = "Raven.Client.Exceptions.ConcurrencyException";

fn put(connection: &mut Connection, id: &str, document: &str) -> String {
    let answer = connection.put(&format!("{DOCS}?id={id}"), document);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["ChangeVector"].as_str().unwrap().to_owned()
}

fn batch(connection: &mut Connection, commands: &Value) -> Answer {
    let body = json!({ "Commands": commands }).to_string();
    connection.post("/databases/db1/bulk_docs", &body)
}

fn ids(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let results = body["Results"].as_array().unwrap();
    results
        .iter()
        .map(|row| row["@metadata"]["@id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_document_comes_back_as_it_was_with_its_metadata_behind() {
    let (_running, mut connection) = start_with_database();
    let text = concat!(
        r#"{"a":1.10,"b":1e5,"c":12345678901234567890,"d":0.1000,"e":-0.0,"#,
        r#""s":"\u00e9\ud83d\ude00/\"","n":null,"l":[1,[],{}]}"#
    );
    let document = text.replacen(
        '{',
        r#"{"@metadata":{"@collection":"Things","Mine":{"x":[1]}},"#,
        1,
    );
    let vector = put(&mut connection, "things/1", &document);
    assert!(
        vector.starts_with("A:1-") && vector.len() == 4 + 22,
        "{vector}"
    );
    let answer = connection.get(&format!("{DOCS}?&id=things%2F1"));
    assert_eq!(
        answer.header("etag"),
        Some(format!("\"{vector}\"").as_str())
    );
    let body = answer
        .text()
        .replace('\u{e9}', "\\u00e9")
        .replace('\u{1f600}', "\\ud83d\\ude00");
    let expected = format!(
        "{{\"Results\":[{},\"@metadata\":{{\"@collection\":\"Things\",\"Mine\":{{\"x\":[1]}},\
         \"@change-vector\":\"{vector}\",\"@id\":\"things/1\",\"@last-modified\":",
        &text[..text.len() - 1]
    );
    assert!(body.starts_with(&expected), "{body}\n{expected}");
    assert!(body.ends_with("Z\"}}],\"Includes\":{}}"), "{body}");
    let modified = answer.json()["Results"][0]["@metadata"]["@last-modified"]
        .as_str()
        .unwrap()
        .len();
    assert_eq!(modified, "2026-11-21T00:36:34.8037634Z".len());
}

#[test]
fn ids_are_found_in_any_letter_case_and_keep_their_spelling() {
    let (_running, mut connection) = start_with_database();
    put(&mut connection, "Users/1-A", r#"{"n":1}"#);
    assert_eq!(
        ids(&connection.get(&format!("{DOCS}?id=users/1-a"))),
        ["Users/1-A"]
    );
}

#[test]
fn missing_documents_are_404_alone_and_null_among_others() {
    let (_running, mut connection) = start_with_database();
    for path in ["?id=none", "?id=", "?&id=%00"] {
        let answer = connection.get(&format!("{DOCS}{path}"));
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{path}");
        assert_eq!(answer.header("etag"), None);
    }
    put(&mut connection, "a/1", "{}");
    let answer = connection.get(&format!("{DOCS}?id=zz/1&id=a/1&id=zz/2"));
    let etag = answer.header("etag").unwrap();
    assert!(
        etag.starts_with("\"Hash-") && etag.len() == 2 + 5 + 44,
        "{etag}"
    );
    let body = answer.json();
    assert!(body["Results"][0].is_null() && body["Results"][2].is_null());
    assert_eq!(body["Results"][1]["@metadata"]["@id"], "a/1");
    assert_eq!(body["Includes"], json!({}));
}

#[test]
fn an_unchanged_document_is_304_and_a_changed_one_is_not() {
    let (_running, mut connection) = start_with_database();
    let first = put(&mut connection, "a/1", r#"{"n":1}"#);
    put(&mut connection, "a/2", "{}");
    let single = format!("{DOCS}?id=a/1");
    let pair = format!("{DOCS}?id=a/1&id=a/2");
    let quoted = format!("If-None-Match: \"{first}\"\r\n");
    assert_eq!(
        connection.exchange("GET", &single, &quoted, b"").status,
        304
    );
    let bare = format!("If-None-Match: {first}\r\n");
    assert_eq!(connection.exchange("HEAD", &single, &bare, b"").status, 304);
    let hash = connection.get(&pair).header("etag").unwrap().to_owned();
    let hash = format!("If-None-Match: {hash}\r\n");
    assert_eq!(connection.exchange("GET", &pair, &hash, b"").status, 304);
    put(&mut connection, "a/1", r#"{"n":2}"#);
    assert_eq!(
        connection.exchange("GET", &single, &quoted, b"").status,
        200
    );
    assert_eq!(connection.exchange("HEAD", &single, &bare, b"").status, 200);
    assert_eq!(connection.exchange("GET", &pair, &hash, b"").status, 200);
}

#[test]
fn head_tells_the_etag_of_what_exists() {
    let (_running, mut connection) = start_with_database();
    let vector = put(&mut connection, "a/1", "{}");
    let answer = connection.exchange("HEAD", &format!("{DOCS}?id=a/1"), "", b"");
    assert_eq!(
        answer.header("etag"),
        Some(format!("\"{vector}\"").as_str())
    );
    assert_eq!(
        connection
            .exchange("HEAD", &format!("{DOCS}?id=zz"), "", b"")
            .status,
        404
    );
}

#[test]
fn stale_change_vectors_conflict_with_the_recorded_bodies() {
    let (_running, mut connection) = start_with_database();
    let old = put(&mut connection, "a/2", r#"{"n":1}"#);
    let new = put(&mut connection, "a/2", r#"{"n":2}"#);
    let tail = "Optimistic concurrency violation, transaction will be aborted.";
    let cases = [
        (
            "PUT",
            "a/2",
            "",
            format!(
                "Document a/2 has change vector {new}, but Put was called with expecting new \
                 document. {tail}"
            ),
        ),
        (
            "PUT",
            "a/2",
            &*old,
            format!(
                "Document a/2 has change vector {new}, but Put was called with change vector \
                 {old}. {tail}"
            ),
        ),
        (
            "PUT",
            "new/1",
            &*old,
            format!(
                "Document new/1 does not exist, but Put was called with change vector: {old}. \
                 {tail}"
            ),
        ),
        (
            "DELETE",
            "a/2",
            &*old,
            format!(
                "Document a/2 has change vector {new}, but Delete was called with change vector \
                 '{old}'. {tail}"
            ),
        ),
    ];
    for (method, id, expected, message) in cases {
        let condition = format!("If-Match: \"{expected}\"\r\n");
        let path = format!("{DOCS}?id={id}");
        let answer = connection.exchange(method, &path, &condition, br#"{"x": 1}"#);
        assert_eq!(answer.status, 409, "{}", answer.text());
        let body = answer.json();
        assert_eq!(body["Type"], CONFLICT);
        assert_eq!(body["Message"], message.as_str());
        assert_eq!(body["Id"], id);
        assert_eq!(body["ExpectedChangeVector"], expected);
        assert_eq!(
            body["ActualChangeVector"],
            if id == "a/2" { json!(new) } else { Value::Null }
        );
    }
    let condition = format!("If-Match: \"{old}\"\r\n");
    let answer = connection.exchange("DELETE", &format!("{DOCS}?id=none"), &condition, b"");
    assert_eq!(answer.status, 409);
    let answer = connection.exchange(
        "PUT",
        &format!("{DOCS}?id=b/1"),
        "If-Match: \"\"\r\n",
        b"{}",
    );
    assert_eq!(answer.status, 201);
    let condition = format!("If-Match: \"{new}\"\r\n");
    let answer = connection.exchange("DELETE", &format!("{DOCS}?id=a/2"), &condition, b"");
    assert_eq!(answer.status, 204);
}

#[test]
fn deleting_is_204_whether_there_was_something_or_not() {
    let (_running, mut connection) = start_with_database();
    put(&mut connection, "a/1", "{}");
    for _ in 0..2 {
        assert_eq!(connection.delete(&format!("{DOCS}?id=a/1")).status, 204);
    }
    assert_eq!(connection.get(&format!("{DOCS}?id=a/1")).status, 404);
}

#[test]
fn changing_the_collection_of_a_document_is_refused() {
    let (_running, mut connection) = start_with_database();
    put(
        &mut connection,
        "cw/1",
        r#"{"@metadata":{"@collection":"Cw"}}"#,
    );
    let answer = connection.put(&format!("{DOCS}?id=cw/1"), r#"{"a":2}"#);
    assert_eq!(answer.status, 400);
    let body = answer.json();
    let kind = "Raven.Client.Exceptions.Documents.DocumentCollectionMismatchException";
    assert_eq!(body["Type"], kind);
    let message = "Changing 'cw/1' from 'Cw' to '@empty' via update is not supported. Delete it \
                   and recreate the document 'cw/1'.";
    assert_eq!(body["Message"], message);
}

#[test]
fn listings_by_prefix_are_paged_filtered_and_ordered() {
    let (_running, mut connection) = start_with_database();
    for id in ["BM-100", "BM-200", "MB-100", "MB-101", "MB-200", "MB-201"] {
        put(
            &mut connection,
            &format!("products/{id}"),
            r#"{"Name":"test"}"#,
        );
    }
    let mut list = |query: &str| {
        let answer = connection.get(&format!("{DOCS}?&startsWith=products%2F{query}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.json().get("Includes").is_none());
        let ids = ids(&answer);
        ids.iter()
            .map(|id| id["products/".len()..].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(list("MB-"), ["MB-100", "MB-101", "MB-200", "MB-201"]);
    assert_eq!(list("mb-&start=1&pageSize=2"), ["MB-101", "MB-200"]);
    assert_eq!(list("MB-&matches=2*"), ["MB-200", "MB-201"]);
    assert_eq!(
        list("MB-&matches=2*&startAfter=products/MB-200"),
        ["MB-201"]
    );
    assert_eq!(list("BM-&exclude=2*"), ["BM-100"]);
    assert_eq!(list("MB-&matches=10?|*1&exclude=*00"), ["MB-101", "MB-201"]);
    assert_eq!(list("zz"), Vec::<String>::new());
    let only = connection.get(&format!(
        "{DOCS}?startsWith=products/BM-1&metadataOnly=true"
    ));
    let row = &only.json()["Results"][0];
    assert_eq!(row.as_object().unwrap().len(), 1);
    assert_eq!(row["@metadata"]["@id"], "products/BM-100");
}

#[test]
fn without_ids_the_newest_documents_come_first() {
    let (_running, mut connection) = start_with_database();
    for id in ["a", "b", "c"] {
        put(&mut connection, id, "{}");
    }
    put(&mut connection, "a", r#"{"n":2}"#);
    assert_eq!(
        ids(&connection.get(&format!("{DOCS}?pageSize=2"))),
        ["a", "c"]
    );
    assert_eq!(
        ids(&connection.get(&format!("{DOCS}?&start=2&pageSize=5"))),
        ["b"]
    );
    let all = connection.post(DOCS, r#"{"Ids": []}"#);
    assert_eq!(ids(&all), ["a", "c", "b"]);
    let etag = format!("If-None-Match: {}\r\n", all.header("etag").unwrap());
    assert_eq!(connection.exchange("GET", DOCS, &etag, b"").status, 304);
}

#[test]
fn a_preview_has_the_beginning_of_long_values_only() {
    let (_running, mut connection) = start_with_database();
    let document = json!({
        "Exact": 1, "Text": "\u{1f600}".repeat(100_000), "Short": "x\u{202e}",
        "List": vec![1; 50_000], "Deep": {"Inner": {"Text": "y".repeat(9_000)}},
        "Wide": (0..9_000).map(|n| (format!("n{n}"), json!(n))).collect::<serde_json::Map<_, _>>(),
        "Named": {"n".repeat(9_000): 1}, "None": null, "Empty": [{}],
        "@metadata": {"@collection": "Things", "Mine": "z".repeat(9_000)},
    });
    let digits = "7".repeat(900);
    let text = document.to_string();
    let text = text.replacen('{', &format!("{{\"Digits\":{digits},\"Point\":1.10,"), 1);
    put(&mut connection, "things/1", &text);
    for path in [
        format!("{DOCS}?preview=true"),
        format!("{DOCS}?startsWith=things&preview=true"),
        "/databases/db1/collections/docs?name=Things&preview=true".to_owned(),
    ] {
        let answer = connection.get(&path);
        assert!(answer.text().len() < 4_000, "{}", answer.text().len());
        assert!(answer.text().contains("\"Point\":1.10,"));
        let row = &answer.json()["Results"][0];
        assert_eq!(row["Exact"], 1);
        assert_eq!(row["Text"], "\u{1f600}".repeat(64));
        assert_eq!(row["Digits"], "7".repeat(256));
        assert!(row["List"].as_array().unwrap().len() > 50);
        assert_eq!(row["Deep"]["Inner"]["Text"].as_str().unwrap().len(), 245);
        assert_eq!(row["Named"], json!({}));
        assert_eq!(row["Empty"], json!([{}]));
        let mut cut: Vec<_> = row["@metadata"]["@cut"]
            .as_array()
            .unwrap()
            .iter()
            .collect();
        cut.sort_by_key(|name| name.as_str());
        assert_eq!(
            json!(cut),
            json!(["Deep", "Digits", "List", "Named", "Text", "Wide"])
        );
        assert_eq!(row["@metadata"]["@id"], "things/1");
        assert_eq!(row["@metadata"]["@collection"], "Things");
        assert!(row["@metadata"]["@change-vector"].is_string());
        assert!(row["@metadata"]["Mine"].is_null() && row["@metadata"]["@members"].is_null());
    }
}

#[test]
fn a_preview_has_few_members_or_those_asked_for() {
    let (_running, mut connection) = start_with_database();
    let wide: serde_json::Map<_, _> = (0..10_000).map(|n| (format!("n{n}"), json!(n))).collect();
    put(&mut connection, "a", &json!(wide).to_string());
    let row = &connection.get(&format!("{DOCS}?preview=true")).json()["Results"][0];
    assert_eq!(row.as_object().unwrap().len(), 65);
    assert_eq!(row["@metadata"]["@members"], 10_000);
    let path = format!("{DOCS}?preview=true&field=n9999&field=none&field=n7");
    let row = &connection.get(&path).json()["Results"][0];
    assert_eq!((&row["n9999"], &row["n7"]), (&json!(9999), &json!(7)));
    assert_eq!(row.as_object().unwrap().len(), 3);
}

#[test]
fn many_ids_are_loaded_by_post() {
    let (_running, mut connection) = start_with_database();
    put(
        &mut connection,
        "a/1",
        r#"{"@metadata":{"@collection":"Cars"}}"#,
    );
    let answer = connection.post(
        &format!("{DOCS}?metadataOnly=true"),
        r#"{"Ids":["a/1","zz"]}"#,
    );
    let body = answer.json();
    assert_eq!(body["Results"][0]["@metadata"]["@collection"], "Cars");
    assert!(body["Results"][1].is_null());
    assert!(answer.header("etag").unwrap().starts_with("\"Hash-"));
}

#[test]
fn includes_bring_what_documents_refer_to_once() {
    let (_running, mut connection) = start_with_database();
    put(&mut connection, "companies/1", r#"{"name":"HR"}"#);
    put(&mut connection, "items/a", "{}");
    put(
        &mut connection,
        "orders/1",
        r#"{"company":"Companies/1","lines":[{"item":"items/a"},{"item":"items/a"},
            {"item":"items/none"},{"item":5}]}"#,
    );
    let path = format!("{DOCS}?&include=company&include=lines[].item&id=orders/1&id=items/a");
    let body = connection.get(&path).json();
    let included = body["Includes"].as_object().unwrap();
    assert_eq!(included["companies/1"]["name"], "HR");
    // One that is missing is left out.
    assert!(!included.contains_key("items/none"));
    assert_eq!(included.len(), 1);
    let lines = connection.get(&format!("{DOCS}?include=lines.item&id=orders/1"));
    assert_eq!(
        lines.json()["Includes"]["items/a"]["@metadata"]["@id"],
        "items/a"
    );
    assert!(lines.header("etag").unwrap().starts_with("\"Hash-"));
    let hash = format!("If-None-Match: {}\r\n", lines.header("etag").unwrap());
    put(&mut connection, "items/a", r#"{"changed":true}"#);
    let again = connection.exchange(
        "GET",
        &format!("{DOCS}?include=lines.item&id=orders/1"),
        &hash,
        b"",
    );
    assert_eq!(again.status, 200);
    let wrong = connection.get(&format!("{DOCS}?id=orders/1&revisionsBefore=yesterday"));
    assert_eq!(wrong.json()["Type"], "System.ArgumentException");
}

#[test]
fn a_batch_answers_one_result_per_command() {
    let (_running, mut connection) = start_with_database();
    let answer = batch(
        &mut connection,
        &json!([
            { "Type": "PUT", "Id": "users/1", "ChangeVector": null, "Document": {
                "name": "user1",
                "@metadata": { "@collection": "Users", "@id": "other", "@change-vector": "x" } } },
            { "Type": "PUT", "Id": "users/", "Document": {} },
            { "Type": "PUT", "Id": null, "Document": {} },
            { "Type": "DELETE", "Id": "users/1", "ChangeVector": null },
            { "Type": "DELETE", "Id": "users/none", "ChangeVector": null,
              "OriginalChangeVector": "A:1-x" },
        ]),
    );
    assert_eq!(answer.status, 201, "{}", answer.text());
    let results = &answer.json()["Results"];
    assert_eq!(results.as_array().unwrap().len(), 5);
    let names: Vec<&String> = results[0].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "Type",
            "@id",
            "@collection",
            "@change-vector",
            "@last-modified"
        ]
    );
    assert_eq!(results[0]["@collection"], "Users");
    let made = results[1]["@id"].as_str().unwrap();
    assert!(
        made.starts_with("users/0000000000000000") && made.ends_with("-A"),
        "{made}"
    );
    assert_eq!(results[1]["@collection"], "@empty");
    assert!(!results[2]["@id"].as_str().unwrap().is_empty());
    assert_eq!(
        results[3],
        json!({ "Id": "users/1", "Type": "DELETE", "Deleted": true, "ChangeVector": null })
    );
    assert_eq!(
        results[4],
        json!({ "Id": "users/none", "Type": "DELETE", "Deleted": false })
    );
    assert_eq!(
        batch(&mut connection, &json!([])).text(),
        r#"{"Results":[]}"#
    );
}

#[test]
fn a_batch_is_all_or_nothing() {
    let (_running, mut connection) = start_with_database();
    let vector = put(&mut connection, "a/1", r#"{"n":1}"#);
    let answer = batch(
        &mut connection,
        &json!([
            { "Type": "PUT", "Id": "b/1", "Document": {} },
            { "Type": "DELETE", "Id": "a/1" },
            { "Type": "PUT", "Id": "gone/2", "ChangeVector": vector, "Document": {} },
        ]),
    );
    assert_eq!(answer.status, 409);
    assert_eq!(answer.json()["Id"], "gone/2");
    assert_eq!(connection.get(&format!("{DOCS}?id=b/1")).status, 404);
    assert_eq!(connection.get(&format!("{DOCS}?id=a/1")).status, 200);
}

#[test]
fn commands_are_refused_as_recorded() {
    let (_running, mut connection) = start_with_database();
    let unknown = "Raven.Server.Exceptions.InvalidCommandTypeException";
    let operation = "System.InvalidOperationException";
    let cases = [
        (
            r#"{"Commands":[{"Type":"FROB","Id":"a"}]}"#,
            unknown,
            "Invalid command type: FROB",
        ),
        (
            r#"{"Commands":[{"Type":"put","Id":"a","Document":{}}]}"#,
            unknown,
            "Invalid command type: put",
        ),
        (
            r#"{"Commands":[{"Id":"a/2"}]}"#,
            operation,
            "Command must have a valid 'Type' property",
        ),
        (
            r#"{"Commands":[7]}"#,
            operation,
            "Command must have a valid 'Type' property",
        ),
        (
            r#"{"Commands":[{"Type":"PUT","Id":"a/2"}]}"#,
            operation,
            "PUT command must have a 'Document' property",
        ),
        ("{}", operation, "Expected String , but got EndObject"),
        ("[]", operation, "Expected StartObject , but got StartArray"),
        (
            r#"{"Commands":[{"#,
            "System.IO.EndOfStreamException",
            "Attempted to read past the end of the stream.",
        ),
    ];
    for (body, kind, message) in cases {
        let answer = connection.post("/databases/db1/bulk_docs", body);
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.json()["Type"], kind, "{body}");
        assert_eq!(answer.json()["Message"], message, "{body}");
    }
    let refused = batch(
        &mut connection,
        &json!([
            { "Type": "PUT", "Id": "kept/1", "Document": {} },
            { "Type": "AttachmentPUT", "Id": "kept/1", "Name": "f" },
        ]),
    );
    assert_eq!(refused.json()["Type"], operation);
    assert_eq!(connection.get(&format!("{DOCS}?id=kept/1")).status, 404);
}

#[test]
fn hilo_ranges_follow_each_other() {
    let (_running, mut connection) = start_with_database();
    let next = "/databases/db1/hilo/next?tag=users&lastBatchSize=0&lastRangeAt=\
                &identityPartsSeparator=/&lastMax=0";
    let first = connection.get(next);
    assert_eq!(first.status, 201);
    let first = first.json();
    assert_eq!(first["Prefix"], "users/");
    assert_eq!(
        (&first["Low"], &first["High"], &first["LastSize"]),
        (&json!(1), &json!(32), &json!(32))
    );
    assert_eq!(first["ServerTag"], "A");
    assert_eq!(first["LastRangeAt"].as_str().unwrap().len(), 28);
    assert_eq!(connection.get(next).json()["Low"], 33);
    let returned = connection.put("/databases/db1/hilo/return?tag=users&end=64&last=40", "");
    assert_eq!((returned.status, returned.body.len()), (200, 0));
    assert_eq!(connection.get(next).json()["Low"], 41);
    let untagged = connection.get("/databases/db1/hilo/next");
    assert_eq!(
        untagged.json()["Message"],
        "Query string value 'tag' must have a non empty value"
    );
    let unended = connection.put("/databases/db1/hilo/return?tag=users", "");
    assert_eq!(
        unended.json()["Message"],
        "Query string end is mandatory, but wasn't specified."
    );
    let odd = connection.get("/databases/db1/hilo/next?tag=Test%04Users&identityPartsSeparator=_");
    assert_eq!(odd.json()["Prefix"], "Test\u{4}Users_");
}

#[test]
fn collections_are_counted() {
    let (_running, mut connection) = start_with_database();
    put(
        &mut connection,
        "a/1",
        r#"{"@metadata":{"@collection":"Cars"}}"#,
    );
    put(
        &mut connection,
        "a/2",
        r#"{"@metadata":{"@collection":"Cars"}}"#,
    );
    put(&mut connection, "b/1", "{}");
    let stats = connection.get("/databases/db1/collections/stats").json();
    assert_eq!(stats["CountOfDocuments"], 3);
    assert_eq!(stats["Collections"], json!({ "@empty": 1, "Cars": 2 }));
    let cars = connection.get("/databases/db1/collections/docs?name=cars&pageSize=1");
    assert_eq!(ids(&cars), ["a/2"]);
    let stats = connection.get("/databases/db1/stats").json();
    assert_eq!(
        (&stats["CountOfDocuments"], &stats["LastDocEtag"]),
        (&json!(3), &json!(3))
    );
}

#[test]
fn several_requests_in_one_are_answered_each_on_its_own() {
    let (_running, mut connection) = start_with_database();
    let vector = put(&mut connection, "a/2", r#"{"F":1.10}"#);
    let requests = json!({ "Requests": [
        { "Url": "/databases/db1/docs", "Query": "?&id=a/2", "Method": null, "Headers": {} },
        { "Url": "/databases/db1/docs", "Query": "?id=zz", "Headers": {} },
        { "Url": "/databases/db1/docs", "Query": "?id=a/2", "Method": "GET",
          "Headers": { "if-none-match": vector } },
        { "Url": "/databases/db1/docs", "Query": "", "Method": "POST", "Headers": {},
          "Content": { "Ids": ["a/2", "zz"] } },
        { "Url": "/databases/db1/docs", "Query": "", "Method": "POST",
          "Content": "{\"Ids\":[\"zz\",\"zy\"]}" },
        { "Url": "/databases/db1/nope", "Query": "", "Headers": {} },
        { "Url": "/databases/db1/multi_get", "Method": "POST", "Content": { "Requests": [] } },
        { "Url": "not a url", "Query": "\u{e9} |", "Headers": { "bad name": "x" } },
        7,
    ] });
    let answer = connection.post("/databases/db1/multi_get", &requests.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(
        answer.text().contains(r#"{"F":1.10,"@metadata""#),
        "{}",
        answer.text()
    );
    let results = &answer.json()["Results"];
    let statuses: Vec<i64> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["StatusCode"].as_i64().unwrap())
        .collect();
    assert_eq!(statuses, [200, 404, 304, 200, 200, 400, 400, 400, 400]);
    assert_eq!(
        results[0]["Headers"],
        json!({ "ETag": format!("\"{vector}\"") })
    );
    assert_eq!(
        results[1],
        json!({ "Result": null, "StatusCode": 404, "Headers": {} })
    );
    assert!(results[2]["Result"].is_null());
    assert!(results[3]["Result"]["Results"][1].is_null());
    assert!(
        results[5]["Result"]["Type"]
            .as_str()
            .unwrap()
            .ends_with("RouteNotFoundException")
    );
    assert_eq!(results[5]["Result"]["Url"], "/databases/db1/nope");
    let none = connection.post("/databases/db1/multi_get", r#"{"Requests":[]}"#);
    assert_eq!(none.text(), r#"{"Results":[]}"#);
    let empty = connection.post("/databases/db1/multi_get", "{}");
    assert_eq!(empty.json()["Type"], "System.ArgumentException");
}

#[test]
fn identities_are_counted_seeded_and_listed() {
    let (_running, mut connection) = start_with_database();
    let id = |answer: &Answer| answer.json()["Id"].as_str().unwrap().to_owned();
    assert_eq!(
        id(&connection.put(&format!("{DOCS}?id=users|"), "{}")),
        "users/1"
    );
    assert_eq!(
        id(&connection.put(&format!("{DOCS}?id=users%7C"), "{}")),
        "users/2"
    );
    let mut seed = |query: &str| {
        let answer = connection.post(&format!("/databases/db1/identity/seed?{query}"), "");
        answer.json()["NewSeedValue"].clone()
    };
    assert_eq!(seed("name=users&value=10"), 10);
    assert_eq!(seed("name=users%7C&value=5"), 10);
    assert_eq!(seed("name=users|&value=5&force=true"), 5);
    assert_eq!(
        connection.get("/databases/db1/debug/identities").json(),
        json!({ "users|": 5 })
    );
    assert_eq!(
        id(&connection.put(&format!("{DOCS}?id=users|"), "{}")),
        "users/6"
    );
}

#[test]
fn compare_exchange_in_a_batch_that_is_not_cluster_wide_is_refused_as_a_whole() {
    let (_running, mut connection) = start_with_database();
    for exchange in [
        json!({ "Type": "CompareExchangePUT", "Id": "k", "Document": { "Object": 1 }, "Index": 0 }),
        json!({ "Type": "CompareExchangeDELETE", "Id": "k", "Index": 0 }),
    ] {
        let put = json!({ "Type": "PUT", "Id": "a", "Document": {} });
        let answer = batch(&mut connection, &json!([put, exchange]));
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains("ClusterWide"), "{}", answer.text());
        assert_eq!(connection.get(&format!("{DOCS}?id=a")).status, 404);
    }
}

#[test]
fn a_revision_that_is_named_twice_is_included_once() {
    let (_running, mut connection) = start_with_database();
    let keep = json!({ "Default": { "Disabled": false } }).to_string();
    connection.post("/databases/db1/admin/revisions/config", &keep);
    put(
        &mut connection,
        "a",
        r#"{"@metadata":{"@collection":"As"}}"#,
    );
    let found = connection.get(&format!("{DOCS}?id=a")).json();
    let vector = &found["Results"][0]["@metadata"]["@change-vector"];
    let body = json!({ "One": vector, "All": [vector, vector] }).to_string();
    put(&mut connection, "b", &body);
    let path = format!("{DOCS}?id=b&revisions=One&revisions=All");
    let found = connection.get(&path).json();
    let included = found["RevisionIncludes"].as_array().unwrap();
    assert_eq!(included.len(), 1, "{found}");
}

#[test]
fn a_database_made_again_has_other_etags() {
    let (_running, mut connection) = support::start_with_database();
    let paths = [
        "docs?id=a&id=b",
        "docs?id=a&txMode=ClusterWide",
        "docs?id=a",
        "docs?startsWith=a",
    ];
    let mut etags = Vec::new();
    for content in ["{\"n\":1}", "{\"n\":2}"] {
        for id in ["a", "b"] {
            connection.put(&format!("/databases/db1/docs?id={id}"), content);
        }
        for path in paths {
            let answer = connection.get(&format!("/databases/db1/{path}"));
            etags.push(answer.header("etag").unwrap().to_owned());
        }
        let delete = r#"{"DatabaseNames":["db1"],"HardDelete":true}"#;
        let deleted = connection.exchange("DELETE", "/admin/databases", "", delete.as_bytes());
        assert_eq!(deleted.status, 200, "{}", deleted.text());
        connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    }
    let (first, second) = etags.split_at(paths.len());
    for ((path, first), second) in paths.iter().zip(first).zip(second) {
        assert_ne!(first, second, "{path}");
    }
}

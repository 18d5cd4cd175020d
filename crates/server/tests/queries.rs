//! Proves that queries are answered, refused, streamed and deleted by as recorded, and that the
//! indexes they make show where clients look for them.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Connection, TestServer, start_with_database};

const QUERIES: &str = "/databases/db1/queries";
const INVALID: &str = "Raven.Client.Exceptions.InvalidQueryException";
const PARSE: &str = "Raven.Server.Documents.Queries.Parser.QueryParser+ParseException";

/// Cars with numbers, texts and references.
fn start() -> (TestServer, Connection) {
    let (server, mut connection) = start_with_database();
    let cars = [
        ("a/1", r#"{"F":1,"G":"x","Name":"Alpha","Owner":"people/1""#),
        (
            "a/2",
            r#"{"F":2.50,"G":"Y","Name":"beta two","Owner":"people/2""#,
        ),
        ("a/3", r#"{"F":10,"G":"x","Name":"gamma""#),
        ("a/4", r#"{"F":12.5,"G":null,"Name":"delta""#),
    ];
    for (id, car) in cars {
        let document = format!(r#"{car},"@metadata":{{"@collection":"Cars"}}}}"#);
        let path = format!("/databases/db1/docs?id={id}");
        assert_eq!(connection.put(&path, &document).status, 201);
    }
    let person = r#"{"Name":"Oslo","@metadata":{"@collection":"People"}}"#;
    assert_eq!(
        connection
            .put("/databases/db1/docs?id=people/1", person)
            .status,
        201
    );
    (server, connection)
}

fn ask(connection: &mut Connection, body: &Value) -> Answer {
    connection.post(QUERIES, &body.to_string())
}

fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    let rows = body["Results"].as_array().unwrap().iter();
    rows.map(|row| row["@metadata"]["@id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_collection_is_told_as_recorded() {
    let (_server, mut connection) = start();
    let answer = ask(&mut connection, &json!({ "Query": "from Nope" }));
    let body = answer.json();
    let expected = [
        ("TotalResults", json!(0)),
        ("ScannedResults", json!(0)),
        ("SkippedResults", json!(0)),
        ("IncludedPaths", Value::Null),
        ("IndexName", json!("collection/Nope")),
        ("Results", json!([])),
        ("Includes", json!({})),
        ("IndexTimestamp", json!("0001-01-01T00:00:00.0000000")),
        ("LastQueryTime", json!("0001-01-01T00:00:00.0000000")),
        ("IsStale", json!(false)),
        ("NodeTag", json!("A")),
    ];
    for (name, value) in expected {
        assert_eq!(body[name], value, "{name}");
    }
    assert!(body["DurationInMs"].is_i64());
    assert_eq!(
        answer.header("etag").unwrap(),
        body["ResultEtag"].to_string()
    );
}

#[test]
fn conditions_order_parameters_and_pages_are_obeyed() {
    let (_server, mut connection) = start();
    let mut check = |body: Value, expected: &[&str]| {
        let answer = ask(&mut connection, &body);
        assert_eq!(ids(&answer), expected, "{body}");
        answer.json()
    };
    let body = check(
        json!({ "Query": "from Cars where F >= 2 and F < 12 order by F as double" }),
        &["a/2", "a/3"],
    );
    assert_eq!(body["IndexName"], "Auto/Cars/ByF");
    assert!(body["IndexTimestamp"].as_str().unwrap().ends_with('Z'));
    let parameters = json!({ "g": "X", "list": [1, 10] });
    let query = "from Cars where G = $g order by F as double desc";
    check(
        json!({ "Query": query, "QueryParameters": parameters }),
        &["a/3", "a/1"],
    );
    let query = "from Cars where F in ($list) order by F as double";
    check(
        json!({ "Query": query, "QueryParameters": parameters }),
        &["a/1", "a/3"],
    );
    check(
        json!({ "Query": "from Cars where startsWith(Name, 'BET')" }),
        &["a/2"],
    );
    let query = "from Cars order by F as double";
    let page = check(
        json!({ "Query": query, "Start": 1, "PageSize": 2 }),
        &["a/2", "a/3"],
    );
    assert_eq!(page["TotalResults"], 4);
    let limited = check(
        json!({ "Query": "from Cars order by F as double limit 1" }),
        &["a/1"],
    );
    assert_eq!(limited["CappedMaxResults"], 1);
    let everything = json!({ "Query": "from @all_docs where id() = 'A/2'", "QueryParameters": null,
        "WaitForNonStaleResults": true, "WaitForNonStaleResultsTimeout": "00:00:15",
        "PageSize": 2_147_483_647, "Unknown": [1] });
    check(everything, &["a/2"]);
}

#[test]
fn rows_are_documents_projections_or_metadata() {
    let (_server, mut connection) = start();
    let whole = ask(
        &mut connection,
        &json!({ "Query": "from Cars where F = 2.5" }),
    );
    assert!(
        whole.text().contains(r#"{"F":2.50,"G":"Y","#),
        "{}",
        whole.text()
    );
    let chosen = ask(
        &mut connection,
        &json!({ "Query": "from Cars where F = 1 select Name, G as Z" }),
    );
    let row = &chosen.json()["Results"][0];
    assert_eq!((&row["Name"], &row["Z"]), (&json!("Alpha"), &json!("x")));
    assert_eq!(row["@metadata"]["@projection"], true);
    let path = format!("{QUERIES}?metadataOnly=true");
    let only = connection.post(&path, r#"{"Query":"from Cars where F = 1"}"#);
    let row = &only.json()["Results"][0];
    assert_eq!(row.as_object().unwrap().len(), 1);
    assert_eq!(row["@metadata"]["@collection"], "Cars");
}

#[test]
fn included_documents_come_along() {
    let (_server, mut connection) = start();
    let query = json!({ "Query": "from Cars where F < 5 include Owner" });
    let body = ask(&mut connection, &query).json();
    assert_eq!(body["Includes"]["people/1"]["Name"], "Oslo");
    assert!(body["Includes"]["people/2"].is_null());
    assert_eq!(body["IncludedPaths"], json!(["Owner"]));
}

#[test]
fn an_unchanged_result_is_304_until_a_document_changes() {
    let (_server, mut connection) = start();
    let body = br#"{"Query":"from Cars where G = 'x'"}"#;
    let path = format!("{QUERIES}?queryHash=123");
    let etag = connection
        .exchange("POST", &path, "", body)
        .header("etag")
        .unwrap()
        .to_owned();
    assert!(etag.parse::<i64>().is_ok(), "{etag}");
    for condition in [
        format!("If-None-Match: {etag}\r\n"),
        format!("If-None-Match: \"{etag}\"\r\n"),
    ] {
        let again = connection.exchange("POST", &path, &condition, body);
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
    let car = r#"{"G":"x","@metadata":{"@collection":"Cars"}}"#;
    connection.put("/databases/db1/docs?id=a/9", car);
    let condition = format!("If-None-Match: {etag}\r\n");
    let changed = connection.exchange("POST", &path, &condition, body);
    assert_eq!(ids(&changed).len(), 3);
}

#[test]
fn queries_come_in_urls_too() {
    let (_server, mut connection) = start();
    let path =
        format!("{QUERIES}?query=from%20Cars%20order%20by%20F%20as%20double&start=1&pageSize=1");
    assert_eq!(ids(&connection.get(&path)), ["a/2"]);
    let path = format!("{QUERIES}?query=from%20Cars%20limit%201%20select%20F");
    let answer = connection.get(&path);
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["Type"], PARSE);
    let message = "1:19 Expected end of query but got: select\nQuery: \nfrom Cars limit 1 select F";
    assert!(
        answer.json()["Message"]
            .as_str()
            .unwrap()
            .starts_with(message)
    );
    let explained = connection.post(
        &format!("{QUERIES}?debug=explain"),
        r#"{"Query":"from Cars where F=1"}"#,
    );
    let explained = explained.json();
    assert_eq!(explained["IndexName"], "Auto/Cars/ByF");
    let plan = explained["Results"][0]["Reason"].as_str().unwrap();
    assert!(plan.contains("Auto/Cars/ByF"), "{plan}");
    let odd = connection.post(&format!("{QUERIES}?debug=frob"), r#"{"Query":"from Cars"}"#);
    assert_eq!(odd.json()["Type"], "System.ArgumentException");
}

#[test]
fn a_query_explains_itself() {
    let (_server, mut connection) = start();
    let ask = |connection: &mut Connection, text: &str| {
        let answer = connection.post(QUERIES, &json!({ "Query": text }).to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let query = "from Cars where F > 0 and G = 1 order by F as double limit 2";
    let plan = ask(&mut connection, &format!("explain {query}"));
    assert_eq!(plan["TotalResults"], 1);
    let text = plan["Results"][0]["Text"].as_str().unwrap();
    assert!(
        text.contains("order by F") && text.contains("and"),
        "{text}"
    );
    assert!(plan["Results"][0]["Steps"].is_null());

    let rows = ask(&mut connection, query)["Results"]
        .as_array()
        .unwrap()
        .len();
    let answer = ask(&mut connection, &format!("explain analyze\n{query}"));
    let told = &answer["Results"][0];
    assert_eq!(answer["IndexName"], told["IndexName"]);
    let steps = told["Steps"].as_array().unwrap();
    assert_eq!(steps[0]["Step"], "query");
    assert_eq!(steps[0]["Found"], rows);
    let looked_up = steps.iter().position(|step| {
        let text = step["Step"].as_str().unwrap();
        text == "look up in the index"
    });
    let children = &steps[looked_up.unwrap() + 1..];
    assert!(children[0]["Depth"].as_u64() > steps[looked_up.unwrap()]["Depth"].as_u64());
    let whole = steps[0]["Nanoseconds"].as_u64().unwrap();
    assert!(
        steps
            .iter()
            .all(|step| step["Nanoseconds"].as_u64().unwrap() <= whole)
    );
    assert!(
        steps[0]["DocumentsRead"].as_u64().unwrap() >= rows as u64,
        "{told}"
    );
    let text = told["Text"].as_str().unwrap();
    assert_eq!(text.lines().count(), steps.len() + 2, "{text}");

    let mistake = json!({ "Query": "explain analyze from Cars where" }).to_string();
    let message = connection.post(QUERIES, &mistake).json();
    assert!(
        message["Message"].as_str().unwrap().starts_with("1:32"),
        "{message}"
    );
}

#[test]
fn mistakes_are_refused_as_recorded() {
    let (_server, mut connection) = start();
    let cases = [
        (
            json!({ "Query": "from Cars F = 1" }),
            PARSE,
            "1:13 Expected end of query but got: =\nQuery: \nfrom Cars F = 1",
        ),
        (
            json!({ "Query": "match (Cars as c) select c" }),
            PARSE,
            "1:1 Expected FROM clause but got: match\nQuery: \nmatch (Cars as c) select c",
        ),
        (
            json!({ "Query": "from Cars limit -1" }),
            INVALID,
            "Limit (PageSize) cannot be negative, but was -1.\nQuery: from Cars limit -1",
        ),
        (
            json!({ "Query": "from Cars where F in ($p)", "QueryParameters": { "p": [1, "2"] } }),
            INVALID,
            "Expected query parameter to be Long but was String: 2\n\
             Query: from Cars where F in ($p)\nParameters: {\"p\":[1,\"2\"]}",
        ),
    ];
    for (body, kind, message) in cases {
        let answer = ask(&mut connection, &body);
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.json()["Type"], kind);
        let told = answer.json()["Message"].as_str().unwrap().to_owned();
        // A hint may follow what is recorded.
        assert!(told.starts_with(message), "{told}");
    }
    for body in ["{}", r#"{"Query":null}"#, r#"{"Query":"  "}"#] {
        assert_eq!(
            connection.post(QUERIES, body).json()["Type"],
            "System.InvalidOperationException"
        );
    }
    let missing = ask(&mut connection, &json!({ "Query": "from index 'Nope'" }));
    assert_eq!((missing.status, missing.body.len()), (404, 0));
    let unserved = ask(
        &mut connection,
        &json!({ "Query": "from Cars include revisions('R')" }),
    );
    assert_eq!(unserved.json()["Type"], "System.NotSupportedException");
    let parameters = ask(
        &mut connection,
        &json!({ "Query": "from Cars", "QueryParameters": 5 }),
    );
    assert_eq!(parameters.json()["Type"], INVALID);
}

#[test]
fn indexes_show_where_clients_look() {
    let (_server, mut connection) = start();
    ask(
        &mut connection,
        &json!({ "Query": "from Cars where F = 1 and G = 'x'" }),
    );
    let name = "Auto/Cars/ByFAndG";
    let names = connection.get("/databases/db1/indexes?start=0&pageSize10%20&namesOnly=true");
    assert_eq!(names.json()["Results"], json!([name]));
    let definition = connection
        .get("/databases/db1/indexes?name=auto%2Fcars%2FByFAndG")
        .json();
    let definition = &definition["Results"][0];
    for member in [
        "Name",
        "Priority",
        "State",
        "LockMode",
        "AdditionalSources",
        "Maps",
        "Fields",
        "AdditionalAssemblies",
        "Reduce",
        "Configuration",
        "Type",
        "SourceType",
    ] {
        assert!(definition.get(member).is_some(), "{member}");
    }
    assert_eq!(definition["Type"], "AutoMap");
    assert_eq!(
        connection.get("/databases/db1/indexes?name=Nope").status,
        404
    );
    let record = connection.get("/admin/databases?name=db1").json();
    let automatic = &record["AutoIndexes"][name];
    assert_eq!(
        (&automatic["Collection"], &automatic["Type"]),
        (&json!("Cars"), &json!("AutoMap"))
    );
    assert_eq!(automatic["MapFields"]["G"]["Indexing"], "Default");
    let stats = connection.get("/databases/db1/indexes/stats").json();
    assert_eq!(stats["Results"][0]["EntriesCount"], 4);
    assert!(stats["Results"][0]["Collections"]["Cars"]["DocumentLag"].is_i64());
    let status = connection.get("/databases/db1/indexes/status").json();
    assert_eq!(
        status["Indexes"],
        json!([{ "Name": name, "Status": "Running" }])
    );
    let errors = connection.get("/databases/db1/indexes/errors").json();
    assert_eq!(errors["Results"], json!([{ "Name": name, "Errors": [] }]));
    let fresh = connection
        .get("/databases/db1/indexes/staleness?name=Auto/Cars/ByFAndG")
        .json();
    assert_eq!(fresh["IsStale"], false);
    let unknown = connection.get("/databases/db1/indexes/staleness?name=Nope");
    assert_eq!(
        unknown.json()["Message"],
        "There is no index with 'Nope' name."
    );
    let database = connection.get("/databases/db1/stats").json();
    assert_eq!(
        (&database["CountOfIndexes"], &database["Indexes"][0]["Name"]),
        (&json!(1), &json!(name))
    );
    let statically = connection.put("/databases/db1/admin/indexes", r#"{"Indexes":[]}"#);
    assert_eq!(statically.json()["Results"], serde_json::json!([]));
    let path = "/databases/db1/indexes?name=Auto/Cars/ByFAndG";
    assert_eq!(connection.delete(path).status, 204);
    assert_eq!(connection.delete(path).status, 404);
}

#[test]
fn a_batch_may_wait_for_indexes() {
    let (_server, mut connection) = start();
    ask(
        &mut connection,
        &json!({ "Query": "from Cars where F = 1" }),
    );
    let body = r#"{"Commands":[{"Type":"PUT","Id":"a/9",
        "Document":{"F":99,"@metadata":{"@collection":"Cars"}}}]}"#;
    let path = "/databases/db1/bulk_docs?&waitForIndexesTimeout=00:00:15&waitForIndexThrow=true";
    assert_eq!(connection.post(path, body).status, 201);
    let fresh = connection
        .get("/databases/db1/indexes/staleness?name=Auto/Cars/ByF")
        .json();
    assert_eq!(fresh["IsStale"], false);
    let path = "/databases/db1/bulk_docs?waitForReplicasTimeout=00:00:01\
                &throwOnTimeoutInWaitForReplicas=true&numberOfReplicasToWaitFor=1";
    let answer = connection.post(path, body);
    assert_eq!(answer.status, 408);
    assert_eq!(
        answer.json()["Type"],
        "Raven.Client.Exceptions.RavenTimeoutException"
    );
    assert_eq!(answer.json()["FailImmediately"], true);
}

#[test]
fn queries_are_streamed_with_what_is_told_in_front() {
    let (_server, mut connection) = start();
    let path = "/databases/db1/streams/queries";
    let query = r#"{"Query":"from Cars where F > 1 order by F as double","PageSize":2147483647}"#;
    let plain = connection.post(path, query);
    assert!(
        plain.text().starts_with("{\"ResultEtag\":"),
        "{}",
        plain.text()
    );
    assert!(plain.text().ends_with("}}]}"));
    let body = plain.json();
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "ResultEtag",
            "IsStale",
            "IndexName",
            "TotalResults",
            "IndexTimestamp",
            "Results"
        ]
    );
    assert_eq!(
        (ids(&plain), &body["TotalResults"]),
        (vec!["a/2".into(), "a/3".into(), "a/4".into()], &json!(3))
    );
    let lines = connection.post(&format!("{path}?format=jsonl"), query);
    let rows: Vec<&str> = lines.text().split("\r\n").collect();
    assert!(rows[0].starts_with("{\"Stats\":{\"ResultEtag\":") && rows[0].ends_with("}}"));
    assert!(rows[1].starts_with(r#"{"Item":{"F":2.50,"#), "{}", rows[1]);
    assert_eq!(rows.len(), 5);
    let array = connection.get(&format!("{path}?format=json&query=from%20Cars%20limit%202"));
    assert_eq!(array.json().as_array().unwrap().len(), 2);
    let none = connection.post(path, r#"{"Query":"from index 'Nope'"}"#);
    assert_eq!(
        (none.status, none.json()),
        (404, json!({ "Error": "Index Nope does not exist" }))
    );
    let includes = connection.post(path, r#"{"Query":"from Cars include Owner"}"#);
    assert_eq!(includes.status, 400);
}

#[test]
fn what_a_query_finds_is_deleted_as_an_operation() {
    let (_server, mut connection) = start();
    let mut delete = |query: &str, options: &str| {
        let body = json!({ "Query": query }).to_string();
        let path = format!("{QUERIES}?allowStale=False&maxOpsPerSec=&{options}");
        let started = connection.exchange("DELETE", &path, "", body.as_bytes());
        if started.status != 200 {
            return started;
        }
        assert_eq!(started.json()["OperationNodeTag"], "A");
        let path = format!(
            "/databases/db1/operations/state?id={}",
            started.json()["OperationId"]
        );
        loop {
            let state = connection.get(&path);
            if state.json()["Status"] != "InProgress" {
                return state;
            }
            std::thread::yield_now();
        }
    };
    let state = delete("from Cars where F < 5", "details=true").json();
    assert_eq!(state["Status"], "Completed");
    assert_eq!(state["Result"]["Total"], 2);
    assert_eq!(state["Result"]["Message"], "Processed 2 items.");
    assert_eq!(state["Result"]["Details"].as_array().unwrap().len(), 2);
    let state = delete("from index 'Nope'", "").json();
    assert_eq!(state["Status"], "Faulted");
    assert_eq!(state["Result"]["StatusCode"], 400);
    let filter = delete("from Cars filter F = 10", "");
    assert_eq!(filter.json()["Type"], "System.NotSupportedException");
    assert_eq!(delete("from Cars were F", "").json()["Type"], PARSE);
    assert_eq!(
        ids(&ask(
            &mut connection,
            &json!({ "Query": "from Cars order by F as double" })
        )),
        ["a/3", "a/4"]
    );
    let all = connection.get("/databases/db1/operations").json();
    assert_eq!(all["Results"].as_array().unwrap().len(), 2);
    let killed = connection.post("/databases/db1/operations/kill?id=1", "");
    assert_eq!(killed.status, 204);
    let unknown = connection.post("/databases/db1/operations/kill?id=99", "");
    assert_eq!(unknown.json()["Message"], "Operation 99 was not registered");
}

#[test]
fn rows_are_made_by_scripts_and_loaded_documents() {
    let (_server, mut connection) = start();
    let text = "declare function shout(t) { return t.toUpperCase() }
        from Cars as c where c.F = 1 load c.Owner as o
        select { N: shout(c.Name), O: o.Name, Gone: c.No.Where }";
    let answer = ask(&mut connection, &json!({ "Query": text }));
    let row = answer.json()["Results"][0].clone();
    assert_eq!(
        (&row["N"], &row["O"], &row["Gone"]),
        (&json!("ALPHA"), &json!("Oslo"), &Value::Null)
    );
    assert_eq!(row["@metadata"]["@projection"], true);
    let failing = json!({ "Query": "from Cars as c select { X: (() => { throw 'no' })() }" });
    let answer = ask(&mut connection, &failing);
    let kind = "Raven.Client.Exceptions.Documents.Patching.JavaScriptException";
    assert_eq!((answer.status, &answer.json()["Type"]), (400, &json!(kind)));
}

#[test]
fn groups_are_told_as_recorded() {
    let (_server, mut connection) = start();
    let text = "from Cars group by G where count() > 1 select G, count() as C";
    let answer = ask(&mut connection, &json!({ "Query": text }));
    let body = answer.json();
    let row = json!({
        "G": "x", "C": 2, "@metadata": { "@projection": true, "@change-vector": null },
    });
    assert_eq!(body["Results"], json!([row]));
    assert_eq!(
        (&body["TotalResults"], &body["IsStale"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(body["IndexName"], "Auto/Cars/ByCountReducedByG");
}

#[test]
fn vectors_are_found_and_other_dimensions_refused() {
    let (_server, mut connection) = start_with_database();
    for (id, body) in [
        ("v/1", r#"{"V":[1,0,0],"G":"a""#),
        ("v/2", r#"{"V":[0.9,0.4,0],"G":"b""#),
        ("v/3", r#"{"V":[0,1,0],"G":"b""#),
    ] {
        let document = format!(r#"{body},"@metadata":{{"@collection":"Vs"}}}}"#);
        let path = format!("/databases/db1/docs?id={id}");
        assert_eq!(connection.put(&path, &document).status, 201);
    }
    let mut search = |text: &str, vector: Value| {
        let body = json!({ "Query": text, "QueryParameters": { "v": vector } });
        ask(&mut connection, &body)
    };
    let text = "from Vs where vector.search(V, $v) order by score()";
    let answer = search(text, json!([1, 0, 0]));
    assert_eq!(ids(&answer), ["v/1", "v/2", "v/3"]);
    let body = answer.json();
    assert_eq!(body["IndexName"], "Auto/Vs/ByVector.search(V)");
    assert_eq!(body["Results"][0]["@metadata"]["@index-score"], json!(1.0));
    let answer = search(
        "from Vs where G = 'b' and vector.search(V, $v, 0, 1)",
        json!({ "@vector": [1, 0, 0] }),
    );
    assert_eq!(ids(&answer), ["v/2"]);
    let answer = search(text, json!([1, 0]));
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["Type"], "System.IO.InvalidDataException");
    assert_eq!(
        answer.json()["Message"],
        "field \"vector.search(V)\" has vectors of 3 dimensions, but the vector searched for has 2"
    );
    let answer = search(
        "from Vs where vector.search(embedding.text(G), $v)",
        json!("a"),
    );
    assert_eq!(answer.json()["Type"], "System.NotSupportedException");
    let text = "explain from Vs where vector.search(V, $v)";
    let answer = search(text, json!([1, 0, 0]));
    assert!(
        answer.text().contains("among the 16 nearest"),
        "{}",
        answer.text()
    );
}

#[test]
fn time_series_inside_rows_are_marked_for_clients_that_ask() {
    let (_server, mut connection) = start();
    let series =
        r#"{"Name":"H","Appends":[{"Timestamp":"2024-01-01T00:00:00.0000000Z","Values":[1]}]}"#;
    connection.post("/databases/db1/timeseries?docId=a/1", series);
    let rows = |connection: &mut Connection, select: &str, marked: bool| {
        let body = json!({ "Query": format!("from Cars as c where id() = 'a/1' select {select}") });
        let parameter = if marked {
            "?addTimeSeriesNames=true"
        } else {
            ""
        };
        let answer = connection.post(&format!("{QUERIES}{parameter}"), &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let inside = "timeseries(from c.H) as T, timeseries(from c.No) as N, c.Name";
    let marked = rows(&mut connection, inside, true);
    for name in ["T", "N"] {
        assert_eq!(marked["Results"][0][name]["@metadata"], json!({}), "{name}");
    }
    assert_eq!(marked["TimeSeriesFields"], json!(["T", "N"]));
    let plain = rows(&mut connection, inside, false);
    assert_eq!(plain["Results"][0]["T"].get("@metadata"), None);
    assert_eq!(plain.get("TimeSeriesFields"), None);
    // A row that is a series has the metadata of a row.
    let whole = rows(&mut connection, "timeseries(from c.H)", true);
    assert_eq!(whole["Results"][0]["@metadata"]["@projection"], true);
}

#[test]
fn terms_tell_which_fields_are_arrays() {
    let (_server, mut connection) = start();
    let index = r#"{"Indexes":[{"Name":"I","Maps":[
        "from c in docs.Cars select new { c.G, Names = counterNamesFor(c), L = new[] { c.Name } }"
    ]}]}"#
        .replace("counterNamesFor(c)", "CounterNamesFor(c)");
    let put = connection.put("/databases/db1/admin/indexes", &index);
    assert_eq!(put.status, 201, "{}", put.text());
    let query = json!({ "Query": "from index 'I'", "WaitForNonStaleResults": true });
    assert_eq!(ask(&mut connection, &query).status, 200);
    let mut terms = |field: &str| {
        let path = format!("/databases/db1/indexes/terms?name=I&field={field}");
        connection.get(&path).json()["Terms"].clone()
    };
    assert_eq!(terms("Names"), json!([]));
    assert_eq!(
        terms("Names_IsArray"),
        json!(["true"]),
        "an empty one is one, too"
    );
    assert_eq!(terms("L_IsArray"), json!(["true"]));
    for field in [
        "G_IsArray",
        "No_IsArray",
        "_IsArray",
        "L_IsArray&fromValue=true",
    ] {
        assert_eq!(terms(field), json!([]), "{field}");
    }
}

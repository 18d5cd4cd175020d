//! Proves that the memory of answers has one bound: long ones come in pieces, what is larger than a
//! piece is counted for all answers together, parameters that are repeated do not multiply an
//! answer, and what cannot come in pieces is refused with a sentence before anything is done.

use std::time::Duration;

mod support;

use serde_json::{Value, json};
use support::{Connection, TestServer, config};

const BODY_BYTES_MAX: usize = 1 << 20;
/// What all answers may have beyond their pieces: four times the body limit here.
const LARGE: usize = 700 << 10;

fn start() -> (TestServer, Connection) {
    let mut config = config();
    config.body_bytes_max = BODY_BYTES_MAX;
    config.bodies_bytes_max = BODY_BYTES_MAX;
    config.bodies_wait_max = Duration::from_millis(600);
    config.stall_timeout = Duration::from_secs(10);
    let server = TestServer::start(config);
    let mut connection = server.connect();
    let created = connection.put("/admin/databases?name=db1", r#"{"DatabaseName":"db1"}"#);
    assert_eq!(created.status, 201, "{}", created.text());
    (server, connection)
}

fn path(rest: &str) -> String {
    format!("/databases/db1/{rest}")
}

fn large(letter: &str) -> String {
    letter.repeat(LARGE)
}

fn put_large(connection: &mut Connection, id: &str) {
    let body = format!(r#"{{"a":"{}"}}"#, large("x"));
    assert_eq!(
        connection
            .put(&path(&format!("docs?id={id}")), &body)
            .status,
        201
    );
}

/// Whether an answer came in pieces; it has no length then.
fn is_in_pieces(answer: &support::Answer) -> bool {
    answer.header("transfer-encoding") == Some("chunked")
}

#[test]
fn values_of_compare_exchange_come_one_by_one_and_each_key_once() {
    let (_server, mut connection) = start();
    for number in 0..12 {
        let body = format!(r#"{{"Object":"{}"}}"#, large("v"));
        let put = connection.put(&path(&format!("cmpxchg?key=k/{number}&index=0")), &body);
        assert_eq!(put.status, 200, "{}", put.text());
    }
    // Twice as much as all answers may have in memory together.
    let all = connection.get(&path("cmpxchg?startsWith=k/"));
    assert!(all.status == 200 && is_in_pieces(&all));
    assert_eq!(all.json()["Results"].as_array().unwrap().len(), 12);
    let page = connection.get(&path("cmpxchg?startsWith=K/&start=10&pageSize=5"));
    assert_eq!(page.json()["Results"].as_array().unwrap().len(), 2);
    let one = "key=k/1&".repeat(500);
    let repeated = connection.get(&path(&format!(
        "cmpxchg?{one}key=K/1&key=missing&key=missing"
    )));
    let repeated = repeated.json();
    let keys: Vec<_> = repeated["Results"].as_array().unwrap().iter().collect();
    let keys: Vec<_> = keys
        .iter()
        .map(|row| row["Key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["k/1", "missing"]);
    assert_eq!(
        repeated["Results"][1],
        json!({"Key":"missing","Value":null,"Index":-1})
    );
    assert_eq!(connection.get(&path("cmpxchg?key=no&key=no")).status, 404);
    assert_eq!(
        connection.get(&path("cmpxchg?startsWith=no")).text(),
        r#"{"Results":[]}"#
    );
}

fn append(connection: &mut Connection, id: &str, entries: usize) {
    let appends: Vec<Value> = (0..entries)
        .map(|number| {
            let (minute, second) = (number / 60, number % 60);
            let at = format!(
                "2024-01-01T{:02}:{:02}:{second:02}.0000000Z",
                minute / 60,
                minute % 60
            );
            json!({ "Timestamp": at, "Values": [number], "Tag": format!("tags/{}", number % 3) })
        })
        .collect();
    let body = json!({ "Name": "H", "Appends": appends }).to_string();
    let posted = connection.post(&path(&format!("timeseries?docId={id}")), &body);
    assert_eq!(posted.status, 204, "{}", posted.text());
}

#[test]
fn ranges_of_time_series_come_in_pieces_and_each_once() {
    let (_server, mut connection) = start();
    for id in ["d", "tags/1"] {
        assert_eq!(
            connection.put(&path(&format!("docs?id={id}")), "{}").status,
            201
        );
    }
    append(&mut connection, "d", 3_000);
    let one = connection.get(&path("timeseries?docId=d&name=H"));
    assert!(is_in_pieces(&one) && one.header("etag").is_some());
    let plain = one.json();
    assert_eq!(plain["Entries"].as_array().unwrap().len(), 3_000);
    assert_eq!(
        (&plain["From"], &plain["To"], &plain["TotalResults"]),
        (&Value::Null, &Value::Null, &json!(3_000))
    );
    // The same range a hundred times is one; another spelling of its ends is not the same.
    let again = "&name=H&from=&to=".repeat(100);
    let ranges = connection
        .get(&path(&format!("timeseries/ranges?docId=d{again}")))
        .json();
    assert_eq!(ranges["Values"]["H"].as_array().unwrap().len(), 1);
    assert_eq!(ranges["Values"]["H"][0]["Entries"], plain["Entries"]);
    // A page is counted through the ranges in order, whatever repeats.
    let paged = connection.get(&path(
        "timeseries/ranges?docId=d&name=H&from=&to=&name=H&from=&to=&start=2990&pageSize=20",
    ));
    let paged = paged.json();
    let lens: Vec<usize> = paged["Values"]["H"]
        .as_array()
        .unwrap()
        .iter()
        .map(|range| range["Entries"].as_array().unwrap().len())
        .collect();
    assert_eq!(lens, [10, 10]);
    assert_eq!(
        paged["Values"]["H"][0]["From"],
        "2024-01-01T00:49:50.0000000Z"
    );
    assert_eq!(
        paged["Values"]["H"][1]["To"],
        "2024-01-01T00:00:09.0000000Z"
    );
    // Tags are told with the documents that they name, those that are missing too.
    let tagged = connection.get(&path(
        "timeseries?docId=d&name=H&includeTags=true&includeDocument=true&pageSize=2",
    ));
    let includes = tagged.json()["Includes"].clone();
    let names: Vec<_> = includes.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names.len(), 3, "{includes}");
    assert_eq!(includes["tags/0"], Value::Null);
    // Included with a document, again and again.
    let wishes = "&timeseries=H&from=&to=&timeseriescount=H&countType=Last&countValue=2".repeat(40);
    let ids = "id=d&".repeat(40);
    let loaded = connection.get(&path(&format!("docs?{ids}{}", &wishes[1..])));
    let loaded = loaded.json();
    assert_eq!(loaded["Results"].as_array().unwrap().len(), 40);
    let told = loaded["TimeSeriesIncludes"]["d"]["H"].as_array().unwrap();
    let lens: Vec<usize> = told
        .iter()
        .map(|range| range["Entries"].as_array().unwrap().len())
        .collect();
    assert_eq!(lens, [3_000, 2]);
    let etag = one.header("etag").unwrap();
    let known = format!("If-None-Match: {etag}\r\n");
    let same = connection.exchange("GET", &path("timeseries?docId=d&name=H"), &known, b"");
    assert_eq!(same.status, 304);
}

#[test]
fn requests_in_one_go_on_to_the_client_as_they_are_made() {
    let (_server, mut connection) = start();
    put_large(&mut connection, "a");
    let load = json!({ "Url": "/databases/db1/docs", "Query": "?id=a&id=a&id=a", "Method": "GET" });
    let small = json!({ "Url": "/databases/db1/docs", "Query": "?id=missing", "Method": "GET" });
    let wrong = json!({ "Url": "/databases/db1/streams/docs", "Method": "GET" });
    let mut requests = vec![load; 10];
    requests.insert(3, small.clone());
    requests.push(wrong.clone());
    let body = json!({ "Requests": requests }).to_string();
    // Five times what all answers may have in memory.
    let all = connection.post(&path("multi_get"), &body);
    assert!(all.status == 200 && is_in_pieces(&all));
    let all = all.json();
    let results = all["Results"].as_array().unwrap();
    assert_eq!(results.len(), 12);
    for (slot, result) in results.iter().enumerate() {
        match slot {
            3 => assert_eq!(
                (&result["Result"], &result["StatusCode"]),
                (&Value::Null, &json!(404))
            ),
            11 => assert_eq!(result["StatusCode"], 400, "{result}"),
            _ => {
                assert_eq!(result["StatusCode"], 200);
                assert_eq!(result["Result"]["Results"].as_array().unwrap().len(), 3);
                assert!(result["Headers"]["ETag"].is_string());
            }
        }
    }
    let body = json!({ "Requests": [small, wrong] }).to_string();
    let short = connection.post(&path("multi_get"), &body);
    assert!(!is_in_pieces(&short));
    assert_eq!(short.json()["Results"].as_array().unwrap().len(), 2);
    assert_eq!(
        connection
            .post(&path("multi_get"), r#"{"Requests":[]}"#)
            .text(),
        r#"{"Results":[]}"#
    );
}

fn patches(count: usize, script: &str, returns: bool) -> String {
    let patch = |_| {
        json!({ "Type": "PATCH", "Id": "p", "Patch": { "Script": script },
        "ReturnDocument": returns })
    };
    json!({ "Commands": (0..count).map(patch).collect::<Vec<_>>() }).to_string()
}

#[test]
fn documents_that_patches_return_have_a_bound_together() {
    let (_server, mut connection) = start();
    let body = format!(r#"{{"n":0,"a":"{}"}}"#, "x".repeat(100 << 10));
    assert_eq!(connection.put(&path("docs?id=p"), &body).status, 201);
    let count = |connection: &mut Connection| {
        let document = connection.get(&path("docs?id=p")).json();
        document["Results"][0]["n"].as_i64().unwrap()
    };
    let done = connection.post(&path("bulk_docs"), &patches(5, "this.n++", true));
    assert_eq!(done.status, 201, "{}", done.text());
    let results = done.json()["Results"].clone();
    let told: Vec<i64> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["ModifiedDocument"]["n"].as_i64().unwrap())
        .collect();
    assert_eq!(told, [1, 2, 3, 4, 5]);
    // Each was worked out once for the document, however often the server tried.
    assert_eq!(count(&mut connection), 5);
    let refused = connection.post(&path("bulk_docs"), &patches(300, "this.n++", true));
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert!(
        refused.text().contains("nothing was written"),
        "{}",
        refused.text()
    );
    assert_eq!(count(&mut connection), 5);
    // Those that return nothing have no such bound.
    let silent = connection.post(&path("bulk_docs"), &patches(300, "this.n++", false));
    assert_eq!(silent.status, 201, "{}", silent.text());
    assert!(
        silent.json()["Results"][0]
            .get("ModifiedDocument")
            .is_none()
    );
    assert_eq!(count(&mut connection), 305);
    let operations = json!([{ "op": "add", "path": "/b", "value": 1 }]);
    let many: Vec<_> = (0..300)
        .map(|_| {
            json!({ "Type": "JsonPatch", "Id": "p",
        "JsonPatch": { "Operations": operations }, "ReturnDocument": true })
        })
        .collect();
    let refused = connection.post(&path("bulk_docs"), &json!({ "Commands": many }).to_string());
    assert_eq!(refused.status, 413, "{}", refused.text());
    // One document alone is told up to the limit of a body.
    let script = json!({ "Patch": { "Script": "this.n = -1" } }).to_string();
    let one = connection.exchange("PATCH", &path("docs?id=p"), "", script.as_bytes());
    assert_eq!(one.status, 200, "{}", one.text());
    assert_eq!(one.json()["ModifiedDocument"]["n"], -1);
    let grow = json!({ "Patch": { "Script": "this.a = 'y'.repeat(3e6)" } }).to_string();
    let long = connection.exchange("PATCH", &path("docs?id=p"), "", grow.as_bytes());
    assert_eq!(long.status, 413, "{}", long.text());
    assert_eq!(count(&mut connection), -1);
}

#[test]
fn large_rows_of_clients_who_do_not_read_are_refused_to_others() {
    let (server, mut connection) = start();
    put_large(&mut connection, "a");
    let ids = "id=a&".repeat(60);
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        path(&format!("docs?{ids}"))
    );
    // Together they have more rows in memory than there is room for, and read none.
    let mut idle: Vec<Connection> = (0..12).map(|_| server.connect()).collect();
    for reader in &mut idle {
        reader.send(request.as_bytes());
    }
    let mut statuses = Vec::new();
    for _ in 0..50 {
        let answer = server.connect().get(&path("docs?id=a"));
        statuses.push(answer.status);
        if answer.status == 503 {
            assert_eq!(answer.header("retry-after"), Some("1"));
            assert!(answer.text().contains("memory"), "{}", answer.text());
            break;
        }
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(statuses.last(), Some(&503), "{statuses:?}");
    // What is small is answered meanwhile, and all is free again when they are gone.
    assert_eq!(connection.get(&path("stats")).status, 200);
    drop(idle);
    let is_free = (0..50).any(|_| server.connect().get(&path("docs?id=a")).status == 200);
    assert!(is_free);
}

#[test]
fn counters_and_revisions_come_in_pieces() {
    let (_server, mut connection) = start();
    assert_eq!(connection.put(&path("docs?id=c"), "{}").status, 201);
    let operations: Vec<_> = (0..3_000)
        .map(|number| {
            let name = format!("{number:0>200}");
            json!({ "Type": "Increment", "CounterName": name, "Delta": 1 })
        })
        .collect();
    let body =
        json!({ "Documents": [{ "DocumentId": "c", "Operations": operations }] }).to_string();
    let posted = connection.post(&path("counters"), &body);
    assert!(
        posted.status == 200 && is_in_pieces(&posted),
        "{}",
        posted.status
    );
    assert_eq!(posted.json()["Counters"].as_array().unwrap().len(), 3_000);
    let all = connection.get(&path("counters?docId=c"));
    assert!(all.status == 200 && is_in_pieces(&all));
    assert_eq!(all.json(), posted.json());
    let names = "&counter=no".repeat(300);
    let named = connection.get(&path(&format!("counters?docId=c{names}")));
    assert_eq!(named.json()["Counters"], json!(vec![Value::Null; 300]));
    let loaded = connection
        .get(&path("docs?id=c&id=c&counter=@all_counters"))
        .json();
    assert_eq!(
        loaded["CounterIncludes"]["c"].as_array().unwrap().len(),
        3_000
    );
    let settings = r#"{"Default":{"Disabled":false}}"#;
    assert_eq!(
        connection
            .post(&path("admin/revisions/config"), settings)
            .status,
        200
    );
    for number in 0..8 {
        let metadata = r#"{"@collection":"Rs"}"#;
        let body = format!(
            r#"{{"n":{number},"a":"{}","@metadata":{metadata}}}"#,
            large("x")
        );
        assert_eq!(connection.put(&path("docs?id=r"), &body).status, 201);
    }
    let revisions = connection.get(&path("revisions?id=r"));
    assert_eq!(revisions.status, 200, "{}", revisions.text());
    assert!(is_in_pieces(&revisions));
    let rows = revisions.json();
    assert_eq!(
        (
            rows["Results"].as_array().unwrap().len(),
            &rows["TotalResults"]
        ),
        (8, &json!(8))
    );
    let vector = rows["Results"][0]["@metadata"]["@change-vector"]
        .as_str()
        .unwrap();
    let vectors = format!("changeVector={vector}&").repeat(20);
    let named = connection.get(&path(&format!("revisions?{vectors}changeVector=A:1-no")));
    assert_eq!(named.json()["Results"].as_array().unwrap().len(), 21);
}

#[test]
fn what_a_query_includes_comes_in_pieces_behind_its_rows() {
    let (_server, mut connection) = start();
    for number in 0..8 {
        put_large(&mut connection, &format!("large/{number}"));
        let body = format!(r#"{{"L":"large/{number}","@metadata":{{"@collection":"Refs"}}}}"#);
        assert_eq!(
            connection
                .put(&path(&format!("docs?id=refs/{number}")), &body)
                .status,
            201
        );
    }
    let query = json!({ "Query": "from Refs include L" }).to_string();
    let answer = connection.post(&path("queries"), &query);
    assert!(answer.status == 200 && is_in_pieces(&answer));
    let answer = answer.json();
    assert_eq!(answer["Results"].as_array().unwrap().len(), 8);
    assert_eq!(answer["Includes"].as_object().unwrap().len(), 8);
    assert_eq!(answer["TotalResults"], 8);
    let query = json!({ "Query": "from Refs" }).to_string();
    assert_eq!(
        connection.post(&path("queries"), &query).json()["Includes"],
        json!({})
    );
}

//! Proves the life of a database as clients see it: created, found, described, deleted, and every
//! refusal with the recorded status, type and message.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::sync::{Arc, Mutex};

use jackdaw_server::LogControl;
use serde_json::{Value, json};
use support::{Answer, Connection, DataDirectory, TestServer, config, start, start_with_database};

fn refused(answer: &Answer, status: u16, kind: &str, message: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["Type"], kind);
    assert_eq!(body["Message"], message);
    assert_eq!(
        body["Error"].as_str().unwrap().lines().next().unwrap(),
        format!("{kind}: {message}")
    );
}

/// What the Python client sends: every member of the record, most of them null.
const PYTHON_RECORD: &str = r#"{"DatabaseName": "db1", "Disabled": false, "Encrypted": false,
    "EtagForBackup": 0, "DeletionInProgress": null, "RollingIndexes": null, "DatabaseState": null,
    "LockMode": null, "Topology": null, "AutoIndexes": null, "Settings": {}, "PeriodicBackups": [],
    "Client": null}"#;

#[test]
fn databases_that_were_made_without_a_server_are_listed_changed_and_deleted() {
    let data = DataDirectory::new();
    for (name, record) in [
        ("embedded", "{}"),
        // As earlier imports wrote it.
        ("imported", r#"{"DatabaseName":"imported","Settings":{}}"#),
    ] {
        data.databases().create(name, record).unwrap();
    }
    let server = TestServer::start_on(data, config());
    let mut connection = server.connect();
    let listed = connection.get("/databases");
    assert_eq!(listed.status, 200, "{}", listed.text());
    assert_eq!(listed.json()["Databases"].as_array().unwrap().len(), 2);
    for name in ["embedded", "imported"] {
        let record = connection.get(&format!("/admin/databases?name={name}"));
        assert_eq!(record.status, 200, "{}", record.text());
        assert_eq!(record.json()["DatabaseName"], name);
        let topology = connection.get(&format!("/topology?name={name}"));
        assert_eq!(topology.status, 200, "{}", topology.text());
        let settings = format!("/databases/{name}/admin/configuration/settings");
        let set = connection.put(&settings, r#"{"Indexing.MapTimeoutInSec":"5"}"#);
        assert_eq!(set.status, 201, "{}", set.text());
        let record = connection
            .get(&format!("/admin/databases?name={name}"))
            .json();
        assert_eq!(record["Settings"]["Indexing.MapTimeoutInSec"], "5");
        let deleted = connection.exchange(
            "DELETE",
            "/admin/databases",
            "",
            format!(r#"{{"DatabaseNames":["{name}"],"HardDelete":true}}"#).as_bytes(),
        );
        assert_eq!(deleted.status, 200, "{}", deleted.text());
    }
}

#[test]
fn a_database_is_created_described_and_deleted() {
    let (_running, mut connection) = start();
    let path = "/admin/databases?name=db1&replicationFactor=1&?raft-request-id=x";
    let created = connection.put(path, PYTHON_RECORD);
    assert_eq!(created.status, 201, "{}", created.text());
    let body = created.json();
    assert_eq!(body["Name"], "db1");
    assert_eq!(body["Topology"]["Members"], json!(["A"]));
    assert_eq!(body["NodesAddedTo"], json!(["http://test.local:1234"]));
    assert!(body["RaftCommandIndex"].as_i64().unwrap() > 0);

    let record = connection.get("/admin/databases?name=DB1").json();
    assert_eq!(record["DatabaseName"], "db1");
    assert_eq!(record["LockMode"], "Unlock");
    assert_eq!(record["AutoIndexes"], json!({}));
    assert_eq!(record["PeriodicBackups"], json!([]));
    assert_eq!(record["Etag"], body["RaftCommandIndex"]);
    assert_eq!(
        record["Topology"],
        connection.get("/databases/db1/admin/record").json()["Topology"]
    );

    let names = connection
        .get("/databases?start=0&pageSize=10&namesOnly=true")
        .json();
    assert_eq!(names, json!({ "Databases": ["db1"] }));
    let described = connection.get("/databases?name=db1").json();
    assert_eq!(described["Databases"][0]["Name"], "db1");
    assert_eq!(described["Databases"][0]["DocumentsCount"], 0);

    let order = br#"{"DatabaseNames": ["db1"], "HardDelete": true, "FromNodes": null}"#;
    let deleted = connection.exchange("DELETE", "/admin/databases", "", order);
    assert_eq!(deleted.status, 200);
    assert!(deleted.json()["RaftCommandIndex"].as_i64() > body["RaftCommandIndex"].as_i64());
    let again = connection.exchange("DELETE", "/admin/databases", "", order);
    assert_eq!(
        again.json(),
        json!({ "RaftCommandIndex": -1, "PendingDeletes": [] })
    );
    assert_eq!(
        connection.get("/databases?namesOnly=true").json(),
        json!({ "Databases": [] })
    );
}

#[test]
fn topology_names_the_address_in_use() {
    let (_running, mut connection) = start_with_database();
    let topology = connection
        .get("/topology?name=db1&first-topology-update")
        .json();
    assert_eq!(
        topology["Nodes"],
        json!([{
            "Url": "http://test.local:1234", "ClusterTag": "A", "ServerRole": "Member",
            "Database": "db1", "ServerVersion": "7.1.5.71028"
        }])
    );
    assert!(topology["Etag"].as_i64().unwrap() > 0);
}

#[test]
fn a_missing_database_is_told_in_three_ways() {
    let (_running, mut connection) = start();
    let body: Value = json!({ "Type": "Error", "Message": "Database db9 wasn't found" });
    for (path, status) in [
        ("/topology?name=db9", 503),
        ("/admin/databases?name=db9", 404),
    ] {
        let answer = connection.get(path);
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("database-missing"), Some("db9"));
        assert_eq!(answer.json(), body);
    }
    for path in ["docs?id=a", "stats", "hilo/next?tag=x", "streams/docs"] {
        let answer = connection.get(&format!("/databases/db9/{path}"));
        let kind = "Raven.Client.Exceptions.Database.DatabaseDoesNotExistException";
        refused(&answer, 400, kind, "Database 'db9' does not exist.");
        assert_eq!(answer.header("database-missing"), None);
    }
    let answer = connection.post("/databases/db9/bulk_docs", r#"{"Commands":[]}"#);
    assert_eq!(answer.json()["Message"], "Database 'db9' does not exist.");
}

#[test]
fn bad_names_and_bad_records_are_refused() {
    let (_running, mut connection) = start_with_database();
    let bad = "Raven.Client.Exceptions.BadRequestException";
    let mut create =
        |body: &str| connection.put("/admin/databases?name=x&replicationFactor=1", body);
    refused(
        &create(r#"{"DatabaseName": ""}"#),
        400,
        bad,
        "Name cannot be null or empty.",
    );
    for name in ["a b", "a/b", "..", "a\\\\b", "a?b", "a*"] {
        let shown = name.replace("\\\\", "\\");
        let message = format!(
            "The name '{shown}' is not permitted. Only letters, digits and characters \
             ('_', '-', '.') are allowed."
        );
        refused(
            &create(&format!(r#"{{"DatabaseName": "{name}"}}"#)),
            400,
            bad,
            &message,
        );
    }
    let long = "x".repeat(200);
    assert_eq!(
        create(&format!(r#"{{"DatabaseName": "{long}"}}"#)).status,
        400
    );
    let twice = create(r#"{"DatabaseName": "DB1"}"#);
    let conflict = "Raven.Client.Exceptions.ConcurrencyException";
    refused(&twice, 409, conflict, "Database 'DB1' already exists!");
    assert!(twice.json()["Id"].is_null() && twice.json().get("ActualChangeVector").is_some());
    let empty = "Stream ended without reaching end of json content";
    refused(&create(""), 400, "System.IO.EndOfStreamException", empty);
    assert_eq!(
        create("{not json").json()["Type"],
        "System.IO.InvalidDataException"
    );
    let none = connection.put("/admin/databases?name=y&replicationFactor=0", "{}");
    let message = "Replication factor must be greater than 0.";
    refused(&none, 400, "System.ArgumentException", message);
    let named = connection.put("/admin/databases?name=from.query-1_", "{}");
    assert_eq!(named.json()["Name"], "from.query-1_");
}

#[test]
fn a_locked_database_is_not_deleted() {
    let (_running, mut connection) = start();
    let record = r#"{"DatabaseName": "db1", "LockMode": "PreventDeletesError"}"#;
    assert_eq!(
        connection.put("/admin/databases?name=db1", record).status,
        201
    );
    let order = br#"{"DatabaseNames": ["db1"], "HardDelete": true}"#;
    let deleted = connection.exchange("DELETE", "/admin/databases", "", order);
    let message = "Database 'db1' cannot be deleted because of the set lock mode \
                   ('PreventDeletesError'). Please consider changing the lock mode before deleting \
                   the database.";
    refused(&deleted, 400, "System.InvalidOperationException", message);
    assert_eq!(connection.get("/topology?name=db1").status, 200);
    let lock = "/admin/databases/set-lock";
    let set = connection.post(
        lock,
        r#"{"DatabaseNames":["DB1"],"Mode":"PreventDeletesIgnore"}"#,
    );
    assert_eq!(set.status, 204);
    let ignored = connection.exchange("DELETE", "/admin/databases", "", order);
    assert_eq!(ignored.json()["RaftCommandIndex"], -1);
    let nested = connection.post(lock, r#"{"DatabaseNames":[["db1"]],"Mode":"Unlock"}"#);
    assert_eq!(nested.json()["Type"], "System.FormatException");
    let one_absent = r#"{"DatabaseNames":["db1","db9"],"Mode":"PreventDeletesError"}"#;
    assert_eq!(connection.post(lock, one_absent).status, 400);
    let kept = connection.get("/admin/databases?name=db1").json();
    assert_eq!(kept["LockMode"], "PreventDeletesIgnore");
    let odd = connection.post(lock, r#"{"DatabaseNames":["db1"],"Mode":"Frob"}"#);
    assert_eq!(odd.json()["Type"], "System.ArgumentException");
    let absent = connection.post(lock, r#"{"DatabaseNames":["db9"],"Mode":"Unlock"}"#);
    assert_eq!(absent.json()["Message"], "Database 'db9' does not exist.");
    assert_eq!(
        connection
            .post(lock, r#"{"DatabaseNames":["db1"],"Mode":"Unlock"}"#)
            .status,
        204
    );
    let record = connection.get("/admin/databases?name=db1").json();
    assert_eq!(record["LockMode"], "Unlock");
    connection.exchange("DELETE", "/admin/databases", "", order);
    assert_eq!(connection.get("/topology?name=db1").status, 503);
}

#[test]
fn every_answer_of_a_database_carries_its_transaction_id() {
    let (_running, mut connection) = start_with_database();
    let tag = |connection: &mut Connection, path: &str| {
        connection
            .get(path)
            .header("database-cluster-tx-id")
            .map(str::to_owned)
    };
    let expected = tag(&mut connection, "/databases/db1/stats").unwrap();
    assert_eq!(expected.len(), 22);
    assert_eq!(
        tag(&mut connection, "/databases/DB1/docs?id=none"),
        Some(expected)
    );
    assert_eq!(tag(&mut connection, "/build/version"), None);
}

#[test]
fn settings_and_health_of_a_new_database() {
    let (_running, mut connection) = start_with_database();
    let settings = connection.get("/databases/db1/configuration/client").json();
    assert_eq!(settings, json!({ "Etag": -2, "Configuration": null }));
    assert_eq!(connection.get("/databases/db1/healthcheck").status, 204);
    assert_eq!(connection.get("/configuration/client").status, 404);
    let stats = connection.get("/databases/db1/stats?failure=check").json();
    assert_eq!(stats["CountOfDocuments"], 0);
    assert_eq!(stats["Indexes"], json!([]));
    assert_eq!(stats["DatabaseChangeVector"], "");
    assert!(stats["SizeOnDisk"]["HumaneSize"].is_string());
    let first = connection
        .get("/databases/db1/operations/next-operation-id")
        .json();
    let second = connection
        .get("/databases/db1/operations/next-operation-id")
        .json();
    assert_eq!(first["NodeTag"], "A");
    assert!(second["Id"].as_i64() > first["Id"].as_i64());
    assert_eq!(
        connection
            .get("/databases/db1/operations/state?id=99")
            .status,
        404
    );
    let unasked = connection.get("/databases/db1/operations/state");
    let message = "Query string id is mandatory, but wasn't specified.";
    refused(&unasked, 400, "System.ArgumentException", message);
}

#[test]
fn a_disabled_database_refuses_until_it_is_enabled() {
    let (_running, mut connection) = support::start_with_database();
    let names = r#"{"DatabaseNames":["DB1"]}"#;
    let disabled = connection.post("/admin/databases/disable", names).json();
    assert_eq!(disabled["Status"][0]["Disabled"], true);
    let refused = connection.get("/databases/db1/docs?id=a");
    assert_eq!(refused.status, 503);
    let kind = "Raven.Client.Exceptions.Database.DatabaseDisabledException";
    assert_eq!(refused.json()["Type"], kind);
    assert_eq!(connection.get("/topology?name=db1").status, 200);
    let enabled = connection.post("/admin/databases/enable", names).json();
    assert_eq!(enabled["Status"][0]["Success"], true);
    assert_eq!(connection.get("/databases/db1/stats").status, 200);
}

#[test]
fn settings_for_clients_and_names_of_values_come_back() {
    let (_running, mut connection) = support::start_with_database();
    let path = "/databases/db1/configuration/client";
    assert_eq!(connection.get(path).json()["Etag"], -2);
    let settings = r#"{"Etag":1,"Disabled":true,"MaxNumberOfRequestsPerSession":80}"#;
    let set = connection.put("/databases/db1/admin/configuration/client", settings);
    assert_eq!(set.status, 201, "{}", set.text());
    let found = connection.get(path).json();
    assert_eq!(found["Configuration"]["MaxNumberOfRequestsPerSession"], 80);
    assert_eq!(found["Configuration"]["Etag"], found["Etag"]);
    let names = r#"{"Collection":"Cars","TimeSeries":"H","ValueNames":["A"],"Update":false}"#;
    let path = "/databases/db1/timeseries/names/config";
    assert_eq!(connection.post(path, names).status, 200);
    assert_eq!(connection.post(path, names).status, 400);
    let found = connection.get("/databases/db1/timeseries/config").json();
    assert_eq!(found["NamedValues"]["Cars"]["H"], serde_json::json!(["A"]));
}

#[test]
fn settings_of_studio_come_back_and_a_database_has_none_of_its_own() {
    let (_running, mut connection) = start_with_database();
    for (base, admin) in [("", "/admin"), ("/databases/db1", "/databases/db1/admin")] {
        let path = format!("{base}/configuration/studio");
        assert_eq!(connection.get(&path).status, 404, "{path}");
        let settings = r#"{"Environment":"Testing","Disabled":false}"#;
        let set = connection.put(&format!("{admin}/configuration/studio"), settings);
        assert_eq!(set.status, 201, "{}", set.text());
        assert_eq!(connection.get(&path).json()["Environment"], "Testing");
    }
    let settings = connection.get("/databases/db1/admin/configuration/settings");
    assert_eq!(settings.json(), json!({ "Settings": [] }));
}

#[test]
fn the_size_of_a_document_is_that_of_its_stored_bytes() {
    let (_running, mut connection) = start_with_database();
    let text = "x".repeat(3_000);
    connection.put("/databases/db1/docs?id=a", &format!(r#"{{"t":"{text}"}}"#));
    let size = connection.get("/databases/db1/docs/size?id=A").json();
    assert_eq!(size["DocId"], "a");
    let len_bytes = size["ActualSize"].as_u64().unwrap();
    assert!((3_000..3_200).contains(&len_bytes), "{size}");
    assert!(
        size["HumaneActualSize"]
            .as_str()
            .unwrap()
            .ends_with("KBytes")
    );
    let missing = connection.get("/databases/db1/docs/size?id=b");
    assert_eq!(missing.status, 404);
    assert_eq!(connection.get("/databases/db1/docs/size").status, 400);
}

#[test]
fn the_level_of_the_log_is_told_and_set() {
    use tracing::level_filters::LevelFilter;
    let level = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&level);
    let mut config = support::config();
    config.log = Some(LogControl::new(LevelFilter::WARN, move |level| {
        *kept.lock().unwrap() = Some(level);
        true
    }));
    let server = TestServer::start(config);
    let mut connection = server.connect();
    let path = "/admin/logs/configuration";
    let found = connection.get(path).json();
    assert_eq!(found["Logs"]["MinLevel"], "Warn");
    assert!(found["Logs"]["CurrentMinLevel"].is_string());
    // Clients below 6.2 know modes; see tests/tasks_and_settings.rs.
    let old = connection.exchange("GET", path, "Raven-Client-Version: 5.2.6\r\n", b"");
    assert_eq!(old.json()["Mode"], "Operations");
    assert_eq!(*level.lock().unwrap(), None);
    let set = connection.post(path, r#"{"Logs":{"MinLevel":"Debug","Filters":[]}}"#);
    assert_eq!(set.status, 204, "{}", set.text());
    assert_eq!(*level.lock().unwrap(), Some(LevelFilter::DEBUG));
    for wrong in [
        r#"{"Logs":{"MinLevel":"Loud"}}"#,
        r#"{"Logs":{"MinLevel":"Info","Filters":[{}]}}"#,
        r#"{"Logs":{"MinLevel":"Info"},"Persist":true}"#,
        r#"{"MicrosoftLogs":{"MinLevel":"Info"}}"#,
    ] {
        assert_eq!(connection.post(path, wrong).status, 400, "{wrong}");
    }
    assert_eq!(*level.lock().unwrap(), Some(LevelFilter::DEBUG));
    for path in ["/admin/traffic-watch", "/admin/logs/watch"] {
        let answer = connection.get(path);
        assert!(answer.text().contains("web socket"), "{}", answer.text());
    }
}

#[test]
fn metrics_tell_what_the_disk_of_each_open_database_took() {
    let (_running, mut connection) = start_with_database();
    connection.put("/databases/db1/docs?id=a", "{}");
    let families = |text: String| {
        let heads = text.lines().filter(|line| line.starts_with("# TYPE"));
        heads.map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = connection.get("/metrics");
    assert_eq!(plain.status, 200);
    let answer = connection.get("/jackdaw/metrics");
    assert_eq!(
        families(plain.text().into()),
        families(answer.text().into())
    );
    assert_eq!(answer.status, 200);
    let text = answer.text();
    let count = text.lines().find(|line| {
        line.starts_with("jackdaw_io_seconds_count{") && line.contains("kind=\"journal_write\"")
    });
    let count = count.unwrap().rsplit(' ').next().unwrap();
    assert!(count.parse::<u64>().unwrap() > 0, "{text}");
    assert!(text.contains("quantile=\"0.999\""), "{text}");
}

#[test]
fn settings_for_clients_of_the_server_stand_in_for_those_of_a_database() {
    let (mut server, mut connection) = support::start_with_database();
    assert_eq!(connection.get("/configuration/client").status, 404);
    let whole = r#"{"MaxNumberOfRequestsPerSession":7}"#;
    assert_eq!(
        connection.put("/admin/configuration/client", whole).status,
        201
    );
    server.restart(support::config());
    let mut connection = server.connect();
    let told = connection.get("/configuration/client").json();
    assert_eq!(told["MaxNumberOfRequestsPerSession"], 7);
    let path = "/databases/db1/configuration/client";
    let told = connection.get(path).json();
    assert_eq!(told["Configuration"]["MaxNumberOfRequestsPerSession"], 7);
    let own = r#"{"MaxNumberOfRequestsPerSession":9}"#;
    connection.put("/databases/db1/admin/configuration/client", own);
    let told = connection.get(path).json();
    assert_eq!(told["Configuration"]["MaxNumberOfRequestsPerSession"], 9);
    let own = r#"{"MaxNumberOfRequestsPerSession":9,"Disabled":true}"#;
    connection.put("/databases/db1/admin/configuration/client", own);
    let told = connection.get(path).json();
    assert_eq!(told["Configuration"]["MaxNumberOfRequestsPerSession"], 7);
}

#[test]
fn what_happens_at_dates_is_configured_and_wrong_configurations_are_refused() {
    let (_server, mut connection) = support::start_with_database();
    for (name, frequency) in [
        ("expiration", "DeleteFrequencyInSec"),
        ("refresh", "RefreshFrequencyInSec"),
        ("data-archival", "ArchiveFrequencyInSec"),
    ] {
        let own = format!("/databases/db1/{name}/config");
        let admin = format!("/databases/db1/admin/{name}/config");
        assert_eq!(connection.get(&own).status, 404);
        let wrong = format!(r#"{{"Disabled":false,"{frequency}":0}}"#);
        let refused = connection.post(&admin, &wrong);
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains(frequency), "{}", refused.text());
        let right = format!(r#"{{"Disabled":false,"{frequency}":5}}"#);
        let set = connection.post(&admin, &right);
        assert!(set.json()["RaftCommandIndex"].as_u64().unwrap() > 0);
        assert_eq!(connection.get(&own).json()[frequency], 5);
    }
}

#[test]
fn sample_data_fills_an_empty_database_once() {
    let (_running, mut connection) = start_with_database();
    let path = "/databases/db1/studio/sample-data?operateOnTypes=Documents\
                &operateOnTypes=Attachments&operateOnTypes=Indexes";
    assert_eq!(connection.post(path, "").status, 204);
    let statistics = connection.get("/databases/db1/stats").json();
    assert_eq!(statistics["CountOfDocuments"], 1_059);
    assert_eq!(statistics["CountOfUniqueAttachments"], 17);
    assert_eq!(statistics["CountOfIndexes"], 5);
    let order = connection.get("/databases/db1/docs?id=orders/830-A").json();
    let company = order["Results"][0]["Company"].as_str().unwrap().to_owned();
    let query = "from index 'Orders/ByCompany' where Company = $company";
    let body = json!({
        "Query": query,
        "QueryParameters": { "company": company },
        "WaitForNonStaleResults": true,
    });
    let answer = connection.post("/databases/db1/queries", &body.to_string());
    assert!(
        answer.json()["Results"][0]["Total"].as_f64().unwrap() > 0.0,
        "{}",
        answer.text()
    );
    let again = connection.post(path, "");
    assert_eq!(again.status, 400);
    assert!(again.text().contains("already contains documents"));
}

#[test]
fn of_two_configurations_posted_at_once_neither_is_lost() {
    let (server, _first) = start_with_database();
    std::thread::scope(|scope| {
        for (name, frequency) in [
            ("expiration", "DeleteFrequencyInSec"),
            ("refresh", "RefreshFrequencyInSec"),
        ] {
            let mut connection = server.connect();
            scope.spawn(move || {
                for number in 1..=60 {
                    let body = json!({ "Disabled": true, frequency: number }).to_string();
                    let path = format!("/databases/db1/admin/{name}/config");
                    assert_eq!(connection.post(&path, &body).status, 200);
                    let found = connection.get(&format!("/databases/db1/{name}/config"));
                    assert_eq!(found.json()[frequency], number, "{name}");
                }
            });
        }
    });
}

#[test]
fn settings_of_a_database_are_texts_that_its_record_keeps() {
    let (_running, mut connection) = start_with_database();
    let path = "/databases/db1/admin/configuration/settings";
    let settings = r#"{"Indexing.MapBatchSize":128,"Some.Flag":true,"A":"x","B":null}"#;
    let set = connection.put(path, settings);
    assert_eq!((set.status, set.text()), (201, ""));
    let expected = json!({
        "Indexing.MapBatchSize": "128", "Some.Flag": "true", "A": "x", "B": null,
    });
    for path in ["/databases/db1/admin/record", "/admin/databases?name=db1"] {
        assert_eq!(connection.get(path).json()["Settings"], expected, "{path}");
    }
    for wrong in [r#"{"A":{"x":1}}"#, "[1]", "\"text\"", "{"] {
        assert!(connection.put(path, wrong).status >= 400, "{wrong}");
    }
    let record = connection.get("/databases/db1/admin/record").json();
    assert_eq!(record["Settings"], expected, "a refusal changes nothing");
    assert_eq!(connection.put(path, "{}").status, 201);
    let record = connection.get("/databases/db1/admin/record").json();
    assert_eq!(record["Settings"], json!({}));
}

#[test]
fn collections_tell_what_they_hold() {
    let (_running, mut connection) = start_with_database();
    let base = "/databases/db1";
    let body = r#"{"T":"0123456789","@metadata":{"@collection":"Cars"}}"#;
    for id in ["a/1", "a/2", "a/3"] {
        connection.put(&format!("{base}/docs?id={id}"), body);
    }
    connection.put(&format!("{base}/docs?id=b/1"), "{}");
    connection.delete(&format!("{base}/docs?id=a/3"));
    let increment = |name: &str| json!({ "Type": "Increment", "CounterName": name, "Delta": 1 });
    let counters = json!({ "Type": "Counters", "Id": "a/1", "Counters": {
        "DocumentId": "a/1", "Operations": [increment("c1"), increment("c2")],
    } });
    let series = json!({ "Type": "TimeSeries", "Id": "a/2", "TimeSeries": {
        "Name": "H", "Appends": [{ "Timestamp": "2024-01-01T00:00:00.0000000Z", "Values": [1] }],
    } });
    let commands =
        json!({ "Commands": [counters, series, { "Type": "ForceRevisionCreation", "Id": "a/1" }] });
    let stored = connection.post(&format!("{base}/bulk_docs"), &commands.to_string());
    assert_eq!(stored.status, 201, "{}", stored.text());
    let found = connection
        .get(&format!("{base}/collections/stats/detailed"))
        .json();
    assert_eq!(found["CountOfDocuments"], 3);
    let names: Vec<&String> = found["Collections"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["Cars", "@empty"]);
    let cars = &found["Collections"]["Cars"];
    let counts = [
        "Documents",
        "Tombstones",
        "Revisions",
        "CounterEntries",
        "TimeSeriesSegments",
    ];
    let counts = counts.map(|part| cars[&format!("CountOf{part}")].as_i64().unwrap());
    assert_eq!(counts, [2, 1, 1, 1, 1]);
    let bytes = |part: &str| cars[part]["SizeInBytes"].as_u64().unwrap();
    let parts = [
        "Documents",
        "Tombstones",
        "Revisions",
        "CounterEntries",
        "TimeSeriesSegments",
    ];
    let parts = parts.map(|part| bytes(&format!("{part}Size")));
    assert!(parts.iter().all(|part| *part > 0), "{cars}");
    assert_eq!(bytes("Size"), parts.iter().sum::<u64>());
    assert!(bytes("DocumentsSize") > 2 * 10, "the texts alone");
    let empty = &found["Collections"]["@empty"];
    assert_eq!(empty["CounterEntriesSize"]["HumaneSize"], "0 Bytes");
    // Two counters of one document are one group.
    let stats = connection.get(&format!("{base}/stats")).json();
    assert_eq!(stats["CountOfCounterEntries"], 1);
}

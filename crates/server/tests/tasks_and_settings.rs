//! Proves what clients ask for that is no data: essential statistics, ongoing tasks, connection
//! strings, the log and traffic in their forms, and a delay.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use jackdaw_server::LogControl;
use serde_json::{Value, json};
use support::{Answer, Connection, TestServer, config, start, start_with_database};

const DB: &str = "/databases/db1";

fn refused(answer: &Answer, kind: &str, part: &str) {
    assert_eq!(answer.status, 400, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["Type"], kind, "{body}");
    assert!(body["Message"].as_str().unwrap().contains(part), "{body}");
}

#[test]
fn essential_statistics_are_counts_and_what_indexes_there_are() {
    let (_running, mut connection) = start_with_database();
    let empty = connection.get(&format!("{DB}/stats/essential")).json();
    assert_eq!(
        empty,
        json!({
            "CountOfIndexes": 0, "CountOfDocuments": 0, "CountOfRevisionDocuments": 0,
            "CountOfTombstones": 0, "CountOfDocumentsConflicts": 0, "CountOfConflicts": 0,
            "CountOfAttachments": 0, "CountOfCounterEntries": 0, "CountOfTimeSeriesSegments": 0,
            "Indexes": [],
        })
    );
    for number in 0..3 {
        connection.put(&format!("{DB}/docs?id=d/{number}"), "{}");
    }
    connection.delete(&format!("{DB}/docs?id=d/0"));
    let index = json!({ "Indexes": [{ "Name": "I", "Maps": ["map('Ds', d => ({ a: d.a }))"] }] });
    connection.put(&format!("{DB}/admin/indexes"), &index.to_string());
    let told = connection.get(&format!("{DB}/stats/essential")).json();
    assert_eq!(
        (&told["CountOfDocuments"], &told["CountOfTombstones"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(
        told["Indexes"],
        json!([{ "Name": "I", "LockMode": "Unlock", "Priority": "Normal",
                 "Type": "JavaScriptMap", "SourceType": "Documents" }])
    );
    refused(
        &connection.get("/databases/none/stats/essential"),
        "Raven.Client.Exceptions.Database.DatabaseDoesNotExistException",
        "none",
    );
}

#[test]
fn subscriptions_are_ongoing_tasks() {
    let (_running, mut connection) = start_with_database();
    let tasks = connection.get(&format!("{DB}/tasks")).json();
    assert_eq!(tasks["OngoingTasks"], json!([]));
    assert_eq!(
        (&tasks["SubscriptionsCount"], &tasks["PullReplications"]),
        (&json!(0), &json!([]))
    );
    for name in ["s1", "\u{e9}t\u{e9}"] {
        let body = json!({ "Name": name, "Query": "from Ds" }).to_string();
        assert_eq!(
            connection.put(&format!("{DB}/subscriptions"), &body).status,
            201
        );
    }
    let disable = format!("{DB}/admin/tasks/state?taskName=s1&type=Subscription&disable=true");
    assert_eq!(connection.post(&disable, "").status, 200);
    let tasks = connection.get(&format!("{DB}/tasks")).json();
    assert_eq!(tasks["SubscriptionsCount"], 2);
    assert_eq!(tasks["@metadata"]["NodeTag"], "A");
    let first = &tasks["OngoingTasks"][0];
    let number = first["TaskId"].as_u64().unwrap();
    for (name, value) in [
        ("TaskType", json!("Subscription")),
        ("TaskState", json!("Disabled")),
        ("TaskConnectionStatus", json!("NotActive")),
        ("TaskName", json!("s1")),
        ("SubscriptionName", json!("s1")),
        ("SubscriptionId", json!(number)),
        ("MentorNode", Value::Null),
        ("PinToMentorNode", json!(false)),
        ("Error", Value::Null),
        ("Query", json!("from Ds")),
        ("ArchivedDataProcessingBehavior", json!("ExcludeArchived")),
        ("Disabled", json!(true)),
        ("LastBatchAckTime", Value::Null),
    ] {
        assert_eq!(first[name], value, "{name}");
    }
    assert_eq!(first["ResponsibleNode"]["NodeTag"], "A");
    let task = |parameters: String| format!("{DB}/task?{parameters}");
    for parameters in [
        format!("key={number}&type=Subscription"),
        "taskName=s1&type=subscription".to_owned(),
        "key=0&taskName=s1&type=Subscription".to_owned(),
    ] {
        let one = connection.get(&task(parameters.clone())).json();
        assert_eq!(one["TaskName"], "s1", "{parameters}");
        assert_eq!(one["@metadata"]["NodeTag"], "A");
    }
    for known in [
        "Backup",
        "RavenEtl",
        "replication",
        "PullReplicationAsSink",
        "QueueSink",
    ] {
        let answer = connection.get(&task(format!("key=1&type={known}")));
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{known}");
    }
    let missing = "Raven.Client.Exceptions.Documents.Subscriptions.\
                   SubscriptionDoesNotExistException";
    let argument = "System.ArgumentException";
    for (parameters, kind, part) in [
        ("key=999&type=Subscription", missing, "id '999'"),
        ("taskName=no&type=Subscription", missing, "name 'no'"),
        ("key=1&type=Nope", argument, "task type 'Nope'"),
        ("key=1", argument, "'type'"),
        ("", argument, "taskName"),
        ("type=Subscription", argument, "taskName"),
    ] {
        refused(&connection.get(&task(parameters.to_owned())), kind, part);
    }
}

fn strings(connection: &mut Connection, parameters: &str) -> Value {
    let answer = connection.get(&format!("{DB}/admin/connection-strings{parameters}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn connection_strings_are_kept_in_the_record() {
    let (mut running, mut connection) = start_with_database();
    let path = format!("{DB}/admin/connection-strings");
    let none = strings(&mut connection, "");
    assert_eq!(none.as_object().unwrap().len(), 7);
    assert!(
        none.as_object()
            .unwrap()
            .values()
            .all(|all| *all == json!({}))
    );
    let raven = json!({ "Type": "Raven", "Name": "r", "Database": "other",
        "TopologyDiscoveryUrls": ["http://127.0.0.1:8080"] });
    let sql = json!({ "Type": "Sql", "Name": "\u{fc}", "FactoryName": "Npgsql",
        "ConnectionString": "Host=127.0.0.1;Password=p" });
    let all = [
        raven.clone(),
        sql.clone(),
        json!({ "Type": "Olap", "Name": "o" }),
        json!({ "Type": "elasticsearch", "Name": "e", "Nodes": ["http://x"] }),
        json!({ "Type": "Queue", "Name": "q", "BrokerType": "Kafka",
            "KafkaConnectionSettings": { "BootstrapServers": "x:1" } }),
        json!({ "Type": "Snowflake", "Name": "s", "ConnectionString": "account=a" }),
        json!({ "Type": "Ai", "Name": "a", "OllamaSettings": { "Uri": "http://x" } }),
    ];
    let mut last = 0;
    for one in &all {
        let answer = connection.put(&path, &one.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let index = answer.json()["RaftCommandIndex"].as_u64().unwrap();
        assert!(index > last);
        last = index;
    }
    running.restart(config());
    let mut connection = running.connect();
    let told = strings(&mut connection, "");
    let record = connection.get(&format!("{DB}/admin/record")).json();
    for (member, count) in told.as_object().unwrap() {
        assert_eq!(count.as_object().unwrap().len(), 1, "{member}");
        assert_eq!(record[member], told[member], "{member}");
    }
    let expected = json!({ "Name": "r", "Database": "other",
        "TopologyDiscoveryUrls": ["http://127.0.0.1:8080"] });
    assert_eq!(told["RavenConnectionStrings"]["r"], expected);
    let one = strings(&mut connection, "?connectionStringName=%C3%BC&type=sql");
    assert_eq!(
        one["SqlConnectionStrings"]["\u{fc}"]["FactoryName"],
        "Npgsql"
    );
    assert_eq!(one["RavenConnectionStrings"], Value::Null);
    for parameters in [
        "?connectionStringName=R&type=Raven",
        "?connectionStringName=r&type=Sql",
    ] {
        let none = strings(&mut connection, parameters);
        assert!(
            none.as_object().unwrap().values().all(Value::is_null),
            "{parameters}"
        );
    }
    let mut replaced = raven;
    replaced["Database"] = "third".into();
    connection.put(&path, &replaced.to_string());
    let told = strings(&mut connection, "");
    assert_eq!(told["RavenConnectionStrings"]["r"]["Database"], "third");
    for _ in 0..2 {
        let deleted = connection.delete(&format!("{path}?connectionString=r&type=Raven"));
        assert_eq!(deleted.status, 200, "{}", deleted.text());
        assert_eq!(
            strings(&mut connection, "")["RavenConnectionStrings"],
            json!({})
        );
    }
}

#[test]
fn connection_strings_that_lack_something_are_refused() {
    let (_running, mut connection) = start_with_database();
    let path = format!("{DB}/admin/connection-strings");
    let bad = "Raven.Client.Exceptions.BadRequestException";
    let (operation, argument) = (
        "System.InvalidOperationException",
        "System.ArgumentException",
    );
    let unknown = "System.NotSupportedException";
    for (body, kind, part) in [
        (json!({ "Name": "x" }), operation, "ConnectionStringType"),
        (
            json!({ "Type": null, "Name": "x" }),
            operation,
            "ConnectionStringType",
        ),
        (
            json!({ "Type": "Nope", "Name": "x" }),
            unknown,
            "type: Nope",
        ),
        (json!({ "Type": "Olap" }), argument, "'Name'"),
        (json!({ "Type": "Olap", "Name": " " }), argument, "'Name'"),
        (
            json!({ "Type": "Olap", "Name": "n".repeat(513) }),
            argument,
            "513",
        ),
        (
            json!({ "Type": "Raven", "Name": "x" }),
            bad,
            "Database cannot be empty\nTopologyDiscoveryUrls cannot be empty",
        ),
        (
            json!({ "Type": "Raven", "Name": "x", "Database": "d", "TopologyDiscoveryUrls": [] }),
            bad,
            "TopologyDiscoveryUrls cannot be empty",
        ),
        (
            json!({ "Type": "Sql", "Name": "x", "FactoryName": "Zz", "ConnectionString": "c" }),
            bad,
            "Unsupported factory 'Zz'",
        ),
        (
            json!({ "Type": "Sql", "Name": "x", "FactoryName": "Npgsql" }),
            bad,
            "ConnectionString cannot be empty",
        ),
    ] {
        refused(&connection.put(&path, &body.to_string()), kind, part);
    }
    for (parameters, part) in [
        ("?connectionString=x", "'type'"),
        ("?type=Raven", "'connectionString'"),
        ("?connectionString=x&type=Nope", "type: Nope"),
    ] {
        let answer = connection.delete(&format!("{path}{parameters}"));
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains(part), "{}", answer.text());
    }
    let none = strings(&mut connection, "");
    assert!(
        none.as_object()
            .unwrap()
            .values()
            .all(|all| *all == json!({}))
    );
}

#[test]
fn traffic_is_watched_as_configured() {
    let (_running, mut connection) = start();
    let path = "/admin/traffic-watch/configuration";
    let off = json!({
        "TrafficWatchMode": "Off", "Databases": null, "StatusCodes": null,
        "MinimumResponseSizeInBytes": 0, "MinimumRequestSizeInBytes": 0,
        "MinimumDurationInMs": 0, "HttpMethods": null, "ChangeTypes": null,
        "CertificateThumbprints": null,
    });
    assert_eq!(connection.get(path).json(), off);
    let mut on = off.clone();
    on["TrafficWatchMode"] = "ToLogFile".into();
    on["Databases"] = json!(["db1"]);
    on["StatusCodes"] = json!([200, 404]);
    on["HttpMethods"] = json!(["GET"]);
    on["MinimumDurationInMs"] = 5.into();
    assert_eq!(connection.post(path, &on.to_string()).status, 204);
    assert_eq!(connection.get(path).json(), on);
    for (body, part) in [
        (json!({ "TrafficWatchMode": "Zzz" }), "Zzz"),
        (
            json!({ "TrafficWatchMode": "Off", "StatusCodes": ["x"] }),
            "StatusCodes",
        ),
        (
            json!({ "TrafficWatchMode": "Off", "StatusCodes": [70_000] }),
            "StatusCodes",
        ),
        (
            json!({ "TrafficWatchMode": "Off", "MinimumDurationInMs": -1 }),
            "MinimumDurationInMs",
        ),
        (
            json!({ "TrafficWatchMode": "Off", "Databases": "db1" }),
            "Databases",
        ),
        (
            json!({ "TrafficWatchMode": "ToLogFile", "ChangeTypes": ["Queries"] }),
            "ChangeTypes",
        ),
        (
            json!({ "TrafficWatchMode": "ToLogFile", "Persist": true }),
            "Persist",
        ),
    ] {
        let answer = connection.post(path, &body.to_string());
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.text().contains(part), "{}", answer.text());
        assert_eq!(connection.get(path).json(), on, "{body} changed nothing");
    }
    assert_eq!(
        connection
            .post(path, r#"{"TrafficWatchMode":"off"}"#)
            .status,
        204
    );
    assert_eq!(connection.get(path).json(), off);
}

#[test]
fn old_clients_read_and_set_the_log_by_modes() {
    let set = Arc::new(Mutex::new(Vec::new()));
    let seen = set.clone();
    let mut config = config();
    config.log = Some(LogControl::new(
        tracing::level_filters::LevelFilter::WARN,
        move |level| {
            seen.lock().unwrap().push(level);
            true
        },
    ));
    let server = TestServer::start(config);
    let mut connection = server.connect();
    let path = "/admin/logs/configuration";
    let old = "Raven-Client-Version: 5.4.3\r\n";
    let told = connection.exchange("GET", path, old, b"");
    assert_eq!(told.status, 200, "{}", told.text());
    let told = told.json();
    assert_eq!(told["Mode"], "Operations");
    for name in [
        "CurrentMode",
        "Path",
        "UseUtcTime",
        "RetentionTime",
        "RetentionSize",
        "Compress",
    ] {
        assert!(told.as_object().unwrap().contains_key(name), "{name}");
    }
    assert!(told.get("Logs").is_none());
    for new in [
        "",
        "Raven-Client-Version: 6.2.0\r\n",
        "Raven-Client-Version: 7.1.5\r\n",
    ] {
        let told = connection.exchange("GET", path, new, b"").json();
        assert!(
            told["Logs"].is_object() && told.get("Mode").is_none(),
            "{new}"
        );
    }
    let mut post = |body: &str| connection.exchange("POST", path, old, body.as_bytes());
    assert_eq!(
        post(r#"{"Mode":"information","RetentionTime":null}"#).status,
        204
    );
    refused(
        &post(r#"{"Mode":"Zzz"}"#),
        "System.ArgumentException",
        "Operations",
    );
    refused(
        &post(r#"{"Mode":7}"#),
        "System.ArgumentException",
        "Operations",
    );
    let kept = r#"{"Mode":"Operations","RetentionTime":"1.00:00:00"}"#;
    refused(&post(kept), "System.NotSupportedException", "RetentionTime");
    assert_eq!(
        *set.lock().unwrap(),
        [tracing::level_filters::LevelFilter::DEBUG]
    );
}

#[test]
fn a_delay_is_kept_and_bounded() {
    let (_running, mut connection) = start();
    let begun = Instant::now();
    for value in ["0", "20"] {
        let answer = connection.get(&format!("/admin/test/delay?value={value}"));
        assert_eq!((answer.status, answer.body.len()), (200, 0));
    }
    assert!(begun.elapsed().as_millis() >= 20);
    for (value, part) in [
        ("?value=x", "value was: x"),
        ("?value=", "mandatory"),
        ("", "mandatory"),
        ("?value=-1", "600000"),
        ("?value=600001", "600000"),
        ("?value=99999999999999999999", "value was"),
    ] {
        let answer = connection.get(&format!("/admin/test/delay{value}"));
        assert_eq!(answer.status, 400, "{value}");
        assert!(answer.text().contains(part), "{}", answer.text());
    }
}

#[test]
fn compaction_is_checked_and_refused_with_the_offline_step() {
    let (_running, mut connection) = start_with_database();
    let (operation, unsupported) = (
        "System.InvalidOperationException",
        "System.NotSupportedException",
    );
    for (body, kind, part) in [
        (json!({ "Documents": true }), operation, "required field"),
        (
            json!({ "DatabaseName": null, "Documents": true }),
            operation,
            "required field",
        ),
        (
            json!({ "DatabaseName": "no", "Documents": true }),
            operation,
            "doesn't exist",
        ),
        (
            json!({ "DatabaseName": "db1", "Documents": false }),
            operation,
            "Nothing to compact",
        ),
        (
            json!({ "DatabaseName": "db1", "Indexes": [] }),
            operation,
            "Nothing to compact",
        ),
        (
            json!({ "DatabaseName": "DB1", "Documents": true }),
            unsupported,
            "jackdaw compact",
        ),
        (
            json!({ "DatabaseName": "db1", "Indexes": ["I"] }),
            unsupported,
            "jackdaw compact",
        ),
    ] {
        refused(
            &connection.post("/admin/compact", &body.to_string()),
            kind,
            part,
        );
    }
}

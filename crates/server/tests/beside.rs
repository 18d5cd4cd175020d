//! Proves that counters, time series, revisions and compare-exchange go over the wire in the
//! recorded shapes.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Connection, start_with_database};

const BASE: &str = "/databases/db1";

fn batch(connection: &mut Connection, commands: &Value) -> Answer {
    let body = json!({ "Commands": commands }).to_string();
    connection.post(&format!("{BASE}/bulk_docs"), &body)
}

fn put_document(connection: &mut Connection, id: &str) {
    let document = r#"{"n":1,"@metadata":{"@collection":"Users"}}"#;
    let answer = connection.put(&format!("{BASE}/docs?id={id}"), document);
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn increment(id: &str, name: &str, delta: i64) -> Value {
    let operation = json!({ "Type": "Increment", "CounterName": name, "Delta": delta });
    json!({ "DocumentId": id, "Operations": [operation] })
}

#[test]
fn counters_come_back_with_documents_and_alone() {
    let (_running, mut connection) = start_with_database();
    put_document(&mut connection, "users/1");
    let command = json!([{
        "Type": "Counters", "Id": "users/1", "Counters": increment("users/1", "Likes", 5),
    }]);
    let answer = batch(&mut connection, &command);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let result = &answer.json()["Results"][0];
    assert_eq!(result["DocumentChangeVector"], result["ChangeVector"]);
    let counter = json!({
        "DocumentId": "users/1", "CounterName": "Likes", "TotalValue": 5, "CounterValues": null,
    });
    assert_eq!(result["CountersDetail"], json!({ "Counters": [counter] }));

    let path = format!("{BASE}/counters?docId=users/1&counter=likes&counter=none&full=true");
    let found = connection.get(&path).json();
    assert_eq!(found["Counters"][0]["TotalValue"], 5);
    assert_eq!(
        found["Counters"][0]["CounterValues"]
            .as_object()
            .unwrap()
            .len(),
        1
    );
    assert!(found["Counters"][1].is_null());

    let loaded = connection
        .get(&format!("{BASE}/docs?id=users/1&counter=@all_counters"))
        .json();
    let metadata = &loaded["Results"][0]["@metadata"];
    assert_eq!(metadata["@flags"], "HasCounters");
    assert_eq!(metadata["@counters"], json!(["Likes"]));
    assert_eq!(loaded["CounterIncludes"]["users/1"][0]["TotalValue"], 5);
}

#[test]
fn counters_of_a_missing_document_and_overflows_have_the_types_clients_know() {
    let (_running, mut connection) = start_with_database();
    let mut post = |id: &str, delta: i64| {
        let body = json!({ "Documents": [increment(id, "x", delta)] }).to_string();
        connection.post(&format!("{BASE}/counters"), &body)
    };
    let lost = post("zz/1", 1);
    assert_eq!(lost.status, 400);
    let kind = "Raven.Client.Exceptions.Documents.DocumentDoesNotExistException";
    assert_eq!(lost.json()["Type"], kind);
    put_document(&mut connection, "users/1");
    let mut post = |delta: i64| {
        let body = json!({ "Documents": [increment("users/1", "x", delta)] }).to_string();
        connection.post(&format!("{BASE}/counters"), &body)
    };
    assert_eq!(post(i64::MAX).status, 200);
    let kind = "Raven.Client.Exceptions.Documents.Counters.CounterOverflowException";
    assert_eq!(post(1).json()["Type"], kind);
}

#[test]
fn time_series_come_back_in_ranges_pages_and_with_documents() {
    let (_running, mut connection) = start_with_database();
    put_document(&mut connection, "users/1");
    let appends: Vec<Value> = (0..5)
        .map(|minute| {
            let at = format!("2026-11-21T00:0{minute}:00.0000000Z");
            json!({ "Timestamp": at, "Values": [minute, 0.5], "Tag": "watch" })
        })
        .collect();
    let body = json!({ "Name": "Heart", "Appends": appends }).to_string();
    let path = format!("{BASE}/timeseries?docId=users/1");
    assert_eq!(connection.post(&path, &body).status, 204);

    let all = connection.get(&format!("{path}&name=heart"));
    let first = concat!(
        r#"{"From":null,"To":null,"Entries":[{"Timestamp":"2026-11-21T00:00:00.0000000Z","#,
        r#""Tag":"watch","Values":[0,0.5],"IsRollup":false}"#
    );
    assert!(all.text().starts_with(first), "{}", all.text());
    assert_eq!(all.json()["TotalResults"], 5);
    let page = connection
        .get(&format!("{path}&name=Heart&start=1&pageSize=2"))
        .json();
    assert_eq!(page["From"], "2026-11-21T00:01:00.0000000Z");
    assert_eq!(page["To"], "2026-11-21T00:02:00.0000000Z");
    assert_eq!(page["Entries"].as_array().unwrap().len(), 2);
    assert_eq!(connection.get(&format!("{path}&name=none")).status, 404);

    let from = "2026-11-21T00:01:00.0000000Z";
    let ranges = format!("{BASE}/timeseries/ranges?docId=users/1&name=Heart&from={from}&to={from}");
    let ranges = connection.get(&ranges).json();
    assert_eq!(
        ranges["Values"]["Heart"][0]["Entries"][0]["Values"],
        json!([1, 0.5])
    );
    let loaded =
        format!("{BASE}/docs?id=users/1&timeseriescount=Heart&countType=Last&countValue=2");
    let loaded = connection.get(&loaded).json();
    let included = &loaded["TimeSeriesIncludes"]["users/1"]["Heart"][0];
    assert_eq!(included["From"], "2026-11-21T00:03:00.0000000Z");
    let statistics = connection
        .get(&format!("{BASE}/timeseries/stats?docId=users/1"))
        .json();
    assert_eq!(statistics["TimeSeries"][0]["NumberOfEntries"], 5);
}

#[test]
fn revisions_follow_their_configuration() {
    let (_running, mut connection) = start_with_database();
    let configuration = format!("{BASE}/revisions/config");
    assert_eq!(connection.get(&configuration).status, 404);
    let body = r#"{"Default":{"Disabled":false,"MinimumRevisionsToKeep":5}}"#;
    let set = connection.post(&format!("{BASE}/admin/revisions/config"), body);
    assert!(set.json()["RaftCommandIndex"].is_i64(), "{}", set.text());
    assert_eq!(
        connection.get(&configuration).json()["Default"]["MinimumRevisionsToKeep"],
        5
    );
    put_document(&mut connection, "users/1");
    put_document(&mut connection, "users/1");
    let path = format!("{BASE}/revisions?id=users/1");
    let found = connection.get(&path);
    assert_eq!(found.json()["TotalResults"], 2);
    let flags = &found.json()["Results"][0]["@metadata"]["@flags"];
    assert_eq!(flags, "HasRevisions, Revision");
    let vector = found.json()["Results"][1]["@metadata"]["@change-vector"].clone();
    let one = format!("{BASE}/revisions?changeVector={}", vector.as_str().unwrap());
    assert_eq!(
        connection.get(&one).json()["Results"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        connection
            .get(&format!("{BASE}/revisions?changeVector=A:1-x"))
            .status,
        404
    );
    let count = connection
        .get(&format!("{BASE}/revisions/count?id=users/1"))
        .json();
    assert_eq!(count, json!({ "RevisionsCount": 2 }));
    assert_eq!(
        connection.delete(&format!("{BASE}/docs?id=users/1")).status,
        204
    );
    let bin = connection.get(&format!("{BASE}/revisions/bin")).json();
    assert_eq!(bin["Results"][0]["@metadata"]["@id"], "users/1");
    let revert = json!({ "IdToChangeVector": { "users/1": vector } }).to_string();
    let reverted = connection.post(&format!("{BASE}/revisions/revert/docs"), &revert);
    assert_eq!(reverted.status, 204, "{}", reverted.text());
    assert_eq!(
        connection.get(&format!("{BASE}/docs?id=users/1")).status,
        200
    );
}

#[test]
fn compare_exchange_answers_as_recorded() {
    let (_running, mut connection) = start_with_database();
    let path = format!("{BASE}/cmpxchg");
    let made = connection
        .put(&format!("{path}?key=K&index=0"), r#"{"Object":{"a":1}}"#)
        .json();
    assert_eq!(made["Successful"], true);
    assert_eq!(made["Value"], json!({ "Object": { "a": 1 } }));
    let refused = connection
        .put(&format!("{path}?key=k&index=0"), r#"{"Object":2}"#)
        .json();
    assert_eq!(
        (&refused["Successful"], &refused["Index"]),
        (&json!(false), &made["Index"])
    );
    let found = connection.get(&format!("{path}?key=k&key=zz")).json();
    assert_eq!(
        found["Results"][1],
        json!({ "Key": "zz", "Value": null, "Index": -1 })
    );
    assert_eq!(connection.get(&format!("{path}?key=zz")).status, 404);
    assert_eq!(
        connection.get(&format!("{path}?startsWith=q")).json(),
        json!({ "Results": [] })
    );
    let without = connection.put(&format!("{path}?key=k"), "{}").json();
    assert_eq!(without["Type"], "System.ArgumentException");
}

#[test]
fn a_cluster_wide_batch_guards_documents_and_tells_conflicts() {
    let (_running, mut connection) = start_with_database();
    let body = |commands: Value| {
        json!({ "Commands": commands, "TransactionMode": "ClusterWide" }).to_string()
    };
    let put = json!({ "Type": "PUT", "Id": "a/1", "ChangeVector": null, "Document": { "n": 1 } });
    let exchange = json!({
        "Type": "CompareExchangePUT", "Id": "k", "Index": 0, "Document": { "Object": 1 },
    });
    let bulk = format!("{BASE}/bulk_docs");
    let stored = connection.post(&bulk, &body(json!([put, exchange])));
    assert_eq!(stored.status, 201, "{}", stored.text());
    let index = stored.json()["TransactionIndex"].as_i64().unwrap();
    assert!(index > 0);
    assert_eq!(stored.json()["Results"][1]["Index"], index);
    let again = connection.post(&bulk, &body(json!([put])));
    assert_eq!(again.status, 409);
    let kind = "Raven.Client.Exceptions.ClusterTransactionConcurrencyException";
    assert_eq!(again.json()["Type"], kind);
    assert_eq!(again.json()["ConcurrencyViolations"][0]["Id"], "a/1");
    let answer = connection.get(&format!("{BASE}/docs?id=a/1&txMode=ClusterWide"));
    assert!(answer.header("etag").unwrap().starts_with("\"Hash-"));
    let loaded = answer.json();
    // Of what is not there such a session hears nothing.
    let others = connection.get(&format!("{BASE}/docs?id=no/1&id=a/1&txMode=ClusterWide"));
    assert_eq!(others.json()["Results"], loaded["Results"]);
    let nothing = connection.get(&format!("{BASE}/docs?id=no/1&txMode=ClusterWide"));
    assert_eq!(
        (nothing.status, &nothing.json()["Results"]),
        (200, &json!([]))
    );
    let metadata = &loaded["Results"][0]["@metadata"];
    assert_eq!(metadata["@flags"], "FromClusterTransaction");
    let vector = &metadata["@change-vector"];
    connection.put(&format!("{BASE}/docs?id=f/1"), r#"{"key":"k"}"#);
    let included = |mode: &str| format!("{BASE}/docs?id=f/1&cmpxchg=key{mode}");
    let found = connection.get(&included("&txMode=ClusterWide")).json();
    let found = &found["CompareExchangeValueIncludes"]["k"]["ChangeVector"];
    let start = format!("TRXN:{index}-");
    assert!(found.as_str().unwrap().starts_with(&start), "{found}");
    let found = connection.get(&included("")).json();
    let found = &found["CompareExchangeValueIncludes"]["k"];
    assert_eq!(
        (&found["Index"], found.get("ChangeVector")),
        (&json!(index), None)
    );
    let mut known = put.clone();
    known["OriginalChangeVector"] = vector.clone();
    assert_eq!(connection.post(&bulk, &body(json!([known]))).status, 201);
    assert!(stored.json()["Results"][0]["@collection"].is_null());
    let guard = json!({
        "Type": "CompareExchangePUT", "Id": "rvn-Atomic/a/1", "Index": 0, "Document": {},
    });
    let refused = connection.post(&bulk, &body(json!([guard])));
    let kind = "Raven.Client.Exceptions.CompareExchangeInvalidKeyException";
    assert_eq!(
        (refused.status, &refused.json()["Type"]),
        (400, &json!(kind))
    );
}

#[test]
fn only_series_named_for_it_are_incremented() {
    let (_running, mut connection) = start_with_database();
    connection.put(&format!("{BASE}/docs?id=users/1"), "{}");
    let path = format!("{BASE}/timeseries?docId=users/1");
    let mut increment = |name: &str| {
        let at = "2026-11-21T00:00:00.0000000Z";
        let one = json!({ "Name": name, "Increments": [{ "Timestamp": at, "Values": [1] }] });
        connection.post(&path, &one.to_string())
    };
    assert_eq!(increment("inc:views").status, 204);
    let refused = increment("views");
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["Type"], "System.InvalidOperationException");
}

#[test]
fn a_bulk_insert_carries_counters_and_time_series() {
    let (_running, mut connection) = start_with_database();
    let put = json!({ "Id": "users/1", "Type": "PUT", "Document": {} });
    let counters = json!({
        "Id": "users/1", "Type": "Counters", "Counters": increment("users/1", "c", 2),
    });
    let series = json!({
        "Id": "users/1", "Type": "TimeSeriesBulkInsert", "TimeSeries": {
            "Name": "s", "TimeFormat": "UnixTimeInMs", "Appends": [[1000, 2, 1.5, 2, "tag"]],
        },
    });
    let body = json!([put, counters, series]).to_string();
    let answer = connection.post(&format!("{BASE}/bulk_insert?id=1"), &body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let loaded = connection.get(&format!("{BASE}/docs?id=users/1")).json();
    let metadata = &loaded["Results"][0]["@metadata"];
    assert_eq!(metadata["@flags"], "HasCounters, HasTimeSeries");
    let entry = connection
        .get(&format!("{BASE}/timeseries?docId=users/1&name=s"))
        .json();
    assert_eq!(entry["Entries"][0]["Values"], json!([1.5, 2]));
    assert_eq!(entry["Entries"][0]["Tag"], "tag");
}

#[test]
fn hilo_goes_on_although_its_document_is_in_another_collection() {
    let (_running, mut connection) = start_with_database();
    let document = r#"{"Max":32,"@metadata":{"@collection":"Mine"}}"#;
    let stored = connection.put(&format!("{BASE}/docs?id=Raven/Hilo/users"), document);
    assert_eq!(stored.status, 201);
    let next = connection.get(&format!("{BASE}/hilo/next?tag=users"));
    assert_eq!(next.status, 201, "{}", next.text());
    assert_eq!(next.json()["Low"], 33);
}

#[test]
fn identities_count_up_from_their_seed() {
    let (_running, mut connection) = start_with_database();
    let seed = connection.post(&format!("{BASE}/identity/seed?name=users&value=41"), "");
    assert_eq!(seed.json(), json!({ "NewSeedValue": 41 }));
    let next = connection.post(&format!("{BASE}/identity/next?name=users%7C"), "");
    assert_eq!(next.json(), json!({ "NewIdentityValue": 42 }));
}

#[test]
fn queries_include_what_rows_have_beside_them() {
    let (_running, mut connection) = start_with_database();
    put_document(&mut connection, "users/1");
    let counters = json!({ "Documents": [increment("users/1", "Likes", 5)] }).to_string();
    assert_eq!(
        connection
            .post(&format!("{BASE}/counters"), &counters)
            .status,
        200
    );
    let series =
        r#"{"Name":"Heart","Appends":[{"Timestamp":"2026-11-21T00:00:00.0000000Z","Values":[1]}]}"#;
    let path = format!("{BASE}/timeseries?docId=users/1");
    assert_eq!(connection.post(&path, series).status, 204);
    let document = r#"{"friend":"users/1","key":"K","n":7,"@metadata":{"@collection":"Friends"}}"#;
    connection.put(&format!("{BASE}/docs?id=friends/1"), document);
    connection.put(&format!("{BASE}/cmpxchg?key=k&index=0"), r#"{"Object":7}"#);
    let mut ask = |query: &str| {
        let body = json!({ "Query": query, "QueryParameters": { "p0": ["likes", "none"] } });
        let answer = connection.post(&format!("{BASE}/queries"), &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    };
    let all = ask("from Users include counters(), timeseries('heart', null, null)");
    assert_eq!(all["CounterIncludes"]["users/1"][0]["TotalValue"], 5);
    assert_eq!(all["IncludedCounterNames"]["users/1"], json!([]));
    let entries = &all["TimeSeriesIncludes"]["users/1"]["heart"][0]["Entries"];
    assert_eq!(entries[0]["Values"], json!([1]));
    let scripted = ask(
        "declare function with_it(f) { includes.cmpxchg('k'); return f; } \
         from Friends as f select with_it(f)",
    );
    assert_eq!(
        scripted["CompareExchangeValueIncludes"]["k"]["Value"]["Object"],
        7
    );
    let rows = ask("from Users as u select timeseries(from u.heart) as S, 'x' as X");
    assert_eq!(
        rows["Results"][0]["S"]["Results"][0]["Values"],
        json!([1.0])
    );
    let named = ask("from Friends as f where n = cmpxchg('k') \
         include counters(f.friend, $p0), cmpxchg('key')");
    assert_eq!(
        named["CounterIncludes"]["users/1"][0]["CounterName"],
        "likes"
    );
    assert!(named["CounterIncludes"]["users/1"][1].is_null());
    assert_eq!(
        named["CompareExchangeValueIncludes"]["K"]["Value"]["Object"],
        7
    );
}

#[test]
fn lists_of_ids_are_included_one_by_one() {
    let (_running, mut connection) = start_with_database();
    put_document(&mut connection, "users/1");
    put_document(&mut connection, "users/2");
    let document = r#"{"friends":["users/1","users/2"]}"#;
    connection.put(&format!("{BASE}/docs?id=friends/1"), document);
    let loaded = connection
        .get(&format!("{BASE}/docs?id=friends/1&include=friends"))
        .json();
    assert_eq!(loaded["Includes"].as_object().unwrap().len(), 2);
}

#[test]
fn loads_include_revisions_by_change_vector_and_by_time() {
    let (_server, mut connection) = start_with_database();
    let configuration = r#"{"Default":{"Disabled":false}}"#;
    let path = format!("{BASE}/admin/revisions/config");
    assert_eq!(connection.post(&path, configuration).status, 200);
    let store = |connection: &mut Connection, mut body: Value| {
        body["@metadata"] = json!({ "@collection": "Users" });
        let stored = connection.put(&format!("{BASE}/docs?id=users/1"), &body.to_string());
        stored.json()["ChangeVector"].as_str().unwrap().to_owned()
    };
    let first = store(&mut connection, json!({ "Age": 1 }));
    store(&mut connection, json!({ "Age": 2, "Earlier": [first] }));
    let path = format!("{BASE}/docs?id=users/1&revisions=Earlier");
    let loaded = connection.get(&path).json();
    let included = &loaded["RevisionIncludes"][0];
    assert_eq!(included["Id"], "users/1");
    assert_eq!(included["ChangeVector"], first);
    assert_eq!(included["Revision"]["Age"], 1);
    let path = format!("{BASE}/docs?id=users/1&revisionsBefore=2999-01-01T00:00:00.0000000Z");
    let loaded = connection.get(&path).json();
    assert_eq!(loaded["RevisionIncludes"][0]["Revision"]["Age"], 2);
    assert_eq!(
        loaded["RevisionIncludes"][0]["Before"],
        "2999-01-01T00:00:00.0000000Z"
    );
}

#[test]
fn policies_of_time_series_are_kept_in_order_and_refused_when_they_do_not_follow_each_other() {
    let (_running, mut connection) = start_with_database();
    let policy = |name: &str, aggregation: i64, retention: i64| {
        let span = |seconds: i64| json!({ "Value": seconds, "Unit": "Second" });
        let aggregation = span(aggregation);
        let retention = span(retention);
        json!({ "Name": name, "AggregationTime": aggregation, "RetentionTime": retention })
            .to_string()
    };
    let path = format!("{BASE}/admin/timeseries/policy?collection=");
    let removed = connection.delete(&format!("{path}Cars&name=zz"));
    assert_eq!(
        (removed.status, removed.text()),
        (200, ""),
        "there is no configuration"
    );
    for body in [
        policy("ByMinute", 60, 10_800),
        policy("By15Seconds", 15, 60),
        policy("ByHour", 3_600, 172_800),
    ] {
        let put = connection.put(&format!("{path}Users"), &body);
        assert_eq!(put.status, 200, "{}", put.text());
        assert!(put.json()["RaftCommandIndex"].is_u64());
    }
    let names = |connection: &mut support::Connection| {
        let record = connection.get("/admin/databases?name=db1").json();
        let users = &record["TimeSeries"]["Collections"]["Users"];
        let policies = users["Policies"].as_array().unwrap().iter();
        let names = policies.map(|policy| policy["Name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        names(&mut connection),
        ["By15Seconds", "ByMinute", "ByHour"]
    );
    let refused = connection.delete(&format!("{path}Users&name=ByMinute"));
    assert_eq!(refused.json()["Type"], "System.InvalidOperationException");
    assert_eq!(
        refused.json()["Message"],
        "The policy 'By15Seconds' has a retention time of '60 seconds' but should be aggregated by \
         policy 'ByHour' with the aggregation time frame of 60 minutes"
    );
    let raw = connection.put(&format!("{path}users"), &policy("rawpolicy", 0, 10));
    assert_eq!(raw.status, 400, "{}", raw.text());
    let raw = r#"{"Name":"rawpolicy","RetentionTime":{"Value":120,"Unit":"Second"}}"#;
    assert_eq!(connection.put(&format!("{path}users"), raw).status, 200);
    let replaced = connection.put(&format!("{path}Users"), &policy("by15seconds", 30, 120));
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    assert_eq!(
        connection
            .delete(&format!("{path}USERS&name=BYHOUR"))
            .status,
        200
    );
    assert_eq!(names(&mut connection), ["by15seconds", "ByMinute"]);
    let found = connection.get(&format!("{BASE}/timeseries/config")).json();
    let users = &found["Collections"]["Users"];
    assert_eq!(users["RawPolicy"]["RetentionTime"]["Value"], 120);
    assert_eq!(
        connection
            .delete(&format!("{path}Users&name=RawPolicy"))
            .status,
        200
    );
    for (path, body) in [
        ("policy?collection=Users", "{}"),
        ("policy", "{}"),
        ("config", "[]"),
    ] {
        let wrong = connection.put(&format!("{BASE}/admin/timeseries/{path}"), body);
        assert!(
            (400..500).contains(&wrong.status),
            "{path}: {}",
            wrong.status
        );
    }
    let whole = format!(
        r#"{{"Collections":{{"Users":{{"Policies":[{}]}}}}}}"#,
        policy("P", 60, 60)
    );
    let set = connection.post(&format!("{BASE}/admin/timeseries/config"), &whole);
    assert_eq!(set.status, 200, "{}", set.text());
    assert_eq!(names(&mut connection), ["P"]);
}

#[test]
fn deleting_by_query_frees_guards_and_expired_values_are_refused_when_they_are_no_dates() {
    let (_running, mut connection) = start_with_database();
    let put = json!({ "TransactionMode": "ClusterWide", "Commands": [
        { "Type": "PUT", "Id": "d/1", "Document": { "@metadata": { "@collection": "Ds" } } },
    ] })
    .to_string();
    let bulk = "/databases/db1/bulk_docs";
    assert_eq!(connection.post(bulk, &put).status, 201);
    assert_eq!(connection.post(bulk, &put).status, 409);
    let query = r#"{"Query":"from Ds"}"#;
    let path = "/databases/db1/queries";
    let started = connection
        .exchange("DELETE", path, "", query.as_bytes())
        .json();
    let state = format!(
        "/databases/db1/operations/state?id={}",
        started["OperationId"]
    );
    while connection.get(&state).json()["Status"] == "InProgress" {
        std::thread::yield_now();
    }
    assert_eq!(connection.post(bulk, &put).status, 201);
    let value = r#"{"Object":1,"@metadata":{"@expires":"soon"}}"#;
    let answer = connection.put("/databases/db1/cmpxchg?key=k&index=0", value);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(
        answer.json()["Type"],
        "Raven.Server.Rachis.RachisApplyException"
    );
    let found = connection.get("/databases/db1/cmpxchg?key=k");
    assert!(!found.text().contains("soon"), "{}", found.text());
}

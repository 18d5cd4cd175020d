//! Proves that documents are patched by scripts and operations, one by one, in batches and by
//! query, with the statuses and bodies that clients were recorded with.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::{Answer, Connection, TestServer, start_with_database};

const DOCS: &str = "/databases/db1/docs?id=";
const SCRIPT_FAILED: &str = "Raven.Client.Exceptions.Documents.Patching.JavaScriptException";

fn start() -> (TestServer, Connection) {
    let (server, mut connection) = start_with_database();
    for (id, body) in [
        (
            "a/1",
            r#"{"F":1,"Big":9007199254740993,"@metadata":{"@collection":"Cars","k":1}}"#,
        ),
        (
            "a/2",
            r#"{"F":2,"L":[1],"@metadata":{"@collection":"Cars"}}"#,
        ),
    ] {
        assert_eq!(connection.put(&format!("{DOCS}{id}"), body).status, 201);
    }
    (server, connection)
}

fn send(connection: &mut Connection, target: &str, body: &Value) -> Answer {
    connection.exchange("PATCH", target, "", body.to_string().as_bytes())
}

fn patch(connection: &mut Connection, id: &str, script: &str) -> Answer {
    let body = json!({ "Patch": { "Script": script, "Values": { "v": 7 } } });
    send(connection, &format!("{DOCS}{id}"), &body)
}

fn load(connection: &mut Connection, id: &str) -> Value {
    let answer = connection.get(&format!("{DOCS}{id}"));
    assert_eq!(answer.status, 200, "{id}");
    let mut document = answer.json()["Results"][0].clone();
    document.as_object_mut().unwrap().remove("@metadata");
    document
}

fn batch(connection: &mut Connection, commands: Value) -> Answer {
    let body = json!({ "Commands": commands });
    connection.post("/databases/db1/bulk_docs", &body.to_string())
}

/// The state of the operation that `answer` began, once it is final.
fn wait(connection: &mut Connection, answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let number = answer.json()["OperationId"].as_i64().unwrap();
    let target = format!("/databases/db1/operations/state?id={number}");
    loop {
        let state = connection.get(&target).json();
        if state["Status"] != "InProgress" {
            return state;
        }
    }
}

#[test]
fn a_script_changes_a_document_and_keeps_what_it_did_not_touch() {
    let (_server, mut connection) = start();
    let answer = patch(&mut connection, "a/1", "this.F = args.v; this.G = id(this)");
    assert_eq!(answer.status, 200);
    let text = answer.text();
    let modified = concat!(
        r#""ModifiedDocument":{"F":7,"Big":9007199254740993,"G":"a/1","#,
        r#""@metadata":{"@collection":"Cars","k":1}}"#
    );
    assert!(
        text.starts_with(r#"{"Status":"Patched","#) && text.contains(modified),
        "{text}"
    );
    assert_eq!(answer.json()["Collection"], "Cars");
    assert!(
        connection
            .get(&format!("{DOCS}a/1"))
            .text()
            .contains("9007199254740993")
    );
}

#[test]
fn a_script_that_changes_nothing_writes_nothing() {
    let (_server, mut connection) = start();
    let before = connection.get(&format!("{DOCS}a/1")).text().to_owned();
    let answer = patch(&mut connection, "a/1", "this.F = 1");
    assert_eq!(answer.json()["Status"], "NotModified");
    assert!(answer.json().get("ChangeVector").is_none());
    assert_eq!(connection.get(&format!("{DOCS}a/1")).text(), before);
}

#[test]
fn statuses_tell_missing_created_and_skipped() {
    let (_server, mut connection) = start();
    assert_eq!(patch(&mut connection, "no/1", "this.a = 1").status, 404);
    let body = json!({
        "Patch": { "Script": "this.a = 1" },
        "PatchIfMissing": { "Script": "this.b = args.v", "Values": { "v": 3 } },
    });
    let answer = send(&mut connection, &format!("{DOCS}no/1"), &body);
    assert_eq!(answer.status, 201);
    assert_eq!(answer.json()["Status"], "Created");
    assert_eq!(answer.json()["ModifiedDocument"], json!({ "b": 3 }));
    let script = json!({ "Patch": { "Script": "this.q = 1" } }).to_string();
    let expected = "If-Match: \"A:999-x\"\r\n";
    let target = format!("{DOCS}a/1");
    let refused = connection.exchange("PATCH", &target, expected, script.as_bytes());
    assert_eq!(refused.status, 409);
    let message = "Could not patch document 'a/1' because non current change vector was used";
    assert_eq!(refused.json()["Message"], message);
    let target = format!("{target}&skipPatchIfChangeVectorMismatch=true");
    let skipped = connection.exchange("PATCH", &target, expected, script.as_bytes());
    assert_eq!(skipped.status, 304);
}

#[test]
fn a_test_tells_what_would_happen_and_leaves_everything() {
    let (_server, mut connection) = start();
    let script = "this.F = 2; output(this.F); put('x/1', {q: 1}); load('a/2'); del('zz')";
    let body = json!({ "Patch": { "Script": script } });
    let answer = send(
        &mut connection,
        &format!("{DOCS}a/1&debug=true&test=true"),
        &body,
    );
    let told = answer.json();
    assert_eq!(told["Status"], "Patched");
    assert_eq!(told["OriginalDocument"]["F"], 1);
    assert_eq!(told["Debug"]["Info"], json!(["2"]));
    let actions = &told["Debug"]["Actions"];
    assert_eq!(
        actions["LoadDocument"],
        json!([{ "Id": "a/2", "Exists": true }])
    );
    assert_eq!(
        actions["PutDocument"],
        json!([{ "Id": "x/1", "Data": { "q": 1 } }])
    );
    assert_eq!(actions["DeleteDocument"], json!(["zz"]));
    assert_eq!(load(&mut connection, "a/1")["F"], 1);
    assert_eq!(connection.get(&format!("{DOCS}x/1")).status, 404);
}

#[test]
fn scripts_load_put_and_delete_in_their_transaction() {
    let (_server, mut connection) = start();
    let script = "this.Other = load('A/2').L; put('n/', {a: this.Big}); del('a/2');
        this.Gone = load('a/2')";
    assert_eq!(patch(&mut connection, "a/1", script).status, 200);
    assert_eq!(connection.get(&format!("{DOCS}a/2")).status, 404);
    assert_eq!(load(&mut connection, "a/1")["Other"], json!([1]));
    let made = connection.get("/databases/db1/docs?startsWith=n/");
    assert!(
        made.text().contains(r#""a":9007199254740993"#),
        "{}",
        made.text()
    );
}

#[test]
fn failing_scripts_tell_where_and_change_nothing() {
    let (_server, mut connection) = start();
    for (script, kind, message) in [
        (
            "put('x/1', {}); throw 'x'",
            SCRIPT_FAILED,
            "Script failed for document ID 'a/1'. x",
        ),
        (
            "while (true) {}",
            SCRIPT_FAILED,
            "The maximum number of statements executed have been",
        ),
        ("nope.y = 1", SCRIPT_FAILED, "At 1:1 Script failed"),
        (
            "this.a = ;",
            "Raven.Client.Exceptions.Documents.Patching.JavaScriptParseException",
            "Failed to parse: At 1:10",
        ),
    ] {
        let answer = patch(&mut connection, "a/1", script);
        assert_eq!(answer.status, 400, "{script}");
        assert_eq!(answer.json()["Type"], kind, "{script}");
        let told = answer.json()["Message"].as_str().unwrap().to_owned();
        assert!(told.starts_with(message), "{told}");
    }
    assert_eq!(connection.get(&format!("{DOCS}x/1")).status, 404);
    let empty = send(
        &mut connection,
        &format!("{DOCS}a/1"),
        &json!({ "Patch": {} }),
    );
    assert_eq!(
        empty.json()["Message"],
        "Missing 'Script' property on 'Patch'"
    );
}

#[test]
fn a_batch_patches_what_it_put_and_fails_as_a_whole() {
    let (_server, mut connection) = start();
    let script = |text: &str| json!({ "Script": text });
    let answer = batch(
        &mut connection,
        json!([
            { "Type": "PUT", "Id": "n/1", "Document": { "a": 1 } },
            { "Type": "PATCH", "Id": "n/1", "ChangeVector": null, "Patch": script("this.a++"),
              "ReturnDocument": true },
            { "Type": "PATCH", "Id": "no/2", "Patch": script("this.a = 1") },
            { "Type": "PATCH", "Id": "n/3", "Patch": script("this.a = 1"),
              "CreateIfMissing": { "q": 1, "@metadata": { "@collection": "As" } } },
            { "Type": "BatchPATCH", "Ids": [{ "Id": "a/1" }, { "Id": "a/2" }],
              "Patch": script("this.F = 9") },
            { "Type": "JsonPatch", "Id": "a/2", "ReturnDocument": true, "JsonPatch":
              { "Operations": [{ "op": "add", "path": "/L/-", "value": 2 }] } },
        ]),
    );
    assert_eq!(answer.status, 201, "{}", answer.text());
    let results = answer.json()["Results"].clone();
    assert_eq!(results.as_array().unwrap().len(), 6);
    assert_eq!(results[1]["PatchStatus"], "Patched");
    assert_eq!(results[1]["ModifiedDocument"]["a"], 2);
    assert_eq!(results[2]["PatchStatus"], "DocumentDoesNotExist");
    assert_eq!(results[2]["ChangeVector"], Value::Null);
    assert_eq!(results[3]["PatchStatus"], "Created");
    assert_eq!(results[4], json!({ "Type": "BatchPATCH" }));
    assert_eq!(results[5]["ModifiedDocument"]["L"], json!([1, 2]));
    assert_eq!(load(&mut connection, "n/3"), json!({ "q": 1 }));
    assert_eq!(load(&mut connection, "a/1")["F"], 9);
    let failing = batch(
        &mut connection,
        json!([
            { "Type": "PUT", "Id": "n/9", "Document": {} },
            { "Type": "PATCH", "Id": "a/1", "Patch": script("throw 'no'") },
        ]),
    );
    assert_eq!(failing.json()["Type"], SCRIPT_FAILED);
    assert_eq!(connection.get(&format!("{DOCS}n/9")).status, 404);
}

#[test]
fn json_patches_tell_what_they_could_not_reach() {
    let (_server, mut connection) = start();
    let target = "/databases/db1/json-patch?id=";
    let add = json!({ "Operations": [{ "op": "add", "path": "/jp", "value": 1.10 }] });
    let answer = send(&mut connection, &format!("{target}a/1"), &add);
    assert_eq!(answer.json()["Status"], "Patched");
    assert!(
        answer
            .text()
            .contains(r#""Big":9007199254740993,"jp":1.1,"#),
        "{}",
        answer.text()
    );
    let remove = json!({ "Operations": [{ "op": "remove", "path": "/nope/q" }] });
    let answer = send(&mut connection, &format!("{target}a/1"), &remove);
    assert_eq!(answer.status, 400);
    let error = answer.json()["Error"].as_str().unwrap().to_owned();
    assert!(
        error.contains("Failed to fetch 'nope' in path '/nope/q'"),
        "{error}"
    );
    let missing = send(&mut connection, &format!("{target}zz"), &add);
    assert_eq!(missing.status, 400);
}

#[test]
fn a_query_patches_everything_it_finds() {
    let (_server, mut connection) = start();
    let target = "/databases/db1/queries?details=true&allowStale=false";
    let query = "declare function twice(x) { return x * 2 }
        from Cars as c where c.F >= 1 update { c.F = twice(this.F) + $q; put('log/', {}) }";
    let body = json!({ "Query": { "Query": query, "QueryParameters": { "q": 10 } } });
    let answer = send(&mut connection, target, &body);
    let state = wait(&mut connection, &answer);
    assert_eq!(state["Status"], "Completed", "{state}");
    assert_eq!(state["Result"]["Total"], 2);
    let detail = &state["Result"]["Details"][0];
    assert_eq!(
        (&detail["Id"], &detail["Status"]),
        (&json!("a/1"), &json!("Patched"))
    );
    assert_eq!(load(&mut connection, "a/1")["F"], 12);
    assert_eq!(load(&mut connection, "a/2")["F"], 14);
    let body = json!({ "Query": { "Query": "from Cars update { this.F = 0 } limit 1" } });
    let answer = send(&mut connection, target, &body);
    assert_eq!(wait(&mut connection, &answer)["Result"]["Total"], 1);
}

#[test]
fn an_update_sees_what_its_query_loads() {
    let (_server, mut connection) = start();
    for (id, body) in [
        (
            "t/1",
            r#"{"Title":"One","Next":"t/2","Tags":["t/2","none","t/1",null,7]}"#,
        ),
        ("t/2", r#"{"Title":"Two","Next":"none"}"#),
        ("p/1", r#"{"Ref":"t/1","@metadata":{"@collection":"Pas"}}"#),
        ("p/2", r#"{"Ref":"none","@metadata":{"@collection":"Pas"}}"#),
        ("p/3", r#"{"Ref":null,"@metadata":{"@collection":"Pas"}}"#),
        ("p/4", r#"{"@metadata":{"@collection":"Pas"}}"#),
    ] {
        assert_eq!(connection.put(&format!("{DOCS}{id}"), body).status, 201);
    }
    let mut update = |query: &str| {
        let asked =
            json!({ "Query": query, "QueryParameters": { "id": "t/2", "ids": ["t/2", "t/1"] } });
        let target = "/databases/db1/queries?allowStale=false";
        let answer = send(&mut connection, target, &json!({ "Query": asked }));
        let state = wait(&mut connection, &answer);
        assert_eq!(state["Status"], "Completed", "{query}: {state}");
        ["p/1", "p/2", "p/3", "p/4"].map(|id| load(&mut connection, id)["X"].clone())
    };
    let title = json!("One");
    assert_eq!(
        update("from Pas as x load x.Ref as r update { x.X = r ? r.Title : null }"),
        [title.clone(), json!(null), json!(null), json!(null)]
    );
    assert_eq!(
        update("from Pas load Ref as r update { this.X = r === null ? 0 : r.Title }"),
        [title, json!(0), json!(0), json!(0)]
    );
    let chained = "from Pas as x load x.Ref as r, r.Next as n, n.Next as gone
        update { x.X = [r, n, gone].map(one => one?.Title ?? null) }";
    let nothing = json!([null, null, null]);
    assert_eq!(
        update(chained),
        [
            json!(["One", "Two", null]),
            nothing.clone(),
            nothing.clone(),
            nothing
        ]
    );
    let lists = "from Pas as x load x.Ref as r, r.Tags[] as tags[], tags[].Next as further[]
        update { x.X = [tags.map(tag => tag.Title), further.length] }";
    assert_eq!(update(lists)[0], json!([["Two", "One"], 1]));
    let given = "from Pas as x load $id as one, 't/1' as two, $ids as all[], null as no
        update { x.X = [one.Title, two.Title, all.length, no] }";
    assert_eq!(update(given)[3], json!(["Two", "One", 2, null]));
    // A change of the document does not change what was loaded for it.
    let changed = "from Pas as x load x.Ref as r update { x.Ref = 't/2'; x.X = r?.Title ?? 'no' }";
    assert_eq!(update(changed)[0], "One");
}

#[test]
fn loads_of_an_update_that_cannot_be_are_refused_at_once() {
    let (_server, mut connection) = start();
    for loads in ["c.F as c", "c.F as r, c.G as r", "7 as r", "true as r"] {
        let query = format!("from Cars as c load {loads} update {{ this.F = 0 }}");
        let body = json!({ "Query": { "Query": query } });
        let answer = send(&mut connection, "/databases/db1/queries", &body);
        assert_eq!(answer.status, 400, "{loads}: {}", answer.text());
    }
    assert_eq!(load(&mut connection, "a/1")["F"], 1);
}

#[test]
fn patches_by_query_are_refused_at_once_or_end_as_faulted() {
    let (_server, mut connection) = start();
    let target = "/databases/db1/queries?details=true";
    let mut ask = |query: &str| {
        send(
            &mut connection,
            target,
            &json!({ "Query": { "Query": query } }),
        )
    };
    assert_eq!(ask("from Cars where F = 1").status, 400);
    assert_eq!(
        ask("from Cars filter F = 1 update { this.F = 2 }").status,
        400
    );
    let failing = ask("from Cars update { throw 'boom' }");
    let grouped = ask("from Cars group by F update { this.Z = 1 }");
    let state = wait(&mut connection, &failing);
    assert_eq!(state["Status"], "Faulted");
    assert_eq!(state["Result"]["Type"], SCRIPT_FAILED);
    let state = wait(&mut connection, &grouped);
    let message = "Cannot execute bulk operation on Map-Reduce indexes.";
    assert_eq!(state["Result"]["Message"], message);
}

/// Batches are handed over before the ones in front of them are stored, unless one may be refused.
#[test]
fn nothing_is_patched_behind_what_failed() {
    let (_server, mut connection) = start();
    let commands: Vec<Value> = (0..600)
        .map(|n| {
            let document = json!({ "n": n, "@metadata": { "@collection": "Many" } });
            json!({ "Type": "PUT", "Id": format!("many/{n:03}"), "Document": document })
        })
        .collect();
    let stored = connection.post(
        "/databases/db1/bulk_docs",
        &json!({ "Commands": commands }).to_string(),
    );
    assert_eq!(stored.status, 201);
    let target = "/databases/db1/queries";
    let mut ask = |script: &str| {
        let query = format!("from Many update {{ {script} }}");
        let begun = send(
            &mut connection,
            target,
            &json!({ "Query": { "Query": query } }),
        );
        let state = wait(&mut connection, &begun);
        let patched = |n: usize| load(&mut connection, &format!("many/{n:03}"))["Seen"] == true;
        (
            state["Status"].clone(),
            (0..600).map(patched).collect::<Vec<bool>>(),
        )
    };
    for failing in ["throw 'no'", "this['@metadata']['@expires'] = 'never'"] {
        let (status, patched) = ask(&format!(
            "if (this.n == 300) {{ {failing} }} this.Seen = true"
        ));
        assert_eq!(status, "Faulted");
        let first = patched.iter().position(|seen| !seen).unwrap();
        assert!((1..=300).contains(&first), "{first}");
        assert!(patched[first..].iter().all(|seen| !seen), "{patched:?}");
    }
    let (status, patched) = ask("this.Seen = true");
    assert_eq!((status, patched), (json!("Completed"), vec![true; 600]));
}

#[test]
fn scripts_count_and_read_values_of_compare_exchange() {
    let (_server, mut connection) = start();
    let value = r#"{"Object":{"Owner":"Ann"}}"#;
    let target = "/databases/db1/cmpxchg?key=vip&index=0";
    assert_eq!(connection.put(target, value).status, 200);
    let script = "incrementCounter(this, 'Likes', 5); incrementCounter(this, 'likes');
        incrementCounter(this, 'Gone'); deleteCounter(this, 'Gone');
        this.Likes = counter(this, 'LIKES'); this.Names = counterNamesFor(this);
        this.Owner = cmpxchg('VIP').Owner; this.None = cmpxchg('none')";
    let answer = patch(&mut connection, "a/1", script);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let document = load(&mut connection, "a/1");
    assert_eq!(
        (&document["Likes"], &document["Names"]),
        (&json!(6), &json!(["Likes"]))
    );
    assert_eq!(
        (&document["Owner"], &document["None"]),
        (&json!("Ann"), &Value::Null)
    );
    let query = "from Cars as c where id() = 'a/1'
        select { L: counter(c, 'Likes'), O: cmpxchg('vip').Owner, N: counterNamesFor(c) }";
    let answer = connection.post(
        "/databases/db1/queries",
        &json!({ "Query": query }).to_string(),
    );
    let row = answer.json()["Results"][0].clone();
    assert_eq!(
        (&row["L"], &row["O"], &row["N"]),
        (&json!(6), &json!("Ann"), &json!(["Likes"]))
    );
    let query =
        "from Cars where id() = 'a/1' select counter('Likes') as L, counterRaw('likes') as R";
    let answer = connection.post(
        "/databases/db1/queries",
        &json!({ "Query": query }).to_string(),
    );
    let row = answer.json()["Results"][0].clone();
    assert_eq!(row["L"], 6);
    let nodes = row["R"].as_object().unwrap();
    assert!(
        nodes
            .iter()
            .all(|(node, value)| node.starts_with("A-") && value == 6),
        "{nodes:?}"
    );
}

#[test]
fn scripts_change_and_read_time_series() {
    let (_server, mut connection) = start();
    let script = "const heart = timeseries(this, 'Heart');
        heart.append('2024-05-01T10:00:00Z', 60, 'watch');
        heart.append(new Date(Date.UTC(2024, 4, 1, 11)), [70, 0.5]);
        heart.append('2024-05-01T12:00:00.0000000Z', [80]);
        timeseries('a/1', 'INC:Steps').increment('2024-05-01T10:00:00Z', [2]);
        timeseries('a/1', 'INC:Steps').increment(1714557600000, 3);
        heart.delete('2024-05-01T11:30:00Z', '2024-06');
        this.All = heart.get();
        this.Part = heart.get('2024-05-01T10:30:00Z', '2024-05-01T12:00:00Z').length;
        this.Stats = heart.getStats(); this.Steps = timeseries(this, 'inc:steps').get()[0].Values;
        timeseries(this, 'Gone').append('2024-05-01T10:00:00Z', 1);
        timeseries(this, 'Gone').delete()";
    let answer = patch(&mut connection, "a/1", script);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let document = load(&mut connection, "a/1");
    let entry = |hour: u32, tag: Value, values: Value| {
        let at = format!("2024-05-01T{hour}:00:00.0000000Z");
        json!({ "Timestamp": at, "Tag": tag, "Values": values, "IsRollup": false })
    };
    let first = entry(10, "watch".into(), json!([60]));
    let second = entry(11, Value::Null, json!([70, 0.5]));
    assert_eq!(document["All"], json!([first, second]));
    assert_eq!(
        (&document["Part"], &document["Steps"]),
        (&json!(1), &json!([5]))
    );
    assert_eq!(document["Stats"]["Count"], 2);
    assert_eq!(document["Stats"]["End"], second["Timestamp"]);
    let stored = connection.get(&format!("{DOCS}a/1")).json();
    let names = &stored["Results"][0]["@metadata"]["@timeseries"];
    assert_eq!(names, &json!(["Heart", "INC:Steps"]));
    for (script, why) in [
        (
            "timeseries(this, 'Heart').append('now', 1)",
            "Unable to parse timeseries from/to values. Got: now",
        ),
        (
            "timeseries(this, 'Heart').append('2024-05-01T10:00:00Z', 'x')",
            "are numbers",
        ),
        ("timeseries(this).get()", "needs a name"),
        (
            "timeseries('zz/1', 'Heart').append('2024-05-01T10:00:00Z', 1)",
            "zz/1",
        ),
        (
            "timeseries(this, 'Heart@ByHour').append('2024-05-01T10:00:00Z', 1)",
            "rolled up",
        ),
    ] {
        let answer = patch(&mut connection, "a/1", script);
        assert!(answer.status >= 400, "{script}");
        assert!(answer.text().contains(why), "{script}: {}", answer.text());
    }
}

#[test]
fn what_a_script_does_beside_its_document_is_told_when_it_changes_the_names_of_it() {
    let (_running, mut connection) = start();
    for (script, status) in [
        ("incrementCounter(this, 'c', 1)", "Patched"),
        ("incrementCounter(this, 'c', 1)", "NotModified"),
        ("incrementCounter('a/2', 'c', 1)", "NotModified"),
        ("deleteCounter(this, 'c')", "Patched"),
        ("deleteCounter(this, 'c')", "NotModified"),
        ("timeseries(this, 's').append('2024', 1)", "Patched"),
        ("timeseries(this, 's').append('2024-05', 1)", "NotModified"),
        (
            "timeseries(this, 's').append('2024-05-06', 1)",
            "NotModified",
        ),
        (
            "timeseries(this, 's').delete('2024-05-06', '2024-05-06T00:00')",
            "NotModified",
        ),
        ("timeseries(this, 's').delete()", "Patched"),
        ("timeseries(this, 's').delete()", "NotModified"),
    ] {
        let answer = patch(&mut connection, "a/1", script);
        assert_eq!(answer.status, 200, "{script}: {}", answer.text());
        let answer = answer.json();
        assert_eq!(answer["Status"], status, "{script}");
        let loaded = connection.get(&format!("{DOCS}a/1")).json();
        let vector = &loaded["Results"][0]["@metadata"]["@change-vector"];
        let told = &answer["ChangeVector"];
        assert_eq!(told == vector, status == "Patched", "{script}: {answer}");
        assert_eq!(
            answer["Collection"] == "Cars",
            status == "Patched",
            "{script}"
        );
    }
}

#[test]
fn entries_of_time_series_are_deleted_in_a_range_or_all_and_never_by_mistake() {
    let (_running, mut connection) = start();
    let append = "for (const day of [1, 2, 3]) \
                  timeseries(this, 's').append(`2024-01-0${day}`, day)";
    assert_eq!(patch(&mut connection, "a/1", append).status, 200);
    let days = |connection: &mut Connection| {
        let found = connection.get("/databases/db1/timeseries?docId=a/1&name=s");
        match found.status {
            200 => found.json()["Entries"].as_array().unwrap().len(),
            _ => 0,
        }
    };
    for range in [
        "null, null",
        "'2024-01-02'",
        "'2024-01-02', null",
        "undefined, '2024-01-02'",
        "'2024-01-01', '2024-01-02', 3",
        "'2024-13-01', '2024-01-02'",
    ] {
        let script = format!("timeseries(this, 's').delete({range})");
        let refused = patch(&mut connection, "a/1", &script);
        assert_eq!(refused.status, 400, "{range}");
        assert_eq!(refused.json()["Type"], SCRIPT_FAILED, "{range}");
        assert_eq!(days(&mut connection), 3, "{range}");
    }
    let added = patch(
        &mut connection,
        "a/1",
        "timeseries(this, 's').increment('2024', 1)",
    );
    assert_eq!(
        added.json()["Type"],
        SCRIPT_FAILED,
        "the name says that it is not added to"
    );
    patch(
        &mut connection,
        "a/1",
        "timeseries(this, 's').delete('2024-01-02', new Date(2030, 0))",
    );
    assert_eq!(days(&mut connection), 1);
    patch(&mut connection, "a/1", "timeseries(this, 's').delete()");
    assert_eq!(days(&mut connection), 0);
}

#[test]
fn a_script_that_is_no_javascript_is_refused_whatever_is_there() {
    const PARSE: &str = "Raven.Client.Exceptions.Documents.Patching.JavaScriptParseException";
    const INVALID: &str = "Raven.Client.Exceptions.InvalidQueryException";
    let (_server, mut connection) = start();
    let bad = json!({ "Script": "this.x = ;" });
    let good = json!({ "Script": "this.x = 1;" });
    let created = json!({ "F": 1 });
    for command in [
        json!({ "Id": "none/1", "Patch": bad }),
        json!({ "Id": "a/1", "Patch": bad }),
        json!({ "Id": "none/1", "Patch": bad, "PatchIfMissing": good }),
        json!({ "Id": "none/1", "Patch": good, "PatchIfMissing": bad }),
        json!({ "Id": "a/1", "Patch": good, "PatchIfMissing": bad }),
        json!({ "Id": "none/1", "Patch": bad, "CreateIfMissing": created }),
    ] {
        let mut command = command;
        command["Type"] = json!("PATCH");
        command["ChangeVector"] = Value::Null;
        let answer = batch(&mut connection, json!([command]));
        assert_eq!(answer.json()["Type"], PARSE, "{command}: {}", answer.text());
        assert_eq!(patch(&mut connection, "none/1", "this.x = 1").status, 404);
        assert!(load(&mut connection, "a/1").get("x").is_none());
    }
    assert_eq!(
        patch(&mut connection, "none/1", "this.").json()["Type"],
        PARSE
    );
    for query in [
        "from Cars update { this. }",
        "from Nones update { this.x = ; }",
        "declare function f() { return . } from Nones update { f() }",
    ] {
        let body = json!({ "Query": { "Query": query } });
        let answer = send(&mut connection, "/databases/db1/queries", &body);
        assert_eq!(answer.json()["Type"], INVALID, "{query}: {}", answer.text());
    }
    for query in [
        "from Cars limit",
        "from Cars where F ~ 1",
        "from Cars as c select { x: . }",
    ] {
        let body = json!({ "Query": query });
        let target = "/databases/db1/queries";
        let answer = connection.post(target, &body.to_string());
        assert_eq!(answer.json()["Type"], INVALID, "{query}: {}", answer.text());
    }
}

//! Proves: sorters are stored, listed, deleted and used as clients expect, survive a restart, a
//! database's own goes before the server's, and failures have their types.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::Connection;

const OWN: &str = "/databases/db1/admin/sorters";

/// A sorter by the length of texts times `sign`, then by their letters.
fn code(name: &str, sign: i32) -> String {
    format!(
        r#"
using System;
using Lucene.Net.Search;
namespace Sorters
{{
    public class {name} : FieldComparator
    {{
        private readonly string[] _values;
        private readonly string _field;
        private string[] _current;
        private int _bottom;
        public {name}(
            string fieldName, int numHits, int sortPos, bool reversed, List<string> diagnostics)
        {{
            _values = new string[numHits];
            _field = fieldName;
        }}
        private int By(string a, string b) =>
            a.Length != b.Length ? {sign} * (a.Length - b.Length) : string.CompareOrdinal(a, b);
        public override int Compare(int slot1, int slot2) => By(_values[slot1], _values[slot2]);
        public override void SetBottom(int slot) {{ _bottom = slot; }}
        public override int CompareBottom(int doc, IState state) =>
            By(_values[_bottom], _current[doc]);
        public override void Copy(int slot, int doc, IState state)
        {{
            _values[slot] = _current[doc];
        }}
        public override void SetNextReader(IndexReader reader, int docBase, IState state)
        {{
            _current = FieldCache_Fields.DEFAULT.GetStrings(reader, _field, state);
        }}
        public override IComparable this[int slot] => _values[slot];
    }}
}}"#
    )
}

fn body(name: &str, code: &str) -> String {
    json!({ "Sorters": [{ "Name": name, "Code": code }] }).to_string()
}

fn ask(connection: &mut Connection, query: &str) -> (u16, Value) {
    let body = json!({ "Query": query }).to_string();
    let answer = connection.post("/databases/db1/queries", &body);
    (answer.status, answer.json())
}

fn names(connection: &mut Connection, query: &str) -> Vec<String> {
    let (status, told) = ask(connection, query);
    assert_eq!(status, 200, "{told}");
    let rows = told["Results"].as_array().unwrap().iter();
    rows.map(|row| row["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn sorters_order_results_and_survive_a_restart() {
    let (mut server, mut connection) = support::start_with_database();
    for name in ["pear", "fig", "banana", "kiwi"] {
        let body = json!({ "name": name, "@metadata": { "@collection": "Fruits" } });
        connection.put(
            &format!("/databases/db1/docs?id=f/{name}"),
            &body.to_string(),
        );
    }
    let stored = connection.put(OWN, &body("ByLength", &code("ByLength", 1)));
    assert_eq!((stored.status, stored.text()), (201, ""));
    server.restart(support::config());
    let mut connection = server.connect();
    let query = "from Fruits order by custom(name, 'ByLength')";
    assert_eq!(
        names(&mut connection, query),
        ["fig", "kiwi", "pear", "banana"]
    );
    let descending = format!("{query} desc limit 2");
    assert_eq!(names(&mut connection, &descending), ["banana", "pear"]);

    let listed = connection.get("/databases/db1/sorters").json();
    assert_eq!(listed["Sorters"][0]["Name"], "ByLength");
    let record = connection.get("/admin/databases?name=db1").json();
    assert_eq!(record["Sorters"]["ByLength"]["Name"], "ByLength");

    // The server's stand behind those of the database.
    let shared = connection.put("/admin/sorters", &body("ByLength", &code("ByLength", -1)));
    assert_eq!(shared.status, 201);
    assert_eq!(names(&mut connection, query)[0], "fig");
    let deleted = connection.delete(&format!("{OWN}?name=ByLength")).status;
    assert_eq!(deleted, 204);
    assert_eq!(names(&mut connection, query)[0], "banana");
    let listed = connection.get("/sorters").json();
    assert_eq!(listed["Sorters"].as_array().unwrap().len(), 1);
    let deleted = connection.delete("/admin/sorters?name=ByLength").status;
    assert_eq!(deleted, 204);
    let (status, told) = ask(&mut connection, query);
    assert_eq!(status, 400);
    assert_eq!(
        told["Type"],
        "Raven.Client.Exceptions.Documents.Sorters.SorterDoesNotExistException"
    );
    assert_eq!(told["Message"], "There is no sorter with 'ByLength' name.");
    let listed = connection.get("/databases/db1/sorters").json();
    assert_eq!(listed, json!({ "Sorters": [] }));
}

#[test]
fn sorters_that_are_not_understood_are_refused_and_what_they_throw_is_told() {
    let (_server, mut connection) = support::start_with_database();
    let kind = "Raven.Client.Exceptions.Documents.Compilation.SorterCompilationException";
    let refused = connection.put(OWN, &body("S", "class X {"));
    assert_eq!(refused.status, 400);
    let told = refused.json();
    assert_eq!(told["Type"], kind);
    let message = "Failed to compile sorter 'S'\n\nclass X {\n\n(1,10): error CS1513: } expected\n";
    assert_eq!(told["Message"], message);
    let told = connection.put(OWN, &body("Other", &code("S", 1))).json();
    assert_eq!(told["Type"], kind);
    assert_eq!(
        told["Message"],
        "Could not find type 'Other' in given assembly."
    );
    for wrong in [
        "{}",
        r#"{"Sorters":[{"Name":"S"}]}"#,
        r#"{"Sorters":[{"Code":"class S {}"}]}"#,
    ] {
        assert_eq!(connection.put(OWN, wrong).status, 400);
    }
    assert_eq!(
        connection.get("/databases/db1/sorters").json()["Sorters"],
        json!([])
    );

    connection.put(
        "/databases/db1/docs?id=a",
        r#"{"name":"x","@metadata":{"@collection":"Things"}}"#,
    );
    let thrower = code("S", 1).replace(
        "_field = fieldName;",
        "throw new InvalidOperationException(\
            $\"Catch me: {fieldName}:{numHits}:{sortPos}:{reversed}\");",
    );
    assert_eq!(connection.put(OWN, &body("S", &thrower)).status, 201);
    let (status, told) = ask(
        &mut connection,
        "from Things order by custom(name, 'S') desc",
    );
    assert_eq!(status, 400);
    assert_eq!(told["Type"], "System.InvalidOperationException");
    assert_eq!(told["Message"], "Catch me: name:1:0:True");
}

//! Proves: analyzers of C# are stored, listed, deleted and used as clients expect, survive a
//! restart, a database's own goes before the server's, an index keeps what its analyzer was
//! until it is reset, and what is not understood is refused by the name of its class.

#![allow(clippy::unwrap_used, reason = "a broken expectation fails the test")]

mod support;

use serde_json::{Value, json};
use support::Connection;

const OWN: &str = "/databases/db1/admin/analyzers";

/// An analyzer whose tokens are those of an expression over `reader`.
fn code(name: &str, tokens: &str) -> String {
    format!(
        "using System.IO;\nusing Lucene.Net.Analysis;\npublic class {name} : Analyzer\n{{\n    \
         public override TokenStream TokenStream(string fieldName, TextReader reader)\n    {{\n    \
         return {tokens};\n    }}\n}}"
    )
}

const LOW: &str = "new LowerCaseFilter(new WhitespaceTokenizer(reader))";
const ASCII: &str = "new ASCIIFoldingFilter(new LowerCaseFilter(new StandardFilter(new \
                     StandardTokenizer(Lucene.Net.Util.Version.LUCENE_30, reader))))";

fn body(name: &str, code: &str) -> String {
    json!({ "Analyzers": [{ "Name": name, "Code": code }] }).to_string()
}

fn put(connection: &mut Connection, path: &str, name: &str, tokens: &str) {
    let stored = connection.put(path, &body(name, &code(name, tokens)));
    assert_eq!((stored.status, stored.text()), (201, ""));
}

fn index(name: &str, analyzer: &str) -> String {
    let map = "from i in docs.Items select new { i.name }";
    let fields = json!({ "name": { "Indexing": "Search", "Analyzer": analyzer } });
    json!({ "Indexes": [{ "Name": name, "Maps": [map], "Fields": fields }] }).to_string()
}

fn put_index(connection: &mut Connection, name: &str, analyzer: &str) -> (u16, Value) {
    let answer = connection.put("/databases/db1/admin/indexes", &index(name, analyzer));
    (answer.status, answer.json())
}

/// Waits for an index and counts what a search finds in it.
fn found(connection: &mut Connection, index: &str, words: &str) -> Value {
    let body = json!({
        "Query": format!("from index '{index}' where search(name, $w)"),
        "QueryParameters": { "w": words },
        "WaitForNonStaleResults": true,
    });
    let answer = connection.post("/databases/db1/queries", &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["TotalResults"].clone()
}

fn terms(connection: &mut Connection, index: &str) -> String {
    found(connection, index, "x");
    let path = format!("/databases/db1/indexes/terms?name={index}&field=name");
    let told = connection.get(&path).json();
    let terms = told["Terms"].as_array().unwrap().iter();
    terms
        .map(|term| term.as_str().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

fn with_items() -> (support::TestServer, Connection) {
    let (server, mut connection) = support::start_with_database();
    let names = [
        "Cr\u{e8}me BR\u{db}L\u{c9}E",
        "foo-Bar baz",
        "The dog's bone",
    ];
    for (number, name) in names.iter().enumerate() {
        let body = json!({ "name": name, "@metadata": { "@collection": "Items" } });
        let path = format!("/databases/db1/docs?id=items/{number}");
        connection.put(&path, &body.to_string());
    }
    (server, connection)
}

#[test]
fn analyzers_divide_text_and_survive_a_restart() {
    let (mut server, mut connection) = with_items();
    put(&mut connection, OWN, "Mine", ASCII);
    assert_eq!(put_index(&mut connection, "I", "mine").0, 201);
    assert_eq!(
        terms(&mut connection, "I"),
        "bar baz bone brulee creme dog foo the"
    );
    server.restart(support::config());
    let mut connection = server.connect();
    for (words, count) in [
        ("CREME", 1),
        ("Cr\u{e8}me br\u{fb}l\u{e9}e", 1),
        ("cr*", 1),
        ("Cr\u{c8}*", 1),
        ("the", 1),
        ("nope", 0),
    ] {
        assert_eq!(found(&mut connection, "I", words), count, "{words}");
    }
    let listed = connection.get("/databases/db1/analyzers").json();
    let code = code("Mine", ASCII);
    assert_eq!(
        listed,
        json!({ "Analyzers": [{ "Name": "Mine", "Code": code }] })
    );
    let record = connection.get("/admin/databases?name=db1").json();
    assert_eq!(record["Analyzers"]["Mine"]["Name"], "Mine");
    // What an index keeps of its analyzers is no member of its definition.
    let shown = connection.get("/databases/db1/indexes?name=I").json();
    assert!(shown["Results"][0].get("Analyzers").is_none(), "{shown}");
    let changed = "/databases/db1/indexes/has-changed";
    let given = json!({
        "Name": "I",
        "Maps": ["from i in docs.Items select new { i.name }"],
        "Fields": { "name": { "Indexing": "Search", "Analyzer": "mine" } },
    });
    let answer = connection.post(changed, &given.to_string());
    assert_eq!(answer.json(), json!({ "Changed": false }));
}

#[test]
fn a_changed_analyzer_waits_for_a_reset() {
    let (_server, mut connection) = with_items();
    put(&mut connection, OWN, "Mine", LOW);
    assert_eq!(put_index(&mut connection, "I", "Mine").0, 201);
    let before = "baz bone br\u{fb}l\u{e9}e cr\u{e8}me dog's foo-bar the";
    assert_eq!(terms(&mut connection, "I"), before);
    put(&mut connection, OWN, "Mine", ASCII);
    // Words of queries are still divided as those of the index.
    assert_eq!(terms(&mut connection, "I"), before);
    assert_eq!(found(&mut connection, "I", "FOO-bar"), 1);
    assert_eq!(found(&mut connection, "I", "creme"), 0);
    let reset = connection.exchange("RESET", "/databases/db1/indexes?name=I", "", b"");
    assert_eq!(reset.status, 204, "{}", reset.text());
    assert_eq!(
        terms(&mut connection, "I"),
        "bar baz bone brulee creme dog foo the"
    );
    // The same definition says something else when its analyzer does.
    put(&mut connection, OWN, "Mine", LOW);
    assert_eq!(put_index(&mut connection, "I", "Mine").0, 201);
    // It may have taken the place of the old one already.
    connection.post("/databases/db1/indexes/replace?name=I", "");
    assert_eq!(terms(&mut connection, "I"), before);
    // Without it the index goes on, but is not made again.
    let deleted = connection.delete(&format!("{OWN}?name=mine")).status;
    assert_eq!(deleted, 204);
    assert_eq!(found(&mut connection, "I", "FOO-bar"), 1);
    let reset = connection.exchange("RESET", "/databases/db1/indexes?name=I", "", b"");
    assert_eq!(reset.status, 400);
    let message = reset.json()["Message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("Cannot find analyzer type 'Mine' for field: name"),
        "{message}"
    );
    assert_eq!(found(&mut connection, "I", "FOO-bar"), 1);
}

#[test]
fn analyzers_of_the_server_stand_behind_those_of_the_database() {
    let (_server, mut connection) = with_items();
    put(&mut connection, "/admin/analyzers", "Wide", LOW);
    assert_eq!(put_index(&mut connection, "I", "Wide").0, 201);
    assert_eq!(found(&mut connection, "I", "foo-BAR"), 1);
    assert_eq!(found(&mut connection, "I", "bar"), 0);
    put(&mut connection, OWN, "Wide", ASCII);
    assert_eq!(put_index(&mut connection, "J", "Wide").0, 201);
    assert_eq!(found(&mut connection, "J", "bar"), 1);
    let listed = connection.get("/analyzers").json();
    assert_eq!(listed["Analyzers"].as_array().unwrap().len(), 1);
    assert_eq!(connection.delete("/admin/analyzers?name=Wide").status, 204);
    assert_eq!(
        connection.get("/analyzers").json(),
        json!({ "Analyzers": [] })
    );
    assert_eq!(connection.delete("/admin/analyzers?name=Wide").status, 204);
    // One of a known name goes before that which is built in.
    put(&mut connection, OWN, "StandardAnalyzer", LOW);
    assert_eq!(put_index(&mut connection, "K", "StandardAnalyzer").0, 201);
    assert_eq!(found(&mut connection, "K", "bar"), 0);
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    let (_server, mut connection) = with_items();
    let compilation = "Raven.Client.Exceptions.Documents.Compilation.AnalyzerCompilationException";
    let broken =
        "Failed to compile analyzer 'S'\n\nclass X {\n\n(1,10): error CS1513: } expected\n";
    let reader = "new LowerCaseTokenizer(reader)";
    for (name, code, kind, message) in [
        ("S", "class X {".to_owned(), compilation, broken),
        (
            "Other",
            code("Own", LOW),
            compilation,
            "Could not find type 'Other' in given assembly.",
        ),
        (
            "Sub",
            "public class Sub { }".to_owned(),
            "System.InvalidOperationException",
            "Could not create new analyzer instance 'Sub' for field: @compile",
        ),
        (
            "A",
            code("A", &format!("new PorterStemFilter({reader})")),
            compilation,
            "'PorterStemFilter' is not executed",
        ),
        (
            "A",
            code("A", &format!("new LengthFilter({reader}, 0, 300)")),
            compilation,
            "'LengthFilter' needs two numbers",
        ),
        (
            "A",
            code("A", "System.IO.File.ReadAllText(\"x\")"),
            compilation,
            "call is not understood",
        ),
        ("", code("A", LOW), "System.ArgumentException", "'Name'"),
        ("A", String::new(), "System.ArgumentException", "'Code'"),
    ] {
        for path in [OWN, "/admin/analyzers"] {
            let answer = connection.put(path, &body(name, &code));
            assert_eq!(answer.status, 400, "{code}");
            let told = answer.json();
            assert_eq!(told["Type"], kind, "{code}");
            let text = told["Message"].as_str().unwrap();
            assert!(text.contains(message), "{text}");
        }
    }
    let answer = connection.put(OWN, "{}");
    assert_eq!(answer.json()["Type"], "System.ArgumentException");
    assert_eq!(connection.put(OWN, r#"{"Analyzers":[]}"#).status, 201);
    let listed = connection.get("/databases/db1/analyzers").json();
    assert_eq!(listed, json!({ "Analyzers": [] }));
    let (status, told) = put_index(&mut connection, "I", "Nope");
    assert_eq!(status, 400);
    assert_eq!(
        told["Message"],
        "Failed to compile index 'I': Cannot find analyzer type 'Nope' for field: name"
    );
    let told = connection.get("/databases/nope/analyzers").json();
    let kind = told["Type"].as_str().unwrap();
    assert!(kind.ends_with("DatabaseDoesNotExistException"), "{told}");
}

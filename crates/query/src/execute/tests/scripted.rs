//! Rows made by scripts, and documents of `load`.

use crate::error::QueryError;
use crate::test_source::{TestDatabase, TestResult, TestSource, run};

fn database() -> TestDatabase {
    let mut database = TestDatabase::default();
    for (id, body) in [
        (
            "a/1",
            r#"{"F":1,"Name":"Alpha","Ref":"o/1","L":[{"P":"o/1"},{"P":"no"},{"P":"o/2"},{}]}"#,
        ),
        (
            "a/2",
            r#"{"F":9007199254740993,"Name":"beta","Ref":"none/1"}"#,
        ),
    ] {
        database.put(id, "Cars", body);
    }
    database.put(
        "o/1",
        "Owners",
        r#"{"Name":"Ann","City":"Oslo","Next":"o/2"}"#,
    );
    database.put("o/2", "Owners", r#"{"Name":"Bo"}"#);
    database
}

fn ask(text: &str) -> Result<TestResult, QueryError> {
    let database = database();
    run(
        text,
        r#"{"p":{"x":5},"ids":["o/2","no","o/1"]}"#,
        &TestSource::without_index(&database),
    )
}

/// The rows without their metadata.
fn rows(text: &str) -> String {
    let result = match ask(text) {
        Ok(result) => result.rows.root().to_json(),
        Err(error) => return error.to_string(),
    };
    let cut = |row: &str| row.split(",\"@metadata\"").next().map(str::to_owned);
    let rows = result.trim_start_matches('[').split("},{\"");
    let rows: Vec<String> = rows.filter_map(cut).collect();
    rows.join(" | ")
}

fn check(text: &str, expected: &str) {
    assert_eq!(rows(text), expected, "{text}");
}

#[test]
fn an_object_literal_makes_the_row() {
    check(
        "from Cars as c select { X: c.Name, I: id(c), M: getMetadata(c)['@collection'] }",
        r#"{"X":"Alpha","I":"a/1","M":"Cars" | X":"beta","I":"a/2","M":"Cars""#,
    );
    check(
        "from Cars as c where c.F > 1 select { a: c.No.X.Y, b: c.F, e: load('o/1').City,
            f: $p.x + 1, g: [1,2].map(x => x*2), j: `t${c.Name}` }",
        r#"{"a":null,"b":9007199254740993,"e":"Oslo","f":6,"g":[2,4],"j":"tbeta""#,
    );
}

#[test]
fn rows_of_scripts_are_projections() {
    let result = ask("from Cars as c where id() = 'a/1' select { X: 1 }").unwrap();
    let json = result.rows.root().to_json();
    assert!(
        json.contains(r#""@metadata":{"@projection":true,"@change-vector":"#),
        "{json}"
    );
}

#[test]
fn declared_functions_make_rows_and_fields() {
    let declare = "declare function f(c, n) { return { N: c.Name + n } }
        declare function g(c) { return [{ A: 1 }, { A: 2 }] } ";
    check(
        &format!("{declare} from Cars as c where id() = 'a/1' select f(c, 7)"),
        r#"{"N":"Alpha7""#,
    );
    check(
        &format!("{declare} from Cars as c where id() = 'a/1' select g(c)"),
        r#"{"A":1 | A":2"#,
    );
    check(
        &format!("{declare} from Cars as c where id() = 'a/1' select c.Name, f(c, 'z') as R"),
        r#"{"Name":"Alpha","R":{"N":"Alphaz"}"#,
    );
}

#[test]
fn counters_are_fields_of_their_own_names() {
    check(
        "from Cars where id() = 'a/1'
            select Name, counter('x'), counter('y'), counterRaw('z') as R",
        r#"{"Name":"Alpha","x":null,"y":null,"R":{}"#,
    );
}

#[test]
fn load_gives_documents_by_path_and_by_id() {
    check(
        "from Cars as c load c.Ref as r, 'o/2' as z select { r: r.City, z: z.Name }",
        r#"{"r":"Oslo","z":"Bo" | r":null,"z":"Bo""#,
    );
    check(
        "from Cars as c load c.Ref as r, c.L[].P as all[]
            select c.Name, r.City as C, all.Name as N",
        concat!(
            r#"{"Name":"Alpha","C":"Oslo","N":["Ann","Bo"]"#,
            r#" | Name":"beta","C":null,"N":[]"#
        ),
    );
    check(
        "from Cars as c where c.F = 1 load c.L[].P as all[] select { n: all.map(o => o.Name) }",
        r#"{"n":["Ann","Bo"]"#,
    );
}

#[test]
fn load_goes_on_from_what_was_loaded() {
    check(
        "from Cars as c where id() = 'a/1' load c.Ref as r, r.Next as n, n.Next as gone
            select r.Name as R, n.Name as N, gone.Name as G",
        r#"{"R":"Ann","N":"Bo","G":null"#,
    );
    check(
        "from Cars as c where id() = 'a/1' load c.L[].P as all[], all[].Next as n[]
            select { n: n.map(o => o.Name), all: all.length }",
        r#"{"n":["Bo"],"all":2"#,
    );
}

#[test]
fn a_list_of_loaded_documents_has_those_that_are_there() {
    for path in ["all.Name", "all[].Name"] {
        check(
            &format!("from Cars as c where id() = 'a/1' load c.L[].P as all[] select {path} as N"),
            r#"{"N":["Ann","Bo"]"#,
        );
    }
    check(
        "from Cars as c where id() = 'a/1' load $ids as all[]
            select { n: all.map(o => o.Name), count: all.length }",
        r#"{"n":["Bo","Ann"],"count":2"#,
    );
}

#[test]
fn scripts_may_include_documents() {
    let result = ask("from Cars as c select { x: include(c.Ref) }").unwrap();
    let included = result.includes.root().to_json();
    assert!(
        included.starts_with(r#"{"o/1":{"Name":"Ann""#),
        "{included}"
    );
}

#[test]
fn distinct_rows_are_told_apart_by_what_the_script_makes() {
    let result = ask("from Cars as c select distinct { k: 1 }").unwrap();
    assert_eq!(
        (result.outcome.row_count, result.outcome.skipped_results),
        (1, 1)
    );
}

#[test]
fn scripts_that_fail_fail_the_query() {
    check(
        "from Cars as c select { X: (() => { throw 'no' })() }",
        "no",
    );
    let error = rows("from Cars as c select { X: ; }");
    assert!(
        error.starts_with("Select clause contains invalid script: At 1:"),
        "{error}"
    );
    let error = rows("from Cars as c select { X: put('a', {}) }");
    assert!(error.contains("put() changes documents"), "{error}");
    check(
        "declare function f(c) { return null } from Cars as c select f(c)",
        "Query returning a single function call result must return an object, but got: null",
    );
    let error = rows("from Cars as c select { X: (() => { while (true) {} })() }");
    assert!(
        error.starts_with("The maximum number of statements"),
        "{error}"
    );
}

//! Arrays of a projection that are made of the same elements stay parallel.

use crate::test_source::{TestDatabase, TestSource, run};

fn row(body: &str, select: &str) -> String {
    let mut database = TestDatabase::default();
    database.put("a/1", "Cars", body);
    let text = format!("from Cars as c select {select}");
    let result = run(&text, "{}", &TestSource::without_index(&database)).expect(&text);
    let json = result.rows.root().to_json();
    let end = json.find(",\"@metadata\"").expect("metadata");
    json[2..end].to_owned()
}

#[test]
fn an_element_without_the_field_is_null() {
    let body = r#"{"L":[{"P":1,"Q":1},{"P":2},{"P":3,"Q":3}]}"#;
    assert_eq!(
        row(body, "L[].P as P, c.L[].Q as Q"),
        r#""P":[1,2,3],"Q":[1,null,3]"#
    );
    assert_eq!(row(body, "L[].Z.Y as Z"), r#""Z":[null,null,null]"#);
    // Without brackets the path asks for the values that are there.
    assert_eq!(row(body, "c.L.Q as Q"), r#""Q":[1,3]"#);
}

#[test]
fn nested_arrays_are_parallel_at_the_deepest_element() {
    let body = r#"{"L":[{"M":[{"X":1},{},{"X":2}]},{"P":2},{"M":null},{"M":[]},{"M":[{"X":5}]}]}"#;
    assert_eq!(row(body, "L[].M[].X as X"), r#""X":[1,null,2,null,null,5]"#);
    let objects = r#"{"L":[{"O":{"X":1}},{"O":{}},{"O":null},{"O":{"X":null}}]}"#;
    assert_eq!(row(objects, "L[].O.X as X"), r#""X":[1,null,null,null]"#);
}

#[test]
fn empty_missing_and_mixed_lists_have_their_own_values() {
    for (body, expected) in [
        (r#"{"L":[]}"#, "[]"),
        (r#"{"L":null}"#, "null"),
        (r#"{}"#, "null"),
        (r#"{"L":[7,null,{"Q":1},"b"]}"#, r#"[7,null,1,"b"]"#),
        (r#"{"L":[{"Q":false},{"Q":[]},{"q":1}]}"#, "[false,[],null]"),
        (r#"{"L":{"Q":4}}"#, "4"),
    ] {
        assert_eq!(
            row(body, "L[].Q as Q"),
            format!("\"Q\":{expected}"),
            "{body}"
        );
    }
}

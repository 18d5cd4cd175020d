//! Declared functions over groups: in the rows of `group by` and in its filter.

use crate::test_source::{TestDatabase, TestSource, run};

fn check(text: &str, expected: &str) {
    let mut database = TestDatabase::default();
    for (id, body) in [
        ("a/1", r#"{"N":1,"C":"x","D":{"E":1}}"#),
        ("a/2", r#"{"N":2,"C":"x","D":{"E":1}}"#),
        ("a/3", r#"{"N":3,"C":"y","D":{"E":2}}"#),
        ("a/4", r#"{"N":5}"#),
    ] {
        database.put(id, "Cars", body);
    }
    let declare = "declare function mark(k) { return k + '!' }
        declare function line(k, n) { return k + ':' + n }
        declare function row(g) { return { K: g.C, S: g.N, L: load('a/1').N } }
        declare function many(g) { return g.Count > 1 }
        declare function isX(k) { return k == 'x' }
        declare function large(g) { return g.N > 3 } ";
    let source = TestSource::without_index(&database);
    let told = match run(&format!("{declare}{text}"), r#"{"p":"x"}"#, &source) {
        Ok(result) => {
            let metadata = r#","@metadata":{"@projection":true,"@change-vector":null}"#;
            result.rows.root().to_json().replace(metadata, "")
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(told, expected, "{text}");
}

#[test]
fn rows_of_groups_call_functions_of_keys_counts_and_sums() {
    for text in [
        "from Cars group by C order by C select mark(C) as F, count() as N",
        "from Cars as c group by c.C order by C select mark(c.C) as F, count() as N",
        "from Cars as c group by C order by C select mark(key()) as F, count() as N",
    ] {
        check(
            text,
            r#"[{"F":"null!","N":1},{"F":"x!","N":2},{"F":"y!","N":1}]"#,
        );
    }
    check(
        "from Cars group by C order by C desc select line(C, count()) as F, line($p, sum(N)) as G",
        r#"[{"F":"y:1","G":"x:3"},{"F":"x:2","G":"x:3"},{"F":"null:1","G":"x:5"}]"#,
    );
    check(
        "from Cars group by D.E where D.E = 1 select line(D.E, count()) as F",
        r#"[{"F":"1:2"}]"#,
    );
}

#[test]
fn a_function_of_the_whole_group_sees_its_fields() {
    check(
        "from Cars as c group by C where C = 'x' order by sum(N) select row(c)",
        r#"[{"K":"x","S":3,"L":1}]"#,
    );
    check(
        "from Cars as c group by C where C = 'x' select row(c) as R, sum(N) as S",
        r#"[{"R":{"K":"x","S":3,"L":1},"S":3}]"#,
    );
    check(
        "from Cars as c group by C where C = 'x' select { g: c }",
        r#"[{"g":{"C":"x","Count":2}}]"#,
    );
    check(
        "from Cars as c group by C where C = 'x' select c",
        r#"[{"C":"x","Count":2}]"#,
    );
}

#[test]
fn filters_of_groups_call_functions() {
    for (filter, expected) in [
        ("many(c)", "x"),
        ("not many(c)", "null y"),
        ("isX(C)", "x"),
        ("isX(c.C)", "x"),
        ("isX(key())", "x"),
        ("mark(C) = 'y!'", "y"),
        ("large(c) and many(c)", ""),
        ("large(c) or isX(C)", "null x"),
        ("Count = 2", "x"),
        ("line(C, sum(N)) = 'y:3'", "y"),
    ] {
        let rows: Vec<String> = expected
            .split_whitespace()
            .map(|key| match key {
                "null" => r#"{"C":null,"S":5}"#.to_owned(),
                "x" => r#"{"C":"x","S":3}"#.to_owned(),
                key => format!(r#"{{"C":"{key}","S":3}}"#),
            })
            .collect();
        check(
            &format!("from Cars as c group by C order by C filter {filter} select C, sum(N) as S"),
            &format!("[{}]", rows.join(",")),
        );
    }
}

#[test]
fn what_a_group_does_not_have_is_refused() {
    check(
        "from Cars as c group by C select mark(c.N) as F",
        "Field 'c.N' isn't neither an aggregation operation nor part of the group by key",
    );
    check(
        "from Cars as c group by C select nosuch(c) as F",
        "Unknown aggregation method in SELECT clause of the group by query: 'nosuch'",
    );
    check(
        "from Cars as c group by C where isX(C) select C",
        "Method 'isX' is not supported.",
    );
}

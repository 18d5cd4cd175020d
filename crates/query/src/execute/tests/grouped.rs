//! Groups: keys, counts, sums, and the clauses over them.

use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::test_source::{TestDatabase, TestResult, TestSource, bound, run, run_bound};

fn database() -> TestDatabase {
    let mut database = TestDatabase::default();
    for (id, body) in [
        (
            "a/1",
            r#"{"F":1,"G":"x","C":{"D":1},"L":[{"P":"p1","Q":2},{"P":"p2","Q":3}],"T":["r","b"]}"#,
        ),
        (
            "a/2",
            r#"{"F":2.5,"G":"Y","C":{"D":1},"L":[{"P":"p1","Q":1}],"T":["r"]}"#,
        ),
        ("a/3", r#"{"F":10,"G":"x","L":[],"T":[]}"#),
        ("a/4", r#"{"F":null,"G":null}"#),
        ("a/5", r#"{"F":7}"#),
    ] {
        database.put(id, "Cars", body);
    }
    database.put("b/1", "Boats", r#"{"G":"boat","F":"text"}"#);
    database
}

fn ask(text: &str) -> Result<TestResult, QueryError> {
    run(
        text,
        r#"{"p":"X"}"#,
        &TestSource::without_index(&database()),
    )
}

/// The rows without their metadata.
fn check(text: &str, expected: &str) {
    let told = match ask(text) {
        Ok(result) => {
            let metadata = r#","@metadata":{"@projection":true,"@change-vector":null}"#;
            result.rows.root().to_json().replace(metadata, "")
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(told, expected, "{text}");
}

#[test]
fn keys_counts_and_sums_are_those_of_the_documents() {
    check(
        "from Cars group by G select G, count(), sum(F)",
        concat!(
            r#"[{"G":"x","Count":2,"F":11},{"G":"Y","Count":1,"F":2.5},"#,
            r#"{"G":null,"Count":2,"F":7}]"#
        ),
    );
    check(
        "from Cars as c group by c.C.D select key() as K, count() as N",
        r#"[{"K":1,"N":2},{"K":null,"N":3}]"#,
    );
    check(
        "from Cars group by G, C.D select key(), sum(F) as S limit 1",
        r#"[{"Key":{"G":"x","C.D":1},"S":1}]"#,
    );
    check("from Cars group by G limit 1", r#"[{"G":"x","Count":2}]"#);
    check(
        "from Cars group by 'G' as k select k limit 1",
        r#"[{"k":"x"}]"#,
    );
}

#[test]
fn arrays_group_by_elements_or_by_content() {
    check(
        "from Cars group by L[].P select L[].P, count(), sum(L[].Q) as Q",
        concat!(
            r#"[{"L[].P":"p1","Count":2,"Q":3},{"L[].P":"p2","Count":1,"Q":3},"#,
            r#"{"L[].P":null,"Count":2,"Q":0}]"#
        ),
    );
    let contents = r#"[{"K":["p1","p2"]},{"K":["p1"]},{"K":[]},{"K":null}]"#;
    check(
        "from Cars group by array(L[].P) select key() as K",
        contents,
    );
    check(
        "from Cars group by T select T limit 2",
        r#"[{"T":["r","b"]},{"T":["r"]}]"#,
    );
    check(
        "from Cars group by array(T) select key() as T limit 1",
        r#"[{"T":["r","b"]}]"#,
    );
}

#[test]
fn nulls_and_what_is_missing_share_the_group_of_null() {
    let mut database = TestDatabase::default();
    for (id, body) in [
        (
            "c/1",
            r#"{"L":[{"P":null},{"P":"p"},{},7],"G":null,"H":null}"#,
        ),
        ("c/2", r#"{"L":null,"G":null,"H":1}"#),
        ("c/3", r#"{"L":[]}"#),
    ] {
        database.put(id, "Carts", body);
    }
    for (text, expected) in [
        (
            "group by L[].P select L[].P as P, count()",
            r#"[{"P":null,"Count":4},{"P":"p","Count":1}]"#,
        ),
        (
            "group by array(L[].P) select key() as K",
            r#"[{"K":[null,"p",null,null]},{"K":null},{"K":[]}]"#,
        ),
        (
            "group by G, H select H, count()",
            r#"[{"H":null,"Count":2},{"H":1,"Count":1}]"#,
        ),
        (
            "group by G where G = null select count()",
            r#"[{"Count":3}]"#,
        ),
    ] {
        let source = TestSource::without_index(&database);
        let rows = run(&format!("from Carts {text}"), "{}", &source)
            .unwrap()
            .rows;
        let metadata = r#","@metadata":{"@projection":true,"@change-vector":null}"#;
        assert_eq!(
            rows.root().to_json().replace(metadata, ""),
            expected,
            "{text}"
        );
    }
}

#[test]
fn conditions_order_and_scripts_see_groups() {
    check(
        "from Cars group by G where G = $p select count() as C",
        r#"[{"C":2}]"#,
    );
    check(
        "from Cars group by G where count() > 1 select G",
        r#"[{"G":"x"},{"G":null}]"#,
    );
    check(
        "from Cars group by G where sum(F) between 1 and 5 select G",
        r#"[{"G":"Y"}]"#,
    );
    check(
        "from Cars group by G order by count() desc, G select G, count() as N",
        r#"[{"G":null,"N":2},{"G":"x","N":2},{"G":"Y","N":1}]"#,
    );
    check(
        "from Cars group by G order by Total desc select G, sum(F) as Total limit 2",
        r#"[{"G":"x","Total":11},{"G":null,"Total":7}]"#,
    );
    check(
        "from Cars group by G filter G = 'x' select G",
        r#"[{"G":"x"}]"#,
    );
    check(
        "from Cars as c group by c.G where c.G = 'x' select { A: c.G, B: c.Count }",
        r#"[{"A":"x","B":2}]"#,
    );
}

#[test]
fn totals_count_groups_and_the_index_has_the_name_of_one() {
    let result = ask("from Cars group by G select sum(F) as S limit 1").unwrap();
    assert_eq!(
        (result.outcome.total_results, result.outcome.row_count),
        (Some(3), 1)
    );
    assert_eq!(result.index_name, "Auto/Cars/ByCountAndFReducedByG");
    let query = bound("from Cars group by G where G = 'x'", "{}").unwrap();
    assert_eq!(query.index_requirement(), None);
}

#[test]
fn what_groups_do_not_have_is_refused() {
    check(
        "from Cars group by G select avg(F)",
        "Unknown aggregation method in SELECT clause of the group by query: 'avg'",
    );
    check(
        "from Cars group by G where F = 1",
        "Field 'F' isn't neither an aggregation operation nor part of the group by key",
    );
    check(
        "from Boats group by G select sum(F)",
        "sum(F) needs numbers, but document 'b/1' has something else there",
    );
    check(
        "from Cars group by G load G as g",
        "`load` with `group by` is not executed yet by this version.",
    );
}

#[test]
fn groups_that_do_not_fit_are_an_error() {
    let database = database();
    let options = ExecuteOptions {
        memory_bytes_max: 300,
        ..ExecuteOptions::default()
    };
    let query = bound("from Cars group by G", "{}").unwrap();
    let outcome = run_bound(&query, &TestSource::without_index(&database), &options);
    assert!(matches!(
        outcome,
        Err(QueryError::Memory {
            what: "group by",
            ..
        })
    ));
}

//! Known documents, known answers.

use std::sync::atomic::AtomicBool;

use expect_test::{Expect, expect};
use jackdaw_document::write_json_pretty;

use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::test_source::{TestDatabase, TestIndex, TestResult, TestSource, bound, run, run_bound};
use jackdaw_model::Scope;

const CARS: [(&str, &str); 7] = [
    (
        "a/1",
        r#"{"F":1,"G":"x","Name":"Alpha one","Addr":{"City":"Oslo"},
            "L":[{"P":"p1","Q":2},{"P":"p2","Q":3}],"filter":"f1","N":3,"Tags":["red","blue"],
            "D":"2024-05-01T10:00:00.0000000Z","Ref":"a/2"}"#,
    ),
    (
        "a/2",
        r#"{"F":2.5,"G":"Y","Name":"beta two","Addr":{"City":"Bergen"},"L":[{"P":"p1","Q":1}],
            "N":null,"Tags":["red"],"D":"2024-05-02T10:00:00.0000000Z","Ref":"b/1"}"#,
    ),
    (
        "a/3",
        r#"{"F":10,"G":"x","Name":"gamma one two","Addr":null,"L":[],"Tags":[],
            "D":"2023-01-02T10:00:00.0000000Z"}"#,
    ),
    ("a/4", r#"{"F":"2","G":null,"Name":"delta","N":null}"#),
    (
        "a/5",
        r#"{"F":12.5,"G":"z z","Name":"a10","N":9223372036854775807}"#,
    ),
    ("a/6", r#"{"F":-3,"G":"ZZ","Name":"a9","N":1e300}"#),
    ("aa/7", r#"{"G":"q"}"#),
];

fn cars() -> TestDatabase {
    let mut database = TestDatabase::default();
    for (id, body) in CARS {
        database.put(id, "Cars", body);
    }
    database.put("b/1", "Boats", r#"{"F":1,"G":"boat"}"#);
    database
}

/// Runs without an index, and with one that has seen all, some and no documents.
fn run_all(text: &str) -> TestResult {
    let database = cars();
    let plain = run(text, "{}", &TestSource::without_index(&database)).unwrap();
    let query = bound(text, "{}").unwrap();
    let Some(requirement) = query.index_requirement() else {
        return plain;
    };
    let mut earlier = TestDatabase::default();
    earlier.put(
        "a/1",
        "Cars",
        r#"{"F":7,"G":"old","Name":["zz","aa"],"Tags":["x"]}"#,
    );
    earlier.put("a/2", "Cars", CARS[1].1);
    for old in [&database, &earlier, &TestDatabase::default()] {
        let index = TestIndex::build(old, requirement.scope.clone(), &requirement.fields);
        // What the index saw of the other history counts as nothing but its first two documents.
        let mut replayed = TestDatabase::default();
        if !std::ptr::eq(old, &database) {
            replayed = earlier_then_now(old);
        }
        let database = if std::ptr::eq(old, &database) {
            &database
        } else {
            &replayed
        };
        let reader = index.reader();
        let source = TestSource {
            database,
            index: Some((&index, &reader)),
        };
        let indexed = run(text, "{}", &source).unwrap();
        assert_eq!(indexed.ids(), plain.ids(), "{text}\n{}", indexed.plan);
        let (with, without) = (&indexed.outcome, &plain.outcome);
        if query.filter.is_none() {
            assert_eq!(with.total_results, without.total_results, "{text}");
        }
    }
    plain
}

/// The history of `old`, then the present documents.
fn earlier_then_now(old: &TestDatabase) -> TestDatabase {
    let mut database = TestDatabase::default();
    for document in old.all() {
        database.put(document.id, document.collection, "{}");
    }
    for (id, body) in CARS {
        database.put(id, "Cars", body);
    }
    database.put("b/1", "Boats", r#"{"F":1,"G":"boat"}"#);
    database
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(run_all(text).ids(), expected, "{text}");
}

#[test]
fn comparisons_follow_the_rules() {
    check("from Cars where F == 1", &["a/1"]);
    check("from Cars where F = 2", &[]);
    check("from Cars where F = '1'", &["a/1"]);
    check("from Cars where F = '1.0'", &[]);
    check("from Cars where F > 12 and F < 13", &["a/5"]);
    check("from Cars where F >= 2 and F <= 2", &[]);
    check("from Cars where F >= 2.5", &["a/2", "a/3", "a/5"]);
    check("from Cars where F between 1 and 10", &["a/1", "a/2", "a/3"]);
    check("from Cars where F between 10 and 1", &[]);
    check("from Cars where F > '1'", &["a/4"]);
    check("from Cars where startsWith(F, '1')", &["a/1", "a/3", "a/5"]);
    check("from Cars where N = 9223372036854775807", &["a/5"]);
    check("from Cars where N > 9223372036854775807", &["a/6"]);
    check("from Cars where G = 'X'", &["a/1", "a/3"]);
    check("from Cars where exact(G = 'X')", &[]);
    check("from Cars where exact(G = 'x')", &["a/1", "a/3"]);
    check("from Cars where F in (1, 10, 99)", &["a/1", "a/3"]);
    check("from Cars where D >= '2024'", &["a/1", "a/2"]);
    check("from Cars where D = '2024-05-01T10:00:00Z'", &["a/1"]);
    check("from Cars where D = '2024-05-01T10:00:00.000Z'", &["a/1"]);
    check(
        "from Cars where D = '2024-05-01T10:00:00.0000000'",
        &["a/1"],
    );
    // An end of a range is a point in time too, however it is written.
    for end in [
        "10:00:00.0000000",
        "10:00:00.0000000Z",
        "10:00:00",
        "10:00:00.000Z",
    ] {
        let at = format!("2024-05-01T{end}");
        check(&format!("from Cars where D >= '{at}'"), &["a/1", "a/2"]);
        check(&format!("from Cars where D > '{at}'"), &["a/2"]);
        check(
            &format!("from Cars where D between '{at}' and '{at}'"),
            &["a/1"],
        );
        check(&format!("from Cars where D > '2024' and D < '{at}'"), &[]);
    }
    check("from Cars where endsWith(Name, 'ONE')", &["a/1"]);
    check(
        "from Cars where search(Name, 'one two')",
        &["a/1", "a/2", "a/3"],
    );
    check("from Cars where search(Name, 'one two', and)", &["a/3"]);
    check("from Cars where search(Name, 'al* *mma')", &["a/1", "a/3"]);
    check("from Cars where search(Name, '*am*')", &["a/3"]);
}

#[test]
fn null_missing_and_empty_differ() {
    check("from Cars where N = null", &["a/2", "a/4"]);
    check(
        "from Cars where N != null",
        &["a/1", "a/3", "a/5", "a/6", "aa/7"],
    );
    check(
        "from Cars where exists(N)",
        &["a/1", "a/2", "a/4", "a/5", "a/6"],
    );
    check(
        "from Cars where exists(N) and not N = null",
        &["a/1", "a/5", "a/6"],
    );
    check("from Cars where exists(Addr.City)", &["a/1", "a/2"]);
    check("from Cars where exists(Addr)", &["a/1", "a/2", "a/3"]);
    check("from Cars where Addr.City = null", &[]);
    check("from Cars where exists(Tags)", &["a/1", "a/2"]);
    check("from Cars where Nope = null", &[]);
    check(
        "from Cars where F != 1",
        &["a/2", "a/3", "a/4", "a/5", "a/6", "aa/7"],
    );
}

#[test]
fn arrays_match_by_any_element() {
    check("from Cars where Tags = 'RED'", &["a/1", "a/2"]);
    check("from Cars where Tags all in ('red', 'blue')", &["a/1"]);
    check("from Cars where Tags all in ()", &[]);
    check("from Cars where L[].P = 'p1'", &["a/1", "a/2"]);
    check("from Cars where L.P = 'p2'", &["a/1"]);
    check("from Cars where L[1].P = 'p2'", &["a/1"]);
    check("from Cars where L[].P = 'p2' and L[].Q = 2", &["a/1"]);
    check(
        "from Cars where Tags != 'blue'",
        &["a/2", "a/3", "a/4", "a/5", "a/6", "aa/7"],
    );
}

#[test]
fn ids_and_metadata_are_fields() {
    check("from Cars where id() = 'A/1'", &["a/1"]);
    check("from Boats where id() = 'A/1'", &[]);
    check(
        "from Cars where id() in ('a/3', 'a/1', 'nope')",
        &["a/1", "a/3"],
    );
    check(
        "from @all_docs where startsWith(id(), 'A')",
        &["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "aa/7"],
    );
    check("from Cars where startsWith(id(), 'a/') and F = 1", &["a/1"]);
    check("from Cars where id() > 'a/5'", &["a/6", "aa/7"]);
    check(
        "from Cars where id() > 'a/5' or F = 1",
        &["a/1", "a/6", "aa/7"],
    );
    check(
        "from Cars where not endsWith(id(), '7') and F < 2",
        &["a/1", "a/6"],
    );
    check("from Cars where @metadata.Note = 'M' and F = 1", &["a/1"]);
    check(
        "from @all_docs where @metadata.'@collection' = 'boats'",
        &["b/1"],
    );
    check("from @all_docs where F = 1", &["a/1", "b/1"]);
    check("from cars where F = 1", &["a/1"]);
}

#[test]
fn orders_place_values_and_nulls() {
    check(
        "from Cars order by F as double",
        &["a/4", "aa/7", "a/6", "a/1", "a/2", "a/3", "a/5"],
    );
    check(
        "from Cars order by F as long desc",
        &["a/5", "a/3", "a/2", "a/1", "a/6", "a/4", "aa/7"],
    );
    check(
        "from Cars order by F as double desc nulls first",
        &["a/4", "aa/7", "a/5", "a/3", "a/2", "a/1", "a/6"],
    );
    check(
        "from Cars order by F",
        &["aa/7", "a/6", "a/1", "a/3", "a/5", "a/4", "a/2"],
    );
    check(
        "from Cars order by F desc",
        &["a/2", "a/4", "a/5", "a/3", "a/1", "a/6", "aa/7"],
    );
    check(
        "from Cars order by Name as alphaNumeric nulls last",
        &["a/6", "a/5", "a/1", "a/2", "a/4", "a/3", "aa/7"],
    );
    check(
        "from Cars order by G, id() desc",
        &["a/4", "aa/7", "a/3", "a/1", "a/2", "a/5", "a/6"],
    );
    check(
        "from Cars order by Tags, F as long",
        &["a/4", "aa/7", "a/6", "a/3", "a/5", "a/1", "a/2"],
    );
    check(
        "from Cars where G = 'x' order by F as double desc",
        &["a/3", "a/1"],
    );
    check(
        "from Cars order by @metadata.'@last-modified' desc limit 1",
        &["aa/7"],
    );
    check("from Cars order by id() desc limit 2", &["aa/7", "a/6"]);
    check(
        "from Cars where F > 0 order by score()",
        &["a/1", "a/2", "a/3", "a/5"],
    );
}

#[test]
fn random_order_depends_on_its_seed() {
    let database = cars();
    let source = TestSource::without_index(&database);
    let ids = |text: &str| run(text, "{}", &source).unwrap().ids();
    assert_eq!(
        ids("from Cars order by random('s')"),
        ids("from Cars order by random('s')")
    );
    assert_ne!(
        ids("from Cars order by random('s')"),
        ids("from Cars order by random('t')")
    );
    let query = bound("from Cars order by random()", "{}").unwrap();
    let with_seed = |random_seed| {
        let options = ExecuteOptions {
            random_seed,
            ..ExecuteOptions::default()
        };
        run_bound(&query, &source, &options).unwrap().ids()
    };
    assert_eq!(with_seed(1), with_seed(1));
    assert_ne!(with_seed(1), with_seed(2));
}

fn outcome(text: &str) -> (Option<u64>, u64, u64, u64, Option<u64>) {
    let database = cars();
    let found = run(text, "{}", &TestSource::without_index(&database))
        .unwrap()
        .outcome;
    (
        found.total_results,
        found.row_count,
        found.skipped_results,
        found.scanned_results,
        found.capped_max_results,
    )
}

#[test]
fn totals_are_those_of_the_protocol() {
    assert_eq!(outcome("from Nope"), (Some(0), 0, 0, 0, None));
    assert_eq!(outcome("from Cars"), (Some(7), 7, 0, 0, None));
    assert_eq!(outcome("from Cars limit 0"), (Some(7), 0, 0, 0, Some(0)));
    assert_eq!(outcome("from Cars offset 5"), (Some(7), 2, 0, 0, Some(2)));
    assert_eq!(
        outcome("from Cars limit 1 filter_limit 6"),
        (Some(7), 1, 0, 0, Some(1))
    );
    assert_eq!(
        outcome("from Cars limit 3 offset 1"),
        (Some(7), 3, 0, 0, Some(3))
    );
    assert_eq!(
        outcome("from Cars where F > 0 limit 1"),
        (Some(4), 1, 0, 0, Some(1))
    );
    assert_eq!(
        outcome("from Cars filter F > 1 filter_limit 3"),
        (Some(2), 2, 1, 3, None)
    );
    assert_eq!(
        outcome("from Cars filter true and not F = 1"),
        (Some(6), 6, 1, 7, None)
    );
    assert_eq!(
        outcome("from Cars filter Tags = 'red'"),
        (Some(0), 0, 7, 7, None)
    );
    assert_eq!(
        outcome("from Cars filter Addr.City = 'oslo'"),
        (Some(0), 0, 7, 7, None)
    );
    assert_eq!(
        outcome("from Cars filter Nope = null"),
        (Some(0), 0, 7, 7, None)
    );
    assert_eq!(
        outcome("from Cars filter Nope = Nada limit 2"),
        (Some(7), 2, 0, 7, Some(2))
    );
    assert_eq!(
        outcome("from @all_docs where startsWith(id(),'a/') limit 1").0,
        None
    );
    assert_eq!(
        outcome("from @all_docs where startsWith(id(),'a/')").0,
        Some(6)
    );
    assert_eq!(
        outcome("from Cars where id() in ()"),
        (Some(0), 0, 0, 0, None)
    );
}

#[test]
fn filters_see_rows_as_they_are() {
    check("from Cars filter G = 'x'", &["a/1", "a/3"]);
    check("from Cars filter G = 'X'", &[]);
    check(
        "from Cars filter F between 1 and 10",
        &["a/1", "a/2", "a/3"],
    );
    check("from Cars as c filter c.F < c.N", &["a/1", "a/5", "a/6"]);
    check("from Cars filter N = null", &["a/2", "a/4"]);
    check(
        "from Cars filter startsWith(Name, 'a1') or id() = 'aa/7'",
        &["a/5", "aa/7"],
    );
    check("from Cars filter Tags all in ('red')", &["a/1", "a/2"]);
    check("from Cars filter L[0].Q = 2", &["a/1"]);
    check("from Cars where F > 0 filter G = 'x' limit 1", &["a/1"]);
    check(
        "from Cars where F > 0 order by F as long desc filter G = 'x' limit 1",
        &["a/3"],
    );
    check(
        "from Cars order by F as long desc filter F > 1 filter_limit 2",
        &["a/5", "a/3"],
    );
}

fn rows(text: &str, expected: Expect) {
    let result = run_all(text);
    let mut shown = Vec::new();
    write_json_pretty(result.rows.root(), &mut shown);
    shown.push(b'\n');
    write_json_pretty(result.includes.root(), &mut shown);
    expected.assert_eq(&String::from_utf8(shown).unwrap());
}

#[test]
fn rows_are_documents_or_projections() {
    rows(
        "from Cars as c where F = 1 select c.F, c.Addr.City as City, L[].P, L[0].P, Tags, Nope, \
         'x' as K, 5, null as Z, id(), @metadata.'@collection'",
        expect![[r#"
            [
              {
                "F": 1,
                "City": "Oslo",
                "L[].P": [
                  "p1",
                  "p2"
                ],
                "L.0.P": "p1",
                "Tags": [
                  "red",
                  "blue"
                ],
                "Nope": null,
                "K": "x",
                "5": 5,
                "Z": null,
                "id()": "a/1",
                "@metadata.@collection": "Cars",
                "@metadata": {
                  "@projection": true,
                  "@change-vector": "A:1-DB",
                  "@id": "a/1",
                  "@index-score": 0,
                  "@last-modified": "1970-01-01T00:00:01.0000000Z"
                }
              }
            ]
            {}"#]],
    );
    rows(
        "from @all_docs where F = 2.5 select F include Ref, Tags",
        expect![[r#"
            [
              {
                "F": 2.5,
                "@metadata": {
                  "@projection": true,
                  "@change-vector": "A:2-DB",
                  "@id": "a/2",
                  "@index-score": 0,
                  "@last-modified": "1970-01-01T00:00:02.0000000Z"
                }
              }
            ]
            {
              "b/1": {
                "F": 1,
                "G": "boat",
                "@metadata": {
                  "@collection": "Boats",
                  "Note": "m",
                  "@change-vector": "A:8-DB",
                  "@id": "b/1",
                  "@last-modified": "1970-01-01T00:00:08.0000000Z"
                }
              }
            }"#]],
    );
    rows(
        "from Cars as c where id() = 'AA/7' select c",
        expect![[r#"
            [
              {
                "G": "q",
                "@metadata": {
                  "@collection": "Cars",
                  "Note": "m",
                  "@change-vector": "A:7-DB",
                  "@id": "aa/7",
                  "@last-modified": "1970-01-01T00:00:07.0000000Z"
                }
              }
            ]
            {}"#]],
    );
}

#[test]
fn distinct_rows_come_once() {
    let found = run_all("from Cars order by G select distinct G");
    assert_eq!(found.ids(), ["a/4", "aa/7", "a/1", "a/2", "a/5", "a/6"]);
    assert_eq!(found.outcome.skipped_results, 1);
    assert_eq!(found.outcome.total_results, Some(7));
    assert_eq!(
        run_all("from Cars order by G select distinct G limit 2").ids(),
        ["a/4", "aa/7"]
    );
    // The next page starts behind the rows and the duplicates of this one.
    let page = run_all("from Cars order by G select distinct G limit 2 offset 3");
    assert_eq!(page.ids(), ["a/2", "a/5"]);
    assert_eq!(page.outcome.skipped_results, 1);
}

#[test]
fn named_indexes_answer_for_their_fields_only() {
    let database = cars();
    let requirement = bound("from Cars where F = 1", "{}")
        .unwrap()
        .index_requirement()
        .unwrap();
    let index = TestIndex::build(
        &database,
        Scope::Collection("Cars".into()),
        &requirement.fields,
    );
    let reader = index.reader();
    let source = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    let found = run("from index 'Auto/Test' where F = 1", "{}", &source).unwrap();
    assert_eq!(found.ids(), ["a/1"]);
    assert_eq!(found.index_name, "Auto/Test");
    assert_eq!(
        run("from index 'Auto/Test'", "{}", &source)
            .unwrap()
            .ids()
            .len(),
        7
    );
    let error = run("from index 'Auto/Test' order by Nope", "{}", &source)
        .err()
        .unwrap();
    assert!(matches!(error, QueryError::Argument(_)), "{error}");
    let source = TestSource::without_index(&database);
    let error = run("from index 'Auto/Test'", "{}", &source).err().unwrap();
    assert!(matches!(error, QueryError::IndexMissing(_)), "{error}");
}

#[test]
fn indexes_that_do_not_cover_a_query_are_not_used() {
    let database = cars();
    let requirement = bound("from Cars where F = 1", "{}")
        .unwrap()
        .index_requirement()
        .unwrap();
    let index = TestIndex::build(
        &database,
        Scope::Collection("Cars".into()),
        &requirement.fields,
    );
    let reader = index.reader();
    let source = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    for (text, index_name, ids) in [
        ("from cars where F = 1", "Auto/Test", vec!["a/1"]),
        (
            "from Cars where F = 1 and G = 'x'",
            "collection/Cars",
            vec!["a/1"],
        ),
        (
            "from Cars where exact(F = 1)",
            "collection/Cars",
            vec!["a/1"],
        ),
        ("from Boats where F = 1", "collection/Boats", vec!["b/1"]),
        (
            "from @all_docs where F = 1",
            "collection/@all_docs",
            vec!["a/1", "b/1"],
        ),
    ] {
        let found = run(text, "{}", &source).unwrap();
        assert_eq!(found.index_name, index_name, "{text}");
        assert_eq!(found.ids(), ids, "{text}");
    }
}

#[test]
fn plans_show_what_is_done() {
    let shown = |text: &str| run_all(text).plan;
    expect![[r#"
        collection/Cars
          read every document
          rows: documents, 2 of them"#]]
    .assert_eq(&shown("from Cars limit 2"));
    expect![[r#"
        collection/Cars
          read 2 ids
            and
              id() in (2 values)
              F = 1
          rows: documents"#]]
    .assert_eq(&shown("from Cars where id() in ('a/1', 'a/2') and F = 1"));
    let database = cars();
    let text = "from Cars where (F = 1 or G = 'x') and not N = null order by F as long desc, id() \
                select distinct F, G limit 10 offset 5";
    let query = bound(text, "{}").unwrap();
    let requirement = query.index_requirement().unwrap();
    let index = TestIndex::build(&database, requirement.scope.clone(), &requirement.fields);
    let reader = index.reader();
    let source = TestSource {
        database: &database,
        index: Some((&index, &reader)),
    };
    expect![[r#"
        Auto/Test
          look up in the index, then evaluate changes it has not seen
            and
              or
                F = 1
                G = 'x'
              not
                N = null
          order by F desc, id()
          rows: different F, G, 10 of them after 5"#]]
    .assert_eq(&run(text, "{}", &source).unwrap().plan);
}

#[test]
fn limits_end_queries_with_an_error() {
    let database = cars();
    let source = TestSource::without_index(&database);
    let flag = AtomicBool::new(true);
    let options = ExecuteOptions {
        interrupt: Some(&flag),
        ..ExecuteOptions::default()
    };
    let query = bound("from Cars where id() in ('a/1')", "{}").unwrap();
    assert!(matches!(
        run_bound(&query, &source, &options),
        Err(QueryError::Stopped)
    ));
    let options = ExecuteOptions {
        memory_bytes_max: 100,
        ..ExecuteOptions::default()
    };
    for text in ["from Cars order by Name", "from Cars select distinct Name"] {
        let query = bound(text, "{}").unwrap();
        let found = run_bound(&query, &source, &options);
        assert!(matches!(found, Err(QueryError::Memory { .. })), "{text}");
    }
    let query = bound("from Cars order by Name limit 1", "{}").unwrap();
    let options = ExecuteOptions {
        memory_bytes_max: 500,
        ..ExecuteOptions::default()
    };
    assert_eq!(
        run_bound(&query, &source, &options).unwrap().ids(),
        ["aa/7"]
    );
}

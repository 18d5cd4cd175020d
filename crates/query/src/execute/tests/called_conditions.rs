//! Conditions that call functions: in `filter`, and in the `where` of subscriptions.

use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::follow::{FollowQuery, Follower};
use crate::source::Source;
use crate::test_source::{TestDatabase, TestSource, run};

fn database() -> TestDatabase {
    let mut database = TestDatabase::default();
    for (id, body) in [
        ("a/1", r#"{"N":1,"A":"x","B":"x","Ref":"o/1","L":[1,2]}"#),
        (
            "a/2",
            r#"{"N":2,"A":"x","B":"X","Ref":"none","Current":{"Age":3},"Previous":{"Age":2}}"#,
        ),
        (
            "a/3",
            r#"{"N":3,"A":2,"B":2.0,"Current":{"Age":3},"Previous":{"Age":3}}"#,
        ),
        ("a/4", r#"{"N":4,"A":null,"Current":{"Age":"3"}}"#),
    ] {
        database.put(id, "Cars", body);
    }
    database.put("o/1", "Owners", r#"{"City":"Oslo"}"#);
    database
}

const DECLARED: &str = "declare function big(o, n) { return o.N > (n ?? 1) }
    declare function number(o) { return o.N }
    declare function city(o) { return load(o.Ref) }
    declare function fails(o) { throw new Error('no ' + o.N) } ";

/// Numbers of the cars that a query finds.
fn found(text: &str) -> Result<String, QueryError> {
    let database = database();
    let text = format!("{DECLARED}{text}");
    let source = TestSource::without_index(&database);
    let json = run(&text, r#"{"p":2}"#, &source)?.rows.root().to_json();
    let rows = json.split("{\"N\":").skip(1);
    Ok(rows
        .map(|row| row.split(',').next().unwrap_or(""))
        .collect())
}

/// Numbers of the cars that a subscription sends.
fn sent(text: &str) -> Result<String, QueryError> {
    let database = database();
    let source = TestSource::without_index(&database);
    let query = FollowQuery::parse(&format!("{DECLARED}{text}"))?;
    let mut follower = Follower::new(&query);
    let mut sent = String::new();
    for number in 1..=4 {
        let id = format!("a/{number}");
        let document = source
            .document_by_id(&id)
            .expect("a read")
            .expect("a document");
        if follower
            .row(&document, &source, &ExecuteOptions::default())?
            .is_some()
        {
            sent.push_str(&number.to_string());
        }
    }
    Ok(sent)
}

#[test]
fn filters_call_declared_functions() {
    for (condition, expected) in [
        ("big(c)", "234"),
        ("not big(c)", "1"),
        ("c.N = 1 or big(c, 3)", "14"),
        ("c.N > 2 and big(c, $p)", "34"),
        ("number(c) > 2", "34"),
        ("number(c) = c.N", "1234"),
        ("number(c) between 2 and 3", "23"),
        ("number(c) in (1, 4)", "14"),
        ("city(c).City = 'Oslo'", "1"),
        ("city(c) = null", "234"),
        // Only true passes.
        ("number(c)", ""),
        // What does not decide is not called.
        ("c.N < 9 or fails(c)", "1234"),
        ("c.N > 9 and fails(c)", ""),
    ] {
        let text = format!("from Cars as c filter {condition} select N");
        assert_eq!(found(&text).expect(&text), expected, "{text}");
    }
    let paged = "from Cars as c where N > 1 filter big(c, 2) select N limit 1, 1";
    assert_eq!(found(paged).expect(paged), "4");
    let scripted = "from Cars as c filter big(c, 2) select { N: c.N, x: 1 }";
    assert_eq!(found(scripted).expect(scripted), "34");
}

#[test]
fn subscriptions_call_functions_and_compare_fields() {
    for (condition, expected) in [
        ("big(c)", "234"),
        ("c.N = 1 or big(c, 3)", "14"),
        ("number(c) > 2 and not big(c, 3)", "3"),
        ("c.A = c.B", "13"),
        ("A = B", "13"),
        ("A != B", "24"),
        ("c.Current.Age > c.Previous.Age", "2"),
        ("c.Current.Age >= c.Previous.Age", "23"),
        ("not c.Current.Age > c.Previous.Age", "134"),
        // Parts without a function keep their meaning: text without its case, elements of lists.
        ("c.A = 'X' and big(c)", "2"),
        ("c.L = 2 and c.A = c.B", "1"),
        ("c.A = 'X' or c.A = c.B", "123"),
        ("id() = 'A/2' and big(c)", "2"),
        ("c.N between 2 and c.A", ""),
    ] {
        let text = format!("from Cars as c where {condition}");
        assert_eq!(sent(&text).expect(&text), expected, "{text}");
    }
    let both = "from Cars as c where big(c) filter big(c, 2) select { N: c.N }";
    assert_eq!(sent(both).expect(both), "34");
}

#[test]
fn conditions_over_indexes_stay_free_of_fields_and_functions() {
    for text in ["from Cars where A = B", "from Cars as c where big(c)"] {
        assert!(found(text).is_err(), "{text}");
    }
}

#[test]
fn a_function_that_throws_ends_the_query() {
    for text in [
        "from Cars as c filter fails(c)",
        "from Cars as c filter not fails(c)",
        "from Cars as c filter c.nope()",
        "from Cars as c select { x: c.nope() }",
        "from Cars as c select { x: nosuch(c) }",
    ] {
        assert!(found(text).is_err(), "{text}");
    }
    let failed = sent("from Cars as c where fails(c)").unwrap_err();
    assert!(matches!(failed, QueryError::Script(_)), "{failed}");
}

#[test]
fn a_script_that_is_no_javascript_is_refused_without_a_match() {
    for text in [
        "from Cars as c where N > 99 select { x: c. }",
        "from Nones as c select { x: ; }",
        "declare function bad(o) { return . } from Nones as c filter bad(c)",
        "declare function bad(o) { return . } from Nones as c select bad(c)",
    ] {
        let error = found(text).unwrap_err();
        assert!(matches!(error, QueryError::Invalid(_)), "{text}: {error}");
    }
    for text in [
        "from Cars as c select { x: c. }",
        "declare function bad(o) { return . } from Cars as c where bad(c)",
    ] {
        let error = sent(text).unwrap_err();
        assert!(matches!(error, QueryError::Invalid(_)), "{text}: {error}");
    }
}

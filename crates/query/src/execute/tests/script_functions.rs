//! One list of functions: time series, distances and texts in projections, filters, functions and
//! subscriptions.

use crate::execute::ExecuteOptions;
use crate::follow::{FollowQuery, Follower};
use crate::source::Source;
use crate::test_source::{TestDatabase, TestSource, run};

fn database() -> TestDatabase {
    let mut database = TestDatabase::default();
    database.put("a/1", "Cars", r#"{"N":1,"Lat":10,"Lng":10}"#);
    database.put("a/2", "Cars", r#"{"N":2,"Lat":"x"}"#);
    let day = |day: u32| format!("2024-01-0{day}T00:00:00.0000000Z");
    database.append("a/1", "Heart", &day(1), &[1.5], "t");
    database.append("a/1", "Heart", &day(2), &[2.0, 3.0], "");
    database
}

/// The `v` of the first car.
fn value(expression: &str) -> String {
    let database = database();
    let text = format!("from Cars as c where c.N = 1 select {{ v: {expression} }}");
    match run(&text, "{}", &TestSource::without_index(&database)) {
        Ok(result) => {
            let row = result.rows.root().as_array().and_then(|rows| rows.get(0));
            row.and_then(|row| row.get("v")).expect("v").to_json()
        }
        Err(error) => error.to_string(),
    }
}

const NO_TIME: &str = "0001-01-01T00:00:00.0000000";

#[test]
fn time_series_are_read_by_name_and_range() {
    let first = concat!(
        r#"{"Timestamp":"2024-01-01T00:00:00.0000000Z","#,
        r#""Tag":"t","Values":[1.5],"IsRollup":false}"#
    );
    let second = concat!(
        r#"{"Timestamp":"2024-01-02T00:00:00.0000000Z","#,
        r#""Tag":null,"Values":[2,3],"IsRollup":false}"#
    );
    let both = format!("[{first},{second}]");
    for (expression, expected) in [
        ("timeseries(c, 'Heart').get()", both.as_str()),
        ("timeseries('A/1', 'heart').get().length", "2"),
        ("timeseries(id(c), 'Heart').get()[1].Values[1]", "3"),
        (
            "timeseries(c, 'Heart').get('2024-01-02T00:00:00.0000000Z', '2025-01-01')",
            &format!("[{second}]"),
        ),
        (
            "timeseries(c, 'Heart').get(new Date(0), new Date(1704067200000))",
            &format!("[{first}]"),
        ),
        (
            "timeseries(c, 'Heart').get('2025-01-01', '2024-01-01')",
            "[]",
        ),
        ("timeseries(c, 'None').get()", "[]"),
        ("timeseries('none/1', 'Heart').get()", "[]"),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn statistics_of_a_series_that_is_missing_have_no_time() {
    let stats = |start: &str, end: &str, count: u32| {
        format!(r#"{{"Start":"{start}","End":"{end}","Count":{count}}}"#)
    };
    assert_eq!(
        value("timeseries(c, 'Heart').getStats()"),
        stats(
            "2024-01-01T00:00:00.0000000Z",
            "2024-01-02T00:00:00.0000000Z",
            2
        )
    );
    let none = stats(NO_TIME, NO_TIME, 0);
    assert_eq!(value("timeseries(c, 'None').getStats()"), none);
    assert_eq!(value("timeseries('no/1', 'Heart').getStats()"), none);
}

#[test]
fn changes_of_time_series_are_refused_in_queries() {
    for (expression, part) in [
        (
            "timeseries(c, 'Heart').append('2024', 1)",
            "append() changes documents",
        ),
        (
            "timeseries(c, 'INC:H').increment(1)",
            "increment() changes documents",
        ),
        (
            "timeseries(c, 'Heart').delete()",
            "delete() changes documents",
        ),
        (
            "timeseries(c, 'Heart').get('2024')",
            "get() takes two times",
        ),
        (
            "timeseries(c, 'Heart').get('x', 'y')",
            "Unable to parse timeseries",
        ),
        (
            "timeseries(c, 'Heart').get(true, false)",
            "true is not a time",
        ),
        ("timeseries(c).get()", "timeseries() needs a name"),
    ] {
        let told = value(expression);
        assert!(told.contains(part), "{expression}: {told}");
    }
}

#[test]
fn lists_of_fields_and_filters_call_them_too() {
    let database = database();
    let source = TestSource::without_index(&database);
    let values = |text: &str| -> String {
        let rows = run(text, "{}", &source).expect(text).rows.root().to_json();
        let cut = rows.split("{\"v\":").skip(1);
        let cut = cut.map(|row| row.split(",\"@metadata\"").next().unwrap_or(""));
        cut.collect::<Vec<_>>().join(" ")
    };
    for (text, expected) in [
        (
            "from Cars as c select spatial.distance(c.Lat, c.Lng, 11, 11) as v",
            "155.93371239338526 null",
        ),
        (
            "from Cars select spatial.distance(Lat, Lng, 11, 11, 'miles') as v",
            "96.89271674286297 null",
        ),
        (
            "from Cars as c select toStringWithFormat(c.N, '0.00') as v",
            "\"1.00\" \"2.00\"",
        ),
        (
            "from Cars as c filter spatial.distance(c.Lat, c.Lng, 11, 11) < 200 select c.N as v",
            "1",
        ),
        (
            "declare function near(c) { return spatial.distance(c.Lat, c.Lng, 11, 11) < 200 }
             from Cars as c filter near(c) select c.N as v",
            "1",
        ),
        (
            "from Cars as c filter toStringWithFormat(c.N, '000') = '002' select c.N as v",
            "2",
        ),
        (
            "declare function f(c) { return timeseries(c, 'Heart').getStats().Count }
             from Cars as c filter f(c) > 1 select f(c) as v",
            "2",
        ),
        (
            "declare function f(c) { return scalarToRawString(c, x => x.Lat) }
             from Cars as c select f(c) as v",
            "10 \"x\"",
        ),
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
}

#[test]
fn subscriptions_call_them_too() {
    let database = database();
    let source = TestSource::without_index(&database);
    let text = "from Cars as c where spatial.distance(c.Lat, c.Lng, 11, 11) < 200
        select { v: timeseries(c, 'Heart').get().length, n: toStringWithFormat(c.N, '0.0') }";
    let query = FollowQuery::parse(text).expect("a query");
    let mut follower = Follower::new(&query);
    let mut sent = Vec::new();
    for id in ["a/1", "a/2"] {
        let document = source.document_by_id(id).expect("a read").expect("there");
        let row = follower.row(&document, &source, &ExecuteOptions::default());
        sent.extend(
            row.expect("a row")
                .map(|row| String::from_utf8_lossy(row).into_owned()),
        );
    }
    assert_eq!(sent.len(), 1);
    assert!(sent[0].starts_with(r#"{"v":2,"n":"1.0","#), "{}", sent[0]);
}

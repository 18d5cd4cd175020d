//! Known series, known answers; the numbers are those of a recorded RavenDB 7.1.

use jackdaw_document::Value;

use crate::error::QueryError;
use crate::test_source::{TestDatabase, TestSource, run};

fn database() -> TestDatabase {
    let mut database = TestDatabase::default();
    database.put(
        "a/1",
        "Cars",
        r#"{"Name":"one","From":"2024-01-01T01:00:00.0000000Z"}"#,
    );
    database.put("a/2", "Cars", r#"{"G":"Y"}"#);
    database.put("a/3", "Cars", r#"{"G":"x"}"#);
    for (at, value, tag) in [
        ("00:00", 0.0, "a/2"),
        ("00:30", 30.0, "a/3"),
        ("01:15", 25.0, "a/2"),
        ("04:00", 40.0, "zz"),
    ] {
        let at = format!("2024-01-01T{at}:00");
        database.append("a/1", "Heat", &at, &[value, 1.0], tag);
    }
    // What a policy made of three and of one entry; the second has a value that the first lacks.
    let hours: [(&str, &[f64]); 2] = [
        ("00:00", &[1.0, 3.0, 1.0, 5.0, 9.0, 3.0]),
        (
            "01:00",
            &[7.0, 7.0, 7.0, 7.0, 7.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0],
        ),
    ];
    for (at, values) in hours {
        let at = format!("2024-01-01T{at}:00");
        database.append("a/1", "Heat@ByHour", &at, values, "");
    }
    database
}

fn ask(body: &str, parameters: &str) -> Result<String, QueryError> {
    let database = database();
    let text = format!("from Cars as c where id() = 'a/1' select timeseries({body}) as R");
    let result = run(&text, parameters, &TestSource::without_index(&database))?;
    let row = result.rows.root().as_array().unwrap().get(0).unwrap();
    Ok(row.get("R").unwrap().to_json())
}

/// Times of the day are shortened to hours.
fn check(body: &str, parameters: &str, expected: &str) {
    let answer = ask(body, parameters).unwrap();
    let answer = answer.replace("2024-01-01T", "").replace(":00.0000000", "");
    assert_eq!(answer, expected, "{body}");
}

#[test]
fn entries_of_rolled_up_series_count_for_those_they_were_made_of() {
    check(
        "from 'Heat@ByHour' where Timestamp < '2024-01-01T01:00'",
        "{}",
        concat!(
            r#"{"Count":1,"Results":[{"Tag":null,"Timestamp":"00:00Z","#,
            r#""Values":[1.0,3.0,1.0,5.0,9.0,3.0],"IsRollup":true}]}"#
        ),
    );
    let answer = ask(
        "from 'heat@byhour' select count(), first(), last(), min(), max(), sum(), avg()",
        "{}",
    );
    let answer = answer.unwrap();
    for part in [
        r#""Count":[4.0,1.0]"#,
        r#""First":[1.0,2.0]"#,
        r#""Last":[7.0,2.0]"#,
        r#""Min":[1.0,2.0]"#,
        r#""Max":[7.0,2.0]"#,
        r#""Sum":[16.0,2.0]"#,
        r#""Average":[4.0,2.0]"#,
    ] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
}

#[test]
fn entries_come_as_they_are() {
    let last = concat!(
        r#"{"Count":1,"#,
        r#""Results":[{"Tag":"zz","Timestamp":"04:00Z","Values":[40.0,1.0],"IsRollup":false}]}"#
    );
    check("from c.heat last 1 hour", "{}", last);
    check("from Heat where Values[0] > 30", "{}", last);
    check(
        "from Heat where Value > 30 and Tag in ('zz', 'yy')",
        "{}",
        last,
    );
    check(
        "from Heat where Timestamp > $t",
        r#"{"t":"2024-01-01T01:15:00"}"#,
        last,
    );
    check(
        "from Heat between '2024-01-01T03:00' and $to",
        r#"{"to":"2024-01-01T04:00:00.0000000"}"#,
        last,
    );
    check(
        "from Heat first 10 min scale 2 offset '02:00'",
        "{}",
        concat!(
            r#"{"Count":1,"#,
            r#""Results":[{"Tag":"a/2","Timestamp":"02:00","Values":[0.0,2.0],"IsRollup":false}]}"#
        ),
    );
    check(
        "from Heat between c.From and '2024-01-01T03:00' load Tag as t where t.G = 'Y'",
        "{}",
        concat!(
            r#"{"Count":1,"#,
            r#""Results":[{"Tag":"a/2","Timestamp":"01:15Z","#,
            r#""Values":[25.0,1.0],"IsRollup":false}]}"#
        ),
    );
}

#[test]
fn groups_are_those_of_the_clocks_of_the_zone() {
    let mut database = TestDatabase::default();
    database.put("s/1", "Sites", "{}");
    for (at, value) in [
        ("2024-04-30T22:30:00", 1.0),
        ("2024-04-30T23:30:00", 2.0),
        ("2024-05-01T05:00:00", 3.0),
        ("2024-05-31T23:00:00", 4.0),
    ] {
        database.append("s/1", "H", at, &[value], "");
    }
    let spans = |body: &str| {
        let text = format!("from Sites select timeseries(from H {body}) as R");
        let result = run(&text, "{}", &TestSource::without_index(&database)).unwrap();
        let row = result.rows.root().as_array().unwrap().get(0).unwrap();
        let results = row.get("R").unwrap().get("Results").unwrap();
        let spans = results.as_array().unwrap().iter().map(|group| {
            let time = |name: &str| group.get(name).unwrap().as_str().unwrap_or("-").to_owned();
            let count = group.get("Count").unwrap().to_json();
            format!("{} {} {count}", time("From"), time("To")).replace(":00.0000000", "")
        });
        spans.collect::<Vec<_>>()
    };
    for (body, expected) in [
        (
            "group by '1 day' select count() offset '02:00:00'",
            &[
                "2024-05-01T00:00 2024-05-02T00:00 [3.0]",
                "2024-06-01T00:00 2024-06-02T00:00 [1.0]",
            ][..],
        ),
        (
            "group by '1 day' select count() offset '-02:00:00'",
            &[
                "2024-04-30T00:00 2024-05-01T00:00 [2.0]",
                "2024-05-01T00:00 2024-05-02T00:00 [1.0]",
                "2024-05-31T00:00 2024-06-01T00:00 [1.0]",
            ],
        ),
        (
            "group by '1 month' select count() offset '02:00:00'",
            &[
                "2024-05-01T00:00 2024-06-01T00:00 [3.0]",
                "2024-06-01T00:00 2024-07-01T00:00 [1.0]",
            ],
        ),
        (
            "group by '7 days' select count() offset '02:00:00'",
            &[
                "2024-04-29T00:00 2024-05-06T00:00 [3.0]",
                "2024-05-27T00:00 2024-06-03T00:00 [1.0]",
            ],
        ),
        (
            "last 1 days group by '1 hour' select count() offset '02:00:00'",
            &["2024-06-01T01:00 2024-06-01T02:00 [1.0]"],
        ),
        ("select count()", &["- - [4.0]"]),
        ("last 1 days select count()", &["2024-05-30T23:00Z - [1.0]"]),
        (
            "last 1 days select count() offset '02:00:00'",
            &["2024-05-31T01:00Z - [1.0]"],
        ),
        (
            "first 1 days select count()",
            &["- 2024-05-01T22:30Z [3.0]"],
        ),
        (
            "between '2024-05-01' and '2024-05-02' select count()",
            &["2024-05-01T00:00Z 2024-05-02T00:00Z [1.0]"],
        ),
        (
            "between '2024-05-01' and '2024-05-02' select count() offset '02:00:00'",
            &["2024-05-01T02:00Z 2024-05-02T02:00Z [1.0]"],
        ),
        (
            "between '2024-05-01' and '2024-05-02' group by '1 day' select count() \
             offset '02:00:00'",
            &["2024-05-01T00:00 2024-05-02T00:00 [1.0]"],
        ),
        ("between '1990' and '1991' select count()", &[]),
    ] {
        assert_eq!(spans(body), expected, "{body}");
    }
    let filled = spans("group by '1 day' with interpolation(linear) select sum() offset '02:00'");
    assert_eq!(filled.len(), 32);
    assert!(filled[1].starts_with("2024-05-02T00:00 2024-05-03T00:00 "));
}

#[test]
fn groups_have_spans_keys_and_numbers() {
    check(
        "from Heat group by '1 hour' select avg() offset '02:00'",
        "{}",
        concat!(
            r#"{"Count":4,"Results":["#,
            r#"{"From":"02:00","To":"03:00","Key":null,"Count":[2.0,2.0],"Average":[15.0,1.0]},"#,
            r#"{"From":"03:00","To":"04:00","Key":null,"Count":[1.0,1.0],"Average":[25.0,1.0]},"#,
            r#"{"From":"06:00","To":"07:00","Key":null,"Count":[1.0,1.0],"Average":[40.0,1.0]}]}"#,
        ),
    );
    check(
        "from Heat load Tag as t group by 1 hour, t.G select count()",
        "{}",
        concat!(
            r#"{"Count":4,"Results":["#,
            r#"{"From":"00:00Z","To":"01:00Z","Key":"Y","Count":[1.0,1.0]},"#,
            r#"{"From":"00:00Z","To":"01:00Z","Key":"x","Count":[1.0,1.0]},"#,
            r#"{"From":"01:00Z","To":"02:00Z","Key":"Y","Count":[1.0,1.0]},"#,
            r#"{"From":"04:00Z","To":"05:00Z","Key":null,"Count":[1.0,1.0]}]}"#,
        ),
    );
    let answer = ask(
        "from Heat group by '1 month' \
         select percentile(90), slope(), stddev(), first(), last(), sum()",
        "{}",
    );
    let month = concat!(
        r#"{"Count":4,"Results":[{"From":"2024-01-01T00:00:00.0000000Z","#,
        r#""To":"2024-02-01T00:00:00.0000000Z","Key":null,"Count":[4.0,4.0],"#,
        r#""Percentile":[40.0,1.0],"Slope":[1.4934289127837514e-8,0.0],"#,
        r#""StandardDeviation":[17.017148213885115,0.0],"First":[0.0,1.0],"Last":[40.0,1.0],"#,
        r#""Sum":[95.0,4.0]}]}"#,
    );
    assert_eq!(answer.unwrap(), month);
    check(
        "from Heat select count(), max()",
        "{}",
        concat!(
            r#"{"Count":4,"#,
            r#""Results":[{"From":null,"To":null,"Key":null,"Count":[4.0,4.0],"Max":[40.0,1.0]}]}"#
        ),
    );
    check("from Nope group by 1h", "{}", r#"{"Count":0,"Results":[]}"#);
}

#[test]
fn spans_without_entries_are_filled_on_request() {
    let averages = |kind: &str| {
        let body = format!("from Heat group by '1 hour' with interpolation({kind}) select avg()");
        let answer = ask(&body, "{}").unwrap();
        let numbers = answer.split("Average\":[").skip(1);
        let numbers = numbers.map(|rest| rest.split(',').next().unwrap().to_owned());
        numbers.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(averages("last"), "15.0 25.0 25.0 25.0 40.0");
    assert_eq!(averages("Next"), "15.0 25.0 40.0 40.0 40.0");
    assert_eq!(averages("linear"), "15.0 25.0 30.0 35.0 40.0");
    assert_eq!(averages("nearest"), "15.0 25.0 25.0 40.0 40.0");
}

#[test]
fn declared_queries_make_fields_and_whole_rows() {
    let database = database();
    let ask = |select: &str| {
        let text = format!(
            "declare timeseries out(p) {{ from p.Heat group by 1 day select max() }} \
             from Cars as c where id() = 'a/1' select {select}"
        );
        run(&text, "{}", &TestSource::without_index(&database)).unwrap()
    };
    let both = ask("out(c), c.Name");
    assert_eq!(both.outcome.series_fields, Some(vec!["out".to_owned()]));
    let row = both.rows.root().as_array().unwrap().get(0).unwrap();
    assert_eq!(row.get("Name"), Some(Value::String("one")));
    assert_eq!(row.get_path(&["out", "Count"]), Some(Value::Long(4)));
    let whole = ask("out(c)");
    let row = whole.rows.root().as_array().unwrap().get(0).unwrap();
    assert_eq!(row.get("Count"), Some(Value::Long(4)));
    assert_eq!(
        row.get_path(&["@metadata", "@id"]),
        Some(Value::String("a/1"))
    );
    assert_eq!(whole.outcome.series_fields, Some(Vec::new()));
}

#[test]
fn what_has_no_meaning_is_refused_by_name() {
    for (body, error) in [
        (
            "from Heat select Values",
            "Unknown method in timeseries query: <Field>: Values",
        ),
        (
            "from Heat select median()",
            "Unknown method in timeseries query: median()",
        ),
        (
            "from Heat group by '1 week'",
            "Unable to understand time range: '1 week'",
        ),
        (
            "from Heat between $p and $p",
            "Got a null instead of a value",
        ),
        (
            "from Heat between 'soon' and 'later'",
            "The supported time formats are",
        ),
        ("from Heat where Weight > 3", "Unknown field 'Weight'"),
        ("from Heat group by 1h, Color", "grouped by tag"),
        ("from Heat offset '2'", "Expected hours and minutes"),
        ("from Heat select percentile(101)", "from 0 to 100"),
        (
            "from Heat group by 1h with interpolation(cubic)",
            "Expected interpolation(linear)",
        ),
    ] {
        let refused = ask(body, r#"{"p":null}"#).unwrap_err().to_string();
        assert!(refused.contains(error), "{body}: {refused}");
    }
}

#[test]
fn an_aggregate_that_is_asked_for_again_is_no_second_one() {
    let body = format!("from Heat select max(){}", ", max()".repeat(1_000));
    check(
        &body,
        "{}",
        concat!(
            r#"{"Count":4,"#,
            r#""Results":[{"From":null,"To":null,"Key":null,"Count":[4.0,4.0],"Max":[40.0,1.0]}]}"#
        ),
    );
    let two = ask("from Heat select percentile(50), percentile(90)", "{}");
    assert!(two.unwrap_err().to_string().contains("one Percentile"));
}

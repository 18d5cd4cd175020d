//! What one value is: instants in any spelling, numbers in any notation, lengths as members, and
//! ranges of one kind. Each condition is answered without an index, with one that has seen all
//! documents, and with one that has seen half of them.

use jackdaw_sim::Rng;

use crate::execute::ExecuteOptions;
use crate::follow::{FollowQuery, Follower};
use crate::source::StoredDocument;
use crate::test_source::{TestDatabase, TestIndex, TestResult, TestSource, bound, run};

/// Runs a query in every way; all must agree.
fn ask(documents: &[(&str, &str)], text: &str) -> TestResult {
    let mut database = TestDatabase::default();
    for (id, body) in documents {
        database.put(id, "Docs", body);
    }
    let plain = run(text, "{}", &TestSource::without_index(&database)).unwrap();
    let query = bound(text, "{}").unwrap();
    let Some(requirement) = query.index_requirement() else {
        return plain;
    };
    // The half that was written before the index was made, then the rest.
    let mut half = TestDatabase::default();
    for (id, body) in &documents[..documents.len() / 2] {
        half.put(id, "Docs", body);
    }
    for seen in [&database, &half] {
        let index = TestIndex::build(seen, requirement.scope.clone(), &requirement.fields);
        let reader = index.reader();
        let source = TestSource {
            database: &database,
            index: Some((&index, &reader)),
        };
        let indexed = run(text, "{}", &source).unwrap();
        assert_eq!(
            indexed.rows.root().to_json(),
            plain.rows.root().to_json(),
            "{text}\n{}",
            indexed.plan
        );
    }
    plain
}

/// Rows without their metadata.
fn values_of(result: &TestResult) -> Vec<String> {
    let rows = result.rows.root().as_array().unwrap();
    let plain = |row: jackdaw_document::Value<'_>| {
        let members = row.as_object().unwrap();
        let members = members.iter().filter(|(name, _)| *name != "@metadata");
        let members = members.map(|(name, value)| format!("\"{name}\":{}", value.to_json()));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    };
    rows.iter().map(plain).collect()
}

fn ids(documents: &[(&str, &str)], condition: &str) -> Vec<String> {
    let text = format!("from Docs {condition}");
    let found = ask(documents, &text).ids();
    if !text.contains("order by") {
        assert_eq!(followed(documents, &text), found, "subscription to {text}");
    }
    found
}

/// What a subscription sends.
fn followed(documents: &[(&str, &str)], text: &str) -> Vec<String> {
    let mut database = TestDatabase::default();
    for (id, body) in documents {
        database.put(id, "Docs", body);
    }
    let query = FollowQuery::parse(text).unwrap();
    let mut follower = Follower::new(&query);
    let source = TestSource::without_index(&database);
    let options = ExecuteOptions::default();
    let mut passes = |document: &StoredDocument<'_>| {
        let row = follower.row(document, &source, &options);
        row.unwrap().is_some()
    };
    let passing = database.all().filter(|document| passes(document));
    passing.map(|document| document.id.to_owned()).collect()
}

const TIMES: [(&str, &str); 12] = [
    ("b", r#"{"T":"2024-05-01T08:00:00.0000000Z"}"#),
    ("d", r#"{"T":"2024-05-01T08:00:00Z"}"#),
    ("a", r#"{"T":"2024-05-01T10:00:00.0000000+02:00"}"#),
    ("n", r#"{"T":"2024-05-01T08:00:00"}"#),
    ("late", r#"{"T":"2024-05-01T08:00:00.0000001Z"}"#),
    ("day", r#"{"T":"2024-05-01"}"#),
    ("zero", r#"{"T":"2024-05-01T02:00:00+02:00"}"#),
    ("abc", r#"{"T":"abc"}"#),
    ("seven", r#"{"T":7}"#),
    ("null", r#"{"T":null}"#),
    ("true", r#"{"T":true}"#),
    ("list", r#"{"T":["2024-05-01T03:00:00-05:00",7,"x"]}"#),
];

#[test]
fn one_instant_is_one_value_in_conditions() {
    let same = ["b", "d", "a", "n", "list"];
    for spelling in [
        "2024-05-01T08:00:00.0000000Z",
        "2024-05-01T08:00:00Z",
        "2024-05-01T10:00:00+02:00",
        "2024-05-01T04:30:00.000-03:30",
        "2024-05-01t08:00:00z",
    ] {
        for condition in [
            format!("T = '{spelling}'"),
            format!("T in ('{spelling}', 'nothing')"),
            format!("T between '{spelling}' and '{spelling}'"),
            format!("exact(T = '{spelling}')"),
            format!("not T != '{spelling}'"),
            format!("T all in ('{spelling}')"),
        ] {
            let found = ids(&TIMES, &format!("where {condition}"));
            assert_eq!(found, same, "{condition}");
        }
        for (operator, expected) in [
            ("<=", &["b", "d", "a", "n", "day", "zero", "list"][..]),
            ("<", &["day", "zero"]),
            (">=", &["b", "d", "a", "n", "late", "list"]),
            (">", &["late"]),
        ] {
            let found = ids(&TIMES, &format!("where T {operator} '{spelling}'"));
            assert_eq!(found, expected, "{operator} {spelling}");
        }
    }
}

#[test]
fn a_day_is_its_first_moment() {
    for text in ["2024-05-01", "2024-05-01T00:00:00Z"] {
        assert_eq!(ids(&TIMES, &format!("where T = '{text}'")), ["day", "zero"]);
        assert_eq!(
            ids(&TIMES, &format!("where T <= '{text}'")),
            ["day", "zero"]
        );
        assert!(ids(&TIMES, &format!("where T < '{text}'")).is_empty());
        assert_eq!(
            ids(&TIMES, &format!("where T > '{text}'")),
            ["b", "d", "a", "n", "late", "list"]
        );
    }
}

#[test]
fn instants_order_and_filter_as_points_in_time() {
    let documents = [
        ("1", r#"{"T":"2024-05-01T12:00:00+05:00","N":2}"#),
        ("2", r#"{"T":"2024-05-01T08:00:00Z"}"#),
        ("3", r#"{"T":"2024-05-01T09:00:00.5+02:00"}"#),
        ("4", r#"{"T":"2024-05-01T07:00:00Z","N":1}"#),
    ];
    assert_eq!(ids(&documents, "order by T, N"), ["4", "1", "3", "2"]);
    assert_eq!(ids(&documents, "order by T desc"), ["2", "3", "1", "4"]);
    let equal = "as d filter d.T = '2024-05-01T07:00:00Z'";
    assert_eq!(ids(&documents, equal), ["1", "4"]);
    let above = "as d filter d.T > '2024-05-01T07:00:00.000Z'";
    assert_eq!(ids(&documents, above), ["2", "3"]);
    let kinds = "as d filter d.T >= '2000-01-01'";
    assert_eq!(
        ids(&TIMES, kinds),
        ["b", "d", "a", "n", "late", "day", "zero"]
    );
}

#[test]
fn instants_group_and_are_distinct_by_their_first_text() {
    let documents = &TIMES[..5];
    let grouped = ask(documents, "from Docs group by T select T, count() as C");
    assert_eq!(
        values_of(&grouped),
        [
            r#"{"T":"2024-05-01T08:00:00.0000000Z","C":4}"#,
            r#"{"T":"2024-05-01T08:00:00.0000001Z","C":1}"#
        ]
    );
    let distinct = ask(documents, "from Docs select distinct T");
    assert_eq!(
        values_of(&distinct),
        [
            r#"{"T":"2024-05-01T08:00:00.0000000Z"}"#,
            r#"{"T":"2024-05-01T08:00:00.0000001Z"}"#
        ]
    );
    let reversed: Vec<_> = documents.iter().rev().copied().collect();
    let facets = ask(&reversed, "from Docs select facet(T)");
    assert_eq!(
        values_of(&facets),
        [concat!(
            r#"{"Name":"T","Values":["#,
            r#"{"Name":null,"Count":4,"Range":"2024-05-01T08:00:00"},"#,
            r#"{"Name":null,"Count":1,"Range":"2024-05-01T08:00:00.0000001Z"}],"#,
            r#""RemainingHits":0,"RemainingTermsCount":0,"RemainingTerms":[]}"#
        )]
    );
}

#[test]
fn texts_that_only_look_like_times_are_texts() {
    let documents = [
        ("1", r#"{"T":"2024-05-01 08:00:00"}"#),
        ("2", r#"{"T":"2024-13-01T08:00:00Z"}"#),
        ("3", r#"{"T":"at 2024-05-01T08:00:00Z"}"#),
        ("4", r#"{"T":"2024-05-01T08:00:00Z "}"#),
        ("5", r#"{"T":"0001-01-01T00:00:00+05:00"}"#),
        ("6", r#"{"T":"2024-05-01T08:00:00Zx"}"#),
    ];
    assert!(ids(&documents, "where T > '2000-01-01'").is_empty());
    assert!(ids(&documents, "where T = '2024-05-01T08:00:00Z'").is_empty());
    assert_eq!(ids(&documents, "where T = '2024-05-01 08:00:00'"), ["1"]);
    assert_eq!(
        ids(&documents, "where T = '0001-01-01T00:00:00+05:00'"),
        ["5"]
    );
    let begin = "where startsWith(T, '2024-05-01T08:00:00Z')";
    assert_eq!(ids(&documents, begin), Vec::<String>::new());
    assert_eq!(
        ids(&TIMES, "where startsWith(T, '2024-05-01T08:00:00Z')"),
        ["b", "d", "a", "n", "list"]
    );
    assert_eq!(ids(&TIMES, "where search(T, 'abc')"), ["abc"]);
}

const KINDS: [(&str, &str); 9] = [
    ("abc", r#"{"D":"abc"}"#),
    ("seven", r#"{"D":7}"#),
    ("text7", r#"{"D":"7"}"#),
    ("true", r#"{"D":true}"#),
    ("text", r#"{"D":"true"}"#),
    ("false", r#"{"D":false}"#),
    ("time", r#"{"D":"2021-01-01T00:00:00Z"}"#),
    ("both", r#"{"D":[7,"zz"]}"#),
    ("null", r#"{"D":null}"#),
];

#[test]
fn ranges_hold_values_of_one_kind() {
    for (condition, expected) in [
        ("D >= '2020-01-01'", &["time"][..]),
        ("D < '2030-01-01T00:00:00Z'", &["time"]),
        ("D >= 'abb'", &["abc", "text", "both"]),
        ("D > '3'", &["abc", "text7", "text", "both"]),
        ("D < 'b'", &["abc", "text7", "time"]),
        ("D >= 5", &["seven", "both"]),
        ("D < 100", &["seven", "both"]),
        ("D between '2' and '8'", &["text7", "time"]),
        ("D between '2020-01-01' and '9'", &["text7", "time"]),
        ("D >= true", &["true", "text"]),
        ("D > false", &["true", "text"]),
        ("D < true", &["false"]),
        ("D <= true", &["true", "text", "false"]),
        ("D < false", &[]),
        (
            "not D >= '2020-01-01'",
            &[
                "abc", "seven", "text7", "true", "text", "false", "both", "null",
            ],
        ),
    ] {
        let found = ids(&KINDS, &format!("where {condition}"));
        assert_eq!(found, expected, "{condition}");
    }
}

const NUMBERS: [(&str, &str); 15] = [
    ("12.0", r#"{"M":12.0}"#),
    ("12", r#"{"M":12}"#),
    ("1.2e1", r#"{"M":1.2e1}"#),
    ("12.5", r#"{"M":12.50}"#),
    ("1000", r#"{"M":1e3}"#),
    ("text12", r#"{"M":"12"}"#),
    ("text12.0", r#"{"M":"12.0"}"#),
    ("-0", r#"{"M":-0.0}"#),
    ("long", r#"{"M":12.000000000000000000000000}"#),
    ("list", r#"{"M":[12.0,"x"]}"#),
    ("9e17", r#"{"M":9e17}"#),
    ("whole", r#"{"M":900000000000000000}"#),
    ("digits", r#"{"M":12345678901234567890}"#),
    ("small", r#"{"M":0.00001}"#),
    ("large", r#"{"M":1.50e300}"#),
];

#[test]
fn one_number_has_one_text() {
    let twelve = ["12.0", "12", "1.2e1", "text12", "long", "list"];
    for condition in [
        "M = '12'",
        "M in ('12')",
        "exact(M = '12')",
        "search(M, '12')",
    ] {
        let found = ids(&NUMBERS, &format!("where {condition}"));
        assert_eq!(found, twelve, "{condition}");
    }
    for (condition, expected) in [
        ("M = '12.0'", &["text12.0"][..]),
        ("search(M, '12.0')", &["text12.0"]),
        ("M = '12.5'", &["12.5"]),
        ("M = '12.50'", &[]),
        ("M = '1000'", &["1000"]),
        ("M = '1000.0'", &[]),
        ("M = '900000000000000000'", &["9e17", "whole"]),
        ("M = '12345678901234567890'", &["digits"]),
        ("M = '-0'", &["-0"]),
        ("M = '1e-05'", &["small"]),
        ("exact(M = '1E-05')", &["small"]),
        ("M = '1.5E+300'", &["large"]),
        ("M = 12", &["12.0", "12", "1.2e1", "long", "list"]),
        ("startsWith(M, '12.')", &["12.5", "text12.0"]),
        ("endsWith(M, '.0')", &["text12.0"]),
    ] {
        let found = ids(&NUMBERS, &format!("where {condition}"));
        assert_eq!(found, expected, "{condition}");
    }
    assert_eq!(
        ids(&NUMBERS[..5], "order by M"),
        ["1000", "12.0", "12", "1.2e1", "12.5"]
    );
}

const LENGTHS: [(&str, &str); 12] = [
    ("0", r#"{"L":[],"N":"","O":{}}"#),
    ("1", r#"{"L":[1],"N":"a","O":{"a":1}}"#),
    (
        "2",
        "{\"L\":[1,2],\"N\":\"ab\u{e9}\u{1f600}\",\"O\":{\"Count\":9,\"Length\":8,\"length\":7}}",
    ),
    (
        "3",
        r#"{"L":[{"Count":5},{"Count":6},{"Count":5}],"N":null}"#,
    ),
    ("4", r#"{"L":null}"#),
    ("5", r#"{}"#),
    ("6", r#"{"L":[{"Tags":["a","b"]},{"Tags":[]},{"X":1}]}"#),
    ("7", r#"{"L":"text","N":17}"#),
    ("8", r#"{"L":[[1,2],[3]]}"#),
    ("9", r#"{"L":["long text",{"Count":5}]}"#),
    ("10", r#"{"L":["aa","bbb"]}"#),
    ("11", r#"{"L":[null,null,null]}"#),
];

#[test]
fn lists_and_strings_have_lengths() {
    for (condition, expected) in [
        (
            "L.Length > 1",
            &["2", "3", "6", "7", "8", "9", "10", "11"][..],
        ),
        ("L.length = 2", &["2", "8", "9", "10"]),
        ("L.Count = 0", &["0"]),
        ("L.count = 1", &["1"]),
        // Members win.
        ("L.Count = 5", &["3", "9"]),
        ("L.Count = 3", &["6", "11"]),
        ("O.Count > 0", &["2"]),
        ("O.length = 7", &["2"]),
        ("N.Length = 5", &["2"]),
        ("N.Length < 2", &["0", "1"]),
        ("L.Tags.Count = 2", &["6"]),
        ("L[].Tags.Length = 0", &["6"]),
        ("L[].Length = 3", &["10"]),
        ("L[0].Length = 2", &["8", "10"]),
        ("exists(N.Count)", &["0", "1", "2"]),
        ("true and not L.Length > 1", &["0", "1", "4", "5"]),
        ("L.Length in (0, 1)", &["0", "1"]),
        ("L.Length = '2'", &["2", "8", "9", "10"]),
        ("startsWith(L.Length, '1')", &["1"]),
        ("L.Length = null", &[]),
        ("L.Lengths > 0", &[]),
        ("L.Length.Length > 0", &[]),
    ] {
        let found = ids(&LENGTHS, &format!("where {condition}"));
        assert_eq!(found, expected, "{condition}");
    }
    for name in ["length", "Length", "Count", "count"] {
        let filter = format!("as o filter o.L.{name} > 1");
        let found = ids(&LENGTHS, &filter);
        assert_eq!(found, ["2", "3", "6", "7", "8", "9", "10", "11"], "{name}");
        assert_eq!(ids(&LENGTHS, &format!("as o filter o.N.{name} = 5")), ["2"]);
    }
}

#[test]
fn lengths_order_group_and_project() {
    assert_eq!(
        ids(
            &LENGTHS,
            "where L.Length >= 0 order by L.Length as long desc"
        ),
        ["7", "3", "6", "11", "2", "8", "9", "10", "1", "0"]
    );
    let rows = ask(
        &LENGTHS[..4],
        "from Docs select L.Length as C, N.Length as N",
    );
    assert_eq!(
        values_of(&rows),
        [
            r#"{"C":0,"N":0}"#,
            r#"{"C":1,"N":1}"#,
            r#"{"C":2,"N":5}"#,
            r#"{"C":3,"N":null}"#
        ]
    );
    let grouped = ask(
        &LENGTHS[..3],
        "from Docs group by L.Length select L.Length as C, count() as N",
    );
    assert_eq!(
        values_of(&grouped),
        [r#"{"C":0,"N":1}"#, r#"{"C":1,"N":1}"#, r#"{"C":2,"N":1}"#]
    );
    let distinct = ask(&LENGTHS[..3], "from Docs select distinct N.length as N");
    assert_eq!(values_of(&distinct).len(), 3);
}

fn random_value(random: &mut Rng) -> String {
    let fraction = random.pick(&["", ".0", ".0000000", ".5", ".123456789"]);
    let zone = random.pick(&["", "Z", "+02:00", "-08:30", "+00:00"]);
    let (day, hour) = (1 + random.below(2), random.below(4));
    match random.below(7) {
        0 => random.below(9).to_string(),
        1 => "\"2024-05-01\"".to_owned(),
        2 => "\"b\"".to_owned(),
        3 => "true".to_owned(),
        _ => format!("\"2024-05-0{day}T0{hour}:00:00{fraction}{zone}\""),
    }
}

#[test]
fn random_values_answer_alike_with_and_without_an_index() {
    for seed in 0..40 {
        println!("seed {seed}");
        let mut random = Rng::new(seed);
        let mut body = || {
            let (first, second) = (random_value(&mut random), random_value(&mut random));
            format!("{{\"T\":[{first},{second}]}}")
        };
        let bodies: Vec<(String, String)> = (0..12).map(|id| (format!("d/{id}"), body())).collect();
        let documents: Vec<(&str, &str)> = bodies
            .iter()
            .map(|(id, body)| (id.as_str(), body.as_str()))
            .collect();
        for operator in ["=", "<", "<=", ">", ">=", "!="] {
            let end = random_value(&mut random).replace('"', "'");
            ids(&documents, &format!("where T {operator} {end}"));
            ids(
                &documents,
                &format!("where not T {operator} {end} order by T"),
            );
        }
    }
}

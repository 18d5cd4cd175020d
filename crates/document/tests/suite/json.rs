//! Proves that JSON survives: every text comes back as written, with `serde_json` as the judge of
//! what the text means, in documents of every shape.

use crate::common::{Json, json, number_text};
use jackdaw_document::*;
use proptest::prelude::*;

fn parse(json: &str) -> DocumentBuf {
    let document = DocumentBuf::from_json(json.as_bytes(), &Limits::default()).unwrap();
    Document::open(document.as_bytes()).unwrap();
    document
}

fn pretty(value: Value<'_>) -> String {
    let mut out = Vec::new();
    write_json_pretty(value, &mut out);
    String::from_utf8(out).unwrap()
}

/// Checks every accessor of `value` against the model.
fn check(value: Value<'_>, expected: &Json) {
    match expected {
        Json::Null => assert!(value.is_null()),
        Json::Bool(b) => assert_eq!(value.as_bool(), Some(*b)),
        Json::String(s) => assert_eq!(value.as_str(), Some(s.as_str())),
        Json::Number(n) => {
            assert_eq!(value.to_json(), *n);
            let x: f64 = n.parse().unwrap();
            assert_eq!(value.as_f64().unwrap().to_bits(), x.to_bits(), "{n}");
            assert_eq!(value, Value::parse_number(n).unwrap());
        }
        Json::Array(a) => {
            let array = value.as_array().unwrap();
            assert_eq!((array.len(), array.iter().count()), (a.len(), a.len()));
            for (i, expected) in a.iter().enumerate() {
                check(array.get(i).unwrap(), expected);
            }
            assert!(array.get(a.len()).is_none());
        }
        Json::Object(o) => {
            let object = value.as_object().unwrap();
            assert_eq!((object.len(), object.iter().count()), (o.len(), o.len()));
            for ((name, value), (expected_name, expected)) in object.iter().zip(o) {
                assert_eq!(name, expected_name);
                check(value, expected);
                assert_eq!(object.get(name).unwrap().to_json(), expected.text());
            }
            assert!(object.get("no such field").is_none());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_text_comes_back_as_written(model in json()) {
        let text = model.text();
        let expected = model.without_duplicates();
        let document = parse(&text);
        prop_assert_eq!(document.root().to_json(), expected.text());
        check(document.root(), &expected);

        if let Ok(judge) = serde_json::from_str::<serde_json::Value>(&text) {
            // `serde_json` refuses numbers beyond `f64`; where it reads the text, it agrees.
            let pretty = pretty(document.root());
            prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&pretty).unwrap(), &judge);
        }
    }

    #[test]
    fn white_space_and_escapes_change_nothing(model in json()) {
        let plain = parse(&model.text());
        let spaced = parse(&format!(" \r\n\t{}\n", pretty(plain.root())));
        prop_assert_eq!(plain.root().to_json(), spaced.root().to_json());
        let escaped: String = model.without_duplicates().text().chars().map(|c| {
            if c.is_ascii() { return c.to_string() }
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().map(|u| format!("\\u{u:04x}")).collect()
        }).collect();
        prop_assert_eq!(parse(&escaped).root().to_json(), plain.root().to_json());
    }

    #[test]
    fn every_number_text_survives(text in number_text()) {
        let document = parse(&text);
        check(document.root(), &Json::Number(text.clone()));
        let mut builder = Builder::new();
        let built = builder.number(&text).finish().unwrap();
        prop_assert_eq!(built.as_bytes(), document.as_bytes());
    }

    #[test]
    fn copies_equal_their_originals(model in json()) {
        let document = parse(&model.text());
        let mut builder = Builder::new();
        builder.begin_array().value(document.root()).begin_object();
        builder.field("copy", document.root()).end_object().end_array();
        let copy = builder.finish().unwrap();
        Document::open(copy.as_bytes()).unwrap();
        let text = model.without_duplicates().text();
        prop_assert_eq!(copy.root().to_json(), format!("[{text},{{\"copy\":{text}}}]"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn one_parser_serves_many_documents(models in proptest::collection::vec(json(), 1..6)) {
        let mut parser = Parser::default();
        for model in &models {
            let text = model.text();
            let json = parser.parse(text.as_bytes()).unwrap().root().to_json();
            prop_assert_eq!(json, model.without_duplicates().text());
            // An error in between leaves nothing behind.
            let cut = parser.parse(b"{\"a\":[1,{\"b\":");
            prop_assert!(cut.is_err());
        }
    }

    #[test]
    fn a_stream_of_values_is_read_one_by_one(models in proptest::collection::vec(json(), 1..6)) {
        let text: Vec<String> = models.iter().map(Json::text).collect();
        let text = text.join("\n ");
        let mut parser = Parser::default();
        let mut rest = text.as_bytes();
        for model in &models {
            let (document, len) = parser.parse_prefix(rest).unwrap();
            prop_assert_eq!(document.root().to_json(), model.without_duplicates().text());
            rest = &rest[len..];
        }
        prop_assert!(rest.is_empty());
    }
}

#[test]
fn strings_of_every_length_survive() {
    let alphabet = "a\u{e9}\u{4e2d}\u{1f600}\"\\\n";
    for len in (0..300).chain([65_534, 65_535, 65_536, 70_000]) {
        let text: String = alphabet.chars().cycle().take(len).collect();
        let json = serde_json::to_string(&text).unwrap();
        let document = parse(&json);
        assert_eq!(document.root().as_str(), Some(text.as_str()));
        assert_eq!(document.root().to_json(), json);
    }
}

#[test]
fn containers_of_every_width_survive() {
    for count in [1, 20, 63, 64, 65, 66, 255, 256, 300, 5000, 40_000] {
        let array: Vec<String> = (0..count).map(|i| (i * 7).to_string()).collect();
        let text = format!("[{}]", array.join(","));
        assert_eq!(parse(&text).root().to_json(), text);
        let fields: Vec<String> = (0..count).map(|i| format!("\"f{i}\":{i}")).collect();
        let text = format!("{{{}}}", fields.join(","));
        let document = parse(&text);
        assert_eq!(document.root().to_json(), text);
        for i in (0..count).step_by(1 + count / 100) {
            let value = document.root().get(&format!("f{i}"));
            assert_eq!(value.unwrap().as_i64(), Some(i64::try_from(i).unwrap()));
        }
        assert!(document.root().get("f").is_none());
    }
}

#[test]
fn many_shapes_in_one_document_survive() {
    let objects: Vec<String> = (0..70_000)
        .map(|i| format!("{{\"k{i}\":{{\"same\":{i}}}}}"))
        .collect();
    let text = format!("[{}]", objects.join(","));
    assert_eq!(parse(&text).root().to_json(), text);
}

#[test]
fn names_repeated_far_from_their_first_place_survive() {
    let long = "n".repeat(126);
    let longer = "m".repeat(127);
    let objects: Vec<String> = (0..3000)
        .map(|i| {
            format!("{{\"x\":0,\"key number {i}\":{{\"{long}\":{i},\"f{i}\":1,\"{longer}\":2}}}}")
        })
        .collect();
    let text = format!("[{}]", objects.join(","));
    assert_eq!(parse(&text).root().to_json(), text);
    // Names that first appear behind the reach of a reference, and appear again.
    let again = format!(
        "[{},{}]",
        objects.join(","),
        objects.join(",").replace("\"x\":0,", "")
    );
    assert_eq!(parse(&again).root().to_json(), again);
}

#[test]
fn of_equal_names_the_last_wins_at_the_place_of_the_first() {
    for (text, expected) in [
        (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
        (
            r#"{"a":{"x":1},"b":{"x":2},"a":3}"#,
            r#"{"a":3,"b":{"x":2}}"#,
        ),
        (
            r#"[{"a":{"a":1,"a":[]},"\u0061":{"a":1,"a":{"b":0,"b":1}}}]"#,
            r#"[{"a":{"a":{"b":1}}}]"#,
        ),
        (r#"{"":1,"":2}"#, r#"{"":2}"#),
    ] {
        assert_eq!(parse(text).root().to_json(), expected);
    }
    let many: Vec<String> = (0..1000).map(|i| format!("\"f{}\":{i}", i % 300)).collect();
    let document = parse(&format!("{{{}}}", many.join(",")));
    assert_eq!(document.root().as_object().unwrap().len(), 300);
    assert_eq!(document.root().get("f99").unwrap().as_i64(), Some(999));
    let mut builder = Builder::new();
    builder
        .begin_object()
        .key("a")
        .long(1)
        .key("a")
        .long(2)
        .end_object();
    assert_eq!(builder.finish().unwrap().root().to_json(), r#"{"a":2}"#);
}

#[test]
fn hostile_nesting_of_duplicates_stays_fast() {
    let mut text = "1".to_string();
    for _ in 0..200 {
        text = format!("{{\"a\":0,\"a\":{text}}}");
    }
    assert!(parse(&text).root().to_json().starts_with(r#"{"a":{"a":"#));
}

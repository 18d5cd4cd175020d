//! Proves that `@metadata` is taken out while parsing and comes back, last, when writing.

use jackdaw_document::*;

fn split(text: &str) -> Result<(String, Option<String>), JsonErrorKind> {
    let mut parser = Parser::default();
    let one_pass = parser
        .parse_split(text.as_bytes())
        .map(show)
        .map_err(|e| e.kind);
    // The same in two steps, as a batch command does it.
    let whole = DocumentBuf::from_json(text.as_bytes(), &Limits::default()).unwrap();
    let two_steps = split_metadata(whole.root(), &mut parser).map(show);
    assert_eq!(one_pass, two_steps);
    one_pass
}

fn show(split: Split<'_>) -> (String, Option<String>) {
    Document::open(split.body.as_bytes()).unwrap();
    if let Some(metadata) = split.metadata {
        Document::open(metadata.as_bytes()).unwrap();
    }
    (
        split.body.root().to_json(),
        split.metadata.map(|m| m.root().to_json()),
    )
}

#[test]
fn metadata_is_taken_out_wherever_it_stands() {
    let metadata = r#"{"@collection":"Users","n":{"@metadata":{"x":[1]}}}"#;
    for (text, body) in [
        (format!(r#"{{"@metadata":{metadata}}}"#), r#"{}"#),
        (format!(r#"{{"a":1,"@metadata":{metadata}}}"#), r#"{"a":1}"#),
        (
            format!(r#"{{"@metadata" : {metadata} ,"a":{{"b":2}}}}"#),
            r#"{"a":{"b":2}}"#,
        ),
        (
            format!(r#"{{"a":[],"\u0040metadata":{metadata},"b":[1]}}"#),
            r#"{"a":[],"b":[1]}"#,
        ),
        (
            format!(r#"{{"@metadata":{{"old":1}},"a":1,"@metadata":{metadata}}}"#),
            r#"{"a":1}"#,
        ),
    ] {
        assert_eq!(
            split(&text),
            Ok((body.to_string(), Some(metadata.to_string()))),
            "{text}"
        );
    }
}

#[test]
fn what_is_not_top_level_metadata_stays() {
    for text in [
        r#"{"a":{"@metadata":{"b":1}}}"#,
        r#"[{"@metadata":{}}]"#,
        r#"{"@Metadata":{}}"#,
        "7",
    ] {
        assert_eq!(split(text), Ok((text.to_string(), None)));
    }
}

#[test]
fn null_metadata_is_none_and_other_values_are_refused() {
    assert_eq!(
        split(r#"{"@metadata":null,"a":1}"#),
        Ok((r#"{"a":1}"#.to_string(), None))
    );
    assert_eq!(
        split(r#"{"@metadata":{},"a":1}"#),
        Ok((r#"{"a":1}"#.to_string(), Some("{}".into())))
    );
    for value in ["5", "\"x\"", "[]", "true"] {
        let text = format!("{{\"@metadata\":{value}}}");
        assert_eq!(split(&text), Err(JsonErrorKind::MetadataNotObject));
    }
}

#[test]
fn duplicates_beside_and_inside_metadata_follow_the_rule() {
    let (body, metadata) = split(r#"{"a":1,"@metadata":{"x":1,"x":2},"a":3}"#).unwrap();
    assert_eq!(
        (body.as_str(), metadata.as_deref()),
        (r#"{"a":3}"#, Some(r#"{"x":2}"#))
    );
}

#[test]
fn an_error_in_metadata_leaves_the_parser_usable() {
    let mut parser = Parser::default();
    for text in [
        &b"{\"a\":1,\"@metadata\":{\"x\":"[..],
        b"{\"@metadata\":nul",
        b"{\"@metadata\"",
    ] {
        assert!(parser.parse_split(text).is_err());
        let split = parser
            .parse_split(br#"{"b":1,"@metadata":{"y":2},"c":3}"#)
            .unwrap();
        assert_eq!(
            show(split),
            (r#"{"b":1,"c":3}"#.into(), Some(r#"{"y":2}"#.into()))
        );
    }
}

#[test]
fn a_stored_document_is_written_with_its_metadata_last() {
    let mut parser = Parser::default();
    let text = br#"{"@metadata":{"@collection":"Users"},"Name":"Ann","Tags":["x"]}"#;
    let split = parser.parse_split(text).unwrap();
    let mut out = Vec::new();
    write_document(split.body.root(), &mut out, |metadata| {
        metadata.fields(split.metadata.unwrap().root().as_object().unwrap());
        metadata.string("@change-vector", "A:1-\"x\"");
        metadata.string("@id", "users/1");
        metadata.array("@counters", |names| {
            names.string("likes");
            names.long(1);
            names.object(|_| {});
            names.array(|inner| inner.raw(b"null"));
            names.document(Value::Null, |_| {});
        });
        metadata.object("n", |inner| {
            inner.long("l", -1);
            inner.double("d", 0.5);
            inner.double("nan", f64::NAN);
            inner.bool("t", true);
            inner.null("z");
            inner.value("v", Value::String("s"));
        });
    });
    assert_eq!(
        String::from_utf8(out).unwrap(),
        concat!(
            r#"{"Name":"Ann","Tags":["x"],"@metadata":{"@collection":"Users","#,
            r#""@change-vector":"A:1-\"x\"","@id":"users/1","#,
            r#""@counters":["likes",1,{},[null],{"@metadata":{}}],"#,
            r#""n":{"l":-1,"d":0.5,"nan":null,"t":true,"z":null,"v":"s"}}}"#
        )
    );
}

#[test]
fn metadata_of_the_body_is_not_written_twice() {
    let document = DocumentBuf::from_json(br#"{"@metadata":{"x":1},"a":1}"#, &Limits::default());
    let mut out = Vec::new();
    write_document(document.unwrap().root(), &mut out, |m| {
        m.string("@id", "a/1")
    });
    assert_eq!(out, br#"{"a":1,"@metadata":{"@id":"a/1"}}"#);
}

//! Proves that programs and JSON text build the same bytes, and that mistakes are reported.

use jackdaw_document::*;

#[test]
fn calls_build_what_the_text_says() {
    let mut builder = Builder::new();
    for round in 0..3 {
        builder.begin_object();
        builder
            .key("a")
            .begin_array()
            .long(1)
            .double(2.5)
            .double(3.0)
            .null()
            .bool(true)
            .end_array();
        builder
            .key("b")
            .string("x")
            .key("c")
            .begin_object()
            .end_object();
        builder
            .key("d")
            .number("1.10")
            .key("e")
            .double(f64::NAN)
            .key("f")
            .long(round)
            .end_object();
        let built = builder.finish().unwrap();
        let text = format!(
            r#"{{"a":[1,2.5,3.0,null,true],"b":"x","c":{{}},"d":1.10,"e":null,"f":{round}}}"#
        );
        assert_eq!(built.root().to_json(), text);
        let parsed = DocumentBuf::from_json(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(parsed.as_bytes(), built.as_bytes());
    }
}

#[test]
fn a_borrowed_document_stays_until_the_builder_is_cleared() {
    let mut builder = Builder::new();
    for i in 0..3 {
        let document = builder
            .clear()
            .begin_array()
            .long(i)
            .end_array()
            .finish_borrowed()
            .unwrap();
        assert_eq!(document.root().to_json(), format!("[{i}]"));
    }
    assert_eq!(
        builder.long(1).finish().unwrap_err(),
        BuildError::MisplacedValue
    );
    assert_eq!(builder.long(1).finish().unwrap().root().to_json(), "1");
}

#[test]
fn large_contents_move_when_their_length_field_grows() {
    for len in [0, 100, 1024, 5000, 70_000] {
        let text = "x".repeat(len);
        let mut builder = Builder::new();
        builder
            .begin_array()
            .begin_object()
            .key("k")
            .string(&text)
            .key("l")
            .begin_array();
        builder.string(&text).end_array().end_object().end_array();
        let document = builder.finish().unwrap();
        Document::open(document.as_bytes()).unwrap();
        assert_eq!(
            document.root().to_json(),
            format!(r#"[{{"k":"{text}","l":["{text}"]}}]"#)
        );
    }
}

#[test]
fn the_first_mistake_is_reported_and_the_builder_goes_on() {
    type Calls = fn(&mut Builder) -> &mut Builder;
    let cases: [(BuildError, Calls); 12] = [
        (BuildError::Incomplete, |b| b),
        (BuildError::Incomplete, Builder::begin_array),
        (BuildError::MisplacedKey, |b| b.key("a")),
        (BuildError::MisplacedKey, |b| b.begin_array().key("a")),
        (BuildError::MisplacedKey, |b| {
            b.begin_object().key("a").key("b")
        }),
        (BuildError::MisplacedValue, |b| b.long(1).long(2)),
        (BuildError::MisplacedValue, |b| b.begin_object().long(2)),
        (BuildError::MisplacedEnd, Builder::end_object),
        (BuildError::MisplacedEnd, |b| b.begin_array().end_object()),
        (BuildError::MisplacedEnd, |b| {
            b.begin_object().key("a").end_object()
        }),
        (BuildError::InvalidNumber, |b| b.number("1x")),
        (BuildError::TooDeep(DEPTH_MAX), |b| {
            (0..=DEPTH_MAX).fold(b, |b, _| b.begin_array())
        }),
    ];
    let mut builder = Builder::new();
    for (mistake, calls) in cases {
        assert_eq!(calls(&mut builder).finish().unwrap_err(), mistake);
        assert_eq!(
            builder.bool(true).finish().unwrap().root().to_json(),
            "true"
        );
    }
}

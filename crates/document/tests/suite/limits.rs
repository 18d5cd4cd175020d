//! Proves each limit of JSON input at its value and one above, and each refusal with its place.

use jackdaw_document::*;

fn refuse(text: &[u8], limits: &Limits) -> JsonError {
    DocumentBuf::from_json(text, limits).expect_err("this text is refused")
}

fn kind_of(text: &str) -> JsonErrorKind {
    refuse(text.as_bytes(), &Limits::default()).kind
}

#[test]
fn depth_is_limited() {
    let limits = Limits::default();
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    DocumentBuf::from_json(nested(256).as_bytes(), &limits).unwrap();
    let error = refuse(nested(257).as_bytes(), &limits);
    assert_eq!(
        (error.kind, error.offset),
        (JsonErrorKind::TooDeep(256), 256)
    );
    let objects = format!("{}1{}", "{\"a\":".repeat(257), "}".repeat(257));
    assert_eq!(kind_of(&objects), JsonErrorKind::TooDeep(256));
    assert_eq!(kind_of(&"[".repeat(1_000_000)), JsonErrorKind::TooDeep(256));
    assert_eq!(kind_of(&nested(10_000)), JsonErrorKind::TooDeep(256));
    // Whatever is configured, the form has a limit of its own.
    let all = Limits {
        depth_max: usize::MAX,
        ..limits
    };
    let deepest = DocumentBuf::from_json(nested(DEPTH_MAX).as_bytes(), &all).unwrap();
    Document::open(deepest.as_bytes()).unwrap();
    assert_eq!(deepest.root().to_json(), nested(DEPTH_MAX));
    assert_eq!(deepest.root(), deepest.clone().root());
    assert_eq!(
        refuse(nested(DEPTH_MAX + 1).as_bytes(), &all).kind,
        JsonErrorKind::TooDeep(DEPTH_MAX)
    );
}

#[test]
fn metadata_counts_as_a_level() {
    let limits = Limits {
        depth_max: 3,
        ..Limits::default()
    };
    let mut parser = Parser::new(limits);
    parser.parse_split(br#"{"@metadata":{"a":[1]}}"#).unwrap();
    let error = parser
        .parse_split(br#"{"@metadata":{"a":[[]]}}"#)
        .unwrap_err();
    assert_eq!(error.kind, JsonErrorKind::TooDeep(3));
}

#[test]
fn elements_are_limited() {
    let limits = Limits {
        elements_max: 5,
        ..Limits::default()
    };
    DocumentBuf::from_json(br#"{"a":[1,2],"b":3}"#, &limits).unwrap();
    let error = refuse(br#"{"a":[1,2],"b":3,"c":4}"#, &limits);
    assert_eq!(
        (error.kind, error.offset),
        (JsonErrorKind::TooManyElements(5), 21)
    );
    assert_eq!(
        refuse(b"[1,[],{},4,5]", &limits).kind,
        JsonErrorKind::TooManyElements(5)
    );
}

#[test]
fn names_are_limited() {
    let limits = Limits::default();
    for len in [65_536, 65_537, 6_553_600] {
        let text = format!("{{\"{}\":1}}", "k".repeat(len));
        match DocumentBuf::from_json(text.as_bytes(), &limits) {
            Ok(document) => {
                assert_eq!((len, document.root().to_json()), (65_536, text));
            }
            Err(error) => assert_eq!(error.kind, JsonErrorKind::KeyTooLong(65_536)),
        }
    }
    // The limit holds for the name, not for its escapes.
    let escaped = format!("{{\"{}\":1}}", "\\u006b".repeat(65_536));
    DocumentBuf::from_json(escaped.as_bytes(), &limits).unwrap();
}

#[test]
fn digits_are_limited() {
    let limits = Limits::default();
    let ok = format!(
        "-{}.{}e{}",
        "9".repeat(500),
        "9".repeat(490),
        "9".repeat(10)
    );
    let document = DocumentBuf::from_json(ok.as_bytes(), &limits).unwrap();
    assert_eq!(document.root().to_json(), ok);
    assert_eq!(
        kind_of(&format!("{ok}0")),
        JsonErrorKind::TooManyDigits(1000)
    );
    assert_eq!(
        kind_of(&"1".repeat(100_000)),
        JsonErrorKind::TooManyDigits(1000)
    );
}

#[test]
fn length_is_limited() {
    let limits = Limits {
        len_bytes_max: 10,
        ..Limits::default()
    };
    DocumentBuf::from_json(b"[12345678]", &limits).unwrap();
    let error = refuse(b"[123456789]", &limits);
    assert_eq!((error.kind, error.offset), (JsonErrorKind::TooLong(10), 10));
    let mut parser = Parser::new(limits);
    let (_, len) = parser.parse_prefix(b"[12345678][12345678]").unwrap();
    assert_eq!(len, 10);
    let error = parser.parse_prefix(b"[123456789]").unwrap_err();
    assert_eq!(error.kind, JsonErrorKind::TooLong(10));
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    use JsonErrorKind::*;
    let other = |found, expected| UnexpectedCharacter { found, expected };
    for (text, kind, offset) in [
        ("", UnexpectedEnd, 0),
        ("  ", UnexpectedEnd, 2),
        ("{", UnexpectedEnd, 1),
        ("[1,", UnexpectedEnd, 3),
        ("{\"a\"", UnexpectedEnd, 4),
        ("\"abc", UnexpectedEnd, 4),
        ("\"\\", UnexpectedEnd, 2),
        ("\"\\u12", UnexpectedEnd, 5),
        ("tru", UnexpectedEnd, 3),
        ("-", UnexpectedEnd, 1),
        ("[1,]", other(b']', "a value"), 3),
        ("[1 2]", other(b'2', "',' or ']'"), 3),
        ("[1}", other(b'}', "',' or ']'"), 2),
        ("{\"a\":1]", other(b']', "',' or '}'"), 6),
        ("{\"a\":1,}", other(b'}', "a field name"), 7),
        ("{a:1}", other(b'a', "a field name or '}'"), 1),
        ("{\"a\" 1}", other(b'1', "':'"), 5),
        ("truE", other(b'E', "'true', 'false' or 'null'"), 3),
        ("'a'", other(b'\'', "a value"), 0),
        ("NaN", other(b'N', "a value"), 0),
        ("01", InvalidNumber, 1),
        ("1.x", InvalidNumber, 2),
        ("[1e]", InvalidNumber, 3),
        ("{} x", TrailingData, 3),
        ("1 2", TrailingData, 2),
        ("\u{feff}{}", ByteOrderMark, 0),
        ("\"a\tb\"", ControlCharacter(9), 2),
        ("\"\\x\"", InvalidEscape, 1),
        ("\"\\u00zz\"", InvalidEscape, 1),
        ("\"\\ud800\"", LoneSurrogate, 1),
        ("\"\\udc00\"", LoneSurrogate, 1),
        ("\"\\ud800\\ud800\"", LoneSurrogate, 1),
        ("\"\\ud800x\"", LoneSurrogate, 1),
    ] {
        let error = refuse(text.as_bytes(), &Limits::default());
        assert_eq!((error.kind, error.offset), (kind, offset), "{text:?}");
    }
}

#[test]
fn what_is_not_utf8_is_refused_with_its_place() {
    for (text, offset) in [
        (&b"\"abc\xFF\""[..], 4),
        (b"\"\xC0\xAF\"", 1),
        (b"\"\xED\xA0\x80\"", 1),
        (b"\"\\n\xE4\xB8\"", 3),
        (b"{\"\xF5\":1}", 2),
    ] {
        let error = refuse(text, &Limits::default());
        assert_eq!(
            (error.kind, error.offset),
            (JsonErrorKind::InvalidUtf8, offset)
        );
    }
    let error = refuse(b"\xFF", &Limits::default());
    assert!(matches!(
        error.kind,
        JsonErrorKind::UnexpectedCharacter { found: 0xFF, .. }
    ));
}

#[test]
fn messages_name_line_and_column() {
    let error = refuse(
        "{\n  \"\u{e9}\u{e9}\": [1,\n  2 3]}".as_bytes(),
        &Limits::default(),
    );
    assert_eq!((error.line, error.column), (3, 5));
    assert_eq!(
        error.to_string(),
        "Expected ',' or ']' but found '3' (line 3, column 5)."
    );
}

#[test]
fn the_deepest_document_needs_little_stack() {
    let limits = Limits {
        depth_max: DEPTH_MAX,
        ..Limits::default()
    };
    let text = format!("{}1{}", "{\"a\":".repeat(DEPTH_MAX), "}".repeat(DEPTH_MAX));
    let work = move || {
        let document = DocumentBuf::from_json(text.as_bytes(), &limits).unwrap();
        Document::open(document.as_bytes()).unwrap();
        assert_eq!(document.root().to_json(), text);
        assert_eq!(document.root(), document.clone().root());
        let copy = Builder::new().value(document.root()).finish().unwrap();
        assert_eq!(copy.as_bytes(), document.as_bytes());
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    thread.spawn(work).unwrap().join().unwrap();
}

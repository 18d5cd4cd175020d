//! Proves that no bytes make a reader panic or run without end: random bytes, and documents with
//! bytes changed, removed, added or cut off. What `open` accepts must also be wholly readable.

use crate::common::json;
use jackdaw_document::*;
use proptest::prelude::*;

/// Uses every accessor on every value that can be reached.
fn visit(value: Value<'_>, budget: &mut usize) {
    *budget = budget.saturating_sub(1);
    if *budget == 0 {
        return;
    }
    let _ = (
        value.kind(),
        value.as_i64(),
        value.as_f64(),
        value.as_str(),
        value.as_bool(),
    );
    match value {
        Value::Array(array) => {
            let _ = (
                array.len(),
                array.get(0),
                array.get(array.len() / 2),
                array.get(usize::MAX),
            );
            for element in array {
                visit(element, budget);
            }
        }
        Value::Object(object) => {
            let _ = (
                object.len(),
                object.get(""),
                object.contains("a"),
                object.get("no such"),
            );
            for (name, field) in object {
                let _ = object.get(name);
                visit(field, budget);
            }
        }
        _ => {}
    }
}

fn use_everything(bytes: &[u8]) {
    let opened = Document::open(bytes);
    let root = Document::trusted(bytes).root();
    visit(root, &mut 20_000);
    let _ = Path::parse("a[].b[0].c")
        .unwrap()
        .fanning_out()
        .values(root)
        .take(1000)
        .count();
    let mut out = Vec::new();
    write_json_pretty(root, &mut out);
    out.clear();
    write_document(root, &mut out, |m| m.value("v", root));
    let json = root.to_json();
    assert!(json.len() < 64 * bytes.len() + 64);
    assert_eq!(compare(&root, &root), std::cmp::Ordering::Equal);
    let copied = Builder::new().value(root).finish().unwrap();
    let _ = split_metadata(root, &mut Parser::default()).map(|s| s.body.root().to_json());
    if opened.is_ok() {
        // Valid bytes read as JSON, and a copy has the same content.
        serde_json::from_str::<Box<serde_json::value::RawValue>>(&json).unwrap();
        assert_eq!(
            Document::open(copied.as_bytes()).unwrap().root().to_json(),
            json
        );
        assert_eq!(
            DocumentBuf::from_bytes(bytes.to_vec()).unwrap().root(),
            root
        );
    }
}

/// A place, a byte, and what to do there.
fn edit() -> impl Strategy<Value = (prop::sample::Index, u8, u8)> {
    (any::<prop::sample::Index>(), any::<u8>(), 0..6u8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        use_everything(&bytes);
        if let Some(first) = bytes.first_mut() {
            *first = 1;
        }
        use_everything(&bytes);
    }

    #[test]
    fn mutated_documents_never_panic(
        model in json(),
        edits in proptest::collection::vec(edit(), 1..4),
    ) {
        let text = model.text();
        let good = DocumentBuf::from_json(text.as_bytes(), &Limits::default()).unwrap();
        let mut bytes = good.into_bytes();
        for (place, byte, what) in edits {
            let at = place.index(bytes.len().max(1));
            match what {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 if at < bytes.len() => { bytes.remove(at); }
                3 if at < bytes.len() => bytes[at] ^= 1 << (byte & 7),
                4 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => {}
            }
            use_everything(&bytes);
        }
    }
}

#[test]
fn every_single_byte_of_a_document_may_be_anything() {
    let text =
        r#"{"a":[1,2.5,"x",{"b":1,"c":"y"},{"b":2,"c":"z"}],"d":{"b":3,"c":1.10},"e":70000}"#;
    let good = DocumentBuf::from_json(text.as_bytes(), &Limits::default())
        .unwrap()
        .into_bytes();
    for at in 0..good.len() {
        for byte in 0..=255 {
            let mut bytes = good.clone();
            bytes[at] = byte;
            let root = Document::trusted(&bytes).root();
            visit(root, &mut 2000);
            let json = root.to_json();
            if Document::open(&bytes).is_ok() {
                serde_json::from_str::<Box<serde_json::value::RawValue>>(&json).unwrap();
            }
        }
        use_everything(&good[..at]);
        assert!(Document::open(&good[..at]).is_err());
    }
}

#[test]
fn damage_in_the_index_of_a_large_object_is_found() {
    let fields: Vec<String> = (0..70).map(|i| format!("\"f{i}\":{i}")).collect();
    let text = format!("{{{}}}", fields.join(","));
    let good = DocumentBuf::from_json(text.as_bytes(), &Limits::default())
        .unwrap()
        .into_bytes();
    let mut undetected = 0;
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x01;
        visit(Document::trusted(&bytes).root(), &mut 2000);
        undetected += usize::from(Document::open(&bytes).is_ok());
    }
    // A changed value or letter is another document; structure is never wrong unnoticed.
    assert!(undetected < 70 + 70 * 3, "{undetected} of {}", good.len());
}

#[test]
fn other_versions_are_refused_and_read_as_null() {
    assert_eq!(Document::open(b"").unwrap_err(), DocumentError::Empty);
    assert_eq!(
        Document::open(&[2, 0]).unwrap_err(),
        DocumentError::UnknownVersion(2)
    );
    assert!(Document::trusted(&[2, 0x21]).root().is_null());
    assert_eq!(
        Document::trusted(&[2, 0x21]).to_buf().root().to_json(),
        "null"
    );
}

#[test]
fn nesting_beyond_the_limit_is_refused_and_read_as_null() {
    // Arrays of one element each, built by hand from the inside.
    let mut inner = vec![0x00];
    for _ in 0..3000 {
        let width = if inner.len() < 250 { 1 } else { 2 };
        let len = (inner.len() + width) as u16;
        let mut outer = vec![if width == 1 { 0x13 } else { 0x14 }];
        outer.extend_from_slice(&len.to_le_bytes()[..width]);
        outer.extend_from_slice(&inner);
        outer.extend_from_slice(&1u16.to_le_bytes()[..width]);
        inner = outer;
    }
    let bytes = [&[1], &inner[..]].concat();
    assert!(Document::open(&bytes).is_err());
    let root = Document::trusted(&bytes).root();
    assert!(root.to_json().contains("null"));
    assert_eq!(root, root);
    assert!(Builder::new().value(root).finish().is_ok());
}

#[test]
fn bytes_that_belong_to_nothing_are_refused() {
    for text in ["[]", "7", "{}", "[1]", r#"{"a":1}"#, r#"[{"a":1},{"b":2}]"#] {
        let good = DocumentBuf::from_json(text.as_bytes(), &Limits::default()).unwrap();
        for extra in [0x00, 0x01, 0x21, 0xFF] {
            let mut bytes = good.as_bytes().to_vec();
            bytes.push(extra);
            assert!(Document::open(&bytes).is_err(), "{text} and {extra:#x}");
        }
    }
    // An array of 3 bytes: two values, of which only one is counted.
    assert!(Document::open(&[1, 0x13, 2, 0x21, 1]).is_ok());
    assert!(Document::open(&[1, 0x13, 3, 0x21, 0x21, 1]).is_err());
    assert!(Document::open(&[1, 0x13, 3, 0x21, 0x21, 3]).is_err());
    // An object of two values whose shape has one name.
    assert!(Document::open(&[1, 0x16, 2, 0x21, 0, 1, 1, 1, b'a']).is_ok());
    assert!(Document::open(&[1, 0x16, 3, 0x21, 0x21, 0, 1, 1, 1, b'a']).is_err());
}

//! Values through the binary form compared with the same values through JSON text, for all of
//! serde's data model.

use std::collections::BTreeMap;
use std::fmt::Debug;

use jackdaw_document::Limits;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;

fn stored<T: Serialize + ?Sized>(value: &T) -> Result<DocumentBuf, ValueError> {
    to_document(value, &mut Builder::new())
}

fn of_text(text: &str) -> DocumentBuf {
    DocumentBuf::from_json(text.as_bytes(), &Limits::default()).unwrap()
}

/// The value is stored as `json` and as its JSON text is, and reads back.
#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, json: &str) {
    let document = stored(value).unwrap();
    assert_eq!(document.root().to_json(), json);
    let text = serde_json::to_string(value).unwrap();
    // By value: `serde_json` writes 1e+300 where a document has 1e300.
    assert_eq!(document.root(), of_text(&text).root(), "{text}");
    assert_eq!(&from_value::<T>(document.root()).unwrap(), value);
}

#[track_caller]
fn refused<T: Serialize>(value: T) -> String {
    stored(&value).unwrap_err().to_string()
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, Option<String>),
    Struct { a: (), b: Box<Shape> },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind", content = "of")]
enum Adjacent {
    Plain,
    Number(i64),
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(tag = "kind")]
enum Internal {
    Album { year: u16 },
    Artist { name: String, born: Option<i32> },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Real(f64),
    Texts(Vec<String>),
    Pair { left: String, right: f32 },
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct UnitStruct;

#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Meters(u32);

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct TupleStruct(bool, char, UnitStruct);

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Flat {
    title: String,
    #[serde(flatten)]
    size: Size,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Size {
    width: i32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    height: Option<f64>,
}

/// Serialized as bytes, which most byte strings are not.
#[derive(PartialEq, Debug)]
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }
        deserializer.deserialize_byte_buf(Visitor)
    }
}

#[test]
fn scalars_and_options_are_stored_as_json() {
    check(&true, "true");
    check(&(), "null");
    check(&UnitStruct, "null");
    check(&'\u{1f3b5}', "\"\u{1f3b5}\"");
    check(&String::new(), "\"\"");
    check(&"a\u{0}\"\\\n\u{e9}".to_owned(), r#""a\u0000\"\\\né""#);
    check(&Some(5_i8), "5");
    check(&None::<i8>, "null");
    check(&Some(Some("x".to_owned())), "\"x\"");
    check(&Meters(7), "7");
}

#[test]
fn integers_of_every_width_keep_their_value() {
    check(&[i8::MIN, i8::MAX], "[-128,127]");
    check(&[i16::MIN, i16::MAX], "[-32768,32767]");
    check(&[i32::MIN, i32::MAX], "[-2147483648,2147483647]");
    check(
        &[i64::MIN, i64::MAX],
        "[-9223372036854775808,9223372036854775807]",
    );
    check(&[u8::MAX], "[255]");
    check(&[u16::MAX], "[65535]");
    check(&[u32::MAX], "[4294967295]");
    check(
        &[u64::MAX, 1 << 63],
        "[18446744073709551615,9223372036854775808]",
    );
    let wide = [i128::MIN, -1, 0, i128::from(u64::MAX), i128::MAX];
    let document = stored(&wide).unwrap();
    assert!(
        document
            .root()
            .to_json()
            .starts_with("[-170141183460469231731687303715884105728,-1,")
    );
    assert_eq!(from_value::<[i128; 5]>(document.root()).unwrap(), wide);
    let document = stored(&u128::MAX).unwrap();
    assert_eq!(document.root().to_json(), u128::MAX.to_string());
    assert_eq!(from_value::<u128>(document.root()).unwrap(), u128::MAX);
    assert!(from_value::<i128>(document.root()).is_err());
}

#[test]
fn reals_keep_the_shortest_text_of_their_width() {
    check(
        &[0.1_f32, 1.0, -0.0, 16_777_217.0],
        "[0.1,1.0,-0.0,16777216.0]",
    );
    check(
        &[0.1_f64, 1.0, -0.0, 1e300, 5e-324],
        "[0.1,1.0,-0.0,1e300,5e-324]",
    );
    check(
        &[f64::MAX, f64::MIN],
        "[1.7976931348623157e308,-1.7976931348623157e308]",
    );
    check(
        &[f32::MAX, f32::MIN_POSITIVE],
        "[3.4028235e38,1.1754944e-38]",
    );
}

#[test]
fn numbers_without_json_are_refused() {
    for text in [
        refused(f64::NAN),
        refused(f64::INFINITY),
        refused(f32::NEG_INFINITY),
    ] {
        assert!(text.contains("has no number in JSON"), "{text}");
    }
    assert_eq!(
        refused(json_map(("a", vec![1.0, f64::NAN]))),
        "a[1]: NaN has no number in JSON: store null or a string instead"
    );
}

fn json_map<T>((name, value): (&str, T)) -> BTreeMap<String, T> {
    BTreeMap::from([(name.to_owned(), value)])
}

#[test]
fn whole_numbers_are_integers_however_written() {
    for text in ["2", "2.0", "2e0", "0.2e1", "2.00"] {
        let document = of_text(text);
        assert_eq!(from_value::<u8>(document.root()).unwrap(), 2, "{text}");
        assert_eq!(from_value::<i64>(document.root()).unwrap(), 2, "{text}");
        assert_eq!(from_value::<f64>(document.root()).unwrap(), 2.0, "{text}");
    }
    for text in ["2.5", "-1", "256", "1e400", "\"2\"", "null", "[2]"] {
        assert!(from_value::<u8>(of_text(text).root()).is_err(), "{text}");
    }
    assert!(from_value::<f64>(of_text("1e400").root()).is_err());
}

#[test]
fn enums_are_named_from_outside_unless_they_say_otherwise() {
    check(&Shape::Unit, r#""Unit""#);
    check(&Shape::Newtype(5), r#"{"Newtype":5}"#);
    check(&Shape::Tuple(1, None), r#"{"Tuple":[1,null]}"#);
    let nested = Shape::Struct {
        a: (),
        b: Box::new(Shape::Newtype(1)),
    };
    check(&nested, r#"{"Struct":{"a":null,"b":{"Newtype":1}}}"#);
    check(
        &vec![Adjacent::Plain, Adjacent::Number(-3)],
        r#"[{"kind":"Plain"},{"kind":"Number","of":-3}]"#,
    );
    check(
        &Internal::Album { year: 1990 },
        r#"{"kind":"Album","year":1990}"#,
    );
    let artist = Internal::Artist {
        name: "J".to_owned(),
        born: None,
    };
    check(&artist, r#"{"kind":"Artist","name":"J","born":null}"#);
    check(&Untagged::Number(-5), "-5");
    check(&Untagged::Real(0.5), "0.5");
    check(&Untagged::Texts(vec!["a".to_owned()]), r#"["a"]"#);
    check(
        &Untagged::Pair {
            left: "l".to_owned(),
            right: 0.1,
        },
        r#"{"left":"l","right":0.1}"#,
    );
    for text in [
        "5",
        "{}",
        r#"{"Newtype":1,"Unit":null}"#,
        r#""Newtype""#,
        r#"{"Other":1}"#,
    ] {
        assert!(from_value::<Shape>(of_text(text).root()).is_err(), "{text}");
    }
    assert_eq!(
        from_value::<Shape>(of_text(r#"{"Unit":null}"#).root()).unwrap(),
        Shape::Unit
    );
}

#[test]
fn sequences_have_the_length_of_their_type() {
    check(&(1, "a".to_owned(), [true; 2]), r#"[1,"a",[true,true]]"#);
    check(&TupleStruct(true, 'x', UnitStruct), r#"[true,"x",null]"#);
    check(&Vec::<u8>::new(), "[]");
    assert!(from_value::<(u8, u8)>(of_text("[1,2,3]").root()).is_err());
    assert!(from_value::<(u8, u8)>(of_text("[1]").root()).is_err());
}

#[test]
fn bytes_are_arrays_and_read_from_strings_too() {
    check(&Bytes(vec![0, 255, 128]), "[0,255,128]");
    check(&Bytes(Vec::new()), "[]");
    assert_eq!(
        from_value::<Bytes>(of_text("\"ab\"").root()).unwrap(),
        Bytes(b"ab".to_vec())
    );
}

#[test]
fn map_keys_are_the_text_of_their_value() {
    check(
        &BTreeMap::from([(-5_i64, 'a'), (7, 'b')]),
        r#"{"-5":"a","7":"b"}"#,
    );
    check(
        &BTreeMap::from([(u64::MAX, 1)]),
        r#"{"18446744073709551615":1}"#,
    );
    check(
        &BTreeMap::from([(u128::MAX, 1)]),
        &format!("{{\"{}\":1}}", u128::MAX),
    );
    check(
        &BTreeMap::from([(false, 1), (true, 2)]),
        r#"{"false":1,"true":2}"#,
    );
    check(&BTreeMap::from([('k', 1)]), r#"{"k":1}"#);
    check(&BTreeMap::from([(Meters(3), 1)]), r#"{"3":1}"#);
    check(&BTreeMap::from([(String::new(), 1)]), r#"{"":1}"#);

    #[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Debug)]
    enum Format {
        Vinyl,
        Disc,
    }
    check(
        &BTreeMap::from([(Format::Vinyl, 1), (Format::Disc, 2)]),
        r#"{"Vinyl":1,"Disc":2}"#,
    );
    for text in [
        refused(BTreeMap::from([((1, 2), 1)])),
        refused(BTreeMap::from([(None::<u8>, 1)])),
        refused(BTreeMap::from([((), 1)])),
    ] {
        assert!(text.contains("cannot name an entry of a map"), "{text}");
    }
    assert_eq!(
        stored(&BTreeMap::from([(Some(1), 1)]))
            .unwrap()
            .root()
            .to_json(),
        r#"{"1":1}"#
    );
    assert!(from_value::<BTreeMap<u8, u8>>(of_text(r#"{"256":1}"#).root()).is_err());
}

#[test]
fn flattened_fields_and_the_rest_read_back() {
    let flat = Flat {
        title: "T".to_owned(),
        size: Size {
            width: -2,
            height: Some(2.0),
        },
        rest: BTreeMap::from([("extra".to_owned(), json!({"a": [1, null]}))]),
    };
    check(
        &flat,
        r#"{"title":"T","width":-2,"height":2.0,"extra":{"a":[1,null]}}"#,
    );
}

#[test]
fn strings_are_borrowed_from_the_document() {
    #[derive(Deserialize)]
    struct Borrowed<'a> {
        title: &'a str,
        #[serde(borrow)]
        tags: Vec<&'a str>,
        #[serde(borrow)]
        note: std::borrow::Cow<'a, str>,
        raw: &'a [u8],
    }
    let document = of_text(r#"{"title":"a\u00e9","tags":["x","y"],"note":"n","raw":"bytes"}"#);
    let borrowed: Borrowed<'_> = from_value(document.root()).unwrap();
    assert_eq!((borrowed.title, borrowed.tags), ("a\u{e9}", vec!["x", "y"]));
    assert!(matches!(borrowed.note, std::borrow::Cow::Borrowed("n")));
    assert_eq!(borrowed.raw, b"bytes");
    let bytes = document.as_bytes().as_ptr_range();
    assert!(bytes.contains(&borrowed.title.as_ptr()));
}

#[test]
fn json_that_was_kept_as_text_is_stored_as_values() {
    let raw = serde_json::value::RawValue::from_string(r#"{ "a": 1.10 }"#.to_owned()).unwrap();
    let document = stored(&json_map(("raw", &raw))).unwrap();
    assert_eq!(document.root().to_json(), r#"{"raw":{"a":1.10}}"#);
    let read: BTreeMap<String, Box<serde_json::value::RawValue>> =
        from_value(document.root()).unwrap();
    assert_eq!(read["raw"].get(), r#"{"a":1.10}"#);
}

#[test]
fn nesting_beyond_the_limit_is_refused() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |value, _| json!([value]));
    assert!(stored(&nested(256)).is_ok());
    let text = stored(&nested(257)).unwrap_err();
    assert!(text.what().contains("deeper than 256 levels"), "{text}");
}

#[test]
fn errors_name_the_place() {
    let text = r#"{"a":{"b":[{"c":1},{"c":"x"}]}}"#;
    type Inner = BTreeMap<String, BTreeMap<String, Vec<BTreeMap<String, u8>>>>;
    let error = from_value::<Inner>(of_text(text).root()).unwrap_err();
    assert_eq!(error.path(), "a.b[1].c");
    assert!(
        error
            .to_string()
            .starts_with("a.b[1].c: invalid type: string \"x\""),
        "{error}"
    );
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        (-1000_i32..1000).prop_map(Into::into),
        proptest::num::f64::NORMAL.prop_map(Into::into),
        (-100_000_i32..100_000, 0_i32..9).prop_map(|(n, e)| (f64::from(n) / 10_f64.powi(e)).into()),
        any::<f32>()
            .prop_filter("finite", |x| x.is_finite())
            .prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
        "[a-z]{120,300}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 128, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(serde_json::Value::from),
            prop::collection::vec((".{0,6}", inner), 0..24)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_json_value_equals_its_text_and_reads_back(value in any_json()) {
        let document = stored(&value).unwrap();
        let text = serde_json::to_string(&value).unwrap();
        let of_text = of_text(&text);
        prop_assert_eq!(document.root(), of_text.root());
        prop_assert_eq!(&from_value::<serde_json::Value>(document.root()).unwrap(), &value);
        // And from the document of the text, which another program may have stored.
        prop_assert_eq!(&from_value::<serde_json::Value>(of_text.root()).unwrap(), &value);
    }
}

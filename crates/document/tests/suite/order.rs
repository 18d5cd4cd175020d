//! Proves that values have one total order, that equality is deep, and that numbers compare by the
//! value their text names.

use std::cmp::Ordering;

use crate::common::json;
use jackdaw_document::*;
use proptest::prelude::*;

fn parse(text: &str) -> DocumentBuf {
    DocumentBuf::from_json(text.as_bytes(), &Limits::default()).unwrap()
}

/// Checks that the list ascends, group by group, and that each group is of equals.
fn check_order(groups: &[&[&str]]) {
    let groups: Vec<Vec<_>> = groups
        .iter()
        .map(|g| g.iter().map(|text| parse(text)).collect())
        .collect();
    for (i, left) in groups.iter().enumerate() {
        for (k, right) in groups.iter().enumerate() {
            for a in left {
                for b in right {
                    assert_eq!(compare(&a.root(), &b.root()), i.cmp(&k), "{a:?} {b:?}");
                }
            }
        }
    }
}

#[test]
fn numbers_compare_by_the_value_of_their_text() {
    check_order(&[
        &["-1e400"],
        &["-9223372036854775809"],
        &[
            "-9223372036854775808",
            "-9223372036854775808.0",
            "-9.223372036854775808e18",
        ],
        &["-9223372036854775807"],
        &["-1.5", "-1.50", "-15e-1"],
        &["-1", "-1.0", "-10e-1"],
        &["-1e-400"],
        &["0", "-0", "0.0", "-0.0", "0e99", "0.00"],
        &["1e-400"],
        &["5e-324"],
        &["0.1", "0.10", "1e-1", "0.1000000000000000000000000000000"],
        &["0.1000000000000000055"],
        &["1", "1.0", "1.00", "1e0", "0.1e1", "10e-1"],
        &[
            "9007199254740992",
            "9007199254740992.0",
            "9.007199254740992e15",
        ],
        &["9007199254740993"],
        &["9007199254740994"],
        &["9223372036854775807"],
        &["9223372036854775808"],
        &["12345678901234567890"],
        &["12345678901234567891"],
        &["1e23", "100000000000000000000000"],
        &["1.7976931348623157e308"],
        &["1e309", "10e308"],
        &["1e400"],
        &["1e999999999999999999999"],
    ]);
}

#[test]
fn kinds_have_an_order() {
    check_order(&[
        &["null"],
        &["false"],
        &["true"],
        &["-1e9"],
        &["3"],
        &["\"\""],
        &["\"A\""],
        &["\"a\""],
        &["\"ab\""],
        &["\"\u{ffff}\""],
        &["\"\u{10000}\""],
        &["[]"],
        &["[1]", "[1.0]"],
        &["[1,null]"],
        &["[1,2]"],
        &["[2]"],
        &["{}"],
        &["{\"a\":1,\"b\":2}", "{\"b\":2.0,\"a\":1}"],
        &["{\"a\":1,\"b\":3}"],
        &["{\"a\":2}"],
        &["{\"b\":0}"],
    ]);
}

#[test]
fn numbers_convert_where_they_can() {
    for (text, long) in [
        ("5", Some(5)),
        ("5.0", Some(5)),
        ("5.00", Some(5)),
        ("5e3", Some(5000)),
        ("-0", Some(0)),
        ("5.5", None),
        ("5e-1", None),
        ("9.223372036854775807e18", Some(i64::MAX)),
        ("-9223372036854775808.0", Some(i64::MIN)),
        ("9223372036854775808", None),
        ("1e400", None),
        ("1e99999999999999999999", None),
    ] {
        assert_eq!(parse(text).root().as_i64(), long, "{text}");
    }
    assert_eq!(parse("1e400").root().as_f64(), Some(f64::INFINITY));
    assert_eq!(
        parse("12345678901234567890").root().as_f64(),
        Some(12_345_678_901_234_567_890.0)
    );
    assert_eq!(parse("\"5\"").root().as_i64(), None);
    assert!(Value::parse_number("1x").is_none());
    assert!(Value::parse_number("").is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn doubles_and_longs_compare_as_exact_decimals(
        a in any::<i64>(),
        shift in 0u32..64,
        b in any::<f64>(),
    ) {
        let a = a >> shift;
        let near = [b, a as f64, (a as f64).next_up(), (a as f64).next_down(), a as f64 + 0.5];
        for x in near.into_iter().filter(|x| x.is_finite()) {
            let (long, double) = (Value::Long(a), Value::Double(x));
            // The texts of both, made comparable by a longer text of the same value.
            let text = double.to_json();
            let padded = match text.split_once('e') {
                Some((m, e)) => format!("{m}{}00e{e}", if m.contains('.') { "" } else { "." }),
                None => format!("{text}00"),
            };
            let exact = Value::parse_number(&padded).unwrap();
            prop_assert!(matches!(exact, Value::Number(_)), "{}", padded);
            prop_assert_eq!(compare(&double, &exact), Ordering::Equal, "{}", padded);
            prop_assert_eq!(compare(&long, &double), compare(&long, &exact), "{} {}", a, x);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_is_total(a in json(), b in json(), c in json()) {
        let (a, b, c) = (parse(&a.text()), parse(&b.text()), parse(&c.text()));
        let (a, b, c) = (a.root(), b.root(), c.root());
        prop_assert_eq!(compare(&a, &a), Ordering::Equal);
        prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
    }
}

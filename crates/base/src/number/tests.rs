//! What is proven: byte order of keys is the order of true values, over integers and doubles
//! mixed. How: all pairs of a list of edge values against exact arithmetic, then random pairs.

#![expect(
    clippy::cast_possible_truncation,
    reason = "ranges are checked before casts"
)]

use super::*;

/// Exact comparison by 128-bit integers and fractions, written without the code under test.
fn compare_exactly(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Long(a), Number::Long(b)) => a.cmp(&b),
        (Number::Double(a), Number::Double(b)) => a.partial_cmp(&b).unwrap(),
        (Number::Long(a), Number::Double(b)) => compare_long_to_double(a, b),
        (Number::Double(a), Number::Long(b)) => compare_long_to_double(b, a).reverse(),
    }
}

fn compare_long_to_double(long: i64, double: f64) -> Ordering {
    if double >= 9.3e18 {
        return Ordering::Less;
    }
    if double <= -9.3e18 {
        return Ordering::Greater;
    }
    let floor = double.floor();
    i128::from(long)
        .cmp(&(floor as i128))
        .then(if double > floor {
            Ordering::Less
        } else {
            Ordering::Equal
        })
}

fn edge_numbers() -> Vec<Number> {
    let mut numbers = Vec::new();
    for power in 0..63 {
        let base = 1_i64 << power;
        for step in [-1025, -1024, -513, -512, -1, 0, 1, 2, 511, 512, 1023, 1024] {
            let long = base.wrapping_add(step);
            numbers.extend([Number::Long(long), Number::Long(long.wrapping_neg())]);
            numbers.extend([Number::Double(long as f64), Number::Double(-(long as f64))]);
        }
        numbers.push(Number::Double(base as f64 + 0.5));
        numbers.push(Number::Double(1.0 / base as f64));
    }
    numbers.extend([i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1].map(Number::Long));
    numbers.extend(
        [
            0.0,
            -0.0,
            0.1,
            -0.1,
            1e300,
            -1e300,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
        ]
        .map(Number::Double),
    );
    numbers.extend([f64::INFINITY, f64::NEG_INFINITY].map(Number::Double));
    numbers.extend([9_223_372_036_854_775_808.0, 9_007_199_254_740_993.0].map(Number::Double));
    numbers
}

#[test]
fn keys_order_as_true_values_do() {
    let numbers = edge_numbers();
    let keys: Vec<NumberKey> = numbers.iter().map(|number| number.key()).collect();
    for (a, key_a) in numbers.iter().zip(&keys) {
        for (b, key_b) in numbers.iter().zip(&keys) {
            let expected = compare_exactly(*a, *b);
            assert_eq!(
                key_a.as_bytes().cmp(key_b.as_bytes()),
                expected,
                "{a:?} {b:?}"
            );
            assert_eq!(key_a.cmp(key_b), expected, "{a:?} {b:?}");
            assert_eq!(a.cmp(b), expected, "{a:?} {b:?}");
        }
    }
}

#[test]
fn keys_come_back_as_the_same_value() {
    for number in edge_numbers() {
        let key = number.key();
        let again = NumberKey::decode(key.as_bytes()).unwrap();
        assert_eq!(
            compare_exactly(again.to_number(), number),
            Ordering::Equal,
            "{number:?}"
        );
        if let Number::Long(long) = number {
            assert!(matches!(again.to_number(), Number::Long(same) if same == long));
        }
    }
}

#[test]
fn bytes_no_number_encodes_to_are_refused() {
    assert_eq!(NumberKey::decode(&[]), None);
    assert_eq!(NumberKey::decode(&[0xff; 8]), None);
    assert_eq!(NumberKey::decode(&[0xff; 10]), None);
    let mut overlong = Number::Long(5).key().as_bytes().to_vec();
    overlong.extend([0, 0]);
    assert_eq!(NumberKey::decode(&overlong), None);
    let mut past_the_gap = Number::Long(5).key().as_bytes().to_vec();
    past_the_gap.extend([0, 1]);
    assert_eq!(NumberKey::decode(&past_the_gap), None);
}

#[test]
fn json_texts_become_numbers() {
    assert!(matches!(Number::parse("12"), Some(Number::Long(12))));
    assert!(matches!(
        Number::parse("-9223372036854775808"),
        Some(Number::Long(i64::MIN))
    ));
    assert!(matches!(Number::parse("12.5"), Some(Number::Double(_))));
    assert_eq!(Number::parse("1e2"), Some(Number::Long(100)));
    assert_eq!(Number::parse("1.0"), Number::parse("1"));
    assert_eq!(
        Number::parse("9223372036854775808"),
        Number::from_f64(2_f64.powi(63))
    );
    assert_eq!(Number::parse("nan"), None);
    assert_eq!(Number::parse("inf"), None);
    assert_eq!(Number::parse(""), None);
    assert_eq!(Number::from_f64(f64::NAN), None);
}

#[test]
fn random_pairs_order_as_true_values_do() {
    let seed = 0x6a61_636b_6461_7721_u64;
    let mut state = seed;
    let mut next = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    for _ in 0..20_000 {
        let long = next().cast_signed() >> (next() % 64);
        let near = (long as f64) + ((next() % 5) as f64 - 2.0) * 0.5;
        let any = Number::from_f64(f64::from_bits(next())).unwrap_or(Number::Long(0));
        let numbers = [Number::Long(long), Number::Double(near), any];
        for a in numbers {
            for b in numbers {
                let expected = compare_exactly(a, b);
                assert_eq!(a.cmp(&b), expected, "seed {seed:#x}: {a:?} {b:?}");
                let byte_order = a.key().as_bytes().cmp(b.key().as_bytes());
                assert_eq!(byte_order, expected, "seed {seed:#x}: {a:?} {b:?}");
            }
        }
    }
}

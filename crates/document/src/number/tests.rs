//! Proves that every number text survives, and that the stored form is the smallest exact one.

use super::*;

/// Prints what was stored for `text`.
fn print(text: &str) -> String {
    let scanned = scan(text.as_bytes(), 0).unwrap();
    assert_eq!(scanned.end, text.len(), "{text}");
    let mut out = Vec::new();
    match scanned.number {
        Number::Long(n) => push_long(&mut out, n),
        Number::Decimal { mantissa, scale } => {
            push_decimal(&mut out, mantissa, scale);
            let x = decimal_to_f64(mantissa.into(), scale);
            assert_eq!(x, text.parse::<f64>().unwrap(), "{text}");
            assert_eq!(format!("{x:?}"), text, "not the shortest text");
        }
        Number::Double(x) => push_double(&mut out, x),
        Number::Text => out.extend_from_slice(text.as_bytes()),
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn small_decimals_all_print_back() {
    for integer in 0..130 {
        for fraction in 0..1000 {
            for text in [
                format!("{integer}.{fraction}"),
                format!("-{integer}.{fraction:03}"),
            ] {
                assert_eq!(print(&text), text);
            }
        }
    }
}

#[test]
fn texts_around_every_edge_print_back() {
    let mantissas = [
        "0",
        "1",
        "9",
        "10",
        "15",
        "99",
        "100",
        "123",
        "127",
        "128",
        "32767",
        "32768",
        "99999",
        "2147483647",
        "2147483648",
        "999999999999999",
        "1000000000000000",
        "9007199254740993",
        "12345678901234567",
        "99999999999999999",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "123456789012345678901234567890",
    ];
    for digits in mantissas {
        for point in 0..=30 {
            let padded = format!("{}{digits}", "0".repeat(point));
            let split = padded.len() - point;
            let integer = padded[..split].trim_start_matches('0');
            let integer = if integer.is_empty() { "0" } else { integer };
            for tail in ["", "0", "00"] {
                let fraction = format!("{}{tail}", &padded[split..]);
                let plain = if fraction.is_empty() {
                    integer.to_string()
                } else {
                    format!("{integer}.{fraction}")
                };
                for exponent in [
                    "", "e0", "e5", "E5", "e-5", "e+5", "e16", "e-400", "e400", "e07",
                ] {
                    for sign in ["", "-"] {
                        let text = format!("{sign}{plain}{exponent}");
                        assert_eq!(print(&text), text);
                    }
                }
            }
        }
    }
}

#[test]
fn forms_are_as_documented() {
    let form = |text: &str| scan(text.as_bytes(), 0).unwrap().number;
    assert_eq!(form("0"), Number::Long(0));
    assert_eq!(form("-9223372036854775808"), Number::Long(i64::MIN));
    assert_eq!(form("9223372036854775807"), Number::Long(i64::MAX));
    assert_eq!(
        form("12.5"),
        Number::Decimal {
            mantissa: 125,
            scale: 1
        }
    );
    assert_eq!(
        form("5.0"),
        Number::Decimal {
            mantissa: 50,
            scale: 1
        }
    );
    assert_eq!(
        form("0.0001"),
        Number::Decimal {
            mantissa: 1,
            scale: 4
        }
    );
    assert_eq!(
        form("0.12345678901234568"),
        Number::Double(0.123_456_789_012_345_68)
    );
    assert_eq!(form("1e-7"), Number::Double(1e-7));
    assert_eq!(form("-0.0"), Number::Double(-0.0));
    for text in [
        "-0",
        "1.10",
        "1e5",
        "1E400",
        "0.00001",
        "9223372036854775808",
        "0.00",
    ] {
        assert_eq!(form(text), Number::Text, "{text}");
    }
}

#[test]
fn what_is_not_a_number_is_refused_where_it_breaks() {
    for (text, at) in [
        ("-", 1),
        ("", 0),
        ("01", 1),
        ("-01", 2),
        ("1.", 2),
        ("1.e5", 2),
        (".5", 0),
        ("1e", 2),
        ("1e+", 3),
        ("+1", 0),
        ("-a", 1),
        ("1.5e-", 5),
    ] {
        assert_eq!(scan(text.as_bytes(), 0).unwrap_err(), at, "{text}");
    }
}

#[test]
fn doubles_of_programs_keep_their_value() {
    for x in [
        0.0,
        -0.0,
        1.0,
        0.1,
        1e16,
        1e-5,
        9.9e-6,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        1e300,
    ] {
        let value = match of_double(x).unwrap() {
            Number::Decimal { mantissa, scale } => decimal_to_f64(mantissa.into(), scale),
            Number::Double(x) => x,
            other => panic!("{x} became {other:?}"),
        };
        assert_eq!(value.to_bits(), x.to_bits());
    }
    assert_eq!(of_double(f64::NAN), None);
    assert_eq!(of_double(f64::INFINITY), None);
}

#[test]
fn the_fast_printer_agrees_with_the_standard_library() {
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    println!("seed {seed}");
    let mut state: u64 = seed | 1;
    for i in 0..20_000u32 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let near = f64::from(i) / 1000.0;
        for x in [
            f64::from_bits(state),
            near,
            near.next_up(),
            near.next_down(),
        ] {
            // The same digits in the range of the fast printer.
            let plain = f64::from_bits(x.to_bits() & !(0x7FF << 52) | (1010 + (state & 31)) << 52);
            for x in [x, plain].into_iter().filter(|x| x.is_finite()) {
                let mut out = Vec::new();
                push_double(&mut out, x);
                let (fast, slow) = (String::from_utf8(out).unwrap(), format!("{x:?}"));
                assert_eq!(
                    fast.parse::<f64>().unwrap().to_bits(),
                    x.to_bits(),
                    "seed {seed}"
                );
                // Where two shortest texts are equally near, the two choose differently.
                assert_eq!(fast.len(), slow.len(), "{fast} {slow}, seed {seed}");
                assert_eq!(
                    fast[..fast.len() - 1],
                    slow[..fast.len() - 1],
                    "seed {seed}"
                );
            }
        }
    }
}

#[test]
fn of_two_shortest_texts_equally_near_the_even_one_is_printed_and_both_survive() {
    let x = -8_949_914_357_761_385.0 / 4.0;
    let mut out = Vec::new();
    push_double(&mut out, x);
    assert_eq!(out, b"-2237478589440346.2");
    for text in [
        "-2237478589440346.2",
        "-2237478589440346.3",
        "-2237478589440346.25",
    ] {
        assert_eq!(print(text), text);
        assert_eq!(text.parse::<f64>().unwrap(), x);
    }
}

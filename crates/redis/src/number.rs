//! Numbers as Redis reads and writes them.

/// Most bytes of a 64-bit integer in decimal, with its sign.
pub(crate) const DECIMAL_BYTES_MAX: usize = 20;

/// Reads a 64-bit integer in its one canonical form: no blanks, no plus, no leading zeros.
#[inline]
pub(crate) fn parse_integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match digits {
        [] => return None,
        [b'0', ..] if digits.len() > 1 || is_negative => return None,
        _ if digits.len() >= DECIMAL_BYTES_MAX => return None,
        _ => {}
    }
    let mut value = 0_i64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        // Negative numbers reach one further than positive ones.
        value = value
            .checked_mul(10)?
            .checked_sub(i64::from(digit - b'0'))?;
    }
    if is_negative {
        Some(value)
    } else {
        value.checked_neg()
    }
}

/// Writes an integer into `buffer`; gives its digits.
#[inline]
pub(crate) fn decimal(value: i64, buffer: &mut [u8; DECIMAL_BYTES_MAX]) -> &[u8] {
    let mut rest = value.unsigned_abs();
    let mut start = DECIMAL_BYTES_MAX;
    loop {
        start -= 1;
        buffer[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        start -= 1;
        buffer[start] = b'-';
    }
    &buffer[start..]
}

/// Reads a floating point number; infinities by name, no blanks, never NaN.
pub(crate) fn parse_double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        let is_infinite = unsigned.eq_ignore_ascii_case("inf");
        let is_infinite = is_infinite || unsigned.eq_ignore_ascii_case("infinity");
        let infinity = match text.starts_with('-') {
            true => f64::NEG_INFINITY,
            false => f64::INFINITY,
        };
        return is_infinite.then_some(infinity);
    }
    let value: f64 = text.parse().ok()?;
    (!value.is_nan()).then_some(value)
}

/// The shortest text that reads back as the same number; whole numbers without a fraction, very
/// large and very small ones with an exponent.
pub(crate) fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-5..1e17).contains(&magnitude) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{value}")
}

/// The same without an exponent, for what INCRBYFLOAT stores.
pub(crate) fn format_plain(value: f64) -> String {
    // Negative zero is zero.
    format!("{}", value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_form() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("00", None),
            ("-0", None),
            ("+1", None),
            (" 1", None),
            ("1 ", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(parse_integer(text.as_bytes()), expected, "{text}");
            if let Some(value) = expected {
                assert_eq!(decimal(value, &mut [0; 20]), text.as_bytes());
            }
        }
    }

    #[test]
    fn doubles_are_short_and_read_back() {
        for (value, text) in [
            (3.0, "3"),
            (3.5, "3.5"),
            (-0.1, "-0.1"),
            (1e20, "1e+20"),
            (1.5e-7, "1.5e-07"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(format_double(value), text);
            assert_eq!(parse_double(text.as_bytes()), Some(value));
        }
        for text in ["", "nan", "1x", " 1", "1 ", "0x10", "--1", "infx"] {
            assert_eq!(parse_double(text.as_bytes()), None, "{text}");
        }
    }
}

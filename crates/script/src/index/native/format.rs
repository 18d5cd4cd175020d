//! Values as text: plainly, and by the formats of C# that indexes use.
//!
//! Numbers and dates are written as the invariant culture does.

use super::arithmetic::Number;
use super::emit::json_of;
use super::time::{TICKS_PER_HOUR, TICKS_PER_MINUTE, as_date, format_span};
use super::value::{Date, Value};
use jackdaw_base::time::TICKS_PER_SECOND;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(crate) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
/// Digits that a format may ask for.
const DIGITS_MAX: usize = 100;

/// A value as `ToString` gives it; nothing is the empty text.
pub(crate) fn text_of(value: Value<'_>) -> String {
    match value {
        Value::Missing | Value::Null => String::new(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Long(long) => long.to_string(),
        Value::Double(double) => text_of_double(double),
        Value::Decimal(decimal) => decimal.normalize().to_string(),
        Value::Number(text) => text.as_str().to_owned(),
        Value::Text(text) => text.to_owned(),
        Value::Date(date) => date.to_text(),
        Value::Span(ticks) => format_span(ticks),
        Value::Document(document) => document.id.to_owned(),
        other => json_of(other),
    }
}

fn text_of_double(double: f64) -> String {
    let mut out = Vec::new();
    jackdaw_document::push_double(&mut out, double);
    let text = String::from_utf8(out).unwrap_or_default();
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A value by a format of C#. `None` when the format is not one for it.
pub(crate) fn format_value(value: Value<'_>, format: &str) -> Option<String> {
    if value.is_nothing() {
        return Some(String::new());
    }
    if format.is_empty() {
        return Some(text_of(value));
    }
    if let Some(number) = Number::of(value) {
        return format_number(number, format);
    }
    match value {
        Value::Span(_) => matches!(format, "c" | "g" | "t").then(|| text_of(value)),
        _ => format_date(as_date(value)?, format),
    }
}

fn format_number(number: Number, format: &str) -> Option<String> {
    let decimal = number.to_decimal()?;
    let first = format.chars().next()?;
    let digits = format[first.len_utf8()..].parse::<usize>().ok();
    let is_standard = format.len() == 1 || digits.is_some();
    if first.is_ascii_alphabetic() && is_standard {
        let digits = digits.filter(|digits| *digits <= DIGITS_MAX);
        return match first.to_ascii_uppercase() {
            'G' | 'R' => Some(text_of(number.to_value())),
            'D' => {
                let Number::Long(long) = number else {
                    return None;
                };
                let sign = if long < 0 { "-" } else { "" };
                Some(format!(
                    "{sign}{:0>1$}",
                    long.unsigned_abs(),
                    digits.unwrap_or(1)
                ))
            }
            'F' => Some(fixed(decimal, digits.unwrap_or(2), 1, false)),
            'N' => Some(fixed(decimal, digits.unwrap_or(2), 1, true)),
            'P' => {
                let hundredths = decimal.checked_mul(rust_decimal::Decimal::ONE_HUNDRED)?;
                Some(fixed(hundredths, digits.unwrap_or(2), 1, true) + " %")
            }
            'E' => {
                let double = number.to_f64();
                Some(scientific(double, digits.unwrap_or(6), first))
            }
            'X' => {
                let Number::Long(long) = number else {
                    return None;
                };
                let width = digits.unwrap_or(1);
                Some(match first {
                    'x' => format!("{long:0>width$x}"),
                    _ => format!("{long:0>width$X}"),
                })
            }
            _ => None,
        };
    }
    // A custom format of zeros, `#` and a point.
    let (whole, fraction) = format.split_once('.').unwrap_or((format, ""));
    let is_known = |text: &str| text.chars().all(|c| matches!(c, '0' | '#' | ','));
    if !is_known(whole) || !is_known(fraction) || format.len() > DIGITS_MAX {
        return None;
    }
    let zeros = whole.matches('0').count();
    let mut text = fixed(decimal, fraction.len(), zeros, whole.contains(','));
    let optional = fraction.len() - fraction.trim_end_matches('#').len();
    for _ in 0..optional {
        match text.strip_suffix('0') {
            Some(shorter) => text.truncate(shorter.len()),
            None => break,
        }
    }
    text.truncate(text.trim_end_matches('.').len());
    Some(text)
}

/// A number with an exponent of at least three digits: `1.50E+000`.
fn scientific(double: f64, digits: usize, letter: char) -> String {
    let text = format!("{double:.digits$e}");
    let (number, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{number}{letter}{sign}{exponent:0>3}")
}

/// A number with so many digits behind the point, and at least so many before it.
fn fixed(decimal: rust_decimal::Decimal, digits: usize, whole: usize, has_groups: bool) -> String {
    let strategy = rust_decimal::RoundingStrategy::MidpointAwayFromZero;
    let scale = u32::try_from(digits.min(28)).unwrap_or(28);
    let rounded = decimal.round_dp_with_strategy(scale, strategy);
    let text = format!("{:.*}", digits, rounded.abs());
    let (before, after) = text.split_once('.').unwrap_or((&text, ""));
    let mut before = match before.trim_start_matches('0') {
        "" if whole == 0 => String::new(),
        trimmed => format!("{trimmed:0>whole$}"),
    };
    if has_groups {
        let mut at = before.len();
        while at > 3 {
            at -= 3;
            before.insert(at, ',');
        }
    }
    let is_negative = rounded.is_sign_negative() && !rounded.is_zero();
    let sign = if is_negative { "-" } else { "" };
    match after {
        "" => format!("{sign}{before}"),
        _ => format!("{sign}{before}.{after}"),
    }
}

fn format_date(date: Date, format: &str) -> Option<String> {
    match format {
        "o" | "O" => return Some(date.to_text()),
        "s" => return format_date(date, "yyyy-MM-ddTHH:mm:ss"),
        "d" => return format_date(date, "MM/dd/yyyy"),
        "u" => return format_date(date, "yyyy-MM-dd HH:mm:ssZ"),
        "D" => return format_date(date, "dddd, dd MMMM yyyy"),
        "Y" | "y" => return format_date(date, "yyyy MMMM"),
        _ if format.len() == 1 => return None,
        _ => {}
    }
    let format = format.strip_prefix('%').unwrap_or(format);
    let mut out = String::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let len = rest.len() - rest.trim_start_matches(first).len();
        match first {
            'y' | 'M' | 'd' | 'H' | 'h' | 'm' | 's' | 'f' | 'F' | 't' => {
                out.push_str(&date_part(date, first, len));
                rest = &rest[len..];
            }
            '\'' | '"' => {
                let inside = &rest[1..];
                let end = inside.find(first)?;
                out.push_str(&inside[..end]);
                rest = &inside[end + 1..];
            }
            '\\' => {
                let escaped = rest[1..].chars().next()?;
                out.push(escaped);
                rest = &rest[1 + escaped.len_utf8()..];
            }
            'z' | 'K' | 'g' => return None,
            other => {
                out.push(other);
                rest = &rest[other.len_utf8()..];
            }
        }
    }
    Some(out)
}

/// One part of a date, as wide as its letter is repeated.
fn date_part(date: Date, letter: char, len: usize) -> String {
    let parts = date.parts();
    let hour = parts.of_day / TICKS_PER_HOUR;
    let padded = |number: i64| match len {
        1 => number.to_string(),
        _ => format!("{number:02}"),
    };
    let name = |names: &[&'static str], slot: usize| {
        let name = names.get(slot).copied().unwrap_or_default();
        name.get(..if len == 3 { 3 } else { name.len() })
            .unwrap_or(name)
            .to_owned()
    };
    match letter {
        'y' if len <= 2 => padded(parts.year % 100),
        'y' => format!("{:0>len$}", parts.year, len = len.min(DIGITS_MAX)),
        'M' if len >= 3 => name(&MONTHS, usize::try_from(parts.month - 1).unwrap_or(0)),
        'M' => padded(parts.month),
        'd' if len >= 3 => name(&DAYS, date.day_of_week()),
        'd' => padded(parts.day),
        'H' => padded(hour),
        'h' => padded(if hour % 12 == 0 { 12 } else { hour % 12 }),
        'm' => padded(parts.of_day / TICKS_PER_MINUTE % 60),
        's' => padded(parts.of_day / TICKS_PER_SECOND % 60),
        't' if len == 1 => (if hour < 12 { "A" } else { "P" }).to_owned(),
        't' => (if hour < 12 { "AM" } else { "PM" }).to_owned(),
        _ => {
            let fraction = format!("{:07}", parts.of_day % TICKS_PER_SECOND);
            let shown = fraction.get(..len.min(7)).unwrap_or(&fraction);
            match letter {
                'F' => shown.trim_end_matches('0').to_owned(),
                _ => shown.to_owned(),
            }
        }
    }
}

//! Exact comparison of numbers by the value their text names.
//!
//! Called by `compare` and `value`. The value of a stored `f64` is that of its shortest text, so
//! that `0.1`, `0.10` and `1e-1` are one number and all orders agree.

use std::cmp::Ordering;
use std::io::Write;

use crate::number::{Buffer, ShortestText};
use crate::value::Value;

/// A number text taken apart: `0.d1d2d3... * 10^exponent`, without zeros at either end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal<'a> {
    negative: bool,
    /// Digits from the first to the last that is not zero, perhaps with a point among them. Empty
    /// for zero.
    digits: &'a [u8],
    /// Saturates; JSON text can name exponents beyond 64 bits.
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// Takes a JSON number apart.
    pub(crate) fn parse(text: &'a [u8]) -> Decimal<'a> {
        let negative = text.first() == Some(&b'-');
        let text = &text[usize::from(negative)..];
        let mark = text.iter().position(|b| matches!(b, b'e' | b'E'));
        let (mantissa, power) = match mark {
            Some(mark) => (&text[..mark], parse_exponent(&text[mark + 1..])),
            None => (text, 0),
        };
        let point = mantissa
            .iter()
            .position(|&b| b == b'.')
            .unwrap_or(mantissa.len());
        let nonzero = |b: &u8| matches!(b, b'1'..=b'9');
        let (Some(first), Some(last)) = (
            mantissa.iter().position(nonzero),
            mantissa.iter().rposition(nonzero),
        ) else {
            return Decimal {
                negative: false,
                digits: &[],
                exponent: 0,
            };
        };
        // Zeros between the point and the first digit lower the exponent.
        let lead = if first < point {
            to_i64(point - first)
        } else {
            -to_i64(first - point - 1)
        };
        let digits = &mantissa[first..=last];
        Decimal {
            negative,
            digits,
            exponent: power.saturating_add(lead),
        }
    }

    fn iter(&self) -> impl Iterator<Item = u8> + Clone + 'a {
        self.digits.iter().copied().filter(u8::is_ascii_digit)
    }

    /// Total order by value.
    pub(crate) fn compare(&self, other: &Decimal<'_>) -> Ordering {
        let sign = |d: &Decimal<'_>| match (d.digits.is_empty(), d.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            let magnitude = self
                .exponent
                .cmp(&other.exponent)
                .then_with(|| self.iter().cmp(other.iter()));
            if self.negative {
                magnitude.reverse()
            } else {
                magnitude
            }
        })
    }

    /// The value, if it is whole and in the range of `i64`.
    pub(crate) fn to_long(self) -> Option<i64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let count = to_i64(self.iter().count());
        if !(count..=19).contains(&self.exponent) {
            return None;
        }
        let mut n = 0i128;
        for d in self.iter() {
            n = n * 10 + i128::from(d - b'0');
        }
        for _ in count..self.exponent {
            n *= 10;
        }
        i64::try_from(if self.negative { -n } else { n }).ok()
    }
}

fn parse_exponent(text: &[u8]) -> i64 {
    let negative = text.first() == Some(&b'-');
    let mut n = 0i64;
    for b in text.iter().filter(|b| b.is_ascii_digit()) {
        n = n.saturating_mul(10).saturating_add(i64::from(b - b'0'));
    }
    if negative { -n } else { n }
}

fn to_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Compares two values that are numbers; others count as zero.
pub(crate) fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    if let (Value::Long(a), Value::Long(b)) = (a, b) {
        return a.cmp(b);
    }
    if let (Some(a), Some(b)) = (exact_f64(a), exact_f64(b))
        && let Some(order) = a.partial_cmp(&b)
    {
        return order;
    }
    let (mut left, mut right) = (TextBuffer::new(), TextBuffer::new());
    Decimal::parse(left.print(a)).compare(&Decimal::parse(right.print(b)))
}

/// The number as `f64` where comparing such numbers orders their texts: doubles among themselves,
/// and integers up to 2^53, which lie on the same side of a double as of its shortest text.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
fn exact_f64(value: &Value<'_>) -> Option<f64> {
    match *value {
        Value::Long(n) if n.unsigned_abs() <= 1 << 53 => Some(n as f64),
        Value::Double(x) => Some(x),
        _ => None,
    }
}

/// Room for the text of one number.
struct TextBuffer {
    long: Buffer,
    double: ShortestText,
}

impl TextBuffer {
    fn new() -> TextBuffer {
        TextBuffer {
            long: Buffer::new(),
            double: ShortestText::new(),
        }
    }

    fn print<'s>(&'s mut self, value: &Value<'s>) -> &'s [u8] {
        match *value {
            Value::Number(text) => text.as_str().as_bytes(),
            Value::Double(x) => self.double.print(x),
            // The buffer is longer than any integer.
            Value::Long(n) if write!(self.long, "{n}").is_ok() => self.long.as_bytes(),
            _ => b"0",
        }
    }
}

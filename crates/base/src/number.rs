//! Numbers compared by their true value, and keys whose byte order is that order.
//!
//! Called by index analysis, by the query evaluator and by sorting, so that an integer and a
//! floating-point number of equal value are one and the same everywhere. Bytes: docs/format.md,
//! section "Number keys".
//!
//! Invariants:
//! - `a < b` by value exactly when `key(a) < key(b)` by bytes; equal values have equal keys.
//! - No value is rounded: 2^53 + 1 and 2^53 differ, and both differ from 2^53 + 2 as a double.
//!
//! Threads: pure functions.

use std::cmp::Ordering;

/// Longest encoding of a [`NumberKey`]: the double below the value, then the distance to it.
pub const KEY_BYTES_MAX: usize = 10;

/// An integer or a floating-point number of a document or a query. Never NaN.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A whole number that fits 64 bits.
    Long(i64),
    /// Anything else, as the nearest double. See [`Number::from_f64`] for what is refused.
    Double(f64),
}

impl Number {
    /// `value` as a number, or `None` for NaN, which has no place in any order.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Number> {
        (!value.is_nan()).then_some(Number::Double(value))
    }

    /// Reads a JSON number: 64-bit whole numbers exactly, all else as the nearest double.
    /// `None` when `text` is not a number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Number> {
        if let Ok(long) = text.parse::<i64>() {
            return Some(Number::Long(long));
        }
        if !text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
        {
            return None;
        }
        text.parse::<f64>().ok().and_then(Number::from_f64)
    }

    /// The nearest double.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "the nearest double is what is asked for"
    )]
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Long(long) => long as f64,
            Number::Double(double) => double,
        }
    }

    /// The key whose byte order is the order of values.
    #[must_use]
    pub fn key(self) -> NumberKey {
        let (below, distance) = match self {
            Number::Long(long) => floor_to_double(long),
            Number::Double(double) => (double, 0),
        };
        let mut bytes = [0; KEY_BYTES_MAX];
        bytes[..8].copy_from_slice(&sortable(below).to_be_bytes());
        bytes[8..].copy_from_slice(&distance.to_be_bytes());
        NumberKey {
            bytes,
            len_bytes: if distance == 0 { 8 } else { 10 },
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (self, other) {
            (Number::Long(a), Number::Long(b)) => a.cmp(b),
            _ => self.key().cmp(&other.key()),
        }
    }
}

/// A number as bytes: 8 when a double holds it exactly, 10 otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumberKey {
    // Unused bytes are zero, so that comparing all of them orders a shorter key first.
    bytes: [u8; KEY_BYTES_MAX],
    len_bytes: u8,
}

impl NumberKey {
    /// The bytes of the key: 8 or [`KEY_BYTES_MAX`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len_bytes)]
    }

    /// Reads a key as [`as_bytes`](Self::as_bytes) gave it; `None` for anything else.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<NumberKey> {
        let mut key = NumberKey {
            bytes: [0; KEY_BYTES_MAX],
            len_bytes: 8,
        };
        match bytes.len() {
            8 => key.bytes[..8].copy_from_slice(bytes),
            10 => {
                key.bytes.copy_from_slice(bytes);
                key.len_bytes = 10;
            }
            _ => return None,
        }
        // A key is only valid when its number encodes to the same bytes again.
        (key.number()?.key() == key).then_some(key)
    }

    /// The number; whole numbers in the range of `i64` come back as [`Number::Long`].
    /// `None` only for bytes that no number encodes to.
    fn number(&self) -> Option<Number> {
        let below = unsortable(u64::from_be_bytes(first_eight(&self.bytes)));
        let distance = i64::from(u16::from_be_bytes([self.bytes[8], self.bytes[9]]));
        if below.is_nan() {
            return None;
        }
        match exact_i64(below) {
            Some(long) => Some(Number::Long(long.checked_add(distance)?)),
            None if distance == 0 => Some(Number::Double(below)),
            None => None,
        }
    }

    /// The number this key stands for; whole numbers in the range of `i64` come back as
    /// [`Number::Long`].
    #[must_use]
    pub fn to_number(self) -> Number {
        self.number()
            .expect("keys are made from numbers, or checked by decode")
    }
}

fn first_eight(bytes: &[u8; KEY_BYTES_MAX]) -> [u8; 8] {
    let mut head = [0; 8];
    head.copy_from_slice(&bytes[..8]);
    head
}

/// Doubles as unsigned integers of the same order; minus zero counts as zero.
#[must_use]
pub fn sortable(value: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The inverse of [`sortable`].
#[must_use]
pub fn unsortable(key: u64) -> f64 {
    const SIGN: u64 = 1 << 63;
    f64::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
}

/// The greatest double not above `long`, and the distance to it. Doubles near 2^63 lie 1,024
/// apart, so the distance stays below that.
#[expect(
    clippy::cast_precision_loss,
    reason = "the loss is what the distance makes up for"
)]
fn floor_to_double(long: i64) -> (f64, u16) {
    let nearest = long as f64;
    // i128, because the nearest double of i64::MAX is 2^63.
    let gap = i128::from(long) - double_to_i128(nearest);
    if gap >= 0 {
        return (
            nearest,
            u16::try_from(gap).expect("doubles below 2^63 lie at most 1,024 apart"),
        );
    }
    let below = unsortable(sortable(nearest) - 1);
    let gap = i128::from(long) - double_to_i128(below);
    (
        below,
        u16::try_from(gap).expect("doubles below 2^63 lie at most 1,024 apart"),
    )
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "called for whole doubles of at most 2^63"
)]
fn double_to_i128(value: f64) -> i128 {
    value as i128
}

/// `value` as an `i64` when it is whole and in range.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked first"
)]
fn exact_i64(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    let whole = value.trunc() == value;
    (whole && (-LIMIT..LIMIT).contains(&value)).then_some(value as i64)
}

#[cfg(test)]
mod tests;

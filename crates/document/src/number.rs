//! Numbers: scanning JSON number text, choosing an exact stored form, printing it back.
//!
//! Called by `parser` and `builder` when writing, by `value` and `write` when reading.
//!
//! Invariant: the text of every number survives. An integer in the range of `i64` is a [`Long`];
//! a text that is exactly what [`push_double`] prints for some `f64` is stored as that value
//! (as a short decimal where that is smaller); every other text is stored as it is.
//!
//! [`Long`]: Number::Long

use std::io::Write;

use crate::decimal::Decimal;

/// A decimal of up to 15 significant digits (the `DBL_DIG` of C) names its `f64` uniquely, and the
/// shortest text of that `f64` has the same digits.
const UNIQUE_BELOW: u64 = 10u64.pow(15);
/// No shortest text has more significant digits than this.
const SHORTEST_DIGITS_MAX: usize = 17;
const SHORTEST_BELOW: u64 = 10u64.pow(17);
/// Any number of this many digits fits 64 bits.
const MAGNITUDE_DIGITS_MAX: usize = 19;
/// Largest power of ten that is exact as `f64`.
pub(crate) const EXACT_POWER_MAX: u8 = 22;

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// An integer.
    Long(i64),
    /// `mantissa / 10^scale`: the text has `scale` digits behind the point.
    Decimal { mantissa: i32, scale: u8 },
    /// Finite; its shortest text is the number's text.
    Double(f64),
    /// Kept as text.
    Text,
}

/// A number found in JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    pub(crate) number: Number,
    /// Position behind the number.
    pub(crate) end: usize,
    /// Digits of mantissa and exponent together.
    pub(crate) digits: usize,
}

/// Scans the number that begins at `start`. `Err` is the position at which no number can go on.
#[inline]
pub(crate) fn scan(text: &[u8], start: usize) -> Result<Scanned, usize> {
    let negative = text.get(start) == Some(&b'-');
    let first = start + usize::from(negative);
    let mut magnitude = 0u64;
    let mut pos = first;
    while let Some(d) = digit(text, pos) {
        magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(d));
        pos += 1;
    }
    let digits = pos - first;
    if digits == 0 || (digits > 1 && text[first] == b'0') {
        return Err(if digits == 0 { pos } else { first + 1 });
    }
    if let Some(b'.' | b'e' | b'E') = text.get(pos) {
        return scan_real(text, start, pos, magnitude);
    }
    let number = if digits <= 18 && !(negative && magnitude == 0) {
        let n = magnitude.cast_signed();
        Number::Long(if negative { -n } else { n })
    } else {
        long_integer(&text[start..pos])
    };
    Ok(Scanned {
        number,
        end: pos,
        digits,
    })
}

fn digit(text: &[u8], pos: usize) -> Option<u8> {
    let d = text.get(pos)?.wrapping_sub(b'0');
    (d < 10).then_some(d)
}

/// An integer of 19 digits may fit `i64`; `-0` is not an integer that prints back.
fn long_integer(text: &[u8]) -> Number {
    let parsed = std::str::from_utf8(text)
        .ok()
        .and_then(|t| t.parse::<i64>().ok());
    match parsed {
        Some(n) if text != b"-0" => Number::Long(n),
        _ => Number::Text,
    }
}

/// A number with a point or an exponent. `point` is where the integer digits end, `magnitude` their
/// value modulo 2^64.
fn scan_real(
    text: &[u8],
    start: usize,
    point: usize,
    mut magnitude: u64,
) -> Result<Scanned, usize> {
    let negative = text[start] == b'-';
    let mut pos = point;
    if text[pos] == b'.' {
        pos += 1;
        while let Some(d) = digit(text, pos) {
            magnitude = magnitude.wrapping_mul(10).wrapping_add(u64::from(d));
            pos += 1;
        }
        if pos == point + 1 {
            return Err(pos);
        }
    }
    let fraction = (pos - point).saturating_sub(1);
    let mut digits = point - start - usize::from(negative) + fraction;
    if let Some(b'e' | b'E') = text.get(pos) {
        let sign = usize::from(matches!(text.get(pos + 1), Some(b'+' | b'-')));
        let end = digits_end(text, pos + 1 + sign)?;
        digits += end - (pos + 1 + sign);
        pos = end;
    } else if digits <= MAGNITUDE_DIGITS_MAX {
        let number = plain_real(&text[start..pos], negative, magnitude, fraction);
        return Ok(Scanned {
            number,
            end: pos,
            digits,
        });
    }
    Ok(Scanned {
        number: any_real(&text[start..pos]),
        end: pos,
        digits,
    })
}

/// Position behind one or more digits at `pos`.
fn digits_end(text: &[u8], pos: usize) -> Result<usize, usize> {
    let len = text[pos.min(text.len())..]
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .count();
    if len == 0 { Err(pos) } else { Ok(pos + len) }
}

/// Form of `magnitude / 10^fraction`, whose text has no exponent.
#[expect(clippy::cast_precision_loss, reason = "guarded: exact up to 2^53")]
fn plain_real(text: &[u8], negative: bool, magnitude: u64, fraction: usize) -> Number {
    let scale = u8::try_from(fraction).unwrap_or(u8::MAX);
    if magnitude < UNIQUE_BELOW && !(negative && magnitude == 0) {
        if !is_canonical(magnitude, scale) {
            return Number::Text;
        }
        let mantissa = magnitude.cast_signed();
        let mantissa = if negative { -mantissa } else { mantissa };
        return match i32::try_from(mantissa) {
            Ok(mantissa) => Number::Decimal { mantissa, scale },
            Err(_) => Number::Double(decimal_to_f64(mantissa, scale)),
        };
    }
    if magnitude >= SHORTEST_BELOW {
        return Number::Text;
    }
    match POWERS.get(usize::from(scale)) {
        // Both exact, so the quotient is the nearest `f64`.
        Some(power) if magnitude <= 1 << 53 => {
            let x = magnitude as f64 / power;
            double_or_text(if negative { -x } else { x }, text)
        }
        _ => parsed_real(text),
    }
}

/// Form of a number of many digits or with an exponent.
fn any_real(text: &[u8]) -> Number {
    let significant = text
        .iter()
        .take_while(|b| !matches!(b, b'e' | b'E'))
        .filter(|b| b.is_ascii_digit())
        .skip_while(|&&b| b == b'0')
        .count();
    if significant > SHORTEST_DIGITS_MAX {
        Number::Text
    } else {
        parsed_real(text)
    }
}

fn parsed_real(text: &[u8]) -> Number {
    match std::str::from_utf8(text)
        .ok()
        .and_then(|t| t.parse::<f64>().ok())
    {
        Some(x) if x.is_finite() => double_or_text(x, text),
        _ => Number::Text,
    }
}

fn double_or_text(x: f64, text: &[u8]) -> Number {
    let mut buffer = ShortestText::new();
    if buffer.print(x) == text {
        Number::Double(x)
    } else {
        Number::Text
    }
}

/// Whether `magnitude / 10^scale`, of at most 15 digits, is how its `f64` is printed: one digit
/// behind the point or no zero at the end, and not so small that an exponent is used.
fn is_canonical(magnitude: u64, scale: u8) -> bool {
    let ends_well = scale == 1 || !magnitude.is_multiple_of(10);
    // 1e-4 is the smallest value printed without an exponent.
    let plain = scale <= 4
        || 10u64
            .checked_pow(u32::from(scale) - 4)
            .is_some_and(|smallest| magnitude >= smallest);
    ends_well && plain && scale <= EXACT_POWER_MAX
}

const POWERS: [f64; EXACT_POWER_MAX as usize + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// `mantissa / 10^scale`, correctly rounded: both operands are exact.
#[expect(clippy::cast_precision_loss, reason = "at most 15 digits: exact")]
pub(crate) fn decimal_to_f64(mantissa: i64, scale: u8) -> f64 {
    match POWERS.get(scale as usize) {
        Some(power) => mantissa as f64 / power,
        None => f64::NAN,
    }
}

/// Prints the shortest text that reads back as the same `f64`: plain from 1e-4 to below 1e16, such
/// as `2.5` or `3.0`, with an exponent beyond, such as `1e16` or `2.5e-7`.
pub(crate) struct ShortestText {
    fast: zmij::Buffer,
    slow: Buffer,
}

impl ShortestText {
    pub(crate) fn new() -> ShortestText {
        ShortestText {
            fast: zmij::Buffer::new(),
            slow: Buffer::new(),
        }
    }

    /// The text of `x`, which is finite.
    pub(crate) fn print(&mut self, x: f64) -> &[u8] {
        // Stored numbers must print alike for all time. In this range every printer writes the
        // shortest digits plainly, and of two texts equally near the one with the even digit; for
        // the others the standard library decides when there is an exponent.
        if (1e-4..1e16).contains(&x.abs()) {
            return self.fast.format_finite(x).as_bytes();
        }
        self.slow.len = 0;
        match write!(self.slow, "{x:?}") {
            Ok(()) => self.slow.as_bytes(),
            // Cannot be: the longest text has 24 bytes.
            Err(_) => b"0.0",
        }
    }
}

/// Appends the shortest text that reads back as `x`: plain from 1e-4 to below 1e16, such as `2.5`
/// or `3.0`, with an exponent beyond. What is not finite has no number in JSON: `null`.
pub fn push_double(out: &mut Vec<u8>, x: f64) {
    if x.is_finite() {
        out.extend_from_slice(ShortestText::new().print(x));
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Appends an integer.
pub(crate) fn push_long(out: &mut Vec<u8>, n: i64) {
    let mut buffer = [0u8; 20];
    let start = digits_of(n.unsigned_abs(), &mut buffer);
    if n < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&buffer[start..]);
}

/// Appends the text of a stored decimal.
pub(crate) fn push_decimal(out: &mut Vec<u8>, mantissa: i32, scale: u8) {
    let mut buffer = [b'0'; 20 + EXACT_POWER_MAX as usize];
    let scale = scale.min(EXACT_POWER_MAX) as usize;
    let len = buffer.len();
    let tail: &mut [u8; 20] = buffer
        .last_chunk_mut()
        .expect("the buffer is longer than 20");
    let digits = 20 - digits_of(u64::from(mantissa.unsigned_abs()), tail);
    // At least one digit stands before the point.
    let integer = digits.max(scale + 1) - scale;
    let first = len - scale - integer;
    if mantissa < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&buffer[first..len - scale]);
    if scale > 0 {
        out.push(b'.');
        out.extend_from_slice(&buffer[len - scale..]);
    }
}

/// Writes the digits of `n` at the end of the buffer; gives their start.
fn digits_of(mut n: u64, buffer: &mut [u8; 20]) -> usize {
    let mut start = 20;
    loop {
        start -= 1;
        buffer[start] = b'0' + (n % 10).to_le_bytes()[0];
        n /= 10;
        if n == 0 {
            return start;
        }
    }
}

/// A short text on the stack.
pub(crate) struct Buffer {
    bytes: [u8; 32],
    len: usize,
}

impl Buffer {
    pub(crate) fn new() -> Buffer {
        Buffer {
            bytes: [0; 32],
            len: 0,
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Write for Buffer {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        let n = text.len().min(self.bytes.len() - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&text[..n]);
        self.len += n;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Form of a `f64` given by a program; `None` for what is not finite.
pub(crate) fn of_double(x: f64) -> Option<Number> {
    if !x.is_finite() {
        return None;
    }
    match scan(ShortestText::new().print(x), 0) {
        Ok(Scanned {
            number: Number::Text,
            ..
        })
        | Err(_) => Some(Number::Double(x)),
        Ok(scanned) => Some(scanned.number),
    }
}

/// `x` as an integer, if it is one in the range of `i64`.
pub(crate) fn double_as_long(x: f64) -> Option<i64> {
    // Beyond 2^53 the shortest text may name another integer than the bits: ask the text.
    if x.fract() != 0.0 {
        return None;
    }
    Decimal::parse(ShortestText::new().print(x)).to_long()
}

#[cfg(test)]
mod tests;

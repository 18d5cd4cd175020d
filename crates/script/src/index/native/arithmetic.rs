//! Operators on two values: numbers exactly where they can be, dates, texts; equality and order.
//!
//! Decimal fractions stay exact: 0.1 + 0.2 is 0.3. Two numbers of documents are taken as decimals
//! when the result has at most 15 digits, and as doubles otherwise; a number that the program
//! casts to `decimal` stays one.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use rust_decimal::{Decimal, MathematicalOps as _};

use super::expression::Operator;
use super::time::{as_date, as_span};
use super::value::{Date, Value};

/// Whole numbers up to here are exact as doubles, and have at most 15 digits.
const SHORT_MAX: f64 = 999_999_999_999_999.0;
/// Digits behind the point that are looked for in doubles.
const SCALE_MAX: usize = 9;
const POWERS: [f64; SCALE_MAX + 1] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// Why an operator has no result.
pub(crate) type Refusal = String;

/// A number as operators take it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Long(i64),
    Double(f64),
    Decimal(Decimal),
}

impl Number {
    pub(crate) fn of(value: Value<'_>) -> Option<Number> {
        Some(match value {
            Value::Long(long) => Number::Long(long),
            Value::Double(double) => Number::Double(double),
            Value::Decimal(decimal) => Number::Decimal(decimal),
            Value::Number(text) => match Decimal::from_str_exact(text.as_str()) {
                Ok(decimal) => match double_of(decimal) {
                    Some(double) => Number::Double(double),
                    None => Number::Decimal(decimal),
                },
                Err(_) => Number::Double(text.as_f64()),
            },
            _ => return None,
        })
    }

    pub(crate) fn to_value<'a>(self) -> Value<'a> {
        match self {
            Number::Long(long) => Value::Long(long),
            Number::Double(double) => Value::Double(double),
            Number::Decimal(decimal) => Value::Decimal(decimal),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "the nearest double is asked for"
    )]
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Long(long) => long as f64,
            Number::Double(double) => double,
            Number::Decimal(decimal) => decimal.to_f64().unwrap_or(f64::NAN),
        }
    }

    /// The exact decimal, or the nearest with 28 digits; `None` beyond its range.
    pub(crate) fn to_decimal(self) -> Option<Decimal> {
        match self {
            Number::Long(long) => Some(Decimal::from(long)),
            Number::Double(double) => match Short::of(double) {
                Some(short) => Decimal::try_from_i128_with_scale(
                    i128::from(short.mantissa),
                    u32::try_from(short.scale).unwrap_or(0),
                )
                .ok(),
                None => Decimal::from_f64(double),
            },
            Number::Decimal(decimal) => Some(decimal),
        }
    }
}

/// The double of the same text, when it has at most 15 digits.
fn double_of(decimal: Decimal) -> Option<f64> {
    let decimal = decimal.normalize();
    let is_short = decimal.mantissa().unsigned_abs() < 1_000_000_000_000_000;
    decimal.to_f64().filter(|_| is_short)
}

/// A double that is a decimal of at most 15 digits: `mantissa / 10^scale`.
#[derive(Clone, Copy, Debug)]
struct Short {
    mantissa: i64,
    scale: usize,
}

impl Short {
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 10^15")]
    fn of(double: f64) -> Option<Short> {
        for (scale, power) in POWERS.iter().enumerate() {
            let scaled = (double * power).round();
            if scaled.abs() > SHORT_MAX {
                return None;
            }
            // Both exact, so the quotient is the double nearest to the decimal.
            if scaled / power == double {
                let mantissa = scaled as i64;
                return Some(Short { mantissa, scale });
            }
        }
        None
    }

    /// The double of `mantissa / 10^scale`, when that is exact enough to print as it.
    #[expect(clippy::cast_precision_loss, reason = "at most 15 digits are exact")]
    fn double(mut mantissa: i128, mut scale: usize) -> Option<f64> {
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        let is_short = mantissa.unsigned_abs() <= 999_999_999_999_999;
        let power = 10_f64.powi(i32::try_from(scale).ok()?);
        (is_short && scale <= 2 * SCALE_MAX).then_some(mantissa as f64 / power)
    }

    fn operate(operator: Operator, left: f64, right: f64) -> Option<f64> {
        let (left, right) = (Short::of(left)?, Short::of(right)?);
        let (a, b) = (i128::from(left.mantissa), i128::from(right.mantissa));
        if operator == Operator::Multiply {
            return Short::double(a * b, left.scale + right.scale);
        }
        let scale = left.scale.max(right.scale);
        let raise = |mantissa: i128, from: usize| {
            mantissa * 10_i128.pow(u32::try_from(scale - from).unwrap_or(0))
        };
        let (a, b) = (raise(a, left.scale), raise(b, right.scale));
        match operator {
            Operator::Add => Short::double(a + b, scale),
            Operator::Subtract => Short::double(a - b, scale),
            Operator::Remainder if b != 0 => Short::double(a % b, scale),
            _ => None,
        }
    }
}

/// An operator of numbers, dates and spans; not that of texts.
pub(crate) fn operate<'a>(
    operator: Operator,
    left: Value<'a>,
    right: Value<'a>,
) -> Result<Value<'a>, Refusal> {
    use Operator as O;
    match operator {
        O::Equal => return Ok(Value::Bool(are_equal(left, right))),
        O::NotEqual => return Ok(Value::Bool(!are_equal(left, right))),
        O::Less | O::LessOrEqual | O::Greater | O::GreaterOrEqual => {
            let Some(order) = order(left, right) else {
                return Ok(Value::Bool(false));
            };
            return Ok(Value::Bool(match operator {
                O::Less => order.is_lt(),
                O::LessOrEqual => order.is_le(),
                O::Greater => order.is_gt(),
                _ => order.is_ge(),
            }));
        }
        _ => {}
    }
    if left.is_nothing() || right.is_nothing() {
        let divides = matches!(operator, O::Divide | O::Remainder);
        // What is missing counts as zero to a whole number that it divides.
        return match (left, divides) {
            (Value::Long(_), true) => Err("Attempted to divide by zero.".to_owned()),
            _ => Ok(Value::Null),
        };
    }
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return numbers(operator, left, right).map(Number::to_value);
    }
    if let (Value::Bool(left), Value::Bool(right)) = (left, right) {
        match operator {
            O::BitAnd => return Ok(Value::Bool(left && right)),
            O::BitOr => return Ok(Value::Bool(left || right)),
            O::BitXor => return Ok(Value::Bool(left != right)),
            _ => {}
        }
    }
    times(operator, left, right).ok_or_else(|| {
        let (left, right) = (left.kind(), right.kind());
        format!(
            "Operator '{}' cannot be applied to {left} and {right}",
            sign(operator)
        )
    })
}

fn times<'a>(operator: Operator, left: Value<'a>, right: Value<'a>) -> Option<Value<'a>> {
    match operator {
        Operator::Subtract => {
            if let (Some(left), Some(right)) = (as_date(left), as_date(right)) {
                return left.ticks.checked_sub(right.ticks).map(Value::Span);
            }
            if let (Some(date), Some(span)) = (as_date(left), as_span(right)) {
                return date.plus(span.checked_neg()?).map(Value::Date);
            }
            as_span(left)?.checked_sub(as_span(right)?).map(Value::Span)
        }
        Operator::Add => {
            if let (Some(date), Some(span)) = (as_date(left), as_span(right)) {
                return date.plus(span).map(Value::Date);
            }
            as_span(left)?.checked_add(as_span(right)?).map(Value::Span)
        }
        _ => None,
    }
}

/// An operator of two numbers.
pub(crate) fn numbers(operator: Operator, left: Number, right: Number) -> Result<Number, Refusal> {
    match (left, right) {
        (Number::Long(left), Number::Long(right)) => longs(operator, left, right),
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            match (left.to_decimal(), right.to_decimal()) {
                (Some(left), Some(right)) => decimals(operator, left, right),
                _ => doubles(operator, left.to_f64(), right.to_f64()),
            }
        }
        _ => doubles(operator, left.to_f64(), right.to_f64()),
    }
}

fn longs(operator: Operator, left: i64, right: i64) -> Result<Number, Refusal> {
    use Operator as O;
    let result = match operator {
        O::Add => left.checked_add(right),
        O::Subtract => left.checked_sub(right),
        O::Multiply => left.checked_mul(right),
        O::Divide | O::Remainder if right == 0 => {
            return Err("Attempted to divide by zero.".to_owned());
        }
        O::Divide => left.checked_div(right),
        O::Remainder => Some(left.checked_rem(right).unwrap_or(0)),
        O::BitAnd => Some(left & right),
        O::BitOr => Some(left | right),
        O::BitXor => Some(left ^ right),
        _ => None,
    };
    match result {
        Some(result) => Ok(Number::Long(result)),
        // Beyond 64 bits the decimal is exact up to 28 digits.
        None => decimals(operator, Decimal::from(left), Decimal::from(right)),
    }
}

fn decimals(operator: Operator, left: Decimal, right: Decimal) -> Result<Number, Refusal> {
    use Operator as O;
    let result = match operator {
        O::Add => left.checked_add(right),
        O::Subtract => left.checked_sub(right),
        O::Multiply => left.checked_mul(right),
        O::Divide | O::Remainder if right.is_zero() => {
            return Err("Attempted to divide by zero.".to_owned());
        }
        O::Divide => left.checked_div(right),
        O::Remainder => left.checked_rem(right),
        _ => return Err(of_whole(operator)),
    };
    let overflow = || "Value was either too large or too small for a Decimal.".to_owned();
    result.map(Number::Decimal).ok_or_else(overflow)
}

fn doubles(operator: Operator, left: f64, right: f64) -> Result<Number, Refusal> {
    use Operator as O;
    if let Some(exact) = Short::operate(operator, left, right) {
        return Ok(Number::Double(exact));
    }
    Ok(Number::Double(match operator {
        O::Add => left + right,
        O::Subtract => left - right,
        O::Multiply => left * right,
        O::Divide => left / right,
        O::Remainder => left % right,
        _ => return Err(of_whole(operator)),
    }))
}

fn of_whole(operator: Operator) -> Refusal {
    format!("Operator '{}' is one of whole numbers", sign(operator))
}

pub(crate) fn sign(operator: Operator) -> &'static str {
    use Operator as O;
    match operator {
        O::Add => "+",
        O::Subtract => "-",
        O::Multiply => "*",
        O::Divide => "/",
        O::Remainder => "%",
        O::Equal => "==",
        O::NotEqual => "!=",
        O::Less => "<",
        O::LessOrEqual => "<=",
        O::Greater => ">",
        O::GreaterOrEqual => ">=",
        O::BitAnd => "&",
        O::BitOr => "|",
        O::BitXor => "^",
    }
}

/// `left` to the power of `right`.
pub(crate) fn power(left: Number, right: Number) -> Number {
    if let (Number::Decimal(base), Number::Long(exponent)) = (left, right)
        && let Some(exact) = base.checked_powi(exponent)
    {
        return Number::Decimal(exact);
    }
    Number::Double(left.to_f64().powf(right.to_f64()))
}

/// Whether two values are the same: numbers by value, objects and arrays by what they hold.
pub(crate) fn are_equal(left: Value<'_>, right: Value<'_>) -> bool {
    match (left, right) {
        (left, right) if left.is_nothing() || right.is_nothing() => {
            left.is_nothing() && right.is_nothing()
        }
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Long(left), Value::Long(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::Document(left), Value::Document(right)) => left.id == right.id,
        _ if is_number(left) && is_number(right) => compare_numbers(left, right).is_eq(),
        (Value::Date(_) | Value::Span(_), _) | (_, Value::Date(_) | Value::Span(_)) => {
            order(left, right).is_some_and(Ordering::is_eq)
        }
        _ => super::sequences::are_equal_deeply(left, right),
    }
}

pub(crate) fn is_number(value: Value<'_>) -> bool {
    matches!(
        value,
        Value::Long(_) | Value::Double(_) | Value::Decimal(_) | Value::Number(_)
    )
}

fn compare_numbers(left: Value<'_>, right: Value<'_>) -> Ordering {
    let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) else {
        return Ordering::Equal;
    };
    match (left, right) {
        (Number::Long(left), Number::Long(right)) => left.cmp(&right),
        (Number::Double(left), Number::Double(right)) => {
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
        _ => match (left.to_decimal(), right.to_decimal()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => {
                let (left, right) = (left.to_f64(), right.to_f64());
                left.partial_cmp(&right).unwrap_or(Ordering::Equal)
            }
        },
    }
}

/// The order of two values of one kind; `None` when they have none, as nothing has.
pub(crate) fn order(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left, right) {
        _ if is_number(left) && is_number(right) => Some(compare_numbers(left, right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(&right)),
        (Value::Date(_), _) | (_, Value::Date(_)) => {
            let ticks = |date: Date| date.ticks;
            let (left, right) = (as_date(left).map(ticks)?, as_date(right).map(ticks)?);
            Some(left.cmp(&right))
        }
        (Value::Span(_), _) | (_, Value::Span(_)) => Some(as_span(left)?.cmp(&as_span(right)?)),
        _ => None,
    }
}

/// The order that sorting uses: nothing first, then by kind, then by value.
pub(crate) fn sorting_order(left: Value<'_>, right: Value<'_>) -> Ordering {
    let rank = |value: Value<'_>| match value {
        Value::Missing | Value::Null => 0,
        Value::Bool(_) => 1,
        _ if is_number(value) => 2,
        Value::Text(_) | Value::Date(_) | Value::Span(_) => 3,
        _ => 4,
    };
    let by_rank = rank(left).cmp(&rank(right));
    by_rank.then_with(|| order(left, right).unwrap_or(Ordering::Equal))
}

/// Hashes what [`are_equal`] holds to be equal alike.
pub(crate) fn hash_value(value: Value<'_>, hasher: &mut impl Hasher) {
    match value {
        Value::Missing | Value::Null => 0_u8.hash(hasher),
        Value::Bool(is_true) => (1_u8, is_true).hash(hasher),
        Value::Text(text) => match as_date(value) {
            Some(date) => (3_u8, date.ticks).hash(hasher),
            None => match as_span(value) {
                Some(ticks) => (4_u8, ticks).hash(hasher),
                None => (5_u8, text).hash(hasher),
            },
        },
        Value::Date(date) => (3_u8, date.ticks).hash(hasher),
        Value::Span(ticks) => (4_u8, ticks).hash(hasher),
        _ => match Number::of(value) {
            Some(number) => {
                let double = number.to_f64();
                // Zero has two signs.
                let double = if double == 0.0 { 0.0 } else { double };
                (2_u8, double.to_bits()).hash(hasher);
            }
            None => super::sequences::hash_deeply(value, hasher),
        },
    }
}

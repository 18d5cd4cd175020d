//! Casts and conversions.
//!
//! A cast of nothing is nothing. What cannot be cast fails the document, as in C#.

use bumpalo::Bump;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

use super::arithmetic::Number;
use super::expression::Type;
use super::format::text_of;
use super::time::{as_date, as_span};
use super::value::Value;

/// The value as `target`.
///
/// # Errors
/// It cannot be that; the text says why.
pub(crate) fn cast<'a>(
    value: Value<'a>,
    target: Type,
    arena: &'a Bump,
) -> Result<Value<'a>, String> {
    if value.is_nothing() || target == Type::Any {
        return Ok(value);
    }
    let converted = match target {
        Type::Text => match value {
            Value::Text(_) => Some(value),
            // Objects stay what they are: a cast says what the author takes them for.
            Value::Array(_) | Value::Object(_) | Value::List(_) | Value::Record(_) => Some(value),
            other => Some(Value::Text(arena.alloc_str(&text_of(other)))),
        },
        _ => parse(value, target),
    };
    converted.ok_or_else(|| {
        let (kind, target) = (value.kind(), name(target));
        let shown: String = text_of(value).chars().take(40).collect();
        format!("Cannot convert {kind} to {target}: '{shown}'")
    })
}

fn name(target: Type) -> &'static str {
    match target {
        Type::Any => "object",
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Long => "long",
        Type::Double => "double",
        Type::Float => "float",
        Type::Decimal => "decimal",
        Type::Text => "string",
        Type::Date => "DateTime",
        Type::Span => "TimeSpan",
    }
}

/// The value as `target`, also read from text; `None` when it is not one.
pub(crate) fn parse<'a>(value: Value<'a>, target: Type) -> Option<Value<'a>> {
    match target {
        Type::Any | Type::Text => Some(value),
        Type::Bool => match value {
            Value::Bool(_) => Some(value),
            Value::Text(text) if text.eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
            Value::Text(text) if text.eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
            _ => None,
        },
        Type::Date => as_date(value).map(Value::Date),
        Type::Span => as_span(value).map(Value::Span),
        Type::Int | Type::Long => whole(number_of(value)?).map(Value::Long),
        Type::Double => Some(Value::Double(number_of(value)?.to_f64())),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float is what is asked for"
        )]
        Type::Float => {
            let float = number_of(value)?.to_f64() as f32;
            // The double of the float's own digits.
            Some(Value::Double(float.to_string().parse().ok()?))
        }
        Type::Decimal => number_of(value)?.to_decimal().map(Value::Decimal),
    }
}

/// The number that a value is or says.
fn number_of(value: Value<'_>) -> Option<Number> {
    match value {
        Value::Bool(is_true) => Some(Number::Long(i64::from(is_true))),
        Value::Text(text) => number_of_text(text.trim()),
        other => Number::of(other),
    }
}

fn number_of_text(text: &str) -> Option<Number> {
    if let Ok(long) = text.parse::<i64>() {
        return Some(Number::Long(long));
    }
    let value = jackdaw_document::Value::parse_number(text.strip_prefix('+').unwrap_or(text))?;
    match value {
        jackdaw_document::Value::Number(_) => {
            let decimal = Decimal::from_str_exact(text).ok();
            decimal
                .map(Number::Decimal)
                .or_else(|| Some(Number::Double(value.as_f64()?)))
        }
        other => Some(Number::Double(other.as_f64()?)),
    }
}

/// The whole part.
fn whole(number: Number) -> Option<i64> {
    match number {
        Number::Long(long) => Some(long),
        Number::Decimal(decimal) => decimal.trunc().to_i64(),
        Number::Double(double) => i64::from_f64(double.trunc()),
    }
}

/// The nearest whole number, of two the even one: as `Convert` does.
pub(crate) fn convert<'a>(value: Value<'a>, target: Type) -> Option<Value<'a>> {
    if matches!(target, Type::Int | Type::Long) {
        let rounded = match number_of(value)? {
            Number::Long(long) => Some(long),
            Number::Double(double) => i64::from_f64(double.round_ties_even()),
            Number::Decimal(decimal) => decimal.round().to_i64(),
        };
        return rounded.map(Value::Long);
    }
    parse(value, target)
}

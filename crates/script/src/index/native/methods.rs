//! Methods of values that are no sequences, by what the value is.

use super::arithmetic::{self, Number, are_equal, sorting_order};
use super::evaluate::{Outcome, Run, refuse};
use super::expression::{Method, Operator, SpanUnit};
use super::format::{format_value, text_of};
use super::time::{
    TICKS_PER_DAY, TICKS_PER_HOUR, TICKS_PER_MILLISECOND, TICKS_PER_MINUTE, as_date,
};
use super::value::{Date, Names, Record, Value};
use crate::index::entry::special;
use jackdaw_base::time::TICKS_PER_SECOND;

const BOOSTED: [&str; 2] = [special::VALUE, special::BOOST];

impl<'a> Run<'a, '_> {
    /// Runs a method of a value; of nothing it is nothing.
    pub(crate) fn method(
        &mut self,
        method: Method,
        value: Value<'a>,
        arguments: &'a [Value<'a>],
    ) -> Outcome<'a> {
        use Method as M;
        let first = arguments.first().copied().unwrap_or(Value::Missing);
        match method {
            M::Same => return Ok(value),
            M::Boost => return Ok(self.boosted(value, first)),
            M::Equals => {
                self.weigh(value, usize::MAX)?;
                self.weigh(first, usize::MAX)?;
                return Ok(Value::Bool(equals(value, arguments)));
            }
            M::GetValueOrDefault => {
                return Ok(match (value.is_nothing(), arguments.is_empty()) {
                    (false, _) => value,
                    (true, false) => first,
                    (true, true) => Value::Long(0),
                });
            }
            M::Contains if !matches!(value, Value::Text(_)) => {
                let mut found = false;
                for item in self.items(value)? {
                    self.step()?;
                    self.weigh(*item, usize::MAX)?;
                    found |= are_equal(*item, first);
                }
                return Ok(Value::Bool(found));
            }
            M::ToString if value.is_nothing() => return Ok(Value::Missing),
            M::StartsWith | M::EndsWith if value.is_nothing() => return Ok(Value::Bool(false)),
            _ if value.is_nothing() => return Ok(Value::Missing),
            M::ToString => return self.written(value, first),
            M::CompareTo => {
                let order = sorting_order(value, first) as i64;
                return Ok(Value::Long(order));
            }
            M::ContainsKey => {
                let found = self.element(value, first)?;
                return Ok(Value::Bool(!matches!(found, Value::Missing)));
            }
            M::Add => return arithmetic::operate(Operator::Add, value, first).or_else(refuse),
            M::Subtract => {
                return arithmetic::operate(Operator::Subtract, value, first).or_else(refuse);
            }
            M::AddSpan(_) | M::AddMonths | M::AddYears | M::ToUniversalTime => {
                let Some(date) = as_date(value) else {
                    return refuse(format!("{} is no date: '{}'", value.kind(), text_of(value)));
                };
                return of_date(method, date, first);
            }
            _ => {}
        }
        match value {
            Value::Text(text) => self.text_method(method, text, arguments),
            // Other scalars are taken by their text, as loose typing of documents has it.
            Value::Array(_) | Value::Object(_) | Value::List(_) | Value::Record(_) => {
                refuse(format!("{} has no method {method:?}", value.kind()))
            }
            other => {
                let text = self.plain(other)?;
                let text: &'a str = self.arena.alloc_str(&text);
                self.text_method(method, text, arguments)
            }
        }
    }

    fn written(&mut self, value: Value<'a>, format: Value<'a>) -> Outcome<'a> {
        let text = match (value, format) {
            (Value::Text(_), format) if format.is_nothing() => return Ok(value),
            (_, Value::Text(format)) if !format.ends_with("Culture") => {
                match format_value(value, format) {
                    Some(text) => text,
                    None => {
                        let kind = value.kind();
                        return refuse(format!("{kind} has no format '{format}'"));
                    }
                }
            }
            _ => self.plain(value)?,
        };
        self.text(&text)
    }

    /// The value with how much more it counts; an object gets it beside its fields.
    fn boosted(&mut self, value: Value<'a>, boost: Value<'a>) -> Value<'a> {
        if let Value::Record(record) = value {
            let mut names: Vec<&'a str> = Vec::with_capacity(record.values.len() + 1);
            names.extend(record.iter().map(|(name, _)| name));
            let mut values = record.values.to_vec();
            names.push(special::BOOST);
            values.push(boost);
            let names = Names::Made(self.arena.alloc_slice_copy(&names));
            let values = self.arena.alloc_slice_copy(&values);
            return Value::Record(Record { names, values });
        }
        if value.is_nothing() {
            return value;
        }
        let values = self.arena.alloc_slice_copy(&[value, boost]);
        Value::Record(Record::made(&BOOSTED, values))
    }
}

fn equals(value: Value<'_>, arguments: &[Value<'_>]) -> bool {
    match (value, arguments) {
        (Value::Text(left), [Value::Text(right), Value::Text(option)])
            if option.ends_with("IgnoreCase") =>
        {
            left.to_lowercase() == right.to_lowercase()
        }
        (value, [other, ..]) => are_equal(value, *other),
        _ => false,
    }
}

fn of_date<'a>(method: Method, date: Date, argument: Value<'a>) -> Outcome<'a> {
    let number = Number::of(argument);
    let result = match (method, number) {
        (Method::ToUniversalTime, _) => Some(Date {
            ticks: date.ticks,
            is_utc: true,
        }),
        (Method::AddMonths, Some(Number::Long(months))) => date.plus_months(months),
        (Method::AddYears, Some(Number::Long(years))) => years
            .checked_mul(12)
            .and_then(|months| date.plus_months(months)),
        (Method::AddSpan(unit), Some(number)) => {
            ticks_of(unit, number).and_then(|ticks| date.plus(ticks))
        }
        _ => return Ok(Value::Missing),
    };
    match result {
        Some(date) => Ok(Value::Date(date)),
        None => refuse("The date is outside of the years 1 to 9999"),
    }
}

/// Ticks of so many units; `None` when there are too many.
pub(crate) fn ticks_of(unit: SpanUnit, number: Number) -> Option<i64> {
    let ticks = match unit {
        SpanUnit::Days => TICKS_PER_DAY,
        SpanUnit::Hours => TICKS_PER_HOUR,
        SpanUnit::Minutes => TICKS_PER_MINUTE,
        SpanUnit::Seconds => TICKS_PER_SECOND,
        SpanUnit::Milliseconds => TICKS_PER_MILLISECOND,
        SpanUnit::Ticks => 1,
    };
    if let Number::Long(count) = number {
        return count.checked_mul(ticks);
    }
    let product = number.to_decimal()?.checked_mul(ticks.into())?;
    i64::try_from(product.round().mantissa()).ok()
}

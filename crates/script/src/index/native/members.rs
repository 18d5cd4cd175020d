//! Members of values: fields of objects, and what C# has on texts, dates and arrays.

use jackdaw_base::time::TICKS_PER_SECOND;
use jackdaw_document::METADATA;

use super::evaluate::{Outcome, Run};
use super::format::DAYS;
use super::time::{
    TICKS_PER_DAY, TICKS_PER_HOUR, TICKS_PER_MILLISECOND, TICKS_PER_MINUTE, TICKS_TO_1970, as_date,
    as_span,
};
use super::value::{Date, Value};
use super::{arithmetic, texts};
use crate::input::ScriptDocument;

impl<'a> Run<'a, '_> {
    /// The member called `name`; of what has none, nothing.
    #[inline]
    pub(crate) fn member(&mut self, value: Value<'a>, name: &str) -> Outcome<'a> {
        match value {
            Value::Document(document) => Ok(of_document(document, name)),
            Value::Object(object) => match object.get(name) {
                Some(field) => Ok(Value::of(field)),
                None => self.of_dictionary(value, name),
            },
            Value::Record(record) => match record.get(name) {
                Some(field) => Ok(field),
                None => self.of_dictionary(value, name),
            },
            Value::Missing | Value::Null => Ok(match name {
                "HasValue" => Value::Bool(false),
                _ => Value::Missing,
            }),
            Value::Group(group) if name == "Key" => Ok(group.key),
            Value::Metadata(document) => Ok(of_metadata(document, name)),
            Value::Array(_) | Value::List(_) | Value::Group(_) => match name {
                "Length" | "Count" => {
                    let count = self.items(value)?.len();
                    Ok(Value::Long(i64::try_from(count).unwrap_or(i64::MAX)))
                }
                _ => Ok(Value::Missing),
            },
            other => Ok(of_scalar(other, name)),
        }
    }

    /// Members of an object that is used as a dictionary.
    fn of_dictionary(&mut self, value: Value<'a>, name: &str) -> Outcome<'a> {
        let fields = self.fields(value);
        let items: Vec<Value<'a>> = match name {
            "Keys" => fields.iter().map(|(name, _)| Value::Text(name)).collect(),
            "Values" => fields.iter().map(|(_, value)| *value).collect(),
            "Count" => return Ok(Value::Long(i64::try_from(fields.len()).unwrap_or(i64::MAX))),
            "HasValue" => return Ok(Value::Bool(true)),
            "Value" => return Ok(value),
            _ => return Ok(Value::Missing),
        };
        self.list(&items)
    }

    /// The fields of an object, with `@metadata` for a document that is more than its body.
    pub(crate) fn fields(&mut self, value: Value<'a>) -> Vec<(&'a str, Value<'a>)> {
        match value {
            Value::Object(object) => {
                let fields = object.iter();
                fields
                    .map(|(name, value)| (name, Value::of(value)))
                    .collect()
            }
            Value::Document(document) => {
                let fields = document
                    .body
                    .as_object()
                    .into_iter()
                    .flat_map(|body| body.iter());
                fields
                    .map(|(name, value)| (name, Value::of(value)))
                    .collect()
            }
            Value::Metadata(document) => {
                let fields = document.metadata.into_iter().flat_map(|own| own.iter());
                let own = fields.map(|(name, value)| (name, Value::of(value)));
                let known = ["@collection", "@id", "@last-modified"];
                let known = known.map(|name| (name, of_metadata(document, name)));
                let known = known.into_iter();
                let known = known.filter(|(_, value)| !matches!(value, Value::Missing));
                known.chain(own).collect()
            }
            Value::Record(record) => record.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The element of an array, or the field of an object.
    pub(crate) fn element(&mut self, value: Value<'a>, index: Value<'a>) -> Outcome<'a> {
        match (value, index) {
            (Value::Array(array), Value::Long(at)) => {
                let at = usize::try_from(at).ok();
                Ok(at
                    .and_then(|at| array.get(at))
                    .map_or(Value::Missing, Value::of))
            }
            (Value::List(_) | Value::Group(_), Value::Long(at)) => {
                let items = self.items(value)?;
                let at = usize::try_from(at).ok();
                Ok(at
                    .and_then(|at| items.get(at))
                    .copied()
                    .unwrap_or(Value::Missing))
            }
            (Value::Text(text), Value::Long(at)) => {
                Ok(texts::character(text, at).map_or(Value::Missing, Value::Text))
            }
            (value, Value::Text(name)) => self.member(value, name),
            (value, index) if arithmetic::is_number(index) => {
                self.member(value, &super::format::text_of(index))
            }
            _ => Ok(Value::Missing),
        }
    }
}

#[inline]
fn of_document<'a>(document: &'a ScriptDocument<'a>, name: &str) -> Value<'a> {
    if let Some(field) = document.body.get(name) {
        return Value::of(field);
    }
    match name {
        "Id" | "@id" => Value::Text(document.id),
        METADATA => Value::Metadata(document),
        _ => Value::Missing,
    }
}

fn of_metadata<'a>(document: &'a ScriptDocument<'a>, name: &str) -> Value<'a> {
    let text = |text: Option<&'a str>| text.map_or(Value::Missing, Value::Text);
    match name {
        "@id" => Value::Text(document.id),
        "@collection" => text(document.collection),
        "@change-vector" => text(document.change_vector),
        "@last-modified" => text(document.last_modified),
        _ => Value::of_field(document.metadata.and_then(|own| own.get(name))),
    }
}

/// Members of texts, numbers, dates and spans.
fn of_scalar<'a>(value: Value<'a>, name: &str) -> Value<'a> {
    match (value, name) {
        (Value::Text(text), "Length") => return Value::Long(texts::length(text)),
        (_, "HasValue") => return Value::Bool(true),
        (_, "Value") => return value,
        _ => {}
    }
    if let Some(date) = as_date(value) {
        return of_date(date, name);
    }
    match as_span(value) {
        Some(ticks) => of_span(ticks, name),
        None => Value::Missing,
    }
}

fn of_date<'a>(date: Date, name: &str) -> Value<'a> {
    let parts = date.parts();
    Value::Long(match name {
        "Year" => parts.year,
        "Month" => parts.month,
        "Day" => parts.day,
        "Hour" => parts.of_day / TICKS_PER_HOUR,
        "Minute" => parts.of_day / TICKS_PER_MINUTE % 60,
        "Second" => parts.of_day / TICKS_PER_SECOND % 60,
        "Millisecond" => parts.of_day / TICKS_PER_MILLISECOND % 1000,
        "Ticks" => date.ticks + TICKS_TO_1970,
        "DayOfYear" => date.day_of_year(),
        "DayOfWeek" => return Value::Text(DAYS[date.day_of_week()]),
        "Date" => {
            return Value::Date(Date {
                ticks: date.ticks - parts.of_day,
                is_utc: date.is_utc,
            });
        }
        "TimeOfDay" => return Value::Span(parts.of_day),
        "DateTime" | "UtcDateTime" => return Value::Date(date),
        _ => return Value::Missing,
    })
}

#[expect(clippy::cast_precision_loss, reason = "totals are doubles in C#")]
fn of_span<'a>(ticks: i64, name: &str) -> Value<'a> {
    let total = |unit: i64| Value::Double(ticks as f64 / unit as f64);
    Value::Long(match name {
        "Days" => ticks / TICKS_PER_DAY,
        "Hours" => ticks / TICKS_PER_HOUR % 24,
        "Minutes" => ticks / TICKS_PER_MINUTE % 60,
        "Seconds" => ticks / TICKS_PER_SECOND % 60,
        "Milliseconds" => ticks / TICKS_PER_MILLISECOND % 1000,
        "Ticks" => ticks,
        "TotalDays" => return total(TICKS_PER_DAY),
        "TotalHours" => return total(TICKS_PER_HOUR),
        "TotalMinutes" => return total(TICKS_PER_MINUTE),
        "TotalSeconds" => return total(TICKS_PER_SECOND),
        "TotalMilliseconds" => return total(TICKS_PER_MILLISECOND),
        _ => return Value::Missing,
    })
}

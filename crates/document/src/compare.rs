//! One order and one equality for all values.
//!
//! Called by query evaluation, sorting and tests, also through the operators of [`Value`].
//!
//! Null < Bool < Number < String < Array < Object. Numbers compare by the value their text names,
//! strings by code point, arrays element by element, objects as their fields sorted by name: the
//! order in which fields stand does not matter.

use std::cmp::Ordering;

use crate::container::Object;
use crate::decimal::compare_numbers;
use crate::form::DEPTH_MAX;
use crate::value::Value;

/// Total order of all values; equal means deeply equal.
///
/// Recurses once for each level of nesting, at most [`DEPTH_MAX`]; what lies deeper, which no
/// valid document has, counts as equal.
pub fn compare(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    compare_at(a, b, DEPTH_MAX)
}

fn compare_at(a: &Value<'_>, b: &Value<'_>, levels: usize) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let Some(levels) = levels.checked_sub(1) else {
                return Ordering::Equal;
            };
            let (mut a, mut b) = (a.iter(), b.iter());
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return Ordering::Equal,
                    (None, Some(_)) => return Ordering::Less,
                    (Some(_), None) => return Ordering::Greater,
                    (Some(a), Some(b)) => match compare_at(&a, &b, levels) {
                        Ordering::Equal => {}
                        unequal => return unequal,
                    },
                }
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            let Some(levels) = levels.checked_sub(1) else {
                return Ordering::Equal;
            };
            compare_objects(a, b, levels)
        }
        _ => a.kind().cmp(&b.kind()).then_with(|| {
            if a.as_f64().is_some() {
                compare_numbers(a, b)
            } else {
                Ordering::Equal
            }
        }),
    }
}

fn compare_objects(a: &Object<'_>, b: &Object<'_>, levels: usize) -> Ordering {
    let (a, b) = (sorted(a), sorted(b));
    for ((name_a, a), (name_b, b)) in a.iter().zip(&b) {
        match name_a.cmp(name_b).then_with(|| compare_at(a, b, levels)) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    a.len().cmp(&b.len())
}

fn sorted<'a>(object: &Object<'a>) -> Vec<(&'a str, Value<'a>)> {
    let mut fields: Vec<_> = object.iter().collect();
    fields.sort_by_key(|field| field.0);
    fields
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Value<'_>) -> bool {
        compare(self, other) == Ordering::Equal
    }
}

impl Eq for Value<'_> {}

impl PartialOrd for Value<'_> {
    fn partial_cmp(&self, other: &Value<'_>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value<'_> {
    fn cmp(&self, other: &Value<'_>) -> Ordering {
        compare(self, other)
    }
}

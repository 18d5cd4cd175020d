//! Puts back what JavaScript cannot hold: the digits of numbers and the order of fields.
//!
//! Called by `machine` with what a script left. A number that stands where it stood, and is the
//! same to JavaScript, gets its stored text back; so does one beyond 2^53 that went elsewhere, if
//! only one such number came in. Fields keep the places they had, new ones follow.
//!
//! Recursion is bounded by the depth that the parser of the result allows.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jackdaw_document::{Array, Builder, METADATA, Object, Value};

const COLLECTION: &str = "@collection";
/// Whole numbers up to here are exact in JavaScript.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Digits from which on a number may be beyond [`EXACT_MAX`].
const EXACT_DIGITS: usize = 16;

/// Numbers that came in and do not survive JavaScript, by what it makes of them.
#[derive(Default)]
pub(crate) struct Inexact {
    /// The text; `None` when several numbers look the same.
    known: HashMap<u64, Option<Box<str>>>,
}

impl Inexact {
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Notes the numbers of `value` and all it holds.
    pub(crate) fn note(&mut self, value: Value<'_>) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::Array(array) => open.extend(array.iter()),
                Value::Object(object) => open.extend(object.iter().map(|(_, value)| value)),
                Value::Long(_) | Value::Number(_) => self.note_number(value),
                _ => {}
            }
        }
    }

    fn note_number(&mut self, value: Value<'_>) {
        let Some(double) = value.as_f64().filter(|double| double.abs() >= EXACT_MAX) else {
            return;
        };
        let text = value.to_json().into_boxed_str();
        match self.known.entry(double.to_bits()) {
            Entry::Vacant(place) => {
                place.insert(Some(text));
            }
            Entry::Occupied(mut known) => {
                if known.get().as_ref() != Some(&text) {
                    known.insert(None);
                }
            }
        }
    }

    fn find(&self, value: Value<'_>) -> Option<&str> {
        let double = value.as_f64()?;
        self.known.get(&double.to_bits())?.as_deref()
    }
}

/// Whether JSON text may hold a number that JavaScript does not.
pub(crate) fn may_hold_inexact(json: &[u8]) -> bool {
    let mut digits = 0;
    json.iter().any(|byte| {
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        digits >= EXACT_DIGITS
    })
}

/// Appends `metadata` of a document, the collection first; see [`restore`].
pub(crate) fn restore_metadata(
    metadata: Object<'_>,
    original: Option<Object<'_>>,
    inexact: &Inexact,
    builder: &mut Builder,
) {
    builder.begin_object();
    if let Some(collection) = metadata.get(COLLECTION) {
        builder.key(COLLECTION).value(collection);
    }
    let is_left_out = |name: &str| name == COLLECTION;
    restore_fields(metadata, original, inexact, is_left_out, builder);
    builder.end_object();
}

/// Appends `value` to `builder`, with what `original` (the value at the same place before) and the
/// numbers that came in know better. `is_root` leaves out `@metadata`.
pub(crate) fn restore(
    value: Value<'_>,
    original: Option<Value<'_>>,
    inexact: &Inexact,
    is_root: bool,
    builder: &mut Builder,
) {
    match value {
        Value::Object(object) => {
            let original = original.and_then(|original| original.as_object());
            restore_object(object, original, inexact, is_root, builder);
        }
        Value::Array(array) => {
            let original = original.and_then(|original| original.as_array());
            restore_array(array, original, inexact, builder);
        }
        Value::Long(_) | Value::Double(_) | Value::Number(_) => {
            let stood = original.filter(|original| is_same_number(*original, value));
            match (stood, inexact.find(value)) {
                (Some(stood), _) => builder.value(stood),
                (None, Some(text)) => builder.number(text),
                (None, None) => builder.value(value),
            };
        }
        // JavaScript writes null for a number beyond the range of doubles.
        Value::Null if original.is_some_and(is_infinite) => {
            builder.value(original.unwrap_or(value));
        }
        _ => {
            builder.value(value);
        }
    }
}

fn is_infinite(value: Value<'_>) -> bool {
    value.as_f64().is_some_and(f64::is_infinite)
}

fn is_same_number(original: Value<'_>, value: Value<'_>) -> bool {
    original
        .as_f64()
        .is_some_and(|original| value.as_f64() == Some(original))
}

fn restore_object(
    object: Object<'_>,
    original: Option<Object<'_>>,
    inexact: &Inexact,
    is_root: bool,
    builder: &mut Builder,
) {
    builder.begin_object();
    let is_left_out = |name: &str| is_root && name == METADATA;
    restore_fields(object, original, inexact, is_left_out, builder);
    builder.end_object();
}

/// Fields in the order they had, then new ones.
fn restore_fields(
    object: Object<'_>,
    original: Option<Object<'_>>,
    inexact: &Inexact,
    is_left_out: impl Fn(&str) -> bool,
    builder: &mut Builder,
) {
    for (name, before) in original.iter().flat_map(|original| original.iter()) {
        if let Some(value) = object.get(name).filter(|_| !is_left_out(name)) {
            builder.key(name);
            restore(value, Some(before), inexact, false, builder);
        }
    }
    for (name, value) in object.iter() {
        let is_written = original.is_some_and(|original| original.contains(name));
        if !is_written && !is_left_out(name) {
            builder.key(name);
            restore(value, None, inexact, false, builder);
        }
    }
}

fn restore_array(
    array: Array<'_>,
    original: Option<Array<'_>>,
    inexact: &Inexact,
    builder: &mut Builder,
) {
    builder.begin_array();
    let mut before = original.into_iter().flat_map(|original| original.iter());
    for value in array.iter() {
        restore(value, before.next(), inexact, false, builder);
    }
    builder.end_array();
}

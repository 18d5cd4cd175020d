//! Lengths of lists and strings as members: `Tags.Count`, `Name.Length`, `Name.length`.
//!
//! Called by every walk along a path (`fields`, `filter`, `project`), so that conditions, orders,
//! groups and projections see the same.
//!
//! Rules:
//! - A length is the last part of a path. A string has the length clients see: UTF-16 code units.
//! - A member of that name in an element of the list wins: the path leads to these members then.
//! - Null, a missing value, a number and an object have no length.

use jackdaw_document::Value;

use crate::syntax::PathPart;

/// Names under which clients ask for a length.
const NAMES: [&str; 4] = ["Count", "Length", "count", "length"];

/// The length that `name`, followed by the parts `rest`, stands for on `value`.
pub(crate) fn length_of<'v>(value: Value<'v>, name: &str, rest: &[PathPart]) -> Option<Value<'v>> {
    let has_member = |element: Value<'_>| element.get(name).is_some();
    let length = own_length_of(value, name, rest)?;
    match value {
        Value::Array(array) if array.iter().any(has_member) => None,
        _ => Some(length),
    }
}

/// As [`length_of`] where members of elements are no members of the list.
pub(crate) fn own_length_of<'v>(
    value: Value<'v>,
    name: &str,
    rest: &[PathPart],
) -> Option<Value<'v>> {
    if !rest.is_empty() || !NAMES.contains(&name) {
        return None;
    }
    let length = match value {
        Value::String(text) if text.is_ascii() => text.len(),
        Value::String(text) => text.encode_utf16().count(),
        Value::Array(array) => array.len(),
        _ => return None,
    };
    i64::try_from(length).ok().map(Value::Long)
}

//! Copies values of one document into another, without recursion.
//!
//! Called by `parser` to drop duplicate fields and to take `@metadata` out, and by `builder`.

use std::collections::HashMap;

use crate::container::{Array, Fields, Object};
use crate::encoder::{Encoder, Kind};
use crate::form::{self, DEPTH_MAX};
use crate::number;
use crate::value::{Value, read_value};

/// A container being copied.
enum Cursor<'a> {
    Array {
        bytes: &'a [u8],
        pos: usize,
        left: usize,
    },
    Object(Fields<'a>),
    /// Fields chosen beforehand.
    Chosen(&'a [u8], std::vec::IntoIter<(&'a [u8], usize)>),
}

impl<'a> Cursor<'a> {
    fn bytes(&self) -> &'a [u8] {
        match self {
            Cursor::Array { bytes, .. } | Cursor::Chosen(bytes, _) => bytes,
            Cursor::Object(fields) => fields.bytes,
        }
    }

    /// The next value, with its name in an object.
    fn next(&mut self) -> Option<(Option<&'a [u8]>, usize)> {
        match self {
            Cursor::Array { bytes, pos, left } => {
                *left = left.checked_sub(1)?;
                let at = *pos;
                *pos = form::value_end(bytes, at)?;
                Some((None, at))
            }
            Cursor::Object(fields) => fields.next().map(|(name, at)| (Some(name), at)),
            Cursor::Chosen(_, fields) => fields.next().map(|(name, at)| (Some(name), at)),
        }
    }
}

/// Appends `value` to what the encoder holds. Containers nested deeper than [`DEPTH_MAX`] become
/// null; no valid document has any.
pub(crate) fn copy(value: Value<'_>, encoder: &mut Encoder) {
    copy_with(value, encoder, |object| Cursor::Object(object.fields()));
}

/// As [`copy`], but of fields with equal names only the last is kept, at the place of the first.
pub(crate) fn copy_without_duplicates(value: Value<'_>, encoder: &mut Encoder) {
    copy_with(value, encoder, |object| {
        let mut chosen: Vec<(&[u8], usize)> = Vec::with_capacity(object.len());
        let mut slots: HashMap<&[u8], usize> = HashMap::with_capacity(object.len());
        let mut fields = object.fields();
        let bytes = fields.bytes;
        while let Some((name, at)) = fields.next() {
            let slot = *slots.entry(name).or_insert(chosen.len());
            match chosen.get_mut(slot) {
                Some(earlier) => earlier.1 = at,
                None => chosen.push((name, at)),
            }
        }
        Cursor::Chosen(bytes, chosen.into_iter())
    });
}

/// Copies an object without its field called `name`.
pub(crate) fn copy_object_except(object: Object<'_>, name: &[u8], encoder: &mut Encoder) {
    let mut outermost = true;
    copy_with(Value::Object(object), encoder, |object| {
        let mut fields = object.fields();
        if !std::mem::take(&mut outermost) {
            return Cursor::Object(fields);
        }
        let bytes = fields.bytes;
        let mut chosen = Vec::with_capacity(object.len());
        while let Some(field) = fields.next() {
            if field.0 != name {
                chosen.push(field);
            }
        }
        Cursor::Chosen(bytes, chosen.into_iter())
    });
}

fn copy_with<'a>(
    value: Value<'a>,
    encoder: &mut Encoder,
    mut open: impl FnMut(Object<'a>) -> Cursor<'a>,
) {
    let mut begin = |container: Value<'a>, hint: usize, encoder: &mut Encoder| match container {
        Value::Array(Array {
            bytes,
            table,
            values,
            count,
        }) => {
            encoder.begin(Kind::Array, hint);
            Some((
                Cursor::Array {
                    bytes,
                    pos: values as usize,
                    left: count as usize,
                },
                table,
            ))
        }
        Value::Object(object) => {
            encoder.begin(Kind::Object, hint);
            Some((open(object), object.table()))
        }
        _ => None,
    };
    let Some((mut cursor, table)) = begin(value, usize::MAX, encoder) else {
        return copy_scalar(value, encoder);
    };
    let mut parents = Vec::new();
    loop {
        let Some((name, pos)) = cursor.next() else {
            encoder.end();
            match parents.pop() {
                Some(parent) => cursor = parent,
                None => return,
            }
            continue;
        };
        if let Some(name) = name {
            encoder.key(name);
        }
        let bytes = cursor.bytes();
        let container = match read_container(bytes, table, pos) {
            Some((child, end)) if parents.len() < DEPTH_MAX - 1 => begin(child, end - pos, encoder),
            Some(_) => {
                encoder.null();
                continue;
            }
            None => None,
        };
        if let Some((child, _)) = container {
            parents.push(std::mem::replace(&mut cursor, child));
        } else {
            let stored = form::value_end(bytes, pos).and_then(|end| bytes.get(pos..end));
            match stored {
                Some(stored) => encoder.raw_scalar(stored),
                None => encoder.null(),
            }
        }
    }
}

/// The container at `pos` with its end; `None` for a scalar, also a broken one.
fn read_container(bytes: &[u8], table: u32, pos: usize) -> Option<(Value<'_>, usize)> {
    let tag = *bytes.get(pos)?;
    if !form::is_container(tag) {
        return None;
    }
    Some(read_value(bytes, table, pos).unwrap_or((Value::Null, pos + 1)))
}

/// Writes a value that is not a container.
fn copy_scalar(value: Value<'_>, encoder: &mut Encoder) {
    match value {
        Value::Bool(b) => encoder.bool(b),
        Value::Long(n) => encoder.long(n),
        Value::Double(x) => match number::of_double(x) {
            Some(number) => encoder.number(number, b""),
            None => encoder.null(),
        },
        Value::Number(text) => encoder.number(number::Number::Text, text.as_str().as_bytes()),
        Value::String(s) => encoder.string(s.as_bytes()),
        Value::Null | Value::Array(_) | Value::Object(_) => encoder.null(),
    }
}

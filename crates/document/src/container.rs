//! Objects and arrays: look-up, iteration, and the plain cursor over stored values.
//!
//! Called through `value`; `write` and `validate` use the cursors to avoid building values.
//!
//! Invariants: no panic on any bytes; every iterator ends, as each step moves forward and none
//! goes beyond the container.

use crate::form::{self, LINEAR_FIELDS_MAX, Width, tag};
use crate::shape::{Shape, ShapeTable, read_name};
use crate::value::{Value, read_value};

/// An array of a document.
#[derive(Clone, Copy)]
pub struct Array<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) table: u32,
    pub(crate) values: u32,
    pub(crate) count: u32,
}

impl<'a> Array<'a> {
    pub(crate) const EMPTY: Array<'static> = Array {
        bytes: &[],
        table: 0,
        values: 0,
        count: 0,
    };

    /// Reads the head of an array with content from `start` to `end`.
    #[inline]
    pub(crate) fn read(
        bytes: &'a [u8],
        table: u32,
        start: usize,
        end: usize,
        tag: u8,
    ) -> Option<Array<'a>> {
        let width = Width::from_class(tag - tag::ARRAY);
        let tail = end.checked_sub(width.bytes())?;
        let count = width.read(bytes, tail)?;
        // Each element takes a byte at least, so a broken count cannot make loops long.
        (tail >= start && count <= tail - start).then_some(())?;
        let (values, count) = (u32::try_from(start).ok()?, u32::try_from(count).ok()?);
        Some(Array {
            bytes,
            table,
            values,
            count,
        })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The element at `slot`. O(`slot`): about a nanosecond for each one skipped, so use
    /// [`Array::iter`] to visit all.
    pub fn get(&self, slot: usize) -> Option<Value<'a>> {
        if slot >= self.len() {
            return None;
        }
        let mut pos = self.values as usize;
        for _ in 0..slot {
            pos = form::value_end(self.bytes, pos)?;
        }
        read_value(self.bytes, self.table, pos).map(|(value, _)| value)
    }

    /// The elements in order.
    pub fn iter(&self) -> ArrayIter<'a> {
        ArrayIter {
            array: *self,
            pos: self.values as usize,
            left: self.len(),
        }
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = ArrayIter<'a>;

    fn into_iter(self) -> ArrayIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Array<'a> {
    type Item = Value<'a>;
    type IntoIter = ArrayIter<'a>;

    fn into_iter(self) -> ArrayIter<'a> {
        self.iter()
    }
}

impl std::fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Value::Array(*self).fmt(f)
    }
}

/// Iterator over the elements of an [`Array`].
#[derive(Clone, Debug)]
pub struct ArrayIter<'a> {
    array: Array<'a>,
    pos: usize,
    left: usize,
}

impl<'a> Iterator for ArrayIter<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (bytes, pos) = (self.array.bytes, self.pos);
        let (value, next) = value_or_null(bytes, self.array.table, pos);
        if next == pos {
            self.left = 0;
            return None;
        }
        self.pos = next;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// Reads a value, or null where it is broken but its end is known; an end equal to `pos` means
/// that nothing can be read from here on.
#[inline]
fn value_or_null(bytes: &[u8], table: u32, pos: usize) -> (Value<'_>, usize) {
    match read_value(bytes, table, pos) {
        Some(read) => read,
        None => (Value::Null, form::value_end(bytes, pos).unwrap_or(pos)),
    }
}

/// An object of a document.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    bytes: &'a [u8],
    table: u32,
    values: u32,
    /// Table of value positions in an object of many fields, with the width of an entry.
    positions: u32,
    width: Width,
    shape: Shape,
}

impl<'a> Object<'a> {
    pub(crate) const EMPTY: Object<'static> = Object {
        bytes: &[],
        table: 0,
        values: 0,
        positions: 0,
        width: Width::One,
        shape: Shape::EMPTY,
    };

    /// Reads the head of an object with content from `start` to `end`.
    #[inline]
    pub(crate) fn read(
        bytes: &'a [u8],
        table: u32,
        start: usize,
        end: usize,
        tag: u8,
    ) -> Option<Object<'a>> {
        let (width, shape_width) = form::object_widths(tag);
        let tail = end.checked_sub(shape_width.bytes())?;
        let number = shape_width.read(bytes, tail)?;
        let shape = ShapeTable::read(bytes, table as usize)?.shape(bytes, number)?;
        let count = shape.count as usize;
        let mut positions = tail;
        if count > LINEAR_FIELDS_MAX {
            positions = tail.checked_sub(count * width.bytes())?;
        }
        (positions >= start && count <= positions - start).then_some(())?;
        let (values, positions) = (u32::try_from(start).ok()?, u32::try_from(positions).ok()?);
        Some(Object {
            bytes,
            table,
            values,
            positions,
            width,
            shape,
        })
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.shape.count as usize
    }

    /// Whether it has no fields.
    pub fn is_empty(&self) -> bool {
        self.shape.count == 0
    }

    /// The value of the field called exactly `name`.
    #[inline]
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        let ordinal = self.shape.find(self.bytes, name.as_bytes())?;
        let pos = self.position(ordinal)?;
        Some(value_or_null(self.bytes, self.table, pos).0)
    }

    /// Whether a field is called exactly `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.shape.find(self.bytes, name.as_bytes()).is_some()
    }

    /// Position of the `ordinal`-th value.
    #[inline]
    fn position(&self, ordinal: usize) -> Option<usize> {
        let values = self.values as usize;
        if self.len() > LINEAR_FIELDS_MAX {
            let at = self.positions as usize + ordinal * self.width.bytes();
            return Some(values + self.width.read(self.bytes, at)?);
        }
        let mut pos = values;
        for _ in 0..ordinal {
            pos = form::value_end(self.bytes, pos)?;
        }
        Some(pos)
    }

    /// The fields in their original order.
    pub fn iter(&self) -> ObjectIter<'a> {
        ObjectIter {
            fields: self.fields(),
            table: self.table,
        }
    }

    /// The fields as stored bytes.
    pub(crate) fn fields(&self) -> Fields<'a> {
        Fields {
            bytes: self.bytes,
            blocks: self.shape.blocks as usize,
            name: self.shape.names as usize,
            value: self.values as usize,
            left: self.len(),
        }
    }

    pub(crate) fn table(&self) -> u32 {
        self.table
    }
}

impl<'a> IntoIterator for Object<'a> {
    type Item = (&'a str, Value<'a>);
    type IntoIter = ObjectIter<'a>;

    fn into_iter(self) -> ObjectIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Object<'a> {
    type Item = (&'a str, Value<'a>);
    type IntoIter = ObjectIter<'a>;

    fn into_iter(self) -> ObjectIter<'a> {
        self.iter()
    }
}

impl std::fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Value::Object(*self).fmt(f)
    }
}

/// Cursor over the fields of an object as stored.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    pub(crate) bytes: &'a [u8],
    blocks: usize,
    name: usize,
    value: usize,
    left: usize,
}

impl<'a> Fields<'a> {
    /// The next name, and the position of its value.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<(&'a [u8], usize)> {
        self.left = self.left.checked_sub(1)?;
        let (name, next_name) = read_name(self.bytes, self.blocks, self.name)?;
        let value = self.value;
        self.value = form::value_end(self.bytes, value)?;
        self.name = next_name;
        Some((name, value))
    }
}

/// Iterator over the fields of an [`Object`].
#[derive(Clone, Debug)]
pub struct ObjectIter<'a> {
    fields: Fields<'a>,
    table: u32,
}

impl<'a> Iterator for ObjectIter<'a> {
    type Item = (&'a str, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<(&'a str, Value<'a>)> {
        let (name, pos) = self.fields.next()?;
        let name = std::str::from_utf8(name).unwrap_or("\u{FFFD}");
        Some((name, value_or_null(self.fields.bytes, self.table, pos).0))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.fields.left))
    }
}

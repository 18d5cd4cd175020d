//! JSON out: stored values to text, and a writer for objects put together from several sources.
//!
//! Called by the server's replies, exports and the command line.
//!
//! Text is plain UTF-8 with the shortest escapes: `\"`, `\\`, `\b`, `\t`, `\n`, `\f`, `\r`, and
//! `\u00XX` for the other control characters. Fields keep their order, numbers their text.

use crate::container::{Array, Fields, Object};
use crate::form::{self, DEPTH_MAX, tag};
use crate::number;
use crate::parser::METADATA;
use crate::scan::plain_run;
use crate::value::{Value, read_decimal, read_long, read_value};

/// Appends `value` as JSON without white space.
pub fn write_json(value: Value<'_>, out: &mut Vec<u8>) {
    write_value::<false>(value, out);
}

/// Appends `value` as JSON with one field or element a line, indented by two spaces a level.
pub fn write_json_pretty(value: Value<'_>, out: &mut Vec<u8>) {
    write_value::<true>(value, out);
}

/// Appends a stored document as clients see it: the fields of `body`, then `@metadata` with
/// whatever `metadata` writes into it. A field of the body that is itself called `@metadata` is
/// left out.
pub fn write_document(
    body: Value<'_>,
    out: &mut Vec<u8>,
    metadata: impl FnOnce(&mut ObjectWriter<'_>),
) {
    write_object(out, |object| {
        if let Value::Object(body) = body {
            object.fields_except(body, METADATA);
        }
        object.object(METADATA, metadata);
    });
}

/// Appends an object of which `fields` writes the fields.
pub fn write_object(out: &mut Vec<u8>, fields: impl FnOnce(&mut ObjectWriter<'_>)) {
    out.push(b'{');
    fields(&mut ObjectWriter { out, first: true });
    out.push(b'}');
}

/// Appends an array of which `elements` writes the elements.
pub fn write_array(out: &mut Vec<u8>, elements: impl FnOnce(&mut ArrayWriter<'_>)) {
    out.push(b'[');
    elements(&mut ArrayWriter { out, first: true });
    out.push(b']');
}

/// Writes the fields of one JSON object. Names are not checked for duplicates.
pub struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl ObjectWriter<'_> {
    /// Writes the name; what the caller appends to the buffer is the value.
    fn name(&mut self, name: &[u8]) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        write_escaped(self.out, name);
        self.out.push(b':');
        self.out
    }

    /// A field with a value of some document.
    pub fn value(&mut self, name: &str, value: Value<'_>) {
        write_json(value, self.name(name.as_bytes()));
    }

    /// A field with a string.
    pub fn string(&mut self, name: &str, text: &str) {
        write_string(self.name(name.as_bytes()), text);
    }

    /// A field with an integer.
    pub fn long(&mut self, name: &str, value: i64) {
        number::push_long(self.name(name.as_bytes()), value);
    }

    /// A field with a number; null when it is not finite.
    pub fn double(&mut self, name: &str, value: f64) {
        number::push_double(self.name(name.as_bytes()), value);
    }

    /// A field with `true` or `false`.
    pub fn bool(&mut self, name: &str, value: bool) {
        self.raw(name, if value { b"true" } else { b"false" });
    }

    /// A field with null.
    pub fn null(&mut self, name: &str) {
        self.raw(name, b"null");
    }

    /// A field with text that is JSON already.
    pub fn raw(&mut self, name: &str, json: &[u8]) {
        self.name(name.as_bytes()).extend_from_slice(json);
    }

    /// A field with an object.
    pub fn object(&mut self, name: &str, fields: impl FnOnce(&mut ObjectWriter<'_>)) {
        write_object(self.name(name.as_bytes()), fields);
    }

    /// A field with an array.
    pub fn array(&mut self, name: &str, elements: impl FnOnce(&mut ArrayWriter<'_>)) {
        write_array(self.name(name.as_bytes()), elements);
    }

    /// All fields of an object of some document.
    pub fn fields(&mut self, object: Object<'_>) {
        let mut fields = object.fields();
        while let Some((name, pos)) = fields.next() {
            write_at::<false>(fields.bytes, object.table(), pos, self.name(name), 0);
        }
    }

    /// All fields of an object of some document but the one called `name`.
    pub fn fields_except(&mut self, object: Object<'_>, name: &str) {
        let mut fields = object.fields();
        while let Some((field, pos)) = fields.next() {
            if field != name.as_bytes() {
                write_at::<false>(fields.bytes, object.table(), pos, self.name(field), 0);
            }
        }
    }
}

/// Writes the elements of one JSON array.
pub struct ArrayWriter<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl ArrayWriter<'_> {
    fn next(&mut self) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        self.out
    }

    /// A value of some document.
    pub fn value(&mut self, value: Value<'_>) {
        write_json(value, self.next());
    }

    /// A string.
    pub fn string(&mut self, text: &str) {
        write_string(self.next(), text);
    }

    /// An integer.
    pub fn long(&mut self, value: i64) {
        number::push_long(self.next(), value);
    }

    /// A number; null when it is not finite.
    pub fn double(&mut self, value: f64) {
        number::push_double(self.next(), value);
    }

    /// Text that is JSON already.
    pub fn raw(&mut self, json: &[u8]) {
        self.next().extend_from_slice(json);
    }

    /// An object.
    pub fn object(&mut self, fields: impl FnOnce(&mut ObjectWriter<'_>)) {
        write_object(self.next(), fields);
    }

    /// An array.
    pub fn array(&mut self, elements: impl FnOnce(&mut ArrayWriter<'_>)) {
        write_array(self.next(), elements);
    }

    /// A document with its metadata; see [`write_document`].
    pub fn document(&mut self, body: Value<'_>, metadata: impl FnOnce(&mut ObjectWriter<'_>)) {
        write_document(body, self.next(), metadata);
    }
}

/// Appends a string in quotes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    write_escaped(out, text.as_bytes());
}

/// Appends bytes of a string in quotes.
fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut pos = 0;
    loop {
        let end = plain_run(text, pos).end;
        out.extend_from_slice(&text[pos..end]);
        let Some(&b) = text.get(end) else { break };
        write_escape(out, b);
        pos = end + 1;
    }
    out.push(b'"');
}

#[cold]
fn write_escape(out: &mut Vec<u8>, b: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let short = match b {
        b'"' | b'\\' => b,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(b >> 4)]);
            out.push(HEX[usize::from(b & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

fn write_value<const PRETTY: bool>(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Long(n) => number::push_long(out, n),
        Value::Double(x) => number::push_double(out, x),
        Value::Number(text) => out.extend_from_slice(text.as_str().as_bytes()),
        Value::String(s) => write_string(out, s),
        Value::Array(a) => write_container::<PRETTY>(Open::array(a), out, 0),
        Value::Object(o) => write_container::<PRETTY>(Open::object(o), out, 0),
    }
}

/// Writes the stored value at `pos`. What cannot be read becomes null.
fn write_at<const PRETTY: bool>(
    bytes: &[u8],
    table: u32,
    pos: usize,
    out: &mut Vec<u8>,
    depth: usize,
) {
    match Open::read(bytes, table, pos) {
        Some(container) => write_container::<PRETTY>(container, out, depth),
        None => {
            if write_scalar(bytes, pos, out).is_none() {
                out.extend_from_slice(b"null");
            }
        }
    }
}

/// A container being written.
struct Open<'a> {
    bytes: &'a [u8],
    table: u32,
    /// Fields of an object.
    fields: Option<Fields<'a>>,
    /// Next element of an array, and how many there are.
    pos: usize,
    left: usize,
    first: bool,
}

impl<'a> Open<'a> {
    fn array(array: Array<'a>) -> Open<'a> {
        let Array {
            bytes,
            table,
            values,
            count,
        } = array;
        Open {
            bytes,
            table,
            fields: None,
            pos: values as usize,
            left: count as usize,
            first: true,
        }
    }

    fn object(object: Object<'a>) -> Open<'a> {
        let fields = object.fields();
        let (bytes, table) = (fields.bytes, object.table());
        Open {
            bytes,
            table,
            fields: Some(fields),
            pos: 0,
            left: 0,
            first: true,
        }
    }

    /// Opens the container at `pos`, if one is there.
    fn read(bytes: &'a [u8], table: u32, pos: usize) -> Option<Open<'a>> {
        if !form::is_container(*bytes.get(pos)?) {
            return None;
        }
        match read_value(bytes, table, pos)?.0 {
            Value::Array(array) => Some(Open::array(array)),
            Value::Object(object) => Some(Open::object(object)),
            _ => None,
        }
    }

    /// The next value, with its name in an object.
    #[inline]
    fn next(&mut self) -> Option<(Option<&'a [u8]>, usize)> {
        if let Some(fields) = &mut self.fields {
            return fields.next().map(|(name, pos)| (Some(name), pos));
        }
        self.left = self.left.checked_sub(1)?;
        let pos = self.pos;
        self.pos = form::value_end(self.bytes, pos)?;
        Some((None, pos))
    }

    fn brackets(&self) -> (u8, u8) {
        if self.fields.is_some() {
            (b'{', b'}')
        } else {
            (b'[', b']')
        }
    }
}

/// Writes a container and all it holds, without recursion.
fn write_container<const PRETTY: bool>(mut open: Open<'_>, out: &mut Vec<u8>, depth: usize) {
    let mut parents: Vec<Open<'_>> = Vec::new();
    out.push(open.brackets().0);
    loop {
        let Some((name, pos)) = open.next() else {
            if PRETTY && !open.first {
                new_line(out, depth + parents.len());
            }
            out.push(open.brackets().1);
            match parents.pop() {
                Some(parent) => open = parent,
                None => return,
            }
            continue;
        };
        if !std::mem::take(&mut open.first) {
            out.push(b',');
        }
        if PRETTY {
            new_line(out, depth + parents.len() + 1);
        }
        if let Some(name) = name {
            write_escaped(out, name);
            out.extend_from_slice(if PRETTY { b": " } else { b":" });
        }
        if write_scalar(open.bytes, pos, out).is_some() {
            continue;
        }
        match Open::read(open.bytes, open.table, pos) {
            Some(child) if parents.len() < DEPTH_MAX => {
                out.push(child.brackets().0);
                parents.push(std::mem::replace(&mut open, child));
            }
            _ => out.extend_from_slice(b"null"),
        }
    }
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

/// Writes the value at `pos` if it is not a container; `None`, with nothing written, otherwise.
#[inline]
fn write_scalar(bytes: &[u8], pos: usize, out: &mut Vec<u8>) -> Option<()> {
    let tag = *bytes.get(pos)?;
    if tag >= tag::SHORT_STRING {
        let len = (tag - tag::SHORT_STRING) as usize;
        write_escaped(out, bytes.get(pos + 1..pos + 1 + len)?);
        return Some(());
    }
    if tag >= tag::SMALL_LONG {
        number::push_long(
            out,
            i64::from(tag - tag::SMALL_LONG) + tag::SMALL_LONG_FIRST,
        );
        return Some(());
    }
    match tag {
        tag::NULL => out.extend_from_slice(b"null"),
        tag::FALSE => out.extend_from_slice(b"false"),
        tag::TRUE => out.extend_from_slice(b"true"),
        tag::EMPTY_ARRAY => out.extend_from_slice(b"[]"),
        tag::EMPTY_OBJECT => out.extend_from_slice(b"{}"),
        tag::LONG_8 | tag::LONG_16 | tag::LONG_32 | tag::LONG_64 => {
            number::push_long(out, read_long(bytes, pos + 1, tag)?);
        }
        tag::DECIMAL_8 | tag::DECIMAL_16 | tag::DECIMAL_32 => {
            let (mantissa, scale) = read_decimal(bytes, pos + 1, tag)?;
            number::push_decimal(out, mantissa, scale);
        }
        tag::DOUBLE => write_value::<false>(read_value(bytes, 0, pos)?.0, out),
        tag::NUMBER_8 | tag::NUMBER_32 => {
            let (start, len) = form::prefixed(bytes, pos, tag)?;
            out.extend_from_slice(bytes.get(start..start.checked_add(len)?)?);
        }
        tag::STRING..tag::ARRAY => {
            let (start, len) = form::prefixed(bytes, pos, tag)?;
            write_escaped(out, bytes.get(start..start.checked_add(len)?)?);
        }
        _ => return None,
    }
    Some(())
}

//! Documents and values as readers see them: borrowed, nothing copied, nothing parsed ahead.
//!
//! Called by everything above that reads documents. Writing is `builder` and `parser`.
//!
//! Invariants:
//! - No accessor panics, whatever the bytes. On bytes that were not validated a broken value reads
//!   as [`Value::Null`] and a broken container as shorter than it claims.
//! - What [`Document::open`] accepted reads completely: no value of it is replaced by null.

use crate::container::{Array, Object};
use crate::error::{DocumentError, JsonError};
use crate::form::{self, ROOT, VERSION, fixed, tag};
use crate::limits::Limits;
use crate::number::{self, Number};
use crate::parser::Parser;
use crate::validate::validate;

/// An owned document in binary form.
///
/// The bytes are always a valid document of this crate's version, as they come from the parser,
/// the builder or [`DocumentBuf::from_bytes`].
///
/// Equality is that of the bytes; compare the roots to compare what documents say.
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentBuf(Vec<u8>);

impl DocumentBuf {
    /// Parses one JSON text. Use a [`Parser`] to parse many without allocating for each.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn from_json(json: &[u8], limits: &Limits) -> Result<DocumentBuf, JsonError> {
        let mut parser = Parser::new(*limits);
        parser.parse(json).map(|document| document.to_buf())
    }

    /// Takes stored bytes after full validation; see [`Document::open`].
    ///
    /// # Errors
    /// As [`Document::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<DocumentBuf, DocumentError> {
        Document::open(&bytes)?;
        Ok(DocumentBuf(bytes))
    }

    /// Takes bytes that this crate wrote.
    pub(crate) fn from_written(bytes: Vec<u8>) -> DocumentBuf {
        DocumentBuf(bytes)
    }

    /// The document, for reading.
    #[inline]
    pub fn document(&self) -> Document<'_> {
        Document::trusted(&self.0)
    }

    /// The root value.
    #[inline]
    pub fn root(&self) -> Value<'_> {
        self.document().root()
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes to store, without copying.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a document is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl std::fmt::Debug for DocumentBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.root().fmt(f)
    }
}

/// A document in binary form, borrowed.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    bytes: &'a [u8],
    /// Where the shape table begins: behind the root value.
    table: u32,
}

impl<'a> Document<'a> {
    /// Takes bytes of unknown origin. Reads all of them once, at about 1 ns a byte or less, and
    /// checks everything that reading later relies on.
    ///
    /// # Errors
    /// The bytes are damaged or of a later version; they must not be used.
    pub fn open(bytes: &'a [u8]) -> Result<Document<'a>, DocumentError> {
        validate(bytes)?;
        Ok(Document::trusted(bytes))
    }

    /// Takes bytes that a page checksum already vouches for; costs a few nanoseconds.
    ///
    /// Should they be damaged all the same, nothing panics: what cannot be read is null or absent,
    /// and so is all of a document of another version.
    #[inline]
    pub fn trusted(bytes: &'a [u8]) -> Document<'a> {
        let known = bytes.first() == Some(&VERSION);
        let table = if known {
            form::value_end(bytes, ROOT)
        } else {
            None
        };
        match table.and_then(|end| u32::try_from(end).ok()) {
            Some(table) => Document { bytes, table },
            None => Document {
                bytes: &[],
                table: 0,
            },
        }
    }

    /// The root value.
    #[inline]
    pub fn root(&self) -> Value<'a> {
        match read_value(self.bytes, self.table, ROOT) {
            Some((value, _)) => value,
            None => Value::Null,
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Copies the document.
    pub fn to_buf(&self) -> DocumentBuf {
        if self.bytes.is_empty() {
            return DocumentBuf(vec![VERSION, tag::NULL]);
        }
        DocumentBuf(self.bytes.to_vec())
    }
}

impl std::fmt::Debug for Document<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.root().fmt(f)
    }
}

/// One value of a document.
///
/// Equality and order are those of [`compare`](crate::compare): numbers by true value, objects
/// without regard to the order of their fields.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer in the range of `i64`, written without point or exponent.
    Long(i64),
    /// A finite number whose JSON text is the shortest one of this `f64`.
    Double(f64),
    /// Any other number; its text is kept exactly.
    Number(NumberText<'a>),
    /// A string, unescaped.
    String(&'a str),
    /// An array.
    Array(Array<'a>),
    /// An object.
    Object(Object<'a>),
}

/// What sort of value it is; the order is the one values sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueKind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// `Long`, `Double` or `Number`.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl<'a> Value<'a> {
    /// The number that JSON text names, as a document would hold it; `None` when the text is not a
    /// JSON number.
    pub fn parse_number(text: &'a str) -> Option<Value<'a>> {
        let scanned = number::scan(text.as_bytes(), 0)
            .ok()
            .filter(|s| s.end == text.len())?;
        Some(match scanned.number {
            Number::Long(n) => Value::Long(n),
            Number::Decimal { mantissa, scale } => {
                Value::Double(number::decimal_to_f64(mantissa.into(), scale))
            }
            Number::Double(x) => Value::Double(x),
            Number::Text => Value::Number(NumberText(text)),
        })
    }

    /// What sort of value it is.
    pub fn kind(&self) -> ValueKind {
        match self {
            Value::Null => ValueKind::Null,
            Value::Bool(_) => ValueKind::Bool,
            Value::Long(_) | Value::Double(_) | Value::Number(_) => ValueKind::Number,
            Value::String(_) => ValueKind::String,
            Value::Array(_) => ValueKind::Array,
            Value::Object(_) => ValueKind::Object,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(b) = *self {
            Some(b)
        } else {
            None
        }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&'a str> {
        if let Value::String(s) = *self {
            Some(s)
        } else {
            None
        }
    }

    /// The array, if it is one.
    pub fn as_array(&self) -> Option<Array<'a>> {
        if let Value::Array(a) = *self {
            Some(a)
        } else {
            None
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<Object<'a>> {
        if let Value::Object(o) = *self {
            Some(o)
        } else {
            None
        }
    }

    /// The number, if it is a whole number in the range of `i64`, however it is written (`2.0`,
    /// `1e3`).
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Long(n) => Some(n),
            Value::Double(x) => number::double_as_long(x),
            Value::Number(text) => text.as_i64(),
            _ => None,
        }
    }

    /// The nearest `f64`, if it is a number; infinite when its magnitude is beyond the range.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the nearest value is what is asked for"
    )]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::Long(n) => Some(n as f64),
            Value::Double(x) => Some(x),
            Value::Number(text) => Some(text.as_f64()),
            _ => None,
        }
    }

    /// The field called `name`, if it is an object that has one.
    #[inline]
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        if let Value::Object(o) = self {
            o.get(name)
        } else {
            None
        }
    }

    /// The value reached by going through fields of these names; nothing is fanned out.
    pub fn get_path(&self, names: &[&str]) -> Option<Value<'a>> {
        names.iter().try_fold(*self, |value, name| value.get(name))
    }

    /// Whether both are the same JSON text: fields in the same order, numbers with the same digits.
    ///
    /// Recurses once for each level of nesting.
    pub fn is_written_as(&self, other: Value<'_>) -> bool {
        match (*self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Long(a), Value::Long(b)) => a == b,
            (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
            (Value::Number(a), Value::Number(b)) => a.as_str() == b.as_str(),
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is_written_as(b))
            }
            (Value::Object(a), Value::Object(b)) => {
                let mut both = a.iter().zip(b.iter());
                a.len() == b.len()
                    && both.all(|((name_a, a), (name_b, b))| name_a == name_b && a.is_written_as(b))
            }
            _ => false,
        }
    }

    /// Appends the value as JSON on one line; see [`write_json`](crate::write_json).
    pub fn write_json(&self, out: &mut Vec<u8>) {
        crate::write::write_json(*self, out);
    }

    /// The value as JSON on one line.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        self.write_json(&mut out);
        // Documents hold UTF-8; only damaged bytes need the replacement.
        String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into())
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_json())
    }
}

/// The exact text of a number that neither `i64` nor the shortest text of an `f64` can express,
/// such as `1.10`, `1e400` or `12345678901234567890`.
#[derive(Clone, Copy)]
pub struct NumberText<'a>(&'a str);

impl<'a> NumberText<'a> {
    /// The text, as it stood in the JSON source.
    pub fn as_str(&self) -> &'a str {
        self.0
    }

    /// The nearest `f64`; infinite when its magnitude is beyond the range.
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The value, if it is a whole number in the range of `i64`.
    pub fn as_i64(&self) -> Option<i64> {
        crate::decimal::Decimal::parse(self.0.as_bytes()).to_long()
    }
}

impl std::fmt::Debug for NumberText<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// Reads the value at `pos` and the position behind it. `table` is the document's shape table.
#[inline]
pub(crate) fn read_value(bytes: &[u8], table: u32, pos: usize) -> Option<(Value<'_>, usize)> {
    let tag = *bytes.get(pos)?;
    if tag >= tag::SHORT_STRING {
        let end = pos + 1 + (tag - tag::SHORT_STRING) as usize;
        return Some((text(bytes.get(pos + 1..end)?)?, end));
    }
    if tag >= tag::SMALL_LONG {
        let n = i64::from(tag - tag::SMALL_LONG) + tag::SMALL_LONG_FIRST;
        return Some((Value::Long(n), pos + 1));
    }
    match tag {
        tag::STRING..=tag::OBJECT_LAST => read_prefixed(bytes, table, pos, tag),
        _ => Some((read_scalar(bytes, pos, tag)?, form::value_end(bytes, pos)?)),
    }
}

#[inline]
fn text(bytes: &[u8]) -> Option<Value<'_>> {
    std::str::from_utf8(bytes).ok().map(Value::String)
}

fn read_scalar(bytes: &[u8], pos: usize, tag: u8) -> Option<Value<'_>> {
    let at = pos + 1;
    Some(match tag {
        tag::NULL => Value::Null,
        tag::FALSE => Value::Bool(false),
        tag::TRUE => Value::Bool(true),
        tag::EMPTY_ARRAY => Value::Array(Array::EMPTY),
        tag::EMPTY_OBJECT => Value::Object(Object::EMPTY),
        tag::LONG_8 | tag::LONG_16 | tag::LONG_32 | tag::LONG_64 => {
            Value::Long(read_long(bytes, at, tag)?)
        }
        tag::DOUBLE => {
            let x = f64::from_bits(u64::from_le_bytes(fixed::<8>(bytes, at)?));
            finite(x)?
        }
        tag::DECIMAL_8 | tag::DECIMAL_16 | tag::DECIMAL_32 => {
            let (mantissa, scale) = read_decimal(bytes, at, tag)?;
            finite(number::decimal_to_f64(mantissa.into(), scale))?
        }
        tag::NUMBER_8 | tag::NUMBER_32 => {
            let (start, len) = form::prefixed(bytes, pos, tag)?;
            let text = std::str::from_utf8(bytes.get(start..start.checked_add(len)?)?).ok()?;
            Value::Number(NumberText(text))
        }
        _ => return None,
    })
}

fn finite(x: f64) -> Option<Value<'static>> {
    x.is_finite().then_some(Value::Double(x))
}

/// The integer behind one of the `LONG` tags.
pub(crate) fn read_long(bytes: &[u8], at: usize, tag: u8) -> Option<i64> {
    Some(match tag {
        tag::LONG_8 => i8::from_le_bytes(fixed::<1>(bytes, at)?).into(),
        tag::LONG_16 => i16::from_le_bytes(fixed::<2>(bytes, at)?).into(),
        tag::LONG_32 => i32::from_le_bytes(fixed::<4>(bytes, at)?).into(),
        _ => i64::from_le_bytes(fixed::<8>(bytes, at)?),
    })
}

/// Mantissa and scale behind one of the `DECIMAL` tags.
pub(crate) fn read_decimal(bytes: &[u8], at: usize, tag: u8) -> Option<(i32, u8)> {
    let scale = *bytes.get(at)?;
    let mantissa = match tag {
        tag::DECIMAL_8 => i8::from_le_bytes(fixed::<1>(bytes, at + 1)?).into(),
        tag::DECIMAL_16 => i16::from_le_bytes(fixed::<2>(bytes, at + 1)?).into(),
        _ => i32::from_le_bytes(fixed::<4>(bytes, at + 1)?),
    };
    Some((mantissa, scale))
}

#[inline]
fn read_prefixed(bytes: &[u8], table: u32, pos: usize, tag: u8) -> Option<(Value<'_>, usize)> {
    let (start, len) = form::prefixed(bytes, pos, tag)?;
    let end = start.checked_add(len)?;
    let value = match tag {
        tag::STRING..tag::ARRAY => text(bytes.get(start..end)?)?,
        tag::ARRAY..tag::OBJECT => Value::Array(Array::read(bytes, table, start, end, tag)?),
        _ => Value::Object(Object::read(bytes, table, start, end, tag)?),
    };
    Some((value, end))
}

//! Values of a run: of documents, where they stand, or made by the program, in the arena.

use jackdaw_document::{Array, NumberText, Object};
use rust_decimal::Decimal;

use crate::index::host::LoadedDocument;
use crate::input::ScriptDocument;

/// A value. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    /// Of a member that is not there.
    Missing,
    Null,
    Bool(bool),
    Long(i64),
    Double(f64),
    Decimal(Decimal),
    /// A number of a document that no `i64` or `f64` holds.
    Number(NumberText<'a>),
    Text(&'a str),
    Date(Date),
    /// A span of time in ticks of 100 ns.
    Span(i64),
    Array(Array<'a>),
    Object(Object<'a>),
    Document(&'a ScriptDocument<'a>),
    /// Metadata of a document, with what the database says of it.
    Metadata(&'a ScriptDocument<'a>),
    List(&'a [Value<'a>]),
    Record(Record<'a>),
    Group(&'a Group<'a>),
}

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    /// Ticks of 100 ns since 1970.
    pub(crate) ticks: i64,
    /// Whether it says that it is of UTC.
    pub(crate) is_utc: bool,
}

/// An object that a program made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) names: Names<'a>,
    pub(crate) values: &'a [Value<'a>],
}

/// Names of fields: of the program's text, or made while it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Names<'a> {
    Known(&'a [Box<str>]),
    Made(&'a [&'a str]),
}

/// Elements with the same key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) key: Value<'a>,
    pub(crate) elements: &'a [Value<'a>],
}

impl<'a> Names<'a> {
    pub(crate) fn get(self, slot: usize) -> Option<&'a str> {
        match self {
            Names::Known(names) => names.get(slot).map(|name| &**name),
            Names::Made(names) => names.get(slot).copied(),
        }
    }
}

impl<'a> Record<'a> {
    /// A record of names that are known beforehand.
    pub(crate) fn made(names: &'a [&'a str], values: &'a [Value<'a>]) -> Record<'a> {
        Record {
            names: Names::Made(names),
            values,
        }
    }

    /// Whether both were made by one expression.
    pub(crate) fn has_names_of(self, other: Record<'_>) -> bool {
        match (self.names, other.names) {
            (Names::Known(left), Names::Known(right)) => std::ptr::eq(left, right),
            _ => false,
        }
    }

    pub(crate) fn get(self, name: &str) -> Option<Value<'a>> {
        let slot = match self.names {
            Names::Known(names) => names.iter().position(|known| **known == *name),
            Names::Made(names) => names.iter().position(|known| *known == name),
        };
        self.values.get(slot?).copied()
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let values = self.values.iter().enumerate();
        values.filter_map(move |(slot, value)| Some((self.names.get(slot)?, *value)))
    }
}

impl<'a> Value<'a> {
    /// A value of a document.
    #[inline]
    pub(crate) fn of(value: jackdaw_document::Value<'a>) -> Value<'a> {
        match value {
            jackdaw_document::Value::Null => Value::Null,
            jackdaw_document::Value::Bool(is_true) => Value::Bool(is_true),
            jackdaw_document::Value::Long(long) => Value::Long(long),
            jackdaw_document::Value::Double(double) => Value::Double(double),
            jackdaw_document::Value::Number(text) => Value::Number(text),
            jackdaw_document::Value::String(text) => Value::Text(text),
            jackdaw_document::Value::Array(array) => Value::Array(array),
            jackdaw_document::Value::Object(object) => Value::Object(object),
        }
    }

    /// A field of an object, or nothing.
    #[inline]
    pub(crate) fn of_field(value: Option<jackdaw_document::Value<'a>>) -> Value<'a> {
        value.map_or(Value::Missing, Value::of)
    }

    /// Whether it is nothing, missing or not.
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self, Value::Missing | Value::Null)
    }

    /// Whether a condition of this value holds: nothing is false.
    pub(crate) fn is_true(self) -> bool {
        matches!(self, Value::Bool(true))
    }

    pub(crate) fn as_text(self) -> Option<&'a str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, in words of errors.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Value::Missing | Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Long(_) | Value::Double(_) | Value::Decimal(_) | Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::Date(_) => "a date",
            Value::Span(_) => "a span of time",
            Value::Array(_) | Value::List(_) => "an array",
            Value::Object(_) | Value::Record(_) => "an object",
            Value::Document(_) | Value::Metadata(_) => "a document",
            Value::Group(_) => "a group",
        }
    }
}

/// Copies a loaded document into the arena.
pub(crate) fn keep<'a>(
    loaded: &LoadedDocument,
    arena: &'a bumpalo::Bump,
) -> &'a ScriptDocument<'a> {
    let text = |text: &Option<String>| text.as_ref().map(|text| &*arena.alloc_str(text));
    let body = copy_document(&loaded.body, arena);
    let metadata = loaded.metadata.as_ref();
    let metadata = metadata.map(|metadata| copy_document(metadata, arena));
    arena.alloc(ScriptDocument {
        body,
        metadata: metadata.and_then(|metadata| metadata.as_object()),
        collection: text(&loaded.collection),
        id: arena.alloc_str(&loaded.id),
        change_vector: text(&loaded.change_vector),
        last_modified: text(&loaded.last_modified),
    })
}

/// Copies a document into the arena.
pub(crate) fn copy_document<'a>(
    document: &jackdaw_document::DocumentBuf,
    arena: &'a bumpalo::Bump,
) -> jackdaw_document::Value<'a> {
    let bytes = arena.alloc_slice_copy(document.as_bytes());
    jackdaw_document::Document::trusted(bytes).root()
}

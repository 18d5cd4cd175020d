//! Reading request bodies as JSON, and telling clients what is wrong with them.
//!
//! Called by every route with a body. Bodies are parsed by the `document` crate, so that documents
//! inside them keep the exact text of their numbers. As with the reference, what follows the first
//! JSON value is ignored, and members that are not known are skipped.

use jackdaw_document::{
    Builder, Document, DocumentBuf, JsonError, JsonErrorKind, Limits, Object, Parser, Split, Value,
};

use crate::http::Call;
use crate::wire::{WireError, kind};

/// Characters of the body that an error message repeats.
const SNIPPET_CHARS: usize = 40;

/// A parser that accepts whatever the HTTP layer let through.
pub(super) fn parser(call: &Call) -> Parser {
    let len_bytes_max = call.shared.config.body_bytes_max;
    Parser::new(Limits {
        len_bytes_max,
        ..Limits::default()
    })
}

/// The body as one JSON value, to be read from `parser`'s memory.
pub(super) fn parse<'p>(call: &Call, parser: &'p mut Parser) -> Result<Document<'p>, WireError> {
    parse_text(&call.body, parser)
}

fn parse_text<'p>(text: &[u8], parser: &'p mut Parser) -> Result<Document<'p>, WireError> {
    if text.trim_ascii().is_empty() {
        return Err(ended("Stream ended without reaching end of json content"));
    }
    match parser.parse_prefix(text) {
        Ok((document, _)) => Ok(document),
        Err(error) => Err(refused(&error, text)),
    }
}

/// A part of the body as a document of its own.
pub(super) fn copied(value: Value<'_>) -> DocumentBuf {
    let mut builder = Builder::new();
    builder.value(value);
    builder
        .finish()
        .expect("one value makes a complete document")
}

fn ended(message: &str) -> WireError {
    WireError::new(kind::END_OF_STREAM, message)
}

/// A JSON mistake as an error, with the place and what stands there.
pub(super) fn refused(error: &JsonError, text: &[u8]) -> WireError {
    if error.kind == JsonErrorKind::UnexpectedEnd {
        return ended("Attempted to read past the end of the stream.");
    }
    if error.kind == JsonErrorKind::MetadataNotObject {
        return WireError::new(kind::FORMAT, error.kind.to_string());
    }
    let start = error
        .offset
        .saturating_sub(SNIPPET_CHARS / 2)
        .min(text.len());
    let end = (start + SNIPPET_CHARS).min(text.len());
    let around = String::from_utf8_lossy(&text[start..end]);
    let (line, column) = (error.line, error.column);
    WireError::new(
        kind::INVALID_DATA,
        format!("{} at  ({line},{column}) around: {around}", error.kind),
    )
}

/// The body as an object.
pub(super) fn object<'p>(call: &Call, parser: &'p mut Parser) -> Result<Object<'p>, WireError> {
    object_in(&call.body, parser)
}

/// A text as an object.
pub(super) fn object_in<'p>(text: &[u8], parser: &'p mut Parser) -> Result<Object<'p>, WireError> {
    let root = parse_text(text, parser)?.root();
    root.as_object().ok_or_else(|| {
        let message = format!("Expected StartObject , but got {}", token(root));
        WireError::new(kind::INVALID_OPERATION, message)
    })
}

/// What the reference calls the first token of a value.
pub(super) fn token(value: Value<'_>) -> &'static str {
    match value {
        Value::Null => "Null",
        Value::Bool(true) => "True",
        Value::Bool(false) => "False",
        Value::Long(_) => "Integer",
        Value::Double(_) | Value::Number(_) => "Float",
        Value::String(_) => "String",
        Value::Array(_) => "StartArray",
        Value::Object(_) => "StartObject",
    }
}

/// A member with text; null and absent are `None`, anything else is refused.
pub(super) fn text<'d>(object: Object<'d>, name: &str) -> Result<Option<&'d str>, WireError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            let message = format!("Expected '{name}' to be a string, but got {}", token(other));
            Err(WireError::new(kind::FORMAT, message))
        }
    }
}

/// A member that lists strings; null and absent are empty, nulls inside are skipped.
pub(super) fn texts<'d>(object: Object<'d>, name: &str) -> Result<Vec<&'d str>, WireError> {
    let Some(value) = object.get(name).filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let refuse = |what: &str, found: Value<'_>| {
        let message = format!("Expected '{name}' to {what}, but got {}", token(found));
        WireError::new(kind::FORMAT, message)
    };
    let array = value
        .as_array()
        .ok_or_else(|| refuse("be an array", value))?;
    let present = array.iter().filter(|item| !item.is_null());
    present
        .map(|item| item.as_str().ok_or_else(|| refuse("hold strings", item)))
        .collect()
}

/// The body as a document with its `@metadata` apart.
pub(super) fn parse_document<'p>(
    call: &Call,
    parser: &'p mut Parser,
) -> Result<Split<'p>, WireError> {
    let text = call.body.trim_ascii_start();
    if text.is_empty() {
        return Err(ended("Stream ended without reaching end of json content"));
    }
    if text.first() == Some(&b'[') {
        let message = "Expected start of object, but got StartArray";
        return Err(WireError::new(kind::NOT_OBJECT, message));
    }
    let (split, _) = parser
        .parse_split_prefix(text)
        .map_err(|error| refused(&error, text))?;
    if split.body.root().as_object().is_none() {
        let message = format!(
            "Expected start of object, but got {}",
            token(split.body.root())
        );
        return Err(WireError::new(kind::NOT_OBJECT, message));
    }
    Ok(split)
}

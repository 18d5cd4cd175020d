//! Results of a program as entries.

use jackdaw_document::{Builder, DocumentBuf};

use super::format::text_of;
use super::value::Value;
use crate::index::entry::special;
use crate::input::ScriptDocument;

/// Objects inside one another that an entry may have; what lies deeper is null.
const DEPTH_MAX: usize = 64;

/// Calls `emit` with each entry of `results`, a list. `is_final` says that no reduce computes with
/// the entries: spans and decimals keep both their forms then.
///
/// # Errors
/// A result that is no object.
pub(crate) fn entries(
    results: Value<'_>,
    is_final: bool,
    builder: &mut Builder,
    emit: &mut dyn FnMut(DocumentBuf),
) -> Result<(), String> {
    let Value::List(list) = results else {
        return Ok(());
    };
    for result in list {
        match result {
            Value::Record(record) => {
                builder.begin_object();
                for (name, value) in record.iter() {
                    // What the document does not have is left out.
                    if !matches!(value, Value::Missing) {
                        builder.key(name);
                        match is_final {
                            true => write_final(value, builder),
                            false => write(value, 1, builder),
                        }
                    }
                }
                builder.end_object();
            }
            Value::Object(object) => {
                builder.value(jackdaw_document::Value::Object(*object));
            }
            Value::Document(document) => write_body(document, builder),
            Value::Missing | Value::Null => continue,
            other => {
                let kind = other.kind();
                return Err(format!("An entry of an index is an object, not {kind}"));
            }
        }
        let entry = builder.finish().map_err(|error| error.to_string())?;
        emit(entry);
    }
    Ok(())
}

/// Appends the value of a field.
fn write_final(value: Value<'_>, builder: &mut Builder) {
    let number = match value {
        Value::Span(ticks) => ticks.to_string(),
        Value::Decimal(_) => text_of(value),
        _ => return write(value, 1, builder),
    };
    builder.begin_object();
    builder.key(special::TEXT).string(&text_of(value));
    builder.key(special::NUMBER).number(&number);
    builder.end_object();
}

/// Appends a value as documents hold it.
pub(crate) fn write(value: Value<'_>, depth: usize, builder: &mut Builder) {
    if depth > DEPTH_MAX {
        builder.null();
        return;
    }
    match value {
        Value::Missing | Value::Null => {
            builder.null();
        }
        Value::Bool(is_true) => {
            builder.bool(is_true);
        }
        Value::Long(long) => {
            builder.long(long);
        }
        Value::Double(double) => {
            builder.double(double);
        }
        Value::Number(text) => {
            builder.number(text.as_str());
        }
        Value::Text(text) => {
            builder.string(text);
        }
        Value::Decimal(_) => {
            builder.number(&text_of(value));
        }
        Value::Date(_) | Value::Span(_) => {
            builder.string(&text_of(value));
        }
        Value::Array(array) => {
            builder.value(jackdaw_document::Value::Array(array));
        }
        Value::Object(object) => {
            builder.value(jackdaw_document::Value::Object(object));
        }
        Value::Document(document) => write_body(document, builder),
        Value::Metadata(document) => write_metadata(document, builder),
        Value::List(list) => write_list(list, depth, builder),
        Value::Group(group) => write_list(group.elements, depth, builder),
        Value::Record(record) => {
            builder.begin_object();
            for (name, value) in record.iter() {
                let is_special = name == special::OPTIONS;
                if !(is_special && value.is_nothing()) {
                    builder.key(name);
                    write(value, depth + 1, builder);
                }
            }
            builder.end_object();
        }
    }
}

fn write_list(list: &[Value<'_>], depth: usize, builder: &mut Builder) {
    builder.begin_array();
    for item in list {
        write(*item, depth + 1, builder);
    }
    builder.end_array();
}

fn write_body(document: &ScriptDocument<'_>, builder: &mut Builder) {
    builder.value(document.body);
}

fn write_metadata(document: &ScriptDocument<'_>, builder: &mut Builder) {
    builder.begin_object();
    if let Some(collection) = document.collection {
        builder.key("@collection").string(collection);
    }
    for (name, value) in document.metadata.iter().flat_map(|own| own.iter()) {
        builder.key(name).value(value);
    }
    builder.key("@id").string(document.id);
    if let Some(last_modified) = document.last_modified {
        builder.key("@last-modified").string(last_modified);
    }
    builder.end_object();
}

/// The value as JSON text.
pub(crate) fn json_of(value: Value<'_>) -> String {
    let mut builder = Builder::new();
    write(value, 0, &mut builder);
    builder
        .finish()
        .map_or_else(|_| String::new(), |document| document.root().to_json())
}

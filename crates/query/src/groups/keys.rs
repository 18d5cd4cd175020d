//! The keys of a document's groups, as JSON.

use jackdaw_document::{ArrayWriter, Value, write_array};

use crate::fields::FieldPath;
use crate::project::{Found, find, for_each};
use crate::source::StoredDocument;
use crate::syntax::PathPart;

/// The content of a path; null when nothing is there.
pub(super) fn write_key(document: &StoredDocument<'_>, path: &FieldPath, json: &mut Vec<u8>) {
    let Some(parts) = path.metadata_parts() else {
        return write_content(document.body.root(), path.parts(), json);
    };
    if let [PathPart::Name(name)] = parts
        && let Some(text) = document.system_metadata(name)
    {
        return Value::String(&text).write_json(json);
    }
    let metadata = document.metadata.map(|metadata| metadata.root());
    write_content(metadata.unwrap_or(Value::Null), parts, json);
}

/// What is at a path: null when nothing is, an array of all when there are many.
pub(super) fn write_content(root: Value<'_>, parts: &[PathPart], json: &mut Vec<u8>) {
    match find(root, parts) {
        Found::Nothing => json.extend_from_slice(b"null"),
        Found::One(value) => value.write_json(json),
        Found::Many => write_array(json, |list| push_each(root, parts, list)),
    }
}

/// The values of a path that fans out; an element without the property counts as null.
fn push_each(root: Value<'_>, parts: &[PathPart], list: &mut ArrayWriter<'_>) {
    let each = parts.iter().position(|part| *part == PathPart::Each);
    let elements = each.map(|at| (find(root, &parts[..at]), &parts[at + 1..]));
    let Some((Found::One(Value::Array(elements)), rest)) = elements else {
        return for_each(root, parts, &mut |value| list.value(value));
    };
    for element in elements.iter() {
        match find(element, rest) {
            Found::Nothing => list.value(Value::Null),
            Found::One(value) => list.value(value),
            Found::Many => push_each(element, rest, list),
        }
    }
}

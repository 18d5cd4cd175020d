//! Rows: the JSON of a result document or projection, metadata included.
//!
//! Called once a row by `execute`, into a buffer that is reused.

use std::ops::ControlFlow;

use jackdaw_document::{
    METADATA, Object, ObjectWriter, Value, write_document as write_with_metadata, write_object,
};

use crate::bind::FacetItem;
use crate::fields::{FieldPath, made_number, visit_values};
use crate::lengths::length_of;
use crate::order::Nearest;
use crate::scripted::{Loaded, Made};
use crate::source::{EMPTY_COLLECTION, StoredDocument};
use crate::suggest::Suggest;
use crate::syntax::PathPart;

/// Where the values of chosen fields come from in a query over a named index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProjectionBehavior {
    /// From the index when it keeps the field, from the document otherwise.
    #[default]
    Default,
    /// From the index; null when it does not keep the field.
    FromIndex,
    /// From the index; an error when it does not keep the field.
    FromIndexOrThrow,
    /// From the document; null when it lacks the field.
    FromDocument,
    /// From the document; an error when it lacks the field.
    FromDocumentOrThrow,
}

/// The entry of an index beside the document of a row.
pub(crate) struct Kept<'k> {
    /// Its fields.
    pub(crate) values: Value<'k>,
    /// Whether a field is kept to be projected.
    pub(crate) is_stored: &'k dyn Fn(&str) -> bool,
    pub(crate) behavior: ProjectionBehavior,
}

impl Kept<'_> {
    /// The value of a field, when it comes from the index.
    fn value(&self, path: &FieldPath) -> Option<Value<'_>> {
        let name = path.as_str();
        let kept = || match self.values.get(name) {
            Some(value) if (self.is_stored)(name) => Some(shown(value)),
            // A field that was made by name is nowhere else.
            _ => None,
        };
        match self.behavior {
            ProjectionBehavior::Default => kept(),
            ProjectionBehavior::FromIndex | ProjectionBehavior::FromIndexOrThrow => {
                Some(kept().unwrap_or(Value::Null))
            }
            ProjectionBehavior::FromDocument | ProjectionBehavior::FromDocumentOrThrow => None,
        }
    }

    /// The first field that is not where the query insists it is.
    pub(crate) fn missing<'o>(
        &self,
        outputs: &'o [Output],
        document: &StoredDocument<'_>,
    ) -> Option<&'o FieldPath> {
        let mut paths = outputs.iter().filter_map(|output| match &output.source {
            OutputSource::Field(path) => Some(path),
            _ => None,
        });
        match self.behavior {
            ProjectionBehavior::FromIndexOrThrow => paths.find(|path| {
                let name = path.as_str();
                self.values.get(name).is_none() || !(self.is_stored)(name)
            }),
            ProjectionBehavior::FromDocumentOrThrow => paths.find(|path| {
                path.metadata_parts().is_none()
                    && matches!(find(document.body.root(), path.parts()), Found::Nothing)
            }),
            _ => None,
        }
    }
}

/// A value of an entry as rows show it: of one that is a text and a number, the text.
fn shown(value: Value<'_>) -> Value<'_> {
    let made = value.as_object().and_then(made_number);
    made.map_or(value, |(text, _)| Value::String(text))
}

/// What a row holds.
#[derive(Clone, Debug)]
pub(crate) enum Projection {
    /// No JSON at all: the receiver of the rows takes the documents.
    Nothing,
    /// The whole document.
    Document,
    /// A document of `load`, by its position there: a row for each that is there.
    Loaded(usize),
    /// Chosen fields.
    Fields(Vec<Output>),
    /// What the script of the query returns.
    Script,
    /// A time series.
    Series,
    /// Counts of values, instead of rows of matches.
    Facets(Vec<FacetItem>),
    /// Similar terms, instead of rows of matches.
    Suggestions(Vec<Suggest>),
}

/// One field of a row.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) source: OutputSource,
}

/// Where the value of a field comes from.
#[derive(Clone, Debug)]
pub(crate) enum OutputSource {
    /// The document.
    Field(FieldPath),
    /// The document's id.
    Id,
    /// A literal or parameter, as JSON.
    Json(Vec<u8>),
    /// A loaded document, by its position in `load`: all of it, or a field.
    Loaded(usize, Option<FieldPath>),
    /// An element of what the script of the query returns.
    Computed(usize),
    /// A time series, by its position among those of the query.
    Series(usize),
}

impl OutputSource {
    /// Whether the value is a time series.
    pub(crate) fn is_series(&self) -> bool {
        matches!(self, OutputSource::Series(_))
    }
}

/// Appends a stored document as clients see it: its fields, then its metadata.
pub fn write_document(document: &StoredDocument<'_>, out: &mut Vec<u8>) {
    write_scored_document(document, Shown::default(), out);
}

/// What the metadata of a row says of how it was found.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shown {
    /// How well it matches.
    pub(crate) score: Option<f64>,
    /// Its nearest place, when the query orders by distance; `Some(None)` without one.
    pub(crate) place: Option<Option<Nearest>>,
}

/// Appends a document that was found with a score or a distance.
pub(crate) fn write_scored_document(
    document: &StoredDocument<'_>,
    shown: Shown,
    out: &mut Vec<u8>,
) {
    write_with_metadata(document.body.root(), out, |metadata| {
        push_stored_metadata(document, metadata);
        metadata.string("@change-vector", &document.change_vector.to_string());
        write_flags_and_id(document, metadata);
        push_shown(shown, metadata);
        metadata.string("@last-modified", &document.last_modified.to_string());
    });
}

/// Scores are rounded: the last digits of a sum say nothing. A row without a place has texts in
/// place of numbers, as clients know it.
fn push_shown(shown: Shown, metadata: &mut ObjectWriter<'_>) {
    if let Some(score) = shown.score {
        match score == 0.0 {
            true => metadata.long("@index-score", 0),
            false => metadata.double("@index-score", (score * 1e6).round() / 1e6),
        }
    }
    if let Some(near) = shown.place {
        metadata.object("@spatial", |spatial| {
            let at = |of: fn(Nearest) -> f64| near.map(of);
            push_number("Distance", at(|near| near.distance), spatial);
            push_number("Latitude", at(|near| near.at.latitude), spatial);
            push_number("Longitude", at(|near| near.at.longitude), spatial);
        });
    }
}

fn push_number(name: &str, number: Option<f64>, object: &mut ObjectWriter<'_>) {
    match number {
        // Clients know whole numbers without a fraction.
        Some(number) if number.fract() == 0.0 => {
            object.raw(name, format!("{:.0}", number + 0.0).as_bytes());
        }
        Some(number) => object.double(name, number),
        None => object.string(name, "NaN"),
    }
}

fn write_flags_and_id(document: &StoredDocument<'_>, metadata: &mut ObjectWriter<'_>) {
    if !document.flags.is_empty() {
        metadata.string("@flags", &document.flags);
    }
    metadata.string("@id", document.id);
}

/// Appends a result of a reduce: its fields, and metadata that says that it is no document.
pub(crate) fn write_result(document: &StoredDocument<'_>, out: &mut Vec<u8>) {
    write_with_metadata(document.body.root(), out, |metadata| {
        metadata.null("@change-vector");
    });
}

/// Appends the chosen fields of a document, without metadata.
pub(crate) fn write_fields(
    outputs: &[Output],
    document: &StoredDocument<'_>,
    made: &Made<'_>,
    kept: Option<&Kept<'_>>,
    out: &mut Vec<u8>,
) {
    write_object(out, |row| push_fields(outputs, document, made, kept, row));
}

/// Appends a row of chosen fields.
pub(crate) fn write_projection(
    outputs: &[Output],
    document: &StoredDocument<'_>,
    made: &Made<'_>,
    kept: Option<&Kept<'_>>,
    shown: Shown,
    out: &mut Vec<u8>,
) {
    write_object(out, |row| {
        push_fields(outputs, document, made, kept, row);
        push_projected(document, shown, row);
    });
}

/// Appends a row that is an entry of an index: its fields, and metadata that says that it is no
/// document.
pub(crate) fn write_entry_row(entry: Object<'_>, out: &mut Vec<u8>) {
    write_object(out, |object| {
        for (name, value) in entry.iter().filter(|(name, _)| *name != METADATA) {
            object.value(name, shown(value));
        }
        object.object(METADATA, |metadata| metadata.null("@change-vector"));
    });
}

/// Whether a row that a script made is the document as it is.
pub(crate) fn is_document(row: Object<'_>, document: &StoredDocument<'_>) -> bool {
    let Value::Object(body) = document.body.root() else {
        return false;
    };
    let mut fields = row.iter().filter(|(name, _)| *name != METADATA);
    let mut own = body.iter();
    loop {
        match (fields.next(), own.next()) {
            (None, None) => return true,
            (Some(field), Some(own)) if field.0 == own.0 => {
                if field.1.to_json() != own.1.to_json() {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// Appends a row that a script made.
pub(crate) fn write_made_row(
    row: Object<'_>,
    document: &StoredDocument<'_>,
    shown: Shown,
    out: &mut Vec<u8>,
) {
    write_object(out, |object| {
        object.fields_except(row, METADATA);
        push_projected(document, shown, object);
    });
}

/// Appends a row that is a time series.
pub(crate) fn write_series_row(
    document: &StoredDocument<'_>,
    made: &Made<'_>,
    shown: Shown,
    out: &mut Vec<u8>,
) {
    write_object(out, |row| {
        if let Some(answer) = made.series.first() {
            answer.push(row);
        }
        push_projected(document, shown, row);
    });
}

/// The metadata of a row that is no document.
fn push_projected(document: &StoredDocument<'_>, shown: Shown, row: &mut ObjectWriter<'_>) {
    row.object(METADATA, |metadata| {
        metadata.bool("@projection", true);
        // A group is no document of the database.
        if document.id.is_empty() {
            return metadata.null("@change-vector");
        }
        metadata.string("@change-vector", &document.change_vector.to_string());
        write_flags_and_id(document, metadata);
        push_shown(shown, metadata);
        metadata.string("@last-modified", &document.last_modified.to_string());
    });
}

fn push_fields(
    outputs: &[Output],
    document: &StoredDocument<'_>,
    made: &Made<'_>,
    kept: Option<&Kept<'_>>,
    row: &mut ObjectWriter<'_>,
) {
    for output in outputs {
        match &output.source {
            OutputSource::Loaded(slot, path) => {
                push_loaded(&output.name, made.loaded.get(*slot), path.as_ref(), row);
            }
            OutputSource::Computed(slot) => {
                let values = made
                    .value
                    .as_ref()
                    .and_then(|value| value.root().as_array());
                let value = values.and_then(|values| values.get(*slot));
                row.value(&output.name, value.unwrap_or(Value::Null));
            }
            OutputSource::Series(slot) => row.object(&output.name, |object| {
                if let Some(answer) = made.series.get(*slot) {
                    answer.push(object);
                }
                if made.marks_series {
                    object.object(METADATA, |_| {});
                }
            }),
            OutputSource::Id => row.string(&output.name, document.id),
            OutputSource::Json(json) => row.raw(&output.name, json),
            OutputSource::Field(path) => match kept.and_then(|kept| kept.value(path)) {
                Some(value) => row.value(&output.name, value),
                None => push_field(&output.name, path, document, row),
            },
        }
    }
}

/// A loaded document or a field of it; of each when `load` stands for several. A document that is
/// not there is left out.
fn push_loaded(
    name: &str,
    loaded: Option<&Loaded<'_>>,
    path: Option<&FieldPath>,
    row: &mut ObjectWriter<'_>,
) {
    match loaded {
        Some(Loaded::One(Some(document))) => match path {
            Some(path) => push_field(name, path, document, row),
            None => row.raw(name, &nested(document)),
        },
        Some(Loaded::Many(documents)) => row.array(name, |list| {
            for document in documents {
                let root = document.body.root();
                match path {
                    Some(path) => {
                        for_each(root, path.parts(), &mut |value| list.value(value));
                    }
                    None => list.raw(&nested(document)),
                }
            }
        }),
        Some(Loaded::One(None)) | None if path.is_some() => row.null(name),
        Some(Loaded::One(None)) | None => {}
    }
}

/// A document inside a row, with the metadata that it was stored with and its id.
fn nested(document: &StoredDocument<'_>) -> Vec<u8> {
    let mut json = Vec::new();
    write_with_metadata(document.body.root(), &mut json, |metadata| {
        push_stored_metadata(document, metadata);
        metadata.string("@id", document.id);
    });
    json
}

fn push_stored_metadata(document: &StoredDocument<'_>, metadata: &mut ObjectWriter<'_>) {
    if document.collection != EMPTY_COLLECTION {
        metadata.string("@collection", document.collection);
    }
    if let Some(Value::Object(own)) = document.metadata.map(|metadata| metadata.root()) {
        metadata.fields(own);
    }
}

/// A missing value is null; a path that fans out gives an array. Of a row that is no document,
/// such as a result of a reduce, metadata that it has not got is left out.
fn push_field(
    name: &str,
    path: &FieldPath,
    document: &StoredDocument<'_>,
    row: &mut ObjectWriter<'_>,
) {
    let (root, parts) = match path.metadata_parts() {
        None => (Some(document.body.root()), path.parts()),
        Some([PathPart::Name(system)]) if document.system_metadata(system).is_some() => {
            let text = document.system_metadata(system).unwrap_or_default();
            row.string(name, &text);
            return;
        }
        Some(parts) => (document.metadata.map(|metadata| metadata.root()), parts),
    };
    match root.map_or(Found::Nothing, |root| find(root, parts)) {
        Found::Nothing if path.metadata_parts().is_some() && document.id.is_empty() => {}
        Found::Nothing => row.null(name),
        Found::One(value) => row.value(name, value),
        Found::Many => row.array(name, |elements| {
            if let Some(root) = root {
                for_each(root, parts, &mut |value| elements.value(value));
            }
        }),
    }
}

/// What a path leads to in a projection.
pub(crate) enum Found<'a> {
    Nothing,
    One(Value<'a>),
    Many,
}

pub(crate) fn find<'a>(value: Value<'a>, parts: &[PathPart]) -> Found<'a> {
    let Some((part, rest)) = parts.split_first() else {
        return Found::One(value);
    };
    match (part, value) {
        (PathPart::Name(name), Value::Object(object)) => match object.get(name) {
            Some(value) => find(value, rest),
            None => Found::Nothing,
        },
        (PathPart::Name(name), Value::Array(_) | Value::String(_)) => {
            match (length_of(value, name, rest), value) {
                (Some(length), _) => Found::One(length),
                (None, Value::Array(_)) => Found::Many,
                (None, _) => Found::Nothing,
            }
        }
        (PathPart::Each, Value::Array(_)) => Found::Many,
        (PathPart::Each, value) => find(value, rest),
        (PathPart::At(slot), Value::Array(array)) => {
            match usize::try_from(*slot).ok().and_then(|slot| array.get(slot)) {
                Some(value) => find(value, rest),
                None => Found::Nothing,
            }
        }
        _ => Found::Nothing,
    }
}

/// The values of a path that fans out. Elements without the property are left out, but for those
/// that the path takes one by one (`Lines[].Name`).
pub(crate) fn for_each(value: Value<'_>, parts: &[PathPart], visit: &mut dyn FnMut(Value<'_>)) {
    let Some((part, rest)) = parts.split_first() else {
        return visit(value);
    };
    match (part, value) {
        (PathPart::Name(name), Value::Object(object)) => {
            if let Some(value) = object.get(name) {
                for_each(value, rest, visit);
            }
        }
        (PathPart::Name(name), Value::Array(array)) => match length_of(value, name, rest) {
            Some(length) => visit(length),
            None => array
                .iter()
                .filter(|element| !matches!(element, Value::String(_)))
                .for_each(|element| for_each(element, parts, visit)),
        },
        (PathPart::Name(name), Value::String(_)) => {
            if let Some(length) = length_of(value, name, rest) {
                visit(length);
            }
        }
        (PathPart::Each, Value::Array(array)) => {
            array
                .iter()
                .for_each(|element| for_each_in(element, rest, visit));
        }
        (PathPart::Each, value) => for_each(value, rest, visit),
        (PathPart::At(slot), Value::Array(array)) => {
            if let Some(value) = usize::try_from(*slot).ok().and_then(|slot| array.get(slot)) {
                for_each(value, rest, visit);
            }
        }
        _ => {}
    }
}

/// The values of one element of `path[]`: null where it has none, so that arrays made of the same
/// elements stay parallel. A value that has no properties stands for itself.
fn for_each_in(element: Value<'_>, rest: &[PathPart], visit: &mut dyn FnMut(Value<'_>)) {
    match (element, find(element, rest)) {
        (Value::Object(_) | Value::Array(_), Found::Nothing) => visit(Value::Null),
        (element, Found::Nothing) => visit(element),
        (_, Found::One(value)) => visit(value),
        (element, Found::Many) => for_each(element, rest, visit),
    }
}

/// The ids at `path`, for `include`.
pub(crate) fn for_each_id(
    document: &StoredDocument<'_>,
    path: &FieldPath,
    visit: &mut dyn FnMut(&str),
) {
    let _ = visit_values(document, path, &mut |leaf| {
        if let crate::fields::Leaf::Text(id) = leaf {
            visit(id);
        }
        ControlFlow::Continue(())
    });
}

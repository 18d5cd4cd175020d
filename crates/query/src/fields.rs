//! Paths into documents with the rules of conditions: arrays fan out, metadata has its own names.
//!
//! Called by `evaluate`, `order` and `project`, and through [`add_terms`] by index workers: the
//! values a condition sees and the terms of the index come from one walk, so they cannot differ.
//!
//! Rules:
//! - A property of an array is that property of each element: `Lines.P` is as `Lines[].P`.
//! - A value that is an array stands for its elements, at any depth; an empty one for nothing.
//! - `[n]` picks one element.
//! - A missing property, or one of a value that is no object, stands for nothing, but for the
//!   lengths of lists and strings (see `lengths`).

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use jackdaw_base::number::Number;
use jackdaw_base::time;
use jackdaw_document::{Object, Value};
use jackdaw_script::index::special;
use jackdaw_search::{
    Analyzer, EntryTerms, FieldOptions, FieldSlot, FieldTerms, Place, VectorOptions,
};

use crate::lengths::length_of;
use crate::source::StoredDocument;
use crate::syntax::{Path, PathPart};
use crate::vectors::{Embedding, embedding_of, vectors_of};

/// The first part of a path into the metadata.
const METADATA: &str = "@metadata";

/// A path without the alias of the source, and the text it has in field and index names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath {
    parts: Vec<PathPart>,
    text: String,
}

impl FieldPath {
    /// The path `path`, less a first part that is `alias`.
    pub fn new(path: &Path, alias: Option<&str>) -> FieldPath {
        let mut parts = path.parts.as_slice();
        if let ([PathPart::Name(first), PathPart::Name(_), ..], Some(alias)) = (parts, alias)
            && first == alias
        {
            parts = &parts[1..];
        }
        let mut text = String::new();
        for (position, part) in parts.iter().enumerate() {
            match part {
                PathPart::Name(name) => {
                    if position > 0 {
                        text.push('.');
                    }
                    text.push_str(name);
                }
                PathPart::Each => text.push_str("[]"),
                PathPart::At(slot) => text.push_str(&format!("[{slot}]")),
            }
        }
        FieldPath {
            parts: parts.to_vec(),
            text,
        }
    }

    /// Reads a path as index definitions store it: the text of [`FieldPath::as_str`]. Dots
    /// separate properties, so a property with a dot in its name cannot be told apart.
    pub fn parse(text: &str) -> FieldPath {
        let mut parts = Vec::new();
        for piece in text.split('.') {
            let (name, mut rest) = piece.split_at(piece.find('[').unwrap_or(piece.len()));
            parts.push(PathPart::Name(name.to_owned()));
            while let Some((inside, after)) =
                rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            {
                parts.push(match inside.parse() {
                    Ok(slot) => PathPart::At(slot),
                    Err(_) => PathPart::Each,
                });
                rest = after;
            }
        }
        FieldPath {
            parts,
            text: text.to_owned(),
        }
    }

    /// The path to a property with exactly this name: a field of a named index.
    #[must_use]
    pub fn of_name(name: &str) -> FieldPath {
        FieldPath {
            parts: vec![PathPart::Name(name.to_owned())],
            text: name.to_owned(),
        }
    }

    /// The text in index names: `Lines[].Product`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The default name of a projected field: as written, with `[2]` as `.2`.
    pub(crate) fn output_name(&self) -> String {
        let mut name = self.text.clone();
        for part in &self.parts {
            if let PathPart::At(slot) = part {
                name = name.replace(&format!("[{slot}]"), &format!(".{slot}"));
            }
        }
        name
    }

    /// The parts.
    pub(crate) fn parts(&self) -> &[PathPart] {
        &self.parts
    }

    /// The parts behind `@metadata`, when the path leads there.
    pub(crate) fn metadata_parts(&self) -> Option<&[PathPart]> {
        match self.parts.split_first() {
            Some((PathPart::Name(first), rest)) if first == METADATA => Some(rest),
            _ => None,
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One value a path leads to. Arrays never are: their elements are.
#[derive(Clone, Copy, Debug)]
pub enum Leaf<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, and the document's value with its exact text.
    Number(Number, Value<'a>),
    /// A string.
    Text(&'a str),
    /// An object: it exists, and has no order.
    Object(Object<'a>),
}

/// Calls `visit` with every value `path` leads to, until it breaks.
pub fn visit_values(
    document: &StoredDocument<'_>,
    path: &FieldPath,
    visit: &mut dyn FnMut(Leaf<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match path.metadata_parts() {
        Some(rest) => visit_metadata(document, rest, visit),
        None => visit_parts(document.body.root(), path.parts(), &mut |value| {
            visit_leaves(value, visit)
        }),
    }
}

/// Calls `visit` with every value of a path in the body as it is there, arrays too.
pub(crate) fn visit_whole(
    document: &StoredDocument<'_>,
    path: &FieldPath,
    visit: &mut dyn FnMut(Value<'_>),
) {
    let _ = visit_parts(document.body.root(), path.parts(), &mut |value| {
        visit(value);
        ControlFlow::Continue(())
    });
}

fn visit_metadata(
    document: &StoredDocument<'_>,
    parts: &[PathPart],
    visit: &mut dyn FnMut(Leaf<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if let [PathPart::Name(name)] = parts
        && let Some(text) = document.system_metadata(name)
    {
        return visit(Leaf::Text(&text));
    }
    match document.metadata {
        Some(metadata) => visit_parts(metadata.root(), parts, &mut |value| {
            visit_leaves(value, visit)
        }),
        None => ControlFlow::Continue(()),
    }
}

fn visit_parts(
    value: Value<'_>,
    parts: &[PathPart],
    visit: &mut dyn FnMut(Value<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some((part, rest)) = parts.split_first() else {
        return visit(value);
    };
    match (part, value) {
        (PathPart::Name(name), Value::Object(object)) => match object.get(name) {
            Some(value) => visit_parts(value, rest, visit),
            None => ControlFlow::Continue(()),
        },
        (PathPart::Name(name), Value::Array(array)) => match length_of(value, name, rest) {
            Some(length) => visit(length),
            // Only members count here: the texts of a list of objects and texts have none.
            None => array
                .iter()
                .filter(|element| !matches!(element, Value::String(_)))
                .try_for_each(|element| visit_parts(element, parts, visit)),
        },
        (PathPart::Name(name), text @ Value::String(_)) => match length_of(text, name, rest) {
            Some(length) => visit(length),
            None => ControlFlow::Continue(()),
        },
        (PathPart::Each, Value::Array(array)) => array
            .iter()
            .try_for_each(|element| visit_parts(element, rest, visit)),
        (PathPart::Each, value) => visit_parts(value, rest, visit),
        (PathPart::At(slot), Value::Array(array)) => {
            match usize::try_from(*slot).ok().and_then(|slot| array.get(slot)) {
                Some(value) => visit_parts(value, rest, visit),
                None => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    }
}

fn visit_leaves(
    value: Value<'_>,
    visit: &mut dyn FnMut(Leaf<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let leaf = match value {
        Value::Null => Leaf::Null,
        Value::Bool(value) => Leaf::Bool(value),
        Value::String(text) => Leaf::Text(text),
        Value::Object(object) => match made_number(object) {
            // A value that is both passes as either.
            Some((text, value)) => {
                visit(Leaf::Text(text))?;
                match to_number(value) {
                    Some(number) => Leaf::Number(number, value),
                    None => return ControlFlow::Continue(()),
                }
            }
            None => Leaf::Object(object),
        },
        Value::Array(array) => {
            return array
                .iter()
                .try_for_each(|element| visit_leaves(element, visit));
        }
        number => match to_number(number) {
            Some(value) => Leaf::Number(value, number),
            None => return ControlFlow::Continue(()),
        },
    };
    visit(leaf)
}

/// The number a value is, by true value.
pub(crate) fn to_number(value: Value<'_>) -> Option<Number> {
    match value {
        Value::Long(long) => Some(Number::Long(long)),
        Value::Double(double) => Number::from_f64(double),
        Value::Number(text) => Number::parse(text.as_str()),
        _ => None,
    }
}

/// A field of an automatic index, or one that a named index defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexField {
    /// Where its values come from. Of a named index: its name.
    pub path: FieldPath,
    /// What becomes of the values.
    pub kind: FieldKind,
}

/// What becomes of the values of a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    /// Whole texts in lower case, and numbers by value. In a named index: as its definition says.
    Plain,
    /// Whole texts as they are: `exact(...)`.
    Exact,
    /// Full text: `search(...)`.
    Search,
    /// Points, whose longitudes are at another path: `spatial.point(...)`.
    Point(FieldPath),
    /// Shapes as well-known text: `spatial.wkt(...)`.
    Shape,
    /// As the definition of a named index says.
    Named(FieldOptions),
    /// Vectors: `vector.search(...)`.
    Vector(Embedding),
    /// Vectors that a map of a named index made, kept as its definition says.
    NamedVector(Embedding, VectorOptions),
}

impl FieldKind {
    /// Whether its texts are whole values, rather than words, places or vectors.
    pub(crate) fn is_whole_text(&self) -> bool {
        match self {
            FieldKind::Plain | FieldKind::Exact => true,
            FieldKind::Named(options) => !options.analyzer.is_full_text(),
            FieldKind::Search | FieldKind::Point(_) | FieldKind::Shape => false,
            FieldKind::Vector(_) | FieldKind::NamedVector(..) => false,
        }
    }

    /// `text` as its values compare: whole points in time in one spelling.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.is_whole_text() {
            true => time::canonical(text),
            false => Cow::Borrowed(text),
        }
    }
}

impl IndexField {
    /// A field of whole texts in lower case.
    pub fn plain(path: FieldPath) -> IndexField {
        IndexField {
            path,
            kind: FieldKind::Plain,
        }
    }

    /// Vectors of a named index, kept as vectors are when its definition does not say.
    #[must_use]
    pub fn named_vector(name: &str) -> IndexField {
        IndexField {
            path: FieldPath::of_name(name),
            kind: FieldKind::NamedVector(Embedding::F32, VectorOptions::default()),
        }
    }

    /// Name inside the index and in messages: `Name`, `exact(Name)`.
    pub fn name(&self) -> String {
        match &self.kind {
            FieldKind::Plain | FieldKind::Named(_) => self.path.to_string(),
            FieldKind::Exact => format!("exact({})", self.path),
            FieldKind::Search => format!("search({})", self.path),
            FieldKind::Point(longitude) => format!("spatial.point({}|{longitude})", self.path),
            FieldKind::Shape => format!("spatial.wkt({})", self.path),
            FieldKind::Vector(embedding) => {
                format!("vector.search({})", embedding.wrap(&self.path))
            }
            FieldKind::NamedVector(..) => format!("vector.search({})", self.path),
        }
    }

    /// The options the field has in its index.
    pub fn options(&self) -> FieldOptions {
        FieldOptions::new(match &self.kind {
            FieldKind::Named(options) => return *options,
            FieldKind::Vector(embedding) => {
                return FieldOptions::of_vectors(VectorOptions {
                    storage: embedding.storage(),
                    ..VectorOptions::default()
                });
            }
            FieldKind::NamedVector(_, options) => return FieldOptions::of_vectors(*options),
            FieldKind::Plain | FieldKind::Point(_) | FieldKind::Shape => Analyzer::LowercaseKeyword,
            FieldKind::Exact => Analyzer::Keyword,
            FieldKind::Search => Analyzer::Standard,
        })
    }
}

/// The terms of text that `document` has in `field`, as an automatic index has them.
pub(crate) fn terms_of(document: &StoredDocument<'_>, field: &IndexField) -> FieldTerms {
    let mut terms = FieldTerms::new(field.options());
    let _ = visit_values(document, &field.path, &mut |leaf| {
        match leaf {
            Leaf::Null => {}
            Leaf::Bool(value) => terms.add(if value { "true" } else { "false" }),
            Leaf::Text(text) => terms.add(&field.kind.text(text)),
            Leaf::Number(_, value) => terms.add(&number_text(value)),
            Leaf::Object(object) if made_place(object).is_some() => {}
            Leaf::Object(object) => add_object(&field.kind, object, &mut |text| terms.add(text)),
        }
        ControlFlow::Continue(())
    });
    terms
}

/// The places that `document` has in a field of points or shapes. What is no place is passed.
pub(crate) fn places_of(document: &StoredDocument<'_>, field: &IndexField) -> Vec<Place> {
    let numbers = |path: &FieldPath| {
        let mut numbers = Vec::new();
        let _ = visit_values(document, path, &mut |leaf| {
            match leaf {
                Leaf::Number(number, _) => numbers.push(number.to_f64()),
                Leaf::Text(text) => numbers.extend(text_degrees(text)),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        numbers
    };
    match &field.kind {
        FieldKind::Point(longitude) => {
            let pairs = numbers(&field.path).into_iter().zip(numbers(longitude));
            pairs
                .filter_map(|(latitude, longitude)| Place::point(latitude, longitude))
                .collect()
        }
        FieldKind::Shape => {
            let mut places = Vec::new();
            let _ = visit_values(document, &field.path, &mut |leaf| {
                if let Leaf::Text(text) = leaf {
                    places.extend(Place::parse(text));
                }
                ControlFlow::Continue(())
            });
            places
        }
        // Maps of named indexes make places by a method, in any field.
        _ => {
            let mut places = Vec::new();
            let _ = visit_values(document, &field.path, &mut |leaf| {
                if let Leaf::Object(object) = leaf {
                    places.extend(made_place(object));
                }
                ControlFlow::Continue(())
            });
            places
        }
    }
}

/// The text and the number of a value that a map of a named index made as both.
pub(crate) fn made_number<'d>(object: Object<'d>) -> Option<(&'d str, Value<'d>)> {
    let text = object.get(special::TEXT)?.as_str()?;
    Some((text, object.get(special::NUMBER)?))
}

/// Degrees that are written as a text.
fn text_degrees(text: &str) -> Option<f64> {
    let degrees = text.trim().parse::<f64>().ok();
    degrees.filter(|degrees| degrees.is_finite())
}

/// The place that a map of a named index made: an object with `$spatial`, which holds latitude and
/// longitude, or well-known text.
fn made_place(object: Object<'_>) -> Option<Place> {
    match object.get("$spatial")? {
        Value::String(text) => Place::parse(text),
        Value::Object(point) => {
            let degrees = |name: &str| match point.get(name)? {
                Value::String(text) => text_degrees(text),
                value => Some(to_number(value)?.to_f64()),
            };
            Place::point(degrees("Latitude")?, degrees("Longitude")?)
        }
        _ => None,
    }
}

/// Whole numbers below are written with all their digits, as those of 64 bits are.
const WHOLE_MAX: f64 = 9_223_372_036_854_775_808.0;

/// The one text of a number, without a fraction of zeros: 7, not 7.0 or 7.00. Whole numbers beyond
/// 64 bits keep the digits they are written with.
pub(crate) fn number_text(value: Value<'_>) -> String {
    let written = match value {
        Value::Number(text) => text.as_str(),
        _ => "",
    };
    match to_number(value) {
        _ if !written.is_empty() && !written.contains(['.', 'e', 'E']) => value.to_json(),
        Some(Number::Long(long)) if long != 0 => long.to_string(),
        Some(number) => match number.to_f64() {
            whole if whole.fract() == 0.0 && whole.abs() < WHOLE_MAX => format!("{whole:.0}"),
            broken => with_two_digits(Value::Double(broken).to_json()),
        },
        None => value.to_json(),
    }
}

/// A number with the exponent as clients write it: 1E-05, 1E+20.
fn with_two_digits(text: String) -> String {
    let Some((digits, exponent)) = text.split_once(['e', 'E']) else {
        return text;
    };
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}E-{exponent:0>2}"),
        None => format!("{digits}E+{:0>2}", exponent.trim_start_matches('+')),
    }
}

/// The texts of an object: its JSON, or for full text each value inside.
fn add_object(kind: &FieldKind, object: Object<'_>, add: &mut dyn FnMut(&str)) {
    match kind {
        _ if object.contains(special::VECTOR) => {}
        FieldKind::Named(options) if options.analyzer.is_full_text() => {
            add_inside(Value::Object(object), add);
        }
        FieldKind::Point(_) | FieldKind::Shape => {}
        FieldKind::Search => add_inside(Value::Object(object), add),
        _ => add(&Value::Object(object).to_json()),
    }
}

fn add_inside(value: Value<'_>, add: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(object) => object.iter().for_each(|(_, value)| add_inside(value, add)),
        Value::Array(array) => array.iter().for_each(|value| add_inside(value, add)),
        Value::String(text) => add(text),
        Value::Null => {}
        Value::Bool(_) => add(&value.to_json()),
        number => add(&number_text(number)),
    }
}

/// Adds the terms `document` has in `field` to its entry. Index workers call this, so that the
/// index answers as [`matches`](crate::matches) does.
pub fn add_terms(
    document: &StoredDocument<'_>,
    field: &IndexField,
    slot: FieldSlot,
    terms: &mut EntryTerms<'_>,
) {
    if matches!(field.kind, FieldKind::Point(_) | FieldKind::Shape) {
        let places = places_of(document, field);
        return places.iter().for_each(|place| terms.place(slot, place));
    }
    if embedding_of(field).is_some() {
        // What is no vector is passed, as what is no place is.
        return add_vectors(document, field, slot, terms, &mut |_| {});
    }
    let _ = visit_values(document, &field.path, &mut |leaf| {
        match leaf {
            Leaf::Null => terms.null(slot),
            Leaf::Bool(value) => terms.boolean(slot, value),
            Leaf::Text(text) => terms.text(slot, &field.kind.text(text)),
            Leaf::Number(number, value) => terms.number(slot, number, &number_text(value)),
            Leaf::Object(object) => match made_place(object) {
                Some(place) => terms.place(slot, &place),
                None => add_object(&field.kind, object, &mut |text| terms.text(slot, text)),
            },
        }
        ControlFlow::Continue(())
    });
}

/// Adds the vectors `document` has in `field` to its entry; calls `wrong` with a sentence about
/// each value that is none.
pub fn add_vectors(
    document: &StoredDocument<'_>,
    field: &IndexField,
    slot: FieldSlot,
    terms: &mut EntryTerms<'_>,
    wrong: &mut dyn FnMut(String),
) {
    let embedding = embedding_of(field).unwrap_or_default();
    vectors_of(
        document,
        &field.path,
        embedding,
        &mut |vector| match vector {
            Ok(vector) => terms.vector(slot, &vector),
            Err(why) => wrong(why),
        },
    );
}

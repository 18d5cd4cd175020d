//! The `filter` clause: a condition on rows as they are, without the rules of indexes.
//!
//! Unlike `where`: text compares with its case, arrays are values and not lists of values, a
//! missing field equals a missing field and nothing else, and fields compare with fields. Points in
//! time are one value in all spellings, as in `where`.

use std::cmp::Ordering;

use jackdaw_base::number::Number;
use jackdaw_base::time::{self, instant_or_day};
use jackdaw_document::{Array, DocumentBuf, Value};

use crate::evaluate::matches;
use crate::fields::{FieldPath, to_number};
use crate::lengths::own_length_of;
use crate::predicate::Predicate;
use crate::source::StoredDocument;
use crate::syntax::{Comparison, PathPart};

/// A bound filter condition on values of kind `O`.
#[derive(Clone, Debug)]
pub(crate) enum Filter<O = Operand> {
    Everything,
    Not(Box<Filter<O>>),
    And(Vec<Filter<O>>),
    Or(Vec<Filter<O>>),
    Compare(O, Comparison, O),
    Between(O, O, O),
    OneOf(O, Vec<Constant>),
    AllOf(O, Vec<Constant>),
    StartsWith(O, O),
    EndsWith(O, O),
    Exists(O),
}

/// A value of a filter.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Field(FieldPath),
    Id,
    Constant(Constant),
    /// A field of the document of an item of `load`, by its position there; of one that is not
    /// there, null.
    Loaded(usize, FieldPath),
    /// What the script of the conditions computes, by its number.
    Computed(usize),
    /// Whether a condition of `where` holds.
    Where(Box<Predicate>),
}

/// A literal or parameter.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    Null,
    Bool(bool),
    Number(Number),
    Text(Box<str>),
}

/// What an operand is for one document.
#[derive(Clone, Copy)]
pub(crate) enum Found<'a> {
    Missing,
    Null,
    Bool(bool),
    Number(Number),
    Text(&'a str),
    Array(Array<'a>),
    Object,
}

/// Gives the value that a script computes for a document, by its number.
pub(crate) type Compute<'c> = dyn Fn(usize) -> Option<DocumentBuf> + 'c;

/// Whether `document` passes, with the documents of each item of `load`. `compute` runs only for
/// the values that decide.
pub(crate) fn passes(
    filter: &Filter,
    document: &StoredDocument<'_>,
    loaded: &[&[StoredDocument<'_>]],
    compute: &Compute<'_>,
) -> bool {
    holds_for(filter, &|operand, test| match operand {
        Operand::Loaded(slot, path) => match loaded.get(*slot).and_then(|list| list.first()) {
            Some(document) => with_field(path, document, test),
            None => test(Found::Null),
        },
        operand => with_value(operand, document, compute, test),
    })
}

/// A test of the value of an operand.
type ValueTest<'t> = dyn Fn(Found<'_>) -> bool + 't;

/// Whether `filter` holds where `with` calls a test with the value of an operand.
pub(crate) fn holds_for<O>(filter: &Filter<O>, with: &dyn Fn(&O, &ValueTest<'_>) -> bool) -> bool {
    match filter {
        Filter::Everything => true,
        Filter::Not(inner) => !holds_for(inner, with),
        Filter::And(list) => list.iter().all(|filter| holds_for(filter, with)),
        Filter::Or(list) => list.iter().any(|filter| holds_for(filter, with)),
        Filter::Compare(left, comparison, right) => with(left, &|left| {
            with(right, &|right| holds(left, *comparison, right))
        }),
        Filter::Between(value, low, high) => with(value, &|value| {
            with(low, &|low| holds(value, Comparison::GreaterOrEqual, low))
                && with(high, &|high| holds(value, Comparison::LessOrEqual, high))
        }),
        Filter::OneOf(value, list) => with(value, &|value| {
            list.iter()
                .any(|constant| is_equal(value, constant.found()))
        }),
        Filter::AllOf(value, list) => with(value, &|value| {
            !list.is_empty()
                && list
                    .iter()
                    .all(|constant| contains(value, constant.found()))
        }),
        Filter::StartsWith(value, text) => with(value, &|value| {
            with(text, &|text| {
                both_text(value, text, |value, text| value.starts_with(text))
            })
        }),
        Filter::EndsWith(value, text) => with(value, &|value| {
            with(text, &|text| {
                both_text(value, text, |value, text| value.ends_with(text))
            })
        }),
        Filter::Exists(value) => with(value, &|value| !matches!(value, Found::Missing)),
    }
}

impl Constant {
    /// The value.
    pub(crate) fn found(&self) -> Found<'_> {
        match self {
            Constant::Null => Found::Null,
            Constant::Bool(value) => Found::Bool(*value),
            Constant::Number(number) => Found::Number(*number),
            Constant::Text(text) => Found::Text(text),
        }
    }
}

/// Calls `test` with the value of `operand`; metadata may have to be formatted for it.
fn with_value(
    operand: &Operand,
    document: &StoredDocument<'_>,
    compute: &Compute<'_>,
    test: &dyn Fn(Found<'_>) -> bool,
) -> bool {
    match operand {
        Operand::Computed(slot) => match compute(*slot) {
            Some(value) => test(to_found(value.root())),
            None => test(Found::Missing),
        },
        Operand::Where(predicate) => test(Found::Bool(matches(predicate, document))),
        Operand::Constant(constant) => test(constant.found()),
        Operand::Id => test(Found::Text(document.id)),
        // Of the documents of `load`, which the caller has.
        Operand::Loaded(..) => test(Found::Null),
        Operand::Field(path) => with_field(path, document, test),
    }
}

/// Calls `test` with what is at `path`.
pub(crate) fn with_field(
    path: &FieldPath,
    document: &StoredDocument<'_>,
    test: &dyn Fn(Found<'_>) -> bool,
) -> bool {
    let (root, parts) = match path.metadata_parts() {
        None => (Some(document.body.root()), path.parts()),
        Some(parts) => {
            if let [PathPart::Name(name)] = parts
                && let Some(text) = document.system_metadata(name)
            {
                return test(Found::Text(&text));
            }
            (document.metadata.map(|metadata| metadata.root()), parts)
        }
    };
    let value = parts
        .iter()
        .enumerate()
        .try_fold(root, |value, (at, part)| {
            let next = match (value?, part) {
                (Value::Object(object), PathPart::Name(name)) => object.get(name),
                (value @ (Value::Array(_) | Value::String(_)), PathPart::Name(name)) => {
                    own_length_of(value, name, &parts[at + 1..])
                }
                (Value::Array(array), PathPart::At(slot)) => {
                    usize::try_from(*slot).ok().and_then(|slot| array.get(slot))
                }
                (value @ Value::Array(_), PathPart::Each) => Some(value),
                _ => None,
            };
            next.map(Some)
        });
    test(value.flatten().map_or(Found::Missing, to_found))
}

fn to_found(value: Value<'_>) -> Found<'_> {
    match value {
        Value::Null => Found::Null,
        Value::Bool(value) => Found::Bool(value),
        Value::String(text) => Found::Text(text),
        Value::Array(array) => Found::Array(array),
        Value::Object(_) => Found::Object,
        number => to_number(number).map_or(Found::Missing, Found::Number),
    }
}

fn holds(left: Found<'_>, comparison: Comparison, right: Found<'_>) -> bool {
    let order = match (left, right) {
        (Found::Number(left), Found::Number(right)) => Some(left.cmp(&right)),
        (Found::Text(left), Found::Text(right)) => compare_texts(left, right),
        _ => None,
    };
    match comparison {
        Comparison::Equal => is_equal(left, right),
        Comparison::NotEqual => !is_equal(left, right),
        Comparison::Less => order.is_some_and(Ordering::is_lt),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order.is_some_and(Ordering::is_gt),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    }
}

/// Points in time compare as such, and with no other text; other texts by their characters.
fn compare_texts(left: &str, right: &str) -> Option<Ordering> {
    match (instant_or_day(left), instant_or_day(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (None, Some(_)) => None,
        // A range of texts holds points in time too, by their texts.
        (Some(_), None) => Some(time::canonical(left).as_ref().cmp(right)),
        (None, None) => Some(left.cmp(right)),
    }
}

fn is_equal(left: Found<'_>, right: Found<'_>) -> bool {
    match (left, right) {
        (Found::Missing, Found::Missing) | (Found::Null, Found::Null) => true,
        (Found::Bool(left), Found::Bool(right)) => left == right,
        (Found::Number(left), Found::Number(right)) => left == right,
        (Found::Text(left), Found::Text(right)) => {
            left == right
                || instant_or_day(left).is_some_and(|of| Some(of) == instant_or_day(right))
        }
        _ => false,
    }
}

/// Whether an array has an element equal to `wanted`, or another value is equal to it.
fn contains(value: Found<'_>, wanted: Found<'_>) -> bool {
    match value {
        Found::Array(array) => array
            .iter()
            .any(|element| is_equal(to_found(element), wanted)),
        other => is_equal(other, wanted),
    }
}

fn both_text(value: Found<'_>, text: Found<'_>, test: fn(&str, &str) -> bool) -> bool {
    match (value, text) {
        (Found::Text(value), Found::Text(text)) => test(value, text),
        _ => false,
    }
}

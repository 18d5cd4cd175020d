//! Whether a document passes a condition: the meaning that index execution has to reproduce.
//!
//! Called for collection scans, for documents the index has not seen yet, and for those it is not
//! sure about. Nothing is allocated but for numbers compared as text.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};

use jackdaw_base::lowercase::lowercase_char;
use jackdaw_base::time::instant_or_day;
use jackdaw_document::Value;
use jackdaw_search::{FieldOptions, FieldTerms};

use crate::fields::{FieldKind, IndexField, Leaf, number_text, places_of, terms_of, visit_values};
use crate::predicate::{Field, Predicate, Test};
use crate::source::StoredDocument;

/// Whether `document` passes `predicate`. Time is linear in the values the paths lead to.
pub fn matches(predicate: &Predicate, document: &StoredDocument<'_>) -> bool {
    match predicate {
        Predicate::Everything => true,
        Predicate::Nothing => false,
        Predicate::Test(field, test) => passes(field, test, document),
        Predicate::Not(inner) => !matches(inner, document),
        Predicate::And(list) => list.iter().all(|predicate| matches(predicate, document)),
        Predicate::Or(list) => list.iter().any(|predicate| matches(predicate, document)),
        Predicate::Boost(inner, _) => matches(inner, document),
        Predicate::Like(_) => false,
        Predicate::Near(test) => test.holds(document.number),
        Predicate::Intersection(intersection) => intersection.holds(document.number),
    }
}

fn passes(field: &Field, test: &Test, document: &StoredDocument<'_>) -> bool {
    match field {
        Field::Id => text_passes(test, document.id, Case::Folded),
        Field::Values(field) if let Test::Terms(test) = test => {
            let terms = terms_of(document, field);
            test.query(terms.options()).matches(&terms)
        }
        Field::Values(field) if let Test::Place(test) = test => places_of(document, field)
            .iter()
            .any(|place| place.passes(&test.shape, test.relation)),
        Field::Values(IndexField { path, kind }) => {
            let case = match kind {
                FieldKind::Exact => Case::Exact,
                FieldKind::Named(options) if !options.analyzer.folds() => Case::Exact,
                _ => Case::Folded,
            };
            let visited = visit_values(document, path, &mut |leaf| match leaf_passes(
                test, leaf, kind, case,
            ) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
            visited.is_break()
        }
    }
}

/// How the text of a document compares with the text of a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    /// Folded to lower case.
    Folded,
    /// As it is.
    Exact,
}

fn leaf_passes(test: &Test, leaf: Leaf<'_>, kind: &FieldKind, case: Case) -> bool {
    match (test, leaf) {
        (Test::Exists, _) => true,
        (Test::Null, Leaf::Null) => true,
        (Test::OneOf(values), Leaf::Null) => values.has_null(),
        (Test::OneOf(values), Leaf::Number(number, _)) if values.has_number(number) => true,
        (Test::OneOf(values), _) if values.texts().is_empty() => false,
        (Test::Null, _) | (_, Leaf::Null) => false,
        (Test::Number(expected), Leaf::Number(number, _)) => number == *expected,
        (Test::NumberRange(low, high), Leaf::Number(number, _)) => {
            within(low, high, |bound| number.cmp(bound))
        }
        (Test::Number(_) | Test::NumberRange(..), _) => false,
        (_, Leaf::Text(text)) => text_passes(test, &kind.text(text), case),
        // A range of texts holds texts; words of full text are of all kinds.
        (Test::TextRange(..) | Test::TimeRange(..), Leaf::Bool(_) | Leaf::Number(..))
            if kind.is_whole_text() =>
        {
            false
        }
        (_, Leaf::Bool(value)) => text_passes(test, if value { "true" } else { "false" }, case),
        // Rarely reached: text tests mostly meet text.
        (_, Leaf::Number(_, value)) => text_passes(test, &number_text(value), case),
        (_, Leaf::Object(object)) => text_passes(test, &Value::Object(object).to_json(), case),
    }
}

fn text_passes(test: &Test, text: &str, case: Case) -> bool {
    match test {
        Test::Exists => true,
        Test::Null | Test::Number(_) | Test::NumberRange(..) | Test::Place(_) => false,
        Test::OneOf(values) => values.has_text(|value| compare(text, value, case).reverse()),
        Test::Text(expected) => compare(text, expected, case) == Ordering::Equal,
        Test::TextRange(low, high) => within(low, high, |bound| compare(text, bound, case)),
        Test::TimeRange(low, high) => {
            instant_or_day(text).is_some() && within(low, high, |bound| compare(text, bound, case))
        }
        Test::Prefix(prefix) => starts_with(text, prefix, case),
        Test::Suffix(suffix) => ends_with(text, suffix, case),
        // Of an id: one term.
        Test::Terms(test) => {
            let mut terms = FieldTerms::new(FieldOptions::default());
            terms.add(text);
            test.query(terms.options()).matches(&terms)
        }
    }
}

/// Whether a value lies between, where `compare` compares it with a bound.
fn within<T>(low: &Bound<T>, high: &Bound<T>, compare: impl Fn(&T) -> Ordering) -> bool {
    let above = match low {
        Bound::Included(bound) => compare(bound) != Ordering::Less,
        Bound::Excluded(bound) => compare(bound) == Ordering::Greater,
        Bound::Unbounded => true,
    };
    above
        && match high {
            Bound::Included(bound) => compare(bound) != Ordering::Greater,
            Bound::Excluded(bound) => compare(bound) == Ordering::Less,
            Bound::Unbounded => true,
        }
}

/// Order of the document's text and the test's: by code point, which is the order of UTF-8 bytes.
fn compare(text: &str, expected: &str, case: Case) -> Ordering {
    match case {
        Case::Exact => text.cmp(expected),
        Case::Folded => text.chars().map(lowercase_char).cmp(expected.chars()),
    }
}

fn starts_with(text: &str, prefix: &str, case: Case) -> bool {
    match case {
        Case::Exact => text.starts_with(prefix),
        Case::Folded => is_beginning(prefix.chars(), text.chars().map(lowercase_char)),
    }
}

fn ends_with(text: &str, suffix: &str, case: Case) -> bool {
    match case {
        Case::Exact => text.ends_with(suffix),
        Case::Folded => is_beginning(suffix.chars().rev(), text.chars().rev().map(lowercase_char)),
    }
}

fn is_beginning(beginning: impl Iterator<Item = char>, mut of: impl Iterator<Item = char>) -> bool {
    let mut beginning = beginning;
    beginning.all(|expected| of.next() == Some(expected))
}

/// Whether text that is folded already (an id, a term of an index) passes.
pub(crate) fn text_passes_folded(test: &Test, folded: &str) -> bool {
    text_passes(test, folded, Case::Exact)
}

/// Whether no text from `folded` on, in byte order, passes.
pub(crate) fn is_beyond(test: &Test, folded: &str) -> bool {
    match test {
        Test::Prefix(prefix) => !folded.starts_with(&**prefix) && folded > &**prefix,
        Test::TextRange(_, Bound::Included(high)) | Test::TimeRange(_, Bound::Included(high)) => {
            folded > &**high
        }
        Test::TextRange(_, Bound::Excluded(high)) | Test::TimeRange(_, Bound::Excluded(high)) => {
            folded >= &**high
        }
        _ => false,
    }
}

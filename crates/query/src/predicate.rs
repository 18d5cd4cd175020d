//! A bound `where` condition: fields, typed values, no syntax left.
//!
//! Built by `bind`; read by `evaluate` (documents) and `plan` (indexes), which must agree on it.
//!
//! Semantics, for the values a path leads to (see `fields`):
//! - A test holds when any of the values passes it. `not` is the complement: a document without
//!   the field does not pass `F = 1` and passes `F != 1`.
//! - Text compares folded to lower case, by bytes, unless the field is exact.
//! - Numbers compare by true value. Numbers and booleans also pass as their text, but not in
//!   ranges, which hold values of one kind; text never passes as a number.
//! - Texts that are the same point in time are one value; a day is its first moment.
//! - Objects pass only [`Test::Exists`] and tests of their JSON as text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::number::Number;
use jackdaw_search::{Expression, FieldOptions, Fuzzy, Relation, Shape, TextError, TextQuery};

use crate::fields::{FieldKind, IndexField};
use crate::intersect::Intersection;
use crate::like::Like;
use crate::nearest::NearTest;

/// A condition on a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Every document.
    Everything,
    /// No document.
    Nothing,
    /// One test of one field.
    Test(Field, Test),
    /// The complement.
    Not(Box<Predicate>),
    /// All of them hold; at least two.
    And(Vec<Predicate>),
    /// One of them holds; at least two.
    Or(Vec<Predicate>),
    /// The condition, with its part of the score multiplied.
    Boost(Box<Predicate>, f64),
    /// `moreLikeThis`, whose terms take its place before the query is planned; by itself nothing.
    Like(Box<Like>),
    /// `vector.search`, which finds its documents before the query is planned; none until then.
    Near(Box<NearTest>),
    /// `intersect`, which finds its entries before the query is planned; none until then.
    Intersection(Box<Intersection>),
}

/// What a test looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// The document's id, folded to lower case.
    Id,
    /// Values in the document, as an index keeps them.
    Values(IndexField),
}

/// A test of one value. Text is folded already unless the field is exact.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It is null.
    Null,
    /// It is this text.
    Text(Box<str>),
    /// It is this number.
    Number(Number),
    /// It is one of these.
    OneOf(OneOf),
    /// Its text lies between.
    TextRange(Bound<Box<str>>, Bound<Box<str>>),
    /// It is a point in time between, as [`jackdaw_base::time::canonical`] writes them, or a day;
    /// bounds are written likewise.
    TimeRange(Bound<Box<str>>, Bound<Box<str>>),
    /// It is a number between.
    NumberRange(Bound<Number>, Bound<Number>),
    /// Its text begins so.
    Prefix(Box<str>),
    /// Its text ends so.
    Suffix(Box<str>),
    /// It is there, null or not.
    Exists,
    /// It is a place that stands so to a shape.
    Place(PlaceTest),
    /// Its terms pass: words of full text, or the whole text. Looks at all values together.
    Terms(Box<TermsTest>),
}

/// The values of `in (...)`; at least one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneOf {
    null: bool,
    texts: Vec<Box<str>>,
    numbers: Vec<Number>,
}

/// A condition on places.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceTest {
    /// The shape.
    pub shape: Shape,
    /// How the document's place stands to it.
    pub relation: Relation,
}

/// A condition on terms, as it was written and as one kind of field reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct TermsTest {
    written: Written,
    options: FieldOptions,
    query: TextQuery,
}

/// What the query says about terms.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// `search(field, text [, and])`.
    Search {
        /// Words, phrases and wildcards.
        text: Box<str>,
        /// Whether all of them must match.
        all: bool,
    },
    /// `proximity(search(field, text), slop)`.
    Near {
        /// Words.
        text: Box<str>,
        /// How far they may be from their places.
        slop: u32,
    },
    /// `lucene(field, text)`.
    Lucene(Box<str>),
    /// `regex(field, text)`.
    Regex(Expression),
    /// One analyzed term, of `moreLikeThis`.
    Like(Box<str>),
    /// `fuzzy(field = text, similarity)`.
    Fuzzy {
        /// The term.
        text: Box<str>,
        /// Between 0 and 1.
        similarity: f64,
    },
}

impl Written {
    fn read(&self, options: FieldOptions) -> Result<TextQuery, TextError> {
        match self {
            Written::Search { text, all } => TextQuery::search(text, *all, options),
            Written::Near { text, slop } => TextQuery::near(text, *slop, options),
            Written::Lucene(text) => TextQuery::lucene(text, options),
            Written::Regex(expression) => Ok(TextQuery::Expression(expression.clone())),
            Written::Like(term) => Ok(TextQuery::Term(term.clone())),
            Written::Fuzzy { text, similarity } => {
                let term = options.analyzer.fold(text);
                Ok(TextQuery::Fuzzy(Fuzzy::new(&term, *similarity)))
            }
        }
    }
}

impl TermsTest {
    /// Reads what was written for fields with `options`.
    pub(crate) fn new(written: Written, options: FieldOptions) -> Result<TermsTest, TextError> {
        let query = written.read(options)?;
        Ok(TermsTest {
            written,
            options,
            query,
        })
    }

    /// Whether it is a term of `moreLikeThis`.
    pub(crate) fn is_like(&self) -> bool {
        matches!(self.written, Written::Like(_))
    }

    /// The condition for a field with `options`: a named index may analyze in another way than was
    /// known when the query was bound.
    pub(crate) fn query(&self, options: FieldOptions) -> Cow<'_, TextQuery> {
        match options == self.options {
            true => Cow::Borrowed(&self.query),
            // The text was understood before; analyzers differ in tokens only.
            false => Cow::Owned(
                self.written
                    .read(options)
                    .unwrap_or_else(|_| TextQuery::nothing()),
            ),
        }
    }
}

impl OneOf {
    /// Sorts the values for [`OneOf::has_text`] and [`OneOf::has_number`].
    pub(crate) fn new(null: bool, mut texts: Vec<Box<str>>, mut numbers: Vec<Number>) -> OneOf {
        texts.sort_unstable();
        texts.dedup();
        numbers.sort_unstable();
        numbers.dedup();
        OneOf {
            null,
            texts,
            numbers,
        }
    }

    /// Number of different values.
    pub fn len(&self) -> usize {
        usize::from(self.null) + self.texts.len() + self.numbers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether null is one.
    pub(crate) fn has_null(&self) -> bool {
        self.null
    }

    pub(crate) fn texts(&self) -> &[Box<str>] {
        &self.texts
    }

    pub(crate) fn numbers(&self) -> &[Number] {
        &self.numbers
    }

    /// Whether a text is one, where `compare` compares a value of the list with it.
    pub(crate) fn has_text(&self, compare: impl Fn(&str) -> Ordering) -> bool {
        self.texts.binary_search_by(|text| compare(text)).is_ok()
    }

    pub(crate) fn has_number(&self, number: Number) -> bool {
        self.numbers.binary_search(&number).is_ok()
    }
}

impl Field {
    /// `text` as values of this field compare.
    pub(crate) fn fold(&self, text: &str) -> Box<str> {
        match self {
            Field::Values(IndexField {
                kind: FieldKind::Exact,
                ..
            }) => text.into(),
            Field::Values(IndexField {
                kind: FieldKind::Named(options),
                ..
            }) => options.analyzer.fold(text).into(),
            _ => lowercase(text).into(),
        }
    }
}

impl Predicate {
    /// Both conditions.
    pub(crate) fn and(self, other: Predicate) -> Predicate {
        match (self, other) {
            (Predicate::Everything, other) | (other, Predicate::Everything) => other,
            (Predicate::Nothing, _) | (_, Predicate::Nothing) => Predicate::Nothing,
            (Predicate::And(mut list), Predicate::And(more)) => {
                list.extend(more);
                Predicate::And(list)
            }
            (Predicate::And(mut list), other) => {
                list.push(other);
                Predicate::And(list)
            }
            (first, other) => Predicate::And(vec![first, other]),
        }
    }

    /// Whether matches can be found by their ids.
    pub(crate) fn names_ids(&self) -> bool {
        let conjuncts = match self {
            Predicate::And(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        };
        conjuncts.iter().any(|conjunct| {
            let Predicate::Test(Field::Id, test) = conjunct else {
                return false;
            };
            matches!(test, Test::Text(_) | Test::OneOf(_) | Test::Prefix(_))
        })
    }

    /// Either condition.
    pub(crate) fn or(self, other: Predicate) -> Predicate {
        match (self, other) {
            (Predicate::Nothing, other) | (other, Predicate::Nothing) => other,
            (Predicate::Everything, _) | (_, Predicate::Everything) => Predicate::Everything,
            (Predicate::Or(mut list), Predicate::Or(more)) => {
                list.extend(more);
                Predicate::Or(list)
            }
            (Predicate::Or(mut list), other) => {
                list.push(other);
                Predicate::Or(list)
            }
            (first, other) => Predicate::Or(vec![first, other]),
        }
    }

    /// The complement.
    pub(crate) fn negated(self) -> Predicate {
        match self {
            Predicate::Everything => Predicate::Nothing,
            Predicate::Nothing => Predicate::Everything,
            Predicate::Not(inner) => *inner,
            other => Predicate::Not(Box::new(other)),
        }
    }

    /// Calls `visit` with the field of every test.
    pub(crate) fn for_each_field<'p>(&'p self, visit: &mut dyn FnMut(&'p Field)) {
        match self {
            Predicate::Everything | Predicate::Nothing => {}
            Predicate::Test(field, _) => visit(field),
            Predicate::Not(inner) => inner.for_each_field(visit),
            Predicate::And(list) | Predicate::Or(list) => {
                for predicate in list {
                    predicate.for_each_field(visit);
                }
            }
            Predicate::Boost(inner, _) => inner.for_each_field(visit),
            Predicate::Like(_) => {}
            Predicate::Near(test) => visit(&test.field),
            Predicate::Intersection(intersection) => {
                for predicate in intersection.parts() {
                    predicate.for_each_field(visit);
                }
            }
        }
    }

    /// Whether a part of it is boosted or a search for vectors, so that matches come by their
    /// scores.
    pub(crate) fn has_boost(&self) -> bool {
        match self {
            Predicate::Boost(..) | Predicate::Like(_) | Predicate::Near(_) => true,
            Predicate::Not(inner) => inner.has_boost(),
            Predicate::And(list) | Predicate::Or(list) => list.iter().any(Predicate::has_boost),
            Predicate::Intersection(intersection) => {
                intersection.parts().iter().any(Predicate::has_boost)
            }
            Predicate::Everything | Predicate::Nothing | Predicate::Test(..) => false,
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Predicate::Everything => f.write_str("true"),
            Predicate::Nothing => f.write_str("not true"),
            Predicate::Test(field, test) => write!(f, "{field} {test}"),
            Predicate::Not(inner) => write!(f, "not ({inner})"),
            Predicate::And(list) => print_joined(f, list, " and "),
            Predicate::Or(list) => print_joined(f, list, " or "),
            Predicate::Boost(inner, factor) => write!(f, "boost({inner}, {factor})"),
            Predicate::Intersection(intersection) => {
                f.write_str("intersect(")?;
                print_joined(f, intersection.parts(), ", ")?;
                f.write_str(")")
            }
            Predicate::Like(_) => f.write_str("is like what is given"),
            Predicate::Near(test) => {
                let exactly = if test.is_exact { "exactly " } else { "" };
                write!(
                    f,
                    "{} is {exactly}among the {} nearest",
                    test.field, test.count
                )
            }
        }
    }
}

fn print_joined(f: &mut fmt::Formatter<'_>, list: &[Predicate], join: &str) -> fmt::Result {
    for (position, predicate) in list.iter().enumerate() {
        if position > 0 {
            f.write_str(join)?;
        }
        match predicate {
            Predicate::And(_) | Predicate::Or(_) => write!(f, "({predicate})")?,
            _ => write!(f, "{predicate}")?,
        }
    }
    Ok(())
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Id => f.write_str("id()"),
            Field::Values(field) => f.write_str(&field.name()),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Null => f.write_str("= null"),
            Test::Text(text) => write!(f, "= '{text}'"),
            Test::Number(number) => write!(f, "= {}", Shown(*number)),
            Test::OneOf(values) => write!(f, "in ({} values)", values.len()),
            Test::TextRange(low, high) | Test::TimeRange(low, high) => {
                print_range(f, low, high, &|f, text| write!(f, "'{text}'"))
            }
            Test::NumberRange(low, high) => {
                print_range(f, low, high, &|f, number| write!(f, "{}", Shown(*number)))
            }
            Test::Prefix(text) => write!(f, "starts with '{text}'"),
            Test::Suffix(text) => write!(f, "ends with '{text}'"),
            Test::Exists => f.write_str("exists"),
            Test::Terms(test) => write!(f, "{}", test.written),
            Test::Place(test) => f.write_str(match test.relation {
                Relation::Within => "lies within a shape",
                Relation::Contains => "contains a shape",
                Relation::Intersects => "meets a shape",
                Relation::Disjoint => "is apart from a shape",
            }),
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Written::Search { text, all: true } => write!(f, "has all of '{text}'"),
            Written::Search { text, all: false } => write!(f, "has any of '{text}'"),
            Written::Near { text, slop } => write!(f, "has '{text}' within {slop}"),
            Written::Lucene(text) => write!(f, "is as '{text}' says"),
            Written::Regex(expression) => write!(f, "has what fits '{}'", expression.as_str()),
            Written::Like(term) => write!(f, "has '{term}'"),
            Written::Fuzzy { text, .. } => write!(f, "is similar to '{text}'"),
        }
    }
}

fn print_range<T>(
    f: &mut fmt::Formatter<'_>,
    low: &Bound<T>,
    high: &Bound<T>,
    print: &dyn Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    let mut join = "";
    for (bound, included, excluded) in [(low, ">= ", "> "), (high, "<= ", "< ")] {
        match bound {
            Bound::Included(value) => {
                write!(f, "{join}{included}")?;
                print(f, value)?;
            }
            Bound::Excluded(value) => {
                write!(f, "{join}{excluded}")?;
                print(f, value)?;
            }
            Bound::Unbounded => continue,
        }
        join = " and ";
    }
    Ok(())
}

struct Shown(Number);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Number::Long(long) => write!(f, "{long}"),
            Number::Double(double) => write!(f, "{double:?}"),
        }
    }
}

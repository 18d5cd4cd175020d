//! A bound `where` condition: fields, typed values, no syntax left.
//!
//! Built by `bind`; read by `evaluate` (documents) and `plan` (indexes), which must agree on it.
//!
//! Semantics, for the values a path leads to (see `fields`):
//! - A test holds when any of the values passes it. `not` is the complement: a document without
//!   the field does not pass `F = 1` and passes `F != 1`.
//! - Text compares folded to lower case, by bytes, unless the field is exact.
//! - Numbers compare by true value. Numbers and booleans also pass as the text they have in JSON;
//!   text never passes as a number.
//! - Objects pass only [`Test::Exists`] and tests of their JSON as text.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::number::Number;

use crate::fields::{FieldKind, IndexField};

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
    /// It is a number between.
    NumberRange(Bound<Number>, Bound<Number>),
    /// Its text begins so.
    Prefix(Box<str>),
    /// Its text ends so.
    Suffix(Box<str>),
    /// It is there, null or not.
    Exists,
    /// A word of its text passes.
    Word(SearchTerm),
}

/// The values of `in (...)`; at least one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OneOf {
    null: bool,
    texts: Vec<Box<str>>,
    numbers: Vec<Number>,
}

/// One term of a search, folded to lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchTerm {
    /// A word is this.
    Word(Box<str>),
    /// A word begins so.
    Prefix(Box<str>),
    /// A word ends so.
    Suffix(Box<str>),
    /// A word has this inside.
    Inside(Box<str>),
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
            Test::TextRange(low, high) => {
                print_range(f, low, high, &|f, text| write!(f, "'{text}'"))
            }
            Test::NumberRange(low, high) => {
                print_range(f, low, high, &|f, number| write!(f, "{}", Shown(*number)))
            }
            Test::Prefix(text) => write!(f, "starts with '{text}'"),
            Test::Suffix(text) => write!(f, "ends with '{text}'"),
            Test::Exists => f.write_str("exists"),
            Test::Word(SearchTerm::Word(word)) => write!(f, "has word '{word}'"),
            Test::Word(SearchTerm::Prefix(word)) => write!(f, "has word '{word}*'"),
            Test::Word(SearchTerm::Suffix(word)) => write!(f, "has word '*{word}'"),
            Test::Word(SearchTerm::Inside(word)) => write!(f, "has word '*{word}*'"),
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

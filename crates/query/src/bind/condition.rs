//! Binds a `where` condition: fields without alias, values with parameters, methods understood.
//!
//! Called by `query`; methods are in `method`. What a comparison means is decided here once: the
//! evaluator and the index see only tests.

use std::cmp::Ordering;
use std::ops::Bound;

use jackdaw_base::time::{UnixTicks, instant_or_day};

use super::method::Method;
use super::query::IndexSchema;
use crate::error::QueryError;
use crate::fields::{FieldKind, FieldPath, IndexField};
use crate::parameters::{Parameters, Resolved};
use crate::predicate::{Field, OneOf, Predicate, Test};
use crate::syntax::{Argument, Call, Comparison, Expression, IN_ITEM_COUNT_MAX, Path, Value};

const OPERATORS: &str = "Valid operators are: 'in', 'between', =, <, >, <=, >=, !=";

/// What stays the same for all parts of a condition.
#[derive(Clone, Copy)]
pub(super) struct Binder<'q, 'p> {
    pub(super) alias: Option<&'q str>,
    pub(super) parameters: Parameters<'p>,
    /// Inside `exact(...)`.
    pub(super) exact: bool,
    /// The query names an index with a definition of its own: fields are those of its definition.
    pub(super) is_named: bool,
    /// The named index that the query is over; its fields say themselves how they are kept.
    pub(super) schema: Option<&'q dyn IndexSchema>,
}

impl<'q, 'p: 'q> Binder<'q, 'p> {
    /// The predicate of a condition; a `when` that does not apply leaves no condition.
    pub(super) fn predicate(&self, expression: &'q Expression) -> Result<Predicate, QueryError> {
        Ok(self.optional(expression)?.unwrap_or(Predicate::Everything))
    }

    /// `None` when nothing is left of the condition, because a `when` in it does not apply.
    fn optional(&self, expression: &'q Expression) -> Result<Option<Predicate>, QueryError> {
        match expression {
            Expression::Call(call) if call.is("when") => match self.applies(call)? {
                Some(predicate) => self.optional(predicate),
                None => Ok(None),
            },
            Expression::Not(inner) => Ok(self.optional(inner)?.map(Predicate::negated)),
            Expression::And(operands) => self.fold(operands, Predicate::and),
            Expression::Or(operands) => self.fold(operands, Predicate::or),
            other => self.single(other).map(Some),
        }
    }

    fn fold(
        &self,
        operands: &'q [Expression],
        join: fn(Predicate, Predicate) -> Predicate,
    ) -> Result<Option<Predicate>, QueryError> {
        let mut joined = None;
        for operand in operands {
            if let Some(next) = self.optional(operand)? {
                joined = Some(match joined {
                    Some(earlier) => join(earlier, next),
                    None => next,
                });
            }
        }
        Ok(joined)
    }

    /// A condition that is no `and`, `or`, `not` or `when`.
    fn single(&self, expression: &'q Expression) -> Result<Predicate, QueryError> {
        match expression {
            Expression::Value(Value::Bool(true)) => Ok(Predicate::Everything),
            Expression::Value(_) => Err(QueryError::invalid(format!(
                "Expected a condition, but got the value: {expression}"
            ))),
            Expression::Path(path) => Err(QueryError::invalid(format!(
                "Expected operator after '{path}' field, but found nothing. {OPERATORS}"
            ))),
            Expression::CallMember(call, _) => Err(QueryError::invalid(format!(
                "Expected operator after '{call}', but found a field. {OPERATORS}"
            ))),
            Expression::Call(call) => self.method(call),
            Expression::Compare {
                left,
                operator,
                right,
            } => {
                let field = self.field(left)?;
                let value = self.right_side(right)?;
                self.comparison(field, *operator, value)
            }
            Expression::Between { value, low, high } => {
                let field = self.field(value)?;
                let (low, high) = (self.right_side(low)?, self.right_side(high)?);
                self.between(field, low, high)
            }
            Expression::In { value, all, items } => {
                let field = self.field(value)?;
                let values = self.in_values(&field, items)?;
                Ok(if *all {
                    all_in(&field, &values)
                } else {
                    one_of(field, &values)
                })
            }
            Expression::Not(_) | Expression::And(_) | Expression::Or(_) => {
                self.predicate(expression)
            }
        }
    }

    /// The field on the left-hand side.
    pub(super) fn field(&self, expression: &Expression) -> Result<Field, QueryError> {
        match expression {
            Expression::Path(path) => Ok(self.path_field(path)),
            Expression::Call(call) => match Method::of(&call.name) {
                Method::Id => {
                    self.check_id_argument(call)?;
                    Ok(Field::Id)
                }
                Method::CompareExchange => Err(QueryError::Argument(
                    "The method CompareExchange on the left side inside the WHERE clause is not \
                     supported."
                        .into(),
                )),
                method => Err(method.refused_in_where(&call.name)),
            },
            _ => Err(QueryError::invalid(format!(
                "Expected a field on the left of an operator, but got: {expression}"
            ))),
        }
    }

    fn path_field(&self, path: &Path) -> Field {
        let path = FieldPath::new(path, self.alias);
        Field::Values(match self.schema {
            Some(schema) => schema.field(path.as_str()),
            None => IndexField {
                path,
                kind: match self.exact && !self.is_named {
                    true => FieldKind::Exact,
                    false => FieldKind::Plain,
                },
            },
        })
    }

    /// `id()` and `id(alias)`.
    pub(super) fn check_id_argument(&self, call: &Call) -> Result<(), QueryError> {
        match call.arguments.as_slice() {
            [] => Ok(()),
            [Argument::Expression(Expression::Path(path))]
                if path.as_name().is_some_and(|name| Some(name) == self.alias) =>
            {
                Ok(())
            }
            _ => Err(QueryError::invalid(format!(
                "The method id() takes the alias of the source or nothing, but got: {call}"
            ))),
        }
    }

    /// A field given as an argument: a path, a quoted path, or `id()`.
    pub(super) fn field_argument(
        &self,
        call: &'q Call,
        position: usize,
    ) -> Result<Field, QueryError> {
        match call.arguments.get(position) {
            Some(Argument::Expression(Expression::Value(Value::String(name)))) => {
                Ok(self.path_field(&Path::name(name.clone())))
            }
            Some(Argument::Expression(expression)) => self.field(expression),
            _ => Err(QueryError::invalid(format!(
                "Expected a field as argument {} of {}(), but got: {call}",
                position + 1,
                call.name
            ))),
        }
    }

    /// A value given as an argument.
    pub(super) fn value_argument(
        &self,
        call: &'q Call,
        position: usize,
    ) -> Result<Resolved<'q>, QueryError> {
        match call.arguments.get(position) {
            Some(Argument::Expression(Expression::Value(value))) => self.parameters.resolve(value),
            _ => Err(QueryError::invalid(format!(
                "Expected a value as argument {} of {}(), but got: {call}",
                position + 1,
                call.name
            ))),
        }
    }

    pub(super) fn right_side(
        &self,
        expression: &'q Expression,
    ) -> Result<Resolved<'q>, QueryError> {
        match expression {
            Expression::Value(value) => self.parameters.resolve(value),
            Expression::Path(path) => Err(QueryError::invalid(format!(
                "Expected value, but got: <Field>: {path}"
            ))),
            Expression::Call(call) | Expression::CallMember(call, _) => {
                Err(match Method::of(&call.name) {
                    Method::CompareExchange => QueryError::not_executed("cmpxchg()", ""),
                    Method::Now => QueryError::not_executed(
                        "now() or today()",
                        "Pass the time as a parameter.",
                    ),
                    _ => QueryError::NotSupported(format!(
                        "Method '{}' is not supported as a value.",
                        call.name
                    )),
                })
            }
            _ => Err(QueryError::invalid(format!(
                "Expected value, but got: {expression}"
            ))),
        }
    }

    fn comparison(
        &self,
        field: Field,
        operator: Comparison,
        value: Resolved<'_>,
    ) -> Result<Predicate, QueryError> {
        match operator {
            Comparison::Equal => equals(field, &value),
            Comparison::NotEqual => Ok(equals(field, &value)?.negated()),
            Comparison::Less => range(field, None, Some((&value, false))),
            Comparison::LessOrEqual => range(field, None, Some((&value, true))),
            Comparison::Greater => range(field, Some((&value, false)), None),
            Comparison::GreaterOrEqual => range(field, Some((&value, true)), None),
        }
    }

    fn between(
        &self,
        field: Field,
        low: Resolved<'_>,
        high: Resolved<'_>,
    ) -> Result<Predicate, QueryError> {
        if !low.is_compatible(&high) {
            return Err(QueryError::invalid(format!(
                "Incompatible types of values in BETWEEN on '<Field>: {field}' field. It got \
                 values of the following types: {},{}",
                low.type_name(),
                high.type_name()
            )));
        }
        if matches!(low, Resolved::Null) || matches!(high, Resolved::Null) {
            return Ok(Predicate::Nothing);
        }
        range(field, Some((&low, true)), Some((&high, true)))
    }

    /// The values of an `in` list, arrays of parameters flattened.
    fn in_values(
        &self,
        field: &Field,
        items: &'q [Value],
    ) -> Result<Vec<Resolved<'q>>, QueryError> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match self.parameters.resolve(item)? {
                Resolved::Array(array) => {
                    let first = values.len();
                    values.extend(array.iter().map(Resolved::from_json));
                    check_array_types(&values[first..])?;
                }
                value => values.push(value),
            }
            if values.len() > IN_ITEM_COUNT_MAX {
                return Err(QueryError::invalid(format!(
                    "Expected at most {IN_ITEM_COUNT_MAX} values of IN on '<Field>: {field}' \
                     field: split the query"
                )));
            }
        }
        let typed = values.iter().find(|value| !matches!(value, Resolved::Null));
        if let Some(typed) = typed
            && let Some(other) = values.iter().find(|value| !value.is_compatible(typed))
        {
            return Err(QueryError::invalid(format!(
                "Incompatible types of variables in WHERE clause on '<Field>: {field}' field. It \
                 got values of the following types: {},{}",
                typed.type_name(),
                other.type_name()
            )));
        }
        Ok(values)
    }
}

/// One array parameter must hold values of one type.
fn check_array_types(values: &[Resolved<'_>]) -> Result<(), QueryError> {
    let Some(typed) = values.iter().find(|value| !matches!(value, Resolved::Null)) else {
        return Ok(());
    };
    match values.iter().find(|value| !value.is_compatible(typed)) {
        None => Ok(()),
        Some(other) => Err(QueryError::invalid(format!(
            "Expected query parameter to be {} but was {}: {}",
            typed.type_name(),
            other.type_name(),
            other.shown()
        ))),
    }
}

fn equals(field: Field, value: &Resolved<'_>) -> Result<Predicate, QueryError> {
    if let Resolved::Array(_) = value {
        return Err(QueryError::invalid(format!(
            "Parameter value '{}' of type array is not supported: write in ($list) to match any \
             of its values",
            value.shown()
        )));
    }
    Ok(one_of(field, std::slice::from_ref(value)))
}

/// Any of the values; objects match nothing.
fn one_of(field: Field, values: &[Resolved<'_>]) -> Predicate {
    let (mut null, mut texts, mut numbers) = (false, Vec::new(), Vec::new());
    for value in values {
        match value {
            Resolved::Null => null = true,
            Resolved::Bool(value) => texts.push(field.fold(&value.to_string())),
            Resolved::Number(number) => numbers.push(*number),
            Resolved::Text(text) => texts.extend(spellings(&field, text)),
            Resolved::Array(_) | Resolved::Object(_) => {}
        }
    }
    let values = OneOf::new(null, texts, numbers);
    let test = match (values.has_null(), values.texts(), values.numbers()) {
        (false, [], []) => return Predicate::Nothing,
        (true, [], []) => Test::Null,
        (false, [text], []) => Test::Text(text.clone()),
        (false, [], [number]) => Test::Number(*number),
        _ => Test::OneOf(values),
    };
    Predicate::Test(field, test)
}

/// Every value; an empty list matches nothing.
fn all_in(field: &Field, values: &[Resolved<'_>]) -> Predicate {
    if values.is_empty() {
        return Predicate::Nothing;
    }
    values.iter().fold(Predicate::Everything, |all, value| {
        all.and(one_of(field.clone(), std::slice::from_ref(value)))
    })
}

/// The terms that mean the same as `text`: itself, or what a point in time or a day has.
fn spellings(field: &Field, text: &str) -> Vec<Box<str>> {
    match point_in_time(field, text) {
        None => vec![field.fold(text)],
        Some(time) => {
            let day = time.day();
            let texts = std::iter::once(time.to_string()).chain(day);
            texts.map(|text| field.fold(&text)).collect()
        }
    }
}

/// One end of a range of points in time: at midnight, the first or the last of the two terms that
/// mean it.
fn time_end(field: &Field, time: UnixTicks, first: bool) -> Box<str> {
    let day = time.day().filter(|_| first);
    field.fold(&day.unwrap_or_else(|| time.to_string()))
}

/// The point in time that `text` is, for a field that keeps whole texts.
fn point_in_time(field: &Field, text: &str) -> Option<UnixTicks> {
    match field {
        Field::Values(field) if field.kind.is_whole_text() => instant_or_day(text),
        _ => None,
    }
}

type End<'v, 'r> = Option<(&'v Resolved<'r>, bool)>;

/// Values between two ends of one type; each end says whether it is included.
fn range(field: Field, low: End<'_, '_>, high: End<'_, '_>) -> Result<Predicate, QueryError> {
    let Some((typed, _)) = low.or(high) else {
        return Ok(Predicate::Everything);
    };
    let test = match typed {
        Resolved::Null | Resolved::Object(_) => return Ok(Predicate::Nothing),
        Resolved::Array(_) => {
            return Err(QueryError::invalid(format!(
                "Parameter value '{}' of type array is not supported",
                typed.shown()
            )));
        }
        Resolved::Number(_) => {
            let number = |value: &Resolved<'_>| match value {
                Resolved::Number(number) => Some(*number),
                _ => None,
            };
            let (low, high) = (bound(low, number), bound(high, number));
            if is_empty_range(&low, &high) {
                return Ok(Predicate::Nothing);
            }
            Test::NumberRange(low, high)
        }
        Resolved::Bool(_) => return Ok(booleans_between(field, low, high)),
        Resolved::Text(_) => {
            let time = |value: &Resolved<'_>| match value {
                Resolved::Text(text) => point_in_time(&field, text),
                _ => None,
            };
            let ends = [low, high].into_iter().flatten();
            let is_of_times = ends.into_iter().all(|(value, _)| time(value).is_some());
            let text = |value: &Resolved<'_>, first: bool| match value {
                Resolved::Text(text) => Some(match time(value) {
                    Some(time) => time_end(&field, time, first),
                    None => field.fold(text),
                }),
                _ => None,
            };
            // A point in time that is included is so as a day too.
            let low = bound(low, |value| text(value, low.is_some_and(|(_, with)| with)));
            let high = bound(high, |value| {
                text(value, high.is_some_and(|(_, with)| !with))
            });
            if is_empty_range(&low, &high) {
                return Ok(Predicate::Nothing);
            }
            match is_of_times {
                true => Test::TimeRange(low, high),
                false => Test::TextRange(low, high),
            }
        }
    };
    Ok(Predicate::Test(field, test))
}

/// The booleans between two ends: false is the lesser.
fn booleans_between(field: Field, low: End<'_, '_>, high: End<'_, '_>) -> Predicate {
    let lies = |value: bool, end: End<'_, '_>, wanted: Ordering| match end {
        Some((Resolved::Bool(bound), included)) => match value.cmp(bound) {
            Ordering::Equal => included,
            order => order == wanted,
        },
        _ => true,
    };
    let values = [false, true].map(|value| {
        let lies_between = lies(value, low, Ordering::Greater) && lies(value, high, Ordering::Less);
        lies_between.then_some(Resolved::Bool(value))
    });
    one_of(field, &values.into_iter().flatten().collect::<Vec<_>>())
}

fn bound<T>(end: End<'_, '_>, convert: impl Fn(&Resolved<'_>) -> Option<T>) -> Bound<T> {
    match end.and_then(|(value, included)| Some((convert(value)?, included))) {
        Some((value, true)) => Bound::Included(value),
        Some((value, false)) => Bound::Excluded(value),
        None => Bound::Unbounded,
    }
}

fn is_empty_range<T: Ord>(low: &Bound<T>, high: &Bound<T>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (
            Bound::Included(low) | Bound::Excluded(low),
            Bound::Included(high) | Bound::Excluded(high),
        ) => low >= high,
        _ => false,
    }
}

//! `when(condition, predicate)`: a predicate that counts only if its condition on parameters holds.
//!
//! Called by `condition`. The condition sees parameters and literals, no document. A parameter that
//! the request lacks is null. Rules by type:
//!
//! - numbers compare as numbers; the text of a number counts as one;
//! - strings compare without regard to case, with strings only;
//! - booleans know `=` and `!=` only;
//! - null is equal to null alone; orders never hold for it.

use std::cmp::Ordering;

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::number::Number;

use super::condition::Binder;
use crate::error::QueryError;
use crate::parameters::Resolved;
use crate::syntax::{Argument, Call, Comparison, Expression, Value};

impl<'q, 'p: 'q> Binder<'q, 'p> {
    /// The predicate of `when` if its condition holds.
    pub(super) fn applies(&self, call: &'q Call) -> Result<Option<&'q Expression>, QueryError> {
        let [
            Argument::Expression(condition),
            Argument::Expression(predicate),
        ] = call.arguments.as_slice()
        else {
            return Err(QueryError::invalid(
                "when() takes a condition on parameters and a predicate: when($x != null, F = $x)",
            ));
        };
        Ok(self.holds(condition)?.then_some(predicate))
    }

    fn holds(&self, condition: &'q Expression) -> Result<bool, QueryError> {
        match condition {
            Expression::Value(Value::Bool(value)) => Ok(*value),
            Expression::Not(inner) => Ok(!self.holds(inner)?),
            Expression::And(list) => list
                .iter()
                .try_fold(true, |all, operand| Ok(all & self.holds(operand)?)),
            Expression::Or(list) => list
                .iter()
                .try_fold(false, |any, operand| Ok(any | self.holds(operand)?)),
            Expression::Compare {
                left,
                operator,
                right,
            } => {
                let (left, right) = (self.operand(left)?, self.operand(right)?);
                compare(&left, *operator, &right)
            }
            Expression::In { value, all, items } => {
                let value = self.operand(value)?;
                let mut list = Vec::new();
                for item in items {
                    match self.parameter_or_null(item)? {
                        Resolved::Array(array) => {
                            list.extend(array.iter().map(Resolved::from_json));
                        }
                        item => list.push(item),
                    }
                }
                is_in(&value, *all, &list)
            }
            other => Err(refused(other)),
        }
    }

    fn operand(&self, expression: &'q Expression) -> Result<Resolved<'q>, QueryError> {
        match expression {
            Expression::Value(value) => self.parameter_or_null(value),
            other => Err(refused(other)),
        }
    }

    fn parameter_or_null(&self, value: &'q Value) -> Result<Resolved<'q>, QueryError> {
        match value {
            Value::Parameter(name) if !self.parameters.has(name) => Ok(Resolved::Null),
            value => self.parameters.resolve(value),
        }
    }
}

fn refused(expression: &Expression) -> QueryError {
    QueryError::invalid(format!(
        "The condition of when() compares parameters with values, but got: {expression}"
    ))
}

/// `in`: a member equal to the value; `all in`: every member is in the value's array.
fn is_in(value: &Resolved<'_>, all: bool, list: &[Resolved<'_>]) -> Result<bool, QueryError> {
    if !all {
        return list.iter().try_fold(false, |any, item| {
            Ok(any | compare(value, Comparison::Equal, item)?)
        });
    }
    let Resolved::Array(array) = value else {
        return Err(QueryError::invalid(
            "The value of ALL IN in when() must be an array",
        ));
    };
    for item in list {
        let mut found = false;
        for element in array.iter() {
            found |= compare(&Resolved::from_json(element), Comparison::Equal, item)?;
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(!list.is_empty())
}

fn compare(
    left: &Resolved<'_>,
    operator: Comparison,
    right: &Resolved<'_>,
) -> Result<bool, QueryError> {
    let is_equality = matches!(operator, Comparison::Equal | Comparison::NotEqual);
    let order = match (left, right) {
        (Resolved::Null, Resolved::Null) => is_equality.then_some(Ordering::Equal),
        (Resolved::Null, _) | (_, Resolved::Null) => None,
        (Resolved::Bool(left), Resolved::Bool(right)) if is_equality => Some(left.cmp(right)),
        (Resolved::Number(left), Resolved::Number(right)) => Some(left.cmp(right)),
        (Resolved::Text(text), Resolved::Number(right)) => {
            Number::parse(text).map(|left| left.cmp(right))
        }
        (Resolved::Number(left), Resolved::Text(text)) => {
            Number::parse(text).map(|right| left.cmp(&right))
        }
        (Resolved::Text(left), Resolved::Text(right)) => {
            Some(lowercase(left).cmp(&lowercase(right)))
        }
        _ => {
            return Err(QueryError::invalid(format!(
                "when() cannot compare {} with {}",
                left.type_name(),
                right.type_name()
            )));
        }
    };
    Ok(match operator {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::NotEqual => order != Some(Ordering::Equal),
        Comparison::Less => order.is_some_and(Ordering::is_lt),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order.is_some_and(Ordering::is_gt),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    })
}

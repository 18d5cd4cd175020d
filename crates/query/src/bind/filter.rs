//! Binds the `filter` clause: fields, constants with parameters, and the few methods it has.
//!
//! Called by `query`. Values keep their types: `filter` compares as JSON does, not as an index.

use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::filter::{Constant, Filter, Operand};
use crate::parameters::Resolved;
use crate::syntax::{Argument, Call, Expression, Value};

pub(super) fn bind_filter<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    expression: &'q Expression,
) -> Result<Filter, QueryError> {
    let bind_all = |list: &'q [Expression]| -> Result<Vec<Filter>, QueryError> {
        list.iter()
            .map(|expression| bind_filter(binder, expression))
            .collect()
    };
    match expression {
        Expression::Value(Value::Bool(true)) => Ok(Filter::Everything),
        Expression::Not(inner) => Ok(Filter::Not(Box::new(bind_filter(binder, inner)?))),
        Expression::And(list) => Ok(Filter::And(bind_all(list)?)),
        Expression::Or(list) => Ok(Filter::Or(bind_all(list)?)),
        Expression::Compare {
            left,
            operator,
            right,
        } => Ok(Filter::Compare(
            operand(binder, left)?,
            *operator,
            operand(binder, right)?,
        )),
        Expression::Between { value, low, high } => Ok(Filter::Between(
            operand(binder, value)?,
            operand(binder, low)?,
            operand(binder, high)?,
        )),
        Expression::In { value, all, items } => {
            let value = operand(binder, value)?;
            let mut constants = Vec::with_capacity(items.len());
            for item in items {
                match binder.parameters.resolve(item)? {
                    Resolved::Array(array) => {
                        for element in array.iter() {
                            constants.push(constant(Resolved::from_json(element))?);
                        }
                    }
                    value => constants.push(constant(value)?),
                }
            }
            Ok(match all {
                true => Filter::AllOf(value, constants),
                false => Filter::OneOf(value, constants),
            })
        }
        Expression::Call(call) => method(binder, call),
        other => Err(QueryError::invalid(format!(
            "Expected a condition, but got: {other}"
        ))),
    }
}

fn method<'q, 'p: 'q>(binder: &Binder<'q, 'p>, call: &'q Call) -> Result<Filter, QueryError> {
    let argument = |position: usize| match call.arguments.get(position) {
        Some(Argument::Expression(expression)) => Ok(expression),
        _ => Err(QueryError::invalid(format!(
            "Expected argument {} of {}()",
            position + 1,
            call.name
        ))),
    };
    if call.is("startsWith") || call.is("endsWith") {
        let (value, text) = (
            operand(binder, argument(0)?)?,
            operand(binder, argument(1)?)?,
        );
        return Ok(match call.is("startsWith") {
            true => Filter::StartsWith(value, text),
            false => Filter::EndsWith(value, text),
        });
    }
    if call.is("exists") {
        return Ok(Filter::Exists(operand(binder, argument(0)?)?));
    }
    if call.is("exact") {
        return bind_filter(binder, argument(0)?);
    }
    if call.is("search") {
        return Err(QueryError::NotSupported(
            "'search' query method is not supported for this type of query".into(),
        ));
    }
    Err(QueryError::not_executed(
        &format!("{}() in `filter`", call.name),
        "",
    ))
}

fn operand(binder: &Binder<'_, '_>, expression: &Expression) -> Result<Operand, QueryError> {
    match expression {
        Expression::Path(path) => Ok(Operand::Field(FieldPath::new(path, binder.alias))),
        Expression::Value(value) => Ok(Operand::Constant(constant(
            binder.parameters.resolve(value)?,
        )?)),
        Expression::Call(call) if call.is("id") => {
            binder.check_id_argument(call)?;
            Ok(Operand::Id)
        }
        Expression::Call(call) => Err(QueryError::not_executed(
            &format!("{}() in `filter`", call.name),
            "",
        )),
        other => Err(QueryError::invalid(format!(
            "Expected a value, but got: {other}"
        ))),
    }
}

fn constant(value: Resolved<'_>) -> Result<Constant, QueryError> {
    Ok(match value {
        Resolved::Null => Constant::Null,
        Resolved::Bool(value) => Constant::Bool(value),
        Resolved::Number(number) => Constant::Number(number),
        Resolved::Text(text) => Constant::Text(text.as_ref().into()),
        other => {
            return Err(QueryError::invalid(format!(
                "Parameter value '{}' is not supported in `filter`",
                other.shown()
            )));
        }
    })
}

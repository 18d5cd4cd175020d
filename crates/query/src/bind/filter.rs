//! Binds the `filter` clause: fields, constants with parameters, and the few methods it has.
//!
//! Called by `query`, and by `series` for conditions on entries. Values keep their types: `filter`
//! compares as JSON does, not as an index.

use jackdaw_document::METADATA;

use super::computed::Computed;
use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::filter::{Constant, Filter, Operand};
use crate::parameters::{Parameters, Resolved};
use crate::syntax::{Argument, Call, Expression, Path, PathPart, Value};

/// The value an expression is, beside the others it is compared with.
type BindOperand<'b, O> = dyn Fn(&Expression, &[&Expression]) -> Result<O, QueryError> + 'b;

pub(super) fn bind_filter(
    binder: &Binder<'_, '_>,
    expression: &Expression,
    computed: &Computed<'_>,
) -> Result<Filter, QueryError> {
    let bind = Bind {
        parameters: binder.parameters,
        clause: "`filter`",
        operand: &|expression, _| operand(binder, expression, computed),
    };
    bind.condition(&computed.decided(expression))
}

/// Binds conditions over operands of kind `O`.
pub(super) struct Bind<'b, 'p, O> {
    pub(super) parameters: Parameters<'p>,
    /// The clause in messages.
    pub(super) clause: &'static str,
    pub(super) operand: &'b BindOperand<'b, O>,
}

impl<O> Bind<'_, '_, O> {
    pub(super) fn condition(&self, expression: &Expression) -> Result<Filter<O>, QueryError> {
        let bind_all = |list: &[Expression]| -> Result<Vec<Filter<O>>, QueryError> {
            let bound = list.iter().map(|expression| self.condition(expression));
            bound.collect()
        };
        match expression {
            Expression::Value(Value::Bool(true)) => Ok(Filter::Everything),
            Expression::Not(inner) => Ok(Filter::Not(Box::new(self.condition(inner)?))),
            Expression::And(list) => Ok(Filter::And(bind_all(list)?)),
            Expression::Or(list) => Ok(Filter::Or(bind_all(list)?)),
            Expression::Compare {
                left,
                operator,
                right,
            } => Ok(Filter::Compare(
                (self.operand)(left, &[right])?,
                *operator,
                (self.operand)(right, &[left])?,
            )),
            Expression::Between { value, low, high } => Ok(Filter::Between(
                (self.operand)(value, &[low, high])?,
                (self.operand)(low, &[value])?,
                (self.operand)(high, &[value])?,
            )),
            Expression::In { value, all, items } => self.one_of(value, *all, items),
            Expression::Call(call) => self.method(call),
            other => Err(QueryError::invalid(format!(
                "Expected a condition, but got: {other}"
            ))),
        }
    }

    fn one_of(
        &self,
        value: &Expression,
        all: bool,
        items: &[Value],
    ) -> Result<Filter<O>, QueryError> {
        let value = (self.operand)(value, &[])?;
        let mut constants = Vec::with_capacity(items.len());
        for item in items {
            match self.parameters.resolve(item)? {
                Resolved::Array(array) => {
                    for element in array.iter() {
                        constants.push(constant(Resolved::from_json(element), self.clause)?);
                    }
                }
                value => constants.push(constant(value, self.clause)?),
            }
        }
        Ok(match all {
            true => Filter::AllOf(value, constants),
            false => Filter::OneOf(value, constants),
        })
    }

    fn method(&self, call: &Call) -> Result<Filter<O>, QueryError> {
        let argument = |position: usize| match call.arguments.get(position) {
            Some(Argument::Expression(expression)) => Ok(expression),
            _ => Err(QueryError::invalid(format!(
                "Expected argument {} of {}()",
                position + 1,
                call.name
            ))),
        };
        if call.is("startsWith") || call.is("endsWith") {
            let value = (self.operand)(argument(0)?, &[])?;
            let text = (self.operand)(argument(1)?, &[])?;
            return Ok(match call.is("startsWith") {
                true => Filter::StartsWith(value, text),
                false => Filter::EndsWith(value, text),
            });
        }
        if call.is("exists") {
            return Ok(Filter::Exists((self.operand)(argument(0)?, &[])?));
        }
        if call.is("exact") {
            return self.condition(argument(0)?);
        }
        if call.is("search") {
            return Err(QueryError::NotSupported(
                "'search' query method is not supported for this type of query".into(),
            ));
        }
        Err(QueryError::not_executed(
            &format!("{}() in {}", call.name, self.clause),
            "",
        ))
    }
}

fn operand(
    binder: &Binder<'_, '_>,
    expression: &Expression,
    computed: &Computed<'_>,
) -> Result<Operand, QueryError> {
    if let Some(slot) = computed.slot(binder, expression)? {
        return Ok(Operand::Computed(slot));
    }
    match expression {
        Expression::Path(path) => match computed.loaded_slot(path) {
            Some(slot) => computed.loaded(slot, path),
            None => Ok(Operand::Field(FieldPath::new(path, binder.alias))),
        },
        Expression::Value(value) => Ok(Operand::Constant(constant(
            binder.parameters.resolve(value)?,
            "`filter`",
        )?)),
        Expression::Call(call) if call.is("id") => {
            if let [Argument::Expression(Expression::Path(path))] = call.arguments.as_slice()
                && path.as_name().is_some()
                && let Some(slot) = computed.loaded_slot(path)
            {
                let mut parts = path.parts.clone();
                parts.extend([METADATA, "@id"].map(|name| PathPart::Name(name.to_owned())));
                return computed.loaded(slot, &Path { parts });
            }
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

/// A literal or parameter of `clause`.
pub(super) fn constant(value: Resolved<'_>, clause: &str) -> Result<Constant, QueryError> {
    Ok(match value {
        Resolved::Null => Constant::Null,
        Resolved::Bool(value) => Constant::Bool(value),
        Resolved::Number(number) => Constant::Number(number),
        Resolved::Text(text) => Constant::Text(text.as_ref().into()),
        other => {
            return Err(QueryError::invalid(format!(
                "Parameter value '{}' is not supported in {clause}",
                other.shown()
            )));
        }
    })
}

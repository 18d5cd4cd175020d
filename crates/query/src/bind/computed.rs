//! Binds what scripts decide of conditions: declared functions and those of scripts in `filter`,
//! and in the `where` of subscriptions, which may also compare fields with fields.
//!
//! Called by `query` and `filter`. All calls of a query's conditions become one program, which
//! computes one of them at a time: what `and` and `or` do not need is never called.

use std::cell::RefCell;

use super::condition::Binder;
use super::filter::bind_filter;
use super::select::{call_text, is_scripted, member_text, script_call};
use crate::error::QueryError;
use crate::filter::{Constant, Filter, Operand};
use crate::nearest::has_near;
use crate::scripted::{Returned, ScriptCall};
use crate::syntax::{Argument, Call, Comparison, Expression, PathPart, Query, Value};

/// Name of the number of the wanted value in the program.
const SLOT: &str = "$$slot";

/// The calls of the conditions of a query, as JavaScript.
pub(super) struct Computed<'q> {
    query: &'q Query,
    texts: RefCell<Vec<String>>,
}

impl<'q> Computed<'q> {
    /// No calls yet.
    pub(super) fn new(query: &'q Query) -> Computed<'q> {
        Computed {
            query,
            texts: RefCell::default(),
        }
    }

    /// The number of the value of `expression`, when a script computes it.
    pub(super) fn slot(
        &self,
        binder: &Binder<'_, '_>,
        expression: &Expression,
    ) -> Result<Option<usize>, QueryError> {
        let text = match expression {
            Expression::Call(call) if is_scripted(self.query, call) => {
                self.refuse_loaded(call)?;
                call_text(binder, self.query, call)?
            }
            Expression::CallMember(call, path) if is_scripted(self.query, call) => {
                self.refuse_loaded(call)?;
                call_text(binder, self.query, call)? + &member_text(path)
            }
            _ => return Ok(None),
        };
        let mut texts = self.texts.borrow_mut();
        let known = texts.iter().position(|known| *known == text);
        Ok(Some(known.unwrap_or_else(|| {
            texts.push(text);
            texts.len() - 1
        })))
    }

    fn refuse_loaded(&self, call: &Call) -> Result<(), QueryError> {
        let is_loaded = |name: &str| self.query.load.iter().any(|item| item.alias == name);
        let mut arguments = call.arguments.iter();
        match arguments.any(|argument| match argument {
            Argument::Expression(Expression::Path(path)) => {
                matches!(path.parts.first(), Some(PathPart::Name(name)) if is_loaded(name))
            }
            _ => false,
        }) {
            true => Err(QueryError::not_executed(
                "A function of a loaded document in `filter`",
                "Pass the document, and load inside the function.",
            )),
            false => Ok(()),
        }
    }

    /// The condition with `= true` behind calls that stand alone.
    pub(super) fn decided(&self, expression: &Expression) -> Expression {
        let all = |list: &[Expression]| list.iter().map(|one| self.decided(one)).collect();
        match expression {
            Expression::Not(inner) => Expression::Not(Box::new(self.decided(inner))),
            Expression::And(list) => Expression::And(all(list)),
            Expression::Or(list) => Expression::Or(all(list)),
            Expression::Call(call) | Expression::CallMember(call, _)
                if is_scripted(self.query, call) =>
            {
                Expression::Compare {
                    left: Box::new(expression.clone()),
                    operator: Comparison::Equal,
                    right: Box::new(Expression::Value(Value::Bool(true))),
                }
            }
            other => other.clone(),
        }
    }

    /// The program of all calls; `None` without one.
    pub(super) fn script(&self, binder: &Binder<'_, '_>) -> Result<Option<ScriptCall>, QueryError> {
        let texts = self.texts.borrow();
        if texts.is_empty() {
            return Ok(None);
        }
        let mut body = format!("switch ({SLOT}) {{\n");
        for (slot, text) in texts.iter().enumerate() {
            body.push_str(&format!("case {slot}: return {text};\n"));
        }
        body.push('}');
        let mut call = script_call(binder, self.query, body, Returned::Row)?;
        call.program.parameters.truncate(1);
        call.program.parameters.push(SLOT.to_owned());
        Ok(Some(call))
    }
}

/// Whether a condition of `where` needs documents one by one: it calls functions of scripts, or
/// compares fields with fields.
pub(super) fn reads_documents(query: &Query, condition: &Expression) -> bool {
    let is_scripted = |value: &Expression| match value {
        Expression::Call(call) | Expression::CallMember(call, _) => is_scripted(query, call),
        _ => false,
    };
    // A value of compare-exchange is a constant.
    let is_read = |value: &Expression| match value {
        Expression::Path(_) => true,
        Expression::Call(call) | Expression::CallMember(call, _) => {
            call.is("id") || is_scripted(value) && !call.is("cmpxchg")
        }
        _ => false,
    };
    match condition {
        Expression::Not(inner) => reads_documents(query, inner),
        Expression::And(list) | Expression::Or(list) => {
            list.iter().any(|one| reads_documents(query, one))
        }
        Expression::Compare { left, right, .. } => is_scripted(left) || is_read(right),
        Expression::Between { value, low, high } => {
            is_scripted(value) || is_read(low) || is_read(high)
        }
        Expression::In { value, .. } => is_scripted(value),
        other => is_scripted(other),
    }
}

/// The condition of a query that reads documents one by one. Parts that need nothing else keep the
/// meaning that they have in `where`.
pub(super) fn bind_read<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    query: &Query,
    condition: &'q Expression,
    computed: &Computed<'_>,
) -> Result<Filter, QueryError> {
    let all = |list: &'q [Expression]| {
        let bound = list
            .iter()
            .map(|one| bind_read(binder, query, one, computed));
        bound.collect::<Result<Vec<_>, _>>()
    };
    match condition {
        Expression::Not(inner) => {
            let inner = bind_read(binder, query, inner, computed)?;
            Ok(Filter::Not(Box::new(inner)))
        }
        Expression::And(list) => Ok(Filter::And(all(list)?)),
        Expression::Or(list) => Ok(Filter::Or(all(list)?)),
        part if reads_documents(query, part) => bind_filter(binder, part, computed),
        part => {
            let predicate = binder.predicate(part)?;
            if has_near(&predicate) {
                return Err(QueryError::near_in_subscription());
            }
            Ok(Filter::Compare(
                Operand::Where(Box::new(predicate)),
                Comparison::Equal,
                Operand::Constant(Constant::Bool(true)),
            ))
        }
    }
}

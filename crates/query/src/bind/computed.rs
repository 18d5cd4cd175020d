//! Binds what scripts decide of conditions: declared functions and those of scripts in `filter`,
//! and in the `where` of subscriptions, which may also compare fields with fields.
//!
//! Called by `query` and `filter`. All calls of a query's conditions become one program, which
//! computes one of them at a time: what `and` and `or` do not need is never called.

use std::cell::{Cell, RefCell};

use super::condition::Binder;
use super::filter::bind_filter;
use super::select::{call_text, inside_loaded, is_scripted, member_text, script_call};
use crate::error::QueryError;
use crate::filter::{Constant, Filter, Operand};
use crate::nearest::has_near;
use crate::scripted::{Returned, ScriptCall};
use crate::syntax::{Argument, Call, Comparison, Expression, Path, PathPart, Query, Value};

/// Name of the number of the wanted value in the program.
const SLOT: &str = "$$slot";

/// The calls of the conditions of a query, as JavaScript.
pub(super) struct Computed<'q> {
    query: &'q Query,
    texts: RefCell<Vec<String>>,
    reads_loaded: Cell<bool>,
}

impl<'q> Computed<'q> {
    /// No calls yet.
    pub(super) fn new(query: &'q Query) -> Computed<'q> {
        Computed {
            query,
            texts: RefCell::default(),
            reads_loaded: Cell::new(false),
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
                self.note_loaded(call);
                call_text(binder, self.query, call)?
            }
            Expression::CallMember(call, path) if is_scripted(self.query, call) => {
                self.note_loaded(call);
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

    /// The position in `load` of the document that a path begins with.
    pub(super) fn loaded_slot(&self, path: &Path) -> Option<usize> {
        let Some(PathPart::Name(first)) = path.parts.first() else {
            return None;
        };
        self.query.load.iter().position(|item| item.alias == *first)
    }

    /// A field of a document of `load`.
    pub(super) fn loaded(&self, slot: usize, path: &Path) -> Result<Operand, QueryError> {
        if self.query.load[slot].many {
            return Err(QueryError::not_executed(
                "A list of loaded documents in `filter`",
                "Pass it to a declared function.",
            ));
        }
        self.reads_loaded.set(true);
        Ok(Operand::Loaded(slot, inside_loaded(path, false)))
    }

    /// Notes whether a call is given a document of `load`, or a part of one.
    fn note_loaded(&self, call: &Call) {
        for argument in &call.arguments {
            match argument {
                Argument::Expression(Expression::Path(path))
                    if self.loaded_slot(path).is_some() =>
                {
                    self.reads_loaded.set(true);
                }
                Argument::Expression(
                    Expression::Call(inner) | Expression::CallMember(inner, _),
                ) => self.note_loaded(inner),
                _ => {}
            }
        }
    }

    /// Whether the conditions look at documents of `load`.
    pub(super) fn reads_loaded(&self) -> bool {
        self.reads_loaded.get()
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
        if !self.reads_loaded() {
            call.program.parameters.truncate(1);
        }
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

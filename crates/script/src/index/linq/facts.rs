//! What a compiled query tells: its fields, whether it fans out, what it groups by.
//!
//! The spine is the way from the results back to the documents: `Select` of `Where` of the root.

use super::creation::constant_text;
use super::parser::Parser;
use crate::index::error::CompileError;
use crate::index::native::{
    Argument, Clause, Expression, Lambda, Method, Query, QueryEnd, Sequence, Suffix,
};
use crate::index::program::{MapFacts, ReduceFacts};

pub(super) fn of_map(
    expression: &Expression,
    parser: &mut Parser<'_>,
) -> Result<MapFacts, CompileError> {
    let fields = fields(expression);
    if !gives_results(expression) {
        let message = "a map ends with select new { .. }, or .Select(x => new { .. })";
        return Err(parser.error_at(usize::MAX, message));
    }
    Ok(MapFacts {
        source: parser.source.clone().unwrap_or_default(),
        fields,
        referenced_collections: std::mem::take(&mut parser.loaded_collections),
        uses_compare_exchange: parser.uses_compare_exchange,
        makes_fields: parser.makes_fields,
        has_fan_out: fans_out(expression),
    })
}

pub(super) fn of_reduce(
    expression: &Expression,
    parser: &Parser<'_>,
) -> Result<ReduceFacts, CompileError> {
    let Some(group) = grouping(expression) else {
        let message = "a reduce groups its entries: from r in results group r by r.Field into g \
                       select new { .. }";
        return Err(parser.error_at(usize::MAX, message));
    };
    let mut group_by = Vec::new();
    if !key_fields(group.key, group.slot, &mut group_by) {
        let message = "a reduce groups by fields of the map: by r.Field, or by new { r.A, r.B }";
        return Err(parser.error_at(usize::MAX, message));
    }
    Ok(ReduceFacts {
        group_by,
        fields: fields(expression),
    })
}

/// The last expression that makes results, on the spine.
fn result(expression: &Expression) -> Option<&Expression> {
    match expression {
        Expression::Query(query) => match &query.end {
            QueryEnd::Select(result) => Some(result),
            QueryEnd::Group { .. } => None,
        },
        Expression::Postfix(base, suffixes) => {
            for suffix in suffixes.iter().rev() {
                let Suffix::Sequence(method, arguments) = suffix else {
                    return None;
                };
                match method {
                    Sequence::Select | Sequence::SelectMany => {
                        return last_lambda(arguments).map(|lambda| &*lambda.body);
                    }
                    Sequence::GroupBy => return None,
                    _ => {}
                }
            }
            result(base)
        }
        _ => None,
    }
}

fn last_lambda(arguments: &[Argument]) -> Option<&Lambda> {
    arguments.iter().rev().find_map(|argument| match argument {
        Argument::Lambda(lambda) => Some(lambda),
        Argument::Value(_) => None,
    })
}

fn gives_results(expression: &Expression) -> bool {
    match result(expression) {
        Some(Expression::Constant(_)) | None => false,
        Some(_) => true,
    }
}

fn fields(expression: &Expression) -> Vec<String> {
    let mut result = result(expression);
    // What is boosted or cast is an object all the same.
    loop {
        match result {
            Some(Expression::Postfix(base, suffixes))
                if matches!(suffixes.as_slice(), [Suffix::Method(Method::Boost, _)]) =>
            {
                result = Some(base);
            }
            Some(Expression::Cast(_, inside)) => result = Some(inside),
            Some(Expression::Let(_, both)) => result = Some(&both.1),
            _ => break,
        }
    }
    match result {
        Some(Expression::Record(names, _)) => {
            let named = names.iter().filter(|name| ***name != *"_");
            named.map(|name| name.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether one document may have several results.
fn fans_out(expression: &Expression) -> bool {
    match expression {
        Expression::Root => false,
        Expression::Query(query) => {
            let from = |clause: &&Clause| matches!(clause, Clause::From(..));
            let is_single = query.clauses.iter().filter(from).count() == 1;
            let is_select = matches!(query.end, QueryEnd::Select(_));
            match query.clauses.first() {
                Some(Clause::From(_, source)) if is_single && is_select => fans_out(source),
                _ => true,
            }
        }
        Expression::Postfix(base, suffixes) => {
            let keeps = |suffix: &Suffix| {
                let Suffix::Sequence(method, _) = suffix else {
                    return false;
                };
                use Sequence as S;
                matches!(
                    method,
                    S::Select | S::Where | S::ToArray | S::Take | S::Skip | S::Distinct
                )
            };
            !suffixes.iter().all(keeps) || fans_out(base)
        }
        _ => true,
    }
}

/// A grouping: its key, and the variable that stands for an entry.
struct Grouping<'e> {
    key: &'e Expression,
    slot: usize,
}

fn grouping(expression: &Expression) -> Option<Grouping<'_>> {
    match expression {
        Expression::Query(query) => grouping_of_query(query),
        Expression::Postfix(base, suffixes) => {
            for suffix in suffixes {
                if let Suffix::Sequence(Sequence::GroupBy, arguments) = suffix
                    && let Some(Argument::Lambda(key)) = arguments.first()
                {
                    let slot = *key.slots.first()?;
                    return Some(Grouping {
                        key: &key.body,
                        slot,
                    });
                }
            }
            grouping(base)
        }
        _ => None,
    }
}

fn grouping_of_query(query: &Query) -> Option<Grouping<'_>> {
    let Some(Clause::From(slot, source)) = query.clauses.first() else {
        return None;
    };
    match &query.end {
        QueryEnd::Group { key, .. } => Some(Grouping { key, slot: *slot }),
        QueryEnd::Select(_) => grouping(source),
    }
}

/// Adds the fields that a key is made of; false when it is made of something else.
fn key_fields(key: &Expression, slot: usize, fields: &mut Vec<String>) -> bool {
    match key {
        Expression::Constant(_) => true,
        Expression::Cast(_, inside) => key_fields(inside, slot, fields),
        Expression::Record(_, values) => values.iter().all(|value| key_fields(value, slot, fields)),
        Expression::Postfix(base, suffixes) => {
            let field = match (&**base, suffixes.as_slice()) {
                (Expression::Slot(known), [Suffix::Member(name)]) if *known == slot => &**name,
                (Expression::Slot(known), [Suffix::Index(name)]) if *known == slot => {
                    let Some(name) = constant_text(name) else {
                        return false;
                    };
                    name
                }
                _ => return false,
            };
            if !fields.iter().any(|known| known == field) {
                fields.push(field.to_owned());
            }
            true
        }
        _ => false,
    }
}

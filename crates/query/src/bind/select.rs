//! Binds `select`: output names, where each value comes from, and what is refused.
//!
//! Called by `query`.

use super::condition::Binder;
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::project::{Output, OutputSource, Projection};
use crate::syntax::{
    Call, DeclarationBody, Expression, Query, SelectItem, SelectItems, SelectValue, Value,
};

/// The projection, and whether it is distinct.
pub(super) fn bind_select(
    binder: &Binder<'_, '_>,
    query: &Query,
) -> Result<(Projection, bool), QueryError> {
    let Some(select) = &query.select else {
        return Ok((Projection::Document, false));
    };
    let projection = match &select.items {
        SelectItems::All => Projection::Document,
        SelectItems::Object(_) if binder.alias.is_none() => {
            return Err(QueryError::invalid(
                "Use of select function body requires that aliases will be defined, but none had",
            ));
        }
        SelectItems::Object(_) => {
            return Err(QueryError::not_executed(
                "`select { ... }` (a JavaScript projection)",
                "Select fields instead: select Name, Address.City as City.",
            ));
        }
        SelectItems::List(items) => bind_items(binder, query, items)?,
    };
    Ok((projection, select.distinct))
}

fn bind_items(
    binder: &Binder<'_, '_>,
    query: &Query,
    items: &[SelectItem],
) -> Result<Projection, QueryError> {
    if let [
        SelectItem {
            value: SelectValue::Expression(Expression::Path(path)),
            alias: None,
        },
    ] = items
        && path.as_name().is_some()
        && path.as_name() == binder.alias
    {
        return Ok(Projection::Document);
    }
    let mut outputs: Vec<Output> = Vec::with_capacity(items.len());
    for item in items {
        let (default_name, source) = match &item.value {
            SelectValue::TimeSeries(_) => {
                return Err(QueryError::not_executed("`select timeseries(...)`", ""));
            }
            SelectValue::Expression(expression) => bind_item(binder, query, expression)?,
        };
        let name = item.alias.clone().unwrap_or(default_name);
        if outputs.iter().any(|output| output.name == name) {
            return Err(QueryError::invalid(format!(
                "Duplicate alias '{name}' detected. Give one of them another: select A.Name as \
                 AName, B.Name as BName"
            )));
        }
        outputs.push(Output { name, source });
    }
    Ok(Projection::Fields(outputs))
}

fn bind_item(
    binder: &Binder<'_, '_>,
    query: &Query,
    expression: &Expression,
) -> Result<(String, OutputSource), QueryError> {
    match expression {
        Expression::Path(path) => {
            let path = FieldPath::new(path, binder.alias);
            Ok((path.output_name(), OutputSource::Field(path)))
        }
        Expression::Value(value) => {
            let resolved = binder.parameters.resolve(value)?;
            let mut json = Vec::new();
            resolved.write_json(&mut json);
            let name = match value {
                Value::Parameter(name) => format!("${name}"),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Ok((name, OutputSource::Json(json)))
        }
        Expression::Call(call) if call.is("id") => {
            binder.check_id_argument(call)?;
            Ok(("id()".to_owned(), OutputSource::Id))
        }
        Expression::Call(call) => Err(refused_call(query, call)),
        other => Err(QueryError::invalid(format!("Unable to select: {other}"))),
    }
}

fn refused_call(query: &Query, call: &Call) -> QueryError {
    let name = &call.name;
    if ["count", "sum", "key", "min", "max", "avg"]
        .iter()
        .any(|known| call.is(known))
    {
        return QueryError::invalid(format!("{name} may only be used in group by queries"));
    }
    let declared = query
        .declarations
        .iter()
        .find(|declaration| declaration.name == *name);
    match declared.map(|declaration| &declaration.body) {
        Some(DeclarationBody::Function(_)) => {
            QueryError::not_executed("A declared JavaScript function in `select`", "")
        }
        Some(DeclarationBody::TimeSeries(_)) => {
            QueryError::not_executed("A declared time series query in `select`", "")
        }
        None if [
            "facet",
            "suggest",
            "counter",
            "counterRaw",
            "cmpxchg",
            "load",
        ]
        .iter()
        .any(|known| call.is(known)) =>
        {
            QueryError::not_executed(&format!("`select {name}(...)`"), "")
        }
        None => QueryError::NotSupported(format!("Method '{name}' is not supported.")),
    }
}

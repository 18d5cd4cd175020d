//! Binds `select`: output names, where each value comes from, and what is refused.
//!
//! Called by `query`.

use jackdaw_document::Value as Json;
use jackdaw_script::Program;

use super::condition::Binder;
use super::facet::{bind_facets, bind_suggestions};
use super::series::{bind_declared, bind_series};
use crate::error::QueryError;
use crate::fields::FieldPath;
use crate::parameters::Resolved;
use crate::project::{Output, OutputSource, Projection};
use crate::scripted::{Load, LoadIds, Returned, ScriptCall};
use crate::series::SeriesQuery;
use crate::syntax::{
    Argument, Call, DeclarationBody, Expression, LoadItem, Path, PathPart, Query, SelectItem,
    SelectItems, SelectValue, Value,
};

/// What a `select` clause means.
pub(super) struct Selected {
    pub(super) projection: Projection,
    pub(super) distinct: bool,
    pub(super) script: Option<ScriptCall>,
    pub(super) series: Vec<SeriesQuery>,
}

/// Functions of scripts that may stand in a list of fields.
const SCRIPT_FUNCTIONS: &[&str] = &[
    "cmpxchg",
    "counter",
    "counterNamesFor",
    "counterRaw",
    "getMetadata",
    "lastModified",
    "load",
    "loadPath",
    "spatial.distance",
    "toStringWithFormat",
];

pub(super) fn bind_select<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    query: &'q Query,
) -> Result<Selected, QueryError> {
    let Some(select) = &query.select else {
        return Ok(Selected {
            projection: Projection::Document,
            distinct: false,
            script: None,
            series: Vec::new(),
        });
    };
    let none = Vec::new();
    let (projection, script, series) = match &select.items {
        SelectItems::All => (Projection::Document, None, none),
        SelectItems::Object(_) if binder.alias.is_none() => {
            return Err(QueryError::invalid(
                "Use of select function body requires that aliases will be defined, but none had",
            ));
        }
        SelectItems::Object(script) => {
            let body = format!("return ({{{}\n}});", script.0);
            let call = script_call(binder, query, body, Returned::Row)?;
            (Projection::Script, Some(call), none)
        }
        SelectItems::List(items) => match bind_facets(binder, items)? {
            Some(facets) => {
                refuse_with_facets(query)?;
                (Projection::Facets(facets), None, none)
            }
            None => match bind_suggestions(binder, items)? {
                Some(suggestions) => (Projection::Suggestions(suggestions), None, none),
                None => bind_items(binder, query, items)?,
            },
        },
    };
    Ok(Selected {
        projection,
        distinct: select.distinct,
        script,
        series,
    })
}

fn refuse_with_facets(query: &Query) -> Result<(), QueryError> {
    match query.filter.is_some() {
        true => Err(QueryError::invalid(
            "Facet query does not support a filter clause.",
        )),
        false => Ok(()),
    }
}

/// The `load` clause.
pub(super) fn bind_load(
    binder: &Binder<'_, '_>,
    items: &[LoadItem],
) -> Result<Vec<Load>, QueryError> {
    let mut load: Vec<Load> = Vec::with_capacity(items.len());
    for item in items {
        let ids = match &item.expression {
            Expression::Path(path) => load_ids(binder, path, &load),
            Expression::Value(value) => LoadIds::Given(match binder.parameters.resolve(value)? {
                Resolved::Text(id) => vec![id.into_owned()],
                Resolved::Null => Vec::new(),
                Resolved::Array(array) => array
                    .iter()
                    .filter_map(|id| id.as_str().map(str::to_owned))
                    .collect(),
                other => {
                    return Err(QueryError::invalid(format!(
                        "load needs the id of a document, but got {}",
                        other.shown()
                    )));
                }
            }),
            other => return Err(QueryError::invalid(format!("Unable to load: {other}"))),
        };
        let is_taken = |name: &str| load.iter().any(|earlier| earlier.name == name);
        if is_taken(&item.alias) || binder.alias == Some(item.alias.as_str()) {
            return Err(QueryError::invalid(format!(
                "Duplicate alias '{}' detected: give each loaded document a name of its own",
                item.alias
            )));
        }
        load.push(Load {
            name: item.alias.clone(),
            ids,
            many: item.many,
        });
    }
    Ok(load)
}

/// Ids at a path of the document, or of one that an earlier item loads.
fn load_ids(binder: &Binder<'_, '_>, path: &Path, earlier: &[Load]) -> LoadIds {
    if let [PathPart::Name(first), _, ..] = path.parts.as_slice()
        && let Some(slot) = earlier.iter().position(|item| item.name == *first)
    {
        return LoadIds::Of(slot, inside_loaded(path, earlier[slot].many));
    }
    LoadIds::At(FieldPath::new(path, binder.alias))
}

/// The path inside a loaded document, without its alias: `b.To`, and of a list `b.To` or `b[].To`.
pub(super) fn inside_loaded(path: &Path, many: bool) -> FieldPath {
    let mut parts = path.parts.get(1..).unwrap_or_default();
    if let ([PathPart::Each, rest @ ..], true) = (parts, many) {
        parts = rest;
    }
    let parts = parts.to_vec();
    FieldPath::new(&Path { parts }, None)
}

pub(super) fn script_call(
    binder: &Binder<'_, '_>,
    query: &Query,
    body: String,
    returned: Returned,
) -> Result<ScriptCall, QueryError> {
    let alias = binder.alias.unwrap_or("$this").to_owned();
    let loaded = query.load.iter().map(|item| item.alias.clone());
    let program = Program {
        declarations: query.functions(),
        parameters: std::iter::once(alias).chain(loaded).collect(),
        body,
    };
    Ok(ScriptCall {
        program,
        parameters: binder.parameters.to_document(),
        returned,
    })
}

type Bound = (Projection, Option<ScriptCall>, Vec<SeriesQuery>);

fn bind_items(
    binder: &Binder<'_, '_>,
    query: &Query,
    items: &[SelectItem],
) -> Result<Bound, QueryError> {
    if let [
        SelectItem {
            value: SelectValue::Expression(Expression::Path(path)),
            ..
        },
    ] = items
        && let Some(name) = path.as_name()
    {
        if Some(name) == binder.alias {
            return Ok((Projection::Document, None, Vec::new()));
        }
        if let Some(slot) = query.load.iter().position(|item| item.alias == name) {
            return Ok((Projection::Loaded(slot), None, Vec::new()));
        }
    }
    if let [
        SelectItem {
            value: SelectValue::Expression(Expression::Call(call)),
            alias: None,
        },
    ] = items
        && is_declared(query, call)
    {
        let body = format!("return {};", call_text(binder, query, call)?);
        let call = script_call(binder, query, body, Returned::Rows)?;
        return Ok((Projection::Script, Some(call), Vec::new()));
    }
    if let [SelectItem { value, alias: None }] = items
        && let Some((_, series)) = series_of(binder, query, value)?
    {
        return Ok((Projection::Series, None, vec![series]));
    }
    let mut outputs: Vec<Output> = Vec::with_capacity(items.len());
    let mut computed: Vec<String> = Vec::new();
    let mut series = Vec::new();
    for item in items {
        let bound_series = series_of(binder, query, &item.value)?;
        let (default_name, source) = match (bound_series, &item.value) {
            (Some((name, bound)), _) => {
                series.push(bound);
                (name, OutputSource::Series(series.len() - 1))
            }
            (None, SelectValue::Expression(Expression::Call(call))) if is_scripted(query, call) => {
                computed.push(call_text(binder, query, call)?);
                (
                    computed_name(call),
                    OutputSource::Computed(computed.len() - 1),
                )
            }
            (None, SelectValue::Expression(expression)) => bind_item(binder, query, expression)?,
            (None, SelectValue::TimeSeries(_)) => continue,
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
    let script = match computed.is_empty() {
        true => None,
        false => {
            let body = format!("return [{}];", computed.join(", "));
            Some(script_call(binder, query, body, Returned::Values)?)
        }
    };
    Ok((Projection::Fields(outputs), script, series))
}

/// The default name and the meaning of a selected time series.
fn series_of(
    binder: &Binder<'_, '_>,
    query: &Query,
    value: &SelectValue,
) -> Result<Option<(String, SeriesQuery)>, QueryError> {
    let call = match value {
        SelectValue::TimeSeries(series) => {
            let bound = bind_series(binder, query, series)?;
            return Ok(Some(("timeseries".to_owned(), bound)));
        }
        SelectValue::Expression(Expression::Call(call)) => call,
        SelectValue::Expression(_) => return Ok(None),
    };
    let mut declarations = query.declarations.iter();
    let Some(declaration) = declarations.find(|declaration| declaration.name == call.name) else {
        return Ok(None);
    };
    match &declaration.body {
        DeclarationBody::TimeSeries(series) => {
            let bound = bind_declared(binder, query, declaration, series, call)?;
            Ok(Some((call.name.clone(), bound)))
        }
        DeclarationBody::Function(_) => Ok(None),
    }
}

/// The default name of a field that a script computes: a counter has its own.
fn computed_name(call: &Call) -> String {
    match call.arguments.last() {
        Some(Argument::Expression(Expression::Value(Value::String(name))))
            if call.name.starts_with("counter") =>
        {
            name.clone()
        }
        _ => call.name.clone(),
    }
}

fn is_declared(query: &Query, call: &Call) -> bool {
    query.declarations.iter().any(|declaration| {
        declaration.name == call.name && matches!(declaration.body, DeclarationBody::Function(_))
    })
}

pub(super) fn is_scripted(query: &Query, call: &Call) -> bool {
    is_declared(query, call) || SCRIPT_FUNCTIONS.contains(&call.name.as_str())
}

/// A call as JavaScript.
pub(super) fn call_text(
    binder: &Binder<'_, '_>,
    query: &Query,
    call: &Call,
) -> Result<String, QueryError> {
    let mut arguments = Vec::with_capacity(call.arguments.len());
    // A counter of the document itself may leave it out.
    if call.name.starts_with("counter") && call.arguments.len() == 1 {
        arguments.push("this".to_owned());
    }
    for argument in &call.arguments {
        let Argument::Expression(expression) = argument else {
            return Err(QueryError::invalid(format!(
                "An argument of {}() must be a value",
                call.name
            )));
        };
        arguments.push(match expression {
            Expression::Path(path) => path_text(binder, query, path),
            Expression::Value(value) => {
                let mut json = Vec::new();
                binder.parameters.resolve(value)?.write_json(&mut json);
                String::from_utf8_lossy(&json).into_owned()
            }
            Expression::Call(call) => call_text(binder, query, call)?,
            other => return Err(QueryError::invalid(format!("Unable to select: {other}"))),
        });
    }
    Ok(format!("{}({})", call.name, arguments.join(", ")))
}

/// A path behind a value, as JavaScript.
pub(super) fn member_text(path: &Path) -> String {
    let parts = path.parts.iter().map(|part| match part {
        PathPart::Name(name) => format!("?.[{}]", Json::String(name).to_json()),
        PathPart::Each => String::new(),
        PathPart::At(slot) => format!("?.[{slot}]"),
    });
    parts.collect()
}

/// A path as JavaScript: one that begins with no known name is a field of the document.
fn path_text(binder: &Binder<'_, '_>, query: &Query, path: &Path) -> String {
    let is_known =
        |name: &str| binder.alias == Some(name) || query.load.iter().any(|item| item.alias == name);
    let mut text = String::new();
    for (position, part) in path.parts.iter().enumerate() {
        match part {
            PathPart::Name(name) if position == 0 && is_known(name) => text.push_str(name),
            PathPart::Name(name) => {
                if position == 0 {
                    text.push_str("this");
                }
                text.push_str(&format!("?.[{}]", Json::String(name).to_json()));
            }
            PathPart::Each => {}
            PathPart::At(slot) => text.push_str(&format!("?.[{slot}]")),
        }
    }
    text
}

fn bind_item(
    binder: &Binder<'_, '_>,
    query: &Query,
    expression: &Expression,
) -> Result<(String, OutputSource), QueryError> {
    match expression {
        Expression::Path(path) => {
            let first = path.parts.first();
            let loaded = query.load.iter().position(
                |item| matches!(first, Some(PathPart::Name(name)) if *name == item.alias),
            );
            if let Some(slot) = loaded {
                let item = &query.load[slot];
                let inside = inside_loaded(path, item.many);
                if inside.parts().is_empty() {
                    return Ok((item.alias.clone(), OutputSource::Loaded(slot, None)));
                }
                return Ok((
                    inside.output_name(),
                    OutputSource::Loaded(slot, Some(inside)),
                ));
            }
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
        Expression::Call(call) => Err(refused_call(call)),
        other => Err(QueryError::invalid(format!("Unable to select: {other}"))),
    }
}

fn refused_call(call: &Call) -> QueryError {
    let name = &call.name;
    if ["count", "sum", "key", "min", "max", "avg"]
        .iter()
        .any(|known| call.is(known))
    {
        return QueryError::invalid(format!("{name} may only be used in group by queries"));
    }
    QueryError::invalid(format!(
        "Unknown method call in SELECT clause: '{name}' method"
    ))
}

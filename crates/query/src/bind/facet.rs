//! Binds `select facet(...)` and `select suggest(...)`.
//!
//! Called by `select`; the documents of facet setups are read when the query runs, by
//! [`setup_facets`].

use jackdaw_document::Value as Json;

use super::condition::Binder;
use crate::error::QueryError;
use crate::facets::{ALL_RESULTS, Aggregation, Facet, FacetKind, FacetOptions, read_options};
use crate::fields::{FieldPath, IndexField};
use crate::parameters::{Parameters, Resolved};
use crate::predicate::{Field, Predicate};
use crate::source::StoredDocument;
use crate::suggest::{Suggest, read_suggest_options};
use crate::syntax::{
    Argument, Call, Comparison, Expression, Path, SelectItem, SelectValue, Value, parse,
};

/// One item of a facet query.
#[derive(Clone, Debug)]
pub(crate) enum FacetItem {
    /// A facet.
    Facet(Facet),
    /// The id of a document with facets.
    Setup(String),
}

impl FacetItem {
    /// The fields that an index can count; those of a setup are known later, and aggregations need
    /// the documents.
    pub(super) fn fields(&self) -> Vec<IndexField> {
        match self {
            FacetItem::Facet(facet) if facet.aggregations.is_empty() => facet.fields(),
            FacetItem::Facet(_) | FacetItem::Setup(_) => Vec::new(),
        }
    }
}

/// The facets of a `select`; `None` when its first item is none.
pub(super) fn bind_facets<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    items: &'q [SelectItem],
) -> Result<Option<Vec<FacetItem>>, QueryError> {
    let is_facet = |item: &SelectItem| as_call(item, "facet").is_some();
    if !items.iter().any(is_facet) {
        return Ok(None);
    }
    let mut facets = Vec::with_capacity(items.len());
    for item in items {
        let Some(call) = as_call(item, "facet") else {
            return Err(QueryError::invalid(
                "A query with facet() selects facets only: leave the other fields out",
            ));
        };
        facets.push(bind_facet(binder, call, item.alias.as_deref())?);
    }
    Ok(Some(facets))
}

fn as_call<'q>(item: &'q SelectItem, name: &str) -> Option<&'q Call> {
    match &item.value {
        SelectValue::Expression(Expression::Call(call)) if call.is(name) => Some(call),
        _ => None,
    }
}

fn bind_facet<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    call: &'q Call,
    alias: Option<&str>,
) -> Result<FacetItem, QueryError> {
    if let [Argument::Expression(Expression::Call(id))] = call.arguments.as_slice()
        && id.is("id")
    {
        binder.check_arguments(id, 1, 1)?;
        let id = binder.text_argument(id, 0)?.unwrap_or_default();
        return Ok(FacetItem::Setup(id));
    }
    let mut field: Option<IndexField> = None;
    let mut ranges = Vec::new();
    let mut aggregations = Vec::new();
    let mut options = FacetOptions::default();
    for argument in &call.arguments {
        match argument {
            Argument::Expression(Expression::Path(path)) if field.is_none() => {
                field = Some(field_of(binder, &Expression::Path(path.clone()))?);
            }
            Argument::Expression(Expression::Value(value)) => {
                match binder.parameters.resolve(value)? {
                    Resolved::Object(object) => options = read_options(Json::Object(object))?,
                    Resolved::Text(name) if field.is_none() => {
                        let path = Path::name(name.into_owned());
                        field = Some(field_of(binder, &Expression::Path(path))?);
                    }
                    Resolved::Null => {}
                    other => {
                        return Err(QueryError::invalid(format!(
                            "The options of facet() are an object, but got: {}",
                            other.shown()
                        )));
                    }
                }
            }
            Argument::Aliased(call, name) => {
                add_aggregation(binder, call, Some(name), &mut aggregations)?;
            }
            Argument::Expression(Expression::Call(call)) => {
                add_aggregation(binder, call, None, &mut aggregations)?;
            }
            Argument::Expression(range) => {
                let text = range_text(binder, range)?;
                ranges.push((binder.predicate(range)?, text));
            }
            Argument::Join(_) => {
                return Err(QueryError::invalid(format!(
                    "Unable to make a facet of: {call}"
                )));
            }
        }
    }
    facet_of(field, ranges, aggregations, options, alias)
        .map(FacetItem::Facet)
        .ok_or_else(|| {
            QueryError::invalid(format!(
                "A facet is of a field, of ranges of one field, or of aggregations, but got: {call}"
            ))
        })
}

fn facet_of(
    field: Option<IndexField>,
    ranges: Vec<(Predicate, String)>,
    aggregations: Vec<Aggregation>,
    options: FacetOptions,
    alias: Option<&str>,
) -> Option<Facet> {
    let (name, kind) = match (field, ranges.is_empty()) {
        (Some(field), true) => (field.path.as_str().to_owned(), FacetKind::Terms(field)),
        (None, false) => {
            let mut names: Vec<String> = Vec::new();
            for (range, _) in &ranges {
                range.for_each_field(&mut |field| names.push(field.to_string()));
            }
            let name = names.first()?.clone();
            if names.iter().any(|other| *other != name) {
                return None;
            }
            (name, FacetKind::Ranges(ranges))
        }
        (None, true) if !aggregations.is_empty() => (ALL_RESULTS.to_owned(), FacetKind::All),
        _ => return None,
    };
    Some(Facet {
        name: alias.map_or(name, str::to_owned),
        kind,
        aggregations,
        options,
    })
}

fn field_of<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    expression: &Expression,
) -> Result<IndexField, QueryError> {
    match binder.field(expression)? {
        Field::Values(field) => Ok(field),
        Field::Id => Err(QueryError::not_executed("A facet of id()", "")),
    }
}

/// `sum(F)`, `min(F)`, `max(F)`, `avg(F)`; of one field they go together.
fn add_aggregation(
    binder: &Binder<'_, '_>,
    call: &Call,
    name: Option<&str>,
    aggregations: &mut Vec<Aggregation>,
) -> Result<(), QueryError> {
    let path = match call.arguments.as_slice() {
        [Argument::Expression(Expression::Path(path))] => FieldPath::new(path, binder.alias),
        [Argument::Expression(Expression::Value(Value::String(name)))] => {
            FieldPath::new(&Path::name(name.clone()), binder.alias)
        }
        _ => {
            return Err(QueryError::invalid(format!(
                "An aggregation of a facet is of one field: sum(F), but got: {call}"
            )));
        }
    };
    let display = name.unwrap_or(path.as_str()).to_owned();
    aggregate(aggregations, path, display, &call.name)
}

fn aggregate(
    aggregations: &mut Vec<Aggregation>,
    path: FieldPath,
    name: String,
    method: &str,
) -> Result<(), QueryError> {
    let known = aggregations
        .iter()
        .position(|known| known.path == path && known.name == name);
    let slot = known.unwrap_or_else(|| {
        aggregations.push(Aggregation {
            path,
            name,
            sum: false,
            min: false,
            max: false,
            average: false,
        });
        aggregations.len() - 1
    });
    let aggregation = &mut aggregations[slot];
    match method.to_ascii_lowercase().as_str() {
        "sum" => aggregation.sum = true,
        "min" => aggregation.min = true,
        "max" => aggregation.max = true,
        "avg" | "average" => aggregation.average = true,
        _ => {
            return Err(QueryError::invalid(format!(
                "A facet aggregates with sum, min, max or avg, but got: {method}()"
            )));
        }
    }
    Ok(())
}

/// A range as it is shown: its conditions, with the values of parameters.
fn range_text<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    range: &'q Expression,
) -> Result<String, QueryError> {
    let value = |expression: &'q Expression| match expression {
        Expression::Value(value) => Ok(match binder.parameters.resolve(value)? {
            Resolved::Text(text) => format!("'{text}'"),
            other => other.shown(),
        }),
        other => Err(QueryError::invalid(format!(
            "Unable to make a range of: {other}"
        ))),
    };
    let name = |expression: &Expression| match expression {
        Expression::Path(path) => FieldPath::new(path, binder.alias).as_str().to_owned(),
        other => other.to_string(),
    };
    match range {
        Expression::And(parts) => {
            let texts = parts.iter().map(|part| range_text(binder, part));
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join(" and "))
        }
        Expression::Between {
            value: of,
            low,
            high,
        } => Ok(format!(
            "{} between {} and {}",
            name(of),
            value(low)?,
            value(high)?
        )),
        Expression::Compare {
            left,
            operator,
            right,
        } => {
            let operator = match operator {
                Comparison::Equal => "=",
                Comparison::NotEqual => "!=",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterOrEqual => ">=",
            };
            Ok(format!("{} {operator} {}", name(left), value(right)?))
        }
        other => Err(QueryError::invalid(format!(
            "Unable to make a range of: {other}"
        ))),
    }
}

/// The facets of a setup document.
pub(crate) fn setup_facets(document: &StoredDocument<'_>) -> Result<Vec<Facet>, QueryError> {
    let root = document.body.root();
    let list = |name: &str| -> Vec<Json<'_>> {
        let array = root.get(name).and_then(|list| list.as_array());
        array.map_or_else(Vec::new, |array| array.iter().collect())
    };
    let mut facets = Vec::new();
    for setup in list("Facets") {
        let text = |name: &str| setup.get(name).and_then(|text| text.as_str());
        let field = text("FieldName").filter(|name| !name.is_empty());
        let field = field.map(|name| IndexField::plain(FieldPath::parse(name)));
        facets.push(setup_facet(document, setup, field, Vec::new())?);
    }
    for setup in list("RangeFacets") {
        let mut ranges = Vec::new();
        let texts = setup.get("Ranges").and_then(|ranges| ranges.as_array());
        for text in texts.iter().flat_map(|texts| texts.iter()) {
            let text = text.as_str().unwrap_or_default();
            let query = parse(&format!("from Facets where {text}"))?;
            let binder = Binder {
                alias: None,
                parameters: Parameters::NONE,
                exact: false,
                is_named: true,
                schema: None,
            };
            let condition = query.condition.as_ref();
            let predicate = condition.map(|range| binder.predicate(range)).transpose()?;
            ranges.push((predicate.unwrap_or(Predicate::Everything), text.to_owned()));
        }
        facets.push(setup_facet(document, setup, None, ranges)?);
    }
    Ok(facets)
}

fn setup_facet(
    document: &StoredDocument<'_>,
    setup: Json<'_>,
    field: Option<IndexField>,
    ranges: Vec<(Predicate, String)>,
) -> Result<Facet, QueryError> {
    let mut aggregations = Vec::new();
    let kinds = setup
        .get("Aggregations")
        .and_then(|kinds| kinds.as_object());
    for (method, fields) in kinds.iter().flat_map(|kinds| kinds.iter()) {
        let mut add = |of: Json<'_>| {
            let text = |name: &str| of.get(name).and_then(|text| text.as_str());
            let name = of.as_str().or_else(|| text("Name")).unwrap_or_default();
            let display = text("DisplayName").unwrap_or(name).to_owned();
            aggregate(&mut aggregations, FieldPath::parse(name), display, method)
        };
        match fields.as_array() {
            Some(fields) => fields.iter().try_for_each(&mut add)?,
            None => add(fields)?,
        }
    }
    let options = match setup.get("Options") {
        Some(options) => read_options(options)?,
        None => FacetOptions::default(),
    };
    let display = setup.get("DisplayFieldName").and_then(|name| name.as_str());
    facet_of(field, ranges, aggregations, options, display).ok_or_else(|| {
        QueryError::invalid(format!(
            "A facet of the setup document '{}' has neither a field nor ranges of one field",
            document.id
        ))
    })
}

/// The suggestions of a `select`; `None` when its first item is none.
pub(super) fn bind_suggestions<'q, 'p: 'q>(
    binder: &Binder<'q, 'p>,
    items: &'q [SelectItem],
) -> Result<Option<Vec<Suggest>>, QueryError> {
    if !items.iter().any(|item| as_call(item, "suggest").is_some()) {
        return Ok(None);
    }
    let mut suggestions = Vec::with_capacity(items.len());
    for item in items {
        let Some(call) = as_call(item, "suggest") else {
            return Err(QueryError::invalid(
                "A query with suggest() selects suggestions only: leave the other fields out",
            ));
        };
        binder.check_arguments(call, 2, 3)?;
        let Field::Values(field) = binder.field_argument(call, 0)? else {
            return Err(QueryError::not_executed("Suggestions for id()", ""));
        };
        let terms = match binder.value_argument(call, 1)? {
            Resolved::Text(text) => vec![text.into_owned()],
            Resolved::Array(array) => {
                let terms = array.iter().filter_map(|term| term.as_str());
                terms.map(str::to_owned).collect()
            }
            other => {
                return Err(QueryError::invalid(format!(
                    "suggest() takes a text or a list of texts, but got: {}",
                    other.shown()
                )));
            }
        };
        let options = match call.arguments.get(2) {
            None => Json::Null,
            Some(_) => match binder.value_argument(call, 2)? {
                Resolved::Object(object) => Json::Object(object),
                _ => Json::Null,
            },
        };
        suggestions.push(Suggest {
            name: item
                .alias
                .clone()
                .unwrap_or_else(|| field.path.as_str().to_owned()),
            field,
            terms,
            options: read_suggest_options(options)?,
        });
    }
    Ok(Some(suggestions))
}

//! The bound query, and the clauses that are not conditions or projections.

use std::fmt::Write;

use jackdaw_base::number::Number;

use super::computed::{Computed, bind_read, reads_documents};
use super::condition::Binder;
use super::facet::FacetItem;
use super::filter::bind_filter;
use super::group::bind_group;
use super::include::{bind_explanation_key, bind_highlight};
use super::order::bind_order;
use super::select::{Selected, bind_load, bind_select};
use crate::error::QueryError;
use crate::fields::{FieldKind, FieldPath, IndexField};
use crate::filter::Filter;
use crate::groups::Grouping;
use crate::highlight::Highlight;
use crate::nearest::has_near;
use crate::order::{Measure, OrderKey, OrderSource};
use crate::parameters::{Parameters, Resolved};
use crate::predicate::{Field, Predicate};
use crate::project::{Projection, ProjectionBehavior};
use crate::scripted::{Load, ScriptCall};
use crate::series::SeriesQuery;
use crate::syntax::{Expression, Limit, Query, SourceName, Value};
use jackdaw_model::Scope;

/// A query that can be planned: it holds no reference to its text or parameters.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    /// Collection or index as the query spells it.
    pub(crate) source: SourceName,
    pub(crate) predicate: Predicate,
    pub(crate) filter: Option<Filter>,
    /// Computes values of `filter`.
    pub(crate) filter_script: Option<ScriptCall>,
    /// Whether `filter` looks at documents of `load`.
    pub(crate) filter_reads_loaded: bool,
    pub(crate) order: Vec<OrderKey>,
    pub(crate) projection: Projection,
    pub(crate) projection_behavior: ProjectionBehavior,
    pub(crate) distinct: bool,
    pub(crate) include: Vec<FieldPath>,
    /// Texts to show around what was found.
    pub(crate) highlights: Vec<Highlight>,
    /// Whether scores are explained.
    pub(crate) has_explanations: bool,
    /// The field of results that explanations are told by; ids without one.
    pub(crate) explanation_key: Option<FieldPath>,
    /// Whether times are told.
    pub(crate) has_timings: bool,
    /// Documents read beside each match.
    pub(crate) load: Vec<Load>,
    /// What is run for each match.
    pub(crate) script: Option<ScriptCall>,
    /// Time series read for each match.
    pub(crate) series: Vec<SeriesQuery>,
    /// Makes groups of the documents first; everything else is about the groups then.
    pub(crate) grouping: Option<Grouping>,
    pub(crate) skip: Option<u64>,
    pub(crate) take: Option<u64>,
    /// `Start` of the request.
    pub(crate) request_skip: Option<u64>,
    /// `PageSize` of the request.
    pub(crate) request_take: Option<u64>,
    pub(crate) filter_limit: Option<u64>,
}

/// The fields an automatic index must have to answer a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRequirement {
    /// Which documents.
    pub scope: Scope,
    /// The fields, in the order of the index name; at least one.
    pub fields: Vec<IndexField>,
}

/// How a named index keeps its fields, for queries over it.
pub trait IndexSchema {
    /// The field with this name. One that the index does not have is refused when the query is
    /// planned.
    fn field(&self, name: &str) -> IndexField;

    /// What distances of the places in the field with this name are measured in.
    fn measure(&self, name: &str) -> Measure {
        let _ = name;
        Measure::default()
    }

    /// The vectors of the field with this name.
    fn vector_field(&self, name: &str) -> IndexField {
        IndexField::named_vector(name)
    }
}

/// Gives `query` its meaning with these parameters.
///
/// # Errors
/// Every variant of [`QueryError`] that is about the text: the query has no meaning, or this
/// version does not execute it.
pub fn bind(query: &Query, parameters: Parameters<'_>) -> Result<BoundQuery, QueryError> {
    bind_over(query, parameters, None)
}

/// [`bind`] for a query over a named index: its fields have names and are no paths of documents.
///
/// # Errors
/// As [`bind`].
pub fn bind_over(
    query: &Query,
    parameters: Parameters<'_>,
    schema: Option<&dyn IndexSchema>,
) -> Result<BoundQuery, QueryError> {
    refuse_clauses(query)?;
    if query.group_by.is_empty() {
        return bind_plain(query, parameters, schema, Reading::Indexed);
    }
    let (grouping, over_groups) = bind_group(query)?;
    let mut bound = bind_plain(&over_groups, parameters, None, Reading::Indexed)?;
    if has_near(&bound.predicate) {
        return Err(QueryError::not_executed(
            "`vector.search` with `group by`",
            "Search in a query of its own.",
        ));
    }
    bound.grouping = Some(grouping);
    Ok(bound)
}

/// Binds the query of a subscription, whose condition reads documents one by one: it may compare
/// fields with fields and call functions.
///
/// # Errors
/// As [`bind`].
pub(crate) fn bind_followed(query: &Query) -> Result<BoundQuery, QueryError> {
    refuse_clauses(query)?;
    bind_plain(query, Parameters::NONE, None, Reading::OneByOne)
}

/// How the documents of a query are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// By indexes, ids and scans.
    Indexed,
    /// By reading one after another.
    OneByOne,
}

fn bind_plain(
    query: &Query,
    parameters: Parameters<'_>,
    schema: Option<&dyn IndexSchema>,
    reading: Reading,
) -> Result<BoundQuery, QueryError> {
    let binder = Binder {
        alias: query.from.alias.as_deref(),
        parameters,
        exact: false,
        // Automatic indexes keep their fields apart by kind, others by name alone.
        is_named: matches!(&query.from.source, SourceName::Index(name) if !is_automatic(name)),
        schema,
    };
    let computed = Computed::new(query);
    let mut filters = Vec::new();
    let predicate = match &query.condition {
        Some(condition) if reading == Reading::OneByOne && reads_documents(query, condition) => {
            filters.push(bind_read(&binder, query, condition, &computed)?);
            Predicate::Everything
        }
        Some(condition) => binder.predicate(condition)?,
        None => Predicate::Everything,
    };
    if let Some(filter) = &query.filter {
        filters.push(bind_filter(&binder, filter, &computed)?);
    }
    let filter = match filters.len() {
        0 | 1 => filters.pop(),
        _ => Some(Filter::And(filters)),
    };
    let filter_script = computed.script(&binder)?;
    let load = bind_load(&binder, &query.load)?;
    let Selected {
        projection,
        distinct,
        script,
        series,
    } = bind_select(&binder, query)?;
    let mut order = bind_order(&binder, &query.order_by)?;
    if order.is_empty() && predicate.has_boost() {
        order.push(OrderKey::score());
    }
    if schema.is_some() {
        for key in &mut order {
            match &mut key.source {
                OrderSource::Field(path) => *path = FieldPath::of_name(path.as_str()),
                OrderSource::Custom(own) => {
                    own.field = FieldPath::of_name(own.field.as_str());
                    own.is_named = true;
                }
                _ => {}
            }
        }
    }
    let (mut include, mut highlights) = (Vec::new(), Vec::new());
    let (mut has_explanations, mut has_timings) = (false, false);
    let mut explanation_key = None;
    for item in &query.include {
        match item {
            Expression::Call(call) if call.is("highlight") => {
                highlights.push(bind_highlight(&binder, call)?);
            }
            Expression::Call(call) if call.is("timings") => has_timings = true,
            Expression::Call(call) if call.is("explanations") => {
                has_explanations = true;
                explanation_key = bind_explanation_key(&binder, call)?;
            }
            item => include.push(bind_include(&binder, item)?),
        }
    }
    if has_explanations && !order.iter().any(|key| key.source == OrderSource::Score) {
        order.push(OrderKey::score());
    }
    let (skip, take) = bind_paging(query, parameters)?;
    let filter_limit = match &query.paging.filter_limit {
        Some(value) => bind_count(parameters, value, "Filter limit")?,
        None => None,
    };
    Ok(BoundQuery {
        source: query.from.source.clone(),
        predicate,
        filter,
        filter_script,
        filter_reads_loaded: computed.reads_loaded(),
        order,
        projection,
        projection_behavior: ProjectionBehavior::Default,
        distinct,
        include,
        highlights,
        has_explanations,
        explanation_key,
        has_timings,
        load,
        script,
        series,
        grouping: None,
        skip,
        take,
        request_skip: None,
        request_take: None,
        filter_limit,
    })
}

impl BoundQuery {
    /// Applies `Start` and `PageSize` of a request: the smaller page size counts, and a start
    /// counts when the text has none.
    #[must_use]
    pub fn with_page(mut self, start: Option<u64>, page_size: Option<u64>) -> BoundQuery {
        self.request_skip = start;
        self.request_take = page_size;
        self
    }

    /// Says where the values of chosen fields come from.
    #[must_use]
    pub fn with_projection(mut self, behavior: ProjectionBehavior) -> BoundQuery {
        self.projection_behavior = behavior;
        self
    }

    /// Matches that are passed before the first row.
    pub(crate) fn page_skip(&self) -> u64 {
        self.skip.or(self.request_skip).unwrap_or(0)
    }

    /// Most rows given.
    pub(crate) fn page_take(&self) -> u64 {
        let unlimited = u64::MAX;
        self.take
            .unwrap_or(unlimited)
            .min(self.request_take.unwrap_or(unlimited))
    }

    /// Gives the matches without JSON, for patches and deletes by query: what `select` and
    /// `include` say does not count.
    #[must_use]
    pub fn without_rows(mut self) -> BoundQuery {
        self.projection = Projection::Nothing;
        self.distinct = false;
        self.include.clear();
        self.highlights.clear();
        if !self.filter_reads_loaded {
            self.load.clear();
        }
        self.script = None;
        self.series.clear();
        self
    }

    /// Whether rows hold what other documents say, so that they change with those.
    pub fn reads_others(&self) -> bool {
        let reads_documents = !self.include.is_empty() || !self.load.is_empty();
        reads_documents || self.scripts().next().is_some() || !self.series.is_empty()
    }

    /// Its scripts.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = &ScriptCall> {
        self.script.iter().chain(&self.filter_script)
    }

    /// Names of the fields of rows that are time series, none when a whole row is one; `None` when
    /// the query asks for no time series.
    pub(crate) fn series_fields(&self) -> Option<Vec<String>> {
        if self.series.is_empty() {
            return None;
        }
        let Projection::Fields(outputs) = &self.projection else {
            return Some(Vec::new());
        };
        let series = outputs.iter().filter(|output| output.source.is_series());
        Some(series.map(|output| output.name.clone()).collect())
    }

    /// The condition of a query that says nothing but which documents: no order, page, projection,
    /// group or script, and no named index.
    pub fn as_condition(&self) -> Option<&Predicate> {
        let is_plain = self.filter.is_none()
            && self.order.is_empty()
            && self.grouping.is_none()
            && !self.distinct
            && !self.reads_others()
            && matches!(self.projection, Projection::Document)
            && self.skip.is_none()
            && self.take.is_none()
            && self.index_name().is_none();
        is_plain.then_some(&self.predicate)
    }

    /// Names of the sorters it orders by, one for each clause that names one.
    pub(crate) fn sorters(&self) -> impl Iterator<Item = &str> {
        self.order.iter().filter_map(|key| match &key.source {
            OrderSource::Custom(own) => Some(own.name.as_str()),
            _ => None,
        })
    }

    /// Whether its rows are groups of documents, which nothing can be done to.
    pub fn is_grouped(&self) -> bool {
        self.grouping.is_some()
    }

    /// Whether the query has a `filter` clause, which patches and deletes by query refuse.
    pub fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// The index named by the query, for `from index 'Name'`.
    pub fn index_name(&self) -> Option<&str> {
        match &self.source {
            SourceName::Index(name) => Some(name),
            SourceName::Collection(_) => None,
        }
    }

    /// The documents the query is about; `None` when it names an index.
    pub fn scope(&self) -> Option<Scope> {
        match &self.source {
            SourceName::Index(_) => None,
            SourceName::Collection(name) => Some(match name.eq_ignore_ascii_case("@all_docs") {
                true => Scope::All,
                false => Scope::Collection(name.clone()),
            }),
        }
    }

    /// The automatic index that would answer the query without looking at every document; `None`
    /// when ids or a scan do, or when the query names its index.
    pub fn index_requirement(&self) -> Option<IndexRequirement> {
        if self.grouping.is_some() {
            return None;
        }
        let scope = self.scope()?;
        let fields = self.index_fields();
        (!fields.is_empty()).then_some(IndexRequirement { scope, fields })
    }

    /// The fields an index can answer for, in the order of index names: those of `where` and
    /// `order by`, and of what is selected but no value of a row. Facets of a named index may be of
    /// other fields too, and are counted by documents then.
    pub(crate) fn index_fields(&self) -> Vec<IndexField> {
        let mut fields: Vec<IndexField> = Vec::new();
        self.predicate.for_each_field(&mut |field| {
            if let Field::Values(field) = field {
                fields.push(field.clone());
            }
        });
        if let Projection::Facets(items) = &self.projection
            && self.scope().is_some()
            && !self.predicate.names_ids()
        {
            fields.extend(items.iter().flat_map(FacetItem::fields));
        }
        fields.extend(self.order.iter().filter_map(OrderKey::index_field));
        if let Projection::Suggestions(suggestions) = &self.projection {
            fields.extend(suggestions.iter().map(|suggest| suggest.field.clone()));
        }
        sort_fields(&mut fields);
        fields
    }
}

impl IndexRequirement {
    /// Whether an index with these fields answers the query.
    pub fn is_met_by(&self, fields: &[IndexField]) -> bool {
        self.fields.iter().all(|field| fields.contains(field))
    }

    /// Adds the fields of an existing index, so that the indexes of a collection converge.
    pub fn merge(&mut self, fields: &[IndexField]) {
        self.fields.extend_from_slice(fields);
        sort_fields(&mut self.fields);
    }

    /// The name of the index: `Auto/Albums/ByArtistAndTitle`.
    pub fn name(&self) -> String {
        let mut name = match &self.scope {
            Scope::All => "Auto/AllDocs/By".to_owned(),
            Scope::Collection(collection) => format!("Auto/{collection}/By"),
        };
        for (position, field) in self.fields.iter().enumerate() {
            let join = if position == 0 { "" } else { "And" };
            let _ = write!(name, "{join}{}", label(field));
        }
        name
    }
}

/// Whether an index of this name was made by a query.
pub(crate) fn is_automatic(name: &str) -> bool {
    let head = name.as_bytes().first_chunk::<5>();
    head.is_some_and(|head| head.eq_ignore_ascii_case(b"Auto/"))
}

fn sort_fields(fields: &mut Vec<IndexField>) {
    fields.sort_by_cached_key(label);
    fields.dedup();
}

/// The field in the name of an index; fields are sorted by it.
fn label(field: &IndexField) -> String {
    let path = field.path.as_str();
    match &field.kind {
        FieldKind::Exact => format!("Exact({path})"),
        FieldKind::Search => format!("Search({path})"),
        FieldKind::Plain if crate::syntax::is_reserved(path) => format!("'{path}'"),
        FieldKind::Plain | FieldKind::Named(_) => path.to_owned(),
        FieldKind::Point(longitude) => format!("Spatial.point({path}|{longitude})"),
        FieldKind::Shape => format!("Spatial.wkt({path})"),
        FieldKind::Vector(embedding) => {
            format!("Vector.search({})", embedding.wrap(&field.path))
        }
        FieldKind::NamedVector(..) => format!("Vector.search({path})"),
    }
}

/// Refuses the clauses this version does not execute.
fn refuse_clauses(query: &Query) -> Result<(), QueryError> {
    let is_index = matches!(query.from.source, SourceName::Index(_));
    if is_index && !query.group_by.is_empty() {
        return Err(QueryError::Argument(
            "Can't use 'group by' when querying on an Index. 'group by' can be used only when \
             querying on collections."
                .into(),
        ));
    }
    if query.from.options.is_some() {
        return Err(QueryError::invalid(
            "A collection takes an expression in parentheses only in a subscription: use where",
        ));
    }
    for (is_there, clause, advice) in [
        (
            !query.group_by.is_empty() && !query.load.is_empty(),
            "`load` with `group by`",
            "",
        ),
        (
            !query.group_by.is_empty() && !query.include.is_empty(),
            "`include` with `group by`",
            "",
        ),
        (query.update.is_some(), "`update`", ""),
    ] {
        if is_there {
            return Err(QueryError::not_executed(clause, advice));
        }
    }
    Ok(())
}

fn bind_include(binder: &Binder<'_, '_>, item: &Expression) -> Result<FieldPath, QueryError> {
    let path = match item {
        Expression::Path(path) => FieldPath::new(path, binder.alias),
        Expression::Value(value) => match binder.parameters.resolve(value)? {
            Resolved::Text(text) => FieldPath::parse(&text),
            other => {
                return Err(QueryError::invalid(format!(
                    "A parameter of include must be a path, but was {}: {}",
                    other.type_name(),
                    other.shown()
                )));
            }
        },
        Expression::Call(call) => {
            return Err(QueryError::not_executed(
                &format!("`include {}(...)`", call.name),
                "",
            ));
        }
        other => return Err(QueryError::invalid(format!("Unable to include: {other}"))),
    };
    if path.as_str().contains(['(', '{']) {
        return Err(QueryError::not_executed(
            "An include path with a prefix or suffix",
            "",
        ));
    }
    Ok(path)
}

type Page = (Option<u64>, Option<u64>);

fn bind_paging(query: &Query, parameters: Parameters<'_>) -> Result<Page, QueryError> {
    let count = |value: &Value, what| bind_count(parameters, value, what);
    let (mut skip, take) = match &query.paging.limit {
        None => (None, None),
        Some(Limit::Take(take)) => (None, count(take, "Limit (PageSize)")?),
        Some(Limit::SkipTake(_, _)) if query.paging.offset.is_some() => {
            return Err(QueryError::invalid(
                "Cannot use 'offset' after 'limit $skip,$take'",
            ));
        }
        Some(Limit::SkipTake(skip, take)) => (
            Some(count(skip, "Offset (Start)")?.unwrap_or(0)),
            count(take, "Limit (PageSize)")?,
        ),
    };
    if let Some(offset) = &query.paging.offset {
        skip = Some(count(offset, "Offset (Start)")?.unwrap_or(0));
    }
    Ok((skip, take))
}

/// A count of documents; null is no count.
fn bind_count(
    parameters: Parameters<'_>,
    value: &Value,
    what: &str,
) -> Result<Option<u64>, QueryError> {
    match parameters.resolve(value)? {
        Resolved::Null => Ok(None),
        Resolved::Number(Number::Long(long)) => match u64::try_from(long) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(QueryError::invalid(format!(
                "{what} cannot be negative, but was {long}."
            ))),
        },
        other => Err(QueryError::Operation(format!(
            "Value should be a 'Long' but was '{}'.",
            other.type_name()
        ))),
    }
}

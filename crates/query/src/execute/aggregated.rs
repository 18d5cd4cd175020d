//! Queries whose rows are not matches: facets and suggestions.
//!
//! Called by `execute` before anything is ordered or paged.

use std::borrow::Cow;
use std::collections::HashSet;

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{DocumentBuf, write_object};
use jackdaw_search::EntrySet;

use super::candidates::collect;
use super::index_set::{index_matches, matches_everything};
use super::rows::INCLUDED;
use super::{ExecuteOptions, Outcome, RowSink};
use crate::bind::{FacetItem, setup_facets};
use crate::error::QueryError;
use crate::facet_counts::{Matched, Way};
use crate::facets::{Facet, FacetKind, FacetRow, made};
use crate::fields::IndexField;
use crate::plan::{Access, Plan};
use crate::project::{Projection, write_document};
use crate::source::{IndexRows, Source, StoredDocument};
use crate::suggest::Suggest;
use jackdaw_model::DocumentNumber;

/// Gives the rows of a query for facets or suggestions; `None` for any other.
pub(super) fn run<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    sink: &mut dyn RowSink,
) -> Result<Option<Outcome>, QueryError> {
    match &plan.query.projection {
        Projection::Facets(items) => run_facets(plan, items, source, options, sink).map(Some),
        Projection::Suggestions(list) => run_suggestions(list, source, options, sink).map(Some),
        _ => Ok(None),
    }
}

fn run_facets<S: Source>(
    plan: &Plan<'_>,
    items: &[FacetItem],
    source: &S,
    options: &ExecuteOptions<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, QueryError> {
    let matched = matched(plan, source, options)?;
    let mut facets: Vec<Cow<'_, Facet>> = Vec::new();
    for item in items {
        match item {
            FacetItem::Facet(facet) => facets.push(Cow::Borrowed(facet)),
            FacetItem::Setup(id) => {
                let setup = source.document_by_id(id).map_err(QueryError::Source)?;
                let missing = || {
                    QueryError::invalid(format!(
                        "There is no facet setup document '{id}': store one, or name the facets"
                    ))
                };
                let setup = setup_facets(&setup.ok_or_else(missing)?)?;
                facets.extend(setup.into_iter().map(Cow::Owned));
            }
        }
    }
    check_facets(plan, &facets, source)?;
    let mut outcome = begun();
    let (mut ids, mut known) = (Vec::new(), HashSet::new());
    for facet in &facets {
        let way = match plan.access {
            Access::Index => facet.way(&matched, source, options)?,
            _ => Way::Documents,
        };
        let row = options.measured(
            || {
                let (name, count, way) = (&facet.name, matched.count, way.text());
                format!("count facet {name} over {count} matches, {way}")
            },
            "values",
            |row: &FacetRow| Some(row.terms.len() as u64),
            || facet.run(way, &matched, source, options),
        )?;
        let is_included = match &facet.kind {
            FacetKind::Terms(field) => plan.query.include.contains(&field.path),
            FacetKind::Ranges(_) | FacetKind::All => false,
        };
        let mut include = |id: String| {
            if known.insert(id.clone()) {
                ids.push(id);
            }
        };
        if is_included {
            let terms = row.terms.iter();
            terms.for_each(|term| include(lowercase(term).into_owned()));
        }
        give(&row.json, &mut outcome, sink)?;
    }
    if !ids.is_empty() {
        options.measured(
            || INCLUDED.into(),
            "documents",
            |()| Some(ids.len() as u64),
            || give_included(&ids, source, sink),
        )?;
    }
    outcome.total_results = Some(facets.len() as u64);
    Ok(outcome)
}

/// A static index counts the values of fields that it has.
fn check_facets<S: Source>(
    plan: &Plan<'_>,
    facets: &[Cow<'_, Facet>],
    source: &S,
) -> Result<(), QueryError> {
    let index = match plan.rows {
        IndexRows::Documents => None,
        IndexRows::Entries { .. } | IndexRows::Results => source.index(),
    };
    let Some(index) = index.filter(|index| !index.has_open_fields) else {
        return Ok(());
    };
    let is_known = |field: &IndexField| index.fields.iter().any(|known| known.path == field.path);
    let mut fields = facets.iter().flat_map(|facet| facet.fields());
    match fields.find(|field| !is_known(field)) {
        None => Ok(()),
        Some(field) => Err(QueryError::invalid(format!(
            "Field {} not found in Index '{}'.",
            field.path.as_str(),
            index.name
        ))),
    }
}

/// The matches whose values are counted.
fn matched<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<Matched, QueryError> {
    let (set, stale) = match plan.access {
        Access::Index => {
            if let Some(count) = matches_everything(plan, source)? {
                return Ok(Matched {
                    set: None,
                    count,
                    stale: EntrySet::new(),
                });
            }
            let found = index_matches(plan, source, options)?;
            (found.result, found.stale)
        }
        _ => (collect(plan, source, options)?, EntrySet::new()),
    };
    Ok(Matched {
        count: set.len(),
        set: Some(set),
        stale,
    })
}

fn give_included<S: Source>(
    ids: &[String],
    source: &S,
    sink: &mut dyn RowSink,
) -> Result<(), QueryError> {
    for id in ids {
        let found = source.document_by_id(id).map_err(QueryError::Source)?;
        if let Some(document) = found {
            let mut json = Vec::new();
            write_document(&document, &mut json);
            sink.include(document.id, &json).map_err(QueryError::Sink)?;
        }
    }
    Ok(())
}

fn run_suggestions<S: Source>(
    list: &[Suggest],
    source: &S,
    options: &ExecuteOptions<'_>,
    sink: &mut dyn RowSink,
) -> Result<Outcome, QueryError> {
    let index = source.index();
    let reader = index.as_ref().and_then(|index| index.reader);
    let mut outcome = begun();
    for suggest in list {
        let terms = match reader {
            Some(reader) => options.measured(
                || format!("compare the terms of {}", suggest.field.name()),
                "suggestions",
                |terms: &Vec<String>| Some(terms.len() as u64),
                || suggest.run(reader, options),
            )?,
            None => Vec::new(),
        };
        let mut json = Vec::new();
        write_object(&mut json, |row| {
            row.string("Name", &suggest.name);
            row.array("Suggestions", |list| {
                terms.iter().for_each(|term| list.string(term));
            });
        });
        give(&made(&json)?, &mut outcome, sink)?;
    }
    outcome.total_results = Some(list.len() as u64);
    Ok(outcome)
}

fn begun() -> Outcome {
    Outcome {
        is_aggregated: true,
        ..Outcome::default()
    }
}

/// Gives a row that is no document of the database.
fn give(
    row: &DocumentBuf,
    outcome: &mut Outcome,
    sink: &mut dyn RowSink,
) -> Result<(), QueryError> {
    let document = StoredDocument::made(DocumentNumber(0), row.document());
    let mut json = Vec::new();
    row.root().write_json(&mut json);
    sink.row(&document, &json).map_err(QueryError::Sink)?;
    outcome.row_count += 1;
    Ok(())
}

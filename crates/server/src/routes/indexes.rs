//! The indexes of a database: which there are, how far they have come, what they know.
//!
//! Definitions are in `index_definitions`, what is asked of indexes in `index_control`.

use hyper::StatusCode;
use jackdaw_database::{Database, IndexInfo, IndexStatus, IndexingError, StaticDefinition};
use serde_json::{Value, json};

use super::index_definitions::{self, type_name};
use super::{failure, now};
use crate::http::{Call, Outcome, Reply};
use crate::wire::WireError;

/// Collection under which clients see an index over all documents.
const ALL_DOCUMENTS: &str = "@all_docs";
/// Terms given at once when the client does not say how many.
const TERMS_DEFAULT: usize = 1024;
/// Most terms given at once.
const TERMS_MAX: usize = 65_536;

/// Numbers of all indexes.
pub(super) fn infos(database: &Database) -> Result<Vec<IndexInfo>, WireError> {
    database.indexes().map_err(|error| failure::read(&error))
}

/// What `/stats` tells about each index.
pub(super) fn summary(info: &IndexInfo) -> Value {
    let own = info.definition.as_static();
    json!({
        "IsStale": info.is_stale,
        "State": state(info),
        "LastIndexingTime": info.last_indexed.map(|moment| moment.to_string()),
        "Name": info.name(),
        "LockMode": own.map_or("Unlock", |own| own.lock_mode.as_str()),
        "Priority": own.map_or("Normal", |own| own.priority.as_str()),
        "Type": type_name(&info.definition),
        "SourceType": info.source_type.as_str(),
    })
}

/// What `/stats/essential` tells about each index.
pub(super) fn essential(info: &IndexInfo) -> Value {
    let mut row = summary(info);
    if let Value::Object(members) = &mut row {
        let is_told = ["Name", "LockMode", "Priority", "Type", "SourceType"];
        members.retain(|name, _| is_told.contains(&name.as_str()));
    }
    row
}

pub(super) fn state(info: &IndexInfo) -> &'static str {
    match info.definition.as_static() {
        _ if info.failure.is_some() => "Error",
        Some(own) => own.state.as_str(),
        None => "Normal",
    }
}

/// Indexes chosen by `name=` (repeated), `start=` and `pageSize=`, in the order of their names
/// whatever their letter case; `None` when a name is unknown.
fn chosen(call: &Call) -> Result<Option<Vec<IndexInfo>>, WireError> {
    let query = call.query();
    let mut all = infos(&*super::database(call)?)?;
    all.sort_by_cached_key(|info| info.name().to_uppercase());
    let names: Vec<String> = names(call).iter().map(|name| name.to_lowercase()).collect();
    if !names.is_empty() {
        let is_named = |info: &IndexInfo| names.contains(&info.name().to_lowercase());
        let named: Vec<IndexInfo> = all.into_iter().filter(is_named).collect();
        return Ok((named.len() == names.len()).then_some(named));
    }
    let number = |name: &str| {
        query
            .number(name)
            .and_then(|number| usize::try_from(number).ok())
    };
    let page = all.into_iter().skip(number("start").unwrap_or(0));
    Ok(Some(
        page.take(number("pageSize").unwrap_or(usize::MAX))
            .collect(),
    ))
}

/// Names in the query string.
pub(super) fn names(call: &Call) -> Vec<String> {
    let query = call.query();
    query
        .all("name")
        .filter(|name| !name.is_empty())
        .map(|name| name.into_owned())
        .collect()
}

fn with_metadata(call: &Call, rows: Vec<Value>) -> Reply {
    let metadata =
        json!({ "DateTime": now(), "WebUrl": call.own_url(), "NodeTag": call.node_tag() });
    Reply::value(&json!({ "@metadata": metadata, "Results": rows }))
}

fn answer(call: &Call, row: impl Fn(&IndexInfo) -> Value) -> Outcome {
    match chosen(call)? {
        Some(infos) => Ok(with_metadata(call, infos.iter().map(row).collect())),
        None => Ok(Reply::empty(StatusCode::NOT_FOUND)),
    }
}

/// `GET /databases/*/indexes?name=&start=&pageSize=&namesOnly=`
pub(super) fn list(call: &Call) -> Outcome {
    if call.query().flag("namesOnly") {
        return answer(call, |info| info.name().into());
    }
    let Some(infos) = chosen(call)? else {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    };
    let rows: Vec<Value> = infos.iter().map(index_definitions::describe).collect();
    Ok(Reply::value(&json!({ "Results": rows })))
}

/// Collections as clients see them.
fn collections(info: &IndexInfo) -> Vec<&str> {
    match info.collections.as_slice() {
        [] => vec![ALL_DOCUMENTS],
        names => names.iter().map(String::as_str).collect(),
    }
}

/// `GET /databases/*/indexes/stats?name=`
pub(super) fn statistics(call: &Call) -> Outcome {
    answer(call, |info| {
        let position = json!({
            "LastProcessedDocumentEtag": info.indexed_up_to.0,
            "LastProcessedTombstoneEtag": info.indexed_up_to.0,
            "LastProcessedTimeSeriesDeletedRangeEtag": 0,
            "DocumentLag": info.lag,
            "TombstoneLag": 0,
        });
        let positions: serde_json::Map<String, Value> = collections(info)
            .into_iter()
            .map(|name| (name.to_owned(), position.clone()))
            .collect();
        let own = info.definition.as_static();
        let work = &info.work;
        let created = own.and_then(|own| own.created);
        let mut row = summary(info);
        let more = json!({
            "MapAttempts": work.map_attempts,
            "MapSuccesses": work.map_attempts.saturating_sub(work.map_errors),
            "MapErrors": work.map_errors,
            "MapReferenceAttempts": work.reference_attempts,
            "MapReferenceSuccesses": work.reference_attempts,
            "MapReferenceErrors": work.reference_attempts.map(|_| 0),
            "ReduceAttempts": work.reduce_attempts,
            "ReduceSuccesses": work.reduce_attempts.map(|count| count - work.reduce_errors),
            "ReduceErrors": work.reduce_attempts.map(|_| work.reduce_errors),
            "ReduceOutputCollection": own.and_then(|own| own.output_collection.clone()),
            "ReduceOutputReferencePattern": own.and_then(|own| own.reference_pattern.clone()),
            "PatternReferencesCollectionName": own
                .and_then(|own| own.reference_collection.clone()),
            "MappedPerSecondRate": 0.0,
            "ReducedPerSecondRate": 0.0,
            "MaxNumberOfOutputsPerDocument": work.outputs_max,
            "Collections": positions,
            "LastQueryingTime": info.last_query.map(|moment| moment.to_string()),
            "CreatedTimestamp": super::queries::time(created),
            "SearchEngineType": search_engine(own),
            "ArchivedDataProcessingBehavior": own.and_then(|own| own.archived_behavior.clone()),
            "Status": status(info.status),
            "EntriesCount": info.entry_count,
            "ErrorsCount": info.error_count + u64::from(info.failure.is_some()),
            "ReferencedCollections": info.referenced,
            "IsInvalidIndex": info.failure.is_some(),
            "IsTestIndex": false,
            "Memory": null,
            "LastBatchStats": null,
            "SizeInBytes": info.bytes,
        });
        merge(&mut row, more);
        row
    })
}

/// Setting of a static index that names its engine.
const ENGINE_SETTING: &str = "Indexing.Static.SearchEngineType";
/// Engines that clients know, the usual one first. Their enumerations accept no other name.
const ENGINES: [&str; 2] = ["Corax", "Lucene"];

/// The engine that an index reports: what its definition asks for, or the usual one.
fn search_engine(own: Option<&StaticDefinition>) -> &'static str {
    let settings = own.map_or(&[][..], |own| own.configuration.as_slice());
    let setting = settings
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(ENGINE_SETTING));
    let named = setting.and_then(|(_, wanted)| {
        let known = |engine: &&str| engine.eq_ignore_ascii_case(wanted.trim());
        ENGINES.into_iter().find(known)
    });
    named.unwrap_or(ENGINES[0])
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

fn status(status: IndexStatus) -> &'static str {
    match status {
        IndexStatus::Running => "Running",
        IndexStatus::Paused => "Paused",
        IndexStatus::Disabled => "Disabled",
    }
}

/// `GET /databases/*/indexes/status`
pub(super) fn statuses(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let infos = infos(&database)?;
    let row = |info: &IndexInfo| json!({ "Name": info.name(), "Status": status(info.status) });
    let rows: Vec<Value> = infos.iter().map(row).collect();
    Ok(Reply::value(&json!({
        "Status": status(database.indexing_status()),
        "Indexes": rows,
    })))
}

/// `GET /databases/*/indexes/errors?name=`: what failed for which document.
pub(super) fn errors(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let errors = database.index_errors(&names(call));
    let errors = errors.map_err(|error| failure::read(&error))?;
    let errors = errors.map_err(|unknown| failure::no_index(&unknown.0))?;
    let row = |error: &IndexingError| {
        json!({
            "Timestamp": super::queries::time(Some(error.at)),
            "Document": error.document,
            "Action": error.action,
            "Error": error.error,
        })
    };
    let rows = errors.iter().map(|(name, errors)| {
        json!({ "Name": name, "Errors": errors.iter().map(row).collect::<Vec<_>>() })
    });
    Ok(with_metadata(call, rows.collect()))
}

/// `GET /databases/*/indexes/staleness?name=`
pub(super) fn staleness(call: &Call) -> Outcome {
    let name = required_name(call)?;
    let infos = infos(&*super::database(call)?)?;
    let found = infos.iter().find(|info| is_named(info, &name));
    let info = found.ok_or_else(|| failure::no_index(&name))?;
    let reason = info.is_stale.then(|| {
        let position = info.indexed_up_to.0;
        format!("Changes behind etag {position} are not in the index yet.")
    });
    Ok(Reply::value(&json!({
        "IsStale": info.is_stale,
        "StalenessReasons": Vec::from_iter(reason),
    })))
}

/// `GET /databases/*/indexes/progress`: indexes that have something to do.
pub(super) fn progress(call: &Call) -> Outcome {
    let infos = infos(&*super::database(call)?)?;
    let row = |info: &IndexInfo| {
        let position = json!({
            "LastProcessedItemEtag": info.indexed_up_to.0,
            "LastProcessedTombstoneEtag": info.indexed_up_to.0,
            "NumberOfItemsToProcess": info.lag,
            "NumberOfTombstonesToProcess": 0,
        });
        let positions: serde_json::Map<String, Value> = collections(info)
            .into_iter()
            .map(|name| (name.to_owned(), position.clone()))
            .collect();
        json!({
            "Name": info.name(),
            "Type": type_name(&info.definition),
            "SourceType": info.source_type.as_str(),
            "IsStale": true,
            "IndexRunningStatus": status(info.status),
            "ProcessedPerSecond": 0.0,
            "Collections": positions,
        })
    };
    let rows: Vec<Value> = infos.iter().filter(|info| info.is_stale).map(row).collect();
    Ok(Reply::value(&json!({ "Results": rows })))
}

/// `GET /databases/*/indexes/terms?name=&field=&fromValue=&pageSize=`
pub(super) fn terms(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let name = required_name(call)?;
    let query = call.query();
    let field = query
        .filled("field")
        .ok_or_else(|| WireError::empty_parameter("field"))?;
    let from = query.filled("fromValue");
    let count = query
        .number("pageSize")
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or(TERMS_DEFAULT)
        .min(TERMS_MAX);
    let terms = database.index_terms(&name, &field, from.as_deref(), count);
    let terms = terms.map_err(|error| failure::database(&error))?;
    let terms = terms.ok_or_else(|| failure::no_index(&name))?;
    let infos = infos(&database)?;
    let info = infos.iter().find(|info| is_named(info, &name));
    let etag = info.map_or(0, |info| info.indexed_up_to.0.cast_signed());
    Ok(Reply::value(&json!({
        "IndexName": info.map_or(name.as_str(), IndexInfo::name),
        "ResultEtag": etag,
        "Terms": terms,
    }))
    .with(hyper::header::ETAG, &etag.to_string()))
}

pub(super) fn required_name(call: &Call) -> Result<String, WireError> {
    let name = call.query().filled("name");
    name.map(|name| name.into_owned())
        .ok_or_else(|| WireError::empty_parameter("name"))
}

fn is_named(info: &IndexInfo, name: &str) -> bool {
    info.name().to_lowercase() == name.to_lowercase()
}

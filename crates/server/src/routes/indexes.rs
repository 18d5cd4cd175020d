//! The indexes of a database. All of them are automatic: made by the queries that need them, kept
//! up to date by the database, deleted here when nobody wants them.
//!
//! Static indexes are refused by name of what is missing, before anything is done.

use hyper::StatusCode;
use jackdaw_database::{Database, IndexInfo, Scope};
use jackdaw_query::FieldKind;
use serde_json::{Map, Value, json};

use super::cluster::NODE_TAG;
use super::{failure, now};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// Collection under which clients see an index over all documents.
const ALL_DOCUMENTS: &str = "@all_docs";

/// Numbers of all indexes.
pub(super) fn infos(database: &Database) -> Result<Vec<IndexInfo>, WireError> {
    database.indexes().map_err(|error| failure::read(&error))
}

/// What `/stats` tells about each index.
pub(super) fn summary(info: &IndexInfo) -> Value {
    json!({
        "IsStale": info.is_stale,
        "State": state(info),
        "LastIndexingTime": info.last_indexed.map(|moment| moment.to_string()),
        "Name": info.definition.name,
        "LockMode": "Unlock",
        "Priority": "Normal",
        "Type": "AutoMap",
        "SourceType": "Documents",
    })
}

fn state(info: &IndexInfo) -> &'static str {
    if info.failure.is_some() {
        "Error"
    } else {
        "Normal"
    }
}

/// Indexes chosen by `name=` (repeated), `start=` and `pageSize=`; `None` when a name is unknown.
fn chosen(call: &Call) -> Result<Option<Vec<IndexInfo>>, WireError> {
    let query = call.query();
    let all = infos(&*super::database(call)?)?;
    let names: Vec<String> = query
        .all("name")
        .filter(|name| !name.is_empty())
        .map(|name| name.to_lowercase())
        .collect();
    if !names.is_empty() {
        let is_named = |info: &IndexInfo| names.contains(&info.definition.name.to_lowercase());
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

fn answer(call: &Call, row: impl Fn(&IndexInfo) -> Value) -> Outcome {
    let Some(infos) = chosen(call)? else {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    };
    let rows: Vec<Value> = infos.iter().map(row).collect();
    let metadata = json!({ "DateTime": now(), "WebUrl": call.own_url(), "NodeTag": NODE_TAG });
    Ok(Reply::value(
        &json!({ "@metadata": metadata, "Results": rows }),
    ))
}

/// `GET /databases/*/indexes?name=&start=&pageSize=&namesOnly=`
pub(super) fn list(call: &Call) -> Outcome {
    if call.query().flag("namesOnly") {
        return answer(call, |info| info.definition.name.clone().into());
    }
    answer(call, definition)
}

/// A definition with every member that clients insist on.
fn definition(info: &IndexInfo) -> Value {
    let fields: Vec<String> = info
        .definition
        .fields
        .iter()
        .map(|field| field.name())
        .collect();
    let members: Map<String, Value> = fields
        .iter()
        .map(|field| {
            (
                field.clone(),
                json!({ "Indexing": "Default", "Storage": "No" }),
            )
        })
        .collect();
    let map = format!("{}:[{}]", collection(info), fields.join(", "));
    json!({
        "Name": info.definition.name,
        "SourceType": "Documents",
        "Type": "AutoMap",
        "LockMode": "Unlock",
        "ArchivedDataProcessingBehavior": null,
        "Priority": "Normal",
        "State": state(info),
        "OutputReduceToCollection": null,
        "DeploymentMode": null,
        "ReduceOutputIndex": null,
        "PatternForOutputReduceToCollectionReferences": null,
        "PatternReferencesCollectionName": null,
        "Configuration": {},
        "AdditionalSources": {},
        "AdditionalAssemblies": [],
        "Reduce": null,
        "Maps": [map],
        "Fields": members,
    })
}

/// What a database record tells about an index.
pub(super) fn automatic(info: &IndexInfo) -> Value {
    let field = |kind: &FieldKind| {
        let indexing = match kind {
            FieldKind::Plain | FieldKind::Point(_) | FieldKind::Shape => "Default",
            FieldKind::Exact => "Exact",
            FieldKind::Search => "Search",
        };
        json!({
            "Storage": "No",
            "Indexing": indexing,
            "Aggregation": "None",
            "Spatial": null,
            "Vector": null,
            "GroupByArrayBehavior": "NotApplicable",
            "Suggestions": false,
            "IsNameQuoted": false,
        })
    };
    let fields = info.definition.fields.iter();
    let fields: Map<String, Value> = fields
        .map(|one| (one.path.as_str().to_owned(), field(&one.kind)))
        .collect();
    json!({
        "Type": "AutoMap",
        "Collection": collection(info),
        "MapFields": fields,
        "GroupByFields": {},
        "GroupByFieldNames": [],
        "Name": info.definition.name,
        "Priority": "Normal",
        "State": null,
    })
}

fn collection(info: &IndexInfo) -> &str {
    match &info.definition.scope {
        Scope::All => ALL_DOCUMENTS,
        Scope::Collection(name) => name,
    }
}

/// `GET /databases/*/indexes/stats?name=`
pub(super) fn statistics(call: &Call) -> Outcome {
    answer(call, |info| {
        let position = json!({
            "LastProcessedDocumentEtag": info.indexed_up_to.0,
            "LastProcessedTombstoneEtag": info.indexed_up_to.0,
            "DocumentLag": info.lag,
            "TombstoneLag": 0,
        });
        let mut row = summary(info);
        let more = json!({
            "MapAttempts": info.entry_count,
            "MapSuccesses": info.entry_count,
            "MapErrors": 0,
            "MapReferenceAttempts": null,
            "MapReferenceSuccesses": null,
            "MapReferenceErrors": null,
            "ReduceAttempts": null,
            "ReduceSuccesses": null,
            "ReduceErrors": null,
            "ReduceOutputCollection": null,
            "ReduceOutputReferencePattern": null,
            "PatternReferencesCollectionName": null,
            "MappedPerSecondRate": 0.0,
            "ReducedPerSecondRate": 0.0,
            "MaxNumberOfOutputsPerDocument": 1,
            "Collections": { collection(info): position },
            "LastQueryingTime": info.last_query.map(|moment| moment.to_string()),
            "CreatedTimestamp": super::queries::NO_TIME,
            "SearchEngineType": "Jackdaw",
            "Status": status(info),
            "EntriesCount": info.entry_count,
            "ErrorsCount": i32::from(info.failure.is_some()),
            "ReferencedCollections": [],
            "IsInvalidIndex": info.failure.is_some(),
            "IsTestIndex": false,
            "SizeInBytes": info.bytes,
        });
        merge(&mut row, more);
        row
    })
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

fn status(info: &IndexInfo) -> &'static str {
    if info.failure.is_some() {
        "Disabled"
    } else {
        "Running"
    }
}

/// `GET /databases/*/indexes/status`
pub(super) fn statuses(call: &Call) -> Outcome {
    let infos = infos(&*super::database(call)?)?;
    let row = |info: &IndexInfo| json!({ "Name": info.definition.name, "Status": status(info) });
    let rows: Vec<Value> = infos.iter().map(row).collect();
    Ok(Reply::value(
        &json!({ "Status": "Running", "Indexes": rows }),
    ))
}

/// `GET /databases/*/indexes/errors?name=`: why an index stopped, when it did.
pub(super) fn errors(call: &Call) -> Outcome {
    answer(call, |info| {
        let error = info.failure.as_ref().map(|failure| {
            json!({
                "Timestamp": super::queries::time(info.last_indexed),
                "Document": null,
                "Action": "Indexing",
                "Error": failure,
            })
        });
        json!({ "Name": info.definition.name, "Errors": Vec::from_iter(error) })
    })
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

/// `DELETE /databases/*/indexes?name=`
pub(super) fn delete(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let name = required_name(call)?;
    let deleted = database
        .delete_index(&name)
        .map_err(|error| failure::database(&error))?;
    let status = if deleted {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::NOT_FOUND
    };
    Ok(Reply::empty(status))
}

/// `PUT /databases/*/indexes` and `/databases/*/admin/indexes`
pub(super) fn put(call: &Call) -> Outcome {
    super::database(call)?;
    let message = "Static indexes are not supported by this server. Query the collection: the \
                   index a query needs is made by itself.";
    Err(WireError::new(kind::NOT_SUPPORTED, message))
}

fn required_name(call: &Call) -> Result<String, WireError> {
    let name = call.query().filled("name");
    name.map(|name| name.into_owned())
        .ok_or_else(|| WireError::empty_parameter("name"))
}

fn is_named(info: &IndexInfo, name: &str) -> bool {
    info.definition.name.to_lowercase() == name.to_lowercase()
}

//! Databases as a whole: listing, creating, deleting, their records, and where to find them.
//!
//! Creating and deleting wait for the disk and therefore run on the blocking pool. Names are
//! compared without regard to case; the spelling of creation is kept.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::HeaderName;
use jackdaw_database::{Database, DatabaseSet, OpenError};
use jackdaw_document::Object;
use serde_json::{Map, Value, json};

use super::record::{self, Facts, StoredRecord};
use super::statistics::size;
use super::{failure, index_definitions, indexes, input, nodes};
use crate::auth::Access;
use crate::http::{Call, Outcome, Reply};
use crate::signals::Ending;
use crate::version;
use crate::wire::{WireError, kind};

/// Tells clients that the database they named is not there, as opposed to the server.
const DATABASE_MISSING: HeaderName = HeaderName::from_static("database-missing");

/// `GET /databases?namesOnly=&name=&start=&pageSize=`
pub(super) fn list(call: &Call) -> Outcome {
    let query = call.query();
    let wanted = query.filled("name").map(|name| name.to_lowercase());
    let is_wanted = |name: &String| {
        let is_named = wanted
            .as_ref()
            .is_none_or(|wanted| *wanted == name.to_lowercase());
        is_named && call.may(name, Access::Read)
    };
    let number = |name: &str| {
        query
            .number(name)
            .and_then(|number| usize::try_from(number).ok())
    };
    let size = number("pageSize").unwrap_or(usize::MAX);
    let names = call.shared.databases.names().into_iter().filter(is_wanted);
    let page = names.skip(number("start").unwrap_or(0)).take(size);
    let databases: Vec<Value> = if query.flag("namesOnly") {
        page.map(Value::from).collect()
    } else {
        page.filter_map(|name| described(call, &name).transpose())
            .collect::<Result<_, _>>()?
    };
    Ok(Reply::value(&json!({ "Databases": databases })))
}

fn described(call: &Call, name: &str) -> Result<Option<Value>, WireError> {
    // A list of all is no use of any.
    let Some(found) = find_by(call, name, DatabaseSet::get_quietly)? else {
        return Ok(None);
    };
    let statistics = found.database.statistics();
    let statistics = statistics.map_err(|error| failure::read(&error))?;
    let member =
        json!({ "NodeTag": call.node_tag(), "NodeUrl": call.own_url(), "ResponsibleNode": null });
    Ok(Some(json!({
        "Name": found.database.name(),
        "TotalSize": size(statistics.data_bytes + statistics.journal_bytes),
        "TempBuffersSize": size(statistics.scratch_bytes),
        "BackupInfo": null,
        "Alerts": 0,
        "PerformanceHints": 0,
        "IndexingErrors": 0,
        "DocumentsCount": statistics.document_count,
        "IndexingStatus": "Running",
        "Disabled": found.record.is_disabled(),
        "LockMode": found.record.lock_mode(),
        "IsAdmin": true,
        "IsEncrypted": false,
        "RejectClients": false,
        "IndexesCount": indexes::infos(&found.database)?.len(),
        "NodesTopology": {
            "Members": [member],
            "Promotables": [],
            "Rehabs": [],
            "Status": { (call.node_tag()): { "LastStatus": "Ok", "LastError": null } },
            "PriorityOrder": [],
            "DynamicNodesDistribution": false,
        },
        "ReplicationFactor": 1,
        "DynamicNodesDistribution": false,
        "DeletionInProgress": {},
        "Environment": "None",
    })))
}

/// `GET /topology?name=`: where a client finds a database. The address is the one it used.
pub(super) fn topology(call: &Call) -> Outcome {
    let name = required_name(call)?;
    let Some(entry) = call.shared.databases.entry(&name) else {
        return Ok(missing(&name, StatusCode::SERVICE_UNAVAILABLE));
    };
    Ok(Reply::value(&json!({
        "Promotables": [],
        "Nodes": [{
            "Url": call.own_url(),
            "ClusterTag": call.node_tag(),
            "ServerRole": "Member",
            "Database": entry.name,
            "ServerVersion": version::WIRE_VERSION,
        }],
        "Etag": entry.index,
    })))
}

/// `GET /admin/databases?name=`
pub(super) fn get(call: &Call) -> Outcome {
    let name = required_name(call)?;
    match find(call, &name)? {
        Some(found) => Ok(Reply::value(&found.described()?)),
        None => Ok(missing(&name, StatusCode::NOT_FOUND)),
    }
}

/// `GET /databases/*/admin/record`
pub(super) fn record(call: &Call) -> Outcome {
    let name = call.part(0);
    let found = find(call, &name)?.ok_or_else(|| failure::no_database(&name))?;
    Ok(Reply::value(&found.described()?))
}

fn required_name(call: &Call) -> Result<String, WireError> {
    let name = call.query().filled("name");
    name.map(|name| name.into_owned())
        .ok_or_else(|| WireError::empty_parameter("name"))
}

/// A database and what the catalog says about it.
struct Found {
    database: Arc<Database>,
    record: StoredRecord,
    index: u64,
}

impl Found {
    fn facts(&self) -> Facts<'_> {
        Facts {
            name: self.database.name(),
            origin: self.database.origin(),
            index: self.index,
        }
    }
}

impl Found {
    /// The record as clients read it, with its indexes.
    fn described(&self) -> Result<Value, WireError> {
        let mut record = self.record.full(&self.facts());
        let infos = indexes::infos(&self.database)?;
        let (own, automatic) = index_definitions::in_record(&infos);
        record["Indexes"] = own.into();
        record["AutoIndexes"] = automatic.into();
        Ok(record)
    }
}

fn find(call: &Call, name: &str) -> Result<Option<Found>, WireError> {
    find_by(call, name, DatabaseSet::get)
}

/// How a database is opened.
type Get = fn(&DatabaseSet, &str) -> Result<Option<Arc<Database>>, OpenError>;

fn find_by(call: &Call, name: &str, get: Get) -> Result<Option<Found>, WireError> {
    let databases = &call.shared.databases;
    let Some(entry) = databases.entry(name) else {
        return Ok(None);
    };
    let database = get(databases, name).map_err(|error| failure::open(name, &error))?;
    let Some(database) = database else {
        return Ok(None);
    };
    let record = StoredRecord::parse(&entry.record)?;
    Ok(Some(Found {
        database,
        record,
        index: entry.index,
    }))
}

fn missing(name: &str, status: StatusCode) -> Reply {
    let body = json!({ "Type": "Error", "Message": format!("Database {name} wasn't found") });
    let mut reply = Reply::value(&body).with(DATABASE_MISSING, name);
    reply.status = status;
    reply
}

/// `PUT /admin/databases?name=&replicationFactor=`: creates a database from the record in the body.
pub(super) fn create(call: &Call) -> Outcome {
    let mut parser = input::parser(call);
    let given = input::object(call, &mut parser)?;
    let query = call.query();
    if query
        .number("replicationFactor")
        .is_some_and(|factor| factor < 1)
    {
        let message = "Replication factor must be greater than 0.";
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    let name = match input::text(given, "DatabaseName")? {
        Some(name) => name.to_owned(),
        None => query.first("name").unwrap_or_default().into_owned(),
    };
    if name.trim().is_empty() {
        let message = "Name cannot be null or empty.";
        return Err(WireError::new(kind::BAD_REQUEST, message));
    }
    nodes::check_record(call.node_tag(), &name, given)?;
    let record = StoredRecord::new(kept_members(given)?);
    let created = call.shared.databases.create(&name, &record.to_text());
    created.map_err(|error| failure::set(&name, &error))?;
    let found = find(call, &name)?.ok_or_else(|| failure::no_database(&name))?;
    let mut topology = found.record.topology(&found.facts());
    // Readers of the record expect it; of a new database clients do not.
    if let Some(members) = topology.as_object_mut() {
        members.remove("PredefinedMentors");
    }
    let mut reply = Reply::value(&json!({
        "RaftCommandIndex": found.index,
        "Name": found.database.name(),
        "Topology": topology,
        "NodesAddedTo": [call.own_url()],
        "ShardsDefined": false,
    }));
    reply.status = StatusCode::CREATED;
    Ok(reply)
}

/// The members of a record that are kept. A record is small and holds no documents.
fn kept_members(given: Object<'_>) -> Result<Map<String, Value>, WireError> {
    let mut text = Vec::new();
    jackdaw_document::Value::Object(given).write_json(&mut text);
    let members: Map<String, Value> = serde_json::from_slice(&text)
        .map_err(|error| WireError::new(kind::INVALID_DATA, error.to_string()))?;
    Ok(record::kept(&members))
}

/// `DELETE /admin/databases` with `{DatabaseNames, ..}`. Absent ones are no failure.
pub(super) fn delete(call: &Call) -> Outcome {
    let mut parser = input::parser(call);
    let order = input::object(call, &mut parser)?;
    let names = input::texts(order, "DatabaseNames")?;
    names.iter().for_each(|name| call.objects.add(name));
    let databases = &call.shared.databases;
    let mut index = -1;
    for name in names {
        let Some(entry) = databases.entry(name) else {
            continue;
        };
        if !StoredRecord::parse(&entry.record)?.is_deletable(&entry.name)? {
            continue;
        }
        let open = databases.peek_open(name);
        if databases
            .delete(name)
            .map_err(|error| failure::set(name, &error))?
        {
            call.shared.note_disabled(name);
            if let Some(open) = open {
                end(call, &open, &failure::no_database(name), Ending::Deleted);
            }
            // Deleting takes the next index.
            index = i64::try_from(entry.index + 1)
                .unwrap_or(i64::MAX)
                .max(index);
        }
    }
    Ok(Reply::value(
        &json!({ "RaftCommandIndex": index, "PendingDeletes": [] }),
    ))
}

/// `POST /admin/compact` with `{DatabaseName, Documents, Indexes}`: checked, and refused with the
/// step that does it. Compaction rewrites an environment that nothing has open.
pub(super) fn compact(call: &Call) -> Outcome {
    let mut parser = input::parser(call);
    let order = input::object(call, &mut parser)?;
    let refused = |message: String| WireError::new(kind::INVALID_OPERATION, message);
    let name = input::text(order, "DatabaseName")?.unwrap_or("");
    if name.trim().is_empty() {
        let message = "DatabaseName is a required field when compacting a database.";
        return Err(refused(message.to_owned()));
    }
    if call.shared.databases.entry(name).is_none() {
        let message = format!("Cannot compact database {name}, it doesn't exist.");
        return Err(refused(message));
    }
    let documents = order.get("Documents").and_then(|flag| flag.as_bool());
    if documents != Some(true) && input::texts(order, "Indexes")?.is_empty() {
        let message = "Documents is false in compact settings and no indexes were supplied. \
                       Nothing to compact.";
        return Err(refused(message.to_owned()));
    }
    let message = format!(
        "Database '{name}' is not compacted while it is served. Stop the server and run \
         `jackdaw compact` on its data directory; space that is freed meanwhile is used again."
    );
    Err(WireError::new(kind::NOT_SUPPORTED, message))
}

/// `POST /admin/databases/set-lock` with `{DatabaseNames, Mode}`: whether databases may be deleted.
pub(super) fn set_lock(call: &Call) -> Outcome {
    let mut parser = input::parser(call);
    let order = input::object(call, &mut parser)?;
    let mode = input::text(order, "Mode")?.unwrap_or("");
    if !record::LOCK_MODES.contains(&mode) {
        let message = format!(
            "'{mode}' is no lock mode. Use one of {:?}.",
            record::LOCK_MODES
        );
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    let names = input::texts(order, "DatabaseNames")?;
    names.iter().for_each(|name| call.objects.add(name));
    let is_missing = |name: &&&str| call.shared.databases.entry(name).is_none();
    // All are found before the first is changed.
    if let Some(name) = names.iter().find(is_missing) {
        return Err(failure::no_database(name));
    }
    for name in names {
        change_record(call, name, |record| Ok(record.with_lock_mode(mode)))?;
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// Sets a member of the record of the database that the route captured; gives the new index.
pub(super) fn set_member(call: &Call, name: &str, value: Value) -> Result<u64, WireError> {
    change_member(call, name, |_| Ok(value))
}

/// Makes a new value of a member of the record of the database that the route captured from the
/// present one; gives the new index. Nobody else changes the record meanwhile.
pub(super) fn change_member(
    call: &Call,
    name: &str,
    change: impl FnOnce(Option<&Value>) -> Result<Value, WireError>,
) -> Result<u64, WireError> {
    change_record(call, &call.part(0), |record| {
        let value = change(record.member(name))?;
        Ok(record.with_member(name, value))
    })
}

/// Says whether a database serves.
pub(super) fn set_disabled(call: &Call, name: &str, is_disabled: bool) -> Result<(), WireError> {
    change_record(call, name, |record| {
        Ok(record.with_member(record::DISABLED, is_disabled.into()))
    })?;
    let is_disabled = call.shared.note_disabled(name);
    if let Some(open) = call
        .shared
        .databases
        .peek_open(name)
        .filter(|_| is_disabled)
    {
        end(call, &open, &failure::disabled(name), Ending::Disabled);
    }
    Ok(())
}

/// Sends away all who read a database without an end.
fn end(call: &Call, database: &Database, error: &WireError, ending: Ending) {
    call.shared.signals.end(database, ending);
    call.shared.recent_batches.forget(database.id().as_str());
    let desk = &call.shared.desk;
    desk.end_database(database, error.kind, &error.message);
}

/// Changes the record of a database; gives the new index.
fn change_record(
    call: &Call,
    database: &str,
    change: impl FnOnce(StoredRecord) -> Result<StoredRecord, WireError>,
) -> Result<u64, WireError> {
    let changed = call.shared.databases.change_record(database, |text| {
        let record = change(StoredRecord::parse(text)?)?;
        Ok(record.to_text())
    });
    changed.map_err(|error| failure::set(database, &error))?
}

/// The index of the record of the database that the route captured, and a member of it.
pub(super) fn member(call: &Call, name: &str) -> Result<(u64, Option<Value>), WireError> {
    let database = call.part(0);
    let entry = call.shared.databases.entry(&database);
    let entry = entry.ok_or_else(|| failure::no_database(&database))?;
    let record = StoredRecord::parse(&entry.record)?;
    Ok((entry.index, record.member(name).cloned()))
}

/// `GET /databases/*/healthcheck`
pub(super) fn health(call: &Call) -> Outcome {
    super::database(call)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

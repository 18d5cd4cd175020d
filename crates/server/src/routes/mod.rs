//! What each route answers, one file per resource; the table of all routes is `table`.
//!
//! Called by `http::dispatch`. Handlers turn a `Call` into a `Reply` or a `WireError`; typed
//! errors of the layers below become wire errors in `failure` and nowhere else.

mod analyzers;
mod asked;
mod attachments;
mod backups;
mod batch;
mod bulk_insert;
mod by_query;
mod certificates;
mod changes;
mod classes;
mod cluster;
mod compare_exchange;
mod connection_strings;
mod counters;
mod csv;
mod databases;
mod delete_by_query;
mod documents;
mod due;
mod failure;
mod feed;
mod hilo;
mod identities;
mod imports;
mod including;
mod index_control;
mod index_definitions;
mod indexes;
mod input;
mod live;
mod logs;
mod metrics;
mod multi_get;
mod nodes;
mod operations;
mod pages;
mod patch_by_query;
mod patches;
mod preview;
mod queries;
mod record;
mod revisions;
mod row;
mod sample_data;
mod series;
mod series_policies;
mod settings;
mod smuggler;
mod snapshots;
mod sorters;
mod statistics;
mod streams;
mod studio;
mod subscriptions;
mod table;
mod tasks;
mod time_value;
mod tokens;
mod writing;

use std::collections::HashSet;
use std::sync::Arc;

use jackdaw_database::{Database, DatabaseSet};

pub(crate) use due::rules as due_rules;
pub(crate) use failure::{read as read_failure, write as write_failure};
pub(crate) use feed::RecentBatches;
pub(crate) use including::Included;
pub(crate) use operations::Operations;
pub(crate) use row::{Audit, Payload, Rate, Row};
pub(crate) use series_policies::rule as series_rule;
pub(crate) use sorters::CompiledSorters;
pub(crate) use table::table;

use crate::http::Call;
use crate::shared::Shared;
use crate::signals::Changed;
use crate::wire::{WireError, kind};

/// The database that the route's pattern captured, opened if it is not open. Blocks then.
fn database(call: &Call) -> Result<Arc<Database>, WireError> {
    open_database(&call.shared, &call.part(0))
}

/// The database called `name`, opened if it is not open. Blocks then.
pub(crate) fn open_database(shared: &Shared, name: &str) -> Result<Arc<Database>, WireError> {
    if shared.is_disabled(name) {
        return Err(failure::disabled(name));
    }
    let found = shared.databases.get(name);
    let found = found.map_err(|error| failure::open(name, &error))?;
    found.ok_or_else(|| failure::no_database(name))
}

/// As [`database`], without blocking the task.
async fn database_soon(call: &Arc<Call>) -> Result<Arc<Database>, WireError> {
    let name = call.part(0);
    if let Some(database) = call.shared.databases.get_open(&name)
        && !call.shared.is_disabled(&name)
    {
        return Ok(database);
    }
    let call = call.clone();
    let opened = tokio::task::spawn_blocking(move || database(&call)).await;
    opened.unwrap_or_else(|_| {
        Err(WireError::new(
            kind::UNEXPECTED,
            "The database could not be opened.",
        ))
    })
}

/// Follows a database to its end. It is looked for again, since it may have ended just before.
fn follow(call: &Call, database: &Arc<Database>) -> Result<Changed, WireError> {
    let name = call.part(0);
    let changed = call.shared.signals.follow(database);
    if call.shared.is_disabled(&name) {
        return Err(failure::disabled(&name));
    }
    let present = call.shared.databases.get_open(&name);
    match present.is_some_and(|present| Arc::ptr_eq(&present, database)) {
        true => Ok(changed),
        false => Err(failure::no_database(&name)),
    }
}

/// Lower-cased names of the databases whose records say that they do not serve.
pub(crate) fn disabled_databases(databases: &DatabaseSet) -> HashSet<String> {
    let is_disabled = |name: &String| {
        let entry = databases.entry(name);
        entry.is_some_and(|entry| is_disabled_by(&entry.record))
    };
    let names = databases.names().into_iter().filter(is_disabled);
    names.map(|name| name.to_lowercase()).collect()
}

/// Whether the record of a database says that it does not serve.
pub(crate) fn is_disabled_by(record: &str) -> bool {
    record::StoredRecord::parse(record).is_ok_and(|record| record.is_disabled())
}

/// The value of `Database-Cluster-Tx-Id` for a request below `/databases/{db}/`.
pub(crate) fn database_tag(call: &Call) -> Option<String> {
    call.uri
        .path()
        .get(..11)
        .filter(|start| start.eq_ignore_ascii_case("/databases/"))?;
    let database = call.shared.databases.get_open(&call.part(0))?;
    Some(database.origin().transactions().to_owned())
}

/// The present moment in the text of the wire.
pub(crate) fn now() -> String {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    jackdaw_base::time::UnixTicks::from_unix(since_epoch.unwrap_or_default()).to_string()
}

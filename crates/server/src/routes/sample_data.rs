//! `POST /databases/*/studio/sample-data`: fills an empty database with data to try things out.

use hyper::StatusCode;
use jackdaw_database::{Command, Database, RevisionsRule, Snapshot, StaticDefinition};
use jackdaw_document::{DocumentBuf, Limits};

use super::failure;
use crate::http::{Call, Outcome, Reply};
use crate::sample;
use crate::wire::{WireError, kind};

/// Commands of one transaction.
const COMMANDS_AT_ONCE: usize = 256;

/// The collection that keeps its revisions.
const ORDERS: &str = "Orders";

/// See the file head. `operateOnTypes` names what is wanted, everything when there is none.
pub(super) fn create(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let snapshot = database.read().map_err(|error| failure::read(&error))?;
    if snapshot.count() > 0 {
        let message = "You cannot create sample data in a database that already contains documents";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    }
    let query = call.query();
    let types: Vec<_> = query.all("operateOnTypes").collect();
    let is_wanted = |name: &str| {
        types.is_empty() || types.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
    };
    if is_wanted("RevisionDocuments") {
        keep_revisions_of_orders(&database, &snapshot)?;
    }
    if is_wanted("Documents") {
        let documents = sample::documents();
        let unexpected = |error: &dyn std::fmt::Display| {
            WireError::new(
                kind::UNEXPECTED,
                format!("The sample data is no JSON: {error}"),
            )
        };
        store(&database, documents.map_err(|error| unexpected(&error))?)?;
        for (name, make) in [
            ("Attachments", sample::attachments as fn() -> Vec<Command>),
            ("CounterGroups", sample::counters),
            ("TimeSeries", sample::series),
        ] {
            if is_wanted(name) {
                store(&database, make())?;
            }
        }
    }
    if is_wanted("Indexes") {
        put_indexes(&database)?;
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// Adds a rule for orders, unless there is one; all others stay.
fn keep_revisions_of_orders(database: &Database, snapshot: &Snapshot) -> Result<(), WireError> {
    let present = snapshot.revisions_configuration();
    let mut configuration = present
        .map_err(|error| failure::read(&error))?
        .unwrap_or_default();
    let mut rules = configuration.collections.iter();
    if rules.any(|(name, _)| name.eq_ignore_ascii_case(ORDERS)) {
        return Ok(());
    }
    let rule = (ORDERS.to_owned(), RevisionsRule::default());
    configuration.collections.push(rule);
    let set = database.set_revisions_configuration(configuration);
    set.map(drop).map_err(|error| failure::write(&error))
}

fn store(database: &Database, commands: Vec<Command>) -> Result<(), WireError> {
    let mut commands = commands.into_iter().peekable();
    while commands.peek().is_some() {
        let batch = commands.by_ref().take(COMMANDS_AT_ONCE).collect();
        database
            .batch(batch)
            .map_err(|error| failure::write(&error))?;
    }
    Ok(())
}

fn put_indexes(database: &Database) -> Result<(), WireError> {
    let refused = |error: &dyn std::fmt::Display| {
        WireError::new(
            kind::UNEXPECTED,
            format!("An index of the sample data: {error}"),
        )
    };
    for definition in sample::indexes() {
        let text = definition.to_string();
        let document = DocumentBuf::from_json(text.as_bytes(), &Limits::default());
        let document = document.map_err(|error| refused(&error))?;
        if let Some(object) = document.root().as_object() {
            let read = StaticDefinition::read(object).map_err(|error| refused(&error))?;
            database.put_index(read).map_err(|error| refused(&error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use jackdaw_database::{DatabaseOptions, DatabaseSet};
    use jackdaw_io::MemoryVfs;

    use super::*;

    #[test]
    fn what_somebody_stores_meanwhile_is_not_overwritten() {
        let (vfs, options) = (MemoryVfs::new(), DatabaseOptions::default());
        let set = DatabaseSet::open(vfs, Path::new("/data"), options).unwrap();
        let database: Arc<Database> = set.create("db1", "{}").unwrap();
        let own = DocumentBuf::from_json(br#"{"own":1}"#, &Limits::default()).unwrap();
        let put = Command::Put {
            id: Some("companies/1-A".to_owned()),
            body: own.clone(),
            metadata: None,
            expected: None,
            keeps_revision: false,
        };
        database.batch(vec![put]).unwrap();
        // As `create` does, had it looked before.
        let refused = store(&database, sample::documents().unwrap()).unwrap_err();
        assert_eq!(refused.status, StatusCode::CONFLICT);
        let snapshot = database.read().unwrap();
        let row = snapshot.get("companies/1-A").unwrap().unwrap();
        assert_eq!(row.body().root().to_json(), r#"{"own":1}"#);
    }
}

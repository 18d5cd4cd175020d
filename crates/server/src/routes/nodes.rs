//! Nodes of a database: which ones a new database may ask for, and adding one to an old database.
//!
//! A database lives on this node alone and is not sharded. What asks for more is refused, so that
//! no client takes one copy for several, or one database for a sharded one.

use jackdaw_document::{Object, Value};

use super::input;
use crate::http::{Call, Outcome};
use crate::wire::{WireError, kind};

/// Members of a topology that name nodes.
const NODE_LISTS: [&str; 3] = ["Members", "Promotables", "Rehabs"];

/// Refuses the record of a new database that asks for shards or for nodes other than `own`.
pub(super) fn check_record(own: &str, name: &str, record: Object<'_>) -> Result<(), WireError> {
    if record
        .get("Sharding")
        .is_some_and(|sharding| !sharding.is_null())
    {
        let message = format!(
            "Sharded databases are not served: '{name}' was not created. Leave 'Sharding' out to \
             create it on this node."
        );
        return Err(WireError::new(kind::NOT_SUPPORTED, message));
    }
    let topology = match record.get("Topology") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(topology)) => topology,
        Some(other) => {
            let found = input::token(other);
            let message = format!("Expected 'Topology' to be an object, but got {found}");
            return Err(WireError::new(kind::FORMAT, message));
        }
    };
    let mut count = 0;
    for list in NODE_LISTS {
        for node in input::texts(topology, list)? {
            if node != own {
                let message = format!(
                    "Failed to add node {node}, because we don't have it in the cluster. '{name}' \
                     was not created: this server is the only node, {own}."
                );
                return Err(WireError::new(kind::ARGUMENT, message));
            }
            count += 1;
        }
    }
    if count > 1 {
        let message = format!(
            "Database document validation failed: 'Topology' names node {own} {count} times. \
             '{name}' was not created."
        );
        return Err(WireError::new(kind::BAD_REQUEST, message));
    }
    Ok(())
}

/// `PUT /admin/databases/node?name=&node=`: refused, because there is no other node.
pub(super) fn add(call: &Call) -> Outcome {
    let query = call.query();
    let name = query.filled("name");
    let name = name.ok_or_else(|| WireError::empty_parameter("name"))?;
    let Some(entry) = call.shared.databases.entry(&name) else {
        let message =
            "Database Record not found when trying to add a node to the database topology";
        return Err(WireError::new(kind::NO_DATABASE, message));
    };
    let name = entry.name;
    let message = match query.filled("node").as_deref() {
        None => format!("Database {name} already exists on all the nodes of the cluster"),
        Some(own) if own == call.node_tag() => {
            format!("Can't add node {own} to {name} topology because it is already part of it")
        }
        Some(node) => format!(
            "Can't add node {node} to database '{name}' topology, because node {node} (which is \
             in the new topology) is not part of the cluster"
        ),
    };
    Err(WireError::new(kind::INVALID_OPERATION, message))
}

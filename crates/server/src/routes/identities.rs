//! Identities: the numbers of `prefix|` ids, which the database hands out one by one.

use serde_json::{Map, Value, json};

use super::{documents, failure};
use crate::http::{Call, Outcome, Reply};
use crate::wire::WireError;

/// `GET /databases/*/debug/identities`
pub(super) fn list(call: &Call) -> Outcome {
    let identities = documents::snapshot(call)?.identities();
    let identities = identities.map_err(|error| failure::read(&error))?;
    let members: Map<String, Value> = identities
        .into_iter()
        .map(|(prefix, last)| (prefix, last.into()))
        .collect();
    Ok(Reply::value(&Value::Object(members)))
}

/// `POST /databases/*/identity/seed?name=&value=&force=`: sets the last number given out. A smaller
/// one is taken only with `force`; the answer is the one in force.
pub(super) fn seed(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let query = call.query();
    let name = query
        .filled("name")
        .ok_or_else(|| WireError::empty_parameter("name"))?;
    let value = query
        .number("value")
        .ok_or_else(|| WireError::missing_parameter("value"))?;
    let prefix = format!("{}|", name.trim_end_matches('|'));
    let value = database.seed_identity(&prefix, value, query.flag("force"));
    let value = value.map_err(|error| failure::write(&error))?;
    Ok(Reply::value(&json!({ "NewSeedValue": value })))
}

/// `POST /databases/*/identity/next?name=`: takes the next number.
pub(super) fn next(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let name = call.query().filled("name");
    let name = name.ok_or_else(|| WireError::empty_parameter("name"))?;
    let prefix = format!("{}|", name.trim_end_matches('|'));
    let value = database.next_identity(&prefix);
    let value = value.map_err(|error| failure::write(&error))?;
    Ok(Reply::value(&json!({ "NewIdentityValue": value })))
}

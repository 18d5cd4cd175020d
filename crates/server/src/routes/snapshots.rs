//! `/databases/*/jackdaw/snapshots`: states of a database that stay readable by name.
//!
//! Reading routes and queries take `?snapshot=NAME` then: see `documents::snapshot`.

use std::time::Duration;

use hyper::StatusCode;
use jackdaw_base::time::UnixTicks;
use jackdaw_database::NamedSnapshot;
use serde_json::json;

use super::failure;
use crate::http::{Call, Outcome, Reply};
use crate::wire::WireError;

/// `GET`: `{"Results": [{"Name", "Taken", "KeptBytes", "IsBeingDropped"}]}`, by name.
pub(super) fn list(call: &Call) -> Outcome {
    let snapshots = super::database(call)?.snapshots();
    let snapshots = snapshots.map_err(|error| failure::read(&error))?;
    let listed: Vec<_> = snapshots.iter().map(described).collect();
    Ok(Reply::value(&json!({ "Results": listed })))
}

/// `PUT ?name=`: copies nothing; what was answered before is in it. 201.
pub(super) fn take(call: &Call) -> Outcome {
    let name = name(call)?;
    let taken = super::database(call)?.take_snapshot(&name);
    taken.map_err(|error| failure::write(&error))?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `DELETE ?name=`: answers 204 when all that was kept for it alone is free again.
pub(super) fn drop(call: &Call) -> Outcome {
    let name = name(call)?;
    let dropped = super::database(call)?.drop_snapshot(&name);
    dropped.map_err(|error| failure::write(&error))?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

fn described(snapshot: &NamedSnapshot) -> serde_json::Value {
    json!({
        "Name": snapshot.name,
        "Taken": UnixTicks::from_unix(Duration::from_nanos(snapshot.unix_nanos)).to_string(),
        "KeptBytes": snapshot.kept_bytes,
        "IsBeingDropped": snapshot.is_being_dropped,
    })
}

fn name(call: &Call) -> Result<String, WireError> {
    let name = call.query().filled("name");
    let name = name.ok_or_else(|| WireError::empty_parameter("name"))?;
    Ok(name.into_owned())
}

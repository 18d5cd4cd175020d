//! Operations that go on after their request was answered, looked up by number.
//!
//! Numbers are given out per database, from 1, and are not reused while the server runs. No route
//! of this server starts such an operation yet, so a number that a client asks about is unknown
//! unless the client was given it in advance; then nothing has been done under it so far.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hyper::StatusCode;
use serde_json::json;

use super::cluster::NODE_TAG;
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// The last number given out, by database.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    last: Mutex<HashMap<String, i64>>,
}

impl Operations {
    fn next(&self, database_id: &str) -> i64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let number = last.entry(database_id.to_owned()).or_default();
        *number += 1;
        *number
    }
}

/// `GET /databases/*/operations/next-operation-id`
pub(super) fn next_number(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let number = call.shared.operations.next(database.id().as_str());
    Ok(Reply::value(&json!({ "Id": number, "NodeTag": NODE_TAG })))
}

/// `GET /databases/*/operations`
pub(super) fn list(call: &Call) -> Outcome {
    super::database(call)?;
    if call.query().number("id").is_some() {
        return Ok(Reply::empty(StatusCode::NOT_FOUND));
    }
    Ok(Reply::value(&json!({ "Results": [] })))
}

/// `GET /databases/*/operations/state?id=`
pub(super) fn state(call: &Call) -> Outcome {
    super::database(call)?;
    server_state(call)
}

/// `GET /operations/state?id=`
pub(super) fn server_state(call: &Call) -> Outcome {
    required_number(call)?;
    Ok(Reply::empty(StatusCode::NOT_FOUND))
}

/// `POST /databases/*/operations/kill?id=`
pub(super) fn kill(call: &Call) -> Outcome {
    super::database(call)?;
    let number = required_number(call)?;
    let message = format!("Operation {number} was not registered");
    Err(WireError::new(kind::ARGUMENT, message))
}

fn required_number(call: &Call) -> Result<i64, WireError> {
    call.query()
        .number("id")
        .ok_or_else(|| WireError::missing_parameter("id"))
}

//! `/databases/*/jackdaw/imports`: how far imports of the command line came.
//!
//! A marker belongs to the import and is no document: nothing that lists documents shows it. The
//! command line writes it behind the documents that it covers, so it never claims what is not
//! there.

use hyper::StatusCode;
use jackdaw_transfer::marker::Marker;

use super::failure;
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// Bytes of the longest name.
const NAME_BYTES_MAX: usize = 256;

/// `GET ?name=`: `{"Entries", "Documents", "Skipped", "Lost", "Finished"}`; 404 when no import of
/// this name was begun.
pub(super) fn progress(call: &Call) -> Outcome {
    let name = name(call)?;
    let snapshot = super::database(call)?.read();
    let snapshot = snapshot.map_err(|error| failure::read(&error))?;
    let marker = snapshot.progress_marker(&name);
    Ok(match marker.map_err(|error| failure::read(&error))? {
        Some(marker) => Reply::json(StatusCode::OK, marker),
        None => Reply::empty(StatusCode::NOT_FOUND),
    })
}

/// `PUT ?name=` with such an object: 204 when it is durable.
pub(super) fn put_progress(call: &Call) -> Outcome {
    let name = name(call)?;
    let marker = Marker::from_json(&call.body).ok_or_else(|| {
        let message = "The body is no progress of an import: it needs the numbers Entries, \
                       Documents and Skipped, and Finished.";
        WireError::new(kind::BAD_REQUEST, message)
    })?;
    let stored = super::database(call)?.put_progress_marker(&name, &marker.to_json());
    stored.map_err(|error| failure::write(&error))?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

fn name(call: &Call) -> Result<String, WireError> {
    let name = call.query().filled("name");
    let name = name.ok_or_else(|| WireError::empty_parameter("name"))?;
    if name.len() > NAME_BYTES_MAX {
        let message = format!("The name of an import has {NAME_BYTES_MAX} bytes at most.");
        return Err(WireError::new(kind::BAD_REQUEST, message));
    }
    Ok(name.into_owned())
}

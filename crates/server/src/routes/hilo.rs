//! Ranges of numbers from which clients make ids without asking for each: HiLo.
//!
//! The database keeps the highest number given out per tag in a document of its own; a client that
//! asks again soon gets a larger range. Both routes wait for the disk: on the blocking pool.

use hyper::StatusCode;
use jackdaw_base::time::UnixTicks;
use jackdaw_database::HiloRequest;
use serde_json::json;

use super::{failure, now};
use crate::http::{Call, Outcome, Reply};
use crate::wire::WireError;

/// What stands between tag and number unless the client says otherwise.
const SEPARATOR: char = '/';

/// `GET /databases/*/hilo/next?tag=&lastBatchSize=&lastRangeAt=&identityPartsSeparator=&lastMax=`
pub(super) fn next(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let query = call.query();
    let tag = query
        .filled("tag")
        .ok_or_else(|| WireError::empty_parameter("tag"))?;
    let last_at = query
        .filled("lastRangeAt")
        .and_then(|text| UnixTicks::parse(text.trim()));
    let separator = query
        .filled("identityPartsSeparator")
        .and_then(|text| text.chars().next());
    let separator = separator.unwrap_or(SEPARATOR);
    let request = HiloRequest {
        tag: tag.to_string(),
        last_size: query.number("lastBatchSize").unwrap_or(0),
        last_at,
        last_max: query.number("lastMax").unwrap_or(0),
    };
    let range = database
        .hilo_next(request)
        .map_err(|error| failure::write(&error))?;
    let mut reply = Reply::value(&json!({
        "Prefix": format!("{tag}{separator}"),
        "Low": range.low,
        "High": range.high,
        "LastSize": range.high - range.low + 1,
        "ServerTag": call.node_tag(),
        "LastRangeAt": now(),
    }));
    reply.status = StatusCode::CREATED;
    Ok(reply)
}

/// `PUT /databases/*/hilo/return?tag=&end=&last=`
pub(super) fn give_back(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let query = call.query();
    let tag = query
        .filled("tag")
        .ok_or_else(|| WireError::empty_parameter("tag"))?;
    let number = |name| {
        query
            .number(name)
            .ok_or_else(|| WireError::missing_parameter(name))
    };
    let returned = database.hilo_return(&tag, number("end")?, number("last")?);
    returned.map_err(|error| failure::write(&error))?;
    Ok(Reply::empty(StatusCode::OK))
}

//! API keys and the tokens they are exchanged for.
//!
//! ```text
//! POST /jackdaw/token     {"ApiKey":"jdk_..."}
//!                     ->  {"Token":"jdk_t_...","ExpiresInSec":43200,"IdleInSec":900}
//! Authorization: Bearer jdk_t_...      on every request from then on
//! ```
//!
//! Failed exchanges are slowed down by address and by key, with 429 and `Retry-After`; tokens that
//! are out there are not touched by that.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::RETRY_AFTER;
use serde_json::{Value, json};

use super::certificates::{be_cluster_admin, failed, read, secured};
use crate::auth::{Exchanged, Granted};
use crate::http::{Call, Outcome, Pending, Reply};
use crate::wire::{WireError, kind};

/// `POST /jackdaw/token`
pub(super) fn exchange(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let secured = secured(&call)?;
        let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let text = body["ApiKey"].as_str().unwrap_or("");
        let (from, attempts) = (call.caller.peer.ip(), &call.shared.attempts);
        let exchanged = secured.exchange(text, from, attempts).await;
        match exchanged.map_err(|error| failed(&error))? {
            Exchanged::Granted(granted) => Ok(granted_reply(&granted)),
            Exchanged::Refused => {
                let message = "The API key is not one of this server.";
                let error = WireError::new(kind::AUTHORIZATION, message);
                Err(error.with_status(StatusCode::UNAUTHORIZED))
            }
            Exchanged::Wait(wait) => {
                let seconds = (wait.as_secs() + 1).to_string();
                let message = format!("Too many keys were wrong: try again in {seconds} s.");
                let error = WireError::new(kind::AUTHORIZATION, message);
                let error = error.with_status(StatusCode::TOO_MANY_REQUESTS);
                let body = error.body(call.uri.path());
                Ok(Reply::json(error.status, body).with(RETRY_AFTER, &seconds))
            }
        }
    })
}

/// `POST /jackdaw/token/renew`: a new token; the old one ends in a minute.
pub(super) fn renew(call: &Call) -> Outcome {
    let renewed = secured(call)?.renew(&call.headers);
    let no_token = "Only a token can be renewed, and the request came without one.";
    let renewed = renewed.ok_or_else(|| WireError::new(kind::ARGUMENT, no_token))?;
    Ok(granted_reply(&renewed.map_err(|error| failed(&error))?))
}

fn granted_reply(granted: &Granted) -> Reply {
    let reply = Reply::value(&json!({
        "Token": granted.token,
        "ExpiresInSec": granted.lasts.as_secs(),
        "IdleInSec": granted.idle.as_secs(),
    }));
    reply.with(hyper::header::CACHE_CONTROL, "no-store")
}

/// `DELETE /jackdaw/token`: ends the token that the request carries, and its open streams.
pub(super) fn end(call: &Call) -> Outcome {
    secured(call)?.end(&call.headers);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `GET /jackdaw/keys`: keys without their secrets.
pub(super) fn list(call: &Call) -> Outcome {
    let registry = secured(call)?
        .directory
        .registry()
        .map_err(|error| failed(&error))?;
    let keys = registry.keys.iter().map(|key| {
        json!({
            "Id": key.id,
            "Name": key.name,
            "SecurityClearance": key.grant.security_clearance,
            "Permissions": key.grant.permissions,
        })
    });
    Ok(Reply::value(
        &json!({ "Results": keys.collect::<Vec<_>>() }),
    ))
}

/// `POST /jackdaw/keys` with `{Name, SecurityClearance, Permissions}`: the answer has the key,
/// which is shown this once.
pub(super) fn create(call: &Call) -> Outcome {
    let (_, name, grant) = read(call)?;
    let text = secured(call)?.directory.create_key(&name, grant);
    let text = text.map_err(|error| failed(&error))?;
    call.shared.secure_round(true);
    Ok(Reply::value(&json!({ "ApiKey": text })).with(hyper::header::CACHE_CONTROL, "no-store"))
}

/// `DELETE /jackdaw/keys?id=&onlyTokens=`: forgets a key, or only ends its tokens.
pub(super) fn remove(call: &Call) -> Outcome {
    let query = call.query();
    let id = query
        .filled("id")
        .ok_or_else(|| WireError::missing_parameter("id"))?;
    let secured = secured(call)?;
    let registry = secured
        .directory
        .registry()
        .map_err(|error| failed(&error))?;
    let found = registry.keys.iter().find(|key| key.id == *id);
    if found.is_some_and(|key| key.grant.is_cluster_admin()) {
        be_cluster_admin(call)?;
    }
    let ended = secured.end_of_key(&id);
    if !query.flag("onlyTokens") {
        secured
            .directory
            .remove_key(&id)
            .map_err(|error| failed(&error))?;
        call.shared.secure_round(true);
    }
    Ok(Reply::value(&json!({ "TokensEnded": ended })))
}

//! What clients ask of indexes: deleting, resetting, stopping, starting, locks, priorities,
//! forgetting errors.

use hyper::StatusCode;
use jackdaw_base::lowercase::lowercase;
use jackdaw_database::{Database, IndexKinds, IndexState, LockMode, Named, Priority};
use jackdaw_document::Object;

use super::index_definitions::refused;
use super::indexes::{names, required_name};
use super::{analyzers, failure, indexes, input};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

fn done() -> Reply {
    Reply::empty(StatusCode::NO_CONTENT)
}

/// The answer to a change of indexes that were named.
fn named(outcome: Named<()>) -> Outcome {
    let outcome = outcome.map_err(|error| failure::database(&error))?;
    outcome.map_err(|unknown| failure::no_index(&unknown.0))?;
    Ok(done())
}

/// `DELETE /databases/*/indexes?name=`
pub(super) fn delete(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let name = required_name(call)?;
    let deleted = database.delete_index(&name);
    match deleted.map_err(|error| failure::database(&error))? {
        true => Ok(done()),
        false => Ok(Reply::empty(StatusCode::NOT_FOUND)),
    }
}

/// `RESET /databases/*/indexes?name=`
pub(super) fn reset(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let name = required_name(call)?;
    let infos = indexes::infos(&database)?;
    let known = infos
        .iter()
        .find(|info| lowercase(info.name()) == lowercase(&name));
    let found = match known.and_then(|info| info.definition.as_static()) {
        Some(own) => {
            let mut definition = own.clone();
            analyzers::resolve(call, &mut definition)?;
            // An analyzer may be gone.
            let checked = Database::check_index(&definition);
            checked.map_err(|error| refused(&error, definition.is_javascript()))?;
            database.reset_index_with(&name, definition.analyzers)
        }
        None => database.reset_index(&name),
    };
    match found.map_err(|error| failure::database(&error))? {
        true => Ok(done()),
        false => Err(failure::no_index(&name)),
    }
}

/// `POST /databases/*/indexes/replace?name=`: puts a replacement in its place at once.
pub(super) fn replace(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let name = required_name(call)?;
    let found = database.replace_index(&name);
    match found.map_err(|error| failure::database(&error))? {
        true => Ok(done()),
        false => Err(failure::no_index(&name)),
    }
}

/// `POST /databases/*/admin/indexes/stop?name=&type=`
pub(super) fn stop(call: &Call) -> Outcome {
    pause(call, true)
}

/// `POST /databases/*/admin/indexes/start?name=&type=`
pub(super) fn start(call: &Call) -> Outcome {
    pause(call, false)
}

fn pause(call: &Call, is_paused: bool) -> Outcome {
    let database = super::database(call)?;
    let query = call.query();
    if let Some(name) = query.filled("name") {
        return match database.pause_index(&name, is_paused) {
            true => Ok(done()),
            false => Err(failure::no_index(&name)),
        };
    }
    let kinds = match query.filled("type").as_deref() {
        None => IndexKinds::All,
        Some(text) if text.eq_ignore_ascii_case("map") => IndexKinds::Map,
        Some(text) if text.eq_ignore_ascii_case("map-reduce") => IndexKinds::MapReduce,
        Some(text) => {
            let message = format!("Query string value 'type' can be map or map-reduce, not {text}");
            return Err(WireError::new(kind::ARGUMENT, message));
        }
    };
    database.pause_indexes(kinds, is_paused);
    Ok(done())
}

/// `POST /databases/*/admin/indexes/disable?name=`
pub(super) fn disable(call: &Call) -> Outcome {
    let name = required_name(call)?;
    named(super::database(call)?.set_index_state(&name, IndexState::Disabled))
}

/// `POST /databases/*/admin/indexes/enable?name=`
pub(super) fn enable(call: &Call) -> Outcome {
    let name = required_name(call)?;
    named(super::database(call)?.set_index_state(&name, IndexState::Normal))
}

/// `POST /databases/*/indexes/set-lock`
pub(super) fn set_lock(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let mode = word(body, "Mode", "IndexLockMode", LockMode::parse)?;
    named(database.set_index_lock(&index_names(call, body)?, mode))
}

/// `POST /databases/*/indexes/set-priority`
pub(super) fn set_priority(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let priority = word(body, "Priority", "IndexPriority", Priority::parse)?;
    named(database.set_index_priority(&index_names(call, body)?, priority))
}

fn index_names(call: &Call, body: Object<'_>) -> Result<Vec<String>, WireError> {
    let names = input::texts(body, "IndexNames")?;
    names.iter().for_each(|name| call.objects.add(name));
    if names.is_empty() {
        let message = "Request should name indexes in the property 'IndexNames'.";
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

fn word<T>(
    body: Object<'_>,
    name: &str,
    type_name: &str,
    parse: fn(&str) -> Option<T>,
) -> Result<T, WireError> {
    let text = input::text(body, name)?.unwrap_or_default();
    parse(text).ok_or_else(|| {
        let message = format!(
            "Could not convert Sparrow.Json.LazyStringValue ('{text}') to \
             Raven.Client.Documents.Indexes.{type_name}"
        );
        WireError::new(kind::FORMAT, message)
    })
}

/// `DELETE /databases/*/indexes/errors?name=`
pub(super) fn clear_errors(call: &Call) -> Outcome {
    named(super::database(call)?.clear_index_errors(&names(call)))
}

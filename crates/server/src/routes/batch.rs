//! `POST /databases/*/bulk_docs`: several commands that happen together or not at all.
//!
//! The body is parsed once; each document in it is then copied out with its `@metadata` apart, and
//! never becomes text again. All commands run as one transaction of the database.
//!
//! Commands that need what this server does not have are refused by name before anything is done.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use jackdaw_database::{Command, CommandResult};
use jackdaw_document::{
    ArrayWriter, Object, ObjectWriter, Parser, Value, split_metadata, write_object,
};

use super::{failure, input, writing};
use crate::http::{Call, Pending, Reply};
use crate::wire::{WireError, kind};

/// Command types of the protocol that are not served.
const UNSERVED: &[&str] = &[
    "PATCH",
    "BatchPATCH",
    "JsonPatch",
    "AttachmentPUT",
    "AttachmentDELETE",
    "AttachmentCOPY",
    "AttachmentMOVE",
    "Counters",
    "TimeSeries",
    "TimeSeriesWithIncrements",
    "TimeSeriesCopy",
    "ForceRevisionCreation",
];
/// Dropped without a result outside cluster-wide transactions, as by the reference.
const CLUSTER_WIDE_ONLY: &[&str] = &["CompareExchangePUT", "CompareExchangeDELETE"];

/// `POST /databases/*/bulk_docs`
pub(super) fn bulk_docs(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let commands = writing::prepare(&call, read_commands).await?;
        if commands.is_empty() {
            return Ok(reply(&[]));
        }
        let results = writing::submit(&database, commands).await?;
        writing::wait_as_asked(&call, &database).await?;
        Ok(reply(&results))
    })
}

/// The commands of the body, checked.
fn read_commands(call: &Call) -> Result<Vec<Command>, WireError> {
    let content_type = call.header(&CONTENT_TYPE).unwrap_or("");
    if content_type.starts_with("multipart/") {
        return Err(unserved("AttachmentPUT"));
    }
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    if input::text(body, "TransactionMode")? == Some("ClusterWide") {
        let message = "Cluster-wide transactions are not supported by this server. Save without \
                       TransactionMode.";
        return Err(WireError::new(kind::NOT_SUPPORTED, message));
    }
    let Some(list) = body.get("Commands").and_then(|list| list.as_array()) else {
        let message = "Expected String , but got EndObject";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    };
    let mut spare = Parser::default();
    let mut commands = Vec::with_capacity(list.len());
    for item in list.iter() {
        commands.extend(read_command(item, &mut spare)?);
    }
    Ok(commands)
}

fn read_command(item: Value<'_>, spare: &mut Parser) -> Result<Option<Command>, WireError> {
    let untyped = || {
        WireError::new(
            kind::INVALID_OPERATION,
            "Command must have a valid 'Type' property",
        )
    };
    let command = item.as_object().ok_or_else(untyped)?;
    match input::text(command, "Type")?.ok_or_else(untyped)? {
        "PUT" => read_put(command, spare).map(Some),
        "DELETE" => {
            let id = input::text(command, "Id")?.unwrap_or("").to_owned();
            let expected = input::text(command, "ChangeVector")?.map(str::to_owned);
            Ok(Some(Command::Delete { id, expected }))
        }
        known if CLUSTER_WIDE_ONLY.contains(&known) => Ok(None),
        known if UNSERVED.contains(&known) => Err(unserved(known)),
        unknown => {
            let message = format!("Invalid command type: {unknown}");
            Err(WireError::new(kind::INVALID_COMMAND, message))
        }
    }
}

/// An element of a bulk insert: a document to store, or a sign of life.
pub(super) fn read_insert(
    item: Value<'_>,
    spare: &mut Parser,
) -> Result<Option<Command>, WireError> {
    let kind_of = item
        .as_object()
        .map(|command| input::text(command, "Type"))
        .transpose()?;
    match (item.as_object(), kind_of.flatten()) {
        (Some(command), Some("PUT")) => read_put(command, spare).map(Some),
        (_, Some("HeartBeat")) => Ok(None),
        (_, other) => {
            let message = format!(
                "Specified argument was out of the range of valid values. (Parameter ''{}' isn't \
                 supported')",
                other.unwrap_or("")
            );
            Err(WireError::new(kind::OUT_OF_RANGE, message))
        }
    }
}

fn read_put(command: Object<'_>, spare: &mut Parser) -> Result<Command, WireError> {
    let Some(document) = command
        .get("Document")
        .filter(|document| !document.is_null())
    else {
        let message = "PUT command must have a 'Document' property";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    };
    if document.as_object().is_none() {
        let message = format!("Expected StartObject , but got {}", input::token(document));
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    }
    let split = split_metadata(document, spare)
        .map_err(|error| WireError::new(kind::FORMAT, error.to_string()))?;
    let id = input::text(command, "Id")?.filter(|id| !id.is_empty());
    id.map_or(Ok(()), failure::check_id)?;
    Ok(Command::Put {
        id: id.map(str::to_owned),
        body: split.body.to_buf(),
        metadata: split.metadata.map(|metadata| metadata.to_buf()),
        expected: input::text(command, "ChangeVector")?.map(str::to_owned),
    })
}

fn unserved(command: &str) -> WireError {
    let message = format!(
        "Commands of type '{command}' are not supported by this server; nothing of this batch was \
         done. It supports PUT and DELETE."
    );
    WireError::new(kind::NOT_SUPPORTED, message)
}

fn reply(results: &[CommandResult]) -> Reply {
    let mut body = Vec::with_capacity(16 + results.len() * 192);
    write_object(&mut body, |object| {
        object.array("Results", |list| {
            results.iter().for_each(|result| push_result(list, result))
        });
    });
    Reply::json(StatusCode::CREATED, body)
}

/// Clients copy every member of a `PUT` result but `Type` into the document's metadata.
fn push_result(list: &mut ArrayWriter<'_>, result: &CommandResult) {
    list.object(|object: &mut ObjectWriter<'_>| match result {
        CommandResult::Put {
            id,
            change_vector,
            collection,
            last_modified,
            ..
        } => {
            object.string("Type", "PUT");
            object.string("@id", id);
            object.string("@collection", collection);
            object.string("@change-vector", change_vector);
            object.string("@last-modified", &last_modified.to_string());
        }
        CommandResult::Delete { id, deleted } => {
            object.string("Id", id);
            object.string("Type", "DELETE");
            object.bool("Deleted", *deleted);
            if *deleted {
                object.null("ChangeVector");
            }
        }
        // A command of a later version of the database, which this server does not send.
        _ => {}
    });
}

//! `POST /databases/*/bulk_docs`: several commands that happen together or not at all.
//!
//! The body is parsed once; each document in it is then copied out with its `@metadata` apart, and
//! never becomes text again. All commands run as one transaction of the database.
//!
//! Commands that need what this server does not have are refused by name before anything is done.

use std::borrow::Cow;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use jackdaw_database::{
    AttachmentContent, Command, CommandResult, Flags, GuardedDocument, guard_index,
};
use jackdaw_document::{ArrayWriter, Object, ObjectWriter, Parser, Value, split_metadata};

use super::counters::write_items;
use super::queries::long;
use super::writing::{self, ToldDocuments};
use super::{attachments, compare_exchange, counters, failure, input, patches, series};
use crate::http::{Call, ChunkWriter, Pending, Reply, Sink, unpack_part, written};
use crate::wire::{WireError, kind, multipart};

/// Commands of cluster-wide transactions alone.
const CLUSTER_WIDE_ONLY: &[&str] = &["CompareExchangePUT", "CompareExchangeDELETE"];

/// Objects of an answer that take no time to be written.
const SHORT_WEIGHT_MAX: usize = 128;

/// The commands of a request.
struct Batch {
    commands: Vec<Command>,
    /// Documents to be guarded, when the transaction is cluster-wide.
    cluster_wide: Option<Vec<GuardedDocument>>,
}

/// `POST /databases/*/bulk_docs`
pub(super) fn bulk_docs(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let mut told = ToldDocuments::few(&call);
        let (index, results, tells_documents) = loop {
            let Batch {
                mut commands,
                cluster_wide,
            } = writing::prepare(&call, read_batch).await?;
            let tells_documents = bound_told(&mut commands, told.bytes_max);
            match cluster_wide {
                None if commands.is_empty() => break (None, Vec::new(), false),
                None if tells_documents => match writing::try_submit(&database, commands).await {
                    Ok(results) => break (None, results, true),
                    Err(error) => told.grow(&call, &error).await?,
                },
                None => {
                    let results = writing::write(&call, &database, commands).await?;
                    break (None, results, false);
                }
                Some(_) if commands.is_empty() => break (None, Vec::new(), false),
                Some(guarded) => {
                    let done = writing::submit_cluster_wide(&database, commands, guarded).await?;
                    break (Some(done.0), done.1, false);
                }
            }
        };
        writing::wait_as_asked(&call, &database).await?;
        if tells_documents {
            let mut body = Vec::new();
            push_results(&mut body, &results, index)?;
            drop(results);
            return Ok(Reply::json(StatusCode::CREATED, told.counted(body)));
        }
        let is_short = weight(&results) <= SHORT_WEIGHT_MAX;
        let write = move |out: &mut ChunkWriter| push_results(out, &results, index);
        written(&call, StatusCode::CREATED, is_short, write).await
    })
}

/// Bounds the documents that patches tell; whether there are any.
fn bound_told(commands: &mut [Command], bytes_max: usize) -> bool {
    let mut tells_documents = false;
    for command in commands {
        if let Command::Patch(patch) = command {
            patch.told_bytes_max = bytes_max;
            tells_documents |= patch.tells_document;
        }
    }
    tells_documents
}

/// About how many objects the results are in the answer.
fn weight(results: &[CommandResult]) -> usize {
    let weights = results.iter().map(|result| match result {
        CommandResult::Counters { counters, .. } => 1 + counters.len(),
        _ => 1,
    });
    weights.sum()
}

/// The commands of the body, checked.
fn read_batch(call: &Call) -> Result<Batch, WireError> {
    let boundary = call.header(&CONTENT_TYPE).and_then(multipart::boundary);
    let parts = match boundary {
        Some(boundary) => unpacked_parts(call, boundary)?,
        None => vec![Cow::Borrowed(&call.body[..])],
    };
    let mut parts = parts.into_iter();
    let mut parser = input::parser(call);
    let body = parts.next().unwrap_or_default();
    let body = input::object_in(&body, &mut parser)?;
    let is_cluster_wide = input::text(body, "TransactionMode")? == Some("ClusterWide");
    let Some(list) = body.get("Commands").and_then(|list| list.as_array()) else {
        let message = "Expected String , but got EndObject";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    };
    let mut spare = Parser::default();
    let mut commands = Vec::with_capacity(list.len());
    let mut guarded = Vec::new();
    let is_guarding = is_cluster_wide && !call.query().flag("disableAtomicDocumentWrites");
    for item in list.iter() {
        let object = item.as_object().filter(|_| !is_cluster_wide);
        let patch = object.map_or(Ok(None), |item| patches::read_commands(item, &mut spare))?;
        if let Some(several) = patch {
            commands.extend(several);
            continue;
        }
        let command = read_command(item, is_cluster_wide, &mut parts, &mut spare)?;
        if is_guarding && let Some(command) = &command {
            guarded.extend(guard(item, command)?);
        }
        commands.extend(command);
    }
    let cluster_wide = is_cluster_wide.then_some(guarded);
    Ok(Batch {
        commands,
        cluster_wide,
    })
}

/// The contents of the parts of the body. Clients pack the commands and leave attachments alone;
/// all parts together may unpack to as much as a body may be.
fn unpacked_parts<'c>(call: &'c Call, boundary: &str) -> Result<Vec<Cow<'c, [u8]>>, WireError> {
    let mut left = call.shared.config.body_bytes_max;
    let mut contents = Vec::new();
    for part in multipart::parts(&call.body, boundary)? {
        contents.push(match part.encoding {
            b"" => Cow::Borrowed(part.content),
            encoding => {
                let plain = unpack_part(part.content, encoding, left)?;
                left -= plain.len();
                Cow::Owned(plain)
            }
        });
    }
    Ok(contents)
}

/// What a cluster-wide transaction checks of the document that a command changes.
fn guard(item: Value<'_>, command: &Command) -> Result<Option<GuardedDocument>, WireError> {
    let (id, delete) = match command {
        Command::Put { id: Some(id), .. } => (id, false),
        Command::Delete { id, .. } => (id, true),
        _ => return Ok(None),
    };
    let vector = |name| {
        item.as_object()
            .map_or(Ok(None), |item| input::text(item, name))
    };
    let known = vector("OriginalChangeVector")?.or(vector("ChangeVector")?);
    Ok(Some(GuardedDocument {
        id: id.clone(),
        index: known.and_then(guard_index),
        delete,
    }))
}

fn read_command(
    item: Value<'_>,
    is_cluster_wide: bool,
    contents: &mut std::vec::IntoIter<Cow<'_, [u8]>>,
    spare: &mut Parser,
) -> Result<Option<Command>, WireError> {
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
        known if CLUSTER_WIDE_ONLY.contains(&known) && !is_cluster_wide => {
            let message = format!(
                "A command {known} needs a cluster-wide transaction: send 'TransactionMode': \
                 'ClusterWide' beside 'Commands', or change the value at /cmpxchg."
            );
            Err(WireError::new(kind::BAD_REQUEST, message))
        }
        "CompareExchangePUT" => compare_exchange::read_put(command).map(Some),
        "CompareExchangeDELETE" => compare_exchange::read_delete(command).map(Some),
        other if is_cluster_wide => {
            let message =
                format!("The command type {other} is not supported in a cluster transaction.");
            Err(WireError::new(kind::NOT_SUPPORTED, message))
        }
        "Counters" => counters::read_command(command).map(Some),
        "TimeSeries" | "TimeSeriesWithIncrements" => series::read_command(command).map(Some),
        "TimeSeriesCopy" => series::read_copy(command).map(Some),
        "ForceRevisionCreation" => {
            let id = input::text(command, "Id")?.unwrap_or("").to_owned();
            Ok(Some(Command::ForceRevision { id }))
        }
        "AttachmentPUT" => {
            let content = contents.next();
            let content = content.map(|bytes| AttachmentContent::from_bytes(bytes.into_owned()));
            attachments::read_command("AttachmentPUT", command, content).map(Some)
        }
        known @ ("AttachmentDELETE" | "AttachmentCOPY" | "AttachmentMOVE") => {
            attachments::read_command(known, command, None).map(Some)
        }
        unknown => {
            let message = format!("Invalid command type: {unknown}");
            Err(WireError::new(kind::INVALID_COMMAND, message))
        }
    }
}

/// An element of a bulk insert: a document to store, or a sign of life.
pub(super) fn read_insert(
    item: Value<'_>,
    content: Option<Vec<u8>>,
    spare: &mut Parser,
) -> Result<Option<Command>, WireError> {
    let kind_of = item
        .as_object()
        .map(|command| input::text(command, "Type"))
        .transpose()?;
    match (item.as_object(), kind_of.flatten()) {
        (Some(command), Some("PUT")) => read_put(command, spare).map(Some),
        (Some(command), Some("Counters")) => counters::read_command(command).map(Some),
        (Some(command), Some("TimeSeriesBulkInsert")) => series::read_command(command).map(Some),
        (Some(command), Some("AttachmentPUT")) => {
            let content = content.map(AttachmentContent::from_bytes);
            attachments::read_command("AttachmentPUT", command, content).map(Some)
        }
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
        keeps_revision: input::text(command, "ForceRevisionCreationStrategy")? == Some("Before"),
    })
}

fn push_results(
    out: &mut dyn Sink,
    results: &[CommandResult],
    transaction_index: Option<u64>,
) -> Result<(), WireError> {
    let is_cluster_wide = transaction_index.is_some();
    out.buffer().extend_from_slice(b"{\"Results\":[");
    let mut is_first = true;
    for result in results {
        let buffer = out.buffer();
        let before = buffer.len();
        if !is_first {
            buffer.push(b',');
        }
        let start = buffer.len();
        write_items(buffer, |list| push_result(list, result, is_cluster_wide));
        // Several patches share one result.
        match buffer.len() == start {
            true => buffer.truncate(before),
            false => is_first = false,
        }
        out.checkpoint()?;
    }
    out.buffer().push(b']');
    if let Some(index) = transaction_index {
        let index = format!(",\"TransactionIndex\":{index}");
        out.buffer().extend_from_slice(index.as_bytes());
    }
    out.buffer().push(b'}');
    Ok(())
}

/// Clients copy every member of a `PUT` result but `Type` into the document's metadata.
fn push_result(list: &mut ArrayWriter<'_>, result: &CommandResult, is_cluster_wide: bool) {
    if let CommandResult::Patch(outcome) = result {
        return patches::push_result(list, outcome);
    }
    list.object(|object: &mut ObjectWriter<'_>| match result {
        CommandResult::Put {
            id,
            change_vector,
            collection,
            last_modified,
            flags,
            ..
        } => {
            object.string("Type", "PUT");
            object.string("@id", id);
            if !is_cluster_wide {
                object.string("@collection", collection);
            }
            object.string("@change-vector", change_vector);
            object.string("@last-modified", &last_modified.to_string());
            if *flags != Flags::default() {
                object.string("@flags", &flags.text());
            }
        }
        CommandResult::Delete { id, deleted } => {
            object.string("Id", id);
            object.string("Type", "DELETE");
            object.bool("Deleted", *deleted);
            if *deleted {
                object.null("ChangeVector");
            }
        }
        CommandResult::ForceRevision {
            id,
            created,
            change_vector,
            last_modified,
            flags,
        } => {
            object.bool("RevisionCreated", *created);
            object.string("Type", "ForceRevisionCreation");
            if *created {
                object.string("@id", id);
                object.string("@change-vector", change_vector);
                object.string("@last-modified", &last_modified.to_string());
                object.string("@flags", &flags.text());
            }
        }
        CommandResult::Counters {
            id,
            counters,
            change_vector,
            document_change_vector,
        } => {
            object.string("Id", id);
            object.string("ChangeVector", change_vector);
            object.string("Type", "Counters");
            object.object("CountersDetail", |details| {
                details.array("Counters", |list| {
                    counters::push_all(list, id, counters, None);
                });
            });
            match document_change_vector {
                Some(vector) => object.string("DocumentChangeVector", vector),
                None => object.null("DocumentChangeVector"),
            }
        }
        CommandResult::Attachment { .. } => attachments::push_result(object, result),
        CommandResult::Series { id, change_vector } => {
            object.string("Id", id);
            object.string("ChangeVector", change_vector);
            object.string("Type", "TimeSeries");
        }
        CommandResult::CompareExchange {
            key,
            index,
            deleted,
        } => {
            let name = match deleted {
                true => "CompareExchangeDELETE",
                false => "CompareExchangePUT",
            };
            object.string("Type", name);
            object.string("Key", key);
            object.long("Index", long(*index));
        }
        // A command of a later version of the database, which this server does not send.
        _ => {}
    });
}

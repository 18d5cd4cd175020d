//! `PATCH /databases/*/docs?id=` and `/json-patch?id=`: changes of one document by a script or by
//! operations; the same as commands of a batch.
//!
//! A missing document is 404, a created one 201, one left alone because its change vector is
//! another 304. With `test=true` everything happens and is taken back.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::IF_MATCH;
use jackdaw_database::{
    Command, CommandResult, Database, Patch, PatchDebug, PatchOutcome, PatchScript, PatchStatus,
    PatchWork, ScriptContext, WriteError,
};
use jackdaw_document::{
    ArrayWriter, Object, ObjectWriter, Parser, Value, split_metadata, write_object,
};

use super::queries::{NO_TIME, long};
use super::writing::{self, ToldDocuments};
use super::{failure, input};
use crate::http::{Call, Outcome, Pending, Reply};
use crate::wire::{WireError, kind};

/// Tags of patches in a batch: what their results tell.
mod tag {
    pub(super) const SCRIPT: u32 = 0;
    pub(super) const SCRIPT_WITH_DOCUMENT: u32 = 1;
    pub(super) const JSON: u32 = 2;
    pub(super) const JSON_WITH_DOCUMENT: u32 = 3;
    /// The first of several documents: one result stands for all.
    pub(super) const MANY: u32 = 4;
    pub(super) const REST_OF_MANY: u32 = 5;
}

/// Sections of `Actions` that scripts of this version cannot fill.
const UNUSED_ACTIONS: &[&str] = &[
    "GetCounter",
    "IncrementCounter",
    "DeleteCounter",
    "GetTimeSeries",
    "AppendTimeSeries",
    "IncrementTimeSeries",
    "DeleteTimeSeries",
];

/// `PATCH /databases/*/docs?id=&skipPatchIfChangeVectorMismatch=&debug=&test=`
pub(super) fn script(call: Arc<Call>) -> Pending {
    Box::pin(patch(call, read_script_request))
}

/// `PATCH /databases/*/json-patch?id=`
pub(super) fn json(call: Arc<Call>) -> Pending {
    Box::pin(patch(call, read_json_request))
}

async fn patch(call: Arc<Call>, read: fn(&Call) -> Result<Patch, WireError>) -> Outcome {
    let database = super::database_soon(&call).await?;
    let mut told = ToldDocuments::few(&call);
    let outcome = loop {
        let mut patch = writing::prepare(&call, read).await?;
        patch.told_bytes_max = told.bytes_max;
        match carry_out(&call, &database, patch).await {
            Ok(outcome) => break outcome,
            Err(error) => told.grow(&call, &error).await?,
        }
    };
    let status = match outcome.status {
        PatchStatus::DocumentDoesNotExist => return Ok(Reply::empty(StatusCode::NOT_FOUND)),
        PatchStatus::Skipped => return Ok(Reply::empty(StatusCode::NOT_MODIFIED)),
        PatchStatus::Created => StatusCode::CREATED,
        PatchStatus::Patched | PatchStatus::NotModified => StatusCode::OK,
    };
    let mut body = Vec::new();
    write_object(&mut body, |object| push_outcome(object, &outcome));
    drop(outcome);
    Ok(Reply::json(status, told.counted(body)))
}

async fn carry_out(
    call: &Call,
    database: &Arc<Database>,
    patch: Patch,
) -> Result<PatchOutcome, WriteError> {
    if call.query().flag("test") {
        let database = database.clone();
        let task = tokio::task::spawn_blocking(move || database.test_patch(patch));
        return task.await.unwrap_or_else(|_| Err(WriteError::lost()));
    }
    let results = writing::try_submit(database, vec![Command::Patch(Box::new(patch))]).await?;
    match results.into_iter().next() {
        Some(CommandResult::Patch(outcome)) => Ok(*outcome),
        _ => Err(WriteError::lost()),
    }
}

fn push_outcome(object: &mut ObjectWriter<'_>, outcome: &PatchOutcome) {
    object.string("Status", status_name(outcome.status));
    push_raw(object, "ModifiedDocument", outcome.modified.as_deref());
    if let Some(debug) = &outcome.debug {
        push_raw(object, "OriginalDocument", debug.original.as_deref());
        object.object("Debug", |told| push_debug(told, debug));
    }
    if let Some(stored) = &outcome.stored {
        object.string("LastModified", &stored.last_modified.to_string());
        object.string("ChangeVector", &stored.change_vector);
        object.string("Collection", &stored.collection);
    }
}

fn push_raw(object: &mut ObjectWriter<'_>, name: &str, json: Option<&[u8]>) {
    match json {
        Some(json) => object.raw(name, json),
        None => object.null(name),
    }
}

fn push_debug(object: &mut ObjectWriter<'_>, debug: &PatchDebug) {
    object.array("Info", |list| {
        debug.printed.iter().for_each(|text| list.string(text));
    });
    object.object("Actions", |actions| {
        actions.array("LoadDocument", |list| {
            for (id, is_there) in &debug.loaded {
                list.object(|one| {
                    one.string("Id", id);
                    one.bool("Exists", *is_there);
                });
            }
        });
        actions.array("PutDocument", |list| {
            for (id, json) in &debug.put {
                list.object(|one| {
                    one.string("Id", id);
                    one.raw("Data", json);
                });
            }
        });
        actions.array("DeleteDocument", |list| {
            debug.deleted.iter().for_each(|id| list.string(id));
        });
        for name in UNUSED_ACTIONS {
            actions.array(name, |_| {});
        }
    });
}

pub(super) fn status_name(status: PatchStatus) -> &'static str {
    match status {
        PatchStatus::DocumentDoesNotExist => "DocumentDoesNotExist",
        PatchStatus::Created => "Created",
        PatchStatus::Patched => "Patched",
        PatchStatus::Skipped => "Skipped",
        PatchStatus::NotModified => "NotModified",
    }
}

fn read_script_request(call: &Call) -> Result<Patch, WireError> {
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let work = read_work(body, &mut Parser::default())?;
    addressed(call, work)
}

fn read_json_request(call: &Call) -> Result<Patch, WireError> {
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    addressed(call, PatchWork::Json(input::copied(Value::Object(body))))
}

fn addressed(call: &Call, work: PatchWork) -> Result<Patch, WireError> {
    let query = call.query();
    let id = query
        .filled("id")
        .ok_or_else(|| WireError::empty_parameter("id"))?;
    failure::check_id(&id)?;
    Ok(Patch {
        id: id.into_owned(),
        expected: call.unquoted(&IF_MATCH).map(str::to_owned),
        skips_mismatch: query.flag("skipPatchIfChangeVectorMismatch"),
        work: Arc::new(work),
        foreseen: None,
        tells_document: true,
        told_bytes_max: usize::MAX,
        debug: query.flag("debug"),
        tag: tag::SCRIPT,
    })
}

/// `{Patch, PatchIfMissing, CreateIfMissing}`.
fn read_work(body: Object<'_>, spare: &mut Parser) -> Result<PatchWork, WireError> {
    let script = body.get("Patch").and_then(|patch| patch.as_object());
    let script = script.ok_or_else(|| invalid("Missing 'Patch' property on the request"))?;
    let if_missing = body.get("PatchIfMissing");
    let if_missing = if_missing.and_then(|patch| patch.as_object());
    let create = body.get("CreateIfMissing").filter(|value| !value.is_null());
    let create_if_missing = create.map(|document| {
        if document.as_object().is_none() {
            return Err(invalid("'CreateIfMissing' must be an object"));
        }
        let split = split_metadata(document, spare)
            .map_err(|error| WireError::new(kind::FORMAT, error.to_string()))?;
        let metadata = split.metadata.map(|metadata| metadata.to_buf());
        Ok((split.body.to_buf(), metadata))
    });
    Ok(PatchWork::Script {
        script: read_script(script, "Patch")?,
        context: ScriptContext::default(),
        if_missing: if_missing
            .map(|script| read_script(script, "PatchIfMissing"))
            .transpose()?,
        create_if_missing: create_if_missing.transpose()?,
    })
}

/// `{Script, Values}`.
fn read_script(object: Object<'_>, name: &str) -> Result<PatchScript, WireError> {
    let text = input::text(object, "Script")?
        .ok_or_else(|| invalid(&format!("Missing 'Script' property on '{name}'")))?;
    let values = object.get("Values").filter(|values| !values.is_null());
    Ok(PatchScript {
        text: text.to_owned(),
        parameters: values.map(input::copied),
    })
}

fn invalid(message: &str) -> WireError {
    WireError::new(kind::INVALID_DATA, message)
}

/// The commands `PATCH`, `BatchPATCH` and `JsonPatch` of a batch; `None` when it is none of them.
pub(super) fn read_commands(
    command: Object<'_>,
    spare: &mut Parser,
) -> Result<Option<Vec<Command>>, WireError> {
    let returns_document = command
        .get("ReturnDocument")
        .and_then(|value| value.as_bool());
    let returns_document = returns_document == Some(true);
    let (work, tag) = match input::text(command, "Type")? {
        Some("PATCH") if returns_document => {
            (read_work(command, spare)?, tag::SCRIPT_WITH_DOCUMENT)
        }
        Some("PATCH") => (read_work(command, spare)?, tag::SCRIPT),
        Some("BatchPATCH") => return read_many(command, spare).map(Some),
        Some("JsonPatch") => {
            let operations = command.get("JsonPatch");
            let operations = operations.ok_or_else(|| invalid("Missing 'JsonPatch' property"))?;
            let tag = match returns_document {
                true => tag::JSON_WITH_DOCUMENT,
                false => tag::JSON,
            };
            (PatchWork::Json(input::copied(operations)), tag)
        }
        _ => return Ok(None),
    };
    Ok(Some(vec![command_of(command, Arc::new(work), tag)?]))
}

fn command_of(object: Object<'_>, work: Arc<PatchWork>, tag: u32) -> Result<Command, WireError> {
    let id = input::text(object, "Id")?.unwrap_or("");
    failure::check_id(id)?;
    Ok(Command::Patch(Box::new(Patch {
        id: id.to_owned(),
        expected: input::text(object, "ChangeVector")?.map(str::to_owned),
        skips_mismatch: false,
        work,
        foreseen: None,
        tells_document: matches!(tag, tag::SCRIPT_WITH_DOCUMENT | tag::JSON_WITH_DOCUMENT),
        told_bytes_max: usize::MAX,
        debug: false,
        tag,
    })))
}

fn read_many(command: Object<'_>, spare: &mut Parser) -> Result<Vec<Command>, WireError> {
    let work = Arc::new(read_work(command, spare)?);
    let ids = command.get("Ids").and_then(|ids| ids.as_array());
    let ids = ids.ok_or_else(|| invalid("Missing 'Ids' property on 'BatchPATCH'"))?;
    let mut commands = Vec::with_capacity(ids.len());
    for id in ids.iter() {
        let tag = match commands.is_empty() {
            true => tag::MANY,
            false => tag::REST_OF_MANY,
        };
        let id = id.as_object();
        let id = id.ok_or_else(|| invalid("'Ids' of 'BatchPATCH' must hold objects with 'Id'"))?;
        commands.push(command_of(id, work.clone(), tag)?);
    }
    Ok(commands)
}

/// The result of a patch in a batch; nothing for those that share one.
pub(super) fn push_result(list: &mut ArrayWriter<'_>, outcome: &PatchOutcome) {
    if outcome.tag == tag::REST_OF_MANY {
        return;
    }
    if outcome.tag == tag::MANY {
        return list.object(|object| object.string("Type", "BatchPATCH"));
    }
    let is_json = matches!(outcome.tag, tag::JSON | tag::JSON_WITH_DOCUMENT);
    list.object(|object| {
        let stored = outcome.stored.as_ref();
        object.string("Id", &outcome.id);
        match stored {
            Some(stored) => object.string("ChangeVector", &stored.change_vector),
            None => object.null("ChangeVector"),
        }
        let last_modified = stored.map(|stored| stored.last_modified.to_string());
        object.string("LastModified", last_modified.as_deref().unwrap_or(NO_TIME));
        object.string("Type", if is_json { "JsonPatch" } else { "PATCH" });
        object.string("PatchStatus", status_name(outcome.status));
        if is_json {
            object.long("Etag", stored.map_or(0, |stored| long(stored.etag.0)));
        } else {
            object.null("Debug");
        }
        let returns_document = matches!(
            outcome.tag,
            tag::SCRIPT_WITH_DOCUMENT | tag::JSON_WITH_DOCUMENT
        );
        if returns_document {
            push_raw(object, "ModifiedDocument", outcome.modified.as_deref());
        }
    });
}

//! `/databases/*/counters`: numbers that belong to documents and change without them.
//!
//! Also the parts of batches, bulk inserts and loads that are about counters.

use std::sync::Arc;

use jackdaw_database::{
    Command, CommandResult, CounterAction, CounterOperation, CounterValue, DocumentRow, Origin,
    Snapshot,
};
use jackdaw_document::{ArrayWriter, Object, ObjectWriter, write_object};

use super::{documents, failure, input, writing};
use crate::http::{Call, Outcome, Pending, Reply};
use crate::wire::{QueryString, WireError, kind};
use hyper::StatusCode;

/// The name that stands for all counters of a document.
const ALL: &str = "@all_counters";

/// `GET /databases/*/counters?docId=&counter=&full=`: all counters when none is named.
pub(super) fn get(call: &Call) -> Outcome {
    let query = call.query();
    let id = query
        .filled("docId")
        .ok_or_else(|| WireError::empty_parameter("docId"))?;
    let snapshot = documents::snapshot(call)?;
    let number = snapshot
        .number(&id)
        .map_err(|error| failure::read(&error))?;
    let names: Vec<String> = query.all("counter").map(|name| name.into_owned()).collect();
    let found = match (number, names.is_empty()) {
        (Some(number), true) => {
            let all = snapshot
                .all_counters(number)
                .map_err(|error| failure::read(&error))?;
            all.into_iter().map(Some).collect()
        }
        (Some(number), false) => {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let found = snapshot.counters(number, &names);
            found.map_err(|error| failure::read(&error))?
        }
        (None, _) => vec![None; names.len()],
    };
    let origin = query.flag("full").then(|| snapshot.origin());
    Ok(reply(&id, &found, origin))
}

fn reply(id: &str, found: &[Option<CounterValue>], origin: Option<&Origin>) -> Reply {
    let mut body = Vec::new();
    write_object(&mut body, |object| {
        object.array("Counters", |list| push_all(list, id, found, origin));
    });
    Reply::json(StatusCode::OK, body)
}

/// Appends counters of a document, with the values of all nodes when `origin` is given.
pub(super) fn push_all(
    list: &mut ArrayWriter<'_>,
    id: &str,
    counters: &[Option<CounterValue>],
    origin: Option<&Origin>,
) {
    for counter in counters {
        let Some(counter) = counter else {
            list.raw(b"null");
            continue;
        };
        list.object(|object| {
            push(object, id, counter);
            match origin {
                None => object.null("CounterValues"),
                Some(origin) => object.object("CounterValues", |nodes| {
                    nodes.long(&origin.node_and_database(), counter.value);
                }),
            }
        });
    }
}

fn push(object: &mut ObjectWriter<'_>, id: &str, counter: &CounterValue) {
    object.string("DocumentId", id);
    object.string("CounterName", &counter.name);
    object.long("TotalValue", counter.value);
}

/// `POST /databases/*/counters` with `{Documents: [{DocumentId, Operations}]}`: one transaction.
pub(super) fn post(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let (commands, is_full) = writing::prepare(&call, read_batch).await?;
        let results = match commands.is_empty() {
            true => Vec::new(),
            false => writing::write(&call, &database, commands).await?,
        };
        let origin = is_full.then(|| database.origin());
        let mut body = Vec::new();
        write_object(&mut body, |object| {
            object.array("Counters", |list| {
                for result in &results {
                    if let CommandResult::Counters { id, counters, .. } = result {
                        push_all(list, id, counters, origin);
                    }
                }
            });
        });
        Ok(Reply::json(StatusCode::OK, body))
    })
}

fn read_batch(call: &Call) -> Result<(Vec<Command>, bool), WireError> {
    let mut parser = input::parser(call);
    let body = input::object(call, &mut parser)?;
    let Some(list) = body.get("Documents").and_then(|list| list.as_array()) else {
        let message = "A 'Documents' array with the counters to change is missing.";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    };
    let mut commands = Vec::with_capacity(list.len());
    for item in list.iter() {
        let item = item.as_object().ok_or_else(|| missing("Operations"))?;
        commands.push(read_operations(item)?);
    }
    let flag = body
        .get("ReplyWithAllNodesValues")
        .and_then(|flag| flag.as_bool());
    Ok((commands, flag == Some(true)))
}

fn missing(member: &str) -> WireError {
    let message = format!("A counter command must have a '{member}' property.");
    WireError::new(kind::INVALID_OPERATION, message)
}

/// The `Counters` command of a batch or a bulk insert.
pub(super) fn read_command(command: Object<'_>) -> Result<Command, WireError> {
    let counters = command
        .get("Counters")
        .and_then(|counters| counters.as_object());
    let mut read = read_operations(counters.ok_or_else(|| missing("Counters"))?)?;
    if let (Command::Counters { id, .. }, Some(given)) = (&mut read, input::text(command, "Id")?)
        && !given.is_empty()
    {
        given.clone_into(id);
    }
    Ok(read)
}

/// `{DocumentId, Operations: [{Type, CounterName, Delta}]}`
fn read_operations(document: Object<'_>) -> Result<Command, WireError> {
    let id = input::text(document, "DocumentId")?
        .unwrap_or("")
        .to_owned();
    let list = document.get("Operations").and_then(|list| list.as_array());
    let mut operations = Vec::new();
    for item in list.ok_or_else(|| missing("Operations"))?.iter() {
        let item = item.as_object().ok_or_else(|| missing("Operations"))?;
        let name = input::text(item, "CounterName")?;
        let delta = item
            .get("Delta")
            .and_then(|delta| delta.as_i64())
            .unwrap_or(0);
        let action = match input::text(item, "Type")?.unwrap_or("") {
            "Increment" => CounterAction::Increment(delta),
            "Put" => CounterAction::Put(delta),
            "Delete" => CounterAction::Delete,
            "Get" => CounterAction::Get,
            "None" => continue,
            other => {
                let message = format!("'{other}' is no type of a counter operation.");
                return Err(WireError::new(kind::ARGUMENT, message));
            }
        };
        // Reading one without a name finds none, in its place.
        let name = match (name, action) {
            (Some(name), _) => name,
            (None, CounterAction::Get) => "",
            (None, _) => return Err(missing("CounterName")),
        };
        operations.push(CounterOperation {
            name: name.to_owned(),
            action,
        });
    }
    Ok(Command::Counters { id, operations })
}

/// The counters that a load wants beside its documents.
pub(super) struct Wanted {
    names: Vec<String>,
    all: bool,
}

impl Wanted {
    /// Reads `counter=`; `None` without it.
    pub(super) fn read(query: QueryString<'_>) -> Option<Wanted> {
        let named: Vec<String> = query.all("counter").map(|name| name.into_owned()).collect();
        let names: Vec<String> = named
            .iter()
            .filter(|name| !name.is_empty())
            .cloned()
            .collect();
        (!names.is_empty()).then(|| Wanted {
            all: names.iter().any(|name| name.eq_ignore_ascii_case(ALL)),
            names,
        })
    }

    /// Appends the members of an answer that tell the counters of `documents`.
    pub(super) fn push(
        &self,
        snapshot: &Snapshot,
        documents: &[&DocumentRow<'_>],
        object: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let mut found = Vec::new();
        for document in documents {
            let counters = match self.all {
                true => snapshot
                    .all_counters(document.number())
                    .map(|all| all.into_iter().map(Some).collect()),
                false => {
                    let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
                    snapshot.counters(document.number(), &names)
                }
            };
            found.push((
                document.id(),
                counters.map_err(|error| failure::read(&error))?,
            ));
        }
        push_includes(object, &found);
        Ok(())
    }
}

/// Appends `,"CounterIncludes":{..}`.
pub(super) fn push_includes(out: &mut Vec<u8>, found: &[(&str, Vec<Option<CounterValue>>)]) {
    out.extend_from_slice(b",\"CounterIncludes\":");
    write_object(out, |members| {
        for (id, counters) in found {
            members.array(id, |list| {
                for counter in counters {
                    match counter {
                        Some(counter) => list.object(|object| push(object, id, counter)),
                        None => list.raw(b"null"),
                    }
                }
            });
        }
    });
}

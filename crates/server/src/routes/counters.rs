//! `/databases/*/counters`: numbers that belong to documents and change without them.
//!
//! Also the parts of batches, bulk inserts and loads that are about counters.

use std::sync::Arc;

use jackdaw_database::{
    Command, CommandResult, CounterAction, CounterOperation, CounterValue, DocumentRow, Origin,
    Snapshot,
};
use jackdaw_document::{ArrayWriter, Object, ObjectWriter, write_array};

use super::compare_exchange::push_name;
use super::{documents, failure, input, writing};
use crate::http::{Call, ChunkWriter, Pending, Sink, written};
use crate::wire::{QueryString, WireError, kind};
use hyper::StatusCode;

/// Counters that are written between two looks at the size of an answer.
const RUN: usize = 64;
/// The name that stands for all counters of a document.
const ALL: &str = "@all_counters";

/// `GET /databases/*/counters?docId=&counter=&full=`: all counters when none is named.
pub(super) fn get(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
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
    out.hold(held_bytes(&found))?;
    out.buffer.extend_from_slice(b"{\"Counters\":[");
    for (slot, run) in found.chunks(RUN).enumerate() {
        if slot > 0 {
            out.buffer.push(b',');
        }
        write_items(&mut out.buffer, |list| push_all(list, &id, run, origin));
        out.checkpoint()?;
    }
    out.buffer.extend_from_slice(b"]}");
    Ok(())
}

/// Memory of counters that were read.
fn held_bytes(found: &[Option<CounterValue>]) -> usize {
    let names = found.iter().flatten().map(|counter| counter.name.len());
    size_of_val(found) + names.sum::<usize>()
}

/// Items of a list without its brackets.
pub(super) fn write_items(out: &mut Vec<u8>, items: impl FnOnce(&mut ArrayWriter<'_>)) {
    let start = out.len();
    write_array(out, items);
    out.pop();
    out.remove(start);
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
        let origin = is_full.then(|| database.origin().clone());
        let count = results.iter().map(|result| match result {
            CommandResult::Counters { counters, .. } => counters.len(),
            _ => 0,
        });
        let is_short = count.sum::<usize>() <= RUN;
        written(&call, StatusCode::OK, is_short, move |out| {
            out.buffer.extend_from_slice(b"{\"Counters\":[");
            let mut is_first = true;
            for result in &results {
                let CommandResult::Counters { id, counters, .. } = result else {
                    continue;
                };
                for run in counters.chunks(RUN) {
                    if !std::mem::take(&mut is_first) {
                        out.buffer.push(b',');
                    }
                    write_items(&mut out.buffer, |list| {
                        push_all(list, id, run, origin.as_ref());
                    });
                    out.checkpoint()?;
                }
            }
            out.buffer.extend_from_slice(b"]}");
            Ok(())
        })
        .await
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
        out: &mut dyn Sink,
    ) -> Result<(), WireError> {
        out.buffer().extend_from_slice(b",\"CounterIncludes\":{");
        for (slot, document) in documents.iter().enumerate() {
            let counters = match self.all {
                true => snapshot
                    .all_counters(document.number())
                    .map(|all| all.into_iter().map(Some).collect()),
                false => {
                    let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
                    snapshot.counters(document.number(), &names)
                }
            };
            let counters = counters.map_err(|error| failure::read(&error))?;
            push_name(out.buffer(), slot, document.id());
            push_included(out, document.id(), &counters)?;
        }
        out.buffer().push(b'}');
        Ok(())
    }
}

/// Appends `,"CounterIncludes":{..}`.
pub(super) fn push_includes(
    out: &mut dyn Sink,
    found: &[(&str, Vec<Option<CounterValue>>)],
) -> Result<(), WireError> {
    out.buffer().extend_from_slice(b",\"CounterIncludes\":{");
    for (slot, (id, counters)) in found.iter().enumerate() {
        push_name(out.buffer(), slot, id);
        push_included(out, id, counters)?;
    }
    out.buffer().push(b'}');
    Ok(())
}

/// The list of the included counters of a document.
fn push_included(
    out: &mut dyn Sink,
    id: &str,
    counters: &[Option<CounterValue>],
) -> Result<(), WireError> {
    out.buffer().push(b'[');
    for (slot, run) in counters.chunks(RUN).enumerate() {
        if slot > 0 {
            out.buffer().push(b',');
        }
        write_items(out.buffer(), |list| {
            for counter in run {
                match counter {
                    Some(counter) => list.object(|object| push(object, id, counter)),
                    None => list.raw(b"null"),
                }
            }
        });
        out.checkpoint()?;
    }
    out.buffer().push(b']');
    Ok(())
}

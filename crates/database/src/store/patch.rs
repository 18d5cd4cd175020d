//! Patches: a script reads a document inside the transaction, and what it leaves is stored.
//!
//! Called by `apply` on the engine's writer thread. The script sees everything that happened
//! before it in the same batch. It is stopped when it takes long, because others wait.
//!
//! Compiled scripts are kept by the writer thread, which belongs to one database.

use std::borrow::Cow;
use std::cell::RefCell;

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{
    Array, Builder, DocumentBuf, Object, Parser, Value, split_metadata, write_array, write_object,
};
use jackdaw_io::Vfs;
use jackdaw_script::{
    Argument, Assignments, Host, HostError, Lane, Machines, Output, ScriptDocument, ScriptError,
    ScriptLimits, Wanted,
};

use super::apply::{Put, Writer};
use super::identities::next_identity;
use super::patch_series;
use crate::command::{CommandResult, CounterAction, CounterOperation};
use crate::error::WriteError;
use crate::json_patch;
use crate::left::Left;
use crate::names::{EMPTY_COLLECTION, fold_id};
use crate::patch::{
    Patch, PatchDebug, PatchOutcome, PatchScript, PatchStatus, PatchStored, PatchWork,
    SCRIPT_NANOS_MAX, ScriptContext,
};

/// Scripts kept compiled; each takes about a third of a MiB.
const SCRIPTS_KEPT: usize = 16;
/// Documents a script may ask for, store or delete.
const DOCUMENTS_MAX: usize = 1_024;

/// Functions of scripts that are answered, beside those of time series.
const SERVED: &[&str] = &[
    "load",
    "put",
    "del",
    "cmpxchg",
    "counter",
    "counterNamesFor",
    "counterRaw",
    "incrementCounter",
    "deleteCounter",
];

thread_local! {
    static MACHINES: RefCell<Machines> =
        RefCell::new(Machines::new(ScriptLimits::default(), SCRIPTS_KEPT));
}

/// A document taken out of the transaction.
struct Taken {
    id: String,
    body: DocumentBuf,
    metadata: Option<DocumentBuf>,
    collection: String,
    change_vector: String,
    last_modified: String,
}

impl Taken {
    fn metadata_object(&self) -> Option<Object<'_>> {
        let metadata = self.metadata.as_ref()?;
        metadata.root().as_object()
    }

    fn named_collection(&self) -> Option<&str> {
        (self.collection != EMPTY_COLLECTION).then_some(self.collection.as_str())
    }

    fn script_document(&self) -> ScriptDocument<'_> {
        ScriptDocument {
            body: self.body.root(),
            metadata: self.metadata_object(),
            collection: self.named_collection(),
            id: &self.id,
            change_vector: Some(&self.change_vector),
            last_modified: Some(&self.last_modified),
        }
    }

    fn json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        self.script_document().write_document(&mut json);
        json
    }
}

/// Carries out `patch`.
pub(crate) fn patch(
    writer: &mut Writer<'_>,
    patch: &Patch,
    clock: &dyn Vfs,
) -> Result<PatchOutcome, WriteError> {
    let folded = fold_id(&patch.id)?;
    if let Some(outcome) = take_foreseen(writer, patch, &folded)? {
        return Ok(outcome);
    }
    let taken = writer.take(&folded)?;
    if let Some(outcome) = check_expected(patch, taken.as_ref())? {
        return Ok(outcome);
    }
    let number = writer.find(&folded)?.map(|existing| existing.number);
    let is_touched = |writer: &Writer<'_>| number.is_some_and(|number| writer.is_touched(number));
    let was_touched = is_touched(writer);
    let mut debug = PatchDebug {
        original: taken.as_ref().filter(|_| patch.debug).map(Taken::json),
        ..PatchDebug::default()
    };
    check_other_script(&patch.work, &patch.id, taken.is_some())?;
    let left = match (&*patch.work, &taken) {
        (
            PatchWork::Script {
                script, context, ..
            },
            Some(taken),
        ) => Some(run(writer, clock, script, context, taken, &mut debug)?),
        (
            PatchWork::Script {
                create_if_missing: Some((body, metadata)),
                ..
            },
            None,
        ) => Some(Left {
            body: body.clone(),
            metadata: metadata.clone(),
        }),
        (
            PatchWork::Script {
                if_missing: Some(script),
                context,
                ..
            },
            None,
        ) => Some(run(
            writer,
            clock,
            script,
            context,
            &nothing(patch),
            &mut debug,
        )?),
        (PatchWork::Script { .. }, None) => None,
        (PatchWork::Json(operations), Some(taken)) => {
            let document = DocumentBuf::from_json(&taken.json(), &Default::default());
            let document = document.map_err(|error| refused(patch, &error))?;
            let patched = json_patch::apply(document.root(), operations.root());
            let patched = patched.map_err(|why| WriteError::JsonPatch {
                id: patch.id.clone(),
                why,
            })?;
            Some(split(patched.root())?)
        }
        (PatchWork::Json(_), None) => {
            return Err(WriteError::JsonPatchMissing {
                id: patch.id.clone(),
            });
        }
    };
    let touches = !was_touched && is_touched(writer);
    let mut outcome = store(writer, patch, &folded, taken.as_ref(), left, touches)?;
    outcome.debug = patch.debug.then_some(debug);
    Ok(outcome)
}

/// Stores what was foreseen of a patch, if its document is still the one that was looked at.
fn take_foreseen(
    writer: &mut Writer<'_>,
    patch: &Patch,
    folded: &str,
) -> Result<Option<PatchOutcome>, WriteError> {
    let is_plain = patch.expected.is_none() && !patch.tells_document && !patch.debug;
    let Some(foreseen) = patch.foreseen.as_ref().filter(|_| is_plain) else {
        return Ok(None);
    };
    let existing = writer.find(folded)?.filter(|existing| {
        existing.head.etag == foreseen.etag && !writer.is_touched(existing.number)
    });
    let Some(existing) = existing else {
        return Ok(None);
    };
    let Some(left) = &foreseen.left else {
        return Ok(Some(outcome_of(patch, PatchStatus::NotModified)));
    };
    let put = Put {
        id: &patch.id,
        folded,
        collection: existing.head.collection,
        metadata_len: left.metadata_len,
        content: &left.bytes,
        expected: None,
        keeps_revision: false,
    };
    writer.without_results(|writer| writer.put_over(&put, Some(existing)))?;
    let etag = writer.state.last_etag;
    Ok(Some(PatchOutcome {
        stored: Some(PatchStored {
            change_vector: writer.origin.change_vector(etag),
            etag,
            collection: writer.collection_name(put.collection)?,
            last_modified: writer.now,
        }),
        ..outcome_of(patch, PatchStatus::Patched)
    }))
}

/// Stores what a patch left, unless it is what was there. `touches` says that the names of what the
/// document has beside it changed, for which it is written again at the end of the operation.
fn store(
    writer: &mut Writer<'_>,
    patch: &Patch,
    folded: &str,
    taken: Option<&Taken>,
    left: Option<Left>,
    touches: bool,
) -> Result<PatchOutcome, WriteError> {
    let Some(left) = left else {
        return Ok(outcome_of(patch, PatchStatus::DocumentDoesNotExist));
    };
    let json = patch.tells_document.then(|| left.json());
    if taken.is_some_and(|taken| left.is_still(&taken.script_document())) {
        let status = match touches {
            true => PatchStatus::Patched,
            false => PatchStatus::NotModified,
        };
        return Ok(PatchOutcome {
            stored: match touches {
                true => writer.stored(folded)?,
                false => None,
            },
            modified: json,
            ..outcome_of(patch, status)
        });
    }
    let id = taken.map_or(patch.id.as_str(), |taken| &taken.id);
    writer.store_left(id, folded, &left, None)?;
    let stored = writer.stored(folded)?;
    let status = match taken {
        Some(_) => PatchStatus::Patched,
        None => PatchStatus::Created,
    };
    Ok(PatchOutcome {
        stored,
        modified: json,
        ..outcome_of(patch, status)
    })
}

fn outcome_of(patch: &Patch, status: PatchStatus) -> PatchOutcome {
    PatchOutcome {
        id: patch.id.clone(),
        status,
        stored: None,
        modified: None,
        debug: None,
        tag: patch.tag,
    }
}

fn check_expected(
    patch: &Patch,
    taken: Option<&Taken>,
) -> Result<Option<PatchOutcome>, WriteError> {
    let Some(expected) = &patch.expected else {
        return Ok(None);
    };
    let actual = taken.map(|taken| taken.change_vector.as_str());
    if actual.unwrap_or("") == expected {
        return Ok(None);
    }
    if patch.skips_mismatch {
        return Ok(Some(outcome_of(patch, PatchStatus::Skipped)));
    }
    Err(WriteError::PatchConflict {
        id: patch.id.clone(),
        expected: expected.clone(),
        actual: actual.map(str::to_owned),
    })
}

/// The document that a script for missing ones begins with.
fn nothing(patch: &Patch) -> Taken {
    let mut builder = Builder::new();
    builder.begin_object().end_object();
    Taken {
        id: patch.id.clone(),
        body: builder.finish().expect("the calls are balanced"),
        metadata: None,
        collection: EMPTY_COLLECTION.to_owned(),
        change_vector: String::new(),
        last_modified: String::new(),
    }
}

fn run(
    writer: &mut Writer<'_>,
    clock: &dyn Vfs,
    script: &PatchScript,
    context: &ScriptContext,
    taken: &Taken,
    debug: &mut PatchDebug,
) -> Result<Left, WriteError> {
    let program = script.program(context);
    let parameters = script.parameters.as_ref();
    let parameters = parameters.map(|parameters| parameters.root());
    let document = taken.script_document();
    let simple = Assignments::read(&program);
    if let Some(output) = simple.and_then(|simple| simple.apply(&document, parameters)) {
        return Ok(Left {
            body: output.value,
            metadata: output.metadata,
        });
    }
    let mut host = PatchHost {
        writer,
        clock,
        deadline_nanos: u64::MAX,
        documents_left: DOCUMENTS_MAX,
        debug,
    };
    let arguments = [Argument::Document(document)];
    let outcome = MACHINES.with_borrow_mut(|machines| {
        machines.with(&program, |machine| {
            machine.run(&mut host, &arguments, parameters, Wanted::Document)
        })
    });
    let Output {
        value,
        metadata,
        printed,
    } = outcome.map_err(|error| script_error(&taken.id, &script.text, error))?;
    debug.printed = printed;
    Ok(Left {
        body: value,
        metadata,
    })
}

/// Refuses the script of a patch that does not run, when it is no JavaScript: whether it is must
/// not depend on the document being there.
fn check_other_script(work: &PatchWork, id: &str, is_there: bool) -> Result<(), WriteError> {
    let PatchWork::Script {
        script,
        context,
        if_missing,
        ..
    } = work
    else {
        return Ok(());
    };
    let Some(other) = (if is_there {
        if_missing.as_ref()
    } else {
        Some(script)
    }) else {
        return Ok(());
    };
    let program = other.program(context);
    if Assignments::read(&program).is_some() {
        return Ok(());
    }
    let checked = MACHINES.with_borrow_mut(|machines| {
        machines.with(&program, |machine| machine.prepare(Lane::Writes))
    });
    checked.map_err(|error| script_error(id, &other.text, error))
}

fn script_error(id: &str, text: &str, error: ScriptError) -> WriteError {
    let (id, text) = (id.to_owned(), text.to_owned());
    match error {
        ScriptError::Syntax { .. } => WriteError::ScriptSyntax {
            text,
            why: error.to_string(),
        },
        ScriptError::Host(error) => match error.downcast::<WriteError>() {
            Ok(error) => *error,
            Err(error) => WriteError::Script {
                id,
                why: error.to_string(),
            },
        },
        ScriptError::Thrown { message, place } => {
            let at = place.map(|(line, column)| format!("At {line}:{column} "));
            WriteError::Script {
                why: format!(
                    "{}Script failed for document ID '{id}'. {message}",
                    at.unwrap_or_default()
                ),
                id,
            }
        }
        other => WriteError::Script {
            id,
            why: other.to_string(),
        },
    }
}

/// Takes a JSON document apart into body and metadata.
fn split(value: Value<'_>) -> Result<Left, WriteError> {
    let mut parser = Parser::default();
    let split = split_metadata(value, &mut parser);
    let split = split.map_err(|_| WriteError::NotAnObject {
        id: String::new(),
        what: "the metadata",
    })?;
    Ok(Left {
        body: split.body.to_buf(),
        metadata: split.metadata.map(|metadata| metadata.to_buf()),
    })
}

fn refused(patch: &Patch, error: &dyn std::error::Error) -> WriteError {
    WriteError::Script {
        id: patch.id.clone(),
        why: error.to_string(),
    }
}

/// What a patch may ask of the database: everything inside its transaction.
struct PatchHost<'p, 'w> {
    writer: &'p mut Writer<'w>,
    clock: &'p dyn Vfs,
    /// From when the run began.
    deadline_nanos: u64,
    documents_left: usize,
    debug: &'p mut PatchDebug,
}

impl Host for PatchHost<'_, '_> {
    fn lane(&self) -> Lane {
        Lane::Writes
    }

    fn begin(&mut self) {
        let now = self.clock.monotonic_nanos();
        self.deadline_nanos = now.saturating_add(SCRIPT_NANOS_MAX);
    }

    fn call(&mut self, function: &str, arguments: Array<'_>) -> Result<Vec<u8>, HostError> {
        let text = |slot: usize| arguments.get(slot).and_then(|value| value.as_str());
        let id = text(0).filter(|id| !id.is_empty());
        if !SERVED.contains(&function) && !patch_series::FUNCTIONS.contains(&function) {
            return Err(HostError::unserved(function));
        }
        self.documents_left = self.documents_left.checked_sub(1).ok_or_else(|| {
            HostError::Refused(format!(
                "A script may ask for documents, counters, time series and values \
                 {DOCUMENTS_MAX} times"
            ))
        })?;
        let id = id.ok_or_else(|| HostError::Refused(format!("{function}() needs an id")))?;
        if patch_series::FUNCTIONS.contains(&function) {
            return patch_series::call(self.writer, function, id, arguments);
        }
        match function {
            "load" => self.load(id),
            "put" => {
                let value = arguments.get(1).unwrap_or(Value::Null);
                self.put(id, value, text(2))
            }
            "del" => self.delete(id, text(1)),
            "cmpxchg" => self.exchange_value(id),
            "counterNamesFor" => self.counter_names(id),
            counter => {
                let name = text(1).filter(|name| !name.is_empty());
                let name =
                    name.ok_or_else(|| HostError::Refused(format!("{counter}() needs a name")))?;
                if counter == "counterRaw" {
                    return self.counter_by_node(id, name);
                }
                let action = match counter {
                    "incrementCounter" => CounterAction::Increment(delta(arguments.get(2))?),
                    "deleteCounter" => CounterAction::Delete,
                    _ => CounterAction::Get,
                };
                self.counter(id, name, action)
            }
        }
    }

    fn is_over(&mut self) -> bool {
        self.clock.monotonic_nanos() > self.deadline_nanos
    }
}

/// How much a counter grows: by one unless the script says otherwise.
fn delta(value: Option<Value<'_>>) -> Result<i64, HostError> {
    match value {
        None | Some(Value::Null) => Ok(1),
        Some(value) => value.as_i64().ok_or_else(|| {
            HostError::Refused("incrementCounter() needs a whole number".to_owned())
        }),
    }
}

impl PatchHost<'_, '_> {
    /// Changes or reads a counter; answers its value when it was read.
    fn counter(
        &mut self,
        id: &str,
        name: &str,
        action: CounterAction,
    ) -> Result<Vec<u8>, HostError> {
        if action == CounterAction::Get {
            let values = self.writer.counters_of(id).map_err(host_error)?;
            let found = values
                .iter()
                .find(|(known, _)| lowercase(known) == lowercase(name));
            let json = found.map_or_else(|| "null".to_owned(), |(_, value)| value.to_string());
            return Ok(json.into_bytes());
        }
        let operation = CounterOperation {
            name: name.to_owned(),
            action,
        };
        let change = |writer: &mut Writer<'_>| writer.change_counters(id, &[operation]);
        self.writer.without_results(change).map_err(host_error)?;
        Ok(b"null".to_vec())
    }

    /// The value of a counter by what counted: this node of this database. Nothing counted without
    /// the counter.
    fn counter_by_node(&mut self, id: &str, name: &str) -> Result<Vec<u8>, HostError> {
        let value = self.counter(id, name, CounterAction::Get)?;
        let place = self.writer.origin.node_and_database();
        let mut json = Vec::new();
        write_object(&mut json, |nodes| {
            if value != b"null" {
                nodes.raw(&place, &value);
            }
        });
        Ok(json)
    }

    fn counter_names(&mut self, id: &str) -> Result<Vec<u8>, HostError> {
        let values = self.writer.counters_of(id).map_err(host_error)?;
        let mut json = Vec::new();
        write_array(&mut json, |list| {
            values.iter().for_each(|(name, _)| list.string(name));
        });
        Ok(json)
    }

    fn exchange_value(&mut self, key: &str) -> Result<Vec<u8>, HostError> {
        let value = self.writer.exchange_value(key).map_err(host_error)?;
        let root = value.as_ref().map_or(Value::Null, |value| value.root());
        let mut json = Vec::new();
        root.get("Object")
            .unwrap_or(Value::Null)
            .write_json(&mut json);
        Ok(json)
    }

    fn load(&mut self, id: &str) -> Result<Vec<u8>, HostError> {
        let found = match fold_id(id) {
            Ok(folded) => self.writer.take(&folded).map_err(host_error)?,
            Err(_) => None,
        };
        self.debug.loaded.push((id.to_owned(), found.is_some()));
        let mut out = Vec::new();
        match found {
            Some(found) => found.script_document().write(&mut out),
            None => out.extend_from_slice(b"null"),
        }
        Ok(out)
    }

    fn put(
        &mut self,
        id: &str,
        value: Value<'_>,
        expected: Option<&str>,
    ) -> Result<Vec<u8>, HostError> {
        let left = split(value).map_err(host_error)?;
        let id = self.writer.whole_id(id).map_err(host_error)?;
        let folded = fold_id(&id).map_err(host_error)?;
        self.writer
            .store_left(&id, &folded, &left, expected)
            .map_err(host_error)?;
        let mut out = Vec::new();
        Value::String(&id).write_json(&mut out);
        self.debug.put.push((id.into_owned(), left.json()));
        Ok(out)
    }

    fn delete(&mut self, id: &str, expected: Option<&str>) -> Result<Vec<u8>, HostError> {
        let folded = fold_id(id).map_err(host_error)?;
        let is_there = self.writer.take(&folded).map_err(host_error)?.is_some();
        let delete = |writer: &mut Writer<'_>| writer.delete(id, &folded, expected);
        self.writer.without_results(delete).map_err(host_error)?;
        self.debug.deleted.push(id.to_owned());
        Ok(is_there.to_string().into_bytes())
    }
}

/// Whatever the transaction says ends the run: what it did so far is taken back with the batch.
pub(super) fn host_error(error: WriteError) -> HostError {
    HostError::Failed(Box::new(error))
}

impl Writer<'_> {
    /// Carries out a patch and keeps its result.
    pub(super) fn patch(&mut self, work: &Patch, clock: &dyn Vfs) -> Result<(), WriteError> {
        let outcome = patch(self, work, clock)?;
        self.told_bytes += outcome.modified.as_ref().map_or(0, Vec::len);
        if self.told_bytes > work.told_bytes_max {
            return Err(WriteError::ToldTooMuch {
                max_bytes: work.told_bytes_max,
            });
        }
        let is_stored = outcome.stored.is_some();
        let slot = self.push_result(CommandResult::Patch(Box::new(outcome)));
        // Counters that the script made rewrite the document at the end.
        if let Some(slot) = slot.filter(|_| is_stored)
            && let Some(existing) = self.find(&fold_id(&work.id)?)?
        {
            self.incomplete.push((slot, existing.number));
        }
        Ok(())
    }

    /// Names and values of the counters of the document with this id.
    fn counters_of(&mut self, id: &str) -> Result<Vec<(String, i64)>, WriteError> {
        match self.find(&lowercase(id))? {
            Some(existing) => self.counter_values(existing.number),
            None => Ok(Vec::new()),
        }
    }

    /// The document with this lower-cased id, copied.
    fn take(&mut self, folded: &str) -> Result<Option<Taken>, WriteError> {
        let Some(record) = self.record(folded)? else {
            return Ok(None);
        };
        let (id, etag) = (record.id.to_owned(), record.etag);
        let (body, collection) = (record.body().to_buf(), record.collection);
        let metadata = record.metadata().map(|metadata| metadata.to_buf());
        let last_modified = record.last_modified.to_string();
        Ok(Some(Taken {
            id,
            body,
            metadata,
            collection: self.collection_name(collection)?,
            change_vector: self.origin.change_vector(etag),
            last_modified,
        }))
    }

    /// What is told of the document with this lower-cased id, which this transaction stored.
    fn stored(&mut self, folded: &str) -> Result<Option<PatchStored>, WriteError> {
        let Some(existing) = self.find(folded)? else {
            return Ok(None);
        };
        Ok(Some(PatchStored {
            change_vector: self.origin.change_vector(existing.head.etag),
            etag: existing.head.etag,
            collection: self.collection_name(existing.head.collection)?,
            last_modified: self.now,
        }))
    }

    /// Stores a document; its collection is the one its metadata names.
    fn store_left(
        &mut self,
        id: &str,
        folded: &str,
        left: &Left,
        expected: Option<&str>,
    ) -> Result<(), WriteError> {
        let content = left.content(id)?;
        let put = Put {
            id,
            folded,
            collection: self.collection(&content.collection)?,
            metadata_len: content.metadata_len,
            content: &content.bytes,
            expected,
            keeps_revision: false,
        };
        self.without_results(|writer| writer.put(&put))
    }

    /// Completes `prefix/` and `prefix|`.
    fn whole_id<'i>(&mut self, id: &'i str) -> Result<Cow<'i, str>, WriteError> {
        match id.as_bytes() {
            [_, .., b'/'] => Ok(self.next_id(id).into()),
            [.., b'|'] => {
                let number = next_identity(id, self.transaction)?;
                Ok(format!("{}/{number}", &id[..id.len() - 1]).into())
            }
            _ => Ok(id.into()),
        }
    }
}

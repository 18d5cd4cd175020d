//! Sorters: classes of C# that compare the results of queries.
//!
//! Those of a database are in its record, those of the server in a setting; a database's own go
//! first. They are compiled when they are put, and again when a query first needs them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use jackdaw_database::{DatabaseSet, QueryError, Sorter, SorterError, Sorters};
use serde_json::{Map, Value, json};

use super::record::StoredRecord;
use super::{databases, failure, indexes, settings};
use crate::http::{Call, Outcome, Reply};
use crate::shared::Shared;
use crate::wire::{WireError, kind};

/// Member of the record, setting of the server, and member of bodies.
const SORTERS: &str = "Sorters";
/// Compiled sorters that are kept, of all databases; the oldest goes first.
const KEPT_MAX: usize = 64;

/// What a server keeps in memory for its sorters.
#[derive(Default)]
pub(crate) struct CompiledSorters {
    /// By their text, so that it makes no difference whose they are.
    kept: Mutex<Vec<Arc<Sorter>>>,
    /// Held while the server's are changed: they are stored as a whole.
    changing: Mutex<()>,
}

/// The sorters that queries of one database find.
#[derive(Clone)]
pub(super) struct KnownSorters {
    shared: Arc<Shared>,
    database: String,
}

impl fmt::Debug for KnownSorters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KnownSorters").field(&self.database).finish()
    }
}

impl KnownSorters {
    pub(super) fn of(call: &Call) -> KnownSorters {
        KnownSorters {
            shared: Arc::clone(&call.shared),
            database: call.part(0),
        }
    }

    /// The source of a sorter.
    fn code(&self, name: &str) -> Result<Option<String>, WireError> {
        let code = |sorters: Option<&Value>| {
            let code = sorters?.get(name)?.get("Code")?.as_str()?;
            Some(code.to_owned())
        };
        if let Some(entry) = self.shared.databases.entry(&self.database) {
            let record = StoredRecord::parse(&entry.record)?;
            if let Some(own) = code(record.member(SORTERS)) {
                return Ok(Some(own));
            }
        }
        let shared = of_server(&self.shared.databases)?;
        Ok(code(Some(&shared.into())))
    }
}

impl Sorters for KnownSorters {
    fn find(&self, name: &str) -> Result<Option<Arc<Sorter>>, QueryError> {
        let code = self
            .code(name)
            .map_err(|error| QueryError::Source(error.message.into()))?;
        let Some(code) = code else {
            return Ok(None);
        };
        let compiled = self.shared.sorters.compile(name, &code);
        let compiled = compiled.map_err(|error| QueryError::Sorter {
            exception: error.kind.name.to_owned(),
            message: error.message,
        })?;
        Ok(Some(compiled))
    }
}

impl CompiledSorters {
    fn compile(&self, name: &str, code: &str) -> Result<Arc<Sorter>, WireError> {
        let is = |sorter: &&Arc<Sorter>| sorter.name() == name && sorter.code() == code;
        if let Some(known) = self.kept().iter().find(is) {
            return Ok(Arc::clone(known));
        }
        let compiled = Sorter::compile(name, code).map_err(|error| {
            let message = match &error {
                SorterError::Source(_) => {
                    format!("Failed to compile sorter '{name}'\n\n{code}\n\n{error}\n")
                }
                _ => error.to_string(),
            };
            WireError::new(kind::SORTER_COMPILATION, message)
        })?;
        let compiled = Arc::new(compiled);
        let mut kept = self.kept();
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push(Arc::clone(&compiled));
        Ok(compiled)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<Sorter>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sorters of a body, each compiled: `{Sorters: [{Name, Code}]}`.
fn given(call: &Call) -> Result<Map<String, Value>, WireError> {
    let body = settings::given(call)?;
    let Some(list) = body.get(SORTERS).and_then(Value::as_array) else {
        return Err(WireError::new(
            kind::ARGUMENT,
            "The body needs 'Sorters', a list.",
        ));
    };
    let mut sorters = Map::new();
    for one in list {
        let text = |name: &str| {
            let text = one.get(name).and_then(Value::as_str);
            text.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
                let message = format!("A sorter needs a '{name}', a text that is not empty.");
                WireError::new(kind::ARGUMENT, message)
            })
        };
        let (name, code) = (text("Name")?, text("Code")?);
        call.shared.sorters.compile(name, code)?;
        sorters.insert(name.to_owned(), json!({ "Name": name, "Code": code }));
    }
    Ok(sorters)
}

/// The members of a record or setting as a map.
fn members(sorters: Option<&Value>) -> Map<String, Value> {
    let members = sorters.and_then(Value::as_object);
    members.cloned().unwrap_or_default()
}

fn of_server(databases: &DatabaseSet) -> Result<Map<String, Value>, WireError> {
    let stored = databases
        .setting(SORTERS)
        .map_err(|error| failure::read(&error))?;
    let Some((_, text)) = stored else {
        return Ok(Map::new());
    };
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("The sorters of the server are damaged: {error}");
        WireError::new(kind::UNEXPECTED, message)
    })
}

fn change_server(
    call: &Call,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<(), WireError> {
    let changing = &call.shared.sorters.changing;
    let _changing = changing.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sorters = of_server(&call.shared.databases)?;
    change(&mut sorters);
    let text = Value::Object(sorters).to_string();
    let stored = call.shared.databases.set_setting(SORTERS, &text);
    stored.map_err(|error| failure::set("", &error))?;
    Ok(())
}

fn listed(sorters: &Map<String, Value>) -> Reply {
    let names: BTreeSet<&String> = sorters.keys().collect();
    let list: Vec<&Value> = names
        .into_iter()
        .filter_map(|name| sorters.get(name))
        .collect();
    Reply::value(&json!({ SORTERS: list }))
}

/// `GET /databases/*/sorters`: those of the database alone.
pub(super) fn list(call: &Call) -> Outcome {
    super::database(call)?;
    let (_, own) = databases::member(call, SORTERS)?;
    Ok(listed(&members(own.as_ref())))
}

/// `PUT /databases/*/admin/sorters`
pub(super) fn put(call: &Call) -> Outcome {
    super::database(call)?;
    let given = given(call)?;
    databases::change_member(call, SORTERS, |own| {
        let mut sorters = members(own);
        sorters.extend(given);
        Ok(sorters.into())
    })?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `DELETE /databases/*/admin/sorters?name=`. An absent one is no failure.
pub(super) fn delete(call: &Call) -> Outcome {
    super::database(call)?;
    let name = indexes::required_name(call)?;
    databases::change_member(call, SORTERS, |own| {
        let mut sorters = members(own);
        sorters.remove(&name);
        Ok(sorters.into())
    })?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `GET /sorters`
pub(super) fn list_of_server(call: &Call) -> Outcome {
    Ok(listed(&of_server(&call.shared.databases)?))
}

/// `PUT /admin/sorters`
pub(super) fn put_of_server(call: &Call) -> Outcome {
    let given = given(call)?;
    change_server(call, |sorters| sorters.extend(given))?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `DELETE /admin/sorters?name=`. An absent one is no failure.
pub(super) fn delete_of_server(call: &Call) -> Outcome {
    let name = indexes::required_name(call)?;
    change_server(call, |sorters| {
        sorters.remove(&name);
    })?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

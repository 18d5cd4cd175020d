//! Sorters: classes of C# that compare the results of queries.
//!
//! Those of a database are in its record, those of the server in a setting; a database's own go
//! first. They are compiled when they are put, and again when a query first needs them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use jackdaw_database::{QueryError, Sorter, SorterError, Sorters};
use serde_json::{Map, Value};

use super::classes::{Kind, members};
use super::{databases, indexes};
use crate::http::{Call, Outcome, Reply};
use crate::shared::Shared;
use crate::wire::{WireError, kind};

const SORTERS: Kind = Kind {
    member: "Sorters",
    noun: "A sorter",
};
/// Compiled sorters that are kept, of all databases; the oldest goes first.
const KEPT_MAX: usize = 64;

/// What a server keeps in memory for its sorters.
#[derive(Default)]
pub(crate) struct CompiledSorters {
    /// By their text, so that it makes no difference whose they are.
    kept: Mutex<Vec<Arc<Sorter>>>,
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
        let databases = &self.shared.databases;
        let code = |sorters: Map<String, Value>| {
            let code = sorters.get(name)?.get("Code")?.as_str()?;
            Some(code.to_owned())
        };
        let own = SORTERS.of_database(databases, &self.database)?;
        if let Some(own) = code(own) {
            return Ok(Some(own));
        }
        Ok(code(SORTERS.of_server(databases)?))
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
    SORTERS.given(call, |name, code| {
        call.shared.sorters.compile(name, code).map(drop)
    })
}

/// `GET /databases/*/sorters`: those of the database alone.
pub(super) fn list(call: &Call) -> Outcome {
    super::database(call)?;
    let (_, own) = databases::member(call, SORTERS.member)?;
    Ok(SORTERS.listed(&members(own.as_ref())))
}

/// `PUT /databases/*/admin/sorters`
pub(super) fn put(call: &Call) -> Outcome {
    super::database(call)?;
    let given = given(call)?;
    databases::change_member(call, SORTERS.member, |own| {
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
    databases::change_member(call, SORTERS.member, |own| {
        let mut sorters = members(own);
        sorters.remove(&name);
        Ok(sorters.into())
    })?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `GET /sorters`
pub(super) fn list_of_server(call: &Call) -> Outcome {
    let shared = SORTERS.of_server(&call.shared.databases)?;
    Ok(SORTERS.listed(&shared))
}

/// `PUT /admin/sorters`
pub(super) fn put_of_server(call: &Call) -> Outcome {
    let given = given(call)?;
    SORTERS.change_server(call, |sorters| sorters.extend(given))?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `DELETE /admin/sorters?name=`. An absent one is no failure.
pub(super) fn delete_of_server(call: &Call) -> Outcome {
    let name = indexes::required_name(call)?;
    SORTERS.change_server(call, |sorters| {
        sorters.remove(&name);
    })?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

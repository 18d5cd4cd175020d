//! Analyzers: classes of C# that divide the text of indexes into words.
//!
//! An index keeps what its analyzers were when it was put, so that its words and those of queries
//! agree; it takes a changed analyzer when it is put or reset again.

use hyper::StatusCode;
use jackdaw_base::lowercase::lowercase;
use jackdaw_database::{AnalyzerError, ClassError, StaticDefinition, compile_analyzer};
use serde_json::{Map, Value};

use super::classes::{Kind, members};
use super::{databases, indexes};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

const ANALYZERS: Kind = Kind {
    member: "Analyzers",
    noun: "An analyzer",
};

/// The steps of a class.
fn compile(name: &str, code: &str) -> Result<String, WireError> {
    compile_analyzer(name, code).map_err(|error| match &error {
        AnalyzerError::Class(ClassError::NoType(_)) => {
            WireError::new(kind::ANALYZER_COMPILATION, error.to_string())
        }
        AnalyzerError::Class(ClassError::NoAnalyzer(_)) => {
            WireError::new(kind::INVALID_OPERATION, error.to_string())
        }
        _ => WireError::new(
            kind::ANALYZER_COMPILATION,
            format!("Failed to compile analyzer '{name}'\n\n{code}\n\n{error}\n"),
        ),
    })
}

/// Notes in `definition` what the analyzers are that its fields name, as the database or the server
/// has them now. Names that neither has are left to those that are built in.
pub(super) fn resolve(call: &Call, definition: &mut StaticDefinition) -> Result<(), WireError> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut known = None;
    for name in definition.analyzer_names() {
        let lowered = lowercase(name).into_owned();
        if found.iter().any(|(name, _)| *name == lowered) {
            continue;
        }
        let known = match &known {
            Some(known) => known,
            None => {
                let databases = &call.shared.databases;
                let own = ANALYZERS.of_database(databases, &call.part(0))?;
                let shared = ANALYZERS.of_server(databases)?;
                known.insert([own, shared])
            }
        };
        let class = known.iter().find_map(|classes| class(classes, &lowered));
        if let Some((name, code)) = class {
            found.push((lowered, compile(name, code)?));
        }
    }
    definition.analyzers = found;
    Ok(())
}

/// The class of a name in lower case.
fn class<'c>(classes: &'c Map<String, Value>, lowered: &str) -> Option<(&'c str, &'c str)> {
    let (name, class) = classes
        .iter()
        .find(|(name, _)| lowercase(name) == lowered)?;
    Some((name, class.get("Code")?.as_str()?))
}

/// Reports the indexes of the database that go on with the analyzer they were made with.
fn note_indexes(call: &Call, names: &[String]) -> Result<(), WireError> {
    let database = super::database(call)?;
    for info in indexes::infos(&database)? {
        let Some(own) = info.definition.as_static() else {
            continue;
        };
        let mut now = own.clone();
        let is_missing = resolve(call, &mut now).is_err();
        let uses = |name: &String| {
            let mut used = own.analyzer_names();
            used.any(|used| lowercase(used) == lowercase(name))
        };
        if names.iter().any(uses) && (is_missing || now.analyzers != own.analyzers) {
            tracing::warn!(
                database = %call.part(0),
                index = %info.name(),
                "the index keeps the analyzer that it was made with until it is reset"
            );
        }
    }
    Ok(())
}

/// `GET /databases/*/analyzers`: those of the database alone.
pub(super) fn list(call: &Call) -> Outcome {
    super::database(call)?;
    let (_, own) = databases::member(call, ANALYZERS.member)?;
    Ok(ANALYZERS.listed(&members(own.as_ref())))
}

fn given(call: &Call) -> Result<Map<String, Value>, WireError> {
    ANALYZERS.given(call, |name, code| compile(name, code).map(drop))
}

/// `PUT /databases/*/admin/analyzers`
pub(super) fn put(call: &Call) -> Outcome {
    super::database(call)?;
    let given = given(call)?;
    let names: Vec<String> = given.keys().cloned().collect();
    databases::change_member(call, ANALYZERS.member, |own| {
        let mut analyzers = members(own);
        // Indexes find them in any letter case.
        analyzers.retain(|known, _| !given.keys().any(|name| lowercase(name) == lowercase(known)));
        analyzers.extend(given);
        Ok(analyzers.into())
    })?;
    note_indexes(call, &names)?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `DELETE /databases/*/admin/analyzers?name=`. An absent one is no failure.
pub(super) fn delete(call: &Call) -> Outcome {
    super::database(call)?;
    let name = indexes::required_name(call)?;
    databases::change_member(call, ANALYZERS.member, |own| {
        let mut analyzers = members(own);
        analyzers.retain(|known, _| lowercase(known) != lowercase(&name));
        Ok(analyzers.into())
    })?;
    note_indexes(call, &[name])?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `GET /analyzers`
pub(super) fn list_of_server(call: &Call) -> Outcome {
    let shared = ANALYZERS.of_server(&call.shared.databases)?;
    Ok(ANALYZERS.listed(&shared))
}

/// `PUT /admin/analyzers`
pub(super) fn put_of_server(call: &Call) -> Outcome {
    let given = given(call)?;
    ANALYZERS.change_server(call, |analyzers| {
        analyzers.retain(|known, _| !given.keys().any(|name| lowercase(name) == lowercase(known)));
        analyzers.extend(given);
    })?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `DELETE /admin/analyzers?name=`. An absent one is no failure.
pub(super) fn delete_of_server(call: &Call) -> Outcome {
    let name = indexes::required_name(call)?;
    ANALYZERS.change_server(call, |analyzers| {
        analyzers.retain(|known, _| lowercase(known) != lowercase(&name));
    })?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

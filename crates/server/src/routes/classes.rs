//! Classes of C# that databases and the server keep by name: sorters and analyzers.
//!
//! Those of a database are in its record, those of the server in a setting; a database's own go
//! first. Both are objects of `{"Name", "Code"}` by name.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use jackdaw_database::DatabaseSet;
use serde_json::{Map, Value, json};

use super::record::StoredRecord;
use super::{failure, settings};
use crate::http::{Call, Reply};
use crate::wire::{WireError, kind};

/// A kind of classes.
pub(super) struct Kind {
    /// Member of the record, setting of the server, and member of bodies.
    pub(super) member: &'static str,
    /// What one is called in messages.
    pub(super) noun: &'static str,
}

/// Held while classes of the server are changed: they are stored as a whole.
static CHANGING: Mutex<()> = Mutex::new(());

impl Kind {
    /// The classes of a body: `{<member>: [{Name, Code}]}`; `check` may refuse each.
    pub(super) fn given(
        &self,
        call: &Call,
        check: impl Fn(&str, &str) -> Result<(), WireError>,
    ) -> Result<Map<String, Value>, WireError> {
        let body = settings::given(call)?;
        let Some(list) = body.get(self.member).and_then(Value::as_array) else {
            return Err(WireError::new(
                kind::ARGUMENT,
                format!("The body needs '{}', a list.", self.member),
            ));
        };
        let mut classes = Map::new();
        for one in list {
            let text = |name: &str| {
                let text = one.get(name).and_then(Value::as_str);
                text.filter(|text| !text.trim().is_empty()).ok_or_else(|| {
                    let message =
                        format!("{} needs a '{name}', a text that is not empty.", self.noun);
                    WireError::new(kind::ARGUMENT, message)
                })
            };
            let (name, code) = (text("Name")?, text("Code")?);
            check(name, code)?;
            classes.insert(name.to_owned(), json!({ "Name": name, "Code": code }));
        }
        Ok(classes)
    }

    /// Those of a database.
    pub(super) fn of_database(
        &self,
        databases: &DatabaseSet,
        name: &str,
    ) -> Result<Map<String, Value>, WireError> {
        let Some(entry) = databases.entry(name) else {
            return Ok(Map::new());
        };
        let record = StoredRecord::parse(&entry.record)?;
        Ok(members(record.member(self.member)))
    }

    /// Those of the server.
    pub(super) fn of_server(
        &self,
        databases: &DatabaseSet,
    ) -> Result<Map<String, Value>, WireError> {
        let stored = databases.setting(self.member);
        let Some((_, text)) = stored.map_err(|error| failure::read(&error))? else {
            return Ok(Map::new());
        };
        serde_json::from_str(&text).map_err(|error| {
            let message = format!("The {} of the server are damaged: {error}", self.member);
            WireError::new(kind::UNEXPECTED, message)
        })
    }

    /// Changes those of the server.
    pub(super) fn change_server(
        &self,
        call: &Call,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Result<(), WireError> {
        let _changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut classes = self.of_server(&call.shared.databases)?;
        change(&mut classes);
        let text = Value::Object(classes).to_string();
        let stored = call.shared.databases.set_setting(self.member, &text);
        stored.map_err(|error| failure::set("", &error))?;
        Ok(())
    }

    /// The answer that lists classes, by name.
    pub(super) fn listed(&self, classes: &Map<String, Value>) -> Reply {
        let names: BTreeSet<&String> = classes.keys().collect();
        let list: Vec<&Value> = names
            .into_iter()
            .filter_map(|name| classes.get(name))
            .collect();
        Reply::value(&json!({ (self.member): list }))
    }
}

/// The members of a record or setting as a map.
pub(super) fn members(classes: Option<&Value>) -> Map<String, Value> {
    let members = classes.and_then(Value::as_object);
    members.cloned().unwrap_or_default()
}

//! Configurations of what happens at dates in metadata: expiration, refresh, archival.
//!
//! They are members of the database's record. `maintenance` reads them from there.

use std::time::Duration;

use hyper::StatusCode;
use jackdaw_database::{DueKind, DueRule};
use serde_json::{Map, Value, json};

use super::record::StoredRecord;
use super::{databases, settings};
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// Time between two looks when the configuration does not say.
const EVERY_DEFAULT: Duration = Duration::from_secs(60);

/// Member of the record and name of the frequency.
fn names(kind: DueKind) -> (&'static str, &'static str) {
    match kind {
        DueKind::Expiration => ("Expiration", "DeleteFrequencyInSec"),
        DueKind::Refresh => ("Refresh", "RefreshFrequencyInSec"),
        DueKind::Archival => ("DataArchival", "ArchiveFrequencyInSec"),
    }
}

/// A positive number of a configuration; null and absent are none.
fn positive(configuration: &Map<String, Value>, name: &str) -> Result<Option<u64>, String> {
    match configuration.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(format!(
                "'{name}' must be a whole number above 0, but is {value}."
            )),
        },
    }
}

/// The rule of a configuration; `None` when it is disabled.
fn rule(kind: DueKind, configuration: &Map<String, Value>) -> Result<Option<DueRule>, String> {
    let (_, frequency) = names(kind);
    let every = positive(configuration, frequency)?.map(Duration::from_secs);
    let count_max = positive(configuration, "MaxItemsToProcess")?;
    let disabled = match configuration.get("Disabled") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(disabled)) => *disabled,
        Some(value) => return Err(format!("'Disabled' must be true or false, but is {value}.")),
    };
    Ok((!disabled).then_some(DueRule {
        kind,
        every: every.unwrap_or(EVERY_DEFAULT),
        count_max,
    }))
}

/// The rules that a stored record has.
pub(crate) fn rules(record: &str) -> Vec<DueRule> {
    let Ok(record) = StoredRecord::parse(record) else {
        return Vec::new();
    };
    let rules = DueKind::ALL.into_iter().filter_map(|kind| {
        let configuration = record.member(names(kind).0)?.as_object()?;
        rule(kind, configuration).ok().flatten()
    });
    rules.collect()
}

fn get(call: &Call, kind: DueKind) -> Outcome {
    super::database(call)?;
    match databases::member(call, names(kind).0)?.1 {
        Some(configuration) => Ok(Reply::value(&configuration)),
        None => Ok(Reply::empty(StatusCode::NOT_FOUND)),
    }
}

fn set(call: &Call, kind: DueKind) -> Outcome {
    super::database(call)?;
    let configuration = settings::given(call)?;
    rule(kind, &configuration).map_err(|message| WireError::new(kind::ARGUMENT, message))?;
    let index = databases::set_member(call, names(kind).0, configuration.into())?;
    Ok(Reply::value(&json!({ "RaftCommandIndex": index })))
}

/// `GET /databases/*/expiration/config`: 404 when nothing was ever set.
pub(super) fn expiration(call: &Call) -> Outcome {
    get(call, DueKind::Expiration)
}

/// `POST /databases/*/admin/expiration/config`
pub(super) fn set_expiration(call: &Call) -> Outcome {
    set(call, DueKind::Expiration)
}

/// `GET /databases/*/refresh/config`
pub(super) fn refresh(call: &Call) -> Outcome {
    get(call, DueKind::Refresh)
}

/// `POST /databases/*/admin/refresh/config`
pub(super) fn set_refresh(call: &Call) -> Outcome {
    set(call, DueKind::Refresh)
}

/// `GET /databases/*/data-archival/config`
pub(super) fn archival(call: &Call) -> Outcome {
    get(call, DueKind::Archival)
}

/// `POST /databases/*/admin/data-archival/config`
pub(super) fn set_archival(call: &Call) -> Outcome {
    set(call, DueKind::Archival)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_rules_unless_they_are_disabled() {
        let read = |text: &str| {
            let configuration: Map<String, Value> = serde_json::from_str(text).unwrap();
            rule(DueKind::Expiration, &configuration)
        };
        let found = read(r#"{"Disabled":false,"DeleteFrequencyInSec":5,"MaxItemsToProcess":null}"#);
        let expected = DueRule {
            kind: DueKind::Expiration,
            every: Duration::from_secs(5),
            count_max: None,
        };
        assert_eq!(found.unwrap(), Some(expected));
        assert_eq!(read("{}").unwrap().unwrap().every, EVERY_DEFAULT);
        assert_eq!(read(r#"{"Disabled":true}"#).unwrap(), None);
        for wrong in [
            r#"{"DeleteFrequencyInSec":0}"#,
            r#"{"MaxItemsToProcess":-1}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

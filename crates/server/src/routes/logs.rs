//! The log of the process over HTTP: its level, told and changed while the server runs.
//!
//! There is one log, of lines on standard error, and one level for it. Other parts of the
//! protocol's configuration (files, filters, logs of their own for audit and frameworks) are told
//! as not there and refused. A level lasts until the process ends.

use hyper::StatusCode;
use hyper::header::HeaderName;
use serde_json::{Value, json};
use tracing::level_filters::LevelFilter;

use super::settings;
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// The first version of clients that knows this shape of the configuration.
const CLIENT_VERSION_MIN: (u32, u32) = (6, 2);

/// Levels by the names of the protocol.
const LEVELS: [(&str, LevelFilter); 6] = [
    ("Trace", LevelFilter::TRACE),
    ("Debug", LevelFilter::DEBUG),
    ("Info", LevelFilter::INFO),
    ("Warn", LevelFilter::WARN),
    ("Error", LevelFilter::ERROR),
    ("Off", LevelFilter::OFF),
];

/// `GET /admin/logs/configuration`
pub(super) fn get(call: &Call) -> Outcome {
    check_client(call)?;
    let now = LevelFilter::current();
    let log = call.shared.config.log.as_ref();
    let at_start = log.map_or(now, |log| log.at_start());
    Ok(Reply::value(&json!({
        "Logs": {
            "Path": null, "CurrentMinLevel": name_of(now), "MinLevel": name_of(at_start),
            "ArchiveAboveSizeInMb": 0, "MaxArchiveDays": null, "MaxArchiveFiles": null,
            "EnableArchiveFileCompression": false,
            "CurrentFilters": [], "CurrentLogFilterDefaultAction": "Ignore",
        },
        "AuditLogs": {
            "Path": null, "Level": "Info",
            "ArchiveAboveSizeInMb": 0, "MaxArchiveDays": null, "MaxArchiveFiles": null,
            "EnableArchiveFileCompression": false,
        },
        "MicrosoftLogs": { "CurrentMinLevel": "Off", "MinLevel": "Off" },
        "AdminLogs": {
            "CurrentMinLevel": "Off", "CurrentFilters": [],
            "CurrentLogFilterDefaultAction": "Ignore",
        },
    })))
}

/// `POST /admin/logs/configuration` with `{Logs: {MinLevel}}`
pub(super) fn set(call: &Call) -> Outcome {
    check_client(call)?;
    let given = settings::given(call)?;
    for name in ["AuditLogs", "MicrosoftLogs", "AdminLogs"] {
        if given.get(name).is_some_and(|value| !value.is_null()) {
            return Err(refused(&format!(
                "'{name}' cannot be set: this server has one log. Set 'Logs' alone."
            )));
        }
    }
    if given.get("Persist").and_then(Value::as_bool) == Some(true) {
        let message = "The level of the log cannot be kept beyond the end of the process. Set the \
                       environment variable JACKDAW_LOG, or leave 'Persist' out.";
        return Err(refused(message));
    }
    let Some(logs) = given.get("Logs").filter(|logs| !logs.is_null()) else {
        return Ok(Reply::empty(StatusCode::NO_CONTENT));
    };
    let filters = logs.get("Filters").and_then(Value::as_array);
    if filters.is_some_and(|filters| !filters.is_empty()) {
        return Err(refused(
            "Filters of logs are not offered: set 'MinLevel' alone.",
        ));
    }
    let level = match logs.get("MinLevel").and_then(Value::as_str) {
        Some(name) => level_of(name)?,
        None => return Ok(Reply::empty(StatusCode::NO_CONTENT)),
    };
    let log = call.shared.config.log.as_ref();
    if !log.is_some_and(|log| log.set(level)) {
        let message = "The log belongs to the program that this server runs in: set it there.";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `GET /admin/logs/watch` and `GET /admin/traffic-watch`
pub(super) fn no_watch(_call: &Call) -> Outcome {
    Err(refused(
        "Logs and requests cannot be watched over a web socket. Read standard error with \
         JACKDAW_LOG=debug, or the numbers of /jackdaw/live.",
    ))
}

fn refused(message: &str) -> WireError {
    WireError::new(kind::NOT_SUPPORTED, message)
}

fn name_of(level: LevelFilter) -> &'static str {
    let found = LEVELS.iter().find(|(_, known)| *known == level);
    found.map_or("Off", |(name, _)| name)
}

/// The level of a name in any letter case; what is only for fatal errors is the level of errors.
fn level_of(name: &str) -> Result<LevelFilter, WireError> {
    let name = if name.eq_ignore_ascii_case("Fatal") {
        "Error"
    } else {
        name
    };
    let found = LEVELS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    let found = found.ok_or_else(|| {
        let names: Vec<&str> = LEVELS.iter().map(|(name, _)| *name).collect();
        let message = format!(
            "'{name}' is no level of logs; choose one of {}.",
            names.join(", ")
        );
        WireError::new(kind::ARGUMENT, message)
    });
    found.map(|(_, level)| *level)
}

/// Older clients would misread the answer. Who sends no version is taken as new.
fn check_client(call: &Call) -> Result<(), WireError> {
    let name = HeaderName::from_static("raven-client-version");
    match call.header(&name).and_then(version_of) {
        Some(version) if version < CLIENT_VERSION_MIN => {
            let message = "This endpoints requires 6.2 Client API or newer.";
            Err(WireError::new(kind::INVALID_OPERATION, message))
        }
        _ => Ok(()),
    }
}

fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.trim().parse().ok());
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_names_both_ways() {
        for (name, level) in LEVELS {
            assert_eq!(name_of(level), name);
            assert_eq!(level_of(&name.to_lowercase()).ok(), Some(level));
        }
        assert_eq!(level_of("fatal").ok(), Some(LevelFilter::ERROR));
        assert!(
            level_of("loud")
                .unwrap_err()
                .message
                .contains("Trace, Debug")
        );
    }

    #[test]
    fn versions_of_clients_are_compared_by_their_numbers() {
        let is_old = |text| version_of(text).is_some_and(|version| version < CLIENT_VERSION_MIN);
        assert!(is_old("5.2.6") && is_old("6.1") && is_old("6"));
        assert!(!is_old("6.2.0") && !is_old("7.1.5") && !is_old("10.0") && !is_old("newest"));
    }
}

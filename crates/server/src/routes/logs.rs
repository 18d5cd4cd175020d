//! The log of the process over HTTP: its level, told and changed while the server runs.
//!
//! There is one log, of lines on standard error, and one level for it. Other parts of the
//! protocol's configuration (files, filters, logs of their own for audit and frameworks) are told
//! as not there and refused. A level lasts until the process ends.
//!
//! Clients below 6.2 know another form, with a mode in place of levels; they are answered in it.
//! Which requests are logged is set here too, see `traffic`.

use hyper::StatusCode;
use hyper::header::HeaderName;
use serde_json::{Map, Value, json};
use tracing::level_filters::LevelFilter;

use super::settings;
use crate::http::{Call, Outcome, Reply};
use crate::traffic::TrafficFilter;
use crate::wire::{WireError, kind};

/// The first version of clients that knows this shape of the configuration.
const CLIENT_VERSION_MIN: (u32, u32) = (6, 2);

/// Modes of the form that older clients know, and the level that each sets. Mode `Operations`
/// stands for every level from errors to information.
const MODES: [(&str, LevelFilter); 3] = [
    ("None", LevelFilter::OFF),
    ("Operations", LevelFilter::INFO),
    ("Information", LevelFilter::DEBUG),
];

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
    let now = LevelFilter::current();
    if is_old_client(call) {
        return Ok(Reply::value(&json!({
            "Path": null, "CurrentMode": mode_of(now),
            "Mode": mode_of(call.shared.config.log.as_ref().map_or(now, |log| log.at_start())),
            "UseUtcTime": true, "RetentionTime": null, "RetentionSize": null, "Compress": false,
        })));
    }
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

/// `POST /admin/logs/configuration` with `{Logs: {MinLevel}}`, or with `{Mode}` in the old form.
pub(super) fn set(call: &Call) -> Outcome {
    let given = settings::given(call)?;
    if let Some(mode) = given.get("Mode").filter(|mode| !mode.is_null()) {
        return set_mode(call, &given, mode);
    }
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
    set_level(call, level)
}

fn set_level(call: &Call, level: LevelFilter) -> Outcome {
    let log = call.shared.config.log.as_ref();
    if !log.is_some_and(|log| log.set(level)) {
        let message = "The log belongs to the program that this server runs in: set it there.";
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `{Mode, RetentionTime, RetentionSize, Compress}`. A mode that stands for the present level
/// leaves it.
fn set_mode(call: &Call, given: &Map<String, Value>, mode: &Value) -> Outcome {
    let name = mode.as_str().unwrap_or_default();
    let known = MODES
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    let Some((name, level)) = known else {
        let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
        let message = format!(
            "{mode} is no mode of logs; choose one of {}.",
            names.join(", ")
        );
        return Err(WireError::new(kind::ARGUMENT, message));
    };
    for file in ["RetentionTime", "RetentionSize"] {
        if given.get(file).is_some_and(|value| !value.is_null()) {
            return Err(refused(&format!(
                "'{file}' cannot be set: the log goes to standard error, not into files."
            )));
        }
    }
    if mode_of(LevelFilter::current()) == name {
        return Ok(Reply::empty(StatusCode::NO_CONTENT));
    }
    set_level(call, level)
}

fn mode_of(level: LevelFilter) -> &'static str {
    match level {
        LevelFilter::OFF => "None",
        LevelFilter::DEBUG | LevelFilter::TRACE => "Information",
        _ => "Operations",
    }
}

/// `GET /admin/traffic-watch/configuration`
pub(super) fn traffic(call: &Call) -> Outcome {
    let filter = call.shared.traffic.filter();
    Ok(Reply::value(&json!({
        "TrafficWatchMode": if call.shared.traffic.is_on() { TO_LOG } else { "Off" },
        "Databases": filter.databases,
        "StatusCodes": filter.status_codes,
        "MinimumResponseSizeInBytes": 0,
        "MinimumRequestSizeInBytes": 0,
        "MinimumDurationInMs": filter.duration_ms_min,
        "HttpMethods": filter.methods,
        "ChangeTypes": null,
        "CertificateThumbprints": null,
    })))
}

/// The mode of traffic watch in which requests are logged.
const TO_LOG: &str = "ToLogFile";
/// Filters of traffic watch that are refused unless they choose everything.
const OTHER_FILTERS: [&str; 4] = [
    "MinimumResponseSizeInBytes",
    "MinimumRequestSizeInBytes",
    "ChangeTypes",
    "CertificateThumbprints",
];

/// `POST /admin/traffic-watch/configuration` with `{TrafficWatchMode, Databases, ..}`: until the
/// process ends.
pub(super) fn set_traffic(call: &Call) -> Outcome {
    let given = settings::given(call)?;
    let mode = given.get("TrafficWatchMode").and_then(Value::as_str);
    let mode = mode.unwrap_or("Off");
    let is_on = mode.eq_ignore_ascii_case(TO_LOG);
    if !is_on && !mode.eq_ignore_ascii_case("Off") {
        let message = format!("'{mode}' is no mode of traffic watch; choose Off or {TO_LOG}.");
        return Err(WireError::new(kind::FORMAT, message));
    }
    if given.get("Persist").and_then(Value::as_bool) == Some(true) {
        return Err(refused(
            "What is watched cannot be kept beyond the end of the process: leave 'Persist' out.",
        ));
    }
    for name in OTHER_FILTERS {
        let chooses_all = match given.get(name) {
            None | Some(Value::Null) => true,
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Number(number)) => number.as_i64() == Some(0),
            Some(_) => false,
        };
        if !chooses_all {
            return Err(refused(&format!(
                "'{name}' is no filter of this server: choose requests by 'Databases', \
                 'StatusCodes', 'HttpMethods' and 'MinimumDurationInMs'."
            )));
        }
    }
    let filter = TrafficFilter {
        databases: list(&given, "Databases", |item| item.as_str().map(str::to_owned))?,
        status_codes: list(&given, "StatusCodes", |item| {
            item.as_u64().and_then(|code| u16::try_from(code).ok())
        })?,
        methods: list(&given, "HttpMethods", |item| {
            item.as_str().map(str::to_owned)
        })?,
        duration_ms_min: match given.get("MinimumDurationInMs") {
            None | Some(Value::Null) => 0,
            Some(value) => value
                .as_u64()
                .ok_or_else(|| unreadable("MinimumDurationInMs"))?,
        },
    };
    call.shared.traffic.set(is_on, filter);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

fn unreadable(name: &str) -> WireError {
    let message = format!("'{name}' is not of the type that it has to be.");
    WireError::new(kind::FORMAT, message)
}

/// A member that lists items; `None` when it is null or absent.
fn list<T>(
    given: &Map<String, Value>,
    name: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Option<Vec<T>>, WireError> {
    match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let items: Option<Vec<T>> = items.iter().map(read).collect();
            items.map(Some).ok_or_else(|| unreadable(name))
        }
        Some(_) => Err(unreadable(name)),
    }
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

/// Whether the client knows the old form alone. A client that sends no version is taken as new.
fn is_old_client(call: &Call) -> bool {
    let name = HeaderName::from_static("raven-client-version");
    let version = call.header(&name).and_then(version_of);
    version.is_some_and(|version| version < CLIENT_VERSION_MIN)
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
    fn every_mode_reads_back_after_it_was_set() {
        for (name, level) in MODES {
            assert_eq!(mode_of(level), name);
        }
        for (level, mode) in [
            (LevelFilter::WARN, "Operations"),
            (LevelFilter::TRACE, "Information"),
        ] {
            assert_eq!(mode_of(level), mode);
        }
    }

    #[test]
    fn versions_of_clients_are_compared_by_their_numbers() {
        let is_old = |text| version_of(text).is_some_and(|version| version < CLIENT_VERSION_MIN);
        assert!(is_old("5.2.6") && is_old("6.1") && is_old("6"));
        assert!(!is_old("6.2.0") && !is_old("7.1.5") && !is_old("10.0") && !is_old("newest"));
    }
}

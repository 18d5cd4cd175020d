//! What `timeseries(document, name)` answers scripts: entries and how long the series is.
//!
//! Called by `scripted` for queries and by `database` for patches, which read inside of their
//! transaction.

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Array, ArrayWriter, Value, write_object};
use jackdaw_script::HostError;

use crate::series::parse_time;
use crate::source::{SeriesEntry, SeriesExtent};

/// Entries that one `get()` returns at most: they are copied into the memory of the script.
pub const SCRIPT_SERIES_ENTRIES_MAX: usize = 10_000;
/// What separates the name of a policy from that of its series.
const POLICY_SEPARATOR: char = '@';
const TICKS_PER_MILLISECOND: i64 = 10_000;
/// Start and end of a series that is not there.
const NO_TIME: &str = "0001-01-01T00:00:00.0000000";

/// The name of the series, the second argument of every function of time series.
///
/// # Errors
/// [`HostError::Refused`] when it is missing.
pub fn script_series_name<'a>(arguments: Array<'a>) -> Result<&'a str, HostError> {
    let name = arguments.get(1).and_then(|name| name.as_str());
    let name = name.filter(|name| !name.is_empty());
    name.ok_or_else(|| HostError::Refused("timeseries() needs a name".to_owned()))
}

/// The times of `get(from, to)`, both included; everything without them.
///
/// # Errors
/// [`HostError::Refused`] when one is no time.
pub fn script_series_range(arguments: Array<'_>) -> Result<(i64, i64), HostError> {
    let argument = |slot: usize| arguments.get(slot).unwrap_or(Value::Null);
    let from = script_series_time(argument(2))?.unwrap_or(i64::MIN);
    let to = script_series_time(argument(3))?.unwrap_or(i64::MAX);
    Ok((from, to))
}

/// A date as text, or milliseconds since 1970; null is none.
///
/// # Errors
/// [`HostError::Refused`] when it is neither.
pub fn script_series_time(value: Value<'_>) -> Result<Option<i64>, HostError> {
    let parsed = match value {
        Value::Null => return Ok(None),
        Value::String(text) => {
            let parsed = parse_time(text.trim());
            return parsed
                .map(Some)
                .map_err(|error| HostError::Refused(error.to_string()));
        }
        value => value.as_i64(),
    };
    let wrong = || HostError::Refused(format!("{} is not a time", value.to_json()));
    Ok(Some(parsed.ok_or_else(wrong)?))
}

/// Appends an entry of the series `name` as scripts see it.
pub fn push_script_entry(name: &str, entry: SeriesEntry<'_>, list: &mut ArrayWriter<'_>) {
    list.object(|row| {
        row.string("Timestamp", &moment(entry.at));
        match entry.tag {
            Some(tag) => row.string("Tag", tag),
            None => row.null("Tag"),
        }
        row.array("Values", |values| {
            entry.values.iter().for_each(|value| values.double(*value));
        });
        row.bool("IsRollup", name.contains(POLICY_SEPARATOR));
    });
}

/// The refusal of a `get()` over more than [`SCRIPT_SERIES_ENTRIES_MAX`] entries.
#[must_use]
pub fn too_many_entries() -> HostError {
    HostError::Refused(format!(
        "get() returns at most {SCRIPT_SERIES_ENTRIES_MAX} entries: ask for a shorter range"
    ))
}

/// The answer of `getStats()` as JSON.
#[must_use]
pub fn script_series_stats(extent: Option<SeriesExtent>) -> Vec<u8> {
    let mut json = Vec::new();
    write_object(&mut json, |object| {
        let (start, end) = match extent {
            Some(extent) => (moment(extent.first), moment(extent.last)),
            None => (NO_TIME.to_owned(), NO_TIME.to_owned()),
        };
        let count = extent.map_or(0, |extent| extent.count);
        object.string("Start", &start);
        object.string("End", &end);
        object.long("Count", i64::try_from(count).unwrap_or(i64::MAX));
    });
    json
}

fn moment(milliseconds: i64) -> String {
    UnixTicks(milliseconds.saturating_mul(TICKS_PER_MILLISECOND)).to_string()
}

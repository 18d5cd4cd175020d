//! `timeseries(document, name)` in patches: `append`, `increment`, `delete`, `get`, `getStats`.
//!
//! Called by `patch` inside the transaction, so a script reads what it wrote. Arguments of the
//! script come behind id and name.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Array, Value, write_array, write_object};
use jackdaw_script::HostError;

use super::apply::Writer;
use super::counters::counter_key;
use super::patch::host_error;
use super::series::{SeriesRecord, decode_entry, entry_key, is_incremental, key_time};
use super::trees::{SERIES, SERIES_ENTRIES};
use crate::command::{SeriesAppend, SeriesChange};
use crate::error::{ReadError, WriteError};
use crate::series_policies::SEPARATOR;
use jackdaw_query::parse_time;

/// What scripts call, as it comes to the host.
pub(super) const FUNCTIONS: [&str; 5] = [
    "timeseries.append",
    "timeseries.increment",
    "timeseries.delete",
    "timeseries.get",
    "timeseries.getStats",
];
/// Entries that one `get()` gives at most: they are copied into the script's memory.
const ENTRIES_MAX: usize = 10_000;
const TICKS_PER_MILLISECOND: i64 = 10_000;

/// Carries out one of [`FUNCTIONS`]; gives JSON.
pub(super) fn call(
    writer: &mut Writer<'_>,
    function: &str,
    id: &str,
    arguments: Array<'_>,
) -> Result<Vec<u8>, HostError> {
    let refused = |why: String| HostError::Refused(why);
    let name = arguments.get(1).and_then(|name| name.as_str());
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| refused("timeseries() needs a name".to_owned()))?;
    let argument = |slot: usize| arguments.get(slot + 2).unwrap_or(Value::Null);
    let mut change = SeriesChange::default();
    match function {
        "timeseries.append" => {
            let at = time(argument(0))?;
            change.appends.push(SeriesAppend {
                at: at.ok_or_else(|| refused("append() needs a time".to_owned()))?,
                values: numbers(argument(1))?,
                tag: argument(2).as_str().map(str::to_owned),
            });
        }
        "timeseries.increment" => {
            if !is_incremental(name) {
                return Err(refused(format!(
                    "increment() is for series whose names begin with 'INC:', not for '{name}'"
                )));
            }
            let now = writer.now.0.div_euclid(TICKS_PER_MILLISECOND);
            let at = time(argument(0))?.unwrap_or(now);
            change.increments.push((at, numbers(argument(1))?));
        }
        "timeseries.delete" => {
            let range = (time(argument(0))?, time(argument(1))?);
            change.deletes.push(range);
        }
        "timeseries.get" => {
            let (from, to) = (time(argument(0))?, time(argument(1))?);
            return entries(writer, id, name, (from, to));
        }
        _ => return statistics(writer, id, name).map_err(host_error),
    }
    let change = |writer: &mut Writer<'_>| writer.change_series(id, name, &change);
    writer.without_results(change).map_err(host_error)?;
    Ok(b"null".to_vec())
}

/// A date as text, or milliseconds since 1970; null is none.
fn time(value: Value<'_>) -> Result<Option<i64>, HostError> {
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

/// One number, or several.
fn numbers(value: Value<'_>) -> Result<Vec<f64>, HostError> {
    let wrong = || HostError::Refused("values of a time series are numbers".to_owned());
    match value {
        Value::Array(array) => {
            let values = array.iter().map(|value| value.as_f64().ok_or_else(wrong));
            values.collect()
        }
        value => Ok(vec![value.as_f64().ok_or_else(wrong)?]),
    }
}

/// The record of a series of the document with this id, copied.
fn find(
    writer: &mut Writer<'_>,
    id: &str,
    name: &str,
) -> Result<Option<(u64, u64, i64, i64)>, WriteError> {
    let Some(existing) = writer.find(&lowercase(id))? else {
        return Ok(None);
    };
    let series = writer.transaction.tree_mut(SERIES)?;
    let bytes = series.get(&counter_key(existing.number, name))?;
    let record = bytes.map(SeriesRecord::decode).transpose()?;
    Ok(record.map(|record| (record.series, record.count, record.first, record.last)))
}

fn entries(
    writer: &mut Writer<'_>,
    id: &str,
    name: &str,
    (from, to): (Option<i64>, Option<i64>),
) -> Result<Vec<u8>, HostError> {
    let found = read(writer, id, name, (from, to)).map_err(host_error)?;
    if found.len() > ENTRIES_MAX {
        return Err(HostError::Refused(format!(
            "get() gives {ENTRIES_MAX} entries at most: ask for a shorter range"
        )));
    }
    let is_rolled_up = name.contains(SEPARATOR);
    let mut json = Vec::new();
    write_array(&mut json, |list| {
        for entry in &found {
            list.object(|row| {
                row.string("Timestamp", &moment(entry.at));
                match &entry.tag {
                    Some(tag) => row.string("Tag", tag),
                    None => row.null("Tag"),
                }
                row.array("Values", |values| {
                    entry.values.iter().for_each(|value| values.double(*value));
                });
                row.bool("IsRollup", is_rolled_up);
            });
        }
    });
    Ok(json)
}

/// Entries of a range, one more than may be given at most.
fn read(
    writer: &mut Writer<'_>,
    id: &str,
    name: &str,
    (from, to): (Option<i64>, Option<i64>),
) -> Result<Vec<SeriesAppend>, WriteError> {
    let (from, to) = (from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX));
    let series = find(writer, id, name)?.filter(|_| from <= to);
    let entries = writer.transaction.tree(SERIES_ENTRIES)?;
    let (Some((series, ..)), Some(entries)) = (series, entries) else {
        return Ok(Vec::new());
    };
    let (start, end) = (entry_key(series, from), entry_key(series, to));
    let range = entries.range(&start[..]..=&end[..])?.take(ENTRIES_MAX + 1);
    let found = range.map(|entry| {
        let (key, value) = entry?;
        let (values, tag) = decode_entry(value)?;
        Ok(SeriesAppend {
            at: key_time(&key.to_vec())?,
            values,
            tag: tag.map(str::to_owned),
        })
    });
    Ok(found.collect::<Result<_, ReadError>>()?)
}

fn statistics(writer: &mut Writer<'_>, id: &str, name: &str) -> Result<Vec<u8>, WriteError> {
    let found = find(writer, id, name)?;
    let mut json = Vec::new();
    write_object(&mut json, |object| match found {
        Some((_, count, first, last)) => {
            object.string("Start", &moment(first));
            object.string("End", &moment(last));
            object.long("Count", i64::try_from(count).unwrap_or(i64::MAX));
        }
        None => {
            object.null("Start");
            object.null("End");
            object.long("Count", 0);
        }
    });
    Ok(json)
}

fn moment(milliseconds: i64) -> String {
    UnixTicks(milliseconds.saturating_mul(TICKS_PER_MILLISECOND)).to_string()
}

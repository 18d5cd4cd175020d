//! `timeseries(document, name)` in patches: `append`, `increment`, `delete`, `get`, `getStats`.
//!
//! Called by `patch` inside the transaction, so a script reads what it wrote. Arguments of the
//! script come behind id and name.

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{Array, Value, write_array};
use jackdaw_query::{
    SCRIPT_SERIES_ENTRIES_MAX, SeriesEntry, SeriesExtent, push_script_entry, script_series_name,
    script_series_range, script_series_stats, script_series_time, too_many_entries,
};
use jackdaw_script::HostError;

use super::apply::Writer;
use super::counters::counter_key;
use super::patch::host_error;
use super::series::{SeriesRecord, decode_entry, entry_key, is_incremental, key_time};
use super::trees::{SERIES, SERIES_ENTRIES};
use crate::command::{SeriesAppend, SeriesChange};
use crate::error::{ReadError, WriteError};

/// What scripts call, as it comes to the host.
pub(super) const FUNCTIONS: [&str; 5] = [
    "timeseries.append",
    "timeseries.increment",
    "timeseries.delete",
    "timeseries.get",
    "timeseries.getStats",
];
const TICKS_PER_MILLISECOND: i64 = 10_000;

/// Carries out one of [`FUNCTIONS`]; gives JSON.
pub(super) fn call(
    writer: &mut Writer<'_>,
    function: &str,
    id: &str,
    arguments: Array<'_>,
) -> Result<Vec<u8>, HostError> {
    let refused = |why: String| HostError::Refused(why);
    let name = script_series_name(arguments)?;
    let argument = |slot: usize| arguments.get(slot + 2).unwrap_or(Value::Null);
    let mut change = SeriesChange::default();
    match function {
        "timeseries.append" => {
            let at = script_series_time(argument(0))?;
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
            let at = script_series_time(argument(0))?.unwrap_or(now);
            change.increments.push((at, numbers(argument(1))?));
        }
        "timeseries.delete" => {
            let range = (
                script_series_time(argument(0))?,
                script_series_time(argument(1))?,
            );
            change.deletes.push(range);
        }
        "timeseries.get" => {
            let range = script_series_range(arguments)?;
            return entries(writer, id, name, range);
        }
        _ => {
            let found = find(writer, id, name).map_err(host_error)?;
            let extent = found.map(|(_, count, first, last)| SeriesExtent { first, last, count });
            return Ok(script_series_stats(extent));
        }
    }
    let change = |writer: &mut Writer<'_>| writer.change_series(id, name, &change);
    writer.without_results(change).map_err(host_error)?;
    Ok(b"null".to_vec())
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
    range: (i64, i64),
) -> Result<Vec<u8>, HostError> {
    let found = read(writer, id, name, range).map_err(host_error)?;
    if found.len() > SCRIPT_SERIES_ENTRIES_MAX {
        return Err(too_many_entries());
    }
    let mut json = Vec::new();
    write_array(&mut json, |list| {
        for entry in &found {
            let entry = SeriesEntry {
                at: entry.at,
                values: &entry.values,
                tag: entry.tag.as_deref(),
            };
            push_script_entry(name, entry, list);
        }
    });
    Ok(json)
}

/// Entries of a range, one more than may be given at most.
fn read(
    writer: &mut Writer<'_>,
    id: &str,
    name: &str,
    (from, to): (i64, i64),
) -> Result<Vec<SeriesAppend>, WriteError> {
    let series = find(writer, id, name)?.filter(|_| from <= to);
    let entries = writer.transaction.tree(SERIES_ENTRIES)?;
    let (Some((series, ..)), Some(entries)) = (series, entries) else {
        return Ok(Vec::new());
    };
    let (start, end) = (entry_key(series, from), entry_key(series, to));
    let range = entries
        .range(&start[..]..=&end[..])?
        .take(SCRIPT_SERIES_ENTRIES_MAX + 1);
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

//! What a program goes over, as a list of values.

use bumpalo::Bump;

use super::value::{Date, Record, Value};
use crate::index::item::{IndexedDocument, IndexedSeries};

const COUNTER: [&str; 3] = ["DocumentId", "Name", "Value"];
const SERIES: [&str; 6] = ["DocumentId", "Name", "Entries", "Count", "Start", "End"];
const ENTRY: [&str; 4] = ["Timestamp", "Tag", "Values", "Value"];

/// A list of the one document, counter or series.
pub(crate) fn root_of<'a>(document: IndexedDocument<'a>, arena: &'a Bump) -> Value<'a> {
    let one = match document {
        IndexedDocument::Document(document) => Value::Document(arena.alloc(document)),
        IndexedDocument::Counter(counter) => {
            let values = arena.alloc_slice_copy(&[
                Value::Text(counter.document_id),
                Value::Text(counter.name),
                Value::Long(counter.value),
            ]);
            Value::Record(Record::made(&COUNTER, values))
        }
        IndexedDocument::Series(series) => of_series(series, arena),
    };
    Value::List(arena.alloc_slice_copy(&[one]))
}

/// A list of the entries of a group.
pub(crate) fn root_of_entries<'a>(
    entries: &[jackdaw_document::Value<'a>],
    arena: &'a Bump,
) -> Value<'a> {
    let items = entries.iter().map(|entry| Value::of(*entry));
    Value::List(arena.alloc_slice_fill_iter(items))
}

fn of_series<'a>(series: IndexedSeries<'a>, arena: &'a Bump) -> Value<'a> {
    let entries = series.entries.iter().map(|entry| {
        let numbers = entry.values.iter().map(|number| Value::Double(*number));
        let numbers = arena.alloc_slice_fill_iter(numbers);
        let values = arena.alloc_slice_copy(&[
            date(entry.timestamp.0),
            entry.tag.map_or(Value::Missing, Value::Text),
            Value::List(numbers),
            numbers.first().copied().unwrap_or(Value::Missing),
        ]);
        Value::Record(Record::made(&ENTRY, values))
    });
    let entries = arena.alloc_slice_fill_iter(entries);
    let values = arena.alloc_slice_copy(&[
        Value::Text(series.document_id),
        Value::Text(series.name),
        Value::List(entries),
        Value::Long(i64::try_from(series.entries.len()).unwrap_or(i64::MAX)),
        date(series.start().0),
        date(series.end().0),
    ]);
    Value::Record(Record::made(&SERIES, values))
}

/// Times of series are of UTC.
fn date<'a>(ticks: i64) -> Value<'a> {
    Value::Date(Date {
        ticks,
        is_utc: true,
    })
}

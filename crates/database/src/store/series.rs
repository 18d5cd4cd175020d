//! Time series: values of a document over time, apart from the document.
//!
//! A series has a number of its own; each entry is an entry of one tree under series number and
//! time, so that ranges are read in order and changed without reading others. Times are cut to
//! milliseconds. Bytes: docs/format.md, "Time series".
//!
//! Invariants:
//! - A series without entries does not exist.
//! - Count, first and last time in the record of a series are those of its entries.
//! - What a change makes due by policies is entered with it (`series_due`).

use jackdaw_base::lowercase::lowercase;

use super::apply::Writer;
use super::counters::{check_name, counter_key};
use super::series_due::Touched;
use super::trees::{SERIES, SERIES_ENTRIES, number_at, number_key};
use crate::changes::BesideChange;
use crate::command::{CommandResult, SeriesAppend, SeriesChange};
use crate::error::{ReadError, WriteError};
use crate::series_policies::{SEPARATOR, SeriesPlace};
use jackdaw_model::{DocumentNumber, Etag};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 48;
/// Most values of an entry that clients give; rolled up ones have six for each.
pub(super) const VALUES_MAX: usize = 32;
/// Longest tag in bytes: its length is stored in one byte.
const TAG_BYTES_MAX: usize = 255;
/// What names of series that are added to begin with.
const INCREMENTAL: &str = "INC:";

/// The record of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeriesRecord<'a> {
    pub(crate) series: u64,
    pub(crate) count: u64,
    /// Milliseconds since 1970.
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// Of its last change.
    pub(crate) etag: Etag,
    /// In the spelling of its first use.
    pub(crate) name: &'a str,
}

impl<'a> SeriesRecord<'a> {
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<SeriesRecord<'a>, ReadError> {
        let decoded = || {
            let (head, name) = bytes.split_at_checked(HEAD_BYTES)?;
            (head[0] == VERSION).then_some(())?;
            let number = |at: usize| number_at(head, at);
            Some(SeriesRecord {
                series: number(8)?,
                count: number(16)?,
                first: number(24)?.cast_signed(),
                last: number(32)?.cast_signed(),
                etag: Etag(number(40)?),
                name: std::str::from_utf8(name).ok()?,
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("the record of a time series"))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.name.len());
        bytes.extend_from_slice(&[VERSION, 0, 0, 0, 0, 0, 0, 0]);
        for part in [self.series, self.count] {
            bytes.extend_from_slice(&part.to_le_bytes());
        }
        for part in [self.first, self.last] {
            bytes.extend_from_slice(&part.to_le_bytes());
        }
        bytes.extend_from_slice(&self.etag.0.to_le_bytes());
        bytes.extend_from_slice(self.name.as_bytes());
        bytes
    }
}

/// The key of an entry; keys are in the order of time.
pub(crate) fn entry_key(series: u64, milliseconds: i64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&series.to_be_bytes());
    // Flipping the sign makes the order of bytes that of signed numbers.
    let ordered = milliseconds.cast_unsigned() ^ (1 << 63);
    key[8..].copy_from_slice(&ordered.to_be_bytes());
    key
}

/// The time in the key of an entry.
pub(crate) fn key_time(key: &[u8]) -> Result<i64, ReadError> {
    let part = key.get(8..16).and_then(<[u8]>::first_chunk);
    let part = part.ok_or_else(|| ReadError::damaged("the key of a time series entry"))?;
    Ok((u64::from_be_bytes(*part) ^ (1 << 63)).cast_signed())
}

/// The value of an entry: number of values, length of the tag, values, tag.
pub(crate) fn encode_entry(values: &[f64], tag: Option<&str>) -> Result<Vec<u8>, WriteError> {
    let refused = |why: String| Err(WriteError::InvalidEntry { why });
    if values.is_empty() || values.len() > VALUES_MAX {
        let count = values.len();
        return refused(format!(
            "an entry has 1 to {VALUES_MAX} values, but this has {count}"
        ));
    }
    if values.iter().any(|value| value.is_nan()) {
        return refused("NaN cannot be one of its values".to_owned());
    }
    let tag = tag.unwrap_or("");
    let Ok(tag_len) = u8::try_from(tag.len()) else {
        let len = tag.len();
        return refused(format!(
            "a tag has up to {TAG_BYTES_MAX} bytes, but this has {len}"
        ));
    };
    let mut bytes = encode_values(values, tag_len);
    bytes.extend_from_slice(tag.as_bytes());
    Ok(bytes)
}

/// The value of an entry of a rolled up series.
pub(super) fn encode_rolled_up(values: &[f64]) -> Vec<u8> {
    encode_values(values, 0)
}

fn encode_values(values: &[f64], tag_len: u8) -> Vec<u8> {
    let count = u8::try_from(values.len()).expect("at most six for each of 32 values");
    let mut bytes = vec![count, tag_len];
    for value in values {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// Values and tag of an entry.
pub(crate) fn decode_entry(bytes: &[u8]) -> Result<(Vec<f64>, Option<&str>), ReadError> {
    let decoded = || {
        let ([count, tag_len], rest) = bytes.split_first_chunk()?;
        let (values, tag) = rest.split_at_checked(usize::from(*count) * 8)?;
        (tag.len() == usize::from(*tag_len)).then_some(())?;
        let (values, _) = values.as_chunks::<8>();
        let values = values
            .iter()
            .map(|value| f64::from_le_bytes(*value))
            .collect();
        let tag = std::str::from_utf8(tag).ok()?;
        Some((values, (!tag.is_empty()).then_some(tag)))
    };
    decoded().ok_or_else(|| ReadError::damaged("a time series entry"))
}

/// A series while it is changed.
#[derive(Debug)]
pub(super) struct OpenSeries {
    pub(super) key: Vec<u8>,
    pub(super) name: String,
    pub(super) series: u64,
    pub(super) count: u64,
    pub(super) first: i64,
    last: i64,
    pub(super) is_new: bool,
    /// What the changes make due; `None` when no policy is about the series.
    touched: Option<Touched>,
}

impl OpenSeries {
    /// Notes from now on what changes make due.
    pub(super) fn note_for(&mut self, place: Option<&SeriesPlace<'_>>) {
        let first = (!self.is_new).then_some(self.first);
        self.touched = place.map(|place| Touched::new(place, first));
    }

    fn note(&mut self, at: i64) {
        if let Some(touched) = &mut self.touched {
            touched.note(at);
        }
    }
}

/// Whether a series is one that is added to.
pub(super) fn is_incremental(name: &str) -> bool {
    let start = name.get(..INCREMENTAL.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(INCREMENTAL)) && !name.contains(SEPARATOR)
}

/// What is told of a change of a series to those who watch.
fn news(
    id: &str,
    collection: String,
    name: &str,
    change: &SeriesChange,
    etag: Etag,
) -> BesideChange {
    let stored = change.appends.iter().map(|append| append.at);
    let times = stored.chain(change.increments.iter().map(|(at, _)| *at));
    let (puts, deletes) = (times.clone().next().is_some(), !change.deletes.is_empty());
    let first = change.deletes.iter().map(|(from, _)| *from);
    let last = change.deletes.iter().map(|(_, to)| *to);
    BesideChange::Series {
        document: id.to_owned(),
        collection,
        name: name.to_owned(),
        kind: match (puts, deletes) {
            (true, true) => "Mixed",
            (false, true) => "Delete",
            _ => "Put",
        },
        // An open end is beyond every time.
        from: times.clone().map(Some).chain(first).min().flatten(),
        to: {
            let ends = times.map(Some).chain(last).map(|to| (to.is_none(), to));
            ends.max().and_then(|(_, to)| to)
        },
        etag,
    }
}

impl Writer<'_> {
    /// Names of the series of a document, in the order of their lower case, with count, first and
    /// last time.
    pub(super) fn series_of(
        &mut self,
        number: DocumentNumber,
    ) -> Result<Vec<(String, u64, i64, i64)>, WriteError> {
        let Some(series) = self.transaction.tree(SERIES)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for entry in series.prefix(&number_key(number))? {
            let record = SeriesRecord::decode(entry?.1)?;
            found.push((
                record.name.to_owned(),
                record.count,
                record.first,
                record.last,
            ));
        }
        Ok(found)
    }

    /// Carries out a command about one series: deletes, then appends, then increments.
    pub(super) fn change_series(
        &mut self,
        id: &str,
        name: &str,
        change: &SeriesChange,
    ) -> Result<(), WriteError> {
        let owner = self.owner(id, "time series")?;
        check_name("time series", name)?;
        let mut open = self.open_series(owner.number, name)?;
        let stores = !change.appends.is_empty() || !change.increments.is_empty();
        if open.is_new && stores && name.contains(SEPARATOR) {
            let why = format!(
                "the name '{name}' holds '{SEPARATOR}': only policies make such series, which are \
                 rolled up"
            );
            return Err(WriteError::InvalidEntry { why });
        }
        self.note_due(owner.head.collection, &mut open)?;
        if is_incremental(name) && !change.appends.is_empty() {
            let why = format!("'{name}' is an incremental series: increment it instead");
            return Err(WriteError::InvalidEntry { why });
        }
        for (from, to) in &change.deletes {
            self.delete_entries(&mut open, from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX))?;
        }
        for append in &change.appends {
            self.append(&mut open, append)?;
        }
        for (at, values) in &change.increments {
            self.increment(&mut open, *at, values)?;
        }
        self.close_series(owner.number, &mut open)?;
        let collection = self.collection_name(owner.head.collection)?;
        self.applied.beside.push(news(
            id,
            collection,
            &open.name,
            change,
            self.state.last_etag,
        ));
        let change_vector = self.origin.change_vector(self.state.last_etag);
        let slot = self.push_result(CommandResult::Series {
            id: id.to_owned(),
            change_vector,
        });
        if let Some(slot) = slot {
            self.incomplete.push((slot, owner.number));
        }
        Ok(())
    }

    /// Copies entries of one series into another.
    pub(super) fn copy_series(
        &mut self,
        from: (&str, &str),
        to: (&str, &str),
        range: (Option<i64>, Option<i64>),
    ) -> Result<(), WriteError> {
        let source = self.owner(from.0, "time series")?;
        let open = self.open_series(source.number, from.1)?;
        let start = entry_key(open.series, range.0.unwrap_or(i64::MIN));
        let end = entry_key(open.series, range.1.unwrap_or(i64::MAX));
        let mut appends = Vec::new();
        if let Some(entries) = self.transaction.tree(SERIES_ENTRIES)? {
            for entry in entries.range(&start[..]..=&end[..])? {
                let (key, value) = entry?;
                let (values, tag) = decode_entry(value)?;
                appends.push(SeriesAppend {
                    at: key_time(&key.to_vec())?,
                    values,
                    tag: tag.map(str::to_owned),
                });
            }
        }
        let change = SeriesChange {
            appends,
            ..SeriesChange::default()
        };
        self.change_series(to.0, to.1, &change)
    }

    pub(super) fn open_series(
        &mut self,
        number: DocumentNumber,
        name: &str,
    ) -> Result<OpenSeries, WriteError> {
        let key = counter_key(number, name);
        let series = self.transaction.tree_mut(SERIES)?;
        if let Some(bytes) = series.get(&key)? {
            let record = SeriesRecord::decode(bytes)?;
            return Ok(OpenSeries {
                name: record.name.to_owned(),
                series: record.series,
                count: record.count,
                first: record.first,
                last: record.last,
                is_new: false,
                touched: None,
                key,
            });
        }
        // Series share the numbers of documents, so that none is used twice.
        self.state.last_number.0 += 1;
        Ok(OpenSeries {
            key,
            name: name.to_owned(),
            series: self.state.last_number.0,
            count: 0,
            first: i64::MAX,
            last: i64::MIN,
            is_new: true,
            touched: None,
        })
    }

    /// Stores the record of a changed series.
    pub(super) fn close_series(
        &mut self,
        number: DocumentNumber,
        open: &mut OpenSeries,
    ) -> Result<(), WriteError> {
        if let Some(touched) = open.touched.take() {
            self.enter_touched(open, touched)?;
        }
        self.state.last_etag.0 += 1;
        let etag = self.state.last_etag;
        if open.count == 0 {
            if !open.is_new {
                self.transaction.tree_mut(SERIES)?.delete(&open.key)?;
                self.touch(number);
            }
            return Ok(());
        }
        let record = SeriesRecord {
            series: open.series,
            count: open.count,
            first: open.first,
            last: open.last,
            etag,
            name: &open.name,
        };
        let mut series = self.transaction.tree_mut(SERIES)?;
        series.put(&open.key, &record.encode())?;
        if open.is_new {
            self.touch(number);
        }
        Ok(())
    }

    fn append(&mut self, open: &mut OpenSeries, append: &SeriesAppend) -> Result<(), WriteError> {
        let bytes = encode_entry(&append.values, append.tag.as_deref())?;
        self.put_entry(open, append.at, &bytes)
    }

    /// Stores an entry in its encoded form.
    pub(super) fn put_entry(
        &mut self,
        open: &mut OpenSeries,
        at: i64,
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        let mut entries = self.transaction.tree_mut(SERIES_ENTRIES)?;
        let key = entry_key(open.series, at);
        let is_there = entries.get(&key)?.is_some();
        entries.put(&key, bytes)?;
        open.count += u64::from(!is_there);
        open.first = open.first.min(at);
        open.last = open.last.max(at);
        open.note(at);
        Ok(())
    }

    /// Adds to the values of an entry, which is made when it is missing.
    fn increment(
        &mut self,
        open: &mut OpenSeries,
        at: i64,
        delta: &[f64],
    ) -> Result<(), WriteError> {
        let entries = self.transaction.tree_mut(SERIES_ENTRIES)?;
        let stored = entries.get(&entry_key(open.series, at))?;
        let stored = stored.map(decode_entry).transpose()?;
        let mut values = stored.map_or(Vec::new(), |(values, _)| values);
        if values.len() < delta.len() {
            values.resize(delta.len(), 0.0);
        }
        for (value, delta) in values.iter_mut().zip(delta) {
            *value += delta;
        }
        let append = SeriesAppend {
            at,
            values,
            tag: None,
        };
        self.append(open, &append)
    }

    fn delete_entries(
        &mut self,
        open: &mut OpenSeries,
        from: i64,
        to: i64,
    ) -> Result<(), WriteError> {
        if open.count == 0 || from > to {
            return Ok(());
        }
        let keys = self.entry_keys(open.series, from, to)?;
        self.delete_keys(open, &keys)
    }

    /// Deletes entries that are there, by their keys.
    pub(super) fn delete_keys(
        &mut self,
        open: &mut OpenSeries,
        keys: &[Vec<u8>],
    ) -> Result<(), WriteError> {
        if keys.is_empty() {
            return Ok(());
        }
        for key in keys {
            self.transaction.tree_mut(SERIES_ENTRIES)?.delete(key)?;
            open.note(key_time(key)?);
        }
        open.count = open
            .count
            .checked_sub(keys.len() as u64)
            .ok_or_else(|| ReadError::damaged("the count of a time series"))?;
        let Some(entries) = self.transaction.tree(SERIES_ENTRIES)? else {
            return Ok(());
        };
        let mut left = entries.prefix(&open.series.to_be_bytes())?;
        let time = |entry: Option<Result<(jackdaw_storage::Key<'_>, _), _>>| match entry {
            Some(Ok((key, _))) => key_time(&key.to_vec()).map(Some),
            Some(Err(error)) => Err(ReadError::Storage(error)),
            None => Ok(None),
        };
        let first = time(left.next())?;
        open.first = first.unwrap_or(i64::MAX);
        open.last = time(left.next_back())?.or(first).unwrap_or(i64::MIN);
        Ok(())
    }

    /// Keys of the entries of a series from `from` to `to`, both included.
    pub(super) fn entry_keys(
        &mut self,
        series: u64,
        from: i64,
        to: i64,
    ) -> Result<Vec<Vec<u8>>, WriteError> {
        let Some(entries) = self.transaction.tree(SERIES_ENTRIES)? else {
            return Ok(Vec::new());
        };
        let (start, end) = (entry_key(series, from), entry_key(series, to));
        let range = entries.range(&start[..]..=&end[..])?;
        let keys = range.map(|entry| Ok(entry?.0.to_vec()));
        keys.collect::<Result<_, ReadError>>()
            .map_err(WriteError::from)
    }

    /// Removes all series of a document. What is due of them asks for nothing then.
    pub(super) fn remove_series(&mut self, number: DocumentNumber) -> Result<(), WriteError> {
        for (name, ..) in self.series_of(number)? {
            let open = self.open_series(number, &lowercase(&name))?;
            for key in self.entry_keys(open.series, i64::MIN, i64::MAX)? {
                self.transaction.tree_mut(SERIES_ENTRIES)?.delete(&key)?;
            }
            self.transaction.tree_mut(SERIES)?.delete(&open.key)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_entries_read_back_and_damage_is_an_error() {
        let record = SeriesRecord {
            series: 3,
            count: 2,
            first: -5,
            last: 9,
            etag: Etag(7),
            name: "Heartrate",
        };
        let bytes = record.encode();
        assert_eq!(SeriesRecord::decode(&bytes).unwrap(), record);
        assert!(SeriesRecord::decode(&bytes[..40]).is_err());
        let entry = encode_entry(&[1.5, -2.0], Some("watch")).unwrap();
        assert_eq!(entry.len(), 2 + 16 + 5);
        assert_eq!(
            decode_entry(&entry).unwrap(),
            (vec![1.5, -2.0], Some("watch"))
        );
        assert!(decode_entry(&entry[..10]).is_err());
        assert!(encode_entry(&[f64::NAN], None).is_err());
        assert!(encode_entry(&[0.0; 33], None).is_err());
        assert!(encode_entry(&[0.0], Some(&"t".repeat(256))).is_err());
    }

    #[test]
    fn keys_are_in_the_order_of_time() {
        let times = [i64::MIN, -1, 0, 1, i64::MAX];
        let keys = times.map(|time| entry_key(1, time));
        assert!(keys.is_sorted());
        for (key, time) in keys.iter().zip(times) {
            assert_eq!(key_time(key).unwrap(), time);
        }
    }
}

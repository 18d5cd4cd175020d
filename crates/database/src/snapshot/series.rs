//! Reading time series.

use super::view::Snapshot;
use crate::error::ReadError;
use crate::series_policies::SeriesPolicies;
use crate::store::trees::{SERIES, SERIES_ENTRIES, SETTINGS, number_key, tree};
use crate::store::{
    SERIES_POLICIES, SeriesRecord, counter_key, decode_series_entry, entry_key, has_due_series,
    key_time,
};
use jackdaw_model::DocumentNumber;

/// A time series of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesInfo {
    /// Its name in the spelling of its first use.
    pub name: String,
    /// Number of entries.
    pub count: u64,
    /// Time of the first entry, in milliseconds since 1970.
    pub first: i64,
    /// Time of the last entry.
    pub last: i64,
    /// Etag of its last change.
    pub etag: jackdaw_model::Etag,
    series: u64,
}

/// An entry of a time series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesEntry {
    /// Milliseconds since 1970.
    pub at: i64,
    /// One to 32 values; six for each value of what it was made of when it is rolled up.
    pub values: Vec<f64>,
    /// What somebody wrote beside it.
    pub tag: Option<String>,
}

impl Snapshot {
    /// The time series of a document with this name, in any letter case.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn series(
        &self,
        number: DocumentNumber,
        name: &str,
    ) -> Result<Option<SeriesInfo>, ReadError> {
        let Some(series) = self.transaction.tree(SERIES)? else {
            return Ok(None);
        };
        let bytes = series.get(&counter_key(number, name))?;
        bytes.map(info).transpose()
    }

    /// The time series of the document with this id, both in any letter case.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub(crate) fn series_of(&self, id: &str, name: &str) -> Result<Option<SeriesInfo>, ReadError> {
        match self.number(id)? {
            Some(number) => self.series(number, name),
            None => Ok(None),
        }
    }

    /// All time series of a document, in the order of their lower-cased names.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn all_series(&self, number: DocumentNumber) -> Result<Vec<SeriesInfo>, ReadError> {
        let Some(series) = self.transaction.tree(SERIES)? else {
            return Ok(Vec::new());
        };
        let entries = series.prefix(&number_key(number))?;
        entries.map(|entry| info(entry?.1)).collect()
    }

    /// Entries of a series from `from` to `to`, both included, in milliseconds since 1970, by time;
    /// from either end.
    ///
    /// # Errors
    /// See [`ReadError`]; also while iterating.
    pub fn series_entries(
        &self,
        series: &SeriesInfo,
        from: i64,
        to: i64,
    ) -> Result<impl DoubleEndedIterator<Item = Result<SeriesEntry, ReadError>> + '_, ReadError>
    {
        let (start, end) = (entry_key(series.series, from), entry_key(series.series, to));
        let range = match self.transaction.tree(SERIES_ENTRIES)? {
            Some(entries) if from <= to => Some(entries.range(&start[..]..=&end[..])?),
            _ => None,
        };
        Ok(range.into_iter().flatten().map(|entry| {
            let (key, value) = entry?;
            let (values, tag) = decode_series_entry(value)?;
            Ok(SeriesEntry {
                at: key_time(&key.to_vec())?,
                values,
                tag: tag.map(str::to_owned),
            })
        }))
    }

    /// The policies of time series in force; none when that was never said.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn series_policies(&self) -> Result<SeriesPolicies, ReadError> {
        let settings = tree(&self.transaction, SETTINGS)?;
        SeriesPolicies::decode(settings.get(SERIES_POLICIES)?)
    }

    /// Whether policies have anything to do until `now`, in milliseconds since 1970.
    pub(crate) fn has_due_series(&self, now: i64) -> Result<bool, ReadError> {
        has_due_series(&self.transaction, now)
    }

    /// Number of time series of all documents. O(1).
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn series_count(&self) -> Result<u64, ReadError> {
        let series = self.transaction.tree(SERIES)?;
        Ok(series.map_or(0, |series| series.len()))
    }
}

fn info(bytes: &[u8]) -> Result<SeriesInfo, ReadError> {
    let record = SeriesRecord::decode(bytes)?;
    Ok(SeriesInfo {
        name: record.name.to_owned(),
        count: record.count,
        first: record.first,
        last: record.last,
        etag: record.etag,
        series: record.series,
    })
}

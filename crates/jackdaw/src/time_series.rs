//! Time series of a document: values by time.

use std::ops::{Bound, RangeBounds};
use std::time::SystemTime;

use jackdaw_database::{Command, SeriesAppend, SeriesChange, SeriesEntry};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::names::{time_of_millis, unix_millis};

/// A time series of one document; see [`Database::time_series`].
///
/// It has one entry for a millisecond: an entry with the same time takes the place of the earlier
/// one. An entry has 1 to 32 values and may have a tag of up to 255 bytes. The first entry of a
/// series gives the document another version.
///
/// ```
/// use std::time::{Duration, SystemTime, UNIX_EPOCH};
///
/// # let db = jackdaw::Database::in_memory()?;
/// # db.put("albums/1", &serde_json::json!({}))?;
/// let listeners = db.time_series("albums/1", "Listeners");
/// let midnight = UNIX_EPOCH + Duration::from_secs(1_700_006_400);
/// listeners.append(midnight, &[17.0])?;
/// listeners.append(midnight + Duration::from_secs(3600), &[12.0])?;
///
/// let entries = listeners.entries(midnight..)?;
/// assert_eq!(entries.len(), 2);
/// assert_eq!((entries[0].at, entries[0].values.as_slice()), (midnight, &[17.0][..]));
/// listeners.delete(..=midnight)?;
/// assert_eq!(listeners.entries(..)?.len(), 1);
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TimeSeries<'db> {
    db: &'db Database,
    id: &'db str,
    name: &'db str,
}

/// An entry of a [`TimeSeries`].
///
/// ```
/// use jackdaw::Entry;
/// use std::time::SystemTime;
///
/// # let db = jackdaw::Database::in_memory()?;
/// # db.put("albums/1", &serde_json::json!({}))?;
/// let entry = Entry::new(SystemTime::now(), [17.0, 3.5]).with_tag("sensors/1");
/// db.time_series("albums/1", "Listeners").append_all([entry])?;
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// Its time, in milliseconds: what is finer is dropped when it is stored.
    pub at: SystemTime,
    /// Its values.
    pub values: Vec<f64>,
    /// What the writer wrote next to them: a source, most often.
    pub tag: Option<String>,
}

impl Entry {
    /// An entry without a tag.
    #[must_use]
    pub fn new(at: SystemTime, values: impl Into<Vec<f64>>) -> Entry {
        Entry {
            at,
            values: values.into(),
            tag: None,
        }
    }

    /// The entry with a tag.
    #[must_use]
    pub fn with_tag(mut self, tag: impl Into<String>) -> Entry {
        self.tag = Some(tag.into());
        self
    }
}

impl<'db> TimeSeries<'db> {
    pub(crate) fn new(db: &'db Database, id: &'db str, name: &'db str) -> TimeSeries<'db> {
        TimeSeries { db, id, name }
    }

    /// Stores an entry without a tag. Durable when it returns.
    ///
    /// # Errors
    /// - [`Error::Missing`]: the document does not exist.
    /// - [`Error::Invalid`]: a value is not a number, there are none or more than 32, or the name
    ///   cannot be one.
    /// - [`Error::Unknown`]: see there. After any other error nothing was written.
    pub fn append(&self, at: SystemTime, values: &[f64]) -> Result<()> {
        self.append_all([Entry::new(at, values)])
    }

    /// Stores entries, all or none of them. Durable when it returns.
    ///
    /// # Errors
    /// As [`TimeSeries::append`].
    pub fn append_all(&self, entries: impl IntoIterator<Item = Entry>) -> Result<()> {
        let appends = entries.into_iter().map(|entry| SeriesAppend {
            at: unix_millis(entry.at),
            values: entry.values,
            tag: entry.tag,
        });
        self.change(SeriesChange {
            appends: appends.collect(),
            ..SeriesChange::default()
        })
    }

    /// Deletes the entries of a range of times. Durable when it returns.
    ///
    /// # Errors
    /// As [`TimeSeries::append`].
    pub fn delete(&self, range: impl RangeBounds<SystemTime>) -> Result<()> {
        let Some((first, last)) = millis_of(&range) else {
            return Ok(());
        };
        self.change(SeriesChange {
            deletes: vec![(first, last)],
            ..SeriesChange::default()
        })
    }

    fn change(&self, change: SeriesChange) -> Result<()> {
        let command = Command::Series {
            id: self.id.to_owned(),
            name: self.name.to_owned(),
            change,
        };
        let results = self.db.inner().batch(vec![command]);
        results.map(drop).map_err(Error::of_write)
    }

    /// The entries of a range of times, by time, in memory. Empty when there is no such series.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn entries(&self, range: impl RangeBounds<SystemTime>) -> Result<Vec<Entry>> {
        let Some((first, last)) = millis_of(&range) else {
            return Ok(Vec::new());
        };
        let snapshot = self.db.snapshot()?;
        let inner = snapshot.inner();
        let Some(number) = inner.number(self.id).map_err(Error::of_read)? else {
            return Ok(Vec::new());
        };
        let Some(series) = inner.series(number, self.name).map_err(Error::of_read)? else {
            return Ok(Vec::new());
        };
        let (first, last) = (first.unwrap_or(i64::MIN), last.unwrap_or(i64::MAX));
        let entries = inner
            .series_entries(&series, first, last)
            .map_err(Error::of_read)?;
        let read = |entry: std::result::Result<SeriesEntry, _>| {
            let SeriesEntry { at, values, tag } = entry.map_err(Error::of_read)?;
            let at = time_of_millis(at);
            Ok(Entry { at, values, tag })
        };
        entries.map(read).collect()
    }
}

/// First and last millisecond of a range; `None` for an empty one.
fn millis_of(range: &impl RangeBounds<SystemTime>) -> Option<(Option<i64>, Option<i64>)> {
    let is_whole = |time: &SystemTime, millis: i64| time_of_millis(millis) == *time;
    let first = match range.start_bound() {
        Bound::Unbounded => None,
        Bound::Excluded(time) => Some(unix_millis(*time).checked_add(1)?),
        Bound::Included(time) => {
            let millis = unix_millis(*time);
            // An entry of the millisecond in which the range begins lies before it.
            Some(if is_whole(time, millis) {
                millis
            } else {
                millis.checked_add(1)?
            })
        }
    };
    let last = match range.end_bound() {
        Bound::Unbounded => None,
        Bound::Included(time) => Some(unix_millis(*time)),
        Bound::Excluded(time) => {
            let millis = unix_millis(*time);
            Some(if is_whole(time, millis) {
                millis.checked_sub(1)?
            } else {
                millis
            })
        }
    };
    match (first, last) {
        (Some(first), Some(last)) if first > last => None,
        range => Some(range),
    }
}

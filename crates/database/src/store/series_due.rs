//! What policies of time series ask for, in one tree in the order of time.
//!
//! A change of a series enters the spans of time that it touched, each under the moment when the
//! span is over, and the moment when the first entry will be too old. [`super::rollup`] takes from
//! the tree what is due. Policies that are new have all entries that are there entered in pieces.
//!
//! Invariants:
//! - Each span with an entry that its next policy has not rolled up yet is in the tree, or behind
//!   the place where entering for new policies goes on.
//! - Each series whose entries are not kept for ever is in the tree, at or before the moment when
//!   its first entry is too old.
//! - What is in the tree and asks for nothing any more is only removed.

use std::rc::Rc;

use jackdaw_model::DocumentNumber;
use jackdaw_query::Period;
use jackdaw_storage::{ReadTransaction, WriteTransaction};

use super::apply::Writer;
use super::series::{OpenSeries, SeriesRecord, entry_key, key_time};
use super::trees::{SERIES, SERIES_DUE, SERIES_ENTRIES, SETTINGS};
use crate::error::{ReadError, WriteError};
use crate::record::CollectionNumber;
use crate::series_policies::{SeriesPlace, SeriesPolicies};

/// Setting: the policies in force.
pub(crate) const SERIES_POLICIES: &[u8] = b"series_policies";
/// Setting: where entering for new policies goes on; missing when that is done.
const ENTERING: &[u8] = b"series_policies_entering";
/// Bytes of a key in front of the name: kind, time, document number.
const HEAD_BYTES: usize = 17;
/// 0001-01-01 and 9999-12-31 in milliseconds since 1970: entries outside are not rolled up.
const YEARS: std::ops::Range<i64> = -62_135_596_800_000..253_402_300_800_000;
/// Series looked at, and spans entered, by one transaction for new policies.
const ENTERED_AT_ONCE: usize = 4_096;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// A span that the next policy rolls up, at its end.
    Span,
    /// Entries that are too old.
    Retention,
}

/// Something in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entered {
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) number: DocumentNumber,
    /// Name of the series in lower case.
    pub(super) name: String,
}

fn due_key(due: Due, at: i64, series_key: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(HEAD_BYTES + series_key.len());
    key.push(match due {
        Due::Span => 1,
        Due::Retention => 2,
    });
    // Times before 1970 come first.
    key.extend_from_slice(&(at.cast_unsigned() ^ (1 << 63)).to_be_bytes());
    key.extend_from_slice(series_key);
    key
}

fn decode_key(key: &[u8]) -> Result<Entered, ReadError> {
    let decoded = || {
        let (head, name) = key.split_at_checked(HEAD_BYTES)?;
        let number = |at: usize| Some(u64::from_be_bytes(*head.get(at..)?.first_chunk()?));
        Some(Entered {
            at: (number(1)? ^ (1 << 63)).cast_signed(),
            number: DocumentNumber(number(9)?),
            name: std::str::from_utf8(name).ok()?.to_owned(),
        })
    };
    decoded().ok_or_else(|| ReadError::damaged("what is due of a time series"))
}

/// The span of `period` that `at` is in: its begin and the begin of the next. `None` far away.
pub(super) fn span(period: Period, at: i64) -> Option<(i64, i64)> {
    YEARS.contains(&at).then(|| {
        let start = period.floor(at);
        (start, period.after(start))
    })
}

/// When an entry is too old; `own` is the span of such entries.
fn end_of_retention(retention: Period, own: Option<Period>, at: i64) -> i64 {
    let at = at.clamp(YEARS.start, YEARS.end - 1);
    let at = own.map_or(at, |own| own.after(own.floor(at)));
    retention.after(at)
}

/// Entries before this are too old at `now`; of rolled up ones the whole span has to be.
pub(super) fn oldest_kept(retention: Period, own: Option<Period>, now: i64) -> i64 {
    let oldest = retention.before(now.clamp(YEARS.start, YEARS.end - 1));
    own.map_or(oldest, |own| own.floor(oldest))
}

/// What changes of one series make due, gathered until it is stored.
#[derive(Debug)]
pub(super) struct Touched {
    next: Option<Period>,
    retention: Option<Period>,
    own: Option<Period>,
    /// The first entry before the changes; `None` of a new series.
    first: Option<i64>,
    /// The span noted last.
    last: (i64, i64),
    ends: Vec<i64>,
}

impl Touched {
    pub(super) fn new(place: &SeriesPlace<'_>, first: Option<i64>) -> Touched {
        Touched {
            next: place.next.map(|policy| policy.aggregation),
            retention: place.retention,
            own: place.own,
            first,
            last: (0, 0),
            ends: Vec::new(),
        }
    }

    /// An entry at this time was stored or deleted.
    pub(super) fn note(&mut self, at: i64) {
        let Some(next) = self.next else { return };
        if (self.last.0..self.last.1).contains(&at) {
            return;
        }
        if let Some(span) = span(next, at) {
            self.last = span;
            self.ends.push(span.1);
        }
    }
}

impl Writer<'_> {
    /// The policies in force.
    pub(super) fn series_policies(&mut self) -> Result<Rc<SeriesPolicies>, WriteError> {
        if let Some(known) = &self.policies {
            return Ok(Rc::clone(known));
        }
        let settings = self.transaction.tree_mut(SETTINGS)?;
        let read = Rc::new(SeriesPolicies::decode(settings.get(SERIES_POLICIES)?)?);
        self.policies = Some(Rc::clone(&read));
        Ok(read)
    }

    /// Begins to note what changes of a series of a document in `collection` make due.
    pub(super) fn note_due(
        &mut self,
        collection: CollectionNumber,
        open: &mut OpenSeries,
    ) -> Result<(), WriteError> {
        let policies = self.series_policies()?;
        if !policies.collections.is_empty() {
            let collection = self.collection_name(collection)?;
            open.note_for(policies.place(&collection, &open.name).as_ref());
        }
        Ok(())
    }

    /// Enters what changes of a series made due.
    pub(super) fn enter_touched(
        &mut self,
        open: &OpenSeries,
        mut touched: Touched,
    ) -> Result<(), WriteError> {
        touched.ends.sort_unstable();
        touched.ends.dedup();
        for end in &touched.ends {
            self.enter(Due::Span, *end, &open.key)?;
        }
        let is_earlier = touched.first.is_none_or(|first| open.first < first);
        if let Some(retention) = touched.retention
            && open.count > 0
            && is_earlier
        {
            let at = end_of_retention(retention, touched.own, open.first);
            self.enter(Due::Retention, at, &open.key)?;
        }
        Ok(())
    }

    /// Enters the moment when the first entry of a series will be too old, after `now`.
    pub(super) fn enter_retention(
        &mut self,
        place: &SeriesPlace<'_>,
        open: &OpenSeries,
        now: i64,
    ) -> Result<(), WriteError> {
        let Some(retention) = place.retention.filter(|_| open.count > 0) else {
            return Ok(());
        };
        let at = end_of_retention(retention, place.own, open.first);
        // A month before the 31st may be the 28th, and a month after that is not the 31st.
        let is_left = open.first < oldest_kept(retention, place.own, now);
        let at = if is_left { now } else { at.max(now + 1) };
        self.enter(Due::Retention, at, &open.key)
    }

    fn enter(&mut self, due: Due, at: i64, series_key: &[u8]) -> Result<(), WriteError> {
        let mut tree = self.transaction.tree_mut(SERIES_DUE)?;
        tree.put(&due_key(due, at, series_key), &[])?;
        Ok(())
    }

    /// Takes something out of the tree.
    pub(super) fn leave(&mut self, due: Due, at: i64, series_key: &[u8]) -> Result<(), WriteError> {
        let mut tree = self.transaction.tree_mut(SERIES_DUE)?;
        tree.delete(&due_key(due, at, series_key))?;
        Ok(())
    }

    /// What is due until `now`, the earliest first, at most `count_max`.
    pub(super) fn entered(
        &mut self,
        due: Due,
        now: i64,
        count_max: usize,
    ) -> Result<Vec<Entered>, WriteError> {
        let Some(tree) = self.transaction.tree(SERIES_DUE)? else {
            return Ok(Vec::new());
        };
        let (start, end) = (due_key(due, i64::MIN, &[]), due_end(due, now));
        let mut found = Vec::new();
        for entry in tree.range(&start[..]..&end[..])?.take(count_max) {
            found.push(decode_key(&entry?.0.to_vec())?);
        }
        Ok(found)
    }

    /// Enters a piece of what new policies ask for; gives how many series and spans that were,
    /// `None` when all was entered before.
    pub(super) fn enter_for_new_policies(&mut self) -> Result<Option<usize>, WriteError> {
        let settings = self.transaction.tree_mut(SETTINGS)?;
        let Some(stored) = settings.get(ENTERING)?.map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        let damaged = || ReadError::damaged("the place where policies of time series are entered");
        let (from, key) = stored.split_first_chunk::<8>().ok_or_else(damaged)?;
        let mut from = i64::from_be_bytes(*from);
        let mut count = 0;
        for key in self.series_keys(key)? {
            count += 1;
            let left = ENTERED_AT_ONCE.saturating_sub(count);
            let (entered, goes_on) = self.enter_all(&key, from, left)?;
            count += entered;
            let goes_on_from = goes_on.unwrap_or(i64::MIN);
            let mut place = goes_on_from.to_be_bytes().to_vec();
            place.extend_from_slice(&key);
            if goes_on.is_none() {
                // The key behind this one.
                place.push(0);
            }
            self.transaction.tree_mut(SETTINGS)?.put(ENTERING, &place)?;
            if goes_on.is_some() || count >= ENTERED_AT_ONCE {
                return Ok(Some(count));
            }
            from = i64::MIN;
        }
        if count == 0 {
            self.transaction.tree_mut(SETTINGS)?.delete(ENTERING)?;
        }
        Ok(Some(count))
    }

    /// Keys of series from `start` on, as many as one transaction looks at.
    fn series_keys(&mut self, start: &[u8]) -> Result<Vec<Vec<u8>>, WriteError> {
        let Some(series) = self.transaction.tree(SERIES)? else {
            return Ok(Vec::new());
        };
        let keys = series.range(start..)?.take(ENTERED_AT_ONCE);
        let keys = keys.map(|entry| Ok(entry?.0.to_vec()));
        keys.collect::<Result<_, ReadError>>()
            .map_err(WriteError::from)
    }

    /// Enters the spans of a series from the time `from` on, at most `count_max`, and its
    /// retention; gives how many spans, and where to go on if that was not all.
    fn enter_all(
        &mut self,
        key: &[u8],
        from: i64,
        count_max: usize,
    ) -> Result<(usize, Option<i64>), WriteError> {
        let damaged = || ReadError::damaged("the key of a time series");
        let number = key.first_chunk::<8>().ok_or_else(damaged)?;
        let number = DocumentNumber(u64::from_be_bytes(*number));
        let policies = self.series_policies()?;
        let Some(head) = self.head_of(number)? else {
            return Ok((0, None));
        };
        let collection = self.collection_name(head.collection)?;
        let series = self.transaction.tree_mut(SERIES)?;
        let Some(record) = series.get(key)?.map(SeriesRecord::decode).transpose()? else {
            return Ok((0, None));
        };
        let (series, first) = (record.series, record.first);
        let Some(place) = policies.place(&collection, record.name) else {
            return Ok((0, None));
        };
        if let Some(retention) = place.retention {
            let at = end_of_retention(retention, place.own, first);
            self.enter(Due::Retention, at, key)?;
        }
        let Some(next) = place.next else {
            return Ok((0, None));
        };
        let mut at = from.max(first).max(YEARS.start);
        let mut count = 0;
        while let Some(found) = self.first_entry(series, at)? {
            let Some((_, end)) = span(next.aggregation, found) else {
                break;
            };
            if count >= count_max {
                return Ok((count, Some(found)));
            }
            self.enter(Due::Span, end, key)?;
            (count, at) = (count + 1, end);
        }
        Ok((count, None))
    }

    /// Time of the first entry of a series from `at` on.
    fn first_entry(&mut self, series: u64, at: i64) -> Result<Option<i64>, WriteError> {
        let Some(entries) = self.transaction.tree(SERIES_ENTRIES)? else {
            return Ok(None);
        };
        let (start, end) = (entry_key(series, at), entry_key(series, i64::MAX));
        match entries.range(&start[..]..=&end[..])?.next() {
            Some(entry) => Ok(Some(key_time(&entry?.0.to_vec())?)),
            None => Ok(None),
        }
    }
}

/// Behind everything that is due until `now`.
fn due_end(due: Due, now: i64) -> Vec<u8> {
    due_key(due, now.saturating_add(1), &[])
}

/// Stores policies that are not those in force.
pub(crate) fn store_policies(
    transaction: &mut WriteTransaction,
    policies: &SeriesPolicies,
) -> Result<(), WriteError> {
    let mut settings = transaction.tree_mut(SETTINGS)?;
    settings.put(SERIES_POLICIES, policies.to_document().as_bytes())?;
    settings.put(ENTERING, &i64::MIN.to_be_bytes())?;
    Ok(())
}

/// Whether anything is due until `now`: asked before a write transaction is begun for nothing.
pub(crate) fn has_due(transaction: &ReadTransaction, now: i64) -> Result<bool, ReadError> {
    if let Some(settings) = transaction.tree(SETTINGS)?
        && settings.get(ENTERING)?.is_some()
    {
        return Ok(true);
    }
    let Some(tree) = transaction.tree(SERIES_DUE)? else {
        return Ok(false);
    };
    for due in [Due::Span, Due::Retention] {
        let (start, end) = (due_key(due, i64::MIN, &[]), due_end(due, now));
        if tree.range(&start[..]..&end[..])?.next().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_key_are_the_documented_ones() {
        let series_key = [&7u64.to_be_bytes()[..], b"heart"].concat();
        let key = due_key(Due::Retention, 258, &series_key);
        assert_eq!(key[0], 2);
        assert_eq!(key[1..9], [0x80, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(key[9..17], 7u64.to_be_bytes());
        assert_eq!(&key[17..], b"heart");
        let read = decode_key(&key).unwrap();
        assert_eq!((read.at, read.number.0, &*read.name), (258, 7, "heart"));
        assert!(due_key(Due::Retention, -1, &series_key) < key);
        assert!(due_key(Due::Span, 300, &series_key) < key);
        assert!(decode_key(&key[..12]).is_err());
    }

    #[test]
    fn rolled_up_entries_are_kept_until_their_whole_span_is_too_old() {
        let hour = 3_600_000;
        let (day, six) = (
            Period::Milliseconds(24 * hour),
            Period::Milliseconds(6 * hour),
        );
        assert_eq!(oldest_kept(day, None, 25 * hour + 1), hour + 1);
        assert_eq!(oldest_kept(day, Some(six), 29 * hour), 0);
        assert_eq!(oldest_kept(day, Some(six), 30 * hour), 6 * hour);
        assert_eq!(end_of_retention(day, Some(six), 0), 30 * hour);
        assert_eq!(end_of_retention(day, None, 5), 24 * hour + 5);
    }
}

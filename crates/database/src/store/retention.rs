//! Deleting entries of time series that are older than their policies keep them.
//!
//! What was deleted of a series that is rolled up is remembered in a tree of its own: until when,
//! and what the deleted part of the span that this moment cuts made. `rollup` needs it for entries
//! that come late. Bytes: docs/format.md, "Deleted entries".
//!
//! Invariant: entries are deleted only when everything due was rolled up before.

use jackdaw_model::DocumentNumber;
use jackdaw_query::Period;

use super::apply::Writer;
use super::counters::counter_key;
use super::rollup::{AT_ONCE, CHANGED_BYTES_MAX, PARTS, Subject, Summary};
use super::series::{decode_entry, entry_key, key_time};
use super::series_due::{Due, oldest_kept, span};
use super::trees::{SERIES_ENTRIES, SERIES_RETIRED, number_at};
use crate::error::{ReadError, WriteError};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 24;
/// Entries that a transaction deletes.
const DELETED_MAX: usize = 20_000;

/// What retention deleted of a series that is rolled up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Retired {
    /// All entries before this time that were there at that moment.
    pub(super) until: i64,
    /// Begin of the span that `until` is in.
    pub(super) begun: i64,
    /// What was deleted of that span.
    pub(super) part: Summary,
}

impl Retired {
    pub(super) const NOTHING: Retired = Retired {
        until: i64::MIN,
        begun: i64::MIN,
        part: Summary(Vec::new()),
    };

    fn decode(bytes: &[u8]) -> Result<Retired, ReadError> {
        let decoded = || {
            let (head, values) = bytes.split_at_checked(HEAD_BYTES)?;
            (head[0] == VERSION).then_some(())?;
            let (values, rest) = values.as_chunks::<8>();
            rest.is_empty().then_some(())?;
            let values: Vec<f64> = values
                .iter()
                .map(|bytes| f64::from_le_bytes(*bytes))
                .collect();
            let (part, rest) = values.as_chunks::<PARTS>();
            rest.is_empty().then_some(())?;
            Some(Retired {
                until: number_at(head, 8)?.cast_signed(),
                begun: number_at(head, 16)?.cast_signed(),
                part: Summary(part.to_vec()),
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("what was deleted of a time series"))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(&self.until.to_le_bytes());
        bytes.extend_from_slice(&self.begun.to_le_bytes());
        for value in self.part.values() {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    /// Moves `until` on; nothing was deleted of the span that it is in then, if it is another one.
    fn move_until(&mut self, until: i64, next: Period) {
        self.until = self.until.max(until);
        let begun = span(next, self.until).map_or(self.until, |(start, _)| start);
        if begun != self.begun {
            self.begun = begun;
            self.part = Summary::default();
        }
    }

    /// Counts an entry that is deleted; entries come in the order of time.
    fn add(&mut self, at: i64, values: &[f64], is_rolled_up: bool, next: Period) {
        self.move_until(at.saturating_add(1), next);
        if at >= self.begun {
            self.part.add(values, is_rolled_up);
        }
    }
}

impl Writer<'_> {
    /// What was deleted of a series.
    pub(super) fn retired(&mut self, subject: &Subject) -> Result<Retired, WriteError> {
        let key = counter_key(subject.number, &subject.name);
        let Some(tree) = self.transaction.tree(SERIES_RETIRED)? else {
            return Ok(Retired::NOTHING);
        };
        let stored = tree.get(&key)?.map(Retired::decode).transpose()?;
        Ok(stored.unwrap_or(Retired::NOTHING))
    }

    /// Deletes entries that are too old; gives how many.
    pub(super) fn retire(&mut self, now: i64) -> Result<u64, WriteError> {
        let mut left = DELETED_MAX;
        for one in self.entered(Due::Retention, now, AT_ONCE)? {
            let key = counter_key(one.number, &one.name);
            self.leave(Due::Retention, one.at, &key)?;
            if let Some(subject) = self.subject(one.number, &one.name)? {
                self.retire_series(&subject, &key, now, &mut left)?;
            }
            if left == 0 || self.transaction.dirty_bytes() >= CHANGED_BYTES_MAX {
                break;
            }
        }
        Ok((DELETED_MAX - left) as u64)
    }

    fn retire_series(
        &mut self,
        subject: &Subject,
        key: &[u8],
        now: i64,
        left: &mut usize,
    ) -> Result<(), WriteError> {
        let Some(place) = subject.place() else {
            return Ok(());
        };
        let (Some(retention), Some(_)) = (place.retention, self.source(key)?) else {
            return Ok(());
        };
        let until = oldest_kept(retention, place.own, now);
        let mut open = self.open_series(subject.number, &subject.name)?;
        let from = open.first;
        let old = self.old_entries(open.series, until, *left)?;
        *left -= old.len();
        if let (Some(last), Some(next)) = (old.last(), place.next) {
            let mut retired = self.retired(subject)?;
            for entry in &old {
                let at = key_time(&entry.key)?;
                retired.add(at, &entry.values, place.own.is_some(), next.aggregation);
            }
            let until = if *left > 0 {
                until
            } else {
                key_time(&last.key)?.saturating_add(1)
            };
            retired.move_until(until, next.aggregation);
            let stored = retired.encode();
            let mut tree = self.transaction.tree_mut(SERIES_RETIRED)?;
            tree.put(key, &stored)?;
        }
        let keys: Vec<_> = old.into_iter().map(|entry| entry.key).collect();
        self.delete_keys(&mut open, &keys)?;
        self.enter_retention(&place, &open, now)?;
        match keys.last() {
            Some(last) => {
                let range = (from, key_time(last)?);
                self.store_changed(subject, open, "Delete", &[range])
            }
            None => Ok(()),
        }
    }

    /// Keys and values of the entries of a series before `until`, at most `count_max`.
    fn old_entries(
        &mut self,
        series: u64,
        until: i64,
        count_max: usize,
    ) -> Result<Vec<OldEntry>, WriteError> {
        let mut found = Vec::new();
        if let Some(entries) = self.transaction.tree(SERIES_ENTRIES)? {
            let (start, end) = (entry_key(series, i64::MIN), entry_key(series, until));
            for entry in entries.range(&start[..]..&end[..])?.take(count_max) {
                let (key, value) = entry?;
                let (values, _) = decode_entry(value)?;
                found.push(OldEntry {
                    key: key.to_vec(),
                    values,
                });
            }
        }
        Ok(found)
    }

    /// Forgets what was deleted of the series of a document that is about to go.
    pub(super) fn forget_retired(&mut self, number: DocumentNumber) -> Result<(), WriteError> {
        self.remove_keys(SERIES_RETIRED, number)
    }
}

/// An entry that is about to be deleted.
struct OldEntry {
    key: Vec<u8>,
    values: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deleted_reads_back_and_damage_is_an_error() {
        let hour = Period::Milliseconds(3_600_000);
        let mut retired = Retired::NOTHING;
        retired.add(3_599_999, &[1.0], false, hour);
        assert_eq!((retired.until, retired.begun), (3_600_000, 3_600_000));
        assert!(retired.part.is_empty(), "that span was deleted wholly");
        retired.add(3_600_500, &[2.0], false, hour);
        retired.add(3_600_600, &[4.0], false, hour);
        retired.move_until(3_700_000, hour);
        assert_eq!(retired.part.values(), [2.0, 4.0, 2.0, 4.0, 6.0, 2.0]);
        let bytes = retired.encode();
        assert_eq!((bytes[0], bytes.len()), (1, 24 + 48));
        assert_eq!(bytes[8..16], 3_700_000i64.to_le_bytes());
        assert_eq!(bytes[16..24], 3_600_000i64.to_le_bytes());
        assert_eq!(Retired::decode(&bytes).unwrap(), retired);
        assert!(Retired::decode(&bytes[..30]).is_err());
        retired.move_until(7_200_000, hour);
        assert!(retired.part.is_empty());
    }
}

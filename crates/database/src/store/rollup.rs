//! Rolling time series up.
//!
//! An entry of a rolled up series stands at the begin of its span and has six values for each value
//! of the entries in it: first, last, smallest, largest, sum, count. Everything due comes from
//! [`super::series_due`], in the order: entering what new policies ask for, spans, retention. So
//! nothing is deleted before it is rolled up.
//!
//! What retention deleted of a series is remembered (`retention`), which makes late entries count:
//! - a span of which nothing was deleted is made anew from its entries;
//! - to a span of which all was deleted, late entries are added, and deleted themselves;
//! - the one span of which a part was deleted is made of that part and of the entries behind it.
//!
//! A policy that is put in front of another begins where entries are left, which is remembered as
//! if it had deleted what was before: the other one keeps what it made.
//!
//! Invariants:
//! - Every appended entry counts once in each policy of its chain whose span is over.
//! - Sums are finite, so that no value becomes NaN.

use std::collections::BTreeMap;
use std::rc::Rc;

use jackdaw_model::DocumentNumber;
use jackdaw_query::Period;
use jackdaw_storage::WriteTransaction;

use super::apply::{Applied, Writer};
use super::counters::counter_key;
use super::retention::Retired;
use super::series::{
    OpenSeries, SeriesRecord, VALUES_MAX, decode_entry, encode_rolled_up, entry_key,
};
use super::series_due::{Due, span};
use super::trees::{DOCUMENTS, SERIES, SERIES_ENTRIES, SERIES_RETIRED, number_key};
use crate::changes::BesideChange;
use crate::database::Core;
use crate::error::WriteError;
use crate::record::Record;
use crate::series_policies::{SEPARATOR, SeriesPlace, SeriesPolicies};

/// Values of a rolled up entry for each value of the entries that it was made of.
pub(super) const PARTS: usize = 6;
/// Spans rolled up, or series looked at for old entries, by one transaction.
pub(super) const AT_ONCE: usize = 1_024;
/// Entries after which a transaction ends: reading them takes some tens of milliseconds, in which
/// no client's change is carried out.
const READ_MAX: usize = 200_000;
/// Changed bytes after which a transaction ends: what clients write goes into the same one.
pub(super) const CHANGED_BYTES_MAX: usize = 16 << 20;

/// What is made of the values at one position; nothing when the count is 0.
pub(super) type Parts = [f64; PARTS];

/// What is made of the values of many entries, by their position.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary(pub(super) Vec<Parts>);

impl Summary {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add_at(&mut self, position: usize, later: Parts) {
        let [_, last, min, max, sum, count] = later;
        if self.0.len() <= position {
            self.0.resize(position + 1, [0.0; PARTS]);
        }
        let into = &mut self.0[position];
        if count <= 0.0 {
            return;
        }
        if into[5] <= 0.0 {
            *into = later;
            into[4] = finite(sum);
            return;
        }
        into[1] = last;
        into[2] = into[2].min(min);
        into[3] = into[3].max(max);
        into[4] = finite(into[4] + finite(sum));
        into[5] += count;
    }

    /// Adds an entry that is later than all before, rolled up itself or not. Positions that no
    /// sound entry has are left out.
    pub(super) fn add(&mut self, values: &[f64], is_rolled_up: bool) {
        if is_rolled_up {
            for (position, parts) in values
                .as_chunks::<PARTS>()
                .0
                .iter()
                .take(VALUES_MAX)
                .enumerate()
            {
                self.add_at(position, *parts);
            }
            return;
        }
        for (position, value) in values.iter().take(VALUES_MAX).enumerate() {
            self.add_at(position, [*value, *value, *value, *value, *value, 1.0]);
        }
    }

    fn add_all(&mut self, later: &Summary) {
        self.add(later.0.as_flattened(), true);
    }

    pub(super) fn values(&self) -> &[f64] {
        self.0.as_flattened()
    }
}

/// Sums of infinite values stay comparable, and none becomes NaN.
fn finite(sum: f64) -> f64 {
    sum.clamp(f64::MIN, f64::MAX)
}

/// A series with what its policies mean for it.
pub(super) struct Subject {
    pub(super) number: DocumentNumber,
    /// In lower case.
    pub(super) name: String,
    /// Of the document.
    id: String,
    collection: String,
    policies: Rc<SeriesPolicies>,
}

impl Subject {
    pub(super) fn place(&self) -> Option<SeriesPlace<'_>> {
        self.policies.place(&self.collection, &self.name)
    }
}

/// Does a piece of what is due until `now`, in milliseconds since 1970; gives how many spans and
/// entries that were.
pub(crate) fn carry_out(
    transaction: &mut WriteTransaction,
    core: &Core,
    now: i64,
) -> Result<(u64, Applied), WriteError> {
    let mut writer = Writer::begin(transaction, core)?;
    if writer.enter_for_new_policies()?.is_some() {
        return Ok((0, writer.finish()?));
    }
    let count = match writer.roll_up(now)? {
        Some(count) => count,
        None => writer.retire(now)?,
    };
    Ok((count, writer.finish()?))
}

/// Spans of one series that are due, under the order in which series come: those made by finer
/// policies first, as they change what coarser ones are made of.
type Groups = BTreeMap<(usize, DocumentNumber, String), (Subject, Vec<i64>)>;

impl Writer<'_> {
    /// Rolls up spans that are due; `None` when none was.
    fn roll_up(&mut self, now: i64) -> Result<Option<u64>, WriteError> {
        let entered = self.entered(Due::Span, now, AT_ONCE)?;
        if entered.is_empty() {
            return Ok(None);
        }
        let mut groups = Groups::new();
        for one in entered {
            let Some(subject) = self.subject(one.number, &one.name)? else {
                let key = counter_key(one.number, &one.name);
                self.leave(Due::Span, one.at, &key)?;
                continue;
            };
            let level = subject.place().map_or(usize::MAX, |place| place.level);
            let group = groups.entry((level, one.number, one.name));
            let (_, ends) = group.or_insert_with(|| (subject, Vec::new()));
            ends.push(one.at);
        }
        let (mut count, mut left) = (0, READ_MAX);
        for (subject, ends) in groups.into_values() {
            count += self.roll_up_series(&subject, &ends, &mut left)?;
            if left == 0 || self.transaction.dirty_bytes() >= CHANGED_BYTES_MAX {
                break;
            }
        }
        Ok(Some(count))
    }

    /// A series whose document is there.
    pub(super) fn subject(
        &mut self,
        number: DocumentNumber,
        name: &str,
    ) -> Result<Option<Subject>, WriteError> {
        let documents = self.transaction.tree_mut(DOCUMENTS)?;
        let bytes = documents.get(&number_key(number))?;
        let Some(record) = bytes.and_then(Record::decode) else {
            return Ok(None);
        };
        let (id, collection) = (record.id.to_owned(), record.collection);
        Ok(Some(Subject {
            number,
            name: name.to_owned(),
            id,
            collection: self.collection_name(collection)?,
            policies: self.series_policies()?,
        }))
    }

    /// Rolls up the spans of a series that end at `ends`, until `left` entries were read; gives how
    /// many.
    fn roll_up_series(
        &mut self,
        subject: &Subject,
        ends: &[i64],
        left: &mut usize,
    ) -> Result<u64, WriteError> {
        let key = counter_key(subject.number, &subject.name);
        let place = subject.place();
        let Some((place, next)) = place.and_then(|place| Some((place, place.next?))) else {
            // The policy is no more.
            for end in ends {
                self.leave(Due::Span, *end, &key)?;
            }
            return Ok(0);
        };
        let source = self.source(&key)?;
        let base = source.as_ref().map_or(&*subject.name, |source| &source.1);
        let base = base.split(SEPARATOR).next().unwrap_or(base);
        let target_name = format!("{base}{SEPARATOR}{}", next.name);
        let mut work = Work {
            key,
            series: source.as_ref().map(|source| source.0),
            is_rolled_up: place.own.is_some(),
            retired: self.retired(subject)?,
            is_part_changed: false,
            target: self.open_series(subject.number, &target_name)?,
            changed: Vec::new(),
            late: Vec::new(),
        };
        let target_place = subject.policies.place(&subject.collection, &target_name);
        work.target.note_for(target_place.as_ref());
        if work.target.is_new && target_place.is_some_and(|place| place.next.is_some()) {
            self.begin_where_left(&work, next.aggregation)?;
        }
        let mut count = 0;
        for end in ends {
            self.leave(Due::Span, *end, &work.key)?;
            let start = next.aggregation.before(*end);
            // Another length of spans has its own ends entered.
            if span(next.aggregation, start) == Some((start, *end)) {
                self.roll_up_span(&mut work, (start, *end), left)?;
                count += 1;
            }
            if *left == 0 || self.transaction.dirty_bytes() >= CHANGED_BYTES_MAX {
                break;
            }
        }
        self.finish_roll_up(subject, work)?;
        Ok(count)
    }

    /// Remembers for a series that is about to be made what it cannot have.
    fn begin_where_left(&mut self, work: &Work, own: Period) -> Result<(), WriteError> {
        let until = work.retired.until;
        let Some((start, end)) = span(own, until) else {
            return Ok(());
        };
        let until = if start == until { start } else { end };
        let begun = Retired {
            until,
            begun: until,
            ..Retired::NOTHING
        };
        let mut tree = self.transaction.tree_mut(SERIES_RETIRED)?;
        if tree.get(&work.target.key)?.is_none() {
            tree.put(&work.target.key, &begun.encode())?;
        }
        Ok(())
    }

    /// Number and name of a stored series.
    pub(super) fn source(&mut self, key: &[u8]) -> Result<Option<(u64, String)>, WriteError> {
        let series = self.transaction.tree_mut(SERIES)?;
        let record = series.get(key)?.map(SeriesRecord::decode).transpose()?;
        Ok(record.map(|record| (record.series, record.name.to_owned())))
    }

    /// Makes the entry of one span; see the file head.
    fn roll_up_span(
        &mut self,
        work: &mut Work,
        (start, end): (i64, i64),
        left: &mut usize,
    ) -> Result<(), WriteError> {
        let cut = work.retired.until.clamp(start, end);
        let late = self.summarize(work, start, cut, left)?;
        let rest = self.summarize(work, cut, end, left)?;
        if !late.is_empty() {
            work.late.push((start, cut - 1));
            work.is_part_changed = true;
        }
        let made = if cut == end {
            if late.is_empty() {
                return Ok(());
            }
            let mut made = self.rolled_up(&work.target, (start, end))?;
            made.add_all(&late);
            made
        } else if cut > start && work.retired.begun != start {
            self.taken_over(work, (start, end), &late, &rest)?
        } else if cut > start {
            work.retired.part.add_all(&late);
            let mut made = work.retired.part.clone();
            made.add_all(&rest);
            made
        } else {
            rest
        };
        self.replace(work, (start, end), &made)
    }

    /// What a span makes of which a part was deleted that another policy knew, or the same with
    /// other spans: what these made of it already. Without that it is made of what is left.
    fn taken_over(
        &mut self,
        work: &Work,
        (start, end): (i64, i64),
        late: &Summary,
        rest: &Summary,
    ) -> Result<Summary, WriteError> {
        let mut made = self.rolled_up(&work.target, (start, end))?;
        let is_made = !made.is_empty();
        if !is_made && work.retired.begun > start {
            made.add_all(&work.retired.part);
        }
        made.add_all(late);
        if !is_made {
            made.add_all(rest);
        }
        Ok(made)
    }

    /// What the entries of a series in a span make.
    fn summarize(
        &mut self,
        work: &Work,
        start: i64,
        end: i64,
        left: &mut usize,
    ) -> Result<Summary, WriteError> {
        let mut summary = Summary::default();
        let entries = self.transaction.tree(SERIES_ENTRIES)?;
        let (Some(series), Some(entries)) = (work.series, entries) else {
            return Ok(summary);
        };
        let (start, end) = (entry_key(series, start), entry_key(series, end));
        for entry in entries.range(&start[..]..&end[..])? {
            let (values, _) = decode_entry(entry?.1)?;
            summary.add(&values, work.is_rolled_up);
            *left = left.saturating_sub(1);
        }
        Ok(summary)
    }

    /// What the entries of a rolled up series in a span make.
    fn rolled_up(
        &mut self,
        target: &OpenSeries,
        (start, end): (i64, i64),
    ) -> Result<Summary, WriteError> {
        let mut summary = Summary::default();
        if let Some(entries) = self.transaction.tree(SERIES_ENTRIES)? {
            let (start, end) = (
                entry_key(target.series, start),
                entry_key(target.series, end),
            );
            for entry in entries.range(&start[..]..&end[..])? {
                summary.add(&decode_entry(entry?.1)?.0, true);
            }
        }
        Ok(summary)
    }

    /// Puts one entry in the place of all that a rolled up series has in a span.
    fn replace(
        &mut self,
        work: &mut Work,
        (start, end): (i64, i64),
        made: &Summary,
    ) -> Result<(), WriteError> {
        let bytes = (!made.is_empty()).then(|| encode_rolled_up(made.values()));
        let key = entry_key(work.target.series, start);
        let keys = self.entry_keys(work.target.series, start, end - 1)?;
        let entries = self.transaction.tree_mut(SERIES_ENTRIES)?;
        let is_there = entries.get(&key)? == bytes.as_deref();
        if is_there && keys.len() == usize::from(bytes.is_some()) {
            return Ok(());
        }
        let surplus: Vec<_> = keys.into_iter().filter(|known| *known != key).collect();
        self.delete_keys(&mut work.target, &surplus)?;
        match bytes {
            Some(bytes) => self.put_entry(&mut work.target, start, &bytes)?,
            None => self.delete_keys(&mut work.target, &[key.to_vec()])?,
        }
        work.changed.push(start);
        Ok(())
    }

    /// Stores what changed, and deletes late entries that were added to what was there.
    fn finish_roll_up(&mut self, subject: &Subject, work: Work) -> Result<(), WriteError> {
        if work.is_part_changed {
            let stored = work.retired.encode();
            let mut retired = self.transaction.tree_mut(SERIES_RETIRED)?;
            retired.put(&work.key, &stored)?;
        }
        if !work.late.is_empty() {
            let mut source = self.open_series(subject.number, &subject.name)?;
            for (from, to) in &work.late {
                let keys = self.entry_keys(source.series, *from, *to)?;
                self.delete_keys(&mut source, &keys)?;
            }
            self.store_changed(subject, source, "Delete", &work.late)?;
        }
        let spans: Vec<_> = work.changed.iter().map(|start| (*start, *start)).collect();
        self.store_changed(subject, work.target, "Put", &spans)
    }

    /// Stores a series if it changed, and tells those who watch.
    pub(super) fn store_changed(
        &mut self,
        subject: &Subject,
        mut open: OpenSeries,
        kind: &'static str,
        ranges: &[(i64, i64)],
    ) -> Result<(), WriteError> {
        let from = ranges.iter().map(|(from, _)| *from).min();
        let to = ranges.iter().map(|(_, to)| *to).max();
        let (Some(from), Some(to)) = (from, to) else {
            return Ok(());
        };
        let name = open.name.clone();
        self.close_series(subject.number, &mut open)?;
        self.applied.beside.push(BesideChange::Series {
            document: subject.id.clone(),
            collection: subject.collection.clone(),
            name,
            kind,
            from: Some(from),
            to: Some(to),
            etag: self.state.last_etag,
        });
        Ok(())
    }
}

/// Rolling up one series.
struct Work {
    /// Key of the series that is rolled up.
    key: Vec<u8>,
    /// Its number; `None` when it has no entries.
    series: Option<u64>,
    is_rolled_up: bool,
    retired: Retired,
    is_part_changed: bool,
    /// What it is rolled up into.
    target: OpenSeries,
    /// Times of entries that changed there.
    changed: Vec<i64>,
    /// Late entries that were added, both ends included: they are deleted at the end.
    late: Vec<(i64, i64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_parts_are_those_of_the_whole() {
        let entries = [
            vec![3.0],
            vec![1.0, 5.0],
            vec![2.0, f64::INFINITY],
            vec![9.0],
        ];
        let mut whole = Summary::default();
        for entry in &entries {
            whole.add(entry, false);
        }
        let max = f64::INFINITY;
        let expected = [
            3.0,
            9.0,
            1.0,
            9.0,
            15.0,
            4.0,
            5.0,
            max,
            5.0,
            max,
            f64::MAX,
            2.0,
        ];
        assert_eq!(whole.values(), expected);
        for cut in 0..=entries.len() {
            let mut parts = [Summary::default(), Summary::default()];
            for (slot, entry) in entries.iter().enumerate() {
                parts[usize::from(slot >= cut)].add(entry, false);
            }
            let mut together = parts[0].clone();
            together.add_all(&parts[1]);
            assert_eq!(together, whole, "cut at {cut}");
        }
    }
}

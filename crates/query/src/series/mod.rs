//! Time series in rows: `select timeseries(from ...)` and `declare timeseries`.
//!
//! Bound by `bind::series`, run for each row that is given by `scripted`. Entries are read by time,
//! so one span of a grouping is open at a time.
//!
//! Invariants:
//! - What is kept of a row is bounded by the memory a query may use.
//! - Counts are never scaled; all other results are.

mod aggregate;
mod period;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{ArrayWriter, ObjectWriter, Value, write_array};

use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::fields::FieldPath;
use crate::filter::{Constant, Filter, Found as FilterValue, holds_for, with_field};
use crate::memory::Charge;
use crate::project::{Found, find};
use crate::scripted::Loaded;
use crate::source::{SeriesEntry, SeriesExtent, Source, StoredDocument};
use aggregate::{Accumulator, Numbers};

pub(crate) use aggregate::{ALL, Aggregate};
pub use period::Period;

/// Memory of one result beside its numbers.
const RESULT_BYTES: usize = 160;
/// Looks at the interrupt flag once in so many entries.
const CHECK_ENTRIES: u64 = 4_096;

/// A bound query of one time series of each row.
#[derive(Clone, Debug)]
pub(crate) struct SeriesQuery {
    pub(crate) owner: Owner,
    /// The name of the series.
    pub(crate) name: String,
    pub(crate) range: SeriesRange,
    pub(crate) condition: Option<Filter<EntryOperand>>,
    pub(crate) grouping: Option<SeriesGrouping>,
    /// What is made of a group, or of all entries; the entries themselves when there is none.
    pub(crate) aggregates: Option<Vec<Aggregate>>,
    pub(crate) scale: Option<f64>,
    /// What times are shifted by, in milliseconds.
    pub(crate) offset: Option<i64>,
}

/// The document that has the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// That of the row.
    Document,
    /// A loaded one, by its position in `load`.
    Loaded(usize),
}

/// Which entries are looked at.
#[derive(Clone, Debug)]
pub(crate) enum SeriesRange {
    All,
    /// Both included.
    Between(TimeBound, TimeBound),
    First(Period),
    Last(Period),
}

/// An end of a range.
#[derive(Clone, Debug)]
pub(crate) enum TimeBound {
    /// Milliseconds since 1970.
    At(i64),
    /// What a field of a document says.
    Field(Owner, FieldPath),
}

/// A value in a condition on entries.
#[derive(Clone, Debug)]
pub(crate) enum EntryOperand {
    /// Milliseconds since 1970.
    Timestamp,
    Tag,
    Value(usize),
    /// A field of the document that the tag names.
    TagDocument(FieldPath),
    /// A field of another document.
    Field(Owner, FieldPath),
    Constant(Constant),
}

/// Groups of entries.
#[derive(Clone, Debug)]
pub(crate) struct SeriesGrouping {
    pub(crate) period: Period,
    pub(crate) key: SeriesKey,
    pub(crate) interpolation: Option<Interpolation>,
}

/// What groups the entries of one span.
#[derive(Clone, Debug)]
pub(crate) enum SeriesKey {
    None,
    Tag,
    /// A field of the document that the tag names.
    TagDocument(FieldPath),
}

/// How spans without entries are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interpolation {
    Linear,
    Nearest,
    Last,
    Next,
}

/// The answer for one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeriesAnswer {
    count: u64,
    /// A JSON array.
    results: Vec<u8>,
}

impl SeriesAnswer {
    /// Writes the answer into an object.
    pub(crate) fn push(&self, row: &mut ObjectWriter<'_>) {
        row.long("Count", i64::try_from(self.count).unwrap_or(i64::MAX));
        match self.results.is_empty() {
            true => row.raw("Results", b"[]"),
            false => row.raw("Results", &self.results),
        }
    }
}

/// Reads a time as queries of time series have it, also a year, month, day or minute alone;
/// milliseconds since 1970.
///
/// # Errors
/// The text is no time; the message tells which forms are.
pub fn parse_time(text: &str) -> Result<i64, QueryError> {
    let whole = match text.len() {
        4 => format!("{text}-01-01T00:00:00"),
        7 => format!("{text}-01T00:00:00"),
        10 => format!("{text}T00:00:00"),
        16 => format!("{text}:00"),
        _ => text.to_owned(),
    };
    match UnixTicks::parse(&whole) {
        Some(time) => Ok(time.0.div_euclid(10_000)),
        None => Err(QueryError::Argument(format!(
            "Unable to parse timeseries from/to values. Got: {text}\nThe supported time formats \
             are:\nyyyy\nyyyy-MM\nyyyy-MM-dd\nyyyy-MM-ddTHH:mm\nyyyy-MM-ddTHH:mm:ss.fffffffZ"
        ))),
    }
}

/// What a time must not be.
pub(crate) fn null_time() -> QueryError {
    QueryError::Argument(
        "Unable to parse timeseries from/to values. Got a null instead of a value".to_owned(),
    )
}

/// The document of a row and what was loaded beside it.
#[derive(Clone, Copy)]
struct Row<'r> {
    document: &'r StoredDocument<'r>,
    loaded: &'r [Loaded<'r>],
}

impl<'r> Row<'r> {
    fn owner(&self, owner: Owner) -> Option<&'r StoredDocument<'r>> {
        match owner {
            Owner::Document => Some(self.document),
            Owner::Loaded(slot) => match self.loaded.get(slot) {
                Some(Loaded::One(one)) => one.as_ref(),
                _ => None,
            },
        }
    }

    fn time(&self, bound: &TimeBound) -> Result<i64, QueryError> {
        let (owner, path) = match bound {
            TimeBound::At(at) => return Ok(*at),
            TimeBound::Field(owner, path) => (*owner, path),
        };
        let found = self.owner(owner).map(|owner| field(owner, path));
        let text = found.and_then(|found| found.as_str());
        parse_time(text.ok_or_else(null_time)?)
    }
}

fn field<'d>(document: &'d StoredDocument<'d>, path: &FieldPath) -> Value<'d> {
    match find(document.body.root(), path.parts()) {
        Found::One(value) => value,
        Found::Nothing | Found::Many => Value::Null,
    }
}

/// Answers `query` for a row.
pub(crate) fn run<S: Source>(
    query: &SeriesQuery,
    document: &StoredDocument<'_>,
    loaded: &[Loaded<'_>],
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<SeriesAnswer, QueryError> {
    let row = Row { document, loaded };
    let Some(owner) = row.owner(query.owner) else {
        return Ok(SeriesAnswer::default());
    };
    let extent = source.series_extent(owner.id, &query.name);
    let Some(SeriesExtent { first, last, .. }) = extent.map_err(QueryError::Source)? else {
        return Ok(SeriesAnswer::default());
    };
    let range = match &query.range {
        SeriesRange::All => (first, last),
        SeriesRange::Between(low, high) => (row.time(low)?, row.time(high)?),
        SeriesRange::First(period) => (first, period.after(first)),
        SeriesRange::Last(period) => (period.before(last), last),
    };
    let shown_range = match &query.range {
        SeriesRange::All => (None, None),
        SeriesRange::Between(..) => (Some(range.0), Some(range.1)),
        SeriesRange::First(_) => (None, Some(range.1)),
        SeriesRange::Last(_) => (Some(range.0), None),
    };
    let mut reading = Reading {
        query,
        shown_range,
        row,
        source,
        options,
        taken: 0,
        visited: 0,
        kept_bytes: 0,
        charge: options.charge(
            "a time series of one row",
            "Ask for a shorter range, or group by longer spans.",
        ),
        open: Vec::new(),
        done: Vec::new(),
        times: None,
        raw: Vec::new(),
    };
    let mut outcome = Ok(());
    let visited = source.visit_series(owner.id, &query.name, range, &mut |entry| {
        outcome = reading.take(entry);
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    visited.map_err(QueryError::Source)?;
    outcome?;
    let answer = reading.finish()?;
    // It is in the row until that was given.
    reading.charge.keep_for_row();
    Ok(answer)
}

/// Whether a policy made the series, as its name says.
fn is_rolled_up(name: &str) -> bool {
    name.contains('@')
}

/// A group of entries that may still grow.
struct Open {
    /// JSON.
    key: Vec<u8>,
    values: Accumulator,
}

/// A group that is complete.
struct Done {
    from: i64,
    to: i64,
    key: Vec<u8>,
    numbers: Numbers,
}

/// One pass over the entries.
struct Reading<'r, S> {
    query: &'r SeriesQuery,
    /// The ends that the query itself sets: what results without a grouping say they are of.
    shown_range: (Option<i64>, Option<i64>),
    row: Row<'r>,
    source: &'r S,
    options: &'r ExecuteOptions<'r>,
    /// Entries that passed the condition.
    taken: u64,
    visited: u64,
    kept_bytes: usize,
    charge: Charge<'r>,
    /// Groups of the present span, in the order of their first entries.
    open: Vec<Open>,
    done: Vec<Done>,
    /// The present span; without a grouping, times of the first and the last entry.
    times: Option<(i64, i64)>,
    /// Entries as JSON, separated by commas.
    raw: Vec<u8>,
}

impl<S: Source> Reading<'_, S> {
    fn take(&mut self, entry: SeriesEntry<'_>) -> Result<(), QueryError> {
        self.visited += 1;
        if self.visited.is_multiple_of(CHECK_ENTRIES) {
            self.options.check()?;
        }
        let tag_document = match (self.query.reads_tags(), entry.tag) {
            (true, Some(tag)) => self.source.document_by_id(tag),
            _ => Ok(None),
        };
        let tag_document = tag_document.map_err(QueryError::Source)?;
        let passes = |filter: &Filter<EntryOperand>| {
            holds_for(filter, &|operand, test| {
                with_operand(operand, &entry, tag_document.as_ref(), self.row, test)
            })
        };
        if !self.query.condition.as_ref().is_none_or(passes) {
            return Ok(());
        }
        self.taken += 1;
        let Some(aggregates) = &self.query.aggregates else {
            self.take_raw(&entry);
            return self.charge.set(self.raw.len());
        };
        let keeps_all = aggregates
            .iter()
            .any(|one| matches!(one, Aggregate::Percentile(_)));
        let key = self.move_to(entry.at, |key| match key {
            SeriesKey::None => Value::Null,
            SeriesKey::Tag => entry.tag.map_or(Value::Null, Value::String),
            SeriesKey::TagDocument(path) => match &tag_document {
                Some(document) => field(document, path),
                None => Value::Null,
            },
        });
        let known = self.open.iter().position(|open| open.key == key);
        let slot = known.unwrap_or_else(|| {
            self.kept_bytes += RESULT_BYTES + key.len() + 64 * entry.values.len();
            let values = Accumulator::default();
            self.open.push(Open { key, values });
            self.open.len() - 1
        });
        let into = &mut self.open[slot].values;
        self.kept_bytes += match is_rolled_up(&self.query.name) {
            true => into.add_rolled_up(entry.values, keeps_all),
            false => into.add(entry.values, keeps_all),
        };
        self.charge.set(self.kept_bytes)
    }

    fn take_raw(&mut self, entry: &SeriesEntry<'_>) {
        let (query, scale) = (self.query, self.query.scale.unwrap_or(1.0));
        if !self.raw.is_empty() {
            self.raw.push(b',');
        }
        jackdaw_document::write_object(&mut self.raw, |row| {
            match entry.tag {
                Some(tag) => row.string("Tag", tag),
                None => row.null("Tag"),
            }
            row.string("Timestamp", &query.time_text(entry.at));
            row.array("Values", |list| {
                entry
                    .values
                    .iter()
                    .for_each(|value| list.double(value * scale));
            });
            row.bool("IsRollup", is_rolled_up(&query.name));
        });
    }

    /// Makes the span of `at` the present one; the key that an entry of it has, as JSON.
    fn move_to<'v>(&mut self, at: i64, key: impl FnOnce(&SeriesKey) -> Value<'v>) -> Vec<u8> {
        let Some(grouping) = &self.query.grouping else {
            let first = self.times.map_or(at, |(first, _)| first);
            self.times = Some((first, at));
            return b"null".to_vec();
        };
        let is_inside = self
            .times
            .is_some_and(|(start, end)| (start..end).contains(&at));
        if !is_inside {
            self.close();
            // Spans begin and end where the clocks of the zone say so.
            let offset = self.query.offset.unwrap_or(0);
            let start = grouping.period.floor(at.saturating_add(offset));
            let end = grouping.period.after(start);
            self.times = Some((start.saturating_sub(offset), end.saturating_sub(offset)));
        }
        let mut json = Vec::new();
        key(&grouping.key).write_json(&mut json);
        json
    }

    /// Finishes the groups of the present span.
    fn close(&mut self) {
        let Some((from, to)) = self.times else {
            return;
        };
        let aggregates = self.query.aggregates.as_deref().unwrap_or(&[]);
        for open in self.open.drain(..) {
            self.done.push(Done {
                from,
                to,
                key: open.key,
                numbers: open.values.finish(aggregates, to - from, self.query.scale),
            });
        }
    }

    fn finish(&mut self) -> Result<SeriesAnswer, QueryError> {
        let query = self.query;
        if query.aggregates.is_none() {
            let mut results = vec![b'['];
            results.append(&mut self.raw);
            results.push(b']');
            return Ok(SeriesAnswer {
                count: self.taken,
                results,
            });
        }
        self.close();
        let grouping = query.grouping.as_ref();
        let interpolation = grouping.and_then(|grouping| grouping.interpolation);
        if let (Some(grouping), Some(interpolation)) = (grouping, interpolation) {
            self.fill(grouping.period, interpolation)?;
        }
        let mut results = Vec::new();
        write_array(&mut results, |list| {
            self.done
                .iter()
                .for_each(|done| query.push_group(done, self.shown_range, list));
        });
        Ok(SeriesAnswer {
            count: match interpolation {
                Some(_) => self.done.iter().map(|done| done.numbers.count()).sum(),
                None => self.taken,
            },
            results,
        })
    }

    /// Fills spans without entries between two groups of the same key.
    fn fill(&mut self, period: Period, interpolation: Interpolation) -> Result<(), QueryError> {
        let mut filled = Vec::new();
        for (position, next) in self.done.iter().enumerate() {
            let before = self.done[..position].iter().rev();
            let Some(last) = before.into_iter().find(|done| done.key == next.key) else {
                continue;
            };
            let (mut from, gap) = (last.to, (next.from - last.from) as f64);
            while from < next.from {
                let offset = self.query.offset.unwrap_or(0);
                let to = period.after(from.saturating_add(offset)) - offset;
                let part = (from - last.from) as f64 / gap;
                self.kept_bytes += 2 * RESULT_BYTES;
                self.charge.set(self.kept_bytes)?;
                self.options.check()?;
                filled.push(Done {
                    from,
                    to,
                    key: next.key.clone(),
                    numbers: match interpolation {
                        Interpolation::Linear => last.numbers.between(&next.numbers, part),
                        Interpolation::Nearest if part > 0.5 => next.numbers.clone(),
                        Interpolation::Next => next.numbers.clone(),
                        Interpolation::Nearest | Interpolation::Last => last.numbers.clone(),
                    },
                });
                from = to;
            }
        }
        self.done.append(&mut filled);
        self.done.sort_by_key(|done| done.from);
        Ok(())
    }
}

impl SeriesQuery {
    /// Whether the documents that tags name are read.
    fn reads_tags(&self) -> bool {
        let groups = self.grouping.as_ref();
        groups.is_some_and(|grouping| matches!(grouping.key, SeriesKey::TagDocument(_)))
            || self.condition.as_ref().is_some_and(reads_tags)
    }

    /// A time as rows show it: of another zone when the query shifts times.
    fn time_text(&self, at: i64) -> String {
        let mut text = self.shifted_text(at);
        if self.offset.is_some() {
            text.pop();
        }
        text
    }

    fn shifted_text(&self, at: i64) -> String {
        let shifted = at.saturating_add(self.offset.unwrap_or(0));
        UnixTicks(shifted.saturating_mul(10_000)).to_string()
    }

    fn push_group(
        &self,
        done: &Done,
        range: (Option<i64>, Option<i64>),
        list: &mut ArrayWriter<'_>,
    ) {
        list.object(|row| {
            match self.grouping {
                Some(_) => {
                    row.string("From", &self.time_text(done.from));
                    row.string("To", &self.time_text(done.to));
                }
                // Clients read these with the Z, shifted or not.
                None => {
                    for (name, end) in [("From", range.0), ("To", range.1)] {
                        match end {
                            Some(at) => row.string(name, &self.shifted_text(at)),
                            None => row.null(name),
                        }
                    }
                }
            }
            row.raw("Key", &done.key);
            done.numbers.push(row);
        });
    }
}

fn reads_tags(filter: &Filter<EntryOperand>) -> bool {
    let is_of_tag = |operand: &EntryOperand| matches!(operand, EntryOperand::TagDocument(_));
    match filter {
        Filter::Everything => false,
        Filter::Not(inner) => reads_tags(inner),
        Filter::And(list) | Filter::Or(list) => list.iter().any(reads_tags),
        Filter::Compare(left, _, right)
        | Filter::StartsWith(left, right)
        | Filter::EndsWith(left, right) => is_of_tag(left) || is_of_tag(right),
        Filter::Between(value, low, high) => [value, low, high].into_iter().any(is_of_tag),
        Filter::OneOf(value, _) | Filter::AllOf(value, _) | Filter::Exists(value) => {
            is_of_tag(value)
        }
    }
}

/// Calls `test` with the value of an operand for one entry.
fn with_operand(
    operand: &EntryOperand,
    entry: &SeriesEntry<'_>,
    tag_document: Option<&StoredDocument<'_>>,
    row: Row<'_>,
    test: &dyn Fn(FilterValue<'_>) -> bool,
) -> bool {
    match operand {
        EntryOperand::Constant(constant) => test(constant.found()),
        EntryOperand::Timestamp => test(FilterValue::Number(jackdaw_base::number::Number::Long(
            entry.at,
        ))),
        EntryOperand::Tag => test(entry.tag.map_or(FilterValue::Null, FilterValue::Text)),
        EntryOperand::Value(position) => {
            let value = entry.values.get(*position);
            let number = value.and_then(|value| jackdaw_base::number::Number::from_f64(*value));
            test(number.map_or(FilterValue::Missing, FilterValue::Number))
        }
        EntryOperand::TagDocument(path) => match tag_document {
            Some(document) => with_field(path, document, test),
            None => test(FilterValue::Missing),
        },
        EntryOperand::Field(owner, path) => match row.owner(*owner) {
            Some(document) => with_field(path, document, test),
            None => test(FilterValue::Missing),
        },
    }
}

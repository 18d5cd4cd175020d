//! `/databases/*/timeseries`: values of documents over time.
//!
//! Also the parts of batches, bulk inserts and loads that are about time series. Times on the wire
//! are dates; they are cut to milliseconds, as the stored ones are.

use std::collections::HashSet;
use std::sync::Arc;

use hyper::StatusCode;
use jackdaw_base::time::UnixTicks;
use jackdaw_database::{
    Command, DocumentNumber, DocumentRow, Origin, SeriesAppend, SeriesChange, SeriesEntry,
    SeriesInfo, Snapshot,
};
use jackdaw_document::{
    Array, Object, ObjectWriter, Value, push_double, write_object, write_string,
};

use super::compare_exchange::push_name;
use super::documents::{hash_of, not_modified, snapshot};
use super::queries::long;
use super::{failure, input, writing};
use crate::http::{Call, ChunkWriter, Pending, Reply, Sink};
use crate::wire::{QueryString, WireError, kind};

const TICKS_PER_MILLISECOND: i64 = 10_000;
/// What names of series that are added to begin with.
const INCREMENTAL: &str = "INC:";
/// The name that stands for all series of a document.
const ALL: &str = "@all_timeseries";

/// A moment of the wire in milliseconds since 1970.
fn milliseconds(text: &str) -> Result<i64, WireError> {
    let parsed = UnixTicks::parse(text.trim());
    let parsed = parsed.ok_or_else(|| {
        let message = format!("String '{text}' was not recognized as a valid DateTime.");
        WireError::new(kind::FORMAT, message)
    })?;
    Ok(parsed.0.div_euclid(TICKS_PER_MILLISECOND))
}

pub(super) fn moment(milliseconds: i64) -> String {
    UnixTicks(milliseconds.saturating_mul(TICKS_PER_MILLISECOND)).to_string()
}

/// One end of a range, in the text it was given in too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Bound(Option<(i64, String)>);

impl Bound {
    fn read(text: &str) -> Result<Bound, WireError> {
        if text.is_empty() {
            return Ok(Bound(None));
        }
        let given = UnixTicks::parse(text.trim()).map(|ticks| ticks.to_string());
        let at = milliseconds(text)?;
        Ok(Bound(Some((at, given.unwrap_or_default()))))
    }

    fn at(&self, unbounded: i64) -> i64 {
        self.0.as_ref().map_or(unbounded, |(at, _)| *at)
    }

    fn text(&self) -> Option<String> {
        self.0.as_ref().map(|(_, text)| text.clone())
    }
}

/// A range of one series.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Range {
    name: String,
    from: Bound,
    to: Bound,
}

/// What is told of a range. Its entries are read when they are written, so that a long range is
/// never in memory as a whole.
struct Part {
    from: Option<String>,
    to: Option<String>,
    chosen: Option<Chosen>,
    total: Option<u64>,
}

/// Entries of one series, oldest first.
struct Chosen {
    series: SeriesInfo,
    from: i64,
    to: i64,
    /// Entries passed at the start.
    skip: usize,
    /// Most entries told.
    most: usize,
}

impl Chosen {
    fn entries<'s>(
        &'s self,
        snapshot: &'s Snapshot,
    ) -> Result<impl Iterator<Item = Result<SeriesEntry, WireError>> + 's, WireError> {
        let read = |error| failure::read(&error);
        let entries = snapshot.series_entries(&self.series, self.from, self.to);
        let entries = entries.map_err(read)?.skip(self.skip).take(self.most);
        Ok(entries.map(move |entry| entry.map_err(read)))
    }
}

/// How much of a range is wanted; shared by the ranges of a request.
struct Page {
    start: usize,
    size: usize,
}

impl Page {
    fn read(query: QueryString<'_>) -> Page {
        let number = |name: &str| query.number(name).and_then(|n| usize::try_from(n).ok());
        Page {
            start: number("start").unwrap_or(0),
            size: number("pageSize").unwrap_or(usize::MAX),
        }
    }
}

fn read_range(
    snapshot: &Snapshot,
    series: Option<&SeriesInfo>,
    range: &Range,
    page: &mut Page,
) -> Result<Part, WireError> {
    let initial_start = page.start;
    let mut part = Part {
        from: range.from.text(),
        to: range.to.text(),
        chosen: None,
        total: None,
    };
    let Some(series) = series else {
        return Ok(part);
    };
    let (from, to) = (range.from.at(i64::MIN), range.to.at(i64::MAX));
    part.total = (from <= series.first && to >= series.last).then_some(series.count);
    part.chosen = Some(Chosen {
        series: series.clone(),
        from,
        to,
        skip: initial_start,
        most: page.size,
    });
    if page.start == 0 && page.size == usize::MAX {
        return Ok(part);
    }
    let (mut last_passed, mut first, mut last) = (None, None, None);
    let mut has_more = false;
    let read = |error| failure::read(&error);
    for entry in snapshot.series_entries(series, from, to).map_err(read)? {
        let at = entry.map_err(read)?.at;
        if page.start > 0 {
            page.start -= 1;
            last_passed = Some(at);
            continue;
        }
        if page.size == 0 {
            has_more = true;
            break;
        }
        page.size -= 1;
        first = first.or(Some(at));
        last = Some(at);
    }
    if initial_start > 0 {
        part.from = first.or(last_passed).map(moment).or(part.from);
    }
    if has_more && let Some(last) = last {
        part.to = Some(moment(last));
    }
    Ok(part)
}

/// What is told beside entries.
struct Shown<'s> {
    origin: &'s Origin,
    full: bool,
    /// Documents told with each range.
    includes: Option<Vec<(String, Option<DocumentRow<'s>>)>>,
    /// Etags of these documents.
    etags: Vec<u64>,
}

fn push_part(
    snapshot: &Snapshot,
    out: &mut dyn Sink,
    name: &str,
    part: &Part,
    shown: &Shown<'_>,
) -> Result<(), WireError> {
    let text = |object: &mut ObjectWriter<'_>, member: &str, value: &Option<String>| match value {
        Some(value) => object.string(member, value),
        None => object.null(member),
    };
    write_object(out.buffer(), |object| {
        text(object, "From", &part.from);
        text(object, "To", &part.to);
    });
    // The object goes on.
    out.buffer().pop();
    out.buffer().extend_from_slice(b",\"Entries\":[");
    if let Some(chosen) = &part.chosen {
        for (slot, entry) in chosen.entries(snapshot)?.enumerate() {
            let entry = entry?;
            if slot > 0 {
                out.buffer().push(b',');
            }
            write_object(out.buffer(), |row| push_entry(row, &entry, name, shown));
            out.checkpoint()?;
        }
    }
    out.buffer().push(b']');
    if let Some(total) = part.total {
        let total = format!(",\"TotalResults\":{total}");
        out.buffer().extend_from_slice(total.as_bytes());
    }
    if let Some(included) = &shown.includes {
        out.buffer().extend_from_slice(b",\"Includes\":{");
        for (slot, (id, row)) in included.iter().enumerate() {
            out.announce(row.as_ref().map_or(0, |row| row.body().as_bytes().len()))?;
            push_name(out.buffer(), slot, id);
            match row {
                Some(row) => row.write_json(out.buffer()),
                None => out.buffer().extend_from_slice(b"null"),
            }
            out.checkpoint()?;
        }
        out.buffer().push(b'}');
    }
    out.buffer().push(b'}');
    Ok(())
}

/// Whether policies made the series.
fn is_rolled_up(name: &str) -> bool {
    name.contains('@')
}

fn is_incremental(name: &str) -> bool {
    let start = name.get(..INCREMENTAL.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(INCREMENTAL)) && !is_rolled_up(name)
}

fn push_entry(row: &mut ObjectWriter<'_>, entry: &SeriesEntry, name: &str, shown: &Shown<'_>) {
    let is_incremental = is_incremental(name);
    row.string("Timestamp", &moment(entry.at));
    match &entry.tag {
        Some(tag) => row.string("Tag", tag),
        None if is_incremental => row.string("Tag", &format!("TC:INC-{}", shown.origin.database())),
        None => row.null("Tag"),
    }
    let values = numbers(&entry.values);
    row.raw("Values", &values);
    row.bool("IsRollup", is_rolled_up(name));
    if is_incremental && shown.full {
        row.object("NodeValues", |nodes| {
            nodes.raw(&shown.origin.node_and_database(), &values);
        });
    }
}

/// Values as a JSON array; whole ones without a fraction.
fn numbers(values: &[f64]) -> Vec<u8> {
    let mut out = vec![b'['];
    for (slot, value) in values.iter().enumerate() {
        if slot > 0 {
            out.push(b',');
        }
        let start = out.len();
        push_double(&mut out, *value);
        if out[start..].ends_with(b".0") {
            out.truncate(out.len() - 2);
        }
    }
    out.push(b']');
    out
}

fn required(call: &Call, name: &str) -> Result<String, WireError> {
    let value = call.query().filled(name);
    value
        .map(|value| value.into_owned())
        .ok_or_else(|| WireError::empty_parameter(name))
}

/// `GET /databases/*/timeseries?docId=&name=&from=&to=&start=&pageSize=&full=`
pub(super) fn get(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let query = call.query();
    let (id, name) = (required(call, "docId")?, required(call, "name")?);
    let snapshot = snapshot(call)?;
    let Some((number, series)) = find(&snapshot, &id, &name)? else {
        out.head = Reply::empty(StatusCode::NOT_FOUND);
        return Ok(());
    };
    let range = Range {
        name,
        from: Bound::read(&query.first("from").unwrap_or_default())?,
        to: Bound::read(&query.first("to").unwrap_or_default())?,
    };
    let part = read_range(&snapshot, Some(&series), &range, &mut Page::read(query))?;
    let shown = shown(call, &snapshot, number, [&part].into_iter())?;
    let etags = shown.etags.iter().copied();
    let etag = hash_of(&snapshot, [series.etag.0].into_iter().chain(etags));
    if not_modified(call, &etag, out) {
        return Ok(());
    }
    push_part(&snapshot, out, &range.name, &part, &shown)
}

fn find(
    snapshot: &Snapshot,
    id: &str,
    name: &str,
) -> Result<Option<(DocumentNumber, SeriesInfo)>, WireError> {
    let read = |error| failure::read(&error);
    let Some(number) = snapshot.number(id).map_err(read)? else {
        return Ok(None);
    };
    let series = snapshot.series(number, name).map_err(read)?;
    Ok(series.map(|series| (number, series)))
}

/// The document and what tags name, as the client asked.
fn shown<'s, 'p>(
    call: &Call,
    snapshot: &'s Snapshot,
    number: DocumentNumber,
    parts: impl Iterator<Item = &'p Part>,
) -> Result<Shown<'s>, WireError> {
    let query = call.query();
    let (document, tags) = (query.flag("includeDocument"), query.flag("includeTags"));
    let mut includes = None;
    let mut etags = Vec::new();
    if document || tags {
        let read = |error| failure::read(&error);
        let mut found = Vec::new();
        if document && let Some(row) = snapshot.get_by_number(number).map_err(read)? {
            found.push((row.id().to_owned(), Some(row)));
        }
        let mut seen = HashSet::new();
        for chosen in parts.filter_map(|part| part.chosen.as_ref().filter(|_| tags)) {
            for entry in chosen.entries(snapshot)? {
                if let Some(tag) = entry?.tag
                    && seen.insert(tag.to_lowercase())
                {
                    let row = snapshot.get(&tag).map_err(read)?;
                    found.push((tag, row));
                }
            }
        }
        let rows = found.iter().map(|(_, row)| row.as_ref());
        etags.extend(rows.map(|row| row.map_or(0, |row| row.etag().0)));
        includes = Some(found);
    }
    Ok(Shown {
        origin: snapshot.origin(),
        full: query.flag("full"),
        includes,
        etags,
    })
}

/// `GET /databases/*/timeseries/ranges?docId=&name=&from=&to=` (the last three repeated)
///
/// A range that is asked for again is told once, unless the request is for a page.
pub(super) fn ranges(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let query = call.query();
    let id = required(call, "docId")?;
    let bounds = |name| -> Result<Vec<Bound>, WireError> {
        query.all(name).map(|text| Bound::read(&text)).collect()
    };
    let (froms, tos) = (bounds("from")?, bounds("to")?);
    let names: Vec<String> = query.all("name").map(|name| name.into_owned()).collect();
    if names.is_empty() || froms.len() != names.len() || tos.len() != names.len() {
        let message = "Each 'name' needs a 'from' and a 'to', which may be empty.";
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    let snapshot = snapshot(call)?;
    let number = snapshot
        .number(&id)
        .map_err(|error| failure::read(&error))?;
    let Some(number) = number else {
        out.head = Reply::empty(StatusCode::NOT_FOUND);
        return Ok(());
    };
    let mut page = Page::read(query);
    let is_all = page.start == 0 && page.size == usize::MAX;
    let mut asked = HashSet::new();
    let mut parts: Vec<(String, Vec<Part>)> = Vec::new();
    let mut etags = Vec::new();
    for ((name, from), to) in names.into_iter().zip(froms).zip(tos) {
        if page.size == 0 {
            break;
        }
        if is_all && !asked.insert((name.clone(), from.clone(), to.clone())) {
            continue;
        }
        let series = snapshot
            .series(number, &name)
            .map_err(|error| failure::read(&error))?;
        let is_unbounded = from.0.is_none() && to.0.is_none();
        if series.is_none() && is_unbounded {
            out.head = Reply::empty(StatusCode::NOT_FOUND);
            return Ok(());
        }
        etags.extend(series.as_ref().map(|series| series.etag.0));
        let range = Range { name, from, to };
        let part = read_range(&snapshot, series.as_ref(), &range, &mut page)?;
        match parts.iter_mut().find(|(name, _)| *name == range.name) {
            Some((_, list)) => list.push(part),
            None => parts.push((range.name, vec![part])),
        }
    }
    let all = parts.iter().flat_map(|(_, list)| list);
    let shown = shown(call, &snapshot, number, all)?;
    let etags = etags.into_iter().chain(shown.etags.iter().copied());
    let etag = hash_of(&snapshot, etags);
    let head = std::mem::replace(&mut out.head, Reply::empty(StatusCode::OK));
    out.head = head.with_etag(&etag);
    out.buffer.extend_from_slice(b"{\"Id\":");
    write_string(&mut out.buffer, &id);
    out.buffer.extend_from_slice(b",\"Values\":");
    push_parts(&snapshot, out, &parts, &shown)?;
    out.buffer.push(b'}');
    Ok(())
}

/// An object of series, each with its ranges.
fn push_parts(
    snapshot: &Snapshot,
    out: &mut dyn Sink,
    parts: &[(String, Vec<Part>)],
    shown: &Shown<'_>,
) -> Result<(), WireError> {
    out.buffer().push(b'{');
    for (slot, (name, list)) in parts.iter().enumerate() {
        push_name(out.buffer(), slot, name);
        out.buffer().push(b'[');
        for (slot, part) in list.iter().enumerate() {
            if slot > 0 {
                out.buffer().push(b',');
            }
            push_part(snapshot, out, name, part, shown)?;
        }
        out.buffer().push(b']');
    }
    out.buffer().push(b'}');
    Ok(())
}

/// `GET /databases/*/timeseries/stats?docId=`
pub(super) fn statistics(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let id = required(call, "docId")?;
    let snapshot = snapshot(call)?;
    let read = |error| failure::read(&error);
    let Some(number) = snapshot.number(&id).map_err(read)? else {
        out.head = Reply::empty(StatusCode::NOT_FOUND);
        return Ok(());
    };
    let all = snapshot.all_series(number).map_err(read)?;
    let names = all.iter().map(|series| series.name.len());
    out.hold(size_of_val(&all[..]) + names.sum::<usize>())?;
    out.buffer.extend_from_slice(b"{\"DocumentId\":");
    write_string(&mut out.buffer, &id);
    out.buffer.extend_from_slice(b",\"TimeSeries\":[");
    for (slot, series) in all.iter().enumerate() {
        if slot > 0 {
            out.buffer.push(b',');
        }
        write_object(&mut out.buffer, |row| {
            row.string("Name", &series.name);
            row.long("NumberOfEntries", long(series.count));
            row.string("StartDate", &moment(series.first));
            row.string("EndDate", &moment(series.last));
        });
        out.checkpoint()?;
    }
    out.buffer.extend_from_slice(b"]}");
    Ok(())
}

/// `POST /databases/*/timeseries?docId=` with `{Name, Appends, Deletes, Increments}`
pub(super) fn post(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let command = writing::prepare(&call, |call| {
            let id = required(call, "docId")?;
            let mut parser = input::parser(call);
            let body = input::object(call, &mut parser)?;
            read_change(id, body)
        })
        .await?;
        writing::write(&call, &database, vec![command]).await?;
        Ok(Reply::empty(StatusCode::NO_CONTENT))
    })
}

fn missing(member: &str) -> WireError {
    let message = format!("A time series command must have a '{member}' property.");
    WireError::new(kind::INVALID_OPERATION, message)
}

/// The `TimeSeries` commands of a batch.
pub(super) fn read_command(command: Object<'_>) -> Result<Command, WireError> {
    let id = input::text(command, "Id")?.unwrap_or("").to_owned();
    let series = command
        .get("TimeSeries")
        .and_then(|series| series.as_object());
    read_change(id, series.ok_or_else(|| missing("TimeSeries"))?)
}

/// The `TimeSeriesCopy` command of a batch.
pub(super) fn read_copy(command: Object<'_>) -> Result<Command, WireError> {
    let text = |name: &'static str| {
        let text = input::text(command, name)?;
        text.map(str::to_owned).ok_or_else(|| missing(name))
    };
    let at = |name| input::text(command, name)?.map(milliseconds).transpose();
    Ok(Command::SeriesCopy {
        id: text("Id")?,
        name: text("Name")?,
        destination_id: text("DestinationId")?,
        destination_name: text("DestinationName")?,
        from: at("From")?,
        to: at("To")?,
    })
}

fn read_change(id: String, series: Object<'_>) -> Result<Command, WireError> {
    let name = input::text(series, "Name")?.ok_or_else(|| missing("Name"))?;
    let in_milliseconds = input::text(series, "TimeFormat")? == Some("UnixTimeInMs");
    let mut change = SeriesChange::default();
    for item in list(series, "Appends") {
        change.appends.push(match item {
            Value::Array(array) => read_compact(array, in_milliseconds)?,
            Value::Object(object) => read_append(object)?,
            _ => return Err(missing("Appends")),
        });
    }
    for item in list(series, "Deletes") {
        let item = item.as_object().ok_or_else(|| missing("Deletes"))?;
        let at = |name| input::text(item, name)?.map(milliseconds).transpose();
        change.deletes.push((at("From")?, at("To")?));
    }
    if !is_incremental(name) && list(series, "Increments").next().is_some() {
        let message = format!(
            "Cannot perform increment operations on Non Incremental Time Series: the name '{name}' \
             does not begin with 'INC:'."
        );
        return Err(WireError::new(kind::INVALID_OPERATION, message));
    }
    for item in list(series, "Increments") {
        let item = item.as_object().ok_or_else(|| missing("Increments"))?;
        let append = read_append(item)?;
        change.increments.push((append.at, append.values));
    }
    // A series that is added to may be given its increments as appends, by a bulk insert.
    if is_incremental(name) && in_milliseconds {
        let appends = std::mem::take(&mut change.appends).into_iter();
        change
            .increments
            .extend(appends.map(|append| (append.at, append.values)));
    }
    let name = name.to_owned();
    Ok(Command::Series { id, name, change })
}

fn list<'d>(series: Object<'d>, name: &str) -> impl Iterator<Item = Value<'d>> + use<'d> {
    let list = series.get(name).and_then(|list| list.as_array());
    list.into_iter().flat_map(|list| list.iter())
}

fn read_append(item: Object<'_>) -> Result<SeriesAppend, WireError> {
    let at = input::text(item, "Timestamp")?.ok_or_else(|| missing("Timestamp"))?;
    let values = list(item, "Values").map(|value| number(value));
    Ok(SeriesAppend {
        at: milliseconds(at)?,
        values: values.collect::<Result<_, _>>()?,
        tag: input::text(item, "Tag")?.map(str::to_owned),
    })
}

/// Null, which bulk inserts write for a value that nobody gave, is 0.
fn number(value: Value<'_>) -> Result<f64, WireError> {
    match value {
        Value::Null => Some(0.0),
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    }
    .ok_or_else(|| {
        let message = format!(
            "Values of a time series are numbers, but got {}",
            input::token(value)
        );
        WireError::new(kind::FORMAT, message)
    })
}

/// `[time, count, value.., tag?]`, as bulk inserts write entries.
fn read_compact(item: Array<'_>, in_milliseconds: bool) -> Result<SeriesAppend, WireError> {
    let malformed = || {
        let message = "An entry of a bulk insert is [time, count of values, values.., tag].";
        WireError::new(kind::FORMAT, message)
    };
    let time = item
        .get(0)
        .and_then(|time| time.as_i64())
        .ok_or_else(malformed)?;
    let count = item
        .get(1)
        .and_then(|count| count.as_i64())
        .ok_or_else(malformed)?;
    let count = usize::try_from(count).map_err(|_| malformed())?;
    let values = (2..count.min(item.len()).saturating_add(2))
        .map(|slot| item.get(slot).ok_or_else(malformed).and_then(number))
        .collect::<Result<_, _>>()?;
    let tag = item
        .get(count.saturating_add(2))
        .and_then(|tag| tag.as_str());
    Ok(SeriesAppend {
        at: if in_milliseconds {
            time
        } else {
            time / TICKS_PER_MILLISECOND
        },
        values,
        tag: tag.map(str::to_owned),
    })
}

/// One kind of range that a load wants beside its documents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Wish {
    Between(Range),
    /// The last so many milliseconds before the last entry.
    LastTime(String, i64),
    LastCount(String, usize),
}

/// The time series that a load wants beside its documents.
pub(super) struct Wanted(Vec<Wish>);

impl Wanted {
    /// Reads `timeseries=&from=&to=`, `timeseriestime=&timeType=&timeValue=&timeUnit=` and
    /// `timeseriescount=&countType=&countValue=`, each repeated; `None` without them.
    pub(super) fn read(query: QueryString<'_>) -> Result<Option<Wanted>, WireError> {
        let all =
            |name: &str| -> Vec<String> { query.all(name).map(|text| text.into_owned()).collect() };
        let mut wishes = Vec::new();
        let (froms, tos) = (all("from"), all("to"));
        for (slot, name) in all("timeseries").into_iter().enumerate() {
            let bound = |list: &[String]| Bound::read(list.get(slot).map_or("", String::as_str));
            wishes.push(Wish::Between(Range {
                name,
                from: bound(&froms)?,
                to: bound(&tos)?,
            }));
        }
        let (amounts, units) = (all("timeValue"), all("timeUnit"));
        for (slot, name) in all("timeseriestime").into_iter().enumerate() {
            let amount: i64 = amounts
                .get(slot)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            let unit = units.get(slot).map_or("", String::as_str);
            wishes.push(Wish::LastTime(
                name,
                amount.saturating_mul(unit_milliseconds(unit)?),
            ));
        }
        let counts = all("countValue");
        for (slot, name) in all("timeseriescount").into_iter().enumerate() {
            let count = counts
                .get(slot)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            wishes.push(Wish::LastCount(name, count));
        }
        let mut seen = HashSet::new();
        wishes.retain(|wish| seen.insert(wish.clone()));
        Ok((!wishes.is_empty()).then_some(Wanted(wishes)))
    }

    /// Reads the arguments of `timeseries(name, from, to)`, or of `timeseries(name, last(..))` with
    /// the arguments of `last`.
    pub(super) fn from_texts(
        texts: &[Option<String>],
        last: Option<&[Option<String>]>,
    ) -> Result<Wanted, WireError> {
        let text = |list: &[Option<String>], slot: usize| list.get(slot).cloned().flatten();
        let Some(last) = last else {
            // Without a name the range is of all series.
            let (name, rest) = match texts {
                [Some(name), rest @ ..] if rest.len() != 1 => (name.clone(), rest),
                rest => (ALL.to_owned(), rest),
            };
            let bound = |slot| Bound::read(&text(rest, slot).unwrap_or_default());
            let (from, to) = (bound(0)?, bound(1)?);
            return Ok(Wanted(vec![Wish::Between(Range { name, from, to })]));
        };
        let name = text(texts, 0).unwrap_or_else(|| ALL.to_owned());
        let amount = text(last, 0)
            .and_then(|text| text.parse::<i64>().ok())
            .unwrap_or(0);
        Ok(Wanted(vec![match text(last, 1) {
            Some(unit) => Wish::LastTime(name, amount.saturating_mul(unit_milliseconds(&unit)?)),
            None => Wish::LastCount(name, usize::try_from(amount).unwrap_or(0)),
        }]))
    }

    /// Appends `,"TimeSeriesIncludes":{..}` for documents by id and number.
    pub(super) fn push<'d>(
        &self,
        snapshot: &Snapshot,
        documents: impl Iterator<Item = (&'d str, DocumentNumber)>,
        out: &mut dyn Sink,
    ) -> Result<(), WireError> {
        let mut found = Vec::new();
        for (id, number) in documents {
            let mut parts = Vec::new();
            self.add_parts(snapshot, number, &mut parts)?;
            found.push((id, parts));
        }
        push_found(snapshot, &found, out)
    }

    /// Adds what is wanted of a document to the parts of its series.
    fn add_parts(
        &self,
        snapshot: &Snapshot,
        number: DocumentNumber,
        parts: &mut Vec<(String, Vec<Part>)>,
    ) -> Result<(), WireError> {
        for wish in &self.0 {
            for (name, part) in gather(snapshot, number, wish)? {
                let known = parts
                    .iter_mut()
                    .find(|(known, _)| known.eq_ignore_ascii_case(&name));
                match known {
                    Some((_, list)) => list.push(part),
                    None => parts.push((name, vec![part])),
                }
            }
        }
        Ok(())
    }
}

/// Appends `,"TimeSeriesIncludes":{..}` with what is wanted of documents by id.
pub(super) fn push_includes(
    snapshot: &Snapshot,
    wishes: &[(&Wanted, &[String])],
    out: &mut dyn Sink,
) -> Result<(), WireError> {
    let mut found: Vec<(&str, FoundSeries)> = Vec::new();
    for (wanted, ids) in wishes {
        for id in *ids {
            let number = snapshot.number(id).map_err(|error| failure::read(&error))?;
            let Some(number) = number else { continue };
            let slot = found.iter().position(|(known, _)| known == id);
            let slot = slot.unwrap_or_else(|| {
                found.push((id, Vec::new()));
                found.len() - 1
            });
            wanted.add_parts(snapshot, number, &mut found[slot].1)?;
        }
    }
    push_found(snapshot, &found, out)
}

/// Series of a document by name, each with its parts.
type FoundSeries = Vec<(String, Vec<Part>)>;

fn push_found(
    snapshot: &Snapshot,
    found: &[(&str, FoundSeries)],
    out: &mut dyn Sink,
) -> Result<(), WireError> {
    let shown = Shown {
        origin: snapshot.origin(),
        full: false,
        includes: None,
        etags: Vec::new(),
    };
    out.buffer().extend_from_slice(b",\"TimeSeriesIncludes\":{");
    for (slot, (id, parts)) in found.iter().enumerate() {
        push_name(out.buffer(), slot, id);
        push_parts(snapshot, out, parts, &shown)?;
    }
    out.buffer().push(b'}');
    Ok(())
}

/// The parts that one wish gives for a document; several when it is about all series.
fn gather(
    snapshot: &Snapshot,
    number: DocumentNumber,
    wish: &Wish,
) -> Result<Vec<(String, Part)>, WireError> {
    let read = |error| failure::read(&error);
    let name = match wish {
        Wish::Between(range) => &range.name,
        Wish::LastTime(name, _) | Wish::LastCount(name, _) => name,
    };
    let mut parts = Vec::new();
    let chosen: Vec<(String, Option<SeriesInfo>)> = match name.eq_ignore_ascii_case(ALL) {
        true => {
            let all = snapshot.all_series(number).map_err(read)?;
            all.into_iter()
                .map(|series| (series.name.clone(), Some(series)))
                .collect()
        }
        false => vec![(name.clone(), snapshot.series(number, name).map_err(read)?)],
    };
    for (name, series) in chosen {
        let everything = || Page {
            start: 0,
            size: usize::MAX,
        };
        let part = match (wish, &series) {
            (Wish::Between(range), _) => {
                let mut part = read_range(snapshot, series.as_ref(), range, &mut everything())?;
                part.total = None;
                part
            }
            (_, None) => continue,
            (Wish::LastTime(_, length), Some(series)) => {
                let from = series.last.saturating_sub(*length);
                last_entries(snapshot, series, from, usize::MAX, Some(from))?
            }
            (Wish::LastCount(_, count), Some(series)) => {
                last_entries(snapshot, series, i64::MIN, *count, None)?
            }
        };
        parts.push((name, part));
    }
    Ok(parts)
}

/// The last entries of a series, at most `count`, none before `from`.
fn last_entries(
    snapshot: &Snapshot,
    series: &SeriesInfo,
    from: i64,
    count: usize,
    told_from: Option<i64>,
) -> Result<Part, WireError> {
    let read = |error| failure::read(&error);
    let entries = snapshot
        .series_entries(series, from, i64::MAX)
        .map_err(read)?;
    let first = entries.rev().take(count).last().transpose();
    let first = first.map_err(read)?.map(|entry| entry.at);
    Ok(Part {
        from: told_from.or(first).map(moment),
        to: None,
        chosen: first.map(|first| Chosen {
            series: series.clone(),
            from: first,
            to: i64::MAX,
            skip: 0,
            most: usize::MAX,
        }),
        total: None,
    })
}

fn unit_milliseconds(unit: &str) -> Result<i64, WireError> {
    const SECOND: i64 = 1_000;
    Ok(match unit.to_ascii_lowercase().as_str() {
        "millisecond" | "milliseconds" => 1,
        "second" | "seconds" => SECOND,
        "minute" | "minutes" => 60 * SECOND,
        "hour" | "hours" => 3_600 * SECOND,
        "day" | "days" => 86_400 * SECOND,
        "month" | "months" => 30 * 86_400 * SECOND,
        "quarter" | "quarters" => 90 * 86_400 * SECOND,
        "year" | "years" => 365 * 86_400 * SECOND,
        other => {
            let message = format!("'{other}' is no unit of time.");
            return Err(WireError::new(kind::ARGUMENT, message));
        }
    })
}

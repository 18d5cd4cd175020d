//! Answers of any length, written while they are read: `/databases/*/streams/docs` and
//! `/databases/*/streams/queries`.
//!
//! One snapshot serves the whole stream. With `format=jsonl` each document is a line of its own,
//! ended by CR LF; with `format=json` the answer to a query is one array; with `format=csv` a
//! table, see `csv`; otherwise an object with `Results` and nothing behind it, because clients stop
//! reading at the end of the list.
//!
//! What is told about a query stands before its rows on the wire, but is known after them: a
//! stream therefore runs the query twice, first without rows. Documents that change in between may
//! make the count differ from the rows by as many.

use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use jackdaw_database::{
    BoxError, QueryError, QueryRequest, QueryResult, RowBuffer, RowSink, StoredDocument,
};
use jackdaw_document::{ObjectWriter, write_object};
use jackdaw_query::syntax::{self, SourceName};
use serde_json::json;

use super::asked::Asked;
use super::csv::{RowError, Table};
use super::documents::{self, Unlisted};
use super::failure;
use super::queries::{NO_TIME, long};
use crate::http::{Call, ChunkWriter, Reply};
use crate::wire::{QueryString, WireError, kind};

/// How rows are set apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// One line a row.
    Lines,
    /// An array of rows.
    Array,
    /// An object that ends with an array of rows.
    Object,
    /// One line a row, one column a member.
    Table,
}

impl Format {
    /// The format asked for; unknown ones are the default.
    fn read(query: QueryString<'_>) -> Format {
        match query.first("format").as_deref() {
            Some("jsonl") => Format::Lines,
            Some("json") => Format::Array,
            Some("csv") => Format::Table,
            _ => Format::Object,
        }
    }

    fn start(self) -> &'static [u8] {
        match self {
            Format::Lines | Format::Table => b"",
            Format::Array => b"[",
            Format::Object => b"{\"Results\":[",
        }
    }

    fn before(self, slot: usize) -> &'static [u8] {
        match self {
            Format::Array | Format::Object if slot > 0 => b",",
            _ => b"",
        }
    }

    fn end(self) -> &'static [u8] {
        match self {
            Format::Lines | Format::Table => b"",
            Format::Array => b"]",
            Format::Object => b"]}",
        }
    }

    fn after(self) -> &'static [u8] {
        if self == Format::Lines { b"\r\n" } else { b"" }
    }
}

/// `GET` and `POST /databases/*/streams/queries?format=`
pub(super) fn queries(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let database = super::database(call)?;
    let asked = Asked::read(call)?;
    let source = source_of(&asked)?;
    let format = Format::read(call.query());
    let counting = QueryRequest {
        page_size: Some(0),
        interrupt: Some(&call.abandoned),
        ..asked.request()
    };
    let told = match database.query(&counting, &mut RowBuffer::default()) {
        Ok(told) => told,
        Err(QueryError::IndexMissing(name)) => {
            let body = json!({ "Error": format!("Index {name} does not exist") });
            out.head = Reply::value(&body);
            out.head.status = StatusCode::NOT_FOUND;
            return Ok(());
        }
        Err(error) => return Err(failure::query(&error, &asked)),
    };
    if format == Format::Table {
        let about = match source {
            SourceName::Collection(name) => format!("{name}_collection"),
            SourceName::Index(name) => format!("{name}_index"),
        };
        let mut rows = TableRows::begin(call, &about, out);
        let result = database.query(&asked.request(), &mut rows);
        return match (rows.refused, result) {
            (Some(refused), _) => Err(refused.into()),
            (None, result) => result
                .map(drop)
                .map_err(|error| failure::query(&error, &asked)),
        };
    }
    push_head(format, &told, &mut out.buffer);
    let mut rows = StreamedRows {
        out,
        format,
        count: 0,
    };
    let result = database.query(&asked.request(), &mut rows);
    result.map_err(|error| failure::query(&error, &asked))?;
    out.buffer.extend_from_slice(format.end());
    Ok(())
}

/// What is told about a query before its rows.
fn push_head(format: Format, told: &QueryResult, out: &mut Vec<u8>) {
    let mut statistics = Vec::new();
    write_object(&mut statistics, |object| push_statistics(object, told));
    match format {
        Format::Lines => {
            out.extend_from_slice(b"{\"Stats\":");
            out.extend_from_slice(&statistics);
            out.extend_from_slice(b"}\r\n");
        }
        Format::Object => {
            // The object goes on: its closing brace comes after the rows.
            statistics.pop();
            out.extend_from_slice(&statistics);
            out.extend_from_slice(b",\"Results\":[");
        }
        Format::Array | Format::Table => out.extend_from_slice(format.start()),
    }
}

fn push_statistics(object: &mut ObjectWriter<'_>, told: &QueryResult) {
    object.long("ResultEtag", told.result_etag);
    object.bool("IsStale", told.is_stale);
    object.string("IndexName", &told.index_name);
    object.long("TotalResults", told.outcome.total_results.map_or(-1, long));
    let moment = told.index_timestamp.map(|moment| moment.to_string());
    object.string(
        "IndexTimestamp",
        &moment.unwrap_or_else(|| format!("{NO_TIME}Z")),
    );
}

/// What a query reads; one with includes is refused.
fn source_of(asked: &Asked) -> Result<SourceName, WireError> {
    let parsed = syntax::parse(&asked.text);
    let parsed = parsed.map_err(|error| failure::query(&QueryError::Syntax(error), asked))?;
    if parsed.include.is_empty() {
        return Ok(parsed.from.source);
    }
    let message = "Includes are not supported by this type of query.";
    Err(WireError::new(kind::NOT_SUPPORTED, message))
}

/// Rows as they come, set apart as the format says.
struct StreamedRows<'o> {
    out: &'o mut ChunkWriter,
    format: Format,
    count: usize,
}

impl RowSink for StreamedRows<'_> {
    fn row(&mut self, _document: &StoredDocument<'_>, json: &[u8]) -> Result<(), BoxError> {
        self.out.announce(json.len())?;
        let buffer = &mut self.out.buffer;
        buffer.extend_from_slice(self.format.before(self.count));
        if self.format == Format::Lines {
            buffer.extend_from_slice(b"{\"Item\":");
            buffer.extend_from_slice(json);
            buffer.push(b'}');
        } else {
            buffer.extend_from_slice(json);
        }
        buffer.extend_from_slice(self.format.after());
        self.count += 1;
        Ok(self.out.checkpoint()?)
    }

    fn include(&mut self, _id: &str, _json: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }
}

/// Rows as lines of a table.
struct TableRows<'o> {
    out: &'o mut ChunkWriter,
    table: Table,
    /// Why a row could not be written.
    refused: Option<RowError>,
}

impl<'o> TableRows<'o> {
    /// Says in the head that a file follows, named by the database, what it is about and the time.
    fn begin(call: &Call, about: &str, out: &'o mut ChunkWriter) -> TableRows<'o> {
        let digits = |text: &str| {
            text.chars()
                .filter(char::is_ascii_digit)
                .collect::<String>()
        };
        let now = super::now();
        let (day, time) = now.split_once('T').unwrap_or((&now, ""));
        let (day, time) = (digits(day), digits(time.get(..5).unwrap_or("")));
        let (database, node) = (call.part(0), call.node_tag());
        let name = format!("{database}_{node}_{about}_{day}_{time}.csv");
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let name = name.replace(|letter| !is_plain(letter), "_");
        let disposition = format!("attachment; filename=\"{name}\"; filename*=UTF-8''{name}");
        out.set_header(CONTENT_DISPOSITION, &disposition);
        out.set_header(CONTENT_TYPE, "text/csv");
        let table = Table::new(call.shared.config.body_bytes_max);
        TableRows {
            out,
            table,
            refused: None,
        }
    }

    fn push(&mut self, json: &[u8]) -> Result<(), WireError> {
        self.table.push(json, &mut self.out.buffer)?;
        Ok(self.out.checkpoint()?)
    }
}

impl RowSink for TableRows<'_> {
    fn row(&mut self, _document: &StoredDocument<'_>, json: &[u8]) -> Result<(), BoxError> {
        if let Err(error) = self.table.push(json, &mut self.out.buffer) {
            let told = error.to_string();
            self.refused = Some(error);
            return Err(told.into());
        }
        Ok(self.out.checkpoint()?)
    }

    fn include(&mut self, _id: &str, _json: &[u8]) -> Result<(), BoxError> {
        Ok(())
    }
}

/// `GET /databases/*/streams/docs?format=`, with the parameters of a listing.
pub(super) fn documents(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let snapshot = documents::snapshot(call)?;
    // Clients that ask for JSON here read an object, not the array that a query gives.
    let format = match Format::read(call.query()) {
        Format::Array => Format::Object,
        other => other,
    };
    let listing = Unlisted::OldestFirst;
    if format == Format::Table {
        let mut rows = TableRows::begin(call, "documents", out);
        let mut json = Vec::new();
        return documents::each_listed(&snapshot, call.query(), listing, |document| {
            json.clear();
            document.write_json(&mut json);
            rows.push(&json)
        });
    }
    out.buffer.extend_from_slice(format.start());
    let mut count = 0;
    documents::each_listed(&snapshot, call.query(), listing, |document| {
        out.announce(document.body().as_bytes().len())?;
        out.buffer.extend_from_slice(format.before(count));
        document.write_json(&mut out.buffer);
        out.buffer.extend_from_slice(format.after());
        count += 1;
        Ok(out.checkpoint()?)
    })?;
    out.buffer.extend_from_slice(format.end());
    Ok(())
}

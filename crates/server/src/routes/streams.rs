//! Answers of any length, written while they are read: `/databases/*/streams/docs` and
//! `/databases/*/streams/queries`.
//!
//! One snapshot serves the whole stream. With `format=jsonl` each document is a line of its own,
//! ended by CR LF; with `format=json` the answer is one array; otherwise an object with `Results`
//! and nothing behind it, because clients stop reading at the end of the list.
//!
//! What is told about a query stands before its rows on the wire, but is known after them: a
//! stream therefore runs the query twice, first without rows. Documents that change in between may
//! make the count differ from the rows by as many.

use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use jackdaw_database::{
    BoxError, QueryError, QueryRequest, QueryResult, RowBuffer, RowSink, StoredDocument,
};
use jackdaw_document::{ObjectWriter, write_object};
use jackdaw_query::syntax;
use serde_json::json;

use super::asked::Asked;
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
}

impl Format {
    /// The format asked for; unknown ones are the default.
    fn read(query: QueryString<'_>) -> Format {
        match query.first("format").as_deref() {
            Some("jsonl") => Format::Lines,
            Some("json") => Format::Array,
            _ => Format::Object,
        }
    }

    fn before(self, slot: usize) -> &'static [u8] {
        if self == Format::Lines || slot == 0 {
            b""
        } else {
            b","
        }
    }

    fn end(self) -> &'static [u8] {
        match self {
            Format::Lines => b"",
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
    refuse_includes(&asked)?;
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
    begin(format, out);
    let mut statistics = Vec::new();
    write_object(&mut statistics, |object| push_statistics(object, &told));
    match format {
        Format::Lines => {
            out.buffer.extend_from_slice(b"{\"Stats\":");
            out.buffer.extend_from_slice(&statistics);
            out.buffer.extend_from_slice(b"}\r\n");
        }
        Format::Array => out.buffer.push(b'['),
        Format::Object => {
            // The object goes on: its closing brace comes after the rows.
            statistics.pop();
            out.buffer.extend_from_slice(&statistics);
            out.buffer.extend_from_slice(b",\"Results\":[");
        }
    }
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

fn refuse_includes(asked: &Asked) -> Result<(), WireError> {
    let parsed = syntax::parse(&asked.text);
    let parsed = parsed.map_err(|error| failure::query(&QueryError::Syntax(error), asked))?;
    if parsed.include.is_empty() {
        return Ok(());
    }
    let message = "Includes are not supported by this type of query.";
    Err(WireError::new(kind::NOT_SUPPORTED, message))
}

fn begin(format: Format, out: &mut ChunkWriter) {
    if format == Format::Lines {
        out.set_header(CONTENT_TYPE, "application/x-ndjson");
    }
}

/// Rows as they come, set apart as the format says.
struct StreamedRows<'o> {
    out: &'o mut ChunkWriter,
    format: Format,
    count: usize,
}

impl RowSink for StreamedRows<'_> {
    fn row(&mut self, _document: &StoredDocument<'_>, json: &[u8]) -> Result<(), BoxError> {
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

/// `GET /databases/*/streams/docs?format=`, with the parameters of a listing.
pub(super) fn documents(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let snapshot = documents::snapshot(call)?;
    let format = Format::read(call.query());
    begin(format, out);
    out.buffer.extend_from_slice(match format {
        Format::Lines => b"",
        Format::Array => b"[",
        Format::Object => b"{\"Results\":[",
    });
    let mut count = 0;
    documents::each_listed(&snapshot, call.query(), Unlisted::OldestFirst, |document| {
        out.buffer.extend_from_slice(format.before(count));
        document.write_json(&mut out.buffer);
        out.buffer.extend_from_slice(format.after());
        count += 1;
        Ok(out.checkpoint()?)
    })?;
    out.buffer.extend_from_slice(format.end());
    Ok(())
}

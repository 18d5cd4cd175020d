//! `/databases/*/queries`: RQL in, rows out.
//!
//! The query comes in a JSON body (POST) or in the URL (GET). Rows are written by the query engine
//! as they are found and are never held as anything but JSON text; what is told about the result
//! follows them. The `ETag` of an answer is a number without quotes, as clients expect it; one who
//! has it already gets 304. An answer so long that it leaves in pieces has none.

use hyper::StatusCode;
use hyper::header::{ETAG, IF_NONE_MATCH};
use jackdaw_base::time::UnixTicks;
use jackdaw_database::{
    BoxError, EMPTY_COLLECTION, QueryError, QueryRequest, QueryResult, RowBuffer, RowSink,
    StoredDocument,
};
use jackdaw_document::{ObjectWriter, Value, write_object};

use super::asked::Asked;
use super::compare_exchange::push_name;
use super::failure;
use super::including::{Included, Noting};
use crate::http::{Call, ChunkWriter, Outcome, Reply};
use crate::wire::{WireError, kind};

/// What stands for a moment that never was.
pub(super) const NO_TIME: &str = "0001-01-01T00:00:00.0000000";

/// `GET` and `POST /databases/*/queries`
pub(super) fn run(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let database = super::database(call)?;
    let asked = Asked::read(call)?;
    let query = call.query();
    if let Some(debug) = query.filled("debug") {
        out.head = explain(call, &asked, &debug)?;
        return Ok(());
    }
    let known_etag = call
        .unquoted(&IF_NONE_MATCH)
        .and_then(|etag| etag.parse().ok());
    let names_series = query.flag("addTimeSeriesNames");
    let request = QueryRequest {
        known_etag,
        marks_series: names_series,
        interrupt: Some(&call.abandoned),
        ..asked.request()
    };
    out.buffer.extend_from_slice(b"{\"Results\":[");
    let mut included = Included::read(&asked)?;
    let mut rows = Rows::new(out, query.flag("metadataOnly"));
    let result = match included.is_empty() {
        true => database.query(&request, &mut rows),
        false => {
            let sink = &mut rows;
            let included = &mut included;
            database.query(&request, &mut Noting { sink, included })
        }
    };
    let has_includes = rows.include_count > 0;
    match result {
        Ok(result) if result.is_unchanged => {
            out.head = Reply::empty(StatusCode::NOT_MODIFIED);
        }
        Ok(result) => {
            if !has_includes {
                out.buffer.extend_from_slice(INCLUDES);
            }
            out.buffer.extend_from_slice(b"},");
            included.add_keys(&result.outcome.included_keys);
            push_told(&mut out.buffer, &result, call.node_tag(), names_series);
            if !included.is_empty() {
                // What is included goes before the brace that ends the answer.
                out.buffer.pop();
                included.push(&super::documents::snapshot(call)?, out)?;
                out.buffer.push(b'}');
            }
            out.set_header(ETAG, &result.result_etag.to_string());
        }
        Err(QueryError::IndexMissing(_)) => out.head = Reply::empty(StatusCode::NOT_FOUND),
        Err(error) => return Err(failure::query(&error, &asked)),
    }
    Ok(())
}

/// What is told about a result beside its rows, as the rest of the object.
fn push_told(out: &mut Vec<u8>, result: &QueryResult, node: &str, names_series: bool) {
    let outcome = &result.outcome;
    let start = out.len();
    write_object(out, |object| {
        object.long("TotalResults", outcome.total_results.map_or(-1, long));
        if let Some(capped) = outcome.capped_max_results {
            object.long("CappedMaxResults", long(capped));
        }
        // Facets and suggestions pass no matches on that could have been skipped.
        if !outcome.is_aggregated {
            object.long("ScannedResults", long(outcome.scanned_results));
            object.long("SkippedResults", long(outcome.skipped_results));
        }
        let milliseconds = u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX);
        object.long("DurationInMs", long(milliseconds));
        match &outcome.included_paths {
            Some(paths) => object.array("IncludedPaths", |list| {
                paths.iter().for_each(|path| list.string(path));
            }),
            None if outcome.is_aggregated => {}
            None => object.null("IncludedPaths"),
        }
        object.string("IndexName", &result.index_name);
        object.string("IndexTimestamp", &time(result.index_timestamp));
        object.string("LastQueryTime", &time(result.last_query_time));
        object.bool("IsStale", result.is_stale);
        object.long("ResultEtag", result.result_etag);
        object.string("NodeTag", node);
        let series_fields = outcome.series_fields.as_ref().filter(|_| names_series);
        if let Some(names) = series_fields {
            object.array("TimeSeriesFields", |list| {
                names.iter().for_each(|name| list.string(name));
            });
        }
        push_beside(object, outcome, milliseconds);
    });
    // The object was begun with the rows: its second opening brace goes.
    out.remove(start);
}

/// What `include highlight(...)`, `explanations()` and `timings()` ask for.
fn push_beside(
    object: &mut ObjectWriter<'_>,
    outcome: &jackdaw_database::Outcome,
    milliseconds: u64,
) {
    let push_texts = |object: &mut ObjectWriter<'_>, name: &str, texts: &[String]| {
        object.array(name, |list| texts.iter().for_each(|text| list.string(text)));
    };
    if outcome.has_timings {
        object.object("Timings", |timings| {
            timings.long("DurationInMs", long(milliseconds));
            timings.object("Timings", |parts| {
                parts.object("Query", |part| {
                    part.long("DurationInMs", long(milliseconds));
                    part.null("Timings");
                });
            });
        });
    }
    if let Some(fields) = &outcome.highlightings {
        object.object("Highlightings", |by_field| {
            for (field, rows) in fields {
                by_field.object(field, |by_row| {
                    for (id, fragments) in rows {
                        push_texts(by_row, id, fragments);
                    }
                });
            }
        });
    }
    if let Some(rows) = &outcome.explanations {
        object.object("Explanations", |by_row| {
            for (id, texts) in rows {
                push_texts(by_row, id, texts);
            }
        });
    }
}

/// Counts are far below this.
pub(super) fn long(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A moment as text, or what stands for none.
pub(super) fn time(moment: Option<UnixTicks>) -> String {
    moment.map_or_else(|| NO_TIME.to_owned(), |moment| moment.to_string())
}

/// `debug=explain`: which index answers, and how.
fn explain(call: &Call, asked: &Asked, debug: &str) -> Outcome {
    if !debug.eq_ignore_ascii_case("explain") {
        let message = format!("Query debug operation '{debug}' is not supported.");
        return Err(WireError::new(kind::ARGUMENT, message));
    }
    let request = QueryRequest {
        page_size: Some(0),
        wants_plan: true,
        ..asked.request()
    };
    let result = super::database(call)?.query(&request, &mut RowBuffer::default());
    let result = result.map_err(|error| failure::query(&error, asked))?;
    Ok(Reply::value(&serde_json::json!({
        "IndexName": result.index_name,
        "Results": [{ "Index": result.index_name, "Reason": result.plan }],
    })))
}

/// What stands between the rows and what is included.
const INCLUDES: &[u8] = b"],\"Includes\":{";

/// Takes rows into the answer as they come, and what is included behind them.
pub(super) struct Rows<'o> {
    out: &'o mut ChunkWriter,
    metadata_only: bool,
    first: bool,
    include_count: usize,
}

impl<'o> Rows<'o> {
    pub(super) fn new(out: &'o mut ChunkWriter, metadata_only: bool) -> Rows<'o> {
        Rows {
            out,
            metadata_only,
            first: true,
            include_count: 0,
        }
    }
}

impl RowSink for Rows<'_> {
    fn row(&mut self, document: &StoredDocument<'_>, json: &[u8]) -> Result<(), BoxError> {
        if !std::mem::take(&mut self.first) {
            self.out.buffer.push(b',');
        }
        self.out.announce(json.len())?;
        if self.metadata_only {
            push_metadata(&mut self.out.buffer, document);
        } else {
            self.out.buffer.extend_from_slice(json);
        }
        Ok(self.out.checkpoint()?)
    }

    fn include(&mut self, id: &str, json: &[u8]) -> Result<(), BoxError> {
        if self.include_count == 0 {
            self.out.buffer.extend_from_slice(INCLUDES);
        }
        self.out.announce(id.len() + json.len())?;
        push_name(&mut self.out.buffer, self.include_count, id);
        self.include_count += 1;
        self.out.buffer.extend_from_slice(json);
        Ok(self.out.checkpoint()?)
    }
}

/// A row with nothing but the metadata of its document.
fn push_metadata(out: &mut Vec<u8>, document: &StoredDocument<'_>) {
    let fields = |metadata: &mut ObjectWriter<'_>| {
        if document.collection != EMPTY_COLLECTION {
            metadata.string("@collection", document.collection);
        }
        if let Some(Value::Object(own)) = document.metadata.map(|metadata| metadata.root()) {
            metadata.fields(own);
        }
        metadata.string("@change-vector", &document.change_vector.to_string());
        if !document.flags.is_empty() {
            metadata.string("@flags", &document.flags);
        }
        metadata.string("@id", document.id);
        metadata.string("@last-modified", &document.last_modified.to_string());
    };
    write_object(out, |row| row.object("@metadata", fields));
}

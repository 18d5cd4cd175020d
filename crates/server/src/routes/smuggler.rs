//! `POST /databases/*/smuggler/import/csv`: a CSV file as the clients and Studio send it.
//!
//! The body is multipart: `csvImportOptions`, which may be missing, and the file. Records are read
//! by `jackdaw_transfer`; one that cannot be stored costs itself alone and is named in the
//! answer's messages.

use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::CONTENT_TYPE;
use jackdaw_database::Database;
use jackdaw_document::{DocumentBuf, Limits, Object, Value};
use jackdaw_transfer::counters::Counters;
use jackdaw_transfer::csv::{CsvOptions, CsvParser, IdSource, Opened, open};
use jackdaw_transfer::local::{LocalError, LocalSink};
use jackdaw_transfer::marker::Marker;
use jackdaw_transfer::pipeline::{End, Plan, run};
use jackdaw_transfer::skip_log::SkipLog;
use jackdaw_transfer::source::{Input, Total};
use jackdaw_transfer::stop::Stop;
use serde_json::json;

use super::failure;
use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind, multipart};

/// Name of the marker that the pipeline writes; no import is resumed by it.
const MARKER: &str = "smuggler-csv";
/// The parts of an answer in their order, with the members that only some of them have.
const PARTS: [(&str, &[&str]); 14] = [
    ("DatabaseRecord", &[]),
    ("Documents", &["LastEtag", "Attachments", "SkippedCount"]),
    (
        "RevisionDocuments",
        &["LastEtag", "Attachments", "SkippedCount"],
    ),
    ("Tombstones", &["LastEtag"]),
    ("Conflicts", &["LastEtag"]),
    ("Identities", &["LastEtag"]),
    ("Indexes", &[]),
    ("CompareExchange", &["LastEtag"]),
    ("Subscriptions", &[]),
    ("Counters", &["LastEtag", "SkippedCount"]),
    ("CompareExchangeTombstones", &[]),
    ("TimeSeries", &["LastEtag", "SkippedCount"]),
    ("ReplicationHubCertificates", &[]),
    ("TimeSeriesDeletedRanges", &["LastEtag", "SkippedCount"]),
];
/// Nanoseconds of a tick: times have seven digits behind the point.
const NANOS_PER_TICK: u32 = 100;

/// Stores the records of a file in the collection `?collection=`, or in one called like the file.
pub(super) fn import_csv(call: &Call) -> Outcome {
    let database = super::database(call)?;
    let boundary = call.header(&CONTENT_TYPE).and_then(multipart::boundary);
    let boundary = boundary.ok_or_else(|| {
        bad("The body must be multipart/form-data with a part for the file.".to_owned())
    })?;
    let mut options = route_options();
    let mut file = None;
    for part in multipart::parts(&call.body, boundary)? {
        match (part.name(), part.file_name()) {
            (Some(b"csvImportOptions"), _) => read_options(part.content, &mut options)?,
            (_, name) => file = Some((part.content.to_vec(), name.map(<[u8]>::to_vec))),
        }
    }
    let (content, file_name) =
        file.ok_or_else(|| bad("The body has no part for the file.".to_owned()))?;
    let collection = match call.query().filled("collection") {
        Some(name) => name.into_owned(),
        None => collection_of(file_name.as_deref())
            .ok_or_else(|| WireError::empty_parameter("collection"))?,
    };
    let started = super::now();
    let since = Instant::now();
    let len_bytes = content.len();
    let (marker, skips) = if content.iter().all(u8::is_ascii_whitespace) {
        (Marker::default(), SkipLog::default())
    } else {
        store(database, content, &options, &collection)?
    };
    let mut messages = vec![
        format!("Import collection: {collection}"),
        "Started processing Documents.".to_owned(),
    ];
    for skip in skips.first().iter().filter(|skip| skip.reason.is_loss()) {
        messages.push(format!("Left out {}: {}", skip.name, skip.reason));
    }
    messages.push(format!(
        "Finished processing Documents. Read: {}. Errored: {}. Size: {len_bytes} Bytes.",
        marker.documents, marker.lost
    ));
    let mut result = serde_json::Map::new();
    let name = "Raven.Client.Documents.Smuggler.SmugglerResult, Raven.Client";
    result.insert("$type".to_owned(), json!(name));
    for (name, more) in PARTS {
        let mut part = part_of_result(name != "Documents", more);
        if name == "Documents" {
            part["StartTime"] = json!(started);
            part["ReadCount"] = json!(marker.documents);
            part["ErroredCount"] = json!(marker.lost);
            part["SizeInBytes"] = json!(len_bytes);
        }
        result.insert(name.to_owned(), part);
    }
    result.insert("Messages".to_owned(), json!(messages));
    result.insert("Elapsed".to_owned(), json!(elapsed(since.elapsed())));
    Ok(Reply::value(&serde_json::Value::Object(result)))
}

/// Reads and stores the file; how far it came, and what was left out.
fn store(
    database: Arc<Database>,
    content: Vec<u8>,
    options: &CsvOptions,
    collection: &str,
) -> Result<(Marker, SkipLog), WireError> {
    let reader = Box::new(Cursor::new(content));
    let input = Input::from_reader("the file", 0, Total::Unknown, reader);
    let counters = Counters::new(Arc::clone(&input.position), input.total);
    let unreadable = |what: String| bad(format!("The file cannot be read: {what}."));
    let stream = input.into_stream(1);
    let stream = stream.map_err(|error| unreadable(error.to_string()))?;
    let Opened { source, header } =
        open(stream, options).map_err(|error| unreadable(error.to_string()))?;
    let mut sink = LocalSink::new(database);
    let mut skips = SkipLog::default();
    let outcome = run(Plan {
        source: Box::new(source),
        parsers: vec![Box::new(CsvParser::new(Arc::new(header), collection))],
        sink: &mut sink,
        name: MARKER,
        from: Marker::default(),
        counters,
        stop: &Stop::default(),
        skips: &mut skips,
    });
    let outcome = outcome.map_err(|error| WireError::new(kind::UNEXPECTED, error.to_string()))?;
    match outcome.end {
        End::Finished | End::Stopped => Ok((outcome.marker, skips)),
        End::Unreadable(error) => {
            let stored = outcome.marker.documents;
            Err(unreadable(format!(
                "{error}; {stored} documents before it are stored"
            )))
        }
        End::NotWritten(LocalError::Write(error)) => Err(failure::write(&error)),
        End::NotWritten(error) => Err(WireError::new(kind::UNEXPECTED, error.to_string())),
    }
}

/// How this route reads files: columns are nested and typed as the protocol's clients expect, and
/// the column `@id` is the id.
fn route_options() -> CsvOptions {
    CsvOptions {
        nulls: vec![String::new(), "null".to_owned()],
        booleans: true,
        arrays: true,
        nested: true,
        id: IdSource::AtId,
        ..CsvOptions::default()
    }
}

/// Reads `csvImportOptions`: `Delimiter`, `Quote`, `TrimOptions`, `AllowComments`, `Comment`.
fn read_options(json: &[u8], options: &mut CsvOptions) -> Result<(), WireError> {
    let document = DocumentBuf::from_json(json, &Limits::default())
        .map_err(|error| bad(format!("csvImportOptions cannot be read: {error}")))?;
    let fields = document.root().as_object();
    let fields = fields.ok_or_else(|| bad("csvImportOptions is no object.".to_owned()))?;
    if let Some(delimiter) = character(fields, "Delimiter")? {
        options.delimiter = Some(delimiter);
    }
    if let Some(quote) = character(fields, "Quote")? {
        options.quote = quote;
    }
    match text(fields, "TrimOptions")? {
        None | Some("None" | "InsideQuotes") => {}
        Some(_) => options.trim = true,
    }
    let allows_comments = fields
        .get("AllowComments")
        .and_then(|value| value.as_bool());
    if allows_comments == Some(true) {
        options.comment = Some(character(fields, "Comment")?.unwrap_or(b'#'));
    }
    if options.delimiter == Some(options.quote) {
        return Err(bad("Delimiter and Quote are the same character.".to_owned()));
    }
    Ok(())
}

fn text<'v>(fields: Object<'v>, name: &str) -> Result<Option<&'v str>, WireError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(bad(format!("{name} of csvImportOptions is no text."))),
    }
}

fn character(fields: Object<'_>, name: &str) -> Result<Option<u8>, WireError> {
    match text(fields, name)?.map(str::as_bytes) {
        None | Some([]) => Ok(None),
        Some([byte]) if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(Some(*byte)),
        Some(_) => Err(bad(format!(
            "{name} of csvImportOptions must be one ASCII character."
        ))),
    }
}

/// The collection of a file that names none: its name without the extension.
fn collection_of(file_name: Option<&[u8]>) -> Option<String> {
    let name = std::str::from_utf8(file_name?).ok()?;
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    (!stem.is_empty()).then(|| stem.to_owned())
}

fn part_of_result(skipped: bool, more: &[&str]) -> serde_json::Value {
    let mut part = json!({
        "StartTime": null,
        "Processed": true,
        "ReadCount": 0,
        "Skipped": skipped,
        "ErroredCount": 0,
        "SizeInBytes": 0,
    });
    for name in more {
        part[*name] = match *name {
            "Attachments" => part_of_result(skipped, &[]),
            _ => json!(0),
        };
    }
    part
}

/// `00:00:01.2345678`.
fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    format!(
        "{:02}:{:02}:{:02}.{:07}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        time.subsec_nanos() / NANOS_PER_TICK
    )
}

fn bad(message: String) -> WireError {
    WireError::new(kind::BAD_REQUEST, message)
}

//! Answers of any length, written while they are read: `/databases/*/streams/docs`.
//!
//! One snapshot serves the whole stream. With `format=jsonl` each document is a line of its own,
//! ended by CR LF; with `format=json` the answer is one array; otherwise an object with `Results`
//! and nothing behind it, because clients stop reading at the end of the list.

use hyper::header::{CONTENT_TYPE, HeaderValue};

use super::documents::{self, Unlisted};
use crate::http::{Call, ChunkWriter};
use crate::wire::{QueryString, WireError};

/// How rows are set apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One line a row.
    Lines,
    /// An array of rows.
    Array,
    /// An object that ends with an array of rows.
    Object,
}

impl Format {
    /// The format asked for; unknown ones are the default.
    pub(super) fn read(query: QueryString<'_>) -> Format {
        match query.first("format").as_deref() {
            Some("jsonl") => Format::Lines,
            Some("json") => Format::Array,
            _ => Format::Object,
        }
    }

    pub(super) fn before(self, slot: usize) -> &'static [u8] {
        if self == Format::Lines || slot == 0 {
            b""
        } else {
            b","
        }
    }

    pub(super) fn after(self) -> &'static [u8] {
        if self == Format::Lines { b"\r\n" } else { b"" }
    }
}

/// `GET /databases/*/streams/docs?format=`, with the parameters of a listing.
pub(super) fn documents(call: &Call, out: &mut ChunkWriter) -> Result<(), WireError> {
    let snapshot = documents::snapshot(call)?;
    let format = Format::read(call.query());
    if format == Format::Lines {
        out.head.headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-ndjson"),
        );
    }
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
    out.buffer.extend_from_slice(match format {
        Format::Lines => b"",
        Format::Array => b"]",
        Format::Object => b"]}",
    });
    Ok(())
}

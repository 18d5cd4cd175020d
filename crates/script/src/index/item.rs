//! What a map is given: a document, a counter, or entries of a time series.

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, DocumentBuf};

use crate::input::ScriptDocument;

/// One thing to index. Which kind a map takes is told by
/// [`MapProgram::source`](crate::index::MapProgram::source).
#[derive(Clone, Copy, Debug)]
pub enum IndexedDocument<'a> {
    /// A document.
    Document(ScriptDocument<'a>),
    /// A counter of a document.
    Counter(IndexedCounter<'a>),
    /// Entries of a time series of a document.
    Series(IndexedSeries<'a>),
}

/// A counter, to maps a `DocumentId`, `Name` and `Value`.
#[derive(Clone, Copy, Debug)]
pub struct IndexedCounter<'a> {
    /// Id of its document.
    pub document_id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its total.
    pub value: i64,
}

/// A run of entries of a time series, to maps `DocumentId`, `Name`, `Entries`, `Count`, `Start`
/// and `End`.
#[derive(Clone, Copy, Debug)]
pub struct IndexedSeries<'a> {
    /// Id of its document.
    pub document_id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The entries by time, earliest first.
    pub entries: &'a [IndexedSeriesEntry<'a>],
}

/// An entry of a time series, to maps `Timestamp`, `Tag`, `Values` and `Value` (the first).
#[derive(Clone, Copy, Debug)]
pub struct IndexedSeriesEntry<'a> {
    /// When.
    pub timestamp: UnixTicks,
    /// What it is tagged with.
    pub tag: Option<&'a str>,
    /// One number or more.
    pub values: &'a [f64],
}

impl IndexedCounter<'_> {
    /// The counter as maps see it.
    pub(crate) fn to_document(self) -> DocumentBuf {
        let mut builder = Builder::new();
        builder.begin_object();
        builder.key("DocumentId").string(self.document_id);
        builder.key("Name").string(self.name);
        builder.key("Value").long(self.value);
        builder.end_object();
        finished(&mut builder)
    }
}

impl IndexedSeries<'_> {
    /// When its first entry is; the beginning of all time without any.
    pub(crate) fn start(&self) -> UnixTicks {
        self.entries
            .first()
            .map_or(UnixTicks(i64::MIN), |entry| entry.timestamp)
    }

    /// When its last entry is.
    pub(crate) fn end(&self) -> UnixTicks {
        self.entries
            .last()
            .map_or(UnixTicks(i64::MIN), |entry| entry.timestamp)
    }

    /// The series as JavaScript gets it; `index.js` makes dates of its times.
    pub(crate) fn to_document(self) -> DocumentBuf {
        let mut builder = Builder::new();
        builder.begin_object();
        builder.key("DocumentId").string(self.document_id);
        builder.key("Name").string(self.name);
        builder.key("Start").string(&self.start().to_string());
        builder.key("End").string(&self.end().to_string());
        builder
            .key("Count")
            .long(i64::try_from(self.entries.len()).unwrap_or(i64::MAX));
        builder.key("Entries").begin_array();
        for entry in self.entries {
            builder.begin_object();
            builder
                .key("Timestamp")
                .string(&entry.timestamp.to_string());
            if let Some(tag) = entry.tag {
                builder.key("Tag").string(tag);
            }
            builder.key("Values").begin_array();
            for value in entry.values {
                builder.double(*value);
            }
            builder.end_array().end_object();
        }
        builder.end_array().end_object();
        finished(&mut builder)
    }
}

/// What programs wrote here is balanced; only one beyond the longest document is refused, and
/// that one counts as null.
fn finished(builder: &mut Builder) -> DocumentBuf {
    builder.finish().unwrap_or_else(|_| {
        let mut null = Builder::new();
        null.null();
        null.finish().expect("null is a document")
    })
}

//! Imports over HTTP: each chunk is one batch of the server, with the marker as a document in it.

use anyhow::Context;
use jackdaw_client::{Batch, DatabaseClient};
use jackdaw_document::{ObjectWriter, write_document, write_object};

use super::marker::Marker;
use super::parse::{DocumentBatch, NewDocument};
use super::sink::Sink;
use super::skip::SkipReason;

/// Collection of the markers.
const MARKER_COLLECTION: &str = "@imports";
/// Ids of the markers begin so.
const MARKER_PREFIX: &str = "Jackdaw/Imports/";

/// Documents as the JSON text that is sent.
#[derive(Debug, Default)]
pub struct RemoteBatch {
    batch: Batch,
    text: Vec<u8>,
}

impl DocumentBatch for RemoteBatch {
    fn put(&mut self, document: NewDocument<'_>) -> Result<(), SkipReason> {
        self.text.clear();
        write_document(document.body.root(), &mut self.text, |metadata| {
            metadata.string("@collection", document.collection);
            if let Some(fields) = document
                .metadata
                .and_then(|metadata| metadata.root().as_object())
            {
                metadata.fields(fields);
            }
        });
        put_text(&mut self.batch, document.id, &self.text);
        Ok(())
    }

    fn document_count(&self) -> usize {
        self.batch.len()
    }
}

fn put_text(batch: &mut Batch, id: &str, text: &[u8]) {
    batch.put_text(
        id,
        std::str::from_utf8(text).expect("documents are written as UTF-8"),
    );
}

/// A database behind a server.
#[derive(Debug)]
pub struct RemoteSink {
    database: DatabaseClient,
}

impl RemoteSink {
    /// Writes into `database`.
    #[must_use]
    pub fn new(database: DatabaseClient) -> Self {
        Self { database }
    }
}

impl Sink for RemoteSink {
    type Batch = RemoteBatch;

    fn batch_maker(&self) -> fn() -> RemoteBatch {
        RemoteBatch::default
    }

    fn marker(&mut self, name: &str) -> anyhow::Result<Option<Marker>> {
        let id = format!("{MARKER_PREFIX}{name}");
        self.database
            .load(&id)
            .context("cannot ask how far an earlier import came")
    }

    fn write(&mut self, mut batch: RemoteBatch, name: &str, marker: &Marker) -> anyhow::Result<()> {
        let mut text = Vec::new();
        write_object(&mut text, |fields| {
            marker_fields(marker, fields);
            fields.object("@metadata", |metadata| {
                metadata.string("@collection", MARKER_COLLECTION);
            });
        });
        put_text(&mut batch.batch, &format!("{MARKER_PREFIX}{name}"), &text);
        self.database
            .batch(&batch.batch)
            .context("the server took no more documents")?;
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        // Each batch is durable when the server answers.
        Ok(())
    }
}

fn marker_fields(marker: &Marker, fields: &mut ObjectWriter<'_>) {
    let long = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    fields.long("Entries", long(marker.entries));
    fields.long("Documents", long(marker.documents));
    fields.long("Skipped", long(marker.skipped));
    fields.long("Lost", long(marker.lost));
    fields.bool("Finished", marker.finished);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marker_is_read_back_as_it_was_written() {
        let marker = Marker {
            entries: 10,
            documents: 8,
            skipped: 2,
            lost: 1,
            finished: true,
        };
        let mut text = Vec::new();
        write_object(&mut text, |fields| marker_fields(&marker, fields));
        assert_eq!(serde_json::from_slice::<Marker>(&text).unwrap(), marker);
    }
}

//! Imports into a database opened in this process: each chunk is one transaction, a few of them
//! always on their way to the disk.
//!
//! Documents with metadata of their own take the way of ordinary batches, in their place in the
//! order and before the marker that covers them; should the process end in between, they are
//! stored once more when the import goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use jackdaw_database::{Command, Database, Importer, Prepared, QueryRequest, RowBuffer};
use jackdaw_document::{Builder, Document, DocumentBuf};

use super::marker::Marker;
use super::parse::{DocumentBatch, NewDocument};
use super::sink::Sink;
use super::skip::SkipReason;
use super::stop::Stop;

/// Documents ready for the writer, in the order of the input.
#[derive(Debug, Default)]
pub struct LocalBatch {
    parts: Vec<Part>,
    document_count: usize,
}

/// A run of documents of one kind.
#[derive(Debug)]
enum Part {
    Plain(Prepared),
    WithMetadata(Vec<Command>),
}

impl DocumentBatch for LocalBatch {
    fn put(&mut self, document: NewDocument<'_>) -> Result<(), SkipReason> {
        match document.metadata {
            None => {
                if !matches!(self.parts.last(), Some(Part::Plain(_))) {
                    self.parts.push(Part::Plain(Prepared::new()));
                }
                if let Some(Part::Plain(prepared)) = self.parts.last_mut() {
                    prepared
                        .put(document.id, document.collection, document.body)
                        .map_err(|error| SkipReason::BadId {
                            what: error.to_string(),
                        })?;
                }
            }
            Some(metadata) => {
                let command = Command::Put {
                    id: Some(document.id.to_owned()),
                    body: document.body.to_buf(),
                    metadata: Some(with_collection(metadata, document.collection)?),
                    expected: None,
                    keeps_revision: false,
                };
                match self.parts.last_mut() {
                    Some(Part::WithMetadata(commands)) => commands.push(command),
                    _ => self.parts.push(Part::WithMetadata(vec![command])),
                }
            }
        }
        self.document_count += 1;
        Ok(())
    }

    fn document_count(&self) -> usize {
        self.document_count
    }
}

fn with_collection(metadata: Document<'_>, collection: &str) -> Result<DocumentBuf, SkipReason> {
    let mut builder = Builder::new();
    builder.begin_object().key("@collection").string(collection);
    let fields = metadata.root().as_object();
    for (name, value) in fields.iter().flat_map(|fields| fields.iter()) {
        builder.field(name, value);
    }
    builder.end_object();
    builder.finish().map_err(|error| SkipReason::Malformed {
        what: format!("its metadata: {error}"),
    })
}

/// How long an import waits for its indexes after the last document; they go on afterwards.
const INDEX_WAIT: Duration = Duration::from_secs(600);

/// Between two looks at whether a stop is asked.
const STOP_LOOKED_FOR: Duration = Duration::from_millis(100);

/// A database of this process.
pub struct LocalSink {
    database: Arc<Database>,
    importer: Importer,
    query: Option<String>,
}

impl LocalSink {
    /// Writes into `database`.
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        let importer = Importer::new(Arc::clone(&database));
        Self {
            database,
            importer,
            query: None,
        }
    }

    /// The same, with the index that `query` needs ready at the end: it is made before the first
    /// document and follows the import.
    #[must_use]
    pub fn ready_for(self, query: String) -> Self {
        Self {
            query: Some(query),
            ..self
        }
    }
}

impl Sink for LocalSink {
    type Batch = LocalBatch;

    fn batch_maker(&self) -> fn() -> LocalBatch {
        LocalBatch::default
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        let Some(text) = &self.query else {
            return Ok(());
        };
        let request = QueryRequest {
            text,
            page_size: Some(0),
            ..QueryRequest::default()
        };
        self.database
            .query(&request, &mut RowBuffer::default())
            .context("cannot make the index of the imported documents")?;
        Ok(())
    }

    fn finish(&mut self, stop: &Stop) -> anyhow::Result<()> {
        if self.query.is_none() {
            return Ok(());
        }
        let started = Instant::now();
        while !self.database.wait_for_indexes(STOP_LOOKED_FOR) {
            if stop.is_asked() || started.elapsed() > INDEX_WAIT {
                eprintln!(
                    "The index is still behind; queries wait for it, or say what is missing."
                );
                break;
            }
        }
        Ok(())
    }

    fn marker(&mut self, name: &str) -> anyhow::Result<Option<Marker>> {
        let explain = || "cannot read how far an earlier import came";
        let snapshot = self.database.read().with_context(explain)?;
        let Some(bytes) = snapshot.progress_marker(name).with_context(explain)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .with_context(explain)
    }

    fn write(&mut self, mut batch: LocalBatch, name: &str, marker: &Marker) -> anyhow::Result<()> {
        let last = match batch.parts.pop() {
            Some(Part::Plain(prepared)) => prepared,
            other => {
                batch.parts.extend(other);
                Prepared::new()
            }
        };
        for part in batch.parts {
            match part {
                Part::Plain(prepared) => self.importer.write(prepared, None)?,
                Part::WithMetadata(commands) => {
                    self.importer.flush()?;
                    self.database.batch(commands)?;
                }
            }
        }
        let bytes = serde_json::to_vec(marker)?;
        Ok(self.importer.write(last, Some((name, &bytes)))?)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.importer.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Imports into a database opened in this process: each chunk is one transaction, a few of them
//! always on their way to the disk.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_database::{
    Database, Importer, Prepared, QueryError, QueryRequest, ReadError, RowBuffer, WriteError,
};

use crate::chunk::Skipped;
use crate::marker::Marker;
use crate::parse::{DocumentBatch, NewDocument};
use crate::sink::{Readiness, Sink};
use crate::skip::SkipReason;
use crate::stop::Stop;

/// Documents ready for the writer, in the order of the input.
#[derive(Debug)]
pub struct LocalBatch(Prepared);

impl Default for LocalBatch {
    fn default() -> LocalBatch {
        let mut prepared = Prepared::new();
        prepared.leave_out_mismatches();
        LocalBatch(prepared)
    }
}

impl DocumentBatch for LocalBatch {
    fn put(&mut self, document: NewDocument<'_>) -> Result<(), SkipReason> {
        let (id, collection) = (document.id, document.collection);
        let put = match document.metadata {
            None => self.0.put(id, collection, document.body),
            Some(metadata) => self
                .0
                .put_with_metadata(id, collection, metadata, document.body),
        };
        put.map_err(|error| SkipReason::BadId {
            what: error.to_string(),
        })
    }

    fn label(&mut self, name: &str) {
        self.0.label(name);
    }

    fn document_count(&self) -> usize {
        self.0.len()
    }
}

/// How long an import waits for its indexes after the last document; they go on afterwards.
const INDEX_WAIT: Duration = Duration::from_secs(600);

/// Between two looks at whether a stop is asked.
const STOP_LOOKED_FOR: Duration = Duration::from_millis(100);

/// Why a database of this process took no more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The marker of an earlier import cannot be read; nothing was written.
    #[error("cannot read how far an earlier import came")]
    Marker(#[source] ReadError),
    /// The marker of an earlier import is not one; nothing was written.
    #[error("the note of how far an earlier import came is damaged: use --again")]
    DamagedMarker,
    /// The index cannot be made; nothing was written.
    #[error("cannot make the index of the imported documents")]
    Index(#[source] QueryError),
    /// A batch is not stored, and none behind it is.
    #[error(transparent)]
    Write(#[from] WriteError),
}

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
    type Error = LocalError;
    type Batch = LocalBatch;

    fn batch_maker(&self) -> fn() -> LocalBatch {
        LocalBatch::default
    }

    fn begin(&mut self) -> Result<(), LocalError> {
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
            .map(|_| ())
            .map_err(LocalError::Index)
    }

    fn finish(&mut self, stop: &Stop) -> Result<Readiness, LocalError> {
        if self.query.is_none() {
            return Ok(Readiness::Ready);
        }
        let started = Instant::now();
        while !self.database.wait_for_indexes(STOP_LOOKED_FOR) {
            if stop.is_asked() || started.elapsed() > INDEX_WAIT {
                return Ok(Readiness::Behind);
            }
        }
        Ok(Readiness::Ready)
    }

    fn marker(&mut self, name: &str) -> Result<Option<Marker>, LocalError> {
        let snapshot = self.database.read().map_err(LocalError::Marker)?;
        let bytes = snapshot.progress_marker(name).map_err(LocalError::Marker)?;
        bytes
            .map(|bytes| Marker::from_json(&bytes).ok_or(LocalError::DamagedMarker))
            .transpose()
    }

    fn write(&mut self, batch: LocalBatch, name: &str, marker: &Marker) -> Result<(), LocalError> {
        let marker = marker.clone();
        let bytes = move |left_out| marker.without(left_out).to_json();
        Ok(self.importer.write_counting(batch.0, Some((name, bytes)))?)
    }

    fn take_left_out(&mut self) -> Vec<Skipped> {
        let left_out = self.importer.take_left_out().into_iter();
        let skipped = left_out.map(|one| Skipped {
            name: one.label,
            reason: SkipReason::other_collection(&one.id, &one.from, &one.to),
        });
        skipped.collect()
    }

    fn flush(&mut self) -> Result<(), LocalError> {
        self.importer.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;

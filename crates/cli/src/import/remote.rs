//! Imports over HTTP: each chunk is one batch of the server, or several when it holds
//! large documents, and its marker follows.

use std::collections::HashMap;
use std::ops::Range;

use jackdaw_base::lowercase::lowercase;
use jackdaw_client::{Batch, ClientError, DatabaseClient};
use jackdaw_document::write_document;
use jackdaw_transfer::chunk::Skipped;
use jackdaw_transfer::marker::Marker;
use jackdaw_transfer::parse::{DocumentBatch, NewDocument};
use jackdaw_transfer::sink::Sink;
use jackdaw_transfer::skip::SkipReason;

/// Type name of the server's answer to a batch with a document whose id is in another collection.
const MISMATCH: &str = "DocumentCollectionMismatchException";
/// Bytes of a request with several documents. A server takes 64 MiB, and a chunk may hold a
/// document of nearly that with others before it.
const REQUEST_BYTES_MAX: usize = 8 << 20;
/// Times that the documents it concerns are looked up: others may write the same ids meanwhile.
const LOOK_UPS_MAX: u32 = 3;

/// Documents as the JSON text that is sent.
#[derive(Debug, Default)]
pub struct RemoteBatch {
    documents: Vec<Sent>,
    text: Vec<u8>,
}

#[derive(Debug)]
struct Sent {
    id: String,
    collection: String,
    label: String,
    /// In the text of the batch.
    text: Range<usize>,
}

impl DocumentBatch for RemoteBatch {
    fn put(&mut self, document: NewDocument<'_>) -> Result<(), SkipReason> {
        let start = self.text.len();
        write_document(document.body.root(), &mut self.text, |metadata| {
            metadata.string("@collection", document.collection);
            if let Some(fields) = document
                .metadata
                .and_then(|metadata| metadata.root().as_object())
            {
                metadata.fields(fields);
            }
        });
        self.documents.push(Sent {
            id: document.id.to_owned(),
            collection: document.collection.to_owned(),
            label: String::new(),
            text: start..self.text.len(),
        });
        Ok(())
    }

    fn label(&mut self, name: &str) {
        if let Some(last) = self.documents.last_mut() {
            name.clone_into(&mut last.label);
        }
    }

    fn document_count(&self) -> usize {
        self.documents.len()
    }
}

fn put_text(batch: &mut Batch, id: &str, text: &[u8]) {
    batch.put_text(
        id,
        std::str::from_utf8(text).expect("documents are written as UTF-8"),
    );
}

/// Why a database behind a server took no more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The marker of an earlier import cannot be read; nothing was written.
    #[error("cannot ask how far an earlier import came")]
    Marker(#[source] ClientError),
    /// The marker of an earlier import is not one; nothing was written.
    #[error("the note of how far an earlier import came is damaged: use --again")]
    DamagedMarker,
    /// A batch is not stored, and none behind it is.
    #[error("the server took no more documents")]
    Batch(#[source] ClientError),
}

/// A database behind a server.
#[derive(Debug)]
pub struct RemoteSink {
    database: DatabaseClient,
    left_out: Vec<Skipped>,
    left_out_count: u64,
}

impl RemoteSink {
    /// Writes into `database`.
    #[must_use]
    pub fn new(database: DatabaseClient) -> Self {
        Self {
            database,
            left_out: Vec::new(),
            left_out_count: 0,
        }
    }

    fn send(&self, batch: &RemoteBatch, name: &str, marker: &Marker) -> Result<(), ClientError> {
        let mut commands = Batch::new();
        for document in &batch.documents {
            let text = &batch.text[document.text.clone()];
            if !commands.is_empty() && commands.len_bytes() + text.len() > REQUEST_BYTES_MAX {
                self.database.batch(&commands)?;
                commands = Batch::new();
            }
            put_text(&mut commands, &document.id, text);
        }
        if !commands.is_empty() {
            self.database.batch(&commands)?;
        }
        // Behind the documents: should the process end in between, they are stored once more.
        let marker = marker.without(self.left_out_count).to_json();
        self.database.put_import_progress(name, &marker)
    }

    /// Takes documents out of the batch whose id is in another collection, on the server or
    /// earlier in the batch. Returns whether there were any.
    fn leave_out(&mut self, batch: &mut RemoteBatch) -> Result<bool, ClientError> {
        let ids: Vec<&str> = batch.documents.iter().map(|one| one.id.as_str()).collect();
        let stored = self.database.collections_of(&ids)?;
        let mut collections: HashMap<String, String> = HashMap::new();
        for (id, collection) in ids.iter().zip(stored) {
            if let Some(collection) = collection {
                collections.insert(lowercase(id).into_owned(), collection);
            }
        }
        let left_out = &mut self.left_out;
        let count_before = left_out.len();
        batch.documents.retain(|one| {
            let from = collections
                .entry(lowercase(&one.id).into_owned())
                .or_insert_with(|| one.collection.clone());
            let is_same = lowercase(from) == lowercase(&one.collection);
            if !is_same {
                left_out.push(Skipped {
                    name: one.label.clone(),
                    reason: SkipReason::other_collection(&one.id, from, &one.collection),
                });
            }
            is_same
        });
        let count = left_out.len() - count_before;
        self.left_out_count += count as u64;
        Ok(count > 0)
    }
}

impl Sink for RemoteSink {
    type Error = RemoteError;
    type Batch = RemoteBatch;

    fn batch_maker(&self) -> fn() -> RemoteBatch {
        RemoteBatch::default
    }

    fn marker(&mut self, name: &str) -> Result<Option<Marker>, RemoteError> {
        let stored = self
            .database
            .import_progress(name)
            .map_err(RemoteError::Marker)?;
        stored
            .map(|json| Marker::from_json(json.as_bytes()).ok_or(RemoteError::DamagedMarker))
            .transpose()
    }

    fn write(
        &mut self,
        mut batch: RemoteBatch,
        name: &str,
        marker: &Marker,
    ) -> Result<(), RemoteError> {
        let mut look_ups = 0;
        loop {
            match self.send(&batch, name, marker) {
                Ok(()) => return Ok(()),
                Err(ClientError::Refused { kind, .. })
                    if kind.ends_with(MISMATCH)
                        && look_ups < LOOK_UPS_MAX
                        && self.leave_out(&mut batch).map_err(RemoteError::Batch)? =>
                {
                    look_ups += 1;
                }
                Err(error) => return Err(RemoteError::Batch(error)),
            }
        }
    }

    fn take_left_out(&mut self) -> Vec<Skipped> {
        std::mem::take(&mut self.left_out)
    }

    fn flush(&mut self) -> Result<(), RemoteError> {
        // Each batch is durable when the server answers.
        Ok(())
    }
}

//! The steps of the worker of an automatic index: takes changes of documents in, batch by batch.
//!
//! Batches grow while they are quick and shrink when they take long.
//!
//! Invariants:
//! - The position stored with a batch is that of the last change looked at, in the order of etags.

use std::sync::Arc;

use jackdaw_model::{DocumentNumber, Etag, Scope};
use jackdaw_query::{IndexField, add_terms};
use jackdaw_search::{Batch, EntryId, FieldSlot, IndexReader, IndexWriter};
use jackdaw_storage::Environment;

use super::automatic::AutoDefinition;
use super::index::Index;
use super::step::StepError;
use crate::database::Core;
use crate::error::ReadError;
use crate::snapshot::Snapshot;

/// Documents of a batch, at least and at most.
const DOCUMENTS_MIN: usize = 256;
const DOCUMENTS_MAX: usize = 32 * 1024;
/// Bytes of documents read for one batch.
const READ_BYTES_MAX: usize = 64 << 20;
/// Bytes of terms in one batch; the writer needs about twice as much beside.
const TERM_BYTES_MAX: usize = 32 << 20;
/// A batch should take about this long.
const BATCH_NANOS_TARGET: u64 = 500_000_000;
/// Changes outside the scope move the stored position only in steps of this many.
const IDLE_ETAGS_MAX: u64 = 1024;

/// See the file head.
pub(super) struct AutoWorker {
    index: Arc<Index>,
    documents: Environment,
    core: Arc<Core>,
    scope: Scope,
    fields: Vec<IndexField>,
    batch: Batch,
    slots: Vec<FieldSlot>,
    writer: IndexWriter,
    documents_max: usize,
    /// Everything up to here was looked at.
    pub(super) seen: Etag,
}

impl AutoWorker {
    pub(super) fn new(
        index: Arc<Index>,
        definition: &AutoDefinition,
        documents: Environment,
        core: Arc<Core>,
    ) -> Result<AutoWorker, StepError> {
        let mut batch = Batch::new();
        let mut slots = Vec::with_capacity(definition.fields.len());
        for field in &definition.fields {
            slots.push(batch.field(&field.name(), field.options())?);
        }
        Ok(AutoWorker {
            seen: index.progress().indexed_up_to,
            scope: definition.scope.clone(),
            fields: definition.fields.clone(),
            index,
            documents,
            core,
            batch,
            slots,
            writer: IndexWriter::new(),
            documents_max: DOCUMENTS_MIN,
        })
    }

    /// Takes one batch in; whether there may be more to do at once.
    pub(super) fn step(&mut self) -> Result<bool, StepError> {
        let started = self.core.vfs.monotonic_nanos();
        let after = self.index.progress().indexed_up_to;
        self.batch.clear();
        let (up_to, is_all) = {
            let snapshot = Snapshot::new(self.documents.read()?, Arc::clone(&self.core))?;
            let filled = self.fill(&snapshot, after.max(self.seen))?;
            filled.map_or((snapshot.last_etag(), true), |up_to| (up_to, false))
        };
        let count = self.batch.len();
        if count == 0 && is_all && up_to.0.saturating_sub(after.0) < IDLE_ETAGS_MAX {
            self.seen = up_to;
            self.index.update(|progress| progress.caught_up_to = up_to);
            return Ok(false);
        }
        self.apply(up_to)?;
        self.seen = up_to;
        let elapsed = self.core.vfs.monotonic_nanos().saturating_sub(started);
        self.steer(count, elapsed);
        Ok(!is_all)
    }

    /// Puts the changes behind `after` into the batch; gives the position when it is full before
    /// they are all in.
    fn fill(&mut self, snapshot: &Snapshot, after: Etag) -> Result<Option<Etag>, StepError> {
        let mut changed = snapshot.changed(&self.scope, after)?;
        let mut removed = snapshot.removed(&self.scope, after)?;
        let mut next_changed = changed.next().transpose()?;
        let mut next_removed = removed.next().transpose()?;
        let mut read_bytes = 0;
        let mut up_to = after;
        loop {
            let takes_changed = match (next_changed, next_removed) {
                (None, None) => return Ok(None),
                (Some((changed, _)), Some((removed, _))) => changed < removed,
                (changed, _) => changed.is_some(),
            };
            if self.batch.len() >= self.documents_max
                || read_bytes >= READ_BYTES_MAX
                || self.batch.len_bytes() >= TERM_BYTES_MAX
                || self.index.is_stopping()
            {
                return Ok(Some(up_to));
            }
            if let Some((etag, number)) = next_changed.filter(|_| takes_changed) {
                read_bytes += self.put(snapshot, number)?;
                up_to = etag;
                next_changed = changed.next().transpose()?;
            } else if let Some((etag, number)) = next_removed {
                self.batch.delete(EntryId::from(number))?;
                up_to = etag;
                next_removed = removed.next().transpose()?;
            }
        }
    }

    /// Puts the terms of a document into the batch; gives the bytes read.
    fn put(&mut self, snapshot: &Snapshot, number: DocumentNumber) -> Result<usize, StepError> {
        let damaged = || ReadError::damaged_document("an entry for a document", number);
        let row = snapshot.load(number)?.ok_or_else(damaged)?;
        let document = row.stored();
        let mut terms = self.batch.put(EntryId::from(number))?;
        for (field, slot) in self.fields.iter().zip(&self.slots) {
            add_terms(&document, field, *slot, &mut terms);
        }
        Ok(document.body.as_bytes().len())
    }

    fn apply(&mut self, up_to: Etag) -> Result<(), StepError> {
        let environment = &self.index.environment;
        let mut transaction = environment.begin_write()?;
        self.writer
            .apply(&mut transaction, &self.batch, Some(up_to.0))?;
        transaction.commit()?;
        let transaction = environment.read()?;
        let reader = IndexReader::open(&transaction)?;
        let now = self.core.now();
        self.index.update(|progress| {
            progress.indexed_up_to = up_to;
            progress.caught_up_to = up_to;
            progress.last_indexed = Some(now);
            progress.entry_count = reader.map_or(0, |reader| reader.entry_count());
        });
        self.index.tell(&self.core.hub, "BatchCompleted");
        Ok(())
    }

    /// Chooses the size of the next batch.
    fn steer(&mut self, count: usize, elapsed_nanos: u64) {
        if elapsed_nanos > 2 * BATCH_NANOS_TARGET {
            self.documents_max = (self.documents_max / 2).max(DOCUMENTS_MIN);
        } else if count >= self.documents_max && elapsed_nanos < BATCH_NANOS_TARGET {
            self.documents_max = (self.documents_max * 2).min(DOCUMENTS_MAX);
        }
    }
}

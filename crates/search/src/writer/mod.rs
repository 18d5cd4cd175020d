//! Index writer: applies a batch of changes to the trees of one write transaction.
//!
//! Called by index workers of the layer above. A batch goes through three steps:
//! 1. `changes`: each entry's new terms against its forward record give the terms gained and lost;
//! 2. `terms`: sorted by field and key, these walk once over the tree of terms, so that a page is
//!    visited once however many of its terms change;
//! 3. large posting lists are changed in the order of their numbers;
//! 4. `occurrences` and norms of fields with positions follow, counters are stored once.
//!
//! Invariants:
//! - Only terms an entry gains or loses are touched.
//! - Entries removed are gone when the transaction commits: there are no tombstones.
//! - After an error the transaction must be rolled back; the writer itself stays usable.
//!
//! Threads: one writer for one transaction at a time. Memory is kept between batches.

mod changes;
mod occurrences;
mod terms;

use crate::batch::Batch;
use crate::catalog::{Catalog, FieldId};
use crate::error::IndexError;
use crate::store::IndexWrite;
use crate::vector::{RefusedVector, VectorWriter};

use changes::Changes;
use occurrences::OccurrenceWriter;
use terms::TermWriter;

/// What a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Entries the index did not have before.
    pub added: u64,
    /// Entries whose terms changed.
    pub updated: u64,
    /// Entries removed.
    pub removed: u64,
    /// Changes that made no difference.
    pub unchanged: u64,
    /// Terms gained and lost by entries.
    pub term_changes: u64,
}

/// Applies batches. Holds only scratch memory, about twice that of the largest batch.
#[derive(Default)]
pub struct IndexWriter {
    changes: Changes,
    terms: TermWriter,
    occurrences: OccurrenceWriter,
    vectors: VectorWriter,
}

impl IndexWriter {
    /// A writer that has no scratch memory yet.
    #[must_use]
    pub fn new() -> IndexWriter {
        IndexWriter::default()
    }

    /// Applies `batch`, and stores `indexed_up_to` with it when given: what the layer above has
    /// indexed once this transaction commits (see
    /// [`IndexReader::indexed_up_to`](crate::IndexReader::indexed_up_to)).
    ///
    /// Cost: a look-up and a put of each entry's forward record, and of each term it gains or
    /// loses; lists of frequent terms are changed chunk by chunk.
    ///
    /// # Errors
    /// Any [`IndexError`] leaves the trees half changed: roll the transaction back.
    pub fn apply<S: IndexWrite + ?Sized>(
        &mut self,
        store: &mut S,
        batch: &Batch,
        indexed_up_to: Option<u64>,
    ) -> Result<Applied, IndexError> {
        let mut catalog = Catalog::load_to_change(store)?.unwrap_or_default();
        let fields = batch
            .fields()
            .iter()
            .map(|field| catalog.declare(&field.name, field.options))
            .collect::<Result<Vec<FieldId>, IndexError>>()?;
        self.vectors.begin(store, &catalog)?;
        let (changes, vectors) = (&mut self.changes, &mut self.vectors);
        let applied = changes.collect(store, batch, &fields, &mut catalog, vectors)?;
        self.terms.write(store, changes, &mut catalog, vectors)?;
        self.vectors.write(store, batch)?;
        self.occurrences.write(store, &self.changes, &mut catalog)?;
        if let Some(indexed_up_to) = indexed_up_to {
            catalog.counters.indexed_up_to = indexed_up_to;
        }
        catalog.store(store)?;
        Ok(applied)
    }

    /// Vectors of the batch applied last that were left out, because their field has others.
    #[must_use]
    pub fn refused(&self) -> &[RefusedVector] {
        self.vectors.refused()
    }
}

//! Index reader: what a query asks of an index, on one snapshot.
//!
//! Called by query execution. Look-ups give [`Matches`]; walks give terms in order. Query texts are
//! analyzed here, as the field's entries were.
//!
//! Invariants:
//! - Every answer is of the snapshot the reader was opened on, counters included.
//! - Nothing is left out silently: a walk that meets its budget's end is an error.
//!
//! Threads: borrows a snapshot; as shareable as that is.

mod best;
mod budget;
mod column;
mod counts;
mod entry_terms;
mod lookup;
mod places;
mod range;
mod rank;
mod score;
mod text;
mod walk;
mod walk_words;

use std::sync::Arc;

use jackdaw_storage::{PageRead, Tree};

pub use budget::Budget;
pub use column::{Column, Columns};
pub use entry_terms::TermsOfEntry;
pub use range::Verdict;
pub use rank::Ranked;
pub use score::{Scores, TextStatistics, idf};
pub use walk::{Direction, TermKind, TermWalk, WalkedTerm};

use crate::catalog::{
    Catalog, CatalogCache, FORWARD_TREE, Field, FieldId, POSTINGS_TREE, TERMS_TREE,
};
use crate::error::IndexError;
use crate::occurrence::{NORMS_TREE, OCCURRENCES_TREE};
use crate::store::IndexRead;
use crate::vector::VectorTrees;

/// An index on one snapshot.
pub struct IndexReader<'t, P: PageRead + ?Sized> {
    catalog: Arc<Catalog>,
    terms: Option<Tree<'t, P>>,
    postings: Option<Tree<'t, P>>,
    forward: Option<Tree<'t, P>>,
    occurrences: Option<Tree<'t, P>>,
    norms: Option<Tree<'t, P>>,
    vectors: VectorTrees<'t, P>,
}

impl<'t, P: PageRead + ?Sized> IndexReader<'t, P> {
    /// Opens the index of a snapshot; `None` when no batch was ever applied.
    ///
    /// Reads the catalog: a few pages.
    ///
    /// # Errors
    /// [`IndexError::Version`], [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn open<S>(store: &'t S) -> Result<Option<IndexReader<'t, P>>, IndexError>
    where
        S: IndexRead<Pages = P> + ?Sized,
    {
        match Catalog::load(store)? {
            Some(catalog) => IndexReader::with_catalog(store, Arc::new(catalog)).map(Some),
            None => Ok(None),
        }
    }

    /// As [`open`](Self::open), with the catalog of the snapshot `version` from memory when it was
    /// read before; versions of an index ascend.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_cached<S>(
        store: &'t S,
        version: u64,
        cache: &CatalogCache,
    ) -> Result<Option<IndexReader<'t, P>>, IndexError>
    where
        S: IndexRead<Pages = P> + ?Sized,
    {
        match cache.load(store, version)? {
            Some(catalog) => IndexReader::with_catalog(store, catalog).map(Some),
            None => Ok(None),
        }
    }

    fn with_catalog<S>(
        store: &'t S,
        catalog: Arc<Catalog>,
    ) -> Result<IndexReader<'t, P>, IndexError>
    where
        S: IndexRead<Pages = P> + ?Sized,
    {
        Ok(IndexReader {
            vectors: VectorTrees::open(store, &catalog)?,
            catalog,
            terms: store.tree(TERMS_TREE)?,
            postings: store.tree(POSTINGS_TREE)?,
            forward: store.tree(FORWARD_TREE)?,
            occurrences: store.tree(OCCURRENCES_TREE)?,
            norms: store.tree(NORMS_TREE)?,
        })
    }

    /// Number of entries.
    #[must_use]
    pub fn entry_count(&self) -> u64 {
        self.catalog.counters.entry_count
    }

    /// Whether it was written in an older format: it may be read, and is to be made again.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.catalog.is_outdated()
    }

    /// What the layer above said it has indexed; 0 when it never did.
    #[must_use]
    pub fn indexed_up_to(&self) -> u64 {
        self.catalog.counters.indexed_up_to
    }

    /// The field `name`; `None` when no entry was ever indexed with it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<FieldId> {
        self.catalog.field_id(name)
    }

    /// All fields, in the order of their numbers.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        self.catalog.fields()
    }

    pub(crate) fn terms_tree(&self) -> Option<Tree<'t, P>> {
        self.terms
    }

    pub(crate) fn postings_tree(&self) -> Option<Tree<'t, P>> {
        self.postings
    }

    pub(crate) fn forward_tree(&self) -> Option<Tree<'t, P>> {
        self.forward
    }

    pub(crate) fn occurrences_tree(&self) -> Option<Tree<'t, P>> {
        self.occurrences
    }

    pub(crate) fn norms_tree(&self) -> Option<Tree<'t, P>> {
        self.norms
    }

    pub(crate) fn vector_trees(&self) -> &VectorTrees<'t, P> {
        &self.vectors
    }

    /// What is known of a field.
    ///
    /// # Panics
    /// When `field` is of another index, which has more fields.
    #[must_use]
    pub fn field_info(&self, field: FieldId) -> &Field {
        &self.catalog.fields()[field.position()]
    }
}

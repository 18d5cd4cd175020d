//! What a query reads of a database: the snapshot of documents and the snapshot of an index.
//!
//! Made by `query` for one execution. The index is of an earlier moment than the documents, so
//! that everything it does not know is behind its position.

use std::ops::ControlFlow;

use jackdaw_document::DocumentBuf;
use jackdaw_query::{
    BoxError, DocumentNumber, Etag, IndexAccess, Numbers, Scope, Source, StoredDocument,
};
use jackdaw_search::IndexReader;
use jackdaw_storage::ReadTransaction;

use crate::indexes::Index;
use crate::snapshot::Snapshot;

/// An index on its own snapshot.
pub(crate) struct IndexView<'q> {
    pub(crate) index: &'q Index,
    pub(crate) reader: Option<IndexReader<'q, ReadTransaction>>,
    pub(crate) indexed_up_to: Etag,
    /// Changes behind the position are left out: the result is said to be stale.
    pub(crate) is_cut: bool,
}

/// See the file head.
pub(crate) struct DatabaseSource<'q> {
    pub(crate) snapshot: &'q Snapshot,
    pub(crate) index: Option<IndexView<'q>>,
}

impl Source for DatabaseSource<'_> {
    type Pages = ReadTransaction;

    fn document(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'_>>, BoxError> {
        Ok(self.snapshot.load(number)?.map(|row| row.stored()))
    }

    fn document_by_id(&self, id: &str) -> Result<Option<StoredDocument<'_>>, BoxError> {
        match self.snapshot.number(id)? {
            Some(number) => self.document(number),
            None => Ok(None),
        }
    }

    fn count(&self, scope: &Scope) -> Result<u64, BoxError> {
        Ok(self.snapshot.count_of(scope)?)
    }

    fn changed(&self, scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError> {
        if self.index.as_ref().is_some_and(|index| index.is_cut) {
            return Ok(Box::new(std::iter::empty()));
        }
        let changed = self.snapshot.changed(scope, after)?;
        Ok(Box::new(changed.map(|entry| Ok(entry?.1))))
    }

    fn removed(&self, scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError> {
        let removed = self.snapshot.removed(scope, after)?;
        Ok(Box::new(removed.map(|entry| Ok(entry?.1))))
    }

    fn visit_ids(
        &self,
        from: &str,
        visit: &mut dyn FnMut(&str, DocumentNumber) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        Ok(self.snapshot.visit_ids(from, visit)?)
    }

    fn counters(&self, id: &str) -> Result<Vec<(String, i64)>, BoxError> {
        let Some(number) = self.snapshot.number(id)? else {
            return Ok(Vec::new());
        };
        let values = self.snapshot.all_counters(number)?;
        Ok(values
            .into_iter()
            .map(|counter| (counter.name, counter.value))
            .collect())
    }

    fn exchange_value(&self, key: &str) -> Result<Option<DocumentBuf>, BoxError> {
        Ok(self.snapshot.exchange_value(key)?.map(|known| known.value))
    }

    fn index(&self) -> Option<IndexAccess<'_, ReadTransaction>> {
        self.index.as_ref().map(|view| IndexAccess {
            name: &view.index.definition.name,
            scope: &view.index.definition.scope,
            fields: &view.index.definition.fields,
            reader: view.reader.as_ref(),
            indexed_up_to: view.indexed_up_to,
        })
    }
}

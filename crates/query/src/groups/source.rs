//! Groups in place of documents, for everything that a query does with them.

use std::ops::ControlFlow;

use jackdaw_document::DocumentBuf;

use super::grouping::Rows;
use crate::error::BoxError;
use crate::source::{IndexAccess, Numbers, SeriesEntry, SeriesExtent, Source, StoredDocument};
use jackdaw_model::{DocumentNumber, Etag, Scope};

/// Groups as the documents of a query; scripts still find real documents by id.
pub(crate) struct GroupSource<'g, S> {
    pub(crate) groups: Rows,
    pub(crate) inner: &'g S,
}

impl<S: Source> Source for GroupSource<'_, S> {
    type Pages = S::Pages;

    fn document(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'_>>, BoxError> {
        let slot = usize::try_from(number.0).unwrap_or(usize::MAX);
        let group = slot.checked_sub(1).and_then(|slot| self.groups.get(slot));
        Ok(group.map(|group| StoredDocument {
            etag: Etag(number.0),
            ..StoredDocument::made(number, group.document())
        }))
    }

    fn document_by_id(&self, id: &str) -> Result<Option<StoredDocument<'_>>, BoxError> {
        self.inner.document_by_id(id)
    }

    fn count(&self, _scope: &Scope) -> Result<u64, BoxError> {
        Ok(self.groups.len() as u64)
    }

    fn changed(&self, _scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError> {
        let numbers = after.0 + 1..=self.groups.len() as u64;
        Ok(Box::new(numbers.map(|number| Ok(DocumentNumber(number)))))
    }

    fn removed(&self, _scope: &Scope, _after: Etag) -> Result<Numbers<'_>, BoxError> {
        Ok(Box::new(std::iter::empty()))
    }

    fn visit_ids(
        &self,
        _from: &str,
        _visit: &mut dyn FnMut(&str, DocumentNumber) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        Ok(())
    }

    fn counters(&self, id: &str) -> Result<Vec<(String, i64)>, BoxError> {
        self.inner.counters(id)
    }

    fn series_extent(&self, id: &str, name: &str) -> Result<Option<SeriesExtent>, BoxError> {
        self.inner.series_extent(id, name)
    }

    fn visit_series(
        &self,
        id: &str,
        name: &str,
        range: (i64, i64),
        visit: &mut dyn FnMut(SeriesEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        self.inner.visit_series(id, name, range, visit)
    }

    fn exchange_value(&self, key: &str) -> Result<Option<DocumentBuf>, BoxError> {
        self.inner.exchange_value(key)
    }

    fn index(&self) -> Option<IndexAccess<'_, S::Pages>> {
        None
    }
}

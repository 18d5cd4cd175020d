//! What a query reads of a database: the snapshot of documents and the snapshot of an index.
//!
//! Made by `query` for one execution. The index is of an earlier moment than the documents, so
//! that everything it does not know is behind its position.

use std::ops::ControlFlow;
use std::sync::Arc;

use jackdaw_document::{Document, DocumentBuf};
use jackdaw_model::{DocumentNumber, Etag, Scope};
use jackdaw_query::{
    BoxError, ColumnAccess, Costs, FieldKind, FieldPath, GroupsAccess, IndexAccess, IndexField,
    IndexRows, IndexSchema, KeptGroups, Measure, Numbers, SeriesEntry, SeriesExtent, Source,
    StoredDocument,
};
use jackdaw_search::{EntryId, IndexReader};
use jackdaw_storage::ReadTransaction;

use crate::error::ReadError;
use crate::indexes::{Index, IndexDefinition, StaticView, entry_document};
use crate::names::EMPTY_COLLECTION;
use crate::snapshot::{DocumentRow, Snapshot};

/// An index on its own snapshot.
pub(crate) struct IndexView<'q> {
    pub(crate) index: &'q Index,
    pub(crate) definition: Arc<IndexDefinition>,
    /// Fields of a static index.
    pub(crate) fields: Vec<IndexField>,
    /// Whether a static index may have further fields.
    pub(crate) has_open_fields: bool,
    /// Entries of a static index.
    pub(crate) entries: Option<StaticView<'q>>,
    pub(crate) reader: Option<IndexReader<'q, ReadTransaction>>,
    pub(crate) indexed_up_to: Etag,
    /// The transaction that the reader is of.
    pub(crate) version: u64,
    /// Changes behind the position are left out: the result is said to be stale.
    pub(crate) is_cut: bool,
}

/// See the file head.
pub(crate) struct DatabaseSource<'q> {
    pub(crate) snapshot: &'q Snapshot,
    pub(crate) index: Option<IndexView<'q>>,
    /// Groups of the database's newest moments; `None` for a snapshot that is none of them.
    pub(crate) groups: Option<&'q KeptGroups>,
    /// Takes notes of what is read.
    pub(crate) costs: Option<&'q Costs<'q>>,
}

/// How a static index keeps its fields.
pub(crate) struct Schema {
    pub(crate) definition: Arc<IndexDefinition>,
    /// Fields that the index has.
    pub(crate) fields: Vec<IndexField>,
}

impl IndexSchema for Schema {
    fn field(&self, name: &str) -> IndexField {
        let is = |field: &&IndexField| {
            field.path.as_str() == name && !matches!(field.kind, FieldKind::NamedVector(..))
        };
        let known = self.fields.iter().find(is);
        let fallback = || {
            let own = self.definition.as_static();
            own.and_then(|own| own.index_field(name, None))
        };
        let known = known.cloned().or_else(fallback);
        known.unwrap_or_else(|| IndexField::plain(FieldPath::of_name(name)))
    }

    fn measure(&self, name: &str) -> Measure {
        let own = self.definition.as_static();
        own.map_or_else(Measure::default, |own| own.measure(name))
    }

    fn vector_field(&self, name: &str) -> IndexField {
        match self.definition.as_static() {
            Some(own) => own.vector_field(name),
            None => IndexField::named_vector(name),
        }
    }
}

impl DatabaseSource<'_> {
    fn entries(&self) -> Option<&StaticView<'_>> {
        self.index.as_ref().and_then(|index| index.entries.as_ref())
    }

    /// A document, whatever the entries of the index are.
    fn load(&self, number: DocumentNumber) -> Result<Option<DocumentRow<'_>>, ReadError> {
        let row = self.snapshot.load(number)?;
        if let (Some(costs), Some(row)) = (self.costs, &row) {
            costs.document_read(row.body().as_bytes().len());
        }
        Ok(row)
    }

    /// An entry of a static index: its document or group, and its values.
    fn entry<'e>(
        &self,
        entries: &StaticView<'e>,
        number: DocumentNumber,
    ) -> Result<Option<(u64, Document<'e>)>, ReadError> {
        let entry = entries.entry(number.into())?;
        if let (Some(costs), Some((_, values))) = (self.costs, &entry) {
            costs.entry_read(values.as_bytes().len());
        }
        Ok(entry)
    }
}

impl Source for DatabaseSource<'_> {
    type Pages = ReadTransaction;

    fn document(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'_>>, BoxError> {
        let Some(entries) = self.entries() else {
            return Ok(self.load(number)?.map(|row| row.stored()));
        };
        let Some((owner, values)) = self.entry(entries, number)? else {
            return Ok(None);
        };
        if entries.is_reduced() {
            return Ok(Some(entry_document(number.0, "", EMPTY_COLLECTION, values)));
        }
        // A document that is gone since keeps its entry until the index has seen that.
        let row = self.load(DocumentNumber(owner))?;
        Ok(row.map(|row| entry_document(number.0, row.id(), row.collection(), values)))
    }

    fn row(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'_>>, BoxError> {
        match self.entries() {
            Some(entries) if !entries.is_reduced() => match self.entry(entries, number)? {
                Some((owner, _)) => {
                    let row = self.load(DocumentNumber(owner))?;
                    Ok(row.map(|row| row.stored()))
                }
                None => Ok(None),
            },
            _ => self.document(number),
        }
    }

    fn entries_of(&self, number: DocumentNumber) -> Result<Vec<EntryId>, BoxError> {
        match self.entries() {
            Some(entries) => Ok(entries.entries_of(number)?),
            None => Ok(vec![number.into()]),
        }
    }

    fn is_stored(&self, field: &str) -> bool {
        self.entries()
            .is_some_and(|entries| entries.is_stored(field))
    }

    fn document_by_id(&self, id: &str) -> Result<Option<StoredDocument<'_>>, BoxError> {
        match self.snapshot.number(id)? {
            Some(number) => Ok(self.load(number)?.map(|row| row.stored())),
            None => Ok(None),
        }
    }

    fn count(&self, scope: &Scope) -> Result<u64, BoxError> {
        Ok(self.snapshot.count_of(scope)?)
    }

    fn changed(&self, scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError> {
        let is_complete = |index: &IndexView<'_>| index.is_cut || index.entries.is_some();
        if self.index.as_ref().is_some_and(is_complete) {
            return Ok(Box::new(std::iter::empty()));
        }
        let changed = self.snapshot.changed(scope, after)?;
        Ok(Box::new(changed.map(|entry| Ok(entry?.1))))
    }

    fn removed(&self, scope: &Scope, after: Etag) -> Result<Numbers<'_>, BoxError> {
        if self.entries().is_some() {
            return Ok(Box::new(std::iter::empty()));
        }
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

    fn series_extent(&self, id: &str, name: &str) -> Result<Option<SeriesExtent>, BoxError> {
        let series = self.snapshot.series_of(id, name)?;
        Ok(series.map(|series| SeriesExtent {
            first: series.first,
            last: series.last,
            count: series.count,
        }))
    }

    fn visit_series(
        &self,
        id: &str,
        name: &str,
        (from, to): (i64, i64),
        visit: &mut dyn FnMut(SeriesEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), BoxError> {
        let Some(series) = self.snapshot.series_of(id, name)? else {
            return Ok(());
        };
        for entry in self.snapshot.series_entries(&series, from, to)? {
            let entry = entry?;
            let step = visit(SeriesEntry {
                at: entry.at,
                values: &entry.values,
                tag: entry.tag.as_deref(),
            });
            if step.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn exchange_value(&self, key: &str) -> Result<Option<DocumentBuf>, BoxError> {
        Ok(self.snapshot.exchange_value(key)?.map(|known| known.value))
    }

    fn kept_groups(&self) -> Option<GroupsAccess<'_>> {
        let up_to = self.snapshot.last_etag();
        self.groups.map(|kept| GroupsAccess { kept, up_to })
    }

    fn index(&self) -> Option<IndexAccess<'_, ReadTransaction>> {
        self.index.as_ref().map(|view| IndexAccess {
            name: view.definition.name(),
            scope: view.definition.scope(),
            fields: match view.definition.as_auto() {
                Some(definition) => &definition.fields,
                None => &view.fields,
            },
            rows: match &view.entries {
                None => IndexRows::Documents,
                Some(entries) if entries.is_reduced() => IndexRows::Results,
                Some(entries) => IndexRows::Entries {
                    has_fan_out: entries.has_fan_out(),
                    are_rows: entries.are_rows(),
                },
            },
            has_open_fields: view.has_open_fields,
            reader: view.reader.as_ref(),
            indexed_up_to: view.indexed_up_to,
            columns: Some(ColumnAccess {
                columns: &view.index.columns,
                version: view.version,
            }),
            is_cut: view.is_cut,
        })
    }
}

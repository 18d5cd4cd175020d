//! Reading the entries of a static index on one snapshot of it.

use std::sync::Arc;

use jackdaw_document::{Document, Value};
use jackdaw_model::DocumentNumber;
use jackdaw_search::EntryId;
use jackdaw_storage::{ReadTransaction, Tree};

use super::definition::SourceType;
use super::programs::Programs;
use super::trees::{DOCUMENTS, ENTRIES, Meta, decode_owned, entries_of, key};
use crate::error::ReadError;
use crate::indexes::IndexDefinition;

/// See the file head.
pub(crate) struct StaticView<'q> {
    entries: Option<Tree<'q, ReadTransaction>>,
    documents: Option<Tree<'q, ReadTransaction>>,
    definition: Arc<IndexDefinition>,
    programs: Arc<Programs>,
    has_fan_out: bool,
    batches: u64,
}

/// Whether an entry has an array, maybe an empty one, in this field. Looks at entries until one
/// has.
pub(crate) fn has_array(pages: &ReadTransaction, field: &str) -> Result<bool, ReadError> {
    let Some(entries) = pages.tree(ENTRIES)? else {
        return Ok(false);
    };
    for entry in entries.iter()? {
        let (_, values) = decode_owned(entry?.1)?;
        if let Some(Value::Array(_)) = Document::trusted(values).root().get(field) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl<'q> StaticView<'q> {
    pub(crate) fn open(
        pages: &'q ReadTransaction,
        definition: Arc<IndexDefinition>,
        programs: Arc<Programs>,
    ) -> Result<StaticView<'q>, ReadError> {
        let meta = Meta::read(pages)?;
        Ok(StaticView {
            entries: pages.tree(ENTRIES)?,
            documents: pages.tree(DOCUMENTS)?,
            definition,
            programs,
            has_fan_out: meta.outputs_max > 1,
            // Another number after each batch.
            batches: meta.map_attempts ^ meta.last_batch.map_or(0, |at| at.0.cast_unsigned()),
        })
    }

    /// Whether entries are results of a reduce.
    pub(crate) fn is_reduced(&self) -> bool {
        self.programs.reduce.is_some()
    }

    /// Whether a document may have several entries.
    pub(crate) fn has_fan_out(&self) -> bool {
        self.has_fan_out
    }

    /// Whether entries are about counters or time series, not about documents.
    pub(crate) fn are_rows(&self) -> bool {
        self.programs.source_type() != SourceType::Documents
    }

    /// A number that is another after each batch.
    pub(crate) fn batches(&self) -> u64 {
        self.batches
    }

    /// An entry's document, or its group, and its values.
    pub(crate) fn entry(&self, entry: EntryId) -> Result<Option<(u64, Document<'q>)>, ReadError> {
        let bytes = match &self.entries {
            Some(entries) => entries.get(&key(entry.0))?,
            None => None,
        };
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let (owner, values) = decode_owned(bytes)?;
        Ok(Some((owner, Document::trusted(values))))
    }

    /// Entries of a document.
    pub(crate) fn entries_of(&self, number: DocumentNumber) -> Result<Vec<EntryId>, ReadError> {
        match self.is_reduced() {
            true => Ok(Vec::new()),
            false => entries_of(self.documents.as_ref(), number),
        }
    }

    /// Whether a field is projected from the index when the query does not say: those that are
    /// stored, and all that are not about documents.
    pub(crate) fn is_stored(&self, name: &str) -> bool {
        let Some(definition) = self.definition.as_static() else {
            return false;
        };
        let settings = definition.field_settings(name);
        match settings.storage {
            Some(is_stored) => is_stored,
            None => self.is_reduced() || self.are_rows(),
        }
    }
}

//! Last step of a batch: occurrences and norms of the fields that keep positions.
//!
//! Called by `IndexWriter::apply` with the sorted changes.
//!
//! Invariants:
//! - Terms are visited in the order of their keys, entries in ascending order.
//! - An entry whose tokens did not change is not touched.
//!
//! Threads: one owner.

use crate::catalog::{CATALOG_TREE, Catalog};
use crate::error::{At, IndexError};
use crate::occurrence::{
    NORMS_TREE, NormChange, OCCURRENCES_TREE, OccurrenceChange, OccurrenceEditor, length_of,
    write_norms,
};
use crate::store::IndexWrite;

use super::changes::Changes;

/// Writes occurrences. Holds only scratch memory.
#[derive(Default)]
pub(super) struct OccurrenceWriter {
    editor: OccurrenceEditor,
    key: Vec<u8>,
    group: Vec<OccurrenceChange>,
}

impl OccurrenceWriter {
    /// Applies all changes.
    pub(super) fn write<S: IndexWrite + ?Sized>(
        &mut self,
        store: &mut S,
        changes: &Changes,
        catalog: &mut Catalog,
    ) -> Result<(), IndexError> {
        for field in catalog.field_ids() {
            let Some(field_changes) = changes.of_field(field) else {
                continue;
            };
            if field_changes.texts.is_empty() {
                continue;
            }
            let mut tree = store.tree_mut(OCCURRENCES_TREE)?;
            let is_same = |a: &_, b: &_| changes.occurrence_key(a) == changes.occurrence_key(b);
            for group in field_changes.occurrences.chunk_by(is_same) {
                self.key.clear();
                field.push_key(&mut self.key);
                self.key
                    .extend_from_slice(changes.occurrence_key(&group[0]));
                self.group.clear();
                self.group
                    .extend(group.iter().map(|change| change.change.clone()));
                self.editor
                    .update(&mut tree, &self.key, &self.group, changes.positions())?;
            }
            let length = |norm: u8| (norm > 0).then(|| length_of(norm));
            let mut norms = Vec::with_capacity(field_changes.texts.len());
            for change in &field_changes.texts {
                catalog
                    .change_text(field, length(change.before), length(change.after))
                    .at(CATALOG_TREE, &field.to_bytes())?;
                norms.push(NormChange {
                    entry: change.entry,
                    norm: change.after,
                });
            }
            write_norms(&mut store.tree_mut(NORMS_TREE)?, field, &norms)?;
        }
        Ok(())
    }
}

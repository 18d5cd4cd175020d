//! Vectors of a batch: which are taken, and the changes of the graphs.
//!
//! Called by `IndexWriter`: it opens the graphs, is asked of every vector whether it is taken, is
//! told which terms of vectors came and went, and changes the graphs at the end.
//!
//! Invariants:
//! - All vectors of a field have the same dimensions. The first one decides when the definition
//!   does not; when the last one is gone, the next one decides anew.
//! - A vector that is refused is no term of its entry: the rest of the entry is indexed.
//!
//! Threads: one owner.

use std::collections::BTreeMap;

use jackdaw_base::hash::xxh3_64_parts;

use super::edit::{GraphEditor, GraphMemory};
use super::options::VectorOptions;
use super::record::{GraphHead, LINKS_TREE};
use super::value::VectorHash;
use super::walk::Walk;
use crate::batch::Batch;
use crate::catalog::{Catalog, FieldId};
use crate::entry::EntryId;
use crate::error::{At, IndexError};
use crate::posting::Malformed;
use crate::store::IndexWrite;

/// A vector that was not taken: it has other dimensions than those of its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "field {field:?} has vectors of {expected} dimensions, but this one has {given}: give all \
     vectors of a field the same dimensions"
)]
pub struct RefusedVector {
    /// The entry it was of.
    pub entry: EntryId,
    /// Name of the field.
    pub field: Box<str>,
    /// Dimensions of the field.
    pub expected: u16,
    /// Dimensions of the vector.
    pub given: u16,
}

/// Changes graphs. Memory is kept between batches.
#[derive(Default)]
pub(crate) struct VectorWriter {
    /// Of fields of vectors, by their numbers.
    graphs: BTreeMap<u16, FieldGraph>,
    refused: Vec<RefusedVector>,
    walk: Walk,
}

#[derive(Default)]
struct FieldGraph {
    options: VectorOptions,
    head: GraphHead,
    memory: GraphMemory,
    added: Vec<VectorHash>,
    removed: Vec<VectorHash>,
}

impl VectorWriter {
    /// Reads the heads of the graphs of the index.
    pub(crate) fn begin<S: IndexWrite + ?Sized>(
        &mut self,
        store: &mut S,
        catalog: &Catalog,
    ) -> Result<(), IndexError> {
        self.refused.clear();
        let mut known = std::mem::take(&mut self.graphs);
        for (field, info) in catalog.field_ids().zip(catalog.fields()) {
            let Some(options) = info.options().vector else {
                continue;
            };
            let mut graph = known.remove(&field.0).unwrap_or_default();
            let tree = store.tree_mut(LINKS_TREE)?;
            graph.head = match tree.get(&field.to_bytes())? {
                Some(record) => GraphHead::decode(record).at(LINKS_TREE, &field.to_bytes())?,
                None => GraphHead::default(),
            };
            if graph.head.count == 0 {
                graph.head.dimensions = options.dimensions;
            }
            graph.options = options;
            graph.added.clear();
            graph.removed.clear();
            self.graphs.insert(field.0, graph);
        }
        Ok(())
    }

    /// Whether a vector of so many dimensions is taken; notes it when not.
    pub(crate) fn admits(
        &mut self,
        catalog: &Catalog,
        field: FieldId,
        entry: EntryId,
        dimensions: u16,
    ) -> bool {
        let Some(graph) = self.graphs.get_mut(&field.0) else {
            return false;
        };
        if graph.head.dimensions == 0 {
            graph.head.dimensions = dimensions;
        }
        let expected = graph.head.dimensions;
        if expected != dimensions {
            self.refused.push(RefusedVector {
                entry,
                field: catalog.fields()[field.position()].name().into(),
                expected,
                given: dimensions,
            });
        }
        expected == dimensions
    }

    /// Notes that no entry had a vector before, or that none has it any more.
    pub(crate) fn note(&mut self, field: FieldId, hash: &[u8], is_added: bool) {
        if let (Some(graph), Ok(hash)) = (self.graphs.get_mut(&field.0), hash.try_into()) {
            match is_added {
                true => graph.added.push(hash),
                false => graph.removed.push(hash),
            }
        }
    }

    /// Vectors of the batch that were not taken.
    pub(crate) fn refused(&self) -> &[RefusedVector] {
        &self.refused
    }

    /// Changes the graphs by what was noted, in the order of hashes.
    pub(crate) fn write<S: IndexWrite + ?Sized>(
        &mut self,
        store: &mut S,
        batch: &Batch,
    ) -> Result<(), IndexError> {
        let is_changed = |graph: &FieldGraph| !graph.added.is_empty() || !graph.removed.is_empty();
        if !self.graphs.values().any(is_changed) {
            return Ok(());
        }
        let codes = batch.vectors();
        for (field, graph) in &mut self.graphs {
            if !is_changed(graph) {
                continue;
            }
            let mut editor = GraphEditor {
                store,
                field: FieldId(*field),
                options: graph.options,
                head: &mut graph.head,
                memory: &mut graph.memory,
                walk: &mut self.walk,
            };
            editor.begin();
            for hash in &graph.removed {
                editor.remove(hash)?;
            }
            for hash in &graph.added {
                let missing = Malformed("the bytes of a new vector are not in its batch");
                let code = codes.get(hash).ok_or(missing).at(LINKS_TREE, hash)?;
                editor.add(hash, code)?;
            }
            let (removed, added) = (graph.removed.as_flattened(), graph.added.as_flattened());
            editor.head.state = xxh3_64_parts(&[removed, b"+", added], editor.head.state);
            editor.finish()?;
        }
        Ok(())
    }
}

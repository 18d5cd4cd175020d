//! Second and third step of a batch: the walk over terms, then the large lists it met.
//!
//! Called by `IndexWriter::apply` with the sorted changes.
//!
//! Invariants:
//! - Terms are visited in the order of their tree, so that the tree's cache of leaves makes the
//!   batch one walk.
//! - Counts of large lists are exact without reading them: changes are exact (see `changes`).
//! - The tree of large lists is only touched after the walk over terms, in the order of its keys.
//!
//! Threads: one owner.

use std::ops::Range;

use jackdaw_storage::{PageWrite, TreeMut};

use crate::catalog::{Catalog, FieldId, POSTINGS_TREE, TERMS_TREE};
use crate::error::{At, IndexError};
use crate::posting::{
    Change, DEMOTE_ENTRIES, Encoder, ListEditor, ListNumber, Malformed, TermValue, count_after,
    merge, try_write, write_large,
};
use crate::store::IndexWrite;
use crate::term::class;
use crate::vector::VectorWriter;

use super::changes::Changes;

/// What happened to a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Created,
    Changed,
    Deleted,
}

/// Work on a large list, put off until the walk over terms is done.
struct Task {
    list: ListNumber,
    kind: TaskKind,
}

enum TaskKind {
    /// The list is new; its entries.
    Build(Range<usize>),
    /// Merge changes.
    Update(Range<usize>),
    /// The term is gone.
    Drop,
    /// Merge changes, and move what is left into the term's value; the term's key.
    Demote(Range<usize>, Range<usize>),
}

/// A term whose list has left the large tier.
struct Demoted {
    /// Place of the term's key among the kept keys.
    key: Range<usize>,
    value: Vec<u8>,
}

/// Tasks and what they refer to.
#[derive(Default)]
struct Tasks {
    tasks: Vec<Task>,
    entries: Vec<u64>,
    changes: Vec<Change>,
    keys: Vec<u8>,
}

impl Tasks {
    fn clear(&mut self) {
        self.tasks.clear();
        self.entries.clear();
        self.changes.clear();
        self.keys.clear();
    }

    fn push(&mut self, list: ListNumber, kind: TaskKind) {
        self.tasks.push(Task { list, kind });
    }

    fn keep<T: Copy>(arena: &mut Vec<T>, values: &[T]) -> Range<usize> {
        let start = arena.len();
        arena.extend_from_slice(values);
        start..arena.len()
    }
}

/// Writes terms and lists. Holds only scratch memory.
#[derive(Default)]
pub(super) struct TermWriter {
    key: Vec<u8>,
    group: Vec<Change>,
    existing: Vec<u64>,
    merged: Vec<u64>,
    value: Vec<u8>,
    encoder: Encoder,
    editor: ListEditor,
    tasks: Tasks,
}

impl TermWriter {
    /// Applies all changes.
    pub(super) fn write<S: IndexWrite + ?Sized>(
        &mut self,
        store: &mut S,
        changes: &Changes,
        catalog: &mut Catalog,
        vectors: &mut VectorWriter,
    ) -> Result<(), IndexError> {
        self.tasks.clear();
        let mut terms = store.tree_mut(TERMS_TREE)?;
        for field in catalog.field_ids() {
            self.write_field(&mut terms, changes, field, catalog, vectors)?;
        }
        self.write_list(&mut terms, FieldId::EVERY, changes.every(), catalog)?;
        if self.tasks.tasks.is_empty() {
            return Ok(());
        }
        let mut postings = store.tree_mut(POSTINGS_TREE)?;
        let demoted = self.run_tasks(&mut postings)?;
        let mut terms = store.tree_mut(TERMS_TREE)?;
        for Demoted { key, value } in demoted {
            terms.put(&self.tasks.keys[key], &value)?;
        }
        Ok(())
    }

    fn write_field<P: PageWrite + ?Sized>(
        &mut self,
        terms: &mut TreeMut<'_, P>,
        changes: &Changes,
        field: FieldId,
        catalog: &mut Catalog,
        vectors: &mut VectorWriter,
    ) -> Result<(), IndexError> {
        let Some(field_changes) = changes.of_field(field) else {
            return Ok(());
        };
        self.write_list(terms, field, &field_changes.exists, catalog)?;
        let (mut created, mut deleted) = (0, 0);
        let same_key = |a: &_, b: &_| changes.is_same_key(a, b);
        for group in field_changes.terms.chunk_by(same_key) {
            self.key.clear();
            field.push_key(&mut self.key);
            self.key.extend_from_slice(changes.key(&group[0]));
            self.group.clear();
            self.group.extend(group.iter().map(|change| change.change));
            let outcome = self.write_term(terms, catalog)?;
            match outcome {
                Outcome::Created => created += 1,
                Outcome::Changed => {}
                Outcome::Deleted => deleted += 1,
            }
            if let (Some((&class::VECTOR, hash)), true) = (
                changes.key(&group[0]).split_first(),
                outcome != Outcome::Changed,
            ) {
                vectors.note(field, hash, outcome == Outcome::Created);
            }
        }
        catalog.add_terms(field, created, deleted);
        Ok(())
    }

    /// The list of entries that have a field, or of all entries.
    fn write_list<P: PageWrite + ?Sized>(
        &mut self,
        terms: &mut TreeMut<'_, P>,
        field: FieldId,
        changes: &[Change],
        catalog: &mut Catalog,
    ) -> Result<(), IndexError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.key.clear();
        self.key.extend_from_slice(&field.exists_key());
        self.group.clear();
        self.group.extend_from_slice(changes);
        self.write_term(terms, catalog).map(|_| ())
    }

    /// Applies `group` to the term `key`.
    fn write_term<P: PageWrite + ?Sized>(
        &mut self,
        terms: &mut TreeMut<'_, P>,
        catalog: &mut Catalog,
    ) -> Result<Outcome, IndexError> {
        self.existing.clear();
        let stored = terms.get(&self.key)?;
        let is_new = stored.is_none();
        match stored
            .map(TermValue::parse)
            .transpose()
            .at(TERMS_TREE, &self.key)?
        {
            None => {}
            Some(TermValue::Inline { entries, count }) => {
                self.existing.extend_from_slice(&entries[..count]);
            }
            Some(TermValue::Small(chunk)) => {
                chunk
                    .decode_all(&mut self.existing)
                    .at(TERMS_TREE, &self.key)?;
            }
            Some(TermValue::Large { count, list }) => {
                return self.write_large_term(terms, count, list);
            }
        }
        self.merged.clear();
        merge(&self.existing, &self.group, &mut self.merged).at(TERMS_TREE, &self.key)?;
        if self.merged.is_empty() {
            terms.delete(&self.key)?;
            return Ok(Outcome::Deleted);
        }
        self.value.clear();
        if !try_write(&self.merged, &mut self.encoder, &mut self.value) {
            let list = catalog.take_list_number();
            write_large(self.merged.len() as u64, list, &mut self.value);
            let entries = Tasks::keep(&mut self.tasks.entries, &self.merged);
            self.tasks.push(list, TaskKind::Build(entries));
        }
        terms.put(&self.key, &self.value)?;
        Ok(if is_new {
            Outcome::Created
        } else {
            Outcome::Changed
        })
    }

    fn write_large_term<P: PageWrite + ?Sized>(
        &mut self,
        terms: &mut TreeMut<'_, P>,
        count: u64,
        list: ListNumber,
    ) -> Result<Outcome, IndexError> {
        let wrong = Malformed("more entries are removed from a list than it has");
        let count = count_after(count, &self.group)
            .ok_or(wrong)
            .at(TERMS_TREE, &self.key)?;
        if count == 0 {
            self.tasks.push(list, TaskKind::Drop);
            terms.delete(&self.key)?;
            return Ok(Outcome::Deleted);
        }
        let changes = Tasks::keep(&mut self.tasks.changes, &self.group);
        if count < DEMOTE_ENTRIES {
            let key = Tasks::keep(&mut self.tasks.keys, &self.key);
            self.tasks.push(list, TaskKind::Demote(changes, key));
            return Ok(Outcome::Changed);
        }
        self.tasks.push(list, TaskKind::Update(changes));
        self.value.clear();
        write_large(count, list, &mut self.value);
        terms.put(&self.key, &self.value)?;
        Ok(Outcome::Changed)
    }

    /// Runs the tasks in the order of their lists; gives keys and entries of demoted terms.
    fn run_tasks<P: PageWrite + ?Sized>(
        &mut self,
        postings: &mut TreeMut<'_, P>,
    ) -> Result<Vec<Demoted>, IndexError> {
        let mut demoted = Vec::new();
        self.tasks.tasks.sort_unstable_by_key(|task| task.list);
        for task in self.tasks.tasks.drain(..) {
            match task.kind {
                TaskKind::Build(entries) => {
                    self.editor
                        .build(postings, task.list, &self.tasks.entries[entries])?;
                }
                TaskKind::Update(changes) => {
                    self.editor
                        .update(postings, task.list, &self.tasks.changes[changes])?;
                }
                TaskKind::Drop => {
                    self.existing.clear();
                    self.editor
                        .take_all(postings, task.list, &mut self.existing)?;
                }
                TaskKind::Demote(changes, key) => {
                    self.existing.clear();
                    self.editor
                        .take_all(postings, task.list, &mut self.existing)?;
                    self.merged.clear();
                    merge(
                        &self.existing,
                        &self.tasks.changes[changes],
                        &mut self.merged,
                    )
                    .at(TERMS_TREE, &self.tasks.keys[key.clone()])?;
                    let mut value = Vec::new();
                    if !try_write(&self.merged, &mut self.encoder, &mut value) {
                        // Few entries, but too far apart for one chunk: the list stays large.
                        self.editor.build(postings, task.list, &self.merged)?;
                        write_large(self.merged.len() as u64, task.list, &mut value);
                    }
                    demoted.push(Demoted { key, value });
                }
            }
        }
        Ok(demoted)
    }
}

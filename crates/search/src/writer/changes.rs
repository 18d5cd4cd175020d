//! First step of a batch: which terms each entry gains and loses, and its new forward record.
//!
//! Called by `IndexWriter::apply`; the result is what `terms` walks over.
//!
//! Invariants:
//! - Entries are visited in ascending order, each once: of several changes the last one counts.
//! - For one field and key an entry is in at most one change.
//! - Keys of all changes lie in one arena of this step; the batch is not needed afterwards.
//!
//! Threads: one owner.

use jackdaw_storage::{PageWrite, TreeMut};

use crate::batch::{Batch, BatchTerm};
use crate::catalog::{CATALOG_TREE, Catalog, FORWARD_TREE, FieldId};
use crate::error::{At, IndexError};
use crate::forward::{RecordTerms, RecordWriter};
use crate::posting::{Change, Malformed};
use crate::store::IndexWrite;

use super::Applied;

/// One term gained or lost by one entry.
#[derive(Clone, Copy)]
pub(super) struct TermChange {
    /// First eight bytes of the key, so that most comparisons need not look at the arena.
    head: u64,
    pub(super) change: Change,
    start: u32,
    len_bytes: u32,
}

/// Changes of one field.
#[derive(Default)]
pub(super) struct FieldChanges {
    /// Entries that gain their first term of the field, or lose their last; ascending.
    pub(super) exists: Vec<Change>,
    /// Sorted by key and entry, once `collect` is done.
    pub(super) terms: Vec<TermChange>,
}

/// Changes of a batch, by field.
#[derive(Default)]
pub(super) struct Changes {
    /// By field number; more than the index has when an earlier batch was for another index.
    fields: Vec<FieldChanges>,
    every: Vec<Change>,
    arena: Vec<u8>,
    order: Vec<usize>,
    new_terms: Vec<(FieldId, BatchTerm)>,
    old_record: Vec<u8>,
    new_record: Vec<u8>,
}

impl Changes {
    /// Changes of a field, when it has any.
    pub(super) fn of_field(&self, field: FieldId) -> Option<&FieldChanges> {
        let changes = self.fields.get(field.position())?;
        (!changes.terms.is_empty() || !changes.exists.is_empty()).then_some(changes)
    }

    /// Entries added and removed, ascending.
    pub(super) fn every(&self) -> &[Change] {
        &self.every
    }

    /// Key of a change, class first.
    pub(super) fn key(&self, change: &TermChange) -> &[u8] {
        key_in(&self.arena, change)
    }

    /// Whether two changes of one field are of the same term.
    pub(super) fn is_same_key(&self, a: &TermChange, b: &TermChange) -> bool {
        a.head == b.head && self.key(a) == self.key(b)
    }

    /// Replaces the content by the changes of `batch`, and writes the forward records.
    pub(super) fn collect<S: IndexWrite + ?Sized>(
        &mut self,
        store: &mut S,
        batch: &Batch,
        fields: &[FieldId],
        catalog: &mut Catalog,
    ) -> Result<Applied, IndexError> {
        self.reset(catalog.fields().len());
        self.order_entries(batch);
        let mut forward = store.tree_mut(FORWARD_TREE)?;
        let mut applied = Applied::default();
        let order = std::mem::take(&mut self.order);
        for &position in &order {
            self.order_terms(batch, position, fields);
            self.collect_entry(&mut forward, batch, position, catalog, &mut applied)?;
        }
        self.order = order;
        for field in &mut self.fields {
            applied.term_changes += field.terms.len() as u64;
            sort_changes(&mut field.terms, &self.arena);
        }
        Ok(applied)
    }

    fn reset(&mut self, field_count: usize) {
        for field in &mut self.fields {
            field.exists.clear();
            field.terms.clear();
        }
        self.every.clear();
        self.arena.clear();
        self.order.clear();
        self.fields
            .resize_with(self.fields.len().max(field_count), FieldChanges::default);
    }

    /// Positions of the changes that count, by ascending entry.
    fn order_entries(&mut self, batch: &Batch) {
        let changes = batch.changes();
        self.order.extend(0..changes.len());
        if !changes.is_sorted_by(|a, b| a.entry < b.entry) {
            // Of equal entries the last comes first, and is the one that dedup keeps.
            self.order
                .sort_unstable_by_key(|&position| (changes[position].entry, usize::MAX - position));
            self.order.dedup_by_key(|position| changes[*position].entry);
        }
    }

    fn collect_entry<P: PageWrite + ?Sized>(
        &mut self,
        forward: &mut TreeMut<'_, P>,
        batch: &Batch,
        position: usize,
        catalog: &mut Catalog,
        applied: &mut Applied,
    ) -> Result<(), IndexError> {
        let counters = &mut catalog.counters;
        let change = batch.changes()[position];
        let entry = change.entry.0;
        let entry_key = entry.to_be_bytes();
        let is_known = entry < counters.next_entry && self.load_record(forward, &entry_key)?;
        match (is_known, change.is_deletion) {
            (false, true) => {
                applied.unchanged += 1;
                return Ok(());
            }
            (true, true) => {
                forward.delete(&entry_key)?;
                self.every.push(Change::remove(entry));
                let wrong = Malformed("the count of entries is too small");
                let fewer = counters.entry_count.checked_sub(1).ok_or(wrong);
                counters.entry_count = fewer.at(CATALOG_TREE, &[])?;
                applied.removed += 1;
            }
            (true, false) if self.new_record == self.old_record => {
                applied.unchanged += 1;
                return Ok(());
            }
            (true, false) => {
                forward.put(&entry_key, &self.new_record)?;
                applied.updated += 1;
            }
            (false, false) => {
                forward.put(&entry_key, &self.new_record)?;
                self.every.push(Change::add(entry));
                counters.entry_count += 1;
                counters.next_entry = counters.next_entry.max(entry + 1);
                applied.added += 1;
            }
        }
        let field_count = catalog.fields().len();
        self.compare(batch, entry, is_known, field_count)
    }

    /// Copies the stored record; whether there is one.
    fn load_record<P: PageWrite + ?Sized>(
        &mut self,
        forward: &TreeMut<'_, P>,
        entry_key: &[u8],
    ) -> Result<bool, IndexError> {
        let Some(record) = forward.get(entry_key)? else {
            return Ok(false);
        };
        self.old_record.clear();
        self.old_record.extend_from_slice(record);
        Ok(true)
    }

    /// Sorts the terms of a change, drops repeats, and writes the new record.
    fn order_terms(&mut self, batch: &Batch, position: usize, fields: &[FieldId]) {
        self.new_terms.clear();
        let terms = batch.terms(position).iter();
        self.new_terms
            .extend(terms.map(|term| (fields[usize::from(term.field.0)], *term)));
        let key = |term: &(FieldId, BatchTerm)| (term.0, batch.key(&term.1));
        self.new_terms.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        self.new_terms.dedup_by(|a, b| key(a) == key(b));
        let mut record = RecordWriter::new(&mut self.new_record);
        for (field, term) in &self.new_terms {
            record.push(*field, batch.key(term));
        }
    }

    /// Walks over the old and the new terms of an entry side by side.
    fn compare(
        &mut self,
        batch: &Batch,
        entry: u64,
        is_known: bool,
        field_count: usize,
    ) -> Result<(), IndexError> {
        let entry_key = entry.to_be_bytes();
        let old_record = std::mem::take(&mut self.old_record);
        let new_terms = std::mem::take(&mut self.new_terms);
        let mut old_terms = match is_known {
            true => RecordTerms::open(&old_record).at(FORWARD_TREE, &entry_key)?,
            false => RecordTerms::empty(),
        };
        let mut next_old = || match old_terms.next_term() {
            Ok(Some((field, _))) if field.position() >= field_count => {
                Err(Malformed("a forward record names an unknown field"))
            }
            next => next,
        };
        let mut new = new_terms
            .iter()
            .map(|(field, term)| (*field, batch.key(term)))
            .peekable();
        let mut old = next_old().at(FORWARD_TREE, &entry_key)?;
        let mut presence = Presence::default();
        while let Some((term, side)) = lesser(old, new.peek().copied()) {
            if presence.field != Some(term.0) {
                self.close_field(&presence, entry);
                presence = Presence {
                    field: Some(term.0),
                    ..Presence::default()
                };
            }
            if side != Side::New {
                presence.before = true;
                old = next_old().at(FORWARD_TREE, &entry_key)?;
            }
            if side != Side::Old {
                presence.after = true;
                new.next();
            }
            match side {
                Side::Both => {}
                Side::Old => self.push(term, Change::remove(entry))?,
                Side::New => self.push(term, Change::add(entry))?,
            }
        }
        self.close_field(&presence, entry);
        drop(new);
        (self.old_record, self.new_terms) = (old_record, new_terms);
        Ok(())
    }

    fn close_field(&mut self, presence: &Presence, entry: u64) {
        let Some(field) = presence.field else { return };
        let change = match (presence.before, presence.after) {
            (false, true) => Change::add(entry),
            (true, false) => Change::remove(entry),
            _ => return,
        };
        self.fields[field.position()].exists.push(change);
    }

    fn push(&mut self, term: (FieldId, &[u8]), change: Change) -> Result<(), IndexError> {
        let (field, key) = term;
        let too_large = |_| IndexError::BatchTooLarge;
        let start = u32::try_from(self.arena.len()).map_err(too_large)?;
        let len_bytes = u32::try_from(key.len()).map_err(too_large)?;
        self.arena.extend_from_slice(key);
        let head = head_of(key);
        let change = TermChange {
            head,
            change,
            start,
            len_bytes,
        };
        self.fields[field.position()].terms.push(change);
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
    Both,
}

/// The lesser of an old and a new term, and where it is.
fn lesser<'a>(
    old: Option<(FieldId, &'a [u8])>,
    new: Option<(FieldId, &'a [u8])>,
) -> Option<((FieldId, &'a [u8]), Side)> {
    match (old, new) {
        (Some(old), Some(new)) if old == new => Some((old, Side::Both)),
        (Some(old), Some(new)) if old < new => Some((old, Side::Old)),
        (_, Some(new)) => Some((new, Side::New)),
        (old, None) => old.map(|old| (old, Side::Old)),
    }
}

/// Whether an entry had and has the field that is being compared.
#[derive(Default)]
struct Presence {
    field: Option<FieldId>,
    before: bool,
    after: bool,
}

fn key_in<'a>(arena: &'a [u8], change: &TermChange) -> &'a [u8] {
    &arena[change.start as usize..][..change.len_bytes as usize]
}

/// The first eight bytes as a number that orders as they do.
fn head_of(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            let mut padded = [0; 8];
            padded[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(padded)
        }
    }
}

fn sort_changes(changes: &mut [TermChange], arena: &[u8]) {
    changes.sort_unstable_by(|a, b| {
        a.head
            .cmp(&b.head)
            .then_with(|| key_in(arena, a).cmp(key_in(arena, b)))
            .then_with(|| a.change.cmp(&b.change))
    });
}

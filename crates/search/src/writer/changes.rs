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

use std::ops::Range;

use jackdaw_storage::{PageWrite, TreeMut};

use crate::batch::{Batch, BatchTerm};
use crate::catalog::{CATALOG_TREE, Catalog, FORWARD_TREE, FieldId};
use crate::error::{At, IndexError};
use crate::forward::{RecordTerms, RecordWriter};
use crate::occurrence::{OccurrenceChange, norm_of, push_positions, token_sum};
use crate::posting::{Change, Malformed};
use crate::store::IndexWrite;
use crate::term::{TOKENS_KEY_BYTES, class};
use crate::vector::VectorWriter;

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

/// One term of the new content of an entry.
struct NewTerm {
    field: FieldId,
    key: NewKey,
    /// Its positions, among all of the entry; empty in fields without.
    positions: Range<usize>,
}

enum NewKey {
    /// In the batch.
    Term(BatchTerm),
    /// The summary of a field's tokens.
    Tokens([u8; TOKENS_KEY_BYTES]),
}

impl NewTerm {
    fn key<'a>(&'a self, batch: &'a Batch) -> &'a [u8] {
        match &self.key {
            NewKey::Term(term) => batch.key(term),
            NewKey::Tokens(key) => key,
        }
    }
}

/// New occurrences of one term in one entry, or their end.
pub(super) struct TermOccurrences {
    start: u32,
    len_bytes: u32,
    pub(super) change: OccurrenceChange,
}

/// Changes of one field.
#[derive(Default)]
pub(super) struct FieldChanges {
    /// Sorted by key and entry, once `collect` is done; of fields with positions.
    pub(super) occurrences: Vec<TermOccurrences>,
    /// Lengths of entries before and after, ascending; of fields with positions.
    pub(super) texts: Vec<TextChange>,
    /// Entries that gain their first term of the field, or lose their last; ascending.
    pub(super) exists: Vec<Change>,
    /// Sorted by key and entry, once `collect` is done.
    pub(super) terms: Vec<TermChange>,
}

/// How long the text of an entry was and is, as a norm; 0 for none.
#[derive(Clone, Copy)]
pub(super) struct TextChange {
    pub(super) entry: u64,
    pub(super) before: u8,
    pub(super) after: u8,
}

/// Changes of a batch, by field.
#[derive(Default)]
pub(super) struct Changes {
    /// By field number; more than the index has when an earlier batch was for another index.
    fields: Vec<FieldChanges>,
    every: Vec<Change>,
    arena: Vec<u8>,
    order: Vec<usize>,
    sorted_terms: Vec<(FieldId, BatchTerm)>,
    new_terms: Vec<NewTerm>,
    /// Positions of the new terms of one entry.
    new_positions: Vec<u32>,
    /// Encoded positions of all changes.
    positions: Vec<u8>,
    old_record: Vec<u8>,
    new_record: Vec<u8>,
}

impl Changes {
    /// Changes of a field, when it has any.
    pub(super) fn of_field(&self, field: FieldId) -> Option<&FieldChanges> {
        let changes = self.fields.get(field.position())?;
        let is_changed =
            !changes.terms.is_empty() || !changes.exists.is_empty() || !changes.texts.is_empty();
        is_changed.then_some(changes)
    }

    /// Encoded positions, which changes of occurrences refer to.
    pub(super) fn positions(&self) -> &[u8] {
        &self.positions
    }

    /// Key of the term of an occurrence, class first.
    pub(super) fn occurrence_key(&self, change: &TermOccurrences) -> &[u8] {
        &self.arena[change.start as usize..][..change.len_bytes as usize]
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
        vectors: &mut VectorWriter,
    ) -> Result<Applied, IndexError> {
        self.reset(catalog.fields().len());
        self.order_entries(batch);
        let mut forward = store.tree_mut(FORWARD_TREE)?;
        let mut applied = Applied::default();
        let order = std::mem::take(&mut self.order);
        for &position in &order {
            let takes = |(field, dimensions): (FieldId, u16)| {
                vectors.admits(catalog, field, batch.changes()[position].entry, dimensions)
            };
            self.order_terms(batch, position, fields, takes);
            self.collect_entry(&mut forward, batch, position, catalog, &mut applied)?;
        }
        self.order = order;
        for field in &mut self.fields {
            applied.term_changes += field.terms.len() as u64;
            sort_changes(&mut field.terms, &self.arena);
            let key = |o: &TermOccurrences| &self.arena[o.start as usize..][..o.len_bytes as usize];
            field.occurrences.sort_unstable_by(|a, b| {
                let entries = (a.change.entry, b.change.entry);
                key(a).cmp(key(b)).then(entries.0.cmp(&entries.1))
            });
        }
        Ok(applied)
    }

    fn reset(&mut self, field_count: usize) {
        for field in &mut self.fields {
            field.exists.clear();
            field.terms.clear();
            field.occurrences.clear();
            field.texts.clear();
        }
        self.positions.clear();
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

    /// Sorts the terms of a change, drops repeats and vectors that are not taken, and writes the
    /// new record.
    fn order_terms(
        &mut self,
        batch: &Batch,
        position: usize,
        fields: &[FieldId],
        mut takes: impl FnMut((FieldId, u16)) -> bool,
    ) {
        self.sorted_terms.clear();
        for term in batch.terms(position) {
            let field = fields[usize::from(term.field.0)];
            let dimensions = batch.dimensions(term);
            if dimensions.is_none_or(|dimensions| takes((field, dimensions))) {
                self.sorted_terms.push((field, *term));
            }
        }
        let key = |term: &(FieldId, BatchTerm)| (term.0, batch.key(&term.1));
        // Terms were added in the order of their positions.
        self.sorted_terms.sort_by(|a, b| key(a).cmp(&key(b)));
        self.new_terms.clear();
        self.new_positions.clear();
        let mut summary: Option<usize> = None;
        for group in self.sorted_terms.chunk_by(|a, b| key(a) == key(b)) {
            let (field, term) = group[0];
            let start = self.new_positions.len();
            if batch.has_position(&term) {
                let slot = match summary {
                    Some(slot) if self.new_terms[slot].field == field => slot,
                    _ => {
                        // Before all other terms of the field, null and numbers included.
                        let slot = self.new_terms.partition_point(|known| known.field < field);
                        let key = NewKey::Tokens([0; TOKENS_KEY_BYTES]);
                        let positions = start..start;
                        self.new_terms.insert(
                            slot,
                            NewTerm {
                                field,
                                key,
                                positions,
                            },
                        );
                        summary = Some(slot);
                        slot
                    }
                };
                let positions = group.iter().map(|(_, term)| batch.position(term));
                self.new_positions.extend(positions);
                self.new_positions[start..].sort_unstable();
                let sum = token_sum(batch.key(&term), &self.new_positions[start..]);
                let length = self.new_positions.len() - self.new_terms[slot].positions.start;
                if let NewKey::Tokens(known) = &mut self.new_terms[slot].key {
                    add_tokens(known, sum);
                    known[1] = norm_of(u32::try_from(length).unwrap_or(u32::MAX));
                }
            }
            self.new_terms.push(NewTerm {
                field,
                key: NewKey::Term(term),
                positions: start..self.new_positions.len(),
            });
        }
        let mut record = RecordWriter::new(&mut self.new_record);
        for term in &self.new_terms {
            record.push(term.field, term.key(batch));
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
            .map(|term| (term.field, term.key(batch), term.positions.clone()))
            .peekable();
        let mut old = next_old().at(FORWARD_TREE, &entry_key)?;
        let mut presence = Presence::default();
        while let Some((term, side)) = lesser(old, new.peek().map(|new| (new.0, new.1))) {
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
            let mut positions = 0..0;
            if side != Side::Old {
                presence.after = true;
                positions = new.next().map_or(0..0, |(_, _, positions)| positions);
            }
            if let Some((&class::TOKENS, summary)) = term.1.split_first() {
                presence.note_tokens(side, summary);
                continue;
            }
            // The summaries come before all texts.
            if let (Some((_, norm)), Some(&class::TEXT)) = (presence.tokens, term.1.first()) {
                self.push_occurrences(term, (entry, norm), positions)?;
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
        if let Some((before, after)) = presence.tokens {
            let change = TextChange {
                entry,
                before,
                after,
            };
            self.fields[field.position()].texts.push(change);
        }
        let change = match (presence.before, presence.after) {
            (false, true) => Change::add(entry),
            (true, false) => Change::remove(entry),
            _ => return,
        };
        self.fields[field.position()].exists.push(change);
    }

    /// Notes the positions of a term in an entry whose tokens changed; none when it lost the term.
    fn push_occurrences(
        &mut self,
        term: (FieldId, &[u8]),
        (entry, norm): (u64, u8),
        positions: Range<usize>,
    ) -> Result<(), IndexError> {
        let (field, key) = term;
        let too_large = |_| IndexError::BatchTooLarge;
        let start = u32::try_from(self.arena.len()).map_err(too_large)?;
        let len_bytes = u32::try_from(key.len()).map_err(too_large)?;
        self.arena.extend_from_slice(key);
        let frequency = u32::try_from(positions.len()).map_err(too_large)?;
        let first = self.positions.len();
        push_positions(&self.new_positions[positions], &mut self.positions);
        self.fields[field.position()]
            .occurrences
            .push(TermOccurrences {
                start,
                len_bytes,
                change: OccurrenceChange {
                    entry,
                    frequency,
                    norm,
                    positions: first..self.positions.len(),
                },
            });
        Ok(())
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
    /// Norms before and after, when the tokens of the field changed.
    tokens: Option<(u8, u8)>,
}

impl Presence {
    /// Notes the summary of the old or the new tokens; equal ones are no change.
    fn note_tokens(&mut self, side: Side, summary: &[u8]) {
        let norm = summary.first().copied().unwrap_or(0);
        let (before, after) = self.tokens.unwrap_or((0, 0));
        match side {
            Side::Both => {}
            Side::Old => self.tokens = Some((norm, after)),
            Side::New => self.tokens = Some((before, norm)),
        }
    }
}

/// Adds to the sum in the summary of a field's tokens.
fn add_tokens(key: &mut [u8; TOKENS_KEY_BYTES], sum: u64) {
    key[0] = class::TOKENS;
    if let Some(place) = key.last_chunk_mut::<8>() {
        *place = u64::from_le_bytes(*place).wrapping_add(sum).to_le_bytes();
    }
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

//! Takes the changes of a batch into the trees of an index: entries of documents, or places in
//! groups whose results are the entries.
//!
//! Invariants:
//! - Everything of a batch changes in one transaction: what documents gave, what they asked for,
//!   groups and their results, the inverted index and the position.
//! - What did not change is not written.

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, DocumentBuf};
use jackdaw_model::{DocumentNumber, Etag};
use jackdaw_search::EntryId;
use jackdaw_storage::WriteTransaction;

use super::definition::StaticDefinition;
use super::entry::{EntryForm, Made, normalize};
use super::errors::{self, IndexingError};
use super::groups::{Groups, Reducing};
use super::references::{self, Asked};
use super::terms::Terms;
use super::trees::{
    ENTRIES, META, Meta, PENDING, encode_owned, key, numbers_of_document,
    replace_numbers_of_document,
};
use crate::indexes::step::StepError;

/// What became of one document.
pub(super) struct Change {
    pub(super) number: DocumentNumber,
    /// Its id; empty when it is gone.
    pub(super) id: String,
    /// What the maps gave, in order; none when it is gone or failed.
    pub(super) mapped: Vec<DocumentBuf>,
    pub(super) asked: Asked,
}

/// A batch, ready to be applied.
#[derive(Default)]
pub(super) struct Changes {
    /// Each document once.
    pub(super) documents: Vec<Change>,
    /// Documents to be mapped later.
    pub(super) postponed: Vec<DocumentNumber>,
    pub(super) errors: Vec<IndexingError>,
    pub(super) map_attempts: u64,
    pub(super) map_errors: u64,
    pub(super) reference_attempts: u64,
    pub(super) up_to: Etag,
    /// Compare-exchange was looked at up to here.
    pub(super) exchange_up_to: Option<u64>,
}

/// See the file head. Memory is kept between batches.
pub(super) struct Applier {
    pub(super) terms: Terms,
    form: EntryForm,
    builder: Builder,
    /// Most that the groups of a batch may give.
    results_bytes_max: usize,
}

impl Applier {
    pub(super) fn new(form: EntryForm, results_bytes_max: usize) -> Applier {
        Applier {
            terms: Terms::new(),
            form,
            builder: Builder::new(),
            results_bytes_max,
        }
    }

    /// Applies `changes`; gives the numbers of the index after them.
    pub(super) fn apply(
        &mut self,
        transaction: &mut WriteTransaction,
        definition: &StaticDefinition,
        changes: Changes,
        mut reducing: Option<Reducing<'_>>,
        now: UnixTicks,
    ) -> Result<Meta, StepError> {
        self.terms.clear();
        let mut meta = Meta::load(transaction.tree(META)?.as_ref())?;
        let mut errors = changes.errors;
        let mut groups = Groups::new(definition.output_collection.is_some());
        for change in &changes.documents {
            let outputs = u32::try_from(change.mapped.len()).unwrap_or(u32::MAX);
            meta.outputs_max = meta.outputs_max.max(outputs);
            references::set(transaction, change.number, &change.asked)?;
            if transaction.tree(PENDING)?.is_some() {
                transaction
                    .tree_mut(PENDING)?
                    .delete(&key(change.number.0))?;
            }
            match &reducing {
                Some(reducing) => {
                    let keys = reducing.program.group_by();
                    groups.change(transaction, change.number, &change.mapped, keys, &mut meta)?;
                }
                None => self.replace_of_document(transaction, definition, change, &mut meta)?,
            }
        }
        if let Some(reducing) = &mut reducing {
            let mut results_bytes = 0;
            while let Some(group) = groups.next_touched() {
                let results = groups.reduce(transaction, group, reducing, &mut meta)?;
                let results = results.unwrap_or_else(|error| {
                    errors.push(IndexingError {
                        at: now,
                        document: None,
                        action: "Reduce".to_owned(),
                        error: errors::cut(error),
                    });
                    Vec::new()
                });
                results_bytes += results.iter().map(DocumentBuf::len).sum::<usize>();
                if results_bytes > self.results_bytes_max {
                    return Err(self.too_much(&changes.documents));
                }
                let before = groups.entries(transaction, group)?;
                let entries = self.normalized(&results)?;
                let entries = self.replace(
                    transaction,
                    definition,
                    (group, None),
                    &before,
                    &entries,
                    &mut meta,
                )?;
                groups.store(transaction, group, entries)?;
            }
        }
        for number in &changes.postponed {
            transaction.tree_mut(PENDING)?.put(&key(number.0), &[])?;
        }
        meta.map_attempts += changes.map_attempts;
        meta.map_errors += changes.map_errors;
        meta.reference_attempts += changes.reference_attempts;
        meta.exchange_up_to = changes.exchange_up_to.unwrap_or(meta.exchange_up_to);
        meta.last_batch = Some(now);
        for (document, why) in self.terms.apply(transaction, changes.up_to)? {
            errors.push(IndexingError {
                at: now,
                error: match &document {
                    Some(id) => format!("A vector of {id} is not in the index. Exception: {why}"),
                    None => format!("A vector is not in the index. Exception: {why}"),
                },
                document,
                action: "Map".to_owned(),
            });
        }
        errors::store(transaction, &errors, &mut meta)?;
        transaction
            .tree_mut(META)?
            .put(Meta::key(), &meta.encode())?;
        Ok(meta)
    }

    fn too_much(&self, documents: &[Change]) -> StepError {
        let first = documents.first().map_or("", |change| &change.id);
        StepError::TooMuch {
            what: format!("the reduce of the groups of '{first}'"),
            limit_bytes: self.results_bytes_max,
        }
    }

    fn normalized(&mut self, given: &[DocumentBuf]) -> Result<Vec<DocumentBuf>, StepError> {
        let mut made = Made::new();
        let mut entries = Vec::with_capacity(given.len());
        for one in given {
            entries.extend(normalize(
                one.root(),
                &self.form,
                &mut self.builder,
                &mut made,
            )?);
        }
        self.terms.note_made(made);
        Ok(entries)
    }

    fn replace_of_document(
        &mut self,
        transaction: &mut WriteTransaction,
        definition: &StaticDefinition,
        change: &Change,
        meta: &mut Meta,
    ) -> Result<(), StepError> {
        let before = numbers_of_document(transaction, change.number)?;
        let entries = self.normalized(&change.mapped)?;
        let now = self.replace(
            transaction,
            definition,
            (change.number.0, Some(&change.id)),
            &before,
            &entries,
            meta,
        )?;
        Ok(replace_numbers_of_document(
            transaction,
            change.number,
            &before,
            &now,
        )?)
    }

    /// Gives an owner, which has an id when it is a document, these entries in place of those
    /// before; gives their numbers. Numbers are used again in order, so that an entry that stays
    /// the same is not touched.
    fn replace(
        &mut self,
        transaction: &mut WriteTransaction,
        definition: &StaticDefinition,
        (owner, id): (u64, Option<&str>),
        before: &[u64],
        entries: &[DocumentBuf],
        meta: &mut Meta,
    ) -> Result<Vec<u64>, StepError> {
        let mut now = Vec::with_capacity(entries.len());
        for (slot, values) in entries.iter().enumerate() {
            let stored = encode_owned(owner, values.as_bytes());
            let known = before.get(slot).copied();
            let number = known.unwrap_or(meta.next_entry);
            if known.is_none() {
                meta.next_entry += 1;
            }
            now.push(number);
            let mut tree = transaction.tree_mut(ENTRIES)?;
            if known.is_some() && tree.get(&key(number))? == Some(&stored[..]) {
                continue;
            }
            tree.put(&key(number), &stored)?;
            self.terms
                .put(definition, EntryId(number), id, values.document())?;
        }
        for number in before.iter().skip(entries.len()) {
            transaction.tree_mut(ENTRIES)?.delete(&key(*number))?;
            self.terms.delete(EntryId(*number))?;
        }
        Ok(now)
    }
}

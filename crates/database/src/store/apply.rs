//! Carries out prepared changes in a write transaction.
//!
//! Called on the engine's writer thread, one operation after another. After an error the operation
//! is taken back as a whole, so nothing here cleans up.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

use jackdaw_base::time::UnixTicks;
use jackdaw_model::{ChangeVector, Origin, split_transaction};
use jackdaw_storage::WriteTransaction;
use rustc_hash::FxHashMap;

use super::collections::CollectionRecord;
use super::identities::next_identity;
use super::revisions;
use super::state::State;
use super::trees::{
    DOCUMENTS, ETAGS, IDS, NUMBER_BYTES, SETTINGS, TOMBSTONES, collection_etags, decode_number,
    number_key,
};
use crate::changes::{BesideChange, Described, DocumentChange};
use crate::command::{Command, CommandResult};
use crate::database::Core;
use crate::error::{ReadError, WriteError};
use crate::flags::Flags;
use crate::names::fold_id;
use crate::prepared::{Action, IdForm, Item, Prepared};
use crate::record::{CollectionNumber, Record, RecordHead};
use crate::revisions::RevisionsConfiguration;
use crate::series_policies::SeriesPolicies;
use crate::tombstone::TombstoneRecord;
use jackdaw_model::{DocumentNumber, Etag};

/// What a transaction's operation did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Applied {
    /// One for each command, when asked for.
    pub(crate) results: Vec<CommandResult>,
    /// Last etag before it.
    pub(crate) etag_before: Etag,
    /// Last etag after it; the same when nothing changed.
    pub(crate) last_etag: Etag,
    pub(crate) puts: u64,
    pub(crate) deletes: u64,
    /// Changes of counters and time series, for those who watch.
    pub(crate) beside: Vec<BesideChange>,
    /// Changes of documents, for those who watch.
    pub(crate) described: Described,
    /// Documents that the batch left out.
    pub(crate) left_out: Vec<LeftOut>,
}

/// A document that was left out of a batch; see [`Prepared::leave_out_mismatches`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeftOut {
    /// What the caller called it.
    pub label: String,
    /// Its id.
    pub id: String,
    /// The collection in which the id is.
    pub from: String,
    /// The collection that it was to go to.
    pub to: String,
}

/// Carries out all of `batch`.
pub(crate) fn apply(
    transaction: &mut WriteTransaction,
    core: &Core,
    batch: &Prepared,
    wants_results: bool,
) -> Result<Applied, WriteError> {
    let mut writer = Writer::begin(transaction, core)?;
    writer.wants_results = wants_results;
    writer.skips_unchanged = batch.skips_unchanged();
    apply_items(&mut writer, core, batch)?;
    writer.finish()
}

/// Carries out a batch of documents that an index makes of its results.
pub(crate) fn apply_outputs(
    transaction: &mut WriteTransaction,
    core: &Core,
    batch: &Prepared,
) -> Result<Applied, WriteError> {
    let mut writer = Writer::begin(transaction, core)?;
    writer.origin_flags = Flags::ARTIFICIAL.with(Flags::FROM_INDEX);
    apply_items(&mut writer, core, batch)?;
    writer.finish()
}

/// Carries out the changes of a batch one after another.
pub(super) fn apply_items(
    writer: &mut Writer<'_>,
    core: &Core,
    batch: &Prepared,
) -> Result<(), WriteError> {
    let mut collections: Vec<Option<CollectionNumber>> = vec![None; batch.collections().len()];
    for item in batch.items() {
        match &item.action {
            Action::Delete => {
                writer.delete(batch.id(item), batch.folded(item), item.expected.as_deref())?;
            }
            Action::Other(command) => match &**command {
                Command::Patch(patch) => writer.patch(patch, &*core.vfs)?,
                other => writer.other(other)?,
            },
            Action::Put {
                form,
                collection: position,
                metadata_len,
                content,
                keeps_revision,
            } => {
                let collection = match collections[*position] {
                    Some(known) => known,
                    None => writer.collection(&batch.collections()[*position])?,
                };
                collections[*position] = Some(collection);
                let (id, folded) = writer.complete_id(*form, batch, item)?;
                let expected = match form {
                    IdForm::Given => item.expected.as_deref(),
                    IdForm::Etag | IdForm::Identity => Some(""),
                };
                let stored = writer.put(&Put {
                    id: &id,
                    folded: &folded,
                    collection,
                    metadata_len: *metadata_len,
                    content: batch.content(content),
                    expected,
                    keeps_revision: *keeps_revision,
                });
                match stored {
                    // Refused before anything was changed.
                    Err(WriteError::CollectionMismatch { id, from, to }) if batch.leaves_out() => {
                        let label = batch.label_of(item).to_owned();
                        let left_out = LeftOut {
                            label,
                            id,
                            from,
                            to,
                        };
                        writer.applied.left_out.push(left_out);
                    }
                    stored => stored?,
                }
            }
        }
    }
    Ok(())
}

/// A document to store.
pub(crate) struct Put<'p> {
    pub(crate) id: &'p str,
    /// Lower case of the id.
    pub(crate) folded: &'p str,
    pub(crate) collection: CollectionNumber,
    /// Bytes of `content` that are metadata; the rest is the body.
    pub(crate) metadata_len: u32,
    pub(crate) content: &'p [u8],
    pub(crate) expected: Option<&'p str>,
    /// Keeps what is there now as a revision first.
    pub(crate) keeps_revision: bool,
}

pub(super) struct OpenCollection {
    pub(super) record: CollectionRecord,
    etag_tree: String,
}

/// A document that is there.
#[derive(Clone, Copy)]
pub(super) struct Existing {
    pub(super) number: DocumentNumber,
    pub(super) head: RecordHead,
}

/// Changes documents; [`Writer::finish`] must follow.
pub(crate) struct Writer<'w> {
    pub(super) transaction: &'w mut WriteTransaction,
    pub(super) origin: &'w Origin,
    pub(super) now: UnixTicks,
    pub(super) state: State,
    collections: FxHashMap<CollectionNumber, OpenCollection>,
    wants_results: bool,
    /// Bytes of documents in the results.
    pub(super) told_bytes: usize,
    /// Leaves documents alone that are put with the content that they have.
    skips_unchanged: bool,
    pub(super) applied: Applied,
    /// Documents whose names beside the body changed; rewritten once at the end.
    pub(super) touched: BTreeSet<DocumentNumber>,
    /// Results that tell the change vector of a document as it is at the end.
    pub(super) incomplete: Vec<(usize, DocumentNumber)>,
    /// Which documents keep revisions, once it was read.
    pub(super) revisions: Option<Option<Rc<RevisionsConfiguration>>>,
    /// The policies of time series, once they were read.
    pub(super) policies: Option<Rc<SeriesPolicies>>,
    /// Flags of what is stored that name where it comes from; none for an ordinary write.
    pub(super) origin_flags: Flags,
    /// Index of the compare-exchange commands of this transaction, once there is one.
    pub(super) exchange_index: Option<u64>,
}

impl<'w> Writer<'w> {
    pub(crate) fn begin(
        transaction: &'w mut WriteTransaction,
        core: &'w Core,
    ) -> Result<Writer<'w>, WriteError> {
        let state = State::load(&transaction.tree_mut(SETTINGS)?.as_tree())?;
        let applied = Applied {
            etag_before: state.last_etag,
            described: core.hub.described(),
            ..Applied::default()
        };
        Ok(Writer {
            transaction,
            origin: &core.origin,
            now: core.now(),
            state,
            collections: FxHashMap::default(),
            wants_results: false,
            told_bytes: 0,
            skips_unchanged: false,
            applied,
            touched: BTreeSet::new(),
            incomplete: Vec::new(),
            revisions: None,
            policies: None,
            origin_flags: Flags::default(),
            exchange_index: None,
        })
    }

    /// Keeps the results of commands.
    pub(super) fn with_results(mut self) -> Writer<'w> {
        self.wants_results = true;
        self
    }

    /// Rewrites what was touched and stores what was counted.
    pub(crate) fn finish(mut self) -> Result<Applied, WriteError> {
        self.rewrite_touched()?;
        let mut applied = self.applied;
        applied.last_etag = self.state.last_etag;
        if applied.last_etag != applied.etag_before {
            self.state.store(self.transaction)?;
            for (number, collection) in &self.collections {
                collection.record.store(*number, self.transaction)?;
            }
        }
        Ok(applied)
    }

    /// The number of the collection called `name`.
    pub(crate) fn collection(&mut self, name: &str) -> Result<CollectionNumber, WriteError> {
        CollectionRecord::number_of(name, self.transaction)
    }

    /// The record of the document with this lower-cased id.
    pub(crate) fn record(&mut self, folded: &str) -> Result<Option<Record<'_>>, WriteError> {
        let Some(existing) = self.find(folded)? else {
            return Ok(None);
        };
        let documents = self.transaction.tree(DOCUMENTS)?;
        let bytes = match documents {
            Some(documents) => documents.get(&number_key(existing.number))?,
            None => None,
        };
        Ok(bytes.and_then(Record::decode))
    }

    pub(super) fn find(&mut self, folded: &str) -> Result<Option<Existing>, WriteError> {
        let number = match self.transaction.tree_mut(IDS)?.get(folded.as_bytes())? {
            Some(bytes) => decode_number(bytes)?,
            None => return Ok(None),
        };
        let documents = self.transaction.tree_mut(DOCUMENTS)?;
        let head = documents
            .get(&number_key(number))?
            .and_then(RecordHead::decode);
        let head =
            head.ok_or_else(|| ReadError::damaged_document("the record of a document", number))?;
        Ok(Some(Existing { number, head }))
    }

    /// Gives a put its whole id.
    fn complete_id<'b>(
        &mut self,
        form: IdForm,
        batch: &'b Prepared,
        item: &Item,
    ) -> Result<(Cow<'b, str>, Cow<'b, str>), WriteError> {
        let given = batch.id(item);
        let id = match form {
            IdForm::Given => return Ok((given.into(), batch.folded(item).into())),
            IdForm::Etag => self.next_id(given),
            IdForm::Identity => loop {
                let number = next_identity(given, self.transaction)?;
                let id = format!("{}/{number}", &given[..given.len() - 1]);
                if self.find(&fold_id(&id)?)?.is_none() {
                    break id;
                }
            },
        };
        let folded = fold_id(&id)?.into_owned();
        Ok((id.into(), folded.into()))
    }

    /// Stores a document.
    pub(crate) fn put(&mut self, put: &Put<'_>) -> Result<(), WriteError> {
        let existing = self.find(put.folded)?;
        self.put_over(put, existing)
    }

    /// [`Writer::put`] where it is known what is there.
    pub(super) fn put_over(
        &mut self,
        put: &Put<'_>,
        existing: Option<Existing>,
    ) -> Result<(), WriteError> {
        self.check_expected(put.id, put.expected, existing, false)?;
        if let Some(existing) = existing
            && existing.head.collection != put.collection
        {
            let from = self.collection_name(existing.head.collection)?;
            let to = self.collection_name(put.collection)?;
            let id = put.id.to_owned();
            return Err(WriteError::CollectionMismatch { id, from, to });
        }
        if let Some(existing) = existing
            && self.skips_unchanged
            && self.is_unchanged(put, existing)?
        {
            return Ok(());
        }
        let existing = match existing {
            Some(existing) => Some(self.keep_replaced(put, existing)?),
            None if put.keeps_revision => {
                return Err(WriteError::NoDocument {
                    id: put.id.to_owned(),
                    what: "revisions",
                });
            }
            None => None,
        };
        let number = match existing {
            Some(existing) => existing.number,
            None => {
                self.state.last_number.0 += 1;
                self.state.last_number
            }
        };
        let flags = self.store(put, number, existing.map(|existing| existing.head))?;
        if existing.is_none() {
            let mut ids = self.transaction.tree_mut(IDS)?;
            ids.put(put.folded.as_bytes(), &number.0.to_le_bytes())?;
        }
        self.applied.puts += 1;
        if self.wants_results {
            let collection = self.collection_name(put.collection)?;
            let etag = self.state.last_etag;
            self.applied.results.push(CommandResult::Put {
                id: put.id.to_owned(),
                etag,
                change_vector: self.origin.change_vector(etag),
                collection,
                last_modified: self.now,
                flags,
            });
        }
        Ok(())
    }

    /// Whether a document is put with the content that it has.
    fn is_unchanged(&mut self, put: &Put<'_>, existing: Existing) -> Result<bool, WriteError> {
        let Existing { number, head } = existing;
        let mut flags = head.flags;
        let composed = match flags.has(Flags::BESIDE) || self.touched.contains(&number) {
            true => Some(self.compose(number, put, &mut flags)?),
            false => None,
        };
        let (metadata_len, content) = match &composed {
            Some((metadata_len, content)) => (*metadata_len, content.as_slice()),
            None => (put.metadata_len, put.content),
        };
        let is_same = self.with_record(number, |_, record, _| {
            let (metadata, body) = record.stored_bytes();
            let parts = content.split_at_checked(metadata_len as usize);
            Ok(parts == Some((metadata, body)))
        })?;
        Ok(is_same == Some(true))
    }

    /// Writes a document under the next etag, in the place of the one with head `old`. What it has
    /// beside its body is looked up when it had, or was touched.
    pub(super) fn store(
        &mut self,
        put: &Put<'_>,
        number: DocumentNumber,
        old: Option<RecordHead>,
    ) -> Result<Flags, WriteError> {
        let mut flags = old.map_or(Flags::default(), |old| old.flags);
        let is_forced = flags.has(Flags::FORCE_CREATED);
        flags = flags.without(Flags::FORCE_CREATED);
        let rule = self.rule(put.collection)?;
        flags = flags.set(
            Flags::HAS_REVISIONS,
            is_forced || rule.is_some() || flags.has(Flags::HAS_REVISIONS),
        );
        let composed = match flags.has(Flags::BESIDE) || self.touched.contains(&number) {
            true => Some(self.compose(number, put, &mut flags)?),
            false => None,
        };
        let (metadata_len, content) = match &composed {
            Some((metadata_len, content)) => (*metadata_len, content.as_slice()),
            None => (put.metadata_len, put.content),
        };
        let (metadata, _) = content
            .split_at_checked(metadata_len as usize)
            .ok_or_else(|| ReadError::damaged_document("the metadata of a document", number))?;
        let has_dates = self.enter_dates(put.id, number, old, metadata)?;
        flags = flags.set(Flags::HAS_DATES, has_dates);
        flags = flags.without(Flags::ORIGINS).with(self.origin_flags);
        self.state.last_etag.0 += 1;
        let head = RecordHead {
            etag: self.state.last_etag,
            collection: put.collection,
            last_modified: self.now,
            flags,
        };
        let len_bytes = RecordHead::record_bytes(put.id, content.len());
        let mut documents = self.transaction.tree_mut(DOCUMENTS)?;
        documents.put_with(&number_key(number), len_bytes, |place| {
            head.encode(put.id, metadata_len, content, place);
        })?;
        self.move_etag(put.collection, number, old.map(|old| old.etag))?;
        self.describe(false, put.id, put.collection)?;
        if is_forced || rule.is_some() {
            let (metadata, body) = content.split_at(metadata_len as usize);
            let state = revisions::State {
                id: put.id,
                folded: put.folded,
                number,
                head,
                metadata,
                body,
            };
            let forced = Flags::REVISION.set(Flags::FORCE_CREATED, is_forced);
            self.keep(&state, forced)?;
            if let Some(rule) = &rule {
                self.enforce(put.folded, rule)?;
            }
        }
        Ok(flags.without(Flags::HAS_DATES))
    }

    /// The name of a collection in its first spelling.
    pub(super) fn collection_name(
        &mut self,
        number: CollectionNumber,
    ) -> Result<String, WriteError> {
        Ok(self.open_collection(number)?.record.name.to_string())
    }

    /// Adds the result of a command when results are wanted; gives its position.
    pub(super) fn push_result(&mut self, result: CommandResult) -> Option<usize> {
        self.wants_results.then(|| {
            self.applied.results.push(result);
            self.applied.results.len() - 1
        })
    }

    /// Does `work` as a part of a command that has a result of its own.
    pub(super) fn without_results<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        let wants_results = std::mem::take(&mut self.wants_results);
        let outcome = work(self);
        self.wants_results = wants_results;
        outcome
    }

    /// Enters the change of a document under the last etag.
    fn move_etag(
        &mut self,
        collection: CollectionNumber,
        number: DocumentNumber,
        old: Option<Etag>,
    ) -> Result<(), WriteError> {
        let etag = self.state.last_etag;
        let value = number.0.to_le_bytes();
        let mut etags = self.transaction.fixed_tree_mut(ETAGS, NUMBER_BYTES)?;
        if let Some(old) = old {
            etags.delete(old.0)?;
        }
        etags.put(etag.0, &value)?;
        self.open_collection(collection)?;
        let open = self.collections.get_mut(&collection).expect("opened above");
        let mut etags = self
            .transaction
            .fixed_tree_mut(&open.etag_tree, NUMBER_BYTES)?;
        match old {
            Some(old) => {
                etags.delete(old.0)?;
            }
            None => open.record.count += 1,
        }
        etags.put(etag.0, &value)?;
        open.record.last_etag = etag;
        Ok(())
    }

    /// Removes a document; nothing happens when there is none and nothing was expected.
    pub(crate) fn delete(
        &mut self,
        id: &str,
        folded: &str,
        expected: Option<&str>,
    ) -> Result<(), WriteError> {
        let existing = match folded.is_empty() {
            true => None,
            false => self.find(folded)?,
        };
        self.check_expected(id, expected, existing, true)?;
        if let Some(existing) = existing {
            self.remove(folded, existing)?;
            self.applied.deletes += 1;
        }
        if self.wants_results {
            self.applied.results.push(CommandResult::Delete {
                id: id.to_owned(),
                deleted: existing.is_some(),
            });
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, folded: &str, existing: Existing) -> Result<(), WriteError> {
        let Existing { number, head } = existing;
        self.leave_dates(number, Some(head))?;
        self.leave_guard(folded)?;
        self.remove_beside(number, head.flags)?;
        self.state.last_etag.0 += 1;
        let etag = self.state.last_etag;
        self.revise_deletion(folded, existing)?;
        let tombstone = TombstoneRecord {
            number,
            collection: head.collection,
            deleted: self.now,
            last_etag: head.etag,
            folded,
        };
        self.transaction
            .tree_mut(DOCUMENTS)?
            .delete(&number_key(number))?;
        self.transaction.tree_mut(IDS)?.delete(folded.as_bytes())?;
        self.transaction
            .fixed_tree_mut(ETAGS, NUMBER_BYTES)?
            .delete(head.etag.0)?;
        self.transaction
            .tree_mut(TOMBSTONES)?
            .put(&etag.0.to_be_bytes(), &tombstone.encode())?;
        self.open_collection(head.collection)?;
        let open = self
            .collections
            .get_mut(&head.collection)
            .expect("opened above");
        self.transaction
            .fixed_tree_mut(&open.etag_tree, NUMBER_BYTES)?
            .delete(head.etag.0)?;
        open.record.count = open
            .record
            .count
            .checked_sub(1)
            .ok_or_else(|| ReadError::damaged("the count of a collection"))?;
        open.record.last_etag = etag;
        self.describe(true, folded, head.collection)
    }

    /// Tells of the change with the last etag, if somebody wants to know.
    fn describe(
        &mut self,
        is_deleted: bool,
        id: &str,
        collection: CollectionNumber,
    ) -> Result<(), WriteError> {
        let etag = self.state.last_etag;
        let mut described = std::mem::take(&mut self.applied.described);
        let outcome = described.push(|| {
            Ok(DocumentChange {
                etag,
                is_deleted,
                id: id.to_owned(),
                collection: self.collection_name(collection)?,
            })
        });
        self.applied.described = described;
        outcome
    }

    /// Completes an id that ends with a slash.
    pub(super) fn next_id(&self, prefix: &str) -> String {
        format!(
            "{prefix}{:019}-{}",
            self.state.last_etag.0 + 1,
            self.origin.node()
        )
    }

    pub(super) fn check_expected(
        &self,
        id: &str,
        expected: Option<&str>,
        existing: Option<Existing>,
        delete: bool,
    ) -> Result<(), WriteError> {
        let Some(expected) = expected else {
            return Ok(());
        };
        let actual = existing.map(|existing| self.origin.change_vector(existing.head.etag));
        if is_vector(
            split_transaction(expected).0,
            actual.as_deref().unwrap_or(""),
        ) {
            return Ok(());
        }
        Err(WriteError::Conflict {
            id: id.to_owned(),
            expected: expected.to_owned(),
            actual,
            delete,
        })
    }

    fn open_collection(&mut self, number: CollectionNumber) -> Result<&OpenCollection, WriteError> {
        if !self.collections.contains_key(&number) {
            let open = OpenCollection {
                record: CollectionRecord::load(number, self.transaction)?,
                etag_tree: collection_etags(number),
            };
            self.collections.insert(number, open);
        }
        Ok(&self.collections[&number])
    }
}
/// Whether the vector that a client expects is the actual one: the same text, or the same changes
/// written in another way.
fn is_vector(expected: &str, actual: &str) -> bool {
    let parsed = |text: &str| text.parse::<ChangeVector>().ok();
    expected == actual || parsed(expected).is_some_and(|vector| Some(vector) == parsed(actual))
}

//! Revisions: earlier states of documents, kept when the configuration or a caller says so.
//!
//! A revision is a document record of its own, under the number of its owner and the etag that the
//! document had; a change vector therefore finds it. Owners are ids, not documents: revisions stay
//! when their document goes, and belong to the next one with its id.
//!
//! Bytes: docs/format.md, "Revisions".

use std::rc::Rc;

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, Document, Value};
use jackdaw_storage::WriteTransaction;

use super::apply::{Existing, Put, Writer};
use super::attachments::listed_hashes;
use super::trees::{
    NUMBER_BYTES, REVISION_BIN, REVISION_ETAGS, REVISION_OWNERS, REVISIONS, SETTINGS,
    keys_with_prefix, number_key,
};
use crate::command::CommandResult;
use crate::error::{ReadError, WriteError};
use crate::flags::Flags;
use crate::metadata::LISTED;
use crate::record::{CollectionNumber, HEAD_BYTES, Record, RecordHead};
use crate::revisions::{RevisionsConfiguration, RevisionsRule};
use jackdaw_model::{DocumentNumber, Etag};

/// Name of the configuration in the tree of settings.
const CONFIGURATION: &[u8] = b"revisions";

/// Reads the configuration from the tree of settings.
pub(crate) fn decode_configuration(
    bytes: Option<&[u8]>,
) -> Result<Option<RevisionsConfiguration>, ReadError> {
    let Some(bytes) = bytes else { return Ok(None) };
    let damaged = || ReadError::damaged("the configuration of revisions");
    let document = Document::open(bytes).map_err(|_| damaged())?;
    let object = document.root().as_object().ok_or_else(damaged)?;
    let parsed = RevisionsConfiguration::parse(object);
    parsed.map(Some).map_err(|_| damaged())
}

/// Key of the configuration in the tree of settings.
pub(crate) fn configuration_key() -> &'static [u8] {
    CONFIGURATION
}

/// Sets the configuration for all changes from now on.
pub(crate) fn store_configuration(
    transaction: &mut WriteTransaction,
    configuration: &RevisionsConfiguration,
) -> Result<(), WriteError> {
    let document = configuration.to_document();
    let mut settings = transaction.tree_mut(SETTINGS)?;
    settings.put(CONFIGURATION, document.as_bytes())?;
    Ok(())
}

/// Key of a revision.
pub(crate) fn revision_key(owner: u64, etag: Etag) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&owner.to_be_bytes());
    key[8..].copy_from_slice(&etag.0.to_be_bytes());
    key
}

/// The etag at the end of a key.
pub(crate) fn key_etag(key: &[u8]) -> Result<Etag, ReadError> {
    let etag = key.get(8..16).and_then(<[u8]>::first_chunk);
    let etag = etag.ok_or_else(|| ReadError::damaged("the key of a revision"))?;
    Ok(Etag(u64::from_be_bytes(*etag)))
}

/// A state of a document that is to be kept.
#[derive(Clone, Copy)]
pub(super) struct State<'s> {
    pub(super) id: &'s str,
    pub(super) folded: &'s str,
    pub(super) number: DocumentNumber,
    pub(super) head: RecordHead,
    pub(super) metadata: &'s [u8],
    pub(super) body: &'s [u8],
}

impl Writer<'_> {
    /// The rule of a collection.
    pub(super) fn rule(
        &mut self,
        collection: CollectionNumber,
    ) -> Result<Option<RevisionsRule>, WriteError> {
        let configuration = match &self.revisions {
            Some(known) => known.clone(),
            None => {
                let settings = self.transaction.tree_mut(SETTINGS)?;
                let read = decode_configuration(settings.get(CONFIGURATION)?)?.map(Rc::new);
                self.revisions = Some(read.clone());
                read
            }
        };
        let Some(configuration) = configuration else {
            return Ok(None);
        };
        let name = self.collection_name(collection)?;
        Ok(configuration.rule(&name).cloned())
    }

    /// Keeps what a put is about to replace, when it has never been kept and is to be.
    pub(super) fn keep_replaced(
        &mut self,
        put: &Put<'_>,
        existing: Existing,
    ) -> Result<Existing, WriteError> {
        let Existing { number, head } = existing;
        if put.keeps_revision && !self.is_kept(put.folded, head.etag)? {
            // Under an etag of its own, as a forced revision: clients see the flag appear.
            self.force(number)?;
            let found = self.find(put.folded)?;
            return found.ok_or_else(|| ReadError::damaged("an id").into());
        }
        if head.flags.has(Flags::HAS_REVISIONS) || self.rule(put.collection)?.is_none() {
            return Ok(existing);
        }
        // The configuration came after the document: its present state is the first revision.
        self.with_record(number, |writer, record, head| {
            let (metadata, body) = record.stored_bytes();
            writer.keep(
                &State {
                    id: record.id,
                    folded: put.folded,
                    number,
                    head: *head,
                    metadata,
                    body,
                },
                Flags::REVISION,
            )
        })?;
        Ok(existing)
    }

    /// Calls `use_it` with a copy of a stored document; nothing happens when there is none.
    pub(super) fn with_record<T>(
        &mut self,
        number: DocumentNumber,
        use_it: impl FnOnce(&mut Self, &Record<'_>, &RecordHead) -> Result<T, WriteError>,
    ) -> Result<Option<T>, WriteError> {
        let documents = self.transaction.tree_mut(super::trees::DOCUMENTS)?;
        let Some(bytes) = documents.get(&number_key(number))?.map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        let damaged = || ReadError::damaged_document("the record of a document", number);
        let record = Record::decode(&bytes).ok_or_else(damaged)?;
        let head = RecordHead::decode(&bytes).ok_or_else(damaged)?;
        use_it(self, &record, &head).map(Some)
    }

    /// Whether the state with this etag is among the revisions of an id.
    fn is_kept(&mut self, folded: &str, etag: Etag) -> Result<bool, WriteError> {
        let Some(owner) = self.owner_of(folded)? else {
            return Ok(false);
        };
        let revisions = self.transaction.tree_mut(REVISIONS)?;
        Ok(revisions.get(&revision_key(owner, etag))?.is_some())
    }

    fn owner_of(&mut self, folded: &str) -> Result<Option<u64>, WriteError> {
        let owners = self.transaction.tree_mut(REVISION_OWNERS)?;
        let bytes = owners.get(folded.as_bytes())?;
        let number = bytes.map(super::trees::decode_number).transpose()?;
        Ok(number.map(|number| number.0))
    }

    /// Keeps a state of a document under its etag.
    pub(super) fn keep(&mut self, state: &State<'_>, flags: Flags) -> Result<(), WriteError> {
        let owner = match self.owner_of(state.folded)? {
            Some(owner) => owner,
            None => {
                // Owners share the numbers of documents, so that none is used twice.
                self.state.last_number.0 += 1;
                let owner = self.state.last_number.0;
                let mut owners = self.transaction.tree_mut(REVISION_OWNERS)?;
                owners.put(state.folded.as_bytes(), &owner.to_le_bytes())?;
                owner
            }
        };
        let (metadata, beside) = self.snapshot_metadata(state)?;
        let flags = flags.with(Flags::HAS_REVISIONS).with(beside);
        let head = RecordHead {
            flags,
            ..state.head
        };
        let metadata_len = u32::try_from(metadata.len())
            .map_err(|_| ReadError::damaged_document("the metadata of a document", state.number))?;
        let content = [&metadata, state.body].concat();
        let len_bytes = HEAD_BYTES + state.id.len() + content.len();
        for hash in listed_hashes(&metadata) {
            self.count_content(&hash, 1)?;
        }
        let key = revision_key(owner, head.etag);
        let mut revisions = self.transaction.tree_mut(REVISIONS)?;
        revisions.put_with(&key, len_bytes, |place| {
            head.encode(state.id, metadata_len, &content, place);
        })?;
        let value = owner.to_le_bytes();
        let mut etags = self
            .transaction
            .fixed_tree_mut(REVISION_ETAGS, NUMBER_BYTES)?;
        etags.put(head.etag.0, &value)?;
        if flags.has(Flags::DELETE_REVISION) {
            let mut bin = self
                .transaction
                .fixed_tree_mut(REVISION_BIN, NUMBER_BYTES)?;
            bin.put(head.etag.0, &value)?;
        } else {
            self.leave_bin(owner)?;
        }
        Ok(())
    }

    /// Takes an id whose document is there again out of the bin.
    fn leave_bin(&mut self, owner: u64) -> Result<(), WriteError> {
        let etag = {
            let Some(bin) = self.transaction.fixed_tree(REVISION_BIN)? else {
                return Ok(());
            };
            let value = owner.to_le_bytes();
            // The newest entries are the likely ones, and the bin is small.
            let mut found = None;
            for entry in bin.iter()?.rev() {
                let (etag, owner) = entry?;
                if owner == value {
                    found = Some(etag);
                    break;
                }
            }
            found
        };
        if let Some(etag) = etag {
            let mut bin = self
                .transaction
                .fixed_tree_mut(REVISION_BIN, NUMBER_BYTES)?;
            bin.delete(etag)?;
        }
        Ok(())
    }

    /// The metadata of a revision: lists of what changes apart become pictures of their moment.
    fn snapshot_metadata(&mut self, state: &State<'_>) -> Result<(Vec<u8>, Flags), WriteError> {
        let beside = Flags::BESIDE;
        let flags = match state.head.flags.has(beside) {
            true => state.head.flags.and(beside),
            false => return Ok((state.metadata.to_vec(), Flags::default())),
        };
        let mut builder = Builder::new();
        builder.begin_object();
        if let Value::Object(own) = Document::trusted(state.metadata).root() {
            for (name, value) in own.iter() {
                if name == "@attachments" || !LISTED.contains(&name) {
                    builder.key(name).value(value);
                }
            }
        }
        let counters = self.counter_values(state.number)?;
        if !counters.is_empty() {
            builder.key("@counters-snapshot").begin_object();
            for (name, value) in &counters {
                builder.key(name).long(*value);
            }
            builder.end_object();
        }
        let series = self.series_of(state.number)?;
        if !series.is_empty() {
            builder.key("@timeseries-snapshot").begin_object();
            for (name, count, first, last) in &series {
                let at = |milliseconds: i64| UnixTicks(milliseconds.saturating_mul(10_000));
                builder.key(name).begin_object();
                builder
                    .key("Count")
                    .long(i64::try_from(*count).unwrap_or(i64::MAX));
                builder.key("Start").string(&at(*first).to_string());
                builder.key("End").string(&at(*last).to_string());
                builder.end_object();
            }
            builder.end_object();
        }
        builder.end_object();
        let damaged = |_| ReadError::damaged_document("the metadata of a document", state.number);
        Ok((builder.finish().map_err(damaged)?.into_bytes(), flags))
    }

    /// Deletes revisions of an id beyond what the rule keeps.
    pub(super) fn enforce(
        &mut self,
        folded: &str,
        rule: &RevisionsRule,
    ) -> Result<u64, WriteError> {
        let Some(kept) = rule
            .minimum_to_keep
            .and_then(|kept| usize::try_from(kept).ok())
        else {
            return Ok(0);
        };
        let Some(owner) = self.owner_of(folded)? else {
            return Ok(0);
        };
        let keys = keys_with_prefix(self.transaction, REVISIONS, &owner.to_be_bytes())?;
        let surplus = keys.len().saturating_sub(kept);
        let at_once = rule
            .deleted_at_once_max
            .and_then(|max| usize::try_from(max).ok());
        let mut deleted = 0;
        for key in keys.iter().take(surplus.min(at_once.unwrap_or(usize::MAX))) {
            if let Some(age) = rule.minimum_age {
                let revisions = self.transaction.tree_mut(REVISIONS)?;
                let head = revisions.get(key)?.and_then(RecordHead::decode);
                let modified = head.map_or(0, |head| head.last_modified.0);
                if self.now.0.saturating_sub(modified) < age {
                    break;
                }
            }
            self.delete_revision(key)?;
            deleted += 1;
        }
        Ok(deleted)
    }

    pub(super) fn delete_revision(&mut self, key: &[u8]) -> Result<(), WriteError> {
        let etag = key_etag(key)?;
        let revisions = self.transaction.tree_mut(REVISIONS)?;
        let record = revisions.get(key)?.and_then(Record::decode);
        let hashes = record.map_or(Vec::new(), |record| listed_hashes(record.stored_bytes().0));
        for hash in hashes {
            self.release_content(&hash)?;
        }
        self.transaction.tree_mut(REVISIONS)?.delete(key)?;
        for name in [REVISION_ETAGS, REVISION_BIN] {
            self.transaction
                .fixed_tree_mut(name, NUMBER_BYTES)?
                .delete(etag.0)?;
        }
        Ok(())
    }

    /// Deletes all revisions of an id; gives how many there were.
    pub(crate) fn purge(&mut self, folded: &str) -> Result<u64, WriteError> {
        let Some(owner) = self.owner_of(folded)? else {
            return Ok(0);
        };
        let keys = keys_with_prefix(self.transaction, REVISIONS, &owner.to_be_bytes())?;
        for key in &keys {
            self.delete_revision(key)?;
        }
        let mut owners = self.transaction.tree_mut(REVISION_OWNERS)?;
        owners.delete(folded.as_bytes())?;
        Ok(keys.len() as u64)
    }

    /// Deletes the revisions of these ids, or those beyond what their rule keeps.
    pub(crate) fn delete_revisions(
        &mut self,
        ids: &[String],
        only_surplus: bool,
    ) -> Result<u64, WriteError> {
        let mut deleted = 0;
        for id in ids {
            let folded = lowercase(id).into_owned();
            if !only_surplus {
                deleted += self.purge(&folded)?;
                continue;
            }
            let Some(existing) = self.find(&folded)? else {
                continue;
            };
            deleted += match self.rule(existing.head.collection)? {
                Some(rule) => self.enforce(&folded, &rule)?,
                None => self.purge(&folded)?,
            };
        }
        Ok(deleted)
    }

    /// Keeps that a document was deleted, or deletes its revisions, as its rule says.
    pub(super) fn revise_deletion(
        &mut self,
        folded: &str,
        existing: Existing,
    ) -> Result<(), WriteError> {
        let Existing { number, head } = existing;
        let rule = self.rule(head.collection)?;
        if rule.as_ref().is_some_and(|rule| rule.purge_on_delete) {
            self.purge(folded)?;
            return Ok(());
        }
        if rule.is_none() && !head.flags.has(Flags::HAS_REVISIONS) {
            return Ok(());
        }
        let mut builder = Builder::new();
        let empty = builder.begin_object().end_object().finish();
        let body = empty.expect("the calls are balanced");
        let etag = self.state.last_etag;
        let modified = self.now;
        self.with_record(number, |writer, record, head| {
            let head = RecordHead {
                etag,
                last_modified: modified,
                flags: Flags::default(),
                ..*head
            };
            writer.keep(
                &State {
                    id: record.id,
                    folded,
                    number,
                    head,
                    metadata: &[],
                    body: body.as_bytes(),
                },
                Flags::DELETE_REVISION,
            )
        })?;
        if let Some(rule) = rule {
            self.enforce(folded, &rule)?;
        }
        Ok(())
    }

    /// Carries out the command that keeps a document's present state.
    pub(super) fn force_revision(&mut self, id: &str) -> Result<(), WriteError> {
        let existing = self.owner(id, "revisions")?;
        let is_new = !self.is_kept(&lowercase(id), existing.head.etag)?;
        if is_new {
            self.force(existing.number)?;
        }
        let told = self.with_record(existing.number, |writer, record, head| {
            let vector = writer.origin.change_vector(head.etag);
            Ok((record.id.to_owned(), vector, head.last_modified, head.flags))
        })?;
        let damaged = || ReadError::damaged_document("a document", existing.number);
        let (id, change_vector, last_modified, flags) = told.ok_or_else(damaged)?;
        self.push_result(CommandResult::ForceRevision {
            id,
            created: is_new,
            change_vector,
            last_modified,
            flags,
        });
        Ok(())
    }

    /// Rewrites a document under a new etag with the flag, and keeps that state.
    fn force(&mut self, number: DocumentNumber) -> Result<(), WriteError> {
        self.with_record(number, |writer, record, head| {
            let (metadata, body) = record.stored_bytes();
            let folded = lowercase(record.id);
            let metadata_len = u32::try_from(metadata.len())
                .map_err(|_| ReadError::damaged_document("a document", number))?;
            let put = Put {
                id: record.id,
                folded: &folded,
                collection: record.collection,
                metadata_len,
                content: &[metadata, body].concat(),
                expected: None,
                keeps_revision: false,
            };
            let head = RecordHead {
                flags: head.flags.with(Flags::FORCE_CREATED),
                ..*head
            };
            writer.store(&put, number, Some(head))?;
            writer.applied.puts += 1;
            Ok(())
        })?;
        Ok(())
    }
}

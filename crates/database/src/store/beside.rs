//! What documents have beside their bodies: names of it in their metadata, flags in their records.
//!
//! Whatever changes such a name touches the document; a touched document is rewritten once, at the
//! end of the operation, under an etag of its own.
//!
//! Invariants:
//! - Metadata of a stored document lists exactly the names that the trees have for its number.

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{Builder, Document, Value};

use super::apply::{Existing, Put, Writer};
use super::trees::{COUNTERS, DOCUMENTS, keys_with_prefix, number_key};
use crate::command::{Command, CommandResult};
use crate::error::{ReadError, WriteError};
use crate::flags::Flags;
use crate::metadata::LISTED;
use crate::record::{Record, RecordHead};
use jackdaw_model::DocumentNumber;

impl Writer<'_> {
    /// Carries out a command that is neither a put nor a delete.
    pub(super) fn other(&mut self, command: &Command) -> Result<(), WriteError> {
        match command {
            Command::Counters { id, operations } => self.change_counters(id, operations),
            Command::CompareExchangePut { key, index, value } => {
                self.exchange(key, *index, Some(value.document()))
            }
            Command::CompareExchangeDelete { key, index } => self.exchange(key, *index, None),
            Command::Attachment {
                id,
                name,
                expected,
                change,
            } => self.change_attachment(id, name, expected.as_deref(), change),
            Command::Series { id, name, change } => self.change_series(id, name, change),
            Command::SeriesCopy {
                id,
                name,
                destination_id,
                destination_name,
                from,
                to,
            } => self.copy_series((id, name), (destination_id, destination_name), (*from, *to)),
            Command::ForceRevision { id } => self.force_revision(id),
            // These have actions of their own.
            Command::Put { .. } | Command::Delete { .. } | Command::Patch(_) => Ok(()),
        }
    }

    /// Notes that names beside the body of a document changed.
    pub(super) fn touch(&mut self, number: DocumentNumber) {
        self.touched.insert(number);
    }

    /// Whether a document will be written again for what is beside it.
    pub(super) fn is_touched(&self, number: DocumentNumber) -> bool {
        self.touched.contains(&number)
    }

    /// Rewrites the documents that were touched, and completes the results that wait for that.
    pub(super) fn rewrite_touched(&mut self) -> Result<(), WriteError> {
        // A number stays in the set while its document is written: that is how `store` knows.
        for number in self.touched.clone() {
            self.rewrite(number)?;
        }
        for (slot, number) in std::mem::take(&mut self.incomplete) {
            let is_touched = self.touched.contains(&number);
            let etag = match is_touched {
                true => self.head_of(number)?.map(|head| head.etag),
                false => None,
            };
            let vector = etag.map(|etag| self.origin.change_vector(etag));
            complete(&mut self.applied.results[slot], vector);
        }
        Ok(())
    }

    pub(super) fn head_of(
        &mut self,
        number: DocumentNumber,
    ) -> Result<Option<RecordHead>, WriteError> {
        let documents = self.transaction.tree_mut(DOCUMENTS)?;
        let bytes = documents.get(&number_key(number))?;
        Ok(bytes.and_then(RecordHead::decode))
    }

    fn rewrite(&mut self, number: DocumentNumber) -> Result<(), WriteError> {
        let documents = self.transaction.tree_mut(DOCUMENTS)?;
        // Deleted since.
        let Some(bytes) = documents.get(&number_key(number))?.map(<[u8]>::to_vec) else {
            return Ok(());
        };
        let damaged = || ReadError::damaged_document("the record of a document", number);
        let record = Record::decode(&bytes).ok_or_else(damaged)?;
        let head = RecordHead::decode(&bytes).ok_or_else(damaged)?;
        let (metadata, body) = record.stored_bytes();
        let content = [metadata, body].concat();
        let put = Put {
            id: record.id,
            folded: &lowercase(record.id),
            collection: record.collection,
            metadata_len: u32::try_from(metadata.len()).map_err(|_| damaged())?,
            content: &content,
            expected: None,
            keeps_revision: false,
        };
        self.store(&put, number, Some(head))?;
        self.applied.puts += 1;
        Ok(())
    }

    /// Metadata and body of a document with the names of what it has beside them; sets the flags
    /// that go with these.
    pub(super) fn compose(
        &mut self,
        number: DocumentNumber,
        put: &Put<'_>,
        flags: &mut Flags,
    ) -> Result<(u32, Vec<u8>), WriteError> {
        let damaged = || ReadError::damaged_document("the metadata of a document", number);
        let metadata_len = usize::try_from(put.metadata_len).map_err(|_| damaged())?;
        let (metadata, body) = put
            .content
            .split_at_checked(metadata_len)
            .ok_or_else(damaged)?;
        let mut builder = Builder::new();
        builder.begin_object();
        let attachments = self.attachments_of(number)?;
        *flags = flags.set(Flags::HAS_ATTACHMENTS, !attachments.is_empty());
        if !attachments.is_empty() {
            Writer::list_attachments(&attachments, &mut builder);
        }
        let counters = self.counter_values(number)?;
        *flags = flags.set(Flags::HAS_COUNTERS, !counters.is_empty());
        if !counters.is_empty() {
            builder.key("@counters").begin_array();
            for (name, _) in &counters {
                builder.string(name);
            }
            builder.end_array();
        }
        let series = self.series_of(number)?;
        *flags = flags.set(Flags::HAS_TIME_SERIES, !series.is_empty());
        if !series.is_empty() {
            builder.key("@timeseries").begin_array();
            for (name, ..) in &series {
                builder.string(name);
            }
            builder.end_array();
        }
        if !metadata.is_empty()
            && let Value::Object(own) = Document::trusted(metadata).root()
        {
            for (name, value) in own.iter().filter(|(name, _)| !LISTED.contains(name)) {
                builder.key(name).value(value);
            }
        }
        builder.end_object();
        let composed = builder.finish().map_err(|_| damaged())?;
        let mut content = Vec::with_capacity(composed.len() + body.len());
        let is_empty = composed
            .root()
            .as_object()
            .is_none_or(|object| object.is_empty());
        if !is_empty {
            content.extend_from_slice(composed.as_bytes());
        }
        let metadata_len = u32::try_from(content.len()).map_err(|_| damaged())?;
        content.extend_from_slice(body);
        Ok((metadata_len, content))
    }

    /// Removes everything that belongs to a document which is about to go.
    pub(super) fn remove_beside(
        &mut self,
        number: DocumentNumber,
        flags: Flags,
    ) -> Result<(), WriteError> {
        // What was added by this very operation is not in the flags yet.
        let was_touched = self.touched.contains(&number);
        if flags.has(Flags::HAS_COUNTERS) || was_touched {
            self.counting_owners(number, |writer| writer.remove_keys(COUNTERS, number))?;
        }
        if flags.has(Flags::HAS_ATTACHMENTS) || was_touched {
            self.remove_attachments(number)?;
        }
        if flags.has(Flags::HAS_TIME_SERIES) || was_touched {
            self.remove_series(number)?;
        }
        self.forget_retired(number)?;
        self.touched.remove(&number);
        Ok(())
    }

    pub(super) fn remove_keys(
        &mut self,
        name: &str,
        number: DocumentNumber,
    ) -> Result<(), WriteError> {
        for key in keys_with_prefix(self.transaction, name, &number_key(number))? {
            self.transaction.tree_mut(name)?.delete(&key)?;
        }
        Ok(())
    }

    /// The document that something beside it is about to change for.
    pub(super) fn owner(&mut self, id: &str, what: &'static str) -> Result<Existing, WriteError> {
        let found = self.find(&lowercase(id))?;
        found.ok_or_else(|| WriteError::NoDocument {
            id: id.to_owned(),
            what,
        })
    }
}

/// Sets the document's change vector in a result.
fn complete(result: &mut CommandResult, vector: Option<String>) {
    match result {
        CommandResult::Counters {
            change_vector,
            document_change_vector,
            ..
        } => {
            if let Some(vector) = &vector {
                change_vector.clone_from(vector);
            }
            *document_change_vector = vector;
        }
        CommandResult::Attachment {
            document_change_vector,
            ..
        } => *document_change_vector = vector,
        CommandResult::Series { change_vector, .. } => {
            if let Some(vector) = vector {
                *change_vector = vector;
            }
        }
        CommandResult::Patch(outcome) => {
            if let (Some(vector), Some(stored)) = (vector, &mut outcome.stored) {
                stored.change_vector = vector;
            }
        }
        _ => {}
    }
}

//! Reading attachments and their contents.

use super::view::Snapshot;
use crate::attachment::AttachmentInfo;
use crate::error::ReadError;
use crate::store::trees::{ATTACHMENT_CONTENT, ATTACHMENT_USES, ATTACHMENTS, number_key};
use crate::store::{AttachmentRecord, counter_key};
use jackdaw_model::DocumentNumber;

impl Snapshot {
    /// The attachment of a document with this name, in any letter case.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn attachment(
        &self,
        number: DocumentNumber,
        name: &str,
    ) -> Result<Option<AttachmentInfo>, ReadError> {
        let Some(attachments) = self.transaction.tree(ATTACHMENTS)? else {
            return Ok(None);
        };
        let Some(bytes) = attachments.get(&counter_key(number, name))? else {
            return Ok(None);
        };
        self.attachment_info(bytes).map(Some)
    }

    /// All attachments of a document, in the order of their lower-cased names.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn all_attachments(
        &self,
        number: DocumentNumber,
    ) -> Result<Vec<AttachmentInfo>, ReadError> {
        let Some(attachments) = self.transaction.tree(ATTACHMENTS)? else {
            return Ok(Vec::new());
        };
        let entries = attachments.prefix(&number_key(number))?;
        entries
            .map(|entry| self.attachment_info(entry?.1))
            .collect()
    }

    fn attachment_info(&self, bytes: &[u8]) -> Result<AttachmentInfo, ReadError> {
        let record = AttachmentRecord::decode(bytes)?;
        Ok(AttachmentInfo {
            name: record.name.to_owned(),
            content_type: record.content_type.to_owned(),
            hash: record.hash.to_owned(),
            len_bytes: record.len_bytes,
            etag: record.etag,
            change_vector: self.core.origin.change_vector(record.etag),
        })
    }

    /// Bytes of a content from `offset` on, as many as lie together; nothing at its end.
    ///
    /// # Errors
    /// See [`ReadError`]; there is no such content.
    pub fn attachment_piece(&self, hash: &str, offset: u64) -> Result<&[u8], ReadError> {
        let missing = || ReadError::damaged("the content of an attachment");
        let streams = self
            .transaction
            .streams(ATTACHMENT_CONTENT)?
            .ok_or_else(missing)?;
        let stream = streams.get(hash.as_bytes())?.ok_or_else(missing)?;
        Ok(stream.piece_at(offset)?)
    }

    /// Number of attachments of all documents. O(1).
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn attachment_count(&self) -> Result<u64, ReadError> {
        let attachments = self.transaction.tree(ATTACHMENTS)?;
        Ok(attachments.map_or(0, |attachments| attachments.len()))
    }

    /// Number of contents that differ. O(1).
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn content_count(&self) -> Result<u64, ReadError> {
        let uses = self.transaction.tree(ATTACHMENT_USES)?;
        Ok(uses.map_or(0, |uses| uses.len()))
    }
}

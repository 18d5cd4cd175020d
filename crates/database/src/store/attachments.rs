//! Attachments: files of documents, each content stored once however many have it.
//!
//! The content is a stream under the text of its hash; a count says how many attachments and
//! revisions use it, and the last one takes it away. Bytes: docs/format.md, "Attachment".
//!
//! Invariants:
//! - A content exists exactly as long as its count is above zero.

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{Builder, Document, Value};

use super::apply::Writer;
use super::counters::{check_name, counter_key};
use super::trees::{
    ATTACHMENT_CONTENT, ATTACHMENT_USES, ATTACHMENTS, keys_with_prefix, number_key,
};
use crate::attachment::{AttachmentContent, ContentSource};
use crate::command::{AttachmentChange, CommandResult};
use crate::error::{ReadError, WriteError};
use jackdaw_model::{DocumentNumber, Etag};

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 24;

/// The record of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttachmentRecord<'a> {
    /// Of its last change.
    pub(crate) etag: Etag,
    pub(crate) len_bytes: u64,
    /// Base64 of the hash of its content.
    pub(crate) hash: &'a str,
    pub(crate) content_type: &'a str,
    /// In the spelling of its last change.
    pub(crate) name: &'a str,
}

impl<'a> AttachmentRecord<'a> {
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<AttachmentRecord<'a>, ReadError> {
        let decoded = || {
            let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
            (head[0] == VERSION).then_some(())?;
            let hash_len = usize::from(head[1]);
            let type_len = usize::from(u16::from_le_bytes([head[2], head[3]]));
            let (hash, rest) = rest.split_at_checked(hash_len)?;
            let (content_type, name) = rest.split_at_checked(type_len)?;
            Some(AttachmentRecord {
                etag: Etag(u64::from_le_bytes(*head[8..].first_chunk()?)),
                len_bytes: u64::from_le_bytes(*head[16..].first_chunk()?),
                hash: std::str::from_utf8(hash).ok()?,
                content_type: std::str::from_utf8(content_type).ok()?,
                name: std::str::from_utf8(name).ok()?,
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("the record of an attachment"))
    }

    /// `None` when the hash or the type is too long to be stored.
    fn encode(&self) -> Option<Vec<u8>> {
        let hash_len = u8::try_from(self.hash.len()).ok()?;
        let type_len = u16::try_from(self.content_type.len()).ok()?;
        let mut bytes = vec![VERSION, hash_len];
        bytes.extend_from_slice(&type_len.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.etag.0.to_le_bytes());
        bytes.extend_from_slice(&self.len_bytes.to_le_bytes());
        for text in [self.hash, self.content_type, self.name] {
            bytes.extend_from_slice(text.as_bytes());
        }
        Some(bytes)
    }
}

/// What is known of an attachment, on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    etag: Etag,
    len_bytes: u64,
    hash: String,
    content_type: String,
    name: String,
}

impl From<AttachmentRecord<'_>> for Owned {
    fn from(record: AttachmentRecord<'_>) -> Owned {
        Owned {
            etag: record.etag,
            len_bytes: record.len_bytes,
            hash: record.hash.to_owned(),
            content_type: record.content_type.to_owned(),
            name: record.name.to_owned(),
        }
    }
}

impl Writer<'_> {
    /// Attachments of a document in the order of their lower-cased names.
    pub(super) fn attachments_of(
        &mut self,
        number: DocumentNumber,
    ) -> Result<Vec<Owned>, WriteError> {
        let Some(attachments) = self.transaction.tree(ATTACHMENTS)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for entry in attachments.prefix(&number_key(number))? {
            found.push(AttachmentRecord::decode(entry?.1)?.into());
        }
        Ok(found)
    }

    /// Writes the list that metadata shows.
    pub(super) fn list_attachments(list: &[Owned], builder: &mut Builder) {
        builder.key("@attachments").begin_array();
        for attachment in list {
            builder.begin_object();
            builder.key("Name").string(&attachment.name);
            builder.key("Hash").string(&attachment.hash);
            builder.key("ContentType").string(&attachment.content_type);
            let len_bytes = i64::try_from(attachment.len_bytes).unwrap_or(i64::MAX);
            builder.key("Size").long(len_bytes);
            builder.end_object();
        }
        builder.end_array();
    }

    fn attachment(
        &mut self,
        number: DocumentNumber,
        name: &str,
    ) -> Result<Option<Owned>, WriteError> {
        let attachments = self.transaction.tree_mut(ATTACHMENTS)?;
        let bytes = attachments.get(&counter_key(number, name))?;
        let record = bytes.map(AttachmentRecord::decode).transpose()?;
        Ok(record.map(Owned::from))
    }

    /// Carries out a command about attachments.
    pub(super) fn change_attachment(
        &mut self,
        id: &str,
        name: &str,
        expected: Option<&str>,
        change: &AttachmentChange,
    ) -> Result<(), WriteError> {
        check_name("attachment", name)?;
        match change {
            AttachmentChange::Put {
                content_type,
                content,
            } => self.put_attachment(id, name, expected, content_type, content),
            AttachmentChange::Delete => self.delete_attachment(id, name, expected),
            AttachmentChange::Copy {
                destination_id,
                destination_name,
                moves,
            } => self.copy_attachment(
                (id, name),
                expected,
                (destination_id, destination_name),
                *moves,
            ),
        }
    }

    fn check_attachment(
        &self,
        id: &str,
        expected: Option<&str>,
        existing: Option<&Owned>,
        delete: bool,
    ) -> Result<(), WriteError> {
        let Some(expected) = expected else {
            return Ok(());
        };
        let actual = existing.map(|existing| self.origin.change_vector(existing.etag));
        if actual.as_deref().unwrap_or("") == expected {
            return Ok(());
        }
        Err(WriteError::Conflict {
            id: id.to_owned(),
            expected: expected.to_owned(),
            actual,
            delete,
        })
    }

    fn put_attachment(
        &mut self,
        id: &str,
        name: &str,
        expected: Option<&str>,
        content_type: &str,
        content: &AttachmentContent,
    ) -> Result<(), WriteError> {
        let owner = self.owner(id, "attachments")?;
        let existing = self.attachment(owner.number, name)?;
        self.check_attachment(id, expected, existing.as_ref(), false)?;
        self.store_content(content)?;
        let stored = Owned {
            etag: Etag(0),
            len_bytes: content.len_bytes,
            hash: content.hash.clone(),
            content_type: content_type.to_owned(),
            name: name.to_owned(),
        };
        let stored = self.enter_attachment(owner.number, stored)?;
        if let Some(existing) = existing {
            self.release_content(&existing.hash)?;
        }
        self.tell_attachment("AttachmentPUT", id, name, Some(&stored), owner.number, None);
        Ok(())
    }

    /// Enters an attachment whose content is counted already; gives it with its etag.
    fn enter_attachment(
        &mut self,
        number: DocumentNumber,
        mut attachment: Owned,
    ) -> Result<Owned, WriteError> {
        self.state.last_etag.0 += 1;
        attachment.etag = self.state.last_etag;
        let record = AttachmentRecord {
            etag: attachment.etag,
            len_bytes: attachment.len_bytes,
            hash: &attachment.hash,
            content_type: &attachment.content_type,
            name: &attachment.name,
        };
        let bytes = record.encode().ok_or_else(|| WriteError::InvalidName {
            what: "content type",
            name: attachment.name.clone(),
            max_bytes: usize::from(u16::MAX),
        })?;
        let key = counter_key(number, &attachment.name);
        self.transaction.tree_mut(ATTACHMENTS)?.put(&key, &bytes)?;
        self.touch(number);
        Ok(attachment)
    }

    fn delete_attachment(
        &mut self,
        id: &str,
        name: &str,
        expected: Option<&str>,
    ) -> Result<(), WriteError> {
        let Some(owner) = self.find(&lowercase(id))? else {
            self.check_attachment(id, expected, None, true)?;
            let slot = CommandResult::Attachment {
                command: "AttachmentDELETE",
                id: id.to_owned(),
                name: name.to_owned(),
                attachment: None,
                destination: None,
                document_change_vector: None,
            };
            self.push_result(slot);
            return Ok(());
        };
        let existing = self.attachment(owner.number, name)?;
        self.check_attachment(id, expected, existing.as_ref(), true)?;
        if let Some(existing) = existing {
            self.remove_attachment(owner.number, &existing)?;
            self.touch(owner.number);
        }
        self.tell_attachment("AttachmentDELETE", id, name, None, owner.number, None);
        Ok(())
    }

    fn remove_attachment(
        &mut self,
        number: DocumentNumber,
        attachment: &Owned,
    ) -> Result<(), WriteError> {
        self.state.last_etag.0 += 1;
        let key = counter_key(number, &attachment.name);
        self.transaction.tree_mut(ATTACHMENTS)?.delete(&key)?;
        self.release_content(&attachment.hash)
    }

    fn copy_attachment(
        &mut self,
        from: (&str, &str),
        expected: Option<&str>,
        to: (&str, &str),
        moves: bool,
    ) -> Result<(), WriteError> {
        check_name("attachment", to.1)?;
        let source = self.owner(from.0, "attachments")?;
        let target = self.owner(to.0, "attachments")?;
        let existing = self.attachment(source.number, from.1)?;
        self.check_attachment(from.0, expected, existing.as_ref(), moves)?;
        let existing = existing.ok_or_else(|| WriteError::NoAttachment {
            id: from.0.to_owned(),
            name: from.1.to_owned(),
        })?;
        let is_itself = source.number == target.number && lowercase(from.1) == lowercase(to.1);
        let replaced = self.attachment(target.number, to.1)?;
        if !is_itself {
            self.check_attachment(to.0, Some(""), replaced.as_ref(), false)?;
        }
        self.count_content(&existing.hash, 1)?;
        let copy = Owned {
            name: to.1.to_owned(),
            ..existing.clone()
        };
        let copy = self.enter_attachment(target.number, copy)?;
        if let Some(replaced) = replaced {
            self.release_content(&replaced.hash)?;
        }
        if !moves {
            self.tell_attachment(
                "AttachmentCOPY",
                to.0,
                to.1,
                Some(&copy),
                target.number,
                None,
            );
            return Ok(());
        }
        if !is_itself {
            self.remove_attachment(source.number, &existing)?;
        }
        self.touch(source.number);
        let destination = Some((to, target.number));
        self.tell_attachment(
            "AttachmentMOVE",
            from.0,
            from.1,
            Some(&copy),
            source.number,
            destination,
        );
        Ok(())
    }

    fn tell_attachment(
        &mut self,
        command: &'static str,
        id: &str,
        name: &str,
        attachment: Option<&Owned>,
        number: DocumentNumber,
        destination: Option<((&str, &str), DocumentNumber)>,
    ) {
        let attachment = attachment.map(|attachment| crate::attachment::AttachmentInfo {
            name: attachment.name.clone(),
            content_type: attachment.content_type.clone(),
            hash: attachment.hash.clone(),
            len_bytes: attachment.len_bytes,
            etag: attachment.etag,
            change_vector: self.origin.change_vector(attachment.etag),
        });
        let told = destination.map(|((id, name), _)| (id.to_owned(), name.to_owned()));
        let slot = self.push_result(CommandResult::Attachment {
            command,
            id: id.to_owned(),
            name: name.to_owned(),
            attachment,
            destination: told,
            document_change_vector: None,
        });
        if let Some(slot) = slot {
            self.incomplete.push((slot, number));
        }
    }

    /// Makes sure that a content is stored, and counts one more use of it.
    fn store_content(&mut self, content: &AttachmentContent) -> Result<(), WriteError> {
        let name = content.hash.as_bytes();
        let is_stored = self.count_content(&content.hash, 1)? > 1;
        let mut streams = self.transaction.streams_mut(ATTACHMENT_CONTENT)?;
        match &content.source {
            ContentSource::Bytes(bytes) if !is_stored => {
                streams.open(name)?.append(bytes)?;
            }
            ContentSource::Bytes(_) => {}
            ContentSource::Uploaded(upload) if is_stored => {
                streams.delete(upload)?;
            }
            ContentSource::Uploaded(upload) => {
                if !streams.rename(upload, name)? {
                    return Err(ReadError::damaged("an uploaded attachment").into());
                }
            }
        }
        Ok(())
    }

    /// Changes the count of uses; gives the new one.
    pub(super) fn count_content(&mut self, hash: &str, delta: i64) -> Result<u64, WriteError> {
        let mut uses = self.transaction.tree_mut(ATTACHMENT_USES)?;
        let known = match uses.get(hash.as_bytes())? {
            None => 0,
            Some(bytes) => super::trees::decode_number(bytes)?.0,
        };
        let count = known
            .checked_add_signed(delta)
            .ok_or_else(|| ReadError::damaged("the uses of an attachment"))?;
        match count {
            0 => uses.delete(hash.as_bytes())?,
            _ => uses.put(hash.as_bytes(), &count.to_le_bytes())?,
        };
        Ok(count)
    }

    /// Takes one use of a content away, and the content with the last one.
    pub(super) fn release_content(&mut self, hash: &str) -> Result<(), WriteError> {
        if self.count_content(hash, -1)? == 0 {
            let mut streams = self.transaction.streams_mut(ATTACHMENT_CONTENT)?;
            streams.delete(hash.as_bytes())?;
        }
        Ok(())
    }

    /// Removes all attachments of a document.
    pub(super) fn remove_attachments(&mut self, number: DocumentNumber) -> Result<(), WriteError> {
        for attachment in self.attachments_of(number)? {
            self.release_content(&attachment.hash)?;
        }
        for key in keys_with_prefix(self.transaction, ATTACHMENTS, &number_key(number))? {
            self.transaction.tree_mut(ATTACHMENTS)?.delete(&key)?;
        }
        Ok(())
    }
}

/// The hashes that the metadata of a document or revision lists.
pub(super) fn listed_hashes(metadata: &[u8]) -> Vec<String> {
    if metadata.is_empty() {
        return Vec::new();
    }
    let list = Document::trusted(metadata).root().get("@attachments");
    let list = list.and_then(|list| list.as_array());
    let hashes = list.into_iter().flat_map(|list| list.iter());
    let hash = |attachment: Value<'_>| {
        let hash = attachment.get("Hash")?;
        hash.as_str().map(str::to_owned)
    };
    hashes.filter_map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back_and_damage_is_an_error() {
        let record = AttachmentRecord {
            etag: Etag(7),
            len_bytes: 9,
            hash: "abc=",
            content_type: "image/png",
            name: "Photo",
        };
        let bytes = record.encode().unwrap();
        assert_eq!(bytes[1..4], [4, 9, 0]);
        assert_eq!(AttachmentRecord::decode(&bytes).unwrap(), record);
        assert!(AttachmentRecord::decode(&bytes[..26]).is_err());
        assert!(AttachmentRecord::decode(&[8; 40]).is_err());
    }
}

//! Contents of attachments on their way in, and what is told of an attachment.
//!
//! A content is known by its BLAKE2b-256, in base64. A short one travels with its command; a long
//! one is uploaded before, in transactions of a MiB each, under a name of its own, and gets its
//! final name with the command. What was uploaded and never used is removed when the database is
//! opened again.

use std::sync::Arc;

use blake2b_simd::{Params, State};
use jackdaw_base::base64::encode;
use jackdaw_query::Etag;

use crate::database::Database;
use crate::error::WriteError;

/// What names of uploads begin with; no base64 text does.
pub(crate) const UPLOAD_PREFIX: &[u8] = b"~";
/// Bytes of one transaction of an upload. More would save little on the journal, and take memory of
/// every upload under way.
const PIECE_BYTES: usize = 1 << 20;
const HASH_BYTES: usize = 32;

/// A content, ready to be attached.
#[derive(Clone, Debug)]
pub struct AttachmentContent {
    pub(crate) hash: String,
    pub(crate) len_bytes: u64,
    pub(crate) source: ContentSource,
}

#[derive(Clone, Debug)]
pub(crate) enum ContentSource {
    Bytes(Vec<u8>),
    /// The name of the stream that holds it.
    Uploaded(Vec<u8>),
}

fn hasher() -> State {
    Params::new().hash_length(HASH_BYTES).to_state()
}

impl AttachmentContent {
    /// A content that is in memory as a whole.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> AttachmentContent {
        let hash = hasher().update(&bytes).finalize();
        AttachmentContent {
            hash: encode(hash.as_bytes()),
            len_bytes: bytes.len() as u64,
            source: ContentSource::Bytes(bytes),
        }
    }
}

/// What is told of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentInfo {
    /// Its name.
    pub name: String,
    /// What its owner says it is; may be empty.
    pub content_type: String,
    /// BLAKE2b-256 of its content in base64.
    pub hash: String,
    /// Length of its content.
    pub len_bytes: u64,
    /// Etag of its last change.
    pub etag: Etag,
    /// Change vector of its last change.
    pub change_vector: String,
}

/// Takes a content in pieces. Dropping it leaves what was stored until the database is opened
/// again.
pub struct AttachmentUpload {
    database: Arc<Database>,
    name: Vec<u8>,
    hasher: State,
    buffer: Vec<u8>,
    len_bytes: u64,
    is_stored: bool,
}

impl AttachmentUpload {
    pub(crate) fn new(database: &Arc<Database>, random_id: &str) -> AttachmentUpload {
        AttachmentUpload {
            database: database.clone(),
            name: [UPLOAD_PREFIX, random_id.as_bytes()].concat(),
            hasher: hasher(),
            buffer: Vec::new(),
            len_bytes: 0,
            is_stored: false,
        }
    }

    /// Takes the next piece; waits for the disk once in a MiB.
    ///
    /// # Errors
    /// See [`WriteError`]; the content cannot be attached then.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), WriteError> {
        self.hasher.update(piece);
        self.len_bytes += piece.len() as u64;
        self.buffer.extend_from_slice(piece);
        if self.buffer.len() >= PIECE_BYTES {
            self.store()?;
        }
        Ok(())
    }

    fn store(&mut self) -> Result<(), WriteError> {
        let bytes = std::mem::take(&mut self.buffer);
        self.is_stored = true;
        self.database.append_upload(self.name.clone(), bytes)
    }

    /// The whole content.
    ///
    /// # Errors
    /// As [`AttachmentUpload::push`].
    pub fn finish(mut self) -> Result<AttachmentContent, WriteError> {
        if self.is_stored && !self.buffer.is_empty() {
            self.store()?;
        }
        let source = match self.is_stored {
            true => ContentSource::Uploaded(self.name),
            false => ContentSource::Bytes(self.buffer),
        };
        Ok(AttachmentContent {
            hash: encode(self.hasher.finalize().as_bytes()),
            len_bytes: self.len_bytes,
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_recorded_one() {
        let content = AttachmentContent::from_bytes(b"hello".to_vec());
        assert_eq!(content.hash, "Mk3PAn3UowqTLEQfNlol6GsXPe+kuOWJSCU0cbgbcs8=");
        let empty = AttachmentContent::from_bytes(Vec::new());
        assert_eq!(empty.hash, "DldRwCblQ7Loqy6wYJnaodHl30d3j3eH+qtFzfEv46g=");
    }
}

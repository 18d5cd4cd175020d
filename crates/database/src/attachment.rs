//! Contents of attachments on their way in, and what is told of an attachment.
//!
//! A content is known by its BLAKE2b-256, in base64. A short one travels with its command; a long
//! one is uploaded before, in pieces of a transaction each, under a name of its own, and gets its
//! final name with the command. What was uploaded and never used is removed by
//! [`Database::remove_upload`], or when the database is opened again.

use std::sync::Arc;

use blake2b_simd::{Params, State};
use jackdaw_base::base64::encode;
use jackdaw_model::Etag;

use crate::database::Database;
use crate::error::WriteError;

/// What names of uploads begin with; no base64 text does.
pub(crate) const UPLOAD_PREFIX: &[u8] = b"~";
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

/// The name under which the pieces of a content lie until it is attached.
#[derive(Clone, Debug)]
pub struct UploadName(pub(crate) Vec<u8>);

/// Takes a content in pieces. Dropping it leaves what was stored until somebody removes it by its
/// name, or the database is opened again.
pub struct AttachmentUpload {
    database: Arc<Database>,
    name: Vec<u8>,
    hasher: State,
    len_bytes: u64,
    is_stored: bool,
}

impl AttachmentUpload {
    pub(crate) fn new(database: &Arc<Database>, random_id: &str) -> AttachmentUpload {
        AttachmentUpload {
            database: database.clone(),
            name: [UPLOAD_PREFIX, random_id.as_bytes()].concat(),
            hasher: hasher(),
            len_bytes: 0,
            is_stored: false,
        }
    }

    /// What [`Database::remove_upload`] takes when the content will not be attached.
    #[must_use]
    pub fn name(&self) -> UploadName {
        UploadName(self.name.clone())
    }

    /// Stores the next piece in a transaction of its own, and waits for it. A MiB at a time is
    /// enough: more saves little on the journal, and takes memory.
    ///
    /// # Errors
    /// See [`WriteError`]; the content cannot be attached then.
    pub fn push(&mut self, piece: Vec<u8>) -> Result<(), WriteError> {
        self.add(&piece);
        self.is_stored = true;
        self.database.append_upload(self.name.clone(), piece)
    }

    /// The whole content, of which this is the last piece; it may be empty. A content of one piece
    /// travels with its command.
    ///
    /// # Errors
    /// As [`AttachmentUpload::push`].
    pub fn finish(mut self, last: Vec<u8>) -> Result<AttachmentContent, WriteError> {
        let source = match (self.is_stored, last.is_empty()) {
            (false, _) => {
                self.add(&last);
                ContentSource::Bytes(last)
            }
            (true, true) => ContentSource::Uploaded(self.name.clone()),
            (true, false) => {
                self.push(last)?;
                ContentSource::Uploaded(self.name.clone())
            }
        };
        Ok(AttachmentContent {
            hash: encode(self.hasher.finalize().as_bytes()),
            len_bytes: self.len_bytes,
            source,
        })
    }

    fn add(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.len_bytes += piece.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jackdaw_io::Vfs;
    use jackdaw_sim::SimVfs;

    use super::*;
    use crate::DatabaseOptions;

    #[test]
    fn what_will_not_be_attached_can_be_removed() {
        let vfs: Arc<dyn Vfs> = SimVfs::new(1);
        let options = DatabaseOptions::default();
        let database = Database::open(vfs, Path::new("/music"), "Music", &options);
        let database = Arc::new(database.unwrap());
        let mut upload = database.upload_attachment();
        upload.push(vec![7; 64 << 10]).unwrap();
        let name = upload.name();
        let text = String::from_utf8(name.0.clone()).unwrap();
        let is_there = || {
            let snapshot = database.read().unwrap();
            let piece = snapshot.attachment_piece(&text, 0);
            piece.is_ok_and(|piece| !piece.is_empty())
        };
        assert!(is_there());
        drop(upload);
        database.remove_upload(name.clone()).unwrap();
        assert!(!is_there());
        // Nothing is left to remove.
        database.remove_upload(name).unwrap();
    }

    #[test]
    fn the_hash_is_the_recorded_one() {
        let content = AttachmentContent::from_bytes(b"hello".to_vec());
        assert_eq!(content.hash, "Mk3PAn3UowqTLEQfNlol6GsXPe+kuOWJSCU0cbgbcs8=");
        let empty = AttachmentContent::from_bytes(Vec::new());
        assert_eq!(empty.hash, "DldRwCblQ7Loqy6wYJnaodHl30d3j3eH+qtFzfEv46g=");
    }
}

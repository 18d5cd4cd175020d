//! Attachments of a document: contents of any length, written and read as streams.

use std::io::{self, Read};

use jackdaw_database::{AttachmentChange, AttachmentInfo, Command, CommandResult};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;

/// Bytes of a content that are read from the caller, and made durable, at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The attachments of one document; see [`Database::attachments`].
///
/// Names have up to 512 bytes and are found in any letter case. Equal contents are stored once in a
/// database. Storing or deleting an attachment gives the document another version.
///
/// ```
/// use std::io::Read;
///
/// # let db = jackdaw::Database::in_memory()?;
/// # db.put("albums/1", &serde_json::json!({}))?;
/// let files = db.attachments("albums/1");
/// files.put("notes.txt", "text/plain", &b"Recorded in Los Angeles."[..])?;
///
/// let mut content = String::new();
/// let mut file = files.get("notes.txt")?.expect("it was stored");
/// file.read_to_string(&mut content)?;
/// assert_eq!(content, "Recorded in Los Angeles.");
/// assert_eq!(file.len_bytes(), 24);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Attachments<'db> {
    db: &'db Database,
    id: &'db str,
}

impl<'db> Attachments<'db> {
    pub(crate) fn new(db: &'db Database, id: &'db str) -> Attachments<'db> {
        Attachments { db, id }
    }

    /// Stores a content under a name, in the place of the one that has it. `content_type` is a
    /// media type such as `image/png`, and may be empty. Durable when it returns.
    ///
    /// A content of more than a MiB is stored in pieces of a MiB, each in a transaction of its own;
    /// the attachment is there with the last one.
    ///
    /// # Errors
    /// - [`Error::Missing`]: the document does not exist.
    /// - [`Error::Invalid`]: the name is empty or too long.
    /// - [`Error::Io`]: `content` could not be read, or the machine refused.
    /// - [`Error::Unknown`]: see there. After any other error there is no such attachment.
    pub fn put(&self, name: &str, content_type: &str, mut content: impl Read) -> Result<()> {
        let mut upload = self.db.inner().upload_attachment();
        let unused = upload.name();
        let stored = (|| {
            let mut piece = read_piece(&mut content)?;
            while piece.len() == PIECE_BYTES {
                upload.push(piece).map_err(Error::of_write)?;
                piece = read_piece(&mut content)?;
            }
            let content = upload.finish(piece).map_err(Error::of_write)?;
            self.change(
                name,
                AttachmentChange::Put {
                    content_type: content_type.to_owned(),
                    content,
                },
            )
        })();
        if stored.is_err() {
            // What stays is removed when the database is opened the next time.
            let _ = self.db.inner().remove_upload(unused);
        }
        stored
    }

    /// Deletes the attachment of a name; that there is none is no error. Durable when it returns.
    ///
    /// # Errors
    /// As [`Database::delete`].
    pub fn delete(&self, name: &str) -> Result<()> {
        self.change(name, AttachmentChange::Delete)
    }

    fn change(&self, name: &str, change: AttachmentChange) -> Result<()> {
        let command = Command::Attachment {
            id: self.id.to_owned(),
            name: name.to_owned(),
            expected: None,
            change,
        };
        let results: Vec<CommandResult> = self
            .db
            .inner()
            .batch(vec![command])
            .map_err(Error::of_write)?;
        drop(results);
        Ok(())
    }

    /// The attachment of a name, to be read; `None` when the document has none.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn get(&self, name: &str) -> Result<Option<Attachment>> {
        let snapshot = self.db.snapshot()?;
        let inner = snapshot.inner();
        let Some(number) = inner.number(self.id).map_err(Error::of_read)? else {
            return Ok(None);
        };
        let found = inner.attachment(number, name).map_err(Error::of_read)?;
        Ok(found.map(|info| Attachment {
            info,
            snapshot,
            offset: 0,
        }))
    }

    /// The names of all attachments, in the order of their lower case.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn names(&self) -> Result<Vec<String>> {
        let snapshot = self.db.snapshot()?;
        let inner = snapshot.inner();
        let Some(number) = inner.number(self.id).map_err(Error::of_read)? else {
            return Ok(Vec::new());
        };
        let all = inner.all_attachments(number).map_err(Error::of_read)?;
        Ok(all.into_iter().map(|info| info.name).collect())
    }
}

/// The next piece of a content: shorter than [`PIECE_BYTES`] at its end.
fn read_piece(content: &mut impl Read) -> Result<Vec<u8>> {
    let mut piece = Vec::new();
    let mut limited = content.take(PIECE_BYTES as u64);
    limited.read_to_end(&mut piece).map_err(Error::of_io)?;
    Ok(piece)
}

/// An attachment, as it was when it was found. Reading it reads its content, once.
pub struct Attachment {
    info: AttachmentInfo,
    snapshot: Snapshot,
    offset: u64,
}

impl Attachment {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Its media type; may be empty.
    #[must_use]
    pub fn content_type(&self) -> &str {
        &self.info.content_type
    }

    /// Length of its content in bytes.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.info.len_bytes
    }

    /// BLAKE2b-256 of its content, in base64.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.info.hash
    }
}

impl Read for Attachment {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self
            .snapshot
            .inner()
            .attachment_piece(&self.info.hash, self.offset);
        let piece = piece.map_err(|error| io::Error::other(Error::of_read(error)))?;
        let len = piece.len().min(buffer.len());
        buffer[..len].copy_from_slice(&piece[..len]);
        self.offset += len as u64;
        Ok(len)
    }
}

impl std::fmt::Debug for Attachment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.info.fmt(f)
    }
}

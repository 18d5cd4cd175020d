//! What maps and reduces may ask of the database.

use jackdaw_document::{DocumentBuf, Value};

use crate::host::HostError;
use crate::input::ScriptDocument;

/// Bytes of an attachment that maps read as text: its text has to fit into the memory of a realm.
pub const ATTACHMENT_TEXT_BYTES_MAX: u64 = 4 << 20;

/// The database, as of the snapshot that an index worker reads. It may note which ids it was asked
/// for, so that their changes bring the document that asked back to the map.
pub trait IndexHost {
    /// The document called `id`, in any letter case. With `collection`, only one of it counts.
    ///
    /// # Errors
    /// [`HostError::Refused`] fails the document, [`HostError::Failed`] the run.
    fn load(
        &mut self,
        id: &str,
        collection: Option<&str>,
    ) -> Result<Option<LoadedDocument>, HostError>;

    /// The value of the compare-exchange item called `key`.
    ///
    /// # Errors
    /// As [`IndexHost::load`].
    fn compare_exchange(&mut self, key: &str) -> Result<Option<DocumentBuf>, HostError>;

    /// Names of the counters of the document called `id`.
    ///
    /// # Errors
    /// As [`IndexHost::load`].
    fn counter_names(&mut self, id: &str) -> Result<Vec<String>, HostError>;

    /// Names of the time series of the document called `id`.
    ///
    /// # Errors
    /// As [`IndexHost::load`].
    fn time_series_names(&mut self, id: &str) -> Result<Vec<String>, HostError>;

    /// Attachments of the document called `id`.
    ///
    /// # Errors
    /// As [`IndexHost::load`].
    fn attachments(&mut self, id: &str) -> Result<Vec<Attachment>, HostError>;

    /// The content of an attachment of the document called `id`, of at most
    /// [`ATTACHMENT_TEXT_BYTES_MAX`] bytes; `None` without it. The name in any letter case.
    ///
    /// # Errors
    /// As [`IndexHost::load`]; a longer content is refused.
    fn attachment_content(&mut self, id: &str, name: &str) -> Result<Option<Vec<u8>>, HostError>;

    /// A run begins, of JavaScript once it is its turn: so does its time.
    fn begin(&mut self) {}

    /// Whether the run must end now. Asked now and then.
    fn is_over(&mut self) -> bool;
}

/// A database with nothing in it, for maps and reduces that run over given documents alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyDatabase;

impl IndexHost for EmptyDatabase {
    fn load(&mut self, _: &str, _: Option<&str>) -> Result<Option<LoadedDocument>, HostError> {
        Ok(None)
    }

    fn compare_exchange(&mut self, _: &str) -> Result<Option<DocumentBuf>, HostError> {
        Ok(None)
    }

    fn counter_names(&mut self, _: &str) -> Result<Vec<String>, HostError> {
        Ok(Vec::new())
    }

    fn time_series_names(&mut self, _: &str) -> Result<Vec<String>, HostError> {
        Ok(Vec::new())
    }

    fn attachments(&mut self, _: &str) -> Result<Vec<Attachment>, HostError> {
        Ok(Vec::new())
    }

    fn attachment_content(&mut self, _: &str, _: &str) -> Result<Option<Vec<u8>>, HostError> {
        Ok(None)
    }

    fn is_over(&mut self) -> bool {
        false
    }
}

/// A document that a map asked for.
#[derive(Clone, Debug)]
pub struct LoadedDocument {
    /// Its id, in the letters it was stored with.
    pub id: String,
    /// The document without its metadata.
    pub body: DocumentBuf,
    /// Metadata that its user gave: an object.
    pub metadata: Option<DocumentBuf>,
    /// Its collection, when it names one.
    pub collection: Option<String>,
    /// Its change vector.
    pub change_vector: Option<String>,
    /// When it was last changed, in text.
    pub last_modified: Option<String>,
}

impl LoadedDocument {
    /// The document as scripts see it.
    #[must_use]
    pub fn as_script(&self) -> ScriptDocument<'_> {
        let metadata = self.metadata.as_ref().map(DocumentBuf::root);
        ScriptDocument {
            body: self.body.root(),
            metadata: metadata.as_ref().and_then(Value::as_object),
            collection: self.collection.as_deref(),
            id: &self.id,
            change_vector: self.change_vector.as_deref(),
            last_modified: self.last_modified.as_deref(),
        }
    }
}

/// An attachment of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub content_type: String,
    /// Hash of its content, in text.
    pub hash: String,
    /// Length of its content in bytes.
    pub len_bytes: u64,
}

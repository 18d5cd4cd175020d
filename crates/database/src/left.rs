//! A document as a script or other patch left it: is it what it was, and what is stored of it.
//!
//! Used by `store::patch` inside the transaction and by `foresight` before it.

use jackdaw_document::{Builder, Document, DocumentBuf, METADATA, Value, write_object};
use jackdaw_script::ScriptDocument;

use crate::error::WriteError;
use crate::metadata;

/// A document to be stored.
pub(crate) struct Left {
    pub(crate) body: DocumentBuf,
    pub(crate) metadata: Option<DocumentBuf>,
}

/// What is stored of a document.
pub(crate) struct Content {
    /// The collection that it names.
    pub(crate) collection: String,
    /// Bytes of `bytes` that are metadata; the rest is the body.
    pub(crate) metadata_len: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Left {
    /// The document with its metadata, as JSON.
    pub(crate) fn json(&self) -> Vec<u8> {
        let mut json = Vec::new();
        write_object(&mut json, |document| {
            if let Value::Object(body) = self.body.root() {
                document.fields(body);
            }
            if let Some(metadata) = &self.metadata {
                document.value(METADATA, metadata.root());
            }
        });
        json
    }

    /// Whether it is byte for byte what it was, but for what the database itself says.
    pub(crate) fn is_still(&self, before: &ScriptDocument<'_>) -> bool {
        self.body.root().is_written_as(before.body)
            && self.named_collection().as_deref() == before.collection
            && stored_json(self.metadata.as_ref().map(|metadata| metadata.root()))
                == stored_json(before.metadata.map(Value::Object))
    }

    fn named_collection(&self) -> Option<String> {
        let name = self.metadata.as_ref()?.root().get("@collection")?;
        name.as_str().map(str::to_owned)
    }

    /// What is stored of it under `id`.
    pub(crate) fn content(&self, id: &str) -> Result<Content, WriteError> {
        let object = self.metadata.as_ref();
        let object = object.and_then(|metadata| metadata.root().as_object());
        let collection = metadata::collection(id, object)?.into_owned();
        let mut bytes = Vec::with_capacity(self.body.as_bytes().len());
        if let Some(object) = object {
            metadata::push_stored(object, &mut Builder::new(), &mut bytes);
        }
        let metadata_len = u32::try_from(bytes.len()).expect("documents are shorter than 1 GiB");
        bytes.extend_from_slice(self.body.as_bytes());
        Ok(Content {
            collection,
            metadata_len,
            bytes,
        })
    }
}

/// What is stored of metadata, as JSON: equal metadata may be laid out in several ways.
fn stored_json(metadata: Option<Value<'_>>) -> String {
    let mut bytes = Vec::new();
    if let Some(object) = metadata.and_then(|metadata| metadata.as_object()) {
        metadata::push_stored(object, &mut Builder::new(), &mut bytes);
    }
    match bytes.is_empty() {
        true => String::new(),
        false => Document::trusted(&bytes).root().to_json(),
    }
}

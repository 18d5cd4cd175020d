//! A document inside a snapshot, and how clients see it as JSON.

use std::borrow::Cow;

use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, Document, ObjectWriter, Value, write_document, write_object};

use crate::command::Command;
use crate::flags::Flags;
use crate::names::EMPTY_COLLECTION;
use crate::record::Record;
use jackdaw_model::{DocumentNumber, Etag, Origin};
use jackdaw_query::{ShownVector, StoredDocument};

/// A document, borrowed from its snapshot.
#[derive(Clone, Copy, Debug)]
pub struct DocumentRow<'s> {
    pub(super) number: DocumentNumber,
    pub(super) record: Record<'s>,
    pub(super) collection: &'s str,
    pub(super) origin: &'s Origin,
}

impl<'s> DocumentRow<'s> {
    /// Its number.
    #[must_use]
    pub fn number(&self) -> DocumentNumber {
        self.number
    }

    /// Its id as it was given.
    #[must_use]
    pub fn id(&self) -> &'s str {
        self.record.id
    }

    /// Etag of its last change.
    #[must_use]
    pub fn etag(&self) -> Etag {
        self.record.etag
    }

    /// Change vector of its last change.
    #[must_use]
    pub fn change_vector(&self) -> String {
        self.origin.change_vector(self.record.etag)
    }

    /// Time of its last change.
    #[must_use]
    pub fn last_modified(&self) -> UnixTicks {
        self.record.last_modified
    }

    /// Its collection in the spelling of the collection's first document; `@empty` when it names
    /// none.
    #[must_use]
    pub fn collection(&self) -> &'s str {
        self.collection
    }

    /// What it has beside its body.
    #[must_use]
    pub fn flags(&self) -> Flags {
        self.record.flags.without(Flags::HAS_DATES)
    }

    /// The metadata the user gave and the names of what it has beside its body, without what the
    /// database says itself; `None` when there is none.
    #[must_use]
    pub fn metadata(&self) -> Option<Document<'s>> {
        self.record.metadata()
    }

    /// The document without its metadata.
    #[must_use]
    pub fn body(&self) -> Document<'s> {
        self.record.body()
    }

    /// The document as queries and indexes see it.
    #[must_use]
    pub fn stored(&self) -> StoredDocument<'s> {
        StoredDocument {
            number: self.number,
            etag: self.record.etag,
            id: self.record.id,
            collection: self.collection,
            change_vector: ShownVector::Single {
                node_tag: self.origin.node().as_str(),
                etag: self.record.etag,
                database: self.origin.database().as_str(),
            },
            last_modified: self.record.last_modified,
            flags: self.flag_text(),
            metadata: self.record.metadata(),
            body: self.record.body(),
        }
    }

    fn flag_text(&self) -> Cow<'static, str> {
        if self.record.flags == Flags::default() {
            return Cow::Borrowed("");
        }
        Cow::Owned(self.record.flags.text())
    }

    /// The command that makes a document what it was as this revision.
    #[must_use]
    pub fn restoring(&self) -> Command {
        let id = self.id().to_owned();
        if self.record.flags.has(Flags::DELETE_REVISION) {
            let expected = None;
            return Command::Delete { id, expected };
        }
        let mut builder = Builder::new();
        builder.begin_object();
        if self.collection != EMPTY_COLLECTION {
            builder.key("@collection").string(self.collection);
        }
        if let Some(Value::Object(own)) = self.metadata().map(|own| own.root()) {
            // Pictures of counters and time series stay with the revision.
            for (name, value) in own.iter().filter(|(name, _)| !name.ends_with("-snapshot")) {
                builder.key(name).value(value);
            }
        }
        let metadata = builder
            .end_object()
            .finish()
            .expect("parts of a document fit");
        Command::Put {
            id: Some(id),
            body: self.body().to_buf(),
            metadata: Some(metadata),
            expected: None,
            keeps_revision: false,
        }
    }

    /// Appends the document as clients see it: its fields, then `@metadata`.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        write_document(self.body().root(), out, |metadata| {
            self.write_metadata(metadata)
        });
    }

    /// Appends an object with nothing but `@metadata`.
    pub fn write_metadata_json(&self, out: &mut Vec<u8>) {
        write_object(out, |object| {
            object.object(jackdaw_document::METADATA, |metadata| {
                self.write_metadata(metadata)
            });
        });
    }

    /// Appends the document, or nothing but its `@metadata`, with another change vector.
    pub fn write_json_as(&self, change_vector: &str, metadata_only: bool, out: &mut Vec<u8>) {
        let fields = |metadata: &mut ObjectWriter<'_>| self.write_fields(metadata, change_vector);
        if metadata_only {
            write_object(out, |object| {
                object.object(jackdaw_document::METADATA, fields)
            });
        } else {
            write_document(self.body().root(), out, fields);
        }
    }

    /// Writes the fields of `@metadata`. A document that names no collection has none there.
    pub fn write_metadata(&self, metadata: &mut ObjectWriter<'_>) {
        self.write_fields(metadata, &self.change_vector());
    }

    fn write_fields(&self, metadata: &mut ObjectWriter<'_>, change_vector: &str) {
        if self.collection != EMPTY_COLLECTION {
            metadata.string("@collection", self.collection);
        }
        if let Some(Value::Object(own)) = self.metadata().map(|own| own.root()) {
            metadata.fields(own);
        }
        metadata.string("@change-vector", change_vector);
        let flags = self.flag_text();
        if !flags.is_empty() {
            metadata.string("@flags", &flags);
        }
        metadata.string("@id", self.id());
        metadata.string("@last-modified", &self.last_modified().to_string());
    }
}

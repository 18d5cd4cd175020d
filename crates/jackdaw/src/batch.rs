//! Batches: changes of documents that happen together.
//!
//! A batch gathers commands on the caller's thread and hands them to the writer as one transaction.

use std::collections::HashMap;

use jackdaw_base::lowercase::lowercase;
use jackdaw_database::{
    AttachmentChange, AttachmentContent, Command, CommandResult, CounterAction, CounterOperation,
};
use jackdaw_document::{Builder, DocumentBuf, METADATA, Object, Value};
use serde::Serialize;

use crate::database::Database;
use crate::error::{Error, Result};
use crate::form::{ValueError, to_document};
use crate::names::{Version, collection_of};

const COLLECTION: &str = "@collection";

/// A document that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// Its id, completed where it ended with `/` or `|`.
    pub id: String,
    /// Its version.
    pub version: Version,
}

/// Changes that happen together or not at all; [`Database::batch`] begins one.
///
/// Calls chain, and may also be made one by one in a loop. Nothing is written before
/// [`Batch::commit`]. A batch holds up to 256 MiB.
///
/// ```
/// # let db = jackdaw::Database::in_memory()?;
/// let mut batch = db.batch();
/// for number in 1..=3 {
///     batch.put(&format!("albums/{number}"), &serde_json::json!({"Number": number}))?;
/// }
/// let stored = batch.delete("albums/4").increment("albums/1", "Plays", 1).commit()?;
/// assert_eq!(stored.len(), 3);
/// # Ok::<(), jackdaw::Error>(())
/// ```
pub struct Batch<'db> {
    db: &'db Database,
    commands: Vec<Command>,
    builder: Builder,
}

impl<'db> Batch<'db> {
    pub(crate) fn new(db: &'db Database) -> Batch<'db> {
        Batch {
            db,
            commands: Vec::new(),
            builder: Builder::new(),
        }
    }

    /// Stores a value as the document `id`; see [`Database::put`].
    ///
    /// # Errors
    /// [`Error::Value`]; the batch is as before.
    pub fn put<T: Serialize + ?Sized>(&mut self, id: &str, value: &T) -> Result<&mut Self> {
        self.store(id, value, None, None)
    }

    /// Stores a value as the document `id` if that still has this version.
    ///
    /// # Errors
    /// As [`Batch::put`]. That the version is another one is an error of [`Batch::commit`].
    pub fn put_if<T: Serialize + ?Sized>(
        &mut self,
        id: &str,
        value: &T,
        version: &Version,
    ) -> Result<&mut Self> {
        self.store(id, value, None, Some(version.0.clone()))
    }

    /// Stores a value as the document `id` if there is none yet.
    ///
    /// # Errors
    /// As [`Batch::put`]. That there is one is an error of [`Batch::commit`].
    pub fn insert<T: Serialize + ?Sized>(&mut self, id: &str, value: &T) -> Result<&mut Self> {
        self.store(id, value, None, Some(String::new()))
    }

    /// Stores a value as the document `id` of a collection that the id does not name.
    ///
    /// # Errors
    /// As [`Batch::put`].
    pub fn put_in<T: Serialize + ?Sized>(
        &mut self,
        collection: &str,
        id: &str,
        value: &T,
    ) -> Result<&mut Self> {
        self.store(id, value, Some(collection), None)
    }

    pub(crate) fn store<T: Serialize + ?Sized>(
        &mut self,
        id: &str,
        value: &T,
        collection: Option<&str>,
        expected: Option<String>,
    ) -> Result<&mut Self> {
        let body = to_document(value, &mut self.builder)?;
        let Value::Object(object) = body.root() else {
            let kind = format!("{:?}", body.root().kind()).to_lowercase();
            let what = format!("a document is an object, and this value is a JSON {kind}");
            return Err(ValueError::new(what).into());
        };
        let own = match object.get(METADATA) {
            None | Some(Value::Null) => None,
            Some(Value::Object(own)) => Some(own),
            Some(_) => {
                let what = "metadata is an object, and this is none";
                return Err(ValueError::new(what).in_field(METADATA).into());
            }
        };
        let derived = match own.is_some_and(|own| own.contains(COLLECTION)) {
            true => None,
            false => collection_of(id),
        };
        let collection = collection.or(derived.as_deref());
        let metadata = metadata(own, collection, &mut self.builder)?;
        let body = match object.contains(METADATA) {
            false => body,
            true => without_metadata(object, &mut self.builder)?,
        };
        self.commands.push(Command::Put {
            id: Some(id.to_owned()),
            body,
            metadata: Some(metadata),
            expected,
            keeps_revision: false,
        });
        Ok(self)
    }

    /// Deletes the document `id`; that there is none is no error.
    pub fn delete(&mut self, id: &str) -> &mut Self {
        self.remove(id, None)
    }

    /// Deletes the document `id` if it still has this version.
    pub fn delete_if(&mut self, id: &str, version: &Version) -> &mut Self {
        self.remove(id, Some(version.0.clone()))
    }

    fn remove(&mut self, id: &str, expected: Option<String>) -> &mut Self {
        let id = id.to_owned();
        self.commands.push(Command::Delete { id, expected });
        self
    }

    /// Adds `by`, which may be negative, to a counter of the document `id`, which has to exist when
    /// the batch has come this far. A counter that is missing begins at 0.
    pub fn increment(&mut self, id: &str, counter: &str, by: i64) -> &mut Self {
        self.commands.push(Command::Counters {
            id: id.to_owned(),
            operations: vec![CounterOperation {
                name: counter.to_owned(),
                action: CounterAction::Increment(by),
            }],
        });
        self
    }

    /// Attaches a short content to the document `id`, which has to exist when the batch has come
    /// this far. [`Attachments::put`](crate::Attachments::put) takes contents of any length.
    pub fn attach(
        &mut self,
        id: &str,
        name: &str,
        content_type: &str,
        content: impl Into<Vec<u8>>,
    ) -> &mut Self {
        self.commands.push(Command::Attachment {
            id: id.to_owned(),
            name: name.to_owned(),
            expected: None,
            change: AttachmentChange::Put {
                content_type: content_type.to_owned(),
                content: AttachmentContent::from_bytes(content.into()),
            },
        });
        self
    }

    /// Number of changes gathered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Whether no change was gathered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Makes all changes durable, and returns the documents that were stored, in the order of the
    /// calls. The batch is empty afterwards, whatever the outcome. Waits for one durable write of
    /// the journal; an empty batch waits for nothing.
    ///
    /// # Errors
    /// - [`Error::Conflict`]: a document does not have the version that the batch expects.
    /// - [`Error::Invalid`]: an id or name cannot be used, or the batch is larger than 256 MiB.
    /// - [`Error::Missing`]: the document of a counter or attachment does not exist.
    /// - [`Error::Unknown`]: see there. After any other error nothing of the batch was written.
    pub fn commit(&mut self) -> Result<Vec<Stored>> {
        let mut stored: Vec<Stored> = Vec::new();
        // Counters and attachments give their document another version.
        let mut last: HashMap<String, usize> = HashMap::new();
        for result in self.run()? {
            let (id, vector) = match result {
                CommandResult::Put {
                    id, change_vector, ..
                } => {
                    last.insert(lowercase(&id).into_owned(), stored.len());
                    let version = Version(change_vector);
                    stored.push(Stored { id, version });
                    continue;
                }
                CommandResult::Counters {
                    id,
                    document_change_vector,
                    ..
                }
                | CommandResult::Attachment {
                    id,
                    document_change_vector,
                    ..
                } => (id, document_change_vector),
                _ => continue,
            };
            let known = last.get(lowercase(&id).as_ref());
            if let (Some(slot), Some(vector)) = (known, vector) {
                stored[*slot].version = Version(vector);
            }
        }
        Ok(stored)
    }

    fn run(&mut self) -> Result<Vec<CommandResult>> {
        let commands = std::mem::take(&mut self.commands);
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        self.db.inner().batch(commands).map_err(Error::of_write)
    }

    /// Commits a batch of one document.
    pub(crate) fn commit_one(&mut self) -> Result<Stored> {
        let stored = self.commit()?.pop();
        stored.ok_or_else(|| Error::internal("a document was stored without an answer"))
    }

    /// Commits a batch of one deletion; whether there was a document.
    pub(crate) fn commit_deletion(&mut self) -> Result<bool> {
        let results = self.run()?;
        let is_deletion =
            |result: &CommandResult| matches!(result, CommandResult::Delete { deleted: true, .. });
        Ok(results.iter().any(is_deletion))
    }
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("commands", &self.commands)
            .finish_non_exhaustive()
    }
}

/// The metadata to store: what the value says, in this collection.
fn metadata(
    own: Option<Object<'_>>,
    collection: Option<&str>,
    builder: &mut Builder,
) -> Result<DocumentBuf> {
    builder.clear().begin_object();
    for (name, value) in own.iter().flat_map(Object::iter) {
        builder.key(name).value(value);
    }
    if let Some(collection) = collection {
        builder.key(COLLECTION).string(collection);
    }
    builder.end_object();
    Ok(builder.finish().map_err(ValueError::of)?)
}

fn without_metadata(object: Object<'_>, builder: &mut Builder) -> Result<DocumentBuf> {
    builder.clear().begin_object();
    for (name, value) in object.iter().filter(|(name, _)| *name != METADATA) {
        builder.key(name).value(value);
    }
    builder.end_object();
    Ok(builder.finish().map_err(ValueError::of)?)
}

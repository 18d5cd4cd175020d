//! A batch of changes made ready outside the writer: checked, folded and in one arena.
//!
//! Filled on the caller's threads from [`Command`]s or by an importer, then carried out as one
//! transaction by `store::apply`.
//!
//! Invariants:
//! - No allocation per document but those the arena makes when it grows.
//! - Everything a change can be refused for without looking at the database is checked here.

use std::collections::HashMap;
use std::ops::Range;

use jackdaw_document::{Builder, Document, Object, Value};

use crate::command::Command;
use crate::error::WriteError;
use crate::metadata;
use crate::names::{EMPTY_COLLECTION, check_collection, fold_id};

/// Most bytes of documents in one batch; the pages a transaction changes are bounded by 1 GiB.
pub(crate) const BATCH_BYTES_MAX: usize = 256 << 20;

/// How the id of a put comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdForm {
    /// It is there.
    Given,
    /// `prefix/`: the etag of the change goes behind it.
    Etag,
    /// `prefix|`: the next number of the prefix goes in the place of the bar.
    Identity,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Put {
        form: IdForm,
        /// Position in `collections`.
        collection: usize,
        metadata_len: u32,
        /// Metadata and body in `content`.
        content: Range<usize>,
        keeps_revision: bool,
    },
    Delete,
    /// A change that is carried out from the command itself.
    Other(Box<Command>),
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) action: Action,
    id: Range<usize>,
    folded: Range<usize>,
    label: Range<usize>,
    pub(crate) expected: Option<Box<str>>,
}

/// Changes that are ready to be carried out together.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    content: Vec<u8>,
    text: String,
    collections: Vec<Box<str>>,
    collection_positions: HashMap<Box<str>, usize>,
    last_collection: usize,
    items: Vec<Item>,
    skips_unchanged: bool,
    leaves_out: bool,
}

impl Prepared {
    /// No changes.
    #[must_use]
    pub fn new() -> Prepared {
        Prepared::default()
    }

    /// Makes commands ready. `random_id` gives the id of a put without one.
    ///
    /// # Errors
    /// The first command that cannot be carried out on any database.
    pub(crate) fn from_commands(
        commands: Vec<Command>,
        mut random_id: impl FnMut() -> String,
    ) -> Result<Prepared, WriteError> {
        let mut prepared = Prepared::new();
        let mut builder = Builder::new();
        for command in commands {
            match command {
                Command::Put {
                    id,
                    body,
                    metadata,
                    expected,
                    keeps_revision,
                } => {
                    let id = id
                        .filter(|id| !id.is_empty())
                        .unwrap_or_else(&mut random_id);
                    let metadata = metadata.as_ref().map(|metadata| metadata.document());
                    let expected = expected.map(String::into_boxed_str);
                    prepared.push_put(&id, metadata, body.document(), expected, &mut builder)?;
                    if keeps_revision {
                        prepared.keep_revision();
                    }
                }
                Command::Delete { id, expected } => prepared.delete(&id, expected)?,
                other => prepared.push_other(other),
            }
        }
        Ok(prepared)
    }

    /// Leaves documents alone that are stored with the same content already.
    pub(crate) fn skip_unchanged(&mut self) {
        self.skips_unchanged = true;
    }

    pub(crate) fn skips_unchanged(&self) -> bool {
        self.skips_unchanged
    }

    /// Leaves documents out whose id is in another collection, where the batch would fail as a
    /// whole otherwise. An [`Importer`](crate::Importer) reports them.
    pub fn leave_out_mismatches(&mut self) {
        self.leaves_out = true;
    }

    pub(crate) fn leaves_out(&self) -> bool {
        self.leaves_out
    }

    /// Names the change that was added last, for the report of what is left out.
    pub fn label(&mut self, label: &str) {
        if let Some(item) = self.items.last_mut() {
            let start = self.text.len();
            self.text.push_str(label);
            item.label = start..self.text.len();
        }
    }

    pub(crate) fn label_of(&self, item: &Item) -> &str {
        &self.text[item.label.clone()]
    }

    /// Adds the storing of a document whatever is there, in a collection named by the caller.
    ///
    /// # Errors
    /// The id or the collection cannot be one, or the body is no object; nothing was added.
    pub fn put(
        &mut self,
        id: &str,
        collection: &str,
        body: Document<'_>,
    ) -> Result<(), WriteError> {
        check_collection(id, collection)?;
        self.push_document(id, collection, None, body, None)
    }

    /// [`Prepared::put`] with further metadata. What it says of id and collection is ignored.
    ///
    /// # Errors
    /// As [`Prepared::put`], or the metadata is no object.
    pub fn put_with_metadata(
        &mut self,
        id: &str,
        collection: &str,
        metadata: Document<'_>,
        body: Document<'_>,
    ) -> Result<(), WriteError> {
        check_collection(id, collection)?;
        let mut builder = Builder::new();
        let metadata = metadata_object(id, Some(metadata))?;
        let metadata = metadata.map(|metadata| (metadata, &mut builder));
        self.push_document(id, collection, metadata, body, None)
    }

    fn push_put(
        &mut self,
        id: &str,
        metadata: Option<Document<'_>>,
        body: Document<'_>,
        expected: Option<Box<str>>,
        builder: &mut Builder,
    ) -> Result<(), WriteError> {
        let metadata = metadata_object(id, metadata)?;
        let collection = metadata::collection(id, metadata)?;
        let metadata = metadata.map(|metadata| (metadata, builder));
        self.push_document(id, &collection, metadata, body, expected)
    }

    fn push_document(
        &mut self,
        id: &str,
        collection: &str,
        metadata: Option<(Object<'_>, &mut Builder)>,
        body: Document<'_>,
        expected: Option<Box<str>>,
    ) -> Result<(), WriteError> {
        let (id, folded, form) = self.push_id(id, body)?;
        let collection = match collection {
            "" => EMPTY_COLLECTION,
            name => name,
        };
        let collection = self.collection_position(collection);
        let start = self.content.len();
        if let Some((metadata, builder)) = metadata {
            metadata::push_stored(metadata, builder, &mut self.content);
        }
        let metadata_len =
            u32::try_from(self.content.len() - start).expect("documents are shorter than 1 GiB");
        self.content.extend_from_slice(body.as_bytes());
        self.items.push(Item {
            action: Action::Put {
                form,
                collection,
                metadata_len,
                content: start..self.content.len(),
                keeps_revision: false,
            },
            id,
            folded,
            label: 0..0,
            expected,
        });
        Ok(())
    }

    /// Makes the put that was added last keep what it replaces.
    fn keep_revision(&mut self) {
        if let Some(Action::Put { keeps_revision, .. }) =
            self.items.last_mut().map(|item| &mut item.action)
        {
            *keeps_revision = true;
        }
    }

    /// Adds a change that is carried out from the command itself.
    fn push_other(&mut self, command: Command) {
        self.items.push(Item {
            action: Action::Other(Box::new(command)),
            id: 0..0,
            folded: 0..0,
            label: 0..0,
            expected: None,
        });
    }

    /// Adds the removal of a document.
    ///
    /// # Errors
    /// The id is empty. One that is too long names nothing, and nothing is removed then.
    pub fn delete(&mut self, id: &str, expected: Option<String>) -> Result<(), WriteError> {
        let folded = match fold_id(id) {
            Err(error) if id.is_empty() => return Err(error),
            Err(_) => std::borrow::Cow::Borrowed(""),
            Ok(folded) => folded,
        };
        let expected = expected.map(String::into_boxed_str);
        let (id, folded) = self.push_text(id, &folded);
        self.items.push(Item {
            action: Action::Delete,
            id,
            folded,
            label: 0..0,
            expected,
        });
        Ok(())
    }

    /// Number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes of the documents so far.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.content.len() + self.text.len()
    }

    /// Forgets the changes and keeps the memory.
    pub fn clear(&mut self) {
        self.leaves_out = false;
        self.content.clear();
        self.text.clear();
        self.items.clear();
    }

    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    pub(crate) fn id(&self, item: &Item) -> &str {
        &self.text[item.id.clone()]
    }

    pub(crate) fn folded(&self, item: &Item) -> &str {
        &self.text[item.folded.clone()]
    }

    pub(crate) fn content(&self, range: &Range<usize>) -> &[u8] {
        &self.content[range.clone()]
    }

    pub(crate) fn collections(&self) -> &[Box<str>] {
        &self.collections
    }

    pub(crate) fn check_len(&self) -> Result<(), WriteError> {
        let (len_bytes, max_bytes) = (self.len_bytes(), BATCH_BYTES_MAX);
        if len_bytes <= max_bytes {
            return Ok(());
        }
        Err(WriteError::TooLarge {
            len_bytes,
            max_bytes,
        })
    }

    fn push_id(
        &mut self,
        id: &str,
        body: Document<'_>,
    ) -> Result<(Range<usize>, Range<usize>, IdForm), WriteError> {
        if !matches!(body.root(), Value::Object(_)) {
            return Err(not_an_object(id, "the body"));
        }
        let folded = fold_id(id)?;
        let form = match id.as_bytes() {
            [_, .., b'/'] => IdForm::Etag,
            [_, .., b'|'] => IdForm::Identity,
            _ => IdForm::Given,
        };
        let (id, folded) = self.push_text(id, &folded);
        Ok((id, folded, form))
    }

    /// Keeps an id and its lower case, once when they are the same.
    fn push_text(&mut self, id: &str, folded: &str) -> (Range<usize>, Range<usize>) {
        let start = self.text.len();
        self.text.push_str(id);
        let id_range = start..self.text.len();
        if id == folded {
            return (id_range.clone(), id_range);
        }
        let start = self.text.len();
        self.text.push_str(folded);
        (id_range, start..self.text.len())
    }

    fn collection_position(&mut self, name: &str) -> usize {
        if self
            .collections
            .get(self.last_collection)
            .is_some_and(|last| **last == *name)
        {
            return self.last_collection;
        }
        self.last_collection = match self.collection_positions.get(name) {
            Some(&position) => position,
            None => {
                let position = self.collections.len();
                self.collections.push(name.into());
                self.collection_positions.insert(name.into(), position);
                position
            }
        };
        self.last_collection
    }
}

fn metadata_object<'d>(
    id: &str,
    metadata: Option<Document<'d>>,
) -> Result<Option<Object<'d>>, WriteError> {
    match metadata.map(|metadata| metadata.root()) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(not_an_object(id, "the metadata")),
    }
}

#[cold]
fn not_an_object(id: &str, what: &'static str) -> WriteError {
    let id = id.to_owned();
    WriteError::NotAnObject { id, what }
}

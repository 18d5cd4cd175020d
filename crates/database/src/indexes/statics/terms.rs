//! Entries as terms: collects the changes of a batch for the inverted index and applies them.
//!
//! Invariants:
//! - A field keeps its analyzer: options given by `CreateField` count when the field is met first.

use std::collections::HashMap;

use jackdaw_document::Document;
use jackdaw_model::Etag;
use jackdaw_query::{FieldKind, FieldPath, IndexField, add_terms, add_vectors};
use jackdaw_search::{Analyzer, Batch, EntryId, FieldOptions, FieldSlot, IndexError, IndexWriter};
use jackdaw_storage::WriteTransaction;

use super::definition::{FieldSettings, Indexing, StaticDefinition};
use super::entry::{Made, entry_document};
use super::vectors;

/// See the file head.
pub(super) struct Terms {
    batch: Batch,
    /// By name; `None` for fields that are not indexed.
    slots: HashMap<String, Option<(IndexField, FieldSlot)>>,
    made: HashMap<String, FieldSettings>,
    /// By name: fields of vectors.
    vectors: HashMap<String, (IndexField, FieldSlot)>,
    /// Entries of the batch with vectors, and the ids of their documents.
    owners: HashMap<u64, String>,
    /// What is wrong with vectors of the batch, by entry.
    wrong: Vec<(u64, String)>,
    writer: IndexWriter,
}

/// A vector that is not in the index: the document it is of, and why.
pub(super) type WrongVector = (Option<String>, String);

impl StaticDefinition {
    /// How the field `name` is indexed; `None` when it is not. `made` are the options that a map
    /// gave for it.
    pub(crate) fn index_field(
        &self,
        name: &str,
        made: Option<&FieldSettings>,
    ) -> Option<IndexField> {
        let settings = self.field_settings(name);
        let indexing = made.and_then(|made| made.indexing).or(settings.indexing);
        let named = settings.analyzer.as_deref();
        let named = named.and_then(|name| self.analyzer(name));
        let options = match indexing {
            Some(Indexing::No) => return None,
            Some(Indexing::Exact) => FieldOptions::new(Analyzer::Keyword),
            Some(Indexing::Search | Indexing::Highlighting) => {
                FieldOptions::new(named.unwrap_or(Analyzer::Standard))
            }
            // An analyzer of full text makes it a field of full text.
            Some(Indexing::Default) | None => {
                FieldOptions::new(named.unwrap_or(Analyzer::LowercaseKeyword))
            }
        };
        Some(IndexField {
            path: FieldPath::of_name(name),
            kind: FieldKind::Named(options),
        })
    }
}

impl Terms {
    pub(super) fn new() -> Terms {
        Terms {
            batch: Batch::new(),
            slots: HashMap::new(),
            made: HashMap::new(),
            vectors: HashMap::new(),
            owners: HashMap::new(),
            wrong: Vec::new(),
            writer: IndexWriter::new(),
        }
    }

    /// Notes options of fields that maps made by name.
    pub(super) fn note_made(&mut self, made: Made) {
        for (name, settings) in made {
            self.made.entry(name).or_insert(settings);
        }
    }

    /// Declares the fields that the texts name, so that queries may ask for them before an entry
    /// has them.
    pub(super) fn declare(
        &mut self,
        definition: &StaticDefinition,
        names: &[String],
    ) -> Result<(), IndexError> {
        names
            .iter()
            .try_for_each(|name| self.slot(definition, name).map(drop))
    }

    fn slot(&mut self, definition: &StaticDefinition, name: &str) -> Result<(), IndexError> {
        if self.slots.contains_key(name) {
            return Ok(());
        }
        let field = definition.index_field(name, self.made.get(name));
        let slot = match field {
            Some(field) => {
                let slot = self.batch.field(&field.name(), field.options())?;
                Some((field, slot))
            }
            None => None,
        };
        self.slots.insert(name.to_owned(), slot);
        Ok(())
    }

    /// Declares the vectors of a field.
    fn vector_slot(&mut self, definition: &StaticDefinition, name: &str) -> Result<(), IndexError> {
        if !self.vectors.contains_key(name) {
            let field = definition.vector_field(name);
            let slot = self.batch.field(&field.name(), field.options())?;
            self.vectors.insert(name.to_owned(), (field, slot));
        }
        Ok(())
    }

    /// The entry has these values now; `owner` is the id of its document.
    pub(super) fn put(
        &mut self,
        definition: &StaticDefinition,
        entry: EntryId,
        owner: Option<&str>,
        values: Document<'_>,
    ) -> Result<(), IndexError> {
        let root = values.root();
        let members = || {
            root.as_object()
                .into_iter()
                .flat_map(|object| object.iter())
        };
        for (name, value) in members() {
            self.slot(definition, name)?;
            if vectors::is_made(value) {
                self.vector_slot(definition, name)?;
                if let Some(owner) = owner {
                    self.owners.insert(entry.0, owner.to_owned());
                }
            }
        }
        let document = entry_document(entry.0, "", "", values);
        let mut terms = self.batch.put(entry)?;
        for (name, value) in members() {
            if let Some(Some((field, slot))) = self.slots.get(name) {
                add_terms(&document, field, *slot, &mut terms);
            }
            if let Some((field, slot)) = self.vectors.get(name).filter(|_| vectors::is_made(value))
            {
                add_vectors(&document, field, *slot, &mut terms, &mut |why| {
                    let why = format!("field {name:?}: {why}");
                    self.wrong.push((entry.0, why));
                });
            }
        }
        Ok(())
    }

    /// The entry is gone.
    pub(super) fn delete(&mut self, entry: EntryId) -> Result<(), IndexError> {
        self.batch.delete(entry)
    }

    /// Applies what was collected, and forgets it; gives the vectors that could not be taken.
    pub(super) fn apply(
        &mut self,
        transaction: &mut WriteTransaction,
        up_to: Etag,
    ) -> Result<Vec<WrongVector>, IndexError> {
        let applied = self.writer.apply(transaction, &self.batch, Some(up_to.0));
        self.batch.clear();
        applied?;
        let refused = self.writer.refused().iter();
        let refused = refused.map(|refused| (refused.entry.0, refused.to_string()));
        let wrong = std::mem::take(&mut self.wrong).into_iter().chain(refused);
        let wrong = wrong
            .map(|(entry, why)| (self.owners.get(&entry).cloned(), why))
            .collect();
        self.owners.clear();
        Ok(wrong)
    }

    /// Forgets what was collected.
    pub(super) fn clear(&mut self) {
        self.batch.clear();
        self.owners.clear();
        self.wrong.clear();
    }
}

//! Batch: the changes of many entries, analyzed, in one arena.
//!
//! Filled by the layer above from documents, then given to [`IndexWriter`](crate::IndexWriter).
//!
//! Invariants:
//! - No allocation per term or per entry: keys lie one after another in `arena`.
//! - A later change of an entry replaces an earlier one of the same batch.
//!
//! Threads: one owner; filled batches may be handed to another thread.

use jackdaw_base::number::Number;
use rustc_hash::FxHashMap;

use crate::analysis::{TOKENS_PER_FIELD_MAX, VALUE_GAP, boolean_text};
use crate::options::FieldOptions;
use crate::place::Place;
use crate::term::{self, class};
use crate::vector::{Vector, VectorHash, hash_of};
use crate::{EntryId, IndexError};

/// Most fields of an index.
pub const FIELDS_MAX: usize = 60_000;

/// Longest name of a field, in bytes.
pub const FIELD_NAME_BYTES_MAX: usize = 2_000;

/// A field of a batch. Only good for the batch that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldSlot(pub(crate) u16);

#[derive(Clone, Debug)]
pub(crate) struct BatchField {
    pub(crate) name: Box<str>,
    pub(crate) options: FieldOptions,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchTerm {
    pub(crate) field: FieldSlot,
    len_bytes: u16,
    start: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchChange {
    pub(crate) entry: EntryId,
    pub(crate) is_deletion: bool,
    /// First of its terms; they end where those of the next change begin.
    terms_start: usize,
}

/// Changes of many entries.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    fields: Vec<BatchField>,
    arena: Vec<u8>,
    terms: Vec<BatchTerm>,
    changes: Vec<BatchChange>,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Batch {
        Batch::default()
    }

    /// The field `name`, declared with `options` when the batch sees it for the first time.
    ///
    /// # Errors
    /// - [`IndexError::AnalyzerDiffers`]: the batch has it with other options.
    /// - [`IndexError::TooManyFields`], [`IndexError::FieldNameTooLong`].
    pub fn field(
        &mut self,
        name: &str,
        options: impl Into<FieldOptions>,
    ) -> Result<FieldSlot, IndexError> {
        let options = options.into();
        let known = self.fields.iter().position(|field| &*field.name == name);
        if known.is_some_and(|slot| self.fields[slot].options != options) {
            return Err(IndexError::AnalyzerDiffers {
                name: name.to_owned(),
            });
        }
        if name.len() > FIELD_NAME_BYTES_MAX {
            return Err(IndexError::FieldNameTooLong {
                len_bytes: name.len(),
                max_bytes: FIELD_NAME_BYTES_MAX,
            });
        }
        let slot = known.unwrap_or(self.fields.len());
        let too_many = IndexError::TooManyFields { max: FIELDS_MAX };
        let number = u16::try_from(slot)
            .ok()
            .filter(|_| slot < FIELDS_MAX)
            .ok_or(too_many)?;
        if known.is_none() {
            self.fields.push(BatchField {
                name: name.into(),
                options,
            });
        }
        Ok(FieldSlot(number))
    }

    /// Begins the new content of an entry, whether or not the index has it already. Terms are
    /// added through the value returned; an entry without terms is still an entry.
    ///
    /// # Errors
    /// [`IndexError::EntryOutOfRange`].
    pub fn put(&mut self, entry: EntryId) -> Result<EntryTerms<'_>, IndexError> {
        self.push_change(entry, false)?;
        Ok(EntryTerms {
            batch: self,
            positions: Vec::new(),
        })
    }

    /// Removes an entry; nothing happens when the index does not have it.
    ///
    /// # Errors
    /// [`IndexError::EntryOutOfRange`].
    pub fn delete(&mut self, entry: EntryId) -> Result<(), IndexError> {
        self.push_change(entry, true)
    }

    fn push_change(&mut self, entry: EntryId, is_deletion: bool) -> Result<(), IndexError> {
        if entry > EntryId::MAX {
            return Err(IndexError::EntryOutOfRange { entry: entry.0 });
        }
        let terms_start = self.terms.len();
        self.changes.push(BatchChange {
            entry,
            is_deletion,
            terms_start,
        });
        Ok(())
    }

    /// Number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Bytes of the changes so far: what a caller bounds. The writer needs about twice as much
    /// while it applies them.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.arena.len()
            + self.terms.len() * size_of::<BatchTerm>()
            + self.changes.len() * size_of::<BatchChange>()
    }

    /// Forgets the changes; keeps fields and memory.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.terms.clear();
        self.changes.clear();
    }

    pub(crate) fn fields(&self) -> &[BatchField] {
        &self.fields
    }

    pub(crate) fn changes(&self) -> &[BatchChange] {
        &self.changes
    }

    /// Terms of the change at `position`.
    pub(crate) fn terms(&self, position: usize) -> &[BatchTerm] {
        let start = self.changes[position].terms_start;
        let end = self
            .changes
            .get(position + 1)
            .map_or(self.terms.len(), |next| next.terms_start);
        &self.terms[start..end]
    }

    /// Whether the term has a position.
    pub(crate) fn has_position(&self, term: &BatchTerm) -> bool {
        let options = self.fields[usize::from(term.field.0)].options;
        options.positions && self.key(term).first() == Some(&class::TEXT)
    }

    /// Position of a term that has one.
    pub(crate) fn position(&self, term: &BatchTerm) -> u32 {
        let bytes = self.arena[..term.start].last_chunk();
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Dimensions of a term that is a vector.
    pub(crate) fn dimensions(&self, term: &BatchTerm) -> Option<u16> {
        self.vector(term).map(|(dimensions, _)| dimensions)
    }

    /// Bytes of all vectors by their hashes.
    pub(crate) fn vectors(&self) -> FxHashMap<VectorHash, &[u8]> {
        let of = |term: &BatchTerm| {
            let hash = self.key(term).get(1..)?.try_into().ok()?;
            self.vector(term).map(|(_, code)| (hash, code))
        };
        self.terms.iter().filter_map(of).collect()
    }

    /// Dimensions and bytes of a vector, which stand behind its key: see [`EntryTerms::vector`].
    fn vector(&self, term: &BatchTerm) -> Option<(u16, &[u8])> {
        let [class::VECTOR, ..] = self.key(term) else {
            return None;
        };
        let behind = self.arena.get(term.start + usize::from(term.len_bytes)..)?;
        let (dimensions, behind) = behind.split_first_chunk()?;
        let (len_bytes, behind) = behind.split_first_chunk()?;
        let len_bytes = usize::from(u16::from_le_bytes(*len_bytes));
        Some((u16::from_le_bytes(*dimensions), behind.get(..len_bytes)?))
    }

    /// Class and bytes of a term.
    pub(crate) fn key(&self, term: &BatchTerm) -> &[u8] {
        &self.arena[term.start..][..usize::from(term.len_bytes)]
    }
}

/// Adds terms to one entry of a batch. Call once for each element of an array.
pub struct EntryTerms<'a> {
    batch: &'a mut Batch,
    /// The next position and the number of tokens of each field of full text so far.
    positions: Vec<(FieldSlot, u32, u32)>,
}

impl EntryTerms<'_> {
    /// A text, as the document has it.
    pub fn text(&mut self, field: FieldSlot, text: &str) {
        let options = self.batch.fields[usize::from(field.0)].options;
        let analyzer = options.analyzer;
        match analyzer.is_full_text() || options.positions {
            true => self.full_text(field, text, options),
            false => self.push(field, |arena| analyzer.push_text_key(text, arena)),
        }
    }

    /// The tokens of a value, at positions behind those of the values before.
    fn full_text(&mut self, field: FieldSlot, text: &str, options: FieldOptions) {
        let known = self.positions.iter().position(|(slot, ..)| *slot == field);
        let at = known.unwrap_or_else(|| {
            self.positions.push((field, 0, 0));
            self.positions.len() - 1
        });
        let (_, first, mut count) = self.positions[at];
        let next = options
            .analyzer
            .tokens(text, first, &mut |token, position| {
                count = count.saturating_add(1);
                if count <= TOKENS_PER_FIELD_MAX {
                    if options.positions {
                        // The position stands before the key: see `Batch::position`.
                        let position = position.to_le_bytes();
                        self.batch.arena.extend_from_slice(&position);
                    }
                    self.push(field, |arena| {
                        arena.push(class::TEXT);
                        let start = arena.len();
                        arena.extend_from_slice(token.as_bytes());
                        term::cut_in_place(arena, start);
                    });
                }
            });
        self.positions[at] = (field, next.saturating_add(VALUE_GAP), count);
    }

    /// A number and the text it has in the document.
    pub fn number(&mut self, field: FieldSlot, number: Number, text: &str) {
        self.push(field, |arena| term::push_number_key(number, arena));
        self.text(field, text);
    }

    /// A boolean.
    pub fn boolean(&mut self, field: FieldSlot, value: bool) {
        self.text(field, boolean_text(value));
    }

    /// A place on the earth.
    pub fn place(&mut self, field: FieldSlot, place: &Place) {
        self.push(field, |arena| term::push_place_key(place, arena));
    }

    /// A vector of a field of vectors. One of other dimensions than the field's is left out when
    /// the batch is applied: see [`IndexWriter::refused`](crate::IndexWriter::refused).
    ///
    /// # Panics
    /// When it is not kept as the field keeps vectors.
    pub fn vector(&mut self, field: FieldSlot, vector: &Vector) {
        let options = self.batch.fields[usize::from(field.0)].options.vector;
        assert_eq!(
            options.map(|options| options.storage),
            Some(vector.storage()),
            "the layer above makes vectors by the options of their field"
        );
        let code = vector.code();
        self.push(field, |arena| {
            arena.push(class::VECTOR);
            arena.extend_from_slice(&hash_of(code));
        });
        // Its bytes stand behind the key: see `Batch::vector`.
        let len_bytes = u16::try_from(code.len()).expect("vectors have at most 4,096 dimensions");
        let arena = &mut self.batch.arena;
        arena.extend_from_slice(&vector.dimensions().to_le_bytes());
        arena.extend_from_slice(&len_bytes.to_le_bytes());
        arena.extend_from_slice(code);
    }

    /// An explicit null.
    pub fn null(&mut self, field: FieldSlot) {
        self.push(field, |arena| arena.push(class::NULL));
    }

    fn push(&mut self, field: FieldSlot, write_key: impl FnOnce(&mut Vec<u8>)) {
        let start = self.batch.arena.len();
        write_key(&mut self.batch.arena);
        let len_bytes = u16::try_from(self.batch.arena.len() - start)
            .expect("keys are cut to a class byte and 512 bytes");
        self.batch.terms.push(BatchTerm {
            field,
            len_bytes,
            start,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Analyzer;

    #[test]
    fn a_field_has_one_analyzer() {
        let mut batch = Batch::new();
        let slot = batch.field("Name", Analyzer::LowercaseKeyword).unwrap();
        assert_eq!(
            batch.field("Name", Analyzer::LowercaseKeyword).unwrap(),
            slot
        );
        assert_ne!(
            batch.field("name", Analyzer::LowercaseKeyword).unwrap(),
            slot
        );
        assert!(matches!(
            batch.field("Name", Analyzer::Keyword),
            Err(IndexError::AnalyzerDiffers { .. })
        ));
        let long = "n".repeat(FIELD_NAME_BYTES_MAX + 1);
        assert!(matches!(
            batch.field(&long, Analyzer::Keyword),
            Err(IndexError::FieldNameTooLong { .. })
        ));
    }

    #[test]
    fn terms_belong_to_the_change_they_follow() {
        let mut batch = Batch::new();
        let slot = batch.field("A", Analyzer::LowercaseKeyword).unwrap();
        batch.put(EntryId(1)).unwrap().text(slot, "X");
        batch.delete(EntryId(2)).unwrap();
        let mut terms = batch.put(EntryId(3)).unwrap();
        terms.number(slot, Number::Long(5), "5");
        terms.null(slot);
        let counts: Vec<usize> = (0..3).map(|position| batch.terms(position).len()).collect();
        assert_eq!(counts, [1, 0, 3]);
        assert_eq!(batch.key(&batch.terms(0)[0]), [class::TEXT, b'x']);
        assert!(batch.len_bytes() > 0);
        batch.clear();
        assert!(batch.is_empty());
        assert!(batch.put(EntryId(EntryId::MAX.0 + 1)).is_err());
    }
}

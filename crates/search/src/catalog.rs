//! Catalog: the fields and counters of an index, one small tree.
//!
//! Loaded by every reader and by the writer at the start of a batch; stored once at its end, so
//! that counters cost nothing per entry. Bytes: docs/format.md, section "Inverted index".
//!
//! Invariants:
//! - Field numbers are dense and never re-used; a field keeps its analyzer.
//! - `next_entry` is above every entry the index has ever had: an entry at or above it needs no
//!   look-up of its forward record.
//!
//! Threads: plain data of one transaction.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jackdaw_storage::StorageError;

use crate::analysis::Analyzer;
use crate::batch::FIELDS_MAX;
use crate::error::{At, IndexError};
use crate::options::FieldOptions;
use crate::posting::{ListNumber, Malformed};
use crate::store::{IndexRead, IndexWrite};
use crate::vector::{VECTOR_OPTIONS_BYTES, VectorOptions};

/// Format of an index as a whole, in its header. An index of another one is made again from its
/// documents.
const FORMAT: u16 = 5;

/// The oldest format that is still read. Later ones differ in the terms that values have, not in
/// how they are kept.
const FORMAT_READ_MIN: u16 = 2;

/// Names of the trees of an index.
pub(crate) const CATALOG_TREE: &str = "index";
pub(crate) const TERMS_TREE: &str = "terms";
pub(crate) const POSTINGS_TREE: &str = "postings";
pub(crate) const FORWARD_TREE: &str = "forward";

/// Keys of the catalog: the header, and a byte before the number of a field.
const HEADER_KEY: [u8; 1] = [0];
const FIELD_KEY: u8 = 1;

const HEADER_BYTES: usize = 48;
const FIELD_HEAD_BYTES: usize = 12;
/// What a field with positions has more.
const TEXT_COUNTERS_BYTES: usize = 16;

/// Flags of a field.
const FLAG_NONE: u8 = 0;
const FLAG_POSITIONS: u8 = 1;
const FLAG_VECTORS: u8 = 2;

/// Number of a field within its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub(crate) u16);

impl FieldId {
    /// Stands for the index itself: has the list of all entries.
    pub(crate) const EVERY: FieldId = FieldId(u16::MAX);

    /// Reads the number as keys have it.
    pub(crate) fn from_bytes(bytes: [u8; 2]) -> FieldId {
        FieldId(u16::from_be_bytes(bytes))
    }

    /// Position among fields.
    pub(crate) fn position(self) -> usize {
        usize::from(self.0)
    }

    /// The number as keys have it.
    pub(crate) fn to_bytes(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }

    /// Appends what all keys of the field begin with.
    pub(crate) fn push_key(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_be_bytes());
    }

    /// Key of the list of all entries that have the field.
    pub(crate) fn exists_key(self) -> [u8; 3] {
        let [high, low] = self.0.to_be_bytes();
        [high, low, crate::term::class::EXISTS]
    }

    fn catalog_key(self) -> [u8; 3] {
        let [high, low] = self.0.to_be_bytes();
        [FIELD_KEY, high, low]
    }
}

/// What the index knows of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: Box<str>,
    options: FieldOptions,
    term_count: u64,
    /// Entries with text, and the tokens of all of them; of fields with positions.
    text_count: u64,
    token_total: u64,
}

impl Field {
    /// Name, as the batches gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How its text becomes terms.
    #[must_use]
    pub fn analyzer(&self) -> Analyzer {
        self.options.analyzer
    }

    /// What its definition says.
    #[must_use]
    pub fn options(&self) -> FieldOptions {
        self.options
    }

    /// Number of entries with text, of a field with positions.
    #[must_use]
    pub fn text_count(&self) -> u64 {
        self.text_count
    }

    /// Number of tokens of all entries, of a field with positions; lengths are rounded as scores
    /// see them.
    #[must_use]
    pub fn token_total(&self) -> u64 {
        self.token_total
    }

    /// Number of distinct terms: texts, numbers and null.
    #[must_use]
    pub fn term_count(&self) -> u64 {
        self.term_count
    }

    fn decode(record: &[u8]) -> Option<Field> {
        let ([format, analyzer, flags, reserved], _) = record.split_first_chunk()?;
        let (0, FLAG_NONE | FLAG_POSITIONS | FLAG_VECTORS, 0) = (format, *flags, reserved) else {
            return None;
        };
        let positions = *flags == FLAG_POSITIONS;
        let head_bytes = match *flags {
            FLAG_POSITIONS => FIELD_HEAD_BYTES + TEXT_COUNTERS_BYTES,
            FLAG_VECTORS => FIELD_HEAD_BYTES + VECTOR_OPTIONS_BYTES,
            _ => FIELD_HEAD_BYTES,
        };
        let vector = match *flags {
            FLAG_VECTORS => {
                let options = record.get(FIELD_HEAD_BYTES..head_bytes)?;
                Some(VectorOptions::decode(options)?)
            }
            _ => None,
        };
        let mut rest = record.get(head_bytes..)?;
        let analyzer = match Analyzer::is_chain(*analyzer) {
            true => {
                let (count, behind) = rest.split_first()?;
                let (steps, behind) = behind.split_at_checked(usize::from(*count))?;
                rest = behind;
                let steps = std::str::from_utf8(steps).ok()?;
                let known = Analyzer::of_steps(steps).ok()?;
                // Another spelling would be written back differently.
                known.steps().filter(|text| text == steps).map(|_| known)?
            }
            false => Analyzer::from_byte(*analyzer)?,
        };
        let name = std::str::from_utf8(rest).ok()?;
        let counter = |start| match positions {
            true => read_u64(record, start),
            false => Some(0),
        };
        Some(Field {
            name: name.into(),
            options: FieldOptions {
                analyzer,
                positions,
                vector,
            },
            term_count: read_u64(record, 4)?,
            text_count: counter(12)?,
            token_total: counter(20)?,
        })
    }

    fn encode(&self) -> Vec<u8> {
        let flags = match (self.options.positions, self.options.vector) {
            (_, Some(_)) => FLAG_VECTORS,
            (true, None) => FLAG_POSITIONS,
            (false, None) => FLAG_NONE,
        };
        let mut record = vec![0, self.options.analyzer.to_byte(), flags, 0];
        record.extend_from_slice(&self.term_count.to_le_bytes());
        if let Some(vector) = self.options.vector {
            record.extend_from_slice(&vector.encode());
        } else if self.options.positions {
            record.extend_from_slice(&self.text_count.to_le_bytes());
            record.extend_from_slice(&self.token_total.to_le_bytes());
        }
        if let Some(steps) = self.options.analyzer.steps() {
            // The longest steps have 188 bytes.
            record.push(u8::try_from(steps.len()).unwrap_or(u8::MAX));
            record.extend_from_slice(steps.as_bytes());
        }
        record.extend_from_slice(self.name.as_bytes());
        record
    }
}

/// Counters of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Format of the stored header; a changed one has the present format.
    pub(crate) format: u16,
    /// Entries the index has.
    pub(crate) entry_count: u64,
    /// One above the greatest entry it ever had.
    pub(crate) next_entry: u64,
    /// Number of the next large list.
    pub(crate) next_list: u64,
    /// What the layer above has indexed, as it said; 0 before it said anything.
    pub(crate) indexed_up_to: u64,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            format: FORMAT,
            entry_count: 0,
            next_entry: 0,
            next_list: 0,
            indexed_up_to: 0,
        }
    }
}

impl Counters {
    fn decode(record: &[u8]) -> Result<Counters, IndexError> {
        let damaged = Malformed("the header of the index is malformed");
        let decoded = (record.len() == HEADER_BYTES)
            .then(|| {
                let format = u16::from_le_bytes(record.get(..2)?.try_into().ok()?);
                let counters = Counters {
                    format,
                    entry_count: read_u64(record, 8)?,
                    next_entry: read_u64(record, 16)?,
                    next_list: read_u64(record, 24)?,
                    indexed_up_to: read_u64(record, 32)?,
                };
                Some(counters)
            })
            .flatten();
        let counters = decoded.ok_or(damaged).at(CATALOG_TREE, &HEADER_KEY)?;
        match (FORMAT_READ_MIN..=FORMAT).contains(&counters.format) {
            true => Ok(counters),
            false => Err(IndexError::Version {
                found: counters.format,
                supported: FORMAT,
            }),
        }
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut record = [0; HEADER_BYTES];
        record[..2].copy_from_slice(&FORMAT.to_le_bytes());
        let numbers = [
            self.entry_count,
            self.next_entry,
            self.next_list,
            self.indexed_up_to,
        ];
        for (place, number) in record[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        record
    }
}

fn read_u64(bytes: &[u8], start: usize) -> Option<u64> {
    bytes
        .get(start..start + 8)?
        .try_into()
        .ok()
        .map(u64::from_le_bytes)
}

/// Fields and counters of an index, as of one transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    pub(crate) counters: Counters,
    fields: Vec<Field>,
    by_name: HashMap<Box<str>, FieldId>,
    /// Whether a field's record must be stored.
    changed: Vec<bool>,
}

/// The catalog of the newest snapshot of an index, kept so that not every query reads it.
///
/// Threads: shared by all readers of the index.
#[derive(Debug, Default)]
pub struct CatalogCache {
    newest: Mutex<Option<(u64, Arc<Catalog>)>>,
}

impl CatalogCache {
    /// The catalog of the snapshot `version`; versions of an index ascend.
    pub(crate) fn load<S: IndexRead + ?Sized>(
        &self,
        store: &S,
        version: u64,
    ) -> Result<Option<Arc<Catalog>>, IndexError> {
        let lock = || self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, catalog)) = &*lock()
            && *known == version
        {
            return Ok(Some(Arc::clone(catalog)));
        }
        let Some(catalog) = Catalog::load(store)?.map(Arc::new) else {
            return Ok(None);
        };
        let mut newest = lock();
        if newest.as_ref().is_none_or(|(known, _)| *known < version) {
            *newest = Some((version, Arc::clone(&catalog)));
        }
        Ok(Some(catalog))
    }
}

impl Catalog {
    /// The stored catalog of an index that is to be changed; `None` when there is none yet. One of
    /// an older format is not changed: its terms would be of two kinds.
    pub(crate) fn load_to_change<S: IndexRead + ?Sized>(
        store: &S,
    ) -> Result<Option<Catalog>, IndexError> {
        let catalog = Catalog::load(store)?;
        match &catalog {
            Some(older) if older.counters.format != FORMAT => Err(IndexError::Version {
                found: older.counters.format,
                supported: FORMAT,
            }),
            _ => Ok(catalog),
        }
    }

    /// Whether its terms are those of an older format.
    pub(crate) fn is_outdated(&self) -> bool {
        self.counters.format != FORMAT
    }

    /// The stored catalog; `None` when there is no index yet.
    pub(crate) fn load<S: IndexRead + ?Sized>(store: &S) -> Result<Option<Catalog>, IndexError> {
        let Some(tree) = store.tree(CATALOG_TREE)? else {
            return Ok(None);
        };
        let Some(header) = tree.get(&HEADER_KEY)? else {
            return Ok(None);
        };
        let mut catalog = Catalog {
            counters: Counters::decode(header)?,
            ..Catalog::default()
        };
        for number in 0.. {
            let field = FieldId(number);
            let Some(record) = tree.get(&field.catalog_key())? else {
                break;
            };
            let damaged = Malformed("the record of a field is malformed");
            let decoded = Field::decode(record).ok_or(damaged);
            catalog.push(decoded.at(CATALOG_TREE, &field.catalog_key())?, false);
        }
        Ok(Some(catalog))
    }

    fn push(&mut self, field: Field, is_new: bool) -> FieldId {
        let number = u16::try_from(self.fields.len()).expect("callers check the limit of fields");
        self.by_name.insert(field.name.clone(), FieldId(number));
        self.fields.push(field);
        self.changed.push(is_new);
        FieldId(number)
    }

    /// Stores what changed; the header always.
    pub(crate) fn store<S: IndexWrite + ?Sized>(
        &mut self,
        store: &mut S,
    ) -> Result<(), StorageError> {
        let mut tree = store.tree_mut(CATALOG_TREE)?;
        tree.put(&HEADER_KEY, &self.counters.encode())?;
        for (number, (field, changed)) in (0..).zip(self.fields.iter().zip(&mut self.changed)) {
            if std::mem::take(changed) {
                tree.put(&FieldId(number).catalog_key(), &field.encode())?;
            }
        }
        Ok(())
    }

    /// The field `name`, added when it is new.
    pub(crate) fn declare(
        &mut self,
        name: &str,
        options: FieldOptions,
    ) -> Result<FieldId, IndexError> {
        match self.field_id(name) {
            Some(field) if self.fields[field.position()].options == options => Ok(field),
            Some(_) => Err(IndexError::AnalyzerDiffers {
                name: name.to_owned(),
            }),
            None if self.fields.len() < FIELDS_MAX => Ok(self.push(
                Field {
                    name: name.into(),
                    options,
                    term_count: 0,
                    text_count: 0,
                    token_total: 0,
                },
                true,
            )),
            None => Err(IndexError::TooManyFields { max: FIELDS_MAX }),
        }
    }

    pub(crate) fn field_id(&self, name: &str) -> Option<FieldId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Numbers of all fields, ascending.
    pub(crate) fn field_ids(&self) -> impl Iterator<Item = FieldId> + use<> {
        let count = u16::try_from(self.fields.len()).expect("declare checks the limit of fields");
        (0..count).map(FieldId)
    }

    /// Changes a field's count of terms.
    pub(crate) fn add_terms(&mut self, field: FieldId, added: u64, removed: u64) {
        if added != removed {
            let count = &mut self.fields[field.position()].term_count;
            *count = (*count + added).saturating_sub(removed);
            self.changed[field.position()] = true;
        }
    }

    /// Changes what a field's texts count: by the length an entry had, and the one it has.
    pub(crate) fn change_text(
        &mut self,
        field: FieldId,
        before: Option<u32>,
        after: Option<u32>,
    ) -> Result<(), Malformed> {
        let info = &mut self.fields[field.position()];
        let add = |count: u64, before: u64, after: u64| (count + after).checked_sub(before);
        let is_text = |length: Option<u32>| u64::from(length.is_some());
        let length = |length: Option<u32>| u64::from(length.unwrap_or(0));
        let wrong = Malformed("the counts of a field's texts are too small");
        info.text_count = add(info.text_count, is_text(before), is_text(after)).ok_or(wrong)?;
        info.token_total = add(info.token_total, length(before), length(after)).ok_or(wrong)?;
        self.changed[field.position()] = true;
        Ok(())
    }

    /// A number for a new large list.
    pub(crate) fn take_list_number(&mut self) -> ListNumber {
        let number = self.counters.next_list;
        self.counters.next_list += 1;
        ListNumber(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let counters = Counters {
            entry_count: 1,
            next_entry: 2,
            next_list: 3,
            indexed_up_to: u64::MAX,
            ..Counters::default()
        };
        assert_eq!(Counters::decode(&counters.encode()).unwrap(), counters);
        let chain = Analyzer::of_steps("KeywordTokenizer LengthFilter(2,9)").unwrap();
        for analyzer in [Analyzer::Keyword, Analyzer::Standard, chain] {
            let positions = analyzer.is_full_text();
            let field = Field {
                name: "A.b[]".into(),
                options: FieldOptions::new(analyzer),
                term_count: 9,
                text_count: u64::from(positions),
                token_total: 2 * u64::from(positions),
            };
            assert_eq!(Field::decode(&field.encode()), Some(field));
        }
    }

    #[test]
    fn other_formats_and_damage_are_told_apart() {
        let mut record = Counters::default().encode();
        for other in [1, 6] {
            record[0] = other;
            let Err(IndexError::Version { found, supported }) = Counters::decode(&record) else {
                panic!("format {other} is taken for format {FORMAT}");
            };
            assert_eq!((found, supported), (u16::from(other), FORMAT));
        }
        for known in [2, 3, 4, 5] {
            record[0] = known;
            let format = Counters::decode(&record).unwrap().format;
            assert_eq!(format, u16::from(known));
        }
        assert!(matches!(
            Counters::decode(&record[..40]),
            Err(IndexError::Damaged(_))
        ));
        for record in [
            &[][..],
            &[0; 11],
            &[1; 20],
            &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff],
        ] {
            assert_eq!(Field::decode(record), None, "{record:?}");
        }
    }
}

//! Checking an index against itself.
//!
//! Called by the command line's check and after every random batch of the tests.
//!
//! What is checked: every list decodes, ascends and has the count its term says; every chunk of
//! large lists belongs to a term; counters of the catalog; and that forward records and lists say
//! the same, in both directions. The last by sums of hashes of (entry, term) on either side, field
//! by field: memory stays small whatever the size of the index, and equal sums of different sets
//! have a chance of one in 2^64.
//!
//! Threads: borrows a snapshot; reads all of it.

use jackdaw_base::hash::xxh3_64;
use jackdaw_storage::PageRead;

use crate::catalog::{CATALOG_TREE, FORWARD_TREE, FieldId, POSTINGS_TREE, TERMS_TREE};
use crate::error::{At, IndexDamage, IndexError};
use crate::forward::RecordTerms;
use crate::occurrence::{
    Chunk, Items, NORMS_TREE, OCCURRENCES_TREE, length_of, parse_block_key, parse_chunk_key,
    read_block, token_sum,
};
use crate::posting::{Malformed, Postings, TermValue, chunk_count};
use crate::reader::IndexReader;
use crate::term::{StoredTerm, class};
use crate::vector::check_vectors;

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexReport {
    /// Entries.
    pub entries: u64,
    /// Distinct terms of all fields.
    pub terms: u64,
    /// Pairs of term and entry.
    pub postings: u64,
    /// Lists of one or two entries, kept in their terms.
    pub inline_lists: u64,
    /// Lists of up to 1,500 bytes, kept in their terms.
    pub small_lists: u64,
    /// Lists in the tree of large lists.
    pub large_lists: u64,
    /// Everything that is wrong; empty for a sound index.
    pub damages: Vec<IndexDamage>,
}

/// Sums over what one side says of a field.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    /// Pairs of term and entry, and their hashes.
    pairs: u64,
    hashes: u64,
    /// Entries that have the field, and their hashes.
    entries: u64,
    entry_hashes: u64,
    /// Of fields with positions: pairs of term and entry with occurrences, and their hashes; the
    /// sums by which changes are noticed; entries with text, their lengths, and hashes of both.
    occurrences: Occurrences,
}

/// Sums over occurrences and norms.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Occurrences {
    pairs: u64,
    hashes: u64,
    tokens: u64,
    texts: u64,
    lengths: u64,
    norm_hashes: u64,
    /// Of the norms beside the pairs.
    pair_norms: u64,
}

impl Occurrences {
    fn add_pair(&mut self, entry: u64, norm: u8, key: &[u8]) {
        self.pairs += 1;
        let hash = xxh3_64(key, entry);
        self.hashes = self.hashes.wrapping_add(hash);
        let of_norm = hash.wrapping_mul(u64::from(norm));
        self.pair_norms = self.pair_norms.wrapping_add(of_norm);
    }

    fn add_norm(&mut self, entry: u64, norm: u8) {
        self.texts += 1;
        self.lengths += u64::from(length_of(norm));
        self.norm_hashes = self.norm_hashes.wrapping_add(xxh3_64(&[norm], entry));
    }
}

impl Sums {
    fn add_pair(&mut self, entry: u64, key: &[u8]) {
        self.pairs += 1;
        self.hashes = self.hashes.wrapping_add(xxh3_64(key, entry));
    }

    fn add_entry(&mut self, entry: u64) {
        self.entries += 1;
        self.entry_hashes = self.entry_hashes.wrapping_add(xxh3_64(&[], entry));
    }
}

/// One side of the comparison: a sum for each field, and one for the index.
struct Side {
    fields: Vec<Sums>,
    every: Sums,
}

impl Side {
    fn new(field_count: usize) -> Side {
        Side {
            fields: vec![Sums::default(); field_count],
            every: Sums::default(),
        }
    }

    fn sums(&mut self, field: FieldId) -> Option<&mut Sums> {
        match field {
            FieldId::EVERY => Some(&mut self.every),
            _ => self.fields.get_mut(field.position()),
        }
    }
}

impl<P: PageRead + ?Sized> IndexReader<'_, P> {
    /// Reads the whole index and checks it.
    ///
    /// # Errors
    /// [`IndexError::Storage`] when the trees cannot be read. Damage of the index itself is in the
    /// report.
    pub fn verify(&self) -> Result<IndexReport, IndexError> {
        let mut check = Check {
            reader: self,
            report: IndexReport::default(),
            lists: Side::new(self.fields().len()),
            records: Side::new(self.fields().len()),
            positioned: self
                .fields()
                .iter()
                .map(|field| field.options().positions)
                .collect(),
            term_counts: vec![0; self.fields().len()],
            chunks: 0,
        };
        check.read_terms()?;
        check.read_records()?;
        check.read_occurrences()?;
        check.read_norms()?;
        check.compare();
        check.report.damages.extend(check_vectors(self)?);
        Ok(check.report)
    }
}

struct Check<'c, 't, P: PageRead + ?Sized> {
    reader: &'c IndexReader<'t, P>,
    report: IndexReport,
    lists: Side,
    records: Side,
    /// Which fields keep positions.
    positioned: Vec<bool>,
    term_counts: Vec<u64>,
    /// Chunks that belong to terms.
    chunks: u64,
}

impl<P: PageRead + ?Sized> Check<'_, '_, P> {
    fn damage(&mut self, tree: &'static str, key: &[u8], what: &'static str) {
        self.report.damages.push(IndexDamage::new(tree, key, what));
    }

    /// Notes damage and goes on; other errors end the check.
    fn note(&mut self, result: Result<(), IndexError>) -> Result<(), IndexError> {
        match result {
            Err(IndexError::Damaged(damage)) => {
                self.report.damages.push(*damage);
                Ok(())
            }
            other => other,
        }
    }

    fn read_terms(&mut self) -> Result<(), IndexError> {
        let Some(terms) = self.reader.terms_tree() else {
            return Ok(());
        };
        let mut key = Vec::new();
        for entry in terms.iter()? {
            let (found, value) = entry?;
            found.copy_to(&mut key);
            let result = self.read_term(&key, value);
            self.note(result)?;
        }
        Ok(())
    }

    fn read_term(&mut self, key: &[u8], value: &[u8]) -> Result<(), IndexError> {
        let unknown = Malformed("the key of a term is malformed");
        let (field, term) = match key {
            [high, low, term @ ..] => (FieldId::from_bytes([*high, *low]), term),
            _ => return Err(unknown).at(TERMS_TREE, key),
        };
        let is_list = term == [class::EXISTS];
        let is_known = is_list || (field != FieldId::EVERY && StoredTerm::decode(term).is_some());
        let sums = self.lists.sums(field).filter(|_| is_known);
        let sums = sums.ok_or(unknown).at(TERMS_TREE, key)?;
        let value = TermValue::parse(value).at(TERMS_TREE, key)?;
        match value {
            TermValue::Inline { .. } => self.report.inline_lists += 1,
            TermValue::Small(_) => self.report.small_lists += 1,
            TermValue::Large { list, .. } => {
                self.report.large_lists += 1;
                if let Some(postings) = self.reader.postings_tree() {
                    self.chunks += chunk_count(&postings, list)?;
                }
            }
        }
        let mut count = 0;
        for entry in Postings::open(value, self.reader.postings_tree())? {
            let entry = entry?.0;
            count += 1;
            match is_list {
                true => sums.add_entry(entry),
                false => sums.add_pair(entry, term),
            }
        }
        if !is_list {
            self.report.terms += 1;
            self.report.postings += count;
            self.term_counts[field.position()] += 1;
        }
        let wrong = Malformed("a list does not have the count its term says");
        (count == value.count() && count > 0)
            .then_some(())
            .ok_or(wrong)
            .at(TERMS_TREE, key)
    }

    fn read_records(&mut self) -> Result<(), IndexError> {
        let Some(forward) = self.reader.forward_tree() else {
            return Ok(());
        };
        let mut key = Vec::new();
        for entry in forward.iter()? {
            let (found, record) = entry?;
            found.copy_to(&mut key);
            let result = self.read_record(&key, record).at(FORWARD_TREE, &key);
            self.note(result)?;
        }
        Ok(())
    }

    fn read_record(&mut self, key: &[u8], record: &[u8]) -> Result<(), Malformed> {
        let entry = <[u8; 8]>::try_from(key)
            .map(u64::from_be_bytes)
            .map_err(|_| Malformed("the key of a forward record has a wrong length"))?;
        self.report.entries += 1;
        self.records.every.add_entry(entry);
        let mut terms = RecordTerms::open(record)?;
        let mut previous = None;
        let mut norm_of_field = 0;
        while let Some(term) = terms.next_term()? {
            if previous >= Some(term) {
                return Err(Malformed("terms of a forward record are out of order"));
            }
            let (field, key) = term;
            let unknown = Malformed("a forward record names an unknown field");
            let sums = self
                .records
                .fields
                .get_mut(field.position())
                .ok_or(unknown)?;
            let has_positions = self.positioned.get(field.position()) == Some(&true);
            match key {
                [class::TOKENS, norm, sum @ ..] => {
                    let sum = <[u8; 8]>::try_from(sum).ok().filter(|_| has_positions);
                    let wrong = Malformed("the summary of tokens of an entry is malformed");
                    let sum = u64::from_le_bytes(sum.ok_or(wrong)?);
                    sums.occurrences.tokens = sums.occurrences.tokens.wrapping_add(sum);
                    sums.occurrences.add_norm(entry, *norm);
                    norm_of_field = *norm;
                }
                [class::TEXT, ..] if has_positions => {
                    sums.add_pair(entry, key);
                    // The summary of the field comes before all its texts.
                    sums.occurrences.add_pair(entry, norm_of_field, key);
                }
                _ => sums.add_pair(entry, key),
            }
            if previous.is_none_or(|(last, _)| last != field) {
                sums.add_entry(entry);
            }
            previous = Some(term);
        }
        Ok(())
    }

    fn read_occurrences(&mut self) -> Result<(), IndexError> {
        let Some(tree) = self.reader.occurrences_tree() else {
            return Ok(());
        };
        let mut key = Vec::new();
        for chunk in tree.iter()? {
            let (found, bytes) = chunk?;
            found.copy_to(&mut key);
            let result = self.read_chunk(&key, bytes).at(OCCURRENCES_TREE, &key);
            self.note(result)?;
        }
        Ok(())
    }

    fn read_chunk(&mut self, key: &[u8], bytes: &[u8]) -> Result<(), Malformed> {
        let (term, first) = parse_chunk_key(key)?;
        let unknown = Malformed("occurrences are of an unknown field");
        let (field, term) = term.split_first_chunk::<2>().ok_or(unknown)?;
        let sums = self
            .lists
            .sums(FieldId::from_bytes(*field))
            .ok_or(unknown)?;
        let chunk = Chunk::open(first, bytes)?;
        let mut positions = Vec::new();
        chunk.visit(&mut Items::new(), &mut |item| {
            positions.clear();
            item.decode_positions(&mut positions)?;
            let occurrences = &mut sums.occurrences;
            occurrences.add_pair(item.entry, item.norm, term);
            let sum = token_sum(term, &positions);
            occurrences.tokens = occurrences.tokens.wrapping_add(sum);
            let low = Malformed("an entry surpasses the bound of its chunk of occurrences");
            let bound = chunk.bound();
            bound
                .is_none_or(|bound| bound.covers(item.frequency, item.norm))
                .then_some(())
                .ok_or(low)
        })
    }

    fn read_norms(&mut self) -> Result<(), IndexError> {
        let Some(tree) = self.reader.norms_tree() else {
            return Ok(());
        };
        let mut key = Vec::new();
        for block in tree.iter()? {
            let (found, bytes) = block?;
            found.copy_to(&mut key);
            let result = self.read_norm_block(&key, bytes).at(NORMS_TREE, &key);
            self.note(result)?;
        }
        Ok(())
    }

    fn read_norm_block(&mut self, key: &[u8], bytes: &[u8]) -> Result<(), Malformed> {
        let (field, first) = parse_block_key(key)?;
        let (skipped, norms) = read_block(bytes)?;
        let unknown = Malformed("norms are of an unknown field");
        let sums = self.lists.sums(field).ok_or(unknown)?;
        for (entry, &norm) in (first + skipped as u64..).zip(norms) {
            if norm > 0 {
                sums.occurrences.add_norm(entry, norm);
            }
        }
        Ok(())
    }

    fn compare(&mut self) {
        if self.lists.every != self.records.every {
            self.damage(
                FORWARD_TREE,
                &[],
                "the list of all entries and the records differ",
            );
        }
        if self.report.entries != self.reader.entry_count() {
            self.damage(CATALOG_TREE, &[], "the count of entries is wrong");
        }
        for (position, field) in self.reader.fields().iter().enumerate() {
            let (lists, records) = (self.lists.fields[position], self.records.fields[position]);
            let name = field.name().as_bytes();
            if (lists.pairs, lists.hashes) != (records.pairs, records.hashes) {
                self.damage(
                    TERMS_TREE,
                    name,
                    "lists and forward records of a field differ",
                );
            }
            if (lists.entries, lists.entry_hashes) != (records.entries, records.entry_hashes) {
                self.damage(
                    TERMS_TREE,
                    name,
                    "the list of entries that have a field is wrong",
                );
            }
            if lists.occurrences != records.occurrences {
                let what = "occurrences or norms and the records of a field differ";
                self.damage(OCCURRENCES_TREE, name, what);
            }
            let counts = (lists.occurrences.texts, lists.occurrences.lengths);
            if counts != (field.text_count(), field.token_total()) {
                self.damage(
                    CATALOG_TREE,
                    name,
                    "the counts of a field's texts are wrong",
                );
            }
            if self.term_counts[position] != field.term_count() {
                self.damage(CATALOG_TREE, name, "the count of terms of a field is wrong");
            }
        }
        if self.reader.postings_tree().map_or(0, |tree| tree.len()) != self.chunks {
            self.damage(POSTINGS_TREE, &[], "chunks belong to no term");
        }
    }
}

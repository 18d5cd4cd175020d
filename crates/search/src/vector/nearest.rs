//! The nearest vectors of a field: by the graph, or exactly, by comparing them all.
//!
//! Called by query execution. A walk over the graph is cheap and finds nearly all; comparing all is
//! exact, and cheaper when the vectors are few or a filter leaves few entries.
//!
//! Invariants:
//! - Different vectors are counted: all entries that have one of the nearest are found.
//! - With a filter the nearest are those of entries it has.
//!
//! Threads: as the reader.

use std::collections::BTreeMap;

use jackdaw_storage::{PageRead, Tree};
use rustc_hash::FxHashSet;

use super::kernel;
use super::options::VectorOptions;
use super::record::{
    GraphHead, LINKS_TREE, Links, NUMBERS_TREE, VECTORS_TREE, hash_key, parse_number, parse_vector,
    parse_vector_key, term_key, vector_key,
};
use super::value::{HASH_BYTES, Vector, VectorHash};
use super::walk::{Found, Graph, Nearest, Walk};
use crate::catalog::{FORWARD_TREE, FieldId};
use crate::entry::EntryId;
use crate::error::{At, IndexError};
use crate::forward::RecordTerms;
use crate::posting::Malformed;
use crate::reader::{Budget, IndexReader};
use crate::set::EntrySet;
use crate::term::class;

/// Fields of up to so many vectors, and filters of up to so many entries, are compared exactly.
const SCAN_MAX: u64 = 1_024;

/// Vectors that a walk keeps at least: fewer would find too few of the nearest.
const BREADTH_MIN: usize = 96;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct NearestOptions<'a> {
    /// How many different vectors, at most.
    pub count: usize,
    /// How near they are at least, on the scale of 0 to 1 (see
    /// [`VectorStorage::scaled`](crate::VectorStorage::scaled)).
    pub minimum: f32,
    /// Compares all vectors.
    pub is_exact: bool,
    /// Only vectors of these entries.
    pub within: Option<&'a EntrySet>,
}

/// An entry and how near the nearest of its vectors is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The entry.
    pub entry: EntryId,
    /// Its similarity: the cosine, or the part of equal bits.
    pub similarity: f32,
    /// Which vector it is: see [`Vector::identity`](crate::Vector::identity).
    pub vector: u128,
}

impl<'t, P: PageRead + ?Sized> IndexReader<'t, P> {
    /// Dimensions of the vectors of a field; `None` before it has one and when none are declared.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn vector_dimensions(&self, field: FieldId) -> Result<Option<u16>, IndexError> {
        let head = self.graph_head(field)?.filter(|head| head.count > 0);
        let declared = self.field_info(field).options().vector;
        let declared = declared.map_or(0, |options| options.dimensions);
        let dimensions = head.map_or(declared, |head| head.dimensions);
        Ok((dimensions > 0).then_some(dimensions))
    }

    /// Entries whose vectors are nearest to `vector`, by entry, with the similarity of the nearest
    /// each; nothing for a field that has no vectors.
    ///
    /// A walk visits some hundred vectors; an exact answer reads all of the field, or those of the
    /// filter.
    ///
    /// # Errors
    /// - [`IndexError::Dimensions`]: the field's vectors have others, or are kept in another way.
    /// - [`IndexError::WalkLimit`], [`IndexError::Interrupted`], [`IndexError::Damaged`],
    ///   [`IndexError::Storage`].
    pub fn nearest(
        &self,
        field: FieldId,
        vector: &Vector,
        options: &NearestOptions<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<Vec<Near>, IndexError> {
        let info = self.field_info(field);
        let (Some(kept), Some(head)) = (info.options().vector, self.graph_head(field)?) else {
            return Ok(Vec::new());
        };
        if head.count == 0 {
            return Ok(Vec::new());
        }
        if (kept.storage, head.dimensions) != (vector.storage(), vector.dimensions()) {
            return Err(IndexError::Dimensions {
                field: info.name().to_owned(),
                expected: head.dimensions,
                given: vector.dimensions(),
            });
        }
        let mut search = Search {
            reader: self,
            field,
            kept,
            head,
        };
        let found = search.run(vector.code(), options, budget)?;
        search.entries_of(&found, options)
    }

    fn graph_head(&self, field: FieldId) -> Result<Option<GraphHead>, IndexError> {
        let key = field.to_bytes();
        let Some(links) = &self.vector_trees().links else {
            return Ok(None);
        };
        let head = links.get(&key)?.map(GraphHead::decode).transpose();
        head.at(LINKS_TREE, &key)
    }
}

struct Search<'s, 't, P: PageRead + ?Sized> {
    reader: &'s IndexReader<'t, P>,
    field: FieldId,
    kept: VectorOptions,
    head: GraphHead,
}

impl<'t, P: PageRead + ?Sized> Search<'_, 't, P> {
    /// The nearest vectors, the nearest first.
    fn run(
        &mut self,
        code: &[u8],
        options: &NearestOptions<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<Vec<Found>, IndexError> {
        let breadth = options.count.saturating_mul(2).max(BREADTH_MIN);
        let mut found = match options.within {
            Some(within) if self.is_cheaper_by_entry(within, breadth) => {
                self.compare_entries(code, within, options, budget)?
            }
            _ if options.is_exact || self.head.count <= SCAN_MAX.max(breadth as u64) => {
                self.compare_all(code, options, budget)?
            }
            _ => self.walk(code, options, breadth, budget)?,
        };
        found.truncate(options.count);
        found.retain(|found| self.is_near(*found, options));
        Ok(found)
    }

    fn is_near(&self, found: Found, options: &NearestOptions<'_>) -> bool {
        self.kept.storage.scaled(found.similarity) >= options.minimum
    }

    /// A walk under a filter visits about as many times more vectors as the filter leaves out, ten
    /// for each it keeps; a comparison costs the same on either way.
    fn is_cheaper_by_entry(&self, within: &EntrySet, breadth: usize) -> bool {
        let (entries, vectors) = (u128::from(within.len()), u128::from(self.head.count));
        entries <= u128::from(SCAN_MAX) || entries * entries <= 10 * breadth as u128 * vectors
    }

    fn walk(
        &mut self,
        code: &[u8],
        options: &NearestOptions<'_>,
        breadth: usize,
        budget: &mut Budget<'_>,
    ) -> Result<Vec<Found>, IndexError> {
        let mut walk = Walk::default();
        let (number, top) = (self.head.entry, self.head.top);
        let similarity = self.similarity(number, code)?;
        let mut start = Found { similarity, number };
        if top > 0 {
            start = walk.descend(self, code, start, (top, 1))?;
        }
        let mut accepts = |search: &mut Self, number| match options.within {
            None => Ok(true),
            Some(within) => search.is_within(number, within),
        };
        walk.nearest(self, code, &[start], (0, breadth), &mut accepts, budget)
    }

    fn compare_all(
        &self,
        code: &[u8],
        options: &NearestOptions<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<Vec<Found>, IndexError> {
        let mut nearest = Nearest::new(options.count);
        let Some(vectors) = &self.reader.vector_trees().vectors else {
            return Ok(Vec::new());
        };
        let mut key = Vec::new();
        for entry in vectors.prefix(&self.field.to_bytes())? {
            let (found_key, record) = entry?;
            budget.spend()?;
            found_key.copy_to(&mut key);
            let (_, other) = parse_vector(record).at(VECTORS_TREE, &key)?;
            let similarity = self.compare(other, code);
            let Some((_, number)) = parse_vector_key(&key).at(VECTORS_TREE, &key)? else {
                continue;
            };
            let found = Found { similarity, number };
            if self.is_near(found, options)
                && nearest.takes(found)
                && options
                    .within
                    .map_or(Ok(true), |within| self.is_within(number, within))?
            {
                nearest.offer(found);
            }
        }
        Ok(nearest.finish())
    }

    /// Compares the vectors of some entries, by their forward records.
    fn compare_entries(
        &mut self,
        code: &[u8],
        within: &EntrySet,
        options: &NearestOptions<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<Vec<Found>, IndexError> {
        let mut nearest = Nearest::new(options.count);
        let mut seen = FxHashSet::default();
        for entry in within {
            budget.spend()?;
            let key = entry.0.to_be_bytes();
            let record = self
                .reader
                .forward_tree()
                .map(|tree| tree.get(&key))
                .transpose()?;
            let Some(record) = record.flatten() else {
                continue;
            };
            let mut terms = RecordTerms::open(record).at(FORWARD_TREE, &key)?;
            while let Some((field, term)) = terms.next_term().at(FORWARD_TREE, &key)? {
                if field > self.field {
                    break;
                }
                let Some(hash) = hash_of_term(term).filter(|_| field == self.field) else {
                    continue;
                };
                let number = self.number_of(hash)?;
                if seen.insert(number) {
                    let similarity = self.similarity(number, code)?;
                    nearest.offer(Found { similarity, number });
                }
            }
        }
        Ok(nearest.finish())
    }

    /// The entries of vectors, with the similarity of the nearest each.
    fn entries_of(
        &self,
        found: &[Found],
        options: &NearestOptions<'_>,
    ) -> Result<Vec<Near>, IndexError> {
        let mut near: BTreeMap<EntryId, Near> = BTreeMap::new();
        // The nearest come first.
        for found in found {
            let hash = self.record(found.number)?.0;
            let key = term_key(self.field, hash);
            for entry in self.reader.postings_at(&key)? {
                let entry = entry?;
                if options.within.is_none_or(|within| within.contains(entry)) {
                    near.entry(entry).or_insert(Near {
                        entry,
                        similarity: found.similarity,
                        vector: u128::from_be_bytes(*hash),
                    });
                }
            }
        }
        Ok(near.into_values().collect())
    }

    /// Whether an entry of the filter has the vector.
    fn is_within(&self, number: u64, within: &EntrySet) -> Result<bool, IndexError> {
        let key = term_key(self.field, self.record(number)?.0);
        for entry in self.reader.postings_at(&key)? {
            if within.contains(entry?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn number_of(&self, hash: &VectorHash) -> Result<u64, IndexError> {
        let key = hash_key(self.field, hash);
        let missing = Malformed("a vector has no number");
        let number = get(self.reader.vector_trees().numbers.as_ref(), &key)?;
        number
            .ok_or(missing)
            .and_then(parse_number)
            .at(NUMBERS_TREE, &key)
    }

    fn record(&self, number: u64) -> Result<(&'t VectorHash, &'t [u8]), IndexError> {
        let key = vector_key(self.field, number);
        let missing = Malformed("a link leads to no vector");
        let record = get(self.reader.vector_trees().vectors.as_ref(), &key)?;
        record
            .ok_or(missing)
            .and_then(parse_vector)
            .at(VECTORS_TREE, &key)
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> f32 {
        kernel::similarity(self.kept.storage, self.head.dimensions, a, b)
    }
}

impl<P: PageRead + ?Sized> Graph for Search<'_, '_, P> {
    fn similarity(&mut self, number: u64, to: &[u8]) -> Result<f32, IndexError> {
        Ok(self.compare(self.record(number)?.1, to))
    }

    fn links(&mut self, number: u64, level: u8, out: &mut Vec<u64>) -> Result<(), IndexError> {
        let key = vector_key(self.field, number);
        let missing = Malformed("a link leads to no vector");
        let record = get(self.reader.vector_trees().links.as_ref(), &key)?;
        let links = record.ok_or(missing).and_then(Links::parse);
        out.clear();
        out.extend(links.at(LINKS_TREE, &key)?.at(level));
        Ok(())
    }
}

fn get<'t, P: PageRead + ?Sized>(
    tree: Option<&Tree<'t, P>>,
    key: &[u8],
) -> Result<Option<&'t [u8]>, IndexError> {
    Ok(tree.map(|tree| tree.get(key)).transpose()?.flatten())
}

/// The hash in the term of a vector.
fn hash_of_term(term: &[u8]) -> Option<&VectorHash> {
    match term {
        [class::VECTOR, hash @ ..] => <&[u8; HASH_BYTES]>::try_from(hash).ok(),
        _ => None,
    }
}

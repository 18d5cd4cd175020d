//! Checking the vectors of an index: the part of `verify` that is about graphs.
//!
//! What is checked: every vector has the bytes that its hash says, a number, links and a term, and
//! there are no others; links go both ways and to vectors of their level; every level is connected;
//! the head says what is there. Both ways by sums of hashes, as the rest of the check.
//!
//! Threads: borrows a snapshot; reads all vectors, and keeps two numbers for each of a field.

use std::collections::hash_map::Entry;

use jackdaw_base::hash::xxh3_64;
use jackdaw_storage::PageRead;
use rustc_hash::FxHashMap;

use super::options::VectorOptions;
use super::record::{
    GraphHead, LINKS_TREE, Links, NUMBERS_TREE, VECTORS_TREE, VectorTrees, hash_key, number_bytes,
    parse_vector, parse_vector_key, term_key, vector_key,
};
use super::value::hash_of;
use crate::catalog::FieldId;
use crate::error::{At, IndexDamage, IndexError};
use crate::posting::Malformed;
use crate::reader::IndexReader;
use crate::term::class;

/// Everything that is wrong with the vectors of an index.
///
/// # Errors
/// [`IndexError::Storage`]: the trees cannot be read.
pub(crate) fn check_vectors<P: PageRead + ?Sized>(
    reader: &IndexReader<'_, P>,
) -> Result<Vec<IndexDamage>, IndexError> {
    let mut damages = Vec::new();
    let (mut vectors, mut links, mut numbers) = (0, 0, 0);
    for (position, info) in (0..).zip(reader.fields()) {
        let Some(options) = info.options().vector else {
            continue;
        };
        let field = FieldId(position);
        let mut check = Check {
            reader,
            trees: reader.vector_trees(),
            field,
            options,
            head: GraphHead::default(),
        };
        match check.run() {
            Ok(counts) => {
                vectors += counts.count;
                numbers += counts.count;
                links += counts.count + u64::from(counts.has_head);
            }
            Err(IndexError::Damaged(damage)) => {
                damages.push(*damage);
                return Ok(damages);
            }
            Err(error) => return Err(error),
        }
    }
    let trees = reader.vector_trees();
    for (tree, name, expected) in [
        (&trees.vectors, VECTORS_TREE, vectors),
        (&trees.links, LINKS_TREE, links),
        (&trees.numbers, NUMBERS_TREE, numbers),
    ] {
        if tree.as_ref().map_or(0, |tree| tree.len()) != expected {
            damages.push(IndexDamage::new(name, &[], "records belong to no vector"));
        }
    }
    Ok(damages)
}

struct Counts {
    count: u64,
    has_head: bool,
}

struct Check<'c, 't, P: PageRead + ?Sized> {
    reader: &'c IndexReader<'t, P>,
    trees: &'c VectorTrees<'t, P>,
    field: FieldId,
    options: VectorOptions,
    head: GraphHead,
}

impl<P: PageRead + ?Sized> Check<'_, '_, P> {
    fn run(&mut self) -> Result<Counts, IndexError> {
        let key = self.field.to_bytes();
        let record = self.trees.links.as_ref().map(|tree| tree.get(&key));
        let Some(record) = record.transpose()?.flatten() else {
            return match self.term_count()? {
                0 => Ok(Counts {
                    count: 0,
                    has_head: false,
                }),
                _ => Err(Malformed("a field has vectors and no graph")).at(LINKS_TREE, &key),
            };
        };
        self.head = GraphHead::decode(record).at(LINKS_TREE, &key)?;
        let count = self.read_vectors()?;
        if count != self.head.count || count != self.term_count()? {
            return Err(Malformed("the count of vectors is wrong")).at(LINKS_TREE, &key);
        }
        for level in 0..=self.head.top {
            self.read_level(level)?;
        }
        Ok(Counts {
            count,
            has_head: true,
        })
    }

    /// Number of terms that stand for vectors.
    fn term_count(&self) -> Result<u64, IndexError> {
        let [high, low] = self.field.to_bytes();
        let terms = self.reader.terms_tree();
        let range = terms.map(|tree| tree.prefix(&[high, low, class::VECTOR]));
        Ok(range.transpose()?.map_or(0, |range| range.count() as u64))
    }

    fn read_vectors(&self) -> Result<u64, IndexError> {
        let Some(vectors) = &self.trees.vectors else {
            return Ok(0);
        };
        let (mut key, mut count) = (Vec::new(), 0);
        for entry in vectors.prefix(&self.field.to_bytes())? {
            let (found, record) = entry?;
            found.copy_to(&mut key);
            self.read_vector(&key, record)?;
            count += 1;
        }
        Ok(count)
    }

    fn read_vector(&self, key: &[u8], record: &[u8]) -> Result<(), IndexError> {
        let number = parse_vector_key(key).at(VECTORS_TREE, key)?;
        let (hash, code) = parse_vector(record).at(VECTORS_TREE, key)?;
        let len_bytes = self.options.storage.code_bytes(self.head.dimensions);
        let number = number.map_or(u64::MAX, |(_, number)| number);
        let term = self
            .reader
            .terms_tree()
            .map(|tree| tree.get(&term_key(self.field, hash)));
        let known = self.trees.numbers.as_ref();
        let known = known
            .map(|tree| tree.get(&hash_key(self.field, hash)))
            .transpose()?;
        let wrong = match () {
            () if code.len() != len_bytes => "a vector does not have the dimensions of its graph",
            () if hash_of(code) != *hash => "a vector does not have the bytes its hash says",
            () if number >= self.head.next => "a vector has a number that was not given",
            () if term.transpose()?.flatten().is_none() => "a vector is of no entry",
            () if known.flatten() != Some(&number_bytes(number)) => "a vector has another number",
            () => return Ok(()),
        };
        Err(Malformed(wrong)).at(VECTORS_TREE, key)
    }

    /// Checks the links of a level: both ways, to vectors that reach it, and connected.
    fn read_level(&self, level: u8) -> Result<(), IndexError> {
        let Some(links) = &self.trees.links else {
            return Ok(());
        };
        let (mut sums, mut groups) = ([0_u64; 2], Groups::default());
        let mut key = Vec::new();
        for entry in links.prefix(&self.field.to_bytes())? {
            let (found, record) = entry?;
            found.copy_to(&mut key);
            let Some((_, number)) = parse_vector_key(&key).at(LINKS_TREE, &key)? else {
                continue;
            };
            let own = Links::parse(record).at(LINKS_TREE, &key)?;
            if own.level < level {
                continue;
            }
            groups.add(number);
            let mut previous = None;
            for other in own.at(level) {
                let is_sound = previous < Some(other) && other != number;
                let other_links = links.get(&vector_key(self.field, other))?;
                let other_links = other_links
                    .map(Links::parse)
                    .transpose()
                    .at(LINKS_TREE, &key)?;
                if !is_sound || other_links.is_none_or(|links| links.level < level) {
                    let wrong = Malformed("a link leads to no vector of its level");
                    return Err(wrong).at(LINKS_TREE, &key);
                }
                let pair = [number.min(other), number.max(other)].map(u64::to_be_bytes);
                let sum = &mut sums[usize::from(number < other)];
                *sum = sum.wrapping_add(xxh3_64(pair.as_flattened(), 0));
                groups.join(number, other);
                previous = Some(other);
            }
            if level == self.head.top && own.level > level {
                let wrong = Malformed("a vector is above the highest level");
                return Err(wrong).at(LINKS_TREE, &key);
            }
        }
        let head_key = self.field.to_bytes();
        if sums[0] != sums[1] {
            return Err(Malformed("links go one way")).at(LINKS_TREE, &head_key);
        }
        let is_empty = self.head.count == 0;
        if !is_empty && (groups.count != 1 || !groups.parents.contains_key(&self.head.entry)) {
            let wrong = Malformed("vectors of a level cannot be reached");
            return Err(wrong).at(LINKS_TREE, &head_key);
        }
        Ok(())
    }
}

/// Vectors that are linked with one another.
#[derive(Default)]
struct Groups {
    /// Another of the same group, or itself.
    parents: FxHashMap<u64, u64>,
    count: u64,
}

impl Groups {
    fn add(&mut self, number: u64) {
        if let Entry::Vacant(place) = self.parents.entry(number) {
            place.insert(number);
            self.count += 1;
        }
    }

    fn join(&mut self, a: u64, b: u64) {
        self.add(b);
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parents.insert(a.max(b), a.min(b));
            self.count -= 1;
        }
    }

    fn root(&mut self, number: u64) -> u64 {
        let mut at = number;
        while let Some(parent) = self
            .parents
            .get(&at)
            .copied()
            .filter(|parent| *parent != at)
        {
            // The way to the root is halved as it is gone.
            let above = self.parents.get(&parent).copied().unwrap_or(parent);
            self.parents.insert(at, above);
            at = above;
        }
        at
    }
}

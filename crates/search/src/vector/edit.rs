//! Changes of one graph: a vector is linked to near ones, or taken out and its neighbors linked.
//!
//! Called by `writer` with the changes of a batch. What a change touches is kept in memory until
//! the batch is done, and for the next batch when no other change came between.
//!
//! Invariants:
//! - Links go both ways at every level. A link is only dropped when its two ends stay linked
//!   through a third, and the neighbors of a removed vector are linked with one another: so a level
//!   that was connected stays connected.
//! - A vector has at most a quarter more links than its level allows, unless every link of it is
//!   the only way to its other end.
//!
//! Threads: one owner.

use rustc_hash::FxHashMap;

use super::kernel;
use super::options::{VectorOptions, VectorStorage};
use super::record::{
    GraphHead, LEVEL_MAX, LINKS_TREE, Links, NUMBER_MAX, NUMBERS_TREE, VECTORS_TREE, encode_links,
    hash_key, number_bytes, parse_number, parse_vector, vector_key,
};
use super::value::VectorHash;
use super::walk::{Found, Graph, Walk};
use crate::catalog::FieldId;
use crate::error::{At, IndexError};
use crate::posting::Malformed;
use crate::reader::Budget;
use crate::store::IndexWrite;

/// Near vectors that are looked for at least when one is added.
const CANDIDATES_MIN: u16 = 64;

/// Memory of vectors and links that is kept, in bytes; beyond it they are read again.
const MEMORY_BYTES_MAX: usize = 64 << 20;

/// What of it stays between batches.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// About what the links of a vector take in memory beside its bytes.
const LINKS_BYTES: usize = 512;

/// Vectors and links in memory.
#[derive(Default)]
pub(super) struct GraphMemory {
    /// The state of the graph that it is of.
    state: Option<u64>,
    nodes: FxHashMap<u64, Node>,
    /// Where the bytes of a vector begin in `codes`.
    places: FxHashMap<u64, usize>,
    codes: Vec<u8>,
}

struct Node {
    /// Linked vectors by level, in no order.
    levels: Vec<Vec<u64>>,
    is_changed: bool,
}

impl GraphMemory {
    fn len_bytes(&self) -> usize {
        self.codes.len() + self.nodes.len() * LINKS_BYTES
    }

    fn clear(&mut self) {
        self.nodes.clear();
        self.places.clear();
        self.codes.clear();
    }
}

/// Changes the graph of a field.
pub(super) struct GraphEditor<'e, S: IndexWrite + ?Sized> {
    pub(super) store: &'e mut S,
    pub(super) field: FieldId,
    pub(super) options: VectorOptions,
    pub(super) head: &'e mut GraphHead,
    pub(super) memory: &'e mut GraphMemory,
    pub(super) walk: &'e mut Walk,
}

impl<S: IndexWrite + ?Sized> GraphEditor<'_, S> {
    /// Forgets what is in memory unless it is of this graph as it is now.
    pub(super) fn begin(&mut self) {
        if self.memory.state.take() != Some(self.head.state) {
            self.memory.clear();
        }
    }

    /// Writes links that changed, and the head.
    pub(super) fn finish(&mut self) -> Result<(), IndexError> {
        self.write_links()?;
        let mut tree = self.store.tree_mut(LINKS_TREE)?;
        tree.put(&self.field.to_bytes(), &self.head.encode())?;
        self.memory.state = Some(self.head.state);
        if self.memory.len_bytes() > KEPT_BYTES_MAX {
            *self.memory = GraphMemory::default();
        }
        Ok(())
    }

    fn bound_memory(&mut self) -> Result<(), IndexError> {
        if self.memory.len_bytes() > MEMORY_BYTES_MAX {
            self.write_links()?;
            self.memory.clear();
        }
        Ok(())
    }

    fn write_links(&mut self) -> Result<(), IndexError> {
        let nodes = self.memory.nodes.iter_mut();
        let mut changed: Vec<(&u64, &mut Node)> =
            nodes.filter(|(_, node)| node.is_changed).collect();
        changed.sort_unstable_by_key(|(number, _)| **number);
        let mut tree = self.store.tree_mut(LINKS_TREE)?;
        let mut record = Vec::new();
        for (number, node) in changed {
            node.levels.iter_mut().for_each(|list| list.sort_unstable());
            encode_links(&node.levels, &mut record);
            tree.put(&vector_key(self.field, *number), &record)?;
            node.is_changed = false;
        }
        Ok(())
    }

    /// Adds a vector that the graph does not have.
    pub(super) fn add(&mut self, hash: &VectorHash, code: &[u8]) -> Result<(), IndexError> {
        let number = self.head.next;
        if number >= NUMBER_MAX {
            return Err(IndexError::TooManyVectors { max: NUMBER_MAX });
        }
        let mut record = hash.to_vec();
        record.extend_from_slice(code);
        let key = vector_key(self.field, number);
        self.store.tree_mut(VECTORS_TREE)?.put(&key, &record)?;
        let mut numbers = self.store.tree_mut(NUMBERS_TREE)?;
        numbers.put(&hash_key(self.field, hash), &number_bytes(number))?;
        self.head.next += 1;
        self.head.count += 1;
        let level = level_of(hash, self.options.edges);
        let node = Node {
            levels: vec![Vec::new(); usize::from(level) + 1],
            is_changed: true,
        };
        self.memory.nodes.insert(number, node);
        self.keep_code(number, code);
        if self.head.count == 1 {
            (self.head.entry, self.head.top) = (number, level);
            return Ok(());
        }
        self.link_to_nearest(number, level, code)?;
        if level > self.head.top {
            (self.head.entry, self.head.top) = (number, level);
        }
        self.bound_memory()
    }

    /// Links a vector without links, from its highest level down.
    fn link_to_nearest(&mut self, number: u64, level: u8, code: &[u8]) -> Result<(), IndexError> {
        let mut walk = std::mem::take(self.walk);
        let (entry, top) = (self.head.entry, self.head.top);
        let mut start = Found {
            similarity: self.similarity(entry, code)?,
            number: entry,
        };
        if top > level {
            start = walk.descend(self, code, start, (top, level + 1))?;
        }
        let breadth = usize::from(self.options.candidates.max(CANDIDATES_MIN));
        let mut starts = vec![start];
        let mut budget = Budget::unlimited();
        for level in (0..=level.min(top)).rev() {
            let how = (level, breadth);
            let mut accepts = |_: &mut Self, found| Ok(found != number);
            starts = walk.nearest(self, code, &starts, how, &mut accepts, &mut budget)?;
            let chosen = self.choose(&starts, usize::from(self.options.edges))?;
            for neighbor in &chosen {
                self.link(number, *neighbor, level)?;
            }
            for neighbor in chosen {
                self.drop_links(neighbor, level)?;
            }
        }
        *self.walk = walk;
        Ok(())
    }

    /// Removes a vector.
    pub(super) fn remove(&mut self, hash: &VectorHash) -> Result<(), IndexError> {
        let key = hash_key(self.field, hash);
        let missing = Malformed("a vector has no number");
        let mut numbers = self.store.tree_mut(NUMBERS_TREE)?;
        let number = match numbers.get(&key)? {
            Some(number) => parse_number(number).at(NUMBERS_TREE, &key)?,
            None => return Err(missing).at(NUMBERS_TREE, &key),
        };
        numbers.delete(&key)?;
        let levels = self.node(number)?.levels.clone();
        let is_entry = self.head.entry == number;
        if is_entry {
            self.choose_entry(&levels)?;
        }
        for (level, neighbors) in (0..).zip(&levels) {
            for neighbor in neighbors {
                self.unlink(*neighbor, number, level)?;
            }
            self.connect(neighbors, level)?;
        }
        self.memory.nodes.remove(&number);
        self.memory.places.remove(&number);
        let key = vector_key(self.field, number);
        self.store.tree_mut(VECTORS_TREE)?.delete(&key)?;
        self.store.tree_mut(LINKS_TREE)?.delete(&key)?;
        let fewer = self.head.count.checked_sub(1);
        let wrong = Malformed("the count of vectors is too small");
        self.head.count = fewer.ok_or(wrong).at(LINKS_TREE, &self.field.to_bytes())?;
        Ok(())
    }

    /// Gives the graph another entry in place of one with these links: a neighbor at the highest
    /// level that has one. As every level is connected, none reaches above that.
    fn choose_entry(&mut self, levels: &[Vec<u64>]) -> Result<(), IndexError> {
        (self.head.entry, self.head.top) = (0, 0);
        for (level, neighbors) in (0..=LEVEL_MAX).zip(levels).rev() {
            if let Some(least) = neighbors.iter().min() {
                (self.head.entry, self.head.top) = (*least, level);
                break;
            }
        }
        Ok(())
    }

    /// Links vectors that lost the one between them: the nearest pairs first, until each is reached
    /// from each, and each with the nearest of the others.
    fn connect(&mut self, vectors: &[u64], level: u8) -> Result<(), IndexError> {
        let Some((first, rest)) = vectors.split_first() else {
            return Ok(());
        };
        let mut joined = vec![*first];
        // By vector that is not joined: the nearest that is.
        let mut left: Vec<(Found, u64)> = Vec::with_capacity(rest.len());
        for vector in rest {
            left.push((self.between(*first, *vector)?, *vector));
        }
        let by_nearness = |a: &&(Found, u64), b: &&(Found, u64)| {
            a.0.similarity
                .total_cmp(&b.0.similarity)
                .then(b.1.cmp(&a.1))
        };
        while let Some(next) = left.iter().max_by(by_nearness).copied() {
            let (to, vector) = (next.0.number, next.1);
            left.retain(|(_, other)| *other != vector);
            joined.push(vector);
            self.link(to, vector, level)?;
            for (nearest, other) in &mut left {
                let found = self.between(vector, *other)?;
                *nearest = (*nearest).max(found);
            }
        }
        for vector in vectors {
            self.drop_links(*vector, level)?;
        }
        Ok(())
    }

    /// How near `number` is to another vector.
    fn between(&mut self, number: u64, other: u64) -> Result<Found, IndexError> {
        let (a, b) = (self.place(number)?, self.place(other)?);
        let (storage, dimensions) = (self.options.storage, self.head.dimensions);
        let len_bytes = storage.code_bytes(dimensions);
        let codes = &self.memory.codes;
        let similarity = kernel::similarity(
            storage,
            dimensions,
            &codes[a..a + len_bytes],
            &codes[b..b + len_bytes],
        );
        Ok(Found { similarity, number })
    }

    /// Of vectors, the nearest first, those that are nearer to the target than to one chosen
    /// before: links into every direction.
    fn choose(&mut self, found: &[Found], most: usize) -> Result<Vec<u64>, IndexError> {
        let mut chosen: Vec<u64> = Vec::with_capacity(most);
        for candidate in found {
            if chosen.len() >= most {
                break;
            }
            if self.is_apart(candidate, &chosen)? {
                chosen.push(candidate.number);
            }
        }
        Ok(chosen)
    }

    /// Whether a vector is nearer to its target than to each of the chosen.
    fn is_apart(&mut self, candidate: &Found, chosen: &[u64]) -> Result<bool, IndexError> {
        for other in chosen {
            if self.between(*other, candidate.number)?.similarity > candidate.similarity {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Links that a vector may have at a level.
    fn links_max(&self, level: u8) -> usize {
        let edges = usize::from(self.options.edges);
        match level {
            0 => 2 * edges,
            _ => edges,
        }
    }

    /// Drops links of a vector that has too many: those nearer to another neighbor first, the
    /// farthest before the nearer.
    fn drop_links(&mut self, number: u64, level: u8) -> Result<(), IndexError> {
        let most = self.links_max(level);
        let neighbors = self.node(number)?.levels[usize::from(level)].clone();
        if neighbors.len() <= most + most / 4 {
            return Ok(());
        }
        let mut found = Vec::with_capacity(neighbors.len());
        for neighbor in &neighbors {
            let similarity = self.between(number, *neighbor)?.similarity;
            found.push(Found {
                similarity,
                number: *neighbor,
            });
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let kept = self.choose(&found, most)?;
        let (near, far): (Vec<Found>, Vec<Found>) =
            found.iter().partition(|found| kept.contains(&found.number));
        let mut left = neighbors.len();
        for candidate in far.iter().rev().chain(near.iter().rev()) {
            if left <= most {
                break;
            }
            if self.drop_link(number, candidate.number, level)? {
                left -= 1;
            }
        }
        Ok(())
    }

    /// Drops a link when its ends stay linked through a third vector, which is linked to the far
    /// end if need be; whether it could.
    fn drop_link(&mut self, number: u64, far: u64, level: u8) -> Result<bool, IndexError> {
        let most = self.links_max(level);
        let mut own = self.node(number)?.levels[usize::from(level)].clone();
        own.retain(|other| *other != far);
        let of_far = self.node(far)?.levels[usize::from(level)].clone();
        if !own.iter().any(|other| of_far.contains(other)) {
            let mut nearest: Option<Found> = None;
            for other in own {
                if self.node(other)?.levels[usize::from(level)].len() < most {
                    let found = self.between(other, far)?;
                    nearest = Some(nearest.map_or(found, |nearest| nearest.max(found)));
                }
            }
            let Some(nearest) = nearest else {
                return Ok(false);
            };
            self.link(nearest.number, far, level)?;
        }
        self.unlink(number, far, level)?;
        self.unlink(far, number, level)?;
        Ok(true)
    }

    /// Links two vectors, both ways, unless they are.
    fn link(&mut self, a: u64, b: u64, level: u8) -> Result<(), IndexError> {
        for (from, to) in [(a, b), (b, a)] {
            let list = self.list_mut(from, level)?;
            if !list.contains(&to) {
                list.push(to);
            }
        }
        Ok(())
    }

    /// Drops the one way of a link that begins at `from`.
    fn unlink(&mut self, from: u64, to: u64, level: u8) -> Result<(), IndexError> {
        self.list_mut(from, level)?.retain(|other| *other != to);
        Ok(())
    }

    fn list_mut(&mut self, number: u64, level: u8) -> Result<&mut Vec<u64>, IndexError> {
        let key = vector_key(self.field, number);
        let node = self.node(number)?;
        node.is_changed = true;
        let lower = Malformed("a link leads to a vector of lower levels");
        let list = node.levels.get_mut(usize::from(level)).ok_or(lower);
        list.at(LINKS_TREE, &key)
    }

    /// Links of a vector, read when they are not in memory.
    fn node(&mut self, number: u64) -> Result<&mut Node, IndexError> {
        if !self.memory.nodes.contains_key(&number) {
            let key = vector_key(self.field, number);
            let missing = Malformed("a link leads to no vector");
            let tree = self.store.tree_mut(LINKS_TREE)?;
            let record = tree.get(&key)?.ok_or(missing).at(LINKS_TREE, &key)?;
            let links = Links::parse(record).at(LINKS_TREE, &key)?;
            let levels = (0..=links.level).map(|level| links.at(level).collect());
            let node = Node {
                levels: levels.collect(),
                is_changed: false,
            };
            self.memory.nodes.insert(number, node);
        }
        let node = self.memory.nodes.get_mut(&number);
        Ok(node.expect("it was there or has been read"))
    }

    /// Where the bytes of a vector begin, read when they are not in memory.
    fn place(&mut self, number: u64) -> Result<usize, IndexError> {
        if let Some(place) = self.memory.places.get(&number) {
            return Ok(*place);
        }
        let key = vector_key(self.field, number);
        let missing = Malformed("a link leads to no vector");
        let tree = self.store.tree_mut(VECTORS_TREE)?;
        let record = tree.get(&key)?.ok_or(missing).at(VECTORS_TREE, &key)?;
        let (_, code) = parse_vector(record).at(VECTORS_TREE, &key)?;
        let wrong = Malformed("a vector does not have the dimensions of its graph");
        let len_bytes = self.options.storage.code_bytes(self.head.dimensions);
        if code.len() != len_bytes {
            return Err(wrong).at(VECTORS_TREE, &key);
        }
        let place = self.memory.codes.len();
        self.memory.codes.extend_from_slice(code);
        self.memory.places.insert(number, place);
        Ok(place)
    }

    fn keep_code(&mut self, number: u64, code: &[u8]) {
        let place = self.memory.codes.len();
        self.memory.codes.extend_from_slice(code);
        self.memory.places.insert(number, place);
    }
}

impl<S: IndexWrite + ?Sized> Graph for GraphEditor<'_, S> {
    fn similarity(&mut self, number: u64, to: &[u8]) -> Result<f32, IndexError> {
        let place = self.place(number)?;
        let (storage, dimensions): (VectorStorage, u16) =
            (self.options.storage, self.head.dimensions);
        let code = &self.memory.codes[place..place + storage.code_bytes(dimensions)];
        Ok(kernel::similarity(storage, dimensions, code, to))
    }

    fn links(&mut self, number: u64, level: u8, out: &mut Vec<u64>) -> Result<(), IndexError> {
        out.clear();
        if let Some(list) = self.node(number)?.levels.get(usize::from(level)) {
            out.extend_from_slice(list);
        }
        Ok(())
    }
}

/// The highest level of a vector: each one is reached by one of so many vectors as there are edges.
fn level_of(hash: &VectorHash, edges: u16) -> u8 {
    let mut rest = u128::from_be_bytes(*hash);
    let edges = u128::from(edges.max(2));
    let mut level = 0;
    while level < LEVEL_MAX && rest.is_multiple_of(edges) {
        rest /= edges;
        level += 1;
    }
    level
}

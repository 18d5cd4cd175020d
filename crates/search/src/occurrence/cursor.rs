//! Walking the occurrences of one term, with skips.
//!
//! Made by readers for scores and phrases. Chunks are read as the walk goes on: their heads when
//! the walk comes to them, their entries when it is asked for one of them.
//!
//! Invariants:
//! - Entries ascend across chunks too; anything else is damage.
//!
//! Threads: one owner; borrows a snapshot.

use std::ops::Bound;

use jackdaw_storage::{PageRead, Range, Tree};

use super::OCCURRENCES_TREE;
use super::chunk::{Chunk, Item, Items, take_positions};
use super::editor::{CHUNK_SUFFIX_BYTES, chunk_at_or_below, chunk_key, parse_chunk_key};
use crate::EntryId;
use crate::error::{At, IndexError};
use crate::posting::Malformed;

/// So many chunks are rather passed one by one than by a look-up.
const NEAR_CHUNKS: u32 = 8;

/// The occurrences of a term in one entry.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'t> {
    item: Item<'t>,
}

impl Occurrence<'_> {
    /// The entry.
    #[must_use]
    pub fn entry(&self) -> EntryId {
        EntryId(self.item.entry)
    }

    /// How often the term stands there, at least once.
    #[must_use]
    pub fn frequency(&self) -> u32 {
        self.item.frequency
    }

    /// Of the text it stands in.
    pub(crate) fn norm(&self) -> u8 {
        self.item.norm
    }

    /// Replaces the content of `out` by the positions, ascending.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn positions(&self, out: &mut Vec<u32>) -> Result<(), IndexError> {
        out.clear();
        self.item
            .decode_positions(out)
            .at(OCCURRENCES_TREE, &self.item.entry.to_be_bytes())
    }
}

/// The occurrences of a term, by ascending entry.
pub struct Occurrences<'t, P: PageRead + ?Sized> {
    tree: Option<Tree<'t, P>>,
    term: Vec<u8>,
    chunk: Option<Chunk<'t>>,
    /// The entries of the chunk, when it was unpacked, and what the walk has passed of them.
    items: Box<Items>,
    is_unpacked: bool,
    passed: usize,
    /// Positions of the entries of the chunk behind the first `positioned` ones.
    positions: &'t [u8],
    positioned: usize,
    /// The chunk behind the current one, with its first entry.
    next_chunk: Option<(u64, &'t [u8])>,
    /// What is behind that; `None` before the first step.
    rest: Option<Range<'t, P>>,
    key: Vec<u8>,
}

impl<'t, P: PageRead + ?Sized> Occurrences<'t, P> {
    /// `term` is the key of the term, with its field.
    pub(crate) fn new(tree: Option<Tree<'t, P>>, term: Vec<u8>) -> Occurrences<'t, P> {
        Occurrences {
            tree,
            term,
            chunk: None,
            items: Box::new(Items::new()),
            is_unpacked: false,
            passed: 0,
            positions: &[],
            positioned: 0,
            next_chunk: None,
            rest: None,
            key: Vec::new(),
        }
    }

    /// Goes to the chunk that begins with `first`, or the first one behind it.
    fn look_up(&mut self, first: u64) -> Result<(), IndexError> {
        let Some(tree) = &self.tree else {
            return Ok(());
        };
        let (low, high) = (
            chunk_key(&self.term, first),
            chunk_key(&self.term, u64::MAX),
        );
        let range = tree.range((Bound::Included(&low[..]), Bound::Included(&high[..])))?;
        self.rest = Some(range);
        self.peek()?;
        self.next_chunk()
    }

    /// Goes to the next chunk.
    pub(crate) fn next_chunk(&mut self) -> Result<(), IndexError> {
        self.chunk = match self.next_chunk.take() {
            Some((first, bytes)) => {
                Some(Chunk::open(first, bytes).at(OCCURRENCES_TREE, &self.term)?)
            }
            None => None,
        };
        (self.is_unpacked, self.passed) = (false, 0);
        self.peek()
    }

    /// Reads which chunk comes next.
    fn peek(&mut self) -> Result<(), IndexError> {
        let Some(rest) = &mut self.rest else {
            return Ok(());
        };
        for found in rest {
            let (key, bytes) = found?;
            key.copy_to(&mut self.key);
            // Keys of another length are of terms that begin like this one.
            if self.key.len() == self.term.len() + CHUNK_SUFFIX_BYTES {
                let (_, first) = parse_chunk_key(&self.key).at(OCCURRENCES_TREE, &self.key)?;
                self.next_chunk = Some((first, bytes));
                return Ok(());
            }
        }
        Ok(())
    }

    /// The chunk the walk is in; `None` at the end. Its entries lie below
    /// [`chunk_end`](Self::chunk_end).
    #[inline]
    pub(crate) fn chunk(&mut self) -> Result<Option<Chunk<'t>>, IndexError> {
        if self.rest.is_none() {
            self.look_up(0)?;
        }
        Ok(self.chunk)
    }

    /// The first entry of the next chunk.
    #[inline]
    pub(crate) fn chunk_end(&self) -> u64 {
        self.next_chunk.map_or(u64::MAX, |(first, _)| first)
    }

    /// Whether the entries of the chunk are at hand.
    #[inline]
    pub(crate) fn is_unpacked(&self) -> bool {
        self.is_unpacked
    }

    /// The entries of the chunk, and how many of them were passed. None at the end.
    #[inline]
    pub(crate) fn unpacked(&mut self) -> Result<(&Items, &mut usize), IndexError> {
        if !self.is_unpacked {
            self.unpack()?;
        }
        Ok((&self.items, &mut self.passed))
    }

    fn unpack(&mut self) -> Result<(), IndexError> {
        if let Some(chunk) = &self.chunk {
            let positions = chunk.decode(&mut self.items);
            self.positions = positions.at(OCCURRENCES_TREE, &self.term)?;
            self.positioned = 0;
            self.is_unpacked = true;
            let wrong = Malformed("chunks of occurrences overlap");
            let last = self.items.entries().last().copied();
            (last < Some(self.chunk_end()))
                .then_some(())
                .ok_or(wrong)
                .at(OCCURRENCES_TREE, &self.term)?;
        }
        Ok(())
    }

    /// The next entry's; `None` at the end.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn next_occurrence(&mut self) -> Result<Option<Occurrence<'t>>, IndexError> {
        let Some((entry, frequency, norm)) = self.next_count()? else {
            return Ok(None);
        };
        let between = self.items.frequencies().get(self.positioned..self.passed);
        let mut positions: &[u8] = &[];
        for &frequency in between.unwrap_or(&[]) {
            let taken = take_positions(&mut self.positions, frequency);
            positions = taken.at(OCCURRENCES_TREE, &self.term)?;
        }
        self.positioned = self.passed;
        let item = Item {
            entry,
            frequency,
            norm,
            positions,
        };
        Ok(Some(Occurrence { item }))
    }

    /// The next entry, how often the term stands there, and the norm of the text; `None` at the
    /// end.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    #[inline]
    pub(crate) fn next_count(&mut self) -> Result<Option<(u64, u32, u8)>, IndexError> {
        while self.chunk()?.is_some() {
            let (items, passed) = self.unpacked()?;
            if let Some(&entry) = items.entries().get(*passed) {
                let found = (entry, items.frequencies()[*passed], items.norms()[*passed]);
                *passed += 1;
                return Ok(Some(found));
            }
            self.next_chunk()?;
        }
        Ok(None)
    }

    /// The occurrences in the first entry at or above `entry`, from where the walk is. Chunks that
    /// lie below are not read.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn seek(&mut self, entry: EntryId) -> Result<Option<Occurrence<'t>>, IndexError> {
        self.pass(entry.0)?;
        self.next_occurrence()
    }

    /// As [`seek`](Self::seek), with how often the term stands there, and the norm.
    pub(crate) fn seek_count(&mut self, entry: u64) -> Result<Option<(u64, u32, u8)>, IndexError> {
        self.pass(entry)?;
        self.next_count()
    }

    /// Passes all entries below `entry`.
    #[inline]
    fn pass(&mut self, entry: u64) -> Result<(), IndexError> {
        self.skip_to(entry)?;
        if self.chunk.is_some() {
            let (items, passed) = self.unpacked()?;
            pass_below(items.entries(), passed, entry);
        }
        Ok(())
    }

    /// Goes to the chunk that can hold `entry`, when it is behind the current one. Near ones are
    /// passed one by one, far ones are looked up.
    #[inline]
    pub(crate) fn skip_to(&mut self, entry: u64) -> Result<(), IndexError> {
        if self.rest.is_none() {
            self.look_up(0)?;
        }
        match self.next_chunk {
            Some((first, _)) if first <= entry => self.skip_chunks(entry),
            _ => Ok(()),
        }
    }

    fn skip_chunks(&mut self, entry: u64) -> Result<(), IndexError> {
        let is_behind = |next: &Option<(u64, &[u8])>| next.is_some_and(|(first, _)| first <= entry);
        for _ in 0..NEAR_CHUNKS {
            self.next_chunk()?;
            if !is_behind(&self.next_chunk) {
                return Ok(());
            }
        }
        let Some(tree) = &self.tree else {
            return Ok(());
        };
        match chunk_at_or_below(tree, &self.term, entry)? {
            Some((first, _)) => self.look_up(first),
            None => Ok(()),
        }
    }
}

/// Moves `passed` behind all entries below `entry`.
#[inline]
pub(crate) fn pass_below(entries: &[u64], passed: &mut usize, entry: u64) {
    let rest = entries.get(*passed..).unwrap_or(&[]);
    // Mostly the next one or a near one.
    let mut step = 1;
    while rest.get(step).is_some_and(|found| *found < entry) {
        step *= 2;
    }
    let low = (step / 2).min(rest.len());
    let reach = &rest[low..rest.len().min(step + 1)];
    *passed += low + reach.partition_point(|found| *found < entry);
}

//! Walking the occurrences of one term, with skips.
//!
//! Made by readers for scores and phrases. Chunks are read as the walk goes on.
//!
//! Threads: one owner; borrows a snapshot.

use std::ops::Bound;

use jackdaw_storage::{PageRead, Range, Tree};

use super::OCCURRENCES_TREE;
use super::chunk::{ChunkItems, Item};
use super::editor::{CHUNK_SUFFIX_BYTES, chunk_at_or_below, chunk_key, parse_chunk_key};
use crate::EntryId;
use crate::error::{At, IndexError};
use crate::posting::Malformed;

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
    chunk: Option<ChunkItems<'t>>,
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
    fn next_chunk(&mut self) -> Result<(), IndexError> {
        self.chunk = match self.next_chunk.take() {
            Some((first, bytes)) => {
                Some(ChunkItems::open(first, bytes).at(OCCURRENCES_TREE, &self.term)?)
            }
            None => None,
        };
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

    /// The next entry's; `None` at the end.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn next_occurrence(&mut self) -> Result<Option<Occurrence<'t>>, IndexError> {
        let found = self.next_of(ChunkItems::next_item)?;
        Ok(found.map(|item| Occurrence { item }))
    }

    /// The next entry and how often the term stands there; `None` at the end.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    #[inline]
    pub(crate) fn next_count(&mut self) -> Result<Option<(u64, u32)>, IndexError> {
        self.next_of(ChunkItems::next_count)
    }

    #[inline]
    fn next_of<T>(
        &mut self,
        next: impl Fn(&mut ChunkItems<'t>) -> Result<Option<T>, Malformed>,
    ) -> Result<Option<T>, IndexError> {
        if self.rest.is_none() {
            self.look_up(0)?;
        }
        while let Some(chunk) = &mut self.chunk {
            match next(chunk).at(OCCURRENCES_TREE, &self.term)? {
                Some(found) => return Ok(Some(found)),
                None => self.next_chunk()?,
            }
        }
        Ok(None)
    }

    /// The occurrences in the first entry at or above `entry`, from where the walk is. Chunks that
    /// lie below are not read.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn seek(&mut self, entry: EntryId) -> Result<Option<Occurrence<'t>>, IndexError> {
        self.skip_to(entry.0)?;
        while let Some(found) = self.next_occurrence()? {
            if found.entry() >= entry {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// As [`seek`](Self::seek), with how often the term stands there.
    pub(crate) fn seek_count(&mut self, entry: u64) -> Result<Option<(u64, u32)>, IndexError> {
        self.skip_to(entry)?;
        while let Some(found) = self.next_count()? {
            if found.0 >= entry {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Goes to the chunk that can hold `entry`, when it is behind the current one. Near ones are
    /// mostly next; far ones are looked up.
    fn skip_to(&mut self, entry: u64) -> Result<(), IndexError> {
        if self.rest.is_none() {
            self.look_up(0)?;
        }
        let is_behind = |next: &Option<(u64, &[u8])>| next.is_some_and(|(first, _)| first <= entry);
        if !is_behind(&self.next_chunk) {
            return Ok(());
        }
        self.next_chunk()?;
        if !is_behind(&self.next_chunk) {
            return Ok(());
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

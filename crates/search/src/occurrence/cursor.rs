//! Walking the occurrences of one term, with skips.
//!
//! Made by readers for scores and phrases. Chunks are read as the walk goes on.
//!
//! Threads: one owner; borrows a snapshot.

use jackdaw_storage::{PageRead, Tree};

use super::OCCURRENCES_TREE;
use super::chunk::{ChunkItems, Item};
use super::editor::{chunk_at_or_above, chunk_at_or_below};
use crate::EntryId;
use crate::error::{At, IndexError};

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
    /// Where the next chunk may begin.
    next_first: u64,
}

impl<'t, P: PageRead + ?Sized> Occurrences<'t, P> {
    /// `term` is the key of the term, with its field.
    pub(crate) fn new(tree: Option<Tree<'t, P>>, term: Vec<u8>) -> Occurrences<'t, P> {
        Occurrences {
            tree,
            term,
            chunk: None,
            next_first: 0,
        }
    }

    fn open(&mut self, first: u64, bytes: &'t [u8]) -> Result<(), IndexError> {
        self.chunk = Some(ChunkItems::open(first, bytes).at(OCCURRENCES_TREE, &self.term)?);
        self.next_first = first.saturating_add(1);
        Ok(())
    }

    /// The next entry's; `None` at the end.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn next_occurrence(&mut self) -> Result<Option<Occurrence<'t>>, IndexError> {
        loop {
            if let Some(chunk) = &mut self.chunk
                && let Some(item) = chunk.next_item().at(OCCURRENCES_TREE, &self.term)?
            {
                self.next_first = item.entry.saturating_add(1);
                return Ok(Some(Occurrence { item }));
            }
            let Some(tree) = &self.tree else {
                return Ok(None);
            };
            match chunk_at_or_above(tree, &self.term, self.next_first)? {
                Some((first, bytes)) => self.open(first, bytes)?,
                None => {
                    self.chunk = None;
                    return Ok(None);
                }
            }
        }
    }

    /// The occurrences in the first entry at or above `entry`, from where the walk is. Chunks that
    /// lie below are not read.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn seek(&mut self, entry: EntryId) -> Result<Option<Occurrence<'t>>, IndexError> {
        if let Some(tree) = &self.tree
            && let Some((first, bytes)) = chunk_at_or_below(tree, &self.term, entry.0)?
            && (self.chunk.is_none() || first >= self.next_first)
            && first.saturating_add(1) > self.next_first
        {
            self.open(first, bytes)?;
        }
        while let Some(found) = self.next_occurrence()? {
            if found.entry() >= entry {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

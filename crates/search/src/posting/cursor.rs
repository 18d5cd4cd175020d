//! Walking one posting list in ascending order, block by block, with skips.
//!
//! Made by readers; large lists are read as the walk goes on, so that whoever stops early or skips
//! ahead does not pay for the rest.
//!
//! Invariants:
//! - Entries ascend strictly, across chunks too; anything else is damage.
//!
//! Threads: one owner; borrows a snapshot.

use std::iter::Peekable;
use std::ops::Bound;

use jackdaw_storage::{PageRead, Range, Tree};

use super::chunk::{Block, Chunk, Malformed};
use super::list::{chunk_at_or_below, chunk_key, parse_chunk_key};
use super::value::{ListNumber, TermValue};
use crate::EntryId;
use crate::catalog::{POSTINGS_TREE, TERMS_TREE};
use crate::error::{At, IndexError};

/// The entries of one term, ascending.
///
/// As an iterator it ends after its first error.
pub struct Postings<'t, P: PageRead + ?Sized> {
    count: u64,
    chunk: Option<(Chunk<'t>, usize)>,
    large: Option<Box<LargeWalk<'t, P>>>,
    block: Block,
    /// Entries of `block` already given out or skipped.
    passed: usize,
}

/// What remains of a large list behind the current chunk.
struct LargeWalk<'t, P: PageRead + ?Sized> {
    tree: Tree<'t, P>,
    list: ListNumber,
    chunks: Peekable<Range<'t, P>>,
    /// Last entry of the blocks so far.
    last: Option<u64>,
}

impl<'t, P: PageRead + ?Sized> Postings<'t, P> {
    /// A walk over no entries.
    pub(crate) fn empty() -> Postings<'t, P> {
        Postings {
            count: 0,
            chunk: None,
            large: None,
            block: Block::new(),
            passed: 0,
        }
    }

    /// A walk over the list of a term; `lists` is the tree of large lists.
    pub(crate) fn open(
        value: TermValue<'t>,
        lists: Option<Tree<'t, P>>,
    ) -> Result<Postings<'t, P>, IndexError> {
        let mut postings = Postings {
            count: value.count(),
            ..Postings::empty()
        };
        match value {
            TermValue::Inline { entries, count } => postings.block.set(&entries[..count]),
            TermValue::Small(chunk) => postings.chunk = Some((chunk, 0)),
            TermValue::Large { list, .. } => {
                let missing = Malformed("there is no tree of large lists");
                let tree = lists.ok_or(missing).at(POSTINGS_TREE, &[])?;
                let chunks = chunks_from(&tree, list, 0)?;
                let walk = LargeWalk {
                    tree,
                    list,
                    chunks,
                    last: None,
                };
                postings.large = Some(Box::new(walk));
            }
        }
        Ok(postings)
    }

    /// Number of entries of the whole list.
    #[must_use]
    pub fn entry_count(&self) -> u64 {
        self.count
    }

    /// Entries read and not yet given out.
    pub(crate) fn pending(&self) -> &[u64] {
        &self.block.entries()[self.passed..]
    }

    /// Replaces the pending entries by the next block; false at the end.
    pub(crate) fn next_block(&mut self) -> Result<bool, IndexError> {
        self.passed = 0;
        self.block.set(&[]);
        loop {
            if let Some((chunk, next)) = &mut self.chunk
                && *next < chunk.blocks()
            {
                let key = self
                    .large
                    .as_deref()
                    .map(|large| large.list.0.to_be_bytes());
                let tree = if key.is_some() {
                    POSTINGS_TREE
                } else {
                    TERMS_TREE
                };
                chunk
                    .decode_block(*next, &mut self.block)
                    .at(tree, &key.unwrap_or_default())?;
                *next += 1;
                return self.check_order().map(|()| true);
            }
            self.chunk = match &mut self.large {
                Some(large) => large.next_chunk()?.map(|chunk| (chunk, 0)),
                None => None,
            };
            if self.chunk.is_none() {
                return Ok(false);
            }
        }
    }

    fn check_order(&mut self) -> Result<(), IndexError> {
        let Some(large) = &mut self.large else {
            return Ok(());
        };
        let entries = self.block.entries();
        let wrong = Malformed("chunks of a list overlap");
        let in_order = large.last < entries.first().copied();
        large.last = entries.last().copied();
        in_order
            .then_some(())
            .ok_or(wrong)
            .at(POSTINGS_TREE, &large.list.0.to_be_bytes())
    }

    /// Passes all entries below `entry`. Chunks of large lists that lie below are not read; to
    /// seek backwards does nothing.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn seek(&mut self, entry: EntryId) -> Result<(), IndexError> {
        let target = entry.0;
        loop {
            let pending = self.pending();
            if pending.last().is_some_and(|&last| last >= target) {
                self.passed += pending.partition_point(|&entry| entry < target);
                return Ok(());
            }
            if let Some(large) = &mut self.large
                && let Some(chunk) = large.skip_to(target)?
            {
                self.chunk = Some((chunk, 0));
            }
            if let Some((chunk, next)) = &mut self.chunk {
                *next = (*next).max(chunk.block_for(target));
            }
            if !self.next_block()? {
                return Ok(());
            }
        }
    }
}

impl<'t, P: PageRead + ?Sized> LargeWalk<'t, P> {
    fn next_chunk(&mut self) -> Result<Option<Chunk<'t>>, IndexError> {
        let Some((key, bytes)) = self.chunks.next().transpose()? else {
            return Ok(None);
        };
        let key = key.to_vec();
        let (_, first) = parse_chunk_key(&key).at(POSTINGS_TREE, &key)?;
        Chunk::open(first, bytes).map(Some).at(POSTINGS_TREE, &key)
    }

    /// The chunk that can hold `target`, when it is not the current one.
    fn skip_to(&mut self, target: u64) -> Result<Option<Chunk<'t>>, IndexError> {
        let limit = chunk_key(self.list, target);
        match self.chunks.peek() {
            Some(Ok((key, _))) if key.compare(&limit).is_le() => {}
            _ => return Ok(None),
        }
        // Near targets are mostly in the next chunk; far ones are looked up.
        let chunk = self.next_chunk()?;
        match self.chunks.peek() {
            Some(Ok((key, _))) if key.compare(&limit).is_le() => {}
            _ => return Ok(chunk),
        }
        let Some((first, _)) = chunk_at_or_below(&self.tree, self.list, target)? else {
            return Ok(chunk);
        };
        self.chunks = chunks_from(&self.tree, self.list, first)?;
        self.next_chunk()
    }
}

fn chunks_from<'t, P: PageRead + ?Sized>(
    tree: &Tree<'t, P>,
    list: ListNumber,
    first: u64,
) -> Result<Peekable<Range<'t, P>>, IndexError> {
    let (low, high) = (chunk_key(list, first), chunk_key(list, u64::MAX));
    Ok(tree
        .range((Bound::Included(&low[..]), Bound::Included(&high[..])))?
        .peekable())
}

impl<P: PageRead + ?Sized> Iterator for Postings<'_, P> {
    type Item = Result<EntryId, IndexError>;

    fn next(&mut self) -> Option<Result<EntryId, IndexError>> {
        if self.pending().is_empty() {
            match self.next_block() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    *self = Postings {
                        count: self.count,
                        ..Postings::empty()
                    };
                    return Some(Err(error));
                }
            }
        }
        let entry = *self.pending().first()?;
        self.passed += 1;
        Some(Ok(EntryId(entry)))
    }
}

//! Walking the terms of a field in order, with their counts and entries.
//!
//! Called by `range` for prefixes and ranges, and by query execution to sort by a field and to
//! list its terms.
//!
//! Invariants:
//! - Terms come in the order of their keys: null, text by bytes, numbers by value; or the reverse.
//! - Keys are put together in one buffer, so that a walk allocates nothing per term.
//!
//! Threads: one owner; borrows a snapshot.

use std::ops::Bound;

use jackdaw_storage::{Key, PageRead, Range, Tree};
use memchr::memmem::Finder;

use super::IndexReader;
use super::budget::Budget;
use super::lookup::is_cut;
use crate::catalog::{FieldId, TERMS_TREE};
use crate::error::{At, IndexError};
use crate::posting::{Block, Malformed, Postings, TermValue};
use crate::set::{Probe, SetBuilder};
use crate::term::{StoredTerm, class};

/// Bytes in front of a term in its key: the field.
const FIELD_BYTES: usize = 2;

/// Keys are searched together in pieces of so many bytes: they stay in the nearest cache.
const PIECE_BYTES: usize = 8 * 1024;

/// Behind each key of a piece. No UTF-8 has it, so what is searched for does not reach over it.
const SEPARATOR: u8 = 0xff;

/// Which terms of a field to walk over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// All terms; a number appears as number and as text.
    All,
    /// Texts, booleans and the texts of numbers.
    Text,
    /// Numbers by value.
    Number,
}

/// Which end a walk begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the least term up.
    Ascending,
    /// From the greatest term down.
    Descending,
}

/// Terms of a field in order.
pub struct TermWalk<'t, P: PageRead + ?Sized> {
    range: Option<Range<'t, P>>,
    direction: Direction,
    postings: Option<Tree<'t, P>>,
    key: Vec<u8>,
}

/// The keys of terms in a row as one piece of bytes, and their values.
#[derive(Default)]
pub(super) struct Piece<'t> {
    bytes: Vec<u8>,
    /// Where each key ends with its separator, and the value.
    terms: Vec<(usize, &'t [u8])>,
    /// Positions of the terms of which only the beginning is kept.
    cut: Vec<usize>,
}

/// One term of a walk.
pub struct WalkedTerm<'w, 't, P: PageRead + ?Sized> {
    key: &'w [u8],
    value: TermValue<'t>,
    postings: Option<Tree<'t, P>>,
}

impl<'t, P: PageRead + ?Sized> TermWalk<'t, P> {
    pub(super) fn new(
        reader: &IndexReader<'t, P>,
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<TermWalk<'t, P>, IndexError> {
        let range = match &reader.terms {
            Some(tree) => Some(tree.range((low, high))?),
            None => None,
        };
        Ok(TermWalk {
            range,
            direction,
            postings: reader.postings,
            key: Vec::new(),
        })
    }

    /// The next term; `None` at the end.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn next_term(&mut self) -> Result<Option<WalkedTerm<'_, 't, P>>, IndexError> {
        match self.next_value()? {
            Some(value) => self.term_at(value).map(Some),
            None => Ok(None),
        }
    }

    /// The next term that an entry of `set` may have: lists of few entries are looked at, longer
    /// ones are not. `None` at the end.
    ///
    /// # Errors
    /// [`IndexError::WalkLimit`], [`IndexError::Interrupted`], [`IndexError::Damaged`],
    /// [`IndexError::Storage`].
    pub fn next_within(
        &mut self,
        set: &mut Probe<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<Option<WalkedTerm<'_, 't, P>>, IndexError> {
        while let Some((key, value)) = self.next_entry()? {
            budget.spend()?;
            let value = TermValue::parse(value);
            if let Ok(TermValue::Inline { entries, count }) = &value
                && set.count(&entries[..*count]) == 0
            {
                continue;
            }
            key.copy_to(&mut self.key);
            let value = value.at(TERMS_TREE, &self.key)?;
            return Ok(Some(WalkedTerm {
                key: &self.key,
                value,
                postings: self.postings,
            }));
        }
        Ok(None)
    }

    /// Adds the entries of the next term to a set without putting its key together; false at the
    /// end.
    pub(super) fn add_next_to(&mut self, set: &mut SetBuilder) -> Result<bool, IndexError> {
        let Some((key, value)) = self.next_entry()? else {
            return Ok(false);
        };
        match TermValue::parse(value) {
            Ok(TermValue::Inline { entries, count }) => set.extend(&entries[..count]),
            value => {
                key.copy_to(&mut self.key);
                let value = value.at(TERMS_TREE, &self.key)?;
                let postings = self.postings;
                WalkedTerm {
                    key: &self.key,
                    value,
                    postings,
                }
                .add_to(set)?;
            }
        }
        Ok(true)
    }

    /// The value of the next term, for [`term_at`](Self::term_at), and its key in
    /// [`key`](Self::key); `None` at the end.
    #[inline]
    pub(super) fn next_value(&mut self) -> Result<Option<&'t [u8]>, IndexError> {
        let Some((key, value)) = self.next_entry()? else {
            return Ok(None);
        };
        key.copy_to(&mut self.key);
        Ok(Some(value))
    }

    /// The whole key of the term that came last.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The term whose key came last, with its value.
    pub(super) fn term_at(&self, value: &'t [u8]) -> Result<WalkedTerm<'_, 't, P>, IndexError> {
        Ok(WalkedTerm {
            key: &self.key,
            value: TermValue::parse(value).at(TERMS_TREE, &self.key)?,
            postings: self.postings,
        })
    }

    /// Replaces `piece` by the next terms; false at the end.
    pub(super) fn next_piece(
        &mut self,
        piece: &mut Piece<'t>,
        budget: &mut Budget<'_>,
    ) -> Result<bool, IndexError> {
        piece.bytes.clear();
        piece.terms.clear();
        piece.cut.clear();
        while piece.bytes.len() < PIECE_BYTES
            && let Some((key, value)) = self.next_entry()?
        {
            budget.spend()?;
            let start = piece.bytes.len();
            key.append_to(&mut piece.bytes);
            if is_cut(&piece.bytes[start..]) {
                piece.cut.push(piece.terms.len());
            }
            piece.bytes.push(SEPARATOR);
            piece.terms.push((piece.bytes.len(), value));
        }
        Ok(!piece.terms.is_empty())
    }

    /// Calls `visit` with the terms of a piece whose keys have what is looked for, and with those
    /// that are cut; perhaps with others.
    pub(super) fn visit_found(
        &self,
        piece: &Piece<'t>,
        looked_for: &Finder<'_>,
        mut visit: impl FnMut(WalkedTerm<'_, 't, P>) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let mut visit_at = |position: usize| {
            let before = position.checked_sub(1);
            let start = before.map_or(0, |before| piece.terms[before].0);
            let (end, value) = piece.terms[position];
            let key = &piece.bytes[start..end - 1];
            visit(WalkedTerm {
                key,
                value: TermValue::parse(value).at(TERMS_TREE, key)?,
                postings: self.postings,
            })
        };
        piece.cut.iter().copied().try_for_each(&mut visit_at)?;
        let mut from = 0;
        while from < piece.bytes.len()
            && let Some(at) = looked_for.find(&piece.bytes[from..])
        {
            let position = piece.terms.partition_point(|(end, _)| *end <= from + at);
            if !piece.cut.contains(&position) {
                visit_at(position)?;
            }
            from = piece.terms[position].0;
        }
        Ok(())
    }

    /// Passes the terms, in ascending order, whose keys are below `key`.
    pub(super) fn skip_to(&mut self, key: &[u8]) -> Result<(), IndexError> {
        debug_assert_eq!(self.direction, Direction::Ascending);
        if let Some(range) = &mut self.range {
            range.skip_to(key)?;
        }
        Ok(())
    }

    fn next_entry(&mut self) -> Result<Option<(Key<'t>, &'t [u8])>, IndexError> {
        let Some(range) = &mut self.range else {
            return Ok(None);
        };
        let next = match self.direction {
            Direction::Ascending => range.next(),
            Direction::Descending => range.next_back(),
        };
        Ok(next.transpose()?)
    }
}

impl<'t, P: PageRead + ?Sized> WalkedTerm<'_, 't, P> {
    /// The term itself.
    ///
    /// # Errors
    /// [`IndexError::Damaged`].
    pub fn term(&self) -> Result<StoredTerm<'_>, IndexError> {
        stored_term(self.key)
    }

    /// Number of entries that have the term.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.value.count()
    }

    /// The entries that have the term.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn postings(&self) -> Result<Postings<'t, P>, IndexError> {
        Postings::open(self.value, self.postings)
    }

    /// How many entries of a set have the term.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn count_within(&self, set: &mut Probe<'_>) -> Result<u64, IndexError> {
        let mut count = 0;
        self.visit_blocks(&mut |entries| count += set.count(entries))?;
        Ok(count)
    }

    /// Adds the entries that have the term to a set.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn add_to(&self, set: &mut SetBuilder) -> Result<(), IndexError> {
        self.visit_blocks(&mut |entries| set.extend(entries))
    }

    /// Calls `visit` with the entries, some at a time.
    pub(super) fn visit_blocks(&self, visit: &mut impl FnMut(&[u64])) -> Result<(), IndexError> {
        match &self.value {
            TermValue::Inline { entries, count } => visit(&entries[..*count]),
            TermValue::Small(chunk) => {
                let mut block = Block::new();
                for position in 0..chunk.blocks() {
                    chunk
                        .decode_block(position, &mut block)
                        .at(TERMS_TREE, self.key)?;
                    visit(block.entries());
                }
            }
            TermValue::Large { .. } => {
                let mut postings = self.postings()?;
                while postings.next_block()? {
                    visit(postings.pending());
                }
            }
        }
        Ok(())
    }
}

impl<'t, P: PageRead + ?Sized> IndexReader<'t, P> {
    /// Terms of a field in order.
    ///
    /// Among texts longer than [`TEXT_BYTES_WHOLE_MAX`](crate::TEXT_BYTES_WHOLE_MAX) that share
    /// their first bytes the order is arbitrary: whoever sorts by them compares documents.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Storage`].
    pub fn terms(
        &self,
        field: FieldId,
        kind: TermKind,
        direction: Direction,
    ) -> Result<TermWalk<'t, P>, IndexError> {
        let (low, high) = match kind {
            TermKind::All => (class::NULL, class::NUMBER),
            TermKind::Text => (class::TEXT, class::TEXT),
            TermKind::Number => (class::NUMBER, class::NUMBER),
        };
        let (low, high) = (class_key(field, low), class_key(field, high + 1));
        TermWalk::new(
            self,
            Bound::Included(&low),
            Bound::Excluded(&high),
            direction,
        )
    }
}

/// The term of a whole key.
#[inline]
pub(super) fn stored_term(key: &[u8]) -> Result<StoredTerm<'_>, IndexError> {
    let wrong = Malformed("the key of a term is malformed");
    let term = key.get(FIELD_BYTES..).and_then(StoredTerm::decode);
    term.ok_or(wrong).at(TERMS_TREE, key)
}

/// What the keys of a class of a field begin with.
pub(super) fn class_key(field: FieldId, class: u8) -> Vec<u8> {
    let mut key = Vec::with_capacity(FIELD_BYTES + 1);
    field.push_key(&mut key);
    key.push(class);
    key
}

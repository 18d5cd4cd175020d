//! The set of values of one key of a multi tree.
//!
//! ```text
//! few   0 u8 | for each value, ascending: length u16, bytes
//! many  1 u8 | root of a tree whose keys are the values, 40 bytes
//! ```
//!
//! Invariants:
//! - A list has one value or more and at most [`LIST_BYTES_MAX`] bytes; a nested tree has one value
//!   or more.

use crate::error::{DamageKind, StorageError};
use crate::page::{Key, PageNumber, PageRead};
use crate::tree::{Range, Tree, TreeRoot};

/// Longest list: an eighth of a page, so leaves still hold several keys.
pub(crate) const LIST_BYTES_MAX: usize = 1024;

const TAG_LIST: u8 = 0;
const TAG_NESTED: u8 = 1;

/// A stored set, taken apart.
pub(crate) enum Set<'t> {
    /// Encoded values one after the other.
    List(&'t [u8]),
    Nested(TreeRoot),
}

#[cold]
fn damaged() -> StorageError {
    let what = DamageKind::Encoding {
        what: "the values of a key",
    };
    StorageError::corrupt_page(PageNumber::NONE, what)
}

impl<'t> Set<'t> {
    /// Takes the stored value of a key apart.
    pub(crate) fn decode(stored: &'t [u8]) -> Result<Set<'t>, StorageError> {
        match stored.split_first() {
            Some((&TAG_LIST, list)) => Ok(Set::List(list)),
            Some((&TAG_NESTED, root)) => {
                let root = TreeRoot::decode(root)
                    .map_err(|what| StorageError::corrupt_page(PageNumber::NONE, what))?;
                root.expect_kind(crate::tree::TreeKind::Tree)
                    .map_err(|_| damaged())?;
                Ok(Set::Nested(root))
            }
            _ => Err(damaged()),
        }
    }

    /// Number of values.
    pub(crate) fn count(&self) -> Result<u64, StorageError> {
        match self {
            Set::List(list) => {
                ListValues(list).try_fold(0, |count, value| value.map(|_| count + 1))
            }
            Set::Nested(root) => Ok(root.entry_count()),
        }
    }
}

/// Bytes to store for a nested tree.
pub(crate) fn encode_nested(root: &TreeRoot) -> Vec<u8> {
    let mut stored = vec![TAG_NESTED];
    stored.extend_from_slice(&root.encode());
    stored
}

/// Bytes to store for a list, or `None` when it is too long for one.
pub(crate) fn encode_list<'v>(values: impl Iterator<Item = &'v [u8]>) -> Option<Vec<u8>> {
    let mut stored = vec![TAG_LIST];
    for value in values {
        stored.extend_from_slice(&u16::try_from(value.len()).ok()?.to_le_bytes());
        stored.extend_from_slice(value);
    }
    (stored.len() <= LIST_BYTES_MAX).then_some(stored)
}

/// The values of a list.
pub(crate) struct ListValues<'t>(pub(crate) &'t [u8]);

impl<'t> Iterator for ListValues<'t> {
    type Item = Result<&'t [u8], StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let split = self
            .0
            .split_first_chunk::<2>()
            .and_then(|(len, tail)| tail.split_at_checked(usize::from(u16::from_le_bytes(*len))));
        let Some((value, tail)) = split else {
            self.0 = &[];
            return Some(Err(damaged()));
        };
        self.0 = tail;
        Some(Ok(value))
    }
}

/// The values of a key, ascending, or descending with [`Iterator::rev`].
pub struct MultiValues<'t, P: ?Sized>(Values<'t, P>);

enum Values<'t, P: ?Sized> {
    List(std::vec::IntoIter<&'t [u8]>),
    Nested(Box<Range<'t, P>>),
}

impl<'t, P: PageRead + ?Sized> MultiValues<'t, P> {
    pub(crate) fn none() -> MultiValues<'t, P> {
        MultiValues(Values::List(Vec::new().into_iter()))
    }

    pub(crate) fn new(pages: &'t P, set: &Set<'t>) -> Result<MultiValues<'t, P>, StorageError> {
        Ok(MultiValues(match set {
            Set::List(list) => {
                let values: Vec<&[u8]> = ListValues(list).collect::<Result<_, _>>()?;
                Values::List(values.into_iter())
            }
            Set::Nested(root) => Values::Nested(Box::new(Tree::new(pages, *root).iter()?)),
        }))
    }
}

impl<'t, P: PageRead + ?Sized> Iterator for MultiValues<'t, P> {
    type Item = Result<Key<'t>, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Values::List(values) => values.next().map(|value| Ok(Key::whole(value))),
            Values::Nested(range) => range.next().map(|entry| entry.map(|(value, _)| value)),
        }
    }
}

impl<P: PageRead + ?Sized> DoubleEndedIterator for MultiValues<'_, P> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Values::List(values) => values.next_back().map(|value| Ok(Key::whole(value))),
            Values::Nested(range) => range.next_back().map(|entry| entry.map(|(value, _)| value)),
        }
    }
}

//! Walking the entries between two keys, from either end.

use std::ops::Bound;

use crate::error::StorageError;
use crate::page::key::SearchKey;
use crate::page::node::Node;
use crate::page::{Key, PageRead};
use crate::tree::position::Walk;
use crate::tree::read::{Tree, value_at};

/// The entries between two keys; made by [`Tree::range`].
pub struct Range<'t, P: ?Sized> {
    walk: Walk<'t, P, Node<'t>>,
}

impl<'t, P: PageRead + ?Sized> Range<'t, P> {
    pub(crate) fn new(
        tree: &Tree<'t, P>,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> Result<Range<'t, P>, StorageError> {
        let (start, end) = (start.map(SearchKey::new), end.map(SearchKey::new));
        let walk = Walk::new(tree.pages(), tree.root(), start.as_ref(), end.as_ref())?;
        Ok(Range { walk })
    }

    pub(crate) fn with_prefix(
        tree: &Tree<'t, P>,
        prefix: &[u8],
    ) -> Result<Range<'t, P>, StorageError> {
        let start = Bound::Included(prefix);
        match prefix.iter().rposition(|&byte| byte != u8::MAX) {
            Some(last) => {
                let mut end = prefix[..=last].to_vec();
                end[last] += 1;
                Range::new(tree, start, Bound::Excluded(&end))
            }
            None => Range::new(tree, start, Bound::Unbounded),
        }
    }

    /// Leaves behind the entries at the front whose keys are less than `key`: a search in the leaf
    /// when `key` is near, otherwise as much of a descent as is another way.
    ///
    /// # Errors
    /// As for [`Tree::get`]; the walk is over then.
    pub fn skip_to(&mut self, key: &[u8]) -> Result<(), StorageError> {
        self.walk.skip_to(&SearchKey::new(key))
    }
}

#[inline]
fn entry<'t, P: PageRead + ?Sized>(
    pages: &'t P,
    node: &Node<'t>,
    slot: usize,
) -> Result<(Key<'t>, &'t [u8]), StorageError> {
    Ok((node.key(slot), value_at(pages, node, slot)?))
}

impl<'t, P: PageRead + ?Sized> Iterator for Range<'t, P> {
    type Item = Result<(Key<'t>, &'t [u8]), StorageError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.walk.step(entry)
    }
}

impl<P: PageRead + ?Sized> DoubleEndedIterator for Range<'_, P> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.walk.step_back(entry)
    }
}

impl<P: PageRead + ?Sized> std::iter::FusedIterator for Range<'_, P> {}

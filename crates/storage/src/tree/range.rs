//! Walking the entries between two keys, from either end.
//!
//! Invariants:
//! - `front` is a slot not given out yet, `back` is one past such a slot, both in the walk's
//!   range. The walk is over when they meet in a leaf, so no key is compared on the way.

use std::ops::Bound;

use crate::error::StorageError;
use crate::page::{Key, PageRead};
use crate::tree::cursor::{Position, Target};
use crate::tree::read::Tree;

/// The entries between two keys; made by [`Tree::range`].
pub struct Range<'t, P: ?Sized> {
    pages: &'t P,
    ends: Option<(Position<'t>, Position<'t>)>,
}

impl<'t, P: PageRead + ?Sized> Range<'t, P> {
    pub(crate) fn new(
        tree: &Tree<'t, P>,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> Result<Range<'t, P>, StorageError> {
        let mut range = Range {
            pages: tree.pages(),
            ends: None,
        };
        let (front_target, back_target) = (
            match start {
                Bound::Included(key) | Bound::Excluded(key) => Target::Key(key),
                Bound::Unbounded => Target::First,
            },
            match end {
                Bound::Included(key) | Bound::Excluded(key) => Target::Key(key),
                Bound::Unbounded => Target::Last,
            },
        );
        let Some(mut front) = Position::find(tree, front_target)? else {
            return Ok(range);
        };
        let Some(mut back) = Position::find(tree, back_target)? else {
            return Ok(range);
        };
        if front.is_exact && matches!(start, Bound::Excluded(_)) {
            front.slot += 1;
        }
        if matches!(end, Bound::Unbounded) || back.is_exact && matches!(end, Bound::Included(_)) {
            back.slot += 1;
        }
        if front.slot >= front.count() && !front.next_leaf(tree.pages())? {
            return Ok(range);
        }
        if back.slot == 0 && !back.previous_leaf(tree.pages())? {
            return Ok(range);
        }
        let is_inside = match end {
            Bound::Included(key) => front.key().compare(key).is_le(),
            Bound::Excluded(key) => front.key().compare(key).is_lt(),
            Bound::Unbounded => true,
        };
        if is_inside && !(front.is_same_leaf(&back) && front.slot >= back.slot) {
            range.ends = Some((front, back));
        }
        Ok(range)
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

    /// Ends the walk when the two ends have met.
    #[inline]
    fn close_if_met(&mut self) {
        if let Some((front, back)) = &self.ends
            && front.is_same_leaf(back)
            && front.slot >= back.slot
        {
            self.ends = None;
        }
    }

    #[inline]
    fn step(&mut self) -> Result<Option<(Key<'t>, &'t [u8])>, StorageError> {
        let Some((front, _)) = &mut self.ends else {
            return Ok(None);
        };
        let entry = front.entry(self.pages)?;
        front.slot += 1;
        self.close_if_met();
        if let Some((front, _)) = &mut self.ends
            && front.slot >= front.count()
            && !front.next_leaf(self.pages)?
        {
            self.ends = None;
        }
        Ok(Some(entry))
    }

    #[inline]
    fn step_back(&mut self) -> Result<Option<(Key<'t>, &'t [u8])>, StorageError> {
        let Some((_, back)) = &mut self.ends else {
            return Ok(None);
        };
        back.slot -= 1;
        let entry = back.entry(self.pages)?;
        self.close_if_met();
        if let Some((_, back)) = &mut self.ends
            && back.slot == 0
            && !back.previous_leaf(self.pages)?
        {
            self.ends = None;
        }
        Ok(Some(entry))
    }

    /// Gives an error once and ends the walk.
    #[inline]
    fn item(
        &mut self,
        step: Result<Option<(Key<'t>, &'t [u8])>, StorageError>,
    ) -> Option<Result<(Key<'t>, &'t [u8]), StorageError>> {
        if step.is_err() {
            self.ends = None;
        }
        step.transpose()
    }
}

impl<'t, P: PageRead + ?Sized> Iterator for Range<'t, P> {
    type Item = Result<(Key<'t>, &'t [u8]), StorageError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        self.item(step)
    }
}

impl<P: PageRead + ?Sized> DoubleEndedIterator for Range<'_, P> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let step = self.step_back();
        self.item(step)
    }
}

impl<P: PageRead + ?Sized> std::iter::FusedIterator for Range<'_, P> {}

//! Counts in branch pages: how many entries are below each child of a counted tree.
//!
//! `tree::counts` keeps them exact, `tree::rank` adds them up, `tree::verify` compares them with
//! what is there. Bytes: docs/format.md, branch and leaf pages.
//!
//! Invariants:
//! - The flag in the header of a branch page says whether its values hold a count behind the page
//!   number of the child; the pages of one tree agree.
//! - Branches of trees without counts are read and written as if there were no such thing.

use crate::error::{DamageKind, StorageError};
use crate::page::node::Node;
use crate::page::node_mut::NodeMut;
use crate::page::{Page, PageKind, PageNumber};

/// Flag of a branch page whose values hold counts.
pub(crate) const BRANCH_COUNTED: u8 = 1;

/// Bytes of the value of a branch without counts: the page number of the child.
pub(crate) const CHILD_BYTES: usize = 8;

/// Bytes of the value of a branch with counts: the page number, then the count.
pub(crate) const COUNTED_CHILD_BYTES: usize = 16;

/// Bytes of the values of a branch whose header has `flags`.
#[inline]
pub(crate) fn child_bytes(flags: u8) -> usize {
    if flags & BRANCH_COUNTED == 0 {
        CHILD_BYTES
    } else {
        COUNTED_CHILD_BYTES
    }
}

/// By how much a count changes.
#[derive(Clone, Copy)]
pub(crate) enum CountChange {
    More(u64),
    Less(u64),
}

impl CountChange {
    fn apply(self, count: u64) -> Option<u64> {
        match self {
            CountChange::More(entries) => count.checked_add(entries),
            CountChange::Less(entries) => count.checked_sub(entries),
        }
    }
}

impl<'a> Node<'a> {
    /// Sees a branch page with counts.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] when the page is of another kind or has no counts.
    #[inline]
    pub(crate) fn counted_branch(page: &'a Page) -> Result<Node<'a>, StorageError> {
        let node = Node::branch(page)?;
        if node.is_counted() {
            Ok(node)
        } else {
            Err(without_counts(page))
        }
    }

    /// Number of entries below a child; 0 without counts.
    #[inline]
    pub(crate) fn child_entries(&self, slot: usize) -> u64 {
        let stored = self.entry(self.slot(slot)).stored;
        let count = stored.get(CHILD_BYTES..).and_then(<[u8]>::first_chunk);
        count.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Number of entries below the children in front of `slot`.
    pub(crate) fn entries_before(&self, slot: usize) -> u64 {
        (0..slot).fold(0, |sum, slot| sum.saturating_add(self.child_entries(slot)))
    }

    /// The child below which the entry with `rank` others of this page in front of it is, and how
    /// many of these are below the same child; `None` when there are not so many entries.
    pub(crate) fn child_of_rank(&self, mut rank: u64) -> Option<(usize, u64)> {
        for slot in 0..self.count() {
            match rank.checked_sub(self.child_entries(slot)) {
                None => return Some((slot, rank)),
                Some(rest) => rank = rest,
            }
        }
        None
    }

    /// Number of entries on the page or, of a branch, below it.
    pub(crate) fn entries_below(&self) -> u64 {
        if self.is_branch() {
            self.entries_before(self.count())
        } else {
            self.count() as u64
        }
    }
}

impl<'a> NodeMut<'a> {
    /// Makes an empty branch of a page, with counts or without.
    pub(crate) fn create_branch(
        page: &'a mut Page,
        is_counted: bool,
        prefix: &[u8],
    ) -> NodeMut<'a> {
        NodeMut::create(&mut *page, PageKind::Branch, prefix);
        page.header_mut().flags = if is_counted { BRANCH_COUNTED } else { 0 };
        NodeMut::of(page)
    }
}

/// Changes the count of a child.
///
/// # Errors
/// [`StorageError::Corrupt`] when the page has no counts, or one that cannot be right.
pub(crate) fn change_child_entries(
    page: &mut Page,
    slot: usize,
    change: CountChange,
) -> Result<(), StorageError> {
    let number = page.number();
    let count = Node::counted_branch(page)?.child_entries(slot);
    let mut node = NodeMut::of(page);
    let place = node
        .stored_mut(slot)
        .get_mut(CHILD_BYTES..COUNTED_CHILD_BYTES);
    match (place, change.apply(count)) {
        (Some(place), Some(count)) => place.copy_from_slice(&count.to_le_bytes()),
        _ => return Err(wrong_count(number, count)),
    }
    Ok(())
}

#[cold]
fn without_counts(page: &Page) -> StorageError {
    let what = DamageKind::Layout {
        field: "flags of a branch",
        actual: page.header().flags.into(),
    };
    StorageError::corrupt_page(page.number(), what)
}

/// Damage of a count that the operation at hand contradicts.
#[cold]
pub(crate) fn wrong_count(branch: PageNumber, count: u64) -> StorageError {
    let what = DamageKind::Layout {
        field: "number of entries below a child",
        actual: count,
    };
    StorageError::corrupt_page(branch, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A branch with counts whose children have `counts` entries.
    fn branch(counts: &[u64]) -> Box<Page> {
        let mut page = Page::zeroed();
        NodeMut::create_branch(&mut page, true, b"k");
        for (slot, &count) in counts.iter().enumerate() {
            let separator = if slot == 0 {
                vec![]
            } else {
                vec![b'k', to_byte(slot)]
            };
            let child = PageNumber(100 + slot as u64);
            assert!(NodeMut::of(&mut page).insert_child(slot, &separator, child));
            change_child_entries(&mut page, slot, CountChange::More(count)).unwrap();
        }
        crate::page::validate(&page).unwrap();
        page
    }

    fn to_byte(slot: usize) -> u8 {
        u8::try_from(slot).unwrap()
    }

    #[test]
    fn counts_stay_with_their_children() {
        let mut page = branch(&[5, 0, 7, 1]);
        NodeMut::of(&mut page).remove_children(0, 1);
        change_child_entries(&mut page, 1, CountChange::Less(2)).unwrap();
        crate::page::validate(&page).unwrap();
        let node = Node::counted_branch(&page).unwrap();
        let children = (0..3).map(|slot| (node.child(slot).0, node.child_entries(slot)));
        assert!(children.eq([(101, 0), (102, 5), (103, 1)]));
        assert_eq!((node.entries_before(2), node.entries_below()), (5, 6));
    }

    #[test]
    fn values_are_as_the_format_page_says() {
        let page = branch(&[5, 0x0102]);
        let node = Node::of(&page);
        let stored = node.entry(node.slot(1)).stored;
        assert_eq!(stored, [101, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(page.header().flags, 1);
    }

    #[test]
    fn a_rank_leads_to_the_child_that_holds_its_entry() {
        let page = branch(&[2, 0, 3]);
        let node = Node::counted_branch(&page).unwrap();
        let found: Vec<_> = (0..6).map(|rank| node.child_of_rank(rank)).collect();
        let expected = [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)].map(Some);
        assert_eq!(found[..5], expected);
        assert_eq!(found[5], None);
    }

    #[test]
    fn counts_that_cannot_be_are_damage() {
        let mut page = branch(&[2, u64::MAX]);
        for (slot, change) in [(0, CountChange::Less(3)), (1, CountChange::More(1))] {
            let error = change_child_entries(&mut page, slot, change).unwrap_err();
            assert!(matches!(error, StorageError::Corrupt(_)), "{error}");
        }
        assert_eq!(Node::of(&page).entries_below(), u64::MAX);
        page.header_mut().flags = 0;
        assert!(crate::page::validate(&page).is_err());
        assert!(Node::counted_branch(&page).is_err());
        page.header_mut().flags = 2;
        assert!(crate::page::validate(&page).is_err());
    }
}

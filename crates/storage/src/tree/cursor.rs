//! Moving through a tree entry by entry.
//!
//! [`Cursor`] serves callers that jump; [`Range`](crate::tree::Range) those that walk. Both stand
//! on a [`Position`].
//!
//! Invariants:
//! - A position holds the pages of its path, so a move to a neighbor descends only as far as the
//!   path changes.

use crate::error::StorageError;
use crate::page::node::Node;
use crate::page::{Key, Page, PageRead};
use crate::tree::path::{DEPTH_MAX, check_depth};
use crate::tree::read::{Tree, value_at};

/// Where to descend to.
#[derive(Clone, Copy)]
pub(crate) enum Target<'k> {
    First,
    Last,
    /// The first entry whose key is not less.
    Key(&'k [u8]),
}

/// A slot of a leaf, and the way to it.
pub(crate) struct Position<'t> {
    /// Branch pages from the root down, with the slot taken in each.
    path: [Option<(&'t Page, usize)>; DEPTH_MAX],
    path_len: usize,
    leaf: &'t Page,
    node: Node<'t>,
    /// May be one past the last.
    pub(crate) slot: usize,
    /// Whether the key sought is the one at `slot`.
    pub(crate) is_exact: bool,
}

impl<'t> Position<'t> {
    /// Descends from the root; `None` when the tree is empty.
    pub(crate) fn find<P: PageRead + ?Sized>(
        tree: &Tree<'t, P>,
        target: Target<'_>,
    ) -> Result<Option<Position<'t>>, StorageError> {
        let Some(root) = tree.root().root_page() else {
            return Ok(None);
        };
        let path_len = usize::from(check_depth(tree.root().depth().into())?) - 1;
        let mut path = [None; DEPTH_MAX];
        let leaf = descend(
            tree.pages(),
            &mut path[..path_len],
            tree.pages().page(root)?,
            target,
        )?;
        let node = Node::leaf(leaf)?;
        let (slot, is_exact) = match target {
            Target::First => (0, false),
            Target::Last => (node.count().saturating_sub(1), false),
            Target::Key(key) => match node.search(key) {
                Ok(slot) => (slot, true),
                Err(slot) => (slot, false),
            },
        };
        Ok(Some(Position {
            path,
            path_len,
            leaf,
            node,
            slot,
            is_exact,
        }))
    }

    /// Number of entries of the leaf.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.node.count()
    }

    #[inline]
    pub(crate) fn is_same_leaf(&self, other: &Position<'t>) -> bool {
        std::ptr::eq(self.leaf, other.leaf)
    }

    #[inline]
    pub(crate) fn key(&self) -> Key<'t> {
        self.node.key(self.slot)
    }

    #[inline]
    pub(crate) fn value<P: PageRead + ?Sized>(
        &self,
        pages: &'t P,
    ) -> Result<&'t [u8], StorageError> {
        value_at(pages, &self.node, self.slot)
    }

    #[inline]
    pub(crate) fn entry<P: PageRead + ?Sized>(
        &self,
        pages: &'t P,
    ) -> Result<(Key<'t>, &'t [u8]), StorageError> {
        Ok((self.key(), self.value(pages)?))
    }

    /// Moves to the front of the next leaf; false, and nothing changes, when there is none.
    #[inline(never)]
    pub(crate) fn next_leaf<P: PageRead + ?Sized>(
        &mut self,
        pages: &'t P,
    ) -> Result<bool, StorageError> {
        self.turn(pages, Target::First, |slot, count| {
            Some(slot + 1).filter(|&next| next < count)
        })
    }

    /// Moves past the last entry of the leaf before; false, and nothing changes, without one.
    #[inline(never)]
    pub(crate) fn previous_leaf<P: PageRead + ?Sized>(
        &mut self,
        pages: &'t P,
    ) -> Result<bool, StorageError> {
        let moved = self.turn(pages, Target::Last, |slot, _| slot.checked_sub(1))?;
        if moved {
            self.slot = self.node.count();
        }
        Ok(moved)
    }

    /// Climbs until `step` finds a neighbor, takes it, and descends to its near end.
    fn turn<P: PageRead + ?Sized>(
        &mut self,
        pages: &'t P,
        target: Target<'_>,
        step: impl Fn(usize, usize) -> Option<usize>,
    ) -> Result<bool, StorageError> {
        for level in (0..self.path_len).rev() {
            let Some((page, slot)) = self.path[level] else {
                continue;
            };
            let node = Node::branch(page)?;
            let Some(slot) = step(slot, node.count()) else {
                continue;
            };
            self.path[level] = Some((page, slot));
            let child = pages.page(node.child(slot))?;
            self.leaf = descend(
                pages,
                &mut self.path[level + 1..self.path_len],
                child,
                target,
            )?;
            self.node = Node::leaf(self.leaf)?;
            self.slot = 0;
            return Ok(true);
        }
        Ok(false)
    }
}

/// Fills `path` with branches from `page` down and gives the leaf below.
#[inline]
fn descend<'t, P: PageRead + ?Sized>(
    pages: &'t P,
    path: &mut [Option<(&'t Page, usize)>],
    mut page: &'t Page,
    target: Target<'_>,
) -> Result<&'t Page, StorageError> {
    for step in path {
        let node = Node::branch(page)?;
        let slot = match target {
            Target::First => 0,
            Target::Last => node.count() - 1,
            Target::Key(key) => node.child_slot(key),
        };
        *step = Some((page, slot));
        page = pages.page(node.child(slot))?;
    }
    Ok(page)
}

/// Stands on one entry of a tree, or on none.
///
/// The key is put together in a buffer of the cursor at each move; walkers that do not look at
/// every key are better served by [`Tree::range`].
pub struct Cursor<'t, P: ?Sized> {
    tree: Tree<'t, P>,
    position: Option<Position<'t>>,
    key: Vec<u8>,
}

impl<'t, P: PageRead + ?Sized> Cursor<'t, P> {
    pub(crate) fn new(tree: Tree<'t, P>) -> Cursor<'t, P> {
        Cursor {
            tree,
            position: None,
            key: Vec::new(),
        }
    }

    /// Moves to the first entry whose key is not less than `key`; false when there is none.
    ///
    /// # Errors
    /// As for [`Tree::get`]; the cursor then stands on no entry.
    pub fn seek(&mut self, key: &[u8]) -> Result<bool, StorageError> {
        self.go_to(Target::Key(key))
    }

    /// Moves to the entry with the least key; false when the tree is empty.
    ///
    /// # Errors
    /// As for [`Cursor::seek`].
    pub fn seek_first(&mut self) -> Result<bool, StorageError> {
        self.go_to(Target::First)
    }

    /// Moves to the entry with the greatest key; false when the tree is empty.
    ///
    /// # Errors
    /// As for [`Cursor::seek`].
    pub fn seek_last(&mut self) -> Result<bool, StorageError> {
        self.go_to(Target::Last)
    }

    fn go_to(&mut self, target: Target<'_>) -> Result<bool, StorageError> {
        self.position = None;
        self.position = Position::find(&self.tree, target)?;
        self.settle()
    }

    /// Moves on from a slot that may be one past the last.
    fn settle(&mut self) -> Result<bool, StorageError> {
        let Some(position) = &mut self.position else {
            return Ok(false);
        };
        if position.slot >= position.count() && !position.next_leaf(self.tree.pages())? {
            self.position = None;
            return Ok(false);
        }
        position.key().copy_to(&mut self.key);
        Ok(true)
    }

    /// Moves to the next entry; false when there is none, and then the cursor stands on none.
    ///
    /// # Errors
    /// As for [`Cursor::seek`].
    #[expect(
        clippy::should_implement_trait,
        reason = "the key borrows from the cursor"
    )]
    pub fn next(&mut self) -> Result<bool, StorageError> {
        if let Some(position) = &mut self.position {
            position.slot += 1;
        }
        self.settle()
    }

    /// Moves to the entry before; false when there is none, and then the cursor stands on none.
    ///
    /// # Errors
    /// As for [`Cursor::seek`].
    pub fn prev(&mut self) -> Result<bool, StorageError> {
        let Some(position) = &mut self.position else {
            return Ok(false);
        };
        if position.slot == 0 && !position.previous_leaf(self.tree.pages())? {
            self.position = None;
            return Ok(false);
        }
        position.slot -= 1;
        position.key().copy_to(&mut self.key);
        Ok(true)
    }

    /// The key of the entry the cursor stands on.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        self.position.as_ref().map(|_| self.key.as_slice())
    }

    /// The value of the entry the cursor stands on.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    #[inline]
    pub fn value(&self) -> Result<Option<&'t [u8]>, StorageError> {
        self.position
            .as_ref()
            .map(|position| position.value(self.tree.pages()))
            .transpose()
    }
}

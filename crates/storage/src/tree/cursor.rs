//! Moving through a tree entry by entry.
//!
//! [`Cursor`] serves callers that jump; [`Range`](crate::tree::Range) those that walk.

use crate::error::StorageError;
use crate::page::PageRead;
use crate::page::key::SearchKey;
use crate::page::node::Node;
use crate::tree::position::{Position, Target};
use crate::tree::read::{Tree, value_at};

/// Stands on one entry of a tree, or on none.
///
/// The key is put together in a buffer of the cursor at each move; walkers that do not look at
/// every key are better served by [`Tree::range`].
pub struct Cursor<'t, P: ?Sized> {
    tree: Tree<'t, P>,
    position: Option<Position<'t, Node<'t>>>,
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
        self.go_to(Target::Key(&SearchKey::new(key)))
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

    /// Moves to the entry of a counted tree with `rank` others before it; false when there are not
    /// so many.
    ///
    /// # Errors
    /// [`StorageError::NotCounted`] for a tree without counts; else as for [`Cursor::seek`].
    pub fn seek_rank(&mut self, rank: u64) -> Result<bool, StorageError> {
        self.position = None;
        self.position = Position::at_rank(self.tree.pages(), self.tree.root(), rank)?;
        self.settle()
    }

    fn go_to(&mut self, target: Target<&SearchKey<'_>>) -> Result<bool, StorageError> {
        self.position = None;
        self.position = Position::find(self.tree.pages(), self.tree.root(), target)?;
        self.settle()
    }

    /// Moves on from a slot that may be one past the last.
    fn settle(&mut self) -> Result<bool, StorageError> {
        let Some(position) = &mut self.position else {
            return Ok(false);
        };
        if position.is_behind_leaf() && !position.next_leaf(self.tree.pages())? {
            self.position = None;
            return Ok(false);
        }
        position.node.key(position.slot).copy_to(&mut self.key);
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
        position.node.key(position.slot).copy_to(&mut self.key);
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
        let Some(position) = &self.position else {
            return Ok(None);
        };
        value_at(self.tree.pages(), &position.node, position.slot).map(Some)
    }
}

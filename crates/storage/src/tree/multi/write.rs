//! Changing a multi tree.
//!
//! Invariants:
//! - The entry of a key always holds the current root of its nested tree.
//! - The page count of the root covers nested trees.

use crate::error::StorageError;
use crate::page::{KEY_BYTES_MAX, PageWrite};
use crate::tree::multi::MultiTree;
use crate::tree::multi::values::{ListValues, Set, encode_list, encode_nested};
use crate::tree::{Tree, TreeKind, TreeMut, TreeRoot, TreeState};

/// A map of bytes to ordered sets of bytes, to change.
pub struct MultiTreeMut<'t, P: ?Sized> {
    pages: &'t mut P,
    state: &'t mut TreeState,
}

/// A set that was read out of the pages, so that these can change.
enum OwnedSet {
    List(Vec<u8>),
    Nested(TreeRoot),
}

impl<'t, P: PageWrite + ?Sized> MultiTreeMut<'t, P> {
    /// The tree at the root of `state`, which is kept up to date.
    pub fn new(pages: &'t mut P, state: &'t mut TreeState) -> MultiTreeMut<'t, P> {
        debug_assert_eq!(state.root.kind(), TreeKind::Multi);
        MultiTreeMut { pages, state }
    }

    /// The same tree, to read.
    pub fn as_tree(&self) -> MultiTree<'_, P> {
        MultiTree::new(self.pages, self.state.root)
    }

    pub(super) fn tree(&mut self) -> TreeMut<'_, P> {
        TreeMut::new(self.pages, self.state)
    }

    fn set(&mut self, key: &[u8]) -> Result<Option<OwnedSet>, StorageError> {
        let tree = self.tree();
        let Some(stored) = tree.get(key)? else {
            return Ok(None);
        };
        Ok(Some(match Set::decode(stored)? {
            Set::List(list) => OwnedSet::List(list.to_vec()),
            Set::Nested(root) => OwnedSet::Nested(root),
        }))
    }

    /// Adds `value` to the set of `key`; false when it is there already.
    ///
    /// Keys and values have up to [`KEY_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// As for [`TreeMut::put`].
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<bool, StorageError> {
        if value.len() > KEY_BYTES_MAX {
            let len_bytes = value.len();
            return Err(StorageError::ValueTooLong {
                len_bytes,
                max_bytes: KEY_BYTES_MAX,
            });
        }
        let set = self.set(key)?;
        let root = match set {
            Some(OwnedSet::Nested(root)) => root,
            list => {
                let list = if let Some(OwnedSet::List(list)) = list {
                    list
                } else {
                    Vec::new()
                };
                let mut values: Vec<&[u8]> = ListValues(&list).collect::<Result<_, _>>()?;
                let Err(at) = values.binary_search(&value) else {
                    return Ok(false);
                };
                values.insert(at, value);
                if let Some(stored) = encode_list(values.iter().copied()) {
                    self.tree().put(key, &stored)?;
                    self.count_values(1, 0);
                    return Ok(true);
                }
                let pairs = values.iter().filter(|&&listed| listed != value);
                self.nest(pairs.map(|&listed| (listed, [])))?
            }
        };
        self.change_nested(key, root, |nested| {
            nested.put(value, &[]).map(|replaced| !replaced)
        })
    }

    /// Moves listed values to a tree of their own.
    fn nest<'v>(
        &mut self,
        values: impl Iterator<Item = (&'v [u8], [u8; 0])>,
    ) -> Result<TreeRoot, StorageError> {
        let mut nested = TreeState::new(TreeRoot::empty());
        TreeMut::new(self.pages, &mut nested).put_sorted(values)?;
        self.state.root.add_pages(nested.root.page_count());
        Ok(nested.root)
    }

    /// Removes `value` from the set of `key`; false when it is not there.
    ///
    /// # Errors
    /// As for [`TreeMut::put`].
    pub fn remove(&mut self, key: &[u8], value: &[u8]) -> Result<bool, StorageError> {
        match self.set(key)? {
            None => Ok(false),
            Some(OwnedSet::Nested(root)) => {
                self.change_nested(key, root, |nested| nested.delete(value))
            }
            Some(OwnedSet::List(list)) => {
                let mut values: Vec<&[u8]> = ListValues(&list).collect::<Result<_, _>>()?;
                let Ok(at) = values.binary_search(&value) else {
                    return Ok(false);
                };
                values.remove(at);
                let stored = encode_list(values.iter().copied()).filter(|_| !values.is_empty());
                match stored {
                    Some(stored) => self.tree().put(key, &stored).map(drop)?,
                    None => self.tree().delete(key).map(drop)?,
                }
                self.count_values(0, 1);
                Ok(true)
            }
        }
    }

    /// Applies `change`, which adds or removes one value, to the tree of a key.
    fn change_nested(
        &mut self,
        key: &[u8],
        root: TreeRoot,
        change: impl FnOnce(&mut TreeMut<'_, P>) -> Result<bool, StorageError>,
    ) -> Result<bool, StorageError> {
        let mut nested = TreeState::new(root);
        let changed = change(&mut TreeMut::new(self.pages, &mut nested))?;
        if !changed {
            return Ok(false);
        }
        let (before, after) = (root.entry_count(), nested.root.entry_count());
        self.count_values(after.saturating_sub(before), before.saturating_sub(after));
        self.state.root.add_pages(nested.root.page_count());
        self.state.root.remove_pages(root.page_count());
        if nested.root.root_page().is_none() {
            self.tree().delete(key)?;
        } else {
            self.tree().put(key, &encode_nested(&nested.root))?;
        }
        Ok(true)
    }

    /// Removes `key` with all its values; gives their number.
    ///
    /// # Errors
    /// As for [`TreeMut::put`].
    pub fn remove_key(&mut self, key: &[u8]) -> Result<u64, StorageError> {
        let removed = match self.set(key)? {
            None => return Ok(0),
            Some(OwnedSet::List(list)) => Set::List(&list).count()?,
            Some(OwnedSet::Nested(root)) => {
                self.clear_nested(root)?;
                root.entry_count()
            }
        };
        self.tree().delete(key)?;
        self.count_values(0, removed);
        Ok(removed)
    }

    fn clear_nested(&mut self, root: TreeRoot) -> Result<(), StorageError> {
        let mut nested = TreeState::new(root);
        TreeMut::new(self.pages, &mut nested).clear()?;
        self.state.root.remove_pages(root.page_count());
        Ok(())
    }

    /// Removes all keys and gives all pages back.
    ///
    /// # Errors
    /// As for [`TreeMut::put`].
    pub fn clear(&mut self) -> Result<(), StorageError> {
        let mut nested = Vec::new();
        for entry in Tree::new(&*self.pages, self.state.root).iter()? {
            if let Set::Nested(root) = Set::decode(entry?.1)? {
                nested.push(root);
            }
        }
        for root in nested {
            self.clear_nested(root)?;
        }
        self.tree().clear()?;
        self.state.root.set_value_count(0);
        Ok(())
    }

    fn count_values(&mut self, added: u64, removed: u64) {
        let count = self
            .state
            .root
            .value_count()
            .saturating_add(added)
            .saturating_sub(removed);
        self.state.root.set_value_count(count);
    }
}

//! Changing trees inside a transaction.

use jackdaw_storage::{TransactionPages, WriteTransaction};

use super::read::{Pages, Tree};
use crate::error::{Error, Result};

/// A transaction: it sees its own changes, others see all of them once it is durable.
///
/// [`Trees::write`](super::Trees::write) begins and ends one. Its changed pages take up to 1 GiB.
pub struct Transaction<'t> {
    inner: &'t mut WriteTransaction,
}

impl<'t> Transaction<'t> {
    pub(super) fn of(inner: &'t mut WriteTransaction) -> Transaction<'t> {
        Transaction { inner }
    }

    /// The tree of a name, to change; it comes into being here.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the name belongs to the engine, [`Error::Damaged`], [`Error::Io`].
    pub fn tree(&mut self, name: &str) -> Result<TreeMut<'_>> {
        let inner = self.inner.tree_mut(name).map_err(Error::of_storage)?;
        Ok(TreeMut { inner })
    }

    /// The tree of a name as this transaction left it, to walk over it. One that was never written
    /// to is empty.
    ///
    /// ```
    /// let trees = jackdaw::storage::in_memory()?;
    /// trees.write(|transaction| {
    ///     transaction.tree("albums")?.put(b"1971", b"Blue")?;
    ///     let first = transaction.read("albums")?.iter()?.next().expect("it was put")?;
    ///     assert_eq!(first, (b"1971".to_vec(), &b"Blue"[..]));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Transaction::tree`].
    pub fn read(&self, name: &str) -> Result<Tree<'_>> {
        let tree = self.inner.tree(name).map_err(Error::of_storage)?;
        Ok(Tree(tree.map_or(Pages::None, Pages::Private)))
    }

    /// Removes a tree with all its entries; whether there was one.
    ///
    /// ```
    /// let trees = jackdaw::storage::in_memory()?;
    /// trees.write(|transaction| {
    ///     transaction.tree("albums")?.put(b"1971", b"Blue")?;
    ///     assert!(transaction.drop_tree("albums")?);
    ///     assert!(!transaction.drop_tree("albums")?);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), jackdaw::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`]: end the transaction with the error.
    pub fn drop_tree(&mut self, name: &str) -> Result<bool> {
        self.inner.drop_tree(name).map_err(Error::of_storage)
    }
}

impl std::fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

/// An ordered map of bytes to bytes, to change; see [`Transaction::tree`].
///
/// ```
/// let trees = jackdaw::storage::in_memory()?;
/// trees.write(|transaction| {
///     let mut albums = transaction.tree("albums")?;
///     assert!(!albums.put(b"1971", b"Blue")?);
///     assert!(albums.put(b"1971", b"Tapestry")?);        // in the place of another
///     assert_eq!(albums.get(b"1971")?, Some(&b"Tapestry"[..]));
///     assert!(albums.delete(b"1971")?);
///     Ok(())
/// })?;
/// # Ok::<(), jackdaw::Error>(())
/// ```
pub struct TreeMut<'t> {
    inner: jackdaw_storage::TreeMut<'t, TransactionPages>,
}

impl TreeMut<'_> {
    /// The value of a key; `None` when it has none.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`].
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        self.inner.get(key).map_err(Error::of_storage)
    }

    /// Stores an entry; whether it took the place of one with the same key.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the key has more than 1,024 bytes or the value more than 200 MiB;
    /// the tree is as before. After any other error end the transaction with it.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.inner.put(key, value).map_err(Error::of_storage)
    }

    /// Removes the entry of a key; whether there was one.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`]: end the transaction with the error.
    pub fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.inner.delete(key).map_err(Error::of_storage)
    }

    /// Number of entries. O(1).
    #[must_use]
    pub fn len(&self) -> u64 {
        self.inner.len()
    }

    /// Whether there are no entries. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
}

impl std::fmt::Debug for TreeMut<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeMut")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

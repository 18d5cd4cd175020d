//! Snapshots of trees, and reading a tree in a snapshot or in a transaction.

use std::ops::RangeBounds;

use jackdaw_storage::{Key, Range, ReadTransaction, StorageError, TransactionPages};

use crate::error::{Error, Result};

/// All trees as of one moment; later writes do not change it. [`Trees::read`](super::Trees::read)
/// takes one.
///
/// Values borrow from it: one that outlives it is a compile error. It may be moved between threads.
///
/// ```
/// let trees = jackdaw::storage::in_memory()?;
/// trees.write(|transaction| transaction.tree("albums")?.put(b"1971", b"Blue"))?;
/// let snapshot = trees.read()?;
/// assert_eq!(snapshot.tree("albums")?.get(b"1971")?, Some(&b"Blue"[..]));
/// # Ok::<(), jackdaw::Error>(())
/// ```
pub struct Snapshot {
    transaction: ReadTransaction,
}

impl Snapshot {
    pub(super) fn of(transaction: ReadTransaction) -> Snapshot {
        Snapshot { transaction }
    }

    /// The tree of a name. One that was never written to is empty.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the name belongs to the engine, [`Error::Damaged`], [`Error::Io`].
    pub fn tree(&self, name: &str) -> Result<Tree<'_>> {
        let tree = self.transaction.tree(name).map_err(Error::of_storage)?;
        Ok(Tree(tree.map_or(Pages::None, Pages::Durable)))
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

/// An ordered map of bytes to bytes, to read.
///
/// ```
/// let trees = jackdaw::storage::in_memory()?;
/// trees.write(|transaction| {
///     let mut albums = transaction.tree("albums")?;
///     for (key, value) in [(b"1971", b"Blue"), (b"1976", b"Heji"), (b"1982", b"Wild")] {
///         albums.put(key, value)?;
///     }
///     Ok(())
/// })?;
/// let snapshot = trees.read()?;
/// let albums = snapshot.tree("albums")?;
/// let seventies = albums.prefix(b"197")?.collect::<jackdaw::Result<Vec<_>>>()?;
/// assert_eq!(seventies[1], (b"1976".to_vec(), &b"Heji"[..]));
/// let last = albums.iter()?.next_back().expect("there are three")?;
/// assert_eq!(last, (b"1982".to_vec(), &b"Wild"[..]));
/// # Ok::<(), jackdaw::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Tree<'t>(pub(super) Pages<'t>);

/// Where the pages of a tree are.
#[derive(Clone, Copy)]
pub(super) enum Pages<'t> {
    /// The tree was never written to.
    None,
    Durable(jackdaw_storage::Tree<'t, ReadTransaction>),
    Private(jackdaw_storage::Tree<'t, TransactionPages>),
}

impl<'t> Tree<'t> {
    /// The value of a key; `None` when it has none.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`].
    pub fn get(&self, key: &[u8]) -> Result<Option<&'t [u8]>> {
        match &self.0 {
            Pages::None => Ok(None),
            Pages::Durable(tree) => tree.get(key).map_err(Error::of_storage),
            Pages::Private(tree) => tree.get(key).map_err(Error::of_storage),
        }
    }

    /// Number of entries. O(1).
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Pages::None => 0,
            Pages::Durable(tree) => tree.len(),
            Pages::Private(tree) => tree.len(),
        }
    }

    /// Whether there are no entries. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of a range of keys, in their order; from either end.
    ///
    /// # Errors
    /// As [`Tree::get`]; also while iterating.
    pub fn range<'k>(&self, keys: impl RangeBounds<&'k [u8]>) -> Result<Entries<'t>> {
        let range = match &self.0 {
            Pages::None => Ok(Walk::None),
            Pages::Durable(tree) => tree.range(keys).map(Walk::Durable),
            Pages::Private(tree) => tree.range(keys).map(Walk::Private),
        };
        range.map(Entries).map_err(Error::of_storage)
    }

    /// The entries whose keys begin with `prefix`, in their order; from either end.
    ///
    /// # Errors
    /// As [`Tree::range`].
    pub fn prefix(&self, prefix: &[u8]) -> Result<Entries<'t>> {
        let range = match &self.0 {
            Pages::None => Ok(Walk::None),
            Pages::Durable(tree) => tree.prefix(prefix).map(Walk::Durable),
            Pages::Private(tree) => tree.prefix(prefix).map(Walk::Private),
        };
        range.map(Entries).map_err(Error::of_storage)
    }

    /// All entries, in the order of their keys; from either end.
    ///
    /// # Errors
    /// As [`Tree::range`].
    pub fn iter(&self) -> Result<Entries<'t>> {
        self.range(..)
    }
}

impl std::fmt::Debug for Tree<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Keys and values of a [`Tree`], from either end. Keys are copied, as pages hold them in pieces;
/// values are borrowed.
pub struct Entries<'t>(Walk<'t>);

enum Walk<'t> {
    None,
    Durable(Range<'t, ReadTransaction>),
    Private(Range<'t, TransactionPages>),
}

type Found<'t> = Option<std::result::Result<(Key<'t>, &'t [u8]), StorageError>>;

fn entry<'t>(found: Found<'t>) -> Option<Result<(Vec<u8>, &'t [u8])>> {
    let found = found?.map_err(Error::of_storage);
    Some(found.map(|(key, value)| (key.to_vec(), value)))
}

impl<'t> Iterator for Entries<'t> {
    type Item = Result<(Vec<u8>, &'t [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        entry(match &mut self.0 {
            Walk::None => None,
            Walk::Durable(range) => range.next(),
            Walk::Private(range) => range.next(),
        })
    }
}

impl DoubleEndedIterator for Entries<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        entry(match &mut self.0 {
            Walk::None => None,
            Walk::Durable(range) => range.next_back(),
            Walk::Private(range) => range.next_back(),
        })
    }
}

impl std::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").finish_non_exhaustive()
    }
}

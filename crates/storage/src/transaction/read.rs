//! A read transaction: one snapshot that never changes and never blocks a writer.
//!
//! Invariants:
//! - Everything it hands out borrows from it, so nothing outlives the registration of its snapshot.

use std::sync::Arc;

use super::named::{NAMED_TREE, Past};
use crate::environment::Shared;
use crate::error::StorageError;
use crate::memory::ReaderPin;
use crate::page::{Page, PageNumber, PageRead};
use crate::stream::Streams;
use crate::transaction::TransactionId;
use crate::tree::{FixedTree, MultiTree, Tree, TreeKind, TreeRoot};

/// A consistent view of an environment as of one committed transaction.
///
/// Values and cursors borrow from it. Keep it short: pages that it can see stay in memory and the
/// journal keeps growing until it is dropped.
pub struct ReadTransaction {
    pin: ReaderPin,
    shared: Arc<Shared>,
    snapshot: u64,
    catalog_root: TreeRoot,
    page_count: u64,
    /// Of a named snapshot.
    past: Option<Past>,
}

/// What is committed as of a transaction, whether a named snapshot is read or not.
struct Committed<'r>(&'r ReadTransaction);

impl ReadTransaction {
    /// Registers a snapshot of what is visible now.
    pub(crate) fn begin(shared: &Arc<Shared>) -> Result<ReadTransaction, StorageError> {
        loop {
            let (pin, snapshot) = shared.register_reader(|| shared.visible())?;
            // The state of a snapshot is overwritten only thousands of commits later.
            if let Some(state) = shared.states.read(snapshot) {
                return Ok(ReadTransaction {
                    pin,
                    shared: Arc::clone(shared),
                    snapshot,
                    catalog_root: state.catalog_root,
                    page_count: state.page_count,
                    past: None,
                });
            }
        }
    }

    /// Reads a named snapshot from now on, as of the transaction that was seen so far.
    /// Gives what [`ReadTransaction::return_to`] undoes it with.
    pub(super) fn go_back_to(
        &mut self,
        past: Past,
        catalog_root: TreeRoot,
        page_count: u64,
    ) -> (TreeRoot, u64) {
        self.past = Some(past);
        let catalog_root = std::mem::replace(&mut self.catalog_root, catalog_root);
        let page_count = std::mem::replace(&mut self.page_count, page_count);
        (catalog_root, page_count)
    }

    /// Reads the transaction that was seen before the named snapshot.
    pub(super) fn return_to(&mut self, (catalog_root, page_count): (TreeRoot, u64)) {
        self.past = None;
        self.catalog_root = catalog_root;
        self.page_count = page_count;
    }

    /// The last transaction that this snapshot sees.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        TransactionId(
            self.past
                .as_ref()
                .map_or(self.snapshot, |past| past.transaction),
        )
    }

    /// What keeps the snapshot's pages as they are.
    pub(crate) fn pin(&self) -> &ReaderPin {
        &self.pin
    }

    /// Length of the data file in pages as of this snapshot.
    #[must_use]
    pub fn page_count(&self) -> u64 {
        self.page_count
    }

    /// The tree of byte keys called `name`; `None` when it was never created.
    ///
    /// # Errors
    /// [`StorageError::WrongTreeKind`], or damage of the catalog.
    pub fn tree(&self, name: &str) -> Result<Option<Tree<'_, ReadTransaction>>, StorageError> {
        Ok(self
            .root(name, TreeKind::Tree)?
            .map(|root| Tree::new(self, root)))
    }

    /// The fixed tree called `name`; `None` when it was never created.
    ///
    /// # Errors
    /// As for [`ReadTransaction::tree`].
    pub fn fixed_tree(
        &self,
        name: &str,
    ) -> Result<Option<FixedTree<'_, ReadTransaction>>, StorageError> {
        Ok(self
            .root(name, TreeKind::Fixed)?
            .map(|root| FixedTree::new(self, root)))
    }

    /// The tree of duplicate keys called `name`; `None` when it was never created.
    ///
    /// # Errors
    /// As for [`ReadTransaction::tree`].
    pub fn multi_tree(
        &self,
        name: &str,
    ) -> Result<Option<MultiTree<'_, ReadTransaction>>, StorageError> {
        Ok(self
            .root(name, TreeKind::Multi)?
            .map(|root| MultiTree::new(self, root)))
    }

    /// The streams in the tree called `name`; `None` when it was never created.
    ///
    /// # Errors
    /// As for [`ReadTransaction::tree`].
    pub fn streams(
        &self,
        name: &str,
    ) -> Result<Option<Streams<'_, ReadTransaction>>, StorageError> {
        Ok(self
            .root(name, TreeKind::Tree)?
            .map(|root| Streams::new(self, root)))
    }

    /// Names and roots of all trees, by name, but for those of the engine.
    ///
    /// # Errors
    /// Damage of the catalog.
    pub fn trees(&self) -> Result<Vec<(String, TreeRoot)>, StorageError> {
        let mut trees = self.all_trees()?;
        trees.retain(|(name, _)| name != NAMED_TREE);
        Ok(trees)
    }

    /// Names and roots of all trees, by name.
    pub(crate) fn all_trees(&self) -> Result<Vec<(String, TreeRoot)>, StorageError> {
        let mut trees = Vec::new();
        for entry in self.catalog().iter()? {
            let (name, bytes) = entry?;
            if self.is_hidden(&name.to_vec()) {
                continue;
            }
            let root = TreeRoot::decode(bytes)
                .map_err(|what| StorageError::corrupt_page(self.catalog_page(), what))?;
            trees.push((String::from_utf8_lossy(&name.to_vec()).into_owned(), root));
        }
        Ok(trees)
    }

    /// The tree that holds the roots of all named trees.
    pub(crate) fn catalog(&self) -> Tree<'_, ReadTransaction> {
        Tree::new(self, self.catalog_root)
    }

    /// Pages of the tree of named snapshots are not kept for them.
    fn is_hidden(&self, name: &[u8]) -> bool {
        self.past.is_some() && name == NAMED_TREE.as_bytes()
    }

    fn catalog_page(&self) -> PageNumber {
        self.catalog_root.root_page().unwrap_or(PageNumber::NONE)
    }

    fn root(&self, name: &str, kind: TreeKind) -> Result<Option<TreeRoot>, StorageError> {
        if self.is_hidden(name.as_bytes()) {
            return Ok(None);
        }
        let Some(bytes) = self.catalog().get(name.as_bytes())? else {
            return Ok(None);
        };
        let root = TreeRoot::decode(bytes)
            .map_err(|what| StorageError::corrupt_page(self.catalog_page(), what))?;
        root.expect_kind(kind)?;
        Ok(Some(root))
    }
}

impl Drop for ReadTransaction {
    fn drop(&mut self) {
        if self.shared.view.excess_bytes() > 0 {
            drop(self.pin.take());
            self.shared.give_up_loaded();
        }
    }
}

impl PageRead for ReadTransaction {
    #[inline]
    fn page(&self, number: PageNumber) -> Result<&Page, StorageError> {
        let place = self.place_of(number, 1)?;
        self.shared.committed_page(place, self.snapshot, &self.pin)
    }

    fn run(&self, number: PageNumber, pages: u32) -> Result<&[u8], StorageError> {
        let place = self.place_of(number, pages)?;
        self.shared
            .committed_run(place, pages, self.snapshot, &self.pin)
    }

    #[inline]
    fn place_of(&self, number: PageNumber, pages: u32) -> Result<PageNumber, StorageError> {
        match &self.past {
            None => Ok(number),
            Some(past) => past.place_of(&Committed(self), number, pages),
        }
    }
}

impl PageRead for Committed<'_> {
    fn page(&self, number: PageNumber) -> Result<&Page, StorageError> {
        let Committed(reader) = self;
        let shared = &reader.shared;
        shared.committed_page(number, reader.snapshot, &reader.pin)
    }

    fn run(&self, number: PageNumber, pages: u32) -> Result<&[u8], StorageError> {
        let Committed(reader) = self;
        let shared = &reader.shared;
        shared.committed_run(number, pages, reader.snapshot, &reader.pin)
    }
}

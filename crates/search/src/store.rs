//! Where an index keeps its trees: the seam to transactions.
//!
//! Readers and the writer are generic over these traits. Read and write transactions of an
//! environment implement them, and so do plain pages in memory ([`MemoryStore`]), which unit
//! tests and benchmarks use.
//!
//! Threads: as the implementation.

use std::collections::BTreeMap;

use jackdaw_storage::{
    MemoryPages, PageRead, PageWrite, ReadTransaction, StorageError, TransactionPages, Tree,
    TreeMut, TreeRoot, TreeState, WriteTransaction,
};

/// One consistent state of the trees of an index.
pub trait IndexRead {
    /// The pages below the trees.
    type Pages: PageRead + ?Sized;

    /// The tree `name`, `None` when it was never written.
    ///
    /// # Errors
    /// As storage has them.
    fn tree(&self, name: &str) -> Result<Option<Tree<'_, Self::Pages>>, StorageError>;
}

/// A state of the trees that one writer is changing.
pub trait IndexWrite: IndexRead {
    /// The pages below the trees.
    type PagesMut: PageWrite + ?Sized;

    /// The tree `name`, created when it is missing.
    ///
    /// # Errors
    /// As storage has them.
    fn tree_mut(&mut self, name: &str) -> Result<TreeMut<'_, Self::PagesMut>, StorageError>;
}

impl IndexRead for ReadTransaction {
    type Pages = ReadTransaction;

    fn tree(&self, name: &str) -> Result<Option<Tree<'_, ReadTransaction>>, StorageError> {
        self.tree(name)
    }
}

/// A writer sees its own changes.
impl IndexRead for WriteTransaction {
    type Pages = TransactionPages;

    fn tree(&self, name: &str) -> Result<Option<Tree<'_, TransactionPages>>, StorageError> {
        self.tree(name)
    }
}

impl IndexWrite for WriteTransaction {
    type PagesMut = TransactionPages;

    fn tree_mut(&mut self, name: &str) -> Result<TreeMut<'_, TransactionPages>, StorageError> {
        self.tree_mut(name)
    }
}

/// Trees in plain memory. No transactions: after an error the content is undefined.
#[derive(Clone, Default)]
pub struct MemoryStore {
    pages: MemoryPages,
    trees: BTreeMap<String, TreeState>,
}

impl MemoryStore {
    /// No trees.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Names and roots of the trees.
    pub fn roots(&self) -> impl Iterator<Item = (&str, &TreeRoot)> {
        self.trees
            .iter()
            .map(|(name, state)| (name.as_str(), &state.root))
    }
}

impl IndexRead for MemoryStore {
    type Pages = MemoryPages;

    fn tree(&self, name: &str) -> Result<Option<Tree<'_, MemoryPages>>, StorageError> {
        Ok(self
            .trees
            .get(name)
            .map(|state| Tree::new(&self.pages, state.root)))
    }
}

impl IndexWrite for MemoryStore {
    type PagesMut = MemoryPages;

    fn tree_mut(&mut self, name: &str) -> Result<TreeMut<'_, MemoryPages>, StorageError> {
        if !self.trees.contains_key(name) {
            self.trees
                .insert(name.to_owned(), TreeState::new(TreeRoot::empty()));
        }
        let state = self.trees.get_mut(name).expect("inserted above");
        Ok(TreeMut::new(&mut self.pages, state))
    }
}

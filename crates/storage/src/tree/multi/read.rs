//! Reading a multi tree, and checking it.

use std::ops::RangeBounds;

use crate::error::{DamageKind, StorageError};
use crate::page::{Key, PageNumber, PageRead};
use crate::tree::multi::values::{ListValues, MultiValues, Set};
use crate::tree::verify::compare;
use crate::tree::{Range, Tree, TreeKind, TreeReport, TreeRoot};

/// A map of bytes to ordered sets of bytes, to read.
pub struct MultiTree<'t, P: ?Sized> {
    tree: Tree<'t, P>,
}

impl<P: ?Sized> Clone for MultiTree<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for MultiTree<'_, P> {}

impl<'t, P: PageRead + ?Sized> MultiTree<'t, P> {
    /// The tree at `root`.
    pub fn new(pages: &'t P, root: TreeRoot) -> MultiTree<'t, P> {
        debug_assert_eq!(root.kind(), TreeKind::Multi);
        MultiTree {
            tree: Tree::new(pages, root),
        }
    }

    /// Number of keys.
    pub fn key_count(&self) -> u64 {
        self.tree.len()
    }

    /// Number of values of all keys.
    pub fn value_count(&self) -> u64 {
        self.tree.root().value_count()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    fn set(&self, key: &[u8]) -> Result<Option<Set<'t>>, StorageError> {
        self.tree.get(key)?.map(Set::decode).transpose()
    }

    /// Number of values of `key`, in the time of a look-up.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn count(&self, key: &[u8]) -> Result<u64, StorageError> {
        self.set(key)?.map_or(Ok(0), |set| set.count())
    }

    /// Whether `key` has `value`.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn contains(&self, key: &[u8], value: &[u8]) -> Result<bool, StorageError> {
        match self.set(key)? {
            None => Ok(false),
            Some(Set::Nested(root)) => Tree::new(self.tree.pages(), root).contains(value),
            Some(Set::List(list)) => {
                for found in ListValues(list) {
                    if found? == value {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// The values of `key`, in order.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn values(&self, key: &[u8]) -> Result<MultiValues<'t, P>, StorageError> {
        match self.set(key)? {
            Some(set) => MultiValues::new(self.tree.pages(), &set),
            None => Ok(MultiValues::none()),
        }
    }

    /// The keys inside `bounds` with their values, ascending, or descending with
    /// [`Iterator::rev`].
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn range<'k>(
        &self,
        bounds: impl RangeBounds<&'k [u8]>,
    ) -> Result<MultiRange<'t, P>, StorageError> {
        Ok(MultiRange {
            pages: self.tree.pages(),
            range: self.tree.range(bounds)?,
        })
    }

    /// The keys that start with `prefix` with their values.
    ///
    /// # Errors
    /// As for [`Tree::get`].
    pub fn prefix(&self, prefix: &[u8]) -> Result<MultiRange<'t, P>, StorageError> {
        Ok(MultiRange {
            pages: self.tree.pages(),
            range: self.tree.prefix(prefix)?,
        })
    }

    /// Reads the whole tree and checks its structure; pages of nested trees are counted in.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] with the first damage found, [`StorageError::Io`].
    pub fn verify(&self) -> Result<TreeReport, StorageError> {
        let mut report = self.tree.verify()?;
        let page = self.tree.root().root_page().unwrap_or(PageNumber::NONE);
        let mut values = 0;
        for entry in self.tree.iter()? {
            match Set::decode(entry?.1)? {
                Set::List(list) => values += verify_list(page, list)?,
                Set::Nested(root) => {
                    let nested = Tree::new(self.tree.pages(), root).verify()?;
                    values += nested.entries;
                    report.leaf_pages += nested.leaf_pages;
                    report.branch_pages += nested.branch_pages;
                    report.overflow_pages += nested.overflow_pages;
                }
            }
        }
        compare(
            page,
            "number of values of a multi tree",
            self.value_count(),
            values,
        )?;
        let pages = self.tree.root().page_count();
        compare(
            page,
            "number of pages of a multi tree",
            pages,
            report.pages(),
        )?;
        Ok(report)
    }
}

fn verify_list(page: PageNumber, list: &[u8]) -> Result<u64, StorageError> {
    let values: Vec<&[u8]> = ListValues(list).collect::<Result<_, _>>()?;
    match values.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(slot) => Err(StorageError::corrupt_page(
            page,
            DamageKind::KeyOrder { slot },
        )),
        None => Ok(values.len() as u64),
    }
}

/// The keys between two others with their values; made by [`MultiTree::range`].
pub struct MultiRange<'t, P: ?Sized> {
    pages: &'t P,
    range: Range<'t, P>,
}

type MultiEntry<'t, P> = Result<(Key<'t>, MultiValues<'t, P>), StorageError>;

impl<'t, P: PageRead + ?Sized> MultiRange<'t, P> {
    fn open(&self, entry: Result<(Key<'t>, &'t [u8]), StorageError>) -> MultiEntry<'t, P> {
        let (key, stored) = entry?;
        Ok((key, MultiValues::new(self.pages, &Set::decode(stored)?)?))
    }
}

impl<'t, P: PageRead + ?Sized> Iterator for MultiRange<'t, P> {
    type Item = MultiEntry<'t, P>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.range.next()?;
        Some(self.open(entry))
    }
}

impl<P: PageRead + ?Sized> DoubleEndedIterator for MultiRange<'_, P> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let entry = self.range.next_back()?;
        Some(self.open(entry))
    }
}

//! Reading a fixed tree, and checking it.

use std::collections::HashSet;
use std::ops::RangeBounds;

use rustc_hash::FxBuildHasher;

use crate::error::{DamageKind, StorageError};
use crate::page::fixed_node::FixedNode;
use crate::page::{PageNumber, PageRead};
use crate::tree::path::check_depth;
use crate::tree::position::{Position, Target, Walk};
use crate::tree::verify::{check_page, compare};
use crate::tree::{TreeKind, TreeReport, TreeRoot};

/// A map of numbers to values of one width, to read.
pub struct FixedTree<'t, P: ?Sized> {
    pages: &'t P,
    root: TreeRoot,
}

impl<P: ?Sized> Clone for FixedTree<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: ?Sized> Copy for FixedTree<'_, P> {}

impl<'t, P: PageRead + ?Sized> FixedTree<'t, P> {
    /// The tree at `root`.
    #[inline]
    pub fn new(pages: &'t P, root: TreeRoot) -> FixedTree<'t, P> {
        debug_assert_eq!(root.kind(), TreeKind::Fixed);
        FixedTree { pages, root }
    }

    /// Where the tree is and how large.
    #[inline]
    pub fn root(&self) -> &TreeRoot {
        &self.root
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> u64 {
        self.root.entry_count()
    }

    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.root.root_page().is_none()
    }

    /// Bytes of every value.
    #[inline]
    pub fn value_width(&self) -> usize {
        self.root.value_width().into()
    }

    /// The value of `key`. Reads one page per level.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`], [`StorageError::Io`].
    #[inline]
    pub fn get(&self, key: u64) -> Result<Option<&'t [u8]>, StorageError> {
        let Some(mut page) = self.root.root_page() else {
            return Ok(None);
        };
        for _ in 1..self.root.depth() {
            let node = FixedNode::branch(self.pages.page(page)?)?;
            page = node.child(node.child_slot(key));
        }
        let node = FixedNode::leaf(self.pages.page(page)?)?;
        check_width(page, &node, self.value_width())?;
        Ok(node.search(key).ok().map(|slot| node.value(slot)))
    }

    /// Whether `key` has an entry.
    ///
    /// # Errors
    /// As for [`FixedTree::get`].
    pub fn contains(&self, key: u64) -> Result<bool, StorageError> {
        Ok(self.get(key)?.is_some())
    }

    /// The entry with the least key.
    ///
    /// # Errors
    /// As for [`FixedTree::get`].
    pub fn first(&self) -> Result<Option<(u64, &'t [u8])>, StorageError> {
        self.at_target(Target::First)
    }

    /// The entry with the greatest key.
    ///
    /// # Errors
    /// As for [`FixedTree::get`].
    pub fn last(&self) -> Result<Option<(u64, &'t [u8])>, StorageError> {
        self.at_target(Target::Last)
    }

    fn at_target(&self, target: Target<u64>) -> Result<Option<(u64, &'t [u8])>, StorageError> {
        let position = Position::<FixedNode<'t>>::find(self.pages, &self.root, target)?;
        Ok(position.map(|Position { node, slot, .. }| (node.key(slot), node.value(slot))))
    }

    /// The entries with keys inside `bounds`, ascending, or descending with [`Iterator::rev`].
    ///
    /// Bounds that exclude each other give no entries.
    ///
    /// # Errors
    /// As for [`FixedTree::get`].
    pub fn range(&self, bounds: impl RangeBounds<u64>) -> Result<FixedRange<'t, P>, StorageError> {
        let (start, end) = (bounds.start_bound().cloned(), bounds.end_bound().cloned());
        Ok(FixedRange {
            walk: Walk::new(self.pages, &self.root, start, end)?,
        })
    }

    /// All entries.
    ///
    /// # Errors
    /// As for [`FixedTree::get`].
    pub fn iter(&self) -> Result<FixedRange<'t, P>, StorageError> {
        self.range(..)
    }

    /// Reads the whole tree and checks its structure.
    ///
    /// # Errors
    /// [`StorageError::Corrupt`] with the first damage found, [`StorageError::Io`].
    pub fn verify(&self) -> Result<TreeReport, StorageError> {
        let mut seen = HashSet::default();
        let mut report = TreeReport::default();
        let root = self.root.root_page();
        if let Some(page) = root {
            report.depth = check_depth(self.root.depth().into())?;
            self.verify_page(page, report.depth, (0, u64::MAX), &mut seen, &mut report)?;
        }
        let (page, entries) = (root.unwrap_or(PageNumber::NONE), self.root.entry_count());
        compare(
            page,
            "number of entries of a fixed tree",
            entries,
            report.entries,
        )?;
        let pages = self.root.page_count();
        compare(
            page,
            "number of pages of a fixed tree",
            pages,
            report.pages(),
        )?;
        Ok(report)
    }

    /// Checks a page with all below it; its keys are inside `bounds`, both included.
    fn verify_page(
        &self,
        number: PageNumber,
        levels: u8,
        (low, high): (u64, u64),
        seen: &mut HashSet<PageNumber, FxBuildHasher>,
        report: &mut TreeReport,
    ) -> Result<(), StorageError> {
        let page = self.pages.page(number)?;
        check_page(self.pages.place_of(number, 1)?, page)?;
        let node = FixedNode::at_level(page, levels.into())?;
        let (first, count) = (usize::from(node.is_branch()), node.count());
        let what = if !seen.insert(number) {
            DamageKind::Pointer {
                what: "a fixed tree",
                target: number.0,
            }
        } else if first < count && (node.key(first) < low || node.key(count - 1) > high) {
            DamageKind::KeyOrder { slot: first }
        } else if levels > 1 {
            report.branch_pages += 1;
            for slot in 0..count {
                let low = if slot > 0 { node.key(slot) } else { low };
                let high = if slot + 1 < count {
                    node.key(slot + 1) - 1
                } else {
                    high
                };
                self.verify_page(node.child(slot), levels - 1, (low, high), seen, report)?;
            }
            return Ok(());
        } else {
            check_width(number, &node, self.value_width())?;
            report.leaf_pages += 1;
            report.entries += count as u64;
            report.leaf_bytes += (count * (size_of::<u64>() + node.width())) as u64;
            return Ok(());
        };
        Err(StorageError::corrupt_page(number, what))
    }
}

/// Checks that the values of a leaf are as wide as the tree says.
#[inline]
fn check_width(page: PageNumber, node: &FixedNode<'_>, width: usize) -> Result<(), StorageError> {
    if node.width() == width {
        return Ok(());
    }
    let what = DamageKind::Layout {
        field: "value width",
        actual: node.width() as u64,
    };
    Err(StorageError::corrupt_page(page, what))
}

/// The entries between two keys; made by [`FixedTree::range`].
pub struct FixedRange<'t, P: ?Sized> {
    walk: Walk<'t, P, FixedNode<'t>>,
}

impl<'t, P: PageRead + ?Sized> Iterator for FixedRange<'t, P> {
    type Item = Result<(u64, &'t [u8]), StorageError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.walk
            .step(|_, node, slot| Ok((node.key(slot), node.value(slot))))
    }
}

impl<P: PageRead + ?Sized> DoubleEndedIterator for FixedRange<'_, P> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.walk
            .step_back(|_, node, slot| Ok((node.key(slot), node.value(slot))))
    }
}

impl<P: PageRead + ?Sized> std::iter::FusedIterator for FixedRange<'_, P> {}

//! Checking a whole tree.
//!
//! `Environment::check` and tests call it through [`Tree::verify`].
//!
//! Checked of every page: its own structure and number, no byte used by two entries, keys inside
//! the bounds its parents give, no page reached twice, the same depth for all leaves, in a counted
//! tree the entries below every child; of every long value: length and number; and of the whole:
//! counts of entries and pages.

use std::collections::HashSet;

use rustc_hash::FxBuildHasher;

use crate::error::{DamageKind, StorageError};
use crate::page::node::{Node, OverflowRef};
use crate::page::validate::validate;
use crate::page::{Page, PageHeader, PageNumber, PageRead, run_page_count};
use crate::tree::TreeKind;
use crate::tree::path::check_depth;
use crate::tree::read::{Tree, check_run};
use zerocopy::FromBytes;

/// What a tree consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeReport {
    /// Entries found.
    pub entries: u64,
    /// Levels.
    pub depth: u8,
    /// Pages with entries.
    pub leaf_pages: u64,
    /// Pages above.
    pub branch_pages: u64,
    /// Pages of long values.
    pub overflow_pages: u64,
    /// Bytes in use on leaf pages, their headers not counted.
    pub leaf_bytes: u64,
    /// Bytes on leaf pages that only a rebuild would win back.
    pub dead_bytes: u64,
}

impl TreeReport {
    /// All pages.
    pub fn pages(&self) -> u64 {
        self.leaf_pages + self.branch_pages + self.overflow_pages
    }
}

struct Verifier<'t, P: ?Sized> {
    pages: &'t P,
    is_counted: bool,
    seen: HashSet<u64, FxBuildHasher>,
    report: TreeReport,
}

pub(crate) fn verify<P: PageRead + ?Sized>(tree: &Tree<'_, P>) -> Result<TreeReport, StorageError> {
    let root = tree.root();
    let mut verifier = Verifier {
        pages: tree.pages(),
        is_counted: root.is_counted(),
        seen: HashSet::default(),
        report: TreeReport::default(),
    };
    if let Some(page) = root.root_page() {
        verifier.report.depth = check_depth(root.depth().into())?;
        verifier.verify_page(page, root.depth(), None, None)?;
    }
    let page = root.root_page().unwrap_or(PageNumber::NONE);
    let report = verifier.report;
    compare(
        page,
        "number of entries of a tree",
        root.entry_count(),
        report.entries,
    )?;
    if root.kind() == TreeKind::Tree {
        compare(
            page,
            "number of pages of a tree",
            root.page_count(),
            report.pages(),
        )?;
    }
    Ok(report)
}

/// Checks a stored count.
pub(crate) fn compare(
    page: PageNumber,
    what: &'static str,
    expected: u64,
    actual: u64,
) -> Result<(), StorageError> {
    if expected == actual {
        return Ok(());
    }
    Err(StorageError::corrupt_page(
        page,
        DamageKind::Count {
            what,
            expected,
            actual,
        },
    ))
}

impl<P: PageRead + ?Sized> Verifier<'_, P> {
    fn verify_page(
        &mut self,
        number: PageNumber,
        levels: u8,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> Result<(), StorageError> {
        self.visit("a branch", number, 1)?;
        let page = self.pages.page(number)?;
        check_page(self.pages.place_of(number, 1)?, page)?;
        let node = Node::at_level(page, levels.into())?;
        check_bounds(number, &node, low, high)?;
        if levels == 1 {
            return self.verify_leaf(&node);
        }
        if node.is_counted() != self.is_counted {
            let what = DamageKind::Layout {
                field: "flags of a branch",
                actual: node.flags().into(),
            };
            return Err(StorageError::corrupt_page(number, what));
        }
        self.report.branch_pages += 1;
        for slot in 0..node.count() {
            let own_low = (slot > 0).then(|| node.key(slot).to_vec());
            let own_high = (slot + 1 < node.count()).then(|| node.key(slot + 1).to_vec());
            let (low, high) = (own_low.as_deref().or(low), own_high.as_deref().or(high));
            let before = self.report.entries;
            self.verify_page(node.child(slot), levels - 1, low, high)?;
            if self.is_counted {
                let what = "number of entries below a child";
                let found = self.report.entries - before;
                compare(number, what, node.child_entries(slot), found)?;
            }
        }
        Ok(())
    }

    fn verify_leaf(&mut self, node: &Node<'_>) -> Result<(), StorageError> {
        self.report.leaf_pages += 1;
        self.report.entries += node.count() as u64;
        self.report.leaf_bytes += node.used_bytes() as u64;
        self.report.dead_bytes += node.dead_bytes() as u64;
        for at in 0..node.count() {
            let slot = node.slot(at);
            let stored = node.entry(slot).stored;
            if slot.is_overflow() {
                self.verify_overflow(stored)?;
            }
        }
        Ok(())
    }

    fn verify_overflow(&mut self, stored: &[u8]) -> Result<(), StorageError> {
        let Some(reference) = OverflowRef::decode(stored) else {
            return Ok(());
        };
        let pages = run_page_count(reference.len_bytes);
        self.visit("a long value", reference.page, pages)?;
        let run = self.pages.run(reference.page, pages)?;
        check_run(run, reference)?;
        if let Ok((header, _)) = PageHeader::ref_from_prefix(run) {
            let place = self.pages.place_of(reference.page, pages)?;
            check_number(place, header.page_number.get())?;
        }
        self.report.overflow_pages += u64::from(pages);
        Ok(())
    }

    /// Notes pages as reached; an error when one was before.
    fn visit(
        &mut self,
        what: &'static str,
        number: PageNumber,
        pages: u32,
    ) -> Result<(), StorageError> {
        for target in number.0..number.0.saturating_add(pages.into()) {
            if !self.seen.insert(target) {
                let what = DamageKind::Pointer { what, target };
                return Err(StorageError::corrupt_page(number, what));
            }
        }
        Ok(())
    }
}

/// Checks a page by itself.
pub(crate) fn check_page(number: PageNumber, page: &Page) -> Result<(), StorageError> {
    check_number(number, page.number().0)?;
    Ok(validate(page)?)
}

fn check_number(number: PageNumber, actual: u64) -> Result<(), StorageError> {
    if actual == number.0 {
        return Ok(());
    }
    let what = DamageKind::PageNumber {
        expected: number.0,
        actual,
    };
    Err(StorageError::corrupt_page(number, what))
}

fn check_bounds(
    number: PageNumber,
    node: &Node<'_>,
    low: Option<&[u8]>,
    high: Option<&[u8]>,
) -> Result<(), StorageError> {
    let (first, count) = (node.first_key_slot(), node.count());
    if first >= count {
        return Ok(());
    }
    let damage = |slot| StorageError::corrupt_page(number, DamageKind::KeyOrder { slot });
    if low.is_some_and(|low| node.key(first).compare(low).is_lt()) {
        return Err(damage(first));
    }
    if high.is_some_and(|high| node.key(count - 1).compare(high).is_ge()) {
        return Err(damage(count - 1));
    }
    Ok(())
}

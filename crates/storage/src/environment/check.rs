//! Looking for damage: every page in use, every tree, and whether the free-space maps agree.
//!
//! Works on a snapshot, beside writers. Pages of the data file are validated again even when their
//! checksum was right before.

use std::collections::HashSet;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::shared::{Shared, page_count_said};
use crate::error::{Damage, DamageKind, StorageError};
use crate::memory::{Location, ReaderPin};
use crate::page::{Page, PageNumber, PageRead};
use crate::transaction::{GROUP_PAGES, Image, ReadTransaction, SpaceMap};
use crate::tree::{FixedTree, MultiTree, Tree, TreeKind, TreeRoot};

/// How closely to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckLevel {
    /// Checksum and structure of every page in use. One pass over the data file in file order.
    Pages,
    /// Also order and counts of all trees, and that every page is either in a tree or free.
    Full,
}

/// What [`Environment::check`](super::Environment::check) found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// Damaged places; empty when all is well.
    pub damages: Vec<Damage>,
    /// Trees looked at (full check only).
    pub trees: u64,
    /// Pages in use.
    pub pages: u64,
    /// Pages that hold nothing.
    pub free_pages: u64,
    /// Entries of all trees (full check only).
    pub entries: u64,
}

impl Shared {
    pub(super) fn check(self: &Arc<Self>, level: CheckLevel) -> Result<CheckReport, StorageError> {
        let mut snapshot = ReadTransaction::begin(self)?;
        let mut report = CheckReport::default();
        let at = snapshot.id().0;
        let mut number = 0;
        let mut after_damage = false;
        while number < snapshot.page_count() {
            let is_map = number % GROUP_PAGES == 0;
            let is_free = match is_map {
                true => Some(false),
                false => is_free(&snapshot, number),
            };
            if is_free == Some(true) {
                report.free_pages += 1;
                number += 1;
                after_damage = false;
                continue;
            }
            let (page_count, damage) = self
                .check_place(PageNumber(number), at, snapshot.pin())
                .map_err(|source| {
                    let path = self.directory.join(Damage::DATA_FILE);
                    StorageError::io(&path, "read", source)
                })?;
            if let Some((damage, _)) = &damage
                && matches!(damage.what, DamageKind::Pointer { .. })
            {
                // The file ends before: whatever should follow is not there either.
                report.damages.push(damage.clone());
                break;
            }
            if let Some((damage, names_itself)) = damage {
                // Behind a damaged first page of a run come pages without a header of their own;
                // under a damaged map come free ones, which may never have held a page.
                if names_itself || !after_damage && is_free.is_some() {
                    report.damages.push(damage);
                }
                after_damage = true;
            } else {
                after_damage = false;
            }
            report.pages += page_count;
            number += page_count;
        }
        if level == CheckLevel::Full && report.damages.is_empty() {
            check_trees(&mut snapshot, &mut report)?;
        }
        Ok(report)
    }

    /// Validates what starts at `number`: how many pages it has, and the damage with whether the
    /// page carries its own number.
    ///
    /// # Errors
    /// When the machine does not give the bytes.
    fn check_place(
        &self,
        number: PageNumber,
        snapshot: u64,
        pin: &ReaderPin,
    ) -> std::io::Result<(u64, Option<(Damage, bool)>)> {
        if let Location::Frame(frame) = self.table.find(number, snapshot, &self.frames) {
            return Ok((u64::from(self.frames.page_count(frame).max(1)), None));
        }
        let past_the_end = || {
            let what = DamageKind::Pointer {
                what: "the length of the file",
                target: number.0,
            };
            (1, Some((Damage::on_page(number, what), true)))
        };
        let Some(head) = self.view.load(number, 1, pin)? else {
            return Ok(past_the_end());
        };
        let page = Page::from_bytes(head).expect("one whole page");
        let page_count = page_count_said(number, page).unwrap_or(1);
        let names_itself = page.number() == number;
        let bytes = self.view.load(number, page_count, pin)?.unwrap_or(head);
        Ok(match self.validate(number, bytes) {
            Ok(()) => (u64::from(page_count), None),
            Err(StorageError::Corrupt(damage)) => (1, Some((*damage, names_itself))),
            Err(_) => past_the_end(),
        })
    }
}

/// Whether the space map of its group says that the page is free; `None` when the map is damaged.
pub(super) fn is_free(snapshot: &ReadTransaction, number: u64) -> Option<bool> {
    let map = PageNumber(number / GROUP_PAGES * GROUP_PAGES);
    let page = snapshot.page(map).ok()?;
    Some(SpaceMap::of(page).is_free(number % GROUP_PAGES))
}

fn check_trees(
    snapshot: &mut ReadTransaction,
    report: &mut CheckReport,
) -> Result<(), StorageError> {
    let mut tree_pages = 0;
    let mut check = |report: &mut CheckReport, found| match found {
        Ok((pages, entries)) => {
            tree_pages += pages;
            report.entries += entries;
            report.trees += 1;
            Ok(())
        }
        Err(error) => found_damage(error, report),
    };
    check(
        report,
        snapshot
            .catalog()
            .verify()
            .map(|tree| (tree.pages(), tree.entries)),
    )?;
    for (_, root) in snapshot.all_trees()? {
        check(report, check_tree(snapshot, root))?;
    }
    let kept_pages = check_kept(snapshot, report)?;
    let maps = snapshot.page_count().div_ceil(GROUP_PAGES);
    let found = tree_pages + kept_pages + maps;
    if report.damages.is_empty() && found != report.pages {
        let what = DamageKind::Count {
            what: "number of pages in use",
            expected: report.pages,
            actual: found,
        };
        report.damages.push(Damage {
            file: Damage::DATA_FILE.into(),
            page: None,
            what,
        });
    }
    Ok(())
}

/// Checks what is kept for named snapshots, and the trees that they see; how many pages are kept.
fn check_kept(
    snapshot: &mut ReadTransaction,
    report: &mut CheckReport,
) -> Result<u64, StorageError> {
    let kept = match snapshot.kept() {
        Ok(kept) => kept,
        Err(error) => return found_damage(error, report).map(|()| 0),
    };
    if let Some((page, expected, actual)) = kept.miscounted {
        let what = DamageKind::Count {
            what: "kept pages of a snapshot",
            expected,
            actual,
        };
        report.damages.push(Damage::on_page(page, what));
    }
    let kept_pages = check_images(snapshot, &kept.images, report);
    for name in kept.readable {
        if let Some(Err(error)) = snapshot.at_snapshot(&name, check_past)? {
            found_damage(error, report)?;
        }
    }
    Ok(kept_pages)
}

/// Checks all trees that a named snapshot sees.
fn check_past(then: &ReadTransaction) -> Result<(), StorageError> {
    then.catalog().verify()?;
    for (_, root) in then.all_trees()? {
        check_tree(then, root)?;
    }
    Ok(())
}

fn found_damage(error: StorageError, report: &mut CheckReport) -> Result<(), StorageError> {
    match error {
        StorageError::Corrupt(damage) => {
            report.damages.push(*damage);
            Ok(())
        }
        error => Err(error),
    }
}

/// Checks that images are in use, and each page once; how many pages they have.
fn check_images(snapshot: &ReadTransaction, images: &[Image], report: &mut CheckReport) -> u64 {
    let mut seen = HashSet::<u64, FxBuildHasher>::default();
    let mut kept_pages = 0;
    for image in images {
        for number in image.place.0..image.place.0.saturating_add(image.page_count.into()) {
            let is_right = number < snapshot.page_count()
                && is_free(snapshot, number) == Some(false)
                && seen.insert(number);
            if !is_right {
                let what = DamageKind::Pointer {
                    what: "what is kept for a named snapshot",
                    target: number,
                };
                report.damages.push(Damage::on_page(image.place, what));
                break;
            }
        }
        kept_pages += u64::from(image.page_count);
    }
    kept_pages
}

fn check_tree(snapshot: &ReadTransaction, root: TreeRoot) -> Result<(u64, u64), StorageError> {
    let report = match root.kind() {
        TreeKind::Tree => Tree::new(snapshot, root).verify()?,
        TreeKind::Fixed => FixedTree::new(snapshot, root).verify()?,
        TreeKind::Multi => MultiTree::new(snapshot, root).verify()?,
    };
    Ok((report.pages(), report.entries))
}

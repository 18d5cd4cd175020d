//! What a writer does for named snapshots: it keeps what its transaction would lose.
//!
//! Invariants:
//! - Pages of [`NAMED_TREE`] and of images are never kept: no snapshot reads them, and keeping them
//!   would never end.
//! - Everything here is private to the transaction until it is sealed, so taking it back needs no
//!   more than forgetting it.

use super::record::{
    Image, NAMED_TREE, Snapshot, image_key, image_of_key, image_prefix, snapshots,
};
use crate::error::{DamageKind, StorageError};
use crate::page::{PAGE_BYTES, Page, PageHeader, PageKind, PageNumber, PageWrite};
use crate::planted::{Planted, is_planted};
use crate::transaction::pages::TransactionPages;
use crate::transaction::write::WriteTransaction;
use crate::tree::{Tree, TreeMut, TreeRoot};
use zerocopy::FromBytes;

/// In place of the transaction of a page's committed content: no snapshot can need it.
pub(in crate::transaction) const NOT_KEPT: u64 = u64::MAX;

/// State of a write transaction towards named snapshots.
#[derive(Default)]
pub(in crate::transaction) struct Keeping {
    /// Last transaction that a snapshot sees that was there when this one began; 0 without any.
    up_to: u64,
    /// While the tree of snapshots or an image is changed.
    is_paused: bool,
    /// Pages and runs that were freed and stay where they are, unless no snapshot needs them when
    /// the transaction is sealed.
    freed: Vec<FreedRun>,
}

#[derive(Clone, Copy)]
struct FreedRun {
    page: PageNumber,
    page_count: u32,
    /// Transaction of its content.
    transaction: u64,
}

impl Keeping {
    pub(in crate::transaction) fn freed_count(&self) -> usize {
        self.freed.len()
    }

    /// Back to a savepoint at which `freed_count` runs had been freed.
    pub(in crate::transaction) fn roll_back(&mut self, freed_count: usize) {
        self.freed.truncate(freed_count);
        self.is_paused = false;
    }

    /// What to remember of committed content that is about to be changed.
    pub(in crate::transaction) fn before_change(&self, content: &[u8]) -> u64 {
        let Ok((header, _)) = PageHeader::ref_from_prefix(content) else {
            return NOT_KEPT;
        };
        let transaction = header.transaction_id.get();
        let is_kept = transaction <= self.up_to
            && !self.is_paused
            && header.kind != PageKind::SpaceMap as u8
            && !is_planted(Planted::NoImages);
        if is_kept { transaction } else { NOT_KEPT }
    }
}

impl TransactionPages {
    /// Keeps a page or run that is being freed if a snapshot sees it; false when it may go.
    pub(in crate::transaction) fn keep_freed(
        &mut self,
        page: PageNumber,
        page_count: u32,
    ) -> Result<bool, StorageError> {
        if self.keeping.up_to == 0 || self.keeping.is_paused {
            return Ok(false);
        }
        if self.dirty.get(&page).is_some_and(|dirty| dirty.is_new) {
            return Ok(false);
        }
        // Its head alone: freeing never needed the content, which may be long, or damaged.
        let shared = &self.shared;
        let found = shared.committed_transaction(page, self.snapshot, &self.pin)?;
        let Some(transaction) = found.filter(|&transaction| transaction <= self.keeping.up_to)
        else {
            return Ok(false);
        };
        if is_planted(Planted::FreedImages) {
            return Ok(false);
        }
        self.keeping.freed.push(FreedRun {
            page,
            page_count,
            transaction,
        });
        Ok(true)
    }

    /// Runs `change` on pages that no snapshot sees.
    pub(super) fn without_keeping<T>(
        &mut self,
        change: impl FnOnce(&mut TransactionPages) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let was_paused = std::mem::replace(&mut self.keeping.is_paused, true);
        let outcome = change(self);
        self.keeping.is_paused = was_paused;
        outcome
    }

    /// Changed pages whose committed content is of a transaction up to `up_to`, by page number.
    fn to_be_kept(&self, up_to: u64) -> Vec<(PageNumber, u32, u64)> {
        let mut found: Vec<_> = self
            .dirty
            .iter()
            .filter(|(_, dirty)| dirty.transaction_before <= up_to)
            .map(|(&page, dirty)| (page, dirty.page_count, dirty.transaction_before))
            .collect();
        found.sort_unstable();
        found
    }

    /// Notes that a changed page has its image.
    fn is_kept(&mut self, page: PageNumber) {
        if let Some(dirty) = self.dirty.get_mut(&page) {
            self.dirty_bytes -= dirty.bytes();
            dirty.transaction_before = NOT_KEPT;
            self.dirty_bytes += dirty.bytes();
        }
    }

    /// Copies the committed content of a changed page or run to a place of its own.
    fn copy_committed(
        &mut self,
        page: PageNumber,
        page_count: u32,
    ) -> Result<PageNumber, StorageError> {
        let place = self.allocate_run(page_count)?;
        let TransactionPages {
            shared,
            pin,
            snapshot,
            dirty,
            ..
        } = self;
        let content = shared.committed_content(page, page_count, *snapshot, pin)?;
        let copy = dirty.get_mut(&place).expect("allocated above");
        let bytes = shared.frames.owned_mut(&mut copy.frame);
        bytes.copy_from_slice(content);
        let head = Page::from_bytes_mut(&mut bytes[..PAGE_BYTES]).expect("whole pages");
        head.header_mut().checksum = 0.into();
        head.header_mut().page_number = place.0.into();
        Ok(place)
    }
}

impl WriteTransaction {
    /// Learns which pages have to be kept; called when the transaction begins.
    pub(in crate::transaction) fn prepare_keeping(&mut self) -> Result<(), StorageError> {
        let newest = self.newest_snapshot()?;
        self.pages.keeping.up_to = newest.map_or(0, |snapshot| snapshot.transaction);
        Ok(())
    }

    /// The tree of named snapshots as this transaction left it.
    pub(super) fn named_tree(&self) -> Result<Option<Tree<'_, TransactionPages>>, StorageError> {
        let is_open = self.open.by_name.contains_key(NAMED_TREE);
        match is_open || self.catalog.root.keeps_pages() {
            true => self.tree(NAMED_TREE),
            false => Ok(None),
        }
    }

    /// The last snapshot that can be read and was there before this transaction.
    fn newest_snapshot(&self) -> Result<Option<Snapshot>, StorageError> {
        let before = self.id().0;
        let usable = self
            .all_snapshots()?
            .into_iter()
            .filter(|snapshot| !snapshot.is_being_dropped && snapshot.transaction < before);
        Ok(usable.max_by_key(|snapshot| snapshot.number))
    }

    /// Changes the tree of named snapshots.
    pub(super) fn change_named<T>(
        &mut self,
        change: impl FnOnce(&mut TreeMut<'_, TransactionPages>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let position = self.open(NAMED_TREE, TreeRoot::empty())?;
        let state = &mut self.open.trees[position].state;
        self.pages
            .without_keeping(|pages| change(&mut TreeMut::new(pages, state)))
    }

    /// Keeps what the snapshots see of the pages that this transaction changed and freed, and
    /// completes the records of those that it took. Part of sealing, behind the storing of roots;
    /// may be called again.
    pub(in crate::transaction) fn keep_for_snapshots(&mut self) -> Result<(), StorageError> {
        let is_open = self.open.by_name.contains_key(NAMED_TREE);
        if !is_open && !self.catalog.root.keeps_pages() {
            return Ok(());
        }
        let mut newest = self.newest_snapshot()?;
        loop {
            let changed = match &newest {
                Some(newest) => self.pages.to_be_kept(newest.transaction),
                None => Vec::new(),
            };
            let freed = std::mem::take(&mut self.pages.keeping.freed);
            if changed.is_empty() && freed.is_empty() {
                break;
            }
            self.keep_changed(newest.as_mut(), changed)?;
            self.keep_or_free(newest.as_mut(), freed)?;
            if let Some(newest) = &newest {
                self.change_named(|tree| tree.put(&newest.key(), newest.encode().as_ref()))?;
            }
            // The catalog changes with that, which may be the first time since the snapshot.
            self.store_roots()?;
        }
        let all = self.all_snapshots()?;
        self.catalog.root.set_keeps_pages(!all.is_empty());
        self.complete_new_snapshots(all)
    }

    fn all_snapshots(&self) -> Result<Vec<Snapshot>, StorageError> {
        match self.named_tree()? {
            Some(tree) => snapshots(&tree),
            None => Ok(Vec::new()),
        }
    }

    fn keep_changed(
        &mut self,
        newest: Option<&mut Snapshot>,
        changed: Vec<(PageNumber, u32, u64)>,
    ) -> Result<(), StorageError> {
        let Some(newest) = newest else { return Ok(()) };
        for (page, page_count, transaction) in changed {
            let place = self
                .pages
                .without_keeping(|pages| pages.copy_committed(page, page_count))?;
            let image = Image {
                place,
                transaction,
                page_count,
            };
            self.keep_image(newest, page, image)?;
            self.pages.is_kept(page);
        }
        Ok(())
    }

    fn keep_or_free(
        &mut self,
        mut newest: Option<&mut Snapshot>,
        freed: Vec<FreedRun>,
    ) -> Result<(), StorageError> {
        for run in freed {
            let seen_by = newest.as_deref_mut();
            match seen_by.filter(|newest| run.transaction <= newest.transaction) {
                Some(newest) => {
                    let image = Image {
                        place: run.page,
                        transaction: run.transaction,
                        page_count: run.page_count,
                    };
                    self.keep_image(newest, run.page, image)?;
                }
                // The snapshot that saw it was dropped by this transaction.
                None => self
                    .pages
                    .without_keeping(|pages| pages.free_run(run.page, run.page_count))?,
            }
        }
        Ok(())
    }

    fn keep_image(
        &mut self,
        newest: &mut Snapshot,
        page: PageNumber,
        image: Image,
    ) -> Result<(), StorageError> {
        self.expect_not_kept(newest, page)?;
        let key = image_key(page, newest.number);
        self.change_named(|tree| tree.put(&key, image.encode().as_ref()))?;
        newest.kept_pages += u64::from(image.page_count);
        Ok(())
    }

    /// Only a damaged tree refers to a page that was freed, or twice to one.
    fn expect_not_kept(&self, newest: &Snapshot, page: PageNumber) -> Result<(), StorageError> {
        let Some(tree) = self.named_tree()? else {
            return Ok(());
        };
        for entry in tree.prefix(&image_prefix(page))? {
            let (key, value) = entry?;
            let is_in_place = Image::decode(value, tree.root())?.place == page;
            let number = image_of_key(&key.to_vec()).map(|(_, number)| number);
            if is_in_place || number == Some(newest.number) {
                let what = DamageKind::Pointer {
                    what: "a page kept twice",
                    target: page.0,
                };
                return Err(StorageError::corrupt_page(page, what));
            }
        }
        Ok(())
    }

    /// Snapshots that this transaction took see what it leaves: only now is that known.
    fn complete_new_snapshots(&mut self, all: Vec<Snapshot>) -> Result<(), StorageError> {
        let id = self.id().0;
        let root_before = self.catalog.root;
        for mut snapshot in all.into_iter().filter(|new| new.transaction == id) {
            // As any other catalog that is read; only the one of now leads writers.
            snapshot.catalog_root = self.catalog.root;
            snapshot.page_count = self.pages.page_count;
            self.change_named(|tree| tree.put(&snapshot.key(), snapshot.encode().as_ref()))?;
        }
        // A value of the same length, in a page that was changed already: no root moved.
        debug_assert_eq!(root_before, self.catalog.root);
        Ok(())
    }
}

//! Reading a named snapshot: pages are looked for among the kept images first.

use std::collections::BTreeMap;

use super::record::{
    Image, NAMED_TREE, NamedSnapshot, Snapshot, image_key, image_of_key, images, record_key,
    snapshots,
};
use crate::error::{DamageKind, StorageError};
use crate::page::{PageNumber, PageRead};
use crate::transaction::ReadTransaction;
use crate::tree::{Tree, TreeRoot};

/// What turns a snapshot of now into one of then.
pub(in crate::transaction) struct Past {
    /// Of the named snapshot.
    number: u64,
    pub(in crate::transaction) transaction: u64,
    /// The tree of named snapshots as of the transaction that reads.
    images: TreeRoot,
}

/// What is kept for named snapshots, as `check` looks at it.
#[derive(Default)]
pub(crate) struct Kept {
    /// All images.
    pub(crate) images: Vec<Image>,
    /// Names of the snapshots that can be read.
    pub(crate) readable: Vec<String>,
    /// A snapshot with another number of kept pages than its record says: the page of the records,
    /// what is recorded, what was found.
    pub(crate) miscounted: Option<(PageNumber, u64, u64)>,
}

impl ReadTransaction {
    /// All named snapshots, by name.
    ///
    /// # Errors
    /// Damage of the catalog, or of the tree that lists them.
    pub fn snapshots(&self) -> Result<Vec<NamedSnapshot>, StorageError> {
        let Some(tree) = self.tree(NAMED_TREE)? else {
            return Ok(Vec::new());
        };
        Ok(snapshots(&tree)?.iter().map(Snapshot::describe).collect())
    }

    /// Goes on to read the named snapshot `name`, which this one has to list: `None` when there is
    /// none, or it is being dropped. It has trees and values like any other snapshot, and stays
    /// readable while it is open, even if it is dropped meanwhile; as long as it is open, it holds
    /// back what any read transaction of today holds back. Each page costs one more look-up.
    ///
    /// # Errors
    /// Damage of the catalog, or of the tree that lists the snapshots.
    pub fn into_snapshot(mut self, name: &str) -> Result<Option<ReadTransaction>, StorageError> {
        let Some((past, catalog_root, page_count)) = self.past(name)? else {
            return Ok(None);
        };
        self.go_back_to(past, catalog_root, page_count);
        Ok(Some(self))
    }

    /// Shows the named snapshot `name` to `look`; `None` when it cannot be read.
    pub(crate) fn at_snapshot<T>(
        &mut self,
        name: &str,
        look: impl FnOnce(&ReadTransaction) -> T,
    ) -> Result<Option<T>, StorageError> {
        let Some((past, catalog_root, page_count)) = self.past(name)? else {
            return Ok(None);
        };
        let now = self.go_back_to(past, catalog_root, page_count);
        let seen = look(self);
        self.return_to(now);
        Ok(Some(seen))
    }

    fn past(&self, name: &str) -> Result<Option<(Past, TreeRoot, u64)>, StorageError> {
        let Some(tree) = self.tree(NAMED_TREE)? else {
            return Ok(None);
        };
        let Some(value) = tree.get(&record_key(name.as_bytes()))? else {
            return Ok(None);
        };
        let found = Snapshot::decode(name.as_bytes(), value, tree.root())?;
        let past = Past {
            number: found.number,
            transaction: found.transaction,
            images: *tree.root(),
        };
        let is_readable = !found.is_being_dropped;
        Ok(is_readable.then_some((past, found.catalog_root, found.page_count)))
    }

    /// Everything that is kept for named snapshots.
    pub(crate) fn kept(&self) -> Result<Kept, StorageError> {
        let Some(tree) = self.tree(NAMED_TREE)? else {
            return Ok(Kept::default());
        };
        let mut kept = Kept::default();
        let mut pages = BTreeMap::<u64, u64>::new();
        for image in images(&tree)? {
            let (number, image) = image?;
            *pages.entry(number).or_default() += u64::from(image.page_count);
            kept.images.push(image);
        }
        for snapshot in snapshots(&tree)? {
            let found = pages.remove(&snapshot.number).unwrap_or(0);
            if found != snapshot.kept_pages {
                kept.miscounted = Some((self.page_of_records(), snapshot.kept_pages, found));
            }
            if !snapshot.is_being_dropped {
                kept.readable.push(snapshot.describe().name);
            }
        }
        if let Some(found) = pages.into_values().next() {
            kept.miscounted = Some((self.page_of_records(), 0, found));
        }
        Ok(kept)
    }

    fn page_of_records(&self) -> PageNumber {
        let tree = self.tree(NAMED_TREE).ok().flatten();
        let root = tree.and_then(|tree| tree.root().root_page());
        root.unwrap_or(PageNumber::NONE)
    }
}

impl Past {
    /// Where the content of a page is that the snapshot sees; `now` reads what is committed.
    #[cold]
    #[inline(never)]
    pub(in crate::transaction) fn place_of<P: PageRead>(
        &self,
        now: &P,
        page: PageNumber,
        page_count: u32,
    ) -> Result<PageNumber, StorageError> {
        let mut cursor = Tree::new(now, self.images).cursor();
        cursor.seek(&image_key(page, self.number))?;
        let found = cursor.key().and_then(image_of_key);
        let Some(value) = cursor
            .value()?
            .filter(|_| found.is_some_and(|(of, _)| of == page))
        else {
            return Ok(page);
        };
        let image = Image::decode(value, &self.images)?;
        if image.page_count != page_count {
            let what = DamageKind::Count {
                what: "pages of an image",
                expected: page_count.into(),
                actual: image.page_count.into(),
            };
            return Err(StorageError::corrupt_page(page, what));
        }
        Ok(image.place)
    }
}

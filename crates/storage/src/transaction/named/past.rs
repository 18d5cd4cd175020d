//! Reading a named snapshot: pages are looked for among the kept images first.

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
    /// readable while it is open, even if it is dropped meanwhile. Each page costs one more
    /// look-up.
    ///
    /// # Errors
    /// Damage of the catalog, or of the tree that lists the snapshots.
    pub fn into_snapshot(mut self, name: &str) -> Result<Option<ReadTransaction>, StorageError> {
        let Some(tree) = self.tree(NAMED_TREE)? else {
            return Ok(None);
        };
        let Some(value) = tree.get(&record_key(name.as_bytes()))? else {
            return Ok(None);
        };
        let found = Snapshot::decode(name.as_bytes(), value)?;
        if found.is_being_dropped {
            return Ok(None);
        }
        let past = Past {
            number: found.number,
            transaction: found.transaction,
            images: *tree.root(),
        };
        self.go_back_to(past, found.catalog_root, found.page_count);
        Ok(Some(self))
    }

    /// Pages and runs that are kept for named snapshots.
    pub(crate) fn kept_images(&self) -> Result<Vec<Image>, StorageError> {
        match self.tree(NAMED_TREE)? {
            Some(tree) => images(&tree)?.collect(),
            None => Ok(Vec::new()),
        }
    }
}

impl Past {
    /// Where the content of a page is that the snapshot sees; `now` reads what is committed.
    pub(in crate::transaction) fn place_of<P: PageRead>(
        &self,
        now: &P,
        page: PageNumber,
        page_count: u32,
    ) -> Result<PageNumber, StorageError> {
        let (from, to) = (image_key(page, self.number), image_key(page, u64::MAX));
        let mut found = Tree::new(now, self.images).range(&from[..]..=&to[..])?;
        let Some(entry) = found.next() else {
            return Ok(page);
        };
        let (key, value) = entry?;
        debug_assert_eq!(image_of_key(&key.to_vec()).map(|(of, _)| of), Some(page));
        let image = Image::decode(value)?;
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

//! Taking and dropping named snapshots, as part of a transaction.

use super::record::{
    Image, LAST_NUMBER_KEY, NAMED_TREE, Snapshot, image_key, image_of_key, record_key, snapshots,
};
use crate::error::StorageError;
use crate::page::{PageNumber, PageWrite};
use crate::transaction::write::WriteTransaction;
use crate::tree::TreeRoot;

/// Longest name of a snapshot.
const NAME_BYTES_MAX: usize = 255;

/// Why a named snapshot could not be taken, read or dropped. Nothing was changed, but by an error
/// of the engine in the middle of a transaction: that one has to be taken back.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Names have 1 to 255 bytes.
    #[error("a snapshot's name has 1 to {NAME_BYTES_MAX} bytes, not {len_bytes}")]
    Name {
        /// Length of the name.
        len_bytes: usize,
    },
    /// There is one of that name.
    #[error("there is a snapshot {name:?} already: drop it first, or choose another name")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is one of that name that is being dropped.
    #[error("the snapshot {name:?} is being dropped: drop it again to complete that")]
    BeingDropped {
        /// The name.
        name: String,
    },
    /// There is none of that name.
    #[error("there is no snapshot {name:?}")]
    Missing {
        /// The name.
        name: String,
    },
    /// The engine refused.
    #[error("{0}")]
    Storage(#[from] StorageError),
}

/// The next images of a snapshot that is being dropped.
struct Part {
    /// The older snapshot that can be read, if there is one: what it sees becomes its own. Any
    /// before it finds it there.
    heir: Option<Snapshot>,
    images: Vec<(PageNumber, Image)>,
    /// The page to go on with, if there are more.
    rest: Option<PageNumber>,
}

impl WriteTransaction {
    /// Takes a snapshot of what this transaction leaves, its later changes included, under `name`.
    /// Copies nothing. As long as it is there, pages that it sees are kept when they are changed:
    /// each costs one page of the data file, and one more page written, once.
    ///
    /// # Errors
    /// [`SnapshotError::Name`], [`SnapshotError::Exists`], [`SnapshotError::BeingDropped`], or
    /// damage.
    pub fn create_snapshot(&mut self, name: &str) -> Result<(), SnapshotError> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            let len_bytes = name.len();
            return Err(SnapshotError::Name { len_bytes });
        }
        if let Some(found) = self.find_snapshot(name)? {
            let name = name.to_owned();
            return Err(match found.is_being_dropped {
                true => SnapshotError::BeingDropped { name },
                false => SnapshotError::Exists { name },
            });
        }
        let snapshot = Snapshot {
            name: name.as_bytes().to_vec(),
            number: self.last_snapshot_number()? + 1,
            transaction: self.id().0,
            page_count: 0,
            kept_pages: 0,
            unix_nanos: self.pages.shared.vfs.unix_nanos(),
            dropped_up_to: 0,
            is_being_dropped: false,
            catalog_root: TreeRoot::empty(),
        };
        self.change_named(|tree| {
            tree.put(LAST_NUMBER_KEY, &snapshot.number.to_le_bytes())?;
            tree.put(&snapshot.key(), snapshot.encode().as_ref())
        })?;
        Ok(())
    }

    /// Drops the snapshot `name`, or a part of it: looks at up to `images_max` kept pages, gives
    /// back those that no older snapshot sees, and says whether that was all. From the first part
    /// on it cannot be read any more.
    ///
    /// # Errors
    /// [`SnapshotError::Missing`], or damage.
    pub fn drop_snapshot(&mut self, name: &str, images_max: usize) -> Result<bool, SnapshotError> {
        Ok(self.drop_part(name, None, images_max)?.is_none())
    }

    /// As [`WriteTransaction::drop_snapshot`], of the snapshot with this number: when there is none
    /// any more, somebody else has completed it. Gives its number while something is left.
    pub(crate) fn drop_part(
        &mut self,
        name: &str,
        begun: Option<u64>,
        images_max: usize,
    ) -> Result<Option<u64>, SnapshotError> {
        let found = self.find_snapshot(name)?;
        let Some(mut dropped) = found.filter(|found| begun.is_none_or(|it| it == found.number))
        else {
            let name = name.to_owned();
            return begun.map_or(Err(SnapshotError::Missing { name }), |_| Ok(None));
        };
        dropped.is_being_dropped = true;
        let Part {
            mut heir,
            images,
            rest,
        } = self.part_to_drop(&dropped, images_max)?;
        for (page, image) in images {
            let pages = u64::from(image.page_count);
            let key = image_key(page, dropped.number);
            self.change_named(|tree| tree.delete(&key))?;
            dropped.kept_pages = dropped.kept_pages.saturating_sub(pages);
            let seen_by = heir.as_mut();
            if let Some(heir) = seen_by.filter(|heir| image.transaction <= heir.transaction) {
                let key = image_key(page, heir.number);
                self.change_named(|tree| tree.put(&key, image.encode().as_ref()))?;
                heir.kept_pages += pages;
            } else {
                self.pages
                    .without_keeping(|pages| pages.free_run(image.place, image.page_count))?;
            }
        }
        if let Some(heir) = heir {
            self.change_named(|tree| tree.put(&heir.key(), heir.encode().as_ref()))?;
        }
        let Some(next_page) = rest else {
            self.change_named(|tree| tree.delete(&dropped.key()))?;
            self.drop_named_tree_if_unused()?;
            return Ok(None);
        };
        dropped.dropped_up_to = next_page.0;
        self.change_named(|tree| tree.put(&dropped.key(), dropped.encode().as_ref()))?;
        Ok(Some(dropped.number))
    }

    fn drop_named_tree_if_unused(&mut self) -> Result<(), StorageError> {
        let is_used = match self.named_tree()? {
            Some(tree) => !snapshots(&tree)?.is_empty(),
            None => true,
        };
        if !is_used {
            self.change_named(|tree| tree.clear())?;
            self.mark_dropped(NAMED_TREE);
        }
        Ok(())
    }

    fn part_to_drop(&self, dropped: &Snapshot, images_max: usize) -> Result<Part, StorageError> {
        let mut part = Part {
            heir: None,
            images: Vec::new(),
            rest: None,
        };
        let Some(tree) = self.named_tree()?.filter(|_| dropped.kept_pages > 0) else {
            return Ok(part);
        };
        part.heir = snapshots(&tree)?
            .into_iter()
            .filter(|other| other.number < dropped.number && !other.is_being_dropped)
            .max_by_key(|other| other.number);
        let start = image_key(PageNumber(dropped.dropped_up_to), 0);
        for (looked_at, entry) in tree.range(&start[..]..)?.enumerate() {
            let (key, value) = entry?;
            let Some((page, number)) = image_of_key(&key.to_vec()) else {
                break;
            };
            if looked_at >= images_max.max(1) && page.0 > dropped.dropped_up_to {
                part.rest = Some(page);
                break;
            }
            if number == dropped.number {
                part.images.push((page, Image::decode(value, tree.root())?));
            }
        }
        Ok(part)
    }

    fn find_snapshot(&self, name: &str) -> Result<Option<Snapshot>, StorageError> {
        let Some(tree) = self.named_tree()? else {
            return Ok(None);
        };
        let value = tree.get(&record_key(name.as_bytes()))?;
        value
            .map(|value| Snapshot::decode(name.as_bytes(), value, tree.root()))
            .transpose()
    }

    fn last_snapshot_number(&self) -> Result<u64, StorageError> {
        let Some(tree) = self.named_tree()? else {
            return Ok(0);
        };
        let value = tree.get(LAST_NUMBER_KEY)?.unwrap_or_default();
        Ok(value.try_into().map_or(0, u64::from_le_bytes))
    }
}

//! Page table: which version of a page a snapshot sees.
//!
//! One atomic word a page: 0 "in the data file, not yet validated", 1 "in the data file,
//! validated", otherwise the newest scratch frame plus 2; older versions hang behind it, newest
//! first. A two-level array keyed by page number, so a look-up is two loads and readers never
//! lock. Measured against the alternatives in docs/decisions (page table).
//!
//! Invariants:
//! - A chain is ordered by transaction, newest first, and ends in 0 or 1.
//! - Versions are added by the sealing writer, removed by the flusher and by whoever drops
//!   superseded ones, all under `change`.
//! - The flusher removes a version when the data file holds it (or it is a marker or older than one
//!   that the data file holds) and no snapshot below the flush horizon is active.
//! - A version above the flush horizon is removed when a newer one is durable and no snapshot
//!   between the two is or will be read. So whatever horizon a later flush takes, the version
//!   that it has to write is there.

use std::ops::Range;
use std::sync::PoisonError;

use jackdaw_base::lazy_array::LazyArray;
use jackdaw_base::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use jackdaw_base::width::to_usize;

use super::{FrameId, Frames, OwnedFrame, Readers};
use crate::page::PageNumber;

/// Slot value: the data file holds the page; its checksum was not looked at yet.
const IN_FILE: u64 = 0;
/// Slot value: the data file holds the page and its checksum was right.
const VALIDATED: u64 = 1;
/// Slot values from here on are frame numbers plus this.
const FIRST_FRAME: u64 = 2;

/// 32,768 pages: 256 MiB of data file for 256 KiB of memory; 65,536 leaves make 16 TiB.
const LEAF_SLOTS: usize = if cfg!(loom) { 4 } else { 1 << 15 };

/// Where a snapshot finds a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In the data file.
    File {
        /// Whether its checksum was already found right.
        validated: bool,
    },
    /// In scratch memory.
    Frame(FrameId),
}

/// A version that a transaction makes visible.
pub(crate) struct PublishedPage {
    pub(crate) page: PageNumber,
    pub(crate) frame: OwnedFrame,
}

/// See the file head.
pub(crate) struct PageTable {
    leaves: LazyArray<Box<[AtomicU64]>>,
    change: Mutex<Changes>,
}

#[derive(Default)]
struct Changes {
    /// Versions up to this transaction belong to the flusher: written, or being written.
    flush_horizon: u64,
}

impl PageTable {
    pub(crate) fn new() -> PageTable {
        PageTable {
            leaves: LazyArray::new(),
            change: Mutex::new(Changes::default()),
        }
    }

    /// Number of pages that fit: page numbers from here on cannot be used.
    pub(crate) const PAGES_MAX: u64 = (LEAF_SLOTS * LazyArray::<u64>::LEN) as u64;

    /// The version of `page` that `snapshot` sees.
    pub(crate) fn find(&self, page: PageNumber, snapshot: u64, frames: &Frames) -> Location {
        let Some(leaf) = self.leaves.get(leaf_position(page)) else {
            return Location::File { validated: false };
        };
        let mut value = leaf[slot_position(page)].load(Ordering::Acquire);
        while value >= FIRST_FRAME {
            let id = FrameId::from_raw(value - FIRST_FRAME);
            if frames.transaction(id) <= snapshot {
                return Location::Frame(id);
            }
            value = frames.older(id);
        }
        Location::File {
            validated: value == VALIDATED,
        }
    }

    /// Notes that the data file's copy of `page` was read and found right.
    pub(crate) fn mark_validated(&self, page: PageNumber) {
        // A page that got a newer version meanwhile keeps it; its file copy is re-checked later.
        let _ = self.slot(page).compare_exchange(
            IN_FILE,
            VALIDATED,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }

    /// Notes that the data file's copies of `pages` have to be read and looked at again, for every
    /// reader that comes from now on.
    pub(crate) fn forget_validated(&self, pages: Range<PageNumber>, frames: &Frames) {
        let _change = self.lock();
        for page in (pages.start.0..pages.end.0).map(PageNumber) {
            let slot = self.slot(page);
            match self.last_version(slot.load(Ordering::Acquire), frames) {
                Some(last) if frames.older(last) == VALIDATED => frames.set_older(last, IN_FILE),
                Some(_) => {}
                None => {
                    let _ = slot.compare_exchange(
                        VALIDATED,
                        IN_FILE,
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                }
            }
        }
    }

    /// Whether any of `pages` is read from the data file without another look.
    pub(crate) fn has_validated(&self, pages: Range<PageNumber>, frames: &Frames) -> bool {
        let _change = self.lock();
        (pages.start.0..pages.end.0).map(PageNumber).any(|page| {
            let value = self.slot(page).load(Ordering::Acquire);
            let last = self.last_version(value, frames);
            last.map_or(value, |last| frames.older(last)) == VALIDATED
        })
    }

    /// The oldest version of a chain that begins with `value`; `None` of one without any.
    fn last_version(&self, value: u64, frames: &Frames) -> Option<FrameId> {
        let mut last = None;
        let mut value = value;
        while value >= FIRST_FRAME {
            let version = FrameId::from_raw(value - FIRST_FRAME);
            value = frames.older(version);
            last = Some(version);
        }
        last
    }

    /// Adds the versions of one transaction; `snapshot < transaction` readers do not see them.
    pub(crate) fn publish(
        &self,
        transaction: u64,
        pages: impl Iterator<Item = PublishedPage>,
        frames: &Frames,
    ) -> Vec<(PageNumber, FrameId)> {
        let _change = self.lock();
        pages
            .map(|published| {
                let slot = self.slot(published.page);
                let older = slot.load(Ordering::Acquire);
                let id = frames.publish(published.frame, transaction, older);
                slot.store(id.raw() + FIRST_FRAME, Ordering::Release);
                (published.page, id)
            })
            .collect()
    }

    /// Whether scratch memory holds any version of the page.
    pub(crate) fn has_versions(&self, page: PageNumber) -> bool {
        self.leaves
            .get(leaf_position(page))
            .is_some_and(|leaf| leaf[slot_position(page)].load(Ordering::Acquire) >= FIRST_FRAME)
    }

    /// Starts a flush of everything durable up to `durable` that no snapshot forbids, and gives
    /// its horizon: versions up to there stay in the table until the flusher removes them.
    pub(crate) fn begin_flush(&self, durable: u64, readers: &Readers) -> u64 {
        let mut changes = self.lock();
        let horizon = readers.advance_horizon(durable)[0];
        changes.flush_horizon = horizon;
        horizon
    }

    /// Removes versions of `pages` that newer ones up to `durable` supersede and that no snapshot
    /// sees. Gives the frames to retire.
    pub(crate) fn remove_superseded(
        &self,
        pages: &[PageNumber],
        durable: u64,
        readers: &Readers,
        frames: &Frames,
    ) -> Vec<FrameId> {
        let changes = self.lock();
        let snapshots = readers.advance_horizon(durable);
        let mut removed = Vec::new();
        for &page in pages {
            let value = self.slot(page).load(Ordering::Acquire);
            if value < FIRST_FRAME {
                continue;
            }
            let mut kept = FrameId::from_raw(value - FIRST_FRAME);
            let mut superseded_by = frames.transaction(kept);
            loop {
                let value = frames.older(kept);
                if value < FIRST_FRAME {
                    break;
                }
                let id = FrameId::from_raw(value - FIRST_FRAME);
                let transaction = frames.transaction(id);
                if transaction <= changes.flush_horizon {
                    break;
                }
                if is_seen(&snapshots, transaction, superseded_by) {
                    kept = id;
                } else {
                    frames.set_older(kept, frames.older(id));
                    removed.push(id);
                }
                superseded_by = transaction;
            }
        }
        removed
    }

    /// Removes `flushed` and all older versions of each page: the data file holds them now (or
    /// nothing needs to, when `flushed` is a marker). They are known to be right if they
    /// `stay_readable`. Gives the frames to retire.
    pub(crate) fn remove_flushed(
        &self,
        flushed: &[(PageNumber, FrameId)],
        stay_readable: bool,
        frames: &Frames,
    ) -> Vec<FrameId> {
        let _change = self.lock();
        let mut removed = Vec::with_capacity(flushed.len());
        for &(page, id) in flushed {
            let rest = match stay_readable && frames.page_count(id) > 0 {
                true => VALIDATED,
                false => IN_FILE,
            };
            self.cut_chain(page, id, rest, frames);
            let mut value = id.raw() + FIRST_FRAME;
            while value >= FIRST_FRAME {
                let version = FrameId::from_raw(value - FIRST_FRAME);
                removed.push(version);
                value = frames.older(version);
            }
        }
        removed
    }

    /// Makes the chain of `page` end before `id`.
    fn cut_chain(&self, page: PageNumber, id: FrameId, rest: u64, frames: &Frames) {
        let slot = self.slot(page);
        let mut value = slot.load(Ordering::Acquire);
        if value == id.raw() + FIRST_FRAME {
            slot.store(rest, Ordering::Release);
            return;
        }
        while value >= FIRST_FRAME {
            let newer = FrameId::from_raw(value - FIRST_FRAME);
            value = frames.older(newer);
            if value == id.raw() + FIRST_FRAME {
                frames.set_older(newer, rest);
                return;
            }
        }
        unreachable!("a flushed version is in the chain of its page until it is removed here");
    }

    fn slot(&self, page: PageNumber) -> &AtomicU64 {
        let leaf = self
            .leaves
            .get_or_init(leaf_position(page), new_leaf)
            .expect("page numbers are below PAGES_MAX when they are allocated");
        &leaf[slot_position(page)]
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether one of `snapshots` (ascending; the last stands for all later ones) sees a version of
/// `transaction` that `superseded_by` follows.
fn is_seen(snapshots: &[u64], transaction: u64, superseded_by: u64) -> bool {
    let first = snapshots.partition_point(|&snapshot| snapshot < transaction);
    snapshots
        .get(first)
        .is_none_or(|&snapshot| snapshot < superseded_by)
}

fn leaf_position(page: PageNumber) -> usize {
    to_usize(page.0) / LEAF_SLOTS
}

fn slot_position(page: PageNumber) -> usize {
    to_usize(page.0) % LEAF_SLOTS
}

fn new_leaf() -> Box<[AtomicU64]> {
    (0..LEAF_SLOTS).map(|_| AtomicU64::new(IN_FILE)).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn publish(table: &PageTable, frames: &Frames, page: u64, transaction: u64) -> FrameId {
        let frame = frames.allocate(1).expect("memory");
        let page = PageNumber(page);
        table.publish(
            transaction,
            std::iter::once(PublishedPage { page, frame }),
            frames,
        )[0]
        .1
    }

    #[test]
    fn snapshots_find_the_newest_version_they_may_see() {
        let (table, frames) = (PageTable::new(), Frames::new(None));
        let page = PageNumber(70_000);
        assert_eq!(
            table.find(page, 9, &frames),
            Location::File { validated: false }
        );
        let first = publish(&table, &frames, 70_000, 3);
        let second = publish(&table, &frames, 70_000, 5);
        assert_eq!(
            table.find(page, 2, &frames),
            Location::File { validated: false }
        );
        assert_eq!(table.find(page, 4, &frames), Location::Frame(first));
        assert_eq!(table.find(page, 5, &frames), Location::Frame(second));
    }

    #[test]
    fn removing_an_older_version_keeps_the_newer() {
        let (table, frames) = (PageTable::new(), Frames::new(None));
        let page = PageNumber(1);
        let first = publish(&table, &frames, 1, 1);
        let second = publish(&table, &frames, 1, 2);
        let third = publish(&table, &frames, 1, 3);
        let removed = table.remove_flushed(&[(page, second)], true, &frames);
        assert_eq!(removed, vec![second, first]);
        assert_eq!(table.find(page, 3, &frames), Location::Frame(third));
        assert_eq!(
            table.find(page, 2, &frames),
            Location::File { validated: true }
        );
        table.remove_flushed(&[(page, third)], true, &frames);
        assert!(!table.has_versions(page));
    }

    #[test]
    fn superseded_versions_go_unless_a_snapshot_or_the_flusher_needs_them() {
        let (table, frames, readers) = (PageTable::new(), Frames::new(None), Readers::new());
        let page = PageNumber(1);
        let versions: Vec<FrameId> = [3, 5, 6, 9, 11]
            .map(|transaction| publish(&table, &frames, 1, transaction))
            .into();
        let superseded =
            |durable: u64| table.remove_superseded(&[page], durable, &readers, &frames);
        let (pin, _) = readers.register(|| 5).expect("a free slot");
        assert_eq!(superseded(9), [versions[2], versions[0]], "6 and 3");
        assert_eq!(table.find(page, 5, &frames), Location::Frame(versions[1]));
        assert_eq!(table.find(page, 10, &frames), Location::Frame(versions[3]));
        // The flusher may write version 5 now, and looks for it when it has done so.
        assert_eq!(table.begin_flush(11, &readers), 5);
        drop(pin);
        assert_eq!(superseded(11), [versions[3]]);
        let removed = table.remove_flushed(&[(page, versions[1])], true, &frames);
        assert_eq!(removed, [versions[1]]);
        assert_eq!(table.find(page, 11, &frames), Location::Frame(versions[4]));
    }

    #[test]
    fn version_under_one_that_is_not_durable_stays() {
        let (table, frames, readers) = (PageTable::new(), Frames::new(None), Readers::new());
        let older = publish(&table, &frames, 1, 3);
        publish(&table, &frames, 1, 4);
        let page = PageNumber(1);
        assert_eq!(table.remove_superseded(&[page], 3, &readers, &frames), []);
        assert_eq!(table.find(page, 3, &frames), Location::Frame(older));
    }

    #[test]
    fn a_marker_leaves_the_file_copy_unvalidated() {
        let (table, frames) = (PageTable::new(), Frames::new(None));
        let page = PageNumber(4);
        table.mark_validated(page);
        let frame = frames.allocate(0).expect("memory");
        let published = table.publish(2, std::iter::once(PublishedPage { page, frame }), &frames);
        table.remove_flushed(&published, true, &frames);
        assert_eq!(
            table.find(page, 2, &frames),
            Location::File { validated: false }
        );
    }
}

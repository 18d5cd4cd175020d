//! Registry of active snapshots: what the flusher and the reclaimer must not overtake.
//!
//! A reader claims a slot, stores its snapshot and the reclaim epoch it started in, and clears the
//! slot when it ends. No locks; a slot is a cache line of its own, so readers do not disturb each
//! other. Source of the publish-then-recheck protocol: Dekker's algorithm; see `register`.
//!
//! Invariants:
//! - While a slot holds snapshot `s`, no page that `s` can see is overwritten in the data file
//!   (the flush horizon is at most `s`), and no frame retired in or after its epoch is re-used.
//! - The horizon is raised before the slots are scanned, and a reader stores its slot before it
//!   looks at the horizon: one of the two sees the other. It never falls, so a snapshot below it
//!   that a scan did not see is never read.

#[cfg(not(loom))]
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use jackdaw_base::sync::{AtomicU64, Ordering, fence};

/// Slots of one block; blocks are added as readers come.
const SLOTS_PER_BLOCK: usize = if cfg!(loom) { 2 } else { 64 };
/// 65,536 concurrent snapshots; each costs a cache line. More is a leak at the caller.
const BLOCKS_MAX: usize = 1024;
/// Slot value of nobody; snapshots are stored plus one.
const FREE: u64 = 0;
/// Position of a pin whose registration has moved on.
const NO_POSITION: usize = usize::MAX;

#[repr(align(64))]
struct Slot {
    snapshot_plus_one: AtomicU64,
    epoch: AtomicU64,
}

/// All active snapshots of one environment.
pub(crate) struct Readers {
    blocks: Box<[OnceLock<Box<[Slot]>>]>,
    /// New readers below this snapshot are refused; raised before the slots are scanned.
    horizon: AtomicU64,
    /// Counts batches of frames removed from the page table.
    epoch: AtomicU64,
}

/// Proof that a snapshot is registered; ends it when dropped.
pub(crate) struct ReaderPin {
    readers: Arc<Readers>,
    position: usize,
}

impl Readers {
    pub(crate) fn new() -> Arc<Readers> {
        Arc::new(Readers {
            blocks: (0..BLOCKS_MAX).map(|_| OnceLock::new()).collect(),
            horizon: AtomicU64::new(0),
            epoch: AtomicU64::new(1),
        })
    }

    /// Registers a snapshot chosen by `visible`, which is asked again when the flusher has moved
    /// past the first answer. `None` when all slots are taken.
    pub(crate) fn register(
        self: &Arc<Self>,
        visible: impl Fn() -> u64,
    ) -> Option<(ReaderPin, u64)> {
        let position = self.claim()?;
        let pin = ReaderPin {
            readers: Arc::clone(self),
            position,
        };
        let slot = self.slot(position);
        loop {
            let snapshot = visible();
            slot.epoch
                .store(self.epoch.load(Ordering::Acquire), Ordering::Release);
            slot.snapshot_plus_one
                .store(snapshot + 1, Ordering::Release);
            // Pairs with the fences of `advance_horizon` and `oldest_epoch`: either they see this
            // slot, or what follows here sees the horizon and the page table they left.
            fence(Ordering::SeqCst);
            if self.horizon.load(Ordering::SeqCst) <= snapshot {
                return Some((pin, snapshot));
            }
        }
    }

    fn claim(&self) -> Option<usize> {
        let start = own_slot();
        for (block_position, block) in self.blocks.iter().enumerate() {
            let block = block.get_or_init(new_block);
            for step in 0..SLOTS_PER_BLOCK {
                let slot_position = (start + step) % SLOTS_PER_BLOCK;
                let claimed = &block[slot_position].snapshot_plus_one;
                if claimed.load(Ordering::Relaxed) != FREE {
                    continue;
                }
                // The largest value pins nothing: it stands until the snapshot is known.
                if claimed
                    .compare_exchange(FREE, u64::MAX, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok()
                {
                    return Some(block_position * SLOTS_PER_BLOCK + slot_position);
                }
            }
        }
        None
    }

    fn slot(&self, position: usize) -> &Slot {
        let block = self.blocks[position / SLOTS_PER_BLOCK]
            .get()
            .expect("a claimed position lies in an initialized block");
        &block[position % SLOTS_PER_BLOCK]
    }

    /// Refuses new readers below `wanted` (a visible transaction) from now on, and gives the
    /// snapshots that are and may be read: the registered ones below it, ascending, then the
    /// horizon itself. What none of them sees will never be read again.
    pub(crate) fn advance_horizon(&self, wanted: u64) -> Vec<u64> {
        let before = self.horizon.fetch_max(wanted, Ordering::SeqCst);
        let horizon = before.max(wanted);
        fence(Ordering::SeqCst);
        let mut snapshots: Vec<u64> = self
            .snapshots()
            .filter(|&snapshot| snapshot < horizon)
            .collect();
        snapshots.sort_unstable();
        snapshots.push(horizon);
        snapshots
    }

    fn snapshots(&self) -> impl Iterator<Item = u64> {
        self.slots()
            .map(|slot| slot.snapshot_plus_one.load(Ordering::SeqCst))
            .filter(|&value| value != FREE && value != u64::MAX)
            .map(|value| value - 1)
    }

    /// The oldest registered snapshot.
    pub(crate) fn oldest_snapshot(&self) -> Option<u64> {
        self.snapshots().min()
    }

    /// Starts a new epoch after frames were removed from the page table, and gives it: the frames
    /// may be re-used when [`Readers::oldest_epoch`] has reached it.
    pub(crate) fn next_epoch(&self) -> u64 {
        self.epoch.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The epoch in which the longest running reader started; the current one without readers.
    pub(crate) fn oldest_epoch(&self) -> u64 {
        fence(Ordering::SeqCst);
        let current = self.epoch.load(Ordering::SeqCst);
        self.slots()
            .filter(|slot| {
                let value = slot.snapshot_plus_one.load(Ordering::SeqCst);
                value != FREE && value != u64::MAX
            })
            .map(|slot| slot.epoch.load(Ordering::SeqCst))
            .fold(current, u64::min)
    }

    /// Number of registered snapshots.
    pub(crate) fn count(&self) -> usize {
        self.slots()
            .filter(|slot| slot.snapshot_plus_one.load(Ordering::Relaxed) != FREE)
            .count()
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.blocks
            .iter()
            .map_while(OnceLock::get)
            .flat_map(|block| block.iter())
    }
}

impl ReaderPin {
    /// Moves the registration to a new pin; this one holds nothing any more, so nothing may be
    /// read under it.
    pub(crate) fn take(&mut self) -> ReaderPin {
        let position = std::mem::replace(&mut self.position, NO_POSITION);
        ReaderPin {
            readers: Arc::clone(&self.readers),
            position,
        }
    }
}

impl Drop for ReaderPin {
    fn drop(&mut self) {
        if self.position == NO_POSITION {
            return;
        }
        self.readers
            .slot(self.position)
            .snapshot_plus_one
            .store(FREE, Ordering::SeqCst);
    }
}

/// Where a thread's search for a free slot starts: each thread has a place of its own, so that the
/// cache line of its slot stays with it from one snapshot to the next.
#[cfg(not(loom))]
fn own_slot() -> usize {
    /// Neighbors are apart, for those that have several snapshots at a time. Odd: all are met.
    const DISTANCE: usize = 5;
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = THREADS.fetch_add(DISTANCE, Ordering::Relaxed) % SLOTS_PER_BLOCK;
    }
    // A thread that is ending has lost its own.
    OWN.try_with(|own| *own).unwrap_or_default()
}

/// All threads of a model meet.
#[cfg(loom)]
fn own_slot() -> usize {
    0
}

fn new_block() -> Box<[Slot]> {
    (0..SLOTS_PER_BLOCK)
        .map(|_| Slot {
            snapshot_plus_one: AtomicU64::new(FREE),
            epoch: AtomicU64::new(0),
        })
        .collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn oldest_reader_bounds_the_horizon() {
        let readers = Readers::new();
        let (pin, snapshot) = readers.register(|| 5).expect("a free slot");
        assert_eq!(snapshot, 5);
        let (_newer, _) = readers.register(|| 8).expect("a free slot");
        assert_eq!(readers.advance_horizon(9), [5, 8, 9]);
        drop(pin);
        assert_eq!(readers.advance_horizon(7), [8, 9]);
    }

    #[test]
    fn reader_below_the_horizon_takes_a_newer_snapshot() {
        let readers = Readers::new();
        readers.advance_horizon(7);
        let calls = std::cell::Cell::new(0);
        let (_pin, snapshot) = readers
            .register(|| {
                calls.set(calls.get() + 1);
                if calls.get() == 1 { 6 } else { 8 }
            })
            .expect("a free slot");
        assert_eq!(snapshot, 8);
    }

    #[test]
    fn epoch_of_a_running_reader_holds_frames_back() {
        let readers = Readers::new();
        let (pin, _) = readers.register(|| 1).expect("a free slot");
        let removed_in = readers.next_epoch();
        assert!(readers.oldest_epoch() < removed_in);
        drop(pin);
        assert_eq!(readers.oldest_epoch(), removed_in);
    }

    #[test]
    fn more_readers_than_one_block_holds() {
        let readers = Readers::new();
        let pins: Vec<_> = (0..200)
            .map(|snapshot| readers.register(|| snapshot + 10).expect("a free slot"))
            .collect();
        assert_eq!(readers.count(), 200);
        assert_eq!(readers.oldest_snapshot(), Some(10));
        drop(pins);
        assert_eq!(readers.count(), 0);
    }
}

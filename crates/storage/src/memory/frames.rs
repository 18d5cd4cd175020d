//! Scratch memory: frames that hold page versions between a transaction and the data file.
//!
//! Life of a frame: `allocate` (owned by one write transaction, mutable) -> `publish` (shared,
//! never changed again) -> `retire` (no longer found through the page table) -> `reclaim` (free
//! again, once no reader is left that may have found it). This module is one of the few with
//! `unsafe`: everything that hands out bytes of a frame is here.
//!
//! Invariants:
//! - An [`OwnedFrame`] is the only handle of its bytes; it is not `Clone` and `publish` eats it.
//! - A published frame's bytes change only after it was retired in epoch `e` and reclaimed with an
//!   oldest reader epoch of at least `e`; a [`ReaderPin`] from before `e` prevents that.
//! - Entries have stable addresses until the whole store is dropped, slabs and spilled segments
//!   while a frame of theirs is not free.
//!
//! Threads: the writer allocates and publishes, the flusher retires, both reclaim (one mutex);
//! readers only load from entries.
#![expect(
    unsafe_code,
    reason = "hands out references into frames that outlive any borrow of a lock"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::VecDeque;
use std::ptr;
use std::sync::PoisonError;

use jackdaw_base::lazy_array::LazyArray;
use jackdaw_base::sync::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering,
};

use super::ReaderPin;
use super::slabs::{Slabs, Spill};
use super::spilled_runs::SpilledRuns;
use crate::page::PAGE_BYTES;

/// Entries of one block; a block of single pages is one 2 MiB slab, a huge page. 65,536 blocks
/// make 128 GiB of page versions.
const BLOCK_ENTRIES: u32 = if cfg!(loom) { 4 } else { 256 };
const ENTRIES_PER_BLOCK: usize = BLOCK_ENTRIES as usize;
/// Alignment of frames: that of direct I/O.
const FRAME_ALIGNMENT: usize = 4096;
/// Memory of freed runs that is kept for others of the same length: values of one kind often come
/// in one length, and fresh memory costs as much as filling it.
const KEPT_RUN_PAGES_MAX: usize = (8 << 20) / PAGE_BYTES;
/// Runs kept, so that looking for one stays cheap.
const KEPT_RUNS_MAX: usize = 64;

/// Names a published or owned frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameId(u32);

impl FrameId {
    pub(crate) fn from_raw(raw: u64) -> FrameId {
        FrameId(u32::try_from(raw).expect("frame numbers stay below 65,536 * 256"))
    }

    pub(crate) fn raw(self) -> u64 {
        u64::from(self.0)
    }

    fn block(self) -> usize {
        self.0 as usize / ENTRIES_PER_BLOCK
    }
}

/// A frame that only its holder can see. Give it back with [`Frames::release`] or
/// [`Frames::publish`]; one that is dropped stays allocated until the store is dropped.
#[derive(Debug)]
pub(crate) struct OwnedFrame {
    id: FrameId,
}

struct Entry {
    data: AtomicPtr<u8>,
    /// 0 for a marker: a version that says "this page has no content of its own".
    page_count: AtomicU32,
    transaction: AtomicU64,
    /// Next older version, as a page table slot value.
    older: AtomicU64,
}

struct FreeLists {
    singles: Vec<FrameId>,
    /// Entries without memory: for runs (allocated and freed each time) and markers.
    bare: Vec<FrameId>,
    retired: VecDeque<(u64, FrameId)>,
    slabs: Slabs,
    block_count: usize,
    /// Memory of freed runs with their page counts.
    kept_runs: Vec<(u32, *mut u8)>,
    kept_run_pages: usize,
    spilled_runs: SpilledRuns,
}

// SAFETY: the raw pointers are owned memory of free runs, which nobody else leads to.
unsafe impl Send for FreeLists {}

/// The scratch memory of one environment.
pub(crate) struct Frames {
    blocks: LazyArray<Box<[Entry]>>,
    free: Mutex<FreeLists>,
    bytes_in_use: AtomicUsize,
}

impl Frames {
    /// Frames in memory; beyond a budget, in memory that can be written out.
    pub(crate) fn new(spill: Option<Spill>) -> Frames {
        let free = FreeLists {
            singles: Vec::new(),
            bare: Vec::new(),
            retired: VecDeque::new(),
            slabs: Slabs::new(ENTRIES_PER_BLOCK * PAGE_BYTES, spill),
            block_count: 0,
            kept_runs: Vec::new(),
            kept_run_pages: 0,
            spilled_runs: SpilledRuns::default(),
        };
        Frames {
            blocks: LazyArray::new(),
            free: Mutex::new(free),
            bytes_in_use: AtomicUsize::new(0),
        }
    }

    /// A frame of `page_count` pages with unspecified (but initialized) content. `None` when all
    /// 128 GiB of frames are in use, or the machine has no more memory.
    pub(crate) fn allocate(&self, page_count: u32) -> Option<OwnedFrame> {
        let mut free = self.lock();
        let id = if page_count == 1 {
            if free.singles.is_empty() {
                self.add_slab(&mut free)?;
            }
            free.singles.pop()?
        } else {
            if free.bare.is_empty() {
                self.add_bare_block(&mut free)?;
            }
            let id = free.bare.pop()?;
            let data = if page_count == 0 {
                ptr::null_mut()
            } else {
                let len_bytes = page_count as usize * PAGE_BYTES;
                let is_beyond_budget = free.slabs.is_beyond_budget(self.bytes_in_use() + len_bytes);
                free.take_run(page_count, is_beyond_budget)
            };
            self.entry(id).data.store(data, Ordering::Release);
            id
        };
        self.bytes_in_use
            .fetch_add(page_count as usize * PAGE_BYTES, Ordering::Relaxed);
        self.entry(id)
            .page_count
            .store(page_count, Ordering::Release);
        Some(OwnedFrame { id })
    }

    /// The bytes of an owned frame.
    pub(crate) fn owned<'a>(&'a self, frame: &'a OwnedFrame) -> &'a [u8] {
        let (data, len_bytes) = self.memory(frame.id);
        // SAFETY: the memory is initialized and `len_bytes` long, and stays while its frame is not
        // free, which takes the handle; the shared borrow of the only handle excludes writers.
        unsafe { std::slice::from_raw_parts(data, len_bytes) }
    }

    /// The bytes of an owned frame, for writing.
    pub(crate) fn owned_mut<'a>(&'a self, frame: &'a mut OwnedFrame) -> &'a mut [u8] {
        let (data, len_bytes) = self.memory(frame.id);
        // SAFETY: as in `owned`; the exclusive borrow of the only handle excludes everyone else.
        unsafe { std::slice::from_raw_parts_mut(data, len_bytes) }
    }

    /// The bytes of a published frame that was found through the page table under `pin`.
    pub(crate) fn published<'a>(&'a self, id: FrameId, _pin: &'a ReaderPin) -> &'a [u8] {
        let (data, len_bytes) = self.memory(id);
        // SAFETY: a published frame is never written, and it is not reclaimed while a reader that
        // registered before its retirement is alive; the pin is that reader, and `'a` borrows it.
        unsafe { std::slice::from_raw_parts(data, len_bytes) }
    }

    /// Makes an owned frame immutable and shareable.
    pub(crate) fn publish(&self, frame: OwnedFrame, transaction: u64, older: u64) -> FrameId {
        let entry = self.entry(frame.id);
        entry.transaction.store(transaction, Ordering::Release);
        entry.older.store(older, Ordering::Release);
        frame.id
    }

    /// Gives an owned frame back at once; nobody else can have seen it.
    pub(crate) fn release(&self, frame: OwnedFrame) {
        self.free_now(&mut self.lock(), frame.id);
    }

    /// Frames that the page table no longer leads to, since `epoch`.
    pub(crate) fn retire(&self, ids: impl Iterator<Item = FrameId>, epoch: u64) {
        let mut free = self.lock();
        for id in ids {
            free.retired.push_back((epoch, id));
        }
    }

    /// Frees what was retired in `oldest_epoch` or before.
    pub(crate) fn reclaim(&self, oldest_epoch: u64) {
        let mut free = self.lock();
        while let Some(&(epoch, id)) = free.retired.front() {
            if epoch > oldest_epoch {
                break;
            }
            free.retired.pop_front();
            self.free_now(&mut free, id);
        }
    }

    /// Whether everything of frames that the machine has written out arrived.
    ///
    /// # Errors
    /// What a write gave; the content of frames is unknown then.
    pub(crate) fn check_spilled(&self) -> std::io::Result<()> {
        self.lock().slabs.check_spilled()
    }

    /// Gives memory of free frames back to the machine until about `keep_bytes` are left.
    pub(crate) fn give_back(&self, keep_bytes: usize) {
        let mut free = self.lock();
        if let Some(segment) = free.spilled_runs.take_empty() {
            free.slabs.give_back_spilled(segment);
        }
        if keep_bytes == 0 {
            while !free.kept_runs.is_empty() {
                free.free_oldest_kept();
            }
        }
        if free.slabs.bytes() <= keep_bytes && !free.slabs.has_spilled() {
            return;
        }
        let mut free_frames = vec![0; free.block_count];
        for id in &free.singles {
            free_frames[id.block()] += 1;
        }
        let is_free = |block: u32| free_frames[block as usize] == ENTRIES_PER_BLOCK;
        let given_back = free.slabs.give_back(keep_bytes, is_free);
        for &block in &given_back {
            free_frames[block as usize] = 0;
        }
        free.singles.retain(|id| free_frames[id.block()] > 0);
        // The first frames are taken first, so that the last slabs become free again.
        free.singles
            .sort_unstable_by_key(|id| std::cmp::Reverse(id.0));
    }

    /// Transaction that made this version.
    pub(crate) fn transaction(&self, id: FrameId) -> u64 {
        self.entry(id).transaction.load(Ordering::Acquire)
    }

    /// Next older version, as a page table slot value.
    pub(crate) fn older(&self, id: FrameId) -> u64 {
        self.entry(id).older.load(Ordering::Acquire)
    }

    pub(crate) fn set_older(&self, id: FrameId, older: u64) {
        self.entry(id).older.store(older, Ordering::Release);
    }

    /// Pages of the frame; 0 for a marker.
    pub(crate) fn page_count(&self, id: FrameId) -> u32 {
        self.entry(id).page_count.load(Ordering::Acquire)
    }

    /// Memory of frames that are owned, published or retired.
    pub(crate) fn bytes_in_use(&self) -> usize {
        self.bytes_in_use.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, FreeLists> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, id: FrameId) -> &Entry {
        let block = self
            .blocks
            .get(id.block())
            .expect("a frame number lies in an initialized block");
        &block[id.0 as usize % ENTRIES_PER_BLOCK]
    }

    fn memory(&self, id: FrameId) -> (*mut u8, usize) {
        let entry = self.entry(id);
        let page_count = entry.page_count.load(Ordering::Acquire) as usize;
        assert!(page_count > 0, "a marker has no bytes");
        (entry.data.load(Ordering::Acquire), page_count * PAGE_BYTES)
    }

    fn free_now(&self, free: &mut FreeLists, id: FrameId) {
        let entry = self.entry(id);
        let page_count = entry.page_count.load(Ordering::Acquire);
        self.bytes_in_use
            .fetch_sub(page_count as usize * PAGE_BYTES, Ordering::Relaxed);
        if page_count == 1 {
            free.singles.push(id);
            return;
        }
        let data = entry.data.swap(ptr::null_mut(), Ordering::AcqRel);
        if page_count > 0 {
            free.free_run(data, page_count);
        }
        free.bare.push(id);
    }

    fn add_slab(&self, free: &mut FreeLists) -> Option<()> {
        let block = match free.slabs.take_idle_block() {
            Some(block) => block,
            None => self.add_block(free)? / BLOCK_ENTRIES,
        };
        let Some(base) = free.slabs.fill(block) else {
            free.slabs.leave_idle(block);
            return None;
        };
        let base = base.as_ptr();
        for position in (0..BLOCK_ENTRIES).rev() {
            let id = FrameId(block * BLOCK_ENTRIES + position);
            // SAFETY: the offset stays inside the slab of 256 pages allocated above.
            let data = unsafe { base.add(position as usize * PAGE_BYTES) };
            self.entry(id).data.store(data, Ordering::Release);
            free.singles.push(id);
        }
        Some(())
    }

    fn add_bare_block(&self, free: &mut FreeLists) -> Option<()> {
        let first = self.add_block(free)?;
        free.bare
            .extend((0..BLOCK_ENTRIES).rev().map(|step| FrameId(first + step)));
        Some(())
    }

    fn add_block(&self, free: &mut FreeLists) -> Option<u32> {
        let position = free.block_count;
        self.blocks.get_or_init(position, || {
            (0..ENTRIES_PER_BLOCK).map(|_| Entry::empty()).collect()
        })?;
        free.block_count += 1;
        u32::try_from(position * ENTRIES_PER_BLOCK).ok()
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        let free = self.free.get_mut().unwrap_or_else(PoisonError::into_inner);
        for block in self.blocks.iter() {
            for entry in block.iter() {
                let page_count = entry.page_count.load(Ordering::Acquire);
                let data = entry.data.load(Ordering::Acquire);
                if page_count > 1 && !data.is_null() && !free.spilled_runs.holds(data) {
                    free_bytes(data, page_count);
                }
            }
        }
        for (page_count, data) in free.kept_runs.drain(..) {
            free_bytes(data, page_count);
        }
    }
}

impl FreeLists {
    /// Memory for a run: that of an earlier one of the same length, if there is one.
    fn take_run(&mut self, page_count: u32, is_beyond_budget: bool) -> *mut u8 {
        let kept = self
            .kept_runs
            .iter()
            .rposition(|&(kept_pages, _)| kept_pages == page_count);
        if let Some(position) = kept {
            return self.take_kept(position).1;
        }
        let spilled = match is_beyond_budget {
            true => {
                let slabs = &mut self.slabs;
                let len_bytes = page_count as usize * PAGE_BYTES;
                self.spilled_runs
                    .take(len_bytes, |segment_bytes| slabs.spill(segment_bytes))
            }
            false => None,
        };
        spilled.unwrap_or_else(|| allocate_bytes(page_count))
    }

    /// Takes the memory of a run that was freed: it is kept, for which older ones of other lengths
    /// may have to go, unless it is a part of what was spilled.
    fn free_run(&mut self, data: *mut u8, page_count: u32) {
        if self.spilled_runs.holds(data) {
            if let Some(segment) = self.spilled_runs.give_back(data) {
                self.slabs.give_back_spilled(segment);
            }
            return;
        }
        if page_count as usize > KEPT_RUN_PAGES_MAX {
            return free_bytes(data, page_count);
        }
        self.kept_runs.push((page_count, data));
        self.kept_run_pages += page_count as usize;
        while self.kept_run_pages > KEPT_RUN_PAGES_MAX || self.kept_runs.len() > KEPT_RUNS_MAX {
            self.free_oldest_kept();
        }
    }

    fn free_oldest_kept(&mut self) {
        let (page_count, data) = self.take_kept(0);
        free_bytes(data, page_count);
    }

    fn take_kept(&mut self, position: usize) -> (u32, *mut u8) {
        let (page_count, data) = self.kept_runs.remove(position);
        self.kept_run_pages -= page_count as usize;
        (page_count, data)
    }
}

impl Entry {
    fn empty() -> Entry {
        Entry {
            data: AtomicPtr::new(ptr::null_mut()),
            page_count: AtomicU32::new(0),
            transaction: AtomicU64::new(0),
            older: AtomicU64::new(0),
        }
    }
}

fn layout(page_count: u32) -> Layout {
    Layout::from_size_align(page_count as usize * PAGE_BYTES, FRAME_ALIGNMENT)
        .expect("page counts are bounded far below the address space")
}

fn allocate_bytes(page_count: u32) -> *mut u8 {
    let layout = layout(page_count);
    // SAFETY: the layout has a size above zero: callers pass at least one page.
    let data = unsafe { alloc_zeroed(layout) };
    if data.is_null() {
        handle_alloc_error(layout);
    }
    data
}

fn free_bytes(data: *mut u8, page_count: u32) {
    // SAFETY: `data` came from `allocate_bytes` with the same page count, and its entry no longer
    // leads to it.
    unsafe { dealloc(data, layout(page_count)) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::Readers;

    #[test]
    fn retired_frame_is_reused_only_after_its_readers() {
        let frames = Frames::new(None);
        let readers = Readers::new();
        let mut frame = frames.allocate(1).expect("memory");
        frames.owned_mut(&mut frame).fill(7);
        let id = frames.publish(frame, 1, 0);
        let (pin, _) = readers.register(|| 1).expect("a free slot");
        let seen = frames.published(id, &pin);
        frames.retire([id].into_iter(), readers.next_epoch());
        frames.reclaim(readers.oldest_epoch());
        let mut other = frames.allocate(1).expect("memory");
        frames.owned_mut(&mut other).fill(9);
        assert!(seen.iter().all(|&byte| byte == 7));
        drop(pin);
        frames.reclaim(readers.oldest_epoch());
        assert_eq!(frames.bytes_in_use(), PAGE_BYTES);
    }

    #[test]
    fn slabs_of_free_frames_go_back_and_come_again() {
        let spill = Spill {
            vfs: jackdaw_io::MemoryVfs::new(),
            directory: "frames".into(),
            memory_bytes_max: 4 << 20,
        };
        let frames = Frames::new(Some(spill));
        let take = |count: usize| -> Vec<OwnedFrame> {
            (0..count)
                .map(|_| frames.allocate(1).expect("memory"))
                .collect()
        };
        let mut owned = take(20 * ENTRIES_PER_BLOCK);
        // One frame in the last slab keeps it.
        let mut kept = owned.pop().expect("many");
        frames.owned_mut(&mut kept).fill(5);
        owned.into_iter().for_each(|frame| frames.release(frame));
        frames.give_back(0);
        assert_eq!(
            frames.lock().slabs.bytes(),
            8 * ENTRIES_PER_BLOCK * PAGE_BYTES
        );
        assert!(frames.owned(&kept).iter().all(|&byte| byte == 5));
        let mut again = take(20 * ENTRIES_PER_BLOCK);
        let values = || (0..=u8::MAX).cycle();
        for (frame, value) in again.iter_mut().zip(values()) {
            frames.owned_mut(frame).fill(value);
        }
        for (frame, value) in again.iter().zip(values()) {
            assert!(frames.owned(frame).iter().all(|&byte| byte == value));
        }
        assert!(frames.owned(&kept).iter().all(|&byte| byte == 5));
    }

    #[test]
    fn runs_beyond_the_budget_are_spilled_and_their_segments_go_back() {
        let spill = Spill {
            vfs: jackdaw_io::RealVfs::new(),
            directory: std::env::temp_dir(),
            memory_bytes_max: 1 << 20,
        };
        let frames = Frames::new(Some(spill));
        let take = |page_count: u32| {
            let mut frame = frames.allocate(page_count).expect("memory");
            // Of 300 pages, not that of 44.
            let value = (page_count % 251).to_le_bytes()[0];
            frames.owned_mut(&mut frame).fill(value);
            (frame, value)
        };
        let check = |owned: &[(OwnedFrame, u8)]| {
            for (frame, value) in owned {
                assert!(frames.owned(frame).iter().all(|byte| byte == value));
            }
        };
        // One is longer than a segment.
        let mut owned: Vec<_> = (2..100).chain([300]).map(take).collect();
        let segments = || frames.lock().spilled_runs.segment_count();
        let segments_before = segments();
        if segments_before == 0 {
            println!("skipped: the temporary directory is on a disk that takes no memory");
            return;
        }
        check(&owned);
        let bytes = frames.bytes_in_use();
        for (frame, _) in owned.drain(40..60) {
            frames.release(frame);
        }
        owned.extend((42..62).map(take));
        check(&owned);
        for (frame, _) in owned.drain(..) {
            frames.release(frame);
        }
        assert_eq!(segments(), 1, "the one that takes the next runs");
        frames.give_back(usize::MAX);
        assert_eq!(segments(), 0);
        owned.extend((2..100).chain([300]).map(take));
        check(&owned);
        assert_eq!(frames.bytes_in_use(), bytes);
        assert_eq!(segments(), segments_before);
        // The rest goes with the store.
    }

    #[test]
    fn a_long_run_that_is_freed_leaves_kept_ones_alone() {
        let frames = Frames::new(None);
        let short = frames.allocate(32).expect("memory");
        let long = frames
            .allocate(u32::try_from(KEPT_RUN_PAGES_MAX).expect("few") + 1)
            .expect("memory");
        frames.release(short);
        frames.release(long);
        assert_eq!(frames.lock().kept_run_pages, 32);
        frames.give_back(0);
        assert_eq!(frames.lock().kept_run_pages, 0);
    }

    #[test]
    fn runs_markers_and_singles_come_back() {
        let frames = Frames::new(None);
        let owned: Vec<_> = [0, 1, 2, 300, 1, 0]
            .map(|pages| frames.allocate(pages).expect("memory"))
            .into();
        assert_eq!(frames.bytes_in_use(), 304 * PAGE_BYTES);
        for frame in owned {
            frames.release(frame);
        }
        assert_eq!(frames.bytes_in_use(), 0);
    }
}

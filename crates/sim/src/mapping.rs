//! Maps of simulated files: real memory at a fixed address that mirrors the live content.
//!
//! Made by `SimFile::map`; `vfs` mirrors each later change of a mapped file, under its lock.
//! Regions are handed on from image to image: a crash sweep maps thousands of disks that differ
//! in a few blocks, and only those are copied.
//!
//! Invariants:
//! - Below `covered_bytes` the memory equals the live content of the file.
//! - Only bytes that an operation changes are written below `covered_bytes`, so that readers of
//!   other ranges are never disturbed.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackdaw_io::{AnonymousRegion, Mapping};

use crate::disk::{BLOCK_BYTES, Block, Content, FileId};
use crate::state::Shared;

/// Address space of each region. Simulated files are far smaller; reserving costs nothing.
const REGION_BYTES: u64 = 16 << 30;

/// Regions kept for the next image: as many files as a test maps at the same time.
const POOL_REGIONS_MAX: usize = 8;

/// Regions that grew beyond this are given back to the machine instead of kept.
const POOLED_REGION_BYTES_MAX: u64 = 64 << 20;

static POOL: Mutex<Vec<Mirror>> = Mutex::new(Vec::new());

/// What a block of a region holds: `None` is unknown, `Some(None)` zero.
type Held = Option<Option<Arc<Block>>>;

/// A region and what each of its blocks holds.
struct Mirror {
    region: Arc<AnonymousRegion>,
    held: Vec<Held>,
}

impl Mirror {
    fn take() -> io::Result<Self> {
        if let Some(pooled) = lock(&POOL).pop() {
            return Ok(pooled);
        }
        let region = Arc::new(AnonymousRegion::reserve(REGION_BYTES)?);
        Ok(Self {
            region,
            held: Vec::new(),
        })
    }
}

/// A map of a simulated file.
pub(crate) struct SimMapping {
    shared: Arc<Shared>,
    file: FileId,
    path: Arc<str>,
    region: Arc<AnonymousRegion>,
    held: Mutex<Vec<Held>>,
    covered_bytes: AtomicU64,
}

impl SimMapping {
    pub(crate) fn new(shared: Arc<Shared>, file: FileId, path: Arc<str>) -> io::Result<Self> {
        let Mirror { region, held } = Mirror::take()?;
        Ok(Self {
            shared,
            file,
            path,
            region,
            held: Mutex::new(held),
            covered_bytes: AtomicU64::new(0),
        })
    }

    pub(crate) fn file(&self) -> FileId {
        self.file
    }

    /// Path that the file was opened by.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Shows `content` up to `len_bytes`. The caller holds the lock of the disk.
    pub(crate) fn cover_content(&self, content: &Content, len_bytes: u64) -> io::Result<()> {
        let covered = self.covered_bytes();
        if len_bytes <= covered {
            return Ok(());
        }
        let end = len_bytes.next_multiple_of(BLOCK_BYTES as u64);
        self.region.grow(end)?;
        let mut held = lock(&self.held);
        let limit = usize::try_from(end).expect("inside a region") / BLOCK_BYTES;
        if held.len() < limit {
            held.resize(limit, Some(None));
        }
        let first = usize::try_from(covered).expect("inside a region") / BLOCK_BYTES;
        for (block_pos, held) in held.iter_mut().enumerate().take(limit).skip(first) {
            let block = content.block(block_pos);
            if holds(held, block) {
                continue;
            }
            // Below `covered` the block is up to date, and may be read at this moment.
            let block_start = (block_pos * BLOCK_BYTES) as u64;
            let start = covered.max(block_start);
            let inside = usize::try_from(start - block_start).expect("inside a block");
            self.region
                .write(start, &content.block_bytes(block_pos)[inside..]);
            *held = Some(block.cloned());
        }
        self.covered_bytes.store(len_bytes, Ordering::Release);
        Ok(())
    }

    /// Shows a change of `start..end`. The caller holds the lock of the disk.
    pub(crate) fn mirror(&self, content: &Content, start: u64, end: u64) {
        let covered = self.covered_bytes();
        let mut held = lock(&self.held);
        for block_pos in crate::disk::blocks_of(start, end) {
            let Some(held) = held.get_mut(block_pos) else {
                break;
            };
            let block = content.block(block_pos);
            if holds(held, block) {
                continue;
            }
            let part = crate::disk::part_in_block(block_pos, start, end.min(covered));
            let block_start = (block_pos * BLOCK_BYTES) as u64;
            if !part.is_empty() {
                let bytes = &content.block_bytes(block_pos)[part.clone()];
                self.region.write(block_start + part.start as u64, bytes);
            }
            let is_all_covered = block_start + BLOCK_BYTES as u64 <= covered;
            *held = if is_all_covered {
                Some(block.cloned())
            } else {
                None
            };
        }
    }
}

impl Mapping for SimMapping {
    fn cover(&self, len_bytes: u64) -> io::Result<()> {
        if len_bytes <= self.covered_bytes() {
            return Ok(());
        }
        self.shared.cover(self, len_bytes)
    }

    fn covered_bytes(&self) -> u64 {
        self.covered_bytes.load(Ordering::Acquire)
    }

    fn base(&self) -> *const u8 {
        self.region.base()
    }

    fn will_need(&self, _offset: u64, _len_bytes: u64) {}

    fn release_resident(&self) {}
}

impl Drop for SimMapping {
    fn drop(&mut self) {
        let held = std::mem::take(&mut *lock(&self.held));
        let mut pool = lock(&POOL);
        let is_small = self.region.len_bytes() <= POOLED_REGION_BYTES_MAX;
        if is_small && pool.len() < POOL_REGIONS_MAX {
            pool.push(Mirror {
                region: self.region.clone(),
                held,
            });
        }
    }
}

fn holds(held: &Held, block: Option<&Arc<Block>>) -> bool {
    match (held, block) {
        (Some(None), None) => true,
        (Some(Some(held)), Some(block)) => Arc::ptr_eq(held, block),
        _ => false,
    }
}

/// The locks here guard no state that a panic could leave half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs, VfsFile};

    use super::*;
    use crate::vfs::{CrashChoice, SimVfs};

    const BLOCK: u64 = BLOCK_BYTES as u64;

    fn open(vfs: &SimVfs, mode: OpenMode) -> crate::file::SimFile {
        vfs.open_file(
            Path::new("data"),
            OpenOptions {
                mode,
                direct: false,
            },
        )
        .unwrap()
    }

    /// Compares the memory with what reading the file gives, as far as it is covered.
    fn assert_mirrors(mapping: &SimMapping, file: &dyn VfsFile) {
        let len = usize::try_from(mapping.covered_bytes()).unwrap();
        let (mut seen, mut read) = (vec![0; len], vec![0; len]);
        mapping.region.read(0, &mut seen);
        file.read_at(&mut read, 0).unwrap();
        assert!(seen == read);
    }

    #[test]
    fn memory_follows_every_kind_of_change() {
        let vfs = SimVfs::new(1);
        let file = open(&vfs, OpenMode::CreateNew);
        let mapping = file.map_mirror().unwrap();
        file.write_at(&[1; 10_000], 0, Durability::None).unwrap();
        assert_eq!(
            mapping.cover(10_001).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        mapping.cover(5_000).unwrap();
        assert_mirrors(&mapping, &file);
        let base = mapping.base();
        // Beyond what is covered, across the border, and below it.
        file.write_at(&[2; 100], 6_000, Durability::Data).unwrap();
        file.write_at(&[3; 100], 4_950, Durability::None).unwrap();
        file.write_at(&[4; 3], 7, Durability::None).unwrap();
        assert_mirrors(&mapping, &file);
        mapping.cover(10_000).unwrap();
        assert_mirrors(&mapping, &file);
        file.punch_hole(4_000, 3_000).unwrap();
        assert_mirrors(&mapping, &file);
        file.allocate(0, 5 * BLOCK).unwrap();
        mapping.cover(5 * BLOCK).unwrap();
        file.sync().unwrap();
        assert_mirrors(&mapping, &file);
        vfs.flip(Path::new("data"), 9_999, 0x40).unwrap();
        assert_mirrors(&mapping, &file);
        file.set_len(300).unwrap();
        file.set_len(5 * BLOCK).unwrap();
        assert_mirrors(&mapping, &file);
        assert_eq!(mapping.base(), base);
    }

    #[test]
    fn regions_handed_on_show_the_new_disk() {
        let vfs = SimVfs::new(1);
        let file = open(&vfs, OpenMode::CreateNew);
        vfs.sync_directory(Path::new("")).unwrap();
        for round in 0..40_u8 {
            file.write_at(&[round; 700], u64::from(round) * 900, Durability::None)
                .unwrap();
            let image = vfs.crash(CrashChoice::Random(u64::from(round)));
            let file = open(&image, OpenMode::ReadWrite);
            let mapping = file.map_mirror().unwrap();
            assert_eq!(mapping.covered_bytes(), 0);
            mapping.cover(file.len_bytes().unwrap()).unwrap();
            assert_mirrors(&mapping, &file);
            file.write_at(b"written by recovery", 0, Durability::None)
                .unwrap();
            mapping.cover(file.len_bytes().unwrap()).unwrap();
            assert_mirrors(&mapping, &file);
        }
    }
}

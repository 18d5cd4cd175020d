//! A disk that breaks its promises in one way, between the engine and the simulated disk.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jackdaw_io::{DirectoryEntry, Durability, FileLock, Mapping, OpenOptions, Vfs, VfsFile};
use jackdaw_sim::SimVfs;

/// Every how many writes of the data file one goes wrong.
const WRONG_EVERY: u64 = 20;
const UNIT_BYTES: usize = 4096;

/// The promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Syncs of the data file do nothing.
    SkipDataSync,
    /// Directory syncs of the journal do nothing.
    SkipJournalDirectorySync,
    /// Durable writes of journals are as volatile as all others.
    VolatileJournal,
    /// Durable writes of the meta file are as volatile as all others.
    VolatileMeta,
    /// Long writes of journals leave out their last 4 KiB.
    ShortJournalWrite,
    /// Some writes of the data file do not happen.
    LostDataWrite,
    /// Some writes of the data file go one page too far.
    MisdirectedDataWrite,
}

/// See the file head.
pub struct LyingVfs {
    inner: Arc<SimVfs>,
    lie: Lie,
}

impl LyingVfs {
    /// A disk over `inner`.
    #[must_use]
    pub fn new(inner: Arc<SimVfs>, lie: Lie) -> LyingVfs {
        LyingVfs { inner, lie }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Data,
    Meta,
    Journal,
}

struct LyingFile {
    inner: Arc<dyn VfsFile>,
    lie: Lie,
    role: Role,
    writes: AtomicU64,
}

impl Vfs for LyingVfs {
    fn open(&self, path: &Path, options: OpenOptions) -> io::Result<Arc<dyn VfsFile>> {
        let name = path.to_string_lossy();
        let role = match () {
            () if name.contains("/journal/") => Role::Journal,
            () if name.ends_with("data.jd") => Role::Data,
            () => Role::Meta,
        };
        Ok(Arc::new(LyingFile {
            inner: self.inner.open(path, options)?,
            lie: self.lie,
            role,
            writes: AtomicU64::new(0),
        }))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        if self.lie == Lie::SkipJournalDirectorySync && path.ends_with("journal") {
            return Ok(());
        }
        self.inner.sync_directory(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.inner.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.inner.lock_shared(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.create_directory(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.inner.list(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_directory(path)
    }

    fn unix_nanos(&self) -> u64 {
        self.inner.unix_nanos()
    }

    fn monotonic_nanos(&self) -> u64 {
        self.inner.monotonic_nanos()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.inner.fill_random(buffer);
    }
}

impl LyingFile {
    fn tells(&self, lie: Lie, role: Role) -> bool {
        self.lie == lie && self.role == role
    }
}

impl VfsFile for LyingFile {
    fn write_at(&self, bytes: &[u8], offset: u64, durability: Durability) -> io::Result<()> {
        let is_wrong =
            (self.writes.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(WRONG_EVERY);
        if self.tells(Lie::LostDataWrite, Role::Data) && is_wrong {
            return Ok(());
        }
        if self.tells(Lie::MisdirectedDataWrite, Role::Data) && is_wrong {
            return self.inner.write_at(bytes, offset + 8192, durability);
        }
        let is_volatile = self.tells(Lie::VolatileJournal, Role::Journal)
            || self.tells(Lie::VolatileMeta, Role::Meta);
        if is_volatile {
            return self.inner.write_at(bytes, offset, Durability::None);
        }
        if self.tells(Lie::ShortJournalWrite, Role::Journal) && bytes.len() > UNIT_BYTES {
            // The end keeps what it held.
            let mut kept = jackdaw_io::AlignedBuffer::zeroed(bytes.len());
            self.inner.read_at(&mut kept, offset)?;
            let end = bytes.len() - UNIT_BYTES;
            kept[..end].copy_from_slice(&bytes[..end]);
            return self.inner.write_at(&kept, offset, durability);
        }
        self.inner.write_at(bytes, offset, durability)
    }

    fn sync(&self) -> io::Result<()> {
        if self.tells(Lie::SkipDataSync, Role::Data) {
            return Ok(());
        }
        self.inner.sync()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(buffer, offset)
    }

    fn start_write_back(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.inner.start_write_back(offset, len_bytes)
    }

    fn len_bytes(&self) -> io::Result<u64> {
        self.inner.len_bytes()
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.inner.set_len(len_bytes)
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.inner.allocate(offset, len_bytes)
    }

    fn punch_hole(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.inner.punch_hole(offset, len_bytes)
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Arc<dyn Mapping>> {
        self.inner.map(reserve_bytes)
    }

    fn is_direct(&self) -> bool {
        self.inner.is_direct()
    }
}

//! Files in memory: the seam without a disk behind it, for databases that need not outlive their
//! process.
//!
//! [`MemoryVfs`] is handed to the engine like `RealVfs`; clock and entropy are the machine's.
//! A file is a vector until it is mapped, and from then on a region at a fixed address.
//!
//! Invariants:
//! - Bytes that become part of a file by growing are zero, also after it was cut.
//! - A file lives as long as its name or a handle of it.
//!
//! Threads: any; each file has a lock, and readers of a map go around it as with real files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::locks::{LockMode, LockTable};
use crate::map::AnonymousRegion;
use crate::real::RealVfs;
use crate::vfs::{
    DirectoryEntry, Durability, FileLock, Mapping, OpenMode, OpenOptions, Vfs, VfsFile,
};

/// Address space of a mapped file, which is as long as it can become. A process has room for a
/// thousand such files.
const REGION_BYTES_MAX: u64 = 64 << 30;

/// See the file head.
pub struct MemoryVfs {
    machine: Arc<RealVfs>,
    names: Mutex<BTreeMap<PathBuf, Node>>,
    locked: Arc<Mutex<LockTable<PathBuf>>>,
}

#[derive(Clone)]
enum Node {
    Directory,
    File(Arc<MemoryFile>),
}

struct MemoryFile {
    content: Mutex<Content>,
}

struct Content {
    len_bytes: u64,
    bytes: Bytes,
}

enum Bytes {
    Unmapped(Vec<u8>),
    Mapped(Arc<AnonymousRegion>),
}

struct MemoryMapping {
    region: Arc<AnonymousRegion>,
    covered_bytes: AtomicU64,
}

struct MemoryLock {
    path: PathBuf,
    locked: Arc<Mutex<LockTable<PathBuf>>>,
}

impl MemoryVfs {
    /// An empty file system.
    #[must_use]
    pub fn new() -> Arc<MemoryVfs> {
        Arc::new(MemoryVfs {
            machine: RealVfs::new(),
            names: Mutex::new(BTreeMap::new()),
            locked: Arc::default(),
        })
    }

    fn take_lock(&self, path: &Path, mode: LockMode) -> io::Result<Box<dyn FileLock>> {
        if !lock(&self.locked).take(path.to_owned(), mode) {
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        Ok(Box::new(MemoryLock {
            path: path.to_owned(),
            locked: Arc::clone(&self.locked),
        }))
    }
}

fn missing(path: &Path) -> io::Error {
    let text = format!("there is no {} in memory", path.display());
    io::Error::new(io::ErrorKind::NotFound, text)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Vfs for MemoryVfs {
    fn open(&self, path: &Path, options: OpenOptions) -> io::Result<Arc<dyn VfsFile>> {
        let mut names = lock(&self.names);
        let is_new = options.mode == OpenMode::CreateNew;
        match names.get(path) {
            Some(_) if is_new => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
            Some(Node::File(file)) => Ok(Arc::clone(file) as Arc<dyn VfsFile>),
            Some(Node::Directory) => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            None if is_new => {
                let file = Arc::new(MemoryFile::new());
                names.insert(path.to_owned(), Node::File(Arc::clone(&file)));
                Ok(file)
            }
            None => Err(missing(path)),
        }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let held = self.take_lock(path, LockMode::Exclusive)?;
        lock(&self.names)
            .entry(path.to_owned())
            .or_insert_with(|| Node::File(Arc::new(MemoryFile::new())));
        Ok(held)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        if !lock(&self.names).contains_key(path) {
            return Err(missing(path));
        }
        self.take_lock(path, LockMode::Shared)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut names = lock(&self.names);
        for ancestor in path.ancestors() {
            names.entry(ancestor.to_owned()).or_insert(Node::Directory);
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let names = lock(&self.names);
        if !matches!(names.get(path), Some(Node::Directory)) {
            return Err(missing(path));
        }
        let inside = names.iter().filter(|(name, _)| name.parent() == Some(path));
        Ok(inside
            .filter_map(|(name, node)| {
                let name = name.file_name()?.to_string_lossy().into_owned();
                Some(match node {
                    Node::Directory => DirectoryEntry {
                        name,
                        is_directory: true,
                        len_bytes: 0,
                    },
                    Node::File(file) => DirectoryEntry {
                        name,
                        is_directory: false,
                        len_bytes: lock(&file.content).len_bytes,
                    },
                })
            })
            .collect())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(lock(&self.names).contains_key(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut names = lock(&self.names);
        let node = names.remove(from).ok_or_else(|| missing(from))?;
        let is_directory = matches!(node, Node::Directory);
        names.insert(to.to_owned(), node);
        if !is_directory {
            return Ok(());
        }
        let inside: Vec<PathBuf> = names
            .keys()
            .filter(|name| name.starts_with(from))
            .cloned()
            .collect();
        for name in inside {
            let moved = name.strip_prefix(from).map(|rest| to.join(rest));
            if let (Ok(moved), Some(node)) = (moved, names.remove(&name)) {
                names.insert(moved, node);
            }
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut names = lock(&self.names);
        match names.get(path) {
            Some(Node::File(_)) => names.remove(path),
            _ => return Err(missing(path)),
        };
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut names = lock(&self.names);
        if !names.contains_key(path) {
            return Err(missing(path));
        }
        names.retain(|name, _| !name.starts_with(path));
        Ok(())
    }

    fn sync_directory(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn unix_nanos(&self) -> u64 {
        self.machine.unix_nanos()
    }

    fn monotonic_nanos(&self) -> u64 {
        self.machine.monotonic_nanos()
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        self.machine.fill_random(buffer);
    }
}

impl MemoryFile {
    fn new() -> MemoryFile {
        MemoryFile {
            content: Mutex::new(Content {
                len_bytes: 0,
                bytes: Bytes::Unmapped(Vec::new()),
            }),
        }
    }
}

fn range(offset: u64, len_bytes: u64) -> io::Result<std::ops::Range<usize>> {
    let end = offset.checked_add(len_bytes);
    let numbers = end.map(|end| (usize::try_from(offset), usize::try_from(end)));
    match numbers {
        Some((Ok(start), Ok(end))) => Ok(start..end),
        _ => Err(io::Error::from(io::ErrorKind::FileTooLarge)),
    }
}

impl Content {
    fn grow(&mut self, len_bytes: u64) -> io::Result<()> {
        if len_bytes <= self.len_bytes {
            return Ok(());
        }
        match &mut self.bytes {
            Bytes::Unmapped(bytes) => bytes.resize(range(0, len_bytes)?.end, 0),
            Bytes::Mapped(region) => region.grow(len_bytes)?,
        }
        self.len_bytes = len_bytes;
        Ok(())
    }

    /// Makes bytes below the length zero.
    fn clear(&mut self, offset: u64, len_bytes: u64) -> io::Result<()> {
        match &mut self.bytes {
            Bytes::Unmapped(bytes) => bytes[range(offset, len_bytes)?].fill(0),
            Bytes::Mapped(region) => region.clear(offset, len_bytes),
        }
        Ok(())
    }
}

impl VfsFile for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let content = lock(&self.content);
        let range = range(offset, buffer.len() as u64)?;
        if range.end as u64 > content.len_bytes {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        match &content.bytes {
            Bytes::Unmapped(bytes) => buffer.copy_from_slice(&bytes[range]),
            Bytes::Mapped(region) => region.read(offset, buffer),
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64, _durability: Durability) -> io::Result<()> {
        let mut content = lock(&self.content);
        let range = range(offset, bytes.len() as u64)?;
        content.grow(range.end as u64)?;
        match &mut content.bytes {
            Bytes::Unmapped(held) => held[range].copy_from_slice(bytes),
            Bytes::Mapped(region) => region.write(offset, bytes),
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn start_write_back(&self, _offset: u64, _len_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn len_bytes(&self) -> io::Result<u64> {
        Ok(lock(&self.content).len_bytes)
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        let mut content = lock(&self.content);
        content.grow(len_bytes)?;
        let cut = content.len_bytes - len_bytes;
        content.clear(len_bytes, cut)?;
        if let Bytes::Unmapped(bytes) = &mut content.bytes {
            bytes.truncate(range(0, len_bytes)?.end);
            bytes.shrink_to_fit();
        }
        content.len_bytes = len_bytes;
        Ok(())
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let end = range(offset, len_bytes)?.end as u64;
        lock(&self.content).grow(end)
    }

    fn punch_hole(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let mut content = lock(&self.content);
        let end = (range(offset, len_bytes)?.end as u64).min(content.len_bytes);
        content.clear(offset.min(end), end.saturating_sub(offset))
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Arc<dyn Mapping>> {
        let mut content = lock(&self.content);
        let region = match &content.bytes {
            Bytes::Mapped(region) => Arc::clone(region),
            Bytes::Unmapped(bytes) => {
                let reserve_bytes = reserve_bytes.min(REGION_BYTES_MAX).max(content.len_bytes);
                let region = AnonymousRegion::reserve(reserve_bytes)?;
                region.grow(content.len_bytes)?;
                region.write(0, bytes);
                Arc::new(region)
            }
        };
        content.bytes = Bytes::Mapped(Arc::clone(&region));
        Ok(Arc::new(MemoryMapping {
            region,
            covered_bytes: AtomicU64::new(0),
        }))
    }

    fn is_direct(&self) -> bool {
        false
    }
}

impl Mapping for MemoryMapping {
    fn cover(&self, len_bytes: u64) -> io::Result<()> {
        if self.region.len_bytes() < len_bytes {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        self.covered_bytes.fetch_max(len_bytes, Ordering::Release);
        Ok(())
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

impl FileLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        lock(&self.locked).release(std::mem::take(&mut self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: OpenOptions = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: true,
    };

    fn bytes(file: &dyn VfsFile, offset: u64, len_bytes: usize) -> Vec<u8> {
        let mut bytes = vec![9; len_bytes];
        file.read_at(&mut bytes, offset).unwrap();
        bytes
    }

    #[test]
    fn files_grow_with_zeros_and_keep_what_is_written_mapped_or_not() {
        let vfs = MemoryVfs::new();
        let file = vfs.open(Path::new("/f"), NEW).unwrap();
        file.write_at(b"abc", 5, Durability::Data).unwrap();
        assert_eq!(bytes(&*file, 0, 8), b"\0\0\0\0\0abc");
        let mapping = file.map(1 << 40).unwrap();
        file.write_at(b"def", 20_000, Durability::Data).unwrap();
        mapping.cover(20_003).unwrap();
        assert_eq!(bytes(&*file, 5, 4), b"abc\0");
        file.punch_hole(0, 7).unwrap();
        assert_eq!(bytes(&*file, 4, 4), b"\0\0\0c");
        file.set_len(6).unwrap();
        file.set_len(30_000).unwrap();
        assert!(bytes(&*file, 0, 30_000).iter().all(|&byte| byte == 0));
        let error = file.read_at(&mut [0; 2], 29_999).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn names_behave_like_those_of_a_disk() {
        let vfs = MemoryVfs::new();
        let (a, b) = (Path::new("/d/a"), Path::new("/d/e/b"));
        vfs.create_directory(Path::new("/d/e")).unwrap();
        vfs.open(a, NEW).unwrap();
        assert!(vfs.open(a, NEW).is_err());
        vfs.rename(a, b).unwrap();
        assert!(!vfs.exists(a).unwrap() && vfs.exists(b).unwrap());
        assert_eq!(vfs.list(Path::new("/d")).unwrap().len(), 1);
        vfs.rename(Path::new("/d/e"), Path::new("/d/f")).unwrap();
        assert!(vfs.exists(Path::new("/d/f/b")).unwrap());
        assert!(vfs.lock_shared(Path::new("/d/LOCK")).is_err());
        let held = vfs.lock(Path::new("/d/LOCK")).unwrap();
        assert!(vfs.lock(Path::new("/d/LOCK")).is_err());
        assert!(vfs.lock_shared(Path::new("/d/LOCK")).is_err());
        drop(held);
        let shared = [(); 2].map(|()| vfs.lock_shared(Path::new("/d/LOCK")).unwrap());
        assert!(vfs.lock(Path::new("/d/LOCK")).is_err());
        drop(shared);
        assert!(vfs.lock(Path::new("/d/LOCK")).is_ok());
        vfs.remove_directory(Path::new("/d")).unwrap();
        assert!(!vfs.exists(Path::new("/d/f/b")).unwrap());
        assert!(vfs.list(Path::new("/d")).is_err());
    }
}

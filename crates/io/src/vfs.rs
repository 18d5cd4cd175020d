//! The seam between the engine and the machine: directories, files, mappings, clock, entropy.
//!
//! `RealVfs` (this crate) is Linux; `SimVfs` (crate `sim`) is a disk with faults. The engine never
//! asks which one it has.
//!
//! Invariants every implementation keeps:
//! - A write with [`Durability::Data`] has survived power loss when it returns `Ok`, and so have
//!   the file length and everything needed to read the written bytes back. It says nothing about
//!   other writes, nor about the directory entry of the file.
//! - A created, renamed or removed name is durable only after [`Vfs::sync_directory`].
//! - After an error of `write_at` or `sync` the content of the written range is unknown.

use std::io;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::spill::SpillFile;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Existing file, reads only.
    Read,
    /// Existing file, reads and writes.
    ReadWrite,
    /// New file, reads and writes; fails with `AlreadyExists` when the name is taken.
    CreateNew,
}

/// Options of [`Vfs::open`].
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Access and creation.
    pub mode: OpenMode,
    /// Ask for unbuffered I/O. A file system that refuses it gives a buffered file instead
    /// ([`VfsFile::is_direct`] tells); durability is the same either way.
    pub direct: bool,
}

/// What a write promises when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Readers of this process see it. Power loss may undo all or part of it, by 512-byte sector.
    None,
    /// It survives power loss.
    Data,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Name without the directory.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Length in bytes (0 for directories).
    pub len_bytes: u64,
}

/// What a name stands for; symbolic links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// Nothing.
    Missing,
    /// An ordinary file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// The path from the root on, without `.` and `..`. Symbolic links are not looked at.
///
/// # Errors
/// The current directory cannot be found.
pub fn absolute_path(path: &Path) -> io::Result<PathBuf> {
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    let mut whole = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::ParentDir => {
                whole.pop();
            }
            other => whole.push(other),
        }
    }
    Ok(whole)
}

/// A file system, a clock and a source of entropy.
pub trait Vfs: Send + Sync + 'static {
    /// Opens or creates a file.
    fn open(&self, path: &Path, options: OpenOptions) -> io::Result<Arc<dyn VfsFile>>;
    /// Takes the exclusive lock of `path`, creating the file if needed.
    ///
    /// # Errors
    /// `WouldBlock` when another process (or another handle of this one) holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>>;
    /// Takes a shared lock of `path`, a file that exists: several at once, none beside an exclusive
    /// one. Writes nothing.
    ///
    /// # Errors
    /// `WouldBlock` when somebody holds the exclusive lock, `NotFound` without the file.
    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn FileLock>>;
    /// Creates a directory and its missing parents, and makes the new names durable.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, in unspecified order.
    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>>;
    /// Whether a file or directory of that name exists.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// What a name stands for.
    ///
    /// # Errors
    /// A parent is no directory, or may not be looked into.
    fn kind(&self, path: &Path) -> io::Result<NameKind> {
        // Where there are neither links nor devices.
        if !self.exists(path)? {
            return Ok(NameKind::Missing);
        }
        match self.list(path) {
            Ok(_) => Ok(NameKind::Directory),
            Err(_) => Ok(NameKind::File),
        }
    }
    /// The path from the root on, with symbolic links followed as far as it exists.
    ///
    /// # Errors
    /// The machine refused.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        absolute_path(path)
    }
    /// [`Vfs::create_directory`] for what may be moved away later: where files are encrypted, with
    /// a data key that is kept in it.
    fn create_portable_directory(&self, path: &Path) -> io::Result<()> {
        self.create_directory(path)
    }
    /// Renames a file, replacing the target. Durable after [`Vfs::sync_directory`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Durable after [`Vfs::sync_directory`].
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory with all its content.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in this directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// A file without a name on the disk of `directory`, for memory that the machine may write out.
    ///
    /// # Errors
    /// `Unsupported` where there is no such disk, or memory of its files could end the process.
    fn spill_file(&self, directory: &Path) -> io::Result<SpillFile> {
        let _ = directory;
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Nanoseconds since the Unix epoch.
    fn unix_nanos(&self) -> u64;
    /// Nanoseconds of a clock that never goes back; for durations.
    fn monotonic_nanos(&self) -> u64;
    /// Fills `buffer` with unpredictable bytes.
    fn fill_random(&self, buffer: &mut [u8]);
}

/// An open file. Positional I/O only; safe to share between threads.
pub trait VfsFile: Send + Sync {
    /// Fills `buffer` from `offset`. Direct files want 4,096-byte multiples of offset, length and
    /// memory address (see `AlignedBuffer`).
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends before the buffer is full.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`, growing the file as needed. Same alignment as `read_at`.
    fn write_at(&self, bytes: &[u8], offset: u64, durability: Durability) -> io::Result<()>;
    /// Makes every earlier completed write of this file durable (data and length).
    fn sync(&self) -> io::Result<()>;
    /// Starts writing dirty bytes of a range back without waiting. A hint; may do nothing.
    fn start_write_back(&self, offset: u64, len_bytes: u64) -> io::Result<()>;
    /// Length in bytes.
    fn len_bytes(&self) -> io::Result<u64>;
    /// Sets the length; new bytes are zero.
    fn set_len(&self, len_bytes: u64) -> io::Result<()>;
    /// Reserves disk space for the range and grows the file to cover it; new bytes read as zero.
    ///
    /// # Errors
    /// `StorageFull` when the disk has no room; the file keeps its old content.
    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()>;
    /// Gives the disk space of the range back; it reads as zero afterwards. A hint about space.
    fn punch_hole(&self, offset: u64, len_bytes: u64) -> io::Result<()>;
    /// Maps the file for reading and reserves `reserve_bytes` of address space, so that the base
    /// address stays while the file grows up to that size.
    fn map(&self, reserve_bytes: u64) -> io::Result<Arc<dyn Mapping>>;
    /// Whether writes bypass the page cache.
    fn is_direct(&self) -> bool;
}

/// Gives up loaded pages that nobody reads. It must not load any.
pub type GiveUp = Box<dyn Fn() + Send + Sync>;

/// A read-only view of a growing file.
pub trait Mapping: Send + Sync {
    /// Makes file bytes up to `len_bytes` readable through the mapping; the file must be at least
    /// that long. Cheap when already covered.
    fn cover(&self, len_bytes: u64) -> io::Result<()>;
    /// Bytes that may be read now.
    fn covered_bytes(&self) -> u64;
    /// Address of the first byte. A later call may return another one, where more is covered; what
    /// was covered before a call stays readable at the address it returned, for the life of the
    /// mapping.
    ///
    /// Reading through it is `unsafe` at the caller: only what `covered_bytes()` allowed before
    /// this call may be read, and only while nothing writes that range of the file.
    fn base(&self) -> *const u8;
    /// Tells the machine that the range will be read soon. A hint.
    fn will_need(&self, offset: u64, len_bytes: u64);
    /// Drops the process's hold on cached pages of the mapping without losing data. A hint that
    /// keeps resident memory small; the next read faults the page in again.
    fn release_resident(&self);
    /// Whether a range may only be read after [`Mapping::load`], and has to be loaded again when it
    /// was written or given up. Of other mappings the methods below do nothing.
    fn is_loaded_on_demand(&self) -> bool {
        false
    }
    /// Makes a covered range readable, and keeps what was chosen of it. Nothing may be writing it.
    ///
    /// # Errors
    /// `OutOfMemory` when what is loaded has no room and was not given up; what reading the file
    /// gave.
    fn load(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let _ = (offset, len_bytes);
        Ok(())
    }
    /// Bytes of loaded ranges beyond the budget.
    fn excess_bytes(&self) -> u64 {
        0
    }
    /// Chooses loaded ranges of at least so many bytes, if there are, to be given up, in turn.
    fn choose(&self, wanted_bytes: u64) -> Vec<Range<u64>> {
        let _ = wanted_bytes;
        Vec::new()
    }
    /// Gives the memory of chosen ranges back, but for those that were loaded again since and those
    /// that `is_unused` denies. Nobody may read one that it does not deny.
    fn give_up_chosen(&self, is_unused: &dyn Fn(&Range<u64>) -> bool) {
        let _ = is_unused;
    }
    /// Sets who gives up what is beyond the budget when a load, through this mapping or another one
    /// that shares its limits, finds no room; that thread calls it, and loads again then. `None`
    /// ends it: no call is on its way when this returns. It has to be ended before the mapping is
    /// dropped.
    fn when_full(&self, give_up: Option<GiveUp>) {
        let _ = give_up;
    }
}

/// Held until dropped.
pub trait FileLock: Send + Sync {}

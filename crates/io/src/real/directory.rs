//! Names, locks, clock and entropy of the machine.
//!
//! Entry point of the real disk: `RealVfs::new` is handed to the engine as `Arc<dyn Vfs>`.
//!
//! Invariants: errors keep their kind and name the operation and the path; new directories are
//! durable when `create_directory` returns.
//!
//! Threads: no state but the start of the monotonic clock; everything may run concurrently.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

use super::file::{Fallbacks, RealFile};
use crate::error::with_path;
use crate::spill::SpillFile;
use crate::vfs::{
    DirectoryEntry, FileLock, NameKind, OpenMode, OpenOptions, Vfs, VfsFile, absolute_path,
};

/// Permissions of new files: the owner alone. A database holds other people's data.
const FILE_PERMISSIONS: u32 = 0o600;

/// The machine's file systems, clock and entropy.
pub struct RealVfs {
    fallbacks: Fallbacks,
    /// Zero of [`Vfs::monotonic_nanos`].
    started: Instant,
}

impl RealVfs {
    /// The machine as it is.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::with_fallbacks(Fallbacks::default())
    }

    /// The machine with some abilities treated as absent: for tests, and for file systems that
    /// claim an ability and get it wrong.
    #[must_use]
    pub fn with_fallbacks(fallbacks: Fallbacks) -> Arc<Self> {
        Arc::new(Self {
            fallbacks,
            started: Instant::now(),
        })
    }

    /// Opens with `O_DIRECT` when asked for and granted. The flag tells which it became.
    fn open_raw(&self, path: &Path, options: OpenOptions) -> io::Result<(File, bool)> {
        let mut how = fs::OpenOptions::new();
        how.read(true);
        how.write(options.mode != OpenMode::Read);
        how.create_new(options.mode == OpenMode::CreateNew);
        how.mode(FILE_PERMISSIONS);
        if !options.direct || self.fallbacks.buffered {
            return Ok((how.open(path)?, false));
        }
        how.custom_flags(OFlags::DIRECT.bits().cast_signed());
        match how.open(path) {
            Ok(file) => Ok((file, true)),
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                // The file system refuses O_DIRECT, which the kernel finds out after creating.
                how.custom_flags(0);
                let left_behind = options.mode == OpenMode::CreateNew;
                how.create_new(false).create(left_behind);
                Ok((how.open(path)?, false))
            }
            Err(error) => Err(error),
        }
    }
}

impl Vfs for RealVfs {
    fn open(&self, path: &Path, options: OpenOptions) -> io::Result<Arc<dyn VfsFile>> {
        let operation = if options.mode == OpenMode::CreateNew {
            "create"
        } else {
            "open"
        };
        let (file, is_direct) = self
            .open_raw(path, options)
            .map_err(|error| with_path(operation, path, error))?;
        Ok(Arc::new(RealFile::new(
            file,
            path.to_path_buf(),
            is_direct,
            self.fallbacks,
        )))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let take = || -> io::Result<RealLock> {
            let mut how = fs::OpenOptions::new();
            how.read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(FILE_PERMISSIONS);
            let file = how.open(path)?;
            retry(|| rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive))?;
            Ok(RealLock { _file: file })
        };
        let lock = take().map_err(|error| with_path("lock", path, error))?;
        Ok(Box::new(lock))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        let take = || -> io::Result<RealLock> {
            let file = File::open(path)?;
            retry(|| rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared))?;
            Ok(RealLock { _file: file })
        };
        let lock = take().map_err(|error| with_path("lock", path, error))?;
        Ok(Box::new(lock))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut missing: Vec<&Path> = Vec::new();
        for ancestor in path.ancestors() {
            if ancestor.as_os_str().is_empty() || ancestor.is_dir() {
                break;
            }
            missing.push(ancestor);
        }
        for directory in missing.into_iter().rev() {
            match fs::create_dir(directory) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !directory.is_dir() {
                        return Err(with_path("create directory", directory, error));
                    }
                }
                result => {
                    result.map_err(|error| with_path("create directory", directory, error))?;
                }
            }
            self.sync_directory(&parent_of(directory))?;
        }
        Ok(())
    }

    /// Names that are not UTF-8 are shown with replacement characters; the engine makes none.
    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let read = || -> io::Result<Vec<DirectoryEntry>> {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let metadata = match entry.metadata() {
                    // Removed since the directory was read.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    result => result?,
                };
                let is_directory = metadata.is_dir();
                entries.push(DirectoryEntry {
                    name: entry.file_name().to_string_lossy().into_owned(),
                    is_directory,
                    len_bytes: if is_directory { 0 } else { metadata.len() },
                });
            }
            Ok(entries)
        };
        read().map_err(|error| with_path("list", path, error))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
            .map_err(|error| with_path("look up", path, error))
    }

    fn kind(&self, path: &Path) -> io::Result<NameKind> {
        let metadata = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(NameKind::Missing),
            looked_up => looked_up.map_err(|error| with_path("look up", path, error))?,
        };
        let file_type = metadata.file_type();
        Ok(match () {
            () if file_type.is_symlink() => NameKind::Link,
            () if file_type.is_dir() => NameKind::Directory,
            () if file_type.is_file() => NameKind::File,
            () => NameKind::Other,
        })
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let whole = absolute_path(path)?;
        for ancestor in whole.ancestors() {
            let found = match fs::canonicalize(ancestor) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    continue;
                }
                found => found.map_err(|error| with_path("look up", ancestor, error))?,
            };
            let missing = whole.strip_prefix(ancestor).unwrap_or(Path::new(""));
            // Joining nothing would add a slash.
            return Ok(match missing.as_os_str().is_empty() {
                true => found,
                false => found.join(missing),
            });
        }
        Ok(whole)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to).map_err(|error| with_path("rename", from, error))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path).map_err(|error| with_path("remove", path, error))
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path).map_err(|error| with_path("remove directory", path, error))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let sync = || -> io::Result<()> {
            let directory = File::open(path)?;
            match retry(|| rustix::fs::fsync(&directory)) {
                // Some network and user-space file systems cannot sync a directory by itself.
                Err(Errno::INVAL | Errno::NOTSUP | Errno::NOSYS) => {
                    Ok(rustix::fs::syncfs(&directory)?)
                }
                result => Ok(result?),
            }
        };
        sync().map_err(|error| with_path("make durable the directory", path, error))
    }

    fn spill_file(&self, directory: &Path) -> io::Result<SpillFile> {
        SpillFile::create(directory).map_err(|error| with_path("spill memory to", directory, error))
    }

    fn unix_nanos(&self) -> u64 {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
    }

    fn monotonic_nanos(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn fill_random(&self, buffer: &mut [u8]) {
        let mut filled = 0;
        while filled < buffer.len() {
            filled +=
                retry(|| rustix::rand::getrandom(&mut buffer[filled..], GetRandomFlags::empty()))
                    .expect(
                        "every kernel since 3.17 answers getrandom, and it can only be interrupted",
                    );
        }
    }
}

/// The lock lives as long as the descriptor.
struct RealLock {
    _file: File,
}

impl FileLock for RealLock {}

/// The directory that holds `path`; the current one for a bare name.
fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        Some(_) => PathBuf::from("."),
        None => path.to_path_buf(),
    }
}

/// Repeats a system call that a signal interrupted.
pub(crate) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

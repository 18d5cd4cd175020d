//! Positional I/O on one open file: full transfers, durable writes, space.
//!
//! Made by `RealVfs::open`. Three abilities that not every file system has are tried once and
//! replaced from then on: unbuffered I/O (O_DIRECT), durable writes in one call (RWF_DSYNC), and
//! reserving or punching space (fallocate). [`Fallbacks`] switches each replacement on by hand.
//!
//! Invariants:
//! - `write_at` and `read_at` return `Ok` only after every byte was transferred.
//! - A failed sync or durable write is reported once and never retried here.
//! - Replacements weaken no promise of the seam; they only cost time.
//!
//! Threads: transfers run concurrently; callers do not write overlapping ranges at once.

use std::fs::File;
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::{Errno, ReadWriteFlags};

use super::directory::retry;
use crate::buffer::{AlignedBuffer, DIRECT_ALIGNMENT, check_direct_alignment};
use crate::error::with_path;
use crate::map::FileMapping;
use crate::vfs::{Durability, Mapping, VfsFile};
use crate::write_back;

/// Bytes of zeros written per call where the file system cannot reserve space: large enough to
/// be fast, small enough to keep around for a moment.
const ZERO_WRITE_BYTES: usize = 1 << 20;

/// Abilities of the machine to treat as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fallbacks {
    /// Never ask for unbuffered I/O.
    pub buffered: bool,
    /// Make durable writes by a write and a sync.
    pub separate_sync: bool,
    /// Reserve and punch space by writing zeros.
    pub zero_writes: bool,
}

/// One open file.
pub(super) struct RealFile {
    file: Arc<File>,
    path: PathBuf,
    is_direct: AtomicBool,
    separate_sync: AtomicBool,
    zero_writes: AtomicBool,
}

impl RealFile {
    pub(super) fn new(file: File, path: PathBuf, is_direct: bool, fallbacks: Fallbacks) -> Self {
        Self {
            file: Arc::new(file),
            path,
            is_direct: AtomicBool::new(is_direct),
            separate_sync: AtomicBool::new(fallbacks.separate_sync),
            zero_writes: AtomicBool::new(fallbacks.zero_writes),
        }
    }

    fn check_alignment(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.is_direct() {
            check_direct_alignment(bytes, offset)
        } else {
            Ok(())
        }
    }

    /// Runs one transfer. When an unbuffered one is refused although it is aligned, the file
    /// becomes a buffered one for good and the transfer is repeated.
    fn transfer<T>(&self, mut call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
        match retry(&mut call) {
            Err(Errno::INVAL) if self.is_direct() => {
                let flags = rustix::fs::fcntl_getfl(&*self.file)?;
                rustix::fs::fcntl_setfl(&*self.file, flags - OFlags::DIRECT)?;
                self.is_direct.store(false, Ordering::Relaxed);
                Ok(retry(&mut call)?)
            }
            result => Ok(result?),
        }
    }

    /// Bytes of a short transfer that count. An unbuffered one goes on from a block boundary.
    fn usable(&self, transferred: usize) -> usize {
        if self.is_direct() {
            transferred - transferred % DIRECT_ALIGNMENT
        } else {
            transferred
        }
    }

    fn read_fully(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.check_alignment(buffer, offset)?;
        range_end(offset, buffer.len() as u64)?;
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let read = self.transfer(|| rustix::io::pread(&*self.file, &mut buffer[done..], at))?;
            if done + read == buffer.len() {
                return Ok(());
            }
            let usable = self.usable(read);
            if usable == 0 {
                // Nothing at all, or less than one block of an unbuffered file: its end.
                let text = format!(
                    "the file ends at {}, {} bytes at {offset} were wanted",
                    at + read as u64,
                    buffer.len()
                );
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
            }
            done += usable;
        }
        Ok(())
    }

    /// Writes everything; with `dsync` each call is durable when it returns.
    fn write_fully(&self, bytes: &[u8], offset: u64, dsync: bool) -> io::Result<()> {
        let flags = if dsync {
            ReadWriteFlags::DSYNC
        } else {
            ReadWriteFlags::empty()
        };
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let rest = &bytes[done..];
            let written = self.transfer(|| {
                if dsync {
                    rustix::io::pwritev2(&*self.file, &[IoSlice::new(rest)], at, flags)
                } else {
                    rustix::io::pwrite(&*self.file, rest, at)
                }
            })?;
            if written == rest.len() {
                return Ok(());
            }
            let usable = self.usable(written);
            if usable == 0 {
                return Err(io::Error::from(io::ErrorKind::WriteZero));
            }
            done += usable;
        }
        Ok(())
    }

    fn write_durably(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if !self.separate_sync.load(Ordering::Relaxed) {
            match self.write_fully(bytes, offset, true) {
                Err(error) if is_unsupported(&error) => {
                    self.separate_sync.store(true, Ordering::Relaxed);
                }
                result => return result,
            }
        }
        self.write_fully(bytes, offset, false)?;
        self.sync_data()
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(retry(|| rustix::fs::fdatasync(&*self.file))?)
    }

    fn file_len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn allocate_range(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let end = range_end(offset, len_bytes)?;
        if len_bytes == 0 {
            return Ok(());
        }
        let old_len = self.file_len()?;
        let result = self.reserve(offset, len_bytes, old_len);
        if result.is_err() && old_len < end && self.file_len()? > old_len {
            // Part of the space was granted; the file keeps its old length and content.
            self.file.set_len(old_len)?;
        }
        result
    }

    fn reserve(&self, offset: u64, len_bytes: u64, old_len: u64) -> io::Result<()> {
        if !self.zero_writes.load(Ordering::Relaxed) {
            let mode = FallocateFlags::empty();
            match retry(|| rustix::fs::fallocate(&*self.file, mode, offset, len_bytes)) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    self.zero_writes.store(true, Ordering::Relaxed);
                }
                result => return Ok(result?),
            }
        }
        let end = offset + len_bytes;
        if end > old_len {
            self.file.set_len(end)?;
            // Growing has made the bytes zero; writing them claims the space. Where an unbuffered
            // file cannot write a part of a block, that block is left to be claimed later.
            let unit = if self.is_direct() {
                DIRECT_ALIGNMENT as u64
            } else {
                1
            };
            self.write_zeros(old_len.max(offset).next_multiple_of(unit), end - end % unit)?;
        }
        Ok(())
    }

    fn punch_range(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        range_end(offset, len_bytes)?;
        if len_bytes == 0 {
            return Ok(());
        }
        if !self.zero_writes.load(Ordering::Relaxed) {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            match retry(|| rustix::fs::fallocate(&*self.file, mode, offset, len_bytes)) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                    self.zero_writes.store(true, Ordering::Relaxed);
                }
                result => return Ok(result?),
            }
        }
        let end = (offset + len_bytes).min(self.file_len()?);
        self.write_zeros(offset, end)
    }

    fn write_zeros(&self, start: u64, end: u64) -> io::Result<()> {
        let total = end.saturating_sub(start);
        let chunk = usize::try_from(total)
            .unwrap_or(usize::MAX)
            .min(ZERO_WRITE_BYTES);
        let zeros = AlignedBuffer::zeroed(chunk);
        let mut at = start;
        while at < end {
            let len = usize::try_from(end - at).unwrap_or(usize::MAX).min(chunk);
            self.write_fully(&zeros[..len], at, false)?;
            at += len as u64;
        }
        Ok(())
    }

    /// Names the operation and the path in an error.
    fn named<T>(&self, operation: &'static str, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| with_path(operation, &self.path, error))
    }
}

impl VfsFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.named("read", self.read_fully(buffer, offset))
    }

    fn write_at(&self, bytes: &[u8], offset: u64, durability: Durability) -> io::Result<()> {
        let result = self
            .check_alignment(bytes, offset)
            .and_then(|()| match durability {
                Durability::None => self.write_fully(bytes, offset, false),
                Durability::Data => self.write_durably(bytes, offset),
            });
        self.named("write", result)
    }

    fn sync(&self) -> io::Result<()> {
        self.named("make durable", self.sync_data())
    }

    fn start_write_back(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        let result = match write_back::start_write_back(&self.file, offset, len_bytes) {
            Err(error) if is_unsupported(&error) => Ok(()), // A hint.
            result => result,
        };
        self.named("start writing back", result)
    }

    fn len_bytes(&self) -> io::Result<u64> {
        self.named("read the length of", self.file_len())
    }

    fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        self.named("set the length of", self.file.set_len(len_bytes))
    }

    fn allocate(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.named("reserve space for", self.allocate_range(offset, len_bytes))
    }

    fn punch_hole(&self, offset: u64, len_bytes: u64) -> io::Result<()> {
        self.named("give back space of", self.punch_range(offset, len_bytes))
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Arc<dyn Mapping>> {
        let mapping = FileMapping::new(self.file.clone(), self.path.clone(), reserve_bytes);
        Ok(Arc::new(self.named("map", mapping)?))
    }

    fn is_direct(&self) -> bool {
        self.is_direct.load(Ordering::Relaxed)
    }
}

/// End of the range; an error when it is beyond what a file can hold.
fn range_end(offset: u64, len_bytes: u64) -> io::Result<u64> {
    offset
        .checked_add(len_bytes)
        .filter(|&end| i64::try_from(end).is_ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the range ends beyond 2^63"))
}

/// Whether the machine does not know the call or the flag, as opposed to having failed at it.
fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [Errno::OPNOTSUPP, Errno::NOSYS].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|code| unsupported.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_directory::TestDirectory;

    #[test]
    fn refused_direct_transfer_makes_the_file_buffered_for_good() {
        let directory = TestDirectory::new();
        let path = directory.path().join("data");
        let file = File::create_new(&path).unwrap();
        let flags = rustix::fs::fcntl_getfl(&file).unwrap();
        // Where O_DIRECT is not granted at all there is only the flag of our own to clear.
        let granted = rustix::fs::fcntl_setfl(&file, flags | OFlags::DIRECT).is_ok();
        let file = RealFile::new(file, path, true, Fallbacks::default());
        let mut calls = 0;
        let answer = file.transfer(|| {
            calls += 1;
            if calls == 1 { Err(Errno::INVAL) } else { Ok(7) }
        });
        assert_eq!(answer.unwrap(), 7);
        assert!(!file.is_direct());
        if granted {
            let flags = rustix::fs::fcntl_getfl(&*file.file).unwrap();
            assert!(!flags.contains(OFlags::DIRECT));
        }
        let error = file.transfer(|| Err::<(), _>(Errno::INVAL)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn interrupted_transfer_is_repeated_and_others_are_not() {
        let directory = TestDirectory::new();
        let path = directory.path().join("data");
        let file = File::create_new(&path).unwrap();
        let file = RealFile::new(file, path, false, Fallbacks::default());
        let mut calls = 0;
        let answer = file.transfer(|| {
            calls += 1;
            if calls < 4 { Err(Errno::INTR) } else { Ok(()) }
        });
        assert!(answer.is_ok());
        let mut calls = 0;
        let answer = file.transfer(|| {
            calls += 1;
            Err::<(), _>(Errno::IO)
        });
        assert_eq!((answer.unwrap_err().raw_os_error(), calls), (Some(5), 1));
    }
}

//! Memory that may be written out: parts of a file without a name, mapped.
//!
//! Made by `Vfs::spill_file` for page versions beyond the budget of an environment. The file goes
//! with the process.
//!
//! Invariants:
//! - The space of a part is reserved before it is mapped: memory cannot tell of a full disk.
//! - Only file systems on which reserved space stays reserved when it is written again; on a
//!   copying one, a full disk would end the process.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, Mode, OFlags};

use crate::map::ScratchMemory;
use crate::real::retry;
use crate::write_back::written_back;

/// Magic numbers of ext4, XFS and tmpfs (statfs(2)).
const FILE_SYSTEMS: [rustix::fs::FsWord; 3] = [0xEF53, 0x5846_5342, 0x0102_1994];

/// See the file head.
pub struct SpillFile {
    file: File,
    end: u64,
    /// Parts that were given back: offset and length.
    holes: Vec<(u64, usize)>,
}

/// A part of a [`SpillFile`], zeroed. To be given back with [`SpillFile::give_back`]; one that is
/// dropped keeps its disk space until the file goes.
pub struct SpilledMemory {
    /// The part, mapped.
    pub memory: ScratchMemory,
    offset: u64,
    len_bytes: usize,
}

impl SpillFile {
    pub(crate) fn create(directory: &Path) -> io::Result<SpillFile> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(retry(|| rustix::fs::open(directory, flags, mode))?);
        if !FILE_SYSTEMS.contains(&rustix::fs::fstatfs(&file)?.f_type) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(SpillFile {
            file,
            end: 0,
            holes: Vec::new(),
        })
    }

    /// Another `len_bytes`, whole pages of the machine.
    ///
    /// # Errors
    /// `StorageFull` when the disk has no room, `OutOfMemory` when the machine has no addresses.
    pub fn allocate(&mut self, len_bytes: usize) -> io::Result<SpilledMemory> {
        let hole = self.holes.iter().position(|&(_, len)| len == len_bytes);
        let offset = hole.map_or(self.end, |hole| self.holes[hole].0);
        let flags = FallocateFlags::empty();
        retry(|| rustix::fs::fallocate(&self.file, flags, offset, len_bytes as u64))?;
        let memory = ScratchMemory::of_file(&self.file, offset, len_bytes)?;
        match hole {
            Some(hole) => {
                self.holes.swap_remove(hole);
            }
            None => self.end += len_bytes as u64,
        }
        Ok(SpilledMemory {
            memory,
            offset,
            len_bytes,
        })
    }

    /// Takes a part back, and gives its disk space to others.
    pub fn give_back(&mut self, part: SpilledMemory) {
        let SpilledMemory {
            memory,
            offset,
            len_bytes,
        } = part;
        drop(memory);
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // A refusal costs disk space until the process ends; zeros are no promise to the next user.
        let _ = retry(|| rustix::fs::fallocate(&self.file, flags, offset, len_bytes as u64));
        self.holes.push((offset, len_bytes));
    }

    /// Whether everything that the machine has written out so far arrived.
    ///
    /// # Errors
    /// What a write gave; the content of all parts is unknown then.
    pub fn check(&self) -> io::Result<()> {
        written_back(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_directory::TestDirectory;

    const LEN_BYTES: usize = 2 << 20;

    #[test]
    fn parts_keep_their_content_and_leave_no_name() {
        let directory = TestDirectory::new();
        let mut file = match SpillFile::create(directory.path()) {
            Ok(file) => file,
            Err(error) => {
                println!("skipped: {error}");
                return;
            }
        };
        let first = file.allocate(LEN_BYTES).expect("room");
        let second = file.allocate(LEN_BYTES).expect("room");
        fill(&first, 7);
        fill(&second, 8);
        file.check().expect("nothing failed");
        assert!(all_are(&first, 7) && all_are(&second, 8));
        file.give_back(first);
        let third = file.allocate(LEN_BYTES).expect("room");
        fill(&third, 9);
        assert!(all_are(&second, 8) && all_are(&third, 9));
        assert_eq!(file.end, 2 * LEN_BYTES as u64);
        let names = std::fs::read_dir(directory.path()).expect("a directory");
        assert_eq!(names.count(), 0);
    }

    fn fill(part: &SpilledMemory, byte: u8) {
        part.memory.fill(byte);
    }

    fn all_are(part: &SpilledMemory, byte: u8) -> bool {
        part.memory.to_vec().iter().all(|&other| other == byte)
    }
}

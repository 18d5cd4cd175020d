//! How an environment is opened.

use jackdaw_io::Durability;

/// Options of [`Environment::open`](super::Environment::open). `Options::default()` suits a
/// server's database; every field may be changed between two opens of the same directory.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Create the environment when the directory is missing or empty.
    pub create: bool,
    /// `Data`: a commit returns when it survives power loss. `None`: it survives the end of the
    /// process, and after power loss a prefix of the commits is there.
    pub durability: Durability,
    /// Memory for page versions that are not in the data file yet; flushing starts at half.
    pub scratch_bytes: usize,
    /// Journal bytes that recovery may have to read; flushing starts at half.
    pub journal_bytes: u64,
    /// Length of the first journal file; the next ones double up to `journal_file_bytes_max`.
    pub journal_file_bytes_min: u64,
    /// Length of a journal file, unless one transaction needs more.
    pub journal_file_bytes_max: u64,
    /// Bytes of journal files that are kept in `archive/` after recovery no longer needs them, for
    /// increments, once there was a full backup. 0 keeps none: an increment then needs what no
    /// flush has passed.
    pub journal_archive_bytes: u64,
    /// New values of this many bytes or more, the header of their pages included, are written to
    /// their place in the data file at commit, durably, and the journal names their checksum: half
    /// the bytes of writing them to both, for one flush of the disk more. Only with durability
    /// `Data`; not while the journal is kept for backups.
    pub in_place_bytes_min: usize,
    /// Flush in a thread of its own. Without it, commits flush when it is due.
    pub background_flush: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            create: true,
            durability: Durability::Data,
            scratch_bytes: 256 << 20,
            journal_bytes: 256 << 20,
            journal_file_bytes_min: 1 << 20,
            journal_file_bytes_max: 16 << 20,
            journal_archive_bytes: 256 << 20,
            in_place_bytes_min: 256 << 10,
            background_flush: true,
        }
    }
}

impl Options {
    /// For data that can be rebuilt: commits are not synced one by one, and no thread is kept.
    #[must_use]
    pub fn rebuildable() -> Options {
        Options {
            durability: Durability::None,
            scratch_bytes: 128 << 20,
            journal_bytes: 128 << 20,
            journal_archive_bytes: 0,
            background_flush: false,
            ..Options::default()
        }
    }

    /// Small files and no threads, for tests that look at every byte.
    #[must_use]
    pub fn small() -> Options {
        Options {
            scratch_bytes: 1 << 20,
            journal_bytes: 512 << 10,
            journal_file_bytes_min: 64 << 10,
            journal_file_bytes_max: 128 << 10,
            journal_archive_bytes: 0,
            in_place_bytes_min: 32 << 10,
            background_flush: false,
            ..Options::default()
        }
    }
}

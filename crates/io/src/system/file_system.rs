//! Which file system a path lies on, and how much room it has.
//!
//! `jackdaw doctor` warns about file systems whose durability or unbuffered I/O is doubtful.

use std::io;
use std::path::Path;

use rustix::fs::statfs;

use crate::error::with_path;

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileSystem {
    /// Short name such as `ext4`; `unknown` for a type not in the table.
    pub name: &'static str,
    /// The kernel's number of the type.
    pub type_code: u64,
    /// Size.
    pub total_bytes: u64,
    /// Room for this user.
    pub available_bytes: u64,
    /// The content is in memory: nothing there survives a restart.
    pub is_volatile: bool,
    /// The storage is on another machine.
    pub is_remote: bool,
}

/// The types that people put databases on, by the numbers of `linux/magic.h`. The kernel uses one
/// number for ext2, ext3 and ext4.
const TYPES: &[(u64, &str)] = &[
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0x2FC1_2FC1, "zfs"),
    (0xF2F5_2010, "f2fs"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58F6, "ramfs"),
    (0x794C_7630, "overlay"),
    (0x6573_5546, "fuse"),
    (0x6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb2"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "ceph"),
    (0x4D44, "vfat"),
    (0x2011_BAB0, "exfat"),
    (0x5346_544E, "ntfs"),
    (0xCA45_1A4E, "bcachefs"),
];

/// The file system that holds `path`.
///
/// # Errors
/// The system's answer, such as `NotFound`.
pub fn file_system_of(path: &Path) -> io::Result<FileSystem> {
    let found = statfs(path)
        .map_err(|error| with_path("look up the file system of", path, error.into()))?;
    // The field is signed on some machines; the type numbers are 32 bits wide.
    let type_code = (i128::from(found.f_type) & 0xFFFF_FFFF).unsigned_abs();
    let type_code = u64::try_from(type_code).expect("32 bits");
    let name = TYPES
        .iter()
        .find(|&&(code, _)| code == type_code)
        .map_or("unknown", |&(_, n)| n);
    let block_bytes = u64::try_from(found.f_bsize).unwrap_or(0);
    Ok(FileSystem {
        name,
        type_code,
        total_bytes: found.f_blocks.saturating_mul(block_bytes),
        available_bytes: found.f_bavail.saturating_mul(block_bytes),
        is_volatile: matches!(name, "tmpfs" | "ramfs"),
        is_remote: matches!(name, "nfs" | "cifs" | "smb2" | "9p" | "ceph"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temporary_directory_lies_somewhere() {
        let found = file_system_of(&std::env::temp_dir()).unwrap();
        assert!(found.total_bytes >= found.available_bytes);
        assert!(found.type_code != 0);
    }

    #[test]
    fn shared_memory_is_volatile() {
        let path = Path::new("/dev/shm");
        if path.exists() {
            let found = file_system_of(path).unwrap();
            assert_eq!(found.is_volatile, found.name == "tmpfs");
        }
    }

    #[test]
    fn missing_path_is_named() {
        let error = file_system_of(Path::new("/no/such/path")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("/no/such/path"));
    }
}

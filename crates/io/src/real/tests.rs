//! Proves the promises of the seam on real files, once with every ability of the machine and once
//! with each replacement, by running the same checks over all variants.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::{Fallbacks, RealVfs};
use crate::buffer::AlignedBuffer;
use crate::error::os_error_code;
use crate::test_directory::TestDirectory;
use crate::vfs::{Durability, NameKind, OpenMode, OpenOptions, Vfs, VfsFile};

const BLOCK: usize = 4096;

fn options(mode: OpenMode, direct: bool) -> OpenOptions {
    OpenOptions { mode, direct }
}

/// Every combination of an unbuffered request with the replacements.
fn variants() -> Vec<(Fallbacks, bool)> {
    let mut variants = Vec::new();
    for bits in 0..16 {
        let fallbacks = Fallbacks {
            buffered: bits & 1 != 0,
            separate_sync: bits & 2 != 0,
            zero_writes: bits & 4 != 0,
        };
        variants.push((fallbacks, bits & 8 != 0));
    }
    variants
}

/// Runs `check` over all variants, on the temporary directory and on shared memory.
fn for_each_variant(check: impl Fn(&RealVfs, &Path, bool)) {
    let shared_memory = Path::new("/dev/shm");
    let mut places = vec![std::env::temp_dir()];
    if shared_memory.is_dir() {
        places.push(shared_memory.to_path_buf());
    }
    for place in places {
        for (fallbacks, direct) in variants() {
            let directory = TestDirectory::below(&place);
            check(
                &RealVfs::with_fallbacks(fallbacks),
                directory.path(),
                direct,
            );
        }
    }
}

fn pattern(len_bytes: usize, seed: u8) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(len_bytes);
    for (position, byte) in buffer.iter_mut().enumerate() {
        *byte = seed.wrapping_add(u8::try_from(position % 251).unwrap());
    }
    buffer
}

fn content(file: &Arc<dyn VfsFile>, len_bytes: usize) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(len_bytes);
    file.read_at(&mut buffer, 0).unwrap();
    buffer
}

#[test]
fn written_bytes_are_read_back_in_every_variant() {
    for_each_variant(|vfs, directory, direct| {
        let path = directory.join("data");
        let file = vfs
            .open(&path, options(OpenMode::CreateNew, direct))
            .unwrap();
        file.write_at(&pattern(3 * BLOCK, 1), 0, Durability::None)
            .unwrap();
        file.write_at(&pattern(BLOCK, 9), BLOCK as u64, Durability::Data)
            .unwrap();
        file.write_at(&pattern(BLOCK, 5), 10 * BLOCK as u64, Durability::Data)
            .unwrap();
        file.sync().unwrap();
        file.start_write_back(0, u64::MAX).unwrap();
        assert_eq!(file.len_bytes().unwrap(), 11 * BLOCK as u64);
        drop(file);
        let file = vfs.open(&path, options(OpenMode::Read, direct)).unwrap();
        let all = content(&file, 11 * BLOCK);
        assert_eq!(all[..BLOCK], pattern(3 * BLOCK, 1)[..BLOCK]);
        assert_eq!(all[BLOCK..2 * BLOCK], *pattern(BLOCK, 9));
        assert!(all[3 * BLOCK..10 * BLOCK].iter().all(|&byte| byte == 0));
        assert_eq!(all[10 * BLOCK..], *pattern(BLOCK, 5));
    });
}

#[test]
fn reading_past_the_end_says_so() {
    for_each_variant(|vfs, directory, direct| {
        let path = directory.join("data");
        let file = vfs
            .open(&path, options(OpenMode::CreateNew, direct))
            .unwrap();
        file.write_at(&pattern(BLOCK, 1), 0, Durability::None)
            .unwrap();
        file.set_len(BLOCK as u64 - 100).unwrap();
        let mut buffer = AlignedBuffer::zeroed(2 * BLOCK);
        for offset in [0, BLOCK as u64, 100 * BLOCK as u64] {
            let error = file.read_at(&mut buffer, offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{error}");
        }
    });
}

#[test]
fn allocated_and_punched_ranges_read_as_zero() {
    for_each_variant(|vfs, directory, direct| {
        let path = directory.join("data");
        let file = vfs
            .open(&path, options(OpenMode::CreateNew, direct))
            .unwrap();
        file.write_at(&pattern(2 * BLOCK, 1), 0, Durability::None)
            .unwrap();
        file.allocate(BLOCK as u64, 5 * BLOCK as u64).unwrap();
        assert_eq!(file.len_bytes().unwrap(), 6 * BLOCK as u64);
        file.allocate(0, BLOCK as u64).unwrap();
        assert_eq!(file.len_bytes().unwrap(), 6 * BLOCK as u64);
        let all = content(&file, 6 * BLOCK);
        assert_eq!(all[..2 * BLOCK], *pattern(2 * BLOCK, 1));
        assert!(all[2 * BLOCK..].iter().all(|&byte| byte == 0));
        file.punch_hole(0, BLOCK as u64).unwrap();
        file.punch_hole(5 * BLOCK as u64, 9 * BLOCK as u64).unwrap();
        file.punch_hole(0, 0).unwrap();
        assert_eq!(file.len_bytes().unwrap(), 6 * BLOCK as u64);
        let all = content(&file, 6 * BLOCK);
        assert!(all[..BLOCK].iter().all(|&byte| byte == 0));
        assert_eq!(all[BLOCK..2 * BLOCK], pattern(2 * BLOCK, 1)[BLOCK..]);
    });
}

#[test]
fn allocation_ends_where_it_was_told_even_inside_a_block() {
    for_each_variant(|vfs, directory, direct| {
        let path = directory.join("data");
        let file = vfs
            .open(&path, options(OpenMode::CreateNew, direct))
            .unwrap();
        file.set_len(100).unwrap();
        file.allocate(50, 2 * BLOCK as u64).unwrap();
        assert_eq!(file.len_bytes().unwrap(), 50 + 2 * BLOCK as u64);
        file.allocate(0, 0).unwrap();
        assert!(content(&file, 2 * BLOCK).iter().all(|&byte| byte == 0));
    });
}

#[test]
fn impossible_allocation_keeps_the_file() {
    for_each_variant(|vfs, directory, direct| {
        let path = directory.join("data");
        let file = vfs
            .open(&path, options(OpenMode::CreateNew, direct))
            .unwrap();
        file.write_at(&pattern(BLOCK, 1), 0, Durability::None)
            .unwrap();
        let error = file.allocate(u64::MAX, BLOCK as u64).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(file.len_bytes().unwrap(), BLOCK as u64);
    });
}

#[test]
fn direct_request_falls_back_where_it_is_not_granted() {
    for_each_variant(|vfs, directory, direct| {
        let path = directory.join("data");
        let file = vfs
            .open(&path, options(OpenMode::CreateNew, direct))
            .unwrap();
        file.write_at(&pattern(BLOCK, 1), 0, Durability::Data)
            .unwrap();
        assert!(direct || !file.is_direct());
        // A buffered file, asked for or fallen back to, takes any offset and length; a direct one
        // refuses them before the transfer.
        let result = file.write_at(b"abc", 5, Durability::Data);
        assert_eq!(result.is_err(), file.is_direct());
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(file.read_at(&mut [0; 3], 5).is_err());
        }
    });
    let forced = RealVfs::with_fallbacks(Fallbacks {
        buffered: true,
        ..Fallbacks::default()
    });
    let directory = TestDirectory::new();
    let path = directory.path().join("forced");
    let file = forced
        .open(&path, options(OpenMode::CreateNew, true))
        .unwrap();
    assert!(!file.is_direct());
}

#[test]
fn view_shows_writes_and_growth() {
    let directory = TestDirectory::new();
    let vfs = RealVfs::new();
    let path = directory.path().join("data");
    let file = vfs
        .open(&path, options(OpenMode::CreateNew, false))
        .unwrap();
    file.write_at(&pattern(BLOCK, 1), 0, Durability::None)
        .unwrap();
    let mapping = file.map(1 << 40).unwrap();
    mapping.cover(BLOCK as u64).unwrap();
    file.allocate(0, 8 * BLOCK as u64).unwrap();
    mapping.cover(8 * BLOCK as u64).unwrap();
    assert_eq!(mapping.covered_bytes(), 8 * BLOCK as u64);
    let error = mapping.cover(9 * BLOCK as u64).unwrap_err();
    assert!(error.to_string().contains("data"), "{error}");
}

#[test]
fn names_are_created_listed_renamed_and_removed() {
    let directory = TestDirectory::new();
    let root = directory.path();
    let vfs = RealVfs::new();
    let deep = root.join("a/b/c");
    vfs.create_directory(&deep).unwrap();
    vfs.create_directory(&deep).unwrap();
    let first = deep.join("first");
    let file = vfs
        .open(&first, options(OpenMode::CreateNew, false))
        .unwrap();
    file.write_at(b"12345", 0, Durability::None).unwrap();
    let taken = vfs
        .open(&first, options(OpenMode::CreateNew, true))
        .map(|_| ())
        .unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    vfs.rename(&first, &deep.join("second")).unwrap();
    vfs.create_directory(&deep.join("folder")).unwrap();
    vfs.sync_directory(&deep).unwrap();
    let mut entries = vfs.list(&deep).unwrap();
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    let shown: Vec<_> = entries
        .iter()
        .map(|entry| (&*entry.name, entry.is_directory, entry.len_bytes))
        .collect();
    assert_eq!(shown, [("folder", true, 0), ("second", false, 5)]);
    assert!(!vfs.exists(&first).unwrap());
    vfs.remove_file(&deep.join("second")).unwrap();
    assert!(vfs.exists(&deep).unwrap());
    vfs.remove_directory(&root.join("a")).unwrap();
    assert!(!vfs.exists(&root.join("a")).unwrap());
}

#[test]
fn creating_a_directory_over_a_file_fails() {
    let directory = TestDirectory::new();
    let vfs = RealVfs::new();
    let path = directory.path().join("file");
    drop(
        vfs.open(&path, options(OpenMode::CreateNew, false))
            .unwrap(),
    );
    assert!(vfs.create_directory(&path).is_err());
    assert!(vfs.create_directory(&path.join("below")).is_err());
}

#[test]
fn errors_name_the_path_and_keep_the_code() {
    let directory = TestDirectory::new();
    let vfs = RealVfs::new();
    let path = directory.path().join("missing");
    let open = vfs
        .open(&path, options(OpenMode::ReadWrite, true))
        .map(|_| ())
        .unwrap_err();
    let errors = [
        open,
        vfs.list(&path).unwrap_err(),
        vfs.remove_file(&path).unwrap_err(),
        vfs.remove_directory(&path).unwrap_err(),
        vfs.rename(&path, &path.join("b")).unwrap_err(),
        vfs.sync_directory(&path).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(os_error_code(&error), Some(2));
        assert!(error.to_string().contains("missing"), "{error}");
    }
}

#[test]
fn file_opened_for_reading_refuses_writes() {
    let directory = TestDirectory::new();
    let vfs = RealVfs::new();
    let path = directory.path().join("data");
    drop(
        vfs.open(&path, options(OpenMode::CreateNew, false))
            .unwrap(),
    );
    let file = vfs.open(&path, options(OpenMode::Read, false)).unwrap();
    assert!(file.write_at(b"a", 0, Durability::None).is_err());
    assert!(file.write_at(b"a", 0, Durability::Data).is_err());
    assert!(file.set_len(10).is_err());
}

#[test]
fn lock_is_exclusive_until_dropped() {
    let directory = TestDirectory::new();
    let vfs = RealVfs::new();
    let path = directory.path().join("LOCK");
    let held = vfs.lock(&path).unwrap();
    let second = vfs.lock(&path).map(|_| ()).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::WouldBlock);
    drop(held);
    drop(vfs.lock(&path).unwrap());
}

#[test]
fn clocks_advance_and_entropy_differs() {
    let vfs = RealVfs::new();
    let first = vfs.monotonic_nanos();
    assert!(vfs.monotonic_nanos() >= first);
    assert!(vfs.unix_nanos() > 1_700_000_000_000_000_000);
    let (mut one, mut other) = ([0; 600], [0; 600]);
    vfs.fill_random(&mut one);
    vfs.fill_random(&mut other);
    assert_ne!(one, other);
    assert!(one[300..].iter().any(|&byte| byte != 0));
}

#[test]
fn names_are_known_without_following_links() {
    let directory = TestDirectory::new();
    let (vfs, top) = (RealVfs::new(), directory.path());
    let at = |name: &str| top.join(name);
    std::fs::write(at("file"), "").unwrap();
    std::fs::create_dir(at("directory")).unwrap();
    for (link, to) in [
        ("to-file", "file"),
        ("to-directory", "directory"),
        ("to-nothing", "no"),
    ] {
        std::os::unix::fs::symlink(at(to), at(link)).unwrap();
    }
    for (name, kind) in [
        ("file", NameKind::File),
        ("directory", NameKind::Directory),
        ("missing", NameKind::Missing),
        ("missing/below", NameKind::Missing),
        ("to-file", NameKind::Link),
        ("to-directory", NameKind::Link),
        ("to-nothing", NameKind::Link),
    ] {
        assert_eq!(vfs.kind(&at(name)).unwrap(), kind, "{name}");
    }
    assert_eq!(vfs.kind(Path::new("/dev/null")).unwrap(), NameKind::Other);
    let below_file = vfs.kind(&at("file/below")).unwrap_err();
    assert_eq!(below_file.kind(), ErrorKind::NotADirectory);
    let top = top.canonicalize().unwrap();
    for (name, whole) in [
        ("directory", "directory"),
        ("to-directory", "directory"),
        ("to-directory/a/b", "directory/a/b"),
        ("to-nothing", "to-nothing"),
        ("file/below", "file/below"),
        ("missing/../file", "file"),
    ] {
        assert_eq!(vfs.resolve(&at(name)).unwrap(), top.join(whole), "{name}");
    }
}

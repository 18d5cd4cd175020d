//! What is written through the encrypted file system comes back, and is not on the disk below.

use super::*;
use crate::memory::MemoryVfs;
use crate::vfs::Durability;

const NEW: OpenOptions = OpenOptions {
    mode: OpenMode::CreateNew,
    direct: false,
};
const CHANGE: OpenOptions = OpenOptions {
    mode: OpenMode::ReadWrite,
    direct: false,
};
const LIMITS: DecryptedLimits = DecryptedLimits {
    budget_bytes: 1 << 20,
    bytes_max: 1 << 20,
};

fn key(byte: u8) -> EncryptionKey {
    EncryptionKey::from_bytes([byte; 32])
}

fn disk() -> (Arc<MemoryVfs>, Arc<EncryptedVfs>) {
    let below = MemoryVfs::new();
    let vfs = EncryptedVfs::new(Arc::clone(&below) as Arc<dyn Vfs>, key(1), LIMITS);
    vfs.create_directory(Path::new("/d")).unwrap();
    (below, vfs)
}

fn content(file: &dyn VfsFile) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(file.len_bytes().unwrap()).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn has(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn content_comes_back_and_is_not_below() {
    let (below, vfs) = disk();
    let path = Path::new("/d/f");
    let file = vfs.open(path, NEW).unwrap();
    let plain: Vec<u8> = (0..6000_u32).flat_map(|n| n.to_le_bytes()).collect();
    file.write_at(&plain[..20_480], 0, Durability::Data)
        .unwrap();
    file.write_at(&plain[20_480..], 20_480, Durability::Data)
        .unwrap();
    assert_eq!(file.len_bytes().unwrap(), 24_000);
    drop(file);
    let again = EncryptedVfs::new(Arc::clone(&below) as Arc<dyn Vfs>, key(1), LIMITS);
    let file = again.open(path, CHANGE).unwrap();
    assert_eq!(content(&*file), plain);
    let mut part = [0; 100];
    file.read_at(&mut part, 23_900).unwrap();
    assert_eq!(part[..], plain[23_900..]);
    let past = file.read_at(&mut part, 23_901).unwrap_err();
    assert_eq!(past.kind(), io::ErrorKind::UnexpectedEof);
    assert!(
        file.write_at(&[1; 512], 0, Durability::Data).is_err(),
        "it is finished"
    );
    let stored = content(&*below.open(path, CHANGE).unwrap());
    assert!(!has(&stored, &plain[4000..4016]));
    let listed = vfs.list(Path::new("/d")).unwrap();
    assert_eq!((listed.len(), listed[0].len_bytes), (1, 24_000));
}

#[test]
fn space_that_was_never_written_reads_as_zeros() {
    let (_, vfs) = disk();
    let file = vfs.open(Path::new("/d/f"), NEW).unwrap();
    file.allocate(0, 16_384).unwrap();
    file.write_at(&[5; 8192], 4096, Durability::None).unwrap();
    file.punch_hole(8192, 4096).unwrap();
    let bytes = content(&*file);
    assert!(
        bytes[..4096]
            .iter()
            .chain(&bytes[8192..])
            .all(|&byte| byte == 0)
    );
    assert!(bytes[4096..8192].iter().all(|&byte| byte == 5));
    for (offset, len_bytes) in [(1, 512), (0, 511), (0, 520)] {
        let error = file.write_at(&[1; 520][..len_bytes], offset, Durability::None);
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    file.set_len(512).unwrap();
    assert_eq!(content(&*file), [0; 512]);
}

#[test]
fn a_map_follows_changes_through_every_handle() {
    let (_, vfs) = disk();
    let path = Path::new("/d/f");
    let file = vfs.open(path, NEW).unwrap();
    file.write_at(&[1; 65_536], 0, Durability::None).unwrap();
    let mapping = file.map(1 << 20).unwrap();
    mapping.cover(65_536).unwrap();
    assert!(mapping.is_loaded_on_demand());
    mapping.load(0, 8192).unwrap();
    mapping.load(8192, 16_384).unwrap();
    assert_eq!(seen(&*mapping, 24_576), [1; 24_576]);
    let other = vfs.open(path, CHANGE).unwrap();
    other.write_at(&[2; 4096], 8192, Durability::Data).unwrap();
    assert_eq!(seen(&*mapping, 8192), [1; 8192], "others stay");
    mapping.load(8192, 8192).unwrap();
    assert_eq!(seen(&*mapping, 12_288)[8192..], [2; 4096]);
    assert!(mapping.load(65_536, 1).is_err());
}

#[test]
fn memory_is_given_up_unless_it_is_used_again() {
    let below = MemoryVfs::new();
    let limits = DecryptedLimits {
        budget_bytes: 32 << 10,
        bytes_max: 96 << 10,
    };
    let vfs = EncryptedVfs::new(Arc::clone(&below) as Arc<dyn Vfs>, key(1), limits);
    vfs.create_directory(Path::new("/d")).unwrap();
    let file = vfs.open(Path::new("/d/f"), NEW).unwrap();
    file.write_at(&[1; 1 << 18], 0, Durability::None).unwrap();
    let mapping = file.map(1 << 20).unwrap();
    mapping.cover(1 << 18).unwrap();
    for page in 0..12 {
        mapping.load(page << 13, 1 << 13).unwrap();
    }
    assert_eq!(mapping.excess_bytes(), 64 << 10);
    let error = mapping.load(12 << 13, 1 << 13).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    let chosen = mapping.choose(mapping.excess_bytes());
    assert_eq!(chosen.len(), 8);
    mapping.load(0, 8192).unwrap();
    mapping.give_up_chosen(&|range| range.start != 8192);
    assert_eq!(mapping.excess_bytes(), 16 << 10);
    assert_eq!(
        seen(&*mapping, 16_384),
        [1; 16_384],
        "used again, and denied"
    );
    mapping.load(12 << 13, 1 << 13).unwrap();
}

#[test]
fn a_load_without_room_asks_all_mappings_to_give_up() {
    let (_, vfs) = disk();
    let [full, other] = ["/d/full", "/d/other"].map(|path| {
        let file = vfs.open(Path::new(path), NEW).unwrap();
        file.write_at(&[1; 1 << 20], 0, Durability::None).unwrap();
        let mapping = file.map(1 << 20).unwrap();
        mapping.cover(1 << 20).unwrap();
        mapping
    });
    full.load(0, 1 << 20).unwrap();
    let error = other.load(0, 4096).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    let held = Arc::downgrade(&full);
    full.when_full(Some(Box::new(move || {
        let mapping = held.upgrade().unwrap();
        mapping.choose(u64::MAX);
        mapping.give_up_chosen(&|_| true);
    })));
    other.load(0, 4096).unwrap();
    full.when_full(None);
    full.load(0, 1 << 19).unwrap();
    assert!(other.load(0, 1 << 20).is_err(), "nobody is asked any more");
}

#[test]
fn plain_and_encrypted_directories_are_not_mixed_up() {
    let (below, vfs) = disk();
    below.create_directory(Path::new("/plain")).unwrap();
    below.open(Path::new("/plain/f"), NEW).unwrap();
    let plain = Path::new("/plain");
    let not_encrypted = "/plain is not encrypted: open it without a key, or export it and import \
                         it into a new encrypted directory";
    for error in [
        vfs.check(plain).unwrap_err(),
        vfs.create_directory(plain).unwrap_err(),
        vfs.open(Path::new("/plain/f"), CHANGE).err().unwrap(),
    ] {
        assert_eq!(error.to_string(), not_encrypted);
    }
    assert_eq!(below.list(plain).unwrap().len(), 1);
    assert!(is_encrypted_directory(&*below, Path::new("/d")).unwrap());
    let other = EncryptedVfs::new(Arc::clone(&below) as Arc<dyn Vfs>, key(2), LIMITS);
    let wrong = "the key is not the one that /d was encrypted with";
    assert_eq!(
        other.check(Path::new("/d/e")).unwrap_err().to_string(),
        wrong
    );
    // A plain file below an encrypted directory is none of it.
    let file = below.open(Path::new("/d/g"), NEW).unwrap();
    file.write_at(&[1; 8192], 0, Durability::Data).unwrap();
    let error = vfs.open(Path::new("/d/g"), CHANGE).err().unwrap();
    assert!(
        error.to_string().contains("it is not encrypted, or"),
        "{error}"
    );
    assert!(
        vfs.rename(Path::new("/d/g"), Path::new("/plain/g"))
            .is_err()
    );
}

#[test]
fn a_portable_directory_is_read_where_it_was_moved() {
    let (below, vfs) = disk();
    let path = Path::new("/d/backups/one");
    vfs.create_portable_directory(path).unwrap();
    vfs.create_portable_directory(path).unwrap();
    let file = vfs.open(&path.join("f"), NEW).unwrap();
    file.write_at(&[7; 512], 0, Durability::Data).unwrap();
    drop(file);
    below.rename(path, Path::new("/moved")).unwrap();
    below.remove_directory(Path::new("/d")).unwrap();
    let vfs = EncryptedVfs::new(below, key(1), LIMITS);
    let file = vfs.open(Path::new("/moved/f"), CHANGE).unwrap();
    assert_eq!(content(&*file), [7; 512]);
}

#[test]
fn a_directory_that_was_removed_beside_us_gets_a_key_again() {
    let (below, vfs) = disk();
    below.remove_directory(Path::new("/d")).unwrap();
    vfs.create_directory(Path::new("/d")).unwrap();
    assert!(is_encrypted_directory(&*below, Path::new("/d")).unwrap());
}

#[test]
fn a_key_that_does_not_open_the_data_any_more_encrypts_nothing_new() {
    let (below, vfs) = disk();
    change_key(&*below, Path::new("/d"), &key(1), &key(2)).unwrap();
    let backup = Path::new("/backup");
    let error = vfs.create_directory(backup).unwrap_err().to_string();
    let sentence = "the key of /d was changed since this process started: restart it with the \
                    new key";
    assert_eq!(error, sentence);
    assert!(!below.exists(backup).unwrap());
    let again = EncryptedVfs::new(Arc::clone(&below) as Arc<dyn Vfs>, key(2), LIMITS);
    assert!(again.check(Path::new("/d")).is_ok());
    again.create_directory(backup).unwrap();
}

#[test]
fn tops_are_found_from_relative_paths_and_not_beside() {
    let below = MemoryVfs::new();
    let top = absolute_path(Path::new("")).unwrap();
    for directory in top.ancestors() {
        below.create_directory(directory).unwrap();
    }
    let vfs = EncryptedVfs::new(Arc::clone(&below) as Arc<dyn Vfs>, key(1), LIMITS);
    assert!(vfs.volume(Path::new("a/b")).unwrap().is_none());
    vfs.create_directory(&top).unwrap();
    let again = EncryptedVfs::new(Arc::clone(&below) as Arc<dyn Vfs>, key(1), LIMITS);
    for inside in ["", ".", "a", "a/b", "../../x/.."] {
        let found = again.volume(Path::new(inside)).unwrap();
        let is_inside = !inside.starts_with("..");
        assert_eq!(found.is_some(), is_inside, "{inside}");
    }
}

#[test]
fn a_copied_file_does_not_share_memory_and_a_renamed_one_does() {
    let (below, vfs) = disk();
    let [path, copy, renamed] = ["/d/f", "/d/copy", "/d/renamed"].map(Path::new);
    let file = vfs.open(path, NEW).unwrap();
    file.write_at(&[1; 8192], 0, Durability::None).unwrap();
    let mapping = file.map(1 << 20).unwrap();
    mapping.cover(8192).unwrap();
    mapping.load(0, 8192).unwrap();
    let stored = content(&*below.open(path, CHANGE).unwrap());
    let written = below.open(copy, NEW).unwrap();
    written.write_at(&stored, 0, Durability::None).unwrap();
    let other = vfs.open(copy, CHANGE).unwrap();
    other.write_at(&[2; 4096], 0, Durability::None).unwrap();
    assert_eq!(seen(&*mapping, 8192), [1; 8192], "the copy was written");
    vfs.rename(path, renamed).unwrap();
    let again = vfs.open(renamed, CHANGE).unwrap();
    again.write_at(&[3; 4096], 0, Durability::None).unwrap();
    mapping.load(0, 8192).unwrap();
    assert_eq!(
        seen(&*mapping, 4096),
        [3; 4096],
        "the same file was written"
    );
}

#[test]
fn a_file_system_knows_that_it_lacks_a_key() {
    let (below, vfs) = disk();
    let [top, none] = ["/d", "/none"].map(Path::new);
    assert!(lacks_key(&*below, top).unwrap());
    assert!(!lacks_key(&*below, none).unwrap());
    assert!(!lacks_key(&*vfs, top).unwrap());
}

#[test]
fn a_file_that_was_not_begun_is_empty() {
    let (below, vfs) = disk();
    let path = Path::new("/d/f");
    let file = below.open(path, NEW).unwrap();
    file.set_len(4096).unwrap();
    let read = OpenOptions {
        mode: OpenMode::Read,
        direct: false,
    };
    assert_eq!(vfs.open(path, read).unwrap().len_bytes().unwrap(), 0);
    let file = vfs.open(path, CHANGE).unwrap();
    file.write_at(&[3; 512], 0, Durability::Data).unwrap();
    assert_eq!(content(&*vfs.open(path, read).unwrap()), [3; 512]);
}

/// What is in the memory of a mapping.
fn seen(mapping: &dyn crate::vfs::Mapping, len_bytes: usize) -> Vec<u8> {
    crate::map::bytes_at(mapping.base(), len_bytes)
}

//! Damage that comes after the fact: one meta slot, one record, one space map, one directory that
//! two programs create at the same time. Either everything is there, or opening says what is lost.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io;
use std::path::Path;
use std::sync::Arc;

use jackdaw_base::hash::xxh3_64;
use jackdaw_io::{DirectoryEntry, Durability, FileLock, OpenMode, OpenOptions, Vfs, VfsFile};
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::{
    CheckLevel, Damage, DamageKind, Environment, OpenError, Options, PAGE_BYTES, StorageError,
    verify,
};

const DIRECTORY: &str = "/db";
const SLOT_BYTES: u64 = 4096;

fn open_with(vfs: &Arc<SimVfs>, options: Options) -> Result<Environment, OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), options)
}

fn open(vfs: &Arc<SimVfs>) -> Result<Environment, OpenError> {
    open_with(vfs, Options::small())
}

fn put(environment: &Environment, key: u32, len_bytes: usize) {
    let mut transaction = environment.begin_write().unwrap();
    let value = vec![7; len_bytes];
    let mut tree = transaction.tree_mut("t").unwrap();
    tree.put(&key.to_be_bytes(), &value).unwrap();
    transaction.commit().unwrap();
}

fn keys(environment: &Environment) -> Vec<u32> {
    let reader = environment.read().unwrap();
    let Some(tree) = reader.tree("t").unwrap() else {
        return Vec::new();
    };
    let keys = tree.iter().unwrap().map(|entry| entry.unwrap().0.to_vec());
    keys.map(|key| u32::from_be_bytes(key.try_into().unwrap()))
        .collect()
}

fn path(name: &str) -> std::path::PathBuf {
    Path::new(DIRECTORY).join(name)
}

fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Offset of the meta slot with the higher sequence number.
fn newer_slot(vfs: &SimVfs) -> u64 {
    let meta = vfs.file_bytes(&path("meta")).unwrap();
    let is_second = read_u64(&meta, 4096 + 32) > read_u64(&meta, 32);
    u64::from(is_second) * SLOT_BYTES
}

/// The only journal file with a sound name that is in use.
fn newest_journal(vfs: &SimVfs) -> String {
    let journals = vfs.file_paths().into_iter();
    let newest = journals.filter(|path| path.ends_with(".jnl")).max();
    newest.unwrap()
}

fn damage_of(result: Result<Environment, OpenError>) -> Damage {
    match result.err() {
        Some(OpenError::Storage(StorageError::Corrupt(damage))) => *damage,
        other => panic!("opened, or failed otherwise: {other:?}"),
    }
}

#[test]
fn either_meta_slot_leads_to_everything_that_was_acknowledged() {
    let vfs = SimVfs::new(1);
    let mut environment = open(&vfs).unwrap();
    for key in 0..120 {
        put(&environment, key, 20_000);
        if key % 17 == 0 {
            environment.flush().unwrap();
        }
        if key % 40 == 39 {
            drop(environment);
            check_without_newer_slot(&vfs, key);
            environment = open(&vfs).unwrap();
        }
        check_without_newer_slot(&vfs, key);
    }
}

fn check_without_newer_slot(vfs: &SimVfs, key: u32) {
    let image = vfs.crash(CrashChoice::KeepAll);
    image
        .flip(&path("meta"), newer_slot(&image) + 60, 0x01)
        .unwrap();
    let other = open(&image).unwrap_or_else(|error| panic!("after key {key}: {error}"));
    assert_eq!(keys(&other).last(), Some(&key));
    assert_eq!(other.check(CheckLevel::Full).unwrap().damages, []);
}

#[test]
fn a_slot_older_than_the_data_file_is_refused() {
    let vfs = SimVfs::new(2);
    let environment = open(&vfs).unwrap();
    put(&environment, 0, 100);
    environment.flush().unwrap();
    let stale = vfs.file_bytes(&path("meta")).unwrap();
    for key in 1..60 {
        put(&environment, key, 20_000);
    }
    drop(environment);
    // Opening removes the journal behind which the data file is now.
    drop(open(&vfs).unwrap());
    // A write of the medium that never happened, and then damage of the other slot.
    let newer = newer_slot(&vfs);
    let older = SLOT_BYTES - newer;
    let options = OpenOptions {
        mode: OpenMode::ReadWrite,
        direct: false,
    };
    let meta = vfs.open(&path("meta"), options).unwrap();
    let slot = &stale[usize::try_from(older).unwrap()..][..4096];
    meta.write_at(slot, older, Durability::Data).unwrap();
    vfs.flip(&path("meta"), newer + 100, 0x80).unwrap();
    let damage = damage_of(open(&vfs));
    assert_eq!(damage.file, "meta");
    assert!(
        matches!(damage.what, DamageKind::OlderCopy { .. }),
        "{damage}"
    );
}

#[test]
fn a_damaged_record_before_an_acknowledged_one_is_refused() {
    let vfs = SimVfs::new(3);
    let environment = open(&vfs).unwrap();
    for key in 0..4 {
        put(&environment, key, 100);
    }
    let journal = newest_journal(&vfs);
    // Header block, then a record of one unit for each transaction.
    for (unit, first) in [(0, 1), (1, 1), (2, 2), (3, 3)] {
        for offset in [20, 60, 190] {
            let is_padding_of_the_header = unit == 0 && offset > 80;
            if is_padding_of_the_header {
                continue;
            }
            let image = vfs.crash(CrashChoice::KeepAll);
            image
                .flip(Path::new(&journal), unit * 4096 + offset, 0x04)
                .unwrap();
            let damage = damage_of(open(&image));
            let DamageKind::LostTransactions { first: lost, found } = damage.what else {
                panic!("{damage}");
            };
            assert_eq!(lost, first, "unit {unit}, byte {offset}");
            assert!(found >= lost, "unit {unit}, byte {offset}");
        }
    }
}

/// Found by the fuzz target `journal`: a length of the data file that no file has.
#[test]
fn a_record_with_an_impossible_length_of_the_file_is_refused() {
    let vfs = SimVfs::new(8);
    let environment = open(&vfs).unwrap();
    put(&environment, 0, 100);
    let image = vfs.crash(CrashChoice::KeepAll);
    let journal = newest_journal(&image);
    let options = OpenOptions {
        mode: OpenMode::ReadWrite,
        direct: false,
    };
    let mut record = image.file_bytes(Path::new(&journal)).unwrap()[4096..8192].to_vec();
    record[48..56].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    let chain = xxh3_64(&record[..152], 0);
    record[152..160].copy_from_slice(&chain.to_le_bytes());
    let file = image.open(Path::new(&journal), options).unwrap();
    file.write_at(&record, 4096, Durability::Data).unwrap();
    let report = verify(&*image, Path::new(DIRECTORY)).unwrap();
    assert!(!report.damages.is_empty());
    let damage = damage_of(open(&image));
    assert!(matches!(damage.what, DamageKind::Count { .. }), "{damage}");
}

#[test]
fn a_damaged_last_record_counts_as_torn() {
    let vfs = SimVfs::new(4);
    let environment = open(&vfs).unwrap();
    for key in 0..4 {
        put(&environment, key, 100);
    }
    let image = vfs.crash(CrashChoice::KeepAll);
    let journal = newest_journal(&image);
    image
        .flip(Path::new(&journal), 4 * 4096 + 60, 0x04)
        .unwrap();
    assert_eq!(keys(&open(&image).unwrap()), [0, 1, 2]);
}

#[test]
fn a_damaged_space_map_leaves_everything_readable() {
    let vfs = SimVfs::new(5);
    let environment = open(&vfs).unwrap();
    for key in 0..50 {
        put(&environment, key, 6_000);
    }
    drop(environment);
    vfs.flip(&path("data.jd"), 50, 0x01).unwrap();
    let environment = open(&vfs).expect("readable");
    assert_eq!(keys(&environment), (0..50).collect::<Vec<_>>());
    let report = environment.check(CheckLevel::Full).unwrap();
    let pages: Vec<_> = report.damages.iter().map(|damage| damage.page).collect();
    assert_eq!(pages, [Some(jackdaw_storage::PageNumber(0))]);
    // Growing needs no map; giving pages back does, and says what is wrong.
    put(&environment, 50, 6_000);
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    let refused = tree.delete(&7_u32.to_be_bytes()).unwrap_err();
    let StorageError::Corrupt(damage) = refused else {
        panic!("{refused}");
    };
    assert_eq!(damage.page, Some(jackdaw_storage::PageNumber(0)));
    drop(transaction);
    put(&environment, 51, 6_000);
    assert_eq!(keys(&environment), (0..52).collect::<Vec<_>>());
}

/// A map with a right checksum says that pages in use are free: writes that are given them fail.
#[test]
fn a_space_map_that_gives_used_pages_away_is_damage_not_a_panic() {
    let vfs = SimVfs::new(11);
    let environment = open(&vfs).unwrap();
    (0..60).for_each(|key| put(&environment, key, 700));
    drop(environment);
    let data = vfs.file_bytes(&path("data.jd")).unwrap();
    let salt = read_u64(&vfs.file_bytes(&path("meta")).unwrap(), 128);
    let page_count = data.len() / PAGE_BYTES;
    for used in 1..page_count {
        let image = vfs.crash(CrashChoice::KeepAll);
        let mut map = data[..PAGE_BYTES].to_vec();
        map[32..34].copy_from_slice(&1_u16.to_le_bytes());
        map[64..64 + 4096].fill(0);
        map[64 + used / 8] = 1 << (used % 8);
        let checksum = xxh3_64(&map[8..], salt);
        map[..8].copy_from_slice(&checksum.to_le_bytes());
        let options = OpenOptions {
            mode: OpenMode::ReadWrite,
            direct: false,
        };
        let file = image.open(&path("data.jd"), options).unwrap();
        file.write_at(&map, 0, Durability::Data).unwrap();
        let environment = open(&image).unwrap();
        let mut transaction = environment.begin_write().unwrap();
        for key in 0..90_u32 {
            let mut tree = transaction.tree_mut("t").unwrap();
            // Behind all others, then between them.
            let behind = tree.put(&(key + 60).to_be_bytes(), &[7; 700]);
            let between = tree.put(&[&(key / 2).to_be_bytes()[..], &[1]].concat(), &[7; 500]);
            let gone = tree.delete(&(90 - key).to_be_bytes());
            if behind.is_err() || between.is_err() || gone.is_err() {
                break;
            }
        }
    }
}

#[test]
fn recovery_with_little_memory_forgets_runs_that_became_other_pages() {
    let vfs = SimVfs::new(6);
    let options = Options {
        scratch_bytes: 64 << 20,
        journal_bytes: 64 << 20,
        ..Options::small()
    };
    let environment = open_with(&vfs, options).unwrap();
    put(&environment, 0, 60_000);
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    tree.delete(&0_u32.to_be_bytes()).unwrap();
    for key in 1..20 {
        tree.put(&u32::to_be_bytes(key), &[9; 3_000]).unwrap();
    }
    transaction.commit().unwrap();
    put(&environment, 20, 30_000);
    let image = vfs.crash(CrashChoice::KeepAll);
    let little = Options {
        scratch_bytes: 0,
        ..Options::small()
    };
    let recovered = open_with(&image, little).expect("a sound journal is replayed");
    assert_eq!(keys(&recovered), (1..21).collect::<Vec<_>>());
    assert_eq!(recovered.check(CheckLevel::Full).unwrap().damages, []);
}

/// A disk on which another program creates the environment just before this one has the lock.
struct Raced(Arc<SimVfs>);

impl Vfs for Raced {
    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        put(&open(&self.0).unwrap(), 1, 10);
        self.0.lock(path)
    }
    fn lock_shared(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.0.lock_shared(path)
    }
    fn open(&self, path: &Path, options: OpenOptions) -> io::Result<Arc<dyn VfsFile>> {
        self.0.open(path, options)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.0.create_directory(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.0.list(path)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.exists(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.0.remove_directory(path)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.sync_directory(path)
    }
    fn unix_nanos(&self) -> u64 {
        self.0.unix_nanos()
    }
    fn monotonic_nanos(&self) -> u64 {
        self.0.monotonic_nanos()
    }
    fn fill_random(&self, buffer: &mut [u8]) {
        self.0.fill_random(buffer);
    }
}

#[test]
fn an_environment_created_meanwhile_is_opened_not_overwritten() {
    let raced: Arc<dyn Vfs> = Arc::new(Raced(SimVfs::new(7)));
    let environment = Environment::open(raced, Path::new(DIRECTORY), Options::small()).unwrap();
    assert_eq!(keys(&environment), [1]);
}

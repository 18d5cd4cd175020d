//! What the machine can do to an environment, and what is promised then: a full disk changes
//! nothing and passes, a failed write poisons, rotten bytes are named and never served.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{Fault, FaultError, OperationKind, SimVfs};
use jackdaw_storage::{
    CheckLevel, CommitError, Damage, Environment, OpenError, Options, ReadTransaction, StorageError,
};

const DIRECTORY: &str = "/db";

fn open(vfs: &Arc<SimVfs>) -> Result<Environment, OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), Options::small())
}

fn put(environment: &Environment, key: u32, len_bytes: usize) -> Result<(), CommitError> {
    let mut transaction = environment
        .begin_write()
        .map_err(CommitError::NotCommitted)?;
    let value = vec![7; len_bytes];
    transaction
        .tree_mut("t")
        .unwrap()
        .put(&key.to_be_bytes(), &value)
        .unwrap();
    transaction.commit().map(|_| ())
}

fn get(reader: &ReadTransaction, key: u32) -> Result<Option<usize>, StorageError> {
    let Some(tree) = reader.tree("t")? else {
        return Ok(None);
    };
    Ok(tree.get(&key.to_be_bytes())?.map(<[u8]>::len))
}

#[test]
fn full_disk_loses_nothing_and_writes_resume() {
    let vfs = SimVfs::new(1);
    let environment = open(&vfs).unwrap();
    vfs.set_capacity_bytes(2 << 20);
    let mut written = 0;
    let refused = loop {
        match put(&environment, written, 30_000) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1_000, "the disk never got full");
    };
    assert!(
        matches!(refused, CommitError::NotCommitted(StorageError::Full)),
        "{refused}"
    );
    assert_eq!(
        get(&environment.read().unwrap(), written - 1).unwrap(),
        Some(30_000)
    );
    assert_eq!(get(&environment.read().unwrap(), written).unwrap(), None);
    vfs.set_capacity_bytes(64 << 20);
    put(&environment, written, 30_000).expect("there is room again");
    drop(environment);
    let environment = open(&vfs).unwrap();
    let reader = environment.read().unwrap();
    for key in 0..=written {
        assert_eq!(
            get(&reader, key).unwrap(),
            Some(30_000),
            "key {key} of {written}"
        );
    }
    drop(reader);
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

#[test]
fn disk_with_little_room_gets_short_journal_files() {
    let vfs = SimVfs::new(7);
    let shared: Arc<dyn Vfs> = vfs.clone();
    let options = Options {
        journal_file_bytes_max: 4 << 20,
        ..Options::small()
    };
    let environment = Environment::open(shared, Path::new(DIRECTORY), options).unwrap();
    vfs.set_capacity_bytes(2 << 20);
    let mut key = 0;
    while put(&environment, key, 3_000).is_ok() {
        key += 1;
        assert!(key < 10_000, "the disk never got full");
    }
    // Each refused attempt must not ask for more than the one before.
    for _ in 0..8 {
        put(&environment, key, 3_000).expect_err("there is still no room");
    }
    vfs.set_capacity_bytes(vfs.used_bytes() + (256 << 10));
    for more in 0..8 {
        put(&environment, key + more, 3_000).expect("a short journal file fits");
    }
}

#[test]
fn full_disk_gets_the_journal_back_before_a_write_is_refused() {
    let vfs = SimVfs::new(8);
    let shared: Arc<dyn Vfs> = vfs.clone();
    let options = Options {
        journal_bytes: 64 << 20,
        scratch_bytes: 64 << 20,
        journal_file_bytes_max: 1 << 20,
        ..Options::small()
    };
    let environment = Environment::open(shared, Path::new(DIRECTORY), options).unwrap();
    vfs.set_capacity_bytes(3 << 20);
    for round in 0..3_000 {
        put(&environment, round % 10, 3_000).expect("ten values fit, whatever is journalled");
    }
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

#[test]
fn journal_file_that_the_full_disk_refuses_is_a_full_disk() {
    let vfs = SimVfs::new(9);
    let environment = open(&vfs).unwrap();
    put(&environment, 1, 10).unwrap();
    let made = [OperationKind::Open];
    vfs.inject(
        Fault::nth(&made, 1, FaultError::Full)
            .sticky()
            .on("prepared-"),
    );
    let refused = (2..1_000).find_map(|key| put(&environment, key, 3_000).err());
    let refused = refused.expect("the next journal file is needed some time");
    assert!(
        matches!(refused, CommitError::NotCommitted(StorageError::Full)),
        "{refused}"
    );
    vfs.clear_faults();
    put(&environment, 1_000, 10).expect("there is room again");
}

#[test]
fn failed_journal_write_poisons_and_reads_go_on() {
    let vfs = SimVfs::new(2);
    let environment = open(&vfs).unwrap();
    put(&environment, 1, 10).unwrap();
    // The first journal, under the name by which it was opened.
    let journal = "prepared-1.tmp";
    vfs.inject(Fault::nth(&[OperationKind::Write], 1, FaultError::Device).on(journal));
    assert!(matches!(
        put(&environment, 2, 10),
        Err(CommitError::Unknown(_))
    ));
    assert!(matches!(
        put(&environment, 3, 10),
        Err(CommitError::NotCommitted(StorageError::Poisoned))
    ));
    assert_eq!(get(&environment.read().unwrap(), 1).unwrap(), Some(10));
    drop(environment);
    let environment = open(&vfs).unwrap();
    let reader = environment.read().unwrap();
    assert_eq!(get(&reader, 1).unwrap(), Some(10));
    assert_eq!(get(&reader, 3).unwrap(), None);
    drop(reader);
    put(&environment, 4, 10).expect("a reopened environment writes");
}

#[test]
fn failed_sync_of_the_data_file_poisons_and_loses_nothing() {
    let vfs = SimVfs::new(3);
    let environment = open(&vfs).unwrap();
    put(&environment, 1, 10).unwrap();
    vfs.inject(Fault::nth(&[OperationKind::Sync], 1, FaultError::Device).on("data.jd"));
    assert!(environment.flush().is_err());
    assert!(put(&environment, 2, 10).is_err());
    assert_eq!(get(&environment.read().unwrap(), 1).unwrap(), Some(10));
    drop(environment);
    let environment = open(&vfs).unwrap();
    assert_eq!(get(&environment.read().unwrap(), 1).unwrap(), Some(10));
}

#[test]
fn flipped_byte_is_named_and_other_pages_are_served() {
    let vfs = SimVfs::new(4);
    let environment = open(&vfs).unwrap();
    for key in 0..400 {
        put(&environment, key, 500).unwrap();
    }
    drop(environment);
    let bytes = vfs
        .file_bytes(&Path::new(DIRECTORY).join(Damage::DATA_FILE))
        .unwrap();
    let leaf = (0..bytes.len() / 8192)
        .find(|page| bytes[page * 8192 + 24] == 2)
        .unwrap();
    let offset = leaf as u64 * 8192 + 5_000;
    vfs.flip(&Path::new(DIRECTORY).join(Damage::DATA_FILE), offset, 0x40)
        .unwrap();
    let environment = open(&vfs).unwrap();
    let report = environment.check(CheckLevel::Full).unwrap();
    assert_eq!(report.damages.len(), 1, "{:?}", report.damages);
    assert_eq!(report.damages[0].page.map(|page| page.0), Some(leaf as u64));
    let reader = environment.read().unwrap();
    let outcomes: Vec<_> = (0..400).map(|key| get(&reader, key)).collect();
    let damaged = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    assert!(
        damaged > 0 && damaged < 40,
        "{damaged} of 400 keys cannot be read"
    );
    for outcome in outcomes {
        match outcome {
            Ok(value) => assert_eq!(value, Some(500)),
            Err(error) => assert!(matches!(error, StorageError::Corrupt(_)), "{error}"),
        }
    }
}

#[test]
fn foreign_and_damaged_directories_are_refused() {
    let vfs = SimVfs::new(5);
    drop(open(&vfs).unwrap());
    let meta = Path::new(DIRECTORY).join("meta");
    for slot in [0, 4096] {
        vfs.flip(&meta, slot + 100, 0xff).unwrap();
    }
    let error = open(&vfs).err().unwrap();
    assert!(matches!(error, OpenError::MetaDamaged { .. }), "{error}");
    for slot in [0, 4096] {
        vfs.flip(&meta, slot, 0xff).unwrap();
    }
    let error = open(&vfs).err().unwrap();
    assert!(
        matches!(error, OpenError::NotAnEnvironment { .. }),
        "{error}"
    );
}

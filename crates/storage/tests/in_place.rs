//! Large values that go to their place in the data file at commit: written once, there after a
//! power loss, in pages that nothing else can want, and journalled like all else where that cannot
//! be said.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::{BackupError, Environment, OpenError, Options, RestorePoint, StorageError};

/// Run of ten pages, its header included.
const VALUE_BYTES: usize = 10 * 8192 - 32;

fn open_with(vfs: &Arc<SimVfs>, options: Options) -> Result<Environment, OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new("/db"), options)
}

fn options() -> Options {
    Options {
        scratch_bytes: 16 << 20,
        journal_bytes: 16 << 20,
        ..Options::small()
    }
}

fn open(vfs: &Arc<SimVfs>) -> Environment {
    open_with(vfs, options()).unwrap()
}

fn value(seed: u8) -> Vec<u8> {
    (0..VALUE_BYTES)
        .map(|at| seed ^ at.to_le_bytes()[1])
        .collect()
}

fn put(environment: &Environment, key: u8) {
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    tree.put(&[key], &value(key)).unwrap();
    transaction.commit().unwrap();
}

fn delete(environment: &Environment, key: u8) {
    let mut transaction = environment.begin_write().unwrap();
    assert!(transaction.tree_mut("t").unwrap().delete(&[key]).unwrap());
    transaction.commit().unwrap();
}

fn assert_holds(environment: &Environment, keys: &[u8]) {
    let reader = environment.read().unwrap();
    let tree = reader.tree("t").unwrap().unwrap();
    assert_eq!(tree.len(), keys.len() as u64);
    for &key in keys {
        assert!(tree.get(&[key]).unwrap() == Some(&value(key)[..]), "{key}");
    }
}

fn in_place_values(environment: &Environment) -> u64 {
    environment.statistics().in_place_bytes / (VALUE_BYTES as u64 + 32)
}

#[test]
fn values_are_written_once_and_survive_power_loss() {
    let vfs = SimVfs::new(1);
    let environment = open(&vfs);
    for key in 0..8 {
        put(&environment, key);
    }
    let statistics = environment.statistics();
    assert_eq!(in_place_values(&environment), 8);
    assert!(statistics.journal_bytes < 8 * 3 * 4096, "{statistics:?}");
    assert!(statistics.scratch_bytes < 8 * 8192 * 8, "{statistics:?}");
    assert_holds(&environment, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let crashed = vfs.crash(CrashChoice::LoseAll);
    drop(environment);
    let reopened = open(&crashed);
    assert_holds(&reopened, &[0, 1, 2, 3, 4, 5, 6, 7]);
    // Changing a value that is in its place goes through the journal again.
    let mut transaction = reopened.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    tree.put(&[3], &value(9)).unwrap();
    tree.put(&[3], &value(3)).unwrap();
    transaction.commit().unwrap();
    let crashed = crashed.crash(CrashChoice::LoseAll);
    drop(reopened);
    assert_holds(&open(&crashed), &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn freed_pages_are_used_in_place_only_when_no_replay_can_want_them() {
    let vfs = SimVfs::new(2);
    let environment = open(&vfs);
    stamp(&environment);
    put(&environment, 1);
    put(&environment, 2);
    environment.flush().unwrap();
    delete(&environment, 1);
    let page_count = environment.statistics().page_count;
    // The pages are free, but replay may still want what they hold.
    put(&environment, 3);
    assert_eq!(in_place_values(&environment), 2);
    delete(&environment, 3);
    for _ in 0..2 {
        // Both meta slots have to lead past the transaction that freed them.
        stamp(&environment);
        environment.flush().unwrap();
    }
    put(&environment, 4);
    assert_eq!(in_place_values(&environment), 3);
    assert_eq!(environment.statistics().page_count, page_count);
    assert_holds(&environment, &[2, 4]);
    let crashed = vfs.crash(CrashChoice::LoseAll);
    drop(environment);
    assert_holds(&open(&crashed), &[2, 4]);
}

/// A transaction that leaves no trace in the tree of values.
fn stamp(environment: &Environment) {
    let mut transaction = environment.begin_write().unwrap();
    let number = transaction.id().0.to_le_bytes();
    let mut tree = transaction.tree_mut("stamp").unwrap();
    tree.put(b"stamp", &number).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn backup_taken_while_values_are_written_holds_them() {
    let vfs = SimVfs::new(3);
    let environment = open(&vfs);
    put(&environment, 1);
    environment.flush().unwrap();
    put(&environment, 2);
    let key = std::cell::Cell::new(10);
    environment
        .backup(Path::new("/backup"), &|_, _| {
            if key.get() < 14 {
                put(&environment, key.get());
                key.set(key.get() + 1);
            }
        })
        .unwrap();
    assert_eq!(in_place_values(&environment), 2, "none while it is held");
    let restored = |name: &str| {
        let (from, to) = (Path::new("/backup"), Path::new(name));
        jackdaw_storage::restore(&*vfs, from, to, RestorePoint::Latest, &|_, _| {}).unwrap();
        let vfs: Arc<dyn Vfs> = vfs.clone();
        Environment::open(vfs, to, options()).unwrap()
    };
    let keys: Vec<u8> = [1, 2].into_iter().chain(10..key.get()).collect();
    assert_holds(&restored("/restored"), &keys);
    // Without an archive values go in place again, and an increment cannot have them.
    put(&environment, 3);
    assert_eq!(in_place_values(&environment), 3);
    let refused = environment.backup_increment(Path::new("/backup"));
    assert!(matches!(refused, Err(BackupError::JournalGone { .. })));
}

#[test]
fn values_go_through_the_journal_where_it_is_archived() {
    let vfs = SimVfs::new(4);
    let options = Options {
        journal_archive_bytes: 8 << 20,
        ..options()
    };
    let environment = open_with(&vfs, options).unwrap();
    put(&environment, 1);
    environment
        .backup(Path::new("/backup"), &|_, _| {})
        .unwrap();
    put(&environment, 2);
    assert_eq!(in_place_values(&environment), 1);
    environment.backup_increment(Path::new("/backup")).unwrap();
    drop(environment);
    let reopened = open_with(&vfs, options).unwrap();
    put(&reopened, 3);
    assert_eq!(in_place_values(&reopened), 0, "the archive goes on");
}

#[test]
fn damaged_value_in_place_is_named_at_recovery() {
    let vfs = SimVfs::new(5);
    let environment = open(&vfs);
    put(&environment, 1);
    let crashed = vfs.crash(CrashChoice::LoseAll);
    drop(environment);
    let data = Path::new("/db/data.jd");
    let bytes = crashed.file_bytes(data).unwrap();
    let sought = &value(1)[5000..5100];
    let at = bytes
        .windows(sought.len())
        .position(|window| window == sought)
        .unwrap();
    crashed.flip(data, at as u64, 1).unwrap();
    let Err(OpenError::Storage(StorageError::Corrupt(damage))) = open_with(&crashed, options())
    else {
        panic!("a damaged value was not found");
    };
    assert!(damage.page.is_some());
    let report = jackdaw_storage::verify(&*crashed, Path::new("/db")).unwrap();
    assert_eq!(report.damages.len(), 1);
    assert_eq!(report.damages[0].page, damage.page);
}

//! Backups taken while transactions are written: whole, equal to the source at their transaction,
//! restored to any point of their increments, and never mistaken for complete when they are not.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::{
    BackupError, CheckLevel, Environment, Options, ReadTransaction, RestorePoint, restore,
};

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

const QUIET: &dyn Fn(u64, u64) = &|_, _| {};

fn options() -> Options {
    Options {
        journal_archive_bytes: 8 << 20,
        ..Options::small()
    }
}

fn open_at(vfs: &Arc<SimVfs>, directory: &str) -> Environment {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(directory), options()).unwrap()
}

fn content(reader: &ReadTransaction) -> Content {
    let Some(tree) = reader.tree("t").unwrap() else {
        return Content::new();
    };
    let entries = tree.iter().unwrap().map(|entry| entry.unwrap());
    entries
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

/// One transaction of random changes.
fn change(environment: &Environment, state: &mut Content, rng: &mut Rng) -> u64 {
    let mut transaction = environment.begin_write().unwrap();
    let id = transaction.id().0;
    let mut tree = transaction.tree_mut("t").unwrap();
    for _ in 0..=rng.below(5) {
        let key = format!("key-{:02}", rng.below(40)).into_bytes();
        if rng.chance(5) {
            tree.delete(&key).unwrap();
            state.remove(&key);
            continue;
        }
        let byte = u8::try_from(rng.below(256)).unwrap();
        let value = vec![byte; *rng.pick(&[5, 700, 20_000])];
        tree.put(&key, &value).unwrap();
        state.insert(key, value);
    }
    let stamp = rng.next_u64().to_le_bytes();
    tree.put(b"stamp", &stamp).unwrap();
    state.insert(b"stamp".to_vec(), stamp.to_vec());
    transaction.commit().unwrap();
    id
}

/// Restores into a new directory and compares content and structure.
fn assert_restores(
    vfs: &Arc<SimVfs>,
    point: RestorePoint,
    name: &str,
    transaction: u64,
    state: &Content,
) {
    let report = restore(&**vfs, Path::new("/backup"), Path::new(name), point, QUIET).unwrap();
    assert_eq!(report.transaction, transaction);
    let restored = open_at(vfs, name);
    let reader = restored.read().unwrap();
    assert_eq!(reader.id().0, transaction);
    assert!(
        content(&reader) == *state,
        "{name} differs from transaction {transaction}"
    );
    drop(reader);
    assert_eq!(restored.check(CheckLevel::Full).unwrap().damages, []);
    // It goes on from there.
    change(&restored, &mut state.clone(), &mut Rng::new(1));
}

#[test]
fn increments_restore_to_every_transaction_and_time() {
    let vfs = SimVfs::new(1);
    let mut rng = Rng::new(1);
    let mut environment = open_at(&vfs, "/db");
    let mut state = Content::new();
    for _ in 0..30 {
        change(&environment, &mut state, &mut rng);
    }
    let base = environment.backup(Path::new("/backup"), QUIET).unwrap();
    let mut history = vec![(base.transaction, vfs.unix_nanos(), state.clone())];
    for round in 0..25 {
        let id = change(&environment, &mut state, &mut rng);
        history.push((id, vfs.unix_nanos(), state.clone()));
        match round % 6 {
            0 => environment.flush().unwrap(),
            3 => {
                let added = environment.backup_increment(Path::new("/backup")).unwrap();
                assert_eq!(added.transaction, id);
            }
            5 => {
                drop(environment);
                environment = open_at(&vfs, "/db");
            }
            _ => {}
        }
    }
    environment.backup_increment(Path::new("/backup")).unwrap();
    let again = environment.backup_increment(Path::new("/backup")).unwrap();
    assert_eq!((again.transactions, again.bytes), (0, 0));
    for (position, (id, unix_nanos, state)) in history.iter().enumerate().step_by(3) {
        let by_id = format!("/by-id-{position}");
        assert_restores(&vfs, RestorePoint::Transaction(*id), &by_id, *id, state);
        let by_time = format!("/by-time-{position}");
        assert_restores(&vfs, RestorePoint::Time(*unix_nanos), &by_time, *id, state);
    }
    let (id, _, state) = history.last().unwrap();
    assert_restores(&vfs, RestorePoint::Latest, "/latest", *id, state);
    let early = RestorePoint::Transaction(base.transaction - 1);
    let refused = restore(
        &*vfs,
        Path::new("/backup"),
        Path::new("/early"),
        early,
        QUIET,
    );
    assert!(matches!(refused, Err(BackupError::TooEarly { .. })));
}

#[test]
fn backup_under_load_is_one_transaction() {
    for seed in 0..4 {
        let vfs = SimVfs::new(seed);
        let vfs_of_engine: Arc<dyn Vfs> = vfs.clone();
        let with_threads = Options {
            background_flush: true,
            ..options()
        };
        let environment = Environment::open(vfs_of_engine, Path::new("/db"), with_threads).unwrap();
        let mut rng = Rng::new(seed);
        let mut state = Content::new();
        let mut states = BTreeMap::new();
        for _ in 0..20 {
            let id = change(&environment, &mut state, &mut rng);
            states.insert(id, state.clone());
        }
        let is_done = AtomicBool::new(false);
        let report = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    let id = change(&environment, &mut state, &mut rng);
                    states.insert(id, state.clone());
                }
            });
            let report = environment.backup(Path::new("/backup"), QUIET);
            is_done.store(true, Ordering::SeqCst);
            report.unwrap()
        });
        let expected = &states[&report.transaction];
        assert_restores(
            &vfs,
            RestorePoint::Latest,
            "/restored",
            report.transaction,
            expected,
        );
    }
}

#[test]
fn writes_and_flushes_in_the_middle_of_the_copy_do_no_harm() {
    for seed in 20..26 {
        let vfs = SimVfs::new(seed);
        let environment = open_at(&vfs, "/db");
        let model = RefCell::new((Content::new(), Rng::new(seed), BTreeMap::new()));
        let write = |count: u64| {
            let (state, rng, states) = &mut *model.borrow_mut();
            for _ in 0..count {
                let mut transaction = environment.begin_write().unwrap();
                let key = format!("large-{:02}", rng.below(12)).into_bytes();
                let byte = u8::try_from(rng.below(256)).unwrap();
                let value = vec![byte; 400_000];
                let mut tree = transaction.tree_mut("t").unwrap();
                tree.put(&key, &value).unwrap();
                let other = format!("large-{:02}", rng.below(12)).into_bytes();
                tree.delete(&other).unwrap();
                transaction.commit().unwrap();
                state.insert(key, value);
                state.remove(&other);
                let id = change(&environment, state, rng);
                states.insert(id, state.clone());
            }
        };
        write(20);
        environment.flush().unwrap();
        let copied = Cell::new(0);
        let report = environment.backup(Path::new("/backup"), &|_, _| {
            copied.set(copied.get() + 1);
            write(2);
            environment.flush().unwrap();
        });
        let report = report.unwrap();
        assert!(copied.get() >= 3, "the copy was one piece");
        assert!(report.transactions >= 6, "{report:?}");
        let model = model.borrow();
        let expected = &model.2[&report.transaction];
        assert_restores(
            &vfs,
            RestorePoint::Latest,
            "/restored",
            report.transaction,
            expected,
        );
    }
}

#[test]
fn what_is_there_is_never_overwritten() {
    let vfs = SimVfs::new(5);
    let environment = open_at(&vfs, "/db");
    change(&environment, &mut Content::new(), &mut Rng::new(5));
    environment.backup(Path::new("/backup"), QUIET).unwrap();
    for taken in ["/backup", "/db"] {
        let refused = environment.backup(Path::new(taken), QUIET);
        assert!(
            matches!(refused, Err(BackupError::TargetExists { .. })),
            "{taken}"
        );
        let from = Path::new("/backup");
        let refused = restore(&*vfs, from, Path::new(taken), RestorePoint::Latest, QUIET);
        assert!(
            matches!(refused, Err(BackupError::TargetExists { .. })),
            "{taken}"
        );
    }
    let nothing = environment.backup_increment(Path::new("/nothing"));
    assert!(matches!(nothing, Err(BackupError::NotABackup { .. })));
    let other = open_at(&vfs, "/other");
    change(&other, &mut Content::new(), &mut Rng::new(6));
    let foreign = other.backup_increment(Path::new("/backup"));
    assert!(matches!(foreign, Err(BackupError::OtherSource { .. })));
}

#[test]
fn increments_say_when_the_journal_is_gone() {
    let vfs = SimVfs::new(7);
    let vfs_of_engine: Arc<dyn Vfs> = vfs.clone();
    let environment = Environment::open(vfs_of_engine, Path::new("/db"), Options::small()).unwrap();
    let (mut state, mut rng) = (Content::new(), Rng::new(7));
    change(&environment, &mut state, &mut rng);
    environment.backup(Path::new("/backup"), QUIET).unwrap();
    for _ in 0..200 {
        change(&environment, &mut state, &mut rng);
    }
    environment.flush().unwrap();
    let refused = environment.backup_increment(Path::new("/backup"));
    assert!(
        matches!(refused, Err(BackupError::JournalGone { .. })),
        "{refused:?}"
    );
}

#[test]
fn damage_of_source_or_backup_is_found() {
    let vfs = SimVfs::new(8);
    let environment = open_at(&vfs, "/db");
    let (mut state, mut rng) = (Content::new(), Rng::new(8));
    for _ in 0..20 {
        change(&environment, &mut state, &mut rng);
    }
    environment.backup(Path::new("/backup"), QUIET).unwrap();
    let pages = Path::new("/backup/pages.jd");
    vfs.flip(pages, 8192 * 2 + 4000, 0x40).unwrap();
    let from = Path::new("/backup");
    let damaged = restore(&*vfs, from, Path::new("/to"), RestorePoint::Latest, QUIET);
    assert!(
        matches!(damaged, Err(BackupError::Storage(_))),
        "{damaged:?}"
    );
    vfs.flip(pages, 8192 * 2 + 4000, 0x40).unwrap();
    restore(&*vfs, from, Path::new("/to"), RestorePoint::Latest, QUIET).unwrap();
    vfs.flip(Path::new("/backup/backup"), 40, 1).unwrap();
    let damaged = restore(&*vfs, from, Path::new("/to-2"), RestorePoint::Latest, QUIET);
    assert!(matches!(damaged, Err(BackupError::NotABackup { .. })));
}

#[test]
fn full_disk_leaves_no_backup_and_the_same_call_completes_it() {
    let vfs = SimVfs::new(9);
    let environment = open_at(&vfs, "/db");
    let (mut state, mut rng) = (Content::new(), Rng::new(9));
    let mut last = 0;
    for _ in 0..30 {
        last = change(&environment, &mut state, &mut rng);
    }
    environment.flush().unwrap();
    vfs.set_capacity_bytes(vfs.used_bytes() + (64 << 10));
    let refused = environment.backup(Path::new("/backup"), QUIET);
    assert!(
        matches!(refused, Err(BackupError::NoSpace { .. })),
        "{refused:?}"
    );
    vfs.set_capacity_bytes(1 << 30);
    environment.backup(Path::new("/backup"), QUIET).unwrap();
    assert_restores(&vfs, RestorePoint::Latest, "/to", last, &state);
}

/// After power loss at any operation of making a backup, an increment or a restore, there is a
/// whole one or none, and the same call makes it.
#[test]
fn power_loss_leaves_a_whole_backup_or_none() {
    let vfs = SimVfs::new(10);
    let environment = open_at(&vfs, "/db");
    let (mut state, mut rng) = (Content::new(), Rng::new(10));
    let mut states = BTreeMap::new();
    for _ in 0..12 {
        let id = change(&environment, &mut state, &mut rng);
        states.insert(id, state.clone());
    }
    let before = vfs.operation_count();
    environment.backup(Path::new("/backup"), QUIET).unwrap();
    let complete = vfs.operation_count();
    for _ in 0..3 {
        let id = change(&environment, &mut state, &mut rng);
        states.insert(id, state.clone());
    }
    environment.backup_increment(Path::new("/backup")).unwrap();
    restore(
        &*vfs,
        Path::new("/backup"),
        Path::new("/to"),
        RestorePoint::Latest,
        QUIET,
    )
    .unwrap();
    let history = vfs.history();
    let mut whole = 0;
    for completed in before..=history.operation_count() {
        for choice in [
            CrashChoice::LoseAll,
            CrashChoice::KeepAll,
            CrashChoice::Random(completed),
        ] {
            let image = history.moment(completed).image(choice);
            let from = Path::new("/backup");
            let restored = restore(&*image, from, Path::new("/to"), RestorePoint::Latest, QUIET);
            match restored {
                Ok(report) => {
                    whole += 1;
                    let restored = open_at(&image, "/to");
                    let found = content(&restored.read().unwrap());
                    assert!(found == states[&report.transaction], "after {completed}");
                }
                Err(BackupError::NotABackup { .. }) => {
                    assert!(
                        completed < complete,
                        "a complete backup is gone: {completed}"
                    );
                    let again = open_at(&image, "/db").backup(from, QUIET).unwrap();
                    assert!(states.contains_key(&again.transaction));
                }
                // The restore was complete.
                Err(BackupError::TargetExists { .. }) => {
                    let restored = open_at(&image, "/to");
                    assert!(
                        states
                            .values()
                            .any(|s| *s == content(&restored.read().unwrap()))
                    );
                }
                Err(error) => panic!("after {completed}, {choice:?}: {error}"),
            }
        }
    }
    assert!(whole > 20, "only {whole} whole backups");
}

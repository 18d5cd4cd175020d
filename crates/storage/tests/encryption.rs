//! Environments on an encrypted file system: nothing that was stored can be read on the disk below,
//! keys are refused in one sentence, and memory of decrypted pages has a limit that no reader
//! notices.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackdaw_io::{DecryptedLimits, EncryptedVfs, EncryptionKey, Vfs, change_key};
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::{
    CheckLevel, Environment, OpenError, Options, RestorePoint, compact, restore, verify,
};

const DIRECTORY: &str = "/db";
const QUIET: &dyn Fn(u64, u64) = &|_, _| {};

/// What must not be found: a key, a value, a large value, the name of a tree.
const MARKERS: [&str; 4] = [
    "marker-of-a-key",
    "marker-of-a-value",
    "marker-of-a-large-value",
    "marker-of-a-tree",
];

fn key(byte: u8) -> EncryptionKey {
    EncryptionKey::from_bytes([byte; 32])
}

fn encrypted(disk: &Arc<SimVfs>, key_byte: u8) -> Arc<dyn Vfs> {
    let limits = DecryptedLimits {
        budget_bytes: 256 << 10,
        bytes_max: 64 << 20,
    };
    EncryptedVfs::new(Arc::clone(disk) as Arc<dyn Vfs>, key(key_byte), limits)
}

fn vfs_of(disk: &Arc<SimVfs>, is_encrypted: bool) -> Arc<dyn Vfs> {
    match is_encrypted {
        true => encrypted(disk, 1),
        false => Arc::clone(disk) as Arc<dyn Vfs>,
    }
}

fn options() -> Options {
    Options {
        journal_archive_bytes: 8 << 20,
        ..Options::small()
    }
}

fn open(vfs: &Arc<dyn Vfs>) -> Environment {
    Environment::open(Arc::clone(vfs), Path::new(DIRECTORY), options()).unwrap()
}

fn store(environment: &Environment, round: u64) {
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut(MARKERS[3]).unwrap();
    let value = MARKERS[1].repeat(20);
    tree.put(key_of(round).as_bytes(), value.as_bytes())
        .unwrap();
    let large = MARKERS[2].repeat(4_000 + usize::try_from(round).unwrap());
    tree.put(format!("large-{round}").as_bytes(), large.as_bytes())
        .unwrap();
    transaction.commit().unwrap();
}

/// What keys begin with is kept apart from the rest.
fn key_of(round: u64) -> String {
    format!("{round}-0123456789-{}", MARKERS[0])
}

fn check_content(environment: &Environment, rounds: u64) {
    let reader = environment.read().unwrap();
    let tree = reader.tree(MARKERS[3]).unwrap().unwrap();
    for round in 0..rounds {
        let value = tree.get(key_of(round).as_bytes());
        assert_eq!(value.unwrap().unwrap(), MARKERS[1].repeat(20).as_bytes());
        let large = tree.get(format!("large-{round}").as_bytes()).unwrap();
        let len_bytes = MARKERS[2].len() * (4_000 + usize::try_from(round).unwrap());
        assert_eq!(large.unwrap().len(), len_bytes);
    }
}

/// Which markers are in any byte of any file.
fn found(disk: &SimVfs) -> [bool; 4] {
    let contents: Vec<Vec<u8>> = disk
        .file_paths()
        .iter()
        .map(|path| disk.file_bytes(Path::new(path)).unwrap())
        .collect();
    MARKERS.map(|marker| {
        let marker = marker.as_bytes();
        let mut windows = contents
            .iter()
            .flat_map(|bytes| bytes.windows(marker.len()));
        windows.any(|window| window == marker)
    })
}

#[test]
fn nothing_that_was_stored_can_be_read_on_the_disk() {
    for is_encrypted in [false, true] {
        let disk = SimVfs::new(1);
        let vfs = vfs_of(&disk, is_encrypted);
        let environment = open(&vfs);
        store(&environment, 0);
        // In the journal alone.
        let in_journal = found(&disk);
        environment.flush().unwrap();
        store(&environment, 1);
        let (backup, restored) = (Path::new("/backup"), Path::new("/restored"));
        environment.backup(backup, QUIET).unwrap();
        store(&environment, 2);
        environment.backup_increment(backup).unwrap();
        store(&environment, 3);
        let crashed = disk.crash(CrashChoice::KeepAll);
        drop(environment);
        // Everything at once: data, journal, archive, backup, after a crash and after closing.
        for disk in [&crashed, &disk] {
            assert_eq!(found(disk), [!is_encrypted; 4]);
            let vfs = vfs_of(disk, is_encrypted);
            check_content(&open(&vfs), 4);
            assert!(
                verify(&*vfs, Path::new(DIRECTORY))
                    .unwrap()
                    .damages
                    .is_empty()
            );
            compact(&vfs, Path::new(DIRECTORY), QUIET).unwrap();
            let environment = open(&vfs);
            check_content(&environment, 4);
            let report = environment.check(CheckLevel::Full).unwrap();
            assert!(report.damages.is_empty());
            drop(environment);
            restore(&*vfs, backup, restored, RestorePoint::Latest, QUIET).unwrap();
            let copy = Environment::open(Arc::clone(&vfs), restored, options()).unwrap();
            check_content(&copy, 3);
            drop(copy);
            assert_eq!(found(disk), [!is_encrypted; 4]);
        }
        assert_eq!(in_journal.contains(&true), !is_encrypted);
    }
}

#[test]
fn keys_are_told_apart_in_one_sentence() {
    let disk = SimVfs::new(2);
    store(&open(&encrypted(&disk, 1)), 0);
    let error = |vfs: Arc<dyn Vfs>, directory: &str| {
        let opened = Environment::open(vfs, Path::new(directory), options());
        opened.err().unwrap()
    };
    let without = error(vfs_of(&disk, false), DIRECTORY);
    assert!(matches!(without, OpenError::Encrypted { .. }));
    let sentence = "/db is encrypted: give its key with --encryption-key-file or \
                    --encryption-key-command";
    assert_eq!(without.to_string(), sentence);
    let verified = verify(&*vfs_of(&disk, false), Path::new(DIRECTORY)).err();
    assert_eq!(verified.unwrap().to_string(), sentence);
    // Nothing but the key was written yet.
    let begun = Path::new("/begun");
    encrypted(&disk, 1).create_directory(begun).unwrap();
    assert!(matches!(
        error(vfs_of(&disk, false), "/begun"),
        OpenError::Encrypted { .. }
    ));
    assert!(!disk.exists(&begun.join("LOCK")).unwrap());
    let wrong = error(encrypted(&disk, 2), DIRECTORY).to_string();
    let sentence = "the key is not the one that /db was encrypted with";
    assert!(wrong.ends_with(sentence), "{wrong}");
    let plain: Arc<dyn Vfs> = vfs_of(&disk, false);
    drop(Environment::open(Arc::clone(&plain), Path::new("/plain"), options()).unwrap());
    let with_key = error(encrypted(&disk, 1), "/plain").to_string();
    assert!(
        with_key.contains("/plain is not encrypted: open it without a key"),
        "{with_key}"
    );
    assert!(Environment::open(plain, Path::new("/plain"), options()).is_ok());
}

#[test]
fn a_change_of_the_key_survives_power_loss_at_every_operation() {
    let mut steps = 0;
    for step in 1.. {
        for choice in [
            CrashChoice::LoseAll,
            CrashChoice::KeepAll,
            CrashChoice::Random(step),
        ] {
            let disk = SimVfs::new(3);
            store(&open(&encrypted(&disk, 1)), 0);
            let fault = jackdaw_sim::Fault::nth(&[], step, jackdaw_sim::FaultError::Device);
            disk.inject(fault.sticky());
            let outcome = change_key(&*disk, Path::new(DIRECTORY), &key(1), &key(2));
            let is_over = disk.fault_count() == 0;
            disk.clear_faults();
            if is_over {
                check_content(&open(&encrypted(&disk, 2)), 1);
                assert!(steps > 4, "{steps}");
                return;
            }
            steps = step;
            let image = disk.crash(choice);
            let opens = |byte| {
                let vfs = encrypted(&image, byte);
                Environment::open(vfs, Path::new(DIRECTORY), options()).is_ok()
            };
            let (old, new) = (opens(1), opens(2));
            assert!(
                old != new && (outcome.is_err() || new),
                "step {step}, {choice:?}"
            );
        }
    }
}

/// Readers whose pages are given up and decrypted again all the time, beside a writer that flushes.
#[test]
fn readers_beside_giving_up_and_flushing_see_their_snapshot() {
    const KEYS: u64 = 300;
    let disk = SimVfs::new(4);
    let limits = DecryptedLimits {
        budget_bytes: 64 << 10,
        bytes_max: 64 << 20,
    };
    let below = Arc::clone(&disk) as Arc<dyn Vfs>;
    let vfs: Arc<dyn Vfs> = EncryptedVfs::new(below, key(1), limits);
    let environment = open(&vfs);
    let fill = |round: u64, keys: &[u64]| {
        let mut transaction = environment.begin_write().unwrap();
        let mut tree = transaction.tree_mut("t").unwrap();
        for key in keys {
            tree.put(&key.to_be_bytes(), &value(*key, round)).unwrap();
        }
        tree.put(b"round", &round.to_le_bytes()).unwrap();
        transaction.commit().unwrap();
        environment.flush().unwrap();
    };
    fill(0, &(0..KEYS).collect::<Vec<u64>>());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 1..=3 {
            let (environment, is_over) = (&environment, &is_over);
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                while !is_over.load(Ordering::Relaxed) {
                    let reader = environment.read().unwrap();
                    let tree = reader.tree("t").unwrap().unwrap();
                    for _ in 0..rng.below(60) {
                        let key = rng.below(KEYS);
                        let found = tree.get(&key.to_be_bytes()).unwrap().unwrap();
                        let round = u64::from_le_bytes(found[..8].try_into().unwrap());
                        assert_eq!(found, value(key, round), "seed {seed}, key {key}");
                    }
                }
            });
        }
        let mut rng = Rng::new(9);
        for round in 1..=60 {
            let keys: Vec<u64> = (0..20).map(|_| rng.below(KEYS)).collect();
            fill(round, &keys);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    environment.release_resident();
    let report = environment.check(CheckLevel::Full).unwrap();
    assert!(report.damages.is_empty(), "{report:?}");
}

fn value(key: u64, round: u64) -> Vec<u8> {
    let len_bytes = if key.is_multiple_of(7) { 20_000 } else { 900 };
    let mut value = round.to_le_bytes().to_vec();
    value.resize(len_bytes, u8::try_from(key % 251).unwrap());
    value
}

#[test]
fn a_snapshot_that_holds_more_than_the_limit_is_told_so_and_others_go_on() {
    let disk = SimVfs::new(5);
    let limits = DecryptedLimits {
        budget_bytes: 64 << 10,
        bytes_max: 512 << 10,
    };
    let below = Arc::clone(&disk) as Arc<dyn Vfs>;
    let vfs: Arc<dyn Vfs> = EncryptedVfs::new(below, key(1), limits);
    let environment = open(&vfs);
    for key in 0..100_u64 {
        let mut transaction = environment.begin_write().unwrap();
        let mut tree = transaction.tree_mut("t").unwrap();
        tree.put(&key.to_be_bytes(), &value(key * 7, 0)).unwrap();
        transaction.commit().unwrap();
    }
    environment.flush().unwrap();
    let long = environment.read().unwrap();
    let tree = long.tree("t").unwrap().unwrap();
    let read: Result<Vec<_>, _> = (0..100_u64)
        .map(|key| tree.get(&key.to_be_bytes()))
        .collect();
    let error = read.unwrap_err().to_string();
    assert!(
        error.contains("open snapshots hold 0 MiB of decrypted pages"),
        "{error}"
    );
    drop(long);
    for key in 0..100_u64 {
        let reader = environment.read().unwrap();
        let tree = reader.tree("t").unwrap().unwrap();
        assert_eq!(
            tree.get(&key.to_be_bytes()).unwrap().unwrap(),
            value(key * 7, 0)
        );
    }
}

#[test]
fn an_idle_environment_gives_up_what_another_one_has_no_room_for() {
    const KEYS: u64 = 60;
    let disk = SimVfs::new(6);
    let limits = DecryptedLimits {
        budget_bytes: 256 << 10,
        bytes_max: 512 << 10,
    };
    let below = Arc::clone(&disk) as Arc<dyn Vfs>;
    let vfs: Arc<dyn Vfs> = EncryptedVfs::new(below, key(1), limits);
    let environments = ["/a", "/b"].map(|directory| {
        let opened = Environment::open(Arc::clone(&vfs), Path::new(directory), options());
        let environment = opened.unwrap();
        let mut transaction = environment.begin_write().unwrap();
        let mut tree = transaction.tree_mut("t").unwrap();
        for key in 0..KEYS {
            tree.put(&key.to_be_bytes(), &value(key * 7, 0)).unwrap();
        }
        transaction.commit().unwrap();
        environment.flush().unwrap();
        environment
    });
    // The writer's snapshot outlives the one that reads as much as there is room for.
    let long = environments[0].read().unwrap();
    let tree = long.tree("t").unwrap().unwrap();
    assert!((0..KEYS).any(|key| tree.get(&key.to_be_bytes()).is_err()));
    let writer = environments[0].begin_write().unwrap();
    drop(long);
    drop(writer);
    let reader = environments[1].read().unwrap();
    let tree = reader.tree("t").unwrap().unwrap();
    for key in 0..15_u64 {
        let found = tree.get(&key.to_be_bytes()).unwrap();
        assert_eq!(found.unwrap(), value(key * 7, 0));
    }
}

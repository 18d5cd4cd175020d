//! Environments opened for reading only: they show what a normal opening would, whatever state a
//! power loss left, and not a byte of their files changes.
//!
//! Random histories print their seed. The disk refuses every change while one is open, so that a
//! write that would leave equal bytes is found too.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "flips/listing.rs"]
mod listing;

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::{MemoryVfs, RealVfs, Vfs};
use jackdaw_sim::{CrashChoice, Fault, FaultError, OperationKind, Rng, SimVfs};
use jackdaw_storage::{
    CheckLevel, Environment, OpenError, Options, StorageError, WriteError, verify,
};

const DIRECTORY: &str = "/db";

/// Whatever changes a disk.
const CHANGES: [OperationKind; 9] = [
    OperationKind::CreateDirectory,
    OperationKind::Rename,
    OperationKind::Remove,
    OperationKind::SyncDirectory,
    OperationKind::Write,
    OperationKind::Sync,
    OperationKind::SetLen,
    OperationKind::Allocate,
    OperationKind::PunchHole,
];

fn open<V: Vfs>(vfs: &Arc<V>) -> Result<Environment, OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), Options::small())
}

fn open_read_only<V: Vfs>(vfs: &Arc<V>) -> Result<Environment, OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open_read_only(vfs, Path::new(DIRECTORY))
}

/// Some transactions over trees of every kind, with flushes in between.
fn write(environment: &Environment, rng: &mut Rng) {
    for _ in 0..rng.between(1, 25) {
        let mut transaction = environment.begin_write().unwrap();
        for _ in 0..rng.between(1, 20) {
            let key = rng.below(200).to_be_bytes();
            let value = vec![7; *rng.pick(&[10, 900, 9_000, 60_000])];
            let mut tree = transaction.tree_mut("t").unwrap();
            if rng.chance(3) {
                tree.delete(&key).unwrap();
            } else {
                tree.put(&key, &value).unwrap();
            }
            let mut counted = transaction.counted_tree_mut("c").unwrap();
            counted.put(&key, &value[..10]).unwrap();
            let mut fixed = transaction.fixed_tree_mut("f", 8).unwrap();
            fixed.put(rng.below(500), &key).unwrap();
        }
        transaction.commit().unwrap();
        if rng.chance(6) {
            environment.flush().unwrap();
        }
    }
}

/// Names and bytes of all files.
fn files(vfs: &SimVfs) -> Vec<(String, Vec<u8>)> {
    let with_bytes = |path: String| {
        let bytes = vfs.file_bytes(Path::new(&path)).unwrap();
        (path, bytes)
    };
    vfs.file_paths().into_iter().map(with_bytes).collect()
}

fn listing_of(environment: &Environment) -> String {
    listing::of(&environment.read().unwrap()).unwrap()
}

#[test]
fn what_a_power_loss_left_is_read_without_changing_it() {
    for seed in 1..=30 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let environment = open(&vfs).unwrap();
        write(&environment, &mut rng);
        let image = vfs.crash(CrashChoice::Random(seed));
        let before = files(&image);
        image.inject(Fault::nth(&CHANGES, 1, FaultError::Device).sticky());
        let to_read = open_read_only(&image).unwrap();
        let listing = listing_of(&to_read);
        assert_eq!(to_read.check(CheckLevel::Full).unwrap().damages, []);
        drop(to_read);
        assert_eq!(image.fault_count(), 0, "something tried to change the disk");
        assert!(files(&image) == before, "a file has changed");
        image.clear_faults();
        assert_eq!(listing_of(&open(&image).unwrap()), listing);
    }
}

#[test]
fn an_environment_closed_in_order_needs_no_replay() {
    let vfs = SimVfs::new(3);
    let environment = open(&vfs).unwrap();
    write(&environment, &mut Rng::new(3));
    let listing = listing_of(&environment);
    drop(environment);
    let to_read = open_read_only(&vfs).unwrap();
    assert_eq!(listing_of(&to_read), listing);
    let statistics = to_read.statistics();
    assert!(statistics.recovery.was_clean);
    assert_eq!(statistics.recovery.transactions, 0);
}

#[test]
fn writes_are_refused_in_one_sentence() {
    let vfs = SimVfs::new(4);
    write(&open(&vfs).unwrap(), &mut Rng::new(4));
    let to_read = open_read_only(&vfs).unwrap();
    let error = to_read.begin_write().err().unwrap();
    assert!(matches!(error, StorageError::ReadOnly));
    let expected = "this environment is open for reading only: open it for writing to change it";
    assert_eq!(error.to_string(), expected);
    let written = to_read.write(|_| Ok::<(), StorageError>(()));
    let refused = |error: &StorageError| matches!(error, StorageError::ReadOnly);
    assert!(matches!(written, Err(WriteError::NotCommitted(error)) if refused(&error)));
    let submitted = to_read.submit(|_| Ok::<(), StorageError>(())).wait();
    assert!(matches!(submitted, Err(WriteError::NotCommitted(error)) if refused(&error)));
    assert!(to_read.flush().is_err_and(|error| refused(&error)));
    assert!(
        to_read
            .wait_for_queued()
            .is_err_and(|error| refused(&error))
    );
    let backup = to_read.backup(Path::new("/backup"), &|_, _| {});
    assert_eq!(backup.err().unwrap().to_string(), expected);
}

/// Two readers at once are welcome; a writer and readers exclude each other.
fn check_locks<V: Vfs>(vfs: &Arc<V>) {
    let in_use = |opened: Result<Environment, OpenError>| {
        opened.is_err_and(|error| matches!(error, OpenError::InUse { .. }))
    };
    let missing = open_read_only(vfs).err().unwrap();
    assert!(matches!(missing, OpenError::Missing { .. }));
    let writer = open(vfs).unwrap();
    write(&writer, &mut Rng::new(5));
    let listing = listing_of(&writer);
    assert!(in_use(open_read_only(vfs)));
    drop(writer);
    let (one, other) = (open_read_only(vfs).unwrap(), open_read_only(vfs).unwrap());
    assert!(in_use(open(vfs)));
    let verified = verify(&**vfs, Path::new(DIRECTORY)).unwrap();
    assert!(verified.damages.is_empty());
    assert_eq!(listing_of(&one), listing);
    drop(one);
    assert!(in_use(open(vfs)));
    assert_eq!(listing_of(&other), listing);
    drop(other);
    assert_eq!(listing_of(&open(vfs).unwrap()), listing);
}

#[test]
fn readers_share_and_exclude_a_writer_on_the_simulated_disk() {
    check_locks(&SimVfs::new(5));
}

#[test]
fn readers_share_and_exclude_a_writer_in_memory() {
    check_locks(&MemoryVfs::new());
}

#[test]
fn a_copy_without_a_lock_file_is_told_apart() {
    let vfs = SimVfs::new(6);
    write(&open(&vfs).unwrap(), &mut Rng::new(6));
    vfs.remove_file(Path::new("/db/LOCK")).unwrap();
    let error = open_read_only(&vfs).err().unwrap();
    assert!(error.to_string().contains("create an empty one"), "{error}");
}

#[test]
fn a_real_directory_of_a_killed_writer_keeps_its_bytes_and_times() {
    let directory = std::env::temp_dir().join(format!("jackdaw-read-only-{}", std::process::id()));
    let (live, copy) = (directory.join("live"), directory.join("copy"));
    let vfs: Arc<dyn Vfs> = RealVfs::new();
    let writer = Environment::open(Arc::clone(&vfs), &live, Options::small()).unwrap();
    write(&writer, &mut Rng::new(7));
    std::fs::create_dir_all(copy.join("journal")).unwrap();
    for from in ["", "journal"] {
        for entry in std::fs::read_dir(live.join(from))
            .unwrap()
            .map(Result::unwrap)
        {
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), copy.join(from).join(entry.file_name())).unwrap();
            }
        }
    }
    let listing = listing_of(&writer);
    drop(writer);
    let state = || {
        let mut state = Vec::new();
        for from in ["", "journal"] {
            let here = copy.join(from);
            state.push((
                here.clone(),
                here.metadata().unwrap().modified().unwrap(),
                Vec::new(),
            ));
            for entry in std::fs::read_dir(&here).unwrap().map(Result::unwrap) {
                let metadata = entry.metadata().unwrap();
                if metadata.is_file() {
                    let bytes = std::fs::read(entry.path()).unwrap();
                    state.push((entry.path(), metadata.modified().unwrap(), bytes));
                }
            }
        }
        state
    };
    let before = state();
    let to_read = Environment::open_read_only(vfs, &copy).unwrap();
    assert!(to_read.statistics().recovery.transactions > 0);
    assert_eq!(listing_of(&to_read), listing);
    drop(to_read);
    assert!(state() == before, "a file has changed");
    std::fs::remove_dir_all(&directory).unwrap();
}

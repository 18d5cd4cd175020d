//! What an environment promises, seen from outside: snapshots, rollback, merging, recovery.
//!
//! All on the simulated disk, so that nothing depends on the machine.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise and prints its seed"
)]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::{
    CheckLevel, Environment, MeterKind, OpenError, Options, ReadTransaction, StorageError,
    WriteError, WriteTransaction,
};

const DIRECTORY: &str = "/db";

fn open(vfs: &Arc<SimVfs>) -> Environment {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), Options::small()).expect("opens")
}

fn put(environment: &Environment, key: &str, value: &str) {
    let mut transaction = environment.begin_write().expect("no other writer");
    transaction
        .tree_mut("t")
        .unwrap()
        .put(key.as_bytes(), value.as_bytes())
        .unwrap();
    transaction.commit().expect("commits");
}

fn get(transaction: &ReadTransaction, key: &str) -> Option<String> {
    let tree = transaction.tree("t").unwrap()?;
    let value = tree.get(key.as_bytes()).unwrap()?;
    Some(String::from_utf8(value.to_vec()).unwrap())
}

/// Keys, and of each value its length and first byte.
fn summary(content: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<(String, usize, u8)> {
    content
        .iter()
        .map(|(key, value)| {
            assert!(value.iter().all(|byte| *byte == value[0]), "a mixed value");
            let key = String::from_utf8_lossy(key).into_owned();
            (key, value.len(), value.first().copied().unwrap_or(0))
        })
        .collect()
}

fn content(transaction: &ReadTransaction) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let Some(tree) = transaction.tree("t").unwrap() else {
        return BTreeMap::new();
    };
    tree.iter()
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

/// Keys of a range over 2,000, with a flush after the first step from either end.
fn keys_beside_a_flush(is_from_behind: bool) -> Vec<Vec<u8>> {
    let environment = open(&SimVfs::new(1));
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    for number in 0..2_000 {
        tree.put(format!("key-{number:04}").as_bytes(), &[1; 50])
            .unwrap();
    }
    transaction.commit().unwrap();
    let snapshot = environment.read().unwrap();
    let tree = snapshot.tree("t").unwrap().expect("it was written");
    let (low, high) = (b"key-0500", b"key-1500");
    let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
    let mut range = tree.range(bounds).unwrap();
    let mut keys = Vec::new();
    loop {
        let next = match is_from_behind {
            true => range.next_back(),
            false => range.next(),
        };
        let Some(entry) = next else {
            return keys;
        };
        keys.push(entry.unwrap().0.to_vec());
        if keys.len() == 1 {
            // The pages of the snapshot move from memory to the data file.
            environment.flush().unwrap();
            assert!(environment.statistics().pages_flushed > 10);
        }
    }
}

#[test]
fn a_range_keeps_its_bounds_when_a_flush_moves_its_pages() {
    let expected: Vec<Vec<u8>> = (500..1_500)
        .map(|number| format!("key-{number:04}").into_bytes())
        .collect();
    assert_eq!(keys_beside_a_flush(false), expected);
    let backwards: Vec<Vec<u8>> = expected.into_iter().rev().collect();
    assert_eq!(keys_beside_a_flush(true), backwards);
}

#[test]
fn committed_values_are_read_back_and_survive_reopening() {
    let vfs = SimVfs::new(1);
    let environment = open(&vfs);
    put(&environment, "a", "1");
    assert_eq!(get(&environment.read().unwrap(), "a").as_deref(), Some("1"));
    drop(environment);
    let environment = open(&vfs);
    assert!(environment.statistics().recovery.was_clean);
    assert_eq!(get(&environment.read().unwrap(), "a").as_deref(), Some("1"));
}

#[test]
fn reader_keeps_its_snapshot_across_commits_and_flushes() {
    let vfs = SimVfs::new(2);
    let environment = open(&vfs);
    put(&environment, "a", "1");
    environment.flush().unwrap();
    put(&environment, "a", "2");
    let reader = environment.read().unwrap();
    for round in 3..20 {
        put(&environment, "a", &round.to_string());
        environment.flush().unwrap();
    }
    assert_eq!(get(&reader, "a").as_deref(), Some("2"));
    assert_eq!(
        get(&environment.read().unwrap(), "a").as_deref(),
        Some("19")
    );
    drop(reader);
    environment.flush().unwrap();
    assert_eq!(
        get(&environment.read().unwrap(), "a").as_deref(),
        Some("19")
    );
}

#[test]
fn dropped_transaction_leaves_nothing_behind() {
    let vfs = SimVfs::new(3);
    let environment = open(&vfs);
    put(&environment, "a", "1");
    let mut transaction = environment.begin_write().unwrap();
    transaction
        .tree_mut("t")
        .unwrap()
        .put(b"a", &[7; 100_000])
        .unwrap();
    transaction
        .tree_mut("other")
        .unwrap()
        .put(b"x", b"y")
        .unwrap();
    drop(transaction);
    let reader = environment.read().unwrap();
    assert_eq!(get(&reader, "a").as_deref(), Some("1"));
    assert!(reader.tree("other").unwrap().is_none());
    drop(reader);
    let report = environment.check(CheckLevel::Full).unwrap();
    assert_eq!(report.damages, []);
}

#[test]
fn failing_operation_is_taken_back_alone() {
    let vfs = SimVfs::new(4);
    let environment = open(&vfs);
    let first =
        environment.submit(|transaction| transaction.tree_mut("t")?.put(b"a", b"1").map(|_| ()));
    let failing = environment.submit(|transaction| {
        transaction.tree_mut("t").unwrap().put(b"a", b"2").unwrap();
        transaction
            .tree_mut("t")
            .unwrap()
            .put(b"long", &[1; 50_000])
            .unwrap();
        transaction
            .tree_mut("new")
            .unwrap()
            .put(b"k", b"v")
            .unwrap();
        Err::<(), &str>("refused")
    });
    let panicking = environment.submit(|transaction| -> Result<(), StorageError> {
        transaction.tree_mut("t")?.delete(b"a")?;
        panic!("on purpose");
    });
    let last =
        environment.submit(|transaction| transaction.tree_mut("t")?.put(b"b", b"3").map(|_| ()));
    first.wait().unwrap();
    assert!(matches!(
        failing.wait(),
        Err(WriteError::Operation("refused"))
    ));
    assert!(matches!(panicking.wait(), Err(WriteError::Panicked(text)) if text == "on purpose"));
    last.wait().unwrap();
    let reader = environment.read().unwrap();
    assert_eq!(content(&reader).len(), 2);
    assert_eq!(get(&reader, "a").as_deref(), Some("1"));
    assert!(reader.tree("new").unwrap().is_none());
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

#[test]
fn many_threads_share_journal_writes() {
    let vfs = SimVfs::new(5);
    let environment = open(&vfs);
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let environment = &environment;
            scope.spawn(move || {
                for item in 0..50u32 {
                    let key = format!("{thread}-{item}");
                    environment
                        .write(move |transaction| {
                            transaction
                                .tree_mut("t")?
                                .put(key.as_bytes(), b"v")
                                .map(|_| ())
                        })
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(content(&environment.read().unwrap()).len(), 400);
    let statistics = environment.statistics();
    assert_eq!(statistics.operations, 400);
    assert!(statistics.transactions <= 400);
}

#[test]
fn second_open_of_the_same_directory_is_refused() {
    let vfs = SimVfs::new(6);
    let _environment = open(&vfs);
    let again: Arc<dyn Vfs> = vfs.clone();
    let error = Environment::open(again, Path::new(DIRECTORY), Options::small()).err();
    assert!(matches!(error, Some(OpenError::InUse { .. })), "{error:?}");
}

#[test]
fn dropped_trees_give_their_pages_back() {
    let vfs = SimVfs::new(7);
    let environment = open(&vfs);
    let fill = |environment: &Environment| {
        let mut transaction = environment.begin_write().unwrap();
        let mut tree = transaction.tree_mut("big").unwrap();
        for key in 0..2_000u32 {
            tree.put(&key.to_be_bytes(), &[3; 200]).unwrap();
        }
        tree.put(b"long", &[4; 60_000]).unwrap();
        transaction.commit().unwrap();
    };
    fill(&environment);
    let pages = environment.statistics().page_count;
    for _ in 0..3 {
        let mut transaction = environment.begin_write().unwrap();
        assert!(transaction.drop_tree("big").unwrap());
        assert!(!transaction.drop_tree("big").unwrap());
        transaction.commit().unwrap();
        assert!(environment.read().unwrap().tree("big").unwrap().is_none());
        fill(&environment);
        environment.flush().unwrap();
    }
    assert!(environment.statistics().page_count <= pages + 8);
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

/// Random operations against a map: commits, rollbacks, flushes, reopenings, power losses.
#[test]
fn random_histories_match_a_map() {
    for seed in 0..12 {
        random_history(seed);
    }
}

fn random_history(seed: u64) {
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    let mut vfs = SimVfs::new(seed);
    let mut environment = open(&vfs);
    let mut model = BTreeMap::new();
    for step in 0..150 {
        let mut changed = model.clone();
        let mut transaction = environment.begin_write().unwrap();
        for _ in 0..rng.below(30) {
            let key = format!("key-{}", rng.below(300)).into_bytes();
            let mut tree = transaction.tree_mut("t").unwrap();
            if rng.below(3) == 0 {
                assert_eq!(tree.delete(&key).unwrap(), changed.remove(&key).is_some());
            } else {
                let len = [0, 10, 500, 3_900, 3_901, 30_000][rng.below_usize(6)];
                let value = vec![u8::try_from(rng.below(256)).unwrap(); len];
                tree.put(&key, &value).unwrap();
                changed.insert(key, value);
            }
        }
        match rng.below(10) {
            0 => drop(transaction),
            _ => {
                transaction.commit().unwrap();
                model = changed;
            }
        }
        let event = rng.below(20);
        println!("{step}: event {event}");
        match event {
            0 | 1 => environment.flush().unwrap(),
            2 => {
                drop(environment);
                environment = open(&vfs);
            }
            3 => {
                vfs = vfs.crash(CrashChoice::Random(rng.next_u64()));
                drop(environment);
                environment = open(&vfs);
            }
            _ => {}
        }
        let found = content(&environment.read().unwrap());
        assert_eq!(summary(&found), summary(&model), "seed {seed}, step {step}");
    }
    assert_eq!(
        environment.check(CheckLevel::Full).unwrap().damages,
        [],
        "seed {seed}"
    );
}

#[test]
fn meters_tell_what_writes_flushes_and_first_touches_took() {
    let vfs = SimVfs::new(40);
    let environment = open(&vfs);
    for round in 0..5 {
        put(&environment, "a", &round.to_string());
    }
    environment.flush().unwrap();
    let statistics = environment.statistics();
    assert_eq!(statistics.batch_operations.count, statistics.transactions);
    let reports = environment.meters();
    let of = |kind| reports.iter().find(|report| report.kind == kind).unwrap();
    let writes = of(MeterKind::JournalWrite);
    assert_eq!(writes.nanos.count, statistics.journal_writes);
    assert_eq!(writes.events.len(), 5);
    let bytes: u64 = writes.events.iter().map(|event| event.bytes).sum();
    assert_eq!(bytes, statistics.journal_bytes);
    assert_eq!(
        writes
            .minutes
            .iter()
            .map(|minute| minute.count)
            .sum::<u64>(),
        5
    );
    let compressed: u64 = of(MeterKind::Compression)
        .events
        .iter()
        .map(|e| e.bytes)
        .sum();
    assert_eq!(compressed, statistics.difference_bytes);
    let flushed = of(MeterKind::DataFlush).events[0].bytes;
    assert_eq!(flushed, statistics.pages_flushed * 8192);
    assert!(of(MeterKind::DataSync).nanos.quantile(999) > 0);
    drop(environment);
    let environment = open(&vfs);
    get(&environment.read().unwrap(), "a");
    let reports = environment.meters();
    let touched = &reports[MeterKind::ReadFault as usize].nanos;
    assert_eq!(touched.count, environment.statistics().pages_validated);
    assert!(touched.count > 0);
}

fn put_lazily(environment: &Environment, key: &str, value: &str) {
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    tree.put(key.as_bytes(), value.as_bytes()).unwrap();
    transaction.commit_lazily().unwrap();
}

#[test]
fn lazy_commits_become_durable_with_the_next_one_that_is_waited_for() {
    let vfs = SimVfs::new(12);
    let environment = open(&vfs);
    put(&environment, "a", "1");
    let writes = environment.statistics().journal_writes;
    put_lazily(&environment, "a", "2");
    put_lazily(&environment, "b", "2");
    assert_eq!(environment.statistics().journal_writes, writes);
    assert_eq!(get(&environment.read().unwrap(), "a"), Some("1".into()));
    let lost = open(&vfs.crash(CrashChoice::LoseAll));
    assert_eq!(get(&lost.read().unwrap(), "a"), Some("1".into()));
    put(&environment, "c", "3");
    assert_eq!(environment.statistics().journal_writes, writes + 1);
    let kept = open(&vfs.crash(CrashChoice::LoseAll));
    for (key, value) in [("a", "2"), ("b", "2"), ("c", "3")] {
        assert_eq!(get(&environment.read().unwrap(), key), Some(value.into()));
        assert_eq!(get(&kept.read().unwrap(), key), Some(value.into()));
    }
    put_lazily(&environment, "d", "4");
    drop(environment);
    let closed = open(&vfs.crash(CrashChoice::LoseAll));
    assert_eq!(get(&closed.read().unwrap(), "d"), Some("4".into()));
}

#[test]
fn lazy_commits_do_not_pile_up() {
    let vfs = SimVfs::new(13);
    let environment = open(&vfs);
    for round in 0..200 {
        put_lazily(&environment, "a", &round.to_string());
    }
    let statistics = environment.statistics();
    assert!(statistics.transactions >= 128, "{statistics:?}");
    environment.flush().unwrap();
    assert_eq!(get(&environment.read().unwrap(), "a"), Some("199".into()));
}

#[test]
fn queued_operations_tell_how_long_they_waited_and_took() {
    let vfs = SimVfs::new(14);
    let environment = open(&vfs);
    for round in 0..5_u8 {
        let put = move |transaction: &mut WriteTransaction| {
            transaction.tree_mut("t")?.put(b"a", &[round]).map(drop)
        };
        environment.write(put).unwrap();
    }
    // What changes nothing waits in the queue, too, but is never written.
    environment.wait_for_queued().unwrap();
    let statistics = environment.statistics();
    assert_eq!(statistics.queue_wait_nanos.count, 6);
    assert_eq!(statistics.durable_nanos.count, 5);
    assert!(statistics.durable_nanos.sum > 0);
}

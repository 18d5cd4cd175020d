//! Savepoints: what fails inside another savepoint is taken back alone, what succeeds inside is
//! taken back with the outer one, and the undo log stays small.
//!
//! All on the simulated disk, so that nothing depends on the machine.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{Rng, SimVfs};
use jackdaw_storage::{
    CheckLevel, Environment, Options, StorageError, WriteError, WriteTransaction,
};

fn open(seed: u64) -> Environment {
    let vfs: Arc<dyn Vfs> = SimVfs::new(seed);
    Environment::open(vfs, Path::new("/db"), Options::small()).expect("opens")
}

fn put(transaction: &mut WriteTransaction, key: &[u8], value: &[u8]) {
    let mut tree = transaction.tree_mut("t").unwrap();
    tree.put(key, value).unwrap();
}

fn content(environment: &Environment) -> BTreeMap<Vec<u8>, usize> {
    let reader = environment.read().unwrap();
    let Some(tree) = reader.tree("t").unwrap() else {
        return BTreeMap::new();
    };
    tree.iter()
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|(key, value)| (key.to_vec(), value.len()))
        .collect()
}

#[test]
fn failing_operation_takes_its_inner_savepoints_back() {
    let environment = open(1);
    let refused = environment.write(|transaction| {
        put(transaction, b"before", &[1; 20_000]);
        transaction.savepoint(|inner| {
            put(inner, b"inside", &[2; 20_000]);
            inner.tree_mut("new")?.put(b"a", b"b").map(|_| ())
        })?;
        let failed = transaction.savepoint(|inner| {
            put(inner, b"before", b"changed");
            Err::<(), StorageError>(StorageError::Full)
        });
        assert!(failed.is_err());
        put(transaction, b"after", b"3");
        Err::<(), StorageError>(StorageError::Full)
    });
    assert!(matches!(refused, Err(WriteError::Operation(_))));
    environment
        .write(|transaction| {
            put(transaction, b"next", b"4");
            Ok::<(), StorageError>(())
        })
        .unwrap();
    assert_eq!(
        content(&environment),
        BTreeMap::from([(b"next".to_vec(), 1)])
    );
    assert!(environment.read().unwrap().tree("new").unwrap().is_none());
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

#[test]
fn panic_inside_a_savepoint_takes_it_back() {
    let environment = open(2);
    let mut transaction = environment.begin_write().unwrap();
    put(&mut transaction, b"kept", b"1");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        transaction.savepoint(|inner| -> Result<(), StorageError> {
            put(inner, b"kept", &[2; 30_000]);
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    transaction.commit().unwrap();
    assert_eq!(
        content(&environment),
        BTreeMap::from([(b"kept".to_vec(), 1)])
    );
}

#[test]
fn one_operation_that_rewrites_a_value_keeps_little_to_undo() {
    let environment = open(3);
    let mut transaction = environment.begin_write().unwrap();
    let mut bytes = 0;
    transaction
        .savepoint(|outer| {
            for round in 0..500 {
                let value = vec![7; 20_000 + round % 3 * 8_192];
                put(outer, b"a", &value);
                outer.savepoint(|inner| {
                    put(inner, b"a", &value);
                    put(inner, b"b", &[1; 10]);
                    Ok::<(), StorageError>(())
                })?;
            }
            bytes = environment.statistics().scratch_bytes;
            Ok::<(), StorageError>(())
        })
        .unwrap();
    assert!(bytes < 1 << 20, "{bytes} bytes of page versions");
}

/// Random nesting of savepoints that fail or succeed, against copies of a map.
#[test]
fn nested_savepoints_match_copies_of_a_map() {
    for seed in 0..30 {
        println!("seed {seed}");
        let environment = open(seed);
        let mut rng = Rng::new(seed);
        let mut model = BTreeMap::new();
        for _ in 0..6 {
            let mut transaction = environment.begin_write().unwrap();
            change(&mut transaction, &mut model, &mut rng, 0);
            transaction.commit().unwrap();
            let expected = model.clone();
            assert_eq!(content(&environment), expected, "seed {seed}");
            let report = environment.check(CheckLevel::Full).unwrap();
            assert_eq!(report.damages, [], "seed {seed}");
        }
    }
}

fn change(
    transaction: &mut WriteTransaction,
    model: &mut BTreeMap<Vec<u8>, usize>,
    rng: &mut Rng,
    depth: u32,
) {
    for _ in 0..rng.between(1, 8) {
        let key = format!("key-{:02}", rng.below(20)).into_bytes();
        match rng.below(8) {
            0 => {
                let existed = transaction.tree_mut("t").unwrap().delete(&key).unwrap();
                assert_eq!(existed, model.remove(&key).is_some());
            }
            1 if rng.chance(3) => {
                transaction.drop_tree("t").unwrap();
                model.clear();
            }
            2..=4 if depth < 4 => {
                let before = model.clone();
                let fails = rng.chance(2);
                let outcome = transaction.savepoint(|inner| {
                    change(inner, model, rng, depth + 1);
                    if fails { Err(()) } else { Ok(()) }
                });
                if outcome.is_err() {
                    *model = before;
                }
            }
            _ => {
                let len = *rng.pick(&[0, 10, 900, 3_901, 30_000]);
                put(transaction, &key, &vec![5; len]);
                model.insert(key, len);
            }
        }
    }
}

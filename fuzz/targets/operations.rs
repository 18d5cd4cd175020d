//! Operations chosen by the input, against a map: puts, deletes, ranges of transactions that are
//! kept or dropped, savepoints, flushes, reopenings, power losses, and named snapshots, taken and
//! dropped. An odd first byte makes the tree a counted one, whose ranks are compared too.
#![no_main]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::{CheckLevel, Environment, Options, ReadTransaction, WriteTransaction};
use libfuzzer_sys::fuzz_target;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Transactions of one input at most.
const TRANSACTIONS_MAX: usize = 24;

fn open(vfs: &Arc<SimVfs>) -> Environment {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new("/db"), Options::small()).expect("a sound disk opens")
}

fn key(byte: u8) -> Vec<u8> {
    // Keys of several lengths with shared beginnings.
    vec![b'k'; usize::from(byte % 7) * 3]
        .into_iter()
        .chain([byte / 7])
        .collect()
}

fn change(
    transaction: &mut WriteTransaction,
    is_counted: bool,
    model: &mut Model,
    steps: &[[u8; 3]],
) {
    for &[what, which, how] in steps {
        let tree = match is_counted {
            true => transaction.counted_tree_mut("t"),
            false => transaction.tree_mut("t"),
        };
        let mut tree = tree.expect("a tree");
        let key = key(which);
        if what % 4 == 0 {
            let was_there = tree.delete(&key).expect("sound pages");
            assert_eq!(was_there, model.remove(&key).is_some());
        } else {
            let len = usize::from(how) * [1, 17, 90, 200][usize::from(what / 4) % 4];
            let value = vec![what; len];
            tree.put(&key, &value).expect("sound pages");
            model.insert(key, value);
        }
    }
}

fn compare(reader: &ReadTransaction, is_counted: bool, model: &Model) {
    let mut found = Model::new();
    if let Some(tree) = reader.tree("t").expect("sound pages") {
        for entry in tree.iter().expect("sound pages") {
            let (key, value) = entry.expect("sound pages");
            if is_counted {
                let rank = tree.rank(&key.to_vec()).expect("sound pages");
                assert_eq!(rank, found.len() as u64);
            }
            found.insert(key.to_vec(), value.to_vec());
        }
    }
    assert!(found == *model, "the content is not that of the map");
}

fuzz_target!(|input: &[u8]| {
    let mut vfs = SimVfs::new(3);
    let mut environment = open(&vfs);
    let mut model = Model::new();
    let mut snapshots = BTreeMap::<String, Model>::new();
    let Some((&first, mut rest)) = input.split_first() else {
        return;
    };
    let is_counted = first % 2 == 1;
    for _ in 0..TRANSACTIONS_MAX {
        let Some((&[count, event], tail)) = rest.split_first_chunk::<2>() else {
            break;
        };
        let (steps, _) = tail.as_chunks::<3>();
        let steps = &steps[..steps.len().min(usize::from(count % 16))];
        rest = &tail[steps.len() * 3..];
        let mut changed = model.clone();
        let mut transaction = environment.begin_write().expect("the only writer");
        if event & 0x80 != 0 {
            let mut forgotten = changed.clone();
            let taken_back = transaction.savepoint(|transaction| {
                change(transaction, is_counted, &mut forgotten, steps);
                Err::<(), ()>(())
            });
            assert!(taken_back.is_err());
        }
        change(&mut transaction, is_counted, &mut changed, steps);
        if event & 0x40 != 0 {
            drop(transaction);
        } else {
            transaction.commit().expect("the disk works");
            model = changed;
        }
        match event % 8 {
            0 => environment.flush().expect("the disk works"),
            1 => {
                drop(environment);
                environment = open(&vfs);
            }
            2 => {
                vfs = vfs.crash(CrashChoice::Random(event.into()));
                drop(environment);
                environment = open(&vfs);
            }
            3 => {
                let name = (count / 64).to_string();
                let taken = environment.create_snapshot(&name);
                assert_eq!(taken.is_ok(), !snapshots.contains_key(&name));
                snapshots.entry(name).or_insert_with(|| model.clone());
            }
            4 => {
                let name = (count / 64).to_string();
                let dropped = environment.drop_snapshot(&name);
                assert_eq!(dropped.is_ok(), snapshots.remove(&name).is_some());
            }
            _ => {}
        }
    }
    compare(
        &environment.read().expect("a free slot"),
        is_counted,
        &model,
    );
    for (name, model) in &snapshots {
        let then = environment.read_snapshot(name).expect("it was taken");
        compare(&then, is_counted, model);
    }
    let report = environment.check(CheckLevel::Full).expect("looks");
    assert!(report.damages.is_empty(), "{:?}", report.damages);
});

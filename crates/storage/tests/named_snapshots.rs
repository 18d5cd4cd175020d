//! Named snapshots: what they see never changes, across changes, restarts and drops of others, and
//! what was kept for them is free when they are gone.
//!
//! All on the simulated disk, so that nothing depends on the machine.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{Rng, SimVfs};
use jackdaw_storage::{
    CheckLevel, CompactError, Environment, Options, ReadTransaction, RestorePoint, SnapshotError,
    StorageError, WriteError, WriteTransaction, compact, restore, verify,
};

const DIRECTORY: &str = "/db";

fn open(vfs: &Arc<SimVfs>) -> Environment {
    let vfs: Arc<dyn Vfs> = Arc::clone(vfs) as Arc<dyn Vfs>;
    Environment::open(vfs, Path::new(DIRECTORY), Options::small()).expect("opens")
}

/// Content of the trees "long" (keys to lengths and fills of values) and "numbers".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    long: BTreeMap<Vec<u8>, (usize, u8)>,
    numbers: BTreeMap<u64, u64>,
}

fn state_of(reader: &ReadTransaction) -> State {
    let mut state = State::default();
    if let Some(tree) = reader.tree("long").unwrap() {
        tree.verify().unwrap();
        for entry in tree.iter().unwrap() {
            let (key, value) = entry.unwrap();
            let fill = value.first().copied().unwrap_or(0);
            assert!(value.iter().all(|&byte| byte == fill), "a value is mixed");
            state.long.insert(key.to_vec(), (value.len(), fill));
        }
    }
    if let Some(tree) = reader.fixed_tree("numbers").unwrap() {
        tree.verify().unwrap();
        for entry in tree.iter().unwrap() {
            let (key, value) = entry.unwrap();
            state
                .numbers
                .insert(key, u64::from_le_bytes(value.try_into().unwrap()));
        }
    }
    state
}

fn change(transaction: &mut WriteTransaction, state: &mut State, rng: &mut Rng) {
    let key = rng.below(120).to_be_bytes().to_vec();
    match rng.below(12) {
        0 => {
            transaction.drop_tree("long").unwrap();
            state.long.clear();
        }
        1..=6 => {
            let len_bytes = *rng.pick(&[0_usize, 30, 500, 3_000, 9_000, 40_000]);
            let fill = rng.next_u64().to_le_bytes()[0] * u8::from(len_bytes > 0);
            let mut tree = transaction.tree_mut("long").unwrap();
            tree.put(&key, &vec![fill; len_bytes]).unwrap();
            state.long.insert(key, (len_bytes, fill));
        }
        7 | 8 => {
            let mut tree = transaction.tree_mut("long").unwrap();
            tree.delete(&key).unwrap();
            state.long.remove(&key);
        }
        _ => {
            let (key, value) = (rng.below(2_000), rng.next_u64());
            let mut tree = transaction.fixed_tree_mut("numbers", 8).unwrap();
            tree.put(key, &value.to_le_bytes()).unwrap();
            state.numbers.insert(key, value);
        }
    }
}

fn expect_sound(environment: &Environment) {
    let report = environment.check(CheckLevel::Full).unwrap();
    assert_eq!(report.damages, []);
}

fn used_pages(environment: &Environment) -> u64 {
    environment.check(CheckLevel::Full).unwrap().pages
}

/// Snapshots that should be there, with what they see, and those whose dropping was begun.
#[derive(Clone, Default)]
struct Expected {
    now: State,
    named: BTreeMap<String, State>,
    dropping: Vec<String>,
}

fn step(transaction: &mut WriteTransaction, expected: &mut Expected, rng: &mut Rng) {
    for _ in 0..rng.below(6) {
        change(transaction, &mut expected.now, rng);
    }
    if rng.chance(8) && !expected.named.is_empty() {
        let names: Vec<String> = expected.named.keys().cloned().collect();
        expected.dropping.push(rng.pick(&names).clone());
    }
    if let Some(name) = expected.dropping.first().cloned()
        && rng.chance(2)
    {
        expected.named.remove(&name);
        let images_max = *rng.pick(&[1, 5, 1_000]);
        if transaction.drop_snapshot(&name, images_max).unwrap() {
            expected.dropping.remove(0);
            expected.dropping.retain(|other| *other != name);
        }
    }
    let name = format!("s{}", rng.next_u64());
    let is_taken = rng.chance(7) && expected.named.len() < 6;
    if is_taken {
        transaction.create_snapshot(&name).unwrap();
    }
    for _ in 0..rng.below(3) {
        change(transaction, &mut expected.now, rng);
    }
    if is_taken {
        // It sees the end of its transaction.
        expected.named.insert(name, expected.now.clone());
    }
}

fn compare(environment: &Environment, expected: &Expected) {
    let now = environment.read().unwrap();
    assert_eq!(state_of(&now), expected.now);
    for (name, state) in &expected.named {
        let then = environment.read_snapshot(name).unwrap();
        assert_eq!(&state_of(&then), state, "snapshot {name} changed");
    }
    let readable = now.snapshots().unwrap().into_iter();
    let readable = readable.filter(|snapshot| !snapshot.is_being_dropped);
    assert!(
        readable
            .map(|snapshot| snapshot.name)
            .eq(expected.named.keys().cloned())
    );
}

#[test]
fn snapshots_see_what_they_saw_whatever_is_written_taken_back_or_dropped() {
    for seed in 1..=60 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let vfs = SimVfs::new(seed);
        let mut environment = open(&vfs);
        let mut expected = Expected::default();
        for number in 0..60 {
            let mut transaction = environment.begin_write().unwrap();
            if rng.chance(4) {
                let mut forgotten = expected.clone();
                let mut inner_rng = rng.fork();
                let taken_back = transaction.savepoint(|transaction| {
                    step(transaction, &mut forgotten, &mut inner_rng);
                    Err::<(), ()>(())
                });
                assert!(taken_back.is_err());
            }
            let mut next = expected.clone();
            step(&mut transaction, &mut next, &mut rng);
            if rng.chance(9) {
                drop(transaction);
            } else {
                transaction.commit().unwrap();
                expected = next;
            }
            if rng.chance(5) {
                environment.flush().unwrap();
            }
            if rng.chance(12) {
                drop(environment);
                environment = open(&vfs);
            }
            if number % 6 == 0 {
                compare(&environment, &expected);
                expect_sound(&environment);
            }
        }
        compare(&environment, &expected);
        expect_sound(&environment);
        drop(environment);
        let report = verify(&*vfs, Path::new(DIRECTORY)).unwrap();
        assert_eq!(report.damages, []);
    }
}

fn fill(environment: &Environment, first: u64, fill: u8) {
    environment
        .write(move |transaction| {
            let mut tree = transaction.tree_mut("long")?;
            for key in first..first + 400 {
                tree.put(&key.to_be_bytes(), &[fill; 700])?;
            }
            tree.put(b"run", &[fill; 100_000]).map(|_| ())
        })
        .unwrap();
}

#[test]
fn taking_one_copies_nothing_and_dropping_it_gives_everything_back() {
    let vfs = SimVfs::new(3);
    let environment = open(&vfs);
    fill(&environment, 0, 1);
    let before = used_pages(&environment);
    environment.create_snapshot("monday").unwrap();
    // The tree of snapshots.
    assert_eq!(used_pages(&environment), before + 1);

    fill(&environment, 0, 2);
    let changed = used_pages(&environment);
    assert!(changed > before + 40, "{changed} pages, {before} before");
    fill(&environment, 0, 3);
    assert_eq!(used_pages(&environment), changed, "each page is kept once");
    let listed = environment.read().unwrap().snapshots().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].name, "monday");
    let kept_pages = listed[0].kept_bytes / 8192;
    assert!((changed - before - 3..changed - before).contains(&kept_pages));

    let then = environment.read_snapshot("monday").unwrap();
    environment.drop_snapshot("monday").unwrap();
    // It was open: it stays as it was.
    assert!(state_of(&then).long.values().all(|&(_, fill)| fill == 1));
    drop(then);
    assert_eq!(used_pages(&environment), before);
    expect_sound(&environment);
    assert!(matches!(
        environment.read_snapshot("monday"),
        Err(SnapshotError::Missing { .. })
    ));
}

#[test]
fn freed_pages_stay_where_they_are() {
    let vfs = SimVfs::new(4);
    let environment = open(&vfs);
    fill(&environment, 0, 1);
    environment.create_snapshot("full").unwrap();
    let before = used_pages(&environment);
    environment
        .write(|transaction| transaction.drop_tree("long").map(|_| ()))
        .unwrap();
    let after = used_pages(&environment);
    // A changed page of the catalog, nothing else.
    assert!(after <= before + 2, "{after} pages, {before} before");
    let then = environment.read_snapshot("full").unwrap();
    assert_eq!(state_of(&then).long.len(), 401);
    assert_eq!(state_of(&environment.read().unwrap()), State::default());
}

#[test]
fn images_go_to_the_older_snapshot_that_sees_them_too() {
    let vfs = SimVfs::new(5);
    let environment = open(&vfs);
    fill(&environment, 0, 1);
    environment.create_snapshot("first").unwrap();
    environment.create_snapshot("second").unwrap();
    fill(&environment, 0, 2);
    environment.drop_snapshot("second").unwrap();
    let then = environment.read_snapshot("first").unwrap();
    assert!(state_of(&then).long.values().all(|&(_, fill)| fill == 1));
    assert!(
        then.snapshots().unwrap().is_empty(),
        "a snapshot sees no others"
    );
    let listed = environment.read().unwrap().snapshots().unwrap();
    assert!(listed[0].kept_bytes > 40 * 8192);
    drop(then);
    environment.drop_snapshot("first").unwrap();
    expect_sound(&environment);
}

#[test]
fn a_transaction_that_drops_the_snapshot_frees_what_it_had_kept_for_it() {
    let vfs = SimVfs::new(6);
    let environment = open(&vfs);
    fill(&environment, 0, 1);
    environment.create_snapshot("s").unwrap();
    environment
        .write(|transaction| {
            transaction.drop_tree("long")?;
            let is_done = transaction.drop_snapshot("s", usize::MAX);
            assert!(is_done.unwrap());
            Ok::<_, StorageError>(())
        })
        .unwrap();
    expect_sound(&environment);
    assert!(used_pages(&environment) <= 4);
}

#[test]
fn refusals_say_what_to_do() {
    let vfs = SimVfs::new(7);
    let environment = open(&vfs);
    environment.create_snapshot("s").unwrap();
    environment.create_snapshot(&"n".repeat(255)).unwrap();
    environment.drop_snapshot(&"n".repeat(255)).unwrap();
    let refusal = |outcome: Result<(), WriteError<SnapshotError>>| match outcome {
        Err(WriteError::Operation(error)) => error.to_string(),
        other => panic!("not refused: {other:?}"),
    };
    assert_eq!(
        refusal(environment.create_snapshot("s")),
        "there is a snapshot \"s\" already: drop it first, or choose another name"
    );
    assert_eq!(
        refusal(environment.create_snapshot(&"n".repeat(256))),
        "a snapshot's name has 1 to 255 bytes, not 256"
    );
    assert_eq!(
        refusal(environment.drop_snapshot("t")),
        "there is no snapshot \"t\""
    );
    let reserved = environment.write(|transaction| {
        assert!(transaction.drop_tree("jackdaw.snapshots").is_err());
        transaction.tree_mut("jackdaw.snapshots").map(|_| ())
    });
    assert!(matches!(
        reserved,
        Err(WriteError::Operation(StorageError::ReservedName { .. }))
    ));
    drop(environment);
    let disk: Arc<dyn Vfs> = Arc::clone(&vfs) as Arc<dyn Vfs>;
    let refused = compact(&disk, Path::new(DIRECTORY), &|_, _| {}).unwrap_err();
    assert!(matches!(refused, CompactError::Snapshots { count: 1, .. }));
    let environment = open(&vfs);
    environment.drop_snapshot("s").unwrap();
    drop(environment);
    compact(&disk, Path::new(DIRECTORY), &|_, _| {}).unwrap();
}

#[test]
fn a_drop_in_many_transactions_frees_everything_and_can_be_interrupted() {
    let vfs = SimVfs::new(8);
    let mut environment = open(&vfs);
    let put = |environment: &Environment, fill: u8| {
        environment
            .write(move |transaction| {
                let mut tree = transaction.tree_mut("long")?;
                for key in 0..5_000_u64 {
                    tree.put(&key.to_be_bytes(), &[fill; 3_900])?;
                }
                Ok::<_, StorageError>(())
            })
            .unwrap();
    };
    put(&environment, 1);
    let before = used_pages(&environment);
    environment.create_snapshot("s").unwrap();
    put(&environment, 2);
    assert!(used_pages(&environment) > before + 2_400);
    let mut transaction = environment.begin_write().unwrap();
    assert!(!transaction.drop_snapshot("s", 100).unwrap());
    assert!(matches!(
        transaction.create_snapshot("s"),
        Err(SnapshotError::BeingDropped { .. })
    ));
    transaction.commit().unwrap();
    drop(environment);
    environment = open(&vfs);
    let listed = environment.read().unwrap().snapshots().unwrap();
    assert!(listed[0].is_being_dropped);
    assert!(environment.read_snapshot("s").is_err());
    environment.drop_snapshot("s").unwrap();
    assert_eq!(used_pages(&environment), before);
    expect_sound(&environment);
}

#[test]
fn a_backup_has_the_snapshots_too() {
    let vfs = SimVfs::new(9);
    let environment = open(&vfs);
    fill(&environment, 0, 1);
    environment.create_snapshot("s").unwrap();
    fill(&environment, 0, 2);
    environment
        .backup(Path::new("/backup"), &|_, _| {})
        .unwrap();
    fill(&environment, 0, 3);
    drop(environment);
    let disk: Arc<dyn Vfs> = Arc::clone(&vfs) as Arc<dyn Vfs>;
    let restored = Path::new("/restored");
    let point = RestorePoint::Latest;
    restore(&*disk, Path::new("/backup"), restored, point, &|_, _| {}).unwrap();
    let environment = Environment::open(disk, restored, Options::small()).unwrap();
    let fill_of = |reader: &ReadTransaction| state_of(reader).long[&b"run".to_vec()].1;
    assert_eq!(fill_of(&environment.read().unwrap()), 2);
    assert_eq!(fill_of(&environment.read_snapshot("s").unwrap()), 1);
    expect_sound(&environment);
}

#[test]
fn a_damaged_long_value_can_still_be_deleted() {
    let vfs = SimVfs::new(10);
    let environment = open(&vfs);
    fill(&environment, 0, 1);
    environment.create_snapshot("s").unwrap();
    let page = environment.read().unwrap().page_count() - 3;
    drop(environment);
    // In the middle of the run, which was stored last.
    vfs.flip(&Path::new(DIRECTORY).join("data.jd"), page * 8192 + 100, 1)
        .unwrap();
    let environment = open(&vfs);
    let run = |environment: &Environment| {
        let reader = environment.read().unwrap();
        let tree = reader.tree("long").unwrap().unwrap();
        tree.get(b"run").map(|value| value.is_some())
    };
    assert!(matches!(run(&environment), Err(StorageError::Corrupt(_))));
    environment
        .write(|transaction| transaction.tree_mut("long")?.delete(b"run"))
        .unwrap();
    assert!(!run(&environment).unwrap());
}

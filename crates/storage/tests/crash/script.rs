//! The script that crash tests run: transactions of random changes on a simulated disk, with the
//! state that each of them leaves, and what any disk after a power loss has to hold.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::{Durability, Vfs};
use jackdaw_sim::{Lies, Rng, SimVfs};
use jackdaw_storage::{CheckLevel, Environment, Options, ReadTransaction};

pub(crate) const DIRECTORY: &str = "/db";

/// Key to value of the one tree of the script.
type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// A mistake of the engine or of the disk that the sweep has to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planted {
    Nothing,
    /// Syncs of files do nothing.
    SkipSync,
    /// A commit returns before its journal record is durable.
    AcknowledgeBeforeSync,
    /// Syncs of directories do nothing.
    SkipDirectorySync,
}

/// What a run left: its disk, and the states that may be found after a power loss.
pub(crate) struct Run {
    pub(crate) vfs: Arc<SimVfs>,
    /// State after each transaction, by its number.
    states: BTreeMap<u64, State>,
    /// Operations of the disk returned before a transaction was acknowledged, and its number.
    acknowledged: Vec<(u64, u64)>,
}

fn options(planted: Planted) -> Options {
    let durability = match planted {
        Planted::AcknowledgeBeforeSync => Durability::None,
        _ => Durability::Data,
    };
    Options {
        durability,
        ..Options::small()
    }
}

fn open(vfs: &Arc<SimVfs>, options: Options) -> Result<Environment, String> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), options).map_err(|error| error.to_string())
}

/// Runs `transaction_count` transactions of `seed`, with flushes and reopenings between them.
pub(crate) fn run(seed: u64, transaction_count: u64, planted: Planted) -> Run {
    let vfs = SimVfs::new(seed);
    vfs.set_lies(Lies {
        skip_sync: planted == Planted::SkipSync,
        skip_durable_writes: false,
        skip_directory_sync: planted == Planted::SkipDirectorySync,
    });
    let mut rng = Rng::new(seed);
    let mut environment = open(&vfs, options(planted)).expect("a new environment opens");
    let mut state = State::new();
    let mut states = BTreeMap::from([(0, state.clone())]);
    let mut acknowledged = Vec::new();
    for _ in 0..transaction_count {
        let mut transaction = environment.begin_write().expect("no other writer");
        let number = transaction.id().0;
        change(&mut transaction, &mut state, &mut rng);
        // The state counts as submitted from here on: a crash may keep or lose it.
        states.insert(number, state.clone());
        transaction.commit().expect("the disk works");
        acknowledged.push((vfs.operation_count(), number));
        match rng.below(12) {
            0 => environment.flush().expect("the disk works"),
            1 => {
                drop(environment);
                environment = open(&vfs, options(planted)).expect("reopens");
            }
            _ => {}
        }
    }
    drop(environment);
    Run {
        vfs,
        states,
        acknowledged,
    }
}

fn change(transaction: &mut jackdaw_storage::WriteTransaction, state: &mut State, rng: &mut Rng) {
    let mut tree = transaction.tree_mut("t").expect("a tree");
    for _ in 0..=rng.below(6) {
        let key = format!("key-{:03}", rng.below(60)).into_bytes();
        if rng.chance(4) {
            tree.delete(&key).expect("sound pages");
            state.remove(&key);
            continue;
        }
        let len = *rng.pick(&[3, 40, 40, 900, 3_901, 20_000]);
        let byte = u8::try_from(rng.between(1, 255)).expect("below 256");
        let value = vec![byte; len];
        tree.put(&key, &value).expect("sound pages");
        state.insert(key, value);
    }
    // Every transaction changes something, so that each gets a number.
    let stamp = rng.next_u64().to_le_bytes().to_vec();
    tree.put(b"stamp", &stamp).expect("sound pages");
    state.insert(b"stamp".to_vec(), stamp);
}

fn content(reader: &ReadTransaction) -> Result<State, String> {
    let Some(tree) = reader.tree("t").map_err(|error| error.to_string())? else {
        return Ok(State::new());
    };
    let mut state = State::new();
    for entry in tree.iter().map_err(|error| error.to_string())? {
        let (key, value) = entry.map_err(|error| error.to_string())?;
        state.insert(key.to_vec(), value.to_vec());
    }
    Ok(state)
}

impl Run {
    /// Opens the disk as power loss left it after `completed` operations, and says what is wrong.
    pub(crate) fn check(&self, image: &Arc<SimVfs>, completed: u64) -> Result<(), String> {
        let environment = open(image, Options::small())?;
        let reader = environment.read().map_err(|error| error.to_string())?;
        let found = reader.id().0;
        let acknowledged = self
            .acknowledged
            .partition_point(|(count, _)| *count <= completed);
        let oldest = acknowledged
            .checked_sub(1)
            .map_or(0, |last| self.acknowledged[last].1);
        if found < oldest {
            return Err(format!(
                "transaction {oldest} was acknowledged, {found} is the last"
            ));
        }
        if found > oldest + 1 {
            return Err(format!(
                "transaction {found} is there, {oldest} was the last begun"
            ));
        }
        let state = content(&reader)?;
        if self.states.get(&found) != Some(&state) {
            return Err(format!("the content is not that of transaction {found}"));
        }
        drop(reader);
        let report = environment
            .check(CheckLevel::Full)
            .map_err(|error| error.to_string())?;
        match report.damages.first() {
            None => Ok(()),
            Some(damage) => Err(format!("check found damage: {damage}")),
        }
    }

    /// Operations before the first acknowledged transaction: creating the environment.
    pub(crate) fn first_acknowledged(&self) -> u64 {
        self.acknowledged.first().map_or(0, |(count, _)| *count)
    }
}

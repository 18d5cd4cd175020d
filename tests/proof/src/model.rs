//! What an environment should hold: a plain map for each tree, and random changes of both.
//!
//! Values are kept as length and seed of their bytes, so that a state is cheap to keep for every
//! transaction.

use std::collections::{BTreeMap, BTreeSet};

use jackdaw_sim::Rng;
use jackdaw_storage::{CheckLevel, Environment, ReadTransaction, StorageError, WriteTransaction};

use crate::named::Named;
use crate::ranked::Ranked;

/// Keys of the tree of bytes; few enough that most changes meet an existing key.
const KEYS: u64 = 80;
/// Keys of the other trees.
const NUMBERS: u64 = 300;
/// Lengths of values: inside a page, at the limit, in runs of two to six pages.
const LENGTHS: [u32; 8] = [0, 9, 70, 70, 700, 3_901, 12_000, 45_000];

/// A long value in short: its length and what it is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    len_bytes: u32,
    fill: u8,
}

/// Content of all trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    bytes: BTreeMap<u64, Filled>,
    numbers: BTreeMap<u64, u64>,
    sets: BTreeSet<(u64, u64)>,
    ranked: Ranked,
    named: Named,
}

/// Makes random changes of a transaction and of the state it should leave.
///
/// # Errors
/// What the engine answered; the state is then of no use.
pub fn change(
    transaction: &mut WriteTransaction,
    state: &mut State,
    rng: &mut Rng,
) -> Result<(), StorageError> {
    let new_snapshot = state.named.change(transaction, rng)?;
    for _ in 0..=rng.below(12) {
        if !rng.chance(8) {
            change_once(transaction, state, rng)?;
            continue;
        }
        // An operation that is taken back, with a kept one inside.
        let mut inner_rng = rng.fork();
        let mut forgotten = state.clone();
        let outcome = transaction.savepoint(|transaction| {
            forgotten.named.change(transaction, &mut inner_rng)?;
            for _ in 0..=inner_rng.below(4) {
                change_once(transaction, &mut forgotten, &mut inner_rng)?;
            }
            transaction.savepoint(|transaction| {
                change_once(transaction, &mut forgotten, &mut inner_rng)
            })?;
            Err::<(), Option<StorageError>>(None)
        });
        if let Err(Some(error)) = outcome {
            return Err(error);
        }
    }
    // Every transaction changes something, so that each gets a number.
    let stamp = rng.next_u64();
    put_number(transaction, state, u64::MAX, stamp)?;
    if let Some(name) = new_snapshot {
        // What it sees has no named snapshots itself.
        let seen = State {
            named: Named::default(),
            ..state.clone()
        };
        state.named.is_taken(name, seen);
    }
    Ok(())
}

fn change_once(
    transaction: &mut WriteTransaction,
    state: &mut State,
    rng: &mut Rng,
) -> Result<(), StorageError> {
    match rng.below(48) {
        0 => {
            transaction.drop_tree("bytes")?;
            state.bytes.clear();
        }
        1..=20 => {
            let key = rng.below(KEYS);
            let mut tree = transaction.tree_mut("bytes")?;
            if rng.chance(3) {
                tree.delete(&key.to_be_bytes())?;
                state.bytes.remove(&key);
            } else {
                let value = Filled {
                    len_bytes: *rng.pick(&LENGTHS),
                    fill: rng.next_u64().to_le_bytes()[0],
                };
                tree.put(&key.to_be_bytes(), &value.bytes())?;
                state.bytes.insert(key, value);
            }
        }
        21..=30 => {
            let key = rng.below(NUMBERS);
            if rng.chance(3) {
                let mut tree = transaction.fixed_tree_mut("numbers", 8)?;
                tree.delete(key)?;
                state.numbers.remove(&key);
            } else {
                put_number(transaction, state, key, rng.next_u64())?;
            }
        }
        31..=39 => {
            let (key, value) = (rng.below(6), rng.below(NUMBERS));
            let mut tree = transaction.multi_tree_mut("sets")?;
            if rng.chance(3) {
                tree.remove(&key.to_be_bytes(), &value.to_be_bytes())?;
                state.sets.remove(&(key, value));
            } else {
                tree.add(&key.to_be_bytes(), &value.to_be_bytes())?;
                state.sets.insert((key, value));
            }
        }
        _ => state.ranked.change(transaction, rng)?,
    }
    Ok(())
}

fn put_number(
    transaction: &mut WriteTransaction,
    state: &mut State,
    key: u64,
    value: u64,
) -> Result<(), StorageError> {
    let mut tree = transaction.fixed_tree_mut("numbers", 8)?;
    tree.put(key, &value.to_le_bytes())?;
    state.numbers.insert(key, value);
    Ok(())
}

impl State {
    /// Names of the named snapshots, with what each sees.
    pub fn named_snapshots(&self) -> impl Iterator<Item = (&str, &State)> {
        self.named.seen()
    }
}

impl Filled {
    fn bytes(self) -> Vec<u8> {
        vec![self.fill; self.len_bytes as usize]
    }

    fn of(bytes: &[u8]) -> Option<Filled> {
        let fill = bytes.first().copied();
        bytes
            .iter()
            .all(|byte| Some(*byte) == fill)
            .then_some(Filled {
                len_bytes: u32::try_from(bytes.len()).ok()?,
                fill: fill.unwrap_or(0),
            })
    }

    fn is_like(self, other: Filled) -> bool {
        self.len_bytes == other.len_bytes && (self.fill == other.fill || self.len_bytes == 0)
    }
}

/// The engine's own full check.
///
/// # Errors
/// The first damage that it finds.
pub fn check_sound(environment: &Environment) -> Result<(), String> {
    let report = environment
        .check(CheckLevel::Full)
        .map_err(|e| e.to_string())?;
    match report.damages.first() {
        None => Ok(()),
        Some(damage) => Err(format!("check found damage: {damage}")),
    }
}

/// Compares what an environment holds, and what its named snapshots see, with a state.
///
/// # Errors
/// The first difference, or the engine's error, as a sentence.
pub fn compare_all(environment: &Environment, state: &State) -> Result<(), String> {
    let told = |error: StorageError| error.to_string();
    compare(&environment.read().map_err(told)?, state)?;
    for (name, seen) in state.named_snapshots() {
        let then = environment.read_snapshot(name);
        let then = then.map_err(|error| error.to_string())?;
        compare(&then, seen).map_err(|what| format!("a named snapshot changed: {what}"))?;
    }
    Ok(())
}

/// Compares what a snapshot holds with a state.
///
/// # Errors
/// The first difference, or the engine's error, as a sentence.
pub fn compare(reader: &ReadTransaction, state: &State) -> Result<(), String> {
    let told = |error: StorageError| error.to_string();
    compare_bytes(reader, state)?;
    let mut numbers = BTreeMap::new();
    if let Some(tree) = reader.fixed_tree("numbers").map_err(told)? {
        for entry in tree.iter().map_err(told)? {
            let (key, value) = entry.map_err(told)?;
            let value = value.try_into().map_err(|_| "a number of another width")?;
            numbers.insert(key, u64::from_le_bytes(value));
        }
    }
    if numbers != state.numbers {
        return Err("the fixed tree has another content".to_owned());
    }
    compare_sets(reader, state)?;
    state.ranked.compare(reader)?;
    state.named.compare(reader)
}

fn compare_bytes(reader: &ReadTransaction, state: &State) -> Result<(), String> {
    let told = |error: StorageError| error.to_string();
    let mut expected = state.bytes.iter();
    if let Some(tree) = reader.tree("bytes").map_err(told)? {
        for entry in tree.iter().map_err(told)? {
            let (key, value) = entry.map_err(told)?;
            let found = Filled::of(value).ok_or("a value is mixed from two")?;
            let is_expected = expected.next().is_some_and(|(number, filled)| {
                key.to_vec() == number.to_be_bytes() && filled.is_like(found)
            });
            if !is_expected {
                return Err(format!("key {:?} has another value", key.to_vec()));
            }
        }
    }
    match expected.next() {
        None => Ok(()),
        Some((key, _)) => Err(format!("key {key} is missing")),
    }
}

fn compare_sets(reader: &ReadTransaction, state: &State) -> Result<(), String> {
    let told = |error: StorageError| error.to_string();
    let mut found = BTreeSet::new();
    let number = |bytes: &[u8]| -> Result<u64, String> {
        let bytes = bytes.try_into().map_err(|_| "a number of another width")?;
        Ok(u64::from_be_bytes(bytes))
    };
    if let Some(tree) = reader.multi_tree("sets").map_err(told)? {
        for key in 0..6_u64 {
            for value in tree.values(&key.to_be_bytes()).map_err(told)? {
                found.insert((key, number(&value.map_err(told)?.to_vec())?));
            }
        }
    }
    match found == state.sets {
        true => Ok(()),
        false => Err("the multi tree has another content".to_owned()),
    }
}

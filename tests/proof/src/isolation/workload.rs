//! Concurrent clients of one environment on a real or simulated disk: writers that append and read
//! through the queue of the writer thread, some of which are taken back, and readers of snapshots.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackdaw_io::Vfs;
use jackdaw_sim::Rng;
use jackdaw_storage::{
    Environment, Options, PageRead, StorageError, Tree, WriteError, WriteTransaction,
};

use super::checker::{Anomaly, check};
use super::history::{History, Operation, Outcome, Transaction};

/// Lists at a time. They are left behind after a while, so that reads stay short.
const KEYS: u64 = 6;
/// Numbers that writers take until the clients go on to new lists: some sixteen appends to each of
/// them, since every other number is for a read.
const NUMBERS_OF_A_LIST: u64 = 192;
const OPERATIONS_MAX: u64 = 5;
/// Transactions after which a run ends early. All of them are in memory until they are checked,
/// with what they read: about 300 bytes each, and 200 more while they are.
const TRANSACTIONS_MAX: u64 = 500_000;

/// What the clients did, and what was wrong.
#[derive(Clone, Debug, Default)]
pub struct WorkloadReport {
    /// Transactions of all clients.
    pub transactions: u64,
    /// Those that were taken back on purpose.
    pub aborted: u64,
    /// How long the clients ran.
    pub duration: Duration,
    /// Anomalies; empty when all is well.
    pub anomalies: Vec<Anomaly>,
}

struct Clients {
    environment: Environment,
    /// A clock that all clients share: it orders what one saw end before another began.
    clock: AtomicU64,
    next_value: AtomicU64,
    deadline: Instant,
}

/// Runs `clients` clients for `duration`, or until they have done half a million
/// transactions, a third of them readers, and checks what they saw.
///
/// # Errors
/// When the environment fails.
pub fn run(
    vfs: Arc<dyn Vfs>,
    directory: &Path,
    seed: u64,
    clients: u64,
    duration: Duration,
) -> Result<WorkloadReport, String> {
    let options = Options {
        background_flush: true,
        ..Options::small()
    };
    let environment =
        Environment::open(vfs, directory, options).map_err(|error| error.to_string())?;
    let shared = Clients {
        environment,
        clock: AtomicU64::new(0),
        next_value: AtomicU64::new(1),
        deadline: Instant::now() + duration,
    };
    let mut rng = Rng::new(seed);
    let started = Instant::now();
    let histories = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|client| {
                let (shared, mut rng) = (&shared, rng.fork());
                scope.spawn(move || shared.work(client % 3 == 0, &mut rng))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a client panicked".to_owned())?)
            .collect::<Result<Vec<History>, String>>()
    })?;
    let duration = started.elapsed();
    // The simulated disk keeps all that was ever written to it.
    drop(shared);
    let aborted: usize = histories.iter().map(History::aborted_count).sum();
    let transactions: usize = histories.iter().map(History::len).sum();
    Ok(WorkloadReport {
        transactions: transactions as u64,
        aborted: aborted as u64,
        duration,
        anomalies: check(&histories).into_iter().collect(),
    })
}

impl Clients {
    /// What one client does until the run is over.
    fn work(&self, is_reader: bool, rng: &mut Rng) -> Result<History, String> {
        let mut history = History::default();
        while !self.is_over() {
            history.push(&match is_reader {
                true => self.read(rng).map_err(|error| error.to_string())?,
                false => self.write(rng)?,
            });
        }
        Ok(history)
    }

    fn is_over(&self) -> bool {
        // Each transaction looks at the clock twice.
        let ticks = self.clock.load(Ordering::Relaxed);
        ticks >= 2 * TRANSACTIONS_MAX || Instant::now() >= self.deadline
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn key(&self, rng: &mut Rng) -> u64 {
        let generation = self.next_value.load(Ordering::Relaxed) / NUMBERS_OF_A_LIST;
        generation * KEYS + rng.below(KEYS)
    }

    /// One snapshot, several lists.
    fn read(&self, rng: &mut Rng) -> Result<Transaction, StorageError> {
        let began = self.tick();
        let reader = self.environment.read()?;
        let tree = reader.tree("lists")?;
        let mut operations = Vec::new();
        for _ in 0..=rng.below(OPERATIONS_MAX) {
            let key = self.key(rng);
            let values = match &tree {
                Some(tree) => list(tree, key)?,
                None => Vec::new(),
            };
            operations.push(Operation::Read { key, values });
        }
        Ok(Transaction {
            began,
            ended: self.tick(),
            operations,
            outcome: Outcome::Committed,
        })
    }

    fn write(&self, rng: &mut Rng) -> Result<Transaction, String> {
        let began = self.tick();
        let count = 1 + rng.below(OPERATIONS_MAX);
        let first = self.next_value.fetch_add(count, Ordering::Relaxed);
        // What to do; reads are filled in by the writer thread.
        let wanted: Vec<Operation> = (0..count)
            .map(|step| {
                let key = self.key(rng);
                match rng.chance(2) {
                    true => Operation::Append {
                        key,
                        value: first + step,
                    },
                    false => Operation::Read {
                        key,
                        values: Vec::new(),
                    },
                }
            })
            .collect();
        let is_taken_back = rng.chance(8);
        let done = Arc::new(Mutex::new(wanted));
        let mine = Arc::clone(&done);
        let outcome = self.environment.write(move |transaction| {
            let mut operations = mine.lock().unwrap_or_else(PoisonError::into_inner);
            carry_out(transaction, &mut operations).map_err(Some)?;
            match is_taken_back {
                true => Err(None::<StorageError>),
                false => Ok(()),
            }
        });
        let outcome = match outcome {
            Ok(()) => Outcome::Committed,
            Err(WriteError::Operation(None)) => Outcome::Aborted,
            Err(WriteError::Operation(Some(error))) => return Err(error.to_string()),
            Err(error) => return Err(error_text(&error)),
        };
        let operations = done.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Transaction {
            began,
            ended: self.tick(),
            operations,
            outcome,
        })
    }
}

fn error_text(error: &WriteError<Option<StorageError>>) -> String {
    match error {
        WriteError::NotCommitted(error) | WriteError::Unknown(error) => error.to_string(),
        _ => "a write panicked".to_owned(),
    }
}

fn carry_out(
    transaction: &mut WriteTransaction,
    operations: &mut [Operation],
) -> Result<(), StorageError> {
    for operation in operations {
        match operation {
            Operation::Append { key, value } => {
                let mut tree = transaction.tree_mut("lists")?;
                let mut bytes = tree
                    .get(&key.to_be_bytes())?
                    .map(<[u8]>::to_vec)
                    .unwrap_or_default();
                bytes.extend_from_slice(&value.to_le_bytes());
                tree.put(&key.to_be_bytes(), &bytes)?;
            }
            Operation::Read { key, values } => {
                if let Some(tree) = transaction.tree("lists")? {
                    *values = list(&tree, *key)?;
                }
            }
        }
    }
    Ok(())
}

fn list<P: PageRead>(tree: &Tree<'_, P>, key: u64) -> Result<Vec<u64>, StorageError> {
    let bytes = tree.get(&key.to_be_bytes())?.unwrap_or_default();
    let numbers = bytes.as_chunks::<8>().0.iter();
    Ok(numbers.map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

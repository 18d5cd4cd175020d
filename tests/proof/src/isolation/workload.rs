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
use super::{Operation, Outcome, Transaction};

/// Lists at a time. They are left behind after a while, so that reads stay short.
const KEYS: u64 = 6;
/// Transactions until the clients go on to new lists.
const TRANSACTIONS_OF_A_LIST: u64 = 600;
const OPERATIONS_MAX: u64 = 5;

/// What the clients did, and what was wrong.
#[derive(Clone, Debug, Default)]
pub struct WorkloadReport {
    /// Transactions of all clients.
    pub transactions: u64,
    /// Those that were taken back on purpose.
    pub aborted: u64,
    /// Anomalies; empty when all is well.
    pub anomalies: Vec<Anomaly>,
}

struct Clients {
    environment: Environment,
    /// A clock that all clients share: it orders what one saw end before another began.
    clock: AtomicU64,
    next_value: AtomicU64,
    history: Mutex<Vec<Transaction>>,
    deadline: Instant,
}

/// Runs `clients` clients for `duration`, a third of them readers, and checks what they saw.
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
        history: Mutex::new(Vec::new()),
        deadline: Instant::now() + duration,
    };
    let mut rng = Rng::new(seed);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|client| {
                let (shared, mut rng) = (&shared, rng.fork());
                scope.spawn(move || -> Result<(), String> {
                    while Instant::now() < shared.deadline {
                        if client % 3 == 0 {
                            shared.read(&mut rng).map_err(|e| e.to_string())?;
                        } else {
                            shared.write(&mut rng)?;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a client panicked".to_owned())?)
    })?;
    let history = shared
        .history
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let aborted = history
        .iter()
        .filter(|t| t.outcome == Outcome::Aborted)
        .count();
    Ok(WorkloadReport {
        transactions: history.len() as u64,
        aborted: aborted as u64,
        anomalies: check(&history).into_iter().collect(),
    })
}

impl Clients {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn key(&self, rng: &mut Rng) -> u64 {
        let generation = self.clock.load(Ordering::Relaxed) / (2 * TRANSACTIONS_OF_A_LIST);
        generation * KEYS + rng.below(KEYS)
    }

    fn note(&self, transaction: Transaction) {
        self.history
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(transaction);
    }

    /// One snapshot, several lists.
    fn read(&self, rng: &mut Rng) -> Result<(), StorageError> {
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
        self.note(Transaction {
            began,
            ended: self.tick(),
            operations,
            outcome: Outcome::Committed,
        });
        Ok(())
    }

    fn write(&self, rng: &mut Rng) -> Result<(), String> {
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
        self.note(Transaction {
            began,
            ended: self.tick(),
            operations,
            outcome,
        });
        Ok(())
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

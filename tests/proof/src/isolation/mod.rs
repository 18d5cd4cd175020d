//! Whether what concurrent clients saw is possible when transactions run one after the other.
//!
//! Clients append numbers, each used once, to lists and read whole lists. The longest read of a
//! list gives the order of its versions, so every dependency between transactions is known, and a
//! cycle of dependencies is an anomaly with a name (Adya; the method is that of Elle).

mod checker;
mod workload;

pub use checker::{Anomaly, check};
pub use workload::{WorkloadReport, run};

/// One operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Appends a number to the list of a key.
    Append {
        /// The list.
        key: u64,
        /// A number that is appended once in the whole history.
        value: u64,
    },
    /// Reads the whole list of a key.
    Read {
        /// The list.
        key: u64,
        /// What was read.
        values: Vec<u64>,
    },
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was acknowledged.
    Committed,
    /// It was taken back.
    Aborted,
    /// The client does not know.
    Unknown,
}

/// What a client did in one transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// When it began, on a clock of all clients.
    pub began: u64,
    /// When its outcome was known.
    pub ended: u64,
    /// What it did, in order.
    pub operations: Vec<Operation>,
    /// How it ended.
    pub outcome: Outcome,
}

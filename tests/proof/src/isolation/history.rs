//! What clients did and saw: one transaction in full, and a compact history of many.
//!
//! The workload writes histories, one for each client, and the checker reads them.
//!
//! A round of the workload has half a million transactions with a few short lists each. A
//! [`History`] keeps them in three arrays: nothing is allocated for a transaction alone.

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
    /// What it did, in order. A handful: the checker compares each with those before it.
    pub operations: Vec<Operation>,
    /// How it ended.
    pub outcome: Outcome,
}

/// Transactions of one client, or of several, in any order.
#[derive(Clone, Debug, Default)]
pub struct History {
    heads: Vec<Head>,
    steps: Vec<Step>,
    numbers: Vec<u64>,
}

/// A transaction without its operations.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) outcome: Outcome,
    /// Where its steps end; they begin where those of the transaction before end.
    step_end: usize,
}

/// An operation without what it read.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Append { key: u64, value: u64 },
    Read { key: u64, start: u32, count: u32 },
}

/// A transaction inside a history.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) head: &'a Head,
    pub(super) steps: &'a [Step],
    numbers: &'a [u64],
}

impl History {
    /// Adds a transaction.
    ///
    /// # Panics
    /// With more than 2^32 numbers read in all.
    pub fn push(&mut self, transaction: &Transaction) {
        for operation in &transaction.operations {
            self.steps.push(match operation {
                Operation::Append { key, value } => Step::Append {
                    key: *key,
                    value: *value,
                },
                Operation::Read { key, values } => {
                    let start = self.numbers.len();
                    self.numbers.extend_from_slice(values);
                    let position =
                        |at: usize| u32::try_from(at).expect("a round reads fewer numbers");
                    Step::Read {
                        key: *key,
                        start: position(start),
                        count: position(values.len()),
                    }
                }
            });
        }
        self.heads.push(Head {
            began: transaction.began,
            ended: transaction.ended,
            outcome: transaction.outcome,
            step_end: self.steps.len(),
        });
    }

    /// How many transactions it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// How many transactions were taken back.
    #[must_use]
    pub fn aborted_count(&self) -> usize {
        let heads = self.heads.iter();
        heads
            .filter(|head| head.outcome == Outcome::Aborted)
            .count()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.heads.iter().scan(0, |start, head| {
            let steps = &self.steps[*start..head.step_end];
            *start = head.step_end;
            Some(Entry {
                head,
                steps,
                numbers: &self.numbers,
            })
        })
    }
}

impl<'a> Entry<'a> {
    /// What a read of this transaction returned.
    pub(super) fn values(&self, start: u32, count: u32) -> &'a [u64] {
        &self.numbers[start as usize..][..count as usize]
    }
}

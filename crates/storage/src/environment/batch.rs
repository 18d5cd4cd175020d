//! Running operations as one transaction, a savepoint each.
//!
//! While the journal writes batch N, batch N+1 executes and keeps collecting operations; it closes
//! when the journal is idle, nothing waits and nobody is likely to come (`hold`), when it is large,
//! or when another thread wants to be the writer (which may be a callback on the journal thread:
//! waiting for the journal would be waiting for itself).
//!
//! A batch with which nothing can overlap is written by the thread that ran it, with the pages
//! still in its core's cache and without waking another thread.

use std::sync::Arc;

use super::hold::BatchHold;
use super::operation::{Completion, Outcome, QueuedOperation};
use super::shared::Shared;
use crate::transaction::{WriteTransaction, WriterState};

/// A batch closes at this many bytes of changed pages: enough to fill a journal write many times.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// A batch closes at this many operations, which bounds how long the first one waits.
const BATCH_OPERATIONS_MAX: usize = 4096;

impl Shared {
    /// On the writer thread: runs `first` and whatever comes while the batch is open.
    pub(super) fn run_batch(self: &Arc<Self>, first: Box<dyn QueuedOperation>) {
        let Some((mut transaction, first)) = self.begin_batch(self.take_writer(), first) else {
            return;
        };
        let mut completions = Vec::new();
        let mut hold = BatchHold::default();
        let mut next = Some(first);
        while let Some(operation) = next {
            completions.push(self.run_operation(&mut transaction, operation));
            let is_full = completions.len() >= BATCH_OPERATIONS_MAX
                || transaction.dirty_bytes() >= BATCH_BYTES_MAX;
            next = match is_full {
                true => None,
                false => self.next_of_batch(&mut hold),
            };
        }
        let is_complete = completions.len() == 1 || hold.is_complete();
        if self.seal_batch(transaction, completions) {
            self.send_to_journal(is_complete);
        }
    }

    /// On its caller's thread: runs one operation, and tells its outcome.
    pub(super) fn run_here(
        self: &Arc<Self>,
        writer: WriterState,
        operation: Box<dyn QueuedOperation>,
    ) {
        let Some((mut transaction, operation)) = self.begin_batch(writer, operation) else {
            return;
        };
        let completion = self.run_operation(&mut transaction, operation);
        if self.seal_batch(transaction, vec![completion]) {
            self.write_here();
        }
    }

    /// A transaction for `first`, or its caller is told why there is none.
    fn begin_batch(
        self: &Arc<Self>,
        writer: WriterState,
        first: Box<dyn QueuedOperation>,
    ) -> Option<(WriteTransaction, Box<dyn QueuedOperation>)> {
        match WriteTransaction::begin(self, writer) {
            Ok(transaction) => Some((transaction, first)),
            Err(refused) => {
                let (writer, error) = *refused;
                self.return_writer(writer);
                first.into_completion().tell(Outcome::NotCommitted(error));
                None
            }
        }
    }

    fn run_operation(
        &self,
        transaction: &mut WriteTransaction,
        mut operation: Box<dyn QueuedOperation>,
    ) -> Completion {
        let now = self.vfs.monotonic_nanos();
        let waited = now.saturating_sub(operation.queued_at());
        self.meters.queue_wait_nanos.record(waited);
        transaction.run_operation(|transaction| operation.run(transaction));
        operation.into_completion()
    }

    /// Whether there is something to write; the callers have been told otherwise.
    fn seal_batch(&self, transaction: WriteTransaction, completions: Vec<Completion>) -> bool {
        if transaction.is_empty() {
            // The operations may have seen transactions that are not durable yet.
            drop(transaction);
            self.write_sealed();
            let outcome = match self.refusal() {
                Some(refusal) => Outcome::NotCommitted(refusal),
                None => Outcome::Committed,
            };
            tell_all(completions, &outcome);
            return false;
        }
        match transaction.seal(completions) {
            Ok(()) => true,
            Err((error, completions)) => {
                tell_all(completions, &Outcome::NotCommitted(error));
                false
            }
        }
    }

    /// Hands a sealed batch to the journal thread, unless it `is_complete` (nobody else is
    /// expected) and nothing waits: then it is written here. Callbacks are left to the journal
    /// thread: one that takes its time, or waits for what this thread has locked, must not stop
    /// other operations.
    fn send_to_journal(&self, is_complete: bool) {
        if self.hand_to_journal_thread(is_complete) {
            return;
        }
        self.write_here();
    }

    /// Writes what is sealed and tells its callers on this thread, up to the first callback.
    fn write_here(&self) {
        self.write_all_groups();
        if !self.tell_callers_without_callbacks() {
            self.hand_to_journal_thread(false);
        }
    }
}

fn tell_all(completions: Vec<Completion>, outcome: &Outcome) {
    for completion in completions {
        completion.tell(outcome.clone());
    }
}

//! The writer thread: runs whatever operations wait as one transaction, a savepoint each.
//!
//! While the journal writes batch N, batch N+1 executes and keeps collecting operations; it closes
//! when the journal is idle and nothing waits, when it is large, or when another thread wants to be
//! the writer (which may be a callback on the journal thread: waiting for the journal would be
//! waiting for itself). Callers are answered when their batch is durable, outside every lock: by
//! the journal thread, or by the writer thread when it wrote a lone operation itself.
//!
//! Threads: one writer and one journal thread, started by the first queued operation.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::error::WriteError;
use super::shared::{Shared, lock};
use crate::error::StorageError;
use crate::transaction::WriteTransaction;

/// A batch closes at this many bytes of changed pages: enough to fill a journal write many times.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// A batch closes at this many operations, which bounds how long the first one waits.
const BATCH_OPERATIONS_MAX: usize = 4096;
/// Operations that may wait; a caller who comes later blocks until there is room.
const QUEUE_OPERATIONS_MAX: usize = 16 * 1024;
/// Sealed batches that may wait for the journal.
const IN_FLIGHT_MAX: usize = 8;

type ThreadBody = fn(&Arc<Shared>);

/// The writer comes first: it can be ended without the journal thread, not the other way round.
const THREADS: [(&str, ThreadBody); 2] = [
    ("jd-writer", Shared::run_writer_thread),
    ("jd-journal", Shared::run_journal_thread),
];

/// What became of the transaction of an operation.
#[derive(Clone)]
pub(crate) enum Outcome {
    Committed,
    NotCommitted(StorageError),
    Unknown(StorageError),
}

/// Tells a caller the outcome.
pub(crate) struct Completion {
    tell: Box<dyn FnOnce(Outcome) + Send>,
    /// Runs code of the caller, which may take its time or wait for the writer.
    is_callback: bool,
    /// When the operation was queued, by the monotonic clock.
    queued_at: u64,
}

impl Completion {
    pub(crate) fn tell(self, outcome: Outcome) {
        (self.tell)(outcome);
    }

    pub(super) fn is_callback(&self) -> bool {
        self.is_callback
    }

    pub(super) fn queued_at(&self) -> u64 {
        self.queued_at
    }
}

/// An operation that waits for the writer thread.
trait QueuedOperation: Send {
    /// Runs it; `false` when its changes have to be taken back.
    fn run(&mut self, transaction: &mut WriteTransaction) -> bool;
    /// When it was queued, by the monotonic clock.
    fn queued_at(&self) -> u64;
    /// What to call when the outcome of the batch is known.
    fn into_completion(self: Box<Self>) -> Completion;
}

/// See the file head.
#[derive(Default)]
pub(crate) struct Merger {
    state: Mutex<MergerState>,
    /// For the writer: an operation or another writer came, the journal made progress, or the end.
    work: Condvar,
    /// For the journal thread: a batch was sealed, or the end.
    sealed: Condvar,
    /// For callers: the queue has room.
    room: Condvar,
}

#[derive(Default)]
struct MergerState {
    queue: VecDeque<Box<dyn QueuedOperation>>,
    /// Batches that were sealed and that the journal thread has not seen written.
    in_flight: usize,
    is_stopping: bool,
    is_writer_done: bool,
    /// Those of `THREADS` that run.
    threads: Vec<JoinHandle<()>>,
}

impl MergerState {
    fn is_engine_thread(&self) -> bool {
        let this = std::thread::current().id();
        self.threads
            .iter()
            .any(|thread| thread.thread().id() == this)
    }
}

/// Gives the result of a queued operation once it is durable.
pub struct WriteHandle<T, E> {
    receiver: mpsc::Receiver<Result<T, WriteError<E>>>,
}

impl<T, E> WriteHandle<T, E> {
    /// Waits for durability.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn wait(self) -> Result<T, WriteError<E>> {
        self.receiver
            .recv()
            .unwrap_or_else(|_| Err(WriteError::Unknown(StorageError::Poisoned)))
    }
}

struct Operation<F, T, E, D> {
    operation: Option<F>,
    result: Option<Result<T, Refusal<E>>>,
    done: D,
    is_callback: bool,
    queued_at: u64,
}

enum Refusal<E> {
    Operation(E),
    Panicked(String),
}

impl<F, T, E, D> QueuedOperation for Operation<F, T, E, D>
where
    F: FnOnce(&mut WriteTransaction) -> Result<T, E> + Send,
    T: Send + 'static,
    E: Send + 'static,
    D: FnOnce(Result<T, WriteError<E>>) + Send + 'static,
{
    fn run(&mut self, transaction: &mut WriteTransaction) -> bool {
        let operation = self.operation.take().expect("an operation is run once");
        let outcome = catch_unwind(AssertUnwindSafe(|| operation(transaction)));
        let result = match outcome {
            Ok(result) => result.map_err(Refusal::Operation),
            Err(panic) => Err(Refusal::Panicked(panic_text(&*panic))),
        };
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn queued_at(&self) -> u64 {
        self.queued_at
    }

    fn into_completion(self: Box<Self>) -> Completion {
        let Operation {
            result,
            done,
            is_callback,
            queued_at,
            ..
        } = *self;
        let tell = Box::new(move |outcome| {
            let answer = answer(result, outcome);
            // A panic of the callback has been reported by the panic hook; it is its caller's own.
            let _ = catch_unwind(AssertUnwindSafe(|| done(answer)));
        });
        Completion {
            tell,
            is_callback,
            queued_at,
        }
    }
}

/// What to tell the caller of an operation; `result` is `None` when it was not run.
fn answer<T, E>(
    result: Option<Result<T, Refusal<E>>>,
    outcome: Outcome,
) -> Result<T, WriteError<E>> {
    match (result, outcome) {
        (Some(Err(Refusal::Panicked(text))), _) => Err(WriteError::Panicked(text)),
        (Some(Ok(value)), Outcome::Committed) => Ok(value),
        (Some(Err(Refusal::Operation(error))), Outcome::Committed) => {
            Err(WriteError::Operation(error))
        }
        (Some(Ok(_)), Outcome::Unknown(error)) => Err(WriteError::Unknown(error)),
        // A refusal may rest on changes that were lost: it is not told as a fact.
        (_, Outcome::NotCommitted(error) | Outcome::Unknown(error)) => {
            Err(WriteError::NotCommitted(error))
        }
        (None, Outcome::Committed) => Err(WriteError::NotCommitted(StorageError::Poisoned)),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}

impl Shared {
    /// Queues `operation`; `done` is called on an engine thread and must not block.
    pub(super) fn submit<T, E>(
        self: &Arc<Self>,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
        done: impl FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.enqueue(Box::new(Operation {
            operation: Some(operation),
            result: None,
            done,
            is_callback: true,
            queued_at: self.vfs.monotonic_nanos(),
        }));
    }

    fn enqueue(self: &Arc<Self>, queued: Box<dyn QueuedOperation>) {
        let mut state = lock(&self.merger.state);
        // An engine thread that waited here, in a callback, would wait for itself.
        let may_wait = !state.is_engine_thread();
        while may_wait && state.queue.len() >= QUEUE_OPERATIONS_MAX && !state.is_stopping {
            state = self
                .merger
                .room
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.threads.len() < THREADS.len()
            && !state.is_stopping
            && let Err(error) = self.start_threads(&mut state)
        {
            drop(state);
            return queued.into_completion().tell(Outcome::NotCommitted(error));
        }
        state.queue.push_back(queued);
        drop(state);
        self.merger.work.notify_one();
    }

    /// [`Shared::submit`] with a handle to wait on.
    pub(super) fn submit_with_handle<T, E>(
        self: &Arc<Self>,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
    ) -> WriteHandle<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.enqueue(Box::new(Operation {
            operation: Some(operation),
            result: None,
            done: move |result| {
                // Who dropped the handle does not want to know.
                let _ = sender.send(result);
            },
            is_callback: false,
            queued_at: self.vfs.monotonic_nanos(),
        }));
        WriteHandle { receiver }
    }

    /// Starts the threads that do not run yet.
    fn start_threads(self: &Arc<Self>, state: &mut MergerState) -> Result<(), StorageError> {
        while let Some(&(name, run)) = THREADS.get(state.threads.len()) {
            let shared = Arc::clone(self);
            let thread = jackdaw_io::spawn(name, move || run(&shared)).map_err(|error| {
                let source = std::io::Error::other(error.to_string());
                StorageError::io(&self.directory, "thread start", source)
            })?;
            state.threads.push(thread);
        }
        Ok(())
    }

    /// Whether this is the writer or the journal thread.
    pub(super) fn is_engine_thread(&self) -> bool {
        lock(&self.merger.state).is_engine_thread()
    }

    /// Tells the threads to end when they have finished what is queued.
    pub(super) fn request_merger_stop(&self) {
        lock(&self.merger.state).is_stopping = true;
        self.merger.work.notify_all();
        self.merger.room.notify_all();
    }

    /// Lets the threads finish what is queued and ends them. Not for an engine thread.
    pub(super) fn stop_merger(&self) {
        self.request_merger_stop();
        let threads = std::mem::take(&mut lock(&self.merger.state).threads);
        for thread in threads {
            // A panic of an engine thread has been reported by the panic hook.
            let _ = thread.join();
        }
    }

    fn run_writer_thread(self: &Arc<Self>) {
        while let Some(first) = self.next_operation() {
            self.poison_on_panic(|| {
                self.wait_for_room();
                self.run_batch(first);
                self.flush_inline_if_due();
            });
        }
        lock(&self.merger.state).is_writer_done = true;
        self.merger.sealed.notify_all();
    }

    /// Waits for an operation; `None` at the end.
    fn next_operation(&self) -> Option<Box<dyn QueuedOperation>> {
        let mut state = lock(&self.merger.state);
        loop {
            if state.in_flight < IN_FLIGHT_MAX {
                if let Some(operation) = state.queue.pop_front() {
                    self.merger.room.notify_one();
                    return Some(operation);
                }
                if state.is_stopping {
                    return None;
                }
            }
            state = self
                .merger
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next operation for the open batch; `None` when the batch should close.
    fn next_of_batch(&self) -> Option<Box<dyn QueuedOperation>> {
        let mut state = lock(&self.merger.state);
        loop {
            if self.is_writer_wanted() {
                return None;
            }
            if let Some(operation) = state.queue.pop_front() {
                self.merger.room.notify_one();
                return Some(operation);
            }
            if state.in_flight == 0 || state.is_stopping {
                return None;
            }
            state = self
                .merger
                .work
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the batch that collects operations close now.
    pub(super) fn close_open_batch(&self) {
        // With the lock, the writer thread cannot be between its look and its wait.
        drop(lock(&self.merger.state));
        self.merger.work.notify_one();
    }

    fn run_batch(self: &Arc<Self>, first: Box<dyn QueuedOperation>) {
        let mut transaction = match WriteTransaction::begin(self, self.take_writer()) {
            Ok(transaction) => transaction,
            Err(refused) => {
                let (writer, error) = *refused;
                self.return_writer(writer);
                return first.into_completion().tell(Outcome::NotCommitted(error));
            }
        };
        let mut completions = Vec::new();
        let mut next = Some(first);
        while let Some(mut operation) = next {
            let now = self.vfs.monotonic_nanos();
            let waited = now.saturating_sub(operation.queued_at());
            self.meters.queue_wait_nanos.record(waited);
            transaction.run_operation(|transaction| operation.run(transaction));
            completions.push(operation.into_completion());
            let is_full = completions.len() >= BATCH_OPERATIONS_MAX
                || transaction.dirty_bytes() >= BATCH_BYTES_MAX;
            next = if is_full { None } else { self.next_of_batch() };
        }
        self.close_batch(transaction, completions);
    }

    fn close_batch(&self, transaction: WriteTransaction, completions: Vec<Completion>) {
        if transaction.is_empty() {
            // The operations may have seen transactions that are not durable yet.
            drop(transaction);
            self.write_sealed();
            let outcome = match self.poison() {
                Some(_) => Outcome::NotCommitted(StorageError::Poisoned),
                None => Outcome::Committed,
            };
            return completions
                .into_iter()
                .for_each(|completion| completion.tell(outcome.clone()));
        }
        let is_alone = completions.len() == 1;
        match transaction.seal(completions) {
            Ok(()) => self.send_to_journal(is_alone),
            Err((error, completions)) => {
                for completion in completions {
                    completion.tell(Outcome::NotCommitted(error.clone()));
                }
            }
        }
    }

    /// Hands a sealed batch to the journal thread. When it `is_alone` (one operation) and nothing
    /// else waits, there is nothing to overlap the write with: it happens here, with the pages
    /// still in this core's cache and without waking another thread. Callbacks are left to the
    /// journal thread: one that takes its time must not stop other operations.
    fn send_to_journal(&self, is_alone: bool) {
        {
            let mut state = lock(&self.merger.state);
            if !is_alone || state.in_flight > 0 || !state.queue.is_empty() {
                state.in_flight += 1;
                drop(state);
                return self.merger.sealed.notify_one();
            }
        }
        self.write_all_groups();
        if !self.tell_callers_without_callbacks() {
            lock(&self.merger.state).in_flight += 1;
            self.merger.sealed.notify_one();
        }
    }

    fn run_journal_thread(self: &Arc<Self>) {
        loop {
            let batches = {
                let mut state = lock(&self.merger.state);
                while state.in_flight == 0 {
                    if state.is_writer_done {
                        return;
                    }
                    state = self
                        .merger
                        .sealed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                state.in_flight
            };
            self.poison_on_panic(|| self.write_all_groups());
            lock(&self.merger.state).in_flight -= batches;
            self.merger.work.notify_one();
            self.poison_on_panic(|| self.tell_callers());
        }
    }
}

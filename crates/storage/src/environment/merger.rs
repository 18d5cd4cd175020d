//! The queue of operations, and the two threads that serve it: the writer thread runs whatever
//! waits as one transaction (`batch`), the journal thread makes it durable and tells its callers.
//!
//! Invariants:
//! - Operations are run in the order in which they were queued. One that is run by its caller, past
//!   the queue, finds nothing queued, running or being written.
//! - Callers are told when their batch is durable, outside every lock.
//!
//! Threads: one writer and one journal thread, started by the first queued operation.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::error::WriteError;
use super::hold::{BatchHold, ReturningCallers};
use super::operation::{Operation, Outcome, QueuedOperation, WriteHandle};
use super::shared::{Shared, lock};
use crate::error::StorageError;
use crate::transaction::{WriteTransaction, WriterState};

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
    /// Whether the writer thread has taken an operation and not yet handed its batch on.
    is_batch_open: bool,
    /// Batches that were sealed and that the journal thread has not seen written.
    in_flight: usize,
    returning: ReturningCallers,
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

impl Shared {
    /// Queues `operation`; `done` is called on an engine thread, or that of another writer, and
    /// must not block.
    pub(super) fn submit<T, E>(
        self: &Arc<Self>,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
        done: impl FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Send + 'static,
    {
        let queued = Operation::new(operation, done, true, self.vfs.monotonic_nanos());
        self.enqueue(Box::new(queued));
    }

    /// [`Shared::submit`] with a `notify` that takes microseconds and waits for nothing: whichever
    /// thread has made the operation durable calls it.
    pub(super) fn submit_notifying<T, E>(
        self: &Arc<Self>,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
        notify: impl FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Send + 'static,
    {
        let queued = Operation::new(operation, notify, false, self.vfs.monotonic_nanos());
        self.enqueue(Box::new(queued));
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
        if self.is_read_only() {
            drop(state);
            let outcome = Outcome::NotCommitted(StorageError::ReadOnly);
            return queued.into_completion().tell(outcome);
        }
        if state.threads.len() < THREADS.len()
            && !state.is_stopping
            && let Err(error) = self.start_threads(&mut state)
        {
            drop(state);
            return queued.into_completion().tell(Outcome::NotCommitted(error));
        }
        state.queue.push_back(queued);
        state.returning.came_back();
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
        let (queued, handle) = self.with_handle(operation);
        self.enqueue(queued);
        handle
    }

    /// Runs `operation` and waits until it is durable: on this thread when nothing else is on its
    /// way, which saves two changes of threads, otherwise through the queue.
    pub(super) fn write<T, E>(
        self: &Arc<Self>,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (queued, handle) = self.with_handle(operation);
        self.run_here_or_enqueue(queued);
        handle.wait()
    }

    /// [`Shared::submit`], on this thread when nothing else is on its way. `done` neither blocks
    /// nor waits for the writer or for a lock of its caller, so any thread may call it.
    pub(super) fn write_then<T, E>(
        self: &Arc<Self>,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
        done: impl FnOnce(Result<T, WriteError<E>>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: Send + 'static,
    {
        let queued = Operation::new(operation, done, false, self.vfs.monotonic_nanos());
        self.run_here_or_enqueue(Box::new(queued));
    }

    fn run_here_or_enqueue(self: &Arc<Self>, queued: Box<dyn QueuedOperation>) {
        match self.take_idle_writer() {
            Some(writer) => self.poison_on_panic(|| {
                self.run_here(writer, queued);
                self.flush_inline_if_due();
            }),
            None => self.enqueue(queued),
        }
    }

    /// Whether no operation waits, runs, is being written, or is expected, and durable writes were
    /// quick lately.
    pub(super) fn is_idle_and_quick(&self) -> bool {
        let state = lock(&self.merger.state);
        state.returning.are_writes_quick() && self.is_merger_idle(&state)
    }

    /// Whether no operation waits, runs, is being written, or is expected.
    fn is_merger_idle(&self, state: &MergerState) -> bool {
        !state.is_batch_open
            && !state.is_stopping
            && state.in_flight == 0
            && state.queue.is_empty()
            && !state.returning.are_others_expected()
            && !state.is_engine_thread()
            && self.has_room()
            && self.is_pipeline_empty()
    }

    /// The writer, when nobody else needs it.
    fn take_idle_writer(&self) -> Option<WriterState> {
        let mut state = lock(&self.merger.state);
        // With the lock, nothing can be queued before this caller has the writer.
        let writer = if self.is_merger_idle(&state) {
            self.take_free_writer()
        } else {
            None
        };
        if writer.is_some() {
            state.returning.came_back();
        }
        writer
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
        state.is_batch_open = false;
        loop {
            if state.in_flight < IN_FLIGHT_MAX {
                if let Some(operation) = state.queue.pop_front() {
                    state.is_batch_open = true;
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
    pub(super) fn next_of_batch(&self, hold: &mut BatchHold) -> Option<Box<dyn QueuedOperation>> {
        let mut state = lock(&self.merger.state);
        loop {
            if self.is_writer_wanted() {
                return None;
            }
            if let Some(operation) = state.queue.pop_front() {
                self.merger.room.notify_one();
                return Some(operation);
            }
            if state.is_stopping {
                return None;
            }
            let work = &self.merger.work;
            if state.in_flight > 0 {
                state = work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let now = self.vfs.monotonic_nanos();
            let patience = state.returning.patience(hold, now)?;
            let (woken, timeout) = work
                .wait_timeout(state, patience)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && state.queue.is_empty() {
                state.returning.stayed_away(hold);
                return None;
            }
        }
    }

    /// Counts a sealed batch for the journal thread and wakes it; with `unless_idle` only when
    /// something else waits, or is being written. Whether it was.
    pub(super) fn hand_to_journal_thread(&self, unless_idle: bool) -> bool {
        let mut state = lock(&self.merger.state);
        if unless_idle && state.in_flight == 0 && state.queue.is_empty() {
            return false;
        }
        state.in_flight += 1;
        drop(state);
        self.merger.sealed.notify_one();
        true
    }

    /// Expects callers who are about to be told.
    pub(super) fn expect_callers(&self, callers: usize) {
        lock(&self.merger.state).returning.are_told(callers);
    }

    /// Learns how long a durable write of the journal takes.
    pub(super) fn note_write_nanos(&self, nanos: u64) {
        lock(&self.merger.state).returning.note_write_nanos(nanos);
    }

    /// Lets the batch that collects operations close now.
    pub(super) fn close_open_batch(&self) {
        // With the lock, the writer thread cannot be between its look and its wait.
        drop(lock(&self.merger.state));
        self.merger.work.notify_one();
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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc;

    use jackdaw_io::MemoryVfs;

    use super::*;
    use crate::environment::Options;
    use crate::environment::open::open;

    /// A single client would otherwise be waited for beside itself.
    #[test]
    fn callers_with_callbacks_are_expected_once() {
        let opened = open(MemoryVfs::new(), "/db".as_ref(), Options::small());
        let shared = opened.expect("opens").shared;
        let (sender, receiver) = mpsc::channel();
        for round in 0..20_u8 {
            let sender = sender.clone();
            shared.submit(
                move |transaction| transaction.tree_mut("t")?.put(&[round], b"").map(|_| ()),
                move |outcome: Result<(), WriteError<StorageError>>| {
                    sender.send(outcome.is_ok()).expect("the test waits");
                },
            );
            assert!(receiver.recv().expect("answered"), "round {round}");
            let state = lock(&shared.merger.state);
            assert!(!state.returning.are_others_expected(), "round {round}");
        }
        shared.stop_merger();
    }
}

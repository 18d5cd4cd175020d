//! Operations that callers give to the writer, and what they are told.
//!
//! `merger` queues them, `batch` runs them in a transaction, `pipeline` tells their callers the
//! outcome when it is known.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::WriteError;
use super::shared::Shared;
use crate::error::StorageError;
use crate::transaction::WriteTransaction;

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
pub(super) trait QueuedOperation: Send {
    /// Runs it; `false` when its changes have to be taken back.
    fn run(&mut self, transaction: &mut WriteTransaction) -> bool;
    /// When it was queued, by the monotonic clock.
    fn queued_at(&self) -> u64;
    /// What to call when the outcome of the batch is known.
    fn into_completion(self: Box<Self>) -> Completion;
}

/// Gives the result of a queued operation once it is durable.
pub struct WriteHandle<T, E> {
    pub(super) receiver: oneshot::Receiver<Result<T, WriteError<E>>>,
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

pub(super) struct Operation<F, T, E, D> {
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

impl<F, T, E, D> Operation<F, T, E, D> {
    /// `is_callback`: `done` runs code of the caller, which may take its time.
    pub(super) fn new(operation: F, done: D, is_callback: bool, queued_at: u64) -> Self {
        Operation {
            operation: Some(operation),
            result: None,
            done,
            is_callback,
            queued_at,
        }
    }
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
    /// An operation and the handle that gets its result.
    pub(super) fn with_handle<T, E>(
        &self,
        operation: impl FnOnce(&mut WriteTransaction) -> Result<T, E> + Send + 'static,
    ) -> (Box<dyn QueuedOperation>, WriteHandle<T, E>)
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let done = move |result| {
            // Who dropped the handle does not want to know.
            let _ = sender.send(result);
        };
        let queued = Operation::new(operation, done, false, self.vfs.monotonic_nanos());
        (Box::new(queued), WriteHandle { receiver })
    }
}

//! Batches that are handed over one behind the other, without waiting: after one that failed none
//! is carried out.
//!
//! Used by bulk import and by operations over what a query finds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::WriteError;

/// What batches of one caller share. Clones belong to the same chain.
#[derive(Clone, Debug, Default)]
pub struct Chain(Arc<State>);

#[derive(Debug, Default)]
struct State {
    has_failed: AtomicBool,
    /// A batch is being carried out, or its work ended early.
    is_at_work: AtomicBool,
}

impl Chain {
    /// Does the work of a batch in its transaction, unless an earlier batch failed.
    ///
    /// # Errors
    /// [`WriteError::EarlierBatch`]; those of `work`.
    pub(crate) fn carry_out<T>(
        &self,
        work: impl FnOnce() -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        // Whatever ends the work early, a panic included, leaves its flag raised for the batches
        // that come later in the same transaction.
        if self.0.has_failed.load(Ordering::Acquire)
            || self.0.is_at_work.swap(true, Ordering::AcqRel)
        {
            return Err(WriteError::EarlierBatch);
        }
        let done = work()?;
        self.0.is_at_work.store(false, Ordering::Release);
        Ok(done)
    }

    /// Takes note of what became of a batch: it may have failed before its work, or after it, on
    /// the disk.
    pub(crate) fn note<T>(&self, outcome: &Result<T, WriteError>) {
        if outcome.is_err() {
            self.0.has_failed.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Result<(), WriteError> {
        Err(WriteError::lost())
    }

    #[test]
    fn nothing_is_carried_out_behind_what_failed() {
        let chain = Chain::default();
        assert!(chain.carry_out(|| Ok(())).is_ok());
        assert!(chain.carry_out(failed).is_err());
        let next = chain.carry_out(|| Ok(()));
        assert!(matches!(next, Err(WriteError::EarlierBatch)), "{next:?}");
    }

    #[test]
    fn a_failure_that_is_told_while_a_batch_is_carried_out_counts() {
        let chain = Chain::default();
        let outcome = chain.carry_out(|| {
            chain.note(&failed());
            Ok(())
        });
        assert!(outcome.is_ok());
        let next = chain.carry_out(|| Ok(()));
        assert!(matches!(next, Err(WriteError::EarlierBatch)), "{next:?}");
    }
}

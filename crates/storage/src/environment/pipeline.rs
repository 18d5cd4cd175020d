//! The commit pipeline: sealed transactions become journal records, durable, then visible.
//!
//! Whoever needs durability calls `write_sealed`; one caller at a time writes everything that
//! waits with one write, the others find their transaction done. While it writes, the next
//! transaction executes.
//!
//! Invariants:
//! - All of a group is noted for the flusher before any of its callers is told.
//! - Transactions become visible in order, each after its record (and all before) is durable.
//! - After a failed write nothing is written any more, and nothing more becomes visible.

use std::collections::VecDeque;

use super::meters::MeterKind;
use super::operation::{Completion, Outcome};
use super::shared::{Shared, UnflushedTransaction, lock};
use super::states::CommittedState;
use crate::error::StorageError;
use crate::journal::{JournalPosition, NewRecord, RecordFields};
use crate::page::PageNumber;
use crate::transaction::SealedTransaction;

/// Most transactions in one journal write.
const GROUP_TRANSACTIONS_MAX: usize = 64;

/// Callers to be told, in the order of their transactions.
#[derive(Default)]
pub(super) struct Answers {
    waiting: VecDeque<(Completion, Outcome)>,
    /// Whether a thread is in a caller's callback.
    is_telling: bool,
}

impl Shared {
    /// Writes every sealed transaction that waits, in order. When it returns, each transaction
    /// that was sealed before the call is visible, or the environment is poisoned. Callers are
    /// told with no lock held and with nothing left to do, so they may do anything but wait; by
    /// this thread, or by another one that is telling already.
    pub(crate) fn write_sealed(&self) {
        self.write_all_groups();
        self.tell_callers();
    }

    /// [`Shared::write_sealed`] that leaves the callers to be told.
    pub(super) fn write_all_groups(&self) {
        loop {
            let _stage = lock(&self.stage);
            if !self.write_next_group() {
                return;
            }
        }
    }

    /// Tells callers in the order of their transactions: one thread at a time, which takes along
    /// what others add meanwhile.
    pub(super) fn tell_callers(&self) {
        self.tell_callers_while(|_| true);
    }

    /// [`Shared::tell_callers`] up to the first callback, which is left to another thread: `false`
    /// when there is one.
    pub(super) fn tell_callers_without_callbacks(&self) -> bool {
        self.tell_callers_while(|completion| !completion.is_callback())
    }

    /// Whether no transaction waits to be written or is being written.
    pub(super) fn is_pipeline_empty(&self) -> bool {
        self.stage.try_lock().is_ok() && lock(&self.sealed).waiting.is_empty()
    }

    fn tell_callers_while(&self, may_tell: impl Fn(&Completion) -> bool) -> bool {
        let mut told = lock(&self.answers);
        if told.is_telling {
            return true;
        }
        while let Some((completion, outcome)) = told.waiting.pop_front() {
            if !may_tell(&completion) {
                told.waiting.push_front((completion, outcome));
                return false;
            }
            told.is_telling = true;
            drop(told);
            if matches!(outcome, Outcome::Committed) {
                let taken = self
                    .vfs
                    .monotonic_nanos()
                    .saturating_sub(completion.queued_at());
                self.meters.durable_nanos.record(taken);
            }
            completion.tell(outcome);
            told = lock(&self.answers);
            told.is_telling = false;
        }
        true
    }

    /// `false` when nothing waits.
    fn write_next_group(&self) -> bool {
        let group: Vec<SealedTransaction> = {
            let mut queue = lock(&self.sealed);
            let count = queue.waiting.len().min(GROUP_TRANSACTIONS_MAX);
            queue.waiting.drain(..count).collect()
        };
        if group.is_empty() {
            return false;
        }
        let outcome = match self.refusal() {
            // No byte of transactions that were sealed behind a failed one was written.
            Some(refusal) => Outcome::NotCommitted(refusal),
            None => match self.write_group(&group) {
                Ok(positions) => {
                    self.finish(&group, &positions);
                    Outcome::Committed
                }
                Err(error) => {
                    self.set_poison(error.clone());
                    Outcome::Unknown(error)
                }
            },
        };
        let completions = group.into_iter().flat_map(|sealed| sealed.completions);
        let answers: Vec<_> = completions
            .map(|completion| (completion, outcome.clone()))
            .collect();
        // Before anybody is told, who might come back at once.
        self.expect_callers(answers.len());
        lock(&self.answers).waiting.extend(answers);
        true
    }

    fn write_group(
        &self,
        group: &[SealedTransaction],
    ) -> Result<Vec<JournalPosition>, StorageError> {
        self.write_in_place(group)?;
        let unix_nanos = self.vfs.unix_nanos();
        let mut encoders: Vec<_> = group.iter().map(|sealed| sealed.encoder(self)).collect();
        let mut records: Vec<NewRecord<'_>> = group
            .iter()
            .zip(&mut encoders)
            .map(|(sealed, source)| NewRecord {
                fields: RecordFields {
                    transaction: sealed.transaction,
                    page_count: sealed.page_count,
                    catalog_root: &sealed.catalog_root,
                    unix_nanos,
                    operation_count: sealed.operation_count,
                    has_values_in_place: sealed.in_place().next().is_some(),
                },
                bytes_max: sealed.reserved_journal_bytes,
                source,
            })
            .collect();
        let started = self.vfs.monotonic_nanos();
        let appended = self.journal.append(&mut records)?;
        let nanos = self.vfs.monotonic_nanos().saturating_sub(started);
        let (payload_bytes, written_bytes) = (appended.payload_bytes, appended.written_bytes);
        self.counters.difference_bytes.add(payload_bytes);
        self.counters.journal_writes.add(1);
        self.counters.journal_bytes.add(written_bytes);
        let encoding_nanos = appended.encoding_nanos;
        let write_nanos = nanos.saturating_sub(encoding_nanos);
        self.note_write_nanos(write_nanos);
        self.measured_nanos(MeterKind::JournalWrite, write_nanos, written_bytes);
        self.measured_nanos(MeterKind::Compression, encoding_nanos, payload_bytes);
        Ok(appended.positions)
    }

    fn finish(&self, group: &[SealedTransaction], positions: &[JournalPosition]) {
        for (sealed, &position) in group.iter().zip(positions) {
            let pages: Vec<PageNumber> = sealed.published.iter().map(|(page, _)| *page).collect();
            let mut queue = lock(&self.sealed);
            queue.superseding.extend_from_slice(&pages);
            queue.unflushed.push_back(UnflushedTransaction {
                transaction: sealed.transaction,
                pages,
                state: CommittedState {
                    catalog_root: sealed.catalog_root,
                    page_count: sealed.page_count,
                },
                position,
            });
            drop(queue);
            self.forget_in_place(sealed);
            self.set_visible(sealed.transaction);
            self.journal.release(sealed.reserved_journal_bytes);
            self.counters.transactions.add(1);
            self.counters.operations.add(sealed.operation_count.into());
            self.meters
                .batch_operations
                .record(sealed.operation_count.into());
        }
    }
}

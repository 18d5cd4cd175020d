//! The commit pipeline: sealed transactions become journal records, durable, then visible.
//!
//! Whoever needs durability calls `write_sealed`; one caller at a time writes everything that
//! waits with one write, the others find their transaction done. While it writes, the next
//! transaction executes.
//!
//! Invariants:
//! - Transactions become visible in order, each after its record (and all before) is durable.
//! - After a failed write nothing is written any more, and nothing more becomes visible.

use super::merger::Outcome;
use super::shared::{Shared, UnflushedTransaction, lock};
use super::states::CommittedState;
use crate::error::StorageError;
use crate::journal::{JournalPosition, TransactionRecord};
use crate::transaction::SealedTransaction;

/// Most transactions in one journal write.
const GROUP_TRANSACTIONS_MAX: usize = 64;

impl Shared {
    /// Writes every sealed transaction that waits, in order. When it returns, each transaction
    /// that was sealed before the call is visible, or the environment is poisoned.
    pub(crate) fn write_sealed(&self) {
        let mut buffers = lock(&self.stage);
        loop {
            let group: Vec<SealedTransaction> = {
                let mut queue = lock(&self.sealed);
                let count = queue.waiting.len().min(GROUP_TRANSACTIONS_MAX);
                queue.waiting.drain(..count).collect()
            };
            if group.is_empty() {
                return;
            }
            if self.poison().is_some() {
                self.refuse(group);
                continue;
            }
            match self.write_group(&group, &mut buffers) {
                Ok(positions) => self.finish(group, &positions),
                Err(error) => {
                    self.set_poison(error.clone());
                    self.fail(group, &error);
                }
            }
        }
    }

    fn write_group(
        &self,
        group: &[SealedTransaction],
        buffers: &mut Vec<Vec<u8>>,
    ) -> Result<Vec<JournalPosition>, StorageError> {
        if buffers.len() < group.len() {
            buffers.resize_with(group.len(), Vec::new);
        }
        for (sealed, buffer) in group.iter().zip(buffers.iter_mut()) {
            buffer.clear();
            sealed.encode(self, buffer)?;
            self.counters.difference_bytes.add(buffer.len() as u64);
        }
        let unix_nanos = self.vfs.unix_nanos();
        let records: Vec<TransactionRecord<'_>> = group
            .iter()
            .zip(buffers.iter())
            .map(|(sealed, payload)| TransactionRecord {
                transaction: sealed.transaction,
                page_count: sealed.page_count,
                catalog_root: &sealed.catalog_root,
                unix_nanos,
                operation_count: sealed.operation_count,
                payload,
            })
            .collect();
        let (positions, written_bytes) = self.journal.append(&records)?;
        self.counters.journal_writes.add(1);
        self.counters.journal_bytes.add(written_bytes);
        Ok(positions)
    }

    fn finish(&self, group: Vec<SealedTransaction>, positions: &[JournalPosition]) {
        for (sealed, &position) in group.into_iter().zip(positions) {
            let transaction = sealed.transaction;
            lock(&self.sealed)
                .unflushed
                .push_back(UnflushedTransaction {
                    transaction,
                    pages: sealed.published.iter().map(|(page, _)| *page).collect(),
                    state: CommittedState {
                        catalog_root: sealed.catalog_root,
                        page_count: sealed.page_count,
                    },
                    position,
                });
            self.set_visible(transaction);
            self.journal.release(sealed.reserved_journal_bytes);
            self.counters.transactions.add(1);
            self.counters.operations.add(sealed.operation_count.into());
            drop(sealed.pin);
            for completion in sealed.completions {
                completion(Outcome::Committed);
            }
        }
    }

    fn fail(&self, group: Vec<SealedTransaction>, error: &StorageError) {
        for sealed in group {
            for completion in sealed.completions {
                completion(Outcome::Unknown(error.clone()));
            }
        }
    }

    /// Transactions that were sealed behind a failed one: no byte of them was written.
    fn refuse(&self, group: Vec<SealedTransaction>) {
        for sealed in group {
            for completion in sealed.completions {
                completion(Outcome::NotCommitted(StorageError::Poisoned));
            }
        }
    }
}

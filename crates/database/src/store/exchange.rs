//! Compare-exchange and cluster-wide transactions on one node.
//!
//! A cluster-wide transaction is an ordinary one with an index of its own. Each document it changes
//! gets a guard, a value under `rvn-atomic/<id>` with that index; a transaction whose caller knows
//! another index of a guard is refused. Bytes: docs/format.md, "Compare-exchange value".
//!
//! A value whose `@metadata` has `@expires` is removed at that time.
//!
//! Invariants:
//! - Indexes only grow, and none is used twice.
//! - A document that is gone has no guard. Earlier versions left guards behind, which count for
//!   nothing.
//! - The tree `due` has the date of each value that expires, once the setting `exchange_dates` is
//!   there: values that earlier versions stored are entered then.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, Document, DocumentBuf, Value};
use jackdaw_storage::{PageRead, Tree, WriteTransaction};

use super::apply::{Applied, Writer, apply_items};
use super::due::{exchange_due_key, expired_exchange};
use super::trees::{DUE, EXCHANGE, IDS, SETTINGS};
use crate::command::CommandResult;
use crate::database::Core;
use crate::due::DueKind;
use crate::error::{ReadError, Violation, WriteError};
use crate::exchange::{ExchangeChange, ExchangeOutcome, GuardedDocument};
use crate::flags::Flags;
use crate::prepared::Prepared;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 16;
/// Longest key in bytes; what a guard adds to a document id fits beyond it.
const KEY_BYTES_MAX: usize = 1_024;
/// What the keys of guards begin with.
const GUARD_PREFIX: &str = "rvn-atomic/";
/// Name of the last index in the tree of settings.
const LAST_INDEX: &[u8] = b"last_exchange_index";
/// Name of the setting that is there once the dates of all values are entered.
const HAS_DATES: &[u8] = b"exchange_dates";

/// How a transaction is cluster-wide.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterWide {
    /// Documents to be guarded; empty when their caller does not want guards.
    pub(crate) guarded: Vec<GuardedDocument>,
}

/// A stored value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeRecord<'a> {
    pub(crate) index: u64,
    pub(crate) key: &'a str,
    pub(crate) value: Document<'a>,
}

impl<'a> ExchangeRecord<'a> {
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<ExchangeRecord<'a>, ReadError> {
        let decoded = || {
            let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
            (head[0] == VERSION).then_some(())?;
            let key_len = usize::from(u16::from_le_bytes([head[2], head[3]]));
            let (key, value) = rest.split_at_checked(key_len)?;
            Some(ExchangeRecord {
                index: u64::from_le_bytes(*head[8..].first_chunk()?),
                key: std::str::from_utf8(key).ok()?,
                value: Document::trusted(value),
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("a value of compare-exchange"))
    }

    fn encode(&self) -> Vec<u8> {
        let key_len = u16::try_from(self.key.len()).expect("keys are shorter than 64 KiB");
        let mut bytes =
            Vec::with_capacity(HEAD_BYTES + self.key.len() + self.value.as_bytes().len());
        bytes.extend_from_slice(&[VERSION, 0]);
        bytes.extend_from_slice(&key_len.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.index.to_le_bytes());
        bytes.extend_from_slice(self.key.as_bytes());
        bytes.extend_from_slice(self.value.as_bytes());
        bytes
    }
}

/// The last index given; 0 when none was.
pub(crate) fn last_exchange_index<P: PageRead + ?Sized>(
    settings: &Tree<'_, P>,
) -> Result<u64, ReadError> {
    let damaged = |_| ReadError::damaged("the index of compare-exchange");
    match settings.get(LAST_INDEX)? {
        None => Ok(0),
        Some(bytes) => Ok(u64::from_le_bytes(bytes.try_into().map_err(damaged)?)),
    }
}

/// Takes the next index.
fn next_index(transaction: &mut WriteTransaction) -> Result<u64, WriteError> {
    let mut settings = transaction.tree_mut(SETTINGS)?;
    let last = last_exchange_index(&settings.as_tree())?;
    settings.put(LAST_INDEX, &(last + 1).to_le_bytes())?;
    Ok(last + 1)
}

/// The key of the guard of a document.
pub(crate) fn guard_key(id: &str) -> String {
    format!("{GUARD_PREFIX}{id}")
}

fn check_key(key: &str) -> Result<(), WriteError> {
    if !key.is_empty() && key.len().max(lowercase(key).len()) <= KEY_BYTES_MAX {
        return Ok(());
    }
    Err(WriteError::InvalidName {
        what: "compare-exchange",
        name: key.to_owned(),
        max_bytes: KEY_BYTES_MAX,
    })
}

fn current(
    transaction: &mut WriteTransaction,
    key: &str,
) -> Result<Option<(u64, DocumentBuf)>, WriteError> {
    let exchange = transaction.tree_mut(EXCHANGE)?;
    let Some(bytes) = exchange.get(lowercase(key).as_bytes())? else {
        return Ok(None);
    };
    let record = ExchangeRecord::decode(bytes)?;
    Ok(Some((record.index, record.value.to_buf())))
}

/// When a value expires. `Err` has what stands there when it is no date.
fn expiry(value: Value<'_>) -> Result<Option<UnixTicks>, String> {
    let expires = value
        .get("@metadata")
        .and_then(|metadata| metadata.get(DueKind::Expiration.field()));
    match expires {
        None | Some(Value::Null) => Ok(None),
        Some(other) => {
            let at = other.as_str().and_then(UnixTicks::parse);
            at.map(Some).ok_or_else(|| other.to_json())
        }
    }
}

/// Removes the date of the value that stands under a key in lower case.
fn leave_date(transaction: &mut WriteTransaction, folded: &str) -> Result<(), WriteError> {
    let exchange = transaction.tree_mut(EXCHANGE)?;
    let Some(bytes) = exchange.get(folded.as_bytes())? else {
        return Ok(());
    };
    let record = ExchangeRecord::decode(bytes)?;
    if let Ok(Some(at)) = expiry(record.value.root()) {
        let key = exchange_due_key(at, folded);
        transaction.tree_mut(DUE)?.delete(&key)?;
    }
    Ok(())
}

fn store(
    transaction: &mut WriteTransaction,
    key: &str,
    index: u64,
    value: Document<'_>,
) -> Result<(), WriteError> {
    let folded = lowercase(key);
    let expiry = expiry(value.root()).map_err(|found| WriteError::InvalidExpiry {
        key: key.to_owned(),
        value: found.chars().take(100).collect(),
    })?;
    leave_date(transaction, &folded)?;
    if let Some(at) = expiry {
        let key = exchange_due_key(at, &folded);
        transaction.tree_mut(DUE)?.put(&key, &[])?;
    }
    let bytes = ExchangeRecord { index, key, value }.encode();
    let mut exchange = transaction.tree_mut(EXCHANGE)?;
    exchange.put(folded.as_bytes(), &bytes)?;
    Ok(())
}

/// Removes the value under a key in lower case.
fn erase(transaction: &mut WriteTransaction, folded: &str) -> Result<(), WriteError> {
    leave_date(transaction, folded)?;
    transaction.tree_mut(EXCHANGE)?.delete(folded.as_bytes())?;
    Ok(())
}

/// Whether the dates of all values are in the tree `due`.
pub(crate) fn has_exchange_dates<P: PageRead + ?Sized>(
    settings: &Tree<'_, P>,
) -> Result<bool, ReadError> {
    Ok(settings.get(HAS_DATES)?.is_some())
}

/// Enters the dates of values that earlier versions stored. What is no date is left alone.
pub(crate) fn enter_exchange_dates(transaction: &mut WriteTransaction) -> Result<(), WriteError> {
    let mut keys = Vec::new();
    if let Some(tree) = transaction.tree(EXCHANGE)? {
        let mut folded = Vec::new();
        for entry in tree.prefix(&[])? {
            let (key, value) = entry?;
            let record = ExchangeRecord::decode(value)?;
            if let Ok(Some(at)) = expiry(record.value.root()) {
                key.copy_to(&mut folded);
                let folded = std::str::from_utf8(&folded);
                let folded = folded.map_err(|_| ReadError::damaged("a key of compare-exchange"))?;
                keys.push(exchange_due_key(at, folded));
            }
        }
    }
    for key in &keys {
        transaction.tree_mut(DUE)?.put(key, &[])?;
    }
    transaction.tree_mut(SETTINGS)?.put(HAS_DATES, &[])?;
    Ok(())
}

/// Removes values that expired until `now`, at most `count_max`; gives how many, and the index of
/// the removal.
pub(crate) fn expire_exchange(
    transaction: &mut WriteTransaction,
    now: UnixTicks,
    count_max: usize,
) -> Result<(usize, u64), WriteError> {
    let expired = expired_exchange(transaction, now, count_max)?;
    if expired.is_empty() {
        return Ok((0, 0));
    }
    for folded in &expired {
        erase(transaction, folded)?;
    }
    Ok((expired.len(), next_index(transaction)?))
}

/// Carries out one change by itself. One whose caller knows another index is not made, and is no
/// failure.
pub(crate) fn change_exchange(
    transaction: &mut WriteTransaction,
    key: &str,
    index: u64,
    change: &ExchangeChange,
) -> Result<ExchangeOutcome, WriteError> {
    check_key(key)?;
    let known = current(transaction, key)?;
    let known_index = known.as_ref().map_or(0, |(index, _)| *index);
    let is_nothing = known.is_none() && matches!(change, ExchangeChange::Delete);
    if known_index != index || is_nothing {
        return Ok(ExchangeOutcome {
            index: known_index,
            value: known.map(|(_, value)| value),
            successful: false,
        });
    }
    let index = next_index(transaction)?;
    let value = match change {
        ExchangeChange::Put(value) => {
            store(transaction, key, index, value.document())?;
            Some(value.clone())
        }
        ExchangeChange::Delete => {
            erase(transaction, &lowercase(key))?;
            known.map(|(_, value)| value)
        }
    };
    Ok(ExchangeOutcome {
        index,
        value,
        successful: true,
    })
}

/// Whether there is a document.
fn exists(transaction: &mut WriteTransaction, id: &str) -> Result<bool, WriteError> {
    let ids = transaction.tree_mut(IDS)?;
    Ok(ids.get(lowercase(id).as_bytes())?.is_some())
}

/// Carries out a batch as a cluster-wide transaction; gives its index.
pub(crate) fn apply_cluster_wide(
    transaction: &mut WriteTransaction,
    core: &Core,
    batch: &Prepared,
    mode: &ClusterWide,
) -> Result<(u64, Applied), WriteError> {
    let index = next_index(transaction)?;
    let mut violations = Vec::new();
    for document in &mode.guarded {
        let key = guard_key(&document.id);
        let actual = current(transaction, &key)?.map(|(index, _)| index);
        let actual = match actual {
            Some(_) if !exists(transaction, &document.id)? => None,
            actual => actual,
        };
        if actual.unwrap_or(0) != document.index.unwrap_or(0) {
            violations.push(Violation {
                id: document.id.clone(),
                is_document: true,
                delete: document.delete,
                expected: document.index.unwrap_or(0),
                actual,
            });
        }
    }
    if !violations.is_empty() {
        return Err(WriteError::ClusterConflict(violations));
    }
    let mut writer = Writer::begin(transaction, core)?.with_results();
    writer.origin_flags = Flags::FROM_CLUSTER_TRANSACTION;
    writer.exchange_index = Some(index);
    apply_items(&mut writer, core, batch)?;
    for document in &mode.guarded {
        writer.guard(document, index)?;
    }
    let mut applied = writer.finish()?;
    for result in &mut applied.results {
        if let CommandResult::Put {
            change_vector,
            flags,
            ..
        } = result
        {
            *change_vector = core.origin.with_transaction(change_vector, index);
            // Who sent the transaction knows.
            *flags = flags.without(Flags::FROM_CLUSTER_TRANSACTION);
        }
    }
    Ok((index, applied))
}

impl Writer<'_> {
    /// The value under a key, in any letter case.
    pub(super) fn exchange_value(&mut self, key: &str) -> Result<Option<DocumentBuf>, WriteError> {
        Ok(current(self.transaction, key)?.map(|(_, value)| value))
    }

    /// Carries out a compare-exchange command; a value of `None` removes.
    pub(super) fn exchange(
        &mut self,
        key: &str,
        index: u64,
        value: Option<Document<'_>>,
    ) -> Result<(), WriteError> {
        check_key(key)?;
        let actual = current(self.transaction, key)?.map(|(index, _)| index);
        let is_missing = actual.is_none() && value.is_none() && index != 0;
        if actual.unwrap_or(0) != index || is_missing {
            return Err(WriteError::ClusterConflict(vec![Violation {
                id: key.to_owned(),
                is_document: false,
                delete: value.is_none(),
                expected: index,
                actual,
            }]));
        }
        let own = match self.exchange_index {
            Some(own) => own,
            None => next_index(self.transaction)?,
        };
        self.exchange_index = Some(own);
        match value {
            Some(value) => store(self.transaction, key, own, value)?,
            None => erase(self.transaction, &lowercase(key))?,
        }
        self.push_result(CommandResult::CompareExchange {
            key: key.to_owned(),
            index: own,
            deleted: value.is_none(),
        });
        Ok(())
    }

    /// Removes the guard of a document that is removed, by its id in lower case.
    pub(super) fn leave_guard(&mut self, folded: &str) -> Result<(), WriteError> {
        if self.transaction.tree(EXCHANGE)?.is_some() {
            let key = guard_key(folded);
            self.transaction
                .tree_mut(EXCHANGE)?
                .delete(key.as_bytes())?;
        }
        Ok(())
    }

    fn guard(&mut self, document: &GuardedDocument, index: u64) -> Result<(), WriteError> {
        let key = guard_key(&document.id);
        if document.delete {
            let mut exchange = self.transaction.tree_mut(EXCHANGE)?;
            exchange.delete(lowercase(&key).as_bytes())?;
            return Ok(());
        }
        let mut builder = Builder::new();
        builder.begin_object().key("Object").begin_object();
        builder.key("Id").string(&document.id);
        builder.end_object().end_object();
        let value = builder.finish().expect("the calls are balanced");
        store(self.transaction, &key, index, value.document())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back_and_damage_is_an_error() {
        let value = Builder::new().begin_object().end_object().finish().unwrap();
        let record = ExchangeRecord {
            index: 9,
            key: "Users/1",
            value: value.document(),
        };
        let bytes = record.encode();
        assert_eq!(bytes[2..4], 7u16.to_le_bytes());
        assert_eq!(bytes[8..16], 9u64.to_le_bytes());
        let read = ExchangeRecord::decode(&bytes).unwrap();
        assert_eq!((read.index, read.key), (9, "Users/1"));
        assert_eq!(read.value.as_bytes(), value.as_bytes());
        assert!(ExchangeRecord::decode(&bytes[..18]).is_err());
        assert!(ExchangeRecord::decode(&[3; 20]).is_err());
    }
}

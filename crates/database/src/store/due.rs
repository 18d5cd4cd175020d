//! Dates in metadata at which something happens to a document: `@expires` deletes it, `@refresh`
//! stores it again without the date, `@archive-at` marks it as archived.
//!
//! Each date of a stored document has an entry in one tree, in the order of time, kept by every
//! change of the document in the same transaction. [`carry_out`] does what is due.
//!
//! Values of compare-exchange that expire have their dates in the same tree, by key; `exchange`
//! keeps them.
//!
//! Invariant: the tree has exactly the dates of the stored documents whose records say that they
//! have some, and those of values of compare-exchange.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::{Builder, Document, Value};
use jackdaw_model::DocumentNumber;
use jackdaw_storage::{ReadTransaction, WriteTransaction};

use super::apply::{Applied, Existing, Put, Writer};
use super::trees::DUE;
use crate::database::Core;
use crate::due::DueKind;
use crate::error::{ReadError, WriteError};
use crate::flags::Flags;
use crate::record::RecordHead;

/// Changed bytes after which a transaction of due documents ends: what clients write goes into the
/// same one, and the engine refuses very large ones.
const CHANGED_BYTES_MAX: usize = 16 << 20;

/// Says in metadata that a document is archived.
const ARCHIVED: &str = "@archived";
/// Bytes of a key: kind, time, document number.
const KEY_BYTES: usize = 17;
/// Bytes of a key up to the end of its time.
const DATE_BYTES: usize = 9;

/// Key of a date of a document.
fn due_key(kind: DueKind, at: UnixTicks, number: DocumentNumber) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[0] = kind.byte();
    // Times before 1970 come first.
    let at = at.0.cast_unsigned() ^ (1 << 63);
    key[1..9].copy_from_slice(&at.to_be_bytes());
    key[9..].copy_from_slice(&number.0.to_be_bytes());
    key
}

/// First byte of the dates of values of compare-exchange.
const EXCHANGE: u8 = 4;

/// Key of the date at which a value of compare-exchange expires.
pub(super) fn exchange_due_key(at: UnixTicks, folded: &str) -> Vec<u8> {
    let mut key = due_key(DueKind::Expiration, at, DocumentNumber(0))[..DATE_BYTES].to_vec();
    key[0] = EXCHANGE;
    key.extend_from_slice(folded.as_bytes());
    key
}

/// The first date at which a value of compare-exchange expires.
pub(crate) fn first_exchange(
    transaction: &ReadTransaction,
) -> Result<Option<UnixTicks>, ReadError> {
    first_of(transaction, EXCHANGE)
}

/// Keys of values of compare-exchange that expired until `now`, in lower case, at most `count_max`.
pub(super) fn expired_exchange(
    transaction: &mut WriteTransaction,
    now: UnixTicks,
    count_max: usize,
) -> Result<Vec<String>, WriteError> {
    let damaged = || ReadError::damaged("a date of a value of compare-exchange");
    let mut found = Vec::new();
    let Some(tree) = transaction.tree(DUE)? else {
        return Ok(found);
    };
    // The time comes first in what follows, and is compared as a number is.
    let behind = exchange_due_key(UnixTicks(now.0.saturating_add(1)), "");
    let mut key_bytes = Vec::new();
    for entry in tree.prefix(&[EXCHANGE])?.take(count_max) {
        entry?.0.copy_to(&mut key_bytes);
        if key_bytes >= behind {
            break;
        }
        let folded = key_bytes.get(DATE_BYTES..).ok_or_else(damaged)?;
        let folded = std::str::from_utf8(folded).map_err(|_| damaged())?;
        found.push(folded.to_owned());
    }
    Ok(found)
}

/// The dates in stored metadata. A value that is no text is none.
fn dates(id: &str, metadata: &[u8]) -> Result<Vec<(DueKind, UnixTicks)>, WriteError> {
    let mut found = Vec::new();
    if metadata.is_empty() {
        return Ok(found);
    }
    let Value::Object(metadata) = Document::trusted(metadata).root() else {
        return Ok(found);
    };
    for kind in DueKind::ALL {
        let Some(Value::String(text)) = metadata.get(kind.field()) else {
            continue;
        };
        let at = UnixTicks::parse(text).ok_or_else(|| WriteError::InvalidDate {
            id: id.to_owned(),
            field: kind.field(),
            text: text.chars().take(100).collect(),
        })?;
        found.push((kind, at));
    }
    Ok(found)
}

impl Writer<'_> {
    /// Enters the dates of a document that is about to be stored in the place of the one with head
    /// `old`; whether it has any.
    pub(super) fn enter_dates(
        &mut self,
        id: &str,
        number: DocumentNumber,
        old: Option<RecordHead>,
        metadata: &[u8],
    ) -> Result<bool, WriteError> {
        let fresh = dates(id, metadata)?;
        self.leave_dates(number, old)?;
        for (kind, at) in &fresh {
            let key = due_key(*kind, *at, number);
            self.transaction.tree_mut(DUE)?.put(&key, &[])?;
        }
        Ok(!fresh.is_empty())
    }

    /// Removes the dates of a stored document.
    pub(super) fn leave_dates(
        &mut self,
        number: DocumentNumber,
        old: Option<RecordHead>,
    ) -> Result<(), WriteError> {
        if !old.is_some_and(|old| old.flags.has(Flags::HAS_DATES)) {
            return Ok(());
        }
        let stale = self.with_record(number, |_, record, _| {
            dates(record.id, record.stored_bytes().0)
        })?;
        for (kind, at) in stale.unwrap_or_default() {
            let key = due_key(kind, at, number);
            self.transaction.tree_mut(DUE)?.delete(&key)?;
        }
        Ok(())
    }

    /// Does what a date of a document asks for.
    fn fall_due(&mut self, kind: DueKind, number: DocumentNumber) -> Result<bool, WriteError> {
        let done = self.with_record(number, |writer, record, head| {
            if kind == DueKind::Expiration {
                let existing = Existing {
                    number,
                    head: *head,
                };
                writer.remove(&lowercase(record.id), existing)?;
                writer.applied.deletes += 1;
                return Ok(());
            }
            let (metadata, body) = record.stored_bytes();
            let mut content = without_date(kind, metadata)?;
            let metadata_len = u32::try_from(content.len())
                .map_err(|_| ReadError::damaged_document("the metadata of a document", number))?;
            content.extend_from_slice(body);
            let put = Put {
                id: record.id,
                folded: &lowercase(record.id),
                collection: record.collection,
                metadata_len,
                content: &content,
                expected: None,
                keeps_revision: false,
            };
            writer.store(&put, number, Some(*head))?;
            writer.applied.puts += 1;
            Ok(())
        })?;
        Ok(done.is_some())
    }
}

/// Metadata without the date of `kind`; archiving leaves a mark.
fn without_date(kind: DueKind, metadata: &[u8]) -> Result<Vec<u8>, WriteError> {
    let mut builder = Builder::new();
    builder.begin_object();
    let mut is_empty = true;
    if !metadata.is_empty()
        && let Value::Object(own) = Document::trusted(metadata).root()
    {
        for (name, value) in own.iter() {
            if name != kind.field() && (kind != DueKind::Archival || name != ARCHIVED) {
                builder.key(name).value(value);
                is_empty = false;
            }
        }
    }
    if kind == DueKind::Archival {
        builder.key(ARCHIVED).bool(true);
        is_empty = false;
    }
    if is_empty {
        return Ok(Vec::new());
    }
    let built = builder.end_object().finish();
    let built = built.map_err(|_| ReadError::damaged("the metadata of a document"))?;
    Ok(built.into_bytes())
}

/// The first date of a kind.
pub(crate) fn first(
    transaction: &ReadTransaction,
    kind: DueKind,
) -> Result<Option<UnixTicks>, ReadError> {
    first_of(transaction, kind.byte())
}

fn first_of(transaction: &ReadTransaction, byte: u8) -> Result<Option<UnixTicks>, ReadError> {
    let Some(tree) = transaction.tree(DUE)? else {
        return Ok(None);
    };
    let Some(entry) = tree.prefix(&[byte])?.next() else {
        return Ok(None);
    };
    let mut key_bytes = Vec::new();
    entry?.0.copy_to(&mut key_bytes);
    let at = key_bytes.get(1..9).and_then(<[u8]>::first_chunk);
    let at = at.ok_or_else(|| ReadError::damaged("a date of a document"))?;
    let ticks = u64::from_be_bytes(*at) ^ (1 << 63);
    Ok(Some(UnixTicks(ticks.cast_signed())))
}

/// Does what is due of a kind until `now` for at most `count_max` documents; gives how many.
pub(crate) fn carry_out(
    transaction: &mut WriteTransaction,
    core: &Core,
    kind: DueKind,
    now: UnixTicks,
    count_max: usize,
) -> Result<(usize, Applied), WriteError> {
    let mut due: Vec<([u8; KEY_BYTES], DocumentNumber)> = Vec::new();
    if let Some(tree) = transaction.tree(DUE)? {
        let mut key_bytes = Vec::new();
        let end = due_key(kind, now, DocumentNumber(u64::MAX));
        for entry in tree.prefix(&[kind.byte()])?.take(count_max) {
            entry?.0.copy_to(&mut key_bytes);
            let key = <[u8; KEY_BYTES]>::try_from(&key_bytes[..]);
            let key = key.map_err(|_| ReadError::damaged("a date of a document"))?;
            if key > end {
                break;
            }
            let number = key[9..].first_chunk().expect("8 bytes are left");
            due.push((key, DocumentNumber(u64::from_be_bytes(*number))));
        }
    }
    let mut writer = Writer::begin(transaction, core)?;
    let mut count = 0;
    for (key, number) in &due {
        writer.fall_due(kind, *number)?;
        // It is gone with the document; this is for one that no document has.
        writer.transaction.tree_mut(DUE)?.delete(key)?;
        count += 1;
        if writer.transaction.dirty_bytes() >= CHANGED_BYTES_MAX {
            break;
        }
    }
    Ok((count, writer.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_key_are_the_documented_ones() {
        let key = due_key(DueKind::Archival, UnixTicks(258), DocumentNumber(7));
        assert_eq!(key[0], 3);
        assert_eq!(key[1..9], [0x80, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(key[9..], 7u64.to_be_bytes());
        let earlier = due_key(DueKind::Archival, UnixTicks(-1), DocumentNumber(9));
        assert!(earlier < key);
        let of_exchange = exchange_due_key(UnixTicks(258), "key");
        assert_eq!(of_exchange, b"\x04\x80\0\0\0\0\0\x01\x02key");
    }
}

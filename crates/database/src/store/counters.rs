//! Counters: numbers of documents that change without the documents.
//!
//! Only making or removing a counter touches its document. Keys are document number and name in
//! lower case; bytes: docs/format.md, "Counter".

use jackdaw_base::lowercase::lowercase;

use super::apply::Writer;
use super::trees::{COUNTERS, SETTINGS, number_at, number_key};
use crate::changes::BesideChange;
use crate::command::{CommandResult, CounterAction, CounterOperation, CounterValue};
use crate::error::{ReadError, WriteError};
use jackdaw_model::{DocumentNumber, Etag};
use jackdaw_storage::{PageRead, Tree};

/// Setting that holds the number of documents with counters. Databases of earlier versions have it
/// from the first change of that number on.
pub(crate) const COUNTER_OWNERS: &[u8] = b"counter_owners";

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 24;
/// Longest name of a counter, an attachment or a time series in bytes: with a document number it
/// is half of the longest key, so that further parts fit behind.
const NAME_BYTES_MAX: usize = 512;

/// Checks the name of something beside a document.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), WriteError> {
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && lowercase(name).len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    Err(WriteError::InvalidName {
        what,
        name: name.to_owned(),
        max_bytes: NAME_BYTES_MAX,
    })
}

/// The key of something beside a document.
pub(crate) fn counter_key(number: DocumentNumber, name: &str) -> Vec<u8> {
    let mut key = number_key(number).to_vec();
    key.extend_from_slice(lowercase(name).as_bytes());
    key
}

/// A stored counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CounterRecord<'a> {
    pub(crate) value: i64,
    /// Of its last change.
    pub(crate) etag: Etag,
    /// In the spelling of its first use.
    pub(crate) name: &'a str,
}

impl<'a> CounterRecord<'a> {
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<CounterRecord<'a>, ReadError> {
        let decoded = || {
            let (head, name) = bytes.split_at_checked(HEAD_BYTES)?;
            (head[0] == VERSION).then_some(())?;
            Some(CounterRecord {
                value: i64::from_le_bytes(*head[8..].first_chunk()?),
                etag: Etag(u64::from_le_bytes(*head[16..].first_chunk()?)),
                name: std::str::from_utf8(name).ok()?,
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("a counter"))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.name.len());
        bytes.extend_from_slice(&[VERSION, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&self.value.to_le_bytes());
        bytes.extend_from_slice(&self.etag.0.to_le_bytes());
        bytes.extend_from_slice(self.name.as_bytes());
        bytes
    }
}

/// The documents that have counters, counted one by one.
pub(crate) fn count_owners<P: PageRead + ?Sized>(counters: &Tree<'_, P>) -> Result<u64, ReadError> {
    let (mut count, mut last) = (0, None);
    for entry in counters.iter()? {
        let owner = entry?.0.to_vec().first_chunk::<8>().copied();
        if owner != last {
            count += 1;
            last = owner;
        }
    }
    Ok(count)
}

/// The number of documents with counters, if it is kept.
pub(crate) fn kept_owners<P: PageRead + ?Sized>(
    settings: &Tree<'_, P>,
) -> Result<Option<u64>, ReadError> {
    let Some(bytes) = settings.get(COUNTER_OWNERS)? else {
        return Ok(None);
    };
    let count = number_at(bytes, 0).filter(|_| bytes.len() == 8);
    let damaged = || ReadError::damaged("the number of documents with counters");
    count.map(Some).ok_or_else(damaged)
}

impl Writer<'_> {
    /// Runs `change`, which adds or removes counters of a document, and keeps the number of
    /// documents that have some.
    pub(super) fn counting_owners(
        &mut self,
        number: DocumentNumber,
        change: impl FnOnce(&mut Self) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let had = self.has_counters(number)?;
        let kept = kept_owners(&self.transaction.tree_mut(SETTINGS)?.as_tree())?;
        let before = match (kept, self.transaction.tree(COUNTERS)?) {
            (Some(kept), _) => kept,
            (None, Some(counters)) => count_owners(&counters)?,
            (None, None) => 0,
        };
        change(self)?;
        let after = match (had, self.has_counters(number)?) {
            (false, true) => before + 1,
            (true, false) => before.saturating_sub(1),
            _ => return Ok(()),
        };
        let mut settings = self.transaction.tree_mut(SETTINGS)?;
        settings.put(COUNTER_OWNERS, &after.to_le_bytes())?;
        Ok(())
    }

    fn has_counters(&self, number: DocumentNumber) -> Result<bool, WriteError> {
        let Some(counters) = self.transaction.tree(COUNTERS)? else {
            return Ok(false);
        };
        let first = counters.prefix(&number_key(number))?.next();
        Ok(first.transpose()?.is_some())
    }

    /// Names and values of the counters of a document, in the order of their lower-cased names.
    pub(super) fn counter_values(
        &mut self,
        number: DocumentNumber,
    ) -> Result<Vec<(String, i64)>, WriteError> {
        let Some(counters) = self.transaction.tree(COUNTERS)? else {
            return Ok(Vec::new());
        };
        let mut values = Vec::new();
        for entry in counters.prefix(&number_key(number))? {
            let record = CounterRecord::decode(entry?.1)?;
            values.push((record.name.to_owned(), record.value));
        }
        Ok(values)
    }

    pub(super) fn change_counters(
        &mut self,
        id: &str,
        operations: &[CounterOperation],
    ) -> Result<(), WriteError> {
        let only_reads = operations
            .iter()
            .all(|operation| operation.action == CounterAction::Get);
        let owner = match only_reads {
            true => self.find(&lowercase(id))?,
            false => Some(self.owner(id, "counters")?),
        };
        let etag_before = self.state.last_etag;
        let collection = match owner {
            Some(owner) => self.collection_name(owner.head.collection)?,
            None => String::new(),
        };
        let mut counters = Vec::new();
        for operation in operations {
            match owner {
                Some(owner) => {
                    let etag = self.state.last_etag;
                    counters.extend(self.change_counter(id, owner.number, operation)?);
                    if self.state.last_etag != etag {
                        self.note_counter(id, &collection, owner.number, operation)?;
                    }
                }
                None => counters.push(None),
            }
        }
        let change_vector = match self.state.last_etag == etag_before {
            true => String::new(),
            false => self.origin.change_vector(self.state.last_etag),
        };
        let slot = self.push_result(CommandResult::Counters {
            id: id.to_owned(),
            counters,
            change_vector,
            document_change_vector: None,
        });
        if let (Some(slot), Some(owner)) = (slot, owner) {
            self.incomplete.push((slot, owner.number));
        }
        Ok(())
    }

    /// Keeps for those who watch what a step did to a counter.
    fn note_counter(
        &mut self,
        id: &str,
        collection: &str,
        number: DocumentNumber,
        operation: &CounterOperation,
    ) -> Result<(), WriteError> {
        let counters = self.transaction.tree_mut(COUNTERS)?;
        let stored = counters.get(&counter_key(number, &operation.name))?;
        let stored = stored.map(CounterRecord::decode).transpose()?;
        // A counter that is new was touched for; a step that only adds does not touch.
        let (kind, value) = match (&stored, operation.action) {
            (None, _) => ("Delete", 0),
            (Some(stored), CounterAction::Increment(delta)) if stored.value != delta => {
                ("Increment", stored.value)
            }
            (Some(stored), _) => ("Put", stored.value),
        };
        self.applied.beside.push(BesideChange::Counter {
            document: id.to_owned(),
            collection: collection.to_owned(),
            name: operation.name.clone(),
            kind,
            value,
            etag: self.state.last_etag,
        });
        Ok(())
    }

    /// Carries out one step; gives what the step answers, which puts and deletes do not.
    fn change_counter(
        &mut self,
        id: &str,
        number: DocumentNumber,
        operation: &CounterOperation,
    ) -> Result<Option<Option<CounterValue>>, WriteError> {
        let CounterOperation { name, action } = operation;
        let checked = check_name("counter", name);
        if checked.is_err() && *action == CounterAction::Get {
            // No counter has such a name.
            return Ok(Some(None));
        }
        checked?;
        let key = counter_key(number, name);
        let counters = self.transaction.tree_mut(COUNTERS)?;
        let stored = counters.get(&key)?.map(CounterRecord::decode).transpose()?;
        let stored = stored.map(|stored| (stored.value, stored.name.to_owned()));
        let known = stored.as_ref().map(|(value, _)| *value);
        let value = match *action {
            CounterAction::Get => {
                return Ok(Some(known.map(|value| CounterValue {
                    name: name.clone(),
                    value,
                })));
            }
            CounterAction::Delete => {
                if stored.is_some() {
                    self.counting_owners(number, |writer| {
                        writer.transaction.tree_mut(COUNTERS)?.delete(&key)?;
                        Ok(())
                    })?;
                    self.state.last_etag.0 += 1;
                    self.touch(number);
                }
                return Ok(None);
            }
            CounterAction::Put(value) => value,
            CounterAction::Increment(delta) => {
                let value = known.unwrap_or(0);
                let overflow = || WriteError::CounterOverflow {
                    id: id.to_owned(),
                    name: name.clone(),
                    value,
                    delta,
                };
                value.checked_add(delta).ok_or_else(overflow)?
            }
        };
        self.state.last_etag.0 += 1;
        let record = CounterRecord {
            value,
            etag: self.state.last_etag,
            name: stored.as_ref().map_or(name.as_str(), |(_, name)| name),
        };
        let bytes = record.encode();
        let put = |writer: &mut Writer<'_>| {
            writer.transaction.tree_mut(COUNTERS)?.put(&key, &bytes)?;
            Ok(())
        };
        match stored {
            Some(_) => put(self)?,
            None => {
                self.counting_owners(number, put)?;
                self.touch(number);
            }
        }
        let answers = matches!(action, CounterAction::Increment(_));
        let name = name.clone();
        Ok(answers.then_some(Some(CounterValue { name, value })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_read_back_and_damage_is_an_error() {
        let record = CounterRecord {
            value: -3,
            etag: Etag(7),
            name: "Likes",
        };
        let bytes = record.encode();
        assert_eq!(CounterRecord::decode(&bytes).unwrap(), record);
        assert_eq!(bytes[8..16], (-3i64).to_le_bytes());
        assert_eq!(bytes[16..24], 7u64.to_le_bytes());
        assert!(CounterRecord::decode(&bytes[..20]).is_err());
        assert!(CounterRecord::decode(&[9; 30]).is_err());
    }

    #[test]
    fn names_have_a_limit() {
        assert!(check_name("counter", "").is_err());
        assert!(check_name("counter", &"x".repeat(512)).is_ok());
        assert!(check_name("counter", &"x".repeat(513)).is_err());
    }
}

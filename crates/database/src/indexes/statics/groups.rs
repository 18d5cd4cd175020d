//! Groups of an index with a reduce: what maps gave lies under its group, and only the groups that
//! a batch touches are reduced again.
//!
//! A small group is reduced from all that lies in it. A large one is cut into runs of places, each
//! with results of its own that are kept: then only the runs touched are reduced, and their results
//! together once more, as a reduce has to allow.
//!
//! Invariants:
//! - Kept results of a run are those of the places in it; a group without runs has none.
//! - A group without places is gone.
//! - Points in time are one key in all spellings; a reduce sees the least spelling, so the order of
//!   changes does not show in the results.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use jackdaw_base::{time, varint};
use jackdaw_document::{Document, DocumentBuf, Limits, Value, write_array, write_object};
use jackdaw_model::DocumentNumber;
use jackdaw_query::with_canonical_times;
use jackdaw_script::index::{IndexHost, IndexMachine, ReduceProgram, RunError};
use jackdaw_storage::WriteTransaction;

use super::references::hash_of;
use super::trees::{
    GROUP_NUMBERS, GROUPS, MAPPED, Meta, OUTPUTS, REDUCED, decode_numbers, decode_owned,
    encode_numbers, encode_owned, key, keys, last_number, numbers_of_document, pair_key,
    replace_numbers_of_document,
};
use crate::error::ReadError;
use crate::indexes::step::StepError;

/// Places in a run, and most of a group that is not cut.
const RUN: u64 = 512;
const VERSION: u8 = 1;
const HASH_BYTES: usize = 16;
const HEAD_BYTES: usize = 8 + 8 + 8 + HASH_BYTES;

/// What runs the reduce.
pub(super) struct Reducing<'r> {
    pub(super) program: &'r ReduceProgram,
    pub(super) machine: &'r mut IndexMachine,
    pub(super) host: &'r mut dyn IndexHost,
}

/// The stored form of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupRecord {
    /// Places in use.
    count: u64,
    next_place: u64,
    is_cut: bool,
    /// Hash of its key.
    pub(super) hash: [u8; HASH_BYTES],
    /// Entries of its results.
    pub(super) entries: Vec<u64>,
}

impl GroupRecord {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, u8::from(self.is_cut), 0, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes.extend_from_slice(&self.next_place.to_le_bytes());
        bytes.extend_from_slice(&self.hash);
        bytes.extend_from_slice(&encode_numbers(self.entries.iter().copied()));
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<GroupRecord, ReadError> {
        let decoded = || {
            let (head, entries) = bytes.split_at_checked(HEAD_BYTES)?;
            (head[0] == VERSION).then_some(())?;
            Some(GroupRecord {
                is_cut: head[1] != 0,
                count: u64::from_le_bytes(*head[8..].first_chunk()?),
                next_place: u64::from_le_bytes(*head[16..].first_chunk()?),
                hash: *head[24..].first_chunk()?,
                entries: decode_numbers(entries).ok()?,
            })
        };
        decoded().ok_or_else(|| ReadError::damaged("a group of a static index"))
    }
}

/// Groups that a batch touches.
pub(super) struct Groups {
    records: BTreeMap<u64, GroupRecord>,
    /// Groups with the runs touched in them.
    touched: BTreeMap<u64, BTreeSet<u64>>,
    has_outputs: bool,
}

impl Groups {
    pub(super) fn new(has_outputs: bool) -> Groups {
        Groups {
            records: BTreeMap::new(),
            touched: BTreeMap::new(),
            has_outputs,
        }
    }

    /// Puts what a document gave under its groups, in place of what it gave before.
    pub(super) fn change(
        &mut self,
        transaction: &mut WriteTransaction,
        number: DocumentNumber,
        mapped: &[DocumentBuf],
        group_by: &[String],
        meta: &mut Meta,
    ) -> Result<(), StepError> {
        let before = numbers_of_document(transaction, number)?;
        let mut free: Vec<(u64, u64)> = pairs(&before).collect();
        let mut places = Vec::with_capacity(mapped.len());
        for values in mapped {
            let group = self.group_of(transaction, values.root(), group_by, meta)?;
            let known = free.iter().position(|(of, _)| *of == group);
            let place = match known {
                Some(slot) => free.remove(slot).1,
                None => self.take_place(transaction, group)?,
            };
            places.push((group, place));
            let stored = encode_owned(number.0, values.as_bytes());
            let place_key = pair_key(group, place);
            let mut tree = transaction.tree_mut(MAPPED)?;
            if known.is_some() && tree.get(&place_key)? == Some(&stored[..]) {
                continue;
            }
            tree.put(&place_key, &stored)?;
            self.touch(group, place);
        }
        for (group, place) in free {
            transaction
                .tree_mut(MAPPED)?
                .delete(&pair_key(group, place))?;
            self.record(transaction, group)?.count -= 1;
            self.touch(group, place);
        }
        let now: Vec<u64> = places
            .iter()
            .flat_map(|(group, place)| [*group, *place])
            .collect();
        Ok(replace_numbers_of_document(
            transaction,
            number,
            &before,
            &now,
        )?)
    }

    /// The group of the values of the key fields, made when there is none.
    fn group_of(
        &mut self,
        transaction: &mut WriteTransaction,
        values: Value<'_>,
        group_by: &[String],
        meta: &mut Meta,
    ) -> Result<u64, StepError> {
        let mut json = Vec::new();
        write_array(&mut json, |list| {
            for name in group_by {
                list.value(values.get(name).unwrap_or(Value::Null));
            }
        });
        let hash = hash_of(&with_canonical_times(&json));
        let mut numbers = transaction.tree_mut(GROUP_NUMBERS)?;
        if let Some(bytes) = numbers.get(&hash)? {
            return Ok(last_number(bytes)?);
        }
        let group = meta.next_group;
        meta.next_group += 1;
        numbers.put(&hash, &key(group))?;
        let record = GroupRecord {
            hash,
            ..GroupRecord::default()
        };
        self.records.insert(group, record);
        Ok(group)
    }

    fn take_place(&mut self, transaction: &WriteTransaction, group: u64) -> Result<u64, StepError> {
        let record = self.record(transaction, group)?;
        let place = record.next_place;
        record.next_place += 1;
        record.count += 1;
        Ok(place)
    }

    fn touch(&mut self, group: u64, place: u64) {
        self.touched.entry(group).or_default().insert(place / RUN);
    }

    fn record(
        &mut self,
        transaction: &WriteTransaction,
        group: u64,
    ) -> Result<&mut GroupRecord, StepError> {
        match self.records.entry(group) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let damaged = || ReadError::damaged("a group of a static index");
                let tree = transaction.tree(GROUPS)?.ok_or_else(damaged)?;
                let bytes = tree.get(&key(group))?.ok_or_else(damaged)?;
                Ok(place.insert(GroupRecord::decode(bytes)?))
            }
        }
    }

    /// The next group to be reduced.
    pub(super) fn next_touched(&self) -> Option<u64> {
        self.touched.first_key_value().map(|(group, _)| *group)
    }

    /// Entries of the results before this batch.
    pub(super) fn entries(
        &mut self,
        transaction: &WriteTransaction,
        group: u64,
    ) -> Result<Vec<u64>, StepError> {
        Ok(self.record(transaction, group)?.entries.clone())
    }

    /// Reduces a group; the inner error is that of the program.
    pub(super) fn reduce(
        &mut self,
        transaction: &mut WriteTransaction,
        group: u64,
        reducing: &mut Reducing<'_>,
        meta: &mut Meta,
    ) -> Result<Result<Vec<DocumentBuf>, String>, StepError> {
        let runs = self.touched.get(&group).cloned().unwrap_or_default();
        let record = self.record(transaction, group)?.clone();
        if record.count == 0 {
            drop_runs(transaction, group)?;
            return Ok(Ok(Vec::new()));
        }
        meta.reduce_attempts += 1;
        // A group that shrinks a little below the limit stays cut.
        let is_cut = record.count > RUN || (record.is_cut && record.count > RUN / 2);
        self.record(transaction, group)?.is_cut = is_cut;
        if !is_cut {
            if record.is_cut {
                drop_runs(transaction, group)?;
            }
            let results = reduce_places(transaction, &key(group), reducing)?;
            meta.reduce_errors += u64::from(results.is_err());
            return Ok(results);
        }
        let runs = match record.is_cut {
            true => runs,
            false => all_runs(transaction, group)?,
        };
        for run in runs {
            match reduce_run(transaction, group, run, reducing)? {
                Ok(()) => {}
                Err(error) => {
                    meta.reduce_errors += 1;
                    // The next touch begins anew with all runs.
                    drop_runs(transaction, group)?;
                    self.record(transaction, group)?.is_cut = false;
                    return Ok(Err(error));
                }
            }
        }
        let results = reduce_runs(transaction, group, reducing)?;
        meta.reduce_errors += u64::from(results.is_err());
        Ok(results)
    }

    /// Stores a group that was reduced, with the entries of its results.
    pub(super) fn store(
        &mut self,
        transaction: &mut WriteTransaction,
        group: u64,
        entries: Vec<u64>,
    ) -> Result<(), StepError> {
        self.touched.remove(&group);
        let record = self.record(transaction, group)?;
        record.entries = entries;
        let record = record.clone();
        if record.count == 0 {
            transaction.tree_mut(GROUPS)?.delete(&key(group))?;
            transaction.tree_mut(GROUP_NUMBERS)?.delete(&record.hash)?;
            self.records.remove(&group);
        } else {
            transaction
                .tree_mut(GROUPS)?
                .put(&key(group), &record.encode())?;
        }
        if self.has_outputs {
            transaction
                .tree_mut(OUTPUTS)?
                .put(&key(group), &record.hash)?;
        }
        Ok(())
    }
}

fn pairs(numbers: &[u64]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let (pairs, _) = numbers.as_chunks::<2>();
    pairs.iter().map(|[group, place]| (*group, *place))
}

/// Forgets the results of runs of a group.
fn drop_runs(transaction: &mut WriteTransaction, group: u64) -> Result<(), StepError> {
    let old = keys(transaction.tree(REDUCED)?, &key(group), usize::MAX)?;
    for key in &old {
        transaction.tree_mut(REDUCED)?.delete(key)?;
    }
    Ok(())
}

/// The runs of a group in which there are places.
fn all_runs(transaction: &WriteTransaction, group: u64) -> Result<BTreeSet<u64>, StepError> {
    let mut runs = BTreeSet::new();
    if let Some(mapped) = transaction.tree(MAPPED)? {
        for entry in mapped.prefix(&key(group))? {
            runs.insert(last_number(&entry?.0.to_vec())? / RUN);
        }
    }
    Ok(runs)
}

type Reduced = Result<Result<Vec<DocumentBuf>, String>, StepError>;

/// Reduces all places whose keys begin so.
fn reduce_places(
    transaction: &WriteTransaction,
    prefix: &[u8],
    reducing: &mut Reducing<'_>,
) -> Reduced {
    let Some(mapped) = transaction.tree(MAPPED)? else {
        return Ok(Ok(Vec::new()));
    };
    let mut values = Vec::new();
    for entry in mapped.prefix(prefix)? {
        let (_, bytes) = decode_owned(entry?.1)?;
        values.push(Document::trusted(bytes).root());
    }
    run_reduce(&values, reducing)
}

/// Reduces one run of a group and keeps its results.
fn reduce_run(
    transaction: &mut WriteTransaction,
    group: u64,
    run: u64,
    reducing: &mut Reducing<'_>,
) -> Result<Result<(), String>, StepError> {
    let results = {
        let mut values = Vec::new();
        if let Some(mapped) = transaction.tree(MAPPED)? {
            let first = pair_key(group, run * RUN);
            let end = pair_key(group, (run + 1) * RUN);
            for entry in mapped.range(&first[..]..&end[..])? {
                let (_, bytes) = decode_owned(entry?.1)?;
                values.push(Document::trusted(bytes).root());
            }
        }
        match values.is_empty() {
            true => Vec::new(),
            false => match run_reduce(&values, reducing)? {
                Ok(results) => results,
                Err(error) => return Ok(Err(error)),
            },
        }
    };
    let own = pair_key(group, run);
    let mut reduced = transaction.tree_mut(REDUCED)?;
    if results.is_empty() {
        reduced.delete(&own)?;
        return Ok(Ok(()));
    }
    let mut bytes = vec![VERSION];
    for result in &results {
        varint::encode(result.len() as u64, &mut bytes);
        bytes.extend_from_slice(result.as_bytes());
    }
    reduced.put(&own, &bytes)?;
    Ok(Ok(()))
}

/// Reduces the results of all runs of a group.
fn reduce_runs(transaction: &WriteTransaction, group: u64, reducing: &mut Reducing<'_>) -> Reduced {
    let damaged = || ReadError::damaged("the results of a run of a static index");
    let mut values = Vec::new();
    if let Some(reduced) = transaction.tree(REDUCED)? {
        for entry in reduced.prefix(&key(group))? {
            let (version, mut rest) = entry?.1.split_first().ok_or_else(damaged)?;
            if *version != VERSION {
                return Err(damaged().into());
            }
            while !rest.is_empty() {
                let len = varint::take(&mut rest).and_then(|len| usize::try_from(len).ok());
                let split = len.and_then(|len| rest.split_at_checked(len));
                let (bytes, behind) = split.ok_or_else(damaged)?;
                values.push(Document::trusted(bytes).root());
                rest = behind;
            }
        }
    }
    run_reduce(&values, reducing)
}

fn run_reduce(values: &[Value<'_>], reducing: &mut Reducing<'_>) -> Reduced {
    let respelled = respelled(values, reducing.program.group_by());
    let values: Vec<Value<'_>> = values
        .iter()
        .zip(&respelled)
        .map(|(value, respelled)| respelled.as_ref().map_or(*value, DocumentBuf::root))
        .collect();
    let values = values.as_slice();
    match reducing
        .machine
        .reduce(reducing.program, values, reducing.host)
    {
        Ok(results) => Ok(Ok(results)),
        Err(RunError::Fatal(error)) => Err(StepError::Program(error)),
        Err(error) => Ok(Err(format!(
            "Failed to execute reduce function. Exception: {error}"
        ))),
    }
}

/// For each value of a group: a copy with the least spelling of each key that is a point in time,
/// where its own spelling is another.
fn respelled(values: &[Value<'_>], group_by: &[String]) -> Vec<Option<DocumentBuf>> {
    let Some(first) = values.first() else {
        return Vec::new();
    };
    let keys: Vec<(&str, &str)> = group_by
        .iter()
        .map(String::as_str)
        .filter(|name| {
            let text = first.get(name).and_then(|key| key.as_str());
            text.is_some_and(|text| time::instant(text).is_some())
        })
        .filter_map(|name| {
            let texts = values.iter().filter_map(|value| value.get(name)?.as_str());
            Some((name, texts.min()?))
        })
        .collect();
    let respell = |value: &Value<'_>| {
        let differs = |(name, text): &(&str, &str)| {
            let own = value.get(name).and_then(|own| own.as_str());
            own.is_some_and(|own| own != *text)
        };
        let object = value.as_object().filter(|_| keys.iter().any(differs))?;
        let mut json = Vec::new();
        write_object(&mut json, |copy| {
            for (name, member) in object.iter() {
                match keys.iter().find(|(key, _)| *key == name) {
                    Some((_, text)) => copy.string(name, text),
                    None => copy.value(name, member),
                }
            }
        });
        DocumentBuf::from_json(&json, &Limits::default()).ok()
    };
    values.iter().map(respell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back() {
        let record = GroupRecord {
            count: 3,
            next_place: 9,
            is_cut: true,
            hash: [7; HASH_BYTES],
            entries: vec![1, 300],
        };
        let bytes = record.encode();
        assert_eq!(GroupRecord::decode(&bytes).unwrap(), record);
        assert!(GroupRecord::decode(&bytes[..HEAD_BYTES - 1]).is_err());
    }
}

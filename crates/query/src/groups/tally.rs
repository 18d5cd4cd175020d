//! Counts and sums of groups while documents come and go.
//!
//! What each document adds to which group is noted, as long as that stays within its memory: a
//! document that changed is taken out of its groups and added to those it belongs to now.
//!
//! Invariant: counts and sums are those of the documents added and not taken out since.

use std::collections::HashMap;
use std::sync::Arc;

use jackdaw_document::{DocumentBuf, Limits, Value, write_object};

use super::grouping::{COUNT, Grouping, KEY, Rows, each_of};
use super::keys::{write_content, write_key};
use super::parts::Parts;
use super::sum::{Sum, Total};
use crate::error::QueryError;
use crate::execute::ExecuteOptions;
use crate::fields::FieldPath;
use crate::instants::with_canonical_times;
use crate::project::{Found, find, for_each};
use crate::source::{Source, StoredDocument};
use jackdaw_model::{Etag, Scope};

/// Looks at the interrupt flag once in so many documents.
const CHECK_DOCUMENTS: u64 = 256;
/// Memory of one group beside its keys, its sums and its row.
const GROUP_BYTES: usize = 200;

#[derive(Default)]
struct Group {
    /// JSON of each key.
    keys: Vec<Vec<u8>>,
    count: u64,
    sums: Vec<Total>,
    /// As a document, until it changes.
    row: Option<Arc<DocumentBuf>>,
    /// Whether broken numbers have to be added up anew.
    is_inexact: bool,
}

const GROUP_BY: &str = "group by";
const FEWER_KEYS: &str = "Group by fewer keys.";

/// See the file head.
pub(super) struct Tally {
    sum_count: usize,
    groups: Vec<Group>,
    /// Places of groups, by their keys.
    slots: HashMap<Vec<u8>, u32>,
    /// Places of groups that have no documents any more.
    vacant: Vec<u32>,
    /// What documents add; `None` when that is not noted.
    parts: Option<Parts>,
    /// Memory of the groups without their rows.
    groups_bytes: usize,
    rows_bytes: usize,
    rows: Option<Rows>,
}

impl Tally {
    /// No groups. What documents add is noted while that and the groups take at most
    /// `kept_bytes_max`; 0 notes nothing.
    pub(super) fn new(grouping: &Grouping, kept_bytes_max: usize) -> Tally {
        Tally {
            sum_count: grouping.sums.len(),
            groups: Vec::new(),
            slots: HashMap::new(),
            vacant: Vec::new(),
            parts: (kept_bytes_max > 0).then(|| Parts::new(grouping.sums.len(), kept_bytes_max)),
            groups_bytes: 0,
            rows_bytes: 0,
            rows: None,
        }
    }

    /// Whether it can be brought up to date.
    pub(super) fn notes_parts(&self) -> bool {
        self.parts.is_some()
    }

    /// Bytes of memory it takes, about.
    pub(super) fn len_bytes(&self) -> usize {
        self.groups_bytes + self.rows_bytes + self.parts.as_ref().map_or(0, Parts::len_bytes)
    }

    /// Takes in what changed in `scope` after `after`; everything when that is 0. False when there
    /// was no memory to note what documents add, so that what changed could not be taken out.
    /// After that, and after an error, it is of no use any more.
    pub(super) fn update<S: Source>(
        &mut self,
        grouping: &Grouping,
        scope: &Scope,
        source: &S,
        after: Etag,
        options: &ExecuteOptions<'_>,
    ) -> Result<bool, QueryError> {
        let is_new = after == Etag(0);
        if !is_new {
            let removed = source.removed(scope, after).map_err(QueryError::Source)?;
            for (visited, number) in (1_u64..).zip(removed) {
                if visited.is_multiple_of(CHECK_DOCUMENTS) {
                    options.check()?;
                }
                self.take_out(number.map_err(QueryError::Source)?.0);
            }
        }
        let mut charge = options.charge(GROUP_BY, FEWER_KEYS);
        let numbers = source.changed(scope, after).map_err(QueryError::Source)?;
        for (visited, number) in (1_u64..).zip(numbers) {
            if visited.is_multiple_of(CHECK_DOCUMENTS) {
                options.check()?;
            }
            let number = number.map_err(QueryError::Source)?;
            if !is_new {
                self.take_out(number.0);
            }
            if let Some(document) = source.document(number).map_err(QueryError::Source)? {
                self.add(grouping, &document, options.memory_bytes_max)?;
                charge.set(self.groups_bytes)?;
            }
            if !is_new && self.parts.is_none() {
                return Ok(false);
            }
        }
        self.add_doubles_anew();
        // The groups stay until their rows were given.
        charge.keep();
        Ok(true)
    }

    /// The groups as documents, when nothing changed since they were made.
    pub(super) fn made_rows(&self) -> Option<Rows> {
        self.rows.clone()
    }

    /// The groups that have documents, as documents.
    pub(super) fn rows(&mut self, grouping: &Grouping) -> Result<Rows, QueryError> {
        if let Some(rows) = self.made_rows() {
            return Ok(rows);
        }
        let mut rows = Vec::with_capacity(self.slots.len());
        for group in self.groups.iter_mut().filter(|group| group.count > 0) {
            let row = match &group.row {
                Some(row) => Arc::clone(row),
                None => {
                    let row = Arc::new(row_of(grouping, group)?);
                    self.rows_bytes += row.as_bytes().len();
                    Arc::clone(group.row.insert(row))
                }
            };
            rows.push(row);
        }
        let rows: Rows = rows.into();
        self.rows = Some(Arc::clone(&rows));
        Ok(rows)
    }

    fn add(
        &mut self,
        grouping: &Grouping,
        document: &StoredDocument<'_>,
        memory_bytes_max: usize,
    ) -> Result<(), QueryError> {
        let Some(prefix) = grouping.fanned_prefix() else {
            return self.add_entry(grouping, document, None, memory_bytes_max);
        };
        let elements = match find(document.body.root(), prefix) {
            Found::One(Value::Array(elements)) => elements,
            // A document without the array is in the group of null.
            _ => {
                let none = Some(Value::Null);
                return self.add_entry(grouping, document, none, memory_bytes_max);
            }
        };
        elements.iter().try_for_each(|element| {
            self.add_entry(grouping, document, Some(element), memory_bytes_max)
        })
    }

    /// Adds a document, or one element of the array that is grouped.
    fn add_entry(
        &mut self,
        grouping: &Grouping,
        document: &StoredDocument<'_>,
        element: Option<Value<'_>>,
        memory_bytes_max: usize,
    ) -> Result<(), QueryError> {
        let mut keys = Vec::with_capacity(grouping.keys.len());
        for (path, is_content) in grouping.keys.iter().zip(&grouping.contents) {
            let mut json = Vec::new();
            match (each_of(path), element) {
                (Some(at), Some(element)) if !is_content => {
                    write_content(element, &path.parts()[at + 1..], &mut json);
                }
                _ => write_key(document, path, &mut json),
            }
            keys.push(json);
        }
        let folded = folded(&keys);
        let slot = match self.slots.get(&folded) {
            Some(slot) => *slot,
            None => self.begin(folded, keys, memory_bytes_max)?,
        };
        let mut sums = Vec::with_capacity(grouping.sums.len());
        for path in &grouping.sums {
            sums.push(sum_of(path, document, element)?);
        }
        self.rows = None;
        let group = &mut self.groups[slot as usize];
        group.count += 1;
        if let Some(row) = group.row.take() {
            self.rows_bytes -= row.as_bytes().len();
        }
        for (total, sum) in group.sums.iter_mut().zip(&sums) {
            total.add(*sum);
        }
        if let Some(parts) = &mut self.parts
            && !parts.add(document.number.0, slot, &sums, self.groups_bytes)
        {
            self.parts = None;
        }
        Ok(())
    }

    /// A new group; its place.
    fn begin(
        &mut self,
        folded: Vec<u8>,
        keys: Vec<Vec<u8>>,
        memory_bytes_max: usize,
    ) -> Result<u32, QueryError> {
        self.groups_bytes += group_bytes(self.sum_count, &folded);
        let too_many = || QueryError::Memory {
            what: GROUP_BY,
            limit_bytes: memory_bytes_max,
            advice: FEWER_KEYS,
        };
        if self.groups_bytes > memory_bytes_max {
            return Err(too_many());
        }
        let group = Group {
            sums: vec![Total::default(); self.sum_count],
            keys,
            count: 0,
            row: None,
            is_inexact: false,
        };
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.groups[slot as usize] = group;
                slot
            }
            None => {
                self.groups.push(group);
                u32::try_from(self.groups.len() - 1).map_err(|_| too_many())?
            }
        };
        self.slots.insert(folded, slot);
        Ok(slot)
    }

    /// Takes a document out of its groups, if it is in any.
    fn take_out(&mut self, number: u64) {
        let Some(parts) = &mut self.parts else { return };
        let (groups, slots) = (&mut self.groups, &mut self.slots);
        let (vacant, groups_bytes) = (&mut self.vacant, &mut self.groups_bytes);
        let (rows_bytes, sum_count) = (&mut self.rows_bytes, self.sum_count);
        let is_known = parts.take(number, &mut |slot, sums| {
            let group = &mut groups[slot as usize];
            group.count -= 1;
            if let Some(row) = group.row.take() {
                *rows_bytes -= row.as_bytes().len();
            }
            for (total, sum) in group.sums.iter_mut().zip(sums) {
                group.is_inexact |= !total.subtract(*sum);
            }
            if group.count == 0 {
                let folded = folded(&group.keys);
                *groups_bytes -= group_bytes(sum_count, &folded);
                slots.remove(&folded);
                vacant.push(slot);
                *group = Group::default();
            }
        });
        if is_known {
            self.rows = None;
        }
    }

    fn add_doubles_anew(&mut self) {
        let (Some(parts), true) = (&self.parts, self.groups.iter().any(|one| one.is_inexact))
        else {
            return;
        };
        let inexact = self.groups.iter_mut().filter(|group| group.is_inexact);
        for total in inexact.flat_map(|group| &mut group.sums) {
            total.forget_doubles();
        }
        parts.for_each(&mut |slot, sums| {
            let group = &mut self.groups[slot as usize];
            if group.is_inexact {
                let totals = group.sums.iter_mut().zip(sums);
                totals.for_each(|(total, sum)| total.add_double(*sum));
            }
        });
        self.groups
            .iter_mut()
            .for_each(|group| group.is_inexact = false);
    }
}

/// Memory of a group with these keys, without its row.
fn group_bytes(sum_count: usize, folded: &[u8]) -> usize {
    GROUP_BYTES + folded.len() * 2 + sum_count * size_of::<Total>()
}

/// All keys of a group in one: what makes it one group.
fn folded(keys: &[Vec<u8>]) -> Vec<u8> {
    with_canonical_times(&keys.join(&b"\0"[..])).into_owned()
}

/// What a document, or one element of its array that is grouped, adds to a sum.
fn sum_of(
    path: &FieldPath,
    document: &StoredDocument<'_>,
    element: Option<Value<'_>>,
) -> Result<Sum, QueryError> {
    let (mut sum, mut is_sum) = (Sum::Long(0), true);
    let mut add = |value: Value<'_>| is_sum = is_sum && sum.add(value);
    match (each_of(path), element) {
        (Some(at), Some(element)) => for_each(element, &path.parts()[at + 1..], &mut add),
        _ => for_each(document.body.root(), path.parts(), &mut add),
    }
    match is_sum {
        true => Ok(sum),
        false => Err(QueryError::Operation(format!(
            "sum({path}) needs numbers, but document '{}' has something else there",
            document.id
        ))),
    }
}

/// A group as a document.
fn row_of(grouping: &Grouping, group: &Group) -> Result<DocumentBuf, QueryError> {
    let mut json = Vec::new();
    write_object(&mut json, |row| {
        for (key, value) in grouping.keys.iter().zip(&group.keys) {
            row.raw(key.as_str(), value);
        }
        for (name, sum) in grouping.sum_names.iter().zip(&group.sums) {
            match sum.value() {
                Sum::Long(sum) => row.long(name, sum),
                Sum::Double(sum) => row.double(name, sum),
            }
        }
        row.long(COUNT, i64::try_from(group.count).unwrap_or(i64::MAX));
        if grouping.keys.len() > 1 {
            row.object(KEY, |all| {
                for (key, value) in grouping.keys.iter().zip(&group.keys) {
                    all.raw(key.as_str(), value);
                }
            });
        }
    });
    // Parts of documents make a document; only its depth may be too much.
    DocumentBuf::from_json(&json, &Limits::default())
        .map_err(|error| QueryError::Operation(format!("A group cannot be shown: {error}")))
}

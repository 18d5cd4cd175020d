//! Columns: which of the terms of a field each entry has, kept in memory between queries.
//!
//! Asked by query execution for orders and facets of many matches, where walking over the terms
//! would meet mostly entries that do not match, and for ranges of numbers. A column is made by one
//! walk over the terms of a field that meets every entry, so it is not made before queries of the
//! same snapshot have spent as much without it ("ski rental"): an index that changes with every
//! query goes on without.
//!
//! Invariants:
//! - A column is of one snapshot and answers for that alone.
//! - All columns of an index together take no more than `bytes_max`.
//!
//! Threads: shared by all readers; a column is made outside the lock.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackdaw_storage::PageRead;

use super::IndexReader;
use super::best::Best;
use super::budget::Budget;
use super::walk::{Direction, TermKind};
use crate::EntryId;
use crate::catalog::FieldId;
use crate::error::IndexError;
use crate::set::{BitsBuilder, EntrySet};
use crate::term::StoredTerm;

/// An index with more entries for each byte of its columns than this has none: numbers of entries
/// are never used again, so old indexes may have few of them.
const BYTES_PER_ENTRY: u64 = 4;

/// So many places of entries are compared in the time in which a walk meets one entry, ...
const PLACES_PER_ENTRY: u64 = 16;
/// ... and so many entries of a list are met in the time in which a walk comes to the next term.
const ENTRIES_PER_TERM: u64 = 32;

/// The terms of one kind that entries have in a field, by their places in order.
#[derive(Debug)]
pub struct Column {
    /// For each entry: 1 more than the place of its least term; 0 without a term.
    least: Vec<u32>,
    /// The same of the greatest, when an entry has several.
    greatest: Option<Vec<u32>>,
    term_count: usize,
    /// How many entries have a term.
    entry_count: u64,
    /// How many entries the terms up to each have together, each counted once for each of its
    /// terms; begins with 0. `None` when there was no memory left for it.
    up_to: Option<Vec<u32>>,
}

impl Column {
    /// Reads a column; `None` when it would take more than `bytes_max`, or terms are not in order
    /// because only their beginnings are kept.
    fn read<P: PageRead + ?Sized>(
        reader: &IndexReader<'_, P>,
        field: FieldId,
        kind: TermKind,
        bytes_max: u64,
        budget: &mut Budget<'_>,
    ) -> Result<Option<Column>, IndexError> {
        let len = reader.catalog.counters.next_entry;
        let (Ok(len), true) = (usize::try_from(len), len <= bytes_max / BYTES_PER_ENTRY) else {
            return Ok(None);
        };
        let mut column = Column {
            least: vec![0; len],
            greatest: None,
            term_count: 0,
            entry_count: 0,
            up_to: Some(vec![0]),
        };
        let mut entries_so_far = 0;
        let mut walk = reader.terms(field, kind, Direction::Ascending)?;
        while let Some(term) = walk.next_term()? {
            budget.spend()?;
            if matches!(term.term()?, StoredTerm::Text(text) if text.is_cut()) {
                return Ok(None);
            }
            column.term_count += 1;
            let Ok(rank) = u32::try_from(column.term_count) else {
                return Ok(None);
            };
            entries_so_far += term.count();
            match (&mut column.up_to, u32::try_from(entries_so_far)) {
                (Some(up_to), Ok(entries)) => up_to.push(entries),
                _ => column.up_to = None,
            }
            if column.len_bytes() as u64 > bytes_max {
                column.up_to = None;
            }
            term.visit_blocks(&mut |entries| column.add(rank, entries))?;
        }
        let fits = column.len_bytes() as u64 <= bytes_max;
        Ok(fits.then_some(column))
    }

    fn add(&mut self, rank: u32, entries: &[u64]) {
        for &entry in entries {
            let place = usize::try_from(entry).ok();
            let Some(least) = place.and_then(|place| self.least.get_mut(place)) else {
                continue;
            };
            if *least == 0 {
                *least = rank;
                self.entry_count += 1;
            } else if self.greatest.is_none() {
                self.greatest = Some(self.least.clone());
            }
            if let (Some(greatest), Some(place)) = (&mut self.greatest, place) {
                greatest[place] = rank;
            }
        }
    }

    /// How many entries have a term.
    #[must_use]
    pub fn entry_count(&self) -> u64 {
        self.entry_count
    }

    /// The entries that have a term.
    #[must_use]
    pub fn entries(&self) -> EntrySet {
        self.set_between((1, u32::MAX))
    }

    /// Whether every entry has one term at most.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.greatest.is_none()
    }

    /// Bytes of memory it takes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        let lists = 1 + usize::from(self.greatest.is_some());
        let counts = self.up_to.as_ref().map_or(0, Vec::len);
        (self.least.len() * lists + counts) * size_of::<u32>()
    }

    /// The first `wanted` entries of a set in the order of the field: ascending by the least term
    /// of each, descending by the greatest; equal ones by their numbers. Entries without a term are
    /// at the end, or in front.
    #[must_use]
    pub fn first_of(
        &self,
        set: &EntrySet,
        wanted: usize,
        direction: Direction,
        nulls_first: bool,
    ) -> Vec<EntryId> {
        let ranks = match (direction, &self.greatest) {
            (Direction::Descending, Some(greatest)) => greatest,
            _ => &self.least,
        };
        let sign = match direction {
            Direction::Ascending => -1.0,
            Direction::Descending => 1.0,
        };
        let of_none = match nulls_first {
            true => f64::INFINITY,
            false => f64::NEG_INFINITY,
        };
        let mut best = Best::new(wanted);
        for entry in set {
            let rank = self.rank(ranks, entry);
            best.push(
                entry.0,
                if rank == 0 {
                    of_none
                } else {
                    sign * f64::from(rank)
                },
            );
        }
        let best = best.finish().into_iter();
        best.map(|(entry, _)| entry).collect()
    }

    /// The place of the only term of an entry, from 1 on; 0 when it has none. For columns whose
    /// entries have one at most.
    pub(super) fn place_of(&self, entry: EntryId) -> u32 {
        self.rank(&self.least, entry)
    }

    /// How many entries have a term from one place to another, when that is kept. As
    /// [`place_of`](Self::place_of).
    pub(super) fn count_between(&self, (first, last): (u32, u32)) -> Option<u64> {
        let counts = self.up_to.as_ref()?;
        let up_to = |place: u32| counts.get(place as usize).copied().unwrap_or(0);
        let count = up_to(last).saturating_sub(up_to(first.saturating_sub(1)));
        Some(u64::from(count))
    }

    /// Whether looking at all places is cheaper than walking over these terms and their entries.
    pub(super) fn is_worth_for(&self, (first, last): (u32, u32)) -> bool {
        let Some(entries) = self.count_between((first, last)) else {
            return true;
        };
        let terms = u64::from(last - first) + 1;
        let walk = entries.saturating_add(terms.saturating_mul(ENTRIES_PER_TERM));
        walk.saturating_mul(PLACES_PER_ENTRY) >= self.least.len() as u64
    }

    /// The entries that have a term from one place to another. As [`place_of`](Self::place_of).
    pub(super) fn set_between(&self, (first, last): (u32, u32)) -> EntrySet {
        let span = last.wrapping_sub(first);
        let mut set = BitsBuilder::default();
        for places in self.least.chunks(64) {
            let mut bits = 0;
            for (at, place) in places.iter().enumerate() {
                // Places below the first one wrap around to great ones.
                bits |= u64::from(place.wrapping_sub(first) <= span) << at;
            }
            set.push(bits);
        }
        set.finish()
    }

    fn rank(&self, ranks: &[u32], entry: EntryId) -> u32 {
        let place = usize::try_from(entry.0).ok();
        place
            .and_then(|place| ranks.get(place))
            .copied()
            .unwrap_or(0)
    }

    /// How many entries of a set have each term, by the places of terms in order; `None` when
    /// entries have several.
    #[must_use]
    pub fn count(&self, set: &EntrySet) -> Option<Vec<u32>> {
        if self.greatest.is_some() {
            return None;
        }
        let mut counts = vec![0; self.term_count + 1];
        for entry in set {
            counts[self.rank(&self.least, entry) as usize] += 1;
        }
        counts.remove(0);
        Some(counts)
    }
}

/// The columns of an index that are in memory, of its newest snapshot.
#[derive(Debug)]
pub struct Columns {
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The snapshot they are of.
    version: u64,
    known: HashMap<(FieldId, TermKind), Known>,
    len_bytes: u64,
}

#[derive(Debug)]
enum Known {
    /// It was asked for by queries that were so dear without it, in entries that are met.
    Asked {
        met: u64,
    },
    /// It is being made, or cannot be.
    None,
    Column(Arc<Column>),
}

impl Columns {
    /// None yet; all together at most `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: u64) -> Columns {
        Columns {
            bytes_max,
            state: Mutex::default(),
        }
    }

    /// The column of a field in the snapshot `version` of `reader`; versions of an index ascend.
    /// `met` is how dear the query is when it is not there, in entries that are met; 0 never has
    /// one made.
    /// `None` for an older snapshot, before it is worth its making, and when it would take too much
    /// memory.
    ///
    /// # Errors
    /// [`IndexError::WalkLimit`], [`IndexError::Interrupted`], [`IndexError::Damaged`],
    /// [`IndexError::Storage`].
    pub fn column<P: PageRead + ?Sized>(
        &self,
        reader: &IndexReader<'_, P>,
        version: u64,
        (field, kind): (FieldId, TermKind),
        met: u64,
        budget: &mut Budget<'_>,
    ) -> Result<Option<Arc<Column>>, IndexError> {
        let left = {
            let mut state = self.lock();
            if version < state.version {
                return Ok(None);
            }
            if version > state.version {
                *state = State {
                    version,
                    ..State::default()
                };
            }
            let before = match state.known.get(&(field, kind)) {
                Some(Known::Column(column)) => return Ok(Some(Arc::clone(column))),
                Some(Known::None) => return Ok(None),
                _ if met == 0 => return Ok(None),
                Some(&Known::Asked { met }) => met,
                None => 0,
            };
            if before < reader.entry_count() {
                let met = before.saturating_add(met);
                state.known.insert((field, kind), Known::Asked { met });
                return Ok(None);
            }
            state.known.insert((field, kind), Known::None);
            self.bytes_max.saturating_sub(state.len_bytes)
        };
        let made = Column::read(reader, field, kind, left, budget);
        let mut state = self.lock();
        if state.version != version {
            return Ok(made?.map(Arc::new));
        }
        let column = match made {
            Ok(column) => column.map(Arc::new),
            Err(error) => {
                // The next query tries again.
                let met = reader.entry_count();
                state.known.insert((field, kind), Known::Asked { met });
                return Err(error);
            }
        };
        if let Some(column) = &column {
            let len_bytes = column.len_bytes() as u64;
            if state.len_bytes + len_bytes <= self.bytes_max {
                state.len_bytes += len_bytes;
                let known = Known::Column(Arc::clone(column));
                state.known.insert((field, kind), known);
            }
        }
        Ok(column)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

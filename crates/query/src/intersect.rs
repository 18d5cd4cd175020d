//! `intersect(...)`: documents of which some entry of the index satisfies each condition.
//!
//! Bound by `bind::method`; [`resolve`] runs before the query is planned, because one entry of an
//! index with fan-out cannot decide about the document it is of.
//!
//! Invariants:
//! - Without entries of their own (automatic indexes, results of a reduce) it is a plain `and`.
//! - Where it is the whole condition, one entry of each such document is found: the first that
//!   satisfies the first condition. So each document is one row.
//! - Together with other conditions, what is found is all entries of such documents that satisfy
//!   one of its own.
//! - Below a `not` it is all entries of such documents, so that its complement is the other
//!   documents.

use std::collections::BTreeMap;

use jackdaw_search::{EntryId, EntrySet};

use crate::error::QueryError;
use crate::execute::{ExecuteOptions, IndexSets, budget, evaluate_entries};
use crate::predicate::Predicate;
use crate::source::{IndexAccess, IndexRows, Source};
use jackdaw_model::DocumentNumber;

/// Looks at the interrupt flag once in so many entries.
const CHECK_ENTRIES: usize = 256;
/// Memory of an entry that may count.
const ENTRY_BYTES: usize = 48;

/// The conditions, and what was found.
#[derive(Clone, Debug)]
pub struct Intersection {
    parts: Vec<Predicate>,
    found: Option<EntrySet>,
}

/// What was found is of one snapshot: two are never known to be equal.
impl PartialEq for Intersection {
    fn eq(&self, _other: &Intersection) -> bool {
        false
    }
}

impl Intersection {
    pub(crate) fn new(parts: Vec<Predicate>) -> Intersection {
        Intersection { parts, found: None }
    }

    /// The conditions.
    pub(crate) fn parts(&self) -> &[Predicate] {
        &self.parts
    }

    /// Whether an entry is among those found.
    pub(crate) fn holds(&self, number: DocumentNumber) -> bool {
        let found = self.found.as_ref();
        found.is_some_and(|found| found.contains(number.into()))
    }

    /// The entries found.
    pub(crate) fn set(&self) -> EntrySet {
        self.found.clone().unwrap_or_default()
    }
}

/// Whether a condition has an intersection in it.
pub(crate) fn has_intersection(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Intersection(_) => true,
        Predicate::And(list) | Predicate::Or(list) => list.iter().any(has_intersection),
        Predicate::Not(inner) | Predicate::Boost(inner, _) => has_intersection(inner),
        _ => false,
    }
}

/// Which entries of the documents found count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    First,
    Conditions,
    Documents,
}

/// Finds what the intersections in a condition look for.
pub(crate) fn resolve<S: Source>(
    predicate: Predicate,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<Predicate, QueryError> {
    resolve_of(Of::First, predicate, source, options)
}

fn resolve_of<S: Source>(
    of: Of,
    predicate: Predicate,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<Predicate, QueryError> {
    let inside = match of {
        Of::First => Of::Conditions,
        of => of,
    };
    let all = |list: Vec<Predicate>| -> Result<Vec<Predicate>, QueryError> {
        list.into_iter()
            .map(|part| resolve_of(inside, part, source, options))
            .collect()
    };
    Ok(match predicate {
        Predicate::Intersection(intersection) => {
            let parts = all(intersection.parts)?;
            match source.index() {
                Some(index) if matches!(index.rows, IndexRows::Entries { .. }) => {
                    let found = options.measured(
                        || "find documents whose entries meet all conditions".into(),
                        "entries",
                        |found: &EntrySet| Some(found.len()),
                        || find(of, &parts, &index, source, options),
                    )?;
                    let found = Some(found);
                    Predicate::Intersection(Box::new(Intersection { parts, found }))
                }
                _ => parts
                    .into_iter()
                    .fold(Predicate::Everything, Predicate::and),
            }
        }
        Predicate::And(list) => all(list)?
            .into_iter()
            .fold(Predicate::Everything, Predicate::and),
        Predicate::Or(list) => all(list)?
            .into_iter()
            .fold(Predicate::Nothing, Predicate::or),
        Predicate::Not(inner) => resolve_of(Of::Documents, *inner, source, options)?.negated(),
        Predicate::Boost(inner, factor) => {
            Predicate::Boost(Box::new(resolve_of(of, *inner, source, options)?), factor)
        }
        other => other,
    })
}

fn find<S: Source>(
    of: Of,
    parts: &[Predicate],
    index: &IndexAccess<'_, S::Pages>,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<EntrySet, QueryError> {
    let Some(reader) = index.reader else {
        return Ok(EntrySet::new());
    };
    // Documents that satisfy all conditions so far, with the entries that do.
    let mut documents: Option<BTreeMap<u64, Vec<EntryId>>> = None;
    for part in parts {
        let mut sets = IndexSets {
            reader,
            source,
            options,
            budget: budget(options),
        };
        let (certain, uncertain) = sets.find(part)?.into_parts();
        let checked = evaluate_entries(&uncertain, part, source, options)?;
        let mut owners: BTreeMap<u64, Vec<EntryId>> = BTreeMap::new();
        let mut charge = options.charge(
            "intersect(...)",
            "Use conditions that fewer entries satisfy.",
        );
        for (visited, entry) in (1_usize..).zip(&certain.or(&checked)) {
            if visited.is_multiple_of(CHECK_ENTRIES) {
                options.check()?;
            }
            charge.set(visited.saturating_mul(ENTRY_BYTES))?;
            let Some(row) = source.row(entry.into()).map_err(QueryError::Source)? else {
                continue;
            };
            let earlier = documents.as_mut().map(|known| known.get_mut(&row.number.0));
            let mut entries = match earlier {
                Some(None) => continue,
                Some(Some(entries)) => std::mem::take(entries),
                None => Vec::new(),
            };
            entries.push(entry);
            owners.entry(row.number.0).or_default().append(&mut entries);
        }
        documents = Some(owners);
    }
    let mut entries: Vec<EntryId> = Vec::new();
    for (number, mut found) in documents.into_iter().flatten() {
        match of {
            Of::First => entries.extend(found.first()),
            Of::Conditions => entries.append(&mut found),
            Of::Documents => entries.extend(
                source
                    .entries_of(DocumentNumber(number))
                    .map_err(QueryError::Source)?,
            ),
        }
    }
    entries.sort_unstable();
    entries.dedup();
    Ok(EntrySet::from_ascending(entries))
}

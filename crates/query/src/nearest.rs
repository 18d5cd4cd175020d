//! Vector search: the documents whose vectors are nearest to those of a query.
//!
//! Bound by `bind::vector` as [`Predicate::Near`]; [`resolve`] finds the documents, once the index
//! can be read and before the query is planned. Which ones are nearest depends on all of them and
//! not on one document alone, so the condition holds the answer from then on.
//!
//! Invariants:
//! - Conditions that must hold beside it are held against documents while the nearest are looked
//!   for: a filter leaves as many matches as there would be without it.
//! - Documents that the index has not seen are compared one by one, in place of their entries.
//! - Memory is bounded by the number of candidates and the documents that share their vectors.

use std::collections::BTreeMap;

use jackdaw_search::{EntryId, EntrySet, IndexReader, NearestOptions, Vector};

use crate::bind::BoundQuery;
use crate::error::QueryError;
use crate::evaluate::matches;
use crate::execute::{ExecuteOptions, IndexSets, budget, evaluate_entries};
use crate::fields::IndexField;
use crate::plan::covers;
use crate::predicate::{Field, Predicate};
use crate::source::{IndexAccess, IndexRows, Source};
use crate::vectors::{Embedding, vectors_of};
use jackdaw_model::{DocumentNumber, Scope};

/// Looks at the interrupt flag once in so many documents.
const CHECK_DOCUMENTS: u64 = 256;

/// `vector.search(...)`.
#[derive(Clone, Debug)]
pub struct NearTest {
    /// The field, always one of values.
    pub(crate) field: Field,
    pub(crate) embedding: Embedding,
    pub(crate) targets: Vec<Target>,
    /// From 0 to 1.
    pub(crate) minimum: f32,
    /// Different vectors that are looked for.
    pub(crate) count: usize,
    pub(crate) is_exact: bool,
    /// What was found, once it was looked for.
    found: Option<Found>,
}

/// Two are equal when they are the same words of a query; nobody asks.
impl PartialEq for NearTest {
    fn eq(&self, _other: &NearTest) -> bool {
        false
    }
}

/// What is to be near.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Vector(Vector),
    /// All vectors that the document with this id has in the field.
    Document(String),
}

/// Documents and their similarities.
#[derive(Clone, Debug, Default)]
struct Found {
    set: EntrySet,
    /// By entry, ascending.
    similarities: Vec<(u64, f32)>,
}

impl NearTest {
    pub(crate) fn new(field: IndexField, embedding: Embedding, targets: Vec<Target>) -> NearTest {
        NearTest {
            field: Field::Values(field),
            embedding,
            targets,
            minimum: 0.0,
            count: 16,
            is_exact: false,
            found: None,
        }
    }

    /// Whether a document is among the nearest.
    pub(crate) fn holds(&self, number: DocumentNumber) -> bool {
        let found = self.found.as_ref();
        found.is_some_and(|found| found.set.contains(number.into()))
    }

    /// The documents that are nearest.
    pub(crate) fn set(&self) -> EntrySet {
        self.found
            .as_ref()
            .map_or_else(EntrySet::new, |found| found.set.clone())
    }

    /// By entry, ascending: how near they are.
    pub(crate) fn similarities(&self) -> &[(u64, f32)] {
        self.found.as_ref().map_or(&[], |found| &found.similarities)
    }
}

/// Whether a condition has a search for vectors in it.
pub(crate) fn has_near(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Near(_) => true,
        Predicate::And(list) | Predicate::Or(list) => list.iter().any(has_near),
        Predicate::Not(inner) | Predicate::Boost(inner, _) => has_near(inner),
        _ => false,
    }
}

/// Finds what the searches for vectors in the condition of `query` look for.
pub(crate) fn resolve<S: Source>(
    query: &BoundQuery,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<Predicate, QueryError> {
    let index = source.index();
    let scope = match (query.scope(), &index) {
        (Some(scope), _) => scope,
        (None, Some(index)) => index.scope.clone(),
        // Planning says that the index is missing.
        (None, None) => return Ok(query.predicate.clone()),
    };
    let is_named = query.index_name().is_some();
    let index = index.filter(|index| is_named || covers(query, &scope, index));
    let mut resolver = Resolver {
        source,
        options,
        reader: index.as_ref().and_then(|index| index.reader),
        scope: &scope,
        index: index.as_ref(),
        stale: Vec::new(),
        changed: Vec::new(),
    };
    if index
        .as_ref()
        .is_some_and(|index| index.rows == IndexRows::Documents)
    {
        resolver.read_changes()?;
    }
    let everything = Filter {
        predicate: Predicate::Everything,
        set: None,
    };
    resolver.resolve(&query.predicate, &everything)
}

/// What must hold of documents beside being near.
struct Filter {
    predicate: Predicate,
    /// The entries of the index of which it does; `None` for all.
    set: Option<EntrySet>,
}

struct Resolver<'r, S: Source> {
    source: &'r S,
    options: &'r ExecuteOptions<'r>,
    scope: &'r Scope,
    index: Option<&'r IndexAccess<'r, S::Pages>>,
    reader: Option<&'r IndexReader<'r, S::Pages>>,
    /// Documents that the index has not seen the last change of: entries that do not count.
    stale: Vec<EntryId>,
    /// Those of them that are there.
    changed: Vec<DocumentNumber>,
}

impl<S: Source> Resolver<'_, S> {
    fn read_changes(&mut self) -> Result<(), QueryError> {
        let Some(index) = self.index else {
            return Ok(());
        };
        let (scope, after) = (self.scope, index.indexed_up_to);
        for number in self
            .source
            .removed(scope, after)
            .map_err(QueryError::Source)?
        {
            self.stale.push(number.map_err(QueryError::Source)?.into());
        }
        for number in self
            .source
            .changed(scope, after)
            .map_err(QueryError::Source)?
        {
            let number = number.map_err(QueryError::Source)?;
            self.stale.push(number.into());
            self.changed.push(number);
        }
        self.stale.sort_unstable();
        self.stale.dedup();
        Ok(())
    }

    fn resolve(&self, predicate: &Predicate, filter: &Filter) -> Result<Predicate, QueryError> {
        Ok(match predicate {
            Predicate::Near(test) => {
                let found = self.options.measured(
                    || predicate.to_string(),
                    "entries",
                    |found: &Found| Some(found.set.len()),
                    || self.search(test, filter),
                )?;
                let found = Some(found);
                Predicate::Near(Box::new(NearTest {
                    found,
                    ..(**test).clone()
                }))
            }
            Predicate::And(list) if has_near(predicate) => {
                let (near, rest): (Vec<&Predicate>, Vec<&Predicate>) =
                    list.iter().partition(|part| has_near(part));
                let rest = rest
                    .into_iter()
                    .cloned()
                    .fold(Predicate::Everything, Predicate::and);
                let filter = self.filter(&rest, filter)?;
                near.into_iter().try_fold(rest, |all, part| {
                    Ok::<_, QueryError>(all.and(self.resolve(part, &filter)?))
                })?
            }
            Predicate::Or(list) => list.iter().try_fold(Predicate::Nothing, |any, part| {
                Ok::<_, QueryError>(any.or(self.resolve(part, filter)?))
            })?,
            // What is not near is what is left of all.
            Predicate::Not(inner) => {
                let everything = Filter {
                    predicate: Predicate::Everything,
                    set: None,
                };
                self.resolve(inner, &everything)?.negated()
            }
            Predicate::Boost(inner, factor) => {
                Predicate::Boost(Box::new(self.resolve(inner, filter)?), *factor)
            }
            other => other.clone(),
        })
    }

    /// `outer` and another condition.
    fn filter(&self, predicate: &Predicate, outer: &Filter) -> Result<Filter, QueryError> {
        let is_all = *predicate == Predicate::Everything;
        let set = match self.reader.filter(|_| !is_all) {
            None => outer.set.clone(),
            Some(reader) => {
                let mut sets = IndexSets {
                    reader,
                    source: self.source,
                    options: self.options,
                    budget: budget(self.options),
                };
                let (certain, uncertain) = sets.find(predicate)?.into_parts();
                let checked = evaluate_entries(&uncertain, predicate, self.source, self.options)?;
                let own = certain.or(&checked);
                Some(match &outer.set {
                    Some(outer) => own.and(outer),
                    None => own,
                })
            }
        };
        Ok(Filter {
            predicate: outer.predicate.clone().and(predicate.clone()),
            set,
        })
    }

    fn search(&self, test: &NearTest, filter: &Filter) -> Result<Found, QueryError> {
        let mut best: BTreeMap<u64, f32> = BTreeMap::new();
        for target in self.targets(test)? {
            let mut nearest = Nearest::new(test.count);
            self.search_index(test, &target, filter, &mut nearest)?;
            self.search_changes(test, &target, filter, &mut nearest)?;
            for ((order, _), entries) in nearest.vectors {
                for entry in entries {
                    let similarity = similarity_of(order);
                    let best = best.entry(entry).or_insert(similarity);
                    *best = best.max(similarity);
                }
            }
        }
        let entries = best.keys().map(|entry| EntryId(*entry));
        Ok(Found {
            set: EntrySet::from_ascending(entries.collect::<Vec<EntryId>>()),
            similarities: best.into_iter().collect(),
        })
    }

    /// The vectors to be near to.
    fn targets(&self, test: &NearTest) -> Result<Vec<Vector>, QueryError> {
        let mut vectors = Vec::new();
        for target in &test.targets {
            let id = match target {
                Target::Vector(vector) => {
                    vectors.push(vector.clone());
                    continue;
                }
                Target::Document(id) => id,
            };
            let found = self.source.document_by_id(id).map_err(QueryError::Source)?;
            let missing = || {
                QueryError::invalid(format!(
                    "There is no document '{id}' whose vectors to search for"
                ))
            };
            let number = found.ok_or_else(missing)?.number;
            for entry in self.source.entries_of(number).map_err(QueryError::Source)? {
                let document = self
                    .source
                    .document(entry.into())
                    .map_err(QueryError::Source)?;
                if let (Some(document), Field::Values(field)) = (document, &test.field) {
                    vectors_of(&document, &field.path, test.embedding, &mut |vector| {
                        vectors.extend(vector);
                    });
                }
            }
        }
        Ok(vectors)
    }

    fn search_index(
        &self,
        test: &NearTest,
        target: &Vector,
        filter: &Filter,
        nearest: &mut Nearest,
    ) -> Result<(), QueryError> {
        let (Some(reader), Field::Values(field)) = (self.reader, &test.field) else {
            return Ok(());
        };
        let Some(id) = reader.field(&field.name()) else {
            return Ok(());
        };
        // Most changes are of new documents, which have no entries to be left out.
        let mut stale = Vec::new();
        for entry in &self.stale {
            if reader.entry_terms(*entry)?.is_some() {
                stale.push(*entry);
            }
        }
        let within = match (&filter.set, stale.is_empty()) {
            (set, true) => set.clone(),
            (set, false) => {
                let all = set.clone().map_or_else(|| reader.all(), Ok)?;
                Some(all.and_not(&EntrySet::from_ascending(stale)))
            }
        };
        let how = NearestOptions {
            count: test.count,
            minimum: test.minimum,
            is_exact: test.is_exact,
            within: within.as_ref(),
        };
        for near in reader.nearest(id, target, &how, &mut budget(self.options))? {
            nearest.offer(near.similarity, near.vector, near.entry.0);
        }
        Ok(())
    }

    /// Compares documents that the index has not seen; all of them without an index.
    fn search_changes(
        &self,
        test: &NearTest,
        target: &Vector,
        filter: &Filter,
        nearest: &mut Nearest,
    ) -> Result<(), QueryError> {
        if self.index.is_some() {
            return self.compare(
                test,
                target,
                filter,
                nearest,
                self.changed.iter().map(|n| Ok(*n)),
            );
        }
        let all = self.source.changed(self.scope, jackdaw_model::Etag(0));
        let all = all.map_err(QueryError::Source)?;
        let all = all.map(|number| number.map_err(QueryError::Source));
        self.compare(test, target, filter, nearest, all)
    }

    fn compare(
        &self,
        test: &NearTest,
        target: &Vector,
        filter: &Filter,
        nearest: &mut Nearest,
        numbers: impl Iterator<Item = Result<DocumentNumber, QueryError>>,
    ) -> Result<(), QueryError> {
        let Field::Values(field) = &test.field else {
            return Ok(());
        };
        for (visited, number) in (1_u64..).zip(numbers) {
            if visited.is_multiple_of(CHECK_DOCUMENTS) {
                self.options.check()?;
            }
            let number = number?;
            let document = self.source.document(number).map_err(QueryError::Source)?;
            let Some(document) = document.filter(|document| matches(&filter.predicate, document))
            else {
                continue;
            };
            vectors_of(&document, &field.path, test.embedding, &mut |vector| {
                let alike = vector
                    .ok()
                    .filter(|vector| vector.dimensions() == target.dimensions());
                if let Some(vector) = alike {
                    let similarity = target.similarity(&vector);
                    if vector.storage().scaled(similarity) >= test.minimum {
                        nearest.offer(similarity, vector.identity(), number.0);
                    }
                }
            });
        }
        Ok(())
    }
}

/// The nearest different vectors that were offered, with all entries that have one.
struct Nearest {
    count: usize,
    /// By similarity, the nearest first, and by what tells vectors apart.
    vectors: BTreeMap<(u32, u128), Vec<u64>>,
}

impl Nearest {
    fn new(count: usize) -> Nearest {
        Nearest {
            count,
            vectors: BTreeMap::new(),
        }
    }

    fn offer(&mut self, similarity: f32, vector: u128, entry: u64) {
        let key = (order_of(similarity), vector);
        let is_full = self.vectors.len() >= self.count;
        if is_full
            && self
                .vectors
                .last_key_value()
                .is_some_and(|(last, _)| key > *last)
        {
            return;
        }
        self.vectors.entry(key).or_default().push(entry);
        if self.vectors.len() > self.count {
            self.vectors.pop_last();
        }
    }
}

/// A number that is less for what is nearer.
fn order_of(similarity: f32) -> u32 {
    let bits = similarity.to_bits();
    // The bits of floats order as the floats do when the sign is flipped, and all of those below 0.
    let ascending = match bits >> 31 {
        0 => bits | 1 << 31,
        _ => !bits,
    };
    !ascending
}

/// The similarity that [`order_of`] was given.
fn similarity_of(order: u32) -> f32 {
    let ascending = !order;
    f32::from_bits(match ascending >> 31 {
        1 => ascending & !(1 << 31),
        _ => !ascending,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_similarities_come_back() {
        let ascending = [-1.0, -0.5, -0.0, 0.0, 1e-9, 0.25, 1.0_f32];
        for pair in ascending.windows(2) {
            assert!(order_of(pair[0]) > order_of(pair[1]), "{pair:?}");
            assert_eq!(similarity_of(order_of(pair[0])), pair[0]);
        }
    }
}

//! Scores of matches, for `order by score()` and `boost(...)`.
//!
//! Called by `ordered`. Matches that the index knows are scored there; those of documents changed
//! since, through an index in memory of all such documents. Statistics are of both together, so a
//! score is that of the present documents.
//!
//! Invariants:
//! - The score of a match is the sum over the tests it passes, outside `not`: what the index says
//!   of terms (see `search::reader::score`), the idf of a value for equality and of a term of
//!   `moreLikeThis`, how near the nearest vector is for a search for vectors, 1 for other tests;
//!   each times the boosts around it. Inside `or`, the parts of an `and` count where all of it
//!   holds.
//!
//! Threads: one.

use std::collections::BTreeMap;

use jackdaw_search::{
    Batch, Budget, EntryId, EntrySet, IndexReader, IndexWriter, MemoryStore, Scores,
    TextStatistics, idf,
};
use jackdaw_storage::PageRead;

use super::ExecuteOptions;
use super::index_set::{IndexMatches, IndexSets, evaluate_entries, find_test};
use crate::error::QueryError;
use crate::fields::{IndexField, add_terms};
use crate::plan::{Access, Plan};
use crate::predicate::{Field, Predicate, Test};
use crate::source::Source;

/// Looks at the interrupt flag once in so many documents.
const CHECK_DOCUMENTS: u64 = 256;

/// By entry: what its score is the sum of.
pub(super) type Parts = BTreeMap<u64, Vec<String>>;

/// Scores all matches.
pub(super) fn scores<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    found: &IndexMatches,
) -> Result<(Scores, Option<Parts>), QueryError> {
    let mut charge = options.charge(
        "order by score()",
        "Add conditions, so that fewer documents match.",
    );
    let len_bytes = Scores::len_bytes(found.result.len());
    charge.set(usize::try_from(len_bytes).unwrap_or(usize::MAX))?;
    // The scores stay until all rows were given.
    charge.keep();
    let predicate = &plan.query.predicate;
    let access = source.index().filter(|_| plan.access == Access::Index);
    let main = access.as_ref().and_then(|access| access.reader);
    // Without an index the matches are all there is.
    let changed = match main {
        Some(_) => found.stale.clone(),
        None => found.result.clone(),
    };
    let store = index_in_memory(plan, source, options, &changed)?;
    let memory = IndexReader::open(&store)?;
    let mut scoring = Scoring {
        source,
        options,
        main,
        stale: &found.stale,
        memory: memory.as_ref(),
        scores: Scores::new(&found.result),
        parts: plan.query.has_explanations.then(BTreeMap::new),
    };
    let within = Within {
        main: found.result.and_not(&changed),
        memory: found.result.and(&changed),
    };
    scoring.add(predicate, &within, 1.0)?;
    Ok((scoring.scores, scoring.parts))
}

/// An index of the fields of the condition over some documents.
pub(super) fn index_in_memory<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    numbers: &EntrySet,
) -> Result<MemoryStore, QueryError> {
    if numbers.is_empty() {
        return Ok(MemoryStore::new());
    }
    options.measured(
        || "make an index in memory of what no index has seen".into(),
        "documents",
        |_| Some(numbers.len()),
        || fill_index(plan, source, options, numbers),
    )
}

fn fill_index<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    numbers: &EntrySet,
) -> Result<MemoryStore, QueryError> {
    let mut fields: Vec<&IndexField> = Vec::new();
    plan.query.predicate.for_each_field(&mut |field| {
        if let Field::Values(field) = field
            && field.options().vector.is_none()
            && !fields.contains(&field)
        {
            fields.push(field);
        }
    });
    let mut batch = Batch::new();
    let mut charge = options.charge(
        "order by score()",
        "Ask again when the index has caught up.",
    );
    let mut slots = Vec::with_capacity(fields.len());
    for field in &fields {
        slots.push(batch.field(&field.name(), field.options())?);
    }
    for (visited, entry) in (1_u64..).zip(numbers) {
        if visited.is_multiple_of(CHECK_DOCUMENTS) {
            options.check()?;
        }
        let found = source.document(entry.into()).map_err(QueryError::Source)?;
        let Some(document) = found.filter(|document| plan.scope.contains(document.collection))
        else {
            continue;
        };
        let mut terms = batch.put(entry)?;
        for (field, slot) in fields.iter().zip(&slots) {
            add_terms(&document, field, *slot, &mut terms);
        }
        charge.set(batch.len_bytes())?;
    }
    charge.keep();
    let mut store = MemoryStore::new();
    IndexWriter::new().apply(&mut store, &batch, None)?;
    Ok(store)
}

/// Matches in the index, and in memory.
struct Within {
    main: EntrySet,
    memory: EntrySet,
}

struct Scoring<'s, S: Source> {
    source: &'s S,
    options: &'s ExecuteOptions<'s>,
    main: Option<&'s IndexReader<'s, S::Pages>>,
    stale: &'s EntrySet,
    memory: Option<&'s IndexReader<'s, jackdaw_storage::MemoryPages>>,
    scores: Scores,
    /// What each test adds to each score, when that is asked for.
    parts: Option<Parts>,
}

impl<S: Source> Scoring<'_, S> {
    fn budget(&self) -> Budget<'_> {
        match self.options.interrupt {
            Some(flag) => Budget::unlimited().interrupted_by(flag),
            None => Budget::unlimited(),
        }
    }

    fn add(
        &mut self,
        predicate: &Predicate,
        within: &Within,
        factor: f64,
    ) -> Result<(), QueryError> {
        self.options.check()?;
        match predicate {
            Predicate::Everything | Predicate::Nothing | Predicate::Not(_) | Predicate::Like(_) => {
                Ok(())
            }
            Predicate::Boost(inner, boost) => self.add(inner, within, factor * boost),
            Predicate::And(list) => list
                .iter()
                .try_for_each(|part| self.add(part, within, factor)),
            Predicate::Intersection(intersection) => {
                for part in intersection.parts() {
                    let within = self.restrict(part, within)?;
                    self.add(part, &within, factor)?;
                }
                Ok(())
            }
            Predicate::Or(list) => {
                for part in list {
                    match is_compound(part) {
                        true => {
                            let within = self.restrict(part, within)?;
                            self.add(part, &within, factor)?;
                        }
                        false => self.add(part, within, factor)?,
                    }
                }
                Ok(())
            }
            Predicate::Test(..) | Predicate::Near(_) if self.parts.is_some() => {
                let mut parts = self.parts.take().unwrap_or_default();
                let before = self.scores.clone();
                let result = self.add(predicate, within, factor);
                for set in [&within.main, &within.memory] {
                    for entry in set {
                        let part = self.scores.get(entry) - before.get(entry);
                        if part != 0.0 {
                            let boost = match factor == 1.0 {
                                true => String::new(),
                                false => format!(", boosted {factor} times"),
                            };
                            let text = format!("{part:.6} = {predicate}{boost}");
                            parts.entry(entry.0).or_default().push(text);
                        }
                    }
                }
                self.parts = Some(parts);
                result
            }
            Predicate::Near(test) => {
                for (entry, similarity) in test.similarities() {
                    let entry = EntryId(*entry);
                    if within.main.contains(entry) || within.memory.contains(entry) {
                        self.scores.add(entry, factor * f64::from(*similarity));
                    }
                }
                Ok(())
            }
            Predicate::Test(Field::Id, _) => {
                for set in [&within.main, &within.memory] {
                    let found = evaluate_entries(set, predicate, self.source, self.options)?;
                    self.scores.add_all(&found, factor);
                }
                Ok(())
            }
            Predicate::Test(Field::Values(field), Test::Terms(test)) if !test.is_like() => {
                self.add_terms_test(field, test, within, factor)
            }
            Predicate::Test(Field::Values(field), test) => {
                self.add_test(predicate, field, test, within, factor)
            }
        }
    }

    /// What of `within` passes a condition.
    fn restrict(&self, predicate: &Predicate, within: &Within) -> Result<Within, QueryError> {
        let main = match self.main {
            None => EntrySet::new(),
            Some(reader) => {
                let mut sets = IndexSets {
                    reader,
                    source: self.source,
                    options: self.options,
                    budget: self.budget(),
                };
                let (certain, uncertain) = sets.find(predicate)?.into_parts();
                let uncertain = uncertain.and(&within.main);
                let checked = evaluate_entries(&uncertain, predicate, self.source, self.options)?;
                certain.and(&within.main).or(&checked)
            }
        };
        let memory = evaluate_entries(&within.memory, predicate, self.source, self.options)?;
        Ok(Within { main, memory })
    }

    fn add_terms_test(
        &mut self,
        field: &IndexField,
        test: &crate::predicate::TermsTest,
        within: &Within,
        factor: f64,
    ) -> Result<(), QueryError> {
        let mut statistics = TextStatistics::default();
        let name = field.name();
        let main = self
            .main
            .and_then(|reader| Some((reader, reader.field(&name)?)));
        let memory = self
            .memory
            .and_then(|reader| Some((reader, reader.field(&name)?)));
        if let Some((reader, id)) = main {
            let query = test.query(reader.field_info(id).options());
            reader.add_statistics(id, &query, self.stale, &mut statistics)?;
        }
        if let Some((reader, id)) = memory {
            let query = test.query(reader.field_info(id).options());
            reader.add_statistics(id, &query, &EntrySet::new(), &mut statistics)?;
        }
        let mut budget = match self.options.interrupt {
            Some(flag) => Budget::unlimited().interrupted_by(flag),
            None => Budget::unlimited(),
        };
        let (scores, budget) = (&mut self.scores, &mut budget);
        if let Some((reader, id)) = main {
            let query = test.query(reader.field_info(id).options());
            reader.add_scores(
                id,
                &query,
                &statistics,
                &within.main,
                factor,
                budget,
                scores,
            )?;
        }
        if let Some((reader, id)) = memory {
            let query = test.query(reader.field_info(id).options());
            reader.add_scores(
                id,
                &query,
                &statistics,
                &within.memory,
                factor,
                budget,
                scores,
            )?;
        }
        Ok(())
    }

    /// Tests of whole values, and terms of `moreLikeThis`: rare ones tell more, when they are
    /// equalities.
    fn add_test(
        &mut self,
        predicate: &Predicate,
        field: &IndexField,
        test: &Test,
        within: &Within,
        factor: f64,
    ) -> Result<(), QueryError> {
        let mut total = 0;
        let mut passing = EntrySet::new();
        let mut budget = self.budget();
        if let Some(reader) = self.main {
            let (found, uncertain) = passes(reader, field, test, &mut budget)?;
            let uncertain = uncertain.and_not(self.stale);
            let checked = evaluate_entries(&uncertain, predicate, self.source, self.options)?;
            let found = found.and_not(self.stale).or(&checked);
            total += found.len();
            passing = found.and(&within.main);
        }
        let changed = match self.memory {
            None => EntrySet::new(),
            Some(reader) => {
                let (found, uncertain) = passes(reader, field, test, &mut budget)?;
                let checked = evaluate_entries(&uncertain, predicate, self.source, self.options)?;
                found.or(&checked)
            }
        };
        total += changed.len();
        let passing = passing.or(&changed.and(&within.memory));
        let is_rare_telling = match test {
            Test::Text(_) | Test::Number(_) | Test::Null => true,
            Test::Terms(test) => test.is_like(),
            _ => false,
        };
        let weight = match is_rare_telling {
            true => {
                let main = self.main.map_or(0, |reader| reader.entry_count());
                let stale = match self.main {
                    Some(reader) if !self.stale.is_empty() => reader.all()?.and(self.stale).len(),
                    _ => 0,
                };
                let memory = self.memory.map_or(0, |reader| reader.entry_count());
                idf(main - stale + memory, total)
            }
            false => 1.0,
        };
        self.scores.add_all(&passing, factor * weight);
        Ok(())
    }
}

/// The entries of an index that pass a test, and those that may.
fn passes<P: PageRead + ?Sized>(
    reader: &IndexReader<'_, P>,
    field: &IndexField,
    test: &Test,
    budget: &mut Budget<'_>,
) -> Result<(EntrySet, EntrySet), QueryError> {
    Ok(match reader.field(&field.name()) {
        Some(id) => find_test(reader, id, test, budget)?.into_parts(),
        None => (EntrySet::new(), EntrySet::new()),
    })
}

/// Whether a part of an `or` holds only together with others.
fn is_compound(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::And(_) => true,
        Predicate::Boost(inner, _) => is_compound(inner),
        _ => false,
    }
}

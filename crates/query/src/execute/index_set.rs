//! The matches of a condition from an index, brought up to date with the changes it has not seen.
//!
//! The condition is answered by set operations over the index; what the index cannot tell (texts
//! longer than it keeps, conditions cheaper to test than to look up) is evaluated on documents.
//! Entries of documents changed since are taken out, and those documents are evaluated.

use std::ops::{Bound, ControlFlow};

use jackdaw_base::number::Number;
use jackdaw_search::{Budget, EntrySet, FieldId, IndexReader, Matches, SetBuilder, Term, TermKind};
use jackdaw_storage::PageRead;

use super::ExecuteOptions;
use crate::error::QueryError;
use crate::evaluate::{is_beyond, matches, text_passes_folded};
use crate::plan::{Plan, estimate};
use crate::predicate::{Field, OneOf, Predicate, Test};
use crate::source::{IndexAccess, IndexRows, Source};

/// So few candidates are cheaper to evaluate than to meet with another list that is not short.
const EVALUATE_ENTRIES_MAX: u64 = 64;

/// A range of fewer numbers, or of fewer than one of so many of the field's terms, and of fewer
/// entries, or fewer than one of so many, wishes for no column of the field: making it takes a walk
/// over all terms, using it a look at all entries.
const WALK_TERMS_WORTH: u64 = 64;
const TERMS_WORTH: u64 = 64;
const WALK_ENTRIES_WORTH: u64 = 4_096;
const ENTRIES_WORTH: u64 = 16;

/// Looks at the interrupt flag once in so many documents.
const CHECK_DOCUMENTS: u64 = 256;

/// Matches of a plan that uses an index.
pub(super) struct IndexMatches {
    /// All of them.
    pub(super) result: EntrySet,
    /// Those among them whose documents changed after the index saw them: their terms in the
    /// index, if any, are not theirs any more.
    pub(super) tail: EntrySet,
    /// All entries that do not count any more, of documents that match now or not.
    pub(super) stale: EntrySet,
}

/// The number of entries when the matches are all entries of the index: there is no condition, and
/// it has seen every change.
pub(super) fn matches_everything<S: Source>(
    plan: &Plan<'_>,
    source: &S,
) -> Result<Option<u64>, QueryError> {
    let Some(index) = source.index() else {
        return Ok(None);
    };
    let (Some(reader), Predicate::Everything) = (index.reader, &plan.query.predicate) else {
        return Ok(None);
    };
    let is_whole = has_seen_everything(plan, &index, source)?;
    Ok(is_whole.then(|| reader.entry_count()))
}

/// Whether no document of the query changed after the index saw it.
pub(super) fn has_seen_everything<S: Source>(
    plan: &Plan<'_>,
    index: &IndexAccess<'_, S::Pages>,
    source: &S,
) -> Result<bool, QueryError> {
    if index.rows != IndexRows::Documents {
        return Ok(true);
    }
    let after = index.indexed_up_to;
    let mut removed = source
        .removed(&plan.scope, after)
        .map_err(QueryError::Source)?;
    let mut changed = source
        .changed(&plan.scope, after)
        .map_err(QueryError::Source)?;
    Ok(removed.next().is_none() && changed.next().is_none())
}

/// All matches of the plan's condition.
pub(super) fn index_matches<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<IndexMatches, QueryError> {
    let Some(index) = source.index() else {
        return Err(QueryError::IndexMissing(plan.index_name().to_owned()));
    };
    let found = |matches: &IndexMatches| Some(matches.result.len());
    options.measured(
        || "look up in the index".into(),
        "entries",
        found,
        || look_up(plan, &index, source, options),
    )
}

fn look_up<S: Source>(
    plan: &Plan<'_>,
    index: &IndexAccess<'_, S::Pages>,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<IndexMatches, QueryError> {
    let predicate = &plan.query.predicate;
    let (changed, tail) = changes(plan, index, source, options)?;
    let mut found = match index.reader {
        None => Matches::none(),
        Some(reader) => {
            let budget = match options.interrupt {
                Some(flag) => Budget::unlimited().interrupted_by(flag),
                None => Budget::unlimited(),
            };
            IndexSets {
                reader,
                source,
                options,
                budget,
            }
            .find(predicate)?
        }
    };
    if !changed.is_empty() {
        found = found.and_not(&Matches::exactly(changed.clone()));
    }
    let mut result = found.certain().clone();
    if !found.is_exact() {
        let checked = options.measured(
            || "evaluate documents where the index cannot tell".into(),
            "matches",
            |checked: &EntrySet| Some(checked.len()),
            || evaluate_entries(found.uncertain(), predicate, source, options),
        )?;
        result = result.or(&checked);
    }
    if !tail.is_empty() {
        result = result.or(&tail);
    }
    Ok(IndexMatches {
        result,
        tail,
        stale: changed,
    })
}

/// Numbers whose entries no longer count because the documents changed after the index saw them,
/// and those of them that match now.
pub(super) fn changes<S: Source>(
    plan: &Plan<'_>,
    index: &IndexAccess<'_, S::Pages>,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<(EntrySet, EntrySet), QueryError> {
    match index.rows {
        IndexRows::Documents => options.measured(
            || match index.is_cut {
                false => "evaluate changes that the index has not seen".into(),
                true => "take out what was deleted since".into(),
            },
            "changes",
            |(changed, _): &(EntrySet, EntrySet)| Some(changed.len()),
            || evaluate_changes(plan, index, source, options),
        ),
        // Their numbers are not those of documents: what changed is known to the index alone.
        IndexRows::Entries { .. } | IndexRows::Results => Ok((EntrySet::new(), EntrySet::new())),
    }
}

fn evaluate_changes<S: Source>(
    plan: &Plan<'_>,
    index: &IndexAccess<'_, S::Pages>,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<(EntrySet, EntrySet), QueryError> {
    let after = index.indexed_up_to;
    let (mut stale, mut tail) = (SetBuilder::new(LAST), SetBuilder::new(LAST));
    for number in source
        .removed(&plan.scope, after)
        .map_err(QueryError::Source)?
    {
        stale.add(number.map_err(QueryError::Source)?.into());
    }
    let changed = source
        .changed(&plan.scope, after)
        .map_err(QueryError::Source)?;
    for (visited, number) in (1_u64..).zip(changed) {
        if visited.is_multiple_of(CHECK_DOCUMENTS) {
            options.check()?;
        }
        let number = number.map_err(QueryError::Source)?;
        stale.add(number.into());
        if let Some(document) = source.document(number).map_err(QueryError::Source)?
            && matches(&plan.query.predicate, &document)
        {
            tail.add(number.into());
        }
    }
    Ok((stale.finish(), tail.finish()))
}

/// A builder hint: sets of changes are small, so their greatest number does not matter.
const LAST: jackdaw_search::EntryId = jackdaw_search::EntryId(0);

/// The entries of `candidates` whose documents match.
pub(crate) fn evaluate_entries<S: Source>(
    candidates: &EntrySet,
    predicate: &Predicate,
    source: &S,
    options: &ExecuteOptions<'_>,
) -> Result<EntrySet, QueryError> {
    let mut checked = Vec::new();
    for (visited, entry) in (1_u64..).zip(candidates) {
        if visited.is_multiple_of(CHECK_DOCUMENTS) {
            options.check()?;
        }
        if let Some(document) = source.document(entry.into()).map_err(QueryError::Source)?
            && matches(predicate, &document)
        {
            checked.push(entry);
        }
    }
    Ok(EntrySet::from_ascending(checked))
}

/// Answers conditions from an index.
pub(crate) struct IndexSets<'e, S: Source> {
    pub(crate) reader: &'e IndexReader<'e, S::Pages>,
    pub(crate) source: &'e S,
    pub(crate) options: &'e ExecuteOptions<'e>,
    pub(crate) budget: Budget<'e>,
}

impl<S: Source> IndexSets<'_, S> {
    pub(crate) fn find(&mut self, predicate: &Predicate) -> Result<Matches, QueryError> {
        self.options.check()?;
        let what = || match predicate {
            Predicate::And(_) => "and".into(),
            Predicate::Or(_) => "or".into(),
            Predicate::Not(_) => "not".into(),
            Predicate::Boost(..) => "boost".into(),
            Predicate::Everything => "every entry".into(),
            test => test.to_string(),
        };
        let found = |found: &Matches| Some(found.possible().len());
        self.options
            .measured(what, "entries", found, || self.find_now(predicate))
    }

    fn find_now(&mut self, predicate: &Predicate) -> Result<Matches, QueryError> {
        match predicate {
            Predicate::Everything => Ok(Matches::exactly(self.reader.all()?)),
            Predicate::Nothing => Ok(Matches::none()),
            Predicate::Test(Field::Id, test) => self.find_ids(test),
            Predicate::Test(Field::Values(field), test) => {
                match self.reader.field(&field.name()) {
                    Some(id) => match test {
                        Test::NumberRange(low, high) => self.find_numbers(id, *low, *high),
                        test => find_test(self.reader, id, test, &mut self.budget),
                    },
                    // No entry has the field.
                    None => Ok(Matches::none()),
                }
            }
            Predicate::Not(inner) => {
                let inner = self.find(inner)?;
                Ok(self.reader.complement(&inner)?)
            }
            Predicate::And(list) => self.find_all(list),
            Predicate::Boost(inner, _) => self.find(inner),
            Predicate::Like(_) => Ok(Matches::none()),
            Predicate::Near(test) => Ok(Matches::exactly(test.set())),
            Predicate::Intersection(intersection) => Ok(Matches::exactly(intersection.set())),
            Predicate::Or(list) => {
                let mut any = Matches::none();
                for predicate in list {
                    any = any.or(&self.find(predicate)?);
                }
                Ok(any)
            }
        }
    }

    /// Entries with a number in a range: by the column of the field when it is in memory and pays.
    /// Where the walk instead of it meets many terms or entries, one is wished for.
    fn find_numbers(
        &mut self,
        field: FieldId,
        low: Bound<Number>,
        high: Bound<Number>,
    ) -> Result<Matches, QueryError> {
        let index = self.source.index();
        let columns = index.and_then(|index| index.columns);
        let key = (field, TermKind::Number);
        if let Some(columns) = columns
            && let Some(column) = columns.known(self.reader, key, self.options)?
            && let Some(found) = self.reader.number_range_by(&column, field, low, high)?
        {
            return Ok(Matches::exactly(found));
        }
        let before = self.budget.visited();
        let found = self
            .reader
            .number_range(field, low, high, &mut self.budget)?;
        let walked = self.budget.visited() - before;
        let term_count = self.reader.field_info(field).term_count();
        let (met, entry_count) = (found.certain().len(), self.reader.entry_count());
        let has_many_terms =
            walked >= WALK_TERMS_WORTH && walked.saturating_mul(TERMS_WORTH) >= term_count;
        let has_many_entries =
            met >= WALK_ENTRIES_WORTH && met.saturating_mul(ENTRIES_WORTH) >= entry_count;
        let met = match (has_many_terms, has_many_entries) {
            // Terms are dearer than entries.
            (true, _) => entry_count,
            (false, true) => met,
            (false, false) => return Ok(found),
        };
        if let Some(columns) = columns {
            columns.wish(self.reader, key, met, self.options)?;
        }
        Ok(found)
    }

    /// The rarest conditions first; complements last, because they only take away.
    fn find_all(&mut self, list: &[Predicate]) -> Result<Matches, QueryError> {
        let mut ordered = Vec::with_capacity(list.len());
        for predicate in list {
            let (is_negative, inner) = match predicate {
                Predicate::Not(inner) => (true, &**inner),
                predicate => (false, predicate),
            };
            let count = estimate(self.reader, inner)?.unwrap_or(u64::MAX);
            ordered.push((is_negative, count, inner));
        }
        ordered.sort_by_key(|(is_negative, count, _)| (*is_negative, *count));
        let mut found: Option<Matches> = None;
        for (is_negative, count, predicate) in ordered {
            let Some(current) = found else {
                let first = self.find_part(is_negative, predicate, None)?;
                found = Some(match is_negative {
                    true => self.reader.complement(&first)?,
                    false => first,
                });
                continue;
            };
            let possible = current.possible();
            if possible.is_empty() {
                return Ok(current);
            }
            if possible.len() <= EVALUATE_ENTRIES_MAX && count > possible.len() {
                return Ok(Matches::new(EntrySet::new(), &possible));
            }
            let next = self.find_part(is_negative, predicate, Some(&possible))?;
            found = Some(match is_negative {
                true => current.and_not(&next),
                false => current.and(&next),
            });
        }
        found.map_or_else(|| Ok(Matches::exactly(self.reader.all()?)), Ok)
    }

    /// One condition of several, which may be one whose entries are taken away.
    fn find_part(
        &mut self,
        is_negative: bool,
        predicate: &Predicate,
        within: Option<&EntrySet>,
    ) -> Result<Matches, QueryError> {
        let options = self.options;
        let mut look_up = || {
            let probed = within.map(|within| self.find_within(predicate, within));
            match probed.transpose()?.flatten() {
                Some(found) => Ok(found),
                None => self.find(predicate),
            }
        };
        let found = |found: &Matches| Some(found.possible().len());
        match is_negative {
            true => options.measured(|| "take away".into(), "entries", found, look_up),
            false => look_up(),
        }
    }

    /// Single terms are probed when the candidates are few.
    fn find_within(
        &self,
        predicate: &Predicate,
        within: &EntrySet,
    ) -> Result<Option<Matches>, QueryError> {
        let Predicate::Test(Field::Values(field), test) = predicate else {
            return Ok(None);
        };
        let Some(id) = self.reader.field(&field.name()) else {
            return Ok(None);
        };
        let term = match test {
            Test::Text(text) => Term::Text(text),
            Test::Number(number) => Term::Number(*number),
            _ => return Ok(None),
        };
        self.options.measured(
            || format!("{predicate}, among {} entries", within.len()),
            "entries",
            |found: &Option<Matches>| found.as_ref().map(|found| found.possible().len()),
            || Ok(Some(self.reader.term_within(id, term, within)?)),
        )
    }

    /// Entries whose id passes, from the database's own order of ids.
    fn find_ids(&self, test: &Test) -> Result<Matches, QueryError> {
        let mut set = SetBuilder::new(LAST);
        let mut add = |id: &str| -> Result<(), QueryError> {
            if let Some(found) = self.source.document_by_id(id).map_err(QueryError::Source)? {
                for entry in self
                    .source
                    .entries_of(found.number)
                    .map_err(QueryError::Source)?
                {
                    set.add(entry);
                }
            }
            Ok(())
        };
        match test {
            Test::Text(id) => add(id)?,
            Test::OneOf(ids) => ids.texts().iter().try_for_each(|id| add(id))?,
            Test::Null
            | Test::Number(_)
            | Test::NumberRange(..)
            | Test::Terms(_)
            | Test::Place(_) => {}
            Test::Exists => return Ok(Matches::exactly(self.reader.all()?)),
            Test::Prefix(_) | Test::Suffix(_) | Test::TextRange(..) | Test::TimeRange(..) => {
                let from: &str = match test {
                    Test::Prefix(prefix) => prefix,
                    Test::TextRange(Bound::Included(low) | Bound::Excluded(low), _) => low,
                    _ => "",
                };
                let (mut visited, mut stopped) = (0_u64, Ok(()));
                self.source
                    .visit_ids(from, &mut |id, number| {
                        visited += 1;
                        if visited.is_multiple_of(CHECK_DOCUMENTS) {
                            stopped = self.options.check();
                        }
                        if stopped.is_err() || is_beyond(test, id) {
                            return ControlFlow::Break(());
                        }
                        if text_passes_folded(test, id) {
                            match self.source.entries_of(number) {
                                Ok(entries) => entries.into_iter().for_each(|entry| set.add(entry)),
                                Err(error) => {
                                    stopped = Err(QueryError::Source(error));
                                    return ControlFlow::Break(());
                                }
                            }
                        }
                        ControlFlow::Continue(())
                    })
                    .map_err(QueryError::Source)?;
                stopped?;
            }
        }
        // Ids are of all collections, entries of one.
        Ok(Matches::exactly(set.finish().and(&self.reader.all()?)))
    }
}

pub(super) fn find_test<P: PageRead + ?Sized>(
    reader: &IndexReader<'_, P>,
    field: FieldId,
    test: &Test,
    budget: &mut Budget<'_>,
) -> Result<Matches, QueryError> {
    Ok(match test {
        Test::Null => Matches::exactly(reader.null(field)?),
        Test::Text(text) => reader.term(field, Term::Text(text))?,
        Test::Number(number) => reader.term(field, Term::Number(*number))?,
        Test::OneOf(values) => reader.any_of(field, terms_of(values))?,
        Test::TextRange(low, high) => find_texts(reader, field, low, high, budget)?,
        Test::TimeRange(low, high) => {
            reader.time_range(field, as_str(low), as_str(high), budget)?
        }
        Test::NumberRange(low, high) => reader.number_range(field, *low, *high, budget)?,
        Test::Prefix(prefix) => reader.prefix(field, prefix, budget)?,
        Test::Suffix(suffix) => reader.suffix(field, suffix, budget)?,
        Test::Exists => Matches::exactly(reader.exists(field)?),
        Test::Place(test) => reader.places(field, &test.shape, test.relation, budget)?,
        Test::Terms(test) => {
            let query = test.query(reader.field_info(field).options());
            reader.text(field, &query, budget)?
        }
    })
}

/// Entries with a text in a range. Numbers and booleans have texts too, which do not count: where
/// an entry has one, its document decides.
fn find_texts<P: PageRead + ?Sized>(
    reader: &IndexReader<'_, P>,
    field: FieldId,
    low: &Bound<Box<str>>,
    high: &Bound<Box<str>>,
    budget: &mut Budget<'_>,
) -> Result<Matches, QueryError> {
    let found = reader.text_range(field, as_str(low), as_str(high), budget)?;
    let possible = found.possible();
    if possible.is_empty() || reader.field_info(field).options().analyzer.is_full_text() {
        return Ok(found);
    }
    let mut others = reader.number_range(field, Bound::Unbounded, Bound::Unbounded, budget)?;
    for value in [false, true] {
        others = others.or(&reader.term(field, Term::Boolean(value))?);
    }
    let others = others.possible();
    let certain = found.certain().and_not(&others);
    Ok(Matches::new(certain, &possible))
}

fn as_str(bound: &Bound<Box<str>>) -> Bound<&str> {
    bound.as_ref().map(|text| &**text)
}

fn terms_of(values: &OneOf) -> impl Iterator<Item = Term<'_>> {
    let null = values.has_null().then_some(Term::Null);
    let texts = values.texts().iter().map(|text| Term::Text(text));
    let numbers = values.numbers().iter().map(|number| Term::Number(*number));
    null.into_iter().chain(texts).chain(numbers)
}

//! Matches of a condition on words in the order of their scores, found and scored in one walk.
//!
//! Called by `ordered` first of all; it goes on when the query is for more than that.
//!
//! Invariants:
//! - Rows, scores and total are those of `score` and `ordered::best_rows`.

use jackdaw_search::{Budget, EntrySet, IndexReader, Ranked, Scores, TextStatistics};

use super::ExecuteOptions;
use super::index_set::changes;
use super::rows::Rows;
use super::score::index_in_memory;
use crate::error::QueryError;
use crate::fields::IndexField;
use crate::plan::{Access, Plan};
use crate::predicate::{Field, Predicate, TermsTest, Test};
use crate::source::{IndexAccess, Source};

/// Memory of a row that may be among the best: buffers hold twice as many as are wanted.
const ROW_BYTES: u64 = 64;

/// Gives the best matches to `rows`; the total, or `None` when the query is of another kind.
pub(super) fn stream<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    rows: &mut Rows<'_, S>,
) -> Result<Option<u64>, QueryError> {
    let is_by_score = match plan.query.order.as_slice() {
        [key] => key.is_best_first() && plan.access == Access::Index,
        _ => false,
    };
    let Some((field, test, factor)) = words_of(&plan.query.predicate, 1.0) else {
        return Ok(None);
    };
    let wanted = rows.wanted().filter(|wanted| *wanted > 0);
    let Some(wanted) = wanted.filter(|_| is_by_score && !plan.query.has_explanations) else {
        return Ok(None);
    };
    let index = source.index();
    let Some((index, reader)) = index
        .as_ref()
        .and_then(|index| Some((index, index.reader?)))
    else {
        return Ok(None);
    };
    let Some(id) = reader.field(&field.name()) else {
        return Ok(None);
    };
    let row_count = wanted.min(reader.entry_count());
    if row_count.saturating_mul(ROW_BYTES) > options.memory_bytes_max as u64 {
        return Ok(None);
    }
    if !reader.ranks(id, &test.query(reader.field_info(id).options())) {
        return Ok(None);
    }
    let words = Words {
        plan,
        index,
        reader,
        field,
        test,
        factor,
    };
    let Ranked { best, total } = options.measured(
        || "score the words, keep the best".into(),
        "matches",
        |ranked: &Ranked| Some(ranked.total),
        || words.rank(wanted, source, options),
    )?;
    rows.set_scores(Some(best.iter().copied().collect()), None);
    for (entry, _) in best {
        if rows.push(entry.into())?.is_break() {
            break;
        }
    }
    Ok(Some(total))
}

/// A condition on words of one field, and what its scores are multiplied by.
fn words_of(predicate: &Predicate, factor: f64) -> Option<(&IndexField, &TermsTest, f64)> {
    match predicate {
        Predicate::Test(Field::Values(field), Test::Terms(test)) if !test.is_like() => {
            Some((field, test, factor))
        }
        Predicate::Boost(inner, boost) => words_of(inner, factor * boost),
        _ => None,
    }
}

struct Words<'w, S: Source> {
    plan: &'w Plan<'w>,
    index: &'w IndexAccess<'w, S::Pages>,
    reader: &'w IndexReader<'w, S::Pages>,
    field: &'w IndexField,
    test: &'w TermsTest,
    factor: f64,
}

impl<S: Source> Words<'_, S> {
    /// The best of the index, and of the documents that changed after it saw them.
    fn rank(
        &self,
        wanted: u64,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<Ranked, QueryError> {
        let mut budget = match options.interrupt {
            Some(flag) => Budget::unlimited().interrupted_by(flag),
            None => Budget::unlimited(),
        };
        let (stale, tail) = changes(self.plan, self.index, source, options)?;
        let wanted = wanted.min(self.reader.entry_count() + tail.len());
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let store = index_in_memory(self.plan, source, options, &stale)?;
        let memory = IndexReader::open(&store)?;
        let name = self.field.name();
        let mut statistics = TextStatistics::default();
        let Some(id) = self.reader.field(&name) else {
            return Ok(Ranked::default());
        };
        let query = self.test.query(self.reader.field_info(id).options());
        self.reader
            .add_statistics(id, &query, &stale, &mut statistics)?;
        let changed = memory
            .as_ref()
            .and_then(|memory| Some((memory, memory.field(&name)?)));
        if let Some((memory, id)) = changed {
            let query = self.test.query(memory.field_info(id).options());
            memory.add_statistics(id, &query, &EntrySet::new(), &mut statistics)?;
        }
        let how = (wanted, self.factor);
        let ranked = self
            .reader
            .rank(id, &query, &statistics, &stale, how, &mut budget)?;
        let mut ranked = ranked.unwrap_or_default();
        if let Some((memory, id)) = changed {
            let query = self.test.query(memory.field_info(id).options());
            let mut scores = Scores::new(&tail);
            let (factor, budget) = (self.factor, &mut budget);
            memory.add_scores(id, &query, &statistics, &tail, factor, budget, &mut scores)?;
            let both = ranked.best.into_iter().chain(scores.best(wanted));
            ranked.best = both.collect::<Scores>().best(wanted);
        }
        ranked.total += tail.len();
        Ok(ranked)
    }
}

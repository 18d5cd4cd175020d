//! Counts of queries that want no rows, where the index knows them without a set of matches.
//!
//! Called by `execute` first of all; it goes on with the matches when this has no answer.
//!
//! Invariants:
//! - A count is the number of matches that the other ways give.

use jackdaw_search::{IndexReader, TEXT_BYTES_WHOLE_MAX, Term, TermKind};

use super::ExecuteOptions;
use super::index_set::has_seen_everything;
use super::rows::Rows;
use crate::error::QueryError;
use crate::plan::{Access, Plan};
use crate::predicate::{Field, Predicate, Test};
use crate::source::{IndexAccess, Source};

/// The number of matches.
pub(super) fn count<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    rows: &Rows<'_, S>,
) -> Result<Option<u64>, QueryError> {
    let (true, Access::Index) = (rows.wants_none(), &plan.access) else {
        return Ok(None);
    };
    let Some(index) = source.index() else {
        return Ok(None);
    };
    let Some(reader) = index.reader else {
        return Ok(None);
    };
    if !has_seen_everything(plan, &index, source)? {
        return Ok(None);
    }
    options.measured(
        || "count by the index".into(),
        "matches",
        |count: &Option<u64>| *count,
        || of_predicate(&plan.query.predicate, &index, reader, options),
    )
}

fn of_predicate<P: jackdaw_storage::PageRead + ?Sized>(
    predicate: &Predicate,
    index: &IndexAccess<'_, P>,
    reader: &IndexReader<'_, P>,
    options: &ExecuteOptions<'_>,
) -> Result<Option<u64>, QueryError> {
    let (field, test) = match predicate {
        Predicate::Everything => return Ok(Some(reader.entry_count())),
        Predicate::Boost(inner, _) => return of_predicate(inner, index, reader, options),
        Predicate::Test(Field::Values(field), test) => (field, test),
        _ => return Ok(None),
    };
    let Some(id) = reader.field(&field.name()) else {
        return Ok(Some(0));
    };
    Ok(match test {
        // Letters may take up to three times as many bytes in lower case; of texts that are cut the
        // count is not exact.
        Test::Text(text) if text.len() <= TEXT_BYTES_WHOLE_MAX / 3 => {
            Some(reader.count(id, Term::Text(text))?)
        }
        Test::Number(number) => Some(reader.count(id, Term::Number(*number))?),
        Test::Null => Some(reader.count(id, Term::Null)?),
        Test::Exists => Some(reader.exists_count(id)?),
        Test::NumberRange(low, high) => {
            let Some(columns) = index.columns else {
                return Ok(None);
            };
            match columns.known(reader, (id, TermKind::Number), options)? {
                Some(column) => reader.number_count_by(&column, id, *low, *high)?,
                None => None,
            }
        }
        Test::Terms(test) => {
            let query = test.query(reader.field_info(id).options());
            reader.count_text(id, &query)?
        }
        _ => None,
    })
}

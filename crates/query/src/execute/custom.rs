//! Matches in an order that sorters make: `order by custom(F, 'Name')`.
//!
//! Called by `ordered` when any clause is one. What the other clauses order by is told to the
//! collector as ranks, so that all clauses are compared in their order.
//!
//! Invariant: all matches are seen; an order that cannot be made is an error.

use std::cell::RefCell;

use jackdaw_script::sorter::{Clause, SortError, Sorter, SorterHost, sort};
use jackdaw_search::EntrySet;

use super::ExecuteOptions;
use super::ordered::CHECK_DOCUMENTS;
use crate::error::{BoxError, QueryError};
use crate::fields::FieldPath;
use crate::memory::Charge;
use crate::order::{Computed, Custom, OrderKey, OrderSource, SortValue};
use crate::source::Source;
use crate::syntax::Ordering;
use jackdaw_model::DocumentNumber;

/// Bytes of the rank of a value: as a number, as text, and with what orders them.
const RANK_BYTES: usize = 24;

/// The sorters of a query by the position of their keys.
pub(super) type Found<'o> = Vec<Option<&'o Sorter>>;

/// The sorters that `keys` name; `None` when they name none.
pub(super) fn find<'o>(
    keys: &[OrderKey],
    options: &ExecuteOptions<'o>,
) -> Result<Option<Found<'o>>, QueryError> {
    let mut given = options.sorters.iter();
    let sorter = |key: &OrderKey| match &key.source {
        OrderSource::Custom(Custom { name, .. }) => match given.next() {
            Some(sorter) => Ok(Some(&**sorter)),
            None => Err(QueryError::SorterMissing(name.clone())),
        },
        _ => Ok(None),
    };
    let found: Found<'o> = keys.iter().map(sorter).collect::<Result<_, _>>()?;
    Ok(found.iter().any(Option::is_some).then_some(found))
}

/// The first `wanted` of `set` in the order of `keys`.
pub(super) fn best_rows<S: Source>(
    keys: &[OrderKey],
    sorters: &Found<'_>,
    (set, wanted): (&EntrySet, u64),
    source: &S,
    options: &ExecuteOptions<'_>,
    computed: &Computed,
) -> Result<Vec<DocumentNumber>, QueryError> {
    let mut hits = Hits {
        numbers: Vec::new(),
        source,
        options,
        is_named: keys
            .iter()
            .any(|key| matches!(&key.source, OrderSource::Custom(own) if own.is_named)),
        failure: RefCell::new(None),
    };
    let mut columns: Vec<Vec<SortValue>> = keys.iter().map(|_| Vec::new()).collect();
    let row_bytes =
        keys.len() * (size_of::<SortValue>() + RANK_BYTES) + size_of::<DocumentNumber>();
    let mut len_bytes = 0;
    let mut charge = charge(options);
    for (visited, entry) in (1_u64..).zip(set) {
        if visited.is_multiple_of(CHECK_DOCUMENTS) {
            options.check()?;
        }
        let number = DocumentNumber::from(entry);
        let found = source.document(number).map_err(QueryError::Source)?;
        let Some(document) = found else { continue };
        for ((key, sorter), column) in keys.iter().zip(sorters).zip(&mut columns) {
            if sorter.is_none() {
                let value = key.value(&document, options.random_seed, computed);
                if let SortValue::Text(text) = &value {
                    len_bytes += text.len();
                }
                column.push(value);
            }
        }
        hits.numbers.push(number);
        len_bytes += row_bytes;
        charge.set(len_bytes)?;
    }
    let clauses = keys.iter().zip(sorters).zip(columns);
    let clauses: Vec<Clause<'_>> = clauses
        .map(|((key, sorter), column)| match (sorter, &key.source) {
            (Some(sorter), OrderSource::Custom(own)) => Clause::Custom {
                sorter,
                field: own.field.as_str(),
                is_descending: key.descending,
            },
            _ => Clause::Ranks(ranks(key, &column)),
        })
        .collect();
    let count = u32::try_from(hits.numbers.len()).map_err(|_| too_much(options))?;
    let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
    let order = sort(
        &clauses,
        (count, wanted),
        options.memory_bytes_max,
        &mut hits,
    );
    if let Some(failure) = hits.failure.take() {
        return Err(failure);
    }
    let order = order.map_err(|error| failed(error, options))?;
    let place = |place: &u32| usize::try_from(*place).ok();
    let numbers = order.iter().filter_map(place);
    Ok(numbers
        .filter_map(|place| hits.numbers.get(place).copied())
        .collect())
}

const WHAT: &str = "order by custom(...)";
const ADVICE: &str = "Ask for fewer documents.";

fn charge<'a>(options: &ExecuteOptions<'a>) -> Charge<'a> {
    options.charge(WHAT, ADVICE)
}

#[cold]
fn too_much(options: &ExecuteOptions<'_>) -> QueryError {
    QueryError::Memory {
        what: WHAT,
        limit_bytes: options.memory_bytes_max,
        advice: ADVICE,
    }
}

fn failed(error: SortError, options: &ExecuteOptions<'_>) -> QueryError {
    // A sorter that is stopped by the query's own end.
    if options.check().is_err() {
        return QueryError::Stopped;
    }
    match error {
        SortError::Thrown { exception, message } => QueryError::Sorter { exception, message },
        SortError::Host(error) => QueryError::Source(error),
        other => QueryError::Operation(other.to_string()),
    }
}

/// The rank of each value among all, by the order of `key`; equal values have equal ranks.
fn ranks(key: &OrderKey, values: &[SortValue]) -> Vec<u32> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by(|a, b| key.compare(&values[*a], &values[*b]));
    let mut ranks = vec![0; values.len()];
    let mut rank = 0;
    for pair in 1..places.len() {
        let (before, here) = (places[pair - 1], places[pair]);
        if key.compare(&values[before], &values[here]).is_ne() {
            rank += 1;
        }
        ranks[here] = rank;
    }
    ranks
}

/// What sorters read: the matches, by their places.
struct Hits<'h, S> {
    numbers: Vec<DocumentNumber>,
    source: &'h S,
    options: &'h ExecuteOptions<'h>,
    /// Whether names are those of fields of a named index, rather than paths.
    is_named: bool,
    failure: RefCell<Option<QueryError>>,
}

impl<S: Source> Hits<'_, S> {
    fn read(&self, field: &str) -> Result<Vec<Option<String>>, QueryError> {
        let source = match field {
            "id()" | "__document_id" => OrderSource::Id,
            name if self.is_named => OrderSource::Field(FieldPath::of_name(name)),
            path => OrderSource::Field(FieldPath::parse(path)),
        };
        let key = OrderKey {
            source,
            ordering: Ordering::String,
            descending: false,
            nulls_first: true,
        };
        let nothing = Computed::default();
        let (mut values, mut len_bytes) = (Vec::with_capacity(self.numbers.len()), 0);
        for (visited, number) in (1_u64..).zip(&self.numbers) {
            if visited.is_multiple_of(CHECK_DOCUMENTS) {
                self.options.check()?;
            }
            let found = self.source.document(*number).map_err(QueryError::Source)?;
            let value = found.map(|document| key.value(&document, 0, &nothing));
            values.push(match value {
                Some(SortValue::Text(text)) => {
                    len_bytes += text.len();
                    Some(text.into_string())
                }
                _ => None,
            });
            if len_bytes > self.options.memory_bytes_max {
                return Err(too_much(self.options));
            }
        }
        Ok(values)
    }
}

impl<S: Source> SorterHost for Hits<'_, S> {
    fn values(&mut self, field: &str) -> Result<Vec<Option<String>>, BoxError> {
        self.read(field).map_err(|error| {
            let message = error.to_string();
            self.failure.replace(Some(error));
            message.into()
        })
    }

    fn is_over(&mut self) -> bool {
        self.options.check().is_err()
    }
}

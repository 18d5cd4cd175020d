//! Matches in the order of `order by`.
//!
//! Four ways: by the numbers alone (`random`), by walking what is in order already (`walk`), by
//! scores while matches are found (`ranked`), or by the sort values of all matches, of which only
//! the best are kept in memory. Sorters are asked in `custom`.

use std::cmp::Ordering;

use jackdaw_search::{EntryId, EntrySet, IndexReader, Place, StoredTerm};
use jackdaw_storage::PageRead;

use super::candidates::collect;
use super::index_set::{IndexMatches, index_matches};
use super::rows::Rows;
use super::{ExecuteOptions, custom, ranked, score, walk};
use crate::error::QueryError;
use crate::fields::{IndexField, places_of};
use crate::memory::Charge;
use crate::order::{Computed, Distance, Nearest, OrderKey, OrderSource, SortValue, compare_rows};
use crate::plan::{Access, Plan};
use crate::source::Source;
use jackdaw_model::DocumentNumber;

/// Looks at the interrupt flag once in so many documents.
pub(super) const CHECK_DOCUMENTS: u64 = 256;

/// Gives matches to `rows` in order; the total.
pub(super) fn stream<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    rows: &mut Rows<'_, S>,
) -> Result<Option<u64>, QueryError> {
    let sorters = custom::find(&plan.query.order, options)?;
    if let Some(total) = ranked::stream(plan, source, options, rows)? {
        return Ok(Some(total));
    }
    if sorters.is_none()
        && let Some(total) = walk::stream_everything(plan, source, options, rows)?
    {
        return Ok(Some(total));
    }
    let matches = match plan.access {
        Access::Index => index_matches(plan, source, options)?,
        _ => {
            let result = collect(plan, source, options)?;
            IndexMatches {
                tail: EntrySet::new(),
                stale: EntrySet::new(),
                result,
            }
        }
    };
    let total = matches.result.len();
    let wanted = rows.wanted().unwrap_or(u64::MAX).min(total);
    if wanted == 0 {
        return Ok(Some(total));
    }
    let is_scored = |key: &OrderKey| key.source == OrderSource::Score;
    let (scores, parts) = match plan.query.order.iter().any(is_scored) {
        true => {
            let (scores, parts) = options.measured(
                || "score the matches".into(),
                "matches",
                |_| Some(total),
                || score::scores(plan, source, options, &matches),
            )?;
            (Some(scores), parts)
        }
        false => (None, None),
    };
    let computed = Computed {
        scores,
        distances: distances(plan, source, options, &matches)?,
    };
    let is_walked = sorters.is_none()
        && computed.scores.is_none()
        && computed.distances.is_empty()
        && ((plan.access == Access::Index
            && walk::stream(plan, source, options, &matches, wanted, rows)?)
            || walk::stream_ids(plan, source, options, &matches.result, wanted, rows)?);
    if !is_walked {
        let best = options.measured(
            || format!("{}, by sorting", plan.order_text()),
            "matches",
            |_| Some(total),
            || match (plan.query.order.as_slice(), &computed.scores) {
                (order, _) if let Some(sorters) = &sorters => {
                    let matches = (&matches.result, wanted);
                    custom::best_rows(order, sorters, matches, source, options, &computed)
                }
                ([key], Some(scores)) if key.is_best_first() => {
                    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
                    let best = scores.best(wanted).into_iter();
                    Ok(best.map(|(entry, _)| entry.into()).collect())
                }
                (order, _) => best_rows(order, &matches.result, wanted, source, options, &computed),
            },
        )?;
        rows.set_scores(computed.scores, parts);
        // The first distance is the one that rows show.
        rows.set_places(computed.distances.into_iter().next());
        for number in best {
            if rows.push(number)?.is_break() {
                break;
            }
        }
    }
    Ok(Some(if rows.has_filter() && plan.access != Access::Index {
        rows.filtered_count()
    } else {
        total
    }))
}

/// The distances of all matches, for each key that orders by distance.
fn distances<S: Source>(
    plan: &Plan<'_>,
    source: &S,
    options: &ExecuteOptions<'_>,
    matches: &IndexMatches,
) -> Result<Vec<Vec<Nearest>>, QueryError> {
    let access = source.index().filter(|_| plan.access == Access::Index);
    let reader = access.and_then(|access| access.reader);
    let mut lists = Vec::new();
    for key in &plan.query.order {
        let OrderSource::Distance(distance) = &key.source else {
            continue;
        };
        lists.push(options.measured(
            || format!("measure distances of {}", distance.field.name()),
            "matches with a place",
            |list: &Vec<_>| Some(list.len() as u64),
            || nearest(distance, reader, source, options, matches),
        )?);
    }
    Ok(lists)
}

/// The nearest place of each match that has one.
fn nearest<S: Source>(
    distance: &Distance,
    reader: Option<&IndexReader<'_, S::Pages>>,
    source: &S,
    options: &ExecuteOptions<'_>,
    matches: &IndexMatches,
) -> Result<Vec<Nearest>, QueryError> {
    let mut list = Vec::new();
    for (visited, entry) in (1_u64..).zip(&matches.result) {
        if visited.is_multiple_of(CHECK_DOCUMENTS) {
            options.check()?;
        }
        let known = reader.filter(|_| !matches.stale.contains(entry));
        let places = match known {
            Some(reader) => indexed_places(reader, entry, &distance.field)?,
            None => {
                let found = source.document(entry.into()).map_err(QueryError::Source)?;
                found.map_or_else(Vec::new, |document| places_of(&document, &distance.field))
            }
        };
        let nearest = places.iter().map(|place| {
            let at = place.spot();
            Nearest {
                entry: entry.0,
                distance: distance.measure.between(at, distance.from),
                at,
            }
        });
        list.extend(nearest.min_by(|a, b| a.distance.total_cmp(&b.distance)));
    }
    Ok(list)
}

/// The places of an entry in the index.
fn indexed_places<P: PageRead + ?Sized>(
    reader: &IndexReader<'_, P>,
    entry: EntryId,
    field: &IndexField,
) -> Result<Vec<Place>, QueryError> {
    let mut places = Vec::new();
    if let Some(id) = reader.field(&field.name())
        && let Some(mut terms) = reader.entry_terms(entry)?
    {
        while let Some(term) = terms.next_of(id)? {
            match term {
                StoredTerm::Point(at) => places.push(Place::Point(at)),
                StoredTerm::Shape(text) => places.extend(Place::parse(&text.to_text())),
                _ => {}
            }
        }
    }
    Ok(places)
}

/// A match and its sort values.
#[derive(Debug)]
pub(super) struct SortRow {
    pub(super) values: Box<[SortValue]>,
    pub(super) number: DocumentNumber,
}

impl SortRow {
    pub(super) fn compare(&self, other: &SortRow, keys: &[OrderKey]) -> Ordering {
        compare_rows(
            keys,
            (&self.values, self.number),
            (&other.values, other.number),
        )
    }
}

/// The first `wanted` of `set` in the order of `keys`.
pub(super) fn best_rows<S: Source>(
    keys: &[OrderKey],
    set: &EntrySet,
    wanted: u64,
    source: &S,
    options: &ExecuteOptions<'_>,
    computed: &Computed,
) -> Result<Vec<DocumentNumber>, QueryError> {
    let mut best = Best::new(keys, wanted, options);
    let needs_document = keys
        .iter()
        .any(|key| matches!(key.source, OrderSource::Field(_) | OrderSource::Id));
    let mut values = Vec::with_capacity(keys.len());
    for (visited, entry) in (1_u64..).zip(set) {
        if visited.is_multiple_of(CHECK_DOCUMENTS) {
            options.check()?;
        }
        let number = DocumentNumber::from(entry);
        values.clear();
        if needs_document {
            let found = source.document(number).map_err(QueryError::Source)?;
            let Some(document) = found else { continue };
            values.extend(
                keys.iter()
                    .map(|key| key.value(&document, options.random_seed, computed)),
            );
        } else {
            values.extend(
                keys.iter()
                    .map(|key| key.rank(number, options.random_seed, computed)),
            );
        }
        best.push(&mut values, number)?;
    }
    Ok(best.finish().into_iter().map(|row| row.number).collect())
}

/// Keeps the best rows in a buffer of twice their number: cheaper than a heap, and the worst kept
/// row turns most others away.
pub(super) struct Best<'b> {
    keys: &'b [OrderKey],
    wanted: usize,
    options: &'b ExecuteOptions<'b>,
    rows: Vec<SortRow>,
    len_bytes: usize,
    charge: Charge<'b>,
    /// Whether `rows[wanted - 1]` is the worst row that still counts.
    has_threshold: bool,
}

impl<'b> Best<'b> {
    pub(super) fn new(
        keys: &'b [OrderKey],
        wanted: u64,
        options: &'b ExecuteOptions<'b>,
    ) -> Best<'b> {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        Best {
            keys,
            wanted,
            options,
            rows: Vec::new(),
            len_bytes: 0,
            charge: options.charge(
                "order by",
                "Add a limit, or order by one field of an index.",
            ),
            has_threshold: false,
        }
    }

    /// Takes a row; leaves `values` empty.
    pub(super) fn push(
        &mut self,
        values: &mut Vec<SortValue>,
        number: DocumentNumber,
    ) -> Result<(), QueryError> {
        if self.has_threshold
            && let Some(worst) = self.wanted.checked_sub(1).and_then(|at| self.rows.get(at))
        {
            let order = compare_rows(self.keys, (values, number), (&worst.values, worst.number));
            if order.is_ge() {
                values.clear();
                return Ok(());
            }
        }
        let row = SortRow {
            values: values.drain(..).collect(),
            number,
        };
        self.len_bytes += row_bytes(&row);
        self.rows.push(row);
        if self.rows.len() >= self.wanted.saturating_mul(2) {
            self.prune();
        }
        if self.len_bytes > self.options.memory_bytes_max {
            self.prune();
        }
        self.charge.set(self.len_bytes)
    }

    /// Drops all but the best.
    fn prune(&mut self) {
        if self.wanted == 0 || self.rows.len() <= self.wanted {
            return;
        }
        let keys = self.keys;
        self.rows
            .select_nth_unstable_by(self.wanted - 1, |a, b| a.compare(b, keys));
        self.rows.truncate(self.wanted);
        self.has_threshold = true;
        self.len_bytes = self.rows.iter().map(row_bytes).sum();
    }

    /// The best rows, in order.
    pub(super) fn finish(mut self) -> Vec<SortRow> {
        let keys = self.keys;
        self.rows.sort_unstable_by(|a, b| a.compare(b, keys));
        self.rows.truncate(self.wanted);
        self.rows
    }
}

fn row_bytes(row: &SortRow) -> usize {
    let texts: usize = row
        .values
        .iter()
        .map(|value| match value {
            SortValue::Text(text) => text.len(),
            _ => 0,
        })
        .sum();
    size_of::<SortRow>() + row.values.len() * size_of::<SortValue>() + texts
}

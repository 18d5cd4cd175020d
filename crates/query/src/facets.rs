//! Facets: how many matches have each value of a field, or lie in each of some ranges, with sums,
//! averages and extremes of other fields.
//!
//! Bound by `bind::facet`, run by `execute` instead of rows: `facet_counts` counts in an index what
//! that knows, and by documents the rest, through the values that conditions see. So facets count
//! what a condition on the value would find.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use jackdaw_base::number::Number;
use jackdaw_base::time::instant;
use jackdaw_document::{DocumentBuf, Limits, ObjectWriter, Value, write_object};
use jackdaw_search::{EntryId, EntrySet};

use crate::error::QueryError;
use crate::evaluate::matches;
use crate::execute::ExecuteOptions;
use crate::fields::{FieldPath, IndexField, Leaf, terms_of, visit_values};
use crate::memory::Charge;
use crate::predicate::{Field, Predicate};
use crate::source::{Source, StoredDocument};

/// The value of a match whose field is null.
const NULL_VALUE: &str = "NULL_VALUE";
/// Name and range of a facet over all matches.
pub(crate) const ALL_RESULTS: &str = "@AllResults";
/// Looks at the interrupt flag once in so many matches.
const CHECK_MATCHES: u64 = 256;
/// Memory of one value beside its text.
const VALUE_BYTES: usize = 96;

/// One facet.
#[derive(Clone, Debug)]
pub(crate) struct Facet {
    pub(crate) name: String,
    pub(crate) kind: FacetKind,
    pub(crate) aggregations: Vec<Aggregation>,
    pub(crate) options: FacetOptions,
}

/// What the values of a facet are.
#[derive(Clone, Debug)]
pub(crate) enum FacetKind {
    /// The terms of a field.
    Terms(IndexField),
    /// Ranges, and how they are written.
    Ranges(Vec<(Predicate, String)>),
    /// All matches together.
    All,
}

/// What is computed of one field beside the count.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    pub(crate) path: FieldPath,
    pub(crate) name: String,
    pub(crate) sum: bool,
    pub(crate) min: bool,
    pub(crate) max: bool,
    pub(crate) average: bool,
}

/// Which values of a facet are given.
#[derive(Clone, Debug)]
pub(crate) struct FacetOptions {
    pub(crate) start: usize,
    pub(crate) page_size: usize,
    pub(crate) sort: TermSort,
    pub(crate) remaining_terms: bool,
}

impl Default for FacetOptions {
    fn default() -> FacetOptions {
        FacetOptions {
            start: 0,
            page_size: usize::MAX,
            sort: TermSort::ValueAscending,
            remaining_terms: false,
        }
    }
}

/// The order of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermSort {
    ValueAscending,
    ValueDescending,
    CountAscending,
    CountDescending,
}

/// What was counted for one value.
#[derive(Clone, Default)]
struct Tally {
    count: u64,
    /// Of a point in time: the first entry that has it, whose text names it.
    first: Option<EntryId>,
    /// For each aggregation.
    numbers: Vec<Numbers>,
}

#[derive(Clone, Copy, Default)]
struct Numbers {
    count: u64,
    /// The sum as long as all are whole.
    whole: Option<i64>,
    sum: f64,
    least: Option<Number>,
    most: Option<Number>,
}

impl Tally {
    fn note_first(&mut self, entry: Option<EntryId>) {
        let known = self.first.into_iter().chain(entry);
        self.first = known.min();
    }
}

/// Names points in time as the first of their documents writes them.
fn name_times<S: Source>(
    values: &mut [(String, Tally)],
    field: &IndexField,
    source: &S,
) -> Result<(), QueryError> {
    for (term, tally) in values {
        let Some(entry) = tally.first else { continue };
        let found = source.document(entry.into()).map_err(QueryError::Source)?;
        let Some(document) = found else { continue };
        let time = instant(term);
        let _ = visit_values(&document, &field.path, &mut |leaf| match leaf {
            Leaf::Text(text) if instant(text) == time => {
                text.clone_into(term);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
    }
    Ok(())
}

impl Numbers {
    fn add(&mut self, number: Number) {
        let before = if self.count == 0 { Some(0) } else { self.whole };
        self.whole = match number {
            Number::Long(long) => before.and_then(|sum: i64| sum.checked_add(long)),
            Number::Double(_) => None,
        };
        self.count += 1;
        self.sum += number.to_f64();
        let is_less = self.least.is_none_or(|least| number < least);
        let is_more = self.most.is_none_or(|most| number > most);
        self.least = if is_less { Some(number) } else { self.least };
        self.most = if is_more { Some(number) } else { self.most };
    }
}

/// The facet as a row: name, values and what remains.
pub(crate) struct FacetRow {
    pub(crate) json: DocumentBuf,
    /// The values given.
    pub(crate) terms: Vec<String>,
}

/// Everything that is counted for one facet.
pub(crate) struct Tallies<'f> {
    facet: &'f Facet,
    charge: Charge<'f>,
    terms: BTreeMap<String, Tally>,
    ranges: Vec<Tally>,
    len_bytes: usize,
}

impl<'f> Tallies<'f> {
    /// Nothing counted yet.
    pub(crate) fn new(facet: &'f Facet, options: &ExecuteOptions<'f>) -> Tallies<'f> {
        let range_count = match &facet.kind {
            FacetKind::Ranges(ranges) => ranges.len(),
            FacetKind::All => 1,
            FacetKind::Terms(_) => 0,
        };
        Tallies {
            facet,
            charge: options.charge(
                "select facet(...)",
                "Use ranges, or a field with fewer values.",
            ),
            terms: BTreeMap::new(),
            ranges: vec![Tally::default(); range_count],
            len_bytes: 0,
        }
    }

    /// Counts matches by what their documents say.
    pub(crate) fn add_documents<S: Source>(
        &mut self,
        found: &EntrySet,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<(), QueryError> {
        let facet = self.facet;
        for (visited, entry) in (1_u64..).zip(found) {
            if visited.is_multiple_of(CHECK_MATCHES) {
                options.check()?;
            }
            let document = source.document(entry.into()).map_err(QueryError::Source)?;
            let Some(document) = document else { continue };
            match &facet.kind {
                FacetKind::Terms(field) => {
                    for term in distinct_terms(&document, field) {
                        let first = instant(&term).map(|_| entry);
                        let tally = self.term(term)?;
                        tally.note_first(first);
                        facet.count(tally, &document);
                    }
                }
                FacetKind::Ranges(list) => {
                    for ((range, _), tally) in list.iter().zip(&mut self.ranges) {
                        if matches(range, &document) {
                            facet.count(tally, &document);
                        }
                    }
                }
                FacetKind::All => facet.count(&mut self.ranges[0], &document),
            }
        }
        Ok(())
    }

    /// Counts matches that have a term. `first` is one of them where the term is a point in time.
    pub(crate) fn add_to_term(
        &mut self,
        term: &str,
        count: u64,
        first: Option<EntryId>,
    ) -> Result<(), QueryError> {
        let tally = self.term(term.to_owned())?;
        tally.note_first(first);
        tally.count += count;
        Ok(())
    }

    /// Counts matches with a null.
    pub(crate) fn add_to_null(&mut self, count: u64) -> Result<(), QueryError> {
        self.add_to_term(NULL_VALUE, count, None)
    }

    /// Counts matches in a range.
    pub(crate) fn add_to_range(&mut self, slot: usize, count: u64) {
        self.ranges[slot].count += count;
    }

    fn term(&mut self, term: String) -> Result<&mut Tally, QueryError> {
        if !self.terms.contains_key(&term) {
            self.len_bytes += term.len() + VALUE_BYTES;
            self.charge.set(self.len_bytes)?;
        }
        Ok(self.terms.entry(term).or_default())
    }

    /// The row of what was counted.
    pub(crate) fn finish<S: Source>(self, source: &S) -> Result<FacetRow, QueryError> {
        match &self.facet.kind {
            FacetKind::Terms(field) => self.facet.page(self.terms, field, source),
            FacetKind::Ranges(list) => {
                let texts = list.iter().map(|(_, text)| text.clone());
                self.facet.row(texts.zip(self.ranges).collect(), &[], 0)
            }
            FacetKind::All => {
                let texts = std::iter::once(ALL_RESULTS.to_owned());
                self.facet.row(texts.zip(self.ranges).collect(), &[], 0)
            }
        }
    }
}

impl Facet {
    /// The fields whose values or ranges are counted.
    pub(crate) fn fields(&self) -> Vec<IndexField> {
        let mut fields = Vec::new();
        match &self.kind {
            FacetKind::Terms(field) => fields.push(field.clone()),
            FacetKind::Ranges(ranges) => {
                for (range, _) in ranges {
                    range.for_each_field(&mut |field| {
                        if let Field::Values(field) = field {
                            fields.push(field.clone());
                        }
                    });
                }
            }
            FacetKind::All => {}
        }
        fields
    }

    fn count(&self, tally: &mut Tally, document: &StoredDocument<'_>) {
        tally.count += 1;
        tally
            .numbers
            .resize_with(self.aggregations.len(), Numbers::default);
        for (aggregation, numbers) in self.aggregations.iter().zip(&mut tally.numbers) {
            let _ = visit_values(document, &aggregation.path, &mut |leaf| {
                if let Leaf::Number(number, _) = leaf {
                    numbers.add(number);
                }
                ControlFlow::Continue(())
            });
        }
    }

    /// The values that the options ask for.
    fn page<S: Source>(
        &self,
        tallies: BTreeMap<String, Tally>,
        field: &IndexField,
        source: &S,
    ) -> Result<FacetRow, QueryError> {
        let mut values: Vec<(String, Tally)> = tallies.into_iter().collect();
        match self.options.sort {
            TermSort::ValueAscending => {}
            TermSort::ValueDescending => values.reverse(),
            TermSort::CountAscending => values.sort_by_key(|(_, tally)| tally.count),
            TermSort::CountDescending => {
                values.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.count));
            }
        }
        let start = self.options.start.min(values.len());
        let end = start
            .saturating_add(self.options.page_size)
            .min(values.len());
        let rest = values.split_off(end);
        let hits = rest.iter().map(|(_, tally)| tally.count).sum();
        let mut values = values.split_off(start);
        name_times(&mut values, field, source)?;
        let mut rest = rest;
        if self.options.remaining_terms {
            name_times(&mut rest, field, source)?;
        }
        let rest: Vec<String> = rest.into_iter().map(|(term, _)| term).collect();
        self.row(values, &rest, hits)
    }

    fn row(
        &self,
        values: Vec<(String, Tally)>,
        rest: &[String],
        hits: u64,
    ) -> Result<FacetRow, QueryError> {
        let long = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut json = Vec::new();
        write_object(&mut json, |row| {
            row.string("Name", &self.name);
            row.array("Values", |list| {
                for (term, tally) in &values {
                    if self.aggregations.is_empty() {
                        list.object(|value| {
                            value.null("Name");
                            value.long("Count", long(tally.count));
                            value.string("Range", term);
                        });
                    }
                    for (slot, aggregation) in self.aggregations.iter().enumerate() {
                        let numbers = tally.numbers.get(slot).copied().unwrap_or_default();
                        list.object(|value| {
                            value.string("Name", &aggregation.name);
                            aggregation.write(&numbers, value);
                            value.long("Count", long(tally.count));
                            value.string("Range", term);
                        });
                    }
                }
            });
            row.long("RemainingHits", long(hits));
            row.long("RemainingTermsCount", long(rest.len() as u64));
            row.array("RemainingTerms", |list| {
                if self.options.remaining_terms {
                    rest.iter().for_each(|term| list.string(term));
                }
            });
        });
        Ok(FacetRow {
            json: made(&json)?,
            terms: values.into_iter().map(|(term, _)| term).collect(),
        })
    }
}

/// A row that is no document of the database.
pub(crate) fn made(json: &[u8]) -> Result<DocumentBuf, QueryError> {
    DocumentBuf::from_json(json, &Limits::default())
        .map_err(|error| QueryError::Operation(format!("A result is too large: {error}")))
}

impl Aggregation {
    fn write(&self, numbers: &Numbers, value: &mut ObjectWriter<'_>) {
        let number = |value: &mut ObjectWriter<'_>, name: &str, number: Number| match number {
            Number::Long(long) => value.long(name, long),
            Number::Double(double) => value.double(name, double),
        };
        let zero = Number::Long(0);
        if self.max {
            number(value, "Max", numbers.most.unwrap_or(zero));
        }
        if self.min {
            number(value, "Min", numbers.least.unwrap_or(zero));
        }
        if self.sum {
            let sum = match numbers.whole {
                Some(whole) => Number::Long(whole),
                None if numbers.count == 0 => zero,
                None => Number::Double(numbers.sum),
            };
            number(value, "Sum", sum);
        }
        if self.average {
            let average = numbers.sum / numbers.count.max(1) as f64;
            value.double("Average", average);
        }
    }
}

/// The different terms of a field, as its analyzer makes them.
fn distinct_terms(document: &StoredDocument<'_>, field: &IndexField) -> Vec<String> {
    let found = terms_of(document, field);
    let mut terms: Vec<String> = found.iter().map(|(term, _)| term.to_owned()).collect();
    let nulls = visit_values(document, &field.path, &mut |leaf| match leaf {
        Leaf::Null => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    if nulls.is_break() {
        terms.push(NULL_VALUE.to_owned());
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Reads options of a facet from an object, whatever the case of its names.
pub(crate) fn read_options(options: Value<'_>) -> Result<FacetOptions, QueryError> {
    let mut read = FacetOptions::default();
    let Some(object) = options.as_object() else {
        return Ok(read);
    };
    let count = |name: &str, value: Value<'_>| {
        let count = value.as_i64().and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| {
            QueryError::invalid(format!(
                "{name} of facet options is a number from 0 on, but was {}",
                value.to_json()
            ))
        })
    };
    for (name, value) in object.iter() {
        if matches!(value, Value::Null) {
            continue;
        }
        match name.to_ascii_lowercase().as_str() {
            "start" => read.start = count(name, value)?,
            "pagesize" => read.page_size = count(name, value)?,
            "includeremainingterms" => read.remaining_terms = value.as_bool().unwrap_or(false),
            "termsortmode" => {
                read.sort = match value.as_str().unwrap_or_default() {
                    "ValueAsc" => TermSort::ValueAscending,
                    "ValueDesc" => TermSort::ValueDescending,
                    "CountAsc" => TermSort::CountAscending,
                    "CountDesc" => TermSort::CountDescending,
                    other => {
                        return Err(QueryError::invalid(format!(
                            "TermSortMode is ValueAsc, ValueDesc, CountAsc or CountDesc, but was \
                             '{other}'"
                        )));
                    }
                };
            }
            _ => {}
        }
    }
    Ok(read)
}

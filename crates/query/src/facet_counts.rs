//! How the values of a facet are counted: by the lists of the index, or by documents.
//!
//! Called by `execute` for each facet. Lists are counted where the index has the field as the
//! documents do, and where that is less work; aggregations always need documents, because an index
//! keeps each number of a document once.
//!
//! Invariants:
//! - The counts are those of `facets::Tallies::add_documents` over all matches. Documents that
//!   changed after the index saw them, and texts of which it keeps a beginning, are read. A static
//!   index that is behind counts entries of documents that are gone until it has caught up.
//!
//! Threads: one.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackdaw_base::time::instant;
use jackdaw_search::{
    Budget, Column, Direction, EntryId, EntrySet, IndexReader, SetBuilder, StoredTerm,
    TEXT_BYTES_WHOLE_MAX, Term, TermKind, WalkedTerm,
};
use jackdaw_storage::PageRead;

use crate::error::QueryError;
use crate::execute::{ExecuteOptions, IndexSets, evaluate_entries};
use crate::facets::{Facet, FacetKind, FacetRow, Tallies};
use crate::fields::{FieldKind, IndexField, terms_of};
use crate::predicate::Predicate;
use crate::source::{IndexAccess, IndexRows, Source};

/// Looks at the interrupt flag once in so many terms or documents.
const CHECK_TERMS: u64 = 256;

/// About what it takes, in nanoseconds, to look into a document, to walk over a term, and to count
/// an entry of its list. Only what they are to each other matters.
const DOCUMENT_NANOS: u64 = 700;
const TERM_NANOS: u64 = 80;
const ENTRY_NANOS: u64 = 3;

/// The matches of a query for facets.
pub(crate) struct Matched {
    /// All of them; `None` stands for every entry of an index that has seen every change.
    pub(crate) set: Option<EntrySet>,
    /// How many there are.
    pub(crate) count: u64,
    /// Entries of the index that do not count any more, of documents that match now or not.
    pub(crate) stale: EntrySet,
}

/// How one facet is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// The index says how many entries each term has.
    Counts,
    /// The lists of the terms or ranges, within the matches.
    Lists,
    /// Which term each match has, of those in memory.
    Column,
    /// Each document is read.
    Documents,
}

impl Way {
    /// In words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Way::Counts => "by the counts of its terms",
            Way::Lists => "by the lists of the index",
            Way::Column => "by a column in memory",
            Way::Documents => "by documents",
        }
    }
}

impl Facet {
    /// The way that takes the least.
    pub(crate) fn way<S: Source>(
        &self,
        matched: &Matched,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<Way, QueryError> {
        let index = source.index();
        let Some((index, reader)) = index
            .as_ref()
            .and_then(|index| Some((index, index.reader?)))
        else {
            return Ok(Way::Documents);
        };
        let fields = self.fields();
        let Some(field) = fields.first() else {
            return Ok(Way::Documents);
        };
        let is_known = fields.iter().all(|field| knows(index, reader, field));
        if !self.aggregations.is_empty() || !is_known {
            return Ok(Way::Documents);
        }
        let is_terms = matches!(self.kind, FacetKind::Terms(_));
        if matched.set.is_none() && is_terms {
            return Ok(Way::Counts);
        }
        let Some(id) = reader.field(&field.name()) else {
            // No entry has it: there is nothing to walk over.
            return Ok(Way::Lists);
        };
        let term_count = reader.field_info(id).term_count();
        let entry_count = reader.exists_count(id)?.max(term_count);
        let by_terms = term_count * TERM_NANOS;
        let by_column = by_terms + matched.count.saturating_mul(ENTRY_NANOS);
        let by_lists = by_terms + entry_count * ENTRY_NANOS;
        let by_documents = matched.count.saturating_mul(DOCUMENT_NANOS);
        if is_terms
            && by_column < by_lists.min(by_documents)
            && self.column(index, reader, matched, options)?.is_some()
        {
            return Ok(Way::Column);
        }
        match by_lists <= by_documents {
            true => Ok(Way::Lists),
            false => Ok(Way::Documents),
        }
    }

    /// The column of the terms that are counted, when there is one and entries have one term each.
    fn column<P: PageRead + ?Sized>(
        &self,
        index: &IndexAccess<'_, P>,
        reader: &IndexReader<'_, P>,
        matched: &Matched,
        options: &ExecuteOptions<'_>,
    ) -> Result<Option<Arc<Column>>, QueryError> {
        let (FacetKind::Terms(field), Some(columns)) = (&self.kind, index.columns) else {
            return Ok(None);
        };
        let Some(id) = reader.field(&field.name()) else {
            return Ok(None);
        };
        let column = columns.read(reader, (id, TermKind::Text), matched.count, options)?;
        Ok(column.filter(|column| column.is_single()))
    }

    /// Counts the matches.
    pub(crate) fn run<S: Source>(
        &self,
        way: Way,
        matched: &Matched,
        source: &S,
        options: &ExecuteOptions<'_>,
    ) -> Result<FacetRow, QueryError> {
        let index = source.index();
        let reader = index.as_ref().and_then(|index| index.reader);
        let mut tallies = Tallies::new(self, options);
        let all = match (&matched.set, reader) {
            (Some(set), _) => set.clone(),
            (None, Some(reader)) if way != Way::Counts => reader.all()?,
            (None, _) => EntrySet::new(),
        };
        let Some(reader) = reader.filter(|_| way != Way::Documents) else {
            tallies.add_documents(&all, source, options)?;
            return tallies.finish(source);
        };
        let known = all.and_not(&matched.stale);
        let counting = Counting {
            reader,
            within: (way != Way::Counts).then_some(&known),
            source,
            options,
        };
        let column = match (way, &index) {
            (Way::Column, Some(index)) => self.column(index, reader, matched, options)?,
            _ => None,
        };
        match &self.kind {
            FacetKind::Terms(field) => match column.and_then(|column| column.count(&known)) {
                Some(counts) => counting.add_counts(field, &counts, &known, &mut tallies)?,
                None => counting.add_terms(field, &mut tallies)?,
            },
            FacetKind::Ranges(ranges) => {
                for (slot, (range, _)) in ranges.iter().enumerate() {
                    let count = counting.count_range(range, &known)?;
                    tallies.add_to_range(slot, count);
                }
            }
            FacetKind::All => {}
        }
        tallies.add_documents(&all.and(&matched.stale), source, options)?;
        tallies.finish(source)
    }
}

/// Whether an index has a field as the query sees it in documents.
fn knows<P: PageRead + ?Sized>(
    index: &IndexAccess<'_, P>,
    reader: &IndexReader<'_, P>,
    field: &IndexField,
) -> bool {
    let stored = reader.field(&field.name());
    let is_alike = stored.is_none_or(|id| reader.field_info(id).options() == field.options());
    is_alike
        && match index.rows {
            IndexRows::Documents => index.fields.contains(field),
            // Entries have what was indexed of them, whatever the definition names. A field that
            // was not looked up in the definition has other texts of numbers.
            IndexRows::Entries { .. } | IndexRows::Results => {
                stored.is_some() && matches!(field.kind, FieldKind::Named(_))
            }
        }
}

/// An index, and which of its entries count.
struct Counting<'c, S: Source> {
    reader: &'c IndexReader<'c, S::Pages>,
    /// `None` for all of them.
    within: Option<&'c EntrySet>,
    source: &'c S,
    options: &'c ExecuteOptions<'c>,
}

impl<S: Source> Counting<'_, S> {
    /// Counts the terms of a field.
    fn add_terms(&self, field: &IndexField, tallies: &mut Tallies<'_>) -> Result<(), QueryError> {
        let Some(id) = self.reader.field(&field.name()) else {
            return Ok(());
        };
        let mut terms = self.reader.terms(id, TermKind::All, Direction::Ascending)?;
        let mut probe = self.within.map(EntrySet::probe);
        let mut cut = SetBuilder::new(EntryId(0));
        let mut visited = 0_u64;
        while let Some(term) = terms.next_term()? {
            visited += 1;
            if visited.is_multiple_of(CHECK_TERMS) {
                self.options.check()?;
            }
            let count = match &mut probe {
                Some(probe) => term.count_within(probe)?,
                None => term.count(),
            };
            if count == 0 {
                continue;
            }
            match term.term()? {
                StoredTerm::Null => tallies.add_to_null(count)?,
                StoredTerm::Text(text) if text.is_cut() => term.add_to(&mut cut)?,
                StoredTerm::Text(text) => {
                    let text = text.to_text();
                    let first = self.first_of_time(&text, &term, self.within)?;
                    tallies.add_to_term(&text, count, first)?;
                }
                // Numbers have texts too; places have no values.
                StoredTerm::Number(_)
                | StoredTerm::Point(_)
                | StoredTerm::Shape(_)
                | StoredTerm::Vector(_) => break,
            }
        }
        self.add_long_terms(field, &cut.finish(), tallies)
    }

    /// Names the terms of a column of texts that were counted, and counts the nulls.
    fn add_counts(
        &self,
        field: &IndexField,
        counts: &[u32],
        known: &EntrySet,
        tallies: &mut Tallies<'_>,
    ) -> Result<(), QueryError> {
        let Some(id) = self.reader.field(&field.name()) else {
            return Ok(());
        };
        let nulls = self
            .reader
            .term_within(id, Term::Null, known)?
            .certain()
            .len();
        if nulls > 0 {
            tallies.add_to_null(nulls)?;
        }
        let mut terms = self
            .reader
            .terms(id, TermKind::Text, Direction::Ascending)?;
        for (visited, count) in (1_u64..).zip(counts) {
            if visited.is_multiple_of(CHECK_TERMS) {
                self.options.check()?;
            }
            let Some(term) = terms.next_term()? else {
                break;
            };
            if let (StoredTerm::Text(text), 1..) = (term.term()?, *count) {
                let text = text.to_text();
                let first = self.first_of_time(&text, &term, Some(known))?;
                tallies.add_to_term(&text, u64::from(*count), first)?;
            }
        }
        Ok(())
    }

    /// The first entry with a term that is a point in time.
    fn first_of_time(
        &self,
        text: &str,
        term: &WalkedTerm<'_, '_, S::Pages>,
        within: Option<&EntrySet>,
    ) -> Result<Option<EntryId>, QueryError> {
        if instant(text).is_none() {
            return Ok(None);
        }
        for entry in term.postings()? {
            let entry = entry?;
            if within.is_none_or(|within| within.contains(entry)) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// Counts the terms of which the index keeps a beginning, by the documents that have some.
    fn add_long_terms(
        &self,
        field: &IndexField,
        entries: &EntrySet,
        tallies: &mut Tallies<'_>,
    ) -> Result<(), QueryError> {
        for (visited, entry) in (1_u64..).zip(entries) {
            if visited.is_multiple_of(CHECK_TERMS) {
                self.options.check()?;
            }
            if self.within.is_some_and(|within| !within.contains(entry)) {
                continue;
            }
            let found = self
                .source
                .document(entry.into())
                .map_err(QueryError::Source)?;
            let Some(document) = found else { continue };
            let terms = terms_of(&document, field);
            let long: BTreeSet<&str> = terms
                .iter()
                .map(|(term, _)| term)
                .filter(|term| term.len() > TEXT_BYTES_WHOLE_MAX)
                .collect();
            for term in long {
                tallies.add_to_term(term, 1, None)?;
            }
        }
        Ok(())
    }

    /// Counts the entries in a range.
    fn count_range(&self, range: &Predicate, known: &EntrySet) -> Result<u64, QueryError> {
        let budget = match self.options.interrupt {
            Some(flag) => Budget::unlimited().interrupted_by(flag),
            None => Budget::unlimited(),
        };
        let mut sets = IndexSets {
            reader: self.reader,
            source: self.source,
            options: self.options,
            budget,
        };
        let (certain, uncertain) = sets.find(range)?.into_parts();
        let uncertain = uncertain.and(known);
        let checked = evaluate_entries(&uncertain, range, self.source, self.options)?;
        Ok(certain.and(known).len() + checked.len())
    }
}

//! The last stage: filter, page, tell distinct rows apart, write, gather includes.
//!
//! Takes the numbers of matches in their final order. Documents are loaded only for matches that
//! are looked at, so passing a long offset costs no reads.

use std::collections::HashSet;
use std::ops::ControlFlow;

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::{DocumentBuf, METADATA, Object, Value};
use jackdaw_search::Scores;
use rustc_hash::FxHashSet;

use super::score::Parts;
use super::{ExecuteOptions, Outcome, RowSink};
use crate::bind::BoundQuery;
use crate::error::QueryError;
use crate::filter_script::Filtered;
use crate::highlight::row_key;
use crate::instants::with_canonical_times;
use crate::memory::Charge;
use crate::order::{Nearest, nearest_of};
use crate::plan::Plan;
use crate::project::{
    Kept, Projection, Shown, for_each_id, is_document, write_document, write_entry_row,
    write_fields, write_made_row, write_projection, write_result, write_scored_document,
    write_series_row,
};
use crate::scripted::{Loaded, Made, Returned, ScriptCall, Scripted};
use crate::source::{IndexRows, Source, StoredDocument};
use jackdaw_model::DocumentNumber;

/// Memory of one remembered row beside its bytes: the set's slot and the allocation.
const REMEMBERED_ROW_BYTES: usize = 48;

/// Looks at the interrupt flag once in so many matches.
const CHECK_MATCHES: u64 = 256;

/// What `explain analyze` calls the step of included documents.
pub(super) const INCLUDED: &str = "read included documents";

pub(super) struct Rows<'r, S> {
    query: &'r BoundQuery,
    is_from_index: bool,
    rows: IndexRows,
    /// Documents given already, of which an index with fan-out may have further entries.
    given: FxHashSet<u64>,
    source: &'r S,
    options: &'r ExecuteOptions<'r>,
    sink: &'r mut dyn RowSink,
    skip: u64,
    take: u64,
    /// Matches that reached the page: the position in the result.
    position: u64,
    /// Matches given to this stage.
    taken_in: u64,
    outcome: Outcome,
    buffer: Vec<u8>,
    seen: HashSet<Box<[u8]>>,
    seen_bytes: usize,
    seen_charge: Charge<'r>,
    /// Folded ids of included documents, in the order they were met, and of rows.
    include_ids: Vec<Box<str>>,
    known_ids: HashSet<Box<str>>,
    scripted: Scripted,
    filtered: Filtered,
    scores: Option<Scores>,
    parts: Option<Parts>,
    /// The nearest places of matches, when the query orders by distance.
    places: Option<Vec<Nearest>>,
}

impl<'r, S: Source> Rows<'r, S> {
    pub(super) fn new(
        plan: &Plan<'r>,
        source: &'r S,
        options: &'r ExecuteOptions<'r>,
        sink: &'r mut dyn RowSink,
    ) -> Rows<'r, S> {
        let query = plan.query;
        Rows {
            query,
            is_from_index: plan.uses_index(),
            rows: plan.rows,
            given: FxHashSet::default(),
            source,
            options,
            sink,
            skip: query.page_skip(),
            take: query.page_take(),
            position: 0,
            taken_in: 0,
            outcome: Outcome::default(),
            buffer: Vec::new(),
            seen: HashSet::new(),
            seen_bytes: 0,
            seen_charge: options
                .charge("select distinct", "Select fewer fields, or add conditions."),
            include_ids: Vec::new(),
            known_ids: HashSet::new(),
            scripted: Scripted::default(),
            filtered: Filtered::default(),
            scores: None,
            parts: None,
            places: None,
        }
    }

    /// Gives rows the scores of their matches.
    pub(super) fn set_scores(&mut self, scores: Option<Scores>, parts: Option<Parts>) {
        self.scores = scores;
        self.parts = parts;
    }

    /// Gives rows the nearest places of their matches.
    pub(super) fn set_places(&mut self, places: Option<Vec<Nearest>>) {
        self.places = places;
    }

    /// Notes what is shown beside a row: fragments of its texts, and what its score is made of.
    fn note_beside(&mut self, document: &StoredDocument<'_>) {
        if !self.query.highlights.is_empty() {
            let found = self.outcome.highlightings.get_or_insert_default();
            for highlight in &self.query.highlights {
                highlight.add(&self.query.predicate, document, found);
            }
        }
        if self.query.has_explanations {
            let entry = document.number.into();
            let score = self.scores.as_ref().map_or(0.0, |scores| scores.get(entry));
            let mut text = format!("{score:.6} = sum of:\n");
            let parts = self.parts.as_ref().and_then(|parts| parts.get(&entry.0));
            for part in parts.into_iter().flatten() {
                text.push_str(&format!("  {part}\n"));
            }
            let explanations = self.outcome.explanations.get_or_insert_default();
            let key = row_key(document, self.query.explanation_key.as_ref());
            explanations.insert(key, vec![text]);
        }
    }

    /// What a row shows of how it was found: documents that no index found have no score.
    fn shown(&self, number: DocumentNumber) -> Shown {
        let scores = self.scores.as_ref();
        let places = self.places.as_deref();
        Shown {
            score: scores.map(|scores| scores.get(number.into())),
            place: places.map(|places| nearest_of(places, number)),
        }
    }

    /// The same of a projection: rows that no index found have a score of 0.
    fn shown_projected(&self, number: DocumentNumber) -> Shown {
        let shown = self.shown(number);
        let score = shown.score.or((!self.is_from_index).then_some(0.0));
        Shown { score, ..shown }
    }

    /// How many matches this stage needs at most; `None` when it cannot know.
    pub(super) fn wanted(&self) -> Option<u64> {
        match self.query.filter.is_some() || self.query.distinct || self.joins_entries() {
            true => None,
            false => Some(self.skip.saturating_add(self.take)),
        }
    }

    /// Whether no row is needed, and none of the matches has to be looked at.
    pub(super) fn wants_none(&self) -> bool {
        self.take == 0 && self.wanted().is_some()
    }

    /// Whether nothing more is needed. A filter goes on, because its matches are counted.
    fn is_full(&self) -> bool {
        match &self.query.filter {
            Some(_) => self
                .query
                .filter_limit
                .is_some_and(|max| self.taken_in >= max),
            None => self.outcome.row_count >= self.take,
        }
    }

    /// The next match. Breaks when no more are needed.
    pub(super) fn push(&mut self, number: DocumentNumber) -> Result<ControlFlow<()>, QueryError> {
        let pushed = self.options.writing_rows(|| self.push_match(number));
        self.options.end_row();
        pushed
    }

    fn push_match(&mut self, number: DocumentNumber) -> Result<ControlFlow<()>, QueryError> {
        if self.is_full() {
            return Ok(ControlFlow::Break(()));
        }
        self.taken_in += 1;
        if self.taken_in.is_multiple_of(CHECK_MATCHES) {
            self.options.check()?;
        }
        let is_passed = self.position < self.skip;
        let needs_document =
            self.query.filter.is_some() || self.query.distinct || self.joins_entries();
        if is_passed && !needs_document {
            self.position += 1;
            return Ok(ControlFlow::Continue(()));
        }
        let source = self.source;
        match source.row(number).map_err(QueryError::Source)? {
            Some(document) if self.joins_entries() && !self.given.insert(document.number.0) => {
                self.outcome.skipped_results += 1;
            }
            Some(document) => self.push_document(&document, number)?,
            // The snapshot holds every document its numbers name.
            None => return Ok(ControlFlow::Continue(())),
        }
        Ok(if self.is_full() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    /// Whether several entries of one document are one match: rows are documents then, not what
    /// the index has of them.
    fn joins_entries(&self) -> bool {
        let has_fan_out = matches!(
            self.rows,
            IndexRows::Entries {
                has_fan_out: true,
                ..
            }
        );
        has_fan_out && !self.shows_entries()
    }

    /// Whether rows show what the index has of a match.
    fn shows_entries(&self) -> bool {
        match (self.rows, &self.query.projection) {
            (IndexRows::Entries { .. }, Projection::Fields(_)) => true,
            (IndexRows::Entries { are_rows, .. }, Projection::Document) => are_rows,
            _ => false,
        }
    }

    /// What the index keeps of a match beside its document.
    fn kept(&self, number: DocumentNumber) -> Result<Option<StoredDocument<'r>>, QueryError> {
        match self.shows_entries() {
            true => self.source.document(number).map_err(QueryError::Source),
            false => Ok(None),
        }
    }

    fn push_document(
        &mut self,
        document: &StoredDocument<'_>,
        number: DocumentNumber,
    ) -> Result<(), QueryError> {
        if self.query.filter.is_some() {
            self.outcome.scanned_results += 1;
            let (query, options) = (self.query, self.options);
            let passes = self
                .filtered
                .passes(query, document, self.source, options)?;
            if !passes {
                self.outcome.skipped_results += 1;
                return Ok(());
            }
        }
        let is_passed = self.position < self.skip;
        self.position += 1;
        let is_wanted = !is_passed && self.outcome.row_count < self.take;
        let made = match is_wanted || self.query.distinct {
            true => self.make(document)?,
            false => Made::default(),
        };
        let entry = self.kept(number)?;
        if self.query.distinct && !self.remember(document, &made, entry.as_ref())? {
            self.outcome.skipped_results += u64::from(!is_passed);
            return Ok(());
        }
        if !is_wanted {
            return Ok(());
        }
        self.give(document, number, &made, entry.as_ref())?;
        self.note_beside(document);
        self.note_includes(document);
        Ok(())
    }

    /// Reads and computes what the row of `document` holds beside it.
    fn make(&mut self, document: &StoredDocument<'_>) -> Result<Made<'r>, QueryError> {
        let (query, source) = (self.query, self.source);
        self.scripted.make(query, document, source, self.options)
    }

    fn give(
        &mut self,
        document: &StoredDocument<'_>,
        number: DocumentNumber,
        made: &Made<'_>,
        entry: Option<&StoredDocument<'_>>,
    ) -> Result<(), QueryError> {
        let is_whole = matches!(self.query.projection, Projection::Document) && entry.is_none();
        if is_whole && self.sink.takes_values() {
            return self.give_value(document, document.body.root());
        }
        self.buffer.clear();
        match &self.query.projection {
            Projection::Nothing | Projection::Facets(_) | Projection::Suggestions(_) => {}
            Projection::Document if self.rows == IndexRows::Results => {
                write_result(document, &mut self.buffer);
            }
            Projection::Document if entry.is_some() => {
                let root = entry.map_or(Value::Null, |entry| entry.body.root());
                if let Value::Object(fields) = root {
                    write_entry_row(fields, &mut self.buffer);
                }
            }
            Projection::Document => {
                let shown = self.shown(number);
                write_scored_document(document, shown, &mut self.buffer);
            }
            Projection::Fields(outputs) => {
                let shown = self.shown_projected(number);
                let is_stored = |name: &str| self.source.is_stored(name);
                let kept = entry.map(|entry| Kept {
                    values: entry.body.root(),
                    is_stored: &is_stored,
                    behavior: self.query.projection_behavior,
                });
                if let Some(path) = kept
                    .as_ref()
                    .and_then(|kept| kept.missing(outputs, document))
                {
                    return Err(QueryError::invalid(format!(
                        "The field '{}' could not be projected from where the query wants it: \
                         store it in the index, or project it from the document",
                        path.as_str()
                    )));
                }
                let out = &mut self.buffer;
                write_projection(outputs, document, made, kept.as_ref(), shown, out);
            }
            Projection::Series => {
                let shown = self.shown_projected(number);
                write_series_row(document, made, shown, &mut self.buffer);
            }
            Projection::Script => return self.give_made(document, number, made),
            Projection::Loaded(slot) => return self.give_loaded(document, number, made, *slot),
        }
        self.give_buffer(document)
    }

    fn give_buffer(&mut self, document: &StoredDocument<'_>) -> Result<(), QueryError> {
        self.sink
            .row(document, &self.buffer)
            .map_err(QueryError::Sink)?;
        self.outcome.row_count += 1;
        Ok(())
    }

    /// Gives the documents of an item of `load`: none of a list, and a row of metadata alone for a
    /// single one that is not there.
    fn give_loaded(
        &mut self,
        document: &StoredDocument<'_>,
        number: DocumentNumber,
        made: &Made<'_>,
        slot: usize,
    ) -> Result<(), QueryError> {
        let documents = match made.loaded.get(slot) {
            None | Some(Loaded::One(None)) => {
                self.buffer.clear();
                let shown = self.shown_projected(number);
                write_projection(&[], document, made, None, shown, &mut self.buffer);
                return self.give_buffer(document);
            }
            Some(loaded) => loaded.documents(),
        };
        for loaded in documents {
            if self.sink.takes_values() {
                self.give_value(document, loaded.body.root())?;
                continue;
            }
            self.buffer.clear();
            write_document(loaded, &mut self.buffer);
            self.give_buffer(document)?;
        }
        Ok(())
    }

    fn give_value(
        &mut self,
        document: &StoredDocument<'_>,
        value: Value<'_>,
    ) -> Result<(), QueryError> {
        self.sink.value(document, value).map_err(QueryError::Sink)?;
        self.outcome.row_count += 1;
        Ok(())
    }

    /// Gives what the script returned: one row, or several.
    fn give_made(
        &mut self,
        document: &StoredDocument<'_>,
        number: DocumentNumber,
        made: &Made<'_>,
    ) -> Result<(), QueryError> {
        let root = made.value.as_ref().map_or(Value::Null, DocumentBuf::root);
        let returned = self.query.script.as_ref().map(|call| call.returned);
        let rows: Vec<Value<'_>> = match root {
            Value::Array(rows) if returned == Some(Returned::Rows) => rows.iter().collect(),
            row => vec![row],
        };
        for row in rows {
            let Value::Object(row) = row else {
                return Err(QueryError::Operation(format!(
                    "Query returning a single function call result must return an object, but \
                     got: {}",
                    row.to_json()
                )));
            };
            if self.sink.takes_values() {
                self.give_value(document, Value::Object(row))?;
                continue;
            }
            self.buffer.clear();
            // A function that returns a document gives that document, not a projection of it.
            let returned_document = match returned == Some(Returned::Rows) {
                true => self.returned_document(row, document)?,
                false => None,
            };
            match returned_document {
                Some(returned) => write_document(&returned, &mut self.buffer),
                None => {
                    let shown = self.shown_projected(number);
                    write_made_row(row, document, shown, &mut self.buffer);
                }
            }
            self.give_buffer(document)?;
        }
        Ok(())
    }

    /// The document that a script returned as it is: that of the match, or one that was loaded.
    fn returned_document<'d>(
        &self,
        row: Object<'_>,
        document: &StoredDocument<'d>,
    ) -> Result<Option<StoredDocument<'d>>, QueryError>
    where
        'r: 'd,
    {
        if document.id.is_empty() {
            return Ok(None);
        }
        if is_document(row, document) {
            return Ok(Some(document.clone()));
        }
        let metadata = row.get(METADATA).and_then(|metadata| metadata.as_object());
        let id = metadata.and_then(|metadata| metadata.get("@id"));
        let found = match id.and_then(|id| id.as_str()) {
            Some(id) => self.source.document_by_id(id).map_err(QueryError::Source)?,
            None => None,
        };
        Ok(found.filter(|found| is_document(row, found)))
    }

    /// Whether the row of `document` is new.
    fn remember(
        &mut self,
        document: &StoredDocument<'_>,
        made: &Made<'_>,
        entry: Option<&StoredDocument<'_>>,
    ) -> Result<bool, QueryError> {
        self.buffer.clear();
        match &self.query.projection {
            Projection::Nothing
            | Projection::Document
            | Projection::Facets(_)
            | Projection::Suggestions(_) => {
                let shown = entry.unwrap_or(document);
                shown.body.root().write_json(&mut self.buffer);
            }
            Projection::Fields(outputs) => {
                let is_stored = |name: &str| self.source.is_stored(name);
                let kept = entry.map(|entry| Kept {
                    values: entry.body.root(),
                    is_stored: &is_stored,
                    behavior: self.query.projection_behavior,
                });
                write_fields(outputs, document, made, kept.as_ref(), &mut self.buffer);
            }
            Projection::Series => {
                write_series_row(document, made, Shown::default(), &mut self.buffer)
            }
            Projection::Loaded(slot) => {
                let loaded = made.loaded.get(*slot).map_or(&[][..], Loaded::documents);
                for loaded in loaded {
                    write_document(loaded, &mut self.buffer);
                }
            }
            Projection::Script => {
                let root = made.value.as_ref().map_or(Value::Null, DocumentBuf::root);
                root.write_json(&mut self.buffer);
            }
        }
        let row = with_canonical_times(&self.buffer);
        if self.seen.contains(row.as_ref()) {
            return Ok(false);
        }
        self.seen_bytes += row.len() + REMEMBERED_ROW_BYTES;
        self.seen_charge.set(self.seen_bytes)?;
        self.seen.insert(row.as_ref().into());
        Ok(true)
    }

    fn note_includes(&mut self, document: &StoredDocument<'_>) {
        let (include_ids, known_ids) = (&mut self.include_ids, &mut self.known_ids);
        for id in self.scripted.included.drain(..) {
            let id = lowercase(&id);
            if !id.is_empty() && known_ids.insert(id.as_ref().into()) {
                include_ids.push(id.as_ref().into());
            }
        }
        let keys = self.scripted.included_keys.drain(..);
        self.outcome.included_keys.extend(keys);
        for path in &self.query.include {
            for_each_id(document, path, &mut |id| {
                let id = lowercase(id);
                if !id.is_empty() && !known_ids.contains(id.as_ref()) {
                    known_ids.insert(id.as_ref().into());
                    include_ids.push(id.as_ref().into());
                }
            });
        }
    }

    /// Gives the included documents. `total` is the number of matches before filtering.
    pub(super) fn finish(mut self, total: Option<u64>) -> Result<Outcome, QueryError> {
        // Without a match no script was compiled, and its errors would depend on the documents.
        if self.taken_in == 0 {
            self.query.scripts().try_for_each(ScriptCall::check)?;
        }
        let ids = std::mem::take(&mut self.include_ids);
        if !ids.is_empty() {
            self.options.measured(
                || INCLUDED.into(),
                "documents",
                |()| Some(ids.len() as u64),
                || self.give_included(&ids),
            )?;
        }
        let mut outcome = self.outcome;
        outcome.total_results = total;
        outcome.has_timings = self.query.has_timings;
        outcome.series_fields = self.query.series_fields();
        if !self.query.include.is_empty() {
            outcome.included_paths = Some(
                self.query
                    .include
                    .iter()
                    .map(|path| path.as_str().to_owned())
                    .collect(),
            );
        }
        let (skip, take) = (self.query.skip, self.query.take);
        if skip.is_some() || take.is_some() {
            let left = outcome
                .total_results
                .map_or(u64::MAX, |total| total.saturating_sub(skip.unwrap_or(0)));
            let capped = left.min(take.unwrap_or(u64::MAX));
            outcome.capped_max_results = (capped != u64::MAX).then_some(capped);
        }
        Ok(outcome)
    }

    fn give_included(&mut self, ids: &[Box<str>]) -> Result<(), QueryError> {
        for id in ids {
            self.options.check()?;
            let found = self.source.document_by_id(id).map_err(QueryError::Source)?;
            if let Some(document) = found {
                self.buffer.clear();
                write_document(&document, &mut self.buffer);
                self.sink
                    .include(document.id, &self.buffer)
                    .map_err(QueryError::Sink)?;
            }
        }
        Ok(())
    }

    /// Matches that passed the filter so far.
    pub(super) fn filtered_count(&self) -> u64 {
        self.position
    }

    /// Whether a filter decides which matches count.
    pub(super) fn has_filter(&self) -> bool {
        self.query.filter.is_some()
    }
}

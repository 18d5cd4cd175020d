//! Checking a database against itself: every document through every tree that should know it.
//!
//! Called by the command line's check and by tests after power loss. Pages and trees themselves are
//! checked by `Environment::check`; this is about what they say.
//!
//! Invariants:
//! - Reads one snapshot, so it may run while documents change.

use std::collections::HashMap;

use jackdaw_base::lowercase::lowercase;
use jackdaw_document::Document;
use jackdaw_model::{DocumentNumber, Etag};
use jackdaw_search::{IndexReader, IndexReport};

use crate::error::ReadError;
use crate::indexes::{Index, Indexes};
use crate::record::{CollectionNumber, Record};
use crate::snapshot::Snapshot;

/// Problems that are listed one by one; more only count.
const PROBLEMS_LISTED_MAX: usize = 1_000;

/// What a check has found.
#[derive(Clone, Debug, Default)]
pub struct DatabaseReport {
    /// Documents looked at.
    pub documents: u64,
    /// Tombstones looked at.
    pub tombstones: u64,
    /// What is wrong, the first thousand; empty for a sound database.
    pub problems: Vec<ReadError>,
    /// How much is wrong.
    pub problem_count: u64,
    /// Indexes by name. Each lists its own damages; one that could not be read gives its error.
    pub indexes: Vec<(String, Result<IndexReport, String>)>,
}

impl DatabaseReport {
    /// Whether nothing is wrong, with documents or indexes.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_index_sound = |report: &Result<IndexReport, String>| {
            report
                .as_ref()
                .is_ok_and(|report| report.damages.is_empty())
        };
        self.problem_count == 0
            && self
                .indexes
                .iter()
                .all(|(_, report)| is_index_sound(report))
    }

    fn add(&mut self, problem: ReadError) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_LISTED_MAX {
            self.problems.push(problem);
        }
    }

    fn check(&mut self, holds: bool, what: &'static str, number: Option<DocumentNumber>) {
        if !holds {
            self.add(ReadError::Damaged { what, number });
        }
    }
}

/// Checks documents and indexes.
pub(crate) fn verify(snapshot: &Snapshot, indexes: &Indexes) -> Result<DatabaseReport, ReadError> {
    let mut report = DatabaseReport::default();
    let mut counts = HashMap::new();
    for entry in snapshot.records()? {
        let (number, bytes) = entry?;
        report.documents += 1;
        verify_document(snapshot, number, bytes, &mut counts, &mut report)?;
    }
    let (ids, etags) = snapshot.entry_counts();
    report.check(ids == report.documents, "the number of ids", None);
    report.check(etags == report.documents, "the number of etags", None);
    for info in snapshot.collections()? {
        let count = counts.get(&info.number).copied().unwrap_or(0);
        report.check(count == info.count, "the count of a collection", None);
        let etags = snapshot.etag_count(info.number)?;
        report.check(etags == count, "the number of etags of a collection", None);
        let is_known = info.last_etag <= snapshot.last_etag();
        report.check(is_known, "the last etag of a collection", None);
    }
    let owners = snapshot.counter_owner_count()? == snapshot.counted_owners()?;
    report.check(owners, "the number of documents with counters", None);
    verify_tombstones(snapshot, &mut report)?;
    for index in indexes.all() {
        let outcome = verify_index(&index);
        report
            .indexes
            .push((index.definition().name().to_owned(), outcome));
    }
    Ok(report)
}

fn verify_document(
    snapshot: &Snapshot,
    number: DocumentNumber,
    bytes: &[u8],
    counts: &mut HashMap<CollectionNumber, u64>,
    report: &mut DatabaseReport,
) -> Result<(), ReadError> {
    let Some(record) = Record::decode(bytes) else {
        report.check(false, "the record of a document", Some(number));
        return Ok(());
    };
    *counts.entry(record.collection).or_default() += 1;
    let number_ = Some(number);
    let (metadata, body) = record.stored_bytes();
    let is_metadata_sound = metadata.is_empty() || Document::open(metadata).is_ok();
    report.check(is_metadata_sound, "the metadata of a document", number_);
    report.check(
        Document::open(body).is_ok(),
        "the body of a document",
        number_,
    );
    let found = snapshot.number(&lowercase(record.id))?;
    report.check(found == number_, "the id of a document", number_);
    let found = snapshot.number_at(record.etag)?;
    report.check(found == number_, "the etag of a document", number_);
    let found = snapshot.number_in(record.collection, record.etag)?;
    report.check(found == number_, "the collection of a document", number_);
    let is_known = record.etag <= snapshot.last_etag() && number <= snapshot.last_number();
    report.check(is_known, "the state of the database", number_);
    Ok(())
}

fn verify_tombstones(snapshot: &Snapshot, report: &mut DatabaseReport) -> Result<(), ReadError> {
    for entry in snapshot.tombstones(Etag(0))? {
        report.tombstones += 1;
        match entry {
            Err(problem @ ReadError::Damaged { .. }) => report.add(problem),
            Err(error) => return Err(error),
            Ok(tombstone) => {
                let number = Some(tombstone.number);
                let is_gone = snapshot.load(tombstone.number)?.is_none();
                report.check(is_gone, "a tombstone of a document that is there", number);
                let is_known =
                    tombstone.last_etag < tombstone.etag && tombstone.etag <= snapshot.last_etag();
                report.check(is_known, "the etag of a tombstone", number);
            }
        }
    }
    Ok(())
}

fn verify_index(index: &Index) -> Result<IndexReport, String> {
    let pages = index.read().map_err(|error| error.to_string())?;
    let reader = IndexReader::open(&pages).map_err(|error| error.to_string())?;
    let Some(reader) = reader else {
        return Ok(IndexReport::default());
    };
    reader.verify().map_err(|error| error.to_string())
}

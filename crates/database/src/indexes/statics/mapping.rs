//! Maps one document: runs every map that is about it, over the document or over what it has
//! beside it.

use jackdaw_base::lowercase::lowercase;
use jackdaw_base::time::UnixTicks;
use jackdaw_document::DocumentBuf;
use jackdaw_script::ScriptDocument;
use jackdaw_script::index::{
    IndexMachine, IndexedCounter, IndexedDocument, IndexedSeries, IndexedSeriesEntry, MapProgram,
    MapSource, RunError,
};

use super::host::MapHost;
use super::programs::{Programs, maps_collection, maps_name};
use crate::error::ReadError;
use crate::indexes::step::StepError;
use crate::names::EMPTY_COLLECTION;
use crate::snapshot::{DocumentRow, Snapshot};

/// Most entries of one document.
const OUTPUTS_MAX: usize = 100_000;
/// Entries of a time series that a map is given at once.
const SERIES_RUN: usize = 1024;
/// 100 nanoseconds in a millisecond.
const TICKS_PER_MILLISECOND: i64 = 10_000;

/// What the maps give for a document, at most `bytes_max`; the inner error is that of a map.
pub(super) fn map(
    programs: &Programs,
    snapshot: &Snapshot,
    row: &DocumentRow<'_>,
    machine: &mut IndexMachine,
    host: &mut MapHost<'_>,
    bytes_max: usize,
) -> Result<Result<Vec<DocumentBuf>, String>, StepError> {
    let folded = lowercase(row.collection());
    let mut mapped = Mapped {
        entries: Vec::new(),
        len_bytes: 0,
        bytes_max,
    };
    for program in &programs.maps {
        if !maps_collection(program, &folded) {
            continue;
        }
        let run = &mut Run {
            program,
            machine,
            host,
            mapped: &mut mapped,
        };
        let outcome = match program.source() {
            MapSource::Documents { .. } => run.document(row),
            MapSource::Counters { .. } => run.counters(snapshot, row),
            MapSource::TimeSeries { .. } => run.series(snapshot, row),
        };
        match outcome {
            Ok(()) => {}
            Err(Failure::TooMuch) => return Err(too_much(row, bytes_max)),
            Err(Failure::Read(error)) => return Err(error.into()),
            Err(Failure::Run(RunError::Fatal(error))) => return Err(StepError::Program(error)),
            Err(Failure::Run(error)) => return Ok(Err(error.to_string())),
        }
        if mapped.entries.len() > OUTPUTS_MAX {
            return Ok(Err(format!(
                "A document gives at most {OUTPUTS_MAX} entries"
            )));
        }
    }
    Ok(Ok(mapped.entries))
}

fn too_much(row: &DocumentRow<'_>, limit_bytes: usize) -> StepError {
    StepError::TooMuch {
        what: format!("document '{}'", row.id()),
        limit_bytes,
    }
}

/// What the maps made of a document so far.
struct Mapped {
    entries: Vec<DocumentBuf>,
    /// All that was made, also what was not kept.
    len_bytes: usize,
    bytes_max: usize,
}

impl Mapped {
    /// Keeps an entry. What is beyond a limit fails the document afterwards.
    fn push(&mut self, entry: DocumentBuf) {
        self.len_bytes = self.len_bytes.saturating_add(entry.len());
        if self.entries.len() <= OUTPUTS_MAX && self.len_bytes <= self.bytes_max {
            self.entries.push(entry);
        }
    }
}

enum Failure {
    /// The entries of the document take more than they may.
    TooMuch,
    Read(ReadError),
    Run(RunError),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::Read(error)
    }
}

struct Run<'r, 's> {
    program: &'r MapProgram,
    machine: &'r mut IndexMachine,
    host: &'r mut MapHost<'s>,
    mapped: &'r mut Mapped,
}

impl Run<'_, '_> {
    fn run(&mut self, item: IndexedDocument<'_>) -> Result<(), Failure> {
        let mapped = &mut *self.mapped;
        let emit = &mut |entry| mapped.push(entry);
        let outcome = self.machine.map(self.program, item, self.host, emit);
        match mapped.len_bytes > mapped.bytes_max {
            true => Err(Failure::TooMuch),
            false => outcome.map_err(Failure::Run),
        }
    }

    fn document(&mut self, row: &DocumentRow<'_>) -> Result<(), Failure> {
        let metadata = row.metadata().map(|metadata| metadata.root());
        let change_vector = row.change_vector();
        let last_modified = row.last_modified().to_string();
        let collection = row.collection();
        self.run(IndexedDocument::Document(ScriptDocument {
            body: row.body().root(),
            metadata: metadata.as_ref().and_then(|metadata| metadata.as_object()),
            collection: (collection != EMPTY_COLLECTION).then_some(collection),
            id: row.id(),
            change_vector: Some(&change_vector),
            last_modified: Some(&last_modified),
        }))
    }

    fn counters(&mut self, snapshot: &Snapshot, row: &DocumentRow<'_>) -> Result<(), Failure> {
        for counter in snapshot.all_counters(row.number())? {
            if maps_name(self.program, &counter.name) {
                self.run(IndexedDocument::Counter(IndexedCounter {
                    document_id: row.id(),
                    name: &counter.name,
                    value: counter.value,
                }))?;
            }
        }
        Ok(())
    }

    fn series(&mut self, snapshot: &Snapshot, row: &DocumentRow<'_>) -> Result<(), Failure> {
        for series in snapshot.all_series(row.number())? {
            if !maps_name(self.program, &series.name) {
                continue;
            }
            let mut entries = snapshot.series_entries(&series, i64::MIN, i64::MAX)?;
            loop {
                let run = entries
                    .by_ref()
                    .take(SERIES_RUN)
                    .collect::<Result<Vec<_>, _>>()?;
                if run.is_empty() {
                    break;
                }
                let items: Vec<IndexedSeriesEntry<'_>> = run
                    .iter()
                    .map(|entry| IndexedSeriesEntry {
                        timestamp: UnixTicks(entry.at.saturating_mul(TICKS_PER_MILLISECOND)),
                        tag: entry.tag.as_deref(),
                        values: &entry.values,
                    })
                    .collect();
                self.run(IndexedDocument::Series(IndexedSeries {
                    document_id: row.id(),
                    name: &series.name,
                    entries: &items,
                }))?;
            }
        }
        Ok(())
    }
}

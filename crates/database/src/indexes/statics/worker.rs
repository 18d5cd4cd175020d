//! The steps of the worker of a static index: gathers documents, maps them, applies what they gave.
//!
//! Invariants:
//! - One batch is read from one snapshot of the documents and applied in one transaction of the
//!   index.
//! - A document whose map fails has no entries, and the next one is mapped.
//! - A batch makes at most about `Core::index_batch_bytes` of entries and as much of results: the
//!   rest of its documents are put off. One document that makes more stops the index.
//!
//! Threads: all of it on the worker's thread, where the machine that runs programs lives.

use std::sync::Arc;

use jackdaw_document::DocumentBuf;
use jackdaw_model::{DocumentNumber, Etag};
use jackdaw_script::ScriptLimits;
use jackdaw_script::index::IndexMachine;
use jackdaw_search::IndexReader;
use jackdaw_storage::Environment;

use super::apply::{Applier, Change, Changes};
use super::beside::Beside;
use super::definition::SourceType;
use super::entry::EntryForm;
use super::errors::{self, IndexingError};
use super::gather::{Gathered, Sources};
use super::groups::Reducing;
use super::host::MapHost;
use super::mapping;
use super::outputs;
use super::programs::Programs;
use super::references;
use super::trees::{META, Meta, PENDING, REFERENCES};
use crate::database::Core;
use crate::error::ReadError;
use crate::indexes::index::Index;
use crate::indexes::step::StepError;
use crate::snapshot::Snapshot;

/// Documents of a batch, at least and at most.
const DOCUMENTS_MIN: usize = 128;
/// At least where it is the maps that take the time, or wait for those of others: a batch keeps
/// what its snapshot sees.
const SLOW_DOCUMENTS_MIN: usize = 8;
const DOCUMENTS_MAX: usize = 8 * 1024;
/// The part of its documents that a batch begins again with when their groups made too much.
const FEWER_PARTS: usize = 8;
/// A batch should take about this long.
const BATCH_NANOS_TARGET: u64 = 500_000_000;
/// Changes that are nothing to the index move the stored position only in steps of this many.
const IDLE_ETAGS_MAX: u64 = 1024;
/// The setting that makes fields null that an entry lacks.
const NULLS_SETTING: &str = "Indexing.IndexMissingFieldsAsNull";

/// See the file head.
pub(crate) struct StaticWorker {
    index: Arc<Index>,
    documents: Environment,
    core: Arc<Core>,
    programs: Arc<Programs>,
    machine: IndexMachine,
    applier: Applier,
    beside: Option<Beside>,
    documents_max: usize,
    /// Whether the maps of the present batch are done, and groups are reduced.
    is_of_groups: bool,
    /// What the maps of the present batch took.
    map_nanos: u64,
    /// Everything up to here was looked at.
    pub(crate) seen: Etag,
    /// Compare-exchange was looked at up to here.
    pub(crate) exchange_seen: u64,
    /// Whether there are results to be stored as documents.
    has_outputs: bool,
}

impl StaticWorker {
    pub(crate) fn new(
        index: Arc<Index>,
        documents: Environment,
        core: Arc<Core>,
        programs: Arc<Programs>,
    ) -> Result<StaticWorker, StepError> {
        let definition = index.definition();
        let form = match definition.as_static() {
            Some(own) => EntryForm {
                nulls: match own.has_setting(NULLS_SETTING) {
                    true => programs.fields.clone(),
                    false => Vec::new(),
                },
                boxed: own.boxed_fields(),
            },
            None => EntryForm::default(),
        };
        let mut applier = Applier::new(form, core.index_batch_bytes);
        if let Some(own) = definition.as_static() {
            applier.terms.declare(own, &programs.fields)?;
        }
        let source = programs.source_type();
        let beside = (source != SourceType::Documents).then(|| Beside::new(&core.hub, source));
        let pages = index.read()?;
        let meta = Meta::load(pages.tree(META)?.as_ref())?;
        drop(pages);
        Ok(StaticWorker {
            seen: index.progress().indexed_up_to,
            exchange_seen: meta.exchange_up_to,
            has_outputs: definition
                .as_static()
                .is_some_and(|own| own.output_collection.is_some()),
            index,
            documents,
            core,
            programs,
            machine: IndexMachine::new(ScriptLimits::default()),
            applier,
            beside,
            documents_max: DOCUMENTS_MIN,
            is_of_groups: false,
            map_nanos: 0,
        })
    }

    /// Whether a change of compare-exchange is something to the index.
    pub(crate) fn uses_exchange(&self) -> bool {
        self.programs.uses_exchange
    }

    /// Takes one batch in; whether there may be more to do at once.
    pub(crate) fn step(&mut self) -> Result<bool, StepError> {
        let started = self.core.vfs.monotonic_nanos();
        // Before the snapshot: whatever is told is in it.
        let told = self.beside.as_ref().map(Beside::take);
        let known = self.core.hub.last_etag();
        let outcome = self.try_step(told.as_ref(), known, started);
        if let (Err(_), Some(beside), Some(told)) = (&outcome, &self.beside, told) {
            beside.give_back(told);
        }
        match outcome {
            // Nothing of the batch was stored: fewer documents touch fewer groups.
            Err(StepError::TooMuch { .. }) if self.is_of_groups && self.documents_max > 1 => {
                self.documents_max = (self.documents_max / FEWER_PARTS).max(1);
                Ok(true)
            }
            outcome => outcome,
        }
    }

    fn try_step(
        &mut self,
        told: Option<&super::beside::Told>,
        known: Etag,
        started: u64,
    ) -> Result<bool, StepError> {
        let after = self.index.progress().indexed_up_to;
        let snapshot = Snapshot::new(self.documents.read()?, Arc::clone(&self.core))?;
        let pages = self.index.read()?;
        let mut gathered = Gathered::default();
        let sources = Sources {
            programs: &self.programs,
            snapshot: &snapshot,
            pages: &pages,
            documents_max: self.documents_max,
        };
        gathered.take_pending(&sources)?;
        if let Some(told) = told {
            let numbers = changed_beside(told, &snapshot, &self.programs, after)?;
            gathered.take(numbers, false, self.documents_max);
        }
        let exchange = self.changed_exchange(&snapshot, &sources, &mut gathered)?;
        let index = Arc::clone(&self.index);
        let is_stopping = || index.is_stopping();
        gathered.take_changes(&sources, after.max(self.seen), &is_stopping)?;
        drop(pages);
        if self.beside.is_some() {
            // A counter changed later may be in the snapshot and not be told yet.
            gathered.up_to = gathered.up_to.min(known.max(after));
        }
        let (up_to, is_all) = (gathered.up_to, gathered.is_all);
        let is_idle = gathered.wanted.is_empty() && gathered.gone.is_empty() && exchange.is_none();
        if is_idle && is_all && up_to.0.saturating_sub(after.0) < IDLE_ETAGS_MAX {
            drop(snapshot);
            self.seen = up_to;
            self.store_outputs()?;
            self.index.update(|progress| progress.caught_up_to = up_to);
            return Ok(false);
        }
        let wanted = gathered.wanted.len();
        let count = self.take_in(&snapshot, gathered, exchange)?;
        drop(snapshot);
        self.store_outputs()?;
        self.seen = up_to;
        let has_pending = self.has_pending()?;
        if !has_pending {
            self.index.update(|progress| progress.caught_up_to = up_to);
        }
        let elapsed = self.core.vfs.monotonic_nanos().saturating_sub(started);
        match count < wanted {
            true => self.documents_max = count.max(1),
            false => self.steer(count, elapsed),
        }
        Ok(!is_all || has_pending)
    }

    /// Looks for values of compare-exchange that changed since documents were mapped with them;
    /// gives the position up to which it has looked.
    fn changed_exchange(
        &self,
        snapshot: &Snapshot,
        sources: &Sources<'_>,
        gathered: &mut Gathered,
    ) -> Result<Option<u64>, StepError> {
        let index = snapshot.exchange_index()?;
        if !self.programs.uses_exchange || index == self.exchange_seen {
            return Ok(None);
        }
        let tree = sources.pages.tree(REFERENCES)?;
        let current = |key: &str| {
            let value = snapshot.exchange_value(key)?;
            Ok(value.map_or(0, |value| value.index))
        };
        let found = references::exchange_referrers(tree.as_ref(), current)?;
        gathered.take(found, true, sources.documents_max);
        Ok(Some(index))
    }

    /// Maps what was gathered and applies it; returns the number of documents that it came to.
    fn take_in(
        &mut self,
        snapshot: &Snapshot,
        mut gathered: Gathered,
        exchange_up_to: Option<u64>,
    ) -> Result<usize, StepError> {
        let now = self.core.now();
        let index = Arc::clone(&self.index);
        let is_over = || index.is_stopping();
        let mut host = MapHost::new(snapshot, &is_over);
        let mut changes = Changes {
            postponed: std::mem::take(&mut gathered.postponed),
            up_to: gathered.up_to,
            exchange_up_to,
            ..Changes::default()
        };
        let Gathered {
            wanted,
            by_reference,
            gone: mut removed,
            ..
        } = gathered;
        let started = self.core.vfs.monotonic_nanos();
        let bytes_max = self.core.index_batch_bytes;
        let (mut count, mut made_bytes) = (0, 0);
        self.is_of_groups = false;
        let mut wanted = wanted.into_iter();
        for number in wanted.by_ref() {
            count += 1;
            let Some(row) = snapshot.load(number)? else {
                removed.insert(number);
                continue;
            };
            removed.remove(&number);
            changes.map_attempts += 1;
            changes.reference_attempts += u64::from(by_reference.contains(&number));
            let mapped = mapping::map(
                &self.programs,
                snapshot,
                &row,
                &mut self.machine,
                &mut host,
                bytes_max,
            )?;
            if index.is_stopping() {
                // A map that was cut short has not failed.
                return Ok(count);
            }
            let mapped = mapped.unwrap_or_else(|error| {
                changes.map_errors += 1;
                changes.errors.push(IndexingError {
                    at: now,
                    document: Some(row.id().to_owned()),
                    action: "Map".to_owned(),
                    error: errors::cut(format!(
                        "Failed to execute mapping function on {}. Exception: {error}",
                        row.id()
                    )),
                });
                Vec::new()
            });
            made_bytes += mapped.iter().map(DocumentBuf::len).sum::<usize>();
            changes.documents.push(Change {
                number,
                id: row.id().to_owned(),
                mapped,
                asked: host.take_asked(),
            });
            if made_bytes >= bytes_max {
                break;
            }
        }
        changes.postponed.extend(wanted);
        self.map_nanos = self.core.vfs.monotonic_nanos().saturating_sub(started);
        changes.documents.extend(removed.into_iter().map(gone));
        let up_to = changes.up_to;
        let definition = index.definition();
        let damaged = || ReadError::damaged("the definition of a static index");
        let own = definition.as_static().ok_or_else(damaged)?;
        let reducing = self.programs.reduce.as_ref().map(|program| Reducing {
            program,
            machine: &mut self.machine,
            host: &mut host,
        });
        self.is_of_groups = true;
        let mut transaction = index.environment.begin_write()?;
        let meta = self
            .applier
            .apply(&mut transaction, own, changes, reducing, now)?;
        transaction.commit()?;
        self.exchange_seen = meta.exchange_up_to;
        self.report(up_to, now)?;
        Ok(count)
    }

    /// Tells others how far the index has come.
    fn report(&self, up_to: Etag, now: jackdaw_base::time::UnixTicks) -> Result<(), StepError> {
        let pages = self.index.read()?;
        let entry_count = IndexReader::open(&pages)?.map_or(0, |reader| reader.entry_count());
        let error_count = errors::count(&pages)?;
        self.index.update(|progress| {
            progress.indexed_up_to = up_to;
            progress.exchange_up_to = self.exchange_seen;
            progress.last_indexed = Some(now);
            progress.entry_count = entry_count;
            progress.error_count = error_count;
        });
        self.index.tell(&self.core.hub, "BatchCompleted");
        Ok(())
    }

    fn has_pending(&self) -> Result<bool, StepError> {
        let pages = self.index.read()?;
        let pending = pages.tree(PENDING)?;
        Ok(pending.is_some_and(|pending| !pending.is_empty()))
    }

    /// Stores results as documents, when the definition says so.
    fn store_outputs(&mut self) -> Result<(), StepError> {
        if !self.has_outputs {
            return Ok(());
        }
        outputs::store(&self.index, &self.documents, &self.core)
    }

    /// Chooses the size of the next batch.
    fn steer(&mut self, count: usize, elapsed_nanos: u64) {
        if elapsed_nanos > 2 * BATCH_NANOS_TARGET {
            let documents_min = match self.map_nanos > elapsed_nanos / 2 {
                true => SLOW_DOCUMENTS_MIN,
                false => DOCUMENTS_MIN,
            };
            let fewer = (self.documents_max / 2).max(documents_min);
            self.documents_max = self.documents_max.min(fewer);
        } else if count >= self.documents_max && elapsed_nanos < BATCH_NANOS_TARGET {
            self.documents_max = (self.documents_max * 2).min(DOCUMENTS_MAX);
        }
    }
}

fn gone(number: DocumentNumber) -> Change {
    Change {
        number,
        id: String::new(),
        mapped: Vec::new(),
        asked: references::Asked::new(),
    }
}

/// Documents of which counters or time series changed behind `after`.
fn changed_beside(
    told: &super::beside::Told,
    snapshot: &Snapshot,
    programs: &Programs,
    after: Etag,
) -> Result<Vec<DocumentNumber>, ReadError> {
    let mut numbers = Vec::new();
    for id in &told.ids {
        numbers.extend(snapshot.number(id)?);
    }
    // With nothing indexed yet, every document comes anyway.
    if told.must_look && after > Etag(0) {
        numbers.extend(match programs.source_type() {
            SourceType::Counters => snapshot.counters_after(after)?,
            SourceType::TimeSeries => snapshot.series_after(after)?,
            SourceType::Documents => Vec::new(),
        });
    }
    let own = programs.collections();
    let mut wanted = Vec::with_capacity(numbers.len());
    for number in numbers {
        let Some(row) = snapshot.load(number)? else {
            continue;
        };
        let folded = jackdaw_base::lowercase::lowercase(row.collection()).into_owned();
        if own.as_ref().is_none_or(|own| own.contains(&folded)) {
            wanted.push(number);
        }
    }
    Ok(wanted)
}

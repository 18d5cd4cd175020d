//! The thread of an index: waits for changes and takes them in, one step after another.
//!
//! One for each index, so that a slow one never holds another up. Few changes are left to gather
//! for a moment, unless somebody waits.

use std::sync::{Arc, Weak};
use std::time::Duration;

use jackdaw_model::Etag;
use jackdaw_storage::Environment;

use super::automatic_worker::AutoWorker;
use super::index::{Index, IndexStatus};
use super::set::IndexSet;
use super::statics::{Priority, StaticWorker};
use super::step::StepError;
use crate::changes::Target;
use crate::database::Core;
use crate::error::ReadError;

/// How long a few changes may gather, by priority.
const GATHER: Duration = Duration::from_millis(10);
const GATHER_LOW: Duration = Duration::from_millis(200);
/// So many etags are not few.
const GATHER_ETAGS_MAX: u64 = 512;
/// Wait after an error that may pass, such as a full disk.
const RETRY: Duration = Duration::from_secs(1);

/// What the thread needs to begin.
pub(super) struct Worker {
    pub(super) index: Arc<Index>,
    pub(super) documents: Environment,
    pub(super) core: Arc<Core>,
    /// Where an index that replaces another is put in its place.
    pub(super) set: Weak<IndexSet>,
}

enum Steps {
    Auto(Box<AutoWorker>),
    Static(Box<StaticWorker>),
}

impl Steps {
    fn step(&mut self) -> Result<bool, StepError> {
        match self {
            Steps::Auto(worker) => worker.step(),
            Steps::Static(worker) => worker.step(),
        }
    }

    fn seen(&self) -> Etag {
        match self {
            Steps::Auto(worker) => worker.seen,
            Steps::Static(worker) => worker.seen,
        }
    }

    /// Whether a change of compare-exchange waits.
    fn awaits_exchange(&self, last: u64) -> bool {
        match self {
            Steps::Auto(_) => false,
            Steps::Static(worker) => worker.uses_exchange() && worker.exchange_seen != last,
        }
    }
}

impl Worker {
    /// Works until the index is stopped or fails for good.
    pub(super) fn run(self) {
        match self.begin() {
            Ok(steps) => self.work(steps),
            Err(error) => self.index.fail(&error.to_string()),
        }
    }

    fn begin(&self) -> Result<Steps, StepError> {
        let (index, documents) = (Arc::clone(&self.index), self.documents.clone());
        let core = Arc::clone(&self.core);
        let definition = index.definition();
        if let Some(definition) = definition.as_auto() {
            let worker = AutoWorker::new(index, definition, documents, core)?;
            return Ok(Steps::Auto(Box::new(worker)));
        }
        let programs = index.programs().cloned();
        let programs = programs.ok_or_else(|| ReadError::damaged("the maps of an index"))?;
        let worker = StaticWorker::new(index, documents, core, programs)?;
        Ok(Steps::Static(Box::new(worker)))
    }

    fn work(&self, mut steps: Steps) {
        let (index, hub) = (&self.index, &self.core.hub);
        while !index.is_stopping() {
            if index.status() != IndexStatus::Running {
                hub.wait(None, |_| {
                    index.is_stopping() || index.status() == IndexStatus::Running
                });
                continue;
            }
            match steps.step() {
                Ok(true) => {}
                Ok(false) => {
                    self.replace_if_due();
                    self.rest(&steps);
                }
                Err(error) if error.may_pass() => {
                    tracing::warn!(index = index.definition().name(), %error, "retrying");
                    hub.wait(Some(RETRY), |_| index.is_stopping());
                }
                Err(error) if error.stays() => return index.fail_for_good(&error.to_string()),
                Err(error) => return index.fail(&error.to_string()),
            }
        }
    }

    /// Puts an index that replaces another in its place once it has come as far as the documents.
    fn replace_if_due(&self) {
        let index = &self.index;
        if !index.is_replacement() || !index.is_caught_up(self.core.hub.target()) {
            return;
        }
        let Some(set) = self.set.upgrade() else {
            return;
        };
        if let Err(error) = set.put_in_place(index) {
            tracing::warn!(index = index.definition().name(), %error, "not replaced yet");
        }
    }

    /// Waits for changes, and lets few of them gather unless somebody waits.
    fn rest(&self, steps: &Steps) {
        let (index, seen) = (&self.index, steps.seen());
        let hub = &self.core.hub;
        let is_called = |last: Target| {
            index.is_stopping()
                || index.status() != IndexStatus::Running
                || steps.awaits_exchange(last.exchange)
        };
        hub.wait(None, |last| last.etag > seen || is_called(last));
        let gather = match index.definition().as_static().map(|own| own.priority) {
            Some(Priority::High) => return,
            Some(Priority::Low) => GATHER_LOW,
            _ => GATHER,
        };
        hub.wait(Some(gather), |last| {
            index.is_awaited()
                || last.etag.0.saturating_sub(seen.0) >= GATHER_ETAGS_MAX
                || is_called(last)
        });
    }
}

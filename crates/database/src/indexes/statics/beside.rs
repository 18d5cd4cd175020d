//! Which documents have counters or time series that changed: those change without their
//! documents.
//!
//! Told by the database while it is open; what changed before is found by looking at all of them.
//!
//! Threads: told on the engine's thread, read by a worker.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::definition::SourceType;
use crate::changes::{BesideChange, Hub, Listener};

/// Documents remembered; with more, all counters or time series are looked at.
const REMEMBERED_MAX: usize = 65_536;

/// See the file head.
pub(super) struct Beside {
    state: Arc<Mutex<State>>,
    _listener: Listener,
}

struct State {
    ids: HashSet<String>,
    must_look: bool,
}

/// What changed since the last time.
pub(super) struct Told {
    /// Ids of documents.
    pub(super) ids: HashSet<String>,
    /// Whether there may be others.
    pub(super) must_look: bool,
}

impl Beside {
    pub(super) fn new(hub: &Arc<Hub>, source: SourceType) -> Beside {
        let state = Arc::new(Mutex::new(State {
            ids: HashSet::new(),
            must_look: true,
        }));
        let told = Arc::clone(&state);
        let listener = hub.listen(move |change| {
            let ids = change
                .beside
                .iter()
                .filter_map(|beside| match (beside, source) {
                    (BesideChange::Counter { document, .. }, SourceType::Counters)
                    | (BesideChange::Series { document, .. }, SourceType::TimeSeries) => {
                        Some(document)
                    }
                    _ => None,
                });
            let mut state = told.lock().unwrap_or_else(PoisonError::into_inner);
            for id in ids {
                if state.ids.len() >= REMEMBERED_MAX {
                    state.must_look = true;
                    state.ids.clear();
                }
                if !state.ids.contains(id) {
                    state.ids.insert(id.clone());
                }
            }
        });
        Beside {
            state,
            _listener: listener,
        }
    }

    /// Takes what was told.
    pub(super) fn take(&self) -> Told {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Told {
            ids: std::mem::take(&mut state.ids),
            must_look: std::mem::replace(&mut state.must_look, false),
        }
    }

    /// Takes back what could not be taken in.
    pub(super) fn give_back(&self, told: Told) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ids.extend(told.ids);
        state.must_look |= told.must_look;
    }
}

//! News of changes for any number of waiting readers, at the price of one listener a database.
//!
//! `routes::feed` waits here. The engine's thread stores one number and wakes who waits; what
//! changed each reader looks up itself. A reader that marks the signal as seen *before* it reads
//! misses nothing: what comes while it reads raises the signal again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jackdaw_database::{Database, Etag, Listener};
use tokio::sync::watch;

/// One database's signal; it ends with the last reader.
struct Signal {
    last: Arc<watch::Sender<Etag>>,
    _listener: Listener,
}

/// The signals of all databases that somebody waits for, by id.
#[derive(Default)]
pub(crate) struct Signals(Mutex<HashMap<String, Weak<Signal>>>);

/// Waits for changes of a database.
pub(crate) struct Changed {
    receiver: watch::Receiver<Etag>,
    _signal: Arc<Signal>,
}

impl Changed {
    /// From here on, whatever changes raises the signal again.
    pub(crate) fn mark_seen(&mut self) {
        self.receiver.borrow_and_update();
    }

    /// Resolves when something changed after the last mark.
    pub(crate) async fn raised(&mut self) {
        // The sender lives as long as `_signal`.
        drop(self.receiver.changed().await);
    }
}

impl Signals {
    /// Follows a database.
    pub(crate) fn follow(&self, database: &Database) -> Changed {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, signal| signal.strong_count() > 0);
        let id = database.id().as_str();
        let signal = all.get(id).and_then(Weak::upgrade).unwrap_or_else(|| {
            let last = Arc::new(watch::Sender::new(Etag(0)));
            let told = last.clone();
            let listener = database.on_change(move |change| {
                told.send_replace(change.last_etag);
            });
            let signal = Arc::new(Signal {
                last,
                _listener: listener,
            });
            all.insert(id.to_owned(), Arc::downgrade(&signal));
            signal
        });
        Changed {
            receiver: signal.last.subscribe(),
            _signal: signal,
        }
    }
}

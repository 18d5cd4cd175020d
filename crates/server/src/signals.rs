//! News of changes for any number of waiting readers, at the price of one listener a database.
//!
//! `routes::feed` waits here, and who watches over a web socket for the end of their database. The
//! engine's thread stores one number and wakes a task, which wakes who waits, a few at a time
//! ([`Staggered`]); what changed each reader looks up itself. A reader that marks the signal as
//! seen *before* it reads misses nothing: what comes while it reads raises the signal again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jackdaw_database::{Database, Etag, Listener};
use tokio::sync::watch;

use crate::staggered::Staggered;

/// Why nobody may go on waiting for a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Deleted,
    Disabled,
}

impl Ending {
    /// The word of the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Ending::Deleted => "Deleted",
            Ending::Disabled => "Disabled",
        }
    }

    /// In words, for the client of a database.
    pub(crate) fn message(self, database: &str) -> String {
        match self {
            Ending::Deleted => format!("The database '{database}' was deleted."),
            Ending::Disabled => format!("The database '{database}' was disabled."),
        }
    }
}

/// One database's signal; it ends with the last reader.
struct Signal {
    last: Arc<Staggered<Etag>>,
    ending: watch::Sender<Option<Ending>>,
    _listener: Listener,
}

/// The signals of all databases that somebody waits for, by id.
#[derive(Default)]
pub(crate) struct Signals(Mutex<HashMap<String, Weak<Signal>>>);

/// Waits for changes of a database.
pub(crate) struct Changed {
    receiver: watch::Receiver<Etag>,
    ending: watch::Receiver<Option<Ending>>,
    _signal: Arc<Signal>,
}

impl Changed {
    /// From here on, whatever changes raises the signal again. The last change signalled; 0
    /// when none was since anybody waits.
    pub(crate) fn mark_seen(&mut self) -> Etag {
        *self.receiver.borrow_and_update()
    }

    /// Resolves when something changed after the last mark, or there is nothing more to wait for.
    pub(crate) async fn raised(&mut self) {
        // A group's sender lives as long as its receivers, the other as long as `_signal`.
        tokio::select! {
            _ = self.receiver.changed() => {}
            _ = self.ending.wait_for(Option::is_some) => {}
        }
    }

    /// Why there is nothing more to wait for, if so.
    pub(crate) fn ending(&self) -> Option<Ending> {
        *self.ending.borrow()
    }

    /// Resolves when there is nothing more to wait for. Dropping it loses nothing.
    pub(crate) async fn ended(&mut self) -> Ending {
        match self.ending.wait_for(Option::is_some).await.map(|one| *one) {
            Ok(Some(ending)) => ending,
            // The sender lives as long as `_signal`.
            _ => std::future::pending().await,
        }
    }
}

impl Signals {
    /// Follows a database. Only on the runtime.
    pub(crate) fn follow(&self, database: &Database) -> Changed {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, signal| signal.strong_count() > 0);
        let id = database.id().as_str();
        let signal = all.get(id).and_then(Weak::upgrade).unwrap_or_else(|| {
            let (newest, news) = watch::channel(Etag(0));
            let listener = database.on_change(move |change| {
                newest.send_replace(change.last_etag);
            });
            let last = Arc::new(Staggered::new(Etag(0)));
            tokio::spawn(relay(news, last.clone()));
            let signal = Arc::new(Signal {
                last,
                ending: watch::Sender::new(None),
                _listener: listener,
            });
            all.insert(id.to_owned(), Arc::downgrade(&signal));
            signal
        });
        Changed {
            receiver: signal.last.follow(),
            ending: signal.ending.subscribe(),
            _signal: signal,
        }
    }

    /// Sends away all who follow a database; who follows it from here on is not concerned.
    pub(crate) fn end(&self, database: &Database, ending: Ending) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let signal = all.remove(database.id().as_str());
        if let Some(signal) = signal.and_then(|signal| signal.upgrade()) {
            signal.ending.send_replace(Some(ending));
        }
    }
}

/// Tells all followers what the listener hears of, until it is gone.
async fn relay(mut news: watch::Receiver<Etag>, last: Arc<Staggered<Etag>>) {
    while news.changed().await.is_ok() {
        let newest = *news.borrow_and_update();
        last.tell(newest).await;
    }
}

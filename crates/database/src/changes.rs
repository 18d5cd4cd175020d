//! News of committed changes: who waits for them, who is told, what is counted.
//!
//! `database` and `import` report here from the engine's thread once a transaction is durable;
//! index workers and the server listen.
//!
//! Threads: any. Listeners run on the engine's thread and must not block.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use jackdaw_base::lowercase::lowercase;
use rustc_hash::FxHashSet;

use crate::store::Applied;
use jackdaw_model::Etag;

/// Documents changed by one operation, told once it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// First etag given.
    pub first_etag: Etag,
    /// Last etag given.
    pub last_etag: Etag,
    /// Documents stored.
    pub puts: u64,
    /// Documents removed.
    pub deletes: u64,
    /// Counters and time series changed, in order.
    pub beside: Arc<[BesideChange]>,
    /// The documents, oldest change first, each with its last one. `None` when nobody asked for it
    /// by [`Database::describe_changes`](crate::Database::describe_changes) before the operation
    /// began, or when it made more than 1,024 changes: a snapshot tells them by their etags, as far
    /// as they did not change since.
    pub documents: Option<Arc<[DocumentChange]>>,
}

/// A document that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentChange {
    /// The etag of the change.
    pub etag: Etag,
    /// Removed, not stored.
    pub is_deleted: bool,
    /// Its id; in lower case when it was removed.
    pub id: String,
    /// Its collection.
    pub collection: String,
}

/// Most changes of documents that are described of one operation.
const DESCRIBED_MAX: usize = 1024;

/// What an operation changed among documents, while somebody wants it described.
#[derive(Clone, Debug, Default)]
pub(crate) struct Described(Option<Vec<DocumentChange>>);

impl Described {
    /// Adds a change; `describe` is not called when nobody wants it.
    pub(crate) fn push<E>(
        &mut self,
        describe: impl FnOnce() -> Result<DocumentChange, E>,
    ) -> Result<(), E> {
        if let Some(changes) = &mut self.0 {
            if changes.len() == DESCRIBED_MAX {
                self.0 = None;
            } else {
                changes.push(describe()?);
            }
        }
        Ok(())
    }

    /// The last change of each document.
    fn last_changes(&self) -> Option<Arc<[DocumentChange]>> {
        let changes = self.0.as_ref()?;
        let mut seen = FxHashSet::default();
        let last = changes.iter().rev();
        let mut last: Vec<_> = last
            .filter(|change| seen.insert(lowercase(&change.id)))
            .cloned()
            .collect();
        last.reverse();
        Some(last.into())
    }
}

/// A change of something beside a document. `kind` is the word clients know: `Put` for what is new,
/// `Increment`, `Delete`, or `Mixed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BesideChange {
    /// A counter.
    Counter {
        /// Id of its document.
        document: String,
        /// Collection of its document.
        collection: String,
        /// Its name.
        name: String,
        /// See [`BesideChange`].
        kind: &'static str,
        /// Its value; 0 when it was removed.
        value: i64,
        /// The etag of the change.
        etag: Etag,
    },
    /// A time series.
    Series {
        /// Id of its document.
        document: String,
        /// Collection of its document.
        collection: String,
        /// Its name.
        name: String,
        /// See [`BesideChange`].
        kind: &'static str,
        /// Time of the first entry changed, in milliseconds since 1970; `None` when a deletion has
        /// no beginning.
        from: Option<i64>,
        /// Time of the last entry changed; `None` when a deletion has no end.
        to: Option<i64>,
        /// The etag of the change.
        etag: Etag,
    },
}

/// What a database did since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Documents stored or removed.
    pub writes: u64,
    /// Documents read by callers.
    pub reads: u64,
    /// Queries run.
    pub queries: u64,
}

/// What became of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexNews {
    /// Its name.
    pub name: String,
    /// The word clients know: `IndexAdded`, `BatchCompleted`, `IndexRemoved` and others.
    pub kind: &'static str,
}

/// Last durable changes, of documents and of compare-exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) etag: Etag,
    pub(crate) exchange: u64,
}

type Callback<T> = Arc<dyn Fn(&T) + Send + Sync>;
type Listeners<T> = RwLock<Vec<(u64, Callback<T>)>>;

/// Keeps a callback registered; dropping it ends the calls.
#[must_use = "dropping it ends the calls"]
pub struct Listener {
    hub: Weak<Hub>,
    number: u64,
}

/// Has the documents of changes described; dropping it ends that.
#[must_use = "dropping it ends the descriptions"]
pub struct Describing(Weak<Hub>);

impl Drop for Describing {
    fn drop(&mut self) {
        if let Some(hub) = self.0.upgrade() {
            hub.describers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            let mut listeners = hub
                .listeners
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            listeners.retain(|(number, _)| *number != self.number);
            let listeners = hub.index_listeners.write();
            let mut listeners = listeners.unwrap_or_else(PoisonError::into_inner);
            listeners.retain(|(number, _)| *number != self.number);
        }
    }
}

/// See the file head.
#[derive(Default)]
pub(crate) struct Hub {
    last: Mutex<Target>,
    moved: Condvar,
    listeners: Listeners<Change>,
    index_listeners: Listeners<IndexNews>,
    next_listener: AtomicU64,
    /// Those who want documents described.
    describers: AtomicUsize,
    writes: AtomicU64,
    reads: AtomicU64,
    queries: AtomicU64,
}

impl Hub {
    pub(crate) fn new(last: Target) -> Hub {
        Hub {
            last: Mutex::new(last),
            ..Hub::default()
        }
    }

    /// What an operation that begins now describes.
    pub(crate) fn described(&self) -> Described {
        let is_wanted = self.describers.load(Ordering::Relaxed) > 0;
        Described(is_wanted.then(Vec::new))
    }

    /// Reports a durable operation. Listeners hear of it before anybody who waits for its etag.
    pub(crate) fn report(&self, applied: &Applied) {
        if applied.last_etag == applied.etag_before {
            return;
        }
        self.writes
            .fetch_add(applied.puts + applied.deletes, Ordering::Relaxed);
        let change = Change {
            first_etag: Etag(applied.etag_before.0 + 1),
            last_etag: applied.last_etag,
            puts: applied.puts,
            deletes: applied.deletes,
            beside: applied.beside.as_slice().into(),
            documents: applied.described.last_changes(),
        };
        let listeners = self
            .listeners
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for (_, callback) in &listeners {
            callback(&change);
        }
        {
            let mut last = self.lock();
            last.etag = applied.last_etag.max(last.etag);
        }
        self.moved.notify_all();
    }

    /// Reports a durable change of compare-exchange.
    pub(crate) fn report_exchange(&self, index: u64) {
        {
            let mut last = self.lock();
            last.exchange = index.max(last.exchange);
        }
        self.moved.notify_all();
    }

    /// Reports what became of an index.
    pub(crate) fn report_index(&self, news: &IndexNews) {
        let listeners = self.index_listeners.read();
        let listeners = listeners.unwrap_or_else(PoisonError::into_inner).clone();
        for (_, callback) in &listeners {
            callback(news);
        }
    }

    pub(crate) fn listen(
        self: &Arc<Hub>,
        callback: impl Fn(&Change) + Send + Sync + 'static,
    ) -> Listener {
        self.listen_in(&self.listeners, Arc::new(callback))
    }

    /// Has documents described from here on.
    pub(crate) fn describe(self: &Arc<Hub>) -> Describing {
        self.describers.fetch_add(1, Ordering::Relaxed);
        Describing(Arc::downgrade(self))
    }

    pub(crate) fn listen_to_indexes(
        self: &Arc<Hub>,
        callback: impl Fn(&IndexNews) + Send + Sync + 'static,
    ) -> Listener {
        self.listen_in(&self.index_listeners, Arc::new(callback))
    }

    fn listen_in<T>(self: &Arc<Hub>, listeners: &Listeners<T>, callback: Callback<T>) -> Listener {
        let number = self.next_listener.fetch_add(1, Ordering::Relaxed);
        let mut listeners = listeners.write().unwrap_or_else(PoisonError::into_inner);
        listeners.push((number, callback));
        Listener {
            hub: Arc::downgrade(self),
            number,
        }
    }

    /// Last durable etag.
    pub(crate) fn last_etag(&self) -> Etag {
        self.lock().etag
    }

    /// Last durable changes.
    pub(crate) fn target(&self) -> Target {
        *self.lock()
    }

    /// Waits until `is_done` holds for the last durable changes, or `timeout` has passed; whether
    /// it holds. `wake` makes it look again.
    pub(crate) fn wait(
        &self,
        timeout: Option<Duration>,
        mut is_done: impl FnMut(Target) -> bool,
    ) -> bool {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut last = self.lock();
        loop {
            if is_done(*last) {
                return true;
            }
            last = match deadline {
                None => self
                    .moved
                    .wait(last)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    let waited = self.moved.wait_timeout(last, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Makes all who wait look again.
    pub(crate) fn wake(&self) {
        // Holding the lock for a moment: nobody is between looking and waiting then.
        drop(self.lock());
        self.moved.notify_all();
    }

    /// Whether somebody listens, or wants documents described.
    pub(crate) fn is_followed(&self) -> bool {
        let listeners = self
            .listeners
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let of_indexes = self.index_listeners.read();
        let of_indexes = of_indexes.unwrap_or_else(PoisonError::into_inner);
        !listeners.is_empty()
            || !of_indexes.is_empty()
            || self.describers.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn count_reads(&self, count: u64) {
        self.reads.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn count_query(&self) {
        self.queries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters {
            writes: self.writes.load(Ordering::Relaxed),
            reads: self.reads.load(Ordering::Relaxed),
            queries: self.queries.load(Ordering::Relaxed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Target> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

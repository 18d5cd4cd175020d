//! The change feed: a blocking iterator over documents and tombstones in the order of change.
//!
//! Changes are read in batches from short snapshots, so that a slow follower keeps no pages. When
//! there is nothing new, the follower waits for the signal of the next durable change.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use jackdaw_database::{DocumentRow, Etag, Listener, ReadError};

use crate::collection::is_same;
use crate::database::Database;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::names::{Position, system_time};
use crate::snapshot::Snapshot;

/// Changes read from one snapshot.
const BATCH_CHANGES: usize = 256;
/// Bytes of documents after which a batch takes no more.
const BATCH_BYTES: usize = 4 << 20;

/// A change of a document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A document was stored: its present content.
    Stored(Document),
    /// A document was deleted.
    Deleted(Tombstone),
}

impl Change {
    /// The id of the document; in lower case when it was deleted.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Change::Stored(document) => document.id(),
            Change::Deleted(tombstone) => &tombstone.id,
        }
    }

    /// The position of the change: following after it shows the next one.
    #[must_use]
    pub fn position(&self) -> Position {
        match self {
            Change::Stored(document) => document.position(),
            Change::Deleted(tombstone) => tombstone.position,
        }
    }
}

/// The tombstone of a deleted document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tombstone {
    /// Its id in lower case.
    pub id: String,
    /// The collection that it was in; `None` when it was in none.
    pub collection: Option<String>,
    /// The position of the deletion.
    pub position: Position,
    /// When it was deleted.
    pub deleted: SystemTime,
}

/// The changes of documents, in their order, as an iterator that waits for the next one;
/// [`Database::changes`] begins it.
///
/// Each document comes with its last state: one that changes again comes again, later. What was
/// durable before a position never comes after it, so a program that stores the position of the
/// last change it has handled goes on from there, after a restart too.
///
/// ```
/// use jackdaw::{Change, Position};
/// use std::time::Duration;
///
/// # let db = jackdaw::Database::in_memory()?;
/// db.put("albums/1", &serde_json::json!({"Year": 1971}))?;
/// db.delete("albums/1")?;
/// db.put("albums/2", &serde_json::json!({"Year": 1976}))?;
///
/// let mut seen = Vec::new();
/// let mut last = Position::START;
/// for change in db.changes().after(last).in_collection("Albums").timeout(Duration::ZERO) {
///     let change = change?;
///     last = change.position();
///     match change {
///         Change::Stored(document) => seen.push(format!("stored {}", document.id())),
///         Change::Deleted(tombstone) => seen.push(format!("deleted {}", tombstone.id)),
///         _ => {}
///     }
/// }
/// assert_eq!(seen, ["deleted albums/1", "stored albums/2"]);
/// # Ok::<(), jackdaw::Error>(())
/// ```
pub struct Changes {
    db: Database,
    /// All changes up to here were read.
    read_to: Position,
    /// The last change that was handed out, or where following began.
    position: Position,
    collection: Option<String>,
    timeout: Option<Duration>,
    ready: VecDeque<Change>,
    signal: Arc<Signal>,
    _listener: Listener,
}

/// Counts the durable changes of a database for a follower that waits for one.
#[derive(Default)]
struct Signal {
    count: Mutex<u64>,
    moved: Condvar,
}

impl Signal {
    fn count(&self) -> u64 {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn raise(&self) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        self.moved.notify_all();
    }

    /// Waits until the count differs from `seen`; false at the deadline.
    fn wait(&self, seen: u64, deadline: Option<Instant>) -> bool {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        while *count == seen {
            count = match deadline {
                None => self
                    .moved
                    .wait(count)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    let waited = self.moved.wait_timeout(count, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }
}

impl Changes {
    pub(crate) fn new(db: &Database) -> Changes {
        let signal = Arc::new(Signal::default());
        let raised = Arc::clone(&signal);
        Changes {
            _listener: db.inner().on_change(move |_| raised.raise()),
            db: db.clone(),
            read_to: Position::START,
            position: Position::START,
            collection: None,
            timeout: None,
            ready: VecDeque::new(),
            signal,
        }
    }

    /// Begins after a position, that of the last change handled before.
    #[must_use]
    pub fn after(mut self, position: Position) -> Changes {
        self.ready.clear();
        (self.read_to, self.position) = (position, position);
        self
    }

    /// Follows one collection, in any letter case.
    #[must_use]
    pub fn in_collection(mut self, name: &str) -> Changes {
        self.collection = Some(name.to_owned());
        self.after_restart()
    }

    fn after_restart(self) -> Changes {
        let position = self.position;
        self.after(position)
    }

    /// Ends when no change came for this long; [`Duration::ZERO`] ends at the present. Without it
    /// the iterator waits for ever. It may be asked again after it ended.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Changes {
        self.timeout = Some(timeout);
        self
    }

    /// The position of the last change that came, or after which following began.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Reads the next batch.
    fn read(&mut self) -> Result<()> {
        let snapshot = self.db.snapshot()?;
        if snapshot.position() <= self.read_to {
            return Ok(());
        }
        let (after, inner) = (self.read_to.etag(), snapshot.inner());
        let is_complete = match &self.collection {
            None => {
                let rows = inner.by_etag(after).map_err(Error::of_read)?;
                gather(&snapshot, rows, None, after, &mut self.ready)?
            }
            Some(name) => {
                let rows = inner.by_collection(name, after).map_err(Error::of_read)?;
                gather(&snapshot, rows, Some(name), after, &mut self.ready)?
            }
        };
        self.read_to = match self.ready.back() {
            Some(last) if !is_complete => last.position(),
            _ => snapshot.position(),
        };
        Ok(())
    }
}

/// Merges documents and tombstones by position; true when there are no more.
fn gather<'s>(
    snapshot: &'s Snapshot,
    rows: impl Iterator<Item = std::result::Result<DocumentRow<'s>, ReadError>>,
    collection: Option<&str>,
    after: Etag,
    ready: &mut VecDeque<Change>,
) -> Result<bool> {
    let tombstones = snapshot.inner().tombstones(after).map_err(Error::of_read)?;
    let is_own = |tombstone: &jackdaw_database::Tombstone| {
        collection.is_none_or(|name| is_same(name, &tombstone.collection))
    };
    let mut tombstones = tombstones
        .filter(|found| found.as_ref().map_or(true, is_own))
        .peekable();
    let mut rows = rows.peekable();
    let mut bytes = 0;
    while ready.len() < BATCH_CHANGES && bytes < BATCH_BYTES {
        let next = (
            etag_of(&mut rows, |row| row.etag())?,
            etag_of(&mut tombstones, |tombstone| tombstone.etag)?,
        );
        let is_document = match next {
            (None, None) => return Ok(true),
            (Some(document), Some(tombstone)) => document < tombstone,
            (document, _) => document.is_some(),
        };
        if is_document {
            if let Some(row) = rows.next().transpose().map_err(Error::of_read)? {
                bytes += row.body().as_bytes().len();
                ready.push_back(Change::Stored(Document::of_row(&row)));
            }
        } else if let Some(found) = tombstones.next().transpose().map_err(Error::of_read)? {
            let is_named = found.collection != jackdaw_database::EMPTY_COLLECTION;
            ready.push_back(Change::Deleted(Tombstone {
                id: found.id,
                collection: is_named.then_some(found.collection),
                position: Position::of(found.etag),
                deleted: system_time(found.deleted),
            }));
        }
    }
    Ok(false)
}

/// The etag of the next item, which stays.
fn etag_of<T>(
    items: &mut Peekable<impl Iterator<Item = std::result::Result<T, ReadError>>>,
    etag: impl Fn(&T) -> Etag,
) -> Result<Option<Etag>> {
    match items.peek() {
        None => Ok(None),
        Some(Ok(item)) => Ok(Some(etag(item))),
        Some(Err(error)) => Err(Error::of_read(error.clone())),
    }
}

impl Iterator for Changes {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Result<Change>> {
        // A timeout beyond the clock is none.
        let deadline = self
            .timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(change) = self.ready.pop_front() {
                self.position = change.position();
                return Some(Ok(change));
            }
            // Before reading: what becomes durable meanwhile ends the wait.
            let seen = self.signal.count();
            if let Err(error) = self.read() {
                return Some(Err(error));
            }
            if self.ready.is_empty() && !self.signal.wait(seen, deadline) {
                return None;
            }
        }
    }
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes")
            .field("position", &self.position)
            .field("collection", &self.collection)
            .finish_non_exhaustive()
    }
}

//! `GET /databases/*/jackdaw/feed?q=&since=`: changes as server-sent events, without a gap.
//!
//! `q` is a query of a collection and a condition, such as `from Albums where Year > 1990`; all
//! documents without it. `since` (or the header `Last-Event-ID`, which browsers send when they
//! connect again) is the id of the last event that was seen; without it the feed begins now, with
//! `since=0` at the beginning. Each event tells a document's last state since the event before:
//!
//! ```text
//! id: 4711@ZYxWvu...
//! event: change
//! data: {"Type":"Put","Id":"albums/1","Collection":"Albums","ChangeVector":"A:4711-...",
//!        "Before":{...},"After":{...}}
//! ```
//!
//! `data` is one line; it is folded here. `Type` is `Put`, `Delete`, or `Leave` for a document that
//! met the condition and does not any more. `Before` is there when the collection keeps revisions,
//! else null; without it, every deletion in the collection is told, and no leaving. While nothing
//! changes, a heartbeat with the id reached comes every few seconds.
//!
//! Invariants:
//! - The signal is marked as seen before the changes are read, so none falls between the two.
//!   Changes that another feed read since then need not be read again (`recent`).
//! - A reader that is slow holds one batch and a few pieces, and no snapshot. One that does not
//!   read at all is let go and goes on later with the id of the last event it has.
//!
//! When the database is deleted or disabled, the last event says so, and the feed lets go of it:
//!
//! ```text
//! event: end
//! data: {"Reason":"Deleted","Message":"The database 'music' was deleted."}
//! ```
//!
//! Deletions are remembered for ten minutes at least; who was away longer has to begin with
//! `since=0` or to compare ids.

mod batch;
mod recent;

use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderName;
use jackdaw_database::{Database, DocumentRow, Etag, Scope};
use jackdaw_query::{Parameters, Predicate, bind, matches, syntax};
use serde_json::json;
use tokio::sync::mpsc;

use self::batch::{Batch, PIECES_MAX};
use self::recent::Asked;
pub(crate) use self::recent::RecentBatches;
use super::failure;
use crate::http::{BrokenStream, Call, Pending, Reply};
use crate::shared::Shared;
use crate::signals::{Changed, Ending};
use crate::wire::{WireError, kind};

/// Longest query.
const QUERY_BYTES_MAX: usize = 8 << 10;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What a reader wants to know of.
struct Wanted {
    /// The query.
    text: String,
    scope: Scope,
    condition: Option<Predicate>,
}

impl Wanted {
    fn is_about(&self, collection: &str) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::Collection(name) => name.eq_ignore_ascii_case(collection),
        }
    }

    fn is_met_by(&self, row: &DocumentRow<'_>) -> bool {
        let condition = self.condition.as_ref();
        condition.is_none_or(|condition| matches(condition, &row.stored()))
    }
}

/// `GET /databases/*/jackdaw/feed?q=&since=`
pub(super) fn open(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let wanted = Arc::new(wanted(&call)?);
        let mut changed = super::follow(&call, &database)?;
        changed.mark_seen();
        let position = position(&call, &database).await?;
        let (pieces, receiver) = mpsc::channel(PIECES_MAX);
        let greeting = format!(
            "retry: 1000\nid: {}\nevent: open\ndata: {{}}\n\n",
            token(&database, position)
        );
        drop(pieces.try_send(Ok(Bytes::from(greeting))));
        let feed = Feed {
            shared: call.shared.clone(),
            database,
            wanted,
            position,
            pieces,
        };
        tokio::spawn(feed.run(changed));
        Ok(Reply::events(receiver))
    })
}

fn wanted(call: &Call) -> Result<Wanted, WireError> {
    let Some(text) = call.query().filled("q").map(|text| text.into_owned()) else {
        return Ok(Wanted {
            text: String::new(),
            scope: Scope::All,
            condition: None,
        });
    };
    if text.len() > QUERY_BYTES_MAX {
        let message = format!("The query of a feed has at most {QUERY_BYTES_MAX} bytes.");
        return Err(bad(&message));
    }
    let parsed = syntax::parse(&text).map_err(|error| bad(&error.to_string()))?;
    let bound = bind(&parsed, Parameters::default()).map_err(|error| bad(&error.to_string()))?;
    let plain = "A feed takes a collection and a condition: from Albums where Year > 1990.";
    let (Some(condition), Some(scope)) = (bound.as_condition(), bound.scope()) else {
        return Err(bad(plain));
    };
    Ok(Wanted {
        text,
        scope,
        condition: Some(condition.clone()),
    })
}

fn bad(message: &str) -> WireError {
    WireError::new(kind::INVALID_QUERY, message)
}

/// Where the feed begins.
async fn position(call: &Call, database: &Arc<Database>) -> Result<Etag, WireError> {
    let header = call.header(&LAST_EVENT_ID).map(str::to_owned);
    let since = call.query().filled("since").map(|text| text.into_owned());
    let Some(text) = header.or(since) else {
        let database = database.clone();
        let _turn = call.shared.feed_reads.acquire().await;
        let read = tokio::task::spawn_blocking(move || Ok(database.read()?.last_etag()));
        let read = read.await.map_err(|_| unreadable())?;
        return read.map_err(|error| failure::read(&error));
    };
    let own = name_in_url(database);
    let (number, id) = text.split_once('@').unwrap_or((&text, &own));
    if id != own {
        let message = "The id of the event is of another database: begin with since=0.";
        return Err(bad(message).with_status(StatusCode::GONE));
    }
    let number = number.parse().map(Etag);
    number.map_err(|_| bad("'since' is the id of an event, or 0 for the beginning."))
}

fn unreadable() -> WireError {
    WireError::new(
        kind::UNEXPECTED,
        "The changes of the database could not be read.",
    )
}

fn token(database: &Database, position: Etag) -> String {
    format!("{}@{}", position.0, name_in_url(database))
}

/// The database's id in letters that a URL takes as they are.
fn name_in_url(database: &Database) -> String {
    database.id().as_str().replace('+', "-").replace('/', "_")
}

struct Feed {
    shared: Arc<Shared>,
    database: Arc<Database>,
    wanted: Arc<Wanted>,
    /// Everything up to here is told or of no interest.
    position: Etag,
    pieces: mpsc::Sender<Result<Bytes, BrokenStream>>,
}

impl Feed {
    async fn run(mut self, mut changed: Changed) {
        let mut stopping = self.shared.stopping.clone();
        let mut pulse = self.shared.pulse.follow();
        changed.mark_seen();
        // What was before it waits, it has to read itself.
        let mut signalled = None;
        loop {
            if !self.drain(&changed, signalled).await {
                return;
            }
            if let Some(ending) = changed.ending() {
                return self.say_why(ending).await;
            }
            tokio::select! {
                () = changed.raised() => {}
                () = self.pieces.closed() => return,
                _ = stopping.changed() => return,
                _ = pulse.changed() => {
                    pulse.borrow_and_update();
                    let beat = format!("id: {}\n:\n\n", token(&self.database, self.position));
                    // A piece that still waits is a sign of life itself.
                    drop(self.pieces.try_send(Ok(Bytes::from(beat))));
                }
            }
            signalled = Some(changed.mark_seen());
        }
    }

    /// The last event.
    async fn say_why(self, ending: Ending) {
        let message = ending.message(self.database.name());
        let data = json!({ "Reason": ending.name(), "Message": message });
        let event = Bytes::from(format!("event: end\ndata: {data}\n\n"));
        // A client that does not read must not keep the database.
        drop(self.database);
        let stall = self.shared.config.stall_timeout;
        drop(tokio::time::timeout(stall, self.pieces.send(Ok(event))).await);
    }

    /// Tells all changes up to the one `signalled`, or to the last; false when the feed is over.
    async fn drain(&mut self, changed: &Changed, signalled: Option<Etag>) -> bool {
        loop {
            if changed.ending().is_some() {
                return true;
            }
            let Some(batch) = self.batch(signalled).await else {
                drop(self.pieces.try_send(Err(BrokenStream)));
                return false;
            };
            self.position = batch.position;
            for piece in &batch.pieces {
                let stall = self.shared.config.stall_timeout;
                let sent = tokio::time::timeout(stall, self.pieces.send(Ok(piece.clone()))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    return false;
                }
            }
            if batch.is_last {
                return true;
            }
        }
    }

    /// The next changes; `None` when they cannot be read.
    async fn batch(&self, signalled: Option<Etag>) -> Option<Arc<Batch>> {
        let asked = Asked {
            database: self.database.id().as_str(),
            query: &self.wanted.text,
            after: self.position,
        };
        let recent = &self.shared.recent_batches;
        let find = || signalled.and_then(|signalled| recent.find(asked, signalled));
        if let Some(batch) = find() {
            return Some(batch);
        }
        // The semaphore is never closed.
        let _turn = self.shared.feed_reads.acquire().await;
        // Somebody may have read them meanwhile.
        if let Some(batch) = find() {
            return Some(batch);
        }
        let (database, wanted, after) = (self.database.clone(), self.wanted.clone(), self.position);
        let read = move || Batch::read(&database, &wanted, after);
        let batch = Arc::new(tokio::task::spawn_blocking(read).await.ok()?.ok()?);
        // One that catches up, alone, would take the place of those that all wait for.
        if signalled.is_some() {
            recent.keep(asked, &batch);
        }
        Some(batch)
    }
}

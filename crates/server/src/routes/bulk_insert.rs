//! `POST /databases/*/bulk_insert`: one long JSON array of documents, stored while it arrives.
//!
//! The body is cut into its elements without waiting for its end; elements are parsed on the
//! blocking pool and stored in batches of a MiB, or less where there is little memory. One batch is
//! being written while the next is parsed and the one after it received, so that network, processor
//! and disk work at the same time. A batch is written when the one before is stored, never sooner:
//! what is stored has no holes.
//!
//! A client may leave the array open for as long as it sends something now and then, so what is
//! whole does not wait for long until its batch is full. An element that has begun must go on as
//! any body must, because others may wait for its memory.
//!
//! The operation of the client's number reports each batch that was stored, so that a client that
//! trickles learns what has arrived.
//!
//! The closing `]` ends the work, whether or not the body ends with it: some clients keep the body
//! open until they have the answer.
//!
//! Each batch is a transaction; the request as a whole is not. When it fails, what was stored
//! before stays, and the answer says how much that is.

mod elements;

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::StatusCode;
use jackdaw_database::{Command, CommandResult, Database};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::elements::{Batch, Elements};
use super::operations::{Inserted, Progress};
use super::{Rate, writing};
use crate::http::{BodyPlace, Call, Feed, Pace, Pending, Reply, crowded, overloaded, stalled};
use crate::shared::Shared;
use crate::wire::{WireError, kind};

/// What has been stored so far, and the operation that reports it.
struct Stored {
    inserted: Mutex<Inserted>,
    progress: Arc<Progress>,
}

impl Stored {
    fn now(&self) -> Inserted {
        let inserted = self.inserted.lock().unwrap_or_else(PoisonError::into_inner);
        inserted.clone()
    }

    /// Counts a batch, and reports what is stored by now.
    fn add(&self, batch: Inserted) {
        let mut inserted = self.inserted.lock().unwrap_or_else(PoisonError::into_inner);
        inserted.add(batch);
        self.progress.report_inserted(inserted.clone());
    }
}

/// What a batch of commands counts as.
fn count(commands: &[Command]) -> Inserted {
    let mut counted = Inserted {
        batches: 1,
        ..Inserted::default()
    };
    for command in commands {
        match command {
            Command::Attachment { .. } => counted.attachments += 1,
            Command::Counters { .. } => counted.counters += 1,
            Command::Series { .. } | Command::SeriesCopy { .. } => counted.series += 1,
            _ => counted.documents += 1,
        }
    }
    counted.last_id = commands.iter().rev().find_map(id_of);
    counted
}

/// The document that a command is about, if it was named.
fn id_of(command: &Command) -> Option<String> {
    match command {
        Command::Put { id, .. } => id.clone(),
        Command::Attachment { id, .. }
        | Command::Series { id, .. }
        | Command::Counters { id, .. } => Some(id.clone()),
        _ => None,
    }
}

/// A batch on its way, and all those before it.
struct Storing {
    /// Fails with what the first of them failed with.
    outcome: JoinHandle<Result<(), WireError>>,
    /// Resolves when it is no longer waiting for those before it.
    begun: oneshot::Receiver<()>,
}

/// `POST /databases/*/bulk_insert?id=`
pub(super) fn run(call: Arc<Call>, mut feed: Feed) -> Pending {
    Box::pin(async move {
        let outcome = insert(&call, &mut feed).await;
        // What is left is nothing, or the rest of what was refused.
        feed.drain().await;
        outcome.map(|()| Reply::empty(StatusCode::CREATED))
    })
}

async fn insert(call: &Arc<Call>, feed: &mut Feed) -> Result<(), WireError> {
    let database = super::database_soon(call).await?;
    let number = call.query().number("id");
    let number = number.ok_or_else(|| WireError::missing_parameter("id"))?;
    let operations = &call.shared.operations;
    let progress = operations.under(database.id().as_str(), number, "Bulk insert".to_owned());
    let stored = Arc::new(Stored {
        inserted: Mutex::default(),
        progress: progress.clone(),
    });
    let outcome = tokio::select! {
        // What was killed before it began stores nothing, however short it is.
        biased;
        () = progress.cancelled() => Err(ended()),
        outcome = store_all(call, &database, feed, &stored) => outcome,
    };
    let inserted = stored.now();
    let (items, batches) = (inserted.total(), inserted.batches);
    let outcome = outcome.map_err(|cause| {
        let message =
            format!("Failed to process bulk insert. Inserted {items} items in {batches} batches.");
        WireError::new(kind::INVALID_OPERATION, message)
            .with_status(status_after(&cause))
            .caused_by(format!("{}: {}", cause.kind, cause.message))
    });
    match &outcome {
        Ok(()) => progress.complete_inserted(inserted),
        Err(error) => progress.fail(error),
    }
    outcome
}

/// Clients would send the request again, or to another server, for a status such as 408 or 503; the
/// documents of this one are partly stored, and gone from the client.
fn status_after(cause: &WireError) -> StatusCode {
    if cause.status.is_client_error() {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    }
}

fn ended() -> WireError {
    let message = "The bulk insert was ended by a request to kill its operation.";
    WireError::new(kind::BULK_INSERT_ABORTED, message)
}

async fn store_all(
    call: &Call,
    database: &Arc<Database>,
    feed: &mut Feed,
    stored: &Arc<Stored>,
) -> Result<(), WireError> {
    let mut intake = Intake {
        call,
        database,
        elements: Elements::new(call.shared.config.body_bytes_max),
        place: call.shared.bodies.enter(),
        whole_since: None,
        waited: Duration::ZERO,
        storing: None,
        stored,
        skips_unchanged: call.query().flag("skipOverwriteIfUnchanged"),
    };
    let outcome = intake.run(feed).await;
    let storing = intake.storing.take();
    drop(intake);
    // What is on its way counts as stored, also when no more comes.
    let settled = settle(storing).await;
    outcome.and(settled)
}

/// What came and is not stored yet.
struct Intake<'c> {
    call: &'c Call,
    database: &'c Arc<Database>,
    elements: Elements,
    place: BodyPlace,
    /// Since when a whole element waits to be stored.
    whole_since: Option<Instant>,
    /// How long the client was waited for since the element that is not whole has begun.
    waited: Duration,
    storing: Option<Storing>,
    stored: &'c Arc<Stored>,
    /// Whether documents are left alone that come with the content that they have.
    skips_unchanged: bool,
}

impl Intake<'_> {
    /// Begins to store all that comes.
    async fn run(&mut self, feed: &mut Feed) -> Result<(), WireError> {
        // Larger batches save nothing more on the journal.
        let batch_bytes = self.call.shared.bodies.piece_bytes();
        while !self.elements.has_ended() {
            let Some(piece) = self.receive(feed).await? else {
                break;
            };
            self.push(&piece).await?;
            let is_full = self.elements.ready().len_bytes() >= batch_bytes;
            if is_full || self.batch_left() == Some(Duration::ZERO) {
                self.store_whole().await?;
            }
        }
        self.elements.finish()?;
        self.store_whole().await
    }

    /// The next bytes; what is whole is stored when they take long.
    ///
    /// Fails with 408 when an element that has begun does not go on as fast as a body must.
    async fn receive(&mut self, feed: &mut Feed) -> Result<Option<Bytes>, WireError> {
        let mut next = pin!(feed.next());
        loop {
            let pace_left = self.pace_left();
            let waiting = Instant::now();
            let came = match self.batch_left().into_iter().chain(pace_left).min() {
                Some(left) => tokio::time::timeout(left, next.as_mut()).await,
                None => Ok(next.as_mut().await),
            };
            let waited = waiting.elapsed();
            self.waited += waited;
            match came {
                // Bytes that come again and again in no time leave no pause to end, but are late.
                Ok(piece) if pace_left.is_none_or(|left| waited < left) => return piece,
                Err(_) if !self.elements.ready().is_empty() => self.store_whole().await?,
                _ => return Err(stalled()),
            }
        }
    }

    /// How long what is whole may still wait; `None` when nothing does.
    fn batch_left(&self) -> Option<Duration> {
        let wait_max = self.call.shared.config.batch_wait_max;
        let since = self.whole_since?;
        Some(wait_max.saturating_sub(since.elapsed()))
    }

    /// How long the element that is not whole may still wait; `None` when there is none.
    fn pace_left(&self) -> Option<Duration> {
        let stall = self.call.shared.config.stall_timeout;
        match self.elements.unfinished_bytes() {
            0 => None,
            bytes => Some(Pace::allowed(stall, bytes).saturating_sub(self.waited)),
        }
    }

    /// Takes a piece in once there is memory for it.
    async fn push(&mut self, piece: &[u8]) -> Result<(), WireError> {
        let unfinished_bytes = self.elements.unfinished_bytes();
        let held_bytes = self.elements.ready().len_bytes() + unfinished_bytes;
        // With little memory left, what is whole is stored instead of waiting beside the rest.
        if !self.place.try_grow((held_bytes + piece.len()) as u64) {
            self.store_whole().await?;
            let held_bytes = unfinished_bytes + piece.len();
            let grown = self.place.grow(held_bytes as u64).await;
            grown.map_err(|_| crowded())?;
        }
        let whole_count = self.elements.ready().count();
        self.elements.push(piece)?;
        if unfinished_bytes == 0 || self.elements.ready().count() > whole_count {
            // Another element than before.
            self.waited = Duration::ZERO;
        }
        if !self.elements.ready().is_empty() {
            self.whole_since.get_or_insert_with(Instant::now);
        } else if self.elements.unfinished_bytes() == 0 {
            // What came was no part of an element.
            self.place = self.call.shared.bodies.enter();
        }
        Ok(())
    }

    /// Begins to store what is whole, with its part of the place, once what was before is being
    /// written.
    async fn store_whole(&mut self) -> Result<(), WireError> {
        self.whole_since = None;
        if self.elements.ready().is_empty() {
            return Ok(());
        }
        if let Some(last) = &mut self.storing {
            // Resolves with an error, too: its sender is dropped then.
            let _ = (&mut last.begun).await;
            if last.outcome.is_finished() {
                settle(self.storing.take()).await?;
            }
        }
        let kept_bytes = self.elements.unfinished_bytes() as u64;
        let full = (self.elements.take(), self.place.split_off(kept_bytes));
        self.storing = Some(self.store(full));
        Ok(())
    }

    /// Parses and stores a batch on a task of its own; its memory is counted until that is done.
    fn store(&mut self, (batch, place): (Batch, BodyPlace)) -> Storing {
        let (shared, database) = (self.call.shared.clone(), self.database.clone());
        let (before, stored) = (self.storing.take(), self.stored.clone());
        let skips_unchanged = self.skips_unchanged;
        let (begin, begun) = oneshot::channel();
        let outcome = tokio::spawn(async move {
            let _place = place;
            let parsed = parse(&shared, batch).await;
            settle(before).await?;
            // Nobody waits when nothing more comes.
            let _ = begin.send(());
            let commands = parsed?;
            if commands.is_empty() {
                return Ok(());
            }
            let mut batch = count(&commands);
            let results: Vec<CommandResult> = match skips_unchanged {
                true => writing::submit_changed(&database, commands).await?,
                false => writing::submit(&database, commands).await?,
            };
            // An id that was completed is known by now.
            let completed = results.iter().rev().find_map(|result| match result {
                CommandResult::Put { id, .. } => Some(id.clone()),
                _ => None,
            });
            if batch.last_id.is_none() || batch.total() == batch.documents {
                batch.last_id = completed.or(batch.last_id);
            }
            stored.add(batch);
            Ok(())
        });
        Storing { outcome, begun }
    }
}

/// What a batch asks for, read on the blocking pool.
async fn parse(shared: &Shared, batch: Batch) -> Result<Vec<Command>, WireError> {
    let turn = shared.admission.enter(Rate::Data).await;
    let turn = turn.map_err(|_| overloaded())?;
    let parsed = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        batch.commands()
    });
    parsed.await.map_err(|_| lost())?
}

/// Waits until all batches are stored, or one failed.
async fn settle(storing: Option<Storing>) -> Result<(), WireError> {
    match storing {
        Some(storing) => storing.outcome.await.map_err(|_| lost())?,
        None => Ok(()),
    }
}

fn lost() -> WireError {
    WireError::new(kind::UNEXPECTED, "A batch of the bulk insert was lost.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_is_told_to_send_a_bulk_insert_again() {
        for (cause, status) in [
            (WireError::missing_parameter("id"), 400),
            (stalled(), 400),
            (WireError::body_too_large(1), 400),
            (overloaded(), 500),
            (crowded(), 500),
            (lost(), 500),
        ] {
            assert_eq!(status_after(&cause).as_u16(), status, "{cause:?}");
        }
    }
}

//! One connection of a subscription: greeting, options, seat, then batches and acknowledgements.
//!
//! The client opens with the version it speaks and names its subscription. From then on the server
//! sends batches and waits for the acknowledgement of each before it sends the next; what was
//! acknowledged is stored before it is confirmed. Silence is broken by heartbeats.
//!
//! On a secured server the connection is TLS, the client proves who it is by its certificate, and
//! the session ends when that would not be let in any more.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderMap;
use jackdaw_base::time::UnixTicks;
use jackdaw_database::{
    BatchLimits, Database, Etag, FollowQuery, QueryError, Subscription, WriteError,
};
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};

use super::batch::{self, BatchError};
use super::desk::{Entry, Reader, Seat, Seated, Strategy};
use super::farewell::Farewell;
use super::link::{Link, LinkError, Stream};
use crate::auth::{Access, Caller, Clearance, Lease, Needs, decide};
use crate::routes::{read_failure, write_failure};
use crate::shared::Shared;
use crate::wire::{WireError, kind};

/// Versions of the protocol that clients may speak, the newest first.
const VERSIONS: [i64; 5] = [53_000, 51_000, 50_000, 41_400, 40];
/// Says that none of the versions is known to both.
const NO_VERSION: i64 = -1;
/// How long a client may take to say who it is.
const GREETING_TIMEOUT: Duration = Duration::from_secs(15);
/// Silence after which a heartbeat is sent.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// Documents of a batch when the client does not say.
const BATCH_DOCUMENTS_DEFAULT: usize = 4_096;
/// Most documents of a batch, whatever the client says.
const BATCH_DOCUMENTS_MAX: usize = 65_536;
/// Bytes after which a batch takes no further document: what one connection may hold.
const BATCH_BYTES: usize = 4 << 20;
/// Documents looked at before a connection looks at its client again.
const SCANNED_AT_ONCE: usize = 16_384;
/// Etags passed without a document of the subscription after which that is stored.
const PASSED_AT_ONCE: u64 = 10_000;
/// What a client needs in its database.
const NEEDS: Needs = Needs {
    clearance: Clearance::ValidUser,
    access: Access::Read,
};

/// Why a session ended.
enum End {
    /// The client has to be told.
    Farewell(Farewell),
    /// The connection is of no use any more.
    Link(LinkError),
    /// The client left, or the server stops.
    Gone,
}

impl From<LinkError> for End {
    fn from(error: LinkError) -> End {
        End::Link(error)
    }
}

impl From<WireError> for End {
    fn from(error: WireError) -> End {
        End::Farewell(Farewell::failed(&error))
    }
}

/// Serves one connection to its end.
pub(super) async fn run(shared: Arc<Shared>, stream: TcpStream, peer: SocketAddr) {
    drop(stream.set_nodelay(true));
    let Some((stream, caller)) = accept(&shared, stream, peer).await else {
        return;
    };
    let mut link = Link::new(stream, shared.config.stall_timeout);
    let Err(end) = serve(&shared, &mut link, caller).await else {
        return link.close().await;
    };
    match end {
        End::Gone => {}
        End::Farewell(farewell) => drop(link.tell(&farewell.message()).await),
        End::Link(LinkError::Garbage(why)) => {
            tracing::debug!(%peer, %why, "a TCP connection was refused");
            let farewell = Farewell::Failed(kind::INVALID_DATA, why);
            drop(link.tell(&farewell.message()).await);
        }
        End::Link(error) => tracing::debug!(%peer, %error, "a TCP connection ended early"),
    }
    link.close().await;
}

/// Shakes hands where the server is secured.
async fn accept(
    shared: &Arc<Shared>,
    stream: TcpStream,
    peer: SocketAddr,
) -> Option<(Box<dyn Stream>, Caller)> {
    let Some(tls) = &shared.tls else {
        return Some((Box::new(stream), Caller::unproven(peer)));
    };
    let timeout = shared.config.handshake_timeout;
    let (stream, caller) = tls.accept(stream, peer, timeout).await?;
    Some((Box::new(stream), caller))
}

async fn serve(shared: &Arc<Shared>, link: &mut Link, caller: Caller) -> Result<(), End> {
    let Some(name) = greet(shared, link, &caller).await? else {
        return Ok(());
    };
    let lease = Lease::new(shared, caller, &HeaderMap::new(), NEEDS, Some(name.clone()));
    let ended = async {
        match lease {
            Some(lease) => lease.ended().await,
            None => pending().await,
        }
    };
    tokio::select! {
        served = follow(shared, link, &name, caller.peer) => served,
        // What was under way may be half sent: the client is told why when it connects again.
        () = ended => Err(End::Gone),
    }
}

/// The connection of a client that may read the database.
async fn follow(
    shared: &Arc<Shared>,
    link: &mut Link,
    name: &str,
    peer: SocketAddr,
) -> Result<(), End> {
    let Some(options) = link.receive_within(GREETING_TIMEOUT).await? else {
        return Ok(());
    };
    let options = Options::read(&options)?;
    let database = open(shared, name).await?;
    let (subscription, seat) = sit(shared, link, &database, &options, peer).await?;
    link.tell(&json!({ "Type": "ConnectionStatus", "Status": "Accepted" }))
        .await?;
    let (done, noted) = oneshot::channel();
    database.submit_subscription_connected(subscription.number, move |outcome| {
        drop(done.send(outcome));
    });
    // Nothing depends on the moment of the connection.
    drop(noted.await);
    let query = FollowQuery::parse(&subscription.query);
    let query = query.map_err(|error| End::Farewell(Farewell::Invalid(error.to_string())))?;
    let session = Session {
        shared: shared.clone(),
        database,
        stored: subscription.position,
        subscription: Arc::new(subscription),
        query: Arc::new(query),
        options,
        seat,
    };
    session.run(link).await
}

/// Agrees on a version; gives the database that the client names and may read, `None` when it
/// leaves or is sent away.
async fn greet(
    shared: &Arc<Shared>,
    link: &mut Link,
    caller: &Caller,
) -> Result<Option<String>, End> {
    for _ in 0..=VERSIONS.len() {
        let Some(hello) = link.receive_within(GREETING_TIMEOUT).await? else {
            return Ok(None);
        };
        let text = |name: &str| hello.get(name).and_then(Value::as_str).unwrap_or("");
        let operation = text("Operation");
        if matches!(operation, "Drop" | "None") {
            return Ok(None);
        }
        // Before anything is told, down to the versions that are known here.
        let name = text("DatabaseName");
        if !may_read(shared, caller, name) {
            let message = format!("its certificate gives no access to '{name}' here.");
            let answer = json!({ "Status": "AuthorizationFailed", "Message": message });
            link.tell(&answer).await?;
            return Ok(None);
        }
        match operation {
            "Subscription" => {}
            other => {
                let message =
                    format!("The operation '{other}' is not served over TCP: use 'Subscription'.");
                let answer = json!({ "Status": "AuthorizationFailed", "Message": message });
                link.tell(&answer).await?;
                return Ok(None);
            }
        }
        let asked = hello
            .get("OperationVersion")
            .and_then(Value::as_i64)
            .unwrap_or(0);
        if VERSIONS.contains(&asked) {
            // Old versions know no features.
            let features = hello.get("LicensedFeatures").is_some_and(Value::is_object);
            let features = features.then(|| json!({ "DataCompression": false }));
            link.tell(&json!({ "Status": "Ok", "Version": asked, "LicensedFeatures": features }))
                .await?;
            return Ok(Some(name.to_owned()));
        }
        let best = VERSIONS.iter().find(|known| **known < asked);
        let best = best.copied().unwrap_or(NO_VERSION);
        let message = format!(
            "Version {asked} of the operation 'Subscription' is not known here; known are \
             {VERSIONS:?}."
        );
        link.tell(&json!({ "Status": "TcpVersionMismatch", "Version": best, "Message": message }))
            .await?;
        if best == NO_VERSION {
            return Ok(None);
        }
    }
    // Who goes down the versions one by one has agreed by now.
    Ok(None)
}

/// What a client wants of its connection.
struct Options {
    name: String,
    strategy: Strategy,
    documents: usize,
    closes_when_empty: bool,
    worker: Option<String>,
}

impl Options {
    fn read(given: &Map<String, Value>) -> Result<Options, End> {
        let text = |name: &str| given.get(name).and_then(Value::as_str);
        let invalid = |message: String| End::Farewell(Farewell::Invalid(message));
        let name = text("SubscriptionName").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| invalid("'SubscriptionName' is missing.".to_owned()))?;
        let strategy = text("Strategy").unwrap_or("OpenIfFree");
        let strategy = Strategy::parse(strategy)
            .ok_or_else(|| invalid(format!("'{strategy}' is no strategy of opening.")))?;
        let documents = given.get("MaxDocsPerBatch").and_then(Value::as_u64);
        let documents = documents.map_or(BATCH_DOCUMENTS_DEFAULT, |count| {
            usize::try_from(count).unwrap_or(BATCH_DOCUMENTS_MAX)
        });
        Ok(Options {
            name: name.to_owned(),
            strategy,
            documents: documents.clamp(1, BATCH_DOCUMENTS_MAX),
            closes_when_empty: given.get("CloseWhenNoDocsLeft").and_then(Value::as_bool)
                == Some(true),
            worker: text("WorkerId").map(str::to_owned),
        })
    }
}

/// Whether the client may read a database, be it there or not.
fn may_read(shared: &Shared, caller: &Caller, name: &str) -> bool {
    let principal = shared.gate.identify(caller, &HeaderMap::new());
    let principal = principal.as_deref().map_err(|unknown| *unknown);
    decide(principal, NEEDS, Some(name)).is_ok()
}

/// Opens the database.
async fn open(shared: &Arc<Shared>, name: &str) -> Result<Arc<Database>, End> {
    let (shared, name) = (shared.clone(), name.to_owned());
    let opened = blocking(move || crate::routes::open_database(&shared, &name)).await?;
    Ok(opened?)
}

/// Runs what may wait for the disk elsewhere.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, End> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| End::Gone)
}

/// Waits for a seat as the strategy allows.
async fn sit(
    shared: &Arc<Shared>,
    link: &mut Link,
    database: &Arc<Database>,
    options: &Options,
    peer: SocketAddr,
) -> Result<(Subscription, Seat), End> {
    let mut stopping = shared.stopping.clone();
    loop {
        let (reading, name) = (database.clone(), options.name.clone());
        let found = blocking(move || reading.read()?.subscription(&name)).await?;
        let found = found.map_err(|error| read_failure(&error))?;
        let subscription =
            found.ok_or_else(|| End::Farewell(Farewell::not_found(&options.name)))?;
        if subscription.is_disabled {
            return Err(End::Farewell(Farewell::disabled(&subscription.name)));
        }
        let seated = Seated {
            peer,
            strategy: options.strategy,
            worker: options.worker.clone(),
            since: now(),
        };
        let mut moved = match shared.desk.enter(database, &subscription, seated) {
            Entry::Entered(seat) => return Ok((subscription, seat)),
            Entry::Refused(farewell) => return Err(End::Farewell(farewell)),
            Entry::Wait(moved) => moved,
        };
        tokio::select! {
            _ = moved.changed() => {}
            () = tokio::time::sleep(HEARTBEAT) => link.send(b"\r\n").await?,
            received = link.receive() => leave_on(received)?,
            _ = stopping.changed() => return Err(End::Gone),
        }
    }
}

fn now() -> UnixTicks {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ticks = since.map_or(0, |since| since.as_nanos() / 100);
    UnixTicks(i64::try_from(ticks).unwrap_or(i64::MAX))
}

/// What a client says while nothing was asked of it: only that it leaves.
fn leave_on(received: Result<Option<Map<String, Value>>, LinkError>) -> Result<(), End> {
    match received? {
        None => Err(End::Gone),
        Some(message) => match message.get("Type").and_then(Value::as_str) {
            Some("DisposedNotification") => Err(End::Gone),
            _ => Ok(()),
        },
    }
}

struct Session {
    shared: Arc<Shared>,
    database: Arc<Database>,
    subscription: Arc<Subscription>,
    query: Arc<FollowQuery>,
    options: Options,
    seat: Seat,
    /// The position that is known to be stored.
    stored: Etag,
}

/// What reading gave.
enum Next {
    Batch {
        bytes: Vec<u8>,
        last_sent: Etag,
    },
    /// Nothing; whether there may be more behind what was looked at.
    Nothing {
        is_at_end: bool,
    },
    /// The seat is lost, or the subscription another.
    Over(Option<Farewell>),
}

impl Session {
    async fn run(mut self, link: &mut Link) -> Result<(), End> {
        let mut stopping = self.shared.stopping.clone();
        let mut last_word = tokio::time::Instant::now();
        // Told at once when nothing is due, so that the client sees a living server.
        let mut heartbeat_due = last_word;
        loop {
            self.seat.moved.borrow_and_update();
            match self.read().await? {
                Next::Batch { bytes, last_sent } => {
                    link.send(&bytes).await?;
                    drop(bytes);
                    let etag = self.acknowledged(link, &mut stopping).await?;
                    let etag = etag.unwrap_or(last_sent);
                    self.confirm(link, etag, last_sent).await?;
                    last_word = tokio::time::Instant::now();
                    heartbeat_due = last_word + HEARTBEAT;
                    continue;
                }
                Next::Over(farewell) => return Err(self.over(farewell)),
                Next::Nothing { is_at_end: false } => {
                    self.store_passed().await?;
                    if last_word.elapsed() >= HEARTBEAT {
                        link.send(b"\r\n").await?;
                        last_word = tokio::time::Instant::now();
                    }
                    continue;
                }
                Next::Nothing { is_at_end: true } => {}
            }
            if self.options.closes_when_empty {
                return Err(End::Farewell(Farewell::Closed {
                    message: format!(
                        "Closing subscription {} because there were no documents left and client \
                         asked to close on this event",
                        self.subscription.name
                    ),
                    can_reconnect: false,
                    no_docs_left: true,
                }));
            }
            self.store_passed().await?;
            loop {
                tokio::select! {
                    _ = self.seat.moved.changed() => break,
                    _ = self.seat.ended.changed() => return Err(self.over(None)),
                    received = link.receive() => leave_on(received)?,
                    _ = stopping.changed() => return Err(End::Gone),
                    () = tokio::time::sleep_until(heartbeat_due) => {
                        link.send(b"\r\n").await?;
                        last_word = tokio::time::Instant::now();
                        heartbeat_due = last_word + HEARTBEAT;
                    }
                }
            }
        }
    }

    /// How the session ends when its seat is lost.
    fn over(&self, farewell: Option<Farewell>) -> End {
        let told = farewell.or_else(|| self.seat.ended.borrow().clone());
        End::Farewell(told.unwrap_or_else(|| Farewell::modified(&self.subscription.name)))
    }

    /// Reads the next batch on another thread.
    async fn read(&self) -> Result<Next, End> {
        let reader = self.seat.reader();
        let service = reader.service.clone();
        let _turn = service.reading.lock().await;
        let (database, subscription) = (self.database.clone(), self.subscription.clone());
        let (query, documents) = (self.query.clone(), self.options.documents);
        let read = move || read(&database, &subscription, &query, documents, &reader);
        match blocking(read).await? {
            Ok(next) => Ok(next),
            Err(BatchError::Includes(error)) => Err(error.into()),
            Err(BatchError::Query(QueryError::Source(error))) => Err(End::Farewell(
                Farewell::Failed(kind::UNEXPECTED, error.to_string()),
            )),
            Err(BatchError::Query(error)) => {
                Err(End::Farewell(Farewell::Invalid(error.to_string())))
            }
        }
    }

    /// Waits for the acknowledgement of what was sent; the etag up to which it is. `None` is the
    /// whole batch: a client that received nothing it could name leaves the change vector out.
    async fn acknowledged(
        &mut self,
        link: &mut Link,
        stopping: &mut watch::Receiver<bool>,
    ) -> Result<Option<Etag>, End> {
        loop {
            let received = tokio::select! {
                received = link.receive() => received?,
                _ = self.seat.ended.changed() => return Err(self.over(None)),
                _ = stopping.changed() => return Err(End::Gone),
                () = tokio::time::sleep(HEARTBEAT) => {
                    link.send(b"\r\n").await?;
                    continue;
                }
            };
            let message = received.ok_or(End::Gone)?;
            let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or("");
            match text("Type") {
                "Acknowledge" => {
                    let vector = text("ChangeVector");
                    if vector.is_empty() {
                        return Ok(None);
                    }
                    let etag = self.database.origin().etag_of(vector).ok_or_else(|| {
                        let why = format!("'{vector}' is no change vector of this database.");
                        End::Farewell(Farewell::Invalid(why))
                    });
                    return etag.map(Some);
                }
                "DisposedNotification" => return Err(End::Gone),
                other => {
                    let why = format!("Expected an acknowledgement, but got '{other}'.");
                    return Err(End::Farewell(Farewell::Invalid(why)));
                }
            }
        }
    }

    /// Stores what was acknowledged, and says so.
    async fn confirm(&mut self, link: &mut Link, etag: Etag, last_sent: Etag) -> Result<(), End> {
        let Some(position) = self.seat.acknowledge(etag, last_sent) else {
            return Err(self.over(None));
        };
        self.store(position).await?;
        link.tell(&json!({ "Type": "Confirm" })).await?;
        Ok(())
    }

    /// Stores how far the subscription has come when it passed much without a document for it.
    async fn store_passed(&mut self) -> Result<(), End> {
        let position = self.seat.position();
        match position.0.saturating_sub(self.stored.0) >= PASSED_AT_ONCE {
            true => self.store(position).await,
            false => Ok(()),
        }
    }

    async fn store(&mut self, position: Etag) -> Result<(), End> {
        let (done, outcome) = oneshot::channel();
        let Subscription { number, index, .. } = *self.subscription;
        self.database
            .submit_acknowledgement(number, index, position, move |stored| {
                drop(done.send(stored));
            });
        let stored: Result<bool, WriteError> = outcome.await.map_err(|_| End::Gone)?;
        match stored {
            Ok(true) => {
                self.stored = position;
                Ok(())
            }
            Ok(false) => Err(self.over(None)),
            Err(error) => Err(write_failure(&error).into()),
        }
    }
}

/// Reads a batch and notes that this connection has it.
fn read(
    database: &Database,
    subscription: &Subscription,
    query: &FollowQuery,
    documents: usize,
    reader: &Reader,
) -> Result<Next, BatchError> {
    let failed = |error| BatchError::Query(QueryError::Source(Box::new(error)));
    let Some(ranges) = reader.with_progress(|progress| (progress.ranges(), None)) else {
        return Ok(Next::Over(None));
    };
    let snapshot = database.read().map_err(failed)?;
    let present = snapshot.subscription_by_number(subscription.number);
    match present.map_err(failed)? {
        None => return Ok(Next::Over(Some(Farewell::not_found(&subscription.name)))),
        Some(present) if present.is_disabled => {
            return Ok(Next::Over(Some(Farewell::disabled(&present.name))));
        }
        Some(present) if present.index != subscription.index => {
            return Ok(Next::Over(Some(Farewell::modified(&present.name))));
        }
        Some(_) => {}
    }
    let limits = BatchLimits {
        documents,
        bytes: BATCH_BYTES,
        scanned: SCANNED_AT_ONCE,
        interrupt: None,
    };
    for range in ranges {
        let (read, bytes) = batch::read(&snapshot, subscription, query, &range, &limits)?;
        let taken = reader.with_progress(|progress| {
            let ticket = progress.take(&range, &read);
            (ticket, ticket)
        });
        match taken {
            None => return Ok(Next::Over(None)),
            Some(Some(_)) => {
                let last_sent = read.last_sent;
                return Ok(Next::Batch { bytes, last_sent });
            }
            Some(None) if !read.is_at_end => return Ok(Next::Nothing { is_at_end: false }),
            Some(None) => {}
        }
    }
    Ok(Next::Nothing { is_at_end: true })
}

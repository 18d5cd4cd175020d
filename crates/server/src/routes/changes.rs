//! `GET /databases/*/changes`: news of documents, counters, time series, indexes and operations
//! over a web socket.
//!
//! A client names what it watches, each command confirmed at once; news go out one message a
//! frame, each in an array, in ASCII, as clients insist. News are of durable changes and come in
//! their order; they are not kept for a client that is away. A socket that has just been opened is
//! told what happened since, once it says what it watches.
//!
//! Documents are described by the writer while anybody watches; what changed in an operation on
//! very many is read from a snapshot by the etags of the change. A client that does not read is let
//! go, and so is one that answers no pings: it may be gone without a word.
//!
//! Invariant: the socket's task holds the places of its connection, so that it goes on being
//! counted.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::StatusCode;
use hyper::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper_util::rt::TokioIo;
use jackdaw_database::{
    BesideChange, Change, Database, DocumentChange, Etag, IndexNews, ReadError,
};
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

use super::operations::OperationNews;
use super::series::moment;
use crate::http::{BodyPlace, Call, Pending, Reply};
use crate::wire::{WireError, kind};

/// Changes that may wait for a client that reads slowly.
const CHANGES_AHEAD: usize = 4096;
/// Documents that are described in what waits; a snapshot tells those of further changes.
const DESCRIBED_AHEAD: usize = 4096;
/// Longest command of a client, in bytes.
const COMMAND_BYTES_MAX: usize = 64 << 10;
/// Most things that one client watches.
const WATCHED_MAX: usize = 10_000;
/// Most bytes of all that one client watches; those of all clients share a part of the memory.
const WATCHED_BYTES_MAX: usize = 4 << 20;
/// What one thing takes beside its names: its place in the set, and the allocator's.
const WATCHED_THING_BYTES: usize = 160;
/// Bytes that are read at a time, and that are kept for reading as long as the socket is open.
const READ_BYTES: usize = 4 << 10;
/// How long news wait for the first command of a socket that was opened. Clients return from
/// `subscribe` before their command has left: what happens right after is told all the same.
const FIRST_COMMAND_MAX: Duration = Duration::from_millis(250);
/// How long one frame may take to be sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// `GET /databases/*/changes`
pub(super) fn open(call: Arc<Call>) -> Pending {
    Box::pin(async move {
        let database = super::database_soon(&call).await?;
        let is_websocket = call
            .header(&UPGRADE)
            .is_some_and(|value| value.eq_ignore_ascii_case("websocket"));
        let key = call.header(&SEC_WEBSOCKET_KEY).filter(|_| is_websocket);
        let (Some(key), Some((upgrade, ended))) = (key, call.take_upgrade()) else {
            let message = "This route speaks the WebSocket protocol only.";
            return Err(WireError::new(kind::BAD_REQUEST, message));
        };
        if call.header(&SEC_WEBSOCKET_VERSION) != Some("13") {
            let error = WireError::new(kind::BAD_REQUEST, "WebSocket version 13 is needed.");
            return Err(error.with_status(StatusCode::UPGRADE_REQUIRED));
        }
        let mut changed = super::follow(&call, &database)?;
        let accept = derive_accept_key(key.as_bytes());
        let signs = Signs {
            stopping: call.shared.stopping.clone(),
            pulse: call.shared.pulse.follow(),
            silence_max: call.shared.config.idle_timeout,
        };
        let operations = call.shared.operations.watch();
        let watched = Watched::new(call.shared.watched.enter());
        tokio::spawn(async move {
            let _places = upgrade.places;
            // A client that went away between request and answer is no failure.
            let Ok(upgraded) = upgrade.connection.await else {
                return;
            };
            let config = WebSocketConfig::default()
                .read_buffer_size(READ_BYTES)
                .write_buffer_size(READ_BYTES)
                .max_message_size(Some(COMMAND_BYTES_MAX))
                .max_frame_size(Some(COMMAND_BYTES_MAX));
            let upgraded = TokioIo::new(upgraded);
            let socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, Some(config));
            let mut socket = socket.await;
            let name = database.name().to_owned();
            let farewell = tokio::select! {
                () = serve(&mut socket, database, operations, signs, watched) => None,
                ending = changed.ended() => Some(CloseFrame {
                    code: CloseCode::Away,
                    reason: ending.message(&name).into(),
                }),
                () = ended => return,
            };
            // The other side may be gone already.
            drop(tokio::time::timeout(SEND_TIMEOUT, socket.close(farewell)).await);
        });
        Ok(Reply::empty(StatusCode::SWITCHING_PROTOCOLS)
            .with(UPGRADE, "websocket")
            .with(CONNECTION, "Upgrade")
            .with(SEC_WEBSOCKET_ACCEPT, &accept))
    })
}

/// What a quiet socket goes by.
struct Signs {
    /// Turns true when the server stops.
    stopping: watch::Receiver<bool>,
    /// When to ping.
    pulse: watch::Receiver<u64>,
    /// How long nothing may come, with pings that ask for it.
    silence_max: Duration,
}

async fn serve(
    socket: &mut Socket,
    database: Arc<Database>,
    mut operations: broadcast::Receiver<OperationNews>,
    mut signs: Signs,
    mut watched: Watched,
) {
    let (sender, mut news) = mpsc::channel::<News>(CHANGES_AHEAD);
    let queue = Arc::new(Queue::new(sender));
    let (of_documents, of_indexes) = (Arc::clone(&queue), Arc::clone(&queue));
    let listeners = (
        database.on_change(move |change| of_documents.push_change(change)),
        database.on_index_change(move |one| of_indexes.push(News::Index(one.clone()))),
    );
    // As long as documents are watched.
    let mut describing = None;
    // Until then, news wait in their queue.
    let mut first_command = pin!(tokio::time::sleep(FIRST_COMMAND_MAX));
    let mut is_listening = false;
    let greeting = json!({ "TopologyChange": true, "AggressiveCachingChange": true });
    let mut heard = Instant::now();
    let mut is_open = send(socket, &greeting).await;
    while is_open {
        is_open = tokio::select! {
            message = socket.next() => {
                heard = Instant::now();
                match message {
                    Some(Ok(Message::Text(text))) => {
                        is_listening = true;
                        let answer = obey(&mut watched, &text);
                        let describe = || describing.take().or(Some(database.describe_changes()));
                        describing = watched.wants_documents().then(describe).flatten();
                        send(socket, &answer).await
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => false,
                    Some(Ok(_)) => true,
                }
            }
            _ = signs.pulse.changed() => {
                heard.elapsed() < signs.silence_max
                    && send_frame(socket, Message::Ping(Bytes::new())).await
            }
            () = &mut first_command, if !is_listening => {
                is_listening = true;
                true
            }
            one = news.recv(), if is_listening => match one {
                Some(News::Change(change)) => {
                    queue.is_taken(&change);
                    tell(socket, &database, &watched, change).await
                }
                Some(News::Index(index)) => tell_index(socket, &watched, &index).await,
                None => false,
            },
            change = operations.recv(), if is_listening => match change {
                Ok(news) if watched.wants_operation(&database, &news) => {
                    send(socket, &news.json()).await
                }
                Ok(_) => true,
                Err(_) => false,
            },
            _ = signs.stopping.changed() => false,
        };
    }
    drop(listeners);
}

/// What is told.
enum News {
    Change(Change),
    Index(IndexNews),
}

/// News on their way to one client. A full queue is closed: what was missed cannot be told any
/// more.
struct Queue {
    sender: Mutex<Option<mpsc::Sender<News>>>,
    /// Documents that are described in what waits.
    described: AtomicUsize,
}

impl Queue {
    fn new(sender: mpsc::Sender<News>) -> Queue {
        Queue {
            sender: Mutex::new(Some(sender)),
            described: AtomicUsize::new(0),
        }
    }

    fn push(&self, news: News) {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = sender
            .as_ref()
            .is_some_and(|sender| sender.try_send(news).is_err());
        if is_full {
            *sender = None;
        }
    }

    fn push_change(&self, change: &Change) {
        let mut change = change.clone();
        let count = count_described(&change);
        let waiting = self.described.fetch_add(count, Ordering::Relaxed);
        if waiting + count > DESCRIBED_AHEAD {
            self.is_taken(&change);
            change.documents = None;
        }
        self.push(News::Change(change));
    }

    /// Counts a change no more.
    fn is_taken(&self, change: &Change) {
        let count = count_described(change);
        self.described.fetch_sub(count, Ordering::Relaxed);
    }
}

fn count_described(change: &Change) -> usize {
    change.documents.as_ref().map_or(0, |all| all.len())
}

/// What clients that keep answers watch, to ask again for what may have changed.
const CACHING: &str = "aggressive-caching";
/// News of an index after which its answers may differ.
const ANSWERS_CHANGED: [&str; 3] = ["BatchCompleted", "IndexRemoved", "SideBySideReplace"];

/// Says that answers that the client keeps may be old.
async fn tell_caching(socket: &mut Socket) -> bool {
    send(socket, &json!({ "Type": "AggressiveCacheChange" })).await
}

/// Tells what became of an index, when it is watched.
async fn tell_index(socket: &mut Socket, watched: &Watched, news: &IndexNews) -> bool {
    if watched.has(CACHING, "", "")
        && ANSWERS_CHANGED.contains(&news.kind)
        && !tell_caching(socket).await
    {
        return false;
    }
    if !watched.has("indexes", "", "") && !watched.has("index", &news.name, "") {
        return true;
    }
    let value = json!({ "Name": news.name, "Type": news.kind });
    send(socket, &json!({ "Type": "IndexChange", "Value": value })).await
}

/// Sends one message; false when the client is gone or does not read.
async fn send(socket: &mut Socket, message: &Value) -> bool {
    send_frame(socket, Message::text(ascii(&format!("[{message}]")))).await
}

async fn send_frame(socket: &mut Socket, frame: Message) -> bool {
    let sent = tokio::time::timeout(SEND_TIMEOUT, socket.send(frame)).await;
    matches!(sent, Ok(Ok(())))
}

/// Characters beyond ASCII as escapes: some clients decode pieces of a frame on their own.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            out.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

/// Carries out a command of the client; gives the confirmation.
fn obey(watched: &mut Watched, text: &str) -> Value {
    let command: Value = serde_json::from_str(text).unwrap_or_default();
    let name = command["Command"].as_str().unwrap_or("");
    match watched.apply(name, &command["Param"], &command["Params"]) {
        Ok(()) => json!({ "CommandId": command["CommandId"], "Type": "Confirm" }),
        Err(message) => json!({
            "CommandId": command["CommandId"],
            "Type": "Error",
            "Exception": format!("{}: {message}", kind::ARGUMENT),
        }),
    }
}

/// Tells what is watched of a change.
async fn tell(
    socket: &mut Socket,
    database: &Arc<Database>,
    watched: &Watched,
    change: Change,
) -> bool {
    if change.puts + change.deletes > 0
        && watched.has(CACHING, "", "")
        && !tell_caching(socket).await
    {
        return false;
    }
    let mut messages: Vec<Value> = change
        .beside
        .iter()
        .filter(|beside| watched.wants_beside(beside))
        .map(|beside| describe_beside(database, beside))
        .collect();
    if watched.wants_documents() {
        let Some(found) = documents(database, change).await else {
            return false;
        };
        let wanted = found.iter().filter(|one| watched.wants_document(one));
        messages.extend(wanted.map(|one| {
            json!({ "Type": "DocumentChange", "Value": {
                "Type": if one.is_deleted { "Delete" } else { "Put" },
                "Id": one.id, "CollectionName": one.collection,
                "ChangeVector": database.origin().change_vector(one.etag),
            }})
        }));
    }
    for message in &messages {
        if !send(socket, message).await {
            return false;
        }
    }
    true
}

/// Documents of a change, the oldest first; `None` when they cannot be read.
async fn documents(database: &Arc<Database>, change: Change) -> Option<Arc<[DocumentChange]>> {
    if let Some(described) = change.documents {
        return Some(described);
    }
    let database = database.clone();
    let (first, last) = (change.first_etag, change.last_etag);
    let read = move || documents_by_etag(&database, first, last);
    let found = tokio::task::spawn_blocking(read).await;
    Some(found.ok()?.ok()?.into())
}

/// Documents that were last stored or deleted with these etags, oldest change first.
fn documents_by_etag(
    database: &Database,
    first: Etag,
    last: Etag,
) -> Result<Vec<DocumentChange>, ReadError> {
    let snapshot = database.read()?;
    let before = Etag(first.0.saturating_sub(1));
    let mut found = Vec::new();
    for row in snapshot.by_etag(before)? {
        let row = row?;
        if row.etag() > last {
            break;
        }
        found.push(DocumentChange {
            etag: row.etag(),
            is_deleted: false,
            id: row.id().to_owned(),
            collection: row.collection().to_owned(),
        });
    }
    for tombstone in snapshot.tombstones(before)? {
        let tombstone = tombstone?;
        if tombstone.etag > last {
            break;
        }
        found.push(DocumentChange {
            etag: tombstone.etag,
            is_deleted: true,
            id: tombstone.id,
            collection: tombstone.collection,
        });
    }
    found.sort_by_key(|change| change.etag);
    Ok(found)
}

fn describe_beside(database: &Database, change: &BesideChange) -> Value {
    match change {
        BesideChange::Counter {
            document,
            collection,
            name,
            kind,
            value,
            etag,
        } => json!({ "Type": "CounterChange", "Value": {
            "Name": name, "Value": value, "DocumentId": document, "CollectionName": collection,
            "ChangeVector": database.origin().change_vector(*etag), "Type": kind,
        }}),
        BesideChange::Series {
            document,
            collection,
            name,
            kind,
            from,
            to,
            etag,
        } => json!({ "Type": "TimeSeriesChange", "Value": {
            "Name": name, "From": from.map(moment), "To": to.map(moment), "DocumentId": document,
            "CollectionName": collection, "ChangeVector": database.origin().change_vector(*etag),
            "Type": kind,
        }}),
    }
}

/// What one client watches. Names and ids are kept in lower case.
#[derive(Debug)]
struct Watched {
    entries: HashSet<Entry>,
    /// Bytes of all entries.
    len_bytes: usize,
    /// Where these are counted.
    place: BodyPlace,
}

/// A command and its parameters, which take no more than their length.
type Entry = (&'static str, Box<str>, Box<str>);

/// Commands, without `watch-`, and how many parameters each has.
const COMMANDS: &[(&str, usize)] = &[
    ("docs", 0),
    ("doc", 1),
    ("prefix", 1),
    ("collection", 1),
    ("indexes", 0),
    ("index", 1),
    ("operations", 0),
    ("operation", 1),
    ("counters", 0),
    ("counter", 1),
    ("document-counters", 1),
    ("document-counter", 2),
    ("all-timeseries", 0),
    ("timeseries", 1),
    ("all-document-timeseries", 1),
    ("document-timeseries", 2),
    ("topology-change", 0),
    (CACHING, 0),
];

impl Watched {
    fn new(place: BodyPlace) -> Watched {
        Watched {
            entries: HashSet::new(),
            len_bytes: 0,
            place,
        }
    }

    fn apply(&mut self, command: &str, param: &Value, params: &Value) -> Result<(), String> {
        let (name, begins) = match command.strip_prefix("watch-") {
            Some(name) => (name, true),
            None => (command.strip_prefix("unwatch-").unwrap_or(""), false),
        };
        let known = COMMANDS.iter().find(|(known, _)| *known == name);
        let Some((name, count)) = known else {
            return Err(format!("Command argument '{command}' is not valid"));
        };
        let text = |value: &Value| match value {
            Value::String(text) => text.to_lowercase().into_boxed_str(),
            Value::Number(number) => number.to_string().into_boxed_str(),
            _ => Box::default(),
        };
        let (first, second) = match count {
            0 => (Box::default(), Box::default()),
            1 => (text(param), Box::default()),
            _ => (text(&params[0]), text(&params[1])),
        };
        let entry = (*name, first, second);
        let len_bytes = WATCHED_THING_BYTES + entry.1.len() + entry.2.len();
        if !begins {
            if self.entries.remove(&entry) {
                self.len_bytes -= len_bytes;
                drop(self.place.split_off(self.len_bytes as u64));
            }
            return Ok(());
        }
        if self.entries.contains(&entry) {
            return Ok(());
        }
        if self.entries.len() >= WATCHED_MAX {
            return Err(format!(
                "More than {WATCHED_MAX} things cannot be watched at once"
            ));
        }
        let all_bytes = self.len_bytes + len_bytes;
        if all_bytes > WATCHED_BYTES_MAX {
            return Err(format!(
                "What is watched may take {WATCHED_BYTES_MAX} bytes together, its names and \
                 {WATCHED_THING_BYTES} for each: watch fewer things, or open another connection"
            ));
        }
        if !self.place.try_grow(all_bytes as u64) {
            return Err(
                "There is no memory left for what connections watch together: watch fewer \
                 things, or try again later"
                    .to_owned(),
            );
        }
        self.len_bytes = all_bytes;
        self.entries.insert(entry);
        Ok(())
    }

    fn has(&self, name: &'static str, first: &str, second: &str) -> bool {
        let entry = (
            name,
            first.to_lowercase().into(),
            second.to_lowercase().into(),
        );
        self.entries.contains(&entry)
    }

    fn wants_documents(&self) -> bool {
        let names = ["docs", "doc", "prefix", "collection"];
        self.entries.iter().any(|(name, ..)| names.contains(name))
    }

    fn wants_document(&self, news: &DocumentChange) -> bool {
        let id = news.id.to_lowercase();
        let is_prefix = |(name, prefix, _): &Entry| *name == "prefix" && id.starts_with(&**prefix);
        self.has("docs", "", "")
            || self.has("doc", &news.id, "")
            || self.has("collection", &news.collection, "")
            || self.entries.iter().any(is_prefix)
    }

    fn wants_operation(&self, database: &Database, news: &OperationNews) -> bool {
        *news.database_id == *database.id().as_str()
            && (self.has("operations", "", "")
                || self.has("operation", &news.number.to_string(), ""))
    }

    fn wants_beside(&self, change: &BesideChange) -> bool {
        match change {
            BesideChange::Counter { document, name, .. } => {
                self.has("counters", "", "")
                    || self.has("counter", name, "")
                    || self.has("document-counters", document, "")
                    || self.has("document-counter", document, name)
            }
            BesideChange::Series { document, name, .. } => {
                self.has("all-timeseries", "", "")
                    || self.has("timeseries", name, "")
                    || self.has("all-document-timeseries", document, "")
                    || self.has("document-timeseries", document, name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::BodyMemory;

    fn news_of(id: &str, collection: &str) -> DocumentChange {
        DocumentChange {
            etag: Etag(1),
            is_deleted: false,
            id: id.to_owned(),
            collection: collection.to_owned(),
        }
    }

    #[test]
    fn documents_are_wanted_by_id_prefix_and_collection_in_any_case() {
        let mut watched = watched_of(1 << 20);
        let mut apply = |command: &str, param: Value| watched.apply(command, &param, &Value::Null);
        apply("watch-doc", json!("Users/1")).unwrap();
        apply("watch-prefix", json!("orders/")).unwrap();
        apply("watch-collection", json!("companies")).unwrap();
        apply("watch-collection", json!("gone")).unwrap();
        apply("unwatch-collection", json!("Gone")).unwrap();
        assert!(apply("watch-all", Value::Null).is_err());
        for (id, collection, wanted) in [
            ("users/1", "Users", true),
            ("users/2", "Users", false),
            ("Orders/7", "Orders", true),
            ("x", "Companies", true),
            ("x", "gone", false),
        ] {
            assert_eq!(
                watched.wants_document(&news_of(id, collection)),
                wanted,
                "{id}"
            );
        }
    }

    #[test]
    fn names_that_are_watched_have_a_limit_together() {
        let memory = BodyMemory::new(6 << 20, Duration::ZERO);
        let [mut watched, mut other] = [(); 2].map(|()| Watched::new(memory.enter()));
        let change = |watched: &mut Watched, command: &str, number: usize| {
            let half = format!("{number:0>30000}");
            watched.apply(command, &Value::Null, &json!([half, half]))
        };
        let mut apply = |command: &str, number: usize| change(&mut watched, command, number);
        let count = WATCHED_BYTES_MAX / 60_160;
        for number in (0..count).chain(0..count) {
            apply("watch-document-counter", number).unwrap();
        }
        let refused = apply("watch-document-counter", count).unwrap_err();
        assert!(refused.contains("4194304 bytes"), "{refused}");
        apply("unwatch-document-counter", count).unwrap();
        assert!(apply("watch-document-counter", count).is_err());
        apply("unwatch-document-counter", 0).unwrap();
        apply("watch-document-counter", count).unwrap();
        // Others have what is left of the memory of all, and all when this one has gone.
        let begin = "watch-document-counter";
        let room = (0..count).take_while(|number| change(&mut other, begin, *number).is_ok());
        assert!((1..count - 1).contains(&room.count()));
        drop(watched);
        (0..count).for_each(|number| change(&mut other, begin, number).unwrap());
    }

    fn watched_of(bytes_max: usize) -> Watched {
        Watched::new(BodyMemory::new(bytes_max, Duration::ZERO).enter())
    }

    #[test]
    fn what_waits_describes_a_bounded_number_of_documents() {
        let (sender, mut news) = mpsc::channel(CHANGES_AHEAD);
        let queue = Queue::new(sender);
        let change = Change {
            first_etag: Etag(1),
            last_etag: Etag(1024),
            puts: 1024,
            deletes: 0,
            beside: [].into(),
            documents: Some(vec![news_of("a", "As"); 1024].into()),
        };
        let mut next = || match news.try_recv() {
            Ok(News::Change(change)) => change,
            _ => panic!("a change waits"),
        };
        (0..6).for_each(|_| queue.push_change(&change));
        let taken = [(); 6].map(|()| next());
        assert_eq!(
            taken.each_ref().map(count_described),
            [1024, 1024, 1024, 1024, 0, 0]
        );
        taken.iter().for_each(|change| queue.is_taken(change));
        queue.push_change(&change);
        assert_eq!(count_described(&next()), 1024);
    }

    #[test]
    fn frames_are_ascii() {
        assert_eq!(ascii("a\u{e9}\u{1f600}"), "a\\u00e9\\ud83d\\ude00");
    }
}

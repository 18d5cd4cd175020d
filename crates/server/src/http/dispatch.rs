//! The path of one request: route, body, handler, headers.
//!
//! Called by `listener` for each request of a connection. Handlers come in several kinds, and the
//! route table says which: see [`Handler`]. What touches a database runs on the blocking pool, so
//! that a page that is not in memory holds up nobody else; but for short reads while their pages
//! are in memory, see `quick`.
//!
//! Invariants:
//! - Every answer carries `Raven-Server-Version`; those under `/databases/{db}/` of an existing
//!   database carry `Database-Cluster-Tx-Id`.
//! - No handler runs, and no body is kept, before `admit` has let the request in.
//! - A handler that panics costs its request a 500 and nothing else.

use std::borrow::Cow;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode, Uri, Version};

use super::admission::Overloaded;
use super::body::{self, BodyLimits};
use super::body_memory::BodyPlace;
use super::chunks::ChunkWriter;
use super::encoding::Encoding;
use super::feed::Feed;
use super::listener::Places;
use super::pages;
use super::reply::{EVENT_STREAM, Reply, ReplyBody};
use crate::auth::{
    Access, Caller, Clearance, Entry, Lease, Needs, Objects, Principal, Refusal, Sent, Unknown,
    check_origin, decide,
};
use crate::config::Compression;
use crate::router::{Captures, Verb};
use crate::routes::{Audit, Payload, Row};
use crate::shared::Shared;
use crate::version;
use crate::wire::{QueryString, WireError, kind};

/// What a handler gives: an answer, or a failure that becomes an error body.
pub(crate) type Outcome = Result<Reply, WireError>;
/// A handler's answer that is still to come.
pub(crate) type Pending = Pin<Box<dyn Future<Output = Outcome> + Send>>;
/// Resolves when a stream has to end.
pub(crate) type Ended = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Answers up to this are packed on the task of their connection.
const PACKED_AT_ONCE_BYTES: usize = 16 << 10;

/// Bytes of a body that are read from somebody who is refused, so that most clients see why.
const REFUSED_BYTES_MAX: usize = 256 << 10;

/// Memory that a header takes beside its name and value.
const HEADER_BYTES: usize = 64;

/// Most of a URL that the audit log keeps: who is refused shall not fill the disk with it.
const AUDITED_URL_CHARS_MAX: usize = 1_024;

/// Parameters of audited routes that name what is changed.
const OBJECT_PARAMETERS: &[&str] = &[
    "name",
    "id",
    "key",
    "thumbprint",
    "node",
    "directory",
    "path",
    "connectionString",
];

/// How a route is answered.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// From memory or a few cached pages, on the connection's own task.
    Inline(fn(&Call) -> Outcome),
    /// May wait for the disk or compute for long: on a thread of the blocking pool.
    Blocking(fn(&Call) -> Outcome),
    /// As `Blocking`, with an answer of any size.
    Streaming(Write),
    /// As `Streaming`, but short ones run on the connection's own task while they are quick.
    Quick(Quick),
    /// Waits for something else without holding a thread.
    Waiting(fn(Arc<Call>) -> Pending),
    /// As `Waiting`, on the connection's own task, with which it ends when the client goes away:
    /// for handlers that have nothing left to do once a change was handed to the database.
    Direct(fn(Arc<Call>) -> Pending),
    /// As `Waiting`, with a body of any length that is read while it arrives.
    Feeding(fn(Arc<Call>, Feed) -> Pending),
}

/// Writes an answer piece by piece.
type Write = fn(&Call, &mut ChunkWriter) -> Result<(), WireError>;

/// A read that is often short.
#[derive(Clone, Copy)]
pub(crate) struct Quick {
    /// Whether it asks for little, of a database that is open. What it writes may be begun again,
    /// when it turns out to be much.
    pub(crate) is_short: fn(&Call) -> bool,
    pub(crate) write: Write,
}

/// A request whose body has been read.
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) verb: Verb,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) captures: Captures,
    pub(crate) body: Bytes,
    /// Counts the body as long as it is there.
    _place: Option<BodyPlace>,
    /// What the connection proves.
    pub(crate) caller: Caller,
    /// What the route needs of who asks.
    needs: Needs,
    /// Who asks, as far as it is known.
    pub(crate) principal: Result<Arc<Principal>, Unknown>,
    /// What the request is about, for the audit log.
    pub(crate) objects: Objects,
    /// Turns true when the client went away before its answer began: long work may end then.
    pub(crate) abandoned: Arc<AtomicBool>,
    /// The connection itself, when the client asked for another protocol.
    upgrade: Mutex<Option<Upgrade>>,
}

/// A connection that goes on in another protocol.
pub(crate) struct Upgrade {
    pub(crate) connection: OnUpgrade,
    /// What the connection counts for, to be kept as long as it is open.
    pub(crate) places: Arc<Places>,
}

/// Raises the flag of a request whose answer nobody waits for any more: the connection's task drops
/// it when the client goes away.
struct Waiter(Option<Arc<AtomicBool>>);

impl Waiter {
    /// Waits for the answer; the flag stays down once it is there.
    async fn wait<T>(mut self, answer: impl Future<Output = T>) -> T {
        let answer = answer.await;
        self.0 = None;
        answer
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(abandoned) = &self.0 {
            abandoned.store(true, Ordering::Relaxed);
        }
    }
}

impl Call {
    /// Tag of this node.
    pub(crate) fn node_tag(&self) -> &str {
        self.shared.databases.node().as_str()
    }

    /// The connection, to go on with in another protocol after the answer, until the future
    /// resolves: whoever asked may not go on then.
    pub(crate) fn take_upgrade(&self) -> Option<(Upgrade, Ended)> {
        let mut upgrade = self.upgrade.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = self
            .lease()
            .unwrap_or_else(|| Box::pin(std::future::pending()));
        upgrade.take().map(|upgrade| (upgrade, ended))
    }

    /// Resolves when whoever asked would not be let in any more; `None` where all are.
    fn lease(&self) -> Option<Ended> {
        let database = self.database_needed();
        let lease = Lease::new(
            &self.shared,
            self.caller,
            &self.headers,
            self.needs,
            database,
        )?;
        Some(Box::pin(lease.ended()))
    }

    /// Name of the database that who asks needs access to.
    fn database_needed(&self) -> Option<String> {
        match self.needs.access {
            Access::NoDatabase => None,
            _ if self.captures.is_empty() => self.query().filled("name").map(Cow::into_owned),
            _ => Some(self.part(0)),
        }
    }

    /// The query string.
    pub(crate) fn query(&self) -> QueryString<'_> {
        QueryString(self.uri.query().unwrap_or(""))
    }

    /// Whether who asks may do so much in a database.
    pub(crate) fn may(&self, database: &str, access: Access) -> bool {
        let principal = self.principal.as_ref();
        principal.is_ok_and(|principal| principal.access_to(database) >= access)
    }

    /// The captured part at `slot` of the route's pattern, decoded.
    pub(crate) fn part(&self, slot: usize) -> String {
        let raw = self.captures.get(self.uri.path(), slot).unwrap_or("");
        crate::wire::decode(raw).into_owned()
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The value of a conditional header without its quotes. An empty value stays.
    pub(crate) fn unquoted(&self, name: &HeaderName) -> Option<&str> {
        self.header(name)
            .map(|value| value.trim().trim_matches('"'))
    }

    /// The address the client used, for answers that tell it where to go on.
    pub(crate) fn own_url(&self) -> String {
        let plausible = |host: &&str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
            !host.is_empty() && host.len() < 256 && host.bytes().all(allowed)
        };
        let scheme = self.shared.scheme();
        // HTTP/2 has the host in the address of the request.
        let named = self.uri.authority().map(|authority| authority.as_str());
        match self.header(&header::HOST).or(named).filter(plausible) {
            Some(host) => format!("{scheme}://{host}"),
            None => format!("{scheme}://{}", self.shared.address),
        }
    }
}

/// Answers one request. Never fails: failures are answers.
pub(super) async fn answer(
    shared: Arc<Shared>,
    places: Arc<Places>,
    caller: Caller,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    let (mut head, mut incoming) = request.into_parts();
    let watched = shared.traffic.begin().map(|began| {
        let (method, url) = (head.method.clone(), url_of(&head.uri).to_owned());
        (began, method, url)
    });
    let upgrade = head.extensions.remove::<OnUpgrade>();
    let upgrade = Mutex::new(upgrade.map(|connection| Upgrade { connection, places }));
    let head_bytes = head_bytes(&head);
    let encoding = accepted(&head.headers).filter(|_| wants_compression(&shared, caller.peer));
    let guard = shared.guard();
    let routed = guard
        .check_host(head.version, &head.uri, &head.headers)
        .and_then(|()| route(&shared, head.method.as_str(), head.uri.path()))
        .and_then(|found| check_page(&head, &found.0, found.1).map(|()| found));
    let (mut reply, tag) = match routed {
        Ok((row, verb, captures)) => {
            let url = url_of(&head.uri).to_owned();
            let (uri, headers) = (head.uri, head.headers);
            let body = Bytes::new();
            let principal = shared.gate.identify(&caller, &headers);
            let call = Call {
                shared: shared.clone(),
                verb,
                uri,
                headers,
                captures,
                body,
                _place: None,
                caller,
                needs: row.needs,
                principal,
                objects: Objects::default(),
                abandoned: Arc::default(),
                upgrade,
            };
            let tag = crate::routes::database_tag(&call);
            let record = record_of(&row, &call, &url);
            let lease = call.lease();
            let answering = async move {
                let outcome = receive(row, call, incoming, head_bytes).await;
                outcome.unwrap_or_else(|error| failed(&error, &url))
            };
            let mut reply = match record {
                // A task of its own: a client that goes away does not take the line with it.
                Some(record) => {
                    let audited = audited(shared.clone(), record, answering);
                    let task = tokio::spawn(audited);
                    task.await.unwrap_or_else(|_| failed(&panicked(), "/"))
                }
                None => answering.await,
            };
            if let Some(lease) = lease {
                reply.body = reply.body.leased(lease);
            }
            // Who is refused does not learn whether the database is there.
            let is_refused = matches!(reply.status.as_u16(), 401 | 403);
            (reply, tag.filter(|_| !is_refused))
        }
        Err(error) => {
            body::drain(&mut incoming, REFUSED_BYTES_MAX).await;
            (failed(&error, url_of(&head.uri)), None)
        }
    };
    if let Some((began, method, url)) = watched {
        let status = reply.status.as_u16();
        shared.traffic.log(began, method.as_str(), &url, status);
    }
    if let Some(encoding) = encoding {
        reply = compress(reply, encoding).await;
    }
    reply
        .headers
        .insert(version::HEADER, version::WIRE_VERSION_HEADER);
    reply
        .headers
        .insert(header::SERVER, version::PRODUCT_HEADER);
    pages::guard(reply.status, &mut reply.headers);
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        reply
            .headers
            .insert(HeaderName::from_static("database-cluster-tx-id"), tag);
    }
    reply.into_response()
}

/// Answers a request that came inside another: its body is there already, and it may be about the
/// database of the outer one only.
pub(crate) async fn answer_inner(
    outer: &Call,
    method: &str,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Reply {
    let url = url_of(&uri).to_owned();
    match route(&outer.shared, method, uri.path()) {
        Ok((row, verb, captures)) => {
            let call = Call {
                shared: outer.shared.clone(),
                verb,
                uri,
                headers,
                captures,
                body,
                _place: None,
                caller: outer.caller,
                needs: row.needs,
                principal: outer.principal.clone(),
                objects: Objects::default(),
                abandoned: Arc::default(),
                upgrade: Mutex::default(),
            };
            let record = record_of(&row, &call, &url);
            let allowed = stays_inside(outer, &call).and_then(|()| admit(&row, &call));
            let answering = async {
                let outcome = match allowed {
                    Ok(()) => run(row, Arc::new(call)).await,
                    Err(error) => Err(error),
                };
                outcome.unwrap_or_else(|error| failed(&error, &url))
            };
            match record {
                Some(record) => audited(outer.shared.clone(), record, answering).await,
                None => answering.await,
            }
        }
        Err(error) => failed(&error, &url),
    }
}

/// Refuses what a page of another site sends.
fn check_page(head: &Parts, row: &Row, verb: Verb) -> Result<(), WireError> {
    let is_silent = row.body == Payload::NoBodyEffect;
    let changes = verb.has_body() || is_silent || head.headers.contains_key(header::UPGRADE);
    // HTTP/2 has the host in the address of the request.
    let authority = head.uri.authority().map(|authority| authority.as_str());
    check_origin(
        &head.headers,
        authority,
        changes,
        match row.body {
            Payload::Json | Payload::Small => Sent::Json,
            Payload::NoBodyEffect => Sent::Nothing,
            _ => Sent::Other,
        },
    )
}

/// What the audit log is to say of a request, but for its status.
fn record_of(row: &Row, call: &Call, url: &str) -> Option<Entry> {
    call.shared
        .gate
        .as_secured()
        .filter(|_| row.audit == Audit::Audited)?;
    let who = call.principal.as_ref().ok();
    Some(Entry {
        who: who.map(|who| (who.name.clone(), who.credential.clone())),
        peer: call.caller.peer,
        method: call.verb.name(),
        url: url.chars().take(AUDITED_URL_CHARS_MAX).collect(),
        objects: objects_of(call),
        status: 0,
    })
}

/// What the address of a request names; its handler adds what the body names.
fn objects_of(call: &Call) -> Objects {
    let objects = call.objects.clone();
    if !call.captures.is_empty() {
        objects.add(&call.part(0));
    }
    let query = call.query();
    for parameter in OBJECT_PARAMETERS {
        for value in query.all(parameter) {
            objects.add(&value);
        }
    }
    objects
}

/// Writes the line of a request into the audit log before its answer leaves.
async fn audited(
    shared: Arc<Shared>,
    mut entry: Entry,
    answering: impl Future<Output = Reply>,
) -> Reply {
    let reply = answering.await;
    entry.status = reply.status.as_u16();
    let url = entry.url.clone();
    let written = tokio::task::spawn_blocking(move || {
        let secured = shared.gate.as_secured();
        secured.is_none_or(|secured| secured.audit.write(&entry).is_ok())
    });
    if written.await.unwrap_or(false) || reply.status.as_u16() >= 400 {
        return reply;
    }
    let message = "The change was made, but the audit log could not be written: free disk space.";
    failed(&WireError::new(kind::UNEXPECTED, message), &url)
}

fn stays_inside(outer: &Call, inner: &Call) -> Result<(), WireError> {
    let is_same = outer.part(0).to_lowercase() == inner.part(0).to_lowercase();
    if is_same && !inner.captures.is_empty() {
        return Ok(());
    }
    let message = "A request inside another has to be about the same database.";
    Err(WireError::new(kind::ARGUMENT, message))
}

/// Whether whoever asks may use the route.
fn admit(row: &Row, call: &Call) -> Result<(), WireError> {
    let principal = call.principal.as_deref().map_err(|unknown| *unknown);
    // For an operator it does not matter which database it is.
    let is_user = principal.is_ok_and(|principal| principal.clearance < Clearance::Operator);
    let database = if is_user {
        call.database_needed()
    } else {
        None
    };
    decide(principal, row.needs, database.as_deref())
        .map_err(|refusal| refused(refusal, principal, row, database.as_deref()))
}

/// A refusal in words. Clients read 403 as their exception of authorization; 401 says that another
/// token may help.
fn refused(
    refusal: Refusal,
    principal: Result<&Principal, Unknown>,
    row: &Row,
    database: Option<&str>,
) -> WireError {
    let name = principal.map_or("", |principal| &principal.name);
    let status = match refusal {
        Refusal::Unknown(Unknown::Invalid) => StatusCode::UNAUTHORIZED,
        _ => StatusCode::FORBIDDEN,
    };
    let message = match refusal {
        Refusal::Unknown(Unknown::Nobody) => {
            "This server needs a client certificate or a token, and the request came with neither."
                .to_owned()
        }
        Refusal::Unknown(Unknown::Invalid) => {
            "The token is not valid, or not any more: exchange the API key for a new one."
                .to_owned()
        }
        Refusal::Unknown(Unknown::Certificate) => {
            "The client certificate is not registered with this server, or not valid at this time. \
             An administrator registers it with `jackdaw certificate add`."
                .to_owned()
        }
        Refusal::Clearance => {
            let needed = row.needs.clearance.name();
            format!("'{name}' has not the clearance {needed} that this route needs.")
        }
        Refusal::Database => {
            let (database, needed) = (database.unwrap_or(""), row.needs.access.name());
            format!("'{name}' has not the access {needed} to the database '{database}'.")
        }
    };
    WireError::new(kind::AUTHORIZATION, message).with_status(status)
}

fn url_of(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |url| url.as_str())
}

fn route(shared: &Shared, method: &str, path: &str) -> Result<(Row, Verb, Captures), WireError> {
    let verb = Verb::parse(method);
    match (shared.router.find(verb, path), verb) {
        (Ok(found), Some(verb)) => Ok((found.route.target, verb, found.captures)),
        _ => Err(WireError::no_route(method, path)),
    }
}

/// Lets whoever asks in, reads the body or hands it over, and runs the handler.
async fn receive(row: Row, call: Call, mut incoming: Incoming, head_bytes: usize) -> Outcome {
    if let Err(refusal) = admit(&row, &call) {
        body::drain(&mut incoming, REFUSED_BYTES_MAX).await;
        return Err(refusal);
    }
    let config = &call.shared.config;
    let (bytes_max, stall) = (row.body.bytes_max(config), config.stall_timeout);
    if let Handler::Feeding(handle) = row.handler {
        let grace = match row.body {
            Payload::Endless => Duration::ZERO,
            _ => config.drain_timeout / 2,
        };
        let feed = Feed::new(incoming, &call.headers, stall, bytes_max)?
            .until(call.lease())
            .until_stop(call.shared.stopping.clone(), grace);
        let task = tokio::spawn(handle(Arc::new(call), feed));
        return task.await.unwrap_or_else(|_| Err(panicked()));
    }
    if !call.verb.has_body() {
        return run(row, Arc::new(call)).await;
    }
    let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let memory = &call.shared.bodies;
    let limits = BodyLimits {
        bytes_max,
        memory,
        stall,
        head_bytes,
    };
    let (body, place) = body::read(incoming, &call.headers, limits).await?;
    let call = Call {
        body,
        _place: Some(place),
        ..call
    };
    run(row, Arc::new(call)).await
}

async fn run(row: Row, call: Arc<Call>) -> Outcome {
    if let Handler::Quick(quick) = row.handler
        && let Some(outcome) = run_at_once(quick, &call)
    {
        return outcome;
    }
    let place = match row.handler {
        Handler::Blocking(_) | Handler::Streaming(_) | Handler::Quick(_) => {
            match call.shared.admission.enter(row.rate).await {
                Ok(place) => place,
                Err(Overloaded) => return Err(overloaded()),
            }
        }
        _ => None,
    };
    match row.handler {
        Handler::Inline(handle) => {
            catch_unwind(AssertUnwindSafe(|| handle(&call))).unwrap_or_else(|_| Err(panicked()))
        }
        Handler::Blocking(handle) => {
            let waiter = Waiter(Some(call.abandoned.clone()));
            let task = tokio::task::spawn_blocking(move || {
                let _place = place;
                handle(&call)
            });
            waiter.wait(task).await.unwrap_or_else(|_| Err(panicked()))
        }
        Handler::Streaming(write) | Handler::Quick(Quick { write, .. }) => {
            let is_timed = is_short(&row, &call);
            let (memory, stall) = (call.shared.pieces.clone(), call.shared.config.stall_timeout);
            let (mut writer, outcome) = ChunkWriter::new(memory, stall);
            let waiter = Waiter(Some(call.abandoned.clone()));
            tokio::task::spawn_blocking(move || {
                let mut written = || catch_unwind(AssertUnwindSafe(|| write(&call, &mut writer)));
                let result = match is_timed {
                    true => call.shared.quick_reads.time(written),
                    false => written(),
                };
                let give_back = call.shared.config.give_back_memory;
                let give_back = give_back.filter(|_| writer.is_one_of_many());
                writer.finish(result.unwrap_or_else(|_| Err(panicked())));
                drop((call, place));
                // Most of its pieces were freed by other threads, and this one may rest for long.
                if let Some(give_back) = give_back {
                    give_back();
                }
            });
            waiter
                .wait(outcome)
                .await
                .unwrap_or_else(|_| Err(panicked()))
        }
        Handler::Feeding(_) => Err(WireError::new(
            kind::NOT_SUPPORTED,
            "This route reads a body of its own and cannot be used inside another request.",
        )),
        // A task of its own confines a panic of the handler.
        Handler::Waiting(handle) => tokio::spawn(handle(call))
            .await
            .unwrap_or_else(|_| Err(panicked())),
        Handler::Direct(handle) => match catch_unwind(AssertUnwindSafe(|| handle(call))) {
            Ok(pending) => confined(pending).await,
            Err(_) => Err(panicked()),
        },
    }
}

/// The outcome of a handler on this task, also when it panics.
async fn confined(mut pending: Pending) -> Outcome {
    poll_fn(|context| {
        let polled = AssertUnwindSafe(|| pending.as_mut().poll(context));
        catch_unwind(polled).unwrap_or_else(|_| Poll::Ready(Err(panicked())))
    })
    .await
}

/// Answers on this task, if that is sure to be short.
fn run_at_once(quick: Quick, call: &Call) -> Option<Outcome> {
    let reads = &call.shared.quick_reads;
    if !reads.are_quick() || !(quick.is_short)(call) {
        return None;
    }
    let mut writer = ChunkWriter::short();
    let written = || catch_unwind(AssertUnwindSafe(|| (quick.write)(call, &mut writer)));
    match reads.time(written) {
        Ok(result) => writer.into_outcome(result),
        Err(_) => Some(Err(panicked())),
    }
}

fn is_short(row: &Row, call: &Call) -> bool {
    matches!(row.handler, Handler::Quick(quick) if (quick.is_short)(call))
}

/// The queue of work is full.
pub(crate) fn overloaded() -> WireError {
    let message = "The server has more to do than it can: try again in a second.";
    WireError::new(kind::TIMEOUT, message)
}

/// Bytes that the head of a request takes beside its connection. HTTP/1 has one at a time, for
/// which the connection has room; many of HTTP/2 may wait for their bodies at once.
fn head_bytes(head: &Parts) -> usize {
    if head.version != Version::HTTP_2 {
        return 0;
    }
    let headers = head.headers.iter();
    headers
        .map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES)
        .sum()
}

pub(crate) fn panicked() -> WireError {
    WireError::new(
        kind::UNEXPECTED,
        "The server failed while it handled this request. Nothing is known to be damaged; \
         please report what is in the server's log.",
    )
}

fn failed(error: &WireError, url: &str) -> Reply {
    if error.status == StatusCode::INTERNAL_SERVER_ERROR {
        let cause = error.cause.as_deref();
        tracing::error!(url, message = error.message, cause, "request failed");
    } else {
        tracing::debug!(
            url,
            kind = %error.kind,
            message = error.message,
            "request refused"
        );
    }
    let reply = Reply::json(error.status, error.body(url));
    match error.status {
        // Too much is going on; what was told to stay away for other reasons stays so.
        StatusCode::SERVICE_UNAVAILABLE if error.kind == kind::TIMEOUT => {
            reply.with(header::RETRY_AFTER, "1")
        }
        _ => reply,
    }
}

/// The encoding that the answer may have.
fn accepted(headers: &HeaderMap) -> Option<Encoding> {
    let accepted = headers.get(header::ACCEPT_ENCODING)?;
    Encoding::preferred(accepted.to_str().ok()?)
}

fn wants_compression(shared: &Shared, peer: SocketAddr) -> bool {
    match shared.config.compression {
        Compression::Off => false,
        Compression::On => true,
        Compression::Remote => !peer.ip().is_loopback(),
    }
}

/// Packs the body of an answer, however small it is: a short one at once, a long one off the
/// runtime's threads, one that comes in pieces on its way. Events leave as they are, and so do
/// contents of attachments, whole or in part: their length is in the head, and ranges count their
/// bytes.
async fn compress(mut reply: Reply, encoding: Encoding) -> Reply {
    let is_packed = reply.headers.contains_key(header::CONTENT_ENCODING);
    let is_events = reply.headers.get(header::CONTENT_TYPE) == Some(&EVENT_STREAM);
    let has_length = reply.headers.contains_key(header::CONTENT_LENGTH);
    if is_packed || is_events || has_length || reply.status == StatusCode::PARTIAL_CONTENT {
        return reply;
    }
    let is_done = match &reply.body {
        ReplyBody::Whole(body) if !body.is_empty() => {
            let body = body.clone();
            let packed = match body.len() <= PACKED_AT_ONCE_BYTES {
                true => encoding.pack(&body),
                false => {
                    let packing = tokio::task::spawn_blocking(move || encoding.pack(&body));
                    packing.await.ok().flatten()
                }
            };
            packed
                .map(|packed| reply.body = ReplyBody::Whole(packed))
                .is_some()
        }
        ReplyBody::Pieces(_) | ReplyBody::Leased(_) => reply.body.pack_pieces(encoding),
        ReplyBody::Whole(_) | ReplyBody::Empty => false,
    };
    if is_done {
        let name = HeaderValue::from_static(encoding.name());
        reply.headers.insert(header::CONTENT_ENCODING, name);
        let vary = HeaderValue::from_static("Accept-Encoding");
        reply.headers.insert(header::VARY, vary);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_counted_where_many_may_wait_for_bodies() {
        let of = |version| {
            let request = Request::builder()
                .version(version)
                .header("a", "b".repeat(99));
            head_bytes(&request.body(()).unwrap().into_parts().0)
        };
        assert_eq!(of(Version::HTTP_11), 0);
        assert_eq!(of(Version::HTTP_2), 1 + 99 + HEADER_BYTES);
    }

    #[test]
    fn a_panic_of_a_handler_on_this_task_is_an_answer() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let pending: Pending = Box::pin(async {
            tokio::task::yield_now().await;
            panic!("on purpose")
        });
        let outcome = runtime.block_on(confined(pending));
        assert_eq!(
            outcome.err().map(|error| error.kind),
            Some(kind::UNEXPECTED)
        );
    }

    #[test]
    fn only_an_answer_nobody_waits_for_is_abandoned() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let abandoned = Arc::new(AtomicBool::new(false));
        let waiter = || Waiter(Some(abandoned.clone()));
        assert_eq!(runtime.block_on(waiter().wait(async { 7 })), 7);
        assert!(!abandoned.load(Ordering::Relaxed));
        drop(waiter().wait(std::future::pending::<()>()));
        assert!(abandoned.load(Ordering::Relaxed));
    }
}

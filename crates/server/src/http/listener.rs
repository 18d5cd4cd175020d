//! Connections: accepting, bounding their number, and ending them gently.
//!
//! Called by `running` with a bound listener. One task per connection; requests on it follow one
//! another.
//!
//! Invariant: a connection is counted as long as it is open, also when a web socket was made of it,
//! which outlives the task that it came from.
//!
//! Stopping: no connection is accepted any more, idle ones are closed, and a request under way is
//! answered with `Connection: close`. What is left after `drain_timeout` is cut.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;

use super::addresses::{AddressPlace, Addresses};
use super::heads::{Answering, Heads, Requests};
use super::reply::ReplyBody;
use super::stall::Stalling;
use super::{dispatch, events};
use crate::auth::Caller;
use crate::shared::Shared;

/// Pause after a failed `accept`: the usual reason is that file descriptors have run out.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Bytes that are read at a time beside a head.
const READ_BYTES: usize = 8 << 10;

/// Requests at a time on one connection of HTTP/2.
const STREAMS_MAX: u32 = 100;
/// Places that a connection of HTTP/2 takes beside its own, because of its requests and windows.
const HTTP2_PLACES: u32 = 15;
/// Bytes that may come on one connection of HTTP/2, and on one of its streams, before somebody
/// reads them.
const CONNECTION_WINDOW_BYTES: u32 = 512 << 10;
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// Bytes of answers that wait on one stream of HTTP/2.
const SEND_BYTES_MAX: usize = 256 << 10;

/// What a connection counts for until the last of those who have it drops this.
pub(crate) struct Places {
    all: Arc<Semaphore>,
    _connection: OwnedSemaphorePermit,
    address: AddressPlace,
}

impl Places {
    /// The places that a connection of HTTP/2 takes more, of all and of its address; `None` when
    /// there are not so many.
    fn of_http2(&self) -> Option<(OwnedSemaphorePermit, AddressPlace)> {
        let of_all = self.all.clone().try_acquire_many_owned(HTTP2_PLACES).ok()?;
        let of_address = self.address.enter_more(HTTP2_PLACES as usize)?;
        Some((of_all, of_address))
    }
}

/// Serves until `stop` turns true, then drains. Returns how many connections had to be cut.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
) -> usize {
    let places = Arc::new(Semaphore::new(shared.config.connections_max));
    let mut connections = JoinSet::new();
    let config = &shared.config;
    let addresses = Addresses::new(config.connections_of_address_max, config.counts_loopback);
    loop {
        let accepted = tokio::select! {
            () = stopped(&mut stop) => break,
            // At once: what ended takes memory until then, and the next connection may be far.
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, &places) => accepted,
        };
        match accepted {
            Ok((stream, peer, place)) => {
                let Some(address_place) = addresses.enter(peer.ip()) else {
                    tracing::debug!(%peer, "closed: too many connections from this address");
                    continue;
                };
                let places = Arc::new(Places {
                    all: places.clone(),
                    _connection: place,
                    address: address_place,
                });
                let (shared, stop) = (shared.clone(), stop.clone());
                connections.spawn(connection(shared, places, stream, peer, stop));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
    drop(listener);
    let drain = async { while connections.join_next().await.is_some() {} };
    let drained = tokio::time::timeout(shared.config.drain_timeout, drain).await;
    if drained.is_ok() {
        return 0;
    }
    let cut = connections.len();
    connections.shutdown().await;
    cut
}

/// Resolves when the server stops, or its handle is gone.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = places
        .clone()
        .acquire_owned()
        .await
        .map_err(std::io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, place))
}

async fn connection(
    shared: Arc<Shared>,
    places: Arc<Places>,
    stream: TcpStream,
    peer: SocketAddr,
    stop: watch::Receiver<bool>,
) {
    // Answers are written whole; waiting to fill a packet would only add latency.
    drop(stream.set_nodelay(true));
    let Some(tls) = &shared.tls else {
        return serve_http1(shared, places, stream, Caller::unproven(peer), stop).await;
    };
    let timeout = shared.config.handshake_timeout;
    // Boxed one by one: a connection takes memory for what it is, not for the largest of all kinds.
    let Some((stream, caller)) = Box::pin(tls.accept(stream, peer, timeout)).await else {
        return;
    };
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        let Some(_more) = places.of_http2() else {
            tracing::debug!(%peer, "closed: too many connections for one more of HTTP/2");
            return;
        };
        Box::pin(serve_http2(shared, places, stream, caller, stop)).await;
    } else {
        Box::pin(serve_http1(shared, places, stream, caller, stop)).await;
    }
}

/// Answers a request. What that takes is boxed, and freed with the answer: hyper keeps the place of
/// a request's future as long as the connection, also while it is idle or streams.
///
/// Events are handed over to the connection's task by `events`, if they may be.
async fn answer(
    shared: Arc<Shared>,
    places: Arc<Places>,
    caller: Caller,
    request: Request<Incoming>,
    events: Option<oneshot::Sender<Response<ReplyBody>>>,
) -> Result<Response<ReplyBody>, Infallible> {
    let events = events.filter(|_| events::are_possible(&request));
    let response = Box::pin(dispatch::answer(shared, places, caller, request)).await;
    match events {
        Some(events) if events::are_in(&response) => {
            match events.send(response) {
                // The task drops this future.
                Ok(()) => std::future::pending().await,
                Err(response) => Ok(response),
            }
        }
        _ => Ok(response),
    }
}

/// Counts a request until its answer is written, or for ever when the connection goes on in another
/// protocol.
async fn counted(
    requests: Requests,
    answered: impl Future<Output = Result<Response<ReplyBody>, Infallible>>,
) -> Result<Response<Answering>, Infallible> {
    let under_way = requests.begin();
    let answered = answered.await;
    answered.map(|response| {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            requests.upgrade();
        }
        response.map(|body| Answering {
            body,
            _under_way: under_way,
        })
    })
}

async fn serve_http1<S>(
    shared: Arc<Shared>,
    places: Arc<Places>,
    stream: S,
    caller: Caller,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let config = &shared.config;
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(config.idle_timeout)
        .max_headers(config.header_count_max)
        .max_header_size(config.head_bytes_max)
        .max_buf_size(config.head_bytes_max + READ_BYTES);
    let requests = Requests::default();
    let (events, mut handed) = oneshot::channel();
    // For the first request alone: of later ones hyper may still be writing the answer before.
    let events = Mutex::new(Some(events));
    let service = service_fn(|request| {
        let events = events.lock().unwrap_or_else(PoisonError::into_inner).take();
        let answered = answer(shared.clone(), places.clone(), caller, request, events);
        counted(requests.clone(), answered)
    });
    let stream = Stalling::new(stream, config.stall_timeout);
    let stream = Heads::new(stream, requests.clone(), config.head_timeout);
    let stream = TokioIo::new(stream);
    // Boxed: it ends when events go on without it.
    let mut connection = Box::pin(builder.serve_connection(stream, service).with_upgrades());
    let ended = tokio::select! {
        // In this order: what was handed over is taken before anything else happens.
        biased;
        ended = connection.as_mut() => ended,
        Ok(answer) = &mut handed => {
            let connection = std::pin::Pin::into_inner(connection);
            let parts = connection.into_parts().expect("it goes on in no other protocol");
            let stream = parts.io.into_inner().into_inner();
            if let Err(error) = events::write(stream, answer).await {
                tracing::debug!(peer = %caller.peer, %error, "events ended early");
            }
            return;
        }
        () = stopped(&mut stop) => {
            handed.close();
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(peer = %caller.peer, %error, "connection ended early");
    }
}

/// Several requests at a time over one connection. hyper counts resets and frames without end.
async fn serve_http2<S>(
    shared: Arc<Shared>,
    places: Arc<Places>,
    stream: S,
    caller: Caller,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let config = &shared.config;
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(config.head_bytes_max).unwrap_or(u32::MAX))
        .max_send_buf_size(SEND_BYTES_MAX)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .keep_alive_interval(config.idle_timeout);
    let requests = Requests::default();
    let service = service_fn(|request| {
        let answered = answer(shared.clone(), places.clone(), caller, request, None);
        counted(requests.clone(), answered)
    });
    let stream = Stalling::new(stream, config.stall_timeout);
    let stream = Heads::of_http2(stream, requests.clone(), config.idle_timeout);
    let stream = TokioIo::new(stream);
    let connection = builder.serve_connection(stream, service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(peer = %caller.peer, %error, "connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_of_http2_counts_for_many() {
        let all = Arc::new(Semaphore::new(36));
        let addresses = Addresses::new(17, false);
        let enter = |host: u8| Places {
            all: all.clone(),
            _connection: all.clone().try_acquire_owned().unwrap(),
            address: addresses.enter([192, 0, 2, host].into()).unwrap(),
        };
        let (first, second) = (enter(1), enter(1));
        let more = first.of_http2();
        assert!(more.is_some() && second.of_http2().is_none());
        // Its address has no more, others have.
        let (other, last) = (enter(2), enter(3));
        let of_other = other.of_http2();
        assert!(of_other.is_some() && last.of_http2().is_none());
        drop(more);
        assert!(second.of_http2().is_some());
    }
}

//! A socket that knows where heads of requests begin and end, so that half of one does not stay.
//!
//! `listener` puts every connection into one. hyper bounds how long a connection may be idle, which
//! clients need long; a head that has begun has to be whole much sooner. hyper also accepts lines
//! that end with LF alone, which others divide differently: such an LF reaches hyper as NUL, which
//! it answers with 400.
//!
//! Invariants:
//! - `framing` is at the same place of the stream as hyper will be, until hyper refuses a request.
//! - A deadline runs only while no request of the connection is under way: hyper leaves bytes of
//!   the next request in the socket until then.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::framing::Framing;
use super::reply::{BrokenStream, ReplyBody};

/// Requests of a connection that are under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Requests so far.
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// The connection goes on in another protocol.
    is_upgraded: AtomicBool,
}

impl Requests {
    /// Counts a request until what this returns is dropped.
    pub(super) fn begin(&self) -> UnderWay {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        UnderWay(self.clone())
    }

    /// Watches nothing more: the bytes are of another protocol.
    pub(super) fn upgrade(&self) {
        self.0.is_upgraded.store(true, Ordering::Relaxed);
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Ordering::Relaxed)
    }

    fn are_over(&self) -> bool {
        self.begun() == self.0.ended.load(Ordering::Relaxed)
    }
}

/// A request under way.
#[derive(Debug)]
pub(super) struct UnderWay(Requests);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body of an answer; its request is under way until this is dropped.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) body: ReplyBody,
    pub(super) _under_way: UnderWay,
}

impl Body for Answering {
    type Data = Bytes;
    type Error = BrokenStream;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenStream>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// See the file head.
pub(super) struct Heads<S> {
    stream: S,
    requests: Requests,
    /// Where in the stream of HTTP/1.1 it is; `None` for HTTP/2.
    framing: Option<Framing>,
    /// How long a head may take; for HTTP/2, how long a connection may have no request.
    limit: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Requests before the deadline.
    seen: usize,
}

impl<S> Heads<S> {
    /// A connection of HTTP/1.1, a head of which may take `limit`.
    pub(super) fn new(stream: S, requests: Requests, limit: Duration) -> Heads<S> {
        Heads {
            stream,
            requests,
            framing: Some(Framing::default()),
            limit,
            deadline: None,
            seen: 0,
        }
    }

    /// A connection of HTTP/2, which may be without a request for `limit`.
    pub(super) fn of_http2(stream: S, requests: Requests, limit: Duration) -> Heads<S> {
        Heads {
            framing: None,
            ..Heads::new(stream, requests, limit)
        }
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    /// Whether something has to come soon.
    fn is_due(&mut self) -> bool {
        let begun = self.requests.begun();
        if std::mem::replace(&mut self.seen, begun) != begun {
            self.deadline = None;
        }
        let is_awaited = self.framing.as_ref().is_none_or(Framing::is_within_head);
        is_awaited && self.requests.are_over()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heads<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.requests.0.is_upgraded.load(Ordering::Relaxed) {
            self.deadline = None;
            return read;
        }
        if let (Poll::Ready(Ok(())), Some(framing)) = (&read, &mut self.framing) {
            framing.pass(&mut buffer.filled_mut()[before..]);
        }
        if !self.is_due() {
            self.deadline = None;
            return read;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        if deadline.as_mut().poll(context).is_ready() {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the request did not come");
            return Poll::Ready(Err(error));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heads<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

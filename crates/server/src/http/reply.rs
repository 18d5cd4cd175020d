//! An answer before it has bytes on the wire: status, headers, and a body whole or in pieces.
//!
//! Made by `routes`; finished by `dispatch`, which adds the headers every answer carries.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

use super::dispatch::Ended;
use super::encoding::{CountedPacker, Encoding};
use super::piece_memory::Counted;

/// The type of nearly every answer.
const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// The type of server-sent events.
pub(super) const EVENT_STREAM: HeaderValue =
    HeaderValue::from_static("text/event-stream; charset=utf-8");

/// Headers that an answer about a document has: its type, ETag, and those that all have.
const USUAL_HEADERS: usize = 6;

/// Why a body in pieces ended early. The connection is closed without a proper end, so that the
/// client notices.
#[derive(Debug, thiserror::Error)]
#[error("the answer could not be completed")]
pub(crate) struct BrokenStream;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: ReplyBody,
}

impl Reply {
    /// An answer without body: 204, 304, and 404 for "no such thing".
    pub(crate) fn empty(status: StatusCode) -> Reply {
        Reply {
            status,
            headers: HeaderMap::new(),
            body: ReplyBody::Empty,
        }
    }

    /// An answer with a JSON body.
    pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Reply {
        Reply::bytes(status, JSON, body.into())
    }

    /// A 200 with a small JSON value.
    pub(crate) fn value(value: &serde_json::Value) -> Reply {
        let body = serde_json::to_vec(value).expect("a JSON value is always serializable");
        Reply::json(StatusCode::OK, body)
    }

    /// An answer with a body of any type.
    pub(crate) fn bytes(status: StatusCode, content_type: HeaderValue, body: Bytes) -> Reply {
        let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
        headers.insert(CONTENT_TYPE, content_type);
        Reply {
            status,
            headers,
            body: ReplyBody::Whole(body),
        }
    }

    /// An answer of server-sent events, which arrive as they happen and are not to be kept.
    pub(crate) fn events(pieces: mpsc::Receiver<Result<Bytes, BrokenStream>>) -> Reply {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, EVENT_STREAM);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Reply {
            status: StatusCode::OK,
            headers,
            body: ReplyBody::Pieces(Pieces::uncounted(pieces)),
        }
    }

    /// Adds a header; text that cannot stand in a header is left out.
    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Reply {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Adds an `ETag` in quotes.
    pub(crate) fn with_etag(self, etag: &str) -> Reply {
        self.with(ETAG, &format!("\"{etag}\""))
    }

    pub(crate) fn into_response(self) -> Response<ReplyBody> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// A response body.
#[derive(Debug)]
pub(crate) enum ReplyBody {
    /// No bytes.
    Empty,
    /// All bytes at once, sent with their length.
    Whole(Bytes),
    /// Pieces as they are made, sent in chunks.
    Pieces(Pieces),
    /// The same for somebody who may lose the right to read on.
    Leased(Leased),
}

/// Pieces as they are made, and what their memory is counted by.
#[derive(Debug)]
pub(crate) struct Pieces {
    received: mpsc::Receiver<Result<Bytes, BrokenStream>>,
    _counted: Option<Counted>,
    /// Packs them on their way to the client.
    packer: Option<CountedPacker>,
}

impl Pieces {
    pub(super) fn counted(
        received: mpsc::Receiver<Result<Bytes, BrokenStream>>,
        counted: Counted,
    ) -> Pieces {
        Pieces {
            received,
            _counted: Some(counted),
            packer: None,
        }
    }

    /// Pieces that are small, or bounded by whoever makes them.
    fn uncounted(received: mpsc::Receiver<Result<Bytes, BrokenStream>>) -> Pieces {
        Pieces {
            received,
            _counted: None,
            packer: None,
        }
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenStream>>> {
        loop {
            let piece = self.received.poll_recv(context);
            let Some(packer) = &mut self.packer else {
                return piece.map(|piece| piece.map(|piece| piece.map(Frame::data)));
            };
            let is_last = matches!(piece, Poll::Ready(None));
            let packed = match piece {
                Poll::Ready(Some(Ok(piece))) => packer.push(&piece),
                Poll::Ready(Some(Err(broken))) => return Poll::Ready(Some(Err(broken))),
                Poll::Ready(None) => self
                    .packer
                    .take()
                    .map_or(Ok(Bytes::new()), |it| it.finish()),
                Poll::Pending => match packer.flush() {
                    Ok(packed) if packed.is_empty() => return Poll::Pending,
                    packed => packed,
                },
            };
            match packed {
                Ok(packed) if packed.is_empty() && !is_last => {}
                Ok(packed) => return Poll::Ready(Some(Ok(Frame::data(packed)))),
                Err(_) => return Poll::Ready(Some(Err(BrokenStream))),
            }
        }
    }
}

/// Pieces until a lease has ended. See the file head of `auth::gate`.
pub(crate) struct Leased {
    pieces: Pieces,
    ended: Ended,
}

impl std::fmt::Debug for Leased {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Leased").finish_non_exhaustive()
    }
}

impl ReplyBody {
    /// A body that breaks off when `ended` resolves, if it comes in pieces.
    pub(super) fn leased(self, ended: Ended) -> ReplyBody {
        match self {
            ReplyBody::Pieces(pieces) => ReplyBody::Leased(Leased { pieces, ended }),
            other => other,
        }
    }

    /// Packs a body that comes in pieces, on its way; whether it does.
    pub(super) fn pack_pieces(&mut self, encoding: Encoding) -> bool {
        let (ReplyBody::Pieces(pieces) | ReplyBody::Leased(Leased { pieces, .. })) = self else {
            return false;
        };
        pieces.packer = CountedPacker::new(encoding);
        pieces.packer.is_some()
    }

    /// The body piece by piece, for an answer that goes into another.
    pub(super) fn into_pieces(self) -> OwnPieces {
        match self {
            ReplyBody::Empty => OwnPieces::Whole(None),
            ReplyBody::Whole(bytes) => OwnPieces::Whole(Some(bytes)),
            ReplyBody::Pieces(pieces) | ReplyBody::Leased(Leased { pieces, .. }) => {
                OwnPieces::Several(pieces)
            }
        }
    }
}

/// A body that is read by this program.
pub(super) enum OwnPieces {
    Whole(Option<Bytes>),
    Several(Pieces),
}

impl OwnPieces {
    /// The next piece; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, BrokenStream>> {
        match self {
            OwnPieces::Whole(bytes) => bytes.take().map(Ok),
            OwnPieces::Several(pieces) => pieces.received.recv().await,
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BrokenStream;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenStream>>> {
        match &mut *self {
            ReplyBody::Empty => Poll::Ready(None),
            ReplyBody::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = ReplyBody::Empty;
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            ReplyBody::Pieces(pieces) => pieces.poll(context),
            ReplyBody::Leased(leased) => {
                if leased.ended.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Some(Err(BrokenStream)));
                }
                leased.pieces.poll(context)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Empty => true,
            ReplyBody::Whole(bytes) => bytes.is_empty(),
            ReplyBody::Pieces(_) | ReplyBody::Leased(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Empty => SizeHint::with_exact(0),
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ReplyBody::Pieces(_) | ReplyBody::Leased(_) => SizeHint::default(),
        }
    }
}

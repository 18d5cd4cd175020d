//! Writing an answer of unknown size from a blocking thread: short ones leave whole, long ones in
//! pieces while the rest is still being made.
//!
//! Used by handlers of kind `Streaming` (documents, queries, exports). The handler appends to
//! [`ChunkWriter::buffer`] and calls [`ChunkWriter::checkpoint`] after each row.
//!
//! Invariants:
//! - Memory is bounded: a piece is sent when it has `PIECE_BYTES`, and at most `PIECES_AHEAD` wait.
//! - Until the first piece has left, a failure becomes a proper error answer; afterwards it breaks
//!   the connection, never ends the body as if it were complete.
//! - A client that does not read for `stall` loses its answer, so that it cannot hold a snapshot
//!   and a thread for ever.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderName;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::dispatch::Outcome;
use super::reply::{BrokenStream, Reply, ReplyBody};
use crate::wire::{WireError, kind};

/// Size of a piece. Answers below it, which is nearly all of them, go out with their length.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces made ahead of the client.
const PIECES_AHEAD: usize = 4;

/// The client went away or stopped reading; the handler should end quietly.
#[derive(Debug, thiserror::Error)]
#[error("the client went away before its answer was complete")]
pub(crate) struct ClientGone;

impl From<ClientGone> for WireError {
    fn from(gone: ClientGone) -> WireError {
        WireError::new(kind::UNEXPECTED, gone.to_string())
    }
}

/// Collects an answer and sends it on.
pub(crate) struct ChunkWriter {
    /// Bytes not sent yet; handlers append to it.
    pub(crate) buffer: Vec<u8>,
    /// Status and headers; may be changed until the first piece has left. A head with a body of its
    /// own, or with none, is the whole answer: what is in the buffer is dropped.
    pub(crate) head: Reply,
    answer: Option<oneshot::Sender<Outcome>>,
    pieces: Option<mpsc::Sender<Result<Bytes, BrokenStream>>>,
    runtime: Handle,
    stall: Duration,
}

impl ChunkWriter {
    /// A writer whose answer arrives at the receiver. Must be made inside the runtime.
    pub(super) fn new(stall: Duration) -> (ChunkWriter, oneshot::Receiver<Outcome>) {
        let (answer, outcome) = oneshot::channel();
        let writer = ChunkWriter {
            buffer: Vec::new(),
            head: Reply::json(hyper::StatusCode::OK, Vec::new()),
            answer: Some(answer),
            pieces: None,
            runtime: Handle::current(),
            stall,
        };
        (writer, outcome)
    }

    /// Adds a header, unless the head has left already.
    pub(crate) fn set_header(&mut self, name: HeaderName, value: &str) {
        let head = std::mem::replace(&mut self.head, Reply::empty(hyper::StatusCode::OK));
        self.head = head.with(name, value);
    }

    /// Sends what has gathered when it fills a piece. Call it after each row.
    pub(crate) fn checkpoint(&mut self) -> Result<(), ClientGone> {
        if self.buffer.len() < PIECE_BYTES {
            Ok(())
        } else {
            self.send()
        }
    }

    fn send(&mut self) -> Result<(), ClientGone> {
        if let Some(answer) = self.answer.take() {
            let (pieces, receiver) = mpsc::channel(PIECES_AHEAD);
            let mut head = std::mem::replace(&mut self.head, Reply::empty(hyper::StatusCode::OK));
            head.body = ReplyBody::Pieces(receiver);
            answer.send(Ok(head)).map_err(|_| ClientGone)?;
            self.pieces = Some(pieces);
        }
        let piece = Bytes::from(std::mem::take(&mut self.buffer));
        self.push(Ok(piece))
    }

    fn push(&mut self, piece: Result<Bytes, BrokenStream>) -> Result<(), ClientGone> {
        let Some(pieces) = &self.pieces else {
            return Err(ClientGone);
        };
        let sent = tokio::time::timeout(self.stall, pieces.send(piece));
        self.runtime
            .block_on(sent)
            .map_err(|_| ClientGone)?
            .map_err(|_| ClientGone)
    }

    /// Ends the answer with what the handler returned.
    pub(super) fn finish(mut self, result: Result<(), WireError>) {
        match (self.answer.take(), result) {
            (Some(answer), Err(error)) => drop(answer.send(Err(error))),
            (Some(answer), Ok(())) => {
                let mut head =
                    std::mem::replace(&mut self.head, Reply::empty(hyper::StatusCode::OK));
                if matches!(&head.body, ReplyBody::Whole(body) if body.is_empty()) {
                    head.body = ReplyBody::Whole(Bytes::from(std::mem::take(&mut self.buffer)));
                }
                drop(answer.send(Ok(head)));
            }
            (None, Ok(())) => {
                let last = Bytes::from(std::mem::take(&mut self.buffer));
                if !last.is_empty() {
                    drop(self.push(Ok(last)));
                }
            }
            (None, Err(_)) => drop(self.push(Err(BrokenStream))),
        }
    }
}

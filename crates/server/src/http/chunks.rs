//! Writing an answer of unknown size from a blocking thread: short ones leave whole, long ones in
//! pieces while the rest is still being made.
//!
//! Used by handlers of kind `Streaming` (documents, queries, exports) and `Quick`. The handler
//! appends to [`ChunkWriter::buffer`] and calls [`ChunkWriter::checkpoint`] after each row.
//!
//! Invariants:
//! - Memory is bounded: `piece_memory` says how large a piece is and how many may wait.
//! - Until the first piece has left, which is early where memory is scarce, a failure becomes a
//!   proper error answer; afterwards it breaks the connection, never ends the body as if it were
//!   complete.
//! - A client that does not read for `stall` loses its answer, so that it cannot hold a snapshot
//!   and a thread for ever.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderName;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::dispatch::Outcome;
use super::piece_memory::{PIECE_BYTES_MIN, PieceMemory};
use super::reply::{BrokenStream, Pieces, Reply, ReplyBody};
use crate::wire::{WireError, kind};

/// Longest answer that is made on the task of a connection.
const SHORT_BYTES_MAX: usize = 64 << 10;
/// About what a document's metadata, or an object around a row, takes.
const ROW_BYTES_BESIDE: usize = 512;
/// The part of its size that a piece has room for beyond it, for its last row.
const PIECE_SPARE_PARTS: usize = 4;

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
    way: Way,
}

/// Where an answer goes.
enum Way {
    /// Nowhere before it is whole; it ends when it gets long.
    Short { is_over: bool },
    /// To whoever waits for it, in pieces when it is long.
    Away(Away),
}

struct Away {
    answer: Option<oneshot::Sender<Outcome>>,
    pieces: Option<mpsc::Sender<Result<Bytes, BrokenStream>>>,
    memory: Arc<PieceMemory>,
    runtime: Handle,
    stall: Duration,
    /// Whether a piece was made smaller for lack of memory.
    was_scarce: bool,
}

impl ChunkWriter {
    /// A writer whose answer arrives at the receiver. Must be made inside the runtime.
    pub(super) fn new(
        memory: Arc<PieceMemory>,
        stall: Duration,
    ) -> (ChunkWriter, oneshot::Receiver<Outcome>) {
        let (answer, outcome) = oneshot::channel();
        let away = Away {
            answer: Some(answer),
            pieces: None,
            memory,
            runtime: Handle::current(),
            stall,
            was_scarce: false,
        };
        (ChunkWriter::going(Way::Away(away)), outcome)
    }

    /// A writer of an answer that is made on the task of a connection, and must not get long.
    pub(super) fn short() -> ChunkWriter {
        ChunkWriter::going(Way::Short { is_over: false })
    }

    fn going(way: Way) -> ChunkWriter {
        ChunkWriter {
            buffer: Vec::new(),
            head: Reply::json(hyper::StatusCode::OK, Vec::new()),
            way,
        }
    }

    /// Adds a header, unless the head has left already.
    pub(crate) fn set_header(&mut self, name: HeaderName, value: &str) {
        let head = std::mem::replace(&mut self.head, Reply::empty(hyper::StatusCode::OK));
        self.head = head.with(name, value);
    }

    /// Sends what has gathered when it fills a piece. Call it after each row.
    pub(crate) fn checkpoint(&mut self) -> Result<(), ClientGone> {
        self.announce(0)
    }

    /// As [`ChunkWriter::checkpoint`], in front of a row of about so many bytes.
    pub(crate) fn announce(&mut self, bytes: usize) -> Result<(), ClientGone> {
        let len = self.buffer.len();
        match &mut self.way {
            Way::Short { is_over } if len + bytes > SHORT_BYTES_MAX => {
                *is_over = true;
                return Err(ClientGone);
            }
            Way::Away(away) if len >= PIECE_BYTES_MIN => {
                let piece_bytes = away.memory.piece_bytes();
                if len >= piece_bytes {
                    let next = Vec::with_capacity(piece_bytes + piece_bytes / PIECE_SPARE_PARTS);
                    let piece = std::mem::replace(&mut self.buffer, next);
                    away.send(&mut self.head, piece)?;
                }
            }
            _ => {}
        }
        if bytes > 0 {
            self.buffer.reserve(bytes + ROW_BYTES_BESIDE);
        }
        Ok(())
    }

    /// Whether the answer is a long one that shared little memory with others.
    pub(super) fn is_one_of_many(&self) -> bool {
        matches!(&self.way, Way::Away(away) if away.was_scarce)
    }

    /// Ends the answer with what the handler returned.
    pub(super) fn finish(self, result: Result<(), WireError>) {
        let ChunkWriter { buffer, head, way } = self;
        let Way::Away(mut away) = way else {
            return;
        };
        match (away.answer.take(), result) {
            (Some(answer), result) => drop(answer.send(result.map(|()| whole(head, buffer)))),
            (None, Ok(())) if buffer.is_empty() => {}
            (None, Ok(())) => drop(away.push(Ok(Bytes::from(buffer)))),
            (None, Err(_)) => drop(away.push(Err(BrokenStream))),
        }
    }

    /// The whole answer of a [`ChunkWriter::short`]; `None` when it got long.
    pub(super) fn into_outcome(self, result: Result<(), WireError>) -> Option<Outcome> {
        match self.way {
            Way::Short { is_over: true } => None,
            _ => Some(result.map(|()| whole(self.head, self.buffer))),
        }
    }
}

/// The head with what has gathered as its body, unless it has one of its own or is to have none.
fn whole(mut head: Reply, gathered: Vec<u8>) -> Reply {
    if matches!(&head.body, ReplyBody::Whole(body) if body.is_empty()) {
        head.body = ReplyBody::Whole(Bytes::from(gathered));
    }
    head
}

impl Away {
    fn send(&mut self, head: &mut Reply, mut piece: Vec<u8>) -> Result<(), ClientGone> {
        let begins = self
            .answer
            .take()
            .map(|answer| (answer, self.memory.enter()));
        if self.memory.is_scarce() {
            self.was_scarce = true;
            piece.shrink_to_fit();
        }
        if let Some((answer, counted)) = begins {
            let (pieces, receiver) = mpsc::channel(self.memory.pieces_ahead());
            let receiver = Pieces::counted(receiver, counted);
            let mut head = std::mem::replace(head, Reply::empty(hyper::StatusCode::OK));
            head.body = ReplyBody::Pieces(receiver);
            answer.send(Ok(head)).map_err(|_| ClientGone)?;
            self.pieces = Some(pieces);
        }
        self.push(Ok(Bytes::from(piece)))
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
}

#[cfg(test)]
mod tests {
    use super::super::piece_memory::PIECE_BYTES_MAX;
    use super::*;

    fn write(writer: &mut ChunkWriter, rows: usize, row_bytes: usize) -> Result<(), WireError> {
        for _ in 0..rows {
            writer.announce(row_bytes)?;
            writer.buffer.resize(writer.buffer.len() + row_bytes, b'x');
            writer.checkpoint()?;
        }
        Ok(())
    }

    #[test]
    fn what_gets_long_is_not_made_on_the_task_of_a_connection() {
        for (rows, row_bytes, is_short) in [
            (1, 100, true),
            (2, SHORT_BYTES_MAX / 2, true),
            (3, SHORT_BYTES_MAX / 2, false),
            (1, SHORT_BYTES_MAX + 1, false),
        ] {
            let mut writer = ChunkWriter::short();
            let result = write(&mut writer, rows, row_bytes);
            match writer.into_outcome(result) {
                Some(Ok(Reply {
                    body: ReplyBody::Whole(body),
                    ..
                })) => {
                    assert!(is_short);
                    assert_eq!(body.len(), rows * row_bytes);
                }
                Some(other) => panic!("{other:?}"),
                None => assert!(!is_short),
            }
        }
    }

    #[test]
    fn long_answers_arrive_in_pieces_and_whole() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        // As much as two answers have at a time.
        let memory = PieceMemory::new(14 * PIECE_BYTES_MAX);
        let first = memory.enter();
        let bytes = runtime.block_on(async {
            let (mut writer, outcome) = ChunkWriter::new(memory.clone(), Duration::from_secs(10));
            tokio::task::spawn_blocking(move || {
                let result = write(&mut writer, 9, PIECE_BYTES_MAX / 2 + 1);
                writer.finish(result);
            });
            outcome.await.unwrap().unwrap().body.collect().await
        });
        assert_eq!(bytes.unwrap().len(), 9 * (PIECE_BYTES_MAX / 2 + 1));
        // Its body is gone, and what it was counted by with it.
        let second = memory.enter();
        assert!(!memory.is_scarce());
        let third = memory.enter();
        assert!(memory.is_scarce());
        drop((first, second, third));
    }
}

//! Writing an answer of unknown size from a blocking thread: short ones leave whole, long ones in
//! pieces while the rest is still being made.
//!
//! Used by handlers of kind `Streaming` (documents, queries, exports) and `Quick`. The handler
//! appends to [`ChunkWriter::buffer`] and calls [`ChunkWriter::checkpoint`] after each row.
//!
//! Invariants:
//! - Memory is bounded: `piece_memory` says how large a piece is and how many may wait. A row that
//!   is larger than a piece, and what the handler gathers before it writes
//!   ([`ChunkWriter::hold`]), is counted there until the client has read it.
//! - Until the first piece has left, which is early where memory is scarce, a failure becomes a
//!   proper error answer; afterwards it breaks the connection, never ends the body as if it were
//!   complete.
//! - A client that does not read for `stall` loses its answer, so that it cannot hold a snapshot
//!   and a thread for ever.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderName;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::body_memory::BodyPlace;
use super::dispatch::{Call, Outcome, panicked};
use super::piece_memory::{PIECE_BYTES_MAX, PIECE_BYTES_MIN, PieceMemory};
use super::reply::{BrokenStream, Pieces, Reply, ReplyBody};
use crate::wire::{WireError, kind};

/// Longest answer that is made on the task of a connection.
const SHORT_BYTES_MAX: usize = 64 << 10;
/// About what a document's metadata, or an object around a row, takes.
const ROW_BYTES_BESIDE: usize = 512;
/// The part of its size that a piece has room for beyond it, for its last row.
const PIECE_SPARE_PARTS: usize = 4;

/// What a piece with its last row takes at most that is not counted in bytes.
const UNCOUNTED_BYTES_MAX: usize = PIECE_BYTES_MAX + PIECE_BYTES_MAX / PIECE_SPARE_PARTS;

/// Why an answer ends before it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Cut {
    /// The client went away or stopped reading; the handler should end quietly.
    #[error("the client went away before its answer was complete")]
    ClientGone,
    /// Other answers take the memory that there is.
    #[error("The server has no memory for this answer with the others: try again later.")]
    Crowded,
    /// It takes more than all answers may together.
    #[error(
        "The answer takes more memory than the server has for answers: ask for less at a time."
    )]
    TooLarge,
}

impl From<Cut> for WireError {
    fn from(cut: Cut) -> WireError {
        let message = cut.to_string();
        match cut {
            Cut::ClientGone => WireError::new(kind::UNEXPECTED, message),
            Cut::Crowded => WireError::new(kind::TIMEOUT, message),
            Cut::TooLarge => WireError::new(kind::INVALID_OPERATION, message)
                .with_status(StatusCode::PAYLOAD_TOO_LARGE),
        }
    }
}

/// Bytes of an answer, and what they are counted by until they are dropped.
struct Placed {
    bytes: Vec<u8>,
    _place: BodyPlace,
}

impl AsRef<[u8]> for Placed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes of an answer that are counted by `place` until the client has them.
pub(crate) fn placed(bytes: Vec<u8>, place: BodyPlace) -> Bytes {
    Bytes::from_owner(Placed {
        bytes,
        _place: place,
    })
}

/// Takes parts of an answer: the answer itself, or what is to go into another.
pub(crate) trait Sink {
    /// What was not sent yet; parts are appended to it.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// To be called after each part.
    fn checkpoint(&mut self) -> Result<(), Cut>;

    /// To be called in front of a part of about so many bytes.
    fn announce(&mut self, bytes: usize) -> Result<(), Cut>;
}

impl Sink for ChunkWriter {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    fn checkpoint(&mut self) -> Result<(), Cut> {
        ChunkWriter::checkpoint(self)
    }

    fn announce(&mut self, bytes: usize) -> Result<(), Cut> {
        ChunkWriter::announce(self, bytes)
    }
}

/// For parts whose size is bounded elsewhere.
impl Sink for Vec<u8> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }

    fn checkpoint(&mut self) -> Result<(), Cut> {
        Ok(())
    }

    fn announce(&mut self, _bytes: usize) -> Result<(), Cut> {
        Ok(())
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
    /// Nowhere before it is whole, for answers that are known to be short.
    Whole,
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
    /// What is counted in bytes of this answer, but for pieces that left.
    place: Option<BodyPlace>,
    /// Bytes that the handler holds apart from the buffer.
    held_bytes: usize,
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
            place: None,
            held_bytes: 0,
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
            head: Reply::json(StatusCode::OK, Vec::new()),
            way,
        }
    }

    /// Adds a header, unless the head has left already.
    pub(crate) fn set_header(&mut self, name: HeaderName, value: &str) {
        let head = std::mem::replace(&mut self.head, Reply::empty(StatusCode::OK));
        self.head = head.with(name, value);
    }

    /// Sends what has gathered when it fills a piece. Call it after each row.
    pub(crate) fn checkpoint(&mut self) -> Result<(), Cut> {
        self.announce(0)
    }

    /// Says that the handler holds so many bytes for the answer apart from the buffer, as long as
    /// the writer is there. Waits when there is no room for them.
    ///
    /// # Errors
    /// [`Cut::Crowded`] when the wait took too long, [`Cut::TooLarge`] when there can be no room.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), Cut> {
        match &mut self.way {
            Way::Short { is_over } if bytes > SHORT_BYTES_MAX => {
                *is_over = true;
                Err(Cut::ClientGone)
            }
            Way::Short { .. } | Way::Whole => Ok(()),
            Way::Away(away) => {
                away.held_bytes = bytes;
                if bytes > UNCOUNTED_BYTES_MAX && !away.place().has_room_for(bytes as u64) {
                    return Err(Cut::TooLarge);
                }
                away.make_room(self.buffer.len())
            }
        }
    }

    /// As [`ChunkWriter::checkpoint`], in front of a row of about so many bytes.
    pub(crate) fn announce(&mut self, bytes: usize) -> Result<(), Cut> {
        let len = self.buffer.len();
        match &mut self.way {
            Way::Short { is_over } if len + bytes > SHORT_BYTES_MAX => {
                *is_over = true;
                return Err(Cut::ClientGone);
            }
            Way::Away(away) => {
                if len >= PIECE_BYTES_MIN {
                    let piece_bytes = away.memory.piece_bytes();
                    if len >= piece_bytes {
                        let next =
                            Vec::with_capacity(piece_bytes + piece_bytes / PIECE_SPARE_PARTS);
                        let piece = std::mem::replace(&mut self.buffer, next);
                        away.send(&mut self.head, piece)?;
                    }
                }
                away.make_room(self.buffer.len().saturating_add(bytes))?;
            }
            Way::Short { .. } | Way::Whole => {}
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
        away.held_bytes = 0;
        let result = result.and_then(|()| Ok(away.make_room(buffer.len())?));
        match (away.answer.take(), result) {
            (Some(answer), result) => {
                let answered = result.map(|()| whole(head, away.placed(buffer)));
                drop(answer.send(answered));
            }
            (None, Ok(())) if buffer.is_empty() => {}
            (None, Ok(())) => {
                let last = away.placed(buffer);
                let _ = away.push(Ok(last));
            }
            (None, Err(_)) => {
                let _ = away.push(Err(BrokenStream));
            }
        }
    }

    /// The whole answer of a [`ChunkWriter::short`]; `None` when it got long.
    pub(super) fn into_outcome(self, result: Result<(), WireError>) -> Option<Outcome> {
        match self.way {
            Way::Short { is_over: true } => None,
            _ => Some(result.map(|()| whole(self.head, Bytes::from(self.buffer)))),
        }
    }
}

/// Writes the answer of a handler that runs on a task: here when `is_short` says that this takes no
/// time, else on a thread of the pool, in pieces when it is long.
pub(crate) async fn written(
    call: &Call,
    status: StatusCode,
    is_short: bool,
    write: impl FnOnce(&mut ChunkWriter) -> Result<(), WireError> + Send + 'static,
) -> Outcome {
    if is_short {
        let mut writer = ChunkWriter::going(Way::Whole);
        writer.head.status = status;
        let result = write(&mut writer);
        return result.map(|()| whole(writer.head, Bytes::from(writer.buffer)));
    }
    let stall = call.shared.config.stall_timeout;
    let (mut writer, outcome) = ChunkWriter::new(call.shared.pieces.clone(), stall);
    writer.head.status = status;
    tokio::task::spawn_blocking(move || {
        let written = catch_unwind(AssertUnwindSafe(|| write(&mut writer)));
        writer.finish(written.unwrap_or_else(|_| Err(panicked())));
    });
    outcome.await.unwrap_or_else(|_| Err(panicked()))
}

/// The head with what has gathered as its body, unless it has one of its own or is to have none.
fn whole(mut head: Reply, gathered: Bytes) -> Reply {
    if matches!(&head.body, ReplyBody::Whole(body) if body.is_empty()) {
        head.body = ReplyBody::Whole(gathered);
    }
    head
}

impl Away {
    fn place(&mut self) -> &mut BodyPlace {
        self.place.get_or_insert_with(|| self.memory.large())
    }

    /// Waits until there is room for what is held and a buffer of so many bytes.
    fn make_room(&mut self, buffer_bytes: usize) -> Result<(), Cut> {
        let bytes = self.held_bytes.saturating_add(buffer_bytes);
        if bytes <= UNCOUNTED_BYTES_MAX {
            return Ok(());
        }
        let runtime = self.runtime.clone();
        let grown = runtime.block_on(self.place().grow(bytes as u64));
        grown.map_err(|_| Cut::Crowded)
    }

    /// Bytes on their way to the client, with what is counted of them.
    fn placed(&mut self, bytes: Vec<u8>) -> Bytes {
        let held_bytes = match self.held_bytes {
            0..=UNCOUNTED_BYTES_MAX => 0,
            held => held as u64,
        };
        match &mut self.place {
            Some(place) if bytes.len() > UNCOUNTED_BYTES_MAX => {
                placed(bytes, place.split_off(held_bytes))
            }
            _ => Bytes::from(bytes),
        }
    }

    fn send(&mut self, head: &mut Reply, mut piece: Vec<u8>) -> Result<(), Cut> {
        // The row may have been longer than it was announced.
        self.make_room(piece.len())?;
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
            let mut head = std::mem::replace(head, Reply::empty(StatusCode::OK));
            head.body = ReplyBody::Pieces(receiver);
            answer.send(Ok(head)).map_err(|_| Cut::ClientGone)?;
            self.pieces = Some(pieces);
        }
        let piece = self.placed(piece);
        self.push(Ok(piece))
    }

    fn push(&mut self, piece: Result<Bytes, BrokenStream>) -> Result<(), Cut> {
        let Some(pieces) = &self.pieces else {
            return Err(Cut::ClientGone);
        };
        let sent = tokio::time::timeout(self.stall, pieces.send(piece));
        self.runtime
            .block_on(sent)
            .map_err(|_| Cut::ClientGone)?
            .map_err(|_| Cut::ClientGone)
    }
}

#[cfg(test)]
mod tests {
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
        let memory = PieceMemory::new(14 * PIECE_BYTES_MAX, Duration::ZERO);
        let first = memory.enter();
        let bytes = runtime.block_on(async {
            let (mut writer, outcome) = ChunkWriter::new(memory.clone(), Duration::from_secs(10));
            tokio::task::spawn_blocking(move || {
                let result = write(&mut writer, 9, PIECE_BYTES_MAX / 2 + 1);
                writer.finish(result);
            });
            let mut body = outcome.await.unwrap().unwrap().body.into_pieces();
            let mut bytes = Vec::new();
            while let Some(piece) = body.next().await {
                bytes.extend_from_slice(&piece.unwrap());
            }
            bytes
        });
        assert_eq!(bytes.len(), 9 * (PIECE_BYTES_MAX / 2 + 1));
        // Its body is gone, and what it was counted by with it.
        let second = memory.enter();
        assert!(!memory.is_scarce());
        let third = memory.enter();
        assert!(memory.is_scarce());
        drop((first, second, third));
    }
}

//! An answer that consists of other answers, made on a task: short ones are copied into it, long
//! ones go on to the client piece by piece.
//!
//! Used by `multi_get`. Pieces are counted by the writers that made them; a relay has little of its
//! own, a buffer below [`PIECE_BYTES_MIN`] and what waits in its queue.
//!
//! Invariant: as for `chunks`, a failure is an answer until the first piece has left, and breaks
//! the connection afterwards.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use tokio::sync::{mpsc, oneshot};

use super::chunks::Cut;
use super::dispatch::{Call, Outcome};
use super::piece_memory::{PIECE_BYTES_MIN, PieceMemory};
use super::reply::{BrokenStream, Pieces, Reply, ReplyBody};
use crate::wire::{WireError, kind};

/// Pieces that wait for the client.
const AHEAD: usize = 1;

/// See the file head.
pub(crate) struct Relay {
    /// Bytes not sent yet; callers append what stands between answers.
    pub(crate) buffer: Vec<u8>,
    answer: Option<oneshot::Sender<Outcome>>,
    pieces: Option<mpsc::Sender<Result<Bytes, BrokenStream>>>,
    memory: std::sync::Arc<PieceMemory>,
    stall: Duration,
}

impl Relay {
    /// A relay whose answer arrives at the receiver.
    pub(crate) fn new(call: &Call) -> (Relay, oneshot::Receiver<Outcome>) {
        let (answer, outcome) = oneshot::channel();
        let relay = Relay {
            buffer: Vec::new(),
            answer: Some(answer),
            pieces: None,
            memory: call.shared.pieces.clone(),
            stall: call.shared.config.stall_timeout,
        };
        (relay, outcome)
    }

    /// Appends a body; false when it has no bytes.
    pub(crate) async fn forward(&mut self, body: ReplyBody) -> Result<bool, WireError> {
        let mut body = body.into_pieces();
        let mut has_bytes = false;
        while let Some(piece) = body.next().await {
            let piece =
                piece.map_err(|error| WireError::new(kind::UNEXPECTED, error.to_string()))?;
            has_bytes |= !piece.is_empty();
            self.take(piece).await?;
        }
        Ok(has_bytes)
    }

    async fn take(&mut self, piece: Bytes) -> Result<(), Cut> {
        if piece.len() < PIECE_BYTES_MIN {
            self.buffer.extend_from_slice(&piece);
            if self.buffer.len() < PIECE_BYTES_MIN {
                return Ok(());
            }
            return self.flush().await;
        }
        self.flush().await?;
        // As it is, with what it is counted by.
        self.send(Ok(piece)).await
    }

    async fn flush(&mut self) -> Result<(), Cut> {
        let piece = Bytes::from(std::mem::take(&mut self.buffer));
        match piece.is_empty() {
            true => Ok(()),
            false => self.send(Ok(piece)).await,
        }
    }

    async fn send(&mut self, piece: Result<Bytes, BrokenStream>) -> Result<(), Cut> {
        if let Some(answer) = self.answer.take() {
            let (pieces, receiver) = mpsc::channel(AHEAD);
            let mut head = Reply::json(StatusCode::OK, Bytes::new());
            head.body = ReplyBody::Pieces(Pieces::counted(receiver, self.memory.enter()));
            answer.send(Ok(head)).map_err(|_| Cut::ClientGone)?;
            self.pieces = Some(pieces);
        }
        let pieces = self.pieces.as_ref().ok_or(Cut::ClientGone)?;
        let sent = tokio::time::timeout(self.stall, pieces.send(piece)).await;
        let sent = sent.map_err(|_| Cut::ClientGone)?;
        sent.map_err(|_| Cut::ClientGone)
    }

    /// Resolves when the client went away.
    pub(crate) async fn closed(&mut self) {
        match (&mut self.answer, &self.pieces) {
            (Some(answer), _) => answer.closed().await,
            (None, Some(pieces)) => pieces.closed().await,
            (None, None) => {}
        }
    }

    /// Ends the answer with what came of it.
    pub(crate) async fn finish(mut self, result: Result<(), WireError>) {
        match (self.answer.take(), result) {
            (Some(answer), result) => {
                let body = std::mem::take(&mut self.buffer);
                drop(answer.send(result.map(|()| Reply::json(StatusCode::OK, body))));
            }
            (None, Ok(())) => {
                let _ = self.flush().await;
            }
            (None, Err(_)) => {
                let _ = self.send(Err(BrokenStream)).await;
            }
        }
    }
}

//! A request body read piece by piece, for requests of any length.
//!
//! Used by handlers of kind `Feeding` (bulk insert), which work on what has arrived while the
//! client is still sending. The row of the route says how long the whole body may be; the handler
//! limits what it keeps.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use flate2::write::GzDecoder;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, HeaderMap};

use super::body::{DRAIN_BYTES_MAX, broken, drain, stalled, unreadable};
use super::dispatch::Ended;
use crate::wire::{WireError, kind};

/// Bytes of gzip that are unpacked at a time: they grow to a thousand times as many at most.
const PACKED_BYTES: usize = 256;
/// Unpacked bytes that make a piece.
const PIECE_BYTES: usize = 32 << 10;

/// The pieces of a body, decompressed.
pub(crate) struct Feed {
    incoming: Incoming,
    gzip: Option<GzDecoder<Vec<u8>>>,
    /// What came and was not unpacked yet.
    packed: Bytes,
    stall: Duration,
    /// Bytes that may still come, before and after decompression.
    left: u64,
    bytes_max: u64,
    /// Resolves when the sender may not go on.
    ended: Option<Ended>,
}

impl Feed {
    pub(super) fn new(
        incoming: Incoming,
        headers: &HeaderMap,
        stall: Duration,
        bytes_max: u64,
    ) -> Result<Feed, WireError> {
        let gzip = match headers.get(CONTENT_ENCODING).map(|value| value.as_bytes()) {
            None | Some(b"identity" | b"") => None,
            Some(b"gzip" | b"x-gzip") => Some(GzDecoder::new(Vec::new())),
            Some(other) => return Err(unreadable(&String::from_utf8_lossy(other))),
        };
        Ok(Feed {
            incoming,
            gzip,
            packed: Bytes::new(),
            stall,
            left: bytes_max,
            bytes_max,
            ended: None,
        })
    }

    /// Takes nothing more once `ended` resolves.
    pub(super) fn until(self, ended: Option<Ended>) -> Feed {
        Feed { ended, ..self }
    }

    /// The next piece; `None` at the end. A piece may be empty.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, WireError> {
        // What was announced to be too long is refused before it comes.
        if self.incoming.size_hint().lower() > self.left {
            return Err(too_large(self.bytes_max));
        }
        loop {
            if !self.packed.is_empty() {
                let plain = self.inflate()?;
                return self.counted(plain).map(Some);
            }
            let frame = tokio::time::timeout(self.stall, self.incoming.frame());
            let frame = match &mut self.ended {
                Some(ended) => tokio::select! {
                    frame = frame => frame,
                    () = ended => return Err(not_any_more()),
                },
                None => frame.await,
            };
            let Some(frame) = frame.map_err(|_| stalled())? else {
                return self.finish();
            };
            if let Ok(data) = frame.map_err(|error| broken(&error))?.into_data() {
                match self.gzip {
                    Some(_) => self.packed = data,
                    None => return self.counted(data).map(Some),
                }
            }
        }
    }

    /// Reads and forgets the rest, so that the client sees why it was refused.
    pub(crate) async fn drain(&mut self) {
        drain(&mut self.incoming, DRAIN_BYTES_MAX).await;
    }

    /// Unpacks what came, or as much of it as makes a piece.
    fn inflate(&mut self) -> Result<Bytes, WireError> {
        let Some(gzip) = &mut self.gzip else {
            return Ok(std::mem::take(&mut self.packed));
        };
        while !self.packed.is_empty() && gzip.get_ref().len() < PIECE_BYTES {
            let data = self.packed.split_to(self.packed.len().min(PACKED_BYTES));
            gzip.write_all(&data).map_err(|error| damaged(&error))?;
        }
        // Without the flush, what a client has sent so far may stay inside the decoder.
        gzip.flush().map_err(|error| damaged(&error))?;
        Ok(Bytes::from(std::mem::take(gzip.get_mut())))
    }

    fn finish(&mut self) -> Result<Option<Bytes>, WireError> {
        let Some(gzip) = self.gzip.take() else {
            return Ok(None);
        };
        let rest = gzip.finish().map_err(|error| damaged(&error))?;
        let rest = self.counted(Bytes::from(rest))?;
        Ok((!rest.is_empty()).then_some(rest))
    }

    fn counted(&mut self, plain: Bytes) -> Result<Bytes, WireError> {
        let left = self.left.checked_sub(plain.len() as u64);
        self.left = left.ok_or_else(|| too_large(self.bytes_max))?;
        Ok(plain)
    }
}

fn not_any_more() -> WireError {
    let message = "Who sends this may not go on: the certificate or token counts no more.";
    WireError::new(kind::AUTHORIZATION, message).with_status(StatusCode::FORBIDDEN)
}

fn too_large(bytes_max: u64) -> WireError {
    WireError::body_too_large(usize::try_from(bytes_max).unwrap_or(usize::MAX))
}

fn damaged(error: &std::io::Error) -> WireError {
    WireError::new(
        kind::INVALID_DATA,
        format!("The gzip body is damaged: {error}"),
    )
}

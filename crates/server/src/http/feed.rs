//! A request body read piece by piece, for requests of any length.
//!
//! Used by handlers of kind `Feeding` (bulk insert), which work on what has arrived while the
//! client is still sending. The row of the route says how long the whole body may be; the handler
//! limits what it keeps.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::HeaderMap;
use tokio::sync::watch;

use super::body::{DRAIN_BYTES_MAX, broken, drain, stalled};
use super::dispatch::Ended;
use super::encoding::{Encoding, Growth, Unpacker};
use crate::wire::{WireError, kind};

/// The pieces of a body, decompressed.
pub(crate) struct Feed {
    incoming: Incoming,
    unpacker: Option<Unpacker>,
    /// What came and was not unpacked yet.
    packed: Bytes,
    /// What came packed, and what that stood for.
    growth: Growth,
    stall: Duration,
    /// Bytes that may still come, before and after decompression.
    left: u64,
    bytes_max: u64,
    /// Resolves when the sender may not go on.
    ended: Option<Ended>,
    /// Resolves when the server stops.
    stopped: Ended,
}

impl Feed {
    pub(super) fn new(
        incoming: Incoming,
        headers: &HeaderMap,
        stall: Duration,
        bytes_max: u64,
    ) -> Result<Feed, WireError> {
        let unpacker = match Encoding::of_body(headers)? {
            Some(encoding) => {
                Some(Unpacker::new(encoding).map_err(|error| encoding.damaged(&error))?)
            }
            None => None,
        };
        Ok(Feed {
            incoming,
            unpacker,
            packed: Bytes::new(),
            growth: Growth::default(),
            stall,
            left: bytes_max,
            bytes_max,
            ended: None,
            stopped: Box::pin(std::future::pending()),
        })
    }

    /// Takes nothing more `grace` after the server began to stop: what has no end would be cut
    /// without a word.
    pub(super) fn until_stop(self, mut stop: watch::Receiver<bool>, grace: Duration) -> Feed {
        let stopped = Box::pin(async move {
            drop(stop.wait_for(|stop| *stop).await);
            tokio::time::sleep(grace).await;
        });
        Feed { stopped, ..self }
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
            if let (false, Some(unpacker)) = (self.packed.is_empty(), &mut self.unpacker) {
                let plain = unpacker.unpack(&mut self.packed)?;
                return self.counted(plain).map(Some);
            }
            let frame = tokio::time::timeout(self.stall, self.incoming.frame());
            let not_any_more = async {
                match &mut self.ended {
                    Some(ended) => ended.await,
                    None => std::future::pending().await,
                }
            };
            let frame = tokio::select! {
                frame = frame => frame,
                () = not_any_more => return Err(not_allowed()),
                () = &mut self.stopped => return Err(stopping()),
            };
            let Some(frame) = frame.map_err(|_| stalled())? else {
                return self.finish();
            };
            if let Ok(data) = frame.map_err(|error| broken(&error))?.into_data() {
                match self.unpacker {
                    Some(_) => {
                        self.growth.packed_bytes += data.len() as u64;
                        self.packed = data;
                    }
                    None => return self.counted(data).map(Some),
                }
            }
        }
    }

    /// Reads and forgets the rest, so that the client sees why it was refused.
    pub(crate) async fn drain(&mut self) {
        drain(&mut self.incoming, DRAIN_BYTES_MAX).await;
    }

    fn finish(&mut self) -> Result<Option<Bytes>, WireError> {
        let Some(unpacker) = &mut self.unpacker else {
            return Ok(None);
        };
        let rest = unpacker.finish()?;
        let rest = self.counted(rest)?;
        Ok((!rest.is_empty()).then_some(rest))
    }

    fn counted(&mut self, plain: Bytes) -> Result<Bytes, WireError> {
        let left = self.left.checked_sub(plain.len() as u64);
        self.left = left.ok_or_else(|| too_large(self.bytes_max))?;
        if self.unpacker.is_some() {
            self.growth.plain_bytes += plain.len() as u64;
            self.growth.check()?;
        }
        Ok(plain)
    }
}

fn stopping() -> WireError {
    let message = "The server stops: send the rest to it when it runs again.";
    WireError::new(kind::TIMEOUT, message)
}

fn not_allowed() -> WireError {
    let message = "Who sends this may not go on: the certificate or token counts no more.";
    WireError::new(kind::AUTHORIZATION, message)
}

fn too_large(bytes_max: u64) -> WireError {
    WireError::body_too_large(usize::try_from(bytes_max).unwrap_or(usize::MAX))
}

//! Reading request bodies: whole, bounded before and after decompression.
//!
//! Called by `dispatch` before a handler runs, so that handlers see finished bytes and slow senders
//! hold no thread and no transaction.

use std::io::Read;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::HeaderMap;
use tokio::runtime::Handle;

use super::body_memory::{BodyMemory, BodyPlace};
use super::dispatch::panicked;
use super::encoding::{Encoding, Growth};
use crate::wire::{WireError, kind};

/// Bytes of a refused body that are read all the same, so that the client sees the refusal: a
/// connection closed while the client still sends would lose it.
pub(super) const DRAIN_BYTES_MAX: usize = 64 << 20;
/// A client that pauses for so long while its refused body is read waits for the answer.
const DRAIN_PAUSE: Duration = Duration::from_millis(100);

/// Least bytes a second, after the time that a sender may pause: a slow telephone line.
const RATE_BYTES_MIN: usize = 4 << 10;

/// Bytes that are unpacked before the memory for them is asked for.
const UNPACKED_BYTES: u64 = 64 << 10;

/// Bounds of one body.
#[derive(Clone, Copy)]
pub(super) struct BodyLimits<'m> {
    pub(super) bytes_max: usize,
    pub(super) memory: &'m BodyMemory,
    pub(super) stall: Duration,
    /// Bytes of the request that are in memory while its body comes, and that no connection has
    /// room for.
    pub(super) head_bytes: usize,
}

/// How fast bytes have to come: a pause is borne, a body that hardly moves is not, because others
/// may wait for its memory.
pub(crate) struct Pace {
    started: Instant,
    stall: Duration,
}

impl Pace {
    /// Begins now; `stall` is how long a sender may pause.
    pub(crate) fn new(stall: Duration) -> Pace {
        let started = Instant::now();
        Pace { started, stall }
    }

    /// How long a sender may take for more than `came_bytes`.
    pub(crate) fn allowed(stall: Duration, came_bytes: usize) -> Duration {
        stall + Duration::from_secs((came_bytes / RATE_BYTES_MIN) as u64)
    }

    /// How long the next bytes may take after `came_bytes`.
    fn left(&self, came_bytes: usize) -> Duration {
        let allowed = Pace::allowed(self.stall, came_bytes);
        allowed.saturating_sub(self.started.elapsed())
    }

    /// Fails with 408 when `came_bytes` took too long.
    pub(crate) fn check(&self, came_bytes: usize) -> Result<(), WireError> {
        match self.left(came_bytes).is_zero() {
            true => Err(stalled()),
            false => Ok(()),
        }
    }
}

/// Reads the whole body, decompressed when it came as gzip or zstd.
///
/// Fails with 413 beyond the limit, 408 when the sender stalls, 415 for an unknown encoding, 503
/// when bodies take all the memory they may. The place is to be kept as long as the body.
pub(super) async fn read(
    mut incoming: Incoming,
    headers: &HeaderMap,
    limits: BodyLimits<'_>,
) -> Result<(Bytes, BodyPlace), WireError> {
    match collect(&mut incoming, limits).await {
        Ok((body, place)) => decompress(body, place, headers, limits.bytes_max).await,
        Err(error) => {
            drain(&mut incoming, DRAIN_BYTES_MAX).await;
            Err(error)
        }
    }
}

/// Reads and forgets what a client still sends, up to `bytes_max`.
pub(super) async fn drain(incoming: &mut Incoming, bytes_max: usize) {
    let mut left = bytes_max;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(DRAIN_PAUSE, incoming.frame()).await {
        let len = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(len) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

async fn collect(
    incoming: &mut Incoming,
    limits: BodyLimits<'_>,
) -> Result<(Bytes, BodyPlace), WireError> {
    let announced = incoming.size_hint().lower();
    if announced > limits.bytes_max as u64 {
        return Err(WireError::body_too_large(limits.bytes_max));
    }
    let mut place = limits.memory.enter();
    let grown = place.grow(limits.head_bytes as u64).await;
    grown.map_err(|_| crowded())?;
    let pace = Pace::new(limits.stall);
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    loop {
        let left = pace.left(first.len().max(joined.len()));
        let frame = tokio::time::timeout(left.min(limits.stall), incoming.frame());
        let Some(frame) = frame.await.map_err(|_| stalled())? else {
            break;
        };
        let Ok(data) = frame.map_err(|error| broken(&error))?.into_data() else {
            continue;
        };
        if joined.is_empty() && first.is_empty() {
            first = data;
        } else {
            joined.extend_from_slice(&std::mem::take(&mut first));
            joined.extend_from_slice(&data);
        }
        let len = first.len().max(joined.len());
        if len > limits.bytes_max {
            return Err(WireError::body_too_large(limits.bytes_max));
        }
        let grown = place.grow((limits.head_bytes + len) as u64).await;
        grown.map_err(|_| crowded())?;
    }
    let body = match joined.is_empty() {
        true => first,
        false => joined.freeze(),
    };
    Ok((body, place))
}

async fn decompress(
    body: Bytes,
    place: BodyPlace,
    headers: &HeaderMap,
    bytes_max: usize,
) -> Result<(Bytes, BodyPlace), WireError> {
    let Some(encoding) = Encoding::of_body(headers)? else {
        return Ok((body, place));
    };
    let unpacked = tokio::task::spawn_blocking(move || unpack(encoding, &body, place, bytes_max));
    unpacked.await.map_err(|_| panicked())?
}

fn unpack(
    encoding: Encoding,
    body: &[u8],
    mut place: BodyPlace,
    bytes_max: usize,
) -> Result<(Bytes, BodyPlace), WireError> {
    let damaged = |error| encoding.damaged(&error);
    let mut plain = Vec::new();
    let mut reader = encoding.reader(body).map_err(damaged)?;
    loop {
        let mut piece = reader.by_ref().take(UNPACKED_BYTES);
        let read = piece.read_to_end(&mut plain).map_err(damaged)?;
        check_unpacked(body.len(), plain.len(), bytes_max)?;
        // All of it is there at the same time.
        let held = body.len() + plain.len() + encoding.held_bytes(plain.len());
        let grown = Handle::current().block_on(place.grow(held as u64));
        grown.map_err(|_| crowded())?;
        if read == 0 {
            return Ok((Bytes::from(plain), place));
        }
    }
}

/// Refuses what was unpacked so far when it is too long, or grows beyond all measure.
fn check_unpacked(packed: usize, plain: usize, bytes_max: usize) -> Result<(), WireError> {
    if plain > bytes_max {
        return Err(WireError::body_too_large(bytes_max));
    }
    let growth = Growth {
        packed_bytes: packed as u64,
        plain_bytes: plain as u64,
    };
    growth.check()
}

/// Unpacks a part of a body, whose memory is counted as a whole; `encoding` is what its head says.
///
/// Fails with 413 when it unpacks to more than `bytes_max`, and as a whole body does.
pub(crate) fn unpack_part(
    content: &[u8],
    encoding: &[u8],
    bytes_max: usize,
) -> Result<Vec<u8>, WireError> {
    let Some(encoding) = Encoding::named(encoding)? else {
        return Ok(content.to_vec());
    };
    let damaged = |error| encoding.damaged(&error);
    let mut plain = Vec::new();
    let mut reader = encoding.reader(content).map_err(damaged)?;
    loop {
        let mut piece = reader.by_ref().take(UNPACKED_BYTES);
        let read = piece.read_to_end(&mut plain).map_err(damaged)?;
        check_unpacked(content.len(), plain.len(), bytes_max)?;
        if read == 0 {
            return Ok(plain);
        }
    }
}

/// Other bodies take what memory there is for them.
pub(crate) fn crowded() -> WireError {
    let message = "The server has no memory for this body beside the others: try again later.";
    WireError::new(kind::TIMEOUT, message)
}

/// The sender took too long.
pub(crate) fn stalled() -> WireError {
    WireError::new(
        kind::TIMEOUT,
        "The client stopped sending the request body.",
    )
    .with_status(StatusCode::REQUEST_TIMEOUT)
}

pub(super) fn broken(error: &hyper::Error) -> WireError {
    WireError::new(
        kind::END_OF_STREAM,
        format!("The request body was cut short: {error}"),
    )
}

//! Reading request bodies: whole, bounded before and after decompression.
//!
//! Called by `dispatch` before a handler runs, so that handlers see finished bytes and slow senders
//! hold no thread and no transaction.

use std::io::Read;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use hyper::{StatusCode, header};

use crate::wire::{WireError, kind};

/// Bytes of a refused body that are read all the same, so that the client sees the refusal: a
/// connection closed while the client still sends would lose it.
pub(super) const DRAIN_BYTES_MAX: usize = 64 << 20;
/// A client that pauses for so long while its refused body is read waits for the answer.
const DRAIN_PAUSE: Duration = Duration::from_millis(100);

/// Bounds of one body.
#[derive(Clone, Copy)]
pub(super) struct BodyLimits {
    pub(super) bytes_max: usize,
    pub(super) stall: Duration,
}

/// Reads the whole body, decompressed when it came as gzip.
///
/// Fails with 413 beyond the limit, 408 when the sender stalls, 415 for an unknown encoding.
pub(super) async fn read(
    mut incoming: Incoming,
    headers: &HeaderMap,
    limits: BodyLimits,
) -> Result<Bytes, WireError> {
    match collect(&mut incoming, limits).await {
        Ok(body) => decompress(body, headers, limits).await,
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

async fn collect(incoming: &mut Incoming, limits: BodyLimits) -> Result<Bytes, WireError> {
    let announced = incoming.size_hint().lower();
    if announced > limits.bytes_max as u64 {
        return Err(WireError::body_too_large(limits.bytes_max));
    }
    let mut first = Bytes::new();
    let mut joined = BytesMut::new();
    loop {
        let frame = tokio::time::timeout(limits.stall, incoming.frame());
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
        if first.len().max(joined.len()) > limits.bytes_max {
            return Err(WireError::body_too_large(limits.bytes_max));
        }
    }
    Ok(if joined.is_empty() {
        first
    } else {
        joined.freeze()
    })
}

async fn decompress(
    body: Bytes,
    headers: &HeaderMap,
    limits: BodyLimits,
) -> Result<Bytes, WireError> {
    let encoding = headers.get(CONTENT_ENCODING).map(|value| value.as_bytes());
    match encoding {
        None | Some(b"identity" | b"") => Ok(body),
        Some(b"gzip" | b"x-gzip") => {
            let inflate = tokio::task::spawn_blocking(move || gunzip(&body, limits.bytes_max));
            inflate.await.map_err(|_| unreadable("gzip"))?
        }
        Some(other) => Err(unreadable(&String::from_utf8_lossy(other))),
    }
}

fn gunzip(body: &[u8], bytes_max: usize) -> Result<Bytes, WireError> {
    let mut plain = Vec::new();
    let mut decoder = MultiGzDecoder::new(body).take(bytes_max as u64 + 1);
    decoder.read_to_end(&mut plain).map_err(|error| {
        WireError::new(
            kind::INVALID_DATA,
            format!("The gzip body is damaged: {error}"),
        )
    })?;
    if plain.len() > bytes_max {
        return Err(WireError::body_too_large(bytes_max));
    }
    Ok(Bytes::from(plain))
}

pub(super) fn stalled() -> WireError {
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
    .with_status(StatusCode::BAD_REQUEST)
}

pub(super) fn unreadable(encoding: &str) -> WireError {
    let message = format!(
        "{} '{encoding}' is not supported; send gzip or no encoding.",
        header::CONTENT_ENCODING
    );
    WireError::new(kind::NOT_SUPPORTED, message).with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

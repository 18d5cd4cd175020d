//! Compressed bodies: which encodings there are, unpacking within bounds, packing of answers.
//!
//! Called by `body` (whole bodies and parts of them), `feed` (pieces of endless ones), `dispatch`
//! and `reply` (answers). [`Growth`] bounds all that is unpacked.
//!
//! Invariants:
//! - Whoever unpacks takes a bounded piece at a time, however far the packed bytes would expand.
//! - A body that ends in the middle of its encoding is refused as damaged, never taken as whole.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Buf, Bytes};
use flate2::read::MultiGzDecoder;
use flate2::write::GzDecoder;
use hyper::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
use zstd::stream::raw::{self, DParameter, Operation};

use crate::wire::{WireError, kind};

/// Largest window of zstd that is accepted, as a power of two: the 8 MiB that RFC 9659 has every
/// receiver take and no sender exceed.
const WINDOW_LOG_MAX: u32 = 23;
/// Window of zstd for answers that come in pieces, as a power of two.
const PACKED_WINDOW_LOG: u32 = 17;
/// Level for answers: the fastest is still smaller than gzip makes them.
const ZSTD_LEVEL: i32 = 1;

/// Bytes of gzip that are unpacked at a time: they grow to a thousand times as many at most.
const PACKED_BYTES: usize = 256;
/// Unpacked bytes that make a piece of an endless body.
const PIECE_BYTES: usize = 32 << 10;

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Zstd,
}

impl Encoding {
    /// What a request says of its body: `None` when it is not packed, an error with 415 for what is
    /// not known.
    pub(super) fn of_body(headers: &HeaderMap) -> Result<Option<Encoding>, WireError> {
        let named = headers.get(CONTENT_ENCODING);
        Encoding::named(named.map_or(b"", HeaderValue::as_bytes))
    }

    /// The encoding of a name in any letter case, as [`Encoding::of_body`].
    pub(super) fn named(name: &[u8]) -> Result<Option<Encoding>, WireError> {
        match &name.trim_ascii().to_ascii_lowercase()[..] {
            b"identity" | b"" => Ok(None),
            b"gzip" | b"x-gzip" => Ok(Some(Encoding::Gzip)),
            b"zstd" => Ok(Some(Encoding::Zstd)),
            _ => Err(unknown(&String::from_utf8_lossy(name))),
        }
    }

    /// The encoding that an answer may have, by the value of Accept-Encoding: the one with the
    /// higher weight, zstd among equals.
    pub(super) fn preferred(accepted: &str) -> Option<Encoding> {
        let mut best = None;
        for part in accepted.split(',') {
            let (name, parameters) = part.split_once(';').unwrap_or((part, ""));
            let encoding = match name.trim() {
                name if name.eq_ignore_ascii_case("zstd") => Encoding::Zstd,
                name if name.eq_ignore_ascii_case("gzip") => Encoding::Gzip,
                _ => continue,
            };
            let weight = weight(parameters);
            let is_better = best
                .is_none_or(|(had, kept)| weight > had || weight == had && kept == Encoding::Gzip);
            if weight > 0.0 && is_better {
                best = Some((weight, encoding));
            }
        }
        best.map(|(_, encoding)| encoding)
    }

    /// The name that stands in headers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Zstd => "zstd",
        }
    }

    /// A reader of what `packed` unpacks to. It holds no more than its window beside it.
    pub(super) fn reader<'p>(self, packed: &'p [u8]) -> io::Result<Box<dyn Read + 'p>> {
        Ok(match self {
            Encoding::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Encoding::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(packed)?;
                decoder.window_log_max(WINDOW_LOG_MAX)?;
                Box::new(decoder)
            }
        })
    }

    /// Bytes that a reader holds at most after it has unpacked `plain_bytes`. The window of zstd is
    /// filled as it goes; what of it was not used is no memory yet.
    pub(super) fn held_bytes(self, plain_bytes: usize) -> usize {
        match self {
            Encoding::Gzip => 0,
            Encoding::Zstd => plain_bytes.min(1 << WINDOW_LOG_MAX),
        }
    }

    /// Packs an answer; `None` when that fails.
    pub(super) fn pack(self, body: &[u8]) -> Option<Bytes> {
        let packed = match self {
            Encoding::Gzip => {
                let level = flate2::Compression::fast();
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(body).ok()?;
                encoder.finish()
            }
            Encoding::Zstd => zstd::encode_all(body, ZSTD_LEVEL),
        };
        packed.ok().map(Bytes::from)
    }

    /// The refusal of a body that does not unpack.
    pub(super) fn damaged(self, error: &io::Error) -> WireError {
        let message = format!("The {} body is damaged: {error}", self.name());
        WireError::new(kind::INVALID_DATA, message)
    }
}

/// Unpacked bytes that no ratio is asked of.
const GROWTH_FREE_BYTES: u64 = 64 << 20;
/// Unpacked bytes for each packed one, beyond those; a body that grows further is refused.
/// Documents and what programs write about themselves stay below a tenth of it.
const GROWTH_MAX: u64 = 100;

/// How much a body has grown while it was unpacked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    pub(super) packed_bytes: u64,
    pub(super) plain_bytes: u64,
}

impl Growth {
    /// Fails with 413 when little was sent that stands for very much.
    pub(super) fn check(self) -> Result<(), WireError> {
        let allowed = GROWTH_FREE_BYTES.max(self.packed_bytes.saturating_mul(GROWTH_MAX));
        if self.plain_bytes <= allowed {
            return Ok(());
        }
        let message = format!(
            "The request body unpacks to more than {GROWTH_MAX} times its size, beyond the \
             {GROWTH_FREE_BYTES} bytes that are accepted at any ratio: send it without \
             {CONTENT_ENCODING}."
        );
        let error = WireError::new(kind::INVALID_DATA, message);
        Err(error.with_status(hyper::StatusCode::PAYLOAD_TOO_LARGE))
    }
}

/// Packs an answer that comes in pieces.
pub(super) enum Packer {
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    Zstd(zstd::Encoder<'static, Vec<u8>>),
}

/// Long answers that are packed at a time; a packer takes about half a MiB. Further ones leave as
/// they are.
const PACKERS_MAX: usize = 64;
static PACKERS: AtomicUsize = AtomicUsize::new(0);

/// A [`Packer`], counted.
pub(super) struct CountedPacker {
    packer: Option<Packer>,
    /// Bytes are inside that the client does not have.
    is_behind: bool,
}

impl CountedPacker {
    /// `None` when there are too many.
    pub(super) fn new(encoding: Encoding) -> Option<CountedPacker> {
        let counted = PACKERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            (count < PACKERS_MAX).then_some(count + 1)
        });
        counted.ok()?;
        let mut made = CountedPacker {
            packer: None,
            is_behind: false,
        };
        made.packer = Some(match encoding {
            Encoding::Gzip => {
                let level = flate2::Compression::fast();
                Packer::Gzip(flate2::write::GzEncoder::new(Vec::new(), level))
            }
            Encoding::Zstd => {
                let mut encoder = zstd::Encoder::new(Vec::new(), ZSTD_LEVEL).ok()?;
                encoder.window_log(PACKED_WINDOW_LOG).ok()?;
                Packer::Zstd(encoder)
            }
        });
        Some(made)
    }

    /// Takes a piece; gives what is ready to be sent, which may be nothing.
    pub(super) fn push(&mut self, piece: &[u8]) -> io::Result<Bytes> {
        self.is_behind = true;
        match &mut self.packer {
            Some(Packer::Gzip(encoder)) => {
                encoder.write_all(piece)?;
                Ok(std::mem::take(encoder.get_mut()).into())
            }
            Some(Packer::Zstd(encoder)) => {
                encoder.write_all(piece)?;
                Ok(std::mem::take(encoder.get_mut()).into())
            }
            None => Ok(Bytes::new()),
        }
    }

    /// All that was pushed so far, for a client that would wait for the next piece.
    pub(super) fn flush(&mut self) -> io::Result<Bytes> {
        if !std::mem::take(&mut self.is_behind) {
            return Ok(Bytes::new());
        }
        match &mut self.packer {
            Some(Packer::Gzip(encoder)) => {
                encoder.flush()?;
                Ok(std::mem::take(encoder.get_mut()).into())
            }
            Some(Packer::Zstd(encoder)) => {
                encoder.flush()?;
                Ok(std::mem::take(encoder.get_mut()).into())
            }
            None => Ok(Bytes::new()),
        }
    }

    /// The end.
    pub(super) fn finish(mut self) -> io::Result<Bytes> {
        match self.packer.take() {
            Some(Packer::Gzip(encoder)) => Ok(encoder.finish()?.into()),
            Some(Packer::Zstd(encoder)) => Ok(encoder.finish()?.into()),
            None => Ok(Bytes::new()),
        }
    }
}

impl Drop for CountedPacker {
    fn drop(&mut self) {
        PACKERS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for CountedPacker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CountedPacker")
            .finish_non_exhaustive()
    }
}

/// The weight among the parameters of an encoding, such as `q=0.5`.
fn weight(parameters: &str) -> f32 {
    let mut parts = parameters
        .split(';')
        .filter_map(|part| part.split_once('='));
    let found = parts.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    found.map_or(1.0, |(_, value)| value.trim().parse().unwrap_or(0.0))
}

fn unknown(encoding: &str) -> WireError {
    let message = format!(
        "{CONTENT_ENCODING} '{encoding}' is not supported; send gzip, zstd or no encoding."
    );
    WireError::new(kind::NOT_SUPPORTED, message)
        .with_status(hyper::StatusCode::UNSUPPORTED_MEDIA_TYPE)
}

/// Unpacks a body of any length while it arrives.
pub(super) struct Unpacker {
    encoding: Encoding,
    decoder: Decoder,
}

enum Decoder {
    Gzip(GzDecoder<Vec<u8>>),
    Zstd {
        decoder: raw::Decoder<'static>,
        /// Nothing is missing after what came.
        is_whole: bool,
    },
}

impl Unpacker {
    pub(super) fn new(encoding: Encoding) -> io::Result<Unpacker> {
        let decoder = match encoding {
            Encoding::Gzip => Decoder::Gzip(GzDecoder::new(Vec::new())),
            Encoding::Zstd => {
                let mut decoder = raw::Decoder::new()?;
                decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
                let is_whole = true;
                Decoder::Zstd { decoder, is_whole }
            }
        };
        Ok(Unpacker { encoding, decoder })
    }

    /// Unpacks what came, or as much of it as makes a piece; `packed` keeps the rest. All that the
    /// bytes taken stand for is in the pieces so far once `packed` is empty and a piece is short.
    pub(super) fn unpack(&mut self, packed: &mut Bytes) -> Result<Bytes, WireError> {
        let plain = match &mut self.decoder {
            Decoder::Gzip(decoder) => unpack_gzip(decoder, packed),
            Decoder::Zstd { decoder, is_whole } => unpack_zstd(decoder, is_whole, packed),
        };
        plain.map_err(|error| self.encoding.damaged(&error))
    }

    /// The next piece of what is left once no more comes; an empty one is the last.
    pub(super) fn finish(&mut self) -> Result<Bytes, WireError> {
        let rest = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder
                .try_finish()
                .map(|()| Bytes::from(std::mem::take(decoder.get_mut()))),
            Decoder::Zstd { decoder, is_whole } => {
                let rest = unpack_zstd(decoder, is_whole, &mut Bytes::new());
                rest.and_then(|rest| match rest.is_empty() && !*is_whole {
                    true => Err(io::ErrorKind::UnexpectedEof.into()),
                    false => Ok(rest),
                })
            }
        };
        rest.map_err(|error| self.encoding.damaged(&error))
    }
}

fn unpack_gzip(decoder: &mut GzDecoder<Vec<u8>>, packed: &mut Bytes) -> io::Result<Bytes> {
    while !packed.is_empty() && decoder.get_ref().len() < PIECE_BYTES {
        let data = packed.split_to(packed.len().min(PACKED_BYTES));
        decoder.write_all(&data)?;
    }
    // Without the flush, what a client has sent so far may stay inside the decoder.
    decoder.flush()?;
    Ok(Bytes::from(std::mem::take(decoder.get_mut())))
}

fn unpack_zstd(
    decoder: &mut raw::Decoder<'static>,
    is_whole: &mut bool,
    packed: &mut Bytes,
) -> io::Result<Bytes> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut filled = 0;
    loop {
        let status = decoder.run_on_buffers(packed, &mut piece[filled..])?;
        packed.advance(status.bytes_read);
        filled += status.bytes_written;
        if status.bytes_read > 0 || status.bytes_written > 0 {
            *is_whole = status.remaining == 0;
        }
        let is_stuck = status.bytes_read == 0 && status.bytes_written == 0;
        if filled == PIECE_BYTES || is_stuck {
            piece.truncate(filled);
            return Ok(Bytes::from(piece));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(encoding: Encoding, packed: &[u8], step_bytes: usize) -> Result<Vec<u8>, String> {
        let mut unpacker = Unpacker::new(encoding).unwrap();
        let mut plain = Vec::new();
        for part in packed.chunks(step_bytes) {
            let mut part = Bytes::copy_from_slice(part);
            while !part.is_empty() {
                let piece = unpacker.unpack(&mut part).map_err(|error| error.message)?;
                assert!(piece.len() <= PIECE_BYTES + PACKED_BYTES * 1_100);
                plain.extend_from_slice(&piece);
            }
        }
        loop {
            let piece = unpacker.finish().map_err(|error| error.message)?;
            if piece.is_empty() {
                return Ok(plain);
            }
            plain.extend_from_slice(&piece);
        }
    }

    #[test]
    fn bodies_are_unpacked_in_bounded_pieces_however_they_arrive() {
        let words: Vec<u8> = (0..20_000u32).flat_map(|n| (n * n).to_le_bytes()).collect();
        for plain in [vec![b' '; 5 << 20], words, vec![7], Vec::new()] {
            for encoding in [Encoding::Gzip, Encoding::Zstd] {
                let packed = encoding.pack(&plain).unwrap();
                for step_bytes in [1, 100, 1 << 20] {
                    let got = unpacked(encoding, &packed, step_bytes);
                    assert_eq!(got.as_deref(), Ok(&plain[..]), "{encoding:?} {step_bytes}");
                }
                let mut whole = Vec::new();
                let mut reader = encoding.reader(&packed).unwrap();
                reader.read_to_end(&mut whole).unwrap();
                assert_eq!(whole, plain);
            }
        }
    }

    #[test]
    fn answers_in_pieces_are_packed_and_never_left_behind() {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            let mut packer = CountedPacker::new(encoding).unwrap();
            let mut packed = Vec::new();
            let mut plain = Vec::new();
            let mut unpacker = Unpacker::new(encoding).unwrap();
            for number in 0..50_u32 {
                let piece = format!("{{\"number\":{number}}},").repeat(40);
                plain.extend_from_slice(piece.as_bytes());
                packed.extend_from_slice(&packer.push(piece.as_bytes()).unwrap());
                if number % 7 == 0 {
                    packed.extend_from_slice(&packer.flush().unwrap());
                    assert!(packer.flush().unwrap().is_empty(), "nothing new to flush");
                    let mut sent = Bytes::from(std::mem::take(&mut packed));
                    let mut got = Vec::new();
                    while !sent.is_empty() {
                        got.extend_from_slice(&unpacker.unpack(&mut sent).unwrap());
                    }
                    assert_eq!(got, plain, "{encoding:?} {number}");
                    plain.clear();
                }
            }
            packed.extend_from_slice(&packer.finish().unwrap());
            let mut sent = Bytes::from(packed);
            let mut got = Vec::new();
            while !sent.is_empty() {
                got.extend_from_slice(&unpacker.unpack(&mut sent).unwrap());
            }
            assert_eq!(got, plain);
        }
    }

    #[test]
    fn only_bodies_that_grow_beyond_all_measure_are_refused() {
        let check = |packed_bytes, plain_bytes| {
            let growth = Growth {
                packed_bytes,
                plain_bytes,
            };
            growth.check().is_ok()
        };
        assert!(check(1, GROWTH_FREE_BYTES));
        assert!(!check(1, GROWTH_FREE_BYTES + 1));
        assert!(check(GROWTH_FREE_BYTES, GROWTH_FREE_BYTES * GROWTH_MAX));
        assert!(!check(
            GROWTH_FREE_BYTES,
            GROWTH_FREE_BYTES * GROWTH_MAX + 1
        ));
        assert!(check(u64::MAX, u64::MAX));
    }

    #[test]
    fn encodings_are_named_in_any_letter_case() {
        for (name, encoding) in [
            (&b"GZip"[..], Some(Encoding::Gzip)),
            (b" zstd ", Some(Encoding::Zstd)),
            (b"Identity", None),
        ] {
            assert_eq!(Encoding::named(name).ok(), Some(encoding));
        }
        assert!(Encoding::named(b"br").is_err() && Encoding::named(b"gzip, gzip").is_err());
    }

    #[test]
    fn frames_may_follow_each_other() {
        let mut packed = Encoding::Zstd.pack(b"one, ").unwrap().to_vec();
        packed.extend_from_slice(&Encoding::Zstd.pack(b"two").unwrap());
        assert_eq!(unpacked(Encoding::Zstd, &packed, 3).unwrap(), b"one, two");
    }

    #[test]
    fn cut_and_damaged_bodies_are_refused() {
        for encoding in [Encoding::Gzip, Encoding::Zstd] {
            let packed = encoding.pack(&[b'a'; 1_000]).unwrap();
            for cut in 1..packed.len() {
                let got = unpacked(encoding, &packed[..cut], cut);
                assert!(got.is_err(), "{encoding:?} cut at {cut} was taken as whole");
                let reader = encoding.reader(&packed[..cut]);
                assert!(reader.unwrap().read_to_end(&mut Vec::new()).is_err());
            }
            assert!(unpacked(encoding, b"not packed at all", 5).is_err());
        }
    }

    #[test]
    fn windows_beyond_the_limit_are_refused() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(WINDOW_LOG_MAX + 1).unwrap();
        encoder.write_all(&[b' '; 1_000]).unwrap();
        let packed = encoder.finish().unwrap();
        assert!(unpacked(Encoding::Zstd, &packed, 100).is_err());
        let mut reader = Encoding::Zstd.reader(&packed).unwrap();
        assert!(reader.read_to_end(&mut Vec::new()).is_err());
    }

    #[test]
    fn the_client_says_which_encoding_it_wants() {
        let cases = [
            ("", None),
            ("identity, br", None),
            ("gzip", Some(Encoding::Gzip)),
            ("gzip, deflate, br, zstd", Some(Encoding::Zstd)),
            ("zstd;q=0.5, GZIP;q=0.8", Some(Encoding::Gzip)),
            ("zstd;q=0, gzip", Some(Encoding::Gzip)),
            ("zstd;q=0;gzip;q=nothing", None),
        ];
        for (accepted, encoding) in cases {
            assert_eq!(Encoding::preferred(accepted), encoding, "{accepted}");
        }
    }
}

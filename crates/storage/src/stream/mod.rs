//! Streams: values of any length, written and read piece by piece.
//!
//! A tree of streams is an ordinary tree: a head for each name, and chunks of 262,112 bytes by the
//! number of their stream. `read` looks up and walks, `write` appends, renames and deletes.
//! Bytes: docs/format.md, "Tree of streams".
//!
//! A stream may be written over several transactions: append under a name of your own, then give
//! it its final name with [`StreamsMut::rename`] in the last one. Chunks do not move for that.
//!
//! Invariants:
//! - A stream of `n` bytes has `ceil(n / chunk length)` chunks; all but the last one are full.
//! - Numbers of streams are given out once in the life of their tree.

mod read;
#[cfg(test)]
mod tests;
mod write;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::page::{KEY_BYTES_MAX, PAGE_BYTES, PAGE_HEADER_BYTES};
use crate::tree::VALUE_BYTES_MAX;

pub use read::{Stream, StreamChunks, StreamRange, StreamReader, Streams, StreamsReport};
pub use write::{StreamMut, StreamsMut};

/// Bytes of a full chunk: 32 pages less the header of their run, so that no page is left half
/// empty. Long enough that a chunk is one large read, short enough to be rewritten when it grows.
pub const STREAM_CHUNK_BYTES: usize = 32 * PAGE_BYTES - PAGE_HEADER_BYTES;

/// Longest name of a stream; the key has one byte more.
pub const STREAM_NAME_BYTES_MAX: usize = KEY_BYTES_MAX - 1;

/// Key of the last number given out, a u64.
const COUNTER_KEY: &[u8] = &[0];
/// First byte of the keys of heads; the name follows.
const HEAD_TAG: u8 = 1;
/// First byte of the keys of chunks; number of the stream and of the chunk follow, big-endian.
const CHUNK_TAG: u8 = 2;

const HEAD_VERSION: u8 = 1;

/// What is known of a stream outside its chunks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(crate) struct StreamHead {
    version: u8,
    reserved: [u8; 3],
    /// Bytes of a full chunk.
    chunk_bytes: U32,
    number: U64,
    len_bytes: U64,
    reserved_word: U64,
}

impl StreamHead {
    fn new(number: u64) -> StreamHead {
        StreamHead {
            version: HEAD_VERSION,
            reserved: [0; 3],
            chunk_bytes: U32::new(u32::try_from(STREAM_CHUNK_BYTES).expect("a constant")),
            number: number.into(),
            len_bytes: U64::ZERO,
            reserved_word: U64::ZERO,
        }
    }

    /// The head stored as `bytes`, if they can be one.
    fn decode(bytes: &[u8]) -> Option<StreamHead> {
        let head = StreamHead::read_from_bytes(bytes).ok()?;
        let is_sound = head.version == HEAD_VERSION
            && (1..=VALUE_BYTES_MAX).contains(&head.chunk_len())
            && head.number.get() != 0;
        is_sound.then_some(head)
    }

    fn chunk_len(&self) -> usize {
        self.chunk_bytes.get() as usize
    }

    fn chunk_count(&self) -> u64 {
        self.len_bytes.get().div_ceil(self.chunk_len() as u64)
    }

    /// Bytes that chunk `chunk` has.
    fn len_of_chunk(&self, chunk: u64) -> usize {
        let rest = self
            .len_bytes
            .get()
            .saturating_sub(chunk.saturating_mul(self.chunk_len() as u64));
        usize::try_from(rest).map_or(self.chunk_len(), |rest| rest.min(self.chunk_len()))
    }
}

fn head_key(name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + name.len());
    key.push(HEAD_TAG);
    key.extend_from_slice(name);
    key
}

fn chunk_key(number: u64, chunk: u64) -> [u8; 17] {
    let mut key = [CHUNK_TAG; 17];
    key[1..9].copy_from_slice(&number.to_be_bytes());
    key[9..].copy_from_slice(&chunk.to_be_bytes());
    key
}

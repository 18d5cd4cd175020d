//! One journal record: the page operations of one transaction behind a checksummed header.
//!
//! A record starts and ends at a multiple of 4,096 bytes. Its header hash chains to the record
//! before it, and the salt of the file is mixed into magic and payload hash, so that what a
//! recycled file held before is never taken for a record.
//! Bytes: docs/format.md, "Journal record".

use std::borrow::Cow;

use jackdaw_base::hash::{Xxh3, xxh3_64, xxh3_64_without_checksum};
use jackdaw_io::AlignedBuffer;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::tree::TreeRoot;

/// Unit of journal offsets and lengths: the largest common sector.
pub(crate) const JOURNAL_UNIT_BYTES: usize = 4096;

/// "JKDWREC1" as a little-endian number.
const MAGIC: u64 = u64::from_le_bytes(*b"JKDWREC1");

/// Payloads below this are stored as they are: up to here a device write costs the same whatever
/// its size, and compressing would only add its own time.
const COMPRESS_FROM_BYTES: usize = 32 * 1024;

/// Payloads are compressed only if samples of them shrink: the attempt costs as much as the write,
/// and values are often compressed already.
const SAMPLE_BYTES: usize = 4 * 1024;
const SAMPLES: usize = 4;

/// Largest payload before compression that a record may declare; bounds what recovery allocates.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 1 << 30;

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Codec {
    /// As it is.
    None = 0,
    /// One LZ4 block.
    Lz4 = 1,
    /// Pieces, each behind its [`PieceHead`], most of them LZ4 blocks.
    Lz4Pieces = 2,
}

/// In front of each piece of [`Codec::Lz4Pieces`].
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct PieceHead {
    raw_len: U32,
    /// As `raw_len` when the piece is stored as it is.
    stored_len: U32,
}

/// The only kind of record in format 1.
const KIND_TRANSACTION: u8 = 1;

/// Flag: every record before this one was durable when this one was written. Set on the first
/// record of each write, unless writes are not durable. Whatever such a record follows cannot have
/// been torn by power loss: if it is not there, it was damaged later.
const FLAG_FOLLOWS_DURABLE: u16 = 1;

/// Flag: operations name values that were durable in the data file before the record was written.
/// Without that file the record is of no use.
const FLAG_VALUES_IN_PLACE: u16 = 2;

/// First bytes of a record.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct RecordHeader {
    magic: U64,
    pub(crate) transaction: U64,
    previous_chain: U64,
    payload_hash: U64,
    stored_len: U32,
    raw_len: U32,
    codec: u8,
    kind: u8,
    flags: U16,
    environment: U32,
    pub(crate) page_count: U64,
    pub(crate) catalog_root: [u8; 40],
    pub(crate) unix_nanos: U64,
    pub(crate) operation_count: U32,
    reserved: U32,
    /// Consensus term, 0 outside a cluster.
    raft_term: U64,
    /// Consensus index, 0 outside a cluster.
    raft_index: U64,
    reserved_words: [U64; 3],
    pub(crate) chain: U64,
}

/// Length of [`RecordHeader`].
pub(crate) const RECORD_HEADER_BYTES: usize = size_of::<RecordHeader>();

/// What the header of a record says of its transaction.
#[derive(Clone, Copy)]
pub(crate) struct RecordFields<'a> {
    pub(crate) transaction: u64,
    pub(crate) page_count: u64,
    pub(crate) catalog_root: &'a TreeRoot,
    pub(crate) unix_nanos: u64,
    pub(crate) operation_count: u32,
    /// Whether operations name values that are in the data file only.
    pub(crate) has_values_in_place: bool,
}

/// What the header of a record says of its payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredPayload {
    codec: Codec,
    pub(super) hash: u64,
    stored_len: u32,
    pub(super) raw_len: u32,
}

/// Where a record stands in its journal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordPlace {
    /// Salt of the file.
    pub(crate) salt: u64,
    /// Chain value of the record before.
    pub(crate) previous_chain: u64,
    /// Whether every record before is durable already.
    pub(crate) follows_durable: bool,
}

/// Most bytes that a record with this much payload can take.
pub(crate) fn record_bytes(payload_bytes: usize) -> u64 {
    (RECORD_HEADER_BYTES + payload_bytes).next_multiple_of(JOURNAL_UNIT_BYTES) as u64
}

impl RecordFields<'_> {
    /// The header of the record.
    pub(super) fn header(&self, place: RecordPlace, payload: &StoredPayload) -> RecordHeader {
        let mut flags = 0;
        if place.follows_durable {
            flags |= FLAG_FOLLOWS_DURABLE;
        }
        if self.has_values_in_place {
            flags |= FLAG_VALUES_IN_PLACE;
        }
        let mut header = RecordHeader {
            magic: (MAGIC ^ place.salt).into(),
            transaction: self.transaction.into(),
            previous_chain: place.previous_chain.into(),
            payload_hash: payload.hash.into(),
            stored_len: payload.stored_len.into(),
            raw_len: payload.raw_len.into(),
            codec: payload.codec as u8,
            kind: KIND_TRANSACTION,
            flags: flags.into(),
            environment: 0.into(),
            page_count: self.page_count.into(),
            catalog_root: [0; 40],
            unix_nanos: self.unix_nanos.into(),
            operation_count: self.operation_count.into(),
            reserved: 0.into(),
            raft_term: 0.into(),
            raft_index: 0.into(),
            reserved_words: [0.into(); 3],
            chain: 0.into(),
        };
        header
            .catalog_root
            .copy_from_slice(&self.catalog_root.encode());
        header.chain = header.hash().into();
        header
    }
}

impl StoredPayload {
    pub(super) fn new(codec: Codec) -> StoredPayload {
        StoredPayload {
            codec,
            hash: 0,
            stored_len: 0,
            raw_len: 0,
        }
    }

    fn add(&mut self, raw_bytes: usize, stored_bytes: usize) {
        let sum = |len: u32, more: usize| u32::try_from(len as usize + more);
        self.raw_len = sum(self.raw_len, raw_bytes).expect("a payload is bounded at 1 GiB");
        self.stored_len = sum(self.stored_len, stored_bytes).expect("pieces add a few bytes each");
    }
}

/// Appends a whole payload to `stored`, compressed when that is worth it. `compressed` is scratch.
pub(super) fn store_whole(
    payload: &[u8],
    seed: u64,
    compressed: &mut Vec<u8>,
    stored: &mut AlignedBuffer,
) -> StoredPayload {
    let is_tried = payload.len() >= COMPRESS_FROM_BYTES && looks_compressible(payload);
    let (codec, bytes) = match is_tried.then(|| compress(payload, compressed)).flatten() {
        Some(smaller) => (Codec::Lz4, smaller),
        None => (Codec::None, payload),
    };
    let mut about = StoredPayload::new(codec);
    about.hash = xxh3_64(bytes, seed);
    about.add(payload.len(), bytes.len());
    stored.extend_from_slice(bytes);
    about
}

/// Appends the next piece of a payload to `stored` and to what its header will say.
pub(super) fn store_piece(
    piece: &[u8],
    about: &mut StoredPayload,
    hasher: &mut Xxh3,
    compressed: &mut Vec<u8>,
    stored: &mut AlignedBuffer,
) {
    let start = stored.len();
    if about.codec == Codec::None {
        stored.extend_from_slice(piece);
    } else {
        let bytes = compress(piece, compressed).unwrap_or(piece);
        let head = PieceHead {
            raw_len: length(piece.len()),
            stored_len: length(bytes.len()),
        };
        stored.extend_from_slice(head.as_bytes());
        stored.extend_from_slice(bytes);
    }
    let added = &stored[start..];
    hasher.update(added);
    about.add(piece.len(), added.len());
}

impl Codec {
    /// How to store a payload that begins with this piece.
    pub(super) fn of_pieces(first: &[u8]) -> Codec {
        match first.len() >= COMPRESS_FROM_BYTES && looks_compressible(first) {
            true => Codec::Lz4Pieces,
            false => Codec::None,
        }
    }
}

fn length(len_bytes: usize) -> U32 {
    u32::try_from(len_bytes)
        .expect("a payload is bounded at 1 GiB")
        .into()
}

/// The payload as an LZ4 block; `None` when that is not worth it.
fn compress<'c>(payload: &[u8], compressed: &'c mut Vec<u8>) -> Option<&'c [u8]> {
    let bound = lz4_flex::block::get_maximum_output_size(payload.len());
    if compressed.len() < bound {
        compressed.resize(bound, 0);
    }
    let len_bytes = lz4_flex::block::compress_into(payload, compressed).ok()?;
    is_worth_it(len_bytes, payload.len()).then(|| &compressed[..len_bytes])
}

/// Decompression has to be worth it: an eighth less at the least.
fn is_worth_it(compressed_bytes: usize, raw_bytes: usize) -> bool {
    compressed_bytes + raw_bytes / 8 < raw_bytes
}

fn looks_compressible(payload: &[u8]) -> bool {
    let mut target = vec![0; lz4_flex::block::get_maximum_output_size(SAMPLE_BYTES)];
    let distance = (payload.len() - SAMPLE_BYTES) / (SAMPLES - 1);
    let sizes = (0..SAMPLES).map(|sample| {
        let start = sample * distance;
        let piece = &payload[start..start + SAMPLE_BYTES];
        lz4_flex::block::compress_into(piece, &mut target).unwrap_or(SAMPLE_BYTES)
    });
    is_worth_it(sizes.sum(), SAMPLES * SAMPLE_BYTES)
}

impl RecordHeader {
    fn hash(&self) -> u64 {
        xxh3_64_without_checksum(self.as_bytes())
    }

    /// The header at the start of `bytes`, if it is a sound one of this file and the successor of
    /// `previous_transaction` and `previous_chain`.
    pub(crate) fn parse(
        bytes: &[u8],
        salt: u64,
        previous_transaction: u64,
        previous_chain: u64,
    ) -> Option<&RecordHeader> {
        let (header, _) = RecordHeader::ref_from_prefix(bytes).ok()?;
        let is_sound = header.magic.get() == MAGIC ^ salt
            && header.chain.get() == header.hash()
            && header.kind == KIND_TRANSACTION
            && header.transaction.get() == previous_transaction + 1
            && header.previous_chain.get() == previous_chain
            && header.raw_len.get() as usize <= PAYLOAD_BYTES_MAX;
        is_sound.then_some(header)
    }

    /// The header at the start of `bytes`, if it is a sound one of whatever file, and says that
    /// every transaction before its own was durable.
    pub(crate) fn parse_durable(bytes: &[u8]) -> Option<&RecordHeader> {
        let (header, _) = RecordHeader::ref_from_prefix(bytes).ok()?;
        let is_sound = header.chain.get() == header.hash()
            && header.kind == KIND_TRANSACTION
            && header.flags.get() & FLAG_FOLLOWS_DURABLE != 0;
        is_sound.then_some(header)
    }

    /// Whether it is the successor of the record with that chain value.
    pub(crate) fn follows(&self, previous_chain: u64) -> bool {
        self.previous_chain.get() == previous_chain
    }

    /// Length of the whole record in the file.
    pub(crate) fn record_bytes(&self) -> u64 {
        record_bytes(self.stored_len.get() as usize)
    }

    /// Whether operations name values that are in the data file only.
    pub(super) fn has_values_in_place(&self) -> bool {
        self.flags.get() & FLAG_VALUES_IN_PLACE != 0
    }

    /// What the next record continues.
    pub(super) fn chain(&self) -> u64 {
        self.chain.get()
    }

    /// Copies the header to the start of its record.
    pub(super) fn write_to(&self, record: &mut [u8]) {
        record[..RECORD_HEADER_BYTES].copy_from_slice(self.as_bytes());
    }

    /// The payload as it is stored; `None` when its hash does not hold.
    pub(crate) fn stored_payload<'r>(&self, record: &'r [u8], salt: u64) -> Option<&'r [u8]> {
        let stored = self.stored(record)?;
        let is_sound = xxh3_64(stored, salt ^ self.transaction.get()) == self.payload_hash.get();
        is_sound.then_some(stored)
    }

    /// The payload as it is stored, whether or not its hash holds; `None` when it is not all there.
    pub(super) fn stored<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        let end = RECORD_HEADER_BYTES.checked_add(self.stored_len.get() as usize)?;
        record.get(RECORD_HEADER_BYTES..end)
    }

    /// The page operations; `None` when hash or compression do not hold.
    pub(crate) fn payload<'r>(&self, record: &'r [u8], salt: u64) -> Option<Cow<'r, [u8]>> {
        let stored = self.stored_payload(record, salt)?;
        let raw_len = self.raw_len.get() as usize;
        if self.codec == Codec::None as u8 {
            Some(Cow::Borrowed(stored))
        } else if self.codec == Codec::Lz4 as u8 {
            lz4_flex::block::decompress(stored, raw_len)
                .ok()
                .map(Cow::Owned)
        } else if self.codec == Codec::Lz4Pieces as u8 {
            decompress_pieces(stored, raw_len).map(Cow::Owned)
        } else {
            None
        }
    }
}

fn decompress_pieces(mut stored: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    let mut payload = vec![0; raw_len];
    let mut at = 0_usize;
    while !stored.is_empty() {
        let (head, rest) = PieceHead::read_from_prefix(stored).ok()?;
        let (piece, rest) = rest.split_at_checked(head.stored_len.get() as usize)?;
        let target = payload.get_mut(at..at.checked_add(head.raw_len.get() as usize)?)?;
        at += target.len();
        if piece.len() == target.len() {
            target.copy_from_slice(piece);
        } else if lz4_flex::block::decompress_into(piece, target).ok()? != target.len() {
            return None;
        }
        stored = rest;
    }
    (at == raw_len).then_some(payload)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn finish(payload: &StoredPayload, mut stored: AlignedBuffer) -> Vec<u8> {
        let fields = RecordFields {
            transaction: 8,
            page_count: 3,
            catalog_root: &TreeRoot::empty(),
            unix_nanos: 1,
            operation_count: 1,
            has_values_in_place: false,
        };
        let place = RecordPlace {
            salt: 55,
            previous_chain: 66,
            follows_durable: true,
        };
        fields.header(place, payload).write_to(&mut stored);
        stored.to_vec()
    }

    fn record(payload: &[u8]) -> Vec<u8> {
        let mut stored = AlignedBuffer::zeroed(RECORD_HEADER_BYTES);
        let about = store_whole(payload, 55 ^ 8, &mut Vec::new(), &mut stored);
        finish(&about, stored)
    }

    fn record_in_pieces(payload: &[u8], piece_bytes: usize) -> Vec<u8> {
        let mut stored = AlignedBuffer::zeroed(RECORD_HEADER_BYTES);
        let mut hasher = Xxh3::new(55 ^ 8);
        let mut about = StoredPayload::new(Codec::of_pieces(&payload[..piece_bytes]));
        for piece in payload.chunks(piece_bytes) {
            store_piece(piece, &mut about, &mut hasher, &mut Vec::new(), &mut stored);
        }
        about.hash = hasher.finish();
        finish(&about, stored)
    }

    fn text() -> Vec<u8> {
        b"the quick brown fox ".repeat(50_000)
    }

    fn noise() -> Vec<u8> {
        (0..125_000u64)
            .flat_map(|at| xxh3_64(&at.to_le_bytes(), 1).to_le_bytes())
            .collect()
    }

    #[test]
    fn payloads_in_pieces_come_back() {
        let mut mixed = text();
        mixed.extend(noise());
        for (payload, codec) in [
            (text(), Codec::Lz4Pieces),
            (mixed, Codec::Lz4Pieces),
            (noise(), Codec::None),
        ] {
            let stored = record_in_pieces(&payload, 300_000);
            let header = RecordHeader::parse(&stored, 55, 7, 66).expect("sound");
            assert_eq!(header.codec, codec as u8);
            assert!(header.payload(&stored, 55).expect("sound") == payload);
            assert!(header.record_bytes() <= record_bytes(payload.len() + 64 * 51));
        }
    }

    #[test]
    fn damaged_pieces_are_refused() {
        let payload = text();
        let stored = record_in_pieces(&payload, 100_000);
        let whole = &stored[RECORD_HEADER_BYTES..];
        assert!(decompress_pieces(whole, payload.len()).is_some());
        assert!(decompress_pieces(whole, payload.len() - 1).is_none());
        assert!(decompress_pieces(whole, payload.len() + 1).is_none());
        for cut in [1, 7, 8, 9, whole.len() - 1] {
            assert!(decompress_pieces(&whole[..cut], payload.len()).is_none());
        }
    }

    #[test]
    fn payloads_come_back_compressed_or_not() {
        let large: Vec<u8> = (0..100_000u32)
            .map(|at| (at / 100).to_le_bytes()[0])
            .collect();
        for payload in [&b"abc"[..], &[], &large] {
            let stored = record(payload);
            let header = RecordHeader::parse(&stored, 55, 7, 66).expect("sound");
            assert_eq!(header.payload(&stored, 55).expect("sound"), payload);
        }
        assert!(record(&large).len() < large.len() / 2);
    }

    #[test]
    fn large_payloads_are_compressed_when_their_samples_shrink() {
        for (payload, is_smaller) in [(&text(), true), (&noise(), false)] {
            let stored = record(payload);
            assert_eq!(stored.len() < payload.len(), is_smaller);
            let header = RecordHeader::parse(&stored, 55, 7, 66).expect("sound");
            assert!(header.payload(&stored, 55).expect("sound") == *payload);
        }
    }

    #[test]
    fn any_flipped_byte_is_found() {
        let stored = record(b"payload");
        for at in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[at] ^= 0x10;
            let payload = RecordHeader::parse(&damaged, 55, 7, 66)
                .and_then(|header| header.payload(&damaged, 55));
            assert_eq!(payload, None, "byte {at}");
        }
    }

    #[test]
    fn records_of_another_place_are_refused() {
        let stored = record(b"payload");
        assert!(RecordHeader::parse(&stored, 54, 7, 66).is_none());
        assert!(RecordHeader::parse(&stored, 55, 6, 66).is_none());
        assert!(RecordHeader::parse(&stored, 55, 7, 65).is_none());
    }

    #[test]
    fn layout_is_that_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "storage::journal::record::RecordHeader",
            RecordHeader {
                magic,
                transaction,
                previous_chain,
                payload_hash,
                stored_len,
                raw_len,
                codec,
                kind,
                flags,
                environment,
                page_count,
                catalog_root,
                unix_nanos,
                operation_count,
                reserved,
                raft_term,
                raft_index,
                reserved_words,
                chain
            }
        );
    }
}

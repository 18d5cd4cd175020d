//! One journal record: the page operations of one transaction behind a checksummed header.
//!
//! A record starts and ends at a multiple of 4,096 bytes. Its header hash chains to the record
//! before it, and the salt of the file is mixed into magic and payload hash, so that what a
//! recycled file held before is never taken for a record.
//! Bytes: docs/format.md, "Journal record".

use jackdaw_base::hash::{xxh3_64, xxh3_64_without_checksum};
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

/// Payloads from here on are compressed only if samples of them shrink: the attempt costs as much
/// as the write, and large values are often compressed already.
const SAMPLE_FROM_BYTES: usize = 256 * 1024;
const SAMPLE_BYTES: usize = 16 * 1024;
const SAMPLES: usize = 4;

/// Largest payload before compression that a record may declare; bounds what recovery allocates.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 1 << 30;

const CODEC_NONE: u8 = 0;
const CODEC_LZ4: u8 = 1;

/// The only kind of record in format 1.
const KIND_TRANSACTION: u8 = 1;

/// Flag: every record before this one was durable when this one was written. Set on the first
/// record of each write, unless writes are not durable. Whatever such a record follows cannot have
/// been torn by power loss: if it is not there, it was damaged later.
const FLAG_FOLLOWS_DURABLE: u16 = 1;

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

/// What a transaction puts into its record.
pub(crate) struct TransactionRecord<'a> {
    pub(crate) transaction: u64,
    pub(crate) page_count: u64,
    pub(crate) catalog_root: &'a TreeRoot,
    pub(crate) unix_nanos: u64,
    pub(crate) operation_count: u32,
    /// Page operations, see `difference`.
    pub(crate) payload: &'a [u8],
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

impl TransactionRecord<'_> {
    /// Most bytes that a record with this much payload can take.
    pub(crate) fn bytes_max(payload_bytes: usize) -> u64 {
        (RECORD_HEADER_BYTES + payload_bytes).next_multiple_of(JOURNAL_UNIT_BYTES) as u64
    }

    /// Encodes the record; `stored` receives header and payload without padding.
    pub(crate) fn encode(&self, place: RecordPlace, stored: &mut Vec<u8>) -> u64 {
        let RecordPlace {
            salt,
            previous_chain,
            follows_durable,
        } = place;
        let flags = if follows_durable {
            FLAG_FOLLOWS_DURABLE
        } else {
            0
        };
        stored.clear();
        stored.resize(RECORD_HEADER_BYTES, 0);
        let codec = append_payload(self.payload, stored);
        let (head, payload) = stored.split_at_mut(RECORD_HEADER_BYTES);
        let mut header = RecordHeader {
            magic: (MAGIC ^ salt).into(),
            transaction: self.transaction.into(),
            previous_chain: previous_chain.into(),
            payload_hash: xxh3_64(payload, salt ^ self.transaction).into(),
            stored_len: length(payload.len()),
            raw_len: length(self.payload.len()),
            codec,
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
        head.copy_from_slice(header.as_bytes());
        header.chain.get()
    }
}

fn length(len_bytes: usize) -> U32 {
    u32::try_from(len_bytes)
        .expect("a transaction's payload is bounded at 1 GiB")
        .into()
}

fn append_payload(payload: &[u8], stored: &mut Vec<u8>) -> u8 {
    if payload.len() >= COMPRESS_FROM_BYTES && looks_compressible(payload) {
        let bound = lz4_flex::block::get_maximum_output_size(payload.len());
        stored.resize(RECORD_HEADER_BYTES + bound, 0);
        let target = &mut stored[RECORD_HEADER_BYTES..];
        if let Ok(len_bytes) = lz4_flex::block::compress_into(payload, target)
            && is_worth_it(len_bytes, payload.len())
        {
            stored.truncate(RECORD_HEADER_BYTES + len_bytes);
            return CODEC_LZ4;
        }
        stored.truncate(RECORD_HEADER_BYTES);
    }
    stored.extend_from_slice(payload);
    CODEC_NONE
}

/// Decompression has to be worth it: an eighth less at the least.
fn is_worth_it(compressed_bytes: usize, raw_bytes: usize) -> bool {
    compressed_bytes + raw_bytes / 8 < raw_bytes
}

fn looks_compressible(payload: &[u8]) -> bool {
    if payload.len() < SAMPLE_FROM_BYTES {
        return true;
    }
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
        TransactionRecord::bytes_max(self.stored_len.get() as usize)
    }

    /// The payload as it is stored; `None` when its hash does not hold.
    pub(crate) fn stored_payload<'r>(&self, record: &'r [u8], salt: u64) -> Option<&'r [u8]> {
        let end = RECORD_HEADER_BYTES.checked_add(self.stored_len.get() as usize)?;
        let stored = record.get(RECORD_HEADER_BYTES..end)?;
        let is_sound = xxh3_64(stored, salt ^ self.transaction.get()) == self.payload_hash.get();
        is_sound.then_some(stored)
    }

    /// The page operations; `None` when hash or compression do not hold.
    pub(crate) fn payload(&self, record: &[u8], salt: u64) -> Option<Vec<u8>> {
        let stored = self.stored_payload(record, salt)?;
        match self.codec {
            CODEC_NONE => Some(stored.to_vec()),
            CODEC_LZ4 => lz4_flex::block::decompress(stored, self.raw_len.get() as usize).ok(),
            _ => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn record(payload: &[u8]) -> Vec<u8> {
        let record = TransactionRecord {
            transaction: 8,
            page_count: 3,
            catalog_root: &TreeRoot::empty(),
            unix_nanos: 1,
            operation_count: 1,
            payload,
        };
        let mut stored = Vec::new();
        let place = RecordPlace {
            salt: 55,
            previous_chain: 66,
            follows_durable: true,
        };
        record.encode(place, &mut stored);
        stored
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
        let text: Vec<u8> = b"the quick brown fox ".repeat(50_000);
        let noise: Vec<u8> = (0..125_000u64)
            .flat_map(|at| xxh3_64(&at.to_le_bytes(), 1).to_le_bytes())
            .collect();
        for (payload, is_smaller) in [(&text, true), (&noise, false)] {
            let stored = record(payload);
            assert_eq!(stored.len() < payload.len(), is_smaller);
            let header = RecordHeader::parse(&stored, 55, 7, 66).expect("sound");
            assert_eq!(header.payload(&stored, 55).expect("sound"), payload[..]);
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

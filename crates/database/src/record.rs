//! The stored form of a document: a fixed head, then id, metadata and body.
//!
//! Written by `store::apply` straight into the page, read by `snapshot`. Bytes: docs/format.md,
//! "Document record".
//!
//! Invariants:
//! - Whatever the bytes, reading gives a record or `None`, never a panic.

use jackdaw_base::time::UnixTicks;
use jackdaw_document::Document;
use jackdaw_model::Etag;

use crate::flags::Flags;

/// Version of the record's bytes.
pub(crate) const RECORD_VERSION: u8 = 1;
/// Bytes before the id.
pub(crate) const HEAD_BYTES: usize = 32;

/// Number of a collection inside its database, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CollectionNumber(pub(crate) u32);

/// A document's record, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) etag: Etag,
    pub(crate) collection: CollectionNumber,
    pub(crate) last_modified: UnixTicks,
    pub(crate) flags: Flags,
    pub(crate) id: &'a str,
    metadata: &'a [u8],
    body: &'a [u8],
}

/// What a record holds beside its texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordHead {
    pub(crate) etag: Etag,
    pub(crate) collection: CollectionNumber,
    pub(crate) last_modified: UnixTicks,
    pub(crate) flags: Flags,
}

impl RecordHead {
    /// Reads the head alone.
    pub(crate) fn decode(bytes: &[u8]) -> Option<RecordHead> {
        let head = bytes.first_chunk::<HEAD_BYTES>()?;
        if head[0] != RECORD_VERSION {
            return None;
        }
        Some(RecordHead {
            etag: Etag(u64_at(head, 8)),
            collection: CollectionNumber(u32_at(head, 4)),
            last_modified: UnixTicks(u64_at(head, 16).cast_signed()),
            flags: Flags::from_bytes([head[1], head[28]]),
        })
    }

    /// Length of the record with these parts.
    pub(crate) fn record_bytes(id: &str, content_len: usize) -> usize {
        HEAD_BYTES + id.len() + content_len
    }

    /// Writes a whole record; `content` is the metadata, of `metadata_len` bytes, and the body.
    pub(crate) fn encode(&self, id: &str, metadata_len: u32, content: &[u8], place: &mut [u8]) {
        let (head, rest) = place.split_at_mut(HEAD_BYTES);
        let id_len = u16::try_from(id.len()).expect("ids are shorter than 64 KiB");
        head[0] = RECORD_VERSION;
        let [flags, more_flags] = self.flags.bytes();
        head[1] = flags;
        head[2..4].copy_from_slice(&id_len.to_le_bytes());
        head[4..8].copy_from_slice(&self.collection.0.to_le_bytes());
        head[8..16].copy_from_slice(&self.etag.0.to_le_bytes());
        head[16..24].copy_from_slice(&self.last_modified.0.to_le_bytes());
        head[24..28].copy_from_slice(&metadata_len.to_le_bytes());
        head[28..32].copy_from_slice(&[more_flags, 0, 0, 0]);
        let (id_place, content_place) = rest.split_at_mut(id.len());
        id_place.copy_from_slice(id.as_bytes());
        content_place.copy_from_slice(content);
    }
}

impl<'a> Record<'a> {
    /// Reads a record; `None` when the bytes are not one.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Record<'a>> {
        let RecordHead {
            etag,
            collection,
            last_modified,
            flags,
        } = RecordHead::decode(bytes)?;
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
        let id_len = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let (id, rest) = rest.split_at_checked(id_len)?;
        let (metadata, body) = rest.split_at_checked(u32_at(head, 24) as usize)?;
        Some(Record {
            etag,
            collection,
            last_modified,
            flags,
            id: std::str::from_utf8(id).ok()?,
            metadata,
            body,
        })
    }

    /// The metadata the user gave; `None` when there is none.
    pub(crate) fn metadata(&self) -> Option<Document<'a>> {
        (!self.metadata.is_empty()).then(|| Document::trusted(self.metadata))
    }

    /// Metadata and body as they are stored.
    pub(crate) fn stored_bytes(&self) -> (&'a [u8], &'a [u8]) {
        (self.metadata, self.body)
    }

    /// The document without its metadata.
    pub(crate) fn body(&self) -> Document<'a> {
        Document::trusted(self.body)
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes[at..].first_chunk().expect("inside the fixed head");
    u64::from_le_bytes(*bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes[at..].first_chunk().expect("inside the fixed head");
    u32::from_le_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let head = RecordHead {
            etag: Etag(258),
            collection: CollectionNumber(3),
            last_modified: UnixTicks(-5),
            flags: Flags::HAS_COUNTERS.with(Flags::FROM_CLUSTER_TRANSACTION),
        };
        let mut bytes = vec![0xee; RecordHead::record_bytes("Users/1", 5)];
        head.encode("Users/1", 2, b"mmbbb", &mut bytes);
        bytes
    }

    #[test]
    fn records_read_back() {
        let bytes = sample();
        let record = Record::decode(&bytes).unwrap();
        assert_eq!(record.etag, Etag(258));
        assert_eq!(record.collection, CollectionNumber(3));
        assert_eq!(record.last_modified, UnixTicks(-5));
        let flags = Flags::HAS_COUNTERS.with(Flags::FROM_CLUSTER_TRANSACTION);
        assert_eq!(record.flags, flags);
        assert_eq!(record.id, "Users/1");
        assert_eq!((record.metadata, record.body), (&b"mm"[..], &b"bbb"[..]));
    }

    #[test]
    fn the_bytes_are_the_documented_ones() {
        let bytes = sample();
        assert_eq!(bytes[0], 1);
        assert_eq!(bytes[1], 16);
        assert_eq!(bytes[2..4], 7u16.to_le_bytes());
        assert_eq!(bytes[4..8], 3u32.to_le_bytes());
        assert_eq!(bytes[8..16], 258u64.to_le_bytes());
        assert_eq!(bytes[16..24], (-5i64).to_le_bytes());
        assert_eq!(bytes[24..28], 2u32.to_le_bytes());
        assert_eq!(bytes[28..32], [1, 0, 0, 0]);
        assert_eq!(&bytes[32..], b"Users/1mmbbb");
    }

    #[test]
    fn damaged_bytes_are_no_record() {
        let bytes = sample();
        assert!(Record::decode(&bytes[..20]).is_none());
        assert!(Record::decode(&bytes[..HEAD_BYTES + 3]).is_none());
        for (at, value) in [(0, 9), (2, 255), (3, 255), (27, 1), (32, 0xff)] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            assert!(Record::decode(&damaged).is_none(), "byte {at}");
        }
        assert!(Record::decode(&[]).is_none());
    }
}

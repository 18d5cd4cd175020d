//! Appending: the page operations of transactions become records at the end of the current file.
//!
//! A record up to a piece long is built in memory and shares one durable write with its neighbors.
//! A longer one is written while it is encoded, a piece at a time, so that a transaction of a
//! gigabyte needs a few pieces of memory beside its pages; its start, which holds the header, is
//! written last, and one sync makes all of it durable.
//!
//! Invariants:
//! - Nothing of a group is reported as appended before all of it is durable.
//! - A record whose pieces did not all arrive has no header or a payload hash that does not hold.
//! - Buffers shrink to a few pieces after each group.

use jackdaw_base::hash::Xxh3;
use jackdaw_base::width::to_usize;
use jackdaw_io::{AlignedBuffer, DIRECT_ALIGNMENT, Durability};

use super::reader::JournalPosition;
use super::record::{
    Codec, RECORD_HEADER_BYTES, RecordFields, RecordPlace, StoredPayload, record_bytes,
    store_piece, store_whole,
};
use super::writer::{Appender, Journal};
use crate::error::StorageError;
use crate::planted::{Planted, is_planted};

/// Longest piece, and about what a buffer keeps between groups: large enough that a device is as
/// fast as it can be, small enough for the second-level cache.
pub(super) const PIECE_BYTES_MAX: usize = 1 << 20;

/// Page operations of one transaction, encoded as they are asked for.
pub(crate) trait PayloadSource {
    /// Appends operations to `out` until it holds `wanted_bytes` or more, or there are no more.
    /// Whether there are more.
    ///
    /// # Errors
    /// Damage of the pages before the change.
    fn encode_some(&mut self, wanted_bytes: usize, out: &mut Vec<u8>)
    -> Result<bool, StorageError>;
}

/// A transaction to append.
pub(crate) struct NewRecord<'a> {
    pub(crate) fields: RecordFields<'a>,
    /// Most bytes that the record can take, as they were reserved.
    pub(crate) bytes_max: u64,
    pub(crate) source: &'a mut dyn PayloadSource,
}

/// What [`Journal::append`] did.
#[derive(Default)]
pub(crate) struct Appended {
    /// Behind each record.
    pub(crate) positions: Vec<JournalPosition>,
    pub(crate) written_bytes: u64,
    /// Bytes of page operations before compression.
    pub(crate) payload_bytes: u64,
    /// Time in which operations were encoded, compressed and hashed.
    pub(crate) encoding_nanos: u64,
}

/// Memory that is used again for every record.
#[derive(Default)]
pub(super) struct Buffers {
    /// Records, or the end of one, on their way to the file.
    pub(super) stored: AlignedBuffer,
    /// The start of a record in pieces.
    start: AlignedBuffer,
    /// Page operations.
    raw: Vec<u8>,
    /// One compressed piece.
    compressed: Vec<u8>,
}

impl Buffers {
    fn shrink(&mut self) {
        self.stored.shrink_to(4 * PIECE_BYTES_MAX);
        self.start.shrink_to(2 * PIECE_BYTES_MAX);
        self.raw.clear();
        self.raw.shrink_to(2 * PIECE_BYTES_MAX);
        self.compressed.clear();
        self.compressed.shrink_to(2 * PIECE_BYTES_MAX);
    }
}

impl Journal {
    /// Appends the records of transactions in order. Durable when it returns, for environments
    /// with full durability.
    ///
    /// # Errors
    /// The outcome is unknown; the caller must not append again.
    pub(crate) fn append(&self, records: &mut [NewRecord<'_>]) -> Result<Appended, StorageError> {
        let mut appender = self.lock_appender();
        let appender = &mut *appender;
        let mut appended = Appended::default();
        appender.buffers.stored.clear();
        for record in records {
            appender.buffers.raw.clear();
            let started = self.vfs.monotonic_nanos();
            let has_more = record
                .source
                .encode_some(self.piece_bytes(), &mut appender.buffers.raw)?;
            appended.encoding_nanos += self.vfs.monotonic_nanos().saturating_sub(started);
            if has_more {
                appended.written_bytes += self.write_stored(appender)?;
                self.append_in_pieces(appender, record, &mut appended)?;
            } else {
                self.append_whole(appender, record, &mut appended)?;
            }
            let offset = appender.position.offset + appender.buffers.stored.len() as u64;
            appended.positions.push(JournalPosition {
                offset,
                ..appender.position
            });
        }
        appended.written_bytes += self.write_stored(appender)?;
        appender.buffers.shrink();
        self.note_write_bytes(appended.written_bytes);
        self.count_live_bytes(appender);
        Ok(appended)
    }

    /// Length from which on a record is written in pieces. Small files have small pieces, so that
    /// tests with small files meet both kinds of records.
    fn piece_bytes(&self) -> usize {
        to_usize(self.options.file_bytes_min).clamp(DIRECT_ALIGNMENT, PIECE_BYTES_MAX)
    }

    /// Puts a record whose operations are all encoded behind those that wait to be written.
    fn append_whole(
        &self,
        appender: &mut Appender,
        record: &NewRecord<'_>,
        appended: &mut Appended,
    ) -> Result<(), StorageError> {
        let is_full = appender.buffers.stored.len() >= PIECE_BYTES_MAX;
        let room_bytes = record_bytes(appender.buffers.raw.len());
        if is_full {
            appended.written_bytes += self.write_stored(appender)?;
        }
        if !appender.has_room(room_bytes) {
            appended.written_bytes += self.write_stored(appender)?;
            self.switch_file(appender, record.fields.transaction)?;
        }
        let place = self.place(appender);
        let started = self.vfs.monotonic_nanos();
        let Buffers {
            stored,
            raw,
            compressed,
            ..
        } = &mut appender.buffers;
        let start = stored.len();
        stored.extend_from_slice(&[0; RECORD_HEADER_BYTES]);
        let payload = store_whole(
            raw,
            place.salt ^ record.fields.transaction,
            compressed,
            stored,
        );
        let header = record.fields.header(place, &payload);
        header.write_to(&mut stored[start..]);
        stored.pad_to_alignment();
        appended.payload_bytes += raw.len() as u64;
        appender.position.chain = header.chain();
        appender.position.transaction = record.fields.transaction;
        appended.encoding_nanos += self.vfs.monotonic_nanos().saturating_sub(started);
        Ok(())
    }

    /// Writes a record while it is encoded; its first piece is in the buffer already. Nothing else
    /// waits to be written.
    fn append_in_pieces(
        &self,
        appender: &mut Appender,
        record: &mut NewRecord<'_>,
        appended: &mut Appended,
    ) -> Result<(), StorageError> {
        if !appender.has_room(record.bytes_max) {
            self.switch_file(appender, record.fields.transaction)?;
        }
        let place = self.place(appender);
        let record_start = appender.position.offset;
        let mut at = record_start;
        let mut payload = StoredPayload::new(Codec::of_pieces(&appender.buffers.raw));
        let mut hasher = Xxh3::new(place.salt ^ record.fields.transaction);
        appender.buffers.start.clear();
        let header_room = &[0; RECORD_HEADER_BYTES];
        appender.buffers.stored.extend_from_slice(header_room);
        let mut has_more = true;
        loop {
            let started = self.vfs.monotonic_nanos();
            let Buffers {
                stored,
                raw,
                compressed,
                ..
            } = &mut appender.buffers;
            store_piece(raw, &mut payload, &mut hasher, compressed, stored);
            appended.encoding_nanos += self.vfs.monotonic_nanos().saturating_sub(started);
            if !has_more {
                stored.pad_to_alignment();
            }
            at = self.write_piece(appender, record_start, at)?;
            if !has_more {
                break;
            }
            let started = self.vfs.monotonic_nanos();
            let raw = &mut appender.buffers.raw;
            raw.clear();
            has_more = record.source.encode_some(self.piece_bytes(), raw)?;
            appended.encoding_nanos += self.vfs.monotonic_nanos().saturating_sub(started);
        }
        payload.hash = hasher.finish();
        let header = record.fields.header(place, &payload);
        header.write_to(&mut appender.buffers.start);
        self.write_start(appender, record_start)?;
        appended.payload_bytes += u64::from(payload.raw_len);
        appended.written_bytes += at - record_start;
        appender.position.offset = at;
        appender.position.chain = header.chain();
        appender.position.transaction = record.fields.transaction;
        Ok(())
    }

    /// Writes whole units of what is stored to `at` and keeps the rest; those of the start of the
    /// record are kept for [`Journal::write_start`]. Gives the end of what is done.
    fn write_piece(
        &self,
        appender: &mut Appender,
        record_start: u64,
        at: u64,
    ) -> Result<u64, StorageError> {
        let buffers = &mut appender.buffers;
        let whole = buffers.stored.len() / DIRECT_ALIGNMENT * DIRECT_ALIGNMENT;
        if whole == 0 {
            return Ok(at);
        }
        if at == record_start {
            std::mem::swap(&mut buffers.stored, &mut buffers.start);
            buffers.stored.clear();
            buffers.stored.extend_from_slice(&buffers.start[whole..]);
            buffers.start.resize(whole);
        } else {
            appender.write(at, whole, Durability::None)?;
            appender.buffers.stored.remove_front(whole);
        }
        Ok(at + whole as u64)
    }

    /// Writes the start of a record, behind which all is written, and makes it durable.
    fn write_start(&self, appender: &mut Appender, record_start: u64) -> Result<(), StorageError> {
        appender.buffers.stored.clear();
        let current = appender.current_file();
        current
            .file
            .write_at(&appender.buffers.start, record_start, Durability::None)
            .map_err(|source| StorageError::io(&current.path, "write", source))?;
        let is_durable = self.options.durability == Durability::Data
            && !is_planted(Planted::AcknowledgeEarly)
            && !is_planted(Planted::PiecesWithoutSync);
        if !is_durable {
            return Ok(());
        }
        current
            .file
            .sync()
            .map_err(|source| StorageError::io(&current.path, "sync", source))
    }

    /// Writes all records that wait, durably if that is asked for; gives their bytes.
    pub(super) fn write_stored(&self, appender: &mut Appender) -> Result<u64, StorageError> {
        let len_bytes = appender.buffers.stored.len();
        if len_bytes > 0 {
            let durability = match is_planted(Planted::AcknowledgeEarly) {
                true => Durability::None,
                false => self.options.durability,
            };
            appender.write(appender.position.offset, len_bytes, durability)?;
            appender.position.offset += len_bytes as u64;
            appender.buffers.stored.clear();
        }
        Ok(len_bytes as u64)
    }

    /// Where the next record stands.
    fn place(&self, appender: &Appender) -> RecordPlace {
        RecordPlace {
            salt: appender.salt(),
            previous_chain: appender.position.chain,
            // What is not in the buffer was written before, durably if that is asked for.
            follows_durable: appender.buffers.stored.is_empty()
                && self.options.durability == Durability::Data,
        }
    }
}

impl Appender {
    fn has_room(&self, record_bytes: u64) -> bool {
        self.current.as_ref().is_some_and(|current| {
            let end = self.position.offset + self.buffers.stored.len() as u64 + record_bytes;
            end <= current.file.capacity_bytes
        })
    }

    /// Writes the first bytes of what is stored.
    fn write(
        &self,
        offset: u64,
        len_bytes: usize,
        durability: Durability,
    ) -> Result<(), StorageError> {
        let current = self.current_file();
        let bytes = &self.buffers.stored[..len_bytes];
        current
            .file
            .write_at(bytes, offset, durability)
            .map_err(|source| StorageError::io(&current.path, "write", source))
    }
}

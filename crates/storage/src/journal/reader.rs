//! Reads records back in order, from the synced position to the last sound one.
//!
//! Called by recovery only. Stops at the first record that does not continue the chain: everything
//! behind it was never acknowledged, since records become durable in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::{AlignedBuffer, OpenMode, OpenOptions, Vfs, VfsFile};

use super::file::{JournalFileHeader, journal_name};
use super::record::{JOURNAL_UNIT_BYTES, RecordHeader};
use crate::error::StorageError;
use crate::meta::EnvironmentId;

/// Where the next record is expected, and what it has to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JournalPosition {
    /// Journal file.
    pub(crate) number: u64,
    /// Byte offset in it.
    pub(crate) offset: u64,
    /// Transaction before.
    pub(crate) transaction: u64,
    /// Chain value of the record before.
    pub(crate) chain: u64,
}

/// See the file head.
pub(crate) struct JournalReader<'a> {
    vfs: &'a dyn Vfs,
    directory: PathBuf,
    environment_id: EnvironmentId,
    position: JournalPosition,
    file: Option<OpenJournal>,
    bytes_read: u64,
}

struct OpenJournal {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    len_bytes: u64,
    salt: u64,
}

/// A record that holds, and its page operations.
pub(crate) struct ReadRecord {
    pub(crate) header: RecordHeader,
    pub(crate) payload: Vec<u8>,
}

impl<'a> JournalReader<'a> {
    pub(crate) fn new(
        vfs: &'a dyn Vfs,
        directory: &Path,
        environment_id: EnvironmentId,
        position: JournalPosition,
    ) -> JournalReader<'a> {
        JournalReader {
            vfs,
            directory: directory.to_owned(),
            environment_id,
            position,
            file: None,
            bytes_read: 0,
        }
    }

    /// Position behind the last record read.
    pub(crate) fn position(&self) -> JournalPosition {
        self.position
    }

    /// Bytes of records read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The next record, from the next file when this one has no more. `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<ReadRecord>, StorageError> {
        if self.file.is_none() {
            self.file = self.open(self.position.number)?.map(|(open, _)| open);
        }
        if let Some(record) = self.read_here()? {
            return Ok(Some(record));
        }
        let Some((next, header)) = self.open(self.position.number + 1)? else {
            return Ok(None);
        };
        let continues = header.first_transaction.get() == self.position.transaction + 1
            && header.previous_chain.get() == self.position.chain;
        if !continues {
            return Ok(None);
        }
        self.position.number += 1;
        self.position.offset = JOURNAL_UNIT_BYTES as u64;
        self.file = Some(next);
        self.read_here()
    }

    fn open(&self, number: u64) -> Result<Option<(OpenJournal, JournalFileHeader)>, StorageError> {
        let path = self.directory.join(journal_name(number));
        let io = |source| StorageError::io(&path, "read", source);
        if !self.vfs.exists(&path).map_err(io)? {
            return Ok(None);
        }
        let options = OpenOptions {
            mode: OpenMode::Read,
            direct: true,
        };
        let file = self.vfs.open(&path, options).map_err(io)?;
        let len_bytes =
            file.len_bytes().map_err(io)? / JOURNAL_UNIT_BYTES as u64 * JOURNAL_UNIT_BYTES as u64;
        if len_bytes == 0 {
            return Ok(None);
        }
        let mut block = AlignedBuffer::zeroed(JOURNAL_UNIT_BYTES);
        file.read_at(&mut block, 0).map_err(io)?;
        let Some(&header) = JournalFileHeader::parse(&block, number, self.environment_id) else {
            return Ok(None);
        };
        let salt = header.salt.get();
        Ok(Some((
            OpenJournal {
                file,
                path,
                len_bytes,
                salt,
            },
            header,
        )))
    }

    fn read_here(&mut self) -> Result<Option<ReadRecord>, StorageError> {
        let Some(journal) = &self.file else {
            return Ok(None);
        };
        let at = self.position.offset;
        if at + JOURNAL_UNIT_BYTES as u64 > journal.len_bytes {
            return Ok(None);
        }
        let io = |source| StorageError::io(&journal.path, "read", source);
        let mut record = AlignedBuffer::zeroed(JOURNAL_UNIT_BYTES);
        journal.file.read_at(&mut record, at).map_err(io)?;
        let JournalPosition {
            transaction, chain, ..
        } = self.position;
        let Some(&header) = RecordHeader::parse(&record, journal.salt, transaction, chain) else {
            return Ok(None);
        };
        let record_bytes = header.record_bytes();
        if at + record_bytes > journal.len_bytes {
            return Ok(None);
        }
        if record_bytes > JOURNAL_UNIT_BYTES as u64 {
            record.resize(usize::try_from(record_bytes).expect("64-bit addresses"));
            journal.file.read_at(&mut record, at).map_err(io)?;
        }
        let Some(payload) = header.payload(&record, journal.salt) else {
            return Ok(None);
        };
        self.position.offset += record_bytes;
        self.position.transaction = header.transaction.get();
        self.position.chain = header.chain.get();
        self.bytes_read += record_bytes;
        Ok(Some(ReadRecord { header, payload }))
    }
}

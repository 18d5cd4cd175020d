//! Reads records back in order, from the synced position to the last sound one.
//!
//! Called by recovery and by backups. Stops at the first record that does not continue the chain:
//! everything behind it was never acknowledged, since records become durable in order. Whether that
//! is so, or a record that was acknowledged was damaged later, `check_end` says.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_base::width::to_usize;
use jackdaw_io::{AlignedBuffer, OpenMode, OpenOptions, Vfs, VfsFile};

use super::file::{JournalFileHeader, journal_name, journal_number};
use super::record::{JOURNAL_UNIT_BYTES, RecordHeader};
use crate::error::{Damage, DamageKind, StorageError};
use crate::meta::EnvironmentId;

/// Bytes read at once: of short records, and when looking for later ones.
const SCAN_BYTES: usize = 1 << 20;

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
    /// Memory of earlier records.
    spare: Vec<AlignedBuffer>,
}

struct OpenJournal {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    len_bytes: u64,
    salt: u64,
    /// Bytes read ahead, whole units, and where they stand.
    chunk: AlignedBuffer,
    chunk_start: u64,
}

/// A record whose header continues the journal. Whether its payload holds, [`decode`] says.
///
/// [`decode`]: ReadRecord::decode
pub(crate) struct ReadRecord {
    pub(crate) header: RecordHeader,
    /// Behind the record.
    pub(crate) end: JournalPosition,
    start: JournalPosition,
    salt: u64,
    stored: AlignedBuffer,
    decompressed: Option<Vec<u8>>,
}

impl ReadRecord {
    /// Checks the payload and decompresses it; `false` when it does not hold.
    pub(crate) fn decode(&mut self) -> bool {
        match self.header.payload(&self.stored, self.salt) {
            Some(Cow::Borrowed(_)) => true,
            Some(Cow::Owned(payload)) => {
                self.decompressed = Some(payload);
                true
            }
            None => false,
        }
    }

    /// The page operations of a record that was decoded.
    pub(crate) fn payload(&self) -> &[u8] {
        match &self.decompressed {
            Some(payload) => payload,
            None => self.header.stored(&self.stored).unwrap_or_default(),
        }
    }

    /// Length in the file.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.header.record_bytes()
    }
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
            spare: Vec::new(),
        }
    }

    /// Takes the memory of a record back, for a later one.
    pub(crate) fn give_back(&mut self, record: ReadRecord) {
        let mut stored = record.stored;
        stored.clear();
        stored.shrink_to(SCAN_BYTES);
        self.spare.push(stored);
    }

    /// The next record, from the next file when this one has no more. `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<ReadRecord>, StorageError> {
        let Some(mut record) = self.next_undecoded()? else {
            return Ok(None);
        };
        if !record.decode() {
            self.position = record.start;
            return Ok(None);
        }
        Ok(Some(record))
    }

    /// [`JournalReader::next_record`] whose payload was not looked at.
    pub(crate) fn next_undecoded(&mut self) -> Result<Option<ReadRecord>, StorageError> {
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

    /// Refuses an end behind which there is a record that was written when the missing one was
    /// durable: the missing one was acknowledged and has been damaged since. Call it at the end.
    pub(crate) fn check_end(&self) -> Result<(), StorageError> {
        let io = |source| StorageError::io(&self.directory, "listing", source);
        let entries = self.vfs.list(&self.directory).map_err(io)?;
        let mut numbers: Vec<u64> = entries
            .iter()
            .filter_map(|entry| journal_number(&entry.name))
            .filter(|&number| number >= self.position.number)
            .collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(found) = self.find_later(number)? {
                let what = DamageKind::LostTransactions {
                    first: self.position.transaction + 1,
                    found,
                };
                return Err(Damage {
                    file: journal_name(self.position.number).into(),
                    page: None,
                    what,
                }
                .into());
            }
        }
        Ok(())
    }

    /// A transaction in journal `number` before which the missing one was durable.
    ///
    /// Transaction numbers only grow, so old records of a recycled file are never taken for one.
    fn find_later(&self, number: u64) -> Result<Option<u64>, StorageError> {
        let path = self.directory.join(journal_name(number));
        let io = |source| StorageError::io(&path, "read", source);
        let options = OpenOptions {
            mode: OpenMode::Read,
            direct: true,
        };
        let file = self.vfs.open(&path, options).map_err(io)?;
        let len_bytes = file.len_bytes().map_err(io)?;
        let mut at = match number == self.position.number {
            true => self.position.offset,
            false => JOURNAL_UNIT_BYTES as u64,
        };
        let is_read_here = self.file.is_some() && number == self.position.number;
        let mut chunk = AlignedBuffer::zeroed(SCAN_BYTES);
        while at + JOURNAL_UNIT_BYTES as u64 <= len_bytes {
            let rest = to_usize(len_bytes - at) / JOURNAL_UNIT_BYTES * JOURNAL_UNIT_BYTES;
            let bytes = &mut chunk[..rest.min(SCAN_BYTES)];
            file.read_at(bytes, at).map_err(io)?;
            let headers = bytes
                .chunks_exact(JOURNAL_UNIT_BYTES)
                .filter_map(RecordHeader::parse_durable);
            for header in headers {
                let found = header.transaction.get();
                let is_next = !is_read_here && header.follows(self.position.chain);
                if found > self.position.transaction + 1 || is_next {
                    return Ok(Some(found));
                }
            }
            at += bytes.len() as u64;
        }
        Ok(None)
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
                chunk: AlignedBuffer::new(),
                chunk_start: 0,
            },
            header,
        )))
    }

    fn read_here(&mut self) -> Result<Option<ReadRecord>, StorageError> {
        let Some(journal) = &mut self.file else {
            return Ok(None);
        };
        let mut record = self.spare.pop().unwrap_or_default();
        let Some(header) = journal.read(&self.position, &mut record)? else {
            return Ok(None);
        };
        let start = self.position;
        self.position.pass(&header);
        Ok(Some(ReadRecord {
            header,
            end: self.position,
            start,
            salt: journal.salt,
            stored: record,
            decompressed: None,
        }))
    }
}

impl JournalPosition {
    /// Moves behind a record.
    fn pass(&mut self, record: &RecordHeader) {
        self.offset += record.record_bytes();
        self.transaction = record.transaction.get();
        self.chain = record.chain.get();
    }
}

impl OpenJournal {
    /// Reads the record at `position` into `record`; `None` when none continues there. Its payload
    /// was not looked at.
    fn read(
        &mut self,
        position: &JournalPosition,
        record: &mut AlignedBuffer,
    ) -> Result<Option<RecordHeader>, StorageError> {
        let at = position.offset;
        if at + JOURNAL_UNIT_BYTES as u64 > self.len_bytes {
            return Ok(None);
        }
        if self.in_chunk(at, JOURNAL_UNIT_BYTES).is_none() {
            let rest = to_usize(self.len_bytes - at) / JOURNAL_UNIT_BYTES * JOURNAL_UNIT_BYTES;
            self.chunk.resize(rest.min(SCAN_BYTES));
            self.chunk_start = at;
            let outcome = self.file.read_at(&mut self.chunk, at);
            if let Err(source) = outcome {
                self.chunk.clear();
                return Err(StorageError::io(&self.path, "read", source));
            }
        }
        let unit = self.in_chunk(at, JOURNAL_UNIT_BYTES).unwrap_or_default();
        let (transaction, chain) = (position.transaction, position.chain);
        let Some(&header) = RecordHeader::parse(unit, self.salt, transaction, chain) else {
            return Ok(None);
        };
        let record_bytes = header.record_bytes();
        if at + record_bytes > self.len_bytes {
            return Ok(None);
        }
        record.clear();
        match self.in_chunk(at, to_usize(record_bytes)) {
            Some(bytes) => record.extend_from_slice(bytes),
            None => {
                record.resize(to_usize(record_bytes));
                self.file
                    .read_at(record, at)
                    .map_err(|source| StorageError::io(&self.path, "read", source))?;
            }
        }
        Ok(Some(header))
    }

    /// Bytes of the file that were read ahead.
    fn in_chunk(&self, at: u64, len_bytes: usize) -> Option<&[u8]> {
        let start = to_usize(at.checked_sub(self.chunk_start)?);
        self.chunk.get(start..start.checked_add(len_bytes)?)
    }
}

/// The records of one file as they are stored, from its start.
pub(crate) struct JournalRecords {
    journal: OpenJournal,
    position: JournalPosition,
    record: AlignedBuffer,
    has_values_in_place: bool,
}

impl JournalRecords {
    /// The records of `file`; `None` when it is no journal file of this environment.
    pub(crate) fn open(
        file: Arc<dyn VfsFile>,
        path: &Path,
        environment_id: EnvironmentId,
    ) -> Result<Option<JournalRecords>, StorageError> {
        let io = |source| StorageError::io(path, "read", source);
        let len_bytes = file.len_bytes().map_err(io)?;
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(number) = name.and_then(journal_number) else {
            return Ok(None);
        };
        if len_bytes < JOURNAL_UNIT_BYTES as u64 {
            return Ok(None);
        }
        let mut block = AlignedBuffer::zeroed(JOURNAL_UNIT_BYTES);
        file.read_at(&mut block, 0).map_err(io)?;
        let Some(header) = JournalFileHeader::parse(&block, number, environment_id) else {
            return Ok(None);
        };
        let position = JournalPosition {
            number,
            offset: JOURNAL_UNIT_BYTES as u64,
            transaction: header.first_transaction.get().saturating_sub(1),
            chain: header.previous_chain.get(),
        };
        let journal = OpenJournal {
            file,
            path: path.to_owned(),
            len_bytes,
            salt: header.salt.get(),
            chunk: AlignedBuffer::new(),
            chunk_start: 0,
        };
        Ok(Some(JournalRecords {
            journal,
            position,
            record: AlignedBuffer::new(),
            has_values_in_place: false,
        }))
    }

    /// Position behind the last record read.
    pub(crate) fn position(&self) -> JournalPosition {
        self.position
    }

    /// What distinguishes this use of the file; records hold only together with it.
    pub(crate) fn salt(&self) -> u64 {
        self.journal.salt
    }

    /// Whether the last record read is of no use without the data file.
    pub(crate) fn has_values_in_place(&self) -> bool {
        self.has_values_in_place
    }

    /// The next record, checked, with its padding; `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<&[u8]>, StorageError> {
        let Some(header) = self.journal.read(&self.position, &mut self.record)? else {
            return Ok(None);
        };
        if header
            .stored_payload(&self.record, self.journal.salt)
            .is_none()
        {
            return Ok(None);
        }
        self.position.pass(&header);
        self.has_values_in_place = header.has_values_in_place();
        Ok(Some(&self.record))
    }
}

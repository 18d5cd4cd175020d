//! Bringing a backup up to date: the journal records behind its end are copied to it.
//!
//! Records are copied as they are, with the salt of their file, into files of the backup that are
//! numbered from 1 without gaps. Each file appears in one step.

use std::path::{Path, PathBuf};

use jackdaw_io::{AlignedBuffer, Durability, Vfs};

use super::record::BackupRecord;
use super::{BackupError, BackupReport, JOURNAL_DIRECTORY, files};
use crate::environment::Shared;
use crate::journal::{
    JOURNAL_UNIT_BYTES, JournalFileHeader, JournalFileStart, JournalPosition, JournalRecords,
    journal_name, journal_number,
};
use crate::meta::EnvironmentId;

/// Name under which a file of an increment is written.
const TEMPORARY_NAME: &str = "increment.tmp";
/// Records are gathered up to this size before they are written.
const WRITE_BYTES: usize = 1 << 20;

impl Shared {
    /// Copies what was committed since the end of the backup in `to`.
    pub(crate) fn back_up_increment(&self, to: &Path) -> Result<BackupReport, BackupError> {
        let vfs = &*self.vfs;
        let record = BackupRecord::read(vfs, to)?;
        let base = record.meta();
        if base.environment_id != self.journal.environment_id() {
            return Err(BackupError::OtherSource {
                path: to.to_owned(),
            });
        }
        let target = to.join(JOURNAL_DIRECTORY);
        let start = end_of(vfs, &target, base.environment_id, base.position)?;
        let _hold = self.journal.hold(start.transaction);
        let end = self.visible();
        let mut copier = Copier {
            vfs,
            environment_id: base.environment_id,
            to,
            target,
            position: start,
            bytes: 0,
        };
        if start.transaction > end {
            return Err(BackupError::OtherSource {
                path: to.to_owned(),
            });
        }
        for (_, path) in self.journal_files()? {
            if copier.position.transaction >= end {
                break;
            }
            copier.copy_file(&path, end)?;
        }
        if copier.position.transaction < end {
            return Err(BackupError::JournalGone {
                path: to.to_owned(),
                transaction: copier.position.transaction,
            });
        }
        Ok(BackupReport {
            transaction: end,
            transactions: end - start.transaction,
            bytes: copier.bytes,
        })
    }

    /// Journal files that are kept, live ones and archived ones, by number.
    fn journal_files(&self) -> Result<Vec<(u64, PathBuf)>, BackupError> {
        let mut found = Vec::new();
        for name in [
            crate::journal::JOURNAL_DIRECTORY,
            crate::journal::ARCHIVE_DIRECTORY,
        ] {
            let directory = self.directory.join(name);
            let io = |source| BackupError::io(&directory, "listing", source);
            if !self.vfs.exists(&directory).map_err(io)? {
                continue;
            }
            found.extend(numbered(&*self.vfs, &directory)?);
        }
        found.sort();
        Ok(found)
    }
}

/// Journal files in a directory, with their numbers.
fn numbered(vfs: &dyn Vfs, directory: &Path) -> Result<Vec<(u64, PathBuf)>, BackupError> {
    let entries = vfs
        .list(directory)
        .map_err(|source| BackupError::io(directory, "listing", source))?;
    let numbers = entries
        .iter()
        .filter_map(|entry| Some((journal_number(&entry.name)?, directory.join(&entry.name))));
    Ok(numbers.collect())
}

/// The end of what the increments in `directory` hold.
fn end_of(
    vfs: &dyn Vfs,
    directory: &Path,
    environment_id: EnvironmentId,
    base: JournalPosition,
) -> Result<JournalPosition, BackupError> {
    let Some((number, path)) = numbered(vfs, directory)?.into_iter().max() else {
        return Ok(base);
    };
    let file = files::open_to_read(vfs, &path)?;
    let Some(mut records) = JournalRecords::open(file, &path, environment_id)? else {
        return Err(BackupError::NotABackup {
            path: directory.to_owned(),
        });
    };
    while records.next_record()?.is_some() {}
    Ok(JournalPosition {
        number,
        ..records.position()
    })
}

struct Copier<'a> {
    vfs: &'a dyn Vfs,
    environment_id: EnvironmentId,
    /// The backup.
    to: &'a Path,
    /// Its journal.
    target: PathBuf,
    /// End of what was copied; the number is that of the last file of the backup.
    position: JournalPosition,
    bytes: u64,
}

impl Copier<'_> {
    /// Copies the records of one file that continue what was copied, up to transaction `end`.
    fn copy_file(&mut self, path: &Path, end: u64) -> Result<(), BackupError> {
        // It may have been moved or used again since it was listed; the chain tells.
        if !self.vfs.exists(path).is_ok_and(|exists| exists) {
            return Ok(());
        }
        let file = files::open_to_read(self.vfs, path)?;
        let opened = JournalRecords::open(file, path, self.environment_id)?;
        let Some(mut records) = opened else {
            return Ok(());
        };
        if records.position().transaction > self.position.transaction {
            // Records between the backup and this file are missing.
            return Err(BackupError::JournalGone {
                path: self.to.to_owned(),
                transaction: self.position.transaction,
            });
        }
        while records.position().transaction < self.position.transaction {
            if records.next_record()?.is_none() {
                return Ok(());
            }
        }
        if records.position().chain != self.position.chain {
            return Err(BackupError::OtherSource {
                path: self.to.to_owned(),
            });
        }
        self.copy_records(&mut records, end)
    }

    fn copy_records(&mut self, records: &mut JournalRecords, end: u64) -> Result<(), BackupError> {
        let path = self.target.join(TEMPORARY_NAME);
        let io = |source| BackupError::io(&path, "write", source);
        let start = JournalFileStart {
            number: self.position.number + 1,
            environment_id: self.environment_id,
            salt: records.salt(),
            capacity_bytes: 0,
            first_transaction: self.position.transaction + 1,
            previous_chain: self.position.chain,
        };
        let mut buffer = AlignedBuffer::zeroed(JOURNAL_UNIT_BYTES);
        JournalFileHeader::encode(&start, &mut buffer);
        let file = files::create(self.vfs, &path)?;
        let mut offset = 0;
        while records.position().transaction < end {
            let Some(record) = records.next_record()? else {
                break;
            };
            buffer.extend_from_slice(record);
            if records.has_values_in_place() {
                // Without the data file of that moment it is of no use.
                return Err(BackupError::JournalGone {
                    path: self.to.to_owned(),
                    transaction: self.position.transaction,
                });
            }
            if buffer.len() >= WRITE_BYTES {
                file.write_at(&buffer, offset, Durability::None)
                    .map_err(io)?;
                offset += buffer.len() as u64;
                buffer.clear();
            }
        }
        if records.position().transaction == self.position.transaction {
            return self.vfs.remove_file(&path).map_err(io);
        }
        file.write_at(&buffer, offset, Durability::None)
            .map_err(io)?;
        file.sync().map_err(io)?;
        let name = self.target.join(journal_name(start.number));
        self.vfs.rename(&path, &name).map_err(io)?;
        self.vfs.sync_directory(&self.target).map_err(io)?;
        self.bytes += offset + buffer.len() as u64;
        self.position = JournalPosition {
            number: start.number,
            ..records.position()
        };
        Ok(())
    }
}

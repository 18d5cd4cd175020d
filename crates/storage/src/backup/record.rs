//! The record of a backup: which environment it is of, as of which transaction.
//!
//! Bytes: docs/format.md, "Backup record".

use std::path::Path;

use jackdaw_base::hash::xxh3_64_without_checksum;
use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::BackupError;
use crate::journal::JournalPosition;
use crate::meta::{EnvironmentId, FORMAT_VERSION, Meta};
use crate::page::PAGE_BYTES_U32;
use crate::tree::TreeRoot;

const NAME: &str = "backup";
/// Marks a directory as that of a backup under way, which becomes the record at its end.
pub(super) const TEMPORARY_NAME: &str = "backup.tmp";
const MAGIC: [u8; 8] = *b"JKDWBKP1";

/// The file `backup`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct BackupRecord {
    magic: [u8; 8],
    version: U32,
    page_bytes: U32,
    environment_id: [u8; 16],
    salt: U64,
    transaction: U64,
    chain: U64,
    page_count: U64,
    catalog_root: [u8; 40],
    unix_nanos: U64,
    reserved: U64,
    checksum: U64,
}

impl BackupRecord {
    /// Notes that the pages of a backup are those of `meta`, taken at `unix_nanos`.
    pub(super) fn write(
        vfs: &dyn Vfs,
        directory: &Path,
        meta: &Meta,
        unix_nanos: u64,
    ) -> Result<(), BackupError> {
        let mut record = BackupRecord {
            magic: MAGIC,
            version: FORMAT_VERSION.into(),
            page_bytes: PAGE_BYTES_U32.into(),
            environment_id: meta.environment_id.0,
            salt: meta.salt.into(),
            transaction: meta.position.transaction.into(),
            chain: meta.position.chain.into(),
            page_count: meta.page_count.into(),
            catalog_root: meta.catalog_root.encode(),
            unix_nanos: unix_nanos.into(),
            reserved: U64::ZERO,
            checksum: U64::ZERO,
        };
        record.checksum = record.hash().into();
        let (temporary, path) = (directory.join(TEMPORARY_NAME), directory.join(NAME));
        let io = |source| BackupError::io(&path, "write", source);
        let options = OpenOptions {
            mode: OpenMode::ReadWrite,
            direct: false,
        };
        let file = vfs.open(&temporary, options).map_err(io)?;
        file.write_at(record.as_bytes(), 0, Durability::Data)
            .map_err(io)?;
        vfs.rename(&temporary, &path).map_err(io)?;
        vfs.sync_directory(directory).map_err(io)
    }

    /// The record of the backup in `directory`.
    ///
    /// # Errors
    /// [`BackupError::NotABackup`] also when it is damaged or of another version.
    pub(super) fn read(vfs: &dyn Vfs, directory: &Path) -> Result<BackupRecord, BackupError> {
        let path = directory.join(NAME);
        let io = |source| BackupError::io(&path, "read", source);
        let not_a_backup = || BackupError::NotABackup {
            path: directory.to_owned(),
        };
        if !vfs.exists(&path).map_err(io)? {
            return Err(not_a_backup());
        }
        let options = OpenOptions {
            mode: OpenMode::Read,
            direct: false,
        };
        let file = vfs.open(&path, options).map_err(io)?;
        if file.len_bytes().map_err(io)? != size_of::<BackupRecord>() as u64 {
            return Err(not_a_backup());
        }
        let mut record = BackupRecord::new_zeroed();
        file.read_at(record.as_mut_bytes(), 0).map_err(io)?;
        let is_sound = record.magic == MAGIC
            && record.checksum.get() == record.hash()
            && record.version.get() == FORMAT_VERSION
            && record.page_bytes.get() == PAGE_BYTES_U32
            && TreeRoot::decode(&record.catalog_root).is_ok();
        if is_sound {
            Ok(record)
        } else {
            Err(not_a_backup())
        }
    }

    /// When the pages were taken.
    pub(super) fn unix_nanos(&self) -> u64 {
        self.unix_nanos.get()
    }

    /// State of the pages. Replay starts with the first journal file of the increments.
    pub(super) fn meta(&self) -> Meta {
        Meta {
            environment_id: EnvironmentId(self.environment_id),
            sequence: 0,
            newest_journal: 0,
            position: JournalPosition {
                number: 0,
                offset: 0,
                transaction: self.transaction.get(),
                chain: self.chain.get(),
            },
            page_count: self.page_count.get(),
            catalog_root: TreeRoot::decode(&self.catalog_root).expect("checked by `read`"),
            salt: self.salt.get(),
            is_clean: true,
        }
    }

    fn hash(&self) -> u64 {
        xxh3_64_without_checksum(self.as_bytes())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_that_of_the_format_page() {
        jackdaw_sim::assert_layout!(
            "storage::backup::record::BackupRecord",
            BackupRecord {
                magic,
                version,
                page_bytes,
                environment_id,
                salt,
                transaction,
                chain,
                page_count,
                catalog_root,
                unix_nanos,
                reserved,
                checksum
            }
        );
    }
}

//! The meta file: two slots written alternately, of which the newer sound one says where the
//! data file stands and from where the journal has to be replayed.
//!
//! Called when an environment is created, opened and synced.
//! Bytes: docs/format.md, "Meta slot".
//!
//! Invariants:
//! - The slot of sequence `n` is written while the slot of `n - 1` is sound, never over it.
//! - A slot is written only after the data file is durable up to the transaction it names.
//! - Both slots lead to journal files that exist, or to where the next one will be: when one of
//!   them is damaged, the other one can be opened.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jackdaw_base::hash::xxh3_64_without_checksum;
use jackdaw_io::{
    AlignedBuffer, Durability, OpenMode, OpenOptions, Vfs, VfsFile, is_encrypted_file,
};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::environment::OpenError;
use crate::error::StorageError;
use crate::journal::JournalPosition;
use crate::page::{PAGE_BYTES, PAGE_BYTES_U32};
use crate::tree::TreeRoot;

/// Version of all formats of this crate; readers refuse any other.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Name of the meta file.
pub(crate) const META_NAME: &str = "meta";
pub(crate) const META_TEMPORARY_NAME: &str = "meta.tmp";

const MAGIC: [u8; 8] = *b"JKDWMET1";
/// A slot is a sector of its own on every common disk.
const SLOT_BYTES: usize = 4096;

/// Distinguishes environments, so that files of two of them cannot be mixed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EnvironmentId(pub(crate) [u8; 16]);

/// One slot; the rest of its 4,096 bytes is zero.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct MetaSlot {
    magic: [u8; 8],
    version: U32,
    page_bytes: U32,
    environment_id: [u8; 16],
    sequence: U64,
    synced_transaction: U64,
    journal_number: U64,
    journal_offset: U64,
    journal_chain: U64,
    page_count: U64,
    catalog_root: [u8; 40],
    flags: U64,
    salt: U64,
    newest_journal: U64,
    reserved: [u8; 56],
    checksum: U64,
}

/// What a slot says.
#[derive(Clone, Debug)]
pub(crate) struct Meta {
    pub(crate) environment_id: EnvironmentId,
    pub(crate) sequence: u64,
    /// The data file holds everything up to `position.transaction`; replay starts there.
    pub(crate) position: JournalPosition,
    pub(crate) page_count: u64,
    pub(crate) catalog_root: TreeRoot,
    /// Seed of page checksums.
    pub(crate) salt: u64,
    /// Whether the environment was closed in order.
    pub(crate) is_clean: bool,
    /// Newest journal file that was started; 0 when that was not noted.
    pub(crate) newest_journal: u64,
}

const FLAG_CLEAN: u64 = 1;

/// The open meta file. Clones write the same file, one at a time.
#[derive(Clone)]
pub(crate) struct MetaFile {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    /// What was written last: flusher and journal write slots independently.
    last: Arc<Mutex<Meta>>,
}

impl MetaFile {
    /// Creates the file of a new environment; it appears under its name in one step.
    pub(crate) fn create(
        vfs: &dyn Vfs,
        directory: &Path,
        meta: &Meta,
    ) -> Result<MetaFile, StorageError> {
        let temporary = directory.join(META_TEMPORARY_NAME);
        let path = directory.join(META_NAME);
        let io = |source| StorageError::io(&path, "creation", source);
        if vfs.exists(&temporary).map_err(io)? {
            vfs.remove_file(&temporary).map_err(io)?;
        }
        let options = OpenOptions {
            mode: OpenMode::CreateNew,
            direct: true,
        };
        let file = vfs.open(&temporary, options).map_err(io)?;
        let blank = AlignedBuffer::zeroed(2 * SLOT_BYTES);
        file.write_at(&blank, 0, Durability::Data).map_err(io)?;
        let created = MetaFile {
            file,
            path: path.clone(),
            last: Arc::new(Mutex::new(meta.clone())),
        };
        created.write_slot(meta)?;
        vfs.rename(&temporary, &path).map_err(io)?;
        vfs.sync_directory(directory).map_err(io)?;
        Ok(created)
    }

    /// Opens the file and reads the newer sound slot; also says whether the other one is damaged,
    /// which may then be the newer one.
    ///
    /// # Errors
    /// When no slot is sound: another program's file, another version, or damage.
    pub(crate) fn open(
        vfs: &dyn Vfs,
        directory: &Path,
    ) -> Result<(MetaFile, Meta, bool), OpenError> {
        MetaFile::open_as(
            vfs,
            directory,
            directory.join(META_NAME),
            OpenMode::ReadWrite,
        )
    }

    /// [`MetaFile::open`] at `path`, never to be written.
    pub(crate) fn open_to_read(
        vfs: &dyn Vfs,
        directory: &Path,
        path: PathBuf,
    ) -> Result<(MetaFile, Meta, bool), OpenError> {
        MetaFile::open_as(vfs, directory, path, OpenMode::Read)
    }

    fn open_as(
        vfs: &dyn Vfs,
        directory: &Path,
        path: PathBuf,
        mode: OpenMode,
    ) -> Result<(MetaFile, Meta, bool), OpenError> {
        let io = |source| OpenError::Storage(StorageError::io(&path, "opening", source));
        let options = OpenOptions { mode, direct: true };
        let file = vfs.open(&path, options).map_err(io)?;
        let len_bytes = file.len_bytes().map_err(io)?;
        if len_bytes != 2 * SLOT_BYTES as u64 {
            if is_encrypted_file(&*file).map_err(io)? {
                return Err(OpenError::Encrypted {
                    path: directory.to_owned(),
                });
            }
            return Err(OpenError::NotAnEnvironment {
                path: directory.to_owned(),
            });
        }
        let mut bytes = AlignedBuffer::zeroed(2 * SLOT_BYTES);
        file.read_at(&mut bytes, 0).map_err(io)?;
        let slots: Vec<&MetaSlot> = bytes
            .chunks_exact(SLOT_BYTES)
            .filter_map(|slot| MetaSlot::ref_from_prefix(slot).ok())
            .map(|(slot, _)| slot)
            .collect();
        let newest = slots
            .iter()
            .filter(|slot| slot.is_sound())
            .max_by_key(|slot| slot.sequence.get());
        match newest {
            Some(slot) if slot.version.get() == FORMAT_VERSION => {
                let meta = slot
                    .decode()
                    .ok_or(OpenError::MetaDamaged { path: path.clone() })?;
                // The second slot of a new environment is blank until it is opened the first time.
                let is_blank = |slot: &MetaSlot| slot.as_bytes().iter().all(|&byte| byte == 0);
                let has_damaged_slot = slots
                    .iter()
                    .any(|slot| !(slot.is_sound() || meta.sequence == 0 && is_blank(slot)));
                let last = Arc::new(Mutex::new(meta.clone()));
                Ok((MetaFile { file, path, last }, meta, has_damaged_slot))
            }
            Some(slot) => Err(OpenError::Version {
                path: directory.to_owned(),
                found: slot.version.get(),
                supported: FORMAT_VERSION,
            }),
            None if slots.iter().any(|slot| slot.magic == MAGIC) => {
                Err(OpenError::MetaDamaged { path })
            }
            None => Err(OpenError::NotAnEnvironment {
                path: directory.to_owned(),
            }),
        }
    }

    /// Writes `meta` durably into the older slot. Its sequence and newest journal file are those of
    /// the file.
    pub(crate) fn write(&self, meta: &Meta) -> Result<(), StorageError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let next = Meta {
            sequence: last.sequence + 1,
            newest_journal: last.newest_journal,
            ..meta.clone()
        };
        self.write_slot(&next)?;
        *last = next;
        Ok(())
    }

    /// Notes durably that journal file `number` was started, whatever else the newer slot says.
    pub(crate) fn note_newest_journal(&self, number: u64) -> Result<(), StorageError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let next = Meta {
            sequence: last.sequence + 1,
            newest_journal: number,
            ..last.clone()
        };
        self.write_slot(&next)?;
        *last = next;
        Ok(())
    }

    fn write_slot(&self, meta: &Meta) -> Result<(), StorageError> {
        let mut slot = AlignedBuffer::zeroed(SLOT_BYTES);
        slot[..size_of::<MetaSlot>()].copy_from_slice(MetaSlot::encode(meta).as_bytes());
        let offset = meta.sequence % 2 * SLOT_BYTES as u64;
        self.file
            .write_at(&slot, offset, Durability::Data)
            .map_err(|source| StorageError::io(&self.path, "write", source))
    }
}

impl MetaSlot {
    fn encode(meta: &Meta) -> MetaSlot {
        let mut slot = MetaSlot {
            magic: MAGIC,
            version: FORMAT_VERSION.into(),
            page_bytes: PAGE_BYTES_U32.into(),
            environment_id: meta.environment_id.0,
            sequence: meta.sequence.into(),
            synced_transaction: meta.position.transaction.into(),
            journal_number: meta.position.number.into(),
            journal_offset: meta.position.offset.into(),
            journal_chain: meta.position.chain.into(),
            page_count: meta.page_count.into(),
            catalog_root: [0; 40],
            flags: if meta.is_clean { FLAG_CLEAN } else { 0 }.into(),
            salt: meta.salt.into(),
            newest_journal: meta.newest_journal.into(),
            reserved: [0; 56],
            checksum: 0.into(),
        };
        slot.catalog_root
            .copy_from_slice(&meta.catalog_root.encode());
        slot.checksum = slot.hash().into();
        slot
    }

    fn decode(&self) -> Option<Meta> {
        Some(Meta {
            environment_id: EnvironmentId(self.environment_id),
            sequence: self.sequence.get(),
            position: JournalPosition {
                number: self.journal_number.get(),
                offset: self.journal_offset.get(),
                transaction: self.synced_transaction.get(),
                chain: self.journal_chain.get(),
            },
            page_count: self.page_count.get(),
            catalog_root: TreeRoot::decode(&self.catalog_root).ok()?,
            salt: self.salt.get(),
            is_clean: self.flags.get() & FLAG_CLEAN != 0,
            newest_journal: self.newest_journal.get(),
        })
    }

    fn is_sound(&self) -> bool {
        self.magic == MAGIC
            && self.checksum.get() == self.hash()
            && self.page_bytes.get() as usize == PAGE_BYTES
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
            "storage::meta::MetaSlot",
            MetaSlot {
                magic,
                version,
                page_bytes,
                environment_id,
                sequence,
                synced_transaction,
                journal_number,
                journal_offset,
                journal_chain,
                page_count,
                catalog_root,
                flags,
                salt,
                newest_journal,
                reserved,
                checksum
            }
        );
    }
}

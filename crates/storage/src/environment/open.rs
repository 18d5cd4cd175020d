//! Opening: lock, meta, recovery, a fresh journal. Creating is opening an empty directory.
//!
//! Invariants:
//! - Nothing is written before the lock is held and the meta file was understood.
//! - The meta file appears last when an environment is created: without it there is none.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::{FileLock, OpenMode, OpenOptions, Vfs, VfsFile, lacks_key};

use super::error::OpenError;
use super::options::Options;
use super::recovery::{
    Places, RecoveryReport, check_end, check_newest, recover, refuse_newer_pages,
};
use super::shared::{Parts, Shared};
use crate::compact::finish_compaction;
use crate::error::{Damage, StorageError};
use crate::journal::{
    Archive, JOURNAL_DIRECTORY, JOURNAL_UNIT_BYTES, Journal, JournalOptions, JournalPosition,
    is_prepared, journal_number,
};
use crate::memory::FileView;
use crate::meta::{EnvironmentId, META_NAME, META_TEMPORARY_NAME, Meta, MetaFile};
use crate::page::PAGE_BYTES;
use crate::planted::{Planted, is_planted};
use crate::transaction::{ReadTransaction, SpaceSummary, WriterState};
use crate::tree::TreeRoot;

pub(super) const LOCK_NAME: &str = "LOCK";
/// The owner of a directory may put this file there before the environment is created.
const CREATION_MARK: &str = "creating.tmp";

/// Address space kept for a small data file. A process has 128 TiB, so two thousand environments
/// fit; the mapping of a file that outgrows it moves to a larger place.
pub(super) const MAPPING_RESERVE_BYTES: u64 = 64 << 30;

/// What `Environment::open` keeps.
pub(super) struct Opened {
    pub(super) shared: Arc<Shared>,
    pub(super) recovery: RecoveryReport,
}

/// Files of an environment before it runs.
struct Files<'a> {
    vfs: &'a Arc<dyn Vfs>,
    directory: &'a Path,
    journal_directory: PathBuf,
}

pub(super) fn open(
    vfs: Arc<dyn Vfs>,
    directory: &Path,
    options: Options,
) -> Result<Opened, OpenError> {
    let started = vfs.monotonic_nanos();
    let files = Files {
        vfs: &vfs,
        directory,
        journal_directory: directory.join(JOURNAL_DIRECTORY),
    };
    // Before the lock, so that a lock file is not left in a directory of something else.
    files.check_exists_or_can_create(options)?;
    let lock = files.lock()?;
    finish_compaction(&*vfs, directory)?;
    // Again under the lock: another process may have created or removed it meanwhile.
    let (meta_file, meta, has_damaged_slot) = match files.check_exists_or_can_create(options)? {
        true => MetaFile::open(&*vfs, directory)?,
        false => files.create()?,
    };
    let data_file = files.open_data()?;
    let places = Places {
        directory,
        journal_directory: &files.journal_directory,
        data_file: &*data_file,
        overlay_bytes_max: options.scratch_bytes,
    };
    let was_clean = meta.is_clean;
    let before = meta;
    let (mut meta, mut recovery) = recover(&*vfs, &places, &before, &|_, _| true)?;
    if !was_clean {
        check_end(&*vfs, &files.journal_directory, &meta)?;
    }
    if has_damaged_slot {
        refuse_newer_pages(&*data_file, directory, &meta)?;
    }
    if !was_clean {
        check_newest(&*vfs, &files.journal_directory, &before)?;
    }
    files.start_fresh_journal(&meta_file, &mut meta, options)?;
    let shared = files.share(options, data_file, meta_file, meta, lock)?;
    recovery.nanos = vfs.monotonic_nanos() - started;
    Ok(Opened { shared, recovery })
}

impl Files<'_> {
    fn io(&self, operation: &'static str) -> impl Fn(io::Error) -> StorageError + '_ {
        move |source| StorageError::io(self.directory, operation, source)
    }

    /// Whether there is an environment; where there is none, it may be created.
    fn check_exists_or_can_create(&self, options: Options) -> Result<bool, OpenError> {
        let path = self.directory.join(META_NAME);
        let exists = self.vfs.exists(&path).map_err(self.io("opening"))?;
        if !exists {
            self.check_can_create(options)?;
        }
        Ok(exists)
    }

    /// A new environment goes into a missing or empty directory, or one where creating it was
    /// interrupted.
    fn check_can_create(&self, options: Options) -> Result<(), OpenError> {
        if !options.create {
            return Err(OpenError::Missing {
                path: self.directory.to_owned(),
            });
        }
        if !self
            .vfs
            .exists(self.directory)
            .map_err(self.io("opening"))?
        {
            return Ok(());
        }
        let entries = self.vfs.list(self.directory).map_err(self.io("listing"))?;
        let is_own = |name: &str| {
            let names = [LOCK_NAME, JOURNAL_DIRECTORY, META_TEMPORARY_NAME];
            names.contains(&name) || name == Damage::DATA_FILE || name == CREATION_MARK
        };
        let is_foreign = entries.iter().any(|entry| !is_own(&entry.name));
        let is_data = |name: &str| name == Damage::DATA_FILE;
        let has_data = entries
            .iter()
            .any(|entry| is_data(&entry.name) && entry.len_bytes > 0);
        if is_foreign || has_data {
            let is_encrypted = lacks_key(&**self.vfs, self.directory);
            if is_encrypted.map_err(self.io("opening"))? {
                return Err(OpenError::Encrypted {
                    path: self.directory.to_owned(),
                });
            }
            if is_foreign {
                return Err(OpenError::NotAnEnvironment {
                    path: self.directory.to_owned(),
                });
            }
        }
        if has_data || self.has_journal()? {
            return Err(OpenError::MetaMissing {
                path: self.directory.to_owned(),
            });
        }
        Ok(())
    }

    /// Whether there are files of a journal. Creation makes the first one after the meta file.
    fn has_journal(&self) -> Result<bool, OpenError> {
        let io = self.io("listing");
        if !self.vfs.exists(&self.journal_directory).map_err(&io)? {
            return Ok(false);
        }
        let entries = self.vfs.list(&self.journal_directory).map_err(&io)?;
        Ok(entries
            .iter()
            .any(|entry| journal_number(&entry.name).is_some()))
    }

    fn lock(&self) -> Result<Box<dyn FileLock>, OpenError> {
        self.vfs
            .create_directory(self.directory)
            .map_err(self.io("creation"))?;
        self.vfs
            .lock(&self.directory.join(LOCK_NAME))
            .map_err(|source| match source.kind() {
                io::ErrorKind::WouldBlock => OpenError::InUse {
                    path: self.directory.to_owned(),
                },
                _ => self.io("locking")(source).into(),
            })
    }

    fn create(&self) -> Result<(MetaFile, Meta, bool), OpenError> {
        let io = self.io("creation");
        self.vfs
            .create_directory(&self.journal_directory)
            .map_err(&io)?;
        let data_path = self.directory.join(Damage::DATA_FILE);
        if !self.vfs.exists(&data_path).map_err(&io)? {
            let options = OpenOptions {
                mode: OpenMode::CreateNew,
                direct: false,
            };
            self.vfs.open(&data_path, options).map_err(&io)?;
        }
        self.vfs.sync_directory(self.directory).map_err(&io)?;
        let mut random = [0; 24];
        self.vfs.fill_random(&mut random);
        let (id, salt) = random.split_at(16);
        let meta = Meta {
            environment_id: EnvironmentId(id.try_into().expect("16 bytes were split off")),
            sequence: 0,
            position: JournalPosition {
                number: 0,
                offset: 0,
                transaction: 0,
                chain: 0,
            },
            page_count: 0,
            catalog_root: TreeRoot::empty(),
            salt: u64::from_le_bytes(salt.try_into().expect("8 bytes are left")),
            is_clean: true,
            newest_journal: 0,
        };
        let file = MetaFile::create(&**self.vfs, self.directory, &meta)?;
        Ok((file, meta, false))
    }

    fn open_data(&self) -> Result<Arc<dyn VfsFile>, OpenError> {
        let path = self.directory.join(Damage::DATA_FILE);
        let options = OpenOptions {
            mode: OpenMode::ReadWrite,
            direct: false,
        };
        let opened = self.vfs.open(&path, options);
        Ok(opened.map_err(|source| StorageError::io(&path, "opening", source))?)
    }

    /// Points the meta file behind everything replayed, at a journal file that does not exist yet,
    /// and removes or archives the old ones.
    fn start_fresh_journal(
        &self,
        meta_file: &MetaFile,
        meta: &mut Meta,
        options: Options,
    ) -> Result<(), OpenError> {
        let io = self.io("recovery");
        let archive = Archive::new(
            self.vfs,
            &self.journal_directory,
            options.journal_archive_bytes,
        );
        let entries = self.vfs.list(&self.journal_directory).map_err(&io)?;
        let is_own = |name: &String| journal_number(name).is_some() || is_prepared(name);
        let names = entries.into_iter().map(|entry| entry.name);
        let mut names: Vec<String> = names.filter(is_own).collect();
        let newest = names
            .iter()
            .filter_map(|name| journal_number(name))
            .max()
            .unwrap_or(0);
        meta.position.number = newest.max(meta.position.number) + 1;
        meta.position.offset = JOURNAL_UNIT_BYTES as u64;
        if is_planted(Planted::RemoveBeforeMeta) {
            for name in names.drain(..) {
                let path = self.journal_directory.join(name);
                self.vfs.remove_file(&path).map_err(&io)?;
            }
        }
        meta.is_clean = false;
        meta_file.write(meta)?;
        if !names.is_empty() {
            // The older slot must not lead to files that are gone, should this one be damaged.
            meta_file.write(meta)?;
        }
        for name in names {
            let path = self.journal_directory.join(name);
            let is_archived = archive.as_ref().is_some_and(|archive| archive.take(&path));
            if !is_archived {
                self.vfs.remove_file(&path).map_err(&io)?;
            }
        }
        Ok(self
            .vfs
            .sync_directory(&self.journal_directory)
            .map_err(&io)?)
    }

    fn share(
        &self,
        options: Options,
        data_file: Arc<dyn VfsFile>,
        meta_file: MetaFile,
        meta: Meta,
        lock: Box<dyn FileLock>,
    ) -> Result<Arc<Shared>, OpenError> {
        let io = self.io("mapping");
        let file_pages = data_file.len_bytes().map_err(&io)? / PAGE_BYTES as u64;
        let view = FileView::new(data_file.map(MAPPING_RESERVE_BYTES).map_err(&io)?);
        view.cover(file_pages * PAGE_BYTES as u64).map_err(&io)?;
        let value_file = self.open_data()?;
        let journal_options = JournalOptions {
            file_bytes_min: options.journal_file_bytes_min,
            file_bytes_max: options.journal_file_bytes_max,
            recycled_bytes_max: options.journal_bytes / 2,
            durability: options.durability,
            archive_bytes: options.journal_archive_bytes,
        };
        let journal = Journal::new(
            Arc::clone(self.vfs),
            self.journal_directory.clone(),
            meta.environment_id,
            journal_options,
            meta.position,
            Some(meta_file.clone()),
        );
        let (transaction, page_count) = (meta.position.transaction, meta.page_count);
        let catalog_root = meta.catalog_root;
        let shared = Shared::new(Parts {
            vfs: Arc::clone(self.vfs),
            directory: self.directory.to_owned(),
            options,
            view,
            data_file,
            value_file,
            journal,
            meta_file,
            meta,
            file_pages,
            lock,
        });
        let space = SpaceSummary::load(&ReadTransaction::begin(&shared)?, page_count, transaction)?;
        shared.return_writer(WriterState {
            transaction,
            catalog_root,
            page_count,
            space,
        });
        Ok(shared)
    }
}

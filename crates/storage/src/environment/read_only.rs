//! Opening for reading only: nothing on the disk changes, not even by recovery.
//!
//! Called by `Environment::open_read_only`. The journal is replayed into scratch memory, where its
//! pages look like those of a transaction that was committed and not flushed yet.
//!
//! Invariants:
//! - Every file is opened for reading, and the engine starts poisoned with `ReadOnly`: whatever
//!   would write asks for that first.
//! - The shared lock is held for as long as bytes of the data file are handed out.

use std::io;
use std::iter;
use std::path::Path;
use std::sync::Arc;

use jackdaw_io::{AlignedBuffer, FileLock, OpenMode, OpenOptions, Vfs, VfsFile};

use super::error::OpenError;
use super::open::{LOCK_NAME, MAPPING_RESERVE_BYTES, Opened};
use super::options::Options;
use super::recovery::{Places, check_end, check_newest, refuse_newer_pages, replay_journal};
use super::shared::{CHECKSUM_BYTES, Parts, Shared};
use crate::compact::current_path;
use crate::error::{Damage, StorageError};
use crate::journal::{JOURNAL_DIRECTORY, Journal, JournalOptions};
use crate::memory::{FileView, PublishedPage};
use crate::meta::{META_NAME, Meta, MetaFile};
use crate::page::{PAGE_BYTES, PageNumber};

pub(super) fn open_read_only(vfs: Arc<dyn Vfs>, directory: &Path) -> Result<Opened, OpenError> {
    let started = vfs.monotonic_nanos();
    let path = directory.join(META_NAME);
    let exists = vfs.exists(&path);
    if !exists.map_err(|source| StorageError::io(&path, "look-up", source))? {
        return Err(OpenError::Missing {
            path: directory.to_owned(),
        });
    }
    let lock = lock_shared(&*vfs, directory)?;
    let meta_path = current_path(&*vfs, directory, META_NAME)?;
    let (meta_file, meta, has_damaged_slot) = MetaFile::open_to_read(&*vfs, directory, meta_path)?;
    let data_path = current_path(&*vfs, directory, Damage::DATA_FILE)?;
    let data_file = open_to_read(&*vfs, &data_path)?;
    let journal_directory = directory.join(JOURNAL_DIRECTORY);
    let places = Places {
        directory,
        journal_directory: &journal_directory,
        data_file: &*data_file,
        overlay_bytes_max: usize::MAX,
    };
    let was_clean = meta.is_clean;
    let before = meta;
    let (meta, mut recovery, replay) =
        replay_journal(&*vfs, &places, &data_path, &before, &|_, _| true)?;
    let pages = replay.verify_and_keep()?;
    if !was_clean {
        check_end(&*vfs, &journal_directory, &meta)?;
    }
    if has_damaged_slot {
        refuse_newer_pages(&*data_file, directory, &meta)?;
    }
    if !was_clean {
        check_newest(&*vfs, &journal_directory, &before)?;
    }
    let transaction = meta.position.transaction;
    let shared = share(
        &vfs,
        directory,
        Arc::clone(&data_file),
        (meta_file, meta),
        lock,
    )?;
    for page in pages {
        publish(&shared, transaction, page)?;
    }
    recovery.nanos = vfs.monotonic_nanos() - started;
    Ok(Opened { shared, recovery })
}

fn lock_shared(vfs: &dyn Vfs, directory: &Path) -> Result<Box<dyn FileLock>, OpenError> {
    let path = directory.to_owned();
    vfs.lock_shared(&directory.join(LOCK_NAME))
        .map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => OpenError::InUse { path },
            io::ErrorKind::NotFound => OpenError::NoLock { path },
            _ => StorageError::io(directory, "locking", source).into(),
        })
}

fn open_to_read(vfs: &dyn Vfs, path: &Path) -> Result<Arc<dyn VfsFile>, StorageError> {
    let options = OpenOptions {
        mode: OpenMode::Read,
        direct: false,
    };
    vfs.open(path, options)
        .map_err(|source| StorageError::io(path, "opening", source))
}

fn share(
    vfs: &Arc<dyn Vfs>,
    directory: &Path,
    data_file: Arc<dyn VfsFile>,
    (meta_file, meta): (MetaFile, Meta),
    lock: Box<dyn FileLock>,
) -> Result<Arc<Shared>, OpenError> {
    let io = |source| StorageError::io(directory, "mapping", source);
    let file_pages = data_file.len_bytes().map_err(io)? / PAGE_BYTES as u64;
    let view = FileView::new(data_file.map(MAPPING_RESERVE_BYTES).map_err(io)?);
    view.cover(file_pages * PAGE_BYTES as u64).map_err(io)?;
    let options = Options {
        create: false,
        background_flush: false,
        // What was replayed stays in memory: a file for it would be written.
        scratch_bytes: usize::MAX,
        journal_archive_bytes: 0,
        ..Options::default()
    };
    let journal_options = JournalOptions {
        file_bytes_min: options.journal_file_bytes_min,
        file_bytes_max: options.journal_file_bytes_max,
        recycled_bytes_max: 0,
        durability: options.durability,
        archive_bytes: 0,
    };
    let journal = Journal::new(
        Arc::clone(vfs),
        directory.join(JOURNAL_DIRECTORY),
        meta.environment_id,
        journal_options,
        meta.position,
        None,
    );
    let shared = Shared::new(Parts {
        vfs: Arc::clone(vfs),
        directory: directory.to_owned(),
        options,
        view,
        value_file: Arc::clone(&data_file),
        data_file,
        journal,
        meta_file,
        meta,
        file_pages,
        lock,
    });
    shared.set_poison(StorageError::ReadOnly);
    Ok(shared)
}

/// Makes a replayed page or run the version that readers see.
fn publish(
    shared: &Shared,
    transaction: u64,
    (page, page_count, content): (PageNumber, u32, AlignedBuffer),
) -> Result<(), StorageError> {
    let mut frame = shared.allocate_frame(page_count)?;
    let bytes = shared.frames.owned_mut(&mut frame);
    bytes.copy_from_slice(&content);
    bytes[..CHECKSUM_BYTES].fill(0);
    let version = iter::once(PublishedPage { page, frame });
    shared.table.publish(transaction, version, &shared.frames);
    Ok(())
}

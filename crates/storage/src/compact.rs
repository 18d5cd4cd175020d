//! Compaction: an environment is written anew in the order of its trees, and takes the place of the
//! old one in one step.
//!
//! The new one grows in `compact/` inside the directory. When it is complete and durable, a marker
//! says so, and its files are renamed over the old ones; opening finishes what was interrupted
//! behind the marker and removes what was interrupted before it.
//! Bytes: docs/format.md, "Storage environment".
//!
//! Invariants:
//! - The old files are untouched until the new ones were checked and synced.
//! - The lock of the environment is held from the first read to the end of the swap.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};

use crate::backup::Progress;
use crate::environment::{CheckLevel, Environment, OpenError, Options};
use crate::error::{Damage, StorageError};
use crate::meta::META_NAME;
use crate::transaction::{CommitError, ReadTransaction};
use crate::tree::{TreeKind, TreeRoot};

const DIRECTORY: &str = "compact";
/// Says that the new environment is complete.
const MARKER_NAME: &str = "complete";
/// Bytes of keys and values in one transaction of the new environment.
const BATCH_BYTES: usize = 8 << 20;

/// What a compaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactReport {
    /// Length of the data file before.
    pub bytes_before: u64,
    /// Length of the data file now.
    pub bytes_after: u64,
    /// Entries copied.
    pub entries: u64,
}

/// Why a compaction failed. The environment is as it was.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// It could not be opened, or the new one not created.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// The machine refused, or damage was found.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// Named snapshots stand in the way: their pages would have to move with the others.
    #[error(
        "the environment has {count} named snapshots, {first:?} among them: drop them with \
         `jackdaw snapshot drop`, then compact"
    )]
    Snapshots {
        /// How many there are.
        count: usize,
        /// The first by name.
        first: String,
    },
    /// The copy could not be written.
    #[error("{0}")]
    Commit(#[from] CommitError),
}

/// Rewrites the environment in `directory`, which nobody may have open, without free space. Needs
/// room for a second copy of its data beside it. Numbers of transactions start over.
///
/// # Errors
/// See [`CompactError`].
pub fn compact(
    vfs: &Arc<dyn Vfs>,
    directory: &Path,
    progress: Progress<'_>,
) -> Result<CompactReport, CompactError> {
    let options = Options {
        create: false,
        background_flush: false,
        ..Options::default()
    };
    let source = Environment::open(Arc::clone(vfs), directory, options)?;
    let snapshots = source.read()?.snapshots()?;
    if let Some(first) = snapshots.first() {
        let (count, first) = (snapshots.len(), first.name.clone());
        return Err(CompactError::Snapshots { count, first });
    }
    let bytes_before = source.statistics().file_bytes;
    let new_directory = directory.join(DIRECTORY);
    let new_options = Options {
        create: true,
        // Nothing of it counts before it is complete, and closing syncs it.
        durability: Durability::None,
        ..options
    };
    let target = Environment::open(Arc::clone(vfs), &new_directory, new_options)?;
    let entries = copy_all(&source.read()?, &target, progress)?;
    let report = target.check(CheckLevel::Full)?;
    if let Some(damage) = report.damages.into_iter().next() {
        return Err(StorageError::from(damage).into());
    }
    drop(target);
    mark_complete(&**vfs, &new_directory)?;
    finish_compaction(&**vfs, directory)?;
    drop(source);
    let data_path = directory.join(Damage::DATA_FILE);
    let io = |source| StorageError::io(&data_path, "look-up", source);
    let read = OpenOptions {
        mode: OpenMode::Read,
        direct: false,
    };
    let bytes_after = vfs
        .open(&data_path, read)
        .and_then(|file| file.len_bytes())
        .map_err(io)?;
    Ok(CompactReport {
        bytes_before,
        bytes_after,
        entries,
    })
}

/// Called by opening, with the lock held: puts a complete new environment in place, removes an
/// incomplete one.
pub(crate) fn finish_compaction(vfs: &dyn Vfs, directory: &Path) -> Result<(), StorageError> {
    let new_directory = directory.join(DIRECTORY);
    let io = |source| StorageError::io(&new_directory, "compaction", source);
    if !vfs.exists(&new_directory).map_err(io)? {
        return Ok(());
    }
    if vfs.exists(&new_directory.join(MARKER_NAME)).map_err(io)? {
        for name in [Damage::DATA_FILE, META_NAME] {
            let path = new_directory.join(name);
            if vfs.exists(&path).map_err(io)? {
                vfs.rename(&path, &directory.join(name)).map_err(io)?;
            }
        }
        vfs.sync_directory(directory).map_err(io)?;
        vfs.sync_directory(&new_directory).map_err(io)?;
    }
    vfs.remove_directory(&new_directory).map_err(io)?;
    vfs.sync_directory(directory).map_err(io)
}

/// Where the file `name` of an environment is that opening would complete the compaction of first:
/// still in the new directory, or in its place.
pub(crate) fn current_path(
    vfs: &dyn Vfs,
    directory: &Path,
    name: &str,
) -> Result<PathBuf, StorageError> {
    let new_directory = directory.join(DIRECTORY);
    let io = |source| StorageError::io(&new_directory, "look-up", source);
    let path = new_directory.join(name);
    let is_pending = vfs.exists(&new_directory.join(MARKER_NAME)).map_err(io)?;
    match is_pending && vfs.exists(&path).map_err(io)? {
        true => Ok(path),
        false => Ok(directory.join(name)),
    }
}

fn mark_complete(vfs: &dyn Vfs, new_directory: &Path) -> Result<(), StorageError> {
    let path = new_directory.join(MARKER_NAME);
    let io = |source| StorageError::io(&path, "compaction", source);
    vfs.sync_directory(new_directory).map_err(io)?;
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    vfs.open(&path, options)
        .and_then(|marker| marker.sync())
        .map_err(io)?;
    vfs.sync_directory(new_directory).map_err(io)
}

fn copy_all(
    source: &ReadTransaction,
    target: &Environment,
    progress: Progress<'_>,
) -> Result<u64, CompactError> {
    let trees = source.trees()?;
    let total: u64 = trees.iter().map(|(_, root)| root.entry_count()).sum();
    let mut done = 0;
    for (name, root) in trees {
        let step = |count: u64| progress(done + count, total);
        done += match root.kind() {
            TreeKind::Tree => copy_tree(source, target, (&name, &root), &step)?,
            TreeKind::Fixed => copy_fixed(source, target, (&name, &root), &step)?,
            TreeKind::Multi => copy_multi(source, target, &name, &step)?,
        };
        progress(done, total);
    }
    Ok(done)
}

fn copy_tree(
    source: &ReadTransaction,
    target: &Environment,
    (name, root): (&str, &TreeRoot),
    step: &dyn Fn(u64),
) -> Result<u64, CompactError> {
    let Some(tree) = source.tree(name)? else {
        return Ok(0);
    };
    let mut entries = tree.iter()?;
    let mut done = 0;
    loop {
        let mut batch: Vec<(Vec<u8>, &[u8])> = Vec::new();
        let mut batch_bytes = 0;
        while batch_bytes < BATCH_BYTES
            && let Some(entry) = entries.next()
        {
            let (key, value) = entry?;
            batch_bytes += key.len() + value.len();
            batch.push((key.to_vec(), value));
        }
        let count = batch.len() as u64;
        let mut transaction = target.begin_write()?;
        let mut copy = if root.is_counted() {
            transaction.counted_tree_mut(name)?
        } else {
            transaction.tree_mut(name)?
        };
        copy.put_sorted(batch)?;
        transaction.commit()?;
        done += count;
        step(done);
        if count == 0 {
            return Ok(done);
        }
    }
}

fn copy_fixed(
    source: &ReadTransaction,
    target: &Environment,
    (name, root): (&str, &TreeRoot),
    step: &dyn Fn(u64),
) -> Result<u64, CompactError> {
    let Some(tree) = source.fixed_tree(name)? else {
        return Ok(0);
    };
    let mut entries = tree.iter()?;
    let mut done = 0;
    loop {
        let mut transaction = target.begin_write()?;
        let before = done;
        let mut batch_bytes = 0;
        let mut copy = transaction.fixed_tree_mut(name, root.value_width())?;
        while batch_bytes < BATCH_BYTES
            && let Some(entry) = entries.next()
        {
            let (key, value) = entry?;
            copy.put(key, value)?;
            batch_bytes += size_of::<u64>() + value.len();
            done += 1;
        }
        transaction.commit()?;
        step(done);
        if done == before {
            return Ok(done);
        }
    }
}

fn copy_multi(
    source: &ReadTransaction,
    target: &Environment,
    name: &str,
    step: &dyn Fn(u64),
) -> Result<u64, CompactError> {
    let Some(tree) = source.multi_tree(name)? else {
        return Ok(0);
    };
    let mut keys = tree.range(..)?;
    let mut done = 0;
    loop {
        let mut transaction = target.begin_write()?;
        let before = done;
        let mut batch_bytes = 0;
        let mut copy = transaction.multi_tree_mut(name)?;
        while batch_bytes < BATCH_BYTES
            && let Some(entry) = keys.next()
        {
            let (key, values) = entry?;
            let key = key.to_vec();
            for value in values {
                let value = value?;
                copy.add(&key, &value.to_vec())?;
                batch_bytes += key.len() + value.len();
            }
            done += 1;
        }
        transaction.commit()?;
        step(done);
        if done == before {
            return Ok(done);
        }
    }
}

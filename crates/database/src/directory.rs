//! Numbered directories of databases and indexes: which of them may be removed, and when.
//!
//! Invariants:
//! - Only a directory that holds the file [`MARK_NAME`] is ever removed when something is opened.
//!   The mark is durable before the first file of a new database, and before the catalog forgets
//!   one that a user deleted; it is removed when the creation is complete.
//! - The mark is the last file to go, so a removal that is interrupted is completed later.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackdaw_io::{OpenMode, OpenOptions, Vfs};

/// The file that marks a directory whose creation or deletion is under way.
pub(crate) const MARK_NAME: &str = "UNFINISHED";

/// A directory that is removed when its last user has dropped it, once it was deleted.
///
/// The last field of databases and indexes, so that their files are closed before.
pub(crate) struct Directory {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    is_deleted: AtomicBool,
}

impl Directory {
    pub(crate) fn new(vfs: Arc<dyn Vfs>, path: PathBuf) -> Directory {
        Directory {
            vfs,
            path,
            is_deleted: AtomicBool::new(false),
        }
    }

    /// Marks it, before whatever knows it forgets it.
    pub(crate) fn mark_deleted(&self) {
        mark_deleted(&*self.vfs, &self.path);
    }

    /// Removes it when this is dropped.
    pub(crate) fn delete_on_close(&self) {
        self.is_deleted.store(true, Ordering::Relaxed);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.is_deleted.load(Ordering::Relaxed) {
            remove_or_warn(&*self.vfs, &self.path);
        }
    }
}

/// Marks a directory, which is created if it is missing.
pub(crate) fn mark(vfs: &dyn Vfs, path: &Path) -> io::Result<()> {
    vfs.create_directory(path)?;
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    match vfs.open(&path.join(MARK_NAME), options) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    vfs.sync_directory(path)
}

/// Marks what is about to be deleted. Without the mark a crash would leave the directory behind,
/// to be reported as unknown, so failing to write one does not prevent the deletion.
pub(crate) fn mark_deleted(vfs: &dyn Vfs, path: &Path) {
    let marked = match vfs.exists(path) {
        Ok(true) => mark(vfs, path),
        Ok(false) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = marked {
        let path = path.display();
        tracing::warn!(%path, %error, "a directory could not be marked as deleted");
    }
}

/// Removes the mark; nothing happens without one.
pub(crate) fn unmark(vfs: &dyn Vfs, path: &Path) -> io::Result<()> {
    let mark = path.join(MARK_NAME);
    if !vfs.exists(&mark)? {
        return Ok(());
    }
    vfs.remove_file(&mark)?;
    vfs.sync_directory(path)
}

/// Removes a directory, its mark last.
pub(crate) fn remove(vfs: &dyn Vfs, path: &Path) -> io::Result<()> {
    if !vfs.exists(path)? {
        return Ok(());
    }
    for entry in vfs.list(path)? {
        let child = path.join(&entry.name);
        match entry.is_directory {
            _ if entry.name == MARK_NAME => {}
            true => vfs.remove_directory(&child)?,
            false => vfs.remove_file(&child)?,
        }
    }
    vfs.sync_directory(path)?;
    vfs.remove_directory(path)
}

/// Removes a directory that a user has deleted. What fails is done by the next opening.
pub(crate) fn remove_or_warn(vfs: &dyn Vfs, path: &Path) {
    if let Err(error) = remove(vfs, path) {
        let path = path.display();
        tracing::warn!(%path, %error, "a deleted directory stays on disk");
    }
}

/// Completes what was interrupted in `directory`: marked directories that are not `known` are
/// removed, and known ones lose their mark. Returns the unmarked unknown ones, which stay.
pub(crate) fn complete_interrupted(
    vfs: &dyn Vfs,
    directory: &Path,
    known: &HashSet<String>,
) -> io::Result<Vec<PathBuf>> {
    let mut unknown = Vec::new();
    for entry in vfs.list(directory)? {
        let path = directory.join(&entry.name);
        if !entry.is_directory {
            continue;
        }
        if known.contains(&entry.name) {
            unmark(vfs, &path)?;
        } else if is_numbered(&entry.name) && vfs.exists(&path.join(MARK_NAME))? {
            remove(vfs, &path)?;
        } else {
            unknown.push(path);
        }
    }
    unknown.sort_unstable();
    Ok(unknown)
}

/// The directories in `directory` that are neither `known` nor marked. Changes nothing.
pub(crate) fn unknown_in(
    vfs: &dyn Vfs,
    directory: &Path,
    known: &HashSet<String>,
) -> io::Result<Vec<PathBuf>> {
    if !vfs.exists(directory)? {
        return Ok(Vec::new());
    }
    let mut unknown = Vec::new();
    for entry in vfs.list(directory)? {
        let path = directory.join(&entry.name);
        let is_marked = is_numbered(&entry.name) && vfs.exists(&path.join(MARK_NAME))?;
        if entry.is_directory && !known.contains(&entry.name) && !is_marked {
            unknown.push(path);
        }
    }
    unknown.sort_unstable();
    Ok(unknown)
}

/// Whether a name is a number as this program writes them.
fn is_numbered(name: &str) -> bool {
    let number = name.parse::<u64>();
    number.is_ok_and(|number| number.to_string() == name)
}

/// Bytes of all files in and below a directory.
pub(crate) fn bytes_below(vfs: &dyn Vfs, path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in vfs.list(path)? {
        bytes += match entry.is_directory {
            true => bytes_below(vfs, &path.join(&entry.name))?,
            false => entry.len_bytes,
        };
    }
    Ok(bytes)
}

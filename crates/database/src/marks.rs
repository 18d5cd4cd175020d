//! Marks in the directories of databases and indexes that are being made or removed.
//!
//! `set` and `indexes::set` write `creating.tmp` into a new directory before anything else and
//! remove it once what names the directory (the catalog, a definition) is durable. They write
//! `deleting.tmp` once that name is durably gone. Only a marked directory without a name is
//! removed at open: any other one may hold data that an older catalog, a copy or a mistake has
//! cut off from its name.
//!
//! Invariants:
//! - A directory that was ever answered as created has no `creating.tmp`, durably.
//! - `deleting.tmp` is never in a directory that a durable name leads to.

use std::io;
use std::path::{Path, PathBuf};

use jackdaw_io::{OpenMode, OpenOptions, Vfs};

const CREATING: &str = "creating.tmp";
const DELETING: &str = "deleting.tmp";

/// A directory under a number that nothing names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownDirectory {
    /// Its number, which is its name.
    pub number: u64,
    /// Where it is.
    pub path: PathBuf,
    /// Whether it is an interrupted creation or removal, which the next opening completes.
    pub is_unfinished: bool,
}

/// Makes a directory with the mark of a creation in it.
pub(crate) fn begin_creation(vfs: &dyn Vfs, directory: &Path) -> io::Result<()> {
    vfs.create_directory(directory)?;
    mark(vfs, directory, CREATING)
}

/// Removes the mark of a creation, durably.
pub(crate) fn end_creation(vfs: &dyn Vfs, directory: &Path) -> io::Result<()> {
    unmark(vfs, directory, CREATING)
}

/// Marks a directory as to be removed.
pub(crate) fn begin_deletion(vfs: &dyn Vfs, directory: &Path) -> io::Result<()> {
    mark(vfs, directory, DELETING)
}

/// Removes both marks from a directory that is named.
pub(crate) fn clear(vfs: &dyn Vfs, directory: &Path) -> io::Result<()> {
    unmark(vfs, directory, CREATING)?;
    unmark(vfs, directory, DELETING)
}

/// Whether the creation of what is in the directory has not ended.
pub(crate) fn is_being_created(vfs: &dyn Vfs, directory: &Path) -> io::Result<bool> {
    vfs.exists(&directory.join(CREATING))
}

/// Whether it has a mark.
pub(crate) fn is_marked(vfs: &dyn Vfs, directory: &Path) -> io::Result<bool> {
    Ok(vfs.exists(&directory.join(CREATING))? || vfs.exists(&directory.join(DELETING))?)
}

/// Directories in `parent` under numbers that `is_known` does not accept, by number; without empty
/// ones.
pub(crate) fn unknown(
    vfs: &dyn Vfs,
    parent: &Path,
    is_known: impl Fn(u64) -> bool,
) -> io::Result<Vec<UnknownDirectory>> {
    let mut found = Vec::new();
    if !vfs.exists(parent)? {
        return Ok(found);
    }
    for entry in vfs.list(parent)? {
        let Some(number) = number_of(&entry.name).filter(|_| entry.is_directory) else {
            continue;
        };
        if !is_known(number) {
            let path = parent.join(&entry.name);
            if vfs.list(&path)?.is_empty() {
                // Left by power loss in the middle of a creation or removal, or a mount point.
                continue;
            }
            found.push(UnknownDirectory {
                number,
                is_unfinished: is_marked(vfs, &path)?,
                path,
            });
        }
    }
    found.sort_unstable_by_key(|unknown| unknown.number);
    Ok(found)
}

/// Removes the unfinished ones of `found` and reports the others, which stay.
pub(crate) fn complete(
    vfs: &dyn Vfs,
    found: Vec<UnknownDirectory>,
    what: &str,
) -> io::Result<Vec<UnknownDirectory>> {
    let (unfinished, left): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.is_unfinished);
    for one in unfinished {
        tracing::info!(path = %one.path.display(), what, "an unfinished directory is removed");
        remove(vfs, &one.path)?;
    }
    for one in &left {
        let path = one.path.display();
        tracing::warn!(%path, what, "a directory that nothing names is left alone");
    }
    Ok(left)
}

/// Removes a marked directory. The mark goes last, so that power loss leaves it, or nothing else.
pub(crate) fn remove(vfs: &dyn Vfs, directory: &Path) -> io::Result<()> {
    for entry in vfs.list(directory)? {
        let path = directory.join(&entry.name);
        if entry.is_directory {
            vfs.remove_directory(&path)?;
        } else if entry.name != CREATING && entry.name != DELETING {
            vfs.remove_file(&path)?;
        }
    }
    vfs.sync_directory(directory)?;
    vfs.remove_directory(directory)
}

/// The number that is written as `name`; `None` for `07` or `+7`.
fn number_of(name: &str) -> Option<u64> {
    let number = name.parse::<u64>().ok()?;
    (number.to_string() == name).then_some(number)
}

fn mark(vfs: &dyn Vfs, directory: &Path, name: &str) -> io::Result<()> {
    let path = directory.join(name);
    if !vfs.exists(&path)? {
        let options = OpenOptions {
            mode: OpenMode::CreateNew,
            direct: false,
        };
        vfs.open(&path, options)?;
    }
    vfs.sync_directory(directory)
}

fn unmark(vfs: &dyn Vfs, directory: &Path, name: &str) -> io::Result<()> {
    let path = directory.join(name);
    if !vfs.exists(&path)? {
        return Ok(());
    }
    vfs.remove_file(&path)?;
    vfs.sync_directory(directory)
}

//! Where backups go, and what a restore reads and makes: directories that are missing, empty, or
//! were begun by the same work, without symbolic links.
//!
//! Called by `backup`, and by the server for what its clients name. Invariants:
//! - Nothing is written into a directory, and nothing in it removed, before a mark in it says that
//!   it is ours; a mark is only made in an empty one.
//! - One backup or restore at a time has a directory, across processes: it holds a lock in it.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use jackdaw_io::{FileLock, NameKind, OpenMode, OpenOptions, Vfs};
use jackdaw_storage::{BackupError, StorageError};

use crate::backup::BackupKind;
use crate::set::{BACKUPS_DIRECTORY, CATALOG_DIRECTORY, DATABASES_DIRECTORY, DatabaseSet};

/// Marks a directory as that of a backup of databases that is under way; removed last.
const BACKUP_MARK: &str = "backup.unfinished";
/// Marks a directory as that of a restore that is under way; removed last. Locked meanwhile.
const RESTORE_MARK: &str = "restore.tmp";
/// Held while a backup is written. It stays, and is in environments that were opened.
const LOCK_NAME: &str = "LOCK";
/// The record of a complete backup of an environment.
const RECORD_NAME: &str = "backup";
/// Where the catalog is restored to first, to know which databases it wants.
pub(crate) const PREVIEW_DIRECTORY: &str = "restore.catalog";

impl DatabaseSet {
    /// The place that a client of this machine's server named for a backup: below one of the
    /// directories `allowed`, below the first when it is relative, and not through symbolic links.
    /// `allowed` are absolute.
    ///
    /// # Errors
    /// [`BackupError::NotAllowed`], [`BackupError::Link`], [`BackupError::NotADirectory`].
    pub fn backup_place(&self, to: &Path, allowed: &[PathBuf]) -> Result<PathBuf, BackupError> {
        let not_allowed = || BackupError::NotAllowed {
            path: to.to_owned(),
            allowed: allowed
                .iter()
                .map(|one| one.display().to_string())
                .collect::<Vec<_>>()
                .join(" or "),
        };
        let mut names = to.components();
        if names.any(|name| matches!(name, Component::ParentDir)) {
            return Err(not_allowed());
        }
        let below = |outer: &PathBuf| match to.is_absolute() {
            true => Some((outer.clone(), to.strip_prefix(outer).ok()?)),
            false => Some((outer.clone(), to)),
        };
        let found = allowed.iter().find_map(below);
        let (mut place, rest) = found.ok_or_else(not_allowed)?;
        let is_whole = |name: &Component<'_>| matches!(name, Component::Normal(_));
        if !rest.components().any(|name| is_whole(&name)) {
            return Err(not_allowed());
        }
        for name in rest.components().filter(is_whole) {
            place.push(name);
            is_directory(&**self.vfs(), &place)?;
        }
        Ok(place)
    }
}

/// The directory of a backup, locked.
pub(crate) struct BackupTarget<'t> {
    vfs: &'t dyn Vfs,
    to: &'t Path,
    _lock: Box<dyn FileLock>,
}

impl<'t> BackupTarget<'t> {
    /// Takes the directory `to` for a backup of what is in `data`.
    pub(crate) fn take(
        vfs: &'t dyn Vfs,
        to: &'t Path,
        kind: BackupKind,
        data: &Path,
    ) -> Result<BackupTarget<'t>, BackupError> {
        check_outside(vfs, to, data)?;
        check_target(vfs, to, kind)?;
        // As a whole, before its parts: it may be encrypted with a key of its own.
        let create = vfs.create_portable_directory(to);
        create.map_err(|source| io(to, "creation", source))?;
        let lock = lock(vfs, to, LOCK_NAME)?;
        // Another one may have ended since.
        check_target(vfs, to, kind)?;
        if kind == BackupKind::Full {
            mark(vfs, to, BACKUP_MARK)?;
        }
        let _lock = lock;
        Ok(BackupTarget { vfs, to, _lock })
    }

    /// Says that the backup is complete.
    pub(crate) fn complete(self) -> Result<(), BackupError> {
        unmark(self.vfs, self.to, BACKUP_MARK)
    }
}

/// Refuses places inside of the data directory, but those below its directory for backups.
fn check_outside(vfs: &dyn Vfs, to: &Path, data: &Path) -> Result<(), BackupError> {
    let place = resolve(vfs, to)?;
    let data = resolve(vfs, data)?;
    let backups = data.join(BACKUPS_DIRECTORY);
    let is_for_backups = place.starts_with(&backups) && place != backups;
    match place.starts_with(&data) && !is_for_backups {
        true => Err(BackupError::Inside {
            path: to.to_owned(),
            outer: data,
        }),
        false => Ok(()),
    }
}

/// Refuses directories that are neither empty nor ours.
fn check_target(vfs: &dyn Vfs, to: &Path, kind: BackupKind) -> Result<(), BackupError> {
    let is_there = is_directory(vfs, to)?;
    if is_there {
        refuse_links(vfs, to)?;
    }
    let is_file = |path: &Path| Ok::<_, BackupError>(kind_of(vfs, path)? == NameKind::File);
    let is_complete = is_there && is_file(&to.join(CATALOG_DIRECTORY).join(RECORD_NAME))?;
    let exists = || BackupError::TargetExists {
        path: to.to_owned(),
    };
    match kind {
        BackupKind::Increment if !is_complete => Err(BackupError::NotABackup {
            path: to.to_owned(),
        }),
        BackupKind::Increment => Ok(()),
        BackupKind::Full if !is_there || is_file(&to.join(BACKUP_MARK))? => Ok(()),
        BackupKind::Full if is_complete => Err(exists()),
        BackupKind::Full => {
            let entries = vfs.list(to).map_err(|source| io(to, "listing", source))?;
            let is_empty = entries.iter().all(|entry| entry.name == LOCK_NAME);
            is_empty.then_some(()).ok_or_else(exists)
        }
    }
}

/// Refuses a backup that is not there, or holds symbolic links.
pub(crate) fn check_source(vfs: &dyn Vfs, from: &Path) -> Result<(), BackupError> {
    match kind_of(vfs, from)? {
        NameKind::Missing => Err(BackupError::NotABackup {
            path: from.to_owned(),
        }),
        NameKind::File | NameKind::Other => Err(BackupError::NotADirectory {
            path: from.to_owned(),
        }),
        // One that was named, such as that of the newest backup.
        NameKind::Directory | NameKind::Link => refuse_links(vfs, from),
    }
}

/// The directory that a restore makes, locked.
pub(crate) struct RestoreTarget<'t> {
    vfs: &'t dyn Vfs,
    to: &'t Path,
    _lock: Box<dyn FileLock>,
}

impl<'t> RestoreTarget<'t> {
    /// Makes the directory, or empties one in which a restore was interrupted, and marks it.
    pub(crate) fn take(
        vfs: &'t dyn Vfs,
        from: &Path,
        to: &'t Path,
    ) -> Result<RestoreTarget<'t>, BackupError> {
        let backup = resolve(vfs, from)?;
        if resolve(vfs, to)?.starts_with(&backup) {
            return Err(BackupError::Inside {
                path: to.to_owned(),
                outer: backup,
            });
        }
        let is_there = is_directory(vfs, to)?;
        let is_marked = is_there && kind_of(vfs, &to.join(RESTORE_MARK))? == NameKind::File;
        let exists = || BackupError::TargetExists {
            path: to.to_owned(),
        };
        let io = |source| io(to, "creation", source);
        if is_there && !is_marked && !vfs.list(to).map_err(io)?.is_empty() {
            return Err(exists());
        }
        vfs.create_directory(to).map_err(io)?;
        let lock = lock(vfs, to, RESTORE_MARK)?;
        if is_marked {
            refuse_links(vfs, to)?;
            // What was opened since is data, whatever the mark says.
            if was_opened(vfs, to)? {
                return Err(exists());
            }
            for name in [DATABASES_DIRECTORY, CATALOG_DIRECTORY, PREVIEW_DIRECTORY] {
                let left_over = to.join(name);
                if kind_of(vfs, &left_over)? == NameKind::Directory {
                    vfs.remove_directory(&left_over).map_err(io)?;
                }
            }
        }
        mark(vfs, to, RESTORE_MARK)?;
        let _lock = lock;
        Ok(RestoreTarget { vfs, to, _lock })
    }

    /// Says that the restore is complete.
    pub(crate) fn complete(self) -> Result<(), BackupError> {
        unmark(self.vfs, self.to, RESTORE_MARK)
    }
}

/// Whether a restore into `directory` was interrupted.
pub(crate) fn is_half_restored(vfs: &dyn Vfs, directory: &Path) -> bool {
    vfs.exists(&directory.join(RESTORE_MARK))
        .is_ok_and(|exists| exists)
}

/// Whether the catalog or a database in a directory was opened: then its lock file is there.
fn was_opened(vfs: &dyn Vfs, to: &Path) -> Result<bool, BackupError> {
    let mut left: Vec<_> = [CATALOG_DIRECTORY, DATABASES_DIRECTORY]
        .map(|name| to.join(name))
        .into();
    while let Some(directory) = left.pop() {
        if kind_of(vfs, &directory)? != NameKind::Directory {
            continue;
        }
        let entries = vfs.list(&directory);
        for entry in entries.map_err(|source| io(&directory, "listing", source))? {
            match entry.is_directory {
                true => left.push(directory.join(&entry.name)),
                false if entry.name == LOCK_NAME => return Ok(true),
                false => {}
            }
        }
    }
    Ok(false)
}

/// Whether there is a directory; what else is there is refused.
fn is_directory(vfs: &dyn Vfs, path: &Path) -> Result<bool, BackupError> {
    match kind_of(vfs, path)? {
        NameKind::Missing => Ok(false),
        NameKind::Directory => Ok(true),
        NameKind::Link => Err(BackupError::Link {
            path: path.to_owned(),
        }),
        NameKind::File | NameKind::Other => Err(BackupError::NotADirectory {
            path: path.to_owned(),
        }),
    }
}

/// Refuses symbolic links and special files in a directory and below.
fn refuse_links(vfs: &dyn Vfs, directory: &Path) -> Result<(), BackupError> {
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        let entries = vfs.list(&directory);
        for entry in entries.map_err(|source| io(&directory, "listing", source))? {
            let path = directory.join(&entry.name);
            match kind_of(vfs, &path)? {
                NameKind::Directory => left.push(path),
                NameKind::Link | NameKind::Other => return Err(BackupError::Link { path }),
                NameKind::File | NameKind::Missing => {}
            }
        }
    }
    Ok(())
}

fn kind_of(vfs: &dyn Vfs, path: &Path) -> Result<NameKind, BackupError> {
    vfs.kind(path).map_err(|source| match source.kind() {
        ErrorKind::NotADirectory => BackupError::NotADirectory {
            path: path.parent().unwrap_or(path).to_owned(),
        },
        _ => io(path, "look-up", source),
    })
}

fn resolve(vfs: &dyn Vfs, path: &Path) -> Result<PathBuf, BackupError> {
    vfs.resolve(path)
        .map_err(|source| io(path, "look-up", source))
}

fn lock(vfs: &dyn Vfs, directory: &Path, name: &str) -> Result<Box<dyn FileLock>, BackupError> {
    let lock = vfs.lock(&directory.join(name));
    lock.map_err(|source| match source.kind() {
        ErrorKind::WouldBlock => BackupError::Busy {
            path: directory.to_owned(),
        },
        _ => io(directory, "lock", source),
    })
}

fn mark(vfs: &dyn Vfs, directory: &Path, name: &str) -> Result<(), BackupError> {
    let path = directory.join(name);
    let marked = || {
        if !vfs.exists(&path)? {
            let options = OpenOptions {
                mode: OpenMode::CreateNew,
                direct: false,
            };
            vfs.open(&path, options)?;
        }
        vfs.sync_directory(directory)
    };
    marked().map_err(|source| io(directory, "creation", source))
}

fn unmark(vfs: &dyn Vfs, directory: &Path, name: &str) -> Result<(), BackupError> {
    let path = directory.join(name);
    let unmarked = || {
        if vfs.exists(&path)? {
            vfs.remove_file(&path)?;
        }
        vfs.sync_directory(directory)
    };
    unmarked().map_err(|source| io(directory, "removal", source))
}

fn io(path: &Path, operation: &'static str, source: std::io::Error) -> BackupError {
    match source.kind() {
        ErrorKind::NotADirectory => BackupError::NotADirectory {
            path: path.to_owned(),
        },
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => BackupError::NoSpace {
            path: path.to_owned(),
        },
        _ => StorageError::io(path, operation, source).into(),
    }
}

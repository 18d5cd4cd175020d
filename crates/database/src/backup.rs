//! Backups of a data directory: its catalog and the documents of each database. Indexes are left
//! out; they are built again from the documents.
//!
//! Each environment is backed up as of a transaction of its own, so databases may differ by the
//! time that the others took.
//!
//! Invariants:
//! - The catalog comes last, while no database is created or deleted: what it knows is there.
//! - A restored directory has its catalog last; before that a marker says that it is not complete.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::{OpenMode, OpenOptions, Vfs};
use jackdaw_storage::{
    BackupError, BackupReport, Environment, Options, Progress, RestorePoint, StorageError, restore,
};

use crate::database::DOCUMENTS_DIRECTORY;
use crate::set::{CATALOG_DIRECTORY, DATABASES_DIRECTORY, DatabaseSet, numbers_in};

/// Says that an interrupted restore left the directory; removed last.
const MARKER_NAME: &str = "restore.tmp";
/// Where the catalog is restored to first, to know which databases it wants.
const PREVIEW_DIRECTORY: &str = "restore.catalog";

/// What a backup or restore of a data directory did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetBackupReport {
    /// Databases.
    pub databases: u64,
    /// Transactions that increments hold, added or replayed.
    pub transactions: u64,
    /// Bytes written to a backup.
    pub bytes: u64,
}

/// How a data directory is backed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKind {
    /// Everything, into a directory that is missing or was left by an interruption.
    Full,
    /// What was written since, into a full backup; databases that are new are copied as a whole.
    Increment,
}

/// What to show of a backup that runs: the part under way, bytes done, bytes in all.
pub type SetProgress<'p> = &'p dyn Fn(&str, u64, u64);

impl DatabaseSet {
    /// Backs up the catalog and the documents of all databases, while they are used.
    ///
    /// # Errors
    /// See [`BackupError`]. An interrupted backup is completed by the same call.
    pub fn back_up(
        &self,
        to: &Path,
        kind: BackupKind,
        progress: SetProgress<'_>,
    ) -> Result<SetBackupReport, BackupError> {
        let catalog_to = to.join(CATALOG_DIRECTORY);
        let is_there = |path: &Path| {
            let exists = self.vfs().exists(path);
            exists.map_err(|source| StorageError::io(path, "look-up", source))
        };
        match (kind, is_there(&catalog_to.join("backup"))?) {
            (BackupKind::Full, true) => {
                return Err(BackupError::TargetExists {
                    path: to.to_owned(),
                });
            }
            (BackupKind::Increment, false) => {
                return Err(BackupError::NotABackup {
                    path: to.to_owned(),
                });
            }
            (BackupKind::Full, false) => {
                // As a whole, before its parts: it may be encrypted with a key of its own.
                let create = self.vfs().create_directory(to);
                create.map_err(|source| StorageError::io(to, "creation", source))?;
            }
            (BackupKind::Increment, true) => {}
        }
        let mut report = SetBackupReport::default();
        let mut done = Vec::new();
        loop {
            let changing = self.hold_changes();
            let next = self
                .numbered()
                .into_iter()
                .find(|(number, _)| !done.contains(number));
            let Some((number, name)) = next else {
                let part = "catalog";
                let step = |at, of| progress(part, at, of);
                report.add(back_up_environment(self.catalog(), &catalog_to, &step)?);
                report.databases = done.len() as u64;
                return Ok(report);
            };
            drop(changing);
            done.push(number);
            let path = documents_of(to, number);
            let step = |at, of| progress(&name, at, of);
            let made = self.with_documents(number, |documents| {
                back_up_environment(documents, &path, &step)
            })?;
            made.into_iter().for_each(|made| report.add(made));
        }
    }
}

impl SetBackupReport {
    fn add(&mut self, report: BackupReport) {
        self.transactions += report.transactions;
        self.bytes += report.bytes;
    }
}

fn documents_of(directory: &Path, number: u64) -> PathBuf {
    directory
        .join(DATABASES_DIRECTORY)
        .join(number.to_string())
        .join(DOCUMENTS_DIRECTORY)
}

/// Brings the backup in `to` up to date, or makes it.
fn back_up_environment(
    environment: &Environment,
    to: &Path,
    progress: Progress<'_>,
) -> Result<BackupReport, BackupError> {
    match environment.backup_increment(to) {
        Err(BackupError::NotABackup { .. }) => environment.backup(to, progress),
        outcome => outcome,
    }
}

/// Makes a data directory in `to`, which must be missing or empty, from a backup of one.
///
/// A point in time is the same for all databases; one that did not exist then is left out.
///
/// # Errors
/// See [`BackupError`]. An interrupted restore is begun anew by the same call.
pub fn restore_set(
    vfs: &Arc<dyn Vfs>,
    from: &Path,
    to: &Path,
    point: RestorePoint,
    progress: SetProgress<'_>,
) -> Result<SetBackupReport, BackupError> {
    let io = |source| StorageError::io(to, "creation", source);
    prepare_target(&**vfs, to).map_err(io)??;
    let (catalog_from, preview) = (from.join(CATALOG_DIRECTORY), to.join(PREVIEW_DIRECTORY));
    let quiet = |_, _| {};
    restore(&**vfs, &catalog_from, &preview, point, &quiet)?;
    let mut report = SetBackupReport::default();
    let catalog = Environment::open(Arc::clone(vfs), &preview, Options::small())?;
    let damaged = |error: crate::error::OpenError| {
        BackupError::from(StorageError::io(
            &preview,
            "reading",
            std::io::Error::other(error.to_string()),
        ))
    };
    let wanted = numbers_in(&catalog).map_err(damaged)?;
    drop(catalog);
    for (number, name) in wanted {
        let step = |at, of| progress(&name, at, of);
        let (from, to) = (documents_of(from, number), documents_of(to, number));
        let restored = restore(&**vfs, &from, &to, point, &step)?;
        report.databases += 1;
        report.transactions += restored.transactions;
    }
    vfs.remove_directory(&preview).map_err(io)?;
    let catalog_to = to.join(CATALOG_DIRECTORY);
    report.transactions += restore(&**vfs, &catalog_from, &catalog_to, point, &quiet)?.transactions;
    vfs.remove_file(&to.join(MARKER_NAME)).map_err(io)?;
    vfs.sync_directory(to).map_err(io)?;
    Ok(report)
}

/// Makes the directory, or empties one in which a restore was interrupted, and marks it as such.
fn prepare_target(vfs: &dyn Vfs, to: &Path) -> std::io::Result<Result<(), BackupError>> {
    let marker = to.join(MARKER_NAME);
    vfs.create_directory(to)?;
    if vfs.exists(&marker)? {
        for name in [DATABASES_DIRECTORY, CATALOG_DIRECTORY, PREVIEW_DIRECTORY] {
            let left_over = to.join(name);
            if vfs.exists(&left_over)? {
                vfs.remove_directory(&left_over)?;
            }
        }
        vfs.sync_directory(to)?;
        return Ok(Ok(()));
    }
    if !vfs.list(to)?.is_empty() {
        return Ok(Err(BackupError::TargetExists {
            path: to.to_owned(),
        }));
    }
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    vfs.open(&marker, options)?;
    vfs.sync_directory(to)?;
    Ok(Ok(()))
}

/// Whether a restore into `directory` was interrupted.
pub(crate) fn is_half_restored(vfs: &dyn Vfs, directory: &Path) -> bool {
    vfs.exists(&directory.join(MARKER_NAME))
        .is_ok_and(|exists| exists)
}

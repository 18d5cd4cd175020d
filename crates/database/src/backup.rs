//! Backups of a data directory: its catalog and the documents of each database. Indexes are left
//! out; they are built again from the documents.
//!
//! Each environment is backed up as of a transaction of its own, so databases may differ by the
//! time that the others took.
//!
//! Invariants:
//! - The catalog comes last, while no database is created or deleted: what it knows is there.
//! - A restored directory has its catalog last; before that a mark says that it is not complete.
//! - What may be written to is `backup_places`' matter.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_storage::{
    BackupError, BackupReport, Environment, Options, Progress, RestorePoint, StorageError, restore,
};

use crate::backup_places::{BackupTarget, PREVIEW_DIRECTORY, RestoreTarget, check_source};
use crate::database::DOCUMENTS_DIRECTORY;
use crate::set::{CATALOG_DIRECTORY, DATABASES_DIRECTORY, DatabaseSet, numbers_in};

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
        let target = BackupTarget::take(&**self.vfs(), to, kind, self.directory())?;
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
                target.complete()?;
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
    check_source(&**vfs, from)?;
    let target = RestoreTarget::take(&**vfs, from, to)?;
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
    target.complete()?;
    Ok(report)
}

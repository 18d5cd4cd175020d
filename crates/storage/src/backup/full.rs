//! A full backup of an open environment.
//!
//! Writers, readers and flushes go on; only journal files that the copy may need are not used
//! again before it is done.

use std::path::Path;

use jackdaw_io::{OpenMode, OpenOptions, Vfs};

use super::record::{BackupRecord, TEMPORARY_NAME};
use super::{BackupError, BackupReport, JOURNAL_DIRECTORY, PAGES_NAME, Progress, files};
use crate::environment::{OVERLAY_BYTES_MAX, Places, Shared, recover};
use crate::error::{Damage, DamageKind, StorageError};
use crate::journal::{JournalHold, journal_name};
use crate::meta::Meta;
use crate::page::PAGE_BYTES;

impl Shared {
    /// Makes a full backup in the directory `to`, which must be missing or empty.
    pub(crate) fn back_up(
        &self,
        to: &Path,
        progress: Progress<'_>,
    ) -> Result<BackupReport, BackupError> {
        let vfs = &*self.vfs;
        prepare_target(vfs, to)?;
        let pages_path = to.join(PAGES_NAME);
        let target = files::create(vfs, &pages_path)?;
        // Before the hold ends, so that what follows the backup is kept for its increments.
        self.journal.start_archive();
        let (meta, hold) = self.hold_synced_state()?;
        let data_path = self.directory.join(Damage::DATA_FILE);
        let len_bytes = self.end_of_values_in_place(meta.page_count) * PAGE_BYTES as u64;
        let mut bytes = files::copy(
            (&*self.data_file, &data_path),
            (&*target, &pages_path),
            len_bytes,
            progress,
        )?;
        let unix_nanos = vfs.unix_nanos();
        // Flushes write only what is visible, so nothing behind this reached the copy.
        let end = self.visible();
        let journal_directory = self.directory.join(crate::journal::JOURNAL_DIRECTORY);
        let places = Places {
            directory: to,
            journal_directory: &journal_directory,
            data_file: &*target,
            overlay_bytes_max: OVERLAY_BYTES_MAX,
        };
        let (meta, report) = recover(vfs, &places, &meta, &|transaction, _| transaction <= end)?;
        drop(hold);
        if meta.position.transaction != end {
            let damage = Damage {
                file: journal_name(meta.position.number).into(),
                page: None,
                what: DamageKind::Encoding {
                    what: "a journal record that was durable",
                },
            };
            return Err(StorageError::from(damage).into());
        }
        bytes += report.pages * PAGE_BYTES as u64;
        files::verify(
            &*target,
            &pages_path,
            meta.salt,
            meta.page_count,
            &|_, _| {},
        )?;
        let sync = |source| BackupError::io(to, "sync", source);
        target.sync().map_err(sync)?;
        vfs.create_directory(&to.join(JOURNAL_DIRECTORY))
            .map_err(sync)?;
        vfs.sync_directory(to).map_err(sync)?;
        BackupRecord::write(vfs, to, &meta, unix_nanos)?;
        Ok(BackupReport {
            transaction: end,
            transactions: report.transactions,
            bytes,
        })
    }

    /// Pages of the data file that the journal may need: those of the synced state, and values that
    /// were written in place behind them. From now on there are no more of these.
    fn end_of_values_in_place(&self, synced_pages: u64) -> u64 {
        // Whoever decided on one before the hold has handed it over when this is unlocked.
        let end = self.in_place.lock().end();
        self.write_sealed();
        end.max(synced_pages)
    }

    /// The state that the data file holds durably, and the journal behind it held back.
    fn hold_synced_state(&self) -> Result<(Meta, JournalHold<'_>), BackupError> {
        let state = self.lock_flush();
        if let Some(refusal) = self.refusal() {
            return Err(refusal.into());
        }
        let meta = state.meta.clone();
        let hold = self.journal.hold(meta.position.transaction);
        Ok((meta, hold))
    }
}

/// Makes the directory of a backup and marks it, or takes one in which an earlier attempt was
/// interrupted: the mark says so.
fn prepare_target(vfs: &dyn Vfs, to: &Path) -> Result<(), BackupError> {
    let io = |source| BackupError::io(to, "creation", source);
    vfs.create_directory(to).map_err(io)?;
    let entries = vfs.list(to).map_err(io)?;
    if entries.is_empty() {
        let options = OpenOptions {
            mode: OpenMode::CreateNew,
            direct: false,
        };
        vfs.open(&to.join(TEMPORARY_NAME), options).map_err(io)?;
        return vfs.sync_directory(to).map_err(io);
    }
    let is_marked = entries.iter().any(|entry| entry.name == TEMPORARY_NAME);
    let is_known = |name: &str| [PAGES_NAME, JOURNAL_DIRECTORY, TEMPORARY_NAME].contains(&name);
    if is_marked && entries.iter().all(|entry| is_known(&entry.name)) {
        return Ok(());
    }
    Err(BackupError::TargetExists {
        path: to.to_owned(),
    })
}

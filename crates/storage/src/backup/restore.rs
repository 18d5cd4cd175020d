//! Restoring: an environment from a backup, as of its end or of a point in its increments.

use std::path::Path;

use jackdaw_io::{OpenMode, OpenOptions, Vfs};

use super::record::BackupRecord;
use super::{
    BackupError, JOURNAL_DIRECTORY, PAGES_NAME, Progress, RestorePoint, RestoreReport, files,
};
use crate::environment::{OVERLAY_BYTES_MAX, Places, recover};
use crate::error::Damage;
use crate::meta::{META_NAME, META_TEMPORARY_NAME, Meta, MetaFile};
use crate::page::PAGE_BYTES;

/// Is there when the environment was opened: then it is nothing left over.
const LOCK_NAME: &str = "LOCK";
/// Says that an interrupted restore left the directory; removed last.
const MARKER_NAME: &str = "restore.tmp";

/// Makes an environment in `to`, which must be missing or empty, from the backup in `from`. The
/// backup is only read. Every page is verified before the environment exists.
///
/// # Errors
/// See [`BackupError`]; what was written is begun anew by the same call.
pub fn restore(
    vfs: &dyn Vfs,
    from: &Path,
    to: &Path,
    point: RestorePoint,
    progress: Progress<'_>,
) -> Result<RestoreReport, BackupError> {
    let record = BackupRecord::read(vfs, from)?;
    let base = record.meta();
    let is_too_early = match point {
        RestorePoint::Latest => false,
        RestorePoint::Transaction(wanted) => wanted < base.position.transaction,
        RestorePoint::Time(wanted) => wanted < record.unix_nanos(),
    };
    if is_too_early {
        return Err(BackupError::TooEarly {
            path: from.to_owned(),
        });
    }
    prepare_target(vfs, to)?;
    let (pages_path, data_path) = (from.join(PAGES_NAME), to.join(Damage::DATA_FILE));
    let source = files::open_to_read(vfs, &pages_path)?;
    let target = files::create(vfs, &data_path)?;
    let len_bytes = base.page_count * PAGE_BYTES as u64;
    files::copy(
        (&*source, &pages_path),
        (&*target, &data_path),
        len_bytes,
        progress,
    )?;
    let is_wanted = |transaction: u64, unix_nanos: u64| match point {
        RestorePoint::Latest => true,
        RestorePoint::Transaction(last) => transaction <= last,
        RestorePoint::Time(last) => unix_nanos <= last,
    };
    let journal = from.join(JOURNAL_DIRECTORY);
    let places = Places {
        directory: to,
        journal_directory: &journal,
        data_file: &*target,
        overlay_bytes_max: OVERLAY_BYTES_MAX,
    };
    let (meta, replayed) = recover(vfs, &places, &base, &is_wanted)?;
    let pages = files::verify(&*target, &data_path, meta.salt, meta.page_count, &|_, _| {})?;
    let io = |source| BackupError::io(to, "sync", source);
    target.sync().map_err(io)?;
    vfs.create_directory(&to.join(crate::journal::JOURNAL_DIRECTORY))
        .map_err(io)?;
    vfs.sync_directory(to).map_err(io)?;
    let meta = Meta {
        is_clean: true,
        ..meta
    };
    MetaFile::create(vfs, to, &meta)?;
    vfs.remove_file(&to.join(MARKER_NAME)).map_err(io)?;
    vfs.sync_directory(to).map_err(io)?;
    Ok(RestoreReport {
        transaction: meta.position.transaction,
        transactions: replayed.transactions,
        pages,
    })
}

/// Makes the directory, or takes one in which a restore was interrupted, and marks it as such.
fn prepare_target(vfs: &dyn Vfs, to: &Path) -> Result<(), BackupError> {
    let io = |source| BackupError::io(to, "creation", source);
    let marker = to.join(MARKER_NAME);
    vfs.create_directory(to).map_err(io)?;
    let entries = vfs.list(to).map_err(io)?;
    let is_left_over = entries.iter().any(|entry| entry.name == MARKER_NAME)
        && entries.iter().all(|entry| entry.name != LOCK_NAME);
    if !entries.is_empty() && !is_left_over {
        return Err(BackupError::TargetExists {
            path: to.to_owned(),
        });
    }
    if entries.is_empty() {
        let options = OpenOptions {
            mode: OpenMode::CreateNew,
            direct: false,
        };
        vfs.open(&marker, options).map_err(io)?;
        vfs.sync_directory(to).map_err(io)?;
    }
    for name in [META_NAME, META_TEMPORARY_NAME] {
        let left_over = to.join(name);
        if vfs.exists(&left_over).map_err(io)? {
            vfs.remove_file(&left_over).map_err(io)?;
        }
    }
    vfs.sync_directory(to).map_err(io)
}

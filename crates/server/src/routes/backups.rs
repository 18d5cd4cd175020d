//! `POST /jackdaw/backup?to=NAME&increment=true`: backs up all databases into a directory of the
//! server's machine, while they are used. Answers when every page of it was verified, with
//! `{"Directory": path, "Databases": n, "Transactions": n, "Bytes": n}`.
//!
//! The directory is below one of those that the server was started with for backups; a relative
//! name is below the first. One backup at a time.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::TryLockError;

use jackdaw_database::{BackupError, BackupKind, StorageError};
use serde_json::json;

use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

/// `POST /jackdaw/backup`
pub(super) fn back_up(call: &Call) -> Outcome {
    let query = call.query();
    let to = query
        .filled("to")
        .ok_or_else(|| WireError::empty_parameter("to"))?;
    call.objects.add(&to);
    let refused = |message: &str| WireError::new(kind::INVALID_OPERATION, message.to_owned());
    let config = &call.shared.config;
    if config.is_in_memory {
        return Err(refused(
            "The databases of this server are in memory; export them instead.",
        ));
    }
    if config.backup_directories.is_empty() {
        return Err(refused(
            "This server has no directory for backups; start it with --backups DIR.",
        ));
    }
    let databases = &call.shared.databases;
    let to = databases
        .backup_place(Path::new(&*to), &config.backup_directories)
        .map_err(|error| not_made(&error))?;
    let _running = match call.shared.backing_up.try_lock() {
        Ok(running) => running,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => {
            return Err(refused("Another backup is being made; wait for its end."));
        }
    };
    let kind_of_backup = match query.flag("increment") {
        true => BackupKind::Increment,
        false => BackupKind::Full,
    };
    let report = databases
        .back_up(&to, kind_of_backup, &|_, _, _| {})
        .map_err(|error| not_made(&error))?;
    Ok(Reply::value(&json!({
        "Directory": to.to_string_lossy(),
        "Databases": report.databases,
        "Transactions": report.transactions,
        "Bytes": report.bytes,
    })))
}

/// What another target or a full backup would mend is a mistake of the caller, the rest a failure.
fn not_made(error: &BackupError) -> WireError {
    let kind = match error {
        BackupError::TargetExists { .. }
        | BackupError::NotADirectory { .. }
        | BackupError::NotAllowed { .. }
        | BackupError::Link { .. }
        | BackupError::Inside { .. }
        | BackupError::Busy { .. }
        | BackupError::NotABackup { .. }
        | BackupError::OtherSource { .. }
        | BackupError::JournalGone { .. } => kind::INVALID_OPERATION,
        BackupError::Storage(StorageError::Io { source, .. })
            if matches!(
                source.kind(),
                ErrorKind::PermissionDenied
                    | ErrorKind::ReadOnlyFilesystem
                    | ErrorKind::InvalidFilename
                    | ErrorKind::InvalidInput
            ) =>
        {
            kind::INVALID_OPERATION
        }
        _ => kind::UNEXPECTED,
    };
    WireError::new(kind, format!("The backup was not made: {error}."))
}

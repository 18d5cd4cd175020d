//! `POST /jackdaw/backup?to=DIR&increment=true`: backs up all databases into a directory of the
//! server's machine, while they are used. Answers when every page of it was verified, with
//! `{"Databases": n, "Transactions": n, "Bytes": n}`.
//!
//! One at a time: two backups into one directory would take each other's files for left-overs.

use std::path::Path;
use std::sync::{Mutex, TryLockError};

use jackdaw_database::{BackupError, BackupKind};
use serde_json::json;

use crate::http::{Call, Outcome, Reply};
use crate::wire::{WireError, kind};

static RUNNING: Mutex<()> = Mutex::new(());

/// `POST /jackdaw/backup`
pub(super) fn back_up(call: &Call) -> Outcome {
    let query = call.query();
    let to = query
        .filled("to")
        .ok_or_else(|| WireError::empty_parameter("to"))?;
    let to = Path::new(&*to);
    let refused = |message: &str| WireError::new(kind::INVALID_OPERATION, message.to_owned());
    if call.shared.config.is_in_memory {
        return Err(refused(
            "The databases of this server are in memory; export them instead.",
        ));
    }
    if !to.is_absolute() {
        return Err(WireError::new(
            kind::ARGUMENT,
            "'to' is no absolute path of the server's machine.".to_owned(),
        ));
    }
    let _running = match RUNNING.try_lock() {
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
    let report = call
        .shared
        .databases
        .back_up(to, kind_of_backup, &|_, _, _| {})
        .map_err(|error| not_made(&error))?;
    Ok(Reply::value(&json!({
        "Databases": report.databases,
        "Transactions": report.transactions,
        "Bytes": report.bytes,
    })))
}

/// What another target or a full backup would mend is a mistake of the caller, the rest a failure.
fn not_made(error: &BackupError) -> WireError {
    let kind = match error {
        BackupError::TargetExists { .. }
        | BackupError::NotABackup { .. }
        | BackupError::OtherSource { .. }
        | BackupError::JournalGone { .. } => kind::INVALID_OPERATION,
        _ => kind::UNEXPECTED,
    };
    WireError::new(kind, format!("The backup was not made: {error}."))
}

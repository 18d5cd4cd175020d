//! What happens beside the clients of the soak now and then: snapshots that stay open for long, and
//! backups with increments, restored and looked at.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jackdaw_database::{BackupKind, Database, DatabaseSet, Etag, Snapshot, restore_set};
use jackdaw_io::{RealVfs, Vfs};
use jackdaw_slow_tests::mix;
use jackdaw_storage::{BackupError, RestorePoint};

use crate::{Course, DATABASE, options};

/// A snapshot stays open between the two.
const SHORTEST_SECONDS: u64 = 5;
const LONGEST_SECONDS: u64 = 60;
/// Time between two snapshots, and between two backups.
const BETWEEN_SNAPSHOTS: Duration = Duration::from_secs(15);
const BETWEEN_BACKUPS: Duration = Duration::from_secs(45);
/// Increments to one full backup; after the last one it is restored.
const INCREMENTS: u64 = 3;

/// Opens one snapshot after another; what one holds does not change while it is open.
pub(crate) fn snapshots(database: &Database, course: &Course) -> Result<()> {
    for round in 0.. {
        wait(course, BETWEEN_SNAPSHOTS);
        if course.is_over() {
            break;
        }
        let snapshot = database.read()?;
        let before = digest(&snapshot)?;
        let span = LONGEST_SECONDS - SHORTEST_SECONDS;
        wait(
            course,
            Duration::from_secs(SHORTEST_SECONDS + mix(round) % span),
        );
        ensure!(
            digest(&snapshot)? == before,
            "a snapshot changed while it was open"
        );
    }
    Ok(())
}

/// Ids, etags and bodies of all documents.
fn digest(snapshot: &Snapshot) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    for row in snapshot.by_etag(Etag::default())? {
        let row = row?;
        hasher.write(row.id().as_bytes());
        hasher.write_u64(row.etag().0);
        hasher.write(row.body().as_bytes());
    }
    Ok(hasher.finish())
}

/// Makes a full backup, brings it up to date a few times, restores it, and begins anew.
pub(crate) fn backups(set: &DatabaseSet, directory: &Path, course: &Course) -> Result<()> {
    let (to, restored) = (directory.join("backup"), directory.join("restored"));
    for round in 0.. {
        wait(course, BETWEEN_BACKUPS);
        if course.is_over() {
            break;
        }
        let quiet = |_: &str, _, _| {};
        let step = round % (INCREMENTS + 1);
        let kind = match step {
            0 => BackupKind::Full,
            _ => BackupKind::Increment,
        };
        match set.back_up(&to, kind, &quiet) {
            // The load was faster than what is kept of the journal.
            Err(BackupError::JournalGone { .. }) => {
                std::fs::remove_dir_all(&to)?;
                set.back_up(&to, BackupKind::Full, &quiet)?;
            }
            outcome => drop(outcome?),
        }
        if step == INCREMENTS {
            restore(&to, &restored)?;
            std::fs::remove_dir_all(&to)?;
        }
    }
    Ok(())
}

fn restore(from: &Path, to: &Path) -> Result<()> {
    let vfs: Arc<dyn Vfs> = RealVfs::new();
    restore_set(&vfs, from, to, RestorePoint::Latest, &|_, _, _| {})?;
    let set = DatabaseSet::open(vfs, to, options())?;
    let database = set
        .get(DATABASE)?
        .context("the backup lacks the database")?;
    let report = database.verify()?;
    ensure!(report.is_sound(), "restored: {report:?}");
    ensure!(report.documents > 0, "restored: no documents");
    drop((database, set));
    Ok(std::fs::remove_dir_all(to)?)
}

fn wait(course: &Course, duration: Duration) {
    let deadline = Instant::now() + duration;
    while !course.is_over() && Instant::now() < deadline {
        course.pause(deadline.saturating_duration_since(Instant::now()));
    }
}

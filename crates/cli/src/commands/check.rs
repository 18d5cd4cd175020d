//! `jackdaw check`: looks for damage in every environment that is or has to be below a directory.
//!
//! The catalog of a data directory names its databases, and documents name their indexes: what is
//! named and not there is damage. Directories that nothing names are findings, too.
//!
//! The files of each are read twice: by a reader of the formats that is not the engine's and
//! changes nothing, then, when that found nothing, by the engine itself, which replays the journal
//! in memory first. The files stay as they are, so a read-only directory will do.
//!
//! Exit codes: 0 all is well, 1 damage (each place named on standard output), 2 cannot look.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use jackdaw_io::Vfs;
use jackdaw_storage::{
    CheckLevel, CheckReport, Environment, OpenError, StorageError, VerifyReport, verify,
};

use super::inventory::places;
use crate::output::failure::sentence;
use crate::output::numbers::{count, counted, duration};
use crate::output::say::{note, say};

const EXIT_DAMAGED: u8 = 1;
const EXIT_CANNOT_LOOK: u8 = 2;

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArguments {
    /// A data directory, or the directory of one database. No server may have it open, but other
    /// readers may.
    directory: PathBuf,
    /// Checksums and structure of pages only; leaves out order and counts of trees.
    #[arg(long)]
    quick: bool,
}

/// Checks and prints; answers with the exit code.
pub(crate) fn run(arguments: &CheckArguments, disk: anyhow::Result<Arc<dyn Vfs>>) -> ExitCode {
    match disk.and_then(|disk| check_all(arguments, &disk)) {
        Ok(Found {
            damages: 0,
            unknown: 0,
        }) => ExitCode::SUCCESS,
        Ok(Found {
            damages: 0,
            unknown,
        }) => {
            say!(
                "{} found. Adopt or remove each with `jackdaw databases`, or move it away.",
                counted(unknown, "unknown directory")
            );
            ExitCode::from(EXIT_DAMAGED)
        }
        Ok(Found { damages, .. }) => {
            say!(
                "{} found. Restore the directory from a backup, or save what can be read with \
                 `jackdaw export --skip-damaged`.",
                counted(damages, "damaged place")
            );
            ExitCode::from(EXIT_DAMAGED)
        }
        Err(error) => {
            note!("jackdaw: {}", sentence(&error));
            ExitCode::from(EXIT_CANNOT_LOOK)
        }
    }
}

/// What a check counts.
struct Found {
    damages: u64,
    unknown: u64,
}

fn check_all(arguments: &CheckArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<Found> {
    let places = places(&arguments.directory, disk)?;
    let level = if arguments.quick {
        CheckLevel::Pages
    } else {
        CheckLevel::Full
    };
    let mut damages = 0;
    for missing in &places.missing {
        say!("{}: missing", missing.display());
        damages += 1;
    }
    let mut unknown = 0;
    for one in places.unknown.iter().filter(|one| !one.is_unfinished) {
        say!("{}: nothing names this directory", one.path.display());
        unknown += 1;
    }
    if places.unbuilt_indexes > 0 {
        let indexes = counted(places.unbuilt_indexes, "index");
        say!("{indexes} will be built at the next opening");
    }
    for directory in places.complete {
        let started = Instant::now();
        let verified = verify(&**disk, &directory)?;
        if !verified.damages.is_empty() {
            print_damages(&directory, &verified);
            damages += verified.damages.len() as u64;
            continue;
        }
        let opened = Environment::open_read_only(Arc::clone(disk), &directory);
        let environment = match opened {
            Ok(environment) => environment,
            Err(error) if is_damage(&error) => {
                say!("{}: {error}", directory.display());
                damages += 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let replayed = environment.statistics().recovery.transactions;
        let report = environment
            .check(level)
            .with_context(|| format!("cannot read {}", directory.display()))?;
        print_report(&directory, &report, level, replayed);
        say!("  {}", duration(started.elapsed()));
        damages += report.damages.len() as u64;
    }
    Ok(Found { damages, unknown })
}

/// What was found in files that were not opened: they stay as they are.
fn print_damages(directory: &Path, verified: &VerifyReport) {
    for damage in &verified.damages {
        say!("{}/{damage}", directory.display());
    }
    say!(
        "{}: damaged, {} looked at",
        directory.display(),
        counted(verified.pages, "page")
    );
}

fn print_report(directory: &Path, report: &CheckReport, level: CheckLevel, replayed: u64) {
    for damage in &report.damages {
        say!("{}/{damage}", directory.display());
    }
    let state = if report.damages.is_empty() {
        "sound"
    } else {
        "damaged"
    };
    let mut line = format!(
        "{}: {state}, {}, {} free",
        directory.display(),
        counted(report.pages, "page"),
        count(report.free_pages)
    );
    if level == CheckLevel::Full && report.damages.is_empty() {
        line.push_str(&format!(
            ", {} with {}",
            counted(report.trees, "tree"),
            if report.entries == 1 {
                "1 entry".to_owned()
            } else {
                format!("{} entries", count(report.entries))
            }
        ));
    }
    if replayed > 0 {
        line.push_str(&format!(
            ", {} replayed from the journal",
            counted(replayed, "transaction")
        ));
    }
    say!("{line}");
}

/// Whether opening failed because of what is on the disk, not because it could not be looked at.
fn is_damage(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::MetaDamaged { .. }
            | OpenError::MetaMissing { .. }
            | OpenError::Storage(StorageError::Corrupt(_))
    )
}

//! `jackdaw compact`: rewrites every environment below a directory without free space.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use jackdaw_io::Vfs;
use jackdaw_storage::compact;

use super::inventory::environments_below;
use crate::output::numbers::{bytes, counted, duration};
use crate::output::progress::Progress;
use crate::output::say::say;

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompactArguments {
    /// A data directory, or the directory of one database. No server may have it open.
    directory: PathBuf,
}

/// Compacts one environment after the other.
pub(crate) fn run(arguments: &CompactArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    for directory in environments_below(&arguments.directory)? {
        let started = Instant::now();
        let name = directory.display().to_string();
        let progress = Progress::new();
        let report = compact(disk, &directory, &|done, total| {
            progress.show(&name, done, total);
        })
        .with_context(|| format!("{name} stays as it is"))?;
        drop(progress);
        say!(
            "{name}: {} instead of {}, {} in {}",
            bytes(report.bytes_after),
            bytes(report.bytes_before),
            counted(report.entries, "item"),
            duration(started.elapsed())
        );
    }
    Ok(())
}

//! `jackdaw backup` and `jackdaw restore`: a whole data directory, its indexes left out.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use jackdaw_base::time::UnixTicks;
use jackdaw_database::{BackupKind, DatabaseOptions, DatabaseSet, restore_set};
use jackdaw_io::Vfs;
use jackdaw_storage::{Options, RestorePoint};

use super::connect::{ConnectArguments, ServerAt};
use super::{DEFAULT_DATA, address};
use crate::output::numbers::{bytes, counted, duration};
use crate::output::progress::Progress;
use crate::output::say::say;

/// Arguments of `backup`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BackupArguments {
    /// The data directory; no server may have it open.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
    /// Let this server back up all its databases while they are used, into a directory below one
    /// of those that it was started with for backups (`serve --backups`).
    #[arg(long, value_name = "URL", conflicts_with = "data", value_parser = address::server)]
    url: Option<String>,
    #[command(flatten)]
    connect: ConnectArguments,
    /// Add what was written since to the backup that is there, instead of making one.
    #[arg(long)]
    increment: bool,
    /// Directory of the backup; missing or empty, unless it is an increment. With --url a name
    /// such as `monday` is below the server's first directory for backups.
    to: PathBuf,
}

/// Arguments of `restore`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RestoreArguments {
    /// Directory of the backup.
    from: PathBuf,
    /// The data directory to make; missing or empty.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
    /// Restore what was committed at or before this time, such as 2026-01-31T12:00:00Z; everything
    /// otherwise.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

/// Backs a data directory up.
pub(crate) fn back_up(arguments: &BackupArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let started = Instant::now();
    if let Some(url) = &arguments.url {
        return back_up_server(arguments.connect.server_at(url), arguments, started);
    }
    let options = DatabaseOptions {
        documents: Options {
            create: false,
            ..Options::default()
        },
        ..DatabaseOptions::default()
    };
    let set = DatabaseSet::open(Arc::clone(disk), &arguments.data, options).with_context(|| {
        format!(
            "cannot open the data directory {}",
            arguments.data.display()
        )
    })?;
    let kind = match arguments.increment {
        true => BackupKind::Increment,
        false => BackupKind::Full,
    };
    let progress = Progress::new();
    let report = set
        .back_up(&arguments.to, kind, &|part, done, total| {
            progress.show(part, done, total);
        })
        .context("the backup was not made")?;
    drop(progress);
    say!(
        "{}: {}, {} written and verified in {}. Indexes are left out; a restore builds them again.",
        arguments.to.display(),
        counted(report.databases, "database"),
        bytes(report.bytes),
        duration(started.elapsed())
    );
    Ok(())
}

/// Lets a server back up its databases.
fn back_up_server(
    server: ServerAt<'_>,
    arguments: &BackupArguments,
    started: Instant,
) -> anyhow::Result<()> {
    let to = &arguments.to;
    let to = to
        .to_str()
        .with_context(|| format!("{} is not UTF-8", to.display()))?;
    let made = server
        .client()?
        .back_up(to, arguments.increment)
        .context("the backup was not made")?;
    say!(
        "{}: {}, {} written and verified in {}. Indexes are left out; a restore builds them again.",
        made.directory,
        counted(made.databases, "database"),
        bytes(made.bytes),
        duration(started.elapsed())
    );
    Ok(())
}

/// Makes a data directory from a backup.
pub(crate) fn restore(arguments: &RestoreArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let started = Instant::now();
    let point = match &arguments.until {
        None => RestorePoint::Latest,
        Some(text) => RestorePoint::Time(unix_nanos(text)?),
    };
    let progress = Progress::new();
    let report = restore_set(
        disk,
        &arguments.from,
        &arguments.data,
        point,
        &|part, done, total| progress.show(part, done, total),
    )
    .context("nothing was restored")?;
    drop(progress);
    say!(
        "{}: {}, {} replayed, every page verified, in {}. Indexes are built when it is opened.",
        arguments.data.display(),
        counted(report.databases, "database"),
        counted(report.transactions, "transaction"),
        duration(started.elapsed())
    );
    Ok(())
}

fn unix_nanos(text: &str) -> anyhow::Result<u64> {
    let ticks = UnixTicks::parse(text)
        .with_context(|| format!("{text:?} is no time: write it as 2026-01-31T12:00:00Z"))?;
    let nanos = u64::try_from(ticks.0)
        .ok()
        .and_then(|ticks| ticks.checked_mul(100));
    nanos.with_context(|| format!("{text} is before 1970"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_nanoseconds() {
        assert_eq!(
            unix_nanos("1970-01-01T00:00:01.0000000Z").unwrap(),
            1_000_000_000
        );
        assert!(unix_nanos("yesterday").is_err());
    }
}

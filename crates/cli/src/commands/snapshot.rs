//! `jackdaw snapshot`: states of a database that stay readable by name.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jackdaw_base::time::UnixTicks;
use jackdaw_io::Vfs;

use super::target::{Location, Target, local, remote};
use crate::output::numbers::bytes;
use crate::output::say::say;

/// What to do with snapshots.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum SnapshotCommand {
    /// Keep the documents as they are now. Copies nothing: from then on each page of the data file
    /// is kept once when it is changed. `jackdaw query --snapshot NAME` asks it.
    Take(NamedSnapshotArguments),
    /// List the snapshots, when they were taken, and what they keep of the disk.
    List(ListArguments),
    /// Drop a snapshot, and free what was kept for it alone.
    Drop(NamedSnapshotArguments),
}

/// Arguments of `take` and `drop`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct NamedSnapshotArguments {
    /// Name of the snapshot, up to 255 bytes.
    name: String,
    #[command(flatten)]
    target: Target,
}

/// Arguments of `list`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    target: Target,
}

/// A snapshot as it is shown.
struct Shown {
    name: String,
    taken: String,
    kept_bytes: u64,
    is_being_dropped: bool,
}

/// Takes, lists or drops.
pub(crate) fn run(command: &SnapshotCommand, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    match command {
        SnapshotCommand::Take(NamedSnapshotArguments { name, target }) => {
            take(name, target, disk).with_context(|| format!("no snapshot {name:?} was taken"))?;
            say!("{name}: taken");
        }
        SnapshotCommand::Drop(NamedSnapshotArguments { name, target }) => {
            drop_one(name, target, disk)
                .with_context(|| format!("the snapshot {name:?} was not dropped"))?;
            say!("{name}: dropped");
        }
        SnapshotCommand::List(ListArguments { target }) => {
            let snapshots = list(target, disk)?;
            if snapshots.is_empty() {
                say!("no snapshots");
            }
            for snapshot in snapshots {
                let Shown { name, taken, .. } = &snapshot;
                let kept = bytes(snapshot.kept_bytes);
                let state = match snapshot.is_being_dropped {
                    true => "; being dropped: drop it again to complete that",
                    false => "",
                };
                say!("{name}: taken {taken}, keeps {kept}{state}");
            }
        }
    }
    Ok(())
}

fn take(name: &str, target: &Target, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    match target.location() {
        Location::Server(server) => remote(server, &target.database)?.take_snapshot(name)?,
        Location::Directory(directory) => {
            let local = local(directory, &target.database, disk)?;
            local.database.take_snapshot(name)?;
        }
    }
    Ok(())
}

fn drop_one(name: &str, target: &Target, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    match target.location() {
        Location::Server(server) => remote(server, &target.database)?.drop_snapshot(name)?,
        Location::Directory(directory) => {
            let local = local(directory, &target.database, disk)?;
            local.database.drop_snapshot(name)?;
        }
    }
    Ok(())
}

fn list(target: &Target, disk: &Arc<dyn Vfs>) -> anyhow::Result<Vec<Shown>> {
    let shown = match target.location() {
        Location::Server(server) => {
            let snapshots = remote(server, &target.database)?.snapshots()?.into_iter();
            let shown = snapshots.map(|snapshot| Shown {
                name: snapshot.name,
                taken: snapshot.taken,
                kept_bytes: snapshot.kept_bytes,
                is_being_dropped: snapshot.is_being_dropped,
            });
            shown.collect()
        }
        Location::Directory(directory) => {
            let local = local(directory, &target.database, disk)?;
            let snapshots = local.database.snapshots()?.into_iter();
            let shown = snapshots.map(|snapshot| Shown {
                name: snapshot.name,
                taken: UnixTicks::from_unix(Duration::from_nanos(snapshot.unix_nanos)).to_string(),
                kept_bytes: snapshot.kept_bytes,
                is_being_dropped: snapshot.is_being_dropped,
            });
            shown.collect()
        }
    };
    Ok(shown)
}

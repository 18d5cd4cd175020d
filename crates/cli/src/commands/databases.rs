//! `jackdaw databases`: lists the databases of a data directory, and adopts or removes directories
//! that its catalog does not name.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use jackdaw_io::Vfs;

use super::DEFAULT_DATA;
use super::target::{EMPTY_RECORD, open_set};
use crate::output::say::say;

/// What to do with databases as a whole. No server may have the data directory open.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum DatabasesCommand {
    /// List databases, and directories that the catalog does not name.
    List(PlaceArguments),
    /// Enter a directory below `databases/` into the catalog under a name.
    Adopt(AdoptArguments),
    /// Remove a directory below `databases/` that the catalog does not name, with all its data.
    Remove(RemoveArguments),
}

/// Where the databases are.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlaceArguments {
    /// The data directory.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
}

/// Arguments of `adopt`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AdoptArguments {
    /// Number of the directory, as `list` shows it.
    number: u64,
    /// Name that the database takes.
    name: String,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Arguments of `remove`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RemoveArguments {
    /// Number of the directory, as `list` shows it.
    number: u64,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Runs the command.
pub(crate) fn run(command: &DatabasesCommand, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let place = match command {
        DatabasesCommand::List(place) => place,
        DatabasesCommand::Adopt(arguments) => &arguments.place,
        DatabasesCommand::Remove(arguments) => &arguments.place,
    };
    let data = place.data.display();
    anyhow::ensure!(
        place.data.is_dir(),
        "there is no data directory {data}: check --data"
    );
    let set = open_set(&place.data, disk)?;
    match command {
        DatabasesCommand::List(_) => {
            for (number, name) in set.numbered() {
                say!("{number}\t{name}");
            }
            for unknown in set.unknown_directories()? {
                say!("{}\t(not in the catalog)", unknown.number);
            }
        }
        DatabasesCommand::Adopt(AdoptArguments { number, name, .. }) => {
            set.adopt(*number, name, EMPTY_RECORD)
                .with_context(|| format!("databases/{number} of {data} was not adopted"))?;
            say!("databases/{number} is now the database {name:?}.");
        }
        DatabasesCommand::Remove(RemoveArguments { number, .. }) => {
            set.remove_unknown(*number)
                .with_context(|| format!("databases/{number} of {data} was not removed"))?;
            say!("databases/{number} was removed.");
        }
    }
    Ok(())
}

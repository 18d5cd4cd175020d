//! Which database a command works on: files opened in this process, or one behind a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jackdaw_client::{Client, ClientError, DatabaseClient};
use jackdaw_database::{Database, DatabaseOptions, DatabaseSet, NodeTag};
use jackdaw_io::Vfs;

use super::connect::{ConnectArguments, ServerAt};
use super::{DEFAULT_DATA, address};
use crate::output::names::there_is;

/// Arguments that name a database.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Target {
    /// Name of the database.
    #[arg(long, value_name = "NAME")]
    pub(crate) database: String,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    connect: ConnectArguments,
}

/// Where the database is.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Place {
    /// A server, such as http://127.0.0.1:8080 or localhost:8080.
    #[arg(long, value_name = "URL", value_parser = address::server)]
    url: Option<String>,
    /// A data directory, opened in this process; no server may have it open.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Arguments that name a database, unless the command only looks at files.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ImportTarget {
    /// Name of the database.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["check", "preview"])]
    pub(crate) database: Option<String>,
    /// A server, such as http://127.0.0.1:8080 or localhost:8080.
    #[arg(
        long,
        value_name = "URL",
        value_parser = address::server,
        conflicts_with = "data",
        required_unless_present_any = ["data", "check", "preview"]
    )]
    url: Option<String>,
    /// A data directory, opened in this process; no server may have it open.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    connect: ConnectArguments,
}

impl ImportTarget {
    /// Name and place of the database; both are there unless the command only looks at files.
    pub(crate) fn place(&self) -> Option<(&str, Location<'_>)> {
        let place = match (&self.url, &self.data) {
            (Some(url), _) => Location::Server(self.connect.server_at(url)),
            (None, Some(data)) => Location::Directory(data),
            (None, None) => return None,
        };
        Some((self.database.as_deref()?, place))
    }
}

/// Where a command finds its database; one of the two, which the arguments make sure of.
pub(crate) enum Location<'p> {
    /// Behind a server.
    Server(ServerAt<'p>),
    /// In this directory.
    Directory(&'p Path),
}

impl Target {
    /// The place that was named.
    pub(crate) fn location(&self) -> Location<'_> {
        match (&self.place.url, &self.place.data) {
            (Some(url), _) => Location::Server(self.connect.server_at(url)),
            (None, data) => Location::Directory(data.as_deref().unwrap_or(Path::new(DEFAULT_DATA))),
        }
    }
}

/// A database of a data directory, opened in this process. The set keeps the directory locked.
pub(crate) struct Local {
    pub(crate) database: Arc<Database>,
    _set: DatabaseSet,
}

/// Opens a data directory.
pub(crate) fn open_set(directory: &Path, disk: &Arc<dyn Vfs>) -> anyhow::Result<DatabaseSet> {
    open_set_with(directory, disk, DatabaseOptions::default(), true)
}

/// Opens a data directory for the node with this tag.
pub(crate) fn open_set_of(
    node: NodeTag,
    directory: &Path,
    disk: &Arc<dyn Vfs>,
) -> anyhow::Result<DatabaseSet> {
    let options = DatabaseOptions {
        node,
        ..DatabaseOptions::default()
    };
    open_set_with(directory, disk, options, true)
}

/// Opens a data directory, which need not be there when it may be created.
fn open_set_with(
    directory: &Path,
    disk: &Arc<dyn Vfs>,
    options: DatabaseOptions,
    create: bool,
) -> anyhow::Result<DatabaseSet> {
    let mut options = options.for_memory(memory_bytes());
    options.documents.create = create;
    DatabaseSet::open(Arc::clone(disk), directory, options)
        .with_context(|| format!("cannot open the data directory {}", directory.display()))
}

/// Memory that this process may take: of the machine, or of its control group.
pub(crate) fn memory_bytes() -> u64 {
    let facts = jackdaw_io::system::system_facts();
    let known = facts.memory_limit_bytes.into_iter();
    let known = known.chain(facts.memory_total_bytes);
    known.min().unwrap_or(u64::MAX)
}

/// The database of that name in a data directory; both are created when they are not there.
pub(crate) fn local_or_new(
    directory: &Path,
    name: &str,
    disk: &Arc<dyn Vfs>,
) -> anyhow::Result<Local> {
    let set = open_set(directory, disk)?;
    let database = database_or_new(&set, name).with_context(|| {
        format!(
            "cannot open the database {name:?} in {}",
            directory.display()
        )
    })?;
    Ok(Local {
        database,
        _set: set,
    })
}

/// The record of a database that no client has given any settings.
pub(crate) const EMPTY_RECORD: &str = "{}";

/// The database of that name of a set, created when it is not there.
pub(crate) fn database_or_new(set: &DatabaseSet, name: &str) -> anyhow::Result<Arc<Database>> {
    Ok(match set.get(name)? {
        Some(database) => database,
        None => set.create(name, EMPTY_RECORD)?,
    })
}

/// The database of that name in a data directory, which must be there.
pub(crate) fn local(directory: &Path, name: &str, disk: &Arc<dyn Vfs>) -> anyhow::Result<Local> {
    anyhow::ensure!(
        directory.is_dir(),
        "there is no data directory {}: check --data",
        directory.display()
    );
    let set = open_set_with(directory, disk, DatabaseOptions::default(), false)?;
    let database = set
        .get(name)
        .with_context(|| {
            format!(
                "cannot open the database {name:?} in {}",
                directory.display()
            )
        })?
        .with_context(|| missing(&directory.display().to_string(), name, "", &set.names()))?;
    Ok(Local {
        database,
        _set: set,
    })
}

/// A sentence about a database that is not there, or not there for everybody.
fn missing(place: &str, name: &str, whose: &str, names: &[String]) -> String {
    match names {
        [] => format!("{place} has no database {name:?}{whose}, nor any other"),
        names => format!(
            "{place} has no database {name:?}{whose}; {}",
            there_is(name, names)
        ),
    }
}

/// The database of that name on the server, created when it is not there.
pub(crate) fn remote_or_new(server: ServerAt<'_>, name: &str) -> anyhow::Result<DatabaseClient> {
    let client = server.client()?;
    // Who may write into a database need not be allowed to create any.
    if is_among(name, &names(&client)?) {
        return Ok(client.database(name));
    }
    match client.create_database(name) {
        Ok(()) | Err(ClientError::Conflict { .. }) => Ok(client.database(name)),
        Err(error) => Err(error)
            .with_context(|| format!("cannot create the database {name:?} on {}", client.url())),
    }
}

/// The database of that name on the server, which must be there.
pub(crate) fn remote(server: ServerAt<'_>, name: &str) -> anyhow::Result<DatabaseClient> {
    let client = server.client()?;
    let names = names(&client)?;
    anyhow::ensure!(
        is_among(name, &names),
        missing(&server.to_string(), name, server.whose(), &names)
    );
    Ok(client.database(name))
}

fn names(client: &Client) -> anyhow::Result<Vec<String>> {
    let names = client.databases();
    names.with_context(|| format!("cannot ask {}", client.url()))
}

fn is_among(name: &str, names: &[String]) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

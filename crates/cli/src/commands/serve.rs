//! `jackdaw serve`: databases over HTTP until Ctrl-C.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jackdaw_database::{BACKUPS_DIRECTORY, DatabaseOptions, DatabaseSet, NodeTag};
use jackdaw_io::{Durability, MemoryVfs, Vfs, absolute_path};
use jackdaw_redis::{EvictionPolicy, RedisConfig, RedisServer, parse_bytes};
use jackdaw_server::{
    DEFAULT_LISTEN, LogControl, Running, SecurityDirectory, Server, ServerConfig,
};
use jackdaw_storage::Options;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use super::target::{memory_bytes, open_set_of};
use super::warm_up::WarmUpThread;
use super::{DEFAULT_DATA, address};
use crate::output::numbers::counted;
use crate::output::say::{note, say};

/// Scripts that run at a time may take this part of the memory together.
const SCRIPTS_PART_OF_MEMORY: u64 = 8;
/// And large queries this one: what is made of their results takes a few times as much.
const QUERIES_PART_OF_MEMORY: u64 = 8;

/// Levels of the log, from nothing to everything.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// What is logged unless JACKDAW_LOG asks for something else.
const DEFAULT_LEVEL: &str = "warn";
/// Ends the error about a JACKDAW_LOG that cannot be used.
const LOG_USAGE: &str = "set it to off, error, warn, info, debug or trace, or to a list of \
                         MODULE=LEVEL such as warn,jackdaw_server=debug";

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeArguments {
    /// Address and port to listen on, such as localhost:8080; :8080 is 127.0.0.1:8080, and port 0
    /// picks a free one. Default: 127.0.0.1:8080, or the address of `jackdaw setup`. Without
    /// setup, addresses that other machines can reach are refused.
    #[arg(long, value_name = "ADDRESS", value_parser = address::listen)]
    listen: Option<SocketAddr>,
    /// Address and port for subscriptions over TCP; a free port of the same address when it is not
    /// given. Clients ask for it over HTTP.
    #[arg(long, value_name = "ADDRESS", value_parser = address::listen)]
    listen_tcp: Option<SocketAddr>,
    /// The data directory; created when it is not there.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    data: PathBuf,
    /// A name of this server that clients may use, besides its address and the names in its
    /// certificate; may be given several times.
    #[arg(long = "public-host", value_name = "NAME")]
    public_hosts: Vec<String>,
    /// Listen on this address without encryption, and let everybody who reaches it do everything.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "listen", value_parser = address::listen)]
    insecure_i_know: Option<SocketAddr>,
    /// A directory below which clients may have backups made; may be given several times. Default:
    /// `backups` in the data directory.
    #[arg(long = "backups", value_name = "DIR", conflicts_with = "in_memory")]
    backups: Vec<PathBuf>,
    /// Keep databases in memory only: nothing is read from the disk or written to it, and all is
    /// gone when the server ends.
    #[arg(long, conflicts_with = "data")]
    in_memory: bool,
    /// Tag of this node, A to ZZZZ: change vectors of what is written here begin with it, and ids
    /// that are made here end with it.
    #[arg(long, value_name = "TAG", default_value_t = NodeTag::FIRST)]
    node_tag: NodeTag,
    /// Minutes without a request after which a database that nothing uses is closed until the next
    /// one; 0 for never.
    #[arg(long, value_name = "MINUTES", default_value_t = 15)]
    idle_close: u32,
    /// Mebibytes of data files to read again each second to find rot; 0 for none.
    #[arg(long, value_name = "MIB", default_value_t = 4)]
    scrub: u32,
    /// Mebibytes of data files to read into memory after the start, shared by all databases and
    /// their indexes: pages that every request needs first. 0 for none.
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = 0,
        conflicts_with = "in_memory"
    )]
    warm_up: u32,
    #[command(flatten)]
    redis: RedisArguments,
}

/// The Redis server beside the databases.
#[derive(Clone, Debug, clap::Args)]
struct RedisArguments {
    /// Serve Redis clients on this address, too; without a password only on loopback.
    #[arg(long, value_name = "ADDRESS", value_parser = address::listen)]
    redis: Option<SocketAddr>,
    /// What Redis clients have to give with AUTH.
    #[arg(
        long,
        value_name = "TEXT",
        env = "JACKDAW_REDIS_PASSWORD",
        hide_env_values = true,
        requires = "redis"
    )]
    redis_password: Option<String>,
    /// Budget of keys and values, such as 256mb; 0 is none. Default: a quarter of the memory.
    #[arg(long, value_name = "BYTES", requires = "redis", value_parser = bytes)]
    redis_memory: Option<usize>,
    /// What happens when the budget is used up: noeviction, allkeys-lru, volatile-lru,
    /// allkeys-random, volatile-random or volatile-ttl.
    #[arg(long, value_name = "POLICY", requires = "redis", value_parser = policy)]
    redis_policy: Option<EvictionPolicy>,
    /// Keep keys in this directory: every acknowledged write survives. Without it they are in
    /// memory only.
    #[arg(long, value_name = "DIR", requires = "redis")]
    redis_data: Option<PathBuf>,
    /// Event loops: 2, or 1 on a machine with fewer than four cores, unless said otherwise.
    #[arg(long, value_name = "N", requires = "redis",
          value_parser = clap::value_parser!(u8).range(1..=16))]
    redis_threads: Option<u8>,
}

fn bytes(text: &str) -> Result<usize, String> {
    parse_bytes(text).ok_or_else(|| "give bytes with a unit, such as 256mb or 2gb".to_owned())
}

fn policy(text: &str) -> Result<EvictionPolicy, String> {
    let names = EvictionPolicy::NAMES.map(|(name, _)| name).join(", ");
    EvictionPolicy::named(text).ok_or_else(|| format!("choose one of {names}"))
}

/// Starts the Redis server, if it was asked for.
fn start_redis(
    arguments: &RedisArguments,
    disk: &Arc<dyn Vfs>,
) -> anyhow::Result<Option<RedisServer>> {
    let Some(listen) = arguments.redis else {
        return Ok(None);
    };
    let mut config = RedisConfig::default().for_memory(memory_bytes());
    config.listen = listen;
    config.password.clone_from(&arguments.redis_password);
    if let Some(memory) = arguments.redis_memory {
        config.memory_bytes = memory;
    }
    config.policy = arguments.redis_policy.unwrap_or_default();
    config.data.clone_from(&arguments.redis_data);
    if let Some(threads) = arguments.redis_threads {
        config.threads = usize::from(threads);
    }
    let server = RedisServer::start_on(&config, Arc::clone(disk))?;
    let keys = match &arguments.redis_data {
        None => "keys in memory only".to_owned(),
        Some(data) => format!(
            "{} of {}",
            counted(server.recovered(), "key"),
            data.display()
        ),
    };
    say!("Redis:   redis://{} ({keys})", server.address());
    Ok(Some(server))
}

/// Serves until a signal.
pub(crate) fn run(arguments: &ServeArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let log = log_to_standard_error()?;
    let mut config = config(arguments)?;
    config.log = log;
    // Before databases are opened, whose indexes run scripts.
    let scripts_bytes = memory_bytes() / SCRIPTS_PART_OF_MEMORY;
    jackdaw_database::bound_script_memory(usize::try_from(scripts_bytes).unwrap_or(usize::MAX));
    let queries_bytes = memory_bytes() / QUERIES_PART_OF_MEMORY;
    jackdaw_database::bound_query_memory(usize::try_from(queries_bytes).unwrap_or(usize::MAX));
    let set = Arc::new(match arguments.in_memory {
        true => set_in_memory(arguments.node_tag)?,
        false => open_set_of(arguments.node_tag, &arguments.data, disk)?,
    });
    let running = start(config, &set)?;
    match arguments.in_memory {
        true => say!("Serving from memory: no database outlives the server."),
        false => say!(
            "Serving {} of {}.",
            counted(set.names().len() as u64, "database"),
            arguments.data.display()
        ),
    }
    let redis = start_redis(&arguments.redis, disk)?;
    let warm_up = match arguments.warm_up {
        0 => None,
        mebibytes => Some(WarmUpThread::start(&set, u64::from(mebibytes) << 20)?),
    };
    serve(running)?;
    drop(warm_up);
    if let Some(redis) = redis {
        redis.stop();
    }
    Ok(())
}

/// Databases that are nowhere but in memory.
fn set_in_memory(node: NodeTag) -> anyhow::Result<DatabaseSet> {
    let documents = Options {
        durability: Durability::None,
        // What is in memory twice is in the data "file" sooner.
        scratch_bytes: 64 << 20,
        journal_bytes: 16 << 20,
        journal_file_bytes_max: 8 << 20,
        journal_archive_bytes: 0,
        ..Options::default()
    };
    let options = DatabaseOptions {
        documents,
        indexes: Options {
            background_flush: false,
            ..documents
        },
        node,
        ..DatabaseOptions::default()
    };
    DatabaseSet::open(MemoryVfs::new(), Path::new("/memory"), options)
        .context("cannot make databases in memory")
}

/// What the arguments and the settings of the data directory say.
fn config(arguments: &ServeArguments) -> anyhow::Result<ServerConfig> {
    let mut config = ServerConfig::default().for_memory(memory_bytes());
    config.public_hosts.clone_from(&arguments.public_hosts);
    config.tcp_listen = arguments.listen_tcp;
    config.scrub_bytes_per_second = u64::from(arguments.scrub) << 20;
    config.is_in_memory = arguments.in_memory;
    let idle_close = Duration::from_secs(u64::from(arguments.idle_close) * 60);
    config.idle_close = Some(idle_close).filter(|idle| !idle.is_zero() && !arguments.in_memory);
    if !arguments.in_memory {
        config.backup_directories = backup_directories(arguments)?;
    }
    config.give_back_memory = Some(jackdaw_io::allocator::give_back);
    if let Some(listen) = arguments.insecure_i_know {
        note!("jackdaw: WARNING: everybody who reaches {listen} can read and change everything");
        config.listen = listen;
        config.allow_unprotected_public = true;
        return Ok(config);
    }
    // Without a data directory there is none of security either.
    let on_disk = Some(&arguments.data).filter(|_| !arguments.in_memory);
    let security = on_disk.and_then(|data| SecurityDirectory::find(data));
    let settings = security
        .as_ref()
        .map(SecurityDirectory::settings)
        .transpose()?;
    let set_up = settings.and_then(|settings| settings.listen);
    config.listen = arguments.listen.or(set_up).unwrap_or(DEFAULT_LISTEN);
    config.security = security;
    Ok(config)
}

/// Where clients may have backups made.
fn backup_directories(arguments: &ServeArguments) -> anyhow::Result<Vec<PathBuf>> {
    if arguments.backups.is_empty() {
        let data = absolute_path(&arguments.data)
            .with_context(|| format!("cannot find {}", arguments.data.display()))?;
        return Ok(vec![data.join(BACKUPS_DIRECTORY)]);
    }
    let whole = |path: &PathBuf| {
        anyhow::ensure!(
            !path.exists() || path.is_dir(),
            "--backups {} is no directory: name one, or a place where one can be made",
            path.display()
        );
        absolute_path(path).with_context(|| format!("cannot find {}", path.display()))
    };
    arguments.backups.iter().map(whole).collect()
}

/// Starts a server for the databases.
pub(crate) fn start(config: ServerConfig, set: &Arc<DatabaseSet>) -> anyhow::Result<Running> {
    // Every connection is an open file; a low limit would refuse clients.
    if let Err(error) = jackdaw_io::system::raise_open_file_limit() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    Ok(Server::start(config, Arc::clone(set))?)
}

/// Tells the addresses and serves until a signal.
pub(crate) fn serve(running: Running) -> anyhow::Result<()> {
    let url = running.url();
    let tcp = running.tcp_address();
    say!("Clients: {url}\nStudio:  {url}/studio/\nTCP:     {tcp} (subscriptions)\nCtrl-C stops.");
    let cut = running.stop_on_signal().context("cannot wait for Ctrl-C")?;
    if cut > 0 {
        note!("{} had to be cut.", counted(cut as u64, "connection"));
    }
    Ok(())
}

/// Events of the server go to standard error: warnings, or what JACKDAW_LOG asks for. Returns a
/// handle on the level; `None` when logging was set up before, as in tests.
///
/// # Errors
/// JACKDAW_LOG is none of what it may be.
pub(crate) fn log_to_standard_error() -> anyhow::Result<Option<LogControl>> {
    let asked = std::env::var_os("JACKDAW_LOG").unwrap_or_default();
    let asked = asked.to_string_lossy();
    let filter = match asked.trim() {
        "" => filter_of(DEFAULT_LEVEL),
        asked => filter_of(asked),
    };
    let filter = filter
        .map_err(|wrong| anyhow::anyhow!("JACKDAW_LOG is {asked:?}, and {wrong}: {LOG_USAGE}"))?;
    let at_start = filter.max_level_hint().unwrap_or(LevelFilter::TRACE);
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(console::colors_enabled_stderr())
        // Errors of writing would be printed to the same standard error, which panics.
        .log_internal_errors(false)
        .with_filter_reloading();
    let filter = log.reload_handle();
    let is_first = log.try_init().is_ok();
    Ok(is_first.then(|| {
        LogControl::new(at_start, move |level| {
            filter_of(&level.to_string()).is_ok_and(|new| filter.reload(new).is_ok())
        })
    }))
}

/// The filter that `asked` describes, or what is wrong with it. Nothing of rustls unless that is
/// asked for: it would warn of whatever strangers send in a handshake, and they could fill the log.
fn filter_of(asked: &str) -> Result<EnvFilter, String> {
    // Conditions on spans have commas inside.
    if !asked.contains('[') {
        let parts = asked.split(',').map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            let (_, level) = part.rsplit_once('=').unwrap_or(("", part));
            // The filter takes a word that is no level for the name of a module.
            let is_level = LEVELS.iter().any(|known| level.eq_ignore_ascii_case(known));
            if !is_level {
                return Err(format!("{level:?} is no level"));
            }
        }
    }
    EnvFilter::try_new(format!("rustls=off,{asked}")).map_err(|error| error.to_string())
}

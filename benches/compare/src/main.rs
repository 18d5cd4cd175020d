//! Runs a storage workload of Jackdaw on another engine and prints the same JSON lines.
//!
//! `compare --engine lmdb --workload seq --directory DIR`; `cargo xtask bench storage` runs it in
//! turn with `jackdaw bench storage`.

#[cfg(feature = "more")]
mod fjall_engine;
#[cfg(feature = "more")]
mod libmdbx_engine;
mod lmdb;
mod redb_engine;
#[cfg(feature = "rocksdb")]
mod rocksdb_engine;
#[cfg(feature = "more")]
mod sqlite;

use clap::{Parser, ValueEnum};
use jackdaw_workload::{Engine, Error, Settings};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Peer {
    /// LMDB through heed.
    Lmdb,
    /// redb.
    Redb,
    /// libmdbx.
    #[cfg(feature = "more")]
    Libmdbx,
    /// fjall.
    #[cfg(feature = "more")]
    Fjall,
    /// SQLite.
    #[cfg(feature = "more")]
    Sqlite,
    /// RocksDB.
    #[cfg(feature = "rocksdb")]
    Rocksdb,
}

/// Runs a storage workload on another engine.
#[derive(Debug, Parser)]
#[command(name = "compare")]
struct Arguments {
    /// The engine.
    #[arg(long, value_enum)]
    engine: Peer,
    #[command(flatten)]
    settings: Settings,
    /// Accepted for likeness with `jackdaw bench storage`: the output is always JSON.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), Error> {
    let arguments = Arguments::parse();
    let settings = &arguments.settings;
    if cfg!(debug_assertions) {
        return Err("built without optimization: use --release".into());
    }
    std::fs::create_dir_all(&settings.directory)?;
    if std::fs::read_dir(&settings.directory)?.next().is_some() {
        return Err(format!("{} is not empty", settings.directory.display()).into());
    }
    let engine: Box<dyn Engine> = match arguments.engine {
        Peer::Lmdb => Box::new(lmdb::Lmdb::open(settings)?),
        Peer::Redb => Box::new(redb_engine::Redb::open(settings)?),
        #[cfg(feature = "more")]
        Peer::Libmdbx => Box::new(libmdbx_engine::Libmdbx::open(settings)?),
        #[cfg(feature = "more")]
        Peer::Fjall => Box::new(fjall_engine::Fjall::open(settings)?),
        #[cfg(feature = "more")]
        Peer::Sqlite => Box::new(sqlite::Sqlite::open(settings)?),
        #[cfg(feature = "rocksdb")]
        Peer::Rocksdb => Box::new(rocksdb_engine::RocksDb::open(settings)?),
    };
    jackdaw_workload::run(&*engine, settings, &mut |m| println!("{}", m.to_json()))
}

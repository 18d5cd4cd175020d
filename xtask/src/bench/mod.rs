//! `cargo xtask bench`: builds what it measures, runs it several times in turn, shows medians.

mod http;
mod import;
mod plot;
mod postgres;
mod redis;
mod search;
mod storage;
mod table;

use anyhow::{Result, bail};

use crate::{process, repository};

pub(crate) const SUMMARY: &str = "measures the engine, beside its peers";

pub(crate) const HELP: &str = "\
cargo xtask bench storage [--compare] [--workload NAME]... [--engine NAME]... [--items N]
                          [--per-transaction N] [--repetitions N] [--durability full|none]
                          [--directory DIR] [--json FILE]

Builds the binary and benches/compare, then runs each workload on each engine in turn (A B C, A B C,
A B C), every run in a process and a directory of its own, and prints the medians with their ratios
to Jackdaw's.

cargo xtask bench import [--albums N] [--repetitions N]

Imports an archive of 500,000 albums into an empty database and waits until queries by disc id,
artist and title are answered from a complete index.

cargo xtask bench http [--compare URL] [--postgres] [--secured] [--repetitions N] [--documents N]
                       [--seconds S] [--task PART] [--lines FILE]

Drives a server over HTTP, and the one at URL in turn, which has to speak RavenDB's protocol: single
stores, batches, loads by id, bulk insert, stream and patch of many documents, databases made and
dropped, memory. Beside loads, and requests with nothing to do, stands what hyper alone reaches from
memory; with --postgres, beside stores, a table of JSONB in the PostgreSQL of this machine's
packages. With --secured a server after `jackdaw setup` tells what a token costs each request. With
--lines the documents of a file, one a line, are inserted as well.

cargo xtask bench router

Time and allocations of a routing match over 582 methods and paths, beside matchit.

cargo xtask bench search [--compare] [--engine NAME]... [--albums N | --rows FILE]
                         [--directory DIR]

Indexes rows at once and in small commits, changes a fifth of them, and asks 28 classes of queries,
before and after. Engines: jackdaw (alone without --compare), tantivy, lucene (needs Java and
Maven). Rows are 500,000 invented albums, or a file of nine columns separated by tabs: id, route,
ids separated by commas, artist, title, year, num, genre, text.

cargo xtask bench redis [--compare]

redis-benchmark (package redis-tools) against the Redis server: GET and SET in pipelines of 1, 16
and 100, durable SET, memory a key; with --compare beside redis-server.

Arguments of bench storage:
  --workload     seq, random, one-transaction, small, small-16, read, scan, large, delete (all)
  --engine       jackdaw, lmdb, redb (these three), libmdbx, fjall, sqlite, rocksdb
  --compare      all engines; needs a C compiler, libclang and, for RocksDB, librocksdb-dev
  --repetitions  3
  --directory    where the files go: a folder on the disk to be measured (target/bench)
  --json         where every single measurement is written (target/bench/storage.json); the tables
                 and a picture go beside it (.md, .svg)";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((name, rest)) if name == "storage" => storage::run(rest),
        Some((name, rest)) if name == "http" => http::run(rest),
        Some((name, rest)) if name == "import" => import::run(rest),
        Some((name, rest)) if name == "redis" => redis::run(rest),
        Some((name, rest)) if name == "search" => search::run(rest),
        Some((name, _)) if name == "router" => router(),
        Some((name, _)) => bail!("there is no bench `{name}`; see `cargo xtask bench --help`"),
        None => bail!("name a bench; see `cargo xtask bench --help`"),
    }
}

fn router() -> Result<()> {
    let arguments = ["bench", "--package", "jackdaw-server", "--bench", "router"];
    process::run(&mut process::cargo_in(&repository::root(), &arguments))
}

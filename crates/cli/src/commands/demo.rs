//! `jackdaw demo`: makes up CD albums, imports them, asks questions, then serves.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackdaw_base::hash::xxh3_64;
use jackdaw_database::{Database, DatabaseSet, QueryRequest};
use jackdaw_io::Vfs;
use jackdaw_server::{DEFAULT_LISTEN, LogControl, Running, ServerConfig};

use super::address;
use super::query::{Answer, INDEX_WAIT, ask};
use super::serve::{log_to_standard_error, serve, start};
use super::target::{database_or_new, open_set};
use crate::demo::{DemoArchive, Generator, TOUR_INDEX, TourStop, tour};
use crate::import::allowance::Allowance;
use crate::import::job::{Job, Stages, import};
use crate::import::signals::stop_on_signals;
use crate::import::summary::Purpose;
use crate::output::numbers::{count, counted, duration};
use crate::output::rows::{RowFormat, render};
use crate::output::say::{note, say};
use crate::output::table::terminal_width;
use jackdaw_transfer::albums::AlbumParser;
use jackdaw_transfer::local::LocalSink;
use jackdaw_transfer::source::{Input, Total};

/// The same albums on every machine, so that the pages that show them are right.
const SEED: u64 = 1;
/// Database that the albums go into.
const DATABASE: &str = "music";
/// Rows shown of each answer.
const ROWS_SHOWN: u64 = 5;

/// Each question is asked so often again; the median time is shown.
const RUNS_AGAIN: usize = 5;

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoArguments {
    /// How many albums to make up.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000,
        value_parser = clap::value_parser!(u64).range(1..=100_000_000)
    )]
    albums: u64,
    /// Keep the data in this directory; by default it is removed at the end.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Address and port to serve on; by default 127.0.0.1:8080, or a free port if it is taken.
    #[arg(long, value_name = "ADDRESS", value_parser = address::listen)]
    listen: Option<SocketAddr>,
    /// End after the questions instead of serving.
    #[arg(long)]
    exit: bool,
}

/// Shows everything, then serves.
pub(crate) fn run(arguments: &DemoArguments, disk: &Arc<dyn Vfs>) -> anyhow::Result<()> {
    let log = log_to_standard_error()?;
    let data = DemoData::new(arguments.data.clone());
    {
        let set = Arc::new(open_set(data.path(), disk)?);
        let database = database_or_new(&set, DATABASE)?;
        say!(
            "Importing {} made up as a CD archive into {} ...",
            counted(arguments.albums, "album"),
            data.path().display()
        );
        let stop = stop_on_signals()?;
        let new_sink = || LocalSink::new(Arc::clone(&database)).ready_for(TOUR_INDEX.to_owned());
        let imported = import(job(arguments.albums), new_sink, &stop);
        anyhow::ensure!(
            data.is_kept || !stop.is_asked(),
            "stopped; the data is removed again"
        );
        imported?;
        for question in tour(&Generator::new(SEED, arguments.albums)) {
            anyhow::ensure!(!stop.is_asked(), "stopped");
            show(&question, &database)?;
        }
        drop(database);
        if !arguments.exit {
            say!("");
            serve(listen(arguments.listen, log.as_ref(), &set)?)?;
        }
    }
    if arguments.data.is_none() {
        say!("The data is removed again; --data DIR keeps it.");
    }
    Ok(())
}

/// The import of the made-up archive, which is read as it is made.
fn job(albums: u64) -> Job {
    let identity = xxh3_64(&albums.to_le_bytes(), SEED);
    let archive = Box::new(DemoArchive::new(SEED, albums));
    let input = Input::from_reader(
        "the demo's archive",
        identity,
        Total::Entries(albums),
        archive,
    );
    Job {
        kind: "demo",
        noun: "albums",
        inputs: vec![input],
        settings: Vec::new(),
        open: Box::new(|input, threads, _| {
            Ok(Stages {
                source: Box::new(input.into_entries(threads)?),
                parser: Box::new(|| Box::new(AlbumParser::new("Albums"))),
            })
        }),
        skipped: None,
        allowance: Allowance::default(),
        again: false,
        purpose: Purpose::Import,
    }
}

/// Asks several times: the first time reads pages that nobody has touched yet.
fn show(stop: &TourStop, database: &Database) -> anyhow::Result<()> {
    say!("\n{}\n  {}", stop.about, stop.query);
    let request = QueryRequest {
        text: &stop.query,
        page_size: Some(ROWS_SHOWN),
        wait: Some(INDEX_WAIT),
        ..QueryRequest::default()
    };
    let timed = || -> anyhow::Result<(Answer, Duration)> {
        let started = Instant::now();
        let answer = ask(database, &request)?;
        Ok((answer, started.elapsed()))
    };
    let (answer, first) = timed()?;
    let mut again = (0..RUNS_AGAIN)
        .map(|_| timed().map(|(_, time)| time))
        .collect::<anyhow::Result<Vec<_>>>()?;
    again.sort_unstable();
    let again = again[RUNS_AGAIN / 2];
    let table = render(&answer.rows, RowFormat::Table, terminal_width())?;
    for line in table.lines() {
        say!("  {line}");
    }
    say!(
        "  {} found in {} (the first time in {}), from {}",
        count(answer.total),
        duration(again),
        duration(first),
        answer.index_name
    );
    Ok(())
}

/// A server on the address asked for, or on the usual one if it is free, else on any.
fn listen(
    asked: Option<SocketAddr>,
    log: Option<&LogControl>,
    set: &Arc<DatabaseSet>,
) -> anyhow::Result<Running> {
    let on = |address| {
        let mut config = ServerConfig::default();
        config.listen = address;
        config.log = log.cloned();
        start(config, set)
    };
    if let Some(address) = asked {
        return on(address);
    }
    let free = SocketAddr::new(DEFAULT_LISTEN.ip(), 0);
    on(DEFAULT_LISTEN).or_else(|_| on(free))
}

/// The demo's data directory: one that the user named, or one that goes when the demo ends.
struct DemoData {
    path: PathBuf,
    is_kept: bool,
}

impl DemoData {
    fn new(data: Option<PathBuf>) -> Self {
        let is_kept = data.is_some();
        let path = data.unwrap_or_else(|| {
            std::env::temp_dir().join(format!("jackdaw-demo-{}", std::process::id()))
        });
        Self { path, is_kept }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DemoData {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        match std::fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                note!("jackdaw: cannot remove {}: {error}", self.path.display());
            }
            _ => {}
        }
    }
}

//! `soak`: a database under a mixed load for a long time, to see whether anything grows that should
//! not, and whether every answer stays right.
//!
//! Started by `cargo xtask crash --soak-minutes N`, a process of its own, so that its memory is the
//! database's. Four clients change and ask (`client`) at a steady pace, another thread keeps long
//! snapshots and one makes backups (`visitors`). Each minute a line tells what the process and its
//! files hold (`minute`); the end judges them (`verdict`).
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its output is what it is run for")]

mod client;
mod minute;
mod verdict;
mod visitors;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use jackdaw_database::{DatabaseOptions, DatabaseSet};
use jackdaw_io::RealVfs;
use jackdaw_slow_tests::TestDirectory;
use jackdaw_storage::{Options, verify};

use crate::client::Client;
use crate::minute::Minutes;

/// The binary's allocator, so that the memory is judged which a server has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "soak MINUTES [SEED]";
const CLIENTS: u64 = 4;
const DATABASE: &str = "soak";

/// What all threads share.
#[derive(Default)]
struct Course {
    is_over: AtomicBool,
    operations: AtomicU64,
    /// The first thing that went wrong.
    failure: Mutex<Option<String>>,
}

impl Course {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits, unless it is over before.
    fn pause(&self, duration: Duration) {
        std::thread::park_timeout(duration.min(Duration::from_millis(200)));
    }

    /// Runs a thread's work; what fails or panics ends the course.
    fn attempt(&self, who: &str, work: impl FnOnce() -> Result<()>) {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        let outcome = outcome.unwrap_or_else(|_| Err(anyhow!("it panicked")));
        if let Err(error) = outcome {
            self.is_over.store(true, Ordering::Relaxed);
            let mut failure = self.failure.lock().expect("no holder of it panics");
            failure.get_or_insert(format!("{who}: {error:#}"));
        }
    }
}

/// Small limits: flushes, new journal files and merges of indexes come often.
fn options() -> DatabaseOptions {
    let default = DatabaseOptions::default();
    DatabaseOptions {
        documents: Options {
            scratch_bytes: 64 << 20,
            journal_bytes: 64 << 20,
            journal_file_bytes_max: 16 << 20,
            journal_archive_bytes: 512 << 20,
            ..default.documents
        },
        indexes: Options {
            scratch_bytes: 32 << 20,
            journal_bytes: 32 << 20,
            ..default.indexes
        },
        ..default
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("soak: FAILED: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let numbers: Result<Vec<u64>, _> = arguments.iter().map(|text| text.parse()).collect();
    let (minutes, seed) = match numbers.context(USAGE)?[..] {
        [minutes] => (minutes, 1),
        [minutes, seed] => (minutes, seed),
        _ => bail!(USAGE),
    };
    println!("soak: {minutes} minutes, {CLIENTS} clients, seed {seed}");
    let directory = TestDirectory::new("soak")?;
    let outcome = soak(&directory, minutes, seed);
    if outcome.is_err() {
        println!("soak: its files stay in {}", directory.0.display());
        directory.keep();
    }
    outcome
}

fn soak(directory: &TestDirectory, minute_count: u64, seed: u64) -> Result<()> {
    let data = directory.0.join("data");
    let set = DatabaseSet::open(RealVfs::new(), &data, options())?;
    let database = set.create(DATABASE, "{}")?;
    client::define_index(&database)?;
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        clients.push(Client::new(&database, number, seed)?);
    }
    let course = Course::default();
    let mut minutes = Minutes::new(&data, &database);
    std::thread::scope(|scope| {
        for client in &mut clients {
            let course = &course;
            scope.spawn(move || course.attempt("a client", || client.run(course)));
        }
        scope.spawn(|| course.attempt("snapshots", || visitors::snapshots(&database, &course)));
        scope.spawn(|| {
            let backups = || visitors::backups(&set, &directory.0, &course);
            course.attempt("backups", backups);
        });
        course.attempt("minutes", || {
            while !course.is_over() && minutes.list.len() as u64 != minute_count {
                minutes.next(&course)?;
            }
            Ok(())
        });
        course.is_over.store(true, Ordering::Relaxed);
    });
    if let Some(failure) = course.failure.into_inner()? {
        bail!(failure);
    }
    for client in &clients {
        client.compare_all()?;
    }
    ensure!(
        database.wait_for_indexes(Duration::from_secs(120)),
        "the indexes did not come to the end of the documents"
    );
    let report = database.verify()?;
    ensure!(report.is_sound(), "{report:?}");
    let answers: client::Answers = clients.iter().map(|client| client.answers).sum();
    let list = std::mem::take(&mut minutes.list);
    drop((minutes, clients, database, set));
    let mut files = 0;
    for environment in minute::environments_below(&data)? {
        let report = verify(&*RealVfs::new(), &environment)?;
        let damages = report.damages;
        ensure!(damages.is_empty(), "{}: {damages:?}", environment.display());
        files += 1;
    }
    println!(
        "soak: {} answers of the automatic index right, {} of the static index ({} more were \
         behind), {} documents and {} attachments read as they were written, {files} environments \
         verified",
        answers.automatic, answers.fixed, answers.stale, answers.documents, answers.attachments
    );
    println!(
        "soak: {}",
        verdict::judge(&list).map_err(anyhow::Error::msg)?
    );
    Ok(())
}

//! Opening after a kill with a full journal: 256 MiB of records are replayed, all of them, and the
//! time is told.
//!
//! The test starts itself again as the process that is killed (`JACKDAW_RECOVERY_DIRECTORY`).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use jackdaw_io::RealVfs;
use jackdaw_slow_tests::{TestDirectory, mix};
use jackdaw_storage::{Environment, Options, StorageError};

const DIRECTORY: &str = "JACKDAW_RECOVERY_DIRECTORY";
const TEST: &str = "a_full_journal_is_replayed_within_seconds";
const JOURNAL_BYTES: u64 = 256 << 20;
const ENTRIES_PER_TRANSACTION: u64 = 100;
const VALUE_BYTES: usize = 128;
/// Wide of the goal (2 s in a release build on an idle machine), so that only a mistake fails.
const SECONDS_MAX: f64 = 30.0;

/// Nothing is flushed before the journal is as long as the test wants it.
fn options() -> Options {
    Options {
        scratch_bytes: 8 << 30,
        journal_bytes: 8 << 30,
        ..Options::default()
    }
}

/// Fills the journal, says how many entries are durable, and waits to be killed.
fn write_until_killed(directory: &Path) -> ! {
    let environment = Environment::open(RealVfs::new(), directory, options()).unwrap();
    let mut entries = 0;
    while environment.statistics().journal_live_bytes < JOURNAL_BYTES {
        let first = entries;
        let written = environment.write(move |transaction| {
            let mut tree = transaction.tree_mut("t")?;
            for number in first..first + ENTRIES_PER_TRANSACTION {
                let key = mix(number).to_be_bytes();
                tree.put(&key, &[key[0]; VALUE_BYTES])?;
            }
            Ok::<(), StorageError>(())
        });
        written.unwrap();
        entries += ENTRIES_PER_TRANSACTION;
    }
    println!("\nentries {entries}");
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_full_journal_is_replayed_within_seconds() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        write_until_killed(Path::new(&directory));
    }
    let directory = TestDirectory::new("recovery").unwrap();
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture"])
        .env(DIRECTORY, &directory.0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let entries: u64 = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("entries ")?.parse().ok())
        .expect("the writer fills the journal");
    writer.kill().unwrap();
    writer.wait().unwrap();

    let started = Instant::now();
    let environment = Environment::open(RealVfs::new(), &directory.0, options()).unwrap();
    let seconds = started.elapsed().as_secs_f64();
    let recovery = environment.statistics().recovery;
    println!(
        "recovery: {} transactions, {} MiB of journal, {} pages, {seconds:.2} s",
        recovery.transactions,
        recovery.journal_bytes >> 20,
        recovery.pages
    );
    assert_eq!(recovery.transactions, entries / ENTRIES_PER_TRANSACTION);
    let reader = environment.read().unwrap();
    let tree = reader.tree("t").unwrap().expect("written by the writer");
    assert_eq!(tree.len(), entries);
    assert!(seconds < SECONDS_MAX, "{seconds} s");
}

//! A writer is killed with SIGKILL again and again, at random moments. Each time the environment
//! opens, holds every transaction that was acknowledged, one more at most, and no damage.
//!
//! `JACKDAW_KILLS` changes how often.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jackdaw_io::RealVfs;
use jackdaw_slow_tests::{TestDirectory, content_after, mix};
use jackdaw_storage::{CheckLevel, Environment, Options};

const KILLS: u64 = 30;
const LONGEST_RUN: u64 = 400;

/// Runs the writer until it is killed; gives the last transaction that it saw acknowledged.
fn run_and_kill(directory: &Path, run_for: Duration) -> Option<u64> {
    let mut writer = Command::new(env!("CARGO_BIN_EXE_slow-writer"))
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = writer.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.filter_map(|line| line.parse::<u64>().ok()).last()
    });
    std::thread::sleep(run_for);
    writer.kill().unwrap();
    let status = writer.wait().unwrap();
    assert!(
        status.code().is_none(),
        "the writer ended by itself: {status}"
    );
    reader.join().unwrap()
}

/// Opens the environment as the kill left it; gives its last transaction.
fn check(directory: &Path) -> u64 {
    let environment = Environment::open(RealVfs::new(), directory, Options::small()).unwrap();
    let snapshot = environment.read().unwrap();
    let number = snapshot.id().0;
    let mut content = BTreeMap::new();
    if let Some(tree) = snapshot.tree("t").unwrap() {
        for entry in tree.iter().unwrap() {
            let (key, value) = entry.unwrap();
            content.insert(key.to_vec(), value.to_vec());
        }
    }
    assert!(
        content == content_after(number),
        "the content is not that of transaction {number}"
    );
    drop(snapshot);
    let report = environment.check(CheckLevel::Full).unwrap();
    assert!(report.damages.is_empty(), "{:?}", report.damages);
    number
}

#[test]
fn a_killed_writer_loses_nothing_acknowledged() {
    let text = std::env::var("JACKDAW_KILLS").unwrap_or_default();
    let kills = text.parse().unwrap_or(KILLS);
    let directory = TestDirectory::new("kill").unwrap();
    let (mut before, mut slowest) = (0, Duration::ZERO);
    for round in 0..kills {
        let run_for = Duration::from_millis(mix(round) % LONGEST_RUN);
        let acknowledged = run_and_kill(&directory.0, run_for).unwrap_or(before);
        let started = Instant::now();
        let found = check(&directory.0);
        slowest = slowest.max(started.elapsed());
        assert!(
            found == acknowledged || found == acknowledged + 1,
            "round {round}: {acknowledged} was acknowledged, {found} is the last there"
        );
        before = found;
    }
    println!(
        "kill loop: {kills} kills, {before} transactions, 0 lost; slowest opening with a full \
         check {:.2} s",
        slowest.as_secs_f64()
    );
}

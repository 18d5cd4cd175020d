//! A writer is killed with SIGKILL at a chosen system call, or the call fails with EIO or ENOSPC,
//! for every kind of call by which it changes files and for moments spread over its whole run:
//! opening, commits, new journal files, flushes, holes, closing. strace counts the calls and kills
//! before the chosen one happens, or lets it fail instead of happening.
//!
//! After each the files are verified, the environment opens, holds every transaction that was
//! acknowledged, one more at most, and no damage. The ledger is what this process read from the
//! writer's pipe. The next writer goes on with what was left, so recoveries are met too. A writer
//! whose call failed may end with an error or go on; it does not panic.
//!
//! `JACKDAW_SYSCALL_KILLS` and `JACKDAW_SYSCALL_ERRORS` change how many points. Without strace
//! nothing is tested, and said.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use jackdaw_io::RealVfs;
use jackdaw_slow_tests::{Content, TestDirectory, apply};
use jackdaw_storage::{CheckLevel, Environment, Options, verify};

const POINTS: u64 = 40;
/// Transactions of one run; enough for several flushes and journal files.
const TRANSACTIONS: u64 = 150;
/// Calls that change files, as far as a run makes them.
const CALLS: &[&str] = &[
    "pwrite64",
    "pwritev2",
    "write",
    "fdatasync",
    "fsync",
    "ftruncate",
    "fallocate",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "openat",
];

/// Calls that do not fail in this test: the writer's acknowledgements leave by them.
const CALLS_OF_THE_PIPE: &[&str] = &["write"];

/// What a run of the writer under strace did.
struct Run {
    /// The last transaction it said was durable.
    acknowledged: Option<u64>,
    /// It was killed, or ended with an error.
    is_ended: bool,
    /// What it said about that.
    message: String,
}

/// Runs the writer under strace with these arguments of strace.
fn run(strace: &[&str], directory: &Path, is_alone: bool) -> Run {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(strace);
    command.arg(env!("CARGO_BIN_EXE_slow-writer"));
    command.arg(directory).arg(TRANSACTIONS.to_string());
    if is_alone {
        command.arg("alone");
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // The last line may have been cut off.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    Run {
        acknowledged: whole.lines().next_back().map(|line| line.parse().unwrap()),
        is_ended: !output.status.success(),
        message: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// How often a run makes each of the calls, by strace's own count.
fn count_calls(directory: &TestDirectory, is_alone: bool) -> Vec<(String, u64)> {
    let (data, table) = (directory.0.join("counted"), directory.0.join("counts"));
    let table_path = table.to_str().unwrap();
    let run = run(&["-c", "-o", table_path], &data, is_alone);
    assert!(!run.is_ended, "{}", run.message);
    std::fs::remove_dir_all(&data).unwrap();
    let text = std::fs::read_to_string(&table).unwrap();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.last().filter(|name| CALLS.contains(*name))?;
        Some(((*name).to_owned(), words.get(3)?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

/// Points for each call, spread over its run: all alike, but no more than there are calls.
fn shares(mut counts: Vec<(String, u64)>, mut points: u64) -> Vec<(String, Vec<u64>)> {
    counts.sort_by_key(|(_, count)| *count);
    let mut kinds = counts.len() as u64;
    let share = |(call, count): (String, u64)| {
        let share = points.div_ceil(kinds).min(count);
        (points, kinds) = (points - share, kinds - 1);
        (
            call,
            (0..share).map(|point| 1 + count * point / share).collect(),
        )
    };
    counts.into_iter().map(share).collect()
}

/// What has to be in the environment.
#[derive(Default)]
struct Ledger {
    number: u64,
    content: Content,
}

impl Ledger {
    fn advance(&mut self, number: u64) {
        for number in self.number + 1..=number {
            apply(&mut self.content, number);
        }
        self.number = number;
    }

    /// Looks at what a kill left, with both readers.
    fn check(&mut self, directory: &Path, acknowledged: u64, point: &str) {
        if directory.join("meta").exists() {
            let report = verify(&*RealVfs::new(), directory).unwrap();
            assert!(report.damages.is_empty(), "{point}: {:?}", report.damages);
        }
        let environment = Environment::open(RealVfs::new(), directory, Options::small());
        let environment = environment.unwrap_or_else(|error| panic!("{point}: {error}"));
        let snapshot = environment.read().unwrap();
        let number = snapshot.id().0;
        assert!(
            number == acknowledged || number == acknowledged + 1,
            "{point}: {acknowledged} was acknowledged, {number} is the last there"
        );
        self.advance(number);
        let mut content = BTreeMap::new();
        if let Some(tree) = snapshot.tree("t").unwrap() {
            for entry in tree.iter().unwrap() {
                let (key, value) = entry.unwrap();
                content.insert(key.to_vec(), value.to_vec());
            }
        }
        assert!(
            content == self.content,
            "{point}: the content is not that of transaction {number}"
        );
        drop(snapshot);
        let report = environment.check(CheckLevel::Full).unwrap();
        assert!(report.damages.is_empty(), "{point}: {:?}", report.damages);
    }
}

/// What happens instead of a call.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Kill,
    Error(&'static str),
}

/// What a suite did.
#[derive(Default)]
struct Totals {
    /// Runs that were killed or ended with an error, by call.
    ended: BTreeMap<String, u64>,
    /// Runs that went to their end: threads count on their own, a used environment needs fewer new
    /// files, and some errors pass.
    whole: u64,
    transactions: u64,
}

/// Meets runs with a fault at so many points; `None` without strace.
fn meet(fault: Fault, points: u64) -> Option<Totals> {
    let has_strace = Command::new("strace").arg("-V").output();
    if !has_strace.is_ok_and(|output| output.status.success()) {
        println!("SYSTEM CALLS SKIPPED: strace is not installed");
        return None;
    }
    let (name, inject) = match fault {
        Fault::Kill => ("kill", "signal=SIGKILL".to_owned()),
        Fault::Error(error) => (error, format!("error={error}")),
    };
    let directory = TestDirectory::new(&format!("syscall-{name}")).unwrap();
    let mut totals = Totals::default();
    for is_alone in [true, false] {
        let mut counts = count_calls(&directory, is_alone);
        println!("calls of a run, alone {is_alone}: {counts:?}");
        assert!(counts.len() > 3, "strace counted too little");
        if fault != Fault::Kill {
            counts.retain(|(call, _)| !CALLS_OF_THE_PIPE.contains(&call.as_str()));
        }
        for (call, moments) in shares(counts, points.div_ceil(2)) {
            let data = directory.0.join(format!("{call}-{is_alone}"));
            let mut ledger = Ledger::default();
            for when in moments {
                // Only calls that are traced count.
                let trace = format!("trace={call}");
                let inject = format!("inject={call}:{inject}:when={when}");
                let strace = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
                let run = run(&strace, &data, is_alone);
                let acknowledged = run.acknowledged.unwrap_or(ledger.number);
                let point = format!("{name}, {call} {when}, alone {is_alone}");
                assert!(
                    !run.message.contains("panicked"),
                    "{point}: {}",
                    run.message
                );
                ledger.check(&data, acknowledged, &point);
                match run.is_ended {
                    true => *totals.ended.entry(call.clone()).or_insert(0) += 1,
                    false => totals.whole += 1,
                }
            }
            totals.transactions += ledger.number;
            // An early end may have left nothing at all.
            let _ = std::fs::remove_dir_all(&data);
        }
    }
    Some(totals)
}

fn points_of(variable: &str) -> u64 {
    let text = std::env::var(variable).unwrap_or_default();
    text.parse().unwrap_or(POINTS)
}

#[test]
fn a_writer_killed_at_any_system_call_loses_nothing_acknowledged() {
    let points = points_of("JACKDAW_SYSCALL_KILLS");
    let Some(totals) = meet(Fault::Kill, points) else {
        return;
    };
    let kills: u64 = totals.ended.values().sum();
    assert!(
        kills * 2 > points,
        "only {kills} of {points} points: {:?}",
        totals.ended
    );
    println!(
        "syscall kills: {kills} kills ({} more runs ended before their point), \
         {} transactions, 0 lost; {:?}",
        totals.whole, totals.transactions, totals.ended
    );
}

#[test]
fn a_writer_whose_system_calls_fail_loses_nothing_acknowledged() {
    let points = points_of("JACKDAW_SYSCALL_ERRORS");
    for error in ["EIO", "ENOSPC"] {
        let Some(totals) = meet(Fault::Error(error), points.div_ceil(2)) else {
            return;
        };
        let failed: u64 = totals.ended.values().sum();
        assert!(failed > 0, "no run noticed that a call failed");
        println!(
            "syscall errors: {failed} runs ended by {error} ({} went on), {} transactions, \
             0 lost; {:?}",
            totals.whole, totals.transactions, totals.ended
        );
    }
}

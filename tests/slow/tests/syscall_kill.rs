//! A writer is killed with SIGKILL at a chosen system call, for every kind of call by which it
//! changes files and for moments spread over its whole run: opening, commits, new journal files,
//! flushes, holes, closing. strace counts the calls and kills before the chosen one happens.
//!
//! After each kill the files are verified, the environment opens, holds every transaction that was
//! acknowledged, one more at most, and no damage. The ledger is what this process read from the
//! writer's pipe. The next writer goes on with what the kill left, so recoveries are killed too.
//!
//! `JACKDAW_SYSCALL_KILLS` changes how many points. Without strace nothing is tested, and said.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

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

/// What a run of the writer under strace did.
struct Run {
    /// The last transaction it said was durable.
    acknowledged: Option<u64>,
    is_killed: bool,
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
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // The last line may have been cut off.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let is_killed = !output.status.success();
    Run {
        acknowledged: whole.lines().next_back().map(|line| line.parse().unwrap()),
        is_killed,
    }
}

/// How often a run makes each of the calls, by strace's own count.
fn count_calls(directory: &TestDirectory, is_alone: bool) -> Vec<(String, u64)> {
    let (data, table) = (directory.0.join("counted"), directory.0.join("counts"));
    let table_path = table.to_str().unwrap();
    let run = run(&["-c", "-o", table_path], &data, is_alone);
    assert!(!run.is_killed);
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

#[test]
fn a_writer_killed_at_any_system_call_loses_nothing_acknowledged() {
    let has_strace = Command::new("strace").arg("-V").output();
    if !has_strace.is_ok_and(|output| output.status.success()) {
        println!("SYSCALL KILLS SKIPPED: strace is not installed");
        return;
    }
    let text = std::env::var("JACKDAW_SYSCALL_KILLS").unwrap_or_default();
    let points = text.parse().unwrap_or(POINTS);
    let directory = TestDirectory::new("syscall-kill").unwrap();
    let mut totals = BTreeMap::new();
    let (mut transactions, mut missed) = (0, 0);
    for is_alone in [true, false] {
        let counts = count_calls(&directory, is_alone);
        println!("calls of a run, alone {is_alone}: {counts:?}");
        assert!(counts.len() > 3, "strace counted too little");
        for (call, moments) in shares(counts, points.div_ceil(2)) {
            let data = directory.0.join(format!("{call}-{is_alone}"));
            let mut ledger = Ledger::default();
            for when in moments {
                // Only calls that are traced count.
                let trace = format!("trace={call}");
                let inject = format!("inject={call}:signal=SIGKILL:when={when}");
                let strace = ["-o", "/dev/null", "-e", &trace, "-e", &inject];
                let run = run(&strace, &data, is_alone);
                let acknowledged = run.acknowledged.unwrap_or(ledger.number);
                let name = format!("{call} {when}, alone {is_alone}");
                ledger.check(&data, acknowledged, &name);
                match run.is_killed {
                    true => *totals.entry(call.clone()).or_insert(0) += 1,
                    // Threads count on their own, and a used environment needs fewer new files.
                    false => missed += 1,
                }
            }
            transactions += ledger.number;
            // An early kill may have left nothing at all.
            let _ = std::fs::remove_dir_all(&data);
        }
    }
    let kills: u64 = totals.values().sum();
    assert!(
        kills * 2 > points,
        "only {kills} of {points} points: {totals:?}"
    );
    println!(
        "syscall kills: {kills} kills ({missed} more runs ended before their point), \
         {transactions} transactions, 0 lost; {totals:?}"
    );
}

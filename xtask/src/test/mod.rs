//! `cargo xtask test`: the fast suite, and by name the suites that take longer or need more.

mod clients;
mod fast;
mod fuzz;
mod race;
mod redis;
mod redis_own;
mod report;
mod server;
mod slow;
mod studio;
mod suites;
mod wire;

use anyhow::{Result, bail};

use crate::proof;

pub(crate) use server::Server;

pub(crate) const SUMMARY: &str = "builds and runs the fast suite";

pub(crate) const CRASH_SUMMARY: &str = "proof suites: power loss, failures, kills, isolation";

pub(crate) const HELP: &str = "\
cargo xtask test [--budget-seconds N] [-p PACKAGE]...
cargo xtask test slow
cargo xtask test crash [--seed N] [--seeds N] [--images N] [--failure-seeds N]
                       [--isolation-seconds N] [--index-steps N] [--index-images N]
                       [--kills N] [--server-kills N] [--albums N]
                       [--redis-kills N] [--history-seconds N] [--syscall-kills N]
                       [--syscall-errors N] [--full-disks N]
cargo xtask crash      the same
cargo xtask crash --soak-minutes N
cargo xtask test index [--seed N] [--index-steps N] [--index-images N]
cargo xtask test watchers [--watchers N] [--seconds N] [--soak-watchers N] [--seed N]
cargo xtask test hostile [--rounds N] [--memory-mib N] [--seed N] [--from N]
cargo xtask test race
cargo xtask test clients [python|node|jvm]... [--scenario PART]
cargo xtask test wire [--catalogue DIR] [--all] [PART]
cargo xtask test redis [python|node|cli]... [--mode memory|durable] [--scenario PART]
cargo xtask test redis --sources DIR [--mode memory|durable] [PART]...
cargo xtask test studio
cargo xtask test fuzz [--seconds N] [TARGET]...

Builds the workspace with its tests, then runs every test of the fast suite, prints the runners' own
summaries, the ten slowest tests and the running time after the build, and fails when a test fails.
A running time over the budget (60 s on two idle cores) is reported; with --budget-seconds N the
suite also fails when it runs for longer than N seconds.

slow runs everything in tests/slow: whatever takes longer than a fast test may; beside the parts of
crash the program `jackdaw check` on flipped bits (JACKDAW_FLIPS, JACKDAW_FLIP_SEED), and a backup
under load with restores of its end and of two times.
crash runs the proof suites, on the simulated disk unless said otherwise, and prints their totals:
random histories with crashes (--seeds of them, from --seed on), power loss at every moment of
scripts (--images), every operation of the disk failing in turn (--failure-seeds), mistakes planted
on purpose until each is found, concurrent clients whose reads have to have a serial order
(--isolation-seconds), random changes of an index and questions whose answers are known
(--index-steps of both together), power loss at every moment of batches to an index, which has to
equal a rebuilt one (--index-images); then, on the real disk, a writer killed with SIGKILL again and
again (--kills), a server killed under sixteen clients (--server-kills), the same with every answer
checked for an order that explains it (--history-seconds), an import killed three times (--albums),
a writer killed at chosen system calls (--syscall-kills, with strace), or whose calls fail
(--syscall-errors), a disk that runs full under a server (--full-disks, as root).
With --soak-minutes alone: a database under a mixed load of four clients, with long snapshots and
backups, whose answers have to be right and whose memory and files may not grow.
index runs the two suites of the index alone.
watchers opens --watchers feeds (2,000) of a server in another process and prints what they cost;
then readers (--soak-watchers) join, leave and stall for --seconds, and each checks that it misses
nothing.
hostile throws hostile input at a server in a memory cgroup of 256 MiB (as root; a run without one
says that it proves no bound) and prints what became of it.
race runs every interleaving of the lock-free pieces (loom); two minutes.
wire replays the recorded exchanges of tests/wire and compares every answer with the recorded one;
PART chooses areas (docs) or an exchange (docs/017), --all shows differences with a reason as well.
clients runs the suites of tests/clients against one server, with RavenDB's official clients for
Python (two releases), Node.js and the JVM; with Python also against a server after `jackdaw setup`.
redis runs those of tests/clients/redis with redis-py, ioredis and redis-cli against the Redis
server, in memory and durable. Of both, a suite without its tools is left out with a line, and fails
when the variable CI is set. With --sources it runs Redis's own test programs, from the unpacked
source of Redis in DIR (`apt-get source redis`) with tclsh; PART chooses files.
studio serves the demo's database and drives Studio in Chromium; pictures are in studio/test/out.
fuzz builds the programs of fuzz/targets with coverage counters and lets each look for inputs that
fail, for 10 seconds; it needs a C++ compiler.";

pub(crate) fn run_crash(arguments: &[String]) -> Result<()> {
    slow::run_crash(arguments)
}

fn run_index(arguments: &[String]) -> Result<()> {
    let arguments = arguments.iter().map(String::as_str);
    let of_proof: Vec<&str> = ["index"].into_iter().chain(arguments).collect();
    proof::start(&of_proof)
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.first().map(String::as_str) {
        None => fast::run(arguments),
        Some(first) if first.starts_with('-') => fast::run(arguments),
        Some("slow") => slow::run(&arguments[1..]),
        Some("crash") => slow::run_crash(&arguments[1..]),
        Some("index") => run_index(&arguments[1..]),
        Some("watchers") => slow::run_watchers(&arguments[1..]),
        Some("hostile") => slow::run_hostile(&arguments[1..]),
        Some("clients") => clients::run(&arguments[1..]),
        Some("wire") => wire::run(&arguments[1..]),
        Some("redis") => redis::run(&arguments[1..]),
        Some("studio") => studio::run(&arguments[1..]),
        Some("race") => race::run(&arguments[1..]),
        Some("fuzz") => fuzz::run(&arguments[1..]),
        Some(other) => bail!("there is no suite `{other}`; see `cargo xtask test --help`"),
    }
}

//! Throws hostile input at a real server that may take 256 MiB: heads, bodies, paths, documents,
//! queries, scripts, frames, messages of the Redis protocol; then crowds of connections that
//! dawdle, flood, and do not read. The server has to answer or close each in time, to go on
//! answering others meanwhile, and to be the same process in the end.
//!
//! `JACKDAW_SEED` repeats a run; `JACKDAW_HOSTILE_ROUNDS` (1) throws more of what is random,
//! `JACKDAW_HOSTILE_MIB` (256) changes the memory, `JACKDAW_HOSTILE_FROM` begins with the group of
//! that number.
//! Without a memory cgroup (version 1, as root) nothing bounds the memory, and the run says in its
//! last line that it proves no bound.

mod bodies;
mod bytes;
mod crowds;
mod protocols;
mod thrower;

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jackdaw_slow_tests::TestDirectory;
use jackdaw_slow_tests::cgroup::MemoryCgroup;
use jackdaw_slow_tests::process::resident_bytes;
use jackdaw_slow_tests::server::{Server, jackdaw};
use thrower::{Input, Outcome, Targets, throw_all};

/// What the server may take, in mebibytes.
const MEMORY_MIB: u64 = 256;
/// What keys of Redis may take: a part of the server's memory.
const REDIS_MEMORY: &str = "32mb";
/// The part of the memory, in sixteenths, that may be no part of a file: the kernel counts sockets
/// and files, too.
const ANONYMOUS_SIXTEENTHS: u64 = 15;
/// Longest time in which a plain request beside all this is answered.
const BESIDE_MAX: Duration = Duration::from_secs(5);

/// What is thrown.
struct Course {
    seed: u64,
    rounds: u64,
    first_group: usize,
}

/// Asks beside the attack whether the server still answers, and looks at its memory.
struct Beside {
    asked: AtomicU64,
    slowest_millis: AtomicU64,
    failed: AtomicU64,
    peak_bytes: AtomicU64,
    is_over: AtomicBool,
}

impl Beside {
    fn watch(&self, targets: &Targets, memory: impl Fn() -> Option<u64>) {
        while !self.is_over.load(Ordering::Relaxed) {
            let started = Instant::now();
            let outcome = thrower::ask_version(targets, BESIDE_MAX);
            let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.slowest_millis.fetch_max(millis, Ordering::Relaxed);
            let is_fine = outcome == Outcome::Answered(200);
            self.failed
                .fetch_add(u64::from(!is_fine), Ordering::Relaxed);
            if let Some(bytes) = memory() {
                self.peak_bytes.fetch_max(bytes, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_server_in_little_memory_stands_hostile_input() -> Result<()> {
    let number =
        |name: &str, other: u64| std::env::var(name).map_or(Ok(other), |text| text.parse());
    let course = Course {
        seed: number("JACKDAW_SEED", u64::from(std::process::id()))?,
        rounds: number("JACKDAW_HOSTILE_ROUNDS", 1)?,
        first_group: usize::try_from(number("JACKDAW_HOSTILE_FROM", 0)?)?,
    };
    let seed = course.seed;
    let memory_mib: u64 = number("JACKDAW_HOSTILE_MIB", MEMORY_MIB)?;
    println!("seed {seed}: replay with JACKDAW_SEED={seed}");
    jackdaw_io::system::raise_open_file_limit()?;
    let directory = TestDirectory::new("hostile")?;
    let cgroup = MemoryCgroup::new("jackdaw-hostile", memory_mib << 20);
    let cgroup = match cgroup {
        Ok(cgroup) => Some(cgroup),
        Err(error) => {
            println!("NOT BOUNDED: there is no memory cgroup for the server ({error:#})");
            None
        }
    };
    let log = directory.0.join("stderr.txt");
    let server = start(&directory.0.join("data"), cgroup.as_ref(), &log)?;
    let targets = Targets::of(&server, body_bytes_max(memory_mib))?;
    let beside = Beside {
        asked: AtomicU64::new(0),
        slowest_millis: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        peak_bytes: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
    };
    let memory = || match &cgroup {
        Some(cgroup) => cgroup.anonymous_bytes().ok(),
        None => resident_bytes(server.process_id())
            .ok()
            .map(|(_, anonymous)| anonymous),
    };
    let failures = std::thread::scope(|scope| -> Result<Vec<String>> {
        scope.spawn(|| beside.watch(&targets, memory));
        let mut failures = Vec::new();
        let thrown = throw_everything(&targets, &course, &beside, &mut failures);
        beside.is_over.store(true, Ordering::Relaxed);
        thrown.map(|()| failures)
    })?;
    let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
    println!(
        "peak memory {} MiB; {} requests beside, slowest {} ms, {} without an answer in time",
        of(&beside.peak_bytes) >> 20,
        of(&beside.asked),
        of(&beside.slowest_millis),
        of(&beside.failed)
    );
    let told = std::fs::read_to_string(&log)?;
    let panics = told.matches("panicked at").count();
    let killed = cgroup.as_ref().map_or(Ok(0), MemoryCgroup::killed)?;
    println!(
        "{panics} panics, {killed} killed for their memory, {} hangs",
        failures.len()
    );
    drop(server);
    for failure in failures.iter().take(20) {
        println!("  {failure}");
    }
    if let Some(at) = told.find("panicked at") {
        println!("{}", told[at..].chars().take(400).collect::<String>());
    }
    ensure!(killed == 0, "the server was killed for its memory");
    ensure!(panics == 0, "the server panicked");
    ensure!(failures.is_empty(), "inputs without an answer");
    ensure!(of(&beside.asked) > 0, "nobody asked beside");
    ensure!(of(&beside.failed) == 0, "others were not answered in time");
    if cgroup.is_none() {
        println!("NOT PROVEN: that the server stays below {memory_mib} MiB, without a cgroup");
        return Ok(());
    }
    let (peak, bound) = (of(&beside.peak_bytes), (memory_mib << 20) / 16);
    ensure!(peak > 0, "the kernel told no memory");
    ensure!(
        peak <= bound * ANONYMOUS_SIXTEENTHS,
        "the server took {} of {memory_mib} MiB",
        peak >> 20
    );
    Ok(())
}

/// Longest body that a server takes in so much memory, as docs/http.md says.
fn body_bytes_max(memory_mib: u64) -> usize {
    let part = usize::try_from((memory_mib << 20) / 64).unwrap_or(usize::MAX);
    part.clamp(1 << 20, 64 << 20)
}

/// A server with the Redis port, its log in a file, inside of a memory cgroup.
fn start(data: &Path, cgroup: Option<&MemoryCgroup>, log: &Path) -> Result<Server> {
    let mut command = Command::new("sh");
    // The shell joins the cgroup, then becomes the server; one that cannot join does not start.
    let script = "{ [ -z \"$1\" ] || echo $$ > \"$1\"; } && shift && exec \"$@\"";
    command.args(["-c", script, "sh"]);
    command.arg(cgroup.map(MemoryCgroup::processes).unwrap_or_default());
    command.arg(jackdaw()?);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--redis", "127.0.0.1:0", "--redis-memory", REDIS_MEMORY]);
    command.arg("--data").arg(data);
    // As docs/operations.md says for little memory: what is freed goes back at once.
    command.env("MIMALLOC_PURGE_DELAY", "0");
    Server::start_by(command.stderr(File::create(log)?))
}

/// Inputs of one kind.
type Group<'a> = (&'a str, Box<dyn Fn() -> Result<Vec<Input>> + 'a>);

fn groups(targets: &Targets, seed: u64, rounds: u64) -> Vec<Group<'_>> {
    let routes = || thrower::routes(targets);
    vec![
        (
            "heads that divide requests",
            Box::new(|| Ok(bytes::smuggling())),
        ),
        ("long heads", Box::new(|| Ok(bytes::long_heads()))),
        (
            "damaged requests",
            Box::new(move || Ok(bytes::damaged(seed, 3_000 * rounds))),
        ),
        ("paths", Box::new(move || Ok(bytes::paths(&routes()?)))),
        (
            "wrong types in every field",
            Box::new(move || Ok(bodies::wrong_types(&routes()?))),
        ),
        ("documents", Box::new(|| Ok(bodies::documents()))),
        ("archives that grow", Box::new(|| Ok(bodies::archives()))),
        ("queries", Box::new(|| Ok(bodies::queries()))),
        ("scripts", Box::new(|| Ok(bodies::scripts()))),
        (
            "web sockets",
            Box::new(move || Ok(protocols::web_sockets(seed, 200 * rounds))),
        ),
        (
            "subscriptions",
            Box::new(move || Ok(protocols::subscriptions(seed, 300 * rounds))),
        ),
        (
            "Redis",
            Box::new(move || Ok(protocols::redis(seed, 3_000 * rounds))),
        ),
    ]
}

fn throw_everything(
    targets: &Targets,
    course: &Course,
    beside: &Beside,
    failures: &mut Vec<String>,
) -> Result<()> {
    let peak_mib = || beside.peak_bytes.load(Ordering::Relaxed) >> 20;
    // Whatever it was, the server is still there.
    let still_there = |after: &str| -> Result<()> {
        let outcome = thrower::ask_version(targets, BESIDE_MAX);
        let is_there = outcome == Outcome::Answered(200);
        ensure!(is_there, "after {after}: {outcome:?}");
        Ok(())
    };
    let (mut total, groups) = (0, groups(targets, course.seed, course.rounds));
    let count = groups.len() + crowds::ALL.len();
    ensure!(
        course.first_group < count,
        "there are {count} groups, from 0 on"
    );
    for (name, inputs) in groups.iter().skip(course.first_group) {
        thrower::prepare(targets)?;
        let (started, inputs) = (Instant::now(), inputs()?);
        let count = inputs.len();
        let thrown = throw_all(targets, inputs);
        total += count;
        println!(
            "{name}: {count} inputs in {:.1?}: {}; memory so far {} MiB",
            started.elapsed(),
            thrown.summary(),
            peak_mib()
        );
        failures.extend(thrown.hangs.iter().map(|hang| format!("{name}: {hang}")));
        still_there(name)?;
    }
    println!("{total} inputs in all, but for the crowds");
    let skipped = course.first_group.saturating_sub(groups.len());
    for (name, crowd) in crowds::ALL.iter().skip(skipped) {
        thrower::prepare(targets)?;
        let started = Instant::now();
        let told = crowd(targets)?;
        println!(
            "{name}: {told} in {:.1?}; memory so far {} MiB",
            started.elapsed(),
            peak_mib()
        );
        still_there(name)?;
    }
    Ok(())
}

//! `jackdaw-proof`: runs the proof suites and prints how much they did.
//!
//! Started by `cargo xtask crash` and `cargo xtask sim`. Each line of the output is a suite with
//! its totals; a failure ends the program and names the seed that shows it again.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its output is what it is run for")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jackdaw_proof::planted::{Mistake, SEEDS_MAX};
use jackdaw_proof::{failures, fixture, history, index, isolation, planted, sweep};
use jackdaw_sim::SimVfs;

const USAGE: &str = "\
jackdaw-proof crash [--seed N] [--seeds N] [--images N] [--failure-seeds N] [--isolation-seconds N]
                    [--index-steps N] [--index-images N]
jackdaw-proof index [--seed N] [--index-steps N] [--index-images N]
jackdaw-proof planted
jackdaw-proof sim --seed N
jackdaw-proof fixture DIRECTORY";

/// How much to do. `cargo xtask crash --help` tells the same.
struct Amounts {
    seed: u64,
    seeds: u64,
    images: u64,
    failure_seeds: u64,
    isolation_seconds: u64,
    index_steps: u64,
    index_images: u64,
}

impl Default for Amounts {
    fn default() -> Amounts {
        Amounts {
            seed: 1,
            seeds: 2_000,
            images: 20_000,
            failure_seeds: 1,
            isolation_seconds: 5,
            index_steps: 40_000,
            index_images: 4_000,
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((command, rest)) => run(command, rest),
        None => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, rest: &[String]) -> Result<(), String> {
    if let ("fixture", [directory]) = (command, rest) {
        return fixture::write(Path::new(directory));
    }
    let amounts = parse(rest)?;
    match command {
        "crash" => {
            histories(&amounts)?;
            images(&amounts)?;
            all_failures(&amounts)?;
            all_planted()?;
            clients(&amounts)?;
            questions(&amounts)?;
            index_images(&amounts)
        }
        "index" => {
            questions(&amounts)?;
            index_images(&amounts)
        }
        "planted" => all_planted(),
        "sim" => replay(amounts.seed),
        _ => Err(USAGE.to_owned()),
    }
}

fn parse(arguments: &[String]) -> Result<Amounts, String> {
    let mut amounts = Amounts::default();
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            return Err(format!("{} needs a value\n{USAGE}", pair[0]));
        };
        let number = value
            .parse()
            .map_err(|_| format!("{name} wants a whole number"))?;
        let field = match name.as_str() {
            "--seed" => &mut amounts.seed,
            "--seeds" => &mut amounts.seeds,
            "--images" => &mut amounts.images,
            "--failure-seeds" => &mut amounts.failure_seeds,
            "--isolation-seconds" => &mut amounts.isolation_seconds,
            "--index-steps" => &mut amounts.index_steps,
            "--index-images" => &mut amounts.index_images,
            _ => return Err(USAGE.to_owned()),
        };
        *field = number;
    }
    Ok(amounts)
}

/// Runs `work` for seeds from `first` on, on all processors, until it says that it is enough.
fn for_seeds(
    first: u64,
    is_enough: impl Fn(u64) -> bool + Sync,
    work: impl Fn(u64) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let next = AtomicU64::new(first);
    let is_over = AtomicBool::new(false);
    let failure = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if is_enough(seed) {
                        return;
                    }
                    if let Err(what) = work(seed) {
                        is_over.store(true, Ordering::Relaxed);
                        if let Ok(mut failure) = failure.lock() {
                            failure.get_or_insert(format!("seed {seed}: {what}"));
                        }
                    }
                }
            });
        }
    });
    match failure.into_inner() {
        Ok(None) => Ok(()),
        Ok(Some(what)) => Err(what),
        Err(_) => Err("a suite panicked".to_owned()),
    }
}

fn seconds(started: Instant) -> f64 {
    started.elapsed().as_secs_f64()
}

fn histories(amounts: &Amounts) -> Result<(), String> {
    let started = Instant::now();
    let (transactions, crashes, openings) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let end = amounts.seed + amounts.seeds;
    for_seeds(
        amounts.seed,
        |seed| seed >= end,
        |seed| {
            let report = history::run(seed, None)
                .map_err(|what| format!("{what} (cargo xtask sim --seed {seed})"))?;
            // One seed in a hundred runs twice: everything has to follow from it.
            if seed % 100 == 0 && history::run(seed, None) != Ok(report) {
                return Err("a second run was another one".to_owned());
            }
            transactions.fetch_add(report.transactions, Ordering::Relaxed);
            crashes.fetch_add(report.crashes, Ordering::Relaxed);
            openings.fetch_add(report.openings, Ordering::Relaxed);
            Ok(())
        },
    )?;
    println!(
        "histories: {} seeds from {}, {} transactions, {} power losses, {} openings compared, 0 \
         violations ({:.0} s)",
        amounts.seeds,
        amounts.seed,
        transactions.into_inner(),
        crashes.into_inner(),
        openings.into_inner(),
        seconds(started)
    );
    Ok(())
}

fn images(amounts: &Amounts) -> Result<(), String> {
    let started = Instant::now();
    let (images, moments, scripts) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(
        amounts.seed,
        |_| images.load(Ordering::Relaxed) >= amounts.images,
        |seed| {
            let report = sweep::run(seed, sweep::TRANSACTIONS, sweep::IMAGES_PER_MOMENT)?;
            images.fetch_add(report.image_count, Ordering::Relaxed);
            moments.fetch_add(report.moment_count, Ordering::Relaxed);
            scripts.fetch_add(1, Ordering::Relaxed);
            Ok(())
        },
    )?;
    println!(
        "crash images: {} scripts of {} transactions from seed {}, {} moments, {} images, 0 \
         violations ({:.0} s)",
        scripts.into_inner(),
        sweep::TRANSACTIONS,
        amounts.seed,
        moments.into_inner(),
        images.into_inner(),
        seconds(started)
    );
    Ok(())
}

fn all_failures(amounts: &Amounts) -> Result<(), String> {
    let started = Instant::now();
    let (scripts, openings) = (AtomicU64::new(0), AtomicU64::new(0));
    let end = amounts.seed + amounts.failure_seeds;
    for_seeds(
        amounts.seed,
        |seed| seed >= end,
        |seed| {
            let report = failures::run(seed)?;
            scripts.fetch_add(report.scripts, Ordering::Relaxed);
            openings.fetch_add(report.openings, Ordering::Relaxed);
            Ok(())
        },
    )?;
    println!(
        "failing operations: {} seeds from {}, every operation failed in turn in {} scripts, {} \
         openings, 0 violations ({:.0} s)",
        amounts.failure_seeds,
        amounts.seed,
        scripts.into_inner(),
        openings.into_inner(),
        seconds(started)
    );
    Ok(())
}

fn all_planted() -> Result<(), String> {
    // The engine's assertions are part of what finds a mistake; their reports are not wanted here.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mistakes = Mistake::all();
    let mut missed = 0;
    for &mistake in &mistakes {
        match planted::find(mistake) {
            Some((seed, what)) => {
                let first = what.lines().next().unwrap_or_default();
                println!("planted {mistake:?}: found with seed {seed}: {first}");
            }
            None => {
                missed += 1;
                println!("planted {mistake:?}: not found in {SEEDS_MAX} seeds");
            }
        }
    }
    std::panic::set_hook(hook);
    println!(
        "planted mistakes: {} of {} found",
        mistakes.len() - missed,
        mistakes.len()
    );
    match missed {
        0 => Ok(()),
        _ => Err(format!("{missed} planted mistakes were not found")),
    }
}

/// Clients at once, in rounds with a database each: the history of a round is kept in memory until
/// it is checked. The rounds together run for the time asked for; checking comes on top.
fn clients(amounts: &Amounts) -> Result<(), String> {
    const CLIENTS: u64 = 9;
    const ROUND_MAX: Duration = Duration::from_secs(5);
    let started = Instant::now();
    let mut left = Duration::from_secs(amounts.isolation_seconds);
    let (mut rounds, mut transactions, mut aborted) = (0, 0, 0);
    while !left.is_zero() {
        let seed = amounts.seed + rounds;
        let vfs = SimVfs::new(seed);
        let report = isolation::run(vfs, Path::new("/db"), seed, CLIENTS, left.min(ROUND_MAX))?;
        rounds += 1;
        transactions += report.transactions;
        aborted += report.aborted;
        left = left.saturating_sub(report.duration);
        if !report.anomalies.is_empty() {
            let anomalies = report.anomalies;
            return Err(format!(
                "what the clients saw with seed {seed} has no serial order: {anomalies:?}"
            ));
        }
    }
    println!(
        "isolation: {CLIENTS} clients for {} s in {rounds} rounds, {transactions} transactions, \
         {aborted} taken back, no anomalies ({:.0} s)",
        amounts.isolation_seconds,
        seconds(started)
    );
    Ok(())
}

fn questions(amounts: &Amounts) -> Result<(), String> {
    let started = Instant::now();
    let (changes, questions, seeds) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let steps = || changes.load(Ordering::Relaxed) + questions.load(Ordering::Relaxed);
    for_seeds(
        amounts.seed,
        |_| steps() >= amounts.index_steps,
        |seed| {
            let report = index::questions::run(seed, u64::MAX)?;
            changes.fetch_add(report.changes, Ordering::Relaxed);
            questions.fetch_add(report.questions, Ordering::Relaxed);
            seeds.fetch_add(1, Ordering::Relaxed);
            Ok(())
        },
    )?;
    println!(
        "index, questions: {} seeds from {}, {} changes of rows, {} questions answered as by rows \
         alone, 0 violations ({:.0} s)",
        seeds.into_inner(),
        amounts.seed,
        changes.into_inner(),
        questions.into_inner(),
        seconds(started)
    );
    Ok(())
}

fn index_images(amounts: &Amounts) -> Result<(), String> {
    let started = Instant::now();
    let (images, moments, scripts) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(
        amounts.seed,
        |_| images.load(Ordering::Relaxed) >= amounts.index_images,
        |seed| {
            let (batches, of_moment) = (index::images::BATCHES, index::images::IMAGES_PER_MOMENT);
            let report = index::images::run(seed, batches, of_moment)?;
            images.fetch_add(report.image_count, Ordering::Relaxed);
            moments.fetch_add(report.moment_count, Ordering::Relaxed);
            scripts.fetch_add(1, Ordering::Relaxed);
            Ok(())
        },
    )?;
    println!(
        "index, crash images: {} scripts of {} batches from seed {}, {} moments, {} images equal \
         to a rebuilt index, 0 violations ({:.0} s)",
        scripts.into_inner(),
        index::images::BATCHES,
        amounts.seed,
        moments.into_inner(),
        images.into_inner(),
        seconds(started)
    );
    Ok(())
}

fn replay(seed: u64) -> Result<(), String> {
    let report = history::run(seed, None)?;
    println!("seed {seed}: {report:?}");
    Ok(())
}

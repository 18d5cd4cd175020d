//! The crash sweep of the storage engine at length: power fails at every moment of a script of 200
//! transactions, and tens of thousands of the disks it may leave are opened and checked.
//!
//! `JACKDAW_CRASH_SEED` and `JACKDAW_CRASH_IMAGES` change the script and the number of disks.

#[expect(
    dead_code,
    reason = "the fast suite needs more of the script than this one"
)]
#[path = "../../../crates/storage/tests/crash/script.rs"]
mod script;

use std::time::Instant;

use jackdaw_sim::{ImageBudget, Sweep, SweepFailure, SweepReport};
use script::{Planted, Run, run};

const TRANSACTIONS: u64 = 200;
const IMAGES: u64 = 50_000;
/// Disks checked of each moment; one script of the length above gives more than 20,000.
const IMAGES_PER_MOMENT: u64 = 96;

fn number_of(variable: &str, otherwise: u64) -> u64 {
    let Ok(text) = std::env::var(variable) else {
        return otherwise;
    };
    text.parse()
        .unwrap_or_else(|_| panic!("{variable} is no number: {text}"))
}

fn sweep(run: &Run, seed: u64, per_moment: u64) -> Result<SweepReport, SweepFailure> {
    let budget = ImageBudget {
        exhaustive_max: per_moment,
        sample_count: per_moment,
        seed,
    };
    let sweep = Sweep {
        budget,
        completed_min: 0,
    };
    run.vfs
        .history()
        .sweep(sweep, |image, completed| run.check(image, completed))
}

#[test]
fn every_disk_holds_what_was_acknowledged() {
    let first_seed = number_of("JACKDAW_CRASH_SEED", 1);
    let wanted = number_of("JACKDAW_CRASH_IMAGES", IMAGES);
    let started = Instant::now();
    let (mut images, mut moments, mut scripts) = (0, 0, 0);
    while images < wanted {
        let seed = first_seed + scripts;
        let run = run(seed, TRANSACTIONS, Planted::Nothing);
        let report = sweep(&run, seed, IMAGES_PER_MOMENT).unwrap_or_else(|failure| {
            panic!("JACKDAW_CRASH_SEED={seed} shows it again: {failure}")
        });
        images += report.image_count;
        moments += report.moment_count;
        scripts += 1;
    }
    println!(
        "crash sweep: {scripts} scripts of {TRANSACTIONS} transactions, {moments} moments, \
         {images} disks, 0 violations, {:.0} s",
        started.elapsed().as_secs_f64()
    );
}

#[test]
fn every_planted_mistake_is_found() {
    let mistakes = [
        Planted::SkipSync,
        Planted::AcknowledgeBeforeSync,
        Planted::SkipDirectorySync,
    ];
    for planted in mistakes {
        let found = (1..=20).find_map(|seed| {
            let run = run(seed, 50, planted);
            Some((seed, sweep(&run, seed, 4).err()?))
        });
        let (seed, failure) = found.unwrap_or_else(|| panic!("{planted:?} was not found"));
        let first = failure.to_string();
        println!(
            "{planted:?}: found with seed {seed}: {}",
            first.lines().next().unwrap_or("")
        );
    }
}

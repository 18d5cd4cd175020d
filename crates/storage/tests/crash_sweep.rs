//! Power fails after every operation of the disk, and in the middle of durable ones; whatever mix
//! of unsynced sectors, lengths and names survives, the environment opens with every acknowledged
//! transaction whole, nothing of others, and no damage. Three planted mistakes have to be found.
//!
//! The slow suite runs the same script longer and with more images.

#![expect(clippy::print_stdout, reason = "failures print their seed")]

#[path = "crash/script.rs"]
mod script;

use jackdaw_sim::{CrashChoice, ImageBudget, Sweep};
use script::{Planted, Run, run};

fn budget(seed: u64, images: u64) -> ImageBudget {
    ImageBudget {
        exhaustive_max: images,
        sample_count: images,
        seed,
    }
}

fn sweep(run: &Run, images: u64) -> Result<u64, String> {
    let sweep = Sweep {
        budget: budget(1, images),
        completed_min: 0,
    };
    let report = run
        .vfs
        .history()
        .sweep(sweep, |image, completed| run.check(image, completed))
        .map_err(|failure| failure.to_string())?;
    Ok(report.image_count)
}

#[test]
fn every_acknowledged_transaction_survives_power_loss() {
    let run = run(11, 25, Planted::Nothing);
    let images = sweep(&run, 6).unwrap_or_else(|failure| panic!("seed 11: {failure}"));
    println!("{images} images");
    assert!(images > 400, "only {images} images");
}

#[test]
fn recovery_may_itself_lose_power() {
    let run = run(12, 20, Planted::Nothing);
    let history = run.vfs.history();
    let mut images = 0;
    for completed in (run.first_acknowledged()..history.operation_count()).step_by(9) {
        let crashed = history
            .moment(completed)
            .image(CrashChoice::Random(completed));
        crashed.forget_history();
        run.check(&crashed, completed)
            .unwrap_or_else(|failure| panic!("seed 12: {failure}"));
        let sweep = Sweep {
            budget: budget(completed, 2),
            completed_min: 0,
        };
        let report = crashed
            .history()
            .sweep(sweep, |image, _| run.check(image, completed))
            .unwrap_or_else(|failure| panic!("seed 12, crash after {completed}: {failure}"));
        images += report.image_count;
    }
    assert!(images > 200, "only {images} images");
}

fn assert_found(planted: Planted) {
    for seed in 0..20 {
        if let Err(failure) = sweep(&run(seed, 20, planted), 4) {
            println!("{planted:?} found with seed {seed}: {failure}");
            return;
        }
    }
    panic!("{planted:?} was not found");
}

#[test]
fn skipped_syncs_are_found() {
    assert_found(Planted::SkipSync);
}

#[test]
fn acknowledging_before_the_sync_is_found() {
    assert_found(Planted::AcknowledgeBeforeSync);
}

#[test]
fn skipped_directory_syncs_are_found() {
    assert_found(Planted::SkipDirectorySync);
}

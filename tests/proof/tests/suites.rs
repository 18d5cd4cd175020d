//! A little of every suite, so that each change meets them. `cargo xtask crash` runs them long.

use std::path::Path;
use std::time::Duration;

use jackdaw_proof::planted::{Mistake, find};
use jackdaw_proof::{history, index, isolation, sweep};
use jackdaw_sim::SimVfs;

#[test]
fn random_histories_survive_power_losses() {
    for seed in 1..=25 {
        if let Err(what) = history::run(seed, None) {
            panic!("cargo xtask sim --seed {seed}: {what}");
        }
    }
}

#[test]
fn equal_seeds_are_equal_runs() {
    assert_eq!(history::run(7, None), history::run(7, None));
}

#[test]
fn crash_images_of_a_short_script_hold_what_was_acknowledged() {
    let report = sweep::run(1, 8, 6).unwrap();
    assert!(report.image_count > 150, "{report:?}");
}

#[test]
fn crash_images_of_an_encrypted_disk_hold_what_was_acknowledged() {
    let report = sweep::run(3, 8, 6).unwrap();
    assert!(report.image_count > 150, "{report:?}");
}

#[test]
fn crash_images_of_an_index_equal_a_rebuilt_one() {
    let report = index::images::run(1, 4, 2).unwrap();
    assert!(report.image_count > 20, "{report:?}");
}

#[test]
fn an_index_answers_as_its_rows_do() {
    let report = index::questions::run(1, 1).unwrap();
    assert!(report.questions > 100, "{report:?}");
}

#[test]
fn a_disk_that_skips_syncs_is_found() {
    assert!(find(Mistake::SkipSync).is_some());
}

#[test]
fn concurrent_clients_see_a_serial_order() {
    let vfs = SimVfs::new(1);
    let duration = Duration::from_millis(300);
    let report = isolation::run(vfs, Path::new("/db"), 1, 6, duration).unwrap();
    assert_eq!(report.anomalies, []);
    assert!(report.transactions > 20, "{report:?}");
}

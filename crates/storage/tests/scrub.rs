//! Scrubbing: every page in use is read again, in steps, beside writers; damage is named, and
//! nothing sound is.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{Rng, SimVfs};
use jackdaw_storage::{CheckLevel, Environment, Options};

const STEP_BYTES: u64 = 1;

fn open(vfs: &Arc<SimVfs>) -> Environment {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new("/db"), Options::small()).unwrap()
}

/// A transaction that puts and deletes values of all lengths.
fn change(environment: &Environment, rng: &mut Rng) {
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    for _ in 0..6 {
        let key = rng.below(60).to_be_bytes();
        match rng.below(3) {
            0 => drop(tree.delete(&key).unwrap()),
            _ => {
                let len_bytes = *rng.pick(&[50, 2_000, 20_000, 90_000]);
                tree.put(&key, &vec![7; len_bytes]).unwrap();
            }
        }
    }
    transaction.commit().unwrap();
}

#[test]
fn steps_beside_writers_find_no_damage_where_there_is_none() {
    let vfs = SimVfs::new(1);
    let mut rng = Rng::new(1);
    let environment = open(&vfs);
    let mut passes = 0;
    for _ in 0..150 {
        change(&environment, &mut rng);
        if rng.chance(4) {
            environment.flush().unwrap();
        }
        let step = environment.scrub(STEP_BYTES).unwrap();
        assert!(step.damages.is_empty(), "{:?}", step.damages);
        passes += u64::from(step.is_pass_done);
    }
    let statistics = environment.statistics();
    assert!(passes > 3, "{passes}");
    assert_eq!(statistics.scrub_passes, passes);
    assert_eq!(statistics.scrub_damages, 0);
    assert!(statistics.pages_scrubbed > 100);
}

#[test]
fn a_pass_reads_all_pages_in_use_and_names_what_has_rotted() {
    let vfs = SimVfs::new(2);
    let mut rng = Rng::new(2);
    let environment = open(&vfs);
    for _ in 0..10 {
        change(&environment, &mut rng);
    }
    environment.flush().unwrap();
    let pages = environment.check(CheckLevel::Pages).unwrap().pages;
    let pass = |environment: &Environment| {
        let (mut pages, mut damages) = (0, Vec::new());
        loop {
            let step = environment.scrub(STEP_BYTES).unwrap();
            pages += step.pages;
            damages.extend(step.damages);
            if step.is_pass_done {
                return (pages, damages);
            }
        }
    };
    assert_eq!(pass(&environment), (pages, Vec::new()));
    // Its checksum was found right before; only the file changes now.
    vfs.flip(Path::new("/db/data.jd"), 2 * 8192 + 5000, 1)
        .unwrap();
    let (_, damages) = pass(&environment);
    assert_eq!(damages.len(), 1, "{damages:?}");
    assert!(damages[0].page.is_some_and(|page| page.0 <= 2));
    assert_eq!(environment.statistics().scrub_damages, 1);
}

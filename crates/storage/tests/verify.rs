//! `verify` reads the files of an environment by itself. Every flipped byte that means something is
//! named with its file and page, nothing else is, and where it stays silent the environment holds
//! what it held before.

#[path = "flips/flips.rs"]
mod flips;

use std::path::Path;

use flips::{DIRECTORY, Sample};
use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::verify;

#[test]
fn a_hundred_flipped_bytes_are_named_with_their_pages() {
    for seed in 1..=4 {
        println!("seed {seed}");
        let sample = Sample::new(seed, 400);
        let flips = sample.random_flips(100, &mut Rng::new(seed));
        sample.check_named(&flips).unwrap();
    }
}

#[test]
fn any_single_flipped_byte_is_named_or_harmless() {
    let sample = Sample::new(9, 60);
    let mut rng = Rng::new(9);
    for _ in 0..200 {
        let flip = sample.any_flip(&mut rng);
        sample
            .check_named_or_harmless(&flip)
            .unwrap_or_else(|error| panic!("{flip:?}: {error}"));
    }
}

#[test]
fn sound_environments_are_found_sound_after_any_crash() {
    for seed in 0..60 {
        let vfs = SimVfs::new(seed);
        let sample = flips::fill(&vfs, seed, 30);
        let crashed = vfs.crash(CrashChoice::Random(seed));
        drop(sample);
        for image in [&vfs, &crashed] {
            let report = verify(&**image as &dyn Vfs, Path::new(DIRECTORY)).unwrap();
            assert_eq!(report.damages, [], "seed {seed}");
        }
    }
}

//! `verify` reads the files of an environment by itself. Every flipped byte that means something is
//! named with its file and page, nothing else is, and where it stays silent the environment holds
//! what it held before.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails by panicking")]

#[path = "flips/flips.rs"]
mod flips;

use std::path::Path;
use std::sync::Arc;

use flips::{DIRECTORY, Sample};
use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::{Environment, Options, verify};

#[test]
fn a_hundred_flipped_bytes_are_named_with_their_pages() {
    for seed in 1..=4 {
        println!("seed {seed}");
        let sample = Sample::new(seed, 400);
        let flips = sample.random_flips(100, &mut Rng::new(seed));
        sample.check_named(&flips).unwrap();
    }
}

/// With `JACKDAW_EVERY_FLIP` every byte of all files, one after the other; minutes.
#[test]
fn any_single_flipped_byte_is_named_or_harmless() {
    let sample = Sample::new(9, 60);
    let mut rng = Rng::new(9);
    let is_whole = std::env::var_os("JACKDAW_EVERY_FLIP").is_some();
    let total = sample.len_bytes();
    let count = if is_whole { total } else { 200 };
    let mut named = 0_u64;
    for number in 0..count {
        let position = if is_whole { number } else { rng.below(total) };
        let flip = sample.flip_at(position, 1 << rng.below(8));
        let is_named = sample.check_named_or_harmless(&flip);
        named += u64::from(is_named.unwrap_or_else(|error| panic!("{flip:?}: {error}")));
    }
    println!("{count} flips, one by one: {named} named, the others without effect");
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

/// A disk with three committed transactions in a journal that nobody closed, and where the first
/// and the last record end in that file.
fn three_records() -> (Arc<SimVfs>, u64, u64) {
    let vfs = SimVfs::new(5);
    let disk: Arc<dyn Vfs> = Arc::clone(&vfs) as Arc<dyn Vfs>;
    let environment = Environment::open(disk, Path::new(DIRECTORY), Options::small()).unwrap();
    for key in 0..3_u8 {
        environment
            .write(move |transaction| {
                let put = transaction.tree_mut("t")?.put(&[key], b"value");
                put.map(|_| ())
            })
            .unwrap();
    }
    let crashed = vfs.crash(CrashChoice::KeepAll);
    drop(environment);
    let bytes = crashed.file_bytes(&journal()).unwrap();
    let stored_len = u32::from_le_bytes(bytes[4096 + 32..][..4].try_into().unwrap());
    let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    (crashed, 4096 + 160 + u64::from(stored_len), last as u64 + 1)
}

fn journal() -> std::path::PathBuf {
    Path::new(DIRECTORY).join("journal/j-0000000000000001.jnl")
}

#[test]
fn what_is_behind_the_last_record_may_be_of_an_earlier_use_of_the_file() {
    // A torn write keeps any of its sectors: those of the record, and not the zeros behind it.
    let (vfs, _, last) = three_records();
    vfs.flip(&journal(), last + 600, 7).unwrap();
    let report = verify(&*vfs, Path::new(DIRECTORY)).unwrap();
    assert_eq!((report.damages, report.records), (Vec::new(), 3));
    let disk: Arc<dyn Vfs> = Arc::clone(&vfs) as Arc<dyn Vfs>;
    let environment = Environment::open(disk, Path::new(DIRECTORY), Options::small()).unwrap();
    let reader = environment.read().unwrap();
    assert_eq!(reader.tree("t").unwrap().unwrap().len(), 3);
    drop(reader);
    drop(environment);
    assert_eq!(verify(&*vfs, Path::new(DIRECTORY)).unwrap().damages, []);
}

#[test]
fn what_is_behind_a_durable_record_is_zero() {
    let (vfs, first, _) = three_records();
    vfs.flip(&journal(), first + 5, 7).unwrap();
    let report = verify(&*vfs, Path::new(DIRECTORY)).unwrap();
    let named: Vec<String> = report.damages.iter().map(ToString::to_string).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(named[0].contains("the record at byte 4096"), "{named:?}");
}

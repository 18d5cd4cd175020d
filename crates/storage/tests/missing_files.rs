//! Environments without one of their files: opening refuses them and `verify` names the file.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::{Environment, Options, StorageError, verify};

const DIRECTORY: &str = "/e";

fn write(environment: &Environment, count: u64) {
    for number in 0..count {
        let write = environment.write(move |transaction| -> Result<(), StorageError> {
            let mut tree = transaction.tree_mut("t")?;
            tree.put(&number.to_be_bytes(), &[7; 3000])?;
            Ok(())
        });
        write.unwrap();
    }
}

/// An environment that lost power after `count` commits.
fn crashed(seed: u64, count: u64) -> Arc<SimVfs> {
    let vfs = SimVfs::new(seed);
    let disk: Arc<dyn Vfs> = vfs.clone();
    let environment = Environment::open(disk, Path::new(DIRECTORY), Options::small()).unwrap();
    write(&environment, count);
    let crashed = vfs.crash(CrashChoice::Random(seed));
    drop(environment);
    crashed
}

fn journal_files(vfs: &SimVfs) -> Vec<PathBuf> {
    let directory = Path::new(DIRECTORY).join("journal");
    let entries = vfs.list(&directory).unwrap().into_iter();
    let names = entries.map(|entry| entry.name);
    let mut paths: Vec<_> = names
        .filter(|name| name.starts_with("j-"))
        .map(|name| directory.join(name))
        .collect();
    paths.sort();
    paths
}

fn open(vfs: &Arc<SimVfs>, is_read_only: bool) -> Result<Environment, String> {
    let disk: Arc<dyn Vfs> = vfs.clone();
    let directory = Path::new(DIRECTORY);
    match is_read_only {
        true => Environment::open_read_only(disk, directory),
        false => Environment::open(disk, directory, Options::small()),
    }
    .map_err(|error| error.to_string())
}

#[test]
fn a_missing_newest_journal_file_is_refused() {
    // From one file to so many that the first ones were used again.
    for (seed, count) in [1, 5, 20, 60, 150, 400].into_iter().enumerate() {
        let vfs = crashed(seed as u64, count);
        let newest = journal_files(&vfs).pop().unwrap();
        vfs.remove_file(&newest).unwrap();
        let before = journal_files(&vfs);
        let name = newest.file_name().unwrap().to_str().unwrap();
        let report = verify(&*vfs, Path::new(DIRECTORY)).unwrap();
        let damages: Vec<_> = report.damages.iter().map(ToString::to_string).collect();
        let is_named = damages
            .iter()
            .any(|one| one.contains(name) && one.contains("missing"));
        assert!(is_named, "{count}: {damages:?}");
        for is_read_only in [true, false, false] {
            let error = open(&vfs, is_read_only).err().expect("refused");
            assert!(
                error.contains(name) && error.contains("missing"),
                "{count}: {error}"
            );
        }
        assert_eq!(journal_files(&vfs), before);
    }
}

#[test]
fn an_environment_that_was_closed_needs_no_journal_file() {
    let vfs = crashed(1, 60);
    let environment = open(&vfs, false).unwrap();
    write(&environment, 60);
    drop(environment);
    for path in journal_files(&vfs) {
        vfs.remove_file(&path).unwrap();
    }
    let report = verify(&*vfs, Path::new(DIRECTORY)).unwrap();
    assert_eq!(report.damages, []);
    open(&vfs, true).unwrap();
    open(&vfs, false).unwrap();
}

#[test]
fn an_environment_without_commits_has_no_newest_file() {
    for seed in 0..4 {
        let vfs = crashed(seed, 0);
        assert_eq!(verify(&*vfs, Path::new(DIRECTORY)).unwrap().damages, []);
        open(&vfs, false).unwrap();
    }
}

//! Environments that earlier builds wrote, kept under `fixtures/`: they open, hold what was written
//! into them, and are sound. A change of the format that forgets them fails here.
//!
//! `cargo run -p jackdaw-proof -- fixture DIRECTORY` writes such an environment and its listing.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "flips/listing.rs"]
mod listing;
#[path = "golden/snapshots.rs"]
mod snapshots;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use jackdaw_sim::SimVfs;
use jackdaw_storage::{CheckLevel, Environment, Options, verify};

fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    root.join(name)
}

/// A simulated disk with the files of a fixture.
fn disk(name: &str) -> Arc<SimVfs> {
    let vfs = SimVfs::new(1);
    let journal = Path::new("/db/journal");
    vfs.create_directory(journal).unwrap();
    for (from, to) in [("", "/db"), ("journal", "/db/journal")] {
        let Ok(entries) = std::fs::read_dir(fixture(name).join(from)) else {
            continue;
        };
        for entry in entries.map(Result::unwrap) {
            if !entry.file_type().unwrap().is_file() || entry.file_name() == "content.txt" {
                continue;
            }
            let options = OpenOptions {
                mode: OpenMode::CreateNew,
                direct: false,
            };
            let path = Path::new(to).join(entry.file_name());
            let file = vfs.open(&path, options).unwrap();
            let bytes = std::fs::read(entry.path()).unwrap();
            file.write_at(&bytes, 0, Durability::Data).unwrap();
        }
    }
    vfs
}

fn check(name: &str) {
    let expected = std::fs::read_to_string(fixture(name).join("content.txt")).unwrap();
    let vfs = disk(name);
    let report = verify(&*vfs, Path::new("/db")).unwrap();
    assert_eq!(report.damages, []);
    let disk: Arc<dyn Vfs> = vfs.clone();
    let environment = Environment::open(disk, Path::new("/db"), Options::small()).unwrap();
    let found = snapshots::listing(|| environment.read(), listing::of).unwrap();
    assert_eq!(found, expected);
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
    // And it can be written to.
    let mut transaction = environment.begin_write().unwrap();
    transaction.drop_tree("bytes").unwrap();
    transaction.commit().unwrap();
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

#[test]
fn format_1_closed_in_order_opens_and_reads_back() {
    check("format-1-closed");
}

#[test]
fn format_1_after_a_crash_replays_its_journal() {
    check("format-1-crashed");
}

/// With counted trees, values in their place, records in pieces and named snapshots.
#[test]
fn format_1_with_snapshots_closed_in_order_opens_and_reads_back() {
    check("format-1-snapshots-closed");
}

#[test]
fn format_1_with_snapshots_after_a_crash_replays_its_journal() {
    check("format-1-snapshots-crashed");
}

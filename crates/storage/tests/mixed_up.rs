//! Files that somebody cut, doubled, left out or took from another environment. What was
//! acknowledged is there, or opening or reading names a file; nothing else is ever read.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_base::hash::xxh3_64;
use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::{Environment, OpenError, Options, StorageError, verify};

const DIRECTORY: &str = "/db";
const KEYS: u32 = 60;
/// Transactions after the last flush: what a journal has and the data file has not.
const KEYS_UNFLUSHED: u32 = 10;
const SLOT_BYTES: usize = 4096;

fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

fn open(vfs: &Arc<SimVfs>) -> Result<Environment, OpenError> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), Options::small())
}

fn value(seed: u64, key: u32) -> Vec<u8> {
    let [fill, ..] = (seed * 100 + u64::from(key)).to_le_bytes();
    vec![fill; 200 + 97 * key as usize]
}

/// A disk with an environment, as a power loss after the last answer leaves it.
fn crashed(seed: u64) -> Arc<SimVfs> {
    let vfs = SimVfs::new(seed);
    let environment = open(&vfs).unwrap();
    for key in 0..KEYS {
        let mut transaction = environment.begin_write().unwrap();
        let mut tree = transaction.tree_mut("t").unwrap();
        tree.put(&key.to_be_bytes(), &value(seed, key)).unwrap();
        transaction.commit().unwrap();
        if key == KEYS - KEYS_UNFLUSHED {
            environment.flush().unwrap();
        }
    }
    vfs.crash(CrashChoice::KeepAll)
}

/// The same, closed in order.
fn closed(seed: u64) -> Arc<SimVfs> {
    let vfs = crashed(seed);
    drop(open(&vfs).unwrap());
    vfs
}

fn bytes(vfs: &SimVfs, path: &Path) -> Vec<u8> {
    vfs.file_bytes(path).unwrap()
}

/// Writes a file anew; `None` leaves it out.
fn replace(vfs: &SimVfs, path: &Path, content: Option<&[u8]>) {
    if vfs.exists(path).unwrap() {
        vfs.remove_file(path).unwrap();
    }
    let Some(content) = content else {
        return;
    };
    let options = OpenOptions {
        mode: OpenMode::CreateNew,
        direct: false,
    };
    let file = vfs.open(path, options).unwrap();
    file.write_at(content, 0, Durability::Data).unwrap();
}

fn newest_journal(vfs: &SimVfs) -> PathBuf {
    let journals = vfs.file_paths().into_iter();
    let newest = journals.filter(|path| path.ends_with(".jnl")).max();
    newest.unwrap().into()
}

/// The values in key order, as far as they can be read.
fn values(environment: &Environment) -> Result<Vec<Vec<u8>>, StorageError> {
    let reader = environment.read()?;
    let Some(tree) = reader.tree("t")? else {
        return Ok(Vec::new());
    };
    let mut values = Vec::new();
    for (number, entry) in (0_u32..).zip(tree.iter()?) {
        let (key, value) = entry?;
        assert_eq!(key.to_vec(), number.to_be_bytes());
        values.push(value.to_vec());
    }
    Ok(values)
}

/// What became of a directory in which something was mixed up.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// So many transactions are there, and nothing is damaged.
    Whole(u32),
    /// Refused, or named when it is read.
    Told,
}

fn outcome(vfs: &Arc<SimVfs>, seed: u64, case: &str) -> Outcome {
    let before = vfs.file_paths();
    let verified = verify(&**vfs, Path::new(DIRECTORY));
    let is_told = verified.as_ref().map_or(true, |r| !r.damages.is_empty());
    let environment = match open(vfs) {
        Ok(environment) => environment,
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("/db") || text.contains('.'), "{case}: {text}");
            assert!(is_told, "{case}: verify found nothing; opening: {text}");
            let after = vfs.file_paths();
            let is_kept = before.iter().all(|path| after.contains(path));
            assert!(is_kept, "{case}: what was refused was changed: {after:?}");
            return Outcome::Told;
        }
    };
    match values(&environment) {
        Ok(values) => {
            for (key, found) in (0..).zip(&values) {
                assert!(*found == value(seed, key), "{case}: wrong value of {key}");
            }
            assert!(!is_told, "{case}: all is there, but verify: {verified:?}");
            Outcome::Whole(u32::try_from(values.len()).unwrap())
        }
        Err(StorageError::Corrupt(damage)) => {
            assert!(is_told, "{case}: {damage}; verify found nothing");
            Outcome::Told
        }
        Err(error) => panic!("{case}: {error}"),
    }
}

/// A file in ways that somebody may have spoiled it; `other` is its like of another environment.
fn spoiled(own: &[u8], other: &[u8]) -> Vec<(&'static str, Option<Vec<u8>>)> {
    vec![
        ("cut by a page", Some(own[..own.len() - 4096].to_vec())),
        ("cut to a quarter", Some(own[..own.len() / 4].to_vec())),
        ("cut to 100 bytes", Some(own[..100].to_vec())),
        ("empty", Some(Vec::new())),
        ("doubled", Some([own, own].concat())),
        ("of another", Some(other.to_vec())),
        ("missing", None),
    ]
}

#[test]
fn data_files_that_were_mixed_up_are_told() {
    for make in [crashed, closed] {
        let (own, other) = (make(1), make(2));
        let data = path("data.jd");
        for (how, content) in spoiled(&bytes(&own, &data), &bytes(&other, &data)) {
            let vfs = own.crash(CrashChoice::KeepAll);
            replace(&vfs, &data, content.as_deref());
            match outcome(&vfs, 1, how) {
                // Pages behind those that count are room to grow into, or what recovery writes.
                Outcome::Whole(KEYS) if ["doubled", "cut by a page"].contains(&how) => {}
                outcome => assert_eq!(outcome, Outcome::Told, "{how}"),
            }
        }
    }
}

#[test]
fn meta_files_that_were_mixed_up_are_told() {
    for make in [crashed, closed] {
        let (own, other) = (make(1), make(2));
        let meta = path("meta");
        for (how, content) in spoiled(&bytes(&own, &meta), &bytes(&other, &meta)) {
            let vfs = own.crash(CrashChoice::KeepAll);
            replace(&vfs, &meta, content.as_deref());
            assert_eq!(outcome(&vfs, 1, how), Outcome::Told, "{how}");
        }
    }
}

#[test]
fn journals_that_were_mixed_up_lose_nothing_that_the_data_file_has() {
    let (own, other) = (crashed(1), crashed(2));
    let journal = newest_journal(&own);
    let other = bytes(&other, &newest_journal(&other));
    for (how, content) in spoiled(&bytes(&own, &journal), &other) {
        let vfs = own.crash(CrashChoice::KeepAll);
        replace(&vfs, &journal, content.as_deref());
        // Nobody can tell a journal without its end from one that a crash left.
        match outcome(&vfs, 1, how) {
            Outcome::Whole(count) if how == "doubled" => assert_eq!(count, KEYS),
            Outcome::Whole(count) => assert!(count >= KEYS - KEYS_UNFLUSHED, "{how}: {count}"),
            Outcome::Told => {}
        }
    }
    // Under the number of the one that comes next it is none.
    let vfs = own.crash(CrashChoice::KeepAll);
    let name = journal.file_stem().unwrap().to_str().unwrap();
    let number: u64 = name.trim_start_matches("j-").parse().unwrap();
    let next = journal.with_file_name(format!("j-{:016}.jnl", number + 1));
    replace(&vfs, &next, Some(&bytes(&own, &journal)));
    assert_eq!(
        outcome(&vfs, 1, "under the next number"),
        Outcome::Whole(KEYS)
    );
}

#[test]
fn journals_do_not_matter_to_what_was_closed_in_order() {
    let own = closed(1);
    let own_journals = own.file_paths();
    assert!(!own_journals.iter().any(|path| path.ends_with(".jnl")));
    // Of itself before it was closed, and of another.
    for seed in [1, 2] {
        let old = crashed(seed);
        let journal = newest_journal(&old);
        let vfs = own.crash(CrashChoice::KeepAll);
        replace(&vfs, &journal, Some(&bytes(&old, &journal)));
        let outcome = outcome(&vfs, 1, "a journal that came back");
        assert_eq!(outcome, Outcome::Whole(KEYS), "journal of {seed}");
    }
}

#[test]
fn a_later_format_is_refused_and_left_alone() {
    let vfs = closed(1);
    let mut meta = bytes(&vfs, &path("meta"));
    for slot in meta.chunks_exact_mut(SLOT_BYTES) {
        slot[8..12].copy_from_slice(&2_u32.to_le_bytes());
        let checksum = xxh3_64(&slot[..200], 0);
        slot[200..208].copy_from_slice(&checksum.to_le_bytes());
    }
    replace(&vfs, &path("meta"), Some(&meta));
    let before: Vec<_> = vfs.file_paths();
    let error = open(&vfs).err().unwrap();
    let OpenError::Version {
        found, supported, ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((found, supported), (2, 1));
    let verified = verify(&*vfs, Path::new(DIRECTORY)).err().unwrap();
    assert!(
        matches!(verified, OpenError::Version { found: 2, .. }),
        "{verified}"
    );
    assert_eq!(vfs.file_paths(), before);
    assert!(bytes(&vfs, &path("meta")) == meta);
}

//! Any bytes in a journal that has to be replayed, with its hashes made right again or not: opening
//! is an error or a sound environment, never a panic.
#![no_main]

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use jackdaw_base::hash::xxh3_64;
use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::{CheckLevel, Environment, Options, verify};
use libfuzzer_sys::fuzz_target;

const UNIT: usize = 4096;
const HEADER: usize = 160;

fn open(vfs: &Arc<SimVfs>) -> Option<Environment> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new("/db"), Options::small()).ok()
}

/// A disk with a journal of some transactions that no flush has followed, and the journal's name.
fn sample() -> &'static (Arc<SimVfs>, PathBuf) {
    static SAMPLE: OnceLock<(Arc<SimVfs>, PathBuf)> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let vfs = SimVfs::new(2);
        let environment = open(&vfs).expect("a new environment");
        for round in 0..6_u8 {
            let mut transaction = environment.begin_write().expect("the only writer");
            let mut tree = transaction.tree_mut("t").expect("a tree");
            for key in 0..4 {
                let len = [20, 700, 5_000, 12_000][usize::from(key + round) % 4];
                tree.put(&[key], &vec![round; len]).expect("sound pages");
            }
            transaction.commit().expect("the disk works");
        }
        let crashed = vfs.crash(CrashChoice::KeepAll);
        let paths = crashed.file_paths().into_iter();
        let journal = paths.filter(|path| path.ends_with(".jnl")).max();
        (crashed, PathBuf::from(journal.expect("a journal")))
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((&mode, changes)) = input.split_first() else {
        return;
    };
    let (vfs, name) = sample();
    let image = vfs.crash(CrashChoice::KeepAll);
    let mut journal = image.file_bytes(name).expect("a journal");
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]]));
        let at = at % journal.len();
        journal[at] = change[2];
    }
    if mode & 1 == 1 {
        make_sound(&mut journal);
    }
    let options = OpenOptions {
        mode: OpenMode::ReadWrite,
        direct: false,
    };
    let file = image.open(name, options).expect("opens");
    file.write_at(&journal, 0, Durability::Data)
        .expect("the disk works");
    let _ = verify(&*image, Path::new("/db"));
    if let Some(environment) = open(&image) {
        let _ = environment.check(CheckLevel::Full);
    }
});

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Makes all hashes of the journal right, whatever its records say.
fn make_sound(journal: &mut [u8]) {
    let checksum = xxh3_64(&journal[..72], 0);
    put_u64(journal, 72, checksum);
    let salt = u64_at(journal, 40);
    let mut chain = u64_at(journal, 64);
    let mut at = UNIT;
    while at + UNIT <= journal.len() {
        let record = &mut journal[at..];
        let stored = u32::from_le_bytes(record[32..36].try_into().expect("four bytes"));
        let stored = (stored as usize).min(record.len() - HEADER);
        put_u64(record, 16, chain);
        let hash = xxh3_64(&record[HEADER..HEADER + stored], salt ^ u64_at(record, 8));
        put_u64(record, 24, hash);
        chain = xxh3_64(&record[..152], 0);
        put_u64(record, 152, chain);
        at += (HEADER + stored).next_multiple_of(UNIT);
    }
}

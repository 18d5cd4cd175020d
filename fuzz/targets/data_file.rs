//! Any bytes in the pages of a data file, with the checksums made right again: opened, read,
//! checked and written to without a panic. What is damaged is an error, however it looks.
#![no_main]

use std::path::Path;
use std::sync::{Arc, OnceLock};

use jackdaw_base::hash::xxh3_64;
use jackdaw_io::{Durability, OpenMode, OpenOptions, Vfs};
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::{CheckLevel, Environment, Options, ReadTransaction, StorageError, verify};
use libfuzzer_sys::fuzz_target;

const PAGE_BYTES: usize = 8192;
const DATA: &str = "/db/data.jd";

fn open(vfs: &Arc<SimVfs>) -> Option<Environment> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new("/db"), Options::small()).ok()
}

/// A small environment with trees of all kinds, closed.
fn sample() -> &'static Arc<SimVfs> {
    static SAMPLE: OnceLock<Arc<SimVfs>> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let vfs = SimVfs::new(1);
        let environment = open(&vfs).expect("a new environment");
        let mut transaction = environment.begin_write().expect("the only writer");
        for key in 0..60_u64 {
            let key_bytes = key.to_be_bytes();
            let mut tree = transaction.tree_mut("bytes").expect("a tree");
            let len = [9, 200, 900, 12_000][key as usize % 4];
            tree.put(&key_bytes, &vec![7; len]).expect("sound pages");
            let mut tree = transaction.fixed_tree_mut("numbers", 8).expect("a tree");
            tree.put(key, &key_bytes).expect("sound pages");
            let mut tree = transaction.multi_tree_mut("sets").expect("a tree");
            tree.add(&[1], &key_bytes).expect("sound pages");
        }
        transaction.commit().expect("the disk works");
        drop(environment);
        vfs
    })
}

fuzz_target!(|input: &[u8]| {
    let image = sample().crash(CrashChoice::KeepAll);
    let mut data = image.file_bytes(Path::new(DATA)).expect("a data file");
    let meta = image.file_bytes(Path::new("/db/meta")).expect("a meta file");
    let salt = u64::from_le_bytes(meta[128..136].try_into().expect("eight bytes"));
    let page_count = data.len() / PAGE_BYTES;
    for change in input.chunks_exact(4) {
        let page = usize::from(change[0]) % page_count.min(48);
        let offset = usize::from(u16::from_le_bytes([change[1], change[2]])) % PAGE_BYTES;
        data[page * PAGE_BYTES + offset] = change[3];
    }
    for (number, page) in (0_u64..).zip(data.chunks_exact_mut(PAGE_BYTES)) {
        let checksum = xxh3_64(&page[8..], salt ^ number);
        page[..8].copy_from_slice(&checksum.to_le_bytes());
    }
    let options = OpenOptions {
        mode: OpenMode::ReadWrite,
        direct: false,
    };
    let file = image.open(Path::new(DATA), options).expect("opens");
    file.write_at(&data, 0, Durability::Data).expect("the disk works");
    let _ = verify(&*image, Path::new("/db"));
    let Some(environment) = open(&image) else {
        return;
    };
    if let Ok(reader) = environment.read() {
        let _ = read_all(&reader);
    }
    let _ = environment.check(CheckLevel::Full);
    let _ = write(&environment);
});

fn read_all(reader: &ReadTransaction) -> Result<(), StorageError> {
    if let Some(tree) = reader.tree("bytes")? {
        let _ = tree.get(&7_u64.to_be_bytes());
        for entry in tree.iter()?.take(1_000) {
            entry?;
        }
    }
    if let Some(tree) = reader.fixed_tree("numbers")? {
        for entry in tree.iter()?.take(1_000) {
            entry?;
        }
    }
    if let Some(tree) = reader.multi_tree("sets")? {
        for value in tree.values(&[1])?.take(1_000) {
            value?;
        }
    }
    Ok(())
}

fn write(environment: &Environment) -> Result<(), StorageError> {
    let mut transaction = environment.begin_write()?;
    for key in 0..30_u64 {
        let mut tree = transaction.tree_mut("bytes")?;
        tree.delete(&key.to_be_bytes())?;
        tree.put(&(key + 100).to_be_bytes(), &[5; 700])?;
        transaction.fixed_tree_mut("numbers", 8)?.delete(key)?;
        let mut tree = transaction.multi_tree_mut("sets")?;
        tree.remove(&[1], &key.to_be_bytes())?;
    }
    let _ = transaction.commit();
    Ok(())
}

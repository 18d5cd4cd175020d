//! `jackdaw check`, the program itself, on a database of ten thousand documents with inverted bits:
//! it names the page of each, and no other. First a hundred at once, then one at a time.
//!
//! A bit of a free page means nothing and is left alone. A run of pages that holds one long value
//! is named by its first page. `JACKDAW_FLIPS` changes how many, `JACKDAW_FLIP_SEED` which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use jackdaw_database::{DatabaseOptions, DatabaseSet};
use jackdaw_document::{DocumentBuf, Limits};
use jackdaw_io::RealVfs;
use jackdaw_slow_tests::server::jackdaw;
use jackdaw_slow_tests::{TestDirectory, mix};

const DOCUMENTS: u64 = 10_000;
const FLIPS: u64 = 100;
const BATCH: u64 = 500;
const PAGE_BYTES: u64 = 8192;
/// The map in page 0 has a bit for each of this many pages, from this byte on (docs/format.md).
const MAP_PAGES: u64 = 32_768;
const MAP_BITS_AT: u64 = 64;
/// Byte of a page's header that says its kind, the kind of long values, and where the length is.
const KIND_AT: u64 = 24;
const OVERFLOW: u8 = 3;
const LENGTH_AT: u64 = 26;

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).unwrap_or_default();
    text.parse().unwrap_or(default)
}

/// Documents of all lengths, some deleted again, in a data directory that is closed in order.
fn fill(data: &Path, seed: u64) {
    let set = DatabaseSet::open(RealVfs::new(), data, DatabaseOptions::default()).unwrap();
    let database = set.create("flips", "{}").unwrap();
    let put = |number: u64| {
        let random = mix(seed ^ number);
        // One in a hundred is long enough for pages of its own.
        let words = if random.is_multiple_of(100) {
            4_000
        } else {
            random % 100
        };
        let words: Vec<String> = (0..words)
            .map(|word| mix(random ^ word).to_string())
            .collect();
        let text = format!("{{\"Number\":{number},\"Text\":\"{}\"}}", words.join(" "));
        jackdaw_database::Command::Put {
            id: Some(format!("flips/{number}")),
            body: DocumentBuf::from_json(text.as_bytes(), &Limits::default()).unwrap(),
            metadata: None,
            expected: None,
            keeps_revision: false,
        }
    };
    let delete = |number: u64| jackdaw_database::Command::Delete {
        id: format!("flips/{number}"),
        expected: None,
    };
    let added = DOCUMENTS + DOCUMENTS / 10;
    for first in (0..added).step_by(BATCH as usize) {
        let commands = (first..first + BATCH).map(put).collect();
        database.batch(commands).unwrap();
    }
    let commands = (DOCUMENTS..added).map(delete).collect();
    database.batch(commands).unwrap();
    assert_eq!(database.read().unwrap().count(), DOCUMENTS);
}

/// Every page in use with the page that names it: itself, or the first one of its run.
fn owners(file: &File) -> BTreeMap<u64, u64> {
    let read = |at: u64, bytes: &mut [u8]| file.read_exact_at(bytes, at).unwrap();
    let page_count = file.metadata().unwrap().len() / PAGE_BYTES;
    assert!(
        page_count <= MAP_PAGES,
        "the database has more than one map"
    );
    let mut owners = BTreeMap::new();
    let mut page = 0;
    while page < page_count {
        let (mut bits, mut kind, mut length) = ([0], [0], [0; 4]);
        read(MAP_BITS_AT + page / 8, &mut bits);
        read(page * PAGE_BYTES + KIND_AT, &mut kind);
        read(page * PAGE_BYTES + LENGTH_AT, &mut length);
        let is_free = bits[0] >> (page % 8) & 1 == 1;
        let count = match (is_free, kind) {
            (false, [OVERFLOW]) => {
                (32 + u64::from(u32::from_le_bytes(length))).div_ceil(PAGE_BYTES)
            }
            _ => 1,
        };
        if !is_free {
            owners.extend((page..page + count).map(|inside| (inside, page)));
        }
        page += count;
    }
    owners
}

/// Inverts one bit; the same again takes it back.
fn flip(file: &File, at: u64, bit: u64) {
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1 << bit], at).unwrap();
}

/// Pages that `jackdaw check` names, all of them in this file; none when it finds all well.
fn named(data: &Path, file: &Path) -> BTreeSet<u64> {
    let output = Command::new(jackdaw().unwrap())
        .arg("check")
        .arg(data)
        .output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let start = format!("{}, page ", file.display());
    let pages: BTreeSet<u64> = text
        .lines()
        .filter_map(|line| line.strip_prefix(&start)?.split(':').next()?.parse().ok())
        .collect();
    let expected = i32::from(!pages.is_empty());
    assert_eq!(output.status.code(), Some(expected), "{text}");
    // Damage of another place has another line, and counts in the last one.
    let total = text
        .lines()
        .find_map(|line| line.split_once(" damaged place"));
    let total = total.map_or(0, |(count, _)| count.parse::<usize>().unwrap());
    assert_eq!(total, pages.len(), "{text}");
    pages
}

#[test]
fn the_program_names_the_page_of_every_flipped_bit_and_no_other() {
    let (flips, seed) = (
        number("JACKDAW_FLIPS", FLIPS),
        number("JACKDAW_FLIP_SEED", 1),
    );
    println!("check of flips: seed {seed}, repeat with JACKDAW_FLIP_SEED={seed}");
    let directory = TestDirectory::new("check-flips").unwrap();
    let data = directory.0.join("data");
    fill(&data, seed);
    let path = data.join("databases/1/documents/data.jd");
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let owners = owners(&file);
    let pages: Vec<u64> = owners.keys().copied().collect();
    assert!(named(&data, &path).is_empty());

    let mut random = mix(seed);
    let mut next = |limit: u64| {
        random = mix(random);
        random % limit
    };
    let places: Vec<(u64, u64)> = (0..flips)
        .map(|_| {
            let page = pages[next(pages.len() as u64) as usize];
            (page * PAGE_BYTES + next(PAGE_BYTES), next(8))
        })
        .collect();
    let owner = |at: u64| owners[&(at / PAGE_BYTES)];
    for &(at, bit) in &places {
        flip(&file, at, bit);
    }
    let expected: BTreeSet<u64> = places.iter().map(|(at, _)| owner(*at)).collect();
    assert_eq!(named(&data, &path), expected, "all at once");
    for &(at, bit) in &places {
        flip(&file, at, bit);
    }
    for &(at, bit) in &places {
        flip(&file, at, bit);
        assert_eq!(
            named(&data, &path),
            BTreeSet::from([owner(at)]),
            "byte {at}, bit {bit}"
        );
        flip(&file, at, bit);
    }
    assert!(named(&data, &path).is_empty());
    println!(
        "check of flips: {} pages in use, {flips} flips at once in {} places, then one at a time: \
         0 missed, 0 false",
        pages.len(),
        expected.len()
    );
}

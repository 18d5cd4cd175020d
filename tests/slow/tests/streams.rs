//! A stream of several GiB on the machine's own disk: written over many transactions, read back
//! byte by byte, deleted. The process never holds more of it in memory than its options allow.
//!
//! `JACKDAW_STREAM_MIB` changes its length.

use std::path::PathBuf;

use jackdaw_io::RealVfs;
use jackdaw_slow_tests::mix;
use jackdaw_storage::{CheckLevel, Environment, Options, StorageError, WriteTransaction};

const LENGTH_MIB: u64 = 3 << 10;
const PIECE_BYTES: usize = 4 << 20;
const SCRATCH_BYTES: usize = 64 << 20;
/// What the process may need beside the scratch memory of the environment: one flush behind the
/// limit, the journal's buffers, the test itself.
const OTHER_BYTES: u64 = 384 << 20;

/// Bytes that differ in each piece and compress badly.
fn piece(number: u64) -> Vec<u8> {
    let words = 0..(PIECE_BYTES as u64 / 8);
    words
        .flat_map(|word| mix(number << 32 | word).to_le_bytes())
        .collect()
}

/// Memory of the process that is not the content of files, at its highest.
fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

#[test]
fn stream_of_gigabytes_is_never_whole_in_memory() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("streams");
    let _ = std::fs::remove_dir_all(&directory);
    let options = Options {
        scratch_bytes: SCRATCH_BYTES,
        ..Options::default()
    };
    let environment = Environment::open(RealVfs::new(), &directory, options).unwrap();
    let pieces = std::env::var("JACKDAW_STREAM_MIB")
        .map_or(LENGTH_MIB, |text| text.parse().unwrap())
        / (PIECE_BYTES as u64 >> 20);
    let mut highest = 0;
    for number in 0..pieces {
        let bytes = piece(number);
        let append = move |transaction: &mut WriteTransaction| {
            let mut streams = transaction.streams_mut("s")?;
            streams.open(b"large")?.append(&bytes)
        };
        environment.write(append).unwrap();
        highest = highest.max(anonymous_bytes());
    }
    let reader = environment.read().unwrap();
    let stream = reader
        .streams("s")
        .unwrap()
        .unwrap()
        .get(b"large")
        .unwrap()
        .unwrap();
    assert_eq!(stream.len(), pieces * PIECE_BYTES as u64);
    let mut buffer = vec![0; PIECE_BYTES];
    for number in 0..pieces {
        let count = stream
            .read_at(number * PIECE_BYTES as u64, &mut buffer)
            .unwrap();
        assert!(
            count == PIECE_BYTES && buffer == piece(number),
            "piece {number} differs"
        );
        highest = highest.max(anonymous_bytes());
    }
    println!("{} MiB of memory at the highest", highest >> 20);
    assert!(
        highest < SCRATCH_BYTES as u64 + OTHER_BYTES,
        "{highest} bytes of memory"
    );
    drop(reader);
    let delete = |transaction: &mut WriteTransaction| -> Result<bool, StorageError> {
        transaction.streams_mut("s")?.delete(b"large")
    };
    assert!(environment.write(delete).unwrap());
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
    drop(environment);
    std::fs::remove_dir_all(&directory).unwrap();
}

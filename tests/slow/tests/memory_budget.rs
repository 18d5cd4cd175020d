//! Memory while much more data than the budget is written in random order and read again: what is
//! no file's stays within a tenth of the budget for page versions. Of that tenth, the table of
//! pages takes 12 bytes a page, which are 16 MiB for 10 GiB.
//!
//! `JACKDAW_BUDGET_GIB` is how much is written; the disk needs the same and a quarter.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jackdaw_io::RealVfs;
use jackdaw_slow_tests::{TestDirectory, mix};
use jackdaw_storage::{Environment, Options, StorageError};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const GIB: u64 = 1;
/// One page each.
const VALUE_BYTES: usize = 8_000;
const VALUES_PER_TRANSACTION: u64 = 50;
const READS: u64 = 200_000;
const BUDGET_BYTES: usize = 256 << 20;

fn options() -> Options {
    Options {
        scratch_bytes: BUDGET_BYTES,
        ..Options::default()
    }
}

/// Memory of this process that no file backs.
fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    kib.unwrap().parse::<u64>().unwrap() << 10
}

fn value(number: u64, buffer: &mut [u8]) {
    for (at, chunk) in buffer.chunks_mut(8).enumerate() {
        let random = mix(number ^ (at as u64) << 40).to_le_bytes();
        chunk.copy_from_slice(&random[..chunk.len()]);
    }
}

fn write_all(environment: &Environment, values: u64) {
    for first in (0..values).step_by(VALUES_PER_TRANSACTION as usize) {
        let written = environment.write(move |transaction| {
            let mut tree = transaction.tree_mut("t")?;
            let mut buffer = vec![0; VALUE_BYTES];
            for number in first..first + VALUES_PER_TRANSACTION {
                value(number, &mut buffer);
                tree.put(&mix(number).to_be_bytes(), &buffer)?;
            }
            Ok::<(), StorageError>(())
        });
        written.unwrap();
    }
}

fn read_some(environment: &Environment, values: u64) {
    let mut expected = vec![0; VALUE_BYTES];
    for at in 0..READS {
        let number = mix(at) % values;
        value(number, &mut expected);
        let reader = environment.read().unwrap();
        let tree = reader.tree("t").unwrap().expect("it was written");
        let found = tree.get(&mix(number).to_be_bytes()).unwrap();
        assert_eq!(found, Some(&expected[..]), "value {number}");
    }
}

#[test]
fn memory_stays_within_the_budget_however_large_the_data() {
    let gib = std::env::var("JACKDAW_BUDGET_GIB").map_or(GIB, |text| text.parse().unwrap());
    let transactions = (gib << 30) / VALUE_BYTES as u64 / VALUES_PER_TRANSACTION;
    let values = transactions * VALUES_PER_TRANSACTION;
    let directory = TestDirectory::new("memory-budget").unwrap();
    let before = anonymous_bytes();
    let environment = Environment::open(RealVfs::new(), &directory.0, options()).unwrap();
    let (peak, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (wrote, read) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                peak.fetch_max(anonymous_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let started = Instant::now();
        write_all(&environment, values);
        let wrote = started.elapsed();
        read_some(&environment, values);
        is_over.store(true, Ordering::Relaxed);
        (wrote, started.elapsed() - wrote)
    });
    let peak = peak.into_inner().saturating_sub(before);
    println!(
        "memory budget: {values} values of {VALUE_BYTES} bytes written in {:.1} s, {READS} read in \
         {:.1} s; {} MiB at most for a budget of {} MiB",
        wrote.as_secs_f64(),
        read.as_secs_f64(),
        peak >> 20,
        BUDGET_BYTES >> 20
    );
    let allowed = (BUDGET_BYTES + BUDGET_BYTES / 10) as u64;
    assert!(peak <= allowed, "{peak} bytes, allowed are {allowed}");
}

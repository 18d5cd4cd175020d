//! `jackdaw bench memory`: what comparing and copying bytes costs by size.
//!
//! Keys are compared and values copied millions of times a second, most of them short. The table
//! shows the library's calls beside loops over words and bytes, so that one sees from which size on
//! a call pays, and what the memory of this machine gives at all.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::output::say::say;
use crate::output::table::{Align, Table};

/// Sizes: of keys, of records, of a page, beyond each cache.
const SIZES: [usize; 9] = [
    8,
    16,
    32,
    100,
    1 << 10,
    8 << 10,
    256 << 10,
    1 << 20,
    32 << 20,
];
const WORD_BYTES: usize = 8;

/// Arguments of the command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MemoryArguments {
    /// Milliseconds for each cell of the table.
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 50,
        value_parser = clap::value_parser!(u64).range(1..=10_000)
    )]
    milliseconds: u64,
}

type Copy = fn(&[u8], &mut [u8]);
type Compare = fn(&[u8], &[u8]) -> bool;

const COPIES: [(&str, Copy); 3] = [
    ("copy, library", copy_by_call),
    ("copy, words", copy_by_words),
    ("copy, bytes", copy_by_bytes),
];

const COMPARISONS: [(&str, Compare); 3] = [
    ("compare, library", |a, b| a == b),
    ("compare, words", equal_by_words),
    ("compare, bytes", equal_by_bytes),
];

fn copy_by_call(from: &[u8], to: &mut [u8]) {
    to.copy_from_slice(from);
}

fn copy_by_words(from: &[u8], to: &mut [u8]) {
    let (from_words, from_rest) = from.as_chunks::<WORD_BYTES>();
    let (to_words, to_rest) = to.as_chunks_mut::<WORD_BYTES>();
    for (to, from) in to_words.iter_mut().zip(from_words) {
        // Kept from becoming one call.
        *to = black_box(*from);
    }
    copy_by_bytes(from_rest, to_rest);
}

fn copy_by_bytes(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = black_box(*from);
    }
}

fn equal_by_words(a: &[u8], b: &[u8]) -> bool {
    let (a_words, a_rest) = a.as_chunks::<WORD_BYTES>();
    let (b_words, b_rest) = b.as_chunks::<WORD_BYTES>();
    let mut words = a_words.iter().zip(b_words);
    words.all(|(a, b)| word(*a) == word(*b)) && equal_by_bytes(a_rest, b_rest)
}

fn equal_by_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| black_box(*a) == *b)
}

/// The word in eight bytes, kept from becoming part of one call.
fn word(bytes: [u8; WORD_BYTES]) -> u64 {
    black_box(u64::from_le_bytes(bytes))
}

/// Runs all measurements and prints the table.
pub(crate) fn run(arguments: &MemoryArguments) -> anyhow::Result<()> {
    let budget = Duration::from_millis(arguments.milliseconds);
    let names = COPIES.iter().map(|(name, _)| *name);
    let names = names.chain(COMPARISONS.iter().map(|(name, _)| *name));
    let columns: Vec<(&str, Align)> = [("Bytes", Align::Right)]
        .into_iter()
        .chain(names.map(|name| (name, Align::Right)))
        .collect();
    let mut table = Table::new(&columns);
    for size in SIZES {
        let from = vec![7_u8; size];
        let mut to = vec![7_u8; size];
        let mut cells = vec![size.to_string()];
        for (_, copy) in COPIES {
            let nanos = nanos_of(budget, || copy(black_box(&from), black_box(&mut to)));
            cells.push(cell(size, nanos));
        }
        for (_, compare) in COMPARISONS {
            let nanos = nanos_of(budget, || {
                black_box(compare(black_box(&from), black_box(&to)));
            });
            cells.push(cell(size, nanos));
        }
        table.row(cells);
    }
    say!("{}", table.render(None).trim_end());
    say!(
        "Each cell: nanoseconds of one call, gigabytes a second. Keys are shorter than a cache \
         line: there the cost of a call counts, so trees keep the first bytes of keys as numbers."
    );
    Ok(())
}

fn cell(size: usize, nanos: f64) -> String {
    // Bytes a nanosecond are gigabytes a second. Sizes are far below what a double holds exactly.
    let gigabytes = f64::from(u32::try_from(size).unwrap_or(u32::MAX)) / nanos;
    format!("{nanos:.1} ns {gigabytes:.1}")
}

/// Time of one call, from as many as fit the budget.
fn nanos_of(budget: Duration, mut call: impl FnMut()) -> f64 {
    let mut calls = 1_u32;
    loop {
        let started = Instant::now();
        (0..calls).for_each(|_| call());
        let taken = started.elapsed();
        if taken >= budget || calls > u32::MAX / 4 {
            return (taken.as_secs_f64() * 1e9 / f64::from(calls)).max(f64::MIN_POSITIVE);
        }
        calls *= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_copy_and_compare_alike() {
        let from: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for len in [0, 1, 7, 8, 9, 100, 1000] {
            for (name, copy) in COPIES {
                let mut to = vec![0; len];
                copy(&from[..len], &mut to);
                assert!(to == from[..len], "{name} {len}");
            }
            for (name, equal) in COMPARISONS {
                assert!(equal(&from[..len], &from[..len]), "{name} {len}");
                let mut other = from[..len].to_vec();
                if let Some(last) = other.last_mut() {
                    *last ^= 1;
                    assert!(!equal(&from[..len], &other), "{name} {len}");
                }
            }
        }
    }
}

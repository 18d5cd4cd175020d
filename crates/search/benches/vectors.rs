//! How fast an index takes vectors and finds the nearest: by its graph, and by comparing them all.
//!
//! `cargo bench -p jackdaw-search --bench vectors`. 100,000 vectors of 128 dimensions around 1,000
//! centers, as embeddings lie, in batches as an index worker makes them, on trees in memory. Prints
//! a row for each way to keep them: time to build, bytes, time of a search both ways, and how many
//! of the ten nearest a walk finds. Fixed work instead of samples: a build takes a minute.

#![expect(clippy::print_stdout, reason = "a bench prints its results")]

use std::time::Instant;

use jackdaw_search::{
    Batch, Budget, EntryId, FieldOptions, IndexRead, IndexReader, IndexWriter, MemoryStore, Near,
    NearestOptions, Vector, VectorOptions, VectorStorage,
};

const VECTORS: u64 = 100_000;
const DIMENSIONS: u64 = 128;
const CENTERS: u64 = 1_000;
const BATCH_VECTORS: u64 = 16_384;
const SEARCHES: u64 = 200;

/// Mixes a number (splitmix64).
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// About normal: the sum of four even ones.
#[expect(clippy::cast_possible_truncation, reason = "16 bits at a time")]
fn normal(seed: u64) -> f32 {
    let random = mix(seed);
    let parts = (0..4).map(|part| f32::from((random >> (16 * part)) as u16) / 65_536.0 - 0.5);
    parts.sum()
}

fn vector(number: u64, storage: VectorStorage) -> Vector {
    let center = mix(number) % CENTERS;
    let floats = (0..DIMENSIONS).map(|dimension| {
        let middle = normal(center * DIMENSIONS + dimension);
        middle + 0.6 * normal((CENTERS + number) * DIMENSIONS + dimension)
    });
    Vector::from_floats(&floats.collect::<Vec<f32>>(), storage).expect("finite floats")
}

fn main() {
    // `cargo test` runs benches too, to see that they work.
    let count = match std::env::args().any(|argument| argument == "--bench") {
        true => VECTORS,
        false => 1_500,
    };
    println!("{count} vectors of {DIMENSIONS} dimensions, {SEARCHES} searches for the ten nearest");
    for storage in [VectorStorage::F32, VectorStorage::I8, VectorStorage::I1] {
        measure(storage, count);
    }
}

fn measure(storage: VectorStorage, count: u64) {
    let options = FieldOptions::of_vectors(VectorOptions {
        storage,
        ..VectorOptions::default()
    });
    let (mut store, mut writer) = (MemoryStore::new(), IndexWriter::new());
    let mut batch = Batch::new();
    let mut built = 0.0;
    for first in (0..count).step_by(usize::try_from(BATCH_VECTORS).expect("small")) {
        batch.clear();
        let slot = batch.field("V", options).expect("a good field");
        for entry in first..count.min(first + BATCH_VECTORS) {
            let mut terms = batch.put(EntryId(entry)).expect("a good entry");
            terms.vector(slot, &vector(entry, storage));
        }
        let started = Instant::now();
        writer
            .apply(&mut store, &batch, None)
            .expect("memory does not fail");
        built += started.elapsed().as_secs_f64();
    }
    let reader = IndexReader::open(&store)
        .expect("just written")
        .expect("just written");
    let field = reader.field("V").expect("just written");
    let search = |target: &Vector, is_exact| -> Vec<Near> {
        let options = NearestOptions {
            count: 10,
            minimum: 0.0,
            is_exact,
            within: None,
        };
        let found = reader.nearest(field, target, &options, &mut Budget::unlimited());
        found.expect("a sound index")
    };
    let (mut walked, mut compared, mut found, mut all) = (Vec::new(), Vec::new(), 0, 0);
    for number in 0..SEARCHES {
        let target = vector(count + number, storage);
        let started = Instant::now();
        let near = search(&target, false);
        walked.push(started.elapsed().as_secs_f64());
        let started = Instant::now();
        let exact = search(&target, true);
        compared.push(started.elapsed().as_secs_f64());
        found += exact.iter().filter(|one| near.contains(one)).count();
        all += exact.len();
    }
    let bytes = ["vectors", "vector_links", "vector_numbers"].map(|tree| {
        let tree = store
            .tree(tree)
            .expect("just written")
            .expect("just written");
        let entries = tree
            .iter()
            .expect("just written")
            .map(|entry| entry.expect("sound"));
        entries
            .map(|(key, value)| (key.len() + value.len()) as u64)
            .sum::<u64>()
    });
    println!(
        "{storage:?}: built in {built:.1} s, {:.1} MB; walk {:.3} ms, all compared {:.3} ms \
         (medians); recall {:.3}",
        bytes.iter().sum::<u64>() as f64 / 1e6,
        median(walked) * 1e3,
        median(compared) * 1e3,
        found as f64 / f64::from(u32::try_from(all).expect("few")),
    );
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

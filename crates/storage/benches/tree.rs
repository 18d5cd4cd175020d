//! Trees in memory: a million entries of 16-byte keys and 128-byte values.
//!
//! `cargo bench -p jackdaw-storage --bench tree`. Pages are those of `MemoryPages`, so neither
//! copies for snapshots nor the journal are measured. Keys are random, or `documents/` and a
//! number: the two ends of what prefixes and heads can do.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jackdaw_storage::{FixedTree, FixedTreeMut, MemoryPages, Tree, TreeMut, TreeRoot, TreeState};

const ENTRIES: u64 = 1_000_000;

/// Operations of one sample; setting up takes longer than they do.
const BATCH: usize = 1_000;

type Key = [u8; 16];

const VALUE: [u8; 128] = [7; 128];

fn scramble(n: u64) -> u64 {
    let z = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn random_key(n: u64) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&scramble(n).to_le_bytes());
    key[8..].copy_from_slice(&scramble(!n).to_le_bytes());
    key
}

fn numbered_key(n: u64) -> Key {
    let mut key = *b"documents/000000";
    let text = format!("{n:06x}");
    key[10..].copy_from_slice(&text.as_bytes()[..6]);
    key
}

struct Forest {
    pages: MemoryPages,
    state: TreeState,
}

impl Forest {
    fn new(keys: &[Key]) -> Forest {
        let mut forest = Forest {
            pages: MemoryPages::new(),
            state: TreeState::new(TreeRoot::empty()),
        };
        forest.put(keys);
        forest
    }

    fn tree(&self) -> Tree<'_, MemoryPages> {
        Tree::new(&self.pages, self.state.root)
    }

    fn put(&mut self, keys: &[Key]) {
        let mut tree = TreeMut::new(&mut self.pages, &mut self.state);
        for key in keys {
            tree.put(key, &VALUE).expect("memory does not fail");
        }
    }
}

/// Endless batches of keys in random order.
fn batches(keys: &[Key]) -> impl FnMut() -> Vec<Key> {
    let mut step = 0;
    move || {
        (0..BATCH)
            .map(|_| {
                step += 1;
                let at = scramble(step) % keys.len() as u64;
                keys[usize::try_from(at).expect("an index")]
            })
            .collect()
    }
}

fn byte_keys(criterion: &mut Criterion, name: &str, make: fn(u64) -> Key) {
    let keys: Vec<Key> = (0..ENTRIES).map(make).collect();
    let mut forest = Forest::new(&keys);
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("get", |bencher| {
        let get = |keys: Vec<Key>| {
            let tree = forest.tree();
            keys.iter()
                .filter(|key| tree.get(&key[..]).is_ok_and(|v| v.is_some()))
                .count()
        };
        bencher.iter_batched(batches(&keys), get, BatchSize::SmallInput);
    });
    group.bench_function("scan", |bencher| {
        let mut entries = forest.tree().iter().expect("memory does not fail");
        bencher.iter(|| {
            let bytes: usize = entries
                .by_ref()
                .take(BATCH)
                .flatten()
                .map(|(_, v)| v.len())
                .sum();
            if bytes == 0 {
                entries = forest.tree().iter().expect("memory does not fail");
            }
            bytes
        });
    });
    group.bench_function("put_ascending", |bencher| {
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let mut target = Forest::new(&[]);
        let mut chunks = sorted.chunks(BATCH);
        bencher.iter(|| match chunks.next() {
            Some(chunk) => target.put(chunk),
            None => {
                target = Forest::new(&[]);
                chunks = sorted.chunks(BATCH);
            }
        });
    });
    group.bench_function("put_existing", |bencher| {
        bencher.iter_batched(
            batches(&keys),
            |keys| forest.put(&keys),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("put_new", |bencher| {
        let mut next = ENTRIES;
        let fresh = || {
            next += BATCH as u64;
            (next..next + BATCH as u64)
                .map(random_key)
                .collect::<Vec<Key>>()
        };
        bencher.iter_batched(fresh, |keys| forest.put(&keys), BatchSize::SmallInput);
    });
    group.finish();
}

fn fixed(criterion: &mut Criterion) {
    let empty = || (MemoryPages::new(), TreeState::new(TreeRoot::empty_fixed(8)));
    let append = |(pages, state): &mut (MemoryPages, TreeState), from: u64| {
        let mut tree = FixedTreeMut::new(pages, state);
        for key in from..from + BATCH as u64 {
            tree.put(key, &key.to_le_bytes())
                .expect("memory does not fail");
        }
    };
    let mut full = empty();
    (0..ENTRIES)
        .step_by(BATCH)
        .for_each(|from| append(&mut full, from));
    let mut group = criterion.benchmark_group("fixed");
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("append", |bencher| {
        let (mut target, mut next) = (empty(), 0);
        bencher.iter(|| {
            if next == ENTRIES {
                (target, next) = (empty(), 0);
            }
            append(&mut target, next);
            next += BATCH as u64;
        });
    });
    group.bench_function("get", |bencher| {
        let tree = FixedTree::new(&full.0, full.1.root);
        let mut step = 0;
        bencher.iter(|| {
            for _ in 0..BATCH {
                step += 1;
                let _ = black_box(tree.get(scramble(step) % ENTRIES));
            }
        });
    });
    group.finish();
}

fn all(criterion: &mut Criterion) {
    byte_keys(criterion, "random", random_key);
    byte_keys(criterion, "numbered", numbered_key);
    fixed(criterion);
}

criterion_group!(benches, all);
criterion_main!(benches);

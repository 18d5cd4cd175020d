//! How fast an index takes entries and answers queries: on trees in memory, and written to an
//! environment on the disk of the temporary directory.
//!
//! `cargo bench -p jackdaw-search`. Entries are made up like a music catalog: 100,000 artists, a
//! few of them on very many discs; titles mostly unique; disc numbers unique. Results vary between
//! runs on a busy machine; compare runs of one session only.

use std::hint::black_box;
use std::ops::Bound;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jackdaw_io::RealVfs;
use jackdaw_search::{
    Analyzer, Batch, Budget, EntryId, EntrySet, IndexReader, IndexWriter, MemoryStore, Term,
};
use jackdaw_storage::{Environment, MemoryPages, Options};

const ENTRIES: u64 = 500_000;
const ARTISTS: u64 = 100_000;
const BATCH_ENTRIES: u64 = 16_384;

const WORDS: [&str; 24] = [
    "Love", "Night", "Blue", "Live", "The", "Best", "of", "Greatest", "Hits", "Songs", "Dream",
    "River", "Fire", "Road", "Home", "World", "Heart", "Time", "Black", "White", "Dance", "Moon",
    "Sun", "Rain",
];

/// Mixes a number (splitmix64).
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn word(random: u64) -> &'static str {
    WORDS[usize::try_from(random % 24).expect("below 24")]
}

/// One in eight discs is by "Various"; popular artists have more discs than others.
fn artist(entry: u64) -> String {
    let random = mix(entry * 3);
    if random.is_multiple_of(8) {
        return "Various".to_owned();
    }
    let number = (random >> 8) % ARTISTS * ((random >> 40) % 1_000) / 1_000;
    format!("{} {} {number}", word(number), word(number / 24))
}

fn title(entry: u64) -> String {
    let random = mix(entry * 3 + 1);
    let number = random >> 45;
    format!(
        "{} {} {} {number}",
        word(random),
        word(random >> 8),
        word(random >> 16)
    )
}

fn fill(batch: &mut Batch, entries: impl Iterator<Item = u64>) {
    batch.clear();
    let mut field = |name| {
        batch
            .field(name, Analyzer::LowercaseKeyword)
            .expect("a new field")
    };
    let (artists, titles, discs) = (field("Artist"), field("Title"), field("DiscId"));
    for entry in entries {
        let mut terms = batch.put(EntryId(entry)).expect("in range");
        terms.text(artists, &artist(entry));
        terms.text(titles, &title(entry));
        terms.text(discs, &format!("{:08x}", mix(entry * 3 + 2) >> 32));
    }
}

fn build() -> MemoryStore {
    let (mut store, mut writer, mut batch) = (MemoryStore::new(), IndexWriter::new(), Batch::new());
    for start in (0..ENTRIES).step_by(16_384) {
        fill(&mut batch, start..ENTRIES.min(start + BATCH_ENTRIES));
        writer
            .apply(&mut store, &batch, Some(start))
            .expect("memory does not fail");
    }
    store
}

/// The whole index from nothing: analysis and writing apart.
fn bulk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bulk");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(ENTRIES));
    group.bench_function("analyze", |bencher| {
        let mut batch = Batch::new();
        bencher.iter(|| {
            for start in (0..ENTRIES).step_by(16_384) {
                fill(&mut batch, start..ENTRIES.min(start + BATCH_ENTRIES));
            }
            black_box(batch.len())
        });
    });
    group.bench_function("apply", |bencher| {
        bencher.iter_custom(|iterations| {
            let mut spent = Duration::ZERO;
            for _ in 0..iterations {
                let (mut store, mut writer, mut batch) =
                    (MemoryStore::new(), IndexWriter::new(), Batch::new());
                for start in (0..ENTRIES).step_by(16_384) {
                    fill(&mut batch, start..ENTRIES.min(start + BATCH_ENTRIES));
                    let began = Instant::now();
                    writer
                        .apply(&mut store, &batch, Some(start))
                        .expect("memory does not fail");
                    spent += began.elapsed();
                }
                black_box(&store);
            }
            spent
        });
    });
    group.bench_function("apply_on_disk", |bencher| {
        bencher.iter_custom(|iterations| (0..iterations).map(|_| build_on_disk()).sum());
    });
    group.finish();
}

/// Builds the index in an environment of its own, as the server does: rebuildable, so that no
/// commit waits for the disk. Gives the time spent applying and committing.
fn build_on_disk() -> Duration {
    let directory = std::env::temp_dir().join(format!("jackdaw-bench-{}", std::process::id()));
    let environment =
        Environment::open(RealVfs::new(), &directory, Options::rebuildable()).expect("opens");
    let (mut writer, mut batch) = (IndexWriter::new(), Batch::new());
    let mut spent = Duration::ZERO;
    for start in (0..ENTRIES).step_by(16_384) {
        fill(&mut batch, start..ENTRIES.min(start + BATCH_ENTRIES));
        let began = Instant::now();
        let mut transaction = environment.begin_write().expect("no other writer");
        writer
            .apply(&mut transaction, &batch, Some(start))
            .expect("the disk has room");
        transaction.commit().expect("the disk has room");
        spent += began.elapsed();
    }
    drop(environment);
    std::fs::remove_dir_all(&directory).expect("it was made above");
    spent
}

/// Changes of entries that are there: one field of three changes, or all go.
fn change(criterion: &mut Criterion, store: &MemoryStore) {
    let mut group = criterion.benchmark_group("change");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(BATCH_ENTRIES));
    let scattered = || (0..BATCH_ENTRIES).map(|i| mix(i) % ENTRIES);
    let mut deletions = Batch::new();
    let mut retitled = Batch::new();
    fill(&mut retitled, scattered());
    for entry in scattered() {
        deletions.delete(EntryId(entry)).expect("in range");
    }
    let titles = retitled
        .field("Title", Analyzer::LowercaseKeyword)
        .expect("known");
    let artists = retitled
        .field("Artist", Analyzer::LowercaseKeyword)
        .expect("known");
    let discs = retitled
        .field("DiscId", Analyzer::LowercaseKeyword)
        .expect("known");
    retitled.clear();
    for entry in scattered() {
        let mut terms = retitled.put(EntryId(entry)).expect("in range");
        terms.text(artists, &artist(entry));
        terms.text(titles, &title(entry + ENTRIES));
        terms.text(discs, &format!("{:08x}", mix(entry * 3 + 2) >> 32));
    }
    for (name, batch) in [("one_field", &retitled), ("delete", &deletions)] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || (store.clone(), IndexWriter::new()),
                |(mut store, mut writer)| {
                    writer
                        .apply(&mut store, batch, None)
                        .expect("memory does not fail");
                    store
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn query(criterion: &mut Criterion, store: &MemoryStore) {
    let reader: IndexReader<'_, MemoryPages> =
        IndexReader::open(store).expect("readable").expect("built");
    let field = |name| reader.field(name).expect("indexed");
    let (artists, titles, discs) = (field("Artist"), field("Title"), field("DiscId"));
    let disc = format!("{:08x}", mix(1_234 * 3 + 2) >> 32);
    let various = || reader.term(artists, Term::Text("Various")).expect("sound");
    let prefix = |field, text| {
        let mut budget = Budget::unlimited();
        reader.prefix(field, text, &mut budget).expect("sound")
    };
    let mut group = criterion.benchmark_group("query");
    group.sample_size(20);
    group.bench_function("open", |b| {
        b.iter(|| IndexReader::<MemoryPages>::open(black_box(store)).expect("readable"));
    });
    group.bench_function("term_unique", |b| {
        b.iter(|| {
            reader
                .term(discs, Term::Text(black_box(&disc)))
                .expect("sound")
        });
    });
    group.bench_function("count_frequent", |b| {
        b.iter(|| {
            reader
                .count(artists, Term::Text(black_box("Various")))
                .expect("sound")
        });
    });
    group.bench_function("term_frequent", |b| b.iter(|| black_box(various())));
    group.bench_function("first_20_frequent", |b| {
        b.iter(|| -> Vec<EntryId> {
            let postings = reader
                .postings(artists, Term::Text("Various"))
                .expect("sound");
            postings
                .take(20)
                .map(|entry| entry.expect("sound"))
                .collect()
        });
    });
    group.bench_function("prefix_rare", |b| {
        b.iter(|| prefix(titles, black_box("Love Night Fi")))
    });
    group.bench_function("prefix_common", |b| {
        b.iter(|| prefix(titles, black_box("L")))
    });
    group.bench_function("prefix_all_discs", |b| {
        b.iter(|| prefix(discs, black_box("")))
    });
    group.bench_function("contains", |b| {
        let mut budget = Budget::unlimited();
        b.iter(|| {
            reader
                .contains(titles, black_box("moon r"), &mut budget)
                .expect("sound")
        });
    });
    let (love, live) = (prefix(titles, "Love"), prefix(artists, "Live"));
    group.bench_function("and_sets", |b| {
        b.iter(|| black_box(&love).and(black_box(&live)))
    });
    group.bench_function("or_sets", |b| {
        b.iter(|| black_box(&love).or(black_box(&live)))
    });
    let few = EntrySet::from_ascending((0..20).map(|i| EntryId(i * 25_000)));
    group.bench_function("frequent_within_20", |b| {
        b.iter(|| reader.term_within(artists, Term::Text("Various"), black_box(&few)));
    });
    group.bench_function("range", |b| {
        b.iter(|| {
            let mut budget = Budget::unlimited();
            let (low, high) = (Bound::Included("00"), Bound::Excluded("08"));
            reader
                .text_range(discs, low, high, &mut budget)
                .expect("sound")
        });
    });
    group.finish();
}

fn on_a_built_index(criterion: &mut Criterion) {
    let store = build();
    for (name, root) in store.roots() {
        eprintln!(
            "tree {name}: {} entries, {} pages",
            root.entry_count(),
            root.page_count()
        );
    }
    query(criterion, &store);
    change(criterion, &store);
}

criterion_group!(benches, bulk, on_a_built_index);
criterion_main!(benches);

//! What is proven: exact answers about vectors are those of comparing all of them, under filters
//! and minimums too; walks over the graph find nearly as much; and after every batch of puts,
//! updates and deletes the graph passes its check: linked both ways, connected, nothing left over.
//! How: random entries against a model, in all ways to keep vectors; recall on random and on
//! clustered vectors.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::{BTreeMap, BTreeSet};

use jackdaw_search::{
    Batch, Budget, EntryId, EntrySet, FieldOptions, IndexError, IndexReader, IndexWriter,
    MemoryStore, NearestOptions, Vector, VectorOptions, VectorStorage,
};
use jackdaw_sim::Rng;

const FIELD: &str = "V";

fn float(random: &mut Rng) -> f32 {
    random.below(2_001) as f32 / 1_000.0 - 1.0
}

fn floats(random: &mut Rng, dimensions: usize) -> Vec<f32> {
    (0..dimensions).map(|_| float(random)).collect()
}

/// Entries and their vectors.
type Model = BTreeMap<u64, Vec<Vector>>;

struct World {
    options: VectorOptions,
    store: MemoryStore,
    writer: IndexWriter,
    model: Model,
}

impl World {
    fn new(options: VectorOptions) -> World {
        World {
            options,
            store: MemoryStore::new(),
            writer: IndexWriter::new(),
            model: Model::new(),
        }
    }

    fn vector(&self, floats: &[f32]) -> Vector {
        Vector::from_floats(floats, self.options.storage).unwrap()
    }

    /// Applies changes: entries with their new vectors, `None` for those that go.
    fn apply(&mut self, changes: Vec<(u64, Option<Vec<Vector>>)>) {
        let mut batch = Batch::new();
        let options = FieldOptions::of_vectors(self.options);
        let slot = batch.field(FIELD, options).unwrap();
        for (entry, vectors) in changes {
            match vectors {
                None => {
                    batch.delete(EntryId(entry)).unwrap();
                    self.model.remove(&entry);
                }
                Some(vectors) => {
                    let mut terms = batch.put(EntryId(entry)).unwrap();
                    vectors.iter().for_each(|vector| terms.vector(slot, vector));
                    self.model.insert(entry, vectors);
                }
            }
        }
        self.writer.apply(&mut self.store, &batch, None).unwrap();
        assert!(self.writer.refused().is_empty());
    }

    fn check(&self) {
        let reader = IndexReader::open(&self.store).unwrap().unwrap();
        assert_eq!(reader.verify().unwrap().damages, []);
    }

    /// Entries and similarities, as the index finds them.
    fn find(&self, target: &Vector, options: &NearestOptions<'_>) -> Vec<(u64, f32)> {
        let reader = IndexReader::open(&self.store).unwrap().unwrap();
        let Some(field) = reader.field(FIELD) else {
            return Vec::new();
        };
        let mut budget = Budget::unlimited();
        let found = reader.nearest(field, target, options, &mut budget);
        let found = found.unwrap().into_iter();
        found.map(|near| (near.entry.0, near.similarity)).collect()
    }

    /// The least similarity that is among the `count` nearest different vectors, and what each
    /// entry has.
    fn naive(&self, target: &Vector, options: &NearestOptions<'_>) -> (f32, BTreeMap<u64, f32>) {
        let mut different: BTreeMap<u128, f32> = BTreeMap::new();
        let mut best: BTreeMap<u64, f32> = BTreeMap::new();
        for (entry, vectors) in &self.model {
            if options
                .within
                .is_some_and(|within| !within.contains(EntryId(*entry)))
            {
                continue;
            }
            for vector in vectors {
                let similarity = target.similarity(vector);
                if self.options.storage.scaled(similarity) < options.minimum {
                    continue;
                }
                different.insert(vector.identity(), similarity);
                let best = best.entry(*entry).or_insert(similarity);
                *best = best.max(similarity);
            }
        }
        let mut similarities: Vec<f32> = different.into_values().collect();
        similarities.sort_by(|a, b| b.total_cmp(a));
        let least = similarities.get(options.count - 1).copied();
        (least.unwrap_or(f32::MIN), best)
    }

    /// Asserts that an answer is exact, where equally near vectors may stand for one another.
    fn check_exact(&self, target: &Vector, options: &NearestOptions<'_>) {
        let found = self.find(target, options);
        let (least, best) = self.naive(target, options);
        let entries: BTreeSet<u64> = found.iter().map(|(entry, _)| *entry).collect();
        for (entry, similarity) in &best {
            assert!(
                *similarity <= least || entries.contains(entry),
                "{entry} is missing"
            );
        }
        for (entry, similarity) in found {
            assert_eq!(best.get(&entry), Some(&similarity), "similarity of {entry}");
            assert!(similarity >= least, "{entry} is too far");
        }
    }
}

#[test]
fn exact_answers_are_those_of_comparing_all() {
    let storages = [VectorStorage::F32, VectorStorage::I8, VectorStorage::I1];
    for (seed, storage) in (71..).zip(storages) {
        println!("seed {seed}");
        let mut random = Rng::new(seed);
        let mut world = World::new(VectorOptions {
            storage,
            edges: 3,
            candidates: 4,
            ..VectorOptions::default()
        });
        // Few different ones, so that entries share them.
        let universe: Vec<Vec<f32>> = (0..90).map(|_| floats(&mut random, 6)).collect();
        for _ in 0..25 {
            let mut changes = Vec::new();
            for _ in 0..random.between(1, 40) {
                let entry = random.below(120);
                let count = *random.pick(&[0, 1, 1, 1, 2, 5]);
                let vectors = (0..count).map(|_| world.vector(random.pick::<Vec<f32>>(&universe)));
                let vectors: Vec<Vector> = vectors.collect();
                changes.push((entry, (!random.chance(3)).then_some(vectors)));
            }
            // Of several changes of an entry the last one counts, in the model too.
            world.apply(changes);
            world.check();
            for _ in 0..6 {
                let target = world.vector(&floats(&mut random, 6));
                let some = (0..120).filter(|_| random.chance(2)).map(EntryId);
                let within = EntrySet::from_ascending(some.collect::<Vec<EntryId>>());
                let options = NearestOptions {
                    count: *random.pick(&[1, 3, 16, 500]),
                    minimum: *random.pick(&[0.0, 0.0, 0.6, 1.5]),
                    is_exact: random.chance(2),
                    within: random.chance(2).then_some(&within),
                };
                world.check_exact(&target, &options);
            }
        }
        let all: Vec<u64> = world.model.keys().copied().collect();
        world.apply(all.into_iter().map(|entry| (entry, None)).collect());
        world.check();
    }
}

/// The part of the ten nearest that walks find, over some targets.
fn recall(world: &World, targets: &[Vector], within: Option<&EntrySet>) -> f64 {
    let (mut found, mut expected) = (0, 0);
    for target in targets {
        let options = |is_exact| NearestOptions {
            count: 10,
            minimum: 0.0,
            is_exact,
            within,
        };
        let exact = world.find(target, &options(true));
        let walked = world.find(target, &options(false));
        expected += exact.len();
        found += exact.iter().filter(|near| walked.contains(near)).count();
    }
    found as f64 / expected as f64
}

/// Vectors around a few centers, or anywhere.
fn point(random: &mut Rng, centers: &[Vec<f32>], dimensions: usize) -> Vec<f32> {
    if centers.is_empty() {
        return floats(random, dimensions);
    }
    let center = random.pick(centers).clone();
    center
        .into_iter()
        .map(|value| value + float(random) * 0.15)
        .collect()
}

#[test]
fn walks_find_nearly_all_after_inserts_updates_and_deletes() {
    for (seed, clusters, storage) in [
        (81, 0, VectorStorage::F32),
        (82, 12, VectorStorage::F32),
        (83, 12, VectorStorage::I8),
    ] {
        println!("seed {seed}");
        let mut random = Rng::new(seed);
        let dimensions = 12;
        let centers: Vec<Vec<f32>> = (0..clusters)
            .map(|_| floats(&mut random, dimensions))
            .collect();
        let mut world = World::new(VectorOptions {
            storage,
            ..VectorOptions::default()
        });
        for round in 0..6_u64 {
            let mut changes = BTreeMap::new();
            for entry in round * 500..(round + 1) * 500 {
                let vector = world.vector(&point(&mut random, &centers, dimensions));
                changes.insert(entry, Some(vec![vector]));
            }
            for _ in 0..80 * round {
                let entry = random.below(round * 500);
                let vector = world.vector(&point(&mut random, &centers, dimensions));
                changes.insert(entry, random.chance(2).then(|| vec![vector]));
            }
            world.apply(changes.into_iter().collect());
        }
        world.check();
        let targets: Vec<Vector> = (0..30)
            .map(|_| world.vector(&point(&mut random, &centers, dimensions)))
            .collect();
        let found = recall(&world, &targets, None);
        println!(
            "seed {seed}: recall {found:.3} of {} entries",
            world.model.len()
        );
        assert!(found >= 0.95, "recall {found}");
        let most = EntrySet::from_ascending((0..3_000).filter(|entry| entry % 4 > 0).map(EntryId));
        let found = recall(&world, &targets, Some(&most));
        println!("seed {seed}: recall {found:.3} under a filter");
        assert!(found >= 0.95, "recall {found} under a filter");
    }
}

#[test]
fn equal_batches_make_equal_graphs() {
    let make = || {
        let mut random = Rng::new(91);
        let mut world = World::new(VectorOptions::default());
        for round in 0..4_u64 {
            let vectors = (round * 50..(round + 2) * 50)
                .map(|entry| (entry, Some(vec![world.vector(&floats(&mut random, 8))])));
            let vectors = vectors.collect();
            world.apply(vectors);
        }
        world
    };
    let (first, second) = (make(), make());
    let target = first.vector(&[1.0; 8]);
    let options = NearestOptions {
        count: 16,
        minimum: 0.0,
        is_exact: false,
        within: None,
    };
    assert_eq!(
        first.find(&target, &options),
        second.find(&target, &options)
    );
    assert_eq!(dump(&first.store), dump(&second.store));
}

fn dump(store: &MemoryStore) -> Vec<(Vec<u8>, Vec<u8>)> {
    use jackdaw_search::IndexRead;
    let tree = store.tree("vector_links").unwrap().unwrap();
    let entries = tree.iter().unwrap().map(|entry| entry.unwrap());
    entries
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect()
}

#[test]
fn other_dimensions_are_refused_and_the_rest_is_indexed() {
    let mut batch = Batch::new();
    let options = FieldOptions::of_vectors(VectorOptions::default());
    let (slot, text) = (
        batch.field(FIELD, options).unwrap(),
        batch.field("T", FieldOptions::default()).unwrap(),
    );
    let vector = |floats: &[f32]| Vector::from_floats(floats, VectorStorage::F32).unwrap();
    for (entry, floats) in [
        (1, &[1.0, 0.0, 0.0][..]),
        (2, &[1.0, 0.0]),
        (3, &[0.0, 1.0, 0.0]),
    ] {
        let mut terms = batch.put(EntryId(entry)).unwrap();
        terms.vector(slot, &vector(floats));
        terms.text(text, "x");
    }
    let (mut store, mut writer) = (MemoryStore::new(), IndexWriter::new());
    writer.apply(&mut store, &batch, None).unwrap();
    let [refused] = writer.refused() else {
        panic!()
    };
    assert_eq!(refused.entry, EntryId(2));
    assert_eq!(
        refused.to_string(),
        "field \"V\" has vectors of 3 dimensions, but this one has 2: give all vectors of a field \
         the same dimensions"
    );
    let reader = IndexReader::open(&store).unwrap().unwrap();
    assert_eq!(reader.verify().unwrap().damages, []);
    assert_eq!(
        (reader.entry_count(), reader.verify().unwrap().terms),
        (3, 3)
    );
    let field = reader.field(FIELD).unwrap();
    assert_eq!(reader.vector_dimensions(field).unwrap(), Some(3));
    let options = NearestOptions {
        count: 16,
        minimum: 0.0,
        is_exact: false,
        within: None,
    };
    let found = reader.nearest(
        field,
        &vector(&[1.0, 0.0]),
        &options,
        &mut Budget::unlimited(),
    );
    assert!(matches!(
        found,
        Err(IndexError::Dimensions {
            expected: 3,
            given: 2,
            ..
        })
    ));
    let mut budget = Budget::new(1);
    let found = reader.nearest(field, &vector(&[1.0, 0.0, 0.0]), &options, &mut budget);
    assert!(matches!(found, Err(IndexError::WalkLimit { .. })));
}

/// Plants a mistake in the trees of some vectors and gives what the check says.
fn damages_after(plant: impl FnOnce(&mut MemoryStore)) -> Vec<String> {
    let mut random = Rng::new(95);
    let mut world = World::new(VectorOptions::default());
    let vectors =
        (0..300_u64).map(|entry| (entry, Some(vec![world.vector(&floats(&mut random, 8))])));
    let vectors = vectors.collect();
    world.apply(vectors);
    plant(&mut world.store);
    let reader = IndexReader::open(&world.store).unwrap().unwrap();
    let damages = reader.verify().unwrap().damages;
    // Queries over damaged trees end, with an error or without.
    let field = reader.field(FIELD).unwrap();
    for is_exact in [false, true] {
        let options = NearestOptions {
            count: 400,
            minimum: 0.0,
            is_exact,
            within: None,
        };
        let _ = reader.nearest(
            field,
            &world.vector(&[1.0; 8]),
            &options,
            &mut Budget::unlimited(),
        );
    }
    damages.iter().map(ToString::to_string).collect()
}

/// The value under the first key of a tree that is as long as this.
fn first(store: &MemoryStore, tree: &str, key_bytes: usize) -> (Vec<u8>, Vec<u8>) {
    use jackdaw_search::IndexRead;
    let entries = store.tree(tree).unwrap().unwrap();
    let mut entries = entries.iter().unwrap().map(|entry| entry.unwrap());
    let found = entries
        .find(|(key, _)| key.to_vec().len() == key_bytes)
        .unwrap();
    (found.0.to_vec(), found.1.to_vec())
}

#[test]
fn damage_is_found_and_named() {
    use jackdaw_search::IndexWrite;
    type Plant = fn(&mut MemoryStore);
    let plants: [(&str, Plant); 7] = [
        ("a vector does not have the bytes its hash says", |store| {
            let (key, mut value) = first(store, "vectors", 10);
            *value.last_mut().unwrap() ^= 1;
            store
                .tree_mut("vectors")
                .unwrap()
                .put(&key, &value)
                .unwrap();
        }),
        ("the count of vectors is wrong", |store| {
            let (key, _) = first(store, "vectors", 10);
            store.tree_mut("vectors").unwrap().delete(&key).unwrap();
        }),
        ("a link leads to no vector of its level", |store| {
            let (key, _) = first(store, "vector_links", 10);
            store
                .tree_mut("vector_links")
                .unwrap()
                .delete(&key)
                .unwrap();
        }),
        ("links go one way", |store| {
            let (key, mut value) = first(store, "vector_links", 10);
            // The last link of the only level goes.
            assert_eq!(value[0], 0);
            value[1] -= 1;
            value.truncate(value.len() - 5);
            store
                .tree_mut("vector_links")
                .unwrap()
                .put(&key, &value)
                .unwrap();
        }),
        ("the links of a vector end within a list", |store| {
            let (key, mut value) = first(store, "vector_links", 10);
            value.pop();
            store
                .tree_mut("vector_links")
                .unwrap()
                .put(&key, &value)
                .unwrap();
        }),
        ("a vector has another number", |store| {
            let (key, _) = first(store, "vector_numbers", 18);
            store
                .tree_mut("vector_numbers")
                .unwrap()
                .put(&key, &[9; 5])
                .unwrap();
        }),
        ("the head of a graph of vectors is malformed", |store| {
            let (key, _) = first(store, "vector_links", 2);
            store
                .tree_mut("vector_links")
                .unwrap()
                .put(&key, &[9; 40])
                .unwrap();
        }),
    ];
    for (expected, plant) in plants {
        let found = damages_after(plant);
        assert!(
            found.iter().any(|damage| damage.contains(expected)),
            "{expected}: {found:?}"
        );
    }
    assert_eq!(damages_after(|_| {}), [""; 0]);
}

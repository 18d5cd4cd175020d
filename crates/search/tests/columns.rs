//! What is proven: a column gives the order and the counts of a field as plain values have them, is
//! made for the second query of a snapshot, and answers for no other. How: random entries with
//! none, one or several values, changed in batches.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::{BTreeMap, BTreeSet};

use jackdaw_base::number::Number;
use jackdaw_search::{
    Batch, Budget, Column, Columns, Direction, EntryId, EntrySet, FieldOptions, IndexReader,
    IndexWriter, MemoryStore, TermKind,
};
use jackdaw_sim::Rng;

/// Values of the field `N` of each entry.
type Model = BTreeMap<u64, Vec<i64>>;

fn change(random: &mut Rng, model: &mut Model, values_max: u64) -> Batch {
    let mut batch = Batch::new();
    let slot = batch.field("N", FieldOptions::default()).unwrap();
    let entries: BTreeSet<u64> = (0..400).map(|_| random.below(5_000)).collect();
    for entry in entries {
        if random.below(5) == 0 {
            batch.delete(EntryId(entry)).unwrap();
            model.remove(&entry);
            continue;
        }
        let mut terms = batch.put(EntryId(entry)).unwrap();
        let count = random.below(values_max + 1);
        let values = (0..count).map(|_| i64::try_from(random.below(60)).unwrap() - 20);
        let values: Vec<i64> = values.collect();
        for value in &values {
            terms.number(slot, Number::Long(*value), &value.to_string());
        }
        model.insert(entry, values);
    }
    batch
}

fn column(
    reader: &IndexReader<'_, jackdaw_storage::MemoryPages>,
    columns: &Columns,
    version: u64,
) -> Option<std::sync::Arc<Column>> {
    let field = (reader.field("N").unwrap(), TermKind::Number);
    columns
        .column(
            reader,
            version,
            field,
            reader.entry_count(),
            &mut Budget::unlimited(),
        )
        .unwrap()
}

#[test]
fn columns_order_and_count_as_values_do() {
    for (seed, values_max) in [(1, 1), (2, 1), (3, 3)] {
        println!("JACKDAW_SEED={seed}");
        let mut random = Rng::new(seed);
        let (mut store, mut writer, mut model) =
            (MemoryStore::new(), IndexWriter::new(), Model::new());
        let columns = Columns::new(1 << 20);
        for version in 1..4 {
            let batch = change(&mut random, &mut model, values_max);
            writer.apply(&mut store, &batch, None).unwrap();
            let reader = IndexReader::open(&store).unwrap().unwrap();
            assert!(column(&reader, &columns, version).is_none());
            let made = column(&reader, &columns, version).unwrap();
            assert_eq!(made.is_single(), values_max == 1);
            assert!(column(&reader, &columns, version - 1).is_none());
            check_worth(&reader, version);
            let other = (reader.field("N").unwrap(), TermKind::Text);
            for _ in 0..3 {
                let budget = &mut Budget::unlimited();
                let found = columns.column(&reader, version, other, 0, budget);
                assert!(found.unwrap().is_none());
            }
            let entries: Vec<u64> = (0..6_000).filter(|_| random.below(3) == 0).collect();
            let set = EntrySet::from_ascending(entries.iter().map(|entry| EntryId(*entry)));
            check_orders(&made, &set, &model, seed);
            check_counts(&made, &set, &model, seed);
        }
    }
}

/// A column is made once queries have met as many entries as its making does.
fn check_worth(reader: &IndexReader<'_, jackdaw_storage::MemoryPages>, version: u64) {
    let columns = Columns::new(1 << 20);
    let field = (reader.field("N").unwrap(), TermKind::Number);
    let a_quarter = reader.entry_count().div_ceil(4);
    let met = [a_quarter, a_quarter, 0, a_quarter, a_quarter, 0, 1];
    let is_made = met.map(|met| {
        let budget = &mut Budget::unlimited();
        let column = columns.column(reader, version, field, met, budget);
        column.unwrap().is_some()
    });
    assert_eq!(is_made, [false, false, false, false, false, false, true]);
}

fn check_orders(column: &Column, set: &EntrySet, model: &Model, seed: u64) {
    for (direction, nulls_first) in [
        (Direction::Ascending, true),
        (Direction::Ascending, false),
        (Direction::Descending, true),
        (Direction::Descending, false),
    ] {
        let key = |entry: &EntryId| {
            let values = model.get(&entry.0).map_or(&[][..], Vec::as_slice);
            let value = match direction {
                Direction::Ascending => values.iter().min().copied(),
                Direction::Descending => values.iter().max().map(|value| -value),
            };
            (value.is_some() == nulls_first, value, entry.0)
        };
        let mut expected: Vec<EntryId> = set.iter().collect();
        expected.sort_by_key(key);
        for wanted in [0, 1, 10, 900, 10_000] {
            let found = column.first_of(set, wanted, direction, nulls_first);
            let first = &expected[..wanted.min(expected.len())];
            assert_eq!(found, first, "seed {seed}: {direction:?} {nulls_first}");
        }
    }
}

fn check_counts(column: &Column, set: &EntrySet, model: &Model, seed: u64) {
    let mut expected: BTreeMap<i64, u32> = BTreeMap::new();
    for (entry, values) in model {
        for value in values {
            *expected.entry(*value).or_default() += u32::from(set.contains(EntryId(*entry)));
        }
    }
    let expected: Vec<u32> = expected.into_values().collect();
    match column.count(set) {
        Some(counts) => assert_eq!(counts, expected, "seed {seed}"),
        None => assert!(!column.is_single()),
    }
}

#[test]
fn columns_keep_within_their_memory() {
    let mut random = Rng::new(7);
    let (mut store, mut model) = (MemoryStore::new(), Model::new());
    let batch = change(&mut random, &mut model, 1);
    IndexWriter::new().apply(&mut store, &batch, None).unwrap();
    let reader = IndexReader::open(&store).unwrap().unwrap();
    let columns = Columns::new(1_000);
    for _ in 0..3 {
        assert!(column(&reader, &columns, 1).is_none());
    }
}

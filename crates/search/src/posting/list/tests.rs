//! What is proven: a large list holds what a plain set holds after any sequence of changes, walks
//! and skips over it agree, and its chunks stay filled. How: random batches of changes of several
//! shapes against `BTreeSet`, on trees in memory.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::cursor::Postings;
use super::super::value::TermValue;
use super::*;
use crate::EntryId;
use crate::store::{IndexRead, IndexWrite, MemoryStore};

const LIST: ListNumber = ListNumber(7);

fn read(store: &MemoryStore, count: usize) -> Vec<u64> {
    open(store, count).map(|entry| entry.unwrap().0).collect()
}

fn open(store: &MemoryStore, count: usize) -> Postings<'_, jackdaw_storage::MemoryPages> {
    let value = TermValue::Large {
        count: count as u64,
        list: LIST,
    };
    Postings::open(value, store.tree(POSTINGS_TREE).unwrap()).unwrap()
}

fn changes_to(before: &BTreeSet<u64>, toggled: &BTreeSet<u64>) -> Vec<Change> {
    let change = |&entry: &u64| match before.contains(&entry) {
        true => Change::remove(entry),
        false => Change::add(entry),
    };
    toggled.iter().map(change).collect()
}

/// A store with lists before and behind the one under test, which must stay as they are.
fn store_with_neighbors(editor: &mut ListEditor) -> MemoryStore {
    let mut store = MemoryStore::new();
    let mut tree = store.tree_mut(POSTINGS_TREE).unwrap();
    for list in [ListNumber(6), ListNumber(8)] {
        editor
            .build(&mut tree, list, &(0..3_000).collect::<Vec<_>>())
            .unwrap();
    }
    store
}

fn assert_neighbors(store: &MemoryStore) {
    for list in [ListNumber(6), ListNumber(8)] {
        let value = TermValue::Large { count: 3_000, list };
        let postings = Postings::open(value, store.tree(POSTINGS_TREE).unwrap()).unwrap();
        assert_eq!(postings.count(), 3_000);
    }
}

fn toggles() -> impl Strategy<Value = BTreeSet<u64>> {
    prop_oneof![
        // Growth at the end, anywhere, and of a stretch.
        (20_000..90_000_u64, 1..2_000_u64).prop_map(|(start, len)| (start..start + len).collect()),
        prop::collection::btree_set(0..30_000_u64, 0..400),
        (0..30_000_u64, 1..4_000_u64).prop_map(|(start, len)| (start..start + len).collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn lists_follow_their_changes(
        first in prop::collection::btree_set(0..40_000_u64, 1_500..3_000),
        batches in prop::collection::vec(toggles(), 0..5),
        probes in prop::collection::btree_set(0..95_000_u64, 1..20),
    ) {
        let mut editor = ListEditor::default();
        let mut store = store_with_neighbors(&mut editor);
        let mut model = first;
        let entries: Vec<u64> = model.iter().copied().collect();
        editor.build(&mut store.tree_mut(POSTINGS_TREE).unwrap(), LIST, &entries).unwrap();
        for toggled in batches {
            if model.is_subset(&toggled) {
                continue; // The writer drops a list that becomes empty.
            }
            let changes = changes_to(&model, &toggled);
            editor.update(&mut store.tree_mut(POSTINGS_TREE).unwrap(), LIST, &changes).unwrap();
            model = model.symmetric_difference(&toggled).copied().collect();
            prop_assert_eq!(read(&store, model.len()), model.iter().copied().collect::<Vec<_>>());
        }
        let mut walk = open(&store, model.len());
        for &probe in &probes {
            walk.seek(EntryId(probe)).unwrap();
            prop_assert_eq!(walk.pending().first(), model.range(probe..).next());
        }
        let mut taken = Vec::new();
        editor.take_all(&mut store.tree_mut(POSTINGS_TREE).unwrap(), LIST, &mut taken).unwrap();
        prop_assert_eq!(taken, model.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(read(&store, 0), Vec::<u64>::new());
        assert_neighbors(&store);
    }
}

#[test]
fn growth_at_the_end_fills_chunks() {
    let (mut editor, mut store) = (ListEditor::default(), MemoryStore::new());
    let mut tree = store.tree_mut(POSTINGS_TREE).unwrap();
    editor.build(&mut tree, LIST, &[0]).unwrap();
    for start in (1..20_001_u64).step_by(100) {
        let changes: Vec<Change> = (start..start + 100).map(|i| Change::add(i * 3)).collect();
        editor.update(&mut tree, LIST, &changes).unwrap();
    }
    let chunks = chunk_count(&store.tree(POSTINGS_TREE).unwrap().unwrap(), LIST).unwrap();
    assert_eq!(chunks, 20_001_u64.div_ceil(1_024));
}

#[test]
fn scattered_growth_keeps_chunks_half_full() {
    let (mut editor, mut store) = (ListEditor::default(), MemoryStore::new());
    let mut tree = store.tree_mut(POSTINGS_TREE).unwrap();
    let scattered = |round: u64| (0..500).map(move |i| i * 40 + round).collect::<Vec<u64>>();
    editor.build(&mut tree, LIST, &scattered(0)).unwrap();
    for round in 1..40 {
        let changes: Vec<Change> = scattered(round).into_iter().map(Change::add).collect();
        editor.update(&mut tree, LIST, &changes).unwrap();
    }
    let chunks = chunk_count(&store.tree(POSTINGS_TREE).unwrap().unwrap(), LIST).unwrap();
    assert!(
        (20..=45).contains(&chunks),
        "{chunks} chunks for 20,000 entries"
    );
    assert_eq!(read(&store, 20_000), (0..20_000).collect::<Vec<_>>());
}

#[test]
fn shrinking_merges_chunks() {
    let (mut editor, mut store) = (ListEditor::default(), MemoryStore::new());
    let mut tree = store.tree_mut(POSTINGS_TREE).unwrap();
    editor
        .build(&mut tree, LIST, &(0..20_000).collect::<Vec<_>>())
        .unwrap();
    let changes: Vec<Change> = (0..20_000)
        .filter(|entry| entry % 100 != 0)
        .map(Change::remove)
        .collect();
    editor.update(&mut tree, LIST, &changes).unwrap();
    assert_eq!(
        read(&store, 200),
        (0..200).map(|i| i * 100).collect::<Vec<_>>()
    );
    let chunks = chunk_count(&store.tree(POSTINGS_TREE).unwrap().unwrap(), LIST).unwrap();
    assert!(chunks <= 2, "{chunks} chunks for 200 entries");
}

#[test]
fn missing_chunks_are_damage() {
    let (mut editor, mut store) = (ListEditor::default(), MemoryStore::new());
    let mut tree = store.tree_mut(POSTINGS_TREE).unwrap();
    let result = editor.update(&mut tree, LIST, &[Change::add(1)]);
    assert!(matches!(result, Err(IndexError::Damaged(_))));
    editor.build(&mut tree, LIST, &[1, 2, 3]).unwrap();
    tree.put(&chunk_key(LIST, 2), &[0, 1, 0, 0]).unwrap();
    let walked: Result<Vec<EntryId>, IndexError> = open(&store, 4).collect();
    assert!(
        matches!(walked, Err(IndexError::Damaged(_))),
        "chunks overlap"
    );
}

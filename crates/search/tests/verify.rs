//! What is proven: the check of an index finds each kind of contradiction, names where it is, and
//! reports nothing on a sound one; readers and the writer answer damage with an error. How: one
//! mistake at a time is planted in the trees of a sound index.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::atomic::AtomicBool;

use jackdaw_search::{
    Analyzer, Batch, Budget, EntryId, IndexError, IndexRead, IndexReader, IndexWrite, IndexWriter,
    MemoryStore, Term,
};

const ENTRIES: u64 = 2_000;

fn sound() -> MemoryStore {
    let (mut store, mut batch) = (MemoryStore::new(), Batch::new());
    let field = batch.field("A", Analyzer::LowercaseKeyword).unwrap();
    for entry in 0..ENTRIES {
        let mut terms = batch.put(EntryId(entry)).unwrap();
        terms.text(field, &format!("unique {entry}"));
        terms.text(field, if entry % 3 == 0 { "third" } else { "other" });
        if entry % 40 == 0 {
            terms.text(field, "fortieth");
        }
    }
    IndexWriter::new().apply(&mut store, &batch, None).unwrap();
    store
}

/// Damages a sound index and gives what the check says.
fn damages_after(plant: impl FnOnce(&mut MemoryStore)) -> Vec<String> {
    let mut store = sound();
    plant(&mut store);
    let reader = IndexReader::open(&store).unwrap().unwrap();
    reader
        .verify()
        .unwrap()
        .damages
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn put(store: &mut MemoryStore, tree: &str, key: &[u8], value: &[u8]) {
    store.tree_mut(tree).unwrap().put(key, value).unwrap();
}

fn delete(store: &mut MemoryStore, tree: &str, key: &[u8]) {
    assert!(
        store.tree_mut(tree).unwrap().delete(key).unwrap(),
        "the entry is there"
    );
}

const UNIQUE_5: &[u8] = b"\x00\x00\x10unique 5";
const FORTIETH: &[u8] = b"\x00\x00\x10fortieth";
const OTHER: &[u8] = b"\x00\x00\x10other";

#[test]
fn a_sound_index_has_no_damage() {
    assert_eq!(damages_after(|_| {}), [""; 0]);
    let store = sound();
    let report = IndexReader::open(&store)
        .unwrap()
        .unwrap()
        .verify()
        .unwrap();
    assert_eq!((report.entries, report.terms), (ENTRIES, ENTRIES + 3));
    assert_eq!(report.postings, 2 * ENTRIES + 50);
    assert_eq!(
        (report.inline_lists, report.small_lists, report.large_lists),
        (2_000, 2, 3)
    );
}

#[test]
fn lists_and_records_that_differ_are_found() {
    let differ = "lists and forward records of a field differ";
    let found = damages_after(|store| delete(store, "terms", UNIQUE_5));
    assert!(
        found.iter().any(|damage| damage.contains(differ)),
        "{found:?}"
    );
    assert!(
        found.iter().any(|damage| damage.contains("count of terms")),
        "{found:?}"
    );
    let found = damages_after(|store| put(store, "terms", UNIQUE_5, &[0, 6]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains(differ), "{found:?}");
    let found = damages_after(|store| delete(store, "forward", &7_u64.to_be_bytes()));
    for what in [
        differ,
        "the list of all entries",
        "count of entries",
        "have a field",
    ] {
        assert!(
            found.iter().any(|damage| damage.contains(what)),
            "{what}: {found:?}"
        );
    }
}

#[test]
fn wrong_counts_and_chunks_are_found() {
    let found = damages_after(|store| put(store, "terms", OTHER, &[2, 1, 0]));
    assert!(
        found.iter().any(|d| d.contains("the count its term says")),
        "{found:?}"
    );
    let found = damages_after(|store| delete(store, "terms", OTHER));
    assert!(
        found.iter().any(|d| d.contains("chunks belong to no term")),
        "{found:?}"
    );
    let found = damages_after(|store| {
        let key = [0; 16];
        delete(store, "postings", &key);
    });
    assert!(
        found.iter().any(|d| d.contains("tree \"terms\"")),
        "{found:?}"
    );
}

#[test]
fn malformed_bytes_are_found_and_the_check_goes_on() {
    for (tree, key, value) in [
        ("terms", UNIQUE_5, &[9, 9][..]),
        ("terms", UNIQUE_5, &[]),
        ("terms", FORTIETH, &[1, 0, 1, 50]),
        ("terms", b"\x00", &[0, 1]),
        ("terms", b"\x00\x07\x10x", &[0, 1]),
        ("forward", &[0; 8], &[5]),
        ("forward", &[0; 8], &[0, 3, 1, 8]),
        ("forward", b"short", &[0]),
    ] {
        let found = damages_after(|store| put(store, tree, key, value));
        let place = format!("tree {tree:?}, key {}", key.escape_ascii());
        assert!(
            found.iter().any(|damage| damage.contains(&place)),
            "{place}: {found:?}"
        );
    }
}

#[test]
fn readers_and_the_writer_refuse_damage() {
    let mut store = sound();
    put(&mut store, "terms", FORTIETH, &[1, 0, 1, 50]);
    put(&mut store, "forward", &40_u64.to_be_bytes(), &[5]);
    let reader = IndexReader::open(&store).unwrap().unwrap();
    let field = reader.field("A").unwrap();
    let damaged = |result: Result<(), IndexError>| {
        assert!(matches!(result, Err(IndexError::Damaged(_))), "{result:?}");
    };
    damaged(reader.term(field, Term::Text("fortieth")).map(drop));
    damaged(
        reader
            .prefix(field, "for", &mut Budget::unlimited())
            .map(drop),
    );
    damaged(reader.entry_terms(EntryId(40)).map(drop));
    let mut batch = Batch::new();
    batch.delete(EntryId(40)).unwrap();
    damaged(IndexWriter::new().apply(&mut store, &batch, None).map(drop));
    let mut batch = Batch::new();
    batch.delete(EntryId(80)).unwrap();
    damaged(IndexWriter::new().apply(&mut store, &batch, None).map(drop));
}

#[test]
fn indexes_of_other_versions_are_refused() {
    for version in [1, 6] {
        let mut store = sound();
        let header = [&[version, 0][..], &[0; 46]].concat();
        put(&mut store, "index", &[0], &header);
        let Err(IndexError::Version { found, supported }) = IndexReader::open(&store).map(drop)
        else {
            panic!("an index of version {version} is read");
        };
        assert_eq!((found, supported), (u16::from(version), 5));
    }
}

#[test]
fn indexes_of_older_formats_are_read_and_not_written() {
    for version in [2, 3, 4] {
        let mut store = sound();
        let tree = store.tree("index").unwrap().unwrap();
        let mut header = tree.get(&[0]).unwrap().unwrap().to_vec();
        header[0] = version;
        put(&mut store, "index", &[0], &header);
        let reader = IndexReader::open(&store).unwrap().unwrap();
        assert!(reader.is_outdated());
        assert!(reader.entry_count() > 0);
        drop(reader);
        let mut batch = Batch::new();
        batch.delete(EntryId(40)).unwrap();
        let refused = IndexWriter::new().apply(&mut store, &batch, None);
        assert!(matches!(refused, Err(IndexError::Version { .. })));
    }
}

#[test]
fn walks_end_with_their_budget() {
    let store = sound();
    let reader = IndexReader::open(&store).unwrap().unwrap();
    let field = reader.field("A").unwrap();
    let spent = reader
        .prefix(field, "unique", &mut Budget::new(100))
        .map(drop);
    assert!(matches!(spent, Err(IndexError::WalkLimit { visited: 100 })));
    let flag = AtomicBool::new(true);
    let mut budget = Budget::unlimited().interrupted_by(&flag);
    let stopped = reader.contains(field, "7", &mut budget).map(drop);
    assert!(matches!(stopped, Err(IndexError::Interrupted)));
}

#[test]
fn a_field_keeps_its_analyzer_across_batches() {
    let mut store = sound();
    let mut batch = Batch::new();
    batch.field("A", Analyzer::Keyword).unwrap();
    let refused = IndexWriter::new().apply(&mut store, &batch, None);
    assert!(matches!(refused, Err(IndexError::AnalyzerDiffers { .. })));
}

//! Ranks of counted trees against counting in a map, and what trees without counts answer.
//!
//! `model` compares ranks after each of its random operations; here are the cases it may miss.

use super::*;
use crate::error::StorageError;
use crate::page::{PageNumber, PageWrite};

/// Compares ranks near two keys, and the entries at these ranks, with those of `model`.
pub(super) fn assert_ranks(
    tree: &Tree<'_, MemoryPages>,
    model: &BTreeMap<Vec<u8>, Vec<u8>>,
    one: &[u8],
    other: &[u8],
) {
    let (low, high) = (one.min(other), one.max(other));
    let before = |key: &[u8]| model.range(..key.to_vec()).count() as u64;
    let holds = |key: &[u8]| u64::from(model.contains_key(key));
    let (rank, end) = (before(low), before(high));
    assert_eq!(tree.rank(low).unwrap(), rank);
    assert_eq!(tree.count(low..high).unwrap(), end - rank);
    assert_eq!(tree.count(low..=high).unwrap(), end + holds(high) - rank);
    assert_eq!(tree.count(..=low).unwrap(), rank + holds(low));
    assert_eq!(tree.count(high..).unwrap(), model.len() as u64 - end);
    if low < high {
        assert_eq!(tree.count(high..low).unwrap(), 0);
    }
    let entry = model.range(high.to_vec()..).next();
    let found = tree.select(end).unwrap();
    let found = found.map(|(key, value)| (key.to_vec(), value.to_vec()));
    assert_eq!(found.as_ref().map(|(key, value)| (key, value)), entry);
}

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// A counted tree of `count` even numbers, put one by one.
fn even_numbers(count: u64) -> Fixture {
    let mut fixture = Fixture::over(TreeRoot::empty_counted());
    let mut tree = fixture.tree_mut();
    for n in 0..count {
        assert!(!tree.put(&key(2 * n), &[1; 200]).unwrap());
    }
    fixture
}

#[test]
fn ranks_are_exact_over_several_levels() {
    let fixture = even_numbers(40_000);
    assert_eq!(fixture.verify().depth, 3);
    let tree = fixture.tree();
    for n in (0..40_000).step_by(397) {
        assert_eq!(tree.rank(&key(2 * n)).unwrap(), n);
        assert_eq!(tree.rank(&key(2 * n + 1)).unwrap(), n + 1);
        let (found, _) = tree.select(n).unwrap().unwrap();
        assert_eq!(found.to_vec(), key(2 * n));
    }
    assert_eq!(tree.rank(&[]).unwrap(), 0);
    assert_eq!(tree.rank(&[255; 9]).unwrap(), 40_000);
    assert!(tree.select(40_000).unwrap().is_none());
    assert!(tree.select(u64::MAX).unwrap().is_none());
}

#[test]
fn a_cursor_goes_on_from_a_rank() {
    let fixture = even_numbers(5_000);
    let tree = fixture.tree();
    let mut cursor = tree.cursor();
    assert!(cursor.seek_rank(4_000).unwrap());
    for n in 4_000..5_000 {
        assert_eq!(cursor.key(), Some(&key(2 * n)[..]));
        assert_eq!(cursor.next().unwrap(), n < 4_999);
    }
    assert!(cursor.seek_rank(1).unwrap());
    assert!(cursor.prev().unwrap());
    assert_eq!(cursor.key(), Some(&key(0)[..]));
    assert!(!cursor.seek_rank(5_000).unwrap());
    assert_eq!(cursor.key(), None);
}

#[test]
fn interleaved_sequences_count_in_cached_leaves() {
    // Each sequence keeps its leaf in the cache while the others split pages beside it.
    let mut fixture = Fixture::over(TreeRoot::empty_counted());
    let mut tree = fixture.tree_mut();
    for n in 0..3_000 {
        for sequence in 0..6 {
            tree.put(&key(sequence << 32 | n), &[7; 90]).unwrap();
        }
    }
    for n in (0..3_000).step_by(3) {
        for sequence in 0..6 {
            assert!(tree.delete(&key(sequence << 32 | n)).unwrap());
        }
    }
    fixture.verify();
    for sequence in 0..6 {
        let rank = fixture.tree().rank(&key(sequence << 32)).unwrap();
        assert_eq!(rank, 2_000 * sequence);
    }
}

#[test]
fn sorted_batches_and_ranges_keep_counts() {
    let mut fixture = Fixture::over(TreeRoot::empty_counted());
    let mut tree = fixture.tree_mut();
    let entries = (0..60_000).map(|n| (key(n), [1; 40]));
    assert_eq!(tree.put_sorted(entries).unwrap(), 60_000);
    let again = (0..60_000).step_by(2).map(|n| (key(n), [2; 90]));
    assert_eq!(tree.put_sorted(again).unwrap(), 0);
    let thirds = (0..60_000).step_by(3).map(key);
    assert_eq!(tree.delete_sorted(thirds).unwrap(), 20_000);
    let (low, high) = (key(6_001), key(54_001));
    assert_eq!(tree.delete_range(&low[..]..&high[..]).unwrap(), 32_000);
    fixture.verify();
    let tree = fixture.tree();
    assert_eq!(tree.len(), 8_000);
    assert_eq!(
        tree.count(&key(3_000)[..]..&key(57_000)[..]).unwrap(),
        4_000
    );
}

#[test]
fn a_tree_without_counts_tells_no_ranks() {
    let mut fixture = Fixture::new();
    fixture.tree_mut().put(b"a", b"1").unwrap();
    let tree = fixture.tree();
    let refused = |error| matches!(error, StorageError::NotCounted);
    assert!(tree.rank(b"a").is_err_and(refused));
    assert!(tree.count(..).is_err_and(refused));
    assert!(tree.select(0).is_err_and(refused));
    assert!(tree.cursor().seek_rank(0).is_err_and(refused));
}

#[test]
fn an_empty_counted_tree_has_no_ranks() {
    let fixture = Fixture::over(TreeRoot::empty_counted());
    let tree = fixture.tree();
    assert_eq!(tree.rank(b"a").unwrap(), 0);
    assert_eq!(tree.count(..).unwrap(), 0);
    assert!(tree.select(0).unwrap().is_none());
}

#[test]
fn verification_finds_a_count_that_is_off_by_one() {
    let mut fixture = even_numbers(5_000);
    let root = fixture.state.root.root_page().unwrap();
    shift_count(&mut fixture, root, 3);
    let error = fixture.tree().verify().unwrap_err();
    assert!(
        error.to_string().contains("entries below a child"),
        "{error}"
    );
}

#[test]
fn counts_that_promise_too_much_are_damage() {
    let mut fixture = even_numbers(5_000);
    let root = fixture.state.root.root_page().unwrap();
    for _ in 0..3_000 {
        shift_count(&mut fixture, root, 0);
    }
    let tree = fixture.tree();
    // Ranks that the first child cannot have.
    let error = tree.select(3_000).err().unwrap();
    assert!(error.to_string().contains("page"), "{error}");
    assert!(tree.rank(&key(9_000)).unwrap() > 5_000);
}

/// Makes a count of a branch one more than it is.
fn shift_count(fixture: &mut Fixture, branch: PageNumber, slot: usize) {
    use crate::page::counts::{CountChange, change_child_entries};
    let page = fixture.pages.page_mut(branch).unwrap();
    change_child_entries(page, slot, CountChange::More(1)).unwrap();
}

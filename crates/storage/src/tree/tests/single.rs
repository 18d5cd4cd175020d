//! Single facts of trees.

use super::*;
use crate::error::StorageError;
use crate::page::{INLINE_VALUE_BYTES_MAX, KEY_BYTES_MAX};
use crate::tree::VALUE_BYTES_MAX;

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

fn filled(count: u64) -> Fixture {
    let mut fixture = Fixture::new();
    let mut tree = fixture.tree_mut();
    for n in 0..count {
        assert!(!tree.put(&key(n), &n.to_le_bytes()).unwrap());
    }
    fixture
}

#[test]
fn empty_tree_has_no_pages() {
    let fixture = Fixture::new();
    let tree = fixture.tree();
    assert!(tree.is_empty() && tree.get(b"a").unwrap().is_none());
    assert!(tree.first().unwrap().is_none() && tree.last().unwrap().is_none());
    assert_eq!(tree.iter().unwrap().count(), 0);
    assert!(!tree.cursor().seek(b"").unwrap());
    assert_eq!(fixture.verify(), TreeReport::default());
}

#[test]
fn put_replaces_and_says_so() {
    let mut fixture = Fixture::new();
    let mut tree = fixture.tree_mut();
    assert!(!tree.put(b"a", b"1").unwrap());
    assert!(tree.put(b"a", b"2").unwrap());
    assert!(tree.put(b"a", b"longer").unwrap());
    assert_eq!(tree.get(b"a").unwrap(), Some(&b"longer"[..]));
    assert_eq!(tree.len(), 1);
    assert!(tree.delete(b"a").unwrap());
    assert!(!tree.delete(b"a").unwrap());
    assert!(tree.is_empty());
    assert_eq!(fixture.pages.page_count(), 0);
}

#[test]
fn empty_keys_and_values_are_entries() {
    let mut fixture = Fixture::new();
    let mut tree = fixture.tree_mut();
    for key in [&b"\0\0"[..], b"", b"\0", b"a\0", b"a"] {
        tree.put(key, b"").unwrap();
    }
    let keys: Vec<_> = tree
        .as_tree()
        .iter()
        .unwrap()
        .map(|e| e.unwrap().0.to_vec())
        .collect();
    assert_eq!(keys, [&b""[..], b"\0", b"\0\0", b"a", b"a\0"]);
    assert_eq!(tree.get(b"").unwrap(), Some(&b""[..]));
    fixture.verify();
}

#[test]
fn values_of_all_lengths_come_back() {
    let lengths = [
        0, 1, 2, 127, 128, 3899, 3900, 3901, 4056, 4057, 8160, 8161, 100_000,
    ];
    for key_len in [1, 8, 156, 157, KEY_BYTES_MAX] {
        let mut fixture = Fixture::new();
        for (n, &old) in lengths.iter().enumerate() {
            for (m, &new) in lengths.iter().enumerate() {
                let mut key = vec![b'k'; key_len];
                key[0] = u8::try_from(n * lengths.len() + m).unwrap();
                let mut tree = fixture.tree_mut();
                tree.put(&key, &vec![1; old]).unwrap();
                assert!(tree.put(&key, &vec![2; new]).unwrap());
                assert_eq!(tree.get(&key).unwrap(), Some(vec![2; new].as_slice()));
            }
        }
        let report = fixture.verify();
        assert_eq!(report.entries, (lengths.len() * lengths.len()) as u64);
        fixture.tree_mut().clear().unwrap();
        assert_eq!(fixture.pages.page_count(), 0);
        assert_eq!(fixture.state.root, TreeRoot::empty());
    }
}

#[test]
fn limits_are_errors_and_change_nothing() {
    let mut fixture = Fixture::new();
    let mut tree = fixture.tree_mut();
    let long = vec![0; KEY_BYTES_MAX + 1];
    assert!(matches!(
        tree.put(&long, b""),
        Err(StorageError::KeyTooLong { .. })
    ));
    assert!(matches!(
        tree.put_sorted([(&long, b"")]),
        Err(StorageError::KeyTooLong { .. })
    ));
    let too_long = tree.put_with(b"a", VALUE_BYTES_MAX + 1, |_| {});
    assert!(matches!(too_long, Err(StorageError::ValueTooLong { .. })));
    assert!(tree.is_empty());
    tree.put(b"a", b"").unwrap();
    assert_eq!(tree.get(&long).unwrap(), None);
    assert!(!tree.delete(&long).unwrap());
    fixture.verify();
}

#[test]
fn largest_entries_share_a_leaf_whatever_their_prefix() {
    for (key_len, value_len) in [(156, INLINE_VALUE_BYTES_MAX), (KEY_BYTES_MAX, 3032)] {
        for shared in [0, 1, 5, 6, 7, 8, key_len - 1] {
            let mut fixture = Fixture::new();
            let mut tree = fixture.tree_mut();
            for n in 0..2 {
                let mut key = vec![b'a'; key_len];
                key[shared..].fill(n);
                tree.put(&key, &vec![n; value_len]).unwrap();
            }
            assert_eq!(fixture.verify().pages(), 1, "{key_len} {shared}");
        }
    }
}

#[test]
fn ascending_inserts_fill_pages() {
    let report = filled(100_000).verify();
    let fill = report.leaf_bytes * 100 / (report.leaf_pages * 8128);
    assert!(fill >= 97, "{fill} % of {} leaves", report.leaf_pages);
}

#[test]
fn ascending_inserts_in_the_middle_fill_pages() {
    let mut fixture = Fixture::new();
    let mut tree = fixture.tree_mut();
    for n in 0..5_000 {
        for (sequence, prefix) in [b"a", b"b", b"c"].iter().enumerate() {
            let key = [&prefix[..], &key(n * 3 + sequence as u64)].concat();
            tree.put(&key, &[7; 40]).unwrap();
        }
    }
    let report = fixture.verify();
    let fill = report.leaf_bytes * 100 / (report.leaf_pages * 8128);
    assert!(fill >= 90, "{fill} % of {} leaves", report.leaf_pages);
}

#[test]
fn random_inserts_fill_two_thirds() {
    let mut fixture = Fixture::new();
    let mut random = Random::announced(5);
    let mut tree = fixture.tree_mut();
    for _ in 0..50_000 {
        let value = [3; 40];
        tree.put(&random.next().to_be_bytes(), &value[..random.below(40)])
            .unwrap();
    }
    let report = fixture.verify();
    let fill = report.leaf_bytes * 100 / (report.leaf_pages * 8128);
    assert!(
        (64..75).contains(&fill),
        "{fill} % of {} leaves",
        report.leaf_pages
    );
    assert!(report.dead_bytes < report.leaf_bytes / 5);
}

#[test]
fn an_insert_changes_few_bytes() {
    let mut fixture = filled(200);
    let before = *fixture.pages.pages().next().unwrap().1;
    fixture
        .tree_mut()
        .put(&[key(100).as_slice(), b"x"].concat(), b"12345678")
        .unwrap();
    let after = fixture.pages.pages().next().unwrap().1;
    let words = before.bytes().chunks(8).zip(after.bytes().chunks(8));
    let changed = words.filter(|(before, after)| before != after).count();
    assert!(changed <= 100 + 6, "{changed} words");
}

#[test]
fn equal_length_values_change_in_place() {
    let mut fixture = filled(200);
    let before = *fixture.pages.pages().next().unwrap().1;
    fixture.tree_mut().put(&key(100), b"12345678").unwrap();
    let after = fixture.pages.pages().next().unwrap().1;
    let changed = before
        .bytes()
        .iter()
        .zip(after.bytes())
        .filter(|(a, b)| a != b)
        .count();
    assert!(changed <= 8, "{changed} bytes");
}

#[test]
fn ranges_respect_their_bounds() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let fixture = filled(2_000);
    let tree = fixture.tree();
    for (low, high) in [
        (0, 0),
        (0, 2_000),
        (5, 4),
        (417, 418),
        (3, 1_999),
        (600, 1_200),
    ] {
        let (low_key, high_key) = (key(low), key(high));
        let all = 0..2_000_u64;
        for start in [Included(&low_key[..]), Excluded(&low_key[..]), Unbounded] {
            for end in [Included(&high_key[..]), Excluded(&high_key[..]), Unbounded] {
                let is_inside = |n: &u64| {
                    let key = key(*n);
                    (match start {
                        Included(low) => low <= &key[..],
                        Excluded(low) => low < &key[..],
                        Unbounded => true,
                    }) && match end {
                        Included(high) => &key[..] <= high,
                        Excluded(high) => &key[..] < high,
                        Unbounded => true,
                    }
                };
                let expected: Vec<u64> = all.clone().filter(is_inside).collect();
                let number = |v: &[u8]| u64::from_le_bytes(v.try_into().unwrap());
                let range = || {
                    tree.range((start, end))
                        .unwrap()
                        .map(|e| number(e.unwrap().1))
                };
                assert!(range().eq(expected.iter().copied()), "{start:?} {end:?}");
                assert!(
                    range().rev().eq(expected.iter().rev().copied()),
                    "{start:?} {end:?}"
                );
                let mut both = range();
                let mut count = 0;
                while both.next().is_some() {
                    count += 1 + usize::from(both.next_back().is_some());
                }
                assert_eq!(count, expected.len());
            }
        }
    }
}

#[test]
fn prefixes_find_their_keys() {
    let mut fixture = Fixture::new();
    let mut tree = fixture.tree_mut();
    let keys: [&[u8]; 7] = [
        b"users/1",
        b"users/10",
        b"users/2",
        b"user",
        b"\xff\xff",
        b"\xff",
        b"\xff\xff\x01",
    ];
    for key in keys {
        tree.put(key, b"").unwrap();
    }
    let count = |prefix: &[u8]| fixture.tree().prefix(prefix).unwrap().count();
    assert_eq!(
        [
            b"users/1",
            &b"users/"[..],
            b"user",
            b"v",
            b"\xff",
            b"\xff\xff",
            b""
        ]
        .map(count),
        [2, 3, 4, 0, 3, 2, 7]
    );
}

#[test]
fn cursors_move_both_ways() {
    let fixture = filled(3_000);
    let mut cursor = fixture.tree().cursor();
    assert!(cursor.key().is_none() && cursor.value().unwrap().is_none());
    assert!(
        cursor
            .seek(&[key(1_499).as_slice(), b"x"].concat())
            .unwrap()
    );
    assert_eq!(cursor.key(), Some(&key(1_500)[..]));
    for n in 1_501..3_000 {
        assert!(cursor.next().unwrap());
        assert_eq!(cursor.key(), Some(&key(n)[..]));
    }
    assert!(!cursor.next().unwrap() && cursor.key().is_none());
    assert!(cursor.seek_last().unwrap());
    for n in (0..2_999).rev() {
        assert!(cursor.prev().unwrap());
        assert_eq!(cursor.key(), Some(&key(n)[..]));
        assert_eq!(cursor.value().unwrap(), Some(&n.to_le_bytes()[..]));
    }
    assert!(!cursor.prev().unwrap());
    assert!(!cursor.seek(&key(3_000)).unwrap());
    assert!(cursor.seek_first().unwrap());
    assert_eq!(cursor.key(), Some(&key(0)[..]));
}

#[test]
fn long_values_are_rewritten_in_their_run() {
    let mut fixture = Fixture::new();
    let mut tree = fixture.tree_mut();
    tree.put(b"a", &[1; 20_000]).unwrap();
    let places = |fixture: &Fixture| fixture.pages.page_count();
    let before = places(&fixture);
    assert!(fixture.tree_mut().put(b"a", &[2; 20_500]).unwrap());
    assert_eq!(places(&fixture), before);
    assert_eq!(fixture.tree().get(b"a").unwrap(), Some(&[2; 20_500][..]));
    assert_eq!(fixture.verify().overflow_pages, 3);
}

#[test]
fn deletes_give_pages_back() {
    let mut fixture = filled(20_000);
    let pages = fixture.verify().pages();
    let mut tree = fixture.tree_mut();
    for n in 0..20_000 {
        if n % 10 != 0 {
            assert!(tree.delete(&key(n)).unwrap());
        }
    }
    let report = fixture.verify();
    assert!(
        report.pages() * 4 < pages,
        "{} of {pages} pages left",
        report.pages()
    );
    let mut tree = fixture.tree_mut();
    for n in (0..2_000).rev().map(|n| n * 10) {
        assert!(tree.delete(&key(n)).unwrap());
    }
    assert_eq!(fixture.pages.page_count(), 0);
    assert_eq!(fixture.state.root, TreeRoot::empty());
}

#[test]
fn sorted_batches_equal_single_operations() {
    let mut single = Fixture::new();
    let mut batch = Fixture::new();
    let entries: Vec<_> = (0..10_000_u64)
        .map(|n| (key(n * 3), vec![1; n.to_le_bytes()[0].into()]))
        .collect();
    assert_eq!(
        batch.tree_mut().put_sorted(entries.clone()).unwrap(),
        10_000
    );
    for (key, value) in &entries {
        single.tree_mut().put(key, value).unwrap();
    }
    assert_eq!(single.verify(), batch.verify());
    assert_eq!(
        batch
            .tree_mut()
            .put_sorted(entries.iter().step_by(7).cloned())
            .unwrap(),
        0
    );
    let sparse: Vec<_> = (0..30_000_u64).step_by(50).map(key).collect();
    let expected = sparse
        .iter()
        .filter(|key| single.tree().contains(&key[..]).unwrap())
        .count();
    assert_eq!(
        batch.tree_mut().delete_sorted(&sparse).unwrap(),
        expected as u64
    );
    for key in &sparse {
        single.tree_mut().delete(key).unwrap();
    }
    let content = |fixture: &Fixture| -> Vec<_> {
        let entries = fixture.tree().iter().unwrap();
        entries
            .map(|e| e.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap())
            .collect()
    };
    assert_eq!(content(&single), content(&batch));
    let all: Vec<_> = (0..30_000_u64).map(key).collect();
    assert_eq!(
        batch.tree_mut().delete_sorted(&all).unwrap(),
        10_000 - expected as u64
    );
    assert_eq!(batch.pages.page_count(), 0);
}

#[test]
fn damaged_trees_are_errors() {
    use crate::page::{PageRead, PageWrite};
    let mut fixture = filled(5_000);
    let root = fixture.state.root.root_page().unwrap();
    let numbers: Vec<_> = fixture
        .pages
        .pages()
        .map(|(n, _)| n)
        .filter(|&n| n != root)
        .collect();
    for number in numbers {
        let saved = *fixture.pages.page(number).unwrap();
        *fixture.pages.page_mut(number).unwrap() = *fixture.pages.page(root).unwrap();
        assert!(fixture.tree().verify().is_err());
        let walk = fixture
            .tree()
            .iter()
            .and_then(|mut entries| entries.try_for_each(|e| e.map(drop)));
        assert!(matches!(walk, Err(StorageError::Corrupt(_))));
        *fixture.pages.page_mut(number).unwrap() = saved;
    }
    fixture.verify();
}

#[test]
fn verify_names_what_is_wrong() {
    use crate::error::DamageKind;
    use crate::page::{PageRead, PageWrite};
    let damage_of = |fixture: &Fixture| match fixture.tree().verify() {
        Err(StorageError::Corrupt(damage)) => damage.what,
        other => panic!("{other:?}"),
    };
    // Two leaves in each other's place, each sound by itself.
    let mut fixture = filled(5_000);
    let (a, b) = (crate::PageNumber(1), crate::PageNumber(2));
    let (mut left, mut right) = (
        *fixture.pages.page(a).unwrap(),
        *fixture.pages.page(b).unwrap(),
    );
    left.header_mut().page_number = b.0.into();
    right.header_mut().page_number = a.0.into();
    *fixture.pages.page_mut(a).unwrap() = right;
    assert!(matches!(damage_of(&fixture), DamageKind::KeyOrder { .. }));
    *fixture.pages.page_mut(a).unwrap() = left;
    assert_eq!(
        damage_of(&fixture),
        DamageKind::PageNumber {
            expected: 1,
            actual: 2
        }
    );
    // A count that lost one.
    let mut fixture = filled(5_000);
    fixture.state.root.remove_entries(1);
    assert!(matches!(
        damage_of(&fixture),
        DamageKind::Count {
            expected: 4_999,
            ..
        }
    ));
    let mut fixture = filled(5_000);
    fixture.state.root.remove_pages(1);
    assert!(matches!(damage_of(&fixture), DamageKind::Count { .. }));
    // A long value whose run says another length.
    let mut fixture = Fixture::new();
    fixture.tree_mut().put(b"long", &[1; 9_000]).unwrap();
    let run = fixture.pages.run_mut(crate::PageNumber(1), 2).unwrap();
    run[26] ^= 1;
    assert!(matches!(
        damage_of(&fixture),
        DamageKind::Count {
            expected: 9_000,
            ..
        }
    ));
    assert!(fixture.tree().get(b"long").is_err());
}

//! What is proven: sets behave as `BTreeSet` of numbers does. How: random sets of several
//! densities through every operation, compared entry by entry, counts and forms included.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::EntryId;

fn to_set(entries: &BTreeSet<u64>) -> EntrySet {
    EntrySet::from_ascending(entries.iter().map(|&entry| EntryId(entry)))
}

fn to_tree(set: &EntrySet) -> BTreeSet<u64> {
    set.iter().map(|entry| entry.0).collect()
}

/// Sparse numbers, dense stretches and whole windows.
fn entries() -> impl Strategy<Value = BTreeSet<u64>> {
    let piece = prop_oneof![
        3 => prop::collection::vec(0..60_000_u64, 0..40),
        2 => (0..60_000_u64, 1..9_000_u64).prop_map(|(start, len)| (start..start + len).collect()),
        2 => (0..60_000_u64, 1..3_000_u64, 2..7_u64)
            .prop_map(|(start, len, step)| (start..start + len * step)
                .step_by(usize::try_from(step).unwrap()).collect()),
        1 => prop::collection::vec(any::<u64>().prop_map(|entry| entry >> 8), 0..5),
    ];
    prop::collection::vec(piece, 0..4)
        .prop_map(|pieces: Vec<Vec<u64>>| pieces.into_iter().flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn algebra_is_that_of_plain_sets(a in entries(), b in entries()) {
        let (left, right) = (to_set(&a), to_set(&b));
        prop_assert_eq!(left.len(), a.len() as u64);
        let both: BTreeSet<u64> = a.intersection(&b).copied().collect();
        let either: BTreeSet<u64> = a.union(&b).copied().collect();
        let rest: BTreeSet<u64> = a.difference(&b).copied().collect();
        for (result, expected) in [
            (left.and(&right), &both),
            (right.and(&left), &both),
            (left.or(&right), &either),
            (left.and_not(&right), &rest),
        ] {
            prop_assert_eq!(&to_tree(&result), expected);
            prop_assert_eq!(result.len(), expected.len() as u64);
            // Equal entries have equal windows, whatever operation made them.
            prop_assert!(result == to_set(expected));
        }
    }

    #[test]
    fn look_ups_and_skips_agree(a in entries(), probe in 0..70_000_u64, skip in 0..12_000_usize) {
        let set = to_set(&a);
        prop_assert_eq!(set.contains(EntryId(probe)), a.contains(&probe));
        let near = probe..probe + 200;
        let asked: Vec<u64> = near.chain(a.iter().copied()).chain([probe]).collect();
        let expected = asked.iter().filter(|entry| a.contains(entry)).count() as u64;
        prop_assert_eq!(set.probe().count(&asked), expected);
        prop_assert_eq!(set.first().map(|entry| entry.0), a.first().copied());
        prop_assert_eq!(set.last().map(|entry| entry.0), a.last().copied());
        let from: Vec<u64> = set.iter_from(EntryId(probe)).map(|entry| entry.0).collect();
        prop_assert_eq!(from, a.range(probe..).copied().collect::<Vec<_>>());
        let skipped = set.iter().skip_entries(skip as u64);
        prop_assert_eq!(skipped.size_hint().0, a.len().saturating_sub(skip));
        let rest: Vec<u64> = skipped.map(|entry| entry.0).collect();
        prop_assert_eq!(rest, a.iter().skip(skip).copied().collect::<Vec<_>>());
    }

    #[test]
    fn unions_come_from_any_order(
        lists in prop::collection::vec(entries(), 0..4), last in 0..80_000_u64,
    ) {
        let mut builder = SetBuilder::new(EntryId(last));
        let mut expected = BTreeSet::new();
        for list in &lists {
            for &entry in list.iter().rev() {
                builder.add(EntryId(entry));
            }
            expected.extend(list);
        }
        prop_assert!(builder.finish() == to_set(&expected));
    }
}

#[test]
fn large_unions_switch_to_bit_maps() {
    let mut builder = SetBuilder::new(EntryId(100_000));
    let mut expected = BTreeSet::new();
    let mut state = 12_345_u64;
    for _ in 0..40_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        builder.add(EntryId(state >> 47));
        expected.insert(state >> 47);
    }
    assert_eq!(to_tree(&builder.finish()), expected);
}

#[test]
fn a_full_set_costs_only_its_windows() {
    let set = EntrySet::from_ascending((0..1_000 * 4_096).map(EntryId));
    assert_eq!(set.len(), 4_096_000);
    assert!(set.len_bytes() < 64 * 1024, "{} bytes", set.len_bytes());
}

#[test]
#[should_panic(expected = "must ascend")]
fn descending_entries_are_refused() {
    let _ = EntrySet::from_ascending([EntryId(2), EntryId(1)]);
}

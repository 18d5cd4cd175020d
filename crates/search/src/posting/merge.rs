//! Merging a batch of changes into the entries of one list.
//!
//! Called by the writer for every term a batch touches.
//!
//! Invariants:
//! - Existing entries and changes ascend; a change appears once for an entry.
//! - An entry is only added where it is absent and removed where it is present: the writer knows
//!   from forward records what is there, so anything else is damage.
//!
//! Threads: pure functions.

use super::chunk::Malformed;

/// One entry to add to or remove from a list: the entry above the flag, so that changes order by
/// entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change(u64);

impl Change {
    pub(crate) fn add(entry: u64) -> Change {
        Change(entry << 1)
    }

    pub(crate) fn remove(entry: u64) -> Change {
        Change(entry << 1 | 1)
    }

    pub(crate) fn entry(self) -> u64 {
        self.0 >> 1
    }

    pub(crate) fn is_removal(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Appends to `out` what `existing` becomes.
pub(crate) fn merge(
    existing: &[u64],
    changes: &[Change],
    out: &mut Vec<u64>,
) -> Result<(), Malformed> {
    let mut rest = existing;
    for &change in changes {
        // Lists mostly grow at their end, so look there before searching.
        let below = match rest.last() {
            Some(&last) if last < change.entry() => rest.len(),
            _ => rest.partition_point(|&entry| entry < change.entry()),
        };
        let (kept, others) = rest.split_at(below);
        out.extend_from_slice(kept);
        let present = others.first() == Some(&change.entry());
        match (change.is_removal(), present) {
            (false, false) => {
                out.push(change.entry());
                rest = others;
            }
            (true, true) => rest = &others[1..],
            (false, true) => return Err(Malformed("a list already holds an entry that is new")),
            (true, false) => return Err(Malformed("a list lacks an entry that is to be removed")),
        }
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// The count after `changes`, given the count before; `None` when more is removed than there is.
pub(crate) fn count_after(count: u64, changes: &[Change]) -> Option<u64> {
    let removed = changes.iter().filter(|change| change.is_removal()).count() as u64;
    (count + changes.len() as u64 - removed).checked_sub(removed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn merging_is_set_difference_and_union(
            before in prop::collection::btree_set(0..500_u64, 0..200),
            toggled in prop::collection::btree_set(0..600_u64, 0..100),
        ) {
            let existing: Vec<u64> = before.iter().copied().collect();
            let changes: Vec<Change> = toggled
                .iter()
                .map(|&entry| match before.contains(&entry) {
                    true => Change::remove(entry),
                    false => Change::add(entry),
                })
                .collect();
            let expected: BTreeSet<u64> = before.symmetric_difference(&toggled).copied().collect();
            let mut out = Vec::new();
            merge(&existing, &changes, &mut out).unwrap();
            prop_assert_eq!(count_after(existing.len() as u64, &changes), Some(out.len() as u64));
            prop_assert_eq!(out, expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn changes_that_contradict_the_list_are_damage() {
        let mut out = Vec::new();
        assert!(merge(&[1, 3], &[Change::add(3)], &mut out).is_err());
        assert!(merge(&[1, 3], &[Change::remove(2)], &mut out).is_err());
        assert!(merge(&[1, 3], &[Change::remove(4)], &mut out).is_err());
        assert_eq!(
            count_after(1, &[Change::remove(1), Change::remove(2)]),
            None
        );
    }
}

//! Bound of a chunk: from which no entry in it can get a better score, whatever the average length
//! of texts is at the time of a query.
//!
//! Written with each chunk that is long enough, read when entries are ranked.
//!
//! Invariants:
//! - For every entry of the chunk there is a pair with at least its frequency and at most its norm:
//!   a score grows with the one and falls with the other.
//!
//! Threads: pure functions over borrowed bytes.

use jackdaw_base::varint;

use crate::posting::Malformed;

/// Most pairs. More are rarely there, and what two of them say together is hardly worse.
const PAIRS_MAX: usize = 4;

/// A frequency and a norm that need not be of one entry.
type Pair = (u32, u8);

/// Appends the pairs that no entry surpasses.
pub(super) fn write_bound(items: impl Iterator<Item = Pair>, out: &mut Vec<u8>) {
    let mut pairs: Vec<Pair> = Vec::with_capacity(PAIRS_MAX);
    for (frequency, norm) in items {
        let is_known = |pair: &Pair| pair.0 >= frequency && pair.1 <= norm;
        if !pairs.iter().any(is_known) {
            pairs.retain(|pair| pair.0 > frequency || pair.1 < norm);
            pairs.push((frequency, norm));
        }
    }
    // Frequencies ascend with norms now, as no pair surpasses another.
    pairs.sort_unstable_by_key(|pair| pair.1);
    while pairs.len() > PAIRS_MAX {
        let gap = |at: &usize| pairs[at + 1].1 - pairs[*at].1;
        let nearest = (0..pairs.len() - 1).min_by_key(gap).unwrap_or(0);
        let (frequency, _) = pairs.remove(nearest + 1);
        pairs[nearest].0 = frequency;
    }
    out.push(u8::try_from(pairs.len()).unwrap_or(0));
    for (frequency, norm) in pairs {
        varint::encode(u64::from(frequency), out);
        out.push(norm);
    }
}

/// Takes the pairs from the front of `bytes`.
pub(super) fn take_bound<'a>(bytes: &mut &'a [u8]) -> Result<Bound<'a>, Malformed> {
    let wrong = Malformed("the bound of a chunk of occurrences is malformed");
    let (&count, mut rest) = bytes.split_first().ok_or(wrong)?;
    let all = rest;
    for _ in 0..count {
        take_pair(&mut rest).ok_or(wrong)?;
    }
    let pairs = &all[..all.len() - rest.len()];
    *bytes = rest;
    (count > 0).then_some(Bound { pairs }).ok_or(wrong)
}

fn take_pair(bytes: &mut &[u8]) -> Option<Pair> {
    let frequency = u32::try_from(varint::take(bytes)?).ok()?;
    let (&norm, rest) = bytes.split_first()?;
    *bytes = rest;
    Some((frequency, norm))
}

/// The pairs of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a> {
    pairs: &'a [u8],
}

impl Bound<'_> {
    /// The greatest that `weight` gives for any pair; it must not fall when the frequency grows or
    /// the norm falls.
    pub(crate) fn most(&self, weight: impl Fn(u32, u8) -> f64) -> f64 {
        let mut rest = self.pairs;
        let mut most: f64 = 0.0;
        while let Some((frequency, norm)) = take_pair(&mut rest) {
            most = most.max(weight(frequency, norm));
        }
        most
    }

    /// Whether some pair has at least this frequency and at most this norm.
    pub(crate) fn covers(&self, frequency: u32, norm: u8) -> bool {
        let mut rest = self.pairs;
        while let Some(pair) = take_pair(&mut rest) {
            if pair.0 >= frequency && pair.1 <= norm {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_entry_surpasses_its_bound(
            items in prop::collection::vec((1..400_u32, 1..90_u8), 1..128),
        ) {
            let mut bytes = Vec::new();
            write_bound(items.iter().copied(), &mut bytes);
            bytes.push(77);
            let mut rest = &bytes[..];
            let bound = take_bound(&mut rest).unwrap();
            prop_assert_eq!(rest, &[77]);
            prop_assert!(usize::from(bytes[0]) <= PAIRS_MAX);
            for &(frequency, norm) in &items {
                prop_assert!(bound.covers(frequency, norm));
            }
            let most = items.iter().map(|item| item.0).max().unwrap_or(0);
            prop_assert!(!bound.covers(most + 1, u8::MAX));
            let shortest = items.iter().map(|item| item.1).min().unwrap_or(0);
            prop_assert!(!bound.covers(0, shortest - 1));
        }
    }

    #[test]
    fn cut_bounds_are_refused() {
        let mut bytes = Vec::new();
        write_bound([(300, 4), (1, 2)].into_iter(), &mut bytes);
        for end in 0..bytes.len() {
            assert!(take_bound(&mut &bytes[..end]).is_err(), "cut at {end}");
        }
        assert!(take_bound(&mut &[0_u8, 1][..]).is_err());
    }
}

//! Repeatable random numbers for the demo: the same seed gives the same albums everywhere.
//!
//! SplitMix64, written out here because the bytes it leads to are pinned by a test and must not
//! change with a library.

/// A stream of numbers that its seed determines.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// A stream of its own for each `part` of one seed.
    pub(super) fn of_part(seed: u64, part: u64) -> Self {
        Self(mix(seed ^ mix(part)))
    }

    pub(super) fn next(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        number
    }

    /// A number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(limit);
        u64::try_from(product >> 64).expect("the high half of 128 bits fits 64")
    }

    /// Whether something of probability `per_thousand / 1000` happens.
    pub(super) fn chance(&mut self, per_thousand: u64) -> bool {
        self.below(1000) < per_thousand
    }

    /// A rank below `count` where rank `k` comes up about as often as `1 / (k + 1)`: few artists
    /// have many albums, many have one. Integers only, so every machine agrees.
    pub(super) fn rank(&mut self, count: u64) -> u64 {
        let bits = u64::from(count.max(1).ilog2());
        let magnitude = self.below(bits + 1);
        let low = 1u64 << magnitude;
        (low - 1 + self.below(low)).min(count.max(1) - 1)
    }

    /// One of `list`, which is not empty.
    pub(super) fn choose<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        let pos = self.below(list.len() as u64);
        &list[usize::try_from(pos).expect("a position below a length fits")]
    }
}

fn mix(mut number: u64) -> u64 {
    number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_stay_below_their_count_and_favour_the_first() {
        let mut random = Random::of_part(5, 0);
        for count in [1, 2, 3, 10, 1000] {
            let mut first = 0;
            for _ in 0..1000 {
                let rank = random.rank(count);
                assert!(rank < count);
                first += u32::from(rank == 0);
            }
            assert!(first > 60, "rank 0 of {count} came up {first} times");
        }
    }
}
